//! Limits on what users, groups and queues have running at a time.

use super::scheduler::Request;
use super::site::{Accounts, CapBy, Site};

/// Running cores and jobs that count towards one cap.
#[derive(Clone, Copy, Debug, Default)]
struct Running {
    cores: u64,
    jobs: u64,
}

#[derive(Clone, Debug)]
struct CapState {
    by: CapBy,
    /// The one name it holds for; each if none.
    only: Option<u32>,
    cores: u64,
    jobs: u64,
    running: Vec<Running>,
}

impl CapState {
    /// The place of a job in `running`, where the cap concerns it.
    fn place(&self, job: &Request) -> Option<usize> {
        let name = match self.by {
            CapBy::User => job.user,
            CapBy::Group => job.group,
            CapBy::Queue => job.queue,
        };
        match self.only {
            Some(only) => (only == name).then_some(0),
            None => Some(name as usize),
        }
    }
}

/// The caps of a site. Cores are those that a job requests, even if it gets whole nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Caps {
    states: Vec<CapState>,
}

impl Caps {
    pub(super) fn of(site: &Site, accounts: &Accounts<'_>) -> Caps {
        let mut states = Vec::new();
        for cap in &site.caps {
            let names = accounts.names(cap.by);
            let only = if cap.name == "*" {
                None
            } else {
                match names.iter().position(|name| *name == cap.name) {
                    Some(found) => Some(found as u32),
                    None => continue,
                }
            };
            let (cores, jobs) = (cap.cores.unwrap_or(u64::MAX), cap.jobs.unwrap_or(u64::MAX));
            let length = if only.is_some() { 1 } else { names.len() };
            let running = vec![Running::default(); length];
            states.push(CapState { by: cap.by, only, cores, jobs, running });
        }
        Caps { states }
    }

    /// Whether a job can never run.
    pub(super) fn forbid(&self, job: &Request) -> bool {
        let concerned = self.states.iter().filter(|cap| cap.place(job).is_some());
        concerned.into_iter().any(|cap| job.cores > cap.cores || cap.jobs == 0)
    }

    /// Whether a job would exceed a cap now.
    pub(super) fn hold_back(&self, job: &Request) -> bool {
        self.states.iter().any(|cap| {
            let running = cap.place(job).map(|at| cap.running.get(at).copied().unwrap_or_default());
            running.is_some_and(|now| now.cores + job.cores > cap.cores || now.jobs + 1 > cap.jobs)
        })
    }

    /// Counts a job as running.
    pub(super) fn add(&mut self, job: &Request) {
        for cap in &mut self.states {
            if let Some(at) = cap.place(job) {
                if at >= cap.running.len() {
                    cap.running.resize(at + 1, Running::default());
                }
                cap.running[at].cores += job.cores;
                cap.running[at].jobs += 1;
            }
        }
    }

    /// Takes back [`Caps::add`].
    pub(super) fn remove(&mut self, job: &Request) {
        for cap in &mut self.states {
            if let Some(at) = cap.place(job)
                && let Some(running) = cap.running.get_mut(at)
            {
                running.cores -= job.cores;
                running.jobs -= 1;
            }
        }
    }
}
