//! One area per host, cluster or run of hosts, as high as the share of its processors that are
//! busy: for charts with more processors than rows.

use super::bars::Shapes;
use super::frame::Frame;
use crate::chart::{Chart, Look};
use crate::lanes::Lanes;
use crate::svg::Canvas;
use crate::text::{coordinate, escaped};
use std::fmt::Write;

/// Draws one stacked area per lane: useful work by category, wasted work above it, and times in which hosts are down
/// behind both.
pub(super) fn areas(canvas: &mut Canvas, chart: &Chart, lanes: &Lanes, frame: &Frame) {
    // Two pixels for each slice of time.
    let bins = (frame.width / 2.0) as usize;
    let mut shapes = Shapes::new(chart);
    let step = frame.width / bins as f64;
    let full = frame.row_height - 2.0;
    for lane in 0..lanes.lanes.len() {
        let floor = frame.lane_y[lane] + frame.row_height - 1.0;
        let lane_name = escaped(&lanes.lanes[lane].label);
        let place = |bin: usize, share: f64| {
            (frame.left + bin as f64 * step, floor - share.min(1.0) * full)
        };
        let nothing = vec![0.0f64; bins];
        let down = lanes.share(chart, lane, bins, |look| look == Look::Down);
        if down.iter().any(|&share| share > 0.0) {
            let path = band(&nothing, &down, place);
            let title = format!("<title>{lane_name}: down</title>");
            let _ = writeln!(shapes.of(0, Look::Down), "<path d=\"{path}\">{title}</path>");
        }
        let mut below = nothing;
        let mut stack = |profile: &[f64]| {
            let above: Vec<f64> = below.iter().zip(profile).map(|(b, p)| b + p).collect();
            let path = band(&below, &above, place);
            below = above;
            path
        };
        for (category, profile) in lanes.profile(chart, lane, bins).iter().enumerate() {
            if profile.iter().any(|&share| share > 0.0) {
                let path = stack(profile);
                let name = chart.categories.get(category).map_or("", |c| &c.name);
                let title = format!("<title>{lane_name}: {}</title>", escaped(name));
                let shape = shapes.of(category, Look::Work);
                let _ = writeln!(shape, "<path d=\"{path}\">{title}</path>");
            }
        }
        for look in [Look::Stopped, Look::Failed, Look::Rewound] {
            let profile = lanes.share(chart, lane, bins, |l| l == look);
            if profile.iter().any(|&share| share > 0.0) {
                shapes.cover_path(look, &stack(&profile));
            }
        }
    }
    shapes.draw(canvas);
}

/// The SVG path between two step functions. Equal neighbours become one step; empty stretches are left out.
fn band(below: &[f64], above: &[f64], point: impl Fn(usize, f64) -> (f64, f64)) -> String {
    // Smallest share that is drawn.
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

/// Appends the upper edge, from left to right.
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

/// Appends the lower edge, from right to left.
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
