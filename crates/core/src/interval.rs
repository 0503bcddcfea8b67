//! The interval of a makespan that is predicted from the records of a run.

use schemars::JsonSchema;
use serde::Serialize;
use slackline_analysis::elsewhere::{LEVEL, TimeSpread};
use slackline_formats::Document;
use slackline_import::{Engine, RecordedRun, SpeedRatio};
use slackline_model::{Problem, Schedule, TaskId};

/// Origin of the speeds of the machines in a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SpeedOrigin {
    /// The machines are the recorded ones.
    Recorded,
    /// From kinds of tasks that ran on both.
    Measured,
    /// As the file of the platform states them.
    Stated,
    /// Given with the request.
    Given,
}

impl SpeedOrigin {
    /// The part of the uncertainty that the interval covers, for people.
    pub fn covers(self) -> &'static str {
        match self {
            SpeedOrigin::Recorded => "spread of run times within kinds",
            SpeedOrigin::Measured => "spread of run times within kinds and of speeds between them",
            SpeedOrigin::Stated => {
                "spread of run times within kinds; speeds as the platform states"
            }
            SpeedOrigin::Given => "spread of run times within kinds; speeds as given",
        }
    }
}

/// Basis of intervals: recorded run times, and the origin of the speeds of the machines.
#[derive(Clone, Debug, PartialEq)]
pub struct Basis {
    spread: TimeSpread,
    speeds: SpeedOrigin,
    ratio: Option<SpeedRatio>,
}

/// The makespan that nine of ten runs are to have.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MakespanInterval {
    /// Share of the runs between the bounds.
    pub level: f64,
    /// Lower bound, in seconds.
    pub low: f64,
    /// Upper bound, in seconds.
    pub high: f64,
    /// Origin of the speeds of the machines; only measured ones add to the interval.
    pub speeds: SpeedOrigin,
    /// Kinds with several recorded tasks, whose spread the interval is from.
    pub repeated_kinds: usize,
    /// Standard deviation of the logarithms of run times within kinds.
    pub deviation: f64,
    /// Measured speed of the machines, where they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured_speed: Option<MeasuredSpeed>,
}

/// Speed of the machines beside those of the recorded run, by kinds of tasks that ran on both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MeasuredSpeed {
    /// Speed beside the mean recorded machine.
    pub factor: f64,
    /// Standard error of its logarithm.
    pub error: f64,
    /// Standard deviation of the logarithm between kinds.
    pub between_kinds: f64,
    /// Number of kinds that ran on both.
    pub kinds: usize,
}

impl Basis {
    /// The basis of a recorded run; none where no kind has several tasks with times.
    pub fn of(run: &RecordedRun, speeds: SpeedOrigin, ratio: Option<SpeedRatio>) -> Option<Basis> {
        let spread = TimeSpread::of(&run.kind_times().tasks)?;
        let spread = match ratio {
            Some(ratio) => spread.with_speeds(ratio.error, ratio.between_kinds),
            None => spread,
        };
        Some(Basis { spread, speeds, ratio })
    }

    /// The basis of a workflow that was imported; none of other files.
    pub fn of_document(document: &Document) -> Option<Basis> {
        let recorded = document.recorded.as_ref()?;
        let engine = recorded.runtime_system.as_ref()?.name.as_deref()?;
        Engine::named(engine).filter(|known| known.name() == engine)?;
        let workflow = &document.workflow;
        let seconds = |task: TaskId| {
            let is_timed = recorded.tasks.get(task.index()).is_some_and(|known| known.timed);
            let seconds = workflow.work(task) / workflow.reference_speed();
            (is_timed && seconds > 0.0).then_some(seconds)
        };
        let of_task = |task: TaskId| (workflow.kind(task).index(), seconds(task));
        let spread = TimeSpread::of(&workflow.tasks().map(of_task).collect::<Vec<_>>())?;
        Some(Basis { spread, speeds: SpeedOrigin::Stated, ratio: None })
    }

    /// Takes the speeds as given with the request.
    pub fn give(&mut self) {
        let spread = std::mem::take(&mut self.spread).with_speeds(0.0, 0.0);
        *self = Basis { spread, speeds: SpeedOrigin::Given, ratio: None };
    }

