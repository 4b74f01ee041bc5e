//! Whether a model makes the same items again of what it reads from them.

use std::collections::BTreeMap;

use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_runtime::row::{decode_as_stored, encode_own};
use singlet_runtime::{Attributes, Caller, Scope, Setting};
use singlet_values::as_stored;

/// Items that are no entity's, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotClaimed {
    /// The entity that comes nearest.
    pub entity: Option<String>,
    /// Why not, without a value of any row.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// The key of one of them, its values masked.
    pub example: String,
}

/// What names that begin with `$` are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DollarNames {
    /// Marks that Singlet leaves in rows of a table that it keeps.
    Marks,
    /// Attributes as any other.
    Attributes,
}

/// Holds items against an entity; the items that are not its own, with the reasons.
pub(crate) fn unlike_items<'i>(
    model: &Model,
    entity: &Entity,
    items: &[&'i Item],
    dollar: DollarNames,
) -> Vec<(&'i Item, String)> {
    let setting = Setting::of(model, BTreeMap::new());
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: &setting,
        now: 0,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let judged = items
        .iter()
        .filter_map(|item| Some((*item, unlike((model, entity), item, dollar, scope)?)));
    judged.collect()
}

/// Why an item is not what the model would make of it.
fn unlike((model, entity): (&Model, &Entity), item: &Item, dollar: DollarNames, scope: Scope<'_>) -> Option<String> {
    let Ok(row) = decode_as_stored(entity, item) else {
        return Some("its key is of another form".to_owned());
    };
    for attribute in entity.attributes.iter().filter(|attribute| attribute.alias.is_none()) {
        match row.get(&attribute.name) {
            None if attribute.optional => {}
            None => return Some(format!("it lacks `{}`", attribute.name)),
            Some(value) => {
                if as_stored(value, &attribute.ty).ok().as_deref() != Some(value) {
                    return Some(format!("`{}` is of another type", attribute.name));
                }
            }
        }
    }
    let Ok(again) = encode_own(model, entity, &row, scope) else {
        return Some("no key can be made of its attributes".to_owned());
    };
    let is_mark = |name: &String| dollar == DollarNames::Marks && name.starts_with('$');
    let mut names = item.keys().chain(again.keys()).filter(|name| !is_mark(name));
    let name = names.find(|name| item.get(*name) != again.get(*name))?;
    Some(match (item.get(name), again.get(name)) {
        (Some(Value::Null), _) => format!("`{name}` is null"),
        (Some(_), None) => format!("`{name}` would not be there"),
        (None, _) => format!("`{name}` would be there"),
        (Some(_), Some(_)) => format!("`{name}` would be another one"),
    })
}
