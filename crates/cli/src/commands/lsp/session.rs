//! The documents of an editor, and who looks at them when.
//!
//! A text is read when somebody asks about it, and checked beside when nobody types: the newest text alone. What was found in an older one is
//! thrown away.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use serde_json::{Value as Json, json};
use singlet_editor::{Document, check_text};
use singlet_model::{Diagnostic, Source};

use super::answers::{NotAnswered, answer_document_request, diagnostics_json};
use super::positions::offset_of;

/// How long nobody types before a text is checked.
const TYPING_PAUSE: Duration = Duration::from_millis(10);

/// How often it is looked whether a check has ended.
const LOOK_PAUSE: Duration = Duration::from_millis(5);

/// How many texts are checked at once: an old one that takes long does not hold up a new one.
const CHECKS_AT_ONCE_MAX: usize = 2;

/// How many documents are open at once.
const DOCUMENTS_MAX: usize = 1_000;

/// A document of the editor.
struct Opened {
    text: String,
    /// What was read of the text, or of one before it.
    document: Document,
    /// The turn of the text that was read.
    read_turn: u64,
    version: Json,
    /// Counts the texts that it had.
    turn: u64,
    /// When the newest text came, until it is checked.
    typed: Option<Instant>,
    /// Whether it was a model once: then it is one while it is typed anew.
    is_model: bool,
}

/// What came of a check.
struct Checked {
    uri: String,
    turn: u64,
    /// None where the check broke off, which is a mistake of ours.
    findings: Option<Vec<Diagnostic>>,
}

/// What goes on between an editor and us.
pub(super) struct Session<'c> {
    connection: &'c Connection,
    opened: HashMap<String, Opened>,
    checking: usize,
    ended: mpsc::Receiver<Checked>,
    end: mpsc::Sender<Checked>,
}

impl<'c> Session<'c> {
    pub(super) fn new(connection: &'c Connection) -> Self {
        let (end, ended) = mpsc::channel();
        Session {
            connection,
            opened: HashMap::new(),
            checking: 0,
            ended,
            end,
        }
    }

