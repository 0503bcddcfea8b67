//! Rules that turn hosts, links and disks into capacities and rates.
//!
//! The default is what SimGrid 3.32 does when nothing is configured: LV08 (Velho & Legrand 2009)
//! with cross-traffic. [`Models::preset`] knows other releases by name.

use crate::kernel::Sharing;
use slackline_model::nearest::did_you_mean;
use slackline_model::platform::{Band, Charges, Contention};
use thiserror::Error;

/// Share of the way back that acknowledgements take.
pub(crate) const ACKNOWLEDGEMENTS: f64 = 0.05;

/// The settings that [`Models::set`] accepts, for the error of an unknown one.
const KEYS: &[&str] = &[
    "preset",
    "ptask/charge-local",
    "network/model",
    "host/model",
    "network/crosstraffic",
    "network/receiving-occupies-core",
    "network/TCP-gamma",
    "network/loopback-bw",
    "network/loopback-lat",
    "network/weight-S",
    "network/latency-factor",
    "network/bandwidth-factor",
    "smpi/lat-factor",
    "smpi/bw-factor",
    "smpi/IB-penalty-factors",
];

/// The model of transfers over the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkModel {
    /// Flows with the given factors that share links (CM02, LV08, SMPI differ in the factors).
    Flows,
    /// Nominal latency and bandwidth of the pair; transfers never disturb each other.
    Matrix,
    /// One transfer at a time per link, in order of arrival, at the nominal bandwidth.
    Fifo,
    /// Every transfer takes as many seconds as the latency factor says, whatever its way.
    Constant,
}

/// Factors by which InfiniBand slows down flows that share an adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Penalties {
    /// Be: for flows that enter one receiver.
    pub entering: f64,
    /// Bs: for flows that leave one sender.
    pub leaving: f64,
    /// ys: for flows that leave a sender towards a busy receiver.
    pub busy: f64,
}

impl Penalties {
    /// SimGrid's.
    pub const DEFAULT: Penalties = Penalties { entering: 0.965, leaving: 0.925, busy: 1.35 };
}

/// The model by which activities share hosts and links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostModel {
    /// Executions share cores, transfers share links (Cas01 and the network model).
    Separate,
    /// Everything is a parallel task (L07): nominal bandwidths, fair bottleneck.
    ParallelTasks,
}

/// A factor that may depend on the size of the message.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// One factor for all sizes.
    Constant(f64),
    /// `(threshold, factor)` by rising threshold: the last threshold strictly below the size
    /// wins, 1 below all of them.
    Steps(Vec<(f64, f64)>),
}

impl Factor {
    /// The factor for a message.
    #[inline]
    pub fn of(&self, bytes: f64) -> f64 {
        match self {
            Factor::Constant(factor) => *factor,
            Factor::Steps(steps) => {
                let above = steps.partition_point(|&(threshold, _)| threshold < bytes);
                above.checked_sub(1).map_or(1.0, |k| steps[k].1)
            }
        }
    }

    /// Reads `0.97` or `threshold:factor;threshold:factor;...` in any order.
    pub fn parse(text: &str) -> Option<Factor> {
        let number = |s: &str| s.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        if let Some(factor) = number(text) {
            return Some(Factor::Constant(factor));
        }
        let mut steps = Vec::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (threshold, factor) = part.split_once(':')?;
            steps.push((number(threshold)?, number(factor)?));
        }
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        (!steps.is_empty()).then_some(Factor::Steps(steps))
    }
}

