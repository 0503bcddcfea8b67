//! From a workflow to TOML that a person could have written.

use crate::resources::{gpus_text, named_text};
use slackline_model::control::{Control, Item, Reads, StatedEdge, Value};
use slackline_model::units::Quantity;
use slackline_model::workflow::{Container, CostTable, REFERENCE_SPEED, Surroundings};
use slackline_model::{FileId, SpeedUp, TaskId, Workflow};
use std::io::{Result, Write};

/// Writes a workflow; the format's module lists the losses.
pub fn write(workflow: &Workflow, out: &mut dyn Write) -> Result<()> {
    if !workflow.name().is_empty() {
        writeln!(out, "name = {}", quoted(workflow.name()))?;
    }
    if workflow.reference_speed() != REFERENCE_SPEED {
        let speed = Quantity::Speed.write(workflow.reference_speed());
        writeln!(out, "reference-speed = \"{speed}\"")?;
    }
    if let Some(control) = workflow.control() {
        return write_control(workflow, control, out);
    }
    let named = workflow.files().filter(|&f| !workflow.file_name(f).is_empty());
    for (i, file) in named.enumerate() {
        if i == 0 {
            writeln!(out, "\n[files]")?;
        }
        let (name, bytes) = (key(workflow.file_name(file)), workflow.file_bytes(file));
        writeln!(out, "{name} = \"{}\"", Quantity::Size.write(bytes))?;
    }
    for task in workflow.tasks() {
        write_task(workflow, task, out)?;
    }
    Ok(())
}

/// A workflow with choices and loops.
fn write_control(workflow: &Workflow, control: &Control, out: &mut dyn Write) -> Result<()> {
    let files = control.file_uses();
    for (i, name) in files.names().iter().enumerate() {
        if i == 0 {
            writeln!(out, "\n[files]")?;
        }
        writeln!(out, "{} = \"{}\"", key(name), Quantity::Size.write(files.bytes(name)))?;
    }
    let after = |item: Item| -> Vec<String> {
        let edges = control.edges().iter().filter(|edge| edge.to == item);
        let one = |edge: &StatedEdge| {
            let name = quoted(control.item_name(edge.from));
            match edge.bytes {
                Some(bytes) if bytes > 0.0 => {
                    format!("{{ task = {name}, data = \"{}\" }}", Quantity::Size.write(bytes))
                }
                _ => name,
            }
        };
        edges.map(one).collect()
    };
    for (c, choice) in control.choices().iter().enumerate() {
        writeln!(out, "\n[choice.{}]", key(&choice.name))?;
        let item = Item::Choice(c as u32);
        write_block(control, item, (choice.by, &choice.reads), after(item), out)?;
        for branch in &choice.branches {
            writeln!(out, "[choice.{}.branch.{}]", key(&choice.name), key(&branch.name))?;
            if choice.is_known {
                writeln!(out, "probability = {:?}", branch.probability)?;
            }
            write_list(out, "when", branch.when.iter().map(value).collect())?;
            if branch.otherwise {
                writeln!(out, "else = true")?;
            }
            write_pairs(out, "pass", &branch.pass)?;
        }
    }
    for (l, spec) in control.loops().iter().enumerate() {
        writeln!(out, "\n[loop.{}]", key(&spec.name))?;
        let item = Item::Loop(l as u32);
        write_block(control, item, (spec.by, &spec.reads), after(item), out)?;
        let or_else = |values: &[Value], is_else: bool| {
            let values = values.iter().map(value);
            values.chain(is_else.then(|| quoted("else"))).collect::<Vec<_>>()
        };
        write_list(out, "again", or_else(&spec.again_when, spec.otherwise == Some(true)))?;
        write_list(out, "stop", or_else(&spec.stop_when, spec.otherwise == Some(false)))?;
        writeln!(out, "iterations = {}", crate::control::toml(&spec.iterations))?;
        write_pairs(out, "carry", &spec.carry)?;
    }
    for task in workflow.tasks() {
        write_head(workflow, task, out)?;
        let region = control.region_name(control.region_of(Item::Task(task.0)));
        if !region.is_empty() {
            writeln!(out, "in = {}", quoted(&region))?;
        }
        let names = |names: &[String]| names.iter().map(|name| quoted(name)).collect();
        write_list(out, "inputs", names(files.read_by(task.0)))?;
        write_list(out, "outputs", names(files.written_by(task.0)))?;
        write_list(out, "after", after(Item::Task(task.0)))?;
        write_work(workflow, task, out)?;
    }
    Ok(())
}

