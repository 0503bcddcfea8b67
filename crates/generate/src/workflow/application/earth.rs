//! Applications of the earth sciences: CyberShake (Juve et al. 2013), Seismology (Filgueira et
//! al.; figures of public WfCommons traces), Cycles (da Silva et al. 2019; the same).

use super::app::{App, fixed, kind, law, split};
use crate::draw::Seed;
use crate::error::Result;
use slackline_model::Workflow;
use slackline_model::parameter::{Kind, Parameter, Values};

pub(crate) const CYBERSHAKE: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(5, 1 << 28),
        "100",
        "number of tasks; E + 2 S + 2, one more where that is uneven",
    )
    .published("30, 50, 100, 1000"),
    Parameter::new(
        "extractions",
        Kind::Count(1, 1 << 28),
        "auto",
        "ExtractSGT tasks E; auto: 8 % of the tasks",
    )
    .published("2 of 30 tasks, 4 of 50, 8 of 100"),
];

/// CyberShake: extractions, each for several seismograms with their peak values; two archives.
pub(crate) fn cybershake(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let mut extractions =
        s.maybe_count("extractions").unwrap_or(((tasks as f64 * 0.08).round() as usize).max(1));
    let left = |e: usize| tasks.saturating_sub(2 + e);
    if s.maybe_count("extractions").is_none() && left(extractions) % 2 == 1 {
        extractions += 1;
    }
    let seismograms = (left(extractions) / 2).max(1);
    let mut app = App::new(&format!("cybershake-{}", extractions + 2 * seismograms + 2), seed);
    let (mut grams, mut peaks) = (Vec::new(), Vec::new());
    for count in split(seismograms, extractions) {
        let extract = app.task(&kind("ExtractSGT", law(152.3, 40.1, 84.0, 204.0)))?;
        app.own_input(extract, "sgt_x", law(1.99e10, 6e8, 1.9e10, 2.06e10))?;
        app.own_input(extract, "sgt_y", law(1.99e10, 6e8, 1.9e10, 2.06e10))?;
        app.own_input(extract, "variation", law(3.7e6, 9.8e5, 2.2e6, 5.5e6))?;
        let strain = [
            app.output(extract, "sub_x.sgt", law(2.26e8, 6.6e7, 1.26e8, 3.14e8))?,
            app.output(extract, "sub_y.sgt", law(2.26e8, 6.6e7, 1.26e8, 3.14e8))?,
        ];
        for _ in 0..count {
            let synthesis = app.task(&kind("SeismogramSynthesis", law(43.3, 11.9, 22.2, 63.8)))?;
            app.reads(synthesis, &strain);
            app.own_input(synthesis, "variation", law(3.73e6, 9.8e5, 2.05e6, 5.51e6))?;
            let gram = app.output(synthesis, "grm", fixed(2.4e4))?;
            grams.push(gram);
            let peak = kind("PeakValCalcOkaya", law(1.08, 0.27, 0.58, 1.57));
            peaks.push(app.step(&peak, &[gram], ("bsa", fixed(216.0)))?);
        }
    }
    let n = seismograms as f64;
    app.step(&kind("ZipSeis", fixed(0.018 * n)), &grams, ("zip", fixed(4.04e3 * n)))?;
    app.step(&kind("ZipPSA", fixed(0.0076 * n)), &peaks, ("zip", fixed(20.8 * n)))?;
    app.finish()
}

pub(crate) const SEISMOLOGY: &[Parameter] = &[Parameter::new(
    "tasks",
    Kind::Count(2, 1 << 28),
    "101",
    "number of tasks; one of them gathers",
)
.published("101 to 1101")];

/// Seismology: deconvolutions, all gathered by one task.
pub(crate) fn seismology(s: &Values, seed: Seed) -> Result<Workflow> {
    let pairs = s.count("tasks")? - 1;
    let mut app = App::new(&format!("seismology-{}", pairs + 1), seed);
    let mut results = Vec::with_capacity(pairs);
    for _ in 0..pairs {
        let task = app.task(&kind("sG1IterDecon", law(0.53, 0.5, 0.091, 4.1)))?;
        app.own_input(task, "mainshock.lht", law(2900.0, 1100.0, 1640.0, 5200.0))?;
        app.own_input(task, "egf.lht", law(2900.0, 1100.0, 1660.0, 5200.0))?;
        results.push(app.output(task, "stf", law(4100.0, 1800.0, 1660.0, 8830.0))?);
    }
    let n = pairs as f64;
    app.step(
        &kind("siftSTFByMisfit", fixed(0.3 + 9.5e-4 * n)),
        &results,
        ("tar.gz", fixed(625.0 * n)),
    )?;
    app.finish()
}

