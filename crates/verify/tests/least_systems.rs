//! What the reads of the five systems consume on their sample rows, beside the least for which those rows can be read at all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a failed expectation is a failed test"
)]

mod listed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Caller, Engine, Request, Scope, Value, load, row};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_values as values;
use singlet_verify::bench::Row;
use singlet_verify::least::answers::least_answer;
use singlet_verify::{Bench, Case};

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;
const TODAY: &str = "2026-11-16";
const PAGE: usize = 20;

struct System {
    name: &'static str,
    bench: Bench,
    /// By read, the half units beyond the least, where any are.
    beyond: BTreeMap<String, u64>,
    called: BTreeSet<String>,
}

fn memory() -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::memory().unwrap())
}

/// The rows of a sample file, as they are stored.
fn sample_rows(model: &Arc<Model>, sample: &str) -> Vec<Row> {
    let engine = Engine::open(Arc::clone(model), memory(), Attributes::new(), [1; 32]);
    let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
    let scope = Scope {
        setting: engine.setting(),
        now: NOW,
        args: &nothing,
        caller: &nobody,
        attributes: None,
        row: None,
        bound: &nothing,
    };
    let rows = sample.lines().map(|line| {
        let items = load::line_items(model, line, scope).unwrap();
        let entity = load::entity_of_item(model, &items[0]).unwrap();
        (entity.name.clone(), row::decode_as_stored(entity, &items[0]).unwrap())
    });
    rows.collect()
}

impl System {
    async fn open(name: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{name}"));
        let text = std::fs::read_to_string(folder.join("model.yaml")).unwrap();
        let sample = std::fs::read_to_string(folder.join("sample.jsonl")).unwrap();
        let model = Arc::new(
            singlet_model::load_source(&Source::new(name, text.as_str()))
                .model
                .unwrap(),
        );
        let rows = sample_rows(&model, &sample);
        System {
            name,
            bench: Bench::open(&text, memory(), rows, NOW).await.unwrap(),
            beyond: BTreeMap::new(),
            called: BTreeSet::new(),
        }
    }

    /// A row of an entity, the first that fits.
    fn row(&self, entity: &str, is_it: impl Fn(&Attributes) -> bool) -> Attributes {
        let mut rows = self.bench.rows().iter().filter(|(name, _)| name == entity);
        rows.find(|(_, row)| is_it(row)).unwrap().1.clone()
    }

    async fn call(&mut self, read: &str, caller: &Caller, args: &[(&str, &str)]) {
        let declared = self.bench.model().reads.iter().find(|known| known.name == read);
        let declared = declared.unwrap_or_else(|| panic!("no {read}"));
        let args: Attributes = args
            .iter()
            .map(|(name, text)| {
                let ty = &declared.argument_named(name).unwrap().ty;
                ((*name).to_owned(), values::from_text(text, ty).unwrap())
            })
            .collect();
        let case = Case {
            read: read.to_owned(),
            args: args.clone(),
            caller: caller.clone(),
            page: PAGE,
            now: NOW,
        };
        let request = Request {
            args,
            caller: caller.clone(),
            now: NOW,
            limit: Some(PAGE),
            ..Request::default()
        };
        let answer = self.bench.read(read, &request).await;
        let answer = answer.unwrap_or_else(|error| panic!("{} {read}: {error}", self.name));
        let consumed = answer.consumed.total_units().read.half_count();
        let least = least_answer(&self.bench, &case).await.unwrap();
        let least = least.unwrap_or_else(|| panic!("{} {read} is not listed", self.name));
        println!(
            "{}.{read}: {consumed} half units, at least {} from {}",
            self.name, least.half_units, least.from
        );
        assert!(
            consumed >= least.half_units,
            "{} {read}: {consumed} is below {least:?}",
            self.name
        );
        let beyond = self.beyond.entry(read.to_owned()).or_default();
        *beyond = (*beyond).max(consumed - least.half_units);
        self.called.insert(read.to_owned());
    }

    /// Every read was called, but for those whose rows the sample does not have and those that keys do not answer.
    fn ended(self, found: &mut BTreeMap<String, Vec<String>>, left_out: &[&str]) {
        let reads = self.bench.model().reads.iter().map(|read| read.name.as_str());
        let missing: Vec<&str> = reads
            .filter(|name| !self.called.contains(*name) && !left_out.contains(name))
            .collect();
        assert!(missing.is_empty(), "{}: {missing:?}", self.name);
        for (read, beyond) in self.beyond.into_iter().filter(|(_, beyond)| *beyond > 0) {
            found.insert(format!("{}.{read}", self.name), vec![units(beyond)]);
        }
    }
}

fn units(halves: u64) -> String {
    format!("{}", halves as f64 / 2.0)
}

fn text<'r>(row: &'r Attributes, name: &str) -> &'r str {
    row.get(name)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("no {name} in {row:?}"))
}

#[tokio::test]
async fn reads_of_the_five_systems_take_the_least_but_for_a_list() {
    let mut found = BTreeMap::new();
    todo(&mut found).await;
    wardrobe(&mut found).await;
    country(&mut found).await;
    booking(&mut found).await;
    ecobid(&mut found).await;
    listed::check("reads beyond the least", &found);
}

