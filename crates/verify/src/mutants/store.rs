//! Mistakes on the way to the store: what the engine sends is not what arrives.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_store::{
    BatchWrite, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, PageAnswer, Path, PutRequest, QueryRequest, Result,
    Store, StoreLayer, TransactWrite, TransactWriteRequest, Update, UpdateRequest, WriteAnswer,
};

/// What does not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mislaid {
    /// An attribute of an index's key, of items of one kind.
    KeyOf {
        /// The attribute that holds the kind.
        kind: String,
        /// The kind.
        of: String,
        /// The attribute of the key.
        attribute: String,
    },
    /// Items of one kind.
    ItemsOf {
        /// The attribute that holds the kind.
        kind: String,
        /// The kind.
        of: String,
    },
    /// The removal of items whose keys begin so.
    Removals {
        /// The attribute of the partition key.
        partition: String,
        /// How the key begins.
        prefix: String,
    },
    /// The first item of every page but the first, of the table or of one index.
    FirstOfPage {
        /// The index; the table, if there is none.
        index: Option<String>,
    },
}

impl fmt::Display for Mislaid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mislaid::KeyOf { of, attribute, .. } => write!(out, "{of}.{attribute}"),
            Mislaid::ItemsOf { of, .. } => out.write_str(of),
            Mislaid::Removals { prefix, .. } => out.write_str(prefix),
            Mislaid::FirstOfPage { index: Some(index) } => out.write_str(index),
            Mislaid::FirstOfPage { index: None } => out.write_str("the table"),
        }
    }
}

/// An index key of an entity is not written.
pub(super) fn index_key_not_written(model: &Model) -> Vec<Mislaid> {
    let Some(kind) = &model.table.type_attribute else {
        return Vec::new();
    };
    let table: Vec<&str> = model.table.key.iter().map(|key| key.name.as_str()).collect();
    let mut all = Vec::new();
    for entity in &model.entities {
        for key in entity
            .index
            .iter()
            .flat_map(|entry| entry.key_choices())
            .flat_map(|choice| &choice.keys)
        {
            let own = entity.attribute(&key.attribute).is_some() || table.contains(&key.attribute.as_str());
            let mislaid = Mislaid::KeyOf {
                kind: kind.clone(),
                of: entity.name.clone(),
                attribute: key.attribute.clone(),
            };
            if !own && !all.contains(&mislaid) {
                all.push(mislaid);
            }
        }
    }
    all
}

/// A mirror is not written.
pub(super) fn mirror_not_written(model: &Model) -> Vec<Mislaid> {
    let kind = model.table.type_attribute.clone().unwrap_or_default();
    let mirrors = model.entities.iter().filter(|entity| entity.mirror.is_some());
    mirrors
        .map(|mirror| Mislaid::ItemsOf {
            kind: kind.clone(),
            of: mirror.name.clone(),
        })
        .collect()
}

/// A guard stays when its row goes.
pub(super) fn guard_not_released(model: &Model) -> Vec<Mislaid> {
    let Some(partition) = model.table.key.first() else {
        return Vec::new();
    };
    let guarded = model.entities.iter().filter(|entity| !entity.unique.is_empty());
    guarded
        .flat_map(|entity| entity.unique.iter().map(move |guard| (entity, guard)))
        .map(|(entity, guard)| Mislaid::Removals {
            partition: partition.name.clone(),
            prefix: format!("$unique{0}{1}{0}{2}{0}", model.table.delimiter, entity.name, guard.name),
        })
        .collect()
}

/// A page begins one row too late.
pub(super) fn page_off_by_one(model: &Model) -> Vec<Mislaid> {
    let indexes = model.table.indexes.iter().map(|index| Some(index.name.clone()));
    let all = std::iter::once(None).chain(indexes);
    all.map(|index| Mislaid::FirstOfPage { index }).collect()
}

/// A store to which something does not arrive.
pub(super) fn faulty_store(inner: Arc<dyn Store>, mislaid: Mislaid) -> Arc<dyn Store> {
    Arc::new(Faulty { inner, mislaid })
}

#[derive(Debug)]
struct Faulty {
    inner: Arc<dyn Store>,
    mislaid: Mislaid,
}

impl Faulty {
    fn is_of(&self, item: &Item, kind: &str, of: &str) -> bool {
        item.get(kind).and_then(Value::as_str) == Some(of)
            && matches!(self.mislaid, Mislaid::KeyOf { .. } | Mislaid::ItemsOf { .. })
    }

