//! The bundled example workflows: written by the functions here, loaded through the front door.
//!
//! `UPDATE_EXAMPLES=1 cargo test -p slackline-formats --test it bundled_examples` rewrites them.

#![allow(clippy::unwrap_used)] // helpers of tests

use rand::Rng;
use slackline_formats::FileAccess;
use slackline_formats::{Document, Format, instance, read_workflow};
use slackline_model::platform::{HostSpec, Matrix, PlatformBuilder};
use slackline_model::rng::stream;
use slackline_model::workflow::CostTable;
use slackline_model::{SpeedUp, Task, TaskId, Workflow, WorkflowBuilder};
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows")
}

/// A workflow of tasks with times in seconds that read and write named files.
struct Files {
    builder: WorkflowBuilder,
}

impl Files {
    fn new(name: &str) -> Files {
        Files { builder: WorkflowBuilder::new(name) }
    }

    fn file(&mut self, name: &str, bytes: f64) {
        self.builder.add_file(name, bytes).unwrap();
    }

    /// A task called `kind_number`; its outputs come with their sizes.
    fn task(
        &mut self,
        kind: (&str, usize),
        seconds: f64,
        inputs: &[&str],
        outputs: &[(&str, f64)],
    ) {
        let name = format!("{}_{:02}", kind.0, kind.1);
        let work = (seconds * 1000.0).round() * 1e6; // whole milliseconds
        let task = self.builder.add_task(Task::new(name, work).of_kind(kind.0)).unwrap();
        for input in inputs {
            let file = self.builder.file_id(input).unwrap();
            self.builder.reads(task, file);
        }
        for &(name, bytes) in outputs {
            let file = self.builder.add_file(name, bytes).unwrap();
            self.builder.writes(task, file).unwrap();
        }
    }

    fn build(self) -> Workflow {
        self.builder.build().unwrap()
    }
}

/// Spreads times a little, the same way every time.
fn spread(base: f64, i: usize) -> f64 {
    base * (1.0 + 0.04 * ((i * 7 + 3) % 11) as f64)
}

/// Montage on 2 x 4 images: project, fit the differences of neighbours, correct the background,
/// add up, shrink, picture.
fn montage() -> Workflow {
    let mut w = Files::new("montage");
    let (rows, columns) = (2usize, 4usize);
    let images = rows * columns;
    w.file("region.hdr", 300.0);
    for i in 0..images {
        w.file(&format!("raw{i:02}.fits"), 4.2e6);
    }
    for i in 0..images {
        let raw = format!("raw{i:02}.fits");
        let (image, area) = (format!("proj{i:02}.fits"), format!("proj{i:02}_area.fits"));
        let outputs = [(image.as_str(), 8.3e6), (area.as_str(), 8.3e6)];
        w.task(("mProject", i), spread(12.0, i), &[&raw, "region.hdr"], &outputs);
    }
    // Images touch their neighbours in the row, the column and the diagonals.
    let mut fits = Vec::new();
    for a in 0..images {
        for b in a + 1..images {
            let (dr, dc) = (b / columns - a / columns, (b % columns).abs_diff(a % columns));
            if dr > 1 || dc > 1 {
                continue;
            }
            let parts: Vec<String> = [a, b]
                .iter()
                .flat_map(|i| [format!("proj{i:02}.fits"), format!("proj{i:02}_area.fits")])
                .collect();
            let inputs: Vec<&str> = parts.iter().map(String::as_str).collect();
            let fit = format!("fit{a:02}_{b:02}.txt");
            w.task(("mDiffFit", fits.len()), spread(8.5, fits.len()), &inputs, &[(&fit, 270.0)]);
            fits.push(fit);
        }
    }
    let all: Vec<&str> = fits.iter().map(String::as_str).collect();
    w.task(("mConcatFit", 0), 6.4, &all, &[("fits.tbl", 4.2e3)]);
    w.task(("mBgModel", 0), 18.7, &["fits.tbl"], &[("corrections.tbl", 900.0)]);
    let mut corrected = Vec::new();
    for i in 0..images {
        let (image, area) = (format!("proj{i:02}.fits"), format!("proj{i:02}_area.fits"));
        let output = format!("corr{i:02}.fits");
        let inputs = [image.as_str(), &area, "corrections.tbl"];
        w.task(("mBackground", i), spread(7.1, i), &inputs, &[(&output, 8.3e6)]);
        corrected.push(output);
    }
    let mut inputs: Vec<&str> = corrected.iter().map(String::as_str).collect();
    w.task(("mImgtbl", 0), 2.6, &inputs, &[("images.tbl", 2.1e3)]);
    inputs.extend(["images.tbl", "region.hdr"]);
    w.task(("mAdd", 0), 21.3, &inputs, &[("mosaic.fits", 52e6)]);
    w.task(("mShrink", 0), 5.2, &["mosaic.fits"], &[("small.fits", 2.1e6)]);
    w.task(("mJPEG", 0), 0.8, &["small.fits"], &[("mosaic.jpg", 3.4e5)]);
    w.build()
}

