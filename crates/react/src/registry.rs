//! Every policy with its name and source; the command, the lab and the tests read this list.

use crate::concurrent::Fdws;
use crate::gtp::{Costing, DlsSr, Gtp, Period, Variant};
use crate::moldable::Dmheft;
use crate::selective::{Selective, Threshold};
use crate::{Aheft, JustInTime, Policy, Slackline, StaticPlan, Transfers, WorkQueue};
use slackline_schedule::Algorithm;

/// What a policy may be told.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The static planner it plans with.
    pub planner: &'static Algorithm,
    /// When inputs travel.
    pub transfers: Transfers,
    /// Time between looks, for policies that look periodically.
    pub period: Period,
    /// By how much earlier a placed task must end elsewhere to move there, as a multiple of its
    /// mean time; 0 in the thesis. For the GTP family.
    pub threshold: f64,
}

impl Options {
    /// The published choices over a planner.
    pub fn new(planner: &'static Algorithm) -> Options {
        let (transfers, period) = (Transfers::default(), Period::OfMakespan(0.1));
        Options { planner, transfers, period, threshold: 0.0 }
    }
}

/// A policy as the registry knows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name to type.
    pub name: &'static str,
    /// One line on what it does.
    pub about: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// It looks at the platform when it wakes up; others are told of each change.
    pub looks: bool,
    /// It can go on after a host is lost.
    pub survives: bool,
    /// Makes one.
    pub make: fn(&Options) -> Box<dyn Policy>,
}

fn gtp(options: &Options, copies: bool, rewind: bool) -> Box<dyn Policy> {
    let Options { planner, transfers, period, threshold } = *options;
    let costing = Costing { hysteresis: threshold, ..Costing::default() };
    let variant = Variant { copies, rewind, period, transfers, costing };
    Box::new(Gtp::new(variant, planner))
}

fn selective(options: &Options, threshold: Threshold) -> Box<dyn Policy> {
    Box::new(Selective::new(options.planner, threshold, options.transfers))
}

const THESIS: &str = "Hernandez, thesis, 2008";
const ACROSS_GRIDS: &str = "Zhao, Sakellariou, AcrossGrids, 2004";

/// All policies, in the order they are shown.
pub const ALL: &[Entry] = &[
    Entry {
        name: "static",
        about: "plan once; plan the rest anew only when a host is lost",
        source: "baseline",
        looks: false,
        survives: true,
        make: |o| Box::new(StaticPlan::new(o.planner, o.transfers)),
    },
    Entry {
        name: "gtp",
        about: "re-plan periodically, migrate pessimistically",
        source: THESIS,
        looks: true,
        survives: false,
        make: |o| gtp(o, false, false),
    },
    Entry {
        name: "gtp/c",
        about: "GTP that re-uses copies left behind by migrations",
        source: THESIS,
        looks: true,
        survives: false,
        make: |o| gtp(o, true, false),
    },
    Entry {
        name: "gtp/r",
        about: "GTP that rewinds tasks whose results died with a host",
        source: THESIS,
        looks: true,
        survives: true,
        make: |o| gtp(o, false, true),
    },
    Entry {
        name: "gtp/c/r",
        about: "GTP with copies and rewinding",
        source: THESIS,
        looks: true,
        survives: true,
        make: |o| gtp(o, true, true),
    },
    Entry {
        name: "dls/sr",
        about: "DLS again when a task ends later than its spare time, migrate pessimistically",
        source: THESIS,
        looks: false,
        survives: true,
        make: |o| Box::new(DlsSr::new(Threshold::Spare, o.transfers)),
    },
    Entry {
        name: "sr-slack",
        about: "re-plan when a start is later than its slack",
        source: ACROSS_GRIDS,
        looks: false,
        survives: true,
        make: |o| selective(o, Threshold::Slack),
    },
    Entry {
        name: "sr-spare",
        about: "re-plan when a start is later than its spare time",
        source: ACROSS_GRIDS,
        looks: false,
        survives: true,
        make: |o| selective(o, Threshold::Spare),
    },
    Entry {
        name: "always",
        about: "re-plan whenever a task ends",
        source: ACROSS_GRIDS,
        looks: false,
        survives: true,
        make: |o| selective(o, Threshold::Always),
    },
    Entry {
        name: "aheft",
        about: "re-plan when the platform changes, if that promises an earlier end",
        source: "Yu, Shi, IPDPS, 2007",
        looks: false,
        survives: true,
        make: |o| Box::new(Aheft::new(o.planner, o.transfers)),
    },
    Entry {
        name: "just-in-time",
        about: "no plan: ready tasks by rank to the idle processor that ends them first",
        source: "baseline",
        looks: false,
        survives: true,
        make: |_| Box::new(JustInTime::default()),
    },
    Entry {
        name: "fdws",
        about: "several workflows, fairly: nearly finished and short ones first",
        source: "Arabnejad, Barbosa, ISPA, 2012",
        looks: false,
        survives: true,
        make: |_| Box::new(Fdws::default()),
    },
    Entry {
        name: "work-queue",
        about: "no estimates: an idle processor takes the next ready task",
        source: "baseline",
        looks: false,
        survives: true,
        make: |_| Box::new(WorkQueue::default()),
    },
    Entry {
        name: "dmheft",
        about: "moldable tasks: fair shares of the idle processors of the best cluster",
        source: "Hunold, Rauber, Suter, CCGrid, 2008",
        looks: false,
        survives: true,
        make: |_| Box::new(Dmheft::new()),
    },
    Entry {
        name: "slackline",
        about: "forecasts with contention, moves only for clear gains, re-uses copies, rewinds",
        source: "our own",
        looks: false,
        survives: true,
        make: |_| Box::new(Slackline::default()),
    },
];

/// The policy of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|e| e.name == name)
}
