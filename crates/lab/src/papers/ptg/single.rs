//! Claims about single graphs, on one cluster and on several. Ids such as H1 are ours, for statements of the habilitation;
//! ids such as NS07 name a paper by authors and year. `slackline algorithms` describes the methods.

use super::{
    CHTI, Cell, Claim, Estimate, Figures, Findings, GRELON, GRILLON, Rule, Series, StudyError,
    Table, Unit, Watch, cluster, clusters, column, relative,
};
use slackline_model::{Workflow, approx};
use std::sync::Arc;

/// Methods for one cluster; ratios are to the first. Claims address them by position.
const ONE: [&str; 7] =
    ["cpa", "cpa-geo", "mcpa", "bicpa-m", "bicpa-w", "rats-delta", "rats-time-cost"];
/// Methods for several clusters; ratios are to the first. Claims address them by position.
const SEVERAL: [&str; 7] =
    ["mheft", "hcpa", "mheft-imp", "mheft-eff", "mheft-max", "delta-cts", "bihcpa"];

fn makespan(figures: &Figures) -> f64 {
    figures.makespan
}

fn work(figures: &Figures) -> f64 {
    figures.work
}

/// All series of plans of this file.
pub(super) struct Parts {
    small: Series,
    large: Series,
    many: Series,
    regular: Series,
    shares: [Series; 2],
    one_step: Series,
    alike: Series,
}

/// Shares `beta` of the cluster that SCRAP may use.
const BETAS: [(&str, &[(&str, &str)]); 3] =
    [("0.2", &[("beta", "0.2")]), ("0.5", &[("beta", "0.5")]), ("0.8", &[("beta", "0.8")])];

impl Parts {
    pub(super) fn new(
        graphs: &[Arc<Workflow>],
        regular: &[Arc<Workflow>],
    ) -> Result<Parts, StudyError> {
        let chti = cluster(CHTI)?;
        let grid = clusters(&[CHTI, GRILLON, GRELON])?;
        let few: Vec<Arc<Workflow>> = graphs.iter().filter(|g| g.len() <= 20).cloned().collect();
        let grillon = cluster(GRILLON)?;
        let shares = ["scrap", "scrap-max"].map(|name| Series {
            methods: BETAS.iter().map(|(_, set)| (name, *set)).collect(),
            ..Series::new(name, graphs, grillon.clone(), &[])
        });
        let alike = clusters(&[(CHTI.0, 1.0), (GRILLON.0, 1.0)])?;
        Ok(Parts {
            small: Series::new("one graph, 20 processors", graphs, chti.clone(), &ONE),
            large: Series::new("one graph, 120 processors", graphs, cluster(GRELON)?, &ONE),
            many: Series::new("one graph, three clusters", graphs, grid, &SEVERAL),
            regular: Series::new("regular graphs", regular, chti.clone(), &["cpa", "mcpa"]),
            shares,
            one_step: Series::new("one step", &few, chti, &["bicpa-m", "icaslb"]),
            alike: Series::new("one speed, two clusters", graphs, alike, &["hcpa", "mcgas"]),
        })
    }

    pub(super) fn list(self) -> Vec<Series> {
        let Parts { small, large, many, regular, shares: [scrap, max], one_step, alike } = self;
        vec![small, large, many, regular, scrap, max, one_step, alike]
    }
}

pub(super) fn findings(
    graphs: &[Arc<Workflow>],
    regular: &[Arc<Workflow>],
    watch: &Watch<'_>,
) -> Result<Findings, StudyError> {
    let parts = Parts::new(graphs, regular)?;
    let small = parts.small.plans(watch)?;
    let large = parts.large.plans(watch)?;
    let many = parts.many.plans(watch)?;
    let claims = vec![
        geometric(graphs, &small, &large),
        levels(&parts.regular.plans(watch)?),
        two_criteria(&small, &large),
        reuse(&small),
        frugal(&many),
        bounded(&many),
        delta(&many),
        shares(&parts.shares, watch)?,
        one_step(&parts.one_step.plans(watch)?),
        guaranteed(&parts.alike.plans(watch)?),
    ];
    let tables = vec![
        table("One graph on 20 processors, over CPA", &ONE, &small),
        table("One graph on 120 processors, over CPA", &ONE, &large),
        table("One graph on three clusters, over MHEFT", &SEVERAL, &many),
    ];
    Ok(Findings { claims, tables })
}

