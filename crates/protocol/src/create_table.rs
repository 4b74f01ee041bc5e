//! What `CreateTable` says of a table, and what is wrong with it.

use serde_json::Value as Json;
use singlet_item::limits::{GLOBAL_INDEXES_MAX, INDEX_KEY_ATTRIBUTES_MAX, LOCAL_INDEXES_MAX, PROJECTED_ATTRIBUTES_MAX};
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyAttribute, KeySchema, KeyType, StreamView, TableSpec,
};

use crate::fault::Fault;
use crate::input::{Constraints, Input, check_name};
use crate::schema::invalid_values;

/// Reads the table that a request describes.
pub(crate) fn read_description(name: String, input: &Input<'_>) -> Result<TableSpec, Fault> {
    check_shape(input)?;
    let billing = read_billing(input)?;
    let definitions = read_definitions(input)?;
    let elements = read_elements(input)?;
    check_defined(&elements, &definitions)?;
    let mut spec = TableSpec::new(name, table_key(&elements, &definitions)?);
    spec.billing = billing;
    read_indexes(input, &definitions, &mut spec)?;
    check_used(&definitions, &spec)?;
    spec.stream = match input.inner("StreamSpecification")? {
        Some(stream) => read_stream(&stream)?,
        None => None,
    };
    Ok(spec)
}

/// Attributes with their types, as a request defines them.
pub(crate) type Definitions = Vec<KeyAttribute>;

/// Names with their roles, as a key lists them.
type Elements = Vec<(String, bool)>;

fn check_shape(input: &Input<'_>) -> Result<(), Fault> {
    let mut constraints = Constraints::default();
    let elements = input.list("KeySchema")?;
    let definitions = input.list("AttributeDefinitions")?;
    constraints.not_null(definitions.is_some(), "attributeDefinitions");
    check_definition_shapes(definitions, &mut constraints)?;
    constraints.one_of(
        input.text("BillingMode")?,
        "billingMode",
        &["PROVISIONED", "PAY_PER_REQUEST"],
    );
    constraints.not_null(elements.is_some(), "keySchema");
    check_key_shape(elements, "keySchema", 2, &mut constraints)?;
    check_throughput(
        input.inner("ProvisionedThroughput")?,
        "provisionedThroughput",
        &mut constraints,
    )?;
    for (parameter, place) in [
        ("GlobalSecondaryIndexes", "globalSecondaryIndexes"),
        ("LocalSecondaryIndexes", "localSecondaryIndexes"),
    ] {
        for (position, index) in input.list(parameter)?.into_iter().flatten().enumerate() {
            let place = format!("{place}.{}.member", position + 1);
            check_index_shape(&Input::of(index)?, &place, &mut constraints)?;
        }
    }
    check_stream_shape(input.inner("StreamSpecification")?, &mut constraints)?;
    constraints.finish()
}

pub(crate) fn check_definition_shapes(
    definitions: Option<&[Json]>,
    constraints: &mut Constraints,
) -> Result<(), Fault> {
    for (position, definition) in definitions.into_iter().flatten().enumerate() {
        let definition = Input::of(definition)?;
        let place = |member: &str| format!("attributeDefinitions.{}.member.{member}", position + 1);
        let (name, kind) = (definition.text("AttributeName")?, definition.text("AttributeType")?);
        constraints.not_null(name.is_some(), &place("attributeName"));
        check_attribute_name(name, &place("attributeName"), constraints);
        constraints.not_null(kind.is_some(), &place("attributeType"));
        constraints.one_of(kind, &place("attributeType"), &["B", "N", "S"]);
    }
    Ok(())
}

fn check_attribute_name(name: Option<&str>, place: &str, constraints: &mut Constraints) {
    match name {
        Some("") => constraints.add_failure(Some(""), place, "Member must have length greater than or equal to 1"),
        Some(name) if name.len() > 255 => {
            constraints.add_failure(Some(name), place, "Member must have length less than or equal to 255")
        }
        _ => {}
    }
}

