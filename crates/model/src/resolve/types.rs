//! Pass 2: named types, and the type of every attribute.

use std::collections::HashMap;
use std::sync::Arc;

use super::Resolver;
use super::built_in_types::{BUILT_IN, built_in, common_names};
use super::table::{flag_field, text_list};
use super::type_size::{self, TooLarge};
use super::type_syntax::{self, WrittenBase, WrittenType};
use crate::catalog::AttributeName;
use crate::diagnostic::Diagnostic;
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::text_forms::{TEXT_FORMS, TextForm};
use crate::types::{
    EntityId, EnumType, LengthLimits, MODEL_TYPE_PARTS_MAX, ObjectField, ObjectType, TYPE_LEVELS_MAX, TYPE_PARTS_MAX,
    TextLimits, Type,
};

/// What is known of types so far.
#[derive(Default)]
pub(super) struct TypeTable {
    named: HashMap<String, TypeProgress<Type>>,
    attributes: HashMap<(String, String), TypeProgress<Declared>>,
    /// How many types are being worked out, each because the one before it names it.
    begun: usize,
    /// How many parts all types have so far.
    parts: usize,
}

/// How many types may each be defined by the next.
const TYPES_IN_A_ROW_MAX: usize = 64;

/// A type that is being worked out is met again only where it depends on itself.
#[derive(Clone)]
enum TypeProgress<T> {
    Begun,
    Done(Option<T>),
}

/// A type as declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub ty: Type,
    pub optional: bool,
    pub default: Option<Text>,
    /// The entity and attribute whose type it is.
    pub reference: Option<(EntityId, String)>,
}

impl Declared {
    fn of(ty: Type) -> Self {
        Declared {
            ty,
            optional: false,
            default: None,
            reference: None,
        }
    }
}

