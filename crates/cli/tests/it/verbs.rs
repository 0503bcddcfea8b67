//! Output and files of the verbs.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;

const WORKFLOWS: [&str; 7] = [
    "epigenomics.dax",
    "fork-join.toml",
    "gauss.dot",
    "heft-2002.json",
    "montage.json",
    "peft-2014.json",
    "stg-random.stg",
];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn the_published_example_as_people_see_it() {
    let place = Place::new();
    // Topcuoglu et al. 2002, figure 4a: HEFT ends at 80.
    let expected = "\
heft-2002 (10 tasks) on heft-2002 (3 processors), planned by heft

  makespan     80 s   as planned and as simulated
  lower bound  69 s   at most 16 % above the best possible
  speed-up     1.59   over the fastest single processor
  utilisation  46 %   of the 3 processors used
  data moved   140 B  between hosts

  P1 │                       [T2────────]              [T8]                  22%
  P2 │                [T4──][T6──────────]            [T9───────]    [T10─]  54%
  P3 │[T1────][T3────────────][T5─────][T7─────]                             61%
     └────────────────┴─────────────────┴────────────────┴───────▲────────┴
     0              20 s              40 s             60 s             80 s
 ▲ lower bound 69 s
";
    assert_eq!(place.ok("plan examples/workflows/heft-2002.json"), expected);
}

