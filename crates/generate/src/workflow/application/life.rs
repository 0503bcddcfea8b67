//! Applications of the life sciences: Epigenomics and SIPHT (Juve et al. 2013), and 1000Genome,
//! BLAST, BWA, SoyKB and SRASearch (structure and figures of public WfCommons traces).

use super::app::{App, TaskKind, fixed, kind, law, split};
use crate::draw::Seed;
use crate::error::{Result, bad};
use slackline_model::parameter::{Kind, Parameter, Values};
use slackline_model::{FileId, Workflow};

pub(crate) const EPIGENOMICS: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(8, 1 << 28),
        "100",
        "number of tasks; 4 K + 4, or 4 K + 2 L + 3 for L lanes, the nearest",
    )
    .published("24, 47, 100, 997"),
    Parameter::new("lanes", Kind::Count(1, 1 << 20), "auto", "lanes L; auto: one per 140 tasks")
        .published("1 of 24 tasks, 2 of 47"),
    Parameter::new(
        "chains",
        Kind::Count(1, 1 << 28),
        "auto",
        "chains of all lanes together K; auto: from the tasks",
    )
    .published("5 of 24 tasks, 10 of 47"),
];

/// Lanes and chains for a number of tasks.
fn lanes_and_chains(s: &Values) -> Result<(usize, usize)> {
    let tasks = s.count("tasks")?;
    let lanes = s.maybe_count("lanes").unwrap_or_else(|| {
        let near = ((tasks as f64 / 140.0).round() as usize).max(1);
        match tasks % 4 {
            0 if tasks <= 200 => 1, // 4 K + 4
            // 4 K + 2 L + 3 for an odd number of tasks: L as even or odd as (n - 3) / 2; an
            // even number is met by the odd one below or, with one lane only, above.
            _ => {
                let odd = if tasks % 2 == 1 {
                    tasks
                } else if tasks > 200 {
                    tasks - 1
                } else {
                    tasks + 1
                };
                let even = (odd - 3) / 2 % 2 == 0;
                let near = near.max(2);
                if near.is_multiple_of(2) == even { near } else { near + 1 }
            }
        }
    });
    let fixed_tasks = if lanes == 1 { 4 } else { 2 * lanes + 3 };
    let rounded = tasks.saturating_sub(fixed_tasks) as f64 / 4.0;
    let chains = s.maybe_count("chains").unwrap_or((rounded.round() as usize).max(lanes));
    if chains < lanes {
        return Err(bad("chains", chains, format!("{lanes} lanes need a chain each")));
    }
    Ok((lanes, chains))
}

