//! Expressions as DynamoDB takes them: how long they would be, without writing them, and what they may not say.
//!
//! What is surely short is counted only. What may be too long is rendered, so that the bound is exact and the refusal that of every
//! other store.

use singlet_item::limits::{EXPRESSION_OPERATORS_MAX, EXPRESSION_SIZE_BYTES_MAX, IN_OPERANDS_MAX};
use singlet_store::render::Renderer;
use singlet_store::well_formed::{self, Malformed};
use singlet_store::{
    Condition, KeyRange, Operand, Path, Paths, Result, Segment, SetOperand, SetValue, StoreError, Update,
};

use crate::check::check_given;
use crate::words;

/// The most bytes of a placeholder, with what stands around it.
const PLACEHOLDER_BYTES: usize = 8;
/// The most bytes of an operator or function, with what stands around it.
const OPERATOR_BYTES: usize = 26;
/// How deep what is only counted may nest.
const DEPTH_MAX: usize = 30;

/// `parameter` is what DynamoDB calls it.
pub(crate) fn check_condition(parameter: &str, condition: &Condition) -> Result<()> {
    let mut length = Length::default();
    // An estimate that is never too small: only what it calls long is rendered, and then counted exactly.
    if !(length.condition(condition, 0) && length.is_short()) {
        Renderer::new().condition_text(condition)?;
    }
    // Of bounded depth: it has a bounded number of operators.
    check_operators(parameter, condition)
}

fn check_operators(parameter: &str, condition: &Condition) -> Result<()> {
    well_formed::check_operator(condition).map_err(malformed(parameter))?;
    let check = |operand: &Operand| match operand {
        Operand::Value(value) => check_given(value),
        Operand::Path(_) | Operand::Size(_) => Ok(()),
    };
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            parts.iter().try_for_each(|part| check_operators(parameter, part))
        }
        Condition::Not(inner) => check_operators(parameter, inner),
        Condition::Compare { left, right, .. } => [left, right].into_iter().try_for_each(check),
        Condition::Between { operand, low, high } => [operand, low, high].into_iter().try_for_each(check),
        Condition::In { operand, options } => std::iter::once(operand).chain(options).try_for_each(check),
        Condition::BeginsWith(whole, part) | Condition::Contains(whole, part) => {
            [whole, part].into_iter().try_for_each(check)
        }
        Condition::Exists(_) | Condition::NotExists(_) | Condition::HasType(..) => Ok(()),
    }
}

fn malformed(parameter: &str) -> impl Fn(Malformed) -> StoreError {
    move |malformed| words::invalid_request(format!("Invalid {parameter}: {malformed}"))
}

pub(crate) fn check_projection(paths: &Paths) -> Result<()> {
    // Whole attributes in their order, as whoever asks for rows names them, are different, and need nothing but room.
    if paths.are_flat() && paths.are_ordered() && paths.len() * PLACEHOLDER_BYTES <= EXPRESSION_SIZE_BYTES_MAX {
        return Ok(());
    }
    let mut length = Length::default();
    paths.iter().for_each(|path| length.path(path));
    if !length.is_short() {
        Renderer::new().projection_text(paths)?;
    }
    well_formed::check_distinct(paths.iter()).map_err(malformed("ProjectionExpression"))
}

pub(crate) fn check_update(update: &Update) -> Result<()> {
    let mut length = Length::default();
    let short = length.update(update);
    if !(short && length.is_short()) {
        Renderer::new().update_text(update)?;
    }
    let malformed = malformed("UpdateExpression");
    for (_, value) in &update.set {
        well_formed::check_sum(value).map_err(&malformed)?;
        match value {
            SetValue::Operand(operand) => check_set_operand(operand, &malformed)?,
            SetValue::Plus(left, right) | SetValue::Minus(left, right) => {
                check_set_operand(left, &malformed)?;
                check_set_operand(right, &malformed)?;
            }
        }
    }
    for (_, value) in &update.add {
        well_formed::check_added(value).map_err(&malformed)?;
        check_given(value)?;
    }
    for (_, value) in &update.delete {
        well_formed::check_deleted(value).map_err(&malformed)?;
        check_given(value)?;
    }
    well_formed::check_distinct(well_formed::changed_paths(update)).map_err(&malformed)
}

fn check_set_operand(operand: &SetOperand, malformed: &impl Fn(Malformed) -> StoreError) -> Result<()> {
    well_formed::check_function(operand).map_err(malformed)?;
    match operand {
        SetOperand::Value(value) => check_given(value),
        SetOperand::Path(_) => Ok(()),
        SetOperand::IfNotExists(_, default) => check_set_operand(default, malformed),
        SetOperand::ListAppend(head, tail) => {
            check_set_operand(head, malformed)?;
            check_set_operand(tail, malformed)
        }
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
                // An empty one cannot be counted, and is refused by who renders it.
                !parts.is_empty() && depth < DEPTH_MAX && parts.iter().all(|part| self.condition(part, depth + 1))
            }
            Condition::Not(inner) => depth < DEPTH_MAX && self.condition(inner, depth + 1),
            Condition::Compare { left, right, .. } => self.operands([left, right]),
            Condition::Between { operand, low, high } => self.operands([operand, low, high]),
            Condition::In { operand, options } => {
                (1..=IN_OPERANDS_MAX).contains(&options.len()) && self.operands(std::iter::once(operand).chain(options))
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
        for segment in path.inner_segments() {
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
