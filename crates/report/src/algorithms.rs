//! The registries of planners and policies.

use crate::Printer;
use crate::table::wrap;
use serde::Serialize;
use slackline_core::{Failure, schema};
use slackline_model::nearest::did_you_mean;
use slackline_model::parameter::Parameter;
use slackline_react::registry as policies;
use slackline_schedule::aliases::{ALIASES, Alias};
use slackline_schedule::list::heft;
use slackline_schedule::registry;
use slackline_schedule::registry::{Basis, Need};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Names by family, on one screen.
pub fn overview(output: &dyn Printer) -> String {
    let mut text = String::new();
    let mut list = |title: &str, names: &[&str]| {
        let _ = writeln!(text, "{}", output.bold(title));
        text.push_str(&wrap(&names.join(", "), 2, output.style().width));
    };
    let mut families: Vec<registry::Family> = registry::ALL.iter().map(|a| a.family).collect();
    families.sort_unstable();
    families.dedup();
    for family in families {
        let members = registry::ALL.iter().filter(|a| a.family == family);
        let names: Vec<&str> = members.map(|a| a.name).collect();
        list(&format!("{}: {}", family.name(), family.about()), &names);
    }
    let names: Vec<&str> = policies::ALL.iter().map(|policy| policy.name).collect();
    list("policies: steer a run (simulate --policy NAME)", &names);
    let more = "slackline algorithms NAME describes one, --all describes all of them.";
    let _ = writeln!(text, "\n{more}");
    text
}

/// Planners and policies.
#[derive(Serialize)]
pub struct List {
    schema: &'static str,
    algorithms: Vec<AlgorithmEntry>,
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
struct AlgorithmEntry {
    name: &'static str,
    family: &'static str,
    about: &'static str,
    source: &'static str,
    basis: &'static str,
    complexity: &'static str,
    parameters: Vec<Described>,
    /// Names of it with some parameters set.
    aliases: Vec<AliasEntry>,
    /// Inputs it requires: limits, prices, moldable tasks, several workflows.
    needs: Vec<&'static str>,
    /// Those of seed, limits of a search and threads that have an effect.
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

/// Names of needs.
pub fn names(needs: &[Need]) -> Vec<&'static str> {
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

/// The document of planners and policies.
pub fn document(
    methods: Vec<&'static registry::Algorithm>,
    policies: Vec<&'static policies::Entry>,
) -> List {
    let alias = |a: &Alias| AliasEntry {
        name: a.algorithm.name,
        about: a.algorithm.about,
        source: a.algorithm.source,
        basis: a.algorithm.basis.name(),
        set: a.set.iter().copied().collect(),
    };
    let entry = |a: &registry::Algorithm| AlgorithmEntry {
        name: a.name,
        family: a.family.name(),
        about: a.about,
        source: a.source,
        basis: a.basis.name(),
        complexity: a.complexity,
        parameters: described(a.parameters),
        aliases: aliases(a.name).map(alias).collect(),
        needs: names(a.needs),
        heeds: a.capabilities().iter().map(|heed| heed.name()).collect(),
    };
    let algorithms = methods.into_iter().map(entry).collect();
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
    let policies = policies.into_iter().map(policy).collect();
    List { schema: schema::names::ALGORITHMS, algorithms, policies }
}

/// Descriptions of planners and policies.
pub fn described_in_full(
    methods: Vec<&'static registry::Algorithm>,
    policies: Vec<&'static policies::Entry>,
    output: &dyn Printer,
) -> String {
    let mut text = String::new();
    let mut family = None;
    for algorithm in methods {
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
        tell(&mut text, algorithm.parameters, algorithm.needs, output.style().width);
        let named = aliases(algorithm.name).map(|alias| {
            let set: Vec<String> = alias.set.iter().map(|(n, v)| format!("{n}={v}")).collect();
            format!("{} ({})", alias.algorithm.name, set.join(", "))
        });
        let named: Vec<String> = named.collect();
        if !named.is_empty() {
            let named = format!("also called {}", named.join(", "));
            text.push_str(&wrap(&named, INDENT, output.style().width));
        }
    }
    if policies.is_empty() {
        return text;
    }
    let title = "policies that steer a run (simulate --policy NAME)";
    let _ = writeln!(text, "{}", output.bold(title));
    for policy in policies {
        let mortal = if policy.survives { "" } else { "; cannot go on after a host is lost" };
        let _ = writeln!(text, "  {:<23}{}", policy.name, policy.about);
        let _ = writeln!(text, "  {:23}{}{mortal}", "", policy.source);
        tell(&mut text, policy.parameters, policy.needs, output.style().width);
    }
    text
}

/// Entries asked for by name, in the order of the registries; all if none was.
pub fn asked(
    names: &[String],
) -> Result<(Vec<&'static registry::Algorithm>, Vec<&'static policies::Entry>), Failure> {
    if names.is_empty() {
        return Ok((registry::ALL.iter().collect(), policies::ALL.iter().collect()));
    }
    let (mut methods, mut steering) = (BTreeSet::new(), BTreeSet::new());
    for name in names {
        let method = registry::find(name).map(|a| {
            ALIASES
                .iter()
                .find(|alias| alias.algorithm.name == a.name)
                .map_or(a.name, |alias| alias.of)
        });
        let policy = policies::find(name).map(|p| p.name);
        if method.is_none() && policy.is_none() {
            let known = registry::names().chain(policies::ALL.iter().map(|p| p.name));
            let near = did_you_mean(name, known);
            return Err(Failure::input(format!("there is no planner or policy '{name}'{near}")));
        }
        methods.extend(method);
        steering.extend(policy);
    }
    let methods = registry::ALL.iter().filter(|a| methods.contains(a.name)).collect();
    let steering = policies::ALL.iter().filter(|p| steering.contains(p.name)).collect();
    Ok((methods, steering))
}