/// Epigenomics: lanes of parallel chains, merged per lane and once more.
pub(crate) fn epigenomics(s: &Values, seed: Seed) -> Result<Workflow> {
    let (lanes, chains) = lanes_and_chains(s)?;
    let tasks = if lanes == 1 { 4 * chains + 4 } else { 4 * chains + 2 * lanes + 3 };
    let mut app = App::new(&format!("epigenomics-{tasks}"), seed);
    let reference = app.input("reference.bfa", fixed(5.3e9))?;
    let merge = kind("mapMerge", law(17.0, 6.0, 8.0, 40.0));
    let mut merged = Vec::with_capacity(lanes);
    for count in split(chains, lanes) {
        let task = app.task(&kind("fastqSplit", law(104.0, 30.0, 34.0, 200.0)))?;
        app.own_input(task, "fastq", fixed(9.8e6 * count as f64))?;
        let mut parts = Vec::with_capacity(count);
        for part in 0..count {
            let piece = law(9.8e6, 4.2e6, 4e6, 2.13e7);
            parts.push(app.output(task, &format!("part{part}"), piece)?);
        }
        let mut maps = Vec::with_capacity(count);
        for part in parts {
            let steps: [(TaskKind, (&str, _)); 3] = [
                (
                    kind("filterContams", law(8.9, 5.0, 3.2, 26.0)),
                    ("fastq", law(4.9e6, 2.1e6, 1.9e6, 1.1e7)),
                ),
                (
                    kind("sol2sanger", law(3.5, 1.55, 1.3, 7.3)),
                    ("sanger", law(4.0e6, 2.4e6, 1.4e6, 1.16e7)),
                ),
                (
                    kind("fastq2bfq", law(4.8, 3.1, 1.5, 15.3)),
                    ("bfq", law(9.7e5, 6.2e5, 2.9e5, 3.2e6)),
                ),
            ];
            let mut file = part;
            for (step, output) in steps {
                file = app.step(&step, &[file], output)?;
            }
            let map = kind("map", law(3228.0, 695.0, 1990.0, 4600.0));
            maps.push(app.step(
                &map,
                &[file, reference],
                ("map", law(1.05e6, 6.7e5, 3.1e5, 3.5e6)),
            )?);
        }
        merged.push(app.step(&merge, &maps, ("map", fixed(1e6 * count as f64)))?);
    }
    let whole = match merged.as_slice() {
        [one] => *one,
        several => app.step(&merge, several, ("map", fixed(1e6 * chains as f64)))?,
    };
    let index =
        app.step(&kind("maqIndex", law(0.05, 0.01, 0.02, 0.1)), &[whole], ("index", fixed(4.2e5)))?;
    let pileup = kind("pileup", law(1375.0, 200.0, 900.0, 2000.0));
    app.step(&pileup, &[index, reference], ("pileup", fixed(3e6)))?;
    app.finish()
}

pub(crate) const SIPHT: &[Parameter] = &[
    Parameter::new("tasks", Kind::Count(13, 1 << 28), "29", "number of tasks")
        .published("29, 58, 97, 968"),
    Parameter::new("groups", Kind::Count(1, 1 << 20), "auto", "replicons; auto: one per 30 tasks"),
];

/// SIPHT: searches for small RNAs, twelve steps and several Patser runs per replicon.
pub(crate) fn sipht(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let near = ((tasks as f64 / 30.0).round() as usize).max(1);
    let groups = s.maybe_count("groups").unwrap_or(near).min(tasks / 13).max(1);
    let mut app = App::new(&format!("sipht-{tasks}"), seed);
    let genomes = app.input("genomes.tar", fixed(2.5e8))?;
    for patsers in split(tasks - 12 * groups, groups) {
        let mut hits = Vec::with_capacity(patsers);
        for _ in 0..patsers {
            let task = app.task(&kind("Patser", law(1.2, 0.3, 0.79, 1.7)))?;
            app.own_input(task, "matrix", law(1.77e6, 2.9e6, 14.0, 6.9e6))?;
            hits.push(app.output(task, "out", law(9.1e4, 2.7e4, 4.7e4, 1.36e5))?);
        }
        let hits = app.step(&kind("Patser_concate", fixed(0.1)), &hits, ("out", fixed(1.55e6)))?;
        let mut search = |name, seconds: f64, bytes: f64| {
            let seconds = law(seconds, seconds * 0.1, seconds * 0.7, seconds * 1.4);
            app.step(&kind(name, seconds), &[genomes], ("out", fixed(bytes)))
        };
        let found = [
            search("Transterm", 44.5, 4.8e5)?,
            search("Findterm", 981.0, 4.1e7)?,
            search("RNAMotif", 47.5, 1.07e6)?,
            search("Blast", 2449.0, 3.16e6)?,
        ];
        let srna =
            app.step(&kind("SRNA", law(491.0, 50.0, 350.0, 680.0)), &found, ("out", fixed(6.9e6)))?;
        let mut follow = |name, seconds: f64, files: &[FileId], bytes: f64| {
            let seconds = law(seconds, seconds * 0.1, seconds * 0.7, seconds * 1.4);
            app.step(&kind(name, seconds), files, ("out", fixed(bytes)))
        };
        let parsed = follow("FFN_Parse", 1.55, &[srna], 9.6e5)?;
        let all = [
            hits,
            srna,
            follow("Blast_synteny", 33.0, &[srna, parsed], 1.2e6)?,
            follow("Blast_candidate", 6.0, &[srna], 1.5e4)?,
            follow("Blast_QRNA", 1466.0, &[srna, genomes], 3.6e6)?,
            follow("Blast_paralogues", 3.5, &[srna], 3.6e5)?,
        ];
        follow("SRNA_annotate", 2.2, &all, 1.1e6)?;
    }
    app.finish()
}

