//! A master hands out tasks of rising size to workers, one mailbox each.

#![allow(clippy::print_stdout, reason = "an example that reports on the terminal")]

use slackline_model::{HostId, Platform};
use slackline_simulate::process::{Interrupted, World, WorldError};
use std::cell::RefCell;
use std::error::Error;
use std::rc::Rc;

/// Runs the programs on hosts a, b, c, e and f; gives lines `DATE WHO WHAT`.
pub(crate) fn run(platform: &Platform) -> Result<Vec<String>, WorldError> {
    let lines: Rc<RefCell<Vec<String>>> = Rc::default();
    let mut world = World::new(platform.clone(), Default::default())?;
    let host = |name: &str| platform.host_named(name).unwrap_or(HostId(0));
    let log = Rc::clone(&lines);
    world.spawn("master", host("a"), |p| async move {
        for task in 0..20 {
            p.send(&format!("w{}", task % 4), Some(task), 3e6).await?;
        }
        for worker in 0..4 {
            p.send(&format!("w{worker}"), None, 0.0).await?;
        }
        log.borrow_mut().push(format!("{:.12e} master done", p.now()));
        Ok::<(), Interrupted>(())
    });
    for (worker, on) in ["b", "c", "e", "f"].into_iter().enumerate() {
        let log = Rc::clone(&lines);
        world.spawn("worker", host(on), |p| async move {
            let me = format!("w{worker}");
            while let Some(task) = p.receive(&me).await? {
                p.compute(2e8 + 1e7 * f64::from(task)).await?;
                log.borrow_mut().push(format!("{:.12e} {me} computed {task}", p.now()));
            }
            log.borrow_mut().push(format!("{:.12e} {me} done", p.now()));
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
