//! One page of a query or a scan.
//!
//! A page is read in steps: what is short is read where it is asked, and what turns out to be long goes on elsewhere, from the same
//! snapshot, at the key where the step ended.

use std::sync::Arc;

use singlet_item::capacity::{Consistency, get_units};
use singlet_item::limits::PAGE_SIZE_BYTES_MAX;
use singlet_item::{Item, ReadUnits};
use singlet_keyspace::{Bytes, Direction as Order};
use singlet_store::{
    Consumed, Direction, PageAnswer, QueryRequest, Result, ScanRequest, Select, StoreError, TableConsumed, Units,
    WantedItem,
};

use crate::bounds;
use crate::catalogue::{Catalogue, Index, Table};
use crate::codec::{RawItem, WantedTest, damaged_data};
use crate::expression;
use crate::layout::{self, Span};
use crate::select::{Filter, Projection, returned_of_wanted, with_first};
use crate::view::{View, from_space};
use crate::words;

/// The most parts of a parallel scan.
const SEGMENTS_MAX: u32 = 1_000_000;

/// A page that is being read.
#[derive(Debug)]
pub(crate) struct Page {
    table: Arc<Table>,
    /// Which of the table's indexes is read.
    index: Option<usize>,
    /// What is left to read.
    span: Span,
    order: Order,
    /// How many rows may still be looked at.
    left: Option<u32>,
    filter: Option<Filter>,
    /// What the items must be that are returned.
    wanted: Option<Arc<WantedRows>>,
    returns: Returns,
    consistency: Consistency,
    items: Vec<Item>,
    count: usize,
    scanned: usize,
    evaluated_bytes: usize,
    /// What was read of the table for a local index that lacks it.
    fetched: ReadUnits,
    /// The row at which the page ends, unless all was read.
    last: Option<Bytes>,
}

/// A [`WantedItem`] for as long as a page is read.
#[derive(Debug)]
struct WantedRows {
    kind: Option<(String, String)>,
    end: Option<(String, i64)>,
}

impl WantedRows {
    fn of(wanted: WantedItem<'_>) -> Option<Arc<Self>> {
        let kind = wanted.kind.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
        let end = wanted.end.map(|(name, now)| (name.to_owned(), now));
        (kind.is_some() || end.is_some()).then(|| Arc::new(WantedRows { kind, end }))
    }

    fn test(&self) -> Option<WantedTest<'_>> {
        let kind = self.kind.as_ref();
        let end = self.end.as_ref();
        WantedTest::of(WantedItem {
            kind: kind.map(|(name, kind)| (name.as_str(), kind.as_str())),
            end: end.map(|(name, now)| (name.as_str(), *now)),
        })
    }
}

/// What a page returns of each row.
#[derive(Debug)]
enum Returns {
    Whole,
    Parts(Projection),
    /// Parts that a local index lacks: they are fetched from the table.
    Fetched(Projection),
    Count,
}

/// How much of a page is read at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) rows_max: usize,
    pub(crate) bytes_max: usize,
}

impl Step {
    /// What delays other tasks no more than their own work does: some tens of microseconds.
    const SHORT: Self = Self {
        rows_max: 128,
        bytes_max: 64 << 10,
    };
    /// The same where rows are only counted, of which nothing is read but their size.
    const SHORT_COUNT: Self = Self {
        rows_max: 1024,
        bytes_max: usize::MAX,
    };
    /// A page has its own end.
    pub(crate) const WHOLE: Self = Self {
        rows_max: usize::MAX,
        bytes_max: usize::MAX,
    };
}

impl Page {
    pub(crate) fn query_page(catalogue: &Catalogue, view: &impl View, request: &QueryRequest) -> Result<Self> {
        expression::check_range(&request.range)?;
        let mut page = Self::new(
            catalogue.table(view, &request.table)?,
            request.index.as_deref(),
            request.consistent,
            &request.select,
            request.filter.as_ref(),
            request.limit,
        )?;
        let (table, index) = (&*page.table, page.index());
        let schema = bounds::place_schema(table, index);
        check_filtered(index, page.filter.as_ref())?;
        if let Some(filter) = &page.filter
            && let Some(key) = schema
                .attributes()
                .find(|key| filter.names().any(|name| name == key.name))
        {
            return Err(words::invalid_request(format!(
                "Filter Expression can only contain non-primary key attributes: Primary key attribute: {}",
                key.name
            )));
        }
        let span = bounds::query_span(table, index, &request.range)?;
        let order = match request.direction {
            Direction::Ascending => Order::Forward,
            Direction::Descending => Order::Backward,
        };
        let span = match &request.start {
            None => span,
            Some(start) => {
                let position = bounds::start_position(table, index, start)?;
                bounds::check_start(table, index, &request.range, &span, &position)?;
                // Strictly after the start in the direction that is read: that row was given.
                rest(&span, order, &position)
            }
        };
        page.order = order;
        page.span = span;
        Ok(page)
    }

