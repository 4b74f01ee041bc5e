//! From a planned query and a request to the keys that are asked for.
//!
//! **Invariant: a range holds every row that is meant.** Of what a plan leaves to the key it may let through more, never less, for
//! nobody looks outside of it. Where it may it says so: single keys at its ends are named ([`CollectionRange::except`]), and
//! anything else makes it not [exact](CollectionRange::exact), so that the whole meaning is checked on each row. A range that called
//! itself exact wrongly would answer rows that nobody asked for.

mod values;

use singlet_item::Value;
use singlet_item::key::{Form, Part};
use singlet_model::Model;
use singlet_model::evaluate::evaluate_as;
use singlet_model::model::{Index, KeyChoice, KeyTemplate, PartFunction};
use singlet_model::types::Type;
use singlet_plan::read::{End, EndPoint, Ends, KeyEnd, Query, SortBound};
use singlet_store::{KeyRange, SortRange};

pub(crate) use self::values::too_near_a_pole;
use self::values::{PartValue, Start};
use crate::error::RuntimeError;
use crate::scope::Scope;

/// A range of one item collection, and keys at its ends that do not belong to it.
#[derive(Clone, Debug, PartialEq)]
pub struct CollectionRange {
    /// The range.
    pub keys: KeyRange,
    /// The sort key attribute, and values of it that the range includes and the meaning does not.
    pub except: Vec<(String, Value)>,
    /// Whether its keys say exactly what the meaning does; else the meaning is checked on each row: a value that no key can have,
    /// such as an end beyond the attribute's limits, leaves that side open, and an instant may be finer than the attribute.
    pub exact: bool,
}

/// The ranges of a query, each once, in the order in which their values come; none where a value is absent or a range is empty.
///
/// # Errors
///
/// Where an expression fails, or there are more ranges than the bounds allow.
pub(crate) fn query_ranges(
    model: &Model,
    query: &Query,
    scope: Scope<'_>,
) -> Result<Vec<CollectionRange>, RuntimeError> {
    if query.scan {
        // A scan has no key that anything could be left to, so it leaves nothing out and is exact.
        return Ok(vec![CollectionRange {
            keys: KeyRange {
                partition: Vec::new(),
                sort: Vec::new(),
            },
            except: Vec::new(),
            exact: true,
        }]);
    }
    let Some(place) = PathTemplates::of(model, query) else {
        return Ok(Vec::new());
    };
    let types = place.choice.keys.iter().flat_map(|key| &key.parts).map(|part| &part.ty);
    let rounded = query
        .key_parts()
        // In the order of the templates: an instant is finer or not by the type of the part that it stands in.
        .zip(types)
        .any(|(part, ty)| values::rounds_down(&part.values, ty));
    let mut all: Vec<CollectionRange> = Vec::new();
    for known in values::part_combinations(&place.types(query), query, &scope)? {
        let (partition, prefix) = known.split_at_checked(query.partition.len()).unwrap_or((&known, &[]));
        // A value that no key can have is in no row, so that its range is left out. A range for all would be asked instead of
        // none.
        let Some(partition) = place.encode_partition(partition)? else {
            continue;
        };
        let sort = match &query.sort {
            Some(sort) => place.sort_range(sort, prefix, scope)?,
            None => Some(SortCondition::default()),
        };
        let Some(sort) = sort else { continue };
        let range = CollectionRange {
            keys: KeyRange {
                partition,
                sort: sort.conditions,
            },
            except: sort.except,
            // The key of an instant that is rounded down is that of others too.
            exact: sort.exact && !rounded,
        };
        // Several values may have one key: days of a month, words in another case.
        // A range that is read twice would answer its rows twice, for nothing later compares rows of one branch.
        if !all.contains(&range) {
            all.push(range);
        }
    }
    Ok(all)
}

