//! Costs of an MPI implementation and a network: SimGrid's keys, and a few of our own.

use crate::action::Kind;
use crate::collectives::{Choice, Selector};
use slackline_io::{FileAccess, FormatError};
use slackline_simulate::Models;
use slackline_simulate::models::SettingError;
use std::path::Path;

/// A cost in steps that are affine in the size of a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overhead {
    /// `(threshold, constant, slope)` by rising threshold.
    steps: Vec<(f64, f64, f64)>,
}

impl Overhead {
    /// Steps given as `(threshold, seconds, seconds per byte)`.
    pub fn new(mut steps: Vec<(f64, f64, f64)>) -> Overhead {
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        Overhead { steps }
    }

    /// Reads `threshold:constant[:slope];...` in any order.
    pub fn parse(text: &str) -> Option<Overhead> {
        let number = |s: &str| s.trim().parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        let mut steps = Vec::new();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let mut fields = part.split(':');
            let threshold = number(fields.next()?)?;
            let constant = number(fields.next()?)?;
            let slope = fields.next().map_or(Some(0.0), number)?;
            if fields.next().is_some() {
                return None;
            }
            steps.push((threshold, constant, slope));
        }
        (!steps.is_empty()).then(|| Overhead::new(steps))
    }

    /// Seconds for a message: the last threshold strictly below its size counts, the first entry
    /// below all of them.
    #[inline]
    pub fn of(&self, bytes: u64) -> f64 {
        let Some(first) = self.steps.first() else { return 0.0 };
        let size = bytes as f64;
        let above = self.steps.partition_point(|step| step.0 < size);
        let (_, constant, slope) = above.checked_sub(1).map_or(*first, |k| self.steps[k]);
        constant + slope * size
    }

    /// Costs nothing.
    pub fn is_free(&self) -> bool {
        self.steps.is_empty()
    }
}

/// All settings of a replay.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// Network and hosts.
    pub models: Models,
    /// Bytes that travel with every message.
    pub envelope: u64,
    /// Messages below this size are sent without waiting for the receiver.
    pub eager_below: u64,
    /// The sender of a message below this size continues at once.
    pub detached_below: u64,
    /// Slept by a blocking detached send.
    pub os: Overhead,
    /// Slept by every non-blocking send.
    pub ois: Overhead,
    /// Slept by the receiver of a detached message.
    pub or: Overhead,
    /// Slept by a test, seconds.
    pub test: f64,
    /// Slept by a probe that does not block, seconds.
    pub iprobe: f64,
    /// Whether failed tests cost more and more.
    pub grow: bool,
    /// Slept at the start, seconds.
    pub init: f64,
    /// Whether a barrier follows the last action.
    pub final_barrier: bool,
    /// Added to the latency of a message for every other one that leaves its host, seconds.
    pub gap: f64,
    /// Hosts with a speed profile do nothing before its first date (`cpu/optim:TI`).
    pub idle_before_profile: bool,
    /// Flop/s by flop of a burst, instead of the hosts' speed: `(threshold, rate)`.
    pub rates: Vec<(f64, f64)>,
    /// The algorithm of every collective.
    pub choice: Choice,
}

impl Default for ReplaySettings {
    /// SimGrid 3.32's.
    fn default() -> ReplaySettings {
        ReplaySettings {
            models: Models::smpi(),
            envelope: 16,
            eager_below: 0,
            detached_below: 65536,
            os: Overhead::default(),
            ois: Overhead::default(),
            or: Overhead::default(),
            test: 1e-4,
            iprobe: 1e-4,
            grow: true,
            init: 0.0,
            final_barrier: false,
            gap: 0.0,
            idle_before_profile: false,
            rates: Vec::new(),
            choice: Choice::default(),
        }
    }
}

impl ReplaySettings {
    /// SimGrid 3.11's: no envelope, no cost of tests, other collectives.
    pub fn simgrid_3_11() -> ReplaySettings {
        ReplaySettings {
            models: Models::smpi().as_of_3_11(),
            envelope: 0,
            test: 0.0,
            choice: Choice::of(Selector::Simgrid311),
            ..ReplaySettings::default()
        }
    }

    /// Settings from `key=value` pairs (`key:value` too), whatever their order: those that stand
    /// for many come first.
    pub fn from_pairs(pairs: &[(String, String)]) -> Result<ReplaySettings, SettingError> {
        let rank = |key: &str| match key {
            "smpi/coll-selector" => 1,
            _ => Models::precedence(key),
        };
        let mut sorted: Vec<&(String, String)> = pairs.iter().collect();
        sorted.sort_by_key(|(key, _)| rank(key));
        let mut settings = ReplaySettings::default();
        for (key, value) in sorted {
            settings.set(key, value)?;
        }
        Ok(settings)
    }

