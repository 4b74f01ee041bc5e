//! The laws of this crate, on generated values.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod properties {
    use proptest::test_runner::Config;

    /// So many cases; failing ones are printed, not kept in files.
    fn cases(cases: u32) -> Config {
        Config {
            cases,
            failure_persistence: None,
            ..Config::default()
        }
    }

    mod collisions;
    mod keys;
    mod numbers;
    mod patterns;
    mod values;
}
