//! Environments of tasks: `env`, `shell`, `container`, `conda`, `modules`, `time-limit`, `retries`, `nodes` and `temp`.

use super::reader::Span;
use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use slackline_model::nearest::did_you_mean;
use slackline_model::workflow::{Command, Container, Surroundings};
use std::fmt;
use toml::Spanned;

/// Value of an environment variable: a text or a number.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Variable {
    Text(String),
    Number(i64),
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variable::Text(text) => f.write_str(text),
            Variable::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Words in one text or in a list.
pub(super) struct Words(pub(super) Vec<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("words in quotes, or a list of words")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Words, E> {
                Ok(Words(text.split_whitespace().map(str::to_string).collect()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Words, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = list.next_element()? {
                    words.push(word);
                }
                Ok(Words(words))
            }
        }
        d.deserialize_any(Either)
    }
}

/// An image, or an image and what runs it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ContainerEntry {
    Image(String),
    Table(ContainerTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContainerTable {
    image: String,
    engine: Option<String>,
}

/// All outputs, or some.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Temp {
    All(bool),
    Some(Vec<String>),
}

/// All that is stated of the surroundings of a task, by itself or as a default.
pub(super) struct Stated<'f> {
    pub(super) env: Vec<(&'f String, &'f Spanned<Variable>)>,
    /// The shell that the task itself states.
    pub(super) own_shell: Option<&'f Spanned<Words>>,
    pub(super) shell: Option<&'f Spanned<Words>>,
    pub(super) container: Option<&'f Spanned<ContainerEntry>>,
    pub(super) conda: Option<&'f Spanned<String>>,
    pub(super) modules: Option<&'f Words>,
    pub(super) time_limit: Option<f64>,
    pub(super) retries: Option<u32>,
    pub(super) nodes: Option<&'f Spanned<u32>>,
    pub(super) temp: Option<&'f Spanned<Temp>>,
    pub(super) outputs: &'f [Spanned<String>],
}

/// Cause of an error, and its place where it has one of its own.
type Wrong = (Option<Span>, String);

impl Stated<'_> {
    /// A command with what it finds around it.
    pub(super) fn around(&self, command: Option<Command>) -> Result<Option<Command>, Wrong> {
        let surroundings = self.surroundings()?;
        let Some(mut command) = command else { return Ok(None) };
        if let Some(shell) = self.shell {
            match (command.shell_line(), shell.get_ref().0.split_first()) {
                (_, None) => return Err((Some(shell.span()), "a shell needs a program".into())),
                (Some(line), Some((program, options))) => {
                    let mut arguments = options.to_vec();
                    arguments.extend(["-c".to_string(), line.to_string()]);
                    command = Command { program: program.clone(), arguments, surroundings: None };
                }
                (None, _) if self.own_shell.is_some() => {
                    let why = "a shell reads command lines: this command is a list of words";
                    return Err((Some(shell.span()), why.into()));
                }
                (None, _) => {}
            }
        }
        command.surroundings = (!surroundings.is_empty()).then(|| Box::new(surroundings));
        Ok(Some(command))
    }

    fn surroundings(&self) -> Result<Surroundings, Wrong> {
        let mut found = Surroundings {
            modules: self.modules.map_or_else(Vec::new, |words| words.0.clone()),
            time_limit: self.time_limit,
            retries: self.retries,
            nodes: self.nodes.map(|nodes| *nodes.get_ref()),
            ..Surroundings::default()
        };
        if let Some(nodes) = self.nodes.filter(|nodes| *nodes.get_ref() == 0) {
            return Err((Some(nodes.span()), "nodes: a task takes one at least".to_string()));
        }
        for (name, value) in &self.env {
            let is_name = !name.is_empty() && !name.contains(['=', '\0']);
            if !is_name || name.starts_with("SLACKLINE_") {
                let why = format!("env: no variable can be called '{name}' here");
                return Err((Some(value.span()), why));
            }
            let text = value.get_ref().to_string();
            if text.contains('\0') {
                return Err((Some(value.span()), format!("env: '{name}' has a zero byte")));
            }
            found.env.insert((*name).clone(), text);
        }
        if let Some(entry) = self.container {
            let container = match entry.get_ref() {
                ContainerEntry::Image(image) => Container { image: image.clone(), engine: None },
                ContainerEntry::Table(ContainerTable { image, engine }) => {
                    Container { image: image.clone(), engine: engine.clone() }
                }
            };
            if let Some(engine) = &container.engine
                && !Container::ENGINES.contains(&engine.as_str())
            {
                let hint = did_you_mean(engine, Container::ENGINES);
                let why = format!("container: nothing called '{engine}' runs containers{hint}");
                return Err((Some(entry.span()), why));
            }
            if container.image.trim().is_empty() {
                return Err((Some(entry.span()), "container: the image has no name".into()));
            }
            found.container = Some(container);
        }
        if let Some(conda) = self.conda {
            if conda.get_ref().trim().is_empty() {
                return Err((Some(conda.span()), "conda: the environment has no name".into()));
            }
            found.conda = Some(conda.get_ref().clone());
        }
        if let Some(temp) = self.temp {
            let outputs = || self.outputs.iter().map(|name| name.get_ref());
            found.temp = match temp.get_ref() {
                Temp::All(true) => outputs().cloned().collect(),
                Temp::All(false) => Vec::new(),
                Temp::Some(names) => names.clone(),
            };
            if let Some(name) = found.temp.iter().find(|name| !outputs().any(|of| of == *name)) {
                let hint = did_you_mean(name, outputs().map(String::as_str));
                let why = format!("temp: '{name}' is no output of the task{hint}");
                return Err((Some(temp.span()), why));
            }
        }
        Ok(found)
    }
}