    /// Changes one setting.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), SettingError> {
        let value = value.trim();
        let bad = |expected| {
            Err(SettingError::BadValue { key: key.to_owned(), value: value.to_owned(), expected })
        };
        let number = value.parse::<f64>().ok().filter(|v| v.is_finite() && *v >= 0.0);
        let yes = match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        };
        let seconds = |place: &mut f64| match number {
            Some(value) => {
                *place = value;
                Ok(())
            }
            None => bad("a number of seconds"),
        };
        let flag = |place: &mut bool| match yes {
            Some(value) => {
                *place = value;
                Ok(())
            }
            None => bad("yes or no"),
        };
        let bytes = |place: &mut u64| match number {
            Some(value) => {
                *place = value as u64;
                Ok(())
            }
            None => bad("a number of bytes"),
        };
        let overhead = |place: &mut Overhead| match (Overhead::parse(value), number) {
            (Some(parsed), _) => {
                *place = parsed;
                Ok(())
            }
            (None, Some(constant)) => {
                *place = match constant {
                    0.0 => Overhead::default(),
                    _ => Overhead::new(vec![(0.0, constant, 0.0)]),
                };
                Ok(())
            }
            _ => bad("threshold:constant:slope;..."),
        };
        match key {
            "preset" => match value {
                "simgrid-3.32" | "default" => *self = ReplaySettings::default(),
                "simgrid-3.11" => *self = ReplaySettings::simgrid_3_11(),
                _ => return bad("simgrid-3.32 or simgrid-3.11"),
            },
            "smpi/async-small-thresh" => bytes(&mut self.eager_below)?,
            "smpi/send-is-detached-thresh" => bytes(&mut self.detached_below)?,
            "smpi/os" => overhead(&mut self.os)?,
            "smpi/ois" => overhead(&mut self.ois)?,
            "smpi/or" => overhead(&mut self.or)?,
            "smpi/test" => seconds(&mut self.test)?,
            "smpi/iprobe" => seconds(&mut self.iprobe)?,
            "smpi/init" => seconds(&mut self.init)?,
            "smpi/sender-gap" => seconds(&mut self.gap)?,
            "smpi/grow-injected-times" => flag(&mut self.grow)?,
            "smpi/finalization-barrier" => flag(&mut self.final_barrier)?,
            "smpi/envelope" => bytes(&mut self.envelope)?,
            "compute/rates" => match slackline_simulate::Factor::parse(value) {
                Some(slackline_simulate::Factor::Steps(steps))
                    if steps.iter().all(|s| s.1 > 0.0) =>
                {
                    self.rates = steps;
                }
                _ => return bad("flop:rate;flop:rate;..."),
            },
            "cpu/optim" => self.idle_before_profile = value == "TI",
            "smpi/coll-selector" => match Selector::parse(value) {
                Some(selector) => self.choice.selector = selector,
                None => return bad("default, ompi, mpich, mvapich2, impi or simgrid-3.11"),
            },
            // What a replay has no use for: its computations are in the trace.
            "smpi/simulate-computation"
            | "smpi/wtime"
            | "smpi/host-speed"
            | "smpi/cpu-threshold"
            | "smpi/display-timing"
            | "smpi/privatization"
            | "smpi/buffering"
            | "smpi/tmpdir"
            | "smpi/keep-temps"
            | "smpi/shared-malloc" => {}
            _ => {
                let name = key.strip_prefix("smpi/");
                let kind = Kind::ALL.into_iter().find(|kind| Some(kind.name()) == name);
                match kind {
                    Some(kind) if self.choice.choose(kind, value) => {}
                    Some(_) => return bad("an algorithm of this collective"),
                    None => self.models.set(key, value)?,
                }
            }
        }
        Ok(())
    }

    /// Flop that take as long on a host of this speed as its class of bursts says.
    #[inline]
    pub fn burst(&self, flops: f64, speed: f64) -> f64 {
        if self.rates.is_empty() {
            return flops;
        }
        let above = self.rates.partition_point(|&(threshold, _)| threshold < flops);
        let (_, rate) = self.rates[above.saturating_sub(1)];
        flops * speed / rate
    }
}

/// Reads `KEY=VALUE` or `KEY:VALUE`.
pub fn split_pair(text: &str) -> Option<(String, String)> {
    let at = text.find(['=', ':'])?;
    Some((text[..at].trim().to_owned(), text[at + 1..].trim().to_owned()))
}

/// Reads settings from TOML: `"smpi/os" = "..."`, or tables (`[smpi]`, then `os = "..."`).
pub fn read_toml(files: &FileAccess, path: &Path) -> Result<Vec<(String, String)>, FormatError> {
    let text = files.read_text(path)?;
    let table: toml::Table = toml::from_str(&text).map_err(|e| {
        let offset = e.span().map_or(0, |span| span.start);
        FormatError::at_offset(&text, offset, e.message()).in_file(path)
    })?;
    let mut pairs = Vec::new();
    flatten("", &table, &mut pairs).map_err(|e| e.in_file(path))?;
    Ok(pairs)
}

fn flatten(
    prefix: &str,
    table: &toml::Table,
    pairs: &mut Vec<(String, String)>,
) -> Result<(), FormatError> {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
        let text = match value {
            toml::Value::Table(inner) => {
                flatten(&key, inner, pairs)?;
                continue;
            }
            toml::Value::String(text) => text.clone(),
            toml::Value::Integer(_) | toml::Value::Float(_) | toml::Value::Boolean(_) => {
                value.to_string()
            }
            _ => return Err(FormatError::in_path(key, "expected text, a number or a truth value")),
        };
        pairs.push((key, text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_step_strictly_above_their_thresholds() {
        let overhead = Overhead::parse("1000:5e-6:5e-10;0:2e-6:1e-9").unwrap();
        assert_eq!(overhead.of(0), 2e-6);
        assert_eq!(overhead.of(1000), 2e-6 + 1000.0 * 1e-9);
        assert_eq!(overhead.of(1001), 5e-6 + 1001.0 * 5e-10);
        assert!(Overhead::parse("a:1").is_none());
    }

    #[test]
    fn pairs_come_in_any_order() {
        let pair = |text| split_pair(text).unwrap();
        let pairs =
            [pair("network/crosstraffic:no"), pair("network/model=IB"), pair("smpi/test=0")];
        let settings = ReplaySettings::from_pairs(&pairs).unwrap();
        assert!(!settings.models.cross_traffic && settings.models.penalties.is_some());
        assert!(ReplaySettings::from_pairs(&[pair("smpi/bcast=upside_down")]).is_err());
        assert!(ReplaySettings::from_pairs(&[pair("smpi/tset=1")]).is_err());
    }
}
