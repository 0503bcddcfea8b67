//! The batch system, through its own commands. They may hang while its controller is away: a thread of
//! its own gives them and tells what they said.

use super::check::SlurmError;
use super::pilot::slurm_seconds;
use super::protocol::SlotId;
use slackline_engine::OpId;
use slackline_model::platform::BatchOptions;
use slackline_model::resources::DeviceKind;
use slackline_model::{HostId, Platform};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two queries of the queue if there are few jobs, and least time between any two.
const POLL: Duration = Duration::from_secs(2);

/// Time between two queries of the queue if there are many jobs: the controller serves all users.
const SELDOM: Duration = Duration::from_secs(30);

/// Number of jobs that are few.
const FEW: usize = 10;

/// Time that a command gets.
const PATIENCE: Duration = Duration::from_secs(60);

/// Indices that the tasks of a job array span at most: Slurm's default limit is 1000.
pub(super) const ARRAY_SPAN: u64 = 1000;

/// The name of a pilot's job: run, host, task and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Ticket {
    pub(super) post: SlotId,
    pub(super) number: u32,
}

impl Ticket {
    /// Short name within its run.
    pub(super) fn short(&self) -> String {
        let only = self.post.only.map_or(String::new(), |op| format!("-op{}", op.0));
        format!("h{}{only}-{}", self.post.host.0, self.number)
    }

    fn name(&self, run: &str) -> String {
        format!("slackline-{run}-{}", self.short())
    }

    /// The name of an array of jobs: its first task, from which indices count.
    fn array_name(&self, run: &str) -> String {
        let Ticket { post: SlotId { host, only }, number } = self;
        format!("slackline-{run}-h{}-op{}+-{number}", host.0, only.map_or(0, |op| op.0))
    }

    /// Parses a job name of this run; `index` is that of the job in an array.
    fn of(name: &str, run: &str, index: Option<u64>) -> Option<Ticket> {
        let rest = name.strip_prefix("slackline-")?.strip_prefix(run)?.strip_prefix("-h")?;
        let words: Vec<&str> = rest.split('-').collect();
        let (host, only, number) = match words.as_slice() {
            [host, number] => (host, None, number),
            [host, only, number] => {
                let op = only.strip_prefix("op")?;
                let op = match op.strip_suffix('+') {
                    Some(first) => first.parse::<u64>().ok()?.checked_add(index?)?,
                    None => op.parse().ok()?,
                };
                (host, Some(OpId(op)), number)
            }
            _ => return None,
        };
        let post = SlotId { host: HostId(host.parse().ok()?), only };
        Some(Ticket { post, number: number.parse().ok()? })
    }
}

/// A pilot to submit.
#[derive(Clone, Debug)]
pub(super) struct Submission {
    pub(super) ticket: Ticket,
    /// Script of the job.
    pub(super) script: String,
    pub(super) cores: u32,
    /// Nodes that it takes, with so many cores of each.
    pub(super) nodes: u32,
    /// Bytes of memory of each node, where they are known.
    pub(super) memory: Option<f64>,
    /// Devices, as `gpu:KIND:NUMBER`.
    pub(super) devices: Vec<String>,
    /// Licences, as `NAME:NUMBER`.
    pub(super) licences: Vec<String>,
    /// The node it has to run on.
    pub(super) node: Option<String>,
    pub(super) output: PathBuf,
    /// Seconds of wall time, where it is known what the job takes.
    pub(super) seconds: Option<f64>,
    /// Options of such jobs from the platform.
    pub(super) options: BatchOptions,
}

/// Short names of options that have long ones, too.
const SHORT: [(&str, &str); 6] = [
    ("-t", "--time"),
    ("-p", "--partition"),
    ("-A", "--account"),
    ("-q", "--qos"),
    ("-C", "--constraint"),
    ("-c", "--cpus-per-task"),
];

/// The long name of the option in an argument of `sbatch`.
pub(super) fn option_name(word: &str) -> &str {
    let short = SHORT.iter().find(|(short, _)| word.starts_with(short) && !word.starts_with("--"));
    short.map_or(word.split(['=', ' ']).next().unwrap_or(word), |(_, long)| long)
}

