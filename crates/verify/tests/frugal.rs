//! What a read need not pay for: each answered as it is meant, for the units that its keys allow.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed expectation is a failed test"
)]

use std::sync::Arc;

use singlet_item::Value;
use singlet_plan::read::plan_read;
use singlet_runtime::{Attributes, Bounds, Request};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::bench::{BenchGiven, Row};
use singlet_verify::{Bench, Case, Outcome};

fn text(text: impl Into<String>) -> Value {
    Value::S(text.into())
}

fn row(entity: &str, values: &[(&str, Value)]) -> Row {
    let values = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    (entity.to_owned(), values.collect())
}

/// A model with the usual head.
fn model(zone: &str, indexes: &str, rest: &str) -> String {
    format!(
        "singlet: 1\nname: probe\nzone: {zone}\ntable:\n  name: probe\n  key: {{partition: PK, sort: SK}}\n  type: kind\n  indexes:\n{indexes}{rest}"
    )
}

async fn bench(text: &str, rows: Vec<Row>) -> Bench {
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
    Bench::open(text, store, rows, 0).await.unwrap()
}

/// The half units that a read takes, and how many rows are meant; its answer is what is meant, page by page.
async fn asked(bench: &Bench, read: &str, args: &[(&str, Value)]) -> (u64, usize) {
    let args: Attributes = args
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let case = Case {
        read: read.to_owned(),
        args: args.clone(),
        page: 7,
        ..Case::default()
    };
    let rows = match bench.check(&case).await {
        Ok(Outcome::Same(rows)) => rows,
        other => panic!("{other:?}"),
    };
    let request = Request {
        args,
        ..Request::default()
    };
    let answer = bench.read(read, &request).await.unwrap();
    (answer.consumed.total_units().read.half_count(), rows)
}

const TICKETS: &str = r##"
entities:
  Ticket:
    attributes:
      id: int 0..9999
      agent: string 1..9
      state: {enum: [new, open, held, done]}
      urgent: bool
      due: date
      code: string 1..20
      note: string 0..2000
    key: {PK: "T#{id}", SK: "T"}
    index:
      byAgent: {AP: "A#{agent}", AS: "{state}#{due}#{id}"}
      byCode: {CP: "C#{agent}", CS: "{code}#{id}"}
      thin: {TP: "D#{due}", TS: "{urgent}#{agent}#{id}"}
reads:
  dueOfAgent: {find: Ticket, args: {agent: string 1..9, to: date}, where: agent == args.agent && due <= args.to, page: 100, allow: true}
  notDone: {find: Ticket, args: {agent: string 1..9, to: date}, where: 'agent == args.agent && state != "done" && due <= args.to', page: 100, allow: true}
  codes: {find: Ticket, args: {agent: string 1..9, start: string 0..20}, where: agent == args.agent && code.startsWith(args.start), page: 100, allow: true}
  idsOfDay: {find: Ticket, args: {day: date}, where: due == args.day, return: {id: id, agent: agent}, page: 100, allow: true}
  urgentOfDay: {count: Ticket, args: {day: date}, where: due == args.day && urgent, allow: true}
  byAgentOfDay: {count: Ticket, by: agent, args: {day: date}, where: due == args.day, allow: true}
  heldOnly: {find: Ticket, args: {agent: string 1..9}, where: 'agent == args.agent && state == "held" && state != "done"', page: 100, allow: true}
  notNew: {find: Ticket, args: {agent: string 1..9}, where: 'agent == args.agent && state in ["held", "open"] && state != "new" && urgent', page: 100, allow: true}
  lastOfDay: {find: Ticket, args: {day: date, from: int}, where: due == args.day && id >= args.from, page: 100, allow: true}
estimates:
  Ticket: {items: 400, bytes: 1000, per: {agent: 80, due: 100}}
"##;

const INDEXES: &str = "    byAgent: {partition: AP, sort: AS}\n    byCode: {partition: CP, sort: CS}\n    thin: {partition: TP, sort: TS, project: keys}\n";

