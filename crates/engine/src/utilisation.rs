//! Utilisation of hosts and links over the time of a run.

use slackline_model::HostId;
use slackline_model::platform::{Network, Platform, RouteCache};
use slackline_model::trace::{End, Trace, Work};

/// Utilisation in equal steps of time: shares, from 0 to 1 for hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Length of a step, seconds.
    pub step: f64,
    /// Per host: busy share of its cores, as fractions of time and cores.
    pub hosts: Vec<Vec<f64>>,
    /// Per link: carried share of its nominal bandwidth; a transfer counts evenly over its duration, so that a step may
    /// exceed 1. Empty networks of matrices have no links.
    pub links: Vec<Vec<f64>>,
}

impl Usage {
    /// The utilisation of a traced run in `steps` equal steps, which is at least 1.
    pub fn of(platform: &Platform, trace: &Trace, steps: usize) -> Usage {
        let end = trace.records().last().map_or(0.0, |r| r.at);
        let step = if end > 0.0 { end / steps as f64 } else { 1.0 };
        let mut usage = Usage {
            step,
            hosts: vec![vec![0.0; steps]; platform.hosts().len()],
            links: vec![vec![0.0; steps]; platform.links().len()],
        };
        let host_of: Vec<HostId> = platform.host_of_procs().collect();
        let mut routes = RouteCache::new();
        for span in trace.spans() {
            let (start, finish) = (span.start, span.finish);
            match span.work {
                Work::Task { procs, .. } if span.end != End::Open => {
                    for proc in procs {
                        let host = host_of[proc.index()];
                        let share = 1.0 / f64::from(platform.host(host).cores);
                        spread(&mut usage.hosts[host.index()], step, start..finish, share);
                    }
                }
                Work::Transfer { from, to, bytes, .. } if span.is_finished() => {
                    if !matches!(platform.network(), Network::Zones) || finish <= start {
                        continue;
                    }
                    let Ok(route) = routes.route(platform, from, to) else { continue };
                    let rate = bytes / (finish - start);
                    for link in route.links {
                        let share = rate / platform.link(*link).bandwidth;
                        spread(&mut usage.links[link.index()], step, start..finish, share);
                    }
                }
                _ => {}
            }
        }
        usage
    }
}

/// Adds a share to the steps that a span covers, in part where it covers them in part.
fn spread(steps: &mut [f64], step: f64, span: std::ops::Range<f64>, share: f64) {
    let first = ((span.start / step) as usize).min(steps.len().saturating_sub(1));
    for (index, level) in steps.iter_mut().enumerate().skip(first) {
        let from = index as f64 * step;
        if from >= span.end {
            break;
        }
        let covered = span.end.min(from + step) - span.start.max(from);
        *level += share * (covered / step).max(0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_counts_for_the_part_it_covers() {
        let mut steps = [0.0; 4];
        spread(&mut steps, 1.0, 0.5..2.25, 1.0);
        assert_eq!(steps, [0.5, 1.0, 0.25, 0.0]);
        spread(&mut steps, 1.0, 3.0..4.0, 0.5);
        assert_eq!(steps[3], 0.5);
    }
}
