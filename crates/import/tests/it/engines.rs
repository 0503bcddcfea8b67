//! Records of each engine, written here in the form in which the engine leaves them.

#![allow(clippy::unwrap_used)]

use slackline_import::{Engine, Options, Origin, Outcome, RecordedRun, read};
use slackline_io::FileAccess;
use std::path::Path;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn import(folder: &Path) -> RecordedRun {
    let run = read(&[folder.to_path_buf()], &Options::default(), &FileAccess::default()).unwrap();
    check(&run);
    run
}

/// Checks properties of every import: it can be handed over, and a clean trace has every attempt once.
fn check(run: &RecordedRun) {
    let document = run.document().unwrap();
    let platform = run.platform().unwrap();
    assert_eq!(document.workflow.len(), run.tasks.len());
    assert_eq!(platform.hosts().len(), run.hosts.len());
    let schedule = run.schedule();
    let cores: u32 = platform.hosts().iter().map(|host| host.cores).sum();
    for placement in schedule.placements.iter().flatten() {
        assert!(placement.procs().iter().all(|proc| proc.0 < cores));
        assert!(placement.start >= 0.0 && placement.finish >= placement.start);
    }
    let mut bytes = Vec::new();
    slackline_formats::Format::WfFormat.write(&document, &mut bytes).unwrap();
    let again =
        slackline_formats::Format::WfFormat.read(std::str::from_utf8(&bytes).unwrap()).unwrap();
    assert_eq!(again.workflow.edge_count(), document.workflow.edge_count());
    run.trace();
}

fn fails(folder: &Path) -> String {
    read(&[folder.to_path_buf()], &Options::default(), &FileAccess::default())
        .unwrap_err()
        .to_string()
}

/// Two outputs of one job are two records; a repeated attempt is in the log.
#[test]
fn snakemake_joins_records_of_a_job() {
    let folder = tempfile::tempdir().unwrap();
    let record = |name: &str, rule: &str, hash: u32, inputs: &str, start: f64, end: f64| {
        use base64::Engine as _;
        let file = base64::engine::general_purpose::STANDARD.encode(name);
        let text = format!(
            "{{\"rule\": \"{rule}\", \"input\": [{inputs}], \"shellcmd\": \"run {rule}\", \"record_format_version\": 6, \
             \"job_hash\": {hash}, \"starttime\": {start}, \"endtime\": {end}, \"incomplete\": false}}"
        );
        write(folder.path(), &format!(".snakemake/metadata/{file}"), &text);
    };
    record("a/left", "split", 1, "\"data/in\"", 100.0001, 104.0);
    record("a/right", "split", 1, "\"data/in\"", 100.0, 104.1);
    record("b/out", "join", 2, "\"a/left\", \"a/right\"", 110.0, 115.0);
    write(folder.path(), "b/out", "12345");
    write(
        folder.path(),
        ".snakemake/log/2026.snakemake.log",
        "Host: node\nSnakemake version: 9.1.0\nProvided cores: 4\n\
         [Thu Jan  1 00:01:45 1970]\nrule join:\n    input: a/left, a/right\n    output: b/out\n    jobid: 2\n    \
         wildcards: x=7\n    threads: 2\n    resources: mem_mb=500, runtime=5\n\
         [Thu Jan  1 00:01:48 1970]\nError in rule join:\n    jobid: 2\n\
         [Thu Jan  1 00:01:50 1970]\nrule join:\n    output: b/out\n    jobid: 2\n    wildcards: x=7\n    threads: 2\n",
    );
    let run = import(folder.path());
    assert_eq!(
        (run.engine, run.tasks.len(), run.version.as_deref()),
        (Engine::Snakemake, 2, Some("9.1.0"))
    );
    assert_eq!(run.tasks[0].attempts[0].seconds(), Some(4.1f64).map(|_| 104.1 - 100.0));
    assert_eq!(run.parents(), [vec![], vec![0]]);
    let join = &run.tasks[1];
    assert_eq!((join.name.as_str(), join.attempts.len()), ("join:7", 2));
    assert_eq!(
        (join.attempts[0].outcome, join.attempts[0].seconds()),
        (Outcome::Failed, Some(3.0))
    );
    assert_eq!(join.attempts[1].cores.unwrap().value, 2.0);
    let sizes: Vec<Option<f64>> = run.files.iter().map(|f| f.bytes.map(|b| b.value)).collect();
    assert_eq!(sizes.iter().flatten().collect::<Vec<_>>(), [&5.0]);
}

/// Raw or human units, any columns; a line after a failure of the same task is its next attempt.
#[test]
fn nextflow_joins_tasks_along_processes() {
    let folder = tempfile::tempdir().unwrap();
    let trace = "task_id\tname\tstatus\texit\tsubmit\tduration\trealtime\tpeak_rss\n\
        1\tW:ALIGN (s1)\tFAILED\t137\t2026-01-01 00:00:00.000\t5s\t4s\t1.5 GB\n\
        2\tW:ALIGN (s2)\tCOMPLETED\t0\t2026-01-01 00:00:00.000\t8s\t7s\t0\n\
        3\tW:ALIGN (s1)\tCOMPLETED\t0\t2026-01-01 00:00:06.000\t1m 1s\t1m\t2 GB\n\
        4\tW:SORT (s2)\tCOMPLETED\t0\t2026-01-01 00:00:09.000\t2s\t693ms\t-\n\
        5\tW:SORT (s1)\tCOMPLETED\t0\t2026-01-01 00:01:08.000\t2s\t1s\t-\n\
        6\tW:REPORT\tCOMPLETED\t0\t2026-01-01 00:01:11.000\t2s\t1s\t-\n";
    write(folder.path(), "trace.txt", trace);
    write(
        folder.path(),
        "dag.dot",
        "digraph \"pipeline_dag\" {\np0 [label=\"ALIGN\"];\np1 [shape=circle,label=\"\",xlabel=\"map\"];\n\
         p0 -> p1;\np2 [label=\"SORT\"];\np1 -> p2 [label=\"bam\"];\np3 [label=\"REPORT\"];\np2 -> p3;\n}\n",
    );
    let run = import(folder.path());
    let names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["ALIGN:s1", "ALIGN:s2", "SORT:s2", "SORT:s1", "REPORT"]);
    assert_eq!(run.parents(), [vec![], vec![], vec![1], vec![0], vec![2, 3]]);
    assert!(run.tasks[2].after.iter().all(|(_, origin)| *origin == Origin::Assumed));
    let first = &run.tasks[0].attempts;
    assert_eq!((first.len(), first[0].outcome), (2, Outcome::OutOfMemory));
    assert_eq!(first[1].peak_memory.unwrap().value, 2.0 * 1024f64.powi(3));
    assert_eq!(run.tasks[1].attempts[0].peak_memory, None, "0 is not a measurement");
    assert_eq!(run.makespan(), Some(73.0));
    write(folder.path(), "trace.txt", &trace.replace("COMPLETED", "DONE"));
    assert!(fails(folder.path()).contains("unknown status 'DONE'"));
}

