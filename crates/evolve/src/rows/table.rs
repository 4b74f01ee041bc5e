//! What concerns every row of a table.

use singlet_face::Face;

use super::{NOTHING, Said, Sides, row_change};
use crate::{DataClass, Way};

impl Sides<'_> {
    pub(super) fn table(&mut self) {
        let named = |name: &Option<String>| {
            name.as_ref()
                .map_or_else(|| NOTHING.to_owned(), |name| format!("`{name}`"))
        };
        let keyed = |face: &Face| format!("`{}`", face.table_key.join("`, `"));
        let (old, new) = (self.old, self.new);
        let moved = "every row is under another key";
        let ends = |face: &Face| face.entities.values().any(|entity| entity.expires.is_some());
        // An attribute of that name would end rows that were never meant to.
        let holds = |face: &Face, ttl: &Option<String>| {
            let mut entities = face.entities.values();
            entities.any(|entity| ttl.as_ref().is_some_and(|ttl| entity.attributes.contains_key(ttl)))
        };
        let is_held = [old, new]
            .iter()
            .any(|face| holds(face, &old.ttl) || holds(face, &new.ttl));
        // The table itself changes in any case, so that opening refuses it to a model with another.
        let ttl_class = match ends(old) || ends(new) || is_held {
            true => DataClass::Reshape,
            false => DataClass::Nothing,
        };
        let facts = [
            (
                "the encoding of keys",
                format!("version {}", old.encoders),
                format!("version {}", new.encoders),
                moved,
                DataClass::Rekey,
                Way::Still,
            ),
            (
                "the key of the table's guards",
                named(&old.guards),
                named(&new.guards),
                "a unique value would be looked for where it is not, and could be taken twice",
                DataClass::Rekey,
                Way::Still,
            ),
            (
                "the table's key",
                keyed(old),
                keyed(new),
                "the key of a table cannot be changed",
                DataClass::Rekey,
                Way::NewTable,
            ),
            (
                "the delimiter",
                format!("`{}`", old.delimiter),
                format!("`{}`", new.delimiter),
                moved,
                DataClass::Rekey,
                Way::Still,
            ),
            (
                "the type attribute",
                named(&old.type_attribute),
                named(&new.type_attribute),
                "rows would not be told apart by their kind",
                DataClass::Reshape,
                Way::Still,
            ),
            (
                "the TTL attribute",
                named(&old.ttl),
                named(&new.ttl),
                "rows would not end when they should",
                ttl_class,
                Way::Still,
            ),
        ];
        for (part, was, is, so, data, way) in facts {
            if was != is {
                let said = Said {
                    part: part.to_owned(),
                    was,
                    is,
                    so,
                };
                let mut added = row_change(None, said, data, way);
                if part == "the TTL attribute" {
                    added.help = Some("DynamoDB changes the TTL attribute of a table once an hour".to_owned());
                }
                self.push(added);
            }
        }
    }
}
