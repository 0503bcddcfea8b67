//! The parameters of costs on the command line, and what they mean.

use super::{Ccr, CcrBy, Complexity, Consistency, Costs, EtcSpread, TaskCosts};
use crate::error::{Result, bad};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::units::Quantity;

/// The parameters of every shape's costs.
pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "costs",
        Kind::Choice(&["flops", "beta", "uniform", "etc"]),
        "flops",
        "cost model of the tasks",
    )
    .published("flops: parallel task graphs; beta: PEFT, HEFT; uniform: GTP, SR; etc: ASMH00"),
    Parameter::new(
        "complexity",
        Kind::Choice(&["mixed", "linear", "loglinear", "matrix"]),
        "mixed",
        "flops: operations for d elements: a d, a d log2 d, d^1.5, or one of them per task",
    )
    .published("all four scenarios"),
    Parameter::new("min-side", Kind::Number(1024.0, 1e6), "2048", "flops: least side, sqrt(d)")
        .published("2048"),
    Parameter::new("max-side", Kind::Number(1024.0, 1e6), "11264", "flops: bound of the side")
        .published("11264"),
    Parameter::new("min-alpha", Kind::Number(0.0, 1.0), "0", "flops: least serial fraction"),
    Parameter::new("max-alpha", Kind::Number(0.0, 1.0), "0.25", "flops: most serial fraction")
        .published("0.25; daggen itself 0.2"),
    Parameter::new("moldable", Kind::Switch, "no", "flops: tasks may use several processors"),
    Parameter::new(
        "processors",
        Kind::Count(0, 100_000),
        "auto",
        "columns p1 ... of the table of seconds; 0 for none",
    )
    .published("4 to 64 (PEFT); 5, 10, 20 (GTP); 3 to 8 (SR)"),
    Parameter::new(
        "mean",
        Kind::Number(0.0, f64::INFINITY),
        "100",
        "beta, etc: mean seconds of a task",
    )
    .published("100"),
    Parameter::new("beta", Kind::Number(0.0, 2.0), "0.5", "beta: spread over processors")
        .published("0, 0.1, 0.25, 0.5, 0.75, 1, 2"),
    Parameter::new("low", Kind::Number(0.0, f64::INFINITY), "1", "uniform: least seconds")
        .published("1 (GTP), 50 (SR)"),
    Parameter::new("high", Kind::Number(0.0, f64::INFINITY), "10", "uniform: most seconds")
        .published("10 (GTP), 100 (SR)"),
    Parameter::new("whole", Kind::Switch, "yes", "uniform: whole seconds only")
        .published("yes (GTP), no (SR)"),
    Parameter::new(
        "etc-method",
        Kind::Choice(&["variation", "range"]),
        "variation",
        "etc: coefficients of variation or ranges",
    ),
    Parameter::new("task-heterogeneity", Kind::Number(0.0, 1e6), "0.2", "etc: among tasks")
        .published("variation 0.2, 0.8; range 100, 3000"),
    Parameter::new("machine-heterogeneity", Kind::Number(0.0, 1e6), "0.2", "etc: among machines")
        .published("variation 0.2, 0.8; range 10, 1000"),
    Parameter::new(
        "consistency",
        Kind::Choice(&["consistent", "semi", "inconsistent"]),
        "inconsistent",
        "etc: whether machines keep their order",
    ),
    Parameter::new(
        "ccr",
        Kind::Number(0.0, 1e6),
        "auto",
        "communication over computation; auto: 8 d bytes for flops, else 1",
    )
    .published("0.1, 0.25, 0.5, 0.8, 1, 2, 5, 10; GTP 0.1, 0.5, 1.5"),
    Parameter::new("ccr-by", Kind::Choice(&["sums", "means"]), "sums", "ratio of sums or of means"),
    Parameter::new(
        "data-spread",
        Kind::Number(0.0, 1.0),
        "1",
        "an edge's share is U[1 - s, 1 + s]",
    ),
    Parameter::new(
        "per-level",
        Kind::Switch,
        "no",
        "all tasks of a level alike, all transfers between two levels alike",
    ),
    Parameter::new(
        "bandwidth",
        Kind::Quantity(Quantity::Bandwidth),
        "125MBps",
        "network on which the ccr holds",
    ),
    Parameter::new(
        "speed",
        Kind::Quantity(Quantity::Speed),
        "1Gf",
        "processor on which the ccr of flop costs holds",
    ),
];

impl Costs {
    /// From the parameters of a generator.
    pub(crate) fn read(s: &Values) -> Result<Costs> {
        let ordered = |low: &str, high: &str| -> Result<(f64, f64)> {
            let (from, to) = (s.number(low)?, s.number(high)?);
            if from > to {
                return Err(bad(low, from, format!("it is above {high} = {to}")));
            }
            Ok((from, to))
        };
        let tasks = match s.word("costs") {
            "beta" => TaskCosts::Beta { mean: s.number("mean")?, beta: s.number("beta")? },
            "uniform" => {
                let (low, high) = ordered("low", "high")?;
                TaskCosts::Uniform { low, high, whole: s.switch("whole") }
            }
            "etc" => TaskCosts::Etc {
                spread: match s.word("etc-method") {
                    "range" => EtcSpread::Range,
                    _ => EtcSpread::Variation,
                },
                task: s.number("task-heterogeneity")?,
                machine: s.number("machine-heterogeneity")?,
                mean: s.number("mean")?,
                consistency: match s.word("consistency") {
                    "consistent" => Consistency::Consistent,
                    "semi" => Consistency::Semi,
                    _ => Consistency::Inconsistent,
                },
            },
            _ => TaskCosts::Flops {
                complexity: match s.word("complexity") {
                    "linear" => Complexity::Linear,
                    "loglinear" => Complexity::LogLinear,
                    "matrix" => Complexity::Matrix,
                    _ => Complexity::Mixed,
                },
                side: ordered("min-side", "max-side")?,
                alpha: ordered("min-alpha", "max-alpha")?,
                moldable: s.switch("moldable"),
            },
        };
        let flops = matches!(tasks, TaskCosts::Flops { .. });
        let ratio = s.maybe_number("ccr").or((!flops).then_some(1.0));
        let by = if s.word("ccr-by") == "means" { CcrBy::Means } else { CcrBy::Sums };
        let spread = s.number("data-spread")?;
        Ok(Costs {
            tasks,
            processors: s.maybe_count("processors").unwrap_or(if flops { 0 } else { 3 }),
            ccr: ratio.map(|ratio| Ccr { ratio, by, spread }),
            per_level: s.switch("per-level"),
            bandwidth: s.number("bandwidth")?,
            speed: s.number("speed")?,
        })
    }
}
