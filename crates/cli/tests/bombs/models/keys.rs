//! Keys whose languages are large, and keys that many entities have alike.

use std::fmt::Write;

use super::{Draw, HEAD, indexed, lines, one_entity, words};

pub fn words_side_by_side(draw: &mut Draw, bytes: usize) -> String {
    let types = format!("types: {{T: {{enum: [{}]}}}}\n", words(draw, bytes, ", "));
    let part = draw.one(&[
        "{a}{b}",
        "{a}{b}{c}",
        "{upper(a)}{b}",
        "{a}{b}{a}",
        "x{a}{b}{c}{d}",
        "{rank(a)}{b}",
    ]);
    one_entity(&types, "      a: T\n      b: T\n      c: T\n      d: T\n", part)
}

pub fn alternatives_side_by_side(draw: &mut Draw, bytes: usize) -> String {
    let pattern = words(draw, bytes / 2, "|");
    let repeat = draw.one(&["", "*", "+", "{1,3}", "?"]);
    let attributes = format!("      a: string /({pattern}){repeat}/\n      b: string /(?:{pattern}){repeat}/\n");
    let part = draw.one(&[
        "{a}{b}",
        "{raw(a)}{raw(b)}",
        "{lower(a)}{b}",
        "{a}{b}{a}{b}",
        "{upper(a)}{upper(b)}",
    ]);
    one_entity("", &attributes, part)
}

pub fn words_of_two_entities(draw: &mut Draw, bytes: usize) -> String {
    let types = format!(
        "types:\n  T: {{enum: [{}]}}\n  U: {{enum: [{}]}}\n",
        words(draw, bytes / 2, ", "),
        words(draw, bytes / 2, ", ")
    );
    let part = draw.one(&["{a}{b}", "{a}#{b}", "{upper(a)}{lower(b)}", "{a}"]);
    let mut text = format!("{HEAD}{types}entities:\n");
    for (name, ty) in [("A", "T"), ("B", "U"), ("C", "T")] {
        let _ = writeln!(
            text,
            "  {name}: {{attributes: {{a: {ty}, b: {ty}}}, key: {{PK: \"P\", SK: \"{part}\"}}}}"
        );
    }
    text
}

pub fn long_template(draw: &mut Draw, bytes: usize) -> String {
    let between = draw.one(&["", "#", "x", "##"]);
    let of = draw.one(&["string", "string 1..2", "string ..1", "date", "int 0..9", "string /a*/"]);
    let count = (bytes / 24).max(2);
    let attributes: String = (0..count).map(|at| format!("      a{at}: {of}\n")).collect();
    let parts: Vec<String> = (0..count).map(|at| format!("{{a{at}}}")).collect();
    one_entity("", &attributes, &parts.join(between))
}

pub fn repeated_part(draw: &mut Draw, bytes: usize) -> String {
    let part = draw.one(&["{a}", "{a}b", "{a}{b}", "{raw(a)}", "{lower(a)}{a}", "{a}#"]);
    let attributes = "      a: string\n      b: string /[ab]*/\n";
    let parts = part.repeat((bytes / part.len()).max(1));
    let mut text = one_entity("", attributes, &parts);
    let _ = write!(
        text,
        "  F:\n    attributes: {{id: string, a: string, b: string}}\n    key: {{PK: \"E#{{id}}\", SK: \"{{b}}{}\"}}\n",
        part.repeat(draw.number(1, 4))
    );
    text
}

pub fn keys_alike(draw: &mut Draw, bytes: usize) -> String {
    let of = draw.one(&["string", "ulid", "date", "string /[a-z]+/", "int 0..999"]);
    let different = draw.number(0, 2);
    let entities = lines(bytes, |at| {
        let sort = match different {
            0 => "{a}".to_owned(),
            1 => format!("{{a}}#X{at}"),
            _ => format!("{{a}}{{b}}{at}"),
        };
        format!("  E{at}: {{attributes: {{a: '{of}', b: '{of}'}}, key: {{PK: \"P\", SK: \"{sort}\"}}}}\n")
    });
    format!("{HEAD}entities:\n{entities}")
}

