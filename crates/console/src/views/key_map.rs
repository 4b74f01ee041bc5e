//! The map of the key space: for the table and each index, which item collections there can be, whose rows lie in them, and where
//! rows of two entities meet.

use serde_json::{Value as Json, json};
use singlet_item::key::{Effort, Template, Verdict, collision_within};
use singlet_model::Model;
use singlet_model::model::KeyTemplate;
use singlet_plan::access::{AccessPath, own_paths};
use singlet_plan::show::expression_in;

/// How many steps are spent on whether two partitions can be the same.
const EFFORT_STEPS_MAX: u64 = 20_000;

/// The table, then each index: `{name, key, collections: [{shapes, entries}]}`.
pub(super) fn key_places(model: &Model) -> Vec<Json> {
    let paths: Vec<AccessPath<'_>> = model
        .entities
        .iter()
        .flat_map(|entity| own_paths(model, entity))
        .collect();
    let table = std::iter::once(None);
    let indexes = model.table.indexes.iter().map(|index| Some(index.name.as_str()));
    let places = table.chain(indexes).map(|name| {
        let own: Vec<AccessPath<'_>> = paths
            .iter()
            .copied()
            .filter(|path| path.index.map(|index| index.name.as_str()) == name)
            .collect();
        let index = model
            .table
            .indexes
            .iter()
            .find(|index| Some(index.name.as_str()) == name);
        let key: Vec<&str> = match index {
            Some(index) => index.key().map(|key| key.name.as_str()).collect(),
            None => model.table.key.iter().map(|key| key.name.as_str()).collect(),
        };
        let collections = collections(&own);
        json!({
            "index": name,
            "key": key,
            "collections": collections.iter().map(|paths| collection(model, paths)).collect::<Vec<_>>(),
        })
    });
    places.collect()
}

/// Paths whose partitions can be the same one, together.
fn collections<'a>(paths: &[AccessPath<'a>]) -> Vec<Vec<AccessPath<'a>>> {
    let mut groups: Vec<Vec<AccessPath<'a>>> = Vec::new();
    for path in paths {
        let (mut joined, others): (Vec<_>, Vec<_>) = groups
            .into_iter()
            .partition(|group: &Vec<AccessPath<'a>>| group.iter().any(|known| may_meet(known, path)));
        let mut group = joined.drain(..).flatten().collect::<Vec<_>>();
        group.push(*path);
        groups = others;
        groups.push(group);
    }
    groups
}

fn may_meet(one: &AccessPath<'_>, other: &AccessPath<'_>) -> bool {
    let templates = |keys: &[KeyTemplate]| keys.iter().map(|key| key.template.clone()).collect::<Vec<Template>>();
    let verdict = collision_within(
        &templates(one.partition_templates()),
        &templates(other.partition_templates()),
        &Effort::new(EFFORT_STEPS_MAX),
    );
    // What was not decided is shown together: nobody is told that two stand apart who may not.
    !matches!(verdict, Verdict::Never)
}

fn collection(model: &Model, paths: &[AccessPath<'_>]) -> Json {
    let mut shapes: Vec<String> = Vec::new();
    for path in paths {
        let shape = texts(path.partition_templates());
        if !shapes.contains(&shape) {
            shapes.push(shape);
        }
    }
    let mut entries: Vec<&AccessPath<'_>> = paths.iter().collect();
    entries.sort_by_key(|path| texts(path.sort_templates()));
    let mut names: Vec<&str> = paths.iter().map(|path| path.entity.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    json!({
        "shapes": shapes,
        "meets": names.len() > 1,
        "entries": entries.iter().map(|path| entry(model, path)).collect::<Vec<_>>(),
    })
}

fn entry(model: &Model, path: &AccessPath<'_>) -> Json {
    let mirror = path.entity.mirror.as_ref().and_then(|mirror| model.entity(mirror.of));
    let may_lack = path
        .choice
        .keys
        .iter()
        .flat_map(|key| &key.parts)
        .filter(|part| part.optional);
    json!({
        "entity": path.entity.name,
        "mirrorOf": mirror.map(|of| &of.name),
        "partition": texts(path.partition_templates()),
        "sort": texts(path.sort_templates()),
        "when": path.choice.when.as_ref().map(|when| expression_in(&model.catalog, when)),
        "sparse": may_lack.map(|part| part.path.as_str()).collect::<Vec<_>>(),
    })
}

fn texts(keys: &[KeyTemplate]) -> String {
    let texts: Vec<&str> = keys.iter().map(|key| key.text.as_str()).collect();
    texts.join(" · ")
}
