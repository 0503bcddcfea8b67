//! The campaign file: what is varied, what is drawn, which methods meet it.

use super::method::{Method, MethodKind};
use crate::compare::metric;
use serde::Deserialize;
use slackline_formats::scenario::read_scenario;
use slackline_formats::{FileAccess, FormatError, Result, read_platform, read_workflow};
use slackline_generate::registry::{self, Family, Generator};
use slackline_model::nearest::did_you_mean;
use slackline_model::{Platform, Scenario, Workflow};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most combinations of a campaign.
const MOST_COMBINATIONS: usize = 10_000_000;

/// A campaign, read and checked.
#[derive(Clone)]
pub struct Campaign {
    /// Its name, part of its identity.
    pub name: String,
    /// The question that the campaign answers.
    pub question: String,
    /// Its seed, part of its identity.
    pub seed: u64,
    /// Number of draws of each combination.
    pub repeat: Repeat,
    /// Draw this many combinations instead of all.
    pub sample: Option<usize>,
    /// Workflows.
    pub workflows: Vec<Variant<Workflow>>,
    /// Platforms.
    pub platforms: Vec<Variant<Platform>>,
    /// Scenarios of simulated runs.
    pub scenarios: Vec<Variant<Scenario>>,
    /// Methods, planners first.
    pub methods: Vec<Method>,
    /// Names of the columns that hold factors.
    pub columns: Vec<String>,
    /// The text of the file.
    pub text: String,
    /// Files that it names: as named, and where they are.
    pub reads: Vec<(String, PathBuf)>,
}

/// Number of draws of each combination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Repeat {
    /// So many times.
    Times(u64),
    /// Until the half-width of every method's mean makespan is this share of it.
    Until(f64),
}

/// One value of a part: a file, or a generator with its parameters.
#[derive(Clone)]
pub struct Variant<T> {
    /// The name of the section, or of the file.
    pub label: String,
    /// Factor columns and their values.
    pub factors: Vec<(String, String)>,
    /// Its source.
    pub source: Source<T>,
}

/// Source of a workflow, platform or scenario.
#[derive(Clone)]
pub enum Source<T> {
    /// A generator.
    Drawn {
        /// The generator.
        generator: &'static Generator,
        /// Its parameters, in order of their names.
        given: Vec<(String, String)>,
    },
    /// A file.
    Fixed {
        /// Its content.
        value: Arc<T>,
        /// Hash of its text.
        hash: u64,
    },
}

impl<T> Variant<T> {
    /// A variant as text: the same for the same parameters, whatever the name of the section.
    pub(super) fn parameters(&self) -> String {
        match &self.source {
            Source::Fixed { .. } => self.label.clone(),
            Source::Drawn { generator, given } => {
                let given: Vec<String> = given.iter().map(|(n, v)| format!("{n}={v}")).collect();
                format!("{}?{}", generator.name, given.join("&"))
            }
        }
    }
}

impl<T> Source<T> {
    /// Whether two repetitions can differ.
    pub fn is_drawn(&self) -> bool {
        match self {
            Source::Drawn { generator, given } => {
                draws(generator.name, given.iter().map(|(name, _)| name))
            }
            Source::Fixed { .. } => false,
        }
    }
}

/// Whether a generator with these parameters depends on its seed.
fn draws<'a>(generator: &str, mut parameters: impl Iterator<Item = &'a String>) -> bool {
    const FIXED: [&str; 4] = ["processors", "cluster", "grid5000", "recorded"];
    !FIXED.contains(&generator) || parameters.any(|name| name.ends_with("spread"))
}

