//! Pajé: hosts as containers with their cores inside, tasks as states, transfers as links,
//! availability as a variable.

use super::{Begun, Doing, Form, Moved, Subject};
use slackline_model::names::printable;
use slackline_model::trace::{End, Happening, Record, UnderWay};
use slackline_model::{HostId, ProcId, TaskId};
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

/// Lines are in the order of their dates and the beginning of a task contains whether it was lost, so that
/// spans are kept until the end.
#[derive(Default)]
pub(super) struct Paje {
    under_way: UnderWay<Begun>,
    computed: Vec<Computed>,
    /// Tasks that ended: several processors may have computed one.
    tasks: usize,
    moved: Vec<Moved>,
    levels: Vec<(f64, HostId, f64)>,
    last: f64,
}

/// A task that came to an end, on one of its processors.
struct Computed {
    start: f64,
    finish: f64,
    task: TaskId,
    proc: ProcId,
    lost: bool,
}

/// A line to write: of one date, ends come before beginnings, as a core's states must not nest.
struct Line {
    date: f64,
    begins: bool,
    /// Beginnings and ends of what was computed and moved by turns, then levels.
    which: usize,
}

impl Paje {
    fn lines(&self) -> Vec<Line> {
        let computed = self.computed.iter().map(|c| (c.start, c.finish));
        let spans = computed.chain(self.moved.iter().map(|m| (m.start, m.finish)));
        let ends = spans.flat_map(|(start, finish)| [(start, true), (finish, false)]);
        let all = ends.chain(self.levels.iter().map(|level| (level.0, true)));
        let line = |(which, (date, begins))| Line { date, begins, which };
        let mut lines: Vec<Line> = all.enumerate().map(line).collect();
        lines.sort_by(|a, b| a.date.total_cmp(&b.date).then(a.begins.cmp(&b.begins))); // stable
        lines
    }

    fn write(
        &self,
        run: &Subject<'_>,
        Line { date, begins, which }: Line,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let (span, computed) = (which / 2, self.computed.len());
        if let Some(Computed { task, proc, lost, .. }) = self.computed.get(span) {
            if !begins {
                return writeln!(out, "8 {date:.6} TASK c{}", proc.0);
            }
            let suffix = if *lost { " (lost)" } else { "" };
            let name = quoted(&format!("{}{suffix}", run.workflow.task_name(*task)));
            return writeln!(out, "7 {date:.6} TASK c{} {name}", proc.0);
        }
        if let Some(&Moved { file, from, to, .. }) = self.moved.get(span - computed) {
            let (event, host) = if begins { (9, from) } else { (10, to) };
            let name = quoted(&run.workflow.file_label(file));
            let key = self.tasks + span - computed;
            return writeln!(out, "{event} {date:.6} DATA grid h{} {name} k{key}", host.0);
        }
        let (_, host, availability) = self.levels[which - 2 * (computed + self.moved.len())];
        writeln!(out, "6 {date:.6} AVAILABILITY h{} {availability}", host.0)
    }
}

impl Form for Paje {
    fn begin(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        out.write_all(DEFINITIONS.as_bytes())?;
        writeln!(out, "4 0.000000 grid GRID 0 {}", quoted(run.platform.name()))?;
        for (index, host) in run.platform.hosts().iter().enumerate() {
            writeln!(out, "4 0.000000 h{index} HOST grid {}", quoted(&host.name))?;
            writeln!(out, "6 0.000000 AVAILABILITY h{index} 1")?;
        }
        for (proc, (host, core)) in run.cores.iter().enumerate() {
            let name = quoted(&format!("{}/{core}", run.platform.host(*host).name));
            writeln!(out, "4 0.000000 c{proc} CORE h{} {name}", host.0)?;
        }
        Ok(())
    }

    fn note(&mut self, _: &Subject<'_>, record: &Record, _: &mut dyn Write) -> std::io::Result<()> {
        let finish = record.at;
        self.last = finish;
        let level = match record.what {
            Happening::HostChanged { host, availability } => Some((finish, host, availability)),
            Happening::HostLost { host } => Some((finish, host, 0.0)),
            Happening::HostBack { host } => Some((finish, host, 1.0)), // its level follows
            _ => None,
        };
        self.levels.extend(level);
        let ended = self.under_way.note(&record.what, |work| Some(Begun::at(finish, work)));
        let Some((Begun { start, work }, end)) = ended else { return Ok(()) };
        let lost = end != End::Finished;
        match work {
            Doing::Task { task, procs } => {
                self.tasks += 1;
                let on = |&proc: &ProcId| Computed { start, finish, task, proc, lost };
                self.computed.extend(procs.iter().map(on));
            }
            Doing::Transfer { file, from, to } => {
                self.moved.push(Moved { start, finish, file, from, to, lost });
            }
        }
        Ok(())
    }

    fn end(&mut self, run: &Subject<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        for line in self.lines() {
            self.write(run, line, out)?;
        }
        let end = self.last;
        for proc in 0..run.cores.len() {
            writeln!(out, "5 {end:.6} CORE c{proc}")?;
        }
        for host in 0..run.platform.hosts().len() {
            writeln!(out, "5 {end:.6} HOST h{host}")?;
        }
        writeln!(out, "5 {end:.6} GRID grid")
    }
}

/// In quotation marks, without any inside: Pajé has no escapes.
fn quoted(text: &str) -> String {
    format!("\"{}\"", printable(text).replace('"', "'"))
}
