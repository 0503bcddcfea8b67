//! The parts of a campaign as one job array of Slurm, and their results brought together. Parts keep their own files in a
//! folder beside the results, so that the same command continues.

use super::{Campaign, Store, merge_over};
use slackline_core::{Failure, Observer};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two questions about the queue.
const POLL: Duration = Duration::from_secs(2);

/// Answers in a row that the queue may leave out before the jobs are given up.
const PATIENCE: u32 = 150;

/// Most parts of a campaign.
pub const MOST_JOBS: u64 = 1000;

/// Parts of a campaign that a batch system does as one job array.
#[derive(Clone, Debug)]
pub struct JobArray {
    /// Number of parts.
    pub jobs: u64,
    /// Threads of each part.
    pub threads: usize,
    /// Further arguments of sbatch.
    pub sbatch: Vec<String>,
}

impl JobArray {
    /// Has the parts of the campaign at `path` done by Slurm, and brings their results together in `file`; `watch` is notified of
    /// parts done and in all.
    pub fn run(
        &self,
        path: &Path,
        campaign: &Campaign,
        file: &Path,
        observer: &mut dyn Observer,
        watch: &mut dyn FnMut(usize, usize),
    ) -> Result<(), Failure> {
        let parts = self.jobs.min(campaign.combinations().len().max(1) as u64);
        let folder = Parts::new(file, campaign, parts)?;
        let missing: Vec<u64> = (1..=parts).filter(|&part| !folder.is_done(part)).collect();
        for part in missing.iter().map(|&part| folder.results(part)) {
            // Parts begin with the runs that are there.
            if file.exists() && !part.exists() {
                std::fs::copy(file, &part)
                    .map_err(|error| Failure::work(format!("{}: {error}", part.display())))?;
            }
        }
        if !missing.is_empty() {
            let job = self.submit(path, &folder, &missing)?;
            observer.detail(&format!("job {job}: {}", parts_in_words(missing.len())));
            let stop = observer.listen();
            let ended = wait(&job, &folder, &missing, (&stop, &*observer), watch);
            observer.ignore();
            ended?;
        }
        let failed: Vec<u64> = (1..=parts).filter(|&part| !folder.is_done(part)).collect();
        if let Some(first) = failed.first() {
            let log = folder.log(*first);
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let last = text.lines().rev().find(|line| !line.trim().is_empty());
            let message = format!(
                "{} of {parts} parts did not end: {}: {}",
                failed.len(),
                log.display(),
                last.unwrap_or("the job left no output")
            );
            return Err(
                Failure::work(message).with_help("the same command continues with what is missing")
            );
        }
        let inputs: Vec<PathBuf> = (1..=parts).map(|part| folder.results(part)).collect();
        // The parts began with the runs that were there.
        merge_over(&inputs, file)?;
        folder.remove();
        Ok(())
    }

    /// Submits the parts that are missing; returns the number of the job.
    fn submit(&self, path: &Path, folder: &Parts, missing: &[u64]) -> Result<String, Failure> {
        let program = slackline_core::run::command_path().map_err(|error| {
            Failure::work(format!("the program does not know where it is: {error}"))
        })?;
        let campaign = absolute(path)?;
        let threads = self.threads;
        // Results of a part are complete once its file has the name that is looked for.
        let script = format!(
            "#!/bin/sh\nn=$SLURM_ARRAY_TASK_ID\n\
             {program} compare {campaign} --shard $n/{parts} --threads {threads} -o {folder}/$n.part.db --quiet &&\n\
             touch {folder}/$n.done\n",
            program = quoted(&program.to_string_lossy()),
            campaign = quoted(&campaign.to_string_lossy()),
            folder = quoted(&folder.path.to_string_lossy()),
            parts = folder.parts,
        );
        let list = missing.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let log = folder.path.join("%a.log").to_string_lossy().into_owned();
        let mut command = Command::new("sbatch");
        command
            .args(["--parsable", "--nodes=1", "--ntasks=1", "--job-name=slackline-campaign"])
            .arg(format!("--array={list}"))
            .arg(format!("--cpus-per-task={threads}"))
            .arg(format!("--output={log}"))
            .args(&self.sbatch)
            .stdin(Stdio::piped());
        let text = answer(command, Some(&script))?;
        let job = text.trim().split(';').next().unwrap_or_default().to_string();
        if job.is_empty() {
            Err(Failure::work("sbatch did not say the number of the job"))
        } else {
            Ok(job)
        }
    }
}