/// Eighty tickets of a kilobyte for each of five agents, over four days and four states.
async fn tickets() -> Bench {
    let rows = (0..400_i64).map(|id| {
        let state = ["new", "open", "held", "done"]
            .get(usize::try_from(id % 4).unwrap())
            .copied()
            .unwrap();
        // Codes with the delimiter and the escape in them, and codes that begin one another.
        let code = ["a", "a#b", "a%", "ab", "b#"]
            .get(usize::try_from(id % 5).unwrap())
            .copied()
            .unwrap();
        row(
            "Ticket",
            &[
                ("id", Value::N(id.into())),
                ("agent", text(format!("a{}", id / 80))),
                ("state", text(state)),
                ("urgent", Value::Bool(id % 10 == 0)),
                ("due", text(format!("2026-01-0{}", 1 + id % 16 / 4))),
                ("code", text(code)),
                ("note", text("n".repeat(850))),
            ],
        )
    });
    bench(&model("UTC", INDEXES, TICKETS), rows.collect()).await
}

#[tokio::test]
async fn a_range_behind_few_values_is_asked_for_once_for_each() {
    let bench = tickets().await;
    let due = [("agent", text("a1")), ("to", text("2026-01-01"))];
    // Five tickets of each of four states: two blocks each, where all of the agent's are twenty.
    assert_eq!(asked(&bench, "dueOfAgent", &due).await, (8, 20));
    // What a literal excludes is not asked for.
    assert_eq!(asked(&bench, "notDone", &due).await, (6, 15));
}

#[tokio::test]
async fn what_a_key_decides_is_not_filtered_again() {
    let bench = tickets().await;
    let agent = [("agent", text("a1"))];
    assert_eq!(asked(&bench, "heldOnly", &agent).await, (5, 20));
    assert_eq!(asked(&bench, "notNew", &agent).await.1, 4);
    let left = |read: &str| {
        let model = bench.model();
        let read = model.reads.iter().find(|known| known.name == read).unwrap();
        let plan = plan_read(model, read);
        let parts = plan.combinations.iter().flat_map(|combination| &combination.parts);
        let queries = parts.flat_map(|part| &part.plan.queries);
        queries.map(|query| query.rest.len()).collect::<Vec<usize>>()
    };
    assert_eq!(left("heldOnly"), [0]);
    assert_eq!(left("notNew"), [1]);
}

#[tokio::test]
async fn texts_that_begin_alike_are_one_range() {
    let bench = tickets().await;
    for (start, half_units, rows) in [
        ("a#", 4, 16),
        ("a%", 4, 16),
        ("b", 4, 16),
        ("a", 16, 64),
        ("", 20, 80),
        ("z", 1, 0),
    ] {
        let args = [("agent", text("a2")), ("start", text(start))];
        assert_eq!(asked(&bench, "codes", &args).await, (half_units, rows), "{start:?}");
    }
}

#[tokio::test]
async fn what_a_thin_index_tells_is_not_got() {
    let bench = tickets().await;
    let day = [("day", text("2026-01-02"))];
    // A hundred entries of less than forty bytes are a block.
    assert_eq!(asked(&bench, "idsOfDay", &day).await, (1, 100));
    assert_eq!(asked(&bench, "urgentOfDay", &day).await.0, 1);
    assert_eq!(asked(&bench, "byAgentOfDay", &day).await.0, 1);
    // Whole rows are got, and only those that the entries say are meant.
    let args = [("day", text("2026-01-02")), ("from", Value::N(380_i64.into()))];
    assert_eq!(asked(&bench, "lastOfDay", &args).await, (1 + 4, 4));
}

/// A list by agent and due date: an index of agents by state and day, and one of the whole tenant by day.
const AGENTS: &str = r##"
entities:
  Ticket:
    attributes:
      id: int 0..9999
      tenant: string 1..9
      agent: string 1..9
      state: {enum: [new, open, held, done, gone]}
      due: date
      note: string 0..2000
    key: {PK: "T#{id}", SK: "T"}
    index:
      byTenant: {TP: "T#{tenant}", TS: "{due}#{id}"}
      byAgent: {AP: "A#{tenant}#{agent}", AS: "{state}#{due}#{id}"}
