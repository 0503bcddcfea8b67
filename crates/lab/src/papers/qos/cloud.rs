//! Limits on the example cloud when run times are not what they were thought to be: what a plan
//! promises, what following it costs and takes, and what `qos` makes of it.

use super::{graphs_of, under};
use crate::cell::{self, Recipe, planner, policy as entry};
use crate::papers::{Cell, Claim, Options, Paper, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::cost::Money;
use slackline_analysis::statistics::Estimate;
use slackline_engine::{Inputs, Recording, Stage};
use slackline_formats::{parse_workflow, platform_toml};
use slackline_generate::Seed;
use slackline_generate::scenario::studied::cloud_run_times;
use slackline_model::problem::State;
use slackline_model::scenario::Scenario;
use slackline_model::schedule::{Limits, Summary, affordable};
use slackline_model::{Platform, Problem, Terms, Workflow, approx};
use slackline_react::registry::Options as Told;
use slackline_react::{Situation, Transfers};
use slackline_schedule::{Planner, Request};
use slackline_simulate::Models;
use std::path::Path;
use std::sync::Arc;

/// Registry entry.
pub(in crate::papers) const PAPER: Paper = Paper {
    name: "cloud",
    title: "Budgets and deadlines on the example cloud under wrong estimates",
    source: "our own",
    about: "promised against realised cost and time, `static` against `qos`",
    run,
    cells,
    unlisted: "",
};

const CLOUD: &str = include_str!("../../../../../examples/platforms/priced-cloud.toml");
const WORKFLOWS: [(&str, &str); 2] = [
    ("epigenomics.dax", include_str!("../../../../../examples/workflows/epigenomics.dax")),
    ("montage.json", include_str!("../../../../../examples/workflows/montage.json")),
];
const METHODS: [&str; 2] = ["hbcs", "dbcs"];
const POLICIES: [&str; 2] = ["static", "qos"];
const STATIC: usize = 0;
const QOS: usize = 1;
/// Margins of budget and deadline above the values of a first plan.
const MARGINS: [f64; 3] = [0.02, 0.05, 0.15];
/// A task takes so much more or less than estimated at most, evenly drawn.
const ERROR: f64 = 0.3;

/// Billing quanta of the small machines: that of the example, and a usual one.
const QUANTA: [&str; 2] = ["1h", "1min"];

/// A way of billing, a workflow, a method and limits.
struct Wish {
    billing: usize,
    workflow: usize,
    method: &'static str,
    margin: f64,
    limits: Limits,
    /// Makespan and cost of the plan under the limits.
    promised: (f64, f64),
}

/// Results of a run.
#[derive(Clone, Copy)]
struct Ran {
    makespan: f64,
    cost: f64,
    replannings: f64,
    in_budget: bool,
    in_time: bool,
}

struct Cloud {
    billing: usize,
    platform: Arc<Platform>,
    workflows: Vec<Arc<Workflow>>,
}

impl Cloud {
    fn new(billing: usize) -> Result<Cloud, StudyError> {
        let quantum = |length: &str| format!("quantum = \"{length}\"");
        let text = CLOUD.replace(&quantum(QUANTA[0]), &quantum(QUANTA[billing]));
        let platform = platform_toml::parse(&text).map_err(StudyError::of)?;
        let read = |(name, text): (&str, &str)| {
            let document = parse_workflow(text, Some(Path::new(name)), None);
            Ok(Arc::new(document.map_err(StudyError::of)?.workflow))
        };
        let workflows = WORKFLOWS.into_iter().map(read).collect::<Result<_, StudyError>>()?;
        Ok(Cloud { billing, platform: Arc::new(platform), workflows })
    }

    /// The plan of a method, as a policy would make it before anything has happened.
    fn plan(
        &self,
        workflow: usize,
        method: &str,
        request: &Request,
    ) -> Result<Summary, StudyError> {
        let (workflow, platform) = (self.workflows[workflow].clone(), self.platform.clone());
        let inputs = Inputs::of(&platform);
        let start = Situation::charged(workflow, platform, &Models::default().charges(), inputs);
        let problem = start.nominal_problem().map_err(StudyError::of)?;
        let plan = planner(method)?.plan(&problem, request).map_err(StudyError::of)?;
        Ok(Summary::of(&problem, &plan))
    }

    /// Limits some way above what the method promises half-way between the cheapest plan and HEFT's.
    fn wish(&self, workflow: usize, method: &'static str, margin: f64) -> Result<Wish, StudyError> {
        let heft = self.plan(workflow, "heft", &Request::default())?;
        let cheapest = self.plan(workflow, "cheapest", &Request::default())?;
        let middle = under((heft.cost + cheapest.cost) / 2.0, Some(2.0 * heft.makespan));
        let first = self.plan(workflow, method, &middle)?;
        let above = 1.0 + margin;
        let request = under(first.cost * above, Some(first.makespan * above));
        let promised = self.plan(workflow, method, &request)?;
        let promised = (promised.makespan, promised.cost);
        let (billing, limits) = (self.billing, request.limits);
        Ok(Wish { billing, workflow, method, margin, limits, promised })
    }

    fn at_peak(&self, wish: &Wish) -> Result<Problem<'_>, StudyError> {
        let (workflow, platform) = (&self.workflows[wish.workflow], &self.platform);
        let start = State::at_start(workflow, Inputs::of(platform));
        let problem = Problem::at_peak(workflow, platform).map_err(StudyError::of)?;
        problem.with_state(start).map_err(StudyError::of)
    }

    /// The real run times of the tasks in the replication with this number.
    fn scenario(&self, wish: &Wish, seed: u64, world: usize) -> Result<Scenario, StudyError> {
        Ok(cloud_run_times(&self.at_peak(wish)?, ERROR, Seed { seed, member: world as u64 }))
    }

    /// A run in the replication with this number.
    fn cell(
        &self,
        wish: &Wish,
        policy: usize,
        seed: u64,
        world: usize,
    ) -> Result<cell::Cell, StudyError> {
        let workflow = self.workflows[wish.workflow].clone();
        let stage = Stage {
            scenario: self.scenario(wish, seed, world)?,
            terms: Terms { limits: wish.limits, ..Terms::default() },
            ..Stage::new(workflow, self.platform.clone())
        };
        let request = Request { limits: wish.limits, ..Request::default() };
        let planner = Planner { algorithm: planner(wish.method)?, request };
        let told = Told { transfers: Transfers::Push, ..Told::new(planner) };
        Ok(cell::Cell::decided(stage, entry(POLICIES[policy])?, told))
    }

    /// Runs the replication with this number.
    fn run(&self, wish: &Wish, policy: usize, seed: u64, world: usize) -> Result<Ran, StudyError> {
        let cell = self.cell(wish, policy, seed, world)?;
        let outcome = cell.finish(Recording::Keep)?;
        let problem = self.at_peak(wish)?;
        let cost = Money::of(&problem, &outcome).total;
        let Limits { budget, deadline } = wish.limits;
        Ok(Ran {
            makespan: outcome.makespan,
            cost,
            replannings: outcome.counters.replannings as f64,
            in_budget: budget.is_none_or(|budget| affordable(cost, budget)),
            in_time: deadline.is_none_or(|deadline| approx::le(outcome.makespan, deadline)),
        })
    }
}

