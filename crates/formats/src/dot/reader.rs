//! From the words of DOT to a workflow.

use super::MOLDABLE;
use super::lexer::{Lexer, Word, undirected};
use crate::document::Document;
use crate::error::Result;
use crate::scan::Spot;
use crate::text::set_gpus;
use slackline_model::names::UniqueNames;
use slackline_model::{SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};
use std::collections::{HashMap, HashSet};
use std::io::Read;

/// Groups nested deeper are refused.
const DEPTH_LIMIT: usize = 64;

/// Most edges that groups such as `{a b} -> {c d}` may multiply to.
const GROUP_EDGES: usize = 10_000_000;

/// Reads a graph.
pub fn read(source: impl Read) -> Result<Workflow> {
    Ok(read_document(source)?.workflow)
}

/// Reads a graph, with a warning if nothing in it gives the work of its tasks.
pub(super) fn read_document(source: impl Read) -> Result<Document> {
    let mut parser = Parser::new(source)?;
    parser.graph()?;
    let (all, untimed) = parser.found.untimed();
    let mut document = Document::new(parser.found.build()?);
    if untimed > 0 {
        let which = if untimed == all {
            "no task has a size".to_string()
        } else {
            format!("{untimed} of {all} tasks have no size")
        };
        document.warnings.push(format!("{which}: their work is 0"));
    }
    Ok(document)
}

/// Attributes of a node; those never given are absent.
#[derive(Clone, Debug, Default)]
struct Node {
    /// Position among the node statements.
    declared: Option<u32>,
    attributes: Attributes,
}

/// The attributes of a node or edge that mean something.
#[derive(Clone, Debug, Default, PartialEq)]
struct Attributes {
    size: Option<f64>,
    alpha: Option<f64>,
    memory: Option<f64>,
    gpus: Option<u32>,
    cores: Option<(u32, u32)>,
    spread: Option<bool>,
    /// Index in the list of kinds.
    kind: Option<u32>,
    /// Label in the drawing.
    label: Option<String>,
}

impl Attributes {
    /// Overrides attributes with those given in `other`.
    fn update(&mut self, other: &Attributes) {
        self.size = other.size.or(self.size);
        self.alpha = other.alpha.or(self.alpha);
        self.memory = other.memory.or(self.memory);
        self.gpus = other.gpus.or(self.gpus);
        self.cores = other.cores.or(self.cores);
        self.spread = other.spread.or(self.spread);
        self.kind = other.kind.or(self.kind);
        if other.label.is_some() {
            self.label.clone_from(&other.label);
        }
    }
}

/// Everything read so far.
#[derive(Default)]
struct Found {
    name: String,
    strict: bool,
    names: UniqueNames,
    nodes: Vec<Node>,
    declared: u32,
    kinds: UniqueNames,
    /// (from, to, bytes)
    edges: Vec<(u32, u32, f64)>,
    /// Edges that came from groups on both sides.
    multiplied: usize,
}

impl Found {
    /// The node of that name, made with the defaults in force if it is new.
    fn node(&mut self, name: &str, spot: Spot, defaults: &Attributes) -> Result<u32> {
        if let Some(known) = self.names.position(name) {
            return Ok(known as u32);
        }
        if self.nodes.len() >= u32::MAX as usize - 2 || !self.names.names().has_room(name.len()) {
            return Err(spot.error("more tasks than Slackline can hold"));
        }
        let position = self.names.insert(name).unwrap_or_else(|known| known);
        self.nodes.push(Node { declared: None, attributes: defaults.clone() });
        Ok(position as u32)
    }

