//! What could be typed at a place: words of the language where it has words, names of the model where it has names.

use singlet_model::expression::{CallForm, FUNCTIONS};
use singlet_model::grammar::Shape;
use singlet_model::model::{Argument, Entity};
use singlet_model::types::Type;
use singlet_model::{Model, Span};

use crate::Document;
use crate::meaning::{ENTITY_FIELDS, FieldMeaning, field_meaning, first_name};
use crate::outline::{Outline, OutlinePlace};
use crate::shapes::{field_at, shapes_at};

/// The most that is offered at once.
const COMPLETIONS_MAX: usize = 500;

/// What kind of thing is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A field of the language.
    Field,
    /// A word of the language.
    Word,
    /// An entity.
    Entity,
    /// An attribute.
    Attribute,
    /// An argument, a setting or a claim.
    Value,
    /// A member of an enum, a state.
    Member,
    /// A function.
    Function,
    /// An index.
    Index,
    /// A type.
    Type,
    /// A read, a write, a tally, a move.
    Operation,
    /// A rule of the checker.
    Rule,
}

/// Something that could be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What is shown, and compared with what was typed.
    pub label: String,
    /// What is put there.
    pub text: String,
    /// In place of what.
    pub replaced: Span,
    /// What kind of thing it is.
    pub kind: CompletionKind,
    /// A few words beside it.
    pub detail: String,
    /// A sentence below it.
    pub doc: String,
}

/// What could be typed at a place.
pub(crate) fn completions_at(document: &Document, offset: usize) -> Vec<Completion> {
    let text = document.text();
    if text.get(..offset).is_none() || is_in_comment(text, offset) {
        return Vec::new();
    }
    let outline = Outline::of(text);
    let place = outline.place_at(text, offset);
    let mut offered = Offered {
        text,
        outline: &outline,
        place: &place,
        model: document.model(),
        replaced: word_before(text, offset),
        list: Vec::new(),
    };
    match place.is_key {
        true => offered.offer_keys(),
        false => offered.offer_values(),
    }
    let mut list = offered.list;
    list.dedup_by(|one, other| one.label == other.label && one.kind == other.kind);
    list.truncate(COMPLETIONS_MAX);
    list
}

/// The name that was begun before a place.
fn word_before(text: &str, offset: usize) -> Span {
    let before = text.get(..offset).unwrap_or_default();
    let start = before.rfind(|char: char| !char.is_alphanumeric() && char != '_');
    let start = start.map_or(0, |at| {
        at + before
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    });
    Span::new(start, offset)
}

fn is_in_comment(text: &str, offset: usize) -> bool {
    let before = text.get(..offset).unwrap_or_default();
    let line = before
        .get(before.rfind('\n').map_or(0, |newline| newline + 1)..)
        .unwrap_or_default();
    let is_begun = line.trim_start().starts_with('#') || line.contains(" # ");
    is_begun && line.matches('"').count().is_multiple_of(2)
}

struct Offered<'d> {
    text: &'d str,
    outline: &'d Outline,
    place: &'d OutlinePlace,
    model: Option<&'d Model>,
    replaced: Span,
    list: Vec<Completion>,
}