/// The rules of one simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Models {
    /// Sharing of hosts and links.
    pub host: HostModel,
    /// Model of transfers over the network.
    pub network: NetworkModel,
    /// The latency phase lasts this many route latencies.
    pub latency_factor: Factor,
    /// Usable part of a bandwidth. A constant scales the links; for steps see `factor_on_share`.
    pub bandwidth_factor: Factor,
    /// Steps of the bandwidth factor multiply what a message gets in the sharing (3.32; above 1
    /// it is faster than its links) instead of bounding its rate (3.11).
    pub factor_on_share: bool,
    /// Weight of 1/bandwidth against latency in the share of a flow, bytes (S in LV08).
    pub weight_s: f64,
    /// Acknowledgements take 5 % on the way back.
    pub cross_traffic: bool,
    /// Largest TCP window, bytes; a flow gets at most a window per round trip.
    pub tcp_gamma: f64,
    /// Whether the bandwidth factor also scales the window's bound.
    pub window_scaled: bool,
    /// From a host to itself, where the platform says nothing: bytes/s, not shared.
    pub loopback_bandwidth: f64,
    /// From a host to itself, where the platform says nothing: seconds.
    pub loopback_latency: f64,
    /// A transfer keeps a core of its destination busy.
    pub receiving_occupies_core: bool,
    /// Data that stay on a host cross its links too; only where everything is a parallel task.
    pub charge_local: bool,
    /// Slow-down of flows that share an adapter of an InfiniBand network.
    pub penalties: Option<Penalties>,
}

impl Default for Models {
    fn default() -> Self {
        Models::lv08()
    }
}

/// An unknown setting, or a value it cannot have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SettingError {
    /// No such setting, and the question for the nearest one.
    #[error("unknown setting `{0}`{1}")]
    Unknown(String, String),
    /// The value does not fit.
    #[error("`{value}` is no value for `{key}`: {expected}")]
    BadValue {
        /// The setting.
        key: String,
        /// The value as given.
        value: String,
        /// The permitted values.
        expected: &'static str,
    },
}

impl Models {
    /// LV08 with the defaults of SimGrid 3.32.
    pub fn lv08() -> Self {
        Models {
            host: HostModel::Separate,
            network: NetworkModel::Flows,
            latency_factor: Factor::Constant(13.01),
            bandwidth_factor: Factor::Constant(0.97),
            factor_on_share: true,
            weight_s: 20537.0,
            cross_traffic: true,
            tcp_gamma: 4_194_304.0,
            window_scaled: true,
            loopback_bandwidth: 10e9,
            loopback_latency: 0.0,
            receiving_occupies_core: false,
            charge_local: false,
            penalties: None,
        }
    }

    /// CM02 (Casanova & Marchal 2002): no factors, shares by latency alone.
    pub fn cm02() -> Self {
        Models {
            latency_factor: Factor::Constant(1.0),
            bandwidth_factor: Factor::Constant(1.0),
            weight_s: 0.0,
            ..Models::lv08()
        }
    }

    /// Factors that depend on the size of an MPI message: the nine steps of SimGrid 3.7 to 3.11.
    pub fn smpi() -> Self {
        const THRESHOLDS: [f64; 9] =
            [0.0, 257.0, 732.0, 1426.0, 3484.0, 5776.0, 9376.0, 15424.0, 65472.0];
        const BANDWIDTH: [f64; 9] =
            [0.812084, 0.338112, 0.341987, 0.608902, 0.77493, 1.08739, 0.58729, 0.697866, 0.940694];
        const LATENCY: [f64; 9] =
            [2.01467, 1.95341, 1.9503, 1.61075, 1.88101, 2.18796, 2.59299, 3.48845, 11.6436];
        let steps =
            |factors: [f64; 9]| Factor::Steps(THRESHOLDS.into_iter().zip(factors).collect());
        Models {
            latency_factor: steps(LATENCY),
            bandwidth_factor: steps(BANDWIDTH),
            weight_s: 8775.0,
            ..Models::lv08()
        }
    }

    /// The three segments published with SMPI (2011).
    pub fn smpi_three_segments() -> Self {
        Models {
            latency_factor: Factor::Steps(vec![
                (0.0, 1.0056),
                (1024.0, 1.8805),
                (32768.0, 22.7111),
            ]),
            bandwidth_factor: Factor::Steps(vec![
                (0.0, 0.2758),
                (1024.0, 0.5477),
                (32768.0, 0.9359),
            ]),
            ..Models::smpi()
        }
    }

    /// Parallel tasks (L07).
    pub fn parallel_tasks() -> Self {
        Models { host: HostModel::ParallelTasks, ..Models::lv08() }
    }