impl Resolver<'_> {
    /// Types every declared attribute, and tells the catalog. Mirrors follow, since they carry attributes of others.
    pub(super) fn attribute_types(&mut self, types: &mut TypeTable) {
        let mut named: Vec<&Entry> = self.type_nodes.values().copied().collect();
        named.sort_by_key(|entry| entry.key.span.start);
        for entry in named {
            self.named_type(&entry.key.text, types);
        }
        let entities: Vec<(EntityId, String)> = self
            .names
            .catalog
            .entity_names()
            .enumerate()
            .map(|(at, name)| (EntityId(at as u32), name.to_owned()))
            .collect();
        for (id, name) in &entities {
            self.types_of_entity(*id, name, types);
        }
        for (id, name) in &entities {
            self.carried_types(*id, name);
        }
    }

    fn types_of_entity(&mut self, id: EntityId, name: &str, types: &mut TypeTable) {
        let Some(attributes) = self
            .entity_nodes
            .get(name)
            .and_then(|entry| entry.value.get("attributes"))
        else {
            return;
        };
        for entry in attributes.entries() {
            let declared = self.attribute_type(name, &entry.key.text, types);
            let (ty, optional) = declared.map_or((Type::Unknown, false), |declared| (declared.ty, declared.optional));
            if let Some(names) = self.names.catalog.names_mut(id) {
                names.set_attribute(AttributeName {
                    name: entry.key.text.clone(),
                    ty,
                    optional,
                });
            }
        }
    }

    fn carried_types(&mut self, id: EntityId, name: &str) {
        let Some(node) = self.entity_nodes.get(name).map(|entry| &entry.value) else {
            return;
        };
        let Some(source) = node
            .get("mirrors")
            .and_then(Node::str)
            .and_then(|name| self.names.catalog.entity(name))
        else {
            return;
        };
        let all = node.get("carries").is_none_or(|carries| carries.str() == Some("all"));
        let listed = text_list(node.get("carries"));
        let in_key = |attribute: &str| key_mentions(node, attribute);
        let carried: Vec<AttributeName> = self
            .names
            .catalog
            .names(source)
            .map_or(&[][..], |names| names.attributes())
            .iter()
            .filter(|attribute| all || listed.contains(&attribute.name) || in_key(&attribute.name))
            .cloned()
            .collect();
        if let Some(names) = self.names.catalog.names_mut(id) {
            carried.into_iter().for_each(|attribute| names.set_attribute(attribute));
        }
    }

    /// The type of an entity's attribute, following `Entity.attribute` as far as it leads.
    pub(super) fn attribute_type(&mut self, entity: &str, attribute: &str, types: &mut TypeTable) -> Option<Declared> {
        let at = (entity.to_owned(), attribute.to_owned());
        match types.attributes.get(&at) {
            Some(TypeProgress::Done(known)) => return known.clone(),
            Some(TypeProgress::Begun) => return None,
            None => types.attributes.insert(at.clone(), TypeProgress::Begun),
        };
        let node = &self.entity_nodes.get(entity)?.value;
        types.begun += 1;
        let declared = match node.get("attributes").and_then(|attributes| attributes.get(attribute)) {
            Some(declaration) if types.begun > TYPES_IN_A_ROW_MAX => {
                self.too_many_in_a_row(declaration.span());
                None
            }
            Some(declaration) => self.declared(declaration, types),
            None => {
                let source = node
                    .get("mirrors")
                    .and_then(Node::str)
                    .filter(|_| types.begun <= TYPES_IN_A_ROW_MAX);
                source.and_then(|source| self.attribute_type(source, attribute, types))
            }
        };
        types.begun -= 1;
        types.attributes.insert(at, TypeProgress::Done(declared.clone()));
        declared
    }

    /// The type of a declaration in its short or long form.
    pub(super) fn declared(&mut self, node: &Node, types: &mut TypeTable) -> Option<Declared> {
        let declared = match node {
            Node::Scalar(text) => self.short_form(text, types),
            Node::Map(..) => self.long_form(node, types),
            Node::List(..) => None,
        };
        declared.filter(|declared| self.is_of_size(&declared.ty, node.span(), types))
    }

    /// Whether a type is as large as types may be; a finding where it is not.
    fn is_of_size(&mut self, ty: &Type, span: Span, types: &mut TypeTable) -> bool {
        let message = match type_size::type_parts(ty) {
            Ok(parts) => {
                let before = types.parts;
                types.parts = before.saturating_add(parts);
                if types.parts <= MODEL_TYPE_PARTS_MAX {
                    return true;
                }
                if before > MODEL_TYPE_PARTS_MAX {
                    return false;
                }
                format!("with this the types of the model have more than {MODEL_TYPE_PARTS_MAX} parts")
            }
            Err(TooLarge::Parts) => {
                format!("this type has more than {TYPE_PARTS_MAX} parts, the fields of its fields included")
            }
            Err(TooLarge::Levels) => format!("this type nests deeper than the {TYPE_LEVELS_MAX} levels of DynamoDB"),
        };
        let help = "use `json` for what is never asked for by name, or `map(…)` for many fields of one type";
        self.out
            .push(Diagnostic::new(&rules::BAD_TYPE, span, message).help(help));
        false
    }

    fn too_many_in_a_row(&mut self, span: Span) {
        let message = format!("more than {TYPES_IN_A_ROW_MAX} types are each defined by the next");
        let help = "name the type itself, or define each type before those that use it";
        self.out
            .push(Diagnostic::new(&rules::BAD_TYPE, span, message).help(help));
    }

    fn long_form(&mut self, node: &Node, types: &mut TypeTable) -> Option<Declared> {
        if let Some(by) = node.entry("by") {
            let help = "use `json` for a value whose type another attribute decides";
            self.not_yet(by.key.span, "a type that another attribute decides", help);
            return None;
        }
        let mut declared = if let Some(text) = node.get("type").and_then(Node::text) {
            self.short_form(text, types)?
        } else if let Some(object) = node.get("object") {
            Declared::of(self.object_type(object, "", types))
        } else if let Some(words) = node.get("enum") {
            Declared::of(enum_type(words, "", node.get("was")))
        } else {
            // What `is` or `copy` computes has the type of its expression.
            Declared::of(Type::Unknown)
        };
        declared.optional |= flag_field(node, "optional");
        if let Some(only) = node.get("in") {
            declared.ty = self.only(declared.ty, only);
        }
        Some(declared)
    }

    fn short_form(&mut self, text: &Text, types: &mut TypeTable) -> Option<Declared> {
        match type_syntax::parse_type(text, &mut self.patterns) {
            Ok(written) => self.written(&written, types),
            Err(diagnostic) => {
                self.out.push(*diagnostic);
                None
            }
        }
    }

    fn written(&mut self, written: &WrittenType, types: &mut TypeTable) -> Option<Declared> {
        let mut declared = self.base(&written.base, types)?;
        // `Booking.reason` as a type means its type; whether it may be left out is said again.
        declared.optional = written.optional;
        declared.default = written.default.clone();
        if let Some(limit) = &written.limit {
            declared.ty = self.limited(declared.ty, limit);
        }
        Some(declared)
    }

    fn base(&mut self, base: &WrittenBase, types: &mut TypeTable) -> Option<Declared> {
        match base {
            WrittenBase::Name(name) => self.type_name(name, types),
            WrittenBase::Of(name, inner) => self.collection(name, inner, types),
            WrittenBase::OrWords(inner, words) => {
                let inner = self.base(inner, types)?;
                Some(Declared::of(Type::OrWords(Arc::new(inner.ty), words.clone().into())))
            }
        }
    }

    fn collection(&mut self, name: &Text, inner: &WrittenType, types: &mut TypeTable) -> Option<Declared> {
        if !["list", "set", "map"].contains(&name.text.as_str()) {
            self.no_collection(name);
            return None;
        }
        let inner = self.written(inner, types)?;
        let (element, limits) = (Arc::new(inner.ty), LengthLimits::default());
        let ty = match name.text.as_str() {
            "list" => Type::List(element, limits),
            "set" => Type::Set(element, limits),
            _ => Type::Map(element, limits),
        };
        if matches!(ty, Type::Set(ref element, _) if !element.is_textual() && !element.is_number() && !matches!(**element, Type::Bytes(_) | Type::Unknown))
        {
            let message = "a set holds strings, numbers or bytes";
            self.out
                .push(Diagnostic::new(&rules::BAD_TYPE, name.span, message).help("use `list(…)` for anything else"));
        }
        Some(Declared::of(ty))
    }

    /// `varchar(200)`, `string(200)`, `array(string)`.
    fn no_collection(&mut self, name: &Text) {
        let ours = common_names(&name.text);
        let diagnostic = match (ours, built_in(&name.text).is_some()) {
            (Some("list"), _) => {
                let message = format!("there is no type `{}`", name.text);
                Diagnostic::new(&rules::UNKNOWN_TYPE, name.span, message)
                    .help("did you mean `list`?")
                    .replace_with("list")
            }
            (Some(ours), _) => {
                let message = format!("there is no type `{}`", name.text);
                let help = format!("did you mean `{ours}`? a limit is a range after it: `{ours} ..200`");
                Diagnostic::new(&rules::UNKNOWN_TYPE, name.span, message).help(help)
            }
            (None, true) => {
                let message = format!("`{}` takes nothing in parentheses", name.text);
                let help = format!("a limit is a range after the type: `{} ..200`", name.text);
                Diagnostic::new(&rules::BAD_TYPE, name.span, message).help(help)
            }
            (None, false) => {
                let message = format!("`{}` takes no type in parentheses", name.text);
                Diagnostic::new(&rules::BAD_TYPE, name.span, message).help("only `list(…)`, `set(…)` and `map(…)` do")
            }
        };
        self.out.push(diagnostic);
    }

    fn type_name(&mut self, name: &Text, types: &mut TypeTable) -> Option<Declared> {
        if let Some(built_in) = built_in(&name.text) {
            return Some(Declared::of(built_in));
        }
        if let Some((entity, attribute)) = name.text.split_once('.') {
            return self.reference(name, entity, attribute, types);
        }
        if self.type_nodes.contains_key(name.text.as_str()) {
            return self.named_type(&name.text, types).map(Declared::of);
        }
        if let Some(form) = TextForm::form_named(&name.text) {
            // A test reads the patterns of all forms; where the model's own took all the steps there are, the last of them is told of.
            let pattern = self.patterns.read(form.pattern).map_err(|error| {
                let message = format!("`{}` cannot be read here: {error}", name.text);
                self.out.push(Diagnostic::new(&rules::BAD_TYPE, name.span, message));
            });
            let limits = TextLimits {
                length: form.length_limits(),
                pattern: Some(pattern.ok()?),
            };
            return Some(Declared::of(Type::Text(limits)));
        }
        if self.names.catalog.entity(&name.text).is_some() {
            let help = "name the attributes with `take`, or define an object under `types`";
            self.not_yet(name.span, "an entity as a type", help);
            return None;
        }
        let message = format!("there is no type `{}`", name.text);
        let forms = TEXT_FORMS.iter().map(|form| form.name);
        let known = BUILT_IN.into_iter().chain(forms).chain(self.type_nodes.keys().copied());
        let diagnostic = Diagnostic::new(&rules::UNKNOWN_TYPE, name.span, message);
        let diagnostic = match common_names(&name.text) {
            Some(ours) => diagnostic.help(format!("did you mean `{ours}`?")).replace_with(ours),
            None => diagnostic.did_you_mean(&name.text, known),
        };
        let diagnostic = match diagnostic.help {
            Some(_) => diagnostic,
            None => diagnostic.help(format!("define it under `types`, or use one of {}", BUILT_IN.join(" "))),
        };
        self.out.push(diagnostic);
        None
    }

    fn reference(&mut self, name: &Text, entity: &str, attribute: &str, types: &mut TypeTable) -> Option<Declared> {
        let Some(id) = self.names.catalog.entity(entity) else {
            self.find_entity(&name.part_text(0, entity.len()));
            return None;
        };
        let known = types.attributes.get(&(entity.to_owned(), attribute.to_owned()));
        let in_progress = matches!(known, Some(TypeProgress::Begun));
        let declared = self.attribute_type(entity, attribute, types);
        if declared.is_none() {
            let start = entity.len() + 1;
            let span = name.span_of(start, name.text.len());
            let exists = self
                .entity_nodes
                .get(entity)
                .and_then(|entry| entry.value.get("attributes")?.get(attribute))
                .is_some();
            if !exists {
                let diagnostic = unknown_declared(self, id, attribute, span);
                self.out.push(diagnostic);
            } else if in_progress {
                let message = format!("the type of `{}` depends on itself", name.text);
                self.out.push(Diagnostic::new(&rules::CYCLE, name.span, message));
            }
        }
        let mut declared = declared?;
        declared.reference = Some((id, attribute.to_owned()));
        declared.default = None;
        Some(declared)
    }

    fn named_type(&mut self, name: &str, types: &mut TypeTable) -> Option<Type> {
        let entry = *self.type_nodes.get(name)?;
        match types.named.get(name) {
            Some(TypeProgress::Done(known)) => return known.clone(),
            Some(TypeProgress::Begun) => {
                let message = format!("the type `{name}` depends on itself");
                self.out.push(Diagnostic::new(&rules::CYCLE, entry.key.span, message));
                return None;
            }
            None => types.named.insert(name.to_owned(), TypeProgress::Begun),
        };
        self.check_name(&entry.key, "a type");
        types.begun += 1;
        let ty = match &entry.value {
            _ if types.begun > TYPES_IN_A_ROW_MAX => {
                self.too_many_in_a_row(entry.key.span);
                None
            }
            Node::Scalar(text) => self.short_form(text, types).map(|declared| declared.ty),
            node => match (node.get("enum"), node.get("object")) {
                (Some(words), _) => Some(enum_type(words, name, node.get("was"))),
                (None, Some(object)) => Some(self.object_type(object, name, types)),
                (None, None) => {
                    let message = format!("the type `{name}` says nothing");
                    let help = "write `{enum: [a, b]}`, `{object: {…}}`, or a type such as `string 1..20`";
                    self.out
                        .push(Diagnostic::new(&rules::BAD_TYPE, entry.key.span, message).help(help));
                    None
                }
            },
        };
        types.begun -= 1;
        let ty = ty.filter(|ty| self.is_of_size(ty, entry.key.span, types));
        self.check_enum(entry.value.get("enum"), entry.key.span);
        types.named.insert(name.to_owned(), TypeProgress::Done(ty.clone()));
        ty
    }

    fn check_enum(&mut self, words: Option<&Node>, span: Span) {
        let Some(words) = words else { return };
        let elements = words.elements();
        if elements.is_empty() {
            self.out
                .push(Diagnostic::new(&rules::BAD_TYPE, span, "an enum has at least one word"));
        }
        let mut seen: HashMap<&str, Span> = HashMap::new();
        for text in elements.iter().filter_map(Node::text) {
            if let Some(first) = seen.insert(&text.text, text.span) {
                let message = format!("the enum has `{}` twice", text.text);
                self.out
                    .push(Diagnostic::new(&rules::BAD_TYPE, text.span, message).note(first, "first here"));
            }
        }
    }

    fn object_type(&mut self, node: &Node, name: &str, types: &mut TypeTable) -> Type {
        let mut fields = Vec::new();
        for entry in node.entries() {
            if let Some(personal) = entry.value.entry("personal") {
                let help = "say `personal` of the attribute that holds the object";
                self.not_yet(personal.key.span, "a field that is personal by itself", help);
            }
            self.check_no_past(&entry.value, "a field of an object");
            if let Some(declared) = self.declared(&entry.value, types) {
                fields.push(ObjectField {
                    name: entry.key.text.clone(),
                    ty: declared.ty,
                    optional: declared.optional,
                });
            }
        }
        let is_number = |name: &str| {
            fields
                .iter()
                .any(|field| field.name == name && field.ty.is_number() && !field.optional)
        };
        let is_place = is_number("lat") && is_number("lon");
        let object = Arc::new(ObjectType {
            name: name.to_owned(),
            fields,
        });
        match is_place {
            true => Type::Geo(Some(object)),
            false => Type::Object(object),
        }
    }
}

