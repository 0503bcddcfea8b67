//! Additions of the extended format: request numbers, more waits, communicators, collectives in the
//! background. On the star a message of 10 bytes takes 201.7 us.

use crate::common;

use common::dates;

fn extended(text: &str) -> Vec<Vec<f64>> {
    dates(&format!("#slackline-trace 1\n{text}"), &[])
}

#[test]
fn requests_have_numbers() {
    let text = "0 isend 1 0 100000 req=7\n0 isend 1 0 200000 req=8\n0 wait req=8\n0 wait req=7\n\
        1 irecv 0 0 100000 req=1\n1 irecv 0 0 200000 req=2\n1 waitall req=1,2\n";
    assert_eq!(extended(text), [vec![0.0, 0.0, 3715.9, 3715.9], vec![0.0, 0.0, 3715.9]]);
}

#[test]
fn a_synchronous_send_waits_for_the_receiver() {
    let text = "0 ssend 1 0 10\n1 compute 1e6\n1 recv 0 0 10\n";
    assert_eq!(extended(text), [vec![1201.7], vec![1000.0, 1201.7]]);
}

#[test]
fn one_or_some_of_several() {
    let senders = "1 compute 5e6\n1 send 0 0 10\n2 compute 1e6\n2 send 0 0 10\n";
    let posts = "0 irecv 1 0 10 req=1\n0 irecv 2 0 10 req=2\n";
    let any = extended(&format!("{posts}0 waitany req=1,2\n0 waitany req=1,2\n{senders}"));
    assert_eq!(any[0], [0.0, 0.0, 1201.7, 5201.7]);
    let some = extended(&format!("{posts}0 waitsome req=1,2\n0 waitsome req=1,2\n{senders}"));
    assert_eq!(some[0], [0.0, 0.0, 1201.7, 5201.7]);
    let tests =
        extended(&format!("{posts}0 testall req=1,2\n0 compute 6e6\n0 testall req=1,2\n{senders}"));
    // The second test costs twice as much, as the first one failed.
    assert_eq!(tests[0], [0.0, 0.0, 100.0, 6100.0, 6300.0]);
}

#[test]
fn a_probe_waits_for_the_send() {
    for source in ["1", "-1"] {
        let text = format!("0 probe {source} 0\n0 recv 1 0 10\n1 compute 1e6\n1 send 0 0 10\n");
        assert_eq!(extended(&text), [vec![1000.0, 1201.7], vec![1000.0, 1000.0]]);
    }
}

#[test]
fn anybody_is_whoever_sends_first() {
    let text = "0 recv -1 0 10\n0 recv -1 0 20\n1 compute 5e6\n1 send 0 0 20\n2 compute 1e6\n2 send 0 0 10\n";
    let expected = extended(text);
    assert_eq!(expected[0], [1201.7, 5201.8]);
}

#[test]
fn prepared_requests_start_again_and_again() {
    let text = "0 send_init 1 0 10 req=1\n0 start req=1\n0 wait req=1\n0 start req=1\n0 wait req=1\n\
        1 recv_init 0 0 10 req=3\n1 start req=3\n1 wait req=3\n1 compute 1e6\n1 start req=3\n1 wait req=3\n";
    assert_eq!(extended(text)[1], [0.0, 0.0, 201.7, 1201.7, 1201.7, 1403.4]);
}

#[test]
fn collectives_go_on_in_the_background() {
    let text = "0 ibcast 1000 0 req=1\n0 compute 1e6\n0 wait req=1\n1 ibcast 1000 0 req=4\n\
        1 compute 1e5\n1 wait req=4\n2 ibcast 1000 0 req=4\n2 wait req=4\n";
    let expected = [vec![0.0, 1000.0, 1000.0], vec![0.0, 100.0, 242.6], vec![0.0, 242.6]];
    assert_eq!(extended(text), expected);
}

