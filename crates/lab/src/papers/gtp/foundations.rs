//! Preconditions of the study: the graphs have the published numbers of edges, promises come true where nothing
//! disturbs them, and contention alone breaks them.

use crate::cell::{self, Recipe, planner, policy};
use crate::papers::report::Findings;
use crate::papers::{Claim, Rule, StudyError, Unit, Watch};
use crate::worlds::{GtpWorld, Kind, Links, Way, contention_example, edges_of};
use slackline_analysis::statistics::Estimate;
use slackline_react::Transfers;

/// Mean edges of the 12 graphs of a size; the thesis prints the one of 1000 tasks.
const EDGES: [(usize, f64); 5] =
    [(50, 158.0), (100, 504.0), (300, 3763.0), (500, 10022.0), (1000, 38749.0)];

/// Label, links and makespan of the example's two runs.
const EXAMPLE: [(&str, Links, f64); 2] =
    [("promised", Links::Free, 10.0), ("one transfer at a time", Links::Fifo, 12.0)];

/// Planners whose promises are checked.
const PROMISING: [(&str, &str); 2] = [("HEFT", "heft"), ("DLS", "dls-median")];

/// The runs and plans of these claims.
pub(super) fn cells(seed: u64, graphs: usize) -> Result<Vec<Recipe>, StudyError> {
    let mut all = Vec::new();
    for (what, links, _) in EXAMPLE {
        let name = format!("four tasks that contend, {what}");
        all.push(Recipe::new(name, move || contention_example(links)));
    }
    for (name, planner) in PROMISING {
        for graph in members(graphs) {
            let of = format!("SCE(10,50,0) without contention, graph {graph}: {name}");
            let run = move || still_run(planner, graph, seed);
            all.push(Recipe::new(of.clone(), move || Ok(run()?.0)));
            all.push(Recipe::new(format!("{of} promised"), move || Ok(run()?.1)));
        }
    }
    Ok(all)
}

pub(super) fn study(
    seed: u64,
    graphs: usize,
    shrink: usize,
    watch: &Watch<'_>,
) -> Result<Findings, StudyError> {
    let mut example = Claim::new(
        "5.2",
        "Four tasks that HEFT promises to end at 10 end at 12 when a link carries one transfer at a time",
    );
    for (what, links, expected) in EXAMPLE {
        let ends = contention_example(links)?.end()?;
        example.check(
            what,
            &format!("{expected}"),
            (Estimate::exact(ends), Unit::Number(0)),
            Rule::Between(expected, expected),
        );
    }
    let example = example.remark(
        "The graph of the thesis is lost; this is one with the same two numbers, as the tests have it.",
    );
    let claims = vec![example, edges(seed, graphs, shrink, watch)?, promises(seed, graphs, watch)?];
    Ok(Findings { claims, tables: Vec::new() })
}

/// Graphs on which promises are checked.
fn members(graphs: usize) -> std::ops::Range<usize> {
    0..graphs.max(12)
}

/// A plan without contention or changes, as run and as promised.
fn still_run(name: &str, graph: usize, seed: u64) -> Result<(cell::Cell, cell::Cell), StudyError> {
    let kind = Kind {
        processors: 10,
        tasks: 50,
        variability: 0.0,
        ccr: 0.5,
        persistence: 3.0,
        failure: false,
    };
    let world = GtpWorld::with_links(&kind, graph, seed, Links::Free)?;
    let (policy, planner) = (policy("static")?, planner(name)?);
    let way = Way { policy, planner, transfers: Transfers::Push, period: 0.1 };
    Ok((world.cell(&way)?, world.promised(planner)?))
}

fn edges(seed: u64, graphs: usize, shrink: usize, watch: &Watch<'_>) -> Result<Claim, StudyError> {
    let mut claim = Claim::new("4.1", "The graphs have 38749 edges on average at 1000 tasks");
    for (tasks, expected) in EDGES {
        if shrink > 1 && tasks > 100 {
            continue;
        }
        // Whole dozens: all four methods in all three densities.
        let members: Vec<usize> = (0..graphs.next_multiple_of(12)).collect();
        let counts =
            watch.over("graphs", &members, |&graph| Ok(edges_of(tasks, graph, seed)? as f64))?;
        let mean = Estimate::mean(&counts).value;
        claim.check(
            format!("{tasks} tasks: mean edges"),
            &if tasks == 1000 { format!("{expected}") } else { format!("({expected})") },
            (Estimate::exact(mean), Unit::Number(0)),
            Rule::Between(expected * 0.97, expected * 1.03),
        );
    }
    Ok(claim.remark("In brackets: expected from the four rules, not printed in the thesis."))
}

fn promises(seed: u64, graphs: usize, watch: &Watch<'_>) -> Result<Claim, StudyError> {
    let mut claim = Claim::new(
        "5.10.0",
        "Without contention, changes or waiting for requests, a plan takes as long as promised",
    );
    let members: Vec<usize> = members(graphs).collect();
    for (name, planner) in PROMISING {
        let off = watch.over("promises", &members, |&graph| {
            let (run, promise) = still_run(planner, graph, seed)?;
            Ok((run.end()? / promise.end()? - 1.0).abs())
        })?;
        claim.check(
            format!("{name}: largest difference, {} graphs", members.len()),
            "0",
            (Estimate::exact(off.into_iter().fold(0.0, f64::max)), Unit::Percent(6)),
            Rule::AtMost(1e-9),
        );
    }
    Ok(claim)
}
