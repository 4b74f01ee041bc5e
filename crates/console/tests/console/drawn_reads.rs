//! What is shown of made-up models is what the engine, the store and the plans say: rows, keys, indexes, units.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value as Json, json};
use singlet_item::{Item, Value};
use singlet_model::model::Stored;
use singlet_plan::plan_json;
use singlet_plan::read::plan_read;
use singlet_runtime::load::entity_of_item;
use singlet_runtime::{Attributes, Caller, Engine, Request, load, row};
use singlet_store::{ScanRequest, Store};
use singlet_values::json_text;
use singlet_verify::generate;

use crate::running::{Options, Running, block_on, start, system};

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;

/// Made-up models in a usual run; `SINGLET_CONSOLE_MODELS` draws more.
const MODELS: u64 = 12;

fn models() -> u64 {
    let said = std::env::var("SINGLET_CONSOLE_MODELS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(MODELS)
}

fn scanned(store: &dyn Store, table: &str, index: Option<&str>) -> Vec<Item> {
    let mut request = ScanRequest {
        table: table.to_owned(),
        index: index.map(str::to_owned),
        ..ScanRequest::default()
    };
    let mut all = Vec::new();
    loop {
        let page = block_on(store.scan(&request)).unwrap();
        all.extend(page.items);
        request.start = page.last_key;
        if request.start.is_none() {
            return all;
        }
    }
}

/// A value as the console has it.
fn typed(value: &Value) -> Json {
    match value {
        Value::S(text) => json!({"S": text}),
        Value::N(number) => json!({"N": number.to_string()}),
        Value::Bool(truth) => json!({"BOOL": truth}),
        Value::Null => json!({"NULL": true}),
        Value::L(list) => json!({"L": list.iter().map(typed).collect::<Vec<_>>()}),
        Value::M(map) => json!({"M": typed_map(map)}),
        Value::Ss(set) => json!({"SS": set}),
        Value::Ns(set) => json!({"NS": set.iter().map(ToString::to_string).collect::<Vec<_>>()}),
        Value::B(_) | Value::Bs(_) => bytes(value),
    }
}

fn bytes(value: &Value) -> Json {
    let text = |value: &Value| json_text::json_of(value).trim_matches('"').to_owned();
    match value {
        Value::Bs(set) => json!({"BS": set.iter().map(|one| text(&Value::B(one.clone()))).collect::<Vec<_>>()}),
        other => json!({"B": text(other)}),
    }
}

fn typed_map(map: &BTreeMap<String, Value>) -> Json {
    Json::Object(map.iter().map(|(name, value)| (name.clone(), typed(value))).collect())
}

/// Every page of a list, with few items each.
fn listed(running: &Running, cookie: &str, path: &str, asked: &Json) -> Vec<Json> {
    let mut asked = asked.clone();
    asked["limit"] = json!(7);
    let mut rows = Vec::new();
    loop {
        let page = running.post(cookie, path, &asked);
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        if page["next"].is_null() {
            return rows;
        }
        asked["start"] = page["next"].clone();
    }
}

#[test]
fn rows_keys_indexes_and_units_are_those_of_the_engine() {
    let (mut rows_seen, mut parts_seen, mut reads_seen) = (0, 0, 0);
    for number in 0..models() {
        let mut rng = Rng::with_seed(1_000_003 + number);
        let generated = generate::generate_model(&mut rng);
        let rows = generated.rows(&mut rng, 40);
        let made = system("made", &generated.text(), "", NOW);
        for (entity, row) in &rows {
            let row = BTreeMap::from([(entity.clone(), Value::M(row.clone()))]);
            // Some have the same key as others, or a set that no item can hold: they are refused, and others are there.
            let _ = block_on(load::load_text(&made.engine, &json_text::json_of(&Value::M(row)), NOW));
        }
        let name = made.name.clone();
        let running = start(vec![made], Options::default());
        let cookie = running.sign_in();
        let engine = running.service.systems()[0].engine.clone();
        rows_seen += hold_rows(&running, &cookie, &name, &engine, &mut parts_seen);
        for read in &generated.reads {
            let row = read.some_row(&mut rng, &rows);
            let args = read.draw_arguments(&mut rng, row);
            reads_seen += usize::from(hold_read(&running, &cookie, &name, &engine, &read.name, &args));
        }
    }
    assert!(
        rows_seen > 100 && parts_seen > 200 && reads_seen > 20,
        "{rows_seen} {parts_seen} {reads_seen}"
    );
}

fn hold_rows(running: &Running, cookie: &str, name: &str, engine: &Engine, parts_seen: &mut usize) -> usize {
    let model = engine.model();
    let table = model.table.name.as_str();
    let items = scanned(engine.store().as_ref(), table, None);
    let shown = listed(running, cookie, &format!("{name}/rows"), &json!({}));
    let expected: Vec<Json> = items.iter().map(typed_map).collect();
    let found: Vec<Json> = shown.iter().map(|row| row["values"].clone()).collect();
    assert_eq!(found, expected, "model {name}: what the table holds");
    for entity in &model.entities {
        let own = items
            .iter()
            .filter(|item| entity_of_item(model, item).is_some_and(|known| known.id == entity.id));
        let expected: Vec<Json> = own
            .map(|item| typed_map(&row::decode_as_stored(entity, item).unwrap()))
            .collect();
        let listed = listed(
            running,
            cookie,
            &format!("{name}/rows"),
            &json!({"entity": entity.name}),
        );
        let found: Vec<Json> = listed.iter().map(|row| row["values"].clone()).collect();
        assert_eq!(found, expected, "rows of {}", entity.name);
    }
    let keys = |item: &Item| -> Item {
        let names = model.table.key.iter().map(|key| key.name.clone());
        names.map(|name| (name.clone(), item[&name].clone())).collect()
    };
    let mut held: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for index in &model.table.indexes {
        let entries = scanned(engine.store().as_ref(), table, Some(&index.name));
        let entries = entries.iter().map(|item| typed_map(&keys(item)).to_string());
        held.insert(index.name.clone(), entries.collect());
    }
    for item in &items {
        let key = typed_map(&keys(item));
        let detail = running.post(cookie, &format!("{name}/row"), &json!({"key": key}));
        assert_eq!(detail["item"], typed_map(item));
        for place in detail["places"].as_array().unwrap() {
            if let Some(index) = place["index"].as_str() {
                assert_eq!(
                    place["holds"].as_bool().unwrap(),
                    held[index].contains(&key.to_string()),
                    "{index} {key}"
                );
            }
            for shown in place["keys"].as_array().unwrap() {
                *parts_seen += hold_parts(shown, &detail);
            }
        }
    }
    items.len()
}

/// The parts of a key are the key, and what they say is what the row has.
fn hold_parts(key: &Json, detail: &Json) -> usize {
    let Some(parts) = key["parts"].as_array() else {
        return 0;
    };
    let text: String = parts
        .iter()
        .map(|part| part["text"].as_str().or(part["raw"].as_str()).unwrap())
        .collect();
    let value = key["value"].as_object().unwrap().values().next().unwrap();
    if let Some(whole) = value.as_str() {
        assert_eq!(text, whole, "{key}");
    }
    for part in parts.iter().filter(|part| part["name"].is_string()) {
        let (name, told) = (part["name"].as_str().unwrap(), &part["value"]);
        let own = &detail["row"][name];
        // A key may fold a value, and a path or a function has no attribute of its own.
        if own.is_null() || key["template"].as_str().unwrap().contains('(') {
            continue;
        }
        assert_eq!(told, own, "{key} {name}");
    }
    parts.len()
}

fn hold_read(running: &Running, cookie: &str, name: &str, engine: &Engine, read: &str, args: &Attributes) -> bool {
    let model = engine.model();
    let Some(known) = model.reads.iter().find(|known| known.name == read) else {
        return false;
    };
    let request = Request {
        args: args.clone(),
        caller: Caller::with_id("me"),
        limit: None,
        cursor: None,
        now: NOW,
    };
    let expected = block_on(engine.read(read, &request));
    let json: BTreeMap<&str, String> = args
        .iter()
        .map(|(name, value)| (name.as_str(), json_text::json_of(value)))
        .collect();
    let asked = json!({
        "name": read,
        "json": json,
        "caller": {"authenticated": true, "claims": {"id": "me"}},
        "now": NOW,
    });
    let reply = running.ask(
        "POST",
        &format!("/console/api/{name}/read"),
        Some(cookie),
        &asked.to_string(),
    );
    let Ok(expected) = expected else {
        assert!(
            reply.status == 400 || reply.json()["refusal"].is_object(),
            "{read}: {}",
            reply.text()
        );
        return false;
    };
    assert_eq!(reply.status, 200, "{read} {asked}: {}", reply.text());
    let answer = reply.json();
    assert_eq!(
        answer["value"],
        expected.value.as_ref().map_or(Json::Null, typed),
        "{read}"
    );
    let units = expected.consumed.total_units();
    assert_eq!(
        answer["consumed"]["read"],
        json!(units.read.half_count() as f64 / 2.0),
        "{read}"
    );
    // The plan is the one that `singlet plan` shows, for the arguments that were sent.
    let planned = plan_json::reads_json(model, &[plan_read(model, known)]);
    let all = planned["reads"][0]["combinations"].as_array().unwrap().clone();
    assert!(all.contains(&answer["plan"]["combination"]), "{read}");
    let previewed = engine.preview(read, &request).unwrap();
    let predicted: Vec<String> = previewed
        .combination
        .requests
        .iter()
        .map(|cost| cost.formula_text())
        .collect();
    assert_eq!(answer["plan"]["predicted"], json!(predicted), "{read}");
    true
}

#[test]
fn numbers_keep_every_digit() {
    const TEXT: &str = "
singlet: 1
name: exact
table: {name: exact, key: {partition: PK, sort: SK}, type: kind}
entities:
  Sum:
    attributes: {id: string 1..20, amount: number}
    key: {PK: \"SUM#{id}\", SK: \"S\"}
";
    let exact = "0.12345678901234567890123456789012345678";
    let large = "99999999999999999999999999999999999999";
    let rows = format!(
        "{{\"Sum\": {{\"id\": \"a\", \"amount\": {exact}}}}}\n{{\"Sum\": {{\"id\": \"b\", \"amount\": {large}}}}}\n"
    );
    let model = singlet_model::load_source(&singlet_model::Source::new("exact", TEXT));
    assert!(
        model.model.is_some(),
        "{:?}",
        model
            .diagnostics
            .iter()
            .map(|one| one.message.clone())
            .collect::<Vec<_>>()
    );
    let running = start(vec![system("exact", TEXT, &rows, NOW)], Options::default());
    let cookie = running.sign_in();
    let name = running.service.systems()[0].name.clone();
    let shown = listed(&running, &cookie, &format!("{name}/rows"), &json!({"entity": "Sum"}));
    let mut amounts: Vec<&str> = shown
        .iter()
        .map(|row| row["values"]["amount"]["N"].as_str().unwrap())
        .collect();
    amounts.sort_unstable();
    assert_eq!(amounts, [exact, large]);
    let exported = running
        .ask("GET", &format!("/console/api/{name}/export"), Some(&cookie), "")
        .text();
    assert!(exported.contains(exact) && exported.contains(large), "{exported}");
    let stored = running.service.systems()[0].model().entities[0]
        .attribute("amount")
        .map(|one| one.stored.clone());
    assert_eq!(stored, Some(Stored::Own));
}