    /// Answers until the editor ends it.
    ///
    /// # Errors
    ///
    /// Where the editor does not keep to the protocol.
    pub(super) fn run(mut self) -> Result<(), ProtocolError> {
        loop {
            while let Ok(checked) = self.ended.try_recv() {
                self.take_checked(checked);
            }
            self.begin_checks();
            let message = match self.waiting() {
                Some(time) => match self.connection.receiver.recv_timeout(time) {
                    Ok(message) => message,
                    Err(error) if error.is_timeout() => continue,
                    Err(_) => return Ok(()),
                },
                None => match self.connection.receiver.recv() {
                    Ok(message) => message,
                    // The editor has gone.
                    Err(_) => return Ok(()),
                },
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    self.request(request);
                }
                Message::Notification(notification) => self.notification(&notification),
                Message::Response(_) => {}
            }
        }
    }

    /// How long it is waited for a message, where something else is to be done.
    fn waiting(&self) -> Option<Duration> {
        let is_typed = self.opened.values().any(|opened| opened.typed.is_some());
        (self.checking > 0 || is_typed).then_some(LOOK_PAUSE)
    }

    fn notification(&mut self, notification: &Notification) {
        let params = &notification.params;
        let text_of = |path: &str| params.pointer(path).and_then(Json::as_str).map(str::to_owned);
        let Some(uri) = text_of("/textDocument/uri") else {
            return;
        };
        let version = params.pointer("/textDocument/version").cloned().unwrap_or(Json::Null);
        match notification.method.as_str() {
            "textDocument/didOpen" if self.opened.len() < DOCUMENTS_MAX => {
                let text = text_of("/textDocument/text").unwrap_or_default();
                self.open_text(uri, text, version);
            }
            "textDocument/didChange" => {
                let changes = params.get("contentChanges").and_then(Json::as_array);
                if let Some(opened) = self.opened.get_mut(&uri) {
                    for change in changes.into_iter().flatten() {
                        opened.apply(change);
                    }
                    opened.begin_turn(&uri, version);
                }
            }
            "textDocument/didClose" => {
                self.opened.remove(&uri);
                self.publish(&uri, &Json::Null, json!([]));
            }
            _ => {}
        }
    }

    fn open_text(&mut self, uri: String, text: String, version: Json) {
        let mut opened = Opened {
            text,
            document: Document::new(&uri, "", None),
            read_turn: 0,
            version: Json::Null,
            turn: 0,
            typed: None,
            is_model: false,
        };
        opened.begin_turn(&uri, version);
        self.opened.insert(uri, opened);
    }

    /// Begins to check texts that nobody types at any more.
    fn begin_checks(&mut self) {
        for (uri, opened) in &mut self.opened {
            let is_still = opened.typed.is_some_and(|typed| typed.elapsed() >= TYPING_PAUSE);
            if !is_still || self.checking >= CHECKS_AT_ONCE_MAX {
                continue;
            }
            opened.typed = None;
            let (uri, turn, end) = (uri.clone(), opened.turn, self.end.clone());
            let source = Source::new(uri.clone(), opened.text.as_str());
            let begun = std::thread::Builder::new().name("check".to_owned()).spawn(move || {
                let findings = catch_unwind(AssertUnwindSafe(|| check_text(&source))).ok();
                let _ = end.send(Checked { uri, turn, findings });
            });
            if begun.is_ok() {
                self.checking += 1;
            }
        }
    }

    fn take_checked(&mut self, checked: Checked) {
        self.checking = self.checking.saturating_sub(1);
        let Some(mut opened) = self.opened.remove(&checked.uri) else {
            return;
        };
        if opened.turn == checked.turn {
            match checked.findings {
                Some(findings) => {
                    opened.read(&checked.uri);
                    opened.document = opened.document.with_findings(findings);
                    let shown = diagnostics_json(opened.document.text(), &checked.uri, opened.document.all_findings());
                    self.publish(&checked.uri, &opened.version, shown);
                }
                None => self.log("the check of this text broke off; please report it"),
            }
        }
        self.opened.insert(checked.uri, opened);
    }

    fn request(&mut self, request: Request) {
        let uri = request.params.pointer("/textDocument/uri").and_then(Json::as_str);
        let found = uri.and_then(|uri| Some((uri, self.opened.get_mut(uri)?)));
        let answered = match found {
            Some((uri, opened)) => {
                opened.read(uri);
                let work = || answer_document_request(&opened.document, uri, &request.method, &request.params);
                catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
                    Err(NotAnswered {
                        code: ErrorCode::InternalError,
                        message: "the answer broke off; please report it".to_owned(),
                    })
                })
            }
            None if request.method.starts_with("textDocument/") => Err(NotAnswered {
                code: ErrorCode::InvalidParams,
                message: "there is no such document open".to_owned(),
            }),
            None => Err(NotAnswered {
                code: ErrorCode::MethodNotFound,
                message: format!("`{}` is not offered", request.method),
            }),
        };
        let response = match answered {
            Ok(answer) => Response::new_ok(request.id, answer),
            Err(refused) => Response::new_err(request.id, refused.code as i32, refused.message),
        };
        let _ = self.connection.sender.send(Message::Response(response));
    }

    fn publish(&self, uri: &str, version: &Json, diagnostics: Json) {
        let mut params = json!({"uri": uri, "diagnostics": diagnostics});
        if let (Some(params), false) = (params.as_object_mut(), version.is_null()) {
            params.insert("version".to_owned(), version.clone());
        }
        let notification = Notification::new("textDocument/publishDiagnostics".to_owned(), params);
        let _ = self.connection.sender.send(Message::Notification(notification));
    }

    fn log(&self, message: &str) {
        let notification = Notification::new("window/logMessage".to_owned(), json!({"type": 1, "message": message}));
        let _ = self.connection.sender.send(Message::Notification(notification));
    }
}

impl Opened {
    /// The text is another one from here on.
    fn begin_turn(&mut self, uri: &str, version: Json) {
        self.turn += 1;
        self.version = version;
        self.is_model = self.is_model || is_model(uri, &self.text);
        self.typed = self.is_model.then(Instant::now);
    }

    /// Puts a text in place of another, or of the whole.
    fn apply(&mut self, change: &Json) {
        let Some(new) = change.get("text").and_then(Json::as_str) else {
            return;
        };
        let Some(range) = change.get("range") else {
            new.clone_into(&mut self.text);
            return;
        };
        let at = |end: &str| offset_of(&self.text, range.get(end).unwrap_or(&Json::Null));
        let (start, end) = (at("start"), at("end"));
        // Places are on characters and within the text, whatever was sent.
        self.text.replace_range(start..end.max(start), new);
    }

    /// Reads the text, unless that was done.
    fn read(&mut self, uri: &str) {
        if self.read_turn == self.turn {
            return;
        }
        self.read_turn = self.turn;
        let read = || Document::new(uri, &self.text, Some(&self.document));
        // Where reading breaks off, which is a mistake of ours, the editor goes on with what was known before.
        if let Ok(document) = catch_unwind(AssertUnwindSafe(read)) {
            self.document = document;
        }
    }
}

/// Whether a text is a model: an editor may send every YAML file that it has.
fn is_model(uri: &str, text: &str) -> bool {
    let name = uri.rsplit('/').next().unwrap_or_default();
    let is_named = ["model.yaml", "model.yml", ".singlet.yaml"]
        .iter()
        .any(|end| name.ends_with(end));
    is_named || text.lines().any(|line| line.starts_with("singlet:"))
}
