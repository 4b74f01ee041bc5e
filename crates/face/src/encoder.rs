//! Key templates as what they do to values: the limit of a string does not matter, the width of a number does.

use singlet_item::key::{Form, Part};
use singlet_model::model::{Entity, KeyTemplate, PartFunction};

use crate::stored_attribute;

/// What a template makes of the stored attributes, as text. Two with one text make the same key of the same row.
pub(crate) fn encoder_text(entity: &Entity, key: &KeyTemplate) -> String {
    let mut out = String::new();
    let mut parts = key.parts.iter();
    for part in key.template.parts() {
        match part {
            Part::Text(text) => out.push_str(&text.replace('{', "{{")),
            Part::Number(number) => out.push_str(&number.to_string()),
            Part::Anything => out.push('*'),
            Part::Variable(variable) => {
                let part = parts.next();
                let path = part.map_or(variable.name.as_str(), |part| part.path.as_str());
                let (root, below) = path
                    .split_once('.')
                    .map_or((path, None), |(root, below)| (root, Some(below)));
                let mut name = stored_attribute(entity, root).to_owned();
                if let Some(below) = below {
                    name = format!("{name}.{below}");
                }
                let hashed = match part.and_then(|part| part.function) {
                    Some(PartFunction::Geohash(precision)) => Some(format!("geohash({name}, {precision})")),
                    _ => None,
                };
                out.push('{');
                out.push_str(&hashed.unwrap_or_else(|| formed(&variable.form, &name)));
                out.push('}');
            }
        }
    }
    out
}

/// The stored attributes whose values stand in a key, from the text of its encoder.
pub fn key_attributes(encoder: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = encoder;
    while let Some((_, after)) = rest.split_once('{') {
        // A brace of the template's own text is written twice.
        if let Some(text) = after.strip_prefix('{') {
            rest = text;
            continue;
        }
        let (part, behind) = after.split_once('}').unwrap_or((after, ""));
        rest = behind;
        let mut inner = part;
        while let Some((function, of)) = inner.split_once('(')
            && function.chars().all(|char| char.is_ascii_lowercase())
        {
            inner = of;
        }
        let path = inner.split([',', ')']).next().unwrap_or(inner);
        found.push(path.split('.').next().unwrap_or(path));
    }
    found
}

fn formed(form: &Form, name: &str) -> String {
    match form {
        Form::Escaped | Form::Fixed | Form::Bool => name.to_owned(),
        Form::Whole => format!("{name}, whole"),
        Form::Ordered => format!("ordered({name})"),
        Form::Raw => format!("raw({name})"),
        Form::Lower => format!("lower({name})"),
        Form::Upper => format!("upper({name})"),
        Form::Plain => format!("plain({name})"),
        Form::Day => format!("day({name})"),
        Form::Month => format!("month({name})"),
        Form::Year => format!("year({name})"),
        Form::Padded {
            integer_digits: 1,
            fraction_digits: 0,
        } => format!("{name}, 1 digit"),
        Form::Padded {
            integer_digits,
            fraction_digits: 0,
        } => format!("{name}, {integer_digits} digits"),
        Form::Padded {
            integer_digits,
            fraction_digits,
        } => format!("{name}, {integer_digits}.{fraction_digits} digits"),
        Form::Rank { members } => format!("rank({name}) of {}", members.join(" ")),
        Form::Descending(inner) => format!("desc({})", formed(inner, name)),
    }
}
