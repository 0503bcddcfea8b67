//! Reproductions run, repeat to the byte on any number of threads, and report their findings.
#![allow(clippy::unwrap_used)] // a broken study is a broken test

use slackline_lab::papers::{ALL, Options, Paper, Report, Size, Watch};

fn run(paper: &Paper, threads: usize) -> Report {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let options = Options { seed: 5, size: Size::Quick, graphs: Some(2) };
    let mut report = pool.install(|| (paper.run)(&options, &Watch::new(&|_| {}))).unwrap();
    report.timed = None; // other in every run
    report
}

#[test]
fn threads_do_not_change_a_report() {
    for paper in ALL {
        let (one, three) = (run(paper, 1), run(paper, 3));
        assert_eq!(one.markdown(), three.markdown(), "{}", paper.name);
        assert_eq!(format!("{one:?}"), format!("{three:?}"), "{}", paper.name);
        for claim in one.claims() {
            assert!(!claim.checks.is_empty(), "{} {} checks nothing", paper.name, claim.id);
        }
        for table in &one.findings.tables {
            for row in &table.rows {
                assert_eq!(row.len(), table.columns.len(), "{}: {}", paper.name, table.title);
            }
        }
    }
}
