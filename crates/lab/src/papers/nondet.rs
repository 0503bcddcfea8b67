//! Workflows with choices and loops under a budget: the two allocations of Caron, Desprez, Muresan and Suter (2012), as
//! Suter outlines them (2014). The source publishes no figures; its one statement is checked.

use super::{Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;
use slackline_generate::Seed;
use slackline_generate::workflow::nondeterministic::Nondeterministic;
use slackline_model::control::{Chances, Control};
use slackline_model::platform::{Billing, HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Platform, Workflow};
use slackline_schedule::nondet::{self, Area, Course, Kinds, Method, Pool, Rate, Share};
use std::sync::Arc;

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "nondet",
    title: "Budget-constrained allocation of workflows with choices and loops",
    source: "Caron, Desprez, Muresan and Suter, 2012, as outlined by Suter, 2014",
    about: "which of two allocations suits small and large applications and budgets",
    run: reproduce,
    cells: |_| Ok(Vec::new()),
    unlisted: "not listed: its figures are means over many runs of each plan; slackline simulate --policy eager or deferred \
               with --runs makes them for a workflow of slackline generate workflow nondeterministic",
};

/// Machines, all of one kind.
const MACHINES: usize = 16;

/// Runs of each plan, with the same decisions for all variants.
const RUNS: u64 = 20;

/// Applications: name, number of tasks, and range of their hours.
const APPLICATIONS: [(&str, usize, (f64, f64)); 4] = [
    ("8 tasks of 6 to 36 min", 8, (0.1, 0.6)),
    ("8 tasks of 0.5 to 6 h", 8, (0.5, 6.0)),
    ("24 tasks of 6 to 36 min", 24, (0.1, 0.6)),
    ("24 tasks of 0.5 to 6 h", 24, (0.5, 6.0)),
];

/// Positions of the smallest and the largest application.
const SMALL: usize = 0;
const LARGE: usize = 3;

/// Budgets, in multiples of the least cost of the planned executions.
const BUDGETS: [f64; 3] = [1.02, 2.5, 10.0];

/// A variant: its name, method, rate at which budgets are shared, machines that a part may use, and the area that counts
/// (see `nondet::Options`).
type Variant = (&'static str, Method, Rate, Pool, Area);

const VARIANTS: [Variant; 7] = [
    ("eager", Method::Eager, Rate::Start, Pool::Tight, Area::Over),
    ("eager, present rate", Method::Eager, Rate::Current, Pool::Tight, Area::Over),
    ("deferred", Method::Deferred, Rate::Start, Pool::Tight, Area::Over),
    ("deferred, used area", Method::Deferred, Rate::Start, Pool::Tight, Area::Exact),
    ("deferred, all machines", Method::Deferred, Rate::Start, Pool::All, Area::Over),
    ("deferred, all, used", Method::Deferred, Rate::Start, Pool::All, Area::Exact),
    ("combined (ours)", Method::Combined, Rate::Start, Pool::Tight, Area::Over),
];

/// Positions of the two procedures of the source, as far as it specifies them.
const EAGER: usize = 0;
const DEFERRED: usize = 2;

fn graphs(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 4,
        Size::Standard => 24,
        Size::Full => 100,
    })
}

/// Results of a variant for one workflow under one budget.
#[derive(Clone, Copy)]
struct Found {
    /// Whether every part keeps its budget.
    feasible: bool,
    /// Mean over the runs, in seconds.
    makespan: f64,
    /// Mean over the runs, in the currency of the prices.
    cost: f64,
}

/// Results of one workflow, by budget and then by variant.
type Row = Vec<Vec<Found>>;

fn cloud() -> Result<Platform, StudyError> {
    let mut builder = PlatformBuilder::new("cloud");
    builder.set_matrix(Matrix::uniform(None, 0.0));
    let root = builder.root().map_err(StudyError::of)?;
    for index in 0..MACHINES {
        let mut spec = HostSpec::new(format!("vm-{index}"), 1e9);
        spec.price = 0.1 / 3600.0;
        spec.class = Some("vm".into());
        spec.leasable = true;
        spec.billing = Some(Billing { quantum: 3600.0, ..Billing::EXACT });
        builder.add_host(root, spec).map_err(StudyError::of)?;
    }
    builder.build().map_err(StudyError::of)
}

