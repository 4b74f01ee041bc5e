//! A dry run changes nothing, and tells what the write then does, and what was done plays as a scenario: on made-up models, in made-up
//! sequences.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use serde_json::{Value as Json, json};
use singlet_item::{Item, Value};
use singlet_model::model::StepKind;
use singlet_runtime::{Attributes, Caller, Engine, Precondition, Scope, WriteRequest};
use singlet_store::{ScanRequest, Store};
use singlet_store_embedded::EmbeddedStore;
use singlet_values::json_text;
use singlet_verify::generate::writes;
use singlet_verify::writes::{Draw, ExpectedOutcome, WriteSequence, dump};

use crate::client::Reply;
use crate::running::{Options, Running, block_on, start, system_on};
use crate::scenarios::play;

/// 2026-11-16T12:00:00.500Z.
const NOW: i64 = 1_794_830_400_500;

/// Made-up models in a usual run, and operations on each; `SINGLET_CONSOLE_MODELS` draws more.
const MODELS: u64 = 6;
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
        json_text::json_of(&Value::M(key))
    };
    page.items.into_iter().map(|item| (key(&item), item)).collect()
}

/// The request as a form sends it, texts for what a line holds and JSON for the rest; none where no form can.
fn asked(write: &str, request: &WriteRequest) -> Option<Json> {
    let (mut args, mut json) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in &request.args {
        match value {
            Value::S(text) => args.insert(name.as_str(), text.clone()),
            Value::N(_) | Value::Bool(_) => args.insert(name.as_str(), json_text::json_of(value)),
            other => json.insert(name.as_str(), json_text::json_of(other)),
        };
    }
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
        "args": args,
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
            let text = |item: Option<&Item>| {
                item.map_or("none".to_owned(), |item| json_text::json_of(&Value::M(item.clone())))
            };
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
        item => json_text::json_of(&Value::M(untyped_map(item))),
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
    /// What was done, as the page notes it for a scenario.
    steps: Vec<Json>,
}

impl Bench {
    fn open(text: &str) -> Option<Self> {
        let model = singlet_model::load_source(&singlet_model::Source::new("made", text)).model?;
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
            sequence: known_rows(&engine, NOW),
            running,
            engine,
            steps: Vec::new(),
        })
    }

    fn only_creates(&self, name: &str) -> bool {
        let write = self.engine.model().writes.iter().find(|write| write.name == name);
        let steps = write.map(|write| write.all_steps()).unwrap_or_default();
        steps.iter().all(|step| matches!(step.kind, StepKind::Create(_)))
    }

    fn ask(&self, view: &str, asked: &Json) -> Reply {
        let path = format!("/console/api/{}/{view}", self.name);
        self.running.ask("POST", &path, Some(&self.cookie), &asked.to_string())
    }

    /// Tries a write, does it, and holds the one against the other. Whether it was done.
    fn hold(&mut self, draw: &mut Draw) -> Option<bool> {
        let (write, mut request) = draw.draw_request(&self.sequence)?;
        if self.only_creates(&write) {
            // What is only made has no version before: the documents do not know that a client could name one.
            request.precondition = Precondition::Unsaid;
        }
        let mut asked = asked(&write, &request)?;
        let before = table_of(&self.engine);
        let tried = self.ask("dry-run", &asked);
        assert_eq!(
            table_of(&self.engine),
            before,
            "a dry run of {write} changed the table: {asked}"
        );
        asked["record"] = json!(true);
        let done = self.ask("write", &asked);
        let after = table_of(&self.engine);
        if tried.status != 200 {
            // What the form does not take is not done either.
            assert_eq!(
                (tried.status, tried.text()),
                (done.status, done.text()),
                "{write}: {asked}"
            );
            assert_eq!(before, after);
            return Some(false);
        }
        assert_eq!(done.status, 200, "{write}: {} for {asked}", done.text());
        let (tried, done) = (tried.json(), done.json());
        assert_eq!(
            (&tried["status"], &tried["refusal"]),
            (&done["status"], &done["refusal"]),
            "{write}: {asked}"
        );
        let really = changes(&before, &after);
        assert_eq!(predicted(&tried), really, "{write}: {asked}");
        assert_eq!(predicted(&done), really, "{write}: {asked}");
        assert_eq!(tried["consumed"], done["consumed"], "{write}: {asked}");
        self.sequence = known_rows(&self.engine, request.now);
        draw.saw_outcome(&write, &outcome(&done));
        let is_done = done["refusal"].is_null();
        self.steps.push(step_done(asked, done));
        Some(is_done)
    }

    /// Plays what was done, over real HTTP on a service of its own. How many steps there were.
    fn play_recorded(&self, text: &str) -> usize {
        if self.steps.is_empty() {
            return 0;
        }
        let steps = json!({"name": "drawn", "steps": self.steps});
        let made = self
            .running
            .post(&self.cookie, &format!("{}/scenario", self.name), &steps);
        let left = made["left"].as_array().unwrap().len();
        play(text, made["text"].as_str().unwrap());
        self.steps.len() - left
    }
}

