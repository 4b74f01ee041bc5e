//! Finds mistakes of writing before the parser does, and names them in the language's own words.
//!
//! Values and operators take turns: a walk over the tokens that knows which of the two must come next, and which brackets
//! are open, finds every place where the grammar is left. What passes here parses.

use super::rules;
use super::scan::{ScannedToken, TokenKind, scan_tokens};
use super::tokens::{Step, cut_input, mistake_at, refuse_token, token_mistakes, word_of};
use super::words::{is_literal, is_reserved, word_help};
use super::{EXPRESSION_BYTES_MAX, NESTING_MAX, TOKENS_MAX};
use crate::diagnostic::{Diagnostic, Rule};
use crate::text::Text;

/// The tokens of an expression without mistakes of writing; otherwise the first mistake.
pub(super) fn checked_tokens(text: &Text) -> Result<Vec<ScannedToken>, Box<Diagnostic>> {
    let whole = |rule, message: String| Box::new(Diagnostic::new(rule, text.span, message));
    if text.text.len() > EXPRESSION_BYTES_MAX {
        let message = format!("this expression is longer than {EXPRESSION_BYTES_MAX} bytes");
        return Err(whole(&rules::TOO_LONG, message));
    }
    let tokens = scan_tokens(&text.text);
    if tokens.is_empty() {
        let help = "write `true` for what always holds, and `absent` for no value";
        let empty = whole(&rules::EMPTY, "an expression is expected here".to_owned());
        return Err(Box::new(empty.help(help)));
    }
    if tokens.len() > TOKENS_MAX {
        let message = format!("this expression has more than {TOKENS_MAX} words and signs");
        return Err(whole(&rules::TOO_LONG, message));
    }
    SyntaxWalk::new(text, &tokens).run()?;
    Ok(tokens)
}

/// `get: Task?` has the `?` at the entity, an expression after the key.
const OPTIONAL_ROW: &str = "a row that may be missing has the `?` after its key: `Task(args.id)?`";

/// What an open bracket holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// One expression in parentheses.
    Group,
    /// The arguments of a call.
    Call,
    /// The index after a value.
    Index,
    /// The elements of a list.
    List,
    /// The fields of a record.
    Fields,
    /// The fields of a row's key.
    Key,
}

impl Holds {
    fn fields(self) -> bool {
        matches!(self, Holds::Fields | Holds::Key)
    }
}

struct OpenBracket {
    open: ScannedToken,
    holds: Holds,
    /// A `?` that waits for its `:`.
    question: Option<ScannedToken>,
    /// Whether a field's `:` was seen since the last comma.
    colon: bool,
}

struct SyntaxWalk<'a> {
    text: &'a Text,
    tokens: &'a [ScannedToken],
    at: usize,
    /// Whether a value must come next, rather than an operator.
    wants_value: bool,
    frames: Vec<OpenBracket>,
    question: Option<ScannedToken>,
    questions: usize,
}

impl<'a> SyntaxWalk<'a> {
    fn new(text: &'a Text, tokens: &'a [ScannedToken]) -> Self {
        SyntaxWalk {
            text,
            tokens,
            at: 0,
            wants_value: true,
            frames: Vec::new(),
            question: None,
            questions: 0,
        }
    }

    fn run(mut self) -> Step {
        while let Some(token) = self.tokens.get(self.at).copied() {
            token_mistakes(self.text, token)?;
            if self.wants_value {
                self.value(token)?;
            } else {
                self.operator(token)?;
            }
            self.at += 1;
        }
        self.end()
    }

