//! Helpers for tests of real runs on any backend.

use super::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Every output of a runnable workflow, made one after the other in one folder.
pub(crate) fn expected(place: &Place, workflow: &str) -> BTreeMap<String, Vec<u8>> {
    let text = place.read(workflow);
    let document: Value = serde_json::from_str(&text).unwrap();
    let tasks = &document["workflow"]["execution"]["tasks"];
    let folder = place.path().join("alone");
    std::fs::create_dir(&folder).unwrap();
    let source = place.path().join(workflow);
    for entry in std::fs::read_dir(source.parent().unwrap()).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
    }
    let inputs: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    let mut open: Vec<Vec<String>> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            let words = t["command"]["arguments"].as_array().unwrap();
            words.iter().map(|w| w.as_str().unwrap().to_string()).collect()
        })
        .collect();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|words| {
            let reads = words.windows(2).filter(|w| w[0] == "--in");
            if reads.into_iter().any(|w| !folder.join(&w[1]).exists()) {
                return true;
            }
            // What it computes has nothing to do with what it writes.
            let words = words.iter().scan(false, |skip, word| {
                let value = std::mem::replace(skip, word == "--seconds");
                Some(if value { "0".to_string() } else { word.clone() })
            });
            let slackline = env!("CARGO_BIN_EXE_slackline");
            let done = Command::new(slackline).args(words).current_dir(&folder).status();
            assert!(done.unwrap().success());
            false
        });
        assert!(open.len() < before);
    }
    let made = std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path());
    made.filter(|path| !inputs.contains(path))
        .map(|path| (name_of(&path), std::fs::read(&path).unwrap()))
        .collect()
}

pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Contents of the stores of a run, on all hosts; copies must be equal.
pub(crate) fn stored(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for host in std::fs::read_dir(run.join("hosts")).unwrap() {
        for file in std::fs::read_dir(host.unwrap().path().join("files")).unwrap() {
            let path = file.unwrap().path();
            let content = std::fs::read(&path).unwrap();
            let other = found.insert(name_of(&path), content.clone());
            assert!(other.is_none_or(|other| other == content), "{}", path.display());
        }
    }
    found
}

/// All outputs are there and right; inputs of the workflow may have been brought along.
pub(crate) fn assert_right(run: &Path, expected: &BTreeMap<String, Vec<u8>>) {
    let found = stored(run);
    for (name, content) in expected {
        assert!(found.get(name) == Some(content), "{name} is not right");
    }
}

pub(crate) fn montage(place: &Place, tasks: usize, seconds: &str) {
    std::fs::create_dir(place.path().join("m")).unwrap();
    place.ok(&format!(
        "generate workflow montage --tasks {tasks} --runnable --mean-seconds {seconds} --mean-size 2kB -o m/montage.json"
    ));
}

/// `deliveries.toml`: eight inputs of different sizes that lie on one host of `delivered.toml`, and tasks
/// that fit only on the other, at 10 MB/s and 20 ms from there.
pub(crate) fn deliveries(place: &Place) {
    let mut text = "[defaults]\nmemory = \"1GB\"\n[files]\n".to_string();
    let bytes = |task: usize| 500_000 + 1_000_000 * (task % 4);
    for task in 0..8 {
        text += &format!("i{task} = \"{}B\"\n", bytes(task));
        place.write(&format!("i{task}"), "x".repeat(bytes(task)));
    }
    for task in 0..8 {
        text += &format!(
            "[task.t{task}]\nkind = \"nap\"\ncommand = [\"sleep\", \"0.01\"]\ninputs = [\"i{task}\"]\ntime = \"10ms\"\n"
        );
    }
    place.write("deliveries.toml", text);
    let host = |name, memory| format!("[host.{name}]\nspeed = \"1Gf\"\nmemory = \"{memory}\"\n");
    let hosts = host("store", "1MB") + &host("desk", "2GB");
    let network = "[matrix]\nbandwidth = \"10MBps\"\nlatency = \"20ms\"\n";
    place.write("delivered.toml", format!("origin = \"store\"\n{hosts}{network}"));
}

/// Tasks of one kind on two hosts of which one takes three times as long as stated.
pub(crate) fn uneven(place: &Place) {
    let nap = "case $SLACKLINE_HOST in slow) sleep 0.15;; *) sleep 0.05;; esac";
    let task = |task: usize| {
        format!("[task.t{task}]\nkind = \"nap\"\ncommand = \"{nap}\"\ntime = \"50ms\"\n")
    };
    place.write("uneven.toml", (0..40).map(task).collect::<String>());
    place.write("pair.toml", "[host.quick]\nspeed = \"1Gf\"\n[host.slow]\nspeed = \"1Gf\"\n");
}

/// Numbers of starts and of successful ends of each task in the log.
pub(crate) fn executions(run: &Path) -> (BTreeMap<u64, usize>, BTreeMap<u64, usize>) {
    let text = std::fs::read_to_string(run.join("log.jsonl")).unwrap();
    let (mut begun, mut done, mut of_op) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for line in text.lines().skip(1) {
        let record: Value = serde_json::from_str(line).unwrap();
        let work = &record["begin"]["work"]["compute"];
        if let Some(task) = work["task"].as_u64() {
            of_op.insert(record["begin"]["op"].as_u64().unwrap(), task);
        }
        if let Some(task) = record["note"]["process"]["task"].as_u64() {
            *begun.entry(task).or_insert(0) += 1;
        }
        for signal in record["next"]["signals"].as_array().into_iter().flatten() {
            if let Some(op) = signal["what"]["done"][0].as_u64()
                && let Some(task) = of_op.get(&op)
            {
                *done.entry(*task).or_insert(0) += 1;
            }
        }
    }
    (begun, done)
}

/// Every task of a finished run was done, and once. Where the machine is busy a policy may stop a task that
/// falls behind, to have it done elsewhere; nothing else is begun twice.
pub(crate) fn assert_done_once(run: &Path, document: &Value) {
    let (begun, done) = executions(run);
    assert_eq!(done.len() as u64, document["tasks"].as_u64().unwrap());
    assert!(done.values().all(|&times| times == 1), "{done:?}");
    let attempts: usize = begun.values().sum();
    assert_eq!(document["attempts"].as_u64().unwrap(), attempts as u64);
    assert!(attempts <= done.len() + stopped(run), "{begun:?}");
}

/// Number of attempts that the engine asked to stop, in the log.
pub(crate) fn stopped(run: &Path) -> usize {
    let text = std::fs::read_to_string(run.join("log.jsonl")).unwrap();
    let records: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let attempts: BTreeSet<u64> = records
        .iter()
        .filter(|r| r["begin"]["work"]["compute"].is_object())
        .filter_map(|r| r["begin"]["op"].as_u64())
        .collect();
    records.iter().filter_map(|r| r["cancel"].as_u64()).filter(|op| attempts.contains(op)).count()
}

/// Waits until something holds; a loaded machine may take its time.
pub(crate) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(120);
    while !holds() {
        assert!(Instant::now() < patience, "{what} never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |text| text.iter().filter(|&&b| b == b'\n').count())
}
