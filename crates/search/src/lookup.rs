//! How rows are found in an index, and how well they match.
//!
//! **Invariant:** how well a row matches follows from its own words and from the counts of the search alone, and is a whole number: parts of
//! the index that are put together, and rows that come and go, change nothing about the others. Counts are of the rows that the terms of the
//! search leave, so that the order of a caller's rows tells nothing about the rows of others.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use singlet_model::words::WantedWord;
use singlet_runtime::SearchRequest;
use tantivy::columnar::StrColumn;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::schema::{IndexRecordOption, Term};
use tantivy::{DocId, DocSet, InvertedIndexReader, SegmentReader, TERMINATED};

use crate::error::SearchError;
use crate::places::{IndexedCircle, RowPlaces, circles_of};
use crate::served::ShownIndex;
use crate::word_index::{Fields, beginning_in, term_text, word_text};

/// BM25's usual weights.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The length of a row, in words, at which length makes no difference. It is none of what the rows have: their mean would tell of rows that a
/// caller may not see.
const USUAL_WORDS: f64 = 16.0;

/// What a point of BM25 is in whole numbers.
const POINTS: f64 = 1_000_000.0;

/// What was looked up.
#[derive(Debug)]
pub(crate) struct LookedUp {
    pub hits: Vec<(u64, String)>,
    pub counts: Vec<u64>,
    pub is_end: bool,
}

/// What one part of the index has: for each word, the rows with it and how often.
struct Part<'s> {
    segment: &'s SegmentReader,
    words: Vec<Vec<(DocId, u32)>>,
    /// The rows that have the last word as it is, where it may be the beginning of one: they match better.
    whole: Vec<(DocId, u32)>,
}

/// The keys of the rows that have all words, the best first.
pub(crate) fn look_up(index: &ShownIndex, request: &SearchRequest) -> Result<LookedUp, SearchError> {
    let fields = index.fields;
    let mut parts = Vec::new();
    let wanted_words = request.query.words.len() + usize::from(request.query.prefix.is_some());
    let mut counts = vec![0_u64; wanted_words + 2];
    for segment in index.searcher.segment_readers() {
        let rows = rows_of(segment, fields, request)?;
        let words = words_in(segment, fields, request, &rows)?;
        let whole = match &request.query.prefix {
            Some(prefix) => rows_with(segment, fields, &request.entity, prefix, &rows)?,
            None => Vec::new(),
        };
        let found = std::iter::once(rows.len()).chain(words.iter().map(Vec::len));
        let found = found.chain([whole.len()]);
        for (count, found) in counts.iter_mut().zip(found) {
            *count += found as u64;
        }
        parts.push(Part { segment, words, whole });
    }
    if let Some(after) = &request.after {
        // Those of the first page: with others the rows would be in another order, and some come twice or not at all.
        counts.clone_from(&after.counts);
    }
    let weights = Weights::of_counts(&counts);
    let circles = circles_of(&index.searched, request);
    let mut all: Vec<(Reverse<u64>, String)> = Vec::new();
    let mut found = 0;
    for part in parts {
        found += best_of(&part, fields, &weights, &circles, request, &mut all)?;
    }
    all.sort_unstable();
    all.truncate(request.most);
    Ok(LookedUp {
        hits: all.into_iter().map(|(Reverse(score), key)| (score, key)).collect(),
        counts,
        is_end: found <= request.most,
    })
}

/// The rows of the entity that have all terms and are there.
fn rows_of(segment: &SegmentReader, fields: Fields, request: &SearchRequest) -> Result<Vec<DocId>, SearchError> {
    let terms = segment.inverted_index(fields.terms)?;
    let texts = request.terms.iter().map(|term| term_text(&request.entity, term));
    let mut all = Vec::new();
    for text in texts.chain([request.entity.clone()]) {
        let term = Term::from_field_text(fields.terms, &text);
        match terms.read_postings(&term, IndexRecordOption::Basic)? {
            Some(postings) => all.push(postings),
            None => return Ok(Vec::new()),
        }
    }
    all.sort_by_key(SegmentPostings::doc_freq);
    let mut all = all.into_iter();
    let Some(mut rarest) = all.next() else {
        return Ok(Vec::new());
    };
    let mut rows = Vec::with_capacity(rarest.doc_freq() as usize);
    let alive = segment.alive_bitset();
    while rarest.doc() != TERMINATED {
        // Removed rows stay in the index for a while.
        if alive.is_none_or(|alive| alive.is_alive(rarest.doc())) {
            rows.push(rarest.doc());
        }
        rarest.advance();
    }
    for mut postings in all {
        let mut kept = Vec::new();
        join(&rows, &mut postings, |row, _| kept.push(row));
        rows = kept;
    }
    Ok(rows)
}

