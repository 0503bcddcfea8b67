//! The Slurm cluster this machine can see, in the words of `sinfo` and `scontrol`.

use super::{Found, Machine, local};
use crate::slurm::slurm_seconds;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limit for answers of Slurm.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reason why no cluster was found.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct DetectError(String);

/// Describes the cluster; an error says why there is none to see.
pub fn detect(speed: Option<f64>) -> Result<Found, DetectError> {
    cluster(speed).map_err(DetectError)
}

fn cluster(speed: Option<f64>) -> Result<Found, String> {
    let listing = run("sinfo", &["--noheader", "--Node", "--format=%N|%c|%m|%P|%t|%G|%l"])?;
    let machines = machines(&listing)?;
    let name = run("scontrol", &["show", "config"])
        .ok()
        .and_then(|text| cluster_name(&text))
        .unwrap_or_else(|| "slurm".to_string());
    let mut remarks = vec![format!("The Slurm cluster {name} as sinfo lists it.")];
    let speed = speed.unwrap_or_else(|| {
        remarks.push(
            "Speeds were measured on this machine only: correct them where nodes differ.".into(),
        );
        local::detect(None).speed
    });
    Ok(Found { name, machines, speed, remarks })
}

/// The nodes of a listing, once each, without those that are gone.
fn machines(listing: &str) -> Result<Vec<Machine>, String> {
    let mut by_name: BTreeMap<&str, Machine> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for line in listing.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [name, cores, mebibytes, partition, state, rest @ ..] = fields.as_slice() else {
            return Err(format!("sinfo said '{line}', which is not a node"));
        };
        let (name, state) = (*name, *state);
        let (devices, limit) = (rest.first().copied(), rest.get(1).copied());
        let cores: u32 = cores
            .trim_end_matches('+')
            .parse()
            .map_err(|_| format!("sinfo said node '{name}' has '{cores}' processors"))?;
        // A star marks nodes that do not answer; a node is listed once per partition.
        let gone = ["down", "drain", "fail", "unk", "maint"].iter().any(|s| state.starts_with(s));
        if gone || state.ends_with('*') || cores == 0 {
            continue;
        }
        let (wall_time, usual) = (limit.and_then(slurm_seconds), partition.strip_suffix('*'));
        let group = usual.unwrap_or(partition).to_string();
        if let Some(known) = by_name.get_mut(name) {
            // Jobs go to the usual partition unless they say another.
            if usual.is_some() {
                (known.wall_time, known.group) = (wall_time, group);
            }
            continue;
        }
        let memory = mebibytes.trim_end_matches('+').parse::<f64>().ok();
        order.push(name);
        by_name.insert(
            name,
            Machine {
                name: name.to_string(),
                cores,
                memory: memory.filter(|m| *m > 1.0).map(|m| m * 1024.0 * 1024.0),
                gpus: gpus(devices.unwrap_or_default()),
                wall_time,
                group,
            },
        );
    }
    let found: Vec<Machine> = order.iter().filter_map(|name| by_name.remove(name)).collect();
    if found.is_empty() { Err("sinfo lists no node that is up".to_string()) } else { Ok(found) }
}

/// Devices in the words of Slurm: `gpu:a100:4(S:0-1),gpu:2`. What else a node has generic resources of is left
/// out, and shards, which are parts of devices.
fn gpus(gres: &str) -> Vec<(String, u32)> {
    let mut found: Vec<(String, u32)> = Vec::new();
    for word in gres.split(',') {
        let parts: Vec<&str> = word.split('(').next().unwrap_or_default().split(':').collect();
        let (kind, count) = match parts.as_slice() {
            ["gpu"] => ("", "1"),
            ["gpu", count] if count.parse::<u32>().is_ok() => ("", *count),
            ["gpu", kind] => (*kind, "1"),
            ["gpu", kind, count] => (*kind, *count),
            _ => continue,
        };
        let count: u32 = count.parse().unwrap_or(0);
        match found.iter_mut().find(|(known, _)| known == kind) {
            Some((_, known)) => *known += count,
            None if count > 0 => found.push((kind.to_string(), count)),
            None => {}
        }
    }
    found
}

fn cluster_name(config: &str) -> Option<String> {
    let line = config.lines().find(|line| line.trim_start().starts_with("ClusterName"))?;
    let name = line.split_once('=')?.1.trim();
    (!name.is_empty()).then(|| name.to_string())
}

/// Output of a command that may not exist, may fail, and may hang.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|_| format!("there is no working {program} here"))?;
    let Some(mut stdout) = child.stdout.take() else { return Err(format!("{program}: no output")) };
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut stdout, &mut text).map(|_| text)
    });
    let begin = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} did not answer in {} s", PATIENCE.as_secs()));
            }
        }
    };
    if !status.success() {
        return Err(format!("{program} failed: {status}"));
    }
    match reader.join() {
        Ok(Ok(text)) => Ok(text),
        _ => Err(format!("{program} wrote something that is not text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_listed_once_and_only_if_they_are_up() {
        let listing = "\
node1|32|128000|batch*|idle
node1|32|128000|long|idle
node2|32|128000|batch*|mix
node3|32|128000|batch*|down*
node4|32|128000|batch*|drain
fat1|64+|512000|fat|alloc
";
        let found = machines(listing).unwrap();
        let short: Vec<(&str, u32, &str)> =
            found.iter().map(|m| (m.name.as_str(), m.cores, m.group.as_str())).collect();
        assert_eq!(short, [("node1", 32, "batch"), ("node2", 32, "batch"), ("fat1", 64, "fat")]);
        assert_eq!(found[0].memory, Some(128000.0 * 1024.0 * 1024.0));
        assert!(machines("nonsense\n").is_err());
        assert!(machines("").is_err());
    }

    #[test]
    fn devices_and_time_limits_are_found() {
        let listing = "\
g1|32|128000|gpu|idle|gpu:a100:4(S:0-1),gpu:l4:2,shard:8|1-00:00:00
c1|32|128000|a-short|idle|(null)|2:00
c1|32|128000|batch*|idle|(null)|infinite
";
        let found = machines(listing).unwrap();
        assert_eq!(found[0].gpus, [("a100".to_string(), 4), ("l4".to_string(), 2)]);
        assert_eq!(found[0].wall_time, Some(86_400.0));
        // Of several partitions the usual one counts.
        assert_eq!((found[1].gpus.len(), found[1].wall_time), (0, None));
        assert_eq!(found[1].group, "batch");
        assert_eq!(gpus("gpu:2"), [(String::new(), 2)]);
        let (name, speed, remarks) = ("c".to_string(), 1e9, Vec::new());
        let text = Found { name, machines: found, speed, remarks }.to_toml();
        assert!(text.contains("gpus = { \"a100\" = 4, \"l4\" = 2 }"), "{text}");
        assert!(text.contains("# the partition allows wall-time = \"1d\""), "{text}");
    }

    #[test]
    fn the_cluster_has_a_name() {
        let config = "Configuration data as of now\nClusterName             = hydra\nX = y\n";
        assert_eq!(cluster_name(config).as_deref(), Some("hydra"));
    }

    #[test]
    fn a_missing_command_is_no_disaster() {
        assert!(run("slackline-no-such-command", &[]).is_err());
    }
}
