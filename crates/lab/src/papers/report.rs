//! Result of a reproduction: claims with their verdicts, tables of numbers.

use super::{Options, Paper};
use serde::{Serialize, Serializer};
use slackline_analysis::statistics::{Estimate, Interval};

/// Notation of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number with this many decimals.
    Number(usize),
    /// A share between 0 and 1, written in per cent with this many decimals.
    Percent(usize),
    /// A factor, written such as `1.53x`, with this many decimals.
    Times(usize),
}

impl Unit {
    /// A value as text.
    pub fn show(self, value: f64) -> String {
        if !value.is_finite() {
            return "-".to_string();
        }
        // Rounding may leave "-0.0".
        let tidy = |text: String| match text.strip_prefix('-') {
            Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_string(),
            _ => text,
        };
        match self {
            Unit::Number(digits) => tidy(format!("{value:.digits$}")),
            Unit::Percent(digits) => tidy(format!("{:.digits$}", value * 100.0)) + " %",
            Unit::Times(digits) => tidy(format!("{value:.digits$}")) + "x",
        }
    }

    /// A figure with its interval as text.
    pub fn show_estimate(self, estimate: &Estimate) -> String {
        let value = self.show(estimate.value);
        if let Some(Interval { low, high }) = estimate.interval {
            return format!("{value} ({} to {})", self.show(low), self.show(high));
        }
        match estimate.margin.filter(|m| m.is_finite()) {
            None => value,
            Some(margin) => {
                let bare = value.trim_end_matches(" %").trim_end_matches('x');
                format!("{bare} ± {}", self.show(margin))
            }
        }
    }
}

/// Condition on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
    /// Less than.
    Below(f64),
    /// More than.
    Above(f64),
    /// Between, ends included.
    Between(f64, f64),
}

impl Rule {
    /// The rule as text.
    pub fn show(self, unit: Unit) -> String {
        match self {
            Rule::AtMost(most) => format!("≤ {}", unit.show(most)),
            Rule::AtLeast(least) => format!("≥ {}", unit.show(least)),
            Rule::Below(bound) => format!("< {}", unit.show(bound)),
            Rule::Above(bound) => format!("> {}", unit.show(bound)),
            Rule::Between(low, high) => format!("{} to {}", unit.show(low), unit.show(high)),
        }
    }

    fn allows(self, value: f64) -> bool {
        match self {
            Rule::AtMost(most) => value <= most,
            Rule::AtLeast(least) => value >= least,
            Rule::Below(bound) => value < bound,
            Rule::Above(bound) => value > bound,
            Rule::Between(low, high) => (low..=high).contains(&value),
        }
    }

    /// The figure passes when value and 95 % interval satisfy the rule, fails when neither do, and is open otherwise: also
    /// without a margin (unless exact), and where the interval encloses a range.
    fn judge(self, estimate: &Estimate) -> Judgement {
        let ends = [estimate.low(), estimate.high(), estimate.value].map(|v| self.allows(v));
        let spans = matches!(self, Rule::Between(low, high)
            if estimate.low() < low && estimate.high() > high);
        match ends {
            _ if !estimate.value.is_finite() => Judgement::Open,
            // One sample has no known spread.
            _ if estimate.margin.is_none() && !estimate.exact => Judgement::Open,
            [true, true, true] => Judgement::Passes,
            [false, false, false] if !spans => Judgement::Fails,
            _ => Judgement::Open,
        }
    }
}

/// Result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// The figure satisfies the rule, and so does its interval.
    Passes,
    /// Neither satisfies it.
    Fails,
    /// The interval is on both sides of the rule.
    Open,
}

impl Judgement {
    /// The judgement as text.
    pub fn name(self) -> &'static str {
        match self {
            Judgement::Passes => "yes",
            Judgement::Fails => "no",
            Judgement::Open => "open",
        }
    }
}

/// One figure of ours, judged by a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The measured quantity and its conditions.
    pub what: String,
    /// The published figure, where there is one.
    pub published: Option<String>,
    /// Our figure.
    pub ours: Estimate,
    /// Its notation.
    pub unit: Unit,
    /// The condition on it.
    pub rule: Rule,
    /// The result.
    pub outcome: Judgement,
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct CheckDocument<'a> {
            what: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            published: Option<&'a str>,
            ours: Estimate,
            rule: String,
            outcome: Judgement,
        }
        CheckDocument {
            what: &self.what,
            published: self.published.as_deref(),
            ours: self.ours,
            rule: self.rule.show(self.unit),
            outcome: self.outcome,
        }
        .serialize(serializer)
    }
}

