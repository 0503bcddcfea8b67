//! A Gantt chart as SVG.
//!
//! Up to a few hundred processors have a row each; more are drawn as one area per host or
//! cluster, as high as its processors are busy. Bars too narrow to see are joined with their
//! neighbours, so that a chart of a million tasks is not larger than one of some thousands.

use crate::axis::{self, Tick};
use crate::chart::{Bar, Chart, Look, MarkKind};
use crate::lanes::{Lanes, Level};
use crate::svg::{Anchor, Canvas, Heading, MARGIN, Type};
use crate::text::{coordinate, escaped, fit, push_escaped, width};
use std::fmt::Write;

/// How to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SvgOptions {
    /// Width in pixels.
    pub width: f64,
    /// Most rows drawn one by one.
    pub most_rows: usize,
    /// Most transfers drawn; more would hide the chart.
    pub most_arrows: usize,
}

impl Default for SvgOptions {
    fn default() -> Self {
        SvgOptions { width: 1200.0, most_rows: 320, most_arrows: 600 }
    }
}

/// Height the rows should fill, where they are not many.
const USUAL_HEIGHT: f64 = 600.0;
/// Narrower bars are joined with their neighbours, pixels.
const VISIBLE: f64 = 0.9;

const TICK: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Middle };
const HOST: Type = Type { class: "ink", size: 11.5, anchor: Anchor::End };
const FOOT: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Start };
const CORE: Type = Type { class: "dim", size: 9.0, anchor: Anchor::End };

/// Draws a chart.
pub fn svg(chart: &Chart, options: &SvgOptions) -> String {
    let lanes = Lanes::of(chart, options.most_rows);
    let mut canvas = Canvas::new();
    let top = canvas.heading(&Heading {
        title: &chart.title,
        facts: &chart.facts,
        categories: &chart.categories,
        ordered: chart.ordered,
        width: options.width,
    });
    let frame = Frame::new(chart, &lanes, options.width, top);
    frame.background(&mut canvas, chart, &lanes);
    if lanes.level == Level::Row {
        bars(&mut canvas, chart, &lanes, &frame);
        if chart.arrows.len() <= options.most_arrows {
            arrows(&mut canvas, chart, &frame);
        }
    } else {
        areas(&mut canvas, chart, &lanes, &frame);
    }
    frame.axis(&mut canvas, chart);
    frame.marks(&mut canvas, chart);
    let mut bottom = frame.bottom() + 30.0 + MARGIN / 2.0;
    if let Some(note) = chart.idle_note() {
        canvas.text(frame.left, bottom + 6.0, FOOT, &note);
        bottom += 18.0;
    }
    canvas.finish(options.width, bottom, &chart.title)
}

/// Where everything lies.
struct Frame {
    left: f64,
    width: f64,
    top: f64,
    row_height: f64,
    /// Top of each lane.
    lane_y: Vec<f64>,
    ticks: Vec<Tick>,
}

impl Frame {
    fn new(chart: &Chart, lanes: &Lanes, full_width: f64, top: f64) -> Frame {
        let cores = lanes.level == Level::Row && chart.groups.iter().any(|g| g.rows > 1);
        let names: Vec<&str> = match lanes.level {
            Level::Row => chart.groups.iter().map(|g| g.name.as_str()).collect(),
            _ => lanes.lanes.iter().map(|l| l.label.as_str()).collect(),
        };
        let longest = names.iter().map(|n| width(n)).fold(3.0, f64::max) * HOST.size;
        let left = MARGIN + longest.min(170.0) + 8.0 + if cores { 16.0 } else { 0.0 };
        let usual = USUAL_HEIGHT / lanes.lanes.len().max(1) as f64;
        let row_height = match lanes.level {
            Level::Row => usual.clamp(4.0, 26.0),
            _ => usual.clamp(9.0, 44.0),
        };
        let top = top + 14.0 * chart.marks.len().clamp(1, 3) as f64 + 6.0;
        let plot_width = (full_width - left - MARGIN).max(50.0);
        let ticks = axis::ticks(&chart.span, (plot_width / 110.0) as usize);
        let mut frame = Frame { left, width: plot_width, top, row_height, lane_y: vec![], ticks };
        frame.lane_y = frame.lay_lanes(chart, lanes);
        frame
    }

