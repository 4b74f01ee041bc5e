//! What the five systems say, and what it becomes.

use std::sync::Arc;

use super::*;
use crate::types::LengthLimits;
use model::{int, string, words};

#[test]
fn conditions_of_reads() {
    let model = Model::new();
    let scope = model.where_of("Task");
    for source in [
        "true",
        "user_id == caller.id",
        "user_id == caller.id && task_id == args.task_id",
        "user_id == caller.id && status == args.status",
        "due_date != absent && due_date >= args.from && due_date <= args.to",
        "due_date < today && status != \"completed\" && status != \"cancelled\"",
        "priority != absent",
        "(title.contains(args.text) || description.contains(args.text))",
        "status in [\"pending\", \"completed\"]",
        "task_id in args.ids",
        "tags.contains(\"red\") && !tags.contains(args.text)",
        "category == args.category",
        "category.startsWith(args.category)",
        "returned == \"AVAILABLE\" || returned < today",
        "period == \"2026-02\" && version == 3",
    ] {
        assert!(
            findings(&scope, source).is_empty(),
            "{source}: {:?}",
            findings(&scope, source)
        );
    }
}

#[test]
fn conditions_on_callers_and_bound_rows() {
    let model = Model::new();
    let scope = model.write();
    for source in [
        "caller.authenticated",
        "caller.role == \"admin\" || b.userId == caller.id",
        "caller.role == \"admin\" || (b.userId == caller.id && b.status == \"approved\" && today >= b.date - days(1))",
        "args.day >= today",
        "b.userId != caller.id",
        "event.bookingId == b.bookingId",
        "event.bookingId == absent",
        "auction.leaderId != absent",
        "args.amount >= auction.nextMin",
        "now < auction.endsAt && auction.endsAt - now < minutes(5)",
        "sum(args.lines, l, l.amount) == 0",
        "args.lines.all(l, l.amount != 0 && size(l.account) > 0)",
    ] {
        assert!(
            findings(&scope, source).is_empty(),
            "{source}: {:?}",
            findings(&scope, source)
        );
    }
}

#[test]
fn computed_attributes_have_a_type() {
    let model = Model::new();
    let cases = [
        ("Item", "geohash(location, 5)", string(5, 5)),
        (
            "Item",
            "ratingCount == 0 ? 0 : round(ratingSum / ratingCount, 2)",
            Type::number(),
        ),
        ("Item", "location.city", string(1, 80)),
        ("Item", "distance(location, args.at)", Type::number()),
        ("Item", "row", Type::Row(model.id("Item"))),
        ("Auction", "currentBid == absent ? minBid : currentBid + 1", Type::int()),
        (
            "Auction",
            "endsAt - now < minutes(5) ? endsAt + minutes(10) : endsAt",
            Type::Time,
        ),
        (
            "Event",
            "time(date, timeSlot == \"AFTERNOON\" ? \"13:00\" : \"08:00\")",
            Type::Time,
        ),
        ("Task", "hash(task_id) % 10", int(0, 9)),
        ("Task", "lower(title)", string(1, 400)),
        ("Task", "upper(title)", string(1, 600)),
        ("Task", "created_at + settings.retention", Type::Seconds),
        ("Task", "row[\"State#Date\"]", Type::text()),
        ("Task", "counts[args.kind]", Type::int()),
        ("Task", "payload.order.id", Type::Json),
        ("Task", "min(stars, args.amount, 3)", Type::int()),
        ("Task", "-stars * 2", Type::int()),
        ("Task", "month(createdAt)", Type::Month),
        ("Task", "string(stars) + \" of 5\"", Type::text()),
        ("Task", "99999999999999999999999999999999999999", Type::int()),
    ];
    for (entity, source, ty) in cases {
        let scope = model.row(entity);
        assert_eq!(accepts(&scope, source).ty, ty, "{source}");
    }
}

#[test]
fn an_expiry_may_be_absent() {
    let model = Model::new();
    let scope = model.row("Task");
    let expr = accepts(&scope, "completed_at == absent ? absent : completed_at + days(365)");
    assert_eq!((expr.ty, expr.optional), (Type::Seconds, true));
    let expr = accepts(
        &scope,
        "status == \"completed\" ? absent : (done_by == absent ? createdAt : done_by) + days(30)",
    );
    assert_eq!((expr.ty, expr.optional), (Type::Time, true));
}

