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
    keys: constant_partition_key;
    indexes: mutable_index_key unused_index duplicate_index wide_projection narrow_projection strong_read_on_index
        uniqueness_by_index dropped_by_optional untyped_index unbounded_local_index too_many_indexes redundant_row
        unsaid_index_entry multi_attribute_key backfill_claimed hot_index_partition;
    reads: never_matches last_value_dropped order_not_kept short_pages misses_rows circle_not_covered scan_not_needed
        index_would_bind not_together unlimited_with only_a_scan expired_rows_returned;
}
