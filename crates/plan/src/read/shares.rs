//! Which part of an entity's rows keys and conditions mean: as estimates and types say it, and as is usual where they do not.

use singlet_item::Number;
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{ABSENT_VALUE, Entity, Estimate, KeyChoice, KeyPart, PartFunction};
use singlet_model::types::Type;

use super::candidate::{PartValues, Query};
use super::chances::{Chances, is_of_row};
use super::entry_size::entry_bytes_expected;
use super::expected::{
    CELLS_USUAL, DAYS_USUAL, LIST_ELEMENTS_USUAL, RANGE_DAYS_USUAL, ROW_BYTES_USUAL, ROWS_SHARING_USUAL, ROWS_USUAL,
    SHARE_OF_A_BEGINNING, SHARE_OF_A_CONDITION, SHARE_OF_AN_END,
};
use super::sort::{End, EndPoint};
use crate::bounds::Bounds;
use crate::span;
use crate::values::{CalendarUnit, Values};

/// The days of a month, and of a year.
const MONTH_DAYS: f64 = 30.0;
const YEAR_DAYS: f64 = 365.0;

/// What is known of an entity's rows.
pub(super) struct Rows<'a> {
    model: &'a Model,
    entity: &'a Entity,
    estimate: Option<&'a Estimate>,
    count: f64,
    chances: Option<&'a Chances>,
}

impl<'a> Rows<'a> {
    pub(super) fn of(model: &'a Model, entity: &'a Entity) -> Self {
        let estimate = model.estimate_of(&entity.name);
        let count = estimate
            .and_then(|estimate| estimate.items)
            .map_or(ROWS_USUAL, |items| items as f64);
        Rows {
            model,
            entity,
            estimate,
            count: count.max(1.0),
            chances: None,
        }
    }

