//! `singlet lsp`.

mod answers;
mod positions;
mod session;

use std::process::ExitCode;

use clap::Args;
use lsp_server::{Connection, ProtocolError};
use serde_json::json;

use self::session::Session;
use crate::{exit, model};

/// Speak the Language Server Protocol on standard input and output, for editors.
///
/// Findings of `check` as you type, completion, hover with plans and keys, definitions, references, renames and quick fixes.
#[derive(Args)]
pub(crate) struct Lsp {
    /// Taken and without effect: standard input and output are all there is.
    #[arg(long, hide = true)]
    stdio: bool,
}

impl Lsp {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let (connection, threads) = Connection::stdio();
        let begun = connection.initialize_start().and_then(|(id, _)| {
            let told = json!({
                "capabilities": capabilities(),
                "serverInfo": {"name": "singlet", "version": env!("CARGO_PKG_VERSION")},
            });
            connection.initialize_finish(id, told)
        });
        let ended = begun.and_then(|()| Session::new(&connection).run());
        // The threads end with the channels.
        drop(connection);
        let _ = threads.join();
        match ended {
            Ok(()) => ExitCode::from(exit::CLEAN),
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &ProtocolError) -> ExitCode {
    model::fail_command(&format!("the editor is not understood: {error}"))
}

/// What is offered to an editor.
fn capabilities() -> serde_json::Value {
    json!({
        "positionEncoding": "utf-16",
        "textDocumentSync": {"openClose": true, "change": 2},
        "completionProvider": {"triggerCharacters": [".", "{", "\"", " ", "-"]},
        "hoverProvider": true,
        "definitionProvider": true,
        "referencesProvider": true,
        "documentSymbolProvider": true,
        "renameProvider": {"prepareProvider": true},
        "codeActionProvider": {"codeActionKinds": ["quickfix"]},
    })
}
