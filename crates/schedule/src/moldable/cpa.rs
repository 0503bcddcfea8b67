//! CPA: Critical Path and Area (Radulescu, van Gemund, ICPP 2001), and the same with the geometric
//! area (N'takpé, Suter, Casanova, ISPDC 2007).
//!
//! Widths grow along the longest path until it is no longer than the mean work per processor; then
//! the tasks are mapped by falling bottom level. The geometric area counts fewer processors where
//! there are more of them than tasks, so that widths stop growing earlier. O(v p (v + e)).

use super::machines::Machines;
use super::report::{Fact, told};
use super::{Steps, TWO_STEP, allocation, on_first, room};
use crate::registry::{Algorithm, Basis, Family, Need, PlanError, Request};
use slackline_model::schedule::Detail;
use slackline_model::{Problem, Schedule};

/// Registry entry: the area of all processors.
pub const CPA: Algorithm = Algorithm {
    name: "cpa",
    family: Family::Moldable,
    basis: Basis::Published,
    about: "widen the critical path until it meets the mean work per processor",
    source: "Radulescu, van Gemund, ICPP 2001",
    complexity: "O(v p (v + e))",
    parameters: TWO_STEP,
    needs: &[Need::Moldable],
    plan: cpa,
};

/// Registry entry: the geometric area.
pub const GEO: Algorithm = Algorithm {
    name: "cpa-geo",
    about: "CPA with an area that counts fewer processors than there are when tasks are few",
    source: "N'takpé, Suter, Casanova, ISPDC 2007",
    plan: cpa_geo,
    ..CPA
};

fn cpa(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    balanced(&CPA, problem, request, |_, processors| processors)
}

fn cpa_geo(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    balanced(&GEO, problem, request, allocation::geometric)
}

fn balanced(
    algorithm: &Algorithm,
    problem: &Problem<'_>,
    request: &Request,
    divisor: fn(usize, f64) -> f64,
) -> Result<Schedule, PlanError> {
    let values = algorithm.values(request)?;
    let machines = Machines::single(problem, values.maybe_count("max-width"), algorithm.name)?;
    let mut growing = on_first(&machines);
    let divisor = divisor(growing.len(), machines.size() as f64);
    growing.balance(divisor, |growing, task| growing.width[task.index()] < room(&machines, task));
    let facts = loop_facts(growing.iterations(), growing.critical_path());
    let mapper = Steps::of(&values).map(&machines, &growing.width, growing.levels())?;
    Ok(told(&machines, mapper.schedule, facts))
}

/// Facts reported by every allocation loop.
pub(super) fn loop_facts(iterations: u64, critical_path: f64) -> Vec<Fact> {
    vec![
        ("iterations", Detail::Count(iterations)),
        ("critical_path", Detail::Number(critical_path)),
    ]
}
