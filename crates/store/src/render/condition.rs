//! Conditions and filters.

use super::{Renderer, bounded};
use crate::{Comparison, Condition, Operand, Result, StoreError};
use singlet_item::Value;
use singlet_item::limits::{EXPRESSION_OPERATORS_MAX, IN_OPERANDS_MAX, NESTING_LEVELS_MAX};

impl Renderer {
    /// The expression of a condition or a filter.
    pub fn condition_text(&mut self, condition: &Condition) -> Result<String> {
        self.operators = 0;
        let rendered = self.tree(condition, 0)?;
        if self.operators > EXPRESSION_OPERATORS_MAX {
            return Err(StoreError::too_large(format!(
                "the condition has {} operators, more than {EXPRESSION_OPERATORS_MAX}",
                self.operators
            )));
        }
        bounded("condition", rendered)
    }

    fn tree(&mut self, condition: &Condition, depth: usize) -> Result<String> {
        if depth > CONDITION_DEPTH_MAX {
            return Err(StoreError::too_large(format!(
                "the condition is nested more than {CONDITION_DEPTH_MAX} levels deep"
            )));
        }
        match condition {
            Condition::And(all) => self.joined(all, " AND ", depth),
            Condition::Or(any) => self.joined(any, " OR ", depth),
            Condition::Not(inner) => {
                self.operator();
                Ok(format!("NOT ({})", self.tree(inner, depth + 1)?))
            }
            leaf => self.leaf(leaf),
        }
    }

    fn joined(&mut self, parts: &[Condition], operator: &str, depth: usize) -> Result<String> {
        match parts {
            [] => Err(StoreError::bad_request(
                "a conjunction or disjunction of conditions is empty",
            )),
            [only] => self.tree(only, depth + 1),
            several => {
                self.operators += several.len() - 1;
                let mut rendered = Vec::with_capacity(several.len());
                for part in several {
                    let inner = self.tree(part, depth + 1)?;
                    // Only what joins is put in parentheses: DynamoDB refuses redundant ones.
                    rendered.push(if joins(part) { format!("({inner})") } else { inner });
                }
                Ok(rendered.join(operator))
            }
        }
    }

    fn leaf(&mut self, condition: &Condition) -> Result<String> {
        self.operator();
        Ok(match condition {
            Condition::Compare {
                left,
                comparison,
                right,
            } => format!("{} {} {}", self.operand(left), sign(*comparison), self.operand(right)),
            Condition::Between { operand, low, high } => format!(
                "{} BETWEEN {} AND {}",
                self.operand(operand),
                self.operand(low),
                self.operand(high)
            ),
            Condition::In { operand, options } => return self.options(operand, options),
            Condition::Exists(path) => format!("attribute_exists({})", self.path(path)),
            Condition::NotExists(path) => format!("attribute_not_exists({})", self.path(path)),
            Condition::HasType(path, attribute_type) => {
                let type_name = self.value(&Value::from(attribute_type.name()));
                format!("attribute_type({}, {type_name})", self.path(path))
            }
            Condition::BeginsWith(whole, prefix) => self.function("begins_with", whole, prefix),
            Condition::Contains(whole, part) => self.function("contains", whole, part),
            Condition::And(_) | Condition::Or(_) | Condition::Not(_) => {
                return Err(StoreError::bad_request(
                    "a condition is nested where a comparison stands",
                ));
            }
        })
    }

    fn function(&mut self, name: &str, whole: &Operand, part: &Operand) -> String {
        format!("{name}({}, {})", self.operand(whole), self.operand(part))
    }

    fn options(&mut self, operand: &Operand, options: &[Operand]) -> Result<String> {
        if options.is_empty() {
            return Err(StoreError::bad_request("a list of options is empty"));
        }
        if options.len() > IN_OPERANDS_MAX {
            return Err(StoreError::too_large(format!(
                "a list of options has {} entries, more than {IN_OPERANDS_MAX}",
                options.len()
            )));
        }
        let operand = self.operand(operand);
        let options: Vec<String> = options.iter().map(|option| self.operand(option)).collect();
        Ok(format!("{operand} IN ({})", options.join(", ")))
    }

