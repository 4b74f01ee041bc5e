//! Does the file have the shape of a model? Every deviation is reported; nothing stops the check.

use std::collections::HashSet;

use super::{Record, Shape, words};
use crate::diagnostic::{Diagnostic, Diagnostics, nearest_word};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::{Source, Span};
use crate::text::{Text, with_article};

/// Checks a whole file. What it answers are the places that YAML has torn apart: whatever else is found there follows from that.
pub fn check_shape(root: &Node, source: &Source, out: &mut Diagnostics) -> Vec<Span> {
    let mut check = ShapeCheck {
        source,
        out,
        unreadable: Vec::new(),
    };
    check.record(root, &words::MODEL, root.span());
    check.unreadable
}

struct ShapeCheck<'a> {
    source: &'a Source,
    out: &'a mut Diagnostics,
    unreadable: Vec<Span>,
}

impl ShapeCheck<'_> {
    fn node(&mut self, node: &Node, shape: &Shape, name: &Text) {
        match shape {
            Shape::Either(shapes) => self.either(node, shapes, name),
            Shape::Record(record) => self.record(node, record, name.span),
            Shape::Names(what, inner) => self.names(node, what, inner, name),
            Shape::List(inner) => self.list(node, inner, name),
            _ => match node {
                Node::Scalar(text) => self.scalar(text, shape),
                other => self.mismatch(other, shape, name),
            },
        }
    }

    /// Takes the shape that fits the kind of node; a scalar that fits no word list is reported with all that may stand there.
    fn either(&mut self, node: &Node, shapes: &[Shape], name: &Text) {
        let fitting = shapes.iter().find(|shape| fits(node, shape));
        match fitting {
            Some(shape) => self.node(node, shape, name),
            None => {
                let wanted: Vec<String> = shapes.iter().map(describe).collect();
                let message = format!("`{}` takes {}, not {}", name.text, wanted.join(" or "), node.kind());
                let help = "write one of these, or leave the field out";
                self.out
                    .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            }
        }
    }

    fn record(&mut self, node: &Node, record: &Record, at: Span) {
        let Node::Map(entries, _) = node else {
            let fields: Vec<&str> = record.fields.iter().map(|field| field.name).take(6).collect();
            let message = format!("{} is a map, not {}", with_article(record.name), node.kind());
            let help = format!("its fields are {}", listed_words(&fields));
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            return;
        };
        if self.cut(entries, node.span()) {
            return;
        }
        let mut meant: Vec<&str> = Vec::new();
        for entry in entries {
            match (record.field_named(&entry.key.text), record.others) {
                (Some(field), _) => self.entry(entry, &field.shape),
                (None, Some((_, shape))) => self.entry(entry, shape),
                (None, None) => meant.extend(self.unknown_field(entry, record)),
            }
        }
        self.missing_fields(entries, record, &meant, at);
    }

    /// A field that another one was meant to be is not missing too.
    fn missing_fields(&mut self, entries: &[Entry], record: &Record, meant: &[&str], at: Span) {
        let names: HashSet<&str> = entries.iter().map(|entry| entry.key.text.as_str()).collect();
        let missing = record
            .fields
            .iter()
            .filter(|field| field.required && !names.contains(field.name));
        for field in missing.filter(|field| !meant.contains(&field.name)) {
            let message = format!("this {} has no `{}`", record.name, field.name);
            let help = format!("add `{}: …`: {}", field.name, sentence(field.doc));
            self.out
                .push(Diagnostic::new(&rules::MISSING_FIELD, at, message).help(help));
        }
    }

    /// Reports a field that there is not, and says which one was meant, where that can be told.
    fn unknown_field(&mut self, entry: &Entry, record: &Record) -> Option<&'static str> {
        if self.out.is_full() {
            return None;
        }
        let word = entry.key.text.as_str();
        let known: Vec<&'static str> = record.fields.iter().map(|field| field.name).collect();
        let message = format!("{} has no field `{word}`", with_article(record.name));
        let diagnostic = Diagnostic::new(&rules::UNKNOWN_FIELD, entry.key.span, message);
        let elsewhere = called_elsewhere(word).filter(|ours| known.contains(ours));
        let meant = elsewhere.or_else(|| nearest_word(word, known.iter().copied()));
        self.out.push(match meant {
            Some(meant) => diagnostic.help(format!("did you mean `{meant}`?")).replace_with(meant),
            None => diagnostic.help(format!("its fields are {}", listed_words(&known))),
        });
        meant
    }

    fn names(&mut self, node: &Node, what: &str, inner: &Shape, name: &Text) {
        let Node::Map(entries, _) = node else {
            let message = format!("`{}` is a map from {what} names, not {}", name.text, node.kind());
            let help = format!("write each {what} as `name: …`, without `-` before it");
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            return;
        };
        if self.cut(entries, node.span()) {
            return;
        }
        for entry in entries {
            self.entry(entry, inner);
        }
    }

    fn list(&mut self, node: &Node, inner: &Shape, name: &Text) {
        let Node::List(elements, _) = node else {
            let message = format!("`{}` is a list, not {}", name.text, node.kind());
            let help = "write `[a, b]`, or one element a line after `- `";
            self.out
                .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            return;
        };
        if self.cut_element(elements, node.span()) {
            return;
        }
        for element in elements {
            if let Some(text) = element.text()
                && is_null(text)
            {
                self.null(text.span, &format!("an element of `{}`", name.text));
                continue;
            }
            match inner {
                Shape::Record(record) => self.record(element, record, element.span()),
                _ => self.node(element, inner, name),
            }
        }
    }

    fn entry(&mut self, entry: &Entry, shape: &Shape) {
        match &entry.value {
            Node::Scalar(text) if is_null(text) => {
                self.null(entry.key.span, &format!("`{}`", entry.key.text));
            }
            value => self.node(value, shape, &entry.key),
        }
    }

    fn null(&mut self, span: Span, what: &str) {
        let message = format!("{what} has no value");
        self.out
            .push(Diagnostic::new(&rules::NULL_VALUE, span, message).help("give it one, or leave it out"));
    }

    fn scalar(&mut self, text: &Text, shape: &Shape) {
        match shape {
            Shape::Whole if text.text.parse::<u64>().is_err() => {
                let message = format!("`{}` is no whole number", text.text);
                let help = "write digits alone, such as `25`";
                self.out
                    .push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help(help));
            }
            Shape::Flag if !matches!(text.text.as_str(), "true" | "false") => {
                let message = format!("`{}` is neither `true` nor `false`", text.text);
                let help = "write `true`, or leave the field out";
                self.out
                    .push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).help(help));
            }
            Shape::Words(known) if !known.contains(&text.text.as_str()) => self.unknown_word(text, known),
            Shape::Template if text.is_plain() && self.comment_after(text).is_some() => {
                let dropped = self.comment_after(text).unwrap_or_default();
                let message = format!(
                    "YAML takes `{dropped}` for a comment, and the template ends at `{}`",
                    text.text
                );
                let help = format!("quote the whole template: `\"{} {dropped}\"`", text.text);
                self.out
                    .push(Diagnostic::new(&rules::UNQUOTED_TEMPLATE, text.span, message).help(help));
            }
            Shape::Template if text.is_plain() => {
                let message = format!("the template `{}` is not quoted", text.text);
                let help = "YAML reads `#`, `{` and `: ` in a template as its own: quote it";
                let quoted = format!("\"{}\"", text.text);
                self.out.push(
                    Diagnostic::new(&rules::UNQUOTED_TEMPLATE, text.span, message)
                        .replace_with(quoted)
                        .help(help),
                );
            }
            _ => {}
        }
    }

    /// What stands after a scalar in its line and looks like a template's part, though YAML takes it for a comment.
    fn comment_after(&self, text: &Text) -> Option<&str> {
        let rest = self.source.text().get(text.span.end as usize..)?.lines().next()?;
        let comment = rest.trim();
        (rest.starts_with(' ') && comment.starts_with("#{")).then_some(comment)
    }

    fn unknown_word(&mut self, text: &Text, known: &[&str]) {
        let message = format!("`{}` is not one of {}", text.text, listed_words(known));
        let mut diagnostic =
            Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).did_you_mean(&text.text, known.iter().copied());
        if diagnostic.help.is_none() {
            diagnostic = diagnostic.help("write one of these words");
        }
        self.out.push(diagnostic);
    }

    fn mismatch(&mut self, node: &Node, shape: &Shape, name: &Text) {
        let message = format!("`{}` takes {}, not {}", name.text, describe(shape), node.kind());
        let help = match shape {
            Shape::Expr | Shape::Template | Shape::Text => {
                "quote it: YAML makes a map or a list of a text that begins with `{` or `[`"
            }
            _ => "write the value alone, without brackets",
        };
        self.out
            .push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
    }

    /// A comma or bracket inside an unquoted expression of a flow map ends the expression for YAML, and what is left turns
    /// into keys without values. That is one mistake, not several.
    fn cut(&mut self, entries: &[Entry], whole: Span) -> bool {
        let cut = entries.iter().zip(entries.iter().skip(1)).find_map(|(entry, next)| {
            let text = entry.value.text()?;
            let left_over = next.value.text().is_some_and(is_null);
            (left_over && text.is_plain() && unbalanced(&text.text)).then_some((text, next))
        });
        let Some((text, next)) = cut else {
            return false;
        };
        self.report_cut(text, (next.key.span, "the rest became a key of its own"), whole);
        true
    }

    /// The same in a list: what is left becomes the next element.
    fn cut_element(&mut self, elements: &[Node], whole: Span) -> bool {
        let cut = elements
            .iter()
            .zip(elements.iter().skip(1))
            .find_map(|(element, next)| {
                let (text, rest) = (element.text()?, next.text()?);
                let is_cut = |text: &Text| text.is_plain() && unbalanced(&text.text);
                (is_cut(text) && is_cut(rest)).then_some((text, rest.span))
            });
        let Some((text, rest)) = cut else {
            return false;
        };
        self.report_cut(text, (rest, "the rest became an element of its own"), whole);
        true
    }

    fn report_cut(&mut self, text: &Text, (rest, note): (Span, &str), whole: Span) {
        let message = format!("YAML cut this expression here: `{}`", text.text);
        self.out.push(
            Diagnostic::new(&rules::CUT_EXPRESSION, text.span, message)
                .note(rest, note)
                .help("put the whole expression in quotes"),
        );
        self.unreadable.push(whole);
    }
}

