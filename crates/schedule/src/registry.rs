//! Every planner with its name, family and source.

use crate::added;
use crate::aliases::ALIASES;
use crate::budget::Watch;
use crate::flat_problem::fits_one_host;
use crate::{best, bounds, exact, list, meta, moldable, qos, retime, several, sweep};
use slackline_model::parameter::{self, Given, Parameter, ParameterError, Values};
use slackline_model::schedule::{Limits, affordable, keeps_pools};
use slackline_model::{Problem, Schedule, approx};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use thiserror::Error;

/// Settings of a planner other than the problem.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Seed of methods that draw random numbers.
    pub seed: u64,
    /// Most iterations of a search; none: a default that grows slowly with the problem. Equal
    /// limits and seeds give equal plans.
    pub iterations: Option<u64>,
    /// Most time of a search; plans then depend on the speed of the machine.
    pub time_limit: Option<Duration>,
    /// Threads of a search; none: all cores. Does not change the plan.
    pub threads: Option<usize>,
    /// Set from outside to end a search early with the best plan it has.
    pub stop: Option<Arc<AtomicBool>>,
    /// Receiver of a search's progress.
    pub watch: Option<Arc<Watch>>,
    /// Limits on cost and end of the plan, for methods that use them.
    pub limits: Limits,
    /// Parameters by name and text; a method takes those it has ([`Algorithm::values`]).
    pub given: Given,
}

impl Request {
    /// Sets some parameters as defaults: those already given take precedence.
    pub fn preset(&self, set: &[(&str, &str)]) -> Request {
        let preset = set.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        let given = preset.chain(self.given.iter().cloned()).collect();
        Request { given, ..self.clone() }
    }

    /// The request for a method inside another, without parameters, as these are not meant for it.
    pub fn without_parameters(&self) -> Request {
        Request { given: Given::new(), ..self.clone() }
    }

    /// Defaults but for the seed.
    pub fn seeded(seed: u64) -> Request {
        Request { seed, ..Request::default() }
    }
}

/// Error of a planner.
#[derive(Clone, Debug, Error, PartialEq)]
#[allow(missing_docs)] // the messages say it
pub enum PlanError {
    #[error("task '{task}' can run nowhere: every processor that fits it is gone")]
    Nowhere { task: String },
    #[error("no plan meets the limits: {why}")]
    Infeasible { why: String },
    #[error("{algorithm} cannot plan this: {why}")]
    Unsupported { algorithm: &'static str, why: String },
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Groups of planners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// List scheduling of one workflow for the shortest makespan.
    List,
    /// Search among many schedules of one workflow for the shortest makespan.
    Search,
    /// One workflow under a budget, a deadline or both, on priced machines.
    Qos,
    /// Tasks that may use several processors.
    Moldable,
    /// Independent tasks that share files, over hosts and links.
    Sweep,
    /// Several workflows known together.
    Several,
}

impl Family {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Family::List => "list",
            Family::Search => "search",
            Family::Qos => "qos",
            Family::Moldable => "moldable",
            Family::Sweep => "sweep",
            Family::Several => "several",
        }
    }
}

impl Family {
    /// A few words on what its methods plan.
    pub fn about(self) -> &'static str {
        match self {
            Family::List => "one workflow, quickly",
            Family::Search => "one workflow, by search",
            Family::Qos => "under a budget or a deadline",
            Family::Moldable => "tasks that may use several processors",
            Family::Sweep => "independent tasks that share files",
            Family::Several => "several workflows",
        }
    }
}

/// Source from which a method was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A full description, and checked against published or independent numbers.
    Published,
    /// General knowledge of the method; details that the name does not fix are stated in its module.
    Recalled,
    /// First made here.
    Own,
    /// Added by the program ([`crate::added`]).
    Added,
}

impl Basis {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Published => "published",
            Basis::Recalled => "recalled",
            Basis::Own => "own",
            Basis::Added => "added",
        }
    }
}

/// Requirement of a method beyond a workflow and processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A budget ([`Request::limits`]).
    Budget,
    /// A deadline.
    Deadline,
    /// Machines with prices.
    Prices,
    /// Moldable tasks.
    Moldable,
    /// Several workflows.
    Several,
    /// Tasks without dependencies, on one processor each.
    Independent,
    /// A host for every task that is wide enough for it alone.
    OneHost,
}