impl Submission {
    /// Arguments of `sbatch`; `extra` are the user's, which may override ours.
    pub(super) fn words(&self, run: &str, extra: &[String]) -> Vec<String> {
        let mut words: Vec<String> = ["--parsable", "--no-requeue"].map(str::to_string).into();
        words.push(format!("--nodes={}", self.nodes));
        if self.nodes > 1 {
            // A process for each core, as programs of many nodes expect.
            words.push(format!("--ntasks-per-node={}", self.cores));
        } else {
            words.push("--ntasks=1".to_string());
            words.push(format!("--cpus-per-task={}", self.cores));
        }
        words.push(format!("--job-name={}", self.ticket.name(run)));
        // Mebibytes, rounded up.
        let memory = self.memory.map(|bytes| (bytes / 1_048_576.0).ceil());
        words.extend(memory.map(|mebibytes| format!("--mem={mebibytes}M")));
        if !self.devices.is_empty() {
            words.push(format!("--gres={}", self.devices.join(",")));
        }
        if !self.licences.is_empty() {
            words.push(format!("--licenses={}", self.licences.join(",")));
        }
        words.push(format!("--output={}", literal(&self.output.to_string_lossy())));
        words.extend(self.node.iter().map(|node| format!("--nodelist={node}")));
        let options = &self.options;
        for (name, value) in [
            ("--partition", &options.partition),
            ("--account", &options.account),
            ("--qos", &options.qos),
            ("--constraint", &options.constraint),
        ] {
            words.extend(value.iter().map(|value| format!("{name}={value}")));
        }
        // Whole minutes, as Slurm counts.
        let minutes = self.seconds.map(|seconds| (seconds / 60.0).ceil().max(1.0));
        words.extend(minutes.map(|minutes| format!("--time={minutes}")));
        words.extend(options.words.iter().cloned());
        // Nothing is asked for twice: words of the user replace them.
        let said: Vec<&str> = extra.iter().map(|word| option_name(word)).collect();
        words.retain(|word| !said.contains(&option_name(word)));
        words.extend(extra.iter().cloned());
        words
    }
}

impl Submission {
    /// Whether another job could stand in one array with this one: they differ in their task alone.
    pub(super) fn is_like(&self, other: &Submission) -> bool {
        let (own, others) = (self.ticket, other.ticket);
        own.post.host == others.post.host
            && own.number == others.number
            && own.post.only.is_some()
            && others.post.only.is_some()
            && (self.cores, self.nodes, self.memory, self.seconds)
                == (other.cores, other.nodes, other.memory, other.seconds)
            && (&self.devices, &self.licences, &self.node, &self.options)
                == (&other.devices, &other.licences, &other.node, &other.options)
    }
}

/// Jobs for one task each, which differ in nothing else: they are submitted as one array.
#[derive(Clone, Debug)]
pub(super) struct ArraySubmission {
    /// The job of the first task, with the script of all.
    pub(super) first: Submission,
    /// Indices of the tasks, counted from the first.
    pub(super) indices: Vec<u64>,
}

impl ArraySubmission {
    /// Arguments of `sbatch`.
    pub(super) fn words(&self, run: &str, extra: &[String]) -> Vec<String> {
        let mut words = self.first.words(run, extra);
        let indices: Vec<String> = self.indices.iter().map(u64::to_string).collect();
        words.retain(|word| !["--job-name", "--output"].contains(&option_name(word)));
        words.insert(0, format!("--array={}", indices.join(",")));
        words.push(format!("--job-name={}", self.first.ticket.array_name(run)));
        let output = literal(&self.first.output.to_string_lossy());
        let output = output.strip_suffix(".log").unwrap_or(&output);
        words.push(format!("--output={output}+%a.log"));
        words
    }

    fn tickets(&self) -> Vec<(Ticket, u64)> {
        let Ticket { post: SlotId { host, only }, number } = self.first.ticket;
        let first = only.map_or(0, |op| op.0);
        let ticket =
            |index: u64| Ticket { post: SlotId { host, only: Some(OpId(first + index)) }, number };
        self.indices.iter().map(|&index| (ticket(index), index)).collect()
    }
}

