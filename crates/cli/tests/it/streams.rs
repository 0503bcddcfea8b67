//! Streams of workflows through the command: three workflows on three processors, with times and
//! costs worked out by hand and by script from the papers' formulas.

#![allow(clippy::unwrap_used)] // helpers of tests may

use crate::common;

use common::Place;
use serde_json::Value;

/// Processors of speed 1/4, 1/2 and 1, priced by use; transfers take their data in seconds.
/// `wishes` of A, B and C stand in their objects.
fn three(wishes: [&str; 3]) -> String {
    let [a, b, c] = wishes;
    let tasks = |work: &[u32]| {
        let one = |(i, w): (usize, &u32)| format!(r#"{{"id": "{}", "cost": {w}}}"#, i + 1);
        work.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
    };
    let edges = |edges: &[(u32, u32, u32)]| {
        let one = |&(f, t, d): &(u32, u32, u32)| {
            format!(r#"{{"from": "{f}", "to": "{t}", "data": {d}}}"#)
        };
        edges.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    let workflow = |name: &str,
                    arrival: u32,
                    wish: &str,
                    work: &[u32],
                    links: &[(u32, u32, u32)]| {
        let (tasks, edges) = (tasks(work), edges(links));
        format!(
            r#"{{"name": "{name}", "arrival": {arrival}, {wish} "tasks": [{tasks}], "edges": [{edges}]}}"#
        )
    };
    let diamond = [(1, 2, 2), (1, 3, 4), (1, 4, 3), (2, 5, 2), (3, 5, 1), (4, 5, 5)];
    let fork = [(1, 2, 1), (1, 3, 1), (1, 4, 1), (2, 5, 1), (3, 5, 1), (4, 5, 1)];
    let workflows = [
        workflow("A", 0, a, &[4, 8, 6, 10, 4], &diamond),
        workflow("B", 0, b, &[6, 4, 5], &[(1, 2, 2), (2, 3, 2)]),
        workflow("C", 10, c, &[2, 5, 5, 5, 2], &fork),
    ];
    format!(
        r#"{{"name": "three", "bandwidth": 1, "processors": [
            {{"id": "P1", "speed": 0.25, "price": 0.15625}},
            {{"id": "P2", "speed": 0.5, "price": 0.375}},
            {{"id": "P3", "speed": 1, "price": 1}}], "workflows": [{}]}}"#,
        workflows.join(",\n")
    )
}

/// A run in the notation `A4@P2[8-28]`, in order of start, then of the faster processor.
fn story(run: &Value) -> String {
    let mut tasks: Vec<(f64, String, String)> = Vec::new();
    for task in run["schedule"].as_array().unwrap() {
        let proc = task["processor"].as_str().unwrap();
        let (start, finish) = (task["start"].as_f64().unwrap(), task["finish"].as_f64().unwrap());
        let name = task["task"].as_str().unwrap().replace('/', "");
        tasks.push((start, proc.to_string(), format!("{name}@{proc}[{start}-{finish}]")));
    }
    tasks.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
    tasks.into_iter().map(|t| t.2).collect::<Vec<_>>().join(" ")
}

fn column(run: &Value, member: &str) -> Vec<f64> {
    let workflows = run["workflows"].as_array().unwrap();
    workflows.iter().map(|w| w[member].as_f64().unwrap_or(f64::NAN)).collect()
}

fn close(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 5e-5 || (a.is_nan() && b.is_nan()))
}

