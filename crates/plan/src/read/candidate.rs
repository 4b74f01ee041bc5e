//! One access path, tried for one alternative of a meaning.

use std::collections::BTreeSet;

use singlet_item::{Number, Paths};
use singlet_model::expression::{Expr, Literal};
use singlet_model::model::{IndexId, KeyPart, KeyTemplate, Order, PartFunction, Projection, Stored};
use singlet_model::types::{EntityId, Type};
use singlet_model::{Model, model::Entity};

use super::chances::is_of_row;
use super::expected::{self, Expected, RowsWanted};
use super::implied;
use super::layout::Layout;
use super::order;
use super::reach::Reach;
use super::sort::{self, End, SortBound};
use super::strangers;
use super::thin;
use super::why::Why;
use crate::access::AccessPath;
use crate::values::{self, Values};

/// A query, as far as it is known before a request: its values are expressions over the request.
#[derive(Clone, Debug)]
pub struct Query {
    /// Whose rows lie on the path: the entity asked for, or a mirror of it.
    pub entity: EntityId,
    /// The index; the table, if there is none.
    pub index: Option<IndexId>,
    /// Which of the entity's templates.
    pub choice: usize,
    /// The values of the partition key's parts.
    pub partition: Vec<PartValues>,
    /// The condition on the sort key; none where the path has no sort key.
    pub sort: Option<SortBound>,
    /// Everything that a row of this alternative satisfies.
    pub meaning: Vec<Expr>,
    /// The part of it that the key does not settle, which DynamoDB or the process must check.
    pub rest: Vec<Expr>,
    /// Whether the rows come backwards.
    pub descending: bool,
    /// Whether the ranges follow one another in the order asked for, or none is asked for, so that a range is read when those before it do
    /// not suffice.
    pub in_sequence: bool,
    /// Whether the path has only part of a row, so that the rows are fetched after it.
    pub follow: bool,
    /// Of what the key does not settle: what is decided before rows are fetched.
    pub decided_by_entries: Vec<Expr>,
    /// Whether the whole table is read, for want of a key.
    pub scan: bool,
    /// Whether rows of other entities may be among those it reads, and no attribute tells them apart: then their keys do.
    pub is_mixed: bool,
    /// What the items on the path hold.
    pub layout: Layout,
    /// How many ranges a request can make of it.
    pub reach: Reach,
    /// What it is expected to read, beside other ways to answer, where it is sent.
    pub expected: Expected,
    /// In how many requests it is sent, as a part of all: it is about one word of several, and an argument says which.
    pub asked_share: f64,
    /// Which words those are, by their attributes; empty where it is sent in any case.
    pub asked_words: Vec<AskedWord>,
}

/// A word that an argument must be for a query to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedWord {
    /// The attribute that has it.
    pub attribute: String,
    /// The word, or a flag.
    pub word: Literal,
}

/// The values of one part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct PartValues {
    /// The attribute, or a path into one.
    pub path: String,
    /// The function around it.
    pub function: Option<PartFunction>,
    /// Its values.
    pub values: Values,
    /// Whether the part keeps the attribute's whole value, so that one value of the part is one value of the attribute.
    pub exact: bool,
    /// Whether the attribute can have only a few values.
    pub small: bool,
    /// For a state: states that time turns into others, so that rows stored in the one count as the other.
    pub lapses: Vec<(String, String)>,
}

impl PartValues {
    pub(super) fn new(part: &KeyPart, values: Values) -> Self {
        PartValues {
            path: part.path.clone(),
            function: part.function,
            values,
            exact: part.keeps_value(),
            small: part.ty.cardinality().is_some(),
            lapses: Vec::new(),
        }
    }

    /// The same for a part of an entity whose states may lapse.
    pub(super) fn of(part: &KeyPart, values: Values, source: &Entity) -> Self {
        PartValues {
            lapses: lapses(part, source),
            ..PartValues::new(part, values)
        }
    }
}

impl PartValues {
    /// Whether it is asked for one value. A state that others turn into is asked for under their names too.
    pub(crate) fn is_one(&self) -> bool {
        self.values.is_one() && self.lapses.is_empty()
    }

