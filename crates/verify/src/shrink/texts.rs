//! Shorter forms of an expression, a template, a type or a list of names.

/// Texts that say less than a text. Most fit only one kind of text: whoever tries them finds out.
pub(crate) fn shorter_texts(text: &str) -> Vec<String> {
    let mut shorter = Vec::new();
    for operator in [" || ", " && "] {
        let operands = split(text, operator);
        if operands.len() < 2 {
            continue;
        }
        for at in 0..operands.len() {
            let mut fewer = operands.clone();
            fewer.remove(at);
            shorter.push(fewer.join(operator));
        }
        for (at, operand) in operands.iter().enumerate() {
            for less in inner(operand) {
                let mut others: Vec<String> = operands.iter().map(|operand| (*operand).to_owned()).collect();
                if let Some(place) = others.get_mut(at) {
                    *place = less;
                }
                shorter.push(others.join(operator));
            }
        }
    }
    shorter.extend(inner(text));
    if let [test, rest] = split(text, " ? ").as_slice()
        && let [then, otherwise] = split(rest, " : ").as_slice()
    {
        shorter.extend([test, then, otherwise].map(|part| (*part).to_owned()));
    }
    for separator in [", ", " | "] {
        let names = split(text, separator);
        for at in 0..if names.len() > 1 { names.len() } else { 0 } {
            let mut fewer = names.clone();
            fewer.remove(at);
            shorter.push(fewer.join(separator));
        }
    }
    shorter.extend(without_parts(text));
    shorter.extend(text.split_once(" = ").map(|(ty, _)| ty.to_owned()));
    shorter.extend(text.split_once(' ').map(|(ty, _)| ty.to_owned()));
    shorter.retain(|less| !less.is_empty() && less.len() < text.len());
    shorter.dedup();
    shorter
}

/// What stands in the brackets around a whole text, and its shorter forms, in those brackets.
fn inner(text: &str) -> Vec<String> {
    let wrapped = [("(!(", "))"), ("(", ")")];
    let mut all = Vec::new();
    for (open, close) in wrapped {
        let Some(inside) = text.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) else {
            continue;
        };
        if is_balanced(inside) {
            all.push(inside.to_owned());
            all.extend(
                shorter_texts(inside)
                    .into_iter()
                    .map(|less| format!("{open}{less}{close}")),
            );
            break;
        }
    }
    all
}

/// A template without one of its parts.
fn without_parts(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (start, _) in text.match_indices('{') {
        let Some(length) = text.get(start..).and_then(|rest| rest.find('}')) else {
            continue;
        };
        let (before, after) = (text.get(..start), text.get(start + length + 1..));
        if let (Some(before), Some(after)) = (before, after) {
            all.push(format!("{before}{}", after.trim_start_matches('#')));
            all.push(format!("{}{after}", before.trim_end_matches('#')));
        }
    }
    all
}

/// The parts of a text between separators that stand in no brackets and no quotes.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let (mut depth, mut quoted, mut from) = (0_i32, false, 0);
    for (at, character) in text.char_indices() {
        match character {
            '"' => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        let is_separator = text.get(at..).is_some_and(|rest| rest.starts_with(separator));
        if depth == 0 && !quoted && is_separator && at >= from {
            parts.extend(text.get(from..at));
            from = at + separator.len();
        }
    }
    parts.extend(text.get(from..));
    parts
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    for character in text.chars() {
        depth += match character {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::shorter_texts;

    #[test]
    fn a_condition_loses_one_operand() {
        let shorter = shorter_texts("a == 1 && (b || c(d && e))");
        for less in [
            "a == 1",
            "(b || c(d && e))",
            "a == 1 && (b)",
            "a == 1 && b || c(d && e)",
        ] {
            assert!(shorter.iter().any(|known| known == less), "{less}: {shorter:?}");
        }
        assert!(shorter.iter().all(|less| !less.contains("c(d)")), "{shorter:?}");
    }

    #[test]
    fn a_template_loses_one_part() {
        let shorter = shorter_texts("P#{a}#{b}");
        assert!(shorter.contains(&"P#{b}".to_owned()), "{shorter:?}");
        assert!(shorter.contains(&"P#{a}".to_owned()), "{shorter:?}");
    }
}
