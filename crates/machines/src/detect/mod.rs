//! Detection of real machines as a platform file: this machine, or the Slurm cluster it belongs to.

pub mod local;
pub mod slurm;

use slackline_model::units::Quantity;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A machine as the system describes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Host name.
    pub name: String,
    /// Number of cores.
    pub cores: u32,
    /// Memory in bytes, where known.
    pub memory: Option<f64>,
    /// Devices: kind (empty if unknown) and number.
    pub gpus: Vec<(String, u32)>,
    /// Longest walltime of a batch job there, in seconds.
    pub wall_time: Option<f64>,
    /// Partition of the machine; empty for a machine on its own.
    pub group: String,
}

/// A platform found on this system.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The name of this machine or of the cluster.
    pub name: String,
    /// Its machines, in the order of the platform file.
    pub machines: Vec<Machine>,
    /// Flop/s of one core.
    pub speed: f64,
    /// Sources of the figures, one line each; comments of the platform file.
    pub remarks: Vec<String>,
}

impl Found {
    /// The platform file. Machines of one group and size whose names only differ in a number
    /// become a cluster.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        for remark in &self.remarks {
            let _ = writeln!(text, "# {}", remark.replace(['\n', '\r'], " "));
        }
        let _ = writeln!(text, "name = {}", quoted(&self.name));
        let mut taken = BTreeSet::new();
        for cluster in self.clusters() {
            text.push('\n');
            text.push_str(&self.table(&cluster, &mut taken));
        }
        text
    }

    /// Machines that can be described together, in order of first appearance.
    fn clusters(&self) -> Vec<Vec<&Machine>> {
        let alike = |a: &Machine, b: &Machine| {
            let memory = |m: &Machine| m.memory.map(f64::to_bits);
            let prefix = |m: &Machine| numbered(&m.name).map(|(prefix, _)| prefix.to_string());
            let size = |m: &Machine| (m.cores, memory(m), m.wall_time.map(f64::to_bits));
            (size(a), &a.gpus, &a.group, prefix(a)) == (size(b), &b.gpus, &b.group, prefix(b))
                && prefix(a).is_some()
        };
        let mut clusters: Vec<Vec<&Machine>> = Vec::new();
        for machine in &self.machines {
            match clusters.iter_mut().find(|cluster| alike(cluster[0], machine)) {
                Some(cluster) => cluster.push(machine),
                None => clusters.push(vec![machine]),
            }
        }
        clusters
    }

    fn table(&self, cluster: &[&Machine], taken: &mut BTreeSet<String>) -> String {
        let first = cluster[0];
        let mut text = match cluster {
            [one] => format!("[host.{}]\n", quoted(&one.name)),
            many => {
                let wished = if first.group.is_empty() { "nodes" } else { &first.group };
                let prefix = numbered(&first.name).map_or("", |(prefix, _)| prefix);
                let numbers = many.iter().filter_map(|m| Some(numbered(&m.name)?.1));
                format!(
                    "[cluster.{}]\nnumbers = {}\nnames = {}\n",
                    quoted(&free_name(wished, taken)),
                    quoted(&ranges(numbers)),
                    quoted(&format!("{prefix}{{}}")),
                )
            }
        };
        let _ = writeln!(text, "cores = {}", first.cores);
        let _ = writeln!(text, "speed = {}", quoted(&Quantity::Speed.write(self.speed)));
        if let Some(memory) = first.memory {
            let _ = writeln!(text, "memory = {}", quoted(&Quantity::Size.write(memory)));
        }
        match first.gpus.as_slice() {
            [] => {}
            [(kind, count)] if kind.is_empty() => {
                let _ = writeln!(text, "gpus = {count}");
            }
            kinds => {
                let one = |(kind, count): &(String, u32)| format!("{} = {count}", quoted(kind));
                let all: Vec<String> = kinds.iter().map(one).collect();
                let _ = writeln!(text, "gpus = {{ {} }}", all.join(", "));
            }
        }
        if let Some(seconds) = first.wall_time {
            let limit = Quantity::Duration.write(seconds);
            let _ = writeln!(text, "# the partition allows wall-time = {}", quoted(&limit));
        }
        text
    }
}

/// `wished`, or with `-2`, `-3`, … where it is taken.
fn free_name(wished: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|n| format!("{wished}-{n}"));
    let mut names = std::iter::once(wished.to_string()).chain(numbered);
    let name = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(name.clone());
    name
}

/// Prefix and number of a name such as `node12`. None for `n01`: padding zeros would be lost.
fn numbered(name: &str) -> Option<(&str, u32)> {
    let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = &name[prefix.len()..];
    let value = number.parse().ok()?;
    (number == u32::to_string(&value)).then_some((prefix, value))
}

/// `1-8,12` for 1 to 8 and 12.
fn ranges(numbers: impl Iterator<Item = u32>) -> String {
    let sorted: BTreeSet<u32> = numbers.collect();
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for number in sorted {
        match runs.last_mut() {
            Some(run) if run.1.checked_add(1) == Some(number) => run.1 = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// A TOML string.
fn quoted(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04x}", c as u32),
        c => c.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackline_formats::platform_toml;

    fn machine(name: &str, cores: u32, group: &str) -> Machine {
        let (name, group) = (name.into(), group.into());
        Machine { name, cores, memory: Some(64e9), group, ..Machine::default() }
    }

    #[test]
    fn what_is_found_reads_back_with_the_same_names() {
        let mut machines: Vec<Machine> =
            (1..=8).chain([12]).map(|i| machine(&format!("node{i}"), 32, "batch")).collect();
        machines.push(machine("gpu1", 16, "batch"));
        machines.push(machine("gpu2", 16, "batch"));
        machines.push(machine("login", 8, "batch"));
        machines.push(machine("n01", 8, "batch"));
        machines.push(machine("n02", 8, "batch"));
        let names: Vec<String> = machines.iter().map(|m| m.name.clone()).collect();
        let found = Found {
            name: "hpc".into(),
            machines,
            speed: 3e9,
            remarks: vec!["a \"remark\"".into()],
        };
        let text = found.to_toml();
        assert!(text.contains("numbers = \"1-8,12\"\nnames = \"node{}\""), "{text}");
        let platform = platform_toml::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut read: Vec<&str> = platform.hosts().iter().map(|h| &*h.name).collect();
        let mut wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        read.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(read, wanted, "{text}");
        assert_eq!(platform.total_cores(), 9 * 32 + 2 * 16 + 3 * 8);
    }
}
