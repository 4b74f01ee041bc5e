//! Words and signs that mean something in another language or to the parser, and what to write here.

/// What to write in place of a word that other languages have between two values.
pub(super) fn word_help(before: &str, word: &str, after: &str) -> Option<String> {
    if matches!(before, "not" | "NOT" | "Not") {
        return Some(format!("write `!{word}`"));
    }
    let negated = after.eq_ignore_ascii_case("not");
    let help = match word.to_ascii_lowercase().as_str() {
        "and" => "write `&&`".to_owned(),
        "or" => "write `||`".to_owned(),
        "is" if negated => {
            format!("write `{before} != …`; `{before} != absent` tests that it is there")
        }
        "is" => format!("write `{before} == …`; `{before} == absent` tests that it is missing"),
        "in" => "write `in` in lower case".to_owned(),
        "not" => format!("write `!({before} in …)`"),
        "like" | "matches" => {
            format!("write `{before}.contains(\"…\")` or `{before}.startsWith(\"…\")`")
        }
        "between" => format!("write `{before} >= … && {before} <= …`"),
        "contains" => format!("write `{before}.contains(…)`"),
        "startswith" | "begins_with" => format!("write `{before}.startsWith(…)`"),
        "mod" => "write `%`".to_owned(),
        "eq" | "equals" => "write `==`".to_owned(),
        "else" => "`else` follows the whole expression of a `require`".to_owned(),
        "then" | "if" => "write `test ? then : otherwise`".to_owned(),
        _ => return None,
    };
    Some(help)
}

/// The operator of this language that a sign of another one stands for.
pub(super) fn sign_help(sign: &str) -> Option<&'static str> {
    Some(match sign {
        "=" | "===" | ":=" => "==",
        "<>" | "!==" => "!=",
        "=<" => "<=",
        "=>" => ">=",
        "&" => "&&",
        "|" => "||",
        "~" => "!",
        _ => return None,
    })
}

/// The way out of a character that begins nothing.
pub(super) fn character_help(character: &str) -> &'static str {
    match character {
        "“" | "”" | "„" | "‘" | "’" => "use the straight quotes `\"` and `'`",
        "`" => "a name that is not a word is written `row[\"na-me\"]`",
        "#" => "a comment of the file begins with ` #` outside quotes and blocks",
        "$" | "@" => "names stand bare: `status`, `args.status`, `caller.id`",
        "≤" => "write `<=`",
        "≥" => "write `>=`",
        "≠" => "write `!=`",
        _ => "names are made of the letters `a` to `z`, digits and `_`",
    }
}

/// The words that are never names.
pub(super) fn is_literal(word: &str) -> bool {
    matches!(word, "in" | "true" | "false" | "null")
}

/// The words that the grammar keeps for itself.
pub(super) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "as" | "break"
            | "const"
            | "continue"
            | "else"
            | "for"
            | "function"
            | "if"
            | "import"
            | "let"
            | "loop"
            | "package"
            | "namespace"
            | "return"
            | "var"
            | "void"
            | "while"
    )
}