/// Verdict on a claim from all its checks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "word", rename_all = "kebab-case")]
pub enum Verdict {
    /// Every check passes.
    Holds,
    /// Some pass, others fail or stay open.
    HoldsPartly,
    /// None passes and at least one fails.
    DoesNotHold,
    /// No check decides.
    CannotBeChecked {
        /// Reason.
        reason: String,
    },
}

impl Verdict {
    /// The verdict as text.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsPartly => "holds partly",
            Verdict::DoesNotHold => "does not hold",
            Verdict::CannotBeChecked { .. } => "cannot be checked",
        }
    }

    /// The verdict of some checks.
    fn of(checks: &[Check]) -> Verdict {
        let count = |o: Judgement| checks.iter().filter(|c| c.outcome == o).count();
        match (count(Judgement::Passes), count(Judgement::Fails)) {
            (passes, 0) if passes > 0 && passes == checks.len() => Verdict::Holds,
            (0, 0) => Verdict::CannotBeChecked {
                reason: "the intervals are too wide at this number of graphs".to_string(),
            },
            (0, _) => Verdict::DoesNotHold,
            _ => Verdict::HoldsPartly,
        }
    }
}

/// A statement of a source, with our checks of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Place in the source, or our name for it.
    pub id: &'static str,
    /// The statement, in our words.
    pub states: String,
    /// Verdict from the checks.
    pub verdict: Verdict,
    /// The checks of figures.
    pub checks: Vec<Check>,
    /// Cause of the outcome, or the way in which a figure was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

impl Claim {
    /// A claim without checks yet.
    pub(crate) fn new(id: &'static str, states: impl Into<String>) -> Claim {
        Claim {
            id,
            states: states.into(),
            verdict: Verdict::of(&[]),
            checks: Vec::new(),
            remark: None,
        }
    }

    /// Adds a figure of ours and what it has to satisfy.
    pub(crate) fn check(
        &mut self,
        what: impl Into<String>,
        published: &str,
        (ours, unit): (Estimate, Unit),
        rule: Rule,
    ) {
        self.checks.push(Check {
            what: what.into(),
            published: (!published.is_empty()).then(|| published.to_string()),
            ours,
            unit,
            rule,
            outcome: rule.judge(&ours),
        });
        self.verdict = Verdict::of(&self.checks);
    }

    /// Adds a remark on the cause of the outcome.
    pub(crate) fn remark(mut self, text: impl Into<String>) -> Claim {
        self.remark = Some(text.into());
        self
    }

    /// Adds a remark on the cause unless the claim holds.
    pub(crate) fn unless_it_holds(self, text: impl Into<String>) -> Claim {
        if self.verdict == Verdict::Holds { self } else { self.remark(text) }
    }
}

/// An entry of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Text.
    Text(String),
    /// A figure.
    Figure(Estimate, Unit),
}

impl Cell {
    /// A figure without uncertainty.
    pub(crate) fn exact(value: f64, unit: Unit) -> Cell {
        Cell::Figure(Estimate::exact(value), unit)
    }

    /// The mean of samples.
    pub(crate) fn mean(samples: &[f64], unit: Unit) -> Cell {
        Cell::Figure(Estimate::mean(samples), unit)
    }

    /// The entry as text.
    pub fn show(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Figure(estimate, unit) => unit.show_estimate(estimate),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => text.serialize(serializer),
            Cell::Figure(Estimate { value, margin: None, .. }, _) => value.serialize(serializer),
            Cell::Figure(estimate, _) => estimate.serialize(serializer),
        }
    }
}

/// A table of our results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// Title.
    pub title: String,
    /// Headings.
    pub columns: Vec<String>,
    /// Rows as wide as the headings.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows yet.
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let columns = columns.iter().map(ToString::to_string).collect();
        Table { title: title.into(), columns, rows: Vec::new() }
    }
}

