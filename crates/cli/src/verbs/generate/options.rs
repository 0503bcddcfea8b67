//! Options and help of every generator, from its parameters in the registry.

use crate::input::format_parser;
use clap::{Arg, ArgAction, Command, value_parser};
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{self, Family, Generator};
use slackline_model::parameter::{Kind, Parameter};
use std::path::PathBuf;

pub(super) fn family_command(family: Family, about: &'static str) -> Command {
    Command::new(family.name())
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("KIND")
        .subcommand_help_heading("Kinds")
        .subcommands(registry::of(family).map(kind_command))
}

fn kind_command(generator: &'static Generator) -> Command {
    let source = match generator.source {
        "" => String::new(),
        source => format!("Source: {source}\n\n"),
    };
    let mut command = Command::new(generator.name)
        .about(generator.about)
        .after_help(format!(
            "{source}Values separated by commas make every combination, written to a folder."
        ))
        .arg(seed())
        .arg(
            Arg::new("member")
                .long("member")
                .value_name("N")
                .value_parser(value_parser!(u64))
                .conflicts_with("count")
                .help("Makes this member of the population of the seed"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .default_value("1")
                .value_parser(value_parser!(u64).range(1..))
                .help("Makes this many, and a manifest, in a folder"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("PATH")
                .value_parser(value_parser!(PathBuf))
                .help("File or folder to write; standard output if absent"),
        )
        .arg(
            Arg::new("json")
                .long("json")
                .action(ArgAction::SetTrue)
                .requires("output")
                .help("Says what was made as JSON"),
        );
    command = match generator.family {
        Family::Workflow => {
            let format = Arg::new("to").long("to").value_name("FORMAT");
            let format = format.value_parser(format_parser());
            let quantity = |name: &'static str, default: &'static str| {
                Arg::new(name).long(name).value_name("QUANTITY").default_value(default)
            };
            command
                .arg(format.help("Format of the workflow; from the name of the file if absent"))
                .arg(
                    Arg::new("runnable")
                        .long("runnable")
                        .action(ArgAction::SetTrue)
                        .requires("output")
                        .help("Gives each task a command that computes and writes its files, and writes the inputs beside the workflow: something to try `slackline run` with"),
                )
                .arg(
                    quantity("mean-seconds", "0.1s")
                        .requires("runnable")
                        .help("Mean time of a runnable task"),
                )
                .arg(
                    quantity("mean-size", "16kB")
                        .requires("runnable")
                        .help("Mean size of a file of runnable tasks"),
                )
        }
        Family::Platform => {
            let format = Arg::new("to").long("to").value_name("FORMAT");
            let format = format.value_parser(["toml", "xml"]);
            command.arg(format.help("toml, or SimGrid's xml; from the name of the file if absent"))
        }
        Family::Scenario => {
            let file = |name: &'static str| {
                Arg::new(name).long(name).value_name("FILE").value_parser(value_parser!(PathBuf))
            };
            command
                .arg(file("platform").short('p').help("The platform that it happens to"))
                .arg(
                    file("workflow")
                        .action(ArgAction::Append)
                        .help("A workflow that arrives; give it again for more"),
                )
                .arg(file("onto").help("Adds to the scenario in this file"))
                .arg(
                    Arg::new("to")
                        .long("to")
                        .value_name("FORMAT")
                        .value_parser(["toml", "json"])
                        .help("From the name of the file if absent, else toml"),
                )
        }
    };
    if generator.needs_machines() {
        command = command.arg(
            Arg::new("run")
                .value_name("RUN")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A recorded run (WfFormat) whose machines to rebuild"),
        );
    }
    if generator.needs_instances() {
        command = command
            .arg(
                Arg::new("instances")
                    .value_name("WORKFLOW")
                    .required(true)
                    .action(ArgAction::Append)
                    .value_parser(value_parser!(PathBuf))
                    .help("Workflows to learn from"),
            )
            .arg(
                Arg::new("report")
                    .long("report")
                    .action(ArgAction::SetTrue)
                    .requires("output")
                    .help("Compares what was made with each of the workflows"),
            );
    }
    command.args(generator.parameters().map(|p| parameter_arg(generator, p)))
}

fn parameter_arg(generator: &Generator, parameter: &'static Parameter) -> Arg {
    let default = generator.default_of(parameter);
    let mut help = format!("{} [{}; default {default}", parameter.about, parameter.range());
    if !parameter.published.is_empty() {
        help.push_str(&format!("; published: {}", parameter.published));
    }
    help.push(']');
    let value = match parameter.kind {
        Kind::Count(..) => "N",
        Kind::Number(..) => "X",
        Kind::Quantity(_) | Kind::Seconds(..) => "QUANTITY",
        Kind::Choice(_) => "WORD",
        Kind::Switch => "YES|NO",
        Kind::Text => "TEXT",
    };
    let arg = Arg::new(parameter.name)
        .long(parameter.name)
        .value_name(value)
        .help(help)
        .help_heading("Parameters")
        .allow_hyphen_values(true);
    match parameter.kind {
        // Its value may be left out: what begins with a dash is the next option.
        Kind::Switch => arg.num_args(0..=1).default_missing_value("yes").allow_hyphen_values(false),
        _ => arg,
    }
}

pub(super) fn study_command() -> Command {
    let list: Vec<String> = STUDIES.iter().map(|s| format!("  {:24}{}", s.name, s.about)).collect();
    Command::new("study")
        .about("The workflows of a published study")
        .after_help(format!("Studies:\n{}", list.join("\n")))
        .arg(
            Arg::new("name")
                .value_name("STUDY")
                .required(true)
                .value_parser(STUDIES.iter().map(|s| s.name).collect::<Vec<_>>()),
        )
        .arg(seed())
        .arg(
            Arg::new("first")
                .long("first")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("Only the first of them"),
        )
        .arg(
            Arg::new("output")
                .short('o')
                .long("output")
                .value_name("FOLDER")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Folder to write to"),
        )
        .arg(
            Arg::new("to")
                .long("to")
                .value_name("FORMAT")
                .value_parser(format_parser())
                .help("Format of the workflows; instance where they have a table of seconds"),
        )
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help("Prints the manifest"))
}

fn seed() -> Arg {
    Arg::new("seed")
        .long("seed")
        .value_name("N")
        .default_value("1")
        .value_parser(value_parser!(u64))
        .help("Everything is drawn from this number")
}
