//! Policies over a part of the grid: `contest SEED GRAPHS TASKS PROCESSORS POLICY...`, where
//! TASKS and PROCESSORS are lists such as `50,300`. The first policy is the one compared to.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for the developer's eye

use slackline_lab::gtp_cases::GtpSettings;
use slackline_lab::papers::Watch;
use slackline_lab::study::{Contender, Grid, compare};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let list = |text: &str| text.split(',').map(|x| x.parse().unwrap()).collect::<Vec<usize>>();
    let (seed, graphs) = (args[0].parse().unwrap(), args[1].parse().unwrap());
    let grid = Grid {
        processors: list(&args[3]),
        tasks: list(&args[2]),
        ccr: vec![0.1, 0.5, 1.5],
        variability: vec![0.0, 0.3, 0.6, 0.9],
        persistence: vec![0.1, 3.0],
        failure: vec![false, true],
    };
    let names = &args[4..];
    let contenders: Vec<Contender> = names.iter().map(|n| Contender::named(n).unwrap()).collect();
    let results = compare(&contenders, &grid.cells(), graphs, seed, &Watch::new(&|_| {})).unwrap();
    let row = |label: &str, keep: &dyn Fn(&GtpSettings) -> bool| {
        let means = (0..names.len()).map(|p| format!("{:>9.3}", results.mean(p, keep).value));
        let ratios = (0..names.len()).map(|p| format!("{:>7.3}", results.ratio(p, 0, keep).value));
        println!("{label:<16}{} |{}", means.collect::<String>(), ratios.collect::<String>());
    };
    println!("{:<16}{}", "", names.iter().map(|n| format!("{n:>9}")).collect::<String>());
    for &n in &grid.tasks {
        row(&format!("n={n}"), &|c| c.tasks == n);
    }
    for &p in &grid.processors {
        row(&format!("P={p}"), &|c| c.processors == p);
    }
    for ccr in grid.ccr {
        row(&format!("ccr={ccr}"), &|c| c.ccr == ccr);
    }
    for z in grid.variability {
        for m in if z == 0.0 { vec![0.1] } else { grid.persistence.clone() } {
            row(&format!("z={z} m={m}"), &|c| c.variability == z && c.persistence == m);
        }
    }
    for failure in grid.failure {
        row(&format!("failure={failure}"), &|c| c.failure == failure);
    }
    row("all", &|_| true);
    for (p, name) in names.iter().enumerate().skip(1) {
        println!("worst of {name}");
        for (cell, ratio) in results.worst_cells(p, 0).iter().take(6) {
            let GtpSettings { processors, tasks, variability, ccr, persistence, failure } = cell;
            println!(
                "  {:.3} ± {:.3}: P={processors} n={tasks} ccr={ccr} z={variability} m={persistence} failure={failure}",
                ratio.value,
                ratio.margin.unwrap_or(0.0)
            );
        }
    }
}
