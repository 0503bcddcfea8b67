//! Content of a workflow file: the workflow, and the format's additional information.

use slackline_model::Workflow;
use slackline_model::scenario::Measured;

/// A workflow as read from a file or about to be written to one.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Tasks, files and dependencies.
    pub workflow: Workflow,
    /// The execution the workflow was recorded from, where the format contains it.
    pub recorded: Option<Recorded>,
    /// Real run times and sizes, where the format has them beside the estimates and they differ.
    pub measured: Option<Measured>,
    /// Decisions of the reader that a user should know, one sentence each.
    pub warnings: Vec<String>,
    /// The form in which its tasks are written, where samples or parameters expand to them.
    pub definition: Option<Definition>,
}

/// The short form of a workflow whose tasks were expanded from samples and parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Definition {
    /// Tasks as they are written, in the order of the file.
    pub templates: Vec<Template>,
    /// The file of the sample sheet, where there is one.
    pub sheet: Option<String>,
    /// Number of rows of the sheet, or combinations of lists; 1 where there are no samples.
    pub rows: usize,
    /// Parameters, in the order of the file.
    pub parameters: Vec<Parameter>,
}

/// A task as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template {
    /// Its name.
    pub name: String,
    /// Columns of samples that it is repeated for; empty for a single task.
    pub foreach: Vec<String>,
    /// Number of tasks that it stands for.
    pub tasks: usize,
    /// Name of the first of them.
    pub first: String,
}

/// A parameter of a workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The value that was used.
    pub value: String,
    /// Whether the value was given by the caller instead of the file.
    pub is_set: bool,
}

impl Document {
    /// A workflow without a past.
    pub fn new(workflow: Workflow) -> Document {
        Document {
            workflow,
            recorded: None,
            measured: None,
            warnings: Vec::new(),
            definition: None,
        }
    }
}

/// Origin of a workflow and its recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Description in the file.
    pub description: Option<String>,
    /// When the file was made, as written there.
    pub created_at: Option<String>,
    /// Author of the file.
    pub author: Option<Author>,
    /// System that ran the workflow.
    pub runtime_system: Option<RuntimeSystem>,
    /// The run itself, where there was one.
    pub run: Option<Run>,
    /// One entry per task of the workflow, in its order.
    pub tasks: Vec<RecordedTask>,
}

/// A person or team.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// Name.
    pub name: Option<String>,
    /// Address.
    pub email: Option<String>,
    /// Employer.
    pub institution: Option<String>,
    /// Country, often its code.
    pub country: Option<String>,
}

/// A workflow management system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuntimeSystem {
    /// Name.
    pub name: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Web page.
    pub url: Option<String>,
}

/// One execution of a workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Seconds from start to end, queueing and transfers included.
    pub makespan_seconds: Option<f64>,
    /// When it started, as written in the file.
    pub executed_at: Option<String>,
    /// The machines it ran on.
    pub machines: Vec<RecordedMachine>,
}

/// A machine of a recorded run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedMachine {
    /// Host name.
    pub name: String,
    /// Operating system: `linux`, `macos` or `windows`.
    pub system: Option<String>,
    /// Instruction set, e.g. `x86_64`.
    pub architecture: Option<String>,
    /// Release of the operating system.
    pub release: Option<String>,
    /// Bytes of memory.
    pub memory_bytes: Option<f64>,
    /// Processor cores.
    pub cores: Option<f64>,
    /// Clock in MHz.
    pub speed_mhz: Option<f64>,
    /// Maker of the processor.
    pub vendor: Option<String>,
}

/// Recorded execution of one task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedTask {
    /// The name beside the unique id, where it differs from what the kind gives.
    pub name: Option<String>,
    /// `compute`, `transfer` or `auxiliary`.
    pub role: Option<String>,
    /// Whether a run time was recorded (without one the work is 0).
    pub timed: bool,
    /// When it started, as written in the file.
    pub executed_at: Option<String>,
    /// Cores it asked for, possibly fractional.
    pub cores: Option<f64>,
    /// Average processor use in percent.
    pub average_cpu: Option<f64>,
    /// Bytes read.
    pub read_bytes: Option<f64>,
    /// Bytes written.
    pub written_bytes: Option<f64>,
    /// Energy in kWh.
    pub energy_kwh: Option<f64>,
    /// Average power in W.
    pub average_power_watts: Option<f64>,
    /// Priority.
    pub priority: Option<f64>,
    /// Host names of the machines it ran on.
    pub machines: Vec<String>,
}
