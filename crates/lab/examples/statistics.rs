//! Compares the statistics with a folder of samples, pairs and tables with expected figures:
//! `cargo run -p slackline-lab --example statistics -- FOLDER`
//!
//! Read are `distributions.json`, `univariate.json`, `pairs.json`, `tables.json`, `large.csv` and
//! `large.expected.json`. Prints, per file, how many figures agree and those that do not; exits with 1
//! where one differs. `ci/long/compare_documents.py` compares the documents of `slackline compare` likewise.

#![allow(clippy::print_stdout)]

use serde_json::{Map, Value, json};
use slackline_analysis::statistics::distributions::{
    binomial_half, chi_square_tail, f_tail, normal_tail, range_quantile, range_tail,
    student_quantile,
};
use slackline_analysis::statistics::{Blocks, Interval, Pairs, Scale, Sense, Summary, ecdf, holm};
use slackline_formats::csv::Csv;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Figures compared, and those that differ.
#[derive(Default)]
struct Tally {
    compared: usize,
    differing: Vec<String>,
}

impl Tally {
    fn check(&mut self, place: &str, got: &Value, want: &Value) {
        match (got, want) {
            (Value::Object(got), Value::Object(want)) => {
                for (name, value) in want {
                    let place = format!("{place} {name}");
                    match (got.get(name), value) {
                        (Some(Value::Number(x)), Value::Number(y)) => {
                            let slack = slack(name, want);
                            self.number(&place, x.as_f64(), y.as_f64(), slack);
                        }
                        (Some(found), _) => self.check(&place, found, value),
                        (None, _) => self.note(&place, false, "missing"),
                    }
                }
            }
            (Value::Array(got), Value::Array(want)) => {
                self.note(place, got.len() == want.len(), "of another length");
                for (at, (got, want)) in got.iter().zip(want).enumerate() {
                    self.check(&format!("{place}[{at}]"), got, want);
                }
            }
            (Value::Number(got), Value::Number(want)) => {
                self.number(place, got.as_f64(), want.as_f64(), 1e-12);
            }
            // No figure at all is one null instead of many.
            (Value::Null, _) => {
                self.note(place, is_empty(want), &format!("null instead of {want}"))
            }
            _ => self.note(place, got == want, &format!("{got} instead of {want}")),
        }
    }

    fn number(&mut self, place: &str, got: Option<f64>, want: Option<f64>, slack: f64) {
        let (Some(got), Some(want)) = (got, want) else {
            return self.note(place, false, "no number");
        };
        let close = (got - want).abs() <= (1e-9 * want.abs()).max(slack);
        self.note(place, close, &format!("{got} instead of {want}"));
    }

    fn note(&mut self, place: &str, agrees: bool, text: &str) {
        self.compared += 1;
        if !agrees {
            self.differing.push(format!("{place}: {text}"));
        }
    }
}

/// Whether an expectation has counts of 0 and no figures.
fn is_empty(want: &Value) -> bool {
    match want {
        Value::Object(map) => map.values().all(is_empty),
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => want.is_null(),
    }
}

/// Absolute difference that a figure may have in addition to the relative one: the scale of an interval is its width or its
/// mean; what is around 0 has 1e-12.
fn slack(name: &str, figures: &Map<String, Value>) -> f64 {
    let value = |name: &str| figures.get(name).and_then(Value::as_f64).unwrap_or(0.0).abs();
    let around = |mean: &str, low: &str, high: &str| {
        let ends = |name: &str| figures.get(name).and_then(Value::as_f64).unwrap_or(0.0);
        1e-9 * value(mean).max((ends(high) - ends(low)).abs())
    };
    match name {
        "low" | "high" => around("mean", "low", "high"),
        "sd" | "margin" if value(name) == 0.0 => 1e-9 * value("mean").max(value("value")),
        "geometric_low" | "geometric_high" => {
            around("geometric", "geometric_low", "geometric_high")
        }
        "ratio_low" | "ratio_high" => around("ratio", "ratio_low", "ratio_high"),
        "p"
        | "effect"
        | "cliff"
        | "p_holm"
        | "degradation"
        | "degradation_not_best"
        | "chi2"
        | "f"
        | "cd"
        | "q"
        | "rank" => 1e-12,
        _ => 0.0,
    }
}

fn numbers(value: &Value) -> Vec<Option<f64>> {
    value.as_array().map(|list| list.iter().map(Value::as_f64).collect()).unwrap_or_default()
}

fn low(interval: Option<Interval>) -> Option<f64> {
    interval.map(|interval| interval.low)
}

fn high(interval: Option<Interval>) -> Option<f64> {
    interval.map(|interval| interval.high)
}

