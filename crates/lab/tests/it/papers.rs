//! Reproductions run, repeat to the byte on any number of threads, and report their findings.
#![allow(clippy::unwrap_used)] // a broken study is a broken test

use slackline_lab::papers::{self, ALL, Options, Paper, Report, Size, Watch};

fn run(paper: &Paper, threads: usize) -> Report {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let options = Options { seed: 5, size: Size::Quick, graphs: Some(2) };
    let mut report = pool.install(|| (paper.run)(&options, &Watch::new(&|_| {}))).unwrap();
    report.timed = None; // other in every run
    report
}

/// Runs a study on one and on three threads: the reports are the same, and none of their parts is empty.
fn repeats(name: &str) {
    let paper = papers::find(name).unwrap();
    let (one, three) = (run(paper, 1), run(paper, 3));
    assert_eq!(one.markdown(), three.markdown());
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
    for claim in one.claims() {
        assert!(!claim.checks.is_empty(), "{} checks nothing", claim.id);
    }
    for table in &one.findings.tables {
        for row in &table.rows {
            assert_eq!(row.len(), table.columns.len(), "{}", table.title);
        }
    }
}

/// A test for each study, so that all cores are used and a failure names its study.
macro_rules! studies {
    ($($test:ident $name:literal)*) => {
        const STUDIES: &[&str] = &[$($name),*];
        mod threads_do_not_change_a_report {
            $(
                #[test]
                fn $test() {
                    super::repeats($name);
                }
            )*
        }
    };
}

studies! {
    gtp "gtp"
    selective_rescheduling "selective-rescheduling"
    policies "policies"
    sweep "sweep"
    ptg "ptg"
    hbcs "hbcs"
    dbcs "dbcs"
    cloud "cloud"
    fdws "fdws"
    budget_fdws "budget-fdws"
    mw_dbs "mw-dbs"
    peft "peft"
    metaheuristics "metaheuristics"
    simulator "simulator"
    nondet "nondet"
}

#[test]
fn every_study_has_a_test() {
    let names: Vec<&str> = ALL.iter().map(|paper| paper.name).collect();
    assert_eq!(names, STUDIES, "list them under `studies!`, in this order");
}
