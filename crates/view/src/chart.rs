//! A Gantt chart as data: rows in groups, bars on rows, arrows between rows, marks in time.

use crate::palette;
use slackline_model::names::Names;
use std::ops::Range;

/// The content of a chart, independent of how it is drawn.
#[derive(Clone, Debug, Default)]
pub struct Chart {
    /// Heading.
    pub title: String,
    /// Short facts for the line under the heading.
    pub facts: Vec<String>,
    /// Hosts with their rows, top to bottom.
    pub groups: Vec<Group>,
    /// Meanings of the colours, in the order of the legend.
    pub categories: Vec<Category>,
    /// Whether the categories have an order (depth) that the colours should show.
    pub ordered: bool,
    /// Everything that takes time on a row.
    pub bars: Vec<Bar>,
    /// Labels of the bars.
    pub labels: Names,
    /// Transfers from row to row.
    pub arrows: Vec<Arrow>,
    /// Dates to point out.
    pub marks: Vec<Mark>,
    /// The re-plannings, in order.
    pub replannings: Vec<Replanning>,
    /// Numbers that change over time, drawn under the rows.
    pub courses: Vec<StepSeries>,
    /// First and last date.
    pub span: Range<f64>,
    /// Number of hosts left out because they have no bars.
    pub idle_hosts: usize,
}

/// Rows that belong together: the cores of a host.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Name of the host.
    pub name: String,
    /// Its cluster or site.
    pub section: String,
    /// Number of rows.
    pub rows: u32,
}

/// A colour and its meaning: a kind of task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Category {
    /// Its name in the legend.
    pub name: String,
    /// Number of bars that have it.
    pub count: usize,
    /// Everything that has no colour of its own.
    pub rest: bool,
}

/// The appearance of a bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Look {
    /// A computation.
    #[default]
    Work,
    /// A computation that was stopped before its end, to begin again elsewhere.
    Stopped,
    /// A computation that broke off, or was under way when the run ended without it.
    Failed,
    /// A computation that ended, whose result was lost and had to be computed again.
    Rewound,
    /// The machine is not there.
    Down,
}

impl Look {
    /// Returns its meaning, for a legend.
    pub fn meaning(self) -> &'static str {
        match self {
            Look::Work => "computed",
            Look::Stopped => "stopped and begun elsewhere",
            Look::Failed => "broken off",
            Look::Rewound => "done, result lost",
            Look::Down => "host down",
        }
    }

    /// Returns the addition to the name of a bar.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Look::Work | Look::Down => "",
            Look::Stopped => ", stopped",
            Look::Failed => ", broken off",
            Look::Rewound => ", result lost",
        }
    }
}

/// Something that takes time on one or several neighbouring rows.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Rows it covers.
    pub rows: Range<u32>,
    /// Begin.
    pub start: f64,
    /// End.
    pub finish: f64,
    /// Index of its category.
    pub category: u16,
    /// Its appearance.
    pub look: Look,
    /// Index of its label.
    pub label: u32,
}

impl Bar {
    /// Row-seconds it covers.
    pub fn area(&self) -> f64 {
        self.rows.len() as f64 * (self.finish - self.start)
    }
}

/// A transfer from one row to another.
#[derive(Clone, Debug)]
pub struct Arrow {
    /// Row it leaves.
    pub from: u32,
    /// Row it reaches.
    pub to: u32,
    /// Departure, seconds.
    pub start: f64,
    /// Arrival, seconds.
    pub finish: f64,
    /// The file or files that move.
    pub note: String,
    /// Whether it never arrived.
    pub broken: bool,
}

/// A new plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replanning {
    /// Date, seconds.
    pub at: f64,
    /// Number of tasks it moved.
    pub moved: usize,
}

/// A number that changes over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSeries {
    /// The quantity.
    pub name: String,
    /// Dates in order, and the level from then on.
    pub steps: Vec<(f64, f64)>,
    /// The highest level there may be, which has a line of its own.
    pub capacity: Option<f64>,
    /// Text at the top; the highest level if empty.
    pub top: String,
}

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// The end of the last bar.
    End,
    /// A lower bound of the end.
    Bound,
    /// A deadline of the end.
    Deadline,
}

