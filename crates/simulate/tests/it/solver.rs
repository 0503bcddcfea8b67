//! Properties of the sharing rules: optimality certificate, incremental equals whole.

use proptest::prelude::*;
use slackline_simulate::solver::{System, Use};

fn system(capacities: &[f64]) -> System {
    let mut system = System::new();
    for &capacity in capacities {
        system.add_constraint(capacity);
    }
    system
}

fn fair_system(capacities: &[f64]) -> System {
    let mut system = System::for_fair_bottleneck();
    for &capacity in capacities {
        system.add_constraint(capacity);
    }
    system
}

fn add(system: &mut System, id: u32, weight: f64, bound: f64, uses: &[(u32, f64)]) {
    let uses: Vec<Use> =
        uses.iter().map(|&(constraint, coefficient)| Use { constraint, coefficient }).collect();
    system.define(id, weight, bound, &uses);
    system.attach(id);
}

fn rates(system: &mut System, count: u32) -> Vec<f64> {
    system.solve_max_min();
    (0..count).map(|id| system.rate(id)).collect()
}

fn assert_close(found: &[f64], expected: &[f64]) {
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-9 * b.abs(), "{found:?} instead of {expected:?}");
    }
}

const FREE: f64 = f64::INFINITY;

#[test]
fn three_flows_over_two_links() {
    // A = 100, B = 60; f1 on both, f2 on A, f3 on B. B fills first at 30; f2 takes what f1 leaves.
    for (weight, bound, expected) in [
        (1.0, FREE, [30.0, 70.0, 30.0]),
        (1.0, 20.0, [20.0, 80.0, 40.0]),
        // 30 = level / 2 + level on B: level 40, f1 gets 20.
        (2.0, FREE, [20.0, 80.0, 40.0]),
    ] {
        let mut s = system(&[100.0, 60.0]);
        add(&mut s, 0, weight, bound, &[(0, 1.0), (1, 1.0)]);
        add(&mut s, 1, 1.0, FREE, &[(0, 1.0)]);
        add(&mut s, 2, 1.0, FREE, &[(1, 1.0)]);
        assert_close(&rates(&mut s, 3), &expected);
    }
}

#[test]
fn a_fat_pipe_is_a_bound() {
    // A = 100 shared by f1 alone; the fat pipe of 80 limits each of three flows.
    let mut s = system(&[100.0]);
    add(&mut s, 0, 1.0, 80.0, &[(0, 1.0)]);
    add(&mut s, 1, 1.0, 80.0, &[]);
    add(&mut s, 2, 1.0, 80.0, &[]);
    assert_close(&rates(&mut s, 3), &[80.0, 80.0, 80.0]);
}

#[test]
fn cross_traffic_of_opposite_flows() {
    let mut s = system(&[1.25e8, 1.25e8]);
    add(&mut s, 0, 1.0, FREE, &[(0, 1.0), (1, 0.05)]);
    add(&mut s, 1, 1.0, FREE, &[(1, 1.0), (0, 0.05)]);
    let each = 1.25e8 / 1.05;
    assert_close(&rates(&mut s, 2), &[each, each]);
}

#[test]
fn limiter_sharing() {
    // Node of bandwidth B: up, down and a limiter of 1.5 B crossed by everything (W1).
    let b = 1.0e8;
    let send: &[(u32, f64)] = &[(0, 1.0), (2, 1.0)];
    let receive: &[(u32, f64)] = &[(1, 1.0), (2, 1.0)];
    for (sends, expected) in [
        (1, vec![0.75 * b, 0.75 * b]),
        (2, vec![0.5 * b, 0.5 * b, 0.5 * b]),
        (3, vec![b / 3.0, b / 3.0, b / 3.0, 0.5 * b]),
    ] {
        let mut s = system(&[b, b, 1.5 * b]);
        for id in 0..sends {
            add(&mut s, id, 1.0, FREE, send);
        }
        add(&mut s, sends, 1.0, FREE, receive);
        assert_close(&rates(&mut s, sends + 1), &expected);
    }
}

