//! Small models with writes, made up: what an entity promises, in every mixture, and operations that lean on it.

mod composed;
pub mod tallies;
pub mod triggers;
pub mod webhooks;

use fastrand::Rng;

/// What an entity is made of.
#[derive(Clone, Copy, Debug)]
struct Traits {
    version: bool,
    states: bool,
    lapse: bool,
    expires: bool,
    history: bool,
    tombstone: bool,
    unique: bool,
    mirror: bool,
    crowded_mirror: bool,
    sparse_mirror: bool,
    index: bool,
    conditional: bool,
    computed: bool,
    two_part_key: bool,
}

impl Traits {
    fn any(rng: &mut Rng) -> Self {
        let history = rng.u8(..6) == 0;
        let states = rng.u8(..3) > 0;
        Traits {
            version: !history && rng.bool(),
            states: !history && states,
            lapse: rng.bool(),
            expires: !history && rng.u8(..3) == 0,
            history,
            tombstone: rng.u8(..3) > 0,
            unique: rng.bool(),
            mirror: !history && rng.bool(),
            crowded_mirror: rng.u8(..3) > 0,
            sparse_mirror: rng.u8(..4) == 0,
            index: rng.u8(..4) > 0,
            conditional: rng.bool(),
            computed: rng.bool(),
            two_part_key: !history && rng.u8(..3) == 0,
        }
    }
}

/// A model with writes.
#[derive(Debug)]
pub struct GeneratedWrites {
    /// The file up to its writes.
    head: String,
    /// The writes.
    pub writes: Vec<String>,
}

impl GeneratedWrites {
    /// The model file.
    pub fn text(&self) -> String {
        format!("{}{}", self.head, self.writes.concat())
    }

    /// The model file with one write only.
    pub fn text_with(&self, write: &str) -> String {
        format!("{}{write}", self.head)
    }
}

/// Makes up a model with writes.
pub fn generate_writes(rng: &mut Rng) -> GeneratedWrites {
    let traits: Vec<Traits> = (0..2).map(|_| Traits::any(rng)).collect();
    model_of(rng, &traits)
}

fn model_of(rng: &mut Rng, traits: &[Traits]) -> GeneratedWrites {
    // Of an index of keys alone, a row may have the entry of the one that it replaces.
    let projected = rng.choice(["", ", project: keys"]).unwrap_or_default();
    let mut text = String::from(
        r#"singlet: 1
name: made
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
  type: type
  ttl: ttl
types:
  State: {enum: [open, held, done]}
  Kind: {enum: [red, green, blue], was: {red: crimson}}
  LineIn: {object: {no: int 0..9, amount: int -9..9}}
callers:
  jwt: {audience: made, claims: {id: sub, role: role}}
entities:
"#,
    )
    .replace("sort: GSI1SK}", &format!("sort: GSI1SK{projected}}}"));
    for (at, known) in traits.iter().enumerate() {
        text.push_str(&entity(&format!("E{at}"), known));
    }
    if let Some(first) = traits.first() {
        text.push_str(&composed::composed_entities(rng, first));
    }
    text.push_str(composed::STEPS);
    text.push_str("writes:\n");
    let mut writes = String::new();
    for (at, known) in traits.iter().enumerate() {
        writes.push_str(&own_writes(rng, &format!("E{at}"), known));
    }
    writes.push_str(&joint_writes(rng, traits));
    if let Some(first) = traits.first() {
        writes.push_str(&composed::composed_writes(rng, first));
    }
    let mut writes = map_entries(&writes);
    if let Some(first) = writes.first_mut() {
        first.push_str("    was: formerWrite\n");
    }
    GeneratedWrites { head: text, writes }
}

/// The entries of a map, each with the lines that belong to it.
fn map_entries(text: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in text.lines() {
        let is_first = line.starts_with("  ") && !line.starts_with("   ");
        match entries.last_mut().filter(|_| !is_first) {
            Some(entry) => entry.push_str(&format!("{line}\n")),
            None => entries.push(format!("{line}\n")),
        }
    }
    entries
}

