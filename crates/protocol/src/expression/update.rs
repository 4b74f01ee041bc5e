//! Updates.

use singlet_item::Value;
use singlet_store::well_formed::{
    Malformed, changed_paths, check_added, check_deleted, check_distinct, check_function, check_sum,
};
use singlet_store::{SetOperand, SetValue, Update};

use super::token::ExpressionToken;
use super::{ExpressionParser, RequestPlaceholders, no_path, parse_whole, wrong_count};
use crate::fault::Fault;

/// Reads an update.
pub(crate) fn read_update(source: &str, placeholders: &RequestPlaceholders) -> Result<Update, Fault> {
    parse_whole("UpdateExpression", source, placeholders, |parser| parser.update())
}

const SECTIONS: [&str; 4] = ["SET", "REMOVE", "ADD", "DELETE"];

impl ExpressionParser<'_> {
    fn update(&mut self) -> Result<Update, Malformed> {
        let mut update = Update::new();
        let mut seen: Vec<&str> = Vec::new();
        while self.tokens.peek().is_some() {
            let Some(section) = SECTIONS.into_iter().find(|section| self.tokens.take_keyword(section)) else {
                return Err(self.tokens.syntax_error());
            };
            if seen.contains(&section) {
                return Err(Malformed::from(format!(
                    "The \"{section}\" section can only be used once in an update expression;"
                )));
            }
            seen.push(section);
            self.section(section, &mut update)?;
        }
        if seen.is_empty() {
            return Err(self.tokens.syntax_error());
        }
        check_distinct(changed_paths(&update))?;
        Ok(update)
    }

    fn section(&mut self, section: &str, update: &mut Update) -> Result<(), Malformed> {
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
                    let value = self.section_value(check_added)?;
                    update.add.push((path, value));
                }
                _ => {
                    let value = self.section_value(check_deleted)?;
                    update.delete.push((path, value));
                }
            }
            if !self.tokens.take_sign(",") {
                return Ok(());
            }
        }
    }

    fn section_value(&mut self, check: impl Fn(&Value) -> Result<(), Malformed>) -> Result<Value, Malformed> {
        let Some(ExpressionToken::Value(placeholder)) = self.tokens.peek().cloned() else {
            return Err(self.tokens.syntax_error());
        };
        self.tokens.next();
        let value = self.placeholders.value(&placeholder)?;
        check(&value)?;
        Ok(value)
    }

    fn set_value(&mut self) -> Result<SetValue, Malformed> {
        if matches!(self.tokens.peek(), Some(ExpressionToken::Sign("("))) {
            return self.nested(|parser| {
                parser.tokens.next();
                let value = parser.set_value()?;
                parser.tokens.expect_sign(")")?;
                match (parser.tokens.peek(), value) {
                    // What stands in parentheses may be the left side of a sum.
                    (Some(ExpressionToken::Sign("+" | "-")), SetValue::Operand(left)) => parser.sum(left),
                    (_, value) => Ok(value),
                }
            });
        }
        let left = self.set_operand()?;
        self.sum(left)
    }

    fn sum(&mut self, left: SetOperand) -> Result<SetValue, Malformed> {
        let sign = match self.tokens.peek() {
            Some(ExpressionToken::Sign(sign @ ("+" | "-"))) => *sign,
            _ => return Ok(SetValue::Operand(left)),
        };
        self.tokens.next();
        self.operators += 1;
        let right = self.set_operand()?;
        let sum = match sign {
            "+" => SetValue::Plus(left, right),
            _ => SetValue::Minus(left, right),
        };
        check_sum(&sum)?;
        Ok(sum)
    }

    fn set_operand(&mut self) -> Result<SetOperand, Malformed> {
        match (self.tokens.peek().cloned(), self.tokens.peek_at(1)) {
            (Some(ExpressionToken::Word(function)), Some(ExpressionToken::Sign("("))) => {
                self.nested(|parser| parser.set_function(&function))
            }
            (Some(ExpressionToken::Value(placeholder)), _) => {
                self.tokens.next();
                self.placeholders.value(&placeholder).map(SetOperand::Value)
            }
            (Some(ExpressionToken::Sign("(")), _) => self.nested(|parser| {
                parser.tokens.next();
                let operand = parser.set_operand()?;
                parser.tokens.expect_sign(")")?;
                Ok(operand)
            }),
            _ => self.path().map(SetOperand::Path),
        }
    }

    fn set_function(&mut self, function: &str) -> Result<SetOperand, Malformed> {
        match function {
            "if_not_exists" | "list_append" => {}
            "attribute_exists" | "attribute_not_exists" | "attribute_type" | "begins_with" | "contains" | "size" => {
                return Err(Malformed::from(format!(
                    "The function is not allowed in an update expression; function: {function}"
                )));
            }
            unknown => return Err(Malformed::from(format!("Invalid function name; function: {unknown}"))),
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

fn function_of(function: &str, first: SetOperand, second: SetOperand) -> Result<SetOperand, Malformed> {
    if function == "if_not_exists" {
        return match first {
            SetOperand::Path(path) => Ok(SetOperand::IfNotExists(path, Box::new(second))),
            _ => Err(no_path(function)),
        };
    }
    let appended = SetOperand::ListAppend(Box::new(first), Box::new(second));
    check_function(&appended)?;
    Ok(appended)
}
