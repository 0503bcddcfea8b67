//! Fuzzing of the command: mutated files (bundled ones and outputs of the command) are inputs of every verb, in process.
//! Panics, executions longer than [`PATIENCE`], and memory above [`MOST_MEMORY`] are findings; any error message is fine.
//!
//! ```
//! let tally = slackline_fuzz::Fuzzer::new(7)?.run(20, |_| {});
//! assert_eq!((tally.executions, tally.findings.len()), (20, 0));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Execution `n` of a seed is always the same one: `--only N` repeats it.

mod commands;
mod mutate;
mod seeds;

pub use seeds::{FileKind, Seed};

use rand::RngExt;
use rustix::time::{ClockId, clock_gettime};
use slackline::Sink;
use slackline_model::rng;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longest that one execution may take.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Most memory that the process may hold, bytes.
pub const MOST_MEMORY: u64 = 1 << 30;

/// A defect found by an execution.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of the execution.
    pub number: u64,
    /// The observation, as text.
    pub what: String,
    /// The command line.
    pub line: String,
    /// The mutated file.
    pub text: Vec<u8>,
}

/// The results of a number of executions.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of commands run.
    pub executions: u64,
    /// Number of commands by exit code: 0, 1, and 2 or more.
    pub codes: [u64; 3],
    /// Time and number of the longest execution.
    pub longest: (Duration, u64),
    /// Panics and other defects.
    pub findings: Vec<Finding>,
}

/// The present execution, for a watchdog.
#[derive(Clone, Debug, Default)]
pub struct Current(Arc<Mutex<Option<(Spent, Finding)>>>);

impl Current {
    /// The present execution, if it takes longer than [`PATIENCE`].
    pub fn overdue(&self) -> Option<Finding> {
        let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, execution) = current.as_ref()?;
        (since.elapsed() > PATIENCE).then(|| execution.clone())
    }

    fn set(&self, execution: Option<Finding>) {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *current = execution.map(|execution| (Spent::begin(), execution));
    }
}

/// Time spent by an execution: the greater of its processor time and a tenth of its wall time. So waiting on a busy
/// machine hardly counts, and an execution that only sleeps is still noticed.
#[derive(Clone, Copy, Debug)]
struct Spent {
    wall: Instant,
    processor: Duration,
}

impl Spent {
    fn begin() -> Spent {
        Spent { wall: Instant::now(), processor: processor_time() }
    }

    fn elapsed(&self) -> Duration {
        processor_time().saturating_sub(self.processor).max(self.wall.elapsed() / 10)
    }
}

/// Processor time of the whole process.
fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
}

/// A folder with files to mutate, and a seed.
pub struct Fuzzer {
    folder: tempfile::TempDir,
    seeds: Vec<Seed>,
    seed: u64,
    /// The execution under way.
    pub current: Current,
}

/// A mutated text and the command line that reads it.
struct Case<'c> {
    number: u64,
    text: &'c [u8],
    line: &'c [String],
}

impl Fuzzer {
    /// Prepares the files.
    pub fn new(seed: u64) -> std::io::Result<Fuzzer> {
        let folder = tempfile::tempdir()?;
        let seeds = seeds::all(folder.path());
        Ok(Fuzzer { folder, seeds, seed, current: Current::default() })
    }

    /// Mutates files of these kinds alone.
    pub fn only(mut self, kinds: &[FileKind]) -> Fuzzer {
        self.seeds.retain(|seed| kinds.contains(&seed.kind));
        self
    }

    /// Runs the first executions of the seed; calls `tell` with each finding.
    pub fn run(&self, executions: u64, mut tell: impl FnMut(&Finding)) -> Tally {
        let mut tally = Tally::default();
        for number in 0..executions {
            self.execute(number, &mut tally, &mut tell);
        }
        tally
    }

    /// Runs one execution.
    pub fn execute(&self, number: u64, tally: &mut Tally, tell: &mut dyn FnMut(&Finding)) {
        let (seed, text, line) = self.draw(number);
        let file = commands::file(seed.kind, &seed.extension, self.folder.path());
        self.try_out(&file, Case { number, text: &text, line: &line }, tally, tell);
    }

    /// Returns the command line and the file of an execution, without running it.
    pub fn drawn(&self, number: u64) -> Finding {
        let (_, text, line) = self.draw(number);
        Finding { number, what: "drawn".to_string(), line: line.join(" "), text }
    }

    fn draw(&self, number: u64) -> (&Seed, Vec<u8>, Vec<String>) {
        let mut random = rng::stream(self.seed, "fuzz", number);
        let seed = &self.seeds[random.random_range(0..self.seeds.len())];
        let other = &self.seeds[random.random_range(0..self.seeds.len())];
        let mut text = mutate::mutated(&seed.text, &other.text, &mut random);
        if seed.kind == FileKind::Run && random.random_bool(0.8) {
            text = mutate::sealed(&text); // without it, reading ends at the changed line
        }
        let line = commands::line(seed.kind, &seed.extension, self.folder.path(), &mut random);
        (seed, text, line)
    }

    /// Runs every command of a kind on one text: the regression test of a former finding.
    pub fn replay(&self, text: &[u8], kind: FileKind, extension: &str) -> Tally {
        let mut tally = Tally::default();
        let file = commands::file(kind, extension, self.folder.path());
        let lines = commands::every(kind, extension, self.folder.path());
        for (number, line) in lines.into_iter().enumerate() {
            let case = Case { number: number as u64, text, line: &line };
            self.try_out(&file, case, &mut tally, &mut |_| {});
        }
        tally
    }

    /// Writes the text of a case to a file and runs its command.
    fn try_out(
        &self,
        file: &Path,
        Case { number, text, line }: Case<'_>,
        tally: &mut Tally,
        tell: &mut dyn FnMut(&Finding),
    ) {
        if std::fs::write(file, text).is_err() {
            return; // a full disk is not a finding
        }
        let execution = |what: &str| Finding {
            number,
            what: what.to_string(),
            line: line.join(" "),
            text: text.to_vec(),
        };
        self.current.set(Some(execution("no end")));
        let begin = Spent::begin();
        let run =
            || slackline::run(line.iter().map(String::as_str), Sink::default(), Sink::default());
        let done = catch_unwind(AssertUnwindSafe(run));
        let took = begin.elapsed();
        self.current.set(None);
        tally.executions += 1;
        tally.longest = tally.longest.max((took, number));
        let mut findings = Vec::new();
        match done {
            Ok(code) => tally.codes[usize::from(code).min(2)] += 1,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                findings.push(execution(&format!("panic: {text}")));
            }
        }
        if took > PATIENCE {
            findings.push(execution(&format!("took {:.1} s", took.as_secs_f64())));
        }
        if memory().is_some_and(|(now, _)| now > MOST_MEMORY) {
            findings.push(execution("holds more than 1 GiB"));
        }
        for finding in findings {
            tell(&finding);
            tally.findings.push(finding);
        }
    }
}

/// Memory the process holds and the most it ever held, bytes, where the system reports it.
pub fn memory() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find(|line| line.starts_with(name))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
    };
    Some((field("VmRSS:")?, field("VmHWM:")?))
}
