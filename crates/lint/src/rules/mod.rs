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
    writes: put_overwrites update_upserts unversioned unguarded_unique check_then_write idempotency_by_index
        idempotency_without_expiry idempotency_not_scoped stale_copy non_atomic_batch batch_cannot_update
        transaction_over_limit retried_add unguarded_state stale_index_keys contended_item record_apart same_item_twice
        role_from_body;
}
