//! A Gantt chart as text.
//!
//! A task at least two columns wide is a bar with its name; shorter ones become shades that say how
//! busy the processor is. More processors than lines are joined per host or cluster, again as
//! shades. Wasted work is drawn with broken lines, absence with strokes, new plans as points above
//! the rows.

use crate::axis;
use crate::chart::{Bar, Chart, Look, MarkKind};
use crate::lanes::{Lanes, Level};
use crate::palette;
use crate::text::fit_columns;
use std::fmt::Write;

/// Options of the drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalOptions {
    /// Columns of the terminal.
    pub width: usize,
    /// Most lines for processors.
    pub most_rows: usize,
    /// Whether to use colours.
    pub colour: bool,
}

impl Default for TerminalOptions {
    fn default() -> Self {
        TerminalOptions { width: 80, most_rows: 32, colour: false }
    }
}

/// Columns of the percentage at the end of a line.
const SHARE: usize = 5;

/// Draws a chart; every line ends with a newline.
pub fn terminal(chart: &Chart, options: &TerminalOptions) -> String {
    let width = options.width.max(30);
    let lanes = Lanes::without_idle(chart, options.most_rows);
    let longest = lanes.lanes.iter().map(|l| l.label.chars().count()).max().unwrap_or(0);
    let names = longest.clamp(4, (width / 4).max(6));
    let columns = width - names - 2 - SHARE;
    let mut out = String::new();
    let mut drawn: Vec<Look> = Vec::new();
    replannings(&mut out, chart, names, columns);
    for (index, lane) in lanes.lanes.iter().enumerate() {
        let name = fit_columns(&lane.label, names);
        let _ = write!(out, "{name:>names$} │");
        let cells = if lanes.level == Level::Row && readable(chart, &lanes, index, columns) {
            let bars_here = lanes.bars[index].iter().map(|&i| &chart.bars[i as usize]);
            drawn.extend(bars_here.filter(|b| !span(chart, b, columns).is_empty()).map(|b| b.look));
            bars(chart, &lanes, index, columns)
        } else {
            shades(chart, &lanes, index, columns)
        };
        drawn.extend(cells.contains(&DOWN).then_some(Look::Down));
        paint(&mut out, chart, &cells, options.colour);
        let _ = writeln!(out, "{:>4.0}%", 100.0 * lanes.utilisation(chart, index));
    }
    scale(&mut out, chart, names, columns);
    legend(&mut out, chart, &lanes, options, &drawn);
    out
}

/// One column of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    glyph: char,
    category: Option<u16>,
    /// Whether it is drawn on the colour of its kind.
    solid: bool,
    /// Whether the whole column belongs to one bar.
    taken: bool,
}

const IDLE: Cell = Cell { glyph: ' ', category: None, solid: false, taken: false };
const DOWN: Cell = Cell { glyph: '/', category: None, solid: false, taken: true };

/// Line, end and short form of a bar.
fn signs(look: Look) -> (char, char, char) {
    match look {
        Look::Work => ('─', ']', '■'),
        Look::Stopped => ('┄', '>', '□'),
        Look::Failed => ('┄', 'x', 'x'),
        Look::Rewound => ('┄', '<', '□'),
        Look::Down => ('/', '/', '/'),
    }
}

/// A point for each new plan, with the number of tasks it moved where there is room.
fn replannings(out: &mut String, chart: &Chart, names: usize, columns: usize) {
    if chart.replannings.is_empty() {
        return;
    }
    let mut moved = vec![None; columns + 1];
    for plan in &chart.replannings {
        let column = (chart.position(plan.at) * columns as f64).round() as usize;
        *moved[column].get_or_insert(0) += plan.moved;
    }
    let mut line = vec![' '; columns + 1];
    for (column, plans) in moved.iter().enumerate() {
        let Some(number) = plans else { continue };
        line[column] = '▾';
        let digits: Vec<char> = number.to_string().chars().collect();
        let room = column + 1..column + 1 + digits.len();
        let free = moved.get(room.start..room.end).is_some_and(|r| r.iter().all(Option::is_none));
        if *number > 0 && free {
            line[room].copy_from_slice(&digits);
        }
    }
    let line: String = line.into_iter().collect();
    let _ = writeln!(out, "{:names$}  {}", "", line.trim_end());
}