#[test]
fn parsl_reads_its_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("monitoring.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE workflow (run_id, workflow_name, time_began, time_completed, host);
             CREATE TABLE task (task_id, run_id, task_depends, task_func_name, task_memoize, task_inputs, task_outputs);
             CREATE TABLE try (try_id, task_id, run_id, hostname, task_executor, task_try_time_launched,
               task_try_time_running, task_try_time_returned, task_fail_history);
             CREATE TABLE node (run_id, hostname, cpu_count, total_memory);
             CREATE TABLE status (task_id, task_status_name, timestamp, run_id, try_id);
             CREATE TABLE resource (task_id, try_id, run_id, psutil_process_memory_resident, psutil_process_time_user,
               psutil_process_time_system, psutil_process_disk_read, psutil_process_disk_write, psutil_process_pid, timestamp);
             INSERT INTO workflow VALUES ('r', 'w.py', '2026-01-01 00:00:00', '2026-01-01 00:01:00', 'm');
             INSERT INTO node VALUES ('r', 'n1', 2, 8000000000);
             INSERT INTO task VALUES (0, 'r', '', 'make', '0', 'None', '[<File at 0x1 url=x path=/d/a b filename=a b>]');
             INSERT INTO task VALUES (1, 'r', '0', 'use', '0', '[<File at 0x2 url=x path=/d/a b filename=a b>]', 'None');
             INSERT INTO task VALUES (2, 'r', '0,1', 'end', '0', 'None', 'None');
             INSERT INTO try VALUES (0, 0, 'r', 'n1', 'htex', '2026-01-01 00:00:01', '2026-01-01 00:00:02', '2026-01-01 00:00:05', 'boom');
             INSERT INTO try VALUES (1, 0, 'r', 'n1', 'htex', '2026-01-01 00:00:05', '2026-01-01 00:00:06', '2026-01-01 00:00:10', '');
             INSERT INTO try VALUES (0, 1, 'r', 'n1', 'htex', '2026-01-01 00:00:10', '2026-01-01 00:00:11', '2026-01-01 00:00:20', '');
             INSERT INTO try VALUES (0, 2, 'r', 'n1', 'htex', '2026-01-01 00:00:20', '2026-01-01 00:00:21', NULL, '');
             INSERT INTO resource VALUES (1, 0, 'r', 5000.0, 1.0, 0.5, 7.0, 0.0, 9, '2026-01-01 00:00:19');
             INSERT INTO resource VALUES (2, 0, 'r', 6000.0, 1.5, 0.5, 7.0, 0.0, 9, '2026-01-01 00:00:22');
             INSERT INTO resource VALUES (2, 0, 'r', 5500.0, 2.0, 0.75, 9.0, 0.0, 9, '2026-01-01 00:00:23');",
        )
        .unwrap();
    drop(database);
    let run = import(folder.path());
    assert_eq!(run.parents(), [vec![], vec![0], vec![0, 1]]);
    assert_eq!(
        run.tasks[0].attempts.iter().map(|a| a.outcome).collect::<Vec<_>>(),
        [Outcome::Failed, Outcome::Completed]
    );
    assert_eq!(run.tasks[1].attempts[0].peak_memory.unwrap().value, 5000.0);
    // The worker's process ran both: what it took before is not of the second.
    let second = &run.tasks[2].attempts[0];
    assert_eq!((second.outcome, second.peak_memory.unwrap().value), (Outcome::Open, 6000.0));
    assert_eq!((second.cpu.unwrap().value, second.read.unwrap().value), (1.25, 2.0));
    assert_eq!(run.tasks[1].attempts[0].cpu, None);
    assert_eq!(run.summary().edges, 3);
    // A damaged database is an error, not a panic.
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2000..9000].fill(7);
    std::fs::write(&path, bytes).unwrap();
    assert!(fails(folder.path()).contains("cannot be read as a database"));
}

/// Transfers name their source, so that bandwidth follows from the size of the results that lay there.
#[test]
fn dask_joins_graph_and_stream() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "graph.json",
        "{\"c\": [\"a\", \"b\"], \"a\": [], \"b\": [], \"alias\": [\"c\"]}",
    );
    write(
        folder.path(),
        "stream.json",
        r#"[{"key": "a", "worker": "w1", "thread": 1, "nbytes": 1000, "status": "OK",
             "startstops": [{"action": "compute", "start": 10.0, "stop": 12.0}]},
            {"key": "b", "worker": "w2", "thread": 2, "nbytes": 3000, "status": "OK",
             "startstops": [{"action": "compute", "start": 10.5, "stop": 13.0}]},
            {"key": "c", "worker": "w1", "thread": 1, "nbytes": 8, "status": "OK",
             "startstops": [{"action": "transfer", "start": 13.0, "stop": 14.5, "source": "w2"},
                            {"action": "compute", "start": 14.5, "stop": 20.0}]}]"#,
    );
    let run = import(folder.path());
    assert_eq!(run.tasks.len(), 4);
    assert_eq!(run.bandwidth(), Some(2000.0));
    assert_eq!(run.makespan(), Some(10.0));
    assert_eq!(run.repairs["key of the graph that never ran: no time"], 1);
    write(folder.path(), "graph.json", "{\"c\": [\"a\", \"missing\"], \"a\": []}");
    assert!(fails(folder.path()).contains("'missing', which is not in the graph"));
}

