//! Requests: everything that a plan, a simulation or a run depends on, as data. They are read from and written as JSON
//! documents (docs/requests.md); members that are left out have the defaults of the command's options.

mod check;
mod document;
mod pairs;

pub use check::{MOST_REPLICATIONS, MOST_RUNS, MOST_THREADS, QUEUE_INTERVALS};
pub use document::{Answer, AnyRequest, RequestError};
pub use pairs::Pairs;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use slackline_engine::MEMORY_FACTOR;
use slackline_formats::Format;
use slackline_machines::attempt::Enforce;
use slackline_machines::slurm::Mode;
use slackline_model::parameter::Given;
use slackline_model::schedule::Limits;
use slackline_schedule::qos::pareto::Aim;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

/// The policy that follows a plan.
const STATIC: &str = "static";

/// The policy of runs: it follows the plan, and idle processors take ready tasks that wait elsewhere.
const WORK_STEALING: &str = "work-stealing";

/// Default number of retries of a failed task or transfer.
const RETRIES: u32 = 3;

/// Seconds that pilots wait for an engine.
const PATIENCE: f64 = 600.0;

/// The usual [`SlurmSettings::wall_safety`].
const WALL_SAFETY: f64 = 1.25;

/// Asks for plans of workflows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PlanRequest {
    /// `slackline/plan-request/1`.
    pub schema: String,
    /// Workflows and platform.
    pub input: Sources,
    /// Planners by name, or `all`; the usual ones for workflow and limits where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub planners: Vec<String>,
    /// Parameters of the planners.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub parameters: Pairs,
    /// Limits that the plan has to keep.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: LimitSettings,
    /// Overheads of a workflow system.
    #[serde(skip_serializing_if = "is_default")]
    pub overheads: OverheadSettings,
    /// Settings of the planners' search.
    #[serde(skip_serializing_if = "is_default")]
    pub search: SearchSettings,
    /// The rules of the simulation that plans count with.
    #[serde(skip_serializing_if = "is_default")]
    pub models: ModelSettings,
    /// Share by which run times may be off in samples of each plan; no samples where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robust: Option<f64>,
    /// Whether the simulator follows the plans.
    pub check: bool,
    /// Whether time against cost is wanted, over planners and budgets, instead of one plan.
    #[serde(skip_serializing_if = "is_default")]
    pub front: bool,
}

/// Asks for a simulated run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulateRequest {
    /// `slackline/simulate-request/1`.
    pub schema: String,
    /// The policy that decides; `static` follows the plan.
    pub policy: String,
    /// Conditions of the simulation.
    pub setup: SimulationSetup,
}

/// Asks for simulated runs of several policies under the same conditions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CompareRequest {
    /// `slackline/compare-request/1`.
    pub schema: String,
    /// The policies, or `all`.
    pub policies: Vec<String>,
    /// Conditions of the simulation.
    pub setup: SimulationSetup,
}

/// Asks for a run on real machines, or for its rehearsal in the simulator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RunRequest {
    /// `slackline/run-request/1`.
    pub schema: String,
    /// Workflow and platform; one workflow.
    pub input: Sources,
    /// Tasks at once on this machine, where no platform is named; its cores where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<u32>,
    /// Bytes of memory of this machine for the tasks, where no platform is named; all it has where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Devices of this machine for the tasks, where no platform is named; all it has where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus: Option<u32>,
    /// The planner of the initial plan and, where the policy asks for it, of plans during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// The policy that decides; `static` follows the plan.
    pub policy: String,
    /// When inputs travel: `push`, `pull` or `pull:N`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<String>,
    /// Time between two evaluations of a periodic policy: a part of the planned makespan, or a duration such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// Parameters of policy and planner.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub parameters: Pairs,
    /// Limits that the run should keep.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: LimitSettings,
    /// Overheads of a workflow system.
    #[serde(skip_serializing_if = "is_default")]
    pub overheads: OverheadSettings,
    /// Seed of planners and policies that draw random numbers.
    pub seed: u64,
    /// Location of the inputs; when left out, the platform's origin, or every host if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<InputPlace>,
    /// Settings of the attempts at tasks.
    pub execution: ExecutionSettings,
    /// The folder of the run, new or empty; `WORKFLOW.run` where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// Whether the run is only rehearsed in the simulator.
    #[serde(skip_serializing_if = "is_default")]
    pub dry_run: bool,
    /// Whether a new folder is made although there is one of the workflow.
    #[serde(skip_serializing_if = "is_default")]
    pub new: bool,
    /// Tasks that are done again although they are up to date.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub force: Vec<String>,
    /// Tasks and files that are wanted: only they, and what they need, are made. Everything where it is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// A folder that gets the results and `manifest.json`, which lists them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<PathBuf>,
    /// Form of the results there: `link` or `copy`.
    #[serde(skip_serializing_if = "is_default")]
    pub results_as: PublishedAs,
}

