//! Settings of an MPI cluster, from measurements.

use crate::Printer;
use crate::table::Table;
use serde::Serialize;
use slackline_core::Failure;
use slackline_mpi::calibrate::Calibration;
use std::path::Path;

#[derive(Serialize)]
struct CalibrationDocument<'a> {
    settings: std::collections::BTreeMap<&'static str, String>,
    segments: Vec<[f64; 4]>,
    mean_log_error: Errors,
    #[serde(skip_serializing_if = "Option::is_none")]
    limiter: Option<f64>,
    measurements: &'a str,
}

#[derive(Serialize)]
struct Errors {
    affine: f64,
    best_affine: f64,
    segments: f64,
}

/// Prints segments, errors and settings.
pub fn text(
    bandwidth: f64,
    latency: f64,
    found: &Calibration,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let heads = [">above bytes", ">latency s", ">bandwidth B/s", ">correlation"];
    let mut table = Table::new(&heads);
    for piece in &found.transfer {
        table.row([
            format!("{:.0}", piece.from),
            format!("{:.3e}", piece.constant),
            format!("{:.4e}", piece.rate(bandwidth)),
            format!("{:.4}", piece.correlation),
        ]);
    }
    output.say(&table.render(output.style().width))?;
    let [plain, best, segments] = found.errors;
    output.say(&format!(
        "mean logarithmic error: {plain:.3} affine, {best:.3} best affine, {segments:.3} segments\n"
    ))?;
    if let Some(limiter) = found.limiter {
        output.say(&format!("both directions at once: {limiter:.2} times one direction\n"))?;
    }
    for (key, value) in found.settings(latency, bandwidth) {
        output.text(&format!("{key}:{value}\n"))?;
    }
    Ok(())
}

/// Prints the document of a calibration.
pub fn document(
    data: &Path,
    bandwidth: f64,
    latency: f64,
    found: &Calibration,
    output: &mut dyn Printer,
) -> Result<(), Failure> {
    let [affine, best_affine, segments] = found.errors;
    output.json(&CalibrationDocument {
        settings: found.settings(latency, bandwidth).into_iter().collect(),
        segments: found
            .transfer
            .iter()
            .map(|p| [p.from, p.constant, p.rate(bandwidth), p.correlation])
            .collect(),
        mean_log_error: Errors { affine, best_affine, segments },
        limiter: found.limiter,
        measurements: &data.to_string_lossy(),
    })
}
