//! Writing an instance: a planning problem as plain numbers.

use crate::error::{FormatError, Result};
use crate::resources::{GpuCapacity, gpus_text, named_text};
use slackline_model::control::{Branch, Control, Item};
use slackline_model::platform::{Billing, Class, Host, Zone};
use slackline_model::{FileId, HostId, Platform, Problem, ProcId, SpeedUp, TaskId, Workflow};
use std::collections::HashSet;
use std::io::Write;

/// Writes an instance; the format's module lists the losses.
pub fn write(workflow: &Workflow, platform: &Platform, out: &mut dyn Write) -> Result<()> {
    let tasks = workflow.clone().without_control();
    let problem = Problem::new(&tasks, platform).map_err(FormatError::new)?;
    let network = Pairs::of(&problem)?;
    Ok(write_parts(&problem, workflow.control().map(|c| &**c), &network, out)?)
}

/// Bandwidths and latencies between processors.
struct Pairs<'a, 'p> {
    problem: &'a Problem<'p>,
    uniform: Option<(f64, f64)>,
    latency: bool,
}

impl<'a, 'p> Pairs<'a, 'p> {
    fn of(problem: &'a Problem<'p>) -> Result<Pairs<'a, 'p>> {
        let mut pairs = Pairs { problem, uniform: None, latency: false };
        let network = problem.network();
        if let Some(at) = network.latency.iter().position(|l| !l.is_finite()) {
            let host = |group: usize| {
                let index = network.group_of.iter().position(|&g| g as usize == group);
                index.map_or("", |index| &problem.platform().host(HostId::new(index)).name)
            };
            let (from, to) = (host(at / network.groups), host(at % network.groups));
            return Err(FormatError::new(format!("no route leads from '{from}' to '{to}'")));
        }
        pairs.latency = network.latency.iter().any(|&l| l > 0.0);
        if network.groups == 1 {
            pairs.uniform = Some((network.bandwidth[0], network.latency[0]));
        }
        Ok(pairs)
    }

    fn write(
        &self,
        out: &mut dyn Write,
        entry: impl Fn(HostId, HostId) -> String,
    ) -> std::io::Result<()> {
        writeln!(out, "[")?;
        let procs = self.problem.procs();
        for from in self.problem.proc_ids() {
            let row: Vec<String> = self
                .problem
                .proc_ids()
                .map(|to| entry(self.problem.host_of(from), self.problem.host_of(to)))
                .collect();
            let comma = if from.index() + 1 < procs { "," } else { "" };
            writeln!(out, "    [{}]{comma}", row.join(", "))?;
        }
        write!(out, "  ]")
    }

    fn write_bandwidth(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let number = |b: f64| if b.is_finite() { b.to_string() } else { "null".to_string() };
        if let Some((bandwidth, _)) = self.uniform {
            return write!(out, "{}", number(bandwidth));
        }
        let network = self.problem.network();
        self.write(out, |from, to| {
            if from == to {
                "null".to_string()
            } else {
                number(network.bandwidth[self.cell(from, to)])
            }
        })
    }

    fn write_latency(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if let Some((_, latency)) = self.uniform {
            return write!(out, "{latency}");
        }
        let network = self.problem.network();
        self.write(out, |from, to| {
            if from == to {
                "0".to_string()
            } else {
                network.latency[self.cell(from, to)].to_string()
            }
        })
    }

    fn cell(&self, from: HostId, to: HostId) -> usize {
        let network = self.problem.network();
        let group = |host: HostId| network.group_of[host.index()] as usize;
        group(from) * network.groups + group(to)
    }
}

