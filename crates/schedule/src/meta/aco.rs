//! Ant colony system (Dorigo, Gambardella, IEEE Trans. Evolutionary Computation 1(1), 1997; as in
//! Arabnejad, Barbosa, Euro-Par 2011 workshops).
//!
//! Pheromone on the pairs of task and processor. Each ant takes ready tasks by roulette on their
//! upward rank, and for each a processor: with probability 0.7 the one of largest
//! `tau / AFT^2`, else by roulette on it. Local update 0.1 towards the initial `1 / v`, global
//! update 0.1 with `1 / makespan` along the best plan so far. 20 ants; 100 iterations (colonies),
//! fewer after 20 without improvement. O(e p) per ant. Ties: lower processor.

use super::MetaContext;
use super::decoder::SharedDecoder;
use crate::best::walk::Draft;
use crate::flat_problem::{FlatProblem, take_cores};
use crate::list::Partial;
use crate::registry::{Algorithm, Basis, Family, PlanError, Request};
use rand::RngExt;
use slackline_model::rng::Stream;
use slackline_model::{Problem, Schedule, approx};

/// Registry entry.
pub const ACO: Algorithm = Algorithm {
    name: "aco",
    family: Family::Search,
    basis: Basis::Published,
    about: "ant colony system: pheromone on task-processor pairs",
    source: "Dorigo, Gambardella, IEEE TEVC 1(1), 1997; Arabnejad, Barbosa, Euro-Par 2011",
    complexity: "O(e p) per ant, 20 ants per iteration",
    parameters: &[],
    needs: &[],
    plan,
};

const ANTS: u64 = 20;
const COLONIES: u64 = 100;
const PATIENCE: u64 = 20;
const EXPLOITATION: f64 = 0.7;
const LOCAL: f64 = 0.1;
const GLOBAL: f64 = 0.1;

fn plan(problem: &Problem<'_>, request: &Request) -> Result<Schedule, PlanError> {
    let ground = match MetaContext::new(ACO.name, problem, request)? {
        Ok(ground) => ground,
        Err(done) => return Ok(done),
    };
    let mut random = ground.random("aco");
    let (n, banks) = (ground.compact.len(), ground.compact.banks());
    let initial = 1.0 / n as f64;
    let mut pheromone = vec![initial; n * banks];
    let mut ant = Ant::new(&ground);
    let mut best: Option<(f64, Draft)> = None;
    let mut since = 0;
    for _ in 0..ground.iterations(COLONIES, (ANTS as usize * banks) as f64) {
        since += 1;
        for _ in 0..ANTS {
            if ground.budget.is_over() {
                break;
            }
            let (makespan, plan) = ant.tour(&mut pheromone, initial, &mut random);
            if best.as_ref().is_none_or(|(least, _)| approx::lt(makespan, *least)) {
                best = Some((makespan, plan));
                since = 0;
            }
        }
        if since >= PATIENCE || ground.budget.is_over() {
            break;
        }
        let Some((makespan, plan)) = &best else { continue };
        pheromone.iter_mut().for_each(|tau| *tau *= 1.0 - GLOBAL);
        if makespan.is_finite() && *makespan > 0.0 {
            for (task, &bank) in plan.choice.iter().enumerate() {
                pheromone[task * banks + bank as usize] += GLOBAL / makespan;
            }
        }
    }
    let plan = best.map_or_else(|| ground.first.clone(), |(_, plan)| plan);
    Ok(ground.schedule(problem, &plan))
}

/// Builds one plan after the other.
struct Ant<'c> {
    compact: &'c FlatProblem,
    rank: &'c [f64],
    missing: Vec<u32>,
    ready: Vec<u32>,
    avail: Vec<f64>,
    finish: Vec<f64>,
    weight: Vec<f64>,
    ends: Vec<f64>,
    /// The schedule of the plan so far, if tasks share more than processors.
    shared: Option<(SharedDecoder<'c>, Partial<'c, 'c>)>,
}