fn sample(values: &[f64]) -> Value {
    let Some(s) = Summary::of(values) else { return Value::Null };
    let repetitions = json!({"0.05": s.repetitions(0.05), "0.01": s.repetitions(0.01)});
    json!({
        "n": s.n, "mean": s.mean, "sd": s.sd, "margin": s.margin, "low": low(s.interval()),
        "high": high(s.interval()), "least": s.least, "q1": s.q1, "median": s.median, "q3": s.q3,
        "most": s.most, "median_low": low(s.median_interval),
        "median_high": high(s.median_interval), "geometric": s.geometric,
        "geometric_low": low(s.geometric_interval), "geometric_high": high(s.geometric_interval),
        "wilson_low": low(s.wilson), "wilson_high": high(s.wilson), "repetitions": repetitions,
    })
}

fn pair(pairs: &Pairs, sense: Sense, tolerance: f64) -> Value {
    let test = |scale: Scale| {
        pairs.wilcoxon(scale).map(|w| {
            json!({
                "nonzero": w.nonzero, "zeros": w.zeros, "plus": w.plus, "minus": w.minus,
                "tied": w.tied, "method": if w.exact { "exact" } else { "normal" }, "p": w.p,
                "effect": w.effect(sense),
            })
        })
    };
    let (counts, ratio, means) =
        (pairs.counts(sense, tolerance), pairs.ratio(), pairs.ratio_of_means());
    let linear = pairs.wilcoxon(Scale::Linear);
    json!({
        "n": pairs.n(), "only_a": pairs.only_a(), "only_b": pairs.only_b(), "better": counts.better,
        "equal": counts.equal, "worse": counts.worse, "wilcoxon": test(Scale::Linear),
        "log": test(Scale::Log), "p": linear.map(|w| w.p), "effect": linear.map(|w| w.effect(sense)),
        "cliff": pairs.cliff(sense), "ratio": ratio.map(|r| r.ratio),
        "ratio_low": low(ratio.and_then(|r| r.interval)),
        "ratio_high": high(ratio.and_then(|r| r.interval)),
        "ratio_of_means": means.map(|m| json!({"value": m.value, "margin": m.margin})),
    })
}

fn table(case: &Value, sense: Sense, tolerance: f64) -> Result<Value> {
    let names: Vec<&str> =
        case["methods"].as_array().ok_or("methods")?.iter().filter_map(Value::as_str).collect();
    let rows: Vec<Vec<Option<f64>>> =
        case["table"].as_array().ok_or("table")?.iter().map(numbers).collect();
    let mut blocks = Blocks::new(names.len(), sense);
    rows.iter().for_each(|row| blocks.push(row));
    let mut pairs = Vec::new();
    for a in 0..names.len() {
        for b in a + 1..names.len() {
            let found = Pairs::new(rows.iter().map(|row| (row[a], row[b])));
            let mut found = pair(&found, sense, tolerance);
            found["a"] = names[a].into();
            found["b"] = names[b].into();
            pairs.push(found);
        }
    }
    let p: Vec<f64> = pairs.iter().filter_map(|pair| pair["p"].as_f64()).collect();
    let mut corrected = holm(&p).into_iter();
    for pair in &mut pairs {
        pair["p_holm"] = if pair["p"].is_null() { Value::Null } else { corrected.next().into() };
    }
    let mut methods = Map::new();
    for (at, (name, m)) in names.iter().zip(blocks.methods(tolerance)).enumerate() {
        let at_some = |taus: &Value| -> Option<Vec<(f64, f64)>> {
            let profile = m.profile.as_ref()?;
            let share = |tau: f64| {
                let reached = profile.iter().rev().find(|step| step.0 <= tau);
                (tau, reached.map_or(0.0, |step| step.1))
            };
            let taus = taus.as_array()?.iter().filter_map(|t| t[0].as_f64());
            Some(taus.map(share).collect())
        };
        let values: Vec<f64> = rows.iter().filter_map(|row| row[at]).collect();
        let found = json!({
            "n": m.n, "degradation": m.degradation, "degradation_not_best": m.degradation_not_best,
            "wins": m.wins, "wins_alone": m.wins_alone, "profile": m.profile,
            "profile_at": at_some(&case["expected"]["methods"][*name]["profile_at"]),
            "ecdf": ecdf(&values),
        });
        methods.insert(name.to_string(), found);
    }
    let ranks = blocks.ranks().map(|ranks| {
        let named = names.iter().zip(ranks).map(|(n, r)| (n.to_string(), json!(r)));
        Value::Object(named.collect())
    });
    let mut found = json!({
        "blocks": blocks.len(), "complete": blocks.complete(), "ranks": ranks, "pairs": pairs,
        "methods": methods, "friedman": null, "iman_davenport": null, "nemenyi": null,
    });
    if let Some(f) = blocks.friedman() {
        let df = names.len() - 1;
        let p: Vec<Value> = f
            .nemenyi
            .iter()
            .map(|&(a, b, p)| json!({"a": names[a], "b": names[b], "p": p}))
            .collect();
        found["friedman"] = json!({"chi2": f.chi2, "df": df, "p": f.p});
        found["iman_davenport"] =
            json!({"f": f.f, "df1": df, "df2": df * (f.blocks - 1), "p": f.f_p});
        let q = range_quantile(names.len(), 0.05);
        found["nemenyi"] = json!({"q": q, "cd": f.critical_difference, "p": p});
    }
    Ok(found)
}

