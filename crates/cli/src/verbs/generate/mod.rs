//! `slackline generate`: workflows, platforms and worlds from the registry of generators, one or
//! a population. Options and help come from the registry.

mod batch;
mod job;
mod options;

use crate::output::Output;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use job::{GenerationJob, study};
use options::{family_command, study_command};
use slackline_core::Failure;
use slackline_generate::registry::{self, Family};

/// Generate workflows, platforms and scenarios, reproducibly from a seed
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
            .about("Generate workflows, platforms and scenarios, reproducibly from a seed")
            .after_help(
                "Examples:\n  \
                 slackline generate workflow daggen --tasks 100 --seed 7 -o graph.json\n  \
                 slackline generate workflow like montage --tasks 500 --report -o larger.json\n  \
                 slackline generate workflow montage --tasks 50,100 --count 10 -o montages/\n  \
                 slackline generate platform grid5000 --machine rennes-16 -o rennes.toml\n  \
                 slackline generate scenario sce --variability 30 -p rennes.toml -o world.toml\n  \
                 slackline generate workload lublin --jobs 1000 --load 0.85 -o log.swf\n  \
                 slackline generate study peft --first 100 -o peft/",
            )
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommand(family_command(Family::Workflow, "A task graph, with costs"))
            .subcommand(family_command(Family::Platform, "Machines and the network between them"))
            .subcommand(
                family_command(
                    Family::Scenario,
                    "A scenario: what happens to a platform, how wrong estimates are, what arrives",
                )
                .subcommand(batch::FromLog::augment_args(Command::new("batch-log"))),
            )
            .subcommand(batch::workload_command())
            .subcommand(study_command())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Generate {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.0.subcommand() {
            Some(("study", matches)) => study(matches, output),
            Some(("workload", matches)) => batch::workload(matches, output),
            Some(("scenario", matches)) if matches.subcommand_name() == Some("batch-log") => {
                batch::from_log(matches, output)
            }
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
                GenerationJob::read(generator, matches, output)?.run(output)
            }
            None => Err(Failure::input(
                "say what to generate: workflow, workload, platform or scenario",
            )),
        }
    }
}
