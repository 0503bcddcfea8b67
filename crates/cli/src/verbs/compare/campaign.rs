//! Campaigns and their results: `slackline compare CAMPAIGN.toml`, `RESULTS.db`, `A.db B.db -o C.db`.

use super::Compare;
use crate::failure::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::progress::Bar;
use serde::Serialize;
use slackline_core::schema::names;
use slackline_formats::csv::Csv;
use slackline_lab::campaign::{
    Campaign, Counts, Identity, METRICS, Method, MethodKind, Shard, Store, StoreError, merge, run,
    write_csv, write_records,
};
use slackline_lab::compare::{Comparison, Options, compare};
use slackline_model::nearest::did_you_mean;
use slackline_report::compare::{html, text};
use slackline_report::table::count;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// The program as results name it.
pub(super) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("SLACKLINE_COMMIT"), ")");

/// An error of the store in words for the user.
pub(super) fn failure(error: StoreError) -> Failure {
    let message = error.to_string();
    match error {
        StoreError::Input { help, .. } => Failure::Input { message, help },
        StoreError::Machine { .. } => Failure::work(message),
    }
}

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

/// Comparisons per kind of method, where there are both.
#[derive(Serialize)]
struct Kinds<'a> {
    schema: &'static str,
    campaign: &'a str,
    plan: &'a Comparison,
    simulate: &'a Comparison,
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
            self.on_slurm(path, &campaign, &file, output)?;
            let store = Store::open(&file).map_err(failure)?;
            return self.finish(&campaign, &store, output);
        }
        let identity = Identity { name: campaign.name.clone(), seed: campaign.seed };
        let mut store = Store::create(&file, &identity, &campaign.text, &campaign.columns, VERSION)
            .map_err(failure)?;
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
        let counts = run(&campaign, &mut store, VERSION, shard, threads, &stop, &mut watch)
            .map_err(failure)?;
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
            self.bundle(campaign, store, &comparisons, folder, output)?;
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
                let merged = merge(many, to).map_err(failure)?;
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
        let store = Store::open(&file).map_err(failure)?;
        self.tables(&store, output)?;
        // The campaign as it was run last says the order of methods and what was asked.
        let text = store.campaign_text().map_err(failure)?.0;
        let identity = store.identity().map_err(failure)?;
        let (question, methods) = Campaign::outline(&text);
        let comparisons = self.comparisons(&store, &methods, output)?;
        self.show(&comparisons, &identity.name, output)?;
        if let Some(path) = &self.report {
            let about = html::About {
                name: &identity.name,
                question: &question,
                file: &text,
                version: &store.campaign_text().map_err(failure)?.1,
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
        let table = store.table().map_err(failure)?;
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
        let mut options = self.measured()?;
        // A part of a campaign as a unit is what was drawn of it.
        let text = store.campaign_text().map_err(failure)?.0;
        let columns = |name: &String| Campaign::unit_columns(&text, store.columns(), name);
        let units = options.unit.iter();
        options.unit =
            units.flat_map(|name| columns(name).unwrap_or_else(|| vec![name.clone()])).collect();
        let table = store.table_of(&options.metric).map_err(failure)?;
        if table.is_empty() {
            let message = format!("{}: there are no runs", store.file().display());
            return Err(Failure::input(message));
        }
        let kinds = [MethodKind::Plan, MethodKind::Simulate];
        let there: Vec<MethodKind> = kinds
            .into_iter()
            .filter(|kind| {
                let column = table.column("kind");
                column.is_some_and(|c| c.texts.iter().any(|text| text == kind.name()))
            })
            .collect();
        let known = |name: &str| table.head.iter().any(|h| h == name);
        let mut comparisons = Vec::new();
        for kind in there {
            let of_kind = only(&table, kind);
            let mut options = options.clone();
            options.order =
                methods.iter().filter(|m| m.kind == kind).map(|m| m.text.clone()).collect();
            options.ignore.retain(|name| known(name) || !METRICS.contains(&name.as_str()));
            let other_kind = |name: &String| {
                !options.order.contains(name) && methods.iter().any(|m| m.text == *name)
            };
            // A method of the other kind is no mistake where both kinds are compared.
            if options.against.as_ref().is_some_and(other_kind) {
                options.against = None;
            }
            let found = compare(&of_kind, &options).map_err(|e| e.in_file(store.file()))?;
            comparisons.push((kind, found));
        }
        for (kind, found) in &comparisons {
            let prefix = match comparisons.len() {
                1 => String::new(),
                _ => format!("{}-", kind.name()),
            };
            self.draw(&prefix, found, output)?;
        }
        Ok(comparisons)
    }

    /// Prints comparisons.
    fn show(
        &self,
        comparisons: &[(MethodKind, Comparison)],
        name: &str,
        output: &mut Output,
    ) -> Result<(), Failure> {
        match comparisons {
            [(_, one)] if self.json => output.json(one),
            [(_, plan), (_, simulate)] if self.json => {
                output.json(&Kinds { schema: names::CAMPAIGNS, campaign: name, plan, simulate })
            }
            _ => {
                for (at, (kind, comparison)) in comparisons.iter().enumerate() {
                    if comparisons.len() > 1 {
                        let gap = if at > 0 { "\n" } else { "" };
                        let judged = match kind {
                            MethodKind::Plan => "judged by plans",
                            MethodKind::Simulate => "judged by simulated runs",
                        };
                        output.say(&format!("{gap}{}\n", output.bold(judged)))?;
                    }
                    text::tell(comparison, output)?;
                }
                Ok(())
            }
        }
    }

    fn report(
        &self,
        comparisons: &[(MethodKind, Comparison)],
        campaign: &Campaign,
        output: &mut Output,
    ) -> Result<(), Failure> {
        self.show(comparisons, &campaign.name, output)?;
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

    /// Writes everything that is needed to run the campaign again elsewhere, and its outcome.
    fn bundle(
        &self,
        campaign: &Campaign,
        store: &Store,
        comparisons: &[(MethodKind, Comparison)],
        folder: &Path,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let files = &output.files;
        let write = |name: &str, bytes: &[u8]| {
            files.write(&folder.join(name), |out| out.write_all(bytes)).map_err(Failure::from)
        };
        for (name, path) in &campaign.reads {
            // What is bundled with the program has no file, and needs none.
            if path.exists() {
                write(name, files.read_text(path)?.as_bytes())?;
            }
        }
        write("campaign.toml", campaign.text.as_bytes())?;
        let table = store.table().map_err(failure)?;
        files.write(&folder.join("results.csv"), |out| write_csv(&table, out))?;
        write("report.html", self.page(comparisons, campaign).as_bytes())?;
        let text = format!(
            "Campaign {name}, seed {seed}, by slackline {VERSION}.\n\n\
             Run it again in this folder; the table comes out the same, byte by byte:\n\n  \
             slackline compare campaign.toml -o again.db --csv again.csv\n  cmp results.csv again.csv\n",
            name = campaign.name,
            seed = campaign.seed,
        );
        write("README.txt", text.as_bytes())
    }
}

/// Fails where a bundle would have to write outside of its folder, or over something.
fn check_bundle(campaign: &Campaign, folder: &Path) -> Result<(), Failure> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!("--bundle {}: the folder is not empty", folder.display());
        return Err(Failure::input(message).with_help("name a new folder"));
    }
    for (name, _) in &campaign.reads {
        let inside = Path::new(name).components().all(|c| matches!(c, Component::Normal(_)));
        let taken = ["campaign.toml", "results.csv", "report.html", "README.txt"];
        if !inside || taken.contains(&name.as_str()) {
            let message = format!("--bundle: {name} cannot be part of a folder of its own");
            return Err(Failure::input(message).with_help("move it beside the campaign file"));
        }
    }
    Ok(())
}

/// The rows of one kind.
fn only(table: &Csv, kind: MethodKind) -> Csv {
    let Some(column) = table.column("kind") else { return table.clone() };
    if column.texts.len() == 1 {
        return table.clone();
    }
    let mut csv = Csv::with_head(table.head.clone()).unwrap_or_default();
    for row in 0..table.len() {
        if column.text(row) == kind.name() {
            let cells: Vec<&str> = table.columns.iter().map(|c| c.text(row)).collect();
            // The cells are as many as the head has.
            let _ = csv.push(table.lines[row], &cells);
        }
    }
    csv
}

/// Output files of a campaign.
pub(super) fn outputs(compare: &Compare) -> [(&'static str, Option<&PathBuf>); 3] {
    [
        ("--csv", compare.csv.as_ref()),
        ("--records", compare.records.as_ref()),
        ("--report", compare.report.as_ref()),
    ]
}