/// Columns a bar covers, rounded so that bars which do not overlap in time do not on screen.
fn span(chart: &Chart, bar: &Bar, columns: usize) -> std::ops::Range<usize> {
    let column = |date: f64| (chart.position(date) * columns as f64).round() as usize;
    column(bar.start)..column(bar.finish)
}

/// Whether the bars of a lane are on average wide enough to be distinguished.
fn readable(chart: &Chart, lanes: &Lanes, lane: usize, columns: usize) -> bool {
    let list = &lanes.bars[lane];
    let covered: usize =
        list.iter().map(|&i| span(chart, &chart.bars[i as usize], columns).len()).sum();
    covered >= 2 * list.len()
}

fn bars(chart: &Chart, lanes: &Lanes, lane: usize, columns: usize) -> Vec<Cell> {
    let mut cells = shades(chart, lanes, lane, columns);
    for &index in &lanes.bars[lane] {
        let bar = &chart.bars[index as usize];
        let span = span(chart, bar, columns);
        if bar.look == Look::Down {
            cells[span].fill(DOWN);
            continue;
        }
        let (line, end, point) = signs(bar.look);
        let text = match span.len() {
            0 => continue,
            1 => point.to_string(),
            wide => {
                let mut text = format!("[{}", short_label(chart.label(bar), wide - 2));
                let written = text.chars().count();
                text.extend(std::iter::repeat_n(line, wide - 1 - written));
                text.push(end);
                text
            }
        };
        let solid = bar.look == Look::Work;
        for (cell, glyph) in cells[span].iter_mut().zip(text.chars()) {
            *cell = Cell { glyph, category: Some(bar.category), solid, taken: true };
        }
    }
    // What is left of the shades are tasks too short for a bar; idle stretches stay empty.
    let bars_only: Vec<bool> = covered(chart, lanes, lane, columns);
    for (cell, covered) in cells.iter_mut().zip(bars_only) {
        if !cell.taken && !covered {
            *cell = IDLE;
        }
    }
    cells
}

/// A label cut to a few letters says nothing: better none.
fn short_label(label: &str, columns: usize) -> String {
    if label.chars().count() > columns && columns < 5 {
        return String::new();
    }
    fit_columns(label, columns)
}

/// Columns that hold a task too short for a bar of its own.
fn covered(chart: &Chart, lanes: &Lanes, lane: usize, columns: usize) -> Vec<bool> {
    let mut covered = vec![false; columns];
    for &index in &lanes.bars[lane] {
        let span = span(chart, &chart.bars[index as usize], columns);
        if span.is_empty()
            && let Some(cell) = covered.get_mut(span.start.min(columns - 1))
        {
            *cell = true;
        }
    }
    covered
}

fn shades(chart: &Chart, lanes: &Lanes, lane: usize, columns: usize) -> Vec<Cell> {
    let profile = lanes.profile(chart, lane, columns);
    let down = lanes.share(chart, lane, columns, |look| look == Look::Down);
    let is_lost = |look| matches!(look, Look::Stopped | Look::Failed | Look::Rewound);
    let lost = lanes.share(chart, lane, columns, is_lost);
    (0..columns)
        .map(|column| {
            let share = profile.iter().map(|p| p[column]).sum::<f64>() + lost[column];
            if down[column] > 0.5 && down[column] > share {
                return DOWN;
            }
            let heaviest = (0..profile.len()).fold(0, |best, c| {
                if profile[c][column] > profile[best][column] { c } else { best }
            });
            let glyph = match share {
                s if s <= 0.005 => return IDLE,
                s if s < 0.30 => '░',
                s if s < 0.60 => '▒',
                s if s < 0.90 => '▓',
                _ => '█',
            };
            Cell { glyph, category: Some(heaviest as u16), solid: false, taken: false }
        })
        .collect()
}

