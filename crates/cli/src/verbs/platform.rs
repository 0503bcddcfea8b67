//! `slackline platform`: platform files of real machines.

mod from_logs;

use crate::output::Output;
use crate::path_check::Files;
use clap::{Args, Subcommand};
use slackline_core::Failure;
use slackline_core::detect::{Found, local, slurm};
use slackline_formats::platform_toml;
use slackline_model::units::parse_speed;
use slackline_model::workflow::REFERENCE_SPEED;
use slackline_report::table::count;
use std::path::PathBuf;

/// Describe real machines
#[derive(Args)]
pub(crate) struct Platform {
    #[command(subcommand)]
    verb: PlatformVerb,
}

#[derive(Subcommand)]
enum PlatformVerb {
    Detect(Detect),
    FromLogs(from_logs::FromLogs),
}

/// Describe this machine, or the Slurm cluster it can see, as a platform file
#[derive(Args)]
#[command(after_help = "Example:\n  slackline platform detect -o here.toml")]
struct Detect {
    /// Describe the Slurm cluster, and fail if there is none
    #[arg(long, conflicts_with = "local")]
    slurm: bool,
    /// Describe this machine even if there is a Slurm cluster
    #[arg(long)]
    local: bool,
    /// Speed of one core, such as 2.5Gf; 1Gf if left out, as `run` has it: what takes a second
    /// in a workflow file then takes a second here
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    speed: Option<f64>,
    /// Measure the speed of a core, to compare this machine with others
    #[arg(long, conflicts_with_all = ["speed", "slurm"])]
    measure: bool,
    /// The file to write; standard output if left out
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, conflicts_with = "output")]
    json: bool,
}

fn speed(text: &str) -> Result<f64, String> {
    match parse_speed(text) {
        Ok(speed) if speed > 0.0 && speed.is_finite() => Ok(speed),
        Ok(_) => Err("a speed is positive".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

impl Platform {
    pub(crate) fn run(self, output: &mut Output) -> Result<(), Failure> {
        match self.verb {
            PlatformVerb::Detect(verb) => verb.run(output),
            PlatformVerb::FromLogs(verb) => verb.run(output),
        }
    }
}

impl Detect {
    fn run(self, output: &mut Output) -> Result<(), Failure> {
        Files::default().writes("--output", self.output.as_ref()).json(self.json).check(output)?;
        let text = self.found(output)?.to_toml();
        let platform = platform_toml::parse(&text)
            .map_err(|e| Failure::work(format!("what was found makes no platform: {e}")))?;
        if self.json {
            return output.json(&slackline_report::show::platform::PlatformDocument::of(&platform));
        }
        let Some(path) = &self.output else { return output.text(&text) };
        output.files.write(path, |out| out.write_all(text.as_bytes()))?;
        let (hosts, cores) = (platform.hosts().len(), platform.total_cores());
        output.say(&format!(
            "{}: {}, {} written\n",
            path.display(),
            count(hosts, "host"),
            count(cores as usize, "core")
        ))
    }

    fn here(&self) -> Found {
        if self.measure {
            local::detect(None)
        } else {
            local::detect(Some(self.speed.unwrap_or(REFERENCE_SPEED)))
        }
    }

    fn found(&self, output: &mut Output) -> Result<Found, Failure> {
        if self.local {
            return Ok(self.here());
        }
        match slurm::detect(self.speed) {
            Ok(found) => Ok(found),
            Err(why) if self.slurm => Err(Failure::work(format!("no Slurm cluster: {why}"))
                .with_help("describe this machine alone with --local")),
            Err(why) => {
                output.detail(&format!("no Slurm cluster: {why}"));
                Ok(self.here())
            }
        }
    }
}
