//! Pairs of models, with the class and the way of each change: `pairs/pairs.txt` says them. `SINGLET_UPDATE=1` writes what is found; read
//! what changed before you believe it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use singlet_evolve::{DataClass, RowChange, Settings, Way, compare_models, compare_with_table, whole_way};
use singlet_face::{Company, Face, face_differences};
use singlet_item::Value;
use singlet_model::expression::Literal;
use singlet_model::{Model, Source};

/// The least number of pairs.
const PAIRS_MIN: usize = 60;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/pairs")
}

fn base() -> String {
    fs::read_to_string(folder().join("base.yaml")).unwrap()
}

fn mistakes(text: &str) -> Vec<String> {
    let loaded = singlet_model::load_source(&Source::new("probe.yaml", text));
    loaded.diagnostics.iter().map(|found| found.message.clone()).collect()
}

fn model(text: &str) -> Model {
    assert_eq!(mistakes(text), Vec::<String>::new());
    singlet_model::load_source(&Source::new("probe.yaml", text))
        .model
        .unwrap()
}

/// The settings as the model itself has them: whole numbers are enough here.
fn settings(model: &Model) -> Settings {
    let known = model.settings.iter().filter_map(|setting| {
        let Some(Literal::Number(number)) = setting.default.as_ref()?.as_literal() else {
            return None;
        };
        Some((setting.name.clone(), Value::N(*number)))
    });
    known.collect()
}

fn changes(old: &str, new: &str) -> Vec<RowChange> {
    let (old, new) = (model(old), model(new));
    compare_models((&old, &settings(&old)), (&new, &settings(&new)))
}

/// A pair as it is written.
#[derive(Default)]
struct Pair {
    name: String,
    /// Lines as they are, without what is found.
    lines: Vec<String>,
    expected: Vec<String>,
}

fn pairs(text: &str) -> (String, Vec<Pair>) {
    let mut head = String::new();
    let mut pairs: Vec<Pair> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            pairs.push(Pair {
                name: name.to_owned(),
                ..Pair::default()
            });
        }
        match (pairs.last_mut(), line.strip_prefix("= ")) {
            (Some(pair), Some(expected)) => pair.expected.push(expected.to_owned()),
            (Some(pair), None) if !line.is_empty() => pair.lines.push(line.to_owned()),
            (None, _) if !line.is_empty() => writeln!(head, "{line}").unwrap(),
            _ => {}
        }
    }
    (head, pairs)
}

/// A text in which each `-` is the `+` that follows.
fn patched(text: &str, lines: &[&str]) -> String {
    let mut text = text.to_owned();
    let mut at = 0;
    while at < lines.len() {
        let take = |at: &mut usize, mark: char| {
            let mut taken = Vec::new();
            while let Some(line) = lines.get(*at).and_then(|line| line.strip_prefix(mark)) {
                taken.push(line.strip_prefix(' ').unwrap_or(line));
                *at += 1;
            }
            taken.join("\n")
        };
        let from = take(&mut at, '-');
        let to = take(&mut at, '+');
        assert!(!from.is_empty() && text.contains(&from), "{from:?} is not in\n{text}");
        text = text.replacen(&from, &to, 1);
    }
    text
}

fn models_of(pair: &Pair) -> (String, String) {
    let lines = || pair.lines.iter().skip(1).map(String::as_str);
    let of_base: Vec<&str> = lines().filter_map(|line| line.strip_prefix("base: ")).collect();
    let own: Vec<&str> = lines().filter(|line| !line.starts_with("base: ")).collect();
    let old = patched(&base(), &of_base);
    // What the old model has already need not be changed.
    let own = match of_base.is_empty() {
        true => own,
        false => own
            .chunk_by(|one, other| !(one.starts_with('+') && other.starts_with('-')))
            .filter(|hunk| {
                let texts: Vec<&str> = hunk.iter().filter_map(|line| line.strip_prefix("- ")).collect();
                old.contains(&texts.join("\n"))
            })
            .flatten()
            .copied()
            .collect(),
    };
    let new = patched(&old, &own);
    (old, new)
}

fn shown(change: &RowChange) -> String {
    let entity = change
        .entity
        .as_ref()
        .map(|entity| format!("`{entity}`, "))
        .unwrap_or_default();
    let mut text = format!("{}, {}: {entity}{}", change.way.word(), change.data.word(), change.part);
    for (word, said) in [
        ("promise", change.promise.is_some()),
        ("needs", change.lacks.is_some()),
        ("was?", change.help.as_ref().is_some_and(|help| help.contains("was:"))),
    ] {
        if said {
            text.push_str(&format!(" [{word}]"));
        }
    }
    text
}

