//! Engine and pilot over a real socket, without a batch system between them.

use super::frames::{self, FromPilot, Post, ToPilot};
use super::hub::{self, Heard, Hub};
use super::pilot::Pilot;
use super::places::Places;
use crate::attempt::Attempt;
use crate::backend::OpId;
use crate::jobs::{Job, Label};
use slackline_model::{HostId, TaskId};
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const POST: Post = Post { host: HostId(0), only: None };

/// A loaded machine may take its time.
const LONG: Duration = Duration::from_secs(60);

fn open(token: &str) -> (Hub, Receiver<Heard>) {
    let (tell, heard) = channel();
    let tell = move |what| drop(tell.send(what));
    (Hub::open(HERE, token.to_string(), tell).unwrap(), heard)
}

/// An engine that pilots of a run find.
fn engine(run: &Path) -> (Hub, Receiver<Heard>) {
    let places = Places::of(run);
    places.make().unwrap();
    let (hub, heard) = open(&places.token().unwrap());
    places.announce(&hub.address().to_string()).unwrap();
    (hub, heard)
}

fn pilot(run: &Path, patience: f64) -> Pilot {
    Pilot {
        folder: run.to_path_buf(),
        run: format!("test-{}", std::process::id()),
        host: 0,
        name: "n1".to_string(),
        number: 1,
        only: None,
        patience: Duration::from_secs_f64(patience),
    }
}

/// The next pilot that calls, and what it has under way.
fn joined(heard: &Receiver<Heard>) -> (TcpStream, Vec<Label>) {
    match heard.recv_timeout(LONG).unwrap() {
        Heard::Joined { to, running, .. } => (to, running),
        _ => panic!("nobody has joined"),
    }
}

#[test]
fn who_does_not_know_the_token_is_not_heard() {
    let (hub, heard) = open("secret");
    let call = |token: &str| {
        let mut stream = TcpStream::connect(hub.address()).unwrap();
        let token = token.to_string();
        let hello = FromPilot::Hello { token, post: POST, number: 1, running: Vec::new() };
        frames::write(&mut stream, &hello).unwrap();
        stream
    };
    for stranger in ["", "guess!", "secret "] {
        let mut stream = call(stranger);
        stream.set_read_timeout(Some(LONG)).unwrap();
        // The connection is closed without a word.
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    assert!(heard.try_recv().is_err());
    let _known = call("secret");
    joined(&heard);
}

#[test]
fn a_pilot_that_nobody_wants_ends_by_itself() {
    let run = tempfile::tempdir().unwrap();
    let (hub, heard) = engine(run.path());
    let begin = Instant::now();
    let ended = std::thread::scope(|scope| {
        let pilot = pilot(run.path(), 0.5);
        let serving = scope.spawn(move || pilot.serve(&AtomicBool::new(false)));
        let (mut to, _) = joined(&heard);
        hub::tell(&mut to, &ToPilot::Welcome { keep: Vec::new() }).unwrap();
        drop(hub);
        std::thread::sleep(Duration::from_millis(700)); // an engine is there all the time
        to.shutdown(Shutdown::Both).unwrap();
        serving.join().unwrap()
    });
    assert!(ended.unwrap_err().contains("nobody has work"));
    assert!(begin.elapsed() > Duration::from_millis(1200));
}

#[test]
fn a_pilot_works_on_for_an_engine_that_comes_back_in_time() {
    let run = tempfile::tempdir().unwrap();
    let (hub, heard) = engine(run.path());
    let label =
        Label { op: OpId(3), task: TaskId(0), name: "t".to_string(), host: HostId(0), number: 1 };
    let attempt = Attempt {
        argv: ["sh", "-c", "sleep 0.5; echo x > out"].map(str::to_string).into(),
        work: run.path().join("work"),
        outputs: vec![("out".to_string(), run.path().join("files/out"))],
        captured: run.path().join("tasks/t/1"),
        ..Attempt::default()
    };
    let job = Job { label: label.clone(), cores: 1, attempt };
    std::thread::scope(|scope| {
        let pilot = pilot(run.path(), 60.0);
        let serving = scope.spawn(move || pilot.serve(&AtomicBool::new(false)));
        let (mut to, running) = joined(&heard);
        assert!(running.is_empty());
        hub::tell(&mut to, &ToPilot::Welcome { keep: Vec::new() }).unwrap();
        hub::tell(&mut to, &ToPilot::Begin(Box::new(job))).unwrap();
        let begun = heard.recv_timeout(LONG).unwrap();
        assert!(matches!(begun, Heard::Said(_, FromPilot::Begun { .. })));
        // The engine dies while the job runs.
        drop(hub);
        to.shutdown(Shutdown::Both).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let (_hub, heard) = engine(run.path());
        let (mut to, running) = joined(&heard);
        // Either it is still under way, or what came of it is kept.
        let kept = || Places::of(run.path()).kept().iter().any(|made| made.label == label);
        assert!(running == [label.clone()] || kept());
        hub::tell(&mut to, &ToPilot::Welcome { keep: vec![label.op] }).unwrap();
        let patience = Instant::now() + LONG;
        while !kept() {
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(10));
        }
        hub::tell(&mut to, &ToPilot::Quit).unwrap();
        serving.join().unwrap().unwrap();
    });
    assert_eq!(std::fs::read_to_string(run.path().join("files/out")).unwrap(), "x\n");
}