impl Need {
    /// Name to show.
    pub fn name(self) -> &'static str {
        match self {
            Need::Budget => "budget",
            Need::Deadline => "deadline",
            Need::Prices => "prices",
            Need::Moldable => "moldable tasks",
            Need::Several => "several workflows",
            Need::Independent => "independent tasks",
            Need::OneHost => "tasks on one host",
        }
    }

    /// Phrase with its article, for messages.
    pub fn phrase(self) -> &'static str {
        match self {
            Need::Budget => "a budget",
            Need::Deadline => "a deadline",
            Need::Prices => "machines with prices",
            Need::Moldable => "moldable tasks",
            Need::Several => "several workflows",
            Need::Independent => "independent tasks of one processor each",
            Need::OneHost => "tasks that each fit on one host",
        }
    }

    /// Whether a problem and the limits of its plan have it.
    pub fn is_met(self, problem: &Problem<'_>, limits: &Limits) -> bool {
        let workflow = problem.workflow();
        match self {
            Need::Budget => limits.budget.is_some(),
            Need::Deadline => limits.deadline.is_some(),
            Need::Prices => problem.platform().hosts().iter().any(|host| host.price > 0.0),
            // Widths of tasks that are rigid and spread over hosts need a method of that family too.
            Need::Moldable => workflow.is_moldable() || workflow.has_spread_tasks(),
            Need::Several => workflow.members().len() > 1,
            Need::Independent => {
                workflow.edge_count() == 0 && workflow.tasks().all(|t| workflow.width(t).0 == 1)
            }
            Need::OneHost => {
                let mut spread = workflow.tasks().filter(|&task| workflow.spreads(task));
                spread.all(|task| fits_one_host(problem, task))
            }
        }
    }
}

/// A planner in the registry.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name to type.
    pub name: &'static str,
    /// Its group.
    pub family: Family,
    /// Source that it was built from.
    pub basis: Basis,
    /// One line on what it does.
    pub about: &'static str,
    /// Publication of the method.
    pub source: &'static str,
    /// Growth with tasks v, dependencies e and processors p.
    pub complexity: &'static str,
    /// Parameters that may be set.
    pub parameters: &'static [Parameter],
    /// Its requirements.
    pub needs: &'static [Need],
    /// Plans the unfinished part of a problem.
    pub plan: fn(&Problem<'_>, &Request) -> Result<Schedule, PlanError>,
}

impl Algorithm {
    /// The values of its parameters: those given that it has, else the defaults.
    pub fn values(&self, request: &Request) -> Result<Values, ParameterError> {
        let own: Given = parameter::own(&request.given, self.parameters).cloned().collect();
        Values::read(self.name, self.parameters.iter(), &[], &own)
    }

    /// Plans the unfinished part of a problem. Plans of a method that knows processors alone are re-timed, in
    /// their order and places, so that pools and windows are kept.
    pub fn plan(&self, problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
        let schedule = match self.basis {
            Basis::Added => added::plan(self, problem, request)?,
            _ => (self.plan)(problem, request)?,
        };
        if !problem.has_pools() || self.knows_pools() || keeps_pools(problem, &schedule) {
            return Ok(schedule);
        }
        let unsupported =
            |why: &str| Err(PlanError::Unsupported { algorithm: self.name, why: why.to_string() });
        if schedule.transfers.iter().any(|transfer| transfer.link.is_some()) {
            return unsupported(
                "it plans transfers on links, and tasks share more than processors",
            );
        }
        let mut timed = retime::retimed(problem, &schedule);
        // Leases follow from when machines are used.
        timed.leases.clear();
        if !timed.makespan().is_finite() || !keeps_pools(problem, &timed) {
            return unsupported("its plan cannot keep what concurrent tasks share");
        }
        let meets = |plan: &Schedule| {
            let Limits { budget, deadline } = request.limits;
            let cost = || slackline_model::schedule::cost(problem, plan);
            deadline.is_none_or(|deadline| approx::le(plan.makespan(), deadline))
                && budget.is_none_or(|budget| affordable(cost(), budget))
        };
        if meets(&schedule) && !meets(&timed) {
            let why =
                "the plan meets them only where tasks share no more than processors".to_string();
            return Err(PlanError::Infeasible { why });
        }
        Ok(timed)
    }