#[test]
fn rows_by_key() {
    let model = Model::new();
    let scope = model.write();
    for (source, entity) in [
        ("Task(caller.id, args.task_id)", "Task"),
        ("Booking(args.bookingId)", "Booking"),
        ("Event(b.date, b.duration)", "Event"),
        ("Event(b.date, \"MORNING\")", "Event"),
        ("Payment{bookingId: b.bookingId, paymentId: args.any}", "Payment"),
        ("User(b.userId)", "User"),
    ] {
        assert_eq!(accepts(&scope, source).ty, Type::Row(model.id(entity)), "{source}");
    }
    let excludes = "b.duration == \"FULL_DAY\" ? [Event(b.date, \"MORNING\"), Event(b.date, \"AFTERNOON\")] : [Event(b.date, \"FULL_DAY\")]";
    let list = Type::List(Arc::new(Type::Row(model.id("Event"))), LengthLimits::default());
    assert_eq!(accepts(&scope, excludes).ty, list);
}

#[test]
fn path_variables_take_the_type_of_their_first_use() {
    let model = Model::new();
    let scope = model.where_of("Task");
    let ty = |name: &str| model.args.get(name).unwrap().known_type();
    accepts(&scope, "task_id == args.task_id");
    assert_eq!(ty("task_id"), Type::Ulid);
    accepts(&scope, "args.userId == caller.id");
    assert_eq!(ty("userId"), Type::text());
    accepts(&scope, "user_id == args.userId");
    assert_eq!(ty("userId"), string(1, 128));
    accepts(&model.write(), "Event(args.day, args.timeSlot)");
    assert_eq!(ty("timeSlot"), words("Slot", &["MORNING", "AFTERNOON", "FULL_DAY"]));
    assert!(model.args.get("task_id").unwrap().is_used());
    assert!(!model.args.get("kind").unwrap().is_used());
}

#[test]
fn functions_over_lists() {
    let model = Model::new();
    let mut scope = model.row("Event");
    scope.words.rows = Some(Type::List(
        Arc::new(Type::Row(model.id("Event"))),
        LengthLimits::default(),
    ));
    assert_eq!(
        accepts(&scope, "(!rows.exists(e, e.timeSlot != \"AFTERNOON\"))").ty,
        Type::Bool
    );
    assert_eq!(
        accepts(&scope, "size(rows.filter(e, e.bookingId != absent))")
            .ty
            .to_string(),
        "int"
    );
    assert_eq!(accepts(&scope, "rows.map(e, e.title)").ty.to_string(), "list(string)");
    let groups = accepts(&scope, "group(args.lines, l, l.account)");
    let Type::List(group, _) = groups.ty else {
        panic!("a list")
    };
    let scope = scope.with_bound("g", group.as_ref().clone(), false);
    assert_eq!(accepts(&scope, "g.key").ty, Type::text());
    assert_eq!(accepts(&scope, "sum(g.rows, l, l.amount)").ty, Type::int());
    assert_eq!(
        accepts(&scope, "days(args.day, args.day + days(7))").ty.to_string(),
        "list(date)"
    );
    assert_eq!(
        accepts(&scope, "numbered(args.lines).map(n, n.number)").ty.to_string(),
        "list(int)"
    );
    assert_eq!(accepts(&scope, "flat([[1], [2, 3]])").ty.to_string(), "list(int)");
}

#[test]
fn values_take_bare_words_of_their_enum() {
    let model = Model::new();
    let scope = model.write();
    let status = words("Season", &["spring", "all-season"]);
    let target = Target {
        name: "season",
        ty: &status,
        optional: false,
    };
    let mut out = Diagnostics::default();
    for source in ["spring", "all-season", "\"spring\""] {
        let expr = check_value(&plain(source), &scope, target, &mut out);
        assert_eq!(
            expr.as_literal(),
            Some(&Literal::Text(source.trim_matches('"').to_owned()))
        );
        assert_eq!(expr.ty, status);
    }
    let target = Target {
        name: "winnerId",
        ty: &string(1, 128),
        optional: true,
    };
    for source in [
        "auction.leaderId",
        "absent",
        "caller.id",
        "string(b.date)",
        "b.bookingId",
    ] {
        check_value(&plain(source), &scope, target, &mut out);
    }
    assert!(
        out.is_empty(),
        "{:?}",
        out.iter().map(|one| &one.message).collect::<Vec<_>>()
    );
}

