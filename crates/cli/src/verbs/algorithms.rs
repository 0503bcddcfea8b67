//! `slackline algorithms`: the registry, for people and machines.

use crate::failure::Failure;
use crate::output::Output;
use clap::Args;
use serde::Serialize;
use slackline_schedule::registry::{self, Basis};
use std::fmt::Write;

/// List the planners
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
            return output.json(&List { schema: "slackline/algorithms/1", algorithms });
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
        output.text(&text)
    }
}
