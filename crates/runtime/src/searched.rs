//! Rows that are found by their words: an index gives keys, the best match first, and the rows are read by them as they are.
//!
//! **Invariant: the index decides nothing alone.** It may be behind the table. Whether a row is there, what it means, who may see it and
//! whether it still has the words is looked up in the row that was read; what the index has besides only saves reading rows.

use std::collections::BTreeMap;
use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use singlet_item::{Item, Number, Value};
use singlet_model::evaluate::geo::Place;
use singlet_model::evaluate::{evaluate, holds_condition};
use singlet_model::model::Matching;
use singlet_model::words::{WordQuery, texts_of};
use singlet_plan::read::SearchPlan;
use singlet_store::PageAnswer;

use crate::budget::Stretch;
use crate::by_key::batch_get;
use crate::cursor::Positions;
use crate::error::RuntimeError;
use crate::find::{FoundRows, Onward, Reading};
use crate::range_rows::{is_row_of, table_key};
use crate::row;
use crate::scope::Attributes;

/// How many rows are gone through for one page before it is given short.
pub(crate) const PAGE_FOUND_ROWS_MAX: usize = 1_000;

/// How many rows are read at once at most.
const KEYS_READ_MAX: usize = 100;

/// What has the words of rows.
#[async_trait]
pub trait SearchIndex: fmt::Debug + Send + Sync {
    /// The keys of rows that have all words, the best match first, after a place.
    ///
    /// # Errors
    ///
    /// Where it cannot answer, or not yet.
    async fn search(&self, request: SearchRequest) -> Result<SearchHits, SearchProblem>;
}

/// What is searched for.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// Whose rows: the entity's name.
    pub entity: String,
    /// The words.
    pub query: WordQuery,
    /// What rows must have besides, as [`search_term`] writes it.
    pub terms: Vec<String>,
    /// Where they must lie besides. Rows that lie elsewhere count all the same for how rare words are.
    pub circles: Vec<SearchedCircle>,
    /// Where an earlier page ended.
    pub after: Option<SearchPlace>,
    /// The most keys that are wanted.
    pub most: usize,
}

/// A circle on the earth.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchedCircle {
    /// The attribute that is the place of a row.
    pub attribute: String,
    /// Around where.
    pub center: Place,
    /// How far, in kilometres.
    pub km: f64,
}

/// Where a page of a search ended.
///
/// **Invariant:** how well a row matches follows from its own words and from `counts` alone. So the rows after a place are the same whenever
/// they are asked for, as far as the rows are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchPlace {
    /// How far the index was: it had every change up to this instant, in epoch milliseconds.
    pub as_of: i64,
    /// How many rows there were, and how many had each word, when the search began.
    pub counts: Vec<u64>,
    /// How well the last row matched.
    pub score: u64,
    /// The key of the last row.
    pub key: String,
}

/// Keys of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchHits {
    /// How well each matches, and its key as [`search_key`] writes it.
    pub hits: Vec<(u64, String)>,
    /// As in [`SearchPlace`].
    pub counts: Vec<u64>,
    /// As in [`SearchPlace`].
    pub as_of: i64,
    /// Whether there are no more after these.
    pub is_end: bool,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchProblem {
    /// The index does not have all rows yet.
    NotReady,
    /// The index is behind one that answered an earlier page.
    Behind,
    /// It failed.
    Failed(String),
}

/// The primary key of a row as an index has it.
pub fn search_key(key: &Item) -> String {
    serde_json::to_string(key).unwrap_or_default()
}

/// The longest text by which an index tells rows apart; rows with longer ones are read.
const TERM_BYTES_MAX: usize = 1_000;

/// What an index has of an attribute's value; nothing of values that are no text, or long.
pub fn search_term(attribute: &str, value: &Value) -> Option<String> {
    match value {
        Value::S(text) if text.len() <= TERM_BYTES_MAX => Some(format!("{attribute}\u{0}{text}")),
        _ => None,
    }
}

