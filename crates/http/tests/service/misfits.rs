//! What lies in a table otherwise than the model has it is counted.

use singlet_item::{Item, Value};
use singlet_store::PutRequest;

use crate::client::send;
use crate::running::start_text;

const MODEL: &str = r#"
singlet: 1
name: shelf
table: {name: shelf, key: {partition: PK, sort: SK}, type: kind}
entities:
  Book:
    attributes:
      shelf: string 1..9
      number: {type: int 0..99, stored: none}
    key: {PK: "SHELF#{shelf}", SK: "NR#{number}"}
reads:
  books:
    find: Book
    where: shelf == args.shelf
    args: {shelf: string}
    order: number
    allow: true
    http: GET /books?shelf
"#;

#[test]
fn a_row_that_cannot_be_read_is_counted() {
    let running = start_text(MODEL);
    let books = || send(running.address, "GET", "/shelf/books?shelf=a", &[], b"").status;
    let counted = || {
        let figures = send(running.address, "GET", "/metrics", &[], b"").text();
        figures.contains("singlet_misfits_total{system=\"shelf\",operation=\"books\"} 1\n")
    };
    let store = running.service.systems()[0].engine.store().clone();
    let put = |number: &str| {
        let pairs = [("PK", "SHELF#a"), ("SK", number), ("kind", "Book"), ("shelf", "a")];
        let item: Item = pairs.map(|(name, value)| (name.to_owned(), Value::from(value))).into();
        let request = PutRequest {
            table: "shelf".to_owned(),
            item,
            ..PutRequest::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.put(&request)).unwrap();
    };
    put("NR#07");
    assert_eq!(books(), 200);
    assert!(!counted());
    put("NR#seven");
    assert_eq!(books(), 500);
    assert!(counted());
}