/// Rank 0 answers an `ibarrier` without waiting for the others: a late rank delays only itself.
#[test]
fn a_barrier_in_the_background_waits_for_rank_0_alone() {
    let text = "0 ibarrier req=1\n0 wait req=1\n1 compute 1e6\n1 ibarrier req=1\n1 wait req=1\n\
        2 ibarrier req=1\n2 wait req=1\n";
    let found = extended(text);
    // A message of 0 bytes takes 201.6 us; rank 0 gets the one of the last rank.
    assert_eq!(found[2], [0.0, 201.6]);
    assert_eq!((found[0][1], found[1][2]), (1201.6, 1201.6));
}

/// A rank pays for posts in the background: `ois` before it continues, `or` when it waits.
#[test]
fn collectives_in_the_background_cost_overheads() {
    let text = "0 ibcast 1000 0 req=1\n0 wait req=1\n1 ibcast 1000 0 req=1\n1 compute 1e6\n1 wait req=1\n\
        2 ibcast 1000 0 req=1\n2 compute 1e6\n2 wait req=1\n";
    let text = format!("#slackline-trace 1\n{text}");
    let found = dates(&text, &["smpi/ois=0:1e-5:0", "smpi/or=0:3e-5:0"]);
    assert_eq!(found[0], [20.0, 20.0]);
    assert_eq!(found[1], [0.0, 1000.0, 1030.0]);
    assert_eq!(found[2], [0.0, 1000.0, 1030.0]);
}

/// If sends wait for their receivers, rank 0 sends to one colour after the other.
#[test]
fn communicators_are_told_colour_by_colour() {
    // Ranks 1 and 3 are of colour 0, rank 2 of colour 1. The answers to one colour travel at once.
    let text = "0 comm_split 1 0\n1 comm_split 1 0\n2 comm_split 1 1\n3 comm_split 1 0\n";
    let text = format!("#slackline-trace 1\n{text}");
    let end = |changes: &[&str]| dates(&text, changes)[2][0];
    // 8 bytes take 201.7 us and little more where they share a link: to rank 0, to colour 0, to colour 1.
    assert!((605.0..607.0).contains(&end(&["smpi/send-is-detached-thresh=0"])));
    assert!((403.0..406.0).contains(&end(&[])));
}

#[test]
fn communicators_have_their_own_ranks_and_messages() {
    // Odd and even ranks apart; then each group reduces and broadcasts from its rank 1.
    let text: String = (0..6)
        .map(|r| {
            format!(
                "{r} comm_split 1 {} {r}\n{r} allreduce 1000 0 comm=1\n{r} bcast 100 1 comm=1\n",
                r % 2
            )
        })
        .collect();
    let split = extended(&text);
    assert_eq!(split[0], [202.6, 849.7, 1296.0]);
    assert_eq!(split[3], [607.2, 1092.3, 1092.3]);
    let apart = "0 comm_dup 5\n0 send 1 0 100 comm=5\n0 send 1 0 50\n\
        1 comm_dup 5\n1 recv 0 0 50\n1 recv 0 0 100 comm=5\n";
    assert_eq!(extended(apart)[1].len(), 3);
    let some = "0 comm_create 2 3 1\n1 comm_create 2 3 1\n1 bcast 100 0 comm=2\n\
        2 comm_create 2 3 1\n3 comm_create 2 3 1\n3 bcast 100 0 comm=2\n";
    assert_eq!(extended(some)[1], [201.7, 404.3]);
}

/// Members alone make a communicator, the n-th call of each the n-th one; different groups make theirs in one call.
#[test]
fn groups_make_communicators() {
    let alone = "0 comm_create_group 2 1 0\n0 bcast 100 1 comm=2\n1 comm_create_group 2 1 0\n1 bcast 100 1 comm=2\n\
        1 comm_create_group 4 1 0\n0 comm_create_group 4 1 0\n0 send 0 7 100 comm=4\n1 recv 1 7 100 comm=4\n\
        2 compute 1e6\n";
    let dates = extended(alone);
    assert_eq!((dates[1].len(), &dates[2]), (4, &vec![1000.0]));
    let apart = "0 comm_create 2 0 2\n1 comm_create 2 1 3\n2 comm_create 2 0 2\n3 comm_create 2 1 3\n\
        0 send 1 0 100 comm=2\n2 recv 0 0 100 comm=2\n1 send 1 0 300 comm=2\n3 recv 0 0 300 comm=2\n";
    assert_eq!(extended(apart)[3].len(), 2);
}

