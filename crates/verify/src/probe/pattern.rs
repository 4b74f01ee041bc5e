//! Texts that a regular expression matches whole.

use fastrand::Rng;
use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

/// How often a part without an upper end, or with a far one, is repeated at most.
const REPETITIONS_MAX: u32 = 24;

/// Characters that are tried first in a class: few, so that texts meet; some about which keys break.
const USUAL: [char; 12] = ['a', 'b', 'A', 'B', '0', '1', '9', '#', '$', '.', 'é', '~'];

/// A text that a pattern matches; none where the pattern cannot be read.
pub(super) fn matching_text(pattern: &str, rng: &mut Rng) -> Option<String> {
    let hir = Parser::new().parse(pattern).ok()?;
    let mut text = String::new();
    append(&hir, rng, &mut text)?;
    Some(text)
}

fn append(hir: &Hir, rng: &mut Rng, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            text.push_str(std::str::from_utf8(&literal.0).ok()?);
            Some(())
        }
        HirKind::Class(class) => {
            text.push(character(class, rng)?);
            Some(())
        }
        HirKind::Repetition(repetition) => {
            for _ in 0..times(repetition, rng) {
                append(&repetition.sub, rng, text)?;
            }
            Some(())
        }
        HirKind::Capture(capture) => append(&capture.sub, rng, text),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| append(part, rng, text)),
        HirKind::Alternation(branches) => append(rng.choice(branches)?, rng, text),
    }
}

/// Mostly as few as may be, or one more; now and then as many as may be.
fn times(repetition: &Repetition, rng: &mut Rng) -> u32 {
    let least = repetition.min;
    let most = repetition
        .max
        .unwrap_or(u32::MAX)
        .min(least.saturating_add(REPETITIONS_MAX));
    match rng.u8(..10) {
        0..6 => least.max(1).min(most),
        6..9 => least.saturating_add(1).min(most),
        _ => most,
    }
}

fn character(class: &Class, rng: &mut Rng) -> Option<char> {
    let Class::Unicode(class) = class else {
        let Class::Bytes(class) = class else { return None };
        return class.ranges().first().map(|range| char::from(range.start()));
    };
    let fits = |char: &char| {
        class
            .ranges()
            .iter()
            .any(|range| range.start() <= *char && *char <= range.end())
    };
    let usual: Vec<char> = USUAL.into_iter().filter(fits).collect();
    // Few characters, so that equal texts come about.
    let few = rng.choice(usual.into_iter().take(4));
    if let Some(char) = few.filter(|_| rng.u8(..8) > 0) {
        return Some(char);
    }
    let range = rng.choice(class.ranges())?;
    let span = u32::from(range.end()) - u32::from(range.start());
    let at = match rng.u8(..3) {
        0 => 0,
        1 => span,
        _ => rng.u32(..=span),
    };
    char::from_u32(u32::from(range.start()) + at).or(Some(range.start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_matches() {
        let mut rng = Rng::with_seed(1);
        for pattern in [
            r"[A-Z]{3}[0-9]{4}",
            r"[^@\s]{1,64}@[^@\s]{1,189}",
            r"(red|green)-\d+",
            r"a?b*c+",
            r".{1,3}",
            r"\p{L}+",
        ] {
            let known = singlet_item::key::Pattern::new(pattern).unwrap();
            for _ in 0..200 {
                let text = matching_text(pattern, &mut rng).unwrap();
                assert!(known.matches_whole(&text), "`{text}` is no `{pattern}`");
            }
        }
    }
}
