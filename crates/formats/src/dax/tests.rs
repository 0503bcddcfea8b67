use super::{read, write};
use crate::document::Document;
use slackline_model::{EdgeId, TaskId};

fn fails(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

fn round_trip(document: &Document) -> Document {
    let mut out = Vec::new();
    write(document, &mut out).unwrap();
    read(&String::from_utf8(out).unwrap()).unwrap()
}

const DAX_2: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- made up -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="fits">
  <job id="A" namespace="M" name="diff" version="1.0" runtime="13.39">
    <uses file="in" link="input" size="100"/>
    <uses file="fit.txt" link="output" size="272"/>
  </job>
  <job id="B" name="diff" runtime="0.5"><uses file="fit.txt" link="output" size="282"/></job>
  <job id="C" name="concat" runtime="1">
    <argument>-n 2 <filename file="fit.txt"/></argument>
    <profile namespace="pegasus" key="cores">4</profile>
    <profile namespace="pegasus" key="memory">2</profile>
    <uses file="fit.txt" link="input" size="272"/>
    <uses file="log" link="inout" size="5"/>
  </job>
  <child ref="C"><parent ref="A"/><parent ref="B"/></child>
</adag>"#;

#[test]
fn reads_the_classic_dialect() {
    let document = read(DAX_2).unwrap();
    let w = &document.workflow;
    assert_eq!((w.name(), w.len(), w.edge_count()), ("fits", 3, 2));
    let names: Vec<_> = w.files().map(|f| w.file_name(f).to_string()).collect();
    assert_eq!(names, ["in", "fit.txt#A", "fit.txt#B", "log"]);
    assert_eq!((w.edge_bytes(EdgeId(0)), w.edge_bytes(EdgeId(1))), (272.0, 282.0));
    let c = w.task(TaskId(2));
    assert_eq!((c.kind.as_str(), c.min_width, c.max_width), ("concat", 4, 4));
    assert_eq!(c.memory, 2.0 * 1048576.0);
    assert_eq!(c.command.unwrap().arguments, ["-n", "2", "fit.txt"]);
    assert_eq!(w.work(TaskId(0)), 13.39 * 1e9);
    assert!(document.warnings.is_empty());
}

#[test]
fn writes_what_it_reads() {
    let document = read(DAX_2).unwrap();
    assert_eq!(round_trip(&document), document);
}

#[test]
fn streams_are_joined_by_a_shell() {
    let text = r#"<adag><job id="a" name="tr" runtime="1"><argument>x y</argument><stdin name="in"/><stdout name="o u" link="output"/>
      <stderr file="e"/></job></adag>"#;
    let command = read(text).unwrap().workflow.task(TaskId(0)).command.unwrap();
    assert_eq!(command.shell_line(), Some("exec 'tr' 'x' 'y' < 'in' > 'o u' 2> 'e'"));
}

#[test]
fn reads_version_3() {
    let text = r#"<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="3.6" name="x">
      <file name="f.a"><metadata key="size">77</metadata><pfn url="file:///f.a" site="local"/></file>
      <executable name="pre" installed="true"><pfn url="file:///bin/pre" site="local"/></executable>
      <job id="ID1" namespace="n" name="pre">
        <argument>-i <file name="f.a"/> -o <file name="f b"/></argument>
        <profile namespace="pegasus" key="runtime">60</profile>
        <uses name="f.a" link="input"/>
        <uses name="f b" link="output" transfer="false"><metadata key="size">9</metadata></uses>
        <invoke when="on_end">/bin/mail</invoke>
      </job>
      <dax id="ID2" file="sub.dax"><uses name="f b" link="input"/></dax>
      <child ref="ID2"><parent ref="ID1" edge-label="e"/></child>
    </adag>"#;
    let document = read(text).unwrap();
    let w = &document.workflow;
    assert_eq!(w.work(TaskId(0)), 60e9);
    let command = w.command(TaskId(0)).unwrap();
    assert_eq!(command.arguments, ["-i", "f.a", "-o", "f b"]);
    assert_eq!(command.program, "/bin/pre");
    assert_eq!(w.kind_name(w.kind(TaskId(1))), "dax");
    assert_eq!(w.file_bytes(slackline_model::FileId(0)), 77.0);
    assert_eq!(w.edge_bytes(EdgeId(0)), 9.0);
    assert_eq!(document.warnings, ["1 of 2 jobs have no runtime: their work is 0"]);
}

#[test]
fn dependencies_may_come_first() {
    let text = r#"<adag><child ref="b"><parent ref="a"/></child>
      <job id="a" name="" runtime="1"/><job id="b" name="" runtime="1"/></adag>"#;
    assert_eq!(read(text).unwrap().workflow.edge_count(), 1);
}

#[test]
fn bad_documents_are_placed_and_explained() {
    let job = |inside: &str| format!("<adag>\n <job id='a' runtime='1'>{inside}</job></adag>");
    for (text, expected) in [
        ("<adag>".to_string(), "ends inside"),
        ("<adag/>".into(), "no tasks"),
        ("<graph/>".into(), "begins with <adag>"),
        (String::new(), "no <adag>"),
        ("<adag><job runtime='1'/></adag>".into(), "without id"),
        ("<adag>\n<job id='a' runtime='x'/></adag>".into(), "line 2, column 1: the runtime"),
        ("<adag>\n<job id='a' cores='0'/></adag>".into(), "line 2, column 1: cores must be"),
        ("<adag><job id='a' runtime='NaN'/></adag>".into(), "not 'NaN'"),
        ("<adag><job id='a' runtime='1e999'/></adag>".into(), "finite"),
        ("<adag><job id='a'/><job id='a'/></adag>".into(), "two tasks are named 'a'"),
        (job("<uses file='x' link='sideways'/>"), "not 'sideways'"),
        (job("<uses file='x' link='input' size='x'/>"), "size of a file"),
        (job("<uses link='input'/>"), "without a file name"),
        (job("<profile namespace='pegasus' key='cores'>0</profile>"), "cores"),
        (
            job("</job><child ref='a'><parent ref='z'/></child><job id='b'>"),
            "no job has the id 'z'",
        ),
        (job("</job><child ref='a'><parent ref='a'/></child><job id='b'>"), "its own parent"),
        (job("</job><child ref='a'><parent/></child><job id='b'>"), "without ref"),
    ] {
        let message = fails(&text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    let circle = "<adag><job id='a'/><job id='b'/><child ref='a'><parent ref='b'/></child>\
                  <child ref='b'><parent ref='a'/></child></adag>";
    assert!(fails(circle).contains("circle: "), "{}", fails(circle));
}

#[test]
fn negative_sizes_are_counted_and_taken_as_nothing() {
    let document = read(
        "<adag><job id='a' runtime='1'><uses file='x' link='output' size='-7'/>\
         <uses file='y' link='output' size='-1'/></job>\
         <job id='b' runtime='1'><uses file='x' link='input' size='-7'/></job></adag>",
    )
    .unwrap();
    assert_eq!(document.warnings, ["2 files have a negative size, which is taken as 0"]);
    let workflow = &document.workflow;
    assert!(workflow.files().all(|f| workflow.file_bytes(f) == 0.0));
}

#[test]
fn negative_times_count_as_nothing_and_cores_are_read() {
    let document = read(
        "<adag><job id='a' runtime='-7' cores='4'/>\
         <job id='b'><profile namespace='pegasus' key='runtime'>-2</profile>\
         <profile namespace='condor' key='request_cpus'>2</profile></job></adag>",
    )
    .unwrap();
    let w = &document.workflow;
    assert_eq!(document.warnings, ["2 jobs have a negative run time, which is taken as 0"]);
    let tasks = || w.tasks();
    assert_eq!(tasks().map(|t| w.width(t)).collect::<Vec<_>>(), [(4, 4), (2, 2)]);
    assert!(tasks().all(|t| w.work(t) == 0.0));
}
