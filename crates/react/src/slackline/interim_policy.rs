//! Interim policies: methods that react to events between two evaluations. Where levels change often, a plan that is
//! adapted in between ends sooner than the same plan left alone. Rollouts simulate the interim policy with the plan and
//! so measure its worth; it is adopted and dropped at evaluations.

use super::context::PlanningContext;
use super::forecast::Forecast;
use super::rollouts::Choice;
use super::{Slackline, places, schedule_of};
use crate::aheft::Aheft;
use crate::gtp::{Gtp, Variant};
use crate::policy::{Decision, Event, Policy};
use crate::replanning;
use crate::situation::Situation;

/// Least time between two re-plannings, in times between evaluations.
const HEFT_PAUSE: f64 = 0.25;
const GTP_PAUSE: f64 = 1.0;

/// Least gain of HEFT's plan of the rest, as a share of the remaining time.
const GAIN: f64 = 0.01;

/// Effort of a rollout with an interim policy, and of all that an evaluation tries (two plans, each with every interim
/// policy), in rollouts without one.
pub(super) const COST: usize = 2;
pub(super) const COST_OF_ALL: usize = 2 * InterimKind::ALL.len() * COST;

/// Tasks that are planned again in about the time in which a rollout follows one.
const PLANNED_PER_FOLLOWED: usize = 16;

/// Methods of re-planning between evaluations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InterimKind {
    /// HEFT plans the rest for the levels as they are; that is followed where it ends sooner.
    Heft,
    /// Re-estimates unfinished tasks as GTP/c does, and moves them for any gain.
    Gtp,
}

impl InterimKind {
    const ALL: [InterimKind; 2] = [InterimKind::Heft, InterimKind::Gtp];

    pub(super) fn name(self) -> &'static str {
        match self {
            InterimKind::Heft => "heft",
            InterimKind::Gtp => "gtp/c",
        }
    }
}

#[derive(Clone)]
enum Method {
    Heft(Aheft),
    Gtp(Gtp),
}

/// An interim policy that starts from some plan.
#[derive(Clone)]
pub(super) struct InterimPolicy {
    method: Method,
    /// Least seconds between two re-plannings.
    pause: f64,
    /// Date of the last one.
    last: f64,
    /// Tasks planned so far, summed over re-plannings.
    planned: usize,
}

impl InterimPolicy {
    pub(super) fn kind(&self) -> InterimKind {
        match self.method {
            Method::Heft(_) => InterimKind::Heft,
            Method::Gtp(_) => InterimKind::Gtp,
        }
    }

    /// Effort so far, in tasks followed by rollouts.
    pub(super) fn effort(&self) -> usize {
        self.planned / PLANNED_PER_FOLLOWED
    }
}

impl Policy for InterimPolicy {
    fn wants(&mut self, events: &[Event], now: &Situation) -> bool {
        let arrivals = self.kind() == InterimKind::Gtp;
        let matters = |event: &Event| match event {
            Event::TransferFinished { .. } => arrivals,
            other => replanning::is_loss(other) || replanning::may_help(other),
        };
        now.tasks.open() > 0 && now.now - self.last >= self.pause && events.iter().any(matters)
    }

    fn react(&mut self, _: &[Event], now: &Situation, decisions: &mut Vec<Decision>) {
        self.last = now.now;
        self.planned += now.tasks.open();
        // Without a new plan the present one continues.
        let _ = match &mut self.method {
            Method::Heft(aheft) => aheft.reconsider(now, decisions),
            Method::Gtp(gtp) => gtp.reschedule(now, decisions),
        };
    }
}

impl Slackline {
    /// An interim policy that starts from the plan of a choice.
    pub(super) fn interim_policy(
        &self,
        kind: InterimKind,
        context: &PlanningContext<'_, '_>,
        choice: &Choice,
    ) -> InterimPolicy {
        let transfers = choice.plan.transfers;
        let (method, pause) = match kind {
            InterimKind::Heft => {
                let schedule = schedule_of(context.problem, &choice.plan, &choice.forecast);
                (Method::Heft(Aheft::continuing(schedule, transfers, GAIN)), HEFT_PAUSE)
            }
            InterimKind::Gtp => {
                let variant =
                    Variant { copies: true, rewind: true, transfers, ..Variant::default() };
                let places = places(&choice.plan, context.now.tasks.len());
                (Method::Gtp(Gtp::continuing(variant, self.rank.clone(), places)), GTP_PAUSE)
            }
        };
        let (pause, last) = (pause * self.least_period, f64::NEG_INFINITY);
        InterimPolicy { method, pause, last, planned: 0 }
    }

    /// The plan under way and the best of the others, each with other interim policies.
    pub(super) fn with_interim_policies(
        &self,
        context: &PlanningContext<'_, '_>,
        kept: &Choice,
        others: &[Choice],
    ) -> Vec<Choice> {
        let other = others.first().filter(|other| other.rewind.is_empty());
        let mut found = Vec::new();
        for choice in [kept].into_iter().chain(other) {
            let has = choice.interim_policy.as_ref().map(InterimPolicy::kind);
            let kinds =
                [None].into_iter().chain(InterimKind::ALL.map(Some)).filter(|kind| *kind != has);
            for kind in kinds {
                let Forecast { makespan, ref times } = choice.forecast;
                let forecast = Forecast { makespan, times: times.clone() };
                let mut with = Choice::new(choice.origin, choice.plan.clone(), forecast);
                with.interim_policy = kind.map(|kind| self.interim_policy(kind, context, choice));
                found.push(with);
            }
        }
        found
    }

    /// Whether these events are left to the interim policy.
    pub(super) fn is_left_to_interim_policy(&mut self, events: &[Event], now: &Situation) -> bool {
        !events.contains(&Event::WakeUp)
            && self
                .interim_policy
                .as_mut()
                .is_some_and(|interim_policy| interim_policy.wants(events, now))
    }

    /// Response of the interim policy to events.
    pub(super) fn react_in_between(
        &mut self,
        events: &[Event],
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) {
        let Some(interim_policy) = &mut self.interim_policy else { return };
        interim_policy.react(events, now, decisions);
        if let Some(Decision::Adopt(plan)) = decisions.last() {
            // Due dates are of the old plan: nothing is late before the next evaluation.
            self.due.fill(f64::INFINITY);
            self.note(plan.clone());
        }
    }
}
