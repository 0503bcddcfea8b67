//! The second part: applications on the platforms people have, against `static`, the published policies, each
//! with the window that suits it best, and the policy's own placement for a platform without changes, followed
//! unchanged.

use super::super::{Cell, Claim, Options, Report, Rule, Size, StudyError, Table, Unit, Watch};
use crate::cell::{self, Recipe, deciding, policy};
use crate::realistic_cases::{CONDITIONS, Conditions, PLATFORMS, RealisticCase, Stages, WORKFLOWS};
use crate::study::Contender;
use slackline_analysis::statistics::Estimate;
use slackline_engine::{Ending, Logged, Recording, Stage};
use slackline_model::Schedule;
use slackline_react::registry::{Entry, Options as Told};
use slackline_react::{Decision, Transfers};
use slackline_schedule::list::heft::HEFT;

/// Windows in which inputs may travel ahead.
const WINDOWS: [(&str, Transfers); 4] = [
    ("push", Transfers::Push),
    ("pull 6", Transfers::Pull { window: 6 }),
    ("pull 2", Transfers::Pull { window: 2 }),
    ("pull 1", Transfers::Pull { window: 1 }),
];

/// The published policies that leave the window to the user, and one that has none.
const OTHERS: [&str; 4] = ["static", "gtp/c", "sr-slack", "aheft"];
const WITHOUT_WINDOW: &str = "just-in-time";

/// Largest tolerated ratio of the end of a run to that of another.
const TOLERATED: f64 = 1.02;

/// Distance of the seeds of a second run from those of the first.
const APART: u64 = 1_000_000;

/// Cells that are shown as the worst.
const SHOWN: usize = 12;

fn seeds(options: &Options) -> usize {
    options.graphs.unwrap_or(if options.size == Size::Quick { 1 } else { 8 })
}

/// Number of seeds of a second run.
fn more(options: &Options) -> usize {
    if options.size == Size::Quick { 4 } else { 24 }
}

pub(super) fn shapes(options: &Options) -> Vec<RealisticCase> {
    match options.size {
        // Every fourth kind of scenario once, on five platforms.
        Size::Quick => RealisticCase::some()
            .into_iter()
            .filter(|s| s.conditions % 4 == 0 && s.workflow == s.conditions / 4 * 3)
            .collect(),
        Size::Standard => RealisticCase::some(),
        Size::Full => RealisticCase::all(),
    }
}

/// End of each policy's run in one replication; infinite if it did not finish.
struct Case {
    cell: usize,
    seed: u64,
    ours: f64,
    /// `static` as it is by default.
    plain: f64,
    /// Tasks that were moved.
    moved: usize,
    /// Our placement for a platform without changes.
    frozen: f64,
    /// Per policy of `OTHERS`, per window: empty where it was not run.
    others: Vec<Vec<f64>>,
    without_window: f64,
}

impl Case {
    fn inputs_everywhere(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    /// The first of the others, each with its window.
    fn best_other(&self, windows: &[usize]) -> f64 {
        let ends = self.others.iter().zip(windows).filter_map(|(ends, &w)| match ends.len() {
            1 => ends.first(),
            _ => ends.get(w),
        });
        ends.copied().fold(self.without_window, f64::min)
    }
}

/// Everything that was measured.
struct Measured {
    shapes: Vec<RealisticCase>,
    cases: Vec<Case>,
    /// The window that suits each of the others best, by the first seed of each cell.
    windows: Vec<usize>,
    /// Of cells that looked worse than tolerated: ends of ours and of `static` for other seeds.
    again: Vec<(usize, Vec<f64>, Vec<f64>)>,
}

/// Driver of a run.
#[derive(Clone, Copy)]
enum Who {
    Ours,
    /// `static` as it is by default.
    Plain,
    /// Our placement for a platform without changes, followed throughout.
    Frozen,
    Other(&'static str, Transfers),
}

impl Who {
    fn cell(self, shape: RealisticCase, stages: &Stages) -> Result<cell::Cell, StudyError> {
        let decided = |entry, transfers| decided(stages.stage.clone(), entry, transfers);
        Ok(match self {
            Who::Ours => decided(policy("slackline")?, Transfers::Push),
            Who::Plain => decided(policy("static")?, Transfers::Push),
            Who::Frozen => {
                let (schedule, transfers) = frozen(&stages.still)?;
                cell::Cell::following(stages.stage.clone(), schedule, transfers)
            }
            Who::Other(name, window) => decided(other(name, shape)?, window),
        })
    }