    fn word(&self, token: ScannedToken) -> &'a str {
        word_of(self.text, token)
    }

    fn before(&self) -> Option<ScannedToken> {
        self.tokens.get(self.at.checked_sub(1)?).copied()
    }

    fn after(&self) -> Option<ScannedToken> {
        self.tokens.get(self.at + 1).copied()
    }

    fn mistake(&self, rule: &'static Rule, token: ScannedToken, message: impl Into<String>) -> Box<Diagnostic> {
        mistake_at(self.text, rule, token, message)
    }

    fn refuse(&self, rule: &'static Rule, token: ScannedToken, message: String, help: impl Into<String>) -> Step {
        refuse_token(self.text, rule, token, message, help)
    }

    /// A value must come next.
    fn value(&mut self, token: ScannedToken) -> Step {
        let word = self.word(token);
        if self
            .frames
            .last()
            .is_some_and(|frame| frame.holds.fields() && !frame.colon)
        {
            return self.field_name(token);
        }
        match token.kind {
            TokenKind::Name if word == "in" => self.missing_before(token),
            TokenKind::Name if is_reserved(word) => self.reserved(token),
            TokenKind::Name | TokenKind::Number | TokenKind::Text => {
                self.wants_value = false;
                Ok(())
            }
            TokenKind::Operator if matches!(word, "!" | "-") => self.prefix(token),
            TokenKind::Open => self.open(token, word),
            TokenKind::Close => self.close_without_value(token),
            TokenKind::Dot => {
                let message = "a name is missing before `.`".to_owned();
                Err(self.mistake(&rules::UNEXPECTED, token, message))
            }
            _ => self.missing_before(token),
        }
    }

    /// A field's name and its `:`, or the end of a record without fields.
    fn field_name(&mut self, token: ScannedToken) -> Step {
        let in_key = self.frames.last().is_some_and(|frame| frame.holds == Holds::Key);
        let named = match token.kind {
            TokenKind::Name => !is_literal(self.word(token)) && (in_key || !is_reserved(self.word(token))),
            TokenKind::Text => !in_key,
            TokenKind::Close => return self.close_without_value(token),
            _ => false,
        };
        if !named || self.after().is_none_or(|after| after.kind != TokenKind::Colon) {
            return self.field_without_value(token);
        }
        self.wants_value = false;
        Ok(())
    }

    /// The parser drops doubled signs in pairs; here they are almost always a slip.
    fn prefix(&self, token: ScannedToken) -> Step {
        let doubled = self.before().is_some_and(|before| {
            before.end == token.start && matches!(self.word(before), "!" | "-") && self.is_prefix(self.at - 1)
        });
        if doubled {
            let message = "two signs stand before one value".to_owned();
            return Err(self.mistake(&rules::UNEXPECTED, token, message));
        }
        if self.before().is_some() && self.is_prefix(self.at - 1) {
            let message = format!("a value is missing before `{}`", self.word(token));
            return Err(self.mistake(&rules::UNEXPECTED, token, message));
        }
        Ok(())
    }

    /// Whether the token at `index` is a sign before a value rather than between two.
    fn is_prefix(&self, index: usize) -> bool {
        let Some(token) = self.tokens.get(index) else {
            return false;
        };
        let value_before = index
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .is_some_and(|before| ends_value(*before) && self.word(*before) != "in");
        matches!(self.word(*token), "!" | "-") && !value_before
    }

    fn open(&mut self, token: ScannedToken, word: &str) -> Step {
        let holds = match word {
            "(" => Holds::Group,
            "[" => Holds::List,
            _ => Holds::Fields,
        };
        self.push(token, holds)
    }

    fn push(&mut self, open: ScannedToken, holds: Holds) -> Step {
        if self.frames.len() >= NESTING_MAX {
            let message = format!("brackets are nested deeper than {NESTING_MAX}");
            return Err(self.mistake(&rules::TOO_DEEP, open, message));
        }
        self.frames.push(OpenBracket {
            open,
            holds,
            question: self.question.take(),
            colon: false,
        });
        self.wants_value = true;
        Ok(())
    }

    fn close_without_value(&mut self, token: ScannedToken) -> Step {
        let just_opened = self.frames.last().is_some_and(|frame| {
            self.before() == Some(frame.open) && !matches!(frame.holds, Holds::Group | Holds::Index)
        });
        if just_opened || self.frames.is_empty() {
            return self.close(token);
        }
        self.missing_before(token)
    }

    fn missing_before(&self, token: ScannedToken) -> Step {
        let word = self.word(token);
        let message = match self.before() {
            Some(before) if token.kind == TokenKind::Close && before.kind == TokenKind::Open => {
                format!("nothing stands between `{}` and `{word}`", self.word(before))
            }
            Some(before) => format!("a value is missing between `{}` and `{word}`", self.word(before)),
            None => format!("a value is missing before `{word}`"),
        };
        Err(self.mistake(&rules::UNEXPECTED, token, message))
    }

    fn reserved(&self, token: ScannedToken) -> Step {
        let word = self.word(token);
        let message = format!("`{word}` is a word that expressions keep for themselves");
        let help = match word {
            "if" => "write `test ? then : otherwise`".to_owned(),
            _ => format!("an attribute of that name is `row[\"{word}\"]`"),
        };
        self.refuse(&rules::RESERVED_WORD, token, message, help)
    }

    /// An operator, or the end of what is open, must come next.
    fn operator(&mut self, token: ScannedToken) -> Step {
        let word = self.word(token);
        match token.kind {
            TokenKind::Name if word == "in" => self.wants(),
            TokenKind::Operator if word != "!" => self.wants(),
            TokenKind::Dot => self.field(token),
            TokenKind::Open => self.open_after_value(token, word),
            TokenKind::Close => self.close(token),
            TokenKind::Comma => self.comma(token),
            TokenKind::Colon => self.colon(token),
            TokenKind::Question => self.question(token),
            _ => self.missing_operator(token),
        }
    }

    fn wants(&mut self) -> Step {
        self.wants_value = true;
        Ok(())
    }

    fn field(&mut self, token: ScannedToken) -> Step {
        match self.after() {
            Some(name) if name.kind == TokenKind::Name && !is_literal(self.word(name)) => {
                self.at += 1;
                Ok(())
            }
            Some(other) => {
                let message = format!("a name is expected after `.`, not `{}`", cut_input(self.word(other)));
                let help = "a name that is not a word is written `row[\"na-me\"]`";
                self.refuse(&rules::UNEXPECTED, other, message, help)
            }
            None => {
                let message = "a name is missing after `.`";
                Err(self.mistake(&rules::UNEXPECTED, token, message))
            }
        }
    }

    fn open_after_value(&mut self, token: ScannedToken, word: &str) -> Step {
        let named = self
            .before()
            .is_some_and(|before| before.kind == TokenKind::Name && !is_literal(self.word(before)));
        match word {
            "[" => self.push(token, Holds::Index),
            "(" if named => self.push(token, Holds::Call),
            "{" if named && !self.is_field(self.at - 1) => self.push(token, Holds::Key),
            _ => self.missing_operator(token),
        }
    }

    fn is_field(&self, index: usize) -> bool {
        index
            .checked_sub(1)
            .and_then(|before| self.tokens.get(before))
            .is_some_and(|before| before.kind == TokenKind::Dot)
    }

    fn close(&mut self, token: ScannedToken) -> Step {
        let word = self.word(token);
        let Some(frame) = self.frames.pop() else {
            let message = format!("`{word}` closes nothing");
            return Err(self.cut_by_yaml(self.mistake(&rules::UNBALANCED, token, message)));
        };
        let open = self.word(frame.open);
        if closing(open) != word {
            let message = format!("`{open}` is closed by `{word}`");
            return Err(self.mistake(&rules::UNBALANCED, token, message));
        }
        self.no_question_waits()?;
        self.question = frame.question;
        self.wants_value = false;
        Ok(())
    }

    fn field_without_value(&self, token: ScannedToken) -> Step {
        let message = format!(
            "a field's name and `:` are expected here, not `{}`",
            cut_input(self.word(token))
        );
        let help = "fields are written `{name: value}`, a list `[a, b]`";
        self.refuse(&rules::UNEXPECTED, token, message, help)
    }

    fn no_question_waits(&self) -> Step {
        match self.question {
            None => Ok(()),
            Some(question) => {
                let message = "`?` has no `:`".to_owned();
                let help = match self.is_key_after(question.end) {
                    true => OPTIONAL_ROW,
                    false => "write `test ? then : otherwise`",
                };
                self.refuse(&rules::UNEXPECTED, question, message, help)
            }
        }
    }

    /// Whether `(` stands at once after `?`, as in `Task?(args.id)`.
    fn is_key_after(&self, end: usize) -> bool {
        self.text.text.get(end..).is_some_and(|rest| rest.starts_with('('))
    }

    fn comma(&mut self, token: ScannedToken) -> Step {
        self.no_question_waits()?;
        let Some(frame) = self.frames.last_mut() else {
            let message = "`,` stands outside any brackets".to_owned();
            let help = "join conditions with `&&`, and write a list as `[a, b]`";
            return self.refuse(&rules::UNEXPECTED, token, message, help);
        };
        match frame.holds {
            Holds::Group | Holds::Index => {
                let after_question = frame.question.is_some_and(|question| question.end == frame.open.start);
                let message = format!("`,` stands within `{}`", self.word_of_open());
                match after_question {
                    true => self.refuse(&rules::UNEXPECTED, token, message, OPTIONAL_ROW),
                    false => Err(self.mistake(&rules::UNEXPECTED, token, message)),
                }
            }
            _ => {
                frame.colon = false;
                self.wants()
            }
        }
    }

    fn word_of_open(&self) -> &'a str {
        self.frames.last().map_or("", |frame| self.word(frame.open))
    }

    fn colon(&mut self, token: ScannedToken) -> Step {
        if self.question.take().is_some() {
            return self.wants();
        }
        match self.frames.last_mut() {
            Some(frame) if frame.holds.fields() && !frame.colon => {
                frame.colon = true;
                self.wants()
            }
            _ => {
                let message = "`:` has no `?` before it".to_owned();
                self.refuse(&rules::UNEXPECTED, token, message, "write `test ? then : otherwise`")
            }
        }
    }

    fn question(&mut self, token: ScannedToken) -> Step {
        if self.after().is_none() {
            let message = "`?` at the end marks an item that may be missing, which only `let` and `for` know";
            return self.refuse(
                &rules::UNEXPECTED,
                token,
                message.to_owned(),
                "leave it out, or write `test ? then : otherwise`",
            );
        }
        self.questions += 1;
        if self.questions > NESTING_MAX {
            let message = format!("there are more than {NESTING_MAX} `? :` in one expression");
            return Err(self.mistake(&rules::TOO_DEEP, token, message));
        }
        if self.question.replace(token).is_some() {
            let message = "a second `?` stands before the first one's `:`".to_owned();
            let help = "put the inner `? :` in parentheses";
            return self.refuse(&rules::UNEXPECTED, token, message, help);
        }
        self.wants()
    }

    /// A value follows a value: often an operator of another language, in words.
    fn missing_operator(&self, token: ScannedToken) -> Step {
        let word = self.word(token);
        let before = self.before().map_or("", |before| self.word(before));
        if let Some(help) = word_help(before, word, self.after().map_or("", |after| self.word(after))) {
            let (rule, at) = (
                &rules::FOREIGN_OPERATOR,
                if before == "not" { self.before() } else { None },
            );
            let at = at.unwrap_or(token);
            let message = format!("`{}` is not an operator", self.word(at));
            return self.refuse(rule, at, message, help);
        }
        let message = format!(
            "an operator is missing between `{}` and `{}`",
            cut_input(before),
            cut_input(word)
        );
        Err(self.mistake(&rules::UNEXPECTED, token, message))
    }

    fn end(self) -> Step {
        if let Some(frame) = self.frames.last() {
            let message = format!("`{}` is never closed", self.word(frame.open));
            return Err(self.cut_by_yaml(self.mistake(&rules::UNBALANCED, frame.open, message)));
        }
        match self.tokens.last() {
            Some(last) if self.wants_value => {
                let message = format!("a value is missing after `{}`", self.word(*last));
                Err(self.mistake(&rules::UNEXPECTED, *last, message))
            }
            _ => self.no_question_waits(),
        }
    }

    fn cut_by_yaml(&self, mistake: Box<Diagnostic>) -> Box<Diagnostic> {
        if !self.text.is_plain() {
            return mistake;
        }
        let end = self.text.span_of(self.text.text.len(), self.text.text.len());
        Box::new(
            mistake
                .help("if the bracket is there, YAML cut this expression here: quote it")
                .note(end, "YAML ends the text here"),
        )
    }
}

fn ends_value(token: ScannedToken) -> bool {
    matches!(
        token.kind,
        TokenKind::Name | TokenKind::Number | TokenKind::Text | TokenKind::Close
    )
}

fn closing(open: &str) -> &'static str {
    match open {
        "(" => ")",
        "[" => "]",
        _ => "}",
    }
}
