//! Flow charts in Mermaid, as engines draw their graphs.

/// A node of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node<'t> {
    pub(crate) id: &'t str,
    /// Opening brackets, which give the shape: `([` is a stadium, `((` a circle.
    pub(crate) shape: &'t str,
    pub(crate) label: &'t str,
}

/// A flow chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Chart<'t> {
    pub(crate) nodes: Vec<Node<'t>>,
    pub(crate) edges: Vec<(&'t str, &'t str)>,
}

/// Whether a line begins a flow chart.
pub(crate) fn is_header(line: &str) -> bool {
    let mut words = line.split_whitespace();
    matches!(words.next(), Some("flowchart" | "graph"))
        && matches!(words.next(), Some("TB" | "TD" | "BT" | "LR" | "RL"))
        && words.next().is_none()
}

impl<'t> Chart<'t> {
    /// The chart in a text, which may be an HTML page with one; none where there is none. Lines that are neither
    /// nodes nor edges, such as groups and styles, are passed over.
    pub(crate) fn find(text: &'t str) -> Option<Chart<'t>> {
        let mut lines = text.lines().skip_while(|line| !is_header(line.trim()));
        lines.next()?;
        let mut chart = Chart::default();
        for line in lines.map(str::trim).take_while(|line| !line.starts_with("</")) {
            if let Some((from, to)) = line.split_once("-->") {
                // `a -->|label| b`
                let to = to.trim();
                let to = to.strip_prefix('|').and_then(|t| t.split_once('|')).map_or(to, |t| t.1);
                let (from, to) = (from.trim(), to.trim());
                if is_id(from) && is_id(to) {
                    chart.edges.push((from, to));
                }
                continue;
            }
            let Some(at) = line.find(['[', '(']) else { continue };
            let (id, rest) = line.split_at(at);
            let width = rest.bytes().take_while(|b| matches!(b, b'[' | b'(')).count().min(2);
            let (shape, rest) = rest.split_at(width);
            let label = rest.get(..rest.len().saturating_sub(width)).unwrap_or("").trim();
            if is_id(id) {
                chart.nodes.push(Node { id, shape, label: label.trim_matches('"') });
            }
        }
        Some(chart)
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_inside_pages() {
        let page = "<pre class=\"mermaid\">\n%%{\n  init: {}\n}%%\nflowchart TB\n    subgraph W [W]\n    \
            v0([ALIGN])\n    v1(( ))\n    end\n    v2[\" \"]\n    v0 --> v1\n    v1 -->|bam| v2\n\n</pre>\nv3 --> v4\n";
        let chart = Chart::find(page).unwrap();
        let nodes: Vec<_> = chart.nodes.iter().map(|n| (n.id, n.shape, n.label)).collect();
        assert_eq!(nodes, [("v0", "([", "ALIGN"), ("v1", "((", ""), ("v2", "[", " ")]);
        assert_eq!(chart.edges, [("v0", "v1"), ("v1", "v2")]);
        assert_eq!(Chart::find("graph of my life\n"), None);
    }
}
