//! Rows for links, where a method plans what they carry one by one.

use crate::chart::{Bar, Category, Chart, Group, Look};
use slackline_model::{LinkId, Problem, Schedule};

impl Chart {
    /// Adds a row per link with its planned transfers, under the rows of the hosts.
    pub(crate) fn with_link_rows(mut self, problem: &Problem<'_>, schedule: &Schedule) -> Chart {
        let platform = problem.platform();
        let mut links: Vec<LinkId> = schedule.transfers.iter().filter_map(|t| t.link).collect();
        links.sort_unstable();
        links.dedup();
        if links.is_empty() {
            return self;
        }
        let first = self.rows() as u32;
        for &link in &links {
            let name = format!("link {}", platform.link(link).name);
            self.groups.push(Group { name, section: "links".to_string(), rows: 1 });
        }
        let workflow = problem.workflow();
        let is_result = |file| workflow.producer(file).is_some();
        let category = self.categories.len() as u16;
        for (name, results) in [("inputs sent", false), ("results sent", true)] {
            let counted = schedule.transfers.iter().filter(|t| is_result(t.file) == results);
            let (name, count) = (name.to_string(), counted.count());
            self.categories.push(Category { name, count, rest: false });
        }
        self.ordered = false;
        for transfer in &schedule.transfers {
            let Some(row) = transfer.link.and_then(|link| links.binary_search(&link).ok()) else {
                continue;
            };
            let row = first + row as u32;
            self.bars.push(Bar {
                rows: row..row + 1,
                start: transfer.start,
                finish: transfer.finish,
                category: category + u16::from(is_result(transfer.file)),
                look: Look::Work,
                label: self.labels.push(&workflow.file_label(transfer.file)) as u32,
            });
        }
        self
    }
}
