//! Seeds: the files that are mutated. They are bundled files, outputs of the command, and the constants below.

use slackline::Sink;
use std::path::Path;

/// The verb or role for which a file is an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A workflow.
    Workflow,
    /// A platform.
    Platform,
    /// A scenario.
    Scenario,
    /// A schedule of the workflow `gauss` on `small-cluster`, or a document that holds one.
    Schedule,
    /// Workflows that arrive.
    Stream,
    /// Activities that are placed.
    Activities,
    /// A trace of an MPI code.
    Mpi,
    /// A stream of workflows as one instance.
    Instance,
    /// A parameter sweep (`WorkDescription`).
    Sweep,
    /// A grid that sweeps run on (`GridDescription`).
    Grid,
    /// The levels of a link of a grid over time.
    Course,
    /// The log of a run.
    Run,
    /// Decisions of a run of `gauss` on `small-cluster`.
    Decisions,
    /// Settings of a replay.
    Settings,
    /// Hosts of a replay.
    Hosts,
    /// Measurements of an MPI cluster.
    Measurements,
    /// The log of a batch system.
    BatchLog,
    /// A site with a batch system.
    BatchSite,
    /// A tape library and requests to it.
    Tape,
    /// A service stack with a workflow and a record.
    Stack,
    /// Operations on storages or files.
    Storage,
    /// Records of another workflow engine.
    Records,
}

impl FileKind {
    /// The kind of a file of the corpus, by the beginning of its name.
    pub fn named(name: &str) -> Option<FileKind> {
        let kinds = [
            ("workflow", FileKind::Workflow),
            ("platform", FileKind::Platform),
            ("scenario", FileKind::Scenario),
            ("schedule", FileKind::Schedule),
            ("stream", FileKind::Stream),
            ("activities", FileKind::Activities),
            ("mpi", FileKind::Mpi),
            ("instance", FileKind::Instance),
            ("sweep", FileKind::Sweep),
            ("grid", FileKind::Grid),
            ("course", FileKind::Course),
            ("run", FileKind::Run),
            ("decisions", FileKind::Decisions),
            ("settings", FileKind::Settings),
            ("hosts", FileKind::Hosts),
            ("measurements", FileKind::Measurements),
            ("batch-log", FileKind::BatchLog),
            ("batch-site", FileKind::BatchSite),
            ("tape", FileKind::Tape),
            ("stack", FileKind::Stack),
            ("storage", FileKind::Storage),
            ("records", FileKind::Records),
        ];
        kinds.into_iter().find(|(word, _)| name.starts_with(word)).map(|(_, kind)| kind)
    }
}

/// A file to mutate.
#[derive(Clone, Debug)]
pub struct Seed {
    /// Its role.
    pub kind: FileKind,
    /// Extension of the mutated file.
    pub extension: String,
    /// Content of the file.
    pub text: Vec<u8>,
}

/// Commands whose output file is a seed, with its kind and extension.
const WRITTEN: &[(&str, FileKind, &str)] = &[
    ("convert montage OUT", FileKind::Workflow, "dax"),
    ("convert fork-join OUT --to wfformat", FileKind::Workflow, "json"),
    ("convert gauss OUT --to instance --platform small-cluster", FileKind::Workflow, "json"),
    ("generate workflow daggen --tasks 12 -o OUT", FileKind::Workflow, "toml"),
    ("convert small-cluster OUT", FileKind::Platform, "xml"),
    ("convert two-site-grid OUT", FileKind::Platform, "xml"),
    (
        "generate scenario failure --platform small-cluster --seed 2 -o OUT",
        FileKind::Scenario,
        "toml",
    ),
    (
        "generate scenario sce --platform small-cluster --makespan 100 -o OUT",
        FileKind::Scenario,
        "toml",
    ),
    (
        "generate scenario failure --platform small-cluster --seed 3 -o OUT",
        FileKind::Scenario,
        "json",
    ),
    ("plan gauss --platform small-cluster -o OUT", FileKind::Schedule, "json"),
    ("plan gauss --platform small-cluster -o OUT", FileKind::Schedule, "csv"),
    ("simulate gauss --platform small-cluster --trace OUT", FileKind::Schedule, "jsonl"),
    (
        "simulate gauss --platform small-cluster --policy gtp/c --decisions OUT",
        FileKind::Decisions,
        "jsonl",
    ),
];

