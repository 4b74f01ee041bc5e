//! What the file shows by itself, before anything is written.
//!
//! Every row is made, and its keys, mirrors' keys and unique values are its *claims*: none may be claimed twice. A file may have
//! more claims than there is memory, so a reading keeps a number of 8 bytes for each, and only for as many as the bound allows:
//! where there are more, a reading looks at the claims whose number ends in certain bits, and the file is read again for the
//! next ones. Two numbers may be equal by chance, so lines are named only by a last reading that compares the claims
//! themselves.

use std::collections::{BTreeSet, HashMap};

use sha2::{Digest, Sha256};
use singlet_item::Item;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::model::Entity;

use super::fill::{GivenRow, given_row};
use super::kept::{KeptKind, excluded_rows, kept_items, oversize_of, place_of};
use super::lines::{Line, Lines, RowSource};
use super::misfit::{LoadError, Misfit, MisfitKind};
use super::{LoadOptions, LoadProgress, LoadScope, Loading};
use crate::engine::Engine;
use crate::error::RuntimeError;
use crate::scope::Attributes;

/// How many claims that seem to be made twice are looked at; there is no use in more.
const SUSPECTS_MAX: usize = 1_000;

/// Looks at the whole file.
///
/// # Errors
///
/// What is wrong with it.
pub(super) fn survey_rows(
    engine: &Engine,
    rows: &dyn RowSource,
    options: &LoadOptions,
    progress: &mut (dyn FnMut(LoadProgress) + Send),
) -> Result<(), LoadError> {
    let names = LoadScope::new();
    let loading = Loading {
        engine,
        scope: names.scope(engine, options.now),
        options,
    };
    let mut numbers = ClaimNumbers::new(options.bounds.claims_max);
    let mut misfits = Misfits::new(options.bounds.misfits_max);
    for line in Lines::open(rows)? {
        let line = line?;
        match claims_of_line(&loading, &line) {
            Ok(claims) => numbers.add(&claims),
            Err(found) => misfits.extend(found),
        }
        progress(LoadProgress {
            bytes: line.bytes,
            ..LoadProgress::default()
        });
        if misfits.are_many() {
            break;
        }
    }
    // Rows that are wrong claim nothing: what they would have claimed is found when they are right.
    misfits.end()?;
    let mut suspects = BTreeSet::new();
    loop {
        suspects.extend(numbers.suspects());
        if suspects.len() >= SUSPECTS_MAX || !numbers.turn() {
            break;
        }
        for line in Lines::open(rows)? {
            if let Ok(claims) = claims_of_line(&loading, &line?) {
                numbers.add(&claims);
            }
        }
    }
    match suspects.is_empty() {
        true => Ok(()),
        false => name_lines(&loading, rows, &suspects),
    }
}

/// Something that a row has and no other may have, or that must not be there beside it.
pub(super) struct UniqueClaim {
    /// What is claimed.
    text: String,
    /// How it is called.
    what: ClaimKind,
    entity: String,
}

enum ClaimKind {
    Kept(KeptKind),
    /// That it is the last version of a row.
    LastVersion,
    /// That a row is not there.
    Excluded(String),
}

impl UniqueClaim {
    fn is_excluding(&self) -> bool {
        matches!(self.what, ClaimKind::Excluded(_))
    }

    fn number(&self) -> u64 {
        let hash = Sha256::digest(self.text.as_bytes());
        let mut first = [0; 8];
        first.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        u64::from_be_bytes(first)
    }

    fn misfit(&self, line: u64, other: u64) -> Misfit {
        let (kind, reason) = match &self.what {
            ClaimKind::Kept(KeptKind::Own | KeptKind::Identity) => {
                (MisfitKind::SameKey, format!("line {other} has a row with the same key"))
            }
            ClaimKind::Kept(KeptKind::Mirror(name)) => (
                MisfitKind::SameKey,
                format!("line {other} has a row whose `{name}` has the same key"),
            ),
            ClaimKind::Kept(KeptKind::Unique(name)) => (
                MisfitKind::Taken,
                format!("line {other} has a row with the same `{name}`, which is unique"),
            ),
            ClaimKind::LastVersion => (
                MisfitKind::SameKey,
                format!("line {other} has a version of the same row that is not closed either"),
            ),
            ClaimKind::Excluded(name) => (
                MisfitKind::Excluded,
                format!("line {other} has a `{name}` that must not be beside it"),
            ),
        };
        Misfit::new(kind, reason).of(&self.entity).in_line(line)
    }
}