#[test]
fn every_pair_has_the_classes_and_ways_that_are_said() {
    let path = folder().join("pairs.txt");
    let (head, mut pairs) = pairs(&fs::read_to_string(&path).unwrap());
    let mut wrong = Vec::new();
    for pair in &mut pairs {
        let (old, new) = models_of(pair);
        let broken = [mistakes(&old), mistakes(&new)].concat();
        if !broken.is_empty() {
            wrong.push(format!("{}: {broken:?}", pair.name));
            continue;
        }
        let found: Vec<String> = changes(&old, &new).iter().map(shown).collect();
        if found != pair.expected {
            wrong.push(format!(
                "{}\n  said  {:#?}\n  found {found:#?}",
                pair.name, pair.expected
            ));
        }
        pair.expected = found;
    }
    let broken: Vec<&String> = wrong.iter().filter(|text| !text.contains("\n")).collect();
    assert!(broken.is_empty(), "{broken:#?}");
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        let mut text = head;
        for pair in &pairs {
            writeln!(text).unwrap();
            pair.lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
            pair.expected
                .iter()
                .for_each(|line| writeln!(text, "= {line}").unwrap());
        }
        fs::write(&path, text).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
    assert!(pairs.len() >= PAIRS_MIN, "{} pairs", pairs.len());
}

/// What is free is free both ways; and nothing that opening refuses in company is called free.
#[test]
fn what_is_free_is_served_beside_the_old_model() {
    let (_, pairs) = pairs(&fs::read_to_string(folder().join("pairs.txt")).unwrap());
    for pair in &pairs {
        let (old, new) = models_of(pair);
        let found = changes(&old, &new);
        let (old, new) = (model(&old), model(&new));
        let faces = (Face::of(&old, &settings(&old)), Face::of(&new, &settings(&new)));
        let refused = face_differences(&faces.0, &faces.1, Company::Shared);
        let is_free = whole_way(&found) == Way::Free;
        assert!(!is_free || refused.is_empty(), "{}: {refused:?}", pair.name);
        // Backwards, a way may be less careful; but what is free is what neither reads wrongly.
        let back = face_differences(&faces.1, &faces.0, Company::Alone);
        assert!(
            !is_free || back.iter().all(|back| back.so.contains("outside")),
            "{}: {back:?}",
            pair.name
        );
    }
}

/// A model and itself, and a table that knows it.
#[test]
fn a_model_differs_in_nothing_from_itself() {
    let text = base();
    assert_eq!(changes(&text, &text), []);
    let model = model(&text);
    let face = Face::of(&model, &settings(&model));
    assert_eq!(compare_with_table(&face, &model, &settings(&model)), []);
}

/// What a table knows is enough to say of every pair at least as careful a way.
#[test]
fn what_a_table_knows_is_said_no_less_carefully() {
    let (_, pairs) = pairs(&fs::read_to_string(folder().join("pairs.txt")).unwrap());
    // Of these the table's rows say nothing: the table itself is compared, and what is promised beside is in the model.
    let of_the_table_alone = [
        "the table's name",
        "the system's name",
        "a local index",
        "what an index carries",
        "rows that exclude others",
    ];
    for pair in pairs
        .iter()
        .filter(|pair| !of_the_table_alone.contains(&pair.name.as_str()))
    {
        let (old, new) = models_of(pair);
        let by_file = whole_way(&changes(&old, &new));
        let (old, new) = (model(&old), model(&new));
        let face = Face::of(&old, &settings(&old));
        let by_table = whole_way(&compare_with_table(&face, &new, &settings(&new)));
        assert!(
            by_table >= by_file,
            "{}: {by_table:?}, and {by_file:?} by the files",
            pair.name
        );
    }
}

/// A, then B, back to A, then C: rows of B are still there, and C is held against them too.
#[test]
fn a_table_that_two_models_wrote_is_held_against_both() {
    let with = |members: &str| {
        let text = base().replacen("[north, south]", members, 1);
        let model = model(&text);
        let settings = settings(&model);
        (Face::of(&model, &settings), model, settings)
    };
    let (a, ..) = with("[north, south]");
    let (b, ..) = with("[north, south, west]");
    let (_, c, settings) = with("[north, south, east]");
    let of = |face: &Face| compare_with_table(face, &c, &settings);
    assert!(of(&a).iter().all(|change| change.promise.is_none()), "{:?}", of(&a));
    let promised: Vec<String> = of(&b).into_iter().filter_map(|change| change.promise).collect();
    assert!(
        promised.iter().all(|promise| promise.contains("`west`")) && !promised.is_empty(),
        "{promised:?}"
    );
}

/// Places are those of the names in both files.
#[test]
fn a_change_has_its_place_in_both_files() {
    let (old, new) = (
        base(),
        format!("# one line more\n{}", base()).replacen("TICKET#{no}", "T#{no}", 1),
    );
    let found = changes(&old, &new);
    let line = |text: &str, span: singlet_model::Span| Source::new("x", text).position_at(span.start).line;
    let key = found.iter().find(|change| change.part == "the key").unwrap();
    assert_eq!(line(&old, key.before.unwrap()) + 1, line(&new, key.after.unwrap()));
    assert!(
        old.lines()
            .nth(line(&old, key.before.unwrap()) - 1)
            .unwrap()
            .contains("TICKET#{no}")
    );
    assert_eq!((key.data, key.way), (DataClass::Rekey, Way::Bridge));
}
