//! Two models at once on one table.

mod abort;
mod clients;
mod followed;
mod hindered;
mod kills;
mod late_indexes;
mod models;
mod planted;
mod processes;
mod races;
mod shared;
mod shared_kills;
mod whole;
