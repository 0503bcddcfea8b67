//! A token goes round a ring of six hosts three times.

#![allow(clippy::print_stdout, reason = "an example that reports on the terminal")]

use slackline_model::{HostId, Platform};
use slackline_simulate::process::{Interrupted, World, WorldError};
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

/// Runs the ring; gives lines `DATE WHO WHAT`.
pub(crate) fn run(platform: &Platform) -> Result<Vec<String>, WorldError> {
    let lines: Rc<RefCell<Vec<String>>> = Rc::default();
    let mut world = World::new(platform.clone(), Default::default())?;
    for (k, on) in ["a", "b", "c", "e", "f", "g"].into_iter().enumerate() {
        let log = Rc::clone(&lines);
        world.spawn("node", platform.host_named(on).unwrap_or(HostId(0)), |p| async move {
            let (me, next) = (k.to_string(), ((k + 1) % 6).to_string());
            for round in 0..3 {
                if k == 0 {
                    p.send(&next, 6 * round, 1e6).await?;
                    let hops = p.receive(&me).await?;
                    log.borrow_mut().push(format!("{:.12e} 0 hops {hops}", p.now()));
                } else {
                    let hops = p.receive(&me).await?;
                    p.send(&next, hops + 1, 1e6).await?;
                }
            }
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
