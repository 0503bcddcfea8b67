//! Processes against the same programs in SimGrid's S4U (`ci/simgrid`), and laws of their own.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use slackline_formats::{FileAccess, read_platform};
use slackline_model::activity::Exec;
use slackline_model::platform::{HostSpec, PlatformBuilder, RoutingKind};
use slackline_model::{HostId, Platform};
use slackline_simulate::Models;
use slackline_simulate::process::{AnyOperation, Interrupted, Process, World, WorldError};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;

#[path = "../../examples/master_worker.rs"]
mod master_worker;
#[path = "../../examples/peers.rs"]
mod peers;
#[path = "../../examples/token_ring.rs"]
mod token_ring;

type End = Result<(), Interrupted>;
type P<'p> = Process<'p, i32>;

/// The platform of a program, and the lines it has printed.
struct Stage<'p> {
    platform: &'p Platform,
    world: World<'p, i32>,
    lines: Rc<RefCell<Vec<String>>>,
}

#[derive(Clone)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn say(&self, p: &P<'_>, line: impl std::fmt::Display) {
        self.0.borrow_mut().push(format!("{:.12e} {line}", p.now()));
    }
}

impl<'p> Stage<'p> {
    fn new(platform: &'p Platform) -> Stage<'p> {
        let world = World::new(platform.clone(), Models::default()).unwrap();
        Stage { platform, world, lines: Rc::default() }
    }

    fn host(&self, name: &str) -> HostId {
        self.platform.host_named(name).unwrap()
    }

    fn log(&self) -> Log {
        Log(Rc::clone(&self.lines))
    }

    fn end(mut self) -> Vec<String> {
        self.world.run().unwrap();
        self.lines.take()
    }
}

fn timeouts(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("receiver", host, |p| async move {
        assert_eq!(p.within(1.5, p.receive("m")).await, Err(Interrupted::Timeout));
        log.say(&p, "receiver timeout");
        p.sleep(4.0).await?;
        let got = p.receive("m").await?;
        log.say(&p, format!("receiver got {got}"));
        assert_eq!(p.within(0.5, p.receive("n")).await, Err(Interrupted::Timeout));
        log.say(&p, "receiver timeout under way");
        End::Ok(())
    });
    let (log, host) = (s.log(), s.host("e"));
    s.world.spawn("sender", host, |p| async move {
        p.sleep(2.0).await?;
        assert_eq!(p.within(1.0, p.send("m", 1, 1e6)).await, Err(Interrupted::Timeout));
        log.say(&p, "sender timeout");
        p.within(10.0, p.send("m", 2, 1e6)).await?;
        log.say(&p, "sender sent");
        assert_eq!(p.send("n", 3, 1e8).await, Err(Interrupted::Network));
        log.say(&p, "sender broken off");
        End::Ok(())
    });
    s.end()
}

fn kill_and_join(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("b"));
    let worker = s.world.spawn("worker", host, |p| async move {
        p.compute(1e9).await?;
        log.say(&p, "worker half");
        p.compute(1e10).await?;
        log.say(&p, "worker never");
        End::Ok(())
    });
    let host = s.host("c");
    let speaker = s.world.spawn("speaker", host, |p| async move { p.send("k", 1, 1e9).await });
    let (log, host) = (s.log(), s.host("f"));
    s.world.spawn("listener", host, |p| async move {
        assert_eq!(p.receive("k").await, Err(Interrupted::Network));
        log.say(&p, "listener broken off");
    });
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("watcher", host, |p| async move {
        p.join(worker).await?;
        log.say(&p, "watcher joined");
        End::Ok(())
    });
    let (log, child) = (s.log(), s.host("e"));
    s.world.spawn("killer", host, |p| async move {
        p.sleep(5.0).await?;
        p.kill(worker);
        p.sleep(1.0).await?;
        p.kill(speaker);
        let child = p.spawn("child", child, |p| async move { p.compute(8e8).await });
        p.join(child).await?;
        log.say(&p, "killer child over");
        End::Ok(())
    });
    s.end()
}

fn suspend(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("b"));
    let worker = s.world.spawn("worker", host, |p| async move {
        p.compute(1e9).await?;
        log.say(&p, "worker computed");
        p.sleep(3.0).await?;
        log.say(&p, "worker slept");
        p.send("s", 1, 8e7).await?;
        log.say(&p, "worker sent");
        End::Ok(())
    });
    let log = s.log();
    s.world.spawn("other", host, |p| async move {
        p.compute(2e9).await?;
        log.say(&p, "other computed");
        End::Ok(())
    });
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("receiver", host, |p| async move {
        p.receive("s").await?;
        log.say(&p, "receiver got");
        End::Ok(())
    });
    s.world.spawn("boss", host, |p| async move {
        for date in [1.0, 6.5, 9.5] {
            p.sleep(date - p.now()).await?;
            p.suspend(worker);
            p.sleep(2.0).await?;
            p.resume(worker);
        }
        End::Ok(())
    });
    s.end()
}

