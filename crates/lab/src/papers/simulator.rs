//! The simulator's chapter of F. Suter's habilitation: descriptions of platforms, their selection, the size of campaigns,
//! and plans on clusters whose links meet. The experiments on real machines (E8 to E14) are not repeated here.

use super::report::Findings;
use super::{Cell, Claim, Options, Paper, Report, Rule, Size, StudyError, Table, Unit, Watch};
use crate::cell::{self, Recipe, planner};
use slackline_analysis::statistics::Estimate;
use slackline_engine::{Recording, Stage};
use slackline_formats::{instance, simgrid_xml};
use slackline_generate::Seed;
use slackline_generate::platform::clusters::{ClusterFigures, GRID5000};
use slackline_generate::platform::selection::{
    PUBLISHED, Selector, compendium, heterogeneity, select,
};
use slackline_generate::population::STUDIES;
use slackline_generate::registry::{self as generators, Family};
use slackline_model::platform::{
    ClusterSharing, ClusterSpec, DeclaredRoute, LinkShape, LinkSpec, Member, PlatformBuilder,
    RouteCache, RoutingKind,
};
use slackline_model::{HostId, Platform, Problem, Schedule, Workflow};
use slackline_react::{StaticPlan, Transfers};
use slackline_schedule::list::heft::HEFT;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "simulator",
    title: "Simulation of distributed systems and applications",
    source: "Suter, habilitation, chapter 2, 2014",
    about: "platform files, selections of clusters, campaigns, plans on clusters whose links meet",
    run,
    cells,
    unlisted: "not listed: platform files and selections of clusters, which run nothing",
};

/// Graphs of the four clusters.
fn graphs(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 4,
        Size::Standard => 60,
        Size::Full => 600,
    })
}

fn run(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let mut report = Report::new(&PAPER, options, graphs(options));
    report.choices = CHOICES.map(String::from).to_vec();
    let (placed, latency) = latencies(options, watch)?;
    report.findings.claims = vec![
        one_tag()?,
        whole_grid()?,
        spread()?,
        selection(),
        campaign(options)?,
        placed,
        golden()?,
    ];
    report.findings.tables = vec![latency];
    report.timed = Some(timed(options)?);
    Ok(report)
}

fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let mut all = Vec::new();
    for (index, graph) in drawn(options)?.into_iter().enumerate() {
        for latency in LATENCIES {
            let graph = graph.clone();
            let name = format!("four clusters, graph {index}, backbone {latency} s: heft");
            all.push(Recipe::new(name, move || {
                let stage = Stage::new(graph.clone(), four_clusters(latency)?);
                let plan = plan(&stage)?;
                Ok(cell::Cell::following(stage, plan, Transfers::Push))
            }));
        }
    }
    for (name, text, methods) in GOLDEN {
        for &(method, _) in methods {
            all.push(Recipe::new(format!("{name}: {method}"), move || example(text, method)));
        }
    }
    Ok(all)
}

