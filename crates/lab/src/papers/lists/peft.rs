//! Chapter 3: PEFT, on random graphs and on real applications.

use super::{Figures, Instance, Planned, Series, any, sample};
use crate::papers::{
    Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch,
};
use slackline_analysis::statistics::{Comparison, Estimate, compare};
use slackline_generate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use slackline_generate::graph::Node;
use slackline_generate::registry::{self as generators, Family};
use slackline_generate::{Graph, Seed};
use slackline_model::Workflow;

/// Registry entry.
pub(in super::super) const PAPER: Paper = Paper {
    name: "peft",
    title: "List scheduling algorithm for heterogeneous systems by an optimistic cost table",
    source: "Arabnejad and Barbosa, TPDS 25(3), 2014; Arabnejad, thesis, chapter 3, 2016",
    about: "PEFT against Lookahead, HEFT, HCPT, PETS and HPS, random graphs and applications",
    run,
    cells: |options| {
        let parts = Parts::new(options)?;
        let all = parts.random.into_iter().map(|(_, s)| s).chain(parts.large).chain(parts.real);
        Ok(all.flat_map(Series::cells).collect())
    },
    unlisted: "",
};

const METHODS: [&str; 6] = ["peft", "lookahead", "heft", "hcpt", "pets", "hps"];
const PEFT: usize = 0;
const LOOKAHEAD: usize = 1;
const HEFT: usize = 2;
/// Sizes of the random graphs, with their place among the fourteen of the population.
const SIZES: [(usize, u64); 5] = [(10, 0), (20, 1), (50, 4), (100, 9), (500, 13)];
/// Graphs beyond 100 tasks, on which Lookahead runs too.
const LARGE: (usize, u64) = (200, 10);
const APPLICATIONS: [&str; 4] = ["gauss", "fft", "montage", "epigenomics"];
const CCR: [f64; 7] = [0.1, 0.5, 0.8, 1.0, 2.0, 5.0, 10.0];
const BETA: [f64; 5] = [0.1, 0.2, 0.5, 1.0, 2.0];

struct Parts {
    random: Vec<(usize, Series)>,
    large: Vec<Series>,
    real: Vec<Series>,
}

fn graphs(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 12,
        Size::Standard => 240,
        Size::Full => 2400,
    })
}

impl Parts {
    fn new(options: &Options) -> Result<Parts, StudyError> {
        let (seed, graphs) = (options.seed, graphs(options));
        let drawn = |(tasks, at): (usize, u64), graphs: usize, methods: &[&'static str]| {
            Ok::<Series, StudyError>(Series {
                stage: format!("random graphs, {tasks} tasks"),
                instances: sample(PAPER.name, seed, (at, 14), graphs)?,
                methods: methods.to_vec(),
            })
        };
        // Lookahead tries every child of a task on every processor: it is left out on the largest.
        let sizes = SIZES.iter().filter(|(tasks, _)| options.size != Size::Quick || *tasks <= 50);
        let random = sizes.map(|&size| {
            let methods = METHODS.iter().copied();
            let methods =
                methods.filter(|m| size.0 <= 100 || *m != "lookahead").collect::<Vec<_>>();
            Ok((size.0, drawn(size, graphs, &methods)?))
        });
        let random = random.collect::<Result<Vec<_>, StudyError>>()?;
        let large = match options.size {
            Size::Quick => Vec::new(),
            _ => vec![drawn(LARGE, graphs.div_ceil(8), &["peft", "lookahead", "heft"])?],
        };
        let real = APPLICATIONS.iter().map(|&name| {
            Ok(Series {
                stage: name.to_string(),
                instances: application(name, seed, graphs)?,
                methods: METHODS.to_vec(),
            })
        });
        let real = real.collect::<Result<Vec<_>, StudyError>>()?;
        Ok(Parts { random, large, real })
    }
}

