//! The expressions of whole requests, over one set of placeholders each.

use super::{Placeholders, Renderer};
use crate::{Condition, Path, QueryRequest, Result, ScanRequest, Select, StoreError, UpdateRequest};

/// The expressions of a read by key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GetExpressions {
    /// What is returned; all, if none.
    pub projection: Option<String>,
    /// What the placeholders stand for.
    pub placeholders: Placeholders,
}

impl GetExpressions {
    /// Those of a projection.
    pub fn new(projection: &[Path]) -> Result<Self> {
        let mut renderer = Renderer::new();
        Ok(Self {
            projection: renderer.projection_text(projection)?,
            placeholders: renderer.finish(),
        })
    }
}

/// The expressions of a query or a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageExpressions {
    /// The key condition of a query.
    pub range: Option<String>,
    /// The filter.
    pub filter: Option<String>,
    /// What is returned; all, if none.
    pub projection: Option<String>,
    /// Whether only a count is asked.
    pub count: bool,
    /// What the placeholders stand for.
    pub placeholders: Placeholders,
}

impl PageExpressions {
    /// Those of a query.
    pub fn query_expressions(request: &QueryRequest) -> Result<Self> {
        Self::query_for(request, &request.select)
    }

    /// Those of a query for whole items, by a store that picks what is selected itself.
    pub fn query_whole(request: &QueryRequest) -> Result<Self> {
        Self::query_for(request, &Select::All)
    }

    fn query_for(request: &QueryRequest, select: &Select) -> Result<Self> {
        let mut renderer = Renderer::new();
        let range = renderer.key_range(&request.range)?;
        Self::page(renderer, Some(range), request.filter.as_ref(), select)
    }

    /// Those of a scan.
    pub fn scan_expressions(request: &ScanRequest) -> Result<Self> {
        Self::page(Renderer::new(), None, request.filter.as_ref(), &request.select)
    }

    fn page(
        mut renderer: Renderer,
        range: Option<String>,
        filter: Option<&Condition>,
        select: &Select,
    ) -> Result<Self> {
        let filter = filter.map(|filter| renderer.condition_text(filter)).transpose()?;
        let projection = match select {
            Select::Paths(paths) if paths.is_empty() => return Err(StoreError::bad_request("no path is selected")),
            Select::Paths(paths) => renderer.projection_text(paths)?,
            Select::All | Select::Count => None,
        };
        Ok(Self {
            range,
            filter,
            projection,
            count: *select == Select::Count,
            placeholders: renderer.finish(),
        })
    }
}

/// The expressions of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteExpressions {
    /// What changes; none, if nothing does.
    pub update: Option<String>,
    /// What must hold.
    pub condition: Option<String>,
    /// What the placeholders stand for.
    pub placeholders: Placeholders,
}

impl WriteExpressions {
    /// Those of a put, a delete or a check.
    pub fn condition_expressions(condition: Option<&Condition>) -> Result<Self> {
        let mut renderer = Renderer::new();
        Ok(Self {
            update: None,
            condition: condition
                .map(|condition| renderer.condition_text(condition))
                .transpose()?,
            placeholders: renderer.finish(),
        })
    }

    /// Those of an update.
    pub fn update_expressions(request: &UpdateRequest) -> Result<Self> {
        let mut renderer = Renderer::new();
        Ok(Self {
            update: renderer.update_text(&request.update)?,
            condition: request
                .condition
                .as_ref()
                .map(|condition| renderer.condition_text(condition))
                .transpose()?,
            placeholders: renderer.finish(),
        })
    }

    /// Those of an update in a transaction, which must change something.
    pub fn transact_update(request: &UpdateRequest) -> Result<Self> {
        if request.update.is_empty() {
            return Err(StoreError::bad_request("an update in a transaction changes nothing"));
        }
        Self::update_expressions(request)
    }
}
