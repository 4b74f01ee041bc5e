//! Writes that run after changes, made up.
//!
//! Those of a model either *commute*: they know the change alone, and what they write is the same in whatever order rows come, so that
//! changes may wait for as long as they like. Or they look at rows as these are when they run.

use fastrand::Rng;

use super::{GeneratedWrites, Traits, map_entries};

/// How many writes run after changes, at most.
const TRIGGERS_MAX: usize = 9;

/// Rows that such writes write: how often, what, and what follows from that.
const SINKS: &str = r#"  Seen:
    attributes:
      of: string 1..80
      what: string 1..20
      n: int 0..500 = 0
      by: int? -900..900
      last: string? 1..40
      log: list(int 0..9)? ..20
    key: {PK: "SEEN#{of}", SK: "{what}"}
  Mark:
    attributes:
      of: string 1..80
      what: string 1..20
      was: string 0..80
      is: string 0..80
      ref: ulid = ulid()
    key: {PK: "MARK#{of}", SK: "{what}#{was}#{is}"}
  Sum:
    attributes:
      what: string 1..20
      n: int 0..9000 = 0
    key: {PK: "SUM", SK: "{what}"}
"#;

/// A model with writes that run after changes, and whether these commute.
#[derive(Debug)]
pub(crate) struct GeneratedTriggers {
    /// The model.
    pub writes: GeneratedWrites,
    /// Whether what they come to is the same in every order.
    pub commutes: bool,
}

/// Makes up a model with writes that run after changes.
pub(crate) fn triggered_model(rng: &mut Rng) -> GeneratedTriggers {
    let mut traits: Vec<Traits> = (0..2).map(|_| Traits::any(rng)).collect();
    for known in traits.iter_mut().filter(|known| !known.history) {
        known.expires |= rng.bool();
    }
    let mut writes = super::model_of(rng, &traits);
    writes.head = writes
        .head
        .replace("  ttl: ttl\n", "  ttl: ttl\n  stream: both_images\n");
    writes.head = writes.head.replace("steps:\n", &format!("{SINKS}steps:\n"));
    let commutes = rng.bool();
    let mut triggers = Vec::new();
    for at in 0..4 + rng.usize(..TRIGGERS_MAX - 3) {
        let of = rng.usize(..traits.len());
        if let Some(known) = traits.get(of) {
            let mut draft = TriggerDraft {
                rng,
                entity: format!("E{of}"),
                known,
            };
            triggers.push(match commutes {
                true => draft.commuting(at),
                false => draft.looking(at),
            });
        }
    }
    // What is done turn by turn lets others in between, and rows may appear while they are looked for: nobody else writes them.
    if let Some(alone) = triggers.iter().find(|write| write.contains("find: Line")).cloned() {
        let writes_lines = |write: &String| {
            ["Line(", "twoLines", "find: Line"]
                .iter()
                .any(|word| write.contains(word))
        };
        triggers.retain(|write| *write == alone || !writes_lines(write));
    }
    writes.writes.extend(map_entries(&triggers.concat()));
    GeneratedTriggers { writes, commutes }
}

struct TriggerDraft<'a> {
    rng: &'a mut Rng,
    entity: String,
    known: &'a Traits,
}

/// What a write runs after, and what is known of `before` there.
struct Event {
    text: String,
    is_update: bool,
    /// Whether the row is gone.
    is_end: bool,
}

