//! TypeScript from operations and schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};
use singlet_model::Model;

use super::ClientDocument;
use crate::openapi::{ClientOperation, ID_EXTENSION, pascal_case};

/// What every client has: how requests are sent, tried again and answered.
const SERVICE: &str = include_str!("service.ts");

/// Names that the client has for itself, or that it needs from the language.
const TAKEN: [&str; 39] = [
    "AbortController",
    "AbortSignal",
    "Answer",
    "Array",
    "AsyncGenerator",
    "AsyncIterable",
    "CallOptions",
    "ClientOptions",
    "Done",
    "Error",
    "Headers",
    "Id",
    "JSON",
    "Listed",
    "Math",
    "NoArguments",
    "Number",
    "Object",
    "Page",
    "PageOptions",
    "Paged",
    "Problem",
    "Promise",
    "Readonly",
    "ReadonlyArray",
    "Record",
    "Refused",
    "RefusedError",
    "RequestInit",
    "Response",
    "Sent",
    "Service",
    "ServiceError",
    "String",
    "Symbol",
    "TypeError",
    "URL",
    "URLSearchParams",
    "WriteOptions",
];

/// The whole file.
pub(super) fn client_text(model: &Model, document: &ClientDocument) -> String {
    let mut names = TypeNames::default();
    let mut ids = BTreeSet::new();
    collect_ids(&document.schemas, &mut ids);
    for operation in &document.operations {
        collect_ids(&operation.described, &mut ids);
    }
    let empty = Map::new();
    let schemas = document.schemas.as_object().unwrap_or(&empty);
    for name in schemas.keys().filter(|name| *name != "Problem") {
        names.take(name);
    }
    for id in &ids {
        names.take_id(id);
    }
    let mut out = format!(
        "// The client of `{}`, written by `singlet client typescript`. What is changed here is lost when it is written again.\n\n",
        model.name
    );
    out.push_str(SERVICE);
    out.push('\n');
    for id in &ids {
        let name = names.id(id);
        let _ = writeln!(
            out,
            "export type {name} = Id<\"{id}\">;\nexport const {name} = (text: string): {name} => text as {name};\n"
        );
    }
    for (name, schema) in schemas.iter().filter(|(name, _)| *name != "Problem") {
        let _ = writeln!(out, "export type {} = {};\n", names.of(name), names.written(schema));
    }
    let header = model.callers.api_key_header.as_deref().unwrap_or("x-api-key");
    let class = names.free(&format!("{}Client", pascal_case(&model.name)));
    let mut methods = String::new();
    for operation in &document.operations {
        let method = Method::of(operation, document, &mut names);
        out.push_str(&method.refusal_type());
        methods.push_str(&method.text());
    }
    let _ = write!(
        out,
        "export class {class} {{\n  readonly #service: Service;\n\n  constructor(options: ClientOptions) {{\n    this.#service = new Service(options, {});\n  }}\n{methods}}}\n",
        quoted(header)
    );
    out
}