    /// The same for a request of which this is decided.
    pub(super) fn with(model: &'a Model, entity: &'a Entity, chances: &'a Chances) -> Self {
        Rows {
            chances: Some(chances),
            ..Rows::of(model, entity)
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> f64 {
        self.count
    }

    /// The bytes of one.
    pub(super) fn bytes(&self) -> f64 {
        let bytes = self.estimate.and_then(|estimate| estimate.bytes);
        bytes.map_or(ROW_BYTES_USUAL, |bytes| bytes as f64)
    }

    /// The bytes of a row where the query finds it.
    pub(super) fn entry_bytes(&self, query: &Query, entity: &Entity) -> f64 {
        let own = self.model.estimate_of(&entity.name).and_then(|estimate| estimate.bytes);
        let bytes = own.map_or_else(|| self.bytes(), |bytes| bytes as f64);
        entry_bytes_expected(self.model, entity, query.index, bytes)
    }

    /// How many ranges the values of a query's key make, and how many rows lie in all of them.
    pub(super) fn in_ranges(&self, query: &Query, entity: &Entity) -> (f64, f64) {
        let mut seen: Vec<&PartValues> = Vec::new();
        let mut shares: Vec<(&PartValues, f64)> = Vec::new();
        let mut ranges = 1.0;
        for part in query.key_parts() {
            let values = self.values_asked(part);
            if !seen.iter().any(|known| known.follows(part)) {
                ranges *= values;
            }
            seen.push(part);
            let own = match self.share_of_words(part) {
                Some(said) => said,
                None => (values * self.sharing(&part.path, part.function) / self.count).min(1.0),
            };
            // Of an instant and its day in one key the rows of the instant are meant.
            match shares.iter_mut().find(|(known, _)| known.follows(part)) {
                Some((_, known)) => *known = own.min(*known),
                None => shares.push((part, own)),
            }
        }
        let mut share: f64 = shares.iter().map(|(_, share)| share).product();
        let choices = match query.index {
            Some(index) => entity.index_entry(index).map_or(&[][..], |entry| entry.key_choices()),
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

    /// How many values a part of the key is asked for. A list that is sent is taken for one of different values that are there.
    fn values_asked(&self, part: &PartValues) -> f64 {
        let values = values_of(part);
        match &part.values {
            Values::Each(list) | Values::EachFormed(list) if !matches!(list.kind, ExprKind::List(_)) => {
                let there = self.count / self.sharing(&part.path, part.function);
                values.min(there.max(1.0))
            }
            _ => values,
        }
    }

    /// The part of the rows that an end of a range leaves. A day has two ends, which together leave a day.
    fn share_of_end(&self, query: &Query, path: &str, end: &End) -> f64 {
        let both = query
            .sort
            .as_ref()
            .and_then(|sort| sort.low.as_ref().zip(sort.high.as_ref()));
        let is_one = both.is_some_and(|(low, high)| low.value == high.value);
        let units = match end.point {
            EndPoint::Beginning => return self.share_of_beginning(path),
            EndPoint::StartOf(unit) | EndPoint::AfterEndOf(unit) if is_one => match unit {
                CalendarUnit::Day => self.days(path),
                CalendarUnit::Month => (self.days(path) / MONTH_DAYS).max(1.0),
                CalendarUnit::Year => (self.days(path) / YEAR_DAYS).max(1.0),
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
        let ends = self.chances.map_or(&[][..], |chances| &chances.ends);
        let known = ends.iter().find(|(ended, _)| ended == path);
        known.map_or(SHARE_OF_AN_END, |(_, share)| *share)
    }

    /// The part of the rows whose text begins as it is asked: few where much of the text is sent, and many for a first letter.
    fn share_of_beginning(&self, path: &str) -> f64 {
        let ends = self.chances.map_or(&[][..], |chances| &chances.ends);
        let known = ends.iter().find(|(ended, _)| ended == path);
        known.map_or(SHARE_OF_A_BEGINNING, |(_, share)| share * share / 2.0)
    }

    /// The part of the rows that an end leaves which is a number among few: as many as lie on its side.
    pub(super) fn share_beyond(&self, op: BinaryOp, path: &str, end: &Expr) -> Option<f64> {
        let (Type::Int(limits), _) = self.model.type_at(self.entity, path)? else {
            return None;
        };
        let Some(Literal::Number(end)) = end.as_literal() else {
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
            Values::One(word) if exact => share(word).or_else(|| self.share_of_sent_word(&part.path, word)),
            Values::Each(list) if exact => match &list.kind {
                ExprKind::List(words) => words.iter().map(share).sum(),
                _ => None,
            },
            Values::All(words) if exact => {
                let members = self.entity.attribute(&part.path)?.ty.enum_members();
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
        let members = self.entity.attribute(path)?.ty.enum_members();
        match word.as_literal()? {
            Literal::Text(word) => estimate.share_of_value(path, word, members),
            Literal::Bool(flag) => {
                let flags = ["true".to_owned(), "false".to_owned()];
                estimate.share_of_value(path, &flag.to_string(), Some(&flags))
            }
            Literal::Absent => estimate.share_absent(path),
            Literal::Number(_) => None,
        }
    }

    /// The share of the rows that have the word which a request sends.
    fn share_of_sent_word(&self, path: &str, word: &Expr) -> Option<f64> {
        let at = self.chances?.word.filter(|_| word.as_literal().is_none())?;
        if !self.has_shares(path) {
            return None;
        }
        let members = self.words_of(path)?;
        let share = |word: &String| self.estimate?.share_of_value(path, word, Some(&members));
        let mut shares = members.iter().map(share).collect::<Option<Vec<f64>>>()?;
        shares.sort_by(f64::total_cmp);
        let (all, mut before) = (shares.iter().sum::<f64>(), 0.0);
        let is_there = |share: &&f64| {
            before += **share;
            before >= at * all
        };
        shares.iter().find(is_there).copied()
    }

    /// Whether estimates say how the rows are spread over the words of an attribute.
    pub(super) fn has_shares(&self, path: &str) -> bool {
        let shares = self.estimate.into_iter().flat_map(|estimate| &estimate.shares);
        shares.into_iter().any(|shares| shares.attribute == path) && self.words_of(path).is_some()
    }

    /// The words that an attribute may have.
    fn words_of(&self, path: &str) -> Option<Vec<String>> {
        let ty = &self.entity.attribute(path)?.ty;
        match ty.enum_members() {
            Some(members) => Some(members.to_vec()),
            None => (*ty == Type::Bool).then(|| vec!["true".to_owned(), "false".to_owned()]),
        }
    }

    /// The share of the rows that lack an attribute which may be absent.
    fn share_absent(&self, path: &str) -> f64 {
        let said = self.estimate.and_then(|estimate| estimate.share_absent(path));
        said.unwrap_or(SHARE_OF_A_CONDITION)
    }

    /// How many rows share a value of an attribute, or of what a function makes of it.
    fn sharing(&self, path: &str, function: Option<PartFunction>) -> f64 {
        let said = self.said_sharing(path);
        let spread = |values: f64| (self.count / values.max(1.0)).max(1.0);
        match function {
            Some(PartFunction::Day) => return said.unwrap_or_else(|| spread(self.days(path))),
            Some(PartFunction::Month) => return spread(self.days(path) / MONTH_DAYS),
            Some(PartFunction::Year) => return spread(self.days(path) / YEAR_DAYS),
            Some(PartFunction::Geohash(_)) => return spread(CELLS_USUAL.1),
            _ => {}
        }
        let known = self.model.type_at(self.entity, path);
        // What is said of an instant is how many rows share its day.
        if let Some(said) = said.filter(|_| !known.as_ref().is_some_and(|(ty, _)| ty.is_instant())) {
            return said.max(1.0);
        }
        let Some((ty, _)) = known else {
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
                .and_then(|entity| self.model.estimate_of(&entity.name)?.items);
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
            Type::Month => spread(DAYS_USUAL / MONTH_DAYS),
            _ if made || guarded(path) => 1.0,
            _ if self.is_alone_in_key(path) || self.only_ends_keys(path) => 1.0,
            _ => ROWS_SHARING_USUAL.min(self.count),
        }
    }

    /// How many rows share a value of an attribute, or the day of an instant, where estimates say it.
    fn said_sharing(&self, path: &str) -> Option<f64> {
        let mut per = self.estimate.into_iter().flat_map(|estimate| &estimate.per);
        per.find(|(name, _)| name == path).map(|(_, rows)| *rows as f64)
    }

    /// Over how many days the rows are spread, by the instants or days that an attribute has.
    fn days(&self, path: &str) -> f64 {
        let said = self.said_sharing(path).filter(|rows| *rows > 0.0);
        said.map_or(DAYS_USUAL, |rows| (self.count / rows).max(1.0))
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
        let mut others = self.entity.index.iter().flat_map(|entry| entry.key_choices());
        !self.entity.key.is_empty()
            && self.entity.key.iter().all(|choice| ends(choice) && is_last(choice))
            && others.all(is_last)
    }

    /// Which part of the rows some conditions keep together. Of several ends on one side of an attribute one counts.
    pub(super) fn share_of_all(&self, conjuncts: &[Expr]) -> f64 {
        let mut sides: Vec<(String, bool)> = Vec::new();
        let mut share = 1.0;
        for conjunct in conjuncts.iter().filter(|conjunct| is_of_row(conjunct)) {
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
    pub(super) fn tells_share(&self, conjunct: &Expr) -> bool {
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
            ExprKind::Call(FunctionId::StartsWith, operands) => match operands.first().and_then(path_of) {
                Some((path, _)) => self.share_of_beginning(&path),
                None => SHARE_OF_A_BEGINNING,
            },
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
        let word = || {
            let said = self.share_of_word(&path.0, with);
            said.or_else(|| self.share_of_sent_word(&path.0, with))
        };
        let said = path.1.is_none().then(word).flatten();
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
pub(super) fn elements_of(list: &Expr) -> f64 {
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
pub(super) fn side_of_end(conjunct: &Expr) -> Option<(String, bool)> {
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
pub(super) fn path_of(operand: &Expr) -> Option<(String, Option<PartFunction>)> {
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
