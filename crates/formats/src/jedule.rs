//! Jedule schedules (Hunold, Hoffmann, Suter, "Jedule: A Tool for Visualizing Schedules of
//! Parallel Applications", PSTI 2010), XML; written.
//!
//! Two dialects: the hierarchical one of SimGrid's binding ([`write()`]), in which resources are in the tree of
//! zones and are named by their path from the root (`0.1.[0-3]`), and the flat one of the original tool
//! ([`write_flat`]), in which every zone with machines is a cluster of numbered hosts. A resource is one
//! processor (core); planned transfers are events too, on the processors at both ends of the transfer.

use crate::error::Result;
use crate::xml::escaped;
use slackline_model::schedule::PlannedTransfer;
use slackline_model::{Problem, ProcId, Schedule, TaskId, ZoneId};
use std::io::Write;

/// Something that occupies processors for a while.
struct Event {
    name: String,
    start: f64,
    finish: f64,
    procs: Vec<ProcId>,
    /// Kind of the task; none for transfers.
    kind: Option<String>,
}

fn events(problem: &Problem<'_>, schedule: &Schedule) -> Vec<Event> {
    let workflow = problem.workflow();
    let tasks = workflow.tasks().filter_map(|task| {
        let placement = schedule.placement(task)?;
        Some(Event {
            name: workflow.task_name(task).to_string(),
            start: placement.start,
            finish: placement.finish,
            procs: placement.procs().to_vec(),
            kind: Some(workflow.kind_name(workflow.kind(task)).to_string()),
        })
    });
    let transfers = schedule.transfers.iter().map(|transfer| Event {
        name: workflow.file_label(transfer.file),
        start: transfer.start,
        finish: transfer.finish,
        procs: ends(problem, schedule, transfer),
        kind: None,
    });
    tasks.chain(transfers).collect()
}

/// The processors of the tasks that write and read a file on the hosts at both ends of its
/// transfer.
fn ends(problem: &Problem<'_>, schedule: &Schedule, transfer: &PlannedTransfer) -> Vec<ProcId> {
    let workflow = problem.workflow();
    let writer: Vec<TaskId> = workflow.producer(transfer.file).into_iter().collect();
    let readers: Vec<TaskId> = workflow.consumers(transfer.file).collect();
    let mut procs: Vec<ProcId> = Vec::new();
    for (tasks, host) in [(writer, transfer.from), (readers, transfer.to)] {
        let before = procs.len();
        for task in tasks {
            let placed = schedule.placement(task).map_or(&[][..], |placement| placement.procs());
            procs.extend(placed.iter().copied().filter(|&proc| problem.host_of(proc) == host));
        }
        if procs.len() == before {
            procs.extend(problem.procs_of(host).next().map(ProcId));
        }
    }
    procs.sort_unstable();
    procs.dedup();
    procs
}

/// Processors in the order of their zones: the position and the zone of each.
struct Resources {
    zone_of: Vec<ZoneId>,
    /// Position among the processors of the same zone.
    rank: Vec<u32>,
    members: Vec<Vec<ProcId>>,
}

impl Resources {
    fn of(problem: &Problem<'_>) -> Resources {
        let platform = problem.platform();
        let mut members: Vec<Vec<ProcId>> = vec![Vec::new(); platform.zones().len()];
        let (mut zone_of, mut rank) = (Vec::new(), Vec::new());
        for proc in problem.proc_ids() {
            let zone = platform.host(problem.host_of(proc)).zone;
            zone_of.push(zone);
            rank.push(members[zone.index()].len() as u32);
            members[zone.index()].push(proc);
        }
        Resources { zone_of, rank, members }
    }

    /// Ranges of neighbours: (zone, first rank, last rank).
    fn ranges(&self, procs: &[ProcId]) -> Vec<(ZoneId, u32, u32)> {
        let mut places: Vec<(ZoneId, u32)> =
            procs.iter().map(|p| (self.zone_of[p.index()], self.rank[p.index()])).collect();
        places.sort_unstable();
        let mut ranges: Vec<(ZoneId, u32, u32)> = Vec::new();
        for (zone, rank) in places {
            match ranges.last_mut() {
                Some((last_zone, _, end)) if *last_zone == zone && *end + 1 == rank => *end = rank,
                _ => ranges.push((zone, rank, rank)),
            }
        }
        ranges
    }
}

