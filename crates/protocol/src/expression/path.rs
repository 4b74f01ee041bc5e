//! Paths into an item, and two of them that cannot stand in one expression.

use singlet_store::Path;
use singlet_store::well_formed::Malformed;

use super::ExpressionParser;
use super::reserved::is_reserved;
use super::token::ExpressionToken;

impl ExpressionParser<'_> {
    /// A path. Only its first word may be a bare one that is not reserved; the same holds of every further one.
    pub(super) fn path(&mut self) -> Result<Path, Malformed> {
        let mut path = Path::attribute(self.path_word()?);
        loop {
            if self.tokens.take_sign(".") {
                path = path.key(self.path_word()?);
            } else if self.tokens.take_sign("[") {
                let Some(ExpressionToken::Digits(digits)) = self.tokens.peek().cloned() else {
                    return Err(self.tokens.syntax_error());
                };
                self.tokens.next();
                // An index beyond what fits is beyond any list as well.
                path = path.list_element(digits.parse().unwrap_or(usize::MAX));
                self.tokens.expect_sign("]")?;
            } else {
                return Ok(path);
            }
        }
    }

    fn path_word(&mut self) -> Result<String, Malformed> {
        match self.tokens.peek().cloned() {
            Some(ExpressionToken::Word(word)) => {
                if is_reserved(&word) {
                    return Err(Malformed::from(format!(
                        "Attribute name is a reserved keyword; reserved keyword: {word}"
                    )));
                }
                self.tokens.next();
                Ok(word)
            }
            Some(ExpressionToken::Name(placeholder)) => {
                self.tokens.next();
                self.placeholders.name(&placeholder)
            }
            _ => Err(self.tokens.syntax_error()),
        }
    }
}
