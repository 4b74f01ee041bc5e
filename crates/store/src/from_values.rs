//! Operands of what values are made of.

/// Makes what is made of a [`Value`](singlet_item::Value) of all that a value is made of. It is also made of a path, which is a type of
/// another crate: for everything that becomes a value at once it cannot be said.
macro_rules! from_what_values_are_made_of {
    ($made:ty) => {
        from_what_values_are_made_of!(
            $made: &str, String, i64, bool, singlet_item::Number, Vec<Value>, std::collections::BTreeMap<String, Value>
        );
    };
    ($made:ty: $($of:ty),+) => {
        $(impl From<$of> for $made {
            fn from(value: $of) -> Self {
                Value::from(value).into()
            }
        })+
    };
}