/// Form of results in a folder of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedAs {
    /// As links, where the file system can link them; they cannot be written to.
    #[default]
    Link,
    /// As files of their own.
    Copy,
}

/// Sources of workflows and platform. Paths are relative to the current directory; bundled files are named
/// without their extension.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sources {
    /// Files of workflows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workflows: Vec<PathBuf>,
    /// The file of the platform; the bundled small cluster where it is left out (`run`: this machine).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<PathBuf>,
    /// A file with both workflow and processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<PathBuf>,
    /// A file of workflows that arrive over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<PathBuf>,
    /// Format of the workflows, where it is not recognised.
    #[serde(skip_serializing_if = "Option::is_none", with = "format_name")]
    #[schemars(with = "Option<String>")]
    pub format: Option<Format>,
    /// Flop/s at which recorded seconds become work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_speed: Option<f64>,
    /// Speeds of hosts, classes or zones of the platform by name, as multiples of the speed at which recorded seconds
    /// become work: 2 halves the recorded times.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub speeds: BTreeMap<String, f64>,
    /// Whether the estimates of the file hold although there is a folder of runs beside it.
    #[serde(skip_serializing_if = "is_default")]
    pub no_history: bool,
    /// Values for `[params]` of the workflows, by name.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub params: Pairs,
}

/// Conditions of a simulated run other than the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SimulationSetup {
    /// Workflows and platform.
    pub input: Sources,
    /// The planner of the initial plan and, where a policy asks for it, of plans during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planner: Option<String>,
    /// A file with the schedule that is followed, instead of a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule: Option<PathBuf>,
    /// A scenario file, or a folder of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
    /// Number of replications drawn of each scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replications: Option<u32>,
    /// When inputs travel: `push`, `pull`, `pull:N` or `anticipated`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<String>,
    /// Time between two evaluations of a periodic policy: a part of the planned makespan, or a duration such as `30s`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// By how much earlier a task has to end for the GTP family to move it, in its mean times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<String>,
    /// Parameters of policies and planner.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub parameters: Pairs,
    /// Limits that the run should keep.
    #[serde(skip_serializing_if = "is_default")]
    pub limits: LimitSettings,
    /// Overheads of a workflow system.
    #[serde(skip_serializing_if = "is_default")]
    pub overheads: OverheadSettings,
    /// Seed of planners and policies that draw random numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Whether each workflow of a stream is also run by itself.
    #[serde(skip_serializing_if = "is_default")]
    pub alone: bool,
    /// Knowledge of run times available to planners and policies.
    #[serde(skip_serializing_if = "is_default")]
    pub knows: Knows,
    /// Location of files during the run.
    #[serde(skip_serializing_if = "is_default")]
    pub data: DataPlace,
    /// The storage of the platform on which files live, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<String>,
    /// Seconds by which the policy's view of the platform is delayed.
    #[serde(skip_serializing_if = "is_default")]
    pub monitoring_delay: f64,
    /// Seconds between a call of the policy and its decisions taking effect.
    #[serde(skip_serializing_if = "is_default")]
    pub decision_time: f64,
    /// Maximum retries of a task or transfer that failed by itself.
    pub retries: u32,
    /// Factor, above 1, by which the memory of a task that ran out of it grows at the next attempt.
    #[serde(skip_serializing_if = "is_usual_factor")]
    pub memory_factor: f64,
    /// The date at which the run is cut off, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// The rules of the simulation.
    #[serde(skip_serializing_if = "is_default")]
    pub models: ModelSettings,
    /// Whether what the policy weighed at each call is shown.
    #[serde(skip_serializing_if = "is_default")]
    pub explain: bool,
    /// Of a workflow with choices and loops: the number of the run, each of which draws its own decisions; 0 where it
    /// is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<u64>,
    /// Of a workflow with choices and loops: how many runs a forecast is made of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u32>,
    /// Of a workflow with choices and loops: a JSON file with outcomes that are not drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<PathBuf>,
}

