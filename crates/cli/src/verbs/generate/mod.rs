//! `slackline generate`: workflows, platforms and worlds from the registry of generators, one or
//! a population. Options and help come from the registry.

mod job;
mod made;
mod options;

use crate::failure::Failure;
use crate::output::Output;
use clap::{ArgMatches, Args, Command, FromArgMatches};
pub(in crate::verbs) use job::recorded_machines;
use job::{Job, study};
use options::{family_command, study_command};
use slackline_generate::GenerateError;
use slackline_generate::registry::{self, Family};

/// Generate workflows, platforms and worlds, reproducibly from a seed
pub(crate) struct Generate(ArgMatches);

impl FromArgMatches for Generate {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Generate, clap::Error> {
        Ok(Generate(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for Generate {
    fn augment_args(command: Command) -> Command {
        command
            .about("Generate workflows, platforms and worlds, reproducibly from a seed")
            .after_help(
                "Examples:\n  \
                 slackline generate workflow daggen --tasks 100 --seed 7 -o graph.json\n  \
                 slackline generate workflow like montage --tasks 500 --report -o larger.json\n  \
                 slackline generate workflow montage --tasks 50,100 --count 10 -o montages/\n  \
                 slackline generate platform grid5000 --machine rennes-16 -o rennes.toml\n  \
                 slackline generate scenario sce --variability 30 -p rennes.toml -o world.toml\n  \
                 slackline generate study peft --first 100 -o peft/",
            )
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(family_command(Family::Workflow, "A task graph, with costs"))
            .subcommand(family_command(Family::Platform, "Machines and the network between them"))
            .subcommand(family_command(
                Family::Scenario,
                "A world: what happens to a platform, how wrong estimates are, what arrives",
            ))
            .subcommand(study_command())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Failure {
        Failure::input(error)
    }
}

impl Generate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.0.subcommand() {
            Some(("study", matches)) => study(matches, output),
            Some((family, matches)) => {
                let family = match family {
                    "platform" => Family::Platform,
                    "scenario" => Family::Scenario,
                    _ => Family::Workflow,
                };
                let Some((kind, matches)) = matches.subcommand() else {
                    return Err(Failure::input("say what kind to generate"));
                };
                let generator = registry::find(family, kind)?;
                Job::read(generator, matches, output)?.run(output)
            }
            None => Err(Failure::input("say what to generate: workflow, platform or scenario")),
        }
    }
}
