//! Planners that a program adds to the registry while it runs: found by name like any other, planned with and checked
//! the same way.
//!
//! A planner is added for the whole process ([`add`]) or for the work of one thread ([`within`]). Names are kept for the
//! life of the process, once each.

use crate::registry::{Algorithm, Basis, Family, PlanError, Request, names};
use slackline_model::{Problem, Schedule};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Plans the unfinished part of a problem.
pub type Plan = dyn Fn(&Problem<'_>, &Request) -> Result<Schedule, PlanError> + Send + Sync;

struct Added {
    entry: &'static Algorithm,
    plan: Option<Arc<Plan>>,
}

static ADDED: RwLock<BTreeMap<String, Added>> = RwLock::new(BTreeMap::new());
/// Whether a planner was ever added; saves most programs the lock.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WITHIN: RefCell<Vec<(&'static str, Arc<Plan>)>> = const { RefCell::new(Vec::new()) };
}

/// The entry of a name, made when it is asked for first.
fn entry(name: &str, about: &str) -> &'static Algorithm {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = added.get(name) {
        return known.entry;
    }
    let entry: &'static Algorithm = Box::leak(Box::new(Algorithm {
        name: Box::leak(name.into()),
        family: Family::List,
        basis: Basis::Added,
        about: Box::leak(about.into()),
        source: "added by the program",
        complexity: "",
        parameters: &[],
        needs: &[],
        plan: missing,
    }));
    added.insert(name.to_string(), Added { entry, plan: None });
    ANY.store(true, Ordering::Release);
    entry
}

/// Whether a name is free: no planner of the registry has it.
pub fn is_free(name: &str) -> bool {
    !name.is_empty() && names().all(|known| known != name)
}

/// Adds a planner for the whole process, or replaces the added one of that name.
pub fn add(name: &str, about: &str, plan: Arc<Plan>) -> &'static Algorithm {
    let entry = entry(name, about);
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    added.insert(name.to_string(), Added { entry, plan: Some(plan) });
    entry
}

/// Does some work on this thread with further planners.
pub fn within<T>(planners: Vec<(String, Arc<Plan>)>, work: impl FnOnce() -> T) -> T {
    struct Restored(usize);
    impl Drop for Restored {
        fn drop(&mut self) {
            WITHIN.with_borrow_mut(|within| within.truncate(self.0));
        }
    }
    let before = Restored(WITHIN.with_borrow(Vec::len));
    for (name, plan) in planners {
        let name = entry(&name, "").name;
        WITHIN.with_borrow_mut(|within| within.push((name, plan)));
    }
    let done = work();
    drop(before);
    done
}

fn here(name: &str) -> Option<Arc<Plan>> {
    WITHIN.with_borrow(|within| {
        let found = within.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, plan)| plan.clone())
    })
}

/// The added planner of that name.
pub(crate) fn find(name: &str) -> Option<&'static Algorithm> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let known = added.get(name)?;
    (known.plan.is_some() || here(name).is_some()).then_some(known.entry)
}

/// Plans with an added planner.
pub(crate) fn plan(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
) -> Result<Schedule, PlanError> {
    let plan = here(algorithm.name).or_else(|| {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        added.get(algorithm.name)?.plan.clone()
    });
    match plan {
        Some(plan) => plan(problem, request),
        None => Err(gone(algorithm.name)),
    }
}

fn gone(name: &'static str) -> PlanError {
    PlanError::Unsupported { algorithm: name, why: "the program has removed it".to_string() }
}

/// Placeholder for the function of an entry; [`Algorithm::plan`] looks the added planner up instead.
fn missing(_: &Problem<'_>, _: &Request) -> Result<Schedule, PlanError> {
    Err(gone("an added planner"))
}
