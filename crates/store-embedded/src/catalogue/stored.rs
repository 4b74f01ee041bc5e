//! A table as an item, so that what is added to it later is read by the same code.

use singlet_item::{Item, Number, Value};
use singlet_store::{
    Billing, IndexKind, IndexProjection, IndexSpec, IndexUnits, KeyAttribute, KeySchema, KeyType, Result, StreamView,
    TableSpec,
};

use super::{Index, Table};
use crate::codec::{RawItem, damaged_data, encode_item};

pub(super) fn encode_table(table: &Table) -> Vec<u8> {
    let mut item = Item::from([
        ("name".to_owned(), table.spec.name.as_str().into()),
        ("number".to_owned(), number(table.number)),
        ("key".to_owned(), key(&table.spec.key)),
        (
            "indexes".to_owned(),
            table.indexes.iter().map(index).collect::<Vec<_>>().into(),
        ),
        ("nextIndex".to_owned(), number(table.next_index)),
        ("billing".to_owned(), billing(table.spec.billing)),
        ("streamSince".to_owned(), Value::N(Number::from(table.stream_since))),
        ("created".to_owned(), table.created_at_seconds.into()),
    ]);
    if let Some(ttl) = &table.spec.ttl {
        item.insert("ttl".to_owned(), ttl.as_str().into());
        item.insert("ttlBuilding".to_owned(), table.expiry_is_building.into());
    }
    if let Some(view) = table.spec.stream {
        item.insert("stream".to_owned(), stream_name(view).into());
    }
    encode_item(&item)
}

pub(super) fn decode_table(bytes: &[u8]) -> Result<Table> {
    let item = RawItem::new(bytes)?.decode_item()?;
    read_table(&item).ok_or_else(|| damaged_data("a table"))
}

fn read_table(item: &Item) -> Option<Table> {
    let mut spec = TableSpec::new(item.get("name")?.as_str()?, read_key(item.get("key")?)?);
    spec.billing = read_billing(item.get("billing")?)?;
    spec.ttl = item.get("ttl").and_then(Value::as_str).map(str::to_owned);
    spec.stream = match item.get("stream") {
        Some(name) => Some(read_stream(name.as_str()?)?),
        None => None,
    };
    let indexes = item.get("indexes")?.as_list()?;
    let indexes = indexes.iter().map(|index| read_index(index, &spec));
    let indexes = indexes.collect::<Option<Vec<Index>>>()?;
    spec.indexes = indexes.iter().map(|index| index.spec.clone()).collect();
    Some(Table {
        number: read_number(item.get("number")?)?,
        spec,
        indexes,
        next_index: read_number(item.get("nextIndex")?)?,
        expiry_is_building: item.get("ttlBuilding").and_then(Value::as_bool).unwrap_or(false),
        stream_since: item.get("streamSince")?.as_number()?.to_u64()?,
        created_at_seconds: item.get("created")?.as_number()?.to_i64()?,
    })
}

fn number(number: u32) -> Value {
    Value::N(Number::from(number))
}

fn read_number(value: &Value) -> Option<u32> {
    u32::try_from(value.as_number()?.to_u64()?).ok()
}

fn key(schema: &KeySchema) -> Value {
    let attribute = |attribute: &KeyAttribute| {
        Value::from(vec![
            Value::from(attribute.name.as_str()),
            Value::from(attribute.key_type.type_letter()),
        ])
    };
    let list = |attributes: &[KeyAttribute]| Value::from(attributes.iter().map(attribute).collect::<Vec<_>>());
    vec![list(&schema.partition), list(&schema.sort)].into()
}

fn read_key(value: &Value) -> Option<KeySchema> {
    let [partition, sort] = value.as_list()? else {
        return None;
    };
    let attribute = |value: &Value| {
        let [name, key_type] = value.as_list()? else {
            return None;
        };
        Some(KeyAttribute::new(name.as_str()?, read_type(key_type.as_str()?)?))
    };
    let list = |value: &Value| value.as_list()?.iter().map(attribute).collect::<Option<Vec<_>>>();
    Some(KeySchema {
        partition: list(partition)?,
        sort: list(sort)?,
    })
}

fn index(index: &Index) -> Value {
    let names = |names: &[String]| Value::from(names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>());
    Value::M(Item::from([
        ("number".to_owned(), number(index.number)),
        ("name".to_owned(), index.spec.name.as_str().into()),
        ("local".to_owned(), index.is_local().into()),
        ("key".to_owned(), key(&index.spec.key)),
        (
            "projection".to_owned(),
            match &index.spec.projection {
                IndexProjection::All => "all".into(),
                IndexProjection::KeysOnly => "keys".into(),
                IndexProjection::Include(included) => names(included),
            },
        ),
        ("building".to_owned(), index.is_building.into()),
        (
            "units".to_owned(),
            index.spec.units.map_or(Value::Null, |units| {
                vec![number(units.read_units), number(units.write_units)].into()
            }),
        ),
    ]))
}

fn read_index(value: &Value, table: &TableSpec) -> Option<Index> {
    let item = value.as_map()?;
    let name = |value: &Value| value.as_str().map(str::to_owned);
    let spec = IndexSpec {
        name: item.get("name")?.as_str()?.to_owned(),
        kind: match item.get("local")?.as_bool()? {
            true => IndexKind::Local,
            false => IndexKind::Global,
        },
        key: read_key(item.get("key")?)?,
        projection: match item.get("projection")? {
            Value::L(included) => IndexProjection::Include(included.iter().map(name).collect::<Option<_>>()?),
            Value::S(word) if word == "all" => IndexProjection::All,
            Value::S(word) if word == "keys" => IndexProjection::KeysOnly,
            _ => return None,
        },
        // Folders of before know no units of indexes.
        units: match item.get("units") {
            None | Some(Value::Null) => None,
            Some(units) => match units.as_list()? {
                [read, write] => Some(IndexUnits {
                    read_units: read_number(read)?,
                    write_units: read_number(write)?,
                }),
                _ => return None,
            },
        },
    };
    let is_building = item.get("building")?.as_bool()?;
    Some(Index::new(read_number(item.get("number")?)?, spec, table, is_building))
}

fn billing(billing: Billing) -> Value {
    match billing {
        Billing::OnDemand => Value::Null,
        Billing::Provisioned {
            read_units,
            write_units,
        } => vec![number(read_units), number(write_units)].into(),
    }
}

fn read_billing(value: &Value) -> Option<Billing> {
    match value {
        Value::Null => Some(Billing::OnDemand),
        Value::L(units) => match units.as_slice() {
            [read, write] => Some(Billing::Provisioned {
                read_units: read_number(read)?,
                write_units: read_number(write)?,
            }),
            _ => None,
        },
        _ => None,
    }
}

fn read_type(name: &str) -> Option<KeyType> {
    let types = [KeyType::String, KeyType::Number, KeyType::Binary];
    types.into_iter().find(|key_type| key_type.type_letter() == name)
}

fn stream_name(view: StreamView) -> &'static str {
    match view {
        StreamView::KeysOnly => "keys",
        StreamView::New => "new",
        StreamView::Old => "old",
        StreamView::Both => "both",
    }
}

fn read_stream(name: &str) -> Option<StreamView> {
    let views = [StreamView::KeysOnly, StreamView::New, StreamView::Old, StreamView::Both];
    views.into_iter().find(|view| stream_name(*view) == name)
}
