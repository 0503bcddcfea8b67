//! Cases as JSON or TOML: storages with operations and their dates, or with a script of operations on
//! files.

use super::files::{FileSystem, Op};
use super::unique::UniqueMap;
use serde::Deserialize;
use slackline_model::distribution::Distribution;
use slackline_model::platform::{
    DeclaredRoute, Disk, DiskModel, DiskSegment, HostSpec, LinkSpec, PlatformBuilder, RouteCache,
    RoutingKind, StockDisk,
};
use slackline_model::{DiskId, HostId, LinkId, Platform};
use std::collections::HashMap;
use thiserror::Error;

/// A case that makes no sense.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{0}")]
pub struct CaseError(pub String);

fn error<T>(message: impl Into<String>) -> Result<T, CaseError> {
    Err(CaseError(message.into()))
}

/// Operations on storages.
#[derive(Clone, Debug)]
pub enum Case {
    /// Operations that take time.
    Operations {
        /// Hosts, links, storages.
        platform: Box<Platform>,
        /// The operations, in the order of the file.
        operations: Vec<Operation>,
    },
    /// Operations on files, one after the other, without time.
    Script(Box<Script>),
}

/// Operations on files.
#[derive(Clone, Debug)]
pub struct Script {
    /// The files before the first operation.
    pub files: FileSystem,
    /// The operations.
    pub operations: Vec<Op>,
}

/// An operation that takes time.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// Its name.
    pub id: String,
    /// Kind of operation.
    pub kind: OperationKind,
    /// Bytes.
    pub bytes: f64,
    /// Earliest begin, in seconds.
    pub at: f64,
    /// Operations that have to be done before.
    pub after: Vec<usize>,
}

/// Kind of an operation, with its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// A host reads from a storage.
    Read(DiskId, HostId),
    /// A host writes to a storage.
    Write(DiskId, HostId),
    /// From a storage to a storage.
    Copy(DiskId, DiskId),
    /// From host to host.
    Transfer(HostId, HostId),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    #[allow(dead_code)] // for readers of the file
    about: Option<String>,
    #[serde(default)]
    storages: UniqueMap<StorageFile>,
    #[serde(default)]
    links: UniqueMap<LinkFile>,
    #[serde(default)]
    routes: UniqueMap<Vec<String>>,
    operations: Option<Vec<OperationFile>>,
    #[serde(default)]
    mounts: UniqueMap<UniqueMap<String>>,
    script: Option<Vec<ScriptLine>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum ModelName {
    #[serde(alias = "linear_no_lat")]
    Linear,
    Affine,
    Piecewise,
    Concurrency,
    Stochastic,
}

