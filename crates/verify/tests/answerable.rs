//! What `check` accepts runs: small models with keys and meanings drawn from lists, every combination of optional arguments, and
//! lists and ranges at their limits. A read of which `check` says nothing answers every such call, and answers it as brute force
//! does; one that it reports as without a plan has none.
//!
//! `ANSWERABLE_MODELS` and `ANSWERABLE_SEED` make a longer run.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeSet;
use std::sync::Arc;

use fastrand::Rng;
use singlet_item::{Number, Value};
use singlet_model::Source;
use singlet_model::model::{Argument, Read};
use singlet_model::types::Type;
use singlet_runtime::{Attributes, Caller};
use singlet_store::Store;
use singlet_store_embedded::EmbeddedStore;
use singlet_verify::{Bench, Case, Outcome};

/// 2026-11-16T12:00:00Z.
const NOW: i64 = 1_794_830_400_000;

/// Templates of partition keys; none where the attribute may be absent.
const PARTITIONS: [&str; 13] = [
    "P#{id}",
    "O#{o}",
    "O#{o}#{st}",
    "D#{d}",
    "D#{day(at)}",
    "D#{day(at)}#{st}",
    "M#{month(at)}",
    "M#{month(d)}",
    "Y#{year(d)}",
    "S#{st}",
    "N#{n}#{f}",
    "U#{upper(o)}",
    "I#{id}#{o}",
];

/// Partition keys of index entries beside them: some are sparse.
const SPARSE: [&str; 4] = ["X#{x}", "X#{upper(x)}", "R#{src.o}", "{d}"];

const SORTS: [&str; 8] = [
    "{id}",
    "{at}#{id}",
    "{d}#{id}",
    "{st}#{id}",
    "{n}#{d}#{id}",
    "{o}#{id}",
    "ROW#{id}#{o}",
    "{day(at)}#{id}",
];

/// Entries by condition, with `{S}` for a sort key.
const CONDITIONAL: [&str; 6] = [
    r#"[{when: st == "a", GP: "A#{o}", GS: "{S}"}, {when: st == "b", GP: "B#{o}", GS: "{S}"}]"#,
    r#"[{when: st == "a", GP: "A#{o}", GS: "{S}"}, {when: st == "b", GP: "B#{o}", GS: "{S}"}, {GP: "C#{o}", GS: "{S}"}]"#,
    r#"[{when: src != absent, GP: "R#{src.o}", GS: "{S}"}]"#,
    r#"[{when: x != absent && f, GP: "F#{upper(x)}", GS: "{S}"}]"#,
    r#"[{when: f, GP: "T#{o}", GS: "{S}"}, {GP: "F#{o}", GS: "{S}"}]"#,
    r#"[{when: n > 1, GP: "N#{o}", GS: "{S}"}]"#,
];