#[test]
fn makeflow_reads_rules_and_log() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "w.makeflow",
        "NAME=data\nCORES=2\nCATEGORY=make\none two: $(NAME).in\n\tmaker $NAME.in > one\nthree: one \\\n two\n\tmerge one two > three\n",
    );
    write(
        folder.path(),
        "w.makeflow.makeflowlog",
        "# STARTED 1000000\n1000000 0 1 77 1 1 0 0 0 2\n2000000 0 3 77 1 0 0 1 0 2\n2000000 0 1 78 1 1 0 0 0 2\n\
         # FILE 4000000 one 2 500\n4000000 0 2 78 1 0 1 0 0 2\n4000000 1 1 79 0 1 1 0 0 2\n9000000 1 2 79 0 0 2 0 0 2\n# COMPLETED 9000000\n",
    );
    let run = import(folder.path());
    assert_eq!(run.parents(), [vec![], vec![0]]);
    assert_eq!(run.tasks[0].command.as_deref(), Some("maker data.in > one"));
    assert_eq!((run.tasks[0].attempts.len(), run.tasks[0].cores.unwrap().value), (2, 2.0));
    assert_eq!(run.makespan(), Some(8.0));
    write(
        folder.path(),
        "w.makeflow.makeflowlog",
        "# STARTED 1000000\n# FILE 1 a 1 0\n1000000 7 1 77\n",
    );
    assert!(fails(folder.path()).contains("rule 7 is not in the makeflow"));
}

/// A `|` in the name shifts columns; dependencies come from the line of submission.
#[test]
fn sacct_reads_any_columns() {
    let folder = tempfile::tempdir().unwrap();
    let listing = "JobID|JobName|State|ExitCode|Submit|Start|End|AllocCPUS|ReqMem|MaxRSS|NodeList|SubmitLine|WorkDir\n\
        1|pre|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:02|2026-01-01T00:00:10|1|100M||n1|sbatch -J pre x|/w\n\
        1.batch|batch|COMPLETED|0:0|2026-01-01T00:00:02|2026-01-01T00:00:02|2026-01-01T00:00:10|1||3352K|n1||\n\
        2_1|arr|COMPLETED|0:0|2026-01-01T00:00:00|2026-01-01T00:00:11|2026-01-01T00:00:20|1|1Gc||n[1-2]|sbatch -d afterok:1 x|/w\n\
        2_2|arr|OUT_OF_MEMORY|0:125|2026-01-01T00:00:00|2026-01-01T00:00:11|2026-01-01T00:00:13|1|1Gc||n2|sbatch -d afterok:1 x|/w\n\
        3|a|b|CANCELLED by 0|0:0|2026-01-01T00:00:00|Unknown|Unknown|2|100M||None assigned|sbatch -J a|b --dependency=afterok:2 x|/w\n";
    write(folder.path(), "sacct.txt", listing);
    let run = import(folder.path());
    let names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["pre:1", "arr:2_1", "arr:2_2", "a_b:3"]);
    assert_eq!(run.parents(), [vec![], vec![0], vec![0], vec![1, 2]]);
    assert_eq!(run.tasks[0].attempts[0].peak_memory.unwrap().value, 3352.0 * 1024.0);
    assert_eq!(run.tasks[2].attempts[0].outcome, Outcome::OutOfMemory);
    assert_eq!(run.tasks[3].attempts[0].start, None);
    assert_eq!(run.repairs["'|' in a value: columns moved back"], 1);
    write(folder.path(), "sacct.txt", &listing.replace("|n1|sbatch", "|n|1|sbatch"));
    assert!(fails(folder.path()).contains("values under 13 columns"));
    // The columns that Slurm shows if none are named have no dates.
    let listing = "JobID|JobName|Partition|Account|AllocCPUS|State|ExitCode\n\
        1|a|p|root|1|COMPLETED|0:0\n2|b|p|root|1|FAILED|3:0\n3|c|p|root|1|RUNNING|0:0\n";
    write(folder.path(), "sacct.txt", listing);
    let run = import(folder.path());
    assert_eq!((run.summary().attempts, run.summary().failed_attempts), (3, 1));
    assert_eq!((run.tasks[0].attempts[0].outcome, run.makespan()), (Outcome::Completed, None));
}

