//! Parameters that methods are told (`--set`), and what methods tell of their plans.

use crate::failure::Failure;
use clap::Args;
use serde::{Serialize, Serializer};
use slackline_model::Problem;
use slackline_model::schedule::{Detail, Limits};
use slackline_schedule::Need;

/// Parameters of the chosen methods.
#[derive(Args, Clone, Debug)]
pub(crate) struct SetOptions {
    /// Set a parameter of the chosen methods; `slackline algorithms` lists them
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub(crate) set: Vec<(String, String)>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("expected NAME=VALUE".to_string()),
    }
}

/// What was given of some methods' parameters, as JSON records it: names and texts, the last of a
/// name.
pub(crate) struct Set<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Set<'a> {
    pub(crate) fn of(given: impl IntoIterator<Item = &'a (String, String)>) -> Set<'a> {
        let mut set: Vec<(&str, &str)> = Vec::new();
        for (name, value) in given {
            match set.iter_mut().find(|(known, _)| known == name) {
                Some(entry) => entry.1 = value,
                None => set.push((name, value)),
            }
        }
        Set(set)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Set<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// What a method tells of its plan, as members of a JSON object.
pub(crate) struct Details<'a>(pub(crate) &'a [(&'static str, Detail)]);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, Member(value))))
    }
}

struct Member<'a>(&'a Detail);

impl Serialize for Member<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Detail::Count(count) => serializer.serialize_u64(*count),
            Detail::Number(number) => serializer.serialize_f64(*number),
            Detail::Text(text) => serializer.serialize_str(text),
            Detail::List(list) => serializer.collect_seq(list.iter().map(Member)),
            Detail::Record(parts) => Details(parts).serialize(serializer),
        }
    }
}

/// Fails where a method that was asked for by name lacks what it needs.
pub(crate) fn check_needs(
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