    /// The recipe of one replication.
    fn recipe(self, shape: RealisticCase, seed: u64) -> Result<Recipe, StudyError> {
        let who = match self {
            Who::Ours => "slackline".to_string(),
            Who::Plain => "static, default".to_string(),
            Who::Frozen => "slackline, frozen".to_string(),
            Who::Other(name, window) => deciding(other(name, shape)?, window),
        };
        let name = format!("{}, seed {seed}: {who}", shape.name());
        Ok(Recipe::new(name, move || self.cell(shape, &shape.stages(seed)?)))
    }
}

/// A case for a policy that plans with HEFT.
pub(super) fn decided(stage: Stage, entry: &'static Entry, transfers: Transfers) -> cell::Cell {
    cell::Cell::decided(stage, entry, Told { transfers, ..Told::new(&HEFT) })
}

/// The policy of that name, or its relative that survives what happens there.
fn other(name: &str, shape: RealisticCase) -> Result<&'static Entry, StudyError> {
    Ok(Contender::named(name)?.surviving(shape.conditions().has_failures()))
}

/// Every run; further seeds count with the best window alone, a second run is made where the first was
/// doubtful.
pub(super) fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let others = OTHERS.iter().flat_map(|&name| WINDOWS.map(|(_, w)| Who::Other(name, w)));
    let mut everybody = vec![Who::Ours, Who::Plain, Who::Frozen];
    everybody.extend(others.chain([Who::Other(WITHOUT_WINDOW, Transfers::Push)]));
    let two = [Who::Ours, Who::Plain];
    let looks = [
        (options.seed, seeds(options), everybody.as_slice()),
        (options.seed + APART, more(options), &two),
    ];
    let mut all = Vec::new();
    for (first, count, who) in looks {
        for shape in shapes(options) {
            for seed in first..first + count as u64 {
                for who in who {
                    all.push(who.recipe(shape, seed)?);
                }
            }
        }
    }
    Ok(all)
}

/// Our placement for a platform without changes, and the window in which inputs travel there.
fn frozen(still: &Stage) -> Result<(Schedule, Transfers), StudyError> {
    let mut ours = slackline_react::Slackline::default();
    let mut logged = Logged::new(&mut ours);
    let outcome = still.run_as(&mut logged, Recording::Nothing, None).map_err(StudyError::of)?;
    let plans = logged.log.calls.iter().flat_map(|call| &call.decisions);
    let mut adopted =
        plans.filter_map(|d| if let Decision::Adopt(plan) = d { Some(plan) } else { None });
    let transfers = adopted.next_back().map_or(Transfers::Push, |plan| plan.transfers);
    Ok((outcome.schedule, transfers))
}

fn case(
    (cell, shape): (usize, RealisticCase),
    seed: u64,
    windows: Option<&[usize]>,
) -> Result<Case, StudyError> {
    let stages = shape.stages(seed)?;
    let end = |who: Who| who.cell(shape, &stages)?.end();
    let outcome = Who::Ours.cell(shape, &stages)?.run(Recording::Nothing)?.outcome;
    let finished = outcome.ending == Ending::Finished;
    let run = |(other, name): (usize, &&'static str)| -> Result<Vec<f64>, StudyError> {
        match windows {
            // In scenarios without changes all windows of `static` count.
            Some(windows) if other > 0 || !shape.conditions().is_still() => {
                Ok(vec![end(Who::Other(name, WINDOWS[windows[other]].1))?])
            }
            _ => WINDOWS.iter().map(|(_, window)| end(Who::Other(name, *window))).collect(),
        }
    };
    let others = OTHERS.iter().enumerate().map(run);
    Ok(Case {
        cell,
        seed,
        ours: if finished { outcome.makespan } else { f64::INFINITY },
        plain: end(Who::Plain)?,
        moved: outcome.counters.migrations,
        frozen: end(Who::Frozen)?,
        others: others.collect::<Result<_, StudyError>>()?,
        without_window: end(Who::Other(WITHOUT_WINDOW, Transfers::Push))?,
    })
}

