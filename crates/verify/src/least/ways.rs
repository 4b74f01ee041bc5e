//! Every way to answer a selection, and what each reads of the items that are there.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::capacity::READ_UNIT_BYTES;
use singlet_item::key::Order as KeyOrder;

use singlet_item::{Item, Value, item_size_bytes};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::{BinaryOp, Expr, ExprKind};
use singlet_model::model::{Entity, KeyChoice, KeyPart, Order, Projection, Stored};
use singlet_model::types::EntityId;
use singlet_runtime::{Attributes, Scope};

use super::said;

/// The most ranges that one way asks for.
const RANGES_MAX: usize = 200;

/// A row and the item that it is kept as.
#[derive(Clone, Debug)]
pub struct StoredRow {
    /// What it is.
    pub entity: EntityId,
    /// As its entity sees it.
    pub row: Attributes,
    /// As it is stored.
    pub item: Item,
}

/// A table with its items, and each index with its entries, in the order of their keys.
#[derive(Debug)]
pub struct Table<'m> {
    model: &'m Model,
    pub(super) rows: Vec<StoredRow>,
    pub(super) places: Vec<Place<'m>>,
}

/// The table, or an index.
#[derive(Debug)]
pub(super) struct Place<'m> {
    pub name: &'m str,
    is_table: bool,
    pub is_global: bool,
    pub partition: Vec<&'m str>,
    pub sort: Vec<&'m str>,
    pub projection: &'m Projection,
    pub entries: Vec<Entry>,
}

/// One item of a place.
#[derive(Debug)]
pub(super) struct Entry {
    /// Which of the rows.
    pub row: usize,
    pub partition: Vec<Value>,
    sort: Vec<Value>,
    pub bytes: usize,
}

/// A selection, with the request by which it is made.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The entity.
    pub entity: &'a Entity,
    /// What every row of the answer satisfies.
    pub conjuncts: Vec<&'a Expr>,
    /// The order.
    pub order: &'a [Order],
    /// How many rows are wanted; all, where nothing is said.
    pub wanted: Option<usize>,
    /// The names of the request.
    pub scope: Scope<'a>,
    /// Whether it reads strongly.
    pub is_strong: bool,
    /// Whether it may read all of a place.
    pub may_scan: bool,
    /// The attributes that the answer shows; all, where nothing is said.
    pub shown: Option<BTreeSet<String>>,
}

/// One way, and what it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// What it asks for, in words.
    pub name: String,
    /// In half units: a block of 4 KB that may be stale.
    pub half_units: u64,
    /// The requests, of one page each.
    pub requests: u64,
}

impl<'m> Table<'m> {
    /// A table with rows.
    pub fn of(model: &'m Model, rows: Vec<StoredRow>) -> Self {
        let names = |keys: &'m [singlet_model::model::KeyAttribute]| keys.iter().map(|key| key.name.as_str());
        let mut places = vec![Place {
            name: "the table",
            is_table: true,
            is_global: false,
            partition: names(&model.table.key).take(1).collect(),
            sort: names(&model.table.key).skip(1).collect(),
            projection: &Projection::All,
            entries: Vec::new(),
        }];
        for index in &model.table.indexes {
            places.push(Place {
                name: &index.name,
                is_table: false,
                is_global: !index.local,
                partition: match index.local {
                    true => names(&model.table.key).take(1).collect(),
                    false => names(&index.partition).collect(),
                },
                sort: names(&index.sort).collect(),
                projection: &index.projection,
                entries: Vec::new(),
            });
        }
        for place in &mut places {
            let entries = rows.iter().enumerate();
            place.entries = entries
                .filter_map(|(at, row)| place.entry(model, at, &row.item))
                .collect();
            place
                .entries
                .sort_by(|a, b| (&a.partition, &a.sort).cmp(&(&b.partition, &b.sort)));
        }
        Table { model, rows, places }
    }

