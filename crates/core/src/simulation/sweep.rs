//! Additional figures of a parameter sweep: details of its policy, and traffic on the links of a grid.

use super::Ran;
use crate::details_json::Details;
use schemars::JsonSchema;
use serde::Serialize;
use slackline_model::Problem;
use slackline_model::platform::RouteCache;
use slackline_model::trace::Happening;
use std::collections::BTreeMap;

/// The member `sweep` of a document.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Sweep {
    /// Further members by policy.
    #[serde(flatten)]
    pub details: Details,
    /// Bytes that crossed each link.
    pub bytes_by_link: BTreeMap<String, f64>,
    /// Transfers that arrived.
    pub files_sent: usize,
    /// Inputs that were brought to a cluster.
    pub replicas: usize,
}

/// The figures of a run on a grid (FIFO links and an origin); none on other platforms.
pub(super) fn facts(problem: &Problem<'_>, ran: &Ran) -> Option<Sweep> {
    let platform = problem.platform();
    if !platform.is_fifo() || platform.origin().is_none() {
        return None;
    }
    let workflow = problem.workflow();
    let mut facts = Sweep {
        details: Details(ran.told.clone()),
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
                let bytes =
                    facts.bytes_by_link.entry(platform.link(link).name.to_string()).or_default();
                *bytes += weighs;
            }
        }
    }
    Some(facts)
}
