//! Workloads of batch systems, and scenarios from their logs.

use crate::failure::Failure;
use crate::input::read_platform;
use crate::output::Output;
use crate::path_check::Files;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use slackline_centre::batch::Policy;
use slackline_centre::batch::load::{held, scenario};
use slackline_formats::batch_log;
use slackline_formats::batch_log::Wrong;
use slackline_generate::Seed;
use slackline_generate::workload::{Lublin, MoldableJob, Pick};
use std::path::{Path, PathBuf};

/// Rigid jobs after Lublin & Feitelson (2003), as a log in the Standard Workload Format
#[derive(Args)]
#[command(after_help = "\
Sizes, run times and arrivals follow the published model, with its parameters for logs without \
interactive jobs: sizes are serial, or 2 to a two-stage uniform power from 0.8 over log2(N) - 2.5 \
(probability 0.86) to log2(N); run times the exponential of a hyper-gamma value, Gamma(4.2, 0.94) \
with probability 0.78 - 0.0054 times the size, else Gamma(312, 0.03), at most 12; times between \
arrivals the exponential of Gamma(10.23, 0.487), slowed down or sped up by a daily cycle \
Gamma(8.17, 3.96) of half hours from 5:30 on. Requested times, users, groups and queues are drawn \
beside it.

Examples:
  slackline generate workload lublin --jobs 1000 --cores 256 -o log.swf
  slackline generate workload lublin --seed 7 --overestimate 1")]
pub(super) struct LublinArgs {
    #[command(flatten)]
    rigid: LublinOptions,
}

