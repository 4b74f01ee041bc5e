//! Tallies held against counting: the rows that are there, one by one.

use std::collections::BTreeMap;

use singlet_item::{Item, Number, Value};
use singlet_model::Model;
use singlet_model::evaluate::{evaluate, holds_condition};
use singlet_model::model::Tally;
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{
    Attributes, Caller, Engine, Request, Scope, TallyHead, group_of_row, group_prefix, row, tally_head,
};
use singlet_store::ScanRequest;

use crate::VerifyError;
use crate::generate::writes::tallies::READ_PREFIX;

/// The figures of groups, by their values in words, and whether none of these is absent: rows, and sums.
type Counted = BTreeMap<(String, bool), (i64, Vec<Number>)>;

/// How the figures of a model's tallies differ from what its rows come to.
pub(super) async fn compare_tallies(engine: &Engine) -> Result<(), VerifyError> {
    if engine.model().tallies.is_empty() {
        return Ok(());
    }
    let items = all_items(engine).await?;
    for tally in &engine.model().tallies {
        let (meant, got) = (counted(engine, tally, &items)?, kept(engine.model(), tally, &items)?);
        if meant != got {
            let name = &tally.name;
            return Err(VerifyError::Differs(format!(
                "the tally `{name}` differs\n  meant: {meant:?}\n  got:   {got:?}"
            )));
        }
        compare_read(engine, tally, &meant).await?;
    }
    Ok(())
}

/// How the answer of the read of a tally differs: its figures, without the names of groups, which are compared as they are stored.
async fn compare_read(engine: &Engine, tally: &Tally, meant: &Counted) -> Result<(), VerifyError> {
    let name = format!("{READ_PREFIX}{}", tally.name);
    if !engine.model().reads.iter().any(|read| read.name == name) {
        return Ok(());
    }
    let answer = engine.read(&name, &Request::default()).await;
    let answer = answer.map_err(|error| VerifyError::failed(&format!("`{name}` is not answered"), error))?;
    let mut got = Vec::new();
    if let Some(value) = &answer.value {
        figures_in(value, tally.by.len(), tally, &mut got);
    }
    // A row without a value for a group is told in none.
    let meant = meant.iter().filter(|((_, is_whole), _)| *is_whole);
    let mut meant: Vec<String> = meant.map(|(_, figures)| format!("{figures:?}")).collect();
    got.sort();
    meant.sort();
    match got == meant {
        true => Ok(()),
        false => Err(VerifyError::Differs(format!(
            "`{name}` differs\n  meant: {meant:?}\n  got:   {got:?}"
        ))),
    }
}

/// The figures that lie so deep in an answer, below the values of groups; without sums a figure is the count itself. No rows are no group,
/// but where there are no groups they are the answer.
fn figures_in(value: &Value, depth: usize, tally: &Tally, found: &mut Vec<String>) {
    let (count, sums) = match (value, depth) {
        (Value::M(groups), 1..) => {
            groups
                .values()
                .for_each(|group| figures_in(group, depth - 1, tally, found));
            return;
        }
        (Value::M(figures), 0) => {
            let sums = tally.sums.iter().filter_map(|(name, _)| figures.get(name)?.as_number());
            (figures.get("count").and_then(Value::as_number), sums.collect())
        }
        (value, _) => (value.as_number(), Vec::new()),
    };
    let figures: (i64, Vec<Number>) = (count.and_then(Number::to_i64).unwrap_or_default(), sums);
    if figures.0 != 0 {
        found.push(format!("{figures:?}"));
    }
}

async fn all_items(engine: &Engine) -> Result<Vec<Item>, VerifyError> {
    let (mut items, mut start) = (Vec::new(), None);
    loop {
        let request = ScanRequest {
            table: engine.model().table.name.clone(),
            consistent: true,
            start,
            ..ScanRequest::default()
        };
        let page = engine.store().scan(&request).await?;
        items.extend(page.items);
        start = page.last_key;
        if start.is_none() {
            return Ok(items);
        }
    }
}

fn counted(engine: &Engine, tally: &Tally, items: &[Item]) -> Result<Counted, VerifyError> {
    let model = engine.model();
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let mut all = Counted::new();
    for item in items {
        let entity = entity_of_item(model, item).filter(|entity| entity.id == tally.entity);
        let Some(entity) = entity else { continue };
        let row = row::decode_as_stored(entity, item)?;
        let scope = Scope {
            setting: engine.setting(),
            now: 0,
            args: &nothing,
            caller: &nobody,
            attributes: Some(&row),
            row: None,
            bound: &nothing,
        };
        let is_counted = tally
            .filter
            .as_ref()
            .map(|filter| holds_condition(filter, &scope))
            .transpose();
        if is_counted? == Some(false) {
            continue;
        }
        let values = tally.by.iter().map(|group| evaluate(&group.expr, &scope));
        let values: Vec<Option<Value>> = values.collect::<Result<_, _>>()?;
        let is_whole = values.iter().all(Option::is_some);
        let figures = all.entry((format!("{values:?}"), is_whole)).or_default();
        figures.0 += 1;
        figures.1.resize(tally.sums.len(), Number::ZERO);
        for (sum, (_, expr)) in figures.1.iter_mut().zip(&tally.sums) {
            if let Some(Value::N(more)) = evaluate(expr, &scope)? {
                *sum = sum.checked_add(more)?;
            }
        }
    }
    Ok(all)
}

/// What the rows of the tally say that count.
fn kept(model: &Model, tally: &Tally, items: &[Item]) -> Result<Counted, VerifyError> {
    let head_row = tally_head(model, &tally.name)?;
    let [partition, sort] = model.table.key.as_slice() else {
        return Err(VerifyError::Failed("a tally has no place".to_owned()));
    };
    let of_tally = |item: &&Item| item.get(&partition.name) == head_row.get(&partition.name);
    let head = items
        .iter()
        .find(|item| of_tally(item) && item.get(&sort.name) == head_row.get(&sort.name));
    let head = head.map(TallyHead::of_item).unwrap_or_default();
    let live = head.live_for(tally);
    let live =
        live.ok_or_else(|| VerifyError::Differs(format!("the tally `{}` is not kept: {:?}", tally.name, head.broken)))?;
    let prefix = group_prefix(live, &[]);
    let mut all = Counted::new();
    for item in items.iter().filter(of_tally) {
        let is_live = item.get(&sort.name).and_then(Value::as_str);
        let is_live = is_live.is_some_and(|text| text.starts_with(&prefix));
        if let Some((values, figures)) = group_of_row(item, tally.sums.len()).filter(|_| is_live)
            && !figures.is_nothing()
        {
            let is_whole = values.iter().all(Option::is_some);
            all.insert((format!("{values:?}"), is_whole), (figures.count, figures.sums));
        }
    }
    Ok(all)
}
