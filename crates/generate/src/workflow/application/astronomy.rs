//! Montage: mosaics of the sky. Structure and figures as in the public Pegasus set (Juve et al.
//! 2013): P projections, D overlaps, 2 P + D + 6 tasks.

use super::app::{App, fixed, kind, law};
use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::Workflow;
use slackline_model::parameter::{Kind, Parameter, Values};

pub(crate) const MONTAGE: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(11, 1 << 28), "100", "number of tasks")
        .published("25, 50, 100, 1000"),
    Parameter::new(
        "projections",
        Kind::Count(2, 1 << 28),
        "auto",
        "images P; auto: from the tasks, about 4 overlaps each",
    )
    .published("5 of 25 tasks, 8 of 50, 166 of 1000"),
    Parameter::new(
        "overlaps",
        Kind::Count(1, 1 << 28),
        "auto",
        "overlapping pairs D; auto: what is left of the tasks",
    ),
    Parameter::new("lone", Kind::Count(0, 1 << 28), "0", "overlaps that read one image only")
        .published("1 of 9, 6 of 28, 3 of 662"),
];

/// Images and overlaps for a number of tasks: about four overlaps per image, never more than
/// there are pairs.
fn sizes(s: &Values) -> Result<(usize, usize)> {
    let pairs = |p: usize| p.saturating_mul(p.saturating_sub(1)) / 2;
    let tasks = s.count("tasks")?;
    let left = |p: usize| tasks.saturating_sub(6 + 2 * p);
    let (p, d) = match (s.maybe_count("projections"), s.maybe_count("overlaps")) {
        (Some(p), Some(d)) => (p, d),
        (Some(p), None) => (p, left(p).clamp(1, pairs(p))),
        (None, Some(d)) => (((tasks.saturating_sub(6 + d)) / 2).max(2), d),
        (None, None) => {
            let mut p = ((tasks - 6) as f64 / 6.0).round().max(2.0) as usize;
            while left(p) > pairs(p) {
                p += 1;
            }
            (p, left(p))
        }
    };
    if d > pairs(p) || d == 0 {
        return Err(bad("overlaps", d, format!("{p} images have {} pairs", pairs(p))));
    }
    Ok((p, d))
}

/// The `count` nearest pairs of `images` on a square sky, nearest first.
fn overlaps(images: usize, count: usize) -> Vec<(usize, usize)> {
    let columns = (images as f64).sqrt().ceil() as usize;
    let mut pairs = Vec::with_capacity(count);
    let mut reach = 1i64;
    let mut done = -1i64; // squared distances up to this one are taken
    while pairs.len() < count {
        let limit = reach * reach;
        let mut steps: Vec<(i64, i64, i64)> = (0..=reach)
            .flat_map(|dy| (-reach..=reach).map(move |dx| (dx * dx + dy * dy, dy, dx)))
            .filter(|&(far, dy, dx)| far > done && far <= limit && (dy > 0 || dx > 0))
            .collect();
        steps.sort_unstable();
        for (_, dy, dx) in steps {
            for image in 0..images {
                let (x, y) = ((image % columns) as i64 + dx, (image / columns) as i64 + dy);
                let other = y * columns as i64 + x;
                if (0..columns as i64).contains(&x) && other < images as i64 && pairs.len() < count
                {
                    pairs.push((image, other as usize));
                }
            }
        }
        done = limit;
        reach += 1;
    }
    pairs
}

/// A Montage workflow.
pub(crate) fn montage(s: &Values, seed: Seed) -> Result<Workflow> {
    let (images, count) = sizes(s)?;
    let lone = s.count("lone")?;
    let (p, d) = (images as f64, count as f64);
    let mut app = App::new(&format!("montage-{}", 2 * images + count + 6), seed);
    let header = app.input("region.hdr", fixed(304.0))?;
    let mut projected = Vec::with_capacity(images);
    let mut areas = Vec::with_capacity(images);
    for _ in 0..images {
        let task = app.task(&kind("mProjectPP", law(13.58, 0.24, 13.1, 14.3)))?;
        app.own_input(task, "raw.fits", law(4.222e6, 1e3, 4.2e6, 4.3e6))?;
        app.reads(task, &[header]);
        projected.push(app.output(task, "fits", law(4.163e6, 9.2e3, 4.13e6, 4.19e6))?);
        areas.push(app.output(task, "area.fits", law(4.163e6, 9.2e3, 4.13e6, 4.19e6))?);
    }
    let mut fits = Vec::with_capacity(count);
    for (index, (a, b)) in overlaps(images, count).into_iter().enumerate() {
        let task = app.task(&kind("mDiffFit", law(10.59, 0.1, 10.3, 10.9)))?;
        app.reads(task, &[header, projected[a], areas[a]]);
        if index >= lone {
            app.reads(task, &[projected[b], areas[b]]);
        }
        app.output(task, "diff.fits", law(2.88e5, 6e4, 1e5, 4.26e5))?;
        fits.push(app.output(task, "fit.txt", law(275.0, 15.0, 245.0, 310.0))?);
    }
    // Run times and sizes of what gathers everything grow with what it gathers.
    let table =
        app.step(&kind("mConcatFit", fixed(0.08 * d)), &fits, ("fits.tbl", fixed(210.0 * d)))?;
    let corrections = app.step(
        &kind("mBgModel", fixed(0.537 * p)),
        &[table],
        ("corrections.tbl", fixed(53.0 * p)),
    )?;
    let mut corrected = Vec::with_capacity(2 * images);
    for image in 0..images {
        let task = app.task(&kind("mBackground", law(10.74, 0.17, 10.2, 11.3)))?;
        app.reads(task, &[projected[image], areas[image], corrections]);
        corrected.push(app.output(task, "fits", law(4.161e6, 1.1e4, 4.13e6, 4.19e6))?);
        app.output(task, "area.fits", law(4.161e6, 1.1e4, 4.13e6, 4.19e6))?;
    }
    let images_table =
        app.step(&kind("mImgTbl", fixed(0.397 * p)), &corrected, ("images.tbl", fixed(406.0 * p)))?;
    let add = app.task(&kind("mAdd", fixed(0.6 * p)))?;
    app.reads(add, &[images_table, header]);
    let mosaic = app.output(add, "mosaic.fits", fixed(1.84e6 * p))?;
    app.output(add, "area.fits", fixed(1.84e6 * p))?;
    let shrunken = app.step(
        &kind("mShrink", fixed(3.3 + 0.114 * p)),
        &[mosaic],
        ("small.fits", fixed(7.35e4 * p)),
    )?;
    app.step(&kind("mJPEG", fixed(0.38 + 0.0129 * p)), &[shrunken], ("jpg", fixed(8.57e3 * p)))?;
    app.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_pairs_are_distinct_and_in_range() {
        for (images, count) in [(5, 10), (8, 28), (166, 662), (3, 1)] {
            let pairs = overlaps(images, count);
            assert_eq!(pairs.len(), count);
            let distinct: std::collections::HashSet<_> = pairs.iter().collect();
            assert_eq!(distinct.len(), count);
            assert!(pairs.iter().all(|&(a, b)| a < images && b < images && a < b));
        }
    }
}
