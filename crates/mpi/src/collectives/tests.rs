//! The messages of collectives: sender, receiver and bytes.

use super::*;
use std::cell::Cell;

/// Messages in the order of the senders, and of each in that of its script.
type Messages = Vec<(usize, u32, u64)>;

/// Those of a call whose rank r is on `hosts[r]`.
fn of(
    hosts: &[u32],
    call: &Call,
    work: &dyn Fn(&Call, &mut Team<'_>),
    choice: &Choice,
) -> Messages {
    let layout = Layout::new(hosts.iter().copied());
    let mut all = Vec::new();
    for me in 0..hosts.len() {
        let (queried, mut script) = (Cell::new(false), Script::default());
        work(call, &mut Team::new(me as u32, &layout, choice, &queried, &mut script));
        for op in &script.ops {
            match *op {
                Op::Isend { to, bytes } | Op::Send { to, bytes } | Op::Ssend { to, bytes } => {
                    all.push((me, to, bytes));
                }
                _ => {}
            }
        }
    }
    all
}

/// Returns the messages of a selector's choice.
fn selected(selector: Selector, hosts: &[u32], call: &Call) -> Messages {
    of(hosts, call, &|call, team| team.run(call), &Choice::of(selector))
}

/// Returns the messages of a named algorithm, when the rest is chosen by a selector.
fn named(name: &str, selector: Selector, hosts: &[u32], call: &Call) -> Messages {
    let known = algorithms(call.kind).iter().find(|(known, _)| *known == name);
    of(hosts, call, &|call, team| known.unwrap().1(call, team), &Choice::of(selector))
}

fn spread(ranks: u32) -> Vec<u32> {
    (0..ranks).collect()
}

fn rooted(kind: Kind, bytes: u64, root: u32) -> Call {
    Call { root, ..Call::new(kind, bytes) }
}

#[test]
fn mvapich2_broadcasts_host_by_host() {
    // To the first rank of the root's host, over the first ranks, then inside.
    let two_hosts = [0, 0, 0, 1, 1, 1];
    let small = selected(Selector::Mvapich2, &two_hosts, &rooted(Kind::Bcast, 100, 1));
    let expected = [(0, 3, 100), (0, 2, 100), (0, 1, 100), (1, 0, 100), (3, 5, 100), (3, 4, 100)];
    assert_eq!(small, expected);
    // Inside, and over 17 to 64 hosts, as MPICH does where hosts do not matter.
    for (ranks, bytes, name) in [
        (20, 12_287, "binomial_tree"),
        (20, 12_288, "scatter_rdb_allgather"),
        (20, 524_287, "scatter_rdb_allgather"),
        (20, 524_288, "scatter_LR_allgather"),
        (19, 12_288, "scatter_LR_allgather"),
        (8, 524_288, "binomial_tree"),
    ] {
        let call = rooted(Kind::Bcast, bytes, 0);
        let one_host = vec![0; ranks];
        let plain = named(name, Selector::Default, &one_host, &call);
        assert_eq!(selected(Selector::Mvapich2, &one_host, &call), plain, "{ranks} {bytes}");
        if ranks > 16 {
            let hosts = spread(ranks as u32);
            assert_eq!(selected(Selector::Mvapich2, &hosts, &call), plain, "{ranks} {bytes}");
        }
    }
    // Up to 16 ranks it has a rule of its own over the hosts.
    let call = rooted(Kind::Bcast, 400_000, 0);
    let own = named("scatter_rdb_allgather", Selector::Default, &spread(13), &call);
    assert_eq!(selected(Selector::Mvapich2, &spread(13), &call), own);
}

#[test]
fn reductions_of_mpich_go_host_by_host() {
    // Nine ranks on five hosts: inside, over the hosts to that of the root, and to the root.
    let hosts = [0, 0, 1, 1, 2, 2, 3, 3, 4];
    let expected = [
        (0, 1, 100),
        (1, 0, 100),
        (2, 0, 100),
        (3, 2, 100),
        (4, 0, 100),
        (5, 4, 100),
        (6, 4, 100),
        (7, 6, 100),
        (8, 0, 100),
    ];
    assert_eq!(selected(Selector::Mpich, &hosts, &rooted(Kind::Reduce, 100, 1)), expected);
    // A tree below 2,048 bytes, scattered from there on.
    for (bytes, name) in [(2047, "binomial"), (2048, "scatter_gather")] {
        let call = rooted(Kind::Reduce, bytes, 1);
        let plain = named(name, Selector::Default, &spread(8), &call);
        assert_eq!(selected(Selector::Mpich, &spread(8), &call), plain, "{bytes}");
    }
}

#[test]
fn two_level_reductions_on_one_host() {
    let small = selected(Selector::Mpich, &[0; 4], &rooted(Kind::Reduce, 2048, 2));
    assert_eq!(small, [(0, 2, 2048), (1, 0, 2048), (2, 0, 2048), (3, 0, 2048)]);
    for selector in [Selector::Mpich, Selector::Mvapich2] {
        let call = rooted(Kind::Reduce, 2049, 2);
        let knomial = named("mvapich2_knomial", Selector::Default, &[0; 6], &call);
        assert_eq!(selected(selector, &[0; 6], &call), knomial);
    }
}

#[test]
fn ring_allreduces_leave_the_rest_to_what_is_selected() {
    let (twenty, ompi) = (spread(20), Selector::Ompi);
    let call = |kind, elements: u64| Call { unit: 8, ..Call::new(kind, 8 * elements) };
    // Fewer elements than ranks: the selected reduction, then the selected broadcast.
    let few = of(
        &twenty,
        &call(Kind::Allreduce, 1),
        &|_, team| {
            team.run(&call(Kind::Reduce, 1));
            team.run(&call(Kind::Bcast, 1));
        },
        &Choice::of(ompi),
    );
    assert_eq!(selected(ompi, &twenty, &call(Kind::Allreduce, 1)), few);
    let simple = named("default", Selector::Default, &twenty, &call(Kind::Allreduce, 1));
    assert_ne!(few, simple);
    // Two elements more than ranks: the ring, then the selected allreduce of two.
    let mut all = named("lr", ompi, &twenty, &call(Kind::Allreduce, 20));
    all.extend(selected(ompi, &twenty, &call(Kind::Allreduce, 2)));
    all.sort();
    let mut found = named("lr", ompi, &twenty, &call(Kind::Allreduce, 22));
    found.sort();
    assert_eq!(found, all);
}

#[test]
fn a_cube_of_eighteen_is_three_by_three_by_two() {
    let sent = named("3dmesh", Selector::Default, &spread(18), &Call::new(Kind::Allgather, 10));
    let first: Vec<(u32, u64)> =
        sent.iter().filter(|(from, ..)| *from == 0).map(|&(_, to, bytes)| (to, bytes)).collect();
    assert_eq!(first, [(1, 10), (2, 10), (3, 30), (6, 30), (9, 90)]);
}

#[test]
fn reduce_scatters_of_unequal_blocks_count_elements() {
    let of = |unit: u64| {
        let counts: Vec<u64> = (9000..9008).map(|count| count * unit).collect();
        let bytes = counts.iter().sum();
        Call { unit, counts: counts.into(), ..Call::new(Kind::ReduceScatter, bytes) }
    };
    let eight = spread(8);
    // 72,028 doubles are more than 524,288 bytes and fewer than that many elements.
    let doubling = named("mpich_rdb", Selector::Default, &eight, &of(8));
    assert_eq!(selected(Selector::Default, &eight, &of(8)), doubling);
    assert_eq!(selected(Selector::Mpich, &eight, &of(8)), doubling);
}

#[test]
fn in_the_background_everything_is_posted_at_once() {
    let three = spread(3);
    let counts: Box<[u64]> = [1, 2, 3].into();
    for selector in [Selector::Default, Selector::Ompi, Selector::Impi] {
        let sent = |call: Call| {
            let Call { kind, .. } = call;
            let work = in_background(kind).algorithm;
            of(&three, &call, &work, &Choice::of(selector))
        };
        let to_root = [(0, 1, 9), (2, 1, 9)];
        let from_root = [(1, 0, 9), (1, 2, 9)];
        let to_all = [(0, 1, 9), (0, 2, 9), (1, 0, 9), (1, 2, 9), (2, 0, 9), (2, 1, 9)];
        for kind in [Kind::Reduce, Kind::Gather, Kind::Gatherv] {
            assert_eq!(sent(rooted(kind, 9, 1)), to_root);
        }
        for kind in [Kind::Bcast, Kind::Scatter] {
            assert_eq!(sent(rooted(kind, 9, 1)), from_root);
        }
        for kind in [Kind::Allgather, Kind::Allgatherv, Kind::Allreduce, Kind::Alltoall] {
            assert_eq!(sent(Call::new(kind, 9)), to_all);
        }
        for kind in [Kind::Alltoallv, Kind::ReduceScatter] {
            let blocks = Call { counts: counts.clone(), ..Call::new(kind, 6) };
            let expected = [(0, 1, 2), (0, 2, 3), (1, 0, 1), (1, 2, 3), (2, 0, 1), (2, 1, 2)];
            assert_eq!(sent(blocks), expected);
        }
        for kind in [Kind::Scan, Kind::Exscan] {
            assert_eq!(sent(Call::new(kind, 9)), [(0, 1, 9), (0, 2, 9), (1, 2, 9)]);
        }
        let barrier = [(0, 1, 0), (0, 2, 0), (1, 0, 0), (2, 0, 0)];
        assert_eq!(sent(Call::new(Kind::Barrier, 0)), barrier);
    }
}