fn entity(name: &str, known: &Traits) -> String {
    let mut lines = vec![
        format!("  {name}:"),
        "    attributes:".to_owned(),
        "      id: string 1..40".to_owned(),
    ];
    let mut say = |there: bool, line: &str| {
        if there {
            lines.push(line.to_owned());
        }
    };
    say(known.two_part_key, "      part: Kind");
    say(known.history, "      at: time");
    say(known.history, "      until: time?");
    say(known.history && known.tombstone, "      gone: bool = false");
    say(true, "      name: string 1..40");
    say(true, "      note: string? 1..40");
    say(true, "      kind: Kind?");
    say(true, "      count: int 0..5 = 0");
    say(true, "      total: int? -3..3");
    say(true, "      tags: set(string 1..40)? ..2");
    say(true, "      list: list(int 0..9)? ..3");
    say(true, "      counts: map(int)? ..3");
    say(
        true,
        "      maker: {type: 'string? 1..40', fixed: true, was: author, fill: name}",
    );
    say(true, "      touched: {type: seconds, always: now}");
    say(known.states, "      state: State");
    say(known.states, "      heldUntil: time?");
    say(known.expires, "      ends: time?");
    say(
        known.computed,
        "      label: {is: 'lower(name) + \"-\" + string(count)'}",
    );
    say(known.version, "      version: version");
    let (partition, sort) = match (known.history, known.two_part_key) {
        (true, _) => ("{id}", "AT#{at}"),
        (false, true) => ("{id}", "ROW#{part}"),
        (false, false) => ("{id}", "ROW"),
    };
    say(
        true,
        &format!("    key: {{PK: \"{name}#{partition}\", SK: \"{sort}\"}}"),
    );
    let note = "GSI1PK: \"NOTE#{note}\", GSI1SK: \"{name}#{kind}\"";
    if known.index {
        say(true, "    index:");
        match known.conditional {
            true => {
                let when = if known.states {
                    "state == \"open\""
                } else {
                    "count >= 2"
                };
                say(true, "      GSI1:");
                say(true, &format!("        - {{when: {when}, {note}}}"));
                say(true, "        - {GSI1PK: \"REST\", GSI1SK: \"N#{count}\"}");
            }
            false => say(true, &format!("      GSI1: {{{note}}}")),
        }
    }
    // What was before means nothing to a model by itself.
    say(
        known.unique,
        "    unique: {name: lower(name), note: {is: note, was: remark}}",
    );
    say(known.unique, &format!("    was: Former{name}"));
    say(known.expires, "    expires: 'ends == absent ? absent : ends'");
    if known.history {
        let tombstone = if known.tombstone { ", tombstone: gone" } else { "" };
        say(true, &format!("    history: {{at: at, until: until{tombstone}}}"));
    }
    if known.states {
        say(true, "    states:");
        say(true, "      of: state");
        say(true, "      start: open");
        say(
            true,
            "      moves: {hold: open -> held, free: held -> open, finish: open | held -> done}",
        );
        say(true, "      while: {held: {heldUntil: now + minutes(2)}}");
        say(known.lapse, "      lapse: {held: \"open at heldUntil\"}");
    }
    if known.mirror {
        let key = match (known.crowded_mirror, known.two_part_key) {
            _ if known.sparse_mirror && known.crowded_mirror => "PK: \"BY#{kind}\", SK: \"ROW\"",
            (_, true) if known.sparse_mirror => "PK: \"BY#{kind}\", SK: \"{id}#{part}\"",
            (_, false) if known.sparse_mirror => "PK: \"BY#{kind}\", SK: \"{id}\"",
            (true, _) => "PK: \"BY#{name}\", SK: \"N#{count}\"",
            (false, true) => "PK: \"BY#{name}\", SK: \"{id}#{part}\"",
            (false, false) => "PK: \"BY#{name}\", SK: \"{id}\"",
        };
        say(true, &format!("  {name}By:"));
        say(true, &format!("    mirrors: {name}"));
        let part = if known.two_part_key { ", part" } else { "" };
        say(true, &format!("    carries: [id, name, note, count{part}]"));
        say(
            true,
            &format!("    key: {{{}}}", key.replace("BY#", &format!("{name}BY#"))),
        );
    }
    lines.join("\n") + "\n"
}

/// The row that a write is about.
fn written_row(name: &str, known: &Traits) -> String {
    match known.two_part_key {
        true => format!("{name}(args.id, args.part)"),
        false => format!("{name}(args.id)"),
    }
}

fn args(known: &Traits, more: &str) -> String {
    let part = if known.two_part_key { ", part: Kind" } else { "" };
    let more = if more.is_empty() {
        String::new()
    } else {
        format!(", {more}")
    };
    format!("{{id: string 1..40{part}{more}}}")
}

fn write(name: &str, args: &str, body: &str) -> String {
    let args = match body.contains("args.part") {
        true => args.to_owned(),
        false => args.replace(", part: Kind", ""),
    };
    let args = if args.is_empty() {
        String::new()
    } else {
        format!("    args: {args}\n")
    };
    format!("  {name}:\n{args}    allow: caller.authenticated\n{body}")
}