fn paint(out: &mut String, chart: &Chart, cells: &[Cell], colour: bool) {
    if !colour {
        out.extend(cells.iter().map(|c| c.glyph));
        return;
    }
    let mut style = String::new();
    for cell in cells {
        let wanted = match cell.category {
            None => String::new(),
            Some(category) => {
                let hue = colour_of(chart, category as usize);
                match (cell.solid, hue.dark) {
                    (true, true) => format!("\x1b[38;5;231;48;5;{}m", hue.ansi),
                    (true, false) => format!("\x1b[38;5;16;48;5;{}m", hue.ansi),
                    (false, _) => format!("\x1b[38;5;{}m", hue.ansi),
                }
            }
        };
        if wanted != style {
            if !style.is_empty() {
                out.push_str("\x1b[0m");
            }
            out.push_str(&wanted);
            style = wanted;
        }
        // On a coloured ground the brackets and the filling are noise, except where two bars touch.
        out.push(match cell.glyph {
            '─' | ']' | '■' if cell.solid => ' ',
            '[' if cell.solid => '▏',
            glyph => glyph,
        });
    }
    if !style.is_empty() {
        out.push_str("\x1b[0m");
    }
}

fn colour_of(chart: &Chart, category: usize) -> palette::Colour {
    let rest = chart.categories.get(category).is_some_and(|c| c.rest);
    palette::of(category, chart.categories.len(), chart.ordered, rest)
}

/// The time axis below the lines.
fn scale(out: &mut String, chart: &Chart, names: usize, columns: usize) {
    let ticks = axis::ticks(&chart.span, (columns / 11).max(2));
    let mut line = vec!['─'; columns + 1];
    let mut texts = vec![' '; columns + 1 + SHARE];
    let column = |date: f64| (chart.position(date) * columns as f64).round() as usize;
    let mut free = 0;
    for tick in &ticks {
        let at = column(tick.at);
        line[at] = '┴';
        let text: Vec<char> = tick.text.replace('\u{2009}', "").chars().collect();
        let begin =
            at.saturating_sub(text.len() / 2).min(texts.len() - text.len().min(texts.len()));
        if begin >= free {
            for (slot, c) in texts[begin..].iter_mut().zip(&text) {
                *slot = *c;
            }
            free = begin + text.len() + 1;
        }
    }
    line[0] = '└';
    for mark in chart.marks.iter().filter(|m| m.kind == MarkKind::Bound) {
        line[column(mark.at)] = '▲';
    }
    let line: String = line.into_iter().collect();
    let texts: String = texts.into_iter().collect();
    let _ = writeln!(out, "{:names$} {line}", "");
    let _ = writeln!(out, "{:names$} {}", "", texts.trim_end());
}