/// Cancels all batch jobs of a run, of any of its processes; returns their number.
pub fn cancel_jobs(run: &str) -> Result<usize, SlurmError> {
    let ask =
        |program, words: &[&str]| say(program, words, "", PATIENCE).map_err(SlurmError::Command);
    let queue = ask("squeue", &["--me", "--noheader", "--format=%A %j"])?;
    let mut jobs: Vec<&str> = queue
        .lines()
        .filter_map(|line| line.trim().split_once(' '))
        .filter(|(_, name)| Ticket::of(name.trim(), run, Some(0)).is_some())
        .map(|(job, _)| job)
        .collect();
    jobs.sort_unstable();
    jobs.dedup();
    if !jobs.is_empty() {
        let mut words = vec!["--quiet"];
        words.extend(&jobs);
        ask("scancel", &words)?;
    }
    Ok(jobs.len())
}

/// Devices in the words of Slurm.
pub(super) fn gres(kinds: &[DeviceKind]) -> Vec<String> {
    let word = |kind: &DeviceKind| {
        if kind.name.is_empty() {
            format!("gpu:{}", kind.count)
        } else {
            format!("gpu:{}:{}", kind.name, kind.count)
        }
    };
    kinds.iter().filter(|kind| kind.count > 0).map(word).collect()
}

/// The kinds and numbers of some devices of a host, by their ids.
pub(super) fn of_ids(kinds: &[DeviceKind], ids: Option<&str>) -> Vec<DeviceKind> {
    let ids: Vec<u32> =
        ids.unwrap_or_default().split(',').filter_map(|id| id.parse().ok()).collect();
    let mut next = 0;
    let among = kinds.iter().map(|kind| {
        let range = next..next + kind.count;
        next = range.end;
        let count = ids.iter().filter(|id| range.contains(id)).count() as u32;
        DeviceKind { count, ..kind.clone() }
    });
    among.collect()
}

/// Entries of a list `NAME=AMOUNT,…` that Slurm counts as licences, which are whole.
pub(super) fn licences(resources: Option<&str>, platform: &Platform) -> Vec<String> {
    let known = |name: &str| platform.resources().iter().any(|own| own.slurm && *own.name == *name);
    let one = |word: &str| {
        let (name, amount) = word.rsplit_once('=')?;
        let amount: f64 = amount.parse().ok()?;
        known(name).then(|| format!("{name}:{}", amount.ceil()))
    };
    resources.unwrap_or_default().split(',').filter_map(one).collect()
}

/// A file name in which Slurm replaces nothing: a backslash anywhere makes it take every `%` literally.
fn literal(path: &str) -> String {
    if path.contains('\\') { path.replace('\\', "\\\\") } else { path.replace('%', "%%") }
}

/// State of a batch job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It waits in the queue, for this reason.
    Waits(String),
    Runs,
    /// It is over, in the words of the batch system.
    Over(String),
}

impl State {
    /// Reason for waiting, where it would last for ever.
    pub(super) fn is_vain(&self) -> Option<&str> {
        let never = ["BadConstraints", "InvalidAccount", "InvalidQOS"];
        match self {
            State::Waits(why) if never.iter().any(|word| why.contains(word)) => Some(why),
            _ => None,
        }
    }
}

/// Duration of a refusal to take a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Until the controller is back.
    ForNow,
    /// Perhaps not for long: there may be too many jobs.
    Perhaps,
    /// Until the cluster or the request changes.
    ForGood,
}

impl Refusal {
    fn of(why: &str) -> Refusal {
        let says = |words: &[&str]| words.iter().any(|word| why.contains(word));
        if says(&["contact", "timed out", "Connection refused", NO_ANSWER]) {
            Refusal::ForNow
        } else if says(&["nvalid", "unrecognized option", "not permitted", "denied", CANNOT_START])
        {
            Refusal::ForGood
        } else {
            Refusal::Perhaps
        }
    }
}

/// Message about a command that does not exist.
const CANNOT_START: &str = "cannot be started";

/// Message about a command that takes too long.
pub(super) const NO_ANSWER: &str = "did not answer";

/// Answers of the batch system.
#[derive(Clone, Debug)]
pub(super) enum Said {
    /// A job was taken; jobs of this number are this pilot.
    Taken(Ticket, String),
    /// A job was not taken.
    NotTaken { ticket: Ticket, why: String, refusal: Refusal },
    /// All jobs of the run that it knows of.
    Listing(BTreeMap<Ticket, (String, State)>),
}

