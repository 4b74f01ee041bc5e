//! Two models at once, of processes that share a table.

#[path = "../../../../migrate/tests/migrate/bridge/models.rs"]
#[allow(dead_code, reason = "less is asked here than where it is at home")]
mod models;
#[path = "../../../../migrate/tests/migrate/bridge/processes.rs"]
#[allow(dead_code, reason = "less is asked here than where it is at home")]
mod processes;
mod shared;