/// Commands whose standard output is a seed: documents that `show` and others read.
const PRINTED: &[(&str, FileKind)] = &[
    ("simulate gauss --platform small-cluster --json", FileKind::Schedule),
    ("plan gauss --platform small-cluster --algorithm heft,cpop --json", FileKind::Schedule),
    ("simulate gauss --platform small-cluster --compare static,gtp/c --json", FileKind::Schedule),
    ("show montage --json", FileKind::Schedule),
];

const STREAM: &str = "[[arrival]]\nworkflow = \"gauss\"\nat = 0\nowner = \"a\"\nbudget = 5\n\
                      [[arrival]]\nworkflow = \"fork-join\"\nat = 9\ndeadline = 3600\n";

const ACTIVITIES: &str = r#"{"name": "a", "config": {"network/model": "CM02"}, "activities": [
 {"id": "a", "kind": "exec", "host": "fast-0", "flops": 1e9, "priority": 2, "bound": 5e8},
 {"id": "c", "kind": "comm", "src": "fast-0", "dst": "slow-1", "bytes": 1000000, "rate": 1e6, "after": ["a"]},
 {"id": "p", "kind": "ptask", "hosts": ["fast-0", "slow-0"], "flops_per_host": [1e9, 2e9], "bytes_matrix": [0, 1e6, 0, 0]},
 {"id": "s", "kind": "sleep", "duration": 0.5, "after": ["c", "p"]}]}"#;

const MPI: &str = "0 init\n1 init\n0 compute 1e8\n0 send 1 0 1e6\n1 recv 0 0 1e6\n0 allreduce 1e4 1e5\n\
                   1 allreduce 1e4 1e5\n0 isend 1 1 10\n1 irecv 0 1 10\n0 wait 0 1 1\n1 wait 0 1 1\n\
                   0 barrier\n1 barrier\n0 finalize\n1 finalize\n";

const INSTANCE: &str = r#"{"name": "i", "processors": [{"id": "p", "price": 2}, {"id": "q", "price": 1}], "bandwidth": 5, "latency": 0.5,
 "billing": {"quantum": 1, "minimum": 0, "setup": 0}, "workflows": [
 {"name": "a", "arrival": 0, "owner": "x", "priority": 1, "budget": 90, "deadline": 80,
  "tasks": [{"id": "a1"}, {"id": "a2"}], "edges": [{"from": "a1", "to": "a2", "data": 3}], "exec": [[3, 4], [5, 2]]},
 {"name": "b", "arrival": 2.5, "tasks": [{"id": "b1"}], "edges": [], "exec": [[7, 6]]}]}"#;

const SWEEP: &str = "WorkDescription 1 4 2\nFile: <0> <f0> <1000> <1000>\nFile: <1> <f1> <2000> <2500>\n\
                     File: <2> <o0> <10> <10>\nFile: <3> <o1> <10> <12>\n\
                     Work: <0> <1 : 0> <1 : 2> <1 : 5> <1 : 5>\n\
                     Work: <1> <2 : 0 1> <1 : 3> <1 : 50> <1 : 40>\n";

const GRID: &str = "GridDescription 1\n0:ADD_CLUSTER <c0> <net> <0>\n0:ADD_HOST <c0> <h0> <cpu> <0> <0>\n\
                    5:ADD_CLUSTER <c1> <net> <1>\n5:ADD_HOST <c1> <h1> <cpu> <0> <0>\n\
                    9:CHANGE_HOST_BEHAVIOR <h1> <cpu> <1>\n60:REMOVE_HOST <h1>\n90:REMOVE_CLUSTER <c1>\n";

const COURSE: &str = "2\n10 100\n5 50\n";

const SETTINGS: &str = "\"smpi/os\" = \"0:2e-6:1e-9;1000:5e-6:5e-10\"\n\"smpi/iprobe\" = 1e-5\n\
                        \"network/model\" = \"SMPI\"\n\"smpi/async-small-thresh\" = 1000\n";

const MEASUREMENTS: &str = "kind,size,seconds\npingpong,1,1e-4\npingpong,1000,1.1e-4\npingpong,100000,9e-4\n\
                            pingpong,1000000,8.1e-3\nsend,10,1e-6\nsend,100000,5e-5\nisend,10,1e-6\n\
                            recv,10,2e-6\ncompute,1e6,1e-3\ncompute,2e6,2e-3\nboth,1e8,1.2e8\n";

