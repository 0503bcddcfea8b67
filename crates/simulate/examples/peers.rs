//! Peers that exchange the pieces of a file: one has all, the others ask each other in turn.

#![allow(clippy::print_stdout, reason = "an example that reports on the terminal")]

use slackline_model::{HostId, Platform};
use slackline_simulate::process::{Interrupted, World, WorldError};
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

const PIECES: usize = 8;

/// Runs the peers; gives lines `DATE WHO WHAT`.
pub(crate) fn run(platform: &Platform) -> Result<Vec<String>, WorldError> {
    let lines: Rc<RefCell<Vec<String>>> = Rc::default();
    let mut world = World::new(platform.clone(), Default::default())?;
    let owned: Rc<RefCell<[[bool; PIECES]; 5]>> = Rc::default();
    owned.borrow_mut()[0] = [true; PIECES];
    for (me, on) in ["a", "b", "c", "f", "g"].into_iter().enumerate() {
        let host = platform.host_named(on).unwrap_or(HostId(0));
        let has = Rc::clone(&owned);
        world.spawn_daemon("server", host, |p| async move {
            while let Ok((from, piece)) = p.receive(&format!("server{me}")).await {
                let there = has.borrow()[me][piece];
                let bytes = if there { 4e6 + 1e5 * me as f64 } else { 1e3 };
                p.send_detached(&format!("peer{from}"), (usize::from(there), piece), bytes);
            }
        });
        let (has, log) = (Rc::clone(&owned), Rc::clone(&lines));
        world.spawn("peer", host, |p| async move {
            let mut asked = 0;
            for other in (me + 1..me + 10_000).map(|k| k % 5) {
                let mut wanted = (0..PIECES).map(|k| (k + 2 * me) % PIECES);
                let Some(piece) = wanted.find(|&k| !has.borrow()[me][k]) else { break };
                if other != me {
                    asked += 1;
                    p.send(&format!("server{other}"), (me, piece), 100.0).await?;
                    if let (1, piece) = p.receive(&format!("peer{me}")).await? {
                        p.compute(1e7).await?;
                        has.borrow_mut()[me][piece] = true;
                    }
                }
            }
            log.borrow_mut().push(format!("{:.12e} peer{me} complete, asked {asked}", p.now()));
            Ok::<(), Interrupted>(())
        });
    }
    world.run()?;
    drop(world);
    Ok(lines.take())
}

#[allow(dead_code)] // not where tests use it
fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("name a platform")?;
    let platform = slackline_formats::read_platform(&Default::default(), path.as_ref(), None)?;
    run(&platform)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
