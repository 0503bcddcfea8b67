#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Task, WorkflowBuilder};
use std::sync::Arc;

fn branch(name: &str, probability: f64) -> BranchSpec {
    BranchSpec { name: name.into(), probability: Some(probability), ..BranchSpec::default() }
}

fn choice(name: &str, region: Option<&str>, branches: Vec<BranchSpec>) -> ChoiceSpec {
    let region = region.map(str::to_string);
    ChoiceSpec { name: name.into(), region, branches, ..ChoiceSpec::default() }
}

fn repeated(name: &str, region: Option<&str>, iterations: Iterations) -> LoopSpec {
    let (region, iterations) = (region.map(str::to_string), Some(iterations));
    LoopSpec { name: name.into(), region, iterations, ..LoopSpec::default() }
}

/// Tasks as `name` or `name@region`, dependencies as `from>to`.
fn builder(tasks: &str, edges: &str) -> ControlBuilder {
    let mut builder = ControlBuilder::default();
    for task in tasks.split_whitespace() {
        match task.split_once('@') {
            Some((name, region)) => builder.task(name, Some(region)),
            None => builder.task(task, None),
        }
    }
    for edge in edges.split_whitespace() {
        let (from, to) = edge.split_once('>').unwrap();
        builder.edge(from, to, None);
    }
    builder
}

/// v1, then v3 over and over with v5 in between, then v6.
fn cycle() -> ControlBuilder {
    let mut b = builder("v1 v3@cycle v5@cycle.again v6", "v1>cycle cycle>v6");
    b.repeat(repeated("cycle", None, Iterations::Again { again: 0.5, max: None }));
    b
}

fn parts(control: &Control) -> Vec<(String, Vec<&str>, Count)> {
    let parts = control.split();
    let counts = control.executions(&parts);
    let named = |(part, count): (&SubWorkflow, &Count)| {
        let tasks = part.tasks.iter().map(|&t| control.task_name(t)).collect();
        (part.name.clone(), tasks, *count)
    };
    parts.iter().zip(&counts).map(named).collect()
}

#[test]
fn a_cycle_is_three_sequences() {
    let control = cycle().build().unwrap();
    let parts = parts(&control);
    let named: Vec<(&str, Vec<&str>)> =
        parts.iter().map(|(name, tasks, _)| (name.as_str(), tasks.clone())).collect();
    assert_eq!(
        named,
        [
            ("start", vec!["v1", "v3"]),
            ("cycle=again", vec!["v3", "v5"]),
            ("cycle=exit", vec!["v6"])
        ]
    );
    // One more pass on average, with variance 2; at a confidence of 0.9 that is
    // mean + quantile * deviation = 1 + 1.281552 * 1.414214 = 2.812388 of them.
    assert!((parts[1].2.planned(0.9) - 2.812_388).abs() < 1e-6);
    assert_eq!((parts[0].2, parts[2].2), (Count::certain(1.0), Count::certain(1.0)));
    // No edge crosses the decision; v5 comes before the next v3.
    let split = control.split();
    assert_eq!((&split[0].edges[..], &split[1].edges[..]), (&[(0, 1)][..], &[(1, 0)][..]));
}

#[test]
fn results_of_parallel_choices_meet_in_a_sub_workflow_of_their_own() {
    let mut b = builder("a u@c1.yes v@c2.v w@c2.w m", "a>c1 a>c2 c1>m c2>m");
    let unknown = |name: &str| BranchSpec { name: name.into(), ..BranchSpec::default() };
    b.choice(choice("c1", None, vec![unknown("yes"), unknown("no")]));
    b.choice(choice("c2", None, vec![branch("v", 0.4), branch("w", 0.6)]));
    let control = b.build().unwrap();
    let parts = parts(&control);
    let names: Vec<&str> = parts.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["start", "c1=yes", "c1=no", "c2=v", "c2=w", "join(c1,c2)"]);
    assert_eq!(parts[5].1, ["m"]);
    assert_eq!((parts[1].2.mean, parts[4].2.mean, parts[5].2.mean), (0.5, 0.6, 1.0));
}

#[test]
fn nested_loops_multiply() {
    let mut b = builder("p s@opt r@ok.redo i@solve z", "p>opt s>ok r>solve opt>z");
    b.choice(choice("ok", Some("opt"), vec![branch("redo", 0.25), branch("fine", 0.75)]));
    b.repeat(repeated("opt", None, Iterations::Table(vec![0.5, 0.3, 0.2])));
    b.repeat(repeated("solve", Some("ok.redo"), Iterations::Again { again: 0.5, max: Some(3) }));
    let control = b.build().unwrap();
    let parts = parts(&control);
    let of = |name: &str| parts.iter().find(|(n, ..)| n == name).unwrap().2;
    for (name, mean, variance) in [
        ("opt=again", 0.7, 0.61),
        ("ok=redo", 0.425, 0.356_875),
        ("ok=fine", 1.275, 0.661_875),
        ("solve=again", 0.318_75, 0.492_929_687_5),
    ] {
        let count = of(name);
        assert!((count.mean - mean).abs() < 1e-12, "{name}");
        assert!((count.variance - variance).abs() < 1e-12, "{name}");
    }
}

