//! Real runs on a Slurm of four nodes, all of them this machine: right outputs, and going on after
//! everything that may happen to engine, pilots, tasks, nodes and the batch system itself.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::Place;
use common::runs::{
    assert_done_once, assert_right, executions, expected, lines, montage, wait_for,
};
use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nodes that share their storage: what one has made outlives it.
const SHARED: &str = "name = \"nodes\"\n[cluster.main]\nnumbers = \"1-4\"\nnames = \"n{}\"\nspeed = \"1Gf\"\nshared-storage = true\n";

/// A Slurm of one's own; ended with this value.
struct Cluster {
    folder: tempfile::TempDir,
}

fn script(name: &str) -> Command {
    Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/slurm").join(name))
}

impl Cluster {
    /// None where Slurm cannot be installed, which is said whatever hides the words of tests.
    fn start() -> Option<Cluster> {
        Cluster::of("1")
    }

    /// One whose nodes have so many cores.
    fn of(cores: &str) -> Option<Cluster> {
        let installed = script("install").output().unwrap();
        if !installed.status.success() {
            let mut stderr = std::io::stderr();
            stderr.write_all(&installed.stdout).unwrap();
            return None;
        }
        let cluster = Cluster { folder: tempfile::tempdir().unwrap() };
        let started = script("start").arg(cluster.root()).args(["4", cores]).output().unwrap();
        let said = String::from_utf8_lossy(&started.stderr).into_owned();
        assert!(started.status.success(), "{said}");
        Some(cluster)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("slurm")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.root().join("slurm.conf"));
        command
    }

    fn slackline(&self, place: &Place, line: &str) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_slackline"));
        command.args(line.split_whitespace()).current_dir(place.path());
        command
    }

    fn ok(&self, place: &Place, line: &str) -> String {
        let done = self.slackline(place, line).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(done.status.success(), "slackline {line}\n{}", text(&done.stderr));
        text(&done.stdout)
    }

    fn spawn(&self, place: &Place, line: &str) -> Child {
        let mut command = self.slackline(place, line);
        let words =
            std::fs::File::options().append(true).create(true).open(place.path().join("err"));
        command.stdout(Stdio::null()).stderr(words.unwrap()).spawn().unwrap()
    }

    /// Sets the state of a node.
    fn node(&self, node: &str, state: &str) {
        let words = [&format!("nodename={node}"), &format!("state={state}"), "reason=test"];
        let done = self.command("scontrol").arg("update").args(words).output().unwrap();
        // A node that was down may have come back by itself.
        assert!(done.status.success() || state == "resume", "{node}: {state}");
    }

    /// The job that runs on a node.
    fn job_on(&self, node: &str) -> Option<String> {
        let words = ["--noheader", "--format=%i", "--nodelist", node];
        let listed = self.command("squeue").args(words).output().unwrap();
        String::from_utf8_lossy(&listed.stdout).lines().next().map(str::to_string)
    }

    /// Jobs of all kinds that are in the queue.
    fn queue(&self) -> usize {
        let listed = self.command("squeue").arg("--noheader").output().unwrap();
        String::from_utf8_lossy(&listed.stdout).lines().count()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = script("stop").arg(self.root()).output(); // nothing more can be done
    }
}

/// Processes of this machine whose words, or whose variables, hold something.
fn processes(file: &str, holds: &str) -> Vec<u32> {
    let pid = |e: std::fs::DirEntry| e.file_name().to_str()?.parse::<u32>().ok();
    let found = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter_map(pid);
    found
        .filter(|pid| {
            let text = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).replace('\0', " ");
            text.contains(holds)
        })
        .collect()
}

/// Pilots of a run on a host, without the shells that start them.
fn pilots(run: &Path, host: &str) -> Vec<u32> {
    let found = processes("cmdline", &format!("pilot {}", run.display()));
    found
        .into_iter()
        .filter(|pid| {
            let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&text).contains(&format!("\"name\":\"{host}\""))
        })
        .collect()
}

fn kill(pid: u32) {
    let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
}

fn log(run: &Path) -> String {
    std::fs::read_to_string(run.join("log.jsonl")).unwrap_or_default()
}

fn id_of(run: &Path) -> String {
    let text = log(run);
    let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    header["id"].as_str().unwrap().to_string()
}

type Scene = fn(&Cluster);

