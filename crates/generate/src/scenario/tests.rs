use super::*;
use crate::registry::{self, Family};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Problem, Task, WorkflowBuilder};

fn platform(hosts: usize) -> Platform {
    let mut b = PlatformBuilder::new("p");
    let root = b.root().unwrap();
    for index in 1..=hosts {
        b.add_host(root, HostSpec::new(format!("p{index}"), 1e9)).unwrap();
    }
    b.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    b.build().unwrap()
}

fn make(kind: &str, given: &[(&str, &str)], platform: &Platform, seed: Seed) -> Scenario {
    let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
    let workflows = ["a.json".to_string(), "b.json".to_string()];
    let around = Surroundings { platform: Some(platform), workflows: &workflows };
    let generator = registry::find(Family::Scenario, kind).unwrap();
    let scenario = generator.scenario(&generator.settings(&given).unwrap(), seed, &around).unwrap();
    scenario.check().unwrap();
    scenario
}

#[test]
fn levels_stay_within_the_bound_and_changes_come_at_their_rate() {
    let p = platform(10);
    let given = [("variability", "30"), ("makespan", "100"), ("gap", "0.1"), ("horizon", "50")];
    let scenario = make("sce", &given, &p, Seed::new(1));
    scenario.on(&p).unwrap();
    // Ten hosts and 45 pairs; 5000 s with a change every 10 s.
    assert_eq!((scenario.hosts.len(), scenario.links.len()), (10, 45));
    let courses = scenario.hosts.iter().filter_map(|h| h.availability.as_ref());
    let events: Vec<ProfileEvent> = courses.flat_map(|p| p.events().to_vec()).collect();
    assert!(events.iter().all(|e| (0.7..=1.0).contains(&e.value)));
    let mean = events.len() as f64 / 10.0;
    assert!((mean / 500.0 - 1.0).abs() < 0.05, "{mean} changes per host");
    assert!(make("sce", &[("variability", "0")], &p, Seed::new(1)).is_still());
}

#[test]
fn a_host_more_changes_no_other_fate() {
    let few = make("sce", &[], &platform(3), Seed::new(9));
    let more = make("sce", &[], &platform(5), Seed::new(9));
    for story in &few.hosts {
        assert!(more.hosts.contains(story));
    }
}

#[test]
fn one_host_fails_at_half_of_the_makespan() {
    let p = platform(4);
    let scenario = make("sce", &[("variability", "0"), ("failure", "yes")], &p, Seed::new(3));
    assert_eq!(scenario.hosts.len(), 1);
    assert!(scenario.needs_makespan());
    let world = scenario.at_makespan(60.0).on(&p).unwrap();
    let failed: Vec<_> = world.hosts.iter().flat_map(|h| &h.outages).collect();
    assert_eq!(failed, [&(30.0, None, false)]);
    let three =
        make("failure", &[("hosts", "3"), ("at", "90s"), ("lasts", "1min")], &p, Seed::new(3));
    assert_eq!(three.hosts.len(), 3);
    assert_eq!(three.hosts[0].outages[0].lasts, Some(60.0));
}

#[test]
fn failure_rates_are_met() {
    let p = platform(50);
    for law in ["exponential", "weibull"] {
        let given = [("law", law), ("mtbf", "1h"), ("repair", "1s"), ("horizon", "100h")];
        let scenario = make("failures", &given, &p, Seed::new(5));
        let count: usize = scenario.hosts.iter().map(|h| h.outages.len()).sum();
        // 50 hosts x 100 hours; a Weibull of shape 0.7 starts with more than its share.
        let mean = count as f64 / 5000.0;
        assert!((mean - 1.0).abs() < 0.06, "{law}: {mean} failures per hour");
        scenario.on(&p).unwrap();
    }
    // Gamma(1.5) = sqrt(pi) / 2, Gamma(5) = 24.
    assert!((gamma_function(1.5) - std::f64::consts::PI.sqrt() / 2.0).abs() < 1e-12);
    assert!((gamma_function(5.0) - 24.0).abs() < 1e-9);
}