pub(crate) const GENOME: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(17, 1 << 28),
        "82",
        "number of tasks; 16 per chromosome and its individuals",
    )
    .published("52 to 902"),
    Parameter::new(
        "chromosomes",
        Kind::Count(1, 1 << 20),
        "auto",
        "chromosomes; auto: one per 41 tasks",
    )
    .published("2 to 22"),
];

const POPULATIONS: [(&str, f64, f64, f64); 7] = [
    ("AFR", 8088.0, 1.474e5, 2.770e5),
    ("ALL", 2.8e4, 1.699e5, 2.928e5),
    ("AMR", 4248.0, 1.451e5, 2.632e5),
    ("EAS", 4896.0, 1.454e5, 2.697e5),
    ("EUR", 5312.0, 1.446e5, 2.707e5),
    ("GBR", 856.0, 1.397e5, 2.239e5),
    ("SAS", 5248.0, 1.463e5, 2.683e5),
];

/// 1000Genome: individuals of a chromosome, merged; overlaps and frequencies per population.
pub(crate) fn genome(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let near = ((tasks as f64 / 41.0).round() as usize).max(1);
    let chromosomes = s.maybe_count("chromosomes").unwrap_or(near).min(tasks / 17).max(1);
    let mut app = App::new(&format!("1000genome-{tasks}"), seed);
    let columns = app.input("columns.txt", fixed(2.008e4))?;
    let mut groups = Vec::with_capacity(POPULATIONS.len());
    for (name, bytes, ..) in POPULATIONS {
        groups.push(app.input(name, fixed(bytes))?);
    }
    for (chromosome, count) in split(tasks - 16 * chromosomes, chromosomes).enumerate() {
        let variants =
            app.input(&format!("ALL.chr{}.vcf", chromosome + 1), law(2.54e9, 2.4e5, 2.5e9, 2.6e9))?;
        let mut parts = Vec::with_capacity(count);
        for _ in 0..count {
            let task = kind("individuals", law(57.2, 6.3, 50.3, 89.1));
            parts.push(app.step(
                &task,
                &[variants, columns],
                ("tar.gz", law(2.8e4, 315.0, 2.75e4, 2.91e4)),
            )?);
        }
        let merge = kind("individuals_merge", law(97.8, 7.4, 87.9, 114.0));
        let merged = app.step(&merge, &parts, ("tar.gz", law(2.48e4, 318.0, 2.43e4, 2.53e4)))?;
        let task = app.task(&kind("sifting", law(4.5, 2.7, 1.0, 10.0)))?;
        app.own_input(task, "sites.vcf", law(8.93e8, 4e8, 2.7e8, 1.71e9))?;
        let sifted = app.output(task, "txt", law(9e5, 4.3e5, 2.3e5, 2.13e6))?;
        for (&group, (_, _, overlap, frequency)) in groups.iter().zip(POPULATIONS) {
            let files = [merged, sifted, columns, group];
            let task = kind("mutation_overlap", law(9.5, 11.9, 1.6, 58.3));
            app.step(&task, &files, ("tar.gz", law(overlap, overlap * 0.01, 0.0, f64::MAX)))?;
            let task = kind("frequency", law(118.0, 13.9, 91.4, 152.0));
            app.step(&task, &files, ("tar.gz", law(frequency, frequency * 0.01, 0.0, f64::MAX)))?;
        }
    }
    app.finish()
}

pub(crate) const BLAST: &[Parameter] = &[Parameter::new(
    "tasks",
    Kind::Count(4, 1 << 28),
    "103",
    "number of tasks; three of them split and gather",
)
.published("43 to 303")];

