//! Rollouts: simulation of the rest of a run from a situation, under given forecasts of levels and run times.
//!
//! They use the situation alone, never the backend of the run, so that they give the same results when a run is replayed
//! from its log. Situations have bandwidths of pairs of host groups; that of a link is derived as the greatest share of
//! nominal bandwidth among the pairs that use it.

use crate::backend::BackendError;
use crate::engine::fork;
use crate::simulated::{GroupWays, Observed, Reality, Simulated};
use slackline_model::platform::{
    Charges, Contention, Network, PlanningNetwork, Platform, Profile, ProfileEvent,
};
use slackline_model::scenario::{HostWorld, LinkWorld, PairWorld, World};
use slackline_model::{HostId, Problem, ProcId, TaskId, approx};
use slackline_react::{LevelForecast, Plan, PlanSimulator, Policy, Situation, TaskState};
use slackline_simulate::{Models, NetworkModel};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// Simulation of the rest of a run from a situation on, under given levels and run times.
pub struct Rollout {
    charges: Charges,
    /// The platform without its own future changes, which are unknown.
    steady: Option<Arc<Platform>>,
    /// The network at nominal bandwidths, in the host groups of the situation.
    peak: Option<Arc<PlanningNetwork>>,
    /// Per pair of these groups: the links between them; found at first use.
    ways: Option<Arc<GroupWays>>,
    /// The network at the start of the last rollout.
    seen: Option<Arc<Observed>>,
    /// Last bandwidths of links derived from rates of pairs of groups: the draws of one evaluation share them.
    derived: VecDeque<DerivedShares>,
}

/// The rates between groups, and the share that each link has by them.
struct DerivedShares {
    rates: Vec<f64>,
    shares: Vec<f64>,
}

/// Number of derived shares kept.
const SHARES_KEPT: usize = 4;

/// Remaining run times: estimates times drawn factors, less the progress of running tasks.
struct Expected<'a> {
    problem: &'a Problem<'a>,
    now: &'a Situation,
    factors: &'a [f64],
}

impl Reality for Expected<'_> {
    fn seconds(&self, task: TaskId, procs: &[ProcId]) -> f64 {
        let Some(&first) = procs.first() else { return 0.0 };
        let class = self.problem.class_of(first);
        let whole = self.problem.exec_wide(task, class, procs.len() as u32);
        let left = match self.now.task(task) {
            TaskState::Running { procs: at, .. } if at[..] == *procs => {
                1.0 - self.now.progress[task.index()]
            }
            _ => 1.0,
        };
        whole * left * self.factors.get(task.index()).copied().unwrap_or(1.0)
    }
}

impl Rollout {
    /// A simulator whose network model charges a lone transfer like this.
    pub fn new(charges: Charges) -> Rollout {
        let derived = VecDeque::new();
        Rollout { charges, steady: None, peak: None, ways: None, seen: None, derived }
    }

    /// Simulation models that come nearest to the charges of the run.
    fn models(&self, now: &Situation) -> Models {
        let other = |network| Models { network, ..Models::default() };
        match (now.contention, now.platform.network()) {
            (Contention::InTurn, _) => other(NetworkModel::Fifo),
            (Contention::Free, _) | (_, Network::Matrix(_)) => other(NetworkModel::Matrix),
            (Contention::Shared, Network::Zones) => Models::charging(&self.charges),
        }
    }

    fn steady(&mut self, now: &Situation) -> Arc<Platform> {
        let still = || now.platform.steady().map_or_else(|| now.platform.clone(), Arc::new);
        self.steady.get_or_insert_with(still).clone()
    }

    fn peak(&mut self, now: &Situation) -> Arc<PlanningNetwork> {
        let groups = now.view.network.groups;
        if self.peak.as_ref().is_none_or(|peak| peak.groups != groups) {
            self.peak = Some(Arc::new(now.peak_network.regrouped(&now.view.network)));
            (self.ways, self.seen) = (None, None);
            self.derived.clear();
        }
        self.peak.clone().unwrap_or_else(|| now.peak_network.clone())
    }

