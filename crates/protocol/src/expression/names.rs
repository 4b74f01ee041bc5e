//! What stands for names and values in the expressions of one request, and which of it was used.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use singlet_item::Value;
use singlet_store::well_formed::Malformed;

use crate::fault::Fault;
use crate::input::Input;
use crate::value::attribute_value;

/// The placeholders of a request. All its expressions share them.
#[derive(Debug, Default)]
pub(crate) struct RequestPlaceholders {
    names: BTreeMap<String, String>,
    values: BTreeMap<String, Value>,
    used_names: RefCell<BTreeSet<String>>,
    used_values: RefCell<BTreeSet<String>>,
}

impl RequestPlaceholders {
    /// Reads `ExpressionAttributeNames` and `ExpressionAttributeValues`. `expressions` are the parameters that could use
    /// them, with whether they are there.
    pub(crate) fn read(input: &Input<'_>, expressions: &[(&str, bool)], takes_values: bool) -> Result<Self, Fault> {
        let used = expressions.iter().any(|(_, is_there)| *is_there);
        let mut found = Self::default();
        if let Some(names) = input.object("ExpressionAttributeNames")? {
            if !used {
                return Err(Fault::validation_fault(
                    "ExpressionAttributeNames can only be specified when using expressions",
                ));
            }
            if names.is_empty() {
                return Err(Fault::validation_fault("ExpressionAttributeNames must not be empty"));
            }
            for (key, name) in names {
                let Json::String(name) = name else {
                    return Err(Fault::serialization_of(name, "String"));
                };
                check_key("ExpressionAttributeNames", key, '#')?;
                found.names.insert(key.clone(), name.clone());
            }
        }
        if let Some(values) = input.object("ExpressionAttributeValues")?.filter(|_| takes_values) {
            if !used {
                return Err(Fault::validation_fault(without_expressions(expressions)));
            }
            if values.is_empty() {
                return Err(Fault::validation_fault("ExpressionAttributeValues must not be empty"));
            }
            for (key, value) in values {
                check_key("ExpressionAttributeValues", key, ':')?;
                let value = attribute_value(value).map_err(|fault| {
                    fault.in_other_words(|inner| {
                        format!("ExpressionAttributeValues contains invalid value: {inner} for key {key}")
                    })
                })?;
                found.values.insert(key.clone(), value);
            }
        }
        Ok(found)
    }

    /// Placeholders that are known otherwise.
    #[cfg(test)]
    pub(crate) fn of(names: BTreeMap<String, String>, values: BTreeMap<String, Value>) -> Self {
        Self {
            names,
            values,
            ..Self::default()
        }
    }

    /// The attribute name that `#name` stands for.
    pub(crate) fn name(&self, placeholder: &str) -> Result<String, Malformed> {
        self.used_names.borrow_mut().insert(placeholder.to_owned());
        self.names.get(placeholder).cloned().ok_or_else(|| {
            Malformed::from(format!(
                "An expression attribute name used in the document path is not defined; attribute name: {placeholder}"
            ))
        })
    }

    /// The value that `:value` stands for.
    pub(crate) fn value(&self, placeholder: &str) -> Result<Value, Malformed> {
        self.used_values.borrow_mut().insert(placeholder.to_owned());
        self.values.get(placeholder).cloned().ok_or_else(|| {
            Malformed::from(format!(
                "An expression attribute value used in expression is not defined; attribute value: {placeholder}"
            ))
        })
    }

    /// Refuses placeholders that no expression used.
    pub(crate) fn all_used(&self) -> Result<(), Fault> {
        let unused = |what: &str, given: Vec<&String>| {
            let list: Vec<&str> = given.into_iter().map(String::as_str).collect();
            match list.is_empty() {
                true => Ok(()),
                false => Err(Fault::validation_fault(format!(
                    "Value provided in {what} unused in expressions: keys: {{{}}}",
                    list.join(", ")
                ))),
            }
        };
        let (names, values) = (self.used_names.borrow(), self.used_values.borrow());
        unused(
            "ExpressionAttributeNames",
            self.names.keys().filter(|key| !names.contains(*key)).collect(),
        )?;
        unused(
            "ExpressionAttributeValues",
            self.values.keys().filter(|key| !values.contains(*key)).collect(),
        )
    }
}

fn check_key(parameter: &str, key: &str, sign: char) -> Result<(), Fault> {
    let rest = key.strip_prefix(sign).unwrap_or_default();
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    match !rest.is_empty() && rest.chars().all(is_word) {
        true => Ok(()),
        false => Err(Fault::validation_fault(format!(
            "{parameter} contains invalid key: Syntax error; key: \"{key}\""
        ))),
    }
}

fn without_expressions(expressions: &[(&str, bool)]) -> String {
    let names: Vec<&str> = expressions
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| *name != "ProjectionExpression")
        .collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!(
        "ExpressionAttributeValues can only be specified when using expressions: {} {verb} null",
        names.join(" and ")
    )
}
