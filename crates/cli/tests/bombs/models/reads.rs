//! Reads whose meaning, arguments or conditions multiply.

use std::fmt::Write;

use super::{Draw, indexed, lines, one_entity, words};

pub fn reads_times_indexes(draw: &mut Draw, bytes: usize) -> String {
    let indexes = draw.number(1, 20);
    let mut text = indexed(indexes);
    text.push_str("entities:\n  E:\n    attributes:\n      id: string 1..20\n");
    (0..20).for_each(|at| {
        let _ = writeln!(text, "      a{at}: string? 1..20");
    });
    text.push_str("    key: {PK: \"E#{id}\", SK: \"S\"}\n    index:\n");
    (0..indexes).for_each(|at| {
        let _ = writeln!(
            text,
            "      GSI{at}: {{G{at}P: \"{{a{at}}}\", G{at}S: \"{{a{}}}#{{id}}\"}}",
            (at + 1) % 20
        );
    });
    text.push_str("reads:\n");
    let reads = lines(bytes, |at| {
        let (one, two, three) = (draw.number(0, 19), draw.number(0, 19), draw.number(0, 19));
        format!(
            "  r{at}: {{find: E, args: {{x: string, y: string?, z: string?}}, where: a{one} == args.x && a{two} == args.y && a{three} >= args.z, order: a{three}, allow: true}}\n"
        )
    });
    text + &reads
}

pub fn optional_arguments(draw: &mut Draw, bytes: usize) -> String {
    let count = draw.number(2, 40);
    let args: Vec<String> = (0..count).map(|at| format!("x{at}: string?")).collect();
    let operator = draw.one(&["==", ">=", "!="]);
    let each: Vec<String> = (0..count).map(|at| format!("a{at} {operator} args.x{at}")).collect();
    let attributes: String = (0..count).map(|at| format!("      a{at}: string?\n")).collect();
    let model = one_entity("", &attributes, "S");
    let reads = lines(bytes, |at| {
        format!(
            "  r{at}: {{find: E, args: {{id: string, {}}}, where: 'id == args.id && {}', allow: true}}\n",
            args.join(", "),
            each.join(" && ")
        )
    });
    format!("{model}reads:\n{reads}")
}

pub fn deep_expression(draw: &mut Draw, bytes: usize) -> String {
    let depth = bytes / 8 + 1;
    let expression = match draw.number(0, 6) {
        0 => format!("{}true{}", "(".repeat(depth), ")".repeat(depth)),
        1 => format!("{}(n > 1)", "!".repeat(depth)),
        2 => format!("{}n > 1{}", "n > 2 ? true : (".repeat(depth), ")".repeat(depth)),
        3 => format!("n == 1{}", " + 1".repeat(depth)),
        4 => format!("n == {}1{}", "[".repeat(depth), "]".repeat(depth)),
        5 => format!("id == {}id{}", "lower(".repeat(depth), ")".repeat(depth)),
        _ => format!("n == 1{}", " ? 2 : 3".repeat(depth)),
    };
    let model = one_entity("", "      n: int\n", "S");
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: 'id == args.id && ({expression})', allow: true}}\n"
    )
}

pub fn long_alternatives(draw: &mut Draw, bytes: usize) -> String {
    let sign = draw.one(&[" || ", " && "]);
    let of = draw.one(&["a ==", "a !=", "n >", "a.contains", "b =="]);
    let mut terms = Vec::new();
    let mut length = 0;
    while length < bytes {
        let at = terms.len();
        let term = match of {
            "n >" => format!("n > {at}"),
            "a.contains" => format!("a.contains(\"x{at}\")"),
            "b ==" => format!("(a == \"x{at}\" && b == \"y{at}\")"),
            _ => format!("{of} \"x{at}\""),
        };
        length += term.len() + sign.len();
        terms.push(term);
    }
    let model = one_entity("", "      a: string\n      b: string\n      n: int\n", "S");
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: 'id == args.id && ({})', allow: true}}\n",
        terms.join(sign)
    )
}