    /// A query of which only items are returned that are wanted.
    pub(crate) fn query_wanted(
        catalogue: &Catalogue,
        view: &impl View,
        request: &QueryRequest,
        wanted: WantedItem<'_>,
    ) -> Result<Self> {
        Ok(Self {
            wanted: WantedRows::of(wanted),
            ..Self::query_page(catalogue, view, request)?
        })
    }

    pub(crate) fn scan_page(catalogue: &Catalogue, view: &impl View, request: &ScanRequest) -> Result<Self> {
        let mut page = Self::new(
            catalogue.table(view, &request.table)?,
            request.index.as_deref(),
            request.consistent,
            &request.select,
            request.filter.as_ref(),
            request.limit,
        )?;
        let (table, index) = (&*page.table, page.index());
        let prefix = bounds::place_prefix(table, index);
        let span = match request.segment {
            None => Span::with_prefix(prefix),
            Some(segment) if segment.total == 0 || segment.total > SEGMENTS_MAX => {
                return Err(words::invalid_request(format!(
                    "1 validation error detected: Value '{}' at 'totalSegments' failed to satisfy constraint: Member must have \
                     value less than or equal to {SEGMENTS_MAX}",
                    segment.total
                )));
            }
            Some(segment) if segment.index >= segment.total => {
                return Err(words::invalid_request(
                    "The Segment parameter is zero-based and must be less than parameter TotalSegments",
                ));
            }
            Some(segment) => layout::segment_span(&prefix, segment.index, segment.total),
        };
        let span = match &request.start {
            None => span,
            Some(start) => {
                let position = bounds::start_position(table, index, start)?;
                if !span.contains(&position) {
                    return Err(words::invalid_request("The provided starting key is invalid"));
                }
                span.after_key(&position)
            }
        };
        page.span = span;
        Ok(page)
    }

    fn new(
        table: Arc<Table>,
        index: Option<&str>,
        consistent: bool,
        select: &Select,
        filter: Option<&singlet_store::Condition>,
        limit: Option<u32>,
    ) -> Result<Self> {
        let index = match index {
            None => None,
            Some(name) => table
                .indexes
                .iter()
                .position(|index| index.spec.name == name)
                .map(Some)
                .ok_or_else(|| words::no_index(name))?,
        };
        let read = index.and_then(|index| table.indexes.get(index));
        if let Some(index) = read {
            check_index(index, consistent)?;
        }
        if limit == Some(0) {
            return Err(words::invalid_request(
                "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must have value greater \
                 than or equal to 1",
            ));
        }
        if let Some(filter) = filter {
            expression::check_condition("FilterExpression", filter)?;
        }
        let filter = filter.map(Filter::new);
        let returns = returns(read, select)?;
        Ok(Self {
            index,
            span: Span::with_prefix(Vec::new()),
            order: Order::Forward,
            left: limit,
            filter,
            wanted: None,
            returns,
            consistency: match consistent {
                true => Consistency::Strong,
                false => Consistency::Eventual,
            },
            items: Vec::new(),
            count: 0,
            scanned: 0,
            evaluated_bytes: 0,
            fetched: ReadUnits::ZERO,
            last: None,
            table,
        })
    }

    fn index(&self) -> Option<&Index> {
        self.index.and_then(|index| self.table.indexes.get(index))
    }

    /// How much of it is read where it is asked for.
    pub(crate) fn short_step(&self) -> Step {
        match (&self.returns, &self.filter) {
            (Returns::Count, None) => Step::SHORT_COUNT,
            _ => Step::SHORT,
        }
    }

