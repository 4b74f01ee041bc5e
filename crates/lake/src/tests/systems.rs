//! The five systems' own writes, with drawn rows and arguments, and another model in between: the lake is what the table is.

use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use singlet_item::{Item, Value};
use singlet_model::Model;
use singlet_runtime::{Caller, Engine, WriteRequest};
use singlet_store::{PageAnswer, Result, ScanRequest, Store, StoreLayer};
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::VerifyError;
use singlet_verify::probe::{self, Options, Subject, usual_settings};

use super::support::{Folder, Shop, assert_same_rows, change_rows, lake_ids, model_of};
use crate::layout::lake_entities;

/// How many cases of each write are drawn, each on rows that are drawn too.
const CASES: usize = 6;

/// After so many writes of a model the lake follows.
const FOLLOWED_WRITES: usize = 5;

/// A table whose rows of followers nobody sees: what is drawn empties it again and again.
#[derive(Debug)]
struct WithoutFollowers(Arc<dyn Store>);

#[async_trait]
impl StoreLayer for WithoutFollowers {
    fn beneath(&self) -> &dyn Store {
        &*self.0
    }

    async fn scan(&self, request: &ScanRequest) -> Result<PageAnswer> {
        let mut page = self.0.scan(request).await?;
        page.items.retain(|item: &Item| !item.contains_key("$turn"));
        Ok(page)
    }
}

/// A system's model, and the same with some declarations as they became.
fn models_of(system: &str, changes: &[(&str, &str)]) -> [String; 2] {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systems");
    let text = std::fs::read_to_string(path.join(system).join("model.yaml")).unwrap();
    let mut changed = text.clone();
    for (from, to) in changes {
        assert!(changed.contains(from), "{system}: {from}");
        changed = changed.replace(from, to);
    }
    [text, changed]
}

/// Runs some writes of a model, each in several cases on other rows.
fn run_writes(model: &Arc<Model>, store: &Arc<dyn Store>, seed: u64, writes: &[String]) -> usize {
    let settings = usual_settings(model);
    let make = || -> Pin<Box<dyn Future<Output = std::result::Result<Subject, VerifyError>>>> {
        let (model, store, settings) = (Arc::clone(model), Arc::clone(store), settings.clone());
        let store: Arc<dyn Store> = Arc::new(WithoutFollowers(store));
        Box::pin(async move { Ok(Subject::on_table(model, store, settings)) })
    };
    let options = Options {
        only: writes,
        workers: 1,
        holds_costs: false,
        ..Options::new(seed, CASES)
    };
    let report = probe::run_probe(model, &settings, &make, &options);
    let found: Vec<String> = report.all_findings().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    report.case_count()
}

async fn hold_system(system: &str, changes: &[(&str, &str)]) {
    let [before, after] = models_of(system, changes);
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    // Long before any row ends: what has expired is a row until it is removed.
    let mut shop = Shop::open_on(Arc::clone(&store), &before, 0).await;
    let folder = Folder::new();
    let files = folder.files();
    shop.follow(&mut shop.follower(files.clone())).await.unwrap();
    let (mut cases, mut seed) = (0, 1);
    // The model of before comes back: some processes had it still.
    for text in [&before, &after, &before, &after] {
        shop.model = model_of(text);
        let mut follower = shop.follower(files.clone());
        shop.follow(&mut follower).await.unwrap();
        let called = shop.model.writes.iter().filter(|write| !write.is_uncalled());
        let names: Vec<String> = called.map(|write| write.name.clone()).collect();
        for some in names.chunks(FOLLOWED_WRITES) {
            let (model, store, some) = (Arc::clone(&shop.model), Arc::clone(&store), some.to_vec());
            let ran = tokio::task::spawn_blocking(move || run_writes(&model, &store, seed, &some)).await;
            cases += ran.unwrap();
            seed += 1;
            shop.follow(&mut follower).await.unwrap();
            for entity in lake_entities(&shop.model).unwrap() {
                assert_same_rows(&shop, files.as_ref(), &entity.name).await;
            }
        }
        follower.tidy(shop.now()).await.unwrap();
    }
    let mut rows = 0;
    for entity in lake_entities(&shop.model).unwrap() {
        assert_same_rows(&shop, files.as_ref(), &entity.name).await;
        let changes = lake_ids(files.as_ref(), &entity.name);
        assert_eq!(
            changes.len(),
            shop.change_ids(&entity.name).await.len(),
            "{system} {}",
            entity.name
        );
        rows += change_rows(files.as_ref(), &entity.name).len();
    }
    assert!(cases > 50 && rows > 300, "{system}: {cases} cases, {rows} rows");
}

