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
}