enum Wish {
    Submit(Box<Submission>),
    SubmitArray(Box<ArraySubmission>),
    Cancel(String),
    Look,
}

/// The thread that runs the commands of Slurm, and the channel to it.
pub(super) struct SlurmClient {
    wishes: Option<Sender<Wish>>,
    clerk: Option<JoinHandle<()>>,
}

impl SlurmClient {
    /// A clerk for one run; `extra` are words added to every submission, `every` is the time
    /// between two queries of the queue.
    pub(super) fn new(
        run: String,
        extra: Vec<String>,
        every: Option<Duration>,
        tell: impl Fn(Said) + Send + 'static,
    ) -> SlurmClient {
        let (wishes, orders) = channel();
        let mut clerk = Clerk { run, extra, every, jobs: 0, nodes: None, limits: None };
        let clerk = std::thread::spawn(move || clerk.work(&orders, &tell));
        SlurmClient { wishes: Some(wishes), clerk: Some(clerk) }
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            let _ = wishes.send(wish); // it works until this is dropped
        }
    }

    pub(super) fn submit(&self, submission: Submission) {
        self.wish(Wish::Submit(Box::new(submission)));
    }

    pub(super) fn submit_array(&self, submission: ArraySubmission) {
        self.wish(Wish::SubmitArray(Box::new(submission)));
    }

    pub(super) fn cancel(&self, job: String) {
        self.wish(Wish::Cancel(job));
    }

    /// Queries the queue now.
    pub(super) fn look(&self) {
        self.wish(Wish::Look);
    }

    /// Everything that was wished for is done.
    pub(super) fn finish(&mut self) {
        self.wishes = None;
        if let Some(clerk) = self.clerk.take() {
            let _ = clerk.join();
        }
    }
}

struct Clerk {
    run: String,
    extra: Vec<String>,
    every: Option<Duration>,
    /// Jobs of the run in the queue, as far as is known.
    jobs: usize,
    /// Nodes of the cluster, once queried.
    nodes: Option<Vec<String>>,
    /// The longest jobs of partitions in seconds, once queried; the default one is named `*`.
    limits: Option<BTreeMap<String, f64>>,
}

impl Clerk {
    fn work(&mut self, orders: &Receiver<Wish>, tell: &dyn Fn(Said)) {
        let begin = Instant::now();
        let mut looked: Option<Instant> = None;
        let mut asked = false;
        loop {
            // A query does not wait long, however many there are.
            let pause = if asked { self.interval().min(POLL) } else { self.interval() };
            let due = match looked {
                None if asked => Instant::now(),
                looked => looked.unwrap_or(begin) + pause,
            };
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Wish::Submit(submission)) => {
                    tell(self.submit(*submission));
                    continue;
                }
                Ok(Wish::SubmitArray(array)) => {
                    self.submit_array(*array).into_iter().for_each(tell);
                    continue;
                }
                Ok(Wish::Cancel(job)) => {
                    let _ = say("scancel", &["--quiet", &job], "", PATIENCE); // it may be over
                    continue;
                }
                Ok(Wish::Look) => {
                    asked = true;
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            // While the controller is away nothing is known, and nothing has changed.
            if let Ok(listing) = self.listing() {
                let over = |state: &State| matches!(state, State::Over(_));
                self.jobs = listing.values().filter(|(_, state)| !over(state)).count();
                tell(Said::Listing(listing));
            }
            (looked, asked) = (Some(Instant::now()), false);
        }
    }

    /// Time between two queries of the queue.
    fn interval(&self) -> Duration {
        self.every.unwrap_or(if self.jobs > FEW { SELDOM } else { POLL })
    }

    /// Leaves the node to the batch system where it has none of that name.
    fn place(&mut self, submission: &mut Submission) {
        if self.nodes.is_none() {
            let listed = say("sinfo", &["--noheader", "--Node", "--format=%N"], "", PATIENCE);
            self.nodes = listed.ok().map(|text| text.lines().map(|l| l.trim().into()).collect());
        }
        let known = |node: &String| self.nodes.as_ref().is_some_and(|nodes| nodes.contains(node));
        submission.node = submission.node.take().filter(known);
        if submission.ticket.post.only.is_some() {
            let limit = self.limit_of(submission);
            submission.seconds = submission.seconds.map(|seconds| seconds.min(limit));
        }
    }

