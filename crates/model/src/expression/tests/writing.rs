//! Mistakes of writing: what does not parse, and what the parser would misread.

use super::*;

#[test]
#[rustfmt::skip]
fn what_is_not_written_as_the_language_has_it() {
    refuses(|model| model.row("Task"), &[
        ("", "", "empty-expression", "an expression is expected here", "write `true` for what always holds, and `absent` for no value"),
        ("   ", "   ", "empty-expression", "an expression is expected here", "write `true` for what always holds, and `absent` for no value"),
        ("title == ", "==", "unexpected-word", "a value is missing after `==`", ""),
        ("== title", "==", "unexpected-word", "a value is missing before `==`", ""),
        (r#"title = "x""#, "=", "foreign-operator", "`=` is not an operator", "write `==` to compare"),
        (r#"title === "x""#, "===", "foreign-operator", "`===` is not an operator", "write `==`"),
        (r#"title <> "x""#, "<>", "foreign-operator", "`<>` is not an operator", "write `!=`"),
        (r#"title =< "x""#, "=<", "foreign-operator", "`=<` is not an operator", "write `<=`"),
        ("starred & archived", "&", "foreign-operator", "`&` is not an operator", "write `&&`"),
        ("starred | archived", "|", "foreign-operator", "`|` is not an operator", "write `||`"),
        (r#"starred and title == "x""#, "and", "foreign-operator", "`and` is not an operator", "write `&&`"),
        (r#"starred OR title == "x""#, "OR", "foreign-operator", "`OR` is not an operator", "write `||`"),
        ("not starred", "not", "foreign-operator", "`not` is not an operator", "write `!starred`"),
        (r#"title is "x""#, "is", "foreign-operator", "`is` is not an operator", "write `title == …`; `title == absent` tests that it is missing"),
        ("title IS NOT NULL", "IS", "foreign-operator", "`IS` is not an operator", "write `title != …`; `title != absent` tests that it is there"),
        (r#"title LIKE "x%""#, "LIKE", "foreign-operator", "`LIKE` is not an operator", r#"write `title.contains("…")` or `title.startsWith("…")`"#),
        (r#"status IN ["pending"]"#, "IN", "foreign-operator", "`IN` is not an operator", "write `in` in lower case"),
        ("stars between 1 and 3", "between", "foreign-operator", "`between` is not an operator", "write `stars >= … && stars <= …`"),
        (r#"title contains "x""#, "contains", "foreign-operator", "`contains` is not an operator", "write `title.contains(…)`"),
        (r#"title == "x"#, r#""x"#, "text-literal", r#"the text `"x` is never closed"#, "close it with the quote that opens it, on the same line"),
        ("title == “x”", "“", "stray-character", "`“` means nothing in an expression", r#"use the straight quotes `"` and `'`"#),
        (r#"title == "a\d""#, r#"\d"#, "text-literal", r#"`\d` is not an escape"#, r#"the escapes are `\\`, `\"`, `\'`, `\n`, `\r`, `\t` and `\u0041`"#),
        (r#"title == r"x""#, r#"r"x""#, "text-literal", "text has one quote at each end and nothing before it", r#"write `"text"` or `'text'`"#),
        ("title == 'x' 'y'", "'y'", "unexpected-word", "an operator is missing between `'x'` and `'y'`", ""),
        (r#"(title == "x""#, "(", "unbalanced-brackets", "`(` is never closed", ""),
        (r#"title == "x")"#, ")", "unbalanced-brackets", "`)` closes nothing", ""),
        ("[title)", ")", "unbalanced-brackets", "`[` is closed by `)`", ""),
        (r#"title == "x" && && starred"#, "&&", "unexpected-word", "a value is missing between `&&` and `&&`", ""),
        (r#"title == "x" &&"#, "&&", "unexpected-word", "a value is missing after `&&`", ""),
        ("lower()", "lower()", "wrong-number-of-arguments", "`lower` takes 1 value, not 0", "`lower(string) -> string`"),
        ("lower(title,)", ")", "unexpected-word", "a value is missing between `,` and `)`", ""),
        ("()", ")", "unexpected-word", "nothing stands between `(` and `)`", ""),
        (r#"title ? "a""#, "?", "unexpected-word", "`?` has no `:`", "write `test ? then : otherwise`"),
        ("starred ? 1 : stars ? 2 :", ":", "unexpected-word", "a value is missing after `:`", ""),
        ("starred ? stars > 1 ? 1 : 2 : 3", "?", "unexpected-word", "a second `?` stands before the first one's `:`", "put the inner `? :` in parentheses"),
        ("starred : 1", ":", "unexpected-word", "`:` has no `?` before it", "write `test ? then : otherwise`"),
        ("title, stars", ",", "unexpected-word", "`,` stands outside any brackets", "join conditions with `&&`, and write a list as `[a, b]`"),
        ("(title, stars)", ",", "unexpected-word", "`,` stands within `(`", ""),
        (r#"title "x""#, r#""x""#, "unexpected-word", r#"an operator is missing between `title` and `"x"`"#, ""),
        ("title.", ".", "unexpected-word", "a name is missing after `.`", ""),
        ("title.1", ".1", "number-literal", "`.1` is not a number", "numbers are decimal: `12`, `-3`, `0.25`"),
        (".title", ".", "unexpected-word", "a name is missing before `.`", ""),
        ("title..size", ".", "unexpected-word", "a name is expected after `.`, not `.`", r#"a name that is not a word is written `row["na-me"]`"#),
        ("!!starred", "!", "unexpected-word", "two signs stand before one value", ""),
        ("--stars > 0", "-", "unexpected-word", "two signs stand before one value", ""),
        ("stars++", "++", "foreign-operator", "`++` is not an operator", "write `+ 1`, or `add:` to raise a stored number"),
        ("stars > 1e3", "1e3", "number-literal", "`1e3` is not a number", "numbers are decimal: `12`, `-3`, `0.25`"),
        ("stars > 0x1f", "0x1f", "number-literal", "`0x1f` is not a number", "numbers are decimal: `12`, `-3`, `0.25`"),
        ("now + 2h > now", "2h", "number-literal", "`2h` is not a number", "a duration is written `hours(2)` here"),
        ("now + 1mo30m > now", "1mo30m", "number-literal", "`1mo30m` is not a number", "a duration is written `months(1) + minutes(30)` here"),
        ("now + 2h3 > now", "2h3", "number-literal", "`2h3` is not a number", "numbers are decimal: `12`, `-3`, `0.25`"),
        ("stars > 1u", "1u", "number-literal", "`1u` is not a number", "numbers are decimal: `12`, `-3`, `0.25`"),
        ("stars > 123456789012345678901234567890123456789", "123456789012345678901234567890123456789", "number-literal", "`123456789012345678901234567890123456789` is not a number of up to 38 digits", ""),
        (r#"title == "x" // yes"#, "// yes", "comment-in-expression", "an expression has no comments", "move it to a `#` comment of the file: `//` would hide the rest of a folded block"),
        ("package == 1", "package", "reserved-word", "`package` is a word that expressions keep for themselves", r#"an attribute of that name is `row["package"]`"#),
        ("if starred", "if", "reserved-word", "`if` is a word that expressions keep for themselves", "write `test ? then : otherwise`"),
        ("stars > 5 ; true", ";", "foreign-operator", "`;` is not an operator", "the operators are `&& || ! == != < <= > >= in + - * % ? :`"),
        ("title@home", "@", "stray-character", "`@` means nothing in an expression", "names stand bare: `status`, `args.status`, `caller.id`"),
        ("Task(a, b)?", "?", "unexpected-word", "`?` at the end marks an item that may be missing, which only `let` and `for` know", "leave it out, or write `test ? then : otherwise`"),
        ("title.true", "true", "unexpected-word", "a name is expected after `.`, not `true`", r#"a name that is not a word is written `row["na-me"]`"#),
        ("{title}", "title", "unexpected-word", "a field's name and `:` are expected here, not `title`", "fields are written `{name: value}`, a list `[a, b]`"),
        (r#"Task{"user_id": 1}"#, r#""user_id""#, "unexpected-word", r#"a field's name and `:` are expected here, not `"user_id"`"#, "fields are written `{name: value}`, a list `[a, b]`"),
        ("3(4)", "(", "unexpected-word", "an operator is missing between `3` and `(`", ""),
        (r#"title == "x" else bad_title"#, "else", "foreign-operator", "`else` is not an operator", "`else` follows the whole expression of a `require`"),
    ]);
}

#[test]
fn brackets_that_yaml_cut_are_said_to_be() {
    let model = Model::new();
    let mut out = Diagnostics::default();
    check_expression(&plain("near(location"), &model.row("Item"), None, &mut out);
    let found = out.into_sorted();
    assert_eq!(found[0].message, "`(` is never closed");
    assert_eq!(
        found[0].help.as_deref(),
        Some("if the bracket is there, YAML cut this expression here: quote it")
    );
    assert_eq!(found[0].notes[0].span, Span::new(13, 13));
}

#[test]
fn mistakes_in_a_folded_block_stand_where_they_are_written() {
    let source = "allow: >-\n  caller.role == \"admin\"\n  || (b.userId == caller.id\n  && b.state == \"approved\")\n";
    let span = Span::new(7, source.len());
    let decoded = "caller.role == \"admin\" || (b.userId == caller.id && b.state == \"approved\")";
    let folded = Text::new(decoded.to_owned(), span, Style::Folded, source);
    let model = Model::new();
    let mut out = Diagnostics::default();
    check_condition(&folded, &model.write(), &mut out);
    let found = out.into_sorted();
    assert_eq!(found[0].message, "`Booking` has no attribute `state`");
    assert_eq!(&source[found[0].span.text_range()], "state");
    assert_eq!(found[0].help.as_deref(), None);
}

#[test]
fn a_parsed_expression_is_placed_anew_each_time() {
    let model = Model::new();
    let source = "titel == \"x\" # titel == \"x\"";
    for start in [0, 15] {
        let span = Span::new(start, start + 12);
        let text = Text::new("titel == \"x\"".to_owned(), span, Style::Plain, source);
        let mut out = Diagnostics::default();
        check_expression(&text, &model.row("Task"), None, &mut out);
        assert_eq!(out.into_sorted()[0].span, Span::new(start, start + 5));
    }
}

#[test]
fn fixes_replace_what_is_wrong() {
    let model = Model::new();
    for (source, fixed) in [
        ("title = \"x\"", "title == \"x\""),
        ("status == pendig", "status == \"pending\""),
        ("due_date != null", "due_date != absent"),
        ("user_id == caller_id", "user_id == caller.id"),
    ] {
        let (_, found) = checked(&model.row("Task"), source);
        let fix = found[0].fix.clone().unwrap();
        let mut result = source.to_owned();
        result.replace_range(fix.span.text_range(), &fix.replacement);
        assert_eq!(result, fixed);
    }
}

#[test]
fn escapes_say_what_they_say_in_cel() {
    let model = Model::new();
    for source in [r#""a\"b\\c\n\u00e9""#, r#"'it\'s \t é'"#, r#""""#] {
        let expr = accepts(&model.request(), source);
        let expected = cel::Program::compile(source).unwrap();
        let cel::common::ast::Expr::Literal(cel::common::ast::LiteralValue::String(said)) = &expected.expression().expr
        else {
            panic!("text");
        };
        assert_eq!(expr.as_literal(), Some(&Literal::Text(said.inner().to_owned())));
    }
}
