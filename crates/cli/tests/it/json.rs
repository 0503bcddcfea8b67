//! docs/json.md against what the commands print: every member is listed there, and what is listed there
//! occurs. And what is written is read again.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Members by schema, as paths.
type Members = BTreeMap<String, BTreeSet<String>>;

const PAGE: &str = include_str!("../../../../docs/json.md");

/// The sections of the page: schema and text.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = PAGE.split("\n## ").skip(1);
    sections.filter_map(|s| s.split_once('\n')).filter(|(name, _)| name.starts_with("slackline/"))
}

/// The words between back ticks in the first column of tables.
fn documented() -> Members {
    let first = |line: &str| line.strip_prefix("| ")?.split(" |").next().map(str::to_string);
    let words = |cell: String| -> Vec<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_string).collect()
    };
    let members = |text: &str| text.lines().filter_map(first).flat_map(words).collect();
    sections().map(|(name, text)| (name.to_string(), members(text))).collect()
}

/// Adds the members of a value under their schema; a document inside another speaks for itself.
fn collect(value: &Value, schema: &str, path: &str, members: &mut Members) {
    match value {
        Value::Object(object) => {
            let own = object.get("schema").and_then(Value::as_str);
            let (schema, path) = own.map_or((schema, path), |own| (own, ""));
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(value, schema, &path, members);
                members.entry(schema.to_string()).or_default().insert(path);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, schema, &format!("{path}[]"), members);
            }
        }
        _ => {}
    }
}

/// Adds a document, or lines of them.
fn add(text: &str, members: &mut Members) {
    if let Ok(document) = serde_json::from_str::<Value>(text) {
        return collect(&document, "", "", members);
    }
    let mut schema = String::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        schema = line["schema"].as_str().map_or(schema, str::to_string);
        // The records of a run stand in docs/run.md.
        let line = line.as_object().unwrap();
        let is_record = schema == "slackline/run/1" && line.contains_key("n");
        let kept = |name: &str| !is_record || matches!(name, "n" | "at" | "crc");
        let line = line.iter().filter(|(name, _)| kept(name));
        // What policies are told is theirs.
        let flat = line.map(|(name, value)| match name.as_str() {
            "events" | "decisions" => (name.clone(), Value::Null),
            _ => (name.clone(), value.clone()),
        });
        collect(&Value::Object(flat.collect()), &schema, "", members);
    }
}

fn matches(documented: &str, member: &str) -> bool {
    match documented.strip_suffix(".*") {
        Some(head) => member.strip_prefix(head).is_some_and(|rest| rest.starts_with('.')),
        None => documented == member,
    }
}

const STREAM: &str = r#"
[[arrival]]
workflow = "examples/workflows/montage.json"
at = 5
owner = "ann"
deadline_factor = 0.8
budget_factor = 0.5

[[arrival]]
workflow = "examples/workflows/fork-join.toml"
after_deadline = 0.15
owner = "bob"
"#;

const TWO: &str = r#"{"bandwidth": 1, "processors": [{"id": "p"}, {"id": "q"}], "workflows": [
 {"name": "first", "tasks": [{"id": "t", "cost": 6}], "edges": []},
 {"name": "second", "arrival": 3, "tasks": [{"id": "t", "cost": 4}], "edges": []}]}"#;

const BAD_DAY: &str = r#"
[[host]]
name = "fast-1"
down = [{ at = "30%", lasts = 5, keeps_data = true }]

[[host]]
name = "slow-1"
availability = [[1, 0.5]]
"#;

const LAST_DAY: &str = r#"
[[host]]
name = "only"
down = [{ at = 1 }]
"#;

const MAKEFLOW_LOG: &str = "# STARTED 1000000\n1000000 0 1 77\n2000000 0 3 77\n2000000 0 1 78\n\
    # FILE 4000000 two 2 500\n4000000 0 2 78\n4000000 1 1 79\n9000000 1 2\ncut\n";

const ONE_HOST: &str = "name = \"one\"\n[host.only]\nspeed = \"1Gf\"\n";

