//! Comparisons of small tables.
#![allow(clippy::unwrap_used)]

use super::*;

fn table(rows: &[&str]) -> Csv {
    Csv::parse(&rows.join("\n")).expect("a table")
}

fn by(csv: &Csv, metric: &str, by: &[&str]) -> Comparison {
    let by = by.iter().map(|name| name.to_string()).collect();
    compare(csv, &Options { by, ..Options::by_metric(metric) }).expect("a comparison")
}

#[test]
fn rows_in_any_order_give_the_same_document() {
    let rows = [
        "0.10,1,b,3.5,done",
        "0.1,1,a,2.5,done",
        "5,1,a,,failed",
        "5,1,b,7,done",
        "0.1,2,a,4,done",
        "0.1,2,b,4,ok",
    ];
    let head = "ccr,repetition,method,makespan,status";
    let text = |order: [usize; 6]| {
        let mut lines = vec![head];
        lines.extend(order.map(|i| rows[i]));
        serde_json::to_string(&by(&table(&lines), "makespan", &["ccr"])).expect("a document")
    };
    let document = text([0, 1, 2, 3, 4, 5]);
    assert_eq!(document, text([5, 3, 1, 0, 2, 4]));
    assert!(document.contains(r#""factors":{"ccr":0.1},"method":"a","n":2"#), "{document}");
    assert!(document.contains(r#""runs":6,"done":5,"failed":1"#), "{document}");
}

/// Names of methods and the unit of the metric change no test, effect or rank.
#[test]
fn names_and_units_decide_nothing() {
    let document = |names: [&str; 3], unit: f64| {
        let mut lines = vec!["repetition,method,makespan".to_string()];
        for block in 0..9_u32 {
            for (at, name) in names.iter().enumerate() {
                let value =
                    f64::from((block * 7 + at as u32 * 5) % 11 + 1) + f64::from(block) * 0.3;
                lines.push(format!("{block},{name},{}", value * unit));
            }
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        by(&table(&lines), "makespan", &[])
    };
    let plain = document(["u", "v", "w"], 1.0);
    for (names, unit) in [(["z", "y", "x"], 1.0), (["v", "w", "u"], 1.0), (["u", "v", "w"], 1024.0)]
    {
        let other = document(names, unit);
        for pair in &plain.pairs {
            let named =
                |method: &str| names[["u", "v", "w"].iter().position(|m| *m == method).unwrap()];
            let (a, b) = (named(&pair.a), named(&pair.b));
            let found =
                other.pairs.iter().find(|p| (p.a == a && p.b == b) || (p.a == b && p.b == a));
            let found = found.expect("the same pair");
            let sign = if found.a == a { 1.0 } else { -1.0 };
            assert_eq!((pair.p, pair.p_holm), (found.p, found.p_holm));
            assert_eq!(pair.effect, found.effect.map(|effect| sign * effect));
            let row = |c: &Comparison, method: &str| {
                c.groups.iter().find(|g| g.method == method).and_then(|g| g.rank)
            };
            assert_eq!(row(&plain, &pair.a), row(&other, a));
        }
        assert_eq!(plain.tests[0].friedman_p, other.tests[0].friedman_p);
    }
}

#[test]
fn units_are_averaged_before_anything_is_inferred() {
    let csv = table(&[
        "workflow,repetition,method,makespan",
        "x,1,a,1",
        "x,1,b,2",
        "x,2,a,3",
        "x,2,b,4",
        "y,1,a,5",
        "y,1,b,5",
    ]);
    let options = Options { unit: vec!["workflow".into()], ..Options::by_metric("makespan") };
    let document = compare(&csv, &options).expect("a comparison");
    assert_eq!((document.groups[0].n, document.groups[0].mean), (2, Some(3.5)));
    assert_eq!(document.pairs[0].n, 2);
}

#[test]
fn a_verdict_follows_from_the_interval() {
    let old = table(&["week,method,cost", "1,m,10", "2,m,20", "3,m,30"]);
    let by = |share: f64| {
        let rows = (1..=3).map(|i| format!("{i},m,{}", f64::from(i) * 10.0 * share));
        let lines: Vec<String> = std::iter::once("week,method,cost".into()).chain(rows).collect();
        Csv::parse(&lines.join("\n")).expect("a table")
    };
    let family = |tolerance, gain| Family {
        metrics: vec!["cost".into()],
        limits: HashMap::from([("cost".to_string(), Limits { tolerance, gain })]),
        ..Family::default()
    };
    for (share, tolerance, gain, verdict) in [
        (1.0, 0.0, 0.0, Verdict::Held),
        (1.02, 0.02, 0.0, Verdict::Held),
        (1.03, 0.02, 0.0, Verdict::Loss),
        (0.97, 0.02, 0.0, Verdict::Gain),
        (0.97, 0.0, 0.05, Verdict::Held),
    ] {
        let found = no_regression(&old, &by(share), &family(tolerance, gain)).expect("pairs");
        assert_eq!(found.metrics[0].verdict, verdict, "{share}");
    }
    // One pair decides nothing.
    let one = table(&["week,method,cost", "1,m,12"]);
    let found = no_regression(&old, &one, &family(0.0, 0.0)).expect("a pair");
    assert_eq!((found.verdict, found.only_old), (Verdict::Open, 2));
}

use std::collections::HashMap;

#[test]
fn what_is_refused_and_why() {
    let cases: [(&[&str], &str); 6] = [
        (&["method,n,makespan", "a,1,2", "a,1,3"], "lines 2 and 3 are the same run"),
        (&["who,n,makespan", "a,1,2"], "no column names the methods"),
        (&["method,n,makespan"], "no runs"),
        (&["method,n,makespan", "a,1,2 s"], "makespan: \"2 s\" is not a number"),
        (&["method,joules,makespan", "a,1.5,2", "b,2.5,2"], "differ in joules"),
        (&["method,n,makespam", "a,1,2"], "did you mean 'makespam'"),
    ];
    for (rows, says) in cases {
        let error = compare(&table(rows), &Options::by_metric("makespan")).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    }
}

/// Two factors of two levels with two draws: squares by hand. Values are 10 (a) + 4 (b) + 1 (both) + draws of ± 0.5.
#[test]
fn variation_is_allocated_to_factors() {
    let mut lines = vec!["x,repetition,method,makespan".to_string()];
    for (x, method, value) in [(0, "a", 0.0), (0, "b", 4.0), (1, "a", 10.0), (1, "b", 18.0)] {
        for (draw, more) in [(1, 0.5), (2, -0.5)] {
            lines.push(format!("{x},{draw},{method},{}", 100.0 + value + more));
        }
    }
    let rows: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = by(&table(&rows), "makespan", &[]).allocation;
    // Effects ± 6 (x), ± 3 (method), ± 1 (both), ± 0.5 (draws): squares 288, 72, 8, 2.
    let shares: Vec<(String, f64)> = found
        .iter()
        .map(|v| (v.factors.join(" "), (v.share * 370.0 * 1e9).round() / 1e9))
        .collect();
    let wanted = [("x", 288.0), ("method", 72.0), ("x method", 8.0), ("", 2.0)];
    assert_eq!(shares, wanted.map(|(name, share)| (name.to_string(), share)));
    // A run less: not balanced.
    assert!(by(&table(&rows[..8]), "makespan", &[]).allocation.is_empty());
}