/// Limits for a plan or a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitSettings {
    /// Latest end, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<f64>,
    /// Highest cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<f64>,
    /// With a deadline alone: whether the fastest plan is wanted instead of the cheapest that meets it.
    #[serde(skip_serializing_if = "is_default")]
    pub fastest: bool,
}

/// Overheads of a workflow system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadSettings {
    /// Start-up seconds of every task, added to its execution time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<f64>,
    /// Seconds before the first task starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_wait: Option<f64>,
}

/// Settings of the planners' search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchSettings {
    /// Seed of planners that draw random numbers, and of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Most iterations of each search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// Most seconds for each search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<f64>,
    /// Threads of each search; all cores where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u16>,
}

/// Rules of a simulation and the location of inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelSettings {
    /// Settings of the simulation, such as `network/model`.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub settings: Pairs,
    /// `everywhere`, `origin`, or the name of a host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

/// Knowledge of run times available to planners and policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Knows {
    /// The run times themselves.
    Exact,
    /// The workflow's estimates.
    #[default]
    Estimates,
    /// The means of each kind of task.
    Kinds,
    /// Nothing.
    Nothing,
}

/// Location of files during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataPlace {
    /// On the hosts that made them.
    #[default]
    Hosts,
    /// On one store that tasks read from.
    Central,
}

/// Location of the inputs of a real run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InputPlace {
    /// On the platform's origin.
    Origin,
    /// On every host.
    Everywhere,
}

/// Settings of the attempts at tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExecutionSettings {
    /// Maximum retries of a task or transfer that failed by itself.
    pub retries: u32,
    /// Whether the run ends when a task has failed for good; otherwise what does not depend on it is still done.
    #[serde(skip_serializing_if = "is_default")]
    pub fail_fast: bool,
    /// Files that stay in the run folder.
    #[serde(skip_serializing_if = "is_default")]
    pub keep: KeptFiles,
    /// Factor, above 1, by which the memory of a task that ran out of it grows at the next attempt.
    #[serde(skip_serializing_if = "is_usual_factor")]
    pub memory_factor: f64,
    /// Enforcement of the memory granted to tasks: `auto`, `cgroup`, `poll` or `off`.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(with = "String")]
    pub enforce: Enforce,
    /// Seconds after which an attempt is ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<f64>,
    /// Whether measured run times change estimates.
    pub learning: bool,
    /// Whether transfers take at least the time given by the platform.
    pub throttle: bool,
    /// Settings of the network model that plans, rehearsals and throttled transfers go by.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub network: Pairs,
    /// Whether idle processors take ready tasks that wait elsewhere, regardless of the policy's plans; when
    /// left out, only with the policy `slackline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stealing: Option<bool>,
    /// Whether every task is held to the cores of its host.
    pub pin: bool,
    /// A folder of every machine in which attempts work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scratch: Option<PathBuf>,
    /// Bytes beyond which outputs get no checksum; 0 for none at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum_limit: Option<u64>,
    /// The Slurm cluster that is used instead of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slurm: Option<SlurmSettings>,
}

/// Files that stay in a run folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeptFiles {
    /// All but temporary ones.
    #[default]
    All,
    /// Results: files that tasks read are deleted after their last reader.
    Results,
}

