//! How many requests a read makes, and of which kind.

use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, Item, RuntimeError, Value};
use singlet_store::{Path, Select};

use crate::recorder::{Asked, Recorded};
use crate::support::{System, booking, ecobid, text, values};

const LIBRARY: &str = r##"
singlet: 1
name: library
table:
  name: library
  key: {partition: PK, sort: SK}
  type: kind
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
types:
  Shelf: {enum: [new, old]}
entities:
  Author:
    attributes:
      authorId: string 1..20
      name: string 1..40
    key: {PK: "AUTHOR#{authorId}", SK: "AUTHOR"}
  Book:
    attributes:
      bookId: int 1..999
      authorId: Author.authorId
      shelf: Shelf
      lent: int 0.. = 0
      blurb: string? ..400
    key: {PK: "BOOK#{bookId}", SK: "BOOK"}
    index:
      GSI1: {GSI1PK: "SHELF#{shelf}", GSI1SK: "{bookId}"}
  Loan:
    attributes:
      bookId: Book.bookId
      loanId: int 1..999
      open: bool
    key: {PK: "BOOK#{bookId}", SK: "LOAN#{loanId}"}
reads:
  author:
    get: Author
    args: {authorId: Author.authorId}
    where: authorId == args.authorId
    allow: true
  books:
    find: Book
    args: {shelf: Shelf}
    where: shelf == args.shelf
    order: bookId
    with:
      author: {get: "Author?", where: authorId == row.authorId}
      open: {count: Loan, where: bookId == row.bookId && open}
    allow: true
  byAuthor:
    find: Book
    args: {shelf: Shelf, authorId: Author.authorId}
    where: shelf == args.shelf && authorId == args.authorId
    order: bookId
    requests: ..2
    allow: true
  inShelf:
    count: Book
    args: {shelf: Shelf}
    where: shelf == args.shelf && lent > 0
    allow: true
  chosen:
    find: Book
    args: {ids: list(Book.bookId) 1..200}
    where: bookId in args.ids
    order: -bookId
    allow: true
  lentOf:
    args: {ids: list(Book.bookId) 1..200}
    each: {id: args.ids, at_most: 200}
    find: Book
    where: bookId == id && lent > 0
    return: {id: id, lent: "rows.map(book, book.lent)"}
    allow: true
  shelved:
    find: Book
    args: {shelf: Shelf}
    where: shelf == args.shelf && authorId != "a9"
    order: bookId
    return: {book: bookId, is_lent: lent > 0}
    allow: true
  shelfOf:
    get: Book
    args: {bookId: Book.bookId}
    where: bookId == args.bookId
    return: shelf
    allow: true
  loans:
    get: Book
    args: {bookId: Book.bookId}
    where: bookId == args.bookId
    with:
      loans: {find: Loan, where: bookId == row.bookId, order: -loanId, limit: 3}
      ever: {count: Loan, where: bookId == row.bookId}
    allow: true
"##;

/// 250 new books, by 120 authors of whom the last has no row; each tenth book was lent, to five people.
async fn library() -> System {
    let mut sample = Vec::new();
    for author in 0..119 {
        sample.push(json!({"Author": {"authorId": format!("a{author}"), "name": "Ada"}}));
    }
    for book in 1..=250 {
        let loans = if book % 10 == 0 { 5 } else { 0 };
        let author = format!("a{}", book % 120);
        sample.push(json!({"Book": {"bookId": book, "authorId": author, "shelf": "new", "lent": loans}}));
        for loan in 1..=loans {
            sample.push(json!({"Loan": {"bookId": book, "loanId": loan, "open": loan == 1}}));
        }
    }
    let lines: Vec<String> = sample.iter().map(Json::to_string).collect();
    System::of(LIBRARY, &lines.join("\n")).await
}

#[tokio::test]
async fn what_comes_with_the_rows_of_a_list_is_got_in_batches() {
    let library = library().await;
    let anybody = Caller::anonymous();
    let (rows, _) = library.all("books", &[("shelf", "new")], &anybody, 100).await;
    assert_eq!(rows.len(), 250);
    for (at, row) in rows.iter().enumerate() {
        let book = at + 1;
        assert_eq!(row["bookId"], json!(book));
        match book % 120 {
            119 => assert_eq!(row.get("author"), None, "{row}"),
            author => assert_eq!(row["author"]["authorId"], json!(format!("a{author}"))),
        }
        assert_eq!(row["open"], json!(u32::from(book % 10 == 0)), "{row}");
    }
}

#[tokio::test]
async fn a_key_that_several_rows_have_is_asked_for_once() {
    let library = library().await;
    for book in 301..=330 {
        let row = json!({"bookId": book, "authorId": "a1", "shelf": "old"});
        library.put("Book", &row).await;
    }
    let (_, calls) = library
        .requests("books", &[("shelf", "old")], &Caller::anonymous())
        .await;
    let keys: Vec<usize> = calls
        .iter()
        .filter_map(|call| match &call.asked {
            Asked::BatchGet(batch) => Some(batch.tables[0].keys.len()),
            _ => None,
        })
        .collect();
    assert_eq!(keys, [1]);
}