    /// Every way to answer a selection, the meaning taken apart or not.
    pub fn possible_ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        let kept = self.kept(asked);
        let mut ways: Vec<Way> = Vec::new();
        for place in &self.places {
            for (at, choice) in choices(self.model, asked.entity, place).into_iter().enumerate() {
                ways.extend(self.by_key(asked, place, (at, choice), &kept));
            }
            ways.extend(self.by_scan(asked, place, &kept));
        }
        ways.extend(self.by_alternatives(asked));
        ways.extend(self.by_cases(asked));
        ways
    }

    /// The cheapest way; of equals the one with fewer requests.
    pub fn least_way(&self, asked: &Asked<'_>) -> Option<Way> {
        self.possible_ways(asked)
            .into_iter()
            .min_by_key(|way| (way.half_units, way.requests))
    }

    /// Which rows are meant.
    fn kept(&self, asked: &Asked<'_>) -> Vec<bool> {
        let is_meant = |stored: &StoredRow| {
            let scope = asked.scope.with_row(&stored.row);
            let mut conjuncts = asked.conjuncts.iter();
            stored.entity == asked.entity.id
                && conjuncts.all(|conjunct| holds_condition(conjunct, &scope).unwrap_or(false))
        };
        self.rows.iter().map(is_meant).collect()
    }

    /// Each branch of an `||` by its own cheapest way.
    fn by_alternatives(&self, asked: &Asked<'_>) -> Vec<Way> {
        let is_choice = |conjunct: &&Expr| matches!(conjunct.kind, ExprKind::Binary(BinaryOp::Or, ..));
        let choices = asked
            .conjuncts
            .iter()
            .enumerate()
            .filter(|(_, conjunct)| is_choice(conjunct));
        let split = choices.filter_map(|(at, conjunct)| {
            let branches = conjunct.disjuncts().into_iter().map(|branch| {
                let mut narrow = asked.clone();
                narrow.conjuncts.remove(at);
                narrow.conjuncts.extend(branch.conjuncts());
                self.least_way(&narrow)
            });
            Some(sum_of("the branches of ||", branches.collect::<Option<Vec<Way>>>()?))
        });
        split.collect()
    }

    /// Each value of an attribute on which it depends where rows are, by its own cheapest way.
    fn by_cases(&self, asked: &Asked<'_>) -> Vec<Way> {
        let conditions = self
            .places
            .iter()
            .flat_map(|place| choices(self.model, asked.entity, place));
        let conditions = conditions.filter_map(|choice| choice.when.as_ref());
        let names: BTreeSet<&str> = conditions.flat_map(Expr::attributes).collect();
        let split = names.into_iter().filter_map(|name| {
            let attribute = asked.entity.attribute(name)?;
            let said = asked.conjuncts.iter().any(|conjunct| is_equality(conjunct, name));
            let mut values: Vec<Option<Value>> = said::finite_domain(&attribute.ty)?.into_iter().map(Some).collect();
            if attribute.optional {
                values.push(None);
            }
            values.retain(|value| said::may_hold(name, value.as_ref(), &asked.conjuncts, asked.scope));
            if said || values.len() < 2 {
                return None;
            }
            let cases: Vec<Expr> = values.iter().map(|value| equality(attribute, value.as_ref())).collect();
            let ways = cases.iter().map(|case| {
                let mut narrow = asked.clone();
                narrow.conjuncts.push(case);
                self.least_way(&narrow)
            });
            Some(sum_of("each case of an attribute", ways.collect::<Option<Vec<Way>>>()?))
        });
        split.collect()
    }

    /// All of a place.
    fn by_scan(&self, asked: &Asked<'_>, place: &Place<'_>, kept: &[bool]) -> Option<Way> {
        let has_all = place.is_table || self.is_whole(asked, place);
        if !asked.may_scan || !asked.order.is_empty() || !has_all {
            return None;
        }
        let all: Vec<&Entry> = place.entries.iter().collect();
        Some(self.read(asked, place, format!("scan of {}", place.name), [all], kept))
    }

    /// Whether every row that is meant is in a place.
    fn is_whole(&self, asked: &Asked<'_>, place: &Place<'_>) -> bool {
        let choices = choices(self.model, asked.entity, place);
        let mut at = 0..choices.len();
        at.any(|at| self.holds_all(asked, &choices, at))
    }

    /// Whether every row that is meant has the templates of a choice.
    fn holds_all(&self, asked: &Asked<'_>, choices: &[&KeyChoice], at: usize) -> bool {
        let Some(choice) = choices.get(at) else { return false };
        let implied = |when: &Expr| said::implies_condition(asked.entity, when, &asked.conjuncts, asked.scope);
        let contrary = |when: &Expr| implied(&not(when));
        let earlier = choices.iter().take(at).filter_map(|choice| choice.when.as_ref());
        let parts = choice.keys.iter().flat_map(|key| &key.parts);
        choice.when.as_ref().is_none_or(implied)
            && earlier.into_iter().all(contrary)
            && parts
                .filter(|part| part.optional)
                .all(|part| said::implies_present(&part.path, &asked.conjuncts, asked.scope))
    }

    /// Queries with more and more of the sort key, and with a range behind it or without.
    fn by_key(
        &self,
        asked: &Asked<'_>,
        place: &Place<'_>,
        (at, choice): (usize, &KeyChoice),
        kept: &[bool],
    ) -> Vec<Way> {
        let all_choices = choices(self.model, asked.entity, place);
        if asked.is_strong && place.is_global || !self.holds_all(asked, &all_choices, at) {
            return Vec::new();
        }
        let known = |part: &KeyPart| said::known_values(part, &asked.conjuncts, asked.scope);
        let partition: Vec<&KeyPart> = parts_of(choice, &place.partition).map(|(part, _)| part).collect();
        let sort: Vec<(&KeyPart, KeyOrder)> = parts_of(choice, &place.sort).collect();
        let Some(mut bound) = partition
            .iter()
            .map(|part| Some((*part, known(part)?)))
            .collect::<Option<Vec<Bound<'_>>>>()
        else {
            return Vec::new();
        };
        let mut ways = Vec::new();
        let mut depth = 0;
        loop {
            let rest = sort.get(depth..).unwrap_or_default();
            let one_row_each = place.is_table && rest.is_empty();
            if let Some(descending) = direction(asked.order, &bound, rest, one_row_each) {
                let ranged: Vec<&Expr> = rest.first().map_or_else(Vec::new, |(part, order)| {
                    let conjuncts = asked.conjuncts.iter().copied();
                    // Texts that begin alike lie side by side, whatever the order.
                    let lies_together =
                        |conjunct: &&Expr| *order == KeyOrder::Ascending || matches!(conjunct.kind, ExprKind::Call(..));
                    let ranged = conjuncts.filter(|conjunct| said::is_range(part, conjunct));
                    ranged.filter(lies_together).collect()
                });
                ways.extend(self.by_parts(asked, place, &bound, &ranged, descending, kept));
            }
            let Some((part, values)) = rest.first().and_then(|(part, _)| Some((*part, known(part)?))) else {
                return ways;
            };
            bound.push((part, values));
            depth += 1;
        }
    }

    /// One query for each combination of values of some parts.
    fn by_parts(
        &self,
        asked: &Asked<'_>,
        place: &Place<'_>,
        bound: &[Bound<'_>],
        ranged: &[&Expr],
        descending: bool,
        kept: &[bool],
    ) -> Option<Way> {
        // Reading every partition for a meaning that names none of the key is a scan by another name.
        let names_key = |conjunct: &&Expr| {
            bound
                .iter()
                .any(|(part, _)| conjunct.mentions_attribute(part.root_attribute()))
        };
        let is_scan = ranged.is_empty() && asked.order.is_empty() && !asked.conjuncts.iter().any(names_key);
        if is_scan && !asked.may_scan && !bound.is_empty() {
            return None;
        }
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        bound.iter().for_each(|(part, values)| {
            let known = seen.entry(&part.path).or_insert(values.len());
            *known = (*known).min(values.len());
        });
        let ranges = seen.values().try_fold(1_usize, |all, count| all.checked_mul(*count))?;
        if ranges > RANGES_MAX {
            return None;
        }
        let mut groups: BTreeMap<Vec<String>, (usize, usize)> = BTreeMap::new();
        for (at, entry) in place.entries.iter().enumerate() {
            let Some(stored) = self.rows.get(entry.row).filter(|row| row.entity == asked.entity.id) else {
                continue;
            };
            let parts = bound
                .iter()
                .map(|(part, values)| said::part_of_row(part, &stored.row).filter(|text| values.contains(text)));
            let Some(key) = parts.collect::<Option<Vec<String>>>() else {
                continue;
            };
            let scope = asked.scope.with_row(&stored.row);
            if ranged
                .iter()
                .all(|range| holds_condition(range, &scope).unwrap_or(false))
            {
                let span = groups.entry(key).or_insert((at, at));
                span.1 = at;
            }
        }
        // Everything between the first and the last is read, whatever it is.
        let empty = ranges.saturating_sub(groups.len());
        let spans = groups.values().map(|(first, last)| {
            let mut span: Vec<&Entry> = place.entries.get(*first..=*last).unwrap_or_default().iter().collect();
            if descending {
                span.reverse();
            }
            span
        });
        let spans = spans.chain((0..empty).map(|_| Vec::new()));
        let mut spans: Vec<Vec<&Entry>> = spans.collect();
        // In no order one span may be read after the other: at least those that have most of what is wanted.
        if asked.order.is_empty() {
            let meant = |entry: &&&Entry| kept.get(entry.row).copied().unwrap_or(false);
            spans.sort_by_cached_key(|span| std::cmp::Reverse(span.iter().filter(meant).count()));
        }
        let parts: Vec<&str> = bound.iter().map(|(part, _)| part.path.as_str()).collect();
        let behind = if ranged.is_empty() { "" } else { " and a range" };
        let name = format!("{} by [{}]{behind}, {ranges} times", place.name, parts.join(", "));
        Some(self.read(asked, place, name, spans, kept))
    }

    /// What it takes to read spans of a place: side by side each until as many rows are found as are wanted, in no order one after the other.
    fn read<'e>(
        &self,
        asked: &Asked<'_>,
        place: &Place<'_>,
        name: String,
        spans: impl IntoIterator<Item = Vec<&'e Entry>>,
        kept: &[bool],
    ) -> Way {
        let held = self.held(asked, place);
        let is_thin = held.as_ref().is_some_and(|held| !self.suffices(asked, held));
        let per_block = if asked.is_strong { 2 } else { 1 };
        let mut way = Way {
            name: if is_thin { format!("{name}, then gets") } else { name },
            half_units: 0,
            requests: 0,
        };
        let mut found = 0;
        let is_enough = |found: usize| asked.wanted.is_some_and(|wanted| found >= wanted);
        for span in spans {
            if !asked.order.is_empty() {
                found = 0;
            }
            if is_enough(found) {
                break;
            }
            let mut bytes = 0;
            for entry in span {
                if is_enough(found) {
                    break;
                }
                bytes += entry.bytes;
                found += usize::from(kept.get(entry.row).copied().unwrap_or(false));
                if let Some(held) = held.as_ref().filter(|_| is_thin)
                    && let Some(stored) = self.rows.get(entry.row)
                    && self.may_be_meant(asked, held, stored)
                {
                    way.half_units += per_block * read_blocks(item_size_bytes(&stored.item));
                    way.requests += 1;
                }
            }
            way.half_units += per_block * read_blocks(bytes);
            way.requests += 1;
        }
        way
    }

    /// Whether the entry of a row in a thin index leaves it open that the row is meant.
    fn may_be_meant(&self, asked: &Asked<'_>, held: &BTreeSet<&str>, stored: &StoredRow) -> bool {
        let scope = asked.scope.with_row(&stored.row);
        let told = asked.conjuncts.iter().filter(|conjunct| {
            let names = conjunct.attributes();
            names.iter().all(|name| held.contains(name))
        });
        stored.entity == asked.entity.id
            && told
                .into_iter()
                .all(|conjunct| holds_condition(conjunct, &scope).unwrap_or(false))
    }

    /// The attributes that entries of an index tell, where they do not have all.
    fn held(&self, asked: &Asked<'_>, place: &Place<'_>) -> Option<BTreeSet<&'m str>> {
        let names: &[String] = match place.projection {
            Projection::All => return None,
            Projection::Keys => &[],
            Projection::Include(names) => names,
        };
        let entity = self.model.entity(asked.entity.id)?;
        let in_entry = |name: &str| {
            let mut keys = place.partition.iter().chain(&place.sort);
            keys.any(|key| *key == name) || self.model.table.key.iter().any(|key| key.name == name)
        };
        let by_key = |name: &str| {
            let primary = entity.key.iter();
            let own = choices(self.model, entity, place);
            let mut keys = primary.chain(own).flat_map(|choice| &choice.keys);
            keys.any(|key| in_entry(&key.attribute) && key.gives_back(name))
        };
        let is_told = |attribute: &&'m singlet_model::model::Attribute| {
            let stored = match &attribute.stored {
                Stored::Own => attribute.name.as_str(),
                Stored::As(name) => name,
                Stored::No => return by_key(&attribute.name),
            };
            in_entry(stored) || names.iter().any(|name| name == stored) || by_key(&attribute.name)
        };
        Some(
            entity
                .attributes
                .iter()
                .filter(is_told)
                .map(|attribute| attribute.name.as_str())
                .collect(),
        )
    }

    /// Whether what an index tells of a row is all that the answer needs.
    fn suffices(&self, asked: &Asked<'_>, held: &BTreeSet<&str>) -> bool {
        let told = |name: &str| held.contains(name);
        let shown = match &asked.shown {
            Some(shown) => shown.iter().all(|name| told(name)),
            None => asked.entity.attributes.iter().all(|attribute| told(&attribute.name)),
        };
        let mut looked_at = asked.conjuncts.iter().flat_map(|conjunct| conjunct.attributes());
        shown && looked_at.all(told)
    }
}