/// E1: 100 hosts at a switch, element by element and as one tag.
fn one_tag() -> Result<Claim, StudyError> {
    const HOSTS: usize = 100;
    let mut flat = String::from(
        "<?xml version='1.0'?>\n<platform version=\"4.1\">\n<zone id=\"c\" routing=\"Full\">\n",
    );
    let mut say = |line: std::fmt::Arguments<'_>| flat.write_fmt(line).map_err(StudyError::of);
    for host in 0..HOSTS {
        say(format_args!("<host id=\"c-{host}\" speed=\"1Gf\"/>\n"))?;
    }
    for host in 0..HOSTS {
        let link = "bandwidth=\"125MBps\" latency=\"50us\" sharing_policy=\"SHARED\"";
        say(format_args!("<link id=\"l-{host}\" {link}/>\n"))?;
    }
    let mut pairs = 0_u32;
    for from in 0..HOSTS {
        for to in from + 1..HOSTS {
            pairs += 1;
            say(format_args!(
                "<route src=\"c-{from}\" dst=\"c-{to}\"><link_ctn id=\"l-{from}\"/><link_ctn id=\"l-{to}\"/></route>\n"
            ))?;
        }
    }
    flat += "</zone>\n</platform>\n";
    let mut builder = PlatformBuilder::new("c");
    let link = LinkShape { bandwidth: 1.25e8, latency: 5e-5 };
    let spec = ClusterSpec::flat("c", HOSTS as u32, 1e9, link);
    let spec = ClusterSpec { sharing: ClusterSharing::Shared, ..spec };
    builder.add_cluster(None, spec).map_err(StudyError::of)?;
    let tag = simgrid_xml::to_string(&builder.build().map_err(StudyError::of)?);
    let tag = tag.map_err(StudyError::of)?;
    let read = |text: &str| simgrid_xml::parse(text).map_err(StudyError::of);
    let (long, short) = (read(&flat)?, read(&tag)?);
    let mut claim =
        Claim::new("E1", "One tag describes what takes a line per host, link and pair of hosts");
    let exact = |value: f64| (Estimate::exact(value), Unit::Number(0));
    let pairs = exact(f64::from(pairs));
    claim.check(
        "pairs of 100 hosts",
        "4,550 (printed; 4,950 are right)",
        pairs,
        Rule::Between(4950.0, 4950.0),
    );
    let times = flat.len() as f64 / tag.len() as f64;
    let ours = (Estimate::exact(times), Unit::Times(0));
    claim.check("size of the long form over that of the tag", "", ours, Rule::AtLeast(100.0));
    let most = difference(&long, &short)?;
    let ours = (Estimate::exact(most), Unit::Number(9));
    claim.check(
        "largest difference of a route's latency (s) or bandwidth (share)",
        "none",
        ours,
        Rule::AtMost(1e-12),
    );
    Ok(claim)
}

/// The largest difference between the routes of two platforms with the same hosts.
fn difference(one: &Platform, other: &Platform) -> Result<f64, StudyError> {
    let (mut a, mut b) = (RouteCache::new(), RouteCache::new());
    let mut most = 0.0_f64;
    for from in one.host_ids() {
        for to in one.host_ids().filter(|&to| to != from) {
            let there = |id: HostId| {
                let name = &one.host(id).name;
                other.host_named(name).ok_or_else(|| StudyError(format!("{name} is missing")))
            };
            let first = a.route(one, from, to).map_err(StudyError::of)?;
            let second = b.route(other, there(from)?, there(to)?).map_err(StudyError::of)?;
            let wide = first.bandwidth(one.links()) / second.bandwidth(other.links()) - 1.0;
            most = most.max(wide.abs()).max((first.latency - second.latency).abs());
        }
    }
    Ok(most)
}

/// Grid'5000 as its generator makes it.
fn grid() -> Result<Platform, StudyError> {
    let make = generators::find(Family::Platform, "grid5000").map_err(StudyError::of)?;
    let settings = make.settings(&[]).map_err(StudyError::of)?;
    make.platform(&settings, Seed::new(0)).map_err(StudyError::of)
}

/// E2: the whole of Grid'5000 in one small file.
fn whole_grid() -> Result<Claim, StudyError> {
    let platform = grid()?;
    let text = simgrid_xml::to_string(&platform).map_err(StudyError::of)?;
    let mut claim = Claim::new(
        "E2",
        "Grid'5000, 1,300 nodes in 23 clusters, takes 78.8 KiB instead of 425 MiB",
    );
    let count = |n: usize| (Estimate::exact(n as f64), Unit::Number(0));
    claim.check("clusters", "23", count(GRID5000.len()), Rule::Between(22.0, 24.0));
    let nodes = count(platform.hosts().len());
    claim.check("nodes", "about 1,300", nodes, Rule::Between(1040.0, 1560.0));
    let size = (Estimate::exact(text.len() as f64 / 1024.0), Unit::Number(1));
    claim.check("KiB of XML", "78.8", size, Rule::AtMost(78.8));
    Ok(claim.unless_it_holds("The generator has the clusters of 2010: there were more by then."))
}