fn parts_in_words(number: usize) -> String {
    format!("{number} part{}", if number == 1 { "" } else { "s" })
}

/// The folder of the parts of a campaign.
struct Parts {
    path: PathBuf,
    parts: u64,
}

impl Parts {
    /// Opens or makes the folder; one of another campaign, or of another division, is refused.
    fn new(file: &Path, campaign: &Campaign, parts: u64) -> Result<Parts, Failure> {
        let mut name = file.as_os_str().to_owned();
        name.push(".parts");
        let path = PathBuf::from(name);
        let fault = |error: std::io::Error| Failure::work(format!("{}: {error}", path.display()));
        std::fs::create_dir_all(&path).map_err(fault)?;
        let path = absolute(&path)?;
        let about = format!("{parts} parts of\n{}", campaign.text);
        let note = path.join("campaign");
        match std::fs::read_to_string(&note) {
            Ok(found) if found != about => {
                let message = format!(
                    "{}: holds parts of another campaign, or of another number of jobs",
                    path.display()
                );
                return Err(Failure::input(message)
                    .with_help("remove the folder to begin again; finished runs in it are lost"));
            }
            Ok(_) => {}
            Err(_) => std::fs::write(&note, about).map_err(fault)?,
        }
        Ok(Parts { path, parts })
    }

    fn results(&self, part: u64) -> PathBuf {
        self.path.join(format!("{part}.part.db"))
    }

    fn log(&self, part: u64) -> PathBuf {
        self.path.join(format!("{part}.log"))
    }

    /// Whether a part has ended well, and its results are there.
    fn is_done(&self, part: u64) -> bool {
        self.path.join(format!("{part}.done")).exists() && Store::open(&self.results(part)).is_ok()
    }

    /// Removes what belongs to the parts; what others put there stays.
    fn remove(&self) {
        for part in 1..=self.parts {
            let marker = self.path.join(format!("{part}.done"));
            for file in [self.results(part), self.log(part), marker] {
                let _ = std::fs::remove_file(file); // a leftover does no harm
            }
        }
        let _ = std::fs::remove_file(self.path.join("campaign"));
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// Waits until no part of a job is in the queue.
fn wait(
    job: &str,
    folder: &Parts,
    missing: &[u64],
    (stop, observer): (&AtomicBool, &dyn Observer),
    watch: &mut dyn FnMut(usize, usize),
) -> Result<(), Failure> {
    let mut silent = 0;
    loop {
        let done = missing.iter().filter(|&&part| folder.is_done(part)).count();
        watch(done, missing.len());
        if stop.load(Ordering::Relaxed) {
            let mut cancel = Command::new("scancel");
            cancel.arg(job);
            let _ = answer(cancel, None); // the job may be over
            let message =
                format!("job {job} is cancelled; the same command continues with what is missing");
            return Err(Failure::Interrupted { message, code: observer.interrupted_code() });
        }
        let mut look = Command::new("squeue");
        look.args(["--noheader", "--format=%T %r", "--jobs", job]);
        match answer(look, None) {
            // A job that Slurm does not know any more is over.
            Ok(text) => {
                silent = 0;
                if text.trim().is_empty() {
                    break;
                }
                let never = ["BadConstraints", "InvalidAccount", "InvalidQOS"];
                if let Some(line) = text.lines().find(|l| never.iter().any(|w| l.contains(w))) {
                    let mut cancel = Command::new("scancel");
                    cancel.arg(job);
                    let _ = answer(cancel, None);
                    return Err(Failure::work(format!("job {job} would wait for ever: {line}")));
                }
            }
            Err(error) if error.to_string().contains("Invalid job id") => break,
            Err(error) => {
                silent += 1;
                if silent > PATIENCE {
                    return Err(error);
                }
            }
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Output of a Slurm command.
fn answer(mut command: Command, input: Option<&str>) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::work(format!("{name}: {why}")).with_help("--on slurm needs a Slurm cluster")
    };
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| failed(&error))?;
    if let (Some(text), Some(mut stdin)) = (input, child.stdin.take()) {
        use std::io::Write;
        // Who does not read it says why.
        let _ = stdin.write_all(text.as_bytes());
    }
    let done = child.wait_with_output().map_err(|error| failed(&error))?;
    if !done.status.success() {
        return Err(failed(&String::from_utf8_lossy(&done.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::work(format!("{}: {error}", path.display())))
}

/// A word of a shell script.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
