//! The rows of one range, page by page, in the order of its key.
//!
//! A range is read ahead of who takes its rows, so there are two places: where the next page of the store begins, and after which
//! row a cursor goes on ([`RangeRows::row_position`]). To take the first for the second loses every row in the buffer.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::evaluate::holds_condition;
use singlet_model::expression::Expr;
use singlet_model::model::{Entity, KeyTemplate};
use singlet_plan::read::{Layout, Query};
use singlet_store::{
    Condition, Consumed, Direction, GetRequest, KeyRange, PageAnswer, QueryRequest, ScanRequest, Select, SortRange,
    Store,
};

use crate::budget::{ReadBudget, Stretch};
use crate::by_key::{batch_get, primary_key};
use crate::error::RuntimeError;
use crate::keys::CollectionRange;
use crate::retry;
use crate::row;
use crate::scope::{Attributes, Scope};

/// A row on its way to the caller.
#[derive(Debug)]
pub struct Arrived<'a> {
    /// The row.
    pub row: Attributes,
    /// Its key on the path that it came by: a cursor goes on after it.
    pub position: Key<'a>,
}

/// The attributes of a key with their values, each once.
pub type Key<'a> = Vec<(&'a str, Value)>;

fn item_of(key: &Key<'_>) -> Item {
    key.iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

/// The rows of one range.
#[derive(Debug)]
pub(crate) struct RangeRows<'a> {
    request: QueryRequest,
    /// The key of the one item that the range can hold: it is got, and a get takes no filter.
    key: Option<Item>,
    /// Whether the range is the whole table, with the rows of every entity.
    scan: bool,
    /// Whether rows of other entities may lie in it that only their primary key tells apart.
    is_mixed: bool,
    except: Vec<(String, Value)>,
    layout: &'a Layout,
    /// Whether rows come without their keys.
    is_bare: bool,
    /// Whether the store gives the attributes of rows alone, and of those only that are there.
    is_row_alone: bool,
    buffer: VecDeque<Arrived<'a>>,
    /// Where the next page begins; none at the start.
    next: Option<Item>,
    ended: bool,
    pages_read: u32,
    /// How many items were looked at.
    rows_seen: usize,
    /// The key after which a later page goes on, where no row was taken since.
    after: Option<Item>,
    /// The key of the last row that was taken.
    taken: Option<Key<'a>>,
    /// Whether it was begun anew: rows that earlier pages gave may come again.
    behind: bool,
}

impl<'a> RangeRows<'a> {
    /// Opens a range.
    pub fn open(model: &'a Model, query: &'a Query, range: CollectionRange, filter: Option<Condition>) -> Self {
        let index = query.index.and_then(|index| model.index(index));
        let mut request = QueryRequest::new(model.table.name.clone(), range.keys);
        request.index = index.map(|index| index.name.clone());
        request.filter = filter;
        request.direction = if query.descending {
            Direction::Descending
        } else {
            Direction::Ascending
        };
        RangeRows {
            // Only in the table is a whole key one row: an index may have several entries under one key.
            key: index.is_none().then(|| whole_key(model, &request.range)).flatten(),
            scan: query.scan,
            is_mixed: query.is_mixed,
            request,
            except: range.except,
            layout: &query.layout,
            is_bare: false,
            is_row_alone: false,
            buffer: VecDeque::new(),
            next: None,
            ended: false,
            pages_read: 0,
            rows_seen: 0,
            after: None,
            taken: None,
            behind: false,
        }
    }

    /// Says whether it is the only stream of its query. Then a page that is read to its end needs no keys of its rows: it is
    /// asked for without them, and never for more rows than are wanted.
    pub fn select_query(&mut self, query: &'a Query, alone: bool) {
        // All of these need to look at the key of each row: without it, other rows of the collection would be answered too.
        self.is_bare = alone && query.takes_all() && self.except.is_empty() && self.key.is_none() && !self.is_mixed;
        if let Some(paths) = query.projection(!self.is_bare) {
            self.request.select = Select::Paths(paths.clone());
        }
    }

    /// Whether it must be read to the end of each page.
    pub(crate) fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Reads strongly.
    pub fn read_strongly(&mut self, consistent: bool) {
        self.request.consistent = consistent;
    }

    /// Whether the rows come without having passed the filter.
    pub(crate) fn is_unfiltered(&self) -> bool {
        self.key.is_some()
    }

    /// Which range this is, for a cursor that goes on in it.
    pub(crate) fn identify_range(&self, hasher: &mut impl Hasher) {
        // The filter is not in it: it may hold the instant of the request, and positions do not depend on what is dropped.
        (&self.request.index, &self.request.range, self.request.direction).hash(hasher);
    }