    /// Whether another part has the value that this one has, whichever of several that is: both are of one attribute, and take
    /// their values from the same. So `{id}` in the partition and the sort key makes one key of each id, and not one of each pair.
    pub fn follows(&self, other: &PartValues) -> bool {
        let formed = matches!(
            self.values,
            Values::EachFormed(_) | Values::Days(_) | Values::Cells { .. }
        );
        self.path == other.path && self.values == other.values && (!formed || self.function == other.function)
    }
}

/// The states that time turns into others, where the part is the state.
pub(super) fn lapses(part: &KeyPart, source: &Entity) -> Vec<(String, String)> {
    let states = source.states.as_ref().filter(|states| states.of == part.path);
    let lapses = states.map_or(&[][..], |states| &states.lapses);
    lapses
        .iter()
        .map(|lapse| (lapse.from.clone(), lapse.to.clone()))
        .collect()
}

impl Query {
    /// Reads the whole table and keeps what the conjuncts say.
    pub(super) fn scan(wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> Self {
        let (model, entity) = (wanted.model, wanted.entity);
        let meaning: Vec<Expr> = conjuncts.iter().map(|conjunct| (*conjunct).clone()).collect();
        let query = Query {
            entity: entity.id,
            index: None,
            choice: 0,
            partition: Vec::new(),
            sort: None,
            rest: meaning.clone(),
            meaning,
            descending: false,
            in_sequence: false,
            follow: false,
            decided_by_entries: Vec::new(),
            scan: true,
            is_mixed: false,
            layout: Layout::of(model, entity, None),
            reach: Reach::ONE,
            expected: Expected::NOTHING,
            asked_share: 1.0,
            asked_words: Vec::new(),
        };
        query.with_expected(wanted)
    }

    /// The same query, with what it is expected to read.
    fn with_expected(self, wanted: &Wanted<'_>) -> Self {
        let expected = expected::of_query(wanted.model, &self, wanted.rows, wanted.consistent);
        Query { expected, ..self }
    }

    /// The parts of the key that have values, those of the partition first.
    pub fn key_parts(&self) -> impl Iterator<Item = &PartValues> {
        self.partition
            .iter()
            .chain(self.sort.iter().flat_map(|sort| &sort.prefix))
    }

    /// The attributes that pages are asked for, where they are not asked for whole items: with the keys by which a page goes on
    /// after any of its rows, or without.
    pub fn projection(&self, keys: bool) -> Option<&Paths> {
        self.layout.projection(keys).filter(|_| !self.scan && !self.is_get())
    }

    /// What a get asks for of its item, where that is not all: the row, and what tells whether it is one.
    pub fn item_projection(&self) -> Option<&Paths> {
        self.layout.projection(!self.layout.may_be_bare)
    }

    /// Whether rows may be dropped after they were read, because the key does not settle all that is said of them.
    pub fn drops_rows(&self) -> bool {
        self.rest.iter().any(is_of_row)
    }

    /// Whether every row of a page of one range is taken, so that the next page goes on after the page and not after a row.
    pub fn takes_all(&self) -> bool {
        self.layout.may_be_bare && self.rest.is_empty() && !self.follow && !self.scan && !self.is_get()
    }

    /// Whether one item is asked for, and is all of the row: a get.
    pub fn is_get(&self) -> bool {
        self.names_one_item() && !self.follow
    }

    /// Whether each of its ranges is one item, which is all of the row: several come in a batch.
    pub(crate) fn is_got_by_keys(&self) -> bool {
        let is_whole = self.sort.as_ref().is_none_or(|sort| sort.whole);
        self.index.is_none() && is_whole && !self.scan && !self.follow
    }

    /// Whether it reads one range, whatever is sent.
    pub(crate) fn reads_one_range(&self) -> bool {
        self.key_parts().all(PartValues::is_one) && !self.scan
    }

    /// Whether the key of one item is known.
    pub(crate) fn names_one_item(&self) -> bool {
        if self.scan {
            return false;
        }
        let one = |parts: &[PartValues]| parts.iter().all(PartValues::is_one);
        let sort_known = self.sort.as_ref().is_none_or(|sort| sort.whole && one(&sort.prefix));
        self.index.is_none() && one(&self.partition) && sort_known
    }

    /// Whether rows at the ends of its range, or beyond them, are read though they are left out: a range of keys has both its ends, and an
    /// end that no key can have leaves its side open.
    pub(crate) fn reads_past_ends(&self, model: &Model) -> bool {
        let Some(sort) = &self.sort else { return false };
        let ends = || [&sort.low, &sort.high].into_iter().flatten();
        let Some((key, part)) = self.ranged_part(model, sort) else {
            return false;
        };
        let is_excluded = ends().any(|end| end.excluded);
        // Nothing stands behind the last part of a key, so that the end itself may be a key.
        let is_last = part.position + 1 == key.template.parts().len();
        let may_have_no_key = |end: &End| match end.value.as_literal() {
            Some(Literal::Number(number)) => is_beyond(&part.ty, *number),
            Some(_) => false,
            None => end.value.ty != part.ty && !part.ty.is_instant(),
        };
        is_excluded && is_last || ends().any(may_have_no_key)
    }

    /// The part of the sort key after those that are bound, and its key.
    fn ranged_part<'m>(&self, model: &'m Model, sort: &SortBound) -> Option<(&'m KeyTemplate, &'m KeyPart)> {
        let entity = model.entity(self.entity)?;
        let choices = match self.index {
            Some(index) => entity.index_entry(index).map_or(&[][..], |entry| entry.key_choices()),
            None => &entity.key,
        };
        let sorts: Vec<&str> = match self.index.and_then(|index| model.index(index)) {
            Some(index) => index.sort.iter().map(|key| key.name.as_str()).collect(),
            None => model.table.key.iter().skip(1).map(|key| key.name.as_str()).collect(),
        };
        let keys = choices.get(self.choice).map_or(&[][..], |choice| &choice.keys);
        let mut parts = keys
            .iter()
            .filter(|key| sorts.contains(&key.attribute.as_str()))
            .flat_map(|key| key.parts.iter().map(move |part| (key, part)));
        parts.nth(sort.prefix.len())
    }

