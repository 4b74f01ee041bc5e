//! What an editor is told of the five models, whole and half typed.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it saw"
)]

use std::path::Path;
use std::time::{Duration, Instant};

use singlet_editor::{Completion, Document, NameKind, RenameRefusal};
use singlet_model::Span;

const SYSTEMS: [&str; 5] = ["booking", "country", "ecobid", "todo", "wardrobe"];

fn text_of(system: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../systems/{system}/model.yaml"));
    std::fs::read_to_string(path).unwrap()
}

/// The place of a `|` behind a text, which stands once.
fn after(text: &str, marked: &str) -> usize {
    let (before, behind) = marked.split_once('|').unwrap();
    let whole = format!("{before}{behind}");
    let at = text.find(&whole).unwrap_or_else(|| panic!("`{whole}` is not there"));
    assert!(text[at + 1..].find(&whole).is_none(), "`{whole}` is there twice");
    at + before.len()
}

fn slices(text: &str, spans: &[Span]) -> Vec<String> {
    spans.iter().map(|span| text[span.text_range()].to_owned()).collect()
}

fn labels(list: &[Completion]) -> Vec<&str> {
    list.iter().map(|offered| offered.label.as_str()).collect()
}

#[test]
fn every_name_stands_where_it_is_said_to_stand_and_has_one_definition() {
    for system in SYSTEMS {
        let text = text_of(system);
        let document = Document::new("model.yaml", &text, None);
        let found = document.occurrences();
        assert!(found.len() > 50, "{system}: {}", found.len());
        for one in &found {
            assert_eq!(text[one.span.text_range()], one.name, "{system}: {one:?}");
            let definitions = found
                .iter()
                .filter(|other| other.is_same_name(one) && other.is_definition);
            // An API key has an id and a role that nobody declares; a name may be bound in two steps.
            let fits = match (&one.kind, definitions.count()) {
                (NameKind::Claim, count) => count <= 1,
                (NameKind::Local(_), count) => count >= 1,
                (_, count) => count == 1,
            };
            assert!(fits, "{system}: {one:?}");
        }
        let model = document.model().unwrap();
        for entity in &model.entities {
            let is_this = |kind: &NameKind, name: &str| *kind == NameKind::Entity && name == entity.name;
            assert!(
                found
                    .iter()
                    .any(|one| one.is_definition && is_this(&one.kind, &one.name)),
                "{}",
                entity.name
            );
        }
    }
}

#[test]
fn every_entity_attribute_and_argument_is_renamed_everywhere_or_refused() {
    let mut renamed = 0;
    let mut refused = Vec::new();
    for system in SYSTEMS {
        let text = text_of(system);
        let document = Document::new("model.yaml", &text, None);
        let found = document.occurrences();
        let definitions = found.iter().filter(|one| {
            let can_be = matches!(
                one.kind,
                NameKind::Entity | NameKind::Attribute(_) | NameKind::Argument(_)
            );
            one.is_definition && can_be
        });
        // All of them take minutes; every 29th is another kind of place each time.
        let step = if std::env::var_os("SINGLET_RENAMES").is_some() {
            1
        } else {
            7
        };
        for one in definitions.step_by(step) {
            let offset = one.span.start as usize;
            match document.rename_spans(offset, "renamedHere") {
                Ok(spans) => {
                    renamed += 1;
                    let mut other = text.clone();
                    for span in spans.iter().rev() {
                        other.replace_range(span.text_range(), "renamedHere");
                    }
                    // Renamed back it is the text that it was.
                    let there = Document::new("model.yaml", &other, None);
                    let back = there.rename_spans(spans[0].start as usize, &one.name).unwrap();
                    assert_eq!(back.len(), spans.len(), "{system}: {one:?}");
                    let mut again = other;
                    for span in back.iter().rev() {
                        again.replace_range(span.text_range(), &one.name);
                    }
                    assert!(again == text, "{system}: {one:?}");
                }
                Err(RenameRefusal::NotTheSame(reason)) => refused.push(format!("{system} {}: {reason}", one.name)),
                Err(other) => panic!("{system}: {one:?}: {other}"),
            }
        }
    }
    println!("{renamed} renamed, {} refused: {refused:#?}", refused.len());
    assert!(
        renamed > 5 * refused.len(),
        "{renamed} renamed, {} refused: {refused:#?}",
        refused.len()
    );
}

#[test]
fn a_rename_goes_through_keys_types_steps_and_arguments_alone() {
    let text = text_of("todo");
    let document = Document::new("model.yaml", &text, None);
    let spans = document
        .rename_spans(after(&text, "      du|e_date: date?"), "due")
        .unwrap();
    assert!(slices(&text, &spans).iter().all(|name| name == "due_date"));
    assert!(spans.len() > 10, "{}", spans.len());
    assert!(
        spans
            .iter()
            .any(|span| text[..span.start as usize].ends_with("\"DUEDATE#{"))
    );
    // The name of a parameter is not the attribute's.
    let parameter = after(&text, "GET /api/v1/tasks?|due_date={day}");
    assert!(!spans.iter().any(|span| span.start as usize == parameter));
    let refused = document
        .rename_spans(after(&text, "      du|e_date: date?"), "title")
        .unwrap_err();
    assert_eq!(refused, RenameRefusal::Taken("title".to_owned()));
    assert!(matches!(document.rename_spans(0, "x"), Err(RenameRefusal::NoName)));
    assert!(matches!(
        document.rename_spans(after(&text, "      du|e_date: date?"), "1x"),
        Err(RenameRefusal::NotAName(_))
    ));
    let broken = Document::new(
        "model.yaml",
        &text.replace("of: status", "of: nothing"),
        Some(&document),
    );
    let at = after(broken.text(), "      du|e_date: date?");
    assert!(matches!(broken.rename_spans(at, "due"), Err(RenameRefusal::HasErrors)));
}

