//! Shared parts of the metaheuristics: first plans, random plans, their makespan, and the conversion to a
//! schedule.

use super::decoder::{Decoder, SharedDecoder};
use crate::best::walk::{Draft, NONE, Walk};
use crate::budget::Budget;
use crate::flat_problem::{FlatProblem, check_widths};
use crate::list::ranks;
use crate::registry::{PlanError, Request, find};
use rand::RngExt;
use slackline_model::rng::{self, Stream};
use slackline_model::{Payload, Problem, Schedule};

/// Default limit of the effort of a run, in steps (visits of a task or dependency).
const EFFORT: f64 = 1e8;
/// Effort of placing a task beside pools, in steps.
const BESIDE_POOLS: f64 = 16.0;

/// The problem on flat arrays, a first plan, random numbers and limits.
pub(crate) struct MetaContext<'s> {
    pub(crate) compact: FlatProblem,
    /// Upward rank of the tasks.
    pub(crate) rank: Vec<f64>,
    /// HEFT's plan.
    pub(crate) first: Draft,
    heft: Schedule,
    zeros: Vec<f64>,
    problem: &'s Problem<'s>,
    request: &'s Request,
    pub(crate) budget: Budget,
}

impl<'s> MetaContext<'s> {
    /// Prepares a run of a method; none when nothing is left to plan.
    pub(crate) fn new(
        algorithm: &'static str,
        problem: &'s Problem<'_>,
        request: &'s Request,
    ) -> Result<Result<MetaContext<'s>, Schedule>, PlanError> {
        check_widths(problem, algorithm)?;
        let budget = Budget::start(request);
        let unsupported = PlanError::Unsupported { algorithm: "heft", why: "no planner".into() };
        let heft = find("heft").ok_or(unsupported)?.plan(problem, &request.without_parameters())?;
        let compact = FlatProblem::new(problem)?;
        if compact.len() == 0 {
            return Ok(Err(heft));
        }
        let by_task = ranks::upward(problem);
        let rank = compact.tasks.iter().map(|t| by_task[t.index()]).collect();
        let Some((order, choice)) = compact.read(&heft) else { return Ok(Err(heft)) };
        let zeros = vec![0.0; compact.len() * compact.banks()];
        let first = Draft { order, choice };
        Ok(Ok(MetaContext { compact, rank, first, heft, zeros, problem, request, budget }))
    }

    /// The random numbers of a method.
    pub(crate) fn random(&self, purpose: &str) -> Stream {
        rng::stream(self.request.seed, purpose, 0)
    }

    /// The limit on iterations: the user's, else the usual number as far as the effort allows.
    pub(crate) fn iterations(&self, usual: u64, evaluations_each: f64) -> u64 {
        let one = (self.compact.len() + self.compact.parents.len()) as f64 * evaluations_each;
        let one = if self.problem.has_pools() { one * BESIDE_POOLS } else { one };
        self.request.iterations.unwrap_or(usual.min((EFFORT / one) as u64).max(1))
    }

    /// Something that decodes plans.
    pub(crate) fn decoder(&self, plan: &Draft) -> Decoder<'_> {
        let Some(decoder) = self.shared() else {
            return Decoder::List(Box::new(Walk::new(&self.compact, &self.zeros, plan.clone())));
        };
        let mut decoder = Decoder::Shared(Box::new(decoder), f64::INFINITY);
        decoder.set(plan);
        decoder
    }

    /// Something that decodes plans where tasks share more than processors; none where they do not.
    pub(crate) fn shared(&self) -> Option<SharedDecoder<'_>> {
        self.problem.has_pools().then(|| SharedDecoder::new(self.problem, &self.compact))
    }

    /// A random bank at which a task fits.
    pub(crate) fn any_bank(&self, task: usize, random: &mut Stream) -> u32 {
        let banks = self.compact.banks();
        let from = random.random_range(0..banks);
        let fits = |s: &usize| self.compact.seconds(task, *s).is_finite();
        (0..banks).map(|k| (from + k) % banks).find(fits).map_or(NONE, |s| s as u32)
    }

    /// A random order and random banks.
    pub(crate) fn random_plan(&self, random: &mut Stream) -> Draft {
        let n = self.compact.len();
        let mut missing: Vec<usize> = (0..n).map(|t| self.compact.parents.of(t).len()).collect();
        let mut ready: Vec<u32> = (0..n as u32).filter(|&t| missing[t as usize] == 0).collect();
        let mut order = Vec::with_capacity(n);
        while !ready.is_empty() {
            let task = ready.swap_remove(random.random_range(0..ready.len()));
            order.push(task);
            for &(child, _) in self.compact.children.of(task as usize) {
                missing[child as usize] -= 1;
                if missing[child as usize] == 0 {
                    ready.push(child);
                }
            }
        }
        let choice = (0..n).map(|t| self.any_bank(t, random)).collect();
        Draft { order, choice }
    }

    /// Moves a random task to a random position between its parents and its children.
    pub(crate) fn shift(&self, plan: &mut Draft, random: &mut Stream) {
        let n = self.compact.len();
        let from = random.random_range(0..n);
        let task = plan.order[from] as usize;
        let is = |links: &[(u32, Payload)], t: u32| links.iter().any(|&(l, _)| l == t);
        let (parents, children) = (self.compact.parents.of(task), self.compact.children.of(task));
        let mut low = from;
        while low > 0 && !is(parents, plan.order[low - 1]) {
            low -= 1;
        }
        let mut high = from;
        while high + 1 < n && !is(children, plan.order[high + 1]) {
            high += 1;
        }
        let to = random.random_range(low..=high);
        if from < to {
            plan.order[from..=to].rotate_left(1);
        } else {
            plan.order[to..=from].rotate_right(1);
        }
    }

    /// The schedule of a plan; HEFT's should the plan be impossible.
    pub(crate) fn schedule(&self, problem: &Problem<'_>, plan: &Draft) -> Schedule {
        if let Some(decoder) = self.shared() {
            return decoder.schedule(plan).unwrap_or_else(|| self.heft.clone());
        }
        let walk = Walk::new(&self.compact, &self.zeros, plan.clone());
        if walk.makespan().is_infinite() {
            return self.heft.clone();
        }
        let decided = walk.decided();
        self.compact.schedule(problem, &decided.order, &decided.choice)
    }
}
