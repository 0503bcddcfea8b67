//! The report of a real run as one page of HTML that needs neither network nor scripts.

use super::history::{AttemptState, RunHistory};
use super::run_session::RunSession;
use super::settings;
use super::status::{RunState, StatusReport};
use crate::advice::Advice;
use crate::context::Context;
use crate::explanation::{Explanation, chart, colours};
use crate::failure::Failure;
use slackline_analysis::waits::Cause;
use slackline_import::RecordedRun;
use slackline_model::names::printable;
use slackline_model::units::{fmt_bytes, fmt_seconds};
use slackline_model::{Schedule, TaskId};
use slackline_view::Chart;
use slackline_view::gantt::{SvgOptions, svg};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Stretches of the chain that are shown.
const STRETCHES: usize = 15;
/// Kinds of tasks that are shown.
const KINDS: usize = 30;
/// Failures that are shown with what they wrote.
const FAILURES: usize = 20;
/// Lines of standard error of each.
const LINES: usize = 12;
/// Risk of a first attempt with too little memory in what is advised.
const RISK: f64 = 0.05;
/// Tasks up to which the planned course is drawn beside the real one.
const DRAWN: usize = 5_000;
/// Share by which times may be off before a kind counts as misjudged.
const MISJUDGED: f64 = 0.25;

const STYLE: &str = "\
:root{--ink:#1f2328;--dim:#59636e;--line:#d5dae0;--paper:#fff;--band:#f5f7f9;--good:#0a7d4f;--bad:#c62839;--wait:#9a6700}\
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--line:#343d47;--paper:#0f1419;--band:#171d24;--good:#4cc38a;\
--bad:#ff7b87;--wait:#d4a72c}}\
*{box-sizing:border-box}\
body{margin:0 auto;padding:1.5rem 1rem 4rem;max-width:76rem;background:var(--paper);color:var(--ink);\
font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}\
h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;margin:1.2rem 0 .3rem;overflow-wrap:anywhere}\
p{margin:.4rem 0;max-width:48rem}.dim{color:var(--dim)}\
.state{display:inline-block;padding:.1rem .6rem;border-radius:1rem;border:1.5px solid;font-weight:600;font-size:.95rem}\
.finished{color:var(--good)}.failed{color:var(--bad)}.stopped,.running{color:var(--wait)}\
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.6rem;margin:1rem 0}\
.facts div{background:var(--band);border-radius:.4rem;padding:.55rem .75rem;min-width:0}\
.facts b{display:block;font-size:1.15rem;overflow-wrap:anywhere}.facts span{color:var(--dim);font-size:.85rem}\
.wide{overflow-x:auto;max-width:100%}.wide+.wide{margin-top:1rem}.wide img{display:block;min-width:46rem;width:100%;height:auto}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);white-space:nowrap;vertical-align:top}\
th{color:var(--dim);font-weight:600;font-size:.85rem}td.n,th.n{text-align:right}td.name{white-space:normal;overflow-wrap:anywhere;min-width:8rem}\
.bar{display:flex;height:1.6rem;border-radius:.3rem;overflow:hidden;margin:.6rem 0}.bar i{display:block;min-width:1px}\
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;padding:0;margin:.3rem 0 1rem;list-style:none}\
.key i{display:inline-block;width:.8rem;height:.8rem;border-radius:.15rem;margin-right:.4rem;vertical-align:-.05rem}\
pre{background:var(--band);border-radius:.4rem;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;margin:.4rem 0}\
code{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}li{margin:.25rem 0;max-width:48rem}";

/// Text as it may stand in HTML, without control characters.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for c in printable(text).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A picture inside the page: its styles are its own.
fn picture(drawn: &str, about: &str) -> String {
    let mut address = String::with_capacity(drawn.len() * 5 / 4);
    for byte in drawn.bytes() {
        match byte {
            b'%' | b'#' | b'"' | b'<' | b'>' | b'&' | b'\'' | 0..=0x1f | 0x7f..=0xff => {
                let _ = write!(address, "%{byte:02X}");
            }
            plain => address.push(char::from(plain)),
        }
    }
    let about = escape(about);
    format!(
        "<div class=\"wide\"><img alt=\"{about}\" src=\"data:image/svg+xml,{address}\"></div>\n"
    )
}