#[test]
fn definitions_and_references_are_found() {
    let text = text_of("todo");
    let document = Document::new("model.yaml", &text, None);
    let status = document
        .definition_at(after(&text, "where: user_id == caller.id && st|atus == args.status"))
        .unwrap();
    assert!(
        text[..status.start as usize].ends_with("description: string? ..1000\n      "),
        "{status:?}"
    );
    let argument = document.definition_at(after(&text, "status == args.st|atus")).unwrap();
    assert!(text[..argument.start as usize].ends_with("args: {"), "{argument:?}");
    let entity = document
        .definition_at(after(&text, "user_id: Us|er.user_id\n      task_id: ulid"))
        .unwrap();
    assert!(text[..entity.start as usize].ends_with("entities:\n  "));
    let all = document.references_at(entity.start as usize, true);
    assert!(all.len() > 5 && all[0] == entity, "{all:?}");
    assert_eq!(
        document.references_at(entity.start as usize, false).len(),
        all.len() - 1
    );
    // A variable of a path is defined by the path.
    let variable = document
        .definition_at(after(&text, "user_id == caller.id && task_id == args.ta|sk_id"))
        .unwrap();
    assert_eq!(&text[variable.text_range()], "task_id");
}

#[test]
fn what_may_stand_at_a_place_is_offered() {
    let text = text_of("todo");
    let whole = Document::new("model.yaml", &text, None);
    // What is typed there in place of something else, with the model of before at hand; `¦` is the place.
    let at = |change: (&str, &str)| {
        let (place, with) = change;
        assert_eq!(text.matches(place).count(), 1, "{place}");
        let offset = text.find(place).unwrap() + with.find('¦').unwrap();
        let typed = text.replacen(place, &with.replacen('¦', "", 1), 1);
        let document = Document::new("model.yaml", &typed, Some(&whole));
        let offered = document.completions(offset);
        labels(&offered).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let has = |offered: Vec<String>, wanted: &[&str], unwanted: &[&str]| {
        for name in wanted {
            assert!(
                offered.iter().any(|label| label == name),
                "{name} is not in {offered:?}"
            );
        }
        for name in unwanted {
            assert!(!offered.iter().any(|label| label == name), "{name} is in {offered:?}");
        }
    };
    has(
        at(("  stream: both_images", "  stream: ¦")),
        &["both_images", "keys_only"],
        &["name"],
    );
    has(
        at(("  recovery: point_in_time", "  re¦")),
        &["recovery"],
        &["billing", "singlet"],
    );
    has(at(("    get: User\n", "    get: ¦\n")), &["User", "Task"], &["status"]);
    has(
        at(("order: status, task_id", "order: st¦")),
        &["status", "due_date"],
        &["email"],
    );
    has(
        at(("priority == args.priority", "priority == args.¦")),
        &["priority"],
        &["category"],
    );
    has(
        at((
            "where: user_id == caller.id && due_date < today && status != \"completed\" && status != \"cancelled\"",
            "where: user_id == caller.¦",
        )),
        &["id", "role", "authenticated"],
        &["task_id"],
    );
    has(
        at(("status != \"completed\" && status", "status != \"¦")),
        &["pending", "completed"],
        &["status"],
    );
    has(
        at(("DUEDATE#{due_date}#{task_id}", "DUEDATE#{¦")),
        &["due_date", "rank"],
        &["args", "today"],
    );
    has(
        at(("      priority: Priority?\n", "      priority: ¦\n")),
        &["Priority", "string", "ulid", "User"],
        &["args"],
    );
    has(
        at((
            "        take: [email, name]\n        else: {exists",
            "        take: [em¦\n        else: {exists",
        )),
        &["email", "name"],
        &["title"],
    );
    has(
        at(("expires: created_at + days(30)", "expires: created_at + ¦")),
        &["days", "created_at", "now"],
        &["email"],
    );
    has(
        at(("    where: user_id == caller.id && due_date == args.day", "    ¦")),
        &["where", "with"],
        &["find", "order"],
    );
}

#[test]
fn hover_tells_types_keys_plans_words_and_rules() {
    let text = text_of("todo");
    let document = Document::new("model.yaml", &text, None).with_checks();
    let hover = |marked: &str| document.hover(after(&text, marked)).unwrap();
    let says = |marked: &str, wanted: &[&str]| {
        let shown = hover(marked);
        assert!(wanted.iter().all(|words| shown.contains(words)), "{marked}: {shown}");
    };
    says("      du|e_date: date?", &["`due_date: date?`", "GSI2.GSI2SK"]);
    says(
        "\"DUED|ATE#{due_date}#{task_id}\"",
        &["`GSI2SK`", "DUEDATE#2026-02-13#01J…"],
    );
    says("  over|dueTasks:\n    find", &["query GSI2", "0.5 ×"]);
    says("  create|Task:\n    http", &["units"]);
    says("  rec|overy: point_in_time", &["Whether the table can be restored"]);
    says(
        "  Reminder:\n    attributes:\n      user_id: Us|er.user_id",
        &["**User**", "USER#"],
    );
    says("expires: created_at + da|ys(30)", &["days("]);
    says(
        "    GSI|4: {partition: GSI4PK",
        &["an index by `GSI4PK`, `GSI4SK`", "Task"],
    );
    // A finding is told where it stands, with the page of its rule.
    let broken = text.replace(
        "      title: string 1..200\n      description",
        "      title: strin 1..200\n      description",
    );
    let broken = Document::new("model.yaml", &broken, Some(&document)).with_checks();
    let at = after(broken.text(), "title: st|rin 1..200");
    let shown = broken.hover(at).unwrap();
    assert!(shown.contains("did you mean `string`?"), "{shown}");
    let span = Span::new(at, at);
    let fixes: Vec<String> = broken
        .fixes_within(span)
        .map(|(_, fix)| fix.replacement.clone())
        .collect();
    assert_eq!(fixes, ["string"]);
}

#[test]
fn symbols_are_those_of_the_model() {
    let symbols = Document::new("model.yaml", &text_of("todo"), None).symbols();
    let names: Vec<&str> = symbols.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names[..4], ["singlet", "name", "table", "types"]);
    let entities = symbols.iter().find(|symbol| symbol.name == "entities").unwrap();
    let names: Vec<&str> = entities.children.iter().map(|symbol| symbol.name.as_str()).collect();
    assert_eq!(names, ["User", "Task", "Reminder", "Idempotency"]);
}

