//! How large types may be: objects of objects of objects grow with every level, and whatever reads a type goes through it
//! whole.

use crate::types::{TYPE_LEVELS_MAX, TYPE_PARTS_MAX, Type};

/// Why a type is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooLarge {
    Parts,
    Levels,
}

/// How many parts a type has. Never looks at more than it may have.
pub(super) fn type_parts(ty: &Type) -> Result<usize, TooLarge> {
    let mut parts = 0;
    count(ty, 0, &mut parts)?;
    Ok(parts)
}

fn count(ty: &Type, level: usize, parts: &mut usize) -> Result<(), TooLarge> {
    *parts += 1;
    if *parts > TYPE_PARTS_MAX {
        return Err(TooLarge::Parts);
    }
    if level > TYPE_LEVELS_MAX {
        return Err(TooLarge::Levels);
    }
    match ty {
        Type::List(element, _) | Type::Set(element, _) | Type::Map(element, _) => count(element, level + 1, parts),
        Type::OrWords(value, _) => count(value, level, parts),
        Type::Group(key, element) => {
            count(key, level + 1, parts)?;
            count(element, level + 1, parts)
        }
        Type::Object(object) | Type::Geo(Some(object)) => object
            .fields
            .iter()
            .try_for_each(|field| count(&field.ty, level + 1, parts)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::types::{LengthLimits, ObjectField, ObjectType};

    fn object(fields: usize, of: &Type) -> Type {
        let field = |at: usize| ObjectField {
            name: format!("f{at}"),
            ty: of.clone(),
            optional: false,
        };
        Type::Object(Arc::new(ObjectType {
            name: String::new(),
            fields: (0..fields).map(field).collect(),
        }))
    }

    #[test]
    fn parts_are_counted_up_to_their_bound() {
        assert_eq!(type_parts(&Type::Bool), Ok(1));
        assert_eq!(type_parts(&object(2, &object(2, &Type::Bool))), Ok(7));
        assert_eq!(type_parts(&object(TYPE_PARTS_MAX - 1, &Type::Bool)), Ok(TYPE_PARTS_MAX));
        assert_eq!(type_parts(&object(TYPE_PARTS_MAX, &Type::Bool)), Err(TooLarge::Parts));
        let mut doubled = Type::Bool;
        (0..30).for_each(|_| doubled = object(2, &doubled));
        assert_eq!(type_parts(&doubled), Err(TooLarge::Parts));
    }

    #[test]
    fn levels_are_those_of_dynamodb() {
        let mut nested = Type::Bool;
        (0..TYPE_LEVELS_MAX).for_each(|_| nested = Type::List(Arc::new(nested.clone()), LengthLimits::default()));
        assert!(type_parts(&nested).is_ok());
        assert_eq!(type_parts(&object(1, &nested)), Err(TooLarge::Levels));
    }
}