impl<'a> Reading<'a> {
    /// One page of what is found by words.
    pub(crate) async fn searched_page(
        &self,
        search: &SearchPlan,
        limit: usize,
        onward: &Onward,
    ) -> Result<FoundRows, RuntimeError> {
        let Some(matching) = &self.selection.matching else {
            return Err(RuntimeError::Internal("a search has no words".to_owned()));
        };
        let mut place = match onward {
            Onward::Start => None,
            Onward::At(Positions {
                searched: Some(place), ..
            }) => Some(place.clone()),
            // Places of ranges mean nothing to a search; such a cursor is of a read that was planned otherwise.
            Onward::At(_) => return Err(RuntimeError::Cursor),
            Onward::End => return Ok(FoundRows::default()),
        };
        let query = self.word_query(matching)?;
        let mut found = FoundRows::default();
        // No words match no rows; an index that is asked for nothing would match all.
        if query.is_empty() {
            return Ok(found);
        }
        let Some(index) = self.search else {
            return Err(RuntimeError::SearchNotFollowed);
        };
        let entity = self.model.entity(search.entity);
        let entity = entity.ok_or_else(|| RuntimeError::Internal("a search has no entity".to_owned()))?;
        let terms = self.known_terms(search)?;
        let circles = self.known_circles(search)?;
        let start = self.budget.start_page();
        let mut gone_through = 0;
        let mut wanted = limit.max(1);
        let mut stretch = Stretch::default();
        loop {
            let request = SearchRequest {
                entity: entity.name.clone(),
                query: query.clone(),
                terms: terms.clone(),
                circles: circles.clone(),
                after: place.clone(),
                most: wanted,
            };
            let SearchHits {
                hits,
                counts,
                as_of,
                is_end,
            } = index.search(request).await.map_err(RuntimeError::from)?;
            let is_spent = |gone_through: usize| {
                // Rows that are gone or may not be seen do not fill the page, and a search without rights would read all that
                // match.
                gone_through >= PAGE_FOUND_ROWS_MAX || self.budget.is_page_spent(start, self.bounds())
            };
            let mut read = 0_usize;
            while let Some(left) = hits
                .get(read..)
                .filter(|left| !left.is_empty() && found.rows.len() < limit)
            {
                // What was read did not suffice: more is read each time.
                let missing = limit.saturating_sub(found.rows.len());
                let batch = missing.max(gone_through).min(KEYS_READ_MAX).min(left.len());
                let batch = left.get(..batch).unwrap_or_default();
                found.rounds += 1;
                let mut rows = self.rows_by_key(search, batch, &mut found).await?;
                for (score, key) in batch {
                    if found.rows.len() >= limit {
                        break;
                    }
                    stretch.row().await;
                    read += 1;
                    gone_through += 1;
                    // In the order of the index, whatever order the batch came in; one that is missing is no longer there.
                    if let Some(row) = rows.remove(key)
                        && self.keeps_found(search, matching, &query, &row)?
                    {
                        found.rows.push(row);
                    }
                    // Also of a row that is dropped: the next page goes on after what was looked at, and not after what was
                    // given.
                    place = Some(SearchPlace {
                        as_of,
                        counts: counts.clone(),
                        score: *score,
                        key: key.clone(),
                    });
                }
                if is_spent(gone_through) {
                    break;
                }
            }
            // At the end only where all that were found were looked at: some may be left when the page is full.
            if (is_end || hits.is_empty()) && read == hits.len() {
                found.onward = Onward::End;
                return Ok(found);
            }
            if found.rows.len() >= limit || is_spent(gone_through) {
                break;
            }
            // The index goes through all that match each time that it is asked, so it is asked for the rest of the page at once.
            wanted = PAGE_FOUND_ROWS_MAX - gone_through;
        }
        found.onward = Onward::At(Positions {
            searched: place,
            ..Positions::default()
        });
        Ok(found)
    }

    /// What the request searches for.
    pub(crate) fn word_query(&self, matching: &Matching) -> Result<WordQuery, RuntimeError> {
        let text = evaluate(&matching.text, &self.scope)?;
        let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
        WordQuery::parse(text, matching.language).map_err(|_| {
            let most = singlet_model::words::QUERY_WORDS_MAX;
            RuntimeError::Request(format!("`{}` searches for at most {most} words at once", self.name))
        })
    }

    /// What the index is told of the rows that are meant. What is not known before rows are read is left to them.
    fn known_terms(&self, search: &SearchPlan) -> Result<Vec<String>, RuntimeError> {
        let mut terms = Vec::new();
        for (name, value) in &search.terms {
            let value = evaluate(value, &self.scope)?;
            // What has no term is left out here and checked on the row: the index must never decide more than it has.
            terms.extend(value.and_then(|value| search_term(name, &value)));
        }
        Ok(terms)
    }