    /// Goes on after a key, of which the range's own part was left out.
    pub(crate) fn go_on_after(&mut self, own_part: &Item) {
        let range = &self.request.range;
        let mut key = own_part.clone();
        let sort = range.sort.iter().filter_map(|(name, sort)| match sort {
            SortRange::Equal(value) => Some((name.clone(), value.clone())),
            _ => None,
        });
        // What the range fixes comes from the range and never from the cursor, so that no cursor leads out of it.
        key.extend(range.partition.iter().cloned().chain(sort));
        self.request.start = Some(key.clone());
        // A page that takes no row must still say where it began, or the next one would begin at the start of the range.
        self.after = Some(key);
    }

    /// What of a key the range does not say itself.
    pub fn own_part(&self, mut key: Item) -> Item {
        let range = &self.request.range;
        let fixed = range
            .sort
            .iter()
            .filter(|(_, sort)| matches!(sort, SortRange::Equal(_)))
            .map(|(name, _)| name)
            .chain(range.partition.iter().map(|(name, _)| name));
        fixed.for_each(|name| drop(key.remove(name)));
        key
    }

    /// Begins anew, because its place was left out of a cursor.
    pub(crate) fn fall_behind(&mut self) {
        self.behind = true;
    }

    /// Whether rows that earlier pages gave may still come.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// Says that all rows from here on are new.
    pub(crate) fn catch_up(&mut self) {
        self.behind = false;
    }

    /// Ends the stream: an earlier page saw all of it.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether a page must be read before the next row is known.
    pub(crate) fn needs_page(&self) -> bool {
        self.buffer.is_empty() && !self.ended
    }

    /// How many pages were read.
    pub(crate) fn pages_read(&self) -> u32 {
        self.pages_read
    }

    /// How many items were looked at.
    pub fn rows_seen(&self) -> usize {
        self.rows_seen
    }