/// One cluster serves all: to start one takes seconds.
#[test]
fn runs_on_slurm_survive_what_happens_there() {
    let Some(cluster) = Cluster::start() else { return };
    let scenes: [(&str, Scene); 17] = [
        ("a whole run", a_whole_run),
        ("kills", kills_repeat_nothing_that_was_done),
        ("staged per node", kills_repeat_nothing_where_nodes_share_nothing),
        ("bad days of the cluster", the_controller_restarts_and_a_node_goes_down),
        ("late pilots", pilots_come_late_and_one_dies),
        ("leases", machines_are_leased_and_given_back),
        ("bad luck of leases", leased_machines_are_taken_away),
        ("one job per task", every_task_is_a_job),
        ("an impostor", an_impostor_takes_the_port),
        ("refusals", refusals_are_told_and_names_are_taken_as_they_are),
        ("all nodes", plans_use_all_nodes),
        ("SIGTERM", a_run_that_is_terminated_ends_its_pilots),
        ("options", options_of_the_platform_arrive_and_stop_leaves_nothing),
        ("scaling", pilots_scale_with_the_work),
        ("accounts", all_options_arrive),
        ("preemption", what_is_preempted_is_done_again),
        ("missing modules", what_a_node_lacks_ends_the_run_before_its_first_task),
    ];
    let only = std::env::var("SCENE").unwrap_or_default();
    for (name, scene) in scenes.iter().filter(|(name, _)| name.contains(&only)) {
        let begin = Instant::now();
        scene(&cluster);
        wait_for("an empty queue", || cluster.queue() == 0);
        eprintln!("{name}: {:.1} s", begin.elapsed().as_secs_f64());
    }
}

fn a_whole_run(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    montage(&place, 200, "0.01");
    let line =
        "run m/montage.json --platform nodes.toml --on slurm --policy slackline --folder r --json";
    let document: Value = serde_json::from_str(&cluster.ok(&place, line)).unwrap();
    assert_eq!(document["finished"], true);
    assert!(document["tasks"].as_u64().unwrap() >= 200);
    let run = place.path().join("r");
    assert_right(&run, &expected(&place, "m/montage.json"));
    assert_done_once(&run, &document);
    // The same decisions, without a cluster.
    let again: Value = serde_json::from_str(&place.ok("simulate --replay r --json")).unwrap();
    assert_eq!(again["schedule"], document["schedule"]);
    // Nobody else can read the key that pilots prove to know.
    use std::os::unix::fs::PermissionsExt;
    let mode = |path| std::fs::metadata(run.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("pilots/keys"), mode("pilots/keys/1")), (0o700, 0o600));
    assert_eq!(std::fs::read_dir(run.join("pilots/made")).unwrap().count(), 0);
}

