//! Many of what is each within its bound: what a bound lets through is multiplied all the same.

use std::fmt::Write;

use super::{Draw, HEAD, indexed, lines};

/// Attributes that mirrors carry, all together: about as many as they may.
const ATTRIBUTES: usize = 48_000;

/// How often paths are tried for reads: about as often as a model may ask for.
const TRIES: usize = 145_000;

/// Entities of many attributes, each with some mirrors that carry them all.
pub fn attributes_of_mirrors(draw: &mut Draw, bytes: usize) -> String {
    let (attributes, mirrors) = (draw.number(2, 999), draw.number(0, 99));
    let mut left = ATTRIBUTES;
    let entities = lines(bytes, |at| {
        let mut text = format!("  E{at}:\n    attributes:\n      id: string 1..20\n");
        for name in 0..attributes {
            let _ = writeln!(text, "      a{name}: string? 1..9");
        }
        let _ = writeln!(text, "    key: {{PK: \"E{at}#{{id}}\", SK: \"S\"}}");
        for mirror in 0..mirrors {
            if left < attributes {
                break;
            }
            left -= attributes;
            let _ = writeln!(
                text,
                "  M{at}x{mirror}: {{mirrors: E{at}, carries: all, key: {{PK: \"M{at}x{mirror}#{{id}}\", SK: \"S\"}}}}"
            );
        }
        text
    });
    format!("{HEAD}entities:\n{entities}")
}

/// Reads with many arguments and names, each built on the one before.
pub fn names_of_reads(draw: &mut Draw, bytes: usize) -> String {
    let names = draw.number(1, 100);
    let arguments = draw.number(1, names.min(99));
    let reads = lines(bytes, |at| {
        let mut text = format!(
            "  r{at}:\n    find: E\n    where: id == args.id && n == v{}\n    allow: true\n    args:\n      id: string\n      x0: int\n",
            names - 1
        );
        for name in 1..arguments {
            let _ = writeln!(text, "      x{name}: int = {name}");
        }
        text.push_str("    let:\n      v0: args.x0\n");
        for name in 1..names {
            let _ = writeln!(text, "      v{name}: v{} + args.x{}", name - 1, name % arguments);
        }
        text
    });
    format!(
        "{HEAD}entities:\n  E: {{attributes: {{id: string 1..20, n: int}}, key: {{PK: \"E#{{id}}\", SK: \"S\"}}}}\nreads:\n{reads}"
    )
}

/// An entity with templates by condition in every index, and reads with optional arguments.
pub fn reads_of_choices(draw: &mut Draw, bytes: usize) -> String {
    let (indexes, choices, optional) = (draw.number(1, 20), draw.number(1, 64), draw.number(0, 6));
    let mut text = indexed(indexes);
    text.push_str("entities:\n  E:\n    attributes: {id: string 1..20, n: int 0..99, a: string 1..20}\n    key: {PK: \"E#{id}\", SK: \"S\"}\n    index:\n");
    for index in 0..indexes {
        let _ = writeln!(text, "      GSI{index}:");
        for choice in 0..choices {
            let _ = writeln!(
                text,
                "        - {{when: n == {choice}, G{index}P: \"X{choice}#{{a}}\", G{index}S: \"{{id}}\"}}"
            );
        }
    }
    text.push_str("reads:\n");
    let arguments: String = (0..optional).map(|at| format!(", x{at}: int?")).collect();
    let terms: String = (0..optional).map(|at| format!(" && n != args.x{at}")).collect();
    let weight = (2 + optional).div_ceil(4);
    let of_each = (weight * 2 * (1 + indexes * choices)) << optional;
    let mut left = TRIES;
    let reads = lines(bytes.saturating_sub(text.len()).max(100), |at| {
        if left < of_each {
            return "# No more reads can be planned.\n".to_owned();
        }
        left -= of_each;
        format!(
            "  r{at}: {{find: E, args: {{a: string{arguments}}}, where: 'a == args.a && n == {}{terms}', allow: true}}\n",
            at % 99
        )
    });
    text + &reads
}

/// Reads that come with others, for every combination of arguments.
pub fn with_of_arguments(draw: &mut Draw, bytes: usize) -> String {
    let (with, optional) = (draw.number(1, 64), draw.number(0, 10));
    let arguments: String = (0..optional).map(|at| format!(", x{at}: int?")).collect();
    let terms: String = (0..optional).map(|at| format!(" && n != args.x{at}")).collect();
    let reads = lines(bytes, |at| {
        let mut text = format!(
            "  r{at}:\n    get: E\n    args: {{id: string{arguments}}}\n    where: id == args.id{terms}\n    allow: true\n    with:\n"
        );
        for name in 0..with {
            let _ = writeln!(
                text,
                "      w{name}: {{find: F, where: id == row.id && k == {name}, limit: 5}}"
            );
        }
        text
    });
    format!(
        "{HEAD}entities:\n  E: {{attributes: {{id: string 1..20, n: int}}, key: {{PK: \"E#{{id}}\", SK: \"S\"}}}}\n  F: {{attributes: {{id: E.id, k: int 0..999}}, key: {{PK: \"E#{{id}}\", SK: \"F#{{k}}\"}}}}\nreads:\n{reads}"
    )
}

/// Writes of many steps over an entity with mirrors, guards and copies.
pub fn steps_of_mirrors(draw: &mut Draw, bytes: usize) -> String {
    let (steps, mirrors) = (draw.number(1, 400), draw.number(0, 60));
    let kind = draw.one(&[
        "create: E, set: {id: args.id, n: 1, a: args.a}",
        "update: E(args.id), set: {a: args.a}",
        "delete: E(args.id)",
        "upsert: E(args.id), set: {a: args.a, n: 1}",
    ]);
    let mut text = format!(
        "{HEAD}entities:\n  E:\n    attributes: {{id: string 1..20, a: string 1..20, n: int}}\n    unique: {{a: a}}\n    key: {{PK: \"E#{{id}}\", SK: \"S\"}}\n  C:\n    attributes: {{id: E.id, a: {{copy: E(id).a, kept: transaction}}}}\n    key: {{PK: \"C#{{id}}\", SK: \"S\"}}\n"
    );
    for mirror in 0..mirrors {
        let _ = writeln!(
            text,
            "  M{mirror}: {{mirrors: E, carries: all, key: {{PK: \"M{mirror}#{{a}}\", SK: \"{{id}}\"}}}}"
        );
    }
    text.push_str("writes:\n");
    let writes = lines(bytes.saturating_sub(text.len()).max(100), |at| {
        let mut write = format!("  w{at}:\n    args: {{id: string, a: string, n: int}}\n    allow: true\n    do:\n");
        for step in 0..steps {
            let _ = writeln!(write, "      - {{{kind}, when: args.n == {step}}}");
        }
        write
    });
    text + &writes
}
