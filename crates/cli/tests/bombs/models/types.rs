//! Types, patterns and attributes that are many, wide, deep or long.

use std::fmt::Write;

use super::{Draw, HEAD, lines, one_entity};

pub fn counted_repeats(draw: &mut Draw, bytes: usize) -> String {
    let attributes = lines(bytes.min(200_000), |at| {
        let (one, two) = (draw.number(2, 3_000), draw.number(2, 60));
        let pattern = match at % 6 {
            0 => format!("(?:a?){{{one}}}"),
            1 => format!("(?:a{{1,{two}}}){{1,{two}}}"),
            2 => format!("(?:[a-z]b?){{0,{one}}}"),
            3 => format!("(?:(?:a|b|c)?){{{one}}}c"),
            4 => format!("(?:(?:(?:a{{{two}}}){{{two}}}){{{two}}}){{{two}}}"),
            _ => format!("\\pL{{{two}}}(?:\\w|\\d){{{two}}}x?"),
        };
        format!("      a{at}: string /{pattern}/\n")
    });
    one_entity(
        "",
        &attributes,
        draw.one(&["{a0}{a1}", "{a2}{a5}", "{a0}{a0}", "{lower(a5)}{a3}"]),
    )
}

pub fn many_patterns(draw: &mut Draw, bytes: usize) -> String {
    let one = draw.number(100, 2_500);
    let entities = lines(bytes, |at| {
        format!(
            "  E{at}: {{attributes: {{a: 'string /(?:a?b?){{{one}}}/'}}, key: {{PK: \"E{at}#{{a}}\", SK: \"S\"}}}}\n"
        )
    });
    format!("{HEAD}entities:\n{entities}")
}

pub fn objects_of_objects(draw: &mut Draw, bytes: usize) -> String {
    let (fields, count) = (draw.number(1, 5), (bytes / 40).max(2));
    let mut text = String::from("types:\n");
    for at in 0..count {
        let of = if at + 1 == count {
            "string 1..9".to_owned()
        } else {
            format!("O{}", at + 1)
        };
        let of = match draw.number(0, 5) {
            0 if at % 7 == 3 => format!("list({of})"),
            1 if at % 11 == 3 => format!("map({of})"),
            _ => of,
        };
        let fields: Vec<String> = (0..fields).map(|field| format!("f{field}: {of}")).collect();
        let _ = writeln!(text, "  O{at}: {{object: {{{}}}}}", fields.join(", "));
    }
    let model = one_entity(&text, "      o: O0\n", "S");
    format!(
        "{model}reads:\n  r: {{get: E, where: id == args.id, allow: true, http: \"GET /e/{{id}}\"}}\nwrites:\n  w: {{do: [{{create: E, take: [id, o]}}], allow: true, http: POST /e}}\n"
    )
}

pub fn types_in_a_row(draw: &mut Draw, bytes: usize) -> String {
    let wrap = draw.number(0, 1) == 1;
    let types = lines(bytes, |at| match wrap {
        true => format!("  T{at}: list(T{})\n", at + 1),
        false => format!("  T{at}: T{}\n", at + 1),
    });
    let last = types.lines().count();
    one_entity(&format!("types:\n{types}  T{last}: string\n"), "      t: T0\n", "S")
}

pub fn nested_lists(draw: &mut Draw, bytes: usize) -> String {
    let of = draw.one(&["list", "map", "set"]);
    let depth = bytes / (2 * of.len() + 2) + 1;
    let nested = format!("{}string{}", format!("{of}(").repeat(depth), ")".repeat(depth));
    one_entity("", &format!("      t: {nested}\n"), "S")
}

