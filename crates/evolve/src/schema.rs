//! Whether every value of one JSON Schema is a value of another, as far as OpenAPI documents of models go.

use serde_json::Value as Json;

/// How deep schemas are followed; below that they count as they are written.
const SCHEMA_DEPTH_MAX: usize = 24;

/// Which way values go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// From an old client to the new service: what the new one does not take is lost.
    Request,
    /// From the new service to an old client: what it does not know it passes over.
    Answer,
}

/// A schema and the document that its references are of.
#[derive(Clone, Copy)]
pub(crate) struct Side<'j> {
    pub document: &'j Json,
    pub schema: &'j Json,
}

impl<'j> Side<'j> {
    fn at(self, schema: &'j Json) -> Self {
        Side { schema, ..self }
    }

    /// Without references.
    fn resolved(self) -> Self {
        let mut side = self;
        for _ in 0..SCHEMA_DEPTH_MAX {
            side = side.at(resolve_reference(side.document, side.schema));
        }
        side
    }
}

/// What a reference leads to; itself, where it is none.
pub(crate) fn resolve_reference<'j>(document: &'j Json, value: &'j Json) -> &'j Json {
    let pointer = value.get("$ref").and_then(Json::as_str);
    let found = pointer
        .and_then(|pointer| pointer.strip_prefix('#'))
        .and_then(|pointer| document.pointer(pointer));
    found.unwrap_or(value)
}

/// Why some value of the first is none of the second, by the path to it.
pub(crate) fn schema_breaks(sent: Side<'_>, taken: Side<'_>, flow: Flow) -> Vec<String> {
    let mut found = Vec::new();
    Comparing {
        flow,
        found: &mut found,
    }
    .compare(sent, taken, "", 0);
    found.dedup();
    found
}

struct Comparing<'f> {
    flow: Flow,
    found: &'f mut Vec<String>,
}

