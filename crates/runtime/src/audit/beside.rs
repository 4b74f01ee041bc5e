//! What an item says of others: which items concern it, by their keys, and whether they are as they should be.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{Attribute, Copy, Entity, Kept};

use super::finding::{Finding, FindingKind, shown_value};
use super::own::{ends_by_setting, look_at_names, look_at_own};
use super::owner::{Owner, owner_of};
use crate::by_key::primary_key;
use crate::load::{
    GivenItem, GivenKind, entity_of_item, excluded_rows, is_known, is_of_singlet, kept_beside, key_values, place_of,
};
use crate::scope::{Attributes, Scope};
use crate::write::{GUARD_OWNER, GuardKind, guards_of_row, identity_place, key_in};
use crate::{range_rows, row};

/// Items by their keys, as they were at some moment; one that was asked for and is not there is none.
pub(super) type Others = BTreeMap<Item, Option<Item>>;

/// What an item of the table is to the model.
pub(super) enum Kind<'m> {
    /// A row of an entity.
    Row(&'m Entity),
    /// A mirror of one.
    Mirror(&'m Entity),
    /// The guard of a unique value or of an identity.
    Guard,
    /// Something else that Singlet keeps for itself, or a record of a request.
    Kept,
    /// Nothing.
    Unknown,
}

/// What an item is.
pub(super) fn kind_of<'m>(model: &'m Model, item: &Item) -> Kind<'m> {
    if is_of_singlet(model, item) {
        let says = |name: &String| item.get(name).and_then(Value::as_str) == Some("$unique");
        let is_guard = item.contains_key(GUARD_OWNER) || model.table.type_attribute.as_ref().is_some_and(says);
        return if is_guard { Kind::Guard } else { Kind::Kept };
    }
    match entity_of_item(model, item) {
        Some(entity) if entity.mirror.is_some() => Kind::Mirror(entity),
        Some(entity) if entity.role.is_some() => Kind::Kept,
        Some(entity) => Kind::Row(entity),
        None => Kind::Unknown,
    }
}

/// A row that another names, and where it would be.
pub(super) struct Named<'m> {
    pub attribute: &'m str,
    pub entity: &'m Entity,
    pub key: Item,
}

/// A copy, and where its source would be.
pub(super) struct Copied<'m> {
    pub attribute: &'m Attribute,
    pub copy: &'m Copy,
    pub source: &'m Entity,
    pub key: Item,
}

/// A row as it was read, and what concerns it.
#[derive(Default)]
pub(super) struct RowRelations<'m> {
    pub row: Attributes,
    pub beside: Vec<GivenItem>,
    pub copies: Vec<Copied<'m>>,
    pub references: Vec<Named<'m>>,
    pub excluded: Vec<Named<'m>>,
    /// Where the next version would be, of one that is closed.
    pub next: Option<Item>,
}

/// What concerns an item.
pub(super) enum Relations<'m> {
    Row(&'m Entity, RowRelations<'m>),
    Mirror(&'m Entity, Vec<Item>),
    Guard(Option<Owner<'m>>),
    Nothing,
}

/// An item beside the model, at an instant.
pub(super) struct Seen<'m> {
    pub findings: Vec<Finding>,
    pub relations: Relations<'m>,
}