pub fn alternatives_multiplied(draw: &mut Draw, bytes: usize) -> String {
    let count = (bytes / 60).clamp(2, 4_000);
    let attributes: String = (0..count).map(|at| format!("      a{at}: string\n")).collect();
    let choice = |at: usize| match draw.number(0, 2) {
        0 => format!("(a{at} == \"x\" || a{at} == \"y\")"),
        1 => format!("(a{at} in [\"x\", \"y\", \"z\"])"),
        _ => format!("(!(a{at} == \"x\" && a{} == \"y\"))", (at + 1) % count),
    };
    let terms: Vec<String> = (0..count).map(choice).collect();
    let model = one_entity("", &attributes, "S");
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: 'id == args.id && {}', allow: true}}\n",
        terms.join(" && ")
    )
}

pub fn lists_multiplied(draw: &mut Draw, bytes: usize) -> String {
    let count = draw.number(2, 6);
    let values = words(draw, bytes / (count * 2), "\", \"");
    let attributes: String = (0..count).map(|at| format!("      a{at}: string 1..20\n")).collect();
    let parts: Vec<String> = (0..count).map(|at| format!("{{a{at}}}")).collect();
    let terms: Vec<String> = (0..count).map(|at| format!("a{at} in [\"{values}\"]")).collect();
    let model = one_entity("", &attributes, &parts.join("#"));
    format!(
        "{model}reads:\n  r: {{find: E, args: {{ids: 'list(string) 1..500'}}, where: 'id in args.ids && {}', allow: true}}\n",
        terms.join(" && ")
    )
}

pub fn conditions_by_hand(draw: &mut Draw, bytes: usize) -> String {
    let count = draw.number(1, 12);
    let attributes: String = (0..count).map(|at| format!("      a{at}: string? 1..20\n")).collect();
    let args: Vec<String> = (0..count).map(|at| format!("x{at}: string?")).collect();
    let terms: Vec<String> = (0..count).map(|at| format!("a{at} >= args.x{at}")).collect();
    let model = one_entity("", &format!("{attributes}      n: int 0..99\n"), "S#{n}");
    let reads = lines(bytes, |at| {
        format!(
            "  r{at}:\n    find: E\n    args: {{id: string, lo: int 0..99, {}}}\n    where: id == args.id && n >= args.lo && {}\n    allow: true\n    using: {{key: {{PK: \"E#{{args.id}}\", SK: {{\">=\": \"S#{{args.lo}}\"}}}}}}\n",
            args.join(", "),
            terms.join(" && ")
        )
    });
    format!("{model}reads:\n{reads}")
}

pub fn many_routes(draw: &mut Draw, bytes: usize) -> String {
    let shape = draw.number(0, 2);
    let model = one_entity("", "", "S");
    let reads = lines(bytes, |at| {
        let route = match shape {
            0 => format!("/a{at}/{{id}}"),
            1 => "/{id}".to_owned(),
            _ => format!("/{{id}}?x{at}=1"),
        };
        format!("  r{at}: {{get: E, where: id == args.id, allow: true, http: \"GET {route}\"}}\n")
    });
    format!("{model}reads:\n{reads}")
}

pub fn rows_with_rows(draw: &mut Draw, bytes: usize) -> String {
    let one = draw.one(&["get: 'E?'", "find: E, limit: 5", "count: E"]);
    let with = lines(bytes, |at| {
        format!("      w{at}: {{{one}, where: id == row.id && n == {at}}}\n")
    });
    let model = one_entity("", "      n: int 0..100000\n", "S{n}");
    format!(
        "{model}reads:\n  r:\n    find: E\n    args: {{id: string}}\n    where: id == args.id\n    allow: true\n    with:\n{with}"
    )
}

pub fn names_bound(draw: &mut Draw, bytes: usize) -> String {
    let twice = draw.one(&["v{} + v{}", "v{} + 1", "v{} > 2 ? v{} : v{}"]);
    let lets = lines(bytes, |at| match at {
        0 => "      v0: args.n\n".to_owned(),
        _ => format!("      v{at}: '{}'\n", twice.replace("{}", &(at - 1).to_string())),
    });
    let last = lets.lines().count() - 1;
    let model = one_entity("", "      n: int\n", "S");
    format!(
        "{model}reads:\n  r:\n    find: E\n    args: {{id: string, n: int}}\n    let:\n{lets}    where: id == args.id && n == v{last}\n    allow: true\n"
    )
}
