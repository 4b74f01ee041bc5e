//! Mistakes within one token, and how mistakes at a token are reported.

use singlet_item::Number;

use super::rules;
use super::scan::{ScannedToken, TokenKind};
use super::words::{character_help, sign_help};
use crate::diagnostic::{Diagnostic, Rule};
use crate::text::Text;

/// Nothing, or the first mistake.
pub(super) type Step = Result<(), Box<Diagnostic>>;

/// Mistakes within a token itself.
pub(super) fn token_mistakes(text: &Text, token: ScannedToken) -> Step {
    let word = word_of(text, token);
    match token.kind {
        TokenKind::Foreign => foreign(text, token),
        TokenKind::Number => number(text, token),
        TokenKind::OpenText => {
            let message = format!("the text {} is never closed", quote_input(word));
            let help = "close it with the quote that opens it, on the same line";
            refuse_token(text, &rules::TEXT_LITERAL, token, message, help)
        }
        TokenKind::BadEscape => {
            let message = format!("`{word}` is not an escape");
            let help = r#"the escapes are `\\`, `\"`, `\'`, `\n`, `\r`, `\t` and `\u0041`"#;
            refuse_token(text, &rules::TEXT_LITERAL, token, message, help)
        }
        TokenKind::OddText => {
            let message = "text has one quote at each end and nothing before it".to_owned();
            refuse_token(
                text,
                &rules::TEXT_LITERAL,
                token,
                message,
                "write `\"text\"` or `'text'`",
            )
        }
        TokenKind::Comment => {
            let message = "an expression has no comments".to_owned();
            let help = "move it to a `#` comment of the file: `//` would hide the rest of a folded block";
            refuse_token(text, &rules::COMMENT, token, message, help)
        }
        TokenKind::Stray => stray(text, token),
        _ => Ok(()),
    }
}

fn foreign(text: &Text, token: ScannedToken) -> Step {
    let word = word_of(text, token);
    let mistake = mistake_at(
        text,
        &rules::FOREIGN_OPERATOR,
        token,
        format!("`{word}` is not an operator"),
    );
    Err(Box::new(match (word, sign_help(word)) {
        ("=", _) => mistake.help("write `==` to compare").replace_with("=="),
        ("++", _) => mistake.help("write `+ 1`, or `add:` to raise a stored number"),
        (_, Some(instead)) => mistake.help(format!("write `{instead}`")).replace_with(instead),
        (_, None) => mistake.help("the operators are `&& || ! == != < <= > >= in + - * % ? :`"),
    }))
}

fn number(text: &Text, token: ScannedToken) -> Step {
    let word = word_of(text, token);
    let digits = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !digits || word.starts_with('.') || word.ends_with('.') {
        let message = format!("{} is not a number", quote_input(word));
        let help = match duration_call(word) {
            Some(call) => format!("a duration is written `{call}` here"),
            None => "numbers are decimal: `12`, `-3`, `0.25`".to_owned(),
        };
        return refuse_token(text, &rules::NUMBER_LITERAL, token, message, help);
    }
    if word.parse::<Number>().is_err() {
        let message = format!("`{}` is not a number of up to 38 digits", cut_input(word));
        return Err(mistake_at(text, &rules::NUMBER_LITERAL, token, message));
    }
    Ok(())
}

/// The units of a duration as an argument spells them, and the functions that make them.
const DURATION_UNITS: [(&str, &str); 4] = [("mo", "months"), ("d", "days"), ("h", "hours"), ("m", "minutes")];

/// A duration that is spelled as an argument is, `2h30m`, as an expression has it: `hours(2) + minutes(30)`.
fn duration_call(word: &str) -> Option<String> {
    let mut calls = Vec::new();
    let mut rest = word;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (count, after) = rest.split_at_checked(digits).filter(|(count, _)| !count.is_empty())?;
        let unit = |(unit, function): &(&str, &'static str)| Some((after.strip_prefix(unit)?, *function));
        let (left, function) = DURATION_UNITS.iter().find_map(unit)?;
        calls.push(format!("{function}({count})"));
        rest = left;
    }
    (!calls.is_empty()).then(|| calls.join(" + "))
}

fn stray(text: &Text, token: ScannedToken) -> Step {
    let word = word_of(text, token);
    let shown = match word.chars().all(char::is_control) {
        true => word.escape_default().to_string(),
        false => word.to_owned(),
    };
    let message = format!("`{shown}` means nothing in an expression");
    refuse_token(text, &rules::STRAY_CHARACTER, token, message, character_help(word))
}

/// The text of a token.
pub(super) fn word_of(text: &Text, token: ScannedToken) -> &str {
    text.text.get(token.start..token.end).unwrap_or_default()
}

/// A mistake at a token.
pub(super) fn mistake_at(
    text: &Text,
    rule: &'static Rule,
    token: ScannedToken,
    message: impl Into<String>,
) -> Box<Diagnostic> {
    let span = text.span_of(token.start, token.end);
    Box::new(Diagnostic::new(rule, span, message))
}

/// A mistake at a token, with the way out.
pub(super) fn refuse_token(
    text: &Text,
    rule: &'static Rule,
    token: ScannedToken,
    message: String,
    help: impl Into<String>,
) -> Step {
    Err(Box::new(mistake_at(text, rule, token, message).help(help)))
}

/// The characters of user input that a message shows at most.
const SHOWN_CHARS_MAX: usize = 60;

/// User input as a message shows it: one line, not too long.
pub(super) fn cut_input(text: &str) -> String {
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_CHARS_MAX {
        return line;
    }
    let shown: String = line.chars().take(SHOWN_CHARS_MAX - 1).collect();
    format!("{shown}…")
}

/// User input as a message shows it, in backticks.
pub(super) fn quote_input(text: &str) -> String {
    format!("`{}`", cut_input(text))
}
