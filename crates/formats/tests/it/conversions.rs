//! Round trips: a workflow converted to another format and back is still the same.
#![allow(clippy::unwrap_used)] // tests

use crate::common;

use common::{documents, facts, fixtures, through};
use slackline_formats::FileAccess;
use slackline_formats::{Format, read_workflow, write_workflow};

#[test]
fn wfformat_to_dax_and_back_loses_nothing() {
    let mut tried = 0;
    for (path, text) in fixtures() {
        if !Format::WfFormat.recognises(&text) {
            continue;
        }
        let document = Format::WfFormat.read(&text).unwrap();
        let back = through(&through(&document, Format::Dax), Format::WfFormat);
        assert_eq!(facts(&back), facts(&document), "{}", path.display());
        tried += 1;
    }
    assert_eq!(tried, 4);
    let layered = slackline_formats::Document::new(common::layered(20, 30));
    let back = through(&through(&layered, Format::Dax), Format::WfFormat);
    assert_eq!(facts(&back), facts(&layered));
}

#[test]
fn dax_keeps_everything_it_can_say() {
    for document in documents() {
        // Weighted edges get file names on the way out; from then on nothing changes.
        let once = through(&document, Format::Dax);
        assert_eq!(facts(&through(&once, Format::Dax)), facts(&once));
        let (w, first) = (&once.workflow, &document.workflow);
        assert_eq!(
            (w.len(), w.file_count(), w.edge_count(), w.total_edge_bytes(), w.total_work()),
            (
                first.len(),
                first.file_count(),
                first.edge_count(),
                first.total_edge_bytes(),
                first.total_work()
            )
        );
    }
}

#[test]
fn shared_names_stay_apart_in_every_format() {
    let text = include_str!("../fixtures/workflows/montage.dax");
    let document = Format::Dax.read(text).unwrap();
    let w = &document.workflow;
    assert_eq!((w.len(), w.edge_count()), (6, 6));
    let names: Vec<_> = w.files().map(|f| w.file_name(f)).collect();
    assert_eq!(
        names,
        [
            "region.hdr",
            "p0.fits",
            "p1.fits",
            "fit.txt#ID00002",
            "fit.txt#ID00003",
            "fits.tbl#ID00004",
            "fits.tbl#ID00005"
        ]
    );
    for format in [Format::Dax, Format::WfFormat] {
        assert_eq!(facts(&through(&document, format)), facts(&document), "{format}");
    }
}

#[test]
fn the_front_door_knows_formats_by_content_and_name() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in fixtures() {
        let format = Format::detect(Some(&path), &text).unwrap();
        assert_eq!(Format::detect(None, &text).unwrap(), format, "{}", path.display());
        assert_eq!(format.name().parse::<Format>().unwrap(), format);
        let document = read_workflow(&FileAccess::default(), &path, None).unwrap();
        for &to in Format::ALL.iter().filter(|f| f.can_write()) {
            let out = folder.path().join(format!("out.{}", to.extensions()[0]));
            // A WorkDescription cannot represent that a task only waits for another.
            let w = &document.workflow;
            if to == Format::Work && w.edges().any(|e| w.edge_files(e).len() == 0) {
                assert!(write_workflow(&FileAccess::default(), &out, &document, Some(to)).is_err());
                continue;
            }
            write_workflow(&FileAccess::default(), &out, &document, Some(to)).unwrap();
            let again = read_workflow(&FileAccess::default(), &out, None).unwrap();
            // STG adds the dummy tasks it needs.
            let (before, after) = (&document.workflow, &again.workflow);
            assert!(after.len() >= before.len(), "{to} {}", path.display());
        }
    }
    let path = folder.path().join("x.dat");
    std::fs::write(&path, "no workflow\n").unwrap();
    let error = read_workflow(&FileAccess::default(), &path, None).unwrap_err();
    assert!(error.to_string().ends_with("x.dat: not a workflow format Slackline knows"));
    assert!(error.help.unwrap().contains("wfformat"));
    let error = read_workflow(&FileAccess::default(), &folder.path().join("missing.json"), None)
        .unwrap_err();
    assert!(error.to_string().contains("no such file"));
    let document = documents().remove(0);
    assert!(write_workflow(&FileAccess::default(), &path, &document, None).is_err());
    let yaml = folder.path().join("x.yml");
    assert!(
        write_workflow(&FileAccess::default(), &yaml, &document, Some(Format::PegasusYaml))
            .is_err()
    );
    assert!(!yaml.exists());
}
