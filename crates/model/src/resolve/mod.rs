//! From a tree of the right shape to a model: names are bound, types follow, meaning is checked.
//!
//! Passes, in order; each reports what it finds and goes on with what is left:
//!
//! 1. [`table`]: the table and its indexes.
//! 2. [`types`]: named types, and the type of every attribute; [`callers`], whose claims have types.
//! 3. [`attributes`]: defaults, computed values, copies; the types of computed attributes are inferred; which are [`personal`].
//! 4. [`keys`]: templates of the primary key and of index entries.
//! 5. [`promises`]: unique, states, expiry, history, exclusions, mirrors; [`cycles`]; [`lapses`]; what DynamoDB takes ([`limits`]).
//!    What was there before: [`past`].
//! 6. [`tallies`], [`reads`], [`writes`] with [`steps`], [`webhooks`].
//! 7. [`routes`]: no two requests with one meaning. Estimates and acceptances.

mod answers;
mod assignments;
mod attributes;
mod built_in_types;
mod callers;
mod chosen_keys;
mod cycles;
mod estimates;
mod kept_copies;
mod key_forms;
mod key_names;
mod keys;
mod lapses;
mod limits;
mod named_rows;
mod new_values;
mod numbers;
mod operation;
mod past;
mod patterns;
mod personal;
mod plan_work;
mod promises;
mod reads;
mod refusals;
mod route;
mod routes;
mod schedules;
mod searches;
mod selection;
mod steps;
mod table;
mod taken;
mod tallies;
mod template_syntax;
mod triggers;
mod type_limits;
mod type_size;
mod type_syntax;
mod types;
mod webhooks;
mod writes;

use std::collections::{HashMap, HashSet};

use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Absence, Claim, DeploymentSetting, Expr, RowWord, Scope, WordPresence, Words};
use crate::model::{Argument, Entity, Model, Role, Search, Table, Tally};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;
use crate::types::{EntityId, Type};

pub(crate) use built_in_types::built_in_type_names;
pub(crate) use key_forms::key_domain;
use patterns::PatternBook;

/// Whether a name means something by itself in expressions.
fn is_reserved(name: &str) -> bool {
    expression::RESERVED_NAMES.contains(&name) || matches!(name, "settings" | "request" | "response")
}

/// Whether a name cannot be bound: a write that runs after a change knows `before` besides, which arguments may be called.
fn is_reserved_for_values(name: &str) -> bool {
    is_reserved(name) || name == "before"
}

