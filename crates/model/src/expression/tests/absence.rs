//! What may be absent, and what a test proves.

use super::*;

#[test]
fn a_test_lets_the_rest_rely_on_it() {
    let model = Model::new();
    let scope = model.row("Task");
    for source in [
        "due_date != absent && due_date + days(1) < today",
        "due_date == absent || due_date + days(1) < today",
        "due_date > today && due_date - days(1) < today",
        "!(due_date == absent) && due_date + days(1) < today",
        "!(due_date == absent || category == absent) && lower(category) == \"x\" && due_date + days(1) < today",
        "due_date == absent ? false : due_date + days(1) < today",
        "(due_date != absent ? due_date > today : false) && due_date + days(1) < today",
        "(category == \"a\" || category == \"b\") && size(category) == 1",
        "description.contains(\"a\") && size(description) > 3",
        "counts[args.kind] != absent && counts[args.kind] + 1 > 3",
        "archived == true && archived",
        "lines != absent && lines.exists(l, l.amount > 1)",
    ] {
        assert!(
            findings(&scope, source).is_empty(),
            "{source}: {:?}",
            findings(&scope, source)
        );
    }
}

#[test]
fn what_was_not_proven_needs_a_test() {
    let model = Model::new();
    let scope = model.row("Task");
    for (source, at) in [
        ("due_date + days(1) < today", "due_date"),
        ("due_date != absent || due_date + days(1) < today", "due_date"),
        ("due_date != today && due_date + days(1) < today", "due_date"),
        ("!(due_date > today) && due_date + days(1) < today", "due_date"),
        ("due_date == absent && due_date + days(1) < today", "due_date"),
        ("(category == \"a\" || starred) && size(category) == 1", "category"),
        ("lower(category) == \"x\"", "category"),
        ("size(description) > 3", "description"),
        ("lines.exists(l, l.amount > 1)", "lines"),
        ("archived && starred", "archived"),
        ("!archived", "archived"),
    ] {
        let found = findings(&scope, source);
        assert_eq!(found.len(), 1, "{source}: {found:?}");
        assert_eq!(found[0].rule.name, "may-be-absent", "{source}");
        assert_eq!(&source[found[0].span.text_range()], at, "{source}");
    }
}

#[test]
fn a_field_of_a_row_that_may_be_missing_proves_the_row() {
    let model = Model::new();
    let scope = model.write();
    let when = accepts(&scope, "event.bookingId == b.bookingId");
    assert_eq!(
        PresenceFacts::of(&when, true).proven_paths().collect::<Vec<_>>(),
        ["event", "event.bookingId", "b", "b.bookingId"]
    );
    assert_eq!(PresenceFacts::of(&when, false), PresenceFacts::default());
    assert!(accepts(&scope, "event.title").optional);
    let scope = scope.with_facts_of(&when, true);
    assert!(!accepts(&scope, "event.title").optional);
    accepts(&scope, "\"about \" + event.title");
}

#[test]
fn facts_follow_the_outcome() {
    let model = Model::new();
    let scope = model.row("Task");
    let proves = |source: &str, truth: bool| {
        let expr = accepts(&scope, source);
        PresenceFacts::of(&expr, truth)
            .proven_paths()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(proves("due_date == absent", false), ["due_date"]);
    assert_eq!(proves("due_date != absent", false), [""; 0]);
    assert_eq!(proves("due_date != args.day", false), ["due_date", "args.day"]);
    assert_eq!(
        proves("due_date == absent || category == absent", false),
        ["due_date", "category"]
    );
    assert_eq!(
        proves("due_date != absent && category != absent", true),
        ["due_date", "category"]
    );
    assert_eq!(proves("due_date != absent && category != absent", false), [""; 0]);
    assert_eq!(proves("due_date != absent || due_date == today", true), ["due_date"]);
}

#[test]
fn optional_arguments_are_left_out_at_the_top_of_a_where_only() {
    let model = Model::new();
    let scope = model.where_of("Task");
    for source in [
        "due_date >= args.from",
        "args.from <= due_date && (user_id == caller.id && category == args.category)",
        "month(createdAt) == month(createdAt) && title.contains(args.category)",
        "args.from == absent || due_date >= args.from",
        "args.category != absent && lower(args.category) == \"x\"",
    ] {
        assert!(
            findings(&scope, source).is_empty(),
            "{source}: {:?}",
            findings(&scope, source)
        );
    }
    for (source, at) in [
        ("starred || due_date >= args.from", "args.from"),
        ("!(due_date >= args.from)", "args.from"),
        ("lower(args.category) == title", "args.category"),
        ("args.from <= today", "args.from"),
        ("args.from <= args.to", "args.from"),
        ("category in [args.category, \"x\"]", "args.category"),
        ("starred ? due_date >= args.from : true", "args.from"),
        ("due_date + days(1) > args.day && due_date >= args.from", "due_date"),
        ("due_date >= args.from && due_date + days(1) > args.day", "due_date"),
    ] {
        let found = findings(&scope, source);
        assert!(!found.is_empty(), "{source}");
        assert_eq!(&source[found[0].span.text_range()], at, "{source}");
    }
    let found = findings(&model.row("Task"), "due_date >= args.from");
    assert_eq!(found[0].rule.name, "untested-optional-argument");
}

#[test]
fn an_optional_argument_may_go_where_absence_may() {
    let model = Model::new();
    let scope = model.write();
    let mut out = Diagnostics::default();
    let optional = Target {
        name: "category",
        ty: &model::string(1, 50),
        optional: true,
    };
    check_value(&text("args.category"), &scope, optional, &mut out);
    assert!(out.is_empty());
    check_value(
        &text("args.category"),
        &scope,
        Target {
            optional: false,
            ..optional
        },
        &mut out,
    );
    let found = out.into_sorted();
    assert_eq!(
        found[0].message,
        "`args.category` may be absent, and `category` is required"
    );
}