fn host_failure(mut s: Stage<'_>) -> Vec<String> {
    let (log, g) = (s.log(), s.host("g"));
    s.world.spawn_restarting("worker", g, move |p| {
        let log = log.clone();
        async move {
            log.say(&p, "worker begins");
            loop {
                match p.receive("work").await {
                    Err(_) => log.say(&p, "worker broken off"),
                    Ok(value) if value < 0 => return End::Ok(()),
                    Ok(value) => {
                        p.compute(1.2e9).await?;
                        log.say(&p, format!("worker computed {value}"));
                    }
                }
            }
        }
    });
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("master", host, |p| async move {
        for k in 0..5 {
            let what = match p.within(4.0, p.send("work", k, 3e7)).await {
                Ok(()) => "sent",
                Err(Interrupted::Timeout) => "timeout",
                Err(_) => "failed",
            };
            log.say(&p, format!("master {what} {k}"));
        }
        p.send("work", -1, 0.0).await?;
        log.say(&p, "master done");
        End::Ok(())
    });
    let log = s.log();
    s.world.spawn("remote", host, |p| async move {
        assert_eq!(p.compute_as(Exec::new(g, 1e10)).await, Err(Interrupted::Host));
        log.say(&p, "remote host failed");
    });
    s.world.spawn("stream", g, |p| async move { p.send("stream", 1, 1e9).await });
    let (log, host) = (s.log(), s.host("f"));
    s.world.spawn("sink", host, |p| async move {
        assert_eq!(p.receive("stream").await, Err(Interrupted::Network));
        log.say(&p, "sink failed");
    });
    s.end()
}

fn link_failure(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("e"));
    s.world.spawn("sender", host, |p| async move {
        for k in 0..3 {
            match p.send("l", k, 1.5e7).await {
                Ok(()) => log.say(&p, format!("sender sent {k}")),
                Err(_) => {
                    log.say(&p, format!("sender failed {k}"));
                    p.sleep(1.6).await?;
                }
            }
        }
        End::Ok(())
    });
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("receiver", host, |p| async move {
        for _ in 0..3 {
            match p.receive("l").await {
                Ok(got) => log.say(&p, format!("receiver got {got}")),
                Err(_) => log.say(&p, "receiver failed"),
            }
        }
    });
    s.end()
}

fn first_of(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("sender", host, |p| async move {
        let sizes = [("b", 4e7), ("c", 1e7), ("e", 2.5e7), ("f", 1e6)];
        let all =
            sizes.iter().enumerate().map(|(k, (to, bytes))| (k, p.send(to, k as i32, *bytes)));
        let mut all: Vec<_> = all.collect();
        while !all.is_empty() {
            let watched: Vec<&dyn AnyOperation> =
                all.iter().map(|(_, sending)| sending as &dyn AnyOperation).collect();
            let first = p.first_of(&watched).await;
            let (k, sending) = all.remove(first);
            sending.await?;
            log.say(&p, format!("sender sent {k}"));
        }
        End::Ok(())
    });
    for on in ["b", "c", "e", "f"] {
        let (log, host) = (s.log(), s.host(on));
        s.world.spawn("receiver", host, |p| async move {
            p.receive(on).await?;
            p.compute(1e8).await?;
            log.say(&p, format!("{on} done"));
            End::Ok(())
        });
    }
    s.end()
}

fn disks(mut s: Stage<'_>) -> Vec<String> {
    let disk = slackline_model::DiskId::new(0);
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("reader", host, |p| async move {
        p.read(disk, 2e8).await?;
        log.say(&p, "reader read");
        p.write(disk, 6e7).await?;
        log.say(&p, "reader wrote");
        End::Ok(())
    });
    let log = s.log();
    s.world.spawn("writer", host, |p| async move {
        p.sleep(0.5).await?;
        let writing = p.write(disk, 1e8);
        p.compute(1e9).await?;
        log.say(&p, "writer computed");
        writing.await?;
        log.say(&p, "writer wrote");
        p.read(disk, 6e7).await?;
        log.say(&p, "writer read");
        End::Ok(())
    });
    s.end()
}

