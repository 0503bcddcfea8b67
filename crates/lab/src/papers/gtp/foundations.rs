//! What the study stands on: the graphs have the published numbers of edges, promises come true
//! where nothing disturbs them, and contention alone breaks them.

use crate::papers::report::Findings;
use crate::papers::{Claim, Rule, StudyError, Unit, Watch};
use crate::stats::Estimate;
use crate::worlds::{Cell, GtpWorld, Links, Way, contention_example, edges_of};
use slackline_react::{Transfers, registry as policies};
use slackline_schedule::registry as planners;

/// Mean edges of the 12 graphs of a size; the thesis prints the one of 1000 tasks.
const EDGES: [(usize, f64); 5] =
    [(50, 158.0), (100, 504.0), (300, 3763.0), (500, 10022.0), (1000, 38749.0)];

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
    for (what, links, expected) in
        [("promised", Links::Free, 10.0), ("one transfer at a time", Links::Fifo, 12.0)]
    {
        let ends = contention_example(links).map_err(StudyError::of)?;
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

fn world(tasks: usize, graph: usize, seed: u64, links: Links) -> Result<GtpWorld, StudyError> {
    let cell = Cell {
        processors: 10,
        tasks,
        variability: 0.0,
        ccr: 0.5,
        persistence: 3.0,
        failure: false,
    };
    GtpWorld::with_links(&cell, graph, seed, links).map_err(StudyError::of)
}

fn edges(seed: u64, graphs: usize, shrink: usize, watch: &Watch<'_>) -> Result<Claim, StudyError> {
    let mut claim = Claim::new("4.1", "The graphs have 38749 edges on average at 1000 tasks");
    for (tasks, expected) in EDGES {
        if shrink > 1 && tasks > 100 {
            continue;
        }
        // Whole dozens: all four methods in all three densities.
        let members: Vec<usize> = (0..graphs.next_multiple_of(12)).collect();
        let counts = watch.over("graphs", &members, |&graph| {
            Ok(edges_of(tasks, graph, seed).map_err(StudyError::of)? as f64)
        })?;
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
    let members: Vec<usize> = (0..graphs.max(12)).collect();
    for (name, planner) in [("HEFT", "heft"), ("DLS", "dls-median")] {
        let off = watch.over("promises", &members, |&graph| {
            let world = world(50, graph, seed, Links::Free)?;
            let missing = || StudyError(format!("{planner} is missing"));
            let planner = planners::find(planner).ok_or_else(missing)?;
            let policy = policies::find("static").ok_or_else(missing)?;
            let way = Way { policy, planner, transfers: Transfers::Push, period: 0.1 };
            let real = world.run_as(&way).map_err(StudyError::of)?.makespan;
            let promised = world.promised(planner).map_err(StudyError::of)?;
            Ok((real / promised - 1.0).abs())
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