/// A small sequence of numbers that is the same each time.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[test]
fn nothing_that_is_half_typed_or_torn_breaks_anything() {
    let mut drawn = Drawn(7);
    let cases = std::env::var("SINGLET_TORN")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(60);
    for system in SYSTEMS {
        let text = text_of(system);
        let whole = Document::new("model.yaml", &text, None);
        for _ in 0..cases {
            let chars: Vec<(usize, char)> = text.char_indices().collect();
            let (start, _) = chars[drawn.below(chars.len())];
            let torn = match drawn.below(4) {
                0 => text[..start].to_owned(),
                1 => {
                    let end = chars[drawn.below(chars.len())].0.max(start);
                    let end = end.min(start + 200);
                    let end = (end..text.len())
                        .find(|end| text.is_char_boundary(*end))
                        .unwrap_or(text.len());
                    format!("{}{}", &text[..start], &text[end..])
                }
                2 => {
                    let sign = [
                        "{", "[", "\"", "'", ":", "- ", "\n", "\t", "&", "*", "|", "> ", "é", "#",
                    ][drawn.below(14)];
                    format!("{}{sign}{}", &text[..start], &text[start..])
                }
                _ => text
                    .lines()
                    .filter(|_| drawn.below(10) > 0)
                    .collect::<Vec<_>>()
                    .join("\n"),
            };
            let document = Document::new("model.yaml", &torn, Some(&whole));
            let places = [start.min(torn.len()), drawn.below(torn.len()), torn.len()];
            for place in places {
                let place = (place..=torn.len()).find(|at| torn.is_char_boundary(*at)).unwrap_or(0);
                for offered in document.completions(place) {
                    assert!(torn.get(offered.replaced.text_range()).is_some(), "{offered:?}");
                }
                let _ = document.hover(place);
                let _ = document.definition_at(place);
                let _ = document.references_at(place, true);
                let _ = document.renamed_at(place);
            }
            for one in document.occurrences() {
                assert!(torn.get(one.span.text_range()).is_some(), "{one:?}");
            }
            let _ = document.symbols();
        }
    }
}

/// `cargo test -p singlet-editor --profile long --test five_models -- --ignored --nocapture keystroke`
#[test]
#[ignore = "measures"]
fn a_keystroke_takes() {
    for system in SYSTEMS {
        let text = text_of(system);
        let mut times = Vec::new();
        let mut before: Option<Document> = None;
        for at in (0..text.len()).step_by(text.len() / 40).chain([text.len()]) {
            let Some(typed) = text.get(..at) else { continue };
            let begun = Instant::now();
            let document = Document::new("model.yaml", typed, before.as_ref()).with_checks();
            let _ = document.completions(at);
            times.push(begun.elapsed());
            before = Some(document);
        }
        times.sort();
        let last: Duration = times.last().copied().unwrap_or_default();
        println!(
            "{system}: {} lines, read, checked and completed in {:?} usually, {last:?} at most",
            text.lines().count(),
            times[times.len() / 2]
        );
    }
}
