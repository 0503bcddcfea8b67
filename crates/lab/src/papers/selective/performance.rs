//! E1: makespan against the error of estimates (figure 3 of the paper).

use super::{
    ALWAYS, Base, IDEAL, InstanceResult, Population, SLACK, SPARE, STATIC, WAYS, all_ways, draw,
};
use crate::papers::{Cell, Claim, Report, Rule, StudyError, Table, Unit, Watch};
use slackline_analysis::statistics::Estimate;

pub(super) const POPULATION: Population =
    Population { name: "sr/E1", tasks: (50, 100), machines: (3, 8) };

/// Largest relative errors of estimates.
pub(super) const QUALITIES: [f64; 5] = [0.1, 0.2, 0.3, 0.4, 0.5];

/// "Roughly equal" and "no lower than", as a share of the makespan.
const TOLERANCE: f64 = 0.03;

/// Results by quality, base, graph.
struct Runs<'a> {
    bases: &'a [Base],
    results: Vec<Vec<Vec<[InstanceResult; 5]>>>,
}

impl Runs<'_> {
    fn makespans(&self, quality: usize, base: usize, way: usize) -> Vec<f64> {
        self.results[quality][base].iter().map(|r| r[way].makespan).collect()
    }

    fn mean(&self, quality: usize, base: usize, way: usize) -> f64 {
        Estimate::mean(&self.makespans(quality, base, way)).value
    }

    /// static - ideal of each graph, as a share of the mean ideal.
    fn gaps(&self, quality: usize, base: usize) -> Vec<f64> {
        let ideal = self.mean(quality, base, IDEAL);
        self.results[quality][base]
            .iter()
            .map(|r| (r[STATIC].makespan - r[IDEAL].makespan) / ideal)
            .collect()
    }

    fn of(&self, base: usize) -> &'static str {
        self.bases[base].label
    }
}

pub(super) fn study(
    report: &mut Report,
    bases: &[Base],
    watch: &Watch<'_>,
) -> Result<(), StudyError> {
    let instances = draw(POPULATION, report.seed, report.graphs)?;
    let mut jobs = Vec::new();
    for &quality in &QUALITIES {
        for base in bases {
            jobs.extend(instances.iter().map(|instance| (quality, base, instance)));
        }
    }
    let flat =
        watch.over("E1 makespan", &jobs, |(q, base, instance)| all_ways(instance, base, *q))?;
    let per_base: Vec<Vec<[InstanceResult; 5]>> =
        flat.chunks(instances.len().max(1)).map(<[_]>::to_vec).collect();
    let results = per_base.chunks(bases.len()).map(<[_]>::to_vec).collect();
    let runs = Runs { bases, results };
    let sizes: Vec<f64> = instances.iter().map(|i| i.tasks() as f64).collect();
    report.findings.claims.extend([gap(&runs), alike(&runs), above_ideal(&runs), base(&runs)]);
    report.findings.tables.push(table(&runs, &sizes));
    Ok(())
}

fn gap(runs: &Runs<'_>) -> Claim {
    let mut claim = Claim::new(
        "E1.1",
        "The gap between `static` and `ideal` grows with the error of estimates",
    );
    let last = QUALITIES.len() - 1;
    for base in 0..runs.bases.len() {
        let (first, end) = (runs.gaps(0, base), runs.gaps(last, base));
        let growth: Vec<f64> = end.iter().zip(&first).map(|(b, a)| b - a).collect();
        claim.check(
            format!("{}: gap at 50 % less gap at 10 %", runs.of(base)),
            "grows",
            (Estimate::mean(&growth), Unit::Percent(1)),
            Rule::AtLeast(0.0),
        );
        let mean = |q| Estimate::mean(&runs.gaps(q, base)).value;
        let least = (0..last).map(|q| mean(q + 1) - mean(q)).fold(f64::INFINITY, f64::min);
        claim.check(
            format!("{}: least step of the gap", runs.of(base)),
            "grows",
            (Estimate::exact(least), Unit::Percent(1)),
            Rule::AtLeast(0.0),
        );
    }
    claim.remark("Gaps as a share of the mean `ideal`.")
}

