//! What a model may have so many of: the last is taken, and one more is a finding at its place, after which nothing is read.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use singlet_model::counts::{
    CARRIED_ATTRIBUTES_MAX, ENTITY_ATTRIBUTES_MAX, ENTITY_MIRRORS_MAX, KEY_CHOICES_MAX, MODEL_TRIES_MAX,
    OPERATION_NAMES_MAX, READ_TRIES_USUAL, READ_WITH_MAX, TALLIES_MAX, TALLY_GROUPS_MAX, TALLY_SUMS_MAX,
    WRITE_STEPS_MAX,
};
use singlet_model::{Source, load_source};

const HEAD: &str =
    "singlet: 1\nname: m\ntable: {name: mmm, key: {partition: PK, sort: SK}, indexes: {G: {partition: GP}}}\n";

fn each(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect()
}

/// The line and the message of what there is too much of; nothing where there is not.
fn too_many(text: &str) -> Option<(usize, String)> {
    let source = Source::new("model.yaml", text.to_owned());
    let loaded = load_source(&source);
    let found = loaded.diagnostics.iter().find(|finding| finding.rule.code == "S019")?;
    assert!(found.help.is_some());
    Some((source.position_at(found.span.start).line, found.message.clone()))
}

/// Holds a model at its bound, and one beyond it, where the finding stands on a line that has some text.
fn is_bound(model: impl Fn(usize) -> String, most: usize, stands_at: &str) {
    assert_eq!(too_many(&model(1)), None);
    assert_eq!(too_many(&model(most)), None);
    let beyond = model(most + 1);
    let (line, message) = too_many(&beyond).unwrap();
    let at = beyond.lines().nth(line - 1).unwrap();
    assert!(at.contains(stands_at), "{message}: {at}");
}

fn entity(attributes: usize) -> String {
    let attributes = each(attributes - 1, |at| format!("      a{at}: string?\n"));
    format!("  E:\n    attributes:\n      id: string\n{attributes}    key: {{PK: \"E#{{id}}\", SK: S}}\n")
}

fn mirror(at: usize) -> String {
    format!("  M{at}: {{mirrors: E, carries: all, key: {{PK: \"M{at}#{{id}}\", SK: S}}}}\n")
}

#[test]
fn an_entity_has_so_many_attributes_and_mirrors() {
    let attributes = |count| format!("{HEAD}entities:\n{}", entity(count));
    is_bound(
        attributes,
        ENTITY_ATTRIBUTES_MAX,
        &format!("a{}:", ENTITY_ATTRIBUTES_MAX - 1),
    );
    let mirrors = |count| format!("{HEAD}entities:\n{}{}", entity(2), each(count, mirror));
    is_bound(mirrors, ENTITY_MIRRORS_MAX, &format!("M{ENTITY_MIRRORS_MAX}:"));
}

#[test]
fn mirrors_carry_so_many_attributes() {
    let of_each = CARRIED_ATTRIBUTES_MAX / 80;
    assert_eq!(of_each * 80, CARRIED_ATTRIBUTES_MAX);
    let model = |count| format!("{HEAD}entities:\n{}{}", entity(of_each), each(count, mirror));
    is_bound(model, 80, "M80:");
}

#[test]
fn a_key_has_so_many_templates_by_condition() {
    let model = |count| {
        let choices = each(count, |at| {
            format!("        - {{when: n == {at}, GP: \"X{at}#{{id}}\"}}\n")
        });
        format!(
            "{HEAD}entities:\n  E:\n    attributes: {{id: string, n: int}}\n    key: {{PK: \"{{id}}\", SK: S}}\n    index:\n      G:\n{choices}"
        )
    };
    is_bound(model, KEY_CHOICES_MAX, &format!("X{KEY_CHOICES_MAX}#"));
}

