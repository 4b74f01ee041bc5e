//! How long requests would be as expressions: DynamoDB's bounds, without writing the expressions.
//!
//! What is surely short is counted only. What may be too long is rendered, so that the bound is exact and the refusal that of every
//! other store.

use singlet_item::limits::EXPRESSION_SIZE_BYTES_MAX;
use singlet_store::render::{EXPRESSION_OPERATORS_MAX, IN_OPTIONS_MAX, Renderer};
use singlet_store::{Condition, KeyRange, Operand, Path, Result, Segment, SetOperand, SetValue, Update};

/// The most bytes of a placeholder, with what stands around it.
const PLACEHOLDER_BYTES: usize = 8;
/// The most bytes of an operator or function, with what stands around it.
const OPERATOR_BYTES: usize = 26;
/// How deep what is only counted may nest.
const DEPTH_MAX: usize = 30;

pub(crate) fn check_condition(condition: &Condition) -> Result<()> {
    let mut length = Length::default();
    match length.condition(condition, 0) && length.is_short() {
        true => Ok(()),
        false => Renderer::new().condition(condition).map(drop),
    }
}

pub(crate) fn check_projection(paths: &[Path]) -> Result<()> {
    let mut length = Length::default();
    paths.iter().for_each(|path| length.path(path));
    match length.is_short() {
        true => Ok(()),
        false => Renderer::new().projection(paths).map(drop),
    }
}

pub(crate) fn check_update(update: &Update) -> Result<()> {
    let mut length = Length::default();
    let short = length.update(update);
    match short && length.is_short() {
        true => Ok(()),
        false => Renderer::new().update(update).map(drop),
    }
}

/// A range is at most eight attributes, which is short; how many it has is checked against the key.
pub(crate) fn check_range(range: &KeyRange) -> Result<()> {
    match range.partition.len() + range.sort.len() {
        1..=8 => Ok(()),
        _ => Renderer::new().key_range(range).map(drop),
    }
}

/// The most that an expression can be.
#[derive(Debug, Default)]
struct Length {
    bytes: usize,
    operators: usize,
}

impl Length {
    fn is_short(&self) -> bool {
        self.bytes <= EXPRESSION_SIZE_BYTES_MAX && self.operators <= EXPRESSION_OPERATORS_MAX
    }

    /// Counts a condition; whether it is one that can be counted.
    fn condition(&mut self, condition: &Condition, depth: usize) -> bool {
        self.operators += 1;
        self.bytes += OPERATOR_BYTES;
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                self.operators += parts.len();
                self.bytes += parts.len() * PLACEHOLDER_BYTES;
                !parts.is_empty() && depth < DEPTH_MAX && parts.iter().all(|part| self.condition(part, depth + 1))
            }
            Condition::Not(inner) => depth < DEPTH_MAX && self.condition(inner, depth + 1),
            Condition::Compare { left, right, .. } => self.operands([left, right]),
            Condition::Between { operand, low, high } => self.operands([operand, low, high]),
            Condition::In { operand, options } => {
                (1..=IN_OPTIONS_MAX).contains(&options.len()) && self.operands(std::iter::once(operand).chain(options))
            }
            Condition::Exists(path) | Condition::NotExists(path) => {
                self.path(path);
                true
            }
            Condition::HasType(path, _) => {
                self.bytes += PLACEHOLDER_BYTES;
                self.path(path);
                true
            }
            Condition::BeginsWith(whole, part) | Condition::Contains(whole, part) => self.operands([whole, part]),
        }
    }

    fn operands<'c>(&mut self, operands: impl IntoIterator<Item = &'c Operand>) -> bool {
        for operand in operands {
            match operand {
                Operand::Value(_) => self.bytes += PLACEHOLDER_BYTES,
                Operand::Path(path) => self.path(path),
                Operand::Size(path) => {
                    self.operators += 1;
                    self.bytes += PLACEHOLDER_BYTES;
                    self.path(path);
                }
            }
        }
        true
    }

    fn path(&mut self, path: &Path) {
        self.bytes += PLACEHOLDER_BYTES;
        for segment in path.segments() {
            self.bytes += match segment {
                Segment::Key(_) => PLACEHOLDER_BYTES,
                // Any index with its brackets.
                Segment::Index(_) => 22,
            };
        }
    }

    fn update(&mut self, update: &Update) -> bool {
        self.bytes += 4 * PLACEHOLDER_BYTES;
        for (path, _) in update.add.iter().chain(&update.delete) {
            self.bytes += PLACEHOLDER_BYTES;
            self.path(path);
        }
        update.remove.iter().for_each(|path| self.path(path));
        update.set.iter().all(|(path, value)| {
            self.bytes += PLACEHOLDER_BYTES;
            self.path(path);
            match value {
                SetValue::Operand(operand) => self.set_operand(operand, 0),
                SetValue::Plus(left, right) | SetValue::Minus(left, right) => {
                    self.set_operand(left, 0) && self.set_operand(right, 0)
                }
            }
        })
    }

    fn set_operand(&mut self, operand: &SetOperand, depth: usize) -> bool {
        match operand {
            SetOperand::Value(_) => {
                self.bytes += PLACEHOLDER_BYTES;
                true
            }
            SetOperand::Path(path) => {
                self.path(path);
                true
            }
            SetOperand::IfNotExists(path, default) => {
                self.bytes += OPERATOR_BYTES;
                self.path(path);
                depth < DEPTH_MAX && self.set_operand(default, depth + 1)
            }
            SetOperand::ListAppend(head, tail) => {
                self.bytes += OPERATOR_BYTES;
                depth < DEPTH_MAX && self.set_operand(head, depth + 1) && self.set_operand(tail, depth + 1)
            }
        }
    }
}