/// Resolves a file. The model is there even when something was found; with errors it is not whole.
pub(crate) fn resolve_file(root: &Node, out: &mut Diagnostics) -> Model {
    check_version(root, out);
    limits::check_model_name(root.get("name"), out);
    let (table, index_names) = table::resolve_table(root.get("table"), out);
    let mut resolver = Resolver {
        out,
        entity_nodes: by_name(root.get("entities")),
        step_nodes: by_name(root.get("steps")),
        type_nodes: by_name(root.get("types")),
        names: ExpressionNames {
            catalog: Catalog::default(),
            claims: Vec::new(),
            settings: Vec::new(),
        },
        index_names,
        table,
        patterns: PatternBook::default(),
        tally_list: Vec::new(),
        search_list: Vec::new(),
    };
    resolver.declare_entities(root);
    let mut types = types::TypeTable::default();
    resolver.attribute_types(&mut types);
    let callers = resolver.callers(root.get("callers"), &mut types);
    resolver.names.claims = callers::caller_claims(&callers);
    resolver.declare_key_variables();
    let settings = resolver.settings(root.get("settings"), &mut types);
    let mut entities = resolver.entities(&mut types);
    resolver.infer_computed(&mut entities);
    resolver.personal_attributes(&mut entities);
    resolver.keys(&mut entities);
    resolver.promises(&mut entities);
    resolver.check_past(root, &mut entities);
    resolver.check_cycles(&entities);
    limits::check_limits(&resolver.table, &entities, resolver.out);
    resolver.key_names(&entities);
    let steps = resolver.named_steps(root.get("steps"), &entities, &mut types);
    let zone = zone(root.get("zone"), resolver.out);
    resolver.tally_list = resolver.tallies(root.get("tallies"), &entities, &zone);
    resolver.search_list = resolver.searches(root.get("search"), &entities);
    let reads = resolver.reads(root.get("reads"), &entities, &mut types);
    let mut writes = resolver.writes(root.get("writes"), &entities, &steps, &mut types);
    let webhooks = resolver.webhooks(root.get("webhooks"), &entities, &writes);
    plan_work::check_plan_work(&entities, &reads, resolver.out);
    routes::check_routes(&reads, &writes, resolver.out);
    named_rows::check_named_rows((&entities, &steps), (&reads, &writes), resolver.out);
    chosen_keys::check_chosen_keys((&entities, &steps), (&reads, &writes), resolver.out);
    lapses::check_lapses(&entities, resolver.out);
    new_values::check_new_values((&entities, &steps), (&reads, &writes), resolver.out);
    writes.extend(resolver.kept_copies(&entities, &steps, &mut types));
    let Resolver {
        table,
        names,
        tally_list,
        search_list,
        ..
    } = resolver;
    let catalog = names.catalog;
    let operations = reads
        .iter()
        .map(|read| read.name.as_str())
        .chain(writes.iter().map(|write| write.name.as_str()));
    let subjects: HashSet<&str> = catalog.entity_names().chain(operations).collect();
    let estimates = estimates::resolve_estimates(root.get("estimates"), &subjects, &entities, out);
    Model {
        name: table::word_field(root, "name").unwrap_or_default(),
        zone,
        table,
        callers,
        settings,
        mirrors: mirrors(&entities),
        entities,
        steps,
        reads,
        writes,
        tallies: tally_list,
        searches: search_list,
        webhooks,
        estimates,
        accepted: table::accepted_rules(root.get("accept")),
        catalog,
        text: "".into(),
    }
}

struct Resolver<'a> {
    out: &'a mut Diagnostics,
    entity_nodes: HashMap<&'a str, &'a Entry>,
    step_nodes: HashMap<&'a str, &'a Entry>,
    type_nodes: HashMap<&'a str, &'a Entry>,
    names: ExpressionNames,
    table: Table,
    index_names: table::IndexNames,
    patterns: PatternBook,
    tally_list: Vec<Tally>,
    search_list: Vec<Search>,
}

/// What expressions can name, apart from where they stand.
struct ExpressionNames {
    catalog: Catalog,
    claims: Vec<Claim>,
    settings: Vec<DeploymentSetting>,
}

impl ExpressionNames {
    /// A scope in which only the caller and the settings are known.
    fn scope(&self) -> Scope<'_> {
        Scope {
            caller: Some(&self.claims),
            settings: &self.settings,
            ..Scope::new(&self.catalog)
        }
    }

    /// A scope of a row alone: what an entity says of itself knows no caller.
    fn row_scope(&self, entity: EntityId) -> Scope<'_> {
        Scope {
            settings: &self.settings,
            ..Scope::new(&self.catalog)
        }
        .with_row(entity)
    }

    /// What a copy sees: where a part of its source's key is absent, there is no source, and the copy is absent too.
    fn copy_scope(&self, entity: &Entity) -> Scope<'_> {
        Scope {
            absence: Absence::Spreads,
            ..self.attribute_scope(entity)
        }
    }

    /// What an attribute's own expressions see: the row, and for records of requests also the request and its answer.
    fn attribute_scope(&self, entity: &Entity) -> Scope<'_> {
        let scope = self.row_scope(entity.id);
        if entity.role != Some(Role::Idempotency) {
            return scope;
        }
        Scope {
            caller: Some(&self.claims),
            row: RowWord::Other(Type::Json),
            words: Words {
                request: WordPresence::Always,
                response: WordPresence::Always,
                ..Words::default()
            },
            ..scope
        }
    }
}