#[test]
fn a_read_has_so_many_names_and_comes_with_so_many_selections() {
    let read = |fields: String| {
        format!(
            "{HEAD}entities:\n{}reads:\n  r:\n    get: E\n    where: id == \"x\"\n    allow: true\n{fields}",
            entity(2)
        )
    };
    let with = |count| {
        read(format!(
            "    with:\n{}",
            each(count, |at| format!(
                "      w{at}: {{find: E, where: id == row.id, limit: 1}}\n"
            ))
        ))
    };
    is_bound(with, READ_WITH_MAX, &format!("w{READ_WITH_MAX}:"));
    let arguments = |count| {
        read(format!(
            "    args:\n{}",
            each(count, |at| format!("      x{at}: int\n"))
        ))
    };
    is_bound(arguments, OPERATION_NAMES_MAX, &format!("x{OPERATION_NAMES_MAX}:"));
    let names = |count| {
        read(format!(
            "    let:\n{}",
            each(count, |at| format!("      v{at}: '{at}'\n"))
        ))
    };
    is_bound(names, OPERATION_NAMES_MAX, &format!("v{OPERATION_NAMES_MAX}:"));
}

#[test]
fn a_write_has_so_many_steps_wherever_they_stand() {
    let step = "{delete: E(args.id)}";
    let model = |count: usize| {
        let flat = each(count - 1, |_| format!("      - {step}\n"));
        let nested = format!("      - {{when: 'args.id == \"x\"', do: [{step}]}}\n");
        // A group is a step too, and so is what it holds.
        let steps = if count < 3 {
            flat
        } else {
            format!("{nested}{}", flat.replacen(&format!("      - {step}\n"), "", 1))
        };
        format!(
            "{HEAD}entities:\n{}writes:\n  w:\n    args: {{id: string}}\n    allow: true\n    do:\n{steps}",
            entity(2)
        )
    };
    is_bound(model, WRITE_STEPS_MAX, "w:");
}

#[test]
fn reads_are_tried_so_many_times() {
    // Ten optional arguments are 1,024 combinations; as it stands and as its only alternative, on one path. Eleven conditions weigh
    // as three of four.
    let of_each = 3 * 2 * 1_024 - READ_TRIES_USUAL;
    let arguments = each(10, |at| format!("x{at}: int?, "));
    let terms = each(10, |at| format!(" && n != args.x{at}"));
    let model = |count| {
        let reads = each(count, |at| {
            format!(
                "  r{at}: {{find: E, args: {{{arguments}id: string}}, where: 'id == args.id{terms}', allow: true}}\n"
            )
        });
        format!(
            "{HEAD}entities:\n  E: {{attributes: {{id: string, n: int}}, key: {{PK: \"{{id}}\", SK: S}}}}\nreads:\n{reads}"
        )
    };
    let most = MODEL_TRIES_MAX / of_each;
    is_bound(model, most, &format!("r{most}:"));
}

#[test]
fn a_model_has_so_many_tallies_each_with_so_many_groups_and_sums() {
    let tallies = |count| {
        let tallies = each(count, |at| format!("  t{at}: {{count: E}}\n"));
        format!("{HEAD}entities:\n{}tallies:\n{tallies}", entity(2))
    };
    is_bound(tallies, TALLIES_MAX, &format!("t{TALLIES_MAX}:"));
    let groups = |count| {
        let by = each(count, |at| format!("      - a{at}\n"));
        format!(
            "{HEAD}entities:\n{}tallies:\n  t:\n    count: E\n    by:\n{by}",
            entity(20)
        )
    };
    is_bound(groups, TALLY_GROUPS_MAX, &format!("- a{TALLY_GROUPS_MAX}"));
    let sums = |count| {
        let sums = each(count, |at| format!("      s{at}: 1\n"));
        format!(
            "{HEAD}entities:\n{}tallies:\n  t:\n    count: E\n    sum:\n{sums}",
            entity(2)
        )
    };
    is_bound(sums, TALLY_SUMS_MAX, &format!("s{TALLY_SUMS_MAX}:"));
}