fn draw(application: usize, options: &Options, member: u64) -> Result<Workflow, StudyError> {
    let (_, tasks, (low, high)) = APPLICATIONS[application];
    let shape = Nondeterministic {
        tasks,
        choices: 1,
        loops: 1,
        seconds: (low * 3600.0, high * 3600.0),
        ..Nondeterministic::default()
    };
    let seed = Seed { seed: options.seed, member: member + 1000 * application as u64 };
    shape.workflow(seed).map_err(StudyError::of)
}

fn of_workflow(workflow: &Workflow, platform: &Platform, seed: u64) -> Result<Row, StudyError> {
    let Some(control) = workflow.control() else { return Ok(Vec::new()) };
    let tasks = workflow.clone().without_control();
    let problem = nondet::task_times(&tasks, platform).map_err(StudyError::of)?;
    let kinds = Kinds::new(&problem);
    // The least cost of planned executions does not depend on the budget: 1 will do.
    let usual = options_of(&VARIANTS[DEFERRED], 1.0);
    let plan = nondet::plan(control, &kinds, &usual).map_err(StudyError::of)?;
    let floor: f64 = plan.shared.planned.iter().zip(&plan.floor).map(|(n, f)| n * f).sum();
    let one = |budget: f64, variant: &Variant| {
        under(control, &kinds, &options_of(variant, budget * floor), seed)
    };
    let all = |&budget: &f64| VARIANTS.iter().map(|variant| one(budget, variant)).collect();
    BUDGETS.iter().map(all).collect()
}

fn options_of(variant: &Variant, budget: f64) -> nondet::Options {
    let &(_, method, rate, pool, area) = variant;
    nondet::Options {
        rate,
        pool,
        area,
        share: Share::Floor,
        ..nondet::Options::new(method, budget)
    }
}

fn under(
    control: &Arc<Control>,
    kinds: &Kinds<'_>,
    options: &nondet::Options,
    seed: u64,
) -> Result<Found, StudyError> {
    let plan = nondet::plan(control, kinds, options).map_err(StudyError::of)?;
    let course = Course::new(control.clone(), kinds, &plan).map_err(StudyError::of)?;
    let (mut makespan, mut cost) = (0.0, 0.0);
    for run in 0..RUNS {
        let mut chances = Chances { seed, run, ..Chances::default() };
        let run = course.run(options, &mut chances).map_err(StudyError::of)?;
        makespan += run.makespan / RUNS as f64;
        cost += run.cost / RUNS as f64;
    }
    Ok(Found { feasible: plan.is_feasible(), makespan, cost })
}

/// The workflows of one kind.
struct WorkflowKind {
    name: &'static str,
    rows: Vec<Row>,
}

impl WorkflowKind {
    fn feasible(&self, budget: usize, variant: usize) -> Vec<f64> {
        let share = |row: &Row| f64::from(u8::from(row[budget][variant].feasible));
        self.rows.iter().map(share).collect()
    }

    /// Makespans over the best feasible makespan of the same workflow.
    fn to_best(&self, budget: usize, variant: usize) -> Vec<f64> {
        let ratio = |row: &Row| {
            let able = row[budget].iter().filter(|found| found.feasible);
            let best = able.map(|found| found.makespan).fold(f64::INFINITY, f64::min);
            let own = row[budget][variant];
            own.feasible.then_some(own.makespan / best)
        };
        self.rows.iter().filter_map(ratio).collect()
    }

    /// Eager's makespan over deferred's, where both are feasible.
    fn eager_to_deferred(&self, budget: usize) -> Vec<f64> {
        let ratio = |row: &Row| {
            let (eager, deferred) = (row[budget][EAGER], row[budget][DEFERRED]);
            let both = eager.feasible && deferred.feasible;
            both.then_some(eager.makespan / deferred.makespan)
        };
        self.rows.iter().filter_map(ratio).collect()
    }