    fn submit_array(&mut self, mut array: ArraySubmission) -> Vec<Said> {
        self.place(&mut array.first);
        let words = array.words(&self.run, &self.extra);
        let answer = say("sbatch", &words, &array.first.script, PATIENCE);
        let tickets = array.tickets();
        match answer {
            Ok(text) => {
                self.jobs += tickets.len();
                let job = text.trim().split(';').next().unwrap_or_default();
                let taken = |(ticket, index)| Said::Taken(ticket, format!("{job}_{index}"));
                tickets.into_iter().map(taken).collect()
            }
            Err(why) => {
                let refusal = Refusal::of(&why);
                let refused = |(ticket, _)| Said::NotTaken { ticket, why: why.clone(), refusal };
                tickets.into_iter().map(refused).collect()
            }
        }
    }

    fn submit(&mut self, mut submission: Submission) -> Said {
        let ticket = submission.ticket;
        self.place(&mut submission);
        let words = submission.words(&self.run, &self.extra);
        match say("sbatch", &words, &submission.script, PATIENCE) {
            Ok(text) => {
                self.jobs += 1;
                let job = text.trim().split(';').next().unwrap_or_default().to_string();
                Said::Taken(ticket, job)
            }
            Err(why) => {
                let refusal = Refusal::of(&why);
                Said::NotTaken { ticket, why, refusal }
            }
        }
    }

    /// The longest a job can last in the partition that a submission goes to.
    fn limit_of(&mut self, submission: &Submission) -> f64 {
        let limits = self.limits.get_or_insert_with(|| {
            let listed = say("sinfo", &["--noheader", "--format=%P|%l"], "", PATIENCE);
            listed.unwrap_or_default().lines().filter_map(partition_limit).flatten().collect()
        });
        let said = submission.options.words.iter().chain(&self.extra).rev();
        let mut named = said.filter(|word| option_name(word) == "--partition");
        let named = named.next().map(|word| match word.strip_prefix("-p") {
            Some(name) => name.trim(),
            None => word.split_once('=').map_or("", |(_, name)| name),
        });
        let partition = named.or(submission.options.partition.as_deref()).unwrap_or("*");
        limits.get(partition).copied().unwrap_or(f64::INFINITY)
    }

    fn listing(&self) -> Result<BTreeMap<Ticket, (String, State)>, String> {
        let words = ["--me", "--noheader", "--array", "--states=all", "--format=%i|%T|%j|%r"];
        let text = say("squeue", &words, "", PATIENCE)?;
        Ok(text.lines().filter_map(|line| entry(line, &self.run)).collect())
    }
}

/// A line of `sinfo` that says how long jobs of a partition can last; the usual one has a second name.
fn partition_limit(line: &str) -> Option<Vec<(String, f64)>> {
    let (name, limit) = line.trim().split_once('|')?;
    let limit = slurm_seconds(limit).filter(|limit| *limit > 0.0)?;
    let usual = name.strip_suffix('*');
    let names = [Some(usual.unwrap_or(name)), usual.map(|_| "*")];
    Some(names.into_iter().flatten().map(|name| (name.to_string(), limit)).collect())
}

/// A line of `squeue`, if it is about this run.
fn entry(line: &str, run: &str) -> Option<(Ticket, (String, State))> {
    let mut words = line.trim().splitn(4, '|');
    let (job, state, name) = (words.next()?, words.next()?, words.next()?);
    let reason = words.next().unwrap_or_default();
    let state = match state {
        "PENDING" | "CONFIGURING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" => {
            State::Waits(reason.to_string())
        }
        "RUNNING" | "SUSPENDED" | "STOPPED" | "RESIZING" | "SIGNALING" | "STAGE_OUT" => State::Runs,
        over => State::Over(over.to_string()),
    };
    let index = job.split_once('_').and_then(|(_, index)| index.parse().ok());
    Some((Ticket::of(name, run, index)?, (job.to_string(), state)))
}

