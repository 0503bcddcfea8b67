//! The GTP family: J. I. Hernandez, "Reactive scheduling of DAG applications on heterogeneous and
//! dynamic distributed computing systems", thesis, Edinburgh 2008.
//!
//! The plots of the thesis cannot be read any more; what can be checked are the numbers and
//! statements of its text. They are averages over 12 graphs, and mostly the most favourable setting
//! of many ("up to").

mod ablation;
mod copies;
mod foundations;
mod reactive;
mod rewinding;
mod runs;
mod static_methods;
mod transfers;

use super::report::Findings;
use super::{Claim, Options, Paper, Report, Rule, Size, StudyError, Unit, Watch};
use crate::cell::Recipe;
use runs::{Measured, Run, Runs, Setting};
use slackline_analysis::statistics::Estimate;

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "gtp",
    title: "Reactive scheduling of DAG applications on heterogeneous and dynamic distributed computing systems",
    source: "Hernandez, thesis, 2008",
    about: "re-plan at fixed periods: GTP, copies, rewinding, PUSH and PULL, against HEFT and DLS/sr",
    run: reproduce,
    cells,
    unlisted: "",
};

/// Graphs per setting, and by what numbers of tasks are divided.
fn amount(options: &Options) -> (usize, usize) {
    let (usual, shrink) = match options.size {
        Size::Quick => (2, 10),
        Size::Standard => (12, 1),
        Size::Full => (36, 1),
    };
    (options.graphs.unwrap_or(usual), shrink)
}

fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let (graphs, shrink) = amount(options);
    let runs = Runs::new(options, graphs, shrink);
    judge(&runs);
    let mut all = foundations::cells(options.seed, graphs)?;
    all.extend(runs.cells());
    Ok(all)
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let (graphs, shrink) = amount(options);
    let mut report = Report::new(&PAPER, options, graphs);
    report.choices = CHOICES.map(String::from).to_vec();
    if shrink > 1 {
        let less =
            format!("A quick look: numbers of tasks are divided by {shrink}, but at least 30.");
        report.choices.insert(0, less);
    }
    let mut runs = Runs::new(options, graphs, shrink);
    judge(&runs);
    runs.run_all(watch)?;
    let own = foundations::study(options.seed, graphs, shrink, watch)?;
    let simulated = judge(&runs);
    if runs.forgotten() > 0 {
        return Err(StudyError("runs were asked for too late".into()));
    }
    for findings in std::iter::once(own).chain(simulated) {
        report.findings.claims.extend(findings.claims);
        report.findings.tables.extend(findings.tables);
    }
    Ok(report)
}

/// Judges all claims about the simulated runs.
fn judge(runs: &Runs) -> Vec<Findings> {
    vec![
        static_methods::findings(runs),
        reactive::findings(runs),
        copies::findings(runs),
        transfers::findings(runs),
        rewinding::findings(runs),
        ablation::findings(runs),
    ]
}

/// By how much the NSL of one run exceeds that of another in a setting.
fn excess(runs: &Runs, setting: Setting, one: Run, other: Run) -> (Estimate, Unit) {
    (Estimate::excess(&runs.nsl(setting, one), &runs.nsl(setting, other)), Unit::Percent(1))
}

/// Ratio of a figure between two runs in a setting.
fn ratio(
    runs: &Runs,
    setting: Setting,
    (one, other): (Run, Run),
    of: impl Fn(&Measured) -> f64 + Copy,
) -> (Estimate, Unit) {
    let ratio = Estimate::ratio(&runs.get(setting, one, of), &runs.get(setting, other, of));
    (ratio, Unit::Times(2))
}

/// Adds a check that one method's NSL is below another's.
fn beats(claim: &mut Claim, runs: &Runs, setting: Setting, pair: (Run, Run), published: &str) {
    let (one, other) = pair;
    claim.check(
        format!("{} {} to {}", runs.name(setting), one.method.name(), other.method.name()),
        published,
        excess(runs, setting, one, other),
        Rule::Below(0.0),
    );
}

/// A published factor is met between its half and its double.
fn about(factor: f64) -> Rule {
    Rule::Between(factor / 2.0, factor * 2.0)
}

const CHOICES: [&str; 8] = [
    "Graphs by the four rules of the Standard Task Graph set with three densities each, W whole in 1 to \
     10, data U(0.5, 1.5) scaled to the CCR.",
    "Every processor and every link changes after exponential times of mean m = 3 makespans of static HEFT \
     while nothing changes, to a level of 1 - U(0, z). The thesis gives neither the number nor the law \
     of its events; the ablation shows how much hangs on m.",
    "Links carry one transfer at a time in order of arrival, both directions together; in F1 (CCR 0.1, \
     'infinite bandwidth') transfers never disturb each other and bandwidths do not change.",
    "PULL: the first task not yet started of each processor asks for its inputs (window w = 1). PUSH: \
     results leave at once, in the order of the plan.",
    "Cycles are parts of the makespan of static HEFT while nothing changes, as simulated.",
    "NSL: makespan over the sum of mean times on the path that is critical with communication.",
    "DLS with medians and static levels without communication (91 on the ten tasks of the HEFT paper, \
     as published); DLS/sr maps again when a task ends later than its spare time.",
    "'A to B' is the mean NSL of A over that of B, less one. 'Up to' in the thesis is its best setting or \
     graph; direction is judged where not said otherwise, a factor between its half and its double.",
];
