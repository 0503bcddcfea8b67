//! An instance file as a workflow and a platform.

use super::schema::{File, ProcessorEntry, Table, TaskEntry, check_length};
use super::{FormatError, Result};
use slackline_model::control::{BranchSpec, ChoiceSpec, Control, ControlBuilder, Item, LoopSpec};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder, RoutingKind};
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
        Ok(task)
    }
}

impl File {
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
        let columns = self.processors.iter().map(|p| p.id.0.clone()).collect();
        Ok(Some(CostTable { columns, seconds: exec.concat() }))
    }

    pub(super) fn platform(&self) -> Result<Platform> {
        let processors = self.processors.len();
        if processors == 0 {
            return Err(FormatError::in_path("processors", "there is no processor"));
        }
        self.bandwidth.check("bandwidth", processors, |b| b <= 0.0)?;
        self.latency.check("latency", processors, |l| l < 0.0)?;
        let mut builder = PlatformBuilder::new(self.name.as_str());
        let zone = builder
            .add_zone(None, self.zone_name(), RoutingKind::None)
            .map_err(FormatError::new)?;
        if let Some(billing) = self.billing {
            builder.set_billing(billing.billing("billing")?);
        }
        self.check_clusters()?;
        for (i, processor) in self.processors.iter().enumerate() {
            let billing = processor.billing.map(|b| b.billing(&format!("processors[{i}].billing")));
            let spec = HostSpec {
                price: processor.price.unwrap_or(0.0),
                class: self.class(processor),
                leasable: processor.leasable,
                billing: billing.transpose()?,
                ..HostSpec::new(processor.id.0.as_str(), processor.speed.unwrap_or(1.0))
            };
            builder
                .add_host(zone, spec)
                .map_err(|e| FormatError::in_path(format!("processors[{i}]"), e))?;
        }
        builder.set_matrix(self.matrix());
        builder.build().map_err(FormatError::new)
    }

    /// The class of a processor: its cluster, else itself. A file that tells processors apart by
    /// nothing but speed leaves the equal ones together.
    fn class(&self, processor: &ProcessorEntry) -> Option<String> {
        let apart = |p: &ProcessorEntry| p.cluster.is_some() || p.price.is_some();
        let named = self.exec.is_some() || self.processors.iter().any(apart);
        let own = processor.cluster.as_ref().unwrap_or(&processor.id);
        named.then(|| own.0.clone())
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
        while self.processors.iter().any(|p| p.id.0 == name) {
            name.push('_');
        }
        name
    }

    fn matrix(&self) -> Matrix {
        if let (Some(bandwidth), Some(latency)) = (self.bandwidth.uniform(), self.latency.uniform())
        {
            return Matrix::uniform(bandwidth, latency.unwrap_or(0.0));
        }
        let hosts = self.processors.len();
        let cells = |table: &Table, missing: f64| {
            (0..hosts * hosts)
                .map(|cell| table.entry(cell / hosts, cell % hosts).unwrap_or(missing))
                .collect()
        };
        Matrix::Dense {
            hosts,
            bandwidth: cells(&self.bandwidth, f64::INFINITY),
            latency: cells(&self.latency, 0.0),
        }
    }
}
