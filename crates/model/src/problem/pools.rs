//! Pools: the resources other than cores that concurrent tasks share, and how much of each a task
//! holds.
//!
//! A pool is a capacity of one host, of a zone or of the platform that some task demands. A
//! demand is taken from every level above the host that has a resource of its name.

use super::{ProblemError, Stay};
use crate::ids::{HostId, ProcId, TaskId};
use crate::platform::{Host, Platform};
use crate::resources::{Amount, DeviceKind, Devices, PARTS, whole_down, whole_up};
use crate::workflow::Workflow;
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Number of a pool.
pub type PoolId = u32;

/// The part of the platform to which a pool belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// On one host.
    Host(HostId),
    /// Shared by the hosts of the zone of that name.
    Zone(Arc<str>),
    /// Shared by all hosts.
    Platform,
}

/// The unit of the amounts in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Whole devices, or slots of them.
    Devices,
    /// Ten-thousandths.
    Parts,
}

impl Unit {
    /// A sum in this unit, as a plain number.
    pub fn show(self, whole: u64) -> String {
        match self {
            Unit::Bytes => format!("{whole} B"),
            Unit::Devices => whole.to_string(),
            Unit::Parts => (whole as f64 / PARTS).to_string(),
        }
    }

    /// A sum in this unit, in short for people: sizes with a prefix.
    pub fn show_short(self, whole: u64) -> String {
        match self {
            Unit::Bytes => crate::units::fmt_bytes(whole as f64),
            _ => self.show(whole),
        }
    }

    /// The number of units of a sum.
    pub fn value(self, whole: u64) -> f64 {
        match self {
            Unit::Parts => whole as f64 / PARTS,
            _ => whole as f64,
        }
    }
}

/// One pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// `memory`, `gpus`, `gpus:KIND`, or the name of a resource.
    pub name: Arc<str>,
    /// The hosts that share it.
    pub scope: Scope,
    /// Total amount, in its unit.
    pub capacity: u64,
    /// Unit of the capacity and of all amounts.
    pub unit: Unit,
    /// Tasks that run at the same time could demand more than there is.
    pub binds: bool,
    /// Several hosts share it.
    pub is_shared: bool,
}

/// A resource that tasks ask for by one name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Memory,
    AnyGpus(u32),
    Gpus(Arc<str>),
    Named(Arc<str>, bool),
}

const MEMORY: u32 = 0;

/// A pool that several hosts share; all of them, if none are listed.
struct Common {
    name: Arc<str>,
    bytes: bool,
    pool: PoolId,
    hosts: Option<Arc<[HostId]>>,
}

/// A demand no host can meet, or the combination of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmet {
    /// Fewer cores than it needs.
    Cores,
    /// By the name of the pool it would take from.
    Pool(String),
    /// No window is long enough.
    Window,
    /// Each is met somewhere, all of them nowhere.
    Combination,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unmet::Cores => f.write_str("cores"),
            Unmet::Pool(name) => f.write_str(name),
            Unmet::Window => f.write_str("window"),
            Unmet::Combination => f.write_str("combination"),
        }
    }
}

/// The pools of a platform as the tasks of a workflow see them.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    pools: Vec<Pool>,
    keys: Vec<Key>,
    /// Per task, except for memory: keys and amounts; empty where no task demands any.
    want_start: Vec<u32>,
    wants: Vec<(u32, u64)>,
    /// Some task holds memory, and some host says how much it has.
    memory: bool,
    /// Per host and key: the pools it is taken from.
    level_start: Vec<u32>,
    levels: Vec<PoolId>,
    /// Per host; empty where no host has any.
    windows: Vec<Arc<[(f64, f64)]>>,
    /// Per host that is served for a limited time; empty where there is none.
    stays: Vec<Option<Stay>>,
    binds: bool,
}

impl Pools {
    /// The pools of a platform that some task of a workflow takes from.
    pub fn new(workflow: &Workflow, platform: &Platform) -> Pools {
        let mut pools = Pools::default();
        let windows = |host: &crate::platform::Host| {
            host.resources.as_ref().is_some_and(|own| !own.windows.is_empty())
        };
        if platform.hosts().iter().any(windows) {
            let of = |host: &crate::platform::Host| {
                host.resources.as_ref().map_or(Arc::from([]), |own| own.windows.as_slice().into())
            };
            pools.windows = platform.hosts().iter().map(of).collect();
            pools.binds = true;
        }
        let holds_memory = workflow.demands().memory > 0.0;
        pools.memory = holds_memory && platform.hosts().iter().any(|host| host.memory.is_some());
        if !pools.memory && !workflow.has_demands() {
            return pools;
        }
        pools.add_wants(workflow);
        pools.add_levels(platform);
        pools.find_binding(workflow, platform);
        pools
    }

