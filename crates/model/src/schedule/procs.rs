//! Processors of one task.

use crate::ids::ProcId;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// Some processors, in the order given. Most tasks take one: no allocation for those.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<ProcId>", into = "Vec<ProcId>")]
pub struct Procs(Few);

/// Never `Many` of one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Few {
    One(ProcId),
    Many(Box<[ProcId]>),
}

impl Deref for Procs {
    type Target = [ProcId];

    #[inline]
    fn deref(&self) -> &[ProcId] {
        match &self.0 {
            Few::One(proc) => std::slice::from_ref(proc),
            Few::Many(procs) => procs,
        }
    }
}

impl Default for Procs {
    fn default() -> Procs {
        Procs(Few::Many(Box::default()))
    }
}

impl fmt::Debug for Procs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

impl From<ProcId> for Procs {
    fn from(proc: ProcId) -> Procs {
        Procs(Few::One(proc))
    }
}

impl From<&[ProcId]> for Procs {
    fn from(procs: &[ProcId]) -> Procs {
        match procs {
            &[one] => one.into(),
            many => Procs(Few::Many(many.into())),
        }
    }
}

impl From<Vec<ProcId>> for Procs {
    fn from(procs: Vec<ProcId>) -> Procs {
        match procs[..] {
            [one] => one.into(),
            _ => Procs(Few::Many(procs.into())),
        }
    }
}

impl<const N: usize> From<[ProcId; N]> for Procs {
    fn from(procs: [ProcId; N]) -> Procs {
        procs[..].into()
    }
}

impl From<Procs> for Vec<ProcId> {
    fn from(procs: Procs) -> Vec<ProcId> {
        procs.to_vec()
    }
}

impl FromIterator<ProcId> for Procs {
    fn from_iter<I: IntoIterator<Item = ProcId>>(procs: I) -> Procs {
        let mut procs = procs.into_iter();
        let Some(first) = procs.next() else { return Procs::default() };
        match procs.next() {
            None => first.into(),
            Some(second) => [first, second].into_iter().chain(procs).collect::<Vec<_>>().into(),
        }
    }
}

impl<'a> IntoIterator for &'a Procs {
    type Item = &'a ProcId;
    type IntoIter = std::slice::Iter<'a, ProcId>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_processor_is_the_same_however_it_came() {
        let one = Procs::from(ProcId(3));
        assert_eq!(one, Procs::from([ProcId(3)]));
        assert_eq!(one, Procs::from(vec![ProcId(3)]));
        assert_eq!(one, [ProcId(3)].into_iter().collect());
        assert_eq!(&one[..], [ProcId(3)]);
        let two: Procs = [ProcId(3), ProcId(1)].into_iter().collect();
        assert_eq!(&two[..], [ProcId(3), ProcId(1)]);
        assert!(Procs::default().is_empty() && Procs::from([]) == Procs::default());
    }
}
