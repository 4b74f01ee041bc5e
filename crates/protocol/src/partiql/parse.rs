//! Statements as trees.

use singlet_item::{Item, Value};
use singlet_store::well_formed::Malformed;
use singlet_store::{
    AttributeType, Comparison, Condition, Direction, Operand, Path, SetOperand, SetValue, Update, UpdateReturn,
};

use super::token::{StatementToken, at_place, statement_tokens};

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Select(SelectStatement),
    Insert {
        table: String,
        item: Item,
    },
    Update {
        table: String,
        update: Update,
        condition: Condition,
        returns: UpdateReturn,
    },
    Delete {
        table: String,
        condition: Condition,
        returns_old: bool,
    },
    /// `EXISTS (SELECT …)`, which a transaction takes for a check.
    Exists(SelectStatement),
}

/// A `SELECT`.
#[derive(Clone, Debug)]
pub(super) struct SelectStatement {
    pub(super) table: String,
    pub(super) index: Option<String>,
    /// What is returned; everything, if empty.
    pub(super) paths: Vec<Path>,
    pub(super) condition: Option<Condition>,
    pub(super) direction: Direction,
}

impl Statement {
    pub(super) fn table(&self) -> &str {
        match self {
            Self::Select(select) | Self::Exists(select) => &select.table,
            Self::Insert { table, .. } | Self::Update { table, .. } | Self::Delete { table, .. } => table,
        }
    }
}

/// How deep a statement may nest; it keeps the recursion off the end of the stack.
const STATEMENT_DEPTH_MAX: usize = 64;

/// Reads a statement; `?` takes the parameters one after the other.
pub(super) fn read_statement(source: &str, parameters: Vec<Value>) -> Result<Statement, Malformed> {
    let mut parser = StatementParser {
        tokens: statement_tokens(source)?,
        at: 0,
        end: source.len(),
        parameters: parameters.into_iter(),
        depth: 0,
        levels: 0,
    };
    let statement = parser.statement()?;
    if parser.peek().is_some() {
        return Err(parser.unexpected());
    }
    match parser.parameters.next() {
        None => Ok(statement),
        Some(_) => Err(Malformed::from(
            "Number of parameters in request and statement don't match.",
        )),
    }
}

/// A statement in the middle of being read.
pub(super) struct StatementParser {
    tokens: Vec<(StatementToken, usize)>,
    pub(super) at: usize,
    end: usize,
    pub(super) parameters: std::vec::IntoIter<Value>,
    depth: usize,
    /// How many values the next one stands in; the item of an `INSERT` is none itself.
    pub(super) levels: usize,
}

impl StatementParser {
    pub(super) fn peek(&self) -> Option<&StatementToken> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    pub(super) fn unexpected(&self) -> Malformed {
        let place = self.tokens.get(self.at).map_or(self.end, |(_, place)| *place);
        at_place("unexpected term", place)
    }