#[test]
fn draws_are_those_of_the_named_stream() {
    // Recorded values: a change of the streams would change the results of every user's seed.
    let unit = |seed, run, name: &str| Chances { seed, run, ..Chances::default() }.unit(name);
    assert_eq!(unit(1, 0, "qc"), 0.0020914619779267563);
    assert_eq!(unit(1, 0, "cycle#2"), 0.5563860195111792);
    assert_eq!(unit(7, 41, "outer#3/inner#2"), 0.15268276718097895);
}

fn template(builder: ControlBuilder) -> Arc<crate::Workflow> {
    let control = builder.build().unwrap();
    let mut tasks = WorkflowBuilder::new("w");
    for task in 0..control.tasks() as u32 {
        tasks.add_task(Task::new(control.task_name(task), 1e9)).unwrap();
    }
    Arc::new(tasks.build().unwrap().with_control(Arc::new(control)))
}

#[test]
fn a_course_is_a_plain_workflow_of_instances() {
    let given = [("cycle#1", "again"), ("cycle#2", "exit")];
    let given = given.map(|(d, o)| (d.to_string(), o.to_string())).into();
    let mut chances = Chances { given, ..Chances::default() };
    let (workflow, taken) = draw_course(&template(cycle()), &mut chances).unwrap();
    let names: Vec<&str> = workflow.tasks().map(|t| workflow.task_name(t)).collect();
    assert_eq!(names, ["v1", "cycle#1/v3", "cycle#1/v5", "cycle#2/v3", "v6"]);
    let edges: Vec<(u32, u32)> =
        workflow.edges().map(|e| workflow.edge_ends(e)).map(|(a, b)| (a.0, b.0)).collect();
    assert_eq!(edges, [(0, 1), (1, 2), (2, 3), (3, 4)]);
    assert_eq!(taken.len(), 2);
}

#[test]
fn what_is_to_come_follows_the_past() {
    let control = Arc::new(cycle().build().unwrap());
    let parts = control.split();
    let (mut walk, start) = Walk::new(control);
    let means = |walk: &Walk| walk.still_to_come(&parts).iter().map(|c| c.mean).collect::<Vec<_>>();
    assert_eq!(means(&walk), [0.0, 1.0, 1.0]);
    start.instances.iter().for_each(|&i| walk.end(i));
    let due = walk.due();
    assert_eq!((due.len(), due[0].name.as_str()), (1, "cycle#1"));
    let again = walk.take(&due[0], 1);
    // A geometric law has no memory: one more on average, in addition to the one released now.
    assert_eq!((again.instances.len(), means(&walk)), (2, vec![0.0, 1.0, 1.0]));
    again.instances.iter().for_each(|&i| walk.end(i));
    let due = walk.due();
    walk.take(&due[0], 0);
    assert_eq!(means(&walk), [0.0, 0.0, 0.0]);
}

#[test]
fn files_mean_what_branches_pass_and_passes_carry() {
    let mut b = builder("look trim@q.bad use better@l last", "");
    b.choice(ChoiceSpec {
        by: Some("look".into()),
        ..choice(
            "q",
            None,
            vec![
                BranchSpec { pass: vec![("clean".into(), "raw".into())], ..branch("good", 0.7) },
                branch("bad", 0.3),
            ],
        )
    });
    b.repeat(LoopSpec {
        carry: vec![("new".into(), "old".into())],
        ..repeated("l", None, Iterations::Fixed(2))
    });
    for (name, bytes) in [("raw", 5.0), ("clean", 4.0), ("old", 3.0), ("new", 2.0)] {
        b.file(name, bytes);
    }
    for (task, name, how) in [
        (0, "raw", FileUse::Read),
        (1, "raw", FileUse::Read),
        (1, "clean", FileUse::Write),
        (2, "clean", FileUse::Read),
        (2, "old", FileUse::Write),
        (3, "old", FileUse::Read),
        (3, "new", FileUse::Write),
        (4, "new", FileUse::Read),
    ] {
        b.uses(task, name, how);
    }
    let inputs = |outcome: &str| {
        let given = [("q".to_string(), outcome.to_string())].into();
        let mut chances = Chances { given, ..Chances::default() };
        let (w, _) = draw_course(&template(b.clone()), &mut chances).unwrap();
        let of = |name: &str| {
            let task = w.find_task(name).unwrap();
            w.inputs(task).map(|f| w.file_name(f).to_string()).collect::<Vec<_>>().join(" ")
        };
        ["use", "l#1/better", "l#2/better", "last"].map(of)
    };
    assert_eq!(inputs("good"), ["raw", "old", "l#1/new", "l#2/new"]);
    assert_eq!(inputs("bad"), ["clean", "old", "l#1/new", "l#2/new"]);
}

