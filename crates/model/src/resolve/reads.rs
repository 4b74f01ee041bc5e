//! Pass 6, first half: reads.

use super::numbers;
use super::operation::{Http, KnownBefore, Unused, resolved_arguments};
use super::promises::rows_of;
use super::selection::SelectionSite;
use super::table::{find_index, flag_field, flag_span, whole_field, word_field};
use super::tallies::tally_selection;
use super::types::TypeTable;
use super::{Resolver, check_value_name, checked_condition, checked_value};
use crate::catalog::Catalog;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::{self, Args, BinaryOp, Expr, ExprKind, RowWord, Scope};
use crate::model::{
    Bounds, DocumentedClaim, Each, Entity, IndexId, Let, LetValue, ParamValue, Read, Return, Route, Selection,
    SelectionKind, Tally, WithPart,
};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::types::{EntityId, Type};
use singlet_item::limits::PAGE_ROWS_MAX;

/// What a read may do.
const VERBS: [&str; 4] = ["get", "find", "count", "tally"];

impl Resolver<'_> {
    pub(super) fn reads(&mut self, node: Option<&Node>, entities: &[Entity], types: &mut TypeTable) -> Vec<Read> {
        let entries = node.map_or(&[][..], Node::entries);
        let reads = entries.iter().filter(|entry| entry.value.is_map());
        reads.map(|entry| self.read(entry, entities, types)).collect()
    }

    fn read(&mut self, entry: &Entry, entities: &[Entity], types: &mut TypeTable) -> Read {
        let node = &entry.value;
        self.check_name(&entry.key, "a read");
        let http = Http::of(node.get("http"), true, self.out);
        let args = self.declare_args(node.get("args"), &http, types);
        self.check_query(http.route(), &args);
        let mut bound = Vec::new();
        let mut lets = self.lets(node.get("let"), &KnownBefore::default(), &args, &mut bound);
        lets.iter_mut().for_each(|bound| find_current_version(bound, entities));
        let each = self.each(node.entry("each"), &args, &mut bound);
        let selection = self.main_selection(entry, &args, &bound);
        let selection = self.with_matching(selection, node, &args, &bound);
        let row = selection.as_ref().and_then(Selection::entity);
        let with = self.with_parts(node, &args, &bound, row);
        let base = self.names.scope();
        let scope = Scope {
            args: Some(&args),
            bound: bound.clone(),
            ..base
        };
        let row_scope = match row {
            Some(entity) => scope.with_row(entity),
            None => scope.clone(),
        };
        let allow = checked_condition(node.get("allow"), &row_scope, self.out);
        let expr = |field: &str, ty: &Type, out: &mut crate::diagnostic::Diagnostics| {
            let text = node.get(field).and_then(Node::text)?;
            Some(expression::check_expression(text, &scope, Some(ty), out))
        };
        let at = expr("at", &Type::Time, self.out);
        let reverse = expr("reverse", &Type::Bool, self.out);
        let may_be_missing = matches!(
            selection.as_ref().map(|selection| selection.kind),
            Some(SelectionKind::Get { optional: true })
        );
        let returned_scope = Scope {
            row_may_be_absent: may_be_missing,
            ..scope.clone()
        };
        let returns = read_return(node, &returned_scope, row, each.is_some(), self.out);
        let pinned = self.pinned(node);
        let using = self.using(node.entry("using"), &args, &bound, row);
        let read = Read {
            name: entry.key.text.clone(),
            span: entry.key.span,
            args: Vec::new(),
            lets,
            each,
            selection,
            with,
            pages: word_field(node, "pages"),
            bare: flag_field(node, "bare"),
            returns,
            allow,
            http: http.into_route().map(|route| with_rest(route, &args)),
            at,
            all_versions: node.get("versions").is_some(),
            consistent: flag_span(node, "consistent"),
            together: flag_span(node, "together"),
            scan: node
                .get("scan")
                .and_then(Node::text)
                .map(|text| (text.text.clone(), text.span)),
            pinned,
            reverse,
            page: whole_field(node, "page"),
            empty: whole_field(node, "empty"),
            combinations: combinations(node.get("combinations")),
            budget: node
                .get("budget")
                .and_then(Node::text)
                .and_then(|text| Some((numbers::read_budget(text, self.out)?, text.span))),
            requests: self.bounds(node.get("requests")),
            using,
            claim: self.claim(node.get("claim")),
        };
        self.check_read(&read, node, entities, &args);
        let unused = if self.is_broken(entry) {
            Unused::PassedOver
        } else {
            Unused::Reported
        };
        Read {
            args: resolved_arguments(&args, self.arg_defaults(node.get("args"), types), unused, self.out),
            ..read
        }
    }

    /// The index that a read says its rows are read from.
    fn pinned(&mut self, node: &Node) -> Option<(IndexId, Span)> {
        let text = node.get("index").and_then(Node::text)?;
        let index = find_index(text, &self.index_names, &self.table, self.out)?;
        Some((index, text.span))
    }

    fn each(&mut self, entry: Option<&Entry>, args: &Args, bound: &mut Vec<expression::BoundName>) -> Option<Each> {
        let entry = entry?;
        let at_most = whole_field(&entry.value, "at_most")?;
        let mut names = entry.value.entries().iter().filter(|entry| entry.key.text != "at_most");
        let Some(name) = names.next() else {
            let message = "`each` names nothing";
            let help = "write `each: {day: \"days(args.from, args.to)\", at_most: 92}`";
            self.out
                .push(Diagnostic::new(&rules::MISSING_FIELD, entry.key.span, message).help(help));
            return None;
        };
        if let Some(second) = names.next() {
            let message = format!("`each` has a second name, `{}`", second.key.text);
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, second.key.span, message).help("keep one"));
        }
        self.check_name(&name.key, "an element");
        let scope = Scope {
            args: Some(args),
            bound: bound.clone(),
            ..self.names.scope()
        };
        let list = checked_value(&name.value, &scope, self.out);
        let element = list.ty.element_type().cloned().unwrap_or(Type::Unknown);
        if element.is_unknown() && !list.ty.is_unknown() {
            let message = format!(
                "`each` goes through a list, not {}",
                crate::text::with_article(&self.names.catalog.describe_type(&list.ty))
            );
            self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, list.span, message));
        }
        bound.push(expression::BoundName {
            name: name.key.text.clone(),
            ty: element,
            optional: false,
        });
        Some(Each {
            name: name.key.text.clone(),
            list,
            at_most,
        })
    }

    fn main_selection(&mut self, entry: &Entry, args: &Args, bound: &[expression::BoundName]) -> Option<Selection> {
        let node = &entry.value;
        let verbs = VERBS.into_iter().filter(|verb| node.get(verb).is_some()).count();
        match (verbs, node.get("with").is_some()) {
            (0, true) => return None,
            (1, _) => {}
            (0, false) => {
                let message = format!("the read `{}` does not say what it reads", entry.key.text);
                let help = "add one of `get`, `find`, `count` and `tally`, or `with` alone";
                self.out
                    .push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help(help));
                return None;
            }
            _ => {
                let message = format!(
                    "the read `{}` has more than one of `get`, `find`, `count` and `tally`",
                    entry.key.text
                );
                self.out
                    .push(Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help("keep one"));
                return None;
            }
        }
        let scope = Scope {
            args: Some(args),
            bound: bound.to_vec(),
            ..self.names.scope()
        };
        let place = SelectionSite {
            scope: &scope,
            row: RowWord::Same,
            leaves_out: true,
        };
        any_selection(node, &place, (&self.names.catalog, &self.tally_list), self.out)
    }

    fn with_parts(
        &mut self,
        node: &Node,
        args: &Args,
        bound: &[expression::BoundName],
        parent: Option<EntityId>,
    ) -> Vec<WithPart> {
        let mut parts = Vec::new();
        let scope = Scope {
            args: Some(args),
            bound: bound.to_vec(),
            ..self.names.scope()
        };
        let row = parent.map_or(RowWord::None, |parent| RowWord::Other(Type::Row(parent)));
        for entry in node.get("with").map_or(&[][..], Node::entries) {
            let place = SelectionSite {
                scope: &scope,
                row: row.clone(),
                leaves_out: true,
            };
            let Some(selection) =
                any_selection(&entry.value, &place, (&self.names.catalog, &self.tally_list), self.out)
            else {
                if VERBS.iter().all(|verb| entry.value.get(verb).is_none()) {
                    let message = format!("`{}` does not say what it reads", entry.key.text);
                    self.out.push(
                        Diagnostic::new(&rules::NO_MEANING, entry.key.span, message)
                            .help("add `get`, `find`, `count` or `tally`"),
                    );
                }
                continue;
            };
            let allow = entry.value.get("allow").and_then(Node::text).map(|text| {
                let mut scope = scope.clone();
                scope.attributes = selection.entity();
                scope.row = row.clone();
                expression::check_condition(text, &scope, self.out)
            });
            parts.push(WithPart {
                name: entry.key.text.clone(),
                span: entry.key.span,
                selection,
                allow,
            });
        }
        parts
    }

    /// Every argument in the query is declared.
    fn check_query(&mut self, http: Option<&Route>, args: &Args) {
        let Some(route) = http else { return };
        for (name, value) in &route.query {
            let ParamValue::Arg(arg) = value else {
                continue;
            };
            if args.get(arg).is_none() {
                let message = format!("the query parameter `{name}` has no argument `{arg}`");
                let known = args.iter().map(|arg| arg.name.as_str());
                let mut diagnostic =
                    Diagnostic::new(&rules::UNKNOWN_ARGUMENT, route.span, message).did_you_mean(arg, known);
                diagnostic.fix = None;
                if diagnostic.help.is_none() {
                    diagnostic = diagnostic.help(format!("declare it: `args: {{{arg}: …}}`"));
                }
                self.out.push(diagnostic);
            }
        }
    }

    fn check_read(&mut self, read: &Read, node: &Node, entities: &[Entity], args: &Args) {
        let kind = read.selection.as_ref().map(|selection| selection.kind);
        let only_for = |field: &str, fits: bool, what: &str| {
            let entry = node.entry(field)?;
            (!fits).then(|| {
                let message = format!("`{field}` has no effect here: it belongs to {what}");
                Diagnostic::new(&rules::NO_MEANING, entry.key.span, message).help("remove it")
            })
        };
        let finds = kind == Some(SelectionKind::Find);
        let counts = kind == Some(SelectionKind::Count);
        let is_tally = read.selection.as_ref().is_some_and(|own| own.tally.is_some());
        self.check_tally_allow(read);
        self.check_highlights(read, node, entities);
        let history = read
            .selection
            .as_ref()
            .and_then(Selection::entity)
            .and_then(|id| super::entity_of(entities, id))
            .is_some_and(|entity| entity.history.is_some());
        let findings = [
            only_for("each", finds, "`find`"),
            only_for("by", counts || finds, "`count`"),
            only_for("sum", counts, "`count`"),
            only_for("reverse", finds, "`find`"),
            only_for("at", history, "an entity with `history`"),
            only_for("versions", history, "an entity with `history`"),
            only_for("page", finds || read.pages.is_some(), "`find`"),
            only_for("bare", finds, "`find`"),
            only_for("scan", !is_tally, "what reads rows"),
            only_for(
                "index",
                read.selection.is_some() && !is_tally,
                "what reads rows of its own",
            ),
            only_for("using", !is_tally, "what reads rows"),
            only_for("together", !is_tally, "what reads rows"),
        ];
        findings
            .into_iter()
            .flatten()
            .for_each(|finding| self.out.push(finding));
        if let (true, Some(by)) = (finds, node.entry("by")) {
            self.not_yet(by.key.span, "`by` on `find`", "count by it, or find without it");
        }
        self.check_pages(read, node);
        self.check_combinations(node.get("combinations"), args);
        super::answers::check_answers(read, node, entities, self.out);
        for (field, least, most) in [
            ("limit", 1, u64::MAX),
            ("page", 1, PAGE_ROWS_MAX as u64),
            ("empty", 404, 404),
        ] {
            numbers::number_within(node.get(field), least, most, self.out);
        }
        numbers::number_within(
            node.get("each").and_then(|each| each.get("at_most")),
            1,
            u64::MAX,
            self.out,
        );
        for part in node.get("with").map_or(&[][..], Node::entries) {
            numbers::number_within(part.value.get("limit"), 1, u64::MAX, self.out);
        }
    }

    fn check_pages(&mut self, read: &Read, node: &Node) {
        let (Some(pages), Some(text)) = (&read.pages, node.get("pages").and_then(Node::text)) else {
            return;
        };
        let part = read.with.iter().find(|part| part.name == *pages);
        let lists = part.is_some_and(|part| part.selection.kind == SelectionKind::Find);
        if !lists {
            let message = format!("`with` has no list `{pages}`");
            let known = read.with.iter().map(|part| part.name.as_str());
            self.out
                .push(Diagnostic::new(&rules::UNKNOWN_ATTRIBUTE, text.span, message).did_you_mean(pages, known));
        }
    }

    fn check_combinations(&mut self, node: Option<&Node>, args: &Args) {
        let lists = node.map_or(&[][..], Node::elements);
        for text in lists.iter().flat_map(Node::elements).filter_map(Node::text) {
            if args.get(&text.text).is_none_or(|arg| !arg.optional) {
                let message = format!("`{}` is no optional argument", text.text);
                let known = args.iter().filter(|arg| arg.optional).map(|arg| arg.name.as_str());
                self.out.push(
                    Diagnostic::new(&rules::UNKNOWN_ARGUMENT, text.span, message).did_you_mean(&text.text, known),
                );
            }
        }
    }

    pub(super) fn bounds(&mut self, node: Option<&Node>) -> Option<(Bounds, Span)> {
        let text = node?.text()?;
        Some((numbers::read_bounds(text, self.out)?, text.span))
    }

    pub(super) fn claim(&mut self, node: Option<&Node>) -> DocumentedClaim {
        let Some(node) = node else {
            return DocumentedClaim::default();
        };
        DocumentedClaim {
            read: self.bounds(node.get("read")),
            write: self.bounds(node.get("write")),
            atomic: flag_span(node, "atomic"),
            one_query: flag_span(node, "one_query"),
            idempotent: flag_span(node, "idempotent"),
        }
    }

    /// A `let`, for reads and writes alike.
    pub(super) fn lets(
        &mut self,
        node: Option<&Node>,
        known: &KnownBefore,
        args: &Args,
        bound: &mut Vec<expression::BoundName>,
    ) -> Vec<Let> {
        let mut lets: Vec<Let> = Vec::new();
        for entry in node.map_or(&[][..], Node::entries) {
            check_value_name(&entry.key, self.out);
            if let Some(named) = self.let_value(entry, known, args, bound) {
                bound.push(expression::BoundName {
                    name: entry.key.text.clone(),
                    ty: named.ty,
                    optional: named.optional,
                });
                lets.push(Let {
                    name: entry.key.text.clone(),
                    value: named.value,
                    optional: named.optional,
                    span: entry.key.span,
                });
            }
        }
        lets
    }
}