    pub(super) fn take_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Some(StatementToken::Sign(next)) if *next == sign);
        self.at += usize::from(found);
        found
    }

    pub(super) fn sign(&mut self, sign: &str) -> Result<(), Malformed> {
        match self.take_sign(sign) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Some(StatementToken::Word(next)) if next.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> Result<(), Malformed> {
        match self.take_word(word) {
            true => Ok(()),
            false => Err(self.unexpected()),
        }
    }

    fn name(&mut self) -> Result<String, Malformed> {
        match self.peek().cloned() {
            Some(StatementToken::Word(name) | StatementToken::Name(name)) => {
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Malformed>) -> Result<T, Malformed> {
        if self.depth == STATEMENT_DEPTH_MAX {
            return Err(at_place("terms nest too deep", self.end));
        }
        self.depth += 1;
        let read = inner(self);
        self.depth -= 1;
        read
    }

    fn statement(&mut self) -> Result<Statement, Malformed> {
        if self.take_word("SELECT") {
            return self.select().map(Statement::Select);
        }
        if self.take_word("EXISTS") {
            self.sign("(")?;
            self.word("SELECT")?;
            let select = self.select()?;
            self.sign(")")?;
            return Ok(Statement::Exists(select));
        }
        if self.take_word("INSERT") {
            self.word("INTO")?;
            let table = self.name()?;
            self.word("VALUE")?;
            self.sign("{")?;
            let item = self.entries()?;
            return Ok(Statement::Insert { table, item });
        }
        if self.take_word("UPDATE") {
            return self.update();
        }
        if self.take_word("DELETE") {
            self.word("FROM")?;
            let table = self.name()?;
            self.word("WHERE")?;
            let condition = self.condition()?;
            let returns = self.returning()?;
            return match returns {
                UpdateReturn::Nothing | UpdateReturn::Old => Ok(Statement::Delete {
                    table,
                    condition,
                    returns_old: returns == UpdateReturn::Old,
                }),
                _ => Err(self.unexpected()),
            };
        }
        Err(self.unexpected())
    }

    fn select(&mut self) -> Result<SelectStatement, Malformed> {
        let mut paths = Vec::new();
        if !self.take_sign("*") {
            paths.push(self.path()?);
            while self.take_sign(",") {
                paths.push(self.path()?);
            }
        }
        self.word("FROM")?;
        let table = self.name()?;
        let index = match self.take_sign(".") {
            true => Some(self.name()?),
            false => None,
        };
        let condition = match self.take_word("WHERE") {
            true => Some(self.condition()?),
            false => None,
        };
        let mut direction = Direction::Ascending;
        if self.take_word("ORDER") {
            self.word("BY")?;
            self.path()?;
            if self.take_word("DESC") {
                direction = Direction::Descending;
            } else {
                self.take_word("ASC");
            }
        }
        Ok(SelectStatement {
            table,
            index,
            paths,
            condition,
            direction,
        })
    }

    fn update(&mut self) -> Result<Statement, Malformed> {
        let table = self.name()?;
        let mut update = Update::new();
        loop {
            if self.take_word("SET") {
                self.assignment(&mut update)?;
                while self.take_sign(",") {
                    self.assignment(&mut update)?;
                }
            } else if self.take_word("REMOVE") {
                update.remove.push(self.path()?);
                while self.take_sign(",") {
                    update.remove.push(self.path()?);
                }
            } else {
                break;
            }
        }
        if update.is_empty() {
            return Err(self.unexpected());
        }
        self.word("WHERE")?;
        let condition = self.condition()?;
        let returns = self.returning()?;
        Ok(Statement::Update {
            table,
            update,
            condition,
            returns,
        })
    }

    fn assignment(&mut self, update: &mut Update) -> Result<(), Malformed> {
        let path = self.path()?;
        self.sign("=")?;
        for (function, is_add) in [("set_add", true), ("set_delete", false)] {
            if self.is_call(function) {
                self.at += 2;
                let target = self.path()?;
                self.sign(",")?;
                let elements = self.value()?;
                self.sign(")")?;
                if target != path || !matches!(elements, Value::Ss(_) | Value::Ns(_) | Value::Bs(_)) {
                    return Err(self.unexpected());
                }
                match is_add {
                    true => update.add.push((path, elements)),
                    false => update.delete.push((path, elements)),
                }
                return Ok(());
            }
        }
        let left = self.set_operand()?;
        let value = if self.take_sign("+") {
            SetValue::Plus(left, self.set_operand()?)
        } else if self.take_sign("-") {
            SetValue::Minus(left, self.set_operand()?)
        } else {
            SetValue::Operand(left)
        };
        update.set.push((path, value));
        Ok(())
    }

    fn set_operand(&mut self) -> Result<SetOperand, Malformed> {
        if self.is_call("list_append") {
            return self.nested(|parser| {
                parser.at += 2;
                let head = parser.set_operand()?;
                parser.sign(",")?;
                let tail = parser.set_operand()?;
                parser.sign(")")?;
                Ok(SetOperand::list_append(head, tail))
            });
        }
        if self.is_call("if_not_exists") {
            return self.nested(|parser| {
                parser.at += 2;
                let path = parser.path()?;
                parser.sign(",")?;
                let default = parser.set_operand()?;
                parser.sign(")")?;
                Ok(SetOperand::IfNotExists(path, Box::new(default)))
            });
        }
        match self.starts_path() {
            true => self.path().map(SetOperand::Path),
            false => self.value().map(SetOperand::Value),
        }
    }

    fn returning(&mut self) -> Result<UpdateReturn, Malformed> {
        if !self.take_word("RETURNING") {
            return Ok(UpdateReturn::Nothing);
        }
        let is_all = self.take_word("ALL");
        if !is_all {
            self.word("MODIFIED")?;
        }
        let is_new = self.take_word("NEW");
        if !is_new {
            self.word("OLD")?;
        }
        self.sign("*")?;
        Ok(match (is_all, is_new) {
            (true, true) => UpdateReturn::New,
            (true, false) => UpdateReturn::Old,
            (false, true) => UpdateReturn::UpdatedNew,
            (false, false) => UpdateReturn::UpdatedOld,
        })
    }

    fn is_call(&self, function: &str) -> bool {
        let is_function =
            matches!(self.peek(), Some(StatementToken::Word(word)) if word.eq_ignore_ascii_case(function));
        is_function && matches!(self.tokens.get(self.at + 1), Some((StatementToken::Sign("("), _)))
    }

    /// Whether a name comes next, rather than a value that is spelled as a word.
    fn starts_path(&self) -> bool {
        match self.peek() {
            Some(StatementToken::Name(_)) => true,
            Some(StatementToken::Word(word)) => !["TRUE", "FALSE", "NULL"]
                .into_iter()
                .any(|known| word.eq_ignore_ascii_case(known)),
            _ => false,
        }
    }

    fn path(&mut self) -> Result<Path, Malformed> {
        let mut path = Path::attribute(self.name()?);
        loop {
            if self.take_sign(".") {
                path = path.key(self.name()?);
            } else if self.take_sign("[") {
                match self.peek().cloned() {
                    Some(StatementToken::Number(digits)) => {
                        path = path.list_element(digits.parse().map_err(|_| self.unexpected())?);
                    }
                    Some(StatementToken::Text(key)) => path = path.key(key),
                    _ => return Err(self.unexpected()),
                }
                self.at += 1;
                self.sign("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    fn condition(&mut self) -> Result<Condition, Malformed> {
        self.nested(|parser| {
            let mut condition = parser.conjunction()?;
            while parser.take_word("OR") {
                condition = condition.or(parser.conjunction()?);
            }
            Ok(condition)
        })
    }

    fn conjunction(&mut self) -> Result<Condition, Malformed> {
        let mut all = vec![self.negation()?];
        while self.take_word("AND") {
            all.push(self.negation()?);
        }
        Ok(match (all.len(), all.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
                all.extend(last);
                Condition::And(all)
            }
        })
    }

    fn negation(&mut self) -> Result<Condition, Malformed> {
        if self.take_word("NOT") {
            return Ok(self.nested(Self::negation)?.negate());
        }
        if self.take_sign("(") {
            let inner = self.condition()?;
            self.sign(")")?;
            return Ok(inner);
        }
        for function in ["begins_with", "contains", "attribute_type"] {
            if self.is_call(function) {
                return self.function(function);
            }
        }
        self.comparison()
    }

    fn function(&mut self, function: &str) -> Result<Condition, Malformed> {
        self.at += 2;
        let whole = self.operand()?;
        self.sign(",")?;
        let part = self.operand()?;
        self.sign(")")?;
        match (function, whole, part) {
            ("begins_with", whole, part) => Ok(Condition::BeginsWith(whole, part)),
            ("contains", whole, part) => Ok(Condition::Contains(whole, part)),
            (_, Operand::Path(path), Operand::Value(Value::S(name))) => AttributeType::ALL
                .into_iter()
                .find(|known| known.name() == name)
                .map(|known| Condition::HasType(path, known))
                .ok_or_else(|| Malformed::from(format!("Invalid attribute type name found; type: {name}"))),
            _ => Err(self.unexpected()),
        }
    }

    fn comparison(&mut self) -> Result<Condition, Malformed> {
        let left = self.operand()?;
        if self.take_word("IS") {
            let is_not = self.take_word("NOT");
            let Operand::Path(path) = left else {
                return Err(self.unexpected());
            };
            let condition = if self.take_word("MISSING") {
                Condition::NotExists(path)
            } else {
                self.word("NULL")?;
                Condition::HasType(path, AttributeType::Null)
            };
            return Ok(if is_not { condition.negate() } else { condition });
        }
        if self.take_word("BETWEEN") {
            let low = self.operand()?;
            self.word("AND")?;
            let high = self.operand()?;
            return Ok(Condition::Between {
                operand: left,
                low,
                high,
            });
        }
        if self.take_word("IN") {
            let end = if self.take_sign("[") { "]" } else { ")" };
            if end == ")" {
                self.sign("(")?;
            }
            let mut options = vec![self.operand()?];
            while self.take_sign(",") {
                options.push(self.operand()?);
            }
            self.sign(end)?;
            return Ok(Condition::In { operand: left, options });
        }
        let signs = [
            ("=", Comparison::Equal),
            ("<>", Comparison::NotEqual),
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let Some((_, comparison)) = signs.into_iter().find(|(sign, _)| self.take_sign(sign)) else {
            return Err(self.unexpected());
        };
        let right = self.operand()?;
        Ok(Condition::Compare {
            left,
            comparison,
            right,
        })
    }

    fn operand(&mut self) -> Result<Operand, Malformed> {
        if self.is_call("size") {
            self.at += 2;
            let path = self.path()?;
            self.sign(")")?;
            return Ok(Operand::Size(path));
        }
        match self.starts_path() {
            true => self.path().map(Operand::Path),
            false => self.value().map(Operand::Value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[ -~é]{0,80}", words in prop::collection::vec(
            prop::sample::select(vec![
                "SELECT", "*", "FROM", "INSERT INTO", "VALUE", "UPDATE", "SET", "REMOVE", "DELETE FROM", "WHERE", "AND",
                "OR", "NOT", "IN", "BETWEEN", "IS", "MISSING", "NULL", "EXISTS", "RETURNING", "ALL", "NEW", "OLD", "(",
                ")", "[", "]", "{", "}", "<<", ">>", ",", ".", ":", "?", "=", "<", "-", "1", "1.5e3", "'x'", "\"y\"",
                "t", "size", "begins_with", "list_append", "set_add",
            ]), 0..30,
        )) {
            let _ = read_statement(&text, Vec::new());
            let _ = read_statement(&words.join(" "), vec![Value::Null]);
            for start in ["SELECT * FROM t WHERE ", "UPDATE t SET a = ", "INSERT INTO t VALUE {'a': "] {
                let _ = read_statement(&format!("{start}{}", words.join(" ")), vec![Value::Null]);
            }
        }
    }
}