fn write_block(
    control: &Control,
    item: Item,
    (by, reads): (Option<u32>, &Option<Reads>),
    after: Vec<String>,
    out: &mut dyn Write,
) -> Result<()> {
    let region = control.region_name(control.region_of(item));
    if !region.is_empty() {
        writeln!(out, "in = {}", quoted(&region))?;
    }
    if let Some(by) = by {
        writeln!(out, "by = {}", quoted(control.task_name(by)))?;
    }
    match reads {
        Some(Reads::ExitCode) => writeln!(out, "reads = \"exit-code\"")?,
        Some(Reads::Output { file, at }) => {
            writeln!(out, "reads = {{ file = {}, at = {} }}", quoted(file), quoted(at))?;
        }
        None => {}
    }
    write_list(out, "after", after)
}

fn value(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            format!("{number:.0}")
        }
        Value::Number(number) => format!("{number:?}"),
        Value::Truth(truth) => truth.to_string(),
    }
}

fn write_pairs(out: &mut dyn Write, name: &str, pairs: &[(String, String)]) -> Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let pairs: Vec<String> =
        pairs.iter().map(|(a, b)| format!("{} = {}", key(a), quoted(b))).collect();
    writeln!(out, "{name} = {{ {} }}", pairs.join(", "))
}

fn write_task(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> Result<()> {
    write_head(workflow, task, out)?;
    let names = |files: Vec<FileId>| -> Vec<String> {
        let names = files.into_iter().map(|file| workflow.file_name(file));
        names.filter(|name| !name.is_empty()).map(quoted).collect()
    };
    write_list(out, "inputs", names(workflow.inputs(task).collect()))?;
    write_list(out, "outputs", names(workflow.outputs(task).collect()))?;
    write_list(out, "after", afters(workflow, task))?;
    write_work(workflow, task, out)
}

fn write_head(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "\n[task.{}]", key(workflow.task_name(task)))?;
    let kind = workflow.kind_name(workflow.kind(task));
    if !kind.is_empty() {
        writeln!(out, "kind = {}", quoted(kind))?;
    }
    if let Some(command) = workflow.command(task) {
        if let Some(line) = command.shell_line() {
            writeln!(out, "command = {}", quoted(line))?;
        } else {
            let words = std::iter::once(&command.program).chain(&command.arguments);
            write_list(out, "command", words.map(|word| quoted(word)).collect())?;
        }
        if let Some(surroundings) = &command.surroundings {
            write_surroundings(surroundings, out)?;
        }
    }
    Ok(())
}

fn write_surroundings(around: &Surroundings, out: &mut dyn Write) -> Result<()> {
    let pairs: Vec<(String, String)> =
        around.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    write_pairs(out, "env", &pairs)?;
    match &around.container {
        Some(Container { image, engine: Some(engine) }) => {
            let (image, engine) = (quoted(image), quoted(engine));
            writeln!(out, "container = {{ image = {image}, engine = {engine} }}")?;
        }
        Some(Container { image, engine: None }) => {
            writeln!(out, "container = {}", quoted(image))?;
        }
        None => {}
    }
    if let Some(conda) = &around.conda {
        writeln!(out, "conda = {}", quoted(conda))?;
    }
    write_list(out, "modules", around.modules.iter().map(|name| quoted(name)).collect())?;
    if let Some(seconds) = around.time_limit {
        writeln!(out, "time-limit = \"{seconds:?}s\"")?;
    }
    if let Some(retries) = around.retries {
        writeln!(out, "retries = {retries}")?;
    }
    if let Some(nodes) = around.nodes {
        writeln!(out, "nodes = {nodes}")?;
    }
    write_list(out, "temp", around.temp.iter().map(|name| quoted(name)).collect())
}

