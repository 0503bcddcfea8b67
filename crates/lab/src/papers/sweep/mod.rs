//! Parameter sweeps: F. Berman, H. Casanova, J. Dongarra, J. Hayes, G. Obertelli, A. Su, R. Wolski,
//! D. Zagorodnov and others, report on scheduling parameter sweep applications, 1999.
//!
//! One experiment is published, as a figure whose values are lost; its text names six claims. Nine
//! more are announced and not reported: they are run here for the first time, as tables.

mod announced;
mod case;
mod published;

use super::{Options, Paper, Report, Size, StudyError, Watch};
use crate::cell::Recipe;

/// Registry entry.
pub(super) const PAPER: Paper = Paper {
    name: "sweep",
    title: "Scheduling parameter sweep applications on a grid",
    source: "Berman et al., 1999",
    about: "shared files decide: heuristics over hosts and links against a work queue",
    run: reproduce,
    cells,
    unlisted: "",
};

fn applications(options: &Options) -> usize {
    options.graphs.unwrap_or(match options.size {
        Size::Quick => 1,
        Size::Standard => 5,
        Size::Full => 20,
    })
}

fn cells(options: &Options) -> Result<Vec<Recipe>, StudyError> {
    let applications = applications(options);
    let mut all = published::cells(options, applications);
    all.extend(announced::cells(options, applications));
    Ok(all)
}

fn reproduce(options: &Options, watch: &Watch<'_>) -> Result<Report, StudyError> {
    let mut report = Report::new(&PAPER, options, applications(options));
    report.choices = CHOICES.map(String::from).to_vec();
    published::study(&mut report, options.size, watch)?;
    announced::study(&mut report, options.size, watch)?;
    Ok(report)
}

const CHOICES: [&str; 6] = [
    "A transfer holds its link for its latency and its size over the bandwidth; transfers take the first gap \
     that is long enough, computations go to the end of a host's column, outputs are reserved.",
    "A rise of completion times is a jump if it is at least the mean and one deviation of all rises; as printed \
     (above) it can never be one with two or three clusters.",
    "The second best host is any other host; as printed none of the best cluster.",
    "All tasks are planned once at time 0 in the published experiment; runs follow that plan with links that \
     take the first transfer that exists.",
    "Sizes of shared files: 0 and doubling from 150 to 9600 Kbyte; the report names the last two.",
    "The announced experiments use 200 tasks in 8 chunks with files of 2400 Kbyte on the published grid, with \
     levels that change every 60 s where something has to change.",
];