/// Fails where two sections of a part have a member in common: its runs would be the same.
fn check_distinct<T>(part: &str, variants: &[Variant<T>]) -> Result<()> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for variant in variants {
        let text = variant.parameters();
        if let Some(first) = seen.insert(text.clone(), &variant.label) {
            let message = match &variant.source {
                Source::Fixed { .. } => format!("{text} is there twice"),
                Source::Drawn { .. } => {
                    format!(
                        "{} and {first} both have {text}: the runs would be the same",
                        variant.label
                    )
                }
            };
            return Err(FormatError::in_path(part, message));
        }
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CampaignFile {
    name: String,
    #[serde(default)]
    question: String,
    #[serde(default = "one")]
    seed: u64,
    repeat: Option<toml::Value>,
    sample: Option<usize>,
    #[serde(default)]
    workflows: BTreeMap<String, toml::Table>,
    #[serde(default)]
    platforms: BTreeMap<String, toml::Table>,
    #[serde(default)]
    scenarios: BTreeMap<String, toml::Table>,
    methods: MethodLists,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MethodLists {
    #[serde(default)]
    plan: Vec<String>,
    #[serde(default)]
    simulate: Vec<String>,
}

fn one() -> u64 {
    1
}

impl Campaign {
    /// Reads a campaign file and the files it names.
    pub fn read(files: &FileAccess, path: &Path) -> Result<Campaign> {
        let text = files.read_text(path)?;
        Campaign::parse(files, path, &text).map_err(|error| match error.file {
            Some(_) => error,
            None => error.in_file(path),
        })
    }

    fn parse(files: &FileAccess, path: &Path, text: &str) -> Result<Campaign> {
        let file: CampaignFile = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            FormatError::at_offset(text, at, error.message()).with_nearest_key()
        })?;
        let repeat = repeat(file.repeat.as_ref())?;
        if file.name.trim().is_empty() {
            return Err(FormatError::in_path("name", "the campaign has no name"));
        }
        if i64::try_from(file.seed).is_err() {
            return Err(FormatError::in_path("seed", "the seed is too large"));
        }
        let mut parts = Parts { files, folder: path.parent(), reads: Vec::new() };
        let workflows = parts.read(Family::Workflow, "workflows", &file.workflows, |f, p| {
            Ok(read_workflow(f, p, None)?.workflow)
        })?;
        let platforms = parts.read(Family::Platform, "platforms", &file.platforms, |f, p| {
            read_platform(f, p, None)
        })?;
        let mut scenarios =
            parts.read(Family::Scenario, "scenarios", &file.scenarios, read_scenario)?;
        for (name, empty) in
            [("workflows", workflows.is_empty()), ("platforms", platforms.is_empty())]
        {
            if empty {
                return Err(FormatError::in_path(name, "there is none: nothing would be run"));
            }
        }
        check_distinct("workflows", &workflows)?;
        check_distinct("platforms", &platforms)?;
        check_distinct("scenarios", &scenarios)?;
        if scenarios.is_empty() {
            scenarios.push(Variant {
                label: "still".to_string(),
                factors: Vec::new(),
                source: Source::Fixed { value: Arc::new(Scenario::default()), hash: 0 },
            });
        }
        let mut methods: Vec<Method> = Vec::new();
        for (kind, list, texts) in [
            (MethodKind::Plan, "methods.plan", &file.methods.plan),
            (MethodKind::Simulate, "methods.simulate", &file.methods.simulate),
        ] {
            for text in texts {
                let method = Method::parse(kind, text).map_err(|e| e.under(|| list.into()))?;
                if methods.contains(&method) {
                    return Err(FormatError::in_path(list, format!("{text} is there twice")));
                }
                methods.push(method);
            }
        }
        if methods.is_empty() {
            return Err(FormatError::in_path("methods", "no method is named in plan or simulate"));
        }
        let combinations =
            workflows.len().saturating_mul(platforms.len()).saturating_mul(scenarios.len());
        if combinations > MOST_COMBINATIONS {
            let message = format!("{combinations} combinations are more than {MOST_COMBINATIONS}");
            return Err(FormatError::new(message));
        }
        if file.sample == Some(0) {
            return Err(FormatError::in_path("sample", "0 combinations: nothing would be run"));
        }
        let mut campaign = Campaign {
            name: file.name,
            question: file.question,
            seed: file.seed,
            repeat,
            sample: file.sample,
            workflows,
            platforms,
            scenarios,
            methods,
            columns: Vec::new(),
            text: text.to_string(),
            reads: parts.reads,
        };
        campaign.name_columns();
        Ok(campaign)
    }

    /// Returns the question and the methods of a campaign file that was read before, as far as they
    /// can be read again without the files it names.
    pub fn outline(text: &str) -> (String, Vec<Method>) {
        let Ok(file) = toml::from_str::<CampaignFile>(text) else {
            return (String::new(), Vec::new());
        };
        let lists = [
            (MethodKind::Plan, &file.methods.plan),
            (MethodKind::Simulate, &file.methods.simulate),
        ];
        let methods = lists.into_iter().flat_map(|(kind, texts)| {
            texts.iter().filter_map(move |text| Method::parse(kind, text).ok())
        });
        (file.question.clone(), methods.collect())
    }

    /// Columns that identify a draw of a part (`workflow`, `platform`, `scenario`) in the results of the campaign file
    /// of this text: its name, its parameters, and the repetition where it is drawn. None if there is no such part.
    pub fn unit_columns(text: &str, columns: &[String], part: &str) -> Option<Vec<String>> {
        let file: CampaignFile = toml::from_str(text).ok()?;
        let sections = match part {
            "workflow" => file.workflows,
            "platform" => file.platforms,
            "scenario" => file.scenarios,
            _ => return None,
        };
        let mut found = vec![part.to_string()];
        let mut is_drawn = false;
        for section in sections.values() {
            let Some(generator) = section.get("generate").and_then(|name| name.as_str()) else {
                continue;
            };
            is_drawn |= draws(generator, section.keys());
            for key in section.keys() {
                let named = [format!("{part}.{key}"), key.clone()];
                let column = named.into_iter().find(|name| columns.contains(name));
                found.extend(column.filter(|name| !found.contains(name)));
            }
        }
        found.extend(is_drawn.then(|| "repetition".to_string()));
        Some(found)
    }

    /// Gives every parameter a column: its own name, or one with the part in front where another
    /// part has the name or a table of results means something else by it.
    fn name_columns(&mut self) {
        let mut columns = ["workflow", "platform", "scenario"].map(str::to_string).to_vec();
        let mut name = |part: &str, factors: &mut Vec<(String, String)>, own: &mut Vec<String>| {
            for (name, _) in factors {
                let taken = columns.contains(name) && !own.contains(name);
                if taken || metric::is_known(name) || metric::is_reserved(name) {
                    *name = format!("{part}.{name}");
                }
                if !columns.contains(name) {
                    columns.push(name.clone());
                    own.push(name.clone());
                }
            }
        };
        let mut own = Vec::new();
        self.workflows.iter_mut().for_each(|v| name("workflow", &mut v.factors, &mut own));
        own.clear();
        self.platforms.iter_mut().for_each(|v| name("platform", &mut v.factors, &mut own));
        own.clear();
        self.scenarios.iter_mut().for_each(|v| name("scenario", &mut v.factors, &mut own));
        self.columns = columns;
    }
}