    fn build(mut self) -> Result<Workflow> {
        let mut order: Vec<u32> = (0..self.nodes.len() as u32).collect();
        order.sort_by_key(|&n| self.nodes[n as usize].declared.unwrap_or(u32::MAX));
        self.check_declared(&order)?;
        let shown = self.shown_names();
        let mut position = vec![0u32; order.len()];
        let mut builder = WorkflowBuilder::new(std::mem::take(&mut self.name));
        for (index, &node) in order.iter().enumerate() {
            position[node as usize] = index as u32;
            builder.add_task(self.task(node as usize, &shown[node as usize]))?;
        }
        if self.strict {
            // At most one edge per pair; the last statement wins.
            self.edges.reverse();
            self.edges.sort_by_key(|&(from, to, _)| (from, to));
            self.edges.dedup_by_key(|edge| (edge.0, edge.1));
        }
        drop((self.names, self.nodes));
        for (from, to, bytes) in self.edges {
            let (from, to) = (TaskId(position[from as usize]), TaskId(position[to as usize]));
            if bytes > 0.0 {
                builder.add_edge(from, to, bytes)?;
            } else {
                builder.add_control(from, to)?;
            }
        }
        Ok(builder.build()?)
    }

    /// In a graph with sizes a name that only occurs in edges is a slip of the pen.
    fn check_declared(&self, order: &[u32]) -> Result<()> {
        if !self.nodes.iter().any(|n| n.declared.is_some() && n.attributes.size.is_some()) {
            return Ok(());
        }
        let name = |&&n: &&u32| self.names.names().get(n as usize);
        let stray = |n: &&u32| {
            self.nodes[**n as usize].declared.is_none() && !matches!(name(n), "root" | "end")
        };
        match order.iter().find(stray) {
            None => Ok(()),
            Some(n) => Err(crate::FormatError::new(format!(
                "task '{}' has dependencies but no statement with its size",
                name(&n)
            ))),
        }
    }

    /// Number of tasks, and of those without a size; SimGrid's made-up ones have none.
    fn untimed(&self) -> (usize, usize) {
        let made_up = |n: usize| matches!(self.names.names().get(n), "root" | "end");
        let own = || (0..self.nodes.len()).filter(|&n| !made_up(n));
        (own().count(), own().filter(|&n| self.nodes[n].attributes.size.is_none()).count())
    }

    /// The names of the tasks: their labels, where they have any. If several tasks have the same label, their
    /// ids follow it; where the result is taken too, the id alone is the name.
    fn shown_names(&self) -> Vec<String> {
        let id = |node: usize| self.names.names().get(node);
        let label = |node: usize| self.nodes[node].attributes.label.as_deref();
        let mut bearers: HashMap<&str, usize> = HashMap::new();
        for label in (0..self.nodes.len()).filter_map(label) {
            *bearers.entry(label).or_default() += 1;
        }
        let mut taken: HashSet<String> = HashSet::new();
        let free =
            |name: &str, node: usize| self.names.position(name).is_none_or(|other| other == node);
        let name = |node: usize| {
            let wanted = match label(node) {
                Some(label) if label != id(node) && bearers[label] > 1 => {
                    format!("{label} ({})", id(node))
                }
                Some(label) => label.to_string(),
                None => id(node).to_string(),
            };
            let wanted = match free(&wanted, node) && !taken.contains(&wanted) {
                true => wanted,
                false => id(node).to_string(),
            };
            taken.insert(wanted.clone());
            wanted
        };
        (0..self.nodes.len()).map(name).collect()
    }

    fn task(&self, node: usize, name: &str) -> Task {
        let attributes = &self.nodes[node].attributes;
        let mut task = Task::new(name, attributes.size.unwrap_or(0.0));
        if let Some(serial) = attributes.alpha {
            task.speedup = SpeedUp::Amdahl { serial };
            (task.min_width, task.max_width) = MOLDABLE;
            task.spread = true;
        }
        task.spread = attributes.spread.unwrap_or(task.spread);
        if let Some(width) = attributes.cores {
            (task.min_width, task.max_width) = width;
        }
        if let Some(kind) = attributes.kind {
            task.kind = self.kinds.names().get(kind as usize).to_string();
        }
        task.memory = attributes.memory.unwrap_or(0.0);
        if let Some(gpus) = attributes.gpus {
            set_gpus(&mut task, gpus);
        }
        task
    }
}