#[test]
fn a_workflow_as_people_see_it() {
    let place = Place::new();
    let shown = place.ok("show examples/workflows/fork-join.toml");
    for part in [
        "word-count\n",
        "tasks               9 (1 at the start, 1 at the end)",
        "shape               ▂█▂▂",
    ] {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
}

#[test]
fn every_example_fits_eighty_columns_and_has_pictures() {
    let place = Place::new();
    for name in WORKFLOWS {
        let shown = place.ok(&format!("show examples/workflows/{name} --svg graph.svg"));
        let planned = place.ok(&format!(
            "plan examples/workflows/{name} --gantt plan.svg -o plan.json --transfers"
        ));
        for line in planned.lines() {
            assert!(line.chars().count() <= 80, "{name}: {line}");
        }
        // Values that are shown are whole where a program may read them.
        assert!(!shown.contains("…\n") && shown.lines().count() > 5, "{name}: {shown}");
        for picture in ["graph.svg", "plan.svg"] {
            let svg = place.read(picture);
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{name} {picture}");
        }
        place.ok(&format!("validate plan.json --workflow examples/workflows/{name}"));
    }
    for name in ["priced-cloud", "small-cluster", "two-site-grid"] {
        assert!(place.ok(&format!("show examples/platforms/{name}.toml")).contains("hosts"));
    }
}

#[test]
fn the_machine_interface_of_plan() {
    let place = Place::new();
    let text =
        place.ok("plan --instance examples/workflows/heft-2002.json --algorithm heft --json");
    let plan = json(&text);
    assert_eq!(plan["schema"], "slackline/plan/1");
    assert_eq!(plan["algorithm"], "heft");
    assert_eq!(plan["makespan"], 80.0);
    let bound = plan["lower_bound"].as_f64().unwrap();
    assert!((41.0..=80.0).contains(&bound), "between the critical path and the plan, not {bound}");
    assert!(plan["wall_seconds"].as_f64().unwrap() >= 0.0);
    let rows = plan["schedule"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    // T1 takes 9 s on P3, the first thing that happens.
    let first = &rows[0];
    assert_eq!(
        (
            first["task"].as_str(),
            first["processor"].as_str(),
            first["start"].as_f64(),
            first["finish"].as_f64()
        ),
        (Some("T1"), Some("P3"), Some(0.0), Some(9.0))
    );
}

#[test]
fn all_planners_plan_the_examples_validly() {
    let place = Place::new();
    let text = place.ok("plan examples/workflows/montage.json --algorithm all --json -q");
    let plans = json(&text);
    assert_eq!(plans["schema"], "slackline/plans/1");
    let algorithms = json(&place.ok("algorithms --json"));
    // Those that need a budget, prices, moldable tasks ... are left out.
    let needs_nothing = |a: &&Value| a["needs"].as_array().unwrap().is_empty();
    let listed = algorithms["algorithms"].as_array().unwrap().iter().filter(needs_nothing);
    assert_eq!(plans["plans"].as_array().unwrap().len(), listed.count());
    let table = place.ok("plan examples/workflows/heft-2002.json --algorithm heft,peft,CPOP");
    assert!(table.contains("3 plans of heft-2002"), "{table}");
}

#[test]
fn schedules_are_written_by_extension_and_read_back() {
    let place = Place::new();
    for extension in ["json", "csv", "jed"] {
        place.ok(&format!("plan examples/workflows/gauss.dot -o plan.{extension} -q"));
        assert!(!place.read(&format!("plan.{extension}")).is_empty());
    }
    let shown = place.ok("show plan.json --workflow examples/workflows/gauss.dot --svg again.svg");
    assert!(shown.contains("plan.json: makespan"), "{shown}");
    // The document of plan --json is a schedule too.
    let text = place.ok("plan examples/workflows/gauss.dot --json");
    place.write("document.json", text);
    place.ok("validate document.json --workflow examples/workflows/gauss.dot");
}

#[test]
fn a_broken_schedule_is_refused_with_its_rules() {
    let place = Place::new();
    place.ok("plan --instance examples/workflows/heft-2002.json -o plan.json -q");
    let mut plan = json(&place.read("plan.json"));
    // T10 needs everything else and cannot start first.
    plan["schedule"][9]["start"] = 0.0.into();
    plan["schedule"][9]["finish"] = 7.0.into();
    place.write("broken.json", plan.to_string());
    let done = place.run("validate broken.json --instance examples/workflows/heft-2002.json");
    assert_eq!(done.code, Some(1));
    assert!(done.out.contains("precedence: task 'T10' starts at 0"), "{}", done.out);
    let done =
        place.run("validate broken.json --instance examples/workflows/heft-2002.json --json");
    assert_eq!(done.code, Some(1));
    assert_eq!(json(&done.out)["valid"], false);
    let late =
        place.run("validate plan.json --instance examples/workflows/heft-2002.json --deadline 70s");
    assert_eq!((late.code, late.out.starts_with("deadline")), (Some(1), true), "{}", late.out);
}

#[test]
fn converts_workflows_and_platforms() {
    let place = Place::new();
    place.ok("convert examples/workflows/montage.json montage.dax");
    place.ok("convert montage.dax montage.dot");
    place.ok("convert montage.dot montage.toml");
    let tasks = |file: &str| json(&place.ok(&format!("show {file} --json")))["tasks"].clone();
    assert_eq!(tasks("montage.toml"), tasks("examples/workflows/montage.json"));
    let printed = place.ok("convert montage.dax - --to dot");
    assert!(printed.contains("digraph"), "{printed}");
    place.ok("convert examples/platforms/two-site-grid.toml grid.xml");
    let hosts = |file: &str| json(&place.ok(&format!("show {file} --json")))["hosts"].clone();
    assert_eq!(hosts("grid.xml"), hosts("examples/platforms/two-site-grid.toml"));
    place.ok("convert montage.dax both.json --to instance --platform examples/platforms/small-cluster.toml");
    place.ok("plan --instance both.json");
}

#[test]
fn this_machine_becomes_a_platform_that_can_be_planned_on() {
    let place = Place::new();
    place.ok("platform detect --local --speed 2Gf -o here.toml");
    assert!(place.read("here.toml").contains("speed = \"2Gf\""));
    place.ok("plan examples/workflows/gauss.dot --platform here.toml");
    assert_eq!(json(&place.ok("platform detect --local --speed 2Gf --json"))["hosts"], 1);
}

#[test]
fn examples_are_not_overwritten_by_accident() {
    let place = Place::new();
    place.write("examples/workflows/gauss.dot", "mine");
    let said = place.ok("examples examples");
    assert!(said.contains("0 files written, 18 kept"), "{said}");
    assert_eq!(place.read("examples/workflows/gauss.dot"), "mine");
    place.ok("examples examples --force");
    assert_ne!(place.read("examples/workflows/gauss.dot"), "mine");
}

#[test]
fn says_what_it_can_do() {
    let place = Place::new();
    let welcome = place.ok("");
    assert!(welcome.contains("slackline plan montage"), "{welcome}");
    for verb in [
        "plan",
        "show",
        "validate",
        "convert",
        "algorithms",
        "examples",
        "completions",
        "platform detect",
    ] {
        let help = place.ok(&format!("{verb} --help"));
        let example = help.rsplit_once("Example").map(|(_, rest)| rest.contains("slackline"));
        assert_eq!(example, Some(true), "the help of {verb} has no example:\n{help}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.ok(&format!("completions {shell}"));
        assert!(script.contains("slackline"));
        if ["powershell", "elvish"].contains(&shell) {
            continue; // their scripts know verbs and options, no values
        }
        // A planner, a policy, a kind of workflow, a study, what is bundled.
        for word in ["heft", "just-in-time", "daggen", "policies", "two-site-grid", "slow-day"] {
            assert!(script.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn colours_and_noise_are_the_users_choice() {
    let place = Place::new();
    let plan = "plan examples/workflows/heft-2002.json";
    assert!(!place.ok(plan).contains('\u{1b}'));
    assert!(place.ok(&format!("{plan} --color always")).contains('\u{1b}'));
    assert_eq!(place.ok(&format!("{plan} -q")), "");
    assert!(place.run(&format!("{plan} -v")).err.contains("info: read"));
    let noted = place.run("plan examples/workflows/gauss.dot");
    assert!(noted.err.contains("bundled small cluster"), "{}", noted.err);
}

#[test]
fn the_same_bytes_twice() {
    let place = Place::new();
    let line = "plan examples/workflows/montage.json --gantt a.svg --algorithm heft";
    let first = (place.ok(line), place.read("a.svg"));
    assert_eq!(first, (place.ok(line), place.read("a.svg")));
}

#[test]
fn a_plan_says_whether_it_keeps_to_its_limits() {
    let place = Place::new();
    let line = "plan examples/workflows/heft-2002.json --algorithm heft";
    // HEFT ends at 80.
    let shown = place.ok(&format!("{line} --deadline 90s"));
    assert!(shown.contains("deadline     90 s   met, to spare: 10 s"), "{shown}");
    let missed = place.run(&format!("{line} --deadline 79s"));
    assert_eq!(missed.code, Some(1), "{}", missed.err);
    assert!(missed.out.contains("missed by 1 s"), "the plan is shown all the same: {}", missed.out);
    assert!(missed.err.contains("deadline"), "{}", missed.err);
    let document = json(&place.ok(&format!("{line} --deadline 80s --json")));
    assert_eq!((&document["feasible"], &document["deadline"]), (&json("true"), &json("80.0")));
    assert!(json(&place.ok(&format!("{line} --json")))["feasible"].is_null());
    let priced =
        "plan examples/workflows/gauss.dot --platform examples/platforms/priced-cloud.toml";
    assert!(place.ok(&format!("{priced} --budget 1000000")).contains("kept, left over"));
    // Not every machine there costs something: only who is told to hurry breaks this.
    assert!(place.ok(&format!("{priced} --budget 0")).contains("kept"));
    let hurry = format!("{priced} --algorithm heft --budget 0");
    assert!(place.fails(1, &hurry).contains("budget"));
    place.fails(2, &format!("{priced} --budget much"));
    place.fails(2, &format!("{priced} --budget -1"));
}

/// Five tasks on three machines with prices: 20 is the least cost, HEFT takes 28 s and costs 30.
const PRICED: &str = r#"{"name": "priced",
 "tasks": [{"id": "t1"}, {"id": "t2"}, {"id": "t3"}, {"id": "t4"}, {"id": "t5"}],
 "edges": [{"from": "t1", "to": "t2", "data": 2}, {"from": "t1", "to": "t3", "data": 4},
  {"from": "t1", "to": "t4", "data": 3}, {"from": "t2", "to": "t5", "data": 2},
  {"from": "t3", "to": "t5", "data": 1}, {"from": "t4", "to": "t5", "data": 5}],
 "processors": [{"id": "P1", "price": 0.15625}, {"id": "P2", "price": 0.375}, {"id": "P3", "price": 1}],
 "exec": [[16, 8, 4], [32, 16, 8], [24, 12, 6], [40, 20, 10], [16, 8, 4]],
 "bandwidth": [[null, 1, 1], [1, null, 1], [1, 1, null]]}"#;

#[test]
fn budgets_and_deadlines_are_answered_in_full() {
    let place = Place::new();
    place.write("priced.json", PRICED);
    let line = "plan --instance priced.json";
    let document =
        json(&place.ok(&format!("{line} --algorithm dbcs --budget 26 --deadline 53s --json")));
    for (name, wanted) in [
        ("makespan", "45.0"),
        ("cost", "25.25"),
        ("budget", "26.0"),
        ("deadline", "53.0"),
        ("feasible", "true"),
        ("missed", "[]"),
        ("least_cost", "20.0"),
        ("cheapest", r#"{"makespan": 128.0, "cost": 20.0}"#),
        ("fastest", r#"{"makespan": 28.0, "cost": 30.0}"#),
    ] {
        assert_eq!(document[name], json(wanted), "{name}");
    }

    // Too little money: the document is printed all the same, and the proof told.
    let poor = place.run(&format!("{line} --algorithm hbcs --budget 19 --json"));
    assert_eq!(poor.code, Some(1));
    let document = json(&poor.out);
    assert_eq!(document["feasible"], false);
    assert_eq!(document["missed"][0], "budget: the schedule costs 20, more than 19");
    assert!(poor.err.contains("no plan costs less than 20.0"), "{}", poor.err);

    // Nobody named: the fastest plan found that keeps both.
    let document = json(&place.ok(&format!("{line} --budget 25 --deadline 53 --json")));
    assert_eq!(
        (&document["algorithm"], &document["makespan"]),
        (&json("\"within-limits\""), &json("44.0"))
    );
    let found = document["alternatives"].as_array().unwrap();
    assert!(found.len() > 1 && found.iter().all(|plan| plan["found_by"].is_string()), "{found:?}");
    let late = place.run(&format!("{line} --budget 25 --deadline 20"));
    assert_eq!(late.code, Some(1));
    assert!(late.err.contains("no plan ends before 26 s"), "{}", late.err);

    for (options, word) in [
        ("--algorithm hbcs", "hbcs needs a budget"),
        ("--algorithm dbcs --budget 20", "dbcs needs a deadline"),
        ("--algorithm dbcs --budget 20 --deadline 50 --set ratio=half", "ratio = half"),
        ("--algorithm hbcs --budget 20 --set ratio=rest", "ratio"),
        ("--algorithm three-step --set quanta=0", "quanta = 0"),
        ("--budget inf", "--budget"),
    ] {
        let told = place.fails(2, &format!("{line} {options}"));
        assert!(told.contains(word), "{options}: {told}");
    }
}

#[test]
fn a_front_shows_time_against_cost() {
    let place = Place::new();
    place.write("priced.json", PRICED);
    let document = json(&place.ok("plan --instance priced.json --front front.svg --json"));
    assert_eq!(document["schema"], "slackline/front/1");
    let points = document["points"].as_array().unwrap();
    let ends: Vec<(f64, f64)> = points
        .iter()
        .filter(|p| p["dominated"] == false)
        .map(|p| (p["makespan"].as_f64().unwrap(), p["cost"].as_f64().unwrap()))
        .collect();
    // The lower bound: searches find what HEFT, at 28 s, does not.
    assert_eq!(ends.first().unwrap().0, 26.0);
    assert_eq!(*ends.last().unwrap(), (128.0, 20.0));
    assert!(
        ends.windows(2).all(|w| w[0] == w[1] || w[0].0 < w[1].0 && w[0].1 > w[1].1),
        "{ends:?}"
    );
    assert_eq!(place.read("front.svg").matches("<circle").count(), points.len());
    let shown = place.ok("plan --instance priced.json --front --budget 25");
    assert!(shown.contains("keeps the limits"), "{shown}");
    let free = place.fails(2, "plan examples/workflows/heft-2002.json --front");
    assert!(free.contains("--front needs machines with prices"), "{free}");
}

const CAMPAIGN: &str = r#"
name = "small"
question = "Is PEFT better?"
repeat = 3
[workflows.random]
generate = "daggen"
tasks = 6
ccr = [0.5, 2]
[platforms.flat]
generate = "processors"
[scenarios.rough]
generate = "sce"
[methods]
plan = ["peft", "heft", "cpop"]
simulate = ["static", "just-in-time"]
"#;

#[test]
fn campaigns_are_carried_out_and_reported() {
    let place = Place::new();
    place.write("c.toml", CAMPAIGN);
    let said = place
        .ok("compare c.toml --by ccr --csv all.csv --records r.txt --report r.html --bundle b");
    assert!(
        said.contains("judged by plans") && said.contains("judged by simulated runs"),
        "{said}"
    );
    // The order of the file is kept: PEFT is compared with HEFT, not HEFT with PEFT.
    assert!(said.contains("  peft  heft"), "{said}");
    let csv = place.read("all.csv");
    assert_eq!(csv.lines().count(), 31);
    assert!(place.read("r.txt").starts_with("cpop:flat:random,ccr=0.5,tasks=6,1:"));
    // One page without requests or scripts.
    let page = place.read("r.html");
    assert!(page.contains("Is PEFT better?") && page.contains("<img src=\"data:image/svg+xml,"));
    for outside in ["http-equiv", "<script", "src=\"http", "href=\"http"] {
        assert!(!page.contains(outside), "{outside}");
    }
    // A bundle gives the same table elsewhere; so do parts on other threads.
    assert_eq!(place.read("b/results.csv"), csv);
    place.ok("compare b/campaign.toml -o again.db --csv again.csv --threads 1 -q");
    assert_eq!(place.read("again.csv"), csv);
    place.ok("compare c.toml --shard 1/2 -o 1.db");
    place.ok("compare c.toml --shard 2/2 -o 2.db");
    place.ok("compare 1.db 2.db -o both.db --csv both.csv");
    assert_eq!(place.read("both.csv"), csv);
    // A table of ours is a table like any other.
    place.ok("compare all.csv --by kind,ccr --json");
    place.ok("compare c.db both.db --no-regression --metric makespan,slr");
}

#[test]
fn campaigns_that_are_refused() {
    let place = Place::new();
    place.write("c.toml", CAMPAIGN);
    place.ok("compare c.toml -q");
    place.write("other.toml", CAMPAIGN.replace("\"small\"", "\"other\""));
    place.write("empty.toml", CAMPAIGN.replace("[0.5, 2]", "[]"));
    for (line, says) in [
        ("compare other.toml -o c.db", "holds the campaign small"),
        ("compare empty.toml", "nothing would be run"),
        ("compare c.toml --metric makespam", "did you mean 'makespan'"),
        ("compare c.toml --by crr", "did you mean 'ccr'"),
        ("compare c.toml --against heff", "did you mean 'heft'"),
        ("compare c.toml c.toml", "one campaign"),
        ("compare c.db c.db", "name it with -o"),
        ("compare c.db --shard 1/2", "--shard is for a campaign"),
        ("compare c.toml --bundle .", "not empty"),
    ] {
        let error = place.fails(2, line);
        assert!(error.contains(says), "{line}: {error}");
    }
}