#[tokio::test]
async fn the_lake_of_todo_is_its_table() {
    let changes = [
        (
            "title: string 1..200\n      description: string? ..1000",
            "title: string 1..200\n      effort: int? 0..99\n      description: {type: string? ..1000, personal: omitted}",
        ),
        (
            "category: string? 1..50",
            "category: {type: string? 1..50, personal: true}",
        ),
    ];
    hold_system("todo", &changes).await;
}

#[tokio::test]
async fn the_lake_of_wardrobe_is_its_table() {
    let changes = [
        (
            "Brand: string? 1..100",
            "Brand: string? 1..100\n      Worn: number? 0.0..9.9\n      Parts: list(string 1..9)? ..5",
        ),
        (
            "ImageUrl: string? 1..2000",
            "ImageUrl: {type: string? 1..2000, personal: readable}",
        ),
    ];
    hold_system("wardrobe", &changes).await;
}

/// Countries have versions, which are written one after the other: a table of rows that are drawn has them in no such order.
#[tokio::test]
async fn the_lake_of_country_is_its_table() {
    let added = "name: string 1..200\n      people: int? 0..\n      land: int? 0..9";
    let [before, after] = models_of("country", &[("name: string 1..200", added)]);
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    let mut shop = Shop::open_on(Arc::clone(&store), &before, 0).await;
    let folder = Folder::new();
    let files = folder.files();
    let mut random = fastrand::Rng::with_seed(31);
    let mut caller = Caller::with_id("ada");
    caller.claims.insert("role".to_owned(), Value::from("writer"));
    let mut done = 0;
    for text in [&before, &after, &before, &after] {
        shop.model = model_of(text);
        let mut follower = shop.follower(files.clone());
        shop.follow(&mut follower).await.unwrap();
        let settings = usual_settings(&shop.model);
        let engine = Engine::open(Arc::clone(&shop.model), Arc::clone(&store), settings, [7; 32]);
        for _ in 0..8 {
            for _ in 0..8 {
                let code = format!("A{}", random.char('A'..='F'));
                let (write, takes): (&str, &[&str]) = match random.u8(0..5) {
                    0 => ("deleteCountry", &["alpha2"]),
                    1 | 2 => ("createCountry", &["alpha2Code", "alpha3Code", "numericCode", "name"]),
                    _ => (
                        "updateCountry",
                        &["alpha2", "alpha2Code", "alpha3Code", "numericCode", "name"],
                    ),
                };
                let mut arg = |name: &&str| match *name {
                    "alpha2" | "alpha2Code" => code.clone(),
                    "alpha3Code" => format!("{code}{}", random.char('A'..='C')),
                    "numericCode" => random.u16(100..120).to_string(),
                    _ => random.u32(..).to_string(),
                };
                let args = takes
                    .iter()
                    .map(|name| ((*name).to_owned(), Value::S(arg(name))))
                    .collect();
                let request = WriteRequest {
                    args,
                    caller: caller.clone(),
                    now: shop.now(),
                    ..WriteRequest::default()
                };
                // A refusal is an answer too.
                done += usize::from(engine.write(write, &request).await.is_ok());
            }
            shop.follow(&mut follower).await.unwrap();
            assert_same_rows(&shop, files.as_ref(), "Country").await;
        }
        follower.tidy(shop.now()).await.unwrap();
    }
    assert!(done > 80, "{done}");
    assert_eq!(lake_ids(files.as_ref(), "Country"), shop.change_ids("Country").await);
}

#[tokio::test]
async fn the_lake_of_booking_is_its_table() {
    let changes = [
        (
            "attendees: int 1..500",
            "attendees: int 1..\n      rooms: map(int 0..9)? ..3",
        ),
        ("amount: number 0.01..99999.99", "amount: number 0.01.."),
    ];
    hold_system("booking", &changes).await;
}

#[tokio::test]
async fn the_lake_of_ecobid_is_its_table() {
    let changes = [
        ("minBid: int 5..50", "minBid: int 5.."),
        (
            "city: string? 1..80",
            "city: {type: string? 1..80, personal: true}\n      since: date?",
        ),
    ];
    hold_system("ecobid", &changes).await;
}
