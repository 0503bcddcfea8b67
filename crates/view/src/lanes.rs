//! Fits any number of rows into a bounded number of lanes: one lane per processor while they fit, then one per host, one
//! per cluster, and finally one for each run of neighbouring hosts.

use crate::chart::{Bar, Chart, Look};
use crate::text::grouped;
use crate::text::span_of;
use std::ops::Range;

/// Most lanes of neighbouring hosts.
const MOST_RUNS: usize = 64;

/// The rows that one lane represents: a processor, a host (group), a cluster or site (section), or neighbouring hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Row,
    Group,
    Section,
    Run,
}

/// A horizontal strip of the drawing.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) label: String,
    pub(crate) rows: Range<u32>,
}

/// The lanes of a drawing and, for each, its bars in order of time.
pub(crate) struct Lanes {
    pub(crate) level: Level,
    pub(crate) lanes: Vec<Lane>,
    /// Indices of bars per lane; a bar over several lanes is in each.
    pub(crate) bars: Vec<Vec<u32>>,
}

impl Lanes {
    /// At most `most` lanes, of the finest level that fits.
    pub(crate) fn of(chart: &Chart, most: usize) -> Lanes {
        let most = most.max(1);
        let levels = [Level::Row, Level::Group, Level::Section];
        let (level, lanes) = levels
            .into_iter()
            .map(|level| (level, lanes_at(chart, level)))
            .find(|(level, lanes)| {
                // Few large clusters with a lane each would hide the work within them; runs of hosts are finer.
                lanes.len() <= most && (*level != Level::Section || lanes.len() >= most / 16)
            })
            .unwrap_or_else(|| {
                (Level::Run, runs(lanes_at(chart, Level::Group), most.min(MOST_RUNS)))
            });
        let bars = bars_of(chart, &lanes);
        Lanes { level, lanes, bars }
    }

    /// Lanes for a terminal: neighbouring idle rows share one, so that more charts fit with one lane per row.
    pub(crate) fn without_idle(chart: &Chart, most: usize) -> Lanes {
        let rows = fold_idle(chart, lanes_at(chart, Level::Row));
        if rows.len() > most.max(1) {
            return Lanes::of(chart, most);
        }
        let bars = bars_of(chart, &rows);
        Lanes { level: Level::Row, lanes: rows, bars }
    }

    /// A note on the number of processors and lanes, where processors have no lanes of their own.
    pub(crate) fn folded_note(&self, chart: &Chart) -> Option<String> {
        let rows: u32 = chart.groups.iter().map(|g| g.rows).sum();
        let what = match self.level {
            Level::Row => return None,
            Level::Group => "a row each for a host",
            Level::Section => "a row each for a cluster or site",
            Level::Run => "a row each for neighbouring hosts",
        };
        let (rows, hosts) = (grouped(rows as usize), grouped(chart.groups.len()));
        let lanes = match self.lanes.len() {
            1 => "one row".to_string(),
            several => format!("{} rows", grouped(several)),
        };
        Some(format!(
            "{rows} processors of {hosts} hosts folded into {lanes}: {what}, as high as it is busy"
        ))
    }

    /// Share of the rows of a lane that do useful work, per category and for each of `bins` equal slices of time.
    pub(crate) fn profile(&self, chart: &Chart, lane: usize, bins: usize) -> Vec<Vec<f64>> {
        let mut profile = vec![vec![0.0; bins]; chart.categories.len().max(1)];
        for &index in &self.bars[lane] {
            let bar = &chart.bars[index as usize];
            if let (Look::Work, Some(slots)) = (bar.look, profile.get_mut(bar.category as usize)) {
                self.lanes[lane].add(chart, bar, slots);
            }
        }
        profile
    }

    /// Share of the rows of a lane with bars of some looks, in each of `bins` equal slices of time.
    pub(crate) fn share(
        &self,
        chart: &Chart,
        lane: usize,
        bins: usize,
        wanted: impl Fn(Look) -> bool,
    ) -> Vec<f64> {
        let mut share = vec![0.0; bins];
        for &index in &self.bars[lane] {
            let bar = &chart.bars[index as usize];
            if wanted(bar.look) {
                self.lanes[lane].add(chart, bar, &mut share);
            }
        }
        share
    }

    /// Share of a lane that computes, over the whole time.
    pub(crate) fn utilisation(&self, chart: &Chart, lane: usize) -> f64 {
        let rows = &self.lanes[lane].rows;
        let area: f64 = self.bars[lane]
            .iter()
            .map(|&index| &chart.bars[index as usize])
            .filter(|bar| bar.look != Look::Down)
            .map(|bar| {
                let shared = bar.rows.end.min(rows.end) - bar.rows.start.max(rows.start);
                f64::from(shared) * (bar.finish - bar.start)
            })
            .sum();
        area.max(0.0) / (rows.len().max(1) as f64 * chart.seconds())
    }
}

impl Lane {
    /// Adds the part of a bar that is in this lane to slices of time.
    fn add(&self, chart: &Chart, bar: &Bar, slots: &mut [f64]) {
        let bins = slots.len();
        let shared = bar.rows.end.min(self.rows.end) - bar.rows.start.max(self.rows.start);
        let share = f64::from(shared) / self.rows.len().max(1) as f64;
        let from = chart.position(bar.start) * bins as f64;
        let to = chart.position(bar.finish) * bins as f64;
        let last = bins.saturating_sub(1);
        let (first, end) = ((from as usize).min(last), (to.ceil() as usize).min(last) + 1);
        for (bin, slot) in slots.iter_mut().enumerate().take(end).skip(first) {
            let overlap = to.min(bin as f64 + 1.0) - from.max(bin as f64);
            *slot += overlap.max(0.0) * share;
        }
    }
}

