//! Cost of processes, for comparison with `ci/simgrid/switches.cpp`: `process_bench PLATFORM
//! yield|sleep|message|spawn|turns PROCESSES STEPS`; in `turns` each process starts STEPS others, one after the other.

#![allow(clippy::print_stdout, reason = "an example that reports on the terminal")]

use slackline_simulate::process::{Interrupted, World};
use std::error::Error;

/// CPU seconds of this process, and the most memory that it held, in MB.
fn usage() -> Option<(f64, f64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = peak.trim().trim_end_matches(" kB").parse().ok()?;
    Some((ticks / 100.0, kilobytes / 1024.0))
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [path, mode, processes, steps] = &words[..] else { return Err("four arguments".into()) };
    let (processes, steps): (usize, usize) = (processes.parse()?, steps.parse()?);
    let platform = slackline_formats::read_platform(&Default::default(), path.as_ref(), None)?;
    let hosts: Vec<_> = platform.host_ids().collect();
    let mut world: World<'_, usize> = World::new(platform.clone(), Default::default())?;
    for k in 0..processes {
        let mode = mode.clone();
        world.spawn("p", hosts[k % hosts.len()], |p| async move {
            match mode.as_str() {
                "yield" => {
                    for _ in 0..steps {
                        p.yield_now().await;
                    }
                }
                "sleep" => {
                    for _ in 0..steps {
                        p.sleep(1.0 + 0.001 * (k % 97) as f64).await?;
                    }
                }
                "message" => {
                    for step in 0..steps {
                        let mailbox = (k / 2).to_string();
                        if k % 2 == 0 {
                            p.send(&mailbox, step, 1e3).await?;
                        } else {
                            p.receive(&mailbox).await?;
                        }
                    }
                }
                "turns" => {
                    for _ in 0..steps {
                        let child =
                            p.spawn("child", p.host(), |p| async move { p.sleep(1.0).await });
                        p.join(child).await?;
                    }
                }
                _ => p.sleep(1.0).await?,
            }
            Ok::<(), Interrupted>(())
        });
    }
    world.run()?;
    let (seconds, megabytes) = usage().ok_or("no /proc")?;
    println!(
        "{mode} {processes} {steps}: {seconds:.3} s CPU, {megabytes:.1} MB, end {:.6}",
        world.now()
    );
    Ok(())
}
