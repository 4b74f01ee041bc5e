//! Updates.

use super::{Renderer, bounded};
use crate::{Path, Result, SetOperand, SetValue, StoreError, Update};
use singlet_item::Value;
use singlet_item::limits::NESTING_LEVELS_MAX;

impl Renderer {
    /// The expression of an update; none, if it changes nothing.
    pub fn update_text(&mut self, update: &Update) -> Result<Option<String>> {
        let mut clauses = Vec::new();
        if !update.set.is_empty() {
            let assignments: Result<Vec<String>> = update
                .set
                .iter()
                .map(|(path, value)| self.assignment(path, value))
                .collect();
            clauses.push(format!("SET {}", assignments?.join(", ")));
        }
        if !update.remove.is_empty() {
            let paths: Vec<String> = update.remove.iter().map(|path| self.path(path)).collect();
            clauses.push(format!("REMOVE {}", paths.join(", ")));
        }
        if !update.add.is_empty() {
            clauses.push(format!("ADD {}", self.pairs(&update.add)));
        }
        if !update.delete.is_empty() {
            clauses.push(format!("DELETE {}", self.pairs(&update.delete)));
        }
        if clauses.is_empty() {
            return Ok(None);
        }
        bounded("update", clauses.join(" ")).map(Some)
    }

    fn pairs(&mut self, pairs: &[(Path, Value)]) -> String {
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(path, value)| format!("{} {}", self.path(path), self.value(value)))
            .collect();
        pairs.join(", ")
    }

    fn assignment(&mut self, path: &Path, value: &SetValue) -> Result<String> {
        let path = self.path(path);
        Ok(match value {
            SetValue::Operand(operand) => format!("{path} = {}", self.set_operand(operand, 0)?),
            SetValue::Plus(left, right) => {
                format!(
                    "{path} = {} + {}",
                    self.set_operand(left, 0)?,
                    self.set_operand(right, 0)?
                )
            }
            SetValue::Minus(left, right) => {
                format!(
                    "{path} = {} - {}",
                    self.set_operand(left, 0)?,
                    self.set_operand(right, 0)?
                )
            }
        })
    }

    fn set_operand(&mut self, operand: &SetOperand, depth: usize) -> Result<String> {
        if depth > NESTING_LEVELS_MAX {
            return Err(StoreError::too_large(format!(
                "an update is nested more than {NESTING_LEVELS_MAX} levels deep"
            )));
        }
        Ok(match operand {
            SetOperand::Value(value) => self.value(value),
            SetOperand::Path(path) => self.path(path),
            SetOperand::IfNotExists(path, default) => {
                let path = self.path(path);
                format!("if_not_exists({path}, {})", self.set_operand(default, depth + 1)?)
            }
            SetOperand::ListAppend(head, tail) => format!(
                "list_append({}, {})",
                self.set_operand(head, depth + 1)?,
                self.set_operand(tail, depth + 1)?
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clause_has_its_form() {
        let update = Update::new()
            .set("count", SetOperand::if_not_exists("count", 0).plus(1))
            .set("stock", SetOperand::from(Path::from("stock")).minus(2))
            .set("log", SetOperand::list_append(Path::from("log"), Vec::<Value>::new()))
            .set("copy", SetOperand::from(Path::from("count")))
            .remove(Path::attribute("m").key("gone"))
            .add("total", 5)
            .delete("tags", "old");
        assert_eq!(
            Renderer::new().update_text(&update).unwrap().unwrap(),
            "SET #0 = if_not_exists(#0, :0) + :1, #1 = #1 - :2, #2 = list_append(#2, :3), #3 = #0 \
             REMOVE #4.#5 ADD #6 :4 DELETE #7 :5"
        );
        assert_eq!(Renderer::new().update_text(&Update::new()).unwrap(), None);
    }
}
