//! An instance file as a workflow and a platform.

use super::schema::{
    File, FileEntry, HostEntry, Id, ProcessorEntry, SiteEntry, Table, TaskEntry, check_length,
};
use super::{FormatError, Result};
use crate::resources::{Entries, Given, GpuCapacity, GpuDemand, capacities, demands};
use slackline_model::control::{BranchSpec, ChoiceSpec, Control, ControlBuilder, Item, LoopSpec};
use slackline_model::nearest::did_you_mean;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder, RoutingKind};
use slackline_model::resources::{Amount, Demand, HostResources, SharedResource};
use slackline_model::speedup::SpeedUp;
use slackline_model::workflow::CostTable;
use slackline_model::{Platform, Task, TaskId, Workflow, WorkflowBuilder, WorkflowError};
use std::collections::HashMap;
use std::sync::Arc;

impl TaskEntry {
    /// The task with its work and how it shrinks with width.
    fn task(&self, work: f64) -> Result<Task> {
        let mut task = Task::new(self.id.0.as_str(), work);
        let models = [
            self.alpha.map(|serial| SpeedUp::Amdahl { serial }),
            self.speedup.as_ref().map(|ratios| SpeedUp::Table(Arc::from(ratios.as_slice()))),
            self.downey
                .as_ref()
                .map(|d| SpeedUp::Downey { parallelism: d.parallelism, sigma: d.sigma }),
        ];
        if models.iter().flatten().count() > 1 {
            return Err(FormatError::new("only one of alpha, speedup and downey can hold"));
        }
        let model = models.into_iter().flatten().next();
        (task.min_width, task.max_width) = match (self.width, &model) {
            (Some((least, most)), _) => (least, most.unwrap_or(u32::MAX)),
            (None, Some(_)) => (1, u32::MAX),
            (None, None) => (1, 1),
        };
        if model.is_none() && task.min_width != task.max_width {
            let message =
                "it can take a range of processors but does not say what it gains by them";
            return Err(FormatError::in_path("width", message)
                .with_help("add alpha, the fraction of its work that cannot be shared"));
        }
        task.spread = model.is_some();
        task.speedup = model.unwrap_or_default();
        task.memory = not_negative("memory", self.memory)?;
        let named = demands(&self.resources)
            .map_err(|(name, error)| FormatError::in_path(format!("resources.{name}"), error))?;
        task.demand = Demand {
            memory_per_core: not_negative("memory_per_core", self.memory_per_core)?,
            gpus: self.gpus.as_ref().map(GpuDemand::devices),
            named,
        };
        Ok(task)
    }
}

/// A size that is left out counts as none.
fn not_negative(path: &str, value: Option<f64>) -> Result<f64> {
    match value {
        None => Ok(0.0),
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        Some(value) => Err(FormatError::in_path(path, format!("{path} cannot be {value}"))),
    }
}

/// Named capacities, with their place in the file.
fn shared(path: &str, named: &Entries<Given>) -> Result<Vec<(Arc<str>, Amount)>> {
    capacities(named)
        .map_err(|(name, error)| FormatError::in_path(format!("{path}resources.{name}"), error))
}

/// The processors of an instance by host.
struct Hosts<'f> {
    /// Names in the order of their first processors.
    names: Vec<&'f str>,
    /// The first processor of each.
    first: Vec<usize>,
    /// Per host: number of processors.
    cores: Vec<u32>,
    /// Per processor.
    of: Vec<usize>,
}

