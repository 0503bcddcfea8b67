//! Load of this machine as Linux reports it: processes that wait for its cores, and time taken by a hypervisor.

use slackline_engine::Load;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two measurements: one costs more than a short task.
const LOOK: Duration = Duration::from_secs(1);

/// Ticks of all cores, those that were stolen, and how many cores there are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    all: u64,
    stolen: u64,
    cores: usize,
}

struct Look {
    at: Instant,
    ticks: Ticks,
    load: Option<Load>,
}

static LAST: Mutex<Option<Look>> = Mutex::new(None);

/// Load of this machine, at most one second old; none where it is not reported.
pub(crate) fn now() -> Option<Load> {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(look) = last.as_ref().filter(|look| look.at.elapsed() < LOOK) {
        return look.load;
    }
    let read = |path| std::fs::read_to_string(path).ok();
    let ticks = read("/proc/stat").and_then(|text| ticks(&text)).unwrap_or_default();
    let before = last.as_ref().map_or_else(Ticks::default, |look| look.ticks);
    let average = read("/proc/loadavg").and_then(|text| average(&text));
    let load = average.filter(|_| ticks.cores > 0).map(|average| Load {
        load: rounded(average / ticks.cores as f64),
        steal: rounded(stolen(before, ticks)),
    });
    *last = Some(Look { at: Instant::now(), ticks, load });
    load
}

/// Thousandths are enough, and short in a log.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// The share of ticks that were stolen between two measurements.
fn stolen(before: Ticks, after: Ticks) -> f64 {
    let all = after.all.saturating_sub(before.all);
    let stolen = after.stolen.saturating_sub(before.stolen);
    if all == 0 { 0.0 } else { stolen as f64 / all as f64 }
}

/// The first figure of `/proc/loadavg`: the mean of a minute.
fn average(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok().filter(|load: &f64| load.is_finite())
}

/// Times of all cores together in `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal; those of guests
/// are included in the first two.
fn ticks(text: &str) -> Option<Ticks> {
    let all = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let figures: Vec<u64> = all.split_whitespace().take(8).flat_map(str::parse).collect();
    let cores = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    let stolen = figures.get(7).copied().unwrap_or(0);
    Some(Ticks { all: figures.iter().sum(), stolen, cores })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_is_understood() {
        let before = "cpu  100 0 50 800 10 0 0 40 7 0\ncpu0 50 0 25 400 5 0 0 20 0 0\n\
                      cpu1 50 0 25 400 5 0 0 20 0 0\nintr 1 2 3\nctxt 5\n";
        let after = "cpu  150 0 50 810 10 0 0 80 9 0\ncpu0 1\ncpu1 1\nintr 1\n";
        let (before, after) = (ticks(before), ticks(after));
        assert_eq!(before, Some(Ticks { all: 1000, stolen: 40, cores: 2 }));
        let share = before.zip(after).map(|(before, after)| stolen(before, after));
        assert_eq!(share, Some(0.4));
        assert_eq!(ticks("nothing"), None);
        assert_eq!(average("3.07 2.00 1.00 2/345 6789\n"), Some(3.07));
        assert_eq!(average(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_machine_says_how_busy_it_is() {
        let load = now();
        assert!(load.is_some_and(|load| load.load >= 0.0 && (0.0..=1.0).contains(&load.steal)));
        assert_eq!(now(), load, "within a second nobody looks again");
    }
}
