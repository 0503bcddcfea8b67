//! Runs on a machine with a hostile second user, and tasks that write where they should not. Users
//! are numbers that nobody has, which only the superuser can take on.
#![cfg(unix)]
#![allow(clippy::unwrap_used)] // a broken fixture is a broken test

use crate::common;

use common::runs::wait_for;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

/// The user whose runs these are, and the other one.
const OWNER: u32 = 61_234;
const OTHER: u32 = 61_235;

/// The command, where every user can start it.
fn slackline() -> &'static Path {
    static COPY: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let built = Path::new(env!("CARGO_BIN_EXE_slackline"));
    let probe = as_user(Some(OWNER), built).arg("--version").output();
    if probe.is_ok_and(|done| done.status.success()) {
        return built;
    }
    let (_, path) = COPY.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        chmod(folder.path(), 0o755);
        let path = folder.path().join("slackline");
        std::fs::copy(built, &path).unwrap();
        (folder, path)
    });
    path
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Whether this test can be somebody else; where not, that is said whatever hides the words of tests.
fn can_be_others(test: &str) -> bool {
    let able =
        is_root() && as_user(Some(OTHER), "true").status().is_ok_and(|status| status.success());
    if !able {
        let why =
            format!("SKIPPED {test}: needs the superuser and setpriv to act as other users\n");
        std::io::stderr().write_all(why.as_bytes()).unwrap();
    }
    able
}

/// A command as some user, or as the one who runs the tests.
fn as_user(user: Option<u32>, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let Some(user) = user else { return Command::new(program) };
    let mut command = Command::new("setpriv");
    let id = user.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(program);
    command
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o7777
}

/// A folder of a user.
struct Home {
    folder: tempfile::TempDir,
    user: Option<u32>,
}