/// BLAST: a split, searches in one data base, two gatherers.
pub(crate) fn blast(s: &Values, seed: Seed) -> Result<Workflow> {
    let searches = s.count("tasks")? - 3;
    let mut app = App::new(&format!("blast-{}", searches + 3), seed);
    let base = app.input("nt", fixed(5.113e9))?;
    let program = app.input("blastall", fixed(7688.0))?;
    let split = app.task(&kind("split_fasta", fixed(0.93)))?;
    app.own_input(split, "fasta", fixed(202.0 * searches as f64))?;
    let (mut out, mut err) = (Vec::with_capacity(searches), Vec::with_capacity(searches));
    for part in 0..searches {
        let piece = app.output(split, &format!("part{part}"), fixed(202.0))?;
        let task = app.task(&kind("blastall", law(105.0, 4.3, 91.6, 114.0)))?;
        app.reads(task, &[piece, base, program]);
        out.push(app.output(task, "out", law(586.0, 103.0, 401.0, 989.0))?);
        err.push(app.output(task, "err", fixed(0.0))?);
    }
    let n = searches as f64;
    app.step(&kind("cat_blast", fixed(0.0148 * n)), &out, ("out", fixed(556.0 * n)))?;
    app.step(&kind("cat", fixed(7.3e-5 * n)), &err, ("err", fixed(0.0)))?;
    app.finish()
}

pub(crate) const BWA: &[Parameter] = &[Parameter::new(
    "tasks",
    Kind::Count(5, 1 << 28),
    "104",
    "number of tasks; four of them prepare and gather",
)
.published("104 to 1004")];

/// BWA: an index and a split, alignments that need both, two gatherers.
pub(crate) fn bwa(s: &Values, seed: Seed) -> Result<Workflow> {
    let count = s.count("tasks")? - 4;
    let mut app = App::new(&format!("bwa-{}", count + 4), seed);
    let reference = app.input("ref.fastq", fixed(2.048e6))?;
    let program = app.input("bwa", fixed(1445.0))?;
    let index = app.task(&kind("bwa_index", law(1130.0, 50.0, 900.0, 1300.0)))?;
    app.reads(index, &[reference, program]);
    let mut shared = vec![reference, program];
    for (label, bytes) in
        [("bwt", 1e6), ("pac", 2.5e5), ("ann", 6.167e4), ("amb", 1.0), ("sa", 5e5)]
    {
        shared.push(app.output(index, label, fixed(bytes))?);
    }
    let reduce = app.task(&kind("fastq_reduce", law(3.7, 0.3, 2.5, 5.0)))?;
    app.own_input(reduce, "query.fastq", fixed(248.0 * count as f64))?;
    let (mut sam, mut err) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for part in 0..count {
        let piece = app.output(reduce, &format!("part{part}"), law(248.8, 0.7, 242.0, 249.0))?;
        let task = app.task(&kind("bwa", law(11.65, 6.1, 2.55, 29.0)))?;
        app.reads(task, &[piece]);
        app.reads(task, &shared);
        sam.push(app.output(task, "sam", law(5.208e4, 6.6, 5.19e4, 5.21e4))?);
        err.push(app.output(task, "err", fixed(1.0))?);
    }
    let n = count as f64;
    app.step(&kind("cat_bwa", fixed(0.496 * n)), &sam, ("sam", fixed(354.0 * n)))?;
    app.step(&kind("cat", fixed(6.5e-5 * n)), &err, ("err", fixed(0.13 * n)))?;
    app.finish()
}

pub(crate) const SOYKB: &[Parameter] = &[
    Parameter::new(
        "tasks",
        Kind::Count(14, 1 << 28),
        "96",
        "number of tasks; S (6 + C) + C + 6 for S samples on C chromosomes, the nearest",
    )
    .published("96 to 676"),
    Parameter::new("samples", Kind::Count(1, 1 << 28), "auto", "samples S of two fastq files each")
        .published("5 to 25"),
    Parameter::new("chromosomes", Kind::Count(1, 1 << 20), "auto", "chromosomes C; auto: up to 20")
        .published("10, 20"),
];