fn clouds() -> Result<Vec<Cloud>, StudyError> {
    (0..QUANTA.len()).map(Cloud::new).collect()
}

fn wishes(clouds: &[Cloud]) -> Result<Vec<Wish>, StudyError> {
    let mut wishes = Vec::new();
    for cloud in clouds {
        for workflow in 0..WORKFLOWS.len() {
            for method in METHODS {
                for margin in MARGINS {
                    wishes.push(cloud.wish(workflow, method, margin)?);
                }
            }
        }
    }
    Ok(wishes)
}

fn count(options: &Options) -> usize {
    graphs_of(options, [4, 100, 400])
}

/// Every run.
fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let (seed, clouds) = (options.seed, Arc::new(clouds()?));
    let mut all = Vec::new();
    for wish in wishes(&clouds)? {
        let wish = Arc::new(wish);
        for (policy, by) in POLICIES.into_iter().enumerate() {
            for world in 0..count(options) {
                let (clouds, wish) = (clouds.clone(), wish.clone());
                let name = format!("{}, world {world}: {by}", name(&wish));
                let make = move || clouds[wish.billing].cell(&wish, policy, seed, world);
                all.push(Recipe::new(name, make));
            }
        }
    }
    Ok(all)
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let count = count(options);
    let clouds = clouds()?;
    let wishes = wishes(&clouds)?;
    let jobs: Vec<(usize, usize, usize)> = (0..wishes.len())
        .flat_map(|w| (0..POLICIES.len()).flat_map(move |p| (0..count).map(move |k| (w, p, k))))
        .collect();
    let flat = watch.over("runs", &jobs, |&(wish, policy, world)| {
        let wish = &wishes[wish];
        clouds[wish.billing].run(wish, policy, options.seed, world)
    })?;
    let ran: Vec<&[Ran]> = flat.chunks(count.max(1)).collect();
    let of = |wish: usize, policy: usize| ran[wish * POLICIES.len() + policy];
    let mut report = Report::new(&PAPER, options, count);
    report.choices = CHOICES.map(String::from).to_vec();
    report.findings.claims = vec![keeps(&wishes, &of)];
    report.findings.tables = vec![promises(&wishes, &of), kept(&wishes, &of)];
    Ok(report)
}