const RECORDED: &str = r#"{"name": "r", "schemaVersion": "1.5", "workflow": {
 "specification": {"tasks": [{"id": "a", "name": "a", "parents": [], "children": [], "inputFiles": [], "outputFiles": []}], "files": []},
 "execution": {"makespanInSeconds": 5, "executedAt": "2024-01-01T00:00:00Z",
  "tasks": [{"id": "a", "runtimeInSeconds": 5, "machines": ["m"]}],
  "machines": [{"nodeName": "m", "cpu": {"coreCount": 2, "speedInMHz": 2000}, "memoryInBytes": 1000}]}}}"#;

const BY_HAND: &str = r#"{"makespan": 9, "schedule": [{"task": "a", "processor": "only", "start": 0, "finish": 9}],
 "leases": [{"host": "only", "from": 0, "to": 9}]}"#;

/// One task that does its work and one that never does.
const FAILS: &str = r#"
name = "fails"
[task.good]
time = "10ms"
outputs = ["g.txt"]
command = "echo good > g.txt"
[task.reader]
time = "10ms"
inputs = ["g.txt"]
command = "cat g.txt"
[task.bad]
time = "10ms"
command = "echo no luck >&2; exit 3"
"#;

/// A run that lasts as long as somebody looks at it.
const ENDLESS: &str =
    "[task.endless]\nkind = \"long\"\nseconds = 9\ngpus = 1\ncommand = \"sleep 100\"\n";

const EXPANDED: &str = "[samples]\nfile = \"sheet.csv\"\n[params]\nw = 1\n[defaults]\nseconds = 1\n\
    [task.t]\nforeach = \"s\"\ncommand = \"echo {w}\"\n";

/// Copies the folder of a run, as if it had been stopped half-way.
fn cut(place: &Place, run: &str, to: &str) {
    let (run, to) = (place.path().join(run), place.path().join(to));
    std::fs::create_dir(&to).unwrap();
    for file in ["workflow.json", "platform.toml"] {
        std::fs::copy(run.join(file), to.join(file)).unwrap();
    }
    let log = std::fs::read_to_string(run.join("log.jsonl")).unwrap();
    let lines: Vec<&str> = log.lines().collect();
    std::fs::write(to.join("log.jsonl"), lines[..lines.len() / 2].join("\n") + "\n").unwrap();
}

const TOGETHER: &str = r#"{"name": "t", "processors": [{"id": "p"}, {"id": "q"}], "bandwidth": 5, "workflows": [
 {"name": "a", "arrival": 0, "tasks": [{"id": "a1"}], "edges": [], "exec": [[3, 4]]},
 {"name": "b", "arrival": 2, "tasks": [{"id": "b1"}], "edges": [], "exec": [[7, 6]]}]}"#;

/// A platform on which everything is limited.
const LIMITED: &str = r#"
storage = "9TB"
[resources]
matlab = 2
[host.big]
speed = "1Gf"
cores = 4
memory = "32GB"
gpus = { a100 = 2 }
resources = { scratch = 5 }
windows = [["0s", "9h"]]
storage = "1TB"
[cluster.small]
count = 2
speed = "1Gf"
shared-resources = { io = 3 }
"#;

const CAMPAIGN: &str = r#"
name = "tiny"
[workflows.random]
generate = "daggen"
tasks = 5
[platforms.flat]
generate = "processors"
[methods]
plan = ["heft", "cpop"]
simulate = ["static"]
"#;

/// Four blocks in which w always wins, but the means over all runs say otherwise; x depends on the factor.
fn results() -> String {
    let mut text = "side,repetition,method,status,makespan,kept\n".to_string();
    for (side, sign) in [("left", 1.0), ("right", -1.0)] {
        for i in 0..8 {
            let base = 100.0 + 200.0 * f64::from(i);
            let rows = [("v", base, 1), ("w", base + sign * (1.0 + f64::from(i)), i % 2)];
            for (method, makespan, kept) in rows {
                text += &format!("{side},{i},{method},done,{makespan},{kept}\n");
            }
            if i < 3 && side == "left" {
                text += &format!("{side},{i},x,done,{},1\n", base + 20.0)
            } else {
                text += &format!("{side},{i},x,failed,,\n")
            }
        }
    }
    text
}

