//! Activity plans: placed computations, transfers, disk operations and parallel tasks with their
//! order, in JSON; read only.
//!
//! ```json
//! {
//!   "name": "two", "about": "what it shows", "tags": ["net"],
//!   "platform": "two_hosts.xml",
//!   "config": {"network/model": "CM02", "network/crosstraffic": false},
//!   "activities": [
//!     {"id": "a", "kind": "exec", "host": "alice", "flops": 1e9, "priority": 2, "bound": 5e8},
//!     {"id": "c", "kind": "comm", "src": "alice", "dst": "bob", "bytes": 1000000, "rate": 1e6,
//!      "after": ["a"], "not_before": 2.0},
//!     {"id": "p", "kind": "ptask", "hosts": ["alice", "bob"], "flops_per_host": [1e9, 2e9],
//!      "bytes_matrix": [0, 1e6, 0, 0]},
//!     {"id": "r", "kind": "io", "disk": "d", "access": "read", "bytes": 1e9, "host": "bob"},
//!     {"id": "s", "kind": "sleep", "duration": 0.5}
//!   ]
//! }
//! ```
//!
//! `platform` is relative to the plan; it may be missing when the caller has one. `disk` is the name of a disk,
//! or `host/disk` where several hosts have one of that name; `host` is the host that reads or writes (the
//! disk's own host if missing). Units are seconds, bytes, flop.

use crate::error::{FormatError, Result, json_error};
use serde::Deserialize;
use slackline_io::FileAccess;
use slackline_model::activity::{
    Activity, ActivityGraph, DiskAccess, DiskOperation, Exec, ParallelTask, Transfer,
};
use slackline_model::platform::LATEST;
use slackline_model::problem::Block;
use slackline_model::units::fmt_number;
use slackline_model::{DiskId, HostId, Platform};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A plan as written: names are not looked up yet.
#[derive(Clone, Debug)]
pub struct ActivityPlan {
    /// Its name.
    pub name: Option<String>,
    /// Description of the plan.
    pub about: Option<String>,
    /// Labels.
    pub tags: Vec<String>,
    /// The platform file it names, relative to the plan file.
    pub platform: Option<PathBuf>,
    /// Settings of the simulation, as text.
    pub settings: Vec<(String, String)>,
    activities: Vec<Planned>,
}

#[derive(Debug, Deserialize)]
struct ActivitiesFile {
    name: Option<String>,
    about: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    platform: Option<PathBuf>,
    #[serde(default)]
    config: serde_json::Map<String, serde_json::Value>,
    activities: Vec<Planned>,
}