/// An input may have the content of a step's output; equal outputs of a scatter stay apart.
#[test]
fn cwl_keeps_equal_contents_apart() {
    let folder = tempfile::tempdir().unwrap();
    let activity = |id: &str, label: &str, kind: &str| {
        format!(
            "\"{id}\": {{\"prov:type\": {{\"$\": \"wfprov:{kind}\"}}, \"prov:label\": \"Run of workflow/packed.cwl#{label}\"}}"
        )
    };
    let times = |key: &str, dates: &[(&str, u32)]| {
        let all: Vec<String> = dates
            .iter()
            .enumerate()
            .map(|(i, (id, s))| format!("\"_:{key}{i}\": {{\"prov:activity\": \"{id}\", \"prov:time\": \"2026-01-01T00:00:{s:02}\"}}"))
            .collect();
        format!("\"{key}\": {{{}}}", all.join(","))
    };
    let pairs = |key: &str, a: &str, b: &str, all: &[(&str, &str)]| {
        let all: Vec<String> = all
            .iter()
            .enumerate()
            .map(|(i, (x, y))| format!("\"_:{key}{i}\": {{\"{a}\": \"{x}\", \"{b}\": \"{y}\"}}"))
            .collect();
        format!("\"{key}\": {{{}}}", all.join(","))
    };
    let text = format!(
        "{{\"prefix\": {{\"wfprov\": \"w\", \"cwlprov\": \"c\"}}, \"activity\": {{{}, {}, {}, {}}}, {}, {}, {}, {}, {}}}",
        activity("w", "main", "WorkflowRun"),
        activity("t1", "main/trim", "ProcessRun"),
        activity("t2", "main/trim_2", "ProcessRun"),
        activity("a2", "main/align_2", "ProcessRun"),
        times("wasStartedBy", &[("w", 0), ("t1", 1), ("t2", 3), ("a2", 6)]),
        times("wasEndedBy", &[("t1", 2), ("t2", 5), ("a2", 9)]),
        pairs("wasGeneratedBy", "prov:entity", "prov:activity", &[("e1", "t1"), ("e2", "t2")]),
        pairs(
            "specializationOf",
            "prov:specificEntity",
            "prov:generalEntity",
            &[("e1", "data:s"), ("e2", "data:s"), ("in", "data:s")]
        ),
        pairs("used", "prov:entity", "prov:activity", &[("in", "t2"), ("e2", "a2")]),
    );
    write(folder.path(), "primary.cwlprov.json", &text);
    let run = import(folder.path());
    let names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["trim", "trim_2", "align_2"]);
    assert_eq!(run.parents(), [vec![], vec![], vec![1]]);
    assert_eq!(run.tasks[1].kind, "trim");
}

#[test]
fn crates_follow_parameters_to_files() {
    let folder = tempfile::tempdir().unwrap();
    let action = |id: &str, object: &str, result: &str, start: u32, end: u32| {
        format!(
            "{{\"@id\": \"{id}\", \"@type\": \"CreateAction\", \"name\": \"Run of #main/{id}\", \"object\": [{{\"@id\": \"{object}\"}}], \
             \"result\": [{{\"@id\": \"{result}\"}}], \"startTime\": \"2026-01-01T00:00:{start:02}\", \"endTime\": \"2026-01-01T00:00:{end:02}\"}}"
        )
    };
    let text = format!(
        "{{\"@context\": \"x\", \"@graph\": [{}, {}, \
         {{\"@id\": \"#pv\", \"@type\": \"PropertyValue\", \"value\": [{{\"@id\": \"mid\"}}]}}, \
         {{\"@id\": \"mid\", \"@type\": \"File\", \"contentSize\": \"42\"}}, {{\"@id\": \"out\", \"@type\": \"File\"}}, \
         {{\"@id\": \"in\", \"@type\": \"File\"}}]}}",
        action("first", "in", "mid", 1, 4),
        action("second", "#pv", "out", 5, 9)
    );
    write(folder.path(), "ro-crate-metadata.json", &text);
    let run = import(folder.path());
    assert_eq!(run.parents(), [vec![], vec![0]]);
    let sizes: Vec<f64> = run.files.iter().filter_map(|f| f.bytes).map(|b| b.value).collect();
    assert_eq!(sizes, [42.0]);
}

/// Clock steps and circles: repaired and counted, or refused.
#[test]
fn contradictions_are_repaired_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let stream = |first: (f64, f64), second: (f64, f64)| {
        let task = |key: &str, (start, stop): (f64, f64)| {
            format!(
                "{{\"key\": \"{key}\", \"worker\": \"w\", \"thread\": \"{key}\", \"nbytes\": 1, \"status\": \"OK\", \
                 \"startstops\": [{{\"action\": \"compute\", \"start\": {start}, \"stop\": {stop}}}]}}"
            )
        };
        format!("[{}, {}]", task("a", first), task("b", second))
    };
    write(folder.path(), "stream.json", &stream((5.0, 4.0), (6.0, 7.0)));
    let run = import(folder.path());
    assert_eq!(run.repairs["end before start: counted as no time"], 1);
    let strict = Options { strict: true, ..Options::default() };
    let error = read(&[folder.path().to_path_buf()], &strict, &FileAccess::default()).unwrap_err();
    assert!(error.to_string().contains("need repairs"));
    write(folder.path(), "graph.json", "{\"a\": [\"b\"], \"b\": [\"a\"]}");
    write(folder.path(), "stream.json", &stream((1.0, 5.0), (2.0, 6.0)));
    assert!(fails(folder.path()).contains("circle"));
    assert!(fails(Path::new("/nowhere/at/all")).contains("no such file"));
    let empty = tempfile::tempdir().unwrap();
    assert!(fails(empty.path()).contains("no records of an engine"));
}

