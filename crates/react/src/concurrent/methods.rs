//! The published methods as combinations of the parts, for the registry.

use super::{
    Abort, Concurrent, Ensemble, Exclusive, FdwsQueues, Inside, Order, Place, Pool, TimeLeft,
};
use crate::registry::{Entry, Making, PolicyArguments};
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
    make: fn(&PolicyArguments<'_>) -> Making,
) -> Entry {
    Entry { name, about, source, survives: true, parameters: &[], needs: &[Need::OneHost], make }
}

const fn priced(entry: Entry) -> Entry {
    Entry { needs: &[Need::Prices, Need::OneHost], ..entry }
}

const fn limited(entry: Entry, parameters: &'static [Parameter]) -> Entry {
    priced(Entry { parameters, ..entry })
}

fn parts(pool: Pool, order: Order, place: Place) -> Making {
    Ok(Box::new(Concurrent::new(pool, order, place)))
}

/// A method that is three parts and nothing else.
macro_rules! three {
    ($name:literal, $about:literal, $source:expr, $pool:ident, $order:ident, $place:ident) => {
        entry($name, $about, $source, |_| parts(Pool::$pool, Order::$order, Place::$place))
    };
}

/// One within budgets that gives up workflows whose time is over.
macro_rules! until_late {
    ($name:literal, $about:literal, $order:ident, $place:ident) => {
        limited(
            entry($name, $about, DEADLINES, |made| giving_up(made, Order::$order, Place::$place)),
            &[ABORT],
        )
    };
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

pub(crate) const RANK_HYBD: Entry = three!(
    "rank-hybd",
    "several workflows: all ready tasks, the shortest rests first",
    "Yu, Shi, ICPPW, 2008",
    All,
    Hybrid,
    FirstFinish
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

pub(crate) const FDWS: Entry = three!(
    "fdws",
    "several workflows, fairly: nearly finished and short ones first",
    FAIR_LATER,
    OneEach,
    Progress,
    FirstFinish
);

pub(crate) const FDWS_QUEUES: Entry = entry(
    "fdws-queues",
    "FDWS that places a task at once, in the queue of a busy processor if need be",
    FAIR,
    |_| Ok(Box::new(FdwsQueues::default())),
);

pub(crate) const MINMIN: Entry = three!(
    "online-minmin",
    "several workflows: of one task of each, the one that ends first",
    FAIR_LATER,
    OneEach,
    EndsFirst,
    FirstFinish
);

pub(crate) const MAXMIN: Entry = three!(
    "online-maxmin",
    "several workflows: of one task of each, the one that ends last",
    FAIR_LATER,
    OneEach,
    EndsLast,
    FirstFinish
);

pub(crate) const FAIRNESS_DYNAMIC: Entry = three!(
    "fairness-dynamic",
    "several workflows: one task of each, the most delayed first",
    "recalled after Hsu, Huang, Wang, FGCS, 2011",
    OneEach,
    MostDelayed,
    FirstFinish
);

pub(crate) const SRPT: Entry = three!(
    "srpt",
    "several workflows: all ready tasks, the workflow with the least work left first",
    "recalled after Karger, Stein, Wein, 1997",
    All,
    LeastWork,
    FirstFinish
);

pub(crate) const FCFS: Entry = three!(
    "fcfs",
    "several workflows: all ready tasks, the workflow that arrived first before others",
    "recalled",
    All,
    FirstCome,
    FirstFinish
);

pub(crate) const B_RANK_HYBD1: Entry = priced(three!(
    "b-rank-hybd1",
    "rank-hybd within budgets: the affordable processor that ends a task first",
    BUDGETS,
    All,
    Hybrid,
    Affordable
));

pub(crate) const B_RANK_HYBD2: Entry = priced(three!(
    "b-rank-hybd2",
    "rank-hybd within budgets: the best balance of time and cost",
    BUDGETS,
    All,
    Hybrid,
    Quality
));

pub(crate) const B_FDWS1: Entry = priced(three!(
    "b-fdws1",
    "fdws within budgets: the affordable processor that ends a task first",
    BUDGETS,
    OneEach,
    Progress,
    Affordable
));

pub(crate) const B_FDWS2: Entry = priced(three!(
    "b-fdws2",
    "fdws within budgets: the best balance of time and cost",
    BUDGETS,
    OneEach,
    Progress,
    Quality
));

pub(crate) const B_FDWS3: Entry = priced(three!(
    "b-fdws3",
    "within budgets, nearly finished and rich workflows first: where a task ends first",
    BUDGETS,
    OneEach,
    Budget,
    Affordable
));

pub(crate) const B_FDWS4: Entry = priced(three!(
    "b-fdws4",
    "within budgets, nearly finished and rich workflows first: best balance of time and cost",
    BUDGETS,
    OneEach,
    Budget,
    Quality
));

fn giving_up(made: &PolicyArguments<'_>, order: Order, place: Place) -> Making {
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

pub(crate) const FDWS2_FT: Entry = until_late!(
    "fdws2-ft",
    "fdws within budgets, giving up the late: where a task ends first",
    Progress,
    Affordable
);

pub(crate) const FDWS2_Q: Entry = until_late!(
    "fdws2-q",
    "fdws within budgets, giving up the late: the best balance of time and cost",
    Progress,
    Quality
);

pub(crate) const MW_MINMIN: Entry = until_late!(
    "mw-minmin",
    "online-minmin within budgets, giving up the late",
    EndsFirst,
    Affordable
);

pub(crate) const MW_MAXMIN: Entry = until_late!(
    "mw-maxmin",
    "online-maxmin within budgets, giving up the late",
    EndsLast,
    Affordable
);

const PROCESSORS: Parameter = Parameter::new(
    "processors",
    Kind::Count(1, 1_000_000),
    "2",
    "how many processors a workflow has to itself",
);
const INSIDE: Parameter = Parameter::new(
    "inside",
    Kind::Choice(&["heft", "dbcs"]),
    "heft",
    "what plans a workflow on its processors; dbcs where it has a budget and a deadline",
);

pub(crate) const EXCLUSIVE: Entry = Entry {
    parameters: &[PROCESSORS, INSIDE],
    needs: &[],
    ..entry(
        "exclusive",
        "several workflows: processors of its own for each, first come, first served",
        "recalled after Arabnejad, Barbosa, 2017",
        |made| {
            let inside = match made.values.word("inside") {
                "dbcs" => Inside::Dbcs,
                _ => Inside::Heft,
            };
            let processors = made.values.count("processors")?;
            Ok(Box::new(Exclusive::new(processors, inside, made.options.transfers)))
        },
    )
};

const ENSEMBLES: &str = "recalled after Malawski, Juve, Deelman, Nabrzyski, FGCS, 2015";

const fn ensemble(entry: Entry) -> Entry {
    Entry { needs: &[Need::Prices, Need::Budget, Need::Deadline, Need::OneHost], ..entry }
}

pub(crate) const DPDS: Entry = ensemble(entry(
    "dpds",
    "an ensemble by priority on as many leased machines as one budget holds until one deadline",
    ENSEMBLES,
    |made| Ok(Box::new(Ensemble::new(made.options.planner.request.limits, false))),
));

pub(crate) const WA_DPDS: Entry = ensemble(entry(
    "wa-dpds",
    "dpds that begins no workflow which the rest of the budget cannot pay",
    ENSEMBLES,
    |made| Ok(Box::new(Ensemble::new(made.options.planner.request.limits, true))),
));