/// Every method relative to the first: makespan, work and peak of processors; mean efficiency; numbers of plans shorter
/// than, equal to and longer than those of the first; share of graphs on which it is the best, and mean excess over the
/// best, over all graphs and over those on which it is not the best.
fn table(title: &str, methods: &[&str], plans: &[Vec<Figures>]) -> Table {
    let columns = [
        "method",
        "makespan",
        "work",
        "peak",
        "efficiency",
        "shorter, equal, longer",
        "best in",
        "from best",
        "when not best",
    ];
    let mut table = Table::new(title, &columns);
    let best: Vec<f64> =
        plans.iter().map(|row| row.iter().map(makespan).fold(f64::INFINITY, f64::min)).collect();
    for (m, name) in methods.iter().enumerate() {
        let over = |figure: fn(&Figures) -> f64| {
            Cell::Figure(
                relative(&column(plans, m, figure), &column(plans, 0, figure)),
                Unit::Percent(1),
            )
        };
        let away: Vec<f64> =
            column(plans, m, makespan).iter().zip(&best).map(|(c, b)| c / b - 1.0).collect();
        let lost: Vec<f64> = away.iter().copied().filter(|&a| a > approx::EPSILON).collect();
        let won = 1.0 - lost.len() as f64 / away.len() as f64;
        let when_lost = if lost.is_empty() {
            Cell::Text("-".into())
        } else {
            Cell::mean(&lost, Unit::Percent(1))
        };
        let mut counts = [0usize; 3];
        for (own, first) in column(plans, m, makespan).into_iter().zip(column(plans, 0, makespan)) {
            let outcome = if approx::lt(own, first) {
                0
            } else if approx::gt(own, first) {
                2
            } else {
                1
            };
            counts[outcome] += 1;
        }
        table.rows.push(vec![
            Cell::Text(name.to_string()),
            over(makespan),
            over(work),
            over(|f| f.peak),
            Cell::mean(&column(plans, m, |f| f.efficiency), Unit::Percent(0)),
            Cell::Text(counts.map(|n| n.to_string()).join(", ")),
            Cell::exact(won, Unit::Percent(0)),
            Cell::mean(&away, Unit::Percent(1)),
            when_lost,
        ]);
    }
    table
}

fn geometric(graphs: &[Arc<Workflow>], small: &[Vec<Figures>], large: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new(
        "H1",
        "With more processors than tasks the geometric area and biCPA beat CPA; with fewer the area changes nothing",
    );
    for (m, name) in [(1, "geometric"), (3, "biCPA-M"), (4, "biCPA-W")] {
        for (what, figure) in [("makespan", makespan as fn(&Figures) -> f64), ("work", work)] {
            let ours = relative(&column(large, m, figure), &column(large, 0, figure));
            let what = format!("120 processors, {name} to CPA, {what}");
            claim.check(what, "", (ours, Unit::Percent(1)), Rule::Below(0.0));
        }
    }
    let full = graphs.iter().zip(small).filter(|(g, _)| g.len() >= 20);
    let most =
        full.map(|(_, row)| (row[1].makespan / row[0].makespan - 1.0).abs()).fold(0.0, f64::max);
    claim.check(
        "20 processors, at least 20 tasks: largest difference",
        "none",
        (Estimate::exact(most), Unit::Percent(1)),
        Rule::AtMost(1e-9),
    );
    claim
}

fn levels(both: &[Vec<Figures>]) -> Claim {
    let mut claim =
        Claim::new("H2", "On regular graphs MCPA beats CPA, which cannot run a level at once");
    let ours = relative(&column(both, 1, makespan), &column(both, 0, makespan));
    let what = "Strassen and FFT, 20 processors, MCPA to CPA";
    claim.check(what, "", (ours, Unit::Percent(1)), Rule::Below(0.0));
    claim
}

fn two_criteria(small: &[Vec<Figures>], large: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new(
        "H3",
        "biCPA-M and biCPA-W never lose to CPA in either criterion; what they gain grows with the cluster",
    );
    for (m, name) in [(3, "biCPA-M"), (4, "biCPA-W")] {
        for (what, figure) in [("makespan", makespan as fn(&Figures) -> f64), ("work", work)] {
            let both = small.iter().chain(large);
            let most = both.map(|row| figure(&row[m]) / figure(&row[0])).fold(0.0, f64::max);
            let ours = (Estimate::exact(most), Unit::Times(3));
            claim.check(format!("{name}, {what}: worst"), "1", ours, Rule::AtMost(1.0 + 1e-9));
        }
    }
    let gain = |plans: &[Vec<Figures>]| -> Vec<f64> {
        plans.iter().map(|row| 1.0 - row[3].makespan / row[0].makespan).collect()
    };
    let more: Vec<f64> = gain(large).iter().zip(gain(small)).map(|(l, s)| l - s).collect();
    let ours = (Estimate::mean(&more), Unit::Percent(1));
    claim.check("biCPA-M, gain on 120 less gain on 20", "", ours, Rule::Above(0.0));
    claim
}

fn reuse(small: &[Vec<Figures>]) -> Claim {
    let mut claim =
        Claim::new("H4", "Taking over the processors of a parent (RATS) shortens plans");
    for (m, name) in [(5, "delta"), (6, "time-cost")] {
        let ours = relative(&column(small, m, makespan), &column(small, 0, makespan));
        let what = format!("20 processors, {name} to CPA");
        claim.check(what, "", (ours, Unit::Percent(1)), Rule::Below(0.0));
    }
    claim.remark(
        "On all graphs, not only those of much data; the parameters are not tuned per application.",
    )
}