fn measure(options: &Options, watch: &Watch<'_>) -> Result<Measured, StudyError> {
    let shapes = shapes(options);
    let numbered: Vec<(usize, RealisticCase)> = shapes.iter().copied().enumerate().collect();
    let mut cases = watch.over("real shapes", &numbered, |&cell| case(cell, options.seed, None))?;
    let windows: Vec<usize> = (0..OTHERS.len())
        .map(|other| {
            let mean = |window: usize| {
                let ratios = cases.iter().map(|c| c.others[other][window] / c.plain);
                geometric(&ratios.collect::<Vec<f64>>())
            };
            (0..WINDOWS.len()).min_by(|&a, &b| mean(a).total_cmp(&mean(b))).unwrap_or(0)
        })
        .collect();
    let further = 1..seeds(options) as u64;
    let rest: Vec<((usize, RealisticCase), u64)> = numbered
        .iter()
        .flat_map(|&cell| further.clone().map(move |s| (cell, options.seed + s)))
        .collect();
    cases.extend(watch.over("further seeds", &rest, |&(cell, seed)| {
        case(cell, seed, Some(windows.as_slice()))
    })?);
    let mut measured = Measured { shapes, cases, windows, again: Vec::new() };
    measured.look_again(options, watch)?;
    Ok(measured)
}

/// The geometric mean of what is finite.
pub(super) fn geometric(ratios: &[f64]) -> f64 {
    let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).filter(|l| l.is_finite()).collect();
    Estimate::mean(&logs).value.exp()
}

/// Share of the ratios above the tolerated one.
pub(super) fn behind(ratios: &[f64]) -> f64 {
    ratios.iter().filter(|&&r| r > TOLERATED).count() as f64 / ratios.len() as f64
}

impl Measured {
    /// Ours over something, in the cases that are kept.
    fn over(&self, keep: impl Fn(&Case) -> bool, other: impl Fn(&Case) -> f64) -> Vec<f64> {
        let kept = self.cases.iter().filter(|c| keep(c));
        kept.map(|c| c.ours / other(c)).filter(|r| !r.is_nan()).collect()
    }

    fn over_static(&self, keep: impl Fn(&Case) -> bool) -> Vec<f64> {
        self.over(keep, |c| c.plain)
    }

    fn over_best(&self, keep: impl Fn(&Case) -> bool) -> Vec<f64> {
        self.over(keep, |c| c.best_other(&self.windows))
    }

    /// The kinds of scenarios that were run.
    fn worlds(&self) -> impl Iterator<Item = (usize, &'static Conditions)> + '_ {
        let ran = |conditions: usize| self.shapes.iter().any(|s| s.conditions == conditions);
        CONDITIONS.iter().enumerate().filter(move |(conditions, _)| ran(*conditions))
    }

    fn in_world(&self, conditions: usize) -> impl Fn(&Case) -> bool + '_ {
        move |c: &Case| self.shapes[c.cell].conditions == conditions
    }

    /// Cells by falling ratio to `static`.
    fn worst_cells(&self) -> Vec<(usize, Estimate)> {
        let ratio = |cell: usize| {
            let of = self.cases.iter().filter(|c| c.cell == cell && c.ours.is_finite());
            let (ours, plain): (Vec<f64>, Vec<f64>) =
                of.filter(|c| c.plain.is_finite()).map(|c| (c.ours, c.plain)).unzip();
            (cell, Estimate::ratio(&ours, &plain))
        };
        let mut cells: Vec<(usize, Estimate)> = (0..self.shapes.len()).map(ratio).collect();
        cells.retain(|(_, ratio)| ratio.value.is_finite());
        cells.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
        cells
    }

    /// Runs fresh seeds of the cells that appear worse than tolerated.
    fn look_again(&mut self, options: &Options, watch: &Watch<'_>) -> Result<(), StudyError> {
        let more = more(options);
        let worst = self.worst_cells().into_iter();
        let doubtful = worst.take_while(|(_, ratio)| ratio.value > TOLERATED);
        let worlds: Vec<(usize, u64)> = doubtful
            .flat_map(|(cell, _)| (0..more).map(move |s| (cell, options.seed + APART + s as u64)))
            .collect();
        let ends = watch.over("second look", &worlds, |&(cell, seed)| {
            let shape = self.shapes[cell];
            let stages = shape.stages(seed)?;
            let end = |who: Who| who.cell(shape, &stages)?.end();
            Ok((end(Who::Ours)?, end(Who::Plain)?))
        })?;
        for (chunk, ends) in worlds.chunks(more).zip(ends.chunks(more)) {
            let finished = ends.iter().filter(|(a, b)| a.is_finite() && b.is_finite());
            let (ours, plain) = finished.copied().unzip();
            self.again.extend(chunk.first().map(|&(cell, _)| (cell, ours, plain)));
        }
        Ok(())
    }

    fn again(&self, cell: usize) -> Option<Estimate> {
        let found = self.again.iter().find(|(c, ..)| *c == cell);
        found.map(|(_, ours, plain)| Estimate::ratio(ours, plain))
    }
}

