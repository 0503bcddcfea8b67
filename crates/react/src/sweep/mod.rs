//! Parameter sweeps on a grid that does not hold still (Berman et al. 1999): plan often, not far.
//!
//! At every scheduling event `do_plan` ([`planning`](self)) cuts the queues of hosts and links short,
//! puts the rest of the work on a Gantt chart of hosts *and* links, as one of the sweep heuristics
//! chooses, and fills the queues from it. In between `do_schedule` ([`dispatch`]) starts the first task
//! of every idle host once its inputs are in the storage of its cluster, and on every idle link the
//! first transfer that can go; an idle host with an empty queue asks for a new plan. One transfer
//! per link is under way, the rest stay here. When to plan next follows from how far the last plan
//! was from what happened ([`events`]); what resources will give from what they gave ([`forecast`]).
//!
//! A failed task is done again; files in the storage of a cluster outlast an absence of it; a result
//! that cannot be fetched when a plan is made is made again elsewhere. O(v + n (k + c log h)) per plan that
//! places n of v open tasks of c classes on k clusters of h hosts.

mod dispatch;
mod events;
mod forecast;
mod planning;
mod queues;
mod reconcile;
mod storage;

use crate::policy::{Decision, Event, Policy};
use crate::situation::Situation;
use events::Calendar;
use forecast::Levels;
use planning::Pending;
use queues::Queues;
use slackline_model::parameter::{Kind, Parameter, ParameterError, Values};
use slackline_model::schedule::Detail;
use slackline_model::units::Quantity;
use slackline_model::{Problem, approx};
use slackline_schedule::PlanError;
use slackline_schedule::sweep::{self as heuristics, Heuristic, Wishes};

/// Subset of the open tasks that a plan considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subset {
    All,
    Random,
    Shared,
}

/// Order of an idle link's queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkOrder {
    /// The first only.
    Strict,
    /// The first that exists.
    Greedy,
    /// The first that exists, unless one before it is expected within so many seconds.
    Hybrid(f64),
}

/// Estimation of output sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outputs {
    Known,
    Mean,
    Regression,
}

/// Options of the policy.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    heuristic: Heuristic,
    until_computed: bool,
    keep: usize,
    quota: usize,
    subset: Subset,
    delta: Option<f64>,
    replan_on_creation: bool,
    replan_on_deletion: bool,
    steal: bool,
    link_order: LinkOrder,
    by_progress: bool,
    overdue: f64,
    outputs: Outputs,
    wishes: Wishes,
    seed: u64,
}

const SECONDS: Kind = Kind::Quantity(Quantity::Duration);

/// The parameters of the policies, those of all heuristics among them.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new("keep", Kind::Count(0, u32::MAX as u64), "1", "tasks of each host's queue that a new plan leaves alone"),
    Parameter::new("quota", Kind::Count(1, u32::MAX as u64), "4", "most tasks that one plan places, per host"),
    Parameter::new("subset", Kind::Choice(&["all", "random", "shared"]), "all", "open tasks that a plan considers: all, as many as it may place drawn at random, or those around the largest shared files")
        .published("all"),
    Parameter::new("delta", SECONDS, "auto", "seconds beyond the next plan to which hosts are filled; auto: as long as until then"),
    Parameter::new("strategy", Kind::Choice(&["s1", "s2", "s3"]), "s1", "when to plan: s1 regularly, s2 as plans come true, s3 the same with less weight on what never does"),
    Parameter::new("interval", SECONDS, "auto", "seconds between plans; auto: five mean run times (s1), the least allowed at first (s2, s3)"),
    Parameter::new("threshold", Kind::Number(0.0, 1.0), "0.25", "share of wrong predictions above which plans come more often (s2, s3)"),
    Parameter::new("grow", Kind::Number(1.0, 100.0), "1.1", "factor on the interval after a good plan (s2, s3)"),
    Parameter::new("shrink", Kind::Number(0.0, 1.0), "0.5", "factor on the interval after a bad plan (s2, s3)"),
    Parameter::new("min-interval", SECONDS, "10s", "least interval (s2, s3)"),
    Parameter::new("max-interval", SECONDS, "3600s", "largest interval (s2, s3)"),
    Parameter::new("gain", Kind::Number(0.0, 1.0), "0.3", "weight of the last plan in a resource's mean error (s3)"),
    Parameter::new("replan-on", Kind::Choice(&["never", "creation", "deletion", "both"]), "creation", "hosts that come or go call for a plan at once"),
    Parameter::new("steal", Kind::Switch, "yes", "an idle host takes a ready task from another of its cluster"),
    Parameter::new("link-order", Kind::Choice(&["strict", "greedy", "hybrid"]), "greedy", "which transfer of its queue a link starts: the first, the first that exists, or that unless one before it is expected soon")
        .published("greedy"),
    Parameter::new("wait", SECONDS, "5s", "how soon an output must be expected for a hybrid link to wait for it"),
    Parameter::new("forecast", Kind::Choice(&["last", "mean", "median", "adaptive"]), "last", "what levels of hosts and links to expect, from those seen"),
    Parameter::new("remaining", Kind::Choice(&["simple", "progress"]), "simple", "when a running item ends: as expected at its start, or by how far it is"),
    Parameter::new("overdue", SECONDS, "5s", "how much longer an item takes that should have ended (remaining = simple)"),
    heuristics::EXCHANGE,
    heuristics::RESULTS,
    heuristics::COMPLETION,
    heuristics::JUMP,
    heuristics::STEP,
    heuristics::SECOND,
    heuristics::RHO,
    Parameter::new("output", Kind::Choice(&["known", "mean", "regression"]), "known", "size of outputs: as stated, the mean of those seen, or by the size of inputs"),
];