#[tokio::test]
async fn a_get_asks_for_the_row_and_for_what_says_whose_it_is() {
    let library = library().await;
    let (answer, calls) = library
        .requests("author", &[("authorId", "a7")], &Caller::anonymous())
        .await;
    assert_eq!(
        values::to_json(&answer.value.unwrap()),
        json!({"authorId": "a7", "name": "Ada"})
    );
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    let Asked::Get(get) = &call.asked else {
        panic!("{call:?}")
    };
    let names: Vec<&str> = get.projection.iter().map(Path::name).collect();
    assert_eq!(names, ["authorId", "kind", "name"]);
}

#[tokio::test]
async fn a_get_sees_no_null_and_no_row_of_another_entity() {
    let library = library().await;
    let item = |id: &str, kind: &str| {
        let texts = [("PK", format!("AUTHOR#{id}")), ("SK", "AUTHOR".to_owned())];
        let texts = texts
            .into_iter()
            .chain([("authorId", id.to_owned()), ("kind", kind.to_owned())]);
        let mut item: Item = texts.map(|(name, text)| (name.to_owned(), Value::S(text))).collect();
        item.insert("name".to_owned(), Value::Null);
        item
    };
    library
        .put_items(vec![item("ours", "Author"), item("theirs", "Writer")])
        .await;
    let anybody = Caller::anonymous();
    let ours = library.one("author", &[("authorId", "ours")], &anybody).await;
    assert_eq!(ours, json!({"authorId": "ours"}));
    let theirs = library.refused("author", &[("authorId", "theirs")], &anybody).await;
    assert!(matches!(theirs, RuntimeError::NotFound), "{theirs}");
}