#[test]
fn arrivals_follow_their_law() {
    let p = platform(1);
    let scenario = make("arrivals", &[("workflows", "2000"), ("gap", "50")], &p, Seed::new(1));
    let date = |a: &Arrival| match a.when {
        When::At(date) => date,
        other => panic!("{other:?}"),
    };
    assert_eq!(date(&scenario.arrivals[0]), 0.0);
    let mean = date(&scenario.arrivals[1999]) / 1999.0;
    assert!((mean / 50.0 - 1.0).abs() < 0.06, "{mean}");
    assert_eq!(scenario.arrivals[3].workflow, "b.json");
    let given = [("law", "deadline"), ("share", "0.15"), ("deadline", "600")];
    let scenario = make("arrivals", &given, &p, Seed::new(1));
    assert_eq!(scenario.arrivals[1].when, When::AfterDeadline(0.15));
    let given = [("law", "deadline"), ("limits", "both"), ("owners", "3"), ("workflows", "200")];
    let scenario = make("arrivals", &given, &p, Seed::new(1));
    assert_eq!(scenario.arrivals[4].terms.owner, "owner2");
    for arrival in &scenario.arrivals {
        let (time, money) = (arrival.deadline_factor.unwrap(), arrival.budget_factor.unwrap());
        assert_eq!(time < 0.5, money >= 0.5, "{time} and {money}");
    }
}

#[test]
fn background_load_takes_its_share() {
    let p = platform(20);
    let given = [("jobs", "1"), ("length", "10s"), ("horizon", "10000s")];
    let scenario = make("load", &given, &p, Seed::new(2));
    let mut total = 0.0;
    for story in &scenario.hosts {
        let events = story.availability.as_ref().unwrap().events();
        for (now, next) in events.iter().zip(&events[1..]) {
            total += now.value * (next.date - now.date);
        }
    }
    // Jobs are Poisson of mean 1: E[1 / (1 + k)] = 1 - 1/e.
    let mean = total / (20.0 * 10_000.0);
    assert!((mean - (1.0 - 1.0 / std::f64::consts::E)).abs() < 0.02, "{mean}");
}

#[test]
fn worlds_can_be_put_on_top_of_each_other() {
    let p = platform(3);
    let below = make("sce", &[], &p, Seed::new(1));
    let above = onto(below.clone(), make("failure", &[("host", "p2")], &p, Seed::new(1)));
    assert_eq!(above.links, below.links);
    let p2 = above.hosts.iter().find(|h| h.host == "p2").unwrap();
    assert_eq!(p2.outages.len(), 1);
    let wrong = onto(above, make("errors", &[("error", "0.4")], &p, Seed::new(8)));
    assert_eq!(wrong.errors.compute, ErrorLaw::Uniform { bound: 0.4 });
    assert_eq!(wrong.seed, 8);
}

/// Studies quote numbers from these draws, which must therefore not change.
#[test]
fn worlds_of_studies_are_drawn_as_ever() {
    use super::studied::{
        Pace, cloud_run_times, gtp_doomed, gtp_levels, sweep_loads, sweep_outages, sweep_sizes,
    };
    let platform = platform(2);
    let level = |scenario: &Scenario| {
        let course = scenario.hosts[1].availability.as_ref().unwrap();
        course.events()[1]
    };
    let loads = level(&sweep_loads(&platform, 1).unwrap());
    let pace = Pace { depth: 0.5, gap: 10.0, until: 400.0 };
    let levels = level(&gtp_levels(&platform, true, pace, 3, 1).unwrap());
    let mut b = WorkflowBuilder::new("one");
    let task = b.add_task(Task::new("t", 1e10)).unwrap();
    let file = b.add_file("f", 100.0).unwrap();
    b.writes(task, file).unwrap();
    let workflow = b.build().unwrap();
    let problem = Problem::new(&workflow, &platform).unwrap();
    let cloud = cloud_run_times(&problem, 0.3, Seed { seed: 1, member: 2 });
    assert_eq!(cloud.actuals[1].seconds, cloud.actuals[0].seconds);
    let drawn = [
        loads.value,
        levels.date,
        levels.value,
        gtp_doomed(1000, 3, 1) as f64,
        cloud.actuals[0].seconds,
        sweep_sizes(&workflow, 1)[0].bytes,
    ];
    let ever = [
        0.5290745911071475,
        46.08544874439893,
        0.5969419862960383,
        252.0,
        7.922168094683409,
        329.7862114162121,
    ];
    // The last digits of powers and logarithms are the machine's.
    let same = |(a, b): (&f64, &f64)| (a / b - 1.0).abs() < 1e-12;
    assert!(drawn.iter().zip(&ever).all(same), "{drawn:?}");
    assert_eq!(loads.date, 60.0);
    // Every zone below the first is away at times, and keeps its data.
    assert!(sweep_outages(&platform, 1).hosts.is_empty());
}
