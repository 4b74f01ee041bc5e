//! No input panics, and none takes long.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn survives(source: &str) {
    let model = Model::new();
    for scope in [model.where_of("Task"), model.write()] {
        for text in [text(source), plain(source)] {
            let mut out = Diagnostics::default();
            let expr = check_expression(&text, &scope, Some(&Type::Bool), &mut out);
            assert!(!expr.is_invalid() || out.has_errors(), "nothing was said of {source:?}");
            for found in out.iter() {
                assert!(!found.message.contains('\n') && !found.message.is_empty());
                assert!(!found.message.ends_with("cannot be read"), "unnamed: {source:?}");
                assert!(text.span.holds_span(found.span), "{source:?}: {found:?}");
            }
        }
    }
}

#[test]
fn long_and_deep_inputs_are_refused_quickly() {
    let start = Instant::now();
    let deep = |open: &str, close: &str, count: usize| open.repeat(count) + "1" + &close.repeat(count);
    for source in [
        "a".repeat(1_000_000),
        "(".repeat(1_000_000),
        "a == ".repeat(200_000),
        deep("(", ")", 33),
        deep("(", ")", 2_000),
        deep("[", "]", 500),
        deep("lower(", ")", 600),
        deep("true ? 1 : ", "", 300),
        deep("true && (", ")", 400),
        "!".repeat(4_000) + "a",
        "-".repeat(4_000) + "1",
        "\"".repeat(4_000),
        "é".repeat(2_000),
    ] {
        survives(&source);
    }
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn what_is_just_within_the_bounds_is_checked() {
    let start = Instant::now();
    let model = Model::new();
    let scope = model.row("Task");
    accepts(&scope, &("(".repeat(32) + "1" + &")".repeat(32)));
    accepts(&scope, &("1 + ".repeat(255) + "1"));
    accepts(&scope, &("starred && ".repeat(255) + "true"));
    accepts(&scope, &("starred ? 1 : ".repeat(32) + "1"));
    accepts(&scope, &("[".repeat(32) + &"]".repeat(32)));
    survives(&("1 == ".repeat(255) + "1"));
    survives(&("payload".to_owned() + &".a".repeat(255)));
    survives(&("Task{user_id: ".repeat(32) + "1" + &"}".repeat(32)));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

/// Words that make expressions, and mistakes in them.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "a",
        "title",
        "due_date",
        "args.from",
        "args.any",
        "caller.id",
        "now",
        "row",
        "b",
        "event.title",
        "1",
        "1.5",
        "\"x\"",
        "'y'",
        "absent",
        "null",
        "true",
        "in",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        ">=",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        ".",
        "lower(",
        "days(",
        "sum(args.lines, l, ",
        ".exists(e,",
        ".contains(",
        "Task(",
        "Task{user_id:",
        "round(",
        "min(",
        "=",
        "and",
        "if",
        "`",
        "\\",
        "é",
        "\n",
        "0x1f",
        "1u",
        "r\"",
        "//",
        "as",
        "status",
        "lines",
        "counts[",
    ]);
    prop::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_text_is_survived(source in any::<String>()) {
        survives(&source);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        survives(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_row_of_words_is_survived(source in words()) {
        survives(&source);
    }
}