fn simulate(place: &Place, rest: &str) -> Value {
    let line = format!("simulate --instance three.json --knows exact --json {rest}");
    let done = place.run(&line);
    assert!(matches!(done.code, Some(0 | 1)), "{line}: {}", done.err);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn six_policies_share_time_as_published() {
    let place = Place::new();
    place.write("three.json", three([""; 3]));
    let expected: [(&str, [f64; 3], &str); 6] = [
        (
            "rank-hybd",
            [2.6667, 1.0, 2.6667],
            "B1@P3[0-6] A1@P2[0-8] B2@P3[6-10] A4@P2[8-28] B3@P3[10-15] A2@P1[10-42] \
             C1@P3[15-17] C2@P3[17-22] C3@P3[22-27] C4@P3[27-32] A3@P2[28-40] C5@P3[32-34] \
             A5@P3[44-48]",
        ),
        (
            "owm",
            [2.5556, 2.6, 3.4444],
            "A1@P3[0-4] B1@P2[0-12] A4@P3[4-14] A2@P2[12-28] A3@P3[14-20] C1@P1[14-22] \
             B2@P3[20-24] C2@P3[24-29] C3@P2[28-38] C4@P3[29-34] B3@P3[34-39] A5@P2[38-46] \
             C5@P3[39-41]",
        ),
        (
            "fdws",
            [2.6667, 1.0, 3.4444],
            "B1@P3[0-6] A1@P2[0-8] B2@P3[6-10] A4@P2[8-28] B3@P3[10-15] A2@P1[10-42] \
             A3@P3[15-21] C1@P3[21-23] C2@P3[23-28] C3@P3[28-33] C4@P2[28-38] C5@P3[39-41] \
             A5@P3[44-48]",
        ),
        (
            "fdws-queues",
            [1.7222, 2.1333, 3.6667],
            "B1@P3[0-6] A1@P2[0-8] B2@P3[6-10] A2@P2[8-24] A4@P3[11-21] B3@P1[12-32] \
             A3@P3[21-27] C1@P2[24-28] A5@P3[27-31] C3@P2[28-38] C2@P3[31-36] C4@P3[36-41] \
             C5@P3[41-43]",
        ),
        (
            "online-minmin",
            [2.6667, 1.5333, 3.2222],
            "A1@P3[0-4] B1@P2[0-12] A4@P3[4-14] A2@P1[6-38] C1@P2[12-16] B2@P3[14-18] \
             C2@P2[16-26] B3@P3[18-23] C3@P3[23-28] C4@P2[26-36] A3@P3[28-34] C5@P3[37-39] \
             A5@P2[40-48]",
        ),
        (
            "online-maxmin",
            [2.6667, 1.5333, 3.4444],
            "B1@P3[0-6] A1@P2[0-8] B2@P3[6-10] A4@P2[8-28] A2@P1[10-42] A3@P3[12-18] \
             B3@P3[18-23] C1@P3[23-25] C2@P3[25-30] C3@P2[28-38] C4@P3[30-35] C5@P3[39-41] \
             A5@P3[44-48]",
        ),
    ];
    for (policy, ttr, told) in expected {
        let run = simulate(&place, &format!("--policy {policy} --transfers anticipated"));
        assert_eq!(story(&run), told, "{policy}");
        assert!(close(&column(&run, "ttr"), &ttr), "{policy}: {:?}", column(&run, "ttr"));
    }
    // Where inputs travel when a task is placed, everything is later.
    let run = simulate(&place, "--policy fdws");
    assert_eq!(column(&run, "finish"), [51.0, 15.0, 42.0]);
    // Which way OWM is read decides much.
    let finish = |set: &str| {
        column(&simulate(&place, &format!("--policy owm {set} --transfers anticipated")), "finish")
    };
    assert_ne!(finish("--set order=asc"), finish(""));
    assert_eq!(finish("--set pool=one --set processor=code"), finish(""));
}

#[test]
fn six_policies_keep_to_budgets_as_published() {
    let place = Place::new();
    let budgets = [r#""budget": 26,"#, r#""budget": 13.875,"#, r#""budget": 14.0125,"#];
    place.write("three.json", three(budgets));
    let expected: [(&str, [f64; 3], [f64; 3]); 6] = [
        ("b-rank-hybd1", [48.0, 38.0, 60.0], [25.5, 13.75, 13.875]),
        ("b-rank-hybd2", [82.0, 27.0, 56.0], [26.0, 12.5, 13.875]),
        ("b-fdws1", [48.0, 38.0, 60.0], [25.5, 13.75, 13.875]),
        ("b-fdws2", [82.0, 25.0, 56.0], [26.0, 13.5, 13.875]),
        ("b-fdws3", [48.0, 38.0, 60.0], [25.5, 13.75, 13.875]),
        ("b-fdws4", [54.0, 23.0, 72.0], [26.0, 13.5, 13.875]),
    ];
    for (policy, took, cost) in expected {
        let run = simulate(&place, &format!("--policy {policy} --transfers anticipated"));
        assert!(close(&column(&run, "turnaround"), &took), "{policy}");
        assert!(close(&column(&run, "cost"), &cost), "{policy}");
        if policy == "b-fdws4" {
            // C3 and C4 wait for a processor that they can pay for, A5 takes the slowest.
            assert_eq!(
                story(&run),
                "A1@P3[0-4] B1@P2[0-12] A4@P3[4-14] A2@P1[6-38] A3@P2[12-24] B2@P3[14-18] \
                 B3@P3[18-23] C1@P3[23-25] C2@P2[26-36] C3@P2[36-46] A5@P1[38-54] C4@P1[54-74] \
                 C5@P1[74-82]"
            );
        }
    }
}

#[test]
fn policies_are_compared_over_the_same_workflows() {
    let place = Place::new();
    place.write("three.json", three([""; 3]));
    let six = "rank-hybd,owm,fdws,fdws-queues,online-minmin,online-maxmin";
    let all = simulate(&place, &format!("--compare {six} --transfers anticipated --alone"));
    let of = |name: &str| {
        let runs = all["runs"].as_array().unwrap();
        runs.iter().find(|r| r["policy"] == name).unwrap().clone()
    };
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    };
    let ntt = |name: &str| numbers(&of(name)["compared"]["ntt"]);
    assert!(close(&ntt("rank-hybd"), &[0.6458, 1.0, 1.0]));
    assert!(close(&ntt("fdws-queues"), &[1.0, 0.4688, 0.7273]));
    // Won: B and C; B; A; nothing by the other three.
    let wins = six.split(',').map(|p| of(p)["compared"]["wins"].as_f64().unwrap());
    let thirds = [2.0, 0.0, 1.0, 1.0, 0.0, 0.0].map(|n| n * 100.0 / 3.0);
    assert!(close(&wins.collect::<Vec<_>>(), &thirds));
    let fdws = of("fdws");
    let totals = &fdws["totals"];
    assert!((totals["mean_turnaround"].as_f64().unwrap() - 94.0 / 3.0).abs() < 1e-9);
    assert_eq!(totals["overall_makespan"], 48.0);
    // Nobody is quicker than alone here, and the worst stretch is the largest of the three.
    let stretch = column(&fdws, "stretch");
    assert!(stretch.iter().all(|s| *s >= 1.0), "{stretch:?}");
    let most = stretch.iter().copied().fold(0.0, f64::max);
    assert_eq!(totals["max_stretch"].as_f64().unwrap(), most);
    let sum: f64 = stretch.iter().map(|s| (s - stretch.iter().sum::<f64>() / 3.0).abs()).sum();
    assert!((totals["unfairness"].as_f64().unwrap() - sum).abs() < 1e-9);

    let budgets = [r#""budget": 26,"#, r#""budget": 13.875,"#, r#""budget": 14.0125,"#];
    place.write("three.json", three(budgets));
    let six = "b-rank-hybd1,b-rank-hybd2,b-fdws1,b-fdws2,b-fdws3,b-fdws4";
    let all = simulate(&place, &format!("--compare {six} --transfers anticipated"));
    let gains: Vec<Vec<f64>> =
        all["runs"].as_array().unwrap().iter().map(|r| numbers(&r["compared"]["tt_imp"])).collect();
    let expected = [
        [0.4146, 0.0, 0.1667],
        [0.0, 0.2895, 0.2222],
        [0.4146, 0.0, 0.1667],
        [0.0, 0.3421, 0.2222],
        [0.4146, 0.0, 0.1667],
        [0.3415, 0.3947, 0.0],
    ];
    for (found, expected) in gains.iter().zip(expected) {
        assert!(close(found, &expected), "{found:?}");
    }
}

#[test]
fn four_policies_keep_to_deadlines_and_budgets_with_a_store() {
    let place = Place::new();
    let wishes = [
        r#""deadline": 72.2, "budget": 33.19375, "owner": "ann","#,
        r#""deadline": 59.5, "budget": 13.6, "owner": "bob", "priority": 2,"#,
        r#""deadline": 37.3, "budget": 16.46875, "owner": "ann","#,
    ];
    place.write("three.json", three(wishes));
    let four = "mw-dbs,fdws2-ft,mw-minmin,mw-maxmin";
    let all = simulate(&place, &format!("--compare {four} --data central"));
    let runs = all["runs"].as_array().unwrap();
    let nan = f64::NAN;
    let expected = [
        ([92.0, 34.0, nan], [32.0, 12.75], 33.3333, 12.75, 0.2746),
        ([70.0, 46.0, nan], [32.5, 12.25], 66.6667, 44.75, 0.9637),
        ([83.0, 38.0, nan], [32.0625, 12.75], 33.3333, 12.75, 0.2746),
        ([68.0, 38.0, nan], [33.125, 13.3125], 66.6667, 46.4375, 1.0),
    ];
    for (run, (finish, cost, rate, total, profit)) in runs.iter().zip(expected) {
        let policy = &run["policy"];
        assert!(close(&column(run, "finish"), &finish), "{policy}");
        assert!(close(&column(run, "cost")[..2], &cost), "{policy}");
        assert_eq!(run["workflows"][2]["abandoned"], "its deadline has passed");
        let figures = [
            run["totals"]["success_rate"].as_f64().unwrap(),
            run["totals"]["total_cost"].as_f64().unwrap(),
            run["compared"]["profit"].as_f64().unwrap(),
        ];
        assert!(close(&figures, &[rate, total, profit]), "{policy}: {figures:?}");
    }
    // The trace of MW-DBS: C4 finds nobody it can pay for at 18, C is given up at 52.
    assert_eq!(
        story(&runs[0]),
        "B1@P2[0-12] A1@P1[0-16] C1@P3[10-12] C2@P3[12-18] B2@P2[12-22] C3@P1[16-37] \
         A4@P3[18-31] B3@P2[22-34] A2@P2[34-52] C4@P1[37-58] A3@P2[52-68] A5@P1[68-92]"
    );
    // Who is given up is said, and the command fails; without giving up everybody ends.
    let done = place.run("simulate --instance three.json --policy mw-dbs --data central");
    assert_eq!(done.code, Some(1));
    assert!(done.err.contains("gave up 'C'"), "{}", done.err);
    assert!(done.out.contains("given up") && done.out.contains("bob"), "{}", done.out);
    let never = simulate(&place, "--policy mw-dbs --data central --set abort=never");
    assert!(column(&never, "finish").iter().all(|f| f.is_finite()));
    let hopeless = simulate(&place, "--policy mw-dbs --data central --set abort=optimistic");
    assert!(!hopeless["workflows"][2]["abandoned"].is_null());
    // What was decided is decided again, giving up included.
    let log = "simulate --instance three.json --policy mw-dbs --data central";
    place.run(&format!("{log} --decisions log.jsonl"));
    assert!(place.read("log.jsonl").contains("abandon"));
    let again = place.run(&format!("{log} --same-decisions log.jsonl"));
    assert!(again.err.contains("gave up 'C'"), "{}", again.err);
}

#[test]
fn what_is_wrong_with_a_stream_is_said_where() {
    let place = Place::new();
    let good = three([r#""budget": 26,"#, "", ""]);
    let refused = |text: String, rest: &str, why: &str| {
        place.write("three.json", text);
        let done = place.run(&format!("simulate --instance three.json {rest}"));
        assert_eq!(done.code, Some(2), "{}", done.err);
        let told = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(why), "{why}: {told}");
    };
    refused(good.replace(r#""name": "B""#, r#""name": "A""#), "", "workflows[1].name");
    refused(good.replace(r#""arrival": 10"#, r#""arrival": -1"#), "", "workflows[2].arrival");
    let early = good.replacen(r#""name": "A", "arrival": 0"#, r#""name": "A", "arrival": 3"#, 1);
    refused(early, "", "0 is before 3");
    refused(good.replace(r#""budget": 26"#, r#""exec": [[1, 2, 3]]"#), "", "workflows[0]");
    refused(good.replace(r#""budget": 26"#, r#""buget": 26"#), "", "buget");
    let free = good
        .replace("0.15625", "0")
        .replace("0.375", "0")
        .replace(r#""price": 1"#, r#""price": 0"#);
    refused(free, "--policy b-fdws4", "price");
}

#[test]
fn a_stream_of_one_workflow_under_rank_hybd_is_just_in_time() {
    let place = Place::new();
    let text = three([""; 3]);
    let mut stream: Value = serde_json::from_str(&text).unwrap();
    stream["workflows"].as_array_mut().unwrap().truncate(1);
    // The first may come later than 0.
    stream["workflows"][0]["arrival"] = 5.0.into();
    place.write("three.json", stream.to_string());
    let late = simulate(&place, "--policy rank-hybd");
    assert_eq!(column(&late, "arrived"), [5.0]);
    assert_eq!(column(&late, "start"), [5.0]);
    stream["workflows"][0]["arrival"] = 0.0.into();
    place.write("three.json", stream.to_string());
    let (one, other) =
        (simulate(&place, "--policy rank-hybd"), simulate(&place, "--policy just-in-time"));
    assert_eq!(story(&one), story(&other));
    assert_eq!(column(&one, "turnaround"), column(&late, "turnaround"));
}

/// Two of the bundled workflows, one of them twice.
const STREAM: &str = r#"
[[arrival]]
workflow = "examples/workflows/montage.json"
at = 5
owner = "ann"
deadline_factor = 0.8
budget_factor = 0.5

[[arrival]]
workflow = "examples/workflows/montage.json"
after_deadline = 0.15
owner = "bob"
priority = 2

[[arrival]]
workflow = "examples/workflows/epigenomics.dax"
after_tasks = 0.3
owner = "ann"
"#;

#[test]
fn workflows_of_a_file_arrive_one_after_the_other() {
    let place = Place::new();
    place.write("stream.toml", STREAM);
    let line = "simulate --arrivals stream.toml -p examples/platforms/priced-cloud.toml";
    for policy in ["fdws", "static", "slackline", "just-in-time", "b-fdws4", "fdws-queues"] {
        let run: Value =
            serde_json::from_str(&place.ok(&format!("{line} --policy {policy} --json"))).unwrap();
        assert_eq!(run["finished"], true, "{policy}");
        let arrived = column(&run, "arrived");
        let deadline = run["workflows"][0]["deadline"].as_f64().unwrap();
        assert_eq!(arrived[0], 5.0);
        assert!((arrived[1] - 5.0 - 0.15 * deadline).abs() < 1e-9 && arrived[2] >= arrived[1]);
        assert_eq!(run["workflows"][1]["owner"], "bob");
        assert_eq!(run["workflows"][1]["name"], "montage#2");
        assert_eq!(run["owners"].as_array().unwrap().len(), 2);
    }
    // The factors lie between the bounds: B = least + 0.5 * (most - least), and so on.
    let limits = |d: f64, b: f64| {
        let text = STREAM.replace("deadline_factor = 0.8", &format!("deadline_factor = {d}"));
        place.write(
            "other.toml",
            text.replace("budget_factor = 0.5", &format!("budget_factor = {b}")),
        );
        let line = line.replace("stream.toml", "other.toml");
        let run: Value =
            serde_json::from_str(&place.ok(&format!("{line} --policy fdws --json"))).unwrap();
        let first = &run["workflows"][0];
        (first["deadline"].as_f64().unwrap(), first["budget"].as_f64().unwrap())
    };
    let ((d0, b0), (d1, b1), (d, b)) = (limits(0.0, 0.0), limits(1.0, 1.0), limits(0.8, 0.5));
    assert!(d0 < d1 && b0 < b1);
    assert!((d - (d0 + 0.8 * (d1 - d0))).abs() < 1e-9 && (b - (b0 + b1) / 2.0).abs() < 1e-9);
    // A table for people, with everybody in it.
    let text = place.ok(&format!("{line} --policy fdws --alone"));
    for word in ["montage#2", "ann", "stretch", "workflows waiting", "processors idle"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    place.ok(&format!("{line} --policy fdws --gantt run.svg"));
    assert!(place.read("run.svg").contains("epigenomics"));
}

#[test]
fn arrivals_may_name_bundled_workflows() {
    let place = Place::new();
    let arrival = |name: &str, at: u32| format!("[[arrival]]\nworkflow = {name:?}\nat = {at}\n");
    place.write("stream.toml", arrival("montage", 0) + &arrival("gauss", 9));
    let line = "simulate --arrivals stream.toml -p examples/platforms/priced-cloud.toml";
    let run: Value =
        serde_json::from_str(&place.ok(&format!("{line} --policy fdws --json"))).unwrap();
    assert_eq!(run["workflows"].as_array().unwrap().len(), 2);
    // A file beside the stream comes first, and a word that is nearly one is told.
    place.write("montage", "[task.alone]\nwork = \"1Gf\"\n");
    let run: Value =
        serde_json::from_str(&place.ok(&format!("{line} --policy fdws --json"))).unwrap();
    assert_eq!(run["schedule"].as_array().unwrap().len(), 1 + 14);
    place.write("stream.toml", arrival("gaus", 0));
    let done = place.run(line);
    assert_eq!(done.code, Some(2));
    assert!(
        done.err.contains("arrival[0]") && done.err.contains("'gauss' is bundled"),
        "{}",
        done.err
    );
}

#[test]
fn a_workflow_that_cannot_pay_is_given_up_with_the_reason() {
    let place = Place::new();
    let arrival = |at: u32, budget: u32| {
        format!(
            "[[arrival]]\nworkflow = \"montage\"\nat = {at}\nbudget = {budget}\ndeadline = 6000\n"
        )
    };
    place
        .write("paid.toml", "[cluster.a]\ncount = 4\ncores = 2\nspeed = \"2Gf\"\nprice = 0.0001\n");
    place.write("stream.toml", arrival(0, 5) + &arrival(30, 0));
    for policy in ["mw-dbs", "b-fdws1", "b-rank-hybd2", "fdws2-q", "mw-minmin"] {
        let line = format!("simulate --arrivals stream.toml -p paid.toml --policy {policy} --json");
        let done = place.run(&line);
        assert_eq!(done.code, Some(1), "{policy}: {}", done.err);
        assert!(done.err.contains("gave up 'montage#2': its budget"), "{policy}: {}", done.err);
        let run: Value = serde_json::from_str(&done.out).unwrap();
        assert_eq!(run["workflows"][0]["success"], true, "{policy}");
        let why = run["workflows"][1]["abandoned"].as_str().unwrap();
        assert!(why.contains("budget does not suffice"), "{policy}: {why}");
    }
}

#[test]
fn what_is_wrong_with_arrivals_is_said_where() {
    let place = Place::new();
    let line = "simulate --arrivals stream.toml -p examples/platforms/priced-cloud.toml";
    let refused = |text: String, rest: &str, why: &str| {
        place.write("stream.toml", text);
        let done = place.run(&format!("{line} {rest}"));
        assert_eq!(done.code, Some(2), "{}", done.err);
        let told = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("stream.toml") && told.contains(why), "{why}: {told}");
    };
    let text = |from: &str, to: &str| STREAM.replace(from, to);
    refused(text("epigenomics.dax", "nowhere.dax"), "", "arrival[2]");
    refused(text("deadline_factor = 0.8\n", ""), "", "no deadline");
    refused(text("at = 5", "after_tasks = 0.5"), "", "no workflow before it");
    refused(text("deadline_factor = 0.8", "deadline_factor = 1\ndeadline = 3"), "", "not both");
    refused(text("priority = 2", "priority = -2"), "", "arrival 2");
    refused(String::new(), "", "no workflow arrives");
    refused(format!("{STREAM}[[host]]\nname = \"x\"\n"), "", "only who arrives");
    let twice = text("after_deadline = 0.15", "at = 3");
    refused(twice, "", "dated before");
    place.write("stream.toml", STREAM);
    let done = place.run(&format!("{line} --transfers anticipated"));
    assert_eq!(done.code, Some(2), "{}", done.err);
    assert!(done.err.contains("disturb"), "{}", done.err);
}

#[test]
fn workflows_share_processors_one_group_each() {
    let place = Place::new();
    let wishes = [r#""budget": 40,"#, r#""budget": 20,"#, r#""budget": 25,"#];
    place.write("three.json", three(wishes));
    // A takes the fastest two; B and C wait for them in turn, since one is left.
    let run = simulate(&place, "--policy exclusive --transfers anticipated");
    let (start, finish) = (column(&run, "start"), column(&run, "finish"));
    assert_eq!(start[1], finish[0]);
    assert_eq!(start[2], finish[1]);
    let on = |run: &Value, name: &str, proc: &str| {
        let tasks = run["schedule"].as_array().unwrap().iter();
        let of = |t: &&Value| t["task"].as_str().unwrap().starts_with(name);
        tasks.filter(of).filter(|t| t["processor"] == proc).count()
    };
    assert!(["A", "B", "C"].iter().all(|name| on(&run, name, "P1") == 0));
    // One processor each: three run side by side.
    let run = simulate(&place, "--policy exclusive --set processors=1 --transfers anticipated");
    assert_eq!(column(&run, "start"), [0.0, 0.0, 10.0]);
    assert_eq!((on(&run, "A", "P3"), on(&run, "B", "P2"), on(&run, "C", "P1")), (5, 3, 5));
    assert_eq!(column(&run, "finish"), [32.0, 30.0, 86.0]);
    // More than there are: all of them.
    let run = simulate(&place, "--policy exclusive --set processors=9 --set inside=dbcs");
    assert_eq!(run["finished"], true);
}

#[test]
fn an_ensemble_needs_and_keeps_common_limits() {
    let place = Place::new();
    let wishes = [r#""priority": 1,"#, r#""priority": 3,"#, r#""priority": 2,"#];
    place.write("three.json", three(wishes));
    for (rest, why) in [("", "a budget"), ("--budget 50", "a deadline")] {
        for policy in ["dpds", "wa-dpds"] {
            let line = format!("simulate --instance three.json --policy {policy} {rest}");
            let done = place.run(&line);
            assert_eq!(done.code, Some(2), "{line}");
            assert!(done.err.contains(why), "{}", done.err);
        }
    }
    let common = "--transfers anticipated --budget 66 --deadline 200s";
    let run = simulate(&place, &format!("--policy dpds {common}"));
    assert_eq!(run["finished"], true);
    assert!(run["totals"]["spent"].as_f64().unwrap() <= 66.0);
    // B matters most, then C: A does not fit into what they leave and is not begun.
    let run = simulate(&place, "--policy wa-dpds --budget 27 --deadline 200s");
    assert!(run["workflows"][0]["abandoned"].as_str().unwrap().contains("costs 20"), "{run}");
    assert!(column(&run, "finish")[1..].iter().all(|f| f.is_finite()));
    // At the deadline everything stops.
    let run = simulate(&place, "--policy dpds --budget 60 --deadline 20s");
    assert!(run["makespan"].as_f64().unwrap() <= 20.0);
    assert!(run["totals"]["spent"].as_f64().unwrap() <= 60.0);
}

#[test]
fn workflows_known_together_are_planned_together() {
    let place = Place::new();
    for (name, seed) in [("a", 1), ("b", 2), ("c", 3)] {
        place.ok(&format!("generate workflow daggen --tasks 12 --seed {seed} -o {name}.toml"));
    }
    let grid = "--platform examples/platforms/two-site-grid.toml";
    let several = "fairness-finish,fairness-current,share-cp,share-width,share-work,sequential,\
                   gap-search,interleave,group";
    let line = format!("plan a.toml b.toml c.toml {grid} --algorithm {several}");
    let done = place.run(&format!("{line} --json"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    let plans = all["plans"].as_array().unwrap();
    assert_eq!(plans.len(), 9);
    for plan in plans {
        let workflows = plan["workflows"].as_array().unwrap();
        assert_eq!(workflows.len(), 3, "{plan}");
        for workflow in workflows {
            let figure = |name: &str| workflow[name].as_f64().unwrap();
            assert!((figure("finish") / figure("alone") - figure("stretch")).abs() < 1e-9);
        }
    }
    let text = place.ok(&format!("plan a.toml b.toml c.toml {grid} --algorithm interleave"));
    assert!(text.contains("stretch") && text.contains("unfairness"), "{text}");
    // The title is as long as the names in it.
    assert!(text.lines().skip(1).all(|l| l.chars().count() <= 80), "{text}");
    let one = place.run(&format!("plan a.toml {grid} --algorithm group"));
    assert_eq!(one.code, Some(2));
    let wrong = place.run(&format!("plan a.toml b.toml {grid} --algorithm heft"));
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("heft plans one workflow, 2 are given"), "{}", wrong.err);
}

#[test]
fn a_stream_is_planned_as_known_together() {
    let place = Place::new();
    place.write("three.json", three(["", "", r#""priority": 2,"#]));
    let several = "fairness-finish,share-cp,gap-search,group";
    let done = place.run(&format!("plan --instance three.json --algorithm {several} --json"));
    assert_eq!(done.code, Some(0), "{}", done.err);
    let all: Value = serde_json::from_str(&done.out).unwrap();
    for plan in all["plans"].as_array().unwrap() {
        assert_eq!(plan["workflow"], "three");
        // C matters most and is named first; nothing of it starts before it arrives.
        let names: Vec<&str> = plan["workflows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|w| w["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["C", "A", "B"]);
        assert_eq!(column(plan, "arrived"), [10.0, 0.0, 0.0]);
        for task in plan["schedule"].as_array().unwrap() {
            let late = task["task"].as_str().unwrap().starts_with('C');
            assert!(!late || task["start"].as_f64().unwrap() >= 10.0, "{task}");
        }
        for workflow in plan["workflows"].as_array().unwrap() {
            let figure = |name: &str| workflow[name].as_f64().unwrap();
            let took = figure("finish") - figure("arrived");
            assert!((took / figure("alone") - figure("stretch")).abs() < 1e-9, "{workflow}");
        }
    }
    let text = place.ok("plan --instance three.json --algorithm group");
    assert!(text.contains("arrives") && text.contains("stretch"), "{text}");
    let wrong = place.run("plan --instance three.json --algorithm heft");
    assert_eq!(wrong.code, Some(2), "{}", wrong.err);
    // All or none of an ensemble fits.
    let limits = "--deadline 300s --budget";
    place.ok(&format!("plan --instance three.json --algorithm spss {limits} 70"));
    let none = place.run(&format!("plan --instance three.json --algorithm spss {limits} 30"));
    assert_eq!(none.code, Some(1), "{}", none.err);
}

#[test]
fn waiting_running_and_idle_lie_under_the_chart() {
    let place = Place::new();
    place.write("three.json", three([""; 3]));
    let out = place.ok("simulate --instance three.json --policy fcfs --gantt run.svg");
    let picture = place.read("run.svg");
    for course in ["workflows waiting", "workflows running", "processors idle"] {
        assert!(out.contains(course), "{out}");
        assert!(picture.contains(course), "{course}");
    }
    assert_eq!(picture.matches("class=\"course\"").count(), 3);
}

#[test]
fn limits_of_a_stream_hold_for_planners_of_limits() {
    let place = Place::new();
    let wish = r#""budget": 30, "deadline": 200,"#;
    place.write("three.json", three([wish; 3]));
    for rest in
        ["--policy qos --algorithm hbcs", "--policy qos", "--policy static --algorithm dbcs"]
    {
        let run = simulate(&place, rest);
        assert_eq!(run["finished"], true, "{rest}");
        assert!(run["totals"]["spent"].as_f64().unwrap() <= 90.0 + 1e-9, "{rest}");
    }
    // Where one has no budget, all together have none.
    place.write("three.json", three([wish, wish, ""]));
    let done = place.run("simulate --instance three.json --policy qos --algorithm hbcs");
    assert_eq!(done.code, Some(2), "{}", done.err);
}

#[test]
fn an_ensemble_gives_idle_machines_back() {
    let place = Place::new();
    let arrival = |at: u32| {
        format!("[[arrival]]\nworkflow = \"examples/workflows/montage.json\"\nat = {at}\n")
    };
    place.write("ens.toml", [0, 10, 20_000].map(arrival).concat());
    let cloud = "--platform examples/platforms/priced-cloud.toml";
    let line = format!(
        "simulate --arrivals ens.toml {cloud} --policy dpds --budget 40 --deadline 8h --json"
    );
    let run: Value = serde_json::from_str(&place.ok(&line)).unwrap();
    let until: Vec<f64> =
        run["leases"].as_array().unwrap().iter().map(|l| l["to"].as_f64().unwrap()).collect();
    // Two at the start; one goes in the long pause, one serves the last workflow.
    assert_eq!(until.len(), 2, "{until:?}");
    assert!(until.iter().any(|&to| to < 3600.0) && until.iter().any(|&to| to > 20_000.0));
    assert!(run["cost"].as_f64().unwrap() < 20.0, "{}", run["cost"]);
    assert_eq!(run["feasible"], true);
}

#[test]
fn our_own_policy_serves_each_workflow() {
    let place = Place::new();
    place.write("three.json", three([""; 3]));
    let all = simulate(&place, "--compare fdws,static,slackline --transfers anticipated");
    let ttr = |run: usize| all["runs"][run]["totals"]["mean_ttr"].as_f64().unwrap();
    // 2.37 and 2.93; the last of all ends later than under the plan for all as one.
    assert!(ttr(2) < ttr(0) && ttr(2) < ttr(1), "{} {} {}", ttr(0), ttr(1), ttr(2));
}
