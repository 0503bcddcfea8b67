//! Writing an instance: a planning problem as plain numbers.

use crate::error::{FormatError, Result};
use slackline_model::control::{Branch, Control, Item};
use slackline_model::platform::{Billing, Class};
use slackline_model::{HostId, Platform, Problem, ProcId, SpeedUp, TaskId, Workflow};
use std::collections::HashSet;
use std::io::Write;

/// Writes an instance; the format's module says what is lost.
pub fn write(workflow: &Workflow, platform: &Platform, out: &mut dyn Write) -> Result<()> {
    let tasks = workflow.clone().without_control();
    let problem = Problem::new(&tasks, platform).map_err(FormatError::new)?;
    if let Some((task, proc)) = no_fit(&problem) {
        let (task, proc) = (workflow.task_name(task), problem.proc_name(proc));
        return Err(FormatError::new(format!(
            "task '{task}' does not fit on '{proc}'; in an instance every task fits everywhere"
        )));
    }
    let network = Pairs::of(&problem)?;
    Ok(write_parts(&problem, workflow.control().map(|c| &**c), &network, out)?)
}

/// A task and a processor it cannot run on for lack of memory.
fn no_fit(problem: &Problem<'_>) -> Option<(TaskId, ProcId)> {
    let runs = |task, class: &usize| problem.exec(task, *class).is_finite();
    problem.workflow().tasks().find_map(|task| {
        let class = (0..problem.classes()).find(|class| !runs(task, class))?;
        let proc = problem.proc_ids().find(|&proc| problem.class_of(proc) == class)?;
        Some((task, proc))
    })
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
        if network.groups == 1 && problem.procs() == problem.platform().hosts().len() {
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
        self.write(out, |from, to| match from == to {
            true => "null".to_string(),
            false => number(network.bandwidth[self.cell(from, to)]),
        })
    }

    fn write_latency(&self, out: &mut dyn Write) -> std::io::Result<()> {
        if let Some((_, latency)) = self.uniform {
            return write!(out, "{latency}");
        }
        let network = self.problem.network();
        self.write(out, |from, to| match from == to {
            true => "0".to_string(),
            false => network.latency[self.cell(from, to)].to_string(),
        })
    }

    fn cell(&self, from: HostId, to: HostId) -> usize {
        let network = self.problem.network();
        let group = |host: HostId| network.group_of[host.index()] as usize;
        group(from) * network.groups + group(to)
    }
}

/// How a task shrinks with width, and which widths it takes.
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
    write!(out, "\n  ],\n  \"processors\": [")?;
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
        if *class.name != *name && is_cluster(problem, class) {
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

fn billing(billing: Billing) -> String {
    let Billing { quantum, minimum, setup } = billing;
    format!("{{\"quantum\": {quantum}, \"minimum\": {minimum}, \"setup\": {setup}}}")
}

/// Whether no task tells the machines of a class apart.
fn is_cluster(problem: &Problem<'_>, class: &Class) -> bool {
    let mut procs = problem.proc_ids().filter(|&p| class.hosts.contains(&problem.host_of(p)));
    let first = procs.next().map(|p| problem.class_of(p));
    procs.all(|p| Some(problem.class_of(p)) == first)
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
        // Files have no place here; what waits for whom because of them has.
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
        let branch = |b: &Branch| match choice.is_known {
            true => format!("{{\"id\": {}, \"probability\": {}}}", json(&b.name), b.probability),
            false => format!("{{\"id\": {}}}", json(&b.name)),
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
        if let Some(control) = control {
            write_region(control, Item::Task(task.0), out)?;
        }
        write!(out, "}}")?;
    }
    write!(out, "\n  ],\n  \"edges\": [")?;
    for edge in workflow.edges() {
        let comma = if edge.0 > 0 { "," } else { "" };
        let (from, to) = workflow.edge_ends(edge);
        let (from, to) = (json(workflow.task_name(from)), json(workflow.task_name(to)));
        let data = workflow.edge_bytes(edge);
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
            let row = problem.proc_ids().map(|proc| problem.exec_on(task, proc).to_string());
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
