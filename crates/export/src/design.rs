//! What is exported of a table.

use serde_json::{Value, json};
use singlet_model::Model;
use singlet_store::{Billing, IndexKind, IndexProjection, IndexSpec, KeyAttribute, KeySchema, TableSpec};

/// A table as a store makes it, and what a store does not know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDesign {
    /// The table.
    pub spec: TableSpec,
    /// Whether it can be restored to an instant.
    pub recovery: bool,
    /// Who reads its stream, by the names that the model gives them.
    pub stream_readers: Vec<String>,
}

impl TableDesign {
    /// The table of a model, of which a store would make `spec`.
    pub fn new(model: &Model, spec: TableSpec) -> Self {
        TableDesign {
            spec,
            recovery: model.table.recovery,
            stream_readers: model.table.stream_readers.clone(),
        }
    }

    pub(crate) fn indexes_of(&self, kind: IndexKind) -> impl Iterator<Item = &IndexSpec> {
        self.spec.indexes.iter().filter(move |index| index.kind == kind)
    }
}

/// Every attribute of a key, in DynamoDB's words.
pub(crate) fn attribute_definitions(spec: &TableSpec) -> Value {
    let define = |attribute: &KeyAttribute| json!({"AttributeName": attribute.name, "AttributeType": attribute.key_type.type_letter()});
    spec.key_attributes().into_iter().map(define).collect()
}

/// A key, in DynamoDB's words.
pub(crate) fn key_schema(key: &KeySchema) -> Value {
    let element = |attribute: &KeyAttribute, role: &str| json!({"AttributeName": attribute.name, "KeyType": role});
    let partition = key.partition.iter().map(|attribute| element(attribute, "HASH"));
    let sort = key.sort.iter().map(|attribute| element(attribute, "RANGE"));
    partition.chain(sort).collect()
}

/// What an index holds, in DynamoDB's words.
pub(crate) fn projection_json(projection: &IndexProjection) -> Value {
    match projection {
        IndexProjection::All => json!({"ProjectionType": "ALL"}),
        IndexProjection::KeysOnly => json!({"ProjectionType": "KEYS_ONLY"}),
        IndexProjection::Include(names) => json!({"ProjectionType": "INCLUDE", "NonKeyAttributes": names}),
    }
}

/// The units a second of what is provisioned.
pub(crate) fn provisioned_units(billing: Billing) -> Option<(u32, u32)> {
    match billing {
        Billing::OnDemand => None,
        Billing::Provisioned {
            read_units,
            write_units,
        } => Some((read_units, write_units)),
    }
}
