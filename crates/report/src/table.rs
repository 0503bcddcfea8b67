//! Tables for people: columns aligned, as narrow as their content.

use slackline_model::names::printable;

/// Alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left-aligned; cut where there is no room.
    Left,
    /// Right-aligned, as numbers are.
    Right,
    /// Left-aligned, for values that must not be cut.
    Whole,
}

/// A table of text.
pub struct Table {
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
    /// Headings of columns that may be left out, the first ones first.
    spare: Vec<&'static str>,
}

impl Table {
    /// A table with these headings; `<` in front aligns left, `>` right, `=` left and never cut.
    pub fn new(headings: &[&str]) -> Table {
        let column = |heading: &&str| match heading.split_at_checked(1) {
            Some((">", name)) => (name.to_string(), Align::Right),
            Some(("<", name)) => (name.to_string(), Align::Left),
            Some(("=", name)) => (name.to_string(), Align::Whole),
            _ => (heading.to_string(), Align::Left),
        };
        let columns = headings.iter().map(column).collect();
        Table { columns, rows: Vec::new(), spare: Vec::new() }
    }

    /// Adds a row, a text for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell).into_owned()).collect());
    }

    /// Columns left out, one after the other, where the table is wider than the terminal.
    pub fn sparing(self, spare: &[&'static str]) -> Table {
        Table { spare: spare.to_vec(), ..self }
    }

    /// As wide as its content, column by column.
    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.columns.iter().map(|(name, _)| length(name)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(length(cell));
            }
        }
        widths
    }

    /// The text, every line indented by two and free of trailing blanks.
    pub fn render(mut self, width: usize) -> String {
        let mut widths = self.widths();
        for spare in std::mem::take(&mut self.spare) {
            if total(&widths) <= width {
                break;
            }
            if let Some(at) = self.columns.iter().position(|(name, _)| name == spare) {
                self.columns.remove(at);
                widths.remove(at);
                self.rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
        }
        self.narrow(&mut widths, width);
        let mut out = String::new();
        let headings: Vec<String> = self.columns.iter().map(|(name, _)| name.clone()).collect();
        if headings.iter().any(|h| !h.is_empty()) {
            self.line(&mut out, &widths, &headings);
        }
        for row in &self.rows {
            self.line(&mut out, &widths, row);
        }
        out
    }

    /// Takes what is too much from the widest left-aligned column but the first, which says what
    /// a row is about.
    fn narrow(&self, widths: &mut [usize], width: usize) {
        let Some(excess) = total(widths).checked_sub(width) else { return };
        let left = (1..widths.len()).filter(|&i| self.columns[i].1 == Align::Left);
        if let Some(widest) = left.max_by_key(|&i| widths[i]) {
            widths[widest] = widths[widest].min(widths[widest].saturating_sub(excess).max(8));
        }
    }

    fn line(&self, out: &mut String, widths: &[usize], cells: &[String]) {
        let mut line = String::new();
        for ((cell, width), (_, align)) in cells.iter().zip(widths).zip(&self.columns) {
            let cell = cut(cell, *width);
            let pad = " ".repeat(width - length(&cell));
            line.push_str("  ");
            match align {
                Align::Left | Align::Whole => line.push_str(&(cell + &pad)),
                Align::Right => line.push_str(&(pad + &cell)),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// `1 task`, `2 tasks`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// The name of a kind of tasks; those without one have a name, too.
pub fn kind_name(kind: &str) -> &str {
    if kind.is_empty() { "(none)" } else { kind }
}

/// Of a line of columns so wide.
fn total(widths: &[usize]) -> usize {
    widths.iter().map(|w| w + 2).sum()
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The text in lines of at most `width`, each indented.
pub fn wrap(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent + length(&line) + 1 + length(word) > width {
            out += &format!("{:indent$}{line}\n", "");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out + &format!("{:indent$}{line}\n", "")
}

/// The text without its middle where it is too long: names that begin alike end differently.
pub fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_string();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept.div_ceil(2), kept / 2);
    let chars: Vec<char> = text.chars().collect();
    let head = chars[..head].iter();
    head.chain(['…'].iter()).chain(&chars[chars.len() - tail..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_between_words() {
        assert_eq!(wrap("one two three", 2, 9), "  one two\n  three\n");
    }

    #[test]
    fn leaves_out_what_it_may() {
        let table = || {
            let mut table = Table::new(&["<name", ">more", ">left"]).sparing(&["more", "left"]);
            table.row(["task", "12", "345"].map(str::to_string));
            table
        };
        assert_eq!(table().render(18), "  name  more  left\n  task    12   345\n");
        assert_eq!(table().render(17), "  name  left\n  task   345\n");
        assert_eq!(table().render(9), "  name\n  task\n");
    }

    #[test]
    fn aligns_and_fits() {
        let table = || {
            let mut table = Table::new(&["<name", ">count", "<about"]);
            let row =
                |name: &str, count: &str, about: &str| [name, count, about].map(str::to_string);
            table.row(row("a long name", "7", "a rather long text"));
            table.row(row("b", "12345", ""));
            table
        };
        let expected = "  name         count  about\n  a long name      7  a rather long text\n  b            12345\n";
        assert_eq!(table().render(80), expected);
        let expected =
            "  name         count  about\n  a long name      7  a rat…text\n  b            12345\n";
        assert_eq!(table().render(32), expected);
        let mut whole = Table::new(&["<name", "="]);
        whole.row(["a", "± 1 min 46 s"].map(str::to_string));
        assert_eq!(whole.render(10), "  name\n  a     ± 1 min 46 s\n");
    }
}