impl Comparing<'_> {
    fn say(&mut self, path: &str, what: String) {
        let place = match path.is_empty() {
            true => "the value".to_owned(),
            false => format!("`{path}`"),
        };
        self.found.push(format!("{place} {what}"));
    }

    fn compare(&mut self, sent: Side<'_>, taken: Side<'_>, path: &str, depth: usize) {
        if depth > SCHEMA_DEPTH_MAX {
            if sent.schema != taken.schema {
                self.say(path, "is too deep to be compared".to_owned());
            }
            return;
        }
        let (sent, taken) = (sent.resolved(), taken.resolved());
        if takes_anything(taken.schema) {
            return;
        }
        let (sent_kinds, taken_kinds) = (alternatives(sent), alternatives(taken));
        for one in &sent_kinds {
            let alike: Vec<&Side<'_>> = taken_kinds
                .iter()
                .filter(|other| overlap(one.schema, other.schema))
                .collect();
            match alike.as_slice() {
                [] => self.say(path, format!("may be {}", kind_words(one.schema))),
                [other] => self.one(*one, **other, path, depth),
                several => {
                    let fits = |other: &&&Side<'_>| {
                        let mut found = Vec::new();
                        let mut trying = Comparing {
                            flow: self.flow,
                            found: &mut found,
                        };
                        trying.one(*one, ***other, path, depth + 1);
                        found.is_empty()
                    };
                    if !several.iter().any(|other| fits(&other)) {
                        self.say(path, "may have another form".to_owned());
                    }
                }
            }
        }
    }

    /// Schemas without alternatives.
    fn one(&mut self, sent: Side<'_>, taken: Side<'_>, path: &str, depth: usize) {
        let (one, other) = (sent.schema, taken.schema);
        if one == other && sent.document == taken.document {
            return;
        }
        self.words(one, other, path);
        self.limits(one, other, path);
        for word in ["pattern", "format", "const"] {
            if let Some(wanted) = other.get(word).filter(|wanted| one.get(word) != Some(wanted)) {
                self.say(path, format!("need not be of {word} `{}`", plain(wanted)));
            }
        }
        self.fields(sent, taken, path, depth);
        let pairs = [("items", "[]"), ("additionalProperties", "{}")];
        for (word, step) in pairs {
            if let (Some(one), Some(other)) = (one.get(word), other.get(word))
                && one.is_object()
                && other.is_object()
            {
                self.compare(sent.at(one), taken.at(other), &format!("{path}{step}"), depth + 1);
            }
        }
    }

    fn words(&mut self, one: &Json, other: &Json, path: &str) {
        let Some(known) = other.get("enum").and_then(Json::as_array) else {
            return;
        };
        match one.get("enum").and_then(Json::as_array) {
            Some(words) => {
                let new: Vec<String> = words.iter().filter(|word| !known.contains(word)).map(plain).collect();
                if !new.is_empty() {
                    self.say(path, format!("may be `{}`", new.join("` or `")));
                }
            }
            None if one.get("const").is_some_and(|word| known.contains(word)) => {}
            None => self.say(path, "may be another word".to_owned()),
        }
    }

    fn limits(&mut self, one: &Json, other: &Json, path: &str) {
        let number = |schema: &Json, word: &str| schema.get(word).and_then(Json::as_f64);
        for word in ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"] {
            if let Some(least) = number(other, word)
                && number(one, word).is_none_or(|own| own < least)
            {
                self.say(path, format!("may be below {word} {least}"));
            }
        }
        for word in ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"] {
            if let Some(most) = number(other, word)
                && number(one, word).is_none_or(|own| own > most)
            {
                self.say(path, format!("may be above {word} {most}"));
            }
        }
        if let Some(step) = number(other, "multipleOf")
            && number(one, "multipleOf") != Some(step)
        {
            self.say(path, format!("may be no multiple of {step}"));
        }
        if other.get("uniqueItems") == Some(&Json::Bool(true)) && one.get("uniqueItems") != Some(&Json::Bool(true)) {
            self.say(path, "may have an element twice".to_owned());
        }
    }

    fn fields(&mut self, sent: Side<'_>, taken: Side<'_>, path: &str, depth: usize) {
        let (one, other) = (sent.schema, taken.schema);
        let below = |name: &str| match path.is_empty() {
            true => name.to_owned(),
            false => format!("{path}.{name}"),
        };
        let required = |schema: &Json, name: &str| {
            let names = schema.get("required").and_then(Json::as_array);
            names.is_some_and(|names| names.iter().any(|known| known == name))
        };
        let fields = |schema: &'_ Json| -> Vec<(String, Json)> {
            let fields = schema.get("properties").and_then(Json::as_object);
            fields.map_or_else(Vec::new, |fields| {
                fields
                    .iter()
                    .map(|(name, schema)| (name.clone(), schema.clone()))
                    .collect()
            })
        };
        for (name, schema) in fields(other) {
            let Some(own) = one.get("properties").and_then(|fields| fields.get(&name)) else {
                match (required(other, &name), self.flow) {
                    (true, Flow::Request) => self.say(&below(&name), "must be there now".to_owned()),
                    (_, Flow::Answer) => self.say(&below(&name), "is gone".to_owned()),
                    (false, Flow::Request) => {}
                }
                continue;
            };
            if required(other, &name) && !required(one, &name) {
                let what = match self.flow {
                    Flow::Request => "must be there now",
                    Flow::Answer => "may be missing now",
                };
                self.say(&below(&name), what.to_owned());
            }
            self.compare(sent.at(own), taken.at(&schema), &below(&name), depth + 1);
        }
        let is_closed = other.get("additionalProperties") == Some(&Json::Bool(false));
        if self.flow == Flow::Request && is_closed {
            let known = fields(other);
            for (name, _) in fields(one) {
                if known.iter().all(|(known, _)| *known != name) {
                    self.say(&below(&name), "is taken no more".to_owned());
                }
            }
        }
    }
}

fn plain(word: &Json) -> String {
    word.as_str().map_or_else(|| word.to_string(), str::to_owned)
}