/// Claims and tables that belong together.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Findings {
    /// Claims of the source, with verdicts.
    pub claims: Vec<Claim>,
    /// Tables of our results.
    pub tables: Vec<Table>,
}

/// Report of a reproduction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the reproduction.
    pub name: &'static str,
    /// Title of the source.
    pub title: &'static str,
    /// Authors, venue, year.
    pub source: &'static str,
    /// Seed of every draw.
    pub seed: u64,
    /// Name of the size (quick, standard, full), which sets the number of runs.
    pub size: &'static str,
    /// Graphs per setting.
    pub graphs: usize,
    /// Our choices where the source leaves any.
    pub choices: Vec<String>,
    /// Claims and tables; equal for every run with the same seed and size.
    #[serde(flatten)]
    pub findings: Findings,
    /// Findings from wall time, which differ between machines and runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed: Option<Findings>,
}

impl Report {
    /// An empty report.
    pub(crate) fn new(paper: &Paper, options: &Options, graphs: usize) -> Report {
        Report {
            name: paper.name,
            title: paper.title,
            source: paper.source,
            seed: options.seed,
            size: options.size.name(),
            graphs,
            choices: Vec::new(),
            findings: Findings::default(),
            timed: None,
        }
    }

    /// All claims, those of wall time last.
    pub fn claims(&self) -> impl Iterator<Item = &Claim> {
        self.findings.claims.iter().chain(self.timed.iter().flat_map(|f| &f.claims))
    }

    /// Number of claims with this verdict.
    pub fn count(&self, name: &str) -> usize {
        self.claims().filter(|c| c.verdict.name() == name).count()
    }

    /// One line on how many claims hold.
    pub fn summary(&self) -> String {
        let names = ["holds", "holds partly", "does not hold", "cannot be checked"];
        let parts = ["hold", "hold partly", "do not hold", "cannot be checked"];
        let counted = names.iter().zip(parts).map(|(name, words)| (self.count(name), words));
        let parts: Vec<String> =
            counted.filter(|(n, _)| *n > 0).map(|(n, words)| format!("{n} {words}")).collect();
        format!("{} claims: {}", self.claims().count(), parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, margin: f64) -> Estimate {
        Estimate { value, margin: Some(margin), interval: None, samples: 9, exact: false }
    }

    #[test]
    fn an_interval_across_the_rule_leaves_it_open() {
        assert_eq!(Rule::AtMost(1.0).judge(&estimate(0.5, 0.4)), Judgement::Passes);
        assert_eq!(Rule::AtMost(1.0).judge(&estimate(0.5, 0.6)), Judgement::Open);
        assert_eq!(Rule::AtMost(1.0).judge(&estimate(1.5, 0.6)), Judgement::Open);
        assert_eq!(Rule::AtMost(1.0).judge(&estimate(1.5, 0.4)), Judgement::Fails);
        assert_eq!(Rule::Between(1.0, 2.0).judge(&estimate(3.0, 9.0)), Judgement::Open);
        assert_eq!(Rule::Between(1.0, 2.0).judge(&Estimate::exact(f64::NAN)), Judgement::Open);
    }

    #[test]
    fn verdicts_follow_from_checks() {
        let with = |values: &[f64]| {
            let mut claim = Claim::new("1", "small");
            for &value in values {
                claim.check("x", "", (estimate(value, 0.1), Unit::Number(1)), Rule::AtMost(1.0));
            }
            claim.verdict.name()
        };
        assert_eq!(with(&[]), "cannot be checked");
        assert_eq!(with(&[0.5, 0.6]), "holds");
        assert_eq!(with(&[0.5, 1.0]), "holds partly");
        assert_eq!(with(&[0.5, 1.5]), "holds partly");
        assert_eq!(with(&[1.0, 1.5]), "does not hold");
        assert_eq!(with(&[1.0]), "cannot be checked");
    }

    #[test]
    fn figures_as_text() {
        assert_eq!(Unit::Percent(1).show_estimate(&estimate(0.1234, 0.012)), "12.3 ± 1.2 %");
        assert_eq!(Unit::Times(2).show(1.534), "1.53x");
        assert_eq!(Unit::Percent(1).show(-0.0001), "0.0 %");
        assert_eq!(Rule::Between(0.05, 0.2).show(Unit::Percent(0)), "5 % to 20 %");
    }
}
