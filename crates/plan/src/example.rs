//! Keys to show in messages.

use singlet_item::Value;
use singlet_item::key::{Domain, Form, Part, Template, Variable};

/// A key that a template could give, for people: ids are cut short, and text stands under its name.
pub fn example_key(template: &Template) -> String {
    template.parts().iter().map(|part| shown(part, template)).collect()
}

fn shown(part: &Part, template: &Template) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Number(number) => number.to_string(),
        Part::Variable(variable) => value(variable, template).unwrap_or_else(|| format!("{{{}}}", variable.name)),
        Part::Anything => "…".to_owned(),
    }
}

fn value(variable: &Variable, template: &Template) -> Option<String> {
    let plain = matches!(variable.form, Form::Fixed | Form::Whole);
    let short = match &variable.domain {
        Domain::Ulid => "01J…",
        Domain::Ksuid => "2Nk…",
        Domain::Uuid => "3f2a…",
        _ => "",
    };
    if plain && !short.is_empty() {
        return Some(short.to_owned());
    }
    variable
        .encode_value(&usual(&variable.domain)?, template.delimiter())
        .ok()
}

fn usual(domain: &Domain) -> Option<Value> {
    Some(match domain {
        Domain::OneOf(words) => Value::from(words.first()?.as_str()),
        Domain::Date => Value::from("2026-02-13"),
        Domain::Time => Value::from("2026-02-13T10:30:45.123Z"),
        Domain::Month => Value::from("2026-02"),
        Domain::Year => Value::from("2026"),
        Domain::Ulid => Value::from("01JAZ3NDEKTSV4RRFFQ69G5FAV"),
        Domain::Geohash { precision } => Value::from("u3qcnhheum4t".get(..usize::from(*precision))?),
        Domain::Number(range) => Value::from(range.min?),
        Domain::Bool => Value::from(false),
        Domain::Either(domains) => usual(domains.first()?)?,
        _ => return None,
    })
}
