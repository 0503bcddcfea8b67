//! One bar per computation; very narrow neighbours are joined.

use super::frame::Frame;
use crate::chart::{Bar, Chart, Look};
use crate::lanes::Lanes;
use crate::svg::Canvas;
use crate::text::{coordinate, escaped, fit, push_escaped};
use std::fmt::Write;

/// Narrower bars are joined with their neighbours, pixels.
const VISIBLE: f64 = 0.9;

/// Very narrow bars that follow each other closely, drawn as one.
struct Sliver {
    from: f64,
    to: f64,
    count: usize,
    /// Width by category.
    shares: Vec<f64>,
}

/// The style of a bar's appearance: whether in the pale colour of its kind, and the pattern over it.
struct Style {
    look: Look,
    pale: bool,
    /// Pattern over the colour: its id, its lines and the class of these.
    pattern: Option<(&'static str, &'static str, &'static str)>,
}

const STYLES: [Style; 5] = [
    Style { look: Look::Work, pale: false, pattern: None },
    Style { look: Look::Stopped, pale: true, pattern: Some(("stopped", "M0 0V6", "hatch")) },
    Style { look: Look::Failed, pale: true, pattern: Some(("failed", "M0 0V6M0 0H6", "alarm")) },
    Style { look: Look::Rewound, pale: true, pattern: Some(("rewound", "M0 0H6", "undo")) },
    Style { look: Look::Down, pale: false, pattern: None },
];

fn style(look: Look) -> usize {
    STYLES.iter().position(|s| s.look == look).unwrap_or(0)
}

/// Shapes by colour and look, so that each colour is named once.
pub(super) struct Shapes {
    buckets: Vec<String>,
    /// Per look, the outlines that a pattern fills.
    patterns: [String; STYLES.len()],
    /// Times of absence have no kind.
    down: String,
}

impl Shapes {
    pub(super) fn new(chart: &Chart) -> Shapes {
        let buckets = vec![String::new(); chart.categories.len().max(1) * STYLES.len()];
        Shapes { buckets, patterns: Default::default(), down: String::new() }
    }

    pub(super) fn of(&mut self, category: usize, look: Look) -> &mut String {
        if look == Look::Down {
            return &mut self.down;
        }
        let last = self.buckets.len() - STYLES.len();
        &mut self.buckets[(category * STYLES.len()).min(last) + style(look)]
    }

    /// Lays the pattern of a bar's appearance over a place.
    pub(super) fn cover(&mut self, look: Look, [x, y, width, height]: [f64; 4]) {
        let style = style(look);
        if STYLES[style].pattern.is_some() {
            let [x, y, width, height] = [x, y, width, height].map(coordinate);
            let _ = write!(self.patterns[style], "M{x} {y}h{width}v{height}h-{width}z");
        }
    }

    /// Fills an outline with the pattern of a bar's appearance.
    pub(super) fn cover_path(&mut self, look: Look, path: &str) {
        self.patterns[style(look)].push_str(path);
    }

    pub(super) fn draw(&self, canvas: &mut Canvas) {
        if !self.down.is_empty() {
            let _ = writeln!(canvas.body, "<g class=\"down\">\n{}</g>", self.down);
        }
        for (index, shapes) in self.buckets.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let (category, style) = (index / STYLES.len(), &STYLES[index % STYLES.len()]);
            let pale = if style.pale { " pale" } else { "" };
            let _ = writeln!(canvas.body, "<g class=\"k{category}{pale}\">\n{shapes}</g>");
        }
        for (style, path) in STYLES.iter().zip(&self.patterns).filter(|(_, p)| !p.is_empty()) {
            if let Some((id, ..)) = style.pattern {
                define(canvas, style.look);
                let _ = writeln!(
                    canvas.body,
                    "<path fill=\"url(#{id})\" pointer-events=\"none\" d=\"{path}\"/>"
                );
            }
        }
    }
}

/// Defines the pattern of a bar's appearance; returns its id.
pub(super) fn define(canvas: &mut Canvas, look: Look) -> Option<&'static str> {
    let (id, lines, class) = STYLES[style(look)].pattern?;
    let known = format!("<pattern id=\"{id}\"");
    if !canvas.body.contains(&known) {
        let _ = writeln!(
            canvas.body,
            "<defs>{known} width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><path class=\"{class}\" stroke-width=\"1.6\" \
             d=\"{lines}\"/></pattern></defs>"
        );
    }
    Some(id)
}

