//! What a run of a parameter sweep is told of besides: when it was planned, and what crossed the
//! links of a grid.

use super::workflow::Ran;
use crate::told::Details;
use serde::Serialize;
use slackline_model::Problem;
use slackline_model::platform::RouteCache;
use slackline_model::trace::Happening;
use std::collections::BTreeMap;

/// The member `sweep` of a document.
#[derive(Serialize)]
pub(super) struct Facts<'a> {
    #[serde(flatten)]
    told: Details<'a>,
    bytes_by_link: BTreeMap<&'a str, f64>,
    /// Transfers that arrived.
    files_sent: usize,
    /// Inputs that were brought to a cluster.
    replicas: usize,
}

/// The facts of a run on a grid; none elsewhere.
pub(super) fn facts<'a>(problem: &'a Problem<'_>, ran: &'a Ran) -> Option<Facts<'a>> {
    let platform = problem.platform();
    if !platform.is_fifo() || platform.origin().is_none() {
        return None;
    }
    let workflow = problem.workflow();
    let mut facts = Facts {
        told: Details(&ran.told),
        bytes_by_link: BTreeMap::new(),
        files_sent: 0,
        replicas: 0,
    };
    let mut routes = RouteCache::new();
    for record in ran.outcome.trace.records() {
        let Happening::TransferFinished { file, from, to, bytes } = record.what else { continue };
        facts.files_sent += 1;
        facts.replicas += usize::from(workflow.producer(file).is_none());
        let weighs = bytes.unwrap_or_else(|| workflow.file_bytes(file));
        if let Ok(route) = routes.route_once(platform, from, to) {
            for &link in route.links {
                let bytes = facts.bytes_by_link.entry(&platform.link(link).name).or_default();
                *bytes += weighs;
            }
        }
    }
    Some(facts)
}
