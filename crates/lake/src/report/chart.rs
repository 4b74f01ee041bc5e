//! One view while rows are read: what is counted, by what, and in which parts.

use std::collections::BTreeMap;

use jiff::ToSpan;
use jiff::civil::Date;

use super::{ReportBar, ReportUnit, ReportView};
use crate::cell::Cell;

const EPOCH: Date = Date::constant(1970, 1, 1);
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The most values of a text that are told apart.
const TEXTS_MAX: usize = 1_000;

/// The most bars of a view.
const BARS_MAX: usize = 24;

/// The most bars where the largest are shown.
const TEXT_BARS_MAX: usize = 12;

/// Days that lie further apart are shown as months.
const DAYS_MAX: i64 = 62;

/// What is said of a value that is not there.
const ABSENT: &str = "–";

/// Where a cell stands in a row: in a column, or in fields of it.
pub(super) type CellPath = Vec<usize>;

/// By what rows are put together.
pub(super) enum Group {
    /// By one of known words, in their order.
    Words(CellPath, Vec<String>),
    /// By text, the most frequent first.
    Text(CellPath),
    /// By the day of a date or an instant.
    Day(CellPath),
    /// By what a state was and became.
    Moves(CellPath, CellPath),
    /// By the fields that differ between two structs.
    Fields(CellPath, CellPath, Vec<(usize, String)>),
}

/// What is shown of rows that belong together.
pub(super) enum Measure {
    Count,
    /// The sum of a column with so many digits after the point.
    Sum(CellPath, u8),
    /// The middle one of the times between two instants.
    Between(CellPath, CellPath),
}

/// Which rows count.
pub(super) enum Filter {
    All,
    /// Those in one of some states whose day is before another.
    OpenBefore {
        state: CellPath,
        open: Vec<String>,
        day: CellPath,
        before: i64,
    },
}

/// A view while rows are read.
pub(super) struct Chart {
    pub title: String,
    pub group: Group,
    /// What bars are divided by, and its words in their order; none of them where any text may come.
    pub series: Option<(CellPath, Vec<String>)>,
    pub measure: Measure,
    pub filter: Filter,
    pub bars: BTreeMap<Place, Bar>,
    pub is_too_many: bool,
}

/// A bar's place among others: by number, then by text.
pub(super) type Place = (i64, String);

#[derive(Default)]
pub(super) struct Bar {
    parts: BTreeMap<String, i128>,
    times: Vec<i64>,
}

impl Chart {
    pub(super) fn new(title: String, group: Group) -> Self {
        Chart {
            title,
            group,
            series: None,
            measure: Measure::Count,
            filter: Filter::All,
            bars: BTreeMap::new(),
            is_too_many: false,
        }
    }

    pub(super) fn take_row(&mut self, row: &[Cell]) {
        if self.is_too_many || !self.filter.takes(row) {
            return;
        }
        for place in self.group.places(row) {
            self.add(place, row);
        }
        if self.bars.len() > TEXTS_MAX && !matches!(self.group, Group::Day(_)) {
            self.is_too_many = true;
            self.bars.clear();
        }
    }

    fn add(&mut self, place: Place, row: &[Cell]) {
        let part = match &self.series {
            Some((path, _)) => text_at(row, path).unwrap_or_else(|| ABSENT.to_owned()),
            None => String::new(),
        };
        match &self.measure {
            Measure::Count => {
                let count = self.bars.entry(place).or_default().parts.entry(part).or_default();
                *count = count.saturating_add(1);
            }
            Measure::Sum(path, _) => {
                if let Some(value) = number_at(row, path) {
                    let sum = self.bars.entry(place).or_default().parts.entry(part).or_default();
                    *sum = sum.saturating_add(value);
                }
            }
            Measure::Between(from, to) => {
                if let (Some(from), Some(to)) = (micros_at(row, from), micros_at(row, to)) {
                    let seconds = to.saturating_sub(from).div_euclid(1_000_000);
                    self.bars.entry(place).or_default().times.push(seconds);
                }
            }
        }
    }

    /// The view; none where there is nothing to look at.
    pub(super) fn into_view(self) -> Option<ReportView> {
        let unit = match &self.measure {
            Measure::Count => ReportUnit::Count,
            Measure::Sum(_, scale) => ReportUnit::Sum(*scale),
            Measure::Between(..) => ReportUnit::Seconds,
        };
        let mut bars: Vec<(Place, BTreeMap<String, i128>)> = Vec::new();
        let is_time = unit == ReportUnit::Seconds;
        let grouped = self.bars.into_iter();
        bars.extend(grouped.map(|(place, bar)| match is_time {
            true => (place, BTreeMap::from([(String::new(), middle(bar.times))])),
            false => (place, bar.parts),
        }));
        let total = |parts: &BTreeMap<String, i128>| parts.values().fold(0_i128, |all, part| all.saturating_add(*part));
        let mut left_out = 0;
        match &self.group {
            Group::Day(_) => left_out = by_time(&mut bars),
            Group::Text(_) | Group::Moves(..) | Group::Fields(..) => {
                let rows: i128 = bars.iter().map(|(_, parts)| total(parts)).sum();
                // A text that hardly comes twice tells rows apart, not kinds of them.
                if matches!(self.group, Group::Text(_)) && (bars.len() < 2 || rows < 2 * bars.len() as i128) {
                    return None;
                }
                bars.sort_by_key(|(place, parts)| (std::cmp::Reverse(total(parts)), place.clone()));
                left_out = bars.len().saturating_sub(TEXT_BARS_MAX);
                bars.truncate(TEXT_BARS_MAX);
            }
            Group::Words(..) => {}
        }
        if bars.iter().all(|((_, label), _)| label == ABSENT) {
            return None;
        }
        let series = series_of(self.series.as_ref().map_or(&[][..], |(_, words)| words), &bars);
        let bars = bars.into_iter().map(|((_, label), parts)| ReportBar {
            label,
            parts: series
                .iter()
                .map(|name| parts.get(name).copied().unwrap_or_default())
                .collect(),
        });
        Some(ReportView {
            title: self.title,
            unit,
            bars: bars.collect(),
            series,
            left_out,
        })
    }
}