/// Looks at an item by itself, and says what concerns it.
pub(super) fn see_item<'m>(model: &'m Model, item: &Item, scope: Scope<'_>) -> Seen<'m> {
    let key = key_in(model, item);
    let nothing = |findings| Seen {
        findings,
        relations: Relations::Nothing,
    };
    let kind = kind_of(model, item);
    if row::has_expired(model, item, scope.now) {
        let entity = match kind {
            Kind::Row(entity) => entity,
            Kind::Mirror(_) | Kind::Guard | Kind::Kept | Kind::Unknown => return nothing(Vec::new()),
        };
        let finding = Finding::new(FindingKind::ExpiredLeft, &key, "its time has passed").of(&entity.name);
        return nothing(vec![finding]);
    }
    match kind {
        Kind::Kept => nothing(Vec::new()),
        Kind::Unknown => {
            let name = model.table.type_attribute.as_ref();
            let kind = name.and_then(|name| item.get(name));
            let reason = match kind {
                Some(kind) => format!("{} is no entity of the model", shown_value(Some(kind))),
                None => "its key is none that the model makes".to_owned(),
            };
            let finding = Finding::new(FindingKind::UnknownKind, &key, reason);
            let finding = match kind.and_then(Value::as_str) {
                Some(word) => finding.at(word),
                None => finding,
            };
            nothing(vec![finding.values(kind, None)])
        }
        Kind::Guard => match owner_of(model, item) {
            Some(owner) => Seen {
                findings: Vec::new(),
                relations: Relations::Guard(Some(owner)),
            },
            None => {
                let is = item.get(GUARD_OWNER);
                let reason = format!(
                    "whose guard it is cannot be told: `{GUARD_OWNER}` is {}",
                    shown_value(is)
                );
                let finding = Finding::new(FindingKind::GuardUnreadable, &key, reason);
                nothing(vec![finding.at(GUARD_OWNER).values(is, None)])
            }
        },
        Kind::Mirror(mirror) => {
            let mut findings = Vec::new();
            look_at_names((model, mirror), item, &key, &mut findings);
            let source = model.source_of(mirror);
            match row::decode_as_stored(mirror, item) {
                Ok(carried) => Seen {
                    findings,
                    relations: Relations::Mirror(mirror, primary_keys(source, &carried)),
                },
                Err(error) => {
                    let finding = Finding::new(FindingKind::KeyUnreadable, &key, error.to_string());
                    findings.push(finding.of(&mirror.name));
                    nothing(findings)
                }
            }
        }
        Kind::Row(entity) => {
            let (row, findings) = look_at_own((model, entity), item, scope);
            let relations = match row {
                Some(row) => Relations::Row(entity, relations_of(model, entity, row, scope)),
                None => Relations::Nothing,
            };
            Seen { findings, relations }
        }
    }
}

fn relations_of<'m>(model: &'m Model, entity: &'m Entity, row: Attributes, scope: Scope<'_>) -> RowRelations<'m> {
    // What cannot be made of the row is told as a misfit of the row itself.
    let mut beside = kept_beside(model, entity, &row, scope).unwrap_or_default();
    if let Some(ttl) = model.table.ttl.as_ref().filter(|_| ends_by_setting(entity)) {
        beside.iter_mut().for_each(|other| drop(other.item.remove(ttl)));
    }
    let excluded = excluded_rows(model, entity, &row, scope).unwrap_or_default();
    let excluded = excluded.into_iter().filter(|(other, _)| other.history.is_none());
    let excluded = excluded.filter_map(|(other, known)| {
        let key = place_of(model, other, &known).ok()??;
        let entity = other;
        Some(Named {
            attribute: "",
            entity,
            key,
        })
    });
    let excluded = excluded.collect();
    RowRelations {
        beside,
        copies: copies_of(model, entity, &row, scope),
        references: references_of(model, entity, &row),
        excluded,
        next: next_version(entity, &row),
        row,
    }
}

fn copies_of<'m>(model: &'m Model, entity: &'m Entity, row: &Attributes, scope: Scope<'_>) -> Vec<Copied<'m>> {
    let copies = entity.attributes.iter().filter_map(|attribute| {
        let copy = attribute.copy.as_deref()?;
        let is_kept = matches!(copy.kept, Kept::Transaction | Kept::Stream);
        let source = model
            .entity(copy.entity)
            .filter(|source| is_kept && source.history.is_none())?;
        let ExprKind::Entity { key, .. } = &copy.source.kind else {
            return None;
        };
        let known = key_values(source, key, scope.with_row(row)).ok()?;
        let key = primary_key(source, &known).ok()??;
        Some(Copied {
            attribute,
            copy,
            source,
            key,
        })
    });
    copies.collect()
}

/// The rows that attributes name by the whole key of their entity.
fn references_of<'m>(model: &'m Model, entity: &'m Entity, row: &Attributes) -> Vec<Named<'m>> {
    let mut found = Vec::new();
    for attribute in &entity.attributes {
        let Some((id, name)) = attribute.reference.as_ref() else {
            continue;
        };
        let Some(target) = model.entity(*id).filter(|target| target.mirror.is_none()) else {
            continue;
        };
        let variables = model
            .catalog
            .names(target.id)
            .map(|names| names.key_variables.as_slice());
        let Some(value) = row
            .get(&attribute.name)
            .filter(|_| variables == Some(std::slice::from_ref(name)))
        else {
            continue;
        };
        let known = Attributes::from([(name.clone(), value.clone())]);
        if let Ok(Some(key)) = place_of(model, target, &known) {
            found.push(Named {
                attribute: &attribute.name,
                entity: target,
                key,
            });
        }
    }
    found
}

fn next_version(entity: &Entity, row: &Attributes) -> Option<Item> {
    let history = entity.history.as_ref()?;
    let until = row.get(&history.until)?;
    let mut next = row.clone();
    next.insert(history.at.clone(), until.clone());
    primary_key(entity, &next).ok()?
}

