//! Worked figures: small enough to follow by hand, or published.

use super::distributions::*;
use super::*;

fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-12 * want.abs().max(1e-3), "{got} instead of {want}");
}

#[test]
fn quantiles_of_student_are_accurate() {
    // With one degree tan(pi (1/2 - u)), with two 2 (1/2 - u) sqrt(2 / (4 u (1 - u))).
    for upper in [0.25, 0.025, 0.005, 1e-4, 1e-8] {
        close(student_quantile(1.0, upper), 1.0 / (std::f64::consts::PI * upper).tan());
        let two = (1.0 - 2.0 * upper) * (2.0 / (4.0 * upper * (1.0 - upper))).sqrt();
        close(student_quantile(2.0, upper), two);
    }
    close(student_quantile(10.0, 0.025), 2.228_138_851_986_274);
    close(student_quantile(29.0, 0.025), 2.045_229_642_132_703);
    // Towards the normal distribution: z + (z^3 + z) / 4 v.
    let (v, z) = (1e6, Z_95);
    assert!((student_quantile(v, 0.025) - z - (z.powi(3) + z) / (4.0 * v)).abs() < 1e-11);
}

#[test]
fn tails_invert_quantiles() {
    close(normal_quantile(0.025), Z_95);
    close(normal_tail(1.0), 0.158_655_253_931_457_05);
    close(normal_tail(-1.0) + normal_tail(1.0), 1.0);
    for v in [1.0, 3.0, 30.0, 1000.0] {
        for upper in [0.3, 0.025, 1e-6] {
            let back = student_tail(v, student_quantile(v, upper));
            assert!((back - upper).abs() <= 1e-12 * upper, "{v} {upper}: {back}");
        }
    }
    // Two degrees: exp(-x / 2); F with 2 and v: (1 + 2 f / v)^(-v / 2).
    close(chi_square_tail(2.0, 5.0), (-2.5_f64).exp());
    close(f_tail(2.0, 8.0, 3.0), 1.75_f64.powi(-4));
    // The range of two normal values is |x - y|: 2 (1 - Phi(q / sqrt 2)).
    close(range_tail(2, 2.5), 2.0 * normal_tail(2.5 / 2f64.sqrt()));
    close(range_quantile(2, 0.05), Z_95 * 2f64.sqrt());
    close(ln_gamma(0.5), std::f64::consts::PI.sqrt().ln());
    close(ln_gamma(6.0), 120f64.ln());
}

#[test]
fn the_interval_of_a_mean() {
    // 1, 2, 3: deviation 1, t(2), so 2 ± t / sqrt 3.
    let e = Estimate::mean(&[1.0, 2.0, 3.0]);
    close(e.value, 2.0);
    close(e.margin.unwrap_or(0.0), student_quantile(2.0, 0.025) / 3f64.sqrt());
    let one = Estimate::mean(&[5.0]);
    assert!(one.margin.is_none() && !one.exact && Estimate::exact(5.0).exact);
}

#[test]
fn a_common_factor_does_not_widen_a_ratio() {
    let e = Estimate::ratio(&[2.0, 20.0, 200.0], &[1.0, 10.0, 100.0]);
    assert!((e.value - 2.0).abs() < 1e-12 && e.margin.unwrap_or(1.0) < 1e-9);
    // Residuals of 1.5 = 6/4: 2 - 1.5 = 0.5 and 4 - 4.5 = -0.5.
    let e = Estimate::ratio(&[2.0, 4.0], &[1.0, 3.0]);
    close(e.value, 1.5);
    close(e.margin.unwrap_or(0.0), student_quantile(1.0, 0.025) * 0.5 / 2.0);
}

