//! Text in columns, as wide as a terminal shows it: a character of Chinese takes two columns, and an accent that follows its letter none.

use unicode_width::UnicodeWidthStr;

/// A line for each row, its cells under the names of the columns. A cell may have several lines.
pub(crate) fn aligned_table(columns: &[&str], rows: Vec<Vec<String>>) -> String {
    let head: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widest = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        let lines = cells.flat_map(|cell| cell.lines());
        lines.map(UnicodeWidthStr::width).max().unwrap_or(0)
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
            format!("{line}{}", " ".repeat(width.saturating_sub(line.width())))
        });
        let cells: Vec<String> = cells.collect();
        text.push_str(&format!("{}\n", cells.join("  ").trim_end()));
    }
    text
}

/// Text in lines of at most `width` columns, broken between words; a longer word has a line of its own.
pub(crate) fn wrapped_text(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// `1 row`, `2 rows`.
pub(crate) fn counted_thing(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_whatever_they_hold() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = vec![
            row(["東京", "x"]),
            row(["e\u{301}te\u{301}", "y"]),
            row(["plain", "z"]),
            row(["", ""]),
        ];
        let shown = "name   n\n東京   x\ne\u{301}te\u{301}    y\nplain  z\n\n";
        assert_eq!(aligned_table(&["name", "n"], rows), shown);
        assert_eq!(aligned_table(&["n"], vec![vec!["東\nab".to_owned()]]), "n\n東\nab\n");
    }

    #[test]
    fn lines_are_broken_where_they_would_be_too_wide() {
        assert_eq!(wrapped_text("東京 ab c", 7), "東京 ab\nc");
        assert_eq!(wrapped_text("東京都庁 ab", 7), "東京都庁\nab");
        assert_eq!(wrapped_text("", 0), "");
    }
}
