//! Errors of a simulated run by component.

use super::Number;
use super::stack::{Ordered, done};
use crate::Printer;
use crate::table::Table;
use serde::Serialize;
use slackline_centre::stack::{Attributed, Attribution, Case, Component, Switches, Validity};
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_model::units::fmt_seconds;
use slackline_view::plot::{Cell, matrix};

/// Errors by component.
#[derive(Serialize)]
pub struct AttributionDocument<'a> {
    schema: &'static str,
    recorded: Number,
    runs: Vec<RunLine<'a>>,
    validity: Validity,
}

#[derive(Serialize)]
struct RunLine<'a> {
    switches: Switches,
    makespan: Option<Number>,
    error: Option<Number>,
    done: Ordered<&'a str, Number>,
    robust: bool,
}

/// Makes the document of the runs, each with components free or injected.
pub fn document<'a>(
    case: &'a Case,
    found: &Attribution,
    switches: Switches,
) -> AttributionDocument<'a> {
    let line = |run: &Attributed| RunLine {
        switches: run.switches,
        makespan: run.outcome.makespan().map(Number),
        error: run.error.map(Number),
        done: done(case, &run.outcome),
        robust: run.robust,
    };
    AttributionDocument {
        schema: names::CENTRE_ATTRIBUTE,
        recorded: Number(found.recorded),
        runs: found.runs.iter().map(line).collect(),
        validity: Validity::of(case, Some(switches)),
    }
}

fn percent(error: Option<f64>) -> String {
    match error {
        None => "not done".to_string(),
        Some(error) if error.abs() < 5e-5 => "0.00 %".to_string(),
        Some(error) => format!("{:+.2} %", 100.0 * error),
    }
}

fn error_of(found: &Attribution, switches: Switches) -> Option<Option<f64>> {
    found.run(switches).map(|run| run.error)
}

/// Prints a table of errors, or the one run that was asked for.
pub fn text(case: &Case, found: &Attribution, output: &mut dyn Printer) -> Result<(), Failure> {
    output.say(&format!("recorded makespan {}\n", fmt_seconds(found.recorded)))?;
    if let [run] = &found.runs[..] {
        let makespan = run.outcome.makespan().map_or_else(|| "-".to_string(), fmt_seconds);
        output.say(&format!(
            "{}: makespan {makespan}, error {}\n",
            run.switches,
            percent(run.error)
        ))?;
        return output.say(&format!("{}\n", Validity::of(case, Some(run.switches)).text()));
    }
    let mut table =
        Table::new(&["<component", "<otherwise", ">alone", ">up to here", ">all others free"]);
    let of = |switches: Switches| error_of(found, switches).map_or_else(String::new, percent);
    table.row([
        "(everything injected)".into(),
        String::new(),
        of(Switches::INJECTED),
        String::new(),
        String::new(),
    ]);
    let rows =
        Attribution::alone().zip(Attribution::cumulative()).zip(Attribution::injected_back());
    for (((component, alone), (_, so_far)), (_, back)) in rows {
        table.row([
            component.name().into(),
            component.free().into(),
            of(alone),
            of(so_far),
            of(back),
        ]);
    }
    for (component, switches) in Attribution::with_platform() {
        table.row([
            format!("platform and {}", component.name()),
            String::new(),
            of(switches),
            String::new(),
            String::new(),
        ]);
    }
    table.row([
        "(nothing injected)".into(),
        String::new(),
        String::new(),
        of(Switches::FREE),
        String::new(),
    ]);
    let text = table.render(output.style().width);
    output.text(&text)?;
    output.say(
        "alone: this component free, the others injected. up to here: free together with all above. all others \
         free: this one injected. The errors of single components do not add up: what is injected holds the rest in place.\n",
    )?;
    let ties = found.runs.iter().filter(|run| !run.robust).count();
    if ties > 0 {
        output.note(&format!(
            "{ties} of {} runs depend on the order of what happens at one instant",
            found.runs.len()
        ));
    }
    output.say(&format!("{}\n", Validity::of(case, Some(Switches::FREE)).text()))
}

/// Draws errors: a row per component.
pub fn svg(found: &Attribution) -> String {
    let most = found.runs.iter().filter_map(|run| run.error).fold(1e-9, |m: f64, e| m.max(e.abs()));
    let cell = |switches: Switches| {
        let error = error_of(found, switches)?;
        Some(Cell { shade: error.map_or(0.0, |error| -error / most), text: percent(error) })
    };
    let columns = ["alone", "up to here", "others free"].map(str::to_string);
    let lists = [
        Attribution::alone().collect::<Vec<_>>(),
        Attribution::cumulative().collect(),
        Attribution::injected_back().collect(),
    ];
    let rows: Vec<String> = Component::ALL.map(|component| component.name().to_string()).into();
    let cells: Vec<Vec<Option<Cell>>> =
        (0..rows.len()).map(|r| lists.iter().map(|list| cell(list[r].1)).collect()).collect();
    let note = format!("error of the makespan; recorded {}", fmt_seconds(found.recorded));
    matrix("Where the error comes from", &note, &rows, &columns, &cells)
}