    /// Lanes under each other, with a gap between hosts of several cores.
    fn lay_lanes(&self, chart: &Chart, lanes: &Lanes) -> Vec<f64> {
        let mut y = self.top;
        let mut tops = Vec::with_capacity(lanes.lanes.len());
        if lanes.level != Level::Row {
            return (0..lanes.lanes.len()).map(|i| y + i as f64 * self.row_height).collect();
        }
        let gap = if chart.groups.iter().all(|g| g.rows == 1) { 0.0 } else { 4.0 };
        for group in &chart.groups {
            for _ in 0..group.rows {
                tops.push(y);
                y += self.row_height;
            }
            y += if self.row_height >= 8.0 { gap } else { gap / 2.0 };
        }
        tops
    }

    fn bottom(&self) -> f64 {
        self.lane_y.last().map_or(self.top, |y| y + self.row_height)
    }

    fn x(&self, chart: &Chart, date: f64) -> f64 {
        self.left + chart.position(date) * self.width
    }

    /// Bands, grid and the names of hosts.
    fn background(&self, canvas: &mut Canvas, chart: &Chart, lanes: &Lanes) {
        let (left, right) = (self.left, self.left + self.width);
        let mut name_bottom = f64::NEG_INFINITY;
        let mut row = 0usize;
        let blocks: Vec<(String, usize)> = match lanes.level {
            Level::Row => chart.groups.iter().map(|g| (g.name.clone(), g.rows as usize)).collect(),
            _ => lanes.lanes.iter().map(|l| (l.label.clone(), 1)).collect(),
        };
        for (index, (name, rows)) in blocks.iter().enumerate() {
            let Some(&top) = self.lane_y.get(row) else { continue };
            let height = self.lane_y[row + rows - 1] + self.row_height - top;
            if index % 2 == 0 {
                canvas.rect("band", [MARGIN / 2.0, top, right - MARGIN / 2.0, height]);
            }
            let shows_cores = *rows > 1 && self.row_height >= 10.0;
            let middle = top + height / 2.0;
            if middle - 6.0 >= name_bottom {
                let x = left
                    - 8.0
                    - if chart.groups.iter().any(|g| g.rows > 1) && lanes.level == Level::Row {
                        16.0
                    } else {
                        0.0
                    };
                let name = fit(name, (x - MARGIN / 2.0) / HOST.size).unwrap_or_default();
                canvas.text(x, middle + 4.0, HOST, &name);
                name_bottom = middle + 6.0;
            }
            if shows_cores {
                for core in 0..*rows {
                    let y = self.lane_y[row + core] + self.row_height / 2.0 + 3.2;
                    canvas.text(left - 5.0, y, CORE, &core.to_string());
                }
            }
            row += rows;
        }
        for tick in &self.ticks {
            let x = self.x(chart, tick.at);
            canvas.line("grid", [x, self.top, x, self.bottom()]);
        }
    }

    fn axis(&self, canvas: &mut Canvas, chart: &Chart) {
        let y = self.bottom() + 4.0;
        canvas.line("rule", [self.left, y, self.left + self.width, y]);
        for tick in &self.ticks {
            let x = self.x(chart, tick.at);
            canvas.line("rule", [x, y, x, y + 5.0]);
            canvas.text(x, y + 18.0, TICK, &tick.text);
        }
    }

