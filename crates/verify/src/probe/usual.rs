//! Values that surprise nobody: settings that nobody gave, and examples.

use fastrand::Rng;
use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{evaluate_as, time};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Caller, Scope, Setting};

use super::values::ValueDraw;

/// The instant of examples, 2026-03-10T09:00:00Z.
const NOW: i64 = 1_773_133_200_000;

/// How many values are drawn, of which the plainest is taken.
const DRAWN: usize = 40;

/// A month, as durations usually are.
const USUAL_DURATION_MILLIS: i64 = 30 * 86_400_000;

/// A value of each setting of a model: its default, or one that fits.
pub fn usual_settings(model: &Model) -> Attributes {
    let setting = Setting::of(model, Attributes::new());
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: &setting,
        now: NOW,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let mut settings = Attributes::new();
    for known in &model.settings {
        let default = known.default.as_ref();
        let default = default.and_then(|default| evaluate_as(default, &known.ty, &scope).ok().flatten());
        let value = default.or_else(|| example_value(&known.ty));
        settings.extend(value.map(|value| (known.name.clone(), value)));
    }
    settings
}

/// A plain value of a type, always the same.
pub fn example_value(ty: &Type) -> Option<Value> {
    if *ty == Type::Duration {
        let millis = USUAL_DURATION_MILLIS;
        return Some(time::Duration::new(0, millis).ok()?.to_value());
    }
    let mut draw = ValueDraw {
        rng: Rng::with_seed(1),
        now: NOW,
        zone: TimeZone::UTC,
        delimiter: '#',
    };
    let drawn = (0..DRAWN).filter_map(|_| draw.fresh_value(ty));
    drawn.min_by_key(|value| {
        let text = singlet_values::json_text::json_of(value);
        let odd = text.chars().filter(|char| !char.is_ascii_alphanumeric()).count();
        let not_letters = text.chars().filter(|char| !char.is_ascii_lowercase()).count();
        // An empty text is plain, but shows nothing; a letter looks more like text than a digit.
        (text == "\"\"", odd, text.len(), not_letters, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_plain() {
        assert_eq!(example_value(&Type::text()), Some(Value::from("a")));
        assert_eq!(example_value(&Type::int()), Some(Value::from(0)));
        assert!(example_value(&Type::Date).is_some());
    }
}
