//! Rates and units from two scrapes of `/metrics`, in place of estimates.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use singlet_model::Model;
use singlet_model::model::IndexId;

use crate::following::following_operations;
use crate::operations::{Operation, OperationKind, Part};

/// How far apart an estimate and what was measured may be before it is said: by half.
const DIFFERENCE_FACTOR: f64 = 1.5;
/// The most bytes of both scrapes together.
pub const SCRAPES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Why scrapes tell nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum ScrapeError {
    /// There are not two of them.
    NotTwo(usize),
    /// No time passed between them, or none is said.
    NoTime,
    /// They have no figures of the system.
    NoFigures(String),
    /// A counter is lower in the second: the service began anew between them.
    Restarted,
    /// A line that is no figure.
    Line(usize),
    /// They are larger than [`SCRAPES_BYTES_MAX`].
    TooLarge,
}

impl fmt::Display for ScrapeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScrapeError::NotTwo(count) => write!(
                out,
                "the file has {count} scrapes, and two are compared: write `# scraped SECONDS` (since 1970) before each"
            ),
            ScrapeError::NoTime => write!(out, "the second scrape is not later than the first"),
            ScrapeError::NoFigures(system) => write!(out, "the scrapes have no figures of `{system}`"),
            ScrapeError::Restarted => write!(
                out,
                "a counter is lower in the second scrape: the service began anew between them"
            ),
            ScrapeError::Line(line) => write!(out, "line {line} is no figure of Prometheus' text format"),
            ScrapeError::TooLarge => write!(out, "the scrapes have more than {SCRAPES_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for ScrapeError {}

/// What one operation did between two scrapes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Counted {
    /// What was asked for; the units are of these.
    requests: f64,
    /// What ran by itself, of which no units are counted.
    runs: f64,
    /// Units by place: `table`, or an index.
    read: BTreeMap<String, f64>,
    write: BTreeMap<String, f64>,
}

/// Where what was measured differs from the estimates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The operation.
    pub operation: String,
    /// What of it: `rate`, `read units`, `write units`.
    pub what: String,
    /// As estimated; none where nobody says.
    pub estimated: Option<f64>,
    /// As measured.
    pub measured: f64,
}

/// The line before each scrape in a file of two: `# scraped 1763400000`.
const SCRAPED: &str = "# scraped ";

/// Operations with rates and units as two scrapes have them. One that was not called keeps its units and has the rate 0; peaks
/// keep their distance from the average.
pub fn measured_operations(
    model: &Model,
    estimated: &[Operation],
    text: &str,
) -> Result<(Vec<Operation>, Vec<Difference>), ScrapeError> {
    if text.len() > SCRAPES_BYTES_MAX {
        return Err(ScrapeError::TooLarge);
    }
    let scrapes = scrapes_of(text);
    let [(from, first), (to, second)] = scrapes.as_slice() else {
        return Err(ScrapeError::NotTwo(scrapes.len()));
    };
    let seconds = to - from;
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err(ScrapeError::NoTime);
    }
    let before = counted(&model.name, first)?;
    let after = counted(&model.name, second)?;
    if after.is_empty() {
        return Err(ScrapeError::NoFigures(model.name.clone()));
    }
    let mut operations = Vec::new();
    let mut differences = Vec::new();
    let none = Counted::default();
    let asked = estimated
        .iter()
        .filter(|operation| operation.kind != OperationKind::Following);
    for operation in asked {
        let (old, new) = (
            before.get(&operation.name).unwrap_or(&none),
            after.get(&operation.name).unwrap_or(&none),
        );
        let now = measured_operation(model, operation, since(old, new)?, seconds);
        differences.extend(differences_of(operation, &now));
        operations.push(now);
    }
    // Nobody counts what follows: it is expected of the rates that were measured.
    operations.extend(following_operations(model, &operations));
    Ok((operations, differences))
}

type Scrape<'a> = (f64, Vec<(usize, &'a str)>);

fn scrapes_of(text: &str) -> Vec<Scrape<'_>> {
    let mut scrapes: Vec<Scrape<'_>> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(seconds) = line.strip_prefix(SCRAPED) {
            scrapes.push((seconds.trim().parse().unwrap_or(f64::NAN), Vec::new()));
        } else if let Some((_, lines)) = scrapes.last_mut() {
            lines.push((at + 1, line));
        }
    }
    scrapes
}

/// The counters of a system, by operation.
fn counted(system: &str, lines: &[(usize, &str)]) -> Result<BTreeMap<String, Counted>, ScrapeError> {
    let mut all: BTreeMap<String, Counted> = BTreeMap::new();
    for (number, line) in lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, labels, value) = sample(line).ok_or(ScrapeError::Line(*number))?;
        let label = |name: &str| {
            labels
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.as_str())
        };
        if label("system") != Some(system) {
            continue;
        }
        let Some(operation) = label("operation").filter(|name| !name.is_empty()) else {
            continue;
        };
        let place = label("place").unwrap_or("table").to_owned();
        let counted = all.entry(operation.to_owned()).or_default();
        match name {
            // What was refused was asked for too, and what it read was paid.
            "singlet_requests_total" => counted.requests += value,
            "singlet_runs_total" => counted.runs += value,
            "singlet_place_read_units_total" => *counted.read.entry(place).or_default() += value,
            "singlet_place_write_units_total" => *counted.write.entry(place).or_default() += value,
            _ => {}
        }
    }
    Ok(all)
}

