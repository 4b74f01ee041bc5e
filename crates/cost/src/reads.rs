//! What a read is expected to consume: the first page, averaged over the combinations of its optional arguments.

use singlet_item::capacity::Consistency;
use singlet_model::Model;
use singlet_model::expression::ExprKind;
use singlet_model::model::{LetValue, Read, SelectionKind};
use singlet_model::types::EntityId;
use singlet_plan::bounds::Bounds;
use singlet_plan::cost::{Origin, RequestCost};
use singlet_plan::read::{Combination, Query, RANGE_DAYS_USUAL, SelectionPlan, plan_read, plan_selection};

use crate::operations::{Part, add_part};
use crate::sizes::{read_blocks, row_bytes};

/// What one answer of a read consumes, by place and entity.
pub(crate) fn read_parts(model: &Model, read: &Read) -> Vec<Part> {
    let plan = plan_read(model, read);
    let mut parts = Vec::new();
    let share = 1.0 / plan.combinations.len().max(1) as f64;
    for combination in &plan.combinations {
        for part in combination_parts(model, read, combination) {
            let part = Part {
                read: part.read * share,
                ..part
            };
            add_part(&mut parts, part);
        }
    }
    parts
}

/// The read units that the first page of a read is expected to take, with one combination of its optional arguments.
pub fn expected_read_units(model: &Model, read: &Read, combination: &Combination) -> f64 {
    let parts = combination_parts(model, read, combination);
    parts.iter().map(|part| part.read).sum()
}

fn combination_parts(model: &Model, read: &Read, combination: &Combination) -> Vec<Part> {
    let mut parts = let_parts(model, read);
    for request in &combination.requests {
        match &request.origin {
            // Read above, and counted with the query that is followed.
            Origin::Let(_) | Origin::Rows { .. } => {}
            Origin::Query { part, query } => {
                let planned = combination.parts.get(*part);
                if let Some(query) = planned.and_then(|planned| planned.plan.queries.get(*query)) {
                    let times = outer_times(read, combination, *part);
                    parts.extend(query_parts(query, times));
                }
            }
            Origin::Neighbours => parts.extend(side_by_side(model, combination, request)),
            Origin::Together => parts.extend(together_parts(model, combination)),
            Origin::Found { .. } => parts.extend(searched_rows(model, read, request)),
            // A row that says which figures count, and a page of them: some 25 groups.
            Origin::TallyHead { .. } | Origin::TallyFigures { .. } => parts.push(Part {
                index: None,
                entity: None,
                read: 0.5,
                write: 0.0,
            }),
        }
    }
    parts
}

/// The rows of a page that are found by words, each by its key.
fn searched_rows(model: &Model, read: &Read, request: &RequestCost) -> Option<Part> {
    let entity = request.entities.first().copied()?;
    let page = read.page.unwrap_or(Bounds::USUAL.page_rows_usual as u64);
    let limit = read.selection.as_ref().and_then(|own| own.limit);
    let rows = limit.map_or(page, |limit| limit.min(page)) as f64;
    Some(Part {
        index: None,
        entity: Some(entity),
        read: rows * read_blocks(row_bytes(model, model.entity(entity)?)) / 2.0,
        write: 0.0,
    })
}

/// Rows that `let` names are read strongly by their keys, or found.
fn let_parts(model: &Model, read: &Read) -> Vec<Part> {
    let mut parts = Vec::new();
    for bound in &read.lets {
        match &bound.value {
            LetValue::Value(expr) => {
                if let ExprKind::Entity { entity, .. } = &expr.kind {
                    parts.push(strong_get(model, *entity));
                }
            }
            LetValue::Read(selection) => {
                let plan = plan_selection(model, selection, None, None, &|_| true);
                parts.extend(plan.iter().flat_map(found_parts));
            }
        }
    }
    parts
}

/// A strong get of a row.
pub(crate) fn strong_get(model: &Model, entity: EntityId) -> Part {
    let bytes = model.entity(entity).map_or(0.0, |entity| row_bytes(model, entity));
    Part {
        index: None,
        entity: Some(entity),
        read: read_blocks(bytes),
        write: 0.0,
    }
}

/// What finding rows takes, once.
pub(crate) fn found_parts(plan: &SelectionPlan) -> Vec<Part> {
    plan.queries.iter().flat_map(|query| query_parts(query, 1.0)).collect()
}

/// What a query takes, that often: on its path, and on the table where rows are got behind it.
pub(crate) fn query_parts(query: &Query, times: f64) -> Vec<Part> {
    let expected = &query.expected;
    let times = times * query.asked_share;
    let on_path = expected.half_units.saturating_sub(expected.followed_half_units);
    let part = |index, half_units: u64| Part {
        index,
        entity: (!query.scan).then_some(query.entity),
        read: half_units as f64 / 2.0 * times,
        write: 0.0,
    };
    let followed = (expected.followed_half_units > 0).then(|| part(None, expected.followed_half_units));
    std::iter::once(part(query.index, on_path)).chain(followed).collect()
}

/// How often a selection is asked for one answer: for each element of `each`, or for each row that it comes with.
fn outer_times(read: &Read, combination: &Combination, at: usize) -> f64 {
    let name = combination.parts.get(at).and_then(|part| part.name.as_deref());
    if let (None, Some(each)) = (name, &read.each) {
        return (each.at_most as f64).min(RANGE_DAYS_USUAL);
    }
    let parent = read.selection.as_ref().filter(|_| name.is_some());
    let Some(parent) = parent.filter(|parent| parent.kind == SelectionKind::Find) else {
        return 1.0;
    };
    let page = read.page.unwrap_or(Bounds::USUAL.page_rows_usual as u64);
    let page = parent.limit.map_or(page, |limit| limit.min(page)) as f64;
    let own = combination.parts.iter().find(|part| part.name.is_none());
    let kept = own.filter(|own| own.plan.search.is_none()).map_or(page, |own| {
        let queries = own.plan.queries.iter();
        queries.map(|query| query.asked_share * query.expected.rows_kept).sum()
    });
    kept.min(page)
}

/// One query for several selections: their bytes are summed and rounded once.
fn side_by_side(model: &Model, combination: &Combination, request: &RequestCost) -> Option<Part> {
    let neighbours = combination.neighbours.as_ref()?;
    let mut bytes = 0.0;
    for neighbour in &neighbours.parts {
        let entity = model.entity(neighbour.query.entity)?;
        let planned = combination.parts.get(neighbour.part)?;
        let queries = planned.plan.queries.iter();
        let rows: f64 = queries.map(|query| query.expected.rows_read).sum();
        bytes += rows * row_bytes(model, entity);
    }
    let blocks = read_blocks(bytes);
    Some(Part {
        index: request.index,
        entity: request.entities.first().copied(),
        read: match request.consistency {
            Consistency::Eventual => blocks / 2.0,
            Consistency::Strong => blocks,
            Consistency::Transactional => blocks * 2.0,
        },
        write: 0.0,
    })
}

/// One transaction: each row is rounded up on its own and costs twice.
fn together_parts(model: &Model, combination: &Combination) -> Vec<Part> {
    let Some(Ok(together)) = &combination.together else {
        return Vec::new();
    };
    let parts = together.parts.iter().filter_map(|part| {
        let entity = model.entity(part.query.entity)?;
        Some(Part {
            index: None,
            entity: Some(entity.id),
            read: 2.0 * read_blocks(row_bytes(model, entity)) * part.query.expected.rows_read.max(1.0),
            write: 0.0,
        })
    });
    parts.collect()
}