/// The key of the one row that a query can answer with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum OneKey<'m> {
    /// It may have several.
    Several,
    /// No row can fit.
    Nothing,
    /// The attributes of the primary key, and whether they say exactly what the meaning does, as in [`CollectionRange`].
    Key(Vec<(&'m str, Value)>, bool),
}

/// The primary key that a query asks for, without the detour by ranges: most reads are of one row.
///
/// # Errors
///
/// Where an expression fails.
pub(crate) fn one_key<'m>(model: &'m Model, query: &Query, scope: Scope<'_>) -> Result<OneKey<'m>, RuntimeError> {
    if !query.is_get() {
        return Ok(OneKey::Several);
    }
    let Some(place) = PathTemplates::of(model, query) else {
        return Ok(OneKey::Several);
    };
    let sort = query.sort.iter().flat_map(|sort| &sort.prefix);
    let mut asked = query.partition.iter().chain(sort);
    let mut key = Vec::with_capacity(place.choice.keys.len());
    let mut exact = true;
    let mut values = Vec::with_capacity(query.key_parts().count());
    for template in &place.choice.keys {
        values.clear();
        for part in &template.parts {
            // A row whose state lapses may stand under another key, so that one get does not find it.
            let Some(asked) = asked.next().filter(|asked| asked.lapses.is_empty()) else {
                return Ok(OneKey::Several);
            };
            // The key of a rounded instant is that of others too, so that the row has to be looked at.
            exact &= !values::rounds_down(&asked.values, &part.ty);
            match values::one_of(&asked.values, &part.ty, &scope)? {
                Some(value) => values.push(value),
                None => return Ok(OneKey::Nothing),
            }
        }
        // The same as for ranges, or the shortcut would find rows that the long way does not.
        match encode_whole(template, &values) {
            Some(value) => key.push((template.attribute.as_str(), value)),
            None => return Ok(OneKey::Nothing),
        }
    }
    // Without the whole key there may be several rows, and a get of a part of it is refused.
    Ok(match key.len() == model.table.key.len() {
        true => OneKey::Key(key, exact),
        false => OneKey::Several,
    })
}

/// How many ranges a query has, to choose among several covers of one circle.
///
/// # Errors
///
/// As [`query_ranges`].
pub fn range_count(model: &Model, query: &Query, scope: Scope<'_>) -> Result<usize, RuntimeError> {
    Ok(query_ranges(model, query, scope)?.len())
}

/// The templates of a query's path.
struct PathTemplates<'a> {
    choice: &'a KeyChoice,
    partitions: usize,
}

impl<'a> PathTemplates<'a> {
    fn of(model: &'a Model, query: &Query) -> Option<Self> {
        let entity = model.entity(query.entity)?;
        let (choice, partitions) = match query.index {
            None => (entity.key.get(query.choice)?, 1),
            Some(id) => {
                let index: &Index = model.index(id)?;
                (
                    entity.index_entry(id)?.key_choices().get(query.choice)?,
                    index.partition.len(),
                )
            }
        };
        Some(PathTemplates { choice, partitions })
    }

