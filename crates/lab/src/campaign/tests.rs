//! Campaigns of a few runs.

use super::*;
use slackline_formats::FileAccess;
use std::path::Path;
use std::sync::atomic::AtomicBool;

const FILE: &str = r#"
name = "small"
seed = 3
repeat = 2
[workflows.random]
generate = "daggen"
tasks = [8]
ccr = [0.5, 2]
[platforms.flat]
generate = "processors"
processors = [2, 3]
[scenarios.rough]
generate = "sce"
variability = 50
[methods]
plan = ["heft", "peft"]
simulate = ["static:peft", "just-in-time"]
"#;

fn read(folder: &Path, text: &str) -> slackline_formats::Result<Campaign> {
    let path = folder.join("campaign.toml");
    std::fs::write(&path, text).expect("a file");
    Campaign::read(&FileAccess::default(), &path)
}

fn carry_out(campaign: &Campaign, file: &Path, shard: Shard, threads: usize) -> (Counts, String) {
    let identity = Identity { name: campaign.name.clone(), seed: campaign.seed };
    let mut store =
        Store::create(file, &identity, &campaign.text, &campaign.columns, "test").expect("a store");
    let stop = AtomicBool::new(false);
    let counts = run(campaign, &mut store, "test", shard, threads, &stop, &mut |_| ());
    (counts.expect("a campaign"), csv(&store))
}

fn csv(store: &Store) -> String {
    let mut out = Vec::new();
    write_csv(&store.table().expect("rows"), &mut out).expect("memory");
    String::from_utf8(out).expect("text")
}

const WHOLE: Shard = Shard { index: 0, of: 1 };

#[test]
fn the_table_does_not_depend_on_threads_shards_or_interruptions() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let campaign = read(folder.path(), FILE).expect("a campaign");
    let (counts, whole) = carry_out(&campaign, &place("a.db"), WHOLE, 1);
    assert_eq!((counts.done, counts.failed), (32, 0), "{whole}");
    assert_eq!(carry_out(&campaign, &place("b.db"), WHOLE, 2).1, whole);
    // Done is done.
    let (again, same) = carry_out(&campaign, &place("a.db"), WHOLE, 2);
    assert_eq!((again.done, again.before, same), (0, 32, whole.clone()));
    for index in 0..2 {
        carry_out(&campaign, &place(&format!("{index}.db")), Shard { index, of: 2 }, 1);
    }
    let merged = merge(&[place("0.db"), place("1.db"), place("b.db")], &place("all.db"));
    assert_eq!(merged.expect("shards"), Merged { rows: 32, common: 32 });
    assert_eq!(csv(&Store::open(&place("all.db")).expect("results")), whole);
}

#[test]
fn an_extended_campaign_keeps_its_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("a.db");
    let campaign = read(folder.path(), FILE).expect("a campaign");
    let (_, before) = carry_out(&campaign, &file, WHOLE, 2);
    let longer = FILE
        .replace("repeat = 2", "repeat = 3")
        .replace("[0.5, 2]", "[0.1, 0.5, 2]")
        .replace("[\"heft\", \"peft\"]", "[\"cpop\", \"heft\", \"peft\"]");
    let campaign = read(folder.path(), &longer).expect("a campaign");
    let (counts, after) = carry_out(&campaign, &file, WHOLE, 2);
    assert_eq!(counts.before, 32);
    let after: Vec<&str> = after.lines().collect();
    assert!(before.lines().all(|line| after.contains(&line)));
}

/// A process that is killed while it writes leaves a journal, with which a reader takes back what is half written.
#[test]
fn results_that_were_cut_off_can_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    let campaign = read(folder.path(), FILE).expect("a campaign");
    let (_, whole) = carry_out(&campaign, &place("a.db"), WHOLE, 1);
    let writer = rusqlite::Connection::open(place("a.db")).expect("results");
    // Pages are written before the end of the transaction.
    let batch = "PRAGMA cache_size = 2; PRAGMA synchronous = NORMAL; BEGIN;
        UPDATE metrics SET makespan = 0; UPDATE runs SET why = hex(zeroblob(9999));";
    writer.execute_batch(batch).expect("a transaction");
    for end in ["", "-journal"] {
        std::fs::copy(place(&format!("a.db{end}")), place(&format!("b.db{end}"))).expect("a copy");
    }
    drop(writer);
    assert_eq!(csv(&Store::open(&place("b.db")).expect("results")), whole);
    assert!(!place("b.db-journal").exists());
}

