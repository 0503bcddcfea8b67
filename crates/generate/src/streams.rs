//! Workflows that arrive one after another, as the studies of concurrent workflows draw them.

use crate::draw::Seed;
use crate::error::Result;
use crate::registry::{Family, find};
use slackline_model::Workflow;

/// The values from which the shapes of random graphs are drawn: parameters of the generator
/// `daggen`.
#[derive(Clone, Copy, Debug)]
pub struct Shapes {
    /// Widths: mean level sizes n^fat for n tasks.
    pub fat: &'static [&'static str],
    /// Uniformity of the level sizes, 0 to 1.
    pub regularity: &'static [&'static str],
    /// Density of edges between consecutive levels, 0 to 1.
    pub density: &'static [&'static str],
    /// Most levels that an edge spans.
    pub jump: &'static [&'static str],
}

impl Shapes {
    /// A random graph whose number of tasks is uniform between the two given, with these parameters of costs.
    pub fn graph(
        &self,
        tasks: (u64, u64),
        costs: &[(&str, String)],
        seed: Seed,
    ) -> Result<Workflow> {
        let mut draws = seed.draws("shape");
        let mut pick = |values: &[&str]| values[draws.below(values.len())].to_string();
        let mut given: Vec<(String, String)> = vec![
            ("fat".into(), pick(self.fat)),
            ("regularity".into(), pick(self.regularity)),
            ("density".into(), pick(self.density)),
            ("jump".into(), pick(self.jump)),
        ];
        let span = (tasks.1 - tasks.0 + 1) as usize;
        given.push(("tasks".into(), (tasks.0 + draws.below(span) as u64).to_string()));
        given.extend(costs.iter().map(|(k, v)| (k.to_string(), v.clone())));
        made("daggen", &given, seed)
    }
}

/// One of the named applications, drawn uniformly, of about 30 to 100 tasks.
pub fn application(names: &[&str], seed: Seed) -> Result<Workflow> {
    let mut draws = seed.draws("size");
    let tasks = 30 + draws.below(71);
    made(names[draws.below(names.len())], &[("tasks".to_string(), tasks.to_string())], seed)
}

fn made(generator: &str, given: &[(String, String)], seed: Seed) -> Result<Workflow> {
    let generator = find(Family::Workflow, generator)?;
    generator.workflow(&generator.settings(given)?, seed)
}

/// Draws the budgets of `count` workflows, as positions between the least and the largest cost: 0 to 1.
pub fn budgets(count: usize, seed: Seed) -> Vec<f64> {
    let mut draws = seed.draws("budgets");
    (0..count).map(|_| draws.unit()).collect()
}

/// Draws the deadlines and the budgets of `count` workflows, as positions from 0 to 1 between the least and the
/// largest: deadlines in the earlier half get budgets in the larger half, so that both limits can be kept.
pub fn limits(count: usize, seed: Seed) -> Vec<(f64, f64)> {
    let mut draws = seed.draws("limits");
    let mut limits = || {
        let time = draws.unit();
        (time, draws.unit() / 2.0 + if time < 0.5 { 0.5 } else { 0.0 })
    };
    (0..count).map(|_| limits()).collect()
}

/// A stream whose workflows come as a Poisson process.
#[derive(Clone, Debug)]
pub struct Poisson {
    /// Number of machines.
    pub processors: usize,
    /// Heterogeneity of the machines, as the value of the generator's parameter `beta`.
    pub beta: &'static str,
    /// Communication over computation, as the value of the generator's parameter `ccr`.
    pub ccr: &'static str,
    /// Number of tasks and arrival in seconds of each workflow, by arrival.
    pub coming: Vec<(u64, f64)>,
}

impl Poisson {
    /// Draws `count` workflows of 10 to 60 tasks whose arrivals have a mean `gap` in seconds; all arrive at 0
    /// where that is 0. The values are those of the study (`poisson`); the name of the stream refers to its chapter.
    pub fn draw(count: usize, gap: f64, seed: Seed) -> Poisson {
        let mut draws = seed.draws("chapter-4");
        let processors = [8, 16, 32][draws.below(3)];
        let beta = ["0", "0.1", "0.5", "1", "2"][draws.below(5)];
        let ccr = ["0.1", "0.8", "2", "5"][draws.below(4)];
        let mut date = 0.0;
        let mut next = |index: usize| {
            let tasks = 10 * (1 + draws.below(6) as u64);
            if index > 0 && gap > 0.0 {
                date += draws.exponential(gap);
            }
            (tasks, date)
        };
        Poisson { processors, beta, ccr, coming: (0..count).map(&mut next).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_what_they_say() {
        let stream = Poisson::draw(400, 50.0, Seed::new(1));
        assert!(
            stream.coming.iter().all(|(tasks, _)| tasks % 10 == 0 && (10..=60).contains(tasks))
        );
        assert!(stream.coming.windows(2).all(|w| w[0].1 < w[1].1));
        let gap = stream.coming[399].1 / 399.0;
        assert!((gap / 50.0 - 1.0).abs() < 0.2, "{gap}");
        assert!(Poisson::draw(5, 0.0, Seed::new(1)).coming.iter().all(|(_, date)| *date == 0.0));
        for (time, money) in limits(200, Seed::new(1)) {
            assert!((0.0..1.0).contains(&time));
            assert!(if time < 0.5 { (0.5..1.0).contains(&money) } else { money < 0.5 });
        }
        for member in 0..8 {
            let made = application(&["montage", "inspiral"], Seed { seed: 1, member }).unwrap();
            assert!((25..=110).contains(&made.len()), "{}", made.len());
        }
    }
}