/// Every key that a row with these attributes may have.
pub(super) fn primary_keys(entity: &Entity, known: &Attributes) -> Vec<Item> {
    let mut keys = Vec::new();
    for choice in &entity.key {
        let mut key = Item::new();
        let parts = choice.keys.iter().all(|template| {
            let lookup = |path: &str| row::at_path(known, path);
            let value = row::encode_key(entity, template, &lookup).ok().flatten();
            value.is_some_and(|value| key.insert(template.attribute.clone(), value).is_none())
        });
        if parts && !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

impl Relations<'_> {
    /// The keys of all items that concern it.
    pub fn keys(&self, model: &Model) -> Vec<Item> {
        let mut keys: Vec<Item> = match self {
            Relations::Nothing | Relations::Guard(None) => Vec::new(),
            Relations::Mirror(_, keys) => keys.clone(),
            Relations::Guard(Some(owner)) => owner.keys.clone(),
            Relations::Row(_, row) => {
                let beside = row.beside.iter().map(|other| key_in(model, &other.item));
                let copies = row.copies.iter().map(|copied| copied.key.clone());
                let named = row.references.iter().chain(&row.excluded);
                let named = named.map(|named| named.key.clone());
                beside.chain(copies).chain(named).chain(row.next.clone()).collect()
            }
        };
        keys.sort();
        keys.dedup();
        keys
    }
}

/// What is wrong between an item and those that concern it, all as of one moment or nearly.
pub(super) fn judge_relations(
    model: &Model,
    item: &Item,
    relations: &Relations<'_>,
    others: &Others,
    scope: Scope<'_>,
) -> Vec<Finding> {
    let judged = JudgedItem {
        model,
        key: key_in(model, item),
        others,
        scope,
    };
    match relations {
        Relations::Nothing | Relations::Guard(None) => Vec::new(),
        Relations::Mirror(mirror, keys) => judged.mirror(mirror, keys),
        Relations::Guard(Some(owner)) => judged.guard(owner),
        Relations::Row(entity, row) => judged.row(entity, row),
    }
}

struct JudgedItem<'a> {
    model: &'a Model,
    key: Item,
    others: &'a Others,
    scope: Scope<'a>,
}

