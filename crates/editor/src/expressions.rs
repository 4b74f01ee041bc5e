//! The names in an expression, without reading it: it may be half typed.

/// Names joined by points, such as `args.task_id`; those behind a call, as in `Item(id).Name`, begin anew.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameChain {
    /// Each name, and its bytes in the expression.
    pub(crate) names: Vec<(String, usize, usize)>,
    /// Whether the last one is called.
    pub(crate) is_called: bool,
    /// The name of the call whose result it is a part of: `Item` of `.Name`.
    pub(crate) of_call: Option<String>,
}

/// The chains of names in an expression, in their order. What stands in quotes is no name.
pub(crate) fn name_chains(text: &str) -> Vec<NameChain> {
    let mut chains = Vec::new();
    let mut calls: Vec<Option<String>> = Vec::new();
    let mut closed: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    let mut at = 0;
    while let Some(char) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let mut width = char.len_utf8();
        match quote {
            Some(open) => {
                if !is_escaped && char == open {
                    quote = None;
                }
                is_escaped = !is_escaped && char == '\\';
            }
            None if matches!(char, '"' | '\'') => quote = Some(char),
            None if is_name_start(char) => {
                let mut chain = read_chain(text, at);
                width = chain.names.last().map_or(width, |(_, _, end)| end - at);
                chain.is_called = text.get(at + width..).is_some_and(|rest| rest.starts_with('('));
                chain.of_call = text
                    .get(..at)
                    .filter(|before| before.ends_with(")."))
                    .and_then(|_| closed.clone());
                chains.push(chain);
            }
            None if char.is_ascii_digit() => {
                let rest = text.get(at..).unwrap_or_default();
                width = rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len());
            }
            None if char == '(' => {
                let is_call = at > 0 && text.get(..at).is_some_and(|before| before.ends_with(is_name_part));
                let name = chains.last().and_then(|chain| chain.names.last());
                calls.push(name.filter(|_| is_call).map(|(name, _, _)| name.clone()));
            }
            None if char == ')' => closed = calls.pop().flatten(),
            None => {}
        }
        at += width.max(1);
    }
    chains
}

fn read_chain(text: &str, start: usize) -> NameChain {
    let mut chain = NameChain::default();
    let mut at = start;
    loop {
        let rest = text.get(at..).unwrap_or_default();
        let length = rest.find(|char: char| !is_name_part(char)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default();
        chain.names.push((name.to_owned(), at, at + length));
        let after = rest.get(length..).unwrap_or_default();
        match after.strip_prefix('.').filter(|next| next.starts_with(is_name_start)) {
            Some(_) => at += length + 1,
            None => return chain,
        }
    }
}

fn is_name_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_'
}

fn is_name_part(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// The parts of a template that stand in braces, each with the byte at which it begins.
pub(crate) fn template_parts(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut from = 0;
    while let Some(open) = text.get(from..).and_then(|rest| rest.find('{')) {
        let start = from + open + 1;
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find('}').unwrap_or(rest.len());
        parts.push((start, rest.get(..end).unwrap_or_default()));
        from = start + end;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let chains = name_chains(text).into_iter().map(|chain| {
            let names: Vec<&str> = chain.names.iter().map(|(name, _, _)| name.as_str()).collect();
            let of = chain.of_call.map(|call| format!("{call}()/")).unwrap_or_default();
            format!("{of}{}{}", names.join("."), if chain.is_called { "()" } else { "" })
        });
        chains.collect()
    }

    #[test]
    fn names_are_found_in_what_is_half_typed() {
        assert_eq!(
            shown("user_id == caller.id && x in [\"a.b\", y]"),
            ["user_id", "caller.id", "x", "in", "y"]
        );
        assert_eq!(
            shown("Item(ItemId).Name + lower(e"),
            ["Item()", "ItemId", "Item()/Name", "lower()", "e"]
        );
        assert_eq!(shown("a.contains('it\\'s x') && 12h"), ["a.contains()"]);
        assert_eq!(shown("args. && \"open"), ["args"]);
    }

    #[test]
    fn parts_of_templates_are_found() {
        assert_eq!(
            template_parts("A#{x}#{rank(y)}#{z"),
            [(3, "x"), (7, "rank(y)"), (17, "z")]
        );
    }
}