    /// The attribute of the sort key after those that are bound: a range is of it.
    pub(super) fn ranged_path(&self, model: &Model) -> Option<String> {
        let sort = self.sort.as_ref()?;
        let (_, part) = self.ranged_part(model, sort)?;
        let entity = model.entity(self.entity)?;
        Some(values::own_part(part, entity).path.clone())
    }

    /// How dear the query is, for comparing: what it is expected to take in units and requests; of queries that are alike in
    /// that, how many rows share a partition, how many partitions are asked, what is left to filter, and how much of the sort key is
    /// used.
    pub(super) fn cost(&self) -> Cost {
        let fan = |values: &Values| match values {
            Values::One(_) | Values::Formed(_) => 0,
            Values::Each(_) | Values::EachFormed(_) => 1,
            Values::Days(_) | Values::Cells { .. } => 2,
            Values::All(words) => 3 + u32::try_from(words.len()).unwrap_or(u32::MAX - 3),
        };
        let fan_out = self.key_parts().map(|part| fan(&part.values)).sum();
        let sort = self.sort.as_ref();
        let bound = sort.map_or(0, |sort| {
            sort.prefix.len() + usize::from(sort.low.is_some() || sort.high.is_some())
        });
        (
            self.expected.compared_half_units,
            self.expected.requests,
            !self.is_get(),
            self.crowd(),
            self.follow,
            fan_out,
            self.rest.len(),
            usize::MAX - bound,
            self.index.is_some(),
        )
    }

    /// How crowded the partitions are: those of an id or an owner least, those of a cell or a day more, those of a state or a
    /// constant most.
    fn crowd(&self) -> u8 {
        let spreads = |part: &PartValues| !part.small && !matches!(part.values, Values::Cells { .. } | Values::Days(_));
        if self.partition.iter().any(spreads) {
            return 0;
        }
        match self.partition.iter().any(|part| !part.small) {
            true => 1,
            false => 2,
        }
    }
}

type Cost = (u64, u64, bool, u8, bool, u32, usize, usize, bool);

