//! The `singlet` command. The only crate that prints, reads files or exits.
//!
//! One subcommand, one file under `commands/`; how findings are shown is under `report/`. All of it is a library, so that cargo has
//! something to say between compiling it and linking the command.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is the crate that prints")]

mod commands;
mod lakes;
mod model;
mod moment_copy;
mod operator;
mod place;
mod private_file;
mod progress;
mod report;
mod report_format;
mod request;
mod served_store;
mod source;
mod store;
mod sweep;
mod table;
mod webhooks;
mod words_place;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// DynamoDB single-table design, from the decision record to a running service.
#[derive(Parser)]
#[command(name = "singlet", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 nothing found, 1 findings, 2 wrong usage or a file that cannot be read.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(commands::init::Init),
    Check(commands::check::Check),
    Explain(commands::explain::Explain),
    Plan(commands::plan::Plan),
    Capacity(commands::capacity::Capacity),
    Cost(commands::cost::Cost),
    Diff(commands::diff::Diff),
    Migrate(commands::migrate::Migrate),
    Deploy(commands::deploy::Deploy),
    Copy(commands::copy::Copy),
    Verify(commands::verify::Verify),
    Call(commands::call::Call),
    Audit(commands::audit::Audit),
    Load(commands::load::Load),
    Dump(commands::dump::Dump),
    Changes(commands::changes::Changes),
    Follow(commands::follow::Follow),
    Lake(commands::lake::IntoLake),
    Docs(commands::docs::Docs),
    Export(commands::export::Export),
    Import(commands::import::Import),
    Client(commands::client::Client),
    Serve(Box<commands::serve::Serve>),
    Dynamodb(commands::dynamodb::Dynamodb),
    Token(commands::token::Token),
    Backup(commands::upkeep::Backup),
    Restore(commands::restore::Restore),
    Compact(commands::upkeep::Compact),
    Doctor(commands::doctor::Doctor),
    Lsp(commands::lsp::Lsp),
    Mcp(commands::mcp::Mcp),
    Schema(commands::schema::Schema),
    Completions(commands::completions::Completions),
}

/// Does what the arguments of this process say.
pub fn run_command() -> ExitCode {
    match Cli::parse().command {
        Command::Init(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Plan(command) => command.run(),
        Command::Capacity(command) => command.run(),
        Command::Cost(command) => command.run(),
        Command::Diff(command) => command.run(),
        Command::Migrate(command) => command.run(),
        Command::Deploy(command) => command.run(),
        Command::Copy(command) => command.run(),
        Command::Verify(command) => command.run(),
        Command::Call(command) => command.run(),
        Command::Audit(command) => command.run(),
        Command::Load(command) => command.run(),
        Command::Dump(command) => command.run(),
        Command::Changes(command) => command.run(),
        Command::Follow(command) => command.run(),
        Command::Lake(command) => command.run(),
        Command::Docs(command) => command.run(),
        Command::Export(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Client(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Dynamodb(command) => command.run(),
        Command::Token(command) => command.run(),
        Command::Backup(command) => command.run(),
        Command::Restore(command) => command.run(),
        Command::Compact(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Lsp(command) => command.run(),
        Command::Mcp(command) => command.run(),
        Command::Schema(command) => command.run(),
        Command::Completions(command) => command.run(),
    }
}

/// The exit codes, as `--help` states them.
mod exit {
    pub(crate) const CLEAN: u8 = 0;
    pub(crate) const FINDINGS: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
}