impl Resolver<'_> {
    fn declare_entities(&mut self, root: &Node) {
        for entry in root.get("entities").map_or(&[][..], Node::entries) {
            self.check_name(&entry.key, "an entity");
            self.names.catalog.add_entity(&entry.key.text);
        }
    }

    fn settings(&mut self, node: Option<&Node>, types: &mut types::TypeTable) -> Vec<Argument> {
        let mut all = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            self.check_name(&entry.key, "a setting");
            let Some(declared) = self.declared(&entry.value, types) else {
                continue;
            };
            let default = declared.default.as_ref().map(|text| {
                let scope = Scope::new(&self.names.catalog);
                expression::check_expression(text, &scope, Some(&declared.ty), self.out)
            });
            self.names.settings.push(DeploymentSetting {
                name: entry.key.text.clone(),
                ty: declared.ty.clone(),
                optional: declared.optional,
            });
            all.push(Argument {
                name: entry.key.text.clone(),
                ty: declared.ty,
                optional: declared.optional,
                default,
                span: entry.key.span,
            });
        }
        all
    }

    /// The entity of that name, or a finding.
    fn find_entity(&mut self, text: &Text) -> Option<EntityId> {
        let found = self.names.catalog.entity(&text.text);
        if found.is_none() {
            self.out.push(unknown_entity(&self.names.catalog, text));
        }
        found
    }

    /// Whether the entity has an attribute of that name; a finding where it has not.
    fn find_attribute(&mut self, entity: EntityId, text: &Text) -> Option<(Type, bool)> {
        if let Some(attribute) = self.names.catalog.attribute(entity, &text.text) {
            return Some((attribute.ty.clone(), attribute.optional));
        }
        let diagnostic = unknown_attribute(&self.names.catalog, entity, &text.text, text.span);
        self.out.push(diagnostic);
        None
    }

    /// A name that expressions can spell and that means nothing else.
    fn check_name(&mut self, text: &Text, what: &str) {
        check_free_name(text, what, is_reserved(&text.text), self.out);
    }

    /// Whether something was already found within a read, a write or a step, so that what follows from it need not be said.
    fn is_broken(&self, entry: &Entry) -> bool {
        let whole = entry.key.span.to(entry.value.span());
        self.out.iter().any(|finding| whole.holds_span(finding.span))
    }

    fn not_yet(&mut self, span: Span, what: &str, help: &str) {
        let message = format!("{what} is not built yet");
        self.out
            .push(Diagnostic::new(&rules::NOT_YET, span, message).help(help));
    }
}

/// Checks the name of a value that `let`, `for` or `as` binds.
fn check_value_name(text: &Text, out: &mut Diagnostics) {
    check_free_name(text, "a value", is_reserved_for_values(&text.text), out);
}

fn check_free_name(text: &Text, what: &str, reserved: bool, out: &mut Diagnostics) {
    let (message, help) = match reserved {
        true => (
            format!("`{}` cannot name {what}: it means something in expressions", text.text),
            "choose another name",
        ),
        false if !is_identifier(&text.text) => (
            format!("`{}` cannot name {what}", text.text),
            "names begin with a letter and have letters, digits and `_`",
        ),
        false => return,
    };
    out.push(Diagnostic::new(&rules::RESERVED_NAME, text.span, message).help(help));
}

/// The finding for an entity that there is not.
fn unknown_entity(catalog: &Catalog, name: &Text) -> Diagnostic {
    let message = format!("there is no entity `{}`", name.text);
    let diagnostic = Diagnostic::new(&rules::UNKNOWN_ENTITY, name.span, message);
    suggest_names(
        diagnostic,
        &name.text,
        &catalog.entity_names().collect::<Vec<_>>(),
        "the entities are",
    )
}

