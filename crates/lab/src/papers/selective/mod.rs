//! Selective rescheduling: H. Zhao and R. Sakellariou, "A low-cost rescheduling policy for
//! dependent tasks on grid computing systems", 2004; extended by the same authors in Scientific
//! Programming 12, 2004.
//!
//! The plotted values of the paper's figures 3 and 4 are not printed, so only the statements of its text about
//! them can be checked; table 1 is printed. Everything runs in the literal form, a sweep that uses real ends
//! out of order; one table has the cost of causality.

mod causal;
mod identities;
mod instance;
mod performance;
mod running_time;

use super::{Options, Paper, Report, Size, StudyError, Unit, Watch};
use crate::cell::Recipe;
use instance::{Instance, Ran};
use slackline_generate::unrelated::Population;
use slackline_react::selective::Trigger;
use slackline_schedule::{Algorithm, registry};

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "selective-rescheduling",
    title: "A low-cost rescheduling policy for dependent tasks on grid computing systems",
    source: "Zhao, Sakellariou, 2004",
    about: "spare time and slack decide when a plan is worth making again",
    run: reproduce,
    cells,
    unlisted: "not listed: the paper's literal form, which knows real ends before they come: no run can; \
               and what depends on wall time",
};

/// A planner under the paper's name for it.
#[derive(Clone, Copy, Debug)]
struct Base {
    label: &'static str,
    planner: &'static Algorithm,
    /// One of the paper's four; the merging form of LMT is shown beside the simple one.
    published: bool,
}

/// FCP, DLS, LMT, HEFT in the order of the paper's table, then LMT's published form.
fn bases() -> Result<Vec<Base>, StudyError> {
    let all = [
        ("FCP", "fcp-meantime", true),
        ("DLS", "dls-median", true),
        ("LMT", "lmt", true),
        ("HEFT", "heft-meantime", true),
        ("LMT merge", "lmt-merge", false),
    ];
    let find = |(label, name, published)| match registry::find(name) {
        Some(planner) => Ok(Base { label, planner, published }),
        None => Err(StudyError(format!("the planner {name} is missing"))),
    };
    all.into_iter().map(find).collect()
}

/// Ways to run, in the order of the tables.
const WAYS: [&str; 5] = ["ideal", "static", "always", "slack", "spare"];
const IDEAL: usize = 0;
const STATIC: usize = 1;
const ALWAYS: usize = 2;
const SLACK: usize = 3;
const SPARE: usize = 4;

/// One way of running an instance in the literal form.
fn ran(instance: &Instance, base: &Base, way: usize, quality: f64) -> Result<Ran, StudyError> {
    let trigger = match way {
        IDEAL => {
            let makespan = instance.ideal(base.planner, quality)?.end()?;
            return Ok(Ran { makespan, reschedulings: 0.0 });
        }
        STATIC => Trigger::Never,
        ALWAYS => Trigger::Always,
        SLACK => Trigger::Slack,
        _ => Trigger::Spare,
    };
    instance.literal(base.planner, trigger, quality)
}

/// All five ways.
fn all_ways(instance: &Instance, base: &Base, quality: f64) -> Result<[Ran; 5], StudyError> {
    let mut all = [Ran { makespan: 0.0, reschedulings: 0.0 }; 5];
    for (way, result) in all.iter_mut().enumerate() {
        *result = ran(instance, base, way, quality)?;
    }
    Ok(all)
}

/// Numbers `0..graphs` of a population.
fn draw(population: Population, seed: u64, graphs: usize) -> Result<Vec<Instance>, StudyError> {
    (0..graphs).map(|member| Instance::draw(&population, seed, member)).collect()
}

fn graphs(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 4,
        Size::Standard => 100,
        Size::Full => 400,
    })
}

/// The plans under exact knowledge, and the runs on the engine.
fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let (graphs, seed, bases) = (graphs(options), options.seed, bases()?);
    let mut all = ideal(identities::POPULATION, &[0.0], &bases, (seed, identities::graphs(graphs)));
    all.extend(ideal(performance::POPULATION, &performance::QUALITIES, &bases, (seed, graphs)));
    all.extend(causal::cells(&bases, (seed, graphs))?);
    Ok(all)
}

/// The plans under exact knowledge of so many members of a population.
fn ideal(
    population: Population,
    qualities: &[f64],
    bases: &[Base],
    (seed, graphs): (u64, usize),
) -> Vec<Recipe> {
    let mut all = Vec::new();
    for &quality in qualities {
        for &Base { label, planner, .. } in bases {
            for member in 0..graphs {
                let error = Unit::Percent(0).show(quality);
                let name =
                    format!("{}, error {error}, graph {member}: ideal {label}", population.name);
                all.push(Recipe::new(name, move || {
                    Instance::draw(&population, seed, member)?.ideal(planner, quality)
                }));
            }
        }
    }
    all
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let graphs = graphs(options);
    let bases = bases()?;
    let mut report = Report::new(&PAPER, options, graphs);
    report.choices = CHOICES.map(String::from).to_vec();
    performance::study(&mut report, &bases, watch)?;
    running_time::study(&mut report, &bases, watch)?;
    identities::study(&mut report, &bases, watch)?;
    causal::study(&mut report, &bases, watch)?;
    Ok(report)
}

const CHOICES: [&str; 6] = [
    "Real time of a task on a machine: the estimate times 1 + U(-q, q), independent per task and \
     machine; transfers are as estimated and never disturb each other. The same errors, scaled, serve \
     all q.",
    "Graphs: entry and exit alone, levels of 2 to half of what is left, 1 to 3 children on the next \
     level; the paper names its generator only by reference.",
    "Time per data unit of a pair of machines U(0.5, 1.5), data of an edge U(0, 2) scaled to the CCR; \
     the paper gives neither.",
    "DLS with medians and without communication in its static level; ranks of HEFT and FCP from mean \
     transfer times; FCP by earlier finish on its two machines; LMT in the simple form (every task \
     where it ends first) unless `merge` is said.",
    "The sweep takes tasks by planned start, then finish, then number, and knows the real end of \
     every task before; a re-planned task may start earlier than the decision.",
    "`ideal` is one plan made with the real times; planners being heuristics, it is no bound.",
];
