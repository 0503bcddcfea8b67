//! Populations: every combination of the given parameter values, each a number of times.

use crate::draw::Seed;
use crate::error::{Result, bad};
use crate::registry::{self, Family, Generator};
use slackline_model::parameter::{Kind, Values};

/// Combinations of parameter values of one generator, `count` members each.
pub struct Population {
    /// The generator of the members.
    pub generator: &'static Generator,
    axes: Vec<(String, Vec<String>)>,
    count: u64,
    seed: u64,
}

/// One member of a population.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its parameters.
    pub settings: Values,
    /// Its seed: the member number makes it differ from all others.
    pub seed: Seed,
}

/// Most members a population may have.
const LIMIT: u64 = 100_000_000;

impl Population {
    /// Reads parameters whose values may be lists, `10,20,50`; every value is checked now.
    pub fn new(
        generator: &'static Generator,
        given: &[(String, String)],
        count: u64,
        seed: u64,
    ) -> Result<Population> {
        let mut axes: Vec<(String, Vec<String>)> = Vec::new();
        for (name, text) in given {
            let kind = generator.parameters().find(|p| p.name == name).map(|p| p.kind);
            let values: Vec<String> = match kind {
                Some(Kind::Text) | None => vec![text.clone()],
                _ => text.split(',').map(|v| v.trim().to_string()).collect(),
            };
            for value in &values {
                generator.settings(&[(name.clone(), value.clone())])?;
            }
            axes.retain(|(known, _)| known != name);
            axes.push((name.clone(), values));
        }
        let population = Population { generator, axes, count, seed };
        let members = population.combinations().checked_mul(count).filter(|&n| n <= LIMIT);
        match members {
            Some(0) => Err(bad("count", count, "a population needs a member")),
            Some(_) => Ok(population),
            None => Err(bad("count", count, format!("more than {LIMIT} members"))),
        }
    }

    /// Number of combinations of parameter values.
    pub fn combinations(&self) -> u64 {
        let sizes = self.axes.iter().map(|(_, values)| values.len() as u64);
        sizes.fold(1, u64::saturating_mul)
    }

    /// Number of members.
    pub fn len(&self) -> u64 {
        self.combinations().saturating_mul(self.count)
    }

    /// Never true: a population has a member.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Member `number`, counted from 0; the last parameter given changes fastest, after the
    /// repetitions.
    pub fn member(&self, number: u64) -> Result<Member> {
        let mut rest = number / self.count.max(1);
        let mut given = Vec::with_capacity(self.axes.len());
        for (name, values) in self.axes.iter().rev() {
            let size = values.len().max(1) as u64;
            if let Some(value) = values.get((rest % size) as usize) {
                given.push((name.clone(), value.clone()));
            }
            rest /= size;
        }
        let settings = self.generator.settings(&given)?;
        Ok(Member { settings, seed: Seed { seed: self.seed, member: number } })
    }

    /// The command that makes one member again.
    pub fn command(&self, member: &Member) -> String {
        self.generator.command(&member.settings, member.seed)
    }
}

/// The population of a published experiment.
pub struct Study {
    /// As on the command line.
    pub name: &'static str,
    /// Subject of the study, and its publication.
    pub about: &'static str,
    /// Name of the workflow generator.
    pub generator: &'static str,
    /// Values of its parameters.
    pub axes: &'static [(&'static str, &'static str)],
    /// Members of each combination.
    pub count: u64,
}

impl Study {
    /// The population, from a seed.
    pub fn population(&self, seed: u64) -> Result<Population> {
        let given: Vec<_> = self.axes.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let generator = registry::find(Family::Workflow, self.generator)?;
        Population::new(generator, &given, self.count, seed)
    }
}