/// Number of times engine, pilots and tasks are killed; more by hand.
fn rounds() -> usize {
    std::env::var("KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6)
}

fn kills_repeat_nothing_that_was_done(cluster: &Cluster) {
    kills(cluster, SHARED, "--policy slackline", rounds());
}

/// Files are copied from node to node; what is on a node is out of reach until its next pilot is there, and
/// a policy may decide to do it again rather than wait. Nothing else is repeated. Pilots are impatient: those
/// that an engine leaves end before another takes up the run.
fn kills_repeat_nothing_where_nodes_share_nothing(cluster: &Cluster) {
    let staged = SHARED.replace("shared-storage = true\n", "");
    kills(cluster, &staged, "--policy static --pilot-patience 1s", rounds() / 2);
}

fn kills(cluster: &Cluster, platform: &str, options: &str, rounds: usize) {
    let place = Place::new();
    place.write("nodes.toml", platform);
    montage(&place, 60 + 10 * rounds, "0.05");
    let run = place.path().join("r");
    let path = run.join("log.jsonl");
    let line = format!(
        "run m/montage.json --platform nodes.toml --on slurm {options} --retries 50 --folder r"
    );
    let impatient = options.contains("patience");
    let mut child = cluster.spawn(&place, &line);
    let mut killed = [0; 3];
    for round in 0..rounds {
        let seen = lines(&path);
        wait_for("more of the log", || {
            lines(&path) > seen + 15 + round % 7 || child.try_wait().unwrap().is_some()
        });
        if child.try_wait().unwrap().is_some() {
            break;
        }
        killed[round % 3] += 1;
        match round % 3 {
            0 => {
                child.kill().unwrap();
                child.wait().unwrap();
                // Pilots finish what they have under way meanwhile.
                std::thread::sleep(Duration::from_millis(200 * (round as u64 % 2)));
                if impatient {
                    wait_for("the end of pilots that nobody wants", || cluster.queue() == 0);
                }
                child = cluster.spawn(&place, "resume r");
            }
            1 => pilots(&run, &format!("n{}", 1 + round % 4)).into_iter().for_each(kill),
            _ => {
                let tasks = processes("environ", &format!("SLACKLINE_RUN={}", id_of(&run)));
                tasks.into_iter().take(2).for_each(kill);
            }
        }
    }
    let ended = child.wait().unwrap();
    assert!(ended.success(), "{}", place.read("err"));
    eprintln!("killed: {} engines, {} pilots, {} rounds of tasks", killed[0], killed[1], killed[2]);
    let (_, done) = executions(&run);
    let rewound = rewound(&run);
    let once = |(task, times): (&u64, &usize)| *times == 1 || rewound.contains(task);
    assert!(done.iter().all(once), "{done:?}, rewound {rewound:?}");
    assert!(rewound.is_empty() || !platform.contains("shared-storage"));
    eprintln!("decided to do again: {}", rewound.len());
    assert_right(&run, &expected(&place, "m/montage.json"));
    assert!(place.ok("simulate --replay r").contains("every decision the same"));
}

/// Tasks that the policy has decided to do again.
fn rewound(run: &Path) -> Vec<u64> {
    let text = log(run);
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut found = Vec::new();
    for record in records {
        for decision in record["decided"].as_array().into_iter().flatten() {
            let tasks = decision["rewind"].as_array().into_iter().flatten();
            found.extend(tasks.filter_map(Value::as_u64));
        }
    }
    found
}

fn the_controller_restarts_and_a_node_goes_down(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    let mut text = String::new();
    for task in 0..48 {
        text += &format!("[task.t{task}]\ncommand = [\"sleep\", \"0.4\"]\ntime = \"400ms\"\n");
    }
    place.write("w.toml", text);
    let run = place.path().join("r");
    let line = "run w.toml --platform nodes.toml --on slurm --policy just-in-time --folder r";
    let mut child = cluster.spawn(&place, line);
    wait_for("four pilots", || log(&run).matches("host-back").count() == 4);
    let controller = std::fs::read_to_string(cluster.root().join("slurmctld.pid")).unwrap();
    Command::new("kill").arg(controller.trim()).status().unwrap();
    wait_for("the end of the controller", || {
        !Path::new(&format!("/proc/{}", controller.trim())).exists()
    });
    let mut again = cluster.command("slurmctld");
    again
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .arg("-f")
        .arg(cluster.root().join("slurm.conf"));
    assert!(again.status().unwrap().success());
    wait_for("the controller", || {
        let asked = cluster.command("scontrol").arg("ping").output().unwrap();
        String::from_utf8_lossy(&asked.stdout).contains("is UP")
    });
    let lost = log(&run).matches("host-lost").count();
    cluster.node("n2", "down");
    wait_for("news of the loss", || log(&run).matches("host-lost").count() > lost);
    cluster.node("n2", "resume");
    assert!(child.wait().unwrap().success(), "{}", place.read("err"));
    let (_, done) = executions(&run);
    assert_eq!(done.len(), 48);
    assert!(done.values().all(|&times| times == 1), "{done:?}");
    assert!(place.ok("simulate --replay r").contains("every decision the same"));
}

/// Five jobs of 120 s and pilots that come at 30, 100 and 400 s, at a fortieth: two pilots do all the
/// work in 390 s, and the third finds nothing. Where the first dies at 200 s, the third is needed, and
/// all ends at 520 s.
fn pilots_come_late_and_one_dies(cluster: &Cluster) {
    const SCALE: f64 = 40.0;
    for dies in [false, true] {
        let place = Place::new();
        place.write("nodes.toml", SHARED.replace("1-4", "1-3"));
        let mut text = String::new();
        for task in 1..=5 {
            text += &format!(
                "[task.J{task}]\nkind = \"job\"\ncommand = [\"sleep\", \"3\"]\ntime = \"3s\"\n"
            );
        }
        place.write("w.toml", text);
        let nodes = ["n1", "n2", "n3"];
        nodes.iter().for_each(|node| cluster.node(node, "drain"));
        let run = place.path().join("r");
        let line = "run w.toml --platform nodes.toml --on slurm --policy work-queue --folder r --trace t.jsonl";
        let mut child = cluster.spawn(&place, line);
        // Dates count from the first pilot; the batch system takes a second or so to bring one.
        let come = |node: &str| {
            let before = log(&run).matches("host-back").count();
            cluster.node(node, "resume");
            wait_for("a pilot", || log(&run).matches("host-back").count() > before);
        };
        wait_for("the run", || lines(&run.join("log.jsonl")) > 3);
        come("n1");
        let begin = Instant::now();
        let until = |date: f64| {
            let due = Duration::from_secs_f64((date - 30.0) / SCALE);
            std::thread::sleep(due.saturating_sub(begin.elapsed()));
        };
        come("n2");
        if dies {
            until(200.0);
            cluster.node("n1", "drain"); // it does not come again
            pilots(&run, "n1").into_iter().for_each(kill);
        }
        until(350.0); // the batch system takes its time
        cluster.node("n3", "resume");
        assert!(child.wait().unwrap().success(), "{}", place.read("err"));
        let replayed: Value =
            serde_json::from_str(&place.ok("simulate --replay r --json")).unwrap();
        let on = |host: &str| -> Vec<String> {
            let placed = replayed["schedule"].as_array().unwrap().iter();
            let there = placed.filter(|p| p["processor"] == host);
            let mut there: Vec<(f64, String)> = there
                .map(|p| (p["start"].as_f64().unwrap(), p["task"].as_str().unwrap().to_string()))
                .collect();
            there.sort_by(|a, b| a.0.total_cmp(&b.0));
            there.into_iter().map(|(_, task)| task).collect()
        };
        eprintln!("{:?} {:?} {:?}", on("n1"), on("n2"), on("n3"));
        if dies {
            assert_eq!(on("n1"), ["J1"]);
            // What was lost is done again before what had not begun.
            assert_eq!((on("n2").len(), on("n3").len()), (3, 1));
        } else {
            assert_eq!(
                (on("n1"), on("n2")),
                (vec!["J1".into(), "J3".into(), "J5".into()], vec!["J2".into(), "J4".into()])
            );
            assert!(on("n3").is_empty());
        }
        nodes.iter().for_each(|node| cluster.node(node, "resume"));
    }
}

fn machines_are_leased_and_given_back(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED.replace("shared-storage", "leasable = true\nshared-storage"));
    montage(&place, 25, "0.01");
    let line = "run m/montage.json --platform nodes.toml --on slurm --folder r --json";
    let document: Value = serde_json::from_str(&cluster.ok(&place, line)).unwrap();
    assert_eq!(document["finished"], true);
    let text = log(&place.path().join("r"));
    assert!(text.contains("lease-ready") && text.contains("\"release\""));
    assert!(!text.contains("host-lost"));
    assert_right(&place.path().join("r"), &expected(&place, "m/montage.json"));
    place.ok("simulate --replay r");
}