/// Hostile records for every reader: each is read with repairs, or refused with the file and the place.
#[test]
fn hostile_records() {
    const HEAD: &str = "JobID|JobName|State|AllocCPUS|Submit|Start|End|NodeList\n";
    let refused = |name: &str, text: &[u8], words: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let error = read(std::slice::from_ref(&path), &Options::default(), &FileAccess::default());
        let error = error.unwrap_err().to_string();
        assert!(error.contains(words) && error.contains(name), "{name}: {error}");
    };
    let one = |name: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), name, text);
        import(folder.path())
    };
    let log = |lines: &str| [HEAD, lines].concat();
    refused("a.txt", log("1|a|b|c|d|e|f|g|h|i\n").as_bytes(), "2:1: 10 values under 8 columns");
    refused("b.txt", HEAD.as_bytes(), "hold no task");
    refused(
        "c.html",
        b"<html><title>Dask Performance Report</title></html>",
        "no performance report",
    );
    refused("d.json", b"{\"@context\": 1, \"@graph\": [{]}", "not valid JSON");
    refused("e.db", b"SQLite format 3\0and nothing else", "as a database");
    refused("f.txt", b"nothing of anybody", "no records of an engine");
    refused("trace.txt", b"status\tname\tduration\nCOMPLETED\ta\t1s\tmore\n", "2:1");
    // A running job, one that never starts, one with unassigned dates, a cut-off last line.
    let run = one(
        "jobs.txt",
        &log("1|a|RUNNING|1|2026-01-01T00:00:00|2026-01-01T00:00:01|Unknown|n1\n\
              2|b|PENDING|0|2026-01-01T00:00:00|Unknown|Unknown|None assigned\n\
              3|c|COMPLETED|1|2026-01-01T00:00:00|2026-01-01T00:00:02|2026-01-01T00:00:09|n1\n4|d|COMP"),
    );
    assert_eq!((run.tasks.len(), run.repairs["open task: the job had not ended"]), (3, 2));
    assert_eq!((run.repairs["cut-off line left out"], run.makespan()), (1, Some(9.0)));
    assert_eq!(run.summary().failed_attempts, 0, "what has not ended has not failed");
    // Cached tasks have no times; zones and fractions of dates.
    let run = one(
        "trace.txt",
        "name\tstatus\tsubmit\tcomplete\trealtime\n\
         A (1)\tCACHED\t-\t-\t0\nA (2)\tCOMPLETED\t2026-01-01T01:00:00+01:00\t2026-01-01T00:00:08.5Z\t3s\n",
    );
    let cached = run.tasks.iter().find(|t| t.name == "A:1").unwrap();
    assert_eq!((cached.attempts[0].start, cached.attempts[0].outcome), (None, Outcome::Cached));
    assert_eq!((run.makespan(), run.schedule().placements.len()), (Some(8.5), 2));
    // What is no date, no duration, no size.
    let run = one(
        "trace.txt",
        "name\tstatus\tsubmit\trealtime\tpeak_rss\nA (1)\tCOMPLETED\t2026-13-01 00:00:00.000\tsoon\t-5 MB\n\
         A (2)\tCOMPLETED\t2026-01-01 00:00:00.000\t-\t0\n",
    );
    assert_eq!(run.repairs["value that cannot be read left out"], 3);
    // Paths of a crate lead nowhere outside: files are named, never opened.
    let run = one(
        "ro-crate-metadata.json",
        "{\"@context\": \"x\", \"@graph\": [{\"@id\": \"a\", \"@type\": \"CreateAction\", \"name\": \"Run of step\", \
         \"object\": [{\"@id\": \"../../../etc/passwd\"}], \"result\": [{\"@id\": \"/dev/zero\"}], \
         \"startTime\": \"2026-01-01T00:00:01\", \"endTime\": \"2026-01-01T00:00:03\"}, \
         {\"@id\": \"../../../etc/passwd\", \"@type\": \"File\"}, {\"@id\": \"/dev/zero\", \"@type\": \"File\"}]}",
    );
    assert!(run.files.iter().all(|file| file.bytes.is_none()));
    // The same name many times.
    let lines: String = (0..50)
        .map(|k| format!("{k}|x|COMPLETED|1|2026-01-01T00:00:00|2026-01-01T00:00:01|2026-01-01T00:00:02|n\u{301}{k}\n"))
        .collect();
    assert_eq!(one("jobs.txt", &log(&lines)).tasks.len(), 50);
}

/// Tries that were not monitored begin when a worker is free.
#[test]
fn parsl_without_monitoring_of_resources() {
    let folder = tempfile::tempdir().unwrap();
    let database = rusqlite::Connection::open(folder.path().join("monitoring.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE workflow (run_id, workflow_name, time_began, time_completed, host);
             CREATE TABLE task (task_id, run_id, task_depends, task_func_name, task_memoize, task_inputs, task_outputs);
             CREATE TABLE try (try_id, task_id, run_id, hostname, task_executor, task_try_time_launched,
               task_try_time_running, task_try_time_returned, task_fail_history);
             CREATE TABLE node (run_id, hostname, uid, cpu_count, total_memory, worker_count, timestamp);
             CREATE TABLE status (task_id, task_status_name, timestamp, run_id, try_id);
             CREATE TABLE resource (task_id, try_id, run_id, psutil_process_memory_resident, psutil_process_time_user,
               psutil_process_time_system, psutil_process_disk_read, psutil_process_disk_write);
             INSERT INTO workflow VALUES ('r', 'w.py', '2026-01-01 00:00:00', '2026-01-01 00:01:00', 'm');
             INSERT INTO node VALUES ('r', 'n1', 'u', 64, 8000000000, 2, '2026-01-01 00:00:10');
             INSERT INTO node VALUES ('r', 'n1', 'u', 64, 8000000000, 2, '2026-01-01 00:00:40');",
        )
        .unwrap();
    for (task, returned) in [(0, 20), (1, 15), (2, 25), (3, 31)] {
        let sql = format!(
            "INSERT INTO task VALUES ({task}, 'r', '', 'work', '0', 'None', 'None');
             INSERT INTO try VALUES (0, {task}, 'r', NULL, 'htex', '2026-01-01 00:00:01.{task}', NULL, '2026-01-01 00:00:{returned}', '');"
        );
        database.execute_batch(&sql).unwrap();
    }
    let run = import(folder.path());
    let starts: Vec<f64> = run
        .tasks
        .iter()
        .map(|t| t.attempts[0].start.unwrap().value - run.began.unwrap().value)
        .collect();
    assert_eq!(starts, [10.0, 10.0, 15.0, 20.0]);
    assert_eq!(run.cores(), [(2, true)], "workers, not processors, are slots");
    assert_eq!(run.start_up().unwrap().before, 10.0);
}

/// The graph of processes is no graph of tasks: operators are left out.
#[test]
fn nextflow_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "dag.dot",
        "digraph \"pipeline_dag\" {\np0 [label=\"ALIGN\"];\np1 [shape=circle,label=\"\",xlabel=\"map\"];\n\
         p0 -> p1;\np2 [label=\"SORT\"];\np1 -> p2 [label=\"bam\"];\np3 [label=\"ALONE\"];\n}\n",
    );
    let run = import(folder.path());
    let mut names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!((names, run.summary().edges), (vec!["ALIGN", "ALONE", "SORT"], 1));
}