async fn todo(found: &mut BTreeMap<String, Vec<String>>) {
    let mut system = System::open("todo").await;
    let task = system.row("Task", |_| true);
    let user = Caller::with_id(text(&task, "user_id"));
    for (read, args) in [
        ("me", &[][..]),
        ("task", &[("task_id", text(&task, "task_id"))]),
        ("tasks", &[]),
        ("tasksByStatus", &[("status", "pending")]),
        ("tasksInStatusOrder", &[]),
        ("tasksDueOn", &[("day", TODAY)]),
        ("tasksInDueDateOrder", &[]),
        ("tasksInDueDateOrder", &[("from", "2026-01-01"), ("to", TODAY)]),
        ("overdueTasks", &[]),
        ("tasksByPriority", &[("priority", "high")]),
        ("tasksInPriorityOrder", &[]),
        ("tasksByCategory", &[("category", "work")]),
        ("tasksInCategoryOrder", &[]),
        ("taskCounts", &[]),
    ] {
        system.call(read, &user, args).await;
    }
    system.ended(found, &["searchTasks", "taskStatistics", "reminders"]);
}

async fn wardrobe(found: &mut BTreeMap<String, Vec<String>>) {
    let mut system = System::open("wardrobe").await;
    let item = system.row("Item", |item| text(item, "UserId") == "ines");
    let user = Caller::with_id("ines");
    for (read, args) in [
        ("item", &[("itemId", text(&item, "ItemId"))][..]),
        ("items", &[("userId", "ines")]),
        ("itemsBySeason", &[("userId", "ines"), ("season", "winter")]),
        ("activities", &[("userId", "ines")]),
    ] {
        system.call(read, &user, args).await;
    }
    system.ended(found, &["searchItems", "idempotencyRecord"]);
}

async fn country(found: &mut BTreeMap<String, Vec<String>>) {
    let mut system = System::open("country").await;
    let reader = Caller {
        authenticated: true,
        ..Caller::anonymous().claim("role", "reader")
    };
    for (read, args) in [
        ("countryByAlpha2", &[("alpha2", "IT")][..]),
        (
            "countryAt",
            &[("alpha2", "IT"), ("instant", "2026-11-01T00:00:00.000Z")],
        ),
        ("countryHistory", &[("alpha2", "IT")]),
        ("countryByAlpha3", &[("alpha3", "ITA")]),
        ("countryByNumeric", &[("numeric", "380")]),
        ("activeCountries", &[]),
    ] {
        system.call(read, &reader, args).await;
    }
    system.ended(found, &[]);
}

async fn booking(found: &mut BTreeMap<String, Vec<String>>) {
    let mut system = System::open("booking").await;
    let booking = system.row("Booking", |booking| text(booking, "status") == "approved");
    let user = system.row("User", |user| text(user, "userId") == text(&booking, "userId"));
    let id = text(&booking, "bookingId");
    let caller = Caller::with_id(text(&booking, "userId")).claim("role", "admin");
    let month = &text(&booking, "date")[..7];
    for (read, args) in [
        ("profile", &[][..]),
        ("userById", &[("userId", text(&booking, "userId"))]),
        ("userByEmail", &[("email", text(&user, "email"))]),
        ("booking", &[("bookingId", id)]),
        ("myBookings", &[]),
        ("bookingsByStatus", &[("status", "pending")]),
        ("bookingsOfMonth", &[("status", "approved"), ("month", month)]),
        ("eventsOfDay", &[("date", text(&booking, "date"))]),
        ("availability", &[("from", TODAY), ("to", "2026-12-16")]),
        ("payments", &[("bookingId", id)]),
        ("lockCode", &[("bookingId", id)]),
        ("notifications", &[]),
        ("auditLog", &[("date", TODAY)]),
    ] {
        system.call(read, &caller, args).await;
    }
    system.ended(found, &[]);
}

async fn ecobid(found: &mut BTreeMap<String, Vec<String>>) {
    let mut system = System::open("ecobid").await;
    let reservation = system.row("Reservation", |row| text(row, "status") == "confirmed");
    let bid = system.row("Bid", |_| true);
    let item = system.row("Item", |item| text(item, "itemId") == text(&reservation, "itemId"));
    let Some(Value::M(place)) = item.get("location") else {
        panic!("{item:?}");
    };
    let at = |name: &str| place.get(name).and_then(Value::as_number).unwrap().to_string();
    let at = format!("{},{}", at("lat"), at("lon"));
    let caller = Caller::with_id(text(&reservation, "buyerId"));
    for (read, args) in [
        ("profile", &[][..]),
        ("itemsOfUser", &[("userId", text(&reservation, "sellerId"))]),
        ("itemsNear", &[("at", at.as_str()), ("km", "5")]),
        ("itemsNear", &[("at", at.as_str()), ("km", "25"), ("category", "books")]),
        ("itemsOfCategory", &[("category", "books")]),
        ("itemsByStatus", &[("status", "available")]),
        ("item", &[("itemId", text(&reservation, "itemId"))]),
        ("itemPage", &[("itemId", text(&reservation, "itemId"))]),
        ("myReservations", &[]),
        ("reservation", &[("resId", text(&reservation, "resId"))]),
        ("auction", &[("auctionId", text(&bid, "auctionId"))]),
        ("bids", &[("auctionId", text(&bid, "auctionId"))]),
        ("ratings", &[("userId", text(&reservation, "sellerId"))]),
        ("notifications", &[]),
    ] {
        system.call(read, &caller, args).await;
    }
    system.ended(found, &["itemsMatching"]);
}
