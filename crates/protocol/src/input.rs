//! The body of a request, by its members.

use serde_json::{Map, Value as Json};

use crate::fault::Fault;

/// An object of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    members: &'a Map<String, Json>,
}

impl<'a> Input<'a> {
    pub(crate) fn new(members: &'a Map<String, Json>) -> Self {
        Self { members }
    }

    /// The object that a member of a list or map is.
    pub(crate) fn of(json: &'a Json) -> Result<Self, Fault> {
        match json {
            Json::Object(members) => Ok(Self { members }),
            other => Err(Fault::serialization_of(other, "Structure")),
        }
    }

    /// A member that is there; `null` counts as none.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Json> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(other) => Err(Fault::serialization_of(other, "String")),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(Fault::serialization_of(other, "Boolean")),
        }
    }

    /// A whole number; a fraction is cut off, as DynamoDB does.
    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Number(number)) => {
                let cut = || number.as_f64().map(|float| float.trunc() as i64);
                Ok(number.as_i64().or_else(cut))
            }
            Some(other) => Err(Fault::serialization_of(other, "Integer")),
        }
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&'a Map<String, Json>>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Object(members)) => Ok(Some(members)),
            Some(other) => Err(Fault::serialization_of(other, "Map")),
        }
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a [Json]>, Fault> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Array(elements)) => Ok(Some(elements)),
            Some(Json::Object(_)) => Err(Fault::serialization_fault(
                "Start of structure or map found where not expected",
            )),
            Some(_) => Err(Fault::serialization_fault("Unexpected field type")),
        }
    }

    pub(crate) fn inner(&self, name: &str) -> Result<Option<Input<'a>>, Fault> {
        Ok(self.object(name)?.map(Input::new))
    }
}

/// What is wrong with the shape of a request: DynamoDB says all of it at once.
#[derive(Debug, Default)]
pub(crate) struct Constraints {
    broken: Vec<String>,
}

impl Constraints {
    /// Adds `Value 'x' at 'place' failed to satisfy constraint: …`.
    pub(crate) fn add_failure(&mut self, value: Option<&str>, place: &str, constraint: &str) {
        let value = value.map_or("null".to_owned(), |value| format!("'{value}'"));
        self.broken.push(format!(
            "Value {value} at '{place}' failed to satisfy constraint: {constraint}"
        ));
    }

    /// Adds words that do not show the value.
    pub(crate) fn add_words(&mut self, words: impl Into<String>) {
        self.broken.push(words.into());
    }

    pub(crate) fn not_null(&mut self, is_there: bool, place: &str) {
        if !is_there {
            self.add_failure(None, place, "Member must not be null");
        }
    }

    /// A word that must be one of a few, in DynamoDB's order of them.
    pub(crate) fn one_of(&mut self, value: Option<&str>, place: &str, options: &[&str]) {
        if let Some(value) = value.filter(|value| !options.contains(value)) {
            let set = format!("Member must satisfy enum value set: [{}]", options.join(", "));
            self.add_failure(Some(value), place, &set);
        }
    }

    pub(crate) fn at_least(&mut self, value: Option<i64>, place: &str, least: i64) {
        if let Some(value) = value.filter(|value| *value < least) {
            let words = format!("Member must have value greater than or equal to {least}");
            self.add_failure(Some(&value.to_string()), place, &words);
        }
    }

    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self.broken.len() {
            0 => Ok(()),
            count => Err(Fault::validation_fault(format!(
                "{count} validation error{} detected: {}",
                if count == 1 { "" } else { "s" },
                self.broken.join("; ")
            ))),
        }
    }
}

/// The options of `ReturnConsumedCapacity`.
pub(crate) const CAPACITY_MODES: [&str; 3] = ["INDEXES", "TOTAL", "NONE"];
/// The options of `ReturnItemCollectionMetrics`.
pub(crate) const METRICS_MODES: [&str; 2] = ["SIZE", "NONE"];
/// The options of `ReturnValues`.
pub(crate) const RETURN_VALUES: [&str; 5] = ["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"];
/// The options of `ReturnValuesOnConditionCheckFailure`.
pub(crate) const RETURN_ON_FAILURE: [&str; 2] = ["ALL_OLD", "NONE"];

/// The name of a table, or the one in its ARN. It is looked at before all else, and alone.
pub(crate) fn table_name(input: &Input<'_>, least_chars: usize) -> Result<String, Fault> {
    let mut constraints = Constraints::default();
    let Some(name) = input.text("TableName")? else {
        constraints.not_null(false, "tableName");
        constraints.finish()?;
        return Ok(String::new());
    };
    let name = name_of_arn(name).unwrap_or(name);
    check_name(&mut constraints, name, "tableName", least_chars);
    constraints.finish()?;
    Ok(name.to_owned())
}

/// The table in `arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`.
pub(crate) fn name_of_arn(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:aws:dynamodb:")?
        .split_once(":table/")
        .map(|(_, name)| name)
}

/// The name of a table or an index: its length, else its characters.
pub(crate) fn check_name(constraints: &mut Constraints, name: &str, place: &str, least_chars: usize) {
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let chars = name.chars().count();
    if chars < least_chars {
        let words = format!("Member must have length greater than or equal to {least_chars}");
        constraints.add_failure(Some(name), place, &words);
    } else if chars > singlet_item::limits::NAME_CHARS_MAX {
        constraints.add_failure(Some(name), place, "Member must have length less than or equal to 255");
    } else if !name.chars().all(is_allowed) {
        constraints.add_failure(
            Some(name),
            place,
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
        );
    }
}

/// Refuses a request that mixes expressions with the parameters of before them.
pub(crate) fn check_unmixed(input: &Input<'_>, legacy: &[&str], expressions: &[&str]) -> Result<(), Fault> {
    let there = |names: &[&str]| -> Vec<String> {
        let there = names.iter().filter(|name| input.has(name));
        there.map(|name| (*name).to_owned()).collect()
    };
    let (legacy, expressions) = (there(legacy), there(expressions));
    match legacy.is_empty() || expressions.is_empty() {
        true => Ok(()),
        false => Err(Fault::validation_fault(format!(
            "Can not use both expression and non-expression parameters in the same request: \
             Non-expression parameters: {{{}}} Expression parameters: {{{}}}",
            legacy.join(", "),
            expressions.join(", ")
        ))),
    }
}
