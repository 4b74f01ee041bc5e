//! Why a path is not the plan.

use super::expected::Expected;

/// Why a path does not answer a meaning, or loses to another.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// The meaning leaves a part of the partition key open.
    Open(String),
    /// The meaning says the day, month or year of an instant in the model's zone, and the key has that of UTC.
    Zone(String),
    /// No conjunct of the meaning uses the path: all of it would be read.
    Unused,
    /// Rows that the meaning includes are not there: an attribute that may be absent.
    Sparse(String),
    /// The path holds only rows of which a condition is true, and the meaning does not say it.
    Conditional,
    /// Rows that the meaning includes are not there: stored in the first state, which has lapsed to the second.
    Lapsed(String, String),
    /// The order by an attribute is not the key's.
    Order(String),
    /// It has only part of a row, and not the attribute by which the whole row is found.
    Unfollowed(String),
    /// A strong read is asked of a global index.
    Eventual,
    /// A request may make more ranges of it than are asked for at once, and of the plan not.
    Ranges,
    /// Another path is cheaper: what this one is expected to take, and the other.
    Dearer(Box<[Expected; 2]>),
    /// The read names another index: what this one is expected to take, and the other.
    Pinned(Box<[Expected; 2]>),
}

impl std::fmt::Display for Why {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Why::Open(part) => write!(out, "`{part}` in the partition key is not known"),
            Why::Zone(part) => write!(
                out,
                "its key has the day of `{part}` in UTC, and the model is in another zone"
            ),
            Why::Unused => out.write_str("the meaning says nothing about its key: all of it would be read"),
            Why::Sparse(part) => write!(out, "rows without `{part}` are not in it"),
            Why::Conditional => out.write_str("it holds only rows of which its condition is true"),
            Why::Lapsed(from, to) => write!(
                out,
                "rows that have lapsed to `{to}` are stored as `{from}`, and are not in it"
            ),
            Why::Order(path) => write!(out, "its key does not give the order by `{path}`"),
            Why::Unfollowed(name) => write!(
                out,
                "it has only part of a row, and not `{name}`, by which the row is found"
            ),
            Why::Eventual => out.write_str("a global index cannot be read strongly"),
            Why::Ranges => out.write_str("it may be asked for too many ranges at once"),
            Why::Dearer(both) => {
                let [this, best] = both.as_ref();
                match this.compared_half_units.cmp(&best.compared_half_units) {
                    std::cmp::Ordering::Greater => write!(
                        out,
                        "it answers, for about {} units where the plan takes {}",
                        this.compared_units(),
                        best.compared_units()
                    ),
                    _ if this.requests > best.requests => write!(
                        out,
                        "it answers for about as many units, with {} requests where the plan takes {}",
                        this.requests, best.requests
                    ),
                    _ => out.write_str("it answers for about as many units"),
                }
            }
            Why::Pinned(both) => {
                let [this, pinned] = both.as_ref();
                match this == pinned {
                    true => out.write_str("the read names another index"),
                    false => write!(
                        out,
                        "the read names another index; it answers, for about {} units where the plan takes {}",
                        this.compared_units(),
                        pinned.compared_units()
                    ),
                }
            }
        }
    }
}