    /// One line of text above the rows per mark; the last ones share the lowest.
    fn marks(&self, canvas: &mut Canvas, chart: &Chart) {
        for (index, mark) in chart.marks.iter().enumerate() {
            let (stroke, text, dash) = match mark.kind {
                MarkKind::End => ("end", "ink", ""),
                MarkKind::Bound => ("bound", "bt", " stroke-dasharray=\"5 4\""),
                MarkKind::Deadline => ("alarm", "at", ""),
                MarkKind::Event => ("alarm", "at", " stroke-dasharray=\"2 3\""),
            };
            let x = self.x(chart, mark.at);
            let line = (chart.marks.len().min(3) - 1).saturating_sub(index) as f64;
            let text_y = self.top - 8.0 - 14.0 * line;
            let _ = writeln!(
                canvas.body,
                "<path class=\"{stroke}\" stroke-width=\"1.5\"{dash} d=\"M{} {}V{}\"/>",
                coordinate(x),
                coordinate(text_y + 3.0),
                coordinate(self.bottom() + 4.0)
            );
            let room = width(&mark.label) * 11.0;
            let anchor = if x - room < self.left { Anchor::Start } else { Anchor::End };
            let x = if anchor == Anchor::End { x - 4.0 } else { x + 4.0 };
            canvas.text(x, text_y + 2.0, Type { class: text, size: 11.0, anchor }, &mark.label);
        }
    }
}

/// Very narrow bars that follow each other closely, drawn as one.
struct Sliver {
    from: f64,
    to: f64,
    count: usize,
    /// Width by category.
    shares: Vec<f64>,
}

/// Shapes by colour and look, so that each colour is named once.
struct Shapes {
    buckets: Vec<String>,
    looks: usize,
}

const LOOKS: [(Look, &str); 4] =
    [(Look::Work, ""), (Look::Lost, " lost"), (Look::Transfer, " moved"), (Look::Down, " lost")];

impl Shapes {
    fn new(chart: &Chart) -> Shapes {
        let looks = LOOKS.len();
        Shapes { buckets: vec![String::new(); chart.categories.len().max(1) * looks], looks }
    }

    fn of(&mut self, category: usize, look: Look) -> &mut String {
        let look = LOOKS.iter().position(|(l, _)| *l == look).unwrap_or(0);
        let last = self.buckets.len() - self.looks;
        &mut self.buckets[(category * self.looks).min(last) + look]
    }

    fn draw(&self, canvas: &mut Canvas) {
        for (index, shapes) in self.buckets.iter().enumerate().filter(|(_, s)| !s.is_empty()) {
            let (category, look) = (index / self.looks, LOOKS[index % self.looks].1);
            let _ = writeln!(canvas.body, "<g class=\"k{category}{look}\">\n{shapes}</g>");
        }
    }
}