/// For each word of the query, those of the rows that have it.
fn words_in(
    segment: &SegmentReader,
    fields: Fields,
    request: &SearchRequest,
    rows: &[DocId],
) -> Result<Vec<Vec<(DocId, u32)>>, SearchError> {
    let mut all = Vec::new();
    for word in &request.query.words {
        all.push(rows_with(segment, fields, &request.entity, word, rows)?);
    }
    if let Some(prefix) = &request.query.prefix {
        let (field, text) = beginning_in(fields, &request.entity, &prefix.text);
        let beginnings = segment.inverted_index(field)?;
        let mut having = beginning_with(&beginnings, text.as_bytes(), segment.max_doc(), rows)?;
        // What is typed may be whole, and then another form of a word that does not begin so.
        if !prefix.forms.is_empty() {
            having = either_of(having, rows_with(segment, fields, &request.entity, prefix, rows)?);
        }
        all.push(having);
    }
    Ok(all)
}

/// The rows that have a word, in any form where forms are known, and how often.
fn rows_with(
    segment: &SegmentReader,
    fields: Fields,
    entity: &str,
    word: &WantedWord,
    rows: &[DocId],
) -> Result<Vec<(DocId, u32)>, SearchError> {
    let (field, texts) = match word.forms.is_empty() {
        true => (fields.words, std::slice::from_ref(&word.text)),
        false => (fields.forms, word.forms.as_slice()),
    };
    let words = segment.inverted_index(field)?;
    let mut all = Vec::new();
    for text in texts {
        let term = Term::from_field_text(field, &word_text(entity, text));
        let mut having = Vec::new();
        if let Some(mut postings) = words.read_postings(&term, IndexRecordOption::WithFreqs)? {
            join(rows, &mut postings, |row, times| having.push((row, times)));
        }
        all = either_of(all, having);
    }
    Ok(all)
}

/// The rows of two lists, in their order. One that both have counts as often as in that which has it more often: it is of the same words.
fn either_of(one: Vec<(DocId, u32)>, other: Vec<(DocId, u32)>) -> Vec<(DocId, u32)> {
    if one.is_empty() || other.is_empty() {
        return if one.is_empty() { other } else { one };
    }
    let mut times_of: BTreeMap<DocId, u32> = one.into_iter().collect();
    for (row, times) in other {
        let known = times_of.entry(row).or_default();
        *known = (*known).max(times);
    }
    times_of.into_iter().collect()
}

/// The rows that have a word with a beginning, and how many such words. The words may be beginnings themselves, of those that the index has of each.
fn beginning_with(
    words: &InvertedIndexReader,
    prefix: &[u8],
    rows_max: DocId,
    rows: &[DocId],
) -> Result<Vec<(DocId, u32)>, SearchError> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let mut times_of = vec![0_u32; rows_max as usize];
    let mut terms = words.terms().range().ge(prefix).into_stream()?;
    while terms.advance() {
        if !terms.key().starts_with(prefix) {
            break;
        }
        let mut postings = words.read_postings_from_terminfo(terms.value(), IndexRecordOption::WithFreqs)?;
        let mut add = |row: DocId, times| {
            if let Some(known) = times_of.get_mut(row as usize) {
                *known = known.saturating_add(times);
            }
        };
        // To look for each row of a long list takes longer than to go through a short one, and what is no row of the search does not count below.
        if terms.value().doc_freq as usize <= rows.len() {
            let mut row = postings.doc();
            while row != TERMINATED {
                add(row, postings.term_freq());
                row = postings.advance();
            }
        } else {
            join(rows, &mut postings, add);
        }
    }
    let having = rows.iter().filter_map(|row| {
        let times = times_of.get(*row as usize).copied().unwrap_or_default();
        (times > 0).then_some((*row, times))
    });
    Ok(having.collect())
}

/// Those of some rows, in their order, that a list has.
fn join(rows: &[DocId], postings: &mut SegmentPostings, mut found: impl FnMut(DocId, u32)) {
    let mut left = rows;
    while let Some(row) = left.first().copied() {
        let at = match postings.doc() < row {
            true => postings.seek(row),
            false => postings.doc(),
        };
        if at == TERMINATED {
            return;
        }
        if at == row {
            found(row, postings.term_freq());
        }
        let next = match at == row {
            true => 1,
            false => left.partition_point(|row| *row < at),
        };
        left = left.get(next..).unwrap_or_default();
    }
}

