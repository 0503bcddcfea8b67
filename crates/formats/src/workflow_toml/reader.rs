//! From TOML to a workflow.

use super::choices::{self, Blocks, ChoiceEntry, LoopEntry};
use super::samples;
use super::surroundings::{ContainerEntry, Stated, Temp, Variable, Words};
use crate::document::Document;
use crate::error::{FormatError, Result, toml_error};
use crate::read_options::ReadOptions;
use crate::resources::{Entries, Given, GpuDemand, demands};
use serde::Deserialize;
use serde::de::{self, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use slackline_model::nearest::did_you_mean;
use slackline_model::resources::Demand;
use slackline_model::units::{parse_duration, parse_size, parse_speed};
use slackline_model::workflow::{Command, CostTable, REFERENCE_SPEED};
use slackline_model::{FileId, SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use toml::Spanned;
use toml::de::DeTable;

/// Reads a workflow that names no other files.
pub fn read(text: &str) -> Result<Document> {
    read_with(text, &ReadOptions::default())
}

/// Reads a workflow, with the files beside it and values for its parameters.
pub fn read_with(text: &str, options: &ReadOptions<'_>) -> Result<Document> {
    let table = DeTable::parse(text).map_err(|e| toml_error(text, &e))?;
    let (span, mut table) = (table.span(), table.into_inner());
    let (mut definition, mut warnings) = (None, Vec::new());
    if samples::is_needed(&table) {
        let (expanded, found, said) = samples::expand(text, table, options)?;
        (table, definition, warnings) = (expanded, Some(found), said);
    }
    let deserializer = toml::de::Deserializer::from(Spanned::new(span, table));
    let file = File::deserialize(deserializer).map_err(|e| toml_error(text, &e))?;
    let document = Reading { text, warnings }.document(file)?;
    Ok(Document { definition, ..document })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    name: String,
    reference_speed: Option<Speed>,
    #[serde(default)]
    defaults: Defaults,
    /// Defaults of kinds of tasks.
    #[serde(default)]
    kind: BTreeMap<Spanned<String>, Defaults>,
    #[serde(default)]
    files: InOrder<Size>,
    #[serde(default)]
    task: InOrder<Entry>,
    #[serde(default)]
    choice: BTreeMap<Spanned<String>, ChoiceEntry>,
    #[serde(default, rename = "loop")]
    repeat: BTreeMap<Spanned<String>, LoopEntry>,
}

/// The members of a table in the order of the file.
struct InOrder<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for InOrder<T> {
    fn default() -> InOrder<T> {
        InOrder(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for InOrder<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = InOrder<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<InOrder<T>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(InOrder(members))
            }
        }
        d.deserialize_map(Members(PhantomData))
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Defaults {
    work: Option<Work>,
    time: Option<Time>,
    seconds: Option<f64>,
    cores: Option<Cores>,
    alpha: Option<f64>,
    spread: Option<bool>,
    memory: Option<Size>,
    memory_per_core: Option<Size>,
    gpus: Option<GpuDemand>,
    resources: Option<Entries<Given>>,
    results: Option<Vec<Spanned<String>>>,
    kind: Option<String>,
    /// Of files that `[files]` does not list.
    size: Option<Size>,
    env: Option<BTreeMap<String, Spanned<Variable>>>,
    shell: Option<Spanned<Words>>,
    workdir_files: Option<Vec<Spanned<String>>>,
    time_limit: Option<Time>,
    retries: Option<u32>,
    container: Option<Spanned<ContainerEntry>>,
    conda: Option<Spanned<String>>,
    modules: Option<Words>,
    nodes: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Entry {
    kind: Option<String>,
    command: Option<CommandLine>,
    /// The branch or loop it belongs to.
    #[serde(rename = "in")]
    pub(super) region: Option<String>,
    #[serde(default)]
    pub(super) inputs: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) outputs: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) after: Vec<Spanned<After>>,
    work: Option<Work>,
    time: Option<Time>,
    seconds: Option<Seconds>,
    cores: Option<Cores>,
    alpha: Option<f64>,
    speedup: Option<Vec<f64>>,
    downey: Option<Downey>,
    spread: Option<bool>,
    memory: Option<Size>,
    memory_per_core: Option<Size>,
    gpus: Option<GpuDemand>,
    resources: Option<Entries<Given>>,
    #[serde(default)]
    results: Vec<Spanned<String>>,
    env: Option<BTreeMap<String, Spanned<Variable>>>,
    shell: Option<Spanned<Words>>,
    workdir_files: Option<Vec<Spanned<String>>>,
    time_limit: Option<Time>,
    retries: Option<u32>,
    container: Option<Spanned<ContainerEntry>>,
    conda: Option<Spanned<String>>,
    modules: Option<Words>,
    nodes: Option<Spanned<u32>>,
    temp: Option<Spanned<Temp>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Downey {
    parallelism: f64,
    sigma: f64,
}

/// Declares a number that is written as a text with a unit.
macro_rules! quantity {
    ($name:ident, $what:literal, $parse:expr) => {
        #[derive(Clone, Copy)]
        struct $name(f64);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<$name, E> {
                        $parse(text).map($name).map_err(E::custom)
                    }
                }
                d.deserialize_any(Text)
            }
        }
    };
}