/// Adds the second part to a report.
pub(crate) fn add(
    report: &mut Report,
    options: &Options,
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let measured = measure(options, watch)?;
    report.choices.extend(CHOICES.map(String::from));
    let windows = OTHERS.iter().zip(&measured.windows);
    let windows: Vec<String> =
        windows.map(|(name, &window)| format!("{name} {}", WINDOWS[window].0)).collect();
    report.choices.push(format!("The best windows, over all cells: {}.", windows.join(", ")));
    report.findings.claims.extend(claims(&measured));
    report.findings.tables.extend([
        by_world(&measured),
        by_place(&measured),
        reaction(&measured),
        windows_table(&measured),
        worst(&measured),
    ]);
    Ok(())
}

fn claims(measured: &Measured) -> Vec<Claim> {
    let exact = |value: f64, unit: Unit| (Estimate::exact(value), unit);
    let (number, percent) = (Unit::Number(3), Unit::Percent(1));
    let mut safe = Claim::new(
        "never worse, real shapes",
        "In no cell the whole interval is more than 2 % above `static`, and in every kind of world \
         at most 3 % of the runs end more than 2 % later",
    );
    let above = |(cell, first): &(usize, Estimate)| {
        measured.again(*cell).unwrap_or(*first).low() > TOLERATED
    };
    let worst = measured.worst_cells();
    let cells = worst.iter().filter(|c| above(c)).count() as f64;
    safe.check("cells above 1.02", "", exact(cells, Unit::Number(0)), Rule::AtMost(0.0));
    for (conditions, kind) in measured.worlds() {
        let share = behind(&measured.over_static(measured.in_world(conditions)));
        safe.check(kind.name, "", exact(share, percent), Rule::AtMost(0.03));
    }
    let mut best = Claim::new(
        "best, real shapes",
        "Against the best other policy of each case: the geometric mean, and how often it is more \
         than 2 % behind",
    );
    let all = measured.over_best(|_| true);
    best.check("all", "", exact(geometric(&all), number), Rule::AtMost(0.95));
    let everywhere = measured.over_best(Case::inputs_everywhere);
    let rule = Rule::AtMost(0.97);
    best.check("inputs everywhere", "", exact(geometric(&everywhere), number), rule);
    best.check("behind", "", exact(behind(&all), percent), Rule::AtMost(0.08));
    let mut still = Claim::new(
        "still, real shapes",
        "While nothing happens: never above `static` with any window by more than 0.5 %, and no moves",
    );
    let of_still = |c: &Case| measured.shapes[c.cell].conditions().is_still();
    let any_window = |c: &Case| c.others[0].iter().copied().fold(c.plain, f64::min);
    let most = measured.over(of_still, any_window).into_iter().fold(0.0, f64::max);
    still.check("the worst run", "", exact(most, number), Rule::AtMost(1.005));
    let moved: usize = measured.cases.iter().filter(|c| of_still(c)).map(|c| c.moved).sum();
    still.check("tasks moved", "", exact(moved as f64, Unit::Number(0)), Rule::AtMost(0.0));
    let mut adds = Claim::new(
        "reaction, real shapes",
        "Against its own placement of the still world, frozen: below 1 in every kind of world that \
         changes, and more than 2 % worse in at most 10 % of the runs",
    );
    for (conditions, kind) in measured.worlds().filter(|(_, w)| !w.is_still()) {
        let ratios = measured.over(measured.in_world(conditions), |c| c.frozen);
        adds.check(kind.name, "", exact(geometric(&ratios), number), Rule::AtMost(1.0));
    }
    let changing = measured.over(|c| !of_still(c), |c| c.frozen);
    adds.check("worse", "", exact(behind(&changing), percent), Rule::AtMost(0.1));
    vec![safe, best, still, adds]
}

/// Runs, geometric mean, share behind and the latest, against `static` and against the best other.
fn row(name: String, measured: &Measured, keep: &dyn Fn(&Case) -> bool) -> Vec<Cell> {
    let (plain, best) = (measured.over_static(keep), measured.over_best(keep));
    let latest = plain.iter().copied().fold(0.0, f64::max);
    vec![
        Cell::from(name),
        Cell::exact(plain.len() as f64, Unit::Number(0)),
        Cell::exact(geometric(&plain), Unit::Number(3)),
        Cell::exact(behind(&plain), Unit::Percent(1)),
        Cell::exact(latest, Unit::Number(2)),
        Cell::exact(geometric(&best), Unit::Number(3)),
        Cell::exact(behind(&best), Unit::Percent(1)),
    ]
}

const COLUMNS: [&str; 7] =
    ["", "runs", "over static", "> 2 % later", "latest", "over the best other", "> 2 % behind it"];

