//! The ways to an entity's rows, and which of them a meaning can take.

use singlet_item::key::Part;
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId};
use singlet_model::model::{Entity, Index, IndexId, KeyChoice, KeyPart, KeyTemplate, PartFunction, Selection};

use crate::bounds::Bounds;

/// The table or one index, with the templates that one entity, or a mirror of it, has there.
#[derive(Clone, Copy, Debug)]
pub struct AccessPath<'a> {
    /// The entity whose rows lie on the path: the one asked for, or a mirror of it.
    pub entity: &'a Entity,
    /// The index; the table, if there is none.
    pub index: Option<&'a Index>,
    /// The templates.
    pub choice: &'a KeyChoice,
    /// Which of the entity's choices of templates that is.
    pub choice_at: usize,
    choices: &'a [KeyChoice],
    partition_attributes: usize,
}

impl<'a> AccessPath<'a> {
    /// The templates of the partition key.
    pub fn partition(&self) -> &'a [KeyTemplate] {
        self.choice
            .keys
            .get(..self.partition_attributes)
            .unwrap_or(&self.choice.keys)
    }

    /// The templates of the sort key.
    pub fn sort(&self) -> &'a [KeyTemplate] {
        self.choice.keys.get(self.partition_attributes..).unwrap_or_default()
    }

    /// The choices of templates that are tried before this one: the first whose condition holds is taken.
    pub fn choices_before(&self) -> &'a [KeyChoice] {
        self.choices.get(..self.choice_at).unwrap_or_default()
    }

    /// Whether no row that has other templates can lie among the path's: their texts begin differently. Else a key that is equal
    /// does not say that what it was made of is.
    pub fn stands_apart(&self) -> bool {
        let others = self.choices.iter().enumerate().filter(|(at, _)| *at != self.choice_at);
        others.into_iter().all(|(_, other)| {
            self.choice.keys.iter().any(|key| {
                other
                    .template(&key.attribute)
                    .is_none_or(|other| begin_differently(key, other))
            })
        })
    }

    /// The path's name in messages: `the table`, or the index's name.
    pub fn name(&self) -> String {
        match self.index {
            Some(index) => format!("index `{}`", index.name),
            None => "the table".to_owned(),
        }
    }

    /// The index, as the model numbers it.
    pub fn index_in(&self, model: &Model) -> Option<IndexId> {
        let name = &self.index?.name;
        let at = model.table.indexes.iter().position(|index| index.name == *name)?;
        Some(IndexId(u32::try_from(at).ok()?))
    }

    /// The first part of the partition key that a meaning leaves open.
    pub fn unbound(&self, meaning: &Bindings<'_>) -> Option<&'a KeyPart> {
        let mut parts = self.partition().iter().flat_map(|key| &key.parts);
        parts.find(|part| !meaning.binds(part, self.entity))
    }
}

/// Every path to the rows of an entity: its own, and those of its mirrors.
pub fn paths<'a>(model: &'a Model, entity: &'a Entity) -> Vec<AccessPath<'a>> {
    std::iter::once(entity)
        .chain(model.mirrors_of(entity.id))
        .flat_map(|entity| own_paths(model, entity))
        .collect()
}

/// The paths of an entity itself.
pub fn own_paths<'a>(model: &'a Model, entity: &'a Entity) -> Vec<AccessPath<'a>> {
    let table = entity.key.iter().enumerate().map(|(choice_at, choice)| AccessPath {
        entity,
        index: None,
        choice,
        choice_at,
        choices: &entity.key,
        partition_attributes: 1,
    });
    let indexes = entity.index.iter().flat_map(|entry| {
        let index = model.index(entry.index);
        entry
            .choices()
            .iter()
            .enumerate()
            .filter_map(move |(choice_at, choice)| {
                Some(AccessPath {
                    entity,
                    index: Some(index?),
                    choice,
                    choice_at,
                    choices: entry.choices(),
                    partition_attributes: index?.partition.len(),
                })
            })
    });
    table.chain(indexes).collect()
}

fn begin_differently(one: &KeyTemplate, other: &KeyTemplate) -> bool {
    let (one, other) = (leading_text(one), leading_text(other));
    !one.starts_with(other) && !other.starts_with(one)
}

fn leading_text(key: &KeyTemplate) -> &str {
    match key.template.parts().first() {
        Some(Part::Text(text)) => text,
        _ => "",
    }
}

/// What a meaning says about attributes before anything is read.
#[derive(Debug, Default)]
pub struct Bindings<'a> {
    equal: Vec<Equality>,
    ranged: Vec<String>,
    circles: Vec<&'a str>,
    /// The alternatives of a disjunction: each must bind what is asked.
    branches: Vec<Vec<Bindings<'a>>>,
}

/// `attribute == value`, or a function of an attribute.
#[derive(Debug)]
struct Equality {
    /// The attribute, or a path into one.
    path: String,
    function: Option<&'static str>,
}

impl<'a> Bindings<'a> {
    /// What a selection says.
    pub fn of(selection: &'a Selection) -> Self {
        let mut bindings = Bindings::default();
        if let Some(filter) = &selection.filter {
            bindings.take(filter);
        }
        bindings
    }

    /// What a condition says.
    pub fn of_condition(condition: &'a Expr) -> Self {
        let mut bindings = Bindings::default();
        bindings.take(condition);
        bindings
    }

    /// Adds another condition that must hold too, such as what `allow` says about the row.
    pub fn take(&mut self, condition: &'a Expr) {
        for conjunct in condition.conjuncts() {
            self.take_conjunct(conjunct);
        }
    }