    /// Share of workflows with a feasible deferred plan less that with a feasible eager one.
    fn lead(&self, budget: usize) -> Estimate {
        let (deferred, eager) = (self.feasible(budget, DEFERRED), self.feasible(budget, EAGER));
        Estimate::mean(&deferred.iter().zip(&eager).map(|(d, e)| d - e).collect::<Vec<_>>())
    }
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let graphs = graphs(options);
    let platform = cloud()?;
    let mut kinds = Vec::new();
    for (application, (name, ..)) in APPLICATIONS.iter().enumerate() {
        let members: Vec<u64> = (0..graphs as u64).collect();
        let rows = watch.over(name, &members, |&member| {
            of_workflow(&draw(application, options, member)?, &platform, options.seed)
        })?;
        kinds.push(WorkflowKind { name, rows });
    }
    let mut report = Report::new(&PAPER, options, graphs);
    report.choices = CHOICES.map(String::from).to_vec();
    let mut small = Claim::new(
        "small",
        "The allocation after biCPA (deferred) suits small applications or small budgets",
    );
    for kind in &kinds {
        let what = format!("feasible more often than eager, {}, least budget", kind.name);
        small.check(what, "", (kind.lead(0), Unit::Percent(0)), Rule::Above(0.0));
    }
    for budget in [1, 2] {
        let ratio = Estimate::mean(&kinds[SMALL].eager_to_deferred(budget));
        let what =
            format!("makespan of eager over deferred, {}, {}", kinds[SMALL].name, times(budget));
        small.check(what, "", (ratio, Unit::Times(3)), Rule::AtLeast(1.0));
    }
    let mut large = Claim::new(
        "large",
        "The allocation after CPA (eager) suits large applications or large budgets",
    );
    for kind in &kinds {
        let ratio = Estimate::mean(&kind.eager_to_deferred(2));
        let what = format!("makespan of eager over deferred, {}, {}", kind.name, times(2));
        large.check(what, "", (ratio, Unit::Times(3)), Rule::Below(1.0));
    }
    let ratio = Estimate::mean(&kinds[LARGE].eager_to_deferred(1));
    let what = format!("makespan of eager over deferred, {}, {}", kinds[LARGE].name, times(1));
    large.check(what, "", (ratio, Unit::Times(3)), Rule::Below(1.0));
    report.findings.claims = vec![
        small,
        large.remark(
            "judged by deferred with the billed area on as many machines as it allocates; the tables show the variants that \
             the source leaves open",
        ),
    ];
    let mut columns = vec!["application, budget"];
    columns.extend(VARIANTS.map(|variant| variant.0));
    let mut shares = Table::new("Share of feasible plans", &columns);
    let mut ends = Table::new("Mean makespan over the best variant, among the feasible", &columns);
    let mut bills = Table::new("Mean cost of runs", &columns);
    for kind in &kinds {
        for budget in 0..BUDGETS.len() {
            let label = format!("{}, {}", kind.name, times(budget));
            let row = |cell: &dyn Fn(usize) -> Cell| {
                let mut row = vec![Cell::from(label.clone())];
                row.extend((0..VARIANTS.len()).map(cell));
                row
            };
            let share = |v: usize| Cell::mean(&kind.feasible(budget, v), Unit::Percent(0));
            shares.rows.push(row(&share));
            ends.rows.push(row(&|v| match kind.to_best(budget, v).as_slice() {
                [] => Cell::from("-"),
                some => Cell::mean(some, Unit::Times(2)),
            }));
            let cost = |v: usize| {
                let costs: Vec<f64> = kind.rows.iter().map(|row| row[budget][v].cost).collect();
                Cell::mean(&costs, Unit::Number(2))
            };
            bills.rows.push(row(&cost));
        }
    }
    report.findings.tables = vec![shares, ends, bills];
    Ok(report)
}

fn times(budget: usize) -> String {
    format!("{} times the floor", BUDGETS[budget])
}

const CHOICES: [&str; 5] = [
    "The source gives no formula of its two procedures; they are read as in docs/choices.md. All variants that this leaves open \
     are reported, and none is picked.",
    "Workflows are drawn: one choice, one loop (another pass with a probability of 0.3 to 0.6, at most 6 passes), the rest in \
     random order with one or two predecessors each; up to 30 % of a task cannot be shared.",
    "16 machines of one kind, 0.10 an hour, billed by the hour; transfers take no time.",
    "Budgets are multiples of what the executions that a confidence of 0.9 asks for cost at least, shared by floor.",
    "Makespans are means over 20 runs with the same decisions for all variants, under the plans made beforehand.",
];
