//! What a store answers to a request, in a form that two stores can be compared by.

use std::collections::BTreeMap;

use singlet_item::Item;
use singlet_store::{
    Consumed, PageAnswer, STREAM_PAGE_RECORDS_MAX, ScanRequest, ScanSegment, Store, StoreError, StreamEvent,
    StreamPosition, StreamRequest,
};

use crate::requests::Request;

/// The most pages of one list.
const PAGES_MAX: usize = 500;

/// What came of a request.
#[derive(Clone, Debug)]
pub struct Seen {
    pub answer: Result<Answer, StoreError>,
    pub consumed: Consumed,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The item, or what was asked to be returned of it.
    Item(Option<Item>),
    /// Items in no order.
    Items(Vec<Item>),
    /// Items in the order in which they were asked for.
    InOrder(Vec<Option<Item>>),
    Pages(Vec<Page>),
    /// A scan goes in no order that two stores would share: all its pages together.
    Scanned {
        items: Vec<Item>,
        count: usize,
        scanned: usize,
    },
    Done,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    pub items: Vec<Item>,
    pub count: usize,
    pub scanned: usize,
    pub last_key: Option<Item>,
}

/// One change of an item: what happened, and the item before and after.
pub type Change = (StreamEvent, Option<Item>, Option<Item>);

/// Asks a store.
pub async fn ask(store: &dyn Store, request: &Request) -> Seen {
    let mut consumed = Consumed::default();
    let answer = answered(store, request, &mut consumed).await;
    Seen { answer, consumed }
}

async fn answered(store: &dyn Store, request: &Request, consumed: &mut Consumed) -> Result<Answer, StoreError> {
    Ok(match request {
        Request::Get(request) => {
            let answer = store.get(request).await?;
            *consumed = answer.consumed;
            Answer::Item(answer.item)
        }
        Request::BatchGet(request) => {
            let answer = store.batch_get(request).await?;
            assert!(answer.unprocessed.is_empty(), "{answer:?}");
            *consumed = answer.consumed;
            Answer::Items(sorted(answer.items.into_values().flatten().collect()))
        }
        Request::TransactGet(request) => {
            let answer = store.transact_get(request).await?;
            *consumed = answer.consumed;
            Answer::InOrder(answer.items)
        }
        Request::Query(request) => {
            let (mut request, mut pages) = (request.clone(), Vec::new());
            loop {
                let page = store.query(&request).await?;
                request.start = page.last_key.clone();
                let page = taken(page, consumed);
                match pages.last_mut() {
                    // Whether a page that holds all says that there may be more is each store's own.
                    Some(Page { last_key, .. }) if page.scanned == 0 => *last_key = None,
                    _ => pages.push(page),
                }
                if request.start.is_none() {
                    break;
                }
                assert!(pages.len() < PAGES_MAX, "{request:?}");
            }
            Answer::Pages(pages)
        }
        Request::Scan(request) => scanned(store, request, consumed).await?,
        Request::Put(request) => written(store.put(request).await?, consumed),
        Request::Update(request) => written(store.update(request).await?, consumed),
        Request::Delete(request) => written(store.delete(request).await?, consumed),
        Request::BatchWrite(request) => {
            let answer = store.batch_write(request).await?;
            assert!(answer.unprocessed.is_empty(), "{answer:?}");
            *consumed = answer.consumed;
            Answer::Done
        }
        Request::TransactWrite(request) => written(store.transact_write(request).await?, consumed),
    })
}

fn written(answer: singlet_store::WriteAnswer, consumed: &mut Consumed) -> Answer {
    *consumed = answer.consumed;
    Answer::Item(answer.attributes)
}

/// What a page without items costs is not compared: DynamoDB Local counts nothing for it.
fn taken(page: PageAnswer, consumed: &mut Consumed) -> Page {
    if page.scanned > 0 {
        *consumed += &page.consumed;
    }
    Page {
        items: page.items,
        count: page.count,
        scanned: page.scanned,
        last_key: page.last_key,
    }
}

async fn scanned(store: &dyn Store, request: &ScanRequest, consumed: &mut Consumed) -> Result<Answer, StoreError> {
    let (mut items, mut count, mut scanned) = (Vec::new(), 0, 0);
    let segments = request.segment.map_or(1, |segment| segment.total);
    for index in 0..segments {
        let mut request = request.clone();
        request.segment = request.segment.map(|segment| ScanSegment { index, ..segment });
        for pages in 0.. {
            let page = store.scan(&request).await?;
            request.start = page.last_key.clone();
            let page = taken(page, consumed);
            items.extend(page.items);
            count += page.count;
            scanned += page.scanned;
            if request.start.is_none() {
                break;
            }
            assert!(pages < PAGES_MAX, "{request:?}");
        }
    }
    Ok(Answer::Scanned {
        items: sorted(items),
        count,
        scanned,
    })
}

fn sorted(mut items: Vec<Item>) -> Vec<Item> {
    items.sort();
    items
}

/// All changes of a table, those of one item in their order, as a stream tells them.
pub async fn changes(store: &dyn Store, table: &str, expected: usize) -> Result<Vec<(Item, Vec<Change>)>, String> {
    /// A stream of a foreign store may say nothing for a while though there is more.
    const EMPTY_PAGES_MAX: usize = 20;
    let mut told = BTreeMap::<Item, Vec<Change>>::new();
    let (mut position, mut empty, mut found) = (StreamPosition::Start, 0, 0);
    while empty < EMPTY_PAGES_MAX && found < expected {
        let request = StreamRequest {
            table: table.to_owned(),
            position,
            limit: STREAM_PAGE_RECORDS_MAX,
        };
        let page = store.read_stream(&request).await;
        let page = page.map_err(|error| format!("the stream cannot be read after {found} of {expected}: {error:?}"))?;
        empty = if page.records.is_empty() { empty + 1 } else { 0 };
        found += page.records.len();
        for record in page.records {
            let change = (record.event, record.old, record.new);
            told.entry(record.key).or_default().push(change);
        }
        position = page.next;
    }
    Ok(told.into_iter().collect())
}
