//! What is absent, in every operator and function.

use super::*;

#[test]
fn comparisons_with_what_is_absent_are_false_and_unequal() {
    let operands = [
        ("missing", r#""x""#),
        (r#"row["number?"]"#, "1"),
        (r#"row["day?"]"#, r#""2026-02-13""#),
        (r#"row["time?"]"#, "now"),
        (r#"row["rank?"]"#, r#""high""#),
        ("nothing", "missing"),
    ];
    for (absent, other) in operands {
        for (left, right) in [(absent, other), (other, absent)] {
            for (op, expected) in [
                ("==", false),
                ("!=", true),
                ("<", false),
                ("<=", false),
                (">", false),
                (">=", false),
            ] {
                let source = format!("{left} {op} {right}");
                assert_eq!(
                    with_expr(&source, |expr| holds_condition(expr, &world())),
                    Ok(expected),
                    "{source}"
                );
                let negated = format!("!({source})");
                assert_eq!(
                    with_expr(&negated, |expr| holds_condition(expr, &world())),
                    Ok(!expected),
                    "{negated}"
                );
            }
        }
    }
    expect(
        &world(),
        &[
            (r#"missing in ["x"]"#, "false"),
            (r#""x" in [missing, "y"]"#, "false"),
            (r#""y" in [missing, "y"]"#, "true"),
            (r#"missing.contains("x")"#, "false"),
            (r#"title.contains(missing)"#, "false"),
            (r#"missing.startsWith("")"#, "false"),
            (r#"title.startsWith(missing)"#, "false"),
            (r#"row["list?"].contains("x")"#, "false"),
            (r#"row["flag?"] == true"#, "false"),
            (r#"row["flag?"] == false"#, "false"),
            (r#"row["flag?"] != true"#, "true"),
            (r#"row["flag?"] == absent"#, "true"),
            (r#"row["place?"] == absent"#, "true"),
            ("missing == absent ? 1 : 2", "1"),
            ("missing != absent && size(missing) > 0", "false"),
            ("missing == absent || size(missing) > 0", "true"),
            ("nothing == absent", "true"),
            ("missing", "-"),
        ],
    );
}

/// Where absence spreads, as in a guard's value, whatever is computed with it is absent too.
#[test]
fn what_is_computed_with_something_absent_is_absent() {
    for source in [
        "lower(missing)",
        "upper(missing)",
        "trim(missing)",
        "size(missing)",
        "string(missing)",
        "hash(missing)",
        r#"missing + "x""#,
        r#""x" + missing"#,
        r#"row["number?"] + 1"#,
        r#"1 - row["number?"]"#,
        r#"row["number?"] * 2"#,
        r#"row["number?"] % 2"#,
        r#"-row["number?"]"#,
        r#"round(row["number?"], 2)"#,
        r#"round(row["number?"] / 2, 2)"#,
        r#"round(2 / row["number?"], 2)"#,
        r#"row["day?"] + days(1)"#,
        r#"row["time?"] + days(1)"#,
        r#"day(row["time?"])"#,
        r#"month(row["day?"])"#,
        r#"year(row["day?"])"#,
        r#"time(row["day?"], "08:00")"#,
        r#"days(row["day?"], today)"#,
        r#"geohash(row["place?"], 5)"#,
        r#"distance(row["place?"], place)"#,
        r#"min(row["number?"], 1)"#,
        r#"max(row["number?"], 1)"#,
        r#"row["list?"].map(e, e)"#,
        r#"row["list?"].filter(e, e == "x")"#,
        r#"sum(row["list?"], e, size(e))"#,
        r#"size(row["list?"])"#,
    ] {
        let value = with_expr_in(source, Absence::Spreads, |expr| evaluate(expr, &world()));
        assert_eq!(written(value), "-", "{source}");
    }
}
