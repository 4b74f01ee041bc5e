//! One suite that every store passes.
//!
//! A *case* is an async function over a [`Context`], which makes it tables of its own and knows the store's
//! [`Difference`]s from DynamoDB. A case states what DynamoDB does; where an engine is known to do otherwise, the case
//! states that too, by the name of the difference. So a difference that disappears is noticed as well.
//!
//! Cases assert by panicking; [`run_suite`] collects what failed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this module is a test, shared by the tests of several crates"
)]

mod batches;
mod capacity;
mod capacity_writes;
mod conditions;
mod context;
mod difference;
mod indexes;
mod items;
mod limits;
mod queries;
mod scans;
mod streams;
mod tables;
mod transactions;
mod updates;

pub use context::Context;
pub use difference::Difference;

use crate::Store;
use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

/// A case in progress.
pub type Run<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// One case of the suite.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name, `subject::what_holds`.
    pub name: &'static str,
    /// What it does; it panics if the store does otherwise.
    pub run: for<'a> fn(&'a Context) -> Run<'a>,
}

/// What came of a suite.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// How many cases passed.
    pub passed: usize,
    /// The cases that failed.
    pub failed: Vec<Failure>,
}

/// A case that failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The name of the case.
    pub name: &'static str,
    /// What it panicked with.
    pub message: String,
}

impl Report {
    /// What failed, one case after another, for people.
    pub fn failures_text(&self) -> String {
        let line = |failure: &Failure| format!("{}: {}\n", failure.name, failure.message);
        self.failed.iter().map(line).collect()
    }
}

/// Runs every case, each on a store that `open` gives, and deletes the tables it made.
pub async fn run_suite(
    mut open: impl AsyncFnMut() -> Arc<dyn Store>,
    differences: impl IntoIterator<Item = Difference>,
) -> Report {
    let differences: Vec<Difference> = differences.into_iter().collect();
    let mut report = Report::default();
    for case in suite() {
        let context = Context::new(open().await, differences.clone());
        match caught((case.run)(&context)).await {
            Ok(()) => report.passed += 1,
            Err(panic) => report.failed.push(Failure {
                name: case.name,
                message: message(panic.as_ref()),
            }),
        }
        context.clean_up().await;
    }
    report
}

/// The case, with a panic as an error: one failure must not hide the others.
async fn caught(mut case: Run<'_>) -> Result<(), Box<dyn Any + Send>> {
    std::future::poll_fn(
        move |task| match catch_unwind(AssertUnwindSafe(|| case.as_mut().poll(task))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
            Err(panic) => Poll::Ready(Err(panic)),
        },
    )
    .await
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("panicked")
        .to_owned()
}

macro_rules! cases {
    ($($subject:ident::$case:ident),* $(,)?) => {
        vec![$(Case {
            name: concat!(stringify!($subject), "::", stringify!($case)),
            run: |context| Box::pin($subject::$case(context)),
        }),*]
    };
}

