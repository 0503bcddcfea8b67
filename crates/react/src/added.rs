//! Policies that a program adds to the registry while it runs, for the whole process ([`add`]) or for the work of one
//! thread ([`within`]): found by name like any other, and driven by the same engine. Names are kept for the life of the
//! process, once each.

use crate::registry::{ALL, Entry, Making, PolicyArguments};
use slackline_model::parameter;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Makes a policy.
pub type Make = dyn Fn(&PolicyArguments<'_>) -> Making + Send + Sync;

struct Added {
    entry: &'static Entry,
    make: Option<Arc<Make>>,
}

/// The source of entries that were added.
const SOURCE: &str = "added by the program";

static ADDED: RwLock<BTreeMap<String, Added>> = RwLock::new(BTreeMap::new());
/// Whether anything was ever added: most programs never ask further.
static ANY: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WITHIN: RefCell<Vec<(&'static str, Arc<Make>)>> = const { RefCell::new(Vec::new()) };
}

/// The entry of a name, made when it is asked for first.
fn entry(name: &str, about: &str) -> &'static Entry {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = added.get(name) {
        return known.entry;
    }
    let entry: &'static Entry = Box::leak(Box::new(Entry {
        name: Box::leak(name.into()),
        about: Box::leak(about.into()),
        source: SOURCE,
        survives: true,
        parameters: &[],
        needs: &[],
        make: missing,
    }));
    added.insert(name.to_string(), Added { entry, make: None });
    ANY.store(true, Ordering::Release);
    entry
}

/// Whether a name is free: no policy of the registry has it.
pub fn is_free(name: &str) -> bool {
    !name.is_empty() && ALL.iter().all(|entry| entry.name != name)
}

/// Adds a policy for the whole process, or replaces the added one of that name.
pub fn add(name: &str, about: &str, make: Arc<Make>) -> &'static Entry {
    let entry = entry(name, about);
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    added.insert(name.to_string(), Added { entry, make: Some(make) });
    entry
}

/// Does some work on this thread with further policies.
pub fn within<T>(policies: Vec<(String, Arc<Make>)>, work: impl FnOnce() -> T) -> T {
    struct Restored(usize);
    impl Drop for Restored {
        fn drop(&mut self) {
            WITHIN.with_borrow_mut(|within| within.truncate(self.0));
        }
    }
    let before = Restored(WITHIN.with_borrow(Vec::len));
    for (name, make) in policies {
        let name = entry(&name, "").name;
        WITHIN.with_borrow_mut(|within| within.push((name, make)));
    }
    let done = work();
    drop(before);
    done
}

fn here(name: &str) -> Option<Arc<Make>> {
    WITHIN.with_borrow(|within| {
        let found = within.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, make)| make.clone())
    })
}

/// The added policy of that name.
pub(crate) fn find(name: &str) -> Option<&'static Entry> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    let known = added.get(name)?;
    (known.make.is_some() || here(name).is_some()).then_some(known.entry)
}

/// Constructor of an added policy's entry.
pub(crate) fn maker(entry: &Entry) -> Option<Arc<Make>> {
    if entry.source != SOURCE {
        return None;
    }
    here(entry.name).or_else(|| {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
        added.get(entry.name)?.make.clone()
    })
}

/// Takes the place of the function that other entries have; [`Entry::policy`] looks the policy up.
fn missing(_: &PolicyArguments<'_>) -> Making {
    Err(parameter::bad("policy", "an added one", "the program has removed it"))
}
