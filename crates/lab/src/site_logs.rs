//! A site as its own logs show it: hosts, bandwidths and queue waits, each value with where it comes from.

use serde::Serialize;
use slackline_centre::stack::Case;
use slackline_formats::batch_log::BatchLog;
use slackline_formats::document::Recorded;
use slackline_formats::{FormatError, Result};
use slackline_model::distribution::Distribution;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Rule by which one bandwidth is derived from many observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BandwidthPolicy {
    /// The fastest transfer: lower ones are put down to load, which then has to be simulated.
    Max,
    /// The one in the middle.
    Median,
    /// The smallest with at least this part of all at or below it.
    Quantile(f64),
    /// The median, and every observation beside it.
    Empirical,
}

impl BandwidthPolicy {
    /// Reads `max`, `median`, `empirical` or a part such as `0.9`.
    pub fn parse(text: &str) -> std::result::Result<BandwidthPolicy, String> {
        match text {
            "max" => Ok(BandwidthPolicy::Max),
            "median" => Ok(BandwidthPolicy::Median),
            "empirical" => Ok(BandwidthPolicy::Empirical),
            part => match part.parse::<f64>() {
                Ok(part) if part > 0.0 && part <= 1.0 => Ok(BandwidthPolicy::Quantile(part)),
                _ => Err("max, median, empirical, or a part above 0 up to 1".to_string()),
            },
        }
    }

    /// The value for some observations; none where there are none.
    pub fn of(self, samples: &[f64]) -> Option<f64> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let part = match self {
            BandwidthPolicy::Max => 1.0,
            BandwidthPolicy::Quantile(part) => part,
            BandwidthPolicy::Median | BandwidthPolicy::Empirical => 0.5,
        };
        quantile(&sorted, part)
    }
}

/// The smallest of sorted values with at least a part of them at or below it.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// A host as one log shows it.
#[derive(Clone, Debug, PartialEq)]
struct Sighting {
    /// Digits of the date from the year on; empty if the log has none that can be read.
    date: String,
    source: String,
    cores: Option<f64>,
    speed: Option<SeenSpeed>,
    memory: Option<f64>,
}

/// A speed in flop/s and how it was derived.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SeenSpeed {
    value: f64,
    rule: &'static str,
}

/// Rule for speeds of machines whose clock a log states.
const BY_CLOCK: &str = "one flop per cycle";
/// Rule for speeds of hosts whose tasks a log shows.
const BY_TASKS: &str = "work of its tasks over their seconds";

/// A host, with the newest of each value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Host {
    /// Its site.
    pub site: String,
    /// Its cluster: its name without the number.
    pub cluster: String,
    /// Its name.
    pub name: String,
    /// Cores; 1 if no log contains them.
    pub cores: u32,
    /// Flop/s of a core: work of its tasks over their seconds, or one per cycle of its clock.
    pub speed: Option<f64>,
    /// Rule by which the speed was derived; empty where there is none.
    pub rule: &'static str,
    /// Bytes.
    pub memory: Option<f64>,
    /// Logs that show it.
    pub samples: usize,
    /// The log with the newest values, and its date.
    pub source: String,
    /// Digits of that date.
    pub date: String,
}

/// Bandwidth between two clusters, or within one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// The clusters.
    pub between: [String; 2],
    /// The bandwidth that was chosen, bytes per second.
    pub bandwidth: f64,
    /// Largest observation.
    pub max: f64,
    /// Median of the observations.
    pub median: f64,
    /// Observations, in order of size.
    pub samples: Vec<f64>,
    /// Logs they come from.
    pub sources: Vec<String>,
}

/// A distribution fitted to observations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The distribution, as files have it.
    pub distribution: Distribution,
    /// Largest distance between its and the empirical distribution function.
    pub distance: f64,
}

/// Waits of one queue of a site, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Waits {
    /// The site.
    pub site: String,
    /// The queue.
    pub queue: String,
    /// The log.
    pub source: String,
    /// Jobs with a known start.
    pub jobs: usize,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// The smallest wait with at least 95 % of the waits at or below it.
    pub p95: f64,
    /// Part of the jobs that reached their limit.
    pub killed: f64,
    /// Every twentieth of the empirical distribution, from the least to the largest wait.
    pub quantiles: Vec<f64>,
    /// Fitted distributions, the nearest first.
    pub fits: Vec<Fit>,
}

