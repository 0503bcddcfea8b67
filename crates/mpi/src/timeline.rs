//! Activities of every rank over time, for pictures and other tools.

use crate::action::Activity;
use crate::replay::Observer;
use std::io::{self, Write};

/// A stretch of time of a rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// The rank.
    pub rank: u32,
    /// Its activity.
    pub activity: Activity,
    /// Begin, seconds.
    pub start: f64,
    /// End, seconds.
    pub end: f64,
}

/// All actions that took time.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// In the order in which they were replayed; those of one rank by date.
    pub spans: Vec<Span>,
}

impl Observer for Timeline {
    fn action(&mut self, rank: u32, activity: Activity, start: f64, end: f64) {
        if end > start {
            self.spans.push(Span { rank, activity, start, end });
        }
    }
}

impl Timeline {
    /// Writes trace events for Chrome and Perfetto: one thread per rank.
    pub fn write_chrome(&self, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        for (k, span) in self.spans.iter().enumerate() {
            let comma = if k == 0 { "" } else { "," };
            write!(
                out,
                "{comma}\n{{\"name\":\"{}\",\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{},\"dur\":{}}}",
                span.activity.name(),
                span.rank,
                span.start * 1e6,
                (span.end - span.start) * 1e6
            )?;
        }
        writeln!(out, "\n]}}")
    }

    /// Writes a Pajé trace: one container per rank, one state.
    pub fn write_paje(&self, out: &mut dyn Write) -> io::Result<()> {
        const EVENTS: [(&str, &str); 7] = [
            ("PajeDefineContainerType 0", "Alias string\n% Type string\n% Name string"),
            ("PajeDefineStateType 1", "Alias string\n% Type string\n% Name string"),
            (
                "PajeDefineEntityValue 2",
                "Alias string\n% Type string\n% Name string\n% Color color",
            ),
            (
                "PajeCreateContainer 3",
                "Time date\n% Alias string\n% Type string\n% Container string\n% Name string",
            ),
            ("PajeDestroyContainer 4", "Time date\n% Type string\n% Name string"),
            ("PajePushState 5", "Time date\n% Type string\n% Container string\n% Value string"),
            ("PajePopState 6", "Time date\n% Type string\n% Container string"),
        ];
        for (head, fields) in EVENTS {
            writeln!(out, "%EventDef {head}\n% {fields}\n%EndEventDef")?;
        }
        writeln!(out, "0 R 0 Rank\n1 S R \"MPI state\"")?;
        for activity in Activity::all() {
            let name = activity.name();
            let share = activity.index() as f64 / Activity::COUNT as f64;
            writeln!(out, "2 {name} S {name} \"{share:.2} {:.2} 0.5\"", 1.0 - share)?;
        }
        let ranks = self.spans.iter().map(|span| span.rank + 1).max().unwrap_or(0);
        let end = self.spans.iter().map(|span| span.end).fold(0.0, f64::max);
        for rank in 0..ranks {
            writeln!(out, "3 0 rank-{rank} R 0 rank-{rank}")?;
        }
        let mut events: Vec<(f64, bool, &Span)> = Vec::with_capacity(2 * self.spans.len());
        for span in &self.spans {
            events.push((span.start, true, span));
            events.push((span.end, false, span));
        }
        // By date; what ends comes before what begins.
        events.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (date, begins, span) in events {
            if begins {
                writeln!(out, "5 {date} S rank-{} {}", span.rank, span.activity.name())?
            } else {
                writeln!(out, "6 {date} S rank-{}", span.rank)?
            }
        }
        (0..ranks).try_for_each(|rank| writeln!(out, "4 {end} R rank-{rank}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_without_duration_are_left_out() {
        let mut timeline = Timeline::default();
        timeline.action(0, Activity::Compute, 0.0, 1.0);
        timeline.action(0, Activity::Send, 1.0, 1.0);
        timeline.action(1, Activity::Receive, 0.5, 2.0);
        let mut text = Vec::new();
        timeline.write_chrome(&mut text).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(value["traceEvents"].as_array().unwrap().len(), 2);
        assert_eq!(value["traceEvents"][1]["dur"], 1.5e6);
        let mut text = Vec::new();
        timeline.write_paje(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("5 0.5 S rank-1 receive\n6 1 S rank-0\n6 2 S rank-1"), "{text}");
    }
}