/// Of four leased machines one is preempted, the pilot of one dies, the time of one is over, each with a
/// task that runs; all is done in the end, once.
fn leased_machines_are_taken_away(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED.replace("shared-storage", "leasable = true\nshared-storage"));
    let enough = place.path().join("enough");
    let wait = format!("while ! test -e '{}'; do sleep 0.05; done", enough.display());
    let mut text = String::new();
    for task in 0..8 {
        text += &format!("[task.t{task}]\ncommand = \"{wait}\"\ntime = \"1s\"\n");
    }
    place.write("w.toml", text);
    let run = place.path().join("r");
    let line = "run w.toml --platform nodes.toml --on slurm --folder r --no-learning";
    let mut child = cluster.spawn(&place, line);
    let told = |what: &str| log(&run).matches(what).count();
    wait_for("four machines", || told("lease-ready") == 4);
    wait_for("four tasks", || told("\"process\"") == 4);
    let job = cluster.job_on("n3").unwrap();
    let over = ["update", &format!("jobid={job}"), "endtime=now"];
    // It cannot end in the second in which it began.
    wait_for("an end of its time", || {
        cluster.command("scontrol").args(over).output().unwrap().status.success()
    });
    let urgent = ["--partition=urgent", "--nodelist=n1", "--output=/dev/null", "--wrap=sleep 1"];
    assert!(cluster.command("sbatch").args(urgent).output().unwrap().status.success());
    wait_for("the end of a lease", || told("lease-ended") >= 1);
    pilots(&run, "n2").into_iter().for_each(kill);
    // The batch system looks at times now and then only.
    wait_for("the end of three leases", || told("lease-ended") >= 3);
    std::fs::write(enough, "").unwrap();
    assert!(child.wait().unwrap().success(), "{}", place.read("err"));
    let (_, done) = executions(&run);
    assert!(done.len() == 8 && done.values().all(|&times| times == 1), "{done:?}");
    assert!(told("lease-ready") > 4);
    assert!(place.ok("simulate --replay r").contains("every decision the same"));
}

fn every_task_is_a_job(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED.replace("shared-storage = true\n", ""));
    montage(&place, 14, "0.01");
    let line = "run m/montage.json --platform nodes.toml --on slurm --mode job --scratch disk --folder r --json";
    let document: Value = serde_json::from_str(&cluster.ok(&place, line)).unwrap();
    assert_eq!(document["finished"], true);
    let run = place.path().join("r");
    assert_right(&run, &expected(&place, "m/montage.json"));
    let words = std::fs::read_dir(run.join("pilots")).unwrap();
    let jobs = words.filter(|e| name_ends(e.as_ref().unwrap(), ".log")).count();
    assert_eq!(jobs as u64, document["tasks"].as_u64().unwrap());
    place.ok("simulate --replay r");
}