/// Whether a schema says nothing of a value.
fn takes_anything(schema: &Json) -> bool {
    let says = [
        "type",
        "anyOf",
        "oneOf",
        "allOf",
        "enum",
        "const",
        "properties",
        "required",
        "items",
        "not",
    ];
    match schema {
        Json::Bool(takes) => *takes,
        Json::Object(fields) => !says.iter().any(|word| fields.contains_key(*word)),
        _ => false,
    }
}

/// The schemas of which a value has one, a type each.
fn alternatives(side: Side<'_>) -> Vec<Side<'_>> {
    alternatives_within(side, 0)
}

fn alternatives_within(side: Side<'_>, depth: usize) -> Vec<Side<'_>> {
    let side = side.resolved();
    let listed = ["anyOf", "oneOf"]
        .iter()
        .find_map(|word| side.schema.get(*word)?.as_array());
    match listed.filter(|_| depth <= SCHEMA_DEPTH_MAX) {
        Some(listed) => listed
            .iter()
            .flat_map(|schema| alternatives_within(side.at(schema), depth + 1))
            .collect(),
        None => vec![side],
    }
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(name)) => vec![name],
        Some(Json::Array(names)) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether some value can be of both, by their types. All types of the first must be known to the second.
fn overlap(one: &Json, other: &Json) -> bool {
    let (one, other) = (types(one), types(other));
    let is_known = |name: &&str| other.contains(name) || (*name == "integer" && other.contains(&"number"));
    one.is_empty() || other.is_empty() || one.iter().all(is_known)
}

fn kind_words(schema: &Json) -> String {
    match types(schema).as_slice() {
        [] => "of another form".to_owned(),
        names => names.join(" or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn breaks(sent: Json, taken: Json, flow: Flow) -> Vec<String> {
        let side = |schema| Side {
            document: &Json::Null,
            schema,
        };
        schema_breaks(side(&sent), side(&taken), flow)
    }

    #[test]
    fn what_is_narrower_breaks() {
        let text = |most: u64| json!({"type": "string", "maxLength": most});
        assert_eq!(breaks(text(5), text(9), Flow::Request), Vec::<String>::new());
        assert_eq!(
            breaks(text(9), text(5), Flow::Request),
            ["the value may be above maxLength 5"]
        );
        assert_eq!(
            breaks(text(9), json!({"type": "integer"}), Flow::Request),
            ["the value may be string"]
        );
        let maybe = json!({"anyOf": [text(5), {"type": "null"}]});
        assert_eq!(breaks(maybe.clone(), text(5), Flow::Answer), ["the value may be null"]);
        assert_eq!(breaks(text(5), maybe, Flow::Answer), Vec::<String>::new());
        assert_eq!(
            breaks(json!({"type": "integer"}), json!({"type": "number"}), Flow::Answer),
            Vec::<String>::new()
        );
    }

    #[test]
    fn fields_break_by_the_way_they_go() {
        let object = |fields: Json, required: Json| json!({"type": "object", "properties": fields, "required": required, "additionalProperties": false});
        let one = || object(json!({"a": {"type": "string"}}), json!(["a"]));
        let two = || object(json!({"a": {"type": "string"}, "b": {"type": "string"}}), json!(["a"]));
        let both = || {
            object(
                json!({"a": {"type": "string"}, "b": {"type": "string"}}),
                json!(["a", "b"]),
            )
        };
        // A new field that may be left out, or that is answered, breaks nothing.
        assert_eq!(breaks(one(), two(), Flow::Request), Vec::<String>::new());
        assert_eq!(breaks(two(), one(), Flow::Answer), Vec::<String>::new());
        assert_eq!(breaks(one(), both(), Flow::Request), ["`b` must be there now"]);
        assert_eq!(breaks(two(), one(), Flow::Request), ["`b` is taken no more"]);
        assert_eq!(breaks(one(), both(), Flow::Answer), ["`b` is gone"]);
        assert_eq!(breaks(two(), both(), Flow::Answer), ["`b` may be missing now"]);
    }
}
