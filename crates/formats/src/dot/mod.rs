//! DOT graphs as daggen writes them and SimGrid reads them; read and written.
//!
//! Nodes are tasks: `size` is work in flop, `alpha` the serial fraction of Amdahl's law (the task is then
//! moldable from one processor up, and may spread over the hosts of a cluster). Edges are dependencies: `size`
//! is bytes, and an edge without a size, or with one of at most 0, only orders its two tasks. Beyond these,
//! `kind`, `memory` (bytes), `gpus` (a number), `cores` (`4` or `1-8`) and `spread` (`true` or `false`) are
//! ours. The rest of the DOT language is read as far as it means something: chains `a -> b -> c`, groups `a ->
//! {b c}`, subgraphs, defaults (`node [size=1e9]`), ports, comments; drawing attributes are ignored, except
//! labels: the name of a task is its label, followed by its id if several tasks have the same one.
//!
//! Tasks are in the order of their node statements, nodes that only occur in edges after them. If any node has
//! a size, every node needs a statement of its own: a mistyped name must not become a task. SimGrid's `root`
//! and `end` are exempt: SimGrid adds them where they are missing, and we read them as the tasks of no work
//! they are, but add none. Its `performer` and `order` attributes, a schedule, are ignored.
//!
//! Lost in writing: files that are not data from task to task, file names, commands, speed-up
//! models other than Amdahl's, cost tables, and the difference between an edge of no bytes and a
//! pure ordering.

mod lexer;
mod reader;

pub use reader::read;

use crate::detect::Codec;
use crate::text::gpus_of;
use slackline_model::names::printable_lines;
use slackline_model::{SpeedUp, TaskId, Workflow};
use std::borrow::Cow;
use std::io::Write;

pub(crate) const CODEC: Codec = Codec {
    name: "dot",
    about: "DOT graph with sizes, as of daggen and SimGrid",
    extensions: &["dot", "gv"],
    comments: Some(crate::note::Comments::Slashes),
    recognise: lexer::starts_graph,
    read: |text, _| reader::read_document(text.as_bytes()),
    write: Some(|document, out| Ok(write(&document.workflow, out)?)),
};

/// Default widths of a task with an `alpha`.
const MOLDABLE: (u32, u32) = (1, u32::MAX);

/// Writes a graph; see the module's head for what is lost.
pub fn write(workflow: &Workflow, out: &mut dyn Write) -> std::io::Result<()> {
    let name = if workflow.name().is_empty() { "G" } else { workflow.name() };
    writeln!(out, "digraph {} {{", quote(name))?;
    for task in workflow.tasks() {
        write_task(workflow, task, out)?;
    }
    for edge in workflow.edges() {
        let (from, to) = workflow.edge_ends(edge);
        let (from, to) = (quote(workflow.task_name(from)), quote(workflow.task_name(to)));
        match workflow.edge_bytes(edge) {
            0.0 => writeln!(out, "  {from} -> {to};")?,
            bytes => writeln!(out, "  {from} -> {to} [size=\"{bytes}\"];")?,
        }
    }
    writeln!(out, "}}")
}

fn write_task(workflow: &Workflow, task: TaskId, out: &mut dyn Write) -> std::io::Result<()> {
    write!(out, "  {} [size=\"{}\"", quote(workflow.task_name(task)), workflow.work(task))?;
    let mut usual_width = (1, 1);
    if let SpeedUp::Amdahl { serial } = workflow.speedup(task) {
        write!(out, ", alpha=\"{serial}\"")?;
        usual_width = MOLDABLE;
    }
    match workflow.width(task) {
        width if width == usual_width => {}
        (min, max) if min == max => write!(out, ", cores=\"{min}\"")?,
        (min, max) => write!(out, ", cores=\"{min}-{max}\"")?,
    }
    if workflow.spreads(task) != (usual_width == MOLDABLE) {
        write!(out, ", spread=\"{}\"", workflow.spreads(task))?;
    }
    if workflow.memory(task) > 0.0 {
        write!(out, ", memory=\"{}\"", workflow.memory(task))?;
    }
    if let Some(gpus) = gpus_of(workflow, task) {
        write!(out, ", gpus=\"{gpus}\"")?;
    }
    let kind = workflow.kind_name(workflow.kind(task));
    if !kind.is_empty() {
        write!(out, ", kind={}", quote(kind))?;
    }
    writeln!(out, "];")
}

