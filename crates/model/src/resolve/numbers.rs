//! Small notations: `40/s`, `1..5`.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Bounds, Rate};
use crate::rules;
use crate::text::Text;

/// How often: `40/s`, `100/min`, `5/h`, `1/day`.
pub(super) fn rate(text: &Text, out: &mut Diagnostics) -> Option<Rate> {
    let parsed = text.text.split_once('/').and_then(|(count, unit)| {
        let seconds = match unit.trim() {
            "s" | "second" => 1.0,
            "min" | "minute" => 60.0,
            "h" | "hour" => 3_600.0,
            "day" => 86_400.0,
            _ => return None,
        };
        let count: f64 = count.trim().parse().ok()?;
        (count.is_finite() && count >= 0.0).then_some(Rate { count, seconds })
    });
    if parsed.is_none() {
        let message = format!("`{}` is no rate", text.text);
        out.push(
            Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write `40/s`, `100/min`, `5/h` or `1/day`"),
        );
    }
    parsed
}

/// A number, or a range of them: `5`, `1..5`, `..5`, `0.5..`.
pub(super) fn bounds(text: &Text, out: &mut Diagnostics) -> Option<Bounds> {
    let side = |side: &str| match side.trim() {
        "" => Some(None),
        digits => digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(Some),
    };
    let parsed = match text.text.split_once("..") {
        Some((min, max)) => side(min).zip(side(max)),
        None => side(&text.text).filter(Option::is_some).map(|number| (number, number)),
    };
    if parsed.is_none() {
        let message = format!("`{}` is neither a number nor a range", text.text);
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write `5`, `1..5`, `..5` or `0.5..`"));
    }
    parsed.map(|(min, max)| Bounds { min, max })
}

/// `2 read units`.
pub(super) fn budget(text: &Text, out: &mut Diagnostics) -> Option<f64> {
    let number = ["read units", "read unit"]
        .iter()
        .find_map(|unit| text.text.trim().strip_suffix(unit))
        .and_then(|number| number.trim().parse::<f64>().ok())
        .filter(|number| number.is_finite() && *number > 0.0);
    if number.is_none() {
        let message = format!("`{}` is no budget", text.text);
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write `2 read units`"));
    }
    number
}
