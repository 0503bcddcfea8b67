//! Allocation of variation: the shares of the sum of squares around the overall mean that factors, the method and their
//! pairwise interactions account for (Jain, "The Art of Computer Systems Performance Analysis", 1991, chapters 21 to 23).

use super::Runs;
use serde::Serialize;

/// The share of the variation of all values that one effect accounts for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Variation {
    /// One factor (the method counts as one), or two for their interaction; empty for the rest: random draws and higher
    /// interactions.
    pub factors: Vec<String>,
    /// Its share of the sum of squares.
    pub share: f64,
}

/// A factor with the level of each block; the last one is the method, whose level changes within a block.
struct Axis<'a> {
    name: &'a str,
    levels: usize,
    /// Level by block; none for the method.
    of_block: Option<Vec<usize>>,
}

/// The allocation of the variation of `table` (block after block, method after method), largest share first and the rest
/// last; empty where nothing varies or the design is not balanced (shares would not add up). Ties: order of columns.
pub(super) fn allocation(runs: &Runs, table: &[Option<f64>], logarithms: bool) -> Vec<Variation> {
    let scaled = |value: &Option<f64>| {
        let value = (*value)?;
        if logarithms { (value > 0.0).then(|| value.ln()) } else { Some(value) }
    };
    let Some(values) = table.iter().map(scaled).collect::<Option<Vec<f64>>>() else {
        return Vec::new();
    };
    let (blocks, width) = (runs.block_count(), runs.methods.len());
    let mut axes: Vec<Axis<'_>> = Vec::new();
    for (at, key) in runs.keys.iter().enumerate() {
        if !key.is_draw() && key.levels.len() > 1 {
            let of_block = (0..blocks).map(|block| runs.levels_of(block)[at] as usize).collect();
            axes.push(Axis { name: &key.name, levels: key.levels.len(), of_block: Some(of_block) });
        }
    }
    if !is_balanced(&axes, blocks) {
        return Vec::new();
    }
    if width > 1 {
        axes.push(Axis { name: &runs.method_column, levels: width, of_block: None });
    }
    let level = |axis: &Axis<'_>, index: usize| match &axis.of_block {
        Some(levels) => levels[index / width],
        None => index % width,
    };
    let count = values.len() as f64;
    let mean = slackline_analysis::statistics::sum(values.iter().copied()) / count;
    let total: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if !(total > 0.0 && total.is_finite()) {
        return Vec::new();
    }
    // Effects: the differences between the mean of a level and the overall mean.
    let effects = |of: &dyn Fn(usize) -> usize, levels: usize| -> Vec<f64> {
        let mut sums = vec![0.0; levels];
        values.iter().enumerate().for_each(|(at, value)| sums[of(at)] += value - mean);
        sums.iter_mut().for_each(|sum| *sum *= levels as f64 / count);
        sums
    };
    let squares = |effects: &[f64]| {
        effects.iter().map(|effect| effect * effect).sum::<f64>() * count / effects.len() as f64
    };
    let mains: Vec<Vec<f64>> =
        axes.iter().map(|axis| effects(&|at| level(axis, at), axis.levels)).collect();
    let mut found: Vec<Variation> = axes
        .iter()
        .zip(&mains)
        .map(|(axis, main)| Variation {
            factors: vec![axis.name.to_string()],
            share: squares(main) / total,
        })
        .collect();
    for (i, one) in axes.iter().enumerate() {
        for (j, other) in axes.iter().enumerate().skip(i + 1) {
            let cell = |at: usize| level(one, at) * other.levels + level(other, at);
            let mut both = effects(&cell, one.levels * other.levels);
            for (at, effect) in both.iter_mut().enumerate() {
                *effect -= mains[i][at / other.levels] + mains[j][at % other.levels];
            }
            let factors = vec![one.name.to_string(), other.name.to_string()];
            found.push(Variation { factors, share: squares(&both) / total });
        }
    }
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    let explained: f64 = found.iter().map(|v| v.share).sum();
    found.push(Variation { factors: Vec::new(), share: (1.0 - explained).max(0.0) });
    found
}

/// Whether every combination of levels has the same number of blocks.
fn is_balanced(axes: &[Axis<'_>], blocks: usize) -> bool {
    let combinations = axes.iter().try_fold(1_usize, |all, axis| all.checked_mul(axis.levels));
    let Some(combinations) = combinations.filter(|&all| all <= blocks) else { return false };
    let mut counts = vec![0_usize; combinations];
    for block in 0..blocks {
        let levels =
            axes.iter().filter_map(|axis| Some((axis.of_block.as_ref()?[block], axis.levels)));
        counts[levels.fold(0, |at, (level, width)| at * width + level)] += 1;
    }
    counts.iter().all(|&count| count == counts[0] && count > 0)
}