fn check_key_shape(
    elements: Option<&[Json]>,
    place: &str,
    most: usize,
    constraints: &mut Constraints,
) -> Result<(), Fault> {
    let Some(elements) = elements else {
        return Ok(());
    };
    if elements.is_empty() {
        constraints.add_failure(Some("[]"), place, "Member must have length greater than or equal to 1");
    }
    let mut shown = Vec::with_capacity(elements.len());
    for (position, element) in elements.iter().enumerate() {
        let element = Input::of(element)?;
        let (name, kind) = (element.text("AttributeName")?, element.text("KeyType")?);
        let place = |member: &str| format!("{place}.{}.member.{member}", position + 1);
        constraints.not_null(name.is_some(), &place("attributeName"));
        check_attribute_name(name, &place("attributeName"), constraints);
        constraints.not_null(kind.is_some(), &place("keyType"));
        constraints.one_of(kind, &place("keyType"), &["HASH", "RANGE"]);
        shown.push(format!(
            "KeySchemaElement(attributeName={}, keyType={})",
            name.unwrap_or("null"),
            kind.unwrap_or("null")
        ));
    }
    if elements.len() > most {
        let words = format!("Member must have length less than or equal to {most}");
        constraints.add_failure(Some(&format!("[{}]", shown.join(", "))), place, &words);
    }
    Ok(())
}

pub(crate) fn check_throughput(
    throughput: Option<Input<'_>>,
    place: &str,
    constraints: &mut Constraints,
) -> Result<(), Fault> {
    let Some(throughput) = throughput else {
        return Ok(());
    };
    for (name, member) in [
        ("ReadCapacityUnits", "readCapacityUnits"),
        ("WriteCapacityUnits", "writeCapacityUnits"),
    ] {
        let units = throughput.integer(name)?;
        let place = format!("{place}.{member}");
        constraints.not_null(units.is_some(), &place);
        constraints.at_least(units, &place, 1);
    }
    Ok(())
}

pub(crate) fn check_index_shape(index: &Input<'_>, place: &str, constraints: &mut Constraints) -> Result<(), Fault> {
    let name = index.text("IndexName")?;
    let place_of = |member: &str| format!("{place}.{member}");
    constraints.not_null(name.is_some(), &place_of("indexName"));
    if let Some(name) = name {
        check_name(constraints, name, &place_of("indexName"), 3);
    }
    let elements = index.list("KeySchema")?;
    constraints.not_null(elements.is_some(), &place_of("keySchema"));
    check_key_shape(
        elements,
        &place_of("keySchema"),
        2 * INDEX_KEY_ATTRIBUTES_MAX,
        constraints,
    )?;
    let projection = index.inner("Projection")?;
    constraints.not_null(projection.is_some(), &place_of("projection"));
    if let Some(projection) = projection {
        constraints.one_of(
            projection.text("ProjectionType")?,
            &place_of("projection.projectionType"),
            &["ALL", "INCLUDE", "KEYS_ONLY"],
        );
        if projection.list("NonKeyAttributes")?.is_some_and(<[Json]>::is_empty) {
            constraints.add_failure(
                Some("[]"),
                &place_of("projection.nonKeyAttributes"),
                "Member must have length greater than or equal to 1",
            );
        }
    }
    check_throughput(
        index.inner("ProvisionedThroughput")?,
        &place_of("provisionedThroughput"),
        constraints,
    )
}

pub(crate) fn check_stream_shape(stream: Option<Input<'_>>, constraints: &mut Constraints) -> Result<(), Fault> {
    let Some(stream) = stream else {
        return Ok(());
    };
    constraints.not_null(stream.has("StreamEnabled"), "streamSpecification.streamEnabled");
    constraints.one_of(
        stream.text("StreamViewType")?,
        "streamSpecification.streamViewType",
        &["NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY"],
    );
    Ok(())
}

