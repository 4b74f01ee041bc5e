//! Made-up models and changes of them: where `singlet-evolve` calls a change free, the new model reads what the old one wrote, and the old
//! one what the new one wrote, as the oracle has it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it tried"
)]

mod support;

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_evolve::{Way, compare_models, whole_way};
use singlet_item::Value;
use singlet_model::{Model, Source};
use singlet_runtime::{Attributes, Caller, Setting};
use singlet_verify::bench::BenchGiven;
use singlet_verify::generate::{self, Generated};
use singlet_verify::run::{NOW, rng_of};
use singlet_verify::{Bench, Case, Outcome};
use support::{memory, setting};

/// Made-up models, the changes that are tried of each, and the cases of each read.
const MODELS: u64 = 10;
const CHANGES: usize = 14;
const CASES: usize = 2;
const ROWS: usize = 24;

type Rows = Vec<(String, Attributes)>;

/// A change of a model's text, and of rows that have what is new.
struct Changed {
    word: &'static str,
    text: String,
    /// The attribute that has another name now: old, new.
    renamed: Option<(String, String)>,
    /// A value that only the new model has.
    put: Option<(String, Value)>,
}

impl Changed {
    fn of(word: &'static str, text: String) -> Self {
        Changed {
            word,
            text,
            renamed: None,
            put: None,
        }
    }
}

/// Declarations of attributes in their short form: `name: 'type'`.
fn declared(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().take_while(|line| *line != "reads:");
    let found = lines.filter_map(|line| {
        let rest = line.strip_prefix("      ").filter(|rest| !rest.starts_with(' '))?;
        let (name, ty) = rest.split_once(": '")?;
        Some((name.to_owned(), ty.strip_suffix('\'')?.to_owned()))
    });
    found.collect()
}