/// Writes the hierarchical dialect.
pub fn write(problem: &Problem<'_>, schedule: &Schedule, out: &mut dyn Write) -> Result<()> {
    let resources = Resources::of(problem);
    let platform = problem.platform();
    // Path of child positions from the root, which is "0".
    let mut paths: Vec<String> = Vec::new();
    let mut children: Vec<Vec<ZoneId>> = vec![Vec::new(); platform.zones().len()];
    for (index, zone) in platform.zones().iter().enumerate() {
        paths.push(match zone.parent {
            None => "0".to_string(),
            Some(parent) => {
                let siblings = &mut children[parent.index()];
                siblings.push(ZoneId::new(index));
                format!("{}.{}", paths[parent.index()], siblings.len() - 1)
            }
        });
    }
    writeln!(out, "<jedule>\n  <jedule_meta>")?;
    write_prop(out, 4, "workflow", problem.workflow().name())?;
    write_prop(out, 4, "makespan", &schedule.makespan().to_string())?;
    writeln!(out, "  </jedule_meta>\n  <platform>")?;
    Tree { problem, resources: &resources, paths: &paths, children: &children }.write(
        ZoneId(0),
        2,
        out,
    )?;
    writeln!(out, "  </platform>\n  <events>")?;
    for event in events(problem, schedule) {
        writeln!(out, "    <event>")?;
        write_prop(out, 6, "name", &event.name)?;
        write_prop(out, 6, "start", &event.start.to_string())?;
        write_prop(out, 6, "end", &event.finish.to_string())?;
        write_prop(out, 6, "type", "SD")?;
        writeln!(out, "      <res_util>")?;
        for (zone, first, last) in resources.ranges(&event.procs) {
            let path = &paths[zone.index()];
            writeln!(out, "        <select resources=\"{path}.[{first}-{last}]\"/>")?;
        }
        writeln!(out, "      </res_util>\n      <characteristics>")?;
        let kind = event.kind.as_deref().unwrap_or("transfer");
        if !kind.is_empty() {
            writeln!(out, "        <characteristic name=\"{}\"/>", escaped(kind)?)?;
        }
        writeln!(out, "      </characteristics>\n      <info>")?;
        write_prop(out, 8, "processors", &event.procs.len().to_string())?;
        writeln!(out, "      </info>\n    </event>")?;
    }
    writeln!(out, "  </events>\n</jedule>")?;
    Ok(())
}

/// The platform as nested resources.
struct Tree<'a> {
    problem: &'a Problem<'a>,
    resources: &'a Resources,
    paths: &'a [String],
    children: &'a [Vec<ZoneId>],
}

impl Tree<'_> {
    fn write(&self, zone: ZoneId, depth: usize, out: &mut dyn Write) -> Result<()> {
        let indent = "  ".repeat(depth);
        let name = &self.problem.platform().zone(zone).name;
        writeln!(out, "{indent}<res name=\"{}\">", escaped(name)?)?;
        for &child in &self.children[zone.index()] {
            self.write(child, depth + 1, out)?;
        }
        let procs = &self.resources.members[zone.index()];
        if !procs.is_empty() {
            let names: Vec<String> = procs.iter().map(|&p| self.problem.proc_name(p)).collect();
            let names = names.join("|");
            let (path, count) = (&self.paths[zone.index()], procs.len());
            let names = escaped(&names)?;
            writeln!(out, "{indent}  <rset id=\"{path}\" nb=\"{count}\" names=\"{names}\"/>")?;
        }
        Ok(writeln!(out, "{indent}</res>")?)
    }
}

fn write_prop(out: &mut dyn Write, indent: usize, key: &str, value: &str) -> Result<()> {
    let value = escaped(value)?;
    Ok(writeln!(out, "{:indent$}<prop key=\"{key}\" value=\"{value}\"/>", "")?)
}

