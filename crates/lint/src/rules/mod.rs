//! The rules. A new one is a file in one of these folders, a line in its list here, and two models beside it.

use crate::DesignRule;

/// Declares the modules of each group and collects their rules, in the order of their codes.
macro_rules! groups {
    ($($group:ident: $($name:ident)*;)*) => {
        $(mod $group { $(pub(crate) mod $name;)* })*
        /// Every design rule.
        pub static DESIGN_RULES: &[&DesignRule] = &[$($(&$group::$name::RULE),*),*];
    };
}

groups! {
    keys: constant_partition_key low_cardinality_partition_key date_partition_key hot_partition_key colliding_keys prefix_bleed
        raw_delimiter unsortable_key_part unsortable_id mutable_primary_key key_length empty_key key_type_conflict
        unaligned_owner ungathered_shard random_shard_point_read two_spellings ambiguous_key not_decided;
    indexes: mutable_index_key unused_index duplicate_index wide_projection narrow_projection strong_read_on_index
        uniqueness_by_index dropped_by_optional untyped_index unbounded_local_index too_many_indexes redundant_row
        unsaid_index_entry multi_attribute_key backfill_claimed hot_index_partition;
    reads: never_matches last_value_dropped order_not_kept short_pages misses_rows circle_not_covered scan_not_needed
        index_would_bind not_together unlimited_with only_a_scan expired_rows_returned more_requests
        not_one_transaction order_not_given several_rows too_many_combinations too_many_ranges rows_not_meant not_compared
        too_many_rows dearer_index;
    writes: put_overwrites update_upserts unversioned unguarded_unique check_then_write idempotency_by_index
        idempotency_without_expiry idempotency_not_scoped stale_copy non_atomic_batch batch_cannot_update
        transaction_over_limit retried_add unguarded_state stale_index_keys contended_item record_apart same_item_twice
        role_from_body idempotency_without_hash rows_appear call_does_not_fit loop_meets_its_own trigger_cycle
        claim_in_part webhook_too_large outrun_trigger;
    cost: large_item unbounded_list counter_in_large_item claimed_capacity free_tier_on_demand outdated_price no_estimates
        over_budget unprovisioned_index free_tier_exceeded too_few_units
        over_budget_at_worst filter_drops_most;
    evolution: ttl_not_seconds two_ttl_attributes ttl_trusted stream_without_images too_many_stream_readers
        missing_type_attribute no_recovery expires_without_ttl;
}