/// What the row of a line claims, or everything that is wrong with the line.
fn claims_of_line(loading: &Loading<'_>, line: &Line) -> Result<Vec<UniqueClaim>, Vec<Misfit>> {
    let text = line.text.as_ref().map_err(|misfit| vec![misfit.clone()])?;
    let numbered = |misfits: Vec<Misfit>| -> Vec<Misfit> {
        let each = misfits.into_iter();
        each.map(|misfit| misfit.in_line(line.number)).collect()
    };
    let given = given_row(loading.model(), text, loading.scope).map_err(numbered)?;
    claims_of_row(loading, &given).map_err(|misfit| vec![misfit.of(&given.entity.name).in_line(line.number)])
}

fn claims_of_row(loading: &Loading<'_>, given: &GivenRow<'_>) -> Result<Vec<UniqueClaim>, Misfit> {
    let (model, entity) = (loading.model(), given.entity);
    let no_key = |error: RuntimeError| Misfit::new(MisfitKind::NoKey, error.to_string());
    let kept = match kept_items(model, entity, &given.row, loading.scope) {
        Ok(kept) => kept,
        // A key that is made of a copy is known when the copy is.
        Err(_) if lacks_copy(entity, &given.row) => return Ok(Vec::new()),
        Err(error) => return Err(no_key(error)),
    };
    if let Some(misfit) = oversize_of(model, &kept) {
        return Err(misfit);
    }
    let mut claims = Vec::new();
    for one in &kept {
        // Versions share the guard of their identity.
        if one.kind != KeptKind::Identity {
            claims.push(claim(
                entity,
                ClaimKind::Kept(one.kind.clone()),
                key_text(model, &one.key),
            ));
        } else if is_last_version(entity, &given.row) {
            claims.push(claim(entity, ClaimKind::LastVersion, key_text(model, &one.key)));
        }
    }
    let excluded = excluded_rows(model, entity, &given.row, loading.scope).map_err(no_key)?;
    for (other, known) in excluded {
        if let Some(key) = place_of(model, other, &known).map_err(no_key)? {
            claims.push(claim(
                entity,
                ClaimKind::Excluded(other.name.clone()),
                key_text(model, &key),
            ));
        }
    }
    Ok(claims)
}

fn claim(entity: &Entity, what: ClaimKind, text: String) -> UniqueClaim {
    UniqueClaim {
        text,
        what,
        entity: entity.name.clone(),
    }
}

/// Whether a version is one that nothing followed.
pub(super) fn is_last_version(entity: &Entity, row: &Attributes) -> bool {
    let history = entity.history.as_ref();
    history.is_some_and(|history| !row.contains_key(&history.until))
}

/// Whether a copy is still to be taken from its source.
fn lacks_copy(entity: &Entity, row: &Attributes) -> bool {
    let mut copies = entity.attributes.iter().filter(|attribute| attribute.copy.is_some());
    copies.any(|attribute| !row.contains_key(&attribute.name))
}