fn collect_ids(schema: &Json, into: &mut BTreeSet<String>) {
    match schema {
        Json::Object(members) => {
            into.extend(members.get(ID_EXTENSION).and_then(Json::as_str).map(str::to_owned));
            members.values().for_each(|member| collect_ids(member, into));
        }
        Json::Array(elements) => elements.iter().for_each(|element| collect_ids(element, into)),
        _ => {}
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// The names of types. What the model calls like something of the client's own has a stroke after it.
#[derive(Default)]
struct TypeNames {
    schemas: BTreeMap<String, String>,
    ids: BTreeMap<String, String>,
    taken: BTreeSet<String>,
}

impl TypeNames {
    fn free(&mut self, wanted: &str) -> String {
        let letters: String = wanted
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() { char } else { '_' })
            .collect();
        let mut name = match letters.starts_with(|first: char| first.is_ascii_digit()) {
            true => format!("_{letters}"),
            false => letters,
        };
        while TAKEN.contains(&name.as_str()) || !self.taken.insert(name.clone()) {
            name.push('_');
        }
        name
    }

    fn take(&mut self, schema: &str) {
        let name = self.free(schema);
        self.schemas.insert(schema.to_owned(), name);
    }

    fn take_id(&mut self, id: &str) {
        let name = self.free(id);
        self.ids.insert(id.to_owned(), name);
    }

    fn of(&self, schema: &str) -> &str {
        self.schemas.get(schema).map_or("unknown", String::as_str)
    }

    fn id(&self, id: &str) -> &str {
        self.ids.get(id).map_or("string", String::as_str)
    }

    /// A schema as a type.
    fn written(&self, schema: &Json) -> String {
        if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
            return self.of(reference.rsplit('/').next().unwrap_or_default()).to_owned();
        }
        if let Some(id) = schema.get(ID_EXTENSION).and_then(Json::as_str) {
            return self.id(id).to_owned();
        }
        if let Some(all) = schema.get("anyOf").and_then(Json::as_array) {
            return self.joined(all.iter().map(|one| self.written(one)));
        }
        if let Some(all) = schema.get("enum").and_then(Json::as_array) {
            return self.joined(all.iter().map(Json::to_string));
        }
        match schema.get("type") {
            Some(Json::String(kind)) => self.of_kind(kind, schema),
            Some(Json::Array(kinds)) => {
                let kinds = kinds.iter().filter_map(Json::as_str);
                self.joined(kinds.map(|kind| self.of_kind(kind, schema)))
            }
            _ => "unknown".to_owned(),
        }
    }

    fn joined(&self, parts: impl Iterator<Item = String>) -> String {
        let mut all: Vec<String> = Vec::new();
        for part in parts {
            if !all.contains(&part) {
                all.push(part);
            }
        }
        match all.as_slice() {
            [one] => one.clone(),
            _ => format!("({})", all.join(" | ")),
        }
    }

    fn of_kind(&self, kind: &str, schema: &Json) -> String {
        match kind {
            "string" => "string".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => {
                let items = schema.get("items").map(|items| self.written(items));
                format!("ReadonlyArray<{}>", items.as_deref().unwrap_or("unknown"))
            }
            "object" => self.object(schema),
            _ => "unknown".to_owned(),
        }
    }

    fn object(&self, schema: &Json) -> String {
        if let Some(properties) = schema.get("properties").and_then(Json::as_object) {
            let required: Vec<&str> = schema
                .get("required")
                .and_then(Json::as_array)
                .map(|names| names.iter().filter_map(Json::as_str).collect())
                .unwrap_or_default();
            let members = properties.iter().map(|(name, schema)| {
                let ty = self.written(schema);
                match required.contains(&name.as_str()) {
                    true => format!("readonly {}: {ty}", member(name)),
                    false => format!("readonly {}?: {ty} | undefined", member(name)),
                }
            });
            let members: Vec<String> = members.collect();
            return match members.is_empty() {
                true => "NoArguments".to_owned(),
                false => format!("{{ {} }}", members.join("; ")),
            };
        }
        let within = schema.get("additionalProperties").filter(|within| within.is_object());
        let within = within.map_or_else(|| "unknown".to_owned(), |within| self.written(within));
        match schema.get("propertyNames") {
            Some(keys) => format!("{{ readonly [key in {}]?: {within} }}", self.written(keys)),
            None => format!("{{ readonly [key: string]: {within} }}"),
        }
    }
}

/// A member's name: as it is where it is an identifier, else in quotes.
fn member(name: &str) -> String {
    let identifier = name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
        && !name.starts_with(|first: char| first.is_ascii_digit());
    if identifier { name.to_owned() } else { quoted(name) }
}

/// An argument of a method.
struct MethodArgument {
    name: String,
    ty: String,
    required: bool,
    place: ArgumentPlace,
}

#[derive(PartialEq)]
enum ArgumentPlace {
    Path,
    Query,
    Body,
}

