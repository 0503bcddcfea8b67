use super::*;
use crate::registry::{self, Family};
use slackline_model::workflow::Shape;

fn make(name: &str, tasks: usize) -> Workflow {
    let generator = registry::find(Family::Workflow, name).unwrap();
    let given = [("tasks".to_string(), tasks.to_string())];
    generator.workflow(&generator.settings(&given).unwrap(), Seed::new(3)).unwrap()
}

#[test]
fn applications_grow_and_shrink_in_their_own_pattern() {
    for (name, from, to) in [
        ("epigenomics", 997, 3000),
        ("epigenomics", 997, 300),
        ("blast", 103, 1000),
        ("1000genome", 902, 2500),
        ("seismology", 301, 50),
        ("montage", 500, 1400),
        ("montage", 500, 200),
        ("cycles", 657, 2000),
        ("inspiral", 500, 1700),
    ] {
        let original = make(name, from);
        let made = like(std::slice::from_ref(&original), to, true, Seed::new(4)).unwrap();
        let likeness = Likeness::of(&original, &made);
        let near = (made.len() as f64 / to as f64 - 1.0).abs();
        assert!(near < 0.06, "{name} {from} -> {to}: {}", made.len());
        assert_eq!(likeness.levels.0, likeness.levels.1, "{name} {from} -> {to}");
        assert!(likeness.width_distance < 0.06, "{name} {from} -> {to}: {likeness:?}");
        // Both samples are finite: their distance is not nought even from one law.
        let chance = 1.36 / (made.len() as f64).sqrt();
        assert!(likeness.run_time_distance < 0.05 + chance, "{name} {from} -> {to}: {likeness:?}");
        let (a, b) = likeness.edges_per_task;
        assert!((b / a - 1.0).abs() < 0.15, "{name} {from} -> {to}: {a} {b}");
    }
}

#[test]
fn a_shared_input_stays_shared_and_a_private_one_is_copied() {
    let original = make("blast", 43);
    let made = like(std::slice::from_ref(&original), 400, true, Seed::new(1)).unwrap();
    let readers = |w: &Workflow, name: &str| {
        let file = w.files().find(|&f| w.file_name(f) == name).unwrap();
        w.consumers(file).len()
    };
    // The data base is one file for all searches.
    assert_eq!(readers(&made, "nt"), made.len() - 3);
    assert_eq!(made.entries().count(), 1);
    assert_eq!(made.exits().count(), 2);
    assert_eq!(Shape::of(&made).widths, [1, 397, 2]);
}

#[test]
fn a_workflow_without_repetition_is_repeated_as_a_whole() {
    let chain = make("chain", 5);
    let made = like(&[chain], 20, true, Seed::new(1)).unwrap();
    assert_eq!((made.len(), made.entries().count()), (20, 4));
    assert!(like(&[], 20, true, Seed::new(1)).is_err());
}

#[test]
fn several_instances_lend_their_run_times() {
    let instances = [make("seismology", 21), make("seismology", 501)];
    let made = like(&instances, 450, true, Seed::new(1)).unwrap();
    assert_eq!(made.len(), 450);
    assert_eq!(made, like(&instances, 450, true, Seed::new(1)).unwrap());
}

#[test]
fn roles_ignore_numbers() {
    assert_eq!(role("baseline_cycles_crop-12ad3.dat"), "baseline_cycles_crop-*dat");
    assert_eq!(role("medium.fasta.17.out"), "medium.fasta.*out");
    assert_eq!(role("nt"), "nt*");
    assert_eq!(kind_pattern("map_s_12_seq_3"), "map_s_#_seq_#");
}