    fn take_conjunct(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::In, left, right) => {
                for (side, other) in [(left, right), (right, left)] {
                    if let Some(equality) = equality(side)
                        && other.attributes().is_empty()
                    {
                        self.equal.push(equality);
                    }
                }
            }
            ExprKind::Binary(op, left, right) if op.is_ordering() => {
                for (side, other) in [(left, right), (right, left)] {
                    if let Some(ranged) = equality(side)
                        && other.attributes().is_empty()
                    {
                        self.ranged.push(ranged.path);
                    }
                }
            }
            ExprKind::Binary(BinaryOp::Or, ..) => {
                let branches = expr.disjuncts().into_iter().map(Bindings::of_condition).collect();
                self.branches.push(branches);
            }
            ExprKind::Call(FunctionId::Near, args) => {
                if let Some(ExprKind::Attribute(name)) = args.first().map(|arg| &arg.kind) {
                    self.circles.push(name);
                }
            }
            ExprKind::Attribute(_) => self.equal.extend(equality(expr)),
            ExprKind::Not(inner) => {
                if let ExprKind::Attribute(_) = &inner.kind {
                    self.equal.extend(equality(inner));
                }
            }
            _ => {}
        }
    }

    /// Whether the value of an attribute is fixed by an equality or a list.
    pub fn fixes(&self, attribute: &str) -> bool {
        let here = self
            .equal
            .iter()
            .any(|equality| equality.path == attribute && equality.function.is_none());
        here || self
            .branches
            .iter()
            .any(|all| all.iter().all(|branch| branch.fixes(attribute)))
    }

    /// Whether the meaning limits an attribute on both sides.
    pub fn limits_both_sides(&self, attribute: &str) -> bool {
        self.ranged.iter().filter(|path| *path == attribute).count() > 1
    }

    /// Whether a key part's value, or a bounded number of them, is known before anything is read.
    pub fn binds(&self, part: &KeyPart, entity: &Entity) -> bool {
        let small = part
            .ty
            .cardinality()
            .is_some_and(|values| values <= Bounds::USUAL.values_max as u64);
        small || self.names(part, entity)
    }

    /// Whether the meaning says anything that binds a key part, beyond the part's own small domain.
    pub fn names(&self, part: &KeyPart, entity: &Entity) -> bool {
        let names = synonyms(entity, part.root());
        let function = part.function.and_then(function_name);
        let same = |equality: &Equality| {
            let named = equality.path == part.path || names.contains(&equality.path.as_str());
            named && (equality.function.is_none() || equality.function == function)
        };
        if self.equal.iter().any(same) {
            return true;
        }
        let days = matches!(part.ty, singlet_model::types::Type::Date)
            || matches!(
                part.function,
                Some(PartFunction::Day | PartFunction::Month | PartFunction::Year)
            );
        let limited = days && names.iter().any(|name| self.limits_both_sides(name));
        let covered = self.covers(part, entity);
        let in_branches = self
            .branches
            .iter()
            .any(|all| all.iter().all(|branch| branch.names(part, entity)));
        limited || covered || in_branches || self.computed(part, entity)
    }

    /// A circle is covered by cells: a geohash of its place, in the key or in an attribute.
    fn covers(&self, part: &KeyPart, entity: &Entity) -> bool {
        if matches!(part.function, Some(PartFunction::Geohash(_))) {
            return self.circles.contains(&part.root());
        }
        let computed = entity
            .attribute(part.root())
            .and_then(|attribute| attribute.is.as_ref());
        let place = computed.and_then(|expr| match &expr.kind {
            ExprKind::Call(FunctionId::Geohash, args) => match args.first().map(|arg| &arg.kind) {
                Some(ExprKind::Attribute(name)) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        });
        place.is_some_and(|place| self.circles.contains(&place))
    }

    /// A computed attribute is known where all that it is computed from is.
    fn computed(&self, part: &KeyPart, entity: &Entity) -> bool {
        let attribute = entity.attribute(part.root());
        let Some(expr) = attribute.and_then(|attribute| attribute.is.as_ref()) else {
            return false;
        };
        let sources = expr.attributes();
        !sources.is_empty() && sources.iter().all(|source| self.fixes(source))
    }
}

fn equality(side: &Expr) -> Option<Equality> {
    if let ExprKind::Call(function, args) = &side.kind {
        let precise = *function == FunctionId::Geohash;
        let of = args.first().filter(|_| precise || args.len() == 1)?;
        return Some(Equality {
            path: attribute_path(of)?,
            function: Some(function.name()),
        });
    }
    Some(Equality {
        path: attribute_path(side)?,
        function: None,
    })
}

/// An attribute of the row, or a path into one: `location.city`.
fn attribute_path(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Attribute(name) => Some(name.clone()),
        ExprKind::Field(of, name) => Some(format!("{}.{name}", attribute_path(of)?)),
        _ => None,
    }
}

/// An attribute's name and the aliases that stand for it.
fn synonyms<'e>(entity: &'e Entity, name: &'e str) -> Vec<&'e str> {
    let aliases = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.alias.as_deref() == Some(name));
    std::iter::once(name)
        .chain(aliases.map(|alias| alias.name.as_str()))
        .collect()
}

/// The function of expressions that says the same as a function of key parts.
fn function_name(function: PartFunction) -> Option<&'static str> {
    match function {
        PartFunction::Lower => Some("lower"),
        PartFunction::Upper => Some("upper"),
        PartFunction::Day => Some("day"),
        PartFunction::Month => Some("month"),
        PartFunction::Year => Some("year"),
        PartFunction::Geohash(_) => Some("geohash"),
        _ => None,
    }
}
