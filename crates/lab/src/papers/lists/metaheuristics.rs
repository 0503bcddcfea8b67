//! Chapter 2: list scheduling against simulated annealing, tabu search and an ant colony.

use super::{Instance, Planned, Series, any, sample};
use crate::papers::{
    Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch,
};
use slackline_analysis::statistics::Estimate;
use slackline_model::approx;

/// Registry entry.
pub(in super::super) const PAPER: Paper = Paper {
    name: "metaheuristics",
    title: "List scheduling against metaheuristics",
    source: "Arabnejad and Barbosa, Euro-Par 2011 workshops; Arabnejad, thesis, chapter 2, 2016",
    about: "how much searches gain over HEFT: simulated annealing, tabu search, ant colonies",
    run,
    cells: |options| {
        let series = series(options)?;
        Ok(series.into_iter().flat_map(Series::cells).collect())
    },
    unlisted: "",
};

const METHODS: [&str; 5] = ["heft", "cpop", "sa", "tabu", "aco"];
const HEFT: usize = 0;
const CPOP: usize = 1;
const SEARCHES: [(usize, &str); 3] = [(2, "SA"), (3, "TS"), (4, "ACS")];
const TASKS: [usize; 4] = [10, 20, 30, 40];
const CCR: [f64; 4] = [0.1, 0.5, 0.8, 1.0];

/// Table 3, per cent: by CCR from 0.5, then tasks: SA, TS, ACS.
const TABLE_3: [[[f64; 3]; 4]; 3] = [
    [[7.03, 5.70, 5.74], [7.09, 5.66, 4.04], [7.97, 6.50, 2.84], [7.93, 6.74, 2.88]],
    [[9.96, 6.91, 8.27], [10.0, 6.80, 6.45], [9.93, 6.49, 4.09], [9.48, 6.61, 1.87]],
    [[10.0, 6.23, 7.74], [10.2, 5.65, 6.14], [9.45, 5.85, 2.98], [10.9, 6.98, 2.51]],
];

fn graphs(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 8,
        Size::Standard => 120,
        Size::Full => 1440,
    })
}

/// The graphs of each size.
fn series(options: &Options) -> Result<Vec<Series>, StudyError> {
    let of_size = |(at, tasks): (usize, &usize)| {
        Ok(Series {
            stage: format!("{tasks} tasks"),
            instances: sample(PAPER.name, options.seed, (at as u64, 4), graphs(options))?,
            methods: METHODS.to_vec(),
        })
    };
    TASKS.iter().enumerate().map(of_size).collect()
}

fn with_ccr(ccr: f64) -> impl Fn(&Instance) -> bool + Copy {
    move |instance| instance.ccr == ccr
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let mut report = Report::new(&PAPER, options, graphs(options));
    report.choices = CHOICES.map(String::from).to_vec();
    let planned: Vec<Planned> =
        series(options)?.into_iter().map(|s| s.plan(watch)).collect::<Result<_, _>>()?;
    report.findings.claims = vec![
        table_3(&planned),
        annealing(&planned),
        cpop(&planned),
        close(&planned),
        little(&planned),
        degrades(&planned),
    ];
    report.findings.tables = vec![gains(&planned)];
    Ok(report)
}

fn table_3(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("Table 3", "SLR of searches over HEFT, by tasks and CCR");
    for (ccr, published) in CCR[1..].iter().zip(TABLE_3) {
        for ((of_size, tasks), published) in planned.iter().zip(TASKS).zip(published) {
            for ((method, name), published) in SEARCHES.into_iter().zip(published) {
                let ours = of_size.gain(method, HEFT, with_ccr(*ccr));
                let published = published / 100.0;
                claim.check(
                    format!("{name}, {tasks} tasks, CCR {ccr}"),
                    &Unit::Percent(1).show(published),
                    (ours, Unit::Percent(1)),
                    Rule::Between(published / 2.0, published * 2.0),
                );
            }
        }
    }
    claim.remark("Met between half and twice the published gain; the source states neither beta nor regularity.")
}

fn annealing(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("SA", "Simulated annealing is the best of the three searches");
    for (of_size, tasks) in planned.iter().zip(TASKS) {
        for (method, name) in SEARCHES.into_iter().skip(1) {
            let ours = of_size.gain(SEARCHES[0].0, method, any);
            let what = format!("SA over {name}, {tasks} tasks");
            claim.check(what, "", (ours, Unit::Percent(1)), Rule::AtLeast(0.0));
        }
    }
    claim
}