pub fn wide_objects(draw: &mut Draw, bytes: usize) -> String {
    let fields = lines(bytes / 2, |at| format!("      f{at}: string? ..9\n"));
    let types = format!("types:\n  O:\n    object:\n{fields}");
    let of = draw.one(&["O", "list(O)", "map(list(O))"]);
    let attributes = lines(bytes / 2, |at| format!("      o{at}: {of}\n"));
    let model = one_entity(&types, &attributes, "S");
    format!(
        "{model}reads:\n  r: {{get: E, where: id == args.id, allow: true, http: \"GET /e/{{id}}\"}}\nwrites:\n  w: {{do: [{{create: E, take: [id, o0, o1]}}], allow: true, http: POST /e}}\n"
    )
}

pub fn huge_numbers(draw: &mut Draw, bytes: usize) -> String {
    let attributes = lines(bytes.min(50_000), |at| {
        let digits = draw.number(1, 60);
        let number = "9".repeat(digits);
        match at % 7 {
            0 => format!("      a{at}: int 0..{number}\n"),
            1 => format!("      a{at}: int -{number}..{number}\n"),
            2 => format!("      a{at}: number 0.{}..1\n", "0".repeat(digits)),
            3 => format!("      a{at}: string {number}..\n"),
            4 => format!("      a{at}: string ..{number}\n"),
            5 => "      a5: string 4000000000..4100000000\n".replace("a5", &format!("a{at}")),
            _ => format!("      a{at}: number 0..1e{digits}\n"),
        }
    });
    one_entity(
        "",
        &attributes,
        draw.one(&[
            "{a0}{a1}",
            "{a5}",
            "{a5}{a5}",
            "{plain(a1)}{a4}",
            "{plain(a0)}{plain(a0)}",
            "{desc(a0)}{a2}",
        ]),
    )
}

pub fn many_attributes(draw: &mut Draw, bytes: usize) -> String {
    let of = draw.one(&[
        "string?",
        "string = 'x'",
        "E.id",
        "{type: string, stored: none}",
        "{copy: E(id).id, kept: frozen}",
        "{is: lower(id)}",
    ]);
    let attributes = lines(bytes, |at| format!("      a{at}: {of}\n"));
    let model = one_entity("", &attributes, "S");
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: id == args.id && a1 == \"x\", allow: true, order: a2, http: GET /e?id}}\nwrites:\n  w: {{do: [{{create: E, take: [id]}}], allow: true, http: POST /e}}\n  u: {{args: {{id: string}}, do: [{{update: E(args.id), patch: [a1]}}], allow: true}}\n"
    )
}
pub fn computed_of_computed(draw: &mut Draw, bytes: usize) -> String {
    let twice = draw.one(&["a{} + a{}", "a{} + 1", "a{} > 3 ? a{} : a{}"]);
    let attributes = lines(bytes, |at| match at {
        0 => "      a0: int 0..9\n".to_owned(),
        _ => format!(
            "      a{at}: {{is: '{}'}}\n",
            twice.replace("{}", &(at - 1).to_string())
        ),
    });
    let model = one_entity("", &attributes, "S");
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: id == args.id && a5 > 3, allow: true}}\nwrites:\n  w: {{do: [{{create: E, take: [id, a0]}}], allow: true}}\n"
    )
}

pub fn many_states(draw: &mut Draw, bytes: usize) -> String {
    let count = (bytes / 60).max(2);
    let words: Vec<String> = (0..count).map(|at| format!("s{at}")).collect();
    let all = words.join(" | ");
    let moves: String = (0..count)
        .map(|at| {
            let from = if draw.number(0, 50) == 0 && all.len() < 20_000 {
                all.clone()
            } else {
                format!("s{at}")
            };
            format!("        m{at}: {from} -> s{}\n", (at + 1) % count)
        })
        .collect();
    let model = one_entity(
        &format!("types: {{S: {{enum: [{}]}}}}\n", words.join(", ")),
        "      s: S\n      t: time?\n",
        "S",
    );
    format!(
        "{model}    states:\n      of: s\n      start: s0\n      moves:\n{moves}      while: {{s1: {{t: now}}}}\nwrites:\n  w: {{args: {{id: string}}, do: [{{update: E(args.id), move: m0}}], allow: true}}\n"
    )
}