#[test]
fn draws_end_where_the_half_width_is_reached() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FILE.replace("repeat = 2", "repeat = \"20%\"");
    let campaign = read(folder.path(), &text).expect("a campaign");
    let (counts, one) = carry_out(&campaign, &folder.path().join("a.db"), WHOLE, 1);
    assert!(counts.done >= 5 * 16, "{}", counts.done);
    let (_, two) = carry_out(&campaign, &folder.path().join("b.db"), WHOLE, 2);
    assert_eq!(one, two);
    let (again, _) = carry_out(&campaign, &folder.path().join("a.db"), WHOLE, 2);
    assert_eq!(again.done, 0);
}

#[test]
fn a_failed_run_is_a_row_with_its_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = FILE.replace("\"peft\"]\nsimulate", "\"hbcs\"]\nsimulate");
    let campaign = read(folder.path(), &text).expect("a campaign");
    let (counts, csv) = carry_out(&campaign, &folder.path().join("a.db"), WHOLE, 2);
    assert_eq!(counts.failed, 8);
    assert!(csv.contains("hbcs,failed,hbcs needs"), "{csv}");
}

#[test]
fn what_is_refused_and_why() {
    let folder = tempfile::tempdir().expect("a folder");
    for (from, to, says) in [
        ("daggen", "dagen", "did you mean 'daggen'"),
        ("\"peft\"]\ns", "\"pefd\"]\ns", "did you mean 'peft'"),
        ("static:peft", "statik:peft", "did you mean 'static'"),
        ("ccr =", "crr =", "did you mean 'ccr'"),
        ("[2, 3]", "[]", "nothing would be run"),
        ("\"heft\", \"peft\"", "\"heft\", \"heft\"", "is there twice"),
        ("\"heft\"", "\"ga?time-limit=3\"", "limit iterations"),
        ("repeat = 2", "repeat = 0", "number of draws"),
        ("question", "qestion", "question"),
    ] {
        let text = match from {
            "question" => format!("qestion = \"x\"\n{FILE}"),
            _ => FILE.replace(from, to),
        };
        let error = read(folder.path(), &text).err().unwrap_or_else(|| panic!("{to} is taken"));
        let text = format!("{error} {}", error.help.clone().unwrap_or_default());
        assert!(text.contains(says), "{to}: {text}");
    }
    let again = format!("{FILE}\n[platforms.again]\ngenerate = \"processors\"\nprocessors = 3\n");
    let error = read(folder.path(), &again).err().expect("runs that would be the same").to_string();
    assert!(
        error.contains("again and flat both have") || error.contains("flat and again"),
        "{error}"
    );
    let campaign = read(folder.path(), FILE).expect("a campaign");
    let file = folder.path().join("a.db");
    let store = |name: &str, seed| {
        let identity = Identity { name: name.to_string(), seed };
        Store::create(&file, &identity, "", &campaign.columns, "test").map(drop)
    };
    store("small", 3).expect("a store");
    let error = store("small", 4).expect_err("another seed").to_string();
    assert!(error.contains("holds the campaign small with seed 3"), "{error}");
    let held = {
        let identity = Identity { name: "small".to_string(), seed: 3 };
        Store::create(&file, &identity, "", &campaign.columns, "test").expect("a store")
    };
    assert!(store("small", 3).expect_err("held").to_string().contains("another process"));
    drop(held);
    std::fs::write(
        &file,
        "no database, but long enough to be looked at as if it were one".repeat(99),
    )
    .expect("a file");
    assert!(store("small", 3).expect_err("text").to_string().contains("no file of results"));
}
