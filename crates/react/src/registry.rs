//! Every policy with its name, parameters and source; the command, the lab and the tests read this
//! list.

use crate::added;
use crate::concurrent::methods;
use crate::gtp::{Costing, DlsSr, Gtp, Period, Variant};
use crate::moldable::{Dmheft, Postponing, Queue};
use crate::selective::{Selective, Threshold};
use crate::{
    Aheft, JustInTime, Monitoring, Policy, Qos, Slackline, StaticPlan, Sweep, Transfers, WorkQueue,
    WorkStealing, sweep,
};
use slackline_model::parameter::{self, Given, Kind, Parameter, ParameterError, Values};
use slackline_model::units::parse_duration;
use slackline_schedule::sweep as heuristics;
use slackline_schedule::{Need, Planner};

/// Options of a policy.
#[derive(Clone, Debug)]
pub struct Options {
    /// The static planner it plans with, and what that is told.
    pub planner: Planner,
    /// When inputs travel, unless given as `transfers`.
    pub transfers: Transfers,
    /// Time between evaluations of periodic policies, unless given as `period`.
    pub period: Period,
    /// Parameters by name and text; a policy takes those it has.
    pub given: Given,
    /// Seed of policies that draw.
    pub seed: u64,
}

impl Options {
    /// The published choices over a planner.
    pub fn new(planner: impl Into<Planner>) -> Options {
        let (transfers, period) = (Transfers::default(), Period::OfMakespan(0.1));
        Options { planner: planner.into(), transfers, period, given: Given::new(), seed: 0 }
    }
}

/// Arguments of a policy's constructor.
pub struct PolicyArguments<'o> {
    /// Options of the policy, with transfers and period resolved.
    pub options: &'o Options,
    /// The values of its parameters.
    pub values: Values,
}

/// A policy, or why its parameters do not allow one.
pub type Making = Result<Box<dyn Policy>, ParameterError>;

/// A policy as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name to type.
    pub name: &'static str,
    /// One line on what it does.
    pub about: &'static str,
    /// Publication.
    pub source: &'static str,
    /// It can go on after a host is lost.
    pub survives: bool,
    /// Parameters that may be set.
    pub parameters: &'static [Parameter],
    /// Inputs without which it cannot work.
    pub needs: &'static [Need],
    /// Makes one; [`Entry::policy`] reads the parameters first.
    pub make: fn(&PolicyArguments<'_>) -> Making,
}

impl Entry {
    /// Whether it draws random numbers.
    pub fn is_randomised(&self) -> bool {
        heuristics::ALL.iter().any(|(heuristic, ..)| heuristic.name == self.name)
    }

    /// Whether it takes any single workflow whose tasks each fit on one host.
    pub fn is_general(&self) -> bool {
        self.needs.iter().all(|need| *need == Need::OneHost)
    }

    /// The policy as it is told to be.
    pub fn policy(&self, options: &Options) -> Making {
        let own: Given = parameter::own(&options.given, self.parameters).cloned().collect();
        let values = Values::read(self.name, self.parameters.iter(), &[], &own)?;
        let mut options = options.clone();
        for (name, text) in &own {
            match name.as_str() {
                "transfers" => options.transfers = transfers(text)?,
                "period" => options.period = period(text)?,
                _ => {}
            }
        }
        let made = PolicyArguments { options: &options, values };
        match added::maker(self) {
            Some(make) => make(&made),
            None => (self.make)(&made),
        }
    }

    /// Whether the policy is periodic: it observes the platform when it wakes up. Others are notified of each change.
    pub fn looks(&self, options: &Options) -> bool {
        self.policy(options).is_ok_and(|p| p.monitoring() == Monitoring::OnWakeUp)
    }
}

/// When inputs travel, of policies that follow plans.
const TRANSFERS: Parameter = Parameter::new(
    "transfers",
    Kind::Text,
    "push",
    "when inputs travel: push, pull, or pull:N to fetch for the next N tasks of a queue",
);

const PERIOD: Parameter = Parameter::new(
    "period",
    Kind::Text,
    "0.1",
    "time between two evaluations: a part of the planned makespan, or with a unit, e.g. 30s",
);

const THRESHOLD: Parameter = Parameter::new(
    "threshold",
    Kind::Number(0.0, f64::INFINITY),
    "0",
    "a placed task moves only if it ends this much earlier, in its mean times",
);

const LATEST: Parameter = Parameter::new(
    "f-max",
    Kind::Number(0.0, 1.0),
    "0.2",
    "how long a task may be postponed, in its time on the processors that are idle now",
)
.published("0.2");
const IMPROVED: Parameter = Parameter::new(
    "f-imp",
    Kind::Number(0.0, 1.0),
    "0.8",
    "by when a postponed task has to end, in the same measure",
)
.published("0.8");
const COUNTED: Parameter = Parameter::new(
    "f-p",
    Kind::Number(0.0, 1.0),
    "0.4",
    "which part of the processors that are free by then a postponed task counts on",
)
.published("0.4");
const QUEUE: Parameter = Parameter::new(
    "queue",
    Kind::Choice(&["level", "work"]),
    "level",
    "which ready task comes first: the lowest precedence level, or the most work",
);

