//! The examples of docs/formats.md load.

use slackline_formats::{Format, instance, parse_workflow};
use std::path::Path;

/// The fenced blocks of a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let page = include_str!("../../../../docs/formats.md");
    let open = format!("```{language}\n");
    let starts = page.match_indices(&open).map(|(at, _)| at + open.len());
    starts.map(|at| page[at..].split("```").next().unwrap_or_default().to_string()).collect()
}

#[test]
fn the_workflow_toml_loads() {
    let text = blocks("toml").into_iter().find(|block| block.contains("[task.")).unwrap();
    assert_eq!(Format::detect(Some(Path::new("workflow.toml")), &text).unwrap(), Format::Toml);
    let document = parse_workflow(&text, None, None).unwrap();
    assert_eq!(document.warnings, [""; 0]);
    let w = document.workflow;
    assert_eq!((w.len(), w.edge_count()), (5, 7));
    let bytes = |from: &str, to: &str| {
        let (from, to) = (w.find_task(from).unwrap(), w.find_task(to).unwrap());
        w.successors(from).find(|&(child, _)| child == to).map(|(_, e)| w.edge_bytes(e))
    };
    // a.jpg and b.jpg of 2 MB each; faces.csv of 2 MB and 1 MB more; an ordering.
    assert_eq!(bytes("unpack", "faces"), Some(4e6));
    assert_eq!(bytes("faces", "publish"), Some(3e6));
    assert_eq!(bytes("unpack", "publish"), Some(0.0));
}

#[test]
fn the_instance_loads() {
    let text = blocks("json").into_iter().find(|block| block.contains("\"processors\"")).unwrap();
    let instance = instance::read(&text).unwrap();
    assert_eq!((instance.workflow.len(), instance.platform.hosts().len()), (2, 2));
}

#[test]
fn the_scenario_loads() {
    let text = blocks("toml").into_iter().find(|block| block.contains("[[host]]")).unwrap();
    let scenario = slackline_formats::scenario::parse_scenario(&text).unwrap();
    assert_eq!((scenario.hosts.len(), scenario.links.len(), scenario.arrivals.len()), (3, 1, 2));
    assert!(scenario.needs_makespan());
}