/// E3: how much clusters differ, and how many configurations a compendium takes.
fn spread() -> Result<Claim, StudyError> {
    let mut claim =
        Claim::new("E3", "18 clusters whose speeds spread by 45 % give 356 configurations");
    // The source prints eleven of its eighteen clusters. These have the same spread, and ten of them are within
    // a tenth, as needed for ten homogeneous sets of every size.
    let speed = |k: u32| match k {
        0..10 => 3.2 + 0.03 * f64::from(k),
        _ => 3.65 + 0.14 * f64::from(k - 10),
    };
    let all: Vec<ClusterFigures> =
        (0..18).map(|k| ClusterFigures { gflops: speed(k), ..GRID5000[0] }).collect();
    let wide = heterogeneity(all.iter().map(|c| c.gflops)) / 100.0;
    let ours = (Estimate::exact(wide), Unit::Percent(0));
    claim.check("speeds from slowest to fastest", "45 %", ours, Rule::Between(0.44, 0.46));
    let found = compendium(&all, &PUBLISHED);
    let mut distinct: Vec<&[usize]> = found.iter().map(|c| c.clusters.as_slice()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let ours = (Estimate::exact(distinct.len() as f64), Unit::Number(0));
    claim.check("distinct configurations", "356", ours, Rule::Between(356.0, 356.0));
    Ok(claim.remark(
        "The source prints eleven of the clusters: eighteen with the same spread stand for them, ten within a tenth.",
    ))
}

/// Eight clusters whose speeds differ by a tenth at most.
fn alike() -> Selector {
    Selector { size: 8, heterogeneity: (0.0, 10.0 + 1e-9), ..Selector::default() }
}

/// E4: homogeneous selections of Grid'5000.
fn selection() -> Claim {
    let mut claim = Claim::new(
        "E4",
        "Grid'5000 has about eleven sets of eight clusters whose speeds differ by a tenth at most",
    );
    let found = select(GRID5000, &alike());
    let ours = (Estimate::exact(found.len() as f64), Unit::Number(0));
    claim.check("sets", "11; 10 by hand", ours, Rule::Between(5.0, 22.0));
    claim.remark(
        "Met between half and twice the published number: the source's speeds of that year are not all printed. Its \
         4,194,201 candidates are the subsets of 22 clusters of any size; these are those of eight.",
    )
}

/// E5: the campaign of 2006.
fn campaign(options: &Options) -> Result<Claim, StudyError> {
    let mut claim = Claim::new("E5", "The campaign of 2006: 5 x 1,296 x 200 = 1,296,000 runs");
    let study = STUDIES.iter().find(|s| s.name == "ptg");
    let study = study.ok_or_else(|| StudyError("the population is missing".into()))?;
    let graphs = study.population(options.seed).map_err(StudyError::of)?.len();
    let ours = (Estimate::exact(graphs as f64), Unit::Number(0));
    claim.check("graphs of the population", "1,296", ours, Rule::Between(1296.0, 1296.0));
    Ok(claim)
}

/// Latencies of the backbone: that of the clusters' links, and a thousand times that.
const LATENCIES: [f64; 2] = [1e-4, 0.1];

/// E7: four clusters of 2 or 4 processors, two of them fast.
fn four_clusters(latency: f64) -> Result<Arc<Platform>, StudyError> {
    let mut b = PlatformBuilder::new("four clusters");
    let root = b.add_zone(None, "world", RoutingKind::Full).map_err(StudyError::of)?;
    let link = LinkShape { bandwidth: 1.25e8, latency: LATENCIES[0] };
    let mut zones = Vec::new();
    for (name, count, speed) in [("a", 2, 3e9), ("b", 4, 1e9), ("c", 2, 3e9), ("d", 4, 1e9)] {
        let spec = ClusterSpec::flat(name, count, speed, link);
        let router = spec.router_name();
        let zone = b.add_cluster(Some(root), spec).map_err(StudyError::of)?;
        zones.push((zone, b.member(&router).map_err(StudyError::of)?));
    }
    let backbone =
        b.add_link(LinkSpec::new("backbone", 1.25e9, latency)).map_err(StudyError::of)?;
    for (at, &(from, gate)) in zones.iter().enumerate() {
        for &(to, other) in &zones[at + 1..] {
            let route = DeclaredRoute {
                src: Member::Zone(from),
                dst: Member::Zone(to),
                gw_src: Some(gate),
                gw_dst: Some(other),
                links: [backbone].into(),
                symmetrical: true,
            };
            b.add_route(root, route).map_err(StudyError::of)?;
        }
    }
    b.build().map(Arc::new).map_err(StudyError::of)
}

/// Graphs of 50 tasks.
fn drawn(options: &Options) -> Result<Vec<Arc<Workflow>>, StudyError> {
    let make = generators::find(Family::Workflow, "daggen").map_err(StudyError::of)?;
    let given = [("tasks".to_string(), "50".to_string())];
    let settings = make.settings(&given).map_err(StudyError::of)?;
    let draw = |member: usize| {
        let seed = Seed { seed: options.seed, member: member as u64 };
        make.workflow(&settings, seed).map(Arc::new).map_err(StudyError::of)
    };
    (0..graphs(options)).map(draw).collect()
}

fn plan(stage: &Stage) -> Result<Schedule, StudyError> {
    let problem = stage.problem().map_err(StudyError::of)?;
    (HEFT.plan)(&problem, &Default::default()).map_err(StudyError::of)
}

/// E7: plans when the backbone has the latency of the clusters' links, and when it has more.
fn latencies(options: &Options, watch: &Watch<'_>) -> Result<(Claim, Table), StudyError> {
    let graphs = drawn(options)?;
    let platforms = LATENCIES.map(four_clusters);
    let [near, far] = platforms;
    let platforms = [near?, far?];
    let runs = watch.over("four clusters", &graphs, |graph| {
        let mut found = Vec::new();
        for platform in &platforms {
            let stage = Stage::new(graph.clone(), platform.clone());
            let plan = plan(&stage)?;
            let mut policy = StaticPlan::of_schedule(plan.clone(), &HEFT, Transfers::Push);
            let outcome = stage.run_as(&mut policy, Recording::Nothing, None);
            let outcome = outcome.map_err(StudyError::of)?;
            found.push((plan, outcome.makespan));
        }
        Ok(found)
    })?;
    let mut claim = Claim::new(
        "E7",
        "A higher latency between clusters moves tasks of HEFT's plan and hardly changes the makespan",
    );
    let places = |plan: &Schedule| -> Vec<Option<u32>> {
        plan.placements.iter().map(|p| p.as_ref().map(|p| p.proc().0)).collect()
    };
    let moved: Vec<bool> = runs.iter().map(|r| places(&r[0].0) != places(&r[1].0)).collect();
    let ours = (Estimate::share(&moved), Unit::Percent(0));
    claim.check("plans that place some task elsewhere", "the one shown", ours, Rule::Above(0.0));
    let column = |at: usize| -> Vec<f64> { runs.iter().map(|r| r[at].1).collect() };
    let ours = (Estimate::excess(&column(1), &column(0)), Unit::Percent(2));
    claim.check(
        "mean makespan, simulated",
        "unchanged: 140.9 s both",
        ours,
        Rule::Between(-0.02, 0.02),
    );
    let mut table = Table::new(
        "HEFT on four clusters, 50 tasks",
        &["latency of the backbone", "planned", "simulated"],
    );
    for (at, latency) in LATENCIES.iter().enumerate() {
        let planned: Vec<f64> = runs.iter().map(|r| r[at].0.makespan()).collect();
        table.rows.push(vec![
            format!("{latency} s").into(),
            Cell::mean(&planned, Unit::Number(2)),
            Cell::mean(&column(at), Unit::Number(2)),
        ]);
    }
    Ok((claim.remark("The source's graph is lost: graphs of the same size stand for it."), table))
}

/// A worked example: its name, its file, and the published makespan of each planner.
type Example = (&'static str, &'static str, &'static [(&'static str, f64)]);