/// What other tools call our fields.
fn called_elsewhere(word: &str) -> Option<&'static str> {
    Some(match word {
        "hash" | "hashKey" | "partitionKey" | "pk" | "PK" | "HASH" => "partition",
        "range" | "rangeKey" | "sortKey" | "sk" | "SK" | "RANGE" => "sort",
        "projection" | "projects" => "project",
        "gsi" | "globalSecondaryIndexes" | "secondaryIndexes" => "indexes",
        "fields" | "properties" | "schema" | "columns" => "attributes",
        "ttl" | "expiry" | "expiration" => "expires",
        "filter" | "condition" | "if" => "where",
        "sortBy" | "orderBy" | "sort_by" | "order_by" => "order",
        "route" | "path" | "url" | "endpoint" => "http",
        "params" | "arguments" | "input" | "parameters" => "args",
        "authorize" | "auth" | "permission" | "permissions" => "allow",
        "steps" | "actions" => "do",
        "returns" | "output" | "response" => "return",
        "timezone" => "zone",
        "models" => "entities",
        _ => return None,
    })
}

/// The documentation of a field as part of a help: without its full stop, in lower case.
fn sentence(doc: &str) -> String {
    let doc = doc.trim_end_matches('.');
    let mut chars = doc.chars();
    chars
        .next()
        .map(|first| first.to_lowercase().chain(chars).collect())
        .unwrap_or_default()
}