/// Graphs of an application with costs as those of random graphs; CCR, beta, processors and size are drawn.
fn application(name: &str, seed: u64, graphs: usize) -> Result<Vec<Instance>, StudyError> {
    let wide = matches!(name, "montage" | "epigenomics");
    let processors: &[usize] = if wide { &[2, 4, 8, 16, 32, 64] } else { &[2, 4, 8, 16, 32] };
    let sizes: &[(&str, usize)] = match name {
        "gauss" => &[("size", 5), ("size", 10), ("size", 15), ("size", 20)],
        "fft" => &[("points", 4), ("points", 8), ("points", 16)],
        "montage" => &[("tasks", 25), ("tasks", 50)],
        _ => &[("tasks", 24), ("tasks", 46)],
    };
    let generator = generators::find(Family::Workflow, name).map_err(StudyError::of)?;
    let mut all = Vec::new();
    for member in 0..graphs as u64 {
        let own = Seed { seed, member };
        let mut draws = own.draws(&format!("lists/{name}"));
        let (parameter, size) = sizes[draws.below(sizes.len())];
        let (ccr, beta) = (CCR[draws.below(CCR.len())], BETA[draws.below(BETA.len())]);
        let processors = processors[draws.below(processors.len())];
        let given = [(parameter.to_string(), size.to_string())];
        let settings = generator.settings(&given).map_err(StudyError::of)?;
        let shape = generator.workflow(&settings, own).map_err(StudyError::of)?;
        let costs = Costs {
            tasks: TaskCosts::Beta { mean: 1.0, beta },
            processors,
            ccr: Some(Ccr { ratio: ccr, by: CcrBy::Sums, spread: 1.0 }),
            // All paths of a transform are critical.
            per_level: name == "fft",
            ..Costs::default()
        };
        let workflow = shape_of(&shape).workflow(&costs, own).map_err(StudyError::of)?;
        all.push(Instance::new(workflow, ccr, beta, processors)?);
    }
    Ok(all)
}

/// Tasks and dependencies without their costs, tasks in topological order.
fn shape_of(workflow: &Workflow) -> Graph {
    let order = workflow.topological_order();
    let mut at = vec![0u32; workflow.len()];
    let mut level = vec![0u32; workflow.len()];
    let mut nodes = Vec::with_capacity(workflow.len());
    for (position, &task) in order.iter().enumerate() {
        at[task.index()] = position as u32;
        let above = workflow.predecessors(task).map(|(parent, _)| level[parent.index()] + 1);
        level[task.index()] = above.max().unwrap_or(0);
        nodes.push(Node { kind: 0, level: level[task.index()], dummy: false });
    }
    let ends = workflow.edges().map(|edge| workflow.edge_ends(edge));
    let mut edges: Vec<(u32, u32)> = ends.map(|(a, b)| (at[a.index()], at[b.index()])).collect();
    edges.sort_unstable();
    edges.dedup();
    Graph { name: workflow.name().to_string(), kinds: vec!["task"], nodes, edges }
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let mut report = Report::new(&PAPER, options, graphs(options));
    report.choices = CHOICES.map(String::from).to_vec();
    let parts = Parts::new(options)?;
    let random: Vec<(usize, Planned)> = parts
        .random
        .into_iter()
        .map(|(tasks, series)| Ok((tasks, series.plan(watch)?)))
        .collect::<Result<_, StudyError>>()?;
    let large: Vec<Planned> =
        parts.large.into_iter().map(|s| s.plan(watch)).collect::<Result<_, _>>()?;
    let real: Vec<Planned> =
        parts.real.into_iter().map(|s| s.plan(watch)).collect::<Result<_, _>>()?;
    report.findings.claims = vec![
        by_size(&random),
        quadratic(&random),
        looking_ahead(&random, &large),
        table_7(&random),
        by_beta(&random),
        efficiency(&random),
        gauss(&real[0]),
        fft(&real[1]),
        applications(&real[2], &real[3]),
    ];
    report.findings.tables = vec![lengths(&random), real_table(&real)];
    Ok(report)
}

/// Position of a method in the rows of graphs of a size; Lookahead is not on the largest.
fn place(tasks: usize, method: usize) -> Option<usize> {
    match (tasks <= 100, method) {
        (true, m) => Some(m),
        (false, LOOKAHEAD) => None,
        (false, m) => Some(if m > LOOKAHEAD { m - 1 } else { m }),
    }
}

fn gain(tasks: usize, planned: &Planned, over: usize) -> Option<Estimate> {
    Some(planned.gain(PEFT, place(tasks, over)?, any))
}

fn by_size(random: &[(usize, Planned)]) -> Claim {
    let mut claim = Claim::new(
        "Figure 3a",
        "PEFT has a lower mean SLR than HEFT, by less the larger the graph",
    );
    for (tasks, published) in [(10, 0.10), (100, 0.062), (500, 0.04)] {
        let Some((_, planned)) = random.iter().find(|(n, _)| *n == tasks) else { continue };
        let Some(ours) = gain(tasks, planned, HEFT) else { continue };
        claim.check(
            format!("PEFT over HEFT, {tasks} tasks"),
            &Unit::Percent(1).show(published),
            (ours, Unit::Percent(1)),
            Rule::Between(published / 2.0, published * 2.0),
        );
    }
    claim.remark("Met between half and twice the published gain.")
}