    /// Whether it searches for room in pools and windows wherever it places a task.
    fn knows_pools(&self) -> bool {
        let searches = [best::BEST.name, exact::EXACT.name];
        let list = self.family == Family::List && self.name != list::contended::CONTENDED.name;
        self.basis != Basis::Added && (list || searches.contains(&self.name))
    }

    /// The first thing it needs that problem and limits do not have.
    pub fn lacks(&self, problem: &Problem<'_>, limits: &Limits) -> Option<Need> {
        self.needs.iter().copied().find(|need| !need.is_met(problem, limits))
    }
}

/// A planner and its settings.
#[derive(Clone, Debug)]
pub struct Planner {
    /// The planner.
    pub algorithm: &'static Algorithm,
    /// Its settings.
    pub request: Request,
}

impl Planner {
    /// Plans the unfinished part of a problem.
    pub fn plan(&self, problem: &Problem<'_>) -> Result<Schedule, PlanError> {
        self.algorithm.plan(problem, &self.request)
    }
}

impl From<&'static Algorithm> for Planner {
    fn from(algorithm: &'static Algorithm) -> Planner {
        Planner { algorithm, request: Request::default() }
    }
}

/// All planners, in the order they are shown.
pub const ALL: &[Algorithm] = &[
    list::heft::HEFT,
    list::cpop::CPOP,
    list::peft::PEFT,
    list::lookahead::LOOKAHEAD,
    list::dls::DLS,
    list::hcpt::HCPT,
    list::hps::HPS,
    list::pets::PETS,
    list::bil::BIL,
    list::fcp::FCP,
    list::flb::FLB,
    list::lmt::LMT,
    list::mh::MH,
    list::etf::ETF,
    list::ldcp::LDCP,
    list::hybrid_bmct::HYBRID_BMCT,
    list::ceft::CEFT,
    list::dagmap::DAGMAP,
    list::contended::CONTENDED,
    list::minmin::MIN_MIN,
    list::immediate::MCT,
    list::immediate::MET,
    list::immediate::OLB,
    list::immediate::ROUND_ROBIN,
    list::immediate::RANDOM,
    best::BEST,
    exact::EXACT,
    meta::aco::ACO,
    meta::sa::SA,
    meta::tabu::TABU,
    meta::ga::GA,
    qos::cheapest::CHEAPEST,
    qos::hbcs::HBCS,
    qos::dbcs::DBCS,
    qos::bheft::BHEFT,
    qos::loss::LOSS1,
    qos::loss::LOSS2,
    qos::loss::LOSS3,
    qos::gain::GAIN1,
    qos::gain::GAIN2,
    qos::gain::GAIN3,
    qos::greedytime_cd::GREEDYTIME_CD,
    qos::dca::DCA,
    qos::ga_qos::GA_QOS,
    qos::pcp::PCP,
    qos::pcp::IC_PCP,
    qos::pcp::IC_PCPD2,
    qos::deadline_mdp::DEADLINE_MDP,
    qos::bcsc::BCSC,
    qos::critical_greedy::CRITICAL_GREEDY,
    qos::scalestar::SCALESTAR,
    qos::moheft::MOHEFT,
    qos::nsga2::NSGA2,
    qos::three_step::THREE_STEP,
    qos::within_limits::WITHIN_LIMITS,
    moldable::cpa::CPA,
    moldable::cpa::GEO,
    moldable::mcpa::MCPA,
    moldable::mcpa::MCPA2,
    moldable::cpr::CPR,
    moldable::scrap::SCRAP,
    moldable::scrap::MAX,
    moldable::bicpa::M,
    moldable::bicpa::W,
    moldable::bicpa::E,
    moldable::bicpa::S,
    moldable::rats::DELTA,
    moldable::rats::TIME_COST,
    moldable::one_step::ICASLB,
    moldable::one_step::LOC_MPS,
    moldable::hcpa::HCPA,
    moldable::hcpa::FIRST,
    moldable::mheft::MHEFT,
    moldable::mheft::IMP,
    moldable::mheft::EFF,
    moldable::mheft::MAX,
    moldable::delta_cts::DELTA_CTS,
    moldable::mcgas::MCGAS,
    moldable::bihcpa::BIHCPA,
    sweep::MIN_MIN,
    sweep::MAX_MIN,
    sweep::SUFFERAGE,
    sweep::EXTENDED,
    sweep::MIN_MIN_RANDOM,
    sweep::MAX_MIN_RANDOM,
    sweep::SUFFERAGE_RANDOM,
    sweep::EXTENDED_RANDOM,
    sweep::SUFFERAGE_2,
    sweep::XSUFFERAGE,
    sweep::RANDOM_MET,
    moldable::several::cra::SELFISH,
    moldable::several::cra::NDAGS,
    moldable::several::cra::CP,
    moldable::several::cra::WIDTH,
    moldable::several::cra::WORK,
    moldable::several::boxes::LPTF,
    moldable::several::boxes::SPTF,
    moldable::several::boxes::SAF,
    moldable::several::boxes::K_SHELVES,
    moldable::several::boxes::CRA,
    moldable::several::mags::MAGS,
    several::fairness::FINISH,
    several::fairness::CURRENT,
    several::shares::CP,
    several::shares::WIDTH,
    several::shares::WORK,
    several::paths::SEQUENTIAL,
    several::paths::GAP_SEARCH,
    several::paths::INTERLEAVE,
    several::paths::GROUP,
    several::spss::SPSS,
];