impl Filter {
    fn takes(&self, row: &[Cell]) -> bool {
        match self {
            Filter::All => true,
            Filter::OpenBefore {
                state,
                open,
                day,
                before,
            } => {
                let is_open = text_at(row, state).is_some_and(|state| open.contains(&state));
                is_open && day_at(row, day).is_some_and(|day| day < *before)
            }
        }
    }
}

impl Group {
    fn places(&self, row: &[Cell]) -> Vec<Place> {
        match self {
            Group::Words(path, words) => {
                let text = text_at(row, path);
                let rank = text
                    .as_ref()
                    .and_then(|text| words.iter().position(|word| word == text));
                let rank = rank.and_then(|rank| i64::try_from(rank).ok());
                vec![(rank.unwrap_or(i64::MAX), text.unwrap_or_else(|| ABSENT.to_owned()))]
            }
            Group::Text(path) => text_at(row, path).map(|text| (0, text)).into_iter().collect(),
            Group::Day(path) => day_at(row, path).map(|day| (day, String::new())).into_iter().collect(),
            Group::Moves(before, after) => {
                let (before, after) = (text_at(row, before), text_at(row, after));
                match before != after && before.is_some() {
                    true => {
                        let shown = |state: Option<String>| state.unwrap_or_else(|| ABSENT.to_owned());
                        vec![(0, format!("{} → {}", shown(before), shown(after)))]
                    }
                    false => Vec::new(),
                }
            }
            Group::Fields(before, after, fields) => {
                let (Some(Cell::Struct(before)), Some(Cell::Struct(after))) =
                    (cell_at(row, before), cell_at(row, after))
                else {
                    return Vec::new();
                };
                let differs = |at: usize| before.get(at) != after.get(at);
                let changed = fields.iter().filter(|(at, _)| differs(*at));
                changed.map(|(_, name)| (0, name.clone())).collect()
            }
        }
    }
}

/// Days in their order, or months where they lie far apart; how many are left out, the oldest first.
fn by_time(bars: &mut Vec<(Place, BTreeMap<String, i128>)>) -> usize {
    let (first, last) = match (bars.first(), bars.last()) {
        (Some(((first, _), _)), Some(((last, _), _))) => (*first, *last),
        _ => return 0,
    };
    let is_far = last.saturating_sub(first) > DAYS_MAX;
    let label = |day: i64| {
        let date = EPOCH.checked_add(day.days()).unwrap_or(EPOCH);
        match is_far {
            true => format!("{:04}-{:02}", date.year(), date.month()),
            false => date.to_string(),
        }
    };
    let mut by_label: BTreeMap<String, BTreeMap<String, i128>> = BTreeMap::new();
    for ((day, _), parts) in bars.drain(..) {
        let sums = by_label.entry(label(day)).or_default();
        for (name, value) in parts {
            let sum = sums.entry(name).or_default();
            *sum = sum.saturating_add(value);
        }
    }
    let left_out = by_label.len().saturating_sub(BARS_MAX);
    let shown = by_label.into_iter().skip(left_out);
    bars.extend(shown.map(|(label, parts)| ((0, label), parts)));
    left_out
}

/// The parts that any bar has, in the order of their words.
fn series_of(words: &[String], bars: &[(Place, BTreeMap<String, i128>)]) -> Vec<String> {
    let has = |name: &String| bars.iter().any(|(_, parts)| parts.contains_key(name));
    let mut series: Vec<String> = words.iter().filter(|name| has(name)).cloned().collect();
    for name in bars.iter().flat_map(|(_, parts)| parts.keys()) {
        if !series.contains(name) {
            series.push(name.clone());
        }
    }
    series
}

fn middle(mut times: Vec<i64>) -> i128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().map_or(0, i128::from)
}

fn cell_at<'r>(row: &'r [Cell], path: &[usize]) -> Option<&'r Cell> {
    let (first, rest) = path.split_first()?;
    let cell = row.get(*first)?;
    match (rest.is_empty(), cell) {
        (true, cell) => Some(cell),
        (false, Cell::Struct(cells)) => cell_at(cells, rest),
        _ => None,
    }
}

fn text_at(row: &[Cell], path: &[usize]) -> Option<String> {
    match cell_at(row, path)? {
        Cell::Bool(truth) => Some(truth.to_string()),
        cell => cell.as_text().map(str::to_owned),
    }
}

fn micros_at(row: &[Cell], path: &[usize]) -> Option<i64> {
    match cell_at(row, path)? {
        Cell::Long(micros) => Some(*micros),
        _ => None,
    }
}

/// The day of a date or, in UTC, of an instant.
fn day_at(row: &[Cell], path: &[usize]) -> Option<i64> {
    match cell_at(row, path)? {
        Cell::Int(day) => Some(i64::from(*day)),
        Cell::Long(micros) => Some(micros.div_euclid(MICROS_PER_DAY)),
        _ => None,
    }
}

/// A number, without its point.
fn number_at(row: &[Cell], path: &[usize]) -> Option<i128> {
    match cell_at(row, path)? {
        Cell::Long(number) => Some(i128::from(*number)),
        Cell::Bytes(bytes) => bytes.as_slice().try_into().ok().map(i128::from_be_bytes),
        _ => None,
    }
}
