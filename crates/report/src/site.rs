//! A site as its own logs show it.

use crate::Printer;
use crate::table::{Table, count};
use slackline_core::Failure;
use slackline_lab::site_logs::SitePicture;
use slackline_model::names::printable;
use slackline_model::units::fmt_seconds;

/// Prints hosts and waits that logs show.
pub fn report(found: &SitePicture, output: &mut dyn Printer) -> Result<(), Failure> {
    if !found.hosts.is_empty() {
        let assumed = found.hosts.iter().filter(|host| host.speed.is_none()).count();
        output.say(&format!(
            "{}, {}\n",
            count(found.hosts.len(), "host"),
            count(found.links.len(), "bandwidth")
        ))?;
        if assumed > 0 {
            output.note(&format!(
                "{} without a speed in the logs: 1 Gflop/s is assumed",
                count(assumed, "host")
            ));
        }
    }
    if found.waits.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&[
        "<site",
        "<queue",
        ">jobs",
        ">mean wait",
        ">median",
        ">p95",
        ">killed",
        "<nearest",
        ">distance",
    ]);
    for waits in &found.waits {
        let nearest = waits.fits.first();
        let name = nearest.map_or("-", |fit| {
            use slackline_model::distribution::Distribution;
            match fit.distribution {
                Distribution::Constant(_) => "constant",
                Distribution::Uniform { .. } => "uniform",
                Distribution::Exponential { .. } => "exponential",
                Distribution::Normal { .. } => "normal",
                Distribution::LogNormal { .. } => "log-normal",
            }
        });
        table.row([
            printable(&waits.site).into_owned(),
            printable(&waits.queue).into_owned(),
            waits.jobs.to_string(),
            fmt_seconds(waits.mean),
            fmt_seconds(waits.median),
            fmt_seconds(waits.p95),
            format!("{:.1} %", 100.0 * waits.killed),
            name.to_string(),
            nearest.map_or_else(|| "-".into(), |fit| format!("{:.3}", fit.distance)),
        ]);
    }
    let text = table.render(output.style().width);
    output.text(&text)
}
