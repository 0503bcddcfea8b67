//! Costs of the runner of campaigns and of their summary, compared with those of their parts: `cargo bench -p
//! slackline-lab --bench campaigns`. Figures are ratios of times measured in turns, so that other load of the
//! machine affects both alike.

#![allow(clippy::expect_used)] // what is measured here is made here
#![allow(clippy::print_stdout)]

use slackline_formats::FileAccess;
use slackline_lab::campaign::{Campaign, Identity, Shard, Store, run};
use slackline_lab::compare::{Options, compare};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const HUNDRED: &str = r#"
name = "hundred"
seed = 1
repeat = 200
[workflows.random]
generate = "daggen"
tasks = 100
[platforms.flat]
generate = "processors"
processors = 8
[methods]
plan = ["heft"]
simulate = ["static:heft"]
"#;

const TINY: &str = r#"
name = "tiny"
seed = 1
repeat = REPEAT
[workflows.chain]
generate = "chain"
tasks = [2, 3]
costs = "uniform"
processors = "platform"
[platforms.flat]
generate = "processors"
processors = 2
[methods]
plan = ["heft", "cpop", "peft", "min-min", "max-min"]
"#;

const WHOLE: Shard = Shard { index: 0, of: 1 };

/// Turns of each measurement.
const TURNS: usize = 5;

fn campaign(folder: &Path, text: &str) -> Campaign {
    let path = folder.join("campaign.toml");
    std::fs::write(&path, text).expect("a file");
    Campaign::read(&FileAccess::default(), &path).expect("a campaign")
}

fn store(campaign: &Campaign, file: &Path) -> Store {
    let _ = std::fs::remove_file(file);
    let identity = Identity { name: campaign.name.clone(), seed: campaign.seed };
    Store::create(file, &identity, &campaign.text, &campaign.columns, "bench").expect("a store")
}

/// Seconds of a campaign, and its rows.
fn carried_out(campaign: &Campaign, file: &Path, threads: usize) -> (f64, u64) {
    let mut store = store(campaign, file);
    let begin = Instant::now();
    let stop = AtomicBool::new(false);
    let counts = run(campaign, &mut store, "bench", WHOLE, threads, &stop, &mut |_| ());
    (begin.elapsed().as_secs_f64(), counts.expect("runs").done)
}

/// Seconds of the same runs without a store, one after the other.
fn bare(campaign: &Campaign) -> f64 {
    let begin = Instant::now();
    let combinations = campaign.combinations();
    let most = combinations.iter().filter_map(|c| campaign.draws(c)).max().unwrap_or(0);
    for repetition in 1..=most {
        for combination in &combinations {
            let draw = campaign.draw(*combination, repetition, "bench");
            std::hint::black_box(draw.run(campaign.methods_of(combination)));
        }
    }
    begin.elapsed().as_secs_f64()
}

/// Largest resident memory of this process so far, in MiB.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kibibytes.unwrap_or(f64::NAN) / 1024.0
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("results.db");

    let hundred = campaign(folder.path(), HUNDRED);
    let (mut speed, mut scaling) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        let loop_seconds = bare(&hundred);
        let (one, _) = carried_out(&hundred, &file, 1);
        let (two, _) = carried_out(&hundred, &file, 2);
        speed.push(loop_seconds / one);
        scaling.push(one / two);
    }
    println!("speed of a campaign over a bare loop, one thread: {:.3}", median(speed));
    println!("speed on two threads over one: {:.3}", median(scaling));

    let few = campaign(folder.path(), &TINY.replace("REPEAT", "1000"));
    let (_, rows) = carried_out(&few, &file, 2);
    let before = peak();
    println!("memory after {rows} rows: {before:.1} MiB");
    let many = campaign(folder.path(), &TINY.replace("REPEAT", "100000"));
    let (seconds, rows) = carried_out(&many, &file, 2);
    println!("memory after {rows} rows: {:.1} MiB ({seconds:.1} s)", peak());

    let size = std::fs::metadata(&file).map_or(0, |m| m.len());
    println!("bytes per row on disk: {}", size / rows.max(1));
    let (mut select, mut summary) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let begin = Instant::now();
        let connection = rusqlite::Connection::open(&file).expect("results");
        let mut query = connection
            .prepare("SELECT method, avg(makespan) FROM results GROUP BY method")
            .expect("a query");
        let means: Vec<(String, f64)> = query
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .expect("rows")
            .collect::<Result<_, _>>()
            .expect("means");
        select.push(begin.elapsed().as_secs_f64());
        let begin = Instant::now();
        let store = Store::open(&file).expect("results");
        let table = store.table_of("makespan").expect("a table");
        let options = Options::by_metric("makespan");
        let found = compare(&table, &options).expect("a comparison");
        summary.push(begin.elapsed().as_secs_f64());
        assert_eq!(found.groups.len(), means.len());
    }
    let (select, summary) = (median(select), median(summary));
    println!(
        "summary of {rows} rows over SELECT avg GROUP BY: {:.2} ({summary:.2} s, {select:.2} s)",
        summary / select
    );
}