#[test]
fn numbers_keep_all_their_digits() {
    let model = Model::new();
    let scope = model.row("Task");
    for source in [
        "0.1000000000000000000000000000000000001",
        "12345678901234567890123456789012345678",
        "-99999999999999999999",
    ] {
        let expr = accepts(&scope, source);
        assert_eq!(expr.as_literal(), Some(&Literal::Number(source.parse().unwrap())));
    }
    let expr = accepts(&scope, "price > -99999999999999999999.5");
    let ExprKind::Binary(_, _, right) = &expr.kind else {
        panic!("a comparison")
    };
    assert_eq!(
        right.as_literal(),
        Some(&Literal::Number("-99999999999999999999.5".parse().unwrap()))
    );
    assert_eq!(right.ty, Type::number());
}

#[test]
fn spans_cover_the_whole_of_each_part() {
    let model = Model::new();
    let scope = model.row("Task");
    let source = "(title.contains(\"é\") || (stars) > 3) && user_id in [caller.id, 'x']";
    let expr = accepts(&scope, source);
    let slice = |expr: &Expr| source[expr.span.text_range()].to_owned();
    assert_eq!(slice(&expr), source);
    let conjuncts = expr.conjuncts();
    assert_eq!(slice(conjuncts[0]), "title.contains(\"é\") || (stars) > 3");
    assert_eq!(slice(conjuncts[1]), "user_id in [caller.id, 'x']");
    let branches = conjuncts[0].disjuncts();
    assert_eq!(slice(branches[0]), "title.contains(\"é\")");
    assert_eq!(slice(branches[1]), "(stars) > 3");
}

#[test]
fn a_tree_tells_what_it_mentions() {
    let model = Model::new();
    let scope = model.row("Task");
    let expr = accepts(
        &scope,
        "user_id == caller.id && stars > args.amount && stars < 5 && counts[\"a\"] == 1",
    );
    assert_eq!(expr.attributes(), ["user_id", "stars", "counts"]);
    assert_eq!(expr.mentioned_arguments(), ["amount"]);
    assert!(expr.mentions_attribute("stars") && !expr.mentions_attribute("title"));
    assert!(!expr.is_of_request() && !expr.is_constant());
    assert!(accepts(&scope, "args.lines.exists(l, l.amount > 3)").is_of_request());
    assert!(accepts(&scope, "1 + 2 > 3").is_constant());
    assert!(!accepts(&scope, "ulid()").is_constant());
    assert_eq!(
        accepts(&scope, "counts[\"a\"]").path().as_deref(),
        Some("counts[\"a\"]")
    );
    assert_eq!(
        accepts(&model.write(), "auction.leaderId").path().as_deref(),
        Some("auction.leaderId")
    );
}

#[test]
fn the_row_of_a_parent_is_another_row() {
    let model = Model::new();
    let mut scope = model.where_of("Payment");
    scope.row = RowWord::Other(Type::Row(model.id("Booking")));
    let expr = accepts(&scope, "bookingId == row.bookingId");
    let ExprKind::Binary(_, left, right) = expr.kind else {
        panic!("a comparison")
    };
    assert_eq!(left.kind, ExprKind::Attribute("bookingId".to_owned()));
    assert_eq!(right.path().as_deref(), Some("row.bookingId"));
}

#[test]
fn key_functions_and_absent_parts_belong_to_keys() {
    let model = Model::new();
    let mut scope = model.row("Task");
    scope.in_key = true;
    scope.absence = Absence::Spreads;
    for (source, optional) in [
        ("rank(priority)", true),
        ("ordered(category)", true),
        ("lower(title)", false),
        ("desc(stars)", false),
    ] {
        assert_eq!(accepts(&scope, source).optional, optional, "{source}");
    }
}