/// A primary key as text; no two have one.
fn key_text(model: &Model, key: &Item) -> String {
    let parts = model.table.key.iter().map(|attribute| match key.get(&attribute.name) {
        Some(Value::S(text)) => format!("S{}:{text}", text.len()),
        other => format!("{other:?}"),
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The numbers of claims, as many as the bound allows at a time.
struct ClaimNumbers {
    most: usize,
    claimed: Vec<u64>,
    excluded: Vec<u64>,
    /// Into how many parts the claims are divided: a power of two.
    parts: u64,
    /// Which of the parts is looked at.
    part: u64,
}

impl ClaimNumbers {
    fn new(most: usize) -> Self {
        ClaimNumbers {
            most: most.max(1),
            claimed: Vec::new(),
            excluded: Vec::new(),
            parts: 1,
            part: 0,
        }
    }

    fn add(&mut self, claims: &[UniqueClaim]) {
        for claim in claims {
            let number = claim.number();
            if number & (self.parts - 1) != self.part {
                continue;
            }
            match claim.is_excluding() {
                true => self.excluded.push(number),
                false => self.claimed.push(number),
            }
            // Only the first part is divided further: the later ones are of the size that it has come to. They may still be
            // somewhat larger, never twice as large but by a strange chance.
            while self.part == 0 && self.claimed.len() + self.excluded.len() > self.most && self.parts < 1 << 40 {
                self.parts *= 2;
                let (parts, part) = (self.parts, self.part);
                self.claimed.retain(|number| number & (parts - 1) == part);
                self.excluded.retain(|number| number & (parts - 1) == part);
            }
        }
    }

    /// Numbers that are claimed twice, or both claimed and excluded.
    fn suspects(&mut self) -> Vec<u64> {
        self.claimed.sort_unstable();
        let twice = self.claimed.windows(2).filter_map(|pair| match pair {
            [one, other] if one == other => Some(*one),
            _ => None,
        });
        let both = self.excluded.iter().copied();
        let both = both.filter(|number| self.claimed.binary_search(number).is_ok());
        twice.chain(both).take(SUSPECTS_MAX).collect()
    }

    /// Goes on to the next part; whether there is one.
    fn turn(&mut self) -> bool {
        self.claimed.clear();
        self.excluded.clear();
        self.part += 1;
        self.part < self.parts
    }
}

/// Reads the file once more for the claims that seem to be made twice.
fn name_lines(loading: &Loading<'_>, rows: &dyn RowSource, suspects: &BTreeSet<u64>) -> Result<(), LoadError> {
    let mut claimed: HashMap<String, u64> = HashMap::new();
    let mut excluded: HashMap<String, (u64, UniqueClaim)> = HashMap::new();
    let mut misfits = Misfits::new(loading.options.bounds.misfits_max);
    for line in Lines::open(rows)? {
        let line = line?;
        let Ok(claims) = claims_of_line(loading, &line) else {
            continue;
        };
        for claim in claims.into_iter().filter(|claim| suspects.contains(&claim.number())) {
            if claim.is_excluding() {
                match claimed.get(&claim.text) {
                    Some(other) => misfits.extend([claim.misfit(line.number, *other)]),
                    None => drop(excluded.insert(claim.text.clone(), (line.number, claim))),
                }
                continue;
            }
            if let Some((by, excluding)) = excluded.get(&claim.text) {
                misfits.extend([excluding.misfit(*by, line.number)]);
            }
            match claimed.get(&claim.text) {
                Some(other) => misfits.extend([claim.misfit(line.number, *other)]),
                None => drop(claimed.insert(claim.text, line.number)),
            }
        }
        if misfits.are_many() {
            break;
        }
    }
    misfits.end()
}

/// What is wrong with the file, as far as it is shown.
struct Misfits {
    found: Vec<Misfit>,
    most: usize,
}

impl Misfits {
    fn new(most: usize) -> Self {
        Misfits {
            found: Vec::new(),
            most: most.max(1),
        }
    }

    fn extend(&mut self, misfits: impl IntoIterator<Item = Misfit>) {
        self.found.extend(misfits);
    }

    fn are_many(&self) -> bool {
        self.found.len() > self.most
    }

    fn end(mut self) -> Result<(), LoadError> {
        if self.found.is_empty() {
            return Ok(());
        }
        let more = self.are_many();
        self.found.truncate(self.most);
        self.found.sort_by_key(|misfit| misfit.line);
        Err(LoadError::File {
            misfits: self.found,
            more,
        })
    }
}
