//! Updates.

use singlet_item::Value;
use singlet_store::{Path, SetOperand, SetValue, Update};

use super::token::Token;
use super::{Parser, Placeholders, check_distinct, no_path, parse, wrong_count, wrong_type};
use crate::fault::Fault;

/// Reads an update.
pub(crate) fn read(source: &str, placeholders: &Placeholders) -> Result<Update, Fault> {
    parse("UpdateExpression", source, placeholders, |parser| parser.update())
}

const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

impl Parser<'_> {
    fn update(&mut self) -> Result<Update, String> {
        let mut update = Update::new();
        let mut seen: Vec<&str> = Vec::new();
        while self.tokens.peek().is_some() {
            let Some(section) = SECTIONS.into_iter().find(|section| self.tokens.take_keyword(section)) else {
                return Err(self.tokens.syntax_error());
            };
            if seen.contains(&section) {
                return Err(format!(
                    "The \"{section}\" section can only be used once in an update expression;"
                ));
            }
            seen.push(section);
            self.section(section, &mut update)?;
        }
        if seen.is_empty() {
            return Err(self.tokens.syntax_error());
        }
        check_distinct(paths_of(&update))?;
        Ok(update)
    }

    fn section(&mut self, section: &str, update: &mut Update) -> Result<(), String> {
        loop {
            self.operators += 1;
            let path = self.path()?;
            match section {
                "SET" => {
                    self.tokens.expect_sign("=")?;
                    let value = self.set_value()?;
                    update.set.push((path, value));
                }
                "REMOVE" => update.remove.push(path),
                "ADD" => {
                    let value = self.section_value(section, |value| {
                        matches!(value, Value::N(_) | Value::Ss(_) | Value::Ns(_) | Value::Bs(_))
                    })?;
                    update.add.push((path, value));
                }
                _ => {
                    let value = self.section_value(section, |value| {
                        matches!(value, Value::Ss(_) | Value::Ns(_) | Value::Bs(_))
                    })?;
                    update.delete.push((path, value));
                }
            }
            if !self.tokens.take_sign(",") {
                return Ok(());
            }
        }
    }

    fn section_value(&mut self, section: &str, takes: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let Some(Token::Value(placeholder)) = self.tokens.peek().cloned() else {
            return Err(self.tokens.syntax_error());
        };
        self.tokens.next();
        let value = self.placeholders.value(&placeholder)?;
        match takes(&value) {
            true => Ok(value),
            false => Err(format!(
                "Incorrect operand type for operator or function; operator: {section}, operand type: {}, \
                 typeSet: ALLOWED_FOR_{section}_OPERAND",
                long_type_name(&value)
            )),
        }
    }

    fn set_value(&mut self) -> Result<SetValue, String> {
        if matches!(self.tokens.peek(), Some(Token::Sign("("))) {
            return self.nested(|parser| {
                parser.tokens.next();
                let value = parser.set_value()?;
                parser.tokens.expect_sign(")")?;
                match (parser.tokens.peek(), value) {
                    // What stands in parentheses may be the left side of a sum.
                    (Some(Token::Sign("+" | "-")), SetValue::Operand(left)) => parser.sum(left),
                    (_, value) => Ok(value),
                }
            });
        }
        let left = self.set_operand()?;
        self.sum(left)
    }

    fn sum(&mut self, left: SetOperand) -> Result<SetValue, String> {
        let sign = match self.tokens.peek() {
            Some(Token::Sign(sign @ ("+" | "-"))) => *sign,
            _ => return Ok(SetValue::Operand(left)),
        };
        self.tokens.next();
        self.operators += 1;
        let right = self.set_operand()?;
        for operand in [&left, &right] {
            given(sign, operand, |value| matches!(value, Value::N(_)))?;
            if matches!(operand, SetOperand::ListAppend(..)) {
                return Err(wrong_type(sign, "L"));
            }
        }
        Ok(match sign {
            "+" => SetValue::Plus(left, right),
            _ => SetValue::Minus(left, right),
        })
    }

    fn set_operand(&mut self) -> Result<SetOperand, String> {
        match (self.tokens.peek().cloned(), self.tokens.peek_at(1)) {
            (Some(Token::Word(function)), Some(Token::Sign("("))) => {
                self.nested(|parser| parser.set_function(&function))
            }
            (Some(Token::Value(placeholder)), _) => {
                self.tokens.next();
                self.placeholders.value(&placeholder).map(SetOperand::Value)
            }
            (Some(Token::Sign("(")), _) => self.nested(|parser| {
                parser.tokens.next();
                let operand = parser.set_operand()?;
                parser.tokens.expect_sign(")")?;
                Ok(operand)
            }),
            _ => self.path().map(SetOperand::Path),
        }
    }

    fn set_function(&mut self, function: &str) -> Result<SetOperand, String> {
        match function {
            "if_not_exists" | "list_append" => {}
            "attribute_exists" | "attribute_not_exists" | "attribute_type" | "begins_with" | "contains" | "size" => {
                return Err(format!(
                    "The function is not allowed in an update expression; function: {function}"
                ));
            }
            unknown => return Err(format!("Invalid function name; function: {unknown}")),
        }
        self.operators += 1;
        self.tokens.next();
        self.tokens.expect_sign("(")?;
        let mut operands = vec![self.set_operand()?];
        while self.tokens.take_sign(",") {
            operands.push(self.set_operand()?);
        }
        self.tokens.expect_sign(")")?;
        let count = operands.len();
        let mut operands = operands.into_iter();
        match (operands.next(), operands.next(), operands.next()) {
            (Some(first), Some(second), None) => function_of(function, first, second),
            _ => Err(wrong_count(function, count)),
        }
    }
}

fn function_of(function: &str, first: SetOperand, second: SetOperand) -> Result<SetOperand, String> {
    if function == "if_not_exists" {
        return match first {
            SetOperand::Path(path) => Ok(SetOperand::IfNotExists(path, Box::new(second))),
            _ => Err(no_path(function)),
        };
    }
    for operand in [&first, &second] {
        given(function, operand, |value| matches!(value, Value::L(_)))?;
    }
    Ok(SetOperand::ListAppend(Box::new(first), Box::new(second)))
}

/// Refuses a given value of a type that the operator does not take.
fn given(operator: &str, operand: &SetOperand, takes: impl Fn(&Value) -> bool) -> Result<(), String> {
    match operand {
        SetOperand::Value(value) if !takes(value) => Err(wrong_type(operator, value.type_name())),
        SetOperand::IfNotExists(_, default) => given(operator, default, takes),
        _ => Ok(()),
    }
}

/// Every path that an update changes.
pub(crate) fn paths_of(update: &Update) -> impl Iterator<Item = &Path> {
    let set = update.set.iter().map(|(path, _)| path);
    let add = update.add.iter().map(|(path, _)| path);
    let delete = update.delete.iter().map(|(path, _)| path);
    set.chain(&update.remove).chain(add).chain(delete)
}

fn long_type_name(value: &Value) -> &'static str {
    match value {
        Value::S(_) => "STRING",
        Value::N(_) => "NUMBER",
        Value::B(_) => "BINARY",
        Value::Bool(_) => "BOOLEAN",
        Value::Null => "NULL",
        Value::L(_) => "LIST",
        Value::M(_) => "MAP",
        Value::Ss(_) => "STRING_SET",
        Value::Ns(_) => "NUMBER_SET",
        Value::Bs(_) => "BINARY_SET",
    }
}