/// Writes the speed-up model and the widths of a task.
fn write_width(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> std::io::Result<()> {
    let (least, most) = workflow.width(task);
    let usual = match workflow.speedup(task) {
        SpeedUp::Serial => (1, 1),
        _ => (1, u32::MAX),
    };
    match workflow.speedup(task) {
        SpeedUp::Serial if least == most => {}
        SpeedUp::Serial => write!(out, ", \"alpha\": 1")?,
        SpeedUp::Amdahl { serial } => write!(out, ", \"alpha\": {serial}")?,
        SpeedUp::Downey { parallelism, sigma } => {
            write!(out, ", \"downey\": {{\"parallelism\": {parallelism}, \"sigma\": {sigma}}}")?
        }
        SpeedUp::Table(ratios) => {
            let ratios: Vec<String> = ratios.iter().map(f64::to_string).collect();
            write!(out, ", \"speedup\": [{}]", ratios.join(", "))?;
        }
    }
    match (least, most) {
        width if width == usual => Ok(()),
        (least, u32::MAX) => write!(out, ", \"width\": [{least}, null]"),
        (least, most) => write!(out, ", \"width\": [{least}, {most}]"),
    }
}

/// The processors, then how they are billed where they agree.
fn write_processors(problem: &Problem<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    let (platform, workflow) = (problem.platform(), problem.workflow());
    let billings = || platform.classes().iter().map(|class| class.billing);
    let common = billings().next().filter(|first| billings().all(|billing| billing == *first));
    write!(out, "\n  ],\n")?;
    write_files(workflow, out)?;
    write_capacities(platform, out)?;
    write!(out, "  \"processors\": [")?;
    for proc in problem.proc_ids() {
        let comma = if proc.0 > 0 { "," } else { "" };
        let name = problem.proc_name(proc);
        write!(out, "{comma}\n    {{\"id\": {}", json(&name))?;
        let host = platform.host(problem.host_of(proc));
        let class = platform.class(host.class);
        if workflow.cost_table().is_none() || host.speed != 1.0 {
            write!(out, ", \"speed\": {}", host.speed)?;
        }
        if host.price > 0.0 {
            write!(out, ", \"price\": {}", host.price)?;
        }
        let several = problem.procs_of(problem.host_of(proc)).len() > 1;
        if several || *host.name != *name {
            write!(out, ", \"host\": {}", json(&host.name))?;
        }
        if *class.name != *name && *class.name != *host.name && is_cluster(problem, class) {
            write!(out, ", \"cluster\": {}", json(&class.name))?;
        }
        if class.leasable {
            write!(out, ", \"leasable\": true")?;
        }
        if common.is_none() && class.billing != Billing::default() {
            write!(out, ", \"billing\": {}", billing(class.billing))?;
        }
        write!(out, "}}")?;
    }
    write!(out, "\n  ],\n")?;
    match common.filter(|billing| *billing != Billing::default()) {
        Some(common) => writeln!(out, "  \"billing\": {},", billing(common)),
        None => Ok(()),
    }
}

fn write_demand(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> std::io::Result<()> {
    if workflow.memory(task) > 0.0 {
        write!(out, ", \"memory\": {}", workflow.memory(task))?;
    }
    let Some(demand) = workflow.demand(task) else { return Ok(()) };
    if demand.memory_per_core > 0.0 {
        write!(out, ", \"memory_per_core\": {}", demand.memory_per_core)?;
    }
    if let Some(gpus) = &demand.gpus {
        write!(out, ", \"gpus\": {}", gpus_text(gpus, json, ": "))?;
    }
    if !demand.named.is_empty() {
        write!(out, ", \"resources\": {}", named_text(&demand.named, json, ": "))?;
    }
    Ok(())
}

/// Writes the capacities of hosts other than cores, and those shared by sites and by all hosts.
fn write_capacities(platform: &Platform, out: &mut dyn Write) -> std::io::Result<()> {
    let own = |host: &Host| host.memory.is_some() || host.resources.is_some();
    if platform.hosts().iter().any(|host| host.cores > 0 && own(host)) {
        write!(out, "  \"hosts\": [")?;
        for (at, host) in platform.hosts().iter().filter(|host| host.cores > 0).enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(out, "{comma}\n    {{\"id\": {}", json(&host.name))?;
            if let Some(memory) = host.memory {
                write!(out, ", \"memory\": {memory}")?;
            }
            if let Some(own) = &host.resources {
                if let Some(gpus) = GpuCapacity::of(&own.gpus) {
                    write!(out, ", \"gpus\": {}", serde_json::to_string(&gpus)?)?;
                }
                if !own.named.is_empty() {
                    write!(out, ", \"resources\": {}", named_text(&own.named, json, ": "))?;
                }
                if !own.windows.is_empty() {
                    let one = |(from, to): &(f64, f64)| format!("[{from}, {to}]");
                    let windows: Vec<String> = own.windows.iter().map(one).collect();
                    write!(out, ", \"windows\": [{}]", windows.join(", "))?;
                }
                if let Some(storage) = own.storage {
                    write!(out, ", \"storage\": {storage}")?;
                }
            }
            write!(out, "}}")?;
        }
        write!(out, "\n  ],\n")?;
    }
    let root = platform.zones().first().and_then(|root| root.storage_capacity);
    let shares = |zone: &Zone| {
        !zone.resources.is_empty() || (zone.storage_capacity.is_some() && zone.parent.is_some())
    };
    let sites: Vec<&Zone> = platform.zones().iter().filter(|zone| shares(zone)).collect();
    if !sites.is_empty() {
        write!(out, "  \"sites\": [")?;
        for (at, zone) in sites.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let hosts: Vec<String> = hosts_in(platform, zone).map(json).collect();
            let (id, hosts) = (json(&zone.name), hosts.join(", "));
            write!(out, "{comma}\n    {{\"id\": {id}, \"hosts\": [{hosts}]")?;
            if !zone.resources.is_empty() {
                write!(out, ", \"resources\": {}", named_text(&zone.resources, json, ": "))?;
            }
            if let Some(storage) = zone.storage_capacity.filter(|_| zone.parent.is_some()) {
                write!(out, ", \"storage\": {storage}")?;
            }
            write!(out, "}}")?;
        }
        write!(out, "\n  ],\n")?;
    }
    if !platform.resources().is_empty() {
        let all: Vec<_> = platform.resources().iter().map(|r| (r.name.clone(), r.amount)).collect();
        writeln!(out, "  \"resources\": {},", named_text(&all, json, ": "))?;
    }
    match platform.storage().or(root) {
        Some(storage) => writeln!(out, "  \"storage\": {storage},"),
        None => Ok(()),
    }
}