fn unknown_declared(resolver: &Resolver<'_>, entity: EntityId, name: &str, span: Span) -> Diagnostic {
    let entity_name = resolver.names.catalog.name(entity);
    let known = resolver
        .entity_nodes
        .get(entity_name)
        .and_then(|entry| entry.value.get("attributes"))
        .map_or(&[][..], Node::entries);
    let message = format!("`{entity_name}` has no attribute `{name}`");
    let known: Vec<&str> = known.iter().map(|entry| entry.key.text.as_str()).collect();
    super::suggest_names(
        Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, span, message),
        name,
        &known,
        "its attributes are",
    )
}

pub(super) fn enum_type(words: &Node, name: &str, were: Option<&Node>) -> Type {
    let were = were.map_or(&[][..], Node::entries).iter();
    let were = were.filter_map(|entry| Some((entry.key.text.clone(), entry.value.str()?.to_owned())));
    Type::Enum(Arc::new(EnumType {
        name: name.to_owned(),
        members: text_list(Some(words)),
        were: were.collect(),
    }))
}

/// Whether a template of the entity's key or index entries names the attribute: those are carried without saying.
fn key_mentions(node: &Node, attribute: &str) -> bool {
    let mentions = |node: &Node| {
        node.entries().iter().any(|entry| {
            let template = entry.value.str().unwrap_or_default();
            template.split('{').skip(1).any(|part| {
                let part = part.split('}').next().unwrap_or_default();
                let inner = part.rsplit('(').next().unwrap_or(part);
                let name = inner.split([')', ',', '.']).next().unwrap_or(inner);
                name.trim() == attribute
            })
        })
    };
    let any = |node: &Node| mentions(node) || node.elements().iter().any(mentions);
    let indexes = node.get("index").map_or(&[][..], Node::entries);
    node.get("key").is_some_and(any) || indexes.iter().any(|entry| any(&entry.value))
}
