//! State of the schedule before a change. While a decoding agrees with it, tasks need not be placed again.

use crate::flat_problem::FlatProblem;

/// The state of a schedule before a change, compared with the present one position by position.
pub(super) struct Before {
    /// The cores as they were at the position that is decoded.
    pub(super) cores: Vec<(f64, u32)>,
    /// The banks whose cores are not as they were, and their number.
    differs: Vec<bool>,
    count: usize,
    /// Tasks with a parent that ends at another date or bank than before.
    touched: Vec<bool>,
    list: Vec<u32>,
}

impl Before {
    pub(super) fn new(compact: &FlatProblem) -> Before {
        Before {
            cores: vec![(0.0, u32::MAX); compact.procs.len()],
            differs: vec![false; compact.banks()],
            count: 0,
            touched: vec![false; compact.len()],
            list: Vec::new(),
        }
    }

    /// Looks whether the cores of a bank are as they were.
    pub(super) fn compare(&mut self, compact: &FlatProblem, bank: usize, cores: &[(f64, u32)]) {
        let range = compact.cores(bank);
        let differs = self.cores[range.clone()] != cores[range];
        self.count += usize::from(differs);
        self.count -= usize::from(std::mem::replace(&mut self.differs[bank], differs));
    }

    /// Whether the cores of some bank are not as they were.
    pub(super) fn any_differs(&self) -> bool {
        self.count > 0
    }

    /// Whether those of a bank are not.
    #[inline]
    pub(super) fn differs(&self, bank: u32) -> bool {
        self.differs[bank as usize]
    }

    /// A parent of a task is not as it was.
    #[inline]
    pub(super) fn touch(&mut self, task: u32) {
        if !std::mem::replace(&mut self.touched[task as usize], true) {
            self.list.push(task);
        }
    }

    #[inline]
    pub(super) fn is_touched(&self, task: u32) -> bool {
        self.touched[task as usize]
    }

    /// No task has been touched yet.
    pub(super) fn forget(&mut self) {
        for task in self.list.drain(..) {
            self.touched[task as usize] = false;
        }
    }
}