impl<'c> Ant<'c> {
    fn new(ground: &'c MetaContext<'_>) -> Ant<'c> {
        let compact = &ground.compact;
        Ant {
            compact,
            rank: &ground.rank,
            shared: ground.shared().map(|decoder| {
                let partial = decoder.begin();
                (decoder, partial)
            }),
            missing: Vec::new(),
            ready: Vec::new(),
            avail: Vec::new(),
            finish: vec![0.0; compact.len()],
            weight: vec![0.0; compact.banks()],
            ends: vec![0.0; compact.banks()],
        }
    }

    fn tour(&mut self, pheromone: &mut [f64], initial: f64, random: &mut Stream) -> (f64, Draft) {
        let compact = self.compact;
        let (n, banks) = (compact.len(), compact.banks());
        self.missing.clear();
        self.missing.extend((0..n).map(|t| compact.parents.of(t).len() as u32));
        self.ready.clear();
        self.ready.extend((0..n as u32).filter(|&t| self.missing[t as usize] == 0));
        self.avail.clone_from(&compact.avail);
        if let Some((decoder, partial)) = &mut self.shared {
            *partial = decoder.begin();
        }
        let mut plan = Draft { order: Vec::with_capacity(n), choice: vec![0; n] };
        let mut makespan = compact.past;
        while !self.ready.is_empty() {
            let total: f64 = self.ready.iter().map(|&t| self.rank[t as usize]).sum();
            let ranks = self.ready.iter().map(|&t| self.rank[t as usize]);
            let position = roulette(ranks, total, random);
            let task = self.ready.swap_remove(position) as usize;
            for bank in 0..banks {
                self.ends[bank] = self.finish_at(task, bank, &plan);
                let tau = pheromone[task * banks + bank];
                let end = self.ends[bank].max(f64::MIN_POSITIVE.sqrt());
                self.weight[bank] = tau / (end * end);
            }
            let bank = if random.random_range(0.0..1.0) <= EXPLOITATION {
                let weight = |s: &usize| self.weight[*s];
                (0..banks).reduce(|a, b| if approx::gt(weight(&b), weight(&a)) { b } else { a })
            } else {
                let total = self.weight.iter().sum();
                Some(roulette(self.weight.iter().copied(), total, random))
            };
            // A problem has at least one bank.
            let bank = bank.unwrap_or(0);
            let tau = &mut pheromone[task * banks + bank];
            *tau = (1.0 - LOCAL) * *tau + LOCAL * initial;
            self.place(task, bank, self.ends[bank]);
            makespan = makespan.max(self.ends[bank]);
            plan.order.push(task as u32);
            plan.choice[task] = bank as u32;
            for &(child, _) in compact.children.of(task) {
                self.missing[child as usize] -= 1;
                if self.missing[child as usize] == 0 {
                    self.ready.push(child);
                }
            }
        }
        (makespan, plan)
    }

    fn finish_at(&self, task: usize, bank: usize, plan: &Draft) -> f64 {
        let compact = self.compact;
        if let Some((decoder, partial)) = &self.shared {
            let slot = partial.slot_on_host(compact.tasks[task], decoder.host(bank as u32));
            return slot.map_or(f64::INFINITY, |slot| slot.finish);
        }
        let mut ready = compact.base(task, bank);
        for &(parent, data) in compact.parents.of(task) {
            let from = plan.choice[parent as usize] as usize;
            ready = ready.max(self.finish[parent as usize] + compact.transfer(data, from, bank));
        }
        let seconds = compact.seconds(task, bank);
        if seconds.is_infinite() {
            return f64::INFINITY;
        }
        let avail = &self.avail[compact.cores(bank)];
        let free = match compact.width[task] {
            1 => avail.iter().copied().fold(f64::INFINITY, f64::min),
            width => take_cores(avail, width as usize, ready).0,
        };
        ready.max(free) + seconds
    }

    fn place(&mut self, task: usize, bank: usize, end: f64) {
        let compact = self.compact;
        let seconds = compact.seconds(task, bank);
        self.finish[task] = end;
        if !end.is_finite() {
            return;
        }
        if let Some((decoder, partial)) = &mut self.shared {
            let task = compact.tasks[task];
            if let Some(slot) = partial.slot_on_host(task, decoder.host(bank as u32)) {
                partial.place(task, slot);
            }
            return;
        }
        let cores = self.compact.cores(bank);
        let width = self.compact.width[task] as usize;
        let (_, chosen) = take_cores(&self.avail[cores.clone()], width, end - seconds);
        for core in chosen {
            self.avail[cores.start + core] = end;
        }
    }
}

/// The index of a weight drawn in proportion; the first where all are zero or one is infinite.
fn roulette(weights: impl ExactSizeIterator<Item = f64>, total: f64, random: &mut Stream) -> usize {
    let count = weights.len();
    if !(total > 0.0 && total.is_finite()) {
        return 0;
    }
    let mut left = random.random_range(0.0..1.0) * total;
    for (index, weight) in weights.enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    count - 1
}