/// Somebody else listens where an engine was killed: pilots tell nothing of use, do nothing, and
/// work on for the engine that resumes.
fn an_impostor_takes_the_port(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    let (gate, forged) = (place.path().join("gate"), place.path().join("forged"));
    let mut text = String::new();
    for task in 0..4 {
        text += &format!(
            "[task.t{task}]\ncommand = \"until test -e {}; do sleep 0.05; done\"\ntime = \"1s\"\n",
            gate.display()
        );
    }
    place.write("w.toml", text);
    let run = place.path().join("r");
    let line = "run w.toml --platform nodes.toml --on slurm --policy just-in-time --folder r";
    let mut child = cluster.spawn(&place, line);
    wait_for("four tasks", || log(&run).matches("\"process\"").count() == 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let address: String = serde_json::from_str(&place.read("r/pilots/engine")).unwrap();
    let key = place.read("r/pilots/keys/1");
    let impostor = std::net::TcpListener::bind(&address).unwrap();
    let begin = serde_json::json!({"begin": {
        "label": {"op": 99, "task": 0, "name": "t0", "host": 0, "number": 9}, "cores": 1,
        "attempt": {"argv": ["touch", forged], "env": [], "work": place.path().join("w"),
            "inputs": [], "outputs": [], "captured": place.path().join("c"), "limits": {}},
    }});
    let begin = begin.to_string();
    let mut heard = Vec::new();
    for _ in 0..8 {
        use std::io::Read;
        let (mut stream, _) = impostor.accept().unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        for message in [r#"{"welcome":{"keep":[]}}"#, &begin] {
            let _ = stream.write_all(&(message.len() as u32).to_be_bytes());
            let _ = stream.write_all(message.as_bytes());
        }
        let _ = stream.read_to_end(&mut heard); // until the pilot hangs up
    }
    drop(impostor);
    let heard = String::from_utf8_lossy(&heard);
    assert!(heard.contains("nonce") && !heard.contains(key.trim()), "{heard}");
    place.write("gate", "");
    cluster.ok(&place, "resume r");
    assert!(!forged.exists());
    // A drive has a key of its own; the tasks were not begun again.
    assert_ne!(place.read("r/pilots/keys/2"), key);
    let (_, done) = executions(&run);
    assert!(done.len() == 4 && done.values().all(|times| *times == 1), "{done:?}");
    assert_eq!(log(&run).matches("\"process\"").count(), 4);
}

/// Refusals of Slurm are reported at once, and nothing begins; patterns in names are not replaced.
fn refusals_are_told_and_names_are_taken_as_they_are(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    place.write("large.toml", SHARED.replace("speed", "cores = 9\nspeed"));
    place.write("w.toml", "[task.t]\ncommand = [\"true\"]\ntime = \"1s\"\n");
    for (options, said) in [
        ("nodes.toml --sbatch=--partition=nowhere", "Invalid partition name"),
        ("nodes.toml --sbatch=--time=soon", "Invalid --time"),
        ("large.toml", "9 cores, of which the node has 1"),
        ("large.toml --sbatch=--constraint=golden", "Invalid feature"),
    ] {
        let line = format!("run w.toml --on slurm --folder r --platform {options}");
        let begin = Instant::now();
        let done = cluster.slackline(&place, &line).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{line}\n{err}");
        assert!(err.contains(said), "{line}\n{err}");
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert!(!place.path().join("r").exists());
    }
    for name in ["50%j", "a\\%j"] {
        let line = format!("run w.toml --on slurm --platform nodes.toml --folder {name}");
        cluster.ok(&place, &line);
        // The run may end before all pilots begin.
        let files = std::fs::read_dir(place.path().join(name).join("pilots")).unwrap();
        let logs = files.filter(|file| {
            file.as_ref().unwrap().path().extension().is_some_and(|extension| extension == "log")
        });
        assert!(logs.count() > 0, "{name}");
    }
}

/// Pilots come one after the other: plans count on all of them, not only on the first.
fn plans_use_all_nodes(cluster: &Cluster) {
    for policy in ["static", "qos --deadline 1h"] {
        let place = Place::new();
        place.write("nodes.toml", SHARED);
        let task = |n| format!("[task.t{n}]\ncommand = [\"sleep\", \"0.5\"]\ntime = \"500ms\"\n");
        place.write("w.toml", (0..24).map(task).collect::<String>());
        let line = format!(
            "run w.toml --platform nodes.toml --on slurm --folder r --json --policy {policy}"
        );
        let document: Value = serde_json::from_str(&cluster.ok(&place, &line)).unwrap();
        let placed = document["schedule"].as_array().unwrap();
        for node in ["n1", "n2", "n3", "n4"] {
            let there = placed.iter().filter(|p| p["processor"] == node).count();
            assert!((2..=12).contains(&there), "{policy}: {there} tasks on {node}");
        }
        place.ok("simulate --replay r");
    }
}

fn a_run_that_is_terminated_ends_its_pilots(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    let gate = place.path().join("gate");
    let wait = format!("until test -e {}; do sleep 0.05; done", gate.display());
    let task = |n| format!("[task.t{n}]\ncommand = \"{wait}\"\ntime = \"1s\"\n");
    place.write("w.toml", (0..4).map(task).collect::<String>());
    let run = place.path().join("r");
    let line = "run w.toml --platform nodes.toml --on slurm --folder r --trace t.jsonl";
    let mut child = cluster.spawn(&place, line);
    wait_for("a task", || log(&run).contains("\"process\""));
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143), "{}", place.read("err"));
    assert!(log(&run).contains("\"stopped\""));
    wait_for("an empty queue", || cluster.queue() == 0);
    assert!(processes("environ", &format!("SLACKLINE_RUN={}", id_of(&run))).is_empty());
    place.write("gate", "");
    cluster.ok(&place, "resume r");
}