#[test]
fn round_trip_times_make_weights() {
    // LV08: w1 = 1e-4 + 20537/1.25e8, w2 = 1.01e-2 + 2*20537/1.25e8; both on A.
    let (w1, w2): (f64, f64) = (2.64296e-4, 1.0428592e-2);
    // Capacities are 0.97 of nominal: f1 gets 0.97 * 1.25e8 * w2 / (w1 + w2).
    let mut s = system(&[0.97 * 1.25e8, 0.97 * 1.25e8]);
    add(&mut s, 0, w1, FREE, &[(0, 1.0)]);
    add(&mut s, 1, w2, FREE, &[(0, 1.0), (1, 1.0)]);
    let found = rates(&mut s, 2);
    assert!((found[0] - 118_253_065.0).abs() < 1.0 && (found[1] - 2_996_935.0).abs() < 1.0);
}

#[test]
fn disks_share_like_links() {
    // W2: read 100, write 50, connection 125.
    let read: &[(u32, f64)] = &[(0, 1.0), (2, 1.0)];
    let write: &[(u32, f64)] = &[(1, 1.0), (2, 1.0)];
    let mut s = system(&[100.0, 50.0, 125.0]);
    add(&mut s, 0, 1.0, FREE, read);
    add(&mut s, 1, 1.0, FREE, write);
    assert_close(&rates(&mut s, 2), &[75.0, 50.0]);
    add(&mut s, 2, 1.0, FREE, read);
    let third = 125.0 / 3.0;
    assert_close(&rates(&mut s, 3), &[third, third, third]);
}

#[test]
fn fair_bottleneck_divides_the_resource_not_the_progress() {
    // 12.5 MB and 1.25 MB on 125 MB/s: 62.5 MB/s each, that is 5 and 50 tasks per second.
    let mut s = fair_system(&[125e6]);
    add(&mut s, 0, 1.0, FREE, &[(0, 12.5e6)]);
    add(&mut s, 1, 1.0, FREE, &[(0, 1.25e6)]);
    s.solve_fair_bottleneck();
    assert_close(&[s.rate(0), s.rate(1)], &[5.0, 50.0]);
    // The small one limited to 10: the other gets the rest, (125e6 - 12.5e6) / 12.5e6 = 9.
    s.acknowledge();
    s.reweigh(1, 1.0, 10.0);
    s.solve_fair_bottleneck();
    assert_close(&[s.rate(0), s.rate(1)], &[9.0, 10.0]);
    // Alone, the first gets everything.
    s.acknowledge();
    s.detach(1);
    s.solve_fair_bottleneck();
    assert_close(&[s.rate(0)], &[10.0]);
}

/// One change of a random system.
#[derive(Clone, Debug)]
enum Change {
    Arrive { weight: f64, bound: f64, uses: Vec<(u32, f64)> },
    Depart(usize),
    Capacity(u32, f64),
    Reweigh(usize, f64, f64),
}

fn quantity() -> impl Strategy<Value = f64> {
    // Round values make ties, the others make generic positions.
    prop_oneof![(1u32..8).prop_map(f64::from), 0.01f64..100.0]
}

fn bound() -> impl Strategy<Value = f64> {
    prop_oneof![3 => Just(FREE), 2 => quantity()]
}

fn uses(constraints: u32) -> impl Strategy<Value = Vec<(u32, f64)>> {
    let coefficient = prop_oneof![4 => Just(1.0), 1 => Just(0.05), 1 => quantity()];
    prop::collection::btree_map(0..constraints, coefficient, 0..5)
        .prop_map(|map| map.into_iter().collect())
}

fn change(constraints: u32) -> impl Strategy<Value = Change> {
    prop_oneof![
        5 => (quantity(), bound(), uses(constraints))
            .prop_map(|(weight, bound, uses)| Change::Arrive { weight, bound, uses }),
        3 => any::<prop::sample::Index>().prop_map(|i| Change::Depart(i.index(1 << 20))),
        1 => (0..constraints, prop_oneof![9 => quantity(), 1 => Just(0.0)])
            .prop_map(|(c, capacity)| Change::Capacity(c, capacity)),
        1 => (any::<prop::sample::Index>(), quantity(), bound())
            .prop_map(|(i, weight, bound)| Change::Reweigh(i.index(1 << 20), weight, bound)),
    ]
}

/// One of those alive goes.
fn depart(s: &mut System, alive: &mut Vec<(u32, f64)>, which: usize) {
    let (gone, _) = alive.swap_remove(which);
    s.detach(gone);
    s.release(gone);
}

/// Solves after some changes.
fn check_solution(s: &mut System, alive: &[(u32, f64)]) -> Result<(), TestCaseError> {
    s.solve_max_min();
    s.acknowledge();
    check_certificate(s, alive)
}

