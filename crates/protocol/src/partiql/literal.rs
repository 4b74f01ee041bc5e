//! Values as a statement writes them.

use std::collections::{BTreeMap, BTreeSet};

use singlet_item::limits::NESTING_LEVELS_MAX;
use singlet_item::{Number, Value};
use singlet_store::well_formed::Malformed;

use super::parse::StatementParser;
use super::token::StatementToken;
use crate::value::NESTED_TOO_DEEP;

impl StatementParser {
    pub(super) fn value(&mut self) -> Result<Value, Malformed> {
        // A value in itself is one level; what it stands in are the others.
        if self.levels == NESTING_LEVELS_MAX {
            return Err(Malformed::from(NESTED_TOO_DEEP));
        }
        self.levels += 1;
        let value = self.plain_value();
        self.levels -= 1;
        value
    }

    fn plain_value(&mut self) -> Result<Value, Malformed> {
        let Some(token) = self.peek().cloned() else {
            return Err(self.unexpected());
        };
        self.at += 1;
        match token {
            StatementToken::Text(text) => Ok(Value::S(text)),
            StatementToken::Number(text) => number(&text),
            StatementToken::Word(word) if word.eq_ignore_ascii_case("TRUE") => Ok(Value::Bool(true)),
            StatementToken::Word(word) if word.eq_ignore_ascii_case("FALSE") => Ok(Value::Bool(false)),
            StatementToken::Word(word) if word.eq_ignore_ascii_case("NULL") => Ok(Value::Null),
            StatementToken::Sign("-") => match self.peek().cloned() {
                Some(StatementToken::Number(text)) => {
                    self.at += 1;
                    number(&format!("-{text}"))
                }
                _ => Err(self.unexpected()),
            },
            StatementToken::Sign("?") => self
                .parameters
                .next()
                .ok_or_else(|| Malformed::from("Number of parameters in request and statement don't match.")),
            StatementToken::Sign("[") => self.elements("]").map(Value::L),
            StatementToken::Sign("<<") => {
                let elements = self.elements(">>")?;
                set(elements).ok_or_else(|| self.unexpected())
            }
            StatementToken::Sign("{") => self.entries().map(Value::M),
            _ => {
                self.at -= 1;
                Err(self.unexpected())
            }
        }
    }

    fn elements(&mut self, end: &str) -> Result<Vec<Value>, Malformed> {
        let mut elements = Vec::new();
        if self.take_sign(end) {
            return Ok(elements);
        }
        loop {
            elements.push(self.value()?);
            if !self.take_sign(",") {
                self.sign(end)?;
                return Ok(elements);
            }
        }
    }

    pub(super) fn entries(&mut self) -> Result<BTreeMap<String, Value>, Malformed> {
        let mut entries = BTreeMap::new();
        if self.take_sign("}") {
            return Ok(entries);
        }
        loop {
            let name = match self.peek().cloned() {
                Some(StatementToken::Text(name) | StatementToken::Name(name)) => name,
                _ => return Err(self.unexpected()),
            };
            self.at += 1;
            self.sign(":")?;
            let value = self.value()?;
            entries.insert(name, value);
            if !self.take_sign(",") {
                self.sign("}")?;
                return Ok(entries);
            }
        }
    }
}

fn number(text: &str) -> Result<Value, Malformed> {
    let read = crate::value::number_of(text);
    read.map(Value::N).map_err(|fault| Malformed::from(fault.message()))
}

/// Elements of one type, at least one and none twice.
fn set(elements: Vec<Value>) -> Option<Value> {
    let count = elements.len();
    let texts: BTreeSet<String> = elements
        .iter()
        .filter_map(|value| Some(value.as_str()?.to_owned()))
        .collect();
    let numbers: BTreeSet<Number> = elements.iter().filter_map(Value::as_number).collect();
    let binaries: BTreeSet<Vec<u8>> = elements
        .iter()
        .filter_map(|value| Some(value.as_bytes()?.to_vec()))
        .collect();
    match count {
        0 => None,
        _ if texts.len() == count => Some(Value::Ss(texts)),
        _ if numbers.len() == count => Some(Value::Ns(numbers)),
        _ if binaries.len() == count => Some(Value::Bs(binaries)),
        _ => None,
    }
}