pub fn keys_of_patterns(draw: &mut Draw, bytes: usize) -> String {
    let each = draw.number(20, 400);
    let entities = lines(bytes, |at| {
        let (one, two) = (words(draw, each, "|"), words(draw, each, "|"));
        format!(
            "  E{at}: {{attributes: {{a: 'string /(?:{one})*/', b: 'string /({two})+z{at}/'}}, key: {{PK: \"P\", SK: \"{{a}}{{b}}\"}}}}\n"
        )
    });
    format!("{HEAD}entities:\n{entities}")
}

pub fn keys_by_condition(draw: &mut Draw, bytes: usize) -> String {
    let prefix = draw.one(&["", "X"]);
    let choices = lines(bytes, |at| {
        let (own, prefix) = (
            at % 7,
            if prefix.is_empty() {
                String::new()
            } else {
                format!("X{at}#")
            },
        );
        format!("        - {{when: n == {at}, G0P: \"{prefix}{{id}}\", G0S: \"A{own}#{{n}}\"}}\n")
    });
    format!(
        "{}entities:\n  E:\n    attributes:\n      id: string 1..20\n      n: int 0..100000\n    key: {{PK: \"E#{{id}}\", SK: \"S\"}}\n    index:\n      GSI0:\n{choices}reads:\n  r: {{find: E, where: id == args.id && n > 3, args: {{id: string}}, order: n, allow: true}}\n",
        indexed(1)
    )
}

pub fn long_texts(draw: &mut Draw, bytes: usize) -> String {
    let text = "x".repeat(bytes / 4);
    let of = draw.one(&["string", "string /x*/", "string 1000.."]);
    format!(
        "{HEAD}entities:\n  A: {{attributes: {{a: '{of}'}}, key: {{PK: \"{text}{{a}}\", SK: \"{{a}}{text}\"}}}}\n  B: {{attributes: {{a: '{of}'}}, key: {{PK: \"{{a}}{text}\", SK: \"{text}{{a}}\"}}}}\n"
    )
}

pub fn references_in_a_row(draw: &mut Draw, bytes: usize) -> String {
    let forward = draw.number(0, 1) == 1;
    let entity = |at: usize, of: &str| {
        format!("  E{at}: {{attributes: {{id: {of}}}, key: {{PK: \"E{at}#{{id}}\", SK: \"S\"}}}}\n")
    };
    let entities = lines(bytes, |at| match (at, forward) {
        (0, false) => entity(at, "string 1..9"),
        (_, false) => entity(at, &format!("E{}.id", at - 1)),
        (_, true) => entity(at, &format!("E{}.id", at + 1)),
    });
    let last = entities.lines().count();
    format!("{HEAD}entities:\n{entities}{}", entity(last, "string 1..9"))
}

pub fn many_mirrors(draw: &mut Draw, bytes: usize) -> String {
    let same = draw.number(0, 1) == 1;
    let mirrors = lines(bytes, |at| {
        let prefix = if same { "M#".to_owned() } else { format!("M{at}#") };
        format!("  M{at}: {{mirrors: E, carries: all, key: {{PK: \"{prefix}{{a}}\", SK: \"{{id}}\"}}}}\n")
    });
    let model = one_entity("", "      a: string 1..20\n      b: string? 1..20\n", "S");
    format!(
        "{model}{mirrors}reads:\n  r: {{find: E, args: {{a: string}}, where: a == args.a, allow: true}}\nwrites:\n  w: {{do: [{{create: E, take: [id, a, b]}}], allow: true}}\n  u: {{args: {{id: string}}, do: [{{update: E(args.id), take: [a, b]}}], allow: true}}\n"
    )
}