    fn add_wants(&mut self, workflow: &Workflow) {
        let mut known: HashMap<Key, u32> = HashMap::from([(Key::Memory, MEMORY)]);
        self.keys.push(Key::Memory);
        if !workflow.has_demands() {
            return;
        }
        let keys = &mut self.keys;
        let mut number = |key: Key| {
            *known.entry(key).or_insert_with_key(|key| {
                keys.push(key.clone());
                keys.len() as u32 - 1
            })
        };
        self.want_start.push(0);
        for task in workflow.tasks() {
            if let Some(demand) = workflow.demand(task) {
                match &demand.gpus {
                    Some(Devices::Any(count)) if *count > 0 => {
                        self.wants.push((number(Key::AnyGpus(*count)), u64::from(*count)));
                    }
                    Some(Devices::Kinds(kinds)) => {
                        for (kind, count) in kinds.iter().filter(|(_, count)| *count > 0) {
                            self.wants.push((number(Key::Gpus(kind.clone())), u64::from(*count)));
                        }
                    }
                    _ => {}
                }
                for (name, amount) in demand.named.iter().filter(|(_, a)| a.whole() > 0) {
                    let key = Key::Named(name.clone(), amount.is_bytes());
                    self.wants.push((number(key), amount.whole()));
                }
            }
            self.want_start.push(self.wants.len() as u32);
        }
    }

    /// The pools, and which of them every host takes from for every key.
    fn add_levels(&mut self, platform: &Platform) {
        let mut shared: Vec<Common> = Vec::new();
        let asked = |name: &str, bytes: bool, keys: &[Key]| {
            keys.iter().any(|key| matches!(key, Key::Named(n, b) if **n == *name && *b == bytes))
        };
        let unit = |amount: Amount| if amount.is_bytes() { Unit::Bytes } else { Unit::Parts };
        let pool = |name: &Arc<str>, scope, amount: Amount| Pool {
            name: name.clone(),
            scope,
            capacity: amount.whole(),
            unit: unit(amount),
            binds: false,
            is_shared: true,
        };
        for own in platform.resources() {
            if asked(&own.name, own.amount.is_bytes(), &self.keys) {
                let id = self.pools.len() as PoolId;
                self.pools.push(pool(&own.name, Scope::Platform, own.amount));
                let (name, bytes) = (own.name.clone(), own.amount.is_bytes());
                shared.push(Common { name, bytes, pool: id, hosts: None });
            }
        }
        for own in platform.zone_resources() {
            if asked(&own.name, own.amount.is_bytes(), &self.keys) {
                let id = self.pools.len() as PoolId;
                self.pools.push(pool(&own.name, Scope::Zone(own.zone.clone()), own.amount));
                let (name, bytes) = (own.name.clone(), own.amount.is_bytes());
                shared.push(Common { name, bytes, pool: id, hosts: Some(own.hosts.clone()) });
            }
        }
        self.level_start.push(0);
        let memory: Arc<str> = "memory".into();
        for id in platform.host_ids() {
            let host = platform.host(id);
            let own = host.resources.as_deref();
            // Several keys may ask for devices of one kind: one pool for each kind.
            let mut kinds: Vec<Option<PoolId>> = vec![None; own.map_or(0, |own| own.gpus.len())];
            for key in 0..self.keys.len() {
                match self.keys[key].clone() {
                    Key::Memory => {
                        if let Some(bytes) = host.memory.filter(|_| self.memory) {
                            self.levels.push(self.pools.len() as PoolId);
                            self.pools.push(Pool {
                                name: memory.clone(),
                                scope: Scope::Host(id),
                                capacity: whole_down(bytes),
                                unit: Unit::Bytes,
                                binds: false,
                                is_shared: false,
                            });
                        }
                    }
                    key @ (Key::AnyGpus(_) | Key::Gpus(_)) => {
                        let gpus = own.map_or(&[][..], |own| own.gpus.as_slice());
                        let at = gpus.iter().position(|kind| match &key {
                            Key::AnyGpus(count) => kind.capacity() >= u64::from(*count),
                            Key::Gpus(name) => kind.name == *name,
                            _ => false,
                        });
                        if let Some(at) = at {
                            let pools = &mut self.pools;
                            let pool = *kinds[at].get_or_insert_with(|| {
                                pools.push(Pool {
                                    name: device_label(&gpus[at].name).into(),
                                    scope: Scope::Host(id),
                                    capacity: gpus[at].capacity(),
                                    unit: Unit::Devices,
                                    binds: false,
                                    is_shared: false,
                                });
                                pools.len() as PoolId - 1
                            });
                            self.levels.push(pool);
                        }
                    }
                    Key::Named(name, bytes) => {
                        let own = own.into_iter().flat_map(|own| &own.named);
                        for (known, amount) in own {
                            if *known == name && amount.is_bytes() == bytes {
                                self.levels.push(self.pools.len() as PoolId);
                                self.pools.push(Pool {
                                    is_shared: false,
                                    ..pool(&name, Scope::Host(id), *amount)
                                });
                            }
                        }
                        let common = shared.iter().filter(|c| c.name == name && c.bytes == bytes);
                        let above = common.filter(|c| {
                            c.hosts.as_ref().is_none_or(|hosts| hosts.binary_search(&id).is_ok())
                        });
                        self.levels.extend(above.map(|c| c.pool));
                    }
                }
                self.level_start.push(self.levels.len() as u32);
            }
        }
    }