const SWF: &str = "; MaxProcs: 8\n1 0 -1 10 6 -1 -1 6 10 -1 1 1 1 -1 1 -1 -1 -1\n\
                   2 1 3 10 8 -1 -1 8 10 -1 1 2 1 -1 1 -1 -1 -1\n3 2 -1 0 4 -1 -1 4 100 -1 1 1 2 -1 2 -1 -1 -1\n\
                   5 3 -1 7 2 -1 -1 -1 -1 -1 1 3 2 -1 2 -1 -1 -1\n4 2 -1 -1 2 -1 -1 2 9 -1 5 3 2 -1 2 -1 -1 -1\n";

const SACCT: &str = "JobIDRaw|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|State\n\
                     7|ann|g|q|2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60|5|4|COMPLETED\n\
                     7.batch||g||2024-01-01T00:00:00|2024-01-01T00:01:00|2024-01-01T00:02:00|60||4|COMPLETED\n\
                     8|bob|h|q|2024-01-01T00:00:30|None|2024-01-01T00:02:00|0|5|4|CANCELLED by 1\n\
                     9|bob|h|q|2024-01-01T00:00:31|Unknown|Unknown|0|5|4|PENDING\n";

const SITE: &str = r#"{"machine": {"nodes": 2, "cores_per_node": 4}, "priorities": {"1": 1, "2": 5},
 "caps": [{"by": "user", "name": "*", "cores": 6}, {"by": "group", "name": 2, "jobs": 1}], "pledges": {"1": 3, "2": 1},
 "window": 40, "deviation_window": 60, "power": {"idle": 3, "loaded": 10, "off": 1, "off_after": 5, "shutdown": 1, "boot": 2}}"#;

const STACK: &str = r#"{"tasks": [{"id": "a", "work": 4, "outputs": ["x"]}, {"id": "b", "work": 2, "inputs": ["x", "y"]}],
"files": {"x": 10, "y": 5}, "replicas": {"y": ["s"]}, "sites": {"k": {"speed": 1, "close": "s"},
"b": {"speed": 1, "batch": {"cores": 2, "policy": "easy", "background": [[1, 0, 5, 2, 9]]}}},
"storages": {"s": {"max_active": 1}}, "default_storage": "s", "links": {"l": {"bandwidth": 5}}, "routes": {"s k": ["l"], "s b": []},
"catalogue_latency": 0.5, "idle_timeout": 20, "max_attempts": 3, "pilots": [{"id": "p", "site": "k", "start": 1, "dies": 4},
{"id": "q", "site": "b", "submit": 1, "walltime": 30, "cores": 1}], "model": {"latency": {"k": 2}, "pacing": 1, "lifetime": 50},
"platform_model": {"sites": {"k": {"speed": 2}}, "links": {"l": {"bandwidth": 6}}}, "record": {"makespan": 20, "attempts":
{"a": [{"queued": 0, "pilot": "p", "start": 1, "end": 4, "result": "lost", "steps": []}, {"queued": 4, "pilot": "q", "start": 5, "end": 10,
"result": "done", "steps": [4, 1]}]}, "pilots": {"p": {"submit": 0, "start": 1, "exit": 4, "why": "died"}, "q": {"submit": 0, "start": 5}}}}"#;

const TAPE: &str = r#"{"library": {"drives": 2, "mount": {"distribution": "normal", "mean": 10, "deviation": 2}, "unmount": 5,
 "wind": 1, "rate": 10}, "weights": {"requests": 20, "age": 0.5}, "starvation": 25, "cache": 250, "requests": [
 {"id": "a", "file": "f", "tape": "T1", "position": 10, "size": 100, "arrival": 0},
 {"id": "b", "file": "g", "tape": "T1", "position": 3, "size": 50, "arrival": 2},
 {"id": "c", "file": "f", "tape": "T1", "position": 10, "size": 100, "arrival": 3},
 {"id": "d", "file": "h", "tape": "T2", "position": 0, "size": 100, "arrival": 4}]}"#;