pub(super) fn bars(canvas: &mut Canvas, chart: &Chart, lanes: &Lanes, frame: &Frame) {
    let mut shapes = Shapes::new(chart);
    // One list of labels per colour, and one for those on pale ground.
    let mut labels = vec![String::new(); chart.categories.len().max(1) + 1];
    let painter = Painter { chart, frame, decimals: decimals(chart.seconds()) };
    for (lane, list) in lanes.bars.iter().enumerate() {
        let mut sliver: Option<Sliver> = None;
        for &index in list {
            let bar = &chart.bars[index as usize];
            if bar.rows.start as usize != lane {
                continue; // drawn from its first row
            }
            let (from, to) = (frame.x(chart, bar.start), frame.x(chart, bar.finish));
            let narrow = to - from < VISIBLE && bar.rows.len() == 1 && bar.look == Look::Work;
            if sliver.as_ref().is_some_and(|s| !narrow || from - s.to > VISIBLE) {
                painter.sliver(&mut shapes, lane, sliver.take());
            }
            if !narrow {
                painter.bar(&mut shapes, bar, from..to);
                painter.label(&mut labels, bar, from..to);
                continue;
            }
            let joined = sliver.get_or_insert_with(|| Sliver {
                from,
                to,
                count: 0,
                shares: vec![0.0; chart.categories.len().max(1)],
            });
            joined.to = joined.to.max(to);
            joined.count += 1;
            joined.shares[bar.category as usize] += to - from;
        }
        painter.sliver(&mut shapes, lane, sliver.take());
    }
    shapes.draw(canvas);
    let size = painter.label_size();
    for (category, texts) in labels.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
        let class = if category < chart.categories.len().max(1) {
            format!("t{category}")
        } else {
            "ink".to_string()
        };
        let _ = writeln!(
            canvas.body,
            "<g class=\"{class}\" font-size=\"{}\" pointer-events=\"none\">\n{texts}</g>",
            coordinate(size)
        );
    }
}

/// Decimals of dates in tooltips: four digits over the whole span.
fn decimals(seconds: f64) -> usize {
    (4.0 - seconds.log10().floor()).clamp(0.0, 9.0) as usize
}

struct Painter<'a> {
    chart: &'a Chart,
    frame: &'a Frame,
    decimals: usize,
}

impl Painter<'_> {
    fn label_size(&self) -> f64 {
        (self.frame.row_height * 0.5).clamp(7.5, 11.5)
    }

    /// Space above and below a bar inside its row.
    fn inset(&self) -> f64 {
        match self.frame.row_height {
            h if h >= 16.0 => 2.0,
            h if h >= 8.0 => 1.0,
            _ => 0.3,
        }
    }

    fn bar(&self, shapes: &mut Shapes, bar: &Bar, x: std::ops::Range<f64>) {
        let inset = self.inset();
        let (Some(&top), Some(&last)) = (
            self.frame.lane_y.get(bar.rows.start as usize),
            self.frame.lane_y.get(bar.rows.end.saturating_sub(1) as usize),
        ) else {
            return;
        };
        let height = last - top + self.frame.row_height - 2.0 * inset;
        // A hair of background between neighbours, where there is room for one.
        let gap = match x.end - x.start {
            wide if wide > 12.0 => 0.8,
            wide if wide > 3.0 => 0.4,
            _ => 0.0,
        };
        let wide = x.end - x.start - gap;
        let round = if wide > 6.0 && height > 9.0 { " rx=\"2\"" } else { "" };
        shapes.cover(bar.look, [x.start, top + inset, wide, height]);
        let shape = shapes.of(bar.category as usize, bar.look);
        let _ = write!(
            shape,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{round}><title>",
            coordinate(x.start),
            coordinate(top + inset),
            coordinate(wide),
            coordinate(height),
        );
        push_escaped(shape, self.chart.label(bar));
        let decimals = self.decimals;
        let _ = writeln!(
            shape,
            "{}: {:.decimals$} to {:.decimals$} s</title></rect>",
            bar.look.remark(),
            bar.start,
            bar.finish
        );
    }

    fn label(&self, labels: &mut [String], bar: &Bar, x: std::ops::Range<f64>) {
        let size = self.label_size();
        if self.frame.row_height < 10.0 {
            return;
        }
        let Some(text) = fit(self.chart.label(bar), (x.end - x.start - 6.0) / size) else { return };
        let (Some(&top), Some(&last)) = (
            self.frame.lane_y.get(bar.rows.start as usize),
            self.frame.lane_y.get(bar.rows.end.saturating_sub(1) as usize),
        ) else {
            return;
        };
        let y = (top + last + self.frame.row_height) / 2.0 + size * 0.35;
        let colour = match bar.look {
            Look::Work => bar.category as usize,
            _ => labels.len() - 1,
        };
        if let Some(out) = labels.get_mut(colour) {
            let text = escaped(&text);
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{}\">{text}</text>",
                coordinate(x.start + 3.0),
                coordinate(y)
            );
        }
    }

    fn sliver(&self, shapes: &mut Shapes, lane: usize, sliver: Option<Sliver>) {
        let Some(sliver) = sliver else { return };
        let heaviest = |best: usize, c: usize| {
            if sliver.shares[c] > sliver.shares[best] { c } else { best }
        };
        let category = (0..sliver.shares.len()).fold(0, heaviest);
        let inset = self.inset();
        let shape = shapes.of(category, Look::Work);
        let wide = (sliver.to - sliver.from).max(0.5);
        let _ = write!(
            shape,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
            coordinate(sliver.from),
            coordinate(self.frame.lane_y[lane] + inset),
            coordinate(wide),
            coordinate(self.frame.row_height - 2.0 * inset),
        );
        let plural = if sliver.count == 1 { "" } else { "s" };
        let _ = writeln!(shape, "><title>{} task{plural}</title></rect>", sliver.count);
    }
}