fn alike(runs: &Runs<'_>) -> Claim {
    let mut claim = Claim::new("E1.2", "`always`, `slack` and `spare` are roughly equal");
    for base in 0..runs.bases.len() {
        let spread = |q| {
            let means = [ALWAYS, SLACK, SPARE].map(|way| runs.mean(q, base, way));
            let least = means.into_iter().fold(f64::INFINITY, f64::min);
            means.into_iter().fold(0.0, f64::max) / least - 1.0
        };
        let most = (0..QUALITIES.len()).map(spread).fold(0.0, f64::max);
        claim.check(
            format!("{}: widest spread", runs.of(base)),
            "roughly equal",
            (Estimate::exact(most), Unit::Percent(1)),
            Rule::AtMost(TOLERANCE),
        );
    }
    claim.remark("The widest spread of the three mean makespans over all errors.")
}

fn above_ideal(runs: &Runs<'_>) -> Claim {
    let mut claim = Claim::new("E1.3", "All ways of rescheduling stay above `ideal`");
    for base in 0..runs.bases.len() {
        for (q, quality) in [(0, "10 %"), (QUALITIES.len() - 1, "50 %")] {
            let excess = |way: usize| {
                Estimate::excess(&runs.makespans(q, base, way), &runs.makespans(q, base, IDEAL))
            };
            let all = [ALWAYS, SLACK, SPARE].map(excess);
            let least = all.into_iter().reduce(|a, b| if b.value < a.value { b } else { a });
            claim.check(
                format!("{} at {quality}: least excess", runs.of(base)),
                "above",
                (least.unwrap_or(Estimate::exact(f64::NAN)), Unit::Percent(1)),
                Rule::AtLeast(0.0),
            );
        }
    }
    claim.unless_it_holds(
        "`ideal` is one run of a heuristic. At small errors the difference is within the noise. Where \
         decisions depend on which tasks are still open (FCP's queue, the groups of merging LMT), \
         planning again is a second try and may beat the plan that knew everything.",
    )
}

fn base(runs: &Runs<'_>) -> Claim {
    let mut claim = Claim::new(
        "E1.4",
        "Even at high error the planner matters more than the moment of the next plan",
    );
    let published: Vec<usize> =
        (0..runs.bases.len()).filter(|&b| runs.bases[b].published).collect();
    let spread = |values: Vec<f64>| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        values.into_iter().fold(0.0, f64::max) / least - 1.0
    };
    for (q, quality) in QUALITIES.iter().enumerate().skip(2) {
        let between_bases = [ALWAYS, SLACK, SPARE]
            .map(|w| spread(published.iter().map(|&b| runs.mean(q, b, w)).collect()));
        let between_ways = published
            .iter()
            .map(|&b| spread([ALWAYS, SLACK, SPARE].map(|w| runs.mean(q, b, w)).to_vec()));
        let least = between_bases.into_iter().fold(f64::INFINITY, f64::min);
        let most = between_ways.fold(0.0, f64::max);
        claim.check(
            format!("{:.0} %: spread of planners to policies", quality * 100.0),
            "more",
            (Estimate::exact(least / most), Unit::Times(1)),
            Rule::AtLeast(1.0),
        );
    }
    claim.remark(
        "The least spread of the paper's four planners under one policy over the widest spread of the three \
         policies under one planner.",
    )
}

fn table(runs: &Runs<'_>, sizes: &[f64]) -> Table {
    let mut columns = vec!["error", "planner"];
    columns.extend(WAYS);
    columns.extend(["#R slack", "#R spare"]);
    let mut table = Table::new(
        "E1: mean makespan against the error of estimates; #R: tasks before which was re-planned",
        &columns,
    );
    for (q, quality) in QUALITIES.iter().enumerate() {
        for base in 0..runs.bases.len() {
            let mut row: Vec<Cell> =
                vec![Unit::Percent(0).show(*quality).into(), runs.of(base).into()];
            row.extend(
                (0..WAYS.len()).map(|w| Cell::exact(runs.mean(q, base, w), Unit::Number(1))),
            );
            for way in [SLACK, SPARE] {
                let shares: Vec<f64> = runs.results[q][base]
                    .iter()
                    .zip(sizes)
                    .map(|(r, n)| r[way].reschedulings / n)
                    .collect();
                row.push(Cell::exact(Estimate::mean(&shares).value, Unit::Percent(1)));
            }
            table.rows.push(row);
        }
    }
    table
}