type Sample<'a> = (&'a str, Vec<(&'a str, String)>, f64);

/// `name{label="value",…} 12.5`, as Prometheus' text format has it.
fn sample(line: &str) -> Option<Sample<'_>> {
    let Some((name, rest)) = line.split_once('{') else {
        let (name, value) = line.split_once(' ')?;
        return Some((name, Vec::new(), first_number(value)?));
    };
    let mut labels = Vec::new();
    let mut rest = rest.trim_start();
    while !rest.starts_with('}') {
        let (label, after) = rest.split_once("=\"")?;
        let mut value = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (_, '\\') => match characters.next()?.1 {
                    'n' => value.push('\n'),
                    other => value.push(other),
                },
                (at, '"') => break at,
                (_, other) => value.push(other),
            }
        };
        labels.push((label.trim(), value));
        rest = after.get(end + 1..)?.trim_start().trim_start_matches(',').trim_start();
    }
    Some((name.trim(), labels, first_number(rest.get(1..)?)?))
}

fn first_number(text: &str) -> Option<f64> {
    text.split_whitespace().next()?.parse().ok()
}

fn since(old: &Counted, new: &Counted) -> Result<Counted, ScrapeError> {
    let less = |old: &BTreeMap<String, f64>, new: &BTreeMap<String, f64>| {
        let units = new.iter().map(|(place, units)| {
            let before = old.get(place).copied().unwrap_or(0.0);
            let is_lower = *units < before;
            (!is_lower).then(|| (place.clone(), units - before))
        });
        units
            .collect::<Option<BTreeMap<String, f64>>>()
            .ok_or(ScrapeError::Restarted)
    };
    if new.runs < old.runs || new.requests < old.requests {
        return Err(ScrapeError::Restarted);
    }
    Ok(Counted {
        requests: new.requests - old.requests,
        runs: new.runs - old.runs,
        read: less(&old.read, &new.read)?,
        write: less(&old.write, &new.write)?,
    })
}

fn measured_operation(model: &Model, estimated: &Operation, counted: Counted, seconds: f64) -> Operation {
    let rate = (counted.requests + counted.runs) / seconds;
    let swing = match estimated.rate {
        Some(rate) if rate > 0.0 => estimated.peak / rate,
        _ => crate::operations::PEAK_USUAL,
    };
    let parts = match counted.requests > 0.0 {
        true => measured_parts(model, estimated, &counted),
        false => estimated.parts.clone(),
    };
    Operation {
        rate: Some(rate),
        peak: rate * swing,
        parts,
        ..estimated.clone()
    }
}

/// Units by place are measured; to whose rows they belong follows from the estimates of the same place.
fn measured_parts(model: &Model, estimated: &Operation, counted: &Counted) -> Vec<Part> {
    let mut parts = Vec::new();
    let names = counted.read.keys().chain(counted.write.keys());
    let mut places: Vec<&String> = names.collect();
    places.sort_unstable();
    places.dedup();
    for place in places {
        let at = model.table.indexes.iter().position(|index| index.name == *place);
        let index = at.and_then(|at| u32::try_from(at).ok()).map(IndexId);
        let each = |units: &BTreeMap<String, f64>| units.get(place).copied().unwrap_or(0.0) / counted.requests;
        let (read, write) = (each(&counted.read), each(&counted.write));
        let own: Vec<&Part> = estimated.parts.iter().filter(|part| part.index == index).collect();
        let known: (f64, f64) = own
            .iter()
            .fold((0.0, 0.0), |all, part| (all.0 + part.read, all.1 + part.write));
        let first = own.first().and_then(|part| part.entity);
        if known.0 <= 0.0 || known.1 <= 0.0 {
            parts.push(Part {
                index,
                entity: first,
                read: if known.0 > 0.0 { 0.0 } else { read },
                write: if known.1 > 0.0 { 0.0 } else { write },
            });
        }
        let share = |own: f64, all: f64| if all > 0.0 { own / all } else { 0.0 };
        parts.extend(own.iter().map(|part| Part {
            read: read * share(part.read, known.0),
            write: write * share(part.write, known.1),
            ..**part
        }));
    }
    parts.retain(|part| part.read > 0.0 || part.write > 0.0);
    parts
}

fn differences_of(estimated: &Operation, measured: &Operation) -> Vec<Difference> {
    let is_apart = |estimated: f64, measured: f64| {
        let (low, high) = (estimated.min(measured), estimated.max(measured));
        high > low * DIFFERENCE_FACTOR
    };
    let mut all = Vec::new();
    let mut push = |what: &str, estimated: Option<f64>, now: f64| {
        if is_apart(estimated.unwrap_or(0.0), now) {
            all.push(Difference {
                operation: measured.name.clone(),
                what: what.to_owned(),
                estimated,
                measured: now,
            });
        }
    };
    push("rate", estimated.rate, measured.rate.unwrap_or(0.0));
    if estimated.kind == OperationKind::Read || estimated.read_units() > 0.0 {
        push("read units", Some(estimated.read_units()), measured.read_units());
    }
    push("write units", Some(estimated.write_units()), measured.write_units());
    all
}
