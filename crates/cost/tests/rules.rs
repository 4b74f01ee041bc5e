//! The rules of capacity and price, one line each, with figures worked out by hand.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests fail as tests do"
)]

use std::collections::BTreeMap;

use singlet_cost::{GB_BYTES, MONTH_HOURS, MONTH_SECONDS, OVERHEAD_BYTES, region_prices};
use singlet_item::capacity::{
    Consistency, IndexWrite, WriteMode, condition_check_units, get_units, page_units, write_units,
};
use singlet_item::limits;
use singlet_item::{Item, Value, item_size_bytes};

fn item(name: &str, value: Value) -> Item {
    Item::from([(name.to_owned(), value)])
}

fn number(text: &str) -> Value {
    Value::N(text.parse().unwrap())
}

/// Halves of read units.
fn halves(bytes: usize, consistency: Consistency) -> u64 {
    get_units(bytes, consistency).half_count()
}

fn written(before: Option<usize>, after: Option<usize>, mode: WriteMode) -> u64 {
    write_units(before, after, mode).get()
}

#[test]
fn sizes_are_those_of_the_rules() {
    let size = |value: Value| item_size_bytes(&item("name", value)) - 4;
    assert_eq!(item_size_bytes(&item("näme", Value::S("ü".to_owned()))), 5 + 2); // name and value in UTF-8
    assert_eq!(size(Value::S("abc".to_owned())), 3);
    assert_eq!(size(Value::B(vec![0; 7])), 7);
    assert_eq!(size(Value::Bool(true)), 1);
    assert_eq!(size(Value::Null), 1);
    assert_eq!(
        size(Value::L(vec![Value::Bool(true), Value::S("ab".to_owned())])),
        3 + 1 + 1 + 1 + 2
    );
    let map = BTreeMap::from([("k".to_owned(), Value::S("ab".to_owned()))]);
    assert_eq!(size(Value::M(map)), 3 + 1 + 1 + 2);
    assert_eq!(size(number("12345")), 1 + 3); // five digits are three bytes
    assert_eq!(size(number("1.25")), 1 + 1 + 1);
    assert_eq!(size(number("-1.25")), 1 + 1 + 1 + 1);
    assert_eq!(OVERHEAD_BYTES, 100.0);
}

#[test]
fn reads_are_those_of_the_rules() {
    assert_eq!(halves(4096, Consistency::Strong), 2);
    assert_eq!(halves(4097, Consistency::Strong), 4);
    assert_eq!(halves(4096, Consistency::Eventual), 1);
    assert_eq!(halves(4096, Consistency::Transactional), 4);
    assert_eq!(halves(0, Consistency::Eventual), 1); // a missing item costs the minimum
    // A page sums all that is evaluated and rounds once: 20 × 300 = 6,000 bytes are two blocks.
    assert_eq!(page_units([300; 20], Consistency::Eventual).half_count(), 2);
    // Gets round each on its own.
    let gets: u64 = [300; 20]
        .iter()
        .map(|bytes| halves(*bytes, Consistency::Eventual))
        .sum();
    assert_eq!(gets, 20);
}

#[test]
fn writes_are_those_of_the_rules() {
    let single = WriteMode::Single;
    assert_eq!(written(Some(2000), Some(500), single), 2); // the larger of before and after
    assert_eq!(written(Some(500), Some(1025), single), 2);
    assert_eq!(written(Some(3000), None, single), 3); // a delete
    assert_eq!(written(None, Some(1), single), 1);
    assert_eq!(written(Some(2000), Some(500), WriteMode::Transaction), 4);
    assert_eq!(condition_check_units(Some(1500)).get(), 4);
    assert_eq!(condition_check_units(None).get(), 2);
}

#[test]
fn index_writes_are_those_of_the_table() {
    let (small, large) = (1000, 2000);
    let table = [
        (IndexWrite::Absent, 0),
        (IndexWrite::Added { after_bytes: large }, 2),
        (IndexWrite::Removed { before_bytes: large }, 2),
        (IndexWrite::Unchanged, 0),
        (
            IndexWrite::Changed {
                before_bytes: small,
                after_bytes: large,
            },
            2,
        ),
        (
            IndexWrite::Moved {
                before_bytes: small,
                after_bytes: large,
            },
            1 + 2,
        ),
    ];
    for (write, units) in table {
        assert_eq!(write.write_units().get(), units, "{write:?}");
    }
    // Only an item with all attributes of the key is in the index.
    let half = item("GSI1PK", Value::S("a".to_owned()));
    assert_eq!(
        IndexWrite::between_items(None, Some(&half), &["GSI1PK", "GSI1SK"]),
        IndexWrite::Absent
    );
}

