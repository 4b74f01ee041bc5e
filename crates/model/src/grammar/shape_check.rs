//! Does the file have the shape of a model? Every deviation is reported; nothing stops the check.

use super::{Record, Shape, words};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::node::{Entry, Node};
use crate::rules;
use crate::source::Span;
use crate::text::Text;

/// Checks a whole file.
pub fn check(root: &Node, out: &mut Diagnostics) {
    Check { out }.record(root, &words::MODEL, root.span());
}

struct Check<'a> {
    out: &'a mut Diagnostics,
}

impl Check<'_> {
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
                let message = format!("`{}` is {}, not {}", name.text, node.kind(), wanted.join(" or "));
                self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message));
            }
        }
    }

    fn record(&mut self, node: &Node, record: &Record, at: Span) {
        let Node::Map(entries, _) = node else {
            let fields: Vec<&str> = record.fields.iter().map(|field| field.name).take(6).collect();
            let message = format!("{} is a map, not {}", with_article(record.name), node.kind());
            let help = format!("its fields are {}", listed(&fields));
            self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            return;
        };
        if self.cut(entries) {
            return;
        }
        for entry in entries {
            match (record.field(&entry.key.text), record.others) {
                (Some(field), _) => self.entry(entry, &field.shape),
                (None, Some((_, shape))) => self.entry(entry, shape),
                (None, None) => self.unknown_field(entry, record),
            }
        }
        self.missing_fields(entries, record, at);
    }

    fn missing_fields(&mut self, entries: &[Entry], record: &Record, at: Span) {
        let missing = record
            .fields
            .iter()
            .filter(|field| field.required && !entries.iter().any(|entry| entry.key.text == field.name));
        for field in missing {
            let message = format!("this {} has no `{}`", record.name, field.name);
            let help = format!("`{}`: {}", field.name, field.doc);
            self.out.push(Diagnostic::new(&rules::MISSING_FIELD, at, message).help(help));
        }
    }

    fn unknown_field(&mut self, entry: &Entry, record: &Record) {
        let known = record.fields.iter().map(|field| field.name);
        let message = format!("{} has no field `{}`", with_article(record.name), entry.key.text);
        let mut diagnostic =
            Diagnostic::new(&rules::UNKNOWN_FIELD, entry.key.span, message).did_you_mean(&entry.key.text, known.clone());
        if diagnostic.help.is_none() {
            let known: Vec<&str> = known.collect();
            diagnostic = diagnostic.help(format!("its fields are {}", listed(&known)));
        }
        self.out.push(diagnostic);
    }

    fn names(&mut self, node: &Node, what: &str, inner: &Shape, name: &Text) {
        let Node::Map(entries, _) = node else {
            let message = format!("`{}` is a map from {what} names, not {}", name.text, node.kind());
            self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message));
            return;
        };
        if self.cut(entries) {
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
            self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message).help(help));
            return;
        };
        for element in elements {
            if let Some(text) = element.text()
                && is_null(text)
            {
                self.null(text.span, &format!("an element of `{}`", name.text));
                continue;
            }
            self.node(element, inner, name);
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
                self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message));
            }
            Shape::Flag if !matches!(text.text.as_str(), "true" | "false") => {
                let message = format!("`{}` is neither `true` nor `false`", text.text);
                self.out.push(Diagnostic::new(&rules::WRONG_SHAPE, text.span, message));
            }
            Shape::Words(known) if !known.contains(&text.text.as_str()) => self.unknown_word(text, known),
            Shape::Template if text.is_plain() => {
                let message = format!("the template `{}` is not quoted", text.text);
                let help = "YAML reads `#`, `{` and `: ` in a template as its own: quote it";
                let quoted = format!("\"{}\"", text.text);
                self.out
                    .push(Diagnostic::new(&rules::UNQUOTED_TEMPLATE, text.span, message).replace_with(quoted).help(help));
            }
            _ => {}
        }
    }

    fn unknown_word(&mut self, text: &Text, known: &[&str]) {
        let message = format!("`{}` is not one of {}", text.text, listed(known));
        self.out.push(
            Diagnostic::new(&rules::WRONG_SHAPE, text.span, message).did_you_mean(&text.text, known.iter().copied()),
        );
    }

    fn mismatch(&mut self, node: &Node, shape: &Shape, name: &Text) {
        let message = format!("`{}` is {}, not {}", name.text, describe(shape), node.kind());
        let mut diagnostic = Diagnostic::new(&rules::WRONG_SHAPE, node.span(), message);
        if matches!(shape, Shape::Expr | Shape::Template | Shape::Text) {
            diagnostic = diagnostic.help("quote a text that begins with `{` or `[`");
        }
        self.out.push(diagnostic);
    }

    /// A comma or bracket inside an unquoted expression of a flow map ends the expression for YAML, and what is left turns
    /// into keys without values. That is one mistake, not several.
    fn cut(&mut self, entries: &[Entry]) -> bool {
        let cut = entries.iter().zip(entries.iter().skip(1)).find_map(|(entry, next)| {
            let text = entry.value.text()?;
            let left_over = next.value.text().is_some_and(is_null);
            (left_over && text.is_plain() && unbalanced(&text.text)).then_some((text, next))
        });
        let Some((text, next)) = cut else {
            return false;
        };
        let message = format!("YAML cut this expression here: `{}`", text.text);
        self.out.push(
            Diagnostic::new(&rules::CUT_EXPRESSION, text.span, message)
                .note(next.key.span, "the rest became a key of its own")
                .help("put the whole expression in quotes"),
        );
        true
    }
}

/// A field that is present but null: YAML's spellings of nothing.
fn is_null(text: &Text) -> bool {
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
        Shape::Words(known) => format!("one of {}", listed(known)),
        Shape::Type => "a type".to_owned(),
        Shape::List(_) => "a list".to_owned(),
        Shape::Names(what, _) => format!("a map from {what} names"),
        Shape::Record(record) => format!("a map of {}", record.name),
        Shape::Either(shapes) => shapes.iter().map(describe).collect::<Vec<_>>().join(" or "),
    }
}

/// `a read`, `an entity`.
fn with_article(name: &str) -> String {
    let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) && !name.starts_with("us") { "an" } else { "a" };
    format!("{article} {name}")
}

/// Words in backticks, with commas.
pub(crate) fn listed<S: AsRef<str>>(words: &[S]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{}`", word.as_ref())).collect();
    quoted.join(", ")
}
