//! Bad input: a message that says what is wrong where, exit code 2, nothing written.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;

#[test]
fn a_cycle_is_named() {
    let place = Place::new();
    place.write("cycle.dot", "digraph { a [size=\"1\"]; b [size=\"1\"]; a -> b; b -> a }");
    let error = place.fails(2, "plan cycle.dot");
    assert!(
        error.contains("cycle.dot") && error.contains('a') && error.contains("cycle"),
        "{error}"
    );
}

#[test]
fn missing_files_and_folders() {
    let place = Place::new();
    let error = place.fails(2, "plan nowhere.json");
    assert!(error.contains("nowhere.json: no such file or folder"), "{error}");
    place.fails(2, "show nowhere.json");
    place.fails(2, "plan examples/workflows/gauss.dot --platform nowhere.toml");
    // The folder of an output is made.
    place.ok("plan examples/workflows/gauss.dot --gantt no/such/folder.svg");
    assert!(place.read("no/such/folder.svg").starts_with("<svg"));
    place.fails(2, "plan examples/workflows/gauss.dot --gantt examples");
    place.fails(2, "plan examples");
    place.fails(2, "validate nowhere.json --workflow examples/workflows/gauss.dot");
}

#[test]
fn unknown_names_come_with_a_suggestion() {
    let place = Place::new();
    let error = place.fails(2, "plan examples/workflows/gauss.dot --algorithm hefft");
    assert!(error.contains("'heft'"), "{error}");
    let error = place.fails(2, "show examples/workflows/gauss.dot --from dott");
    assert!(error.contains("'dot'"), "{error}");
    place.fails(2, "plann examples/workflows/gauss.dot");
    place.fails(2, "plan");
    place.fails(2, "plan examples/workflows/gauss.dot -o plan.txt");
    place.fails(2, "convert examples/workflows/gauss.dot plan.xyz");
    place.fails(2, "convert examples/workflows/gauss.dot -");
    place.fails(2, "platform detect --speed fast");
}

#[test]
fn truncated_and_foreign_files() {
    let place = Place::new();
    for name in ["montage.json", "epigenomics.dax", "heft-2002.json", "gauss.dot", "stg-random.stg"]
    {
        let text = place.read(&format!("examples/workflows/{name}"));
        let half = text.len() / 2;
        place.write(name, &text[..(0..=half).rev().find(|&i| text.is_char_boundary(i)).unwrap()]);
        let error = place.fails(2, &format!("show {name}"));
        assert!(error.contains(name), "{error}");
    }
    place.write("empty.json", "");
    place.fails(2, "show empty.json");
    place.write("binary.json", [0u8, 159, 146, 150, 255, 0, 1]);
    let error = place.fails(2, "plan binary.json");
    assert!(error.contains("not UTF-8"), "{error}");
    place.write("grid.toml", "[cluster.a]\ncount = 3\nspeed = \"fast\"\n");
    let error = place.fails(2, "plan examples/workflows/gauss.dot --platform grid.toml");
    assert!(error.contains("grid.toml:3:"), "{error}");
    place.write("plan.json", "{\"makespan\": 1, \"schedule\": [{\"task\": \"zzz\"");
    place.fails(2, "validate plan.json --workflow examples/workflows/gauss.dot");
}

#[test]
fn what_fits_nowhere_is_infeasible_not_malformed() {
    let place = Place::new();
    place.write("wide.toml", "[task.wide]\ncores = 64\ntime = \"1s\"\n");
    let error = place.fails(1, "plan wide.toml");
    assert!(error.contains("'wide'") && error.contains("64 cores"), "{error}");
}

#[test]
fn a_failed_command_leaves_existing_files_alone() {
    let place = Place::new();
    place.write("plan.svg", "old");
    place.write("broken.dot", "digraph { a -> ");
    place.fails(2, "plan broken.dot --gantt plan.svg");
    assert_eq!(place.read("plan.svg"), "old");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(["plan", "examples/workflows/montage.json", "--algorithm", "all", "--json", "-q"])
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), err.as_str()), (Some(0), ""));
}

