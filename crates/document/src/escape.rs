//! Text from a model, made safe for the four languages of a document. A name may hold anything.

/// Text in a paragraph or a table's cell of Markdown.
pub(crate) fn escape_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for char in one_line(text).chars() {
        match char {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' => {
                safe.push('\\');
                safe.push(char);
            }
            _ => safe.push(char),
        }
    }
    safe
}

/// Code within a line of Markdown, in a table or not.
pub(crate) fn inline_code(text: &str) -> String {
    let text = one_line(text);
    // A table's cell ends at a bar even within a code span, and backslashes do not help there.
    if !text.contains(['|', '`']) && !text.is_empty() {
        return format!("`{text}`");
    }
    let mut safe = String::from("<code>");
    for char in text.chars() {
        match char {
            '.' | ',' | '=' | '(' | ')' | '"' | '+' | '/' | '?' | '%' | '!' | '-' | '{' | '}' | ' ' => safe.push(char),
            char if char.is_ascii() && !char.is_ascii_alphanumeric() => {
                safe.push_str(&format!("&#{};", u32::from(char)))
            }
            char => safe.push(char),
        }
    }
    safe.push_str("</code>");
    safe
}

/// A sentence of ours in which text of the model stands in backticks.
pub(crate) fn escape_prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(number, part)| match number % 2 {
            0 => part.to_owned(),
            _ => inline_code(part),
        })
        .collect()
}

/// Text in a Mermaid diagram: what its grammar could take for itself is written as a number.
pub(crate) fn escape_mermaid(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in one_line(text).chars() {
        match char {
            ' ' | '-' | '_' | '.' | ',' => safe.push(char),
            char if char.is_alphanumeric() => safe.push(char),
            char => safe.push_str(&format!("#{};", u32::from(char))),
        }
    }
    safe
}

/// A word where Mermaid takes only letters, digits, `-` and `_`.
pub(crate) fn mermaid_word(text: &str) -> String {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    let word: String = text.chars().map(|char| if fits(char) { char } else { '_' }).collect();
    match word.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => word,
        false => format!("a{word}"),
    }
}

/// Text in an element or an attribute of SVG.
pub(crate) fn escape_xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    for char in one_line(text).chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            _ => safe.push(char),
        }
    }
    safe
}

/// Part of a file's name.
pub fn file_name(text: &str) -> String {
    let fits = |char: char| char.is_ascii_alphanumeric();
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|char| !fits(char))
        .filter(|word| !word.is_empty())
        .collect();
    words.join("-")
}

/// Line breaks and control characters become spaces: none of the languages has them within a line.
fn one_line(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    spaced.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a|b <script>\"`\\|*_\n&end;#";

    #[test]
    fn a_cell_keeps_its_bars_and_tags_to_itself() {
        assert_eq!(
            escape_markdown(HOSTILE),
            "a\\|b &lt;script&gt;\"\\`\\\\\\|\\*\\_ &amp;end;\\#"
        );
        assert_eq!(inline_code("a < b"), "`a < b`");
        assert_eq!(inline_code("a|b"), "<code>a&#124;b</code>");
        assert_eq!(inline_code("a`\\|b"), "<code>a&#96;&#92;&#124;b</code>");
    }

    #[test]
    fn mermaid_sees_no_grammar() {
        assert_eq!(escape_mermaid("a: b; \"c\" --> d"), "a#58; b#59; #34;c#34; --#62; d");
        assert_eq!(mermaid_word("list(string)"), "list_string_");
        assert_eq!(mermaid_word("1st"), "a1st");
    }

    #[test]
    fn svg_stays_well_formed() {
        assert_eq!(escape_xml("<a b='c'>&\u{1}"), "&lt;a b=&#39;c&#39;&gt;&amp;");
    }

    #[test]
    fn files_have_plain_names() {
        assert_eq!(file_name("../Eco|Bid Item"), "eco-bid-item");
    }
}