/// A text in which a word that stands by itself is another.
fn word_replaced(text: &str, from: &str, to: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || char == '_' || char == '#';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, after) = rest.split_at(at);
        let behind = after.get(from.len()..).unwrap_or_default();
        let alone = !before.chars().last().is_some_and(is_word) && !behind.chars().next().is_some_and(is_word);
        out.push_str(before);
        out.push_str(if alone { to } else { from });
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// One change, drawn; none where the text has no place for it.
fn change(rng: &mut Rng, text: &str) -> Option<Changed> {
    let attributes = declared(text);
    let replaced = |word: &'static str, from: &str, to: &str| {
        text.contains(from)
            .then(|| Changed::of(word, text.replacen(from, to, 1)))
    };
    let of_type = |rng: &mut Rng, word: &'static str, from: &str, to: &str| {
        let fitting: Vec<&(String, String)> = attributes.iter().filter(|(_, ty)| ty == from).collect();
        let (name, ty) = rng.choice(fitting)?;
        let (old, new) = (format!("      {name}: '{ty}'\n"), format!("      {name}: '{to}'\n"));
        text.contains(&old)
            .then(|| (name.clone(), Changed::of(word, text.replacen(&old, &new, 1))))
    };
    match rng.u8(..22) {
        0 => replaced("a comment", "entities:\n", "# a comment\nentities:\n"),
        1 => replaced(
            "an optional attribute",
            "    attributes:\n",
            "    attributes:\n      zz: string?\n",
        ),
        2 => replaced(
            "a required attribute",
            "    attributes:\n",
            "    attributes:\n      zz: int = 0\n",
        ),
        3 => {
            let (name, mut changed) = of_type(rng, "a wider number", "int 0..3", "int 0..5")?;
            changed.put = Some((name, Value::N(5.into())));
            Some(changed)
        }
        4 => of_type(rng, "a narrower number", "int 0..3", "int 0..2").map(|(_, changed)| changed),
        5 => replaced("members in another order", "[low, mid, high]", "[mid, low, high]"),
        6 => replaced("a member after others", "[low, mid, high]", "[low, mid, high, top]"),
        7 => replaced("a member before others", "[low, mid, high]", "[top, low, mid, high]"),
        8 => replaced("a member that is gone", "[a, 'a b', ab, b]", "[a, ab, b]"),
        9 => replaced("the text of a key", "PK: \"", "PK: \"Z#"),
        10 => replaced("a zone", "zone: ", "zone: America/Lima # "),
        11 | 12 => {
            let (name, ty) = rng.choice(&attributes)?;
            let old = format!("      {name}: '{ty}'\n");
            let new = format!("      {name}: {{type: '{ty}', stored: {name}, was: {name}}}\n");
            let other = format!("{name}_now");
            // The declaration keeps the stored name; every other place has the new one.
            let moved = word_replaced(&text.replacen(&old, "@@\n", 1), name, &other);
            let mut changed = Changed::of(
                "another name, stored as before",
                moved.replacen("@@\n", &new.replacen(&format!("{name}:"), &format!("{other}:"), 1), 1),
            );
            changed.renamed = Some((name.clone(), other));
            Some(changed)
        }
        13 => {
            let (name, ty) = rng.choice(&attributes)?;
            let old = format!("      {name}: '{ty}'\n");
            let new = format!("      {name}: {{type: '{ty}', stored: other}}\n");
            replaced("another stored name", &old, &new)
        }
        14 | 15 => {
            let optional: Vec<&(String, String)> = attributes.iter().filter(|(_, ty)| ty.contains('?')).collect();
            let (name, ty) = rng.choice(optional)?;
            replaced(
                "an optional attribute that is gone",
                &format!("      {name}: '{ty}'\n"),
                "",
            )
        }
        16 => {
            let required: Vec<&(String, String)> = attributes.iter().filter(|(_, ty)| ty == "string").collect();
            let (name, _) = rng.choice(required)?;
            replaced(
                "required to optional",
                &format!("      {name}: 'string'\n"),
                &format!("      {name}: 'string?'\n"),
            )
        }
        17 => {
            let (first, second) = (attributes.first()?, attributes.get(1)?);
            let line = |(name, ty): &(String, String)| format!("      {name}: '{ty}'\n");
            let both = format!("{}{}", line(first), line(second));
            replaced(
                "attributes in another order",
                &both,
                &format!("{}{}", line(second), line(first)),
            )
        }
        18 => replaced("a guard that is gone", "    unique: {id: id}\n", ""),
        19 => replaced("a delimiter", "  ttl: ttl\n", "  ttl: ttl\n  delimiter: \"|\"\n"),
        20 => of_type(rng, "any number", "int 0..3", "number 0..3").map(|(_, changed)| changed),
        _ => replaced("a TTL attribute", "  ttl: ttl\n", "  ttl: ends_at\n"),
    }
}

fn load(text: &str) -> Option<Model> {
    let loaded = singlet_model::load_source(&Source::new("made", text));
    loaded.model.filter(|_| !loaded.diagnostics.has_errors())
}

/// Rows as another model sees them: what it has no name for is not there.
fn seen_by(model: &Model, rows: &Rows, renamed: Option<(&str, &str)>) -> Rows {
    let seen = rows.iter().map(|(name, row)| {
        let entity = model.entity_named(name);
        let attributes = row.iter().filter_map(|(attribute, value)| {
            let called = match renamed {
                Some((from, to)) if from == attribute => to,
                _ => attribute.as_str(),
            };
            let known = entity.is_some_and(|entity| entity.attribute(called).is_some());
            known.then(|| (called.to_owned(), value.clone()))
        });
        (name.clone(), attributes.collect())
    });
    seen.collect()
}

struct Reading<'a> {
    generated: &'a Generated,
    given: BenchGiven,
    cases: usize,
}

impl Reading<'_> {
    /// One model writes rows, and another reads them: every read that both have, as the oracle of the reader has it.
    async fn try_reads(&mut self, rng: &mut Rng, wrote: (&str, Rows), reads: (&str, Rows), what: &str) {
        let store = memory();
        let opened = Bench::open_with(wrote.0, store.clone(), wrote.1, NOW, self.given.clone()).await;
        opened.unwrap_or_else(|error| panic!("{what}: {error:?}\n{}", wrote.0));
        let bench = Bench::open_beside(reads.0, store, reads.1, NOW, self.given.clone());
        let bench = bench.unwrap_or_else(|error| panic!("{what}: {error:?}\n{}", reads.0));
        for read in &self.generated.reads {
            if !bench.model().reads.iter().any(|known| known.name == read.name) {
                continue;
            }
            for _ in 0..CASES {
                let row = read.some_row(rng, bench.rows());
                let case = Case {
                    read: read.name.clone(),
                    args: read.draw_arguments(rng, row),
                    caller: Caller::with_id("ada").claim("role", "clerk"),
                    page: rng.usize(1..10),
                    now: NOW,
                };
                match bench.check(&case).await {
                    Ok(Outcome::Same(_)) => self.cases += 1,
                    Ok(_) => {}
                    Err(mismatch) => panic!("{what} is called free:\n{mismatch}\nwritten by\n{}", wrote.0),
                }
            }
        }
    }
}