/// The worked examples with printed makespans.
const GOLDEN: [Example; 2] = [
    (
        "HEFT paper, figure 4",
        include_str!("../../../../examples/workflows/heft-2002.json"),
        &[("heft", 80.0), ("cpop", 86.0)],
    ),
    (
        "PEFT paper, table 6",
        include_str!("../../../../examples/workflows/peft-2014.json"),
        &[("peft", 122.0), ("lookahead", 127.0), ("heft", 133.0), ("hcpt", 142.0), ("pets", 147.0)],
    ),
];

fn example(text: &str, method: &str) -> Result<cell::Cell, StudyError> {
    let read = instance::read(text).map_err(StudyError::of)?;
    let stage = Stage::new(Arc::new(read.workflow), Arc::new(read.platform));
    cell::Cell::planned(stage, planner(method)?).under("matrix")
}

fn golden() -> Result<Claim, StudyError> {
    let mut claim = Claim::new("plans", "Printed makespans of the worked examples");
    for (name, text, methods) in GOLDEN {
        for &(method, published) in methods {
            let ours = (Estimate::exact(example(text, method)?.end()?), Unit::Number(0));
            let printed = Unit::Number(0).show(published);
            claim.check(
                format!("{name}: {method}"),
                &printed,
                ours,
                Rule::Between(published, published),
            );
        }
    }
    Ok(claim)
}