#[derive(Clone, Debug, Deserialize)]
struct Planned {
    id: String,
    #[serde(flatten)]
    what: What,
    #[serde(default)]
    after: Vec<String>,
    not_before: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum What {
    Exec {
        host: String,
        flops: f64,
        priority: Option<f64>,
        bound: Option<f64>,
    },
    Comm {
        src: String,
        dst: String,
        bytes: f64,
        rate: Option<f64>,
    },
    Ptask {
        hosts: Vec<String>,
        #[serde(default)]
        flops_per_host: Vec<f64>,
        #[serde(default)]
        bytes_matrix: Vec<f64>,
        rate: Option<f64>,
    },
    Io {
        disk: String,
        access: Access,
        bytes: f64,
        host: Option<String>,
    },
    Sleep {
        duration: f64,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Access {
    Read,
    Write,
}

/// Reads a plan file.
pub fn read(files: &FileAccess, path: &Path) -> Result<ActivityPlan> {
    parse(&files.read_text(path)?).map_err(|e| e.in_file(path))
}

/// Reads a plan from a text.
pub fn parse(text: &str) -> Result<ActivityPlan> {
    let document: ActivitiesFile = serde_json::from_str(text).map_err(json_error)?;
    let settings = document.config.into_iter().map(|(key, value)| match value {
        serde_json::Value::String(text) => (key, text),
        other => (key, other.to_string()),
    });
    Ok(ActivityPlan {
        name: document.name,
        about: document.about,
        tags: document.tags,
        platform: document.platform,
        settings: settings.collect(),
        activities: document.activities,
    })
}

impl ActivityPlan {
    /// Number of activities.
    pub fn len(&self) -> usize {
        self.activities.len()
    }

    /// No activities.
    pub fn is_empty(&self) -> bool {
        self.activities.is_empty()
    }

    /// Looks up every name on a platform.
    pub fn graph(&self, platform: &Platform) -> Result<ActivityGraph> {
        let mut numbers: HashMap<&str, u32> = HashMap::with_capacity(self.len());
        let mut graph = ActivityGraph::new();
        for (k, planned) in self.activities.iter().enumerate() {
            let at = |field: &str| format!("activities[{k}].{field}");
            let number = graph.add(planned.id.clone(), activity(&planned.what, platform, &at)?);
            if numbers.insert(&planned.id, number).is_some() {
                let message = format!("two activities have the id `{}`", planned.id);
                return Err(FormatError::in_path(at("id"), message));
            }
            if let Some(date) = planned.not_before {
                graph.not_before[k] = dated(date, || at("not_before"))?;
            }
        }
        for (later, planned) in self.activities.iter().enumerate() {
            for (j, name) in planned.after.iter().enumerate() {
                let Some(&earlier) = numbers.get(name.as_str()) else {
                    let path = format!("activities[{later}].after[{j}]");
                    return Err(FormatError::in_path(
                        path,
                        format!("no activity has the id `{name}`"),
                    ));
                };
                graph.order(earlier, later as u32);
            }
        }
        graph.check_acyclic().map_err(|e| FormatError::in_path("activities", e))?;
        Ok(graph)
    }
}

fn activity(what: &What, platform: &Platform, at: &dyn Fn(&str) -> String) -> Result<Activity> {
    let host = |field: &str, name: &str| {
        platform.host_named(name).ok_or_else(|| {
            FormatError::in_path(at(field), format!("the platform has no host `{name}`"))
        })
    };
    let limit = |field: &str, value: Option<f64>| match value {
        Some(value) if value <= 0.0 => {
            Err(FormatError::in_path(at(field), format!("{value} must be positive")))
        }
        Some(value) => Ok(value),
        None => Ok(f64::INFINITY),
    };
    Ok(match what {
        What::Exec { host: name, flops, priority, bound } => Activity::Exec(Exec {
            host: host("host", name)?,
            flops: not_negative(*flops, || at("flops"))?,
            priority: limit("priority", Some(priority.unwrap_or(1.0)))?,
            bound: limit("bound", *bound)?,
        }),
        What::Comm { src, dst, bytes, rate } => Activity::Comm(Transfer {
            src: host("src", src)?,
            dst: host("dst", dst)?,
            bytes: not_negative(*bytes, || at("bytes"))?,
            rate: limit("rate", *rate)?,
        }),
        What::Ptask { hosts, flops_per_host, bytes_matrix, rate } => {
            let hosts: Vec<HostId> =
                hosts.iter().map(|name| host("hosts", name)).collect::<Result<_>>()?;
            let width = hosts.len();
            for (field, list, size) in [
                ("flops_per_host", flops_per_host, width),
                ("bytes_matrix", bytes_matrix, width * width),
            ] {
                if !list.is_empty() && list.len() != size {
                    let message = format!("{} numbers where {width} hosts need {size}", list.len());
                    return Err(FormatError::in_path(at(field), message));
                }
                for (i, &value) in list.iter().enumerate() {
                    not_negative(value, || format!("{}[{i}]", at(field)))?;
                }
            }
            if hosts.is_empty() {
                return Err(FormatError::in_path(at("hosts"), "a parallel task needs hosts"));
            }
            let pairs = hosts.iter().flat_map(|&from| hosts.iter().map(move |&to| (from, to)));
            let blocks = pairs.zip(bytes_matrix).filter(|(_, bytes)| **bytes > 0.0);
            let blocks = blocks.map(|((from, to), &bytes)| Block { from, to, bytes }).collect();
            Activity::from(ParallelTask {
                hosts,
                flops: flops_per_host.clone(),
                blocks,
                rate: limit("rate", *rate)?,
            })
        }
        What::Io { disk: name, access, bytes, host: client } => {
            let disk =
                find_disk(platform, name).map_err(|m| FormatError::in_path(at("disk"), m))?;
            Activity::Io(DiskOperation {
                disk,
                access: match access {
                    Access::Read => DiskAccess::Read,
                    Access::Write => DiskAccess::Write,
                },
                bytes: not_negative(*bytes, || at("bytes"))?,
                client: match client {
                    Some(client) => host("host", client)?,
                    None => platform.disk(disk).host,
                },
            })
        }
        What::Sleep { duration } => Activity::Sleep(dated(*duration, || at("duration"))?),
    })
}

/// Largest amount, in flop, bytes or their rates.
const MOST: f64 = 1e30;

fn not_negative(value: f64, path: impl FnOnce() -> String) -> Result<f64> {
    if value > MOST {
        return Err(FormatError::in_path(
            path(),
            format!("{} is more than 1e30", fmt_number(value)),
        ));
    }
    if (0.0..=MOST).contains(&value) {
        return Ok(value);
    }
    Err(FormatError::in_path(path(), format!("{value} must not be negative")))
}

/// A date, or a number of seconds.
fn dated(value: f64, path: impl FnOnce() -> String) -> Result<f64> {
    if value > LATEST {
        return Err(FormatError::in_path(
            path(),
            format!("{} s is more than 1e15 s", fmt_number(value)),
        ));
    }
    not_negative(value, path)
}

/// `disk` or `host/disk`.
fn find_disk(platform: &Platform, name: &str) -> std::result::Result<DiskId, String> {
    let (owner, wanted) = match name.rsplit_once('/') {
        Some((host, disk)) => (Some(host), disk),
        None => (None, name),
    };
    let mut found = platform.disks().iter().enumerate().filter(|(_, disk)| {
        &*disk.name == wanted && owner.is_none_or(|host| &*platform.host(disk.host).name == host)
    });
    let Some((first, _)) = found.next() else {
        return Err(format!("the platform has no disk `{name}`"));
    };
    if found.next().is_some() {
        return Err(format!("several hosts have a disk `{name}`: write host/{wanted}"));
    }
    Ok(DiskId::new(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::platform::{HostSpec, PlatformBuilder, RoutingKind};

    fn platform() -> Platform {
        let mut builder = PlatformBuilder::new("p");
        let zone = builder.add_zone(None, "z", RoutingKind::None).unwrap();
        for name in ["a", "b"] {
            builder.add_host(zone, HostSpec::new(name, 1e9)).unwrap();
        }
        builder.build().unwrap()
    }

    #[test]
    fn a_plan_becomes_a_graph() {
        let plan = parse(
            r#"{"name": "n", "platform": "p.xml", "config": {"network/crosstraffic": false, "x": 1e-9},
                "activities": [
                  {"id": "e", "kind": "exec", "host": "a", "flops": 5, "priority": 2},
                  {"id": "c", "kind": "comm", "src": "a", "dst": "b", "bytes": 7, "after": ["e"], "not_before": 2}]}"#,
        )
        .unwrap();
        assert_eq!(plan.settings[0], ("network/crosstraffic".into(), "false".into()));
        let graph = plan.graph(&platform()).unwrap();
        assert_eq!(graph.after[1], [0]);
        assert_eq!(graph.not_before, [0.0, 2.0]);
        let exec = Exec { priority: 2.0, ..Exec::new(HostId(0), 5.0) };
        assert_eq!(graph.activities[0], Activity::Exec(exec));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |activities: &str| {
            let text = format!("{{\"activities\": [{activities}]}}");
            parse(&text).and_then(|plan| plan.graph(&platform())).unwrap_err().to_string()
        };
        assert_eq!(
            error(r#"{"id": "e", "kind": "exec", "host": "x", "flops": 5}"#),
            "at activities[0].host: the platform has no host `x`"
        );
        assert_eq!(
            error(r#"{"id": "e", "kind": "exec", "host": "a", "flops": -5}"#),
            "at activities[0].flops: -5 must not be negative"
        );
        assert_eq!(
            error(r#"{"id": "e", "kind": "exec", "host": "a", "flops": 1e300}"#),
            "at activities[0].flops: 1e300 is more than 1e30"
        );
        assert_eq!(
            error(r#"{"id": "s", "kind": "sleep", "duration": 1, "after": ["t"]}"#),
            "at activities[0].after[0]: no activity has the id `t`"
        );
        assert!(error(r#"{"id": "s", "kind": "nap"}"#).contains("nap"));
        let circle = r#"{"id": "s", "kind": "sleep", "duration": 1, "after": ["t"]},
                        {"id": "t", "kind": "sleep", "duration": 1, "after": ["s"]}"#;
        assert!(
            error(circle).contains("circle: s -> t -> s") || error(circle).contains("t -> s -> t")
        );
    }
}