/// Conditions, with the arguments that they name.
const CONDITIONS: [(&str, &[&str]); 36] = [
    ("o == args.o", &["o: string 1..4"]),
    ("o in args.os", &["os: list(string 1..4) 1..{L}"]),
    ("o in args.os", &["os: set(string 1..4) 1..{L}"]),
    ("upper(o) == args.u", &["u: string 1..4"]),
    ("upper(o) in args.us", &["us: list(string 1..4) ..{L}"]),
    ("x != absent && upper(x) in args.us", &["us: list(string 1..4) ..{L}"]),
    ("x != absent && upper(x) == args.u", &["u: string 1..4"]),
    ("st == args.s", &["s: St"]),
    (r#"st in ["a", "b"]"#, &[]),
    (r#"st in ["c"]"#, &[]),
    ("st in args.sts", &["sts: list(St)"]),
    (r#"st != "a""#, &[]),
    (r#"st == "a""#, &[]),
    ("n == args.n", &["n: int 0..3"]),
    ("n >= args.n", &["n: int 0..3"]),
    ("n > 2", &[]),
    ("d == args.d", &["d: date"]),
    ("d >= args.d && d <= args.e", &["d: date", "e: date"]),
    (
        "d >= args.d && d < args.d + days(args.k)",
        &["d: date", "k: int 1..{L}"],
    ),
    (
        "d > args.d && d <= args.e && d <= args.d + days(30)",
        &["d: date", "e: date"],
    ),
    ("d in args.ds", &["ds: list(date) 1..{L}"]),
    ("day(at) == args.d", &["d: date"]),
    ("day(at) >= args.d && day(at) <= args.d + days(40)", &["d: date"]),
    ("day(at) in args.ds", &["ds: list(date) 1..{L}"]),
    ("at >= args.t && at < args.t + hours(50)", &["t: time"]),
    (
        "at > args.t && at <= args.t + months(args.k)",
        &["t: time", "k: int 0..7"],
    ),
    ("month(at) == args.m", &["m: month"]),
    ("month(d) in args.ms", &["ms: list(month) 1..5"]),
    ("year(d) == args.y", &["y: int 2020..2030"]),
    ("x == args.x", &["x: string 1..4"]),
    ("x != absent", &[]),
    ("src.o == args.o", &["o: string 1..4"]),
    ("f", &[]),
    ("(!f)", &[]),
    ("id == args.id", &["id: string 1..4"]),
    ("id in args.ids", &["ids: list(string 1..4) 1..{L}"]),
];

const BRANCHES: [(&str, &[&str]); 3] = [
    ("(o == args.o || x == args.x)", &["o: string 1..4", "x: string 1..4"]),
    (
        r#"(st == "a" && o == args.o || st == "b" && upper(o) == args.u)"#,
        &["o: string 1..4", "u: string 1..4"],
    ),
    ("(o == args.o || id == args.id)", &["o: string 1..4", "id: string 1..4"]),
];

const ORDERS: [&str; 7] = ["id", "at", "-at", "d, id", "st, id", "-n", "o"];

/// How long lists may be: about the bounds, on both sides.
const LENGTHS: [&str; 7] = ["1", "2", "14", "15", "66", "200", "201"];

const TEXTS: [&str; 6] = ["a", "A", "b", "aB", "a#", "~"];

const DAYS: [&str; 6] = [
    "2026-10-31",
    "2026-11-01",
    "2026-11-15",
    "2026-11-16",
    "2026-11-30",
    "2027-01-01",
];

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(..from.len())]
}

fn model_text(rng: &mut Rng) -> String {
    let zone = if rng.u8(..4) == 0 { "zone: Europe/Rome\n" } else { "" };
    let mut text = format!(
        r#"singlet: 1
name: probe
{zone}table: {{name: Probe, key: {{partition: PK, sort: SK}}, type: kind, indexes: {{GSI: {{partition: GP, sort: GS}}, HSI: {{partition: HP, sort: HS}}}}}}
types:
  St: {{enum: [a, b, c]}}
entities:
  P:
    attributes:
      id: string 1..4
      o: string 1..4
      st: St
      n: int 0..3
      d: date
      at: time
      f: bool
      x: string? 1..4
      src: {{object: {{o: string 1..4, k: string 1..4}}, optional: true}}
"#
    );
    let sort = |rng: &mut Rng| pick(rng, &SORTS);
    text.push_str(&format!(
        "    key: {{PK: \"{}\", SK: \"{}\"}}\n    index:\n",
        pick(rng, &PARTITIONS),
        sort(rng)
    ));
    let partition = match rng.u8(..3) {
        0 => pick(rng, &SPARSE),
        _ => pick(rng, &PARTITIONS),
    };
    match rng.bool() {
        true => text.push_str(&format!(
            "      GSI: {}\n",
            pick(rng, &CONDITIONAL).replace("{S}", sort(rng))
        )),
        false => text.push_str(&format!(
            "      GSI: {{GP: \"{}\", GS: \"{}\"}}\n",
            pick(rng, &PARTITIONS),
            sort(rng)
        )),
    }
    text.push_str(&format!("      HSI: {{HP: \"{partition}\", HS: \"{}\"}}\n", sort(rng)));
    text.push_str("reads:\n");
    for at in 0..6 {
        text.push_str(&read_text(rng, at));
    }
    text
}

fn read_text(rng: &mut Rng, at: usize) -> String {
    let mut conditions: Vec<String> = Vec::new();
    let mut args: Vec<String> = Vec::new();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for _ in 0..rng.usize(..4) {
        let (condition, declared) = match rng.u8(..8) {
            0 => pick(rng, &BRANCHES),
            _ => pick(rng, &CONDITIONS),
        };
        // Each condition has arguments of its own.
        let mut condition = condition.to_owned();
        let optional = declared.len() == 1 && rng.u8(..3) == 0;
        for arg in declared {
            let (name, ty) = arg.split_once(": ").unwrap();
            let own = format!("{name}{}", names.len());
            condition = condition.replace(&format!("args.{name}"), &format!("args.{own}"));
            names.insert(own.clone());
            let ty = ty.replace("{L}", pick(rng, &LENGTHS));
            let ty = match (optional, ty.split_once(' ')) {
                (false, _) => ty,
                (true, Some((head, limit))) if !head.contains('(') => format!("{head}? {limit}"),
                (true, _) => match ty.split_once(") ") {
                    Some((head, limit)) => format!("{head})? {limit}"),
                    None => format!("{ty}?"),
                },
            };
            args.push(format!("{own}: \"{ty}\""));
        }
        conditions.push(condition);
    }
    let kind = if rng.u8(..6) == 0 { "count" } else { "find" };
    let mut text = format!("  r{at}:\n    {kind}: P\n    args: {{{}}}\n", args.join(", "));
    if args.is_empty() {
        text = format!("  r{at}:\n    {kind}: P\n");
    }
    if !conditions.is_empty() {
        text.push_str(&format!("    where: >-\n      {}\n", conditions.join(" && ")));
    }
    if kind == "find" && rng.u8(..3) == 0 {
        text.push_str(&format!("    order: {}\n", pick(rng, &ORDERS)));
    }
    text.push_str("    allow: true\n");
    text
}

fn row(rng: &mut Rng, number: usize) -> (String, Attributes) {
    let text = |text: &str| Value::S(text.to_owned());
    let mut row = Attributes::from([
        (
            "id".to_owned(),
            text(&format!("{}{number}", pick(rng, &["a", "A", "z"]))),
        ),
        ("o".to_owned(), text(pick(rng, &TEXTS))),
        ("st".to_owned(), text(pick(rng, &["a", "b", "c"]))),
        ("n".to_owned(), Value::N(Number::from(rng.i64(0..4)))),
        ("d".to_owned(), text(pick(rng, &DAYS))),
        (
            "at".to_owned(),
            text(&format!(
                "{}T{}.000Z",
                pick(rng, &DAYS),
                pick(rng, &["00:00:00", "12:30:00", "23:30:00"])
            )),
        ),
        ("f".to_owned(), Value::Bool(rng.bool())),
    ]);
    if rng.bool() {
        row.insert("x".to_owned(), text(pick(rng, &TEXTS)));
    }
    if rng.bool() {
        let fields = [("o".to_owned(), text(pick(rng, &TEXTS))), ("k".to_owned(), text("k"))];
        row.insert("src".to_owned(), Value::M(fields.into_iter().collect()));
    }
    ("P".to_owned(), row)
}

/// One of many texts of at most four characters.
fn spelled(number: usize) -> String {
    match number.checked_sub(1_000) {
        Some(other) => format!("w{other}"),
        None => format!("q{number}"),
    }
}

/// A value of a type, from those that rows have; the `number`th other one beyond them.
fn scalar(rng: &mut Rng, ty: &Type, number: Option<usize>) -> Value {
    let day = |number: usize| {
        format!(
            "20{:02}-{:02}-{:02}",
            10 + number / 336,
            1 + number / 28 % 12,
            1 + number % 28
        )
    };
    match ty {
        Type::Text(_) => Value::S(number.map_or_else(|| pick(rng, &TEXTS).to_owned(), spelled)),
        Type::Enum(words) => Value::S(words.members[rng.usize(..words.members.len())].clone()),
        Type::Int(limits) => {
            let (least, most) = (
                limits.min.unwrap().to_i64().unwrap(),
                limits.max.unwrap().to_i64().unwrap(),
            );
            let ends = [least, most, rng.i64(least..=most)];
            Value::N(Number::from(pick(rng, &ends)))
        }
        Type::Date => Value::S(number.map_or_else(|| pick(rng, &DAYS).to_owned(), day)),
        Type::Month => Value::S(number.map_or_else(
            || pick(rng, &DAYS)[..7].to_owned(),
            |number| day(28 * number)[..7].to_owned(),
        )),
        Type::Time => Value::S(format!(
            "{}T{}:30:00.000Z",
            pick(rng, &DAYS),
            pick(rng, &["00", "12", "23"])
        )),
        other => panic!("{other} is not drawn"),
    }
}

/// An argument: a list as long as it may be, or with one element.
fn argument(rng: &mut Rng, arg: &Argument, longest: bool) -> Value {
    let (element, limits, is_set) = match &arg.ty {
        Type::List(element, limits) => (element, limits, false),
        Type::Set(element, limits) => (element, limits, true),
        ty => return scalar(rng, ty, None),
    };
    let wanted = match longest {
        true => usize::try_from(limits.max.unwrap_or(400)).unwrap(),
        false => 1,
    };
    let mut elements: Vec<Value> = Vec::new();
    for number in 0..wanted {
        let known = scalar(rng, element, (number > 3).then_some(number));
        match elements.contains(&known) {
            true if matches!(**element, Type::Enum(_)) && !is_set => elements.push(known),
            true => elements.push(scalar(rng, element, Some(1_000 + number))),
            false => elements.push(known),
        }
    }
    match is_set {
        true => Value::Ss(
            elements
                .iter()
                .filter_map(|element| element.as_str().map(str::to_owned))
                .collect(),
        ),
        false => Value::L(elements),
    }
}

fn subsets(read: &Read) -> Vec<Vec<&Argument>> {
    let (optional, always): (Vec<&Argument>, Vec<&Argument>) = read.args.iter().partition(|arg| arg.optional);
    let mut all = vec![always];
    for arg in optional {
        let with: Vec<Vec<&Argument>> = all
            .iter()
            .map(|known| known.iter().copied().chain([arg]).collect())
            .collect();
        all.extend(with);
    }
    all
}

fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

const NO_PLAN: [&str; 3] = ["R011", "R015", "I006"];
const TOO_LARGE: [&str; 2] = ["R018", "R017"];

#[tokio::test(flavor = "multi_thread")]
async fn what_check_accepts_runs() {
    let seed = setting("ANSWERABLE_SEED", 11);
    let models = setting("ANSWERABLE_MODELS", 250);
    let (mut clean, mut refused, mut found, mut unread) = (0_u64, 0_u64, 0_u64, 0_u64);
    for number in 0..models {
        let mut rng = Rng::with_seed(seed.wrapping_mul(1_000_003).wrapping_add(number));
        let text = model_text(&mut rng);
        let loaded = singlet_model::load_source(&Source::new("probe", text.clone()));
        if loaded.diagnostics.has_errors() {
            unread += 1;
            let first = loaded.diagnostics.iter().next().map(|finding| finding.message.clone());
            assert!(
                unread * 5 < models.max(50),
                "too many models are wrong: {first:?}\n{text}"
            );
            continue;
        }
        let reads: Vec<Read> = loaded.model.as_ref().unwrap().reads.clone();
        let findings = singlet_lint::check_design(loaded);
        let reported = |read: &str, codes: &[&str]| {
            findings
                .iter()
                .any(|finding| finding.subject == read && codes.contains(&finding.rule.code))
        };
        let rows: Vec<_> = (0..14).map(|number| row(&mut rng, number)).collect();
        let store: Arc<dyn Store> = Arc::new(EmbeddedStore::memory().unwrap());
        let bench = Bench::open(&text, store, rows, NOW)
            .await
            .unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        for read in &reads {
            let (no_plan, too_large) = (reported(&read.name, &NO_PLAN), reported(&read.name, &TOO_LARGE));
            let mut unplanned = 0;
            for sent in subsets(read) {
                for longest in [false, true] {
                    let args: Attributes = sent
                        .iter()
                        .map(|arg| (arg.name.clone(), argument(&mut rng, arg, longest)))
                        .collect();
                    let case = Case {
                        read: read.name.clone(),
                        args: args.clone(),
                        caller: Caller::anonymous(),
                        page: 1 + rng.usize(..5),
                        now: NOW,
                    };
                    let what = format!("model {number} of seed {seed}, {} with {args:?}\n{text}", read.name);
                    match bench.check(&case).await {
                        Err(mismatch) => panic!("{what}\n{mismatch}"),
                        Ok(Outcome::Same(rows)) => {
                            clean += 1;
                            found += rows as u64;
                        }
                        Ok(Outcome::Ambiguous) => panic!("the order is left open: {what}"),
                        Ok(Outcome::Unplanned(why)) => {
                            assert!(no_plan, "check accepts it, and there is no plan ({why}): {what}");
                            unplanned += 1;
                        }
                        Ok(Outcome::Refused) => {
                            assert!(too_large, "check accepts it, and it is refused: {what}");
                            refused += 1;
                        }
                    }
                }
            }
            assert!(
                !no_plan || unplanned > 0,
                "check says that no key answers {}, and every call is answered\n{text}",
                read.name
            );
        }
    }
    println!("{clean} calls agree with {found} rows, {refused} are refused as check says, {unread} models are none");
    assert!(clean > models && found > models, "{clean} calls, {found} rows");
}