    fn operand(&mut self, operand: &Operand) -> String {
        match operand {
            Operand::Value(value) => self.value(value),
            Operand::Path(path) => self.path(path),
            Operand::Size(path) => {
                self.operator();
                format!("size({})", self.path(path))
            }
        }
    }
}

/// How deep conditions may nest; it keeps the recursion off the end of the stack.
const CONDITION_DEPTH_MAX: usize = 4 * NESTING_LEVELS_MAX;

/// Whether a condition is rendered with `AND` or `OR` between its parts.
fn joins(condition: &Condition) -> bool {
    match condition {
        Condition::And(parts) | Condition::Or(parts) => match parts.as_slice() {
            [only] => joins(only),
            _ => true,
        },
        _ => false,
    }
}

fn sign(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal => "=",
        Comparison::NotEqual => "<>",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AttributeType, Path};

    fn rendered(condition: &Condition) -> String {
        Renderer::new().condition_text(condition).unwrap()
    }

    #[test]
    fn every_leaf_has_its_form() {
        let compare = Condition::compare(Operand::Size("a".into()), Comparison::GreaterOrEqual, 3);
        assert_eq!(rendered(&compare), "size(#0) >= :0");
        let paths = Condition::compare(Path::from("a"), Comparison::NotEqual, Path::from("b"));
        assert_eq!(rendered(&paths), "#0 <> #1");
        let between = Condition::Between {
            operand: Path::from("a").into(),
            low: 1.into(),
            high: 2.into(),
        };
        assert_eq!(rendered(&between), "#0 BETWEEN :0 AND :1");
        let options = Condition::In {
            operand: Path::from("a").into(),
            options: vec!["x".into(), "y".into()],
        };
        assert_eq!(rendered(&options), "#0 IN (:0, :1)");
        assert_eq!(rendered(&Condition::exists("a")), "attribute_exists(#0)");
        assert_eq!(rendered(&Condition::not_exists("a")), "attribute_not_exists(#0)");
        let typed = Condition::HasType("a".into(), AttributeType::StringSet);
        assert_eq!(rendered(&typed), "attribute_type(#0, :0)");
        assert_eq!(rendered(&Condition::begins_with("a", "x")), "begins_with(#0, :0)");
        assert_eq!(rendered(&Condition::contains("a", "x")), "contains(#0, :0)");
    }

    #[test]
    fn parentheses_stand_only_where_parts_join() {
        let (a, b, c) = (Condition::exists("a"), Condition::exists("b"), Condition::exists("c"));
        let mixed = a.clone().and(b.clone().or(c.clone()));
        assert_eq!(
            rendered(&mixed),
            "attribute_exists(#0) AND (attribute_exists(#1) OR attribute_exists(#2))"
        );
        let single = Condition::And(vec![Condition::Or(vec![a.clone()]), b.clone()]);
        assert_eq!(rendered(&single), "attribute_exists(#0) AND attribute_exists(#1)");
        assert_eq!(
            rendered(&a.and(b).negate()),
            "NOT (attribute_exists(#0) AND attribute_exists(#1))"
        );
    }

    #[test]
    fn bounds_are_checked() {
        let options = |count: i64| Condition::In {
            operand: Path::from("a").into(),
            options: (0..count).map(Operand::from).collect(),
        };
        let error = |condition: &Condition| Renderer::new().condition_text(condition).unwrap_err();
        assert!(error(&options(101)).is_too_large());
        assert!(error(&options(0)).is_bad_request());
        assert!(error(&Condition::And(vec![])).is_bad_request());
        let many = Condition::And((0..301).map(|n| Condition::equal("a", n)).collect());
        assert!(error(&many).is_too_large());
        let deep = (0..200).fold(Condition::exists("a"), |inner, _| inner.negate());
        assert!(error(&deep).is_too_large());
    }
}
