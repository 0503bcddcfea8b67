//! A report as a page of Markdown.

use super::report::{Claim, Findings, Report, Table, Verdict};
use std::fmt::Write;

impl Report {
    /// The whole report; results that depend on wall time are in a section of their own at the end.
    pub fn markdown(&self) -> String {
        let mut page = String::new();
        let _ = writeln!(page, "# {}\n\n{}.\n", self.title, self.source);
        let _ = writeln!(
            page,
            "`slackline reproduce {}`, seed {}, size {}, {} graphs per setting. {}.\n",
            self.name,
            self.seed,
            self.size,
            self.graphs,
            self.summary()
        );
        page.push_str(
            "A figure with ± is a mean with its 95 % confidence interval. A check says `open` when the \
             interval is on both sides of what is wanted. A claim holds when all its checks pass, \
             holds partly when some do, does not hold when none does.\n",
        );
        if !self.choices.is_empty() {
            page.push_str("\nChoices where the source leaves one:\n\n");
            for choice in &self.choices {
                let _ = writeln!(page, "- {choice}");
            }
        }
        page.push_str("\n## Claims\n");
        findings(&mut page, &self.findings, "Tables");
        if let Some(timed) = &self.timed {
            page.push_str("\n## Claims on running time\n\nDerived from wall time: other on every machine and in every run.\n");
            findings(&mut page, timed, "Tables of running time");
        }
        page
    }
}

fn findings(page: &mut String, findings: &Findings, heading: &str) {
    for claim in &findings.claims {
        add_claim(page, claim);
    }
    if !findings.tables.is_empty() {
        let _ = writeln!(page, "\n## {heading}");
    }
    for table in &findings.tables {
        add_table(page, table);
    }
}

fn add_claim(page: &mut String, claim: &Claim) {
    let _ = writeln!(page, "\n### {} {}: {}\n", claim.id, claim.states, claim.verdict.name());
    if let Verdict::CannotBeChecked { reason } = &claim.verdict {
        let _ = writeln!(page, "Cannot be checked: {reason}.\n");
    }
    if !claim.checks.is_empty() {
        page.push_str("| what | published | ours | wanted | met |\n|---|---|---|---|---|\n");
        for check in &claim.checks {
            let _ = writeln!(
                page,
                "| {} | {} | {} | {} | {} |",
                check.what,
                check.published.as_deref().unwrap_or(""),
                check.unit.show_estimate(&check.ours),
                check.rule.show(check.unit),
                check.outcome.name()
            );
        }
    }
    if let Some(remark) = &claim.remark {
        let _ = writeln!(page, "\n{remark}");
    }
}

fn add_table(page: &mut String, table: &Table) {
    let _ = writeln!(page, "\n### {}\n", table.title);
    let _ = writeln!(page, "| {} |", table.columns.join(" | "));
    let _ = writeln!(page, "|{}", "---|".repeat(table.columns.len()));
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|c| c.show()).collect();
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}