    /// Levels of hosts and links as the simulator takes them; none where they are not valid levels.
    fn world(
        &mut self,
        now: &Situation,
        used: &[bool],
        course: &LevelForecast,
        peak: &PlanningNetwork,
    ) -> Option<World> {
        let mut world = World {
            hosts: vec![HostWorld::default(); used.len()],
            links: vec![LinkWorld::default(); now.platform.links().len()],
            pairs: Vec::new(),
        };
        for (host, levels) in course.hosts.iter().enumerate().filter(|(h, _)| used[*h]) {
            let levels = levels.iter().map(|&(date, level)| (date - now.now, level));
            world.hosts[host].availability = profile(levels)?;
        }
        if matches!(now.platform.network(), Network::Zones) {
            self.link_courses(now, course, peak, &mut world)?;
        } else if !course.network.iter().all(|(_, network)| same_rates(network, peak)) {
            world.pairs = pair_courses(now, course, peak)?;
        }
        Some(world)
    }

    fn link_courses(
        &mut self,
        now: &Situation,
        course: &LevelForecast,
        peak: &PlanningNetwork,
        world: &mut World,
    ) -> Option<()> {
        let links = now.platform.links();
        let mut levels: Vec<Vec<(f64, f64)>> = vec![Vec::new(); links.len()];
        for (date, network) in &course.network {
            let shares = if same_rates(network, peak) {
                vec![1.0; links.len()]
            } else {
                self.shares(&now.platform, network, peak)
            };
            for ((levels, share), link) in levels.iter_mut().zip(shares).zip(links) {
                // The constant level of the platform file counts too.
                let level = share * (link.level() / link.bandwidth);
                if levels.last().is_none_or(|(_, last)| *last != level) {
                    levels.push((date - now.now, level));
                }
            }
        }
        for (course, levels) in world.links.iter_mut().zip(levels) {
            if levels != [(0.0, 1.0)] {
                course.bandwidth = profile(levels.into_iter())?;
            }
        }
        Some(())
    }

    fn ways(&mut self, platform: &Platform, peak: &PlanningNetwork) -> Arc<GroupWays> {
        let find = || Arc::new(GroupWays::find(platform, peak, &self.charges));
        self.ways.get_or_insert_with(find).clone()
    }

    /// Per link: share of its nominal bandwidth, derived from the pairs that use it; 1 for unused links.
    fn shares(
        &mut self,
        platform: &Platform,
        network: &PlanningNetwork,
        peak: &PlanningNetwork,
    ) -> Vec<f64> {
        if let Some(known) = self.derived.iter().find(|known| known.rates == network.bandwidth) {
            return known.shares.clone();
        }
        let ways = self.ways(platform, peak);
        let mut shares = vec![0.0f64; platform.links().len()];
        let mut seen = vec![false; shares.len()];
        for (pair, way) in ways.ways.iter().enumerate() {
            let share = match peak.bandwidth[pair] {
                most if most > 0.0 && most.is_finite() => network.bandwidth[pair] / most,
                _ => 1.0,
            };
            for step in &way.links {
                let best = &mut shares[step.link.index()];
                *best = best.max(share.clamp(0.0, 1.0));
                seen[step.link.index()] = true;
            }
        }
        let of = |(share, seen)| if seen { share } else { 1.0 };
        let shares: Vec<f64> = shares.into_iter().zip(seen).map(of).collect();
        self.derived.truncate(SHARES_KEPT - 1);
        self.derived
            .push_front(DerivedShares { rates: network.bandwidth.clone(), shares: shares.clone() });
        shares
    }
}

fn same_rates(a: &PlanningNetwork, b: &PlanningNetwork) -> bool {
    a.groups == b.groups
        && a.bandwidth.iter().zip(&b.bandwidth).all(|(a, b)| a == b || approx::eq(*a, *b))
}