/// Every method, each followed by its further names.
pub fn every() -> impl Iterator<Item = &'static Algorithm> {
    ALL.iter().flat_map(|method| {
        let names = ALIASES.iter().filter(|alias| alias.of == method.name);
        std::iter::once(method).chain(names.map(|alias| &alias.algorithm))
    })
}

/// All names accepted by [`find`].
pub fn names() -> impl Iterator<Item = &'static str> {
    every().map(|a| a.name)
}

/// The default planner of a problem: HEFT, and for moldable tasks a method that chooses their widths, on one
/// cluster or on several; for several graphs of them one that plans them together.
pub fn usual(problem: &Problem<'_>) -> &'static Algorithm {
    match moldable::clusters(problem) {
        _ if !Need::Moldable.is_met(problem, &Limits::default()) => &list::heft::HEFT,
        0 | 1 if problem.workflow().members().len() > 1 => &moldable::several::mags::MAGS,
        0 | 1 => &moldable::bicpa::M,
        _ => &moldable::hcpa::HCPA,
    }
}

/// The default planner under limits: the best plan within them. Plans of moldable tasks and of several
/// workflows have no method for limits of their own and use the same one.
pub fn usual_within(problem: &Problem<'_>, limits: &Limits) -> &'static Algorithm {
    if limits.budget.is_some() || limits.deadline.is_some() {
        &qos::within_limits::WITHIN_LIMITS
    } else {
        usual(problem)
    }
}

/// The planner of that name. Case, `-`, `.` and `_` do not matter: `Min-Min` is `minmin`,
/// `heft.meantime` is `heft-meantime`. Added planners are found by their exact names.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    every().find(|a| letters(a.name).eq(letters(name))).or_else(|| added::find(name))
}

fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !matches!(c, '-' | '.' | '_')).map(|c| c.to_ascii_lowercase())
}

/// A plan with what is known of its distance from the best possible.
#[derive(Clone, Debug, PartialEq)]
pub struct Certified {
    /// The plan.
    pub schedule: Schedule,
    /// No schedule ends before this date.
    pub lower_bound: f64,
}

impl Certified {
    /// By how much the plan may be longer than the best possible (0.05 means 5 %).
    pub fn gap(&self) -> f64 {
        let makespan = self.schedule.makespan();
        if makespan <= 0.0 { 0.0 } else { (makespan / self.lower_bound - 1.0).max(0.0) }
    }
}

/// Plans and certifies: [`exact::solve`] may prove a better bound than `lower_bound`
/// ([`bounds::lower_bound`], computed once for any number of planners).
pub fn run(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    lower_bound: f64,
) -> Result<Certified, PlanError> {
    if algorithm.name == exact::EXACT.name {
        let solved = exact::solve(problem, request)?;
        // What is proven of plans holds for runs only where no run can be quicker than its plan.
        let lower_bound = if bounds::runs_beat_plans(problem) {
            lower_bound
        } else {
            lower_bound.max(solved.bound)
        };
        return Ok(Certified { schedule: solved.schedule, lower_bound });
    }
    let schedule = algorithm.plan(problem, request)?;
    Ok(Certified { schedule, lower_bound })
}
