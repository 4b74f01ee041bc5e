//! What a query is expected to read, from what the model says of its rows, so that ways to answer a read can be compared.
//!
//! Nothing rests on these figures but the choice between ways that answer alike. What nobody has said is taken from the
//! constants below; conditions are taken as independent of one another.

use singlet_item::capacity::READ_UNIT_BYTES;
use singlet_item::limits::{BATCH_GET_ITEMS_MAX, PAGE_SIZE_BYTES_MAX};
use singlet_item::{Number, ReadUnits};
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{ABSENT_VALUE, Entity, Estimate, KeyChoice, KeyPart, LetValue, PartFunction};
use singlet_model::types::Type;

use super::candidate::{PartValues, Query};
use super::entry_size::{carried_share, entry_bytes_usual};
use super::sort::{End, EndPoint};
use crate::bounds::Bounds;
use crate::cost::rows_asked;
use crate::span;
use crate::values::{CalendarUnit, Values};

/// How many rows an entity has that has no estimate.
pub const ROWS_USUAL: f64 = 100_000.0;
/// The bytes of a row of which neither an estimate nor limits say them.
pub const ROW_BYTES_USUAL: f64 = 400.0;
/// How many rows share a value of which nothing is known: an owner's.
pub const ROWS_SHARING_USUAL: f64 = 1_000.0;
/// The elements of a list whose length nobody limits.
pub const LIST_ELEMENTS_USUAL: f64 = 10.0;
/// The days over which rows are spread.
pub const DAYS_USUAL: f64 = 365.0;
/// The days that a range of days has, where its ends do not tell.
pub const RANGE_DAYS_USUAL: f64 = 30.0;
/// The cells that cover a circle, and those over which rows are spread.
pub const CELLS_USUAL: (f64, f64) = (9.0, 1_000.0);
/// The part of the rows that lies before an end of a range, or after it.
pub const SHARE_OF_AN_END: f64 = 0.5;
/// Parts of the rows that an end may leave, one as likely as another.
const SHARES_OF_AN_END: [f64; 5] = [0.05, 0.25, 0.5, 0.75, 0.95];
/// Those of a second attribute beside each of the first. Each occurs once, and the two move apart (they correlate by nothing), for five
/// reckonings where all pairs would be twenty-five: every candidate of every combination of optional arguments is reckoned so.
const SHARES_BESIDE: [f64; 5] = [0.25, 0.95, 0.5, 0.05, 0.75];
/// The part of the rows that a condition keeps of which nothing is known.
pub const SHARE_OF_A_CONDITION: f64 = 0.5;
/// The part of the rows whose text begins as it is asked.
pub const SHARE_OF_A_BEGINNING: f64 = 0.05;

/// How many rows of an answer are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RowsWanted {
    /// One, or as many as make a page.
    Page(u64),
    /// All of them: a count, or a list without a limit.
    All,
}

/// What a query is expected to take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// In half units, of reads that may be stale: what a query of one block costs is 1.
    pub half_units: u64,
    /// The same on average over where the ends of ranges may lie: by this ways are compared.
    pub compared_half_units: u64,
    /// Those of them that gets of whole rows on the table take, behind an index that has only part of them.
    pub followed_half_units: u64,
    /// The requests.
    pub requests: u64,
    /// Rows that are read.
    pub rows_read: f64,
    /// Those of them that belong to the answer.
    pub rows_kept: f64,
    /// The part of the rows that the filter keeps, where estimates say it of each of its conditions.
    pub kept_share: Option<f64>,
}

impl Expected {
    /// Nothing at all.
    pub(super) const NOTHING: Expected = Expected {
        half_units: 0,
        compared_half_units: 0,
        followed_half_units: 0,
        requests: 0,
        rows_read: 0.0,
        rows_kept: 0.0,
        kept_share: None,
    };

    /// In units.
    pub fn units(&self) -> ReadUnits {
        ReadUnits::from_halves(self.half_units)
    }

