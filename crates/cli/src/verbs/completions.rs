//! `slackline completions`: what a shell needs to complete our commands.

use crate::output::Output;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;
use slackline_core::Failure;
use slackline_core::bundled as examples;
use slackline_lab::papers;
use slackline_react::registry as policies;
use slackline_schedule::registry;

/// Print the completion script of a shell
#[derive(Args)]
#[command(after_help = "\
The script knows planners, policies, kinds, studies and the bundled workflows and platforms.

Examples:
  slackline completions bash > ~/.local/share/bash-completion/completions/slackline
  slackline completions zsh > ~/.zfunc/_slackline
  slackline completions fish > ~/.config/fish/completions/slackline.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut with_names(), "slackline", &mut script);
        let script = String::from_utf8_lossy(&script);
        Ok(output.stream().write_all(also_files(&script, self.shell).as_bytes())?)
    }
}

/// The command with the names that arguments can have, which only readers of them check.
fn with_names() -> Command {
    let planners = || registry::names().chain(["all"]).map(PossibleValue::new).collect::<Vec<_>>();
    let policies = || {
        let names = policies::ALL.iter().map(|policy| policy.name);
        names.chain(["all"]).map(PossibleValue::new).collect::<Vec<_>>()
    };
    let platforms = || examples::names("platforms").map(PossibleValue::new).collect::<Vec<_>>();
    let workflows = || examples::names("workflows").map(PossibleValue::new).collect::<Vec<_>>();
    let studies: Vec<_> = papers::ALL.iter().map(|paper| PossibleValue::new(paper.name)).collect();
    let mut command = crate::Cli::command();
    let verbs: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_string()).collect();
    for verb in verbs {
        command = command.mut_subcommand(&verb, |mut command| {
            let arguments: Vec<_> = command.get_arguments().map(|a| a.get_id().clone()).collect();
            for argument in arguments {
                let names = match (verb.as_str(), argument.as_str()) {
                    ("algorithms", "names") => [planners(), policies()].concat(),
                    (_, "algorithm") => planners(),
                    (_, "policy" | "compare") => policies(),
                    (_, "platform") => platforms(),
                    (_, "workflow") => workflows(),
                    (_, "scenario") => {
                        examples::names("scenarios").map(PossibleValue::new).collect()
                    }
                    ("reproduce", "name") => studies.clone(),
                    _ => continue,
                };
                command = command
                    .mut_arg(argument, |arg| arg.value_parser(PossibleValuesParser::new(names)));
            }
            command
        });
    }
    command
}

/// Adds files to the completions of bundled names.
fn also_files(script: &str, shell: Shell) -> String {
    let line = |line: &str| {
        let bundled = ["platforms", "scenarios", "workflows"].iter().any(|folder| {
            let names: Vec<&str> = examples::names(folder).collect();
            // Fish has a line for each name; the first has the option.
            let first = names.first().map(|name| format!(" -a \"{name}\\t''"));
            line.contains(&names.join(" ")) || first.is_some_and(|first| line.ends_with(&first))
        });
        match shell {
            _ if !bundled => line.to_string(),
            Shell::Bash => line.replace("compgen -W", "compgen -f -W"),
            Shell::Fish => line.replace(" -r -f -a ", " -r -F -a "),
            Shell::Zsh => zsh_files(line),
            _ => line.to_string(),
        }
    };
    script.lines().map(|l| line(l) + "\n").collect()
}

/// `:what:(a b)` becomes a choice between these names and files.
fn zsh_files(line: &str) -> String {
    let Some((head, rest)) = line.rsplit_once(":(") else { return line.to_string() };
    let Some((names, tail)) = rest.split_once(')') else { return line.to_string() };
    format!("{head}:{{_alternative \"names:bundled:({names})\" \"files:file:_files\"}}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_know_names_and_files() {
        for (shell, files) in [
            (
                Shell::Bash,
                "compgen -f -W \"four-sites gpu-cluster priced-cloud small-cluster two-site-grid\"",
            ),
            (Shell::Fish, "-r -F -a \"four-sites"),
            (
                Shell::Zsh,
                "\"names:bundled:(four-sites gpu-cluster priced-cloud small-cluster two-site-grid)\"",
            ),
        ] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut with_names(), "slackline", &mut script);
            let script = also_files(&String::from_utf8(script).unwrap(), shell);
            // Fish is told nothing of arguments without an option.
            let study = if shell == Shell::Fish { "heft" } else { "selective-rescheduling" };
            for name in ["heft", "gtp/c", "daggen", study, "slow-day", files] {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
    }
}
