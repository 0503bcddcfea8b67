//! The published methods as combinations of the parts, for the registry.

use super::{Abort, Concurrent, FdwsQueues, Order, Place, Pool, TimeLeft};
use crate::registry::{Entry, Made, Making};
use slackline_model::parameter::{Kind, Parameter};
use slackline_schedule::Need;

const FAIR: &str = "Arabnejad, Barbosa, ISPA, 2012";
const FAIR_LATER: &str = "Arabnejad, Barbosa, Suter, 2014";
const BUDGETS: &str = "Arabnejad, Barbosa, 2015";
const DEADLINES: &str = "Arabnejad, Barbosa, 2017";

const fn entry(
    name: &'static str,
    about: &'static str,
    source: &'static str,
    make: fn(&Made<'_>) -> Making,
) -> Entry {
    Entry { name, about, source, survives: true, parameters: &[], needs: &[], make }
}

const fn priced(entry: Entry) -> Entry {
    Entry { needs: &[Need::Prices], ..entry }
}

const fn limited(entry: Entry, parameters: &'static [Parameter]) -> Entry {
    priced(Entry { parameters, ..entry })
}

fn parts(pool: Pool, order: Order, place: Place) -> Making {
    Ok(Box::new(Concurrent::new(pool, order, place)))
}

const PROCESSOR: Parameter = Parameter::new(
    "processor",
    Kind::Choice(&["code", "prose"]),
    "code",
    "when a task waits for a busy processor: only while a single one is free, or always",
);
const ORDER: Parameter = Parameter::new(
    "order",
    Kind::Choice(&["desc", "asc"]),
    "desc",
    "which upward rank comes first: the highest or the lowest",
);
const POOL: Parameter = Parameter::new(
    "pool",
    Kind::Choice(&["one", "all"]),
    "one",
    "what competes: one task of each workflow, or all, in the order of rank-hybd",
);
const ABORT: Parameter = Parameter::new(
    "abort",
    Kind::Choice(&["at-deadline", "never", "optimistic"]),
    "at-deadline",
    "when a workflow is given up: past its deadline, never, or once it cannot be kept",
);
const TIME: Parameter = Parameter::new(
    "time",
    Kind::Choice(&["printed", "sd", "remaining"]),
    "printed",
    "time left in rank_D: (D-SD)/D, SD/D, or what remains until the deadline over D",
);

pub(crate) const RANK_HYBD: Entry = entry(
    "rank-hybd",
    "several workflows: all ready tasks, the shortest rests first",
    "Yu, Shi, ICPPW, 2008",
    |_| parts(Pool::All, Order::Hybrid, Place::FirstFinish),
);

pub(crate) const OWM: Entry = Entry {
    parameters: &[PROCESSOR, ORDER, POOL],
    ..entry(
        "owm",
        "several workflows: one task of each, the longest first; may wait for a busy processor",
        "Hsu, Huang, Wang, FGCS, 2011",
        |made| {
            let place = Place::OrWait { always: made.values.word("processor") == "prose" };
            match (made.values.word("pool"), made.values.word("order")) {
                ("all", _) => parts(Pool::All, Order::Hybrid, place),
                (_, "asc") => parts(Pool::OneEach, Order::Shortest, place),
                _ => parts(Pool::OneEach, Order::Longest, place),
            }
        },
    )
};

pub(crate) const FDWS: Entry = entry(
    "fdws",
    "several workflows, fairly: nearly finished and short ones first",
    FAIR_LATER,
    |_| parts(Pool::OneEach, Order::Progress, Place::FirstFinish),
);

pub(crate) const FDWS_QUEUES: Entry = entry(
    "fdws-queues",
    "FDWS that places a task at once, in the queue of a busy processor if need be",
    FAIR,
    |_| Ok(Box::new(FdwsQueues::default())),
);

pub(crate) const MINMIN: Entry = entry(
    "online-minmin",
    "several workflows: of one task of each, the one that ends first",
    FAIR_LATER,
    |_| parts(Pool::OneEach, Order::EndsFirst, Place::FirstFinish),
);

pub(crate) const MAXMIN: Entry = entry(
    "online-maxmin",
    "several workflows: of one task of each, the one that ends last",
    FAIR_LATER,
    |_| parts(Pool::OneEach, Order::EndsLast, Place::FirstFinish),
);

pub(crate) const FAIRNESS_DYNAMIC: Entry = entry(
    "fairness-dynamic",
    "several workflows: one task of each, the most delayed first",
    "recalled after Hsu, Huang, Wang, FGCS, 2011",
    |_| parts(Pool::OneEach, Order::MostDelayed, Place::FirstFinish),
);

pub(crate) const SRPT: Entry = entry(
    "srpt",
    "several workflows: all ready tasks, the workflow with the least work left first",
    "recalled after Karger, Stein, Wein, 1997",
    |_| parts(Pool::All, Order::LeastWork, Place::FirstFinish),
);

pub(crate) const FCFS: Entry = entry(
    "fcfs",
    "several workflows: all ready tasks, the workflow that arrived first before others",
    "recalled",
    |_| parts(Pool::All, Order::FirstCome, Place::FirstFinish),
);

pub(crate) const B_RANK_HYBD1: Entry = priced(entry(
    "b-rank-hybd1",
    "rank-hybd within budgets: the affordable processor that ends a task first",
    BUDGETS,
    |_| parts(Pool::All, Order::Hybrid, Place::Affordable),
));

pub(crate) const B_RANK_HYBD2: Entry = priced(entry(
    "b-rank-hybd2",
    "rank-hybd within budgets: the best balance of time and cost",
    BUDGETS,
    |_| parts(Pool::All, Order::Hybrid, Place::Quality),
));

pub(crate) const B_FDWS1: Entry = priced(entry(
    "b-fdws1",
    "fdws within budgets: the affordable processor that ends a task first",
    BUDGETS,
    |_| parts(Pool::OneEach, Order::Progress, Place::Affordable),
));

pub(crate) const B_FDWS2: Entry = priced(entry(
    "b-fdws2",
    "fdws within budgets: the best balance of time and cost",
    BUDGETS,
    |_| parts(Pool::OneEach, Order::Progress, Place::Quality),
));

pub(crate) const B_FDWS3: Entry = priced(entry(
    "b-fdws3",
    "within budgets, nearly finished and rich workflows first: where a task ends first",
    BUDGETS,
    |_| parts(Pool::OneEach, Order::Budget, Place::Affordable),
));

pub(crate) const B_FDWS4: Entry = priced(entry(
    "b-fdws4",
    "within budgets, nearly finished and rich workflows first: best balance of time and cost",
    BUDGETS,
    |_| parts(Pool::OneEach, Order::Budget, Place::Quality),
));

fn giving_up(made: &Made<'_>, order: Order, place: Place) -> Making {
    let abort = match made.values.word("abort") {
        "never" => Abort::Never,
        "optimistic" => Abort::Optimistic,
        _ => Abort::AtDeadline,
    };
    Ok(Box::new(Concurrent::new(Pool::OneEach, order, place).with_abort(abort)))
}

pub(crate) const MW_DBS: Entry = limited(
    entry(
        "mw-dbs",
        "as many workflows as possible inside their own deadlines and budgets",
        DEADLINES,
        |made| {
            let left = match made.values.word("time") {
                "sd" => TimeLeft::SubDeadline,
                "remaining" => TimeLeft::Remaining,
                _ => TimeLeft::Printed,
            };
            giving_up(made, Order::Deadline(left), Place::SubDeadline)
        },
    ),
    &[ABORT, TIME],
);

pub(crate) const FDWS2_FT: Entry = limited(
    entry(
        "fdws2-ft",
        "fdws within budgets, giving up the late: where a task ends first",
        DEADLINES,
        |made| giving_up(made, Order::Progress, Place::Affordable),
    ),
    &[ABORT],
);

pub(crate) const FDWS2_Q: Entry = limited(
    entry(
        "fdws2-q",
        "fdws within budgets, giving up the late: the best balance of time and cost",
        DEADLINES,
        |made| giving_up(made, Order::Progress, Place::Quality),
    ),
    &[ABORT],
);

pub(crate) const MW_MINMIN: Entry = limited(
    entry("mw-minmin", "online-minmin within budgets, giving up the late", DEADLINES, |made| {
        giving_up(made, Order::EndsFirst, Place::Affordable)
    }),
    &[ABORT],
);

pub(crate) const MW_MAXMIN: Entry = limited(
    entry("mw-maxmin", "online-maxmin within budgets, giving up the late", DEADLINES, |made| {
        giving_up(made, Order::EndsLast, Place::Affordable)
    }),
    &[ABORT],
);