/// What a path is tried for.
pub(super) struct Wanted<'a> {
    pub model: &'a Model,
    pub entity: &'a Entity,
    pub order: &'a [Order],
    pub consistent: bool,
    /// Whether the rows are merged with those of other queries.
    pub merged: bool,
    /// How many rows of the answer are wanted at once.
    pub rows: RowsWanted,
    /// The attributes that the answer is made of; none where it is made of whole rows.
    pub shown: Option<BTreeSet<String>>,
    /// The index that the read names; any path, where it names none.
    pub pinned: Option<IndexId>,
}

impl Wanted<'_> {
    /// Whether the model's days are not those of UTC, which keys have.
    pub fn is_local(&self) -> bool {
        self.model.zone != "UTC"
    }

    /// Whether days of the model's zone are asked of a key that has days of UTC.
    pub(crate) fn is_elsewhere(&self, part: &KeyPart, values: &Values) -> bool {
        let formed = matches!(values, Values::Formed(_) | Values::EachFormed(_));
        formed && self.is_local() && values::is_day_of_instant(part)
    }
}

/// Tries a path for the conjuncts of one alternative: with none, one, or more of the parts of its sort key asked for value by value,
/// whichever is cheapest.
pub(super) fn attempt(path: &AccessPath<'_>, wanted: &Wanted<'_>, conjuncts: &[&Expr]) -> Result<Query, Why> {
    let mut best = attempt_fanned(path, wanted, conjuncts, 0);
    for fanned in 1..=FANNED_PARTS_MAX {
        let source = wanted.model.source_of(path.entity);
        let (sort, _) = sort::bind(path, source, wanted, (conjuncts, &[]), fanned);
        if sort.fanned() < fanned {
            break;
        }
        let Ok(query) = attempt_fanned(path, wanted, conjuncts, fanned) else {
            continue;
        };
        let rank = |query: &Query| (query.reach.exceeds(), query.cost());
        if best.as_ref().map_or(true, |best| rank(&query) < rank(best)) {
            best = Ok(query);
        }
    }
    best
}

/// The most parts of a sort key that are asked for value by value where nothing but the cost asks for it.
const FANNED_PARTS_MAX: usize = 3;