/// The best rows of a part after the place of the search, and how many there are in all.
fn best_of(
    part: &Part<'_>,
    fields: Fields,
    weights: &Weights,
    circles: &[IndexedCircle],
    request: &SearchRequest,
    best: &mut Vec<(Reverse<u64>, String)>,
) -> Result<usize, SearchError> {
    let Some(keys) = part.segment.fast_fields().str("key")? else {
        return Ok(0);
    };
    let after = match &request.after {
        Some(after) => Some((after.score, first_after(&keys, &after.key)?)),
        None => None,
    };
    let places = RowPlaces::of_segment(part.segment)?;
    let lengths = part.segment.get_fieldnorms_reader(fields.words)?;
    let mut found: Vec<(Reverse<u64>, u64)> = Vec::new();
    let Some((first, others)) = part.words.split_first() else {
        return Ok(0);
    };
    let mut others: Vec<&[(DocId, u32)]> = others.iter().map(Vec::as_slice).collect();
    let mut whole = part.whole.as_slice();
    'rows: for (row, times) in first {
        let length = lengths.fieldnorm_id(*row);
        let mut score = weights.points(0, *times, length);
        for (at, other) in others.iter_mut().enumerate() {
            match times_in(other, *row) {
                Some(times) => score += weights.points(at + 1, times, length),
                None => continue 'rows,
            }
        }
        if let Some(times) = times_in(&mut whole, *row) {
            score += weights.points(part.words.len(), times, length);
        }
        if !circles.iter().all(|circle| places.is_within(*row, circle)) {
            continue;
        }
        let Some(key) = keys.ords().first(*row) else { continue };
        // Strictly after the last row that was given, by its score and then its key.
        let is_after = after.is_none_or(|(last, first)| score < last || score == last && key >= first);
        if is_after {
            found.push((Reverse(score), key));
        }
    }
    let all = found.len();
    if all > request.most {
        // The best of each part are enough: together they have the best of all.
        found.select_nth_unstable(request.most);
        found.truncate(request.most);
    }
    for (score, key) in found {
        let mut text = String::new();
        keys.ord_to_str(key, &mut text)?;
        best.push((score, text));
    }
    Ok(all)
}

/// How often a row has what a list is of, and the list from there on; rows are asked for in their order.
fn times_in(list: &mut &[(DocId, u32)], row: DocId) -> Option<u32> {
    // The next row of a list is mostly near: steps that double find it sooner than halves of all that is left.
    let mut reach = 1_usize;
    while list.get(reach).is_some_and(|(known, _)| *known < row) {
        reach *= 2;
    }
    let near = list.get(..=reach).unwrap_or(list);
    let next = near.partition_point(|(known, _)| *known < row);
    *list = list.get(next..).unwrap_or_default();
    let (known, times) = list.first()?;
    (*known == row).then_some(*times)
}

/// The number of the first key after one.
fn first_after(keys: &StrColumn, key: &str) -> Result<u64, SearchError> {
    let (mut low, mut high) = (0_u64, keys.dictionary().num_terms() as u64);
    let mut text = String::new();
    while low < high {
        let middle = low + (high - low) / 2;
        text.clear();
        keys.ord_to_str(middle, &mut text)?;
        match text.as_str() <= key {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// What each word of a search counts.
struct Weights {
    /// By word, how rare it is.
    rarities: Vec<f64>,
    /// What takes from how often a row has a word, by the length of the row as the index knows it.
    lengths: Vec<f64>,
}

impl Weights {
    fn of_counts(counts: &[u64]) -> Self {
        let rows = counts.first().copied().unwrap_or_default() as f64;
        let rarity = |having: &u64| {
            let having = *having as f64;
            (1.0 + ((rows - having).max(0.0) + 0.5) / (having + 0.5)).ln()
        };
        let weight = |length: u8| {
            let words = f64::from(FieldNormReader::id_to_fieldnorm(length));
            K1 * (1.0 - B + B * words / USUAL_WORDS)
        };
        Weights {
            rarities: counts.iter().skip(1).map(rarity).collect(),
            lengths: (0..=u8::MAX).map(weight).collect(),
        }
    }

    /// What a word that a row has so many times adds to how well it matches.
    fn points(&self, word: usize, times: u32, length: u8) -> u64 {
        let rarity = self.rarities.get(word).copied().unwrap_or_default();
        let length = self.lengths.get(usize::from(length)).copied().unwrap_or_default();
        let times = f64::from(times);
        let weight = times * (K1 + 1.0) / (times + length);
        (rarity * weight * POINTS).round() as u64
    }
}
