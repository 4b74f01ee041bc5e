//! Ranges of days, with every end taken in and left out: the rows, and how many item collections are asked for.

use std::sync::Arc;

use singlet_model::Source;
use singlet_runtime::{Engine, Request};
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::{Bench, Case, Outcome};

use super::{Attributes, Caller, NOW, attributes};

/// The last day of each range, in days after `args.from`.
const LAST: [u32; 3] = [0, 1, 3];

/// What is compared, and the two ends.
const FORMS: [(&str, &str, &str); 5] = [
    ("d", "args.from", "args.from + days(N)"),
    ("day(at)", "args.from", "args.from + days(N)"),
    (
        "at",
        "time(args.from, \"00:00\")",
        "time(args.from + days(N), \"00:00\")",
    ),
    (
        "at",
        "time(args.from, \"06:30\")",
        "time(args.from + days(N), \"23:59\")",
    ),
    ("at", "args.at", "args.at + days(N)"),
];

/// A model in a zone, with a read for each form, each of its ends and each length.
fn model(zone: &str) -> (String, Vec<String>) {
    let mut text = format!(
        r##"singlet: 1
name: made
zone: {zone}
table: {{name: made, key: {{partition: PK, sort: SK}}, indexes: {{GX1: {{partition: G1P, sort: G1S}}}}, type: kind}}
entities:
  E:
    attributes: {{id: string 1..9, d: date, at: time}}
    key: {{PK: "D#{{d}}", SK: "{{id}}"}}
    index:
      GX1: {{G1P: "AT#{{day(at)}}", G1S: "{{id}}"}}
reads:
"##
    );
    let mut names = Vec::new();
    for (form, (compared, low, high)) in FORMS.iter().enumerate() {
        let arg = if low.contains("args.at") {
            "at: time"
        } else {
            "from: date"
        };
        for (ends, (above, below)) in [(">=", "<="), (">=", "<"), (">", "<="), (">", "<")].iter().enumerate() {
            for last in LAST {
                let name = format!("r{form}e{ends}n{last}");
                let high = high.replace('N', &last.to_string());
                text.push_str(&format!(
                    "  {name}:\n    args: {{{arg}}}\n    find: E\n    where: '{compared} {above} {low} && {compared} {below} {high}'\n    \
                     allow: 'true'\n"
                ));
                names.push(name);
            }
        }
    }
    (text, names)
}

/// Rows at the ends of each day, a millisecond before, and in the middle of it.
fn rows() -> Vec<(String, Attributes)> {
    let mut rows = Vec::new();
    for day in 14..22 {
        for (at, clock) in [
            "00:00:00.000",
            "06:30:00.000",
            "12:00:00.000",
            "23:59:00.000",
            "23:59:59.999",
        ]
        .iter()
        .enumerate()
        {
            let (id, d) = (format!("{day}-{at}"), format!("2026-11-{day}"));
            let instant = format!("{d}T{clock}Z");
            rows.push(("E".to_owned(), attributes(&[("id", &id), ("d", &d), ("at", &instant)])));
        }
    }
    rows
}

/// The argument of a read; the last form begins with an instant.
fn args(read: &str) -> Attributes {
    match read.starts_with("r4") {
        true => attributes(&[("at", "2026-11-16T12:00:00.000Z")]),
        false => attributes(&[("from", "2026-11-16")]),
    }
}

#[tokio::test]
async fn ranges_of_days_have_the_rows_that_they_mean() {
    for zone in ["UTC", "Europe/Rome", "America/New_York", "Pacific/Kiritimati"] {
        let (text, names) = model(zone);
        let store = Arc::new(EmbeddedStore::memory().unwrap());
        let bench = Bench::open(&text, store, rows(), NOW).await.unwrap();
        for read in names {
            let case = Case {
                read: read.clone(),
                args: args(&read),
                caller: Caller::anonymous(),
                page: 4,
                now: NOW,
            };
            let outcome = bench.check(&case).await.unwrap_or_else(|what| panic!("{zone}: {what}"));
            assert!(matches!(outcome, Outcome::Same(_)), "{zone}, {read}: {outcome:?}");
        }
    }
}

/// In UTC the most that a request can ask for is what this one asks for, where its instants are not within a day; elsewhere it is
/// never less.
#[tokio::test]
async fn as_many_days_are_asked_for_as_are_counted() {
    for zone in ["UTC", "Europe/Rome", "America/New_York"] {
        let (text, names) = model(zone);
        let model = Arc::new(singlet_model::load_source(&Source::new("made", text)).model.unwrap());
        let store = Arc::new(EmbeddedStore::memory().unwrap());
        let engine = Engine::open(model, store, Attributes::new(), [7; 32]);
        for read in names {
            let request = Request {
                args: args(&read),
                now: NOW,
                ..Request::default()
            };
            let previewed = engine.preview(&read, &request).unwrap();
            let queries = previewed.combination.parts.iter().flat_map(|part| &part.plan.queries);
            let most: Vec<Option<u64>> = queries.map(|query| query.reach.most).collect();
            let asked: Vec<u64> = previewed.requests.iter().map(|one| one.ranges.len() as u64).collect();
            match (zone, most.as_slice(), asked.as_slice()) {
                ("UTC", [Some(most)], [asked]) => assert_eq!(most, asked, "{read}"),
                (_, [Some(most)], [asked]) => assert!(most >= asked, "{zone}, {read}: {asked} of {most}"),
                other => panic!("{read}: {other:?}"),
            }
        }
    }
}

/// What is still ahead of a day: `now` has the type of what it is compared with, and is an instant all the same.
#[tokio::test]
async fn a_day_may_begin_now() {
    for zone in ["UTC", "Pacific/Auckland"] {
        let text = format!(
            r##"singlet: 1
name: made
zone: {zone}
table: {{name: made, key: {{partition: PK, sort: SK}}, indexes: {{GX1: {{partition: G1P}}}}, type: Kind}}
entities:
  E:
    attributes: {{id: int 0..9, at: time}}
    key: {{PK: "P#{{id}}", SK: "E"}}
    index: {{GX1: {{G1P: "I#{{day(at)}}"}}}}
reads:
  r: {{args: {{d: date}}, find: E, where: day(at) == args.d && at > now, allow: "true"}}
"##
        );
        let rows: [&[_]; 2] = [
            &[("id", "1"), ("at", "2026-11-16T12:30:00.000Z")],
            &[("id", "2"), ("at", "2026-11-16T02:00:00.000Z")],
        ];
        let day = if zone == "UTC" { "2026-11-16" } else { "2026-11-17" };
        let outcome = super::check_model(&text, &rows, attributes(&[("d", day)]), &Caller::anonymous()).await;
        assert_eq!(outcome, Outcome::Same(1), "{zone}");
    }
}
