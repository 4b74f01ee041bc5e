//! The arguments of a made-up read, and values for them.

use fastrand::Rng;
use singlet_item::Value;
use singlet_runtime::Attributes;

use super::{GeneratedAttribute, GeneratedRead};

/// An argument.
#[derive(Debug)]
pub struct GeneratedArg {
    /// Its name.
    pub name: String,
    /// The attribute that it is compared with.
    pub attribute: GeneratedAttribute,
    /// Whether it is a list of values.
    pub list: bool,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it may go beyond the limits of the attribute.
    pub wide: bool,
    /// The function whose results it stands for.
    pub function: &'static str,
    /// The entity of its attribute, where its type is that of the attribute by reference.
    pub of: Option<String>,
    /// What it is where it is not sent, as an expression.
    pub default: Option<String>,
    /// Whether its route names it, so that it is declared nowhere else.
    pub in_path: bool,
}

impl GeneratedRead {
    /// Arguments of which many are the values of one row, others from the pools; optional ones are left out at times.
    pub fn draw_arguments(&self, rng: &mut Rng, row: Option<&Attributes>) -> Attributes {
        // Where each argument goes its own way, few rows fit all of them.
        let strays = if rng.u8(..3) > 0 { 12 } else { 3 };
        let mut args = Attributes::new();
        let together = rng.choice(&self.together).filter(|_| rng.u8(..20) > 0);
        for arg in &self.args {
            let is_sent = match together {
                _ if arg.default.is_some() => rng.bool(),
                _ if !arg.optional => true,
                Some(together) => together.contains(&arg.name),
                None => rng.bool(),
            };
            if is_sent {
                args.insert(arg.name.clone(), arg.value(rng, row, strays));
            }
        }
        args
    }

    /// A row of the entity that the read is about.
    pub fn some_row<'r>(&self, rng: &mut Rng, rows: &'r [(String, Attributes)]) -> Option<&'r Attributes> {
        let own = rows.iter().filter(|(name, _)| *name == self.entity);
        rng.choice(own.collect::<Vec<_>>()).map(|(_, row)| row)
    }
}

impl GeneratedArg {
    /// The type, as a model writes it.
    pub(super) fn ty(&self) -> String {
        let reference = self
            .of
            .as_ref()
            .map(|entity| format!("{entity}.{}", self.attribute.name));
        let own = match (self.function, self.wide) {
            ("", _) if reference.is_some() => reference.as_deref().unwrap_or_default(),
            ("lower" | "upper", _) => "string",
            ("day", _) => "date",
            ("month", _) => "month",
            ("year", _) => "int",
            ("word", _) => "string 1..9",
            (_, true) => self.attribute.kind.wide,
            (_, false) => self.attribute.kind.ty,
        };
        let ty = match (self.list, self.optional, own.split_once(' ')) {
            (true, _, _) => format!("list({own})"),
            (false, true, Some((ty, limits))) => format!("{ty}? {limits}"),
            (false, true, None) => format!("{own}?"),
            (false, false, _) => own.to_owned(),
        };
        match &self.default {
            Some(default) => format!("{ty} = {default}"),
            None => ty,
        }
    }

    /// One in `strays` values is not the row's.
    fn value(&self, rng: &mut Rng, row: Option<&Attributes>, strays: u8) -> Value {
        let known = row.and_then(|row| self.attribute.of(row));
        if !self.list {
            return applied(self.function, self.one(rng, known, strays));
        }
        let count = if strays > 6 { 1 + rng.usize(..3) } else { rng.usize(..4) };
        Value::L((0..count).map(|_| self.one(rng, known, strays)).collect())
    }

    fn one(&self, rng: &mut Rng, known: Option<&Value>, strays: u8) -> Value {
        match known {
            Some(known) if rng.u8(..strays) > 0 => return known.clone(),
            _ => {}
        }
        let beyond = self.attribute.kind.beyond;
        if self.wide && !beyond.is_empty() && rng.bool() {
            return self
                .attribute
                .kind
                .value(rng.choice(beyond).copied().unwrap_or_default());
        }
        self.attribute.any(rng)
    }
}

/// What a function makes of a value.
fn applied(function: &str, value: Value) -> Value {
    if let Value::Ss(words) = &value {
        return words.first().cloned().map_or(Value::Null, Value::S);
    }
    let Value::S(text) = &value else { return value };
    let head = |chars: usize| Value::S(text.chars().take(chars).collect());
    match function {
        "lower" => Value::S(text.to_lowercase()),
        "upper" => Value::S(text.to_uppercase()),
        "day" => head(10),
        "month" => head(7),
        "year" => text
            .get(..4)
            .and_then(|year| year.parse().ok())
            .map_or(Value::Null, Value::N),
        _ => value,
    }
}
