//! Comparisons by kind of method.

use crate::Printer;
use crate::compare::text;
use serde::Serialize;
use slackline_core::Failure;
use slackline_core::schema::names;
use slackline_lab::campaign::MethodKind;
use slackline_lab::compare::Comparison;

/// Comparisons per kind of method, where there are both.
#[derive(Serialize)]
struct Kinds<'a> {
    schema: &'static str,
    campaign: &'a str,
    plan: &'a Comparison,
    simulate: &'a Comparison,
}

/// Prints comparisons.
pub fn show(
    is_json: bool,
    comparisons: &[(MethodKind, Comparison)],
    name: &str,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    match comparisons {
        [(_, one)] if is_json => output.json(one),
        [(_, plan), (_, simulate)] if is_json => {
            output.json(&Kinds { schema: names::CAMPAIGNS, campaign: name, plan, simulate })
        }
        _ => {
            for (at, (kind, comparison)) in comparisons.iter().enumerate() {
                if comparisons.len() > 1 {
                    let gap = if at > 0 { "\n" } else { "" };
                    let judged = match kind {
                        MethodKind::Plan => "judged by plans",
                        MethodKind::Simulate => "judged by simulated runs",
                    };
                    output.say(&format!("{gap}{}\n", output.bold(judged)))?;
                }
                text::tell(comparison, output)?;
            }
            Ok(())
        }
    }
}