/// The computing hosts in a zone and in the zones inside it.
fn hosts_in<'p>(platform: &'p Platform, zone: &'p Zone) -> impl Iterator<Item = &'p str> {
    let inside = move |host: &&Host| {
        let mut around = Some(host.zone);
        while let Some(id) = around.filter(|id| platform.zone(*id).name != zone.name) {
            around = platform.zone(id).parent;
        }
        host.cores > 0 && around.is_some()
    };
    platform.hosts().iter().filter(inside).map(|host| &*host.name)
}

/// Named files that edges cannot represent: inputs, results, files of several readers, kept ones.
fn named_files(workflow: &Workflow) -> Vec<FileId> {
    workflow.files().filter(|&file| !workflow.file_name(file).is_empty()).collect()
}

fn write_files(workflow: &Workflow, out: &mut dyn Write) -> std::io::Result<()> {
    let files = named_files(workflow);
    if files.is_empty() {
        return Ok(());
    }
    write!(out, "  \"files\": [")?;
    for (at, &file) in files.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let (name, size) = (json(workflow.file_name(file)), workflow.file_bytes(file));
        write!(out, "{comma}\n    {{\"id\": {name}, \"size\": {size}")?;
        if let Some(from) = workflow.producer(file) {
            write!(out, ", \"from\": {}", json(workflow.task_name(from)))?;
        }
        let to: Vec<String> =
            workflow.consumers(file).map(|task| json(workflow.task_name(task))).collect();
        if !to.is_empty() {
            write!(out, ", \"to\": [{}]", to.join(", "))?;
        }
        if workflow.is_kept(file) {
            write!(out, ", \"keep\": true")?;
        }
        write!(out, "}}")?;
    }
    write!(out, "\n  ],\n")
}

fn billing(billing: Billing) -> String {
    let Billing { quantum, minimum, setup } = billing;
    format!("{{\"quantum\": {quantum}, \"minimum\": {minimum}, \"setup\": {setup}}}")
}

