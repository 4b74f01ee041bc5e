//! Nodes of the file as what is expected there. What is something else is reported.

use singlet_model::node::{Entry, Node};
use singlet_model::text::Text;
use singlet_model::{Diagnostic, Span};

use super::ScenarioReader;
use crate::{clocks, rules};

impl ScenarioReader<'_> {
    pub(super) fn entries<'n>(&mut self, node: Option<&'n Node>, word: &str) -> &'n [Entry] {
        if let Some(other) = node.filter(|node| !node.is_map()) {
            self.mistake(other.span(), &format!("`{word}` is a map"));
        }
        node.map(Node::entries).unwrap_or_default()
    }

    pub(super) fn pairs(&mut self, node: Option<&Node>, word: &str) -> Vec<(Text, Node)> {
        let entries = self.entries(node, word).iter();
        entries.map(|entry| (entry.key.clone(), entry.value.clone())).collect()
    }

    pub(super) fn truth(&mut self, node: Option<&Node>) -> bool {
        let word = node.map(|node| node.str().unwrap_or_default());
        if let Some(node) = node.filter(|_| !matches!(word, Some("true" | "false"))) {
            self.mistake(node.span(), "this is `true` or `false`");
        }
        word == Some("true")
    }

    pub(super) fn texts(&mut self, node: Option<&Node>, word: &str) -> Vec<(Text, Text)> {
        let mut texts = Vec::new();
        for entry in self.entries(node, word) {
            match entry.value.text() {
                Some(text) => texts.push((entry.key.clone(), text.clone())),
                None => self.mistake(entry.value.span(), "one value is expected here"),
            }
        }
        texts
    }

    pub(super) fn elements<'n>(&mut self, node: Option<&'n Node>, word: &str) -> &'n [Node] {
        if let Some(other) = node.filter(|node| !matches!(node, Node::List(..))) {
            self.mistake(other.span(), &format!("`{word}` is a list"));
        }
        node.map(Node::elements).unwrap_or_default()
    }

    pub(super) fn instant(&mut self, node: &Node) -> i64 {
        let instant = node.str().and_then(clocks::instant_millis);
        if instant.is_none() {
            self.mistake(node.span(), "this is no instant, such as `2026-03-10T09:00:00Z`");
        }
        instant.unwrap_or_default()
    }

    pub(super) fn number<T: std::str::FromStr>(&mut self, node: &Node) -> Option<T> {
        match node {
            Node::Scalar(text) => self.parsed(text),
            other => {
                self.mistake(other.span(), "a whole number is expected here");
                None
            }
        }
    }

    pub(super) fn parsed<T: std::str::FromStr>(&mut self, text: &Text) -> Option<T> {
        let number = text.text.parse().ok();
        if number.is_none() {
            self.mistake(text.span, "a whole number is expected here");
        }
        number
    }

    /// Reports what is no map, and keys that mean nothing there.
    pub(super) fn words(&mut self, node: &Node, known: &[&[&str]], what: &str) {
        if !node.is_map() {
            self.mistake(node.span(), &format!("{what} is a map"));
        }
        for entry in node.entries() {
            let known = || known.iter().flat_map(|words| words.iter().copied());
            if !known().any(|word| word == entry.key.text) {
                let message = format!("{what} has no `{}`", entry.key.text);
                let wrong = Diagnostic::new(&rules::MISTAKE, entry.key.span, message);
                self.out.push(wrong.did_you_mean(&entry.key.text, known()));
            }
        }
    }

    pub(super) fn mistake(&mut self, span: Span, message: &str) {
        self.out.push(Diagnostic::new(&rules::MISTAKE, span, message));
    }
}