/// A name as DOT takes it: quoted unless it is a plain word or a whole number.
fn quote(name: &str) -> Cow<'_, str> {
    let word = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && lexer::keyword(name).is_none();
    let number = !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit());
    if word || number {
        return Cow::Borrowed(name);
    }
    let name = printable_lines(name);
    Cow::Owned(format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::EdgeId;

    fn parse(text: &str) -> Workflow {
        read(text.as_bytes()).unwrap()
    }

    fn error(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    fn names(w: &Workflow) -> Vec<&str> {
        w.tasks().map(|t| w.task_name(t)).collect()
    }

    fn edges(w: &Workflow) -> Vec<(u32, u32, f64)> {
        let ends = |e: EdgeId| (w.edge_ends(e).0.0, w.edge_ends(e).1.0, w.edge_bytes(e));
        w.edges().map(ends).collect()
    }

    /// The layout of daggen: edges are before the nodes they lead to.
    const DAGGEN: &str = r#"// Random graph
digraph G {
  1 [size="42949672960", alpha="0.20"]
  1 -> 2 [size="838860800"]
  1 -> 3 [size="838860800"]
  2 [size="134217728", alpha="0.05"]
  2 -> 4 [size ="-1"]
  3 [size="8589934592", alpha="0.00"]
  3 -> 4 [size="33554432"]
  4 [size="1000", alpha="0.1"]
}
"#;

    #[test]
    fn reads_what_daggen_writes() {
        let w = parse(DAGGEN);
        assert_eq!(names(&w), ["1", "2", "3", "4"]);
        assert_eq!(w.work(TaskId(1)), 134_217_728.0);
        assert_eq!(w.speedup(TaskId(1)), &SpeedUp::Amdahl { serial: 0.05 });
        assert_eq!(w.width(TaskId(1)), (1, u32::MAX));
        let data = 838_860_800.0;
        // -1 is SimGrid's notation for "no data"
        assert_eq!(edges(&w), [(0, 1, data), (0, 2, data), (1, 3, 0.0), (2, 3, 33_554_432.0)]);
        assert_eq!(w.edge_files(EdgeId(2)).count(), 0, "a pure ordering");
    }

    #[test]
    fn is_recognised() {
        assert!(lexer::starts_graph(DAGGEN) && lexer::starts_graph("/* x */ strict digraph{}"));
        assert!(!lexer::starts_graph("graphics: 7") && !lexer::starts_graph("{\"a\": 1}"));
    }

    #[test]
    fn reads_the_dot_language() {
        let w = parse(
            r#"strict digraph "my flow" { graph [size="7,10"]; rankdir=LR
            /* defaults */ node [size=5, shape=box]; edge [size=8]
            a; b [label=<<b>bold</b>>]; "c d" [size="1e3"; kind="long" + "er"]
# a preprocessor line
            a:out:n -> b -> "c d" [color=red]
            subgraph cluster_0 { node [size=7] e -> f [size=2]; e; f }
            a -> {e f} [size=3]; a -> b [size=9];
            é }"#,
        );
        assert_eq!(w.name(), "my flow");
        assert_eq!(names(&w), ["a", "b", "c d", "e", "f", "é"]);
        let works: Vec<f64> = w.tasks().map(|t| w.work(t)).collect();
        assert_eq!(works, [5.0, 5.0, 1000.0, 7.0, 7.0, 5.0]);
        assert_eq!(w.kind_name(w.kind(TaskId(2))), "longer");
        // strict: the last of the two edges a -> b counts
        assert_eq!(edges(&w), [(0, 1, 9.0), (0, 3, 3.0), (0, 4, 3.0), (1, 2, 8.0), (3, 4, 2.0)]);
    }

    #[test]
    fn labels_become_names() {
        let w = parse(
            r#"digraph { node [label="all alike"];
            a [label="align reads\nsample 1", size=1]; b [label=sort, size=1]; c [label=sort, size=1];
            d [label=a, size=1]; e [label="\N", size=1]; f [label="", size=1]; a -> b; a -> c }"#,
        );
        let wanted = ["align reads sample 1", "sort (b)", "sort (c)", "d", "e", "f"];
        assert_eq!(names(&w), wanted);
        assert_eq!(edges(&w), [(0, 1, 0.0), (0, 2, 0.0)]);
    }

    #[test]
    fn says_that_times_are_missing() {
        let warnings = |text: &str| reader::read_document(text.as_bytes()).unwrap().warnings;
        assert_eq!(warnings("digraph { a -> b }"), ["no task has a size: their work is 0"]);
        let some = "digraph { a [size=1]; b; a -> b }";
        assert_eq!(warnings(some), ["1 of 2 tasks have no size: their work is 0"]);
        assert!(warnings("digraph { a [size=1]; root -> a }").is_empty());
    }

    #[test]
    fn simgrids_root_and_end_need_no_statement() {
        let w = parse("digraph { a [size=1]; root -> a; a -> end }");
        assert_eq!(names(&w), ["a", "root", "end"]);
        assert_eq!(w.work(TaskId(1)), 0.0);
        assert!(error("digraph { a [size=1]; a -> b }").contains("'b' has dependencies but no"));
        assert_eq!(parse("digraph { a -> b }").len(), 2, "a drawing without sizes is fine");
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let cases = [
            ("", "line 1, column 1: the end of the file where 'digraph' is due"),
            ("graph { a }", "line 1, column 1: dependencies need a direction"),
            ("digraph { a -- b }", "line 1, column 13: dependencies need a direction"),
            ("digraph {\n a ->\n}", "line 3, column 1: '}' where a task is due"),
            ("digraph { a -> b", "the end of the file where a statement or '}' is due"),
            ("digraph { a [size=x] }", "line 1, column 19: size must be a finite number"),
            ("digraph { a [size=inf] }", "size must be a finite number, not 'inf'"),
            ("digraph { a [size=-3] }", "the work of task 'a' is -3, below zero"),
            ("digraph { a [alpha=2] }", "must lie in [0, 1]"),
            ("digraph { a [cores=\"3-2\"] }", "cores must be a number or a range"),
            ("digraph { a [memory=-2] }", "below zero"),
            ("digraph { a -> b [size=nan] }", "finite number"),
            ("digraph { a [size=1]; a [size=2] }", "declared twice, with sizes 1 and 2"),
            ("digraph { a -> b -> a }", "in a circle: "),
            ("digraph { a -> a }", "task 'a' depends on itself"),
            ("digraph { \"a }", "line 1, column 11: this text never ends"),
            ("digraph { /* a }", "this comment never ends"),
            ("digraph { a [label=<b }", "this '<' is never closed"),
            ("digraph { a } digraph { b }", "one graph per file"),
            ("digraph { ! }", "'!' makes no sense here"),
            ("digraph { }", "no tasks"),
        ];
        for (text, message) in cases {
            assert!(error(text).contains(message), "{text}: {}", error(text));
        }
        assert!(read(&b"digraph { \xff\xfe }"[..]).unwrap_err().to_string().contains("UTF-8"));
        let deep = format!("digraph {{ {}", "{".repeat(1_000_000));
        assert!(error(&deep).contains("nested deeper than 64"));
        let many: String = (0..4000).map(|i| format!("n{i} ")).collect();
        let product = format!("digraph {{ {{{many}}} -> {{{}}} }}", many.replace('n', "m"));
        assert!(error(&product).contains("more than 10000000 dependencies"));
        let long = format!("digraph {{ {} }}", "x".repeat(2 << 20));
        assert!(error(&long).contains("more than 1 MiB"));
    }
}