/// A bandwidth, one per number of accesses, or a distribution of durations.
#[derive(Deserialize)]
#[serde(untagged)]
enum Side {
    Bandwidth(f64),
    ByAccesses(Vec<f64>),
    Drawn(Distribution),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SegmentFile {
    from: f64,
    read: f64,
    write: f64,
    #[serde(default)]
    read_latency: f64,
    #[serde(default)]
    write_latency: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StorageFile {
    stock: Option<String>,
    model: Option<ModelName>,
    host: Option<String>,
    read: Option<Side>,
    write: Option<Side>,
    connection: Option<f64>,
    #[serde(default)]
    read_latency: f64,
    #[serde(default)]
    write_latency: f64,
    segments: Option<Vec<SegmentFile>>,
    stream: Option<String>,
    #[serde(default)]
    seed: u64,
    capacity: Option<f64>,
    #[serde(default)]
    files: UniqueMap<f64>,
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
struct OperationFile {
    id: String,
    op: String,
    bytes: f64,
    at: Option<f64>,
    #[serde(default)]
    after: Vec<String>,
    storage: Option<String>,
    host: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptLine {
    op: String,
    host: Option<String>,
    path: Option<String>,
    #[serde(rename = "as")]
    handle_new: Option<String>,
    handle: Option<String>,
    bytes: Option<f64>,
    to: Option<serde_json::Value>,
    #[serde(default)]
    create: bool,
}

/// A whole number of bytes.
fn whole(value: f64, what: impl FnOnce() -> String) -> Result<u64, CaseError> {
    if value >= 0.0 && value.fract() == 0.0 && value <= 9e15 {
        Ok(value as u64)
    } else {
        error(format!("{} is {value}; it has to be a whole number of bytes, 0 or more", what()))
    }
}

impl Case {
    /// Reads a case from JSON or TOML.
    pub fn parse(text: &str) -> Result<Case, CaseError> {
        let file: CaseFile = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| CaseError(e.to_string()))?
        } else {
            toml::from_str(text).map_err(|e| CaseError(e.to_string()))?
        };
        match (&file.operations, &file.script) {
            (Some(_), None) => operations(file),
            (None, Some(_)) => script(file),
            _ => error("a case has either `operations` or a `script`"),
        }
    }
}

/// A stock definition, with another capacity or connection where the case says so.
fn stock_disk(
    name: &str,
    host: HostId,
    stock: &str,
    file: &StorageFile,
) -> Result<Disk, CaseError> {
    let stock =
        StockDisk::named(stock).map_err(|why| CaseError(format!("storage `{name}`: {why}")))?;
    if file.model.is_some()
        || file.read.is_some()
        || file.write.is_some()
        || file.segments.is_some()
    {
        return error(format!("storage `{name}`: give either `stock`, or a model with its values"));
    }
    Ok(Disk {
        name: name.into(),
        host,
        read_bandwidth: stock.read_bandwidth,
        write_bandwidth: stock.write_bandwidth,
        connection_bandwidth: file.connection.or(stock.connection_bandwidth),
        capacity: file.capacity,
        model: stock.model,
        contents: None,
        mounts: Vec::new(),
        properties: None,
    })
}

fn disk(name: &str, host: HostId, file: StorageFile) -> Result<Disk, CaseError> {
    let missing = |what: &str| CaseError(format!("storage `{name}`: there is no `{what}`"));
    let wrong = |what: &str| CaseError(format!("storage `{name}`: `{what}` is not of its model"));
    if let Some(stock) = &file.stock {
        return stock_disk(name, host, stock, &file);
    }
    let StorageFile { model, read, write, connection, segments, capacity, stream, seed, .. } = file;
    let model = model.ok_or_else(|| missing("model"))?;
    let side = |side: Option<Side>, what: &str| side.ok_or_else(|| missing(what));
    let bandwidth = |value: Option<Side>, what: &str| match side(value, what)? {
        Side::Bandwidth(value) => Ok(value),
        _ => Err(wrong(what)),
    };
    let latencies = (file.read_latency, file.write_latency);
    let mut bandwidths = (1.0, 1.0);
    let model = match model {
        ModelName::Linear => {
            bandwidths = (bandwidth(read, "read")?, bandwidth(write, "write")?);
            DiskModel::Linear
        }
        ModelName::Affine => {
            bandwidths = (bandwidth(read, "read")?, bandwidth(write, "write")?);
            DiskModel::Affine { read_latency: latencies.0, write_latency: latencies.1 }
        }
        ModelName::Piecewise => {
            let segment = |s: SegmentFile| DiskSegment {
                from: s.from,
                read: s.read,
                write: s.write,
                read_latency: s.read_latency,
                write_latency: s.write_latency,
            };
            let segments = segments.ok_or_else(|| missing("segments"))?;
            DiskModel::Piecewise(segments.into_iter().map(segment).collect())
        }
        ModelName::Concurrency => {
            let list = |value: Option<Side>, what: &str| match side(value, what)? {
                Side::ByAccesses(list) => Ok(list),
                Side::Bandwidth(value) => Ok(vec![value]),
                Side::Drawn(_) => Err(wrong(what)),
            };
            DiskModel::Concurrency { read: list(read, "read")?, write: list(write, "write")? }
        }
        ModelName::Stochastic => {
            let drawn = |value: Option<Side>, what: &str| match side(value, what)? {
                Side::Drawn(distribution) => Ok(distribution),
                Side::Bandwidth(seconds) => Ok(Distribution::Constant(seconds)),
                Side::ByAccesses(_) => Err(wrong(what)),
            };
            DiskModel::Stochastic {
                read: drawn(read, "read")?,
                write: drawn(write, "write")?,
                stream: stream.unwrap_or_else(|| name.to_string()),
                seed,
            }
        }
    };
    let (read_bandwidth, write_bandwidth) = model.bandwidths().unwrap_or(bandwidths);
    Ok(Disk {
        name: name.into(),
        host,
        read_bandwidth,
        write_bandwidth,
        connection_bandwidth: connection,
        capacity,
        model,
        contents: None,
        mounts: Vec::new(),
        properties: None,
    })
}

/// Hosts are those that anything names.
struct Names {
    builder: PlatformBuilder,
    zone: slackline_model::ZoneId,
    hosts: HashMap<String, HostId>,
}

impl Names {
    fn host(&mut self, name: &str) -> Result<HostId, CaseError> {
        if let Some(&host) = self.hosts.get(name) {
            return Ok(host);
        }
        let spec = HostSpec::new(name, 1.0);
        let host = self.builder.add_host(self.zone, spec).map_err(|e| CaseError(e.to_string()))?;
        self.hosts.insert(name.to_string(), host);
        Ok(host)
    }
}

fn operations(file: CaseFile) -> Result<Case, CaseError> {
    let bad = |e: slackline_model::platform::PlatformError| CaseError(e.to_string());
    let mut builder = PlatformBuilder::new("storages");
    let zone = builder.add_zone(None, "centre", RoutingKind::Full).map_err(bad)?;
    let mut names = Names { builder, zone, hosts: HashMap::new() };
    let mut disks: HashMap<String, (DiskId, HostId)> = HashMap::new();
    for (name, storage) in file.storages.0 {
        let Some(host) = storage.host.clone() else {
            return error(format!("storage `{name}`: there is no `host`"));
        };
        let host = names.host(&host)?;
        let id = names.builder.add_disk(disk(&name, host, storage)?).map_err(bad)?;
        disks.insert(name, (id, host));
    }
    let mut links: HashMap<String, LinkId> = HashMap::new();
    for (name, link) in file.links.0 {
        let spec = LinkSpec::new(name.as_str(), link.bandwidth, link.latency);
        links.insert(name, names.builder.add_link(spec).map_err(bad)?);
    }
    for (ends, over) in file.routes.0 {
        let words: Vec<&str> = ends.split_whitespace().collect();
        let [src, dst] = words[..] else {
            return error(format!("route `{ends}`: name two hosts, `FROM TO`"));
        };
        let over = over.iter().map(|link| {
            let found = links.get(link).copied();
            found.ok_or_else(|| CaseError(format!("route `{ends}`: there is no link `{link}`")))
        });
        let over: Vec<LinkId> = over.collect::<Result<_, _>>()?;
        let (src, dst) = (names.host(src)?, names.host(dst)?);
        names.builder.add_route(zone, DeclaredRoute::between(src, dst, over)).map_err(bad)?;
    }
    let known: HashMap<String, HostId> = names.hosts.clone();
    let files = file.operations.unwrap_or_default();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (k, operation) in files.iter().enumerate() {
        if places.insert(&operation.id, k).is_some() {
            return error(format!("operation `{}` is there twice", operation.id));
        }
    }
    let mut all = Vec::with_capacity(files.len());
    for operation in &files {
        all.push(checked(operation, &disks, &known, &places)?);
    }
    check_circles(&all)?;
    let platform = Box::new(names.builder.build().map_err(bad)?);
    let mut routes = RouteCache::new();
    for Operation { id, kind, .. } in &all {
        let host_of = |disk: DiskId| platform.disk(disk).host;
        let (from, to) = kind.ends(host_of);
        if from != to && routes.route(&platform, from, to).is_err() {
            let name = |host: HostId| &platform.host(host).name;
            let (from, to) = (name(from), name(to));
            return error(format!("operation `{id}`: there is no route from `{from}` to `{to}`"));
        }
    }
    Ok(Case::Operations { platform, operations: all })
}

impl OperationKind {
    /// Hosts that bytes come from and go to.
    pub fn ends(&self, host_of: impl Fn(DiskId) -> HostId) -> (HostId, HostId) {
        match *self {
            OperationKind::Read(disk, host) => (host_of(disk), host),
            OperationKind::Write(disk, host) => (host, host_of(disk)),
            OperationKind::Copy(from, to) => (host_of(from), host_of(to)),
            OperationKind::Transfer(from, to) => (from, to),
        }
    }
}

fn checked(
    file: &OperationFile,
    disks: &HashMap<String, (DiskId, HostId)>,
    hosts: &HashMap<String, HostId>,
    places: &HashMap<&str, usize>,
) -> Result<Operation, CaseError> {
    let id = &file.id;
    let need = |value: &Option<String>, what: &str| {
        value.clone().ok_or_else(|| CaseError(format!("operation `{id}`: there is no `{what}`")))
    };
    let disk = |value: &Option<String>, what: &str| {
        let name = need(value, what)?;
        let found = disks.get(&name).copied();
        found.ok_or_else(|| CaseError(format!("operation `{id}`: there is no storage `{name}`")))
    };
    let host = |value: &Option<String>, what: &str| {
        let name = need(value, what)?;
        let found = hosts.get(&name).copied();
        found.ok_or_else(|| CaseError(format!("operation `{id}`: there is no host `{name}`")))
    };
    // The client is the storage's own host unless stated.
    let client = |disk: (DiskId, HostId)| match &file.host {
        Some(_) => host(&file.host, "host"),
        None => Ok(disk.1),
    };
    let kind = match file.op.as_str() {
        "read" => {
            let from = disk(&file.storage, "storage")?;
            OperationKind::Read(from.0, client(from)?)
        }
        "write" => {
            let to = disk(&file.storage, "storage")?;
            OperationKind::Write(to.0, client(to)?)
        }
        "copy" => OperationKind::Copy(disk(&file.storage, "storage")?.0, disk(&file.to, "to")?.0),
        "transfer" => OperationKind::Transfer(host(&file.from, "from")?, host(&file.to, "to")?),
        other => {
            let known = "read, write, copy, transfer";
            return error(format!("operation `{id}`: unknown op `{other}`; known: {known}"));
        }
    };
    for (what, value) in [("bytes", file.bytes), ("at", file.at.unwrap_or(0.0))] {
        if !(0.0..1e18).contains(&value) {
            return error(format!("operation `{id}`: {what} is {value}; it has to be 0 or more"));
        }
    }
    let after = file.after.iter().map(|name| {
        let found = places.get(name.as_str()).copied();
        found.ok_or_else(|| CaseError(format!("operation `{id}`: there is no operation `{name}`")))
    });
    let after = after.collect::<Result<_, _>>()?;
    let at = file.at.unwrap_or(0.0);
    Ok(Operation { id: id.clone(), kind, bytes: file.bytes, at, after })
}

/// Fails where operations wait for each other in a circle.
fn check_circles(operations: &[Operation]) -> Result<(), CaseError> {
    let mut waits: Vec<usize> = operations.iter().map(|op| op.after.len()).collect();
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (k, operation) in operations.iter().enumerate() {
        operation.after.iter().for_each(|&before| followers[before].push(k));
    }
    let mut ready: Vec<usize> = (0..operations.len()).filter(|&k| waits[k] == 0).collect();
    while let Some(k) = ready.pop() {
        for &follower in &followers[k] {
            waits[follower] -= 1;
            if waits[follower] == 0 {
                ready.push(follower);
            }
        }
    }
    match waits.iter().position(|&left| left > 0) {
        Some(k) => error(format!("operation `{}` waits for itself", operations[k].id)),
        None => Ok(()),
    }
}

fn script(file: CaseFile) -> Result<Case, CaseError> {
    let mut files = FileSystem::default();
    let mut stores: HashMap<String, usize> = HashMap::new();
    for (name, storage) in file.storages.0 {
        let what = |what: &str| format!("storage `{name}`: {what}");
        let capacity = storage.capacity.map(|c| whole(c, || what("its capacity"))).transpose()?;
        let mut sizes = Vec::new();
        for (path, size) in storage.files.0 {
            let size = whole(size, || what(&format!("the size of `{path}`")))?;
            if !path.starts_with('/') {
                return error(what(&format!("the path `{path}` does not begin with `/`")));
            }
            sizes.push((path, size));
        }
        let Some(store) = files.add_storage(&name, capacity, sizes) else {
            return error(what("its contents are larger than its capacity"));
        };
        stores.insert(name, store);
    }
    for (host, points) in file.mounts.0 {
        for (path, storage) in points.0 {
            let Some(&store) = stores.get(&storage) else {
                return error(format!("host `{host}` mounts `{storage}`, which is no storage"));
            };
            if !files.mount(&host, &path, store) {
                return error(format!("host `{host}` mounts two storages at `{path}`"));
            }
        }
    }
    let lines = file.script.unwrap_or_default().into_iter().enumerate();
    let operations = lines.map(|(k, line)| {
        op(&files, line).map_err(|e| CaseError(format!("line {} of the script: {e}", k + 1)))
    });
    let operations = operations.collect::<Result<_, _>>()?;
    Ok(Case::Script(Box::new(Script { files, operations })))
}

fn op(files: &FileSystem, line: ScriptLine) -> Result<Op, CaseError> {
    let ScriptLine { op, host, path, handle_new, handle, bytes, to, create } = line;
    let missing = |what: &str| CaseError(format!("{op}: there is no `{what}`"));
    let host = || {
        let host = host.clone().ok_or_else(|| missing("host"))?;
        if files.knows_host(&host) {
            Ok(host)
        } else {
            error(format!("{op}: there is no host `{host}`"))
        }
    };
    let path = || path.clone().ok_or_else(|| missing("path"));
    let handle = || handle.clone().ok_or_else(|| missing("handle"));
    let bytes = || whole(bytes.ok_or_else(|| missing("bytes"))?, || "bytes".into());
    let target = || match &to {
        Some(serde_json::Value::String(path)) => Ok(path.clone()),
        _ => Err(missing("to")),
    };
    let position = || match &to {
        Some(value) => whole(value.as_f64().ok_or_else(|| missing("to"))?, || "to".into()),
        None => Err(missing("to")),
    };
    Ok(match op.as_str() {
        "open" => {
            let handle = handle_new.clone().ok_or_else(|| missing("as"))?;
            Op::Open { host: host()?, path: path()?, handle, create }
        }
        "close" => Op::Close(handle()?),
        "seek" => Op::Seek(handle()?, position()?),
        "read" => Op::Read(handle()?, bytes()?),
        "write" => Op::Write(handle()?, bytes()?),
        "size" => Op::Size(host()?, path()?),
        "space" => Op::Space(host()?, path()?),
        "list" => Op::List(host()?, path()?),
        "delete" => Op::Delete(host()?, path()?),
        "rename" => Op::Rename(host()?, path()?, target()?),
        "copy" => Op::Copy(host()?, path()?, target()?),
        "move" => Op::Move(host()?, path()?, target()?),
        other => return error(format!("unknown op `{other}`")),
    })
}
