//! `cargo run --release -p slackline-fuzz -- --seconds 60 --seed 1`

#![allow(clippy::print_stdout)] // what it prints is its result

use slackline_fuzz::{FileKind, Finding, Fuzzer, MOST_MEMORY, Tally, memory};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "\
slackline-fuzz: mutated files and odd arguments through every verb, in process

  --seconds N      duration in seconds [default: 60]
  --executions N   maximum number of executions
  --seed N         seed of all random choices [default: 1]
  --only N         repeat execution N of the seed
  --kinds A,B      mutate only files of these kinds, e.g. batch-log,batch-site,tape,stack,storage
  --keep FOLDER    write the mutated files of findings to this folder
";

struct Options {
    seconds: u64,
    executions: u64,
    seed: u64,
    only: Option<u64>,
    kinds: Vec<FileKind>,
    keep: Option<PathBuf>,
}

fn options() -> Option<Options> {
    let mut options = Options {
        seconds: 60,
        executions: u64::MAX,
        seed: 1,
        only: None,
        kinds: Vec::new(),
        keep: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--seconds" => options.seconds = value.parse().ok()?,
            "--executions" => options.executions = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--only" => options.only = Some(value.parse().ok()?),
            "--kinds" => {
                options.kinds = value.split(',').map(FileKind::named).collect::<Option<_>>()?;
            }
            "--keep" => options.keep = Some(PathBuf::from(value)),
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    // Panics are counted and reported with their input, not printed one by one.
    std::panic::set_hook(Box::new(|_| {}));
    let fuzzer = match Fuzzer::new(options.seed) {
        Ok(fuzzer) => fuzzer,
        Err(error) => {
            eprintln!("no place for files: {error}");
            return ExitCode::from(1);
        }
    };
    let fuzzer = if options.kinds.is_empty() { fuzzer } else { fuzzer.only(&options.kinds) };
    let keep = options.keep.clone();
    let watched = (fuzzer.current.clone(), keep.clone());
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some(finding) = watched.0.overdue() {
                tell(&finding, watched.1.as_deref());
                std::process::exit(1);
            }
        }
    });
    let begin = Instant::now();
    let mut tally = Tally::default();
    let mut report = |finding: &Finding| tell(finding, keep.as_deref());
    match options.only {
        Some(number) => {
            report(&fuzzer.drawn(number));
            fuzzer.execute(number, &mut tally, &mut report);
        }
        None => {
            let until = begin + Duration::from_secs(options.seconds);
            let mut number = 0;
            while number < options.executions && Instant::now() < until {
                fuzzer.execute(number, &mut tally, &mut report);
                number += 1;
            }
        }
    }
    summary(&tally, begin.elapsed());
    let memory = memory().map_or(0, |(_, most)| most);
    ExitCode::from(u8::from(!tally.findings.is_empty() || memory > MOST_MEMORY))
}

fn tell(finding: &Finding, keep: Option<&Path>) {
    println!("execution {}: {}\n  {}", finding.number, finding.what, finding.line);
    if let Some(folder) = keep {
        let extension = finding.line.split_whitespace().find_map(|word| word.rsplit_once("in."));
        let extension = extension.map_or("txt", |(_, extension)| extension);
        let file = folder.join(format!("{}.{extension}", finding.number));
        let _ = std::fs::create_dir_all(folder);
        let _ = std::fs::write(file, &finding.text);
    }
}

fn summary(tally: &Tally, took: Duration) {
    let [fine, failed, refused] = tally.codes;
    println!(
        "{} executions in {:.0} s: {fine} fine, {failed} failed work, {refused} refused input, {} findings",
        tally.executions,
        took.as_secs_f64(),
        tally.findings.len()
    );
    let (longest, which) = tally.longest;
    println!("longest: {:.2} s (execution {which})", longest.as_secs_f64());
    if let Some((_, most)) = memory() {
        println!("most memory: {} MiB", most >> 20);
    }
}
