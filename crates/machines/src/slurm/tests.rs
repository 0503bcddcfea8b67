//! Engine and pilot over a real socket, without a batch system between them.

use super::greeting::{self, Hello, Key, PROTOCOL, Refusal, VERSION};
use super::pilot::Pilot;
use super::pilot_dir::PilotDir;
use super::pilot_server::{self, Outlet, PilotEvent, PilotServer};
use super::protocol::{FromPilot, Reader, Seal, SlotId, ToPilot, Writer};
use crate::attempt::Attempt;
use crate::attempt_pool::{Job, Label};
use slackline_engine::OpId;
use slackline_model::{HostId, TaskId};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const POST: SlotId = SlotId { host: HostId(0), only: None };

/// A loaded machine may take its time.
const LONG: Duration = Duration::from_secs(60);

fn open(keys: BTreeMap<u32, Key>) -> (PilotServer, Receiver<PilotEvent>) {
    let (tell, heard) = channel();
    let tell = move |what| drop(tell.send(what));
    (
        PilotServer::open(super::pilot_server::listener(HERE, None).unwrap(), keys, tell).unwrap(),
        heard,
    )
}

/// An engine that pilots of a run find.
fn engine(run: &Path) -> (PilotServer, Receiver<PilotEvent>) {
    let places = PilotDir::of(run);
    places.make().unwrap();
    places.begin_drive().unwrap();
    let (hub, heard) = open(places.keys().unwrap());
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
        drive: 1,
        only: None,
        patience: Duration::from_secs_f64(patience),
    }
}

/// The next pilot that calls, and what it has under way.
fn joined(heard: &Receiver<PilotEvent>) -> (Outlet, Vec<Label>) {
    match heard.recv_timeout(LONG).unwrap() {
        PilotEvent::Connected { to, running, .. } => (to, running),
        other => panic!("nobody has joined: {other:?}"),
    }
}

type Connection = (Reader<TcpStream>, Writer<TcpStream>);

/// A caller that greets as a pilot does.
fn greet(at: SocketAddr, key: &Key, hello: &Hello) -> Result<Connection, Refusal> {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_nodelay(true).unwrap();
    greeting::greet(&stream, key, hello, LONG)
}

fn hello(drive: u32) -> Hello {
    Hello::new(drive, POST, 1).unwrap()
}

/// Whether a connection was closed without a further byte.
fn is_closed(mut stream: &TcpStream) -> bool {
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.read(&mut [0]).unwrap_or(0) == 0
}

#[test]
fn callers_without_a_key_of_the_run_are_not_heard() {
    let (mine, earlier, foreign) = (Key::new().unwrap(), Key::new().unwrap(), Key::new().unwrap());
    let (hub, heard) = open([(1, earlier.clone()), (2, mine.clone())].into());
    let at = hub.address();
    // Another key, the key of another drive, and a drive that never was.
    for (key, drive) in [(&foreign, 2), (&earlier, 2), (&mine, 3)] {
        assert!(matches!(greet(at, key, &hello(drive)), Err(Refusal::Unproven(_))));
    }
    // No greeting at all, one that is too long, and one of the old kind.
    let old = br#"{"hello":{"token":"x","post":{"host":0},"number":1,"running":[]}}"#;
    let sized = |length: u32, rest: &[u8]| [&length.to_be_bytes(), rest].concat();
    for bytes in [vec![0; 64], vec![255; 4], sized(old.len() as u32, old), sized(2, b"{}")] {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(&bytes).unwrap();
        assert!(is_closed(&stream));
    }
    // A hello is answered; without the right proof nothing more is.
    let mut stream = TcpStream::connect(at).unwrap();
    let bytes = serde_json::to_vec(&hello(2)).unwrap();
    stream.write_all(&sized(bytes.len() as u32, &bytes)).unwrap();
    let mut length = [0; 4];
    stream.read_exact(&mut length).unwrap();
    let mut answer = vec![0; u32::from_be_bytes(length) as usize + greeting::TAG];
    stream.read_exact(&mut answer).unwrap();
    // The engine's own proof, sent back.
    let own = answer[answer.len() - greeting::TAG..].to_vec();
    stream.write_all(&own).unwrap();
    assert!(is_closed(&stream));
    assert!(heard.try_recv().is_err());
    let connections = [(&mine, 2), (&earlier, 1)].map(|(key, drive)| {
        let (from, mut to) = greet(at, key, &hello(drive)).unwrap();
        to.write(&FromPilot::Present { running: Vec::new(), time: None, lacks: None }).unwrap();
        joined(&heard);
        (from, to)
    });
    drop(connections);
}