    /// Latencies and bandwidths are those of whole transfers: no factors, no window, no
    /// acknowledgements.
    pub fn measured() -> Self {
        Models { cross_traffic: false, tcp_gamma: f64::INFINITY, ..Models::cm02() }
    }

    /// The same rules as SimGrid 3.11 (2014) had them: no cross-traffic, another loopback, a
    /// window's bound that no factor scales, factors of messages that bound them.
    pub fn as_of_3_11(self) -> Self {
        Models {
            factor_on_share: false,
            cross_traffic: false,
            window_scaled: false,
            loopback_bandwidth: 498e6,
            loopback_latency: 15e-6,
            ..self
        }
    }

    /// Rules by name: `simgrid-3.32` (the default), `simgrid-3.11`, or a network model.
    pub fn preset(name: &str) -> Option<Self> {
        Some(match name {
            "simgrid-3.32" | "LV08" | "default" => Models::lv08(),
            "simgrid-3.11" => Models::lv08().as_of_3_11(),
            "CM02" => Models::cm02(),
            "SMPI" => Models::smpi(),
            "ptask_L07" => Models::parallel_tasks(),
            "matrix" => Models { network: NetworkModel::Matrix, ..Models::cm02() },
            "fifo" => Models { network: NetworkModel::Fifo, ..Models::cm02() },
            "IB" => Models { penalties: Some(Penalties::DEFAULT), ..Models::smpi() },
            "Constant" => Models { network: NetworkModel::Constant, ..Models::cm02() },
            "measured" => Models::measured(),
            _ => return None,
        })
    }

    /// Rank in which a setting is applied, whatever order they are given in: those that set many
    /// others come first.
    pub fn precedence(key: &str) -> u8 {
        match key {
            "preset" => 0,
            "network/model" | "host/model" => 1,
            _ => 2,
        }
    }

    /// Changes settings. Their order matters only among those of one name: a factor that is set
    /// wins over that of the network model.
    pub fn set_all<K: AsRef<str>, V: AsRef<str>>(
        &mut self,
        pairs: &[(K, V)],
    ) -> Result<(), SettingError> {
        let mut sorted: Vec<(&str, &str)> =
            pairs.iter().map(|(key, value)| (key.as_ref(), value.as_ref())).collect();
        sorted.sort_by_key(|(key, _)| Models::precedence(key));
        sorted.into_iter().try_for_each(|(key, value)| self.set(key, value))
    }

