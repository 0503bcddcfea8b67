//! Options for readers of workflows.

use slackline_io::Siblings;

/// Files beside a workflow's own, and values for its parameters.
#[derive(Clone, Copy, Default)]
pub struct ReadOptions<'a> {
    /// Files that the workflow may name; none for a text that is no file.
    pub siblings: Option<Siblings<'a>>,
    /// Values for `[params]` by name; of equal names the last wins. Readers ignore names that the workflow does not
    /// have; the caller checks them.
    pub parameters: &'a [(String, String)],
}
