//! A table in memory, its rows as the test knows them, and an index that follows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use singlet_changes::ChangeSource;
use singlet_item::Value;
use singlet_model::words::{WordQuery, texts_of};
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Caller, Engine, Request, WriteRequest, table};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;

use crate::{IndexPlace, SearchFollower};

pub const MODEL: &str = r#"
singlet: 1
name: notes
table: {name: notes, key: {partition: PK, sort: SK}, type: kind, ttl: ttl, stream: both_images}
callers:
  jwt: {audience: notes, claims: {id: sub, role: role}}
entities:
  Note:
    attributes:
      owner: string 1..20
      id: string 1..40
      title: string ..400
      body: string? ..4000
      tags: set(string 1..30)? ..9
      state: {enum: [draft, shared]}
      sharedUntil: time?
      until: time?
    key: {PK: "NOTE#{owner}", SK: "{id}"}
    states:
      of: state
      start: draft
      moves: {share: draft -> shared, hide: shared -> draft}
      while: {shared: {sharedUntil: now + hours(1)}}
      lapse: {shared: "draft at sharedUntil"}
    expires: until
search: {Note: [title, body, tags]}
reads:
  mine:
    find: Note
    args: {q: string ..400}
    matching: args.q
    highlight: true
    where: owner == caller.id
    allow: caller.authenticated
  seen:
    find: Note
    args: {q: string ..400}
    matching: args.q
    allow: caller.role == "admin" || owner == caller.id || state == "shared"
  shared:
    find: Note
    args: {q: string ..400}
    matching: args.q
    where: state == "shared"
    allow: true
writes:
  add:
    allow: caller.authenticated
    do: [{create: Note, set: {owner: caller.id}, take: [id, title, body, tags, until]}]
  change:
    args: {id: string 1..40}
    allow: caller.authenticated
    do: [{update: "Note{owner: caller.id, id: args.id}", take: [title, body, tags]}]
  share:
    args: {id: string 1..40}
    allow: caller.authenticated
    do: [{update: "Note{owner: caller.id, id: args.id}", move: share}]
  drop:
    args: {id: string 1..40}
    allow: caller.authenticated
    do: [{delete: "Note{owner: caller.id, id: args.id}"}]
"#;

/// The same, where words are found in any form of a language.
pub(crate) fn model_in(language: &str) -> String {
    let named = format!("search: {{Note: {{attributes: [title, body, tags], language: {language}}}}}");
    MODEL.replace("search: {Note: [title, body, tags]}", &named)
}

pub(crate) const HOUR_MILLIS: i64 = 3_600_000;

pub fn model_of(text: &str) -> Arc<Model> {
    let loaded = singlet_model::load_source(&Source::new("model.yaml", text.to_owned()));
    assert!(!loaded.diagnostics.has_errors(), "{:?}", loaded.diagnostics);
    Arc::new(loaded.model.unwrap())
}

pub fn folder() -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    place.join(format!("singlet-search-{}-{number}", std::process::id()))
}

/// A note as the test knows it.
#[derive(Clone, Debug, Default)]
pub struct Note {
    pub row: Attributes,
    pub shared_until: Option<i64>,
    pub until: Option<i64>,
}

/// A table with its rows, as the test knows them.
pub struct Bench {
    pub engine: Arc<Engine>,
    pub notes: BTreeMap<(String, String), Note>,
    pub now: Arc<AtomicI64>,
}

pub fn text(value: &str) -> Value {
    Value::S(value.to_owned())
}

pub fn caller(id: &str, role: &str) -> Caller {
    let mut caller = Caller::with_id(id);
    caller.claims.insert("role".to_owned(), text(role));
    caller
}

impl Bench {
    pub async fn new() -> Self {
        Self::of_model(MODEL).await
    }

    pub async fn of_model(model: &str) -> Self {
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        Self::on(store, model).await
    }

    pub async fn on(store: Arc<dyn Store>, model: &str) -> Self {
        let model = model_of(model);
        store.create_table(&table::table_spec(&model)).await.unwrap();
        Bench {
            engine: Arc::new(Engine::open(model, store, Attributes::new(), [7; 32])),
            notes: BTreeMap::new(),
            now: Arc::new(AtomicI64::new(1_790_000_000_000)),
        }
    }

