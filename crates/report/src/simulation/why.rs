//! Explanations of a policy, call by call: its alternatives, their forecasts, and the reason of the choice.

use crate::table::Table;
use slackline_core::simulation::Ran;
use slackline_model::units::fmt_seconds;
use slackline_react::{Alternative, Explanation, Transfers};

/// Alternatives that a policy weighed at each re-planning, as text.
pub fn told(ran: &Ran, width: usize) -> String {
    let calls = ran.log.calls.iter().filter_map(|call| Some((call.at, call.why.as_ref()?)));
    let mut text = String::new();
    for (at, reasons) in calls {
        text.push_str(&one(at, reasons, width));
    }
    if text.is_empty() {
        format!("\n{} says nothing of what it weighs.\n", ran.name)
    } else {
        format!("\nWhat {} weighed:\n{text}", ran.name)
    }
}

fn one(at: f64, reasons: &Explanation, width: usize) -> String {
    let Explanation { cause, alternatives, taken, why } = reasons;
    let name = |a: &Alternative| format!("{}, {}", a.plan, inputs(a.transfers));
    let chosen = alternatives.get(*taken).map_or_else(String::new, name);
    let head = format!("\n  {}, {cause}: {chosen} ({why})\n", fmt_seconds(at));
    if alternatives.len() < 2 {
        return head;
    }
    let mut table =
        Table::new(&["<", "<plan", "<inputs", ">moved", ">forecast", ">mean", ">latest"]);
    let followed = alternatives.iter().any(|a| a.mean.is_some());
    for (index, a) in alternatives.iter().enumerate() {
        let mark = if index == *taken { "*" } else { "" };
        let date = |date: Option<f64>| date.map_or("-".to_string(), fmt_seconds);
        table.row([
            mark.to_string(),
            a.plan.clone(),
            inputs(a.transfers),
            a.moves.to_string(),
            date(a.forecast),
            match a.mean {
                None if followed => "given up".to_string(),
                mean => date(mean),
            },
            date(a.latest),
        ]);
    }
    head + &table.render(width)
}

fn inputs(transfers: Transfers) -> String {
    match transfers {
        Transfers::Push => "push".to_string(),
        Transfers::Pull { window } => format!("pull {window}"),
    }
}
