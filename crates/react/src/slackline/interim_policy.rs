//! Habits: what is done between two looks when something happens. In a restless world a plan that is
//! changed as things come is worth more than what becomes of it if it is not; roll-outs that follow the
//! habit too see that, and take it up or give it up at looks.

use super::context::PlanningContext;
use super::forecast::Forecast;
use super::rollouts::Choice;
use super::{Slackline, places, schedule_of};
use crate::aheft::Aheft;
use crate::gtp::{Gtp, Variant};
use crate::policy::{Decision, Event, Policy};
use crate::replanning;
use crate::situation::Situation;

/// Times between looks that pass at least between two changes of mind.
const REPLANNING: f64 = 0.25;
const COSTING: f64 = 1.0;

/// Least gain of HEFT's plan of the rest, as a share of the remaining time.
const GAIN: f64 = 0.01;

/// A roll-out that follows a habit takes about as long as this many that do not, and all that are tried at a
/// look as this many.
pub(super) const COST: usize = 2;
pub(super) const WORTH: usize = 2 * InterimKind::ALL.len() * COST;

/// Ways of changing one's mind.
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

/// A habit from some plan on.
#[derive(Clone)]
pub(super) struct InterimPolicy {
    method: Method,
    /// Seconds between two changes of mind.
    pause: f64,
    last: f64,
    /// Tasks that were planned.
    planned: usize,
}

impl InterimPolicy {
    pub(super) fn kind(&self) -> InterimKind {
        match self.method {
            Method::Heft(_) => InterimKind::Heft,
            Method::Gtp(_) => InterimKind::Gtp,
        }
    }

    /// Effort so far, in tasks that roll-outs follow.
    pub(super) fn effort(&self) -> usize {
        self.planned / 16
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
        // Where there is no plan what is under way continues.
        let _ = match &mut self.method {
            Method::Heft(aheft) => aheft.reconsider(now, decisions),
            Method::Gtp(gtp) => gtp.reschedule(now, decisions),
        };
    }
}

impl Slackline {
    /// A habit from a choice on.
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
                (Method::Heft(Aheft::going_on(schedule, transfers, GAIN)), REPLANNING)
            }
            InterimKind::Gtp => {
                let variant =
                    Variant { copies: true, rewind: true, transfers, ..Variant::default() };
                let places = places(&choice.plan, context.now.tasks.len());
                (Method::Gtp(Gtp::going_on(variant, self.rank.clone(), places)), COSTING)
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

    /// Whether what happens is left to the habit.
    pub(super) fn is_left_to_interim_policy(&mut self, events: &[Event], now: &Situation) -> bool {
        !events.contains(&Event::WakeUp)
            && self
                .interim_policy
                .as_mut()
                .is_some_and(|interim_policy| interim_policy.wants(events, now))
    }

    /// Response of the interim policy to events.
    pub(super) fn go_on(
        &mut self,
        events: &[Event],
        now: &Situation,
        decisions: &mut Vec<Decision>,
    ) {
        let Some(interim_policy) = &mut self.interim_policy else { return };
        interim_policy.react(events, now, decisions);
        if let Some(Decision::Adopt(plan)) = decisions.last() {
            // Nothing is late before the next look.
            self.due.fill(f64::INFINITY);
            self.note(plan.clone());
        }
    }
}
