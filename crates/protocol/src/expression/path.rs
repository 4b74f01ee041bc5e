//! Paths into an item, and two of them that cannot stand in one expression.

use singlet_store::{Path, Segment};

use super::Parser;
use super::reserved::is_reserved;
use super::token::Token;

impl Parser<'_> {
    /// A path. Only its first word may be a bare one that is not reserved; the same holds of every further one.
    pub(super) fn path(&mut self) -> Result<Path, String> {
        let mut path = Path::attribute(self.path_word()?);
        loop {
            if self.tokens.take_sign(".") {
                path = path.key(self.path_word()?);
            } else if self.tokens.take_sign("[") {
                let Some(Token::Digits(digits)) = self.tokens.peek().cloned() else {
                    return Err(self.tokens.syntax_error());
                };
                self.tokens.next();
                // An index beyond what fits is beyond any list as well.
                path = path.index(digits.parse().unwrap_or(usize::MAX));
                self.tokens.expect_sign("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    fn path_word(&mut self) -> Result<String, String> {
        match self.tokens.peek().cloned() {
            Some(Token::Word(word)) => {
                if is_reserved(&word) {
                    return Err(format!(
                        "Attribute name is a reserved keyword; reserved keyword: {word}"
                    ));
                }
                self.tokens.next();
                Ok(word)
            }
            Some(Token::Name(placeholder)) => {
                self.tokens.next();
                self.placeholders.name(&placeholder)
            }
            _ => Err(self.tokens.syntax_error()),
        }
    }
}

/// A path as DynamoDB's messages show it: `[a, b, [1]]`.
pub(super) fn shown(path: &Path) -> String {
    let mut parts = vec![path.name().to_owned()];
    for segment in path.segments() {
        parts.push(match segment {
            Segment::Key(name) => name.clone(),
            Segment::Index(index) => format!("[{index}]"),
        });
    }
    format!("[{}]", parts.join(", "))
}

/// Refuses paths of which one lies in another, or that take the same value for a map and for a list.
pub(crate) fn check_distinct<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), String> {
    let paths: Vec<&Path> = paths.into_iter().collect();
    for (position, one) in paths.iter().enumerate() {
        for other in paths.iter().skip(position + 1) {
            if let Some(how) = clash(one, other) {
                return Err(format!(
                    "Two document paths {how} with each other; must remove or rewrite one of these paths; \
                     path one: {}, path two: {}",
                    shown(one),
                    shown(other)
                ));
            }
        }
    }
    Ok(())
}

fn clash(one: &Path, other: &Path) -> Option<&'static str> {
    if one.name() != other.name() {
        return None;
    }
    for (left, right) in one.segments().iter().zip(other.segments()) {
        match (left, right) {
            (left, right) if left == right => {}
            (Segment::Key(_), Segment::Index(_)) | (Segment::Index(_), Segment::Key(_)) => return Some("conflict"),
            _ => return None,
        }
    }
    Some("overlap")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_overlap_or_conflict_or_neither() {
        let a = || Path::attribute("a");
        let check = |one: Path, other: Path| check_distinct([&one, &other]);
        assert!(check(a(), Path::attribute("b")).is_ok());
        assert!(check(a().key("x"), a().key("y")).is_ok());
        assert!(check(a().index(0), a().index(1)).is_ok());
        assert!(
            check(a(), a().key("x"))
                .unwrap_err()
                .ends_with("path one: [a], path two: [a, x]")
        );
        assert!(check(a(), a()).unwrap_err().contains("overlap"));
        assert!(
            check(a().key("x"), a().index(1))
                .unwrap_err()
                .contains("paths conflict with")
        );
    }
}
