//! Commands for mutated files, by kind, and options with odd values. `IN` is the mutated file, `OUT` a path for outputs
//! (followed by an extension), `DIR` the folder of the seeds.

use crate::seeds::FileKind;
use rand::RngExt;
use slackline_model::rng::Stream;
use std::path::{Path, PathBuf};

const WORKFLOW: &[&str] = &[
    "what-if IN -p small-cluster cores x2 hosts +2, bandwidth x10",
    "show IN",
    "show IN --json --svg OUT.svg",
    "show IN --platform two-site-grid",
    "plan IN --platform small-cluster --no-check",
    "plan IN --platform two-site-grid -o OUT.json --gantt OUT.svg",
    "plan IN --platform priced-cloud --algorithm peft --json",
    "plan IN --platform priced-cloud --budget 1 --deadline 1h",
    "simulate IN --platform small-cluster --trace OUT.paje",
    "simulate IN --platform small-cluster --policy slackline --json",
    "convert IN OUT.dax",
    "convert IN OUT.toml",
    "convert IN OUT.dot",
    "convert IN OUT.json",
    "convert IN OUT.yml --to pegasus-yaml",
    "convert IN OUT.json --to instance --platform small-cluster",
    "convert IN OUT.txt --to snakemake",
    "convert IN OUT.txt --to cwl",
    "convert IN OUT.txt --to makeflow",
    "generate workflow like IN --tasks 20 -o OUT.json",
    "generate platform recorded IN -o OUT.toml",
    "run IN --platform small-cluster --dry-run",
];

const PLATFORM: &[&str] = &[
    "what-if gauss -p IN cores x2 hosts +3 bandwidth x10 latency x0.5 disks x2",
    "what-if gauss -p IN hosts x2, speed x3",
    "show IN",
    "show IN --json",
    "plan fork-join --platform IN",
    "plan montage --platform IN --no-check --json",
    "simulate fork-join --platform IN --policy just-in-time",
    "convert IN OUT.xml",
    "convert IN OUT.toml",
    "generate scenario failure --platform IN -o OUT.toml",
];

const SCENARIO: &[&str] = &[
    "simulate fork-join --platform small-cluster --scenario IN",
    "simulate fork-join --platform small-cluster --scenario IN --policy slackline --json",
    "simulate montage --platform small-cluster --scenario IN --policy gtp/c --gantt OUT.svg",
    "simulate fork-join --platform small-cluster --scenario IN --runs 2",
    "show IN",
];

const SCHEDULE: &[&str] = &[
    "show IN",
    "show IN --workflow gauss --platform small-cluster --svg OUT.svg",
    "validate IN --workflow gauss --platform small-cluster --json",
    "simulate gauss --platform small-cluster --schedule IN",
    "convert IN OUT.csv --workflow gauss --platform small-cluster",
    "convert IN OUT.jed --workflow gauss --platform small-cluster",
    "convert IN OUT.jsonl --workflow gauss --platform small-cluster",
];

const STREAM: &[&str] = &[
    "simulate --arrivals IN --platform priced-cloud --policy fdws",
    "simulate --arrivals IN --platform small-cluster --policy owm --json",
    "show IN",
];

const ACTIVITIES: &[&str] = &[
    "simulate --activities IN --platform small-cluster",
    "simulate --activities IN --platform small-cluster --json",
];

const MPI: &[&str] = &["replay IN --platform small-cluster --profile", "convert IN OUT.tib"];

const INSTANCE: &[&str] = &[
    "simulate --instance IN --policy fdws --json",
    "simulate --instance IN --policy mw-dbs --transfers anticipated",
    "plan --instance IN --algorithm fairness-finish --json",
    "show IN",
];

const SWEEP: &[&str] = &[
    "show IN",
    "plan IN --platform DIR/g.grid --algorithm h4 --json",
    "simulate IN --platform DIR/g.grid --policy h1 --json",
    "simulate IN --platform DIR/g.grid --policy work-queue",
    "convert IN OUT.work",
];