impl JudgedItem<'_> {
    fn there(&self, key: &Item) -> Option<&Item> {
        self.others.get(key)?.as_ref()
    }

    /// The row of an entity under a key, unless it has expired.
    fn row_there(&self, entity: &Entity, key: &Item) -> Option<&Item> {
        let item = self.there(key)?;
        let is_row =
            range_rows::is_row_of(self.model, entity, item) && !row::has_expired(self.model, item, self.scope.now);
        is_row.then_some(item)
    }

    fn row(&self, entity: &Entity, relations: &RowRelations<'_>) -> Vec<Finding> {
        let mut findings = Vec::new();
        for other in &relations.beside {
            let key = key_in(self.model, &other.item);
            let found = self.there(&key);
            let finding = match other.kind {
                GivenKind::Mirror => self.mirror_of_row(entity, other, &key, found),
                GivenKind::Unique | GivenKind::Identity => self.guard_of_row(entity, other, &key, found),
            };
            findings.extend(finding);
        }
        for copied in &relations.copies {
            findings.extend(self.copy_of_row(entity, &relations.row, copied));
        }
        for named in &relations.references {
            let there = match named.entity.history {
                // The guard of its identity stands for all versions.
                Some(_) => self.there(&named.key),
                None => self.row_there(named.entity, &named.key),
            };
            if there.is_none() {
                let name = named.attribute;
                let value = relations.row.get(name);
                let reason = format!(
                    "there is no `{}` as `{name}` says: {}",
                    named.entity.name,
                    shown_value(value)
                );
                let finding = self.finding(FindingKind::DanglingReference, entity, reason);
                findings.push(finding.at(name).beside(&named.key).values(value, None));
            }
        }
        for named in &relations.excluded {
            if self.row_there(named.entity, &named.key).is_some() {
                let reason = format!("a `{}` is there that it excludes", named.entity.name);
                let finding = self.finding(FindingKind::ExcludedBeside, entity, reason);
                findings.push(finding.at(&named.entity.name).beside(&named.key));
            }
        }
        findings.extend(self.next_of_version(entity, relations));
        findings
    }

    fn finding(&self, kind: FindingKind, entity: &Entity, reason: String) -> Finding {
        Finding::new(kind, &self.key, reason).of(&entity.name)
    }

    fn mirror_of_row(&self, entity: &Entity, other: &GivenItem, key: &Item, found: Option<&Item>) -> Option<Finding> {
        let name = &other.name;
        let Some(found) = found else {
            let reason = format!("its mirror `{name}` is not there");
            let finding = self.finding(FindingKind::MirrorMissing, entity, reason);
            return Some(finding.at(name).beside(key));
        };
        let mirror = self.model.entity_named(name)?;
        if !range_rows::is_row_of(self.model, mirror, found) {
            let reason = format!("another row lies where its mirror `{name}` should");
            let finding = self.finding(FindingKind::MirrorDisplaced, entity, reason);
            return Some(finding.at(name).beside(key));
        }
        let differing = differing_names(self.model, mirror, found, &other.item);
        let first = differing.first()?;
        let (is, should) = (found.get(first), other.item.get(first));
        let reason = format!(
            "`{first}` of its mirror `{name}` is {}, and would be {}",
            shown_value(is),
            shown_value(should)
        );
        let finding = self.finding(FindingKind::MirrorStale, entity, reason);
        Some(finding.at(&format!("{name}.{first}")).beside(key).values(is, should))
    }

    fn guard_of_row(&self, entity: &Entity, other: &GivenItem, key: &Item, found: Option<&Item>) -> Option<Finding> {
        let (name, is_identity) = (&other.name, other.kind == GivenKind::Identity);
        let what = match is_identity {
            true => "the guard of its identity".to_owned(),
            false => format!("the guard of its `{name}`"),
        };
        let kind = |unique, identity| if is_identity { identity } else { unique };
        let Some(found) = found else {
            let kind = kind(FindingKind::GuardMissing, FindingKind::IdentityMissing);
            let finding = self.finding(kind, entity, format!("{what} is not there"));
            return Some(finding.at(name).beside(key));
        };
        let (is, should) = (found.get(GUARD_OWNER), other.item.get(GUARD_OWNER));
        if is != should {
            let kind = kind(FindingKind::GuardOfAnother, FindingKind::IdentityOfAnother);
            let reason = format!("{what} is that of {}, not of {}", shown_value(is), shown_value(should));
            let finding = self.finding(kind, entity, reason);
            return Some(finding.at(name).beside(key).values(is, should));
        }
        let ttl = self
            .model
            .table
            .ttl
            .as_ref()
            .filter(|_| !ends_by_setting(entity) && !is_identity)?;
        let (is, should) = (found.get(ttl), other.item.get(ttl));
        (is != should).then(|| {
            let reason = format!(
                "{what} expires at {}, and its row at {}",
                shown_value(is),
                shown_value(should)
            );
            let finding = self.finding(FindingKind::GuardExpiry, entity, reason);
            finding.at(name).beside(key).values(is, should)
        })
    }

    /// One whose source is gone stays as it is.
    fn copy_of_row(&self, entity: &Entity, row: &Attributes, copied: &Copied<'_>) -> Option<Finding> {
        let item = self.row_there(copied.source, &copied.key)?;
        let says = source_says(self.model, copied, item, self.scope);
        let is = row.get(&copied.attribute.name);
        let should = says.first()?;
        if says.iter().any(|value| value.as_ref() == is) {
            return None;
        }
        let kind = match copied.copy.kept {
            Kept::Stream => FindingKind::CopyBehind,
            Kept::Transaction | Kept::Frozen | Kept::Unsaid => FindingKind::CopyStale,
        };
        let reason = format!(
            "`{}` is {}, and `{}` of its `{}` is {}",
            copied.attribute.name,
            shown_value(is),
            copied.copy.attribute,
            copied.source.name,
            shown_value(should.as_ref())
        );
        let finding = self.finding(kind, entity, reason).at(&copied.attribute.name);
        Some(finding.beside(&copied.key).values(is, should.as_ref()))
    }

    /// A version that was closed is followed by another, unless rows of the entity may simply end.
    fn next_of_version(&self, entity: &Entity, relations: &RowRelations<'_>) -> Option<Finding> {
        let history = entity.history.as_ref()?;
        let next = relations.next.as_ref()?;
        if history.tombstone.is_none() || entity.expires.is_some() || self.there(next).is_some() {
            return None;
        }
        let until = relations.row.get(&history.until);
        let reason = format!("no version begins at {}, where this one ends", shown_value(until));
        let finding = self.finding(FindingKind::VersionGap, entity, reason);
        Some(finding.at(&history.until).beside(next).values(until, None))
    }

    fn mirror(&self, mirror: &Entity, keys: &[Item]) -> Vec<Finding> {
        let source = self.model.source_of(mirror);
        let Some(first) = keys.first() else {
            return Vec::new();
        };
        let found = keys.iter().find_map(|key| Some((key, self.row_there(source, key)?)));
        let Some((key, item)) = found else {
            let reason = format!("there is no `{}` of which this is the mirror", source.name);
            let finding = self.finding(FindingKind::MirrorOrphan, mirror, reason);
            return vec![finding.beside(first)];
        };
        let kept = row::decode_as_stored(source, item)
            .and_then(|row| row::encode_mirrors(self.model, source, &row, self.scope));
        let Ok(kept) = kept else { return Vec::new() };
        let is_kept = |kept: &Item| key_in(self.model, kept) == self.key;
        match kept.iter().any(|(id, kept)| *id == mirror.id && is_kept(kept)) {
            true => Vec::new(),
            false => {
                let reason = format!("its `{}` has its mirror elsewhere, or none", source.name);
                let finding = self.finding(FindingKind::MirrorLeftBehind, mirror, reason);
                vec![finding.beside(key)]
            }
        }
    }

    fn guard(&self, owner: &Owner<'_>) -> Vec<Finding> {
        // Versions are looked for in their partition.
        let Some(first) = owner.keys.first().filter(|_| owner.entity.history.is_none()) else {
            return Vec::new();
        };
        let name = &owner.entity.name;
        let found = owner
            .keys
            .iter()
            .find_map(|key| Some((key, self.row_there(owner.entity, key)?)));
        let Some((key, item)) = found else {
            let reason = format!("there is no `{name}` whose guard it is: the value cannot be used again");
            return vec![
                self.finding(FindingKind::GuardOrphan, owner.entity, reason)
                    .beside(first),
            ];
        };
        let guards = row::decode_as_stored(owner.entity, item);
        let guards = guards.and_then(|row| guards_of_row(self.model, owner.entity, &row, self.scope));
        let Ok(guards) = guards else { return Vec::new() };
        match guards.iter().any(|(_, guard)| key_in(self.model, guard) == self.key) {
            true => Vec::new(),
            false => {
                let reason = format!("its `{name}` has another value by now: this one cannot be used again");
                vec![
                    self.finding(FindingKind::GuardOldValue, owner.entity, reason)
                        .beside(key),
                ]
            }
        }
    }
}