    /// Changes one setting by its name in SimGrid. Purely numerical ones (`surf/precision`,
    /// `maxmin/precision`, `network/optim`, `cpu/optim`) are accepted and have no effect: dates are exact here.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let bad = |expected| {
            Err(SettingError::BadValue { key: key.to_owned(), value: value.to_owned(), expected })
        };
        let number = value.trim().parse::<f64>().ok().filter(|v| v.is_finite());
        let yes = match value.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        };
        match key {
            "preset" => match Models::preset(value) {
                Some(models) => *self = models,
                None => return bad("simgrid-3.32, simgrid-3.11, or a network model"),
            },
            "network/model" => {
                let Some(chosen) = Models::preset(value).filter(|m| m.host == HostModel::Separate)
                else {
                    return bad("CM02, LV08, SMPI, IB, Constant, measured, matrix or fifo");
                };
                if value == "measured" {
                    let Models { cross_traffic, tcp_gamma, .. } = Models::measured();
                    *self = Models { cross_traffic, tcp_gamma, ..self.clone() };
                }
                *self = Models {
                    network: chosen.network,
                    latency_factor: chosen.latency_factor,
                    bandwidth_factor: chosen.bandwidth_factor,
                    weight_s: chosen.weight_s,
                    penalties: chosen.penalties,
                    ..self.clone()
                };
            }
            "host/model" => match value {
                "default" | "compound" => self.host = HostModel::Separate,
                "ptask_L07" => self.host = HostModel::ParallelTasks,
                _ => return bad("default or ptask_L07"),
            },
            "network/crosstraffic" => match yes {
                Some(yes) => self.cross_traffic = yes,
                None => return bad("yes or no"),
            },
            "ptask/charge-local" => match yes {
                Some(yes) => self.charge_local = yes,
                None => return bad("yes or no"),
            },
            "network/receiving-occupies-core" => match yes {
                Some(yes) => self.receiving_occupies_core = yes,
                None => return bad("yes or no"),
            },
            "network/TCP-gamma" => match number.filter(|v| *v > 0.0) {
                Some(gamma) => self.tcp_gamma = gamma,
                None => return bad("a positive number of bytes"),
            },
            "network/loopback-bw" => match number.filter(|v| *v > 0.0) {
                Some(bandwidth) => self.loopback_bandwidth = bandwidth,
                None => return bad("a positive number of bytes per second"),
            },
            "network/loopback-lat" => match number.filter(|v| *v >= 0.0) {
                Some(latency) => self.loopback_latency = latency,
                None => return bad("a number of seconds"),
            },
            "network/weight-S" => match number.filter(|v| *v >= 0.0) {
                Some(s) => self.weight_s = s,
                None => return bad("a number of bytes"),
            },
            "network/latency-factor" | "smpi/lat-factor" => match Factor::parse(value) {
                Some(factor) => self.latency_factor = factor,
                None => return bad("a number, or threshold:factor;..."),
            },
            "network/bandwidth-factor" | "smpi/bw-factor" => match Factor::parse(value) {
                Some(Factor::Constant(0.0)) => return bad("a positive number"),
                Some(factor) => self.bandwidth_factor = factor,
                None => return bad("a number, or threshold:factor;..."),
            },
            "smpi/IB-penalty-factors" => {
                let numbers: Option<Vec<f64>> =
                    value.split(';').map(|v| v.trim().parse().ok()).collect();
                match numbers.as_deref() {
                    Some(&[entering, leaving, busy])
                        if [entering, leaving, busy].iter().all(|v| *v > 0.0 && v.is_finite()) =>
                    {
                        let penalties = Penalties { entering, leaving, busy };
                        self.penalties = self.penalties.map(|_| penalties);
                    }
                    _ => return bad("three positive numbers Be;Bs;ys"),
                }
            }
            "surf/precision"
            | "precision/timing"
            | "maxmin/precision"
            | "precision/work-amount"
            | "network/optim"
            | "cpu/optim" => {}
            _ => {
                let hint = did_you_mean(key, KEYS.iter().copied());
                return Err(SettingError::Unknown(key.to_owned(), hint));
            }
        }
        Ok(())
    }

    /// The rules under which flows that share links are charged like this when they are alone; of
    /// how they share, the default.
    pub fn charging(charges: &Charges) -> Models {
        let factor = |of: fn(&Band) -> f64| match &charges.bands[..] {
            [one] => Factor::Constant(of(one)),
            bands => Factor::Steps(bands.iter().map(|band| (band.above, of(band))).collect()),
        };
        Models {
            latency_factor: factor(|band| band.latency),
            bandwidth_factor: factor(|band| band.bandwidth),
            cross_traffic: charges.acknowledgements > 0.0,
            tcp_gamma: charges.window,
            window_scaled: charges.window_scaled,
            ..Models::default()
        }
    }

    /// Returns the latencies and rates of a lone transfer, for planners.
    pub fn charges(&self) -> Charges {
        let contention = match self.network {
            NetworkModel::Flows => Contention::Shared,
            NetworkModel::Matrix | NetworkModel::Constant => Contention::Free,
            NetworkModel::Fifo => Contention::InTurn,
        };
        let constant = self.host == HostModel::Separate && self.network == NetworkModel::Constant;
        let as_stated =
            self.host == HostModel::ParallelTasks || self.network != NetworkModel::Flows;
        if as_stated && !constant {
            if self.host != HostModel::ParallelTasks {
                return Charges { contention, ..Charges::default() };
            }
            // A parallel task that carries nothing uses no link and waits for none.
            let nothing = Band { latency: 0.0, ..Charges::STATED };
            let bands = vec![nothing, Band { above: 0.0, ..Charges::STATED }];
            return Charges { contention, local: self.charge_local, bands, ..Charges::default() };
        }
        let thresholds = |factor: &Factor| match factor {
            Factor::Constant(_) => Vec::new(),
            Factor::Steps(steps) => steps.iter().map(|&(threshold, _)| threshold).collect(),
        };
        let mut above = thresholds(&self.latency_factor);
        above.extend(thresholds(&self.bandwidth_factor));
        above.sort_by(f64::total_cmp);
        above.dedup();
        // The factors of a band are those of the sizes just above its threshold.
        let band = |above: f64, size: f64| Band {
            above,
            latency: self.latency_factor.of(size),
            bandwidth: self.bandwidth_factor.of(size),
        };
        let first = band(f64::NEG_INFINITY, above.first().copied().unwrap_or(0.0));
        let rest = above.iter().map(|&above| band(above, above.next_up()));
        Charges {
            bands: std::iter::once(first).chain(rest).collect(),
            link_factor: self.link_factor(),
            window: self.tcp_gamma,
            window_scaled: self.window_scaled,
            acknowledgements: if self.cross_traffic { ACKNOWLEDGEMENTS } else { 0.0 },
            contention,
            local: false,
            constant,
        }
    }

    /// Returns the usable part of a link's bandwidth for all its flows together.
    pub(crate) fn link_factor(&self) -> f64 {
        match (self.host, &self.bandwidth_factor) {
            (HostModel::Separate, Factor::Constant(factor)) => *factor,
            _ => 1.0,
        }
    }

    pub(crate) fn sharing(&self) -> Sharing {
        match self.host {
            HostModel::Separate => Sharing::MaxMin,
            HostModel::ParallelTasks => Sharing::FairBottleneck,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_threshold_below_the_size_wins() {
        let factor = Factor::parse("1024:1.8805; 0:1.0056;32768:22.7111").unwrap();
        assert_eq!(factor.of(1.0), 1.0056);
        assert_eq!(factor.of(1024.0), 1.0056);
        assert_eq!(factor.of(1025.0), 1.8805);
        assert_eq!(factor.of(0.0), 1.0);
        assert_eq!(Factor::parse("0.97").unwrap().of(5.0), 0.97);
        assert_eq!(Factor::parse("a:b"), None);
        assert_eq!(Factor::parse("NaN"), None);
    }

    #[test]
    fn settings_are_checked() {
        let mut local = Models::parallel_tasks();
        local.set("ptask/charge-local", "yes").unwrap();
        assert!(local.charges().local && !Models::parallel_tasks().charges().local);
        let mut models = Models::default();
        models.set("network/model", "CM02").unwrap();
        models.set("network/crosstraffic", "no").unwrap();
        assert_eq!(models, Models { cross_traffic: false, ..Models::cm02() });
        let error = models.set("network/modle", "CM02").unwrap_err().to_string();
        assert!(error.contains("did you mean 'network/model'?"), "{error}");
        for key in KEYS {
            let told = models.clone().set(key, "");
            assert!(!matches!(told, Err(SettingError::Unknown(..))), "{key}");
        }
        let mut models = Models::default();
        let pairs = [("network/latency-factor", "3.5"), ("network/model", "CM02")];
        models.set_all(&pairs).unwrap();
        assert_eq!(models.latency_factor, Factor::Constant(3.5));
        assert_eq!(models.bandwidth_factor, Factor::Constant(1.0));
        let pairs = [("smpi/IB-penalty-factors", "1;1;2"), ("network/model", "IB")];
        models.set_all(&pairs).unwrap();
        let penalties = Penalties { entering: 1.0, leaving: 1.0, busy: 2.0 };
        assert_eq!(models, Models { penalties: Some(penalties), ..Models::smpi() });
        assert!(models.set("network/TCP-gamma", "-1").is_err());
        assert!(models.set("network/model", "ptask_L07").is_err());
    }
}
