//! Planning time of one planner: `cargo run --release -p slackline-schedule --example timing -- ALGORITHM
//! INSTANCE.json [RUNS]`
//!
//! Prints the least and the median wall-clock seconds of planning alone, and the makespan. For
//! comparing with other tools on the same file and the same machine.

use slackline_formats::instance;
use slackline_model::Problem;
use slackline_schedule::{Request, registry};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, file, rest @ ..] = arguments.as_slice() else {
        return Err("usage: timing ALGORITHM INSTANCE.json [RUNS]".into());
    };
    let runs: usize = rest.first().map_or(Ok(20), |n| n.parse())?;
    let algorithm = registry::find(name).ok_or_else(|| format!("no algorithm '{name}'"))?;
    let instance = instance::read(&std::fs::read_to_string(file)?)?;
    let problem = Problem::new(&instance.workflow, &instance.platform)?;
    let mut seconds = Vec::new();
    let mut makespan = 0.0;
    for _ in 0..runs.max(1) {
        let begin = Instant::now();
        makespan = algorithm.plan(&problem, &Request::default())?.makespan();
        seconds.push(begin.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    let (least, median) = (seconds[0], seconds[seconds.len() / 2]);
    #[allow(clippy::print_stdout)]
    {
        println!("{name}: least {least:.6} s, median {median:.6} s, makespan {makespan}");
    }
    Ok(())
}