/// A date to point out over all rows.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The date.
    pub at: f64,
    /// The event at that date.
    pub label: String,
    /// Its meaning, which determines its appearance.
    pub kind: MarkKind,
}

impl Chart {
    /// Colour of a category in pictures, such as `#4477aa`.
    pub fn colour(&self, category: usize) -> String {
        let rest = self.categories.get(category).is_some_and(|c| c.rest);
        let colour = palette::of(category, self.categories.len(), self.ordered, rest);
        format!("#{:06x}", colour.rgb)
    }

    /// Leaves out the hosts on which nothing happens, unless that is all of them.
    pub fn without_idle_hosts(mut self) -> Chart {
        let mut busy = vec![false; self.rows()];
        for bar in &self.bars {
            busy[bar.rows.start as usize..bar.rows.end as usize].fill(true);
        }
        let mut row_of: Vec<u32> = Vec::with_capacity(busy.len());
        let mut kept = Vec::new();
        let (mut first, mut next) = (0usize, 0u32);
        for group in std::mem::take(&mut self.groups) {
            let rows = first..first + group.rows as usize;
            first = rows.end;
            let used = self.bars.is_empty() || busy[rows.clone()].contains(&true);
            row_of.extend((0..group.rows).map(|core| next + if used { core } else { 0 }));
            if used {
                next += group.rows;
                kept.push(group);
            } else {
                self.idle_hosts += 1;
            }
        }
        self.groups = kept;
        for bar in &mut self.bars {
            let start = row_of[bar.rows.start as usize];
            bar.rows = start..start + bar.rows.len() as u32;
        }
        for arrow in &mut self.arrows {
            (arrow.from, arrow.to) = (row_of[arrow.from as usize], row_of[arrow.to as usize]);
        }
        self
    }

    /// Returns the note about the hosts that are left out.
    pub(crate) fn idle_note(&self) -> Option<String> {
        match self.idle_hosts {
            0 => None,
            1 => Some("1 more host has no work".to_string()),
            n => Some(format!("{n} more hosts have no work")),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.groups.iter().map(|g| g.rows as usize).sum()
    }

    /// Seconds shown; never 0, so that it can divide.
    pub fn seconds(&self) -> f64 {
        let seconds = self.span.end - self.span.start;
        if seconds > 0.0 && seconds.is_finite() { seconds } else { 1.0 }
    }

    /// Returns the position of a date within the shown time, from 0 to 1.
    pub fn position(&self, date: f64) -> f64 {
        ((date - self.span.start) / self.seconds()).clamp(0.0, 1.0)
    }

    /// Pieces of one task that are not next to each other, each with the next one below it.
    pub fn pieces(&self) -> impl Iterator<Item = (&Bar, &Bar)> + '_ {
        // Every task has a label of its own, and its pieces follow each other.
        let pairs = self.bars.windows(2).map(|pair| (&pair[0], &pair[1]));
        pairs.filter(|(above, below)| above.label == below.label)
    }

    /// Label of a bar.
    pub fn label(&self, bar: &Bar) -> &str {
        self.labels.get(bar.label as usize)
    }

    /// Name of a row: its host, with the core where there are several.
    pub fn row_name(&self, row: u32) -> String {
        let mut first = 0;
        for group in &self.groups {
            if row < first + group.rows {
                return match group.rows {
                    1 => group.name.clone(),
                    _ => format!("{}/{}", group.name, row - first),
                };
            }
            first += group.rows;
        }
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_hosts_go_and_bars_stay_with_theirs() {
        let group = |name: &str, rows| Group { name: name.into(), section: String::new(), rows };
        let mut chart = Chart { span: 0.0..1.0, ..Chart::default() };
        chart.groups = vec![group("idle", 3), group("busy", 2), group("idle too", 1)];
        let (start, finish) = (0.0, 1.0);
        chart.bars =
            vec![Bar { rows: 4..5, start, finish, category: 0, look: Look::Work, label: 0 }];
        let chart = chart.without_idle_hosts();
        assert_eq!(chart.bars[0].rows, 1..2);
        assert_eq!(chart.row_name(1), "busy/1");
        assert_eq!((chart.rows(), chart.idle_hosts), (2, 2));
    }
}