impl TriggerDraft<'_> {
    fn chosen(&mut self, from: &[&'static str]) -> &'static str {
        self.rng.choice(from.iter().copied()).unwrap_or_default()
    }

    fn event(&mut self) -> Event {
        let entity = self.entity.clone();
        let event = |text: String, is_update, is_end| Event {
            text,
            is_update,
            is_end,
        };
        match self.rng.u8(..10) {
            0 | 1 => event(format!("create: {entity}"), false, false),
            2 => event(format!("update: {entity}"), true, false),
            3 | 4 => {
                let attribute = self.attribute();
                event(format!("update: {entity}.{attribute}"), true, false)
            }
            5 => event(format!("delete: {entity}"), false, true),
            6 | 7 if self.known.expires => event(format!("expire: {entity}"), false, true),
            _ if self.known.states => {
                let state = self.chosen(&["open", "held", "done"]);
                event(format!("enter: {entity}.{state}"), false, false)
            }
            _ => event(format!("update: {entity}.count"), true, false),
        }
    }

    fn attribute(&mut self) -> &'static str {
        let mut all = vec![
            "name", "note", "kind", "count", "total", "tags", "list", "counts", "touched",
        ];
        if self.known.states {
            all.extend(["state", "state", "heldUntil", "heldUntil"]);
        }
        if self.known.expires {
            all.push("ends");
        }
        if self.known.computed {
            all.push("label");
        }
        if self.known.version {
            all.push("version");
        }
        self.chosen(&all)
    }

    /// What must hold of the change.
    fn when(&mut self, event: &Event) -> String {
        let mut all = vec![
            "row.count > 0",
            "row.note != absent",
            "row.kind == absent || row.kind != \"red\"",
            "size(row.name) > 3",
        ];
        if event.is_update {
            all.extend([
                "before.name != row.name",
                "before.count < row.count",
                "before.note == absent || row.note == absent",
                "before.touched <= row.touched",
            ]);
        }
        if event.text.starts_with("enter") {
            all.push("before == absent || before.count == row.count");
        }
        if self.known.states {
            all.push("row.state != \"done\"");
            if event.is_update {
                all.push("before.state != row.state");
            }
        }
        match self.rng.u8(..4) == 0 {
            true => format!("    when: '{}'\n", self.chosen(&all)),
            false => String::new(),
        }
    }

    /// A write that knows the change alone, and whose effects are the same in any order.
    fn commuting(&mut self, at: usize) -> String {
        if self.rng.u8(..6) == 0 {
            return self.second(at);
        }
        let event = self.event();
        let when = self.when(&event);
        let name = format!("t{at}");
        if self.rng.u8(..4) == 0 {
            return self.with_route(&name, &event, &when);
        }
        let mut steps = Vec::new();
        for _ in 0..1 + self.rng.usize(..2) {
            steps.push(self.commuting_step(&name, &event, steps.len()));
        }
        let head = format!("  {name}:\n    after: {{{}}}\n{when}", event.text);
        format!("{head}    do:\n{}", steps.concat())
    }

    fn commuting_step(&mut self, name: &str, event: &Event, at: usize) -> String {
        let what = format!("{name}-{at}");
        let was = match (event.is_update, self.rng.bool()) {
            (true, true) => "before.name",
            (true, false) => "string(before.count)",
            _ => "row.name",
        };
        // Of two that may be refused, which one is would depend on the order.
        let skip = match at > 0 || self.rng.bool() {
            true => "        else: skip\n",
            false => "",
        };
        // Of rows that share an id each has its own, so that what comes last is of one row, whose changes come in order.
        let part = if self.known.two_part_key { " + row.part" } else { "" };
        let own = format!("      - upsert: 'Seen(row.id, \"{what}-\"{part})'\n        add: {{n: 1}}\n");
        match self.rng.u8(..6) {
            0 => format!("      - upsert: 'Seen(row.id, \"{what}\")'\n        add: {{n: 1}}\n"),
            4 => format!("{own}        set: {{last: row.name}}\n"),
            5 => format!("{own}        append: {{log: row.count}}\n"),
            1 => format!("      - upsert: 'Seen(row.id, \"{what}\")'\n        add: {{n: 1, by: row.count}}\n"),
            // Where it is there already it was made of the same, and is passed over or refused.
            2 => format!(
                "      - create: Mark\n        set: {{of: row.id, what: '\"{what}\"', was: '{was}', is: 'string(row.count)'}}\n{skip}"
            ),
            _ => format!("      - upsert: 'Sum(\"{what}\")'\n        add: {{n: 'row.count + 1'}}\n"),
        }
    }

    /// After what another such write does.
    fn second(&mut self, at: usize) -> String {
        let (event, of) = match self.rng.u8(..4) {
            0 => ("create: Seen", "row.what"),
            1 => ("update: Seen", "row.what"),
            2 => ("update: Seen.n", "row.of"),
            _ => ("create: Mark", "row.what"),
        };
        let when = match self.rng.bool() && !event.contains("Mark") {
            true => "    when: row.n > 1\n",
            false => "",
        };
        // A sum is of few: a text that it may not hold is no name of one.
        let sum = if of == "row.of" { "\"each\"" } else { of };
        format!(
            "  t{at}:\n    after: {{{event}}}\n{when}    do:\n      - upsert: 'Sum({sum})'\n        add: {{n: 1}}\n"
        )
    }

    /// Two ways to one operation: it knows its arguments.
    fn with_route(&mut self, name: &str, event: &Event, when: &str) -> String {
        let most = self.chosen(&["5", "9", "2"]);
        let note = match self.rng.bool() && !event.is_end {
            true => ", note: row.note",
            false => "",
        };
        format!(
            "  {name}:\n    http: POST /{name}\n    args: {{id: string 1..40, n: 'int 0..{most}', note: 'string? 1..40'}}\n    \
             allow: caller.authenticated\n    after: {{{}, args: {{id: row.id, n: row.count{note}}}}}\n{when}    do:\n      \
             - create: Mark\n        set: {{of: args.id, what: '\"{name}\"', was: 'args.note == absent ? \"-\" : args.note', is: string(args.n)}}\n        \
             else: skip\n",
            event.text
        )
    }

    /// A write that looks at rows as they are now.
    fn looking(&mut self, at: usize) -> String {
        if self.rng.u8(..4) == 0 {
            return self.commuting(at);
        }
        let event = self.event();
        let when = self.when(&event);
        let part = if self.known.two_part_key { ", row.part" } else { "" };
        let own = format!("{}(row.id{part})", self.entity);
        let is_first = self.entity == "E0";
        let optional = self.rng.bool();
        let (mark, is_there) = if optional {
            ("?", "- when: r != absent\n        ")
        } else {
            ("", "- ")
        };
        let let_row = format!("    let: {{r: \"{own}{mark}\"}}\n");
        let head = format!("  t{at}:\n    after: {{{}}}\n{when}", event.text);
        let body = match self.rng.u8(..9) {
            0 => format!("{let_row}    do:\n      {is_there}update: r\n        add: {{count: 1}}\n"),
            1 => format!("{let_row}    do:\n      {is_there}update: r\n        set: {{note: row.name}}\n"),
            2 if self.known.states => {
                let to = self.chosen(&["hold", "free", "finish"]);
                format!("{let_row}    do:\n      {is_there}update: r\n        move: {to}\n")
            }
            3 => format!("{let_row}    do:\n      {is_there}delete: r\n"),
            4 => "    do:\n      - upsert: 'Line(row.id, 3)'\n        set: {amount: row.count}\n".to_owned(),
            5 => "    do:\n      - twoLines: {id: row.id}\n".to_owned(),
            6 if !self.known.two_part_key => {
                let limit = self.chosen(&["3", "1"]);
                format!(
                    "    let: {{ls: {{find: Line, where: id == row.id, order: no, limit: 4}}}}\n    require:\n      \
                     - size(ls) < {limit} else too_many_lines\n    do:\n      - upsert: 'Line(row.id, size(ls))'\n        \
                     set: {{amount: 'now == row.touched ? 1 : 2'}}\n"
                )
            }
            7 if !self.known.two_part_key => "    bulk: true\n    do:\n      - for: {l: {find: Line, where: id == row.id, order: no}}\n        update: l\n        \
                  add: {amount: 3}\n"
                .to_owned(),
            _ if is_first => format!(
                "{let_row}    require:\n      - '{}r.count < 4 else too_high'\n    do:\n      - upsert: 'Seen(row.id, \"t{at}\")'\n        \
                 set: {{by: '{}'}}\n",
                if optional { "r == absent || " } else { "" },
                if optional { "r == absent ? 0 : r.count" } else { "r.count" },
            ),
            _ => format!("    do:\n      - upsert: 'Seen(row.id, \"t{at}\")'\n        set: {{by: 'row.count * 2'}}\n"),
        };
        head + &body
    }
}