impl File {
    /// Groups the processors by the host whose cores they are.
    fn hosts(&self) -> Hosts<'_> {
        let mut known: HashMap<&str, usize> = HashMap::new();
        let mut hosts = Hosts { names: vec![], first: vec![], cores: vec![], of: vec![] };
        for (i, processor) in self.processors.iter().enumerate() {
            // A processor that names no host is one of its own, whoever has the same name.
            let named = processor.host.as_ref().map(|host| host.0.as_str());
            let at = match named {
                Some(name) => *known.entry(name).or_insert(hosts.names.len()),
                None => hosts.names.len(),
            };
            if at == hosts.names.len() {
                hosts.names.push(named.unwrap_or(&processor.id.0));
                hosts.first.push(i);
                hosts.cores.push(0);
            }
            hosts.cores[at] += 1;
            hosts.of.push(at);
        }
        hosts
    }

    /// Processors of one host must agree in all that a planner sees of them.
    fn check_hosts(&self, hosts: &Hosts<'_>) -> Result<()> {
        for (i, &host) in hosts.of.iter().enumerate() {
            let first = hosts.first[host];
            let cluster = self.processors[first].cluster != self.processors[i].cluster;
            let differs = self.difference(first, i).or(cluster.then_some("its cluster"));
            if let Some(what) = differs {
                let (name, other) = (hosts.names[host], &self.processors[first].id.0);
                let message = format!(
                    "'{}': {what} differs from that of '{other}', which is of host '{name}' too",
                    self.processors[i].id.0
                );
                return Err(FormatError::in_path(format!("processors[{i}]"), message));
            }
        }
        let mut ids = HashMap::new();
        for (i, processor) in self.processors.iter().enumerate() {
            if let Some(first) = ids.insert(processor.id.0.as_str(), i)
                && (processor.host.is_some() || self.processors[first].host.is_some())
            {
                let message = format!("'{}' is the id of processors[{first}] too", processor.id.0);
                return Err(FormatError::in_path(format!("processors[{i}].id"), message));
            }
        }
        let mut seen = HashMap::new();
        for (i, entry) in self.hosts.iter().enumerate() {
            let path = format!("hosts[{i}]");
            if let Some(first) = seen.insert(entry.id.0.as_str(), i) {
                let message = format!("'{}' is the id of hosts[{first}] too", entry.id.0);
                return Err(FormatError::in_path(format!("{path}.id"), message));
            }
            if !hosts.names.contains(&entry.id.0.as_str()) {
                let message = format!("host '{}' has no processor", entry.id.0);
                return Err(FormatError::in_path(path, message)
                    .with_help("a processor says which host it belongs to: \"host\": \"...\""));
            }
        }
        // A host that a processor names has to be listed where hosts are.
        for (i, processor) in self.processors.iter().enumerate() {
            let Some(host) = processor.host.as_ref().filter(|_| !self.hosts.is_empty()) else {
                continue;
            };
            if !seen.contains_key(host.0.as_str()) {
                let hint = did_you_mean(&host.0, self.hosts.iter().map(|h| h.id.0.as_str()));
                let (processor, host) = (&processor.id.0, &host.0);
                let message = format!("there is no host '{host}' for '{processor}'{hint}");
                return Err(FormatError::in_path(format!("processors[{i}].host"), message));
            }
        }
        Ok(())
    }

    /// The ids of the processors of a host, unless the one there is has its name.
    fn core_names(&self, hosts: &Hosts<'_>, host: usize) -> Vec<String> {
        let own = self.processors.iter().zip(&hosts.of).filter(|(_, of)| **of == host);
        let names: Vec<String> = own.map(|(processor, _)| processor.id.0.clone()).collect();
        match names.as_slice() {
            [one] if one == hosts.names[host] => Vec::new(),
            _ => names,
        }
    }

    /// The site of every host, where it is of one.
    fn site_of(&self, hosts: &Hosts<'_>) -> Result<Vec<Option<usize>>> {
        let mut site_of = vec![None; hosts.names.len()];
        for (i, site) in self.sites.iter().enumerate() {
            for (j, host) in site.hosts.iter().enumerate() {
                let path = || format!("sites[{i}].hosts[{j}]");
                let Some(at) = hosts.names.iter().position(|name| *name == host.0) else {
                    let hint = did_you_mean(&host.0, hosts.names.iter().copied());
                    let message = format!("there is no host '{}'{hint}", host.0);
                    return Err(FormatError::in_path(path(), message));
                };
                if let Some(other) = site_of[at].replace(i) {
                    let other = &self.sites[other].id.0;
                    let message = format!("'{}' is in site '{other}' already", host.0);
                    return Err(FormatError::in_path(path(), message));
                }
            }
        }
        Ok(site_of)
    }

    /// Files by name: who writes them, who reads them, whether they are kept.
    fn add_files(&self, builder: &mut WorkflowBuilder) -> Result<()> {
        for (i, FileEntry { id, size, from, to, keep }) in self.files.iter().enumerate() {
            let within = |e: FormatError| e.under(|| format!("files[{i}]"));
            let file = builder.add_file(&id.0, *size).map_err(FormatError::new).map_err(within)?;
            let task = |builder: &WorkflowBuilder, name: &Id, side: &str| {
                let message = || format!("there is no task '{}'", name.0);
                let unknown = || FormatError::in_path(format!("files[{i}].{side}"), message());
                builder.task_id(&name.0).ok_or_else(unknown)
            };
            if let Some(from) = from {
                let from = task(builder, from, "from")?;
                builder.writes(from, file).map_err(FormatError::new).map_err(within)?;
            }
            for reader in to {
                let reader = task(builder, reader, "to")?;
                builder.reads(reader, file);
            }
            if *keep {
                if from.is_none() {
                    let message = format!("'{}' is kept, but no task writes it", id.0);
                    return Err(FormatError::in_path(format!("files[{i}].keep"), message));
                }
                builder.keep(file);
            }
        }
        Ok(())
    }

    pub(super) fn workflow(&self) -> Result<Workflow> {
        let mut builder = WorkflowBuilder::new(self.name.as_str());
        builder.set_reference_speed(1.0);
        let table = self.cost_table()?;
        for (i, task) in self.tasks.iter().enumerate() {
            let work = match (task.cost, &table) {
                (Some(cost), _) => cost,
                (None, Some(table)) => {
                    let row = table.row(TaskId::new(i));
                    row.iter().sum::<f64>() / row.len() as f64
                }
                (None, None) => {
                    let message = "a task needs a cost where there is no exec table";
                    return Err(FormatError::in_path(format!("tasks[{i}].cost"), message));
                }
            };
            let task = task.task(work).map_err(|e| e.under(|| format!("tasks[{i}]")))?;
            builder.add_task(task).map_err(|e| FormatError::in_path(format!("tasks[{i}]"), e))?;
        }
        if self.has_control() {
            if let Some(table) = table {
                builder.set_cost_table(table);
            }
            let tasks = builder.build().map_err(|e| FormatError::in_path("tasks", e))?;
            return Ok(tasks.with_control(Arc::new(self.control()?)));
        }
        let mut pairs = Vec::with_capacity(self.edges.len());
        for (i, edge) in self.edges.iter().enumerate() {
            let end = |name: &str, side: &str| {
                builder.task_id(name).ok_or_else(|| {
                    let message = format!("there is no task '{name}'");
                    FormatError::in_path(format!("edges[{i}].{side}"), message)
                })
            };
            let (from, to) = (end(&edge.from.0, "from")?, end(&edge.to.0, "to")?);
            builder
                .add_edge(from, to, edge.data)
                .map_err(|e| FormatError::in_path(format!("edges[{i}]"), e))?;
            pairs.push((from, to, i));
        }
        pairs.sort_unstable();
        if let Some(twins) = pairs.windows(2).find(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)) {
            let (first, second) = (twins[0].2, twins[1].2);
            let message = format!("the same two tasks as edges[{first}]");
            return Err(FormatError::in_path(format!("edges[{second}]"), message));
        }
        self.add_files(&mut builder)?;
        if let Some(table) = table {
            builder.set_cost_table(table);
        }
        builder.build().map_err(|error| match error {
            WorkflowError::Empty => FormatError::in_path("tasks", error),
            WorkflowError::BadCostTable { .. } => FormatError::in_path("exec", error),
            other => other.into(),
        })
    }

    /// Whether the course of the workflow is only known while it runs.
    fn has_control(&self) -> bool {
        let inside = |task: &TaskEntry| task.region.is_some();
        !self.choices.is_empty() || !self.loops.is_empty() || self.tasks.iter().any(inside)
    }

    /// Choices, loops and all dependencies.
    fn control(&self) -> Result<Control> {
        let text = |id: &Option<super::schema::Id>| id.as_ref().map(|id| id.0.clone());
        let mut builder = ControlBuilder::default();
        for task in &self.tasks {
            builder.task(&task.id.0, task.region.as_deref());
        }
        for choice in &self.choices {
            let branch = |b: &super::schema::BranchEntry| BranchSpec {
                name: b.id.0.clone(),
                probability: b.probability,
                ..BranchSpec::default()
            };
            builder.choice(ChoiceSpec {
                name: choice.id.0.clone(),
                region: choice.region.clone(),
                by: text(&choice.by),
                branches: choice.branches.iter().map(branch).collect(),
                ..ChoiceSpec::default()
            });
        }
        for (i, entry) in self.loops.iter().enumerate() {
            let iterations = entry.iterations.as_ref().map(|n| n.read()).transpose();
            let iterations = iterations.map_err(|why| {
                let message = format!("loop '{}': {why}", entry.id.0);
                FormatError::in_path(format!("loops[{i}].iterations"), message)
            })?;
            builder.repeat(LoopSpec {
                name: entry.id.0.clone(),
                region: entry.region.clone(),
                by: text(&entry.by),
                iterations,
                ..LoopSpec::default()
            });
        }
        let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
        for (i, edge) in self.edges.iter().enumerate() {
            if !(edge.data.is_finite() && edge.data >= 0.0) {
                let message = format!(
                    "the data of '{} -> {}' cannot be {}",
                    edge.from.0, edge.to.0, edge.data
                );
                return Err(FormatError::in_path(format!("edges[{i}]"), message));
            }
            if let Some(first) = seen.insert((&edge.from.0, &edge.to.0), i) {
                let message = format!("the same two ends as edges[{first}]");
                return Err(FormatError::in_path(format!("edges[{i}]"), message));
            }
            builder.edge(&edge.from.0, &edge.to.0, Some(edge.data));
        }
        builder.build().map_err(|error| {
            let path = match (error.item, error.edge) {
                (_, Some(edge)) => format!("edges[{edge}]"),
                (Some(Item::Task(t)), _) => format!("tasks[{t}]"),
                (Some(Item::Choice(c)), _) => format!("choices[{c}]"),
                (Some(Item::Loop(l)), _) => format!("loops[{l}]"),
                (None, None) => return FormatError::new(error),
            };
            FormatError::in_path(path, error)
        })
    }

    fn cost_table(&self) -> Result<Option<CostTable>> {
        let Some(exec) = &self.exec else { return Ok(None) };
        check_length("exec", exec.len(), self.tasks.len(), "tasks")?;
        let processors = self.processors.len();
        for (i, row) in exec.iter().enumerate() {
            check_length(&format!("exec[{i}]"), row.len(), processors, "processors")?;
            if let Some(j) = row.iter().position(|s| !(s.is_finite() && *s >= 0.0)) {
                let message = format!("a time cannot be {}", row[j]);
                return Err(FormatError::in_path(format!("exec[{i}][{j}]"), message));
            }
        }
        let hosts = self.hosts();
        let columns = hosts.names.iter().map(|name| name.to_string()).collect();
        let row = |row: &Vec<f64>| hosts.first.iter().map(|&p| row[p]).collect::<Vec<f64>>();
        Ok(Some(CostTable { columns, seconds: exec.iter().flat_map(row).collect() }))
    }

    pub(super) fn platform(&self) -> Result<Platform> {
        let processors = self.processors.len();
        if processors == 0 {
            return Err(FormatError::in_path("processors", "there is no processor"));
        }
        let hosts = self.hosts();
        self.bandwidth.check("bandwidth", &hosts.of, |b| b <= 0.0)?;
        self.latency.check("latency", &hosts.of, |l| l < 0.0)?;
        self.check_clusters()?;
        self.check_hosts(&hosts)?;
        let site_of = self.site_of(&hosts)?;
        let mut builder = PlatformBuilder::new(self.name.as_str());
        let zone = builder
            .add_zone(None, self.zone_name(), RoutingKind::None)
            .map_err(FormatError::new)?;
        if let Some(billing) = self.billing {
            builder.set_billing(billing.billing("billing")?);
        }
        let mut sites = Vec::new();
        for (i, SiteEntry { id, resources, storage, .. }) in self.sites.iter().enumerate() {
            let path = format!("sites[{i}]");
            let site = builder
                .add_zone(Some(zone), id.0.as_str(), RoutingKind::None)
                .map_err(|e| FormatError::in_path(&path, e))?;
            let named = shared(&format!("{path}."), resources)?;
            builder.share_resources(site, named).map_err(|e| FormatError::in_path(&path, e))?;
            if storage.is_some() {
                let bytes =
                    not_negative("storage", *storage).map_err(|e| e.under(|| path.clone()))?;
                builder.bound_storage(site, bytes);
            }
            sites.push(site);
        }
        let own: HashMap<&str, (usize, &HostEntry)> = self
            .hosts
            .iter()
            .enumerate()
            .map(|(i, host)| (host.id.0.as_str(), (i, host)))
            .collect();
        for (host, &i) in hosts.first.iter().enumerate() {
            let processor = &self.processors[i];
            let billing = processor.billing.map(|b| b.billing(&format!("processors[{i}].billing")));
            let mut spec = HostSpec {
                price: processor.price.unwrap_or(0.0),
                class: self.class(processor, hosts.names[host]),
                leasable: processor.leasable,
                billing: billing.transpose()?,
                cores: hosts.cores[host],
                core_names: self.core_names(&hosts, host),
                ..HostSpec::new(hosts.names[host], processor.speed.unwrap_or(1.0))
            };
            let mut place = format!("processors[{i}]");
            if let Some((at, entry)) = own.get(hosts.names[host]) {
                place = format!("hosts[{at}]");
                let within = |e: FormatError| e.under(|| place.clone());
                if entry.memory.is_some() {
                    let bytes = not_negative("memory", entry.memory).map_err(within)?;
                    spec.memory = Some(bytes);
                }
                spec.resources = HostResources {
                    gpus: entry.gpus.as_ref().map(GpuCapacity::kinds).unwrap_or_default(),
                    named: shared(&format!("{place}."), &entry.resources)?,
                    windows: entry.windows.clone(),
                    storage: entry.storage,
                    wall_time: None,
                };
            }
            builder
                .add_host(site_of[host].map_or(zone, |site| sites[site]), spec)
                .map_err(|e| FormatError::in_path(place, e))?;
        }
        let all = shared("", &self.resources)?.into_iter();
        let all = all.map(|(name, amount)| SharedResource { name, amount, slurm: false });
        builder.set_resources(all.collect());
        if self.storage.is_some() {
            let bytes = not_negative("storage", self.storage)?;
            if self.is_one_place(&hosts) {
                builder.bound_storage(zone, bytes)
            } else {
                builder.set_storage(bytes);
            }
        }
        builder.set_matrix(self.matrix(&hosts));
        builder.build().map_err(FormatError::new)
    }

    /// The class of a processor: its cluster, else itself. None in a file without
    /// `exec`, prices and clusters, where processors of equal speed form a class.
    fn class(&self, processor: &ProcessorEntry, host: &str) -> Option<String> {
        let apart = |p: &ProcessorEntry| p.cluster.is_some() || p.price.is_some();
        let named = self.exec.is_some() || self.processors.iter().any(apart);
        let own = processor.cluster.as_ref().map_or(host, |cluster| &cluster.0);
        named.then(|| own.to_string())
    }

    /// Processors of one cluster must agree in all that a planner sees of them.
    fn check_clusters(&self) -> Result<()> {
        let mut first: HashMap<&str, usize> = HashMap::new();
        for (i, processor) in self.processors.iter().enumerate() {
            let Some(cluster) = &processor.cluster else { continue };
            let other = *first.entry(&cluster.0).or_insert(i);
            if let Some(what) = self.difference(other, i) {
                let (cluster, other) = (&cluster.0, &self.processors[other].id.0);
                let message = format!(
                    "{what} differs from that of '{other}', which is of cluster '{cluster}' too"
                );
                return Err(FormatError::in_path(format!("processors[{i}]"), message));
            }
        }
        for (i, processor) in self.processors.iter().enumerate() {
            if processor.cluster.is_none() && first.contains_key(processor.id.0.as_str()) {
                let message = format!("'{}' is also the name of a cluster", processor.id.0);
                return Err(FormatError::in_path(format!("processors[{i}].id"), message));
            }
        }
        Ok(())
    }

    /// In what two processors differ.
    fn difference(&self, one: usize, other: usize) -> Option<&'static str> {
        let (a, b) = (&self.processors[one], &self.processors[other]);
        let column = |row: &Vec<f64>| row.get(one) == row.get(other);
        if a.speed.unwrap_or(1.0) != b.speed.unwrap_or(1.0) {
            Some("its speed")
        } else if a.price.unwrap_or(0.0) != b.price.unwrap_or(0.0) {
            Some("its price")
        } else if a.leasable != b.leasable || a.billing != b.billing {
            Some("its lease or billing")
        } else if !self.exec.iter().flatten().all(column) {
            Some("its column of exec")
        } else {
            None
        }
    }

    /// A name for the zone around the processors that none of them has.
    fn zone_name(&self) -> String {
        let mut name = "processors".to_string();
        let host = |p: &ProcessorEntry| p.host.as_ref().map(|host| host.0.clone());
        let taken = |name: &String| {
            self.sites.iter().any(|site| site.id.0 == *name)
                || self.processors.iter().any(|p| p.id.0 == *name || host(p).as_ref() == Some(name))
        };
        while taken(&name) {
            name.push('_');
        }
        name
    }

    /// Data is everywhere at once: all hosts have one storage.
    fn is_one_place(&self, hosts: &Hosts<'_>) -> bool {
        let free = |latency: Option<f64>| latency.unwrap_or(0.0) == 0.0;
        self.bandwidth.uniform(&hosts.of) == Some(None)
            && self.latency.uniform(&hosts.of).is_some_and(free)
    }

    /// Builds the matrix between hosts. Entries between processors of one host are ignored; between hosts,
    /// those of their first processors count.
    fn matrix(&self, hosts: &Hosts<'_>) -> Matrix {
        let uniform = (self.bandwidth.uniform(&hosts.of), self.latency.uniform(&hosts.of));
        if let (Some(bandwidth), Some(latency)) = uniform {
            return Matrix::uniform(bandwidth, latency.unwrap_or(0.0));
        }
        let first = &hosts.first;
        let cells = |table: &Table, missing: f64| {
            let row = |&from: &usize| {
                first.iter().map(move |&to| table.entry(from, to).unwrap_or(missing))
            };
            first.iter().flat_map(row).collect()
        };
        Matrix::Dense {
            hosts: first.len(),
            bandwidth: cells(&self.bandwidth, f64::INFINITY),
            latency: cells(&self.latency, 0.0),
        }
    }
}