/// Samples and chromosomes whose number of tasks is nearest; the more chromosomes the better.
fn samples_and_chromosomes(s: &Values) -> Result<(usize, usize)> {
    let tasks = s.count("tasks")?;
    let size = |samples: usize, c: usize| samples * (6 + c) + c + 6;
    let samples_for = |c: usize| {
        let exact = tasks.saturating_sub(c + 6) as f64 / (6 + c) as f64;
        s.maybe_count("samples").unwrap_or((exact.round() as usize).max(1))
    };
    let chromosomes = s.maybe_count("chromosomes").unwrap_or_else(|| {
        let miss = |&c: &usize| (size(samples_for(c), c).abs_diff(tasks), 20 - c);
        // Chromosomes on the scale of the samples, as in the traces.
        let most = ((tasks as f64).sqrt().ceil() as usize).clamp(1, 20);
        (most.div_ceil(2)..=most).min_by_key(miss).unwrap_or(1)
    });
    Ok((samples_for(chromosomes), chromosomes))
}

/// SoyKB: six steps per sample, variants per sample and chromosome, then per chromosome.
pub(crate) fn soykb(s: &Values, seed: Seed) -> Result<Workflow> {
    let (samples, chromosomes) = samples_and_chromosomes(s)?;
    let tasks = samples * (6 + chromosomes) + chromosomes + 6;
    let mut app = App::new(&format!("soykb-{tasks}"), seed);
    let software = app.input("software.tar.gz", fixed(1.09e8))?;
    let mut genome = vec![software];
    for (name, bytes) in [
        ("fa", 9.907e8),
        ("fa.bwt", 9.785e8),
        ("fa.sa", 4.892e8),
        ("fa.pac", 2.446e8),
        ("dict", 1.426e5),
    ] {
        genome.push(app.input(&format!("Gmax.{name}"), fixed(bytes))?);
    }
    let mut by_chromosome: Vec<Vec<FileId>> = vec![Vec::with_capacity(samples); chromosomes];
    for _ in 0..samples {
        let align = app.task(&kind("alignment_to_reference", law(60.7, 3.7, 53.2, 64.1)))?;
        app.own_input(align, "1.fastq", fixed(2.384e4))?;
        app.own_input(align, "2.fastq", fixed(2.384e4))?;
        app.reads(align, &genome);
        let reads = app.output(align, "sam", fixed(1.126e5))?;
        let bam = |bytes| ("bam", fixed(bytes));
        let sorted = app.step(
            &kind("sort_sam", law(67.8, 13.7, 29.8, 80.2)),
            &[reads, software],
            bam(1.64e5),
        )?;
        let unique =
            app.step(&kind("dedup", law(72.3, 6.7, 52.2, 75.8)), &[sorted, software], bam(1.65e5))?;
        let named = app.step(
            &kind("add_replace", law(73.8, 6.7, 57.2, 80.6)),
            &[unique, software],
            bam(1.65e5),
        )?;
        let with_genome = |files: &[FileId]| [files, &genome].concat();
        let target = kind("realign_target_creator", law(157.0, 11.6, 141.0, 178.0));
        let intervals = app.step(&target, &with_genome(&[named]), ("list", fixed(40.0)))?;
        let realign = kind("indel_realign", law(107.0, 16.2, 64.1, 125.0));
        let realigned = app.step(&realign, &with_genome(&[named, intervals]), bam(1.67e5))?;
        for variants in &mut by_chromosome {
            let caller = kind("haplotype_caller", law(105.8, 39.8, 30.0, 217.0));
            let output = ("vcf", law(8.83e4, 3.6e3, 8.7e4, 1.05e5));
            variants.push(app.step(&caller, &with_genome(&[realigned]), output)?);
        }
    }
    let everything = [by_chromosome.concat(), genome.clone()].concat();
    let merge = kind("merge_gcvf", fixed(75.7 * (samples * chromosomes) as f64));
    app.step(&merge, &everything, ("vcf", fixed(2.8e5)))?;
    let mut calls = genome.clone();
    for variants in &by_chromosome {
        let files = [variants.as_slice(), &genome].concat();
        let genotype = kind("genotype_gvcfs", law(710.0, 165.0, 291.0, 899.0));
        calls.push(app.step(&genotype, &files, ("vcf", law(9.1e4, 4.8e3, 8.9e4, 1.12e5)))?);
    }
    let combined =
        app.step(&kind("combine_variants", fixed(47.0)), &calls, ("vcf", fixed(8.77e4)))?;
    for (select, filter, bytes) in [
        ("select_variants_snp", "filtering_snp", 8.66e4),
        ("select_variants_indel", "filtering_indel", 7.28e4),
    ] {
        let files = [&[combined], genome.as_slice()].concat();
        let selected =
            app.step(&kind(select, law(89.0, 2.0, 80.0, 95.0)), &files, ("vcf", fixed(bytes)))?;
        let files = [&[selected], genome.as_slice()].concat();
        app.step(&kind(filter, law(35.2, 1.0, 30.0, 40.0)), &files, ("vcf", fixed(bytes * 1.03)))?;
    }
    app.finish()
}

