//! A folder from which a campaign can be run again elsewhere.

use super::{Campaign, Store, write_csv};
use slackline_core::Failure;
use slackline_formats::FileAccess;
use std::path::{Component, Path};

/// Writes everything that is needed to run a campaign again elsewhere, its results and the page about them; `version` is
/// that of the program.
pub fn bundle(
    (campaign, store): (&Campaign, &Store),
    page: &str,
    version: &str,
    folder: &Path,
    files: &FileAccess,
) -> Result<(), Failure> {
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
    let table = store.table()?;
    files.write(&folder.join("results.csv"), |out| write_csv(&table, out))?;
    write("report.html", page.as_bytes())?;
    let text = format!(
        "Campaign {name}, seed {seed}, by slackline {version}.\n\n\
         Run it again in this folder; the table comes out the same, byte by byte:\n\n  \
         slackline compare campaign.toml -o again.db --csv again.csv\n  cmp results.csv again.csv\n",
        name = campaign.name,
        seed = campaign.seed,
    );
    write("README.txt", text.as_bytes())
}

/// Fails where a bundle would have to write outside of its folder, or over something.
pub fn check_bundle(campaign: &Campaign, folder: &Path) -> Result<(), Failure> {
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