/// Every case.
pub fn suite() -> Vec<Case> {
    cases![
        tables::a_table_lives_from_creation_to_deletion,
        tables::a_description_equals_what_was_asked_for,
        tables::provisioned_units_are_described,
        tables::the_units_of_an_index_change_by_themselves,
        tables::a_table_is_created_once,
        tables::what_is_not_there_is_not_found,
        tables::a_missing_index_is_not_found,
        tables::expiry_is_turned_on_and_off,
        items::every_type_comes_back,
        items::numbers_keep_38_digits,
        items::an_absent_item_is_an_answer,
        items::a_put_replaces_and_returns_the_old,
        items::a_delete_returns_the_old,
        items::number_and_binary_keys_find_their_item,
        items::a_table_may_have_no_sort_key,
        items::a_projection_returns_the_paths,
        items::a_projection_of_nothing_is_an_empty_item,
        items::a_wrong_key_is_refused,
        conditions::comparisons_compare_values,
        conditions::different_types_are_unequal_and_unordered,
        conditions::nothing_but_not_equal_holds_of_what_is_absent,
        conditions::ranges_options_and_functions,
        conditions::conditions_combine,
        conditions::a_failed_condition_brings_the_old_image,
        conditions::a_failed_condition_on_nothing_brings_nothing,
        conditions::create_only_where_nothing_is,
        conditions::names_may_hold_any_character,
        updates::an_update_creates_what_is_not_there,
        updates::set_computes_from_the_old_item,
        updates::numbers_are_added_exactly,
        updates::add_and_delete_work_on_sets,
        updates::paths_reach_into_maps_and_lists,
        updates::what_cannot_be_done_is_refused,
        updates::an_update_returns_what_is_asked,
        updates::an_update_that_is_shared_is_done_as_any_other,
        queries::every_range_has_its_ends,
        queries::a_range_upside_down_is_refused,
        queries::strings_sort_by_their_bytes,
        queries::numbers_sort_by_value,
        queries::binaries_sort_by_their_bytes,
        queries::pages_go_both_ways,
        queries::a_page_that_ends_exactly_may_have_a_next,
        queries::a_filter_comes_after_the_limit,
        queries::a_count_returns_no_items,
        queries::a_projection_of_a_page,
        queries::who_looks_at_items_gives_only_those_that_are_wanted,
        queries::a_megabyte_ends_a_page,
        queries::a_wrong_query_is_refused,
        scans::pages_cover_the_table_once,
        scans::segments_cover_the_table_once,
        scans::an_empty_table_has_an_empty_page,
        scans::a_scan_filters_projects_and_counts,
        indexes::an_item_is_in_an_index_with_all_its_keys_only,
        indexes::an_index_follows_its_keys,
        indexes::an_index_key_of_another_type_is_refused,
        indexes::an_index_holds_what_it_projects,
        indexes::an_index_pages_over_equal_keys,
        indexes::a_global_index_is_not_read_consistently,
        indexes::a_local_index_is_read_consistently,
        indexes::an_index_key_may_have_several_attributes,
        indexes::an_index_of_several_attributes_pages,
        batches::a_batch_reads_what_is_there_of_several_tables,
        batches::a_batch_of_gets_has_bounds,
        batches::what_a_batch_does_not_hold_is_unprocessed,
        batches::a_batch_puts_and_deletes_in_several_tables,
        batches::a_batch_of_writes_has_bounds,
        transactions::all_actions_are_done,
        transactions::a_transaction_that_is_shared_is_done_as_any_other,
        transactions::a_cancelled_transaction_gives_a_reason_per_action,
        transactions::every_kind_of_action_brings_its_old_image,
        transactions::a_wrong_action_is_named,
        transactions::an_item_is_named_once,
        transactions::a_transaction_has_bounds,
        transactions::four_megabytes_are_too_large,
        transactions::an_item_that_grows_too_large_is_named,
        transactions::a_token_makes_a_transaction_happen_once,
        transactions::a_missing_table_is_not_found,
        transactions::a_transactional_read_keeps_the_order,
        transactions::a_transactional_read_has_bounds,
        limits::an_item_holds_400_kilobytes,
        limits::keys_have_a_longest,
        limits::keys_are_not_empty,
        limits::values_nest_32_levels,
        limits::empty_sets_are_refused,
        limits::an_expression_has_a_longest,
        streams::changes_come_in_order_with_both_images,
        streams::a_stream_of_keys_has_no_images,
        streams::reading_goes_on_where_a_page_ended,
        streams::latest_has_all_that_comes,
        streams::latest_of_an_empty_stream_misses_nothing,
        streams::a_transaction_is_on_the_stream,
        streams::what_changes_nothing_is_not_on_the_stream,
        streams::a_table_without_a_stream_has_none,
        streams::a_page_of_a_stream_has_bounds,
        capacity::a_get_rounds_up_to_four_kilobytes,
        capacity::a_batch_of_gets_rounds_each_item,
        capacity::a_transactional_read_costs_twice,
        capacity::a_page_sums_before_it_rounds,
        capacity::filter_projection_and_count_save_nothing,
        capacity::an_empty_page_costs_the_minimum,
        capacity::an_index_is_read_by_its_entries,
        capacity::a_local_index_is_read_by_its_entries,
        capacity_writes::a_write_costs_the_larger_side,
        capacity_writes::a_delete_costs_the_old_item,
        capacity_writes::a_batch_of_writes_costs_each_item,
        capacity_writes::index_writes_follow_the_entry,
        capacity_writes::a_transaction_costs_twice,
        capacity_writes::a_condition_check_costs_what_it_reads,
        capacity_writes::a_transaction_doubles_no_index_write,
    ]
}
