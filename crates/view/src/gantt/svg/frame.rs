//! Positions of rows, time and names in a chart.

use crate::axis::{self, Tick};
use crate::chart::Chart;
use crate::lanes::{Lanes, Level};
use crate::svg::{Anchor, Canvas, MARGIN, Type};
use crate::text::{fit, width};

/// Height the rows should fill, where they are not many.
const USUAL_HEIGHT: f64 = 600.0;
/// Height that a name needs.
const NAME_ROOM: f64 = 13.0;
/// Height of the strip that holds the re-planning points.
const STRIP: f64 = 16.0;

const TICK: Type = Type { class: "dim", size: 11.0, anchor: Anchor::Middle };
pub(super) const HOST: Type = Type { class: "ink", size: 11.5, anchor: Anchor::End };
const CORE: Type = Type { class: "dim", size: 9.0, anchor: Anchor::End };

/// Positions of all parts.
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) top: f64,
    pub(super) row_height: f64,
    /// Top of each lane.
    pub(super) lane_y: Vec<f64>,
    ticks: Vec<Tick>,
}

impl Frame {
    pub(super) fn new(chart: &Chart, lanes: &Lanes, full_width: f64, top: f64) -> Frame {
        let cores = lanes.level == Level::Row && chart.groups.iter().any(|g| g.rows > 1);
        let mut names: Vec<&str> = match lanes.level {
            Level::Row => chart.groups.iter().map(|g| g.name.as_str()).collect(),
            _ => lanes.lanes.iter().map(|l| l.label.as_str()).collect(),
        };
        names.extend(chart.courses.iter().map(|c| c.name.as_str()));
        let longest = names.iter().map(|n| width(n)).fold(3.0, f64::max) * HOST.size;
        let left = MARGIN + longest.min(170.0) + 8.0 + if cores { 16.0 } else { 0.0 };
        let usual = USUAL_HEIGHT / lanes.lanes.len().max(1) as f64;
        let row_height = match lanes.level {
            Level::Row => usual.clamp(4.0, 26.0),
            _ => usual.clamp(9.0, 44.0),
        };
        let strip = if chart.replannings.is_empty() { 0.0 } else { STRIP };
        let top = top + 14.0 * chart.marks.len().clamp(1, 3) as f64 + 6.0 + strip;
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

    /// Top of the part above the rows that the marks have for themselves.
    pub(super) fn strip_top(&self, chart: &Chart) -> f64 {
        if chart.replannings.is_empty() { self.top } else { self.top - STRIP }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.lane_y.last().map_or(self.top, |y| y + self.row_height)
    }

    pub(super) fn x(&self, chart: &Chart, date: f64) -> f64 {
        self.left + chart.position(date) * self.width
    }

    /// Bands, grid and the names of hosts.
    pub(super) fn background(&self, canvas: &mut Canvas, chart: &Chart, lanes: &Lanes) {
        let (left, right) = (self.left, self.left + self.width);
        let (mut row, mut band) = (0usize, true);
        let mut places: Vec<(&String, usize, usize)> = Vec::new();
        let mut name_bottom = f64::NEG_INFINITY;
        let blocks: Vec<(String, usize)> = match lanes.level {
            Level::Row => chart.groups.iter().map(|g| (g.name.clone(), g.rows as usize)).collect(),
            _ => lanes.lanes.iter().map(|l| (l.label.clone(), 1)).collect(),
        };
        let height_of = |row: usize, rows: usize| {
            self.lane_y.get(row + rows - 1).map_or(0.0, |y| y + self.row_height - self.lane_y[row])
        };
        // All bands before any name: names are higher than the rows of large charts.
        for (name, rows) in &blocks {
            let Some(&top) = self.lane_y.get(row) else { break };
            if band {
                let place = [MARGIN / 2.0, top, right - MARGIN / 2.0, height_of(row, *rows)];
                canvas.rect("band", place);
            }
            band = !band;
            places.push((name, row, *rows));
            row += rows;
        }
        let cores = chart.groups.iter().any(|g| g.rows > 1) && lanes.level == Level::Row;
        let x = left - 8.0 - if cores { 16.0 } else { 0.0 };
        for (name, row, rows) in places {
            let middle = self.lane_y[row] + height_of(row, rows) / 2.0;
            if middle - NAME_ROOM / 2.0 >= name_bottom {
                let name = fit(name, (x - MARGIN / 2.0) / HOST.size).unwrap_or_default();
                canvas.text(x, middle + 4.0, HOST, &name);
                name_bottom = middle + NAME_ROOM / 2.0;
            }
            if rows > 1 && self.row_height >= 10.0 {
                for core in 0..rows {
                    let y = self.lane_y[row + core] + self.row_height / 2.0 + 3.2;
                    canvas.text(left - 5.0, y, CORE, &core.to_string());
                }
            }
        }
        self.grid(canvas, chart, [self.top, self.bottom()]);
    }

    /// Lines at the ticks of the axis between two heights.
    pub(super) fn grid(&self, canvas: &mut Canvas, chart: &Chart, [top, bottom]: [f64; 2]) {
        for tick in &self.ticks {
            let x = self.x(chart, tick.at);
            canvas.line("grid", [x, top, x, bottom]);
        }
    }

    pub(super) fn axis(&self, canvas: &mut Canvas, chart: &Chart) {
        let y = self.bottom() + 4.0;
        canvas.line("rule", [self.left, y, self.left + self.width, y]);
        for tick in &self.ticks {
            let x = self.x(chart, tick.at);
            canvas.line("rule", [x, y, x, y + 5.0]);
            canvas.text(x, y + 18.0, TICK, &tick.text);
        }
    }
}