/// Settings for runs on a Slurm cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmSettings {
    /// Purpose of a batch job: `pilots` for all tasks of a host, `job` for one attempt at one task.
    #[schemars(with = "String")]
    pub mode: Mode,
    /// Address of this machine that pilots connect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<IpAddr>,
    /// First and last port that may be listened at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<(u16, u16)>,
    /// Seconds between two queries of the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub squeue_interval: Option<f64>,
    /// Further arguments of `sbatch`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sbatch: Vec<String>,
    /// Fewest and most pilots at once, by need; one for every host where it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pilots: Option<(u32, u32)>,
    /// Seconds without an engine after which a pilot ends.
    pub patience: f64,
    /// Ratio, 1 or more, of the time that a pilot must have left for a task to its estimate.
    #[serde(skip_serializing_if = "is_usual_safety")]
    pub wall_safety: f64,
}

fn is_usual_safety(safety: &f64) -> bool {
    *safety == WALL_SAFETY
}

fn is_usual_factor(factor: &f64) -> bool {
    *factor == MEMORY_FACTOR
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Formats by name.
mod format_name {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use slackline_formats::Format;

    pub(super) fn serialize<S: Serializer>(
        format: &Option<Format>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match format {
            Some(format) => serializer.serialize_str(format.name()),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Format>, D::Error> {
        let name = Option::<String>::deserialize(deserializer)?;
        name.map(|name| name.parse().map_err(D::Error::custom)).transpose()
    }
}

impl PlanRequest {
    /// The schema of the document.
    pub const SCHEMA: &str = "slackline/plan-request/1";

    /// A request for the usual plan of a workflow, or of several together.
    pub fn new<P: Into<PathBuf>>(workflows: impl IntoIterator<Item = P>) -> PlanRequest {
        PlanRequest { input: Sources::workflows(workflows), ..PlanRequest::default() }
    }
}

impl Default for PlanRequest {
    fn default() -> PlanRequest {
        PlanRequest {
            schema: PlanRequest::SCHEMA.to_string(),
            input: Sources::default(),
            planners: Vec::new(),
            parameters: Pairs::default(),
            limits: LimitSettings::default(),
            overheads: OverheadSettings::default(),
            search: SearchSettings::default(),
            models: ModelSettings::default(),
            robust: None,
            check: true,
            front: false,
        }
    }
}

impl SimulateRequest {
    /// The schema of the document.
    pub const SCHEMA: &str = "slackline/simulate-request/1";

    /// A request for a run of a workflow under a policy.
    pub fn new(workflow: impl Into<PathBuf>, policy: &str) -> SimulateRequest {
        let input = Sources::workflows([workflow]);
        let setup = SimulationSetup { input, ..SimulationSetup::default() };
        SimulateRequest { policy: policy.to_string(), setup, ..SimulateRequest::default() }
    }
}

impl Default for SimulateRequest {
    fn default() -> SimulateRequest {
        SimulateRequest {
            schema: SimulateRequest::SCHEMA.to_string(),
            policy: STATIC.to_string(),
            setup: SimulationSetup::default(),
        }
    }
}

impl CompareRequest {
    /// The schema of the document.
    pub const SCHEMA: &str = "slackline/compare-request/1";
}

impl Default for CompareRequest {
    fn default() -> CompareRequest {
        CompareRequest {
            schema: CompareRequest::SCHEMA.to_string(),
            policies: Vec::new(),
            setup: SimulationSetup::default(),
        }
    }
}

impl RunRequest {
    /// The schema of the document.
    pub const SCHEMA: &str = "slackline/run-request/1";

    /// A request for a run of a workflow under a policy, on this machine.
    pub fn new(workflow: impl Into<PathBuf>, policy: &str) -> RunRequest {
        let input = Sources::workflows([workflow]);
        RunRequest { input, policy: policy.to_string(), ..RunRequest::default() }
    }

    /// The parameters of policy and planner; some have a member of their own.
    pub(crate) fn given(&self) -> Given {
        let members = [("transfers", &self.transfers), ("period", &self.period)];
        let mut given = with_parameters(members, &self.parameters);
        given.extend(self.limits.given().filter(|_| self.planner.is_none()));
        given
    }
}

impl Default for RunRequest {
    fn default() -> RunRequest {
        RunRequest {
            schema: RunRequest::SCHEMA.to_string(),
            input: Sources::default(),
            cores: None,
            memory: None,
            gpus: None,
            planner: None,
            policy: WORK_STEALING.to_string(),
            transfers: None,
            period: None,
            parameters: Pairs::default(),
            limits: LimitSettings::default(),
            overheads: OverheadSettings::default(),
            seed: 0,
            inputs: None,
            execution: ExecutionSettings::default(),
            folder: None,
            dry_run: false,
            new: false,
            force: Vec::new(),
            only: Vec::new(),
            results: None,
            results_as: PublishedAs::Link,
        }
    }
}

impl Sources {
    /// Workflows, with everything else left out.
    pub fn workflows<P: Into<PathBuf>>(workflows: impl IntoIterator<Item = P>) -> Sources {
        let workflows = workflows.into_iter().map(Into::into).collect();
        Sources { workflows, ..Sources::default() }
    }
}

impl SimulationSetup {
    /// Whether transfers count as begun when their file was made.
    pub(crate) fn is_anticipated(&self) -> bool {
        self.transfers.as_deref() == Some("anticipated")
    }

    /// The parameters of policy and planner; some have a member of their own.
    pub(crate) fn given(&self) -> Given {
        // What is anticipated holds for the run, whatever the policy.
        let transfers = if self.is_anticipated() { &None } else { &self.transfers };
        let options =
            [("transfers", transfers), ("period", &self.period), ("threshold", &self.threshold)];
        let mut given = with_parameters(options, &self.parameters);
        given.extend(self.limits.given().filter(|_| self.planner.is_none()));
        given
    }
}

fn with_parameters<const N: usize>(
    members: [(&str, &Option<String>); N],
    parameters: &Pairs,
) -> Given {
    let named = members
        .into_iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| (name.to_string(), value.clone())));
    named.chain(parameters.0.iter().cloned()).collect()
}

impl Default for SimulationSetup {
    fn default() -> SimulationSetup {
        SimulationSetup {
            input: Sources::default(),
            planner: None,
            schedule: None,
            scenario: None,
            replications: None,
            transfers: None,
            period: None,
            threshold: None,
            parameters: Pairs::default(),
            limits: LimitSettings::default(),
            overheads: OverheadSettings::default(),
            seed: None,
            alone: false,
            knows: Knows::default(),
            data: DataPlace::default(),
            storage: None,
            monitoring_delay: 0.0,
            decision_time: 0.0,
            retries: RETRIES,
            memory_factor: MEMORY_FACTOR,
            until: None,
            models: ModelSettings::default(),
            explain: false,
            run: None,
            runs: None,
            choices: None,
        }
    }
}

impl LimitSettings {
    /// The limits themselves.
    pub fn limits(&self) -> Limits {
        Limits { budget: self.budget, deadline: self.deadline }
    }

    /// Criterion among plans that keep the limits.
    pub fn aim(&self) -> Aim {
        if self.fastest { Aim::Fastest } else { Aim::usual(&self.limits()) }
    }

    /// The criterion as a parameter of the method for limits; none if it is the default.
    pub(crate) fn given(&self) -> Option<(String, String)> {
        self.fastest.then(|| ("aim".to_string(), "fastest".to_string()))
    }
}

impl Default for ExecutionSettings {
    fn default() -> ExecutionSettings {
        ExecutionSettings {
            retries: RETRIES,
            fail_fast: false,
            keep: KeptFiles::All,
            memory_factor: MEMORY_FACTOR,
            enforce: Enforce::Auto,
            time_limit: None,
            learning: true,
            throttle: false,
            network: Pairs::default(),
            stealing: None,
            pin: false,
            scratch: None,
            checksum_limit: None,
            slurm: None,
        }
    }
}

impl Default for SlurmSettings {
    fn default() -> SlurmSettings {
        SlurmSettings {
            mode: Mode::default(),
            listen: None,
            ports: None,
            squeue_interval: None,
            sbatch: Vec::new(),
            pilots: None,
            patience: PATIENCE,
            wall_safety: WALL_SAFETY,
        }
    }
}