    /// The type of each part of the key that a query gives values for.
    fn types(&self, query: &Query) -> Vec<&'a Type> {
        let sort = query.sort.as_ref().map_or(0, |sort| sort.prefix.len());
        let of = |keys: &'a [KeyTemplate]| keys.iter().flat_map(|key| &key.parts).map(|part| &part.ty);
        let partition = of(self.partition_templates()).take(query.partition.len());
        partition.chain(of(self.sort_templates()).take(sort)).collect()
    }

    fn partition_templates(&self) -> &'a [KeyTemplate] {
        self.choice.keys.get(..self.partitions).unwrap_or(&self.choice.keys)
    }

    fn sort_templates(&self) -> &'a [KeyTemplate] {
        self.choice.keys.get(self.partitions..).unwrap_or_default()
    }

    /// The values of the partition key's attributes; none where a value is not one that the attribute can have, for which there
    /// are no rows.
    fn encode_partition(&self, known: &[PartValue<'_>]) -> Result<Option<Vec<(String, Value)>>, RuntimeError> {
        let mut used = 0;
        let mut keys = Vec::new();
        for key in self.partition_templates() {
            let values = known.get(used..used + key.parts.len()).unwrap_or_default();
            // Parts are given one after the other over all attributes of the partition key.
            used += key.parts.len();
            match encode_whole(key, values) {
                Some(value) => keys.push((key.attribute.clone(), value)),
                None => return Ok(None),
            }
        }
        Ok(Some(keys))
    }

    /// The condition on each sort attribute, and keys that it includes too much; none where no row can fit.
    fn sort_range(
        &self,
        sort: &SortBound,
        known: &[PartValue<'_>],
        scope: Scope<'_>,
    ) -> Result<Option<SortCondition>, RuntimeError> {
        let mut used = 0;
        let mut conditions = Vec::new();
        for key in self.sort_templates() {
            let values = known.get(used..).unwrap_or_default();
            // An attribute that is followed by another one must be an equality: DynamoDB has a range in the last condition alone.
            if values.len() >= key.parts.len()
                && (sort.whole || used + key.parts.len() < known.len() || self.more_after(key))
            {
                let values = values.get(..key.parts.len()).unwrap_or_default();
                let Some(value) = encode_whole(key, values) else {
                    return Ok(None);
                };
                conditions.push((key.attribute.clone(), SortRange::Equal(value)));
                used += key.parts.len();
                continue;
            }
            let Some(ranged) = ranged(key, values, sort, scope)? else {
                return Ok(None);
            };
            conditions.extend(ranged.range.map(|range| (key.attribute.clone(), range)));
            return Ok(Some(SortCondition {
                conditions,
                except: ranged
                    .except
                    .into_iter()
                    .map(|value| (key.attribute.clone(), value))
                    .collect(),
                exact: ranged.exact,
            }));
        }
        Ok(Some(SortCondition {
            conditions,
            ..SortCondition::default()
        }))
    }

    /// Whether another sort attribute follows: then a complete one before it is an equality.
    fn more_after(&self, key: &KeyTemplate) -> bool {
        let templates = self.sort_templates();
        templates.last().is_some_and(|last| last.attribute != key.attribute)
    }
}

/// The condition on the sort attributes, and as in [`CollectionRange`].
struct SortCondition {
    conditions: Vec<(String, SortRange)>,
    except: Vec<(String, Value)>,
    exact: bool,
}

impl Default for SortCondition {
    fn default() -> Self {
        SortCondition {
            conditions: Vec::new(),
            except: Vec::new(),
            exact: true,
        }
    }
}

/// The range of one sort attribute, and as in [`CollectionRange`].
struct Ranged {
    range: Option<SortRange>,
    except: Vec<Value>,
    exact: bool,
}

/// An end of a range for one request.
enum RangeEnd {
    /// There is none, or no key can have it.
    Open,
    /// The value as it stands in the key, and whether it is left out.
    At(Value, bool),
    /// The value is absent: a comparison with it is false for every row.
    Nothing,
}

/// A whole key from the values of all its parts; none where a value is not one that its part can have.
fn encode_whole(key: &KeyTemplate, values: &[PartValue<'_>]) -> Option<Value> {
    if let ([Part::Variable(variable)], [PartValue::Value(value)]) = (key.template.parts(), values)
        // A whole value is not escaped and may be no text, so it does not go through the text of a template.
        && variable.form == Form::Whole
    {
        // No key is empty.
        let is_empty = value.as_str() == Some("");
        return (!is_empty && variable.domain.contains(value)).then(|| value.clone().into_owned());
    }
    if let [Part::Number(number)] = key.template.parts() {
        return Some(Value::N(*number));
    }
    let text = text(key, values, key.template.parts().len())?;
    // No key is empty.
    (!text.is_empty()).then_some(Value::S(text))
}

/// Room for most keys.
const KEY_BYTES_USUAL: usize = 64;

/// The text of a template's first pieces.
fn text(key: &KeyTemplate, values: &[PartValue<'_>], pieces: usize) -> Option<String> {
    let mut text = String::with_capacity(KEY_BYTES_USUAL);
    let mut values = values.iter();
    for part in key.template.parts().iter().take(pieces) {
        match part {
            Part::Text(literal) => text.push_str(literal),
            Part::Number(number) => text.push_str(&number.to_string()),
            Part::Variable(variable) => match values.next()? {
                PartValue::Value(value) => {
                    // A value that the part cannot have makes no key at all: half of one would be the key of other rows.
                    variable.encode_onto(value, key.template.delimiter(), &mut text).ok()?;
                }
                // Only text is escaped: days, months and cells stand as they are, whatever the delimiter.
                PartValue::Formed(formed) => match variable.form {
                    Form::Lower | Form::Upper => text.push_str(&escaped(formed, key)),
                    _ => text.push_str(formed),
                },
            },
            Part::Anything => return None,
        }
    }
    Some(text)
}

/// Text that a function made stands in the key as text does.
fn escaped(text: &str, key: &KeyTemplate) -> String {
    // Of any length: the bounds of the attribute hold for what is stored, and a prefix of it may be shorter.
    let plain = singlet_item::key::Variable::new("text", Form::Escaped, singlet_item::key::Domain::text(0, None));
    plain
        .encode_value(&Value::S(text.to_owned()), key.template.delimiter())
        .unwrap_or_else(|_| text.to_owned())
}

/// The range of one sort attribute: what is bound of it, then the ends of the next part; none where no row can fit.
fn ranged(
    key: &KeyTemplate,
    known: &[PartValue<'_>],
    sort: &SortBound,
    scope: Scope<'_>,
) -> Result<Option<Ranged>, RuntimeError> {
    let parts = key.template.parts();
    let mut seen = 0;
    let position = parts.iter().position(|part| {
        seen += usize::from(matches!(part, Part::Variable(_)));
        seen > known.len()
    });
    let position = position.unwrap_or(parts.len());
    let Some(prefix) = text(key, known, position) else {
        return Ok(None);
    };
    let Some(Part::Variable(variable)) = parts.get(position) else {
        return Ok(Some(Ranged {
            range: begins_with(&prefix),
            except: Vec::new(),
            exact: true,
        }));
    };
    // What stands behind the part belongs to the end of a range: every key of `a` begins with `a#`, and goes on.
    let follower = match parts.get(position + 1) {
        Some(Part::Text(text)) => text.clone(),
        _ => String::new(),
    };
    let ty = key.parts.get(known.len()).map_or(&Type::Unknown, |part| &part.ty);
    let ends = Ends {
        prefix,
        follower,
        last: position + 1 == parts.len(),
        // A value that stands alone is not a text with a delimiter behind it, so its ends are exact as they are.
        whole: variable.form == Form::Whole,
    };
    if let Some(begins) = sort.low.as_ref().filter(|low| low.point == EndPoint::Beginning) {
        return beginning(key, ends, begins, scope);
    }
    let mut exact = true;
    // Both ends count: one that is open or finer makes the range not exact, whatever the other is.
    let mut side = |end: &Option<End>, is_upper: bool| -> Result<RangeEnd, RuntimeError> {
        let Some(end) = end else { return Ok(RangeEnd::Open) };
        let value = match end.point {
            EndPoint::Itself | EndPoint::Beginning => evaluate_as(&end.value, ty, &scope)?,
            EndPoint::StartOf(unit) | EndPoint::AfterEndOf(unit) => {
                let later = i64::from(matches!(end.point, EndPoint::AfterEndOf(_)));
                match values::start_of(&end.value, (unit, later), is_upper, ty, scope)? {
                    Start::At(value, divides) => {
                        exact &= divides;
                        Some(value)
                    }
                    Start::Absent => None,
                    // No instant is that early or late: the meaning is checked on each row.
                    Start::Nowhere => {
                        exact = false;
                        return Ok(RangeEnd::Open);
                    }
                }
            }
        };
        let Some(value) = value else {
            // No range at all, rather than one that is open on this side: a comparison with what is absent is true of no row.
            return Ok(RangeEnd::Nothing);
        };
        let finer = end.point == EndPoint::Itself && values::is_finer(&end.value.ty, ty);
        exact &= !finer;
        let encoded = match ends.whole {
            // No key is empty.
            true => (value.as_str() != Some("")).then_some(value),
            false => variable
                .encode_value(&value, key.template.delimiter())
                .ok()
                .map(Value::S),
        };
        // A value beyond what keys can have leaves the side open, where it lets rows through that are not meant.
        exact &= encoded.is_some();
        // The key of the bound is that of earlier instants too, so that leaving it out would leave out rows that are meant.
        Ok(encoded.map_or(RangeEnd::Open, |value| RangeEnd::At(value, end.excluded && !finer)))
    };
    let (low, high) = match (side(&sort.low, false)?, side(&sort.high, true)?) {
        (RangeEnd::Nothing, _) | (_, RangeEnd::Nothing) => return Ok(None),
        sides => sides,
    };
    let at = |side: RangeEnd| match side {
        RangeEnd::At(value, excluded) => Some((value, excluded)),
        RangeEnd::Open | RangeEnd::Nothing => None,
    };
    // Open on both sides is not every key: other entities may stand in the same collection.
    if matches!((&low, &high), (RangeEnd::Open, RangeEnd::Open)) {
        return Ok(Some(Ranged {
            range: begins_with(&ends.prefix),
            except: Vec::new(),
            exact,
        }));
    }
    let (low, high) = ends.keys(at(low), at(high));
    // A single key at an end is named rather than called inexact, for the rest of the range needs no second look.
    Ok(between(low, high).map(|(range, except)| Ranged { range, except, exact }))
}

/// The keys of texts that begin with one; none where there is no text, for then nothing begins with it.
fn beginning(key: &KeyTemplate, ends: Ends, begins: &End, scope: Scope<'_>) -> Result<Option<Ranged>, RuntimeError> {
    let Some(Value::S(text)) = evaluate_as(&begins.value, &begins.value.ty, &scope)? else {
        return Ok(None);
    };
    let stands_as_it_is = ends.whole || key.parts.iter().any(|part| part.function == Some(PartFunction::Raw));
    let text = match stands_as_it_is {
        true => text,
        // The beginning of a text is escaped as the text is: a delimiter in it would otherwise end the part.
        false => escaped(&text, key),
    };
    Ok(Some(Ranged {
        range: begins_with(&format!("{}{text}", ends.prefix)),
        except: Vec::new(),
        exact: true,
    }))
}

/// Every key that begins with a text; no condition where that is every key.
fn begins_with(prefix: &str) -> Option<SortRange> {
    (!prefix.is_empty()).then(|| SortRange::begins_with(prefix))
}

/// The range between two keys, and keys that it includes too much; none where it is empty.
fn between(low: KeyEnd, high: KeyEnd) -> Option<(Option<SortRange>, Vec<Value>)> {
    // No key is empty: every one lies after the empty text, and none before it.
    let is_empty = |end: &(Value, bool)| end.0.as_str() == Some("");
    if high.as_ref().is_some_and(is_empty) {
        return None;
    }
    let low = low.filter(|low| !is_empty(low));
    let mut except = Vec::new();
    let range = match (low, high) {
        (Some((low, low_excluded)), Some((high, high_excluded))) => {
            // DynamoDB refuses a range whose ends are the wrong way round, and no row is in it.
            if is_after(&low, &high) {
                return None;
            }
            // `BETWEEN` includes both ends, so that one which is left out has to be told apart by its key.
            except.extend(low_excluded.then(|| low.clone()));
            except.extend(high_excluded.then(|| high.clone()));
            SortRange::Between(low, high)
        }
        (Some((low, true)), None) => SortRange::Greater(low),
        (Some((low, false)), None) => SortRange::GreaterOrEqual(low),
        (None, Some((high, true))) => SortRange::Less(high),
        (None, Some((high, false))) => SortRange::LessOrEqual(high),
        (None, None) => return Some((None, except)),
    };
    Some((Some(range), except))
}

fn is_after(low: &Value, high: &Value) -> bool {
    match (low, high) {
        // As DynamoDB compares them: by bytes, whatever the letters mean.
        (Value::S(low), Value::S(high)) => low.as_bytes() > high.as_bytes(),
        (Value::N(low), Value::N(high)) => low > high,
        (Value::B(low), Value::B(high)) => low > high,
        _ => false,
    }
}
