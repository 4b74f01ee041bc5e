//! What a finding says where its rule knows more than one reason.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use singlet_lint::check_design;
use singlet_model::{Diagnostic, Source, load_source};

fn findings(text: &str, code: &str) -> Vec<Diagnostic> {
    let source = Source::new("model.yaml", text);
    let loaded = load_source(&source);
    let found = check_design(loaded);
    found
        .iter()
        .filter(|finding| finding.rule.code == code)
        .cloned()
        .collect()
}

const HEAD: &str = "singlet: 1\nname: m\ntable: {name: shelf, key: {partition: PK, sort: SK}, type: kind}\n";

#[test]
fn too_many_branches_are_counted() {
    let model = |count: usize| {
        let branches: Vec<String> = (0..count).map(|at| format!("o == \"k{at}\"")).collect();
        format!(
            "{HEAD}entities:\n  A: {{attributes: {{id: string 1..9, o: string 1..9}}, key: {{PK: \"A#{{o}}\", SK: \"{{id}}\"}}}}\n\
             reads:\n  r: {{find: A, where: '{}', allow: true}}\n",
            branches.join(" || ")
        )
    };
    assert_eq!(findings(&model(16), "R011").len(), 0);
    let found = findings(&model(17), "R011");
    assert_eq!(
        found.first().unwrap().message,
        "only a scan finds `A`: its meaning has 17 branches of `||`, and at most 16 are asked for one by one"
    );
}

#[test]
fn what_is_not_estimated_yet_is_named() {
    let model = |estimates: &str| {
        format!(
            "{HEAD}types: {{S: {{enum: [a, b]}}}}\n\
             entities:\n  A: {{attributes: {{id: string 1..9, s: S}}, key: {{PK: \"A#{{s}}\", SK: \"{{id}}\"}}}}\n\
             reads:\n  all: {{find: A, args: {{s: S}}, where: s == args.s, allow: true}}\n\
             writes:\n  make: {{allow: true, do: [{{create: A, take: [id, s]}}]}}\n\
             {estimates}"
        )
    };
    let help = |estimates: &str| {
        findings(&model(estimates), "K002")
            .first()
            .unwrap()
            .help
            .clone()
            .unwrap()
    };
    assert!(help("").ends_with("or give `estimates` that show little traffic"));
    assert!(
        help("estimates: {A: {items: 10}}\n")
            .ends_with("or give `make` and `all` a rate in `estimates`, where it is low")
    );
    assert!(help("estimates: {make: 1/s}\n").ends_with("or give `all` a rate in `estimates`, where it is low"));
    assert!(help("estimates: {make: 9000/s, all: 1/s, A: {bytes: 100}}\n").ends_with("or accept it, and say why"));
    let slow = findings(&model("estimates: {make: 20/day}\n"), "K002");
    let message = &slow.first().unwrap().message;
    assert!(
        message.ends_with("; the estimates give 0.00023 writes a second"),
        "{message}"
    );
}

#[test]
fn an_index_that_only_lacks_rows_is_named_before_another_is_proposed() {
    let model = |filter: &str, writes: &str| {
        format!(
            "singlet: 1\nname: m\ntable: {{name: shelf, key: {{partition: PK, sort: SK}}, indexes: {{GSI: {{partition: GP, sort: GS}}}}, type: kind}}\n\
             entities:\n  A: {{attributes: {{id: string 1..9, o: string 1..9, due: date?}}, key: {{PK: \"A#{{id}}\", SK: \"A\"}}, \
             index: {{GSI: {{GP: \"O#{{o}}\", GS: \"{{due}}\"}}}}}}\n\
             reads:\n  r: {{find: A, args: {{o: string 1..9}}, where: '{filter}', allow: true}}\n{writes}"
        )
    };
    let found = findings(&model("o == args.o", ""), "R011");
    let help = found.first().unwrap().help.clone().unwrap();
    assert!(
        help.starts_with(
            "if rows without `due` are not meant, say `due != absent` in `where`, and index `GSI` can answer"
        ),
        "{help}"
    );
    assert!(help.ends_with("or say `scan: \"why\"`"), "{help}");
    assert_eq!(findings(&model("o == args.o && due != absent", ""), "R011").len(), 0);
    // A loop takes no `scan`.
    let write =
        "writes:\n  w: {allow: true, bulk: true, do: [{for: {a: {find: A, where: 'due < today'}}, delete: a}]}\n";
    let found = findings(&model("o == args.o && due != absent", write), "R011");
    let help = found.first().unwrap().help.clone().unwrap();
    assert!(!help.contains("scan"), "{help}");
}

#[test]
fn the_part_that_sorts_is_named_by_its_type() {
    let help = |ty: &str| {
        let model = format!(
            "{HEAD}types: {{S: {{enum: [b, a]}}}}\nentities:\n  A: {{attributes: {{id: string 1..9, o: string 1..9, x: {ty}}}, key: {{PK: \"A#{{o}}\", SK: \"{{id}}\"}}}}\n\
             reads:\n  r: {{find: A, args: {{o: string 1..9}}, where: o == args.o, order: x, allow: true}}\n"
        );
        findings(&model, "R015").first().unwrap().help.clone().unwrap()
    };
    assert!(help("string 1..9").contains("`{ordered(x)}`"));
    assert!(help("S").contains("`{rank(x)}`"));
    assert!(help("int").contains("an upper end"));
}
