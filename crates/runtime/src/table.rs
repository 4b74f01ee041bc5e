//! The table that a model needs.

use singlet_model::Model;
use singlet_model::model::{self, Entity, KeyTemplate, ProvisionedUnits};
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyAttribute, KeySchema, KeyType, StreamView, TableSpec,
};

/// The table as a store creates it.
pub fn table_spec(model: &Model) -> TableSpec {
    let table = &model.table;
    TableSpec {
        name: table.name.clone(),
        key: schema(
            model,
            table.key.get(..1).unwrap_or_default(),
            table.key.get(1..).unwrap_or_default(),
        ),
        indexes: table.indexes.iter().map(|index| index_spec(model, index)).collect(),
        billing: match table.billing {
            model::Billing::OnDemand => Billing::OnDemand,
            model::Billing::Provisioned { read, write } => provisioned(ProvisionedUnits { read, write }),
        },
        ttl: table.ttl.clone(),
        stream: table.stream.as_deref().and_then(stream_view),
    }
}

fn provisioned(units: ProvisionedUnits) -> Billing {
    Billing::Provisioned {
        read_units: u32::try_from(units.read).unwrap_or(u32::MAX),
        write_units: u32::try_from(units.write).unwrap_or(u32::MAX),
    }
}

/// The units of an index of a provisioned table, where they are not the table's.
fn index_units(table: &model::Table, index: &model::Index) -> Option<IndexUnits> {
    let model::Billing::Provisioned { read, write } = table.billing else {
        return None;
    };
    let own = index.units.filter(|_| !index.local)?;
    IndexUnits::apart_from(provisioned(ProvisionedUnits { read, write }), provisioned(own))
}

fn index_spec(model: &Model, index: &model::Index) -> IndexSpec {
    IndexSpec {
        name: index.name.clone(),
        kind: if index.local {
            IndexKind::Local
        } else {
            IndexKind::Global
        },
        key: schema(model, &index.partition, &index.sort),
        projection: match &index.projection {
            model::Projection::All => IndexProjection::All,
            model::Projection::Keys => IndexProjection::KeysOnly,
            model::Projection::Include(names) => IndexProjection::Include(names.clone()),
        },
        units: index_units(&model.table, index),
    }
}

fn schema(model: &Model, partition: &[model::KeyAttribute], sort: &[model::KeyAttribute]) -> KeySchema {
    let attributes = |side: &[model::KeyAttribute]| {
        let typed = side
            .iter()
            .map(|attribute| KeyAttribute::new(attribute.name.clone(), key_type(model, attribute)));
        typed.collect()
    };
    KeySchema {
        partition: attributes(partition),
        sort: attributes(sort),
    }
}

/// The type that the table declares, or what the entities put there.
pub(crate) fn key_type(model: &Model, attribute: &model::KeyAttribute) -> KeyType {
    let declared = attribute.declared.map(|declared| match declared {
        model::KeyType::String => KeyType::String,
        model::KeyType::Number => KeyType::Number,
        model::KeyType::Bytes => KeyType::Binary,
    });
    let put = model
        .entities
        .iter()
        .flat_map(templates)
        .find(|key| key.attribute == attribute.name);
    declared
        .or_else(|| {
            put.map(|key| match key.template.key_type() {
                singlet_item::key::KeyType::S => KeyType::String,
                singlet_item::key::KeyType::N => KeyType::Number,
                singlet_item::key::KeyType::B => KeyType::Binary,
            })
        })
        .unwrap_or(KeyType::String)
}

fn templates(entity: &Entity) -> impl Iterator<Item = &KeyTemplate> {
    let of_indexes = entity
        .index
        .iter()
        .flat_map(|entry| entry.key_choices())
        .flat_map(|choice| &choice.keys);
    entity.key_templates().chain(of_indexes)
}

fn stream_view(word: &str) -> Option<StreamView> {
    Some(match word {
        "keys_only" => StreamView::KeysOnly,
        "new_image" => StreamView::New,
        "old_image" => StreamView::Old,
        "both_images" => StreamView::Both,
        _ => return None,
    })
}
