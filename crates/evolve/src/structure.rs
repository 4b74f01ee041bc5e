//! What differs in the table itself, and what an entity promises beside what it stores.

use singlet_model::Model;
use singlet_model::model::{Attribute, Billing, Entity, Index, KeyAttribute, Projection};

use crate::rows::{NOTHING, Said, row_change};
use crate::{DataClass, RowChange, Way};

/// The table, its indexes and its settings.
pub(crate) fn table_changes(old: &Model, new: &Model) -> Vec<RowChange> {
    let mut found = Vec::new();
    let mut add = |part: &str, was: String, is: String, so: &str, data: DataClass, way: Way| {
        let said = Said {
            part: part.to_owned(),
            was,
            is,
            so,
        };
        found.push(row_change(None, said, data, way));
    };
    let quoted = |text: &str| format!("`{text}`");
    if old.name != new.name {
        let so = "a table knows its models by the system's name, and so do addresses, tokens and cursors";
        add(
            "the system's name",
            quoted(&old.name),
            quoted(&new.name),
            so,
            DataClass::Nothing,
            Way::Still,
        );
    }
    if old.table.name != new.table.name {
        let so = "the rows are in the other table";
        let (was, is) = (quoted(&old.table.name), quoted(&new.table.name));
        add("the table", was, is, so, DataClass::Rekey, Way::NewTable);
    }
    // Names of key attributes are compared as part of what is stored; here are their types.
    let names = |model: &Model| -> Vec<String> { model.table.key.iter().map(|key| key.name.clone()).collect() };
    if names(old) == names(new) && typed(old, &old.table.key) != typed(new, &new.table.key) {
        let so = "the key of a table cannot be changed";
        let (was, is) = (typed(old, &old.table.key), typed(new, &new.table.key));
        add("the table's key", was, is, so, DataClass::Rekey, Way::NewTable);
    }
    if old.table.stream != new.table.stream {
        let said = |model: &Model| model.table.stream.clone().unwrap_or_else(|| NOTHING.to_owned());
        let so = "another view is another stream: whatever follows it begins with a snapshot";
        add("the stream", said(old), said(new), so, DataClass::Nothing, Way::Free);
    }
    if old.table.billing != new.table.billing {
        let said = |model: &Model| match model.table.billing {
            Billing::OnDemand => "on demand".to_owned(),
            Billing::Provisioned { read, write } => format!("{read} read and {write} write units a second"),
        };
        let so = "a setting of the table";
        add("the billing", said(old), said(new), so, DataClass::Nothing, Way::Free);
    }
    if old.table.recovery != new.table.recovery {
        let said = |model: &Model| if model.table.recovery { "on" } else { "off" }.to_owned();
        let so = "a setting of the table";
        add("recovery", said(old), said(new), so, DataClass::Nothing, Way::Free);
    }
    for index in &new.table.indexes {
        let part = format!("index `{}`", index.name);
        let known = old.table.indexes.iter().find(|known| known.name == index.name);
        let is = described(new, index);
        match known {
            None if index.local => {
                let so = "a local index can only be made with its table";
                add(&part, NOTHING.to_owned(), is, so, DataClass::Index, Way::NewTable);
            }
            None => {
                let so = "DynamoDB makes one index at a time, while the table is used";
                add(&part, NOTHING.to_owned(), is, so, DataClass::Index, Way::Bridge);
            }
            Some(known) => {
                let was = described(old, known);
                if was != is {
                    let (so, way) = match index.local || known.local {
                        true => ("a local index can only be made with its table", Way::NewTable),
                        false => ("an index cannot be changed: it is removed and made anew", Way::Still),
                    };
                    add(&part, was, is, so, DataClass::Index, way);
                }
            }
        }
    }
    for index in &old.table.indexes {
        if new.table.indexes.iter().all(|known| known.name != index.name) {
            let part = format!("index `{}`", index.name);
            let (so, way) = match index.local {
                true => ("a local index stays for as long as its table", Way::Bridge),
                false => ("a process of the old model reads it", Way::Bridge),
            };
            add(
                &part,
                described(old, index),
                NOTHING.to_owned(),
                so,
                DataClass::Drop,
                way,
            );
        }
    }
    for change in &mut found {
        if change.data == DataClass::Index && change.way == Way::Still {
            change.help = Some("an index of another name can be made while both models run".to_owned());
        }
    }
    found
}

