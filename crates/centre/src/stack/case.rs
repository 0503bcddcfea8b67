//! Cases as JSON or TOML: tasks, files, sites, storages, links and pilots.

use super::plan::{RecordFile, RunRecord};
use crate::batch::Policy;
use crate::storage::unique::UniqueMap;
use serde::Deserialize;
use slackline_model::distribution::Distribution;
use std::collections::{BTreeSet, HashMap};
use thiserror::Error;

/// An inconsistent case; the text names the member and the cause.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct CaseError(pub String);

pub(super) fn error<T>(message: impl Into<String>) -> Result<T, CaseError> {
    Err(CaseError(message.into()))
}

/// A task: one job.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// Its name.
    pub id: String,
    /// Amount of work: a site of speed `s` computes `s` units per second.
    pub work: f64,
    /// Files that are staged in, in this order.
    pub inputs: Vec<usize>,
    /// Files that are staged out, in this order.
    pub outputs: Vec<usize>,
    /// Tasks that have to be done before it, including the producers of its inputs; sorted, without duplicates.
    pub dependencies: Vec<usize>,
}

/// A file of the workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSpec {
    /// Its logical name.
    pub name: String,
    /// Size in bytes.
    pub bytes: f64,
    /// Storages that have it at the start, in the order in which they were registered.
    pub replicas: Vec<usize>,
    /// The task that writes it.
    pub producer: Option<usize>,
}

/// The batch system of a site with its background load.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchSite {
    /// Cores of the machine.
    pub cores: u64,
    /// Policy of the batch system.
    pub policy: Policy,
    /// Longest walltime that its queue allows, in seconds.
    pub max_walltime: Option<f64>,
    /// Background jobs: number, submission (s), run time (s), cores, walltime limit (s).
    pub background: Vec<(u64, f64, f64, u64, f64)>,
}

/// A site where pilots run.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteSpec {
    /// Its name.
    pub name: String,
    /// Work per second of a pilot.
    pub speed: f64,
    /// The preferred storage for reads and writes.
    pub close: Option<usize>,
    /// The batch system through which pilots have to go.
    pub batch: Option<BatchSite>,
    /// Bytes per second into the site, all transfers together.
    pub bandwidth_in: Option<f64>,
    /// Bytes per second out of the site, all transfers together.
    pub bandwidth_out: Option<f64>,
}

/// A storage element.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageSpec {
    /// Its name.
    pub name: String,
    /// Most concurrent transfers from and to it.
    pub max_active: usize,
    /// Capacity in bytes; none: unbounded.
    pub capacity: Option<f64>,
    /// Bytes per second into it.
    pub bandwidth_in: Option<f64>,
    /// Bytes per second out of it.
    pub bandwidth_out: Option<f64>,
}

/// A link, shared max-min by the transfers that cross it.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSpec {
    /// Its name.
    pub name: String,
    /// Bytes per second.
    pub bandwidth: f64,
    /// Seconds before the bytes of a transfer flow.
    pub latency: f64,
}

/// A pilot: a placeholder that pulls jobs once it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Its name.
    pub id: String,
    /// Its site.
    pub site: usize,
    /// Date of submission in seconds; 0 where it is not given.
    pub submit: f64,
    /// Date of its start; none where the batch system, a model or a record determines it.
    pub start: Option<f64>,
    /// Date at which it fails, in seconds.
    pub dies: Option<f64>,
    /// Longest life, in seconds.
    pub walltime: Option<f64>,
    /// Cores it requests at a batch site.
    pub cores: u64,
}

/// Models of free components.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Seconds from submission to start, by site.
    pub latency: Vec<Distribution>,
    /// Seconds between submissions of pilots.
    pub pacing: f64,
    /// Lifetime of pilots in seconds until they fail; none: they never do.
    pub lifetime: Option<Distribution>,
}

/// Assumed figures of the platform when that component is free, by site and by link.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformModel {
    /// Speeds of sites.
    pub speeds: Vec<f64>,
    /// Bandwidths of links, bytes per second.
    pub bandwidths: Vec<f64>,
}