/// What a method answers with.
enum MethodAnswer {
    Value(String),
    List { row: String, bare: bool },
    Paged(String),
}

struct Method<'d> {
    operation: &'d ClientOperation,
    arguments: Vec<MethodArgument>,
    /// Parameters of the query that are always the same.
    fixed: Vec<(String, String)>,
    answered: MethodAnswer,
    refusals: Vec<String>,
    refusal_name: String,
    is_keyed: bool,
    needs_key: bool,
    needs_version: bool,
    has_body: bool,
}

impl<'d> Method<'d> {
    fn of(operation: &'d ClientOperation, document: &'d ClientDocument, names: &mut TypeNames) -> Self {
        let described = &operation.described;
        let mut arguments = Vec::new();
        let mut fixed = Vec::new();
        let (mut is_keyed, mut needs_key, mut needs_version) = (false, false, false);
        let mut is_paged = false;
        for parameter in described
            .get("parameters")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
        {
            let of_all = parameter
                .get("$ref")
                .and_then(Json::as_str)
                .and_then(|reference| reference.rsplit('/').next());
            let required = parameter.get("required") == Some(&Json::Bool(true));
            let name = of_all
                .or(parameter.get("name").and_then(Json::as_str))
                .unwrap_or_default();
            let place = parameter.get("in").and_then(Json::as_str);
            match (of_all.is_some() || place == Some("header"), name) {
                (true, "Idempotency-Key") => (is_keyed, needs_key) = (true, required),
                (true, "If-Match") => needs_version = required,
                (true, "cursor") => is_paged = true,
                (true, _) => {}
                (false, name) => {
                    let schema = parameter.get("schema").unwrap_or(&Json::Null);
                    let only = schema.get("enum").and_then(Json::as_array);
                    let is_fixed = !operation.arguments.iter().any(|known| known == name);
                    if let Some([Json::String(only)]) = only.map(Vec::as_slice).filter(|_| is_fixed) {
                        fixed.push((name.to_owned(), only.clone()));
                        continue;
                    }
                    let is_place = schema.get("pattern").is_some() && schema.get("description").is_some();
                    arguments.push(MethodArgument {
                        name: name.to_owned(),
                        ty: match is_place {
                            true => "`${number},${number}`".to_owned(),
                            false => names.written(schema),
                        },
                        required,
                        place: if place == Some("path") {
                            ArgumentPlace::Path
                        } else {
                            ArgumentPlace::Query
                        },
                    });
                }
            }
        }
        let body = request_body(described, document);
        arguments.extend(body.map(|body| body_arguments(body, names)).into_iter().flatten());
        let refusal_name = names.free(&format!("{}Refusal", pascal_case(&operation.name)));
        Method {
            operation,
            arguments,
            fixed,
            answered: answered(described, is_paged, names),
            refusals: refusals(described, document),
            refusal_name,
            is_keyed,
            needs_key,
            needs_version,
            has_body: described.get("requestBody").is_some(),
        }
    }

    fn refusal_type(&self) -> String {
        let all: Vec<String> = self.refusals.iter().map(|name| quoted(name)).collect();
        let all = if all.is_empty() {
            "never".to_owned()
        } else {
            all.join(" | ")
        };
        format!("export type {} = {all};\n\n", self.refusal_name)
    }

    fn text(&self) -> String {
        let name = match self.operation.name.as_str() {
            "constructor" => "constructor_",
            // What has a `then` is waited for.
            "then" => "then_",
            name => name,
        };
        let refusal = &self.refusal_name;
        let returned = match &self.answered {
            MethodAnswer::Value(value) => format!("Promise<Answer<{value}, {refusal}>>"),
            MethodAnswer::List { row, .. } => format!("Listed<{row}, {refusal}>"),
            MethodAnswer::Paged(part) => format!("Paged<{part}, {refusal}>"),
        };
        format!(
            "\n  /** `{} {}` */\n  {name}({}, {}): {returned} {{\n{}  }}\n",
            self.operation.method,
            self.operation.path,
            self.arguments_text(),
            self.options_text(),
            self.body_text()
        )
    }