/// The type that a key attribute has: as declared, or as the entities fill it.
fn key_type(model: &Model, key: &KeyAttribute) -> String {
    if let Some(declared) = key.declared {
        return declared.word().to_owned();
    }
    let entries = model
        .entities
        .iter()
        .flat_map(|entity| entity.index.iter().flat_map(|entry| entry.key_choices()));
    let choices = model.entities.iter().flat_map(|entity| &entity.key).chain(entries);
    let mut filled = choices.filter_map(|choice| choice.attribute_template(&key.name));
    let ty = filled.next().map(|key| key.template.key_type());
    match ty {
        Some(singlet_item::key::KeyType::N) => "number",
        Some(singlet_item::key::KeyType::B) => "bytes",
        _ => "string",
    }
    .to_owned()
}

fn typed(model: &Model, keys: &[KeyAttribute]) -> String {
    let keys = keys
        .iter()
        .map(|key| format!("`{}` ({})", key.name, key_type(model, key)));
    keys.collect::<Vec<_>>().join(", ")
}

fn described(model: &Model, index: &Index) -> String {
    let local = if index.local { "local, " } else { "" };
    let carried = match &index.projection {
        Projection::All => "everything".to_owned(),
        Projection::Keys => "keys".to_owned(),
        Projection::Include(names) => {
            let mut names = names.clone();
            names.sort();
            format!("keys, {}", names.join(", "))
        }
    };
    let sort = match index.sort.is_empty() {
        true => String::new(),
        false => format!(" by {}", typed(model, &index.sort)),
    };
    format!("{local}{}{sort}, with {carried}", typed(model, &index.partition))
}

/// What an entity promises of its rows that rows of before may not keep.
pub(crate) fn promise_changes(old: &Model, new: &Model) -> Vec<RowChange> {
    let mut found = Vec::new();
    for entity in &new.entities {
        let was = entity.was.as_ref().and_then(|was| old.entity_named(&was.text));
        let Some(known) = old.entity_named(&entity.name).or(was) else {
            continue;
        };
        references((old, known), (new, entity), &mut found);
        let text = |model: &Model, entity: &Entity| {
            let excludes = entity.excludes.as_ref()?;
            Some(singlet_plan::show::expression_in(&model.catalog, excludes))
        };
        let (before, after) = (text(old, known), text(new, entity));
        if let Some(excludes) = after.filter(|after| before.as_ref() != Some(after)) {
            let said = Said {
                part: "`excludes`".to_owned(),
                was: before.map_or_else(|| NOTHING.to_owned(), |text| format!("`{text}`")),
                is: format!("`{excludes}`"),
                so: "rows of before were made without looking, and a process of the old model makes more",
            };
            let mut added = row_change(Some(&entity.name), said, DataClass::Nothing, Way::Bridge);
            added.promise = Some(format!("beside a row, there may be none of `{excludes}`"));
            found.push(added);
        }
    }
    found
}

fn references((old, known): (&Model, &Entity), (new, entity): (&Model, &Entity), found: &mut Vec<RowChange>) {
    let named = |model: &Model, attribute: &Attribute| {
        let (entity, name) = attribute.reference.as_ref()?;
        Some(format!("{}.{name}", model.entity(*entity)?.name))
    };
    for attribute in entity.attributes.iter().filter(|_| entity.mirror.is_none()) {
        let was = attribute.was.as_ref().and_then(|was| known.attribute(&was.text));
        let Some(before) = known.attribute(&attribute.name).or(was) else {
            continue;
        };
        let (was, is) = (named(old, before), named(new, attribute));
        let Some(is) = is.filter(|is| was.as_ref() != Some(is)) else {
            continue;
        };
        // An entity that has another name is the same one.
        let same = attribute.reference.as_ref().and_then(|(to, name)| {
            let was = new.entity(*to)?.was.as_ref()?;
            Some(format!("{}.{name}", was.text))
        });
        if was.is_some() && was == same {
            continue;
        }
        let said = Said {
            part: format!("what `{}` refers to", attribute.name),
            was: was.map_or_else(|| NOTHING.to_owned(), |was| format!("`{was}`")),
            is: format!("`{is}`"),
            so: "rows of before may have values of which there is no such row",
        };
        let mut added = row_change(Some(&entity.name), said, DataClass::Nothing, Way::Free);
        added.promise = Some(format!(
            "`{}` of every row must be an `{is}` that is there",
            attribute.name
        ));
        found.push(added);
    }
}