quantity!(Speed, "a speed in quotes, such as \"2Gf\"", parse_speed);
quantity!(Size, "a size in quotes, such as \"10MB\"", parse_size);
quantity!(Time, "a duration in quotes, such as \"5min\"", parse_duration);
quantity!(Work, "work in quotes, such as \"10Gf\"", parse_work);

/// `10Gf` or `10Gflop` to flop.
fn parse_work(text: &str) -> std::result::Result<f64, String> {
    let short = text.trim().strip_suffix("lop").unwrap_or(text.trim());
    if !short.ends_with('f') {
        return Err(format!("\"{text}\" is no work: write flop, e.g. \"10Gf\""));
    }
    parse_speed(short)
        .map_err(|_| format!("\"{text}\" is no work: write flop of at least 0, e.g. \"10Gf\""))
}

/// A shell line, or a program with its arguments.
struct CommandLine(Command);

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = CommandLine;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command line, or a list of a program and its arguments")
            }
            fn visit_str<E>(self, line: &str) -> std::result::Result<CommandLine, E> {
                Ok(CommandLine(Command::shell(line)))
            }
            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut words: A,
            ) -> std::result::Result<CommandLine, A::Error> {
                let Some(program) = words.next_element()? else {
                    return Err(A::Error::custom("a command needs a program"));
                };
                let mut arguments = Vec::new();
                while let Some(word) = words.next_element()? {
                    arguments.push(word);
                }
                Ok(CommandLine(Command { program, arguments, ..Command::default() }))
            }
        }
        d.deserialize_any(Either)
    }
}

/// A task to wait for, with or without data of it.
pub(super) struct After {
    pub(super) task: String,
    pub(super) data: Option<f64>,
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Table {
            task: String,
            data: Option<Size>,
        }
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = After;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a task, or { task = \"name\", data = \"10MB\" }")
            }
            fn visit_str<E>(self, task: &str) -> std::result::Result<After, E> {
                Ok(After { task: task.to_string(), data: None })
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> std::result::Result<After, A::Error> {
                let table = Table::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(After { task: table.task, data: table.data.map(|size| size.0) })
            }
        }
        d.deserialize_any(Either)
    }
}

