//! A lake beside a table, and what became of it.

mod kills;
mod support;
mod tables;
