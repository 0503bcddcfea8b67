//! Choices and loops of a workflow TOML.

use super::reader::{After, Entry, Reading, Span};
use crate::control::IterationsEntry;
use crate::error::{FormatError, Result};
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use slackline_model::control::{
    BranchSpec, ChoiceSpec, Control, ControlBuilder, FileUse, Item, LoopSpec, Reads, Value,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use toml::Spanned;

/// `[choice.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChoiceEntry {
    #[serde(rename = "in")]
    region: Option<String>,
    by: Option<String>,
    reads: Option<ReadsEntry>,
    #[serde(default)]
    after: Vec<Spanned<After>>,
    #[serde(default)]
    branch: BTreeMap<Spanned<String>, BranchEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BranchEntry {
    probability: Option<f64>,
    #[serde(default)]
    when: Values,
    #[serde(default, rename = "else")]
    otherwise: bool,
    #[serde(default)]
    pass: BTreeMap<String, String>,
}

/// `[loop.NAME]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoopEntry {
    #[serde(rename = "in")]
    region: Option<String>,
    by: Option<String>,
    reads: Option<ReadsEntry>,
    #[serde(default)]
    after: Vec<Spanned<After>>,
    #[serde(default)]
    again: Values,
    #[serde(default)]
    stop: Values,
    iterations: Option<IterationsEntry>,
    #[serde(default)]
    carry: BTreeMap<String, String>,
}

/// `"exit-code"`, or a place in an output.
struct ReadsEntry(Reads);

impl<'de> Deserialize<'de> for ReadsEntry {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            file: String,
            #[serde(default)]
            at: String,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ReadsEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"exit-code\", or { file = \"OUTPUT\", at = \"/JSON/POINTER\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<ReadsEntry, E> {
                match text {
                    "exit-code" => Ok(ReadsEntry(Reads::ExitCode)),
                    other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                map: A,
            ) -> std::result::Result<ReadsEntry, A::Error> {
                let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ReadsEntry(Reads::Output { file: table.file, at: table.at }))
            }
        }
        d.deserialize_any(Either)
    }
}

/// One value or a list of values.
#[derive(Default)]
struct Values(Vec<Value>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Values;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a number, true or false, or a list of these")
            }
            fn visit_str<E>(self, text: &str) -> std::result::Result<Values, E> {
                Ok(Values(vec![Value::Text(text.to_string())]))
            }
            fn visit_bool<E>(self, truth: bool) -> std::result::Result<Values, E> {
                Ok(Values(vec![Value::Truth(truth)]))
            }
            fn visit_f64<E>(self, number: f64) -> std::result::Result<Values, E> {
                Ok(Values(vec![Value::Number(number)]))
            }
            fn visit_i64<E>(self, number: i64) -> std::result::Result<Values, E> {
                Ok(Values(vec![Value::Number(number as f64)]))
            }
            fn visit_u64<E>(self, number: u64) -> std::result::Result<Values, E> {
                Ok(Values(vec![Value::Number(number as f64)]))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Values, A::Error> {
                let mut all = Vec::new();
                while let Some(Values(some)) = list.next_element()? {
                    all.extend(some);
                }
                Ok(Values(all))
            }
        }
        d.deserialize_any(Any)
    }
}

impl Values {
    /// The values, and whether `else` is among them.
    fn split(&self) -> (Vec<Value>, bool) {
        let is_else = |v: &&Value| **v == Value::Text("else".to_string());
        let rest = self.0.iter().filter(|v| !is_else(v)).cloned().collect();
        (rest, self.0.iter().any(|v| is_else(&v)))
    }
}

type Listed<T> = Vec<(Spanned<String>, T)>;

/// In the order of the file.
pub(super) fn listed<T>(table: BTreeMap<Spanned<String>, T>) -> Listed<T> {
    let mut list: Listed<T> = table.into_iter().collect();
    list.sort_by_key(|(name, _)| name.span().start);
    list
}

/// Parts of the file needed for choices and loops.
pub(super) struct Blocks<'e> {
    pub(super) entries: &'e [(Spanned<String>, Entry)],
    pub(super) choices: Listed<ChoiceEntry>,
    pub(super) loops: Listed<LoopEntry>,
    /// Sizes of files, in the order of the file.
    pub(super) sizes: Vec<(String, f64)>,
    /// Of files that are not listed.
    pub(super) size: f64,
}

fn pairs(table: &BTreeMap<String, String>) -> Vec<(String, String)> {
    table.iter().map(|(a, b)| (a.clone(), b.clone())).collect()
}

