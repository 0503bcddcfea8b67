//! Small texts that several formats share: numbers, command lines, unique names.

use slackline_model::resources::Devices;
use slackline_model::workflow::Command;
use slackline_model::{Task, TaskId, Workflow};

/// Seconds of a task on one processor of the reference speed, as the shortest number that gives
/// the same work when read again.
pub(crate) fn seconds(work: f64, reference_speed: f64) -> f64 {
    let exact = work / reference_speed;
    // The division may leave a last digit that the source never had.
    let short: f64 = format!("{exact:.14e}").parse().unwrap_or(exact);
    if short * reference_speed == work { short } else { exact }
}

/// A kind from a name that ends in a number: `mProject_ID0000001` and `mProject_17` are
/// `mProject`s.
pub(crate) fn kind_of_name(name: &str) -> &str {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.len() == name.len() {
        return name;
    }
    match stem.strip_suffix("_ID").or_else(|| stem.strip_suffix(['_', '-', '.', '#'])) {
        Some(kind) if !kind.is_empty() => kind,
        _ => name,
    }
}

/// Lets a task demand so many devices of any kind.
pub(crate) fn set_gpus(task: &mut Task, gpus: u32) {
    task.demand.gpus = (gpus > 0).then_some(Devices::Any(gpus));
}

/// The number of devices that a task demands, for formats without kinds of devices.
pub(crate) fn gpus_of(workflow: &Workflow, task: TaskId) -> Option<u32> {
    match workflow.demand(task)?.gpus.as_ref()? {
        Devices::Any(count) => Some(*count),
        Devices::Kinds(kinds) => Some(kinds.iter().map(|(_, count)| count).sum()),
    }
}

/// Makes a task rigid: it takes that many processors, no more, no fewer.
pub(crate) fn set_cores(task: &mut Task, cores: u32) {
    (task.min_width, task.max_width) = (cores, cores);
}

/// Splits a line at white space; quotes hold words together, a backslash takes the next
/// character as it is.
pub(crate) fn split_arguments(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', Some('"') | None) => {
                word.get_or_insert_default().push(characters.next().unwrap_or('\\'));
            }
            (c, Some(q)) if c == q => quote = None,
            (c, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Joins words to a line that [`split_arguments`] takes apart again.
pub(crate) fn join_arguments<S: AsRef<str>>(words: &[S]) -> String {
    let mut line = String::new();
    for (i, word) in words.iter().map(AsRef::as_ref).enumerate() {
        if i > 0 {
            line.push(' ');
        }
        let special = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
        if !word.is_empty() && !word.contains(special) {
            line.push_str(word);
            continue;
        }
        line.push('"');
        for c in word.chars() {
            if matches!(c, '"' | '\\') {
                line.push('\\');
            }
            line.push(c);
        }
        line.push('"');
    }
    line
}

/// Files that the streams of a program come from and go to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Streams {
    pub(crate) input: Option<String>,
    pub(crate) output: Option<String>,
    pub(crate) errors: Option<String>,
}

impl Streams {
    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Streams::default()
    }

    /// A command with its streams: a shell is asked to join them.
    pub(crate) fn of(&self, command: Command) -> Command {
        if self.is_empty() {
            return command;
        }
        let quoted = |word: &String| Command::shell_word(word);
        let words = std::iter::once(&command.program).chain(&command.arguments).map(quoted);
        let mut line = format!("exec {}", words.collect::<Vec<_>>().join(" "));
        for (file, sign) in [(&self.input, "<"), (&self.output, ">"), (&self.errors, "2>")] {
            if let Some(file) = file {
                line.push_str(&format!(" {sign} {}", quoted(file)));
            }
        }
        Command::shell(line)
    }
}

/// A different name for every file: its own, or a label for the anonymous file of a weighted
/// edge, numbered where labels clash.
pub(crate) fn file_names(workflow: &Workflow) -> Vec<String> {
    let mut taken: std::collections::HashSet<&str> =
        workflow.files().map(|f| workflow.file_name(f)).collect();
    taken.remove("");
    let mut labels = std::collections::HashMap::<String, usize>::new();
    workflow
        .files()
        .map(|file| {
            let label = workflow.file_label(file);
            if !workflow.file_name(file).is_empty() {
                return label;
            }
            let count = labels.entry(label.clone()).or_insert(0);
            loop {
                *count += 1;
                let name = if *count == 1 { label.clone() } else { format!("{label}#{count}") };
                if !taken.contains(name.as_str()) {
                    return name;
                }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_model::{TaskId, WorkflowBuilder};

    #[test]
    fn seconds_come_back_as_they_were_written() {
        for s in [0.1, 13.39, 0.72, 437.0, 1e-7, 1.0 / 3.0, 0.0, 86399.999, 5e-324] {
            assert_eq!(seconds(s * 1e9, 1e9), s);
        }
    }

    #[test]
    fn kinds_lose_their_number() {
        for (name, kind) in [
            ("mProject_ID0000001", "mProject"),
            ("cpuhog_forkjoin_00000001", "cpuhog_forkjoin"),
            ("mProject", "mProject"),
            ("chr21", "chr21"),
            ("_7", "_7"),
            ("17", "17"),
        ] {
            assert_eq!(kind_of_name(name), kind);
        }
    }

    #[test]
    fn arguments_survive() {
        let words = ["-a", "two words", "", "it's", "\"q\"", "back\\slash", "line\nbreak", "é"];
        let line = join_arguments(&words);
        assert_eq!(split_arguments(&line), words);
        assert_eq!(split_arguments("  a 'b c'd \"e f\" "), ["a", "b cd", "e f"]);
    }

    #[test]
    fn labels_are_unique() {
        let mut b = WorkflowBuilder::new("w");
        for name in ["a", "b"] {
            b.add_task(Task::new(name, 1.0)).unwrap();
        }
        b.add_edge(TaskId(0), TaskId(1), 1.0).unwrap();
        b.add_edge(TaskId(0), TaskId(1), 2.0).unwrap();
        b.add_file("a_to_b", 3.0).unwrap();
        assert_eq!(file_names(&b.build().unwrap()), ["a_to_b#2", "a_to_b#3", "a_to_b"]);
    }
}