/// Epigenomics with nine lanes: split reads, filter, convert and map each part, merge, pile up.
fn epigenomics() -> Workflow {
    let mut w = Files::new("epigenomics");
    let lanes = 9;
    w.file("reads.fastq", 390e6);
    w.file("reference.bfa", 62e6);
    let names: Vec<String> = (0..lanes).map(|i| format!("chunk{i}.fastq")).collect();
    let chunks: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 42e6)).collect();
    w.task(("fastqSplit", 0), 34.0, &["reads.fastq"], &chunks);
    let mut maps = Vec::new();
    for (i, chunk) in names.iter().enumerate() {
        let [clean, sanger, binary, map] =
            ["clean.fastq", "sanger.fastq", "bfq", "map"].map(|end| format!("chunk{i}.{end}"));
        w.task(("filterContams", i), spread(2.4, i), &[chunk], &[(&clean, 41e6)]);
        w.task(("sol2sanger", i), spread(0.6, i), &[&clean], &[(&sanger, 31e6)]);
        w.task(("fastq2bfq", i), spread(1.3, i), &[&sanger], &[(&binary, 8.2e6)]);
        let inputs = [binary.as_str(), "reference.bfa"];
        w.task(("map", i), spread(190.0, i), &inputs, &[(&map, 3.1e6)]);
        maps.push(map);
    }
    let inputs: Vec<&str> = maps.iter().map(String::as_str).collect();
    w.task(("mapMerge", 0), 11.0, &inputs, &[("all.map", 27e6)]);
    w.task(("maqIndex", 0), 43.0, &["all.map"], &[("all.index", 21e6)]);
    w.task(("pileup", 0), 56.0, &["all.index", "reference.bfa"], &[("density.txt", 84e6)]);
    w.build()
}

/// Gaussian elimination by columns of blocks: step k prepares column k and updates those right
/// of it; 5 x 5 blocks of 2,000 x 2,000 numbers.
fn gauss() -> Workflow {
    const BLOCKS: usize = 5;
    let block = 2000.0f64;
    let mut b = WorkflowBuilder::new("gauss");
    let mut column: [Option<TaskId>; BLOCKS] = [None; BLOCKS];
    for k in 0..BLOCKS - 1 {
        let height = (BLOCKS - k) as f64;
        let bytes = 8.0 * block * block * height;
        let mut task = |name: String, work: f64, kind: &str| {
            let speedup = SpeedUp::Amdahl { serial: 0.05 };
            let (min_width, max_width) = (1, u32::MAX);
            let task = Task::new(name, work).of_kind(kind);
            b.add_task(Task { speedup, min_width, max_width, spread: true, ..task }).unwrap()
        };
        let pivot = task(format!("pivot_{k}"), height * block.powi(3), "pivot");
        let updates: Vec<TaskId> = (k + 1..BLOCKS)
            .map(|j| task(format!("update_{k}_{j}"), 2.0 * height * block.powi(3), "update"))
            .collect();
        if let Some(before) = column[k] {
            b.add_edge(before, pivot, bytes).unwrap();
        }
        for (j, update) in (k + 1..BLOCKS).zip(updates) {
            b.add_edge(pivot, update, bytes).unwrap();
            if let Some(before) = column[j] {
                b.add_edge(before, update, bytes).unwrap();
            }
            column[j] = Some(update);
        }
    }
    b.build().unwrap()
}