    /// The units by which ways are compared.
    pub(super) fn compared_units(&self) -> ReadUnits {
        ReadUnits::from_halves(self.compared_half_units)
    }
}

/// What is known of an entity's rows.
struct Rows<'a> {
    model: &'a Model,
    entity: &'a Entity,
    estimate: Option<&'a Estimate>,
    count: f64,
    /// The part of the rows that one end of a range leaves, by the attribute that it is of; of others the usual.
    ends: &'a [(String, f64)],
}

/// What a query is expected to read until it has the rows that are wanted. Ways are compared by what they take on average over where the
/// ends of ranges may lie: a way that reads little at a usual end may read all for one that leaves few rows.
pub(super) fn of_query(model: &Model, query: &Query, wanted: RowsWanted, consistent: bool) -> Expected {
    let usual = with_ends(model, query, wanted, consistent, &[]);
    let ended = ended_attributes(model, query);
    let halves = |ends: &[(String, f64)]| with_ends(model, query, wanted, consistent, ends).half_units as f64;
    let each: Vec<f64> = match ended.as_slice() {
        [] => return usual,
        [one] => SHARES_OF_AN_END.map(|share| halves(&[(one.clone(), share)])).to_vec(),
        // Of more than two the others stay where ends usually lie.
        [one, other, ..] => SHARES_OF_AN_END
            .iter()
            .zip(SHARES_BESIDE)
            .map(|(share, beside)| halves(&[(one.clone(), *share), (other.clone(), beside)]))
            .collect(),
    };
    Expected {
        compared_half_units: whole(each.iter().sum::<f64>() / each.len() as f64),
        ..usual
    }
}

/// The attributes of which a query has ends of ranges, in its key or its filter, that may lie anywhere.
fn ended_attributes(model: &Model, query: &Query) -> Vec<String> {
    let source = model.entity(query.entity).map(|entity| model.source_of(entity));
    let rows = source.map(|source| Rows::of(model, source));
    let mut ended: Vec<String> = Vec::new();
    if let Some((sort, path)) = query.sort.as_ref().zip(query.ranged_path(model)) {
        let is_open = |end: &End, is_low: bool| {
            let op = if is_low { BinaryOp::Ge } else { BinaryOp::Le };
            let said = rows.as_ref().and_then(|rows| rows.share_beyond(op, &path, &end.value));
            said.is_none()
        };
        let low = sort.low.as_ref().is_some_and(|end| is_open(end, true));
        let high = sort.high.as_ref().is_some_and(|end| is_open(end, false));
        if low || high {
            ended.push(path);
        }
    }
    for conjunct in &query.rest {
        let Some((path, _)) = side_of_end(conjunct).filter(|(path, _)| !ended.contains(path)) else {
            continue;
        };
        let ExprKind::Binary(op, left, right) = &conjunct.kind else {
            continue;
        };
        let value = if path_of(left).is_some() { right } else { left };
        let said = rows.as_ref().and_then(|rows| rows.share_beyond(*op, &path, value));
        if said.is_none() {
            ended.push(path);
        }
    }
    ended
}