/// Records of real runs of one graph (`ci/long/engines … fixtures`): every engine leaves all its tasks and edges.
#[test]
fn real_engines_leave_the_whole_graph() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let text = std::fs::read_to_string(fixtures.join("definition.json")).unwrap();
    let definition: std::collections::BTreeMap<String, (f64, Vec<String>)> =
        serde_json::from_str(&text).unwrap();
    let mut depths: Vec<usize> = definition.values().map(|(_, parents)| parents.len()).collect();
    depths.sort_unstable();
    for engine in [
        Engine::Snakemake,
        Engine::Dask,
        Engine::Parsl,
        Engine::Cwl,
        Engine::RoCrate,
        Engine::Makeflow,
    ] {
        let run = import(&fixtures.join(engine.name()));
        assert_eq!((run.engine, run.tasks.len()), (engine, definition.len()));
        let mut found: Vec<usize> = run.parents().iter().map(Vec::len).collect();
        found.sort_unstable();
        assert_eq!(found, depths, "{engine}");
        assert!(
            run.tasks
                .iter()
                .all(|t| t.attempts.len() == 1 && t.attempts[0].outcome == Outcome::Completed)
        );
        // Nobody sleeps less than it should, and the longest takes not much more.
        let slept: f64 = definition.values().map(|(seconds, _)| seconds).sum();
        let ran: f64 = run.tasks.iter().filter_map(|t| t.attempts[0].seconds()).sum();
        assert!(ran > 0.95 * slept, "{engine}: {ran} of {slept}");
    }
}

/// A verbose log repeats the rules, so that the makeflow itself is not needed.
#[test]
fn makeflow_of_a_verbose_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = "# NODE\t1\tsort b\n# CATEGORY\t1\t\"sorts\"\n# SOURCES\t1\tb\n# TARGETS\t1\tc\td\n\
        # COMMAND\t1\tsort b\n# NODE\t0\tcut a\n# CATEGORY\t0\t\"\"\n# SOURCES\t0\ta\n# TARGETS\t0\tb\n# COMMAND\t0\tcut a\n\
        # STARTED 1000000\n1000000 0 1 7 1 1 0 0 0 2\n3000000 0 2 7 1 0 1 0 0 2\n\
        3000000 1 1 8 0 1 1 0 0 2\n9000000 1 2 8 0 0 2 0 0 2\n# COMPLETED 9000000\n";
    write(folder.path(), "w.makeflowlog", log);
    let run = import(folder.path());
    let names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["cut:b", "sorts:c"]);
    assert_eq!((run.parents(), run.makespan()), (vec![vec![], vec![0]], Some(8.0)));
}

/// Kinds that ran on two hosts give the relative speeds of these; noise does not.
#[test]
fn hosts_are_as_fast_as_their_tasks() {
    let listing = |factor: f64| {
        let mut text = "JobID|JobName|State|AllocCPUS|Submit|Start|End|NodeList\n".to_string();
        for k in 0..24u32 {
            let (host, speed) = if k % 2 == 0 { ("n1", 1.0) } else { ("n2", factor) };
            let kind = if k % 3 == 0 { 100.0 } else { 400.0 };
            let seconds = (kind / speed) as u32 + k % 5;
            let date =
                |at: u32| format!("2026-01-01T{:02}:{:02}:{:02}", at / 3600, at / 60 % 60, at % 60);
            let start = k * 500;
            text += &format!(
                "{}|kind{}|COMPLETED|1|{}|{}|{}|{host}\n",
                k + 1,
                kind,
                date(start),
                date(start),
                date(start + seconds)
            );
        }
        text
    };
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "jobs.txt", &listing(2.0));
    let run = import(folder.path());
    let speeds = run.relative_speeds().unwrap();
    assert!((speeds[1] / speeds[0] - 2.0).abs() < 0.06, "{speeds:?}");
    // Where it ran, a task takes as long as it did.
    let (document, platform) = (run.document().unwrap(), run.platform().unwrap());
    let problem = slackline_model::Problem::new(&document.workflow, &platform).unwrap();
    let schedule = run.schedule();
    for task in document.workflow.tasks() {
        let placed = schedule.placement(task).unwrap();
        let seconds = problem.exec_on(task, placed.procs()[0]);
        assert!((seconds - (placed.finish - placed.start)).abs() < 1e-3 * seconds);
    }
    write(folder.path(), "jobs.txt", &listing(1.01));
    assert_eq!(import(folder.path()).relative_speeds(), None);
}