/// Sense and tolerance that a case states.
fn terms(case: &Value) -> (Sense, f64) {
    let sense = if case["better"] == "higher" { Sense::Higher } else { Sense::Lower };
    (sense, case["tolerance"].as_f64().unwrap_or(0.0))
}

/// Removes from the expectation what is not computed here: variants of the tests for other libraries, and the tests
/// that are not made of two methods or one block.
fn computed(mut want: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(map) => {
                map.remove("also");
                map.remove("uncorrected");
                map.values_mut().for_each(clean);
            }
            Value::Array(list) => list.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut want);
    want
}

fn distributions(all: &Value, tally: &mut Tally) {
    for (name, cases) in all.as_object().into_iter().flatten() {
        for case in cases.as_array().into_iter().flatten() {
            let x = |name: &str| case[name].as_f64().unwrap_or(f64::NAN);
            let k = case["k"].as_u64().unwrap_or(0);
            let (got, want) = match name.as_str() {
                "student_quantile" => (student_quantile(x("df"), x("upper")), x("t")),
                "normal_sf" => (normal_tail(x("z")), x("p")),
                "chi2_sf" => (chi_square_tail(x("df"), x("x")), x("p")),
                "f_sf" => (f_tail(x("df1"), x("df2"), x("x")), x("p")),
                "studentized_range_sf" => (range_tail(k as usize, x("q")), x("p")),
                "studentized_range_quantile" => (range_quantile(k as usize, x("upper")), x("q")),
                "binomial_half_cdf" => (binomial_half(case["n"].as_u64().unwrap_or(0), k), x("p")),
                _ => (f64::NAN, 0.0),
            };
            tally.number(&format!("{name} {case}"), Some(got), Some(want), 0.0);
        }
    }
}

fn large(folder: &Path, tally: &mut Tally) -> Result<()> {
    let csv = Csv::parse(&std::fs::read_to_string(folder.join("large.csv"))?)?;
    let want: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("large.expected.json"))?)?;
    let column = |name: &str| -> Vec<Option<f64>> {
        let at = csv.head.iter().position(|head| head == name).unwrap_or(0);
        (0..csv.len()).map(|row| csv.columns[at].text(row).parse().ok()).collect()
    };
    for name in ["a", "b", "c", "d"] {
        let values: Vec<f64> = column(name).into_iter().flatten().collect();
        tally.check(name, &sample(&values), &want[name]);
    }
    for (name, a, b) in [("ab", "a", "b"), ("cd", "c", "d")] {
        let pairs = Pairs::new(column(a).into_iter().zip(column(b)));
        tally.check(name, &pair(&pairs, Sense::Lower, 0.0), &computed(want[name].clone()));
    }
    Ok(())
}

fn main() -> Result<ExitCode> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: statistics FOLDER");
        return Ok(ExitCode::from(2));
    };
    let folder = Path::new(&folder);
    let read = |name: &str| -> Result<Value> {
        Ok(serde_json::from_str(&std::fs::read_to_string(folder.join(name))?)?)
    };
    let mut agree = true;
    for file in ["distributions", "univariate", "pairs", "tables", "large"] {
        let mut tally = Tally::default();
        match file {
            "distributions" => distributions(&read("distributions.json")?, &mut tally),
            "large" => large(folder, &mut tally)?,
            _ => {
                let cases = read(&format!("{file}.json"))?;
                for case in cases.as_array().into_iter().flatten() {
                    let (sense, tolerance) = terms(case);
                    let got = match file {
                        "univariate" => {
                            let values: Vec<f64> =
                                numbers(&case["x"]).into_iter().flatten().collect();
                            sample(&values)
                        }
                        "pairs" => {
                            let both = numbers(&case["a"]).into_iter().zip(numbers(&case["b"]));
                            pair(&Pairs::new(both), sense, tolerance)
                        }
                        _ => table(case, sense, tolerance)?,
                    };
                    let name = case["name"].as_str().unwrap_or_default();
                    tally.check(name, &got, &computed(case["expected"].clone()));
                }
            }
        }
        println!(
            "{file:14} {:5} of {:5} agree",
            tally.compared - tally.differing.len(),
            tally.compared
        );
        tally.differing.iter().for_each(|text| println!("  {text}"));
        agree &= tally.differing.is_empty() && tally.compared > 0;
    }
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
