//! The layouts of all versions as plain data: every property any of them has, all optional;
//! what must be there is checked where it is used.

use serde::Deserialize as Derive;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A string that borrows from the document where it has no escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_string())))
            }
            fn visit_string<E: Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Instance<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) description: Option<Text<'a>>,
    pub(super) created_at: Option<Text<'a>>,
    pub(super) schema_version: Option<Text<'a>>,
    pub(super) wms: Option<System<'a>>,
    pub(super) runtime_system: Option<System<'a>>,
    pub(super) author: Option<Author<'a>>,
    pub(super) workflow: Body<'a>,
}

#[derive(Derive)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct System<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) version: Option<Text<'a>>,
    pub(super) url: Option<Text<'a>>,
}

#[derive(Derive)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Author<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) email: Option<Text<'a>>,
    pub(super) institution: Option<Text<'a>>,
    pub(super) country: Option<Text<'a>>,
}

/// `workflow`: up to 1.4 with the tasks, from 1.5 with specification and execution.
#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Body<'a> {
    pub(super) tasks: Option<Vec<OldTask<'a>>>,
    pub(super) makespan: Option<f64>,
    pub(super) makespan_in_seconds: Option<f64>,
    pub(super) executed_at: Option<Text<'a>>,
    pub(super) machines: Option<Vec<Machine<'a>>>,
    pub(super) specification: Option<Specification<'a>>,
    pub(super) execution: Option<Execution<'a>>,
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Machine<'a> {
    pub(super) node_name: Option<Text<'a>>,
    pub(super) system: Option<Text<'a>>,
    pub(super) architecture: Option<Text<'a>>,
    pub(super) release: Option<Text<'a>>,
    pub(super) memory: Option<f64>,
    pub(super) memory_in_bytes: Option<f64>,
    pub(super) cpu: Option<Cpu<'a>>,
}

#[derive(Derive)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Cpu<'a> {
    pub(super) count: Option<f64>,
    #[serde(rename = "coreCount")]
    pub(super) core_count: Option<f64>,
    pub(super) speed: Option<f64>,
    #[serde(rename = "speedInMHz")]
    pub(super) speed_in_mhz: Option<f64>,
    pub(super) vendor: Option<Text<'a>>,
}

#[derive(Derive)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Command<'a> {
    pub(super) program: Option<Text<'a>>,
    pub(super) arguments: Option<Vec<Text<'a>>>,
}

/// A task of 1.3 or 1.4.
#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct OldTask<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) id: Option<Text<'a>>,
    pub(super) category: Option<Text<'a>>,
    #[serde(rename = "type")]
    pub(super) role: Option<Text<'a>>,
    pub(super) command: Option<Command<'a>>,
    pub(super) parents: Option<Vec<Text<'a>>>,
    pub(super) children: Option<Vec<Text<'a>>>,
    pub(super) files: Option<Vec<OldFile<'a>>>,
    pub(super) runtime: Option<f64>,
    pub(super) runtime_in_seconds: Option<f64>,
    pub(super) cores: Option<f64>,
    #[serde(rename = "avgCPU")]
    pub(super) average_cpu: Option<f64>,
    pub(super) bytes_read: Option<f64>,
    pub(super) read_bytes: Option<f64>,
    pub(super) bytes_written: Option<f64>,
    pub(super) written_bytes: Option<f64>,
    pub(super) memory: Option<f64>,
    pub(super) memory_in_bytes: Option<f64>,
    pub(super) energy: Option<f64>,
    #[serde(rename = "avgPower")]
    pub(super) average_power: Option<f64>,
    pub(super) priority: Option<f64>,
    pub(super) machine: Option<Text<'a>>,
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct OldFile<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) path: Option<Text<'a>>,
    pub(super) size: Option<f64>,
    pub(super) size_in_bytes: Option<f64>,
    pub(super) link: Option<Text<'a>>,
}

#[derive(Derive)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Specification<'a> {
    pub(super) tasks: Vec<Task<'a>>,
    pub(super) files: Option<Vec<File<'a>>>,
}

/// A task of the specification, from 1.5 on. `category` and `type` are ours: what 1.4 knew.
#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Task<'a> {
    pub(super) name: Option<Text<'a>>,
    pub(super) id: Option<Text<'a>>,
    pub(super) category: Option<Text<'a>>,
    #[serde(rename = "type")]
    pub(super) role: Option<Text<'a>>,
    pub(super) parents: Option<Vec<Text<'a>>>,
    pub(super) children: Option<Vec<Text<'a>>>,
    pub(super) input_files: Option<Vec<Text<'a>>>,
    pub(super) output_files: Option<Vec<Text<'a>>>,
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct File<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) size_in_bytes: Option<f64>,
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Execution<'a> {
    pub(super) makespan_in_seconds: Option<f64>,
    pub(super) executed_at: Option<Text<'a>>,
    pub(super) tasks: Option<Vec<ExecutedTask<'a>>>,
    pub(super) machines: Option<Vec<Machine<'a>>>,
}

#[derive(Derive)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct ExecutedTask<'a> {
    pub(super) id: Option<Text<'a>>,
    pub(super) runtime_in_seconds: Option<f64>,
    pub(super) executed_at: Option<Text<'a>>,
    pub(super) command: Option<Command<'a>>,
    pub(super) core_count: Option<f64>,
    #[serde(rename = "avgCPU")]
    pub(super) average_cpu: Option<f64>,
    pub(super) read_bytes: Option<f64>,
    pub(super) written_bytes: Option<f64>,
    pub(super) memory_in_bytes: Option<f64>,
    #[serde(rename = "energyInKWh")]
    pub(super) energy_in_kwh: Option<f64>,
    #[serde(rename = "avgPowerInW")]
    pub(super) average_power_in_w: Option<f64>,
    pub(super) priority: Option<f64>,
    pub(super) machine: Option<Text<'a>>,
    pub(super) machines: Option<Vec<Text<'a>>>,
}
