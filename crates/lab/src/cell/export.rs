//! A cell as files, with the command that repeats it.

use super::{By, Cell, transfers_name};
use crate::papers::StudyError;
use slackline_engine::{Coming, Settings, Stage};
use slackline_formats::{
    Document, FileAccess, platform_toml, scenario, schedule_file, write_workflow,
};
use slackline_model::parameter::{Given, Parameter};
use slackline_model::problem::Inputs;
use slackline_model::scenario::{Arrival, Knowledge, Scenario};
use slackline_model::schedule::Limits;
use slackline_model::units::Quantity;
use slackline_model::workflow::Command;
use slackline_model::{HostId, Workflow};
use slackline_react::gtp::Period;
use slackline_react::registry::Options;
use slackline_schedule::{Capability, Planner};
use std::path::Path;

const WORKFLOW: &str = "workflow.toml";
const PLATFORM: &str = "platform.toml";
const SCENARIO: &str = "scenario.toml";
const STREAM: &str = "stream.toml";
const SCHEDULE: &str = "schedule.json";
const SCRIPT: &str = "run.sh";

/// Files and command of an exported case.
pub struct Written {
    /// The files, in their folder.
    pub files: Vec<String>,
    /// The command with its arguments, to be run in that folder.
    pub command: Vec<String>,
    /// Makespan of the cell in seconds; infinite where it cannot finish.
    pub end: f64,
}

impl Written {
    /// The command as a line for a shell.
    pub fn line(&self) -> String {
        self.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

impl Cell {
    /// Writes the files into an existing folder; `about` has the comment lines of the script on its origin.
    pub fn write(
        &self,
        access: &FileAccess,
        folder: &Path,
        about: &[String],
    ) -> Result<Written, StudyError> {
        let mut writing = Writing { access, folder, files: Vec::new(), command: Vec::new() };
        writing.say(["slackline"]);
        match &self.by {
            By::Planner(planner) => writing.plan(self, planner)?,
            _ => writing.run(self)?,
        }
        let Writing { files, command, .. } = writing;
        let mut written = Written { files, command, end: self.end()? };
        let mut script = String::from("#!/bin/sh\n");
        let end = if written.end.is_finite() {
            format!("makespan {} s", written.end)
        } else {
            "cannot finish".to_string()
        };
        for line in about.iter().chain([&end]) {
            script += &format!("# {line}\n");
        }
        script += &format!("cd \"$(dirname \"$0\")\" || exit 1\nexec {} \"$@\"\n", written.line());
        let put = access.write(&folder.join(SCRIPT), |out| out.write_all(script.as_bytes()));
        put.map_err(StudyError::of)?;
        written.files.push(SCRIPT.to_string());
        Ok(written)
    }
}

/// Files written so far, and the command for them.
struct Writing<'f> {
    access: &'f FileAccess,
    folder: &'f Path,
    files: Vec<String>,
    command: Vec<String>,
}

impl Writing<'_> {
    /// Appends words to the command.
    fn say<W: Into<String>>(&mut self, words: impl IntoIterator<Item = W>) {
        self.command.extend(words.into_iter().map(Into::into));
    }