pub(crate) const CYCLES: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(7, 1 << 28),
        "67",
        "number of tasks; 4 K + 3 C for K settings of C crops",
    )
    .published("67 to 2185"),
    Parameter::new(
        "crops",
        Kind::Count(1, 1 << 20),
        "auto",
        "crops C; auto: near one per 219 tasks",
    )
    .published("1 to 4"),
];

/// Cycles: crop simulations, two variants of each setting, summaries and plots per crop.
pub(crate) fn cycles(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let crops = s.maybe_count("crops").unwrap_or_else(|| {
        // n = 4 K + 3 C needs n + C to be a multiple of four.
        let class = (4 - tasks % 4) % 4;
        let near = (tasks as f64 / 219.0 - class as f64) / 4.0;
        let crops = class + 4 * near.round().max(0.0) as usize;
        if crops == 0 { 4 } else { crops }
    });
    let crops = crops.min(tasks / 7).max(1);
    let settings = (tasks.saturating_sub(3 * crops) / 4).max(crops);
    let mut app = App::new(&format!("cycles-{}", 4 * settings + 3 * crops), seed);
    let shared = [
        app.input("cycles_exe", fixed(6.95e5))?,
        app.input("weather", fixed(4.8e5))?,
        app.input("crops.crop", fixed(1.44e4))?,
        app.input("template.ctrl", fixed(766.0))?,
        app.input("template.operation", fixed(1806.0))?,
        app.input("soil", fixed(739.0))?,
    ];
    for count in split(settings, crops) {
        let (mut seasons, mut parsed) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let baseline = app.task(&kind("baseline_cycles", law(40.7, 17.9, 2.1, 67.7)))?;
            app.reads(baseline, &shared);
            let again = app.output(baseline, "reinit.dat", fixed(3.77e4))?;
            app.output(baseline, "nitrogen.dat", law(1.44e6, 2e4, 1.38e6, 1.5e6))?;
            app.output(baseline, "crop.dat", law(1.81e6, 2e4, 1.75e6, 1.87e6))?;
            let variant = |app: &mut App, name, seconds| -> Result<_> {
                let task = app.task(&kind(name, seconds))?;
                app.reads(task, &shared);
                app.reads(task, &[again]);
                app.output(task, "outputs.zip", law(3.66e6, 4e4, 3.5e6, 3.8e6))?;
                app.output(task, "crop.dat", law(1.81e6, 2e4, 1.75e6, 1.87e6))?;
                app.output(task, "season.dat", law(5980.0, 60.0, 5700.0, 6200.0))
            };
            let plain = variant(&mut app, "cycles", law(11.0, 14.7, 1.34, 52.5))?;
            let more =
                variant(&mut app, "fertilizer_increase_cycles", law(11.4, 15.8, 1.31, 65.3))?;
            let parser =
                kind("cycles_fertilizer_increase_output_parser", law(0.058, 0.033, 0.04, 0.247));
            parsed.push(app.step(
                &parser,
                &[plain, more],
                ("csv", law(8290.0, 60.0, 8000.0, 8600.0)),
            )?);
            seasons.push(plain);
        }
        let n = count as f64;
        let summary = kind("cycles_output_summary", law(0.071, 0.005, 0.064, 0.08));
        let table = app.step(&summary, &seasons, ("csv", fixed(4700.0 * n)))?;
        let summary =
            kind("cycles_fertilizer_increase_output_summary", law(0.069, 0.005, 0.06, 0.08));
        app.step(&summary, &parsed, ("csv", fixed(7740.0 * n)))?;
        let plots = kind("cycles_plots", law(138.0, 2.0, 135.0, 140.5));
        app.step(&plots, &[table], ("gif", law(3.67e6, 5e5, 2.9e6, 4.12e6)))?;
    }
    app.finish()
}