/// What a source says, as it is stored, and as it is now where a state of it has lapsed.
fn source_says(model: &Model, copied: &Copied<'_>, item: &Item, scope: Scope<'_>) -> Vec<Option<Value>> {
    let stored = row::decode_as_stored(copied.source, item).ok();
    let seen = row::decode_even_expired(model, copied.source, item, scope).ok();
    let says = [stored, seen].into_iter().flatten();
    says.map(|row| row.get(&copied.copy.attribute).cloned()).collect()
}

/// The names in which an item differs from what it should be: those of the model, and no others.
pub(super) fn differing_names(model: &Model, entity: &Entity, found: &Item, should: &Item) -> Vec<String> {
    let by_setting = ends_by_setting(model.source_of(entity));
    let is_meant = |name: &String| {
        let is_expiry = model.table.ttl.as_ref() == Some(name);
        is_known(model, entity, name) && name != crate::load::BY && !(is_expiry && by_setting)
    };
    let value = |item: &Item, name: &String| item.get(name).filter(|value| !value.is_null()).cloned();
    let mut names: Vec<String> = found.keys().chain(should.keys()).cloned().collect();
    names.sort();
    names.dedup();
    names.retain(|name| is_meant(name) && value(found, name) != value(should, name));
    names
}

/// Whether a guard is one of an identity, and not of a unique value.
pub(super) fn is_identity_guard(model: &Model, owner: &Owner<'_>, key: &Item) -> bool {
    identity_place(model, owner.entity, &owner.known).is_ok_and(|place| place == *key)
}

/// Whether a version has a guard under a key.
pub(super) fn has_guard(model: &Model, entity: &Entity, item: &Item, key: &Item, scope: Scope<'_>) -> bool {
    let guards = row::decode_as_stored(entity, item).and_then(|row| guards_of_row(model, entity, &row, scope));
    // What cannot be told is told of the row itself.
    guards.map_or(true, |guards| {
        let is_it = |(kind, guard): &(GuardKind, Item)| *kind != GuardKind::Identity && key_in(model, guard) == *key;
        guards.iter().any(is_it)
    })
}