#[test]
fn parameters_that_no_chosen_method_has_are_refused() {
    let place = Place::new();
    let gauss = "examples/workflows/gauss.dot";
    let error = place.fails(2, &format!("plan {gauss} --algorithm heft --set beta=0.5"));
    assert!(error.contains("'heft' has no parameter 'beta'"), "{error}");
    place.fails(2, &format!("plan {gauss} --set beta"));
    let error = place.fails(2, &format!("simulate {gauss} --policy slackline --period 3s"));
    assert!(error.contains("slackline") && error.contains("'period'"), "{error}");
    let error = place.fails(2, &format!("simulate {gauss} --policy gtp --set treshold=1"));
    assert!(error.contains("did you mean 'threshold'?"), "{error}");
    let wrong = [
        "--set threshold=-1",
        "--period 0",
        "--period 1e-300h",
        "--period soon",
        "--transfers pull:0",
    ];
    for wrong in wrong {
        place.fails(2, &format!("simulate {gauss} --policy gtp {wrong}"));
    }
    let slow =
        "simulate epigenomics -p small-cluster --reference-speed 100GHz --policy gtp --period 1ms";
    let error = place.fails(2, slow);
    assert!(error.contains("the plan is over a million times as long"), "{error}");
    let error = place.fails(2, &format!("plan {gauss} --algorithm heft --iterations 5"));
    assert!(error.contains("--iterations: none of the chosen methods searches"), "{error}");
    let error = place.fails(2, "reproduce polices");
    assert!(error.contains("did you mean 'policies'?"), "{error}");
    // One of several methods suffices.
    place.ok(&format!("simulate {gauss} --compare gtp,slackline --period 3s"));
    let error = place.fails(2, &format!("simulate {gauss} --policy slackdine"));
    assert!(error.contains("did you mean 'slackline'?"), "{error}");
}

#[test]
fn options_that_no_chosen_method_heeds_are_refused() {
    let place = Place::new();
    let gauss = "examples/workflows/gauss.dot";
    let cloud = "examples/workflows/gauss.dot -p examples/platforms/priced-cloud.toml";
    for foreign in ["--seed 1", "--iterations 5", "--time-limit 1s", "--threads 2"] {
        place.fails(2, &format!("plan {gauss} {foreign}"));
        place.fails(2, &format!("plan {cloud} --budget 100 {foreign}"));
    }
    // Among the planners of a front there is a randomised one.
    place.ok(&format!("plan {cloud} --front --seed 1"));
    place.fails(2, &format!("plan {cloud} --front --threads 2"));
    // One of several methods suffices.
    let all = "--seed 1 --iterations 5 --time-limit 5s --threads 2";
    place.ok(&format!("plan {gauss} --algorithm heft,exact {all}"));
    let error = place.fails(2, &format!("plan {gauss} --algorithm sa --threads 2"));
    assert!(error.contains("uses several threads") && error.contains("best, exact"), "{error}");
    place.fails(2, &format!("plan {gauss} --algorithm random --iterations 5"));
    place.ok(&format!("plan {gauss} --algorithm random --seed 3"));
    // Samples of run times are drawn, too.
    place.ok(&format!("plan {gauss} --robust --seed 3 --threads 2"));
    place.fails(2, &format!("plan {gauss} --robust --iterations 3"));
    let error = place.fails(2, &format!("simulate {gauss} --seed 1"));
    assert!(error.contains("--seed: none of the chosen methods is randomised"), "{error}");
    place.ok(&format!("simulate {gauss} --algorithm random --seed 1"));
    place.fails(2, &format!("simulate {gauss} --alone"));
    place.fails(2, &format!("plan {cloud} --front --set beta=1"));
    place.fails(2, &format!("plan {cloud} --front --no-check"));
    place.write("activities.json", "{}");
    let error = place.fails(2, "simulate --activities activities.json --period 3s");
    assert!(error.contains("cannot be used with"), "{error}");
}