impl Home {
    fn of(user: Option<u32>) -> Home {
        let folder = tempfile::tempdir().unwrap();
        chmod(folder.path(), 0o755);
        let home = Home { folder, user };
        home.own(home.path());
        home
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    fn own(&self, path: &Path) {
        std::os::unix::fs::chown(path, self.user, self.user).unwrap();
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at(name);
        std::fs::write(&path, text).unwrap();
        self.own(&path);
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.at(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn command(&self, line: &str) -> Command {
        let mut command = as_user(self.user, slackline());
        command.args(line.split_whitespace()).current_dir(self.path());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    fn ok(&self, line: &str) {
        let done = self.run(line);
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Standard error of a command that fails.
    fn fails(&self, code: i32, line: &str) -> String {
        let done = self.run(line);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(code), "{line}: {said}");
        said
    }

    fn spawn(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

/// Has the other user try something in a shell; says whether it worked.
fn attack(home: &Home, script: &str) -> bool {
    let mut shell = as_user(Some(OTHER), "sh");
    let done = shell.args(["-c", script]).current_dir(home.path()).stderr(Stdio::null()).output();
    done.unwrap().status.success()
}

fn task(name: &str, command: &str, inputs: &[&str], outputs: &[&str]) -> String {
    format!(
        "[task.{name}]\ncommand = '''{command}'''\ninputs = {inputs:?}\noutputs = {outputs:?}\ntime = \"10ms\"\n"
    )
}

/// A command that waits until a file is there.
fn until(gate: &Path) -> String {
    format!("until test -e {}; do sleep 0.02; done", gate.display())
}

#[test]
fn another_user_reads_and_replaces_nothing() {
    if !can_be_others("another_user_reads_and_replaces_nothing") {
        return;
    }
    let home = Home::of(Some(OWNER));
    let scratch = home.at("tmp");
    std::fs::create_dir(&scratch).unwrap();
    chmod(&scratch, 0o1777);
    let gate = home.at("gate");
    let command =
        format!("echo right > out; touch {}; {}", home.at("wrote").display(), until(&gate));
    home.write("w.toml", &task("t", &command, &[], &["out"]));
    // What an earlier version would have worked in, for any run of the day.
    assert!(attack(&home, "mkdir tmp/slackline-1 tmp/slackline-x"));
    let line = "run w.toml --scratch tmp --folder r";
    let mut child =
        home.spawn(&line.replace("--scratch tmp", &format!("--scratch {}", scratch.display())));
    wait_for("the task", || home.at("wrote").exists());
    assert_eq!(mode(&home.at("r")), 0o700);
    let own = || {
        let entries = std::fs::read_dir(&scratch).unwrap().map(|e| e.unwrap().path());
        entries.filter(|path| path.metadata().unwrap().uid() == OWNER).collect::<Vec<_>>()
    };
    assert_eq!(own().len(), 1);
    assert_eq!(mode(&own()[0]), 0o700);
    for script in [
        "cat r/log.jsonl",
        "ls r",
        "touch r/file",
        "mv r r2",
        "rm -r r/hosts",
        "cat tmp/slackline-*-h*/out",
        "for d in tmp/slackline-*-h*; do echo wrong > $d/out; done && test -e $d/out",
        "for d in tmp/slackline-*-h*; do mv $d away && exit; done; exit 1",
        "for d in tmp/slackline-*-h*; do rmdir $d && exit; done; exit 1",
    ] {
        assert!(!attack(&home, script), "{script}");
    }
    std::fs::write(&gate, "").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(home.read("r/results/out"), "right\n");
    assert_eq!(own(), Vec::<PathBuf>::new());
    // Nor does it resume what it cannot read.
    let foreign = Home { folder: tempfile::tempdir().unwrap(), user: Some(OTHER) };
    chmod(foreign.path(), 0o777);
    foreign.fails(2, &format!("resume {}", home.at("r").display()));
}

/// Remains of a killed engine in a scratch folder are removed by the next one; other folders are not.
#[test]
fn scratch_folders_of_killed_runs_are_removed() {
    let home = Home::of(None);
    let (gate, begun) = (home.at("gate"), home.at("begun"));
    let command = format!("echo $PWD >> {}; {}; echo right > out", begun.display(), until(&gate));
    home.write("w.toml", &task("t", &command, &[], &["out"]));
    for name in ["tmp", "tmp/slackline-other-h0-op0-x"] {
        std::fs::create_dir(home.at(name)).unwrap();
        chmod(&home.at(name), 0o700);
    }
    let mut child = home.spawn("run w.toml --scratch x/../tmp --folder r");
    wait_for("the task", || begun.exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let count = || std::fs::read_dir(home.at("tmp")).unwrap().count();
    assert_eq!(count(), 2);
    let mut child = home.spawn("resume r");
    wait_for("the task again", || home.read("begun").lines().count() == 2);
    assert_eq!(count(), 2);
    home.write("gate", "");
    assert!(child.wait().unwrap().success());
    // Another name each time.
    let names = home.read("begun");
    let mut names: Vec<&str> = names.lines().collect();
    names.dedup();
    assert_eq!((names.len(), count()), (2, 1));
    assert_eq!(home.read("r/results/out"), "right\n");
}

#[test]
fn scratch_folders_under_foreign_hands_are_refused() {
    if !can_be_others("scratch_folders_under_foreign_hands_are_refused") {
        return;
    }
    let home = Home::of(Some(OWNER));
    home.write("w.toml", &task("t", "echo right > out", &[], &["out"]));
    let shared = home.at("shared");
    std::fs::create_dir(&shared).unwrap();
    chmod(&shared, 0o1777);
    let prepare = "cd shared && mkdir -m 777 foreign && mkdir -p around/inner && chmod 777 around/inner \
        && ln -s $PWD/foreign link && mkdir -m 755 deep && ln -s $PWD/foreign deep/link && : > file";
    assert!(attack(&home, prepare));
    std::fs::create_dir(home.at("open")).unwrap();
    home.own(&home.at("open"));
    chmod(&home.at("open"), 0o777);
    symlink(home.at("shared"), home.at("own-link")).unwrap();
    let cases = [
        ("shared/foreign", "belongs to user"),
        ("shared/foreign/new", "belongs to user"),
        ("shared/around/inner", "belongs to user"),
        ("shared/link", "symbolic link"),
        ("shared/deep/link/new", "belongs to user"),
        ("own-link", "symbolic link"),
        ("own-link/new", "symbolic link"),
        ("open", "no sticky bit"),
        ("open/new", "no sticky bit"),
        ("shared/file", "not a directory"),
    ];
    for (index, (name, why)) in cases.iter().enumerate() {
        let line = format!("run w.toml --scratch {} --folder r{index}", home.at(name).display());
        let said = home.fails(1, &line);
        assert!(said.contains(why), "{name}: {said}");
    }
    assert!(attack(&home, "test -z \"$(ls -A shared/foreign; ls -A shared/around/inner)\""));
    // One of one's own in it is right.
    let good = home.at("shared/mine/scratch");
    home.ok(&format!("run w.toml --scratch {} --folder good", good.display()));
    assert_eq!((mode(&good), std::fs::read_dir(&good).unwrap().count()), (0o700, 0));
}

#[test]
fn folders_of_runs_belong_to_one_user() {
    let home = Home::of(None);
    home.write("w.toml", &task("t", "echo right > out", &[], &["out"]));
    // A folder that is there and open to all is closed first.
    std::fs::create_dir(home.at("r")).unwrap();
    chmod(&home.at("r"), 0o777);
    home.ok("run w.toml --folder r");
    assert_eq!(mode(&home.at("r")), 0o700);
    // One that others may read stays so, and can be resumed; not one that others may write to.
    chmod(&home.at("r"), 0o755);
    home.ok("resume r");
    for open in [0o775, 0o757] {
        chmod(&home.at("r"), open);
        assert!(home.fails(2, "resume r").contains("chmod go-w"));
    }
    std::fs::create_dir(home.at("open")).unwrap();
    chmod(&home.at("open"), 0o777);
    assert!(home.fails(2, "run w.toml --folder open/r").contains("no sticky bit"));
    // The lock of another machine.
    chmod(&home.at("r"), 0o700);
    let holder = r#"{"host":"n17","machine":"m","boot":"b","pid":4711,"started":1}"#;
    chmod(&home.write("r/holder", holder), 0o600);
    let said = home.fails(2, "resume r");
    assert!(said.contains("process 4711 on n17") && said.contains("r/holder"), "{said}");
    std::fs::remove_file(home.at("r/holder")).unwrap();
    home.ok("resume r");
    assert!(!home.at("r/holder").exists());
    // Links where files and folders of a run should be.
    symlink(home.at("elsewhere"), home.at("r/holder")).unwrap();
    home.fails(2, "resume r");
    std::fs::remove_file(home.at("r/holder")).unwrap();
    std::fs::remove_file(home.at("r/lock")).unwrap();
    symlink(home.at("elsewhere"), home.at("r/lock")).unwrap();
    assert!(!home.run("resume r").status.success());
    assert!(!home.at("elsewhere").exists());
    std::fs::remove_file(home.at("r/lock")).unwrap();
    std::fs::rename(home.at("r/tasks"), home.at("tasks")).unwrap();
    symlink(home.at("tasks"), home.at("r/tasks")).unwrap();
    assert!(home.fails(2, "resume r").contains("is a link"));
    if can_be_others("a run folder of another user") {
        std::fs::create_dir(home.at("theirs")).unwrap();
        std::os::unix::fs::chown(home.at("theirs"), Some(OTHER), Some(OTHER)).unwrap();
        chmod(&home.at("theirs"), 0o777);
        assert!(home.fails(2, "run w.toml --folder theirs").contains("belongs to user"));
        assert_eq!(std::fs::read_dir(home.at("theirs")).unwrap().count(), 0);
    }
}

/// Tasks that write to their inputs, for the superuser, whom no mode holds back, and for others.
#[test]
fn tasks_change_neither_files_of_the_user_nor_inputs_of_others() {
    let mut users = vec![None];
    if can_be_others("inputs of an ordinary user") {
        users.push(Some(OWNER));
    }
    for user in users {
        let home = Home::of(user);
        home.write("given", "given\n");
        chmod(&home.write("fixed", "fixed\n"), 0o444);
        let spoil = "for f in given fixed made; do (echo spoilt >> $f); (: > $f); rm -f $f; done; echo ok > spoilt";
        // A hard link as output, of an input from a store, and of the user's own file.
        let link =
            format!("ln made linked; ln {} own; cat made > copy", home.at("given").display());
        let workflow = [
            task("make", "cat given fixed > made", &["given", "fixed"], &["made"]),
            task("spoil", spoil, &["given", "fixed", "made"], &["spoilt"]),
            task("link", &link, &["made"], &["linked", "own", "copy"]),
            task(
                "last",
                "cat given fixed made spoilt linked copy > out",
                &["given", "fixed", "made", "spoilt", "linked", "copy"],
                &["out"],
            ),
        ];
        let files = "[files]\ngiven = \"6B\"\nfixed = \"6B\"\n";
        home.write("w.toml", &format!("{files}{}", workflow.concat()));
        home.ok("run w.toml --folder r");
        let made = "given\nfixed\n";
        assert_eq!(home.read("r/results/out"), format!("{made}{made}ok\n{made}{made}"), "{user:?}");
        assert_eq!((home.read("given"), home.read("fixed")), ("given\n".into(), "fixed\n".into()));
        assert_eq!((mode(&home.at("given")), mode(&home.at("fixed"))), (0o644, 0o444));
        // The user's file and the result share nothing.
        let own = std::fs::metadata(home.at("r/results/own")).unwrap();
        assert_ne!(own.ino(), std::fs::metadata(home.at("given")).unwrap().ino());
        assert_eq!((home.read("r/results/own"), own.mode() & 0o222), ("given\n".into(), 0));
        home.write("given", "changed\n");
        assert_eq!(home.read("r/results/own"), "given\n");
    }
}

/// Large files of the superuser are brought once as well; who writes to one fails by name, and it is brought again.
#[test]
fn large_inputs_of_the_superuser_are_linked_and_checked() {
    if !is_root() {
        return;
    }
    let home = Home::of(None);
    home.write("large", "");
    let file = std::fs::File::options().write(true).open(home.at("large")).unwrap();
    file.set_len(17 << 20).unwrap();
    let inode = "stat -c %i large";
    let rude = "if [ $SLACKLINE_ATTEMPT = 1 ]; then echo x >> large; fi; wc -c < large > o3";
    let workflow = [
        task("one", &format!("{inode} > o1"), &["large"], &["o1"]),
        task("two", &format!("{inode} > o2"), &["large", "o1"], &["o2"]),
        task("rude", rude, &["large", "o2"], &["o3"]),
        task("last", "cat o1 o2 o3 > out", &["o1", "o2", "o3"], &["out"]),
    ];
    home.write("w.toml", &format!("[files]\nlarge = \"17MiB\"\n{}", workflow.concat()));
    home.ok("run w.toml --folder r");
    let out = home.read("r/results/out");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines[0], lines[2]), (lines[1], "17825792"));
    assert!(home.read("r/log.jsonl").contains("its input 'large' was changed"));
    assert_eq!(std::fs::metadata(home.at("large")).unwrap().len(), 17 << 20);
}

/// A task that takes the permission to write to an input linked into a store fails, and the file it
/// changed is made again.
#[test]
fn inputs_that_are_changed_by_force_are_made_again() {
    if !can_be_others("inputs_that_are_changed_by_force_are_made_again") {
        return;
    }
    let home = Home::of(Some(OWNER));
    let once = format!(
        "test -e {0} || {{ touch {0}; chmod u+w made; echo spoilt >> made; }}; chmod u+w made; echo ok > forced",
        home.at("once").display()
    );
    let workflow = [
        task("make", "echo made > made", &[], &["made"]),
        task("force", &once, &["made"], &["forced"]),
        task("last", "cat made > out", &["made", "forced"], &["out"]),
    ];
    home.write("w.toml", &workflow.concat());
    home.ok("run w.toml --folder r");
    assert!(home.read("r/log.jsonl").contains("its input 'made' was changed"));
    assert_eq!(home.read("r/results/out"), "made\n");
    let hosts = std::fs::read_dir(home.at("r/hosts")).unwrap().map(|e| e.unwrap().path());
    let stored = hosts.map(|host| host.join("files/made")).find(|path| path.exists()).unwrap();
    assert_eq!(mode(&stored) & 0o222, 0);
}

#[test]
fn outputs_behind_links_are_none() {
    let home = Home::of(None);
    home.write("secret", "secret\n");
    std::fs::create_dir(home.at("outside")).unwrap();
    home.write("outside/out", "outside\n");
    let at = |name: &str| home.at(name).display().to_string();
    let cases = [
        ("out", format!("ln -s {} out", at("secret")), "is a link"),
        ("d/out", format!("ln -s {} d", at("outside")), "is behind a link"),
        ("d/e/out", format!("mkdir d; ln -s {} d/e", at("outside")), "is behind a link"),
        ("out", "mkfifo out".to_string(), "is neither file nor folder"),
        (
            "out",
            format!("mkdir out; ln -s {} out/link", at("secret")),
            "a link that leaves the folder",
        ),
        ("d/out", "echo x > d".to_string(), "no folder"),
    ];
    for (index, (output, command, why)) in cases.iter().enumerate() {
        home.write("w.toml", &task("t", command, &[], &[output]));
        let said = home.fails(1, &format!("run w.toml --retries 0 --folder r{index}"));
        assert!(said.contains(why), "{command}: {said}");
    }
    assert_eq!(mode(&home.at("secret")) & 0o200, 0o200);
    assert_eq!(home.read("outside/out"), "outside\n");
}

#[test]
fn changed_inputs_are_named_and_not_mixed() {
    let home = Home::of(None);
    home.write("a", "a\n");
    home.write("b", "b\n");
    let gate = home.at("gate");
    let workflow = [
        task("first", &format!("cat a > one; {}", until(&gate)), &["a"], &["one"]),
        task("second", "cat one a b > two", &["one", "a", "b"], &["two"]),
    ];
    home.write("w.toml", &format!("[files]\na = \"2B\"\nb = \"2B\"\n{}", workflow.concat()));
    let mut child = home.spawn("run w.toml --folder r");
    let log = || std::fs::read_to_string(home.at("r/log.jsonl")).unwrap_or_default();
    wait_for("the first task", || log().contains("\"process\""));
    assert!(log().lines().next().unwrap().contains("\"input_digests\":{\"a\":"));
    child.kill().unwrap();
    child.wait().unwrap();
    home.write("b", "B\n");
    let said = home.fails(2, "resume r");
    assert!(said.contains("task 'second'") && said.contains("/b:"), "{said}");
    std::fs::remove_file(home.at("b")).unwrap();
    assert!(home.fails(2, "resume r").contains("/b:"));
    home.write("b", "b\n");
    // The same again while the run is under way.
    let mut child = home.spawn("resume r");
    wait_for("the first task again", || log().matches("\"process\"").count() == 2);
    home.write("b", "longer\n");
    home.write("gate", "");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(log().contains("input 'b' has changed since the run began"));
    assert!(!home.at("r/results/two").exists());
}

/// A process that leaves its group and session, with or without its variables, ends with the attempt, and writes
/// nothing later.
#[test]
fn nothing_gets_away_from_an_attempt() {
    let home = Home::of(None);
    let late = |name: &str| {
        let beat = home.at(&format!("{name}.beat"));
        format!(
            "echo $$ > {}; while :; do echo late >> out-{name}; date +%N > {}; sleep 0.01; done",
            home.at(&format!("{name}.pid")).display(),
            beat.display()
        )
    };
    let cases = [
        ("group", format!("sh -c \"{}\" &", late("group"))),
        ("session", format!("setsid sh -c \"{}\" &", late("session"))),
        ("double", format!("(setsid sh -c \"({}) & exit\" &)", late("double"))),
        (
            "bare",
            format!(
                "work=$PWD; cd /; (env -i PATH=$PATH setsid sh -c \"cd /; exec > /dev/null 2>&1; {}\" &); cd $work",
                late("bare").replace("out-bare", "$work/out-bare")
            ),
        ),
        ("deaf", format!("(setsid sh -c \"trap '' TERM INT HUP; {}\" &)", late("deaf"))),
    ];
    let mut workflow = String::new();
    for (name, command) in &cases {
        let command = command.replace("\\", "").replace("$$", "\\$\\$");
        let wait = format!(
            "until test -s {}; do sleep 0.01; done",
            home.at(&format!("{name}.beat")).display()
        );
        let output = format!("out-{name}");
        workflow +=
            &task(name, &format!("{command}\n{wait}\necho done > {output}"), &[], &[&output]);
    }
    home.write("w.toml", &workflow);
    home.ok("run w.toml --folder r --policy just-in-time");
    for (name, _) in &cases {
        let pid = home.read(&format!("{name}.pid"));
        assert!(!Path::new(&format!("/proc/{}", pid.trim())).exists(), "{name}: {pid}");
        let stored = home.at(&format!("r/results/out-{name}"));
        let (before, beat) = (std::fs::read(&stored).unwrap(), home.read(&format!("{name}.beat")));
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(std::fs::read(&stored).unwrap(), before, "{name}");
        assert_eq!(home.read(&format!("{name}.beat")), beat, "{name}");
        assert_eq!(mode(&stored) & 0o222, 0, "{name}");
    }
}

#[test]
fn a_folder_that_is_refused_stays_as_it_is() {
    let home = Home::of(None);
    home.write("w.toml", &task("a", "echo > x", &[], &["x"]));
    let shared = home.at("shared");
    std::fs::create_dir(&shared).unwrap();
    std::fs::write(shared.join("notes"), "ours").unwrap();
    chmod(&shared, 0o775);
    let said = home.fails(2, "run w.toml --folder shared --quiet");
    assert!(said.contains("not empty"), "{said}");
    assert_eq!(mode(&shared), 0o775);
    assert!(!shared.join("lock").exists());
}

/// Processes that a shell started before it became the command are not remains of an attempt.
#[test]
fn processes_that_were_there_before_a_run_live_on() {
    let home = Home::of(None);
    home.write("w.toml", &task("a", "echo > x", &[], &["x"]));
    let script =
        format!("sleep 60 & echo $! > pid; exec {} run w.toml --quiet", slackline().display());
    let status = as_user(None, "sh").args(["-c", &script]).current_dir(home.path()).status();
    assert!(status.unwrap().success());
    let pid = home.read("pid").trim().to_string();
    assert!(Path::new("/proc").join(&pid).exists(), "it was ended");
    assert!(Command::new("kill").arg(&pid).status().unwrap().success());
}

/// Permissions that are missing for a while: what fails rests and is tried again a few times, no host is
/// lost, and nothing is abandoned at once.
#[test]
fn permissions_that_come_back_are_waited_for() {
    if !can_be_others("permissions_that_come_back_are_waited_for") {
        return;
    }
    let home = Home::of(Some(OWNER));
    for folder in ["data", "flags"] {
        std::fs::create_dir(home.at(folder)).unwrap();
        home.own(&home.at(folder));
    }
    home.write("data/in", "in\n");
    let gate = home.at("flags/gate");
    let workflow = [
        task("first", &format!("echo 1 > one; {}", until(&gate)), &[], &["one"]),
        task("second", "cat one data/in > two", &["one", "data/in"], &["two"]),
        task("third", "cat two > three", &["two"], &["three"]),
    ];
    home.write("w.toml", &format!("[files]\n\"data/in\" = \"3B\"\n{}", workflow.concat()));
    let log = || std::fs::read_to_string(home.at("r/log.jsonl")).unwrap_or_default();
    let mut child = home.spawn("run w.toml --folder r");
    wait_for("the first task", || log().contains("\"process\""));
    // Nobody can look at the folders of hosts for longer than between two looks at them.
    chmod(&home.at("r/hosts"), 0);
    std::thread::sleep(std::time::Duration::from_millis(700));
    chmod(&home.at("r/hosts"), 0o755);
    chmod(&home.at("data"), 0);
    home.write("flags/gate", "");
    wait_for("a failure", || log().contains("\"failure\""));
    std::thread::sleep(std::time::Duration::from_millis(300));
    chmod(&home.at("data"), 0o755);
    assert!(child.wait().unwrap().success(), "{}", log());
    assert_eq!(home.read("r/results/three"), "1\nin\n");
    assert!(!log().contains("host-lost") && !log().contains("copy-lost"), "{}", log());
    let failures = log().matches("\"note\":{\"failure\"").count();
    assert!((1..=2).contains(&failures), "{failures} failures");
}

/// A user who may have few processes and threads at once.
#[test]
fn too_few_threads_are_waited_for() {
    if !can_be_others("too_few_threads_are_waited_for") {
        return;
    }
    // Processes are counted by user: nobody else is this one.
    let home = Home::of(Some(OTHER + 1));
    let mut workflow = String::new();
    for number in 0..12 {
        let name = format!("o{number}");
        workflow +=
            &task(&format!("t{number}"), &format!("echo > {name}; exec sleep 0.3"), &[], &[&name]);
    }
    home.write("w.toml", &workflow);
    home.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 12\n");
    let mut limited = as_user(home.user, "prlimit");
    let line = "run w.toml --platform p.toml --retries 6 --folder r";
    limited.arg("--nproc=12").arg(slackline()).args(line.split(' '));
    let done = limited.current_dir(home.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && !said.contains("panicked"), "{said}");
    assert!(home.read("r/log.jsonl").contains("Resource temporarily unavailable"), "{said}");
    assert_eq!(std::fs::read_dir(home.at("r/results")).unwrap().count(), 12);
}

/// A file of a store has several readers: one that only sets its date disturbs nobody, one that changes it
/// takes those along that read it meanwhile.
#[test]
fn readers_of_a_file_that_is_changed_begin_again() {
    if !can_be_others("readers_of_a_file_that_is_changed_begin_again") {
        return;
    }
    let home = Home::of(Some(OWNER));
    std::fs::create_dir(home.at("flags")).unwrap();
    home.own(&home.at("flags"));
    let flag = |name: &str| home.at("flags").join(name).display().to_string();
    let once = format!(
        "if mkdir {0}; then {1}; chmod u+w made; echo wrong > made; echo > {2}; fi; echo ok > forced",
        flag("once"),
        until(&home.at("flags/reads")),
        flag("spoilt")
    );
    // It reads before and after, and ends when the other one has ended.
    let read = format!(
        "cat made > read; echo > {}; {}; sleep 0.4; cat made >> read",
        flag("reads"),
        until(&home.at("flags/spoilt"))
    );
    let workflow = [
        task("make", "echo right > made", &[], &["made"]),
        task("touch", "touch made; cat made > touched", &["made"], &["touched"]),
        task("force", &once, &["made", "touched"], &["forced"]),
        task("read", &read, &["made", "touched"], &["read"]),
        task("last", "cat made > out", &["made", "forced", "read"], &["out"]),
    ];
    home.write("w.toml", &workflow.concat());
    home.write("p.toml", "[host.h]\nspeed = \"1Gf\"\ncores = 2\n");
    home.ok("run w.toml --platform p.toml --policy just-in-time --folder r");
    let log = home.read("r/log.jsonl");
    let failed = |name: &str| {
        log.lines()
            .filter(|line| line.contains("\"note\":{\"failure\""))
            .filter(|line| line.contains(&format!("\"name\":\"{name}\"")))
            .filter(|line| line.contains("its input 'made' was changed"))
            .count()
    };
    assert_eq!((failed("touch"), failed("force"), failed("read")), (0, 1, 1), "{log}");
    assert_eq!(home.read("r/results/out"), "right\n");
    let stored = home.at("r/hosts/h/files/read");
    assert_eq!(std::fs::read_to_string(stored).unwrap(), "right\nright\n");
}

/// Files of the user are brought into the store once, read-only, and are the same file for all that read them. Who
/// changes it by force fails by name, and the user's own stays as it was.
#[test]
fn inputs_are_brought_once_for_all_readers() {
    if !can_be_others("inputs_are_brought_once_for_all_readers") {
        return;
    }
    let home = Home::of(Some(OWNER));
    home.write("in", "mine\n");
    chmod(&home.at("in"), 0o664);
    let inode = "ls -i in | cut -d ' ' -f 1";
    let workflow = [
        task("one", &format!("{inode} > o1"), &["in"], &["o1"]),
        task("two", &format!("{inode} > o2"), &["in"], &["o2"]),
        task(
            "rude",
            "if echo x >> in; then exit 9; fi 2> /dev/null; echo > o3",
            &["in", "o1", "o2"],
            &["o3"],
        ),
        task(
            "force",
            "if [ $SLACKLINE_ATTEMPT = 1 ]; then chmod u+w in; echo x >> in; fi; cat in > o4",
            &["in", "o3"],
            &["o4"],
        ),
        task("last", &format!("cat in > o5; {inode} >> o5"), &["in", "o4"], &["o5"]),
    ];
    home.write("w.toml", &format!("[files]\nin = \"5B\"\n{}", workflow.concat()));
    home.ok("run w.toml --folder r");
    let stored = std::fs::read_dir(home.at("r/hosts")).unwrap().map(|e| e.unwrap().path());
    let kept = stored.map(|host| host.join("given/in")).find(|path| path.exists()).unwrap();
    assert_eq!(mode(&kept) & 0o222, 0);
    let result = |name: &str| {
        let folder = kept.parent().unwrap().parent().unwrap().join("files");
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    assert_eq!(result("o1"), result("o2"));
    let own = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(home.at("in")).unwrap());
    assert_ne!(result("o1").trim(), own.to_string());
    let log = home.read("r/log.jsonl");
    assert!(log.contains("its input 'in' was changed"), "{log}");
    assert_eq!(result("o4"), "mine\n");
    assert!(result("o5").starts_with("mine\n"));
    assert_eq!((home.read("in").as_str(), mode(&home.at("in")) & 0o777), ("mine\n", 0o664));
}