    /// A pool binds where the tasks that its hosts can run at the same time may demand more than
    /// there is.
    fn find_binding(&mut self, workflow: &Workflow, platform: &Platform) {
        let mut cores = vec![0u64; self.pools.len()];
        let mut keys_of: Vec<Vec<u32>> = vec![Vec::new(); self.pools.len()];
        for host in platform.host_ids() {
            for key in 0..self.keys.len() as u32 {
                for &pool in self.levels(host, key) {
                    let pool = pool as usize;
                    if !keys_of[pool].contains(&key) {
                        keys_of[pool].push(key);
                    }
                }
            }
            let mut own: Vec<PoolId> =
                (0..self.keys.len() as u32).flat_map(|k| self.levels(host, k)).copied().collect();
            own.sort_unstable();
            own.dedup();
            for pool in own {
                cores[pool as usize] += u64::from(platform.host(host).cores);
            }
        }
        // Largest and total demand by key.
        let mut most = vec![(0u64, 0u64); self.keys.len()];
        let mut add = |key: u32, amount: u64| {
            let (largest, total) = &mut most[key as usize];
            *largest = (*largest).max(amount);
            *total = total.saturating_add(amount);
        };
        let widest = platform.hosts().iter().map(|h| h.cores).max().unwrap_or(1);
        for task in workflow.tasks() {
            let (least, most) = workflow.width(task);
            add(MEMORY, whole_up(workflow.memory_at(task, most.min(widest).max(least))));
            for &(key, amount) in self.wants(task) {
                add(key, amount);
            }
        }
        for (index, pool) in self.pools.iter_mut().enumerate() {
            let largest = keys_of[index].iter().map(|&k| most[k as usize].0).max().unwrap_or(0);
            let total = keys_of[index].iter().map(|&k| most[k as usize].1);
            let total = total.fold(0u64, u64::saturating_add);
            pool.binds = largest.saturating_mul(cores[index]).min(total) > pool.capacity;
            self.binds |= pool.binds;
        }
    }

    /// Whether concurrent tasks can meet in some pool, or some host has windows.
    #[inline]
    pub fn bind(&self) -> bool {
        self.binds
    }

    /// All pools.
    pub fn all(&self) -> &[Pool] {
        &self.pools
    }

    /// Whether some host has windows, or is served for a limited time.
    #[inline]
    pub fn has_windows(&self) -> bool {
        !self.windows.is_empty() || !self.stays.is_empty()
    }

    /// Whether the platform states windows: a task that none of them holds fits nowhere.
    pub(crate) fn states_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    /// The time for which a host is served, where that is limited.
    pub fn stay(&self, host: HostId) -> Option<&Stay> {
        self.stays.get(host.index())?.as_ref()
    }

    /// A host is served for another time, or for an unlimited one.
    pub fn set_stay(&mut self, host: HostId, stay: Option<Stay>) {
        if self.stays.len() <= host.index() {
            self.stays.resize(host.index() + 1, None);
        }
        self.stays[host.index()] = stay;
        self.binds |= stay.is_some();
    }