#[test]
fn given_outcomes_are_checked() {
    let control = cycle().build().unwrap();
    let check = |decision: &str, outcome: &str| {
        control.check_given(&[(decision.to_string(), outcome.to_string())].into())
    };
    assert!(check("cycle#3", "again").is_ok());
    for (decision, outcome, why) in [
        ("cycle", "again", "after each pass"),
        ("cycle#1", "more", "no outcome 'more'"),
        ("v1", "again", "no choice has the name 'v1'"),
        ("outer#1/cycle#1", "exit", "its name is cycle#1"),
    ] {
        let error = check(decision, outcome).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let two = || vec![branch("a", 0.5), branch("b", 0.5)];
    let with = |mut b: ControlBuilder, choices: Vec<ChoiceSpec>, loops: Vec<LoopSpec>| {
        choices.into_iter().for_each(|c| b.choice(c));
        loops.into_iter().for_each(|l| b.repeat(l));
        b.build().unwrap_err().to_string()
    };
    let c = |branches| vec![choice("c", None, branches)];
    let l = |iterations| vec![repeated("l", None, iterations)];
    let t = || builder("t", "");
    let in_loop = || builder("t@l", "");
    for (error, why) in [
        (with(t(), c(vec![branch("a", 1.0)]), vec![]), "two branches"),
        (with(t(), c(vec![branch("a", 0.5), branch("b", 0.4)]), vec![]), "add up to 1"),
        (with(t(), c(vec![branch("a", 1.5), branch("b", -0.5)]), vec![]), "negative"),
        (with(in_loop(), vec![], l(Iterations::Fixed(0))), "from 1 on"),
        (with(in_loop(), vec![], l(Iterations::Again { again: 1.0, max: None })), "below 1"),
        (with(in_loop(), vec![], l(Iterations::Between { min: 4, max: 3 })), "min is above max"),
        (with(t(), vec![], l(Iterations::Fixed(2))), "no body"),
        (with(builder("t@c.z", ""), c(two()), vec![]), "no branch and no loop"),
        (with(builder("c", ""), c(two()), vec![]), "appears twice"),
        (with(builder("t@c.a u@c.b", "t>u"), c(two()), vec![]), "exclude each other"),
        (with(builder("t@c.a", "c>t"), c(two()), vec![]), "inside the other"),
        (
            with(builder("t@l u v@l", "t>u u>v"), vec![], l(Iterations::Fixed(2))),
            "wait for each other",
        ),
    ] {
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn probabilities_follow_from_how_decisions_fell() {
    let mut spec = builder("a x@c.l y@c.r b@l z@m", "a>c a>l a>m");
    spec.choice(choice("c", None, vec![branch("l", 0.5), branch("r", 0.5)]));
    spec.repeat(repeated("l", None, Iterations::Again { again: 0.5, max: Some(3) }));
    spec.repeat(repeated("m", None, Iterations::Again { again: 0.5, max: None }));
    let control = spec.build().unwrap();
    let mut counts = DecisionCounts::default();
    for (decision, outcome) in [
        ("c", "l"),
        ("c", "l"),
        ("c", "r"),
        ("l#1", "again"),
        ("l#2", "exit"),
        ("m#1", "again"),
        ("m#2", "again"),
        ("m#3", "exit"),
        ("nobody", "x"),
        ("c", "x"),
    ] {
        counts.add(&control, decision, outcome);
    }
    let learnt = control.with_counts(&counts);
    let chances: Vec<f64> = learnt.choices()[0].branches.iter().map(|b| b.probability).collect();
    assert_eq!(chances, [3.0 / 5.0, 2.0 / 5.0]);
    assert_eq!(learnt.loops()[0].iterations, Iterations::Table(vec![0.25, 0.5, 0.25]));
    assert_eq!(learnt.loops()[0].law.most(), Some(3));
    assert_eq!(learnt.loops()[1].iterations, Iterations::Again { again: 0.6, max: None });
    assert_eq!(control.with_counts(&DecisionCounts::default()), control);
}