/// A place with all that the commands need.
fn place() -> Place {
    let place = Place::new();
    place.write("stream.toml", STREAM);
    place.write("two.json", TWO);
    place.write(
        "looped.toml",
        "[loop.l]\niterations = 2\n[task.t]\nin = \"l\"\ncommand = \"true\"\n",
    );
    place.write("bad.toml", BAD_DAY);
    place.write("last.toml", LAST_DAY);
    place.write("one.toml", ONE_HOST);
    place.write("limited.toml", LIMITED);
    for (folder, text) in [("worlds", BAD_DAY), ("last", LAST_DAY)] {
        std::fs::create_dir(place.path().join(folder)).unwrap();
        place.write(&format!("{folder}/1.toml"), text);
        place.write(&format!("{folder}/2.toml"), text);
    }
    place.write("recorded.json", RECORDED);
    place.write("net", "1\n10 100\n");
    place.write("cpu", "1\n50\n");
    place.write(
        "g.grid",
        "GridDescription 1\n0:ADD_CLUSTER <c0> <net> <0>\n0:ADD_HOST <c0> <h0> <cpu> <0> <0>\n",
    );
    place.write("s.work", "WorkDescription 1 2 1\nFile: <0> <f0> <10> <10>\nFile: <1> <f1> <10> <10>\nWork: <0> <1 : 0> <1 : 1> <1 : 5> <1 : 5>\n");
    place.write("act.json", r#"{"name": "a", "activities": [{"id": "a", "kind": "exec", "host": "only", "flops": 1e9}]}"#);
    place.write("together.json", TOGETHER);
    place.write("by-hand.json", BY_HAND);
    let job = "-1 10 2 -1 -1 2 20 -1 1 1 1 -1 1 -1 -1 -1";
    place.write(
        "log.swf",
        format!("1 0 {job}\n2 5 {job}\n3 6 -1 10 9 -1 -1 9 5 -1 1 1 1 -1 1 -1 -1 -1\n4\n"),
    );
    place.write(
        "site.json",
        r#"{"machine": {"cores": 4}, "pledges": {"1": 1}, "deviation_window": 10,
        "power": {"idle": 1, "loaded": 2, "off_after": 10}}"#,
    );
    place.write(
        "jobs.txt",
        "JobIDRaw|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|State\n\
         7|ann|g|q|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|4|COMPLETED\n",
    );
    place.write("started.swf", "1 0 5 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n2 3 9 10 1 -1 -1 1 10 -1 1 1 1 -1 1 -1 -1 -1\n");
    place.write(
        "tape.json",
        r#"{"library": {"drives": 1, "mount": 1, "unmount": 1, "wind": 1, "rate": 10}, "cache": 100, "requests": [
        {"id": "a", "file": "f", "tape": "T", "position": 1, "size": 10, "arrival": 0},
        {"id": "b", "file": "f", "tape": "T", "position": 1, "size": 10, "arrival": 1},
        {"id": "c", "file": "f", "tape": "T", "position": 1, "size": 10, "arrival": 9}]}"#,
    );
    place.write(
        "ops.json",
        r#"{"storages": {"d": {"model": "linear", "read": 100, "write": 50, "host": "h"}},
        "operations": [{"id": "r", "op": "read", "storage": "d", "bytes": 1000}]}"#,
    );
    place.write(
        "script.json",
        r#"{"storages": {"d": {"capacity": 10, "files": {"/a": 1}}}, "mounts": {"h": {"/": "d"}}, "script": [
        {"op": "size", "host": "h", "path": "/a"}, {"op": "space", "host": "h", "path": "/"}]}"#,
    );
    place.write(
        "leases.json",
        r#"{"tasks": [{"id": "a", "cost": 60}], "edges": [], "bandwidth": null,
            "processors": [{"id": "p", "price": 1, "leasable": true}], "billing": {"quantum": 60}}"#,
    );
    place.write("w.makeflow", "two: one\n\tmake two\nthree: two\n\tmake three\n");
    place.write("w.makeflowlog", MAKEFLOW_LOG);
    place.write("history.txt", crate::bridges::history());
    place.write("elsewhere.txt", crate::bridges::history());
    place.write("results.csv", results());
    place.write("campaign.toml", CAMPAIGN);
    place.write("endless.toml", ENDLESS);
    place.write("expanded.toml", EXPANDED);
    place.write("sheet.csv", "s\na\nb\n");
    place.write("ring.tit", "0 init\n0 compute 1e9\n0 allreduce 8 0\n0 finalize\n");
    place
}

