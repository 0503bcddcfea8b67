//! Run time of a task as a function of the number of processors it gets.

use std::sync::Arc;

/// Ratio of the time on `width` processors to the time on one.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SpeedUp {
    /// The same time whatever the width: sequential tasks, and rigid ones whose work was
    /// measured at their width.
    #[default]
    Serial,
    /// Amdahl's law: `serial + (1 - serial) / width`.
    Amdahl {
        /// The fraction of the work that cannot be shared (the papers' alpha).
        serial: f64,
    },
    /// Downey's model with average parallelism `parallelism` (A) and variance `sigma`.
    Downey {
        /// Average parallelism, at least 1.
        parallelism: f64,
        /// Coefficient of variance of the parallelism.
        sigma: f64,
    },
    /// Measured: entry `w - 1` is the ratio at width `w`; wider is as fast as the widest entry.
    Table(Arc<[f64]>),
}

impl SpeedUp {
    /// Time on `width` processors over time on one.
    pub fn factor(&self, width: u32) -> f64 {
        let n = f64::from(width.max(1));
        match self {
            SpeedUp::Serial => 1.0,
            SpeedUp::Amdahl { serial } => serial + (1.0 - serial) / n,
            &SpeedUp::Downey { parallelism, sigma } => 1.0 / downey(parallelism, sigma, n),
            SpeedUp::Table(ratios) => {
                let last = ratios.len().saturating_sub(1);
                ratios.get((width.max(1) as usize - 1).min(last)).copied().unwrap_or(1.0)
            }
        }
    }

    /// Returns the error in the parameters, if there is one.
    pub fn problem(&self) -> Option<String> {
        let bad = |x: f64| !x.is_finite();
        match self {
            SpeedUp::Serial => None,
            SpeedUp::Amdahl { serial } => (bad(*serial) || !(0.0..=1.0).contains(serial))
                .then(|| format!("the serial fraction must lie in [0, 1], not {serial}")),
            SpeedUp::Downey { parallelism, sigma } => (bad(*parallelism)
                || bad(*sigma)
                || *parallelism < 1.0
                || *sigma < 0.0)
                .then(|| {
                    format!(
                        "Downey's model needs A >= 1 and sigma >= 0, not {parallelism} and {sigma}"
                    )
                }),
            SpeedUp::Table(ratios) => (ratios.is_empty()
                || ratios.iter().any(|r| bad(*r) || *r <= 0.0))
            .then(|| "a speed-up table needs positive, finite entries".to_string()),
        }
    }
}

/// Speed-up of Downey's model on `n` processors.
fn downey(a: f64, sigma: f64, n: f64) -> f64 {
    if sigma <= 1.0 {
        if n <= a {
            a * n / (a + sigma * (n - 1.0) / 2.0)
        } else if n <= 2.0 * a - 1.0 {
            a * n / (sigma * (a - 0.5) + n * (1.0 - sigma / 2.0))
        } else {
            a
        }
    } else if n <= a + a * sigma - sigma {
        n * a * (sigma + 1.0) / (sigma * (n + a - 1.0) + a)
    } else {
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amdahl_by_hand() {
        // 20 % serial on 4 processors: 0.2 + 0.8 / 4 = 0.4
        assert_eq!(SpeedUp::Amdahl { serial: 0.2 }.factor(4), 0.4);
        assert_eq!(SpeedUp::Serial.factor(8), 1.0);
    }

    #[test]
    fn downey_starts_at_one_and_saturates_at_its_parallelism() {
        for sigma in [0.0, 0.5, 1.0, 2.0] {
            let model = SpeedUp::Downey { parallelism: 8.0, sigma };
            assert!((model.factor(1) - 1.0).abs() < 1e-12, "sigma {sigma}");
            assert!((model.factor(1000) - 1.0 / 8.0).abs() < 1e-12, "sigma {sigma}");
        }
    }

    #[test]
    fn tables_hold_their_last_value() {
        let table = SpeedUp::Table(Arc::from([1.0, 0.6]));
        assert_eq!((table.factor(1), table.factor(2), table.factor(9)), (1.0, 0.6, 0.6));
        assert!(SpeedUp::Table(Arc::from([])).problem().is_some());
    }
}
