//! What an editor is answered.

use lsp_server::ErrorCode;
use serde_json::{Value as Json, json};
use singlet_editor::{CompletionKind, Document, Symbol};
use singlet_model::{Diagnostic, Severity, Span};

use super::positions::{offset_of, position_of, range_of};

/// Why a request is not answered.
#[derive(Debug)]
pub(super) struct NotAnswered {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

/// Answers a request about a document.
pub(super) fn answer_document_request(
    document: &Document,
    uri: &str,
    method: &str,
    params: &Json,
) -> Result<Json, NotAnswered> {
    let text = document.text();
    let offset = || offset_of(text, params.get("position").unwrap_or(&Json::Null));
    Ok(match method {
        "textDocument/completion" => completions(document, offset()),
        "textDocument/hover" => match document.hover(offset()) {
            Some(shown) => json!({"contents": {"kind": "markdown", "value": shown}}),
            None => Json::Null,
        },
        "textDocument/definition" => match document.definition_at(offset()) {
            Some(span) => location(text, uri, span),
            None => Json::Null,
        },
        "textDocument/references" => {
            let with_definition = params.pointer("/context/includeDeclaration").and_then(Json::as_bool);
            let spans = document.references_at(offset(), with_definition.unwrap_or(true));
            spans.into_iter().map(|span| location(text, uri, span)).collect()
        }
        "textDocument/documentSymbol" => document
            .symbols()
            .iter()
            .map(|symbol| symbol_json(text, symbol))
            .collect(),
        "textDocument/prepareRename" => match document.renamed_at(offset()) {
            Ok(span) => range_of(text, span),
            Err(refusal) => return Err(refused(&refusal)),
        },
        "textDocument/rename" => {
            let to = params.get("newName").and_then(Json::as_str).unwrap_or_default();
            let spans = document
                .rename_spans(offset(), to)
                .map_err(|refusal| refused(&refusal))?;
            let edits: Vec<Json> = spans.into_iter().map(|span| edit(text, span, to)).collect();
            json!({"changes": {uri: edits}})
        }
        "textDocument/codeAction" => fixes(document, uri, params),
        _ => {
            return Err(NotAnswered {
                code: ErrorCode::MethodNotFound,
                message: format!("`{method}` is not offered"),
            });
        }
    })
}

fn refused(refusal: &singlet_editor::RenameRefusal) -> NotAnswered {
    NotAnswered {
        code: ErrorCode::RequestFailed,
        message: refusal.to_string(),
    }
}

/// The findings of a text, as an editor shows them.
pub(super) fn diagnostics_json(text: &str, uri: &str, findings: &[Diagnostic]) -> Json {
    let shown = findings.iter().map(|finding| {
        let help = finding.help.as_ref().map(|help| format!("\nhelp: {help}"));
        let notes = finding
            .notes
            .iter()
            .map(|note| json!({"location": location(text, uri, note.span), "message": note.text}));
        json!({
            "range": range_of(text, finding.span),
            "severity": match finding.rule.severity {
                Severity::Error => 1,
                Severity::Warning => 2,
                Severity::Hint => 4,
            },
            "code": finding.rule.code,
            "source": "singlet",
            "message": format!("{}{}", finding.message, help.unwrap_or_default()),
            "relatedInformation": notes.collect::<Json>(),
            "data": {"name": finding.rule.name, "subject": finding.subject},
        })
    });
    shown.collect()
}

fn completions(document: &Document, offset: usize) -> Json {
    let text = document.text();
    let items = document.completions(offset).into_iter().map(|offered| {
        // The numbers of the protocol.
        let kind = match offered.kind {
            CompletionKind::Field | CompletionKind::Attribute => 5,
            CompletionKind::Word | CompletionKind::Rule => 14,
            CompletionKind::Entity => 7,
            CompletionKind::Value => 6,
            CompletionKind::Member => 20,
            CompletionKind::Function => 3,
            CompletionKind::Index => 18,
            CompletionKind::Type => 25,
            CompletionKind::Operation => 2,
        };
        json!({
            "label": offered.label,
            "kind": kind,
            "detail": offered.detail,
            "documentation": offered.doc,
            "textEdit": edit(text, offered.replaced, &offered.text),
        })
    });
    json!({"isIncomplete": false, "items": items.collect::<Json>()})
}

/// The replacements that settle findings at a range.
fn fixes(document: &Document, uri: &str, params: &Json) -> Json {
    let text = document.text();
    let at = |end: &str| offset_of(text, params.pointer(&format!("/range/{end}")).unwrap_or(&Json::Null));
    let range = Span::new(at("start"), at("end"));
    let actions = document.fixes_within(range).map(|(finding, fix)| {
        let title = match &finding.help {
            Some(help) => help.clone(),
            None => format!("replace by `{}`", fix.replacement),
        };
        json!({
            "title": title,
            "kind": "quickfix",
            "isPreferred": true,
            "diagnostics": diagnostics_json(text, uri, std::slice::from_ref(finding)),
            "edit": {"changes": {uri: [edit(text, fix.span, &fix.replacement)]}},
        })
    });
    actions.collect()
}

fn symbol_json(text: &str, symbol: &Symbol) -> Json {
    let path: Vec<&str> = symbol.path.iter().map(String::as_str).collect();
    // The numbers of the protocol.
    let kind = match path.as_slice() {
        [] => 3,
        ["entities"] => 5,
        ["reads" | "writes" | "steps"] => 12,
        ["types"] => 10,
        ["entities", _, "attributes"] => 8,
        _ => 7,
    };
    json!({
        "name": symbol.name,
        "kind": kind,
        "range": range_of(text, symbol.span),
        "selectionRange": range_of(text, symbol.name_span),
        "children": symbol.children.iter().map(|child| symbol_json(text, child)).collect::<Json>(),
    })
}

fn location(text: &str, uri: &str, span: Span) -> Json {
    json!({"uri": uri, "range": range_of(text, span)})
}

fn edit(text: &str, span: Span, new_text: &str) -> Json {
    let start = position_of(text, span.start);
    json!({"range": {"start": start, "end": position_of(text, span.end)}, "newText": new_text})
}