#[test]
fn limits_are_those_of_the_rules() {
    assert_eq!(limits::ITEM_SIZE_BYTES_MAX, 400 * 1024);
    assert_eq!(limits::PAGE_SIZE_BYTES_MAX, 1024 * 1024);
    assert_eq!(limits::BATCH_GET_ITEMS_MAX, 100);
    assert_eq!(limits::BATCH_WRITE_ITEMS_MAX, 25);
    assert_eq!(limits::BATCH_BYTES_MAX, 16 * 1024 * 1024);
    assert_eq!(limits::TRANSACTION_ITEMS_MAX, 100);
    assert_eq!(limits::TRANSACTION_BYTES_MAX, 4 * 1024 * 1024);
    assert_eq!(limits::PARTITION_KEY_BYTES_MAX, 2048);
    assert_eq!(limits::SORT_KEY_BYTES_MAX, 1024);
    assert_eq!(limits::GLOBAL_INDEXES_MAX, 20);
    assert_eq!(limits::LOCAL_INDEXES_MAX, 5);
    assert_eq!(limits::LOCAL_INDEX_COLLECTION_BYTES_MAX, 10 * 1024 * 1024 * 1024);
    assert_eq!(limits::PROJECTED_ATTRIBUTES_MAX, 100);
    assert_eq!(limits::NESTING_LEVELS_MAX, 32);
    assert_eq!(limits::EXPRESSION_SIZE_BYTES_MAX, 4 * 1024);
    assert_eq!(limits::EXPRESSION_OPERATORS_MAX, 300);
    assert_eq!(limits::IN_OPERANDS_MAX, 100);
    assert_eq!(limits::PARTITION_READ_UNITS_PER_SECOND_MAX, 3000);
    assert_eq!(limits::PARTITION_WRITE_UNITS_PER_SECOND_MAX, 1000);
    assert_eq!(limits::INDEX_KEY_ATTRIBUTES_MAX, 4);
}

#[test]
fn prices_are_those_of_the_rules() {
    let prices = region_prices("us-east-1").unwrap();
    assert_eq!(prices.on_demand.write_million, 0.625);
    assert_eq!(prices.on_demand.read_million, 0.125);
    assert_eq!(prices.provisioned.write_unit_hour, 0.00065);
    assert_eq!(prices.provisioned.read_unit_hour, 0.00013);
    assert_eq!(prices.storage.gb_month, 0.25);
    assert_eq!(prices.free.storage_gb, 25.0);
    assert_eq!(prices.free.provisioned_write_units, 25);
    assert_eq!(prices.free.provisioned_read_units, 25);
    assert_eq!(prices.storage.recovery_gb_month, 0.20);
    assert_eq!(prices.storage.backup_gb_month, 0.10);
    assert_eq!(prices.storage.restore_gb, 0.15);
    assert_eq!(prices.stream.reads_100_000, 0.02);
    assert_eq!(prices.free.stream_reads, 2_500_000);
    // A month has 30 days of 24 hours, a gigabyte 1024³ bytes.
    assert_eq!(MONTH_HOURS, 720.0);
    assert_eq!(MONTH_SECONDS, 2_592_000.0);
    assert_eq!(GB_BYTES, 1_073_741_824.0);
    // A write unit used all of an hour costs 3,600 × 0.625 / 10⁶ = 0.00225 on demand: 0.00065 is 29 % of it. Reads the same.
    let write = prices.provisioned.write_unit_hour / (3600.0 * prices.on_demand.write_million / 1e6);
    let read = prices.provisioned.read_unit_hour / (3600.0 * prices.on_demand.read_million / 1e6);
    assert!((write - 0.29).abs() < 0.005 && (read - 0.29).abs() < 0.005);
}
