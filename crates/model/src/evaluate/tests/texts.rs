//! Text: case, sizes, order, and what other values look like as text.

use super::*;

#[test]
fn case_is_that_of_unicode() {
    expect(
        &world(),
        &[
            (r#"lower("ABC xyz 123 #")"#, "abc xyz 123 #"),
            (r#"upper("ABC xyz 123 #")"#, "ABC XYZ 123 #"),
            (r#"lower("ÄÖÜ ÇÑ ŻÓŁW")"#, "äöü çñ żółw"),
            (r#"upper("äöü çñ żółw")"#, "ÄÖÜ ÇÑ ŻÓŁW"),
            (r#"lower("ΑΒΓ АБВ")"#, "αβγ абв"),
            (r#"upper("αβγ абв")"#, "ΑΒΓ АБВ"),
            // Some letters become several.
            (r#"upper("straße")"#, "STRASSE"),
            (r#"upper("ﬁ")"#, "FI"),
            (r#"size(lower("İ"))"#, "2"),
            (r#"lower("ẞ")"#, "ß"),
            (r#"lower("日本 😀")"#, "日本 😀"),
            (r#"lower("")"#, ""),
        ],
    );
}

#[test]
fn white_space_is_that_of_unicode_and_goes_from_the_ends_alone() {
    expect(
        &world(),
        &[
            (r#"trim("  a b  ")"#, "a b"),
            (r#"trim("\t a \n")"#, "a"),
            (r#"trim("\u00A0a\u3000")"#, "a"),
            // No white space, though nothing is seen of it.
            (r#"size(trim("\u200B"))"#, "1"),
            (r#"trim("")"#, ""),
            (r#"trim("   ")"#, ""),
            (r#"lower(trim(" Ada@Example.org "))"#, "ada@example.org"),
        ],
    );
}

#[test]
fn sizes_count_characters_and_elements() {
    expect(
        &world(),
        &[
            (r#"size("")"#, "0"),
            (r#"size("abc")"#, "3"),
            (r#"size("é")"#, "1"),
            (r#"size("e\u0301")"#, "2"),
            (r#"size("😀")"#, "1"),
            (r#"size("👨‍👩‍👧")"#, "5"),
            ("size(tags)", "2"),
            ("size(set)", "2"),
            ("size([1, 2, 3])", "3"),
        ],
    );
}

#[test]
fn texts_sort_by_their_bytes() {
    expect(
        &world(),
        &[
            (r#""Z" < "a""#, "true"),
            (r#""a" < "aa""#, "true"),
            (r#""" < "a""#, "true"),
            (r#""z" < "é""#, "true"),
            (r#""é" < "日""#, "true"),
            // By UTF-16 it would be the other way round.
            (r#""\uFF21" < "😀""#, "true"),
            (r#""a" == "A""#, "false"),
            (r#""abc".contains("")"#, "true"),
            (r#""abc".startsWith("")"#, "true"),
            (r#""abc".contains("bc") && !"abc".contains("ac")"#, "true"),
            (r#""a" in set && "c" in set"#, "false"),
            (r#"set == ["b", "a"]"#, "true"),
            (r#"set == ["a"]"#, "false"),
            (r#"set.contains("b")"#, "true"),
        ],
    );
}

#[test]
fn values_look_as_in_json() {
    expect(
        &world(),
        &[
            ("string(1.10)", "1.1"),
            ("string(-0)", "0"),
            (
                "string(99999999999999999999999999999999999999)",
                "99999999999999999999999999999999999999",
            ),
            ("string(true)", "true"),
            ("string(due)", "2026-01-31"),
            ("string(now)", "2026-02-13T22:30:45.123Z"),
            ("string(epoch)", "1771021800"),
            ("string(status)", "high"),
            ("string(words)", "OUT"),
            (r#"string(1) + "-" + string(2)"#, "1-2"),
            // FNV-1a, 63 bits: published values of the 64-bit hash, halved.
            (r#"hash("")"#, "7347990519673328018"),
            (r#"hash("a")"#, "6319093600277820998"),
            (r#"hash("foobar")"#, "4812695130666218484"),
        ],
    );
}
