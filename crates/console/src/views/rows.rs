//! Rows: by entity, or by item collection as the store has them, page by page.

use serde::Deserialize;
use serde_json::{Value as Json, json};
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_model::model::Entity;
use singlet_runtime::load::{entity_of_item, is_of_singlet};
use singlet_runtime::{Attributes, Engine, row};
use singlet_store::{KeyRange, PageAnswer, QueryRequest, ScanRequest};
use singlet_values::json_text;

use crate::answer::ConsoleError;
use crate::routes::Asking;
use crate::typed_json::{key_from_typed, typed_map};

/// How many items one page looks at.
const PAGE_ITEMS_MAX: u32 = 1_000;

/// How many items are looked at for one answer, where few of them fit.
const LOOKED_ITEMS_MAX: usize = 20_000;

/// How many items are looked at in a page unless said.
const PAGE_ITEMS_USUAL: u32 = 200;

/// Which rows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct RowsAsked {
    /// The index whose order and entries are meant; the table, if there is none.
    #[serde(default)]
    pub index: Option<String>,
    /// The one item collection: the key attributes of its partition.
    #[serde(default)]
    pub partition: Option<Json>,
    /// Only rows of this entity.
    #[serde(default)]
    pub entity: Option<String>,
    /// Only rows that have this text in a value: `text`, or `attribute=text`.
    #[serde(default)]
    pub filter: Option<String>,
    /// Where an earlier page ended.
    #[serde(default)]
    pub start: Option<Json>,
    /// How many items a page looks at.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// A page of items as they lie there, checked against the model.
pub(crate) struct Pages {
    pub index: Option<String>,
    pub partition: Option<Item>,
    pub entity: Option<String>,
    filter: Option<Filter>,
    pub start: Option<Item>,
    limit: u32,
}

struct Filter {
    attribute: Option<String>,
    text: String,
}

impl Filter {
    fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        Some(match text.split_once('=') {
            Some((attribute, text)) if !attribute.trim().is_empty() => Filter {
                attribute: Some(attribute.trim().to_owned()),
                text: text.trim().to_lowercase(),
            },
            _ => Filter {
                attribute: None,
                text: text.to_lowercase(),
            },
        })
    }

    /// Whether a value has the text. Both the row and the item are looked at: a name may be one of either.
    fn fits(&self, row: Option<&Attributes>, item: &Item) -> bool {
        let all = row.into_iter().flatten().chain(item);
        let mut named = all.filter(|(name, _)| self.attribute.as_ref().is_none_or(|wanted| wanted == *name));
        named.any(|(_, value)| {
            let text = match value {
                Value::S(text) => text.to_lowercase(),
                other => json_text::json_of(other).to_lowercase(),
            };
            text.contains(&self.text)
        })
    }
}

impl Pages {
    pub fn of(model: &Model, asked: &RowsAsked) -> Result<Self, ConsoleError> {
        if let Some(index) = &asked.index
            && !model.table.indexes.iter().any(|known| known.name == *index)
        {
            return Err(ConsoleError::not_there(format!("there is no index `{index}`")));
        }
        if let Some(entity) = &asked.entity
            && model.entity_named(entity).is_none()
        {
            return Err(ConsoleError::not_there(format!("there is no entity `{entity}`")));
        }
        let start = asked.start.as_ref().filter(|start| !start.is_null());
        let partition = asked.partition.as_ref().filter(|partition| !partition.is_null());
        Ok(Pages {
            index: asked.index.clone(),
            partition: partition.map(key_from_typed).transpose()?,
            entity: asked.entity.clone(),
            filter: asked.filter.as_deref().and_then(Filter::of),
            start: start.map(key_from_typed).transpose()?,
            limit: asked.limit.unwrap_or(PAGE_ITEMS_USUAL).clamp(1, PAGE_ITEMS_MAX),
        })
    }