/// The execution report has every column, and apostrophes that JSON does not know; Mermaid draws processes without
/// their workflows.
#[test]
fn nextflow_reads_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let record = |id: u32, process: &str, tag: &str, submit: u32, script: &str| {
        format!(
            "{{\"task_id\":\"{id}\",\"hash\":\"aa/00000{id}\",\"process\":\"{process}\",\"tag\":\"{tag}\",\"name\":\"{process} ({tag})\",\
             \"status\":\"COMPLETED\",\"exit\":\"0\",\"submit\":\"{submit}000\",\"start\":\"{submit}500\",\"complete\":\"{}000\",\
             \"duration\":\"10000\",\"realtime\":\"9000\",\"%cpu\":\"150.0\",\"peak_rss\":\"1048576\",\"attempt\":\"1\",\
             \"script\":\"{script}\",\"queue\":\"-\",\"cpus\":\"2\",\"memory\":\"6442450944\",\"time\":\"43200000\"}}",
            submit + 10
        )
    };
    let records = [
        record(1, "W:ALIGN", "s1", 100, r"echo \'a\' \\\\n \/x"),
        record(2, "W:SORT", "s1", 111, "sort"),
    ];
    let report = format!(
        "<!doctype html>\n<html><head><title>[mad_bell] Nextflow Workflow Report</title></head><body>\n\
         <script>\n  window.data = {{ \"trace\":[\n{}], \"summary\":[] }};\n</script></body></html>\n",
        records.join(",")
    );
    write(folder.path(), "report.html", &report);
    write(
        folder.path(),
        "dag.html",
        "<html>\n<body>\n<pre class=\"mermaid\">\nflowchart TB\n    subgraph W [W]\n    v1([ALIGN])\n    v2(( ))\n    \
         v3([SORT])\n    end\n    v1 --> v2\n    v2 --> v3\n</pre>\n</body>\n</html>\n",
    );
    let run = import(folder.path());
    assert_eq!((run.engine, run.parents()), (Engine::Nextflow, vec![vec![], vec![0]]));
    let (task, attempt) = (&run.tasks[0], &run.tasks[0].attempts[0]);
    assert_eq!((task.name.as_str(), task.kind.as_str()), ("ALIGN:s1", "W:ALIGN"));
    assert!(task.command.as_deref().unwrap().starts_with("echo 'a' \\\\n /x"));
    assert_eq!((task.cores.unwrap().value, task.time_limit.unwrap().value), (2.0, 43200.0));
    assert_eq!(task.memory.unwrap().value, 6.0 * 1024f64.powi(3));
    assert_eq!((attempt.seconds(), attempt.cpu.unwrap().value), (Some(9.5), 13.5));
    // A trace of the same run without requests: the report has them. One of another run does not speak for it.
    let trace = |tag: &str| {
        format!(
            "name\tstatus\tsubmit\tduration\trealtime\nW:ALIGN ({tag})\tCOMPLETED\t1970-01-01 00:01:40\t10s\t9s\n\
             W:SORT (s1)\tCOMPLETED\t1970-01-01 00:01:51\t10s\t9s\n"
        )
    };
    write(folder.path(), "trace.txt", &trace("s1"));
    assert_eq!(import(folder.path()).tasks[0].cores.map(|c| c.value), Some(2.0));
    write(folder.path(), "trace.txt", &trace("s9"));
    let run = import(folder.path());
    assert_eq!(run.tasks[0].cores, None);
    assert!(run.notes.iter().any(|note| note.contains("of another run")), "{:?}", run.notes);
    std::fs::remove_file(folder.path().join("trace.txt")).unwrap();
    write(
        folder.path(),
        "report.html",
        &report.replace(": 9000", "}").replace("\"trace\":[", "\"trace\":null, \"x\":["),
    );
    assert!(fails(folder.path()).contains("holds no tasks"));
    write(folder.path(), "report.html", &report[..report.len() / 2]);
    assert!(fails(folder.path()).contains("cut off"));
}

/// Links in work folders lead to the tasks that made the inputs: nothing has to be assumed.
#[cfg(unix)]
#[test]
fn nextflow_follows_staged_inputs() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    let trace = "hash\tname\tstatus\tsubmit\tduration\trealtime\n\
        ab/123456\tMAKE (1)\tCOMPLETED\t2026-01-01 00:00:00\t5s\t4s\n\
        ab/654321\tMAKE (2)\tCOMPLETED\t2026-01-01 00:00:00\t8s\t7s\n\
        cd/aaaaaa\tUSE (2)\tCOMPLETED\t2026-01-01 00:00:09\t8s\t7s\n";
    write(folder.path(), "results/info/trace.txt", trace);
    write(&work, "ab/1234567890abcdef/made.txt", "1234567");
    write(&work, "ab/654321ffffffffff/made.txt", "12");
    write(&work, "cd/aaaaaa0000000000/.command.sh", "cat made.txt\n");
    symlink(work.join("ab/1234567890abcdef/made.txt"), work.join("cd/aaaaaa0000000000/made.txt"))
        .unwrap();
    symlink("/nowhere/genome.fa", work.join("cd/aaaaaa0000000000/genome.fa")).unwrap();
    let run = import(folder.path());
    assert_eq!(run.parents(), [vec![], vec![], vec![0]]);
    assert_eq!(run.summary().fields["edge"].measured, 1);
    let sizes: Vec<f64> = run.files.iter().filter_map(|f| f.bytes).map(|b| b.value).collect();
    assert_eq!((run.files.len(), sizes), (2, vec![7.0]));
}

fn snakemake_record(folder: &Path, name: &str, rule: &str, inputs: &str, start: f64, end: f64) {
    use base64::Engine as _;
    let file = base64::engine::general_purpose::STANDARD.encode(name);
    let text = format!(
        "{{\"rule\": \"{rule}\", \"input\": [{inputs}], \"shellcmd\": \"run {rule} > {name}\", \"record_format_version\": 6, \
         \"starttime\": {start}, \"endtime\": {end}, \"incomplete\": false}}"
    );
    write(folder, &format!(".snakemake/metadata/{file}"), &text);
}

