//! `slackline algorithms`: the registries of planners and policies, for people and machines.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use serde::Serialize;
use slackline_react::registry as policies;
use slackline_schedule::registry::{self, Basis};
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
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    family: &'static str,
    about: &'static str,
    source: &'static str,
    basis: &'static str,
    complexity: &'static str,
}

impl Algorithms {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        if self.json {
            let entry = |a: &registry::Algorithm| Entry {
                name: a.name,
                family: a.family.name(),
                about: a.about,
                source: a.source,
                basis: a.basis.name(),
                complexity: a.complexity,
            };
            let algorithms = registry::ALL.iter().map(entry).collect();
            let policy = |p: &policies::Entry| Policy {
                name: p.name,
                about: p.about,
                source: p.source,
                periodic: p.looks,
                survives_lost_hosts: p.survives,
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
        }
        let title = "policies that steer a run (simulate --policy NAME)";
        let _ = writeln!(text, "{}", output.bold(title));
        for policy in policies::ALL {
            let mortal = if policy.survives { "" } else { "; cannot go on after a host is lost" };
            let _ = writeln!(text, "  {:<23}{}", policy.name, policy.about);
            let _ = writeln!(text, "  {:23}{}{mortal}", "", policy.source);
        }
        output.text(&text)
    }
}