/// Commands whose output is taken, and files they write.
const PRINT: &[&str] = &[
    "plan W/montage.json -p P/two-site-grid.toml --robust --json",
    "plan W/montage.json -p P/priced-cloud.toml --budget 1 --deadline 1h --json",
    "plan W/montage.json -p P/priced-cloud.toml --budget 1 --deadline 1h --front --json",
    "plan W/montage.json -p P/priced-cloud.toml -a all --budget 1 --deadline 1h --iterations 20 --json",
    "plan W/fork-join.toml -a heft,peft --set rank=median --json",
    "plan W/montage.json W/epigenomics.dax -a fairness-finish,share-cp --json",
    "plan --instance two.json -a group --json",
    "plan recorded.json --json",
    "plan W/gpu-training.toml -p P/gpu-cluster.toml --json",
    "simulate W/gpu-training.toml -p P/gpu-cluster.toml --policy just-in-time --json",
    "show W/gpu-training.toml --json",
    "show limited.toml --json",
    "plan --instance together.json -a fairness-finish --json",
    "plan W/gauss.dot -a all --iterations 20 --json",
    "plan W/gauss.dot -p cluster.toml -a all --iterations 20 --json",
    "plan W/gauss.dot W/fork-join.toml -p cluster.toml -a all --json",
    "simulate W/epigenomics.dax -p P/small-cluster.toml --scenario bad.toml --policy gtp --set threshold=1 --json",
    "simulate W/montage.json -p P/priced-cloud.toml --deadline 1h --budget 9 --json",
    "simulate W/gauss.dot --json",
    "simulate recorded.json --json",
    "simulate W/gauss.dot -p one.toml --scenario last.toml --json",
    "simulate --arrivals stream.toml -p P/priced-cloud.toml --compare rank-hybd,fdws --json",
    "simulate s.work -p g.grid --json",
    "simulate W/epigenomics.dax -p P/small-cluster.toml --scenario worlds --compare static,slackline --json",
    "simulate W/gauss.dot -p one.toml --scenario last --json",
    "simulate --activities act.json -p one.toml --json",
    "show W/assembly.toml --json",
    "show leases.json --json",
    "plan W/assembly.toml -p P/priced-cloud.toml -a deferred --set pool=all --budget 1 --json",
    "simulate W/assembly.toml -p P/priced-cloud.toml --policy combined --set adaptive=yes --budget 1 --deadline 9h --json",
    "simulate W/assembly.toml -p P/small-cluster.toml --policy static --run 1 --json",
    "simulate W/assembly.toml -p P/priced-cloud.toml --policy eager --set adaptive=yes --budget 1 --deadline 9h --runs 9 --json",
    "compare results.csv --json",
    "compare campaign.toml --json",
    "compare results.csv --by side --metric kept --ignore makespan --json",
    "compare results.csv results.csv --no-regression --json",
    "versus heft cpop --iterations 80 --json",
    "what-if W/epigenomics.dax -p P/priced-cloud.toml -a heft cores x4 --json",
    "what-if W/gauss.dot -p one.toml --scenario last.toml speed x2 --json",
    "what-if --arrivals stream.toml -p P/priced-cloud.toml --policy fdws speed x2 --json",
    "versus all --iterations 8 --tasks 3 --json",
    "algorithms --json",
    "reproduce --json",
    "reproduce selective-rescheduling --quick --json",
    "reproduce metaheuristics --quick --graphs 2 --json",
    "reproduce selective-rescheduling --quick --graphs 1 --list-cells --json",
    "reproduce selective-rescheduling --quick --graphs 1 --emit-cell 40 -o cell --json",
    "show recorded.json --json",
    "show P/priced-cloud.toml --json",
    "show plan.json -w W/gauss.dot --json",
    "validate plan.json -w W/gauss.dot --json",
    "generate workflow daggen --tasks 5 --count 2 -o graphs --json",
    "generate platform cluster --count 2 -o clusters --json",
    "run real.toml -p P/four-sites.toml --policy static --retries 1 --folder real.run --json",
    "run real.toml -p P/four-sites.toml --policy static --retries 1 --folder real.run --dry-run --force good --json",
    "run real.toml -p P/four-sites.toml --policy static --retries 1 --folder real.run --json",
    "status real.run --json",
    "log real.run --json",
    "show expanded.toml --param w=2 --json",
    "status live.run --json",
    "stop live.run --json",
    "simulate --replay cut --json",
    "run looped.toml -j 1 --folder looped.run --json",
    "diff real.json made.run --json",
    "run deliveries.toml -p delivered.toml --policy static --throttle --folder taught.run --json",
    "run uneven.toml -p pair.toml --policy just-in-time --folder uneven.run --json",
    "run uneven.toml -p pair.toml --policy just-in-time --folder uneven.run --json",
    "clean uneven.run --json",
    "calibrate taught.run -o learnt --json",
    "calibrate looped.run -o looped --json",
    "centre batch log.swf --site site.json --policy priority-easy --by week --lenient --json",
    "centre batch jobs.txt --cores 8 --policy easy --json",
    "centre tape tape.json --policy fifo --json",
    "centre storage ops.json --json",
    "platform from-logs recorded.json north:started.swf run.jsonl broken.jsonl --lenient --json",
    "platform from-logs made.run --stack seen.toml --json",
    "centre attribute made.run --stack seen.toml --json",
    "centre storage script.json --json",
    "centre stack pilot-stack --json",
    "centre stack pilot-stack --pilots 1,3 --json",
    "centre adopt --jobs 60 --replicas 4 --candidate easy --trials 2 --json",
    "centre attribute pilot-stack --json",
    "calibrate recorded.json -o fitted --json",
    "mpirun -np 1 -p one.toml --json ./one",
    "import w.makeflow w.makeflowlog --json",
    "explain w.makeflow w.makeflowlog --json",
    "advise history.txt --json",
    "plan history.txt -p elsewhere.txt --json",
    "simulate history.txt -p elsewhere.txt --json",
    "what-if history.txt -p elsewhere.txt speed x2 --json",
    "replay ring.tit -p one.toml --dates --profile --explain-collectives --json",
];

