//! This machine: cores, memory, and a measured speed.

use super::{Found, Machine};
use slackline_model::workflow::REFERENCE_SPEED;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// Describes this machine; its speed is measured unless given.
pub fn detect(speed: Option<f64>) -> Found {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let name = host_name();
    let (speed, how) = match speed {
        Some(speed) if speed == REFERENCE_SPEED => {
            (speed, "seconds in workflow files count as seconds of this machine".to_string())
        }
        Some(speed) => (speed, "speed as given".to_string()),
        None => (measure(), "speed measured: dependent multiply-adds on one core".to_string()),
    };
    let memory = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory(&text));
    let memory = [memory, group_limit()].into_iter().flatten().reduce(f64::min);
    let gpus = match gpus() {
        0 => Vec::new(),
        count => vec![(String::new(), count)],
    };
    let machine = Machine { name: name.clone(), cores, memory, gpus, ..Machine::default() };
    Found {
        machines: vec![machine],
        remarks: vec![format!("This machine as {name} sees itself; {how}.")],
        name,
        speed,
    }
}

/// Name of this machine.
pub fn host_name() -> String {
    let from_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = from_kernel.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    match name.trim() {
        "" => "localhost".to_string(),
        name => name.to_string(),
    }
}

/// Bytes of memory in the words of `/proc/meminfo`.
fn memory(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// Bytes that the control group of this process (cgroup v2), or one above it, may have.
fn group_limit() -> Option<f64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let base = Path::new("/sys/fs/cgroup");
    let limits = Path::new(own.trim()).ancestors().filter_map(|group| {
        let text = std::fs::read_to_string(base.join(group).join("memory.max")).ok()?;
        text.trim().parse::<f64>().ok()
    });
    limits.reduce(f64::min)
}

/// Devices that this process may use: those it is told of, else all that the driver lists.
fn gpus() -> u32 {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => listed(&list),
        Err(_) => {
            let all = std::fs::read_dir("/proc/driver/nvidia/gpus");
            all.map_or(0, |entries| entries.flatten().count() as u32)
        }
    }
}

/// The number of devices in a list; those after an invalid one (`-1`) do not count.
fn listed(list: &str) -> u32 {
    let names = list.split(',').map(str::trim);
    names.take_while(|name| !name.is_empty() && !name.starts_with('-')).count() as u32
}

/// Flop/s of one core on four chains of dependent multiply-adds, the kind of work that fits no
/// vector unit: the best of a few short rounds, rounded to two digits because it is no better
/// known than that.
fn measure() -> f64 {
    const STEPS: u32 = 200_000;
    const FLOPS_PER_STEP: f64 = 8.0;
    let mut best = 0.0f64;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_millis(120) {
        let round = Instant::now();
        let mut chains = black_box([1.0f64, 1.1, 1.2, 1.3]);
        let (factor, term) = (black_box(0.999_999), black_box(1e-6));
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = *chain * factor + term;
            }
        }
        black_box(chains);
        let seconds = round.elapsed().as_secs_f64().max(1e-9);
        best = best.max(f64::from(STEPS) * FLOPS_PER_STEP / seconds);
    }
    let digit = 10f64.powf(best.log10().floor() - 1.0);
    (best / digit).round() * digit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_words() {
        assert_eq!(memory("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16384.0 * 1024.0));
        assert_eq!(memory("nothing"), None);
    }

    #[test]
    fn devices_are_counted_as_they_are_told() {
        let counts = ["0,1,3", "", "GPU-8932f937", "0,-1,2", "-1"].map(listed);
        assert_eq!(counts, [3, 0, 1, 1, 0]);
    }

    #[test]
    fn this_machine_has_a_core_and_some_speed() {
        let found = detect(None);
        assert!(found.machines[0].cores >= 1);
        assert!(found.speed > 1e6, "{} flop/s", found.speed);
    }
}