fn quadratic(random: &[(usize, Planned)]) -> Claim {
    let mut claim = Claim::new("Figure 4", "PEFT has the lowest mean SLR of the quadratic methods");
    for (tasks, planned) in random {
        for (method, name) in METHODS.iter().enumerate().skip(HEFT) {
            let Some(ours) = gain(*tasks, planned, method) else { continue };
            let what = format!("PEFT over {name}, {tasks} tasks");
            claim.check(what, "", (ours, Unit::Percent(1)), Rule::Above(0.0));
        }
    }
    claim
}

fn looking_ahead(random: &[(usize, Planned)], large: &[Planned]) -> Claim {
    let mut claim = Claim::new(
        "Lookahead",
        "Up to 100 tasks Lookahead is similar to PEFT; beyond it falls behind",
    );
    for (tasks, planned) in random {
        let Some(ours) = gain(*tasks, planned, LOOKAHEAD) else { continue };
        claim.check(
            format!("PEFT over Lookahead, {tasks} tasks"),
            "similar",
            (ours, Unit::Percent(1)),
            Rule::Between(-0.05, 0.05),
        );
    }
    for planned in large {
        let ours = (planned.gain(PEFT, LOOKAHEAD, any), Unit::Percent(1));
        let what = format!("PEFT over Lookahead, {} tasks", LARGE.0);
        claim.check(what, "ahead", ours, Rule::Above(0.0));
    }
    claim
}

/// Whether the first plan is shorter, graph by graph.
fn shorter(figures: &[Vec<Figures>], a: usize, b: usize) -> [Vec<bool>; 3] {
    let word = |row: &Vec<Figures>| {
        compare(row[a].makespan, row[b].makespan, slackline_analysis::statistics::Sense::Lower, 0.0)
    };
    let words: Vec<Comparison> = figures.iter().map(word).collect();
    let are = |wanted: Comparison| words.iter().map(|word| *word == wanted).collect();
    [are(Comparison::Better), are(Comparison::Worse), are(Comparison::Equal)]
}

/// All rows up to 100 tasks, on which every method ran.
fn pooled(random: &[(usize, Planned)]) -> Vec<Vec<Figures>> {
    let small = random.iter().filter(|(tasks, _)| *tasks <= 100);
    small.flat_map(|(_, planned)| planned.figures.iter().cloned()).collect()
}

fn table_7(random: &[(usize, Planned)]) -> Claim {
    let mut claim =
        Claim::new("Table 7", "PEFT's plan is shorter than that of each other in most graphs");
    let rows = pooled(random);
    for (method, published) in [(1, 0.66), (2, 0.72), (3, 0.79), (4, 0.91), (5, 0.90)] {
        let [better, _, _] = shorter(&rows, PEFT, method);
        claim.check(
            format!("shorter than {}", METHODS[method]),
            &Unit::Percent(0).show(published),
            (Estimate::share(&better), Unit::Percent(0)),
            Rule::AtLeast(0.5),
        );
    }
    claim
}

fn by_beta(random: &[(usize, Planned)]) -> Claim {
    let mut claim =
        Claim::new("Figure 4b", "What PEFT gains over HEFT grows with the spread of run times");
    for (tasks, planned) in random {
        let Some(heft) = place(*tasks, HEFT) else { continue };
        let of = |low: f64, high: f64| {
            planned.gain(PEFT, heft, move |i: &Instance| (low..=high).contains(&i.beta))
        };
        let (little, much) = (of(0.0, 0.2), of(1.0, 2.0));
        let margin = little.margin.zip(much.margin).map(|(a, b)| a.hypot(b));
        let more = Estimate { value: much.value - little.value, margin, ..much };
        let what = format!("gain at beta 1 and 2 less that at 0.1 and 0.2, {tasks} tasks");
        claim.check(what, "grows", (more, Unit::Percent(1)), Rule::Above(0.0));
    }
    claim
}

fn efficiency(random: &[(usize, Planned)]) -> Claim {
    let mut claim = Claim::new("Figure 4c", "PEFT is the most efficient of the quadratic methods");
    let rows = pooled(random);
    let column = |m: usize| -> Vec<f64> { rows.iter().map(|row| row[m].speedup).collect() };
    for (method, name) in METHODS.iter().enumerate().skip(HEFT) {
        let ours = Estimate::excess(&column(PEFT), &column(method));
        let what = format!("mean speed-up over {name}, up to 100 tasks");
        claim.check(what, "", (ours, Unit::Percent(1)), Rule::Above(0.0));
    }
    claim
}

