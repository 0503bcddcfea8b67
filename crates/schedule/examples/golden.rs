//! Compares the planners with a folder of expected makespans:
//! `cargo run -p slackline-schedule --example golden -- FOLDER`
//!
//! Every `NAME.json` of the folder is a scheduling instance, `NAME.expected.json` beside it holds
//! `{"reference": {ALGORITHM: {"makespan": NUMBER}}}`. Prints, per algorithm, how many makespans
//! were compared and the worst relative deviation; exits with 1 where one is above 1e-9.

use serde_json::Value;
use slackline_formats::instance;
use slackline_model::Problem;
use slackline_model::schedule::{Limits, validate};
use slackline_schedule::{Request, registry};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Default)]
struct Deviation {
    compared: usize,
    agreeing: usize,
    worst: f64,
    at: String,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Some(folder) = std::env::args().nth(1) else {
        eprintln!("usage: golden FOLDER");
        return Ok(ExitCode::from(2));
    };
    let mut deviations: BTreeMap<String, Deviation> = BTreeMap::new();
    for path in instances(Path::new(&folder))? {
        compare(&path, &mut deviations)?;
    }
    #[allow(clippy::print_stdout)]
    for (name, d) in &deviations {
        println!(
            "{name:20} {:4} of {:4} agree, worst {:.2e} {}",
            d.agreeing, d.compared, d.worst, d.at
        );
    }
    let agree = deviations.values().all(|d| d.agreeing == d.compared);
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn instances(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|p| p.to_string_lossy().ends_with(".json"));
    paths.retain(|p| !p.to_string_lossy().ends_with(".expected.json"));
    paths.sort();
    Ok(paths)
}

fn compare(
    path: &Path,
    deviations: &mut BTreeMap<String, Deviation>,
) -> Result<(), Box<dyn Error>> {
    let instance = instance::read(&std::fs::read_to_string(path)?)?;
    let problem = Problem::new(&instance.workflow, &instance.platform)?;
    let expected = std::fs::read_to_string(path.with_extension("expected.json"))?;
    let expected: Value = serde_json::from_str(&expected)?;
    let reference = expected["reference"].as_object().ok_or("no member 'reference'")?;
    for (name, result) in reference {
        let wanted = result["makespan"].as_f64().ok_or("no makespan")?;
        let algorithm = registry::find(name).ok_or_else(|| format!("no algorithm '{name}'"))?;
        let schedule = algorithm.plan(&problem, &Request::default())?;
        let broken = validate(&problem, &schedule, &Limits::default());
        if let Some(violation) = broken.first() {
            return Err(format!("{name} on {}: {violation}", path.display()).into());
        }
        let deviation = (schedule.makespan() - wanted).abs() / wanted;
        let entry = deviations.entry(name.clone()).or_default();
        entry.compared += 1;
        entry.agreeing += usize::from(deviation <= 1e-9);
        if deviation > entry.worst {
            entry.worst = deviation;
            entry.at = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        }
    }
    Ok(())
}