pub(crate) const SRASEARCH: &[Parameter] = &[Parameter::new(
    "tasks",
    Kind::Count(4, 1 << 28),
    "104",
    "number of tasks; 2 A + 1 for A accessions and their merges, 25 each, the nearest",
)
.published("22 to 104")];

/// SRASearch: downloads, searches against one index, merges of 25.
pub(crate) fn srasearch(s: &Values, seed: Seed) -> Result<Workflow> {
    let tasks = s.count("tasks")?;
    let merges = |a: usize| match a.div_ceil(25) {
        1 => 1,
        several => several + 1,
    };
    let size = |a: usize| 2 * a + 1 + merges(a);
    let guess = ((tasks as f64 - 2.0) / 2.04).round().max(1.0) as usize;
    let near = guess.saturating_sub(3).max(1)..=guess + 3;
    let accessions = near.min_by_key(|&a| size(a).abs_diff(tasks)).unwrap_or(1);
    let mut app = App::new(&format!("srasearch-{}", size(accessions)), seed);
    let build = app.task(&kind("bowtie2-build", law(12.0, 5.0, 6.3, 17.5)))?;
    app.own_input(build, "reference.fna", fixed(9.872e4))?;
    let mut index = Vec::with_capacity(6);
    for (part, bytes) in [2.4e4, 17.0, 4.227e6, 2.43e4, 2.43e4, 4.227e6].into_iter().enumerate() {
        index.push(app.output(build, &format!("bt{part}"), fixed(bytes))?);
    }
    let mut found = Vec::with_capacity(accessions);
    for _ in 0..accessions {
        let dump = app.task(&kind("fasterq-dump", law(1271.0, 658.0, 7.7, 2750.0)))?;
        let size = law(6.9e8, 3.4e8, 1.05e6, 1.98e9);
        let mut files =
            vec![app.output(dump, "1.fastq", size)?, app.output(dump, "2.fastq", size)?];
        files.extend_from_slice(&index);
        let search = kind("bowtie2", law(46.4, 18.5, 4.4, 112.0));
        found.push(app.step(&search, &files, ("bam", fixed(316.0)))?);
    }
    let merge = kind("merge", law(0.21, 0.115, 0.05, 0.3));
    let mut merged = Vec::new();
    for group in found.chunks(25) {
        merged.push(app.step(&merge, group, ("tar.gz", fixed(237.0 * group.len() as f64)))?);
    }
    if merged.len() > 1 {
        app.step(&merge, &merged, ("tar.gz", fixed(208.0 * accessions as f64)))?;
    }
    app.finish()
}