/// The populations of the published experiments.
pub const STUDIES: &[Study] = &[
    Study {
        name: "metaheuristics",
        about: "list scheduling against metaheuristics, Arabnejad and Barbosa 2011",
        generator: "daggen",
        axes: &[
            ("costs", "beta"),
            ("tasks", "10,20,30,40"),
            ("processors", "4,8,16,32"),
            ("ccr", "0.1,0.5,0.8,1"),
            ("fat", "0.1,0.2,0.8"),
            ("density", "0.2,0.8"),
            ("jump", "1,2,4"),
            ("single-ends", "yes"),
        ],
        count: 5,
    },
    Study {
        name: "peft",
        about: "PEFT on random graphs, Arabnejad and Barbosa 2014",
        generator: "daggen",
        axes: &[
            ("costs", "beta"),
            ("width-rule", "root"),
            ("tasks", "10,20,30,40,50,60,70,80,90,100,200,300,400,500"),
            ("ccr", "0.1,0.5,0.8,1,2,5,10"),
            ("beta", "0.1,0.2,0.5,1,2"),
            ("jump", "1,2,4"),
            ("regularity", "0.2,0.8"),
            ("fat", "0.1,0.4,0.8"),
            ("density", "0.2,0.8"),
            ("processors", "4,8,16,32"),
            ("single-ends", "yes"),
        ],
        count: 10,
    },
    Study {
        name: "ptg",
        about: "parallel task graphs, N'Takpe and Suter 2006: 144 combinations per size",
        generator: "daggen",
        axes: &[
            ("tasks", "10,20,50"),
            ("fat", "0.2,0.5,0.8"),
            ("regularity", "0.2,0.8"),
            ("density", "0.2,0.8"),
            ("jump", "1,2,4"),
            ("complexity", "linear,loglinear,matrix,mixed"),
            ("moldable", "yes"),
        ],
        count: 3,
    },
    Study {
        name: "hbcs",
        about: "budgets (HBCS), Arabnejad and Barbosa 2014: every combination of the values 1,000 graphs \
                were drawn from",
        generator: "daggen",
        axes: &[
            ("tasks", "10,20,30,40,50,60"),
            ("jump", "1,2,3"),
            ("regularity", "0.2,0.4,0.8"),
            ("fat", "0.2,0.4,0.8"),
            ("density", "0.2,0.4,0.8"),
        ],
        count: 2,
    },
    Study {
        name: "dbcs",
        about: "deadlines and budgets (DBCS), Arabnejad, Barbosa and Prodan 2016: every combination of the \
                values 10,000 graphs were drawn from",
        generator: "daggen",
        axes: &[
            ("tasks", "30,70,90"),
            ("jump", "1,2,3"),
            ("regularity", "0.2,0.8"),
            ("fat", "0.2,0.4,0.8"),
            ("density", "0.2,0.8"),
        ],
        count: 93,
    },
    Study {
        name: "fdws",
        about: "fairness among concurrent workflows (FDWS), Arabnejad and Barbosa 2012: the 216 shapes with \
                every CCR, beta and number of processors; streams draw from them",
        generator: "daggen",
        axes: &[
            ("costs", "beta"),
            ("mean", "100"),
            ("tasks", "10,20,30,40,50,60"),
            ("jump", "1,2,4"),
            ("regularity", "0.2,0.8"),
            ("fat", "0.1,0.4,0.8"),
            ("density", "0.2,0.8"),
            ("ccr", "0.1,0.8,2,5"),
            ("beta", "0,0.1,0.5,1,2"),
            ("processors", "8,16,32"),
        ],
        count: 1,
    },
    Study {
        name: "budget-fdws",
        about: "concurrent workflows within budgets, Arabnejad and Barbosa 2015: shapes of the study without \
                budgets, since none are given",
        generator: "daggen",
        axes: &[
            ("costs", "etc"),
            ("consistency", "consistent"),
            ("ccr", "0.2"),
            ("tasks", "10,20,30,40,50,60,70,80,90,100"),
            ("jump", "1,2,3"),
            ("regularity", "0.2,0.4,0.8"),
            ("fat", "0.2,0.4,0.6,0.8"),
            ("density", "0.2,0.4,0.8"),
            ("task-heterogeneity", "0.2,0.8"),
            ("machine-heterogeneity", "0.2,0.8"),
            ("processors", "8,32"),
        ],
        count: 1,
    },
    Study {
        name: "mw-dbs",
        about: "concurrent workflows within deadlines and budgets (MW-DBS), Arabnejad and Barbosa 2017: the \
                synthetic ones",
        generator: "daggen",
        axes: &[
            ("tasks", "40,60,80,100,120"),
            ("jump", "1,2,3,4"),
            ("regularity", "0.2,0.8"),
            ("fat", "0.1,0.4,0.8"),
            ("density", "0.2,0.8"),
        ],
        count: 10,
    },
    Study {
        name: "gtp",
        about: "reactive scheduling on shared systems, Hernandez 2008: 12 graphs per size and CCR",
        generator: "stg",
        axes: &[
            ("tasks", "50,100,300,500,1000"),
            ("method", "sameprob,samepred,layrprob,layrpred"),
            ("ccr", "0.1,0.5,1.5"),
        ],
        count: 3,
    },
    Study {
        name: "selective-rescheduling",
        about: "selective rescheduling, Zhao and Sakellariou 2004",
        generator: "sr",
        axes: &[("tasks", "50,60,70,80,90,100"), ("processors", "3,4,5,6,7,8")],
        count: 10,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(name: &str) -> (u64, u64) {
        let study = STUDIES.iter().find(|s| s.name == name).unwrap();
        let population = study.population(1).unwrap();
        (population.combinations(), population.len())
    }

    #[test]
    fn grids_of_the_studies_have_the_published_sizes() {
        assert_eq!(sizes("metaheuristics"), (1152, 5760));
        assert_eq!(sizes("peft"), (70_560, 705_600));
        assert_eq!(sizes("ptg"), (3 * 144, 1296));
        assert_eq!(sizes("hbcs"), (486, 972));
        assert_eq!(sizes("dbcs"), (108, 10_044));
        assert_eq!(sizes("gtp"), (60, 180));
        assert_eq!(sizes("fdws"), (216 * 60, 12_960));
        assert_eq!(sizes("budget-fdws"), (8640, 8640));
        assert_eq!(sizes("mw-dbs"), (240, 2400));
    }

    #[test]
    fn members_differ_and_remember_how_they_were_made() {
        let given = [("tasks", "20,30"), ("fat", "0.2,0.8")];
        let given: Vec<_> = given.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let daggen = registry::find(Family::Workflow, "daggen").unwrap();
        let population = Population::new(daggen, &given, 2, 7).unwrap();
        assert_eq!(population.len(), 8);
        let last = population.member(7).unwrap();
        assert_eq!(
            population.command(&last),
            "slackline generate workflow daggen --tasks 30 --fat 0.8 --seed 7 --member 7"
        );
        let workflow = daggen.workflow(&last.settings, last.seed).unwrap();
        assert_eq!(workflow.len(), 30);
        let other = population.member(6).unwrap();
        assert_ne!(daggen.workflow(&other.settings, other.seed).unwrap(), workflow);
        let bad = vec![("tasks".to_string(), "20,x".to_string())];
        assert!(Population::new(daggen, &bad, 1, 7).is_err());
    }
}