fn name(wish: &Wish) -> String {
    let file = WORKFLOWS[wish.workflow].0;
    let quantum = QUANTA[wish.billing];
    format!("{file} by {quantum}, {}, {:.0} % above", wish.method, 100.0 * wish.margin)
}

fn keeps<'r>(wishes: &[Wish], of: &dyn Fn(usize, usize) -> &'r [Ran]) -> Claim {
    let mut claim =
        Claim::new("keeps", "`qos` keeps both limits at least as often as `static` does");
    let both = |ran: &Ran| f64::from(u8::from(ran.in_budget && ran.in_time));
    let differences = |wish: usize| -> Vec<f64> {
        of(wish, QOS).iter().zip(of(wish, STATIC)).map(|(a, b)| both(a) - both(b)).collect()
    };
    let all: Vec<f64> = (0..wishes.len()).flat_map(differences).collect();
    let more = (Estimate::mean(&all), Unit::Percent(1));
    claim.check("more runs within both limits, all settings", "", more, Rule::AtLeast(0.0));
    for (index, wish) in wishes.iter().enumerate() {
        let more = (Estimate::mean(&differences(index)), Unit::Percent(0));
        claim.check(name(wish), "", more, Rule::AtLeast(0.0));
    }
    claim.remark(
        "Points by which the share of runs that keep both limits is higher, in the same worlds.",
    )
}

fn promises<'r>(wishes: &[Wish], of: &dyn Fn(usize, usize) -> &'r [Ran]) -> Table {
    let columns = [
        "setting",
        "deadline",
        "budget",
        "promised time",
        "promised cost",
        "time, static",
        "time, qos",
        "cost, static",
        "cost, qos",
    ];
    let mut table = Table::new("Promised and realised, means over the worlds", &columns);
    for (index, wish) in wishes.iter().enumerate() {
        let mean = |policy: usize, figure: fn(&Ran) -> f64, unit: Unit| {
            Cell::mean(&of(index, policy).iter().map(figure).collect::<Vec<_>>(), unit)
        };
        let number = |value: Option<f64>, unit| Cell::exact(value.unwrap_or(f64::NAN), unit);
        let (seconds, money) = (Unit::Number(0), Unit::Number(3));
        table.rows.push(vec![
            name(wish).into(),
            number(wish.limits.deadline, seconds),
            number(wish.limits.budget, money),
            Cell::exact(wish.promised.0, seconds),
            Cell::exact(wish.promised.1, money),
            mean(STATIC, |r| r.makespan, seconds),
            mean(QOS, |r| r.makespan, seconds),
            mean(STATIC, |r| r.cost, money),
            mean(QOS, |r| r.cost, money),
        ]);
    }
    table
}

fn kept<'r>(wishes: &[Wish], of: &dyn Fn(usize, usize) -> &'r [Ran]) -> Table {
    let columns = [
        "setting",
        "budget, static",
        "budget, qos",
        "deadline, static",
        "deadline, qos",
        "both, static",
        "both, qos",
        "new plans, qos",
    ];
    let mut table = Table::new("Share of the runs that keep the limits", &columns);
    for (index, wish) in wishes.iter().enumerate() {
        let share = |policy: usize, kept: fn(&Ran) -> bool| {
            let kept: Vec<bool> = of(index, policy).iter().map(kept).collect();
            Cell::Figure(Estimate::share(&kept), Unit::Percent(0))
        };
        let mut row = vec![name(wish).into()];
        let limits: [fn(&Ran) -> bool; 3] =
            [|r| r.in_budget, |r| r.in_time, |r| r.in_budget && r.in_time];
        for kept in limits {
            row.extend([STATIC, QOS].map(|policy| share(policy, kept)));
        }
        let plans: Vec<f64> = of(index, QOS).iter().map(|r| r.replannings).collect();
        row.push(Cell::mean(&plans, Unit::Number(1)));
        table.rows.push(row);
    }
    table
}

const CHOICES: [&str; 4] = [
    "Platform and workflows are those of `slackline examples`, small and medium machines billed by the hour, \
     as stated, or by the minute; inputs come from the gateway.",
    "A task takes 0.7 to 1.3 times what was estimated, evenly drawn and the same on every machine; the \
     network is as stated. Both policies meet the same worlds.",
    "Limits: the method plans under the mean of the costs of HEFT and of the cheapest plan and twice \
     HEFT's makespan; budget and deadline lie 2, 5 or 15 % above what that plan says. The promise is the plan \
     under these limits.",
    "Bills count whole machines from when they are ready until they are given back, by started hours or \
     minutes; set-up times are waited for.",
];
