//! Load of a machine: processes that wait for its cores, and time taken by a hypervisor.

use serde::{Deserialize, Serialize};

/// Load of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Processes that run or want to, over the last minute, for each core.
    pub load: f64,
    /// Share of the time that was given to other machines on the same hardware.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steal: f64,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Load {
    /// The share of a core that something gets which computes there, between 0 and 1.
    pub fn share(&self) -> f64 {
        let given = (1.0 - self.steal).clamp(0.0, 1.0);
        if self.load > 1.0 { given / self.load } else { given }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_that_others_want_too_are_shared() {
        let share = |load, steal| Load { load, steal }.share();
        assert_eq!((share(0.3, 0.0), share(1.0, 0.0), share(4.0, 0.0)), (1.0, 1.0, 0.25));
        assert_eq!((share(0.0, 0.25), share(2.0, 0.5)), (0.75, 0.25));
    }
}