/// A table; columns whose heading begins with `>` have numbers.
fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = String::from("<div class=\"wide\"><table><tr>");
    for heading in headings {
        match heading.strip_prefix('>') {
            Some(name) => text.push_str(&format!("<th class=\"n\">{}</th>", escape(name))),
            None => text.push_str(&format!("<th>{}</th>", escape(heading))),
        }
    }
    text.push_str("</tr>\n");
    for row in rows {
        text.push_str("<tr>");
        for (cell, heading) in row.iter().zip(headings) {
            let class = if heading.starts_with('>') { "n" } else { "name" };
            text.push_str(&format!("<td class=\"{class}\">{}</td>", escape(cell)));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table></div>\n");
    text
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Seconds since 1970 as a date and time of day in UTC.
pub fn utc(seconds: f64) -> String {
    let whole = seconds.max(0.0) as i64;
    let (days, rest) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
    // Days since 1 March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Facts of a run, for its page.
struct Page<'h> {
    history: &'h RunHistory,
    status: StatusReport,
    recorded: RecordedRun,
    explanation: Option<Explanation>,
    /// The plan, where it can be made again.
    planned: Option<Schedule>,
    session: Option<RunSession>,
    /// Colours of causes in the chart of the run.
    colours: BTreeMap<Cause, String>,
    text: String,
}

/// The page of a run, at a moment in seconds since 1970.
pub fn html(
    history: &RunHistory,
    seconds_since_1970: f64,
    context: &mut Context<'_>,
) -> Result<String, Failure> {
    let recorded = history.recorded();
    let explanation = Explanation::of(&recorded);
    // What the policy was given; a run of another version may be planned otherwise today.
    let session = RunSession::open(&history.path, history.header.clone(), context).ok();
    let planned = session.as_ref().and_then(|session| {
        let problem = session.problem().ok()?;
        (!session.is_undecided()).then(|| session.planned(&problem).ok())?
    });
    let status = history.status(seconds_since_1970);
    let text = String::with_capacity(1 << 16);
    let colours = BTreeMap::new();
    let mut page = Page { history, status, recorded, explanation, planned, session, colours, text };
    page.head();
    page.failures();
    page.course()?;
    page.chain();
    page.kinds();
    page.resources();
    page.next_time();
    page.origin()?;
    page.text.push_str("</body></html>\n");
    Ok(page.text)
}

impl Page<'_> {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn head(&mut self) {
        let status = &self.status;
        let name = escape(&status.workflow);
        let state = status.state.name();
        let mut facts = vec![
            (format!("{} of {}", status.tasks_done, status.tasks), "tasks done"),
            (fmt_seconds(status.elapsed), "makespan"),
        ];
        if let Some(planned) = &self.planned {
            facts.push((fmt_seconds(planned.makespan()), "planned"));
        }
        if let Some(end) = status.expected_end {
            let text = format!("{} to {}", fmt_seconds(end.p10), fmt_seconds(end.p90));
            facts.push((text, "end expected (8 of 10)"));
        }
        facts.push((status.attempts_failed.to_string(), "failed attempts"));
        let cores: u32 = status.hosts.iter().map(|host| host.cores).sum();
        let hosts = count(status.hosts.len(), "host");
        facts.push((format!("{hosts}, {}", count(cores as usize, "core")), "platform"));
        let began = utc(status.began);
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"data:,\">\
             <title>{name}: {state}</title><style>{STYLE}</style></head>\n<body>\n\
             <h1>{name}</h1>\n<p><span class=\"state {state}\">{state}</span> \
             <span class=\"dim\">began {began}, on {}, steered by {}</span></p>\n",
            escape(&status.platform),
            escape(&status.policy),
        );
        if let Some(why) = &status.why {
            text.push_str(&format!("<p>{}</p>\n", escape(&sentence(why))));
        }
        text.push_str("<div class=\"facts\">");
        for (value, about) in facts {
            text.push_str(&format!("<div><b>{}</b><span>{about}</span></div>", escape(&value)));
        }
        text.push_str("</div>\n");
        self.add(&text);
    }

    fn failures(&mut self) {
        let history = self.history;
        let mut failed: Vec<(bool, &str, &super::history::AttemptHistory, usize)> = Vec::new();
        for task in &history.tasks {
            let mut attempts = task.attempts.iter();
            let Some(last) = attempts.rfind(|a| a.state == AttemptState::Failed) else { continue };
            let times = task.attempts.iter().filter(|a| a.state == AttemptState::Failed).count();
            failed.push((task.is_done(), &task.name, last, times));
        }
        if failed.is_empty() {
            return;
        }
        failed.sort_by(|a, b| a.0.cmp(&b.0).then(a.2.begun.total_cmp(&b.2.begun)));
        let given_up = failed.iter().filter(|(done, ..)| !done).count();
        let mut text = format!("<h2>Failures</h2>\n<p>{}", count(failed.len(), "task"));
        text.push_str(" had failed attempts; ");
        text.push_str(&match given_up {
            0 => "all of them succeeded later.</p>\n".to_string(),
            1 => "1 of them was not done in the end.</p>\n".to_string(),
            n => format!("{n} of them were not done in the end.</p>\n"),
        });
        for (done, name, last, times) in failed.iter().take(FAILURES) {
            let host = &history.platform.host(last.host).name;
            let times = if *times == 1 { "once".to_string() } else { format!("{times} times") };
            let then = if *done { "; done later" } else { "" };
            let reason = last.reason.clone().unwrap_or_default();
            text.push_str(&format!(
                "<h3>{}</h3>\n<p class=\"dim\">failed {times}, last on {}: {}{then}</p>\n",
                escape(name),
                escape(host),
                escape(&reason)
            ));
            let lines = history.last_lines(name, last, LINES);
            if !lines.is_empty() {
                let lines: Vec<String> = lines.iter().map(|line| escape(line)).collect();
                text.push_str(&format!("<pre>{}</pre>\n", lines.join("\n")));
            }
        }
        if failed.len() > FAILURES {
            let more = failed.len() - FAILURES;
            text.push_str(&format!(
                "<p class=\"dim\">… and {more} more: <code>slackline log</code> lists all.</p>\n"
            ));
        }
        self.add(&text);
    }

    /// The real course, and the planned one.
    fn course(&mut self) -> Result<(), Failure> {
        let Some(explanation) = &self.explanation else { return Ok(()) };
        let mut real = chart(&self.recorded, explanation)?;
        self.colours = colours(&real);
        real.title = "The run, with the chain of waits that decided its makespan".to_string();
        let mut text = String::from("<h2>What ran when</h2>\n");
        text.push_str(&picture(&svg(&real, &SvgOptions::default()), "Gantt chart of the run"));
        let drawn = self.history.tasks.len() <= DRAWN;
        if let (Some(session), Some(planned), true) = (&self.session, &self.planned, drawn) {
            let problem = session.problem()?;
            let mut plan = Chart::of_schedule(&problem, planned).without_idle_hosts();
            plan.title = "The plan it began with".to_string();
            let makespan = format!("makespan {}", fmt_seconds(planned.makespan()));
            plan.facts = vec![makespan];
            text.push_str(&picture(&svg(&plan, &SvgOptions::default()), "Gantt chart of the plan"));
        }
        self.add(&text);
        Ok(())
    }

    fn chain(&mut self) {
        let Some(explanation) = &self.explanation else { return };
        let all: f64 = explanation.sums.values().sum();
        let mut text = String::from(
            "<h2>What decided the makespan</h2>\n<p>The chain of waits goes back from the end: what the last task \
             ran, what it waited for before that, then the same of the task it waited for.</p>\n<div class=\"bar\">",
        );
        let mut key = String::from("<ul class=\"key\">");
        for cause in Cause::ALL {
            let Some(seconds) = explanation.sums.get(&cause) else { continue };
            let colour = self.colours.get(&cause).map_or("", String::as_str);
            let (share, colour) = (seconds / all, format!("background:{colour}"));
            text.push_str(&format!("<i style=\"width:{:.2}%;{colour}\"></i>", 100.0 * share));
            key.push_str(&format!(
                "<li><i style=\"{colour}\"></i>{} {}, {}</li>",
                cause.name(),
                percent(share),
                fmt_seconds(*seconds)
            ));
        }
        text.push_str("</div>\n");
        text.push_str(&key);
        text.push_str("</ul>\n");
        let mut longest: Vec<usize> = (0..explanation.chain.len()).collect();
        let seconds = |at: usize| explanation.chain[at].link.to - explanation.chain[at].link.from;
        longest.sort_by(|&a, &b| seconds(b).total_cmp(&seconds(a)));
        longest.truncate(STRETCHES);
        longest.sort_unstable();
        let rows: Vec<Vec<String>> = longest
            .iter()
            .map(|&at| {
                let stretch = &explanation.chain[at];
                vec![
                    fmt_seconds(stretch.link.from),
                    fmt_seconds(seconds(at)),
                    stretch.link.cause.name().to_string(),
                    stretch.task.clone(),
                ]
            })
            .collect();
        text.push_str(&table(&[">from", ">for", "", "task"], &rows));
        let more = explanation.chain.len() - longest.len();
        if more > 0 {
            let more = count(more, "shorter stretch").replace("stretchs", "stretches");
            text.push_str(&format!("<p class=\"dim\">… and {more}.</p>\n"));
        }
        self.add(&text);
    }

    /// Planned and real seconds by kind.
    fn kinds(&mut self) {
        let text = self.kinds_text().unwrap_or_default();
        self.add(&text);
    }

    fn kinds_text(&self) -> Option<String> {
        let (Some(session), Some(planned)) = (&self.session, &self.planned) else { return None };
        let problem = session.problem().ok()?;
        let mut kinds: BTreeMap<&str, (usize, f64, f64)> = BTreeMap::new();
        for (index, task) in self.history.tasks.iter().enumerate() {
            let last = task.attempts.last().filter(|a| a.state == AttemptState::Done);
            let placement = planned.placements.get(index).and_then(Option::as_ref);
            let (Some(last), Some(placement)) = (last, placement) else { continue };
            let id = TaskId(index as u32);
            let class = placement.procs().first().map(|proc| problem.class_of(*proc));
            let width = placement.procs().len() as u32;
            let stated = class.map_or(0.0, |class| problem.exec_wide(id, class, width));
            let sums = kinds.entry(&task.kind).or_default();
            *sums = (sums.0 + 1, sums.1 + stated, sums.2 + last.seconds(self.history.last));
        }
        let mut rows: Vec<(f64, Vec<String>)> = Vec::new();
        for (kind, (tasks, stated, real)) in kinds {
            let name = if kind.is_empty() { "(none)" } else { kind };
            let mean = |sum: f64| fmt_seconds(sum / tasks as f64);
            let ratio = if stated > 0.0 { format!("{:.2}", real / stated) } else { "-".into() };
            let row = vec![name.to_string(), tasks.to_string(), mean(stated), mean(real), ratio];
            rows.push((real, row));
        }
        if rows.is_empty() {
            return None;
        }
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        let rows: Vec<Vec<String>> = rows.into_iter().take(KINDS).map(|(_, row)| row).collect();
        let makespan = planned.makespan();
        let mut text = String::from("<h2>Plan against reality</h2>\n");
        if makespan > 0.0 && self.status.state == RunState::Finished {
            let ratio = self.status.elapsed / makespan;
            text.push_str(&format!(
                "<p>Planned {}, took {}: {ratio:.2} times as long.</p>\n",
                fmt_seconds(makespan),
                fmt_seconds(self.status.elapsed)
            ));
        }
        text.push_str(&table(
            &["kind", ">tasks", ">mean, planned", ">mean, real", ">ratio"],
            &rows,
        ));
        Some(text)
    }

    fn resources(&mut self) {
        let Some(explanation) = &self.explanation else { return };
        let bytes = |value: Option<f64>| value.map_or("-".to_string(), fmt_bytes);
        let rows: Vec<Vec<String>> = explanation
            .kinds
            .iter()
            .take(KINDS)
            .map(|kind| {
                vec![
                    if kind.kind.is_empty() { "(none)".to_string() } else { kind.kind.clone() },
                    kind.tasks.to_string(),
                    fmt_seconds(kind.seconds),
                    kind.failed.to_string(),
                    kind.cores.map_or("-".to_string(), |cores| format!("{cores:.0}")),
                    kind.used_cores.map_or("-".to_string(), percent),
                    bytes(kind.requested_memory),
                    bytes(kind.used_memory),
                ]
            })
            .collect();
        let headings = [
            "kind",
            ">tasks",
            ">time in all",
            ">failed",
            ">cores",
            ">of them used",
            ">memory asked",
            ">most used",
        ];
        let mut text = String::from("<h2>LoggedOracle and used</h2>\n");
        text.push_str(&table(&headings, &rows));
        let hosts: Vec<Vec<String>> = self
            .status
            .hosts
            .iter()
            .filter(|host| host.done > 0 || self.status.hosts.len() <= KINDS)
            .take(KINDS)
            .map(|host| {
                let busy = self.busy_seconds(&host.host);
                let room = f64::from(host.cores) * self.status.elapsed;
                let used = if room > 0.0 { percent(busy / room) } else { "-".to_string() };
                vec![host.host.clone(), host.cores.to_string(), host.done.to_string(), used]
            })
            .collect();
        text.push_str(&table(&["host", ">cores", ">attempts done", ">cores held"], &hosts));
        self.add(&text);
    }

    fn busy_seconds(&self, name: &str) -> f64 {
        let history = self.history;
        let attempts = history.tasks.iter().flat_map(|task| &task.attempts);
        attempts
            .filter(|a| &*history.platform.host(a.host).name == name)
            .map(|a| a.seconds(history.last) * a.procs.len() as f64)
            .sum()
    }

    /// Advice that follows from the figures, one sentence each.
    fn next_time(&mut self) {
        let mut advice: Vec<String> = Vec::new();
        if let Some(explanation) = &self.explanation {
            let repeated = explanation.repeated.max(f64::MIN_POSITIVE);
            let what_if = &explanation.what_if;
            // The repeated run is a model of the real one: what changes in it is taken as a share.
            let gain = |seconds: f64| (repeated - seconds) / repeated;
            let real = |seconds: f64| fmt_seconds(self.status.elapsed * seconds / repeated);
            let slots = gain(what_if.twice_the_slots);
            if slots >= 0.05 {
                advice.push(format!(
                    "Twice the cores would shorten the run to about {}, by {}.",
                    real(what_if.twice_the_slots),
                    percent(slots)
                ));
            } else {
                advice.push(
                    "More cores would hardly shorten the run: the chain of dependent tasks decides it."
                        .to_string(),
                );
            }
            if gain(what_if.no_failures) >= 0.01 {
                advice.push(format!(
                    "Without failed attempts it would take about {}, {} less.",
                    real(what_if.no_failures),
                    percent(gain(what_if.no_failures))
                ));
            }
            if gain(what_if.no_queue) >= 0.05 {
                advice.push(format!(
                    "Without waits in the queue it would take about {}, {} less.",
                    real(what_if.no_queue),
                    percent(gain(what_if.no_queue))
                ));
            }
        }
        if let Some(planned) = &self.planned
            && planned.makespan() > 0.0
            && self.status.state == RunState::Finished
            && (self.status.elapsed / planned.makespan() - 1.0).abs() > MISJUDGED
        {
            advice.push(format!(
                "The estimates were off: slackline calibrate {} -o DIR writes the workflow with measured times.",
                quoted(&self.history.path.display().to_string())
            ));
        }
        let requests = Advice::of(std::slice::from_ref(&self.recorded), RISK);
        let mut rows = Vec::new();
        for kind in requests.kinds.iter().take(KINDS) {
            let memory = kind.memory.as_ref().map(|memory| {
                let amount = memory.request.amount;
                match amount.per_input {
                    0.0 => fmt_bytes(amount.base),
                    slope if amount.base < 0.0 => {
                        format!("{slope:.2} × input − {}", fmt_bytes(-amount.base))
                    }
                    slope => format!("{slope:.2} × input + {}", fmt_bytes(amount.base)),
                }
            });
            if memory.is_none() && kind.cores.is_none() && kind.time.is_none() {
                continue;
            }
            rows.push(vec![
                if kind.kind.is_empty() { "(none)".to_string() } else { kind.kind.clone() },
                kind.tasks.to_string(),
                memory.unwrap_or_else(|| "as asked".to_string()),
                kind.recorded_memory.map_or("-".to_string(), fmt_bytes),
                kind.cores.map_or("-".to_string(), |cores| cores.to_string()),
                kind.recorded_cores.map_or("-".to_string(), |cores| format!("{cores:.0}")),
                kind.time.as_ref().map_or("-".to_string(), |time| fmt_seconds(time.limit)),
            ]);
        }
        let mut text = String::from("<h2>What to change next time</h2>\n");
        if !advice.is_empty() {
            text.push_str("<ul>");
            for sentence in &advice {
                text.push_str(&format!("<li>{}</li>", escape(sentence)));
            }
            text.push_str("</ul>\n");
        }
        if !rows.is_empty() {
            text.push_str(&format!(
                "<p>Requests that follow from what tasks used; a first attempt then lacks memory with a probability of at \
                 most {}.</p>\n",
                percent(RISK)
            ));
            let headings =
                ["kind", ">tasks", ">memory", ">asked", ">cores", ">asked", ">time limit"];
            text.push_str(&table(&headings, &rows));
        }
        self.add(&text);
    }

    /// Versions, and the command that repeats the run.
    fn origin(&mut self) -> Result<(), Failure> {
        let header = &self.history.header;
        let command = command(self.history)?;
        let folder = self.history.path.display().to_string();
        let mut rows = vec![
            vec!["begun by".to_string(), format!("slackline {}", header.version)],
            vec!["reported by".to_string(), format!("slackline {}", env!("CARGO_PKG_VERSION"))],
            vec!["run".to_string(), header.id.clone()],
            vec!["folder".to_string(), folder],
            vec!["inputs from".to_string(), header.inputs.display().to_string()],
        ];
        for (name, digest) in &header.digests {
            rows.push(vec![name.clone(), format!("XXH3 {digest}")]);
        }
        if self.history.drives.len() > 1 {
            let times = self.history.drives.len() - 1;
            rows.push(vec!["resumed".to_string(), count(times, "time")]);
        }
        let text = format!(
            "<h2>How to repeat it</h2>\n<pre>{}</pre>\n{}",
            escape(&command),
            table(&["", ""], &rows)
        );
        self.add(&text);
        Ok(())
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map_or(String::new(), |c| c.to_uppercase().to_string());
    format!("{first}{}.", letters.as_str())
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The command that repeats a run in a new folder.
pub fn command(history: &RunHistory) -> Result<String, Failure> {
    let (request, _) = settings::of_header(&history.header)?;
    let usual = crate::request::RunRequest::default();
    let mut words = vec!["slackline".to_string(), "run".to_string()];
    let workflows = request.input.workflows.iter();
    words.extend(workflows.map(|path| quoted(&path.display().to_string())));
    let mut option = |name: &str, value: String| words.push(format!("{name} {}", quoted(&value)));
    if let Some(platform) = &request.input.platform {
        option("--platform", platform.display().to_string());
    }
    for (name, value) in &request.input.params.0 {
        option("--param", format!("{name}={value}"));
    }
    if let Some(cores) = request.cores {
        option("--cores", cores.to_string());
    }
    if let Some(planner) = &request.planner {
        option("--algorithm", planner.clone());
    }
    if request.policy != usual.policy {
        option("--policy", request.policy.clone());
    }
    for (name, value) in &request.parameters.0 {
        option("--set", format!("{name}={value}"));
    }
    if request.seed != 0 {
        option("--seed", request.seed.to_string());
    }
    let (execution, plain) = (&request.execution, &usual.execution);
    if execution.retries != plain.retries {
        option("--retries", execution.retries.to_string());
    }
    if let Some(seconds) = execution.time_limit {
        option("--time-limit", format!("{seconds}s"));
    }
    if let Some(slurm) = &execution.slurm {
        option("--on", "slurm".to_string());
        slurm.sbatch.iter().for_each(|word| option("--sbatch", word.clone()));
    }
    if execution.throttle {
        words.push("--throttle".to_string());
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_leave_their_place() {
        assert_eq!(escape("<a href='x'>&"), "&lt;a href=&#39;x&#39;&gt;&amp;");
        let shown = picture("<svg a=\"#1\">é</svg>", "a \"b\"");
        assert!(shown.contains("alt=\"a &quot;b&quot;\"") && shown.contains("%23"), "{shown}");
        assert!(!shown.contains("<svg") && shown.is_ascii(), "{shown}");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }

    #[test]
    fn dates() {
        assert_eq!(utc(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400.0), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_098_252.3), "2026-11-19 14:24:12 UTC");
    }
}
