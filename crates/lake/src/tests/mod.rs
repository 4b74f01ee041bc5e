//! A lake beside a table, and what became of it.

mod erasure;
mod kills;
mod report;
mod s3;
mod support;
mod tables;