impl Waits {
    fn of(site: &str, queue: String, source: &str, mut list: Vec<f64>, killed: f64) -> Waits {
        list.sort_unstable_by(f64::total_cmp);
        let jobs = list.len();
        Waits {
            site: site.to_string(),
            queue,
            source: source.to_string(),
            jobs,
            mean: list.iter().sum::<f64>() / jobs as f64,
            median: quantile(&list, 0.5).unwrap_or(0.0),
            p95: quantile(&list, 0.95).unwrap_or(0.0),
            killed,
            quantiles: (0..=20).filter_map(|k| quantile(&list, f64::from(k) / 20.0)).collect(),
            fits: fits(&list),
        }
    }
}

/// A cluster as recorded runs show it, for the pilots of a stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cluster {
    /// The site.
    pub site: String,
    /// Its name.
    pub name: String,
    /// Flop/s of a pilot: work of tasks over their seconds.
    pub speed: f64,
    /// Places for tasks.
    pub pilots: usize,
    /// Tasks seen.
    pub tasks: usize,
    /// Logs that show it.
    pub sources: Vec<String>,
}

/// Waits of tasks of recorded runs other than transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Overhead {
    seconds: f64,
    operations: usize,
}

/// A recorded run with further facts from logs.
#[derive(Clone, Copy, Debug)]
pub struct SeenRun<'a> {
    /// The run: hosts as sites, and a record.
    pub case: &'a Case,
    /// Cores and memory (bytes) of the hosts, by site of the case.
    pub hosts: &'a [(Option<f64>, Option<f64>)],
    /// Transfers: names of both hosts, bytes, seconds.
    pub transfers: &'a [(String, String, f64, f64)],
    /// Files that tasks read and write, all together.
    pub operations: usize,
    /// Date, from the year on.
    pub date: &'a str,
}

/// Input that was skipped.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// The log.
    pub source: String,
    /// The line, where there is one.
    pub line: Option<usize>,
    /// Reason.
    pub cause: String,
}

/// Tasks that ran on a cluster: work, seconds, number, and the logs that show them.
type WorkSeen = (f64, f64, usize, Vec<String>);

/// Observations from logs, before they are combined.
#[derive(Clone, Debug, Default)]
pub struct SiteLogs {
    hosts: BTreeMap<(String, String, String), Vec<Sighting>>,
    rates: BTreeMap<(String, String), Vec<(f64, String)>>,
    waits: Vec<Waits>,
    /// Waits of pilots by site and cluster, with the logs that show them.
    pilot_waits: BTreeMap<(String, String), (Vec<f64>, String)>,
    /// Tasks by site and cluster.
    work: BTreeMap<(String, String), WorkSeen>,
    /// Places for tasks by site, cluster and host.
    places: BTreeMap<(String, String, String), usize>,
    overhead: Overhead,
    skipped: Vec<Skipped>,
    is_lenient: bool,
}

/// A site put together from logs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SitePicture {
    /// Schema of the document.
    pub schema: &'static str,
    /// Hosts by site, cluster and name.
    pub hosts: Vec<Host>,
    /// Bandwidths.
    pub links: Vec<Link>,
    /// Waits by queue; those of pilots of recorded runs by cluster.
    pub waits: Vec<Waits>,
    /// Clusters on which recorded runs ran tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<Cluster>,
    /// Seconds that a task waits per file, apart from transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<f64>,
    /// Input that was skipped.
    pub skipped: Vec<Skipped>,
}

/// The cluster of a host: its name up to the first dot, without a number at the end.
fn cluster_of(host: &str) -> String {
    let first = host.split('.').next().unwrap_or(host);
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    let stem = stem.trim_end_matches(['-', '_']);
    if stem.is_empty() { first.to_string() } else { stem.to_string() }
}

/// Transfers of fewer bytes say nothing of a bandwidth: they are dominated by latency.
pub const LEAST_BYTES: f64 = 1e4;

