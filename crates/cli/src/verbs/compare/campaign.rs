//! Campaigns and their results: `slackline compare CAMPAIGN.toml`, `RESULTS.db`, `A.db B.db -o C.db`.

use super::Compare;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::progress::Bar;
use slackline_lab::campaign::job_array::JobArray;
use slackline_lab::campaign::{
    Campaign, Counts, Identity, METRICS, Method, MethodKind, Shard, Store, bundle, check_bundle,
    comparisons, merge, run, write_csv, write_records,
};
use slackline_lab::compare::{Comparison, Options};
use slackline_model::nearest::did_you_mean;
use slackline_report::compare::campaign::show;
use slackline_report::compare::html;
use slackline_report::table::count;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The program as results name it.
pub(super) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLACKLINE_COMMIT"), ")");

/// Whether a file is one of results in SQLite.
pub(super) fn is_store(path: &Path) -> bool {
    let mut begin = [0; 15];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && &begin == b"SQLite format 3"
}

pub(super) fn is_campaign(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Part `2/8` of a campaign.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index: index - 1, of }),
        _ => Err("expected a part such as 2/8, counted from 1".to_string()),
    }
}

impl Compare {
    /// Carries out a campaign, then reports.
    pub(super) fn campaign(&self, path: &Path, output: &mut Output) -> Result<(), Failure> {
        let campaign = Campaign::read(&output.files, path)?;
        self.check_questions(&campaign)?;
        if let Some(folder) = &self.bundle {
            check_bundle(&campaign, folder)?;
        }
        let name = || path.with_extension(if self.shard.is_some() { "part.db" } else { "db" });
        let file = self.output.clone().unwrap_or_else(name);
        if let Some(super::System::Slurm) = self.on {
            let array = JobArray {
                jobs: self.jobs,
                threads: self.threads.unwrap_or(1),
                sbatch: self.sbatch.clone(),
            };
            let bar = Bar::new(output.quiet);
            let mut watch = |done, all| bar.show("parts", done, all);
            array.run(path, &campaign, &file, output, &mut watch)?;
            bar.finish();
            let store = Store::open(&file)?;
            return self.finish(&campaign, &store, output);
        }
        let identity = Identity { name: campaign.name.clone(), seed: campaign.seed };
        let mut store =
            Store::create(&file, &identity, &campaign.text, &campaign.columns, VERSION)?;
        let bar = Bar::new(output.quiet);
        let stop = interrupt::listen();
        let threads = self.threads.unwrap_or_else(|| {
            std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
        });
        let shard = self.shard.unwrap_or(Shard { index: 0, of: 1 });
        let mut watch = |counts: &Counts| {
            let failed = match counts.failed {
                0 => "runs".to_string(),
                failed => format!("runs, {failed} failed"),
            };
            let done = counts.before + counts.done;
            bar.show(&failed, done as usize, counts.planned.max(done) as usize);
        };
        let counts = run(&campaign, &mut store, VERSION, shard, threads, &stop, &mut watch)?;
        bar.finish();
        interrupt::ignore();
        if counts.stopped {
            let message = format!(
                "{} are kept in {}; the same command continues with the rest",
                count((counts.before + counts.done) as usize, "run"),
                file.display()
            );
            return Err(Failure::Interrupted { message, code: interrupt::exit_code() });
        }
        output.detail(&format!(
            "{}: {} done, {} there before, {} failed",
            file.display(),
            counts.done,
            counts.before,
            counts.failed
        ));
        if self.shard.is_some() {
            return self.tables(&store, output);
        }
        self.finish(&campaign, &store, output)
    }

    /// Writes and shows what was asked for of a whole campaign.
    fn finish(
        &self,
        campaign: &Campaign,
        store: &Store,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.tables(store, output)?;
        let comparisons = self.comparisons(store, &campaign.methods, output)?;
        self.report(&comparisons, campaign, output)?;
        if let Some(folder) = &self.bundle {
            let page = self.page(&comparisons, campaign);
            bundle((campaign, store), &page, VERSION, folder, &output.files)?;
        }
        Ok(())
    }

