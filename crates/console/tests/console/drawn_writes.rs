//! A dry run changes nothing, and tells what the write then does: on made-up models, in made-up sequences.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Value as Json, json};
use singlet_item::{Item, Value};
use singlet_runtime::values::json_text;
use singlet_runtime::{Attributes, Engine, Precondition, WriteRequest};
use singlet_store::{ScanRequest, Store};
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::generate::writes;
use singlet_verify::writes::{Draw, Op, WriteSequence};

use crate::running::{Options, Running, block_on, start, system_on};

/// 2026-11-16T12:00:00.500Z.
const NOW: i64 = 1_794_830_400_500;

/// Made-up models in a usual run, and operations on each; `SINGLET_CONSOLE_MODELS` draws more.
const MODELS: u64 = 10;
const OPERATIONS: u64 = 25;

fn table_of(engine: &Engine) -> BTreeMap<String, Item> {
    let request = ScanRequest {
        table: engine.model().table.name.clone(),
        consistent: true,
        ..ScanRequest::default()
    };
    let page = block_on(engine.store().scan(&request)).unwrap();
    assert!(page.last_key.is_none(), "a small table is one page");
    let keys = engine
        .model()
        .table
        .key
        .iter()
        .map(|key| key.name.as_str())
        .collect::<Vec<_>>();
    let key = |item: &Item| {
        let key: Attributes = keys
            .iter()
            .map(|name| ((*name).to_owned(), item[*name].clone()))
            .collect();
        json_text::of(&Value::M(key))
    };
    page.items.into_iter().map(|item| (key(&item), item)).collect()
}

/// The request as a form sends it; none where no form can.
fn asked(write: &str, request: &WriteRequest) -> Option<Json> {
    let json: BTreeMap<&str, String> = request
        .args
        .iter()
        .map(|(name, value)| (name.as_str(), json_text::of(value)))
        .collect();
    let mut claims = BTreeMap::new();
    for (name, value) in &request.caller.claims {
        claims.insert(name.as_str(), value.as_str()?);
    }
    let version = match &request.precondition {
        Precondition::Unsaid => None,
        Precondition::Version(versions) if versions.len() == 1 => Some(versions[0].to_string()),
        _ => return None,
    };
    Some(json!({
        "name": write,
        "json": json,
        "caller": {"authenticated": request.caller.authenticated, "claims": claims},
        "key": request.idempotency_key,
        "version": version,
        "now": request.now,
    }))
}

/// Ids and codes that a write makes up are others each time: where they stand, they are all the same here.
fn without_ids(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for char in text.chars().chain([' ']) {
        if char.is_ascii_alphanumeric() || char == '-' {
            word.push(char);
            continue;
        }
        let digits = word.chars().filter(char::is_ascii_digit).count();
        let is_code = word.len() == 4 && digits == 4;
        out.push_str(match word.len() >= 20 && digits > 0 || is_code {
            true => "<made up>",
            false => &word,
        });
        word.clear();
        out.push(char);
    }
    out
}

/// What changed between two tables, as the console tells it.
fn changes(before: &BTreeMap<String, Item>, after: &BTreeMap<String, Item>) -> Vec<String> {
    let mut all = Vec::new();
    for key in before
        .keys()
        .chain(after.keys().filter(|key| !before.contains_key(*key)))
    {
        let (old, new) = (before.get(key), after.get(key));
        if old != new {
            let text =
                |item: Option<&Item>| item.map_or("none".to_owned(), |item| json_text::of(&Value::M(item.clone())));
            all.push(without_ids(&format!("{} => {}", text(old), text(new))));
        }
    }
    all.sort();
    all
}

/// What a dry run says, in the same words.
fn predicted(tried: &Json) -> Vec<String> {
    let text = |item: &Json| match item {
        Json::Null => "none".to_owned(),
        item => json_text::of(&Value::M(untyped_map(item))),
    };
    let changes = tried["changes"].as_array().unwrap().iter();
    let mut all: Vec<String> = changes
        .map(|change| without_ids(&format!("{} => {}", text(&change["before"]), text(&change["after"]))))
        .collect();
    all.sort();
    all
}

fn untyped_map(map: &Json) -> Attributes {
    let entries = map.as_object().unwrap().iter();
    entries.map(|(name, value)| (name.clone(), untyped(value))).collect()
}

fn untyped(value: &Json) -> Value {
    let (kind, inner) = value.as_object().unwrap().iter().next().unwrap();
    let texts = || inner.as_array().unwrap().iter().map(|one| one.as_str().unwrap());
    match kind.as_str() {
        "S" => Value::S(inner.as_str().unwrap().to_owned()),
        "N" => Value::N(inner.as_str().unwrap().parse().unwrap()),
        "BOOL" => Value::Bool(inner.as_bool().unwrap()),
        "NULL" => Value::Null,
        "L" => Value::L(inner.as_array().unwrap().iter().map(untyped).collect()),
        "M" => Value::M(untyped_map(inner)),
        "SS" => Value::Ss(texts().map(str::to_owned).collect()),
        "NS" => Value::Ns(texts().map(|text| text.parse().unwrap()).collect()),
        // Bytes are compared as the text that they are written with.
        _ => Value::S(inner.to_string()),
    }
}

