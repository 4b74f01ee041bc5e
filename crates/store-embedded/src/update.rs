//! What an update may change of an item.

use singlet_store::well_formed::changed_paths;
use singlet_store::{KeySchema, Result, Update};

use crate::words;

/// Refuses an update of a key.
pub(crate) fn check_keys_kept(key: &KeySchema, update: &Update) -> Result<()> {
    for attribute in key.attributes() {
        if changed_paths(update).any(|path| path.name() == attribute.name) {
            return Err(words::invalid_values(format!(
                "Cannot update attribute {}. This attribute is part of the key",
                attribute.name
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use singlet_item::{Item, Number, Value};
    use singlet_store::Path;

    fn apply(item: &Item, update: &Update) -> Result<Item> {
        update.applied_to(item)
    }

    fn list(words: &[&str]) -> Value {
        words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>().into()
    }

    fn item(value: Value) -> Item {
        Item::from([("l".to_owned(), value)])
    }

    #[test]
    fn indexes_mean_the_list_as_it_was() {
        let at = |index| Path::attribute("l").list_element(index);
        let update = Update::new()
            .set(at(9), "z")
            .set(at(5), "y")
            .remove(at(0))
            .remove(at(1))
            .set(at(2), "C");
        let new = apply(&item(list(&["a", "b", "c"])), &update).unwrap();
        assert_eq!(new, item(list(&["C", "y", "z"])));
        // Past the end there is nothing to take out, even where something was put meanwhile.
        let update = Update::new().set(at(7), "d").remove(at(3));
        assert_eq!(
            apply(&item(list(&["a", "b", "c"])), &update).unwrap(),
            item(list(&["a", "b", "c", "d"]))
        );
    }

    #[test]
    fn paths_overlap_where_one_lies_in_another() {
        let check = crate::expression::check_update;
        let inner = || Path::attribute("a").key("b");
        assert!(check(&Update::new().set("a", 1).set(inner(), 2)).is_err());
        assert!(check(&Update::new().set(inner(), 2).remove(inner())).is_err());
        // Another attribute sorts between a path and what lies in it only where names are compared as text.
        let update = Update::new()
            .set(inner(), 1)
            .set("a.b", 2)
            .set(Path::attribute("a").key("c"), 3);
        check(&update).unwrap();
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let large = Number::from_parts(9, 125).unwrap();
        let old = Item::from([("n".to_owned(), Value::N(large))]);
        let error = apply(&old, &Update::new().add("n", large)).unwrap_err();
        assert!(error.message().starts_with("Number overflow"), "{error}");
        assert!(apply(&old, &Update::new().add("n", 1)).unwrap_err().is_bad_request());
    }
}