fn queue(values: &Values) -> Queue {
    if values.word("queue") == "work" { Queue::Work } else { Queue::Level }
}

/// Reads `push`, `pull` or `pull:N`.
pub fn transfers(text: &str) -> Result<Transfers, ParameterError> {
    let bad = || parameter::bad("transfers", text, "give push, pull, or pull:N with a number N");
    match text.split_once(':') {
        None if text == "push" => Ok(Transfers::Push),
        None if text == "pull" => Ok(Transfers::Pull { window: 1 }),
        Some(("pull", window)) => {
            let window = window.parse().ok().filter(|&w| w > 0).ok_or_else(bad)?;
            Ok(Transfers::Pull { window })
        }
        _ => Err(bad()),
    }
}

/// Reads a part of a makespan, or a time with its unit.
pub fn period(text: &str) -> Result<Period, ParameterError> {
    match (text.parse::<f64>(), parse_duration(text)) {
        (Ok(part), _) if part >= 0.001 && part.is_finite() => Ok(Period::OfMakespan(part)),
        (Err(_), Ok(seconds)) if seconds >= 0.001 => Ok(Period::Seconds(seconds)),
        _ => Err(parameter::bad(
            "period",
            text,
            "give a part of the makespan, 0.001 or more, or a time such as 30s, 1ms or more",
        )),
    }
}

fn gtp(made: &PolicyArguments<'_>, copies: bool, rewind: bool) -> Making {
    let Options { planner, transfers, period, .. } = made.options;
    let hysteresis = made.values.number("threshold")?;
    let costing = Costing { hysteresis, ..Costing::default() };
    let (period, transfers) = (*period, *transfers);
    let variant = Variant { copies, rewind, period, transfers, costing };
    Ok(Box::new(Gtp::new(variant, planner.clone())))
}

fn selective(made: &PolicyArguments<'_>, threshold: Threshold) -> Making {
    let Options { planner, transfers, .. } = made.options;
    Ok(Box::new(Selective::new(planner.clone(), threshold, *transfers)))
}

const GTP: &[Parameter] = &[PERIOD, THRESHOLD, TRANSFERS];

const THESIS: &str = "Hernandez, thesis, 2008";
const ACROSS_GRIDS: &str = "Zhao, Sakellariou, AcrossGrids, 2004";

/// The policy around a heuristic of the list of sweep planners, by its number there.
macro_rules! sweep {
    ($number:literal) => {
        Entry {
            name: heuristics::ALL[$number].0.name,
            about: heuristics::ALL[$number].0.about,
            source: heuristics::ALL[$number].0.source,
            survives: true,
            parameters: sweep::PARAMETERS,
            needs: &[Need::Independent],
            make: |made| {
                let (_, rule, random) = heuristics::ALL[$number];
                Ok(Box::new(Sweep::new(rule, random, &made.values, made.options.seed)?))
            },
        }
    };
}

/// The heuristics of the sweep study by their numbers there, and XSufferage.
const ALIASES: &[(&str, &str)] = &[
    ("h0", "work-queue"),
    ("h1", "sweep-minmin"),
    ("h2", "sweep-maxmin"),
    ("h3", "sweep-sufferage"),
    ("h4", "sweep-extended"),
    ("h5", "sweep-minmin-random"),
    ("h6", "sweep-maxmin-random"),
    ("h7", "sweep-sufferage-random"),
    ("h8", "sweep-extended-random"),
    ("h9", "sweep-sufferage2"),
    ("xs", "sweep-xsufferage"),
];

