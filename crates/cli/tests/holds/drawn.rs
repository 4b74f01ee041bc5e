//! Requests drawn over all operations of a system, from its own description: some right, most wrong in some way.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use crate::client::request;

/// Numbers that follow from a seed.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Chance(seed)
    }

    /// One of so many.
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % count.max(1) as u64) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Texts that somebody might not have thought of.
const TEXTS: [&str; 16] = [
    "",
    " ",
    "a",
    "pending",
    "2026-02-30",
    "2026-11-17",
    "9999999999999999999999",
    "-1",
    "1e400",
    "null",
    "#",
    "%00",
    "ä€𝄞",
    "../..",
    "' OR 1=1",
    "\u{202e}",
];

/// The operations of a system.
pub struct Operations {
    document: Json,
    /// Method, path and description.
    all: Vec<(String, String, Json)>,
    /// Ids that answers had: with them, requests come further.
    known: BTreeSet<String>,
}

/// How many ids are remembered.
const KNOWN_MAX: usize = 2_000;

impl Operations {
    pub fn of(document: Json) -> Self {
        let base = document["servers"][0]["url"].as_str().unwrap_or_default().to_owned();
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                if operation.get("responses").is_some() {
                    all.push((method.to_uppercase(), format!("{base}{path}"), operation.clone()));
                }
            }
        }
        assert!(!all.is_empty());
        Operations {
            document,
            all,
            known: BTreeSet::new(),
        }
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Remembers the ids of an answer.
    pub fn learn(&mut self, body: &[u8]) {
        if let Ok(answer) = serde_json::from_slice::<Json>(body) {
            self.learn_from(&answer);
        }
    }

    fn learn_from(&mut self, json: &Json) {
        match json {
            Json::Array(elements) => elements.iter().for_each(|element| self.learn_from(element)),
            Json::Object(members) => {
                for (name, value) in members {
                    match value {
                        Json::String(id) if name.to_lowercase().ends_with("id") && self.known.len() < KNOWN_MAX => {
                            self.known.insert(id.clone());
                        }
                        other => self.learn_from(other),
                    }
                }
            }
            _ => {}
        }
    }

    /// A request of the operation of that number.
    pub fn draw(&self, at: usize, chance: &mut Chance, credentials: &str) -> Vec<u8> {
        let (method, path, operation) = &self.all[at % self.all.len()];
        let mut path = path.clone();
        let mut query = Vec::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let parameter = self.resolved(parameter);
            let name = parameter["name"].as_str().unwrap();
            let text = self.text(&parameter["schema"], name, chance);
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &encoded(&text)),
                Some("query") if !chance.one_in(2) || parameter["required"] == true => {
                    query.push(format!("{name}={}", encoded(&text)));
                }
                _ => {}
            }
        }
        if chance.one_in(10) {
            query.push(format!(
                "{}={}",
                chance.of(&["limit", "cursor", "x", "explain"]),
                chance.of(&["1", "-1", "100", "101", "a", ""])
            ));
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let mut headers = Vec::new();
        if !chance.one_in(20) {
            headers.push(credentials.to_owned());
        }
        if chance.one_in(4) {
            let key = chance.of(&["k", "", "\"", "a b", "0123456789012345678901234567890123456789"]);
            headers.push(format!("idempotency-key: {key}{}", chance.below(50)));
        }
        if chance.one_in(8) {
            headers.push(format!("if-match: {}", chance.of(&["*", "\"1\"", "W/\"1\"", "1", ""])));
        }
        let body = match operation.get("requestBody") {
            Some(body) => self.body(self.resolved(body), chance),
            None => Vec::new(),
        };
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        request(method, &path, &headers, &body)
    }

    fn body(&self, body: &Json, chance: &mut Chance) -> Vec<u8> {
        let content = body["content"].as_object().unwrap();
        let schema = content.values().next().map_or(&Json::Null, |media| &media["schema"]);
        let mut bytes = self.value(schema, "", chance, 0).to_string().into_bytes();
        if chance.one_in(20) {
            bytes.truncate(chance.below(bytes.len() + 1));
        }
        if chance.one_in(20) && !bytes.is_empty() {
            let at = chance.below(bytes.len());
            bytes[at] = chance.below(256) as u8;
        }
        bytes
    }

    /// What a reference stands for.
    fn resolved<'j>(&'j self, json: &'j Json) -> &'j Json {
        match json["$ref"].as_str().and_then(|place| place.strip_prefix('#')) {
            Some(pointer) => self.document.pointer(pointer).unwrap_or(json),
            None => json,
        }
    }

    fn text(&self, schema: &Json, name: &str, chance: &mut Chance) -> String {
        match self.value(schema, name, chance, 0) {
            Json::String(text) => text,
            other => other.to_string(),
        }
    }

    fn value(&self, schema: &Json, name: &str, chance: &mut Chance, depth: usize) -> Json {
        let schema = self.resolved(schema);
        if depth > 6 || chance.one_in(12) {
            return strange(chance);
        }
        if let Some(options) = schema["enum"].as_array() {
            return options[chance.below(options.len())].clone();
        }
        for several in ["oneOf", "anyOf", "allOf"] {
            if let Some(options) = schema[several].as_array() {
                return self.value(&options[chance.below(options.len())], name, chance, depth + 1);
            }
        }
        let kind = match &schema["type"] {
            Json::Array(kinds) => kinds[chance.below(kinds.len())].as_str().unwrap_or_default(),
            kind => kind.as_str().unwrap_or_default(),
        };
        match kind {
            "string" => self.string(schema, name, chance),
            "integer" => json!(chance.below(200) as i64 - 20),
            "number" => json!(chance.below(20_000) as f64 / 100.0 - 20.0),
            "boolean" => json!(chance.one_in(2)),
            "array" => {
                let count = chance.below(4);
                Json::Array(
                    (0..count)
                        .map(|_| self.value(&schema["items"], name, chance, depth + 1))
                        .collect(),
                )
            }
            "object" => {
                let mut members = Map::new();
                for (name, member) in schema["properties"].as_object().into_iter().flatten() {
                    let required = schema["required"]
                        .as_array()
                        .is_some_and(|all| all.contains(&json!(name)));
                    if (required && !chance.one_in(15)) || chance.one_in(2) {
                        members.insert(name.clone(), self.value(member, name, chance, depth + 1));
                    }
                }
                if chance.one_in(15) {
                    members.insert(chance.of(&TEXTS).to_owned(), strange(chance));
                }
                Json::Object(members)
            }
            _ => strange(chance),
        }
    }

    fn string(&self, schema: &Json, name: &str, chance: &mut Chance) -> Json {
        let known = !self.known.is_empty() && name.to_lowercase().ends_with("id") && !chance.one_in(4);
        if known {
            let at = chance.below(self.known.len());
            return json!(self.known.iter().nth(at));
        }
        let examples = schema["examples"]
            .as_array()
            .and_then(|all| all.first())
            .or(schema.get("example"));
        match (examples, schema["format"].as_str()) {
            (Some(example), _) if !chance.one_in(3) => example.clone(),
            (_, Some("date")) => json!(format!("2026-{:02}-{:02}", 1 + chance.below(12), 1 + chance.below(28))),
            (_, Some("date-time")) => json!(format!("2026-{:02}-01T12:00:00Z", 1 + chance.below(12))),
            _ if chance.one_in(4) => json!(chance.of(&TEXTS)),
            _ if chance.one_in(30) => json!("long ".repeat(chance.below(3_000))),
            _ => json!(format!("text {}", chance.below(1_000))),
        }
    }
}

fn strange(chance: &mut Chance) -> Json {
    match chance.below(8) {
        0 => Json::Null,
        1 => json!([]),
        2 => json!({}),
        3 => json!(chance.of(&TEXTS)),
        4 => json!(i64::MAX),
        5 => json!(-0.0),
        6 => (0..20).fold(Json::Null, |inner, _| json!([inner])),
        _ => json!("x".repeat(chance.below(2_000))),
    }
}

fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte as char),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
