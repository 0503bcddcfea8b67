//! Inputs and outputs: devices, pipes, links and standard streams; nothing is lost.

#![allow(clippy::unwrap_used)]

use crate::common;

use common::Place;
use std::io::Write;
use std::process::{Command, Stdio};

const GAUSS: &str = "examples/workflows/gauss.dot";

/// Runs a line with a text on standard input; gives what it printed.
fn fed(place: &Place, line: &str, text: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_slackline"))
        .args(line.split_whitespace())
        .current_dir(place.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{line}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_dash_is_a_stream_in_every_verb() {
    let place = Place::new();
    let made = place.ok("generate workflow daggen --tasks 5 -o -");
    assert_eq!(made, place.ok("generate workflow daggen --tasks 5"));
    assert!(!place.path().join("-").exists());
    let plan = fed(&place, "plan - -o -", &made);
    assert!(plan.starts_with("{\n  \"schema\": \"slackline/schedule/1\""), "{plan}");
    assert_eq!(plan, fed(&place, "plan /dev/stdin -o -", &made));
    let platform = place.read("examples/platforms/two-site-grid.toml");
    let on_grid = fed(&place, &format!("plan {GAUSS} -p - --json"), &platform);
    assert!(on_grid.contains("\"platform\": \"two-site grid\""), "{on_grid}");
    assert!(fed(&place, "convert - - --to dax", &made).contains("<adag"));
    let svg = place.run_words(&["plan", GAUSS, "--gantt", "-"]);
    assert!(svg.out.starts_with("<svg") && svg.err.contains("makespan"), "{}", svg.err);
    let error = place.fails(2, "plan - -p -");
    assert!(error.contains("standard input"), "{error}");
    let error = place.fails(2, &format!("plan {GAUSS} -o - --json"));
    assert!(error.contains("--output and --json both write"), "{error}");
}

#[test]
fn inputs_are_not_written_over() {
    let place = Place::new();
    place.write("w.dot", place.read(GAUSS));
    std::os::unix::fs::symlink("w.dot", place.path().join("alias.svg")).unwrap();
    for line in [
        "plan w.dot --gantt w.dot",
        "plan w.dot --gantt alias.svg",
        "plan w.dot --gantt examples/../w.dot",
        "simulate w.dot --trace w.dot",
        "convert w.dot w.dot",
        "show w.dot --svg ./w.dot",
    ] {
        let error = place.fails(2, line);
        assert!(error.contains("is read too"), "{line}: {error}");
    }
    assert_eq!(place.read("w.dot"), place.read(GAUSS));
    let error = place.fails(2, "plan w.dot --gantt same.json -o same.json");
    assert!(error.contains("--gantt and --output both write to same.json"), "{error}");
    place.ok("plan w.dot --gantt /dev/null -q");
}

#[test]
fn links_and_pipes_are_written_through() {
    let place = Place::new();
    place.write("target.svg", "old");
    let link = place.path().join("link.svg");
    std::os::unix::fs::symlink("target.svg", &link).unwrap();
    place.ok(&format!("plan {GAUSS} --gantt link.svg"));
    assert!(link.is_symlink() && place.read("target.svg").starts_with("<svg"));

    let pipe = place.path().join("pipe.svg");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    place.ok(&format!("plan {GAUSS} --gantt pipe.svg"));
    assert!(reader.join().unwrap().starts_with("<svg"));
    assert!(!std::fs::symlink_metadata(&pipe).unwrap().is_file());
}

/// Nodes of one's own, which need the rights of root; sockets need none.
#[test]
fn devices_and_sockets_are_never_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let place = Place::new();
    let kind = |name: &str| std::fs::symlink_metadata(place.path().join(name)).unwrap().file_type();
    let _listener =
        std::os::unix::net::UnixListener::bind(place.path().join("socket.svg")).unwrap();
    let error = place.fails(1, &format!("plan {GAUSS} --gantt socket.svg -q"));
    assert!(error.contains("socket.svg") && kind("socket.svg").is_socket(), "{error}");
    for (name, minor, code) in [("null.svg", "3", 0), ("full.svg", "7", 1)] {
        let node = place.path().join(name);
        let made = Command::new("mknod").arg(&node).args(["c", "1", minor]).status();
        // Some containers let root make a device and not open it.
        let open = || std::fs::OpenOptions::new().write(true).open(&node).is_ok();
        if !made.is_ok_and(|status| status.success()) || !open() {
            continue;
        }
        let done = place.run(&format!("plan {GAUSS} --gantt {name} -q"));
        assert_eq!(done.code, Some(code), "{}", done.err);
        assert!(kind(name).is_char_device());
    }
}

#[test]
fn a_full_disk_is_exit_code_one() {
    let place = Place::new();
    let full = place.path().join("full.svg");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let error = place.fails(1, &format!("plan {GAUSS} --gantt full.svg -q"));
    assert!(error.contains("full.svg"), "{error}");
}

#[test]
fn names_are_only_text() {
    let place = Place::new();
    let name = "=a\u{1b}[2J\u{202e}b";
    place.write("evil.dot", format!("digraph {{ \"{name}\" [size=\"1e9\"] }}"));
    for line in ["plan evil.dot", "show evil.dot", "plan evil.dot --color always"] {
        let out = place.ok(line);
        assert!(!out.contains("\u{1b}[2J") && !out.contains('\u{202e}'), "{line}: {out:?}");
    }
    place.ok("plan evil.dot -o evil.csv -q");
    let csv = place.read("evil.csv");
    assert!(csv.contains("\"'=a\\u{1b}[2J"), "{csv:?}");
    place.write("cycle.dot", format!("digraph {{ \"{name}\" -> b; b -> \"{name}\" }}"));
    let error = place.fails(2, "plan cycle.dot");
    assert!(!error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn platforms_read_only_beside_themselves() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("p")).unwrap();
    place.write("secret.txt", "12 hunter2 x");
    let platform = |file: &str| {
        format!(
            "<?xml version='1.0'?><platform version=\"4.1\"><zone id=\"z\" routing=\"None\">\
             <host id=\"h\" speed=\"1Gf\" availability_file=\"{file}\"/></zone></platform>"
        )
    };
    place.write("p/out.xml", platform("../secret.txt"));
    let error = place.fails(2, "show p/out.xml");
    assert!(error.contains("outside the folder") && !error.contains("hunter2"), "{error}");
    let error = place.fails(2, "show p/out.xml --allow-outside");
    assert!(error.contains("secret.txt:1") && !error.contains("hunter2"), "{error}");
    place.write("p/in.xml", platform("level.txt"));
    place.write("p/level.txt", "5 0.5\n");
    place.ok("show p/in.xml");
}

#[test]
fn strict_refuses_what_is_otherwise_a_warning() {
    let place = Place::new();
    let dax = "<adag><job id='a' runtime='1'><uses file='x' link='output' size='-7'/></job></adag>";
    place.write("w.dax", dax);
    let done = place.run("show w.dax");
    assert!(done.err.contains("1 file has a negative size"), "{}", done.err);
    let error = place.fails(2, "show w.dax --strict");
    assert!(error.contains("w.dax: 1 file has a negative size"), "{error}");
}

#[test]
fn every_input_is_opened_once() {
    let place = Place::new();
    let pipe = |name: &str, file: &str| {
        let pipe = place.path().join(name);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        // Writes the file once: a second reader would wait for ever.
        let script = format!("cat 'examples/{file}' > '{name}'");
        Command::new("sh").args(["-c", &script]).current_dir(place.path()).spawn().unwrap()
    };
    for (number, verb) in ["plan", "simulate"].into_iter().enumerate() {
        let (workflow, platform) = (format!("{number}.json"), format!("{number}.toml"));
        let scenario = format!("{number}-s.toml");
        let mut writers = vec![
            pipe(&workflow, "workflows/montage.json"),
            pipe(&platform, "platforms/small-cluster.toml"),
        ];
        let mut line =
            vec!["20", env!("CARGO_BIN_EXE_slackline"), verb, &workflow, "-p", &platform];
        if verb == "simulate" {
            writers.push(pipe(&scenario, "scenarios/slow-day.toml"));
            line.extend(["--scenario", &scenario]);
        }
        let done = Command::new("timeout").args(&line).current_dir(place.path()).output().unwrap();
        for writer in &mut writers {
            let _ = writer.kill();
            let _ = writer.wait();
        }
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(0), "{verb}: {said}");
    }
}