/// The same, where ends of ranges leave these parts of the rows.
fn with_ends(model: &Model, query: &Query, wanted: RowsWanted, consistent: bool, ends: &[(String, f64)]) -> Expected {
    let Some(entity) = model.entity(query.entity) else {
        return Expected {
            half_units: u64::MAX,
            compared_half_units: u64::MAX,
            followed_half_units: 0,
            requests: u64::MAX,
            rows_read: f64::MAX,
            rows_kept: 0.0,
            kept_share: None,
        };
    };
    let rows = Rows {
        ends,
        ..Rows::of(model, model.source_of(entity))
    };
    let (ranges, in_ranges) = match query.scan {
        true => (
            1.0,
            model.entities.iter().map(|entity| Rows::of(model, entity).count).sum(),
        ),
        false => rows.in_ranges(query, entity),
    };
    let kept_share = rows.share_of_all(&query.rest);
    // A page is never expected to keep nothing: then all of the range would be read for it.
    let kept_share = kept_share.clamp(1.0 / in_ranges.max(1.0), 1.0);
    let said_share = query
        .rest
        .iter()
        .all(|conjunct| rows.tells_share(conjunct))
        .then_some(kept_share);
    let in_one = in_ranges / ranges;
    let read_in_one = match wanted {
        RowsWanted::All => in_one,
        RowsWanted::Page(_) if query.is_get() => 1.0,
        RowsWanted::Page(page) => {
            let first = rows_asked(&Bounds::USUAL, page, !query.rest.is_empty(), said_share) as f64;
            in_one.min(first.max(page as f64 / kept_share))
        }
    };
    let asked = match query.in_sequence && wanted != RowsWanted::All {
        // One range after the other, until there are enough.
        true => (read_in_one.max(1.0) / in_one.max(1.0)).ceil().clamp(1.0, ranges),
        false => ranges,
    };
    let bytes = read_in_one * rows.entry_bytes(query, entity);
    let per_block = if consistent { 2.0 } else { 1.0 };
    let pages = (bytes / PAGE_SIZE_BYTES_MAX as f64).ceil().max(1.0);
    let mut half_units = asked * per_block * (bytes / READ_UNIT_BYTES as f64).ceil().max(1.0);
    let mut requests = asked * pages;
    let rows_read = asked * read_in_one;
    let mut followed = 0.0;
    if query.follow {
        let blocks = (rows.bytes() / READ_UNIT_BYTES as f64).ceil().max(1.0);
        let rows_got = rows_read * rows.share_of_all(&query.decided_by_entries);
        followed = rows_got * per_block * blocks;
        half_units += followed;
        requests += (rows_got / BATCH_GET_ITEMS_MAX as f64).ceil();
    }
    Expected {
        half_units: whole(half_units),
        compared_half_units: whole(half_units),
        followed_half_units: whole(followed),
        requests: whole(requests),
        rows_read,
        rows_kept: rows_read * kept_share,
        kept_share: said_share,
    }
}

/// A figure as a whole number; what is past all numbers is the largest.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casting from floating point saturates, and no figure is below zero"
)]
fn whole(figure: f64) -> u64 {
    figure.round() as u64
}

impl<'a> Rows<'a> {
    fn of(model: &'a Model, entity: &'a Entity) -> Self {
        let estimate = model.estimate(&entity.name);
        let count = estimate
            .and_then(|estimate| estimate.items)
            .map_or(ROWS_USUAL, |items| items as f64);
        Rows {
            model,
            entity,
            estimate,
            count: count.max(1.0),
            ends: &[],
        }
    }

    fn bytes(&self) -> f64 {
        let bytes = self.estimate.and_then(|estimate| estimate.bytes);
        bytes.map_or(ROW_BYTES_USUAL, |bytes| bytes as f64)
    }

    /// The bytes of a row where the query finds it.
    fn entry_bytes(&self, query: &Query, entity: &Entity) -> f64 {
        let projection = query
            .index
            .and_then(|index| self.model.index(index))
            .map(|index| &index.projection);
        let own = self.model.estimate(&entity.name).and_then(|estimate| estimate.bytes);
        let bytes = own.map_or_else(|| self.bytes(), |bytes| bytes as f64);
        let carried = bytes * projection.map_or(1.0, |projection| carried_share(entity, projection));
        let by_types = query
            .index
            .zip(projection)
            .and_then(|(index, projection)| entry_bytes_usual(self.model, entity, index, projection));
        by_types.map_or(carried, |by_types| carried.min(by_types))
    }

