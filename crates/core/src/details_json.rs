//! Parameters that methods were given and details that they report, as JSON; and what methods need.

use crate::failure::Failure;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use slackline_model::Problem;
use slackline_model::schedule::{Detail, Limits};
use slackline_schedule::Need;
use std::borrow::Cow;

/// Parameters that methods were given, as JSON records them: names and texts, the last of a name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Set(Vec<(String, String)>);

impl Set {
    pub(crate) fn of<'a>(given: impl IntoIterator<Item = &'a (String, String)>) -> Set {
        let mut set: Vec<(String, String)> = Vec::new();
        for (name, value) in given {
            match set.iter_mut().find(|(known, _)| known == name) {
                Some(entry) => entry.1.clone_from(value),
                None => set.push((name.clone(), value.clone())),
            }
        }
        Set(set)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Set {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl JsonSchema for Set {
    fn schema_name() -> Cow<'static, str> {
        "Set".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "additionalProperties": { "type": "string" } })
    }
}

/// Details that a method reports of its plan, as members of a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details(pub Vec<(&'static str, Detail)>);

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        members(&self.0, serializer)
    }
}

impl JsonSchema for Details {
    fn schema_name() -> Cow<'static, str> {
        "Details".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

fn members<S: Serializer>(
    details: &[(&'static str, Detail)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(details.iter().map(|(name, value)| (name, Member(value))))
}

struct Member<'a>(&'a Detail);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Detail::Count(count) => serializer.serialize_u64(*count),
            Detail::Number(number) => serializer.serialize_f64(*number),
            Detail::Text(text) => serializer.serialize_str(text),
            Detail::List(list) => serializer.collect_seq(list.iter().map(Member)),
            Detail::Record(parts) => members(parts, serializer),
        }
    }
}

/// Fails where a method that was asked for by name lacks what it needs.
pub fn check_needs(
    name: &str,
    needs: &[Need],
    problem: &Problem<'_>,
    limits: &Limits,
) -> Result<(), Failure> {
    let Some(need) = needs.iter().find(|need| !need.is_met(problem, limits)) else {
        return Ok(());
    };
    let help = match need {
        Need::Budget => "give one with --budget MONEY",
        Need::Deadline => "give one with --deadline TIME",
        Need::Prices => "the platform says what a host costs with `price`",
        Need::Moldable => "none of the tasks may use several processors",
        Need::Several => "there is only one workflow",
        Need::Independent => "some tasks depend on others, or take several processors",
        Need::OneHost => "some tasks need processors of several hosts; static plans for them",
    };
    Err(Failure::input(format!("{name} needs {}", need.phrase())).with_help(help))
}