    /// Adds an option with its value; none where the value is the default.
    fn option(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.say([name.to_string(), value.to_string()]);
        }
    }

    fn workflow(&mut self, name: &str, workflow: &Workflow) -> Result<(), StudyError> {
        let document = Document::new(workflow.clone());
        write_workflow(self.access, &self.folder.join(name), &document, None)
            .map_err(StudyError::of)?;
        self.files.push(name.to_string());
        Ok(())
    }

    fn scenario(&mut self, name: &str, scenario: &Scenario) -> Result<(), StudyError> {
        scenario::write_scenario(self.access, &self.folder.join(name), scenario)
            .map_err(StudyError::of)?;
        self.files.push(name.to_string());
        Ok(())
    }

    /// One file for each workflow that arrives.
    fn parts(&mut self, arrivals: &[Coming]) -> Result<Vec<String>, StudyError> {
        let name = |index: usize| format!("workflow-{index}.toml");
        for (index, coming) in arrivals.iter().enumerate() {
            self.workflow(&name(index), &coming.workflow)?;
        }
        Ok((0..arrivals.len()).map(name).collect())
    }

    fn platform(&mut self, stage: &Stage) -> Result<(), StudyError> {
        let path = self.folder.join(PLATFORM);
        platform_toml::write(self.access, &stage.platform, &path).map_err(StudyError::of)?;
        self.files.push(PLATFORM.to_string());
        self.say(["-p", PLATFORM]);
        Ok(())
    }

    fn plan(&mut self, cell: &Cell, planner: &Planner) -> Result<(), StudyError> {
        let stage = &cell.stage;
        self.say(["plan"]);
        match stage.arrivals.as_slice() {
            [] => {
                self.workflow(WORKFLOW, &stage.workflow)?;
                self.say([WORKFLOW]);
            }
            several => {
                let files = self.parts(several)?;
                self.say(files);
            }
        }
        self.platform(stage)?;
        self.say(["-a", planner.algorithm.name]);
        self.set(&planner.request.given);
        self.limits(&planner.request.limits);
        self.seed(
            planner.request.seed,
            planner.algorithm.capabilities().contains(&Capability::Seed),
        );
        self.rules(cell);
        self.say(["--no-check"]);
        Ok(())
    }

    fn run(&mut self, cell: &Cell) -> Result<(), StudyError> {
        let stage = &cell.stage;
        self.say(["simulate"]);
        if stage.arrivals.is_empty() {
            self.workflow(WORKFLOW, &stage.workflow)?;
            self.say([WORKFLOW]);
        } else {
            let files = self.parts(&stage.arrivals)?;
            let arrival = |(file, coming): (String, &Coming)| Arrival {
                terms: coming.terms.clone(),
                ..Arrival::new(file, coming.when)
            };
            let arrivals = files.into_iter().zip(&stage.arrivals).map(arrival).collect();
            self.scenario(STREAM, &Scenario { arrivals, ..Scenario::default() })?;
            self.say(["--arrivals", STREAM]);
        }
        self.platform(stage)?;
        if !stage.scenario.is_still() {
            self.scenario(SCENARIO, &stage.scenario)?;
            self.say(["--scenario", SCENARIO]);
        }
        match &cell.by {
            By::Schedule(schedule, transfers) => {
                let path = self.folder.join(SCHEDULE);
                let problem = cell.problem()?;
                let put = schedule_file::write_schedule(self.access, &path, &problem, schedule);
                put.map_err(StudyError::of)?;
                self.files.push(SCHEDULE.to_string());
                self.say(["--schedule", SCHEDULE]);
                self.option("--transfers", Some(transfers_name(*transfers)));
            }
            By::Policy(entry, options) => {
                self.say(["--policy", entry.name, "-a", options.planner.algorithm.name]);
                self.policy_options(options, entry.parameters, &stage.settings);
                let randomised =
                    options.planner.algorithm.capabilities().contains(&Capability::Seed);
                self.seed(options.seed, randomised || entry.is_randomised());
            }
            By::Planner(_) => {}
        }
        self.option(
            "--knows",
            match cell.knows {
                Knowledge::Estimates => None,
                Knowledge::Exact => Some("exact"),
                Knowledge::KindMeans => Some("kinds"),
                Knowledge::Nothing => Some("nothing"),
            },
        );
        self.settings(&stage.settings);
        self.rules(cell);
        Ok(())
    }

    /// Adds the options of a policy; transfers and period only if it uses them.
    fn policy_options(&mut self, options: &Options, parameters: &[Parameter], settings: &Settings) {
        let has = |name: &str| parameters.iter().any(|p| p.name == name);
        let transfers = has("transfers").then(|| transfers_name(options.transfers));
        if settings.anticipated {
            self.say(["--transfers", "anticipated"]);
            self.option("--set", transfers.map(|when| format!("transfers={when}")));
        } else {
            self.option("--transfers", transfers)
        }
        self.option(
            "--period",
            has("period").then(|| match options.period {
                Period::Seconds(seconds) => Quantity::Duration.write(seconds),
                Period::OfMakespan(share) => share.to_string(),
            }),
        );
        self.set(&options.given);
        self.set(&options.planner.request.given);
        self.limits(&options.planner.request.limits);
    }

    fn set(&mut self, given: &Given) {
        for (name, value) in given {
            self.say(["--set".to_string(), format!("{name}={value}")]);
        }
    }

    fn limits(&mut self, limits: &Limits) {
        self.option("--budget", limits.budget);
        self.option("--deadline", limits.deadline.map(|d| Quantity::Duration.write(d)));
    }

    fn seed(&mut self, seed: u64, is_used: bool) {
        self.option("--seed", (is_used && seed != 0).then_some(seed));
    }

    fn settings(&mut self, settings: &Settings) {
        let usual = Settings::default();
        let time = |seconds: f64, usual: f64| {
            (seconds != usual).then(|| Quantity::Duration.write(seconds))
        };
        self.option("--data", settings.central.then_some("central"));
        let delay = time(settings.monitoring_delay, usual.monitoring_delay);
        self.option("--monitoring-delay", delay);
        let thinking = time(settings.decision_seconds, usual.decision_seconds);
        self.option("--decision-time", thinking);
        self.option("--retries", (settings.retries != usual.retries).then_some(settings.retries));
    }

    /// Adds the rules of the simulation and the location of inputs.
    fn rules(&mut self, cell: &Cell) {
        self.option("--config", cell.preset.map(|name| format!("preset:{name}")));
        let platform = &cell.stage.platform;
        let host = |host: HostId| platform.host(host).name.to_string();
        if cell.stage.inputs != Inputs::of(platform) {
            self.option(
                "--inputs",
                Some(match cell.stage.inputs {
                    Inputs::Everywhere => "everywhere".to_string(),
                    Inputs::At(at) => host(at),
                }),
            );
        }
    }
}

/// A word quoted for the shell, only where that is needed.
fn quoted(word: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=,+%@".contains(&b);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_string()
    } else {
        Command::shell_word(word)
    }
}
