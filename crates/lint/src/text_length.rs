//! How long the text is that an expression gives, where a model says no limits of its own: what is computed of limited texts is limited too.

use singlet_model::expression::{BinaryOp, Expr, ExprKind, FunctionId, Literal};
use singlet_model::types::Type;

/// More characters than a number, a day, an instant or an id has as text.
const SCALAR_CHARS_MAX: u64 = 64;

/// How many characters another letter case makes of one, at most.
const FOLDED_CHARS_MAX: u64 = 3;

/// The characters of a text, at least and at most. Of a value that is absent it says nothing: a key without it is not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLength {
    /// At least.
    pub min: u64,
    /// At most; nothing where there is no end.
    pub max: Option<u64>,
}

impl TextLength {
    const UNKNOWN: Self = TextLength { min: 0, max: None };

    fn exactly(chars: u64) -> Self {
        TextLength {
            min: chars,
            max: Some(chars),
        }
    }

    /// The length of what an expression gives.
    pub fn of(expr: &Expr) -> Self {
        if expr.is_generated() {
            return TextLength::scalar();
        }
        match &expr.kind {
            ExprKind::Literal(Literal::Text(text)) => TextLength::exactly(text.chars().count() as u64),
            ExprKind::Binary(BinaryOp::Add, a, b) if expr.ty.is_textual() => TextLength::of(a).then(TextLength::of(b)),
            ExprKind::Conditional(_, then, otherwise) if is_absent(then) => TextLength::of(otherwise),
            ExprKind::Conditional(_, then, otherwise) if is_absent(otherwise) => TextLength::of(then),
            ExprKind::Conditional(_, then, otherwise) => TextLength::of(then).or(TextLength::of(otherwise)),
            ExprKind::Call(FunctionId::Lower | FunctionId::Upper, args) => args.first().map_or(Self::UNKNOWN, |arg| {
                let TextLength { min, max } = TextLength::of(arg);
                let max = max.map(|max| max.saturating_mul(FOLDED_CHARS_MAX));
                TextLength { min: min.min(1), max }
            }),
            ExprKind::Call(FunctionId::String, args) => match args.as_slice() {
                [value] => TextLength::of(value),
                _ => Self::UNKNOWN,
            },
            _ => TextLength::of_type(&expr.ty),
        }
    }

    fn of_type(ty: &Type) -> Self {
        match ty {
            Type::Text(limits) => TextLength {
                min: limits.length.min.unwrap_or(0),
                max: limits.length.max,
            },
            Type::Enum(words) => {
                let chars = words.members.iter().map(|member| member.chars().count() as u64);
                TextLength {
                    min: chars.clone().min().unwrap_or(0),
                    max: chars.max(),
                }
            }
            Type::Date | Type::Month | Type::Bool | Type::Ulid | Type::Ksuid | Type::Uuid => TextLength::scalar(),
            _ if ty.is_instant() || ty.is_number() => TextLength::scalar(),
            _ => Self::UNKNOWN,
        }
    }

    fn scalar() -> Self {
        TextLength {
            min: 1,
            max: Some(SCALAR_CHARS_MAX),
        }
    }

    fn then(self, next: Self) -> Self {
        let max = self.max.zip(next.max);
        TextLength {
            min: self.min.saturating_add(next.min),
            max: max.map(|(a, b)| a.saturating_add(b)),
        }
    }

    fn or(self, other: Self) -> Self {
        let max = self.max.zip(other.max);
        TextLength {
            min: self.min.min(other.min),
            max: max.map(|(a, b)| a.max(b)),
        }
    }
}

fn is_absent(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Literal(Literal::Absent))
}