fn bars(canvas: &mut Canvas, chart: &Chart, lanes: &Lanes, frame: &Frame) {
    let mut shapes = Shapes::new(chart);
    let mut labels = vec![String::new(); chart.categories.len().max(1)];
    let painter = Painter { chart, frame, decimals: decimals(chart.seconds()) };
    for (lane, list) in lanes.bars.iter().enumerate() {
        let mut sliver: Option<Sliver> = None;
        for &index in list {
            let bar = &chart.bars[index as usize];
            if bar.rows.start as usize != lane {
                continue; // drawn from its first row
            }
            let (from, to) = (frame.x(chart, bar.start), frame.x(chart, bar.finish));
            let narrow = to - from < VISIBLE && bar.rows.len() == 1;
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
            if joined.count == 1 && bar.look != Look::Work {
                painter.sliver(&mut shapes, lane, sliver.take());
            }
        }
        painter.sliver(&mut shapes, lane, sliver.take());
    }
    shapes.draw(canvas);
    let size = painter.label_size();
    for (category, texts) in labels.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
        let _ = writeln!(
            canvas.body,
            "<g class=\"t{category}\" font-size=\"{}\" pointer-events=\"none\">\n{texts}</g>",
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
            ": {:.decimals$} to {:.decimals$} s</title></rect>",
            bar.start, bar.finish
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
        if let Some(out) = labels.get_mut(bar.category as usize) {
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

/// Transfers as thin curves from the end of one task to where its data arrives.
fn arrows(canvas: &mut Canvas, chart: &Chart, frame: &Frame) {
    if chart.arrows.is_empty() {
        return;
    }
    let opacity = if chart.arrows.len() < 60 { 0.7 } else { 0.35 };
    let _ = writeln!(canvas.body, "<g class=\"wire\" stroke-width=\"1\" opacity=\"{opacity}\">");
    for arrow in &chart.arrows {
        let middle = |row: u32| frame.lane_y.get(row as usize).map(|y| y + frame.row_height / 2.0);
        let (Some(from), Some(to)) = (middle(arrow.from), middle(arrow.to)) else { continue };
        let (x1, x2) = (frame.x(chart, arrow.start), frame.x(chart, arrow.finish));
        let bend = (x2 - x1) / 2.0;
        let _ = write!(
            canvas.body,
            "<path d=\"M{} {}C{} {} {} {} {} {}\"><title>",
            coordinate(x1),
            coordinate(from),
            coordinate(x1 + bend),
            coordinate(from),
            coordinate(x2 - bend),
            coordinate(to),
            coordinate(x2),
            coordinate(to),
        );
        push_escaped(&mut canvas.body, &arrow.note);
        canvas.body.push_str("</title></path>\n");
    }
    canvas.body.push_str("</g>\n");
}

/// One stacked area per lane, as high as the share of its processors that are busy.
fn areas(canvas: &mut Canvas, chart: &Chart, lanes: &Lanes, frame: &Frame) {
    let bins = (frame.width / 2.0) as usize;
    let mut shapes = Shapes::new(chart);
    let step = frame.width / bins as f64;
    let full = frame.row_height - 2.0;
    for lane in 0..lanes.lanes.len() {
        let floor = frame.lane_y[lane] + frame.row_height - 1.0;
        let mut below = vec![0.0f64; bins];
        for (category, profile) in lanes.profile(chart, lane, bins).iter().enumerate() {
            if profile.iter().all(|&share| share <= 0.0) {
                continue;
            }
            let above: Vec<f64> = below.iter().zip(profile).map(|(b, p)| b + p).collect();
            let path = band(&below, &above, |bin, share| {
                (frame.left + bin as f64 * step, floor - share.min(1.0) * full)
            });
            let shape = shapes.of(category, Look::Work);
            let name = escaped(&chart.categories[category].name);
            let lane_name = escaped(&lanes.lanes[lane].label);
            let _ = writeln!(shape, "<path d=\"{path}\"><title>{lane_name}: {name}</title></path>");
            below = above;
        }
    }
    shapes.draw(canvas);
}

/// The outline between two step functions; equal neighbours become one step, empty stretches
/// are left out.
fn band(below: &[f64], above: &[f64], point: impl Fn(usize, f64) -> (f64, f64)) -> String {
    const LEAST: f64 = 1e-4;
    let mut path = String::new();
    let mut bin = 0;
    while bin < above.len() {
        if above[bin] - below[bin] < LEAST {
            bin += 1;
            continue;
        }
        let from = bin;
        while bin < above.len() && above[bin] - below[bin] >= LEAST {
            bin += 1;
        }
        steps(&mut path, above, from..bin, &point);
        let mut back = String::new();
        steps_back(&mut back, below, from..bin, &point);
        path.push_str(&back);
        path.push('z');
    }
    path
}

fn steps(
    path: &mut String,
    values: &[f64],
    bins: std::ops::Range<usize>,
    point: &impl Fn(usize, f64) -> (f64, f64),
) {
    let (x, y) = point(bins.start, values[bins.start]);
    let _ = write!(path, "M{} {}", coordinate(x), coordinate(y));
    let mut last = coordinate(y);
    for bin in bins.clone().skip(1) {
        let (x, y) = point(bin, values[bin]);
        let y = coordinate(y);
        if y != last {
            let _ = write!(path, "H{}V{y}", coordinate(x));
            last = y;
        }
    }
    let (x, _) = point(bins.end, 0.0);
    let _ = write!(path, "H{}", coordinate(x));
}

fn steps_back(
    path: &mut String,
    values: &[f64],
    bins: std::ops::Range<usize>,
    point: &impl Fn(usize, f64) -> (f64, f64),
) {
    let mut last = String::new();
    for bin in bins.clone().rev() {
        let (_, y) = point(bin, values[bin]);
        let (right, _) = point(bin + 1, values[bin]);
        let y = coordinate(y);
        if y != last {
            let _ = write!(path, "H{}V{y}", coordinate(right));
            last = y;
        }
    }
    let (x, _) = point(bins.start, 0.0);
    let _ = write!(path, "H{}", coordinate(x));
}