fn write_work(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> Result<()> {
    // Flop, not seconds: the work comes back to the last bit.
    writeln!(out, "work = \"{}\"", Quantity::Speed.write(workflow.work(task)))?;
    if let Some(table) = workflow.cost_table() {
        writeln!(out, "seconds = {{ {} }}", times(table, task))?;
    }
    write_width(workflow, task, out)?;
    if workflow.memory(task) > 0.0 {
        writeln!(out, "memory = \"{}\"", Quantity::Size.write(workflow.memory(task)))?;
    }
    write_demand(workflow, task, out)?;
    let kept = workflow.outputs(task).filter(|&f| workflow.is_kept(f));
    write_list(out, "results", kept.map(|f| quoted(workflow.file_name(f))).collect())
}

fn write_demand(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> Result<()> {
    let Some(demand) = workflow.demand(task) else { return Ok(()) };
    if demand.memory_per_core > 0.0 {
        let size = Quantity::Size.write(demand.memory_per_core);
        writeln!(out, "memory-per-core = \"{size}\"")?;
    }
    if let Some(gpus) = &demand.gpus {
        writeln!(out, "gpus = {}", gpus_text(gpus, key, " = "))?;
    }
    if !demand.named.is_empty() {
        writeln!(out, "resources = {}", named_text(&demand.named, key, " = "))?;
    }
    Ok(())
}

fn times(table: &CostTable, task: TaskId) -> String {
    let time = |(column, seconds): (&String, &f64)| format!("{} = {seconds:?}", key(column));
    let row: Vec<String> = table.columns.iter().zip(table.row(task)).map(time).collect();
    row.join(", ")
}

/// Dependencies that named files do not make.
fn afters(workflow: &Workflow, task: TaskId) -> Vec<String> {
    let mut list = Vec::new();
    for (parent, edge) in workflow.predecessors(task) {
        let name = quoted(workflow.task_name(parent));
        let mut through_file = false;
        for file in workflow.edge_files(edge) {
            if workflow.file_name(file).is_empty() {
                let data = Quantity::Size.write(workflow.file_bytes(file));
                list.push(format!("{{ task = {name}, data = \"{data}\" }}"));
            }
            through_file = true;
        }
        if !through_file {
            list.push(name);
        }
    }
    list
}

fn write_width(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> Result<()> {
    let (min, max) = workflow.width(task);
    let usual = match workflow.speedup(task) {
        SpeedUp::Serial => (1, 1),
        _ => (1, u32::MAX),
    };
    match (min, max) {
        width if width == usual => {}
        (min, max) if min == max => writeln!(out, "cores = {min}")?,
        (min, u32::MAX) => writeln!(out, "cores = \"{min}+\"")?,
        (min, max) => writeln!(out, "cores = \"{min}-{max}\"")?,
    }
    if workflow.spreads(task) {
        writeln!(out, "spread = true")?;
    }
    match workflow.speedup(task) {
        SpeedUp::Serial if min == max => Ok(()),
        SpeedUp::Serial => writeln!(out, "alpha = 1.0"),
        SpeedUp::Amdahl { serial } => writeln!(out, "alpha = {serial:?}"),
        SpeedUp::Downey { parallelism, sigma } => {
            writeln!(out, "downey = {{ parallelism = {parallelism:?}, sigma = {sigma:?} }}")
        }
        SpeedUp::Table(ratios) => writeln!(out, "speedup = {ratios:?}"),
    }
}

fn write_list(out: &mut dyn Write, name: &str, items: Vec<String>) -> Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let line = items.join(", ");
    if line.len() <= 90 {
        return writeln!(out, "{name} = [{line}]");
    }
    writeln!(out, "{name} = [")?;
    for item in items {
        writeln!(out, "  {item},")?;
    }
    writeln!(out, "]")
}

/// A key: bare where TOML allows it.
fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !name.is_empty() && name.bytes().all(bare) {
        return name.to_string();
    }
    quoted(name)
}

/// A basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