#[test]
fn a_recorded_greeting_is_of_no_use_later() {
    let key = Key::new().unwrap();
    let (hub, heard) = open([(1, key.clone())].into());
    // A relay that records both directions.
    let relay = TcpListener::bind((HERE, 0)).unwrap();
    let at = relay.local_addr().unwrap();
    let (to_engine, to_pilot) = std::thread::scope(|scope| {
        let recorded = scope.spawn(|| {
            let (pilot, _) = relay.accept().unwrap();
            let engine = TcpStream::connect(hub.address()).unwrap();
            let pass = |mut from: TcpStream, mut to: TcpStream| {
                let (mut all, mut chunk) = (Vec::new(), [0; 4096]);
                while let Ok(read @ 1..) = from.read(&mut chunk) {
                    all.extend_from_slice(&chunk[..read]);
                    let _ = to.write_all(&chunk[..read]);
                }
                let _ = to.shutdown(Shutdown::Both);
                all
            };
            let (p, e) = (pilot.try_clone().unwrap(), engine.try_clone().unwrap());
            let back = scope.spawn(move || pass(e, p));
            (pass(pilot, engine), back.join().unwrap())
        });
        let (_from, mut to) = greet(at, &key, &hello(1)).unwrap();
        to.write(&FromPilot::Present { running: Vec::new(), time: None, lacks: None }).unwrap();
        let (mut quit, _) = joined(&heard);
        quit.write(&ToPilot::Quit).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        to.get_ref().shutdown(Shutdown::Both).unwrap();
        recorded.join().unwrap()
    });
    assert!(matches!(heard.recv_timeout(LONG).unwrap(), PilotEvent::Disconnected(_)));
    // To the engine: the same words from an impostor.
    let mut stream = TcpStream::connect(hub.address()).unwrap();
    stream.write_all(&to_engine).unwrap();
    let _ = std::io::copy(&mut stream, &mut std::io::sink()); // until the engine closes it
    assert!(heard.try_recv().is_err());
    // To a pilot: the same answers, its `Quit` included.
    let impostor = TcpListener::bind((HERE, 0)).unwrap();
    let at = impostor.local_addr().unwrap();
    std::thread::spawn(move || impostor.accept().unwrap().0.write_all(&to_pilot));
    assert!(matches!(greet(at, &key, &hello(1)), Err(Refusal::Unproven(_))));
}

#[test]
fn forged_frames_end_a_connection() {
    let key = Key::new().unwrap();
    let (hub, heard) = open([(1, key.clone())].into());
    for forged in [false, true] {
        let (_from, mut to) = greet(hub.address(), &key, &hello(1)).unwrap();
        to.write(&FromPilot::Present { running: Vec::new(), time: None, lacks: None }).unwrap();
        joined(&heard);
        to.write(&FromPilot::Alive).unwrap();
        assert!(matches!(
            heard.recv_timeout(LONG).unwrap(),
            PilotEvent::Message(_, FromPilot::Alive)
        ));
        if forged {
            // An attacker on the network who has recorded all messages and does not know the key.
            let mut writer = Writer::new(to.get_ref(), Seal::new(Key::new().unwrap()));
            writer.write(&FromPilot::Bye("forged".to_string())).unwrap();
        } else {
            to.write(&FromPilot::Bye("its own".to_string())).unwrap();
            let said = heard.recv_timeout(LONG).unwrap();
            assert!(matches!(said, PilotEvent::Message(_, FromPilot::Bye(_))));
            to.get_ref().shutdown(Shutdown::Both).unwrap();
        }
        assert!(matches!(heard.recv_timeout(LONG).unwrap(), PilotEvent::Disconnected(_)));
    }
}