reads:
  mine:
    find: Ticket
    args: {tenant: string 1..9, agent: string 1..9, until: date}
    where: tenant == args.tenant && agent == args.agent && due <= args.until
    order: due
    page: 50
    allow: true
"##;

#[tokio::test]
async fn an_agents_list_takes_the_exact_index_with_estimates_and_without() {
    let indexes = "    byTenant: {partition: TP, sort: TS}\n    byAgent: {partition: AP, sort: AS}\n";
    let estimates = "estimates:\n  Ticket: {items: 2000, bytes: 200, per: {tenant: 2000, agent: 40, due: 25}}\n";
    let rows = || {
        (0..2_000_i64).map(|id| {
            let states = ["new", "open", "held", "done", "gone"];
            let state = states.get(usize::try_from(id / 50 % 5).unwrap()).copied().unwrap();
            row(
                "Ticket",
                &[
                    ("id", Value::N(id.into())),
                    ("tenant", text("t")),
                    ("agent", text(format!("a{}", id % 50))),
                    ("state", text(state)),
                    ("due", text(format!("2026-01-{:02}", 1 + id / 50 % 28))),
                    ("note", text("n".repeat(60))),
                ],
            )
        })
    };
    let args = [
        ("tenant", text("t")),
        ("agent", text("a7")),
        ("until", text("2026-01-31")),
    ];
    for estimates in ["", estimates] {
        let text = format!("{}{estimates}", model("UTC", indexes, AGENTS));
        let bench = bench(&text, rows().collect()).await;
        // Five states of eight tickets each, a block for each; the tenant's tickets are more than ninety.
        assert_eq!(asked(&bench, "mine", &args).await, (5, 40), "{estimates:?}");
    }
}

const EVENTS: &str = r##"
entities:
  Event:
    attributes:
      id: int 0..99999
      room: string 1..9
      at: time
      on: date
      note: string 0..2000
    key: {PK: "R#{room}", SK: "{at}#{id}"}
    index:
      days: {DP: "R#{room}", DS: "{on}#{id}"}
reads:
  ofDay: {find: Event, args: {room: string, day: date}, where: room == args.room && day(at) == args.day, page: 100, allow: true}
  until: {count: Event, args: {room: string, day: date}, where: room == args.room && day(at) <= args.day, allow: true}
  before: {count: Event, args: {room: string, day: date}, where: room == args.room && day(at) < args.day, allow: true}
  since: {count: Event, args: {room: string, day: date}, where: room == args.room && day(at) >= args.day, allow: true}
  after: {count: Event, args: {room: string, day: date}, where: room == args.room && day(at) > args.day, allow: true}
  ofMonth: {count: Event, args: {room: string, month: month}, where: room == args.room && month(at) == args.month, allow: true}
  ofYear: {count: Event, args: {room: string, year: int}, where: room == args.room && year(at) == args.year, allow: true}
  onMonth: {count: Event, args: {room: string, month: month}, where: room == args.room && month(on) == args.month, allow: true}
  onSince: {count: Event, args: {room: string, month: month}, where: room == args.room && month(on) >= args.month, allow: true}
"##;

/// An event every twenty minutes around some days.
async fn events(zone: &str, days: &[&str]) -> Bench {
    let mut rows = Vec::new();
    for day in days {
        let noon: jiff::Timestamp = format!("{day}T12:00:00Z").parse().unwrap();
        for step in -150..150_i64 {
            let at = noon + jiff::SignedDuration::from_mins(20 * step);
            let at = at.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string();
            rows.push(row(
                "Event",
                &[
                    ("id", Value::N(i64::try_from(rows.len()).unwrap().into())),
                    ("room", text("r")),
                    ("on", text(at.get(..10).unwrap())),
                    ("at", text(at)),
                    ("note", text("n".repeat(300))),
                ],
            ));
        }
    }
    bench(&model(zone, "    days: {partition: DP, sort: DS}\n", EVENTS), rows).await
}