/// The defaults of nodes and edges in force, as `node [...]` and `edge [...]` set them.
#[derive(Clone, Default)]
struct Defaults {
    node: Attributes,
    edge: Attributes,
}

/// The nodes at one end of an edge.
enum Ends {
    One(u32),
    Many(Vec<u32>),
}

impl Ends {
    fn nodes(&self) -> &[u32] {
        match self {
            Ends::One(node) => std::slice::from_ref(node),
            Ends::Many(nodes) => nodes,
        }
    }
}

struct Parser<R> {
    lexer: Lexer<R>,
    word: Word,
    spot: Spot,
    found: Found,
}

impl<R: Read> Parser<R> {
    fn new(source: R) -> Result<Parser<R>> {
        let mut lexer = Lexer::new(source)?;
        let (word, spot) = lexer.next()?;
        Ok(Parser { lexer, word, spot, found: Found::default() })
    }

    /// Takes the current word.
    fn take(&mut self) -> Result<Word> {
        let (word, spot) = self.lexer.next()?;
        self.spot = spot;
        Ok(std::mem::replace(&mut self.word, word))
    }

    fn skip_mark(&mut self, mark: u8) -> Result<bool> {
        let there = self.word == Word::Mark(mark);
        if there {
            self.take()?;
        }
        Ok(there)
    }

    fn unexpected<T>(&self, due: &str) -> Result<T> {
        Err(self.spot.error(format!("{} where {due} is due", self.word.name())))
    }

    fn graph(&mut self) -> Result<()> {
        if self.word == Word::Keyword("strict") {
            self.found.strict = true;
            self.take()?;
        }
        match self.word {
            Word::Keyword("digraph") => self.take()?,
            Word::Keyword("graph") => return Err(undirected(self.spot)),
            _ => return self.unexpected("'digraph'"),
        };
        if let Word::Id(_) = self.word
            && let Word::Id(name) = self.take()?
        {
            self.found.name = name;
        }
        if !self.skip_mark(b'{')? {
            return self.unexpected("'{'");
        }
        self.statements(Defaults::default(), 0, &mut Vec::new())?;
        if self.word != Word::End {
            return self.unexpected("the end of the file (one graph per file)");
        }
        Ok(())
    }

    /// Statements up to and with the closing brace; `mentioned` collects the nodes in them for callers that
    /// need them (inside groups).
    fn statements(
        &mut self,
        mut defaults: Defaults,
        depth: usize,
        mentioned: &mut Vec<u32>,
    ) -> Result<()> {
        if depth > DEPTH_LIMIT {
            return Err(self.spot.error(format!("groups nested deeper than {DEPTH_LIMIT}")));
        }
        loop {
            match &self.word {
                Word::Mark(b'}') => {
                    self.take()?;
                    return Ok(());
                }
                Word::Mark(b';') => {
                    self.take()?;
                }
                Word::Keyword(target @ ("graph" | "node" | "edge")) => {
                    let target = *target;
                    self.take()?;
                    if self.word != Word::Mark(b'[') {
                        return self.unexpected("'['");
                    }
                    match target {
                        "node" => {
                            self.attributes(&mut defaults.node)?;
                            // A label given as default would apply to all of them.
                            defaults.node.label = None;
                        }
                        "edge" => self.attributes(&mut defaults.edge)?,
                        _ => self.drawing_attributes()?,
                    }
                }
                Word::Id(_) | Word::Keyword("subgraph") | Word::Mark(b'{') => {
                    self.node_or_edge(&defaults, depth, mentioned)?;
                }
                _ => return self.unexpected("a statement or '}'"),
            }
        }
    }

