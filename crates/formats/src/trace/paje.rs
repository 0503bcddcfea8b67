//! Pajé: hosts as containers with their cores inside, tasks as states, transfers as links,
//! availability as a variable.

use super::{TracedRun, ended};
use slackline_model::names::printable;
use slackline_model::trace::{Happening, Work};
use std::io::Write;

/// Event numbers and their fields, in the order of the file's head.
const DEFINITIONS: &str = "\
%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n% Name string\n%EndEventDef
%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n% Name string\n%EndEventDef
%EventDef PajeDefineVariableType 2\n% Alias string\n% Type string\n% Name string\n% Color color\n%EndEventDef
%EventDef PajeDefineLinkType 3\n% Alias string\n% Type string\n% StartContainerType string\n% EndContainerType string\n% Name string\n%EndEventDef
%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n% Type string\n% Container string\n% Name string\n%EndEventDef
%EventDef PajeDestroyContainer 5\n% Time date\n% Type string\n% Name string\n%EndEventDef
%EventDef PajeSetVariable 6\n% Time date\n% Type string\n% Container string\n% Value double\n%EndEventDef
%EventDef PajePushState 7\n% Time date\n% Type string\n% Container string\n% Value string\n%EndEventDef
%EventDef PajePopState 8\n% Time date\n% Type string\n% Container string\n%EndEventDef
%EventDef PajeStartLink 9\n% Time date\n% Type string\n% Container string\n% StartContainer string\n% Value string\n% Key string\n%EndEventDef
%EventDef PajeEndLink 10\n% Time date\n% Type string\n% Container string\n% EndContainer string\n% Value string\n% Key string\n%EndEventDef
0 GRID 0 \"platform\"
0 HOST GRID \"host\"
0 CORE HOST \"core\"
1 TASK CORE \"task\"
2 AVAILABILITY HOST \"availability\" \"0.2 0.5 0.8\"
3 DATA GRID HOST HOST \"transfer\"
";

pub(super) fn write(run: &TracedRun<'_>, out: &mut dyn Write) -> std::io::Result<()> {
    out.write_all(DEFINITIONS.as_bytes())?;
    writeln!(out, "4 0.000000 grid GRID 0 {}", quoted(run.platform.name()))?;
    let cores = run.cores();
    for (index, host) in run.platform.hosts().iter().enumerate() {
        writeln!(out, "4 0.000000 h{index} HOST grid {}", quoted(&host.name))?;
        writeln!(out, "6 0.000000 AVAILABILITY h{index} 1")?;
    }
    for (proc, (host, core)) in cores.iter().enumerate() {
        let name = quoted(&format!("{}/{core}", run.platform.host(*host).name));
        writeln!(out, "4 0.000000 c{proc} CORE h{} {name}", host.0)?;
    }
    let mut lines: Vec<(f64, u8, String)> = Vec::new();
    for (key, span) in ended(run.trace).into_iter().enumerate() {
        let (start, finish) = (span.start, span.finish);
        match span.work {
            Work::Task { task, procs } => {
                let suffix = if !span.is_finished() { " (lost)" } else { "" };
                let name = quoted(&format!("{}{suffix}", run.workflow.task_name(task)));
                for proc in procs {
                    lines.push((start, 1, format!("7 {start:.6} TASK c{} {name}", proc.0)));
                    lines.push((finish, 0, format!("8 {finish:.6} TASK c{}", proc.0)));
                }
            }
            Work::Transfer { file, from, to, .. } => {
                let name = quoted(&run.workflow.file_label(file));
                let begin = format!("9 {start:.6} DATA grid h{} {name} k{key}", from.0);
                lines.push((start, 1, begin));
                let end = format!("10 {finish:.6} DATA grid h{} {name} k{key}", to.0);
                lines.push((finish, 0, end));
            }
        }
    }
    for record in run.trace.records() {
        let level = match &record.what {
            Happening::HostChanged { host, availability } => Some((host, *availability)),
            Happening::HostLost { host } => Some((host, 0.0)),
            Happening::HostBack { host } => Some((host, 1.0)), // its level follows
            _ => None,
        };
        if let Some((host, availability)) = level {
            let at = record.at;
            let line = format!("6 {at:.6} AVAILABILITY h{} {availability}", host.0);
            lines.push((at, 1, line));
        }
    }
    // Of one date, ends come before beginnings: a core's states must not nest.
    lines.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    for (_, _, line) in &lines {
        writeln!(out, "{line}")?;
    }
    let end = run.trace.records().last().map_or(0.0, |r| r.at);
    for proc in 0..cores.len() {
        writeln!(out, "5 {end:.6} CORE c{proc}")?;
    }
    for host in 0..run.platform.hosts().len() {
        writeln!(out, "5 {end:.6} HOST h{host}")?;
    }
    writeln!(out, "5 {end:.6} GRID grid")
}

/// In quotation marks, without any inside: Pajé knows no escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('"', "'"))
}