#[tokio::test]
async fn days_of_an_instant_are_a_range_in_the_models_zone() {
    // In Rome a day in March has 23 hours, and one in October 25.
    let bench = events("Europe/Rome", &["2026-03-29", "2026-10-25"]).await;
    let day = |day: &str| [("room", text("r")), ("day", text(day))];
    assert_eq!(asked(&bench, "ofDay", &day("2026-03-28")).await.1, 3 * 24);
    assert_eq!(asked(&bench, "ofDay", &day("2026-03-29")).await.1, 3 * 23);
    let (half_units, rows) = asked(&bench, "ofDay", &day("2026-10-25")).await;
    assert_eq!(rows, 3 * 25);
    // About 430 bytes each: eight blocks, and not those of the whole room.
    assert_eq!(half_units, 8);
    for read in ["until", "before", "since", "after"] {
        for date in [
            "2026-03-28",
            "2026-03-29",
            "2026-03-30",
            "2026-10-25",
            "0000-01-01",
            "9999-12-31",
        ] {
            asked(&bench, read, &day(date)).await;
        }
    }
    for month in ["2026-03", "2026-10", "2026-11", "9999-12"] {
        let args = [("room", text("r")), ("month", text(month))];
        for read in ["ofMonth", "onMonth", "onSince"] {
            asked(&bench, read, &args).await;
        }
    }
    for year in [0, 2025, 2026, 9999] {
        asked(
            &bench,
            "ofYear",
            &[("room", text("r")), ("year", Value::N(i64::from(year).into()))],
        )
        .await;
    }
}

#[tokio::test]
async fn a_midnight_that_comes_twice_or_never_divides_days_all_the_same() {
    // St John's put its clock back at one minute past midnight, Beirut forward at midnight, and Samoa left a day out.
    for (zone, days) in [
        ("America/St_Johns", ["2010-11-07", "2010-03-14"]),
        ("Asia/Beirut", ["2022-03-27", "2022-10-30"]),
        ("Pacific/Apia", ["2011-12-30", "2011-12-29"]),
        ("America/Toronto", ["1919-03-31", "1919-03-30"]),
    ] {
        let bench = events(zone, &days).await;
        for center in days {
            let center: jiff::civil::Date = center.parse().unwrap();
            for offset in -2..=2_i64 {
                let date = center.checked_add(jiff::Span::new().days(offset)).unwrap();
                let args = [("room", text("r")), ("day", text(date.to_string()))];
                for read in ["ofDay", "until", "before", "since", "after"] {
                    asked(&bench, read, &args).await;
                }
            }
        }
    }
}

/// A row and a list of an index in which all rows have one key.
const ONE_KEY: &str = r##"
entities:
  Event:
    attributes: {id: int 0..99, name: string 1..9}
    key: {PK: "E#{id}", SK: "E"}
    index:
      all: {AP: "ALL", AS: "E"}
reads:
  named: {get: Event, args: {name: string}, where: name == args.name, with: {all: {find: Event}}, allow: true}
"##;

#[tokio::test]
async fn a_row_past_the_first_page_of_an_index_is_found_beside_a_list() {
    let rows = |count: i64| {
        (0..count).map(|id| {
            row(
                "Event",
                &[("id", Value::N(id.into())), ("name", text(format!("n{id}")))],
            )
        })
    };
    let model = model("UTC", "    all: {partition: AP, sort: AS}\n", ONE_KEY);
    for rows_per_call in [1, 2, 3, 9, 10] {
        let given = BenchGiven {
            bounds: Bounds {
                rows_per_call,
                filtered_rows_min: 1,
                ..Bounds::USUAL
            },
            ..BenchGiven::default()
        };
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        let bench = Bench::open_with(&model, store, rows(9).collect(), 0, given)
            .await
            .unwrap();
        for id in [0, 1, 4, 8] {
            let (_, found) = asked(&bench, "named", &[("name", text(format!("n{id}")))]).await;
            assert_eq!(found, 1, "{id} by {rows_per_call}");
        }
    }
}