fn attempt_fanned(
    path: &AccessPath<'_>,
    wanted: &Wanted<'_>,
    conjuncts: &[&Expr],
    fanned_max: usize,
) -> Result<Query, Why> {
    if wanted.consistent && path.index.is_some_and(|index| !index.local) {
        return Err(Why::Eventual);
    }
    let source = wanted.model.source_of(path.entity);
    let is_thin = !carries_all(path, wanted);
    let told_by_keys = is_thin.then(|| thin::told_by_keys(path, wanted, conjuncts)).flatten();
    let follow = is_thin && told_by_keys.is_none();
    if !implied::implies_choice(path, source, conjuncts) || depends_on_primary(path, follow, wanted) {
        let lapse = implied::lapse_in_the_way(path.choice, source, conjuncts);
        return Err(lapse.map_or(Why::Conditional, |lapse| {
            Why::Lapsed(lapse.from.clone(), lapse.to.clone())
        }));
    }
    if let Some(name) = unknown_of_source(path, wanted).filter(|_| follow) {
        return Err(Why::Unfollowed(name));
    }
    let mut settled: Vec<&Expr> = Vec::new();
    let mut partition = Vec::new();
    for part in path.partition_templates().iter().flat_map(|key| &key.parts) {
        let Some(known) = values::bind_part(part, path.entity, conjuncts, wanted.is_local()) else {
            return Err(Why::Open(part.path.clone()));
        };
        if wanted.is_elsewhere(part, &known.values) {
            return Err(Why::Zone(part.path.clone()));
        }
        // A stored state may have lapsed since: what the meaning says of it is checked on the row.
        if !implied::time_changes(source, part.root_attribute()) {
            settled.extend(known.settled);
        }
        partition.push(PartValues::of(
            &values::own_part(part, path.entity),
            known.values,
            source,
        ));
    }
    let parts = path.choice.keys.iter().flat_map(|key| &key.parts);
    if let Some(part) = parts
        .into_iter()
        .find(|part| part.optional && !implied::implies_present(&values::own_part(part, path.entity).path, conjuncts))
    {
        return Err(Why::Sparse(part.path.clone()));
    }
    let (mut sort, settled_by_sort) = sort::bind(path, source, wanted, (conjuncts, &settled), fanned_max);
    settled.extend(settled_by_sort.prefix);
    let bound_parts = || partition.iter().chain(&sort.prefix);
    let fixed = |name: &str| {
        let mut parts = bound_parts();
        parts.any(|part| part.path == name && part.exact && part.values.is_one())
    };
    let bound = |name: &str| {
        let mut parts = bound_parts();
        parts.any(|part| part.path == name && part.exact && part.lapses.is_empty())
    };
    let changing = |order: &&Order| {
        let root = order.path.split('.').next().unwrap_or_default();
        implied::moves_with_time(source, root, conjuncts) && !fixed(&order.path)
    };
    // Ranges of one row each come in any order: merging them gives it.
    let one_row_each = path.index.is_none() && (path.sort_templates().is_empty() || sort.whole);
    let kept = match wanted.order.iter().find(changing) {
        _ if one_row_each && !wanted.order.is_empty() => order::Kept::merged(),
        Some(order) => return Err(Why::Order(order.path.clone())),
        None => order::kept(path, &sort, &fixed, &bound, wanted.order)?,
    };
    if kept.fanned.is_empty() {
        settled.extend(settled_by_sort.ends);
    }
    let one_range = partition.iter().chain(&sort.prefix).all(PartValues::is_one);
    let apart = path.stands_apart();
    let merges = wanted.merged || !one_range || kept.merged;
    // Rows of other templates lie among the path's, where their keys say nothing of the order by which ranges are merged.
    if let Some(order) = wanted.order.first().filter(|_| merges && !apart && !one_row_each) {
        return Err(Why::Order(order.path.clone()));
    }
    fan_out(&mut sort, &kept.fanned);
    if wanted.order.is_empty() && uses_nothing(&partition, &sort) && !implied::names_path(path, conjuncts) {
        return Err(Why::Unused);
    }
    let is_settled = |conjunct: &&Expr| {
        let by_key = settled.iter().any(|known| std::ptr::eq(*known, *conjunct));
        by_key || implied::settled_by(path.choice, source, conjunct)
    };
    let rest: Vec<Expr> = conjuncts
        .iter()
        .filter(|conjunct| !(apart && is_settled(conjunct)))
        .map(|conjunct| (*conjunct).clone())
        .collect();
    let (decided_by_entries, told_by_keys) = match told_by_keys {
        Some(told) => (Vec::new(), told),
        None if follow => thin::decided_by_entries(path, wanted, &rest),
        None => Default::default(),
    };
    let mut query = Query {
        entity: path.entity.id,
        index: path.index_in(wanted.model),
        choice: path.choice_at,
        partition,
        sort: (!path.sort_templates().is_empty()).then_some(sort),
        meaning: conjuncts.iter().map(|conjunct| (*conjunct).clone()).collect(),
        rest,
        descending: kept.descending || newest_first(path, wanted, &kept),
        // Rows that are asked for in no order may come range by range, as those that ranges follow one another in.
        in_sequence: one_range && !kept.merged || wanted.order.is_empty(),
        follow,
        decided_by_entries,
        scan: false,
        is_mixed: false,
        layout: Layout::of(wanted.model, path.entity, path.index).told_by(told_by_keys),
        reach: Reach::ONE,
        expected: Expected::NOTHING,
        asked_share: 1.0,
        asked_words: Vec::new(),
    };
    // Entries of other kinds, which nothing tells apart, have keys of their own making: the rows behind all of them are got.
    let reads_keys = !query.layout.told_by_keys.is_empty();
    if reads_keys && strangers::is_mixed(wanted.model, &query) {
        query.follow = is_thin;
        query.decided_by_entries.clear();
        query.layout = Layout::of(wanted.model, path.entity, path.index);
    }
    query.reach = Reach::of(&query);
    Ok(query.with_expected(wanted))
}

/// The current version is the newest: where no other order is asked for, versions come newest first.
fn newest_first(path: &AccessPath<'_>, wanted: &Wanted<'_>, kept: &order::Kept) -> bool {
    let history = wanted.entity.history.as_ref().filter(|_| wanted.order.is_empty());
    let by_version = |at: &str| {
        path.sort_templates()
            .iter()
            .flat_map(|key| &key.parts)
            .any(|part| part.path == at)
    };
    kept.fanned.is_empty() && history.is_some_and(|history| by_version(&history.at))
}