    /// The windows of a host; empty where it is always there.
    #[inline]
    pub fn windows(&self, host: HostId) -> &[(f64, f64)] {
        self.windows.get(host.index()).map_or(&[], |windows| windows)
    }

    /// The pools with all windows so many seconds earlier: for dates that count from later on.
    pub fn earlier(&self, seconds: f64) -> Pools {
        let moved = |windows: &Arc<[(f64, f64)]>| {
            windows.iter().map(|(from, to)| (from - seconds, to - seconds)).collect()
        };
        let earlier = |stay: &Option<Stay>| stay.map(|stay| stay.earlier(seconds));
        Pools {
            windows: self.windows.iter().map(moved).collect(),
            stays: self.stays.iter().map(earlier).collect(),
            ..self.clone()
        }
    }

    /// The earliest date, not before `from`, at which a window of a host holds so many seconds, and whoever
    /// serves it is there for as long; infinite where none does.
    pub fn in_window(&self, host: HostId, from: f64, seconds: f64) -> f64 {
        let windows = self.windows(host);
        let Some(stay) = self.stay(host) else {
            return if windows.is_empty() { from } else { earliest_in(windows, from, seconds) };
        };
        let mut date = from;
        // Windows are finite in number, and each round but the last moves to a later one.
        loop {
            let served = stay.earliest(date, seconds);
            let open = match windows {
                [] => served,
                windows => earliest_in(windows, served, seconds),
            };
            if open <= served || open.is_infinite() {
                return open;
            }
            date = open;
        }
    }

    #[inline]
    fn levels(&self, host: HostId, key: u32) -> &[PoolId] {
        if self.level_start.is_empty() {
            return &[];
        }
        let at = host.index() * self.keys.len() + key as usize;
        &self.levels[self.level_start[at] as usize..self.level_start[at + 1] as usize]
    }

    #[inline]
    fn wants(&self, task: TaskId) -> &[(u32, u64)] {
        if self.want_start.is_empty() {
            return &[];
        }
        let at = task.index();
        &self.wants[self.want_start[at] as usize..self.want_start[at + 1] as usize]
    }

    /// Passes on the pools and amounts that a task with `width` cores holds, no pool twice, where
    /// `own` of them are on a host. Pools that several hosts share come with every host.
    #[inline]
    pub fn each_use(
        &self,
        workflow: &Workflow,
        task: TaskId,
        (host, own, width): (HostId, u32, u32),
        mut each: impl FnMut(PoolId, u64),
    ) {
        if self.level_start.is_empty() {
            return;
        }
        if self.memory {
            for &pool in self.levels(host, MEMORY) {
                let held = share_of_memory(workflow, task, own, width);
                if held > 0 {
                    each(pool, held);
                }
            }
        }
        for &(key, amount) in self.wants(task) {
            for &pool in self.levels(host, key) {
                each(pool, amount);
            }
        }
    }

    /// Returns the pools and amounts that a task on some processors holds, by pool, each once.
    pub fn uses(
        &self,
        workflow: &Workflow,
        task: TaskId,
        procs: &[ProcId],
        host_of: impl Fn(ProcId) -> HostId,
    ) -> Vec<(PoolId, u64)> {
        let width = procs.len() as u32;
        if let [proc] = procs {
            let mut uses: Vec<(PoolId, u64)> = Vec::with_capacity(2);
            let at = (host_of(*proc), 1, 1);
            self.each_use(workflow, task, at, |pool, amount| uses.push((pool, amount)));
            uses.sort_unstable();
            return uses;
        }
        let mut hosts: Vec<(HostId, u32)> = Vec::new();
        for &proc in procs {
            let host = host_of(proc);
            match hosts.iter_mut().find(|(known, _)| *known == host) {
                Some((_, cores)) => *cores += 1,
                None => hosts.push((host, 1)),
            }
        }
        let mut uses: Vec<(PoolId, u64)> = Vec::new();
        for (host, own) in hosts {
            self.each_use(workflow, task, (host, own, width), |pool, amount| {
                // What several of its hosts share is taken once.
                if !uses.iter().any(|u| u.0 == pool) {
                    uses.push((pool, amount));
                }
            });
        }
        uses.sort_unstable();
        uses
    }