    /// Where rows must lie, as far as that is known before they are read.
    fn known_circles(&self, search: &SearchPlan) -> Result<Vec<SearchedCircle>, RuntimeError> {
        let mut circles = Vec::new();
        for circle in &search.circles {
            let center = evaluate(&circle.center, &self.scope)?;
            let km = evaluate(&circle.km, &self.scope)?;
            let center = center.as_ref().and_then(Place::from_value);
            let km = km.as_ref().and_then(Value::as_number).and_then(Number::to_f64);
            circles.extend(center.zip(km).map(|(center, km)| SearchedCircle {
                attribute: circle.attribute.clone(),
                center,
                km,
            }));
        }
        Ok(circles)
    }

    async fn rows_by_key(
        &self,
        search: &SearchPlan,
        hits: &[(u64, String)],
        found: &mut FoundRows,
    ) -> Result<BTreeMap<String, Attributes>, RuntimeError> {
        let mut keys = Vec::with_capacity(hits.len());
        for (_, key) in hits {
            let key = serde_json::from_str::<Item>(key);
            keys.push(key.map_err(|_| RuntimeError::Internal("an index of words has a key that is none".to_owned()))?);
        }
        let mut rows = BTreeMap::new();
        let Some(entity) = self.model.entity(search.entity).filter(|_| !keys.is_empty()) else {
            return Ok(rows);
        };
        let turn = self.budget.next_turn(self.bounds()).await;
        // Read from the table and not from the index, which may be behind it.
        let (items, consumed) = batch_get(
            self.store,
            self.bounds(),
            &self.model.table.name,
            &keys,
            self.consistent,
        )
        .await?;
        drop(turn);
        let page = PageAnswer {
            scanned: keys.len(),
            items,
            consumed,
            ..PageAnswer::default()
        };
        // Rows of a search are rows that were read: without this, words would be a way past the bounds of a request.
        self.budget.take_page(&page)?;
        found.consumed += page.consumed;
        for item in page.items {
            // The key may have another row by now.
            if !is_row_of(self.model, entity, &item) {
                continue;
            }
            let key = search_key(&table_key(self.model, &item));
            if let Some(row) = row::decode_live(self.model, entity, &item, self.scope)? {
                rows.insert(key, row);
            }
        }
        Ok(rows)
    }

    /// Whether a row is meant, may be seen, and has the words, as it is now.
    fn keeps_found(
        &self,
        search: &SearchPlan,
        matching: &Matching,
        query: &WordQuery,
        row: &Attributes,
    ) -> Result<bool, RuntimeError> {
        // Meaning, rights and words on the row as it is: each may have changed since the index saw it.
        let scope = self.scope.with_row(row);
        for condition in search.meaning.iter().chain(self.allow) {
            if !holds_condition(condition, &scope)? {
                return Ok(false);
            }
        }
        let values = matching.attributes.iter().filter_map(|name| row.get(name));
        Ok(query.matches_texts(values.flat_map(texts_of)))
    }
}

/// What was found in the attributes of a row: each text in pieces, in turn not found and found.
pub(crate) fn row_highlights(matching: &Matching, query: &WordQuery, row: &Attributes) -> Value {
    let marked = |text: &str| {
        let pieces = query.text_pieces(text).into_iter();
        Value::L(pieces.map(|piece| Value::S(piece.to_owned())).collect())
    };
    let shown = matching.highlight.iter().filter_map(|name| {
        let value = match row.get(name)? {
            Value::S(text) => marked(text),
            value => Value::L(texts_of(value).into_iter().map(marked).collect()),
        };
        Some((name.clone(), value))
    });
    Value::M(shown.collect())
}

impl From<SearchProblem> for RuntimeError {
    fn from(problem: SearchProblem) -> Self {
        match problem {
            SearchProblem::NotReady => RuntimeError::SearchBehind { is_ready: false },
            SearchProblem::Behind => RuntimeError::SearchBehind { is_ready: true },
            SearchProblem::Failed(reason) => RuntimeError::Stored(format!("the index of words: {reason}")),
        }
    }
}