    pub fn millis(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    pub fn source(&self) -> Arc<dyn ChangeSource> {
        Arc::new(Arc::clone(self.engine.store()))
    }

    pub fn follower(&self, place: IndexPlace) -> SearchFollower {
        SearchFollower::new(place, Arc::clone(self.engine.model()), self.source(), 0)
    }

    pub async fn follow(&self, follower: &mut SearchFollower) {
        let now = || self.millis();
        follower.follow_to_head(&now).await.unwrap();
    }

    async fn write(&self, write: &str, owner: &str, args: Attributes) {
        let request = WriteRequest {
            args,
            caller: Caller::with_id(owner),
            now: self.millis(),
            ..WriteRequest::default()
        };
        self.engine.write(write, &request).await.unwrap();
    }

    pub async fn put(&mut self, owner: &str, id: &str, row: Attributes, until: Option<i64>) {
        let key = (owner.to_owned(), id.to_owned());
        let mut args = row.clone();
        args.insert("id".to_owned(), text(id));
        let is_known = self.notes.contains_key(&key);
        if let (false, Some(until)) = (is_known, until) {
            let iso = singlet_runtime::row::iso_instant(until).unwrap();
            args.insert("until".to_owned(), text(&iso));
        }
        let write = if is_known { "change" } else { "add" };
        self.write(write, owner, args).await;
        let note = self.notes.entry(key).or_default();
        note.row = row;
        note.until = if is_known { note.until } else { until };
    }

    pub async fn add_other(&self, id: &str, title: &str) {
        let args = [("id", id), ("title", title)].map(|(name, value)| (name.to_owned(), text(value)));
        self.write("addOther", "ada", Attributes::from(args)).await;
    }

    pub async fn share(&mut self, owner: &str, id: &str) {
        let args = Attributes::from([("id".to_owned(), text(id))]);
        self.write("share", owner, args).await;
        let until = self.millis() + HOUR_MILLIS;
        let note = self.notes.get_mut(&(owner.to_owned(), id.to_owned())).unwrap();
        note.shared_until = Some(until);
    }

    pub async fn remove(&mut self, owner: &str, id: &str) {
        let args = Attributes::from([("id".to_owned(), text(id))]);
        self.write("drop", owner, args).await;
        self.notes.remove(&(owner.to_owned(), id.to_owned()));
    }

    /// What a search gives, page by page.
    pub async fn found(&self, read: &str, caller: &Caller, query: &str, page: usize) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let request = Request {
                args: Attributes::from([("q".to_owned(), text(query))]),
                caller: caller.clone(),
                limit: Some(page),
                cursor,
                now: self.millis(),
            };
            let answer = self.engine.read(read, &request).await.unwrap();
            let Some(Value::L(rows)) = answer.value else { panic!() };
            for row in rows {
                let Value::M(row) = row else { panic!() };
                let own = |name: &str| row.get(name).and_then(Value::as_str).unwrap().to_owned();
                all.push((own("owner"), own("id")));
            }
            cursor = answer.next;
            if cursor.is_none() {
                return all;
            }
        }
    }

    /// What it means, by going through all rows.
    pub fn meant(&self, read: &str, caller: &Caller, query: &str) -> Vec<(String, String)> {
        let language = self.engine.model().searches[0].language;
        let query = WordQuery::parse(query, language).unwrap();
        let now = self.millis();
        let id = caller.claims.get("id").and_then(Value::as_str).unwrap_or_default();
        let role = caller.claims.get("role").and_then(Value::as_str).unwrap_or_default();
        let meant = self.notes.iter().filter(|((owner, _), note)| {
            let is_shared = note.shared_until.is_some_and(|until| until > now);
            let may = match read {
                "mine" => owner == id,
                "shared" => is_shared,
                _ => role == "admin" || owner == id || is_shared,
            };
            let texts = ["title", "body", "tags"]
                .into_iter()
                .filter_map(|name| note.row.get(name));
            let is_there = note.until.is_none_or(|until| until > now);
            may && is_there && query.matches_texts(texts.flat_map(texts_of))
        });
        meant.map(|(key, _)| key.clone()).collect()
    }

    pub async fn assert_same(&self, read: &str, caller: &Caller, query: &str, page: usize) {
        let mut found = self.found(read, caller, query, page).await;
        found.sort();
        assert_eq!(found, self.meant(read, caller, query), "{read} {query:?} {caller:?}");
    }
}
