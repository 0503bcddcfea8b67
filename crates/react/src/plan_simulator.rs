//! Simulation of plans, given to policies by the caller; this crate does not depend on a simulator.

use crate::policy::{Plan, Policy};
use crate::situation::Situation;
use slackline_model::platform::PlanningNetwork;

/// One way in which what is not known may go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelForecast {
    /// Per host: from which date on it has which share of its peak, by date.
    pub hosts: Vec<Vec<(f64, f64)>>,
    /// From which date on the network is as given, by date.
    pub network: Vec<(f64, PlanningNetwork)>,
    /// Per task: how long it takes over what is estimated; empty where estimates hold.
    pub factors: Vec<f64>,
}

impl LevelForecast {
    /// Everything stays as it is seen.
    pub fn lasting(now: &Situation) -> LevelForecast {
        let level = |&level: &f64| vec![(now.now, level)];
        LevelForecast {
            hosts: now.view.availability.iter().map(level).collect(),
            network: vec![(now.now, now.view.network.clone())],
            factors: Vec::new(),
        }
    }

    /// Number of changes on some hosts and in the network.
    pub fn changes_on(&self, hosts: &[bool]) -> usize {
        let later = |dates: usize| dates.saturating_sub(1);
        let on = self.hosts.iter().zip(hosts).filter(|(_, used)| **used);
        on.map(|(h, _)| later(h.len())).sum::<usize>() + later(self.network.len())
    }
}

/// Follows plans to their end, on a copy of the rest of a run.
pub trait PlanSimulator {
    /// When all tasks would be done if this plan were followed from now on, whatever happens or until
    /// `then` has another one; infinite where they never would, or not before `limit`. Nothing where
    /// the run is one that it cannot copy. A function of what it is given: asked again it answers the
    /// same.
    fn follow(
        &mut self,
        now: &Situation,
        plan: &Plan,
        then: Option<&mut dyn Policy>,
        course: &LevelForecast,
        limit: f64,
    ) -> Option<f64>;
}