/// Whether the machines of a class are interchangeable for all tasks.
fn is_cluster(problem: &Problem<'_>, class: &Class) -> bool {
    let mut procs = problem.proc_ids().filter(|&p| class.hosts.contains(&problem.host_of(p)));
    let first = procs.next().map(|p| problem.class_of(p));
    procs.all(|p| Some(problem.class_of(p)) == first)
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Seconds of a task on one processor, whether it fits there or not.
fn time_on(problem: &Problem<'_>, task: TaskId, proc: ProcId) -> f64 {
    let seconds = problem.exec_on(task, proc);
    if seconds.is_finite() { seconds } else { problem.exec_unlimited(task, problem.class_of(proc)) }
}

fn write_region(control: &Control, item: Item, out: &mut dyn Write) -> std::io::Result<()> {
    match control.region_name(control.region_of(item)).as_str() {
        "" => Ok(()),
        region => write!(out, ", \"in\": {}", json(region)),
    }
}

/// Dependencies, choices and loops of a workflow that has the latter; the list of edges is open.
fn write_control(control: &Control, out: &mut dyn Write) -> std::io::Result<()> {
    let stated = control.edges().iter().map(|e| (e.from, e.to, e.bytes.unwrap_or(0.0)));
    let mut edges: Vec<(Item, Item, f64)> = stated.collect();
    if !control.file_uses().is_empty() {
        // The format has no files for control parts: the dependencies that follow from them are written.
        for region in control.regions() {
            for (item, before) in region.items.iter().zip(&region.before) {
                edges.extend(before.iter().map(|b| (*b, *item, 0.0)));
            }
        }
        let mut seen = HashSet::new();
        edges.retain(|(from, to, _)| seen.insert((*from, *to)));
    }
    for (i, (from, to, data)) in edges.into_iter().enumerate() {
        let comma = if i > 0 { "," } else { "" };
        let [from, to] = [from, to].map(|end| json(control.item_name(end)));
        write!(out, "{comma}\n    {{\"from\": {from}, \"to\": {to}, \"data\": {data}}}")?;
    }
    let by = |task: Option<u32>| {
        task.map_or(String::new(), |t| format!(", \"by\": {}", json(control.task_name(t))))
    };
    write!(out, "\n  ],\n  \"choices\": [")?;
    for (c, choice) in control.choices().iter().enumerate() {
        let comma = if c > 0 { "," } else { "" };
        write!(out, "{comma}\n    {{\"id\": {}", json(&choice.name))?;
        write_region(control, Item::Choice(c as u32), out)?;
        let branch = |b: &Branch| {
            if choice.is_known {
                format!("{{\"id\": {}, \"probability\": {}}}", json(&b.name), b.probability)
            } else {
                format!("{{\"id\": {}}}", json(&b.name))
            }
        };
        let branches: Vec<String> = choice.branches.iter().map(branch).collect();
        write!(out, "{}, \"branches\": [{}]}}", by(choice.by), branches.join(", "))?;
    }
    write!(out, "\n  ],\n  \"loops\": [")?;
    for (l, spec) in control.loops().iter().enumerate() {
        let comma = if l > 0 { "," } else { "" };
        write!(out, "{comma}\n    {{\"id\": {}", json(&spec.name))?;
        write_region(control, Item::Loop(l as u32), out)?;
        let iterations = crate::control::json(&spec.iterations);
        write!(out, "{}, \"iterations\": {iterations}}}", by(spec.by))?;
    }
    Ok(())
}

fn write_parts(
    problem: &Problem<'_>,
    control: Option<&Control>,
    network: &Pairs<'_, '_>,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let workflow = problem.workflow();
    write!(out, "{{\n  \"name\": {},\n  \"tasks\": [", json(workflow.name()))?;
    for task in workflow.tasks() {
        let comma = if task.0 > 0 { "," } else { "" };
        let (id, cost) = (json(workflow.task_name(task)), workflow.work(task));
        write!(out, "{comma}\n    {{\"id\": {id}, \"cost\": {cost}")?;
        write_width(workflow, task, out)?;
        write_demand(workflow, task, out)?;
        if let Some(control) = control {
            write_region(control, Item::Task(task.0), out)?;
        }
        write!(out, "}}")?;
    }
    write!(out, "\n  ],\n  \"edges\": [")?;
    let mut first = true;
    for edge in workflow.edges() {
        // Named files are listed by themselves: an edge is left for what else flows.
        let named = |file: &FileId| !workflow.file_name(*file).is_empty();
        let rest: Vec<FileId> = workflow.edge_files(edge).filter(|f| !named(f)).collect();
        let data = rest.iter().map(|&f| workflow.file_bytes(f)).fold(0.0, |sum, b| sum + b);
        if rest.is_empty() && workflow.edge_files(edge).next().is_some() {
            continue;
        }
        let comma = if first { "" } else { "," };
        first = false;
        let (from, to) = workflow.edge_ends(edge);
        let (from, to) = (json(workflow.task_name(from)), json(workflow.task_name(to)));
        write!(out, "{comma}\n    {{\"from\": {from}, \"to\": {to}, \"data\": {data}}}")?;
    }
    if let Some(control) = control {
        write_control(control, out)?;
    }
    write_processors(problem, out)?;
    let table = workflow.cost_table().is_some();
    if table {
        write!(out, "  \"exec\": [")?;
        for task in workflow.tasks() {
            let comma = if task.0 > 0 { "," } else { "" };
            let row = problem.proc_ids().map(|proc| time_on(problem, task, proc).to_string());
            write!(out, "{comma}\n    [{}]", row.collect::<Vec<_>>().join(", "))?;
        }
        write!(out, "\n  ],\n")?;
    }
    write!(out, "  \"bandwidth\": ")?;
    network.write_bandwidth(out)?;
    if network.latency {
        write!(out, ",\n  \"latency\": ")?;
        network.write_latency(out)?;
    }
    writeln!(out, "\n}}")
}
