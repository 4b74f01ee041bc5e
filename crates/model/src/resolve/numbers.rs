//! Small notations: `40/s`, `1..5`.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::model::{Bounds, Rate};
use crate::node::Node;
use crate::rules;
use crate::text::Text;

/// The highest rate, a second: no table serves as much, and what is worked out with it stays a number.
const RATE_PER_SECOND_MAX: f64 = 1e9;

/// How often: `40/s`, `100/min`, `5/h`, `1/day`, `500000/month`; a month has 30 days.
pub(super) fn read_rate(text: &Text, out: &mut Diagnostics) -> Option<Rate> {
    let parsed = text.text.split_once('/').and_then(|(count, unit)| {
        let seconds = match unit.trim() {
            "s" | "second" => 1.0,
            "min" | "minute" => 60.0,
            "h" | "hour" => 3_600.0,
            "day" => 86_400.0,
            "month" => 30.0 * 86_400.0,
            _ => return None,
        };
        let count: f64 = count.trim().parse().ok()?;
        let is_rate = count.is_finite() && count >= 0.0 && count / seconds <= RATE_PER_SECOND_MAX;
        is_rate.then_some(Rate { count, seconds })
    });
    if parsed.is_none() {
        let message = format!("`{}` is no rate", text.text);
        out.push(
            Diagnostic::new(&rules::BAD_BOUNDS, text.span, message)
                .help("write `40/s`, `100/min`, `5/h`, `1/day` or `500/month`"),
        );
    }
    parsed
}

/// How often a caller may call: more than never, which `allow: false` says.
pub(super) fn caller_rate(text: &Text, out: &mut Diagnostics) -> Option<Rate> {
    let rate = read_rate(text, out)?;
    if rate.count < 1.0 {
        let message = format!("`{}` lets nobody call even once", text.text);
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("a rate is at least `1/day`"));
        return None;
    }
    Some(rate)
}

/// A whole number that must lie within bounds; what is no whole number was reported.
pub(super) fn number_within(node: Option<&Node>, least: u64, most: u64, out: &mut Diagnostics) {
    let Some(text) = node.and_then(Node::text) else { return };
    let Ok(number) = text.text.parse::<u64>() else { return };
    if (least..=most).contains(&number) {
        return;
    }
    let message = format!("`{number}` is outside what this can be");
    let help = match (least, most) {
        (least, most) if least == most => format!("write `{least}`, or leave it out"),
        (least, u64::MAX) => format!("it is at least {least}"),
        (least, most) => format!("it is from {least} to {most}"),
    };
    out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help(help));
}

/// A share of the whole, from 0 to 1.
pub(super) fn read_share(text: &Text, out: &mut Diagnostics) -> Option<f64> {
    let share = text.text.trim().parse::<f64>().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    if share.is_none() {
        let message = format!("`{}` is no share", text.text);
        out.push(
            Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write a number from 0 to 1, such as `0.2`"),
        );
    }
    share
}

/// A price in dollars.
pub(super) fn read_price(text: &Text, out: &mut Diagnostics) {
    let price = text.text.trim().trim_start_matches('$').parse::<f64>().ok();
    if price.is_none_or(|price| !price.is_finite() || price < 0.0) {
        let message = format!("`{}` is no price", text.text);
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write dollars, such as `0.25`"));
    }
}

/// A number, or a range of them: `5`, `1..5`, `..5`, `0.5..`.
pub(super) fn read_bounds(text: &Text, out: &mut Diagnostics) -> Option<Bounds> {
    let side = |side: &str| match side.trim() {
        "" => Some(None),
        digits => digits.parse::<f64>().ok().filter(|number| number.is_finite()).map(Some),
    };
    let parsed = match text.text.split_once("..") {
        Some((min, max)) => side(min).zip(side(max)),
        None => side(&text.text).filter(Option::is_some).map(|number| (number, number)),
    };
    let parsed = parsed.filter(|(min, max)| {
        let ordered = min.zip(*max).is_none_or(|(min, max)| min <= max);
        ordered && [min, max].into_iter().flatten().all(|side| *side >= 0.0)
    });
    if parsed.is_none() {
        let message = format!("`{}` is neither a number nor a range", text.text);
        out.push(Diagnostic::new(&rules::BAD_BOUNDS, text.span, message).help("write `5`, `1..5`, `..5` or `0.5..`"));
    }
    parsed.map(|(min, max)| Bounds { min, max })
}

/// `2 read units`.
pub(super) fn read_budget(text: &Text, out: &mut Diagnostics) -> Option<f64> {
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