#[test]
fn other_versions_are_told_apart_with_both_names() {
    let key = Key::new().unwrap();
    let (hub, heard) = open([(1, key.clone())].into());
    let mut newer = [hello(1), hello(1)];
    newer[0].version = "99.0.1".to_string();
    newer[1].protocol = PROTOCOL + 1;
    for hello in newer {
        // It knows the key, and is refused all the same.
        let _connection = greet(hub.address(), &key, &hello);
        match heard.recv_timeout(LONG).unwrap() {
            PilotEvent::Refused { post, number, why } => {
                assert_eq!((post, number), (POST, 1));
                let (theirs, ours) = (hello.version.as_str(), hello.protocol.to_string());
                assert!([theirs, &ours, VERSION].iter().all(|v| why.contains(v)), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    // Who does not know the key is not told apart, and not reported.
    let mut stranger = hello(1);
    stranger.version = "99".to_string();
    assert!(greet(hub.address(), &Key::new().unwrap(), &stranger).is_err());
    assert!(heard.try_recv().is_err());
}

/// A process that listens at the address of a former engine learns nothing and cannot give commands.
#[test]
fn an_impostor_at_the_port_gets_nothing() {
    let run = tempfile::tempdir().unwrap();
    let places = PilotDir::of(run.path());
    places.make().unwrap();
    places.begin_drive().unwrap();
    let key = places.key(1).unwrap().to_text();
    let impostor = TcpListener::bind((HERE, 0)).unwrap();
    places.announce(&impostor.local_addr().unwrap().to_string()).unwrap();
    let done = AtomicBool::new(false);
    let proof = run.path().join("carried-out");
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let ended = pilot(run.path(), 2.0).serve(&AtomicBool::new(false));
            done.store(true, Ordering::Relaxed);
            // Wakes the impostor.
            let _ = TcpStream::connect(impostor.local_addr().unwrap());
            ended
        });
        let attempt = Attempt {
            argv: vec!["touch".to_string(), proof.display().to_string()],
            work: run.path().join("work"),
            captured: run.path().join("captured"),
            ..Attempt::default()
        };
        let (op, name) = (OpId(1), "t".to_string());
        let label = Label { op, task: TaskId(0), name, host: HostId(0), number: 1 };
        let begin = ToPilot::Begin(Box::new(Job { label, cores: 1, seconds: None, attempt }));
        let messages = [&ToPilot::Welcome { keep: Vec::new() }, &begin];
        let mut all = Vec::new();
        let mut calls = 0;
        while !done.load(Ordering::Relaxed) {
            let (mut stream, _) = impostor.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            calls += 1;
            // In turn: as the old protocol, as a challenge with a wrong proof, its own hello back.
            let mut chunk = [0; 4096];
            let read = stream.read(&mut chunk).unwrap_or(0);
            all.extend_from_slice(&chunk[..read]);
            let challenge = format!(
                r#"{{"protocol":{PROTOCOL},"version":"{VERSION}","nonce":"{}"}}"#,
                "00".repeat(32)
            );
            let answer = match calls % 3 {
                0 => Vec::new(),
                1 => [&(challenge.len() as u32).to_be_bytes(), challenge.as_bytes(), &[7; 32]]
                    .concat(),
                _ => [&chunk[..read], &[0; 32]].concat(),
            };
            let _ = stream.write_all(&answer);
            let mut writer = Writer::new(&stream, Seal::new(Key::new().unwrap()));
            for message in messages {
                let plain = serde_json::to_vec(message).unwrap();
                let _ = (&stream).write_all(&(plain.len() as u32).to_be_bytes());
                let _ = (&stream).write_all(&plain);
                let _ = writer.write(message);
            }
            // A proof never comes: the connection is closed after the hello.
            let read = stream.read(&mut chunk).unwrap_or(0);
            assert_eq!(read, 0, "{}", String::from_utf8_lossy(&chunk[..read]));
        }
        assert!(calls > 3, "{calls}");
        let text = String::from_utf8_lossy(&all);
        assert!(text.contains(r#""nonce""#) && !text.contains(&key), "{text}");
        // Nonces are new in every call.
        let nonces: Vec<&str> = text.split(r#""nonce":""#).skip(1).map(|s| &s[..64]).collect();
        let distinct: std::collections::BTreeSet<&str> = nonces.iter().copied().collect();
        assert_eq!(distinct.len(), nonces.len());
        assert!(serving.join().unwrap().unwrap_err().to_string().contains("nobody has work"));
    });
    assert!(!proof.exists());
}

/// Processor time of the threads of sockets in this process, in seconds.
fn cpu_of_sockets() -> f64 {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|t| t.unwrap().path());
    let ours = threads.filter(|t| read(t.join("comm")).trim() == pilot_server::THREAD);
    let nanoseconds = |t: std::path::PathBuf| {
        read(t.join("schedstat")).split(' ').next().and_then(|ns| ns.parse::<f64>().ok())
    };
    ours.filter_map(nanoseconds).sum::<f64>() / 1e9
}

#[test]
fn a_thousand_slow_callers_keep_no_pilot_out() {
    let key = Key::new().unwrap();
    let (hub, heard) = open([(1, key.clone())].into());
    let at = hub.address();
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let mut slow: Vec<TcpStream> = Vec::new();
    let mut most = 0;
    for n in 0..1000 {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_nodelay(true).unwrap();
        let _ = stream.write_all(&[0]); // a byte of a greeting that never ends
        slow.push(stream);
        if n % 100 == 99 {
            // A pilot among them gets in at once.
            let begin = Instant::now();
            let (_from, mut to) = greet(at, &key, &hello(1)).unwrap();
            to.write(&FromPilot::Present { running: Vec::new(), time: None, lacks: None }).unwrap();
            joined(&heard);
            assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
            drop(to);
            drop(_from);
            assert!(matches!(heard.recv_timeout(LONG).unwrap(), PilotEvent::Disconnected(_)));
            most = most.max(threads());
        }
    }
    // No thread for each: other tests of this process have a few.
    assert!(most < before + 100, "{before}, then {most}");
    // They go on for a while, and cost little.
    let (begin, used) = (Instant::now(), cpu_of_sockets());
    while begin.elapsed() < Duration::from_secs(2) {
        for stream in &mut slow {
            let _ = stream.write_all(&[0]);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let share = (cpu_of_sockets() - used) / begin.elapsed().as_secs_f64();
    assert!(used > 0.0 && share < 0.2, "{used} s, then {share} of a core");
    eprintln!("1,000 slow callers: {:.1} % of a core", 100.0 * share);
    let (_from, mut to) = greet(at, &key, &hello(1)).unwrap();
    to.write(&FromPilot::Present { running: Vec::new(), time: None, lacks: None }).unwrap();
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
        to.write(&ToPilot::Welcome { keep: Vec::new() }).unwrap();
        drop(hub);
        std::thread::sleep(Duration::from_millis(700)); // an engine is there all the time
        to.get_ref().shutdown(Shutdown::Both).unwrap();
        serving.join().unwrap()
    });
    assert!(ended.unwrap_err().to_string().contains("nobody has work"));
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
    let job = Job { label: label.clone(), cores: 1, seconds: None, attempt };
    std::thread::scope(|scope| {
        let pilot = pilot(run.path(), 60.0);
        let serving = scope.spawn(move || pilot.serve(&AtomicBool::new(false)));
        let (mut to, running) = joined(&heard);
        assert!(running.is_empty());
        to.write(&ToPilot::Welcome { keep: Vec::new() }).unwrap();
        to.write(&ToPilot::Begin(Box::new(job))).unwrap();
        let begun = heard.recv_timeout(LONG).unwrap();
        assert!(matches!(begun, PilotEvent::Message(_, FromPilot::Begun { .. })));
        // The engine dies while the job runs.
        drop(hub);
        to.get_ref().shutdown(Shutdown::Both).unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let (_hub, heard) = engine(run.path());
        let (mut to, running) = joined(&heard);
        // Either it is still under way, or its outcome is kept.
        let kept = || PilotDir::of(run.path()).kept().iter().any(|made| made.label == label);
        assert!(running == [label.clone()] || kept());
        to.write(&ToPilot::Welcome { keep: vec![label.op] }).unwrap();
        let patience = Instant::now() + LONG;
        while !kept() {
            assert!(Instant::now() < patience);
            std::thread::sleep(Duration::from_millis(10));
        }
        to.write(&ToPilot::Quit).unwrap();
        serving.join().unwrap().unwrap();
    });
    assert_eq!(std::fs::read_to_string(run.path().join("files/out")).unwrap(), "x\n");
}

/// A pilot reads what the engine has written into its script, whatever names are in it.
#[test]
fn arguments_of_a_pilot_come_back() {
    let folder = Path::new("/runs/it's one");
    for (name, only) in
        [("node-1", None), ("a 'b' \"c\" $d \\ e\n", Some(7)), ("München", Some(u64::MAX))]
    {
        let host = Pilot { name: name.to_string(), only, number: 3, ..pilot(folder, 12.5) };
        assert_eq!(Pilot::parse(host.folder.clone(), &host.to_text(), 0).unwrap(), host);
        // Through a shell, as a batch job gets it.
        let script = format!(
            "printf %s {}",
            slackline_model::workflow::Command::shell_word(&host.to_text())
        );
        let said = std::process::Command::new("sh").arg("-c").arg(script).output().unwrap();
        let text = String::from_utf8(said.stdout).unwrap();
        assert_eq!(Pilot::parse(host.folder.clone(), &text, 0).unwrap(), host);
    }
    let first = Pilot { only: Some(40), ..pilot(folder, 1.0) };
    let third = Pilot::parse(first.folder.clone(), &first.to_text(), 2).unwrap();
    assert_eq!(third.only, Some(42));
    assert!(Pilot::parse(first.folder, "{\"run\": \"x\", \"other\": 1}", 0).is_err());
}
