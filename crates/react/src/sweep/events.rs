//! When to plan: at regular intervals (S1), or at intervals that grow slowly while plans come true
//! and shrink fast when they do not (S2), resources that never do as planned counting less (S3).

use super::queues::Queues;
use crate::situation::Situation;
use slackline_model::parameter::{ParameterError, Values};
use slackline_model::schedule::Detail;
use slackline_model::{FileId, TaskId, approx};
use slackline_schedule::sweep::Chart;

/// A resource that mispredicts whatever the interval keeps this much weight.
const LEAST_WEIGHT: f64 = 0.1;

/// Mean run times between plans, where nothing is said.
const MEAN_TASKS: f64 = 5.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Regular,
    Adapted,
    Weighted,
}

/// A plan that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) at: f64,
    pub(super) interval: f64,
    /// Share of wrong predictions of the plan before, where it ran its time.
    pub(super) deviation: Option<f64>,
    /// Tasks placed.
    pub(super) planned: usize,
}

/// Expected work at the next planning: a task per processor, a file per link.
#[derive(Clone, Debug, Default, PartialEq)]
struct Expected {
    tasks: Vec<Option<TaskId>>,
    files: Vec<Option<FileId>>,
}

#[derive(Clone, Debug)]
pub(super) struct Calendar {
    strategy: Strategy,
    interval: Option<f64>,
    threshold: f64,
    grow: f64,
    shrink: f64,
    bounds: (f64, f64),
    gain: f64,
    next: Option<f64>,
    expected: Option<Expected>,
    /// Per resource, processors first: its mean error so far.
    errors: Vec<f64>,
    plans: Vec<Planned>,
}

impl Calendar {
    pub(super) fn read(values: &Values) -> Result<Calendar, ParameterError> {
        Ok(Calendar {
            strategy: match values.word("strategy") {
                "s2" => Strategy::Adapted,
                "s3" => Strategy::Weighted,
                _ => Strategy::Regular,
            },
            interval: values.maybe_number("interval"),
            threshold: values.number("threshold")?,
            grow: values.number("grow")?,
            shrink: values.number("shrink")?,
            bounds: (values.number("min-interval")?, values.number("max-interval")?),
            gain: values.number("gain")?,
            next: None,
            expected: None,
            errors: Vec::new(),
            plans: Vec::new(),
        })
    }

    pub(super) fn next(&self) -> Option<f64> {
        self.next
    }

    pub(super) fn is_due(&self, now: f64) -> bool {
        self.next.is_some_and(|next| approx::le(next, now))
    }

    /// A plan is being made; gives the time to the next one.
    pub(super) fn plan_next(&mut self, now: f64, queues: &Queues, mean: impl Fn() -> f64) -> f64 {
        let deviation = self.is_due(now).then(|| self.deviation(queues)).flatten();
        let (least, most) = self.bounds;
        let before = self.plans.last().map(|plan| plan.interval);
        let interval = match (self.strategy, before, deviation) {
            (Strategy::Regular, Some(before), _) => before,
            (Strategy::Regular, None, _) => self.interval.unwrap_or_else(|| MEAN_TASKS * mean()),
            (_, None, _) => self.interval.unwrap_or(least).clamp(least, most.max(least)),
            (_, Some(before), Some(deviation)) => {
                let factor = if deviation > self.threshold { self.shrink } else { self.grow };
                (before * factor).clamp(least, most.max(least))
            }
            // Called before its time: nothing is known of how well the last one did.
            (_, Some(before), None) => before,
        };
        let interval = if interval > 0.0 { interval } else { 1.0 };
        self.next = Some(now + interval);
        self.plans.push(Planned { at: now, interval, deviation, planned: 0 });
        interval
    }

    /// The share of resources that do something else than was expected of them.
    fn deviation(&mut self, queues: &Queues) -> Option<f64> {
        let expected = self.expected.take()?;
        let tasks = expected
            .tasks
            .iter()
            .zip(&queues.columns)
            .map(|(expected, column)| *expected != column.running.map(|(task, _)| task));
        let files = expected
            .files
            .iter()
            .zip(&queues.lanes)
            .map(|(expected, lane)| *expected != lane.moving.map(|(item, _)| item.file));
        let wrong: Vec<bool> = tasks.chain(files).collect();
        self.errors.resize(wrong.len(), 0.0);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (error, &wrong) in self.errors.iter_mut().zip(&wrong) {
            let weight = match self.strategy {
                Strategy::Weighted => (1.0 - *error).max(LEAST_WEIGHT),
                _ => 1.0,
            };
            let missed = f64::from(u8::from(wrong));
            *error += self.gain * (missed - *error);
            sum += weight * missed;
            weights += weight;
        }
        Some(if weights > 0.0 { sum / weights } else { 0.0 })
    }

    /// The plans so far.
    pub(super) fn report(&self) -> Detail {
        let one = |plan: &Planned| {
            let mut parts =
                vec![("at", Detail::Number(plan.at)), ("interval", Detail::Number(plan.interval))];
            parts.extend(plan.deviation.map(|share| ("deviation", Detail::Number(share))));
            parts.push(("planned", Detail::Count(plan.planned as u64)));
            Detail::Record(parts)
        };
        Detail::List(self.plans.iter().map(one).collect())
    }

    /// Remembers what the plan that has just been made expects at the next planning.
    pub(super) fn record(
        &mut self,
        chart: &Chart<'_>,
        queues: &Queues,
        now: &Situation,
        planned: usize,
    ) {
        if let Some(plan) = self.plans.last_mut() {
            plan.planned = planned;
        }
        let date = self.next.unwrap_or(now.now);
        let mut expected = Expected {
            tasks: vec![None; queues.columns.len()],
            files: vec![None; queues.lanes.len()],
        };
        for (proc, column) in queues.columns.iter().enumerate() {
            if chart.blocked_until(slackline_model::ProcId::new(proc)) > date {
                expected.tasks[proc] = column.running.map(|(task, _)| task);
            }
        }
        for (index, lane) in queues.lanes.iter().enumerate() {
            if chart.link_blocked_until(index) > date {
                expected.files[index] = lane.moving.map(|(item, _)| item.file);
            }
        }
        let runs = |start: f64, finish: f64| start <= date && date < finish;
        for c in chart.computations.iter().filter(|c| runs(c.start, c.finish)) {
            expected.tasks[c.proc.index()] = Some(c.task);
        }
        for t in chart.transfers.iter().filter(|t| runs(t.start, t.finish)) {
            expected.files[t.line] = Some(t.file);
        }
        self.expected = Some(expected);
    }
}
