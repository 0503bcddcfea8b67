//! Metrics that are known by name: they are measures, never factors, and have a better direction.

use slackline_analysis::statistics::Sense;

/// Metrics of which less is better.
const LOWER: [&str; 33] = [
    "makespan",
    "slr",
    "nsl",
    "cost",
    "energy",
    "misses",
    "missed",
    "lateness",
    "tardiness",
    "overhead",
    "wasted_seconds",
    "recomputed_seconds",
    "retransmitted_seconds",
    "retransmitted_bytes",
    "transferred_bytes",
    "transfer_seconds",
    "degradation",
    "flow_time",
    "flowtime",
    "response_time",
    "turnaround",
    "waiting_time",
    "stretch",
    "slowdown",
    "bounded_slowdown",
    "unfairness",
    "imbalance",
    "schedule_length",
    "planning_seconds",
    "replannings",
    "retries",
    "failures",
    "gap",
];

/// Metrics of which more is better.
const HIGHER: [&str; 9] = [
    "speedup",
    "efficiency",
    "utilisation",
    "utilization",
    "throughput",
    "success",
    "fairness",
    "kept",
    "best",
];

/// Columns of a table of results that are neither factors nor measures.
const RESERVED: [&str; 19] = [
    "workflow",
    "platform",
    "scenario",
    "kind",
    "repetition",
    "seed",
    "method",
    "policy",
    "algorithm",
    "heuristic",
    "planner",
    "scheduler",
    "status",
    "why",
    "run_key",
    "campaign",
    "version",
    "machine",
    "request",
];

/// Whether a table of results means something by a column of this name.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name) || ["started", "wall_seconds", "parameters"].contains(&name)
}

/// Whether a column of this name holds a measure.
pub fn is_known(name: &str) -> bool {
    LOWER.contains(&name) || HIGHER.contains(&name)
}

/// The better direction of a metric: that of its name if it is known, else less is better.
pub fn sense_of(name: &str) -> Sense {
    if HIGHER.contains(&name) { Sense::Higher } else { Sense::Lower }
}