/// All policies, in the order they are shown.
pub const ALL: &[Entry] = &[
    Entry {
        name: "static",
        about: "plan once; plan the rest again only when a host is lost",
        source: "baseline",
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| {
            let Options { planner, transfers, .. } = made.options;
            Ok(Box::new(StaticPlan::new(planner.clone(), *transfers)))
        },
    },
    Entry {
        name: "work-stealing",
        about: "follow a plan; idle processors take ready tasks that wait elsewhere",
        source: "our own",
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| {
            let Options { planner, transfers, .. } = made.options;
            Ok(Box::new(WorkStealing::new(planner.clone(), *transfers)))
        },
    },
    Entry {
        name: "gtp",
        about: "re-plan periodically, migrate pessimistically",
        source: THESIS,
        survives: false,
        parameters: GTP,
        needs: &[Need::OneHost],
        make: |made| gtp(made, false, false),
    },
    Entry {
        name: "gtp/c",
        about: "GTP that re-uses copies left behind by migrations",
        source: THESIS,
        survives: false,
        parameters: GTP,
        needs: &[Need::OneHost],
        make: |made| gtp(made, true, false),
    },
    Entry {
        name: "gtp/r",
        about: "GTP that rewinds tasks whose results died with a host",
        source: THESIS,
        survives: true,
        parameters: GTP,
        needs: &[Need::OneHost],
        make: |made| gtp(made, false, true),
    },
    Entry {
        name: "gtp/c/r",
        about: "GTP with copies and rewinding",
        source: THESIS,
        survives: true,
        parameters: GTP,
        needs: &[Need::OneHost],
        make: |made| gtp(made, true, true),
    },
    Entry {
        name: "dls/sr",
        about: "DLS again when a task ends later than its spare time, migrate pessimistically",
        source: THESIS,
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[Need::OneHost],
        make: |made| Ok(Box::new(DlsSr::new(Threshold::Spare, made.options.transfers))),
    },
    Entry {
        name: "sr-slack",
        about: "re-plan when a start is later than its slack",
        source: ACROSS_GRIDS,
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| selective(made, Threshold::Slack),
    },
    Entry {
        name: "sr-spare",
        about: "re-plan when a start is later than its spare time",
        source: ACROSS_GRIDS,
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| selective(made, Threshold::Spare),
    },
    Entry {
        name: "always",
        about: "re-plan whenever a task ends",
        source: ACROSS_GRIDS,
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| selective(made, Threshold::Always),
    },
    Entry {
        name: "aheft",
        about: "re-plan when the platform changes, if that promises an earlier end",
        source: "Yu, Shi, IPDPS, 2007",
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| {
            let Options { planner, transfers, .. } = made.options;
            Ok(Box::new(Aheft::new(planner.clone(), *transfers)))
        },
    },
    Entry {
        name: "qos",
        about: "re-plan under what is left of budget and deadline when a start is later than its slack",
        source: "our own, over any planner for limits",
        survives: true,
        parameters: &[TRANSFERS],
        needs: &[],
        make: |made| {
            let Options { planner, transfers, .. } = made.options;
            Ok(Box::new(Qos::new(planner.clone(), *transfers)))
        },
    },
    Entry {
        name: "just-in-time",
        about: "no plan: ready tasks by rank to the idle processor that ends them first",
        source: "baseline",
        survives: true,
        parameters: &[],
        needs: &[Need::OneHost],
        make: |_| Ok(Box::new(JustInTime::default())),
    },
    methods::RANK_HYBD,
    methods::OWM,
    methods::FDWS,
    methods::FDWS_QUEUES,
    methods::MINMIN,
    methods::MAXMIN,
    methods::FAIRNESS_DYNAMIC,
    methods::SRPT,
    methods::FCFS,
    methods::B_RANK_HYBD1,
    methods::B_RANK_HYBD2,
    methods::B_FDWS1,
    methods::B_FDWS2,
    methods::B_FDWS3,
    methods::B_FDWS4,
    methods::MW_DBS,
    methods::FDWS2_FT,
    methods::FDWS2_Q,
    methods::MW_MINMIN,
    methods::MW_MAXMIN,
    methods::EXCLUSIVE,
    methods::DPDS,
    methods::WA_DPDS,
    Entry {
        name: "work-queue",
        about: "no estimates: an idle processor takes the next ready task",
        source: "baseline",
        survives: true,
        parameters: &[],
        needs: &[Need::OneHost],
        make: |_| Ok(Box::new(WorkQueue::default())),
    },
    sweep!(0),
    sweep!(1),
    sweep!(2),
    sweep!(3),
    sweep!(4),
    sweep!(5),
    sweep!(6),
    sweep!(7),
    sweep!(8),
    sweep!(9),
    sweep!(10),
    Entry {
        name: "dmheft",
        about: "moldable tasks: fair shares of the idle processors of the best cluster",
        source: "Hunold, Rauber, Suter, WSES 2008",
        survives: true,
        parameters: &[LATEST, IMPROVED, COUNTED, QUEUE],
        needs: &[],
        make: |made| {
            let number = |name: &str| made.values.number(name);
            let (latest, improved) = (number("f-max")?, number("f-imp")?);
            let postponing = Some(Postponing { latest, improved, share: number("f-p")? });
            Ok(Box::new(Dmheft { postponing, queue: queue(&made.values), ..Dmheft::new() }))
        },
    },
    Entry {
        name: "rep",
        about: "moldable tasks: fair shares of the cluster with most idle power, at once",
        source: "Hunold, Rauber, Rünger, HeteroPar 2007",
        survives: true,
        parameters: &[Parameter { default: "work", ..QUEUE }],
        needs: &[],
        make: |made| Ok(Box::new(Dmheft { queue: queue(&made.values), ..Dmheft::rep() })),
    },
    Entry {
        name: "slackline",
        about: "forecasts with contention, moves only for clear gains, re-uses copies, rewinds",
        source: "our own",
        survives: true,
        parameters: &[Parameter::new(
            "effort",
            Kind::Count(0, u64::MAX),
            "500000",
            "tasks that roll-outs may follow in all (less in runs of over 100 tasks); 0: forecasts alone",
        )],
        needs: &[],
        make: |made| Ok(Box::new(Slackline::with_effort(made.values.count("effort")?))),
    },
];

/// The policy of that name, or of its number in the sweep study.
pub fn find(name: &str) -> Option<&'static Entry> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    let name = alias.map_or(name, |(_, name)| name);
    ALL.iter().find(|e| e.name == name).or_else(|| added::find(name))
}