/// Feasible, and everybody is at the bound or has the highest level on a saturated constraint.
fn check_certificate(s: &System, alive: &[(u32, f64)]) -> Result<(), TestCaseError> {
    for c in 0..s.constraint_count() as u32 {
        let (load, capacity) = (s.load(c), s.capacity(c));
        prop_assert!(load <= capacity * (1.0 + 1e-9) + 1e-12, "{load} on {capacity}");
    }
    for &(id, bound) in alive {
        let rate = s.rate(id);
        prop_assert!(rate <= bound * (1.0 + 1e-9));
        let at_bound = rate >= bound * (1.0 - 1e-9);
        let at_bottleneck = s.uses(id).any(|used| {
            let c = used.constraint;
            let saturated = s.load(c) >= s.capacity(c) * (1.0 - 1e-9) - 1e-12;
            let mine = rate * s.weight(id);
            saturated
                && s.crossing(c).all(|v| s.rate(v) * s.weight(v) <= mine * (1.0 + 1e-9) + 1e-12)
        });
        let free = s.uses(id).len() == 0 && bound == FREE;
        prop_assert!(at_bound || at_bottleneck || free, "nothing holds variable {id} at {rate}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(slackline_testkit::cases(600))]

    #[test]
    fn incremental_solution_is_optimal_and_equals_the_whole(
        capacities in prop::collection::vec(quantity(), 1..12),
        batches in prop::collection::vec(prop::collection::vec(change(11), 1..6), 1..30),
    ) {
        let constraints = capacities.len() as u32;
        let mut s = system(&capacities);
        let mut alive: Vec<(u32, f64)> = Vec::new();
        let mut next = 0;
        for batch in batches {
            for change in batch {
                match change {
                    Change::Arrive { weight, bound, mut uses } => {
                        uses.retain(|&(c, _)| c < constraints);
                        add(&mut s, next, weight, bound, &uses);
                        alive.push((next, bound));
                        next += 1;
                    }
                    Change::Depart(k) if !alive.is_empty() => {
                        let gone = k % alive.len();
                        depart(&mut s, &mut alive, gone);
                    }
                    Change::Capacity(c, capacity) if c < constraints => s.set_capacity(c, capacity),
                    Change::Reweigh(k, weight, bound) if !alive.is_empty() => {
                        let k = k % alive.len();
                        s.reweigh(alive[k].0, weight, bound);
                        alive[k].1 = bound;
                    }
                    _ => {}
                }
            }
            s.solve_max_min();
            check_certificate(&s, &alive)?;
            let mut whole = s.clone();
            whole.solve_whole();
            for &(id, _) in &alive {
                let (a, b) = (s.rate(id), whole.rate(id));
                prop_assert!(a == b || (a - b).abs() <= 1e-9 * b, "{a} against {b}");
            }
        }
    }

    #[test]
    fn a_hub_shared_by_many_is_solved_right(
        capacity in quantity(),
        spokes in prop::collection::vec(1.0f64..400.0, 6),
        changes in prop::collection::vec((any::<bool>(), 0u32..6, bound(), any::<prop::sample::Index>()), 20..120),
    ) {
        // Everybody crosses the hub and one spoke; spokes are saturated now and then.
        let mut s = system(&[capacity * 5.0]);
        spokes.iter().for_each(|&spoke| { s.add_constraint(spoke); });
        let mut alive: Vec<(u32, f64)> = Vec::new();
        for (id, (arrives, spoke, bound, who)) in changes.into_iter().enumerate() {
            if arrives || alive.len() < 25 {
                add(&mut s, id as u32, 1.0, bound, &[(0, 1.0), (spoke + 1, 1.0)]);
                alive.push((id as u32, bound));
            } else {
                let gone = who.index(alive.len());
                depart(&mut s, &mut alive, gone);
            }
            check_solution(&mut s, &alive)?;
        }
    }

    #[test]
    fn fair_bottleneck_is_feasible_and_wastes_nothing(
        capacities in prop::collection::vec(quantity(), 1..8),
        tasks in prop::collection::vec((bound(), uses(7)), 1..15),
    ) {
        let constraints = capacities.len() as u32;
        let mut s = fair_system(&capacities);
        for (id, (bound, uses)) in tasks.iter().enumerate() {
            let uses: Vec<_> = uses.iter().copied().filter(|&(c, _)| c < constraints).collect();
            add(&mut s, id as u32, 1.0, *bound, &uses);
        }
        s.solve_fair_bottleneck();
        for c in 0..constraints {
            prop_assert!(s.load(c) <= s.capacity(c) * (1.0 + 1e-9));
        }
        for (id, (bound, _)) in tasks.iter().enumerate() {
            let id = id as u32;
            let exhausted = s.uses(id).any(|u| s.load(u.constraint) >= s.capacity(u.constraint) * (1.0 - 1e-6));
            let free = s.uses(id).len() == 0;
            prop_assert!(exhausted || free || s.rate(id) >= bound * (1.0 - 1e-6));
        }
    }
}

proptest! {
    #![proptest_config(slackline_testkit::cases(150))]

    #[test]
    fn many_flows_between_few_hosts_are_solved_right(
        hosts in 2u32..8,
        capacities in prop::collection::vec(prop_oneof![Just(100.0), 30.0f64..150.0], 16),
        flows in prop::collection::vec((0u32..8, 0u32..7, bound()), 40..200),
        batches in prop::collection::vec((any::<bool>(), 1usize..40, any::<prop::sample::Index>()), 5..40),
    ) {
        // Every host has a way up and one down, and acknowledgements take their part of the other. Links are
        // about as full as each other: with almost every change some flows are held by another one.
        let mut s = system(&capacities[..2 * hosts as usize]);
        let mut alive: Vec<(u32, f64)> = Vec::new();
        let mut next = 0;
        for (arrive, many, who) in batches {
            for k in 0..many {
                if arrive {
                    let (from, hop, bound) = flows[next as usize % flows.len()];
                    let from = from % hosts;
                    let to = (from + 1 + hop % (hosts - 1)) % hosts;
                    let there = [(2 * from, 1.0), (2 * to + 1, 1.0)];
                    let back = [(2 * from + 1, 0.05), (2 * to, 0.05)];
                    add(&mut s, next, 1.0, bound, &[there, back].concat());
                    alive.push((next, bound));
                    next += 1;
                } else if !alive.is_empty() {
                    let gone = (who.index(1 << 20) + k) % alive.len();
                    depart(&mut s, &mut alive, gone);
                }
                if k % 4 == 0 {
                    s.solve_max_min();
                    s.acknowledge();
                }
            }
            check_solution(&mut s, &alive)?;
        }
    }

    #[test]
    fn two_hubs_and_their_spokes_are_solved_right(
        hubs in (20.0f64..400.0, 20.0f64..400.0),
        spokes in prop::collection::vec(5.0f64..100.0, 8),
        changes in prop::collection::vec(
            (0u32..16, 0u32..8, 0u32..8, 0u32..4, quantity(), any::<bool>(), any::<prop::sample::Index>()),
            60..200,
        ),
    ) {
        // Up one spoke, over one hub or both, down another: spokes and hubs are saturated in
        // turns, and variables move from one to the other. Some have a bound, some a weight.
        let mut s = system(&[hubs.0, hubs.1]);
        spokes.iter().for_each(|&spoke| { s.add_constraint(spoke); });
        let mut alive: Vec<(u32, f64)> = Vec::new();
        for (id, (kind, up, down, over, amount, weighs, who)) in changes.into_iter().enumerate() {
            let id = id as u32;
            if kind == 15 {
                // Nothing at all now and then: then the rates are exactly zero.
                s.set_capacity(over % 2, if weighs { 10.0 * amount } else { 0.0 });
            } else if kind < 8 || alive.len() < 30 {
                let mut uses = vec![(2 + up, 1.0)];
                if over != 1 { uses.push((0, 1.0)); }
                if over > 0 { uses.push((1, 1.0)); }
                if down != up { uses.push((2 + down, 1.0)); }
                let weight = if weighs { amount } else { 1.0 };
                let bound = if over == 3 { amount } else { FREE };
                add(&mut s, id, weight, bound, &uses);
                alive.push((id, bound));
            } else {
                let gone = who.index(alive.len());
                depart(&mut s, &mut alive, gone);
            }
            check_solution(&mut s, &alive)?;
            let mut whole = s.clone();
            whole.solve_whole();
            for &(id, _) in &alive {
                let (a, b) = (s.rate(id), whole.rate(id));
                prop_assert!((a - b).abs() <= 1e-10 * b, "{a} against {b}");
            }
        }
    }
}
