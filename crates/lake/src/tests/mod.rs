//! A lake beside a table, and what became of it.

mod buckets;
mod dynamodb;
mod erasure;
mod kills;
mod report;
mod s3;
mod snapshots;
mod support;
mod systems;
mod tables;
