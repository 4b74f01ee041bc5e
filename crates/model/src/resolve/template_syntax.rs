//! Key templates as text: `STATUS#{rank(status)}#{task_id}`.

use crate::diagnostic::Diagnostic;
use crate::model::PartFunction;
use crate::model::TEMPLATE_PARTS_MAX;
use crate::rules;
use crate::text::Text;

/// A piece of a template.
#[derive(Debug)]
pub(super) enum SyntaxPiece {
    Text(String),
    Part(VariablePart),
}

/// A variable part: a path and at most one function around it.
#[derive(Debug)]
pub(super) struct VariablePart {
    pub path: Text,
    pub function: Option<PartFunction>,
    pub whole: Text,
}

/// Reads a template into its pieces.
pub(super) fn parse_template(text: &Text) -> Result<Vec<SyntaxPiece>, Box<Diagnostic>> {
    let source = text.text.as_str();
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut parts = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.find('{') {
            Some(0) => {
                parts += 1;
                if parts > TEMPLATE_PARTS_MAX {
                    let message = format!("a template has at most {TEMPLATE_PARTS_MAX} parts");
                    let help = "leave out parts that no read asks for: `{id}` alone tells rows apart";
                    return Err(error(text, at, source.len(), &message, help));
                }
                let Some(length) = rest.find('}') else {
                    return Err(error(
                        text,
                        at,
                        source.len(),
                        "a part is not closed",
                        "add `}` after it",
                    ));
                };
                pieces.push(SyntaxPiece::Part(part(text, at + 1, at + length)?));
                at += length + 1;
            }
            open => {
                let end = open.unwrap_or(rest.len());
                let literal = rest.get(..end).unwrap_or_default();
                if let Some(stray) = literal.find('}') {
                    let help = "a part is `{name}`; a brace cannot stand in the text of a key";
                    return Err(error(text, at + stray, at + stray + 1, "a `}` closes nothing", help));
                }
                pieces.push(SyntaxPiece::Text(literal.to_owned()));
                at += end;
            }
        }
    }
    Ok(pieces)
}

fn part(text: &Text, start: usize, end: usize) -> Result<VariablePart, Box<Diagnostic>> {
    let whole = text.part_text(start, end).trimmed_text();
    if whole.text.is_empty() {
        let help = "name an attribute in it, such as `{user_id}`";
        return Err(error(text, start.saturating_sub(1), end + 1, "a part is empty", help));
    }
    let Some(open) = whole.text.find('(') else {
        let path = whole.clone();
        return Ok(VariablePart {
            path,
            function: None,
            whole,
        });
    };
    if !whole.text.ends_with(')') {
        let message = format!("`{}` is not closed", whole.text);
        return Err(Box::new(
            Diagnostic::new(&rules::BAD_TEMPLATE, whole.span, message).help("add `)`"),
        ));
    }
    let inner = whole.part_text(open + 1, whole.text.len() - 1).trimmed_text();
    let (path, argument) = match inner.text.find(',') {
        Some(comma) => (
            inner.part_text(0, comma).trimmed_text(),
            Some(inner.part_text(comma + 1, inner.text.len()).trimmed_text()),
        ),
        None => (inner.clone(), None),
    };
    if path.text.contains('(') {
        let message = format!("`{}` has a function within a function", whole.text);
        let help = "a part takes one function; compute the rest in an attribute with `is`";
        return Err(Box::new(
            Diagnostic::new(&rules::BAD_TEMPLATE, whole.span, message).help(help),
        ));
    }
    let function = function(&whole, whole.text.get(..open).unwrap_or_default(), argument)?;
    Ok(VariablePart {
        path,
        function: Some(function),
        whole,
    })
}

const FUNCTIONS: [(&str, PartFunction); 10] = [
    ("lower", PartFunction::Lower),
    ("upper", PartFunction::Upper),
    ("day", PartFunction::Day),
    ("month", PartFunction::Month),
    ("year", PartFunction::Year),
    ("desc", PartFunction::Desc),
    ("rank", PartFunction::Rank),
    ("ordered", PartFunction::Ordered),
    ("plain", PartFunction::Plain),
    ("raw", PartFunction::Raw),
];

fn function(whole: &Text, name: &str, argument: Option<Text>) -> Result<PartFunction, Box<Diagnostic>> {
    let name = name.trim();
    let failure =
        |message: String, help: &str| Box::new(Diagnostic::new(&rules::BAD_TEMPLATE, whole.span, message).help(help));
    if name == "geohash" {
        let precision = argument.and_then(|text| text.text.parse::<u8>().ok());
        return match precision.filter(|precision| (1..=12).contains(precision)) {
            Some(precision) => Ok(PartFunction::Geohash(precision)),
            None => Err(failure(
                "`geohash` takes a precision from 1 to 12".to_owned(),
                "such as `geohash(location, 5)`",
            )),
        };
    }
    if argument.is_some() {
        return Err(failure(
            format!("`{name}` takes one attribute"),
            "remove what follows the comma",
        ));
    }
    match FUNCTIONS.iter().find(|(known, _)| *known == name) {
        Some((_, function)) => Ok(*function),
        None => {
            let message = format!("`{name}` is no function of key parts");
            let known = FUNCTIONS.iter().map(|(known, _)| *known).chain(["geohash"]);
            let diagnostic = Diagnostic::new(&rules::BAD_TEMPLATE, whole.span, message);
            let near = crate::diagnostic::nearest_word(name, known);
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "they are lower upper day month year desc rank ordered geohash plain raw".to_owned(),
            };
            Err(Box::new(diagnostic.help(help)))
        }
    }
}

fn error(text: &Text, start: usize, end: usize, message: &str, help: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(&rules::BAD_TEMPLATE, text.span_of(start, end), message).help(help))
}