/// An expression of DynamoDB has 4 KB, in which 700 names have no place.
#[tokio::test]
async fn what_has_more_attributes_than_can_be_named_is_read_whole() {
    let attributes: Vec<String> = (0..700).map(|at| format!("      a{at}: string?\n")).collect();
    let model = format!(
        "singlet: 1\nname: wide\ntable:\n  name: wide\n  key: {{partition: PK, sort: SK}}\n  type: kind\nentities:\n  Wide:\n    \
         attributes:\n      id: string 1..20\n{}    key: {{PK: \"WIDE\", SK: \"{{id}}\"}}\nreads:\n  one: {{get: Wide, args: {{id: \
         Wide.id}}, where: id == args.id, allow: true}}\n  all: {{find: Wide, order: id, allow: true}}\n",
        attributes.concat()
    );
    let wide = System::of(&model, r#"{"Wide": {"id": "w", "a1": "x", "a699": "y"}}"#).await;
    let row = json!({"id": "w", "a1": "x", "a699": "y"});
    let anybody = Caller::anonymous();
    assert_eq!(wide.one("one", &[("id", "w")], &anybody).await, row);
    let (rows, _) = wide.all("all", &[], &anybody, 10).await;
    assert_eq!(rows, [row]);
}

#[tokio::test]
async fn a_count_brings_no_rows() {
    let library = library().await;
    let (answer, calls) = library
        .requests("inShelf", &[("shelf", "new")], &Caller::anonymous())
        .await;
    assert_eq!(values::to_json(&answer.value.unwrap()), json!(25));
    let counts = |asked: &Asked| matches!(asked, Asked::Query(query) if query.select == Select::Count);
    assert!(calls.len() == 1 && counts(&calls[0].asked), "{calls:?}");
}

#[tokio::test]
async fn a_stop_gives_a_short_page_and_goes_on() {
    let library = library().await;
    let mut rows = Vec::new();
    let mut cursor = None;
    let mut pages = 0;
    let args = [("shelf", "new"), ("authorId", "a7")];
    loop {
        let answer = library.page("byAuthor", &args, &Caller::anonymous(), 5, cursor).await;
        let answer = answer.unwrap();
        rows.extend(crate::support::listed(&answer));
        pages += 1;
        cursor = answer.next;
        if cursor.is_none() {
            break;
        }
    }
    let books: Vec<&Json> = rows.iter().map(|row| &row["bookId"]).collect();
    assert_eq!(books, [7, 127, 247]);
    assert!(pages > 1, "250 rows are more than two requests read");
}

#[tokio::test]
async fn neighbours_come_by_one_query() {
    let ecobid = ecobid().await;
    let bid = &ecobid.rows("Bid", |_| true)[0];
    let kasia = Caller::with_id("kasia");
    let auction = [("auctionId", text(bid, "auctionId"))];
    assert_eq!(ecobid.requests("auction", &auction, &kasia).await.1.len(), 1);
    let item = &ecobid.rows("Auction", |_| true)[0];
    let item = [("itemId", text(item, "itemId"))];
    assert_eq!(ecobid.requests("itemPage", &item, &kasia).await.1.len(), 1);
    let booking = booking().await;
    let giulia = Caller::with_id("giulia");
    assert_eq!(booking.requests("myBookings", &[], &giulia).await.1.len(), 1);
}

#[tokio::test]
async fn what_the_page_of_neighbours_does_not_reach_is_asked_for_apart() {
    let library = library().await;
    for loan in 6..=60 {
        library
            .put("Loan", &json!({"bookId": 10, "loanId": loan, "open": false}))
            .await;
    }
    // The loans come before the book, backwards: four rows do not reach it.
    let (answer, calls) = library
        .requests("loans", &[("bookId", "10")], &Caller::anonymous())
        .await;
    let answer = values::to_json(&answer.value.unwrap());
    let loans: Vec<&Json> = answer["loans"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loan| &loan["loanId"])
        .collect();
    assert_eq!(loans, [60, 59, 58]);
    assert_eq!((&answer["bookId"], &answer["ever"]), (&json!(10), &json!(60)));
    let kinds: Vec<bool> = calls.iter().map(|call| matches!(call.asked, Asked::Get(_))).collect();
    assert_eq!(kinds, [false, true, false], "a query, the book, the count: {calls:?}");
    // Few loans: the book is reached.
    let (_, calls) = library
        .requests("loans", &[("bookId", "11")], &Caller::anonymous())
        .await;
    assert_eq!(calls.len(), 2, "{calls:?}");
}

fn batches(calls: &[Recorded]) -> Vec<usize> {
    let keys = calls.iter().map(|call| match &call.asked {
        Asked::BatchGet(batch) => batch.tables[0].keys.len(),
        other => panic!("{other:?}"),
    });
    keys.collect()
}

#[tokio::test]
async fn rows_that_are_named_by_their_keys_come_in_batches() {
    let library = library().await;
    let anybody = Caller::anonymous();
    let ids = |ids: &[u32]| json!(ids).to_string();
    // One is a get; what is named twice, or is not there, is asked for once.
    for (asked, expected, sent) in [
        (vec![7], vec![7], vec![]),
        (vec![7, 8], vec![8, 7], vec![2]),
        (vec![3, 250, 3, 999, 40], vec![250, 40, 3], vec![4]),
        ((1..=101).collect(), (1..=101).rev().collect(), vec![100, 1]),
    ] {
        let (answer, calls) = library.requests("chosen", &[("ids", &ids(&asked))], &anybody).await;
        let rows = values::to_json(&answer.value.unwrap());
        let found: Vec<u32> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["bookId"].as_u64().unwrap() as u32)
            .collect();
        let shown: Vec<u32> = expected.into_iter().take(20).collect();
        assert_eq!(found, shown, "{asked:?}");
        match sent.is_empty() {
            true => assert!(
                matches!(calls.as_slice(), [call] if matches!(call.asked, Asked::Get(_))),
                "{calls:?}"
            ),
            false => assert_eq!(batches(&calls), sent),
        }
    }
    let (answer, calls) = library
        .requests("lentOf", &[("ids", "[10, 11, 10, 999]")], &anybody)
        .await;
    assert_eq!(batches(&calls), [3]);
    assert_eq!(
        values::to_json(&answer.value.unwrap()),
        json!([{"id": 10, "lent": [5]}, {"id": 11, "lent": []}, {"id": 10, "lent": [5]}, {"id": 999, "lent": []}])
    );
}

#[tokio::test]
async fn no_more_is_asked_for_than_the_answer_is_made_of() {
    let library = library().await;
    let anybody = Caller::anonymous();
    let (answer, calls) = library.requests("shelved", &[("shelf", "new")], &anybody).await;
    let rows = values::to_json(&answer.value.unwrap());
    assert_eq!(rows[9], json!({"book": 11, "is_lent": false}), "{rows}");
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    let Asked::Query(query) = &call.asked else {
        panic!("{call:?}")
    };
    let Select::Paths(paths) = &query.select else {
        panic!("{query:?}")
    };
    let names: Vec<&str> = paths.iter().map(Path::name).collect();
    assert_eq!(
        names,
        [
            "GSI1PK", "GSI1SK", "PK", "SK", "authorId", "bookId", "kind", "lent", "shelf"
        ]
    );
    let (answer, calls) = library.requests("shelfOf", &[("bookId", "3")], &anybody).await;
    assert_eq!(values::to_json(&answer.value.unwrap()), json!("new"));
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    let Asked::Get(get) = &call.asked else {
        panic!("{call:?}")
    };
    let names: Vec<&str> = get.projection.iter().map(Path::name).collect();
    assert_eq!(names, ["bookId", "kind", "shelf"]);
}
