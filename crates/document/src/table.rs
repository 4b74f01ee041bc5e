//! Tables of Markdown.

/// Rows under a head. Cells are Markdown already.
#[derive(Debug)]
pub(crate) struct MarkdownTable {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    /// A table with these columns.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        MarkdownTable {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The table as text; nothing at all without rows. Columns in which no row has anything are left out.
    pub fn text(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let used: Vec<usize> = (0..self.head.len())
            .filter(|at| {
                self.rows
                    .iter()
                    .any(|row| row.get(*at).is_some_and(|cell| !cell.is_empty()))
            })
            .collect();
        let line = |cells: &[String]| {
            let cells: Vec<&str> = used
                .iter()
                .map(|at| cells.get(*at).map_or("", String::as_str))
                .collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mut text = line(&self.head);
        text.push_str(&format!("|{}\n", "---|".repeat(used.len())));
        for row in &self.rows {
            text.push_str(&line(row));
        }
        text.push('\n');
        text
    }
}

/// Several lines in one cell.
pub(crate) fn cell_lines(lines: impl IntoIterator<Item = String>) -> String {
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
    lines.join("<br>")
}