#[test]
fn permissions_belong_to_one_call() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("p")).unwrap();
    place.write("level.txt", "5 0.5\n");
    let platform = place.write(
        "p/out.xml",
        "<?xml version='1.0'?><platform version=\"4.1\"><zone id=\"z\" routing=\"None\">\
         <host id=\"h\" speed=\"1Gf\" availability_file=\"../level.txt\"/></zone></platform>",
    );
    let call = |more: &[&str]| {
        let (out, err) = (slackline::Sink::default(), slackline::Sink::default());
        let words = ["slackline", "show", platform.to_str().unwrap()];
        slackline::run(words.iter().chain(more).copied(), out, err)
    };
    assert_eq!(call(&["--allow-outside"]), 0);
    assert_eq!(call(&[]), 2);
    assert_eq!(call(&["--allow-outside"]), 0);
}

/// Openings of files while something is done, counted by the system.
fn openings<const N: usize>(paths: [&std::path::Path; N], work: impl FnOnce()) -> [usize; N] {
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    let watch = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
    // Equal events that follow each other count as one: reading and closing tells two openings apart.
    let wanted = WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::CLOSE_NOWRITE;
    let watched = paths.map(|path| inotify::add_watch(&watch, path, wanted).unwrap());
    work();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
    let mut events = Reader::new(&watch, &mut buffer);
    let mut counts = [0; N];
    while let Ok(event) = events.next() {
        if event.events().contains(ReadFlags::OPEN) {
            let at = watched.iter().position(|known| *known == event.wd()).unwrap();
            counts[at] += 1;
        }
    }
    counts
}

#[test]
fn an_input_is_opened_once() {
    let place = Place::new();
    place.write("w.json", place.read("examples/workflows/montage.json"));
    place.write("p.toml", place.read("examples/platforms/two-site-grid.toml"));
    place.write("i.json", place.read("examples/workflows/heft-2002.json"));
    place.ok("generate scenario failure -p p.toml --seed 2 -o s.toml");
    let file = |name: &str| place.path().join(name);
    let (w, p, s, i) = (file("w.json"), file("p.toml"), file("s.toml"), file("i.json"));
    for line in [
        "plan w.json -p p.toml",
        "plan w.json -p p.toml -a heft,peft",
        "plan w.json -p p.toml -a heft --json",
        "simulate w.json -p p.toml",
        "simulate w.json -p p.toml --compare static,slackline --json",
    ] {
        assert_eq!(openings([&w, &p], || drop(place.ok(line))), [1, 1], "{line}");
    }
    let line = "simulate w.json -p p.toml --scenario s.toml --policy slackline";
    assert_eq!(openings([&w, &p, &s], || drop(place.run(line))), [1, 1, 1], "{line}");
    for line in ["plan --instance i.json -a heft,peft", "simulate --instance i.json"] {
        assert_eq!(openings([&i], || drop(place.ok(line))), [1], "{line}");
    }
}