    /// The interval of the makespan of a plan, or of the plan that a run came to, `wait` seconds of which pass before
    /// the first task.
    pub fn interval(
        &self,
        problem: &Problem<'_>,
        schedule: &Schedule,
        (makespan, wait): (f64, f64),
    ) -> MakespanInterval {
        let (low, high) = self.spread.factors(problem, schedule, 0);
        let at = |factor: f64| wait + (makespan - wait) * factor;
        MakespanInterval {
            level: LEVEL,
            low: at(low),
            high: at(high),
            speeds: self.speeds,
            repeated_kinds: self.spread.repeated_kinds(),
            deviation: self.spread.deviation(),
            measured_speed: self.ratio.map(|ratio| MeasuredSpeed {
                factor: ratio.factor,
                error: ratio.error,
                between_kinds: ratio.between_kinds,
                kinds: ratio.kinds,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;
    use slackline_import::{Attempt, Figure, HostRecord, Origin, TaskRecord};
    use slackline_model::rng::{self, Stream};
    use slackline_schedule::retime::Retiming;
    use slackline_schedule::{Request, registry};

    const KINDS: usize = 5;

    /// A world in which runs are drawn: means of kinds, and what machine B does with each kind.
    struct World {
        means: Vec<f64>,
        slower: Vec<f64>,
        /// Deviation that comes back in every run, and that of one run.
        input: f64,
        noise: f64,
    }

    fn normal(draw: &mut Stream) -> f64 {
        let (u, v) = (1.0 - draw.random::<f64>(), draw.random::<f64>());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// A recorded run of tasks with these kinds and seconds, on a host with four cores; tasks wait for the four before
    /// the last four.
    fn run(host: &str, tasks: &[(usize, f64)]) -> RecordedRun {
        let mut run = RecordedRun::of(Engine::Snakemake);
        let cores = Figure::measured(4.0);
        run.hosts.push(HostRecord { name: host.to_string(), cores, memory: None });
        for (index, &(kind, seconds)) in tasks.iter().enumerate() {
            let start = 1000.0 * index as f64;
            let attempt = Attempt {
                start: Figure::measured(start),
                end: Figure::measured(start + seconds),
                host: Some(0),
                ..Attempt::default()
            };
            let after =
                (index.saturating_sub(8)..index.saturating_sub(6)).map(|p| (p, Origin::Measured));
            run.tasks.push(TaskRecord {
                name: format!("t{index}"),
                kind: format!("kind{kind}"),
                after: after.collect(),
                attempts: vec![attempt],
                ..TaskRecord::default()
            });
        }
        run
    }

    /// Share of fresh runs on another machine that end within the interval, and its mean width beside the makespan.
    fn coverage(input: f64, noise: f64, between: f64, cases: u64) -> (f64, f64) {
        let (mut inside, mut width) = (0, 0.0);
        for case in 0..cases {
            let draw = &mut rng::stream(case, "coverage", 0);
            let machine = draw.random_range(-0.7..0.7);
            let world = World {
                means: (0..KINDS).map(|_| draw.random_range(1.0..4.0)).collect(),
                slower: (0..KINDS).map(|_| machine + between * normal(draw)).collect(),
                input,
                noise,
            };
            let inputs: Vec<(usize, f64)> =
                (0..60).map(|task| (task * KINDS / 60, world.input * normal(draw))).collect();
            let there: Vec<(usize, f64)> =
                (0..40).map(|task| (task % KINDS, world.input * normal(draw))).collect();
            let on_a = |draw: &mut Stream, &(kind, own): &(usize, f64)| {
                (kind, (world.means[kind] + own + world.noise * normal(draw)).exp())
            };
            let on_b = |draw: &mut Stream, task: &(usize, f64)| {
                let (kind, seconds) = on_a(draw, task);
                (kind, seconds * world.slower[kind].exp())
            };
            let recorded = run("a", &inputs.iter().map(|t| on_a(draw, t)).collect::<Vec<_>>());
            let other = run("b", &there.iter().map(|t| on_b(draw, t)).collect::<Vec<_>>());
            let ratio = other.speed_beside(&recorded).unwrap();
            let document = recorded.document().unwrap();
            let speeds = [("b", ratio.factor * slackline_model::workflow::REFERENCE_SPEED)];
            let platform = other.platform().unwrap().at_speeds(&speeds).unwrap();
            let problem = Problem::new(&document.workflow, &platform).unwrap();
            let plan = registry::find("heft").unwrap().plan(&problem, &Request::default()).unwrap();
            let makespan = plan.makespan();
            let basis = Basis::of(&recorded, SpeedOrigin::Measured, Some(ratio)).unwrap();
            let interval = basis.interval(&problem, &plan, (makespan, 0.0));
            let fresh: Vec<f64> = inputs.iter().map(|t| on_b(draw, t).1).collect();
            let end = Retiming::new(&problem, &plan).makespan_by_task(|t, _| fresh[t.index()]);
            inside += u64::from(interval.low <= end && end <= interval.high);
            width += (interval.high - interval.low) / makespan / cases as f64;
        }
        (inside as f64 / cases as f64, width)
    }

    #[test]
    fn intervals_hold_nine_of_ten_fresh_runs() {
        println!(
            "| spread by inputs | from run to run | of speeds between kinds | runs inside | width |"
        );
        for (input, noise, between) in
            [(0.5, 0.05, 0.1), (0.05, 0.5, 0.1), (0.3, 0.3, 0.2), (0.0, 0.1, 0.0), (0.8, 0.2, 0.3)]
        {
            let (share, width) = coverage(input, noise, between, 300);
            println!("| {input} | {noise} | {between} | {:.1} % | {width:.2} |", 100.0 * share);
            assert!(share >= 0.87, "{input} {noise} {between}: {share}");
        }
    }
}