/// Output of a command; an error holds its message.
pub(super) fn say(
    program: &str,
    words: &[impl AsRef<OsStr>],
    input: &str,
    patience: Duration,
) -> Result<String, String> {
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                format!("{program} {CANNOT_START}: {e}")
            }
            // Too many processes or open files, for now.
            _ => format!("{program} {NO_ANSWER}: {e}"),
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        let _ = stdin.write_all(input.as_bytes()); // who does not read it says why
    }
    let read = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes); // as much as there is
            }
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let out = read(child.stdout.take().map(|p| Box::new(p) as Box<dyn Read + Send>));
    let err = read(child.stderr.take().map(|p| Box::new(p) as Box<dyn Read + Send>));
    let (out, err) = match (out, err) {
        (Ok(out), Ok(err)) => (out, err),
        (Err(error), _) | (_, Err(error)) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{program} {NO_ANSWER}: no thread can be started: {error}"));
        }
    };
    let end = Instant::now() + patience;
    let status = loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) => break status,
            None if Instant::now() >= end => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{program} {NO_ANSWER}"));
            }
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
    if status.success() { Ok(out) } else { Err(complaint(program, &err)) }
}

/// Error message of a command, on one line.
fn complaint(program: &str, err: &str) -> String {
    let plain = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix(program).and_then(|l| l.strip_prefix(": ")).unwrap_or(line);
        line.strip_prefix("error: ").unwrap_or(line).to_string()
    };
    let lines: Vec<String> = err.lines().map(plain).filter(|line| !line.is_empty()).collect();
    format!("{program}: {}", lines.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_many_jobs_is_looked_at_seldom() {
        let clerk = |every, jobs| Clerk {
            run: String::new(),
            extra: vec![],
            every,
            jobs,
            nodes: None,
            limits: None,
        };
        assert_eq!(clerk(None, 10).interval(), Duration::from_secs(2));
        assert_eq!(clerk(None, 11).interval(), Duration::from_secs(30));
        let own = Some(Duration::from_secs(7));
        assert_eq!(clerk(own, 11).interval(), Duration::from_secs(7));
        assert_eq!(slurm_seconds("1-02:03:04"), Some(93_784.0));
        assert_eq!((slurm_seconds("5:00"), slurm_seconds("UNLIMITED")), (Some(300.0), None));
        let limits = |line| partition_limit(line).unwrap_or_default();
        assert_eq!(limits("main*|1-00:00:00").len(), 2);
        assert_eq!(limits("short|2:00"), [("short".to_string(), 120.0)]);
        assert!(limits("long|infinite").is_empty() && limits("n1").is_empty());
    }

    #[test]
    fn names_of_jobs_come_back_and_others_are_left_alone() {
        for only in [None, Some(OpId(31))] {
            let ticket = Ticket { post: SlotId { host: HostId(2), only }, number: 5 };
            assert_eq!(Ticket::of(&ticket.name("6fa-1c"), "6fa-1c", None), Some(ticket));
            assert_eq!(Ticket::of(&ticket.name("6fa-1c"), "6fa-1", None), None);
        }
        // Of an array each job has a task of its own.
        let first = Ticket { post: SlotId { host: HostId(2), only: Some(OpId(31)) }, number: 1 };
        let line = format!("19_4|PENDING|{}|Resources", first.array_name("6fa-1c"));
        let (ticket, (job, _)) = entry(&line, "6fa-1c").unwrap_or_else(|| panic!("{line}"));
        assert_eq!((ticket.post.only, ticket.number, job.as_str()), (Some(OpId(35)), 1, "19_4"));
        assert_eq!(entry(&line.replace("19_4", "19"), "6fa-1c"), None);
        let line = "17|PENDING|slackline-6fa-1c-h0-1|(ReqNodeNotAvail, UnavailableNodes:n1)";
        let (ticket, (job, state)) = entry(line, "6fa-1c").unwrap_or_else(|| panic!("{line}"));
        assert_eq!((ticket.post.host, ticket.number, job.as_str()), (HostId(0), 1, "17"));
        assert!(matches!(state, State::Waits(why) if why.contains("UnavailableNodes")));
        assert_eq!(entry("18|RUNNING|somebody-else|None", "6fa-1c"), None);
        let over = entry("17|NODE_FAIL|slackline-6fa-1c-h0-1|None", "6fa-1c");
        assert!(over.is_some_and(|(_, (_, state))| state == State::Over("NODE_FAIL".into())));
    }
}