    /// The pools that hold too little for a task with `own` of `width` cores on an empty host, or a
    /// demand that no level above it knows.
    pub fn first_unmet(
        &self,
        workflow: &Workflow,
        task: TaskId,
        at: (HostId, u32, u32),
    ) -> Option<Unmet> {
        if self.level_start.is_empty() {
            return None;
        }
        if self.memory && !self.holds_memory(workflow, task, at) {
            return Some(Unmet::Pool("memory".to_string()));
        }
        let met = |&&(key, amount): &&(u32, u64)| !self.is_met(at.0, key, amount);
        let unmet = self.wants(task).iter().find(met)?;
        Some(Unmet::Pool(self.key_label(unmet.0)))
    }

    #[inline]
    fn holds_memory(&self, workflow: &Workflow, task: TaskId, at: (HostId, u32, u32)) -> bool {
        self.levels(at.0, MEMORY).iter().all(|&pool| {
            share_of_memory(workflow, task, at.1, at.2) <= self.pools[pool as usize].capacity
        })
    }

    /// Whether all levels above an empty host that know a resource have so much of it.
    #[inline]
    fn is_met(&self, host: HostId, key: u32, amount: u64) -> bool {
        let levels = self.levels(host, key);
        let holds = |&pool: &PoolId| amount <= self.pools[pool as usize].capacity;
        !levels.is_empty() && levels.iter().all(holds)
    }

    /// Whether the empty host and all levels above it hold what a task demands there.
    #[inline]
    pub fn fit(&self, workflow: &Workflow, task: TaskId, at: (HostId, u32, u32)) -> bool {
        (!self.memory || self.holds_memory(workflow, task, at))
            && self.wants(task).iter().all(|&(key, amount)| self.is_met(at.0, key, amount))
    }

    /// Whether an empty host alone has the cores and all levels above it what a task demands at its
    /// least width; its windows are not asked.
    pub fn fits(
        &self,
        workflow: &Workflow,
        platform: &Platform,
        task: TaskId,
        host: HostId,
    ) -> bool {
        let width = workflow.width(task).0;
        width <= platform.host(host).cores && self.fit(workflow, task, (host, width, width))
    }

    /// Bytes that a task of one core holds, where tasks demand nothing but memory; none where some task demands
    /// more, or none holds any.
    #[inline]
    pub fn memory_alone(&self, workflow: &Workflow, task: TaskId) -> Option<u64> {
        (self.memory && self.wants.is_empty()).then(|| share_of_memory(workflow, task, 1, 1))
    }

    /// The pool of a host's memory; none where it has no limit, or no task holds any.
    #[inline]
    pub fn memory_of(&self, host: HostId) -> Option<PoolId> {
        self.levels(host, MEMORY).first().copied()
    }

    /// The most memory, in bytes, of a host that has so many cores and all else that a task demands;
    /// [`u64::MAX`] where one has no limit, none where there is no such host.
    pub fn most_memory(&self, platform: &Platform, task: TaskId, width: u32) -> Option<u64> {
        let fits = |host: &HostId| {
            let met = |&(key, amount): &(u32, u64)| self.is_met(*host, key, amount);
            width <= platform.host(*host).cores && self.wants(task).iter().all(met)
        };
        let memory = |host: HostId| match platform.host(host).memory {
            Some(bytes) => whole_down(bytes),
            None => u64::MAX,
        };
        platform.host_ids().filter(fits).map(memory).max()
    }

    /// The most of a resource that a host has alone or with others, by the name of a demand, to show.
    pub(super) fn most_of(&self, hosts: &[Host], name: &str) -> Option<String> {
        let pools = self.pools.iter().filter(|pool| *pool.name == *name);
        if let Some(most) = pools.max_by_key(|pool| pool.capacity) {
            return Some(most.unit.show_short(most.capacity));
        }
        // Devices of any kind are no pool where no host has as many of one.
        let kinds = hosts.iter().filter_map(|host| host.resources.as_ref());
        let kinds = kinds.flat_map(|own| &own.gpus).filter(|_| name == device_label(""));
        kinds.map(DeviceKind::capacity).max().map(|capacity| capacity.to_string())
    }