/// Digits of a date that begins with a year of four digits; empty otherwise.
fn date_digits(date: Option<&str>) -> String {
    let date = date.unwrap_or_default();
    let begins = date.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
    let body = date.split(['+', 'Z']).next().unwrap_or_default();
    let digits: String = body.chars().filter(char::is_ascii_digit).take(14).collect();
    let is_date =
        begins && digits.len() >= 8 && (digits.starts_with("19") || digits.starts_with("20"));
    if is_date { digits } else { String::new() }
}

impl SiteLogs {
    /// Nothing is known. Lenient: what is wrong is passed over and listed.
    pub fn new(is_lenient: bool) -> SiteLogs {
        SiteLogs { is_lenient, ..SiteLogs::default() }
    }

    fn wrong(&mut self, source: &str, line: Option<usize>, cause: String) -> Result<()> {
        if !self.is_lenient {
            let error = FormatError::new(cause);
            return Err(match line {
                Some(line) => error.on_line(line),
                None => error,
            });
        }
        self.skipped.push(Skipped { source: source.to_string(), line, cause });
        Ok(())
    }

    /// Adds the machines of a recorded run.
    pub fn add_run(&mut self, recorded: Option<&Recorded>, source: &str, site: &str) -> Result<()> {
        let Some(run) = recorded.and_then(|recorded| recorded.run.as_ref()) else {
            return self.wrong(source, None, "there is no recorded run in it".into());
        };
        if run.machines.is_empty() {
            return self.wrong(source, None, "the run names no machines".into());
        }
        let date = date_digits(run.executed_at.as_deref());
        for machine in &run.machines {
            let values = [machine.cores, machine.speed_mhz, machine.memory_bytes];
            if values.into_iter().flatten().any(|value| !(value > 0.0 && value < 1e18)) {
                let cause = format!("machine `{}` has a value that is not above 0", machine.name);
                self.wrong(source, None, cause)?;
                continue;
            }
            let key = (site.to_string(), cluster_of(&machine.name), machine.name.clone());
            self.hosts.entry(key).or_default().push(Sighting {
                date: date.clone(),
                source: source.to_string(),
                cores: machine.cores,
                speed: machine.speed_mhz.map(|mhz| SeenSpeed { value: mhz * 1e6, rule: BY_CLOCK }),
                memory: machine.memory_bytes,
            });
        }
        Ok(())
    }

    /// Adds a recorded run: hosts with the speeds that its tasks had there, transfers, waits of pilots, and other waits of
    /// tasks.
    pub fn add_recorded(&mut self, run: &SeenRun<'_>, source: &str, site: &str) -> Result<()> {
        let SeenRun { case, hosts, transfers, operations, date } = *run;
        let Some(record) = &case.record else {
            return self.wrong(source, None, "there is no recorded run in it".into());
        };
        let mut ran = vec![(0.0, 0.0, 0_usize); case.sites.len()];
        for (task, attempts) in case.tasks.iter().zip(&record.attempts) {
            for attempt in attempts {
                let Some(pilot) = attempt.pilot else { continue };
                let (work, seconds, count) = &mut ran[case.pilots[pilot].site];
                *work += task.work;
                *seconds += attempt.steps.last().copied().unwrap_or(0.0);
                *count += 1;
                self.overhead.seconds += attempt.steps.first().copied().unwrap_or(0.0);
            }
        }
        self.overhead.operations += operations;
        let date = date_digits(Some(date));
        for (k, host) in case.sites.iter().enumerate() {
            let (cores, memory) = hosts.get(k).copied().unwrap_or((None, None));
            let cluster = cluster_of(&host.name);
            let key = (site.to_string(), cluster.clone(), host.name.clone());
            let pilots = case.pilots.iter().zip(&record.pilots).filter(|(p, _)| p.site == k);
            let waits = pilots.map(|(_, life)| life.start.unwrap_or(0.0) - life.submit);
            let waits: Vec<f64> = waits.collect();
            let places = self.places.entry(key.clone()).or_default();
            *places = (*places).max(waits.len()).max(cores.unwrap_or(1.0) as usize);
            let by_cluster = (site.to_string(), cluster);
            let (work, seconds, tasks) = ran[k];
            if tasks > 0 {
                let seen = self.work.entry(by_cluster.clone()).or_default();
                (seen.0, seen.1, seen.2) = (seen.0 + work, seen.1 + seconds, seen.2 + tasks);
                if !seen.3.iter().any(|known| known == source) {
                    seen.3.push(source.to_string());
                }
                let known = self.pilot_waits.entry(by_cluster).or_default();
                known.0.extend(waits);
                known.1 = source.to_string();
            }
            let rule = if tasks > 0 { BY_TASKS } else { "as the run had it" };
            self.hosts.entry(key).or_default().push(Sighting {
                date: date.clone(),
                source: source.to_string(),
                cores,
                speed: Some(SeenSpeed { value: host.speed, rule }),
                memory,
            });
        }
        for (from, to, bytes, seconds) in transfers {
            self.overhead.seconds -= seconds;
            if *seconds > 0.0 && *bytes >= LEAST_BYTES {
                self.add_rate(from, to, bytes / seconds, source);
            }
        }
        Ok(())
    }

