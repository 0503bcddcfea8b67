//! `slackline algorithms`: the registries of planners and policies, for people and machines.

use crate::failure::Failure;
use crate::output::Output;
use crate::table::wrap;
use clap::Args;
use serde::Serialize;
use slackline_model::parameter::Parameter;
use slackline_react::registry as policies;
use slackline_schedule::aliases::{ALIASES, Alias};
use slackline_schedule::list::heft;
use slackline_schedule::registry::{self, Basis, Need};
use std::collections::BTreeMap;
use std::fmt::Write;

/// List the planners and the policies
#[derive(Args)]
#[command(after_help = "Example:\n  slackline algorithms --json")]
pub(crate) struct Algorithms {
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct List {
    schema: &'static str,
    algorithms: Vec<Entry>,
    policies: Vec<Policy>,
}

#[derive(Serialize)]
struct Policy {
    name: &'static str,
    about: &'static str,
    source: &'static str,
    /// It looks at the platform when it wakes up instead of being told of each change.
    periodic: bool,
    survives_lost_hosts: bool,
    parameters: Vec<Described>,
    needs: Vec<&'static str>,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    family: &'static str,
    about: &'static str,
    source: &'static str,
    basis: &'static str,
    complexity: &'static str,
    parameters: Vec<Described>,
    /// Names of it with some parameters set.
    aliases: Vec<AliasEntry>,
    /// What it cannot do without: limits, prices, moldable tasks, several workflows.
    needs: Vec<&'static str>,
    /// What of seed, limits of a search and threads it heeds.
    heeds: Vec<&'static str>,
}

#[derive(Serialize)]
struct AliasEntry {
    name: &'static str,
    about: &'static str,
    source: &'static str,
    basis: &'static str,
    set: BTreeMap<&'static str, &'static str>,
}

fn aliases(method: &str) -> impl Iterator<Item = &'static Alias> {
    ALIASES.iter().filter(move |alias| alias.of == method)
}

/// A parameter, to be set with `--set NAME=VALUE`.
#[derive(Serialize)]
struct Described {
    name: &'static str,
    default: &'static str,
    range: String,
    about: &'static str,
}

fn described(parameters: &[Parameter]) -> Vec<Described> {
    let one = |p: &Parameter| Described {
        name: p.name,
        default: p.default,
        range: p.range(),
        about: p.about,
    };
    parameters.iter().map(one).collect()
}

fn names(needs: &[Need]) -> Vec<&'static str> {
    needs.iter().map(|need| need.name()).collect()
}

/// Columns before what is told of a method.
const INDENT: usize = 25;

/// Parameters and needs of a method.
fn tell(text: &mut String, parameters: &[Parameter], needs: &[Need], width: usize) {
    if !needs.is_empty() {
        text.push_str(&wrap(&format!("needs {}", names(needs).join(", ")), INDENT, width));
    }
    for p in parameters {
        let (name, default, about, range) = (p.name, p.default, p.about, p.range());
        text.push_str(&wrap(&format!("{name}={default}: {about} ({range})"), INDENT, width));
    }
}

impl Algorithms {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if self.json {
            let alias = |a: &Alias| AliasEntry {
                name: a.algorithm.name,
                about: a.algorithm.about,
                source: a.algorithm.source,
                basis: a.algorithm.basis.name(),
                set: a.set.iter().copied().collect(),
            };
            let entry = |a: &registry::Algorithm| Entry {
                name: a.name,
                family: a.family.name(),
                about: a.about,
                source: a.source,
                basis: a.basis.name(),
                complexity: a.complexity,
                parameters: described(a.parameters),
                aliases: aliases(a.name).map(alias).collect(),
                needs: names(a.needs),
                heeds: a.heeds().iter().map(|heed| heed.name()).collect(),
            };
            let algorithms = registry::ALL.iter().map(entry).collect();
            let options = policies::Options::new(&heft::HEFT);
            let policy = |p: &policies::Entry| Policy {
                name: p.name,
                about: p.about,
                source: p.source,
                periodic: p.looks(&options),
                survives_lost_hosts: p.survives,
                parameters: described(p.parameters),
                needs: names(p.needs),
            };
            let policies = policies::ALL.iter().map(policy).collect();
            return output.json(&List { schema: "slackline/algorithms/1", algorithms, policies });
        }
        let mut text = String::new();
        let mut family = None;
        for algorithm in registry::ALL {
            if family != Some(algorithm.family) {
                family = Some(algorithm.family);
                let _ = writeln!(
                    text,
                    "{}",
                    output.bold(&format!("{} scheduling", algorithm.family.name()))
                );
            }
            let recalled = match algorithm.basis {
                Basis::Recalled => " (built from what is generally known of it)",
                _ => "",
            };
            let _ = writeln!(text, "  {:<23}{}", algorithm.name, algorithm.about);
            let _ = writeln!(text, "  {:23}{}{recalled}", "", algorithm.source);
            let _ = writeln!(text, "  {:23}{}", "", algorithm.complexity);
            tell(&mut text, algorithm.parameters, algorithm.needs, output.width);
            let named = aliases(algorithm.name).map(|alias| {
                let set: Vec<String> = alias.set.iter().map(|(n, v)| format!("{n}={v}")).collect();
                format!("{} ({})", alias.algorithm.name, set.join(", "))
            });
            let named: Vec<String> = named.collect();
            if !named.is_empty() {
                let named = format!("also called {}", named.join(", "));
                text.push_str(&wrap(&named, INDENT, output.width));
            }
        }
        let title = "policies that steer a run (simulate --policy NAME)";
        let _ = writeln!(text, "{}", output.bold(title));
        for policy in policies::ALL {
            let mortal = if policy.survives { "" } else { "; cannot go on after a host is lost" };
            let _ = writeln!(text, "  {:<23}{}", policy.name, policy.about);
            let _ = writeln!(text, "  {:23}{}{mortal}", "", policy.source);
            tell(&mut text, policy.parameters, policy.needs, output.width);
        }
        output.text(&text)
    }
}