/// A workflow, the services that run it, and possibly the record of such a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Description of the case.
    pub about: Option<String>,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Files.
    pub files: Vec<FileSpec>,
    /// Sites.
    pub sites: Vec<SiteSpec>,
    /// Storages.
    pub storages: Vec<StorageSpec>,
    /// The storage of sites without a close one, and the second choice of the others.
    pub default_storage: Option<usize>,
    /// Links.
    pub links: Vec<LinkSpec>,
    /// By storage and site: the links between them, from the storage on; the way back uses the same links.
    pub routes: HashMap<(usize, usize), Vec<usize>>,
    /// Pilots.
    pub pilots: Vec<Pilot>,
    /// Seconds of a round trip to the catalogue.
    pub catalogue_latency: f64,
    /// Seconds without a job after which a pilot leaves; infinite for never.
    pub idle_timeout: f64,
    /// Most attempts at a task; none: unlimited.
    pub max_attempts: Option<usize>,
    /// Models of free components.
    pub model: Option<Model>,
    /// Assumed figures of the platform when that component is free.
    pub platform_model: Option<PlatformModel>,
    /// Seed of random draws.
    pub seed: u64,
    /// The record of a run.
    pub record: Option<RunRecord>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    about: Option<String>,
    tasks: Option<Vec<TaskFile>>,
    files: Option<UniqueMap<f64>>,
    #[serde(default)]
    replicas: UniqueMap<Vec<String>>,
    sites: UniqueMap<SiteFile>,
    #[serde(default)]
    storages: UniqueMap<StorageFile>,
    default_storage: Option<String>,
    #[serde(default)]
    links: UniqueMap<LinkFile>,
    #[serde(default)]
    routes: UniqueMap<Vec<String>>,
    pilots: Vec<PilotFile>,
    #[serde(default)]
    catalogue_latency: f64,
    idle_timeout: Option<f64>,
    max_attempts: Option<usize>,
    model: Option<ModelFile>,
    platform_model: Option<PlatformModelFile>,
    #[serde(default)]
    seed: u64,
    record: Option<RecordFile>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    id: String,
    work: f64,
    #[serde(default)]
    inputs: Vec<String>,
    #[serde(default)]
    outputs: Vec<String>,
    #[serde(default)]
    after: Vec<String>,
    /// That many tasks, `id-1` to `id-N`, which write nothing.
    count: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SiteFile {
    speed: f64,
    close: Option<String>,
    batch: Option<BatchFile>,
    bandwidth_in: Option<f64>,
    bandwidth_out: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchFile {
    cores: u64,
    policy: String,
    max_walltime: Option<f64>,
    #[serde(default)]
    background: Vec<(u64, f64, f64, u64, f64)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StorageFile {
    max_active: Option<usize>,
    capacity: Option<f64>,
    bandwidth_in: Option<f64>,
    bandwidth_out: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LinkFile {
    bandwidth: f64,
    #[serde(default)]
    latency: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PilotFile {
    id: String,
    site: String,
    submit: Option<f64>,
    start: Option<f64>,
    dies: Option<f64>,
    walltime: Option<f64>,
    cores: Option<u64>,
    /// That many pilots, `id-1` to `id-N`.
    count: Option<usize>,
    /// Seconds between them.
    #[serde(default)]
    pacing: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelFile {
    #[serde(default)]
    latency: UniqueMap<Distribution>,
    #[serde(default)]
    pacing: f64,
    lifetime: Option<Distribution>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SpeedFile {
    speed: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BandwidthFile {
    bandwidth: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlatformModelFile {
    #[serde(default)]
    sites: UniqueMap<SpeedFile>,
    #[serde(default)]
    links: UniqueMap<BandwidthFile>,
}

/// A workflow for a stack that is described without one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Tasks, with inputs and outputs by place in `files`; dependencies without the producers of inputs.
    pub tasks: Vec<Task>,
    /// Names and sizes of files.
    pub files: Vec<(String, f64)>,
}

/// Most tasks that `count` may expand to.
const MOST_TASKS: usize = 10_000_000;
/// Most pilots of a case.
const MOST_PILOTS: usize = 10_000_000;
/// Upper bound of all amounts, so that sums stay finite.
const LARGEST: f64 = 1e18;

fn amount(value: f64, what: impl FnOnce() -> String) -> Result<f64, CaseError> {
    if (0.0..LARGEST).contains(&value) {
        Ok(value)
    } else {
        error(format!("{} is {value}; it has to be 0 or more", what()))
    }
}

fn positive(value: f64, what: impl FnOnce() -> String) -> Result<f64, CaseError> {
    if value > 0.0 && value < LARGEST {
        Ok(value)
    } else {
        error(format!("{} is {value}; it has to be above 0", what()))
    }
}

/// Positions of items by name.
struct Index<'a> {
    kind: &'static str,
    places: HashMap<&'a str, usize>,
}

impl<'a> Index<'a> {
    fn new(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<Self, CaseError> {
        let mut places = HashMap::new();
        for (k, name) in names.enumerate() {
            if places.insert(name, k).is_some() {
                return error(format!("{kind} `{name}` is there twice"));
            }
        }
        Ok(Index { kind, places })
    }

    fn find(&self, name: &str, by: impl FnOnce() -> String) -> Result<usize, CaseError> {
        let found = self.places.get(name).copied();
        found.ok_or_else(|| CaseError(format!("{}: there is no {} `{name}`", by(), self.kind)))
    }
}

impl Case {
    /// Reads a case from JSON or TOML.
    pub fn parse(text: &str) -> Result<Case, CaseError> {
        let mut file = parse(text)?;
        let Some(tasks) = file.tasks.take() else { return error("there are no `tasks`") };
        let work = work(tasks, file.files.take().unwrap_or_default())?;
        build(file, work, false)
    }

    /// Reads a stack without tasks from JSON or TOML, for a workflow from elsewhere. Files that no
    /// task writes are on the default storage, unless `replicas` has them.
    pub fn parse_stack(text: &str, work: Work) -> Result<Case, CaseError> {
        let file = parse(text)?;
        if file.tasks.is_some() || file.files.is_some() {
            return error("the workflow comes from elsewhere: leave out `tasks` and `files`");
        }
        build(file, work, true)
    }

    /// The case with another number of pilots: those of the case, repeated in turn. Its record does not apply any more.
    pub fn with_pilots(&self, count: usize) -> Case {
        let mut case = Case { record: None, ..self.clone() };
        let pilots = (0..count).filter_map(|k| {
            let pilot = self.pilots.get(k % self.pilots.len().max(1))?;
            let round = k / self.pilots.len().max(1);
            let id = if round == 0 { pilot.id.clone() } else { format!("{}+{round}", pilot.id) };
            Some(Pilot { id, ..pilot.clone() })
        });
        case.pilots = pilots.collect();
        case
    }

    /// Sites without pilots, where nothing can run.
    pub fn sites_without_pilots(&self) -> impl Iterator<Item = &str> + '_ {
        let used: BTreeSet<usize> = self.pilots.iter().map(|pilot| pilot.site).collect();
        let sites = self.sites.iter().enumerate().filter(move |(k, _)| !used.contains(k));
        sites.map(|(_, site)| site.name.as_str())
    }
}

fn parse(text: &str) -> Result<CaseFile, CaseError> {
    if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|e| CaseError(e.to_string()))
    } else {
        toml::from_str(text).map_err(|e| CaseError(e.to_string()))
    }
}

/// Tasks, with `count` expanded, and the files they name.
fn work(tasks: Vec<TaskFile>, files: UniqueMap<f64>) -> Result<Work, CaseError> {
    let mut all: Vec<(String, TaskFile)> = Vec::with_capacity(tasks.len());
    for task in tasks {
        let Some(count) = task.count else {
            all.push((task.id.clone(), task));
            continue;
        };
        if !task.outputs.is_empty() {
            return error(format!(
                "task `{}`: of several alike each would write its outputs",
                task.id
            ));
        }
        if all.len().saturating_add(count) > MOST_TASKS {
            return error(format!("task `{}`: there are more than {MOST_TASKS} tasks", task.id));
        }
        all.extend((1..=count).map(|k| (format!("{}-{k}", task.id), task.clone())));
    }
    let ids = Index::new("task", all.iter().map(|(id, _)| id.as_str()))?;
    let names = Index::new("file", files.0.iter().map(|(name, _)| name.as_str()))?;
    let mut tasks = Vec::with_capacity(all.len());
    for (id, task) in &all {
        let by = || format!("task `{id}`");
        let places = |index: &Index<'_>, list: &[String]| {
            list.iter().map(|name| index.find(name, by)).collect::<Result<Vec<usize>, _>>()
        };
        tasks.push(Task {
            id: id.clone(),
            work: task.work,
            inputs: places(&names, &task.inputs)?,
            outputs: places(&names, &task.outputs)?,
            dependencies: places(&ids, &task.after)?,
        });
    }
    Ok(Work { tasks, files: files.0 })
}

/// Checks a case. With a workflow from elsewhere, files without a producer or replica are on the default storage.
fn build(file: CaseFile, work: Work, is_elsewhere: bool) -> Result<Case, CaseError> {
    let storages = storages(file.storages)?;
    let by_storage = Index::new("storage", storages.iter().map(|s| s.name.as_str()))?;
    let default_storage = match &file.default_storage {
        Some(name) => Some(by_storage.find(name, || "default_storage".into())?),
        None => None,
    };
    let sites = sites(file.sites, &by_storage)?;
    let by_site = Index::new("site", sites.iter().map(|site| site.name.as_str()))?;
    let mut links = Vec::new();
    for (name, LinkFile { bandwidth, latency }) in file.links.0 {
        positive(bandwidth, || format!("link `{name}`: its bandwidth"))?;
        amount(latency, || format!("link `{name}`: its latency"))?;
        links.push(LinkSpec { name, bandwidth, latency });
    }
    let by_link = Index::new("link", links.iter().map(|link| link.name.as_str()))?;
    let mut routes = HashMap::new();
    for (ends, over) in file.routes.0 {
        let by = || format!("route `{ends}`");
        let words: Vec<&str> = ends.split_whitespace().collect();
        let [storage, site] = words[..] else {
            return error(format!("{}: name a storage and a site, `STORAGE SITE`", by()));
        };
        let over = over.iter().map(|link| by_link.find(link, by)).collect::<Result<_, _>>()?;
        let pair = (by_storage.find(storage, by)?, by_site.find(site, by)?);
        if routes.insert(pair, over).is_some() {
            return error(format!("{} is there twice", by()));
        }
    }
    let model = file.model.map(|model| self::model(model, &by_site, sites.len())).transpose()?;
    let platform_model = match file.platform_model {
        Some(assumed) => Some(platform_model(assumed, &by_site, &by_link, &sites, &links)?),
        None => None,
    };
    let pilots = pilots(file.pilots, &by_site, &sites)?;
    let (tasks, mut files) = check_work(work)?;
    replicas(&mut files, file.replicas, &by_storage)?;
    let mut readers: Vec<Option<usize>> = vec![None; files.len()];
    for (k, task) in tasks.iter().enumerate() {
        for &input in &task.inputs {
            readers[input].get_or_insert(k);
        }
    }
    for (spec, reader) in files.iter_mut().zip(readers) {
        let Some(reader) = reader else { continue };
        if spec.producer.is_some() || !spec.replicas.is_empty() {
            continue;
        }
        match default_storage.filter(|_| is_elsewhere) {
            Some(storage) => spec.replicas.push(storage),
            None => {
                return error(format!(
                    "file `{}`: task `{}` reads it, but no task writes it and it has no replica",
                    spec.name, tasks[reader].id
                ));
            }
        }
    }
    let idle_timeout = match file.idle_timeout {
        Some(seconds) => amount(seconds, || "idle_timeout".into())?,
        None => f64::INFINITY,
    };
    if file.max_attempts == Some(0) {
        return error("max_attempts is 0; it has to be 1 or more");
    }
    let catalogue_latency = amount(file.catalogue_latency, || "catalogue_latency".into())?;
    let ids = Index::new("task", tasks.iter().map(|task| task.id.as_str()))?;
    let by_pilot = Index::new("pilot", pilots.iter().map(|pilot| pilot.id.as_str()))?;
    let record = match file.record {
        Some(record) => {
            let task = |name: &str| ids.places.get(name).copied();
            let pilot = |name: &str| by_pilot.places.get(name).copied();
            Some(RunRecord::check(record, (tasks.len(), &task), (pilots.len(), &pilot))?)
        }
        None => None,
    };
    let case = Case {
        about: file.about,
        default_storage,
        routes,
        catalogue_latency,
        idle_timeout,
        max_attempts: file.max_attempts,
        model,
        platform_model,
        seed: file.seed,
        record,
        tasks,
        files,
        sites,
        storages,
        links,
        pilots,
    };
    check_routes(&case)?;
    Ok(case)
}

fn storages(files: UniqueMap<StorageFile>) -> Result<Vec<StorageSpec>, CaseError> {
    let mut storages = Vec::new();
    for (name, StorageFile { max_active, capacity, bandwidth_in, bandwidth_out }) in files.0 {
        if max_active == Some(0) {
            return error(format!("storage `{name}`: max_active is 0; it has to be 1 or more"));
        }
        for (what, value) in [
            ("capacity", capacity),
            ("bandwidth_in", bandwidth_in),
            ("bandwidth_out", bandwidth_out),
        ] {
            positive(value.unwrap_or(1.0), || format!("storage `{name}`: {what}"))?;
        }
        let max_active = max_active.unwrap_or(usize::MAX);
        storages.push(StorageSpec { name, max_active, capacity, bandwidth_in, bandwidth_out });
    }
    Ok(storages)
}

fn sites(files: UniqueMap<SiteFile>, storages: &Index<'_>) -> Result<Vec<SiteSpec>, CaseError> {
    let mut sites = Vec::new();
    for (name, file) in files.0 {
        let by = || format!("site `{name}`");
        positive(file.speed, || format!("{}: its speed", by()))?;
        let SiteFile { speed, close, batch, bandwidth_in, bandwidth_out } = file;
        for (what, value) in [("bandwidth_in", bandwidth_in), ("bandwidth_out", bandwidth_out)] {
            positive(value.unwrap_or(1.0), || format!("{}: {what}", by()))?;
        }
        let close = close.map(|storage| storages.find(&storage, by)).transpose()?;
        let batch = batch.map(|batch| self::batch(batch, &by())).transpose()?;
        sites.push(SiteSpec { name, speed, close, batch, bandwidth_in, bandwidth_out });
    }
    Ok(sites)
}

fn batch(file: BatchFile, by: &str) -> Result<BatchSite, CaseError> {
    let BatchFile { cores, policy, max_walltime, background } = file;
    let policy =
        policy.parse().map_err(|e: crate::batch::UnknownPolicy| CaseError(format!("{by}: {e}")))?;
    if cores == 0 || cores > 1 << 32 {
        return error(format!("{by}: batch: {cores} cores"));
    }
    for (number, submit, run, needs, limit) in &background {
        let of = |what: &str| format!("{by}: background job {number}: its {what}");
        amount(*submit, || of("submission"))?;
        amount(*run, || of("run time"))?;
        amount(*limit, || of("limit"))?;
        if *needs == 0 {
            return error(format!("{} are 0", of("cores")));
        }
    }
    if let Some(longest) = max_walltime {
        positive(longest, || format!("{by}: max_walltime"))?;
    }
    Ok(BatchSite { cores, policy, max_walltime, background })
}

fn model(file: ModelFile, sites: &Index<'_>, count: usize) -> Result<Model, CaseError> {
    let mut latency = vec![Distribution::Constant(0.0); count];
    for (site, wait) in file.latency.0 {
        if !wait.is_valid() {
            return error(format!("model.latency: that of site `{site}` has to be 0 s or more"));
        }
        latency[sites.find(&site, || "model.latency".into())?] = wait;
    }
    if file.lifetime.is_some_and(|lifetime| !lifetime.is_valid()) {
        return error("model.lifetime has to be 0 s or more");
    }
    let pacing = amount(file.pacing, || "model.pacing".into())?;
    Ok(Model { latency, pacing, lifetime: file.lifetime })
}

fn platform_model(
    file: PlatformModelFile,
    by_site: &Index<'_>,
    by_link: &Index<'_>,
    sites: &[SiteSpec],
    links: &[LinkSpec],
) -> Result<PlatformModel, CaseError> {
    let by = || "platform_model".to_string();
    let mut speeds: Vec<f64> = sites.iter().map(|site| site.speed).collect();
    for (site, SpeedFile { speed }) in file.sites.0 {
        positive(speed, || format!("platform_model: the speed of site `{site}`"))?;
        speeds[by_site.find(&site, by)?] = speed;
    }
    let mut bandwidths: Vec<f64> = links.iter().map(|link| link.bandwidth).collect();
    for (link, BandwidthFile { bandwidth }) in file.links.0 {
        positive(bandwidth, || format!("platform_model: the bandwidth of link `{link}`"))?;
        bandwidths[by_link.find(&link, by)?] = bandwidth;
    }
    Ok(PlatformModel { speeds, bandwidths })
}

fn pilots(
    files: Vec<PilotFile>,
    by_site: &Index<'_>,
    sites: &[SiteSpec],
) -> Result<Vec<Pilot>, CaseError> {
    let mut pilots: Vec<Pilot> = Vec::new();
    for file in files {
        let by = || format!("pilot `{}`", file.id);
        let site = by_site.find(&file.site, by)?;
        let dates = [
            ("submit", file.submit),
            ("start", file.start),
            ("dies", file.dies),
            ("walltime", file.walltime),
        ];
        for (what, value) in dates {
            amount(value.unwrap_or(0.0), || format!("{}: {what}", by()))?;
        }
        amount(file.pacing, || format!("{}: pacing", by()))?;
        let is_batch = sites[site].batch.is_some();
        if is_batch && file.start.is_some() {
            return error(format!(
                "{}: its start is for the batch system of site `{}` to say; give `submit`",
                by(),
                file.site
            ));
        }
        if is_batch && file.walltime.is_none() {
            return error(format!("{}: a batch system needs its `walltime`", by()));
        }
        let longest = sites[site].batch.as_ref().and_then(|batch| batch.max_walltime);
        if let (Some(longest), Some(walltime)) = (longest, file.walltime)
            && walltime > longest
        {
            return error(format!(
                "{}: its walltime is {walltime} s; the queue of site `{}` allows {longest} s",
                by(),
                file.site
            ));
        }
        let earliest = file.start.or(file.submit).unwrap_or(0.0);
        if file.dies.is_some_and(|dies| dies < earliest) {
            return error(format!("{}: it dies before it starts", by()));
        }
        if file.start.zip(file.submit).is_some_and(|(start, submit)| start < submit) {
            return error(format!("{}: it starts before it is submitted", by()));
        }
        if file.cores == Some(0) {
            return error(format!("{}: it asks for 0 cores", by()));
        }
        let count = file.count.unwrap_or(1);
        if pilots.len().saturating_add(count) > MOST_PILOTS {
            return error(format!("{}: there are more than {MOST_PILOTS} pilots", by()));
        }
        for k in 0..count {
            let later = k as f64 * file.pacing;
            pilots.push(Pilot {
                id: match file.count {
                    Some(_) => format!("{}-{}", file.id, k + 1),
                    None => file.id.clone(),
                },
                site,
                submit: file.submit.unwrap_or(0.0) + later,
                start: file.start.map(|start| start + later),
                dies: file.dies.map(|dies| dies + later),
                walltime: file.walltime,
                cores: file.cores.unwrap_or(1),
            });
        }
    }
    Index::new("pilot", pilots.iter().map(|pilot| pilot.id.as_str()))?;
    Ok(pilots)
}

fn check_work(work: Work) -> Result<(Vec<Task>, Vec<FileSpec>), CaseError> {
    let Work { mut tasks, files } = work;
    let mut specs = Vec::with_capacity(files.len());
    for (name, bytes) in files {
        amount(bytes, || format!("file `{name}`: its size"))?;
        specs.push(FileSpec { name, bytes, replicas: Vec::new(), producer: None });
    }
    for (k, task) in tasks.iter().enumerate() {
        amount(task.work, || format!("task `{}`: its work", task.id))?;
        for &output in &task.outputs {
            if let Some(other) = specs[output].producer.replace(k) {
                return error(format!(
                    "file `{}` is written by task `{}` and by task `{}`",
                    specs[output].name, tasks[other].id, task.id
                ));
            }
        }
    }
    for (k, task) in tasks.iter_mut().enumerate() {
        let producers = task.inputs.iter().filter_map(|&input| specs[input].producer);
        let all: BTreeSet<usize> = task.dependencies.iter().copied().chain(producers).collect();
        if all.contains(&k) {
            return error(format!("task `{}` depends on itself", task.id));
        }
        task.dependencies = all.into_iter().collect();
    }
    check_cycles(&tasks)?;
    Ok((tasks, specs))
}

/// Fails where dependencies have a cycle; the error names its tasks.
fn check_cycles(tasks: &[Task]) -> Result<(), CaseError> {
    let mut waits: Vec<usize> = tasks.iter().map(|task| task.dependencies.len()).collect();
    let followers = followers(tasks);
    let mut free: Vec<usize> = (0..tasks.len()).filter(|&k| waits[k] == 0).collect();
    let mut seen = 0;
    while let Some(k) = free.pop() {
        seen += 1;
        for &follower in &followers[k] {
            waits[follower] -= 1;
            if waits[follower] == 0 {
                free.push(follower);
            }
        }
    }
    if seen == tasks.len() {
        return Ok(());
    }
    // Each remaining task depends on another remaining one: following these dependencies leads into a cycle.
    let mut at = waits.iter().position(|&waits| waits > 0).unwrap_or(0);
    let mut order = vec![usize::MAX; tasks.len()];
    let mut path = Vec::new();
    while order[at] == usize::MAX {
        order[at] = path.len();
        path.push(at);
        let before = tasks[at].dependencies.iter().copied().find(|&before| waits[before] > 0);
        at = before.unwrap_or(at);
    }
    let names: Vec<&str> = path[order[at]..].iter().map(|&k| tasks[k].id.as_str()).collect();
    error(format!("tasks depend on each other in a circle: {}", names.join(" on ")))
}

/// Tasks that wait for each task.
pub(super) fn followers(tasks: &[Task]) -> Vec<Vec<usize>> {
    let mut followers = vec![Vec::new(); tasks.len()];
    for (k, task) in tasks.iter().enumerate() {
        task.dependencies.iter().for_each(|&before| followers[before].push(k));
    }
    followers
}

fn replicas(
    files: &mut [FileSpec],
    replicas: UniqueMap<Vec<String>>,
    storages: &Index<'_>,
) -> Result<(), CaseError> {
    let places: HashMap<String, usize> =
        files.iter().enumerate().map(|(k, file)| (file.name.clone(), k)).collect();
    for (name, list) in replicas.0 {
        let by = || format!("replicas of `{name}`");
        let Some(&file) = places.get(&name) else {
            return error(format!("{}: there is no file `{name}`", by()));
        };
        for storage in list {
            let storage = storages.find(&storage, by)?;
            if !files[file].replicas.contains(&storage) {
                files[file].replicas.push(storage);
            }
        }
    }
    Ok(())
}

/// Fails where the outputs of tasks have no route to their storage.
fn check_routes(case: &Case) -> Result<(), CaseError> {
    let Some(writer) = case.tasks.iter().find(|task| !task.outputs.is_empty()) else {
        return Ok(());
    };
    let used: BTreeSet<usize> = case.pilots.iter().map(|pilot| pilot.site).collect();
    for site in used {
        let SiteSpec { name, close, .. } = &case.sites[site];
        let Some(storage) = close.or(case.default_storage) else {
            return error(format!(
                "site `{name}` has no close storage and there is no default one: task `{}` cannot write",
                writer.id
            ));
        };
        if !case.routes.contains_key(&(storage, site)) {
            let storage = &case.storages[storage].name;
            return error(format!(
                "there is no route between storage `{storage}` and site `{name}`"
            ));
        }
    }
    Ok(())
}