/// A part of a key, and the values that it is asked for.
type Bound<'a> = (&'a KeyPart, BTreeSet<String>);

impl Place<'_> {
    /// The entry of an item, where it has all the keys.
    fn entry(&self, model: &Model, row: usize, item: &Item) -> Option<Entry> {
        let of = |names: &[&str]| {
            names
                .iter()
                .map(|name| item.get(*name).cloned())
                .collect::<Option<Vec<Value>>>()
        };
        let is_key = |name: &str| {
            let mut keys = self.partition.iter().chain(&self.sort);
            keys.any(|key| *key == name) || model.table.key.iter().any(|key| key.name == name)
        };
        let bytes = match self.projection {
            Projection::All => item_size_bytes(item),
            Projection::Keys => projected(item, &is_key),
            Projection::Include(names) => projected(item, &|name| is_key(name) || names.iter().any(|own| own == name)),
        };
        let (partition, mut sort) = (of(&self.partition)?, of(&self.sort)?);
        // Entries with one key come in the order of their primary keys.
        sort.extend(model.table.key.iter().filter_map(|key| item.get(&key.name).cloned()));
        Some(Entry {
            row,
            partition,
            sort,
            bytes,
        })
    }
}

fn projected(item: &Item, is_in: &dyn Fn(&str) -> bool) -> usize {
    let kept = item.iter().filter(|(name, _)| is_in(name));
    item_size_bytes(&kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The blocks of 4 KB that so many bytes are read as.
pub(super) fn read_blocks(bytes: usize) -> u64 {
    bytes.div_ceil(READ_UNIT_BYTES).max(1) as u64
}

/// The templates of an entity in a place.
fn choices<'m>(model: &Model, entity: &'m Entity, place: &Place<'_>) -> Vec<&'m KeyChoice> {
    if place.is_table {
        return entity.key.iter().collect();
    }
    let index = model.table.indexes.iter().position(|index| index.name == place.name);
    let entries = entity
        .index
        .iter()
        .filter(|entry| Some(entry.index.0 as usize) == index);
    entries.flat_map(|entry| entry.key_choices()).collect()
}

/// The parts of some key attributes, in order, each with how keys sort by it.
fn parts_of<'c>(choice: &'c KeyChoice, names: &'c [&str]) -> impl Iterator<Item = (&'c KeyPart, KeyOrder)> {
    let keys = names.iter().filter_map(|name| choice.attribute_template(name));
    keys.flat_map(|key| {
        let parts = key.parts.iter();
        parts.map(|part| (part, key.template.order_after(part.position)))
    })
}

/// Whether rows of each range come in the order asked for, and backwards or not; none where they do not.
fn direction(order: &[Order], bound: &[Bound<'_>], rest: &[(&KeyPart, KeyOrder)], one_row_each: bool) -> Option<bool> {
    let is_bound = |path: &str| bound.iter().any(|(part, _)| part.path == path && part.keeps_value());
    let open: Vec<&Order> = order.iter().filter(|order| !is_bound(&order.path)).collect();
    if one_row_each || open.is_empty() {
        return Some(false);
    }
    let mut direction = None;
    for (at, order) in open.iter().enumerate() {
        let (part, key_order) = rest.get(at)?;
        let descends = match key_order {
            KeyOrder::Ascending => order.descending,
            KeyOrder::Descending => !order.descending,
            KeyOrder::Coarse | KeyOrder::Unordered => return None,
        };
        if part.path != order.path || *direction.get_or_insert(descends) != descends {
            return None;
        }
    }
    direction
}

fn sum_of(name: &str, ways: Vec<Way>) -> Way {
    let names: Vec<&str> = ways.iter().map(|way| way.name.as_str()).collect();
    Way {
        name: format!("{name}: {}", names.join("; ")),
        half_units: ways.iter().map(|way| way.half_units).sum(),
        requests: ways.iter().map(|way| way.requests).sum(),
    }
}

fn is_equality(conjunct: &Expr, name: &str) -> bool {
    let ExprKind::Binary(BinaryOp::Eq, left, right) = &conjunct.kind else {
        return false;
    };
    let named = |expr: &Expr| matches!(&expr.kind, ExprKind::Attribute(own) if own == name);
    named(left) || named(right)
}

/// `attribute == value`, or `attribute == absent`.
fn equality(attribute: &singlet_model::model::Attribute, value: Option<&Value>) -> Expr {
    use singlet_model::expression::Literal;
    let literal = match value {
        Some(Value::S(text)) => Literal::Text(text.clone()),
        Some(Value::Bool(flag)) => Literal::Bool(*flag),
        Some(Value::N(number)) => Literal::Number(*number),
        _ => Literal::Absent,
    };
    let expr = |kind: ExprKind| Expr {
        kind,
        ty: attribute.ty.clone(),
        optional: attribute.optional,
        span: attribute.span,
    };
    let name = expr(ExprKind::Attribute(attribute.name.clone()));
    let value = expr(ExprKind::Literal(literal));
    let kind = ExprKind::Binary(BinaryOp::Eq, Box::new(name), Box::new(value));
    Expr {
        ty: singlet_model::types::Type::Bool,
        ..expr(kind)
    }
}

fn not(condition: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Not(Box::new(condition.clone())),
        ..condition.clone()
    }
}