    /// Reads on. Whether the page is at its end.
    pub(crate) fn advance_page(&mut self, view: &impl View, step: Step) -> Result<bool> {
        let (mut rows, mut bytes) = (0, 0);
        let span = self.span.clone();
        let wanted = self.wanted.clone();
        let test = wanted.as_ref().and_then(|wanted| wanted.test());
        for row in view.rows(span.bounds(), self.order) {
            let (key, value) = row.map_err(from_space)?;
            // Looked at where it lies: what the filter drops is never decoded.
            let item = RawItem::new(&value)?;
            rows += 1;
            bytes += item.size_bytes();
            self.take(view, item, test)?;
            if let Some(left) = &mut self.left {
                // The limit is on what was looked at, as in DynamoDB, and not on what is returned.
                *left -= 1;
            }
            // The row that crosses the bound is still on the page.
            if self.left == Some(0) || self.evaluated_bytes >= PAGE_SIZE_BYTES_MAX {
                // Where the page ends, though it was the last row of the range: DynamoDB does not look further either.
                self.last = Some(value);
                return Ok(true);
            }
            if rows >= step.rows_max || bytes >= step.bytes_max {
                // From the same snapshot: the two steps of a page show one state.
                self.span = rest(&span, self.order, &key);
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take(&mut self, view: &impl View, item: RawItem<'_>, test: Option<WantedTest<'_>>) -> Result<()> {
        self.scanned += 1;
        // Before the filter: what was read is charged, whether it is returned or not.
        self.evaluated_bytes += item.size_bytes();
        if let Some(filter) = &self.filter
            && !filter.holds_of(item)?
        {
            return Ok(());
        }
        self.count += 1;
        match &self.returns {
            Returns::Count => {}
            Returns::Whole => self.items.extend(returned_of_wanted(None, item, test)?),
            Returns::Parts(projection) => self.items.extend(returned_of_wanted(Some(projection), item, test)?),
            Returns::Fetched(projection) => {
                let key = self.table.item_key(&decode_keys(&self.table, None, item)?);
                // Entries and items change in one commit, so that an entry without its item cannot be.
                let whole = view.value(&key)?.ok_or_else(|| damaged_data("an index"))?;
                let whole = RawItem::new(&whole)?;
                self.fetched += get_units(whole.size_bytes(), self.consistency);
                self.items.extend(returned_of_wanted(Some(projection), whole, test)?);
            }
        }
        Ok(())
    }

    pub(crate) fn page_answer(self) -> Result<PageAnswer> {
        let last_key = match &self.last {
            None => None,
            Some(value) => Some(decode_keys(&self.table, self.index(), RawItem::new(value)?)?),
        };
        let units = Units::read(get_units(self.evaluated_bytes, self.consistency));
        let mut consumed = TableConsumed::default();
        match self.index() {
            None => consumed.table = units,
            Some(index) => {
                consumed.table = Units::read(self.fetched);
                consumed.indexes.insert(index.spec.name.clone(), units);
            }
        }
        Ok(PageAnswer {
            count: self.count,
            scanned: self.scanned,
            last_key,
            consumed: Consumed {
                tables: [(self.table.spec.name.clone(), consumed)].into(),
            },
            items: self.items,
        })
    }
}

/// What is left of a span after a key.
fn rest(span: &Span, order: Order, key: &[u8]) -> Span {
    match order {
        Order::Forward => span.after_key(key),
        Order::Backward => span.before_key(key),
    }
}

fn check_index(index: &Index, consistent: bool) -> Result<()> {
    if consistent && !index.is_local() {
        return Err(words::invalid_request(
            "Consistent reads are not supported on global secondary indexes",
        ));
    }
    if index.is_building {
        return Err(words::invalid_request(format!(
            "Cannot read from backfilling global secondary index: {}",
            index.spec.name
        )));
    }
    Ok(())
}

/// Refuses a filter of what the entries of an index do not have, as DynamoDB does of a query, though not of a scan.
fn check_filtered(index: Option<&Index>, filter: Option<&Filter>) -> Result<()> {
    let (Some(index), Some(filter)) = (index, filter) else {
        return Ok(());
    };
    let missing: Vec<&str> = filter.names().filter(|name| !index.projects_attribute(name)).collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(words::invalid_values(format!(
            "Secondary index {} does not project one or more filter attributes: [{}]",
            index.spec.name,
            missing.join(", ")
        ))),
    }
}

fn returns(index: Option<&Index>, select: &Select) -> Result<Returns> {
    let paths = match select {
        Select::All => return Ok(Returns::Whole),
        Select::Count => return Ok(Returns::Count),
        Select::Paths(paths) => paths,
    };
    expression::check_projection(paths)?;
    let projection = Projection::new(paths).ok_or_else(|| StoreError::bad_request("no path is selected"))?;
    let Some(index) = index else {
        return Ok(Returns::Parts(projection));
    };
    let missing: Vec<&str> = projection
        .names()
        .filter(|name| !index.projects_attribute(name))
        .collect();
    if missing.is_empty() {
        return Ok(Returns::Parts(projection));
    }
    if index.is_local() {
        return Ok(Returns::Fetched(projection));
    }
    Err(words::invalid_values(format!(
        "Global secondary index {} does not project [{}]",
        index.spec.name,
        missing.join(", ")
    )))
}

/// The key attributes of a row, of the table and of the index it was read from.
fn decode_keys(table: &Table, index: Option<&Index>, item: RawItem<'_>) -> Result<Item> {
    let keys = table.spec.key.attributes();
    let keys = keys.chain(index.into_iter().flat_map(|index| index.spec.key.attributes()));
    let mut names: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    item.decode_only(with_first(names.into_iter()))
}