    /// The next row, where one is known.
    pub fn peek_row(&self) -> Option<&Arrived<'a>> {
        self.buffer.front()
    }

    /// Takes the next row; a cursor goes on after it.
    pub fn take_row(&mut self) -> Option<Attributes> {
        let arrived = self.buffer.pop_front()?;
        // Here and nowhere else: a position that moved when a row arrived would skip those in the buffer.
        self.taken = Some(arrived.position);
        Some(arrived.row)
    }

    /// The key after which a later page goes on, without what the range says itself; none at the beginning.
    ///
    /// **Invariant:** it lies after every row that was taken and every row that was dropped while the buffer was empty, and before
    /// every row in the buffer. A bare stream does not know the keys of its rows: it goes on after the page that it has read,
    /// so its buffer must be empty.
    pub fn row_position(&self) -> Option<Item> {
        let key = match self.is_bare && self.pages_read > 0 {
            // Right only with an empty buffer, which `page` ensures by asking for no more rows than are wanted.
            true => self.next.clone(),
            false => self.taken.as_ref().map(item_of).or_else(|| self.after.clone()),
        };
        key.map(|key| self.own_part(key))
    }

    /// Whether there are no more rows.
    pub fn is_done(&self) -> bool {
        self.ended && self.buffer.is_empty()
    }

    /// Reads one page of at most `limit` items.
    ///
    /// # Errors
    ///
    /// Where the store fails for good, or an item is not as the model has it.
    pub async fn read_page(
        &mut self,
        store: &Arc<dyn Store>,
        place: (&Model, &Entity),
        follow: Option<WholeRowFetch<'_>>,
        limit: u32,
        (scope, budget): (Scope<'_>, &ReadBudget<'_>),
    ) -> Result<Consumed, RuntimeError> {
        // No store takes a limit of zero, and a page of nothing would be asked for again for ever.
        self.request.limit = Some(limit.max(1));
        if let Some(next) = &self.next {
            self.request.start = Some(next.clone());
        }
        self.ask_for_row_alone(store);
        let turn = budget.next_turn(&scope.setting.bounds).await;
        let page = match &self.key {
            Some(key) => self.got(store, key, scope).await?,
            None if self.scan => self.scanned(store, scope).await?,
            None if self.is_row_alone => {
                let wanted = row::wanted_item(place.0, place.1, scope.now);
                retry::with_retries(&scope.setting.bounds, || store.query_wanted(&self.request, wanted)).await?
            }
            None => retry::with_retries(&scope.setting.bounds, || store.query(&self.request)).await?,
        };
        // Before the page is taken apart: another long read may have its call meanwhile, and whole rows take turns of their own.
        drop(turn);
        self.arrive_page(store, place, follow, page, (scope, budget)).await
    }

    /// Where the store looks itself at which items are rows, what tells that is not asked for.
    fn ask_for_row_alone(&mut self, store: &Arc<dyn Store>) {
        // Only where nothing else tells what an item is: the process sees neither type nor expiry of what comes then.
        if let Some(paths) = self.layout.row_alone()
            && self.is_bare
            && !self.is_row_alone
            && store.looks_at_items()
        {
            self.request.select = Select::Paths(paths.clone());
            // Before the call: it decides how the page that answers is read.
            self.is_row_alone = true;
        }
    }

    /// The key of the one item that is to be got, where the range holds no other and it was not got yet.
    pub(crate) fn key_to_get(&self) -> Option<&Item> {
        // One that goes on after its only row has nothing left to get.
        let is_first = self.needs_page() && self.request.start.is_none();
        self.key.as_ref().filter(|_| is_first)
    }

    /// Takes a page that was read.
    ///
    /// # Errors
    ///
    /// Where there is no room for it, or an item is not as the model has it.
    pub(crate) async fn arrive_page(
        &mut self,
        store: &Arc<dyn Store>,
        place: (&Model, &Entity),
        follow: Option<WholeRowFetch<'_>>,
        page: PageAnswer,
        (scope, budget): (Scope<'_>, &ReadBudget<'_>),
    ) -> Result<Consumed, RuntimeError> {
        let (model, entity) = place;
        // Before rows are made of it, which is what takes memory: a request without room is refused with the items alone.
        budget.take_page(&page)?;
        self.rows_seen = self.rows_seen.saturating_add(page.scanned);
        budget.say_if_long(&scope.setting.bounds).await;
        let mut stretch = Stretch::default();
        let mut consumed = page.consumed;
        let mut arrived = Vec::with_capacity(page.items.len());
        for item in page.items {
            stretch.row().await;
            if self.is_row_alone {
                let row = row::take_row_alone(place, item, scope)?;
                arrived.push(Arrived {
                    row,
                    position: Key::new(),
                });
                continue;
            }
            if self.is_bare {
                let row = row::take_live_without_keys(place, item, self.layout, scope)?;
                arrived.extend(row.map(|row| Arrived {
                    row,
                    position: Key::new(),
                }));
                continue;
            }
            // Told by its type and by its key, because an attribute of types may be absent and a mixed range holds keys of
            // others.
            let strange =
                !is_row_of(model, entity, &item) || (self.scan || self.is_mixed) && !has_key_of(entity, &item);
            if strange || self.is_excepted(&item) {
                continue;
            }
            let taken = row::take_live_with_key(place, item, self.layout, scope)?;
            arrived.extend(taken.map(|(row, position)| Arrived { row, position }));
        }
        // Before the fetch, which may fail: a bare position is told by whether a page was read.
        self.pages_read = self.pages_read.saturating_add(1);
        if let Some(follow) = follow {
            // Before rows enter the buffer: the merge compares what is in it, and a thin row may lack what it is ordered by.
            arrived = follow
                .rows(store, (model, entity), arrived, &mut consumed, (scope, budget))
                .await?;
        }
        self.buffer.extend(arrived);
        // No last key is the store's only word for the end: a page may be empty, or shorter than its limit, and go on.
        self.ended = page.last_key.is_none();
        // Rows that a filter dropped are not read again: a later page goes on after them.
        if let Some(last) = page.last_key.as_ref().filter(|_| self.buffer.is_empty()) {
            // Only with an empty buffer: with rows in it, going on after the page would leave them out.
            (self.after, self.taken) = (Some(last.clone()), None);
        }
        self.next = page.last_key;
        Ok(consumed)
    }

    /// The one item as a page of its own; nothing where a page before has given it.
    async fn got(&self, store: &Arc<dyn Store>, key: &Item, scope: Scope<'_>) -> Result<PageAnswer, RuntimeError> {
        // Its place is after its only row, wherever that is: a get does not know where it begins.
        if self.request.start.is_some() {
            return Ok(PageAnswer::default());
        }
        let request = GetRequest {
            table: self.request.table.clone(),
            key: key.clone(),
            consistent: self.request.consistent,
            projection: Default::default(),
        };
        let answer = retry::with_retries(&scope.setting.bounds, || store.get(&request)).await?;
        Ok(PageAnswer {
            items: answer.item.into_iter().collect(),
            consumed: answer.consumed,
            ..PageAnswer::default()
        })
    }

    async fn scanned(&self, store: &Arc<dyn Store>, scope: Scope<'_>) -> Result<PageAnswer, RuntimeError> {
        let request = ScanRequest {
            table: self.request.table.clone(),
            filter: self.request.filter.clone(),
            consistent: self.request.consistent,
            limit: self.request.limit,
            start: self.request.start.clone(),
            ..ScanRequest::default()
        };
        Ok(retry::with_retries(&scope.setting.bounds, || store.scan(&request)).await?)
    }

    fn is_excepted(&self, item: &Item) -> bool {
        self.except
            .iter()
            .any(|(attribute, value)| item.get(attribute) == Some(value))
    }
}