fn beside(mut s: Stage<'_>) -> Vec<String> {
    let (log, host) = (s.log(), s.host("f"));
    s.world.spawn("sender", host, |p| async move {
        let (first, second) = (p.send("x", 1, 2e7), p.send("x", 2, 1e7));
        p.compute(3e8).await?;
        log.say(&p, "sender computed");
        first.await?;
        log.say(&p, "sender first");
        while !second.has_ended() {
            p.sleep(0.125).await?;
        }
        log.say(&p, "sender second");
        p.send_detached("x", 3, 5e6);
        let lost = p.send("y", 4, 1e9);
        p.sleep(0.4).await?;
        lost.cancel();
        log.say(&p, "sender cancelled");
        End::Ok(())
    });
    let (log, host) = (s.log(), s.host("b"));
    s.world.spawn("receiver", host, |p| async move {
        p.sleep(0.05).await?;
        for _ in 0..3 {
            let got = p.receive("x").await?;
            log.say(&p, format!("receiver got {got}"));
        }
        End::Ok(())
    });
    let (log, host) = (s.log(), s.host("c"));
    s.world.spawn("other", host, |p| async move {
        assert_eq!(p.receive("y").await, Err(Interrupted::Cancelled));
        log.say(&p, "other cancelled");
    });
    s.end()
}

fn priorities(mut s: Stage<'_>) -> Vec<String> {
    let (b, c) = (s.host("b"), s.host("c"));
    for k in 1..=3 {
        let log = s.log();
        s.world.spawn("p", b, |p| async move {
            p.compute_as(Exec { priority: f64::from(k), ..Exec::new(b, 1e9) }).await?;
            log.say(&p, format!("priority {k} done"));
            End::Ok(())
        });
    }
    for k in 0..3 {
        let log = s.log();
        s.world.spawn("c", c, |p| async move {
            let bound = if k == 0 { 5e8 } else { f64::INFINITY };
            p.compute_as(Exec { bound, ..Exec::new(c, 4e9) }).await?;
            log.say(&p, format!("core {k} done"));
            End::Ok(())
        });
    }
    let log = s.log();
    s.world.spawn("late", b, |p| async move {
        p.sleep(2.5).await?;
        p.compute(2e8).await?;
        log.say(&p, "late done");
        End::Ok(())
    });
    s.end()
}

fn crossing(mut s: Stage<'_>) -> Vec<String> {
    let hosts = ["a", "b", "c", "f"];
    for (k, from) in hosts.iter().enumerate() {
        for (m, to) in hosts.iter().enumerate().filter(|(m, _)| *m != k) {
            let (name, bytes) = (format!("{from}{to}"), 1e7 * (k as f64 + 1.0) + 3e6 * m as f64);
            let (log, there, here) = (s.log(), s.host(to), s.host(from));
            let mailbox = name.clone();
            s.world.spawn("s", here, |p| async move { p.send(&mailbox, 0, bytes).await });
            s.world.spawn("r", there, |p| async move {
                p.receive(&name).await?;
                log.say(&p, format!("{name} got"));
                End::Ok(())
            });
        }
    }
    let (log, host) = (s.log(), s.host("a"));
    s.world.spawn("self", host, |p| async move { p.send("self", 1, 1e8).await });
    s.world.spawn("self", host, |p| async move {
        p.receive("self").await?;
        log.say(&p, "self got");
        End::Ok(())
    });
    s.end()
}

fn program(name: &str, platform: &Platform) -> Vec<String> {
    let stage = Stage::new(platform);
    match name {
        "master-worker" => master_worker::run(platform).unwrap(),
        "token-ring" => token_ring::run(platform).unwrap(),
        "peers" => peers::run(platform).unwrap(),
        "timeouts" => timeouts(stage),
        "kill-and-join" => kill_and_join(stage),
        "suspend" => suspend(stage),
        "host-failure" => host_failure(stage),
        "link-failure" => link_failure(stage),
        "first-of" => first_of(stage),
        "disks" => disks(stage),
        "async" => beside(stage),
        "priorities" => priorities(stage),
        "crossing" => crossing(stage),
        _ => panic!("no program {name}"),
    }
}

/// Lines as what happened and when, in a fixed order.
fn parsed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<(String, f64)> {
    let split = |line: &str| {
        let (date, what) = line.split_once(' ').unwrap();
        (what.to_string(), date.parse().unwrap())
    };
    let mut all: Vec<(String, f64)> = lines.map(split).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all
}