    fn add_rate(&mut self, from: &str, to: &str, rate: f64, source: &str) {
        let mut pair = [cluster_of(from), cluster_of(to)];
        pair.sort();
        let [a, b] = pair;
        self.rates.entry((a, b)).or_default().push((rate, source.to_string()));
    }

    /// Adds hosts and transfers of a trace of ours (`--trace FILE.jsonl`).
    pub fn add_trace(&mut self, text: &str, source: &str, site: &str) -> Result<()> {
        let mut begun: HashMap<(String, String, String), (f64, f64)> = HashMap::new();
        let mut last = f64::NEG_INFINITY;
        for (k, line) in text.lines().enumerate().skip(1) {
            let line_number = Some(k + 1);
            let Ok(value) = serde_json::from_str::<serde_json::Value>(line) else {
                self.wrong(source, line_number, "this is not a JSON document".into())?;
                continue;
            };
            let Some(at) = value["at"].as_f64() else { continue };
            if at < last {
                self.wrong(
                    source,
                    line_number,
                    format!("the clock goes back from {last} to {at}"),
                )?;
                continue;
            }
            last = at;
            let name = |member: &str| value[member].as_str().unwrap_or_default().to_string();
            for host in
                value["hosts"].as_array().into_iter().flatten().chain([&value["on"]["host"]])
            {
                if let Some(host) = host.as_str() {
                    self.sight(site, host, source);
                }
            }
            let key = (name("file"), name("from"), name("to"));
            match value["event"].as_str() {
                Some("transfer-started") => {
                    let bytes = value["bytes"].as_f64().unwrap_or(0.0);
                    begun.insert(key, (at, bytes));
                }
                Some("transfer-finished") => {
                    let Some((start, bytes)) = begun.remove(&key) else { continue };
                    for host in [&key.1, &key.2] {
                        self.sight(site, host, source);
                    }
                    // Transfers that take no time give no bandwidth, and small files are dominated by latency.
                    if at > start && bytes >= LEAST_BYTES {
                        self.add_rate(&key.1, &key.2, bytes / (at - start), source);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn sight(&mut self, site: &str, host: &str, source: &str) {
        let key = (site.to_string(), cluster_of(host), host.to_string());
        let sightings = self.hosts.entry(key).or_default();
        if sightings.iter().all(|sighting| sighting.source != source) {
            sightings.push(Sighting {
                date: String::new(),
                source: source.to_string(),
                cores: None,
                speed: None,
                memory: None,
            });
        }
    }

    /// Adds the waits of the queues of a batch log, which was read from `text`.
    pub fn add_batch_log(
        &mut self,
        log: &BatchLog,
        text: &str,
        source: &str,
        site: &str,
    ) -> Result<()> {
        let mut lines: Option<HashMap<&str, usize>> = None;
        let mut waits: BTreeMap<u32, (Vec<f64>, usize)> = BTreeMap::new();
        let mut known = 0;
        for job in &log.jobs {
            let Some(start) = job.start else { continue };
            known += 1;
            if start < job.submit {
                let cause = format!("job {} starts before it is submitted", job.number);
                let lines = lines.get_or_insert_with(|| lines_by_number(text));
                self.wrong(source, lines.get(&*job.number.to_string()).copied(), cause)?;
                continue;
            }
            let (list, killed) = waits.entry(job.queue).or_default();
            list.push(start - job.submit);
            *killed += usize::from(job.run > job.limit);
        }
        if known == 0 {
            return self.wrong(
                source,
                None,
                "no job of the log has a start: there are no waits".into(),
            );
        }
        for (queue, (list, killed)) in waits {
            let queue = log.queues.get(queue as usize).cloned().unwrap_or_default();
            let killed = killed as f64 / list.len() as f64;
            self.waits.push(Waits::of(site, queue, source, list, killed));
        }
        Ok(())
    }

    /// Puts everything together.
    pub fn picture(self, policy: BandwidthPolicy) -> SitePicture {
        let hosts = self.hosts.into_iter().map(|((site, cluster, name), mut seen)| {
            // The newest last; of equal dates the one that was read later.
            seen.sort_by(|a, b| a.date.cmp(&b.date));
            let newest = |of: fn(&Sighting) -> Option<f64>| seen.iter().rev().find_map(of);
            let speed = seen.iter().rev().find_map(|s| s.speed);
            let best = seen.iter().rev().find(|s| s.speed.is_some()).or(seen.last());
            Host {
                cores: newest(|s| s.cores).map_or(1, |cores| cores.ceil() as u32),
                speed: speed.map(|speed| speed.value),
                rule: speed.map_or("", |speed| speed.rule),
                memory: newest(|s| s.memory),
                samples: seen.len(),
                source: best.map_or_else(String::new, |s| s.source.clone()),
                date: best.map_or_else(String::new, |s| s.date.clone()),
                site,
                cluster,
                name,
            }
        });
        let links = self.rates.into_iter().filter_map(|((a, b), samples)| {
            let mut rates: Vec<f64> = samples.iter().map(|(rate, _)| *rate).collect();
            rates.sort_unstable_by(f64::total_cmp);
            let mut sources: Vec<String> = samples.into_iter().map(|(_, source)| source).collect();
            sources.sort();
            sources.dedup();
            Some(Link {
                between: [a, b],
                bandwidth: policy.of(&rates)?,
                max: quantile(&rates, 1.0)?,
                median: quantile(&rates, 0.5)?,
                samples: rates,
                sources,
            })
        });
        let places = self.places;
        let clusters =
            self.work.into_iter().map(|((site, name), (work, seconds, tasks, sources))| {
                let of = |key: &&(String, String, String)| key.0 == site && key.1 == name;
                let pilots = places.keys().filter(of).map(|key| places[key]).sum();
                let speed = if seconds > 0.0 { work / seconds } else { ASSUMED_SPEED };
                Cluster { pilots, speed, tasks, sources, site, name }
            });
        let clusters = clusters.collect();
        let pilots = self.pilot_waits.into_iter().map(|((site, cluster), (list, source))| {
            Waits::of(&site, format!("{PILOTS_OF}{cluster}"), &source, list, 0.0)
        });
        let Overhead { seconds, operations } = self.overhead;
        let mut waits = self.waits;
        waits.extend(pilots);
        SitePicture {
            schema: "slackline/platform-from-logs/1",
            hosts: hosts.collect(),
            links: links.collect(),
            waits,
            clusters,
            overhead: (operations > 0).then(|| seconds.max(0.0) / operations as f64),
            skipped: self.skipped,
        }
    }
}

/// Lines of a batch log by what they begin with, the number of a job.
fn lines_by_number(text: &str) -> HashMap<&str, usize> {
    let mut lines = HashMap::new();
    for (k, line) in text.lines().enumerate() {
        if let Some(word) = line.split([' ', '\t', '|']).find(|word| !word.is_empty()) {
            lines.entry(word).or_insert(k + 1);
        }
    }
    lines
}

/// Begin of the name of the queue in which pilots of a cluster wait.
const PILOTS_OF: &str = "pilots of ";

/// Distributions fitted to sorted values by maximum likelihood, the nearest first.
fn fits(sorted: &[f64]) -> Vec<Fit> {
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    if sorted.first() == sorted.last() {
        return vec![Fit { distribution: Distribution::Constant(mean), distance: 0.0 }];
    }
    let mut all = Vec::new();
    if mean > 0.0 {
        let cdf = |x: f64| 1.0 - (-x / mean).exp();
        let distance = distance(sorted, cdf);
        all.push(Fit { distribution: Distribution::Exponential { mean }, distance });
    }
    if sorted.first().is_some_and(|least| *least > 0.0) {
        let logs: Vec<f64> = sorted.iter().map(|x| x.ln()).collect();
        let mu = logs.iter().sum::<f64>() / n;
        let sigma = (logs.iter().map(|x| (x - mu).powi(2)).sum::<f64>() / n).sqrt();
        if sigma > 0.0 && sigma < 10.0 {
            let cdf = |x: f64| normal((x.ln() - mu) / sigma);
            let distance = distance(sorted, cdf);
            all.push(Fit { distribution: Distribution::LogNormal { mu, sigma }, distance });
        }
    }
    let deviation = (sorted.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    if deviation > 0.0 {
        // Cut off at 0, as it is drawn.
        let cdf = |x: f64| normal((x - mean) / deviation);
        let distance = distance(sorted, cdf);
        all.push(Fit { distribution: Distribution::Normal { mean, deviation }, distance });
    }
    all.sort_by(|a, b| a.distance.total_cmp(&b.distance));
    all
}

fn normal(z: f64) -> f64 {
    1.0 - slackline_analysis::statistics::distributions::normal_tail(z)
}

/// Kolmogorov's distance of sorted values from a distribution function; values that are equal count as a step.
fn distance(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let mut most: f64 = 0.0;
    let mut k = 0;
    while k < sorted.len() {
        let next = k + sorted[k..].partition_point(|value| *value <= sorted[k]);
        let expected = cdf(sorted[k]);
        most = most.max((expected - k as f64 / n).abs()).max((next as f64 / n - expected).abs());
        k = next;
    }
    most
}

/// Names as keys of TOML.
fn key(name: &str) -> String {
    serde_json::to_string(name).unwrap_or_default()
}

/// Speed written to the file if no log contains one.
const ASSUMED_SPEED: f64 = 1e9;

impl SitePicture {
    /// The platform as a file: hosts of a cluster that differ by no more than `tolerance` in speed, and in nothing else, become
    /// one template. Every value is followed by where it comes from.
    pub fn platform_toml(&self, tolerance: f64) -> String {
        let mut out = String::from("name = \"from logs\"\n");
        let mut groups: BTreeMap<(&str, &str), Vec<Vec<&Host>>> = BTreeMap::new();
        for host in &self.hosts {
            let list = groups.entry((&host.site, &host.cluster)).or_default();
            let alike = |other: &Host| {
                let speeds = [other.speed, host.speed].map(|s| s.unwrap_or(ASSUMED_SPEED));
                other.cores == host.cores
                    && other.memory == host.memory
                    && (speeds[0] - speeds[1]).abs() <= tolerance * speeds[0].max(speeds[1])
            };
            match list.iter_mut().find(|group| alike(group[0])) {
                Some(group) => group.push(host),
                None => list.push(vec![host]),
            }
        }
        let sites: std::collections::BTreeSet<&str> =
            self.hosts.iter().map(|host| host.site.as_str()).collect();
        for site in &sites {
            let _ = writeln!(out, "\n[site.{}]", key(site));
        }
        let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for ((site, cluster), list) in &groups {
            for (k, group) in list.iter().enumerate() {
                let name = match (sites.len(), k) {
                    (1, 0) => (*cluster).to_string(),
                    (1, _) => format!("{cluster}-type{}", k + 1),
                    (_, 0) => format!("{site}-{cluster}"),
                    _ => format!("{site}-{cluster}-type{}", k + 1),
                };
                named.entry(cluster).or_default().push(name.clone());
                // The newest speed represents the group.
                let Some(first) = group.iter().max_by(|a, b| a.date.cmp(&b.date)) else { continue };
                let names: Vec<&str> = group.iter().map(|host| host.name.as_str()).collect();
                let _ = writeln!(out, "\n[cluster.{}]", key(&name));
                let _ = writeln!(out, "site = {}", key(site));
                let _ = writeln!(out, "count = {}  # {}", group.len(), shortened(&names));
                let samples: usize = group.iter().map(|host| host.samples).sum();
                let date = if first.date.is_empty() { "no date" } else { &first.date };
                match first.speed {
                    Some(speed) => {
                        let _ = writeln!(
                            out,
                            "speed = \"{}f\"  # newest of {samples}: {} ({date}), {}",
                            speed, first.source, first.rule
                        );
                    }
                    None => {
                        let _ = writeln!(
                            out,
                            "speed = \"{ASSUMED_SPEED}f\"  # assumed: no log says it"
                        );
                    }
                }
                let _ = writeln!(out, "cores = {}", first.cores);
                if let Some(memory) = first.memory {
                    let _ = writeln!(out, "memory = \"{memory}B\"");
                }
                let within = self.links.iter().find(|l| l.between.iter().all(|c| c == cluster));
                if let Some(link) = within {
                    let _ = writeln!(out, "{}", bandwidth(link));
                }
            }
        }
        for link in self.links.iter().filter(|link| link.between[0] != link.between[1]) {
            let ends = link.between.each_ref().map(|cluster| named.get(cluster.as_str()));
            let [Some(from), Some(to)] = ends else { continue };
            for (a, b) in from.iter().flat_map(|a| to.iter().map(move |b| (a, b))) {
                let _ = writeln!(out, "\n[link.{}]", key(&format!("{a}-{b}")));
                let _ = writeln!(out, "between = [{}, {}]", key(a), key(b));
                let _ = writeln!(out, "{}", bandwidth(link));
            }
        }
        out
    }

    /// A stack for `simulate --stack`: clusters with their pilots, links, waits. Without recorded runs only the waits, as a part
    /// of one.
    pub fn stack_toml(&self) -> String {
        let mut out = String::new();
        let names = self.cluster_names();
        if !self.clusters.is_empty() {
            self.write_clusters(&names, &mut out);
        }
        out += "# Waits of pilots by site, the nearest of the fitted distributions.\n[model.latency]\n";
        let mut sites: BTreeMap<String, &Waits> = BTreeMap::new();
        for waits in &self.waits {
            let concerned: Vec<String> = if self.clusters.is_empty() {
                vec![waits.site.clone()]
            } else {
                let of = self.clusters.iter().zip(&names).filter(|(cluster, _)| {
                    let named = waits.queue.strip_prefix(PILOTS_OF);
                    cluster.site == waits.site && named.is_none_or(|name| name == cluster.name)
                });
                of.map(|(_, name)| name.clone()).collect()
            };
            for site in concerned {
                // Pilots of recorded runs count before jobs of others, and longer lists before shorter ones.
                let rank = |w: &Waits| (w.queue.starts_with(PILOTS_OF), w.jobs);
                let best = sites.entry(site).or_insert(waits);
                if rank(waits) > rank(best) {
                    *best = waits;
                }
            }
        }
        for (site, waits) in sites {
            let Some(fit) = waits.fits.first() else { continue };
            let _ = writeln!(
                out,
                "{} = {}  # {}, queue {}: {} jobs, distance {:.3}",
                key(&site),
                in_toml(fit.distribution),
                waits.source,
                waits.queue,
                waits.jobs,
                fit.distance
            );
        }
        out
    }

    /// Names of the clusters as sites of a stack.
    fn cluster_names(&self) -> Vec<String> {
        let is_one_site = self.clusters.iter().all(|c| c.site == self.clusters[0].site);
        let name = |c: &Cluster| {
            let name = if is_one_site { c.name.clone() } else { format!("{}-{}", c.site, c.name) };
            // Routes separate names by white space.
            name.split_whitespace().collect::<Vec<_>>().join("_")
        };
        self.clusters.iter().map(name).collect()
    }

    fn write_clusters(&self, names: &[String], out: &mut String) {
        let _ = writeln!(out, "default_storage = \"files\"  # inputs of the workflow");
        if let Some(overhead) = self.overhead {
            let _ = writeln!(
                out,
                "catalogue_latency = {overhead:.6}  # seconds that tasks waited per file, apart from transfers"
            );
        }
        let _ = writeln!(out, "\n[storages.files]");
        for (cluster, name) in self.clusters.iter().zip(names) {
            let sources: Vec<&str> = cluster.sources.iter().map(String::as_str).collect();
            let (store, within) = (key(&format!("{name}-store")), key(&format!("within {name}")));
            let _ = writeln!(out, "\n[storages.{store}]");
            let _ = writeln!(out, "\n[sites.{}]", key(name));
            let _ = writeln!(
                out,
                "speed = {:?}  # {} tasks in {}: {BY_TASKS}",
                cluster.speed,
                cluster.tasks,
                shortened(&sources)
            );
            let _ = writeln!(out, "close = {store}");
            let _ = writeln!(out, "\n[links.{within}]");
            let _ = writeln!(out, "{}", self.stack_bandwidth(&cluster.name, &cluster.name));
            let _ = writeln!(out, "\n[[pilots]]");
            let _ = writeln!(out, "id = {}", key(&format!("{name}-pilot")));
            let _ = writeln!(out, "site = {}", key(name));
            let _ = writeln!(out, "submit = 0");
            let _ = writeln!(out, "count = {}", cluster.pilots);
        }
        let pairs = (0..names.len()).flat_map(|a| (0..names.len()).map(move |b| (a, b)));
        let between: Vec<(usize, usize)> = pairs.filter(|(a, b)| a < b).collect();
        for &(a, b) in &between {
            let link = key(&format!("{} and {}", names[a], names[b]));
            let ends = [a, b].map(|k| self.clusters[k].name.as_str());
            let _ = writeln!(out, "\n[links.{link}]\n{}", self.stack_bandwidth(ends[0], ends[1]));
        }
        let _ = writeln!(out, "\n[routes]");
        for name in names {
            let _ = writeln!(out, "{} = []", key(&format!("files {name}")));
            let within = key(&format!("within {name}"));
            let _ = writeln!(out, "{} = [{within}]", key(&format!("{name}-store {name}")));
        }
        for &(a, b) in &between {
            let link = key(&format!("{} and {}", names[a], names[b]));
            for (from, to) in [(a, b), (b, a)] {
                let ends = key(&format!("{}-store {}", names[from], names[to]));
                let _ = writeln!(out, "{ends} = [{link}]");
            }
        }
        out.push('\n');
    }

    /// The bandwidth between two clusters, as a line of a stack.
    fn stack_bandwidth(&self, a: &str, b: &str) -> String {
        let mut ends = [a, b];
        ends.sort_unstable();
        let link =
            self.links.iter().find(|link| link.between.each_ref().map(String::as_str) == ends);
        match link {
            Some(link) => format!(
                "bandwidth = {:?}  # {} transfers in {}",
                link.bandwidth,
                link.samples.len(),
                shortened(&link.sources.iter().map(String::as_str).collect::<Vec<_>>())
            ),
            None => format!("bandwidth = {ASSUMED_BANDWIDTH:?}  # assumed: no transfer was seen"),
        }
    }
}

/// Bandwidth of a link of a stack over which no log shows a transfer, bytes per second.
const ASSUMED_BANDWIDTH: f64 = 1e9;

/// A distribution as a value of TOML.
fn in_toml(distribution: Distribution) -> String {
    match distribution {
        Distribution::Constant(value) => format!("{value:?}"),
        Distribution::Uniform { low, high } => {
            format!("{{ distribution = \"uniform\", low = {low:?}, high = {high:?} }}")
        }
        Distribution::Exponential { mean } => {
            format!("{{ distribution = \"exponential\", mean = {mean:?} }}")
        }
        Distribution::Normal { mean, deviation } => {
            format!("{{ distribution = \"normal\", mean = {mean:?}, deviation = {deviation:?} }}")
        }
        Distribution::LogNormal { mu, sigma } => {
            format!("{{ distribution = \"lognormal\", mu = {mu:?}, sigma = {sigma:?} }}")
        }
    }
}

fn bandwidth(link: &Link) -> String {
    let few = link.samples.len() <= 3;
    let samples = if few { "few: ".to_string() } else { String::new() };
    format!(
        "bandwidth = \"{}Bps\"  # {samples}{} transfers in {}; median {:.4e}, max {:.4e}",
        link.bandwidth,
        link.samples.len(),
        shortened(&link.sources.iter().map(String::as_str).collect::<Vec<_>>()),
        link.median,
        link.max
    )
}

/// The first names of a list.
fn shortened(names: &[&str]) -> String {
    let more = if names.len() > 3 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(3)].join(", "))
}
