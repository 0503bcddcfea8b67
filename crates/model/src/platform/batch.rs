//! Options of the batch jobs through which the hosts of a cluster are reached.

use std::collections::BTreeMap;

/// Options of the batch jobs of a run, in addition to the demands of tasks and hosts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchOptions {
    /// The partition.
    pub partition: Option<String>,
    /// The account that is charged.
    pub account: Option<String>,
    /// The quality of service.
    pub qos: Option<String>,
    /// Features that nodes need.
    pub constraint: Option<String>,
    /// Wall time of jobs that serve a host, seconds.
    pub seconds: Option<f64>,
    /// Further arguments of `sbatch`.
    pub words: Vec<String>,
    /// The same for jobs of one task, by its kind; what they leave out is as above.
    pub kinds: BTreeMap<String, BatchOptions>,
}

impl BatchOptions {
    /// The options of a job for one task of a kind.
    pub fn of_kind(&self, kind: &str) -> BatchOptions {
        let whole = BatchOptions { kinds: BTreeMap::new(), ..self.clone() };
        let Some(own) = self.kinds.get(kind) else { return whole };
        BatchOptions {
            partition: own.partition.clone().or(whole.partition),
            account: own.account.clone().or(whole.account),
            qos: own.qos.clone().or(whole.qos),
            constraint: own.constraint.clone().or(whole.constraint),
            seconds: own.seconds.or(whole.seconds),
            words: whole.words.into_iter().chain(own.words.iter().cloned()).collect(),
            kinds: BTreeMap::new(),
        }
    }
}
