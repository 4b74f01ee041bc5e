//! Names for values, and nodes of the file as JSON with the names filled in.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use singlet_model::Diagnostic;
use singlet_model::diagnostic::nearest_word;
use singlet_model::node::Node;
use singlet_model::text::{Style, Text};

use crate::rules;

/// Values by name.
#[derive(Clone, Debug, Default)]
pub struct NamedValues {
    values: BTreeMap<String, Json>,
}

impl NamedValues {
    /// Gives a value a name.
    pub fn put_named(&mut self, name: &str, value: Json) {
        self.values.insert(name.to_owned(), value);
    }

    /// A text with each `{name}` replaced by its value.
    pub fn fill_text(&self, text: &Text) -> Result<String, Box<Diagnostic>> {
        let mut filled = String::new();
        let mut rest = text.text.as_str();
        while let Some((before, name, after)) = placeholder(rest) {
            filled.push_str(before);
            match self.value(name, text)? {
                Json::String(value) => filled.push_str(value),
                other => filled.push_str(&other.to_string()),
            }
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// A node as JSON. Without quotes, numbers, `true`, `false` and `null` are what they look like.
    pub fn node_json(&self, node: &Node) -> Result<Json, Box<Diagnostic>> {
        match node {
            Node::Scalar(text) => self.scalar_json(text),
            Node::List(elements, _) => elements.iter().map(|element| self.node_json(element)).collect(),
            Node::Map(entries, _) => {
                let entries = entries
                    .iter()
                    .map(|entry| Ok((self.fill_text(&entry.key)?, self.node_json(&entry.value)?)));
                entries.collect::<Result<Map<_, _>, _>>().map(Json::Object)
            }
        }
    }

    /// A scalar as JSON; a name alone keeps the type of its value.
    pub fn scalar_json(&self, text: &Text) -> Result<Json, Box<Diagnostic>> {
        if let Some(("", name, "")) = placeholder(&text.text) {
            return self.value(name, text).cloned();
        }
        let filled = self.fill_text(text)?;
        Ok(match text.style {
            Style::Plain => plain(filled),
            _ => Json::String(filled),
        })
    }

    fn value(&self, name: &str, at: &Text) -> Result<&Json, Box<Diagnostic>> {
        self.values.get(name).ok_or_else(|| {
            let message = format!("nothing has the name `{name}` here");
            let mut wrong = Diagnostic::new(&rules::MISTAKE, at.span, message);
            let near = nearest_word(name, self.values.keys().map(String::as_str));
            wrong.help = Some(match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => "names come from `names`, or from `keep` of an earlier step".to_owned(),
            });
            Box::new(wrong)
        })
    }
}

/// The first `{name}` of a text, with what stands before and after it. Other braces are text.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text.get(from..)?.find('{')?;
        let inner = text.get(open + 1..)?;
        let close = inner.find('}')?;
        let name = inner.get(..close)?;
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
        if is_name {
            return Some((text.get(..open)?, name, inner.get(close + 1..)?));
        }
        from = open + 1;
    }
}

fn plain(text: String) -> Json {
    match text.as_str() {
        "" | "~" | "null" => Json::Null,
        "true" => Json::Bool(true),
        "false" => Json::Bool(false),
        number => match serde_json::from_str(number) {
            Ok(Json::Number(number)) => Json::Number(number),
            _ => Json::String(text),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use singlet_model::Span;

    fn text(text: &str, style: Style) -> Text {
        Text::new(text.to_owned(), Span::new(0, text.len()), style, text)
    }

    #[test]
    fn names_are_filled_in_and_other_braces_stay() {
        let mut names = NamedValues::default();
        names.put_named("id", Json::from("T1"));
        names.put_named("count", Json::from(3));
        let filled = |of: &str| names.fill_text(&text(of, Style::Plain)).ok();
        assert_eq!(filled("/tasks/{id}/x?n={count}"), Some("/tasks/T1/x?n=3".to_owned()));
        assert_eq!(filled("{\"a\": 1} {id}"), Some("{\"a\": 1} T1".to_owned()));
        assert_eq!(filled("{ids}"), None);
    }

    #[test]
    fn what_stands_without_quotes_is_what_it_looks_like() {
        let names = NamedValues::default();
        let json = |of: &str, style| names.scalar_json(&text(of, style)).ok();
        assert_eq!(json("12.5", Style::Plain), Some(Json::from(12.5)));
        assert_eq!(json("004", Style::Plain), Some(Json::from("004")));
        assert_eq!(json("12", Style::SingleQuoted), Some(Json::from("12")));
        assert_eq!(json("null", Style::Plain), Some(Json::Null));
        assert_eq!(json("2026-03-10", Style::Plain), Some(Json::from("2026-03-10")));
    }
}