pub(crate) fn read_units(throughput: &Input<'_>) -> Result<Billing, Fault> {
    let units = |name| -> Result<u32, Fault> {
        let units = throughput.integer(name)?.unwrap_or_default();
        u32::try_from(units)
            .map_err(|_| Fault::validation_fault(format!("Given value {units} for {name} is out of bounds")))
    };
    Ok(Billing::Provisioned {
        read_units: units("ReadCapacityUnits")?,
        write_units: units("WriteCapacityUnits")?,
    })
}

fn read_billing(input: &Input<'_>) -> Result<Billing, Fault> {
    let throughput = input.inner("ProvisionedThroughput")?;
    match (input.text("BillingMode")?, throughput) {
        (Some("PAY_PER_REQUEST"), None) => Ok(Billing::OnDemand),
        (Some("PAY_PER_REQUEST"), Some(_)) => Err(invalid_values(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is PAY_PER_REQUEST",
        )),
        (_, Some(throughput)) => read_units(&throughput),
        (_, None) => Err(invalid_values(
            "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        )),
    }
}

pub(crate) fn read_definitions(input: &Input<'_>) -> Result<Definitions, Fault> {
    let mut definitions = Definitions::new();
    for definition in input.list("AttributeDefinitions")?.into_iter().flatten() {
        let definition = Input::of(definition)?;
        let name = definition.text("AttributeName")?.unwrap_or_default();
        let key_type = match definition.text("AttributeType")? {
            Some("N") => KeyType::Number,
            Some("B") => KeyType::Binary,
            _ => KeyType::String,
        };
        if definitions.iter().any(|known| known.name == name) {
            return Err(Fault::validation_fault("Cannot have two attributes with the same name"));
        }
        definitions.push(KeyAttribute::new(name, key_type));
    }
    Ok(definitions)
}

fn read_elements(owner: &Input<'_>) -> Result<Elements, Fault> {
    let mut elements = Elements::new();
    for element in owner.list("KeySchema")?.into_iter().flatten() {
        let element = Input::of(element)?;
        let name = element.text("AttributeName")?.unwrap_or_default();
        elements.push((name.to_owned(), element.text("KeyType")? == Some("HASH")));
    }
    Ok(elements)
}

/// Refuses a key of attributes that have no type.
fn check_defined(elements: &Elements, definitions: &Definitions) -> Result<(), Fault> {
    let is_defined = |name: &str| definitions.iter().any(|known| known.name == name);
    if elements.len() > definitions.len() {
        return Err(Fault::validation_fault(
            "Invalid KeySchema: Some index key attribute have no definition",
        ));
    }
    match elements.iter().all(|(name, _)| is_defined(name)) {
        true => Ok(()),
        false => {
            let keys: Vec<&str> = elements.iter().map(|(name, _)| name.as_str()).collect();
            let defined: Vec<&str> = definitions.iter().map(|known| known.name.as_str()).collect();
            Err(invalid_values(format!(
                "Some index key attributes are not defined in AttributeDefinitions. Keys: [{}], \
                 AttributeDefinitions: [{}]",
                keys.join(", "),
                defined.join(", ")
            )))
        }
    }
}

fn table_key(elements: &Elements, definitions: &Definitions) -> Result<KeySchema, Fault> {
    match elements.as_slice() {
        [(_, false), ..] => Err(Fault::validation_fault(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        )),
        [(one, _), (other, _)] if one == other => Err(Fault::validation_fault(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        )),
        [_, (_, true)] => Err(Fault::validation_fault(
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        )),
        elements => Ok(key_of(elements, definitions)),
    }
}

fn key_of(elements: &[(String, bool)], definitions: &Definitions) -> KeySchema {
    let mut key = KeySchema::default();
    for (name, is_partition) in elements {
        let Some(attribute) = definitions.iter().find(|known| known.name == *name) else {
            continue;
        };
        match is_partition {
            true => key.partition.push(attribute.clone()),
            false => key.sort.push(attribute.clone()),
        }
    }
    key
}

fn read_indexes(input: &Input<'_>, definitions: &Definitions, spec: &mut TableSpec) -> Result<(), Fault> {
    let kinds = [
        ("LocalSecondaryIndexes", IndexKind::Local, LOCAL_INDEXES_MAX),
        ("GlobalSecondaryIndexes", IndexKind::Global, GLOBAL_INDEXES_MAX),
    ];
    for (parameter, kind, most) in kinds {
        let Some(indexes) = input.list(parameter)? else {
            continue;
        };
        if indexes.is_empty() {
            return Err(invalid_values(format!("List of {parameter} is empty")));
        }
        if kind == IndexKind::Local && spec.key.sort.is_empty() {
            return Err(invalid_values(
                "Table KeySchema does not have a range key, which is required when specifying a LocalSecondaryIndex",
            ));
        }
        for index in indexes {
            let index = Input::of(index)?;
            if let (Billing::OnDemand, true) = (spec.billing, index.has("ProvisionedThroughput")) {
                return Err(invalid_values(format!(
                    "ProvisionedThroughput should not be specified for index: {} when BillingMode is PAY_PER_REQUEST",
                    index.text("IndexName")?.unwrap_or_default()
                )));
            }
            let index = read_index(&index, kind, definitions, spec)?;
            spec.indexes.push(index);
        }
        let count = spec.indexes.iter().filter(|index| index.kind == kind).count();
        if count > most {
            let word = parameter.trim_end_matches("es");
            return Err(invalid_values(format!(
                "{word} count exceeds the per-table limit of {most}"
            )));
        }
    }
    let names = spec.indexes.iter().map(|index| match &index.projection {
        IndexProjection::Include(names) => names.len(),
        IndexProjection::All | IndexProjection::KeysOnly => 0,
    });
    match names.sum::<usize>() > PROJECTED_ATTRIBUTES_MAX {
        true => Err(invalid_values(format!(
            "Number of attributes in ProvisionedThroughput exceeds the per-table limit of {PROJECTED_ATTRIBUTES_MAX}"
        ))),
        false => Ok(()),
    }
}

/// One index of a table; the table's other indexes are known.
pub(crate) fn read_index(
    index: &Input<'_>,
    kind: IndexKind,
    definitions: &Definitions,
    spec: &TableSpec,
) -> Result<IndexSpec, Fault> {
    let name = index.text("IndexName")?.unwrap_or_default().to_owned();
    let elements = read_elements(index)?;
    check_defined(&elements, definitions)?;
    let key = match kind {
        IndexKind::Local => {
            let key = table_key(&elements, definitions)?;
            if key.sort.is_empty() {
                return Err(invalid_values(format!(
                    "Index KeySchema does not have a range key for index: {name}"
                )));
            }
            if key.partition != spec.key.partition {
                return Err(invalid_values(format!(
                    "Index KeySchema does not have the same leading hash key as table KeySchema for index: {name}. \
                     index hash key: {}, table hash key: {}",
                    key.partition.first().map_or("", |key| &key.name),
                    spec.key.partition.first().map_or("", |key| &key.name)
                )));
            }
            key
        }
        IndexKind::Global => {
            check_global_key(&elements)?;
            key_of(&elements, definitions)
        }
    };
    if spec.indexes.iter().any(|known| known.name == name) {
        return Err(invalid_values(format!("Duplicate index name: {name}")));
    }
    Ok(IndexSpec {
        name,
        kind,
        key,
        projection: read_projection(index)?,
        units: match (kind, index.inner("ProvisionedThroughput")?) {
            (IndexKind::Global, Some(throughput)) => IndexUnits::apart_from(spec.billing, read_units(&throughput)?),
            _ => None,
        },
    })
}

fn check_global_key(elements: &Elements) -> Result<(), Fault> {
    let counts = |is_partition| elements.iter().filter(|(_, kind)| *kind == is_partition).count();
    if let [(_, false), ..] = elements.as_slice() {
        return Err(Fault::validation_fault(
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ));
    }
    let repeats = |position: usize, name: &str| elements.iter().take(position).any(|(known, _)| known == name);
    if elements
        .iter()
        .enumerate()
        .any(|(position, (name, _))| repeats(position, name))
    {
        return Err(Fault::validation_fault(
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ));
    }
    if elements.windows(2).any(|pair| matches!(pair, [(_, false), (_, true)])) {
        return Err(invalid_values(
            "All HASH key attributes must precede RANGE key attributes in the KeySchema",
        ));
    }
    for (is_partition, word) in [(true, "HASH"), (false, "RANGE")] {
        if counts(is_partition) > INDEX_KEY_ATTRIBUTES_MAX {
            return Err(invalid_values(format!(
                "The KeySchema exceeds the maximum allowed number of {word} key attributes"
            )));
        }
    }
    Ok(())
}

fn read_projection(index: &Input<'_>) -> Result<IndexProjection, Fault> {
    let projection = index.inner("Projection")?;
    let kind = match projection {
        Some(projection) => projection.text("ProjectionType")?,
        None => None,
    };
    let names = projection
        .map(|projection| projection.list("NonKeyAttributes"))
        .transpose()?
        .flatten();
    let with_names =
        |kind: &str| invalid_values(format!("ProjectionType is {kind}, but NonKeyAttributes is specified"));
    match (kind, names) {
        (None, _) => Err(invalid_values("Unknown ProjectionType: null")),
        (Some("INCLUDE"), Some(names)) => {
            let text = |name: &Json| match name {
                Json::String(name) => Ok(name.clone()),
                other => Err(Fault::serialization_of(other, "String")),
            };
            Ok(IndexProjection::Include(
                names.iter().map(text).collect::<Result<_, _>>()?,
            ))
        }
        (Some("INCLUDE"), None) => Err(invalid_values(
            "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
        )),
        (Some(kind), Some(_)) => Err(with_names(kind)),
        (Some("KEYS_ONLY"), None) => Ok(IndexProjection::KeysOnly),
        (Some(_), None) => Ok(IndexProjection::All),
    }
}

/// Refuses attributes that are defined and no key has.
fn check_used(definitions: &Definitions, spec: &TableSpec) -> Result<(), Fault> {
    let used: Vec<&str> = spec.key_attributes().into_iter().map(|key| key.name.as_str()).collect();
    match definitions.iter().all(|known| used.contains(&known.name.as_str())) {
        true => Ok(()),
        false => {
            let defined: Vec<&str> = definitions.iter().map(|known| known.name.as_str()).collect();
            Err(invalid_values(format!(
                "Some AttributeDefinitions are not used. AttributeDefinitions: [{}], keys used: [{}]",
                defined.join(", "),
                used.join(", ")
            )))
        }
    }
}

pub(crate) fn read_stream(stream: &Input<'_>) -> Result<Option<StreamView>, Fault> {
    let view = stream.text("StreamViewType")?;
    match (stream.flag("StreamEnabled")?, view) {
        (Some(true), Some(view)) => Ok(Some(match view {
            "KEYS_ONLY" => StreamView::KeysOnly,
            "NEW_IMAGE" => StreamView::New,
            "OLD_IMAGE" => StreamView::Old,
            _ => StreamView::Both,
        })),
        (Some(true), None) => Err(invalid_values(
            "Table is being created with a stream enabled, so a stream view type must be specified",
        )),
        (_, Some(_)) => Err(invalid_values(
            "Table is being created with a stream disabled, so no stream view type may be specified",
        )),
        (_, None) => Ok(None),
    }
}
