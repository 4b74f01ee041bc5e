//! Indexes that do not carry whole rows: whether what they tell of a row is all that is looked at.

use std::collections::BTreeSet;

use singlet_item::key::Part;
use singlet_model::expression::{Expr, ExprKind, Word};
use singlet_model::model::{KeyTemplate, Projection, Read, Return, Selection, SelectionKind, Stored};

use super::candidate::Wanted;
use super::layout::ToldBy;
use crate::access::AccessPath;

/// The attributes that an answer is made of, beside what the meaning and the order name; none where it is made of whole rows.
pub(super) fn shown_attributes(selection: &Selection, read: Option<&Read>) -> Option<BTreeSet<String>> {
    let whole = |expr: &Expr| {
        expr.any(|part| {
            matches!(
                part.kind,
                ExprKind::Row | ExprKind::Word(Word::Rows) | ExprKind::Each { .. } | ExprKind::Entity { .. }
            )
        })
    };
    let names = |exprs: Vec<&Expr>| -> Option<BTreeSet<String>> {
        let is_told = !exprs.iter().any(|expr| whole(expr));
        let names = exprs.iter().flat_map(|expr| expr.attributes());
        is_told.then(|| names.map(str::to_owned).collect())
    };
    if selection.kind == SelectionKind::Count {
        let summed = names(selection.sums.iter().map(|(_, sum)| sum).collect())?;
        return Some(selection.by.iter().cloned().chain(summed).collect());
    }
    let read = read.filter(|read| read.with.is_empty() && read.each.is_none())?;
    match &read.returns {
        Return::Fields(fields) => names(fields.iter().map(|(_, field)| field).collect()),
        Return::Value(value) => names(vec![value]),
        Return::Usual | Return::Nothing => None,
    }
}

/// The keys from which attributes are read, where the entries of an index tell all that is looked at; none where rows must be got. What
/// time changes follows from other attributes, and whether a row has expired from its expiry.
pub(super) fn told_by_keys(path: &AccessPath<'_>, wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> Option<Vec<ToldBy>> {
    let shown = wanted.shown.as_ref()?;
    let ttl = wanted.model.table.ttl.as_deref();
    // An index that does not carry the expiry would answer rows whose time has come.
    let tells_expiry = path.entity.expires.is_none() || ttl.is_some_and(|ttl| holds(path, wanted, ttl));
    let ordered = wanted
        .order
        .iter()
        .map(|order| order.path.split('.').next().unwrap_or_default());
    let named = conjuncts.iter().flat_map(|conjunct| conjunct.attributes());
    let looked_at: BTreeSet<&str> = shown.iter().map(String::as_str).chain(ordered).chain(named).collect();
    let mut told = Vec::new();
    let is_told = tells_expiry && tell(path, wanted, looked_at, &mut told);
    is_told.then_some(told)
}

/// Of the conditions that a key does not settle, those that the entries of an index decide before rows are got; and the keys from which
/// attributes are read for it.
pub(super) fn decided_by_entries(
    path: &AccessPath<'_>,
    wanted: &Wanted<'_>,
    rest: &[Expr],
) -> (Vec<Expr>, Vec<ToldBy>) {
    let mut told = Vec::new();
    let decided = rest.iter().filter(|conjunct| {
        let names = conjunct.attributes();
        !names.is_empty() && tell(path, wanted, names, &mut told)
    });
    (decided.cloned().collect(), told)
}

/// Whether an entry of an index holds an attribute under its name.
fn holds(path: &AccessPath<'_>, wanted: &Wanted<'_>, name: &str) -> bool {
    let Some(index) = path.index else { return false };
    let mut keys = wanted.model.table.key.iter().chain(index.key());
    let is_included = matches!(&index.projection, Projection::Include(names) if names.iter().any(|own| own == name));
    is_included || keys.any(|key| key.name == name)
}

/// Whether an entry tells attributes; the keys from which they are read are added.
fn tell<'n>(
    path: &AccessPath<'_>,
    wanted: &Wanted<'_>,
    names: impl IntoIterator<Item = &'n str>,
    told: &mut Vec<ToldBy>,
) -> bool {
    let lapses = path
        .entity
        .states
        .as_ref()
        .is_some_and(|states| !states.lapses.is_empty());
    // A state in an index is as it was stored.
    if path.entity.id != wanted.entity.id || lapses {
        return false;
    }
    let mut found: Vec<ToldBy> = Vec::new();
    for name in names {
        let own = path.entity.attribute(name);
        let own = own.and_then(|own| {
            own.alias
                .as_deref()
                .map_or(Some(own), |alias| path.entity.attribute(alias))
        });
        let Some(own) = own else { return false };
        let is_held = match &own.stored {
            Stored::Own => holds(path, wanted, &own.name),
            Stored::As(stored) => holds(path, wanted, stored),
            Stored::No => false,
        };
        if is_held {
            continue;
        }
        let by = key_that_tells(path, wanted, &own.name).filter(|_| !matches!(own.stored, Stored::As(_)));
        let Some(by) = by else { return false };
        found.push(by);
    }
    for by in found {
        match told
            .iter_mut()
            .find(|known| known.key == by.key && known.index == by.index)
        {
            Some(known) => known.attributes.extend(by.attributes),
            None => told.push(by),
        }
    }
    true
}

/// The key of an entry, its own or the table's, from which an attribute can be read in one way.
fn key_that_tells(path: &AccessPath<'_>, wanted: &Wanted<'_>, name: &str) -> Option<ToldBy> {
    let told = |key: &KeyTemplate, index, choice| ToldBy {
        index,
        choice,
        key: key.attribute.clone(),
        attributes: vec![name.to_owned()],
    };
    let tells = |key: &&KeyTemplate| key.gives_back(name) && is_read_in_one_way(key);
    // Among entries of other templates a key says nothing of what it was made of.
    let own = path.choice.keys.iter().find(tells).filter(|_| path.stands_apart());
    if let Some(key) = own {
        return Some(told(key, path.index_in(wanted.model), path.choice_at));
    }
    match path.entity.key.as_slice() {
        [choice] => choice.keys.iter().find(tells).map(|key| told(key, None, 0)),
        _ => None,
    }
}

/// Whether the delimiter stands between any two values of a key, and no value has it: the key can be read in one way alone.
fn is_read_in_one_way(key: &KeyTemplate) -> bool {
    let delimiter = key.template.delimiter();
    let raw = key
        .parts
        .iter()
        .any(|part| part.function == Some(singlet_model::model::PartFunction::Raw));
    let mut is_after_value = false;
    let parts = key.template.parts().iter();
    let divided = parts.into_iter().all(|part| {
        let fits = match part {
            Part::Variable(_) => !is_after_value,
            Part::Text(text) => !is_after_value || text.starts_with(delimiter.character()),
            Part::Number(_) => !is_after_value,
            Part::Anything => false,
        };
        is_after_value = matches!(part, Part::Variable(_));
        fits
    });
    divided && !raw
}