const OPERATIONS: &str = r#"{"storages": {"d": {"model": "linear", "read": 100, "write": 50, "connection": 125, "host": "h"},
 "e": {"model": "concurrency", "read": [100, 60], "write": [30], "host": "g"},
 "s": {"model": "stochastic", "read": {"distribution": "uniform", "low": 1, "high": 3}, "write": 2, "host": "g"},
 "p": {"model": "piecewise", "host": "h", "segments": [{"from": 0, "read": 10, "write": 5}, {"from": 99, "read": 20, "write": 9}]}},
 "links": {"n": {"bandwidth": 60, "latency": 0.1}}, "routes": {"h g": ["n"]}, "operations": [
 {"id": "r", "op": "read", "storage": "d", "bytes": 1000, "host": "g"},
 {"id": "w", "op": "write", "storage": "p", "bytes": 500, "host": "h", "at": 2},
 {"id": "c", "op": "copy", "storage": "e", "to": "s", "bytes": 125, "after": ["r", "w"]},
 {"id": "t", "op": "transfer", "from": "h", "to": "g", "bytes": 0}]}"#;

const SCRIPT: &str = r#"{"storages": {"d": {"capacity": 1000, "files": {"/a": 300}}, "e": {"capacity": 500}},
 "mounts": {"h": {"/d": "d", "/": "e"}}, "script": [
 {"op": "open", "host": "h", "path": "/d/a", "as": "f", "create": true}, {"op": "seek", "handle": "f", "to": 250},
 {"op": "write", "handle": "f", "bytes": 150}, {"op": "read", "handle": "f", "bytes": 1}, {"op": "close", "handle": "f"},
 {"op": "move", "host": "h", "path": "/d/a", "to": "/b"}, {"op": "list", "host": "h", "path": "/"},
 {"op": "copy", "host": "h", "path": "/b", "to": "/d/c"}, {"op": "space", "host": "h", "path": "/d"}]}"#;

/// Records of Nextflow, Dask, RO-Crate, Makeflow and Slurm.
const RECORDS: &[(&str, &str)] = &[
    (
        "txt",
        "name\tstatus\texit\tsubmit\tduration\trealtime\tpeak_rss\tcpus\tmemory\thostname\tattempt\n\
         A (1)\tFAILED\t137\t2026-01-01 00:00:00.000\t5s\t4s\t1.5 GB\t2\t1 GB\tn1\t1\n\
         A (1)\tCOMPLETED\t0\t2026-01-01 00:00:06.000\t1m 1s\t1m\t2 GB\t2\t2 GB\tn1\t2\n\
         B (1)\tCACHED\t0\t-\t-\t0\t-\t1\t-\t-\t1\n",
    ),
    (
        "json",
        r#"[{"key": "a", "worker": "w1", "thread": 1, "nbytes": 1000, "status": "OK",
             "startstops": [{"action": "compute", "start": 10.0, "stop": 12.0}]},
            {"key": "c", "worker": "w2", "thread": 1, "nbytes": 8, "status": "OK",
             "startstops": [{"action": "transfer", "start": 13.0, "stop": 14.5, "source": "w1"},
                            {"action": "compute", "start": 14.5, "stop": 20.0}]}]"#,
    ),
    (
        "json",
        r#"{"@context": "x", "@graph": [
            {"@id": "a", "@type": "CreateAction", "name": "Run of #main/a", "object": [{"@id": "in"}], "result": [{"@id": "mid"}],
             "startTime": "2026-01-01T00:00:01", "endTime": "2026-01-01T00:00:03"},
            {"@id": "b", "@type": "CreateAction", "name": "Run of #main/b", "object": [{"@id": "mid"}], "result": [{"@id": "out"}],
             "startTime": "2026-01-01T00:00:04+01:00", "endTime": "2026-01-01T00:00:09"},
            {"@id": "mid", "@type": "File", "contentSize": "42"}]}"#,
    ),
    (
        "makeflowlog",
        "# NODE\t0\tcut a\n# CATEGORY\t0\t\"c\"\n# SOURCES\t0\ta\n# TARGETS\t0\tb\n# COMMAND\t0\tcut a\n\
         # STARTED 1000000\n1000000 0 1 7 1 1 0 0 0 2\n# FILE 2999999 b 2 1000\n3000000 0 2 7 1 0 1 0 0 2\n# COMPLETED 9000000\n",
    ),
    (
        "txt",
        "JobID|JobName|State|AllocCPUS|ReqMem|Submit|Start|End|NodeList|SubmitLine|MaxRSS|TotalCPU\n\
         1|a|COMPLETED|2|4G|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:31|n[1-2]|sbatch a||00:30.000\n\
         1.batch|batch|COMPLETED|2|||2026-01-01T00:00:01|2026-01-01T00:00:31|n1||1024K|00:30.000\n\
         2_1|b|c|RUNNING|1|2Gc|2026-01-01T00:00:00|2026-01-01T00:00:40|Unknown|n1|sbatch -d afterok:1 --array=1-2 b|||\n\
         2_2|b|CANCELLED by 7|1|2Gn|2026-01-01T00:00:00|Unknown|Unknown|None assigned|sbatch --dependency=afterany:1|||\n",
    ),
];

