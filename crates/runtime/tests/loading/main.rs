//! Rows that are loaded, and tables that know their model.

mod control;
mod kept;
mod probe;
mod table_only;