/// Connections of a matrix network, as shares of their nominal bandwidths.
fn pair_courses(
    now: &Situation,
    course: &LevelForecast,
    peak: &PlanningNetwork,
) -> Option<Vec<PairWorld>> {
    let hosts = now.platform.hosts().len();
    let mut pairs = Vec::new();
    for a in (0..hosts).map(HostId::new) {
        for b in (a.index() + 1..hosts).map(HostId::new) {
            let rate = |n: &PlanningNetwork| n.bandwidth[n.pair(a, b)];
            let most = rate(peak);
            let share = |n: &PlanningNetwork| (rate(n) / most).clamp(0.0, 1.0);
            let levels = course.network.iter().map(|(date, n)| (date - now.now, share(n)));
            let bandwidth = profile(levels)?;
            let course = LinkWorld { bandwidth, state: None };
            pairs.push(PairWorld { hosts: (a, b), course });
        }
    }
    Some(pairs)
}

/// Levels over time; none where they are not valid.
fn profile(levels: impl Iterator<Item = (f64, f64)>) -> Option<Option<Arc<Profile>>> {
    let events = levels.map(|(date, value)| ProfileEvent { date: date.max(0.0), value });
    Some(Some(Arc::new(Profile::once(events.collect()).ok()?)))
}

/// Whether a situation has all that a rollout needs. It lacks the state of central stores, of bounded storage, of
/// anticipated transfers, and of charges for local data.
fn can_copy(now: &Situation) -> bool {
    let bounded = now.platform.shares_storage()
        && now.platform.host_ids().any(|host| now.platform.storage_of(host).is_some());
    !(now.central || now.anticipated || bounded || now.charges_local())
}

impl PlanSimulator for Rollout {
    fn follow(
        &mut self,
        now: &Situation,
        plan: &Plan,
        then: Option<&mut dyn Policy>,
        course: &LevelForecast,
        limit: f64,
    ) -> Option<f64> {
        if !can_copy(now) {
            return None;
        }
        let peak = self.peak(now);
        // A policy that may re-plan may use any host.
        let used = match then {
            Some(_) => vec![true; now.platform.hosts().len()],
            None => now.hosts_in_use(plan),
        };
        let world = self.world(now, &used, course, &peak)?;
        let steady = self.steady(now);
        let matrix = matches!(now.platform.network(), Network::Matrix(_));
        let in_turn = now.contention == Contention::InTurn;
        let pairwise = matrix && (in_turn || !world.pairs.is_empty());
        let platform =
            if pairwise { steady.linked_pairwise(&world).ok()? } else { steady.in_world(&world) };
        let network = Cow::Borrowed(&*peak);
        let problem = Problem::at_levels(&now.workflow, &now.platform, &[], network).ok()?;
        let reality = Expected { problem: &problem, now, factors: &course.factors };
        let models = self.models(now);
        let ends = |e: BackendError| e.to_string();
        // The simulator observes the network before anything begins: the observation is shared where models are alike.
        let alike = !pairwise && models.charges().acknowledgements == self.charges.acknowledgements;
        let ways = alike.then(|| self.ways(&now.platform, &peak));
        let seen = self.seen.take().filter(|_| alike);
        let backend = Simulated::unseen(platform, models, peak.clone(), Box::new(reality));
        let open = now.leases.iter().filter(|lease| lease.is_open());
        let ordered = open.map(|lease| (lease.host, (lease.from - now.now).max(0.0)));
        let mut backend =
            backend.map_err(ends).ok()?.with_ordered(ordered).with_observed(ways, seen);
        let seconds = fork::seconds_to_end(now, plan, then, limit - now.now, &mut backend);
        self.seen = backend.first_observed().filter(|_| alike);
        let seconds = seconds.map_err(ends).ok()?;
        Some(seconds.map_or(f64::INFINITY, |seconds| now.now + seconds))
    }
}