    /// `a [...]`, `a -> b [...]`, `key = value` or a subgraph.
    fn node_or_edge(
        &mut self,
        defaults: &Defaults,
        depth: usize,
        mentioned: &mut Vec<u32>,
    ) -> Result<()> {
        let spot = self.spot;
        let mut ends = match self.word {
            Word::Id(_) => {
                let Word::Id(name) = self.take()? else { return Ok(()) };
                if self.skip_mark(b'=')? {
                    return self.value().map(|_| ()); // an attribute of the graph
                }
                self.port()?;
                let node = self.found.node(&name, spot, &defaults.node)?;
                if self.word != Word::Arrow {
                    if depth > 0 {
                        mentioned.push(node);
                    }
                    return self.declare(node, &name, spot);
                }
                Ends::One(node)
            }
            _ => self.group(defaults, depth)?,
        };
        if depth > 0 {
            mentioned.extend(ends.nodes());
        }
        let first = self.found.edges.len();
        while self.word == Word::Arrow {
            self.take()?;
            let next = self.end_of_edge(defaults, depth)?;
            if depth > 0 {
                mentioned.extend(next.nodes());
            }
            self.connect(&ends, &next, spot)?;
            ends = next;
        }
        if self.word == Word::Mark(b'[') || defaults.edge.size.is_some() {
            let mut attributes = defaults.edge.clone();
            self.attributes(&mut attributes)?;
            for edge in &mut self.found.edges[first..] {
                edge.2 = attributes.size.unwrap_or(0.0);
            }
        }
        Ok(())
    }

