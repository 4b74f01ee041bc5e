//! Conditions and filters.

use singlet_item::limits::IN_OPERANDS_MAX;
use singlet_item::{Number, Value};
use singlet_store::well_formed::{Malformed, check_operator};
use singlet_store::{AttributeType, Comparison, Condition, Operand, Path};

use super::token::ExpressionToken;
use super::{ExpressionParser, RequestPlaceholders, no_path, parse_whole, wrong_count, wrong_type};
use crate::fault::Fault;

/// Reads a condition or a filter; `parameter` is its name in messages.
pub(crate) fn read_condition(
    parameter: &str,
    source: &str,
    placeholders: &RequestPlaceholders,
) -> Result<Condition, Fault> {
    parse_whole(parameter, source, placeholders, |parser| parser.condition())
}

const FUNCTIONS: [&str; 6] = [
    "attribute_exists",
    "attribute_not_exists",
    "attribute_type",
    "begins_with",
    "contains",
    "size",
];

impl ExpressionParser<'_> {
    pub(super) fn condition(&mut self) -> Result<Condition, Malformed> {
        self.nested(Self::disjunction)
    }

    fn disjunction(&mut self) -> Result<Condition, Malformed> {
        let mut any = vec![self.conjunction()?];
        while self.tokens.take_keyword("OR") {
            self.operators += 1;
            any.push(self.conjunction()?);
        }
        Ok(joined(any, Condition::Or))
    }

    fn conjunction(&mut self) -> Result<Condition, Malformed> {
        let mut all = vec![self.negation()?];
        while self.tokens.take_keyword("AND") {
            self.operators += 1;
            all.push(self.negation()?);
        }
        Ok(joined(all, Condition::And))
    }

    fn negation(&mut self) -> Result<Condition, Malformed> {
        if self.tokens.take_keyword("NOT") {
            self.operators += 1;
            return Ok(self.nested(Self::negation)?.negate());
        }
        if self.tokens.take_sign("(") {
            let inner = self.condition()?;
            self.tokens.expect_sign(")")?;
            return Ok(inner);
        }
        self.operators += 1;
        match self.function_name() {
            Some(function) if function != "size" => self.function(&function),
            _ => self.comparison(),
        }
    }

    /// The function whose call comes next.
    fn function_name(&self) -> Option<String> {
        match (self.tokens.peek(), self.tokens.peek_at(1)) {
            (Some(ExpressionToken::Word(word)), Some(ExpressionToken::Sign("("))) => Some(word.clone()),
            _ => None,
        }
    }

    fn function(&mut self, function: &str) -> Result<Condition, Malformed> {
        if !FUNCTIONS.contains(&function) {
            return Err(Malformed::from(format!("Invalid function name; function: {function}")));
        }
        self.tokens.next();
        let operands = self.operands()?;
        let count = operands.len();
        let mut operands = operands.into_iter();
        match (function, operands.next(), operands.next(), operands.next()) {
            ("attribute_exists", Some(path), None, None) => Ok(Condition::Exists(path_of(function, path)?)),
            ("attribute_not_exists", Some(path), None, None) => Ok(Condition::NotExists(path_of(function, path)?)),
            ("attribute_type", Some(path), Some(name), None) => {
                let path = path_of(function, path)?;
                Ok(Condition::HasType(path, attribute_type(name)?))
            }
            ("begins_with", Some(whole), Some(start), None) => checked(Condition::BeginsWith(whole, start)),
            ("contains", Some(whole), Some(part), None) => checked(Condition::Contains(whole, part)),
            _ => Err(wrong_count(function, count)),
        }
    }

    /// The operands of a call, in their parentheses.
    fn operands(&mut self) -> Result<Vec<Operand>, Malformed> {
        self.tokens.expect_sign("(")?;
        let mut operands = vec![self.operand()?];
        while self.tokens.take_sign(",") {
            operands.push(self.operand()?);
        }
        self.tokens.expect_sign(")")?;
        Ok(operands)
    }

    fn comparison(&mut self) -> Result<Condition, Malformed> {
        let left = self.operand()?;
        if self.tokens.take_keyword("BETWEEN") {
            let low = self.operand()?;
            if !self.tokens.take_keyword("AND") {
                return Err(self.tokens.syntax_error());
            }
            let high = self.operand()?;
            return checked(Condition::Between {
                operand: left,
                low,
                high,
            });
        }
        if self.tokens.take_keyword("IN") {
            let options = self.operands()?;
            if options.len() > IN_OPERANDS_MAX {
                return Err(Malformed::from(format!(
                    "The IN operator is provided with too many operands; number of operands: {}",
                    options.len()
                )));
            }
            return checked(Condition::In { operand: left, options });
        }
        let signs = [
            ("=", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let Some((_, comparison)) = signs.into_iter().find(|(sign, _)| self.tokens.take_sign(sign)) else {
            return Err(self.tokens.syntax_error());
        };
        let right = self.operand()?;
        checked(Condition::Compare {
            left,
            comparison,
            right,
        })
    }

    fn operand(&mut self) -> Result<Operand, Malformed> {
        if let Some(function) = self.function_name() {
            return match function.as_str() {
                "size" => self.size(),
                known if FUNCTIONS.contains(&known) => Err(Malformed::from(format!(
                    "The function is not allowed to be used this way in an expression; function: {known}"
                ))),
                unknown => Err(Malformed::from(format!("Invalid function name; function: {unknown}"))),
            };
        }
        match self.tokens.peek().cloned() {
            Some(ExpressionToken::Value(placeholder)) => {
                self.tokens.next();
                self.placeholders.value(&placeholder).map(Operand::Value)
            }
            // DynamoDB takes an operand in parentheses.
            Some(ExpressionToken::Sign("(")) => self.nested(|parser| {
                parser.tokens.next();
                let operand = parser.operand()?;
                parser.tokens.expect_sign(")")?;
                Ok(operand)
            }),
            _ => self.path().map(Operand::Path),
        }
    }

    fn size(&mut self) -> Result<Operand, Malformed> {
        self.operators += 1;
        self.tokens.next();
        let operands = self.nested(Self::operands)?;
        let count = operands.len();
        match (operands.into_iter().next(), count) {
            (Some(Operand::Path(path)), 1) => Ok(Operand::Size(path)),
            // A given value has its size already.
            (Some(Operand::Value(value)), 1) => match size_of(&value) {
                Some(size) => Ok(Operand::Value(Value::N(Number::from(size)))),
                None => Err(wrong_type("size", value.type_name())),
            },
            (Some(Operand::Size(_)), 1) => Err(Malformed::from(
                "The function is not allowed to be used this way in an expression; function: size",
            )),
            _ => Err(wrong_count("size", count)),
        }
    }
}

/// One condition as it is, several joined.
fn joined(mut parts: Vec<Condition>, join: impl FnOnce(Vec<Condition>) -> Condition) -> Condition {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            join(parts)
        }
    }
}