/// `[slurm]` of the platform in the words of `scontrol show job`, and nothing of the run after `stop`.
fn options_of_the_platform_arrive_and_stop_leaves_nothing(cluster: &Cluster) {
    let place = Place::new();
    let table = "[slurm]\npartition = \"short\"\ntime = \"90s\"\nsbatch = [\"--comment=hello\"]\n\
                 [slurm.kind.wide]\npartition = \"main\"\n";
    place.write("nodes.toml", format!("{SHARED}{table}"));
    place.write("w.toml", "[task.a]\nkind = \"wide\"\ncommand = \"sleep 1000\"\ntime = \"1s\"\n");
    let shown = || {
        let done = cluster.command("scontrol").args(["-o", "show", "job"]).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    for (mode, partition, time) in [("pilots", "short", "00:02:00"), ("job", "main", "00:03:00")] {
        let run = place.path().join(mode);
        let line = format!(
            "run w.toml --platform nodes.toml --on slurm --mode {mode} --time-limit 100s --folder {mode} --detach"
        );
        cluster.ok(&place, &line);
        wait_for("a task", || log(&run).contains("\"process\""));
        let name = format!("JobName=slackline-{}", id_of(&run));
        let jobs = shown();
        let job =
            jobs.lines().find(|l| l.contains(&name) && l.contains("JobState=RUNNING")).unwrap();
        for words in [format!("Partition={partition}"), format!("TimeLimit={time}")] {
            assert!(job.contains(&words), "{words}: {job}");
        }
        assert!(job.contains("Comment=hello"), "{job}");
        if mode == "pilots" {
            let stopped = cluster.ok(&place, "stop pilots --json");
            assert!(stopped.contains("\"state\": \"stopped\""), "{stopped}");
        } else {
            // The engine dies, and its job continues without it.
            let status: Value = serde_json::from_str(&place.ok("status job --json")).unwrap();
            kill(status["process"]["pid"].as_u64().unwrap() as u32);
            let stopped = cluster.ok(&place, "stop job --json");
            assert!(stopped.contains("\"cancelled_jobs\": 1"), "{stopped}");
        }
        wait_for("an empty queue", || cluster.queue() == 0);
        wait_for("no processes", || {
            processes("environ", &format!("SLACKLINE_RUN={}", id_of(&run))).is_empty()
        });
    }
    let error = cluster.slackline(&place, "run w.toml --platform bad.toml --on slurm --folder b");
    place.write("bad.toml", format!("{SHARED}[slurm]\nsbatch = [\"--mem=1G\"]\n"));
    let done = { error }.output().unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("slurm.sbatch"));
}

/// One pilot for little work, more where all are busy, and fewer again.
fn pilots_scale_with_the_work(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED);
    let many: String =
        (0..24).map(|n| format!("[task.t{n}]\ncommand = \"sleep 0.7\"\nseconds = 0.7\n")).collect();
    place.write("w.toml", many);
    let mut child = cluster.spawn(
        &place,
        "run w.toml --platform nodes.toml --on slurm --pilots 1:3 --policy just-in-time --folder r --squeue-interval 1s",
    );
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        most = most.max(cluster.queue());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(child.wait().unwrap().success(), "{}", place.read("err"));
    assert!((2..=3).contains(&most), "{most} pilots");
}

/// All options of a job in the words of `scontrol show job`: those of the platform, and those that follow from the task. A
/// QOS is shown where a cluster keeps accounts only (`stand_in.rs` has it).
fn all_options_arrive(cluster: &Cluster) {
    let place = Place::new();
    let here = place.path().display().to_string();
    let table = "[slurm]\npartition = \"main\"\naccount = \"physics\"\n\
                 [slurm.kind.fast]\nconstraint = \"ssd\"\n[resources]\nsim = { amount = 2, slurm = true }\n";
    let nodes = SHARED.replace("shared-storage", "memory = \"2GB\"\ngpus = 2\nshared-storage");
    place.write("nodes.toml", format!("{nodes}{table}"));
    place.write(
        "w.toml",
        format!(
            "[task.a]\nkind = \"fast\"\ncommand = \"scontrol show job $SLURM_JOB_ID > {here}/job\"\n\
             memory = \"300MB\"\ngpus = 1\nresources = {{ sim = 1 }}\ntime-limit = \"5m\"\ntime = \"1s\"\n"
        ),
    );
    cluster.ok(&place, "run w.toml --platform nodes.toml --on slurm --mode job --folder r");
    let job = place.read("job");
    // Five minutes, and one to begin and to report.
    for words in ["Partition=main", "Account=physics", "Features=ssd", "TimeLimit=00:06:00"] {
        assert!(job.contains(words), "{words}: {job}");
    }
    assert!(job.contains("287M") && job.contains("sim"), "{job}");
    assert!(["gpu:1", "gpu=1"].iter().any(|words| job.contains(words)), "{job}");
}

