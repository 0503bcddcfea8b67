//! Time against money: which plans no other beats in both, and which to give under limits.

use slackline_model::approx;
use slackline_model::schedule::{Limits, affordable};

/// Makespan and cost of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Its end.
    pub makespan: f64,
    /// Its money.
    pub cost: f64,
}

impl Point {
    /// No worse in both and clearly better in one.
    pub fn dominates(self, other: Point) -> bool {
        let no_worse =
            approx::le(self.makespan, other.makespan) && approx::le(self.cost, other.cost);
        let better = approx::lt(self.makespan, other.makespan) || approx::lt(self.cost, other.cost);
        no_worse && better
    }

    /// By how much the limits are broken, as shares of them; 0 within them.
    pub fn excess(self, limits: &Limits) -> f64 {
        let share = |value: f64, limit: f64| match limit > 0.0 {
            true => value / limit - 1.0,
            false => f64::INFINITY,
        };
        let budget = limits.budget.filter(|&budget| !affordable(self.cost, budget));
        let deadline = limits.deadline.filter(|&deadline| approx::gt(self.makespan, deadline));
        budget.map_or(0.0, |budget| share(self.cost, budget))
            + deadline.map_or(0.0, |deadline| share(self.makespan, deadline))
    }

    /// Whether to give this plan rather than another: the limits first, then the shorter, then the
    /// cheaper one.
    pub fn better_than(self, other: Point, limits: &Limits) -> bool {
        let keys = |p: Point| [p.excess(limits), p.makespan, p.cost];
        for (a, b) in keys(self).into_iter().zip(keys(other)) {
            if !approx::eq(a, b) {
                return a < b;
            }
        }
        false
    }
}

/// Criterion among plans that keep the limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// The makespan, then the cost.
    Fastest,
    /// The cost, then the makespan.
    Cheapest,
}

impl Aim {
    /// The default criterion: the cheapest plan with a deadline alone, else the fastest.
    pub fn usual(limits: &Limits) -> Aim {
        match (limits.budget, limits.deadline) {
            (None, Some(_)) => Aim::Cheapest,
            _ => Aim::Fastest,
        }
    }
}

/// Whether to give one plan rather than another: the limits first, then what counts.
pub fn better(a: Point, b: Point, limits: &Limits, aim: Aim) -> bool {
    match aim {
        Aim::Fastest => a.better_than(b, limits),
        Aim::Cheapest => {
            let keys = |p: Point| [p.excess(limits), p.cost, p.makespan];
            let differing = keys(a).into_iter().zip(keys(b)).find(|&(x, y)| !approx::eq(x, y));
            differing.is_some_and(|(x, y)| x < y)
        }
    }
}

/// Position of the plan to give where something else than the makespan may count; the first of equal ones.
pub fn best_for(points: &[Point], limits: &Limits, aim: Aim) -> usize {
    let better = |best: usize, next: usize| better(points[next], points[best], limits, aim);
    (0..points.len()).reduce(|best, next| if better(best, next) { next } else { best }).unwrap_or(0)
}

/// Position of the shortest plan that keeps the limits, else of the one that breaks them least; the
/// first of equal ones.
pub fn best(points: &[Point], limits: &Limits) -> usize {
    let better = |best: usize, next: usize| points[next].better_than(points[best], limits);
    (0..points.len()).reduce(|best, next| if better(best, next) { next } else { best }).unwrap_or(0)
}

/// Per plan whether another one dominates it.
pub fn dominated(points: &[Point]) -> Vec<bool> {
    points.iter().map(|&p| points.iter().any(|q| q.dominates(p))).collect()
}

/// Positions of the `most` plans to keep: front by front, and of the front that does not fit as a whole
/// those with most room around them (Deb et al., IEEE TEC 6(2), 2002). Rising positions.
pub(super) fn spread(points: &[Point], most: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..points.len()).collect();
    let order = |a: &usize, b: &usize| {
        let (a, b) = (points[*a], points[*b]);
        a.makespan.total_cmp(&b.makespan).then(a.cost.total_cmp(&b.cost))
    };
    left.sort_by(order);
    let mut kept = Vec::new();
    while kept.len() < most && !left.is_empty() {
        let (mut front, rest) = first_front(points, &left);
        let room = most - kept.len();
        if front.len() > room {
            let distance = crowding(points, &front);
            let mut roomy: Vec<usize> = (0..front.len()).collect();
            // Stable: of equal distances the shorter plan.
            roomy.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
            front = roomy.into_iter().take(room).map(|i| front[i]).collect();
        }
        kept.extend(front);
        left = rest;
    }
    kept.sort_unstable();
    kept
}

/// Splits plans, sorted by makespan and cost, into those that none of the others beats and the rest.
fn first_front(points: &[Point], sorted: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut least: Option<f64> = None;
    sorted.iter().partition(|&&at| {
        let cost = points[at].cost;
        // The first is one of them even where no plan is possible.
        let better = least.is_none_or(|least| approx::lt(cost, least));
        least = Some(least.map_or(cost, |least| least.min(cost)));
        better
    })
}

/// Room around the plans of a front that is sorted by makespan: the ends have all of it.
fn crowding(points: &[Point], front: &[usize]) -> Vec<f64> {
    let last = front.len() - 1;
    let at = |i: usize| points[front[i]];
    let times = (at(last).makespan - at(0).makespan).max(f64::MIN_POSITIVE);
    let costs = (at(0).cost - at(last).cost).max(f64::MIN_POSITIVE);
    let distance = |i: usize| match i == 0 || i == last {
        true => f64::INFINITY,
        false => {
            (at(i + 1).makespan - at(i - 1).makespan) / times
                + (at(i - 1).cost - at(i + 1).cost) / costs
        }
    };
    (0..front.len()).map(distance).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(all: &[(f64, f64)]) -> Vec<Point> {
        all.iter().map(|&(makespan, cost)| Point { makespan, cost }).collect()
    }

    #[test]
    fn impossible_plans_are_kept_for_want_of_others() {
        let never = (f64::INFINITY, f64::INFINITY);
        assert_eq!(spread(&points(&[never, never, (3.0, 2.0)]), 2), [0, 2]);
        assert_eq!(spread(&points(&[never, never]), 2), [0, 1]);
    }

    #[test]
    fn limits_come_first_then_time_then_money() {
        let all = points(&[(30.0, 25.0), (28.0, 31.0), (30.0, 24.0), (60.0, 20.0)]);
        let limits = |budget, deadline| Limits { budget, deadline };
        assert_eq!(best(&all, &limits(None, None)), 1);
        assert_eq!(best(&all, &limits(Some(30.0), None)), 2);
        assert_eq!(best(&all, &limits(Some(20.0), None)), 3);
        // 31 is 24 % over 25, 60 more than twice 29: the budget is broken least.
        assert_eq!(best(&all, &limits(Some(10.0), Some(29.0))), 2);
        assert_eq!(dominated(&all), [true, false, false, false]);
    }

    #[test]
    fn the_ends_of_a_front_are_kept_and_crowds_thinned() {
        let all = points(&[(1.0, 9.0), (2.0, 5.0), (2.1, 4.9), (9.0, 1.0), (5.0, 6.0), (1.0, 9.0)]);
        assert_eq!(spread(&all, 3), [0, 2, 3]);
        assert_eq!(spread(&all, 4), [0, 1, 2, 3]);
        assert_eq!(spread(&all, 9), [0, 1, 2, 3, 4, 5]);
    }
}
