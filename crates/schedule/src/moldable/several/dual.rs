//! Independent moldable jobs: how many processors each gets (dual approximation of Mounié, Rapine
//! and Trystram), and shelves of growing length (Dutot, Eyraud, Mounié, Trystram).

use slackline_model::approx;

/// A job: its time on 1, 2, ... processors.
pub(super) type JobTimes = Vec<f64>;

/// Fewest processors on which a job takes no longer than `limit`.
pub(super) fn fewest(job: &JobTimes, limit: f64) -> Option<usize> {
    job.iter().position(|&time| time <= limit * (1.0 + 1e-9)).map(|at| at + 1)
}

/// An approximately least length, and the processors of every job for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Allotment {
    pub(super) length: f64,
    pub(super) processors: Vec<usize>,
}

/// Searches the least length that is not rejected, to a relative precision.
pub(super) fn allot(jobs: &[JobTimes], processors: usize, precision: f64) -> Option<Allotment> {
    // One after the other; a job that needs several processors has no time on fewer.
    let narrowest = |job: &JobTimes| job.iter().copied().find(|time| time.is_finite());
    let mut high: f64 = jobs.iter().map(narrowest).sum::<Option<f64>>()?;
    let quickest = |job: &JobTimes| job.iter().copied().fold(f64::INFINITY, f64::min);
    let mut low = jobs.iter().map(quickest).fold(0.0, f64::max);
    let mut best = guess(jobs, processors, high)?;
    if let Some(found) = guess(jobs, processors, low) {
        return Some(found);
    }
    while high - low > precision * low.max(f64::MIN_POSITIVE) {
        let middle = low + (high - low) / 2.0;
        if !(low < middle && middle < high) {
            break;
        }
        match guess(jobs, processors, middle) {
            Some(found) => (best, high) = (found, middle),
            None => low = middle,
        }
    }
    Some(best)
}

/// The jobs for a guessed length: those of a first shelf of that length, and those of a second one
/// of half of it, with the least work; rejected where even that is too much.
fn guess(jobs: &[JobTimes], processors: usize, length: f64) -> Option<Allotment> {
    let half = length / 2.0;
    let work = |job: &JobTimes, p: usize| p as f64 * job[p - 1];
    let mut chosen = vec![1usize; jobs.len()];
    let mut total = 0.0;
    // Least work of the jobs so far with so many processors used in the first shelf, and which of
    // them are there.
    let mut least = vec![f64::INFINITY; processors + 1];
    least[0] = 0.0;
    let mut large = Vec::new();
    let mut first_shelf: Vec<Vec<bool>> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        let wide = fewest(job, length)?;
        if job[0] <= half {
            total += job[0];
            continue;
        }
        let narrow = fewest(job, half);
        let mut next = vec![f64::INFINITY; processors + 1];
        let mut here = vec![false; processors + 1];
        for used in 0..=processors {
            if let Some(p) = narrow {
                next[used] = least[used] + work(job, p);
            }
            // Of equal work the first shelf, which needs fewer processors.
            if used >= wide && approx::le(least[used - wide] + work(job, wide), next[used]) {
                next[used] = least[used - wide] + work(job, wide);
                here[used] = true;
            }
        }
        least = next;
        large.push((index, wide, narrow));
        first_shelf.push(here);
    }
    let fuller = |a: usize, b: usize| if approx::lt(least[b], least[a]) { b } else { a };
    let used = (0..=processors).rev().reduce(fuller)?;
    if !least[used].is_finite() || total + least[used] > processors as f64 * length * (1.0 + 1e-9) {
        return None;
    }
    let mut used = used;
    for (&(index, wide, narrow), here) in large.iter().zip(&first_shelf).rev() {
        if here[used] {
            chosen[index] = wide;
            used -= wide;
        } else {
            chosen[index] = narrow?;
        }
    }
    Some(Allotment { length, processors: chosen })
}

/// Shelves of lengths that double up to `length`; each takes as many of the jobs left as fit beside
/// each other, the narrowest first. Gives (job, processors) shelf by shelf.
pub(super) fn shelves(
    jobs: &[JobTimes],
    processors: usize,
    length: f64,
) -> Vec<Vec<(usize, usize)>> {
    let quickest = jobs.iter().flatten().copied().filter(|&t| t > 0.0).fold(length, f64::min);
    let doublings = if quickest > 0.0 { (length / quickest).log2().floor() as i32 } else { 0 };
    let mut left: Vec<usize> = (0..jobs.len()).collect();
    let mut shelves = Vec::new();
    let mut shelf = 0;
    while !left.is_empty() {
        let duration = length / 2f64.powi((doublings - shelf).max(0));
        let mut fitting: Vec<(usize, usize)> =
            left.iter().filter_map(|&job| Some((fewest(&jobs[job], duration)?, job))).collect();
        fitting.sort_unstable();
        let mut used = 0;
        let mut taken = Vec::new();
        for (width, job) in fitting {
            if used + width > processors {
                break;
            }
            used += width;
            taken.push((job, width));
        }
        // The last shelves hold every job, or none could.
        if taken.is_empty() && shelf >= doublings {
            break;
        }
        left.retain(|job| taken.iter().all(|t| t.0 != *job));
        shelves.push(taken);
        shelf += 1;
    }
    shelves.retain(|shelf| !shelf.is_empty());
    shelves
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A graph with a task of three processors has no time on one or two.
    #[test]
    fn jobs_may_need_several_processors() {
        let wide: JobTimes = vec![f64::INFINITY, f64::INFINITY, 6.0, 5.0];
        let found = allot(&[wide.clone(), linear(8.0)], 4, 0.01).unwrap();
        assert!(found.processors[0] >= 3 && found.length >= 5.0, "{found:?}");
        assert_eq!(allot(&[vec![f64::INFINITY; 4]], 4, 0.01), None);
    }

    fn linear(work: f64) -> JobTimes {
        (1..=4).map(|p| work / p as f64).collect()
    }

    #[test]
    fn jobs_without_loss_fill_the_cluster() {
        // Work 16 on 4 processors: no less than 4.
        let found = allot(&[linear(8.0), linear(8.0)], 4, 1e-6).unwrap();
        assert!((found.length - 4.0).abs() < 1e-4, "{found:?}");
        assert_eq!(found.processors, [2, 2]);
    }

    #[test]
    fn narrow_jobs_come_first() {
        let jobs = [linear(8.0), linear(2.0), linear(4.0)];
        // Quickest 0.5, length 4: shelves of 0.5, 1, 2, 4.
        let found = shelves(&jobs, 4, 4.0);
        assert_eq!(found, [vec![(1, 4)], vec![(2, 4)], vec![(0, 4)]]);
    }
}