#[test]
fn squares_neither_overflow_nor_vanish_nor_drown() {
    for scale in [1.0, 2f64.powi(1000), 2f64.powi(-1000)] {
        let s = Summary::of(&[scale, 2.0 * scale, 3.0 * scale]).expect("three values");
        close(s.mean / scale, 2.0);
        close(s.sd.unwrap_or(0.0) / scale, 1.0);
    }
    let s = Summary::of(&[1e9 + 1.0, 1e9 + 2.0, 1e9 + 3.0]).expect("three values");
    close(s.sd.unwrap_or(0.0), 1.0);
    assert_eq!(Summary::of(&[]), None);
}

#[test]
fn order_statistics_around_the_median() {
    let values = |n: usize| (1..=n).map(|i| i as f64).collect::<Vec<f64>>();
    let interval = |n| Summary::of(&values(n)).and_then(|s| s.median_interval);
    assert_eq!(interval(5), None);
    // 2 / 64 with six values; with 100 ranks 40 and 61.
    assert_eq!(interval(6), Some(Interval { low: 1.0, high: 6.0 }));
    assert_eq!(interval(100), Some(Interval { low: 40.0, high: 61.0 }));
    let s = Summary::of(&[15.0, 20.0, 35.0, 40.0, 50.0]).expect("five values");
    assert_eq!((s.q1, s.median, s.q3), (20.0, 35.0, 40.0));
}

#[test]
fn shares_have_wilsons_interval() {
    // 0 of 10: [0, z^2 / (10 + z^2)].
    let w = wilson(0, 10);
    close(w.high, Z_95 * Z_95 / (10.0 + Z_95 * Z_95));
    assert_eq!(w.low, 0.0);
    assert!(Summary::of(&[0.0, 1.0, 1.0]).is_some_and(|s| s.wilson.is_some()));
    assert!(Summary::of(&[0.0, 2.0]).is_some_and(|s| s.wilson.is_none()));
}

#[test]
fn estimates_of_shares_and_of_strata() {
    let share = Estimate::share(&[true, true, true, false]);
    let (low, high) = (share.low(), share.high());
    assert_eq!(share.value, 0.75);
    close(low, wilson(3, 4).low);
    close(high, wilson(3, 4).high);
    // One sample decides nothing, none has no share.
    assert!(Estimate::share(&[true]).interval.is_none());
    assert!(Estimate::share(&[]).value.is_nan());
    // Differences between cells, without any within, add no uncertainty.
    let (above, below): (Vec<f64>, Vec<f64>) = (vec![2.0, 2.0], vec![1.0, 1.0]);
    let (more, less): (Vec<f64>, Vec<f64>) = (vec![30.0, 30.0], vec![15.0, 15.0]);
    let ratio = Estimate::stratified_ratio(&[&above, &more], &[&below, &less]);
    close(ratio.value, 2.0);
    assert!(ratio.margin.is_some_and(|margin| margin < 1e-12));
    // One stratum is the plain ratio with its interval.
    let (a, b) = ([1.0, 2.5, 3.0], [1.0, 2.0, 4.0]);
    let (plain, one) = (Estimate::ratio(&a, &b), Estimate::stratified_ratio(&[&a], &[&b]));
    close(one.value, plain.value);
    close(one.margin.unwrap_or(0.0), plain.margin.unwrap_or(1.0));
    // Single samples are taken together.
    let lone =
        Estimate::stratified_ratio(&[&a[..1], &a[1..2], &a[2..]], &[&b[..1], &b[1..2], &b[2..]]);
    close(lone.value, plain.value);
    close(lone.margin.unwrap_or(0.0), plain.margin.unwrap_or(1.0));
    assert!(Estimate::stratified_ratio(&[&[1.0]], &[&[2.0]]).margin.is_none());
}

fn pairs(a: &[f64], b: &[f64]) -> Pairs {
    Pairs::new(a.iter().zip(b).map(|(&a, &b)| (Some(a), Some(b))))
}