    /// How many ranges the values of a query's key make, and how many rows lie in all of them.
    fn in_ranges(&self, query: &Query, entity: &Entity) -> (f64, f64) {
        let mut seen: Vec<&PartValues> = Vec::new();
        let (mut ranges, mut share) = (1.0, 1.0);
        for part in query.key_parts() {
            if seen.iter().any(|known| known.follows(part)) {
                continue;
            }
            seen.push(part);
            let values = values_of(part);
            ranges *= values;
            share *= match self.share_of_words(part) {
                Some(said) => said,
                None => (values * self.sharing(&part.path, part.function) / self.count).min(1.0),
            };
        }
        let choices = match query.index {
            Some(index) => entity.entry(index).map_or(&[][..], |entry| entry.choices()),
            None => &entity.key,
        };
        let when = choices.get(query.choice).and_then(|choice| choice.when.as_ref());
        if let Some(when) = when {
            let said = |conjunct: &&Expr| query.meaning.iter().any(|known| known == *conjunct);
            let shares = when
                .conjuncts()
                .into_iter()
                .filter(|part| !said(part))
                .map(|part| self.share_of(part));
            share *= shares.product::<f64>();
        }
        // Rows without a part of the key are not there.
        let parts = choices
            .get(query.choice)
            .into_iter()
            .flat_map(|choice| &choice.keys)
            .flat_map(|key| &key.parts);
        let open = parts.filter(|part| part.optional && !seen.iter().any(|known| known.path == part.path));
        share *= open.map(|part| 1.0 - self.share_absent(&part.path)).product::<f64>();
        let ends = query.sort.iter().flat_map(|sort| [&sort.low, &sort.high]).flatten();
        let ranged = query.ranged_path(self.model).unwrap_or_default();
        share *= ends.map(|end| self.share_of_end(query, &ranged, end)).product::<f64>();
        let mut rows = self.count * share;
        // Whoever says every variable of the key means one row of each range.
        let names = self.model.catalog.names(self.entity.id);
        let variables = names.map_or(&[][..], |names| &names.key_variables);
        let said = |name: &String| seen.iter().any(|part| part.path == *name && part.exact);
        if !variables.is_empty() && variables.iter().all(said) {
            rows = rows.min(ranges);
        }
        (ranges, rows)
    }

    /// The part of the rows that an end of a range leaves. A day has two ends, which together leave a day.
    fn share_of_end(&self, query: &Query, path: &str, end: &End) -> f64 {
        let both = query
            .sort
            .as_ref()
            .and_then(|sort| sort.low.as_ref().zip(sort.high.as_ref()));
        let is_one = both.is_some_and(|(low, high)| low.value == high.value);
        let units = match end.point {
            EndPoint::Beginning => return SHARE_OF_A_BEGINNING,
            EndPoint::StartOf(unit) | EndPoint::AfterEndOf(unit) if is_one => match unit {
                CalendarUnit::Day => DAYS_USUAL,
                CalendarUnit::Month => DAYS_USUAL / 30.0,
                CalendarUnit::Year => 1.0,
            },
            // Of two ends one may lie anywhere, and the other where ends usually lie behind it.
            EndPoint::Itself | EndPoint::StartOf(_) | EndPoint::AfterEndOf(_) => {
                let is_low = query
                    .sort
                    .as_ref()
                    .is_some_and(|sort| sort.low.as_ref().is_some_and(|low| std::ptr::eq(low, end)));
                let op = match (is_low, end.excluded) {
                    (true, true) => BinaryOp::Gt,
                    (true, false) => BinaryOp::Ge,
                    (false, true) => BinaryOp::Lt,
                    (false, false) => BinaryOp::Le,
                };
                if let Some(said) = self.share_beyond(op, path, &end.value) {
                    return said;
                }
                let is_second = both.is_some_and(|(_, high)| std::ptr::eq(high, end));
                return if is_second {
                    SHARE_OF_AN_END
                } else {
                    self.share_at_end(path)
                };
            }
        };
        (1.0 / units).sqrt()
    }

    /// The part of the rows that an end of a range over an attribute leaves.
    fn share_at_end(&self, path: &str) -> f64 {
        let known = self.ends.iter().find(|(ended, _)| ended == path);
        known.map_or(SHARE_OF_AN_END, |(_, share)| *share)
    }