fn repeat(value: Option<&toml::Value>) -> Result<Repeat> {
    let wrong = || {
        let message = "expected a number of draws such as 20, or a share such as \"2%\"";
        FormatError::in_path("repeat", message)
    };
    match value {
        None => Ok(Repeat::Times(1)),
        Some(toml::Value::Integer(n)) => {
            let times = u64::try_from(*n).ok().filter(|n| (1..=1_000_000_000).contains(n));
            times.map(Repeat::Times).ok_or_else(wrong)
        }
        Some(toml::Value::String(text)) => {
            let number = text.trim().strip_suffix('%').and_then(|n| n.trim().parse::<f64>().ok());
            let share = number.map(|n| n / 100.0).filter(|s| (1e-4..1.0).contains(s));
            share.map(Repeat::Until).ok_or_else(wrong)
        }
        Some(_) => Err(wrong()),
    }
}

/// Reads the sections of a part.
struct Parts<'a> {
    files: &'a FileAccess,
    folder: Option<&'a Path>,
    reads: Vec<(String, PathBuf)>,
}

impl Parts<'_> {
    fn read<T>(
        &mut self,
        family: Family,
        part: &str,
        sections: &BTreeMap<String, toml::Table>,
        read: impl Fn(&FileAccess, &Path) -> Result<T>,
    ) -> Result<Vec<Variant<T>>> {
        let mut variants = Vec::new();
        for (label, section) in sections {
            let here = |message: String| FormatError::in_path(format!("{part}.{label}"), message);
            match (section.get("generate"), section.get("files")) {
                (Some(toml::Value::String(name)), None) => {
                    let known = || registry::of(family).map(|g| g.name);
                    let generator = registry::find(family, name).map_err(|_| {
                        let near = did_you_mean(name, known());
                        let list = known().collect::<Vec<_>>().join(", ");
                        here(format!("there is no {} generator {name}{near}", family.name()))
                            .with_help(format!("generators: {list}"))
                    })?;
                    if generator.needs_instances() || generator.needs_machines() {
                        let message = format!("{name} needs files to learn from");
                        return Err(here(message).with_help("generate files first and name them"));
                    }
                    drawn(label, generator, section, &mut variants).map_err(here)?;
                }
                (None, Some(toml::Value::Array(list))) if !list.is_empty() => {
                    if let Some(key) = section.keys().find(|key| *key != "files") {
                        return Err(here(format!("{key} means nothing where files are named")));
                    }
                    for item in list {
                        let Some(name) = item.as_str() else {
                            return Err(here("files: expected names of files".into()));
                        };
                        variants.push(self.file(name, &read)?);
                    }
                }
                (None, Some(_)) => return Err(here("files: expected a list of names".into())),
                (Some(_), Some(_)) => return Err(here("generate or files, not both".into())),
                _ => {
                    let message = "expected generate = \"NAME\" or files = [\"FILE\"]";
                    return Err(here(message.into()));
                }
            }
        }
        Ok(variants)
    }

    /// Reads a file that is named relative to the campaign, or a bundled one.
    fn file<T>(
        &mut self,
        name: &str,
        read: &impl Fn(&FileAccess, &Path) -> Result<T>,
    ) -> Result<Variant<T>> {
        let beside = self.folder.map(|folder| folder.join(name));
        let path = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name));
        let hash = xxhash_rust::xxh3::xxh3_64(self.files.read_text(&path)?.as_bytes());
        let value = Arc::new(read(self.files, &path)?);
        self.reads.push((name.to_string(), path));
        let source = Source::Fixed { value, hash };
        Ok(Variant { label: name.to_string(), factors: Vec::new(), source })
    }
}

