//! The text format of the generator daggen (its default; with `--dot` it writes DOT instead): reader.
//!
//! ```text
//! // comments
//! NODE_COUNT 5
//! NODE 0 1 ROOT 0.0 0.0
//! NODE 1 2 COMPUTATION 8590000000 0.12
//! NODE 2 3 TRANSFER 209715200 0.0
//! NODE 3 4 COMPUTATION 4290000000 0.05
//! NODE 4 - END 0.0 0.0
//! ```
//!
//! A line per node: its number, the numbers of its successors (separated by commas, `-` for none),
//! its type, flop or bytes, and alpha, the serial fraction. A computation is a moldable task that
//! spreads over hosts, a transfer the data of one dependency: it has one successor. Root and end
//! only tie the graph together: they become no tasks, and data from the root or to the end moves
//! nowhere. Tasks are named `t` and their number.

use crate::detect::Codec;
use crate::document::Document;
use crate::error::{FormatError, Result};
use slackline_model::{SpeedUp, Task, Workflow, WorkflowBuilder};
use std::collections::HashMap;

pub(crate) const CODEC: Codec = Codec {
    name: "daggen",
    about: "text of the generator daggen",
    extensions: &["daggen"],
    comments: None,
    recognise: |text| content(text).next().is_some_and(|(_, line)| line.starts_with("NODE")),
    read: |text, _| Ok(Document::new(read(text)?)),
    write: None,
};

/// Lines other than comments and blank ones, with their numbers.
fn content(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with("//") && !line.starts_with('#'))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NodeKind {
    /// Root or end, which only connects the graph.
    Tie,
    Computation {
        alpha: f64,
    },
    Transfer,
}

struct Node<'a> {
    line: usize,
    number: &'a str,
    successors: Vec<&'a str>,
    kind: NodeKind,
    /// Flop of a computation, bytes of a transfer.
    amount: f64,
}

/// Reads a graph.
pub fn read(text: &str) -> Result<Workflow> {
    let mut nodes: Vec<Node<'_>> = Vec::new();
    let mut declared = None;
    for (line, words) in content(text) {
        let mut words = words.split_ascii_whitespace();
        match words.next() {
            Some("NODE_COUNT") => {
                let count = words.next().and_then(|word| word.parse::<usize>().ok());
                let wrong = || FormatError::at(line, 1, "NODE_COUNT needs a whole number");
                declared = Some((line, count.ok_or_else(wrong)?));
            }
            Some("NODE") => nodes.push(node(line, words)?),
            _ => return Err(FormatError::at(line, 1, "expected NODE or NODE_COUNT")),
        }
    }
    if let Some((line, count)) = declared
        && count != nodes.len()
    {
        let message = format!("{count} nodes are announced, {} follow", nodes.len());
        return Err(FormatError::at(line, 1, message));
    }
    build(&nodes)
}

fn node<'a>(line: usize, mut words: impl Iterator<Item = &'a str>) -> Result<Node<'a>> {
    let missing = || {
        let message = "a node has a number, successors, a type, flop or bytes, and alpha";
        FormatError::at(line, 1, message)
    };
    let mut word = || words.next().ok_or_else(missing);
    let (number, successors, kind) = (word()?, word()?, word()?);
    let (amount, alpha) = (word()?, word()?);
    let value = |what: &str, text: &str| match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => {
            let message = format!("{what} of node {number} must be a number >= 0, not '{text}'");
            Err(FormatError::at(line, 1, message))
        }
    };
    let alpha = value("alpha", alpha)?;
    let kind = match kind {
        "ROOT" | "END" => NodeKind::Tie,
        "COMPUTATION" if alpha <= 1.0 => NodeKind::Computation { alpha },
        "COMPUTATION" => {
            let message = format!("alpha of node {number} must lie in [0, 1], not {alpha}");
            return Err(FormatError::at(line, 1, message));
        }
        "TRANSFER" => NodeKind::Transfer,
        other => {
            let message = format!("a node is ROOT, END, COMPUTATION or TRANSFER, not '{other}'");
            return Err(FormatError::at(line, 1, message));
        }
    };
    let successors = match successors {
        "-" => Vec::new(),
        list => list.split(',').filter(|word| !word.is_empty()).collect(),
    };
    let amount = value(if kind == NodeKind::Transfer { "bytes" } else { "flop" }, amount)?;
    Ok(Node { line, number, successors, kind, amount })
}