    /// The item as it arrives; none where it does not.
    fn put_item(&self, item: &Item) -> Option<Item> {
        let mut item = item.clone();
        match &self.mislaid {
            Mislaid::KeyOf { kind, of, attribute } if self.is_of(&item, kind, of) => {
                item.remove(attribute);
            }
            Mislaid::ItemsOf { kind, of } if self.is_of(&item, kind, of) => return None,
            _ => {}
        }
        Some(item)
    }

    /// An update as it arrives: the attribute of a key is not touched, whoever has it.
    fn updated(&self, update: &Update) -> Update {
        let mut update = update.clone();
        if let Mislaid::KeyOf { attribute, .. } = &self.mislaid {
            let path = Path::attribute(attribute.as_str());
            update.set.retain(|(set, _)| *set != path);
            update.remove.retain(|removed| *removed != path);
        }
        update
    }

    fn stays(&self, key: &Item) -> bool {
        match &self.mislaid {
            Mislaid::Removals { partition, prefix } => {
                let value = key.get(partition).and_then(Value::as_str);
                value.is_some_and(|value| value.starts_with(prefix.as_str()))
            }
            _ => false,
        }
    }

    fn action(&self, action: &TransactWrite) -> Option<TransactWrite> {
        Some(match action {
            TransactWrite::Put(put) => TransactWrite::Put(PutRequest {
                item: self.put_item(&put.item)?,
                ..put.clone()
            }),
            TransactWrite::Update(update) => TransactWrite::Update(UpdateRequest {
                update: self.updated(&update.update),
                ..update.clone()
            }),
            TransactWrite::Delete(delete) if self.stays(&delete.key) => return None,
            other => other.clone(),
        })
    }

    fn page(&self, index: Option<&String>, is_first: bool, mut page: PageAnswer) -> PageAnswer {
        let late = Mislaid::FirstOfPage { index: index.cloned() };
        if self.mislaid == late && !is_first && !page.items.is_empty() {
            page.items.remove(0);
        }
        page
    }
}

#[async_trait]
impl StoreLayer for Faulty {
    fn beneath(&self) -> &dyn Store {
        &*self.inner
    }

    async fn query(&self, request: &QueryRequest) -> Result<PageAnswer> {
        let page = self.inner.query(request).await?;
        Ok(self.page(request.index.as_ref(), request.start.is_none(), page))
    }

    async fn put(&self, request: &PutRequest) -> Result<WriteAnswer> {
        match self.put_item(&request.item) {
            Some(item) => {
                let request = PutRequest {
                    item,
                    ..request.clone()
                };
                self.inner.put(&request).await
            }
            None => Ok(WriteAnswer::default()),
        }
    }

    async fn update(&self, request: &UpdateRequest) -> Result<WriteAnswer> {
        let request = UpdateRequest {
            update: self.updated(&request.update),
            ..request.clone()
        };
        self.inner.update(&request).await
    }

    async fn delete(&self, request: &DeleteRequest) -> Result<WriteAnswer> {
        match self.stays(&request.key) {
            true => Ok(WriteAnswer::default()),
            false => self.inner.delete(request).await,
        }
    }

    async fn batch_write(&self, request: &BatchWriteRequest) -> Result<BatchWriteAnswer> {
        let writes = request.writes.iter().filter_map(|write| match write {
            BatchWrite::Put { table, item } => Some(BatchWrite::Put {
                table: table.clone(),
                item: self.put_item(item)?,
            }),
            BatchWrite::Delete { key, .. } if self.stays(key) => None,
            other => Some(other.clone()),
        });
        let request = BatchWriteRequest {
            writes: writes.collect(),
        };
        match request.writes.is_empty() {
            true => Ok(BatchWriteAnswer::default()),
            false => self.inner.batch_write(&request).await,
        }
    }

    async fn transact_write(&self, request: &TransactWriteRequest) -> Result<WriteAnswer> {
        let request = TransactWriteRequest {
            actions: request
                .actions
                .iter()
                .filter_map(|action| self.action(action))
                .collect(),
            token: request.token.clone(),
        };
        match request.actions.is_empty() {
            true => Ok(WriteAnswer::default()),
            false => self.inner.transact_write(&request).await,
        }
    }
}