impl Choices {
    fn read(heuristic: Heuristic, values: &Values, seed: u64) -> Result<Choices, ParameterError> {
        let replan = values.word("replan-on");
        Ok(Choices {
            heuristic,
            until_computed: values.word("completion") == "compute",
            keep: values.count("keep")?,
            quota: values.count("quota")?,
            subset: match values.word("subset") {
                "random" => Subset::Random,
                "shared" => Subset::Shared,
                _ => Subset::All,
            },
            delta: values.maybe_number("delta"),
            replan_on_creation: matches!(replan, "creation" | "both"),
            replan_on_deletion: matches!(replan, "deletion" | "both"),
            steal: values.switch("steal"),
            link_order: match values.word("link-order") {
                "strict" => LinkOrder::Strict,
                "hybrid" => LinkOrder::Hybrid(values.number("wait")?),
                _ => LinkOrder::Greedy,
            },
            by_progress: values.word("remaining") == "progress",
            overdue: values.number("overdue")?,
            outputs: match values.word("output") {
                "mean" => Outputs::Mean,
                "regression" => Outputs::Regression,
                _ => Outputs::Known,
            },
            wishes: Wishes::read(values),
            seed,
        })
    }
}

/// The policy; see the module's head.
pub struct Sweep {
    choices: Choices,
    calendar: Calendar,
    levels: Levels,
    queues: Option<Queues>,
    /// Number of plans made.
    plans: u64,
    /// A plan that is still being made.
    pending: Option<Pending>,
    /// Clusters that are there but whose links carried nothing when it last planned.
    dark: Vec<usize>,
    /// One of their links carries something again.
    lit: bool,
}

impl Sweep {
    /// A policy around a heuristic.
    pub fn new(
        rule: heuristics::Rule,
        random: bool,
        values: &Values,
        seed: u64,
    ) -> Result<Sweep, ParameterError> {
        let heuristic = heuristics::heuristic(rule, random, values)?;
        Ok(Sweep {
            choices: Choices::read(heuristic, values, seed)?,
            calendar: Calendar::read(values)?,
            levels: Levels::new(values.word("forecast")),
            queues: None,
            plans: 0,
            pending: None,
            dark: Vec::new(),
            lit: false,
        })
    }

    /// Whether the events call for a plan between the regular ones.
    fn calls_for_plan(&self, events: &[Event]) -> bool {
        events.iter().any(|event| match event {
            Event::Start => true,
            Event::HostBack(_) => self.choices.replan_on_creation,
            Event::HostLost(_) => self.choices.replan_on_deletion,
            event => event.is_growth(),
        })
    }
}

impl Policy for Sweep {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        self.levels.watch(events, now);
        if !self.dark.is_empty()
            && events.contains(&Event::NetworkChanged)
            && let Some(queues) = &self.queues
        {
            self.lit |= self.dark.iter().any(|&c| self.levels.carries(now, queues, c));
        }
        // A host whose window opens has changed, too.
        let windows = now.pools.has_windows();
        let only_levels = |e: &Event| match e {
            Event::HostChanged(_) => !windows,
            event => *event == Event::NetworkChanged,
        };
        self.lit || !events.iter().all(only_levels)
    }

    fn looks_at_progress(&self) -> bool {
        self.choices.by_progress
    }

    /// Whether queues continue while a plan is made.
    fn keeps_time(&self) -> bool {
        true
    }

    fn check(&self, problem: &Problem<'_>) -> Result<(), PlanError> {
        heuristics::check(problem, &self.choices.wishes)
    }

    fn collects(&self) -> bool {
        self.queues.as_ref().is_some_and(|queues| !queues.unsent.is_empty())
    }

    fn report(&self) -> Vec<(&'static str, Detail)> {
        let steals = self.queues.as_ref().map_or(0, |queues| queues.steals);
        vec![("events", self.calendar.report()), ("steals", Detail::Count(steals as u64))]
    }

    fn react(&mut self, events: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        if self.queues.is_none() {
            match Queues::new(now, &self.choices.wishes) {
                Ok(queues) => self.queues = Some(queues),
                Err(why) => return decisions.push(Decision::GiveUp(why)),
            }
            self.levels.look(now);
        }
        let Some(queues) = &mut self.queues else { return };
        queues.take_note(events, now);
        queues.clear_out(now, decisions);
        if let Some(made) = self.pending.take_if(|pending| approx::le(pending.due, now.now)) {
            queues.adopt(made, now);
            queues.stir_all();
        }
        let lit = std::mem::take(&mut self.lit);
        let mut plan = lit || self.calls_for_plan(events) || self.calendar.is_due(now.now);
        let Some(queues) = &mut self.queues else { return };
        if !plan {
            queues.start_tasks(now, &self.choices, decisions);
            plan = queues.someone_asks(now);
        }
        plan &= self.pending.is_none();
        if plan && (queues.open > 0 || queues.has_stuck_results(now)) {
            self.do_plan(now, decisions);
        }
        let Some(queues) = &mut self.queues else { return };
        if plan || queues.disturbed || matches!(self.choices.link_order, LinkOrder::Hybrid(_)) {
            queues.stir_all();
        }
        queues.mend(now);
        queues.start_tasks(now, &self.choices, decisions);
        queues.start_transfers(now, &self.choices, decisions);
        if let Some(pending) = &self.pending {
            decisions.push(Decision::WakeAt(pending.due));
            return;
        }
        let waits = queues.open > 0 || queues.has_stuck_results(now);
        if let Some(date) = self.calendar.next().filter(|&date| waits && date > now.now) {
            decisions.push(Decision::WakeAt(date));
        }
    }
}