/// Writes the flat dialect.
pub fn write_flat(problem: &Problem<'_>, schedule: &Schedule, out: &mut dyn Write) -> Result<()> {
    let resources = Resources::of(problem);
    let clusters: Vec<usize> =
        (0..resources.members.len()).filter(|&z| !resources.members[z].is_empty()).collect();
    writeln!(out, "<grid_schedule>\n  <grid_info>")?;
    writeln!(out, "    <info name=\"nb_clusters\" value=\"{}\"/>\n    <clusters>", clusters.len())?;
    let mut first_host = 0;
    for (id, &zone) in clusters.iter().enumerate() {
        let hosts = resources.members[zone].len();
        writeln!(
            out,
            "      <cluster id=\"{id}\" hosts=\"{hosts}\" first_host=\"{first_host}\"/>"
        )?;
        first_host += hosts;
    }
    writeln!(out, "    </clusters>\n  </grid_info>\n  <node_infos>")?;
    for event in events(problem, schedule) {
        let kind = if event.kind.is_some() { "computation" } else { "transfer" };
        writeln!(out, "    <node_statistics>")?;
        for (name, value) in [
            ("id", event.name.as_str()),
            ("type", kind),
            ("start_time", &event.start.to_string()),
            ("end_time", &event.finish.to_string()),
        ] {
            let value = escaped(value)?;
            writeln!(out, "      <node_property name=\"{name}\" value=\"{value}\"/>")?;
        }
        let ranges = resources.ranges(&event.procs);
        for of_zone in ranges.chunk_by(|a, b| a.0 == b.0) {
            let zone = of_zone[0].0.index();
            let id = clusters.iter().position(|&z| z == zone).unwrap_or(0);
            let hosts: u32 = of_zone.iter().map(|&(_, first, last)| last - first + 1).sum();
            writeln!(out, "      <configuration>")?;
            writeln!(out, "        <conf_property name=\"cluster_id\" value=\"{id}\"/>")?;
            writeln!(out, "        <conf_property name=\"host_nb\" value=\"{hosts}\"/>")?;
            writeln!(out, "        <host_lists>")?;
            for &(_, first, last) in of_zone {
                let count = last - first + 1;
                writeln!(out, "          <hosts start=\"{first}\" nb=\"{count}\"/>")?;
            }
            writeln!(out, "        </host_lists>\n      </configuration>")?;
        }
        writeln!(out, "    </node_statistics>")?;
    }
    writeln!(out, "  </node_infos>\n</grid_schedule>")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule_csv::tests::{platform, workflow};
    use slackline_model::{FileId, HostId, Placement};

    fn written(dialect: fn(&Problem<'_>, &Schedule, &mut dyn Write) -> Result<()>) -> String {
        let (workflow, platform) = (workflow(), platform());
        let problem = Problem::new(&workflow, &platform).unwrap();
        let mut schedule = Schedule::start(&problem);
        schedule.place(TaskId(0), Placement::new(ProcId(2), 0.0, 1.0));
        schedule.place(TaskId(1), Placement::wide(&[ProcId(0), ProcId(1)], 3.0, 5.5));
        schedule.transfers.push(PlannedTransfer {
            file: FileId(0),
            from: HostId(1),
            to: HostId(0),
            link: None,
            start: 1.0,
            finish: 3.0,
        });
        let mut out = Vec::new();
        dialect(&problem, &schedule, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Every element is closed.
    fn well_formed(text: &str) {
        let mut reader = quick_xml::Reader::from_str(text);
        while !matches!(reader.read_event().unwrap(), quick_xml::events::Event::Eof) {}
    }

    #[test]
    fn resources_are_paths_in_the_tree_of_zones() {
        let text = written(write);
        well_formed(&text);
        for part in [
            "<prop key=\"makespan\" value=\"5.5\"/>",
            "<rset id=\"0.0\" nb=\"2\" names=\"big",
            "<rset id=\"0\" nb=\"1\" names=\"small\"/>",
            "<prop key=\"name\" value=\"b, &quot;x&quot;\"/>",
            "<select resources=\"0.0.[0-1]\"/>",
            "<select resources=\"0.[0-0]\"/>",
            "<characteristic name=\"k&lt;1&gt;\"/>",
            "<characteristic name=\"transfer\"/>",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(text.matches("<event>").count(), 3);
    }

    #[test]
    fn zones_with_machines_are_clusters() {
        let text = written(write_flat);
        well_formed(&text);
        for part in [
            "<info name=\"nb_clusters\" value=\"2\"/>",
            "<cluster id=\"0\" hosts=\"1\" first_host=\"0\"/>",
            "<cluster id=\"1\" hosts=\"2\" first_host=\"1\"/>",
            "<node_property name=\"type\" value=\"transfer\"/>",
            "<hosts start=\"0\" nb=\"2\"/>",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }
}
