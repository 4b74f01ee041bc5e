//! Two models at once on one table.

mod abort;
mod clients;
mod hindered;
mod kills;
mod models;
mod races;
mod whole;
