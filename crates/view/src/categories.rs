//! Groups of tasks that share a colour: those of one kind, or of one depth where the workflow has
//! no kinds. The same for every picture of a workflow.

use crate::chart::Category;
use crate::palette;
use slackline_model::workflow::Shape;
use slackline_model::{KindId, TaskId, Workflow};

/// The legend of a workflow.
pub(crate) struct Categories {
    /// In order of the legend.
    pub(crate) list: Vec<Category>,
    /// Category of each task.
    pub(crate) of_task: Vec<u16>,
    /// Whether the categories are steps of an order.
    pub(crate) ordered: bool,
}

impl Categories {
    pub(crate) fn of(workflow: &Workflow) -> Categories {
        if workflow.members().len() > 1 {
            by_member(workflow)
        } else if workflow.kinds() > 1 || !workflow.kind_name(KindId(0)).is_empty() {
            by_kind(workflow)
        } else {
            by_depth(workflow)
        }
    }
}

fn by_depth(workflow: &Workflow) -> Categories {
    let shape = Shape::of(workflow);
    let steps = shape.depth().min(palette::ORDERED.len());
    let step_of = |level: usize| (level * steps / shape.depth().max(1)) as u16;
    let category = |step: usize| {
        let levels: Vec<usize> =
            (0..shape.depth()).filter(|&l| step_of(l) as usize == step).collect();
        let name = match levels.as_slice() {
            &[one] => format!("depth {}", one + 1),
            &[first, .., last] => format!("depth {}–{}", first + 1, last + 1),
            [] => String::new(),
        };
        let count = levels.iter().map(|&l| shape.widths[l] as usize).sum();
        Category { name, count, rest: false }
    };
    Categories {
        list: (0..steps).map(category).collect(),
        of_task: shape.level.iter().map(|&level| step_of(level as usize)).collect(),
        ordered: true,
    }
}

fn by_kind(workflow: &Workflow) -> Categories {
    let name = |kind: usize| match workflow.kind_name(KindId::new(kind)) {
        "" => "no kind".to_string(),
        name => name.to_string(),
    };
    let groups = Groups { many: "kinds", count: workflow.kinds(), name: &name };
    by_group(workflow, &groups, &|t| workflow.kind(t).index())
}

/// Several workflows side by side: each is a colour.
fn by_member(workflow: &Workflow) -> Categories {
    let members = workflow.members();
    let name = |member: usize| members[member].name.clone();
    let of = |t: TaskId| members.partition_point(|m| m.tasks.end <= t.0);
    let groups = Groups { many: "workflows", count: members.len(), name: &name };
    by_group(workflow, &groups, &of)
}

/// The groups by which tasks are coloured.
struct Groups<'a> {
    many: &'a str,
    count: usize,
    name: &'a dyn Fn(usize) -> String,
}

/// The groups with the most work get a colour each, in order of first appearance; the others
/// share one.
fn by_group(
    workflow: &Workflow,
    groups: &Groups<'_>,
    group_of: &dyn Fn(TaskId) -> usize,
) -> Categories {
    let name = groups.name;
    let mut weight = vec![0.0f64; groups.count];
    let mut count = vec![0usize; groups.count];
    let seconds = |task: TaskId| match workflow.cost_table() {
        Some(table) => table.row(task).iter().sum(),
        None => workflow.work(task),
    };
    for task in workflow.tasks() {
        let kind = group_of(task);
        weight[kind] += seconds(task);
        count[kind] += 1;
    }
    let mut by_weight: Vec<usize> = (0..groups.count).collect();
    by_weight.sort_by(|&a, &b| weight[b].total_cmp(&weight[a]).then(a.cmp(&b)));
    let own = by_weight.len().min(palette::CATEGORICAL.len());
    let mut coloured = by_weight[..own].to_vec();
    coloured.sort_unstable();
    let mut list: Vec<Category> = coloured
        .iter()
        .map(|&kind| Category { name: name(kind), count: count[kind], rest: false })
        .collect();
    let mut category_of = vec![own as u16; groups.count];
    for (category, &kind) in coloured.iter().enumerate() {
        category_of[kind] = category as u16;
    }
    let others = &by_weight[own..];
    if !others.is_empty() {
        let name = match others {
            &[one] => name(one),
            _ => format!("{} other {}", others.len(), groups.many),
        };
        let count = others.iter().map(|&kind| count[kind]).sum();
        list.push(Category { name, count, rest: true });
    }
    let of_task = workflow.tasks().map(|t| category_of[group_of(t)]).collect();
    Categories { list, of_task, ordered: false }
}
