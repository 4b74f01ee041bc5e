//! Text in columns.

/// A line for each row, its cells under the names of the columns. A cell may have several lines.
pub fn aligned(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let lines = cells.flat_map(|cell| cell.lines());
        lines.map(|line| line.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(widest).collect();
    rows.iter().map(|row| row_text(row, &widths)).collect()
}

fn row_text(row: &[String], widths: &[usize]) -> String {
    let height = row.iter().map(|cell| cell.lines().count()).max().unwrap_or(0);
    let mut text = String::new();
    for at in 0..height.max(1) {
        let cells = row.iter().zip(widths).map(|(cell, width)| {
            let line = cell.lines().nth(at).unwrap_or("");
            format!("{line:width$}")
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(&format!("{}\n", cells.join("  ").trim_end()));
    }
    text
}

/// Text in lines of at most `width` characters, broken between words; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// `1 row`, `2 rows`.
pub fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}