/// One time, or one per host or class.
enum Seconds {
    One(f64),
    Table(BTreeMap<String, f64>),
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Seconds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds, or { host = seconds, ... }")
            }
            fn visit_f64<E: de::Error>(self, number: f64) -> std::result::Result<Seconds, E> {
                if number.is_finite() && number >= 0.0 {
                    return Ok(Seconds::One(number));
                }
                Err(E::custom(format!("a time cannot be {number}")))
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> std::result::Result<Seconds, E> {
                self.visit_f64(number as f64)
            }
            // A placeholder becomes a text.
            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Seconds, E> {
                match text.trim().parse() {
                    Ok(number) => self.visit_f64(number),
                    Err(_) => Err(E::invalid_type(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> std::result::Result<Seconds, E> {
                self.visit_f64(number as f64)
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Seconds, A::Error> {
                let mut table = BTreeMap::new();
                while let Some((host, seconds)) = map.next_entry()? {
                    table.insert(host, seconds);
                }
                Ok(Seconds::Table(table))
            }
        }
        d.deserialize_any(Either)
    }
}

/// Range of processors: `4`, `"1-8"`, `"2+"`.
#[derive(Clone, Copy, PartialEq)]
struct Cores(u32, u32);

impl<'de> Deserialize<'de> for Cores {
    fn deserialize<D: Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = Cores;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of cores, or a range such as \"1-8\" or \"2+\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> std::result::Result<Cores, E> {
                match u32::try_from(number) {
                    Ok(cores) if cores > 0 => Ok(Cores(cores, cores)),
                    _ => Err(E::custom(format!("a task cannot take {number} cores"))),
                }
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> std::result::Result<Cores, E> {
                self.visit_i64(i64::try_from(number).unwrap_or(i64::MAX))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Cores, E> {
                let (min, max) = match text.trim().strip_suffix('+') {
                    Some(min) => (min, "4294967295"),
                    None => text.split_once('-').unwrap_or((text, text)),
                };
                match (min.trim().parse(), max.trim().parse()) {
                    (Ok(min), Ok(max)) if 1 <= min && min <= max => Ok(Cores(min, max)),
                    _ => Err(E::custom(format!(
                        "\"{text}\" is no range of cores: write e.g. \"1-8\" or \"2+\""
                    ))),
                }
            }
        }
        d.deserialize_any(Either)
    }
}

/// What holds for a task that does not say otherwise: of its kind first, then of all.
#[derive(Clone, Copy)]
struct Usual<'f> {
    kind: Option<&'f Defaults>,
    all: &'f Defaults,
}

/// A member of the defaults of a task.
macro_rules! usual {
    ($usual:expr, $member:ident) => {
        $usual.kind.and_then(|kind| kind.$member.as_ref()).or($usual.all.$member.as_ref())
    };
}

impl<'f> Usual<'f> {
    fn of(file: &'f File, entry: &Entry) -> Usual<'f> {
        let name = entry.kind.as_ref().or(file.defaults.kind.as_ref());
        let mut kinds = file.kind.iter();
        let found = name.and_then(|name| kinds.find(|(kind, _)| kind.get_ref() == name));
        Usual { kind: found.map(|(_, defaults)| defaults), all: &file.defaults }
    }
}

/// State of the conversion of the parsed file to a workflow.
pub(super) struct Reading<'t> {
    text: &'t str,
    warnings: Vec<String>,
}

/// Byte range of an error's place.
pub(super) type Span = std::ops::Range<usize>;

impl Reading<'_> {
    pub(super) fn error(&self, span: Span, message: impl fmt::Display) -> FormatError {
        FormatError::at_offset(self.text, span.start, message)
    }

    fn document(mut self, file: File) -> Result<Document> {
        let mut builder = WorkflowBuilder::new(file.name.as_str());
        let reference_speed = file.reference_speed.map_or(REFERENCE_SPEED, |speed| speed.0);
        builder.set_reference_speed(reference_speed);
        let entries = &file.task.0;
        if entries.is_empty() {
            let message = "there are no tasks: each starts with a line such as [task.name]";
            return Err(FormatError::new(message));
        }
        self.check_kinds(&file)?;
        let columns = self.columns(entries)?;
        let mut untimed: Vec<&str> = Vec::new();
        for (name, entry) in entries {
            let usual = Usual::of(&file, entry);
            let work = self.work(name, entry, usual, reference_speed)?;
            if work.is_none() {
                untimed.push(name.get_ref());
            }
            let task = self.task(name, entry, usual, work.unwrap_or(0.0))?;
            builder.add_task(task).map_err(|e| self.error(name.span(), e))?;
        }
        if let Some(first) = untimed.first() {
            self.warnings.push(format!(
                "{} of {} tasks say no work, time or seconds and count as no work, e.g. '{first}'",
                untimed.len(),
                entries.len()
            ));
        }
        let has_choices = !file.choice.is_empty() || !file.repeat.is_empty();
        if has_choices || entries.iter().any(|(_, entry)| entry.region.is_some()) {
            let sizes = file.files.0.into_iter();
            let control = self.control(&Blocks {
                entries,
                choices: choices::listed(file.choice),
                loops: choices::listed(file.repeat),
                sizes: sizes.map(|(name, size)| (name.into_inner(), size.0)).collect(),
                size: file.defaults.size.map_or(0.0, |size| size.0),
            })?;
            if let Some(columns) = columns {
                builder.set_cost_table(columns);
            }
            let workflow = builder.build()?.with_control(Arc::new(control));
            return Ok(Document { warnings: self.warnings, ..Document::new(workflow) });
        }
        let listed = &file.files.0;
        for (name, size) in listed {
            builder.add_file(name.get_ref(), size.0).map_err(|e| self.error(name.span(), e))?;
        }
        let size = file.defaults.size.map_or(0.0, |size| size.0);
        self.connect(&mut builder, &file, size)?;
        let results = file.defaults.results.as_deref().unwrap_or_default();
        self.keep(&mut builder, entries, results)?;
        if let Some(columns) = columns {
            builder.set_cost_table(columns);
        }
        let workflow = builder.build()?;
        self.check_files(&workflow, listed);
        Ok(Document { warnings: self.warnings, ..Document::new(workflow) })
    }

    /// Defaults of kinds say nothing of files, nor of other kinds; kinds without a task are warned of.
    fn check_kinds(&mut self, file: &File) -> Result<()> {
        for (name, defaults) in &file.kind {
            let members = [
                ("kind", defaults.kind.is_some()),
                ("size", defaults.size.is_some()),
                ("results", defaults.results.is_some()),
            ];
            if let Some((member, _)) = members.iter().find(|(_, is_said)| *is_said) {
                let message = format!("kind.{}: '{member}' stands in [defaults]", name.get_ref());
                return Err(self.error(name.span(), message));
            }
            let usual = file.defaults.kind.as_ref();
            let kinds = file.task.0.iter().filter_map(|(_, entry)| entry.kind.as_ref().or(usual));
            if !kinds.clone().any(|kind| kind == name.get_ref()) {
                let hint = did_you_mean(name.get_ref(), kinds.map(String::as_str));
                self.warnings.push(format!("no task is of kind '{}'{hint}", name.get_ref()));
            }
        }
        Ok(())
    }

    /// The table of times per host, where tasks have one: then all must, for the same hosts.
    fn columns(&self, entries: &[(Spanned<String>, Entry)]) -> Result<Option<CostTable>> {
        let tables = entries.iter().map(|(name, entry)| match &entry.seconds {
            Some(Seconds::Table(table)) => (name, Some(table)),
            _ => (name, None),
        });
        let Some((model, first)) = tables.clone().find_map(|(name, t)| Some((name, t?))) else {
            return Ok(None);
        };
        let mut seconds = Vec::new();
        for (name, table) in tables {
            let Some(table) = table.filter(|table| table.keys().eq(first.keys())) else {
                return Err(self.error(name.span(), format!(
                    "'{}' has times per host and '{}' has not, or for other hosts; such a table \
                     must be complete",
                    model.get_ref(),
                    name.get_ref()
                )));
            };
            for (host, &time) in table {
                if !(time.is_finite() && time >= 0.0) {
                    let message = format!("the time of '{}' on {host} is {time}", name.get_ref());
                    return Err(self.error(name.span(), message));
                }
                seconds.push(time);
            }
        }
        if first.is_empty() {
            return Err(self.error(model.span(), "a table of times needs a host"));
        }
        Ok(Some(CostTable { columns: first.keys().cloned().collect(), seconds }))
    }

    /// Work in flop, if the task or the defaults give it in any form.
    fn work(
        &self,
        name: &Spanned<String>,
        entry: &Entry,
        usual: Usual<'_>,
        speed: f64,
    ) -> Result<Option<f64>> {
        let seconds = entry.seconds.as_ref().map(|seconds| match seconds {
            Seconds::One(seconds) => *seconds,
            Seconds::Table(table) => table.values().sum::<f64>() / table.len() as f64,
        });
        let ways = [
            entry.work.map(|work| work.0),
            entry.time.map(|time| time.0 * speed),
            seconds.map(|seconds| seconds * speed),
        ];
        // Beside a table of times the work only serves platforms that have other hosts.
        let tabled = matches!(entry.seconds, Some(Seconds::Table(_)));
        let said = ways.iter().flatten().count() - usize::from(tabled);
        if said > 1 {
            let message =
                format!("'{}' says more than one of work, time and seconds", name.get_ref());
            return Err(self.error(name.span(), message));
        }
        let of = |defaults: &Defaults| {
            let work = defaults.work.map(|work| work.0);
            let time = defaults.time.map(|time| time.0 * speed);
            work.or(time).or(defaults.seconds.map(|seconds| seconds * speed))
        };
        let usual = usual.kind.and_then(of).or_else(|| of(usual.all));
        Ok(ways.into_iter().flatten().next().or(usual))
    }

    fn task(
        &self,
        name: &Spanned<String>,
        entry: &Entry,
        usual: Usual<'_>,
        work: f64,
    ) -> Result<Task> {
        let mut task = Task::new(name.get_ref().as_str(), work);
        task.kind = entry.kind.clone().or(usual.all.kind.clone()).unwrap_or_default();
        task.command = self.command(name, entry, usual)?;
        task.memory =
            entry.memory.or(usual!(usual, memory).copied()).map_or(0.0, |memory| memory.0);
        task.demand = self.demand(name, entry, usual)?;
        let models = [
            entry.alpha.map(|serial| SpeedUp::Amdahl { serial }),
            entry.speedup.as_ref().map(|ratios| SpeedUp::Table(Arc::from(ratios.as_slice()))),
            entry
                .downey
                .as_ref()
                .map(|d| SpeedUp::Downey { parallelism: d.parallelism, sigma: d.sigma }),
        ];
        if models.iter().flatten().count() > 1 {
            let message = "only one of alpha, speedup and downey can hold";
            return Err(self.error(name.span(), format!("'{}': {message}", name.get_ref())));
        }
        let alpha = usual!(usual, alpha).map(|serial| SpeedUp::Amdahl { serial: *serial });
        let model = models.into_iter().flatten().next().or(alpha);
        let cores = entry.cores.or(usual!(usual, cores).copied());
        (task.min_width, task.max_width) = match (cores, &model) {
            (Some(Cores(min, max)), _) => (min, max),
            (None, Some(_)) => (1, u32::MAX),
            (None, None) => (1, 1),
        };
        if model.is_none() && task.min_width != task.max_width {
            let message = format!(
                "'{}' can take a range of cores but does not say what it gains by them",
                name.get_ref()
            );
            return Err(self
                .error(name.span(), message)
                .with_help("add alpha, the fraction of its work that cannot be shared"));
        }
        task.speedup = model.unwrap_or_default();
        task.spread = entry.spread.or(usual!(usual, spread).copied()).unwrap_or(false);
        Ok(task)
    }

    /// The command of a task, with what it finds around it.
    fn command(
        &self,
        name: &Spanned<String>,
        entry: &Entry,
        usual: Usual<'_>,
    ) -> Result<Option<Command>> {
        let command = entry.command.as_ref().map(|line| line.0.clone());
        let kind = usual.kind.and_then(|kind| kind.env.as_ref());
        let env = [usual.all.env.as_ref(), kind, entry.env.as_ref()];
        let stated = Stated {
            env: env.into_iter().flatten().flatten().collect(),
            own_shell: entry.shell.as_ref(),
            shell: entry.shell.as_ref().or(usual!(usual, shell)),
            container: entry.container.as_ref().or(usual!(usual, container)),
            conda: entry.conda.as_ref().or(usual!(usual, conda)),
            modules: entry.modules.as_ref().or(usual!(usual, modules)),
            time_limit: entry.time_limit.or(usual!(usual, time_limit).copied()).map(|time| time.0),
            retries: entry.retries.or(usual!(usual, retries).copied()),
            nodes: entry.nodes.as_ref().or(usual!(usual, nodes)),
            temp: entry.temp.as_ref(),
            outputs: &entry.outputs,
        };
        stated.around(command).map_err(|(span, why)| {
            self.error(span.unwrap_or(name.span()), format!("'{}': {why}", name.get_ref()))
        })
    }

    /// Demands of a task other than cores and fixed memory.
    fn demand(&self, name: &Spanned<String>, entry: &Entry, usual: Usual<'_>) -> Result<Demand> {
        let per_core = entry.memory_per_core.or(usual!(usual, memory_per_core).copied());
        let named = match entry.resources.as_ref().or(usual!(usual, resources)) {
            Some(entries) => demands(entries).map_err(|(resource, error)| {
                let message = format!("'{}': resources.{resource}: {error}", name.get_ref());
                self.error(name.span(), message)
            })?,
            None => Vec::new(),
        };
        let gpus = entry.gpus.as_ref().or(usual!(usual, gpus));
        Ok(Demand {
            memory_per_core: per_core.map_or(0.0, |size| size.0),
            gpus: gpus.map(GpuDemand::devices),
            named,
        })
    }

    /// Files that are kept although some task reads them.
    fn keep(
        &self,
        builder: &mut WorkflowBuilder,
        entries: &[(Spanned<String>, Entry)],
        defaults: &[Spanned<String>],
    ) -> Result<()> {
        for (task, entry) in entries {
            for result in &entry.results {
                if !entry.outputs.iter().any(|output| output.get_ref() == result.get_ref()) {
                    let (task, file) = (task.get_ref(), result.get_ref());
                    let known = entry.outputs.iter().map(|o| o.get_ref().as_str());
                    let hint = did_you_mean(file, known);
                    let message = format!("the result '{file}' is no output of '{task}'{hint}");
                    return Err(self.error(result.span(), message));
                }
            }
        }
        let of_tasks = entries.iter().flat_map(|(_, entry)| &entry.results);
        for result in of_tasks.chain(defaults) {
            let name = result.get_ref();
            let written =
                entries.iter().any(|(_, e)| e.outputs.iter().any(|o| o.get_ref() == name));
            match builder.file_id(name).filter(|_| written) {
                Some(file) => builder.keep(file),
                None => {
                    let message = format!("no task writes the result '{name}'");
                    return Err(self.error(result.span(), message));
                }
            }
        }
        Ok(())
    }

    /// The error for an input that comes from nowhere.
    pub(super) fn unknown_input(
        &self,
        task: &Spanned<String>,
        name: &Spanned<String>,
    ) -> FormatError {
        let (task, file) = (task.get_ref(), name.get_ref());
        let message =
            format!("'{task}' reads '{file}', which no task writes and [files] does not list");
        self.error(name.span(), message)
            .with_help("is the name right? an input of the workflow needs its size")
    }

    /// Files and dependencies.
    fn connect(&self, builder: &mut WorkflowBuilder, given: &File, size: f64) -> Result<()> {
        let entries = &given.task.0;
        let known = |builder: &mut WorkflowBuilder, name: &Spanned<String>| -> Result<FileId> {
            match builder.file_id(name.get_ref()) {
                Some(file) => Ok(file),
                None => {
                    builder.add_file(name.get_ref(), size).map_err(|e| self.error(name.span(), e))
                }
            }
        };
        for (index, (_, entry)) in entries.iter().enumerate() {
            for name in &entry.outputs {
                let file = known(builder, name)?;
                builder.writes(TaskId::new(index), file).map_err(|e| self.error(name.span(), e))?;
            }
        }
        for (index, (task, entry)) in entries.iter().enumerate() {
            for name in &entry.inputs {
                let Some(file) = builder.file_id(name.get_ref()) else {
                    return Err(self.unknown_input(task, name));
                };
                builder.reads(TaskId::new(index), file);
            }
            let usual = Usual::of(given, entry);
            let around = entry.workdir_files.as_ref().or(usual!(usual, workdir_files));
            for name in around.into_iter().flatten() {
                let file = known(builder, name)?;
                builder.reads(TaskId::new(index), file);
            }
            for after in &entry.after {
                let After { task, data } = after.get_ref();
                let Some(from) = builder.task_id(task) else {
                    return Err(self.error(after.span(), format!("there is no task '{task}'")));
                };
                let to = TaskId::new(index);
                match data {
                    Some(bytes) => builder.add_edge(from, to, *bytes),
                    None => builder.add_control(from, to),
                }
                .map_err(|e| self.error(after.span(), e))?;
            }
        }
        Ok(())
    }

    /// Warns of listed files that no task uses: probably typing errors.
    fn check_files(&mut self, workflow: &Workflow, listed: &[(Spanned<String>, Size)]) {
        let unused = |file: &FileId| {
            workflow.producer(*file).is_none() && workflow.consumers(*file).len() == 0
        };
        let mut names = workflow.files().take(listed.len()).filter(unused);
        if let Some(first) = names.next() {
            let name = workflow.file_name(first);
            let more = match names.count() {
                0 => String::new(),
                more => format!(" (and {more} more)"),
            };
            self.warnings.push(format!("no task reads or writes the listed file '{name}'{more}"));
        }
    }
}
