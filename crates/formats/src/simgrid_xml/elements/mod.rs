//! The meaning of the elements: a stack of those that are open, filled by their children and
//! turned into parts of the platform when they close.

mod machines;
mod network;

use super::attributes::Attributes;
use super::traces::parse_trace;
use super::values::{contents, shared, take_own};
use super::{own, pools};
use crate::error::{FormatError, Place, Result};
use machines::open_storage_type;
use slackline_io::Siblings;
use slackline_model::platform::{
    ClusterSpec, HostSpec, LinkSpec, Platform, PlatformBuilder, PlatformError, Profile, Properties,
    RoutingKind,
};
use slackline_model::resources::{Amount, SharedResource};
use slackline_model::units::Quantity;
use slackline_model::{HostId, ZoneId};
use std::collections::HashMap;
use std::sync::Arc;

/// An element that is open.
enum Frame {
    Platform,
    Zone(ZoneId, Properties),
    Host(Box<OpenHost>),
    Link(Box<LinkSpec>, Properties),
    Cluster(Box<ClusterSpec>, Properties),
    Route(OpenRoute),
    Disk(OpenDisk),
    StorageType(String, Storage),
    Storage(OpenStorage),
    Trace(String, Option<f64>, String),
    /// Nothing more to learn from its content.
    Leaf,
}

struct OpenHost {
    spec: HostSpec,
    properties: Properties,
    coordinates: Option<[f64; 3]>,
    disks: Vec<OpenDisk>,
    mounts: Vec<(String, String, usize)>,
}

struct OpenDisk {
    name: String,
    read: f64,
    write: f64,
    properties: Properties,
}

/// Storage of the older syntax: a type, or an instance that inherits from one.
#[derive(Clone, Default)]
pub(super) struct Storage {
    pub(super) read: Option<f64>,
    pub(super) write: Option<f64>,
    pub(super) connection: Option<f64>,
    pub(super) capacity: Option<f64>,
    pub(super) properties: Properties,
}

pub(super) struct OpenStorage {
    pub(super) name: String,
    pub(super) type_id: String,
    pub(super) attach: Option<String>,
    pub(super) properties: Properties,
    pub(super) offset: usize,
}

pub(super) struct OpenRoute {
    pub(super) src: String,
    pub(super) dst: String,
    pub(super) gateways: (Option<String>, Option<String>),
    pub(super) symmetrical: bool,
    pub(super) bypass: bool,
    pub(super) links: Vec<(String, Option<bool>)>,
    pub(super) zone: Option<ZoneId>,
    pub(super) offset: usize,
}

pub(super) struct Mount {
    pub(super) host: HostId,
    pub(super) disk: String,
    pub(super) attached_to: Option<String>,
    pub(super) path: String,
    pub(super) offset: usize,
}

pub(super) struct Connection {
    pub(super) kind: ConnectionKind,
    pub(super) trace: String,
    pub(super) element: String,
    pub(super) offset: usize,
}

#[derive(Clone, Copy)]
pub(super) enum ConnectionKind {
    Speed,
    HostState,
    Bandwidth,
    Latency,
    LinkState,
}

/// The platform as far as it has been read.
pub(super) struct Elements<'a> {
    pub(super) text: &'a str,
    pub(super) siblings: Option<Siblings<'a>>,
    pub(super) builder: PlatformBuilder,
    named: bool,
    stack: Vec<(Frame, usize)>,
    pub(super) routes: Vec<OpenRoute>,
    pub(super) host_links: Vec<(String, String, String, usize)>,
    pub(super) storage_types: HashMap<String, Storage>,
    pub(super) storages: Vec<OpenStorage>,
    pub(super) mounts: Vec<Mount>,
    pub(super) traces: HashMap<String, Option<Arc<Profile>>>,
    pub(super) connections: Vec<Connection>,
    trace_files: HashMap<String, Option<Arc<Profile>>>,
    origin: Option<(String, usize)>,
    /// Resources shared by the whole platform; some are licences in Slurm.
    resources: Vec<(Arc<str>, Amount)>,
    licences: Vec<String>,
    root_seen: bool,
}