#[test]
fn wilcoxon_counts_signs_with_ties() {
    // Six unanimous pairs: 2 of 64. Decimal differences 0.1, 0.1 are tied and cancel.
    let w = pairs(&[1., 2., 3., 4., 5., 6.], &[2., 4., 6., 8., 10., 12.]).wilcoxon(Scale::Linear);
    assert_eq!(w.map(|w| (w.p, w.effect(Sense::Lower))), Some((0.03125, 1.0)));
    let w = pairs(&[0.3, 0.1], &[0.2, 0.2]).wilcoxon(Scale::Linear).expect("two pairs");
    assert_eq!((w.plus, w.minus, w.tied, w.p), (1.5, 1.5, 6.0, 1.0));
    // Equal pairs are dropped; nothing left: p is 1, effect 0.
    let w = pairs(&[0.1 + 0.2], &[0.3]).wilcoxon(Scale::Linear).expect("one pair");
    assert_eq!((w.nonzero, w.zeros, w.p, w.effect(Sense::Lower)), (0, 1, 1.0, 0.0));
    assert_eq!(pairs(&[], &[]).wilcoxon(Scale::Linear), None);
    assert_eq!(pairs(&[0.0], &[1.0]).wilcoxon(Scale::Log), None);
}

#[test]
fn a_power_of_two_changes_no_test() {
    let a: Vec<f64> = (0..40).map(|i| 10.0 + f64::from(i * 7 % 11) / 10.0).collect();
    let b: Vec<f64> = (0..40).map(|i| 10.2 + f64::from(i * 5 % 13) / 10.0).collect();
    let by = |v: &[f64], s: f64| v.iter().map(|x| x * s).collect::<Vec<f64>>();
    let one = pairs(&a, &b);
    let other = pairs(&by(&a, 1024.0), &by(&b, 1024.0));
    let reversed = pairs(
        &a.iter().rev().copied().collect::<Vec<f64>>(),
        &b.iter().rev().copied().collect::<Vec<f64>>(),
    );
    for changed in [other, reversed] {
        assert_eq!(one.wilcoxon(Scale::Linear), changed.wilcoxon(Scale::Linear));
        assert_eq!(one.cliff(Sense::Lower), changed.cliff(Sense::Lower));
    }
    // Names exchanged: the same p, the opposite effect.
    let (w, v) = (one.wilcoxon(Scale::Linear), pairs(&b, &a).wilcoxon(Scale::Linear));
    let (w, v) = (w.expect("pairs"), v.expect("pairs"));
    assert_eq!((w.p, w.effect(Sense::Lower)), (v.p, -v.effect(Sense::Lower)));
}

#[test]
fn friedman_of_a_unanimous_table() {
    let mut blocks = Blocks::new(3, Sense::Lower);
    for i in 0..4 {
        let base = f64::from(i);
        blocks.push(&[Some(base + 1.0), Some(base + 2.0), Some(base + 3.0)]);
    }
    blocks.push(&[Some(1.0), None, Some(2.0)]);
    let f = blocks.friedman().expect("four complete blocks");
    // n (k - 1) = 8: the divisor of F is 0.
    assert_eq!((f.blocks, f.chi2, f.f, f.f_p), (4, 8.0, None, Some(0.0)));
    close(f.p, (-4.0_f64).exp());
    close(f.critical_difference, range_quantile(3, 0.05) / 2.0);
    assert_eq!(blocks.ranks(), Some(vec![1.0, 2.0, 3.0]));
    let methods = blocks.methods(0.0);
    assert_eq!((methods[0].wins, methods[0].wins_alone, methods[0].n), (5, 5, 5));
    assert_eq!(methods[0].degradation_not_best, None);
    assert_eq!(methods[1].profile.as_ref().and_then(|p| p.last()).map(|p| p.1), Some(0.8));
    // One block has no F; its chi-square with two degrees is 2 for any order.
    let mut one = Blocks::new(3, Sense::Lower);
    one.push(&[Some(2.0), Some(1.0), Some(3.0)]);
    let f = one.friedman().expect("one block");
    assert_eq!((f.chi2, f.f, f.f_p), (2.0, None, None));
    close(f.p, (-1.0_f64).exp());
}

#[test]
fn holm_is_a_running_maximum() {
    assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
}