/// Parts that stand in the way of an order are asked for value by value; a range of the first of them is left to the filter.
fn fan_out(sort: &mut SortBound, fanned: &[order::Fanned]) {
    for order::Fanned { part, descending } in fanned {
        let mut words = values::small_words(part).unwrap_or_default();
        if *descending {
            words.reverse();
        }
        sort.prefix.push(PartValues::new(part, Values::All(words)));
        (sort.low, sort.high) = (None, None);
    }
}

/// Whether a number is none of a type's.
fn is_beyond(ty: &Type, number: Number) -> bool {
    match ty {
        Type::Int(limits) | Type::Number(limits) => {
            limits.min.is_some_and(|min| number < min) || limits.max.is_some_and(|max| number > max)
        }
        _ => false,
    }
}

/// Whether every value of the partition key would be asked for, and all rows under it.
fn uses_nothing(partition: &[PartValues], sort: &SortBound) -> bool {
    let open = !partition.is_empty() && partition.iter().all(|part| matches!(part.values, Values::All(_)));
    open && sort.fanned() == sort.prefix.len() && sort.low.is_none() && sort.high.is_none()
}

/// Whether the path's rows have every attribute of the entity.
fn carries_all(path: &AccessPath<'_>, wanted: &Wanted<'_>) -> bool {
    let projected = path.index.is_none_or(|index| index.projection == Projection::All);
    let mut attributes = wanted.entity.attributes.iter();
    // What stands only in the key of a row is in its mirror where the mirror's key has it, too.
    let is_held = |name: &str| {
        let own = path.entity.attribute(name);
        let is_told = || path.entity.key_that_holds(name).is_some();
        own.is_some_and(|own| own.stored != Stored::No || own.alias.is_some() || is_told())
    };
    let carried = path.entity.id == wanted.entity.id || attributes.all(|attribute| is_held(&attribute.name));
    projected && carried
}

/// The attribute of a row's primary key that the path's items do not have, where they are of a mirror: the row cannot be found from
/// them. Of the entity's own items every index has the primary key.
fn unknown_of_source(path: &AccessPath<'_>, wanted: &Wanted<'_>) -> Option<String> {
    if path.entity.id == wanted.entity.id {
        return None;
    }
    let is_held = |root: &str| {
        let Some(attribute) = path.entity.attribute(root) else {
            return false;
        };
        let is_key = |name: &str| {
            let table = wanted.model.table.key.iter();
            let index = path.index.into_iter().flat_map(singlet_model::model::Index::key);
            table.chain(index).any(|key| key.name == name)
        };
        match (&attribute.stored, path.index.map(|index| &index.projection)) {
            (Stored::No, _) => path
                .entity
                .key_that_holds(root)
                .is_some_and(|key| is_key(&key.attribute)),
            (_, None | Some(Projection::All)) => true,
            (stored, projected) => {
                let name = match stored {
                    Stored::As(name) => name,
                    Stored::Own | Stored::No => &attribute.name,
                };
                is_key(name) || matches!(projected, Some(Projection::Include(names)) if names.contains(name))
            }
        }
    };
    let mut roots = wanted
        .entity
        .key_templates()
        .flat_map(|key| &key.parts)
        .map(KeyPart::root_attribute);
    roots.find(|root| !is_held(root)).map(str::to_owned)
}

/// Whether which of several primary keys a row has decides where it is: an index over the table's own keys has them all, and from a
/// mirror only one can be followed.
fn depends_on_primary(path: &AccessPath<'_>, follow: bool, wanted: &Wanted<'_>) -> bool {
    let table_key = &wanted.model.table.key;
    let repeats = path.index.is_some_and(|index| {
        let mut keys = index.key();
        index.local || keys.any(|key| table_key.iter().any(|known| known.name == key.name))
    });
    let from_mirror = follow && path.entity.id != wanted.entity.id;
    repeats && path.entity.key.len() > 1 || from_mirror && wanted.entity.key.len() > 1
}