    /// The attributes of a node statement.
    fn declare(&mut self, node: u32, name: &str, spot: Spot) -> Result<()> {
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes)?;
        if let Some(size) = attributes.size
            && size < 0.0
        {
            return Err(spot.error(format!("the work of task '{name}' is {size}, below zero")));
        }
        let Found { nodes, declared, .. } = &mut self.found;
        let known = &mut nodes[node as usize];
        if known.declared.is_none() {
            known.declared = Some(*declared);
            *declared += 1;
        } else if let (Some(old), Some(new)) = (known.attributes.size, attributes.size)
            && old != new
        {
            let message = format!("task '{name}' is declared twice, with sizes {old} and {new}");
            return Err(spot.error(message));
        }
        known.attributes.update(&attributes);
        Ok(())
    }

    fn end_of_edge(&mut self, defaults: &Defaults, depth: usize) -> Result<Ends> {
        let spot = self.spot;
        match self.word {
            Word::Id(_) => {
                let Word::Id(name) = self.take()? else { return self.unexpected("a task") };
                self.port()?;
                Ok(Ends::One(self.found.node(&name, spot, &defaults.node)?))
            }
            Word::Keyword("subgraph") | Word::Mark(b'{') => self.group(defaults, depth),
            _ => self.unexpected("a task"),
        }
    }

    /// `{ ... }` or `subgraph name { ... }`: the nodes mentioned inside, each once.
    fn group(&mut self, defaults: &Defaults, depth: usize) -> Result<Ends> {
        if self.word == Word::Keyword("subgraph") {
            self.take()?;
            if let Word::Id(_) = self.word {
                self.take()?;
            }
        }
        if !self.skip_mark(b'{')? {
            return self.unexpected("'{'");
        }
        let mut nodes = Vec::new();
        self.statements(defaults.clone(), depth + 1, &mut nodes)?;
        nodes.sort_unstable();
        nodes.dedup();
        Ok(Ends::Many(nodes))
    }

    fn connect(&mut self, from: &Ends, to: &Ends, spot: Spot) -> Result<()> {
        let (from, to) = (from.nodes(), to.nodes());
        if from.len() > 1 && to.len() > 1 {
            self.found.multiplied = self.found.multiplied.saturating_add(from.len() * to.len());
            if self.found.multiplied > GROUP_EDGES {
                let message = format!("groups stand for more than {GROUP_EDGES} dependencies");
                return Err(spot.error(message));
            }
        }
        for &a in from {
            for &b in to {
                if a == b {
                    let name = self.found.names.names().get(a as usize);
                    return Err(spot.error(format!("task '{name}' depends on itself")));
                }
                self.found.edges.push((a, b, 0.0));
            }
        }
        Ok(())
    }

    /// `:port:compass`, which only matter to drawings.
    fn port(&mut self) -> Result<()> {
        while self.skip_mark(b':')? {
            self.value()?;
        }
        Ok(())
    }

    fn value(&mut self) -> Result<(String, Spot)> {
        let spot = self.spot;
        match self.take()? {
            Word::Id(value) => Ok((value, spot)),
            Word::Keyword(value) => Ok((value.to_string(), spot)),
            word => Err(spot.error(format!("{} where a value is due", word.name()))),
        }
    }

    /// `[a=1, b=2][c=3]`, possibly nothing.
    fn attributes(&mut self, attributes: &mut Attributes) -> Result<()> {
        self.attribute_list(|found, key, value, spot| match key {
            "size" => number(value, "size", spot).map(|x| attributes.size = Some(x)),
            "alpha" => fraction(value, spot).map(|x| attributes.alpha = Some(x)),
            "memory" => {
                let bytes = number(value, "memory", spot)?;
                if bytes < 0.0 {
                    return Err(spot.error(format!("memory is {value}, below zero")));
                }
                attributes.memory = Some(bytes);
                Ok(())
            }
            "gpus" => match value.trim().parse() {
                Ok(gpus) => {
                    attributes.gpus = Some(gpus);
                    Ok(())
                }
                Err(_) => Err(spot.error(format!("gpus must be a whole number, not '{value}'"))),
            },
            "cores" => cores(value, spot).map(|x| attributes.cores = Some(x)),
            "spread" => {
                attributes.spread = match value {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => return Err(spot.error(format!("spread is true or false, not '{value}'"))),
                };
                Ok(())
            }
            "label" => {
                attributes.label = plain_label(value);
                Ok(())
            }
            "kind" => {
                let kind = found.kinds.insert(value).unwrap_or_else(|known| known);
                attributes.kind = Some(kind as u32);
                Ok(())
            }
            _ => Ok(()),
        })
    }

    /// Attributes of the graph: the `size` of the drawing is no task's work.
    fn drawing_attributes(&mut self) -> Result<()> {
        self.attribute_list(|_, _, _, _| Ok(()))
    }

    fn attribute_list(
        &mut self,
        mut each: impl FnMut(&mut Found, &str, &str, Spot) -> Result<()>,
    ) -> Result<()> {
        while self.skip_mark(b'[')? {
            loop {
                match self.word {
                    Word::Mark(b']') => {
                        self.take()?;
                        break;
                    }
                    Word::Mark(b',' | b';') => {
                        self.take()?;
                    }
                    Word::Id(_) | Word::Keyword(_) => {
                        let (key, _) = self.value()?;
                        // A key alone means "true".
                        if self.skip_mark(b'=')? {
                            let (value, spot) = self.value()?;
                            each(&mut self.found, &key, &value, spot)?;
                        }
                    }
                    _ => return self.unexpected("an attribute or ']'"),
                }
            }
        }
        Ok(())
    }
}

/// A label as one line of text; none where it is empty, the node's own name, or markup.
fn plain_label(text: &str) -> Option<String> {
    let markup = text.starts_with('<') && text.ends_with('>');
    let lines = text.replace("\\n", " ").replace("\\l", " ").replace("\\r", " ");
    let line = lines.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty() && !markup && !line.contains("\\N")).then_some(line)
}

/// A finite number; of an edge's size also one below zero.
fn number(text: &str, what: &str, spot: Spot) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(spot.error(format!("{what} must be a finite number, not '{text}'"))),
    }
}

fn fraction(text: &str, spot: Spot) -> Result<f64> {
    let value = number(text, "alpha", spot)?;
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(spot.error(format!("alpha, the serial fraction, must lie in [0, 1], not {text}")))
}

/// `4` or `1-8`.
fn cores(text: &str, spot: Spot) -> Result<(u32, u32)> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    match (min.trim().parse(), max.trim().parse()) {
        (Ok(min), Ok(max)) if 1 <= min && min <= max => Ok((min, max)),
        _ => {
            Err(spot.error(format!("cores must be a number or a range such as 1-8, not '{text}'")))
        }
    }
}