/// How many names a help lists: more are not read.
const NAMES_LISTED_MAX: usize = 12;

/// Adds "did you mean", or else the names that there are.
fn suggest_names(diagnostic: Diagnostic, word: &str, known: &[&str], these: &str) -> Diagnostic {
    let diagnostic = diagnostic.did_you_mean(word, known.iter().copied());
    match (
        diagnostic.help.is_some(),
        known.get(..NAMES_LISTED_MAX.min(known.len())),
    ) {
        (false, Some(listed)) if !listed.is_empty() => {
            let more = if known.len() > listed.len() { ", …" } else { "" };
            diagnostic.help(format!("{these} {}{more}", crate::grammar::listed_words(listed)))
        }
        _ => diagnostic,
    }
}

/// The finding for an attribute that an entity has not.
fn unknown_attribute(catalog: &Catalog, entity: EntityId, name: &str, span: Span) -> Diagnostic {
    let message = format!("`{}` has no attribute `{name}`", catalog.name(entity));
    let known = catalog.names(entity).map_or(&[][..], |names| names.attributes());
    let known: Vec<&str> = known.iter().map(|attribute| attribute.name.as_str()).collect();
    suggest_names(
        Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, span, message),
        name,
        &known,
        "its attributes are",
    )
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|char| char.is_alphabetic() || char == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_')
}

fn by_name(node: Option<&Node>) -> HashMap<&str, &Entry> {
    let entries = node.map_or(&[][..], Node::entries);
    entries.iter().map(|entry| (entry.key.text.as_str(), entry)).collect()
}

fn check_version(root: &Node, out: &mut Diagnostics) {
    let Some(text) = root.get("singlet").and_then(Node::text) else {
        return;
    };
    if text.text != "1" && text.text.parse::<u64>().is_ok() {
        let message = format!("version {} of the language is not known", text.text);
        out.push(
            Diagnostic::new(&rules::UNSUPPORTED_VERSION, text.span, message)
                .help("write `singlet: 1`")
                .replace_with("1"),
        );
    }
}

fn zone(node: Option<&Node>, out: &mut Diagnostics) -> String {
    let Some(text) = node.and_then(Node::text) else {
        return "UTC".to_owned();
    };
    if jiff::tz::TimeZone::get(&text.text).is_err() {
        let message = format!("`{}` is no time zone", text.text);
        out.push(
            Diagnostic::new(&rules::WRONG_SHAPE, text.span, message)
                .help("use a name of the IANA database, such as `Europe/Rome` or `UTC`"),
        );
    }
    text.text.clone()
}

/// Checks a condition; stands in for one that is missing or misshapen, which was reported.
fn checked_condition(node: Option<&Node>, scope: &Scope<'_>, out: &mut Diagnostics) -> Expr {
    match node.and_then(Node::text) {
        Some(text) => expression::check_condition(text, scope, out),
        None => Expr::invalid_at(node.map(Node::span).unwrap_or_default()),
    }
}

/// Checks an expression; stands in for one that is misshapen, which was reported.
fn checked_value(node: &Node, scope: &Scope<'_>, out: &mut Diagnostics) -> Expr {
    match node.text() {
        Some(text) => expression::check_expression(text, scope, None, out),
        None => Expr::invalid_at(node.span()),
    }
}

fn mirrors(entities: &[Entity]) -> Vec<Vec<EntityId>> {
    let mut mirrors = vec![Vec::new(); entities.len()];
    for entity in entities {
        let of = entity
            .mirror
            .as_ref()
            .and_then(|mirror| mirrors.get_mut(mirror.of.0 as usize));
        if let Some(of) = of {
            of.push(entity.id);
        }
    }
    mirrors
}

/// The entity of a resolved model, by id.
fn entity_of(entities: &[Entity], id: EntityId) -> Option<&Entity> {
    entities.get(id.0 as usize)
}
