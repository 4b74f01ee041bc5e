use std::sync::Arc;

use singlet_item::Number;
use singlet_model::types::{LengthLimits, NumberLimits, TextLimits, Type};

use super::from_text;

fn said(text: &str, ty: &Type) -> String {
    from_text(text, ty).map_or_else(|invalid| invalid.to_string(), |value| format!("{value:?}"))
}

fn price(decimals: u8, min: &str, max: &str) -> Type {
    let limits = NumberLimits {
        min: min.parse::<Number>().ok(),
        max: max.parse::<Number>().ok(),
        decimals: Some(decimals),
        only: None,
    };
    Type::Number(limits.into())
}

#[test]
fn a_number_with_too_many_digits_is_told_how_many_it_may_have() {
    let cents = price(2, "0.01", "999.99");
    assert_eq!(
        said("22.005", &cents),
        "`22.005` must have at most 2 digits after the point"
    );
    assert_eq!(
        said("22.5", &price(0, "1", "99")),
        "`22.5` must have no digits after the point"
    );
    assert_eq!(
        said("1.25", &price(1, "0.5", "9.5")),
        "`1.25` must have at most 1 digit after the point"
    );
    assert_eq!(
        said("1000.005", &cents),
        "`1000.005` must be a number from 0.01 to 999.99"
    );
    assert!(from_text("22.01", &cents).is_ok());
}

#[test]
fn what_only_json_has_a_form_for_is_told_so() {
    let list = |element: Type| Type::List(Arc::new(element), LengthLimits::default());
    let words = list(Type::Text(TextLimits::default()));
    let text = said("ann,bob", &words);
    assert!(
        text.starts_with("`ann,bob` must be of type list(") && text.ends_with(r#" in JSON, such as `["a", "b"]`"#),
        "{text}"
    );
    let numbers = said("1,2", &list(Type::Int(NumberLimits::default().into())));
    assert!(numbers.ends_with("such as `[1, 2]`"), "{numbers}");
    assert!(from_text(r#"["ann", "bob"]"#, &words).is_ok());
}