impl<'d> Offered<'d> {
    fn path(&self) -> Vec<&'d str> {
        self.outline.path(self.place.within)
    }

    fn offer(&mut self, kind: CompletionKind, label: &str, detail: impl Into<String>, doc: &str) {
        self.offer_text(kind, label, label.to_owned(), detail, doc);
    }

    fn offer_text(&mut self, kind: CompletionKind, label: &str, text: String, detail: impl Into<String>, doc: &str) {
        self.list.push(Completion {
            label: label.to_owned(),
            text,
            replaced: self.replaced,
            kind,
            detail: detail.into(),
            doc: doc.to_owned(),
        });
    }

    /// Fields that are not there yet, and names where the model chooses them among what it has.
    fn offer_keys(&mut self) {
        let path = self.path();
        let typed = self.place.typed;
        let present: Vec<&str> = (self.outline.children(self.place.within))
            .filter(|entry| entry.key_span.start != typed.start)
            .map(|entry| entry.key.as_str())
            .collect();
        for shape in shapes_at(&path) {
            match shape {
                Shape::Record(record) => {
                    let fields = record.fields.iter().filter(|field| !present.contains(&field.name));
                    for field in fields {
                        let detail = if field.required { "required" } else { "" };
                        let text = format!("{}: ", field.name);
                        self.offer_text(CompletionKind::Field, field.name, text, detail, field.doc);
                    }
                    if let Some((what, _)) = record.others {
                        self.offer_names(what, &path, &present);
                    }
                }
                Shape::Names(what, _) => self.offer_names(what, &path, &present),
                _ => {}
            }
        }
    }

    /// Names that may be keys: of attributes that are set, of indexes that have entries.
    fn offer_names(&mut self, what: &str, path: &[&str], present: &[&str]) {
        let Some(model) = self.model else { return };
        let is_declared_here = matches!(
            path,
            ["entities", _, "attributes"] | ["table", "indexes"] | ["entities" | "reads" | "writes"]
        );
        if is_declared_here {
            return;
        }
        let before = self.list.len();
        match what {
            "attribute" => self.offer_attributes(": "),
            "entity" => self.offer_entities(": "),
            "index" => {
                for index in &model.table.indexes {
                    self.offer_text(
                        CompletionKind::Index,
                        &index.name,
                        format!("{}: ", index.name),
                        "index",
                        "",
                    );
                }
            }
            "key attribute" => self.offer_key_attributes(path),
            "estimate" => {
                self.offer_entities(": ");
                let reads = model.reads.iter().map(|read| &read.name);
                for name in reads.chain(model.writes.iter().map(|write| &write.name)) {
                    self.offer_text(CompletionKind::Operation, name, format!("{name}: "), "", "");
                }
            }
            "state" => {
                for state in self.entity().map(states_of).unwrap_or_default() {
                    self.offer_text(CompletionKind::Member, state, format!("{state}: "), "state", "");
                }
            }
            "argument" => {
                let arguments: Vec<String> = self.arguments().map(|argument| argument.name.clone()).collect();
                for name in arguments {
                    self.offer_text(CompletionKind::Value, &name, format!("{name}: "), "argument", "");
                }
            }
            _ => {}
        }
        let kept: Vec<Completion> = (self.list.drain(before..))
            .filter(|offered| !present.contains(&offered.label.as_str()))
            .collect();
        self.list.extend(kept);
    }

    /// The attributes of the key of the table, or of the index that the path is in.
    fn offer_key_attributes(&mut self, path: &[&str]) {
        let Some(model) = self.model else { return };
        let index = model
            .table
            .indexes
            .iter()
            .find(|index| path.contains(&index.name.as_str()));
        let names: Vec<&str> = match index {
            Some(index) => index.key().map(|key| key.name.as_str()).collect(),
            None => model.table.key.iter().map(|key| key.name.as_str()).collect(),
        };
        for name in names {
            self.offer_text(
                CompletionKind::Attribute,
                name,
                format!("{name}: "),
                "key attribute",
                "",
            );
        }
    }

    fn offer_values(&mut self) {
        let path = self.path();
        let field = field_at(&path).map(|(record, field)| (record.name, field.name));
        let mut shapes = shapes_at(&path);
        // Within a bracket that is open the list holds the place.
        let elements: Vec<&Shape> = shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::List(inner) => Some(*inner),
                _ => None,
            })
            .collect();
        shapes.extend(elements);
        for shape in shapes {
            match shape {
                Shape::Words(words) => {
                    for word in *words {
                        self.offer(CompletionKind::Word, word, "", "");
                    }
                }
                Shape::Flag => {
                    for word in ["true", "false"] {
                        self.offer(CompletionKind::Word, word, "", "");
                    }
                }
                Shape::Type => self.offer_types(),
                Shape::Expr => self.offer_expression(self.typed(), false),
                Shape::Template => {
                    let typed = self.typed();
                    if let Some(open) = typed
                        .rfind('{')
                        .filter(|open| typed.rfind('}').is_none_or(|close| close < *open))
                    {
                        self.offer_expression(typed.get(open + 1..).unwrap_or_default(), true);
                    }
                }
                Shape::Name | Shape::Text | Shape::Whole => {
                    if let Some((record, field)) = field {
                        self.offer_by_meaning(record, field);
                    }
                }
                _ => {}
            }
        }
    }

    fn typed(&self) -> &'d str {
        self.text.get(self.place.typed.text_range()).unwrap_or_default()
    }

    fn offer_by_meaning(&mut self, record: &str, field: &str) {
        if (record, field) == ("model", "singlet") {
            self.offer(CompletionKind::Word, "1", "", "The version of the language.");
        }
        if (record, field) == ("states", "start") {
            for state in self.entity().map(states_of).unwrap_or_default() {
                self.offer(CompletionKind::Member, state, "state", "");
            }
        }
        let Some(model) = self.model else { return };
        match field_meaning(record, field) {
            Some(FieldMeaning::Entity) => self.offer_entities(""),
            Some(FieldMeaning::EntityPath) => match self.typed().split_once('.') {
                None => self.offer_entities(""),
                Some((entity, _)) => {
                    let entity = model.entity_named(first_name(entity));
                    for state in entity
                        .map(states_of)
                        .unwrap_or_default()
                        .iter()
                        .filter(|_| field == "enter")
                    {
                        self.offer(CompletionKind::Member, state, "state", "");
                    }
                    self.offer_attributes_of(entity, "");
                }
            },
            Some(FieldMeaning::Attributes) => self.offer_attributes(""),
            Some(FieldMeaning::Index) => {
                for index in &model.table.indexes {
                    self.offer(CompletionKind::Index, &index.name, "index", "");
                }
            }
            Some(FieldMeaning::Tally) => {
                for tally in &model.tallies {
                    self.offer(CompletionKind::Operation, &tally.name, "tally", "");
                }
            }
            Some(FieldMeaning::Move) => {
                let states = self.entity().and_then(|entity| entity.states.as_ref());
                for one in states.map(|states| states.moves.as_slice()).unwrap_or_default() {
                    let detail = format!("{} -> {}", one.from.join(" | "), one.to);
                    self.offer(CompletionKind::Operation, &one.name, detail, "");
                }
            }
            Some(FieldMeaning::Arguments | FieldMeaning::Route) => self.offer_arguments(),
            Some(FieldMeaning::Requirement | FieldMeaning::Lapse) => self.offer_expression(self.typed(), false),
            Some(FieldMeaning::Rule) => {
                for rule in singlet_lint::all_rules() {
                    self.offer(CompletionKind::Rule, rule.name, rule.code, rule.page_summary());
                }
            }
            Some(FieldMeaning::Subject) => {
                self.offer_entities("");
                let reads = model.reads.iter().map(|read| &read.name);
                for name in reads.chain(model.writes.iter().map(|write| &write.name)) {
                    self.offer(CompletionKind::Operation, name, "", "");
                }
            }
            None => {}
        }
    }

    /// What an expression could go on with.
    fn offer_expression(&mut self, typed: &str, in_key: bool) {
        let Some(model) = self.model else { return };
        let quoted = typed.strip_prefix(['"', '\'']).unwrap_or(typed);
        if quoted.matches('"').count() % 2 == 1 {
            return self.offer_members(quoted);
        }
        let chain = quoted.rfind(|char: char| !char.is_alphanumeric() && char != '_' && char != '.');
        let chain = quoted.get(chain.map_or(0, |at| at + 1)..).unwrap_or_default();
        if let Some((base, _)) = chain.rsplit_once('.') {
            return self.offer_behind_point(base);
        }
        self.offer_attributes("");
        self.offer_functions(in_key, CallForm::Function);
        if in_key {
            return;
        }
        self.offer_entities("(");
        for bound in self.bound_names() {
            self.offer(CompletionKind::Value, bound, "named here", "");
        }
        let words = [
            ("args", "The arguments of the request."),
            ("caller", "Who calls."),
            ("settings", "Values given at deployment."),
            ("row", "The row."),
            ("now", "The instant of the request."),
            ("today", "The day of the request, in the zone of the model."),
            ("absent", "No value."),
            ("true", ""),
            ("false", ""),
        ];
        let has_settings = !model.settings.is_empty();
        for (word, doc) in words
            .into_iter()
            .filter(|(word, _)| *word != "settings" || has_settings)
        {
            self.offer(CompletionKind::Word, word, "", doc);
        }
    }

    fn offer_behind_point(&mut self, base: &str) {
        let Some(model) = self.model else { return };
        match base {
            "args" => self.offer_arguments(),
            "caller" => {
                self.offer(
                    CompletionKind::Value,
                    "authenticated",
                    "bool",
                    "Whether somebody is known to call.",
                );
                for (name, ty) in model.callers.claim_types() {
                    self.offer(CompletionKind::Value, name, ty.to_string(), "");
                }
            }
            "settings" => {
                for setting in &model.settings {
                    self.offer(CompletionKind::Value, &setting.name, setting.ty.to_string(), "");
                }
            }
            "row" | "before" | "source" => self.offer_attributes(""),
            base => {
                let entity = model.entity_named(base).or_else(|| self.entity_of_bound(base));
                self.offer_attributes_of(entity, "");
                let object = self.entity().and_then(|entity| model.type_at(entity, base));
                let fields = object.and_then(|(ty, _)| ty.object_type().map(|object| object.fields.clone()));
                for field in fields.unwrap_or_default() {
                    self.offer(CompletionKind::Attribute, &field.name, field.ty.to_string(), "");
                }
                self.offer_functions(false, CallForm::Method);
            }
        }
    }

    /// The members of the enum that a quote is opened behind: `status == "`.
    fn offer_members(&mut self, typed: &str) {
        let before = typed.rsplit_once('"').map_or("", |(before, _)| before);
        let before = before.trim_end_matches(|char: char| !char.is_alphanumeric() && char != '_' && char != '"');
        let start = before.rfind(|char: char| !char.is_alphanumeric() && char != '_' && char != '.');
        let name = before.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
        let name = name.rsplit('.').next().unwrap_or_default();
        let of_attribute = self
            .entity()
            .and_then(|entity| entity.attribute(name))
            .map(|attribute| &attribute.ty);
        let of_argument = self
            .arguments()
            .find(|argument| argument.name == name)
            .map(|argument| &argument.ty);
        let members: Vec<String> = match of_attribute.or(of_argument) {
            Some(Type::Enum(words)) => words.members.clone(),
            _ => Vec::new(),
        };
        for member in members {
            self.offer(CompletionKind::Member, &member, name, "");
        }
    }

    fn offer_functions(&mut self, in_key: bool, form: CallForm) {
        for function in FUNCTIONS
            .iter()
            .filter(|function| function.form == form && (in_key || !function.key_only))
        {
            let text = format!("{}(", function.name);
            self.offer_text(
                CompletionKind::Function,
                function.name,
                text,
                function.signature,
                function.doc,
            );
        }
    }

    fn offer_types(&mut self) {
        let typed = self.typed();
        // Behind `=` stands a default.
        if let Some((_, default)) = typed.split_once('=') {
            return self.offer_expression(default.trim_start(), false);
        }
        if let Some((base, _)) = typed.rsplit_once('.') {
            let entity = self.model.and_then(|model| model.entity_named(base));
            return self.offer_attributes_of(entity, "");
        }
        for name in singlet_model::built_in_type_names() {
            self.offer(CompletionKind::Type, name, "type", "");
        }
        let types = self
            .outline
            .entries
            .iter()
            .filter(|entry| self.outline.path(entry.parent) == ["types"]);
        let types: Vec<&str> = types.map(|entry| entry.key.as_str()).collect();
        for name in types {
            self.offer(CompletionKind::Type, name, "named type", "");
        }
        self.offer_entities(".");
    }

    fn offer_entities(&mut self, after: &str) {
        for entity in self.model.map(|model| model.entities.as_slice()).unwrap_or_default() {
            let text = format!("{}{after}", entity.name);
            self.offer_text(CompletionKind::Entity, &entity.name, text, "entity", "");
        }
    }

    fn offer_attributes(&mut self, after: &str) {
        let entity = self.entity();
        self.offer_attributes_of(entity, after);
    }

    fn offer_attributes_of(&mut self, entity: Option<&'d Entity>, after: &str) {
        let (Some(entity), Some(model)) = (entity, self.model) else {
            return;
        };
        let source = model.source_of(entity);
        for attribute in source
            .attributes
            .iter()
            .chain(entity.attributes.iter().filter(|_| source.id != entity.id))
        {
            let optional = if attribute.optional { "?" } else { "" };
            let detail = format!("{}{optional}", attribute.ty);
            let text = format!("{}{after}", attribute.name);
            self.offer_text(CompletionKind::Attribute, &attribute.name, text, detail, "");
        }
    }

    fn offer_arguments(&mut self) {
        let arguments: Vec<(String, String)> = self
            .arguments()
            .map(|argument| (argument.name.clone(), argument.ty.to_string()))
            .collect();
        for (name, ty) in arguments {
            self.offer(CompletionKind::Value, &name, ty, "argument");
        }
    }

    /// The read or write that the place is in.
    fn operation(&self) -> Option<&'d str> {
        match self.path().as_slice() {
            ["reads" | "writes", name, ..] => Some(name),
            _ => None,
        }
    }

    fn arguments(&self) -> impl Iterator<Item = &'d Argument> {
        let name = self.operation().unwrap_or_default();
        let reads = self.model.into_iter().flat_map(|model| &model.reads);
        let writes = self.model.into_iter().flat_map(|model| &model.writes);
        let of_reads = reads.filter(move |read| read.name == name).flat_map(|read| &read.args);
        of_reads.chain(
            writes
                .filter(move |write| write.name == name)
                .flat_map(|write| &write.args),
        )
    }

    /// The entity whose attributes stand bare at the place: the one that the place is in, or that is read or written beside it.
    fn entity(&self) -> Option<&'d Entity> {
        let model = self.model?;
        let path = self.path();
        if let ["entities", name, ..] | ["search" | "estimates", name, ..] = path.as_slice()
            && let Some(entity) = model.entity_named(name)
        {
            return Some(entity);
        }
        let above = self.outline.ancestors(self.place.within).map(|(at, _)| at);
        for at in above {
            let beside = self
                .outline
                .children(Some(at))
                .filter(|entry| ENTITY_FIELDS.contains(&entry.key.as_str()));
            for entry in beside {
                let name = first_name(self.text.get(entry.value.text_range()).unwrap_or_default());
                if let Some(entity) = model.entity_named(name).or_else(|| self.entity_of_bound(name)) {
                    return Some(entity);
                }
            }
        }
        None
    }

    /// The names that `let` and `for` bind in the operation of the place.
    fn bound_names(&self) -> Vec<&'d str> {
        self.bound().map(|(name, _)| name).collect()
    }

    fn bound(&self) -> impl Iterator<Item = (&'d str, &'d str)> {
        let operation = self
            .outline
            .ancestors(self.place.within)
            .map(|(at, _)| at)
            .collect::<Vec<_>>();
        let operation = operation.iter().rev().nth(1).copied();
        let entries = self.outline.entries.iter().filter(move |entry| {
            let is_bound = |parent: usize| {
                let parent = self.outline.entry(parent);
                parent.is_some_and(|parent| matches!(parent.key.as_str(), "let" | "for"))
            };
            entry.parent.is_some_and(is_bound)
                && operation.is_some()
                && self
                    .outline
                    .ancestors(entry.parent)
                    .any(|(at, _)| Some(at) == operation)
        });
        entries.map(|entry| {
            let value = self.text.get(entry.value.text_range()).unwrap_or_default();
            let value = value.trim_start_matches('{').trim_start();
            let value = value
                .strip_prefix("find:")
                .or(value.strip_prefix("get:"))
                .unwrap_or(value);
            (entry.key.as_str(), first_name(value.trim_start()))
        })
    }

    fn entity_of_bound(&self, name: &str) -> Option<&'d Entity> {
        let entity = self.bound().find(|(bound, _)| *bound == name)?.1;
        self.model?.entity_named(entity)
    }
}

/// The states of an entity.
fn states_of(entity: &Entity) -> &[String] {
    let of = entity.states.as_ref().map(|states| states.of.as_str());
    match of.and_then(|of| entity.attribute(of)).map(|attribute| &attribute.ty) {
        Some(Type::Enum(words)) => &words.members,
        _ => &[],
    }
}