fn path_of(function: &str, operand: Operand) -> Result<Path, Malformed> {
    match operand {
        Operand::Path(path) => Ok(path),
        Operand::Value(_) | Operand::Size(_) => Err(no_path(function)),
    }
}

fn attribute_type(operand: Operand) -> Result<AttributeType, Malformed> {
    let Operand::Value(value) = operand else {
        return Err(wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}"));
    };
    let Value::S(name) = &value else {
        return Err(wrong_type("attribute_type", value.type_name()));
    };
    AttributeType::ALL
        .into_iter()
        .find(|known| known.name() == name)
        .ok_or_else(|| {
            Malformed::from(format!(
                "Invalid attribute type name found; type: {name}, valid types: {{B,NULL,SS,BOOL,L,BS,N,NS,S,M}}"
            ))
        })
}

/// A condition whose operator takes its operands.
fn checked(condition: Condition) -> Result<Condition, Malformed> {
    check_operator(&condition)?;
    Ok(condition)
}

fn size_of(value: &Value) -> Option<i64> {
    let size = match value {
        Value::S(text) => text.len(),
        Value::B(bytes) => bytes.len(),
        Value::L(elements) => elements.len(),
        Value::M(entries) => entries.len(),
        Value::Ss(members) => members.len(),
        Value::Ns(members) => members.len(),
        Value::Bs(members) => members.len(),
        Value::N(_) | Value::Bool(_) | Value::Null => return None,
    };
    i64::try_from(size).ok()
}