fn own_writes(rng: &mut Rng, name: &str, known: &Traits) -> String {
    let row = written_row(name, known);
    let part = if known.two_part_key { ", part" } else { "" };
    let ends = if known.expires { ", ends" } else { "" };
    let skip = if rng.u8(..4) == 0 { "        else: skip\n" } else { "" };
    let mut text = write(
        &format!("create{name}"),
        "",
        &format!("    do:\n      - create: {name}\n        take: [id{part}, name, note, kind{ends}]\n"),
    );
    text += &write(
        &format!("take{name}"),
        &args(known, ""),
        &format!("    do:\n      - update: {row}\n        take: [name, note]\n"),
    );
    text += &write(
        &format!("patch{name}"),
        &args(known, ""),
        &format!("    do:\n      - update: {row}\n        patch: [name, note, kind, total{ends}]\n"),
    );
    text += &write(
        &format!("count{name}"),
        &args(known, "by: int -3..3"),
        &format!(
            "    do:\n      - update: {row}\n        add: {{count: args.by}}\n        else: {{count: too_many}}\n"
        ),
    );
    text += &write(
        &format!("sum{name}"),
        &args(known, "by: int -3..3"),
        &format!("    do:\n      - update: {row}\n        add: {{total: args.by}}\n{skip}    return: nothing\n"),
    );
    text += &write(
        &format!("tag{name}"),
        &args(known, "tag: string 1..40"),
        &format!("    do:\n      - update: {row}\n        add: {{tags: args.tag}}\n"),
    );
    text += &write(
        &format!("untag{name}"),
        &args(known, "tag: string 1..40"),
        &format!("    do:\n      - update: {row}\n        remove: {{tags: args.tag}}\n        set: {{note: absent}}\n"),
    );
    text += &write(
        &format!("delete{name}"),
        &args(known, ""),
        &format!("    do:\n      - delete: {row}\n{skip}"),
    );
    text += &write(
        &format!("upsert{name}"),
        &args(known, ""),
        &format!("    do:\n      - upsert: {row}\n        take: [name, kind]\n        add: {{count: 1}}\n"),
    );
    text += &write(
        &format!("guarded{name}"),
        &args(known, "least: int 0..5"),
        &format!(
            "    let: {{r: \"{row}\"}}\n    require:\n      - r.count >= args.least else too_few(count = r.count)\n      \
             - r.note != absent else no_note\n    do:\n      - update: r\n        set: {{note: r.name, count: r.count - 1}}\n    \
             return: {{was: args.least, row: r}}\n"
        ),
    );
    text += &write(
        &format!("checked{name}"),
        &args(known, "kind: Kind"),
        &format!(
            "    let: {{r: \"{row}\"}}\n    require:\n      - r.kind == args.kind else other_kind\n    do:\n      - update: r\n        \
             set: {{note: caller.id}}\n"
        ),
    );
    if known.states {
        for to in ["hold", "free", "finish"] {
            text += &write(
                &format!("{to}{name}"),
                &args(known, ""),
                &format!("    do:\n      - update: {row}\n        move: {to}\n{skip}"),
            );
        }
        text += &write(
            &format!("move{name}"),
            &args(known, "to: State"),
            &format!(
                "    do:\n      - update: {row}\n        move: {{to: args.to}}\n        \
                 set: {{note: 'args.to == \"done\" ? \"over\" : absent'}}\n"
            ),
        );
    }
    if !known.history {
        text += &write(
            &format!("rekey{name}"),
            &args(known, "to: string 1..40"),
            &format!(
                "    let: {{r: \"{row}\"}}\n    do:\n      - update: r\n        set: {{id: args.to}}\n        rekey: true\n        else: {{exists: place_taken}}\n"
            ),
        );
    }
    text
}

/// Operations on rows of both entities, and on one row twice.
fn joint_writes(rng: &mut Rng, traits: &[Traits]) -> String {
    let [first, second] = traits else { return String::new() };
    let args = "{id: string 1..40, other: string 1..40, part: Kind}";
    let one = written_row("E0", first);
    let two = written_row("E1", second).replace("args.id", "args.other");
    let set_part = |known: &Traits| if known.two_part_key { ", part: args.part" } else { "" };
    let skip = if rng.bool() { "        else: skip\n" } else { "" };
    let mut text = write(
        "both",
        args,
        &format!(
            "    do:\n      - update: {one}\n        set: {{note: args.other}}\n      - update: {two}\n        add: {{count: 1}}\n        set: {{name: args.id}}\n"
        ),
    );
    text += &write(
        "createBoth",
        args,
        &format!(
            "    do:\n      - create: E0\n        as: made\n        set: {{id: args.id, name: args.id{}}}\n      - create: E1\n        \
             set: {{id: args.other, name: made.name, note: args.id{}}}\n{skip}",
            set_part(first),
            set_part(second)
        ),
    );
    text += &write(
        "swap",
        args,
        &format!(
            "    do:\n      - delete: {one}\n      - create: E1\n        set: {{id: args.other, name: args.other, note: args.other{}}}\n",
            set_part(second)
        ),
    );
    text += &write(
        "onlyWith",
        args,
        &format!(
            "    do:\n      - present: {two}\n        require:\n          - count < 3 else full\n      - absent: {}\n      - update: {one}\n        add: {{count: 1}}\n",
            two.replace("args.other", "args.id")
        ),
    );
    text += &write(
        "twice",
        args,
        &format!(
            "    do:\n      - update: {one}\n        add: {{count: 1}}\n      - update: {}\n        add: {{count: 2}}\n        set: {{kind: red}}\n",
            one.replace("args.id", "args.other")
        ),
    );
    text += &write(
        "clash",
        args,
        &format!(
            "    do:\n      - update: {one}\n        set: {{note: args.id}}\n      - update: {}\n        set: {{note: args.other}}\n",
            one.replace("args.id", "args.other")
        ),
    );
    text += &write(
        "sometimes",
        args,
        &format!(
            "    let: {{a: \"{one}\", b: \"{two}?\"}}\n    do:\n      - when: b.count > a.count\n        update: b\n        set: {{note: a.name}}\n      - when: b == absent\n        update: a\n        add: {{total: 1}}\n"
        ),
    );
    text
}