/// Where a read names a row with versions by its key, that key is no row's: the instant is missing. What is meant is the current
/// version of those that have the key's values, which is a selection as any other, and has a plan or is a finding.
fn find_current_version(bound: &mut Let, entities: &[Entity]) {
    let LetValue::Value(named) = &bound.value else { return };
    let ExprKind::Entity { entity: id, key } = &named.kind else {
        return;
    };
    let Some(entity) = super::entity_of(entities, *id).filter(|entity| entity.history.is_some()) else {
        return;
    };
    let same = |(name, value): &(String, Expr)| {
        let attribute = entity.attribute(name)?;
        let expr = |kind: ExprKind, ty: Type| Expr {
            kind,
            ty,
            optional: false,
            span: value.span,
        };
        let own = expr(ExprKind::Attribute(name.clone()), attribute.ty.clone());
        let equal = ExprKind::Binary(BinaryOp::Eq, Box::new(own), Box::new(value.clone()));
        Some(expr(equal, Type::Bool))
    };
    let all = key.iter().filter_map(same);
    let filter = all.reduce(|left, right| Expr {
        span: named.span,
        kind: ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right)),
        ty: Type::Bool,
        optional: false,
    });
    bound.value = LetValue::Read(Selection {
        kind: SelectionKind::Get {
            optional: bound.optional,
        },
        entities: vec![*id],
        span: named.span,
        filter,
        order: Vec::new(),
        by: Vec::new(),
        sums: Vec::new(),
        limit: None,
        consistent: true,
        tally: None,
        matching: None,
    });
}