/// Writes the meanings of the signs and colours.
fn legend(
    out: &mut String,
    chart: &Chart,
    lanes: &Lanes,
    options: &TerminalOptions,
    drawn: &[Look],
) {
    let (width, colour) = (options.width.max(30), options.colour);
    let mut entries: Vec<(Option<u8>, String)> = Vec::new();
    if colour {
        for (index, category) in chart.categories.iter().enumerate() {
            let name = fit_columns(&category.name, 24);
            entries.push((Some(colour_of(chart, index).ansi), format!("■ {name}")));
        }
    }
    for mark in chart.marks.iter().filter(|m| m.kind == MarkKind::Bound) {
        entries.push((None, format!("▲ {}", mark.label)));
    }
    for look in [Look::Stopped, Look::Failed, Look::Rewound, Look::Down] {
        let (line, end, _) = signs(look);
        let begin = if look == Look::Down { line } else { '[' };
        // Shades do not distinguish these.
        if drawn.contains(&look) {
            entries.push((None, format!("{begin}{line}{end} {}", look.meaning())));
        }
    }
    if !chart.replannings.is_empty() {
        let moved = chart.replannings.iter().any(|p| p.moved > 0);
        let number = if moved { ", with the tasks moved" } else { "" };
        entries.push((None, format!("▾ new plan{number}")));
    }
    entries.extend(chart.idle_note().map(|note| (None, format!("+ {note}"))));
    match lanes.level {
        Level::Row => {}
        Level::Group => entries.push((None, "░▒▓█ busy share of a host's processors".into())),
        Level::Section => entries.push((None, "░▒▓█ busy share of a cluster's processors".into())),
        Level::Run => entries.push((None, "░▒▓█ busy share of these hosts' processors".into())),
    }
    let mut used = 0;
    for (ansi, text) in entries {
        let length = text.chars().count();
        if used > 0 && used + 2 + length > width {
            out.push('\n');
            used = 0;
        }
        let gap = if used == 0 { 1 } else { 2 };
        out.push_str(&" ".repeat(gap));
        match ansi {
            Some(ansi) => {
                let mut chars = text.chars();
                let sign = chars.next().unwrap_or(' ');
                let _ = write!(out, "\x1b[38;5;{ansi}m{sign}\x1b[0m{}", chars.as_str());
            }
            None => out.push_str(&text),
        }
        used += gap + length;
    }
    if used > 0 {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Category, Group, Mark, Replanning};

    /// Two hosts; `long` on one, a row of short ones on the other.
    fn chart() -> Chart {
        let mut chart = Chart { span: 0.0..100.0, ..Chart::default() };
        chart.categories.push(Category { name: "kind".into(), count: 3, rest: false });
        for name in ["alpha", "beta"] {
            chart.groups.push(Group { name: name.into(), section: "site".into(), rows: 1 });
        }
        let bar = |row: u32, start, finish, label| Bar {
            rows: row..row + 1,
            start,
            finish,
            category: 0,
            look: Look::Work,
            label,
        };
        chart.labels.push("long");
        chart.labels.push("tiny");
        chart.bars.push(bar(0, 0.0, 60.0, 0));
        chart.bars.push(bar(0, 60.0, 64.0, 1));
        chart.bars.extend((0..50).map(|i| bar(1, f64::from(i), f64::from(i) + 0.5, 1)));
        let label = "lower bound 50 s".to_string();
        chart.marks.push(Mark { at: 50.0, label, kind: MarkKind::Bound });
        chart
    }

    #[test]
    fn bars_shades_axis_and_bound() {
        // 62 columns less 5 for names, 2 for the border and 5 for the share: 2 s per column.
        let options = TerminalOptions { width: 62, ..TerminalOptions::default() };
        let expected = "\
alpha │[long────────────────────────][]                    64%
 beta │▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒                           25%
      └────────────────────────▲────────────────────────┴
      0                      50 s                     100 s
 ▲ lower bound 50 s
";
        assert_eq!(terminal(&chart(), &options), expected);
    }

    /// On alpha a task that is stopped after 20 s, and one whose result is lost with the host
    /// at 60 s; both end on beta.
    #[test]
    fn what_was_in_vain_is_told_apart_and_explained() {
        let mut chart = chart();
        let [stopped, lost, down, first, second] =
            [(0, 0.0, 20.0), (0, 20.0, 60.0), (0, 60.0, 100.0), (1, 20.0, 58.0), (1, 60.0, 90.0)]
                .map(|(row, start, finish)| Bar {
                    rows: row..row + 1,
                    start,
                    finish,
                    ..chart.bars[0].clone()
                });
        chart.bars = vec![
            Bar { look: Look::Stopped, ..stopped },
            Bar { look: Look::Rewound, label: 1, ..lost },
            Bar { look: Look::Down, ..down },
            first,
            Bar { label: 1, ..second },
        ];
        chart.marks.clear();
        chart.replannings =
            [(20.0, 1), (40.0, 0), (60.0, 12)].map(|(at, moved)| Replanning { at, moved }).to_vec();
        let options = TerminalOptions { width: 62, ..TerminalOptions::default() };
        let expected = "                 ▾1        ▾         ▾12
alpha │[long┄┄┄┄>[tiny┄┄┄┄┄┄┄┄┄┄┄┄┄┄<////////////////////  60%
 beta │          [long─────────────] [tiny─────────]       68%
      └────────────────────────┴────────────────────────┴
      0                      50 s                     100 s
 [┄> stopped and begun elsewhere  [┄< done, result lost
 /// host down  ▾ new plan, with the tasks moved
";
        assert_eq!(terminal(&chart, &options), expected);
    }

    #[test]
    fn colours_only_when_asked() {
        let plain = terminal(&chart(), &TerminalOptions::default());
        assert!(!plain.contains('\u{1b}'));
        let colour = TerminalOptions { colour: true, ..TerminalOptions::default() };
        assert!(terminal(&chart(), &colour).contains("\u{1b}[38;5;231;48;5;67m"));
    }
}
