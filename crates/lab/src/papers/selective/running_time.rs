//! E2 and E3: how often plans are made again, and the time it takes (table 1 and figure 4).

use super::{ALWAYS, Base, Instance, Population, SLACK, SPARE, draw, ran};
use crate::papers::report::Findings;
use crate::papers::{Cell, Claim, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;
use std::time::Instant;

/// Error of estimates in both experiments.
const QUALITY: f64 = 0.2;

/// Table 1: reschedulings of slack and spare, running time as a share of `always`.
struct Published {
    base: &'static str,
    times: [f64; 2],
    shares: [f64; 2],
}

const TABLE_1: [Published; 4] = [
    Published { base: "FCP", times: [6.82, 7.83], shares: [66.87 / 345.77, 74.28 / 345.77] },
    Published { base: "DLS", times: [7.35, 7.95], shares: [122.18 / 699.33, 126.23 / 699.33] },
    Published { base: "LMT", times: [6.51, 8.41], shares: [77.93 / 528.23, 97.15 / 528.23] },
    Published { base: "HEFT", times: [7.51, 8.86], shares: [73.01 / 357.40, 86.20 / 357.40] },
];

/// Sizes of figure 4.
const SIZES: [usize; 5] = [10, 20, 30, 40, 50];

/// `always`, `slack`, `spare` of one instance: reschedulings and seconds.
#[derive(Clone, Copy)]
struct Cost {
    times: [f64; 3],
    seconds: [f64; 3],
}

const COLUMNS: [usize; 3] = [ALWAYS, SLACK, SPARE];

fn cost(instance: &Instance, base: &Base) -> Result<Cost, StudyError> {
    let mut cost = Cost { times: [0.0; 3], seconds: [0.0; 3] };
    for (column, way) in COLUMNS.into_iter().enumerate() {
        // Of a few runs the quickest was disturbed least.
        cost.seconds[column] = f64::INFINITY;
        for _ in 0..3 {
            let clock = Instant::now();
            cost.times[column] = ran(instance, base, way, QUALITY)?.reschedulings;
            cost.seconds[column] = cost.seconds[column].min(clock.elapsed().as_secs_f64());
        }
    }
    Ok(cost)
}

fn column(costs: &[Cost], of: impl Fn(&Cost) -> f64) -> Vec<f64> {
    costs.iter().map(of).collect()
}

pub(super) fn study(
    report: &mut Report,
    bases: &[Base],
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let graphs = report.graphs;
    let mut jobs = Vec::new();
    for base in bases {
        for size in SIZES {
            jobs.push((base, size));
        }
    }
    let seed = report.seed;
    // One job is one base and size, its runs in a row: they share the machine's mood.
    let costs = watch.over("E2, E3 running time", &jobs, |&(base, size)| {
        let population = Population { name: "sr/E3", tasks: (size, size), machines: (5, 5) };
        let instances = draw(population, seed, graphs)?;
        instances.iter().map(|i| cost(i, base)).collect::<Result<Vec<Cost>, StudyError>>()
    })?;
    let at = |base: usize, size: usize| &costs[base * SIZES.len() + size];
    let fifty: Vec<&[Cost]> = (0..bases.len()).map(|b| &at(b, SIZES.len() - 1)[..]).collect();
    report.findings.claims.extend([
        how_often(bases, &fifty),
        share_of_tasks(bases, &fifty),
        slack_is_cheaper(bases, &fifty),
        growth(bases, |b, s| at(b, s)),
    ]);
    let mut table = Table::new(
        "E2: reschedulings, 50 tasks, 5 machines, error 20 %",
        &["planner", "always", "slack", "published", "spare", "published"],
    );
    for (base, costs) in bases.iter().zip(&fifty) {
        let cell = |k: usize| Cell::mean(&column(costs, |c| c.times[k]), Unit::Number(2));
        let published = TABLE_1.iter().find(|p| p.base == base.label);
        let of_paper = |k: usize| -> Cell {
            published.map_or("".into(), |p| Cell::exact(p.times[k], Unit::Number(2)))
        };
        table.rows.push(vec![
            base.label.into(),
            cell(0),
            cell(1),
            of_paper(0),
            cell(2),
            of_paper(1),
        ]);
    }
    report.findings.tables.push(table);
    report.timed = Some(timed(bases, &fifty, |b, s| at(b, s)));
    Ok(())
}

fn how_often(bases: &[Base], fifty: &[&[Cost]]) -> Claim {
    let mut claim = Claim::new("E2.1", "How often plans are made again (table 1, #R)");
    for (base, costs) in bases.iter().zip(fifty) {
        let published = TABLE_1.iter().find(|p| p.base == base.label);
        for (k, (name, low, high)) in
            [("slack", 3.5, 9.0), ("spare", 6.0, 11.0)].into_iter().enumerate()
        {
            let ours = Estimate::mean(&column(costs, |c| c.times[k + 1]));
            claim.check(
                format!("{} {name}", base.label),
                &published.map_or(String::new(), |p| format!("{:.2}", p.times[k])),
                (ours, Unit::Number(2)),
                Rule::Between(low, high),
            );
        }
    }
    claim.remark(
        "The bands allow for the unknown generator. Slack adds up spare time along a path: the \
         fewer paths join, the more of it there is, and the fewer triggers.",
    )
}

fn share_of_tasks(bases: &[Base], fifty: &[&[Cost]]) -> Claim {
    let mut claim = Claim::new("E2.2", "Plans are made again before at most 20 % of the tasks");
    for (base, costs) in bases.iter().zip(fifty) {
        let published = TABLE_1.iter().find(|p| p.base == base.label);
        for (k, name) in ["slack", "spare"].into_iter().enumerate() {
            let ours = Estimate::mean(&column(costs, |c| c.times[k + 1] / 50.0));
            claim.check(
                format!("{} {name}", base.label),
                &published.map_or(String::new(), |p| Unit::Percent(1).show(p.times[k] / 50.0)),
                (ours, Unit::Percent(1)),
                Rule::AtMost(0.2),
            );
        }
    }
    claim
}

fn slack_is_cheaper(bases: &[Base], fifty: &[&[Cost]]) -> Claim {
    let mut claim = Claim::new("E2.3", "`slack` plans again less often than `spare`");
    for (base, costs) in bases.iter().zip(fifty) {
        let published = TABLE_1.iter().find(|p| p.base == base.label);
        let fewer = Estimate::mean(&column(costs, |c| c.times[2] - c.times[1]));
        claim.check(
            format!("{}: spare less slack", base.label),
            &published.map_or(String::new(), |p| format!("{:.2}", p.times[1] - p.times[0])),
            (fewer, Unit::Number(2)),
            Rule::AtLeast(0.0),
        );
    }
    claim
}

fn growth<'a>(bases: &[Base], at: impl Fn(usize, usize) -> &'a Vec<Cost>) -> Claim {
    let mut claim = Claim::new(
        "E3.1",
        "The cost of `always` grows faster with the number of tasks than that of either variant",
    );
    let last = SIZES.len() - 1;
    for (b, base) in bases.iter().enumerate() {
        let grown = |k: usize| {
            let ends = [0, last].map(|s| Estimate::mean(&column(at(b, s), |c| c.times[k])).value);
            ends[1] - ends[0]
        };
        for (k, name) in [(1, "slack"), (2, "spare")] {
            claim.check(
                format!("{} {name}", base.label),
                "slower",
                (Estimate::exact(grown(k) / grown(0)), Unit::Percent(0)),
                Rule::AtMost(1.0),
            );
        }
    }
    claim.remark(
        "Growth from 10 to 50 tasks to that of `always`, in calls of the planner, which no machine changes.",
    )
}