/// 30 tasks, each after up to three of the eight before it.
fn random() -> Workflow {
    let mut b = WorkflowBuilder::new("random");
    let mut stream = stream(2002, "examples/stg-random", 0);
    let mut draw = |below: u64| stream.next_u64() % below;
    for i in 0..30u32 {
        let seconds = 1 + draw(10);
        let task = b.add_task(Task::new(format!("t{i}"), seconds as f64 * 1e9)).unwrap();
        let mut parents: Vec<u32> =
            (0..draw(4)).map(|_| i.saturating_sub(1 + draw(8) as u32)).filter(|&p| p < i).collect();
        parents.sort_unstable();
        parents.dedup();
        for parent in parents {
            b.add_control(TaskId(parent), task).unwrap();
        }
    }
    b.build().unwrap()
}

/// Edges as (from, to, data), tasks counted from 1.
type Edges = [(u32, u32, f64); 15];

/// A published example of ten tasks and three processors.
fn published(name: &str, exec: [[f64; 3]; 10], edges: Edges) -> String {
    let mut b = WorkflowBuilder::new(name);
    b.set_reference_speed(1.0);
    for (i, row) in exec.iter().enumerate() {
        // The mean, to three digits: with a table of times the cost only informs.
        let mean = (row.iter().sum::<f64>() / 3.0 * 1000.0).round() / 1000.0;
        b.add_task(Task::new(format!("T{}", i + 1), mean)).unwrap();
    }
    for (from, to, data) in edges {
        b.add_edge(TaskId(from - 1), TaskId(to - 1), data).unwrap();
    }
    let columns: Vec<String> = (1..=3).map(|p| format!("P{p}")).collect();
    b.set_cost_table(CostTable { columns: columns.clone(), seconds: exec.concat() });
    let mut platform = PlatformBuilder::new(name);
    let root = platform.root().unwrap();
    for name in columns {
        platform.add_host(root, HostSpec::new(name, 1.0)).unwrap();
    }
    platform.set_matrix(Matrix::uniform(Some(1.0), 0.0));
    let mut out = Vec::new();
    instance::write(&b.build().unwrap(), &platform.build().unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002.
fn heft_2002() -> String {
    let exec = [
        [14., 16., 9.],
        [13., 19., 18.],
        [11., 13., 19.],
        [13., 8., 17.],
        [12., 13., 10.],
        [13., 16., 9.],
        [7., 15., 11.],
        [5., 11., 14.],
        [18., 12., 20.],
        [21., 7., 16.],
    ];
    let edges = [
        (1, 2, 18.),
        (1, 3, 12.),
        (1, 4, 9.),
        (1, 5, 11.),
        (1, 6, 14.),
        (2, 8, 19.),
        (2, 9, 16.),
        (3, 7, 23.),
        (4, 8, 27.),
        (4, 9, 23.),
        (5, 9, 13.),
        (6, 8, 15.),
        (7, 10, 17.),
        (8, 10, 11.),
        (9, 10, 13.),
    ];
    published("heft-2002", exec, edges)
}

/// Arabnejad, Barbosa, IEEE TPDS 25(3), 2014.
fn peft_2014() -> String {
    let exec = [
        [22., 21., 36.],
        [22., 18., 18.],
        [32., 27., 43.],
        [7., 10., 4.],
        [29., 27., 35.],
        [26., 17., 24.],
        [14., 25., 30.],
        [29., 23., 36.],
        [15., 21., 8.],
        [13., 16., 33.],
    ];
    let edges = [
        (1, 2, 17.),
        (1, 3, 31.),
        (1, 4, 29.),
        (1, 5, 13.),
        (1, 6, 7.),
        (2, 8, 3.),
        (2, 9, 30.),
        (3, 7, 16.),
        (4, 8, 11.),
        (4, 9, 7.),
        (5, 9, 57.),
        (6, 8, 5.),
        (7, 10, 9.),
        (8, 10, 42.),
        (9, 10, 7.),
    ];
    published("peft-2014", exec, edges)
}

fn text(workflow: Workflow, format: Format) -> String {
    let mut out = Vec::new();
    format.write(&Document::new(workflow), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_files_are_what_the_functions_write() {
    let files = [
        ("montage.json", text(montage(), Format::WfFormat)),
        ("epigenomics.dax", text(epigenomics(), Format::Dax)),
        ("gauss.dot", text(gauss(), Format::Dot)),
        ("stg-random.stg", text(random(), Format::Stg)),
        ("heft-2002.json", heft_2002()),
        ("peft-2014.json", peft_2014()),
    ];
    for (name, expected) in files {
        let path = folder().join(name);
        if std::env::var_os("UPDATE_EXAMPLES").is_some() {
            std::fs::write(&path, &expected).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{name} differs: see the head of this test");
    }
}

#[test]
fn every_file_loads_through_the_front_door() {
    // Tasks and dependencies, counted by hand:
    // Montage: 8 + 16 + 1 + 1 + 8 + 4 tasks; 2 x 16 into the fits, 16 + 1, 8 x 2 into the
    // corrections, 8 + 8 + 1 into table and sum, 2 at the end.
    // Epigenomics: 1 + 9 x 4 + 3 tasks; 9 x 4 on the lanes, 9 into the merge, 2 at the end.
    // Gauss: 4 pivots, 4 + 3 + 2 + 1 updates; 10 from pivots, 3 into pivots, 3 + 2 + 1 between.
    // The random graph has 30 tasks and its two dummies.
    let shapes = [
        ("montage.json", Format::WfFormat, 38, 32 + 17 + 16 + 17 + 2),
        ("epigenomics.dax", Format::Dax, 40, 9 * 4 + 9 + 2),
        ("gauss.dot", Format::Dot, 14, 10 + 3 + 6),
        ("stg-random.stg", Format::Stg, 32, 0),
        // Its dependencies are known only while it runs.
        ("assembly.toml", Format::Toml, 6, 0),
        ("fork-join.toml", Format::Toml, 9, 6 + 6 + 1),
        ("heft-2002.json", Format::Instance, 10, 15),
        // 1 + 4 models + 1 + 3 fits; 4 from the preparation, 1 + 4 into the scores, 3 out of them.
        ("gpu-training.toml", Format::Toml, 9, 4 + 5 + 3),
        // 4 samples of 4 steps.
        ("samples.toml", Format::Toml, 16, 4 * 3),
        ("peft-2014.json", Format::Instance, 10, 15),
    ];
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for (name, format, tasks, edges) in shapes {
        let path = folder().join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(Format::detect(Some(&path), &text).unwrap(), format, "{name}");
        let document = read_workflow(&FileAccess::default(), &path, None).unwrap();
        assert!(document.warnings.is_empty(), "{name}: {:?}", document.warnings);
        assert_eq!(document.workflow.len(), tasks, "{name}");
        if edges > 0 {
            assert_eq!(document.workflow.edge_count(), edges, "{name}");
        }
        names.retain(|n| n != name);
    }
    assert_eq!(names, [""; 0], "files that no test knows");
}
