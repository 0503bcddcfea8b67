//! Single runs and plans of studies, written out and made again: the same end, to the last digit.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The names of a study's cells at its smallest size.
fn names(place: &Place, study: &str) -> Vec<String> {
    let list =
        json(&place.ok(&format!("reproduce {study} --quick --graphs 2 --list-cells --json")));
    assert_eq!(list["schema"], "slackline/cells/1");
    let cells = list["cells"].as_array().unwrap();
    let numbered = cells.iter().enumerate().all(|(k, cell)| cell["number"] == k as u64 + 1);
    assert!(numbered && !cells.is_empty(), "{study}");
    cells.iter().map(|cell| cell["name"].as_str().unwrap().to_string()).collect()
}

/// Writes a cell out and gives its command to the shell's words: both end at the same date.
fn comes_out_the_same(place: &Place, study: &str, number: usize, name: &str) {
    let folder = format!("{study}-{number}");
    let line =
        format!("reproduce {study} --quick --graphs 2 --emit-cell {number} -o {folder} --json");
    let emitted = json(&place.ok(&line));
    assert_eq!(emitted["name"], name);
    for file in emitted["files"].as_array().unwrap() {
        assert!(place.path().join(&folder).join(file.as_str().unwrap()).is_file(), "{file}");
    }
    let mut words = emitted["command"].as_array().unwrap().iter().map(|w| w.as_str().unwrap());
    assert_eq!(words.next(), Some("slackline"));
    let mut words: Vec<&str> = words.collect();
    words.push("--json");
    let done = place.run_words_in(&folder, &words);
    // A plan that misses its limits, as some of the studies are about, says so with a code of 1.
    assert!(matches!(done.code, Some(0 | 1)), "{study} {name}\n{words:?}\n{}", done.err);
    let again = json(&done.out);
    match emitted["makespan"].is_null() {
        true => assert_eq!(again["finished"], false, "{study} {name}"),
        false => assert_eq!(again["makespan"], emitted["makespan"], "{study} {name}\n{words:?}"),
    }
}

/// Some cells of each study, which together show every way in which its cells differ.
#[test]
fn cells_of_every_study_can_be_made_again() {
    let place = Place::new();
    let chosen: &[(&str, &[&str])] = &[
        (
            "gtp",
            &[
                "contend, one transfer",
                "50,0) without",
                "promised by DLS",
                "GTP/c push",
                "DLS/sr",
                "GTP/r",
                "Shared",
            ],
        ),
        (
            "selective-rescheduling",
            &["ideal LMT merge", "error 50 %, graph 0: sr-slack", ": always"],
        ),
        (
            "policies",
            &[
                "a failure, graph 6, seed 1: gtp/c/r",
                "frequent changes, graph 3",
                "frozen",
                "failure, return, seed 1: gtp/c/r",
                "by kind, seed 1: sr-slack",
                "seed 1000001: slackline",
                "just-in-time",
            ],
        ),
        (
            "sweep",
            &[
                "H4, planned",
                "H9, run",
                "perfect",
                "regression",
                "three kept, in 100 s",
                "both",
                "H8, planned",
                "step above",
            ],
        ),
        (
            "ptg",
            &[
                "one graph, three clusters",
                "scrap-max",
                "regular graphs, graph 0: mcpa",
                "one step",
                "several graphs, batch 0: mags, backfill no",
            ],
        ),
        (
            "hbcs",
            &["lille-8: cheapest, planned", "sophia-32, k = 0.5: bheft, simulated", "inspiral"],
        ),
        (
            "dbcs",
            &[
                "rennes-8, a_B = 0.3, a_D = 0.3: loss1, simulated",
                "ratio none, planned",
                "random, simulated",
                "wien2k",
            ],
        ),
        (
            "cloud",
            &[
                "montage.json by 1min, dbcs, 2 % above, world 0: qos",
                "epigenomics.dax by 1h, hbcs, 15 % above, world 0: static",
            ],
        ),
        (
            "fdws",
            &[
                "x = 10 %, stream 0: FDWS",
                "OWM, all tasks",
                "slackline (ours)",
                "mean gap 100 s, stream 0: RANK_HYBD",
            ],
        ),
        ("budget-fdws", &["32 machines, x = 90 %, stream 0: B-FDWS4", "unlike"]),
        (
            "mw-dbs",
            &["gap 5 %, stream 0: MW-DBS, SD/D", "gap 30 %, applications, stream 0: exclusive"],
        ),
        ("peft", &["10 tasks, graph 1: pets", "montage", "fft"]),
        ("metaheuristics", &["10 tasks, graph 0: sa", "graph 1: tabu", "graph 0: aco"]),
        (
            "simulator",
            &["graph 0, backbone 0.0001 s", "graph 1, backbone 0.1 s", "table 6: lookahead"],
        ),
    ];
    let studies = json(&place.ok("reproduce --json"));
    let studies = studies["reproductions"].as_array().unwrap();
    // The last one, `nondet`, has no cells: its figures are means over many runs of each plan.
    assert_eq!(studies.len(), chosen.len() + 1);
    for (study, (name, parts)) in studies.iter().zip(chosen) {
        assert_eq!(study["name"], *name);
        let names = names(&place, name);
        for part in *parts {
            let found = names.iter().position(|name| name.contains(part));
            let index = found.unwrap_or_else(|| panic!("{name}: no cell '{part}'"));
            comes_out_the_same(&place, name, index + 1, &names[index]);
        }
    }
}

#[test]
fn a_cell_comes_with_a_script_and_its_end() {
    let place = Place::new();
    let shown = place.ok("reproduce gtp --quick --list-cells");
    assert!(shown.lines().next().unwrap().contains("four tasks that contend"), "{shown}");
    let shown = place.ok("reproduce gtp --quick --emit-cell 2 -o cell");
    assert!(shown.contains("makespan 12 s"), "{shown}");
    assert!(shown.contains("slackline simulate workflow.toml -p platform.toml"), "{shown}");
    let script = place.read("cell/run.sh");
    assert!(
        script.contains("# slackline reproduce gtp --quick --seed 1 --emit-cell 2\n"),
        "{script}"
    );
    assert!(script.contains("# makespan 12 s\n"), "{script}");
}

#[test]
fn cells_that_do_not_exist_are_refused() {
    let place = Place::new();
    for number in ["0", "1000000"] {
        let told = place.fails(2, &format!("reproduce gtp --quick --emit-cell {number} -o cell"));
        assert!(told.contains("has the cells 1 to "), "{told}");
        assert!(!place.path().join("cell").exists());
    }
    place.fails(2, "reproduce gtp --emit-cell 1");
    place.fails(2, "reproduce --list-cells");
    place.fails(2, "reproduce gtp --quick --emit-cell 1 -o examples/workflows/montage.json/x");
}

/// A cell beside the files of another would be a third one.
#[test]
fn a_cell_takes_a_folder_of_its_own() {
    let place = Place::new();
    let line = |number| format!("reproduce gtp --quick --graphs 2 --emit-cell {number} -o cell");
    std::fs::create_dir(place.path().join("cell")).unwrap();
    place.ok(&line(1));
    let files = || std::fs::read_dir(place.path().join("cell")).unwrap().count();
    let before = files();
    let told = place.fails(2, &line(40));
    assert!(told.contains("cell: this folder is not empty"), "{told}");
    assert_eq!(files(), before);
}