    /// Reports results that are there, after bringing them together.
    pub(super) fn results(&self, output: &mut Output) -> Result<(), Failure> {
        let file = match (self.files.as_slice(), &self.output) {
            ([one], None) => one.clone(),
            ([_], Some(_)) => {
                return Err(Failure::input("-o: one file of results is there already")
                    .with_help("name several to bring them together"));
            }
            (many, Some(to)) => {
                let merged = merge(many, to)?;
                output.note(&format!(
                    "{}: {} of {} files, {} in more than one",
                    to.display(),
                    count(merged.rows as usize, "run"),
                    many.len(),
                    merged.common
                ));
                to.clone()
            }
            _ => {
                return Err(Failure::input(
                    "several files of results are brought together into one",
                )
                .with_help("name it with -o"));
            }
        };
        let store = Store::open(&file)?;
        self.tables(&store, output)?;
        // The campaign as it was run last says the order of methods and what was asked.
        let text = store.campaign_text()?.0;
        let identity = store.identity()?;
        let (question, methods) = Campaign::outline(&text);
        let comparisons = self.comparisons(&store, &methods, output)?;
        show(self.json, &comparisons, &identity.name, output)?;
        if let Some(path) = &self.report {
            let about = html::About {
                name: &identity.name,
                question: &question,
                file: &text,
                version: &store.campaign_text()?.1,
                command: self.command(),
            };
            let page = html::page(&about, &comparisons, &[]);
            output.files.write(path, |out| out.write_all(page.as_bytes()))?;
        }
        Ok(())
    }

    /// Writes the tables that were asked for.
    fn tables(&self, store: &Store, output: &mut Output) -> Result<(), Failure> {
        if self.csv.is_none() && self.records.is_none() {
            return Ok(());
        }
        let table = store.table()?;
        if let Some(path) = &self.csv {
            output.files.write(path, |out| write_csv(&table, out))?;
        }
        if let Some(path) = &self.records {
            output.files.write(path, |out| write_records(&table, out))?;
        }
        Ok(())
    }

    /// Options of the comparison, by a metric that campaigns measure.
    fn measured(&self) -> Result<Options, Failure> {
        let options = self.options()?;
        if METRICS.contains(&options.metric.as_str()) {
            return Ok(options);
        }
        let near = did_you_mean(&options.metric, METRICS);
        let message = format!("--metric: a campaign does not measure {}{near}", options.metric);
        Err(Failure::input(message).with_help(format!("measured: {}", METRICS.join(", "))))
    }

    /// Refuses what the results could not answer, before hours are spent on them.
    fn check_questions(&self, campaign: &Campaign) -> Result<(), Failure> {
        self.measured()?;
        let columns = || campaign.columns.iter().map(String::as_str).chain(["kind"]);
        if let Some(name) = self.by.iter().find(|name| !columns().any(|c| c == *name)) {
            let near = did_you_mean(name, columns());
            return Err(Failure::input(format!("--by: there is no factor {name}{near}")));
        }
        let keys = || columns().chain(["repetition"]);
        if let Some(name) = self.unit.iter().find(|name| !keys().any(|c| c == *name)) {
            let near = did_you_mean(name, keys());
            return Err(Failure::input(format!("--unit: there is no column {name}{near}")));
        }
        let methods = || campaign.methods.iter().map(|m| m.text.as_str());
        match self.against.as_deref().filter(|name| !methods().any(|m| m == *name)) {
            Some(name) => {
                let near = did_you_mean(name, methods());
                Err(Failure::input(format!("--against: there is no method {name}{near}")))
            }
            None => Ok(()),
        }
    }

    /// A comparison per kind of method.
    fn comparisons(
        &self,
        store: &Store,
        methods: &[Method],
        output: &Output,
    ) -> Result<Vec<(MethodKind, Comparison)>, Failure> {
        let comparisons = comparisons(store, methods, self.measured()?)?;
        for (kind, found) in &comparisons {
            let prefix = match comparisons.len() {
                1 => String::new(),
                _ => format!("{}-", kind.name()),
            };
            self.draw(&prefix, found, output)?;
        }
        Ok(comparisons)
    }

    fn report(
        &self,
        comparisons: &[(MethodKind, Comparison)],
        campaign: &Campaign,
        output: &mut Output,
    ) -> Result<(), Failure> {
        show(self.json, comparisons, &campaign.name, output)?;
        if let Some(path) = &self.report {
            let page = self.page(comparisons, campaign);
            output.files.write(path, |out| out.write_all(page.as_bytes()))?;
        }
        Ok(())
    }

    fn page(&self, comparisons: &[(MethodKind, Comparison)], campaign: &Campaign) -> String {
        let about = html::About {
            name: &campaign.name,
            question: &campaign.question,
            file: &campaign.text,
            version: VERSION,
            command: self.command(),
        };
        html::page(&about, comparisons, &html::gantts(campaign, VERSION))
    }
}

/// Output files of a campaign.
pub(super) fn outputs(compare: &Compare) -> [(&'static str, Option<&PathBuf>); 3] {
    [
        ("--csv", compare.csv.as_ref()),
        ("--records", compare.records.as_ref()),
        ("--report", compare.report.as_ref()),
    ]
}