#[test]
fn dates_are_those_of_simgrid() {
    let expected = include_str!("../fixtures/processes.txt");
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/simgrid"));
    let mut programs = 0;
    for section in expected.split("== ").skip(1) {
        let (head, lines) = section.split_once('\n').unwrap();
        let (name, file) = head.split_once(' ').unwrap();
        let platform = read_platform(&FileAccess::default(), &root.join(file), None).unwrap();
        let found = program(name, &platform);
        let (found, expected) = (parsed(found.iter().map(String::as_str)), parsed(lines.lines()));
        let names = |list: &[(String, f64)]| list.iter().map(|e| e.0.clone()).collect::<Vec<_>>();
        assert_eq!(names(&found), names(&expected), "{name}: {found:?}");
        for ((what, date), (_, peer)) in found.iter().zip(&expected) {
            let apart = (date - peer).abs() / peer.max(1e-3);
            assert!(apart < 1e-9, "{name}: {what} at {date}, SimGrid says {peer}");
        }
        programs += 1;
    }
    assert_eq!(programs, 13);
}

fn hosts(count: usize) -> Platform {
    let mut builder = PlatformBuilder::new("hosts");
    let zone = builder.add_zone(None, "z", RoutingKind::Full).unwrap();
    for k in 0..count {
        builder.add_host(zone, HostSpec::new(format!("h{k}").as_str(), 1e9)).unwrap();
    }
    builder.build().unwrap()
}

#[test]
fn deadlocks_say_who_waits_for_what() {
    let platform = hosts(1);
    let mut world: World<'_, i32> = World::new(platform.clone(), Models::default()).unwrap();
    world.spawn("first", HostId(0), |p| async move {
        p.sleep(2.0).await?;
        p.receive("second's answer").await
    });
    world.spawn("second", HostId(0), |p| async move { p.send("nobody", 1, 1.0).await });
    world.spawn_daemon("idle", HostId(0), |p| async move { p.receive("anything").await });
    let Err(WorldError::Deadlock { date, waiting }) = world.run() else { panic!("no deadlock") };
    assert_eq!(date, 2.0);
    assert_eq!(
        waiting,
        [
            "`first` on `h0` waits for a message at `second's answer`",
            "`second` on `h0` waits for a receiver at `nobody`"
        ]
    );
}

#[test]
fn processes_that_have_ended_leave_nothing() {
    let platform = hosts(4);
    let mut world: World<'_, i32> = World::new(platform.clone(), Models::default()).unwrap();
    let ended = Rc::new(Cell::new(0));
    let count = Rc::clone(&ended);
    world.spawn("parent", HostId(0), |p| async move {
        for _ in 0..1000 {
            let children: Vec<_> = (0..1000)
                .map(|k| {
                    let count = Rc::clone(&count);
                    p.spawn("child", HostId(k % 4), |p| async move {
                        p.compute(1e3).await?;
                        let other = p.sleep(9.0);
                        drop(other);
                        count.set(count.get() + 1);
                        End::Ok(())
                    })
                })
                .collect();
            for child in children {
                p.join(child).await?;
            }
        }
        End::Ok(())
    });
    world.run().unwrap();
    assert_eq!(ended.get(), 1_000_000);
    // Places are used again: there were never more than a thousand and one.
    assert!(world.places() <= 1001, "{}", world.places());
    assert_eq!(world.operations(), 0);
}

/// Processes that send, compute and sleep as drawn; the order of their events.
fn drawn(platform: &Platform, seed: &[u8]) -> Vec<(u64, usize, u8)> {
    let mut world: World<'_, i32> = World::new(platform.clone(), Models::default()).unwrap();
    let events: Rc<RefCell<Vec<(u64, usize, u8)>>> = Rc::default();
    for k in 0..seed.len() {
        let (events, seed) = (Rc::clone(&events), seed.to_vec());
        world.spawn("p", HostId(k as u32 % 3), |p| async move {
            for (at, step) in seed.iter().enumerate() {
                let amount = f64::from(step.wrapping_mul(k as u8 + 1)) + 1.0;
                match (step >> 2).wrapping_add(k as u8) % 4 {
                    0 => p.compute(1e7 * amount).await?,
                    1 => p.sleep(0.01 * amount).await?,
                    2 => p.send_detached("m", at as i32, 1e5 * amount),
                    _ => {
                        let _ = p.within(0.02 * amount, p.receive("m")).await;
                    }
                }
                events.borrow_mut().push((p.now().to_bits(), k, *step));
            }
            End::Ok(())
        });
    }
    world.run().unwrap();
    drop(world);
    events.take()
}

proptest! {
    #![proptest_config(slackline_testkit::cases(48))]

    #[test]
    fn the_order_of_events_repeats(seed in prop::collection::vec(any::<u8>(), 1..12)) {
        let platform = read_platform(
            &FileAccess::default(),
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ci/simgrid/processes.xml")),
            None,
        ).unwrap();
        let first = drawn(&platform, &seed);
        prop_assert!(first.windows(2).all(|pair| f64::from_bits(pair[0].0) <= f64::from_bits(pair[1].0)));
        prop_assert_eq!(drawn(&platform, &seed), first);
    }
}