    /// A demand for a named resource that no place of the platform has, or has in another unit.
    pub(super) fn unknown(&self, workflow: &Workflow, platform: &Platform) -> Option<ProblemError> {
        let known = || {
            let own = platform.hosts().iter().filter_map(|host| host.resources.as_ref());
            let own = own.flat_map(|own| own.named.iter().map(|(name, a)| (&**name, a.is_bytes())));
            let zones = platform.zone_resources().iter();
            let zones = zones.map(|z| (&*z.name, z.amount.is_bytes()));
            let all = platform.resources().iter().map(|r| (&*r.name, r.amount.is_bytes()));
            own.chain(zones).chain(all)
        };
        for (key, asked) in self.keys.iter().enumerate() {
            let Key::Named(name, bytes) = asked else { continue };
            if known().any(|(n, b)| *n == **name && b == *bytes) {
                continue;
            }
            let demands = |t: &TaskId| self.wants(*t).iter().any(|want| want.0 == key as u32);
            let task = workflow.tasks().find(demands)?;
            let (task, resource) = (workflow.task_name(task).to_string(), name.to_string());
            if known().any(|(n, _)| *n == **name) {
                let (asked, there) =
                    if *bytes { ("a size", "a number") } else { ("a number", "a size") };
                return Some(ProblemError::OtherUnit { task, resource, asked, there });
            }
            let hint = crate::nearest::did_you_mean(name, known().map(|(name, _)| name));
            return Some(ProblemError::UnknownResource { task, resource, hint });
        }
        None
    }

    /// Per demand of a task: its name, and whether a host with `own` of `width` cores meets it
    /// alone.
    pub(super) fn demands_met(
        &self,
        workflow: &Workflow,
        task: TaskId,
        at: (HostId, u32, u32),
    ) -> Vec<(String, bool)> {
        let mut met = Vec::new();
        if self.memory {
            met.push(("memory".to_string(), self.holds_memory(workflow, task, at)));
        }
        for &(key, amount) in self.wants(task) {
            met.push((self.key_label(key), self.is_met(at.0, key, amount)));
        }
        met
    }

    /// Names and sizes of a task's demands, to show.
    pub fn describe(&self, workflow: &Workflow, task: TaskId, width: u32) -> Vec<(String, String)> {
        let mut list = Vec::new();
        let memory = whole_up(workflow.memory_at(task, width));
        if memory > 0 {
            list.push(("memory".to_string(), Unit::Bytes.show_short(memory)));
        }
        for &(key, amount) in self.wants(task) {
            let unit = match &self.keys[key as usize] {
                Key::Memory | Key::Named(_, true) => Unit::Bytes,
                Key::AnyGpus(_) | Key::Gpus(_) => Unit::Devices,
                Key::Named(_, false) => Unit::Parts,
            };
            list.push((self.key_label(key), unit.show_short(amount)));
        }
        list
    }

    fn key_label(&self, key: u32) -> String {
        match &self.keys[key as usize] {
            Key::Memory => "memory".to_string(),
            Key::AnyGpus(_) => "gpus".to_string(),
            Key::Gpus(kind) => device_label(kind),
            Key::Named(name, _) => name.to_string(),
        }
    }

    /// Returns the place of a pool for messages: `'host'`, `'zone'` or `the platform`.
    pub fn place(&self, pool: PoolId, platform: &Platform) -> String {
        match &self.pools[pool as usize].scope {
            Scope::Host(host) => format!("'{}'", platform.host(*host).name),
            Scope::Zone(zone) => format!("'{zone}'"),
            Scope::Platform => "the platform".to_string(),
        }
    }

    /// All pool numbers.
    pub fn ids(&self) -> Range<PoolId> {
        0..self.pools.len() as PoolId
    }
}

/// Name of a pool of devices.
fn device_label(kind: &str) -> String {
    if kind.is_empty() { "gpus".to_string() } else { format!("gpus:{kind}") }
}

/// Bytes on a host that has `own` of the `width` cores of a task.
#[inline]
fn share_of_memory(workflow: &Workflow, task: TaskId, own: u32, width: u32) -> u64 {
    if own == width {
        return whole_up(workflow.memory_at(task, width));
    }
    let per_core = workflow.demand(task).map_or(0.0, |demand| demand.memory_per_core);
    let share = f64::from(own) / f64::from(width.max(1));
    whole_up(workflow.memory(task) * share) + whole_up(per_core * f64::from(own))
}

/// The earliest date, not before `from`, at which one of some rising windows holds so many seconds.
fn earliest_in(windows: &[(f64, f64)], from: f64, seconds: f64) -> f64 {
    let first = windows.partition_point(|&(_, to)| to < from);
    for &(begin, end) in &windows[first.saturating_sub(1)..] {
        let start = begin.max(from);
        if crate::approx::le(start + seconds, end) && crate::approx::le(start, end) {
            return start;
        }
    }
    f64::INFINITY
}