    /// The next items; after the last page there is no start.
    pub(crate) async fn next_of(&mut self, engine: &Engine) -> Result<PageAnswer, ConsoleError> {
        let table = engine.model().table.name.clone();
        let consistent = self.index.is_none();
        let page = match &self.partition {
            Some(partition) => {
                let range = KeyRange {
                    partition: partition
                        .iter()
                        .map(|(name, value)| (name.clone(), value.clone()))
                        .collect(),
                    sort: Vec::new(),
                };
                let request = QueryRequest {
                    index: self.index.clone(),
                    consistent,
                    limit: Some(self.limit),
                    start: self.start.take(),
                    ..QueryRequest::new(table, range)
                };
                engine.store().query(&request).await?
            }
            None => {
                let request = ScanRequest {
                    table,
                    index: self.index.clone(),
                    consistent,
                    limit: Some(self.limit),
                    start: self.start.take(),
                    ..ScanRequest::default()
                };
                engine.store().scan(&request).await?
            }
        };
        self.start.clone_from(&page.last_key);
        Ok(page)
    }

    /// What an item is, where it is one of those asked for.
    pub fn shown<'m>(&self, model: &'m Model, item: &Item) -> Option<Shown<'m>> {
        let shown = Shown::of(model, item);
        if self
            .entity
            .as_ref()
            .is_some_and(|wanted| shown.entity.is_none_or(|entity| entity.name != *wanted))
        {
            return None;
        }
        let fits = self
            .filter
            .as_ref()
            .is_none_or(|filter| filter.fits(shown.row.as_ref(), item));
        fits.then_some(shown)
    }
}

/// What an item is to a model.
pub(crate) struct Shown<'m> {
    pub entity: Option<&'m Entity>,
    pub kind: &'static str,
    /// The row; none where it is none, or not as the model has it.
    pub row: Option<Attributes>,
    /// What is wrong with it.
    pub misfit: Option<String>,
}

impl<'m> Shown<'m> {
    pub fn of(model: &'m Model, item: &Item) -> Self {
        let Some(entity) = entity_of_item(model, item) else {
            return Shown {
                entity: None,
                kind: if is_of_singlet(model, item) {
                    "singlet"
                } else {
                    "unknown"
                },
                row: None,
                misfit: None,
            };
        };
        let kind = match (&entity.mirror, &entity.role) {
            (Some(_), _) => "mirror",
            (None, Some(_)) => "kept",
            (None, None) => "row",
        };
        let (row, misfit) = match row::decode_as_stored(entity, item) {
            Ok(row) => (Some(row), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Shown {
            entity: Some(entity),
            kind,
            row,
            misfit,
        }
    }
}

/// A page: `{rows, next, looked}`.
pub(super) async fn rows_page(asking: &Asking<'_>, asked: RowsAsked) -> Result<Json, ConsoleError> {
    let model = asking.system.model();
    let mut pages = Pages::of(model, &asked)?;
    let enough = usize::try_from(pages.limit / 2).unwrap_or(1).max(1);
    let (mut rows, mut looked) = (Vec::new(), 0);
    let now = asking.service.now();
    loop {
        let page = pages.next_of(&asking.system.engine).await?;
        looked += page.scanned;
        for item in &page.items {
            if let Some(shown) = pages.shown(model, item) {
                rows.push(row_json(model, item, &shown, now, asked.entity.is_some()));
            }
        }
        if pages.start.is_none() || rows.len() >= enough || looked >= LOOKED_ITEMS_MAX {
            break;
        }
    }
    Ok(json!({
        "rows": rows,
        "next": pages.start.as_ref().map(typed_map),
        "looked": looked,
    }))
}

/// A row in a list: its key beside its values. By collection, the keys of all indexes are of interest too, and so the item is shown.
fn row_json(model: &Model, item: &Item, shown: &Shown<'_>, now: i64, by_entity: bool) -> Json {
    let keys = model.table.key.iter().map(|key| &key.name);
    let key: Item = keys
        .filter_map(|name| Some((name.clone(), item.get(name)?.clone())))
        .collect();
    let values = match (&shown.row, by_entity) {
        (Some(row), true) => typed_map(row),
        _ => typed_map(item),
    };
    json!({
        "entity": shown.entity.map(|entity| &entity.name),
        "kind": shown.kind,
        "key": typed_map(&key),
        "values": values,
        "expired": row::has_expired(model, item, now),
        "misfit": shown.misfit,
    })
}