fn build(nodes: &[Node<'_>]) -> Result<Workflow> {
    let mut at: HashMap<&str, usize> = HashMap::new();
    for (index, node) in nodes.iter().enumerate() {
        if at.insert(node.number, index).is_some() {
            let message = format!("node {} occurs twice", node.number);
            return Err(FormatError::at(node.line, 1, message));
        }
    }
    let mut builder = WorkflowBuilder::new("");
    let mut tasks = vec![None; nodes.len()];
    for (index, node) in nodes.iter().enumerate() {
        if let NodeKind::Computation { alpha: serial } = node.kind {
            let task = Task::new(format!("t{}", node.number), node.amount);
            let speedup = SpeedUp::Amdahl { serial };
            let task = Task { speedup, max_width: u32::MAX, spread: true, ..task };
            tasks[index] = Some(builder.add_task(task)?);
        }
    }
    let find = |from: &Node<'_>, number: &str| {
        let unknown = || {
            let message = format!("node {} leads to {number}, which is not there", from.number);
            FormatError::at(from.line, 1, message)
        };
        at.get(number).copied().ok_or_else(unknown)
    };
    for (index, node) in nodes.iter().enumerate() {
        if node.kind == NodeKind::Transfer && node.successors.len() != 1 {
            let message = format!("transfer {} must have one successor", node.number);
            return Err(FormatError::at(node.line, 1, message));
        }
        let Some(from) = tasks[index] else { continue };
        for &successor in &node.successors {
            let next = find(node, successor)?;
            match nodes[next].kind {
                NodeKind::Tie => {}
                NodeKind::Computation { .. } => {
                    if let Some(to) = tasks[next] {
                        builder.add_control(from, to)?;
                    }
                }
                NodeKind::Transfer => {
                    let target = find(&nodes[next], nodes[next].successors.first().unwrap_or(&""))?;
                    if let Some(to) = tasks[target] {
                        builder.add_edge(from, to, nodes[next].amount)?;
                    }
                }
            }
        }
    }
    Ok(builder.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::TaskId;

    const TEXT: &str = "// made by daggen\nNODE_COUNT 6\nNODE 0 1,5 ROOT 0.0 0.0\n\
        NODE 1 2 COMPUTATION 8e9 0.12\nNODE 2 3 TRANSFER 209715200 0.0\n\
        NODE 3 4 COMPUTATION 4e9 0.05\nNODE 4 - END 0.0 0.0\nNODE 5 3,4 COMPUTATION 1e9 0\n";

    #[test]
    fn computations_become_tasks_and_transfers_data() {
        let w = read(TEXT).unwrap();
        assert_eq!((w.len(), w.task_name(TaskId(0)), w.work(TaskId(1))), (3, "t1", 4e9));
        assert_eq!(w.speedup(TaskId(0)), &SpeedUp::Amdahl { serial: 0.12 });
        assert!(w.spreads(TaskId(0)) && w.width(TaskId(0)) == (1, u32::MAX));
        let bytes: Vec<f64> = w.edges().map(|e| w.edge_bytes(e)).collect();
        assert_eq!(bytes, [209715200.0, 0.0]);
        assert!((CODEC.recognise)(TEXT));
    }

    #[test]
    fn mistakes_are_placed() {
        let error = |from: &str, to: &str| read(&TEXT.replace(from, to)).unwrap_err().to_string();
        assert!(error("NODE_COUNT 6", "NODE_COUNT 7").contains("7 nodes are announced, 6 follow"));
        assert!(error("8e9 0.12", "8e9 1.2").contains("must lie in [0, 1]"));
        assert!(error("TRANSFER", "COPY").contains("not 'COPY'"));
        assert!(error("NODE 2 3 T", "NODE 2 3,4 T").contains("one successor"));
        assert!(error("NODE 2 3 T", "NODE 2 9 T").contains("leads to 9"));
        assert!(error("NODE 5 3,4", "NODE 3 3,4").contains("occurs twice"));
    }
}