impl Reading<'_> {
    /// The structure of choices and loops.
    pub(super) fn control(&self, blocks: &Blocks<'_>) -> Result<Control> {
        let mut builder = ControlBuilder::default();
        for (name, entry) in blocks.entries {
            builder.task(name.get_ref(), entry.region.as_deref());
        }
        let mut afters: Vec<Span> = Vec::new();
        let mut after = |builder: &mut ControlBuilder, name: &str, list: &[Spanned<After>]| {
            for one in list {
                builder.edge(&one.get_ref().task, name, one.get_ref().data);
                afters.push(one.span());
            }
        };
        for (name, entry) in &blocks.choices {
            let spec = self.choice(name, entry);
            builder.choice(spec);
            after(&mut builder, name.get_ref(), &entry.after);
        }
        for (name, entry) in &blocks.loops {
            builder.repeat(self.repeated(name, entry)?);
            after(&mut builder, name.get_ref(), &entry.after);
        }
        for (name, entry) in blocks.entries {
            after(&mut builder, name.get_ref(), &entry.after);
        }
        self.files(blocks, &mut builder)?;
        builder.build().map_err(|error| {
            let span = match (error.edge, error.item) {
                (Some(edge), _) => afters.get(edge).cloned(),
                (_, Some(Item::Task(t))) => Some(blocks.entries[t as usize].0.span()),
                (_, Some(Item::Choice(c))) => Some(blocks.choices[c as usize].0.span()),
                (_, Some(Item::Loop(l))) => Some(blocks.loops[l as usize].0.span()),
                (None, None) => None,
            };
            match span {
                Some(span) => self.error(span, error),
                None => FormatError::new(error),
            }
        })
    }

    fn choice(&self, name: &Spanned<String>, entry: &ChoiceEntry) -> ChoiceSpec {
        let mut branches: Vec<_> = entry.branch.iter().collect();
        branches.sort_by_key(|(name, _)| name.span().start);
        let branch = |(name, entry): (&Spanned<String>, &BranchEntry)| BranchSpec {
            name: name.get_ref().clone(),
            probability: entry.probability,
            when: entry.when.0.clone(),
            otherwise: entry.otherwise,
            pass: pairs(&entry.pass),
        };
        ChoiceSpec {
            name: name.get_ref().clone(),
            region: entry.region.clone(),
            by: entry.by.clone(),
            reads: entry.reads.as_ref().map(|r| r.0.clone()),
            branches: branches.into_iter().map(branch).collect(),
        }
    }

    fn repeated(&self, name: &Spanned<String>, entry: &LoopEntry) -> Result<LoopSpec> {
        let error =
            |why: String| self.error(name.span(), format!("loop '{}': {why}", name.get_ref()));
        let iterations = entry.iterations.as_ref().map(|i| i.read()).transpose().map_err(error)?;
        let ((again_when, again), (stop_when, stop)) = (entry.again.split(), entry.stop.split());
        let otherwise = match (again, stop) {
            (true, true) => {
                return Err(error("only one of again and stop can be \"else\"".to_string()));
            }
            (true, false) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        Ok(LoopSpec {
            name: name.get_ref().clone(),
            region: entry.region.clone(),
            by: entry.by.clone(),
            reads: entry.reads.as_ref().map(|r| r.0.clone()),
            again_when,
            stop_when,
            otherwise,
            iterations,
            carry: pairs(&entry.carry),
        })
    }

    fn files(&self, blocks: &Blocks<'_>, builder: &mut ControlBuilder) -> Result<()> {
        let mut known: BTreeSet<&str> = BTreeSet::new();
        for (name, bytes) in &blocks.sizes {
            builder.file(name, *bytes);
            known.insert(name);
        }
        for (task, (_, entry)) in blocks.entries.iter().enumerate() {
            for name in &entry.outputs {
                if known.insert(name.get_ref()) {
                    builder.file(name.get_ref(), blocks.size);
                }
                builder.uses(task as u32, name.get_ref(), FileUse::Write);
            }
        }
        for (_, choice) in &blocks.choices {
            known.extend(choice.branch.values().flat_map(|b| b.pass.keys()).map(String::as_str));
        }
        for (task, (task_name, entry)) in blocks.entries.iter().enumerate() {
            for name in &entry.inputs {
                if !known.contains(name.get_ref().as_str()) {
                    return Err(self.unknown_input(task_name, name));
                }
                builder.uses(task as u32, name.get_ref(), FileUse::Read);
            }
        }
        Ok(())
    }
}
