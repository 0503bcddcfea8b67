//! Clusters of different speeds as one cluster of the slowest speed (N'takpé, Suter, ICPADS 2006).

use super::machines::Machines;
use slackline_model::{TaskId, approx};

/// A homogeneous cluster of the same power as all clusters together.
pub(crate) struct VirtualCluster<'m, 'a, 'p> {
    machines: &'m Machines<'a, 'p>,
    /// Number of processors of the slowest speed, not whole.
    pub(crate) size: f64,
    /// Per cluster: time there over time on the slowest.
    ratio: Vec<f64>,
    reference: usize,
}

impl<'m, 'a, 'p> VirtualCluster<'m, 'a, 'p> {
    /// The machines that are left.
    pub(crate) fn new(machines: &'m Machines<'a, 'p>) -> Self {
        let clusters = 0..machines.clusters.len();
        let pace: Vec<f64> = clusters.clone().map(|c| machines.pace(c)).collect();
        let slowest = pace.iter().copied().fold(0.0, f64::max);
        let reference = clusters.clone().find(|&c| pace[c] == slowest).unwrap_or(0);
        let ratio: Vec<f64> = pace.iter().map(|p| p / slowest).collect();
        let size = clusters.map(|c| machines.clusters[c].size() as f64 / ratio[c]).sum();
        VirtualCluster { machines, size, ratio, reference }
    }

    /// Seconds on so many virtual processors. A task that does not fit the slowest machines runs
    /// there as if it did.
    pub(crate) fn seconds(&self, task: TaskId, width: u32) -> f64 {
        let fits = |&c: &usize| self.machines.widths(task, c).is_some();
        let home = Some(self.reference).filter(fits);
        let home = home.or_else(|| (0..self.ratio.len()).find(fits)).unwrap_or(self.reference);
        self.machines.seconds(task, home, width) / self.ratio[home]
    }

    /// Fewest processors of a cluster on which a task is as fast as on `width` virtual ones, not
    /// looking below `from`; the most it may have there if it never is.
    pub(crate) fn translated(
        &self,
        task: TaskId,
        width: u32,
        cluster: usize,
        from: u32,
    ) -> Option<u32> {
        let (least, most) = self.machines.widths(task, cluster)?;
        let wanted = self.seconds(task, width);
        let enough = |&p: &u32| approx::le(self.machines.seconds(task, cluster, p), wanted);
        Some((from.clamp(least, most)..most).find(enough).unwrap_or(most))
    }
}