const GRID: &[&str] = &[
    "show IN",
    "plan DIR/s.work --platform IN --algorithm h3",
    "simulate DIR/s.work --platform IN --policy h4 --json",
    "simulate DIR/s.work --platform IN --policy work-queue",
    "convert IN OUT.toml",
];

const COURSE: &[&str] = &[
    "show DIR/course/g.grid",
    "plan DIR/s.work --platform DIR/course/g.grid --algorithm h4",
    "simulate DIR/s.work --platform DIR/course/g.grid --policy h1 --json",
    "convert DIR/course/g.grid OUT.toml",
];

const RUN: &[&str] = &[
    "diff DIR/run DIR/run --json",
    "diff DIR/run DIR/run --gantt OUT.svg",
    "simulate --replay DIR/run --json",
    "simulate --replay DIR/run --trace OUT.json",
    "calibrate DIR/run -o OUT --json",
    "centre attribute DIR/run --json",
    "platform from-logs DIR/run -o OUT.toml --stack OUT2.toml",
    "show IN",
];

const DECISIONS: &[&str] =
    &["simulate gauss --platform small-cluster --policy gtp/c --same-decisions IN", "show IN"];

const SETTINGS: &[&str] = &["replay DIR/m.tit --platform small-cluster --config IN"];

const HOSTS: &[&str] = &["replay DIR/m.tit --platform small-cluster --hosts IN --json"];

const MEASUREMENTS: &[&str] = &[
    "calibrate mpi IN --latency 100us --bandwidth 125MBps -o OUT.toml",
    "calibrate mpi IN --latency 1us --bandwidth 1GBps --segments-by correlation -o OUT.toml --json",
];

const BATCH_LOG: &[&str] = &[
    "centre batch IN --cores 8 --policy fcfs,easy,conservative,sjf-easy --lenient --json",
    "centre batch IN --nodes 2 --cores-per-node 4 --policy conservative,fair-share-easy --by week",
    "centre batch IN --lenient --picture OUT.svg",
    "generate scenario batch-log IN -p small-cluster --cores 8 --lenient -o OUT.toml",
    "centre adopt IN --cores 8 --candidate easy --replicas 2 --block 0.001 --lenient -o OUT.html",
    "platform from-logs IN --lenient --stack OUT.toml --json",
];

const BATCH_SITE: &[&str] = &[
    "centre batch DIR/log.swf --site IN --policy priority-easy,fair-share,conservative --json",
    "centre batch DIR/log.swf --site IN --policy priority,fair-share-easy,easy --by day",
];

const TAPE: &[&str] = &["centre tape IN --json", "centre tape IN --policy fifo --picture OUT.svg"];

const STACK: &[&str] = &[
    "centre stack IN --json",
    "centre stack IN --picture OUT.svg",
    "centre attribute IN --json",
    "centre attribute IN --switch transfers=simulate --picture OUT.svg",
    "centre stack IN --pilots 1,3 --json",
    "simulate gauss --stack IN --json",
];

const STORAGE: &[&str] = &["centre storage IN --json", "centre storage IN"];

const RECORDS: &[&str] = &[
    "import IN -o OUT.run --json",
    "import IN --strict",
    "explain IN --json --svg OUT.svg",
    "advise IN --risk 50%",
    "advise IN --risk 50% --to snakemake",
    "show IN --json",
    "plan IN --json",
    "simulate IN --schedule IN --scenario IN --json",
    "convert IN OUT.json",
    "centre batch IN --lenient --cores 8",
    "centre attribute IN --json",
    "platform from-logs IN --lenient -o OUT.toml --stack OUT2.toml",
];