#[test]
fn files_of_the_wrong_kind_are_called_what_they_are() {
    let place = Place::new();
    let grid = "examples/platforms/two-site-grid.toml";
    let error = place.fails(2, &format!("plan {grid}"));
    assert!(error.contains("this is a platform") && error.contains("--platform"), "{error}");
    let error = place.fails(2, "plan examples/workflows/gauss.dot -p examples/workflows/gauss.dot");
    assert!(error.contains("this is a workflow"), "{error}");
    place.ok("plan examples/workflows/gauss.dot -o plan.json -q");
    let error = place.fails(2, "plan plan.json");
    assert!(error.contains("this is a schedule") && error.contains("--schedule"), "{error}");
    std::fs::create_dir(place.path().join("gauss.run")).unwrap();
    place.write("gauss.run/log.jsonl", "");
    let error = place.fails(2, "show gauss.run");
    assert!(error.contains("gauss.run") && error.contains("no log of a run"), "{error}");
    place.write("empty.json", "");
    let on_grid = format!("-p {grid}");
    let gauss = "examples/workflows/gauss.dot";
    for line in [
        "plan empty.json".to_string(),
        "plan --instance empty.json".to_string(),
        format!("simulate {gauss} {on_grid} --schedule empty.json"),
        format!("validate empty.json -w {gauss} {on_grid}"),
    ] {
        let error = place.fails(2, &line);
        assert!(error.contains("empty.json: the file is empty"), "{line}: {error}");
    }
    let montage = place.read("examples/workflows/montage.json");
    place.write("cut.json", &montage[..3000]);
    let plan = place.read("plan.json");
    place.write("cut-plan.json", &plan[..plan.len() / 2]);
    place.ok(&format!("simulate {gauss} {on_grid} --trace trace.jsonl -q"));
    let trace = place.read("trace.jsonl");
    place.write("cut.jsonl", &trace[..trace.len() / 2]);
    for line in [
        "plan cut.json".to_string(),
        format!("validate cut-plan.json -w {gauss} {on_grid}"),
        format!("validate cut.jsonl -w {gauss} {on_grid}"),
    ] {
        let error = place.fails(2, &line);
        assert!(error.contains("was it cut"), "{line}: {error}");
    }
    // Where the folder of a run is wanted.
    for (line, said) in [
        ("diff plan.json trace.jsonl", "trace.jsonl: this is a file; name the folder of a run"),
        ("calibrate plan.json -o learnt", "plan.json: this is a schedule"),
        ("simulate --replay examples", "examples: there is no run in this folder"),
        ("simulate --replay nowhere", "nowhere: no such folder"),
    ] {
        let error = place.fails(2, line);
        assert!(error.contains(said), "{line}: {error}");
    }
}

#[test]
fn bundled_platforms_have_names() {
    let place = Place::new();
    let by_name = place.ok("plan examples/workflows/gauss.dot -p two-site-grid");
    let by_file =
        place.ok("plan examples/workflows/gauss.dot -p examples/platforms/two-site-grid.toml");
    assert_eq!(by_name, by_file);
    let error = place.fails(2, "plan examples/workflows/gauss.dot -p two-site-gird");
    assert!(error.contains("did you mean 'two-site-grid'?"), "{error}");
}

#[test]
fn a_switch_does_not_swallow_the_next_option() {
    let place = Place::new();
    let line = "generate scenario sce --platform two-site-grid --makespan 100 --failure";
    assert_eq!(place.ok(&format!("{line} --seed 4")), place.ok(&format!("{line} yes --seed 4")),);
}