/// The log of a run; its other files are in `BESIDE`.
const LOG: &str = include_str!("../run/log.jsonl");

/// Files to which others refer, by name, with their content.
const BESIDE: &[(&str, &str)] = &[
    ("net", COURSE),
    ("cpu", "2\n50\n100\n"),
    ("s.work", SWEEP),
    ("g.grid", GRID),
    ("m.tit", MPI),
    ("log.swf", SWF),
    ("course/cpu", "2\n50\n100\n"),
    ("course/g.grid", GRID),
    ("run/workflow.toml", include_str!("../run/workflow.toml")),
    ("run/platform.toml", include_str!("../run/platform.toml")),
];

/// All seeds; files that they refer to are written into `folder`.
pub(crate) fn all(folder: &Path) -> Vec<Seed> {
    let run = |line: &str| {
        let words = std::iter::once("slackline").chain(line.split_whitespace());
        let out = Sink::default();
        slackline::run(words, out.clone(), Sink::default());
        out.text()
    };
    let seed =
        |kind, extension: &str, text: Vec<u8>| Seed { kind, extension: extension.into(), text };
    let mut seeds = vec![
        seed(FileKind::Stream, "toml", STREAM.into()),
        seed(FileKind::Activities, "json", ACTIVITIES.into()),
        seed(FileKind::Mpi, "tit", MPI.into()),
        seed(FileKind::Instance, "json", INSTANCE.into()),
        seed(FileKind::Sweep, "work", SWEEP.into()),
        seed(FileKind::Grid, "grid", GRID.into()),
        seed(FileKind::Course, "", COURSE.into()),
        seed(FileKind::Run, "jsonl", LOG.into()),
        seed(FileKind::Settings, "toml", SETTINGS.into()),
        seed(FileKind::Hosts, "txt", "fast-0\nslow-1\n".into()),
        seed(FileKind::Measurements, "csv", MEASUREMENTS.into()),
        seed(FileKind::BatchLog, "swf", SWF.into()),
        seed(FileKind::BatchLog, "txt", SACCT.into()),
        seed(FileKind::BatchSite, "json", SITE.into()),
        seed(FileKind::Tape, "json", TAPE.into()),
        seed(FileKind::Stack, "json", STACK.into()),
        seed(FileKind::Storage, "json", OPERATIONS.into()),
        seed(FileKind::Storage, "json", SCRIPT.into()),
    ];
    seeds.extend(RECORDS.iter().map(|(end, text)| seed(FileKind::Records, end, (*text).into())));
    for inner in ["course", "run"] {
        let _ = std::fs::create_dir_all(folder.join(inner));
    }
    for (name, text) in BESIDE {
        let _ = std::fs::write(folder.join(name), text); // a test checks that all seeds exist
    }
    let examples = folder.join("examples");
    run(&format!("examples {} --quiet", examples.display()));
    let bundled = [
        ("workflows", FileKind::Workflow),
        ("platforms", FileKind::Platform),
        ("scenarios", FileKind::Scenario),
    ];
    for (name, kind) in bundled {
        let entries = std::fs::read_dir(examples.join(name)).into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
            seeds.extend(std::fs::read(&file).ok().map(|text| seed(kind, &extension, text)));
        }
    }
    for (line, kind, extension) in WRITTEN {
        let out = folder.join(format!("made.{extension}"));
        run(&format!("{line} --quiet").replace("OUT", &out.to_string_lossy()));
        seeds.extend(std::fs::read(&out).ok().map(|text| seed(*kind, extension, text)));
        let _ = std::fs::remove_file(&out);
    }
    for (line, kind) in PRINTED {
        seeds.push(seed(*kind, "json", run(line).into()));
    }
    seeds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let seeds = all(folder.path());
        // Bundled platforms, workflows and scenarios, and what is made or written here.
        assert_eq!(seeds.len(), 22 + 12 + WRITTEN.len() + PRINTED.len() + RECORDS.len());
        assert!(seeds.iter().all(|seed| !seed.text.is_empty()));
    }
}
