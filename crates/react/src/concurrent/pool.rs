//! Task pool of a round, as the papers call it: the ready tasks that compete for processors. (Not a resource pool.)

use super::bookkeeping::Bookkeeping;
use slackline_model::TaskId;

/// Rule that fills the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// All ready tasks of all workflows.
    All,
    /// Of each workflow its ready task of highest upward rank.
    OneEach,
}

impl Pool {
    /// Number of the workflow and task of each competitor: workflows by arrival, the tasks of one by falling upward rank.
    pub(super) fn fill(self, book: &Bookkeeping) -> Vec<(u32, TaskId)> {
        // `part` is the number of a workflow; closed ones have nothing left to place.
        let most = match self {
            Pool::All => usize::MAX,
            Pool::OneEach => 1,
        };
        let offering =
            book.offering.iter().map(|&part| (part as usize, &book.accounts[part as usize]));
        let open = offering.filter(|(_, account)| !account.closed);
        let offers = |(part, account): (usize, &'_ super::bookkeeping::Account)| {
            account.ready().take(most).map(|t| (part as u32, t)).collect::<Vec<_>>()
        };
        open.flat_map(offers).collect()
    }
}
