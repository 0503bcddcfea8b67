use super::*;

fn line(number: u64, submit: i64, run: i64, cores: i64, limit: i64) -> String {
    format!("{number} {submit} -1 {run} {cores} -1 -1 {cores} {limit} -1 1 7 8 -1 9 -1 -1 -1\n")
}

#[test]
fn swf_takes_requests_before_what_was_used() {
    let text = "; MaxProcs: 64\n\n2 9 3 50 4 -1 -1 -1 -1 -1 1 1 2 -1 3 -1 -1 -1\r\n\
                1\t5 -1 50 4 -1 -1 8 60 -1 1 1 2 -1 3 -1 -1 -1 \n\
                3 9 -1 -1 -1 -1 -1 -1 60 -1 5 1 2 -1 3 -1 -1 -1\n";
    let log = parse(text, Wrong::Refuse).unwrap();
    let jobs: Vec<_> = log.jobs.iter().map(|j| (j.number, j.cores, j.limit, j.start)).collect();
    assert_eq!(jobs, [(1, 8, 60.0, None), (2, 4, 50.0, Some(12.0))]);
    assert_eq!((log.cancelled, log.out_of_order, log.machine_cores), (vec![3], 1, Some(64)));
    assert_eq!(
        (&log.users[0], &log.groups[0], &log.queues[0]),
        (&"1".into(), &"2".into(), &"3".into())
    );
}

#[test]
fn wrong_lines_have_number_and_cause() {
    let good = line(1, 0, 10, 2, 20);
    for (wrong, cause) in [
        ("2 0 -1".to_string(), "fields missing"),
        (good.trim_end().to_string() + " 1\n", "too many fields"),
        (good.replace(" 10 ", " inf "), "not a number"),
        (good.clone(), "job number twice"),
        (line(2, -1, 10, 2, 20), "no submit time"),
        (line(2, 0, -1, 2, 20), "no run time"),
        (line(2, 0, 10, 0, 20), "no processors"),
    ] {
        let text = format!("{good};\n{wrong}");
        let error = parse(&text, Wrong::Refuse).unwrap_err().to_string();
        assert!(error.contains(cause) && error.contains('3'), "{error}");
        let log = parse(&text, Wrong::Skip).unwrap();
        assert_eq!(log.skipped, [SkippedLine { line: 3, cause: cause.to_string() }]);
        assert_eq!(log.jobs.len(), 1);
    }
}

const SACCT: &str = "\
JobIDRaw|User|Account|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|State
7|ann|phys|short|2024-02-29T23:59:00|2024-03-01T00:00:00|2024-03-01T00:00:30|30|2|4|COMPLETED
7.batch||phys||2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-01T00:00:30|30||4|COMPLETED
8|bob|phys|short|2024-02-29T23:59:01|None|2024-03-01T00:00:30|0|2|4|CANCELLED by 12
9|bob|phys|short|2024-02-29T23:58:01|Unknown|Unknown|0|2|4|PENDING
10|bob|phys|short|2024-02-29T23:59:02|2024-03-01T00:00:00|2024-03-01T00:01:00|60|UNLIMITED|4|FAILED
";

#[test]
fn sacct_has_jobs_steps_and_dates() {
    let log = parse(SACCT, Wrong::Refuse).unwrap();
    let jobs: Vec<_> = log.jobs.iter().map(|j| (j.number, j.run, j.limit)).collect();
    assert_eq!(jobs, [(7, 30.0, 120.0), (10, 60.0, 60.0)]);
    assert_eq!((&log.cancelled, &log.not_ended, log.out_of_order), (&vec![8], &vec![9], 1));
    assert_eq!(log.date_text(log.jobs[0].submit + 60.5), "2024-03-01T00:00:00.5");
}

#[test]
fn cut_off_accounting_is_refused() {
    let cut = &SACCT[..SACCT.len() - 25];
    let error = parse(cut, Wrong::Refuse).unwrap_err().to_string();
    assert!(error.contains("fields missing") && error.contains('6'), "{error}");
    let log = parse(cut, Wrong::Skip).unwrap();
    assert_eq!((log.jobs.len(), log.skipped[0].line), (1, 6));
    let error = parse(&SACCT.replace("ElapsedRaw", "Elapsed"), Wrong::Refuse).unwrap_err();
    assert!(error.to_string().contains("ElapsedRaw"), "{error}");
}

#[test]
fn calendar_dates_survive() {
    for text in ["1970-01-01T00:00:00", "2000-02-29T12:34:56", "2100-12-31T23:59:59"] {
        assert_eq!(sacct::calendar(sacct::seconds(text).unwrap()), text);
    }
    assert_eq!(sacct::seconds("1970-01-02T00:00:01"), Some(86401.0));
    for text in ["2023-02-29T00:00:00", "2024-1-01T00:00:00", "None", "2024-01-01T24:00:00"] {
        assert_eq!(sacct::seconds(text), None, "{text}");
    }
}