const MPI_PROGRAM: &str =
    "#include <mpi.h>\nint main(int n, char **w) { MPI_Init(&n, &w); return MPI_Finalize(); }\n";

const WRITE: &[(&str, &[&str])] = &[
    ("mpicc one.c -o one", &[]),
    ("generate workflow montage --tasks 20 --runnable --mean-seconds 0.01s -o made/w.json", &[]),
    ("plan made/w.json -p P/four-sites.toml -o real.json", &[]),
    (
        "run made/w.json -p P/four-sites.toml --policy slackline --folder made.run --results taken",
        &["made.run/log.jsonl", "taken/manifest.json"],
    ),
    ("run endless.toml --gpus 1 --folder live.run --detach", &[]),
    ("generate platform cluster --hosts 8 -o cluster.toml", &[]),
    ("plan W/gauss.dot -o plan.json", &["plan.json"]),
    ("plan W/gpu-training.toml -p P/gpu-cluster.toml -o pools.json", &["pools.json"]),
    ("plan W/montage.json -p P/two-site-grid.toml -o grid.json", &["grid.json"]),
    ("convert by-hand.json leased.json -w recorded.json -p one.toml", &["leased.json"]),
    (
        "simulate W/epigenomics.dax -p P/small-cluster.toml --scenario bad.toml --policy gtp --trace run.jsonl --decisions log.jsonl",
        &["run.jsonl", "log.jsonl"],
    ),
    (
        "simulate W/epigenomics.dax -p P/small-cluster.toml --scenario slow-day --policy slackline --decisions why.jsonl",
        &["why.jsonl"],
    ),
];

