//! The integration tests of this crate, as one binary.

mod absent_at_start;
mod boundary;
mod copies;
mod engine;
mod gtp_claims;
mod guarantee;
mod journal;
mod late;
mod learning;
mod leases;
mod legal_platforms;
mod parallel_tasks;
mod pools;
mod retries;
mod rollout;
mod stays;
mod storage;
mod streams;
mod stuck;
mod sweeps;
mod worlds;

use slackline_testkit as common;
