//! Models made to blow up: each kind grows one thing that an analysis multiplies.
//!
//! A kind takes how many bytes its text may have, and what to draw from. Most are sound but for what they are made for, so
//! that design rules get to see them.

use std::fmt::Write;

/// Drawn numbers: the same seed gives the same ones.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: usize, high: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + usize::try_from(self.0 >> 11).unwrap_or(0) % (high - low + 1)
    }

    /// One of some texts.
    pub fn one(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.number(0, texts.len() - 1)]
    }
}

/// A kind of bomb: its name, and its text.
pub type Kind = (&'static str, fn(&mut Draw, usize) -> String);

pub const KINDS: &[Kind] = &[
    ("words side by side", words_side_by_side),
    ("alternatives side by side", alternatives_side_by_side),
    ("words of two entities", words_of_two_entities),
    ("counted repeats", counted_repeats),
    ("many patterns", many_patterns),
    ("objects of objects", objects_of_objects),
    ("types in a row", types_in_a_row),
    ("nested lists", nested_lists),
    ("wide objects", wide_objects),
    ("long template", long_template),
    ("one value many times in a key", repeated_part),
    ("many keys alike", keys_alike),
    ("many keys of patterns", keys_of_patterns),
    ("keys by condition", keys_by_condition),
    ("reads times indexes", reads_times_indexes),
    ("optional arguments", optional_arguments),
    ("deep expression", deep_expression),
    ("long alternatives", long_alternatives),
    ("alternatives multiplied", alternatives_multiplied),
    ("lists multiplied", lists_multiplied),
    ("values computed of values", computed_of_computed),
    ("references in a row", references_in_a_row),
    ("copies in a row", copies_in_a_row),
    ("the same mistake often", same_mistake),
    ("mistakes on one line", mistakes_on_one_line),
    ("unknown names", unknown_names),
    ("huge numbers", huge_numbers),
    ("long texts", long_texts),
    ("many acceptances", many_acceptances),
    ("conditions by hand", conditions_by_hand),
    ("many routes", many_routes),
    ("many mirrors", many_mirrors),
    ("many steps", many_steps),
    ("many states", many_states),
    ("named steps", named_steps),
    ("rows with rows", rows_with_rows),
    ("names bound to names", names_bound),
    ("nested YAML", nested_yaml),
    ("long scalars", long_scalars),
    ("many attributes", many_attributes),
];

const HEAD: &str = "singlet: 1\nname: bomb\ntable: {name: Bomb, key: {partition: PK, sort: SK}, type: kind}\n";

/// A model with these types and one entity with these attributes and this sort key.
fn one_entity(types: &str, attributes: &str, sort: &str) -> String {
    format!(
        "{HEAD}{types}entities:\n  E:\n    attributes:\n      id: string 1..20\n{attributes}    key: {{PK: \"E#{{id}}\", SK: \"{sort}\"}}\n"
    )
}

/// A table with some indexes: `GSI0` with `G0P` and `G0S`, and so on.
fn indexed(count: usize) -> String {
    let mut text =
        "singlet: 1\nname: bomb\ntable:\n  name: Bomb\n  key: {partition: PK, sort: SK}\n  type: kind\n  indexes:\n"
            .to_owned();
    for at in 0..count {
        let _ = writeln!(text, "    GSI{at}: {{partition: G{at}P, sort: G{at}S}}");
    }
    text
}

/// Lines until the text has so many bytes.
fn lines(bytes: usize, mut line: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    let mut at = 0;
    while text.len() < bytes {
        text.push_str(&line(at));
        at += 1;
    }
    text
}

/// Words until they have so many bytes, with something between.
fn words(draw: &mut Draw, bytes: usize, between: &str) -> String {
    let (letters, longest) = (draw.number(1, 26), draw.number(2, 12));
    let mut text = String::new();
    let mut at = 0;
    while text.len() < bytes {
        if at > 0 {
            text.push_str(between);
        }
        for _ in 0..draw.number(1, longest) {
            text.push(char::from(
                b'a' + u8::try_from(draw.number(0, letters - 1)).unwrap_or(0),
            ));
        }
        // A number makes it another word than those before.
        let _ = write!(text, "{at}");
        at += 1;
    }
    text
}

fn words_side_by_side(draw: &mut Draw, bytes: usize) -> String {
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

fn alternatives_side_by_side(draw: &mut Draw, bytes: usize) -> String {
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

fn words_of_two_entities(draw: &mut Draw, bytes: usize) -> String {
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

fn counted_repeats(draw: &mut Draw, bytes: usize) -> String {
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

fn many_patterns(draw: &mut Draw, bytes: usize) -> String {
    let one = draw.number(100, 2_500);
    let entities = lines(bytes, |at| {
        format!(
            "  E{at}: {{attributes: {{a: 'string /(?:a?b?){{{one}}}/'}}, key: {{PK: \"E{at}#{{a}}\", SK: \"S\"}}}}\n"
        )
    });
    format!("{HEAD}entities:\n{entities}")
}

fn objects_of_objects(draw: &mut Draw, bytes: usize) -> String {
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

fn types_in_a_row(draw: &mut Draw, bytes: usize) -> String {
    let wrap = draw.number(0, 1) == 1;
    let types = lines(bytes, |at| match wrap {
        true => format!("  T{at}: list(T{})\n", at + 1),
        false => format!("  T{at}: T{}\n", at + 1),
    });
    let last = types.lines().count();
    one_entity(&format!("types:\n{types}  T{last}: string\n"), "      t: T0\n", "S")
}

fn nested_lists(draw: &mut Draw, bytes: usize) -> String {
    let of = draw.one(&["list", "map", "set"]);
    let depth = bytes / (2 * of.len() + 2) + 1;
    let nested = format!("{}string{}", format!("{of}(").repeat(depth), ")".repeat(depth));
    one_entity("", &format!("      t: {nested}\n"), "S")
}

fn wide_objects(draw: &mut Draw, bytes: usize) -> String {
    let fields = lines(bytes / 2, |at| format!("      f{at}: string? ..9\n"));
    let types = format!("types:\n  O:\n    object:\n{fields}");
    let of = draw.one(&["O", "list(O)", "map(list(O))"]);
    let attributes = lines(bytes / 2, |at| format!("      o{at}: {of}\n"));
    let model = one_entity(&types, &attributes, "S");
    format!(
        "{model}reads:\n  r: {{get: E, where: id == args.id, allow: true, http: \"GET /e/{{id}}\"}}\nwrites:\n  w: {{do: [{{create: E, take: [id, o0, o1]}}], allow: true, http: POST /e}}\n"
    )
}

fn long_template(draw: &mut Draw, bytes: usize) -> String {
    let between = draw.one(&["", "#", "x", "##"]);
    let of = draw.one(&["string", "string 1..2", "string ..1", "date", "int 0..9", "string /a*/"]);
    let count = (bytes / 24).max(2);
    let attributes: String = (0..count).map(|at| format!("      a{at}: {of}\n")).collect();
    let parts: Vec<String> = (0..count).map(|at| format!("{{a{at}}}")).collect();
    one_entity("", &attributes, &parts.join(between))
}

fn repeated_part(draw: &mut Draw, bytes: usize) -> String {
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

fn keys_alike(draw: &mut Draw, bytes: usize) -> String {
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

fn keys_of_patterns(draw: &mut Draw, bytes: usize) -> String {
    let each = draw.number(20, 400);
    let entities = lines(bytes, |at| {
        let (one, two) = (words(draw, each, "|"), words(draw, each, "|"));
        format!(
            "  E{at}: {{attributes: {{a: 'string /(?:{one})*/', b: 'string /({two})+z{at}/'}}, key: {{PK: \"P\", SK: \"{{a}}{{b}}\"}}}}\n"
        )
    });
    format!("{HEAD}entities:\n{entities}")
}

fn keys_by_condition(draw: &mut Draw, bytes: usize) -> String {
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

fn reads_times_indexes(draw: &mut Draw, bytes: usize) -> String {
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

fn optional_arguments(draw: &mut Draw, bytes: usize) -> String {
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

fn deep_expression(draw: &mut Draw, bytes: usize) -> String {
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

fn long_alternatives(draw: &mut Draw, bytes: usize) -> String {
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

fn alternatives_multiplied(draw: &mut Draw, bytes: usize) -> String {
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

fn lists_multiplied(draw: &mut Draw, bytes: usize) -> String {
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

fn computed_of_computed(draw: &mut Draw, bytes: usize) -> String {
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

fn references_in_a_row(draw: &mut Draw, bytes: usize) -> String {
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

fn copies_in_a_row(draw: &mut Draw, bytes: usize) -> String {
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

fn same_mistake(draw: &mut Draw, bytes: usize) -> String {
    let mistake = draw.one(&[
        "a{}: strin",
        "a{}: string /(/",
        "a{}: {is: b{}}",
        "a{}: string = absent",
        "a{}: {type: int, wrong: 1}",
        "a{}: E.b",
    ]);
    let attributes = lines(bytes, |at| {
        format!("      {}\n", mistake.replace("{}", &at.to_string()))
    });
    one_entity("", &attributes, "S")
}

fn mistakes_on_one_line(draw: &mut Draw, bytes: usize) -> String {
    let mistake = draw.one(&["a{}: strin", "a{}: nothing{}", "\"b {}\": string"]);
    let all = lines(bytes, |at| format!("{}, ", mistake.replace("{}", &at.to_string())));
    format!("{HEAD}entities: {{E: {{attributes: {{{all} id: string}}, key: {{PK: \"{{id}}\", SK: \"S\"}}}}}}\n")
}

fn unknown_names(draw: &mut Draw, bytes: usize) -> String {
    let name = "n".repeat(draw.number(1, 400));
    let attributes = lines(bytes / 2, |at| format!("      {name}{at}: string\n"));
    let model = one_entity("", &attributes, "S");
    let reads = lines(bytes / 2, |at| {
        format!("  r{at}: {{find: E, where: id == \"x\" && m{name}{at} == \"y\", allow: true}}\n")
    });
    format!("{model}reads:\n{reads}")
}

fn huge_numbers(draw: &mut Draw, bytes: usize) -> String {
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

fn long_texts(draw: &mut Draw, bytes: usize) -> String {
    let text = "x".repeat(bytes / 4);
    let of = draw.one(&["string", "string /x*/", "string 1000.."]);
    format!(
        "{HEAD}entities:\n  A: {{attributes: {{a: '{of}'}}, key: {{PK: \"{text}{{a}}\", SK: \"{{a}}{text}\"}}}}\n  B: {{attributes: {{a: '{of}'}}, key: {{PK: \"{{a}}{text}\", SK: \"{text}{{a}}\"}}}}\n"
    )
}

fn many_acceptances(draw: &mut Draw, bytes: usize) -> String {
    let rule = draw.one(&["K005", "colliding-keys", "K099", "no-recovery"]);
    let accept = lines(bytes / 2, |at| {
        format!("  - {{rule: {rule}, at: E{at}, why: it is meant}}\n")
    });
    format!("{}accept:\n{accept}", keys_alike(draw, bytes / 2))
}

fn conditions_by_hand(draw: &mut Draw, bytes: usize) -> String {
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

fn many_routes(draw: &mut Draw, bytes: usize) -> String {
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

fn many_mirrors(draw: &mut Draw, bytes: usize) -> String {
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

fn many_steps(draw: &mut Draw, bytes: usize) -> String {
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

fn many_states(draw: &mut Draw, bytes: usize) -> String {
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

fn named_steps(draw: &mut Draw, bytes: usize) -> String {
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

fn rows_with_rows(draw: &mut Draw, bytes: usize) -> String {
    let one = draw.one(&["get: 'E?'", "find: E, limit: 5", "count: E"]);
    let with = lines(bytes, |at| {
        format!("      w{at}: {{{one}, where: id == row.id && n == {at}}}\n")
    });
    let model = one_entity("", "      n: int 0..100000\n", "S{n}");
    format!(
        "{model}reads:\n  r:\n    find: E\n    args: {{id: string}}\n    where: id == args.id\n    allow: true\n    with:\n{with}"
    )
}

fn names_bound(draw: &mut Draw, bytes: usize) -> String {
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

fn nested_yaml(draw: &mut Draw, bytes: usize) -> String {
    let (open, close) = [("[", "]"), ("{a: ", "}"), ("- ", "")][draw.number(0, 2)];
    let depth = bytes / (open.len() + close.len());
    format!("{HEAD}entities: {}x{}\n", open.repeat(depth), close.repeat(depth))
}

fn long_scalars(draw: &mut Draw, bytes: usize) -> String {
    let long = "z".repeat(bytes / 3);
    let at = draw.number(0, 4);
    let (name, ty, key) = match at {
        0 => (long.as_str(), "string", "S"),
        1 => ("a", long.as_str(), "S"),
        2 => ("a", "string", long.as_str()),
        3 => (long.as_str(), long.as_str(), long.as_str()),
        _ => (long.as_str(), "string", "{nothing}"),
    };
    let model = one_entity("", &format!("      {name}: {ty}\n"), key);
    format!(
        "{model}reads:\n  r: {{find: E, args: {{id: string}}, where: 'id == \"{long}\" && {long} == 1', allow: true}}\n"
    )
}

fn many_attributes(draw: &mut Draw, bytes: usize) -> String {
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