struct Bench {
    running: Running,
    cookie: String,
    engine: Arc<Engine>,
    name: String,
    sequence: WriteSequence,
}

impl Bench {
    fn open(text: &str) -> Option<Self> {
        let model = singlet_model::load(&singlet_model::Source::new("made", text)).model?;
        let model = Arc::new(model);
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        let engine = Engine::open(Arc::clone(&model), store, Attributes::new(), [7; 32]);
        let engine = Arc::new(engine);
        block_on(engine.create_table()).unwrap();
        let running = start(vec![system_on(Arc::clone(&engine))], Options::default());
        let cookie = running.sign_in();
        Some(Bench {
            cookie,
            name: model.name.clone(),
            sequence: WriteSequence::on(Arc::clone(&model), Arc::clone(&engine), Vec::new()),
            running,
            engine,
        })
    }

    /// Tries a write, does it, and holds the one against the other. Whether it was done.
    fn hold(&mut self, draw: &mut Draw, number: u64) -> Option<bool> {
        let (write, request) = draw.request(&self.sequence)?;
        let asked = asked(&write, &request)?;
        let before = table_of(&self.engine);
        let path = format!("/console/api/{}/dry-run", self.name);
        let reply = self.running.ask("POST", &path, Some(&self.cookie), &asked.to_string());
        assert_eq!(
            table_of(&self.engine),
            before,
            "a dry run of {write} changed the table: {asked}"
        );
        let op = Op {
            number,
            write: write.clone(),
            request: request.clone(),
        };
        let really = block_on(self.engine_outcome(&op));
        let after = table_of(&self.engine);
        if reply.status != 200 {
            // What the form does not take, the engine does not either.
            assert!(really.is_err(), "{write}: {} but {really:?}; {asked}", reply.text());
            assert_eq!(before, after);
            return Some(false);
        }
        let tried = reply.json();
        match &really {
            Ok(status) => assert_eq!(tried["status"], json!(status), "{write}: {tried} for {asked}"),
            Err(refusal) => assert_eq!(tried["refusal"]["name"], json!(refusal), "{write}: {tried} for {asked}"),
        }
        assert_eq!(predicted(&tried), changes(&before, &after), "{write}: {asked}");
        Some(really.is_ok())
    }

    /// What the engine does; the oracle of sequences draws by what it knows of the table, and is told.
    async fn engine_outcome(&mut self, op: &Op) -> Result<u16, String> {
        let outcome = self.engine.write(&op.write, &op.request).await;
        match outcome {
            Ok(written) => Ok(written.status),
            Err(singlet_runtime::RuntimeError::Refused(refused)) => Err(refused.name.clone()),
            Err(error) => Err(word_of(&error)),
        }
    }
}

fn word_of(error: &singlet_runtime::RuntimeError) -> String {
    use singlet_runtime::RuntimeError as Error;
    let word = match error {
        Error::Request(_) => "invalid_input",
        Error::Forbidden => "forbidden",
        Error::Unauthenticated => "unauthenticated",
        Error::NotFound => "not_found",
        Error::Several(_) => "several_rows",
        Error::VersionMismatch => "version_mismatch",
        Error::VersionRequired => "version_required",
        Error::IdempotencyKeyReused => "idempotency_key_reused",
        Error::AlreadyDone => "already_done",
        Error::Evaluate(_) => "out_of_range",
        Error::Conflict => "conflict",
        Error::TooManyRows { .. } => "too_many_rows",
        _ => "other",
    };
    word.to_owned()
}

#[test]
fn a_dry_run_changes_nothing_and_tells_what_is_done() {
    let said = std::env::var("SINGLET_CONSOLE_MODELS").ok();
    let models = said.and_then(|text| text.parse().ok()).unwrap_or(MODELS);
    let (mut done, mut refused) = (0, 0);
    for number in 0..models {
        let mut rng = Rng::with_seed(2_000_003 + number);
        let text = writes::model(&mut rng).text();
        let Some(mut bench) = Bench::open(&text) else { continue };
        let mut draw = Draw::new(rng, NOW, &[]);
        for operation in 0..OPERATIONS {
            match bench.hold(&mut draw, operation) {
                Some(true) => done += 1,
                Some(false) => refused += 1,
                None => {}
            }
        }
    }
    assert!(done >= 20 && refused >= 20, "{done} done, {refused} refused");
}
