//! What must hold of every table, whoever wrote to it and whatever stopped them: index keys, computed attributes and the expiry of a
//! row follow from its other attributes, its mirrors and guards are there and say what it says, and none of those is left alone.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};
use singlet_item::{Item, Value};
use singlet_model::model::{Entity, Role};
use singlet_runtime::{Attributes, Caller, Scope, load, row, values};

use super::support::{System, key_text};

impl System {
    /// Holds a full dump against what its own rows say of it.
    pub async fn check(&self) -> BTreeMap<String, Item> {
        let items = self.dump().await;
        let wrong = self.wrong(&items);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        items
    }

    fn wrong(&self, items: &BTreeMap<String, Item>) -> Vec<String> {
        let model = self.engine.model();
        let mut wrong = Vec::new();
        let mut expected: BTreeMap<String, Item> = BTreeMap::new();
        let mut found: BTreeMap<&String, &Item> = BTreeMap::new();
        for (key, item) in items {
            let kind = self.kind(item);
            match model.entity_named(kind) {
                Some(entity) if entity.role == Some(Role::Idempotency) => {}
                Some(entity) => {
                    found.insert(key, item);
                    if entity.mirror.is_none() {
                        let all = self.items_of(entity, item).into_iter();
                        expected.extend(all.map(|item| (key_text(model, &item), item)));
                    }
                }
                None if kind == "$unique" => {
                    found.insert(key, item);
                }
                None if ["$request", "$progress"].contains(&kind) => {}
                None => wrong.push(format!("{key} is of no entity")),
            }
        }
        for (key, item) in &expected {
            match found.get(key) {
                None => wrong.push(format!("{key} is missing")),
                Some(there) if *there != item => wrong.push(format!("{key} is {there:?}\n   not {item:?}")),
                Some(_) => {}
            }
        }
        let alone = found.keys().filter(|key| !expected.contains_key(**key));
        wrong.extend(alone.map(|key| format!("{key} has no row that it follows")));
        wrong
    }

    /// Of what entity an item is.
    pub fn kind<'i>(&self, item: &'i Item) -> &'i str {
        let name = self.engine.model().table.type_attribute.as_ref().unwrap();
        item.get(name).and_then(Value::as_str).unwrap_or("nothing")
    }

    /// The item of a row, those of its mirrors and its guards, made anew from its own attributes.
    fn items_of(&self, entity: &Entity, item: &Item) -> Vec<Item> {
        let model = self.engine.model();
        let stored = row::decode_as_stored(entity, item).unwrap();
        let own = entity.attributes.iter().filter(|attribute| attribute.is.is_none());
        let fields: Map<String, Json> = own
            .filter_map(|attribute| {
                let value = stored.get(&attribute.name)?;
                Some((attribute.name.clone(), values::to_json(value)))
            })
            .collect();
        let (nothing, caller) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: self.engine.setting(),
            now: self.now(),
            args: &nothing,
            caller: &caller,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let line = json!({ entity.name.clone(): fields }).to_string();
        load::line_items(model, &line, scope).unwrap_or_else(|error| panic!("{line}: {error}"))
    }
}