    /// The part of the rows that an end leaves which is a number among few: as many as lie on its side.
    fn share_beyond(&self, op: BinaryOp, path: &str, end: &Expr) -> Option<f64> {
        let (Type::Int(limits), _) = self.model.type_at(self.entity, path)? else {
            return None;
        };
        let Some(Literal::Number(end)) = end.literal() else {
            return None;
        };
        let (least, most) = (limits.min?.to_i64()?, limits.max?.to_i64()?);
        let values = usize::try_from(most.checked_sub(least)?).ok()?;
        if limits.only.is_some() || values > Bounds::USUAL.values_max {
            return None;
        }
        let is_left = |value: &i64| {
            let order = Number::from(*value).cmp(end);
            match op {
                BinaryOp::Lt => order.is_lt(),
                BinaryOp::Le => order.is_le(),
                BinaryOp::Gt => order.is_gt(),
                _ => order.is_ge(),
            }
        };
        let left = (least..=most).filter(is_left).count();
        Some(left as f64 / (values + 1) as f64)
    }

    /// The share of the rows that have one of the words for which a part is asked, where the words and their shares are said.
    fn share_of_words(&self, part: &PartValues) -> Option<f64> {
        let exact = part.function.is_none() && part.lapses.is_empty();
        let share = |word: &Expr| self.share_of_word(&part.path, word);
        match &part.values {
            Values::One(word) if exact => share(word),
            Values::Each(list) if exact => match &list.kind {
                ExprKind::List(words) => words.iter().map(share).sum(),
                _ => None,
            },
            Values::All(words) if exact => {
                let members = self.entity.attribute(&part.path)?.ty.members();
                let flags = ["true".to_owned(), "false".to_owned()];
                let known = members.unwrap_or(&flags);
                let share = |word: &String| self.estimate?.share_of_value(&part.path, word, Some(known));
                words.iter().map(share).sum()
            }
            _ => None,
        }
    }

    /// The share of the rows in which an attribute has the value that a literal is, where that is said.
    fn share_of_word(&self, path: &str, word: &Expr) -> Option<f64> {
        let estimate = self.estimate?;
        let members = self.entity.attribute(path)?.ty.members();
        match word.literal()? {
            Literal::Text(word) => estimate.share_of_value(path, word, members),
            Literal::Bool(flag) => {
                let flags = ["true".to_owned(), "false".to_owned()];
                estimate.share_of_value(path, &flag.to_string(), Some(&flags))
            }
            Literal::Absent => estimate.share_absent(path),
            Literal::Number(_) => None,
        }
    }

    /// The share of the rows that lack an attribute which may be absent.
    fn share_absent(&self, path: &str) -> f64 {
        let said = self.estimate.and_then(|estimate| estimate.share_absent(path));
        said.unwrap_or(SHARE_OF_A_CONDITION)
    }