fn by_world(measured: &Measured) -> Table {
    let mut table = Table::new("Real shapes, by world", &COLUMNS);
    for (conditions, kind) in measured.worlds() {
        table.rows.push(row(kind.name.to_string(), measured, &measured.in_world(conditions)));
    }
    table.rows.push(row("all".to_string(), measured, &|_| true));
    table
}

fn by_place(measured: &Measured) -> Table {
    let mut table = Table::new("Real shapes, by inputs, platform and workflow", &COLUMNS);
    let everywhere: &dyn Fn(&Case) -> bool = &Case::inputs_everywhere;
    table.rows.push(row("inputs everywhere".to_string(), measured, everywhere));
    table.rows.push(row("inputs at one host".to_string(), measured, &|c| !everywhere(c)));
    for (at, (name, ..)) in PLATFORMS.iter().enumerate() {
        let keep = move |c: &Case| measured.shapes[c.cell].platform == at;
        table.rows.push(row(name.to_string(), measured, &keep));
    }
    for (at, (name, ..)) in WORKFLOWS.iter().enumerate() {
        let keep = move |c: &Case| measured.shapes[c.cell].workflow == at;
        table.rows.push(row(name.to_string(), measured, &keep));
    }
    // A quick run does not have all of them.
    table.rows.retain(|row| !matches!(&row[1], Cell::Figure(runs, _) if runs.value < 1.0));
    table
}

fn reaction(measured: &Measured) -> Table {
    let title = "Real shapes, over its own placement of the still world, frozen";
    let mut table = Table::new(title, &["world", "mean", "> 2 % later"]);
    for (conditions, kind) in measured.worlds().filter(|(_, w)| !w.is_still()) {
        let ratios = measured.over(measured.in_world(conditions), |c| c.frozen);
        table.rows.push(vec![
            Cell::from(kind.name),
            Cell::exact(geometric(&ratios), Unit::Number(3)),
            Cell::exact(behind(&ratios), Unit::Percent(1)),
        ]);
    }
    table
}

fn windows_table(measured: &Measured) -> Table {
    let mut columns = vec!["policy"];
    columns.extend(WINDOWS.map(|(name, _)| name));
    let title = "Real shapes, the others over `static` that pushes, first seed of each cell";
    let mut table = Table::new(title, &columns);
    let first = &measured.cases[..measured.shapes.len().min(measured.cases.len())];
    for (other, name) in OTHERS.iter().enumerate() {
        let mean = |window: usize| {
            let ratios: Vec<f64> =
                first.iter().map(|c| c.others[other][window] / c.plain).collect();
            Cell::exact(geometric(&ratios), Unit::Number(3))
        };
        let figures = (0..WINDOWS.len()).map(mean);
        table.rows.push(std::iter::once(Cell::from(*name)).chain(figures).collect());
    }
    let ratios: Vec<f64> = first.iter().map(|c| c.without_window / c.plain).collect();
    let none = || Cell::from("");
    let mean = Cell::exact(geometric(&ratios), Unit::Number(3));
    table.rows.push(vec![Cell::from(WITHOUT_WINDOW), mean, none(), none(), none()]);
    table
}

fn worst(measured: &Measured) -> Table {
    let title = "Real shapes, the worst cells against `static`";
    let mut table = Table::new(title, &["cell", "ratio", "other seeds"]);
    for (cell, ratio) in measured.worst_cells().into_iter().take(SHOWN) {
        let again = measured.again(cell);
        let again = again.map_or_else(|| Cell::from(""), |r| Cell::Figure(r, Unit::Number(3)));
        let name = Cell::from(measured.shapes[cell].name());
        table.rows.push(vec![name, Cell::Figure(ratio, Unit::Number(3)), again]);
    }
    table
}

const CHOICES: [&str; 4] = [
    "Real shapes: 16 applications of 40 to 200 tasks, drawn like recorded ones, on 8 platforms in 20 \
     kinds of worlds. Workflow, platform and world are drawn for each seed. Inputs lie \
     everywhere for even seeds, on one host for odd ones. Dates scale with the makespan of `static` \
     in the still world.",
    "Standard size: every application in every world, on one platform each in turn (320 cells), 8 \
     seeds; full: all 2,560 cells. A cell above 1.02 of `static` is measured again on 24 other seeds \
     (1,000,000 further on), and that counts.",
    "`static` pushes, as it does by default. The published policies plan with HEFT; each counts with \
     the window that is best for it over the first seed of all cells. GTP/c runs as GTP/c/r where \
     hosts fail.",
    "Means are geometric. A run that does not finish counts as later, not in means.",
];