#[test]
fn documents_are_as_documented() {
    let place = place();
    let mut members = Members::new();
    let line =
        |text: &str| text.replace("W/", "examples/workflows/").replace("P/", "examples/platforms/");
    place.write("one.c", MPI_PROGRAM);
    for (command, files) in WRITE {
        place.ok(&line(command));
        files.iter().for_each(|file| add(&place.read(file), &mut members));
    }
    place.write("real.toml", FAILS);
    place.write("broken.jsonl", format!("{}no JSON\n", place.read("run.jsonl")));
    common::runs::deliveries(&place);
    common::runs::uneven(&place);
    cut(&place, "made.run", "cut");
    for command in PRINT {
        let done = place.run(&line(command));
        assert!(!done.out.is_empty(), "{command}: {}", done.err);
        add(&done.out, &mut members);
    }
    let documented = documented();
    let mut wrong = Vec::new();
    for (schema, found) in &members {
        let Some(known) = documented.get(schema) else {
            wrong.push(format!("{schema} is not documented"));
            continue;
        };
        for member in found.iter().filter(|m| !known.iter().any(|d| matches(d, m))) {
            wrong.push(format!("{schema}: {member} is not documented"));
        }
    }
    for (schema, known) in &documented {
        let found = members.get(schema).cloned().unwrap_or_default();
        for member in known.iter().filter(|d| !found.iter().any(|m| matches(d, m))) {
            wrong.push(format!("{schema}: {member} is documented but was not seen"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn examples_are_of_their_schema() {
    let documented = documented();
    for (schema, text) in sections() {
        let example = text.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let value: Value = serde_json::from_str(example).unwrap();
        let mut members = Members::new();
        collect(&value, schema, "", &mut members);
        let known = &documented[schema];
        for member in &members[schema] {
            assert!(known.iter().any(|d| matches(d, member)), "{schema}: {member}");
        }
    }
}

/// Whatever holds a schedule is one to the verbs that take schedules.
#[test]
fn what_is_written_is_read() {
    let place = Place::new();
    let world = "--workflow examples/workflows/gauss.dot --platform small-cluster";
    let gauss = "examples/workflows/gauss.dot --platform small-cluster";
    place.ok(&format!("plan {gauss} -o plan.json"));
    place.ok(&format!("plan {gauss} -o plan.csv"));
    place.write("document.json", place.ok(&format!("plan {gauss} --json")));
    place.write("plans.json", place.ok(&format!("plan {gauss} -a hcpa,heft --json")));
    place.write("run.json", place.ok(&format!("simulate {gauss} --trace run.jsonl --json")));
    place.write(
        "runs.json",
        place.ok(&format!("simulate {gauss} --compare static,slackline --json")),
    );
    let planned = place.ok(&format!("simulate {gauss} --schedule plan.json --json"));
    let end = |text: &str| serde_json::from_str::<Value>(text).unwrap()["makespan"].as_f64();
    for file in [
        "plan.json",
        "plan.csv",
        "document.json",
        "plans.json",
        "run.json",
        "runs.json",
        "run.jsonl",
    ] {
        place.ok(&format!("validate {file} {world}"));
        assert!(place.ok(&format!("show {file} {world}")).contains('│'), "{file}");
        let run = place.ok(&format!("simulate {gauss} --schedule {file} --json"));
        assert!(end(&run) <= end(&planned), "{file}");
        for target in ["again.json", "again.csv", "again.jed"] {
            place.ok(&format!("convert {file} {target} {world}"));
        }
    }
    place.ok(&format!("convert run.jsonl again.jsonl {world}"));
    assert_eq!(place.read("again.jsonl"), place.read("run.jsonl"));
    place.ok(&format!("convert plan.csv again.json {world}"));
    place.ok(&format!("convert again.json again.csv {world}"));
    assert_eq!(place.read("again.csv"), place.read("plan.csv"));
    // What has no picture is shown by its members, without its workflow.
    for file in ["document.json", "plans.json", "run.json", "runs.json", "run.jsonl"] {
        assert!(place.ok(&format!("show {file}")).starts_with("slackline/"), "{file}");
    }
    place.write("list.json", place.ok("algorithms --json"));
    assert!(place.ok("show list.json").contains("heft"));
    // Forms for viewers hold less.
    place.ok(&format!("simulate {gauss} --trace run.paje"));
    place.ok(&format!("simulate {gauss} --trace chrome.json"));
    for file in ["run.paje", "chrome.json"] {
        let error = place.fails(2, &format!("simulate {gauss} --schedule {file}"));
        assert!(error.contains("for viewers") && error.contains(".jsonl"), "{error}");
        let error = place.fails(2, &format!("show {file}"));
        assert!(error.contains("for viewers"), "{error}");
    }
    let error = place.fails(2, &format!("simulate {gauss} --trace run.txt"));
    assert!(error.contains(".jsonl"), "{error}");
}