    fn arguments_text(&self) -> String {
        if self.arguments.is_empty() {
            // Options come second whatever an operation takes.
            let default = if self.needs_version { "" } else { " = {}" };
            return format!("_args: NoArguments{default}");
        }
        let members: Vec<String> = self
            .arguments
            .iter()
            .map(|argument| match argument.required {
                true => format!("readonly {}: {}", member(&argument.name), argument.ty),
                false => format!("readonly {}?: {} | undefined", member(&argument.name), argument.ty),
            })
            .collect();
        let all_optional = self.arguments.iter().all(|argument| !argument.required) && !self.needs_version;
        let default = if all_optional { " = {}" } else { "" };
        format!("args: {{ {} }}{default}", members.join("; "))
    }

    fn options_text(&self) -> String {
        match (&self.answered, self.operation.is_write, self.needs_version) {
            (_, true, true) => "options: WriteOptions & { readonly ifMatch: string }".to_owned(),
            (_, true, false) => "options: WriteOptions = {}".to_owned(),
            (MethodAnswer::Value(_), false, _) => "options: CallOptions = {}".to_owned(),
            _ => "options: PageOptions = {}".to_owned(),
        }
    }

    fn body_text(&self) -> String {
        let refusals: Vec<String> = self.refusals.iter().map(|name| quoted(name)).collect();
        let refusals = format!("[{}]", refusals.join(", "));
        let path = self.path_text();
        let mut query: Vec<String> = self
            .fixed
            .iter()
            .map(|(name, value)| format!("[{}, {}]", quoted(name), quoted(value)))
            .collect();
        let in_query = self
            .arguments
            .iter()
            .filter(|argument| argument.place == ArgumentPlace::Query);
        query.extend(in_query.map(|argument| format!("[{}, {}]", quoted(&argument.name), access(&argument.name))));
        let pages = !matches!(self.answered, MethodAnswer::Value(_));
        if pages {
            query.push("[\"limit\", options.limit]".to_owned());
            query.push("[\"cursor\", cursor]".to_owned());
        }
        let query = match query.is_empty() {
            true => String::new(),
            false => format!(", query: [{}]", query.join(", ")),
        };
        let in_body = self
            .arguments
            .iter()
            .filter(|argument| argument.place == ArgumentPlace::Body);
        let members: Vec<String> = in_body
            .map(|argument| format!("{}: {}", member(&argument.name), access(&argument.name)))
            .collect();
        let body = match self.has_body {
            true => format!(", body: {{ {} }}", members.join(", ")),
            false => String::new(),
        };
        let method = quoted(&self.operation.method);
        let sent = format!("method: {method}, path: {path}{query}{body}");
        match &self.answered {
            _ if self.operation.is_write => format!(
                "    return this.#service.write({{ {sent}, repeats: false }}, {refusals}, options, {});\n",
                self.is_keyed || self.needs_key
            ),
            MethodAnswer::Value(_) => format!(
                "    return this.#service.ask({{ {sent}, repeats: true, signal: options.signal }}, {refusals});\n"
            ),
            MethodAnswer::List { bare, .. } => format!(
                "    return new Listed((cursor) => this.#service.{}({{ {sent}, repeats: true, signal: options.signal }}, {refusals}));\n",
                if *bare { "askBare" } else { "ask" }
            ),
            MethodAnswer::Paged(_) => format!(
                "    return new Paged((cursor) => this.#service.ask({{ {sent}, repeats: true, signal: options.signal }}, {refusals}));\n"
            ),
        }
    }

