//! Traces that make no sense get a message with place and cause.

use crate::common;

use common::{platform, try_replay};

fn complaint(trace: &str) -> String {
    match try_replay(&platform("star"), trace, &[]) {
        Ok(_) => panic!("accepted: {trace}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (trace, place, cause) in [
        ("0 init\n0 jump 1\n", "t.tit:2:3", "unknown action `jump`"),
        ("0 send 1\n1 recv 0 0 1\n", "t.tit:1:9", "is missing"),
        ("0 barrier 3\n", "t.tit:1:11", "too many arguments"),
        ("0 send 7 0 10\n1 recv 0 0 10\n", "t.tit:1", "no rank 7"),
        ("0 bcast 10 5\n1 bcast 10 5\n", "t.tit:1", "no rank 5"),
        ("0 bcast 10\n1 barrier\n", "t.tit:2", "rank 1 does barrier where rank 0 does bcast"),
        ("0 bcast 10\n1 bcast 20\n", "t.tit:2", "bcast of 20 bytes"),
        ("0 send 1 0 100\n1 recv 0 0 10\n", "t.tit:2", "truncation"),
        ("0 compute NaN\n", "t.tit:1:11", "not a number"),
        ("0 compute -1\n", "t.tit:1:11", "not a number from 0 on"),
        ("0 send 1 0 -5\n1 recv 0 0 5\n", "t.tit:1:12", "not a count"),
        ("0 wait 0 1 5\n", "t.tit:1", "no such request"),
        ("0 init\n0 compute 1\n", "t.tit:2", "no `finalize`"),
        ("0 init\n0 finalize\n0 compute 1\n", "t.tit:3", "after `finalize`"),
        ("0 send -333 0 10\n", "t.tit:1", "MPI_PROC_NULL"),
        ("0 recv -333 0 10\n", "t.tit:1", "MPI_ANY_SOURCE"),
        ("0 irecv -333 -444 10\n", "t.tit:1", "-trace-ti"),
        ("0 recv 1 -444 10\n1 send 0 7 10\n", "t.tit:1", "MPI_ANY_TAG"),
        ("0 comp", "t.tit:1:3", "unknown action"),
        ("# nothing\n", "t.tit", "holds no action"),
        ("2 compute 1\n", "t.tit", "rank 0 does nothing"),
    ] {
        let message = complaint(trace);
        assert!(message.contains(place) && message.contains(cause), "{trace:?}: {message}");
    }
}

#[test]
fn what_finds_no_other_side_is_listed() {
    let message = complaint("0 send 1 3 10\n1 compute 1\n");
    assert!(message.contains("t.tit:1:1: rank 0 sent 10 bytes to rank 1 (tag 3)"), "{message}");
    let message = complaint("0 irecv 1 0 10\n1 compute 1\n");
    assert!(message.contains("t.tit:1:1: rank 0 waits for a message from rank 1"), "{message}");
}

#[test]
fn a_deadlock_names_every_rank_and_what_it_waits_for() {
    let message = complaint(
        "0 send 1 0 100000\n0 recv 1 0 100000\n1 send 0 0 100000\n1 recv 0 0 100000\n2 barrier\n",
    );
    for part in [
        "t.tit:1:1: rank 0 waits in send for rank 1 to receive 100000 bytes",
        "t.tit:3:1: rank 1 waits in send for rank 0 to receive 100000 bytes",
        "t.tit:5:1: rank 2 waits in barrier for a part of a collective from rank 0",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

/// Nobody looks for ever: one looks again only because a message was sent.
#[test]
fn a_receive_of_unknown_size_may_wait_for_ever() {
    let message = complaint("0 barrier\n0 send 1 0 1e6\n1 recv 0 0 -1\n1 barrier\n");
    for part in [
        "rank 0 waits in barrier for a part of a collective from rank 1",
        "t.tit:3:1: rank 1 waits in receive for a message from rank 0 (tag 0)",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let message = complaint("0 recv -1 -1 -1\n1 recv 0 4 -1\n1 send 0 0 1\n");
    assert!(message.contains("rank 0 waits in receive for a message from any source (any tag)"));
    assert!(message.contains("rank 1 waits in receive for a message from rank 0 (tag 4)"));
}

#[test]
fn a_last_line_may_lack_its_end() {
    assert_eq!(try_replay(&platform("star"), "0 compute 1e9", &[]).unwrap().makespan, 1.0);
}