#[tokio::test]
async fn what_is_called_free_is_read_rightly_both_ways() {
    let seed = setting("SINGLET_SEED", 1);
    let mut free: BTreeMap<&str, usize> = BTreeMap::new();
    let mut careful: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut cases = 0;
    for at in 0..setting("SINGLET_MODELS", MODELS) {
        let mut rng = rng_of(seed, at);
        let generated = generate::generate_model(&mut rng);
        let wrong: Vec<String> = generated
            .reads
            .iter()
            .filter(|read| load(&generated.text_with(read)).is_none())
            .map(|read| read.name.clone())
            .collect();
        let generated = generated.without_reads(|read| wrong.contains(&read.name));
        let old_text = generated.text();
        let Some(old) = load(&old_text) else { continue };
        let rows = generated.rows(&mut rng, ROWS);
        for _ in 0..CHANGES {
            let Some(changed) = change(&mut rng, &old_text) else {
                continue;
            };
            let Some(new) = load(&changed.text) else { continue };
            let settings = |model: &Model| Setting::of(model, generated.settings.clone()).settings;
            let way = whole_way(&compare_models((&old, &settings(&old)), (&new, &settings(&new))));
            if way != Way::Free {
                *careful.entry((changed.word, way.word())).or_default() += 1;
                continue;
            }
            *free.entry(changed.word).or_default() += 1;
            let given = BenchGiven {
                settings: generated.settings.clone(),
                ..BenchGiven::default()
            };
            let mut reading = Reading {
                generated: &generated,
                given,
                cases: 0,
            };
            let renamed = changed.renamed.as_ref().map(|(old, new)| (old.as_str(), new.as_str()));
            let new_rows = seen_by(&new, &rows, renamed);
            let (wrote, reads) = (
                (old_text.as_str(), rows.clone()),
                (changed.text.as_str(), new_rows.clone()),
            );
            reading.try_reads(&mut rng, wrote, reads, changed.word).await;
            // What only the new model writes, the old one reads too. Attributes of other entities may have the name, and another type.
            let mut new_rows = new_rows;
            for (name, row) in new_rows.iter_mut().filter(|_| rng.bool()) {
                let has = |attribute: &str| {
                    new.entity_named(name)
                        .is_some_and(|entity| entity.attribute(attribute).is_some())
                };
                if has("zz") {
                    row.insert("zz".to_owned(), Value::S("new".to_owned()));
                }
                if let Some((attribute, value)) = changed
                    .put
                    .as_ref()
                    .filter(|(attribute, _)| matches!(row.get(attribute), Some(Value::N(_))))
                {
                    row.insert(attribute.clone(), value.clone());
                }
            }
            let old_rows = seen_by(&old, &new_rows, renamed.map(|(old, new)| (new, old)));
            let (wrote, reads) = ((changed.text.as_str(), new_rows), (old_text.as_str(), old_rows));
            reading.try_reads(&mut rng, wrote, reads, changed.word).await;
            cases += reading.cases;
        }
    }
    println!("free {free:?}\ncareful {careful:?}\n{cases} cases");
    if setting("SINGLET_MODELS", MODELS) >= MODELS {
        assert!(free.len() >= 6, "too few kinds of changes are free: {free:?}");
        assert!(free.values().sum::<usize>() > 30, "too few changes are free: {free:?}");
        assert!(
            careful.values().sum::<usize>() > 25,
            "too few changes are not: {careful:?}"
        );
        assert!(cases > 1_000, "too few reads are compared: {cases}");
    }
}