    /// How many rows share a value of an attribute, or of what a function makes of it.
    fn sharing(&self, path: &str, function: Option<PartFunction>) -> f64 {
        let per = self.estimate.into_iter().flat_map(|estimate| &estimate.per);
        let said = per
            .into_iter()
            .find(|(name, _)| name == path)
            .map(|(_, rows)| *rows as f64);
        let spread = |values: f64| (self.count / values).max(1.0);
        match function {
            Some(PartFunction::Day) => return said.unwrap_or_else(|| spread(DAYS_USUAL)),
            Some(PartFunction::Month) => return spread(DAYS_USUAL / 30.0),
            Some(PartFunction::Year) => return spread(DAYS_USUAL / 365.0),
            Some(PartFunction::Geohash(_)) => return spread(CELLS_USUAL.1),
            _ => {}
        }
        if let Some(said) = said {
            return said.max(1.0);
        }
        let Some((ty, _)) = self.model.type_at(self.entity, path) else {
            return ROWS_SHARING_USUAL.min(self.count);
        };
        if let Some(values) = ty.cardinality() {
            return spread(values.max(1) as f64);
        }
        let attribute = self.entity.attribute(path);
        let computed = attribute.and_then(|attribute| attribute.is.as_ref());
        if computed.is_some_and(|is| matches!(is.kind, ExprKind::Call(FunctionId::Geohash, _))) {
            return spread(CELLS_USUAL.1);
        }
        let referred = attribute.and_then(|attribute| attribute.reference.as_ref());
        if let Some((referred, _)) = referred.filter(|(referred, _)| *referred != self.entity.id) {
            let known = self
                .model
                .entity(*referred)
                .and_then(|entity| self.model.estimate(&entity.name)?.items);
            return match known {
                Some(items) => spread(items as f64),
                None => ROWS_SHARING_USUAL.min(self.count),
            };
        }
        let made = attribute.and_then(|attribute| attribute.default.as_ref());
        let made = made.is_some_and(|default| matches!(default.kind, ExprKind::Call(..) | ExprKind::Now));
        let guarded = |name: &str| {
            let mut guards = self.entity.unique.iter();
            guards.any(|guard| path_of(&guard.value).is_some_and(|(own, function)| own == name && function.is_none()))
        };
        match ty {
            Type::Ulid | Type::Uuid | Type::Ksuid | Type::Time | Type::Now | Type::Seconds | Type::Millis => 1.0,
            Type::Date => spread(DAYS_USUAL),
            Type::Month => spread(DAYS_USUAL / 30.0),
            _ if made || guarded(path) => 1.0,
            _ if self.is_alone_in_key(path) || self.only_ends_keys(path) => 1.0,
            _ => ROWS_SHARING_USUAL.min(self.count),
        }
    }

    /// Whether an attribute alone tells the rows of the entity apart.
    fn is_alone_in_key(&self, path: &str) -> bool {
        let names = self.model.catalog.names(self.entity.id);
        names.is_some_and(|names| names.key_variables.as_slice() == [path.to_owned()])
    }