/// Rows that are read, or the figures of a tally.
fn any_selection(
    node: &Node,
    place: &SelectionSite<'_>,
    (catalog, tallies): (&Catalog, &[Tally]),
    out: &mut Diagnostics,
) -> Option<Selection> {
    match node.get("tally") {
        Some(_) => tally_selection(node, place, tallies, out),
        None => super::selection::resolve_selection(node, place, catalog, out),
    }
}

fn read_return(
    node: &Node,
    scope: &Scope<'_>,
    row: Option<EntityId>,
    each: bool,
    out: &mut crate::diagnostic::Diagnostics,
) -> Return {
    let mut scope = match (row, each) {
        (Some(entity), false) => scope.with_row(entity),
        _ => scope.clone(),
    };
    scope.words.rows = row.map(|entity| rows_of(entity, None));
    resolve_return(node.get("return"), &scope, out)
}

/// `return`, for reads and writes alike.
pub(super) fn resolve_return(
    node: Option<&Node>,
    scope: &Scope<'_>,
    out: &mut crate::diagnostic::Diagnostics,
) -> Return {
    match node {
        None => Return::Usual,
        Some(Node::Scalar(text)) if text.text == "nothing" => Return::Nothing,
        Some(Node::Scalar(text)) => {
            let expr = expression::check_expression(text, scope, None, out);
            check_shown(&expr, out);
            Return::Value(expr)
        }
        Some(node) => {
            let fields = node.entries().iter().map(|entry| {
                let expr = checked_value(&entry.value, scope, out);
                check_shown(&expr, out);
                (entry.key.text.clone(), expr)
            });
            Return::Fields(fields.collect())
        }
    }
}

