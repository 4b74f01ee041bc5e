//! Writes of many steps, and steps that call steps.

use std::fmt::Write;

use super::{Draw, HEAD, lines, one_entity};

pub fn copies_in_a_row(draw: &mut Draw, bytes: usize) -> String {
    let kept = draw.one(&["transaction", "frozen"]);
    let entities = lines(bytes, |at| {
        let of = match at {
            0 => "string 1..9".to_owned(),
            _ => format!("{{copy: E{}(id).v, kept: {kept}}}", at - 1),
        };
        format!("  E{at}: {{attributes: {{id: string 1..9, v: {of}}}, key: {{PK: \"E{at}#{{id}}\", SK: \"S\"}}}}\n")
    });
    let writes = "writes:\n  w: {args: {id: string}, do: [{update: E0(args.id), take: [v]}], allow: true}\n";
    format!("{HEAD}entities:\n{entities}{writes}")
}

pub fn many_steps(draw: &mut Draw, bytes: usize) -> String {
    let kind = draw.one(&["create: E", "update: E(args.id)", "delete: E(args.id)"]);
    let nested = draw.number(0, 1) == 1;
    let model = one_entity("", "      a: string 1..20\n      n: int\n", "S{n}");
    let mut steps = String::new();
    let mut indent = 6;
    let mut at = 0;
    while steps.len() < bytes {
        let _ = writeln!(
            steps,
            "{}- {{{kind}, set: {{a: \"'x{at}'\"}}, when: args.n > {at}}}",
            " ".repeat(indent)
        );
        if nested && at % 5 == 4 && indent < 60 {
            let _ = writeln!(
                steps,
                "{}- for: {{x{at}: args.list}}\n{}  do:",
                " ".repeat(indent),
                " ".repeat(indent)
            );
            indent += 4;
        }
        at += 1;
    }
    format!(
        "{model}writes:\n  w:\n    args: {{id: string, n: int, list: 'list(string) 1..50'}}\n    allow: true\n    do:\n{steps}"
    )
}

pub fn named_steps(draw: &mut Draw, bytes: usize) -> String {
    let back = draw.number(0, 1);
    let model = one_entity("", "      n: int\n", "S");
    let steps = lines(bytes / 2, |at| {
        let next = (at + 1).saturating_sub(2 * back);
        format!(
            "  p{at}:\n    args: {{x: string}}\n    do:\n      - p{next}: {{x: args.x}}\n      - p{next}: {{x: args.x}}\n      - {{update: E(args.x), add: {{n: 1}}}}\n"
        )
    });
    let writes = lines(bytes / 2, |at| {
        format!(
            "  w{at}: {{args: {{id: string}}, allow: true, do: [{{p{}: {{x: args.id}}}}]}}\n",
            at / 3
        )
    });
    format!("{model}steps:\n{steps}writes:\n{writes}")
}