/// The log is in local time, records in UTC; results of an earlier run were there; jobs that failed left no record;
/// the last log may be of a call that ran nothing.
#[test]
fn snakemake_tells_runs_apart() {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join(".snakemake/log");
    snakemake_record(folder.path(), "old.out", "old", "", 1000.0, 1060.0);
    snakemake_record(folder.path(), "new.out", "new", "\"old.out\"", 90_000.2, 90_007.0);
    // Two hours east of Greenwich: 02:16:40 of the second of January and so on.
    let job = |date: &str, rule: &str, input: &str, id: u32| {
        format!(
            "[{date}]\nlocalrule {rule}:\n    input: {input}\n    output: {rule}.out\n    jobid: {id}\n    threads: 3\n    \
             resources: tmpdir=/tmp\n"
        )
    };
    let first = [
        "Host: node\nProvided cores: 4\n",
        &job("Thu Jan  1 02:16:40 1970", "old", "x", 1),
        "[Thu Jan  1 02:17:40 1970]\nFinished jobid: 1 (Rule: old)\n",
    ];
    let second = [
        "Host: node\nProvided cores: 4\n",
        &job("Fri Jan  2 03:00:00 1970", "new", "old.out", 1),
        "[Fri Jan  2 03:00:07 1970]\nFinished jobid: 1 (Rule: new)\n",
        &job("Fri Jan  2 03:00:08 1970", "bad", "new.out", 2),
        "[Fri Jan  2 03:00:12 1970]\nError in rule bad:\n    jobid: 2\n    output: bad.out\n",
        &job("Fri Jan  2 03:00:13 1970", "bad", "new.out", 2),
        "[Fri Jan  2 03:00:15 1970]\nError in rule bad:\n    jobid: 2\n    output: bad.out\n",
    ];
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("1.snakemake.log"), first.concat()).unwrap();
    std::fs::write(logs.join("2.snakemake.log"), second.concat()).unwrap();
    std::fs::write(logs.join("3.snakemake.log"), "Building DAG of jobs...\n").unwrap();
    let run = import(folder.path());
    let told: Vec<_> = run.tasks.iter().map(|t| (t.kind.as_str(), t.attempts.len())).collect();
    assert_eq!(told, [("old", 1), ("new", 1), ("bad", 2)]);
    assert_eq!(run.parents(), [vec![], vec![0], vec![1]]);
    let old = &run.tasks[0].attempts[0];
    assert_eq!((old.outcome, old.start, old.seconds()), (Outcome::Cached, None, Some(60.0)));
    let bad = &run.tasks[2].attempts;
    assert!(bad.iter().all(|attempt| attempt.outcome == Outcome::Failed));
    assert_eq!(bad.iter().map(|a| a.seconds()).collect::<Vec<_>>(), [Some(4.0), Some(2.0)]);
    assert_eq!(run.makespan(), Some(15.0), "of the last run, on one clock");
    assert_eq!(run.tasks[1].cores.map(|c| c.value), Some(3.0));
    // Without records the log alone speaks, to the second.
    std::fs::remove_dir_all(folder.path().join(".snakemake/metadata")).unwrap();
    let run = import(folder.path());
    assert_eq!((run.tasks.len(), run.makespan()), (2, Some(15.0)));
    assert_eq!(run.tasks[0].attempts[0].seconds(), Some(7.0));
}

/// Benchmarks are tables or JSON lines; extended ones have sizes of inputs that are gone.
#[test]
fn snakemake_reads_benchmarks_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    snakemake_record(folder.path(), "a.out", "a", "\"it's.in\"", 100.0, 110.0);
    snakemake_record(folder.path(), "b.out", "b", "\"a.out\"", 110.0, 120.0);
    let job = |rule: &str, id: u32, kind: &str| {
        format!(
            "[Thu Jan  1 00:01:{}0 1970]\nrule {rule}:\n    output: {rule}.out\n    jobid: {id}\n    benchmark: bench/{rule}.{kind}\n",
            3 + id
        )
    };
    write(
        folder.path(),
        ".snakemake/log/1.snakemake.log",
        &[job("a", 1, "tsv"), job("b", 2, "jsonl")].concat(),
    );
    write(
        folder.path(),
        "bench/a.tsv",
        "s\th:m:s\tmax_rss\tio_in\tio_out\tcpu_time\tinput_size_mb\n9.0\t0:00:09\t2.00\t1.00\t-\t4.5\t{\"it's.in\": 0.5, 'x': 3}\n",
    );
    write(
        folder.path(),
        "bench/b.jsonl",
        "{\"cpu_time\": 1.5, \"h:m:s\": \"0:00:09\", \"input_size_mb\": {\"a.out\": 0.25}, \"max_rss\": 3.0, \"s\": 9.0}\n",
    );
    let run = import(folder.path());
    let mib = 1024.0 * 1024.0;
    let of = |task: usize| {
        let attempt = &run.tasks[task].attempts[0];
        (attempt.peak_memory.map(|m| m.value / mib), attempt.cpu.map(|c| c.value))
    };
    assert_eq!((of(0), of(1)), ((Some(2.0), Some(4.5)), (Some(3.0), Some(1.5))));
    let sizes: Vec<f64> = run.files.iter().filter_map(|f| f.bytes).map(|b| b.value / mib).collect();
    assert_eq!(sizes, [0.5, 0.25]);
}

/// Graphs and the summary that Snakemake gives without running anything.
#[test]
fn snakemake_before_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, text: &str| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), name, text);
        import(folder.path())
    };
    let dot = "digraph snakemake_dag {\n    graph[bgcolor=white, margin=0];\n\t0[label = \"all\", color = \"0.1\"];\n\
        \t1[label = \"call\\nchrom: 1\\ns: A\", color = \"0.1\"];\n\t2[label = \"call\\nchrom: 2\", color = \"0.1\"];\n\
        \t1 -> 0\n\t2 -> 0\n}\n";
    let chart = "---\ntitle: DAG\n---\nflowchart TB\n\tid0[all]\n\tid1[call - chrom: 1, s: A]\n\tid2[call - chrom: 2]\n\
        \tstyle id0 fill:#D95757\n\tid1 --> id0\n\tid2 --> id0\n";
    for (name, text) in [("dag.dot", dot), ("dag.mmd", chart)] {
        let run = one(name, text);
        let names: Vec<&str> = run.tasks.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["all", "call:1.A", "call:2"], "{name}");
        assert_eq!(run.parents(), [vec![1, 2], vec![], vec![]], "{name}");
    }
    // The summary has files; two outputs of one job are one job. The graph of rules beside it is smaller.
    let summary = "output_file\tdate\trule\tlog-file(s)\tinput-file(s)\tshellcmd\tstatus\tplan\n\
        end\t-\tjoin\t-\tx1,x2\tcat\tok\tno update\nx1\t-\tmake\t-\tin\tmk\tok\tno update\nx2\t-\tmake\t-\tin\tmk\tok\tno update\n";
    write(folder.path(), "in", "12345");
    write(folder.path(), "rules.dot", dot);
    write(folder.path(), "summary.tsv", summary);
    let run = import(folder.path());
    assert_eq!((run.tasks.len(), run.parents()), (2, vec![vec![1], vec![]]));
    assert_eq!(run.files.iter().filter_map(|f| f.bytes).map(|b| b.value).sum::<f64>(), 5.0);
}
