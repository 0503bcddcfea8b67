//! Mean NSL of policies over a few cells: `contest SEED GRAPHS [POLICY...]`.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for the developer's eye

use rayon::prelude::*;
use slackline_lab::worlds::{Cell, GtpWorld};
use slackline_react::registry;

fn main() {
    let mut args = std::env::args().skip(1);
    let seed: u64 = args.next().map_or(1, |s| s.parse().unwrap());
    let graphs: usize = args.next().map_or(4, |s| s.parse().unwrap());
    let mut names: Vec<String> = args.collect();
    if names.is_empty() {
        names = ["static", "gtp", "gtp/c", "sr-slack", "aheft", "just-in-time", "slackline"]
            .map(String::from)
            .to_vec();
    }
    println!("{:>3} {:>5} {:>4} {:>4} {:>4}  {}", "P", "n", "ccr", "z", "m", names.join("  "));
    for processors in [5, 10, 20] {
        for tasks in [100, 300] {
            for ccr in [0.1, 0.5, 1.5] {
                for (variability, persistence) in [(0.0, 3.0), (0.5, 3.0), (0.9, 3.0), (0.9, 0.1)] {
                    let cell =
                        Cell { processors, tasks, variability, ccr, persistence, failure: false };
                    let sums: Vec<Vec<f64>> = (0..graphs)
                        .into_par_iter()
                        .map(|g| {
                            let world = GtpWorld::new(&cell, g, seed).unwrap();
                            names
                                .iter()
                                .map(|n| world.nsl(&world.run(registry::find(n).unwrap()).unwrap()))
                                .collect()
                        })
                        .collect();
                    let means: Vec<String> = (0..names.len())
                        .map(|k| {
                            let mean: f64 = sums.iter().map(|s| s[k]).sum::<f64>() / graphs as f64;
                            format!("{mean:>8.3}")
                        })
                        .collect();
                    println!(
                        "{processors:>3} {tasks:>5} {ccr:>4} {variability:>4} {persistence:>4}  {}",
                        means.join(" ")
                    );
                }
            }
        }
    }
}