impl<'a> Elements<'a> {
    pub(super) fn new(text: &'a str, name: Option<&str>, siblings: Option<Siblings<'a>>) -> Self {
        Elements {
            text,
            siblings,
            builder: PlatformBuilder::new(name.unwrap_or_default()),
            named: name.is_some(),
            stack: Vec::new(),
            routes: Vec::new(),
            host_links: Vec::new(),
            storage_types: HashMap::new(),
            storages: Vec::new(),
            mounts: Vec::new(),
            traces: HashMap::new(),
            connections: Vec::new(),
            trace_files: HashMap::new(),
            origin: None,
            resources: Vec::new(),
            licences: Vec::new(),
            root_seen: false,
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn at(&self, offset: usize) -> impl Fn(PlatformError) -> FormatError + 'a {
        let text = self.text;
        move |error| FormatError::at_offset(text, offset, error)
    }

    /// An element begins.
    pub(super) fn open(&mut self, element: &str, a: Attributes<'_>) -> Result<()> {
        if !self.root_seen {
            if element != "platform" {
                return Err(a.error("the first element of a platform file must be <platform>"));
            }
            self.root_seen = true;
        } else if element == "platform" {
            return Err(a.error("a file has one platform"));
        }
        let frame = match element {
            "platform" => Frame::Platform,
            "zone" | "AS" => self.open_zone(&a)?,
            "prop" | "model_prop" => self.property(&a)?,
            "host" => self.open_host(&a)?,
            "peer" => self.add_peer(&a)?,
            "disk" => Frame::Disk(OpenDisk {
                name: a.required(&["id"])?.to_string(),
                read: a.required_quantity(&["read_bw"], Quantity::Bandwidth)?,
                write: a.required_quantity(&["write_bw"], Quantity::Bandwidth)?,
                properties: Vec::new(),
            }),
            "mount" => self.mount(&a)?,
            "storage_type" => open_storage_type(&a)?,
            "storage" => Frame::Storage(OpenStorage {
                name: a.required(&["id"])?.to_string(),
                type_id: a.required(&["typeId"])?.to_string(),
                attach: a.get(&["attach"]).map(str::to_string),
                properties: contents(&a),
                offset: a.offset(),
            }),
            "router" => self.add_router(&a)?,
            "link" => self.open_link(&a)?,
            "backbone" => self.add_backbone(&a)?,
            "host_link" => {
                let host = a.required(&["id"])?.to_string();
                let (up, down) = (a.required(&["up"])?, a.required(&["down"])?);
                self.host_links.push((host, up.to_string(), down.to_string(), a.offset()));
                Frame::Leaf
            }
            "cluster" => self.open_cluster(&a)?,
            "cabinet" => self.add_cabinet(&a)?,
            "link_ctn" | "link:ctn" => self.route_link(&a)?,
            "trace" => open_trace(self, &a)?,
            "trace_connect" => self.connect(&a)?,
            _ => self.open_route(element, &a)?,
        };
        self.stack.push((frame, a.offset()));
        Ok(())
    }

    /// The innermost open element ends.
    pub(super) fn close(&mut self) -> Result<()> {
        let Some((frame, offset)) = self.stack.pop() else { return Ok(()) };
        self.close_frame(frame).map_err(|error| match error.place {
            // Errors found at the end of an element are reported at its beginning.
            Place::Whole => FormatError { place: Place::of_offset(self.text, offset), ..error },
            _ => error,
        })
    }

    fn close_frame(&mut self, frame: Frame) -> Result<()> {
        match frame {
            Frame::Zone(zone, mut properties) => {
                let own = OfZone::take(&mut properties)?;
                own.tell(&mut self.builder, zone)?;
                if !properties.is_empty() {
                    self.builder.set_zone_properties(zone, properties);
                }
            }
            Frame::Host(host) => self.close_host(*host)?,
            Frame::Link(mut spec, properties) => {
                spec.properties = shared(properties);
                self.builder.add_link(*spec).map_err(FormatError::new)?;
            }
            Frame::Cluster(mut spec, mut properties) => {
                let own = OfZone::take(&mut properties)?;
                let properties = take_own(&mut spec.host, properties)?;
                spec.host.properties = shared(properties);
                let parent = self.zone_or_root()?;
                let zone =
                    self.builder.add_cluster(Some(parent), *spec).map_err(FormatError::new)?;
                own.tell(&mut self.builder, zone)?;
            }
            Frame::Route(route) => self.routes.push(route),
            Frame::Disk(disk) => match self.stack.last_mut() {
                Some((Frame::Host(host), _)) => host.disks.push(disk),
                _ => return Err(FormatError::new("a <disk> is outside a <host>")),
            },
            Frame::StorageType(name, storage) => {
                if self.storage_types.insert(name.clone(), storage).is_some() {
                    let message = format!("the storage_type \"{name}\" is declared twice");
                    return Err(FormatError::new(message));
                }
            }
            Frame::Storage(storage) => self.storages.push(storage),
            Frame::Trace(name, period, text) => {
                let profile = parse_trace(&text, period)
                    .map_err(|e| FormatError::new(format!("<trace> \"{name}\": {e}")))?;
                self.traces.insert(name, profile.map(Arc::new));
            }
            Frame::Platform | Frame::Leaf => {}
        }
        Ok(())
    }

    /// Text between tags: meaningful in a trace only.
    pub(super) fn content(&mut self, content: &str, offset: usize) -> Result<()> {
        match self.stack.last_mut().map(|(frame, _)| frame) {
            Some(Frame::Trace(_, _, text)) => text.push_str(content),
            _ if content.trim().is_empty() => {}
            _ => return Err(FormatError::at_offset(self.text, offset, "text outside any element")),
        }
        Ok(())
    }

    /// Resolves what refers to other elements and builds the platform.
    pub(super) fn finish(mut self) -> Result<Platform> {
        if !self.root_seen {
            return Err(FormatError::new("there is no <platform> element"));
        }
        self.resolve_host_links()?;
        self.resolve_routes()?;
        self.resolve_storages()?;
        self.resolve_mounts()?;
        self.resolve_connections()?;
        let licences = std::mem::take(&mut self.licences);
        let all = std::mem::take(&mut self.resources).into_iter().map(|(name, amount)| {
            let slurm = licences.iter().any(|known| **known == *name);
            SharedResource { name, amount, slurm }
        });
        self.builder.set_resources(all.collect());
        if let Some((name, offset)) = self.origin.take() {
            let host = self.builder.host(&name).map_err(self.at(offset))?;
            self.builder.set_origin(host);
        }
        self.builder.build().map_err(FormatError::new)
    }

    /// The zone that is open; one is made for files that have none around their elements.
    fn zone_or_root(&mut self) -> Result<ZoneId> {
        let open = self.stack.iter().rev().find_map(|(frame, _)| match frame {
            Frame::Zone(zone, _) => Some(*zone),
            _ => None,
        });
        match open {
            Some(zone) => Ok(zone),
            None if self.builder.zone_count() > 0 => Ok(ZoneId(0)),
            None => {
                self.name_platform("platform");
                let name = "root zone";
                self.builder.add_zone(None, name, RoutingKind::Full).map_err(FormatError::new)
            }
        }
    }

    fn name_platform(&mut self, name: &str) {
        if !self.named {
            self.builder.set_name(name);
            self.named = true;
        }
    }

    fn open_zone(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        use RoutingKind::*;
        let kinds = [
            ("Full", Full),
            ("Floyd", Floyd),
            ("Dijkstra", Dijkstra),
            ("DijkstraCache", Dijkstra),
            ("Cluster", Star),
            ("Star", Star),
            ("Vivaldi", Vivaldi),
            ("None", None),
        ];
        a.required(&["routing"])?;
        let routing = a.choice("routing", &kinds, None)?;
        let name = a.required(&["id"])?;
        if name.starts_with(own::WRAP) && self.builder.zone_count() > 0 {
            return Ok(Frame::Leaf);
        }
        let parent = match self.stack.last() {
            Some((Frame::Zone(zone, _), _)) => Some(*zone),
            Some((Frame::Platform, _)) if self.builder.zone_count() == 0 => Option::None,
            _ => return Err(a.error("a zone is in the platform's one root zone or in a zone")),
        };
        self.name_platform(name);
        let zone = self.builder.add_zone(parent, name, routing).map_err(self.at(a.offset()))?;
        Ok(Frame::Zone(zone, Vec::new()))
    }

    fn property(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        let (name, value) = (a.required(&["id"])?, a.required(&["value"])?);
        let own_platform =
            [own::ORIGIN, own::NAME, own::RESOURCES, own::LICENCES, own::STORAGE].contains(&name);
        let pair = (name.to_string(), value.to_string());
        match self.stack.last_mut().map(|(frame, _)| frame) {
            Some(Frame::Zone(zone, _)) if own_platform && zone.0 == 0 => {
                let fail = |error: String| a.error(format!("property \"{name}\": {error}"));
                match name {
                    own::ORIGIN => self.origin = Some((pair.1, a.offset())),
                    own::RESOURCES => {
                        self.resources = pools::read_named(value).map_err(fail)?;
                    }
                    own::LICENCES => {
                        self.licences = value.split(',').map(|name| name.trim().into()).collect();
                    }
                    own::STORAGE => {
                        let bytes = Quantity::Size.parse_or_bare(value);
                        let bytes = bytes.map_err(|e| fail(e.to_string()))?;
                        self.builder.set_storage(bytes);
                    }
                    _ => {
                        self.builder.set_name(pair.1);
                    }
                }
            }
            Some(Frame::Zone(_, list) | Frame::Link(_, list) | Frame::Cluster(_, list)) => {
                list.push(pair);
            }
            Some(Frame::Host(host)) => {
                let remote: Vec<&str> = value.splitn(3, ':').collect();
                if let ("remote_disk", [path, disk, server]) = (name, remote.as_slice()) {
                    let disk = format!("{disk}:{server}");
                    host.mounts.push((disk, path.to_string(), a.offset()));
                } else {
                    host.properties.push(pair);
                }
            }
            Some(Frame::Disk(disk)) => disk.properties.push(pair),
            Some(Frame::Storage(storage)) => storage.properties.push(pair),
            Some(Frame::StorageType(_, storage)) => {
                let mut set = |slot: fn(&mut Storage) -> &mut Option<f64>| {
                    let parsed = Quantity::Bandwidth.parse_or_bare(value);
                    let parsed = parsed.map_err(|e| a.error(format!("{name}: {e}")))?;
                    *slot(storage) = Some(parsed);
                    Ok::<(), FormatError>(())
                };
                match name.to_ascii_lowercase().as_str() {
                    "bread" => set(|s| &mut s.read)?,
                    "bwrite" => set(|s| &mut s.write)?,
                    "bconnection" => set(|s| &mut s.connection)?,
                    _ => storage.properties.push(pair),
                }
            }
            _ => {}
        }
        Ok(Frame::Leaf)
    }

    fn connect(&mut self, a: &Attributes<'_>) -> Result<Frame> {
        use ConnectionKind::*;
        let kinds = [
            ("SPEED", Speed),
            ("POWER", Speed),
            ("HOST_AVAIL", HostState),
            ("BANDWIDTH", Bandwidth),
            ("LATENCY", Latency),
            ("LINK_AVAIL", LinkState),
        ];
        self.connections.push(Connection {
            kind: a.choice("kind", &kinds, HostState)?,
            trace: a.required(&["trace"])?.to_string(),
            element: a.required(&["element"])?.to_string(),
            offset: a.offset(),
        });
        Ok(Frame::Leaf)
    }

    /// The profile in the file that an attribute names; read once per file.
    fn trace_file(&mut self, a: &Attributes<'_>, names: &[&str]) -> Result<Option<Arc<Profile>>> {
        let Some(file) = a.get(names).filter(|file| !file.is_empty()) else { return Ok(None) };
        if let Some(profile) = self.trace_files.get(file) {
            return Ok(profile.clone());
        }
        let Some(siblings) = self.siblings else {
            return Err(a.error(format!("the trace file \"{file}\" cannot be found from a text")));
        };
        let read = siblings
            .read(file)
            .and_then(|(path, text)| parse_trace(&text, None).map_err(|e| e.in_file(&path)));
        // Both files are named: the trace, and the place that names it.
        let profile =
            read.map_err(|e| FormatError { help: e.help.clone(), fault: e.fault, ..a.error(e) })?;
        let profile = profile.map(Arc::new);
        self.trace_files.insert(file.to_string(), profile.clone());
        Ok(profile)
    }
}

fn open_trace(elements: &mut Elements<'_>, a: &Attributes<'_>) -> Result<Frame> {
    let name = a.required(&["id"])?;
    let period = a.number("periodicity")?;
    if let Some(profile) = elements.trace_file(a, &["file"])? {
        elements.traces.insert(name.to_string(), Some(profile));
        return Ok(Frame::Leaf);
    }
    Ok(Frame::Trace(name.to_string(), period, String::new()))
}

/// Our own properties of a zone: whether its hosts share their storage, its capacity, and the price of data
/// that leave it.
struct OfZone {
    shared_storage: Option<bool>,
    storage_capacity: Option<f64>,
    shared_resources: Option<String>,
    transfer_price: Option<f64>,
}

impl OfZone {
    /// Takes the properties out.
    fn take(properties: &mut Properties) -> Result<OfZone> {
        Ok(OfZone {
            shared_storage: take(properties, own::SHARED_STORAGE, "true or false")?,
            storage_capacity: take(properties, own::STORAGE_CAPACITY, "a number of bytes")?,
            shared_resources: take(properties, own::SHARED_RESOURCES, "name:amount")?,
            transfer_price: take(properties, own::TRANSFER_PRICE, "a number")?,
        })
    }