    /// Whether an attribute stands behind everything else in the primary key, and in every other key that has it: it is there to tell rows
    /// apart whose keys are alike otherwise.
    fn only_ends_keys(&self, path: &str) -> bool {
        let parts = |choice: &'a KeyChoice| choice.keys.iter().flat_map(|key| &key.parts);
        let is_last = |choice: &'a KeyChoice| {
            let mut before = parts(choice).rev().skip(1);
            !before.any(|part| part.path == path)
        };
        let ends = |choice: &'a KeyChoice| parts(choice).next_back().is_some_and(|part| part.path == path);
        let mut others = self.entity.index.iter().flat_map(|entry| entry.choices());
        !self.entity.key.is_empty()
            && self.entity.key.iter().all(|choice| ends(choice) && is_last(choice))
            && others.all(is_last)
    }

    /// Which part of the rows some conditions keep together. Of several ends on one side of an attribute one counts.
    fn share_of_all(&self, conjuncts: &[Expr]) -> f64 {
        let mut sides: Vec<(String, bool)> = Vec::new();
        let mut share = 1.0;
        for conjunct in conjuncts {
            if let Some(side) = side_of_end(conjunct) {
                if sides.contains(&side) {
                    continue;
                }
                sides.push(side);
            }
            share *= self.share_of(conjunct);
        }
        share
    }

    /// Whether estimates say which part of the rows a condition keeps, and it does not hang on what is sent.
    fn tells_share(&self, conjunct: &Expr) -> bool {
        match &conjunct.kind {
            ExprKind::Binary(BinaryOp::And | BinaryOp::Or, left, right) => {
                self.tells_share(left) && self.tells_share(right)
            }
            ExprKind::Not(inner) => self.tells_share(inner),
            ExprKind::Attribute(name) => self.tells_spread(name),
            ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne | BinaryOp::In, left, right) => {
                match (path_of(left), path_of(right)) {
                    (Some((path, None)), None) | (None, Some((path, None))) => self.tells_spread(&path),
                    _ => false,
                }
            }
            _ => false,
        }
    }

    /// Whether estimates say how the rows are spread over the values of an attribute.
    fn tells_spread(&self, path: &str) -> bool {
        self.estimate.is_some_and(|estimate| {
            let per = estimate.per.iter().any(|(name, _)| name == path);
            per || estimate.shares.iter().any(|shares| shares.attribute == path)
        })
    }

    /// Which part of the rows a condition keeps.
    fn share_of(&self, conjunct: &Expr) -> f64 {
        match &conjunct.kind {
            ExprKind::Binary(BinaryOp::And, left, right) => self.share_of(left) * self.share_of(right),
            ExprKind::Binary(BinaryOp::Or, left, right) => (self.share_of(left) + self.share_of(right)).min(1.0),
            ExprKind::Not(inner) => 1.0 - self.share_of(inner),
            ExprKind::Attribute(name) => {
                let flags = ["true".to_owned(), "false".to_owned()];
                let said = self
                    .estimate
                    .and_then(|estimate| estimate.share_of_value(name, "true", Some(&flags)));
                said.unwrap_or(SHARE_OF_A_CONDITION)
            }
            ExprKind::Binary(op, left, right) => match (path_of(left), path_of(right)) {
                (Some(path), None) => self.share_of_comparison(*op, &path, right),
                (None, Some(path)) => self.share_of_comparison(op.swapped(), &path, left),
                _ => SHARE_OF_A_CONDITION,
            },
            ExprKind::Call(FunctionId::StartsWith, _) => SHARE_OF_A_BEGINNING,
            ExprKind::Call(FunctionId::Near, _) => CELLS_USUAL.0 / CELLS_USUAL.1,
            _ => SHARE_OF_A_CONDITION,
        }
    }

    fn share_of_comparison(&self, op: BinaryOp, path: &(String, Option<PartFunction>), with: &Expr) -> f64 {
        let absent = matches!(with.kind, ExprKind::Literal(Literal::Absent));
        let optional = self
            .model
            .type_at(self.entity, &path.0)
            .is_some_and(|(_, optional)| optional);
        let said = path.1.is_none().then(|| self.share_of_word(&path.0, with)).flatten();
        let one = match (said, absent) {
            (Some(said), _) => said,
            (None, true) if !optional => 0.0,
            (None, true) => SHARE_OF_A_CONDITION,
            (None, false) => (self.sharing(&path.0, path.1) / self.count).min(1.0),
        };
        let listed = match &with.kind {
            ExprKind::List(words) => words.iter().map(|word| self.share_of_word(&path.0, word)).sum(),
            _ => None,
        };
        match op {
            BinaryOp::Eq => one,
            BinaryOp::Ne => 1.0 - one,
            BinaryOp::In => listed.unwrap_or(elements_of(with) * one).min(1.0),
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                let said = self.share_beyond(op, &path.0, with);
                said.unwrap_or_else(|| self.share_at_end(&path.0))
            }
            _ => SHARE_OF_A_CONDITION,
        }
    }
}

/// Which part of an entity's rows a condition keeps.
pub fn share_of_condition(model: &Model, entity: &Entity, condition: &Expr) -> f64 {
    let rows = Rows::of(model, entity);
    let shares = condition
        .conjuncts()
        .into_iter()
        .map(|conjunct| rows.share_of(conjunct));
    shares.product()
}

/// How many values a part of a key is expected to have in all rows of an entity; where shares of them are said, as many as there
/// would be if all were as frequent as the most frequent.
pub fn values_expected(model: &Model, entity: &Entity, part: &KeyPart) -> f64 {
    let rows = Rows::of(model, entity);
    let shares = rows.estimate.into_iter().flat_map(|estimate| &estimate.shares);
    let said = shares.into_iter().find(|shares| shares.attribute == part.path);
    if let (Some(said), None) = (said, part.function) {
        let values = said.values.iter().filter(|(value, _)| value != ABSENT_VALUE);
        let most = values.map(|(_, share)| *share).fold(0.0, f64::max);
        if most > 0.0 {
            return 1.0 / most;
        }
    }
    (rows.count / rows.sharing(&part.path, part.function)).max(1.0)
}