#[test]
fn recorded_runs_name_their_machines_and_speeds() {
    let place = Place::new();
    let task = |id: &str| format!(r#"{{"name":"{id}","id":"{id}","parents":[],"children":[]}}"#);
    let run = |speed: &str, on: &str| {
        format!(
            r#"{{"name":"w","schemaVersion":"1.5","workflow":{{"specification":{{"tasks":[{}],
            "files":[]}},"execution":{{"makespanInSeconds":12,"executedAt":"2020-01-01T00:00:00Z",
            "tasks":[{{"id":"a","runtimeInSeconds":10,"machines":["{on}"]}}],
            "machines":[{{"nodeName":"m","cpu":{{"speedInMHz":{speed},"coreCount":4}}}}]}}}}}}"#,
            task("a")
        )
    };
    place.write("run.json", run("1500", "m"));
    let told = place.ok("plan run.json");
    assert!(told.contains("at the 1.5 Gflop/s of their machines"), "{told}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("The recorded run took 12 s on 1 machine with 4 cores."), "{told}");
    let told = place.ok("plan run.json --reference-speed 2GHz");
    assert!(told.contains("recorded seconds at 2 Gflop/s, assumed"), "{told}");
    place.ok("generate platform recorded run.json -o machines.toml");
    let told = place.ok("plan run.json -p machines.toml --json");
    assert!(told.contains("\"makespan\": 10.0"), "{told}");
    assert!(told.contains("\"recorded_makespan\": 12.0"), "{told}");
    let told = place.ok("show run.json");
    assert!(told.contains("m (4 cores, 1.5 Gflop/s)"), "{told}");
    place.write("lacks.json", run("1500", "n"));
    let error = place.fails(2, "plan lacks.json");
    assert!(
        error.contains("lacks.json") && error.contains("'a'") && error.contains("'n'"),
        "{error}"
    );
    place.write("still.json", run("0", "m"));
    let error = place.fails(2, "plan still.json");
    assert!(error.contains("machines[0].cpu.speedInMHz"), "{error}");
    place.fails(2, "plan run.json --reference-speed 0Hz");
    let error = place.fails(2, "plan examples/workflows/gauss.dot --reference-speed 1GHz");
    assert!(error.contains("states work"), "{error}");
    place.fails(2, "generate platform recorded examples/workflows/gauss.dot");
}

#[test]
fn numbers_that_are_far_too_large_are_told_in_few_digits() {
    let place = Place::new();
    place.write("w.toml", "[task.a]\nwork = \"1Gf\"\n");
    place.write("p.toml", "[host.a]\nspeed = \"1Gf\"\n");
    let down = "[[host]]\nname = \"a\"\ndown = [{ at = 1.7e308 }]\n";
    let level = "[[host]]\nname = \"a\"\navailability = [[1.7e308, 0.5]]\n";
    for (world, said) in [
        (down, "outage of host 'a': 1.7e308 is not at most 1e15 s"),
        (level, "the date 1.7e308 is not a number from 0 to 1e15"),
    ] {
        place.write("s.toml", world);
        let told = place.fails(2, "simulate w.toml -p p.toml --scenario s.toml");
        assert!(told.contains(said), "{told}");
    }
    place.write("p.toml", "[host.a]\nspeed = \"1Gf\"\ncores = 5000000000\n");
    let told = place.fails(2, "show p.toml");
    assert!(told.contains("expected a whole number from 0 to 4294967295"), "{told}");
}

#[test]
fn only_runs_of_mpi_are_recorded() {
    let place = Place::new();
    let error = place.fails(2, "mpi-capture -o t -- sh -c true");
    assert!(error.contains("MPICH or Open MPI"), "{error}");
    let error = place.fails(2, "mpi-capture -o t --speed fast -- sh");
    assert!(error.contains("--speed"), "{error}");
    std::fs::create_dir(place.path().join("full")).unwrap();
    place.write("full/x", "");
    let error = place.fails(2, "mpi-capture -o full --mpi mpich -- sh");
    assert!(error.contains("is not empty"), "{error}");
    let error = place.fails(2, "mpi-capture -o t --mpi mpich --cc no-such-compiler -- sh");
    assert!(error.contains("no-such-compiler"), "{error}");
}