/// Findings that depend on measured times.
fn timed<'a>(
    bases: &[Base],
    fifty: &[&[Cost]],
    at: impl Fn(usize, usize) -> &'a Vec<Cost>,
) -> Findings {
    let ratio = |costs: &[Cost], k: usize| {
        Estimate::ratio(&column(costs, |c| c.seconds[k]), &column(costs, |c| c.seconds[0]))
    };
    let mut quarter =
        Claim::new("E2.4", "Both variants need at most 25 % of the running time of `always`");
    let mut table = Table::new(
        "Running time to that of `always`, 50 tasks, 5 machines, error 20 %",
        &["planner", "slack", "published", "spare", "published", "always, ms"],
    );
    for (base, costs) in bases.iter().zip(fifty) {
        let published = TABLE_1.iter().find(|p| p.base == base.label);
        let mut row: Vec<Cell> = vec![base.label.into()];
        for (k, name) in ["slack", "spare"].into_iter().enumerate() {
            let ours = ratio(costs, k + 1);
            let of_paper = published.map_or(String::new(), |p| Unit::Percent(1).show(p.shares[k]));
            quarter.check(
                format!("{} {name}", base.label),
                &of_paper,
                (ours, Unit::Percent(1)),
                Rule::AtMost(0.25),
            );
            row.extend([Cell::Figure(ours, Unit::Percent(1)), of_paper.into()]);
        }
        let whole = Estimate::mean(&column(costs, |c| c.seconds[0] * 1e3)).value;
        row.push(Cell::exact(whole, Unit::Number(3)));
        table.rows.push(row);
    }
    let quarter = quarter.remark(
        "Whole runs are timed, bookkeeping of the sweep included, which both variants pay as much as \
         `always`.",
    );
    let mut order = Claim::new("E2.5", "Under `always` FCP is cheapest, then HEFT, LMT, DLS");
    let names = ["FCP", "HEFT", "LMT", "DLS"];
    for pair in names.windows(2) {
        let of = |name: &str| bases.iter().position(|b| b.label == name);
        let (Some(cheap), Some(dear)) = (of(pair[0]), of(pair[1])) else { continue };
        let seconds = |b: usize| column(fifty[b], |c| c.seconds[0]);
        order.check(
            format!("{} to {}", pair[0], pair[1]),
            "less",
            (Estimate::ratio(&seconds(cheap), &seconds(dear)), Unit::Times(2)),
            Rule::AtMost(1.0),
        );
    }
    let order = order.unless_it_holds(
        "The order is one of implementations. Ours share the steps that cost most: ranks, data-ready \
         times, making the problem of the rest.",
    );
    let mut faster =
        Claim::new("E3.2", "The running time of `always` grows faster than that of either variant");
    let mut sizes = Table::new(
        "E3: running time in ms against the number of tasks, 5 machines, error 20 %",
        &["planner", "tasks", "always", "slack", "spare"],
    );
    let last = SIZES.len() - 1;
    for (b, base) in bases.iter().enumerate() {
        let mean = |s: usize, k: usize| Estimate::mean(&column(at(b, s), |c| c.seconds[k] * 1e3));
        for (k, name) in [(1, "slack"), (2, "spare")] {
            let grown = |k: usize| mean(last, k).value - mean(0, k).value;
            faster.check(
                format!("{} {name}", base.label),
                "slower",
                (Estimate::exact(grown(k) / grown(0)), Unit::Percent(0)),
                Rule::AtMost(1.0),
            );
        }
        for (s, size) in SIZES.into_iter().enumerate() {
            let cells = (0..3).map(|k| Cell::Figure(mean(s, k), Unit::Number(3)));
            let mut row: Vec<Cell> = vec![base.label.into(), size.to_string().into()];
            row.extend(cells);
            sizes.rows.push(row);
        }
    }
    let faster = faster.remark("Growth from 10 to 50 tasks to that of `always`.");
    Findings { claims: vec![quarter, order, faster], tables: vec![table, sizes] }
}