/// Options that may be added to a command with one of `VALUES`.
const OPTIONS: &[&str] = &[
    "--seed",
    "--deadline",
    "--budget",
    "--config",
    "--reference-speed",
    "--set",
    "--inputs",
    "--from",
    "--algorithm",
    "--policy",
    "--transfers",
    "--period",
    "--retries",
    "--monitoring-delay",
];

const VALUES: &[&str] = &[
    "0",
    "-1",
    "1e308",
    "NaN",
    "inf",
    "",
    "a=b",
    "rank=",
    "network/model:CM02",
    "x:y",
    "1s",
    "1GHz",
    "pull:0",
    "pull:99999999999",
    "origin",
    "dax",
    "heft",
    "all --time-limit 100ms", // without a limit, a search would be reported as a hang
    "18446744073709551616",
    "\u{1b}[2J",
    "1e-300h",
];

fn lines_of(kind: FileKind) -> &'static [&'static str] {
    match kind {
        FileKind::Workflow => WORKFLOW,
        FileKind::Platform => PLATFORM,
        FileKind::Scenario => SCENARIO,
        FileKind::Schedule => SCHEDULE,
        FileKind::Stream => STREAM,
        FileKind::Activities => ACTIVITIES,
        FileKind::Mpi => MPI,
        FileKind::Instance => INSTANCE,
        FileKind::Sweep => SWEEP,
        FileKind::Grid => GRID,
        FileKind::Course => COURSE,
        FileKind::Run => RUN,
        FileKind::Decisions => DECISIONS,
        FileKind::Settings => SETTINGS,
        FileKind::Hosts => HOSTS,
        FileKind::Measurements => MEASUREMENTS,
        FileKind::BatchLog => BATCH_LOG,
        FileKind::BatchSite => BATCH_SITE,
        FileKind::Stack => STACK,
        FileKind::Tape => TAPE,
        FileKind::Storage => STORAGE,
        FileKind::Records => RECORDS,
    }
}

/// Returns the path of the mutated file of a kind.
pub(crate) fn file(kind: FileKind, extension: &str, folder: &Path) -> PathBuf {
    match kind {
        FileKind::Course => folder.join("course/net"),
        FileKind::Run => folder.join("run/log.jsonl"),
        _ => folder.join(format!("in.{extension}")),
    }
}

/// A random command of a kind; one in six has an odd option.
pub(crate) fn line(
    kind: FileKind,
    extension: &str,
    folder: &Path,
    random: &mut Stream,
) -> Vec<String> {
    let lines = lines_of(kind);
    let mut words = words(lines[random.random_range(0..lines.len())], kind, extension, folder);
    // Levels of a grid change every five seconds: long correct runs would exceed the time limit.
    if matches!(kind, FileKind::Sweep | FileKind::Grid | FileKind::Course) && words[1] == "simulate"
    {
        words.extend(["--until", "500"].map(str::to_string));
    }
    if random.random_range(0..6) == 0 {
        words.push(OPTIONS[random.random_range(0..OPTIONS.len())].to_string());
        let value = VALUES[random.random_range(0..VALUES.len())];
        match value.split_whitespace().count() {
            0 => words.push(value.to_string()),
            _ => words.extend(value.split_whitespace().map(str::to_string)),
        }
    }
    words
}

/// Every command of a kind.
pub(crate) fn every(kind: FileKind, extension: &str, folder: &Path) -> Vec<Vec<String>> {
    lines_of(kind).iter().map(|line| words(line, kind, extension, folder)).collect()
}

fn words(line: &str, kind: FileKind, extension: &str, folder: &Path) -> Vec<String> {
    let input = file(kind, extension, folder);
    let (input, beside) = (input.to_string_lossy(), folder.to_string_lossy());
    let output = folder.join("out").to_string_lossy().into_owned();
    let word = |word: &str| match word {
        "IN" => input.to_string(),
        word => word.replace("OUT", &output).replace("DIR", &beside),
    };
    ["slackline"].into_iter().chain(line.split_whitespace()).map(word).collect()
}
