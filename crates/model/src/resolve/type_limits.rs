//! Limits of types: lengths, patterns, ranges, and the few values that `in` lists.

use std::sync::Arc;

use singlet_item::Number;

use super::Resolver;
use super::type_syntax::Limit;
use super::types::enum_type;
use crate::diagnostic::Diagnostic;
use crate::node::Node;
use crate::rules;
use crate::source::Span;
use crate::text_forms::TextForm;
use crate::types::{LengthLimits, NumberLimits, Type};

impl Resolver<'_> {
    /// Puts a limit on a type, or says why it has none.
    pub(super) fn limited(&mut self, ty: Type, limit: &Limit) -> Type {
        match (ty, limit) {
            (Type::Text(limits), Limit::Pattern(..)) if TextForm::of(&limits).is_some() => {
                let name = TextForm::of(&limits).map_or("string", |form| form.name);
                let message = format!("`{name}` has a pattern of its own");
                let help = format!("it takes a length, `{name} ..100`; `string` takes a pattern");
                self.out
                    .push(Diagnostic::new(&rules::BAD_TYPE, limit.span(), message).help(help));
                Type::Text(limits)
            }
            (Type::Text(mut limits), Limit::Pattern(pattern, _)) => {
                limits.pattern = pattern.clone();
                Type::Text(limits)
            }
            (Type::Text(mut limits), Limit::Range { min, max, .. }) => {
                limits.length = self.length(min, max, limit.span());
                Type::Text(limits)
            }
            (Type::Bytes(_), Limit::Range { min, max, .. }) => Type::Bytes(self.length(min, max, limit.span())),
            (Type::List(element, _), Limit::Range { min, max, .. }) => {
                Type::List(element, self.length(min, max, limit.span()))
            }
            (Type::Set(element, _), Limit::Range { min, max, .. }) => {
                Type::Set(element, self.length(min, max, limit.span()))
            }
            (Type::Map(element, _), Limit::Range { min, max, .. }) => {
                Type::Map(element, self.length(min, max, limit.span()))
            }
            (
                Type::Int(_),
                Limit::Range {
                    min, max, decimals: 0, ..
                },
            ) => Type::Int(Arc::new(NumberLimits {
                min: *min,
                max: *max,
                decimals: Some(0),
                only: None,
            })),
            (Type::Number(_), Limit::Range { min, max, decimals, .. }) => Type::Number(Arc::new(NumberLimits {
                min: *min,
                max: *max,
                decimals: Some(*decimals).filter(|decimals| *decimals > 0),
                only: None,
            })),
            (other, _) => {
                let message = format!("{} has no such limit", crate::text::with_article(&other.to_string()));
                let help = "strings have a length or a pattern, numbers a range, lists, sets and maps a length";
                self.out
                    .push(Diagnostic::new(&rules::BAD_TYPE, limit.span(), message).help(help));
                other
            }
        }
    }

    fn length(&mut self, min: &Option<Number>, max: &Option<Number>, span: Span) -> LengthLimits {
        let mut side = |number: &Option<Number>| {
            let number = (*number)?;
            let whole = number.to_i64().and_then(|number| u64::try_from(number).ok());
            if whole.is_none() {
                let message = format!("`{number}` is no length");
                self.out.push(Diagnostic::new(&rules::BAD_TYPE, span, message));
            }
            whole
        };
        LengthLimits {
            min: side(min),
            max: side(max),
        }
    }

    /// Confines a type to a few values.
    pub(super) fn only(&mut self, ty: Type, node: &Node) -> Type {
        match ty {
            Type::Int(limits) => Type::Int(Arc::new(self.only_numbers(limits.decimals, node))),
            Type::Number(limits) => Type::Number(Arc::new(self.only_numbers(limits.decimals, node))),
            Type::Text(_) => enum_type(node, "", None),
            other => {
                let message = format!("`in` lists numbers or words, not values of {other}");
                self.out.push(Diagnostic::new(&rules::BAD_TYPE, node.span(), message));
                other
            }
        }
    }

    fn only_numbers(&mut self, decimals: Option<u8>, node: &Node) -> NumberLimits {
        let mut only = Vec::new();
        for text in node.elements().iter().filter_map(Node::text) {
            match text.text.parse::<Number>() {
                Ok(number) => only.push(number),
                Err(_) => {
                    let message = format!("`{}` is not a number", text.text);
                    self.out.push(Diagnostic::new(&rules::BAD_TYPE, text.span, message));
                }
            }
        }
        NumberLimits {
            min: only.iter().min().copied(),
            max: only.iter().max().copied(),
            decimals,
            only: Some(only.into()),
        }
    }
}