/// The gain over HEFT on so many processors, beside the published one.
fn on_processors(claim: &mut Claim, name: &str, planned: &Planned, published: &[(usize, f64)]) {
    for &(processors, published) in published {
        let ours = planned.gain(PEFT, HEFT, move |i: &Instance| i.processors == processors);
        claim.check(
            format!("{name} on {processors} processors, PEFT over HEFT"),
            &Unit::Percent(0).show(published),
            (ours, Unit::Percent(1)),
            Rule::Between(published / 2.0 - 0.01, published * 2.0 + 0.01),
        );
    }
}

fn gauss(planned: &Planned) -> Claim {
    let mut claim =
        Claim::new("Gauss", "Gaussian elimination: PEFT gains over HEFT, more on more processors");
    on_processors(&mut claim, "Gauss", planned, &[(4, 0.02), (8, 0.06), (16, 0.12), (32, 0.12)]);
    claim
}

fn fft(planned: &Planned) -> Claim {
    let mut claim = Claim::new("FFT", "Where all paths are critical PEFT gains nothing over HEFT");
    let ours = (planned.gain(PEFT, HEFT, any), Unit::Percent(1));
    claim.check("FFT, PEFT over HEFT", "close, worse", ours, Rule::Between(-0.05, 0.05));
    claim
}

fn applications(montage: &Planned, epigenomics: &Planned) -> Claim {
    let mut claim =
        Claim::new("Montage, Epigenomics", "PEFT gains over HEFT, more on more processors");
    on_processors(&mut claim, "Montage", montage, &[(4, 0.10), (64, 0.19)]);
    on_processors(&mut claim, "Epigenomics", epigenomics, &[(4, 0.03), (64, 0.21)]);
    for (name, planned) in [("Montage", montage), ("Epigenomics", epigenomics)] {
        let ours = planned.gain(PEFT, HEFT, |i: &Instance| i.beta <= 0.2);
        let what = format!("{name} at beta 0.1 and 0.2, PEFT over HEFT");
        claim.check(what, "15 %", (ours, Unit::Percent(1)), Rule::AtLeast(0.075));
    }
    claim.unless_it_holds(
        "Gains where processors are nearly alike could not be had from any reading of the costs; means are dominated \
         by beta = 2, where the least time of a task is tiny.",
    )
}

fn lengths(random: &[(usize, Planned)]) -> Table {
    let mut columns = vec!["tasks"];
    columns.extend(METHODS);
    columns.push("PEFT below HEFT");
    let mut table = Table::new("Random graphs: mean SLR", &columns);
    for (tasks, planned) in random {
        let mut row: Vec<Cell> = vec![tasks.to_string().into()];
        for method in 0..METHODS.len() {
            row.push(match place(*tasks, method) {
                Some(at) => Cell::mean(&planned.column(at, |f| f.slr, any), Unit::Number(2)),
                None => "-".into(),
            });
        }
        let less = gain(*tasks, planned, HEFT);
        row.push(less.map_or("-".into(), |less| Cell::Figure(less, Unit::Percent(1))));
        table.rows.push(row);
    }
    table
}

fn real_table(real: &[Planned]) -> Table {
    let mut columns = vec!["application"];
    columns.extend(METHODS);
    columns.push("PEFT shorter, longer, equal to HEFT");
    let mut table = Table::new("Applications: mean SLR", &columns);
    for (planned, name) in real.iter().zip(APPLICATIONS) {
        let mut row: Vec<Cell> = vec![name.into()];
        for method in 0..METHODS.len() {
            row.push(Cell::mean(&planned.column(method, |f| f.slr, any), Unit::Number(2)));
        }
        let counts = shorter(&planned.figures, PEFT, HEFT)
            .map(|words| words.into_iter().filter(|&is_so| is_so).count().to_string());
        row.push(counts.join(", ").into());
        table.rows.push(row);
    }
    table
}

const CHOICES: [&str; 4] = [
    "Random graphs: drawn evenly from the published population of 705,600, so many for each of five sizes; Lookahead, \
     which is cubic and more, up to 100 tasks, and on an eighth as many graphs of 200 tasks.",
    "Applications: the shapes of our generators with the costs of random graphs; size, CCR, beta and processors drawn \
     evenly from the published values (Gauss up to size 20).",
    "A transform has one mean time for each level, so that all of its paths are critical.",
    "Gains are 1 - mean SLR over mean SLR of HEFT on the same graphs.",
];
