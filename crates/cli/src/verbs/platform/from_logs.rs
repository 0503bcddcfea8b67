//! `slackline platform from-logs`: a site as its own logs show it.

use crate::output::Output;
use crate::path_check::Files;
use clap::Args;
use slackline_core::Failure;
use slackline_formats::platform_toml;
use slackline_lab::recorded;
use slackline_lab::site_logs::{BandwidthPolicy, SiteLogs};
use slackline_model::names::printable;
use slackline_report::site::report;
use slackline_report::table::count;
use std::path::{Path, PathBuf};

/// Put together a platform from logs: hosts, bandwidths, queue waits, with where each value comes from
#[derive(Args)]
#[command(after_help = "\
FILES are folders of real runs, imported runs and records of other engines, recorded workflows \
(WfFormat with machines), traces of simulated or real runs (`--trace FILE.jsonl`), and logs of batch \
systems (SWF, or what `sacct --parsable2` prints). `SITE:FILE` says whose log it is. A host has the newest of the values that logs show; a bandwidth is what --bandwidth \
makes of all transfers between two clusters. max is the nominal bandwidth: simulate the load beside it.

Examples:
  slackline platform from-logs recorded.json -o measured.toml
  slackline platform from-logs north:jobs.txt --stack waits.toml
  slackline platform from-logs monday.run -o my-site.toml --stack my-stack.toml
  slackline platform from-logs recorded.json --bandwidth median --json")]
pub(super) struct FromLogs {
    /// The logs, each possibly with its site: FILE or SITE:FILE
    #[arg(required = true, value_name = "FILES")]
    files: Vec<String>,
    /// Source of one bandwidth: max, median, empirical, or a part such as 0.9
    #[arg(long, value_name = "POLICY", default_value = "max", value_parser = BandwidthPolicy::parse)]
    bandwidth: BandwidthPolicy,
    /// Hosts of a cluster whose speeds differ by no more than this part become one template
    #[arg(long, value_name = "PART", default_value_t = 0.02)]
    tolerance: f64,
    /// Pass over what is wrong, and list it
    #[arg(long)]
    lenient: bool,
    /// Write a stack for `simulate --stack`; of batch logs alone only the waits of its pilots
    #[arg(long, value_name = "FILE.toml")]
    stack: Option<PathBuf>,
    /// The platform file to write; standard output if left out
    #[arg(short, long, value_name = "FILE.toml")]
    output: Option<PathBuf>,
    /// Print one JSON document, with every value and sample
    #[arg(long)]
    json: bool,
}

/// Site and path of an argument; a path that is there is never split.
fn split(text: &str) -> (Option<&str>, &Path) {
    match text.split_once(':') {
        Some((site, path)) if !Path::new(text).exists() && !site.is_empty() => {
            (Some(site), Path::new(path))
        }
        _ => (None, Path::new(text)),
    }
}

impl FromLogs {
    pub(super) fn run(self, output: &mut Output) -> Result<(), Failure> {
        let paths: Vec<PathBuf> = self.files.iter().map(|f| split(f).1.to_path_buf()).collect();
        Files::default()
            .reads_all(&paths)
            .writes("--output", self.output.as_ref())
            .writes("--stack", self.stack.as_ref())
            .json(self.json)
            .check(output)?;
        if !(0.0..=1.0).contains(&self.tolerance) {
            return Err(Failure::input("--tolerance: from 0 to 1"));
        }
        let mut logs = SiteLogs::new(self.lenient);
        for file in &self.files {
            let (site, path) = split(file);
            let context = &mut output.context(false);
            recorded::add(&mut logs, self.lenient, site.unwrap_or("site"), path, context)?;
        }
        let found = logs.picture(self.bandwidth);
        for skipped in found.skipped.iter().take(10) {
            let line = skipped.line.map_or_else(String::new, |line| format!(":{line}"));
            output.warning(&format!("{}{line}: {}", skipped.source, printable(&skipped.cause)));
        }
        if found.skipped.len() > 10 {
            output.warning(&format!(
                "{} passed over in all",
                count(found.skipped.len(), "wrong entry")
            ));
        }
        if found.hosts.is_empty() && found.waits.is_empty() {
            return Err(Failure::input("the logs show neither hosts nor waits"));
        }
        if let Some(path) = &self.stack {
            let text = found.stack_toml();
            output.files.write(path, |out| out.write_all(text.as_bytes()))?;
        }
        let text = found.platform_toml(self.tolerance);
        if !found.hosts.is_empty() {
            platform_toml::parse(&text)
                .map_err(|e| Failure::work(format!("what was found makes no platform: {e}")))?;
        }
        match &self.output {
            Some(_) if found.hosts.is_empty() => {
                return Err(Failure::input(
                    "the logs show no hosts: there is no platform to write",
                ));
            }
            Some(path) => output.files.write(path, |out| out.write_all(text.as_bytes()))?,
            None => {}
        }
        if self.json {
            return output.json(&found);
        }
        if self.output.is_none() && !found.hosts.is_empty() {
            output.text(&text)?;
        }
        report(&found, output)
    }
}
