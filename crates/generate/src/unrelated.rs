//! Instances of the study of selective rescheduling: layered graphs on unrelated machines, and how wrong
//! the estimate of every task on every machine is.

use crate::costs::{Ccr, CcrBy, Costs, TaskCosts};
use crate::draw::Seed;
use crate::error::Result;
use crate::workflow::layered::SelectiveRescheduling;
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::{Platform, Workflow};

/// Ranges of a population.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// Name of its random streams.
    pub name: &'static str,
    /// Least and most tasks.
    pub tasks: (usize, usize),
    /// Least and most machines.
    pub machines: (usize, usize),
}

/// One member of a population.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The graph.
    pub workflow: Workflow,
    /// Its machines, `p1` and so on.
    pub platform: Platform,
    /// Per task and machine: error as a part of the largest, uniform in (-1, 1).
    pub error: Vec<f64>,
}

impl Population {
    /// The member of this seed.
    pub fn draw(&self, seed: Seed) -> Result<Instance> {
        let mut draws = seed.draws(&format!("{}/instance", self.name));
        let tasks = draws.between(self.tasks.0, self.tasks.1);
        let machines = draws.between(self.machines.0, self.machines.1);
        let ratio = draws.uniform(0.1, 1.0);
        // Time per data unit of each pair, the same both ways.
        let mut factor = vec![0.0; machines * machines];
        let mut total = 0.0;
        for i in 0..machines {
            for j in i + 1..machines {
                let c = draws.uniform(0.5, 1.5);
                (factor[i * machines + j], factor[j * machines + i]) = (c, c);
                total += c;
            }
        }
        let mean = total / (machines * (machines - 1) / 2) as f64;
        let costs = Costs {
            tasks: TaskCosts::Uniform { low: 50.0, high: 100.0, whole: false },
            processors: machines,
            ccr: Some(Ccr { ratio, by: CcrBy::Means, spread: 1.0 }),
            bandwidth: 1.0 / mean,
            ..Costs::default()
        };
        // Streams of the shape and its costs carry the name of the population through the seed.
        let shape = SelectiveRescheduling { tasks, children: 3 };
        let own = Seed { seed: seed.seed ^ name_bits(self.name), member: seed.member };
        let workflow = shape.graph(own)?.workflow(&costs, own)?;
        let mut draws = seed.draws(&format!("{}/errors", self.name));
        let error = (0..tasks * machines).map(|_| draws.uniform(-1.0, 1.0)).collect();
        Ok(Instance { workflow, platform: machines_of(machines, &factor)?, error })
    }
}

/// Spreads a name over a seed, so that populations share no stream.
fn name_bits(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| {
        (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3) // FNV-1a
    })
}

/// Machines `p1` ... with a time per data unit for each pair.
fn machines_of(machines: usize, factor: &[f64]) -> Result<Platform> {
    let mut builder = PlatformBuilder::new("machines");
    let bandwidth = factor.iter().map(|&c| if c > 0.0 { 1.0 / c } else { f64::INFINITY }).collect();
    let latency = vec![0.0; machines * machines].into();
    builder.set_matrix(Matrix::Dense { hosts: machines, bandwidth, latency });
    let root = builder.root()?;
    for p in 1..=machines {
        builder.add_host(root, HostSpec::new(format!("p{p}"), 1.0))?;
    }
    Ok(builder.build()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_what_its_population_says() {
        let population = Population { name: "test", tasks: (20, 30), machines: (3, 8) };
        for member in 0..20 {
            let drawn = population.draw(Seed { seed: 3, member }).unwrap();
            let (tasks, machines) = (drawn.workflow.len(), drawn.platform.hosts().len());
            assert!((20..=30).contains(&tasks) && (3..=8).contains(&machines));
            assert_eq!(drawn.error.len(), tasks * machines);
            assert!(drawn.error.iter().all(|e| e.abs() < 1.0));
            assert_eq!(drawn.workflow, population.draw(Seed { seed: 3, member }).unwrap().workflow);
        }
        let errors = |name| Population { name, ..population }.draw(Seed::new(3)).unwrap().error;
        assert_ne!(errors("test"), errors("other"));
    }
}