    fn path_text(&self) -> String {
        let mut text = String::from("`");
        for part in self.operation.path.split_inclusive('/') {
            let (part, slash) = match part.strip_suffix('/') {
                Some(part) => (part, "/"),
                None => (part, ""),
            };
            match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
                Some(name) => {
                    let _ = write!(text, "${{segment({})}}", access(name));
                }
                None => text.push_str(&part.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${")),
            }
            text.push_str(slash);
        }
        text.push('`');
        text
    }
}

fn access(name: &str) -> String {
    match member(name) {
        quoted if quoted.starts_with('"') => format!("args[{quoted}]"),
        name => format!("args.{name}"),
    }
}

fn request_body<'d>(described: &'d Json, document: &'d ClientDocument) -> Option<&'d Json> {
    let schema = described
        .get("requestBody")?
        .get("content")?
        .get("application/json")?
        .get("schema")?;
    let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
    document.schemas.get(name)
}

fn body_arguments(body: &Json, names: &TypeNames) -> Vec<MethodArgument> {
    let required: Vec<&str> = body
        .get("required")
        .and_then(Json::as_array)
        .map(|names| names.iter().filter_map(Json::as_str).collect())
        .unwrap_or_default();
    let properties = body.get("properties").and_then(Json::as_object).into_iter().flatten();
    properties
        .map(|(name, schema)| MethodArgument {
            name: name.clone(),
            ty: names.written(schema),
            required: required.contains(&name.as_str()),
            place: ArgumentPlace::Body,
        })
        .collect()
}

/// What success has, whichever status it is.
fn answered(described: &Json, is_paged: bool, names: &TypeNames) -> MethodAnswer {
    let empty = Map::new();
    let responses = described.get("responses").and_then(Json::as_object).unwrap_or(&empty);
    let mut values = Vec::new();
    for (status, response) in responses.iter().filter(|(status, _)| status.starts_with('2')) {
        let schema = response
            .get("content")
            .and_then(|content| content.get("application/json"))
            .and_then(|media| media.get("schema"));
        match schema.filter(|_| status != "204") {
            Some(schema) if is_paged => return paged(schema, names),
            Some(schema) => values.push(names.written(schema)),
            None => values.push("undefined".to_owned()),
        }
    }
    MethodAnswer::Value(names.joined(values.into_iter()))
}

fn paged(schema: &Json, names: &TypeNames) -> MethodAnswer {
    let items = |schema: &Json| schema.get("items").map(|items| names.written(items));
    if schema.get("type").and_then(Json::as_str) == Some("array") {
        let row = items(schema).unwrap_or_else(|| "unknown".to_owned());
        return MethodAnswer::List { row, bare: true };
    }
    let properties = schema.get("properties").and_then(Json::as_object);
    let is_list = properties.is_some_and(|all| all.len() == 2 && all.contains_key("items") && all.contains_key("next"));
    match properties.and_then(|all| all.get("items")).filter(|_| is_list) {
        Some(list) => MethodAnswer::List {
            row: items(list).unwrap_or_else(|| "unknown".to_owned()),
            bare: false,
        },
        None => MethodAnswer::Paged(names.written(schema)),
    }
}

/// The names of all problems that an operation may answer with.
fn refusals(described: &Json, document: &ClientDocument) -> Vec<String> {
    let empty = Map::new();
    let responses = described.get("responses").and_then(Json::as_object).unwrap_or(&empty);
    let mut found = BTreeSet::new();
    for (_, response) in responses.iter().filter(|(status, _)| !status.starts_with('2')) {
        let shared = response
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|reference| document.responses.get(reference.rsplit('/').next()?));
        let mut types = BTreeSet::new();
        collect_types(shared.unwrap_or(response), &mut types);
        let names = types.iter().filter_map(|uri| uri.rsplit(':').next());
        found.extend(names.map(str::to_owned));
    }
    found.into_iter().collect()
}

fn collect_types(response: &Json, into: &mut BTreeSet<String>) {
    match response {
        Json::Object(members) => members.values().for_each(|member| collect_types(member, into)),
        Json::Array(elements) => elements.iter().for_each(|element| collect_types(element, into)),
        Json::String(text) if text.starts_with("urn:problem-type:") => {
            into.insert(text.clone());
        }
        _ => {}
    }
}