fn frugal(many: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new("H5a", "HCPA uses fewer processors than MHEFT");
    for (what, figure) in
        [("processors at once", (|f| f.peak) as fn(&Figures) -> f64), ("work", work)]
    {
        let ours = relative(&column(many, 1, figure), &column(many, 0, figure));
        claim.check(
            format!("HCPA to MHEFT, {what}"),
            "",
            (ours, Unit::Percent(1)),
            Rule::Below(0.0),
        );
    }
    claim
}

fn bounded(many: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new("H5b", "Bounds on MHEFT trade makespan for efficiency");
    for (m, name) in SEVERAL.iter().enumerate().take(5).skip(2) {
        let over = |figure| relative(&column(many, m, figure), &column(many, 0, figure));
        claim.check(
            format!("{name} to mheft, work"),
            "",
            (over(work), Unit::Percent(1)),
            Rule::Below(0.0),
        );
        claim.check(
            format!("{name} to mheft, makespan"),
            "",
            (over(makespan), Unit::Percent(1)),
            Rule::Above(0.0),
        );
    }
    claim
}

fn delta(many: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new(
        "H6",
        "Delta-CTS is as short as MHEFT and its variants, or shorter, in four of five cases; else less than 6 % away",
    );
    let best = |row: &[Figures]| {
        [0, 2, 3, 4].map(|m| row[m].makespan).into_iter().fold(f64::INFINITY, f64::min)
    };
    let away: Vec<f64> = many.iter().map(|row| row[5].makespan / best(row) - 1.0).collect();
    let won: Vec<bool> = away.iter().map(|&a| a <= approx::EPSILON).collect();
    claim.check(
        "equal or shorter",
        "80 %",
        (Estimate::share(&won), Unit::Percent(0)),
        Rule::Between(0.7, 0.9),
    );
    let lost: Vec<f64> = away.into_iter().filter(|&a| a > approx::EPSILON).collect();
    if !lost.is_empty() {
        claim.check(
            "else away",
            "6 %",
            (Estimate::mean(&lost), Unit::Percent(1)),
            Rule::Below(0.06),
        );
    }
    claim
}

/// The share of the cluster that SCRAP and SCRAP-MAX use.
fn shares(parts: &[Series; 2], watch: &Watch<'_>) -> Result<Claim, StudyError> {
    let mut claim = Claim::new(
        "NS07",
        "SCRAP and SCRAP-MAX keep to their share in 99 % of the cases; else they exceed it by 3 % on average, by 8 % at most",
    );
    let processors = f64::from(GRILLON.0);
    for part in parts {
        let name = part.stage;
        let mut over = Vec::new();
        for row in part.plans(watch)? {
            for (figures, (beta, _)) in row.iter().zip(BETAS) {
                let wanted: f64 = beta.parse().map_err(StudyError::of)?;
                over.push(figures.work / figures.makespan / processors / wanted - 1.0);
            }
        }
        let kept: Vec<bool> = over.iter().map(|&o| o <= approx::EPSILON).collect();
        let ours = (Estimate::share(&kept), Unit::Percent(1));
        claim.check(format!("{name}: kept"), "99 %", ours, Rule::AtLeast(0.97));
        let most = over.into_iter().fold(0.0, f64::max);
        let ours = (Estimate::exact(most), Unit::Percent(1));
        claim.check(format!("{name}: most beyond"), "8 %", ours, Rule::AtMost(0.08));
    }
    Ok(claim.remark("Use is work over makespan and processors; a graph whose tasks exceed a share with one processor each is a violation too."))
}

fn one_step(both: &[Vec<Figures>]) -> Claim {
    let mut claim = Claim::new("DS10", "biCPA is better than iCASLB");
    let ours = relative(&column(both, 0, makespan), &column(both, 1, makespan));
    claim.check(
        "10 and 20 tasks, 20 processors, biCPA-M to iCASLB",
        "",
        (ours, Unit::Percent(1)),
        Rule::Below(0.0),
    );
    claim.remark("Our iCASLB is recalled; scheduling time is not judged here.")
}

fn guaranteed(both: &[Vec<Figures>]) -> Claim {
    let mut claim =
        Claim::new("DNSC09", "MCGAS, which keeps a guarantee, is better than HCPA on average");
    let ours = relative(&column(both, 1, makespan), &column(both, 0, makespan));
    claim.check(
        "20 and 47 processors of one speed, MCGAS to HCPA",
        "",
        (ours, Unit::Percent(1)),
        Rule::Below(0.0),
    );
    claim.remark("With the bound and the rounding of the best guarantee; the source says that others may be better on average.")
}