/// A sequence that draws by the rows that are there.
fn known_rows(engine: &Arc<Engine>, now: i64) -> WriteSequence {
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: engine.setting(),
        now,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let model = Arc::clone(engine.model());
    let items = block_on(dump::table_items(&model, engine.store())).unwrap();
    let rows = dump::live_rows(&model, &items, scope).unwrap();
    WriteSequence::on_table(model, Arc::clone(engine), rows)
}

fn outcome(done: &Json) -> ExpectedOutcome {
    match done["refusal"].is_null() {
        true => ExpectedOutcome::Done {
            status: u16::try_from(done["status"].as_u64().unwrap()).unwrap(),
            value: None,
            replayed: done["replayed"] == json!(true),
        },
        false => ExpectedOutcome::BadRequest,
    }
}

/// What the page keeps of an operation.
fn step_done(mut asked: Json, done: Json) -> Json {
    asked.as_object_mut().unwrap().remove("record");
    asked["now"] = done["now"].clone();
    asked["status"] = done["status"].clone();
    asked["problem"] = done["refusal"]["name"].clone();
    asked["value"] = match done["value"]["M"].is_object() {
        true => done["value"].clone(),
        false => Json::Null,
    };
    asked["met"] = done["met"].clone();
    asked
}

/// A made-up model whose writes all have routes, so that scenarios can ask for them.
fn routed(text: &str) -> String {
    let Some((before, writes)) = text.split_once("\nwrites:\n") else {
        return text.to_owned();
    };
    let end = writes
        .lines()
        .scan(0, |at, line| {
            let start = *at;
            *at += line.len() + 1;
            Some((start, line))
        })
        .find(|(_, line)| !line.is_empty() && !line.starts_with([' ', '#']))
        .map_or(writes.len(), |(start, _)| start);
    let (writes, after) = writes.split_at(end.min(writes.len()));
    let mut out = String::new();
    let lines: Vec<&str> = writes.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        out.push_str(line);
        out.push('\n');
        let Some(name) = line.strip_prefix("  ").and_then(|line| line.strip_suffix(':')) else {
            continue;
        };
        let own = lines[at + 1..].iter().take_while(|line| line.starts_with("   "));
        let has = |word: &str| own.clone().any(|line| line.starts_with(word));
        if !name.starts_with(' ') && !has("    http:") && !has("    after:") && !has("    every:") {
            out.push_str(&format!("    http: POST /own/{name}\n"));
        }
    }
    format!("{before}\nwrites:\n{out}{after}")
}

fn models() -> u64 {
    let said = std::env::var("SINGLET_CONSOLE_MODELS").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(MODELS)
}

#[test]
fn a_dry_run_changes_nothing_tells_what_is_done_and_what_was_done_plays() {
    let (mut done, mut refused, mut played) = (0, 0, 0);
    for number in 0..models() {
        let mut rng = Rng::with_seed(2_000_003 + number);
        let text = routed(&writes::generate_writes(&mut rng).text());
        let Some(mut bench) = Bench::open(&text) else {
            continue;
        };
        let mut draw = Draw::new(rng, NOW, &[]);
        for _ in 0..OPERATIONS {
            match bench.hold(&mut draw) {
                Some(true) => done += 1,
                Some(false) => refused += 1,
                None => {}
            }
        }
        played += bench.play_recorded(&text);
    }
    assert!(
        done >= 20 && refused >= 20 && played >= 40,
        "{done} done, {refused} refused, {played} played"
    );
}