fn cpop(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("HEFT", "HEFT is always better than CPOP");
    for (of_size, tasks) in planned.iter().zip(TASKS) {
        let ours = of_size.gain(HEFT, CPOP, any);
        claim.check(
            format!("mean SLR, {tasks} tasks"),
            "",
            (ours, Unit::Percent(1)),
            Rule::Above(0.0),
        );
    }
    let rows = planned.iter().flat_map(|p| &p.figures);
    let no_worse: Vec<bool> =
        rows.map(|row| approx::le(row[HEFT].makespan, row[CPOP].makespan)).collect();
    let share = (Estimate::share(&no_worse), Unit::Percent(0));
    claim.check("share of graphs, equal or shorter", "always", share, Rule::AtLeast(0.5));
    claim
}

/// Means over sizes that count alike.
fn over_sizes(planned: &[Planned], method: usize, ccr: f64) -> Estimate {
    let slr = |m: usize| -> Vec<Vec<f64>> {
        planned.iter().map(|p| p.column(m, |f| f.slr, with_ccr(ccr))).collect()
    };
    let (above, below) = (slr(method), slr(HEFT));
    let above: Vec<&[f64]> = above.iter().map(Vec::as_slice).collect();
    let below: Vec<&[f64]> = below.iter().map(Vec::as_slice).collect();
    let ratio = Estimate::stratified_ratio(&above, &below);
    Estimate { value: 1.0 - ratio.value, ..ratio }
}

fn close(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("CCR 0.1", "At a CCR of 0.1 HEFT is close to the searches");
    for (method, name) in SEARCHES {
        let ours = (over_sizes(planned, method, 0.1), Unit::Percent(1));
        claim.check(format!("{name} over HEFT"), "close", ours, Rule::AtMost(0.05));
    }
    claim
}

fn little(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("room", "Up to a CCR of 1 the gap stays below 11 %");
    for ccr in CCR {
        let ours = (over_sizes(planned, SEARCHES[0].0, ccr), Unit::Percent(1));
        claim.check(format!("SA over HEFT, CCR {ccr}"), "below 11 %", ours, Rule::Below(0.11));
    }
    claim
}

fn degrades(planned: &[Planned]) -> Claim {
    let mut claim = Claim::new("ACS", "The ant colony gains less the more tasks there are");
    for pair in planned.windows(2).zip(TASKS.windows(2)) {
        let ([small, large], [fewer, more]) = pair else { continue };
        let method = SEARCHES[2].0;
        let (a, b) = (small.gain(method, HEFT, any), large.gain(method, HEFT, any));
        let margin = a.margin.zip(b.margin).map(|(x, y)| x.hypot(y));
        let less = Estimate { value: a.value - b.value, margin, ..a };
        let what = format!("gain at {fewer} tasks less that at {more}");
        claim.check(what, "", (less, Unit::Percent(1)), Rule::AtLeast(0.0));
    }
    claim
}

fn gains(planned: &[Planned]) -> Table {
    let columns = ["tasks", "CCR", "HEFT, SLR", "SA", "TS", "ACS", "CPOP"];
    let mut table = Table::new("SLR below that of HEFT", &columns);
    for (of_size, tasks) in planned.iter().zip(TASKS) {
        for ccr in CCR {
            let slr = of_size.column(HEFT, |f| f.slr, with_ccr(ccr));
            let mut row = vec![
                tasks.to_string().into(),
                ccr.to_string().into(),
                Cell::mean(&slr, Unit::Number(2)),
            ];
            for method in [2, 3, 4, CPOP] {
                let gain = of_size.gain(method, HEFT, with_ccr(ccr));
                row.push(Cell::Figure(gain, Unit::Percent(1)));
            }
            table.rows.push(row);
        }
    }
    table
}

const CHOICES: [&str; 4] = [
    "Graphs: drawn evenly from the published population (10 to 40 tasks, 4 to 32 processors, CCR 0.1 to 1; jump, \
     width, density as published), so many per number of tasks.",
    "beta is 0.5 and regularity daggen's own: the source states neither.",
    "Searches begin with HEFT's plan and have their own limits on iterations; the source's are not known.",
    "Gains are 1 - mean SLR over mean SLR of HEFT on the same graphs.",
];