/// How many values an expression is expected to have in all rows of an entity: of an attribute or its day as estimates and types say, of anything else
/// one for each row.
pub fn values_of_expression(model: &Model, entity: &Entity, expr: &Expr) -> f64 {
    let rows = Rows::of(model, entity);
    let sharing = path_of(expr).map_or(1.0, |(path, function)| rows.sharing(&path, function));
    (rows.count / sharing).max(1.0)
}

/// How many turns a loop over a list, or over found rows, is expected to have.
pub fn elements_expected(model: &Model, list: &LetValue) -> f64 {
    match list {
        LetValue::Value(expr) => elements_of(expr),
        LetValue::Read(selection) => {
            let plan = super::plan_selection(model, selection, None, None, &|_| true);
            let queries = plan.iter().flat_map(|plan| &plan.queries);
            queries.map(|query| query.expected.rows_kept).sum()
        }
    }
}

/// How many values a part of the key is asked for.
fn values_of(part: &PartValues) -> f64 {
    let lapses = part.lapses.len() as f64;
    match &part.values {
        Values::One(_) | Values::Formed(_) => 1.0,
        Values::Each(list) | Values::EachFormed(list) => elements_of(list) + lapses.min(1.0),
        Values::Days(range) => {
            let usual = match range.unit {
                CalendarUnit::Day => RANGE_DAYS_USUAL,
                CalendarUnit::Month => 2.0,
                CalendarUnit::Year => 1.0,
            };
            span::units_most(range).map_or(usual, |most| usual.min(most as f64))
        }
        Values::Cells { .. } => CELLS_USUAL.0,
        Values::All(words) => words.len().max(1) as f64,
    }
}

/// How many elements a list has: halfway between its limits.
fn elements_of(list: &Expr) -> f64 {
    match (&list.kind, &list.ty) {
        (ExprKind::List(elements), _) => elements.len() as f64,
        (_, Type::List(_, limits) | Type::Set(_, limits)) => match limits.max {
            Some(most) => ((limits.min.unwrap_or(0) + most) as f64 / 2.0).clamp(1.0, LIST_ELEMENTS_USUAL),
            None => LIST_ELEMENTS_USUAL,
        },
        _ => LIST_ELEMENTS_USUAL,
    }
}

/// The attribute of which a condition is an end of a range, and whether it is the lower one.
fn side_of_end(conjunct: &Expr) -> Option<(String, bool)> {
    let ExprKind::Binary(op, left, right) = &conjunct.kind else {
        return None;
    };
    let (op, path) = match (path_of(left), path_of(right)) {
        (Some((path, _)), None) => (*op, path),
        (None, Some((path, _))) => (op.swapped(), path),
        _ => return None,
    };
    op.is_ordering()
        .then_some((path, matches!(op, BinaryOp::Gt | BinaryOp::Ge)))
}

/// The attribute, or the path into one, that an operand is, and the function around it.
fn path_of(operand: &Expr) -> Option<(String, Option<PartFunction>)> {
    match &operand.kind {
        ExprKind::Attribute(name) => Some((name.clone(), None)),
        ExprKind::Field(of, name) => Some((format!("{}.{name}", path_of(of)?.0), None)),
        ExprKind::Call(function, operands) => {
            let function = match function {
                FunctionId::Day => Some(PartFunction::Day),
                FunctionId::Month => Some(PartFunction::Month),
                FunctionId::Year => Some(PartFunction::Year),
                FunctionId::Lower | FunctionId::Upper => None,
                _ => return None,
            };
            Some((path_of(operands.first()?)?.0, function))
        }
        _ => None,
    }
}