/// A field that is present but null: YAML's spellings of nothing.
pub(crate) fn is_null(text: &Text) -> bool {
    text.is_plain() && matches!(text.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
}

fn unbalanced(text: &str) -> bool {
    let count = |wanted: char| text.chars().filter(|char| *char == wanted).count();
    count('(') != count(')') || count('[') != count(']') || count('{') != count('}')
}

/// Whether a node can be of a shape at all. A scalar takes the first scalar shape, except that a word list gives way to a
/// later scalar shape when the word is not in it.
fn fits(node: &Node, shape: &Shape) -> bool {
    match (node, shape) {
        (Node::Map(..), Shape::Record(_) | Shape::Names(..)) => true,
        (Node::List(..), Shape::List(_)) => true,
        (Node::Scalar(_), Shape::Record(_) | Shape::Names(..) | Shape::List(_)) => false,
        (Node::Scalar(_), _) => true,
        _ => false,
    }
}

fn describe(shape: &Shape) -> String {
    match shape {
        Shape::Expr => "an expression".to_owned(),
        Shape::Template => "a quoted template".to_owned(),
        Shape::Name => "a name".to_owned(),
        Shape::Text => "a text".to_owned(),
        Shape::Whole => "a whole number".to_owned(),
        Shape::Flag => "`true` or `false`".to_owned(),
        Shape::Words(known) => format!("one of {}", listed_words(known)),
        Shape::Type => "a type".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Names(what, _) => format!("a map from {what} names"),
        Shape::Record(record) => format!("a map of {}", record.name),
        Shape::Either(shapes) => shapes.iter().map(describe).collect::<Vec<_>>().join(" or "),
    }
}

/// Words in backticks, with commas.
pub(crate) fn listed_words<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    quoted.join(", ")
}
