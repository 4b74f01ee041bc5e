//! `singlet mcp`.

mod folder;
mod resources;
mod run;
mod tools;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use serde_json::{Value as Json, json};

use self::folder::ModelFolder;
use crate::{exit, model};

/// The longest line that is read: a model as text, and what stands around it.
const LINE_BYTES_MAX: u64 = 40 * 1024 * 1024;

/// How many tools run at once; one more is refused.
const CALLS_AT_ONCE_MAX: usize = 4;

/// The versions of the protocol that are spoken, the newest first.
const PROTOCOL_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Speak the Model Context Protocol on standard input and output, for assistants.
///
/// An assistant can check, plan, price and verify the models of a folder, read rows of their sample data, and look up the language and the
/// rules. Nothing is written, and no file outside the folder is read.
#[derive(Args)]
pub(crate) struct Mcp {
    /// The folder of the models.
    #[arg(default_value = ".")]
    folder: PathBuf,
}

/// Why a request is not answered, as JSON-RPC has it.
struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        RpcError {
            code,
            message: message.into(),
        }
    }
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const METHOD_NOT_FOUND: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const RESOURCE_NOT_FOUND: i32 = -32_002;
const BUSY: i32 = -32_000;

/// The tools that run, by the id of their request, each with what ends it.
type Running = Arc<Mutex<HashMap<String, Arc<AtomicBool>>>>;

impl Mcp {
    /// Runs the command.
    pub(crate) fn run(self) -> ExitCode {
        let folder = match ModelFolder::open(&self.folder) {
            Ok(folder) => Arc::new(folder),
            Err(reason) => return model::fail_command(&reason),
        };
        let running = Running::default();
        let mut input = BufReader::new(std::io::stdin().lock());
        loop {
            let mut line = Vec::new();
            match (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) if line.len() as u64 >= LINE_BYTES_MAX => {
                    say(&failure(
                        &Json::Null,
                        &RpcError::new(INVALID_REQUEST, "the line is too long"),
                    ));
                    break;
                }
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => take_line(&line, &folder, &running),
                Err(error) => return model::fail_command(&format!("standard input cannot be read: {error}")),
            }
        }
        // Whoever asked has gone: nobody waits for what still runs.
        for ending in running.lock().unwrap_or_else(PoisonError::into_inner).values() {
            ending.store(true, Ordering::Relaxed);
        }
        ExitCode::from(exit::CLEAN)
    }
}

fn take_line(line: &[u8], folder: &Arc<ModelFolder>, running: &Running) {
    let Ok(message) = serde_json::from_slice::<Json>(line) else {
        return say(&failure(&Json::Null, &RpcError::new(PARSE_ERROR, "this is not JSON")));
    };
    let id = message.get("id").cloned();
    let Some(method) = message.get("method").and_then(Json::as_str) else {
        // An answer to something that we never ask.
        if message.get("result").is_none() && message.get("error").is_none() {
            let error = RpcError::new(INVALID_REQUEST, "a request has a `method`");
            say(&failure(&id.unwrap_or(Json::Null), &error));
        }
        return;
    };
    let params = message.get("params").cloned().unwrap_or(Json::Null);
    let Some(id) = id else {
        if method == "notifications/cancelled" {
            let running = running.lock().unwrap_or_else(PoisonError::into_inner);
            let ending = params.get("requestId").and_then(|id| running.get(&id.to_string()));
            if let Some(ending) = ending {
                ending.store(true, Ordering::Relaxed);
            }
        }
        return;
    };
    if method == "tools/call" {
        return begin_call(id, params, folder, running);
    }
    match answered(method, &params) {
        Ok(result) => say(&json!({"jsonrpc": "2.0", "id": id, "result": result})),
        Err(error) => say(&failure(&id, &error)),
    }
}

fn answered(method: &str, params: &Json) -> Result<Json, RpcError> {
    match method {
        "initialize" => {
            let asked = params.get("protocolVersion").and_then(Json::as_str).unwrap_or_default();
            let newest = PROTOCOL_VERSIONS.first().copied().unwrap_or_default();
            let version = PROTOCOL_VERSIONS.into_iter().find(|known| *known == asked);
            Ok(json!({
                "protocolVersion": version.unwrap_or(newest),
                "capabilities": {"tools": {}, "resources": {}},
                "serverInfo": {"name": "singlet", "version": env!("CARGO_PKG_VERSION")},
                "instructions": "Singlet checks DynamoDB single-table designs, each one model file. Read `singlet://language` before you write a model, \
                                 and `check` it after each change; `rule` says what a finding means.",
            }))
        }
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools::listed_tools()})),
        "resources/list" => Ok(json!({"resources": resources::listed_resources()})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": resources::resource_templates()})),
        "resources/read" => {
            let uri = params.get("uri").and_then(Json::as_str).unwrap_or_default();
            let (kind, text) = resources::text_of(uri)
                .ok_or_else(|| RpcError::new(RESOURCE_NOT_FOUND, format!("there is no resource `{uri}`")))?;
            Ok(json!({"contents": [{"uri": uri, "mimeType": kind, "text": text}]}))
        }
        _ => Err(RpcError::new(METHOD_NOT_FOUND, format!("`{method}` is not offered"))),
    }
}

/// Runs a tool beside what else is asked.
fn begin_call(id: Json, params: Json, folder: &Arc<ModelFolder>, running: &Running) {
    let ending = Arc::new(AtomicBool::new(false));
    {
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.len() >= CALLS_AT_ONCE_MAX {
            let error = RpcError::new(BUSY, format!("{CALLS_AT_ONCE_MAX} tools run already: wait for one"));
            return say(&failure(&id, &error));
        }
        running.insert(id.to_string(), Arc::clone(&ending));
    }
    let (folder, running_then, id_then) = (Arc::clone(folder), Arc::clone(running), id.clone());
    let begun = std::thread::Builder::new().name("tool".to_owned()).spawn(move || {
        let name = params.get("name").and_then(Json::as_str).unwrap_or_default();
        let none = Json::Null;
        let called = tools::call_tool(&folder, name, params.get("arguments").unwrap_or(&none), &ending);
        let mut running = running_then.lock().unwrap_or_else(PoisonError::into_inner);
        running.remove(&id_then.to_string());
        drop(running);
        // Nobody waits for what was cancelled.
        if ending.load(Ordering::Relaxed) {
            return;
        }
        match called {
            Some(done) => say(&json!({"jsonrpc": "2.0", "id": id_then, "result": done})),
            None => {
                let error = RpcError::new(INVALID_PARAMS, format!("there is no tool `{name}`"));
                say(&failure(&id_then, &error));
            }
        }
    });
    if begun.is_err() {
        running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id.to_string());
        say(&failure(&id, &RpcError::new(BUSY, "no thread can be started")));
    }
}

fn failure(id: &Json, error: &RpcError) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})
}

/// Writes a message. A reader that went away is found at the end of the input.
fn say(message: &Json) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{message}").and_then(|()| out.flush());
}