    fn tell(self, builder: &mut PlatformBuilder, zone: ZoneId) -> Result<()> {
        match self.storage_capacity {
            Some(bytes) if bytes >= 0.0 && bytes.is_finite() => builder.bound_storage(zone, bytes),
            Some(bytes) => {
                let key = own::STORAGE_CAPACITY;
                let message = format!("{key} is \"{bytes}\": expected a number of bytes");
                return Err(FormatError::new(message));
            }
            None if self.shared_storage == Some(true) => builder.share_storage(zone),
            None => {}
        }
        if let Some(text) = &self.shared_resources {
            let named = pools::read_named(text);
            let named = named.and_then(|named| {
                builder.share_resources(zone, named).map_err(|error| error.to_string())
            });
            let key = own::SHARED_RESOURCES;
            named.map_err(|e| FormatError::new(format!("property \"{key}\": {e}")))?;
        }
        match self.transfer_price {
            Some(price) => builder.set_transfer_price(zone, price).map_err(FormatError::new),
            None => Ok(()),
        }
    }
}

fn take<T: std::str::FromStr>(
    properties: &mut Properties,
    key: &str,
    expected: &str,
) -> Result<Option<T>> {
    let Some(at) = properties.iter().position(|(k, _)| k == key) else { return Ok(None) };
    let (_, value) = properties.remove(at);
    let bad = |_| FormatError::new(format!("{key} is \"{value}\": expected {expected}"));
    value.parse().map(Some).map_err(bad)
}