/// A pilot that runs is preempted by somebody's urgent job: what it did is done again, the rest once.
fn what_is_preempted_is_done_again(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED.replace("1-4", "1-2"));
    let task = |n| {
        format!(
            "[task.t{n}]\ncommand = \"sleep 2; echo {n} > o{n}\"\noutputs = [\"o{n}\"]\ntime = \"2s\"\n"
        )
    };
    place.write("w.toml", (0..6).map(task).collect::<String>());
    let run = place.path().join("r");
    let mut child = cluster.spawn(&place, "run w.toml --platform nodes.toml --on slurm --folder r");
    wait_for("a task", || log(&run).contains("\"process\""));
    wait_for("both pilots", || log(&run).matches("host-back").count() >= 2);
    let urgent = ["--partition=urgent", "--nodelist=n1", "--wrap=sleep 3", "--output=/dev/null"];
    assert!(cluster.command("sbatch").args(urgent).output().unwrap().status.success());
    wait_for("preemption", || log(&run).contains("host-lost"));
    assert!(child.wait().unwrap().success(), "{}", place.read("err"));
    for n in 0..6 {
        assert_eq!(place.read(&format!("r/results/o{n}")), format!("{n}\n"));
    }
    place.ok("replay r");
}

/// Node n2 has no module that a task loads: its pilot says so, and nothing begins.
fn what_a_node_lacks_ends_the_run_before_its_first_task(cluster: &Cluster) {
    let place = Place::new();
    place.write("nodes.toml", SHARED.replace("1-4", "1-2"));
    std::fs::create_dir_all(place.path().join("lmod/init")).unwrap();
    // The other node takes longer to find it.
    place.write(
        "lmod/init/sh",
        "module() { if test \"$SLURMD_NODENAME\" = n2; then echo \"no module $2 here\" >&2; return 1; fi; sleep 2; }\n",
    );
    place.write("w.toml", "[task.a]\ncommand = \"true\"\nmodules = [\"gcc/14\"]\ntime = \"1s\"\n");
    let line = "run w.toml --platform nodes.toml --on slurm --folder r";
    let mut command = cluster.slackline(&place, line);
    let done = command.env("LMOD_PKG", place.path().join("lmod")).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success(), "{said}");
    assert!(said.contains("task 'a' on node") && said.contains("(host 'n2')"), "{said}");
    assert!(said.contains("no module gcc/14 here"), "{said}");
    assert!(!log(&place.path().join("r")).contains("\"process\""));
    // Without that node the run is as it should be.
    place.write("nodes.toml", SHARED.replace("1-4", "1-1"));
    let mut command = cluster.slackline(&place, &line.replace("folder r", "folder again"));
    let done = command.env("LMOD_PKG", place.path().join("lmod")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn name_ends(entry: &std::fs::DirEntry, end: &str) -> bool {
    entry.file_name().to_string_lossy().ends_with(end)
}

/// Slurm's description of the job in which a task runs, and the devices that the task sees.
#[test]
fn jobs_ask_for_the_memory_and_devices_of_their_tasks() {
    let Some(cluster) = Cluster::start() else { return };
    let place = Place::new();
    let here = place.path().display().to_string();
    place.write(
        "p.toml",
        "name = \"nodes\"\n[cluster.main]\nnumbers = \"1-2\"\nnames = \"n{}\"\nspeed = \"1Gf\"\n\
         memory = \"2GB\"\ngpus = 2\nshared-storage = true\n\
         [resources]\nsim = { amount = 2, slurm = true }\n",
    );
    let command = "scontrol show job $SLURM_JOB_ID > HERE/job; echo =$CUDA_VISIBLE_DEVICES > HERE/sees; \
                   echo $SLACKLINE_MEMORY >> HERE/sees";
    let text = format!(
        "[task.a]\ncommand = \"{command}\"\nmemory = \"500MB\"\ngpus = 1\n\
         resources = {{ sim = 1 }}\ntime = \"1s\"\n"
    );
    place.write("w.toml", text.replace("HERE", &here));
    // Mebibytes, rounded up: of the host for pilots, of the task for a job of its own.
    for (mode, memory, devices) in [("pilots", "1908M", "2"), ("job", "477M", "1")] {
        let line =
            format!("run w.toml --platform p.toml --on slurm --mode {mode} --folder r-{mode}");
        cluster.ok(&place, &line);
        let job = place.read("job");
        assert!(job.contains(memory), "{mode}: {job}");
        let asked = [format!("gpu:{devices}"), format!("gpu={devices}")];
        assert!(asked.iter().any(|words| job.contains(words)), "{mode}: {job}");
        assert_eq!(
            job.contains("Licenses=sim:1") || job.contains("Licenses=sim "),
            mode == "job",
            "{job}"
        );
        assert!(place.read("sees").ends_with("\n500000000\n"), "{}", place.read("sees"));
    }
}

/// Tasks for one host that are ready together as one array, and one task over two nodes.
#[test]
fn jobs_are_arrays_and_span_nodes() {
    let Some(cluster) = Cluster::of("2") else { return };
    let place = Place::new();
    let nodes = SHARED.replace("1-4", "1-2").replace("speed", "cores = 2\nspeed");
    place.write("nodes.toml", nodes);
    let mut text: String = (0..8)
        .map(|n| {
            format!(
                "[task.t{n}]\ncommand = \"sleep 0.3; echo $SLURM_JOB_ID ${{SLURM_ARRAY_JOB_ID:-none}} > o{n}\"\n\
                 outputs = [\"o{n}\"]\nseconds = 0.3\n"
            )
        })
        .collect();
    text.push_str(
        "[task.wide]\ncommand = \"echo $SLURMD_NODENAME $SLACKLINE_NODES > p$SLURM_PROCID\"\ncores = 2\nnodes = 2\n\
         outputs = [\"p0\", \"p1\", \"p2\", \"p3\"]\nseconds = 1\n",
    );
    place.write("w.toml", text);
    let line = "run w.toml --platform nodes.toml --on slurm --mode job --folder r --squeue-interval 1s --json";
    let document: Value = serde_json::from_str(&cluster.ok(&place, line)).unwrap();
    assert_eq!((&document["finished"], &document["attempts"]), (&true.into(), &9.into()));
    let mut jobs: Vec<String> = (0..8).map(|n| place.read(&format!("r/results/o{n}"))).collect();
    let arrays = jobs.iter().filter(|job| !job.ends_with("none\n")).count();
    assert!(arrays >= 4, "{jobs:?}");
    jobs.sort_unstable();
    jobs.dedup();
    assert_eq!(jobs.len(), 8, "every task has a job of its own");
    let mut ranks: Vec<String> = (0..4).map(|n| place.read(&format!("r/results/p{n}"))).collect();
    ranks.sort_unstable();
    assert!(ranks.iter().all(|rank| rank.ends_with(" 2\n")), "{ranks:?}");
    assert!(ranks[0] == ranks[1] && ranks[1] != ranks[2] && ranks[2] == ranks[3], "{ranks:?}");
    place.ok("replay r");
    // One that is stopped leaves no job of an array.
    let slow = place.read("w.toml").replace("sleep 0.3", "sleep 300");
    place.write("w.toml", slow);
    cluster
        .ok(&place, "run w.toml --platform nodes.toml --on slurm --mode job --folder s --detach");
    wait_for("a task", || log(&place.path().join("s")).contains("\"process\""));
    cluster.ok(&place, "stop s");
    wait_for("an empty queue", || cluster.queue() == 0);
}

/// A campaign that is done in parts by a job array.
const CAMPAIGN: &str = r#"
name = "array"
seed = 2
repeat = 3
[workflows.random]
generate = "daggen"
tasks = [8, 12]
[platforms.flat]
generate = "processors"
processors = [2, 3]
[methods]
plan = ["heft", "peft"]
simulate = ["static:peft"]
"#;

#[test]
fn a_campaign_as_a_job_array_gives_the_table_of_one_process() {
    let Some(cluster) = Cluster::start() else { return };
    let place = Place::new();
    place.write("campaign.toml", CAMPAIGN);
    place.ok("compare campaign.toml -o here.db --csv here.csv -q");
    let line = "compare campaign.toml -o there.db --csv there.csv --on slurm --jobs 3";
    cluster.ok(&place, line);
    assert_eq!(place.read("there.csv"), place.read("here.csv"));
    assert!(!place.path().join("there.db.parts").exists());
    // All is there: nothing is submitted that would change it.
    cluster.ok(&place, line);
    assert_eq!(place.read("there.csv"), place.read("here.csv"));
    // A part that fails says why, and what it did is kept.
    std::fs::create_dir(place.path().join("bad")).unwrap();
    let line = "compare campaign.toml -o bad/all.db --on slurm --jobs 2 --sbatch --partition=none";
    let done = cluster.slackline(&place, line).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code() == Some(1) && said.contains("sbatch"), "{said}");
}