/// Parameters of the model, and the log.
#[derive(Args)]
struct LublinOptions {
    /// Number of jobs
    #[arg(long, value_name = "N", default_value_t = 1000)]
    jobs: u64,
    /// Cores of the machine
    #[arg(long, value_name = "N", default_value_t = 256)]
    cores: u64,
    /// Stretch arrivals to this load, e.g. 0.85; the model's own load if left out
    #[arg(long, value_name = "LOAD")]
    load: Option<f64>,
    /// Requested times are up to this multiple of run times
    #[arg(long, value_name = "FACTOR", default_value_t = 5.0)]
    overestimate: f64,
    /// Number of users
    #[arg(long, value_name = "N", default_value_t = 20)]
    users: u64,
    /// Number of groups
    #[arg(long, value_name = "N", default_value_t = 4)]
    groups: u64,
    /// Number of queues, by requested time
    #[arg(long, value_name = "N", default_value_t = 3)]
    queues: u64,
    /// Probability of a serial job
    #[arg(long, value_name = "P", default_value_t = 0.244)]
    serial: f64,
    /// Probability that the size of a parallel job is a power of two
    #[arg(long, value_name = "P", default_value_t = 0.576)]
    power_of_two: f64,
    /// Seed of all draws
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// File to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Moldable jobs: those of `lublin`, each with several sizes and a run time for each
#[derive(Args)]
#[command(after_help = "\
A job has its size of `lublin` and every power of two as choices. Its speed-up is Downey's (1997): an average \
parallelism, log-uniform from its size to the cores of the machine, and a variation of the parallelism, uniform from \
0 to 2. At its own size it runs as long as the rigid job of the same seed. The log has one size of each job, as --pick \
says; --choices writes all of them.

Examples:
  slackline generate workload lublin-moldable -o log.swf --choices sizes.csv
  slackline generate workload lublin-moldable --seed 7 --pick shortest")]
pub(super) struct MoldableArgs {
    #[command(flatten)]
    rigid: LublinOptions,
    /// Size of each job in the log: that of the rigid job (drawn), the one with the shortest run time (shortest), or the
    /// largest at which speed-up over size is at least a part, such as 0.5
    #[arg(long, value_name = "RULE", value_parser = pick, default_value = "0.5")]
    pick: Pick,
    /// Write all sizes of all jobs
    #[arg(long, value_name = "FILE.csv")]
    choices: Option<PathBuf>,
}

fn pick(text: &str) -> Result<Pick, String> {
    match (text, text.parse::<f64>()) {
        ("drawn", _) => Ok(Pick::Drawn),
        ("shortest", _) => Ok(Pick::Shortest),
        (_, Ok(part)) if part > 0.0 && part <= 1.0 => Ok(Pick::Efficient(part)),
        _ => Err("drawn, shortest, or a part above 0 and not above 1".to_string()),
    }
}

/// Availability of hosts beside the recorded load of a batch system
#[derive(Args)]
#[command(after_help = "\
The jobs of the log take the hosts of the platform in order, first those with the lowest number \
that are free; a host is as fast as the part of its cores that no job holds, and at least \
--least. Starts are those of the log where it has them, else those under --policy. The machine of \
the log is scaled to the cores of the platform.

Example:
  slackline generate scenario batch-log log.swf -p small-cluster -o beside.toml")]
pub(super) struct FromLog {
    /// The log: Standard Workload Format, or `sacct --parsable2`
    log: PathBuf,
    /// The platform
    #[arg(short, long, value_name = "FILE")]
    platform: PathBuf,
    /// Cores of the machine of the log; the one it names if left out
    #[arg(long, value_name = "N")]
    cores: Option<u64>,
    /// Policy that starts the jobs of a log without starts
    #[arg(long, value_name = "POLICY", default_value = "easy")]
    policy: Policy,
    /// Date of the log at which the scenario begins, in seconds after its first submission
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    from: f64,
    /// Least part of its speed that a host keeps
    #[arg(long, value_name = "PART", default_value_t = 0.01)]
    least: f64,
    /// Skip wrong lines of the log
    #[arg(long)]
    lenient: bool,
    /// File to write; standard output if absent
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The variant for moldable jobs.
const MOLDABLE: &str = "lublin-moldable";

/// `generate workload KIND`.
pub(super) fn workload_command() -> Command {
    Command::new("workload")
        .about("Jobs of a batch system")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("KIND")
        .subcommand_help_heading("Kinds")
        .subcommand(LublinArgs::augment_args(Command::new("lublin")))
        .subcommand(MoldableArgs::augment_args(Command::new(MOLDABLE)))
}

fn arguments<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    let (_, matches) = matches.subcommand().ok_or_else(|| Failure::input("say what kind"))?;
    T::from_arg_matches(matches).map_err(Failure::input)
}

fn write(output: &mut Output, path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path {
        Some(path) => Ok(output.files.write(path, |out| out.write_all(text.as_bytes()))?),
        None => output.text(text),
    }
}

pub(super) fn workload(matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
    if matches.subcommand_name() == Some(MOLDABLE) {
        let args: MoldableArgs = arguments(matches)?;
        Files::default()
            .writes("--output", args.rigid.output.as_ref())
            .writes("--choices", args.choices.as_ref())
            .check(output)?;
        let (model, note) = args.rigid.model();
        let jobs = model.moldable_jobs(Seed::new(args.rigid.seed))?;
        if let Some(path) = &args.choices {
            write(output, Some(path), &MoldableJob::to_csv(&jobs))?;
        }
        let picked: Vec<_> = jobs.iter().map(|job| job.picked(args.pick)).collect();
        let pick = match args.pick {
            Pick::Drawn => "drawn".to_string(),
            Pick::Shortest => "shortest".to_string(),
            Pick::Efficient(part) => part.to_string(),
        };
        let note = format!("slackline generate workload {MOLDABLE} {note} --pick {pick}");
        return write(output, args.rigid.output.as_deref(), &model.to_swf(&picked, &note));
    }
    let LublinArgs { rigid: args } = arguments(matches)?;
    Files::default().writes("--output", args.output.as_ref()).check(output)?;
    let (model, note) = args.model();
    let jobs = model.jobs(Seed::new(args.seed))?;
    let note = format!("slackline generate workload lublin {note}");
    write(output, args.output.as_deref(), &model.to_swf(&jobs, &note))
}

impl LublinOptions {
    /// The model, and the options that make it again.
    fn model(&self) -> (Lublin, String) {
        let args = self;
        let model = Lublin {
            jobs: args.jobs,
            cores: args.cores,
            load: args.load,
            overestimate: args.overestimate,
            users: args.users,
            groups: args.groups,
            queues: args.queues,
            serial: args.serial,
            power_of_two: args.power_of_two,
        };
        let load = args.load.map_or_else(String::new, |load| format!(" --load {load}"));
        let note = format!(
            "--jobs {} --cores {}{load} --overestimate {} --users {} --groups {} --queues {} --serial {} \
             --power-of-two {} --seed {}",
            args.jobs,
            args.cores,
            args.overestimate,
            args.users,
            args.groups,
            args.queues,
            args.serial,
            args.power_of_two,
            args.seed
        );
        (model, note)
    }
}

pub(super) fn from_log(matches: &ArgMatches, output: &mut Output) -> Result<(), Failure> {
    let args: FromLog = arguments(matches)?;
    Files::default()
        .reads(Some(&args.log))
        .reads(Some(&args.platform))
        .writes("--output", args.output.as_ref())
        .check(output)?;
    if !(args.least > 0.0 && args.least <= 1.0) {
        return Err(Failure::input("--least: above 0, and not above 1"));
    }
    if !(args.from >= 0.0 && args.from < 1e12) {
        return Err(Failure::input("--from: 0 or more seconds"));
    }
    let wrong = if args.lenient { Wrong::Skip } else { Wrong::Refuse };
    let log = batch_log::read(&output.files, &args.log, wrong)?;
    let platform = read_platform(&args.platform, output)?;
    let Some(cores) = args.cores.or(log.machine_cores) else {
        return Err(Failure::input("the log does not say how many cores the machine has")
            .with_help("give --cores N"));
    };
    let held = held(&log, cores, args.policy).map_err(Failure::input)?;
    write(
        output,
        args.output.as_deref(),
        &scenario(&platform, cores, &held, (args.from, args.least)),
    )
}