/// Adds a variant for every combination of the parameters' values.
fn drawn<T>(
    label: &str,
    generator: &'static Generator,
    section: &toml::Table,
    variants: &mut Vec<Variant<T>>,
) -> std::result::Result<(), String> {
    let mut combinations: Vec<Vec<(String, String)>> = vec![Vec::new()];
    // In the order of their names, whatever the order in the file.
    let mut names: Vec<&String> = section.keys().filter(|key| *key != "generate").collect();
    names.sort();
    for name in names {
        let values: Option<Vec<String>> = match &section[name] {
            toml::Value::Array(list) => list.iter().map(text).collect(),
            value => text(value).map(|text| vec![text]),
        };
        let values =
            values.ok_or_else(|| format!("{name}: expected a value or a list of values"))?;
        if values.is_empty() {
            return Err(format!("{name}: the list is empty: nothing would be run"));
        }
        for (at, value) in values.iter().enumerate() {
            if values[..at].contains(value) {
                return Err(format!("{name}: {value} is there twice"));
            }
            if !follows_platform(name, value) {
                let given = [(name.clone(), value.clone())];
                generator.settings(&given).map_err(|error| error.to_string())?;
            }
        }
        if combinations.len().saturating_mul(values.len()) > MOST_COMBINATIONS {
            return Err(format!("more than {MOST_COMBINATIONS} combinations"));
        }
        let mut longer = Vec::with_capacity(combinations.len() * values.len());
        for before in &combinations {
            for value in &values {
                let mut given = before.clone();
                given.push((name.clone(), value.clone()));
                longer.push(given);
            }
        }
        combinations = longer;
    }
    variants.extend(combinations.into_iter().map(|given| Variant {
        label: label.to_string(),
        factors: given.clone(),
        source: Source::Drawn { generator, given },
    }));
    Ok(())
}

/// Whether a workflow gets a column of times for every host of the platform.
pub(super) fn follows_platform(name: &str, value: &str) -> bool {
    name == "processors" && value == "platform"
}

fn text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(yes) => Some(if *yes { "yes" } else { "no" }.to_string()),
        _ => None,
    }
}
