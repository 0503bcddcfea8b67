//! Selection of the algorithm for a call of a collective.

use super::{Algorithm, algorithms, basic, rules};
use crate::action::{Call, Kind};
use std::cell::Cell;

/// The ranks that do a collective together, as selectors see them.
pub struct Ranks<'a> {
    /// Their number.
    pub size: usize,
    per_host: &'a dyn Fn() -> Option<usize>,
    queried: &'a Cell<bool>,
}

impl<'a> Ranks<'a> {
    /// A group of `size` ranks. `per_host` returns the number on each host, if all have equally many;
    /// `queried` records whether any rank has queried the placement of ranks on hosts.
    pub fn new(
        size: usize,
        per_host: &'a dyn Fn() -> Option<usize>,
        queried: &'a Cell<bool>,
    ) -> Ranks<'a> {
        Ranks { size, per_host, queried }
    }

    /// Returns the number of ranks on every host; `None` where they differ.
    pub fn per_host(&self) -> Option<usize> {
        self.queried.set(true);
        (self.per_host)()
    }

    /// Whether the placement of ranks on hosts was queried, in this collective or an earlier one.
    pub fn is_placement_queried(&self) -> bool {
        self.queried.get()
    }
}

/// The library whose rules select.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selector {
    /// SimGrid's simple algorithms (its default, without rules by size except for alltoall).
    #[default]
    Default,
    /// The rules of Open MPI.
    Ompi,
    /// The rules of MPICH.
    Mpich,
    /// The rules of MVAPICH2.
    Mvapich2,
    /// The rules of Intel MPI.
    Impi,
    /// The simple algorithms of SimGrid 3.11.
    Simgrid311,
}

impl Selector {
    /// Returns the selector of a name.
    pub fn parse(name: &str) -> Option<Selector> {
        Some(match name {
            "default" => Selector::Default,
            "ompi" => Selector::Ompi,
            "mpich" => Selector::Mpich,
            "mvapich2" => Selector::Mvapich2,
            "impi" => Selector::Impi,
            "simgrid-3.11" => Selector::Simgrid311,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Selector::Default => "default",
            Selector::Ompi => "ompi",
            Selector::Mpich => "mpich",
            Selector::Mvapich2 => "mvapich2",
            Selector::Impi => "impi",
            Selector::Simgrid311 => "simgrid-3.11",
        }
    }
}

/// An algorithm, and the selector that chose it.
#[derive(Clone, Copy)]
pub struct Selected {
    /// The function that writes the scripts.
    pub algorithm: Algorithm,
    /// Its name.
    pub name: &'static str,
    /// Name of the selector.
    pub by: &'static str,
}

/// A selector, and the collectives for which another selector or an algorithm is set.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The selector of all other collectives.
    pub selector: Selector,
    fixed: [Fixed; Kind::ALL.len()],
}

#[derive(Clone, Copy, Debug, Default)]
enum Fixed {
    #[default]
    No,
    Selector(Selector),
    Algorithm(u16),
}

impl Choice {
    /// Returns a choice that always follows one selector.
    pub fn of(selector: Selector) -> Choice {
        Choice { selector, ..Choice::default() }
    }

    /// Sets the algorithm or the selector of a collective by name; false when neither has this name.
    pub fn choose(&mut self, kind: Kind, name: &str) -> bool {
        let fixed = match Selector::parse(name) {
            Some(selector) => Fixed::Selector(selector),
            None => match algorithms(kind).iter().position(|(known, _)| *known == name) {
                Some(at) => Fixed::Algorithm(at as u16),
                None => return false,
            },
        };
        self.fixed[kind as usize] = fixed;
        true
    }

    /// Whether the algorithm of a collective is fixed by name.
    pub fn has_fixed(&self, kind: Kind) -> bool {
        matches!(self.fixed[kind as usize], Fixed::Algorithm(_))
    }

    /// The algorithm for a call.
    pub fn select(&self, call: &Call, ranks: &Ranks<'_>) -> Selected {
        let selector = match self.fixed[call.kind as usize] {
            Fixed::Algorithm(at) => {
                let (name, algorithm) = algorithms(call.kind)[at as usize];
                return Selected { algorithm, name, by: "setting" };
            }
            Fixed::Selector(selector) => selector,
            Fixed::No => self.selector,
        };
        let name = match selector {
            Selector::Simgrid311 => return basic::of_3_11(call.kind),
            Selector::Default if call.kind == Kind::Alltoall => rules::ompi(call, ranks.size),
            Selector::Default => "default",
            Selector::Ompi => rules::ompi(call, ranks.size),
            Selector::Mpich => rules::mpich(call, ranks),
            Selector::Mvapich2 => rules::mvapich2(call, ranks),
            Selector::Impi => rules::impi(call, ranks),
        };
        // Rules may name algorithms that are not simulated: the first, the default, replaces them.
        let known = algorithms(call.kind).iter().find(|(known, _)| *known == name);
        let &(name, algorithm) = known.unwrap_or(&algorithms(call.kind)[0]);
        Selected { algorithm, name, by: selector.name() }
    }
}