/// Findings that depend on the machine.
fn timed(options: &Options) -> Result<Findings, StudyError> {
    let seconds = |begin: Instant| begin.elapsed().as_secs_f64();
    let text = simgrid_xml::to_string(&grid()?).map_err(StudyError::of)?;
    let begin = Instant::now();
    simgrid_xml::parse(&text).map_err(StudyError::of)?;
    let read = seconds(begin);
    let mut claim = Claim::new(
        "E2 and E4, time",
        "Reading Grid'5000 takes 31 s, choosing among its clusters 20 s",
    );
    let ours = (Estimate::exact(read), Unit::Number(4));
    claim.check("seconds to read Grid'5000", "31", ours, Rule::AtMost(31.0));
    let begin = Instant::now();
    let found = select(GRID5000, &alike()).len();
    let candidates = choose(GRID5000.len() as u64, 8);
    let rate = candidates / seconds(begin).max(1e-9);
    let ours = (Estimate::exact(rate), Unit::Number(0));
    claim.check("subsets of eight per second", "210,000", ours, Rule::AtLeast(210_000.0));
    let begin = Instant::now();
    let platform = four_clusters(LATENCIES[0])?;
    let graphs = drawn(&Options { graphs: Some(20), ..*options })?;
    for graph in &graphs {
        let problem = Problem::new(graph, &platform).map_err(StudyError::of)?;
        (HEFT.plan)(&problem, &Default::default()).map_err(StudyError::of)?;
    }
    let hours = seconds(begin) / graphs.len() as f64 * 1_296_000.0 / 3600.0;
    let mut table = Table::new("On this machine", &["what", "value"]);
    table.rows.push(vec!["sets of eight clusters".into(), found.to_string().into()]);
    table.rows.push(vec![
        "hours for 1,296,000 plans of 50 tasks on 12 processors, one core".into(),
        Cell::exact(hours, Unit::Number(2)),
    ]);
    Ok(Findings { claims: vec![claim], tables: vec![table] })
}

fn choose(n: u64, k: u64) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (k - i) as f64).product()
}

const CHOICES: [&str; 4] = [
    "E6 and E8 to E14 are not repeated: a chart to look at, and measurements of real machines and MPI codes.",
    "Grid'5000 is that of the generator, with the published clusters of 2010.",
    "E7: four clusters of 2, 4, 2 and 4 processors of 3 and 1 Gflop/s, Gigabit links of 0.1 ms, a backbone of 10 Gbit/s \
     with 0.1 or 100 ms; graphs of 50 tasks by daggen.",
    "Plans follow the rules of simulated runs, in which transfers meet on links.",
];