/// Durations exist only while computing: JSON has no form for one.
pub(super) fn check_shown(expr: &expression::Expr, out: &mut crate::diagnostic::Diagnostics) {
    if super::attributes::holds_duration(&expr.ty) {
        let message = "a duration cannot be shown";
        let help = "show the two instants, or compare them here: `until - now < hours(1)`";
        out.push(Diagnostic::new(&rules::WRONG_SHAPE, expr.span, message).help(help));
    }
}

fn combinations(node: Option<&Node>) -> Vec<Vec<String>> {
    let lists = node.map_or(&[][..], Node::elements);
    lists.iter().map(|list| super::table::text_list(Some(list))).collect()
}

/// The route of a read with every argument: what the path and the query do not name comes from the query by its own name.
fn with_rest(mut route: Route, args: &Args) -> Route {
    for arg in args.iter() {
        let is_it = |value: &ParamValue| matches!(value, ParamValue::Arg(named) if *named == arg.name);
        let named = route.path_variables.contains(&arg.name) || route.query.iter().any(|(_, value)| is_it(value));
        if !named {
            route.query.push((arg.name.clone(), ParamValue::Arg(arg.name.clone())));
        }
    }
    route
}

#[cfg(test)]
mod tests {
    use crate::model::ParamValue;
    use crate::{Source, load_source};

    #[test]
    fn arguments_that_a_route_does_not_name_come_from_the_query() {
        let model = "singlet: 1\nname: m\ntable: {name: m, key: {partition: PK, sort: SK}}\n\
            entities:\n  E:\n    attributes: {a: string 1..9, b: date}\n    key: {PK: \"{a}\", SK: \"{b}\"}\n\
            reads:\n  one:\n    get: E\n    args: {a: E.a, b: date}\n    where: a == args.a && b == args.b\n    \
            allow: true\n    http: GET /e/{a}\n";
        let loaded = load_source(&Source::new("m.yaml", model)).model;
        let route = loaded.as_ref().and_then(|model| model.reads.first()?.http.as_ref());
        let query = route.map(|route| route.query.clone());
        assert_eq!(query, Some(vec![("b".to_owned(), ParamValue::Arg("b".to_owned()))]));
    }
}