fn lanes_at(chart: &Chart, level: Level) -> Vec<Lane> {
    let mut lanes: Vec<Lane> = Vec::new();
    let mut row = 0;
    let mut section: Option<&str> = None;
    for group in &chart.groups {
        let rows = row..row + group.rows;
        match level {
            Level::Row => lanes.extend(rows.clone().map(|r| Lane {
                label: match group.rows {
                    1 => group.name.clone(),
                    _ => format!("{}/{}", group.name, r - rows.start),
                },
                rows: r..r + 1,
            })),
            Level::Section if section == Some(&group.section) => {
                if let Some(last) = lanes.last_mut() {
                    last.rows.end = rows.end;
                }
            }
            Level::Section => lanes.push(Lane { label: group.section.clone(), rows: rows.clone() }),
            _ => lanes.push(Lane { label: group.name.clone(), rows: rows.clone() }),
        }
        section = Some(&group.section);
        row = rows.end;
    }
    lanes
}

/// Merges each run of two or more idle rows into one lane.
fn fold_idle(chart: &Chart, rows: Vec<Lane>) -> Vec<Lane> {
    let busy: Vec<bool> = bars_of(chart, &rows).iter().map(|bars| !bars.is_empty()).collect();
    let mut lanes: Vec<Lane> = Vec::new();
    let mut idle = 0; // at the end of `lanes`
    for (row, busy) in rows.into_iter().zip(busy) {
        match lanes.last_mut() {
            Some(last) if !busy && idle > 0 => {
                idle += 1;
                last.rows.end = row.rows.end;
                last.label = format!("{idle} idle");
            }
            _ => {
                idle = usize::from(!busy);
                lanes.push(row);
            }
        }
    }
    lanes
}

/// Merges neighbours so that at most `most` lanes remain.
fn runs(lanes: Vec<Lane>, most: usize) -> Vec<Lane> {
    let per_run = lanes.len().div_ceil(most);
    let join = |run: &[Lane]| match run {
        [first, .., last] => Lane {
            label: span_of(&first.label, &last.label),
            rows: first.rows.start..last.rows.end,
        },
        [one] => one.clone(),
        [] => Lane { label: String::new(), rows: 0..0 },
    };
    lanes.chunks(per_run.max(1)).map(join).collect()
}

fn bars_of(chart: &Chart, lanes: &[Lane]) -> Vec<Vec<u32>> {
    let mut bars = vec![Vec::new(); lanes.len()];
    for (index, bar) in chart.bars.iter().enumerate() {
        let first = lanes.partition_point(|lane| lane.rows.end <= bar.rows.start);
        for (lane, list) in lanes.iter().zip(&mut bars).skip(first) {
            if lane.rows.start >= bar.rows.end {
                break;
            }
            list.push(index as u32);
        }
    }
    for list in &mut bars {
        list.sort_by(|&a, &b| {
            chart.bars[a as usize].start.total_cmp(&chart.bars[b as usize].start).then(a.cmp(&b))
        });
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Category, Group};

    fn chart(hosts: u32, cores: u32) -> Chart {
        let mut chart = Chart { span: 0.0..10.0, ..Chart::default() };
        chart.categories.push(Category { name: "a".into(), count: 1, rest: false });
        for h in 0..hosts {
            let section = format!("site{}", h / 4);
            chart.groups.push(Group { name: format!("h{h}"), section, rows: cores });
        }
        chart.labels.push("t");
        chart.bars.push(Bar {
            rows: 0..1,
            start: 0.0,
            finish: 5.0,
            category: 0,
            look: Look::Work,
            label: 0,
        });
        chart
    }

    #[test]
    fn as_fine_as_fits() {
        let level = |most| {
            let lanes = Lanes::of(&chart(8, 2), most);
            (lanes.level, lanes.lanes.len())
        };
        assert_eq!(level(16), (Level::Row, 16));
        assert_eq!(level(15), (Level::Group, 8));
        assert_eq!(level(7), (Level::Section, 2));
        assert_eq!(level(1), (Level::Run, 1));
        assert_eq!(Lanes::of(&chart(3, 1), 1).lanes[0].label, "site0");
    }

    #[test]
    fn idle_rows_share_a_line() {
        let names = |most| {
            let lanes = Lanes::without_idle(&chart(2, 3), most);
            lanes.lanes.iter().map(|l| l.label.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["h0/0", "5 idle"]);
        assert_eq!(names(1), ["site0"]);
        let lanes = Lanes::of(&chart(1500, 1), 320);
        let note = lanes.folded_note(&chart(1500, 1)).unwrap();
        assert!(note.starts_with("1500 processors of 1500 hosts folded into 63 rows"), "{note}");
    }

    #[test]
    fn profiles_conserve_busy_time() {
        let chart = chart(8, 2);
        let lanes = Lanes::of(&chart, 8);
        // One of two cores busy for half of the time, cut into 4 slices.
        assert_eq!(lanes.profile(&chart, 0, 4), [[0.5, 0.5, 0.0, 0.0]]);
        assert_eq!(lanes.utilisation(&chart, 0), 0.25);
        assert_eq!(lanes.utilisation(&chart, 1), 0.0);
    }
}