/// The primary key, where the range fixes all of it.
pub(crate) fn whole_key(model: &Model, range: &KeyRange) -> Option<Item> {
    let sort = range.sort.iter().map(|(name, sort)| match sort {
        SortRange::Equal(value) => Some((name.clone(), value.clone())),
        _ => None,
    });
    let partition = range.partition.iter().cloned().map(Some);
    let key: Item = partition.chain(sort).collect::<Option<_>>()?;
    // A range that fixes only the partition key has a key of its own too, but no single row.
    (key.len() == model.table.key.len()).then_some(key)
}

/// Whether an item's key is one that the entity's templates make.
pub(crate) fn has_key_of(entity: &Entity, item: &Item) -> bool {
    let fits = |key: &KeyTemplate| {
        // Decoding it is the test: a template may begin like another one and go on differently.
        let value = item.get(&key.attribute);
        value.is_some_and(|value| key.template.decode_key(value).is_ok())
    };
    entity.key.iter().any(|choice| choice.keys.iter().all(fits))
}

/// What fetches whole rows behind those of a thin path: before they are merged, for the thin ones may lack what they are
/// ordered by.
#[derive(Clone, Copy, Debug)]
pub struct WholeRowFetch<'a> {
    /// The entity of the whole rows.
    pub entity: &'a Entity,
    /// Whether they are read strongly.
    pub consistent: bool,
    /// What thin rows decide: those of which it is false are not fetched.
    pub decided: &'a [Expr],
}

impl WholeRowFetch<'_> {
    async fn rows<'a>(
        self,
        store: &Arc<dyn Store>,
        (model, of): (&Model, &Entity),
        thin: Vec<Arrived<'a>>,
        consumed: &mut Consumed,
        (scope, budget): (Scope<'_>, &ReadBudget<'_>),
    ) -> Result<Vec<Arrived<'a>>, RuntimeError> {
        let mut wanted_rows = Vec::with_capacity(thin.len());
        for arrived in thin {
            let scope = scope.with_row(&arrived.row);
            // A condition that thin rows decide is checked before the fetch, each row that it drops being a read that is saved.
            let is_wanted = self.decided.iter().map(|condition| holds_condition(condition, &scope));
            if is_wanted
                .collect::<Result<Vec<bool>, _>>()?
                .into_iter()
                .all(|truth| truth)
            {
                wanted_rows.push(arrived);
            }
        }
        let thin = wanted_rows;
        let mut keys = Vec::with_capacity(thin.len());
        for arrived in &thin {
            // An entry of the same entity carries its primary key, whatever its row became; that of another one has to be
            // computed.
            keys.push(match of.id == self.entity.id {
                true => Some(table_key(model, &item_of(&arrived.position))),
                false => primary_key(self.entity, &arrived.row)?,
            });
        }
        let mut wanted: Vec<Item> = keys.iter().flatten().cloned().collect();
        // Several thin rows may stand for one row, and a batch with the same key twice is refused by DynamoDB.
        wanted.sort();
        wanted.dedup();
        let (items, cost) = batch_get(
            store,
            &scope.setting.bounds,
            &model.table.name,
            &wanted,
            self.consistent,
        )
        .await?;
        budget.take_fetched(items.len(), &cost)?;
        *consumed += &cost;
        let items: BTreeMap<Item, Item> = items.into_iter().map(|item| (table_key(model, &item), item)).collect();
        let mut whole = Vec::with_capacity(thin.len());
        // In the order of the thin rows, and with their positions: the cursor goes on in the index, not in the table.
        for (arrived, key) in thin.into_iter().zip(keys) {
            let item = key
                .and_then(|key| items.get(&key))
                // The index may be behind: the row may be gone by now, or its key taken by a row of another entity.
                .filter(|item| is_row_of(model, self.entity, item));
            let row = item
                .map(|item| row::decode_live(model, self.entity, item, scope))
                .transpose()?;
            whole.extend(row.flatten().map(|row| Arrived {
                row,
                position: arrived.position,
            }));
        }
        Ok(whole)
    }
}

pub(crate) fn table_key(model: &Model, item: &Item) -> Item {
    let names = model.table.key.iter().map(|key| &key.name);
    names
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect()
}

/// Whether an item is a row of the entity: several entities may share an item collection.
pub fn is_row_of(model: &Model, entity: &Entity, item: &Item) -> bool {
    match &model.table.type_attribute {
        Some(name) => match item.get(name) {
            Some(Value::S(word)) => *word == entity.name,
            // An item without a type may be a row that was stored before the table had that attribute; its key decides then.
            _ => true,
        },
        None => true,
    }
}