/// The transfer of a put or get starts with the call; the other side has no part in it.
#[test]
fn one_sided_transfers_start_with_their_calls() {
    let sent = extended("0 isend 1 0 100 req=1\n1 recv 0 0 100\n")[1][0];
    let put = extended(
        "0 comm_window 1\n0 put 1 0 100 comm=1 req=1\n1 comm_window 1\n1 compute 1e5\n1 irecv 0 0 100 comm=1 req=2\n1 wait req=2\n",
    );
    assert_eq!(put[0], [0.0, 0.0]);
    assert_eq!(put[1].last(), Some(&sent));
    let get = extended(
        "0 comm_window 1\n0 get 1 0 100 comm=1 req=1\n0 wait req=1\n1 comm_window 1\n1 compute 5e6\n",
    );
    assert_eq!(get[0].last(), Some(&sent));
}

/// A receive of unknown size looks every `smpi/iprobe` seconds, and once at least.
#[test]
fn a_message_of_unknown_size_is_found_by_a_look() {
    let found = |sender: &str, pause: &str, grow: &str| {
        let changes = [format!("smpi/iprobe:{pause}"), format!("smpi/grow-injected-times:{grow}")];
        let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
        dates(&format!("0 compute {sender}\n0 send 1 0 10\n1 recv 0 0 -1\n"), &changes)[1][0]
    };
    assert_eq!(found("0", "5e-4", "no"), 701.7);
    assert_eq!(found("1.6e6", "5e-4", "no"), 2201.7);
    assert_eq!(found("1.6e6", "5e-4", "yes"), 3201.7); // 500, 1500, 3000
    assert_eq!(found("1.6e6", "0", "no"), 1801.7);
    // Looks through thirty years are as quick.
    assert!((found("1e18", "1e-6", "no") / 1e6 - 1e9).abs() < 0.1);
}

/// Also where the message of another was known before.
#[test]
fn looks_for_anybody_find_whoever_sends_first() {
    let text = "0 compute 5e6\n0 send 1 0 20\n1 recv -1 0 -1\n1 recv -1 0 -1\n2 compute 1e6\n2 send 1 0 10\n";
    let changes = ["smpi/iprobe:4e-4", "smpi/grow-injected-times:no"];
    // Seen at 1200; then nine looks from 1401.7 on.
    assert_eq!(dates(text, &changes)[1], [1401.7, 5203.5]);
}

/// Each message of its own rank costs a test, whether it is over or not; the first receive is looked at too early.
#[test]
fn tests_of_collectives_in_the_background_look_at_every_message() {
    let rank = |r: u32| format!("{r} ibarrier req=1\n{r} test req=1\n{r} test req=1\n");
    let dates = dates(
        &format!("#slackline-trace 1\n{}{}{}", rank(0), rank(1), rank(2)),
        &["smpi/grow-injected-times:no"],
    );
    // Rank 0 receives two words and sends two, the others send one and receive one.
    assert_eq!(dates[0], [0.0, 500.0, 1000.0]);
    assert_eq!(dates[1][..2], [0.0, 300.0]);
}

/// Of two ranks that a date wakes, the one whose message was sent first acts first.
#[test]
fn ranks_act_in_the_order_in_which_they_are_woken() {
    for eager in ["0", "70000"] {
        let first_received = |first: u32, second: u32| {
            let text = format!(
                "#slackline-trace 1\n0 isend {first} 0 10 req=1\n0 isend {second} 0 10 req=2\n\
                 0 recv -1 5 100000\n0 recv -1 5 100000\n\
                 1 recv 0 0 10\n1 send 0 5 20000\n2 recv 0 0 10\n2 send 0 5 10\n"
            );
            dates(&text, &[&format!("smpi/async-small-thresh:{eager}")])[0][2]
        };
        // A receive from any source takes the message that was sent first, also where it arrives later.
        assert!(first_received(2, 1) < first_received(1, 2), "{eager}");
    }
}
