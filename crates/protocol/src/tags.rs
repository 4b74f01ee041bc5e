//! Tags of tables. They mean nothing here, and are kept for as long as the process runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value as Json, json};

use crate::endpoint::Endpoint;
use crate::fault::{Fault, FaultKind};
use crate::input::{Constraints, Input, name_of_arn};

/// The most tags of one table.
const TAGS_MAX: usize = 50;

/// The tags of tables, by ARN.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    by_arn: Mutex<BTreeMap<String, BTreeMap<String, String>>>,
}

impl Tags {
    pub(crate) fn add_tags(&self, arn: &str, tags: Vec<(String, String)>) {
        let mut all = self.by_arn.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(arn.to_owned()).or_default().extend(tags);
    }

    pub(crate) fn forget_tags(&self, arn: &str) {
        let mut all = self.by_arn.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(arn);
    }

    fn remove(&self, arn: &str, keys: &[String]) {
        let mut all = self.by_arn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tags) = all.get_mut(arn) {
            tags.retain(|key, _| !keys.contains(key));
        }
    }

    fn of(&self, arn: &str) -> BTreeMap<String, String> {
        let all = self.by_arn.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(arn).cloned().unwrap_or_default()
    }
}

/// The tags that a request has.
pub(crate) fn read_tags(input: &Input<'_>) -> Result<Vec<(String, String)>, Fault> {
    let mut tags = Vec::new();
    for tag in input.list("Tags")?.into_iter().flatten() {
        let tag = Input::of(tag)?;
        let (key, value) = (tag.text("Key")?, tag.text("Value")?);
        tags.push((key.unwrap_or_default().to_owned(), value.unwrap_or_default().to_owned()));
    }
    Ok(tags)
}

/// The ARN of a table that is there. Whoever asks for another one is told that he may not, as DynamoDB does.
async fn resource(endpoint: &Endpoint, input: &Input<'_>, call: &str) -> Result<String, Fault> {
    let arn = input.text("ResourceArn")?;
    let mut constraints = Constraints::default();
    constraints.not_null(arn.is_some(), "resourceArn");
    constraints.finish()?;
    let arn = arn.unwrap_or_default();
    let Some(table) = name_of_arn(arn) else {
        return Err(Fault::validation_fault(format!(
            "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
        )));
    };
    let known = endpoint.table(table).await;
    known.map_err(|fault| match fault.kind() {
        FaultKind::NotFound => Fault::new(
            FaultKind::AccessDenied,
            format!("User is not authorized to perform: dynamodb:{call} on resource: {arn}"),
        ),
        _ => fault,
    })?;
    Ok(endpoint.table_arn(table))
}

pub(crate) async fn tag_resource(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let arn = resource(endpoint, input, "TagResource").await?;
    let tags = read_tags(input)?;
    if tags.is_empty() {
        return Err(Fault::validation_fault(
            "Atleast one Tag needs to be provided as Input.",
        ));
    }
    let mut known = endpoint.tags.of(&arn);
    known.extend(tags.clone());
    if known.len() > TAGS_MAX {
        return Err(Fault::validation_fault(format!(
            "One resource can have at most {TAGS_MAX} tags"
        )));
    }
    endpoint.tags.add_tags(&arn, tags);
    Ok(json!({}))
}

pub(crate) async fn untag_resource(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let arn = resource(endpoint, input, "UntagResource").await?;
    let keys: Vec<String> = input
        .list("TagKeys")?
        .into_iter()
        .flatten()
        .filter_map(|key| key.as_str().map(str::to_owned))
        .collect();
    if keys.is_empty() {
        return Err(Fault::validation_fault(
            "Atleast one Tag Key needs to be provided as Input.",
        ));
    }
    endpoint.tags.remove(&arn, &keys);
    Ok(json!({}))
}

pub(crate) async fn list_tags(endpoint: &Endpoint, input: &Input<'_>) -> Result<Json, Fault> {
    let arn = resource(endpoint, input, "ListTagsOfResource").await?;
    let tags = endpoint.tags.of(&arn);
    let tags: Vec<Json> = tags
        .into_iter()
        .map(|(key, value)| json!({ "Key": key, "Value": value }))
        .collect();
    Ok(json!({ "Tags": tags }))
}
