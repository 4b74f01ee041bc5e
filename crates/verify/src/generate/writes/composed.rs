//! Writes put together at random: names, requirements, loops, calls and answers beside one another.

use std::collections::BTreeMap;

use fastrand::Rng;

use super::Traits;

/// How many writes are put together.
const WRITES: usize = 7;

/// What a write is made of so far.
struct ComposedDraft<'a> {
    rng: &'a mut Rng,
    first: &'a Traits,
    args: BTreeMap<&'static str, &'static str>,
    lets: Vec<String>,
    requires: Vec<String>,
    steps: Vec<String>,
    /// A row of `E0` that has a name, and whether it may be missing.
    row: Option<bool>,
    /// Whether lines are named.
    lines: bool,
    /// Rows that a step has named.
    named: bool,
}

/// The entities that composed writes need beside the first two, and the steps that they share.
pub(super) fn composed_entities(rng: &mut Rng, first: &Traits) -> String {
    let mut text = String::from(
        r#"  Line:
    attributes:
      id: string 1..40
      no: int 0..9
      amount: int -9..9 = 1
      kind: Kind?
      born: time = now
      ref: ulid = ulid()
    key: {PK: "LINE#{id}", SK: "N#{no}"}
    index:
      GSI1: {GSI1PK: "KIND#{kind}", GSI1SK: "{id}#{no}"}
  Slot:
    attributes:
      day: date
      part: Kind
      who: string 1..40
      code: string 4 = digits(4)
    key: {PK: "SLOT#{day}", SK: "{part}"}
"#
        .replace("string 4 =", "string 4..4 =")
        .as_str(),
    );
    let excluded = [
        r#"part == "red" ? [Slot(day, "green"), Slot(day, "blue")] : [Slot(day, "red")]"#,
        r#"part == "red" ? [Slot(day, "green")] : []"#,
        r#"part == "green" ? absent : [Slot(day, "green"), Slot(day - days(1), "green")]"#,
    ];
    let excluded = rng.choice(excluded).unwrap_or_default();
    text.push_str(&format!("    excludes: '{excluded}'\n"));
    if has_card(first) {
        let kept = if rng.bool() { "transaction" } else { "frozen" };
        text.push_str(&format!(
            "  Card:\n    attributes:\n      id: string 1..40\n      seen: {{copy: \"E0(id).count\", kept: {kept}}}\n      \
             title: {{copy: \"E0(id).name\", kept: frozen}}\n      n: int 0..5 = 0\n      mark: uuid = uuid()\n      \
             trace: ksuid = ksuid()\n    key: {{PK: \"CARD#{{id}}\", SK: \"CARD\"}}\n"
        ));
        // Two references that may be one row, or none.
        text.push_str(
            "  Pair:\n    attributes:\n      id: string 1..40\n      left: string? 1..40\n      right: string? 1..40\n      \
             leftName: {copy: \"E0(left).name\", kept: frozen}\n      rightName: {copy: \"E0(right).name\", kept: frozen}\n      \
             rightCount: {copy: \"E0(right).count\", kept: frozen}\n    key: {PK: \"PAIR#{id}\", SK: \"PAIR\"}\n",
        );
    }
    if rng.u8(..3) == 0 {
        text.push_str(
            "  Asked:\n    role: idempotency\n    attributes:\n      who: {is: caller.id}\n      which: {is: request.key}\n      \
             hash: {is: request.hash}\n      status: {is: response.status}\n      body: {is: response.body}\n      \
             at: time = now\n    key: {PK: \"ASKED#{who}\", SK: \"{which}\"}\n    expires: at + hours(20)\n",
        );
    }
    text
}

/// Copies are of rows that have one key of one part, and no versions.
fn has_card(first: &Traits) -> bool {
    !first.history && !first.two_part_key
}

/// Steps under a name, with a default and with a call of one another.
pub(super) const STEPS: &str = r#"steps:
  line:
    args: {id: string 1..40, no: int 0..9, amount: int -9..9 = 2}
    do:
      - upsert: Line(args.id, args.no)
        set: {amount: args.amount}
  twoLines:
    args: {id: string 1..40}
    do:
      - line: {id: args.id, no: "8"}
      - line: {id: args.id, no: "9", amount: "3"}
"#;

/// Writes put together at random.
pub(super) fn composed_writes(rng: &mut Rng, first: &Traits) -> String {
    let mut text = String::new();
    for at in 0..WRITES {
        text.push_str(&composed(rng, first, at));
    }
    text.push_str(&bulk(rng, first));
    text
}

fn composed(rng: &mut Rng, first: &Traits, at: usize) -> String {
    let mut draft = ComposedDraft {
        rng,
        first,
        args: BTreeMap::from([("id", "string 1..40")]),
        lets: Vec::new(),
        requires: Vec::new(),
        steps: Vec::new(),
        row: None,
        lines: false,
        named: false,
    };
    draft.names();
    draft.requirements();
    for _ in 0..1 + draft.rng.usize(..2) {
        draft.step();
    }
    draft.text(at)
}

/// More than a transaction holds: turn by turn.
fn bulk(rng: &mut Rng, first: &Traits) -> String {
    let row = super::written_row("E0", first);
    let args = if first.two_part_key {
        "{id: string 1..40, part: Kind}"
    } else {
        "{id: string 1..40}"
    };
    let turn = match rng.u8(..5) {
        0 => "        delete: l\n",
        1 => "        update: l\n        add: {amount: 1}\n        else: skip\n",
        2 => "        do:\n          - update: l\n            set: {kind: red}\n",
        // These may be refused half-way, and go on when they are asked for again.
        3 => "        update: l\n        add: {amount: 3}\n",
        _ => "        update: l\n        add: {amount: 1}\n        require: [kind != \"blue\" else is_blue]\n",
    };
    // Where a turn may be refused it matters which come before it.
    let order = if turn.contains("skip") || !turn.contains("add") {
        ""
    } else {
        ", order: no"
    };
    let last = match rng.bool() {
        true => format!("      - update: {row}\n        add: {{total: 1}}\n        else: skip\n"),
        false => String::new(),
    };
    let args = if last.is_empty() { "{id: string 1..40}" } else { args };
    format!(
        "  sweep:\n    args: {args}\n    allow: caller.authenticated\n    bulk: true\n    do:\n      \
         - for: {{l: {{find: Line, where: id == args.id{order}}}}}\n{turn}{last}    return: {{n: done}}\n"
    )
}

impl ComposedDraft<'_> {
    fn one_in(&mut self, count: u8) -> bool {
        self.rng.u8(..count) == 0
    }

    fn target(&mut self) -> String {
        if self.first.two_part_key {
            self.args.insert("part", "Kind");
        }
        super::written_row("E0", self.first)
    }

    /// Names for rows, lists and values.
    fn names(&mut self) {
        if self.one_in(2) {
            let optional = self.one_in(3);
            let target = self.target();
            self.row = Some(optional);
            let mark = if optional { "?" } else { "" };
            self.lets.push(format!("a: \"{target}{mark}\""));
        }
        match self.rng.u8(..5) {
            0 => {
                self.lines = true;
                let limit = 1 + self.rng.u8(..4);
                self.lets.push(format!(
                    "ls: {{find: Line, where: id == args.id, order: no, limit: {limit}}}"
                ));
            }
            1 => {
                self.args.insert("no", "int 0..9");
                let which = ["no == args.no", "no >= args.no", "amount == args.no"];
                let which = self.rng.choice(which).unwrap_or_default();
                self.lets
                    .push(format!("g: {{get: \"Line?\", where: id == args.id && {which}}}"));
                self.requires
                    .push("(g == absent || g.amount < 8) else line_full(no = args.no)".to_owned());
            }
            2 => {
                self.args.insert("text", "string 1..40 = \"x\"");
                self.lets.push("v: 'lower(args.text)'".to_owned());
                self.requires.push("v != \"bob\" else 422 not_bob".to_owned());
            }
            _ => {}
        }
    }

    fn requirements(&mut self) {
        match (self.row, self.rng.u8(..4)) {
            (Some(true), _) => self
                .requires
                .push("(a == absent || a.count < 4) else 422 too_high".to_owned()),
            (Some(false), 0..2) => {
                self.args.insert("least", "int 0..5");
                self.requires
                    .push("a.count >= args.least else too_few(count = a.count, least = args.least)".to_owned());
            }
            (Some(false), 2) => {
                self.requires
                    .push("(a.kind == absent || a.kind != \"blue\") else no_blue(kind = a.kind)".to_owned());
            }
            _ => {}
        }
        if self.lines {
            let any = [
                "(!ls.exists(l, l.amount > 5)) else too_dear",
                "sum(ls, l, l.amount) < 9 else too_much(sum = sum(ls, l, l.amount))",
                "size(ls) < 3 else too_many_lines",
                "ls.all(l, l.kind != \"green\") else green_line",
            ];
            let chosen = self.rng.choice(any).unwrap_or_default();
            self.requires.push(chosen.to_owned());
        }
        if self.one_in(5) {
            self.args.insert("by", "int -3..3");
            self.requires.push("args.by != 3 else wrong_by".to_owned());
        }
    }

    fn step(&mut self) {
        match self.rng.u8(..14) {
            13 => self.upsert_wide(),
            0 | 1 => self.update(),
            2 => self.upsert(),
            3 => self.delete(),
            4 => self.create_line(),
            5 => self.create_slot(),
            6 if has_card(self.first) => self.card(),
            7 => self.loop_of_numbers(),
            8 => self.loop_in_loop(),
            9 => self.loop_of_rows(),
            10 => self.loop_of_objects(),
            11 => self.call(),
            _ => self.look(),
        }
    }

    /// A change of a row that is there, in any of the ways in which one can change.
    fn update(&mut self) {
        let target = match self.row {
            Some(false) => "a".to_owned(),
            _ => self.target(),
        };
        let mut lines = vec![format!("- update: {target}")];
        if self.row == Some(true) && self.one_in(2) {
            lines = vec!["- when: a != absent".to_owned(), "  update: a".to_owned()];
        }
        let changes = [
            "append: {list: args.n}",
            "set: {\"counts[args.word]\": args.n}",
            "add: {\"counts[args.word]\": args.n}",
            "add: {tags: args.word}",
            "set: {note: 'count > 2 ? name : absent'}",
            "set: {total: 'min(count, 3)'}",
            "patch: [name, kind]",
            "take: [note, kind!]",
            "add: {count: args.by, total: args.by}",
            "set: {kind: green, note: string(now)}",
            "set: {list: '[1, 2].map(v, v + args.n)'}",
        ];
        let change = self.rng.choice(changes).unwrap_or_default();
        self.needs(change);
        lines.push(format!("  {change}"));
        self.guard(&mut lines, "count");
        if self.one_in(6) {
            lines.push("  using: {call: UpdateItem, set: [note], condition: true}".to_owned());
        }
        if !self.named && self.one_in(4) {
            self.named = true;
            lines.push("  as: made".to_owned());
        }
        self.push(lines);
    }

    /// Arguments that a change names.
    fn needs(&mut self, text: &str) {
        let known = [
            ("args.n", "n", "int 0..9"),
            ("args.word", "word", "string 1..9"),
            ("args.by", "by", "int -3..3"),
            ("args.text", "text", "string 1..40 = \"x\""),
            ("args.no", "no", "int 0..9"),
        ];
        for (word, name, ty) in known {
            let stands = text.match_indices(word).any(|(at, _)| {
                let next = text.get(at + word.len()..).and_then(|rest| rest.chars().next());
                !next.is_some_and(char::is_alphanumeric)
            });
            if stands {
                self.args.insert(name, ty);
            }
        }
    }

    /// What must hold of a step's row, and what is said.
    fn guard(&mut self, lines: &mut Vec<String>, number: &str) {
        if self.one_in(3) {
            lines.push("  require:".to_owned());
            lines.push(format!("    - {number} != 3 else is_three"));
            if self.one_in(2) {
                lines.push(format!("    - {number} < 5 else 422 at_end(n = {number})"));
            }
        }
        match self.rng.u8(..6) {
            0 => lines.push("  else: skip".to_owned()),
            1 => lines.push("  else: {absent: nothing_there}".to_owned()),
            2 => lines.push("  else: 422 cannot".to_owned()),
            _ => {}
        }
    }

    fn upsert(&mut self) {
        self.args.insert("text", "string 1..40 = \"x\"");
        let target = self.target();
        let mut lines = vec![format!("- upsert: {target}"), "  set: {name: args.text}".to_owned()];
        if self.one_in(2) {
            lines.push("  add: {count: 1}".to_owned());
        }
        if self.one_in(2) {
            lines.push("  require: ['count != 2 else is_two']".to_owned());
        }
        self.push(lines);
    }

    fn delete(&mut self) {
        let target = match self.row {
            Some(false) => "a".to_owned(),
            _ => self.target(),
        };
        let mut lines = vec![format!("- delete: {target}")];
        self.guard(&mut lines, "count");
        self.push(lines);
    }

    fn create_line(&mut self) {
        self.args.insert("no", "int 0..9");
        let mut lines = vec!["- create: Line".to_owned()];
        lines.push(match (self.lines, self.rng.bool()) {
            (true, true) => "  set: {id: args.id, no: args.no, amount: 'min(sum(ls, l, l.amount), 9)'}".to_owned(),
            _ => "  set: {id: args.id, no: args.no}".to_owned(),
        });
        lines.push("  take: [kind]".to_owned());
        if !self.named && self.one_in(3) {
            self.named = true;
            lines.push("  as: made".to_owned());
        }
        let otherwise = ["", "  else: {exists: line_there}", "  else: skip"];
        let otherwise = self.rng.choice(otherwise).unwrap_or_default();
        lines.extend((!otherwise.is_empty()).then(|| otherwise.to_owned()));
        self.push(lines);
    }

    fn create_slot(&mut self) {
        self.args.insert("day", "date");
        self.args.insert("slot", "Kind");
        let mut lines = vec![
            "- create: Slot".to_owned(),
            "  set: {day: args.day, part: args.slot, who: args.id}".to_owned(),
        ];
        if self.one_in(2) {
            lines.push("  else: {excludes: day_taken, exists: slot_taken}".to_owned());
        }
        self.push(lines);
    }

    fn card(&mut self) {
        let mut lines = match self.rng.u8(..6) {
            0 => vec!["- update: Card(args.id)".to_owned(), "  add: {n: 1}".to_owned()],
            1 => vec!["- delete: Card(args.id)".to_owned()],
            2 | 3 => self.pair(),
            _ => vec!["- create: Card".to_owned(), "  set: {id: args.id}".to_owned()],
        };
        if lines.first().is_some_and(|line| line.contains("create")) && self.one_in(2) {
            lines.push("  else: {source: no_source}".to_owned());
        }
        self.push(lines);
    }

    /// A row with two references, each of which is sent for certain, or maybe, or never.
    fn pair(&mut self) -> Vec<String> {
        let mut set = vec!["id: args.id".to_owned()];
        let mut take = Vec::new();
        for name in ["left", "right"] {
            match self.rng.u8(..4) {
                0 => set.push(format!("{name}: args.id")),
                1 => take.push(format!("{name}!")),
                2 => take.push(name.to_owned()),
                _ => {}
            }
        }
        let mut lines = vec!["- create: Pair".to_owned(), format!("  set: {{{}}}", set.join(", "))];
        lines.extend((!take.is_empty()).then(|| format!("  take: [{}]", take.join(", "))));
        lines
    }

    fn loop_of_numbers(&mut self) {
        self.args.insert("list", "list(int 0..9) ..3");
        let lines = match self.rng.u8(..5) {
            // What is added may leave the limits of the key.
            4 => vec![
                "- for: {x: args.list}",
                "  upsert: Line(args.id, x + 5)",
                "  set: {amount: x}",
            ],
            0 => vec!["- for: {x: args.list}", "  create: Line", "  set: {id: args.id, no: x}"],
            1 => vec!["- for: {x: args.list}", "  line: {id: args.id, no: x}"],
            2 => vec![
                "- for: {x: args.list}",
                "  when: x > 2",
                "  upsert: Line(args.id, x)",
                "  add: {amount: 1}",
                "  else: {amount: no_room}",
            ],
            _ => vec![
                "- for: {x: 'numbered(args.list)'}",
                "  update: Line(args.id, x.value)",
                "  set: {amount: x.number}",
                "  else: skip",
            ],
        };
        self.push(lines.into_iter().map(str::to_owned).collect());
    }

    fn loop_in_loop(&mut self) {
        self.args.insert("list", "list(int 0..9) ..3");
        self.args.insert("words", "list(string 1..9) ..2");
        let lines = match self.rng.u8(..3) {
            0 => vec![
                "- for: {w: args.words}",
                "  do:",
                "    - for: {x: args.list}",
                "      upsert: Line(w, x)",
                "      set: {amount: x}",
            ],
            1 => vec![
                "- for: {w: args.words}",
                "  do:",
                "    - for: {l: {find: Line, where: id == w, order: no, limit: 3}}",
                "      update: l",
                "      add: {amount: -1}",
                "      else: {amount: too_low}",
            ],
            _ => vec![
                "- for: {w: args.words}",
                "  do:",
                "    - when: size(args.list) > 1",
                "      twoLines: {id: w}",
                "    - for: {x: args.list}",
                "      absent: Line(w, x)",
                "      else: line_in_the_way",
            ],
        };
        self.push(lines.into_iter().map(str::to_owned).collect());
    }

    fn loop_of_rows(&mut self) {
        let list = match self.lines && self.one_in(2) {
            true => "ls".to_owned(),
            false => "{find: Line, where: id == args.id, order: no, limit: 3}".to_owned(),
        };
        let mut lines = vec![format!("- for: {{l: {list}}}")];
        lines.extend(match self.rng.u8(..4) {
            0 => vec!["  delete: l".to_owned()],
            1 => vec!["  update: l".to_owned(), "  set: {kind: blue, amount: l.no}".to_owned()],
            2 => vec![
                "  present: l".to_owned(),
                "  require: ['amount < 6 else line_too_dear']".to_owned(),
            ],
            _ => vec![
                "  update: l".to_owned(),
                "  add: {amount: 2}".to_owned(),
                "  else: skip".to_owned(),
            ],
        });
        self.push(lines);
    }

    fn loop_of_objects(&mut self) {
        self.args.insert("given", "list(LineIn) ..3");
        let lines = match self.rng.bool() {
            true => vec![
                "- for: {e: args.given}",
                "  create: Line",
                "  set: {id: args.id}",
                "  take: [no, amount]",
                "  from: e",
            ],
            false => vec![
                "- for: {g: 'group(args.given, r, r.no)'}",
                "  update: Line(args.id, g.key)",
                "  add: {amount: 'sum(g.rows, r, r.amount)'}",
                "  else: {absent: no_line, amount: not_so_much}",
            ],
        };
        self.push(lines.into_iter().map(str::to_owned).collect());
    }

    /// A row that may be new, by a key whose values are wider than its attributes.
    fn upsert_wide(&mut self) {
        self.args.insert("wide", "int -1..10");
        self.args.insert("long", "string");
        let target = [
            "Line(args.id, args.wide)",
            "Line(args.long, 3)",
            "Line(args.long, args.wide)",
        ];
        let target = self.rng.choice(target).unwrap_or_default();
        let mut lines = vec![format!("- upsert: {target}"), "  add: {amount: 1}".to_owned()];
        let otherwise = [
            "",
            "  require: ['amount < 5 else line_high']",
            "  else: {no: no_such_number}",
            "  else: skip",
        ];
        let otherwise = self.rng.choice(otherwise).unwrap_or_default();
        lines.extend((!otherwise.is_empty()).then(|| otherwise.to_owned()));
        self.push(lines);
    }

    fn call(&mut self) {
        self.args.insert("no", "int 0..9");
        let lines = match self.rng.u8(..3) {
            0 => vec!["- line: {id: args.id, no: args.no, amount: '-1'}"],
            1 => vec!["- twoLines: {id: args.id}"],
            _ => vec!["- when: args.no > 4", "  line: {id: args.id, no: args.no}"],
        };
        if !lines.iter().any(|line| line.contains("args.no")) {
            self.args.remove("no");
            let known = self.lets.iter().chain(&self.requires).chain(&self.steps);
            if known.clone().any(|text| text.contains("args.no")) {
                self.args.insert("no", "int 0..9");
            }
        }
        self.push(lines.into_iter().map(str::to_owned).collect());
    }

    fn look(&mut self) {
        self.args.insert("no", "int 0..9");
        let lines = match self.rng.bool() {
            true => vec![
                "- present: Line(args.id, args.no)",
                "  require: ['amount > -2 else line_low(amount = amount)']",
            ],
            false => vec!["- absent: Line(args.id, args.no)"],
        };
        self.push(lines.into_iter().map(str::to_owned).collect());
        if self.steps.len() == 1 {
            self.upsert();
        }
    }

    fn push(&mut self, lines: Vec<String>) {
        let indented = lines.iter().map(|line| format!("      {line}\n"));
        self.steps.push(indented.collect());
    }

    fn text(mut self, at: usize) -> String {
        let mut text = format!("  c{at}:\n");
        if self.one_in(3) {
            let status = ["", " -> 201", " -> 202"];
            let status = self.rng.choice(status).unwrap_or_default();
            text.push_str(&format!("    http: POST /c{at}{status}\n"));
        }
        let returned = self.returned();
        let parts = [&self.lets, &self.requires, &self.steps];
        let all: String = parts.into_iter().flatten().map(String::as_str).collect();
        let all = all + &returned;
        let idempotency = match self.rng.u8(..10) {
            0 => "    idempotency: required\n",
            1 => "    idempotency: none\n",
            2 => "    idempotency: {required: true, replay: 208}\n",
            3 => "    idempotency: {key: args.id}\n",
            _ => "",
        };
        let all = all + idempotency;
        let used = self
            .args
            .iter()
            .filter(|(name, _)| all.contains(&format!("args.{name}")));
        let args: Vec<String> = used.map(|(name, ty)| format!("      {name}: '{ty}'\n")).collect();
        if !args.is_empty() {
            text.push_str(&format!("    args:\n{}", args.concat()));
        }
        if !self.lets.is_empty() {
            text.push_str(&format!("    let:\n      {}\n", self.lets.join("\n      ")));
        }
        let allow = match (self.row, self.rng.u8(..8)) {
            (Some(false), 0) => "caller.authenticated && a.note != caller.id",
            (_, 1) => "caller.role == \"teller\"",
            _ => "caller.authenticated",
        };
        text.push_str(&format!("    allow: '{allow}'\n"));
        if !self.requires.is_empty() {
            let lines: Vec<String> = self.requires.iter().map(|line| format!("      - '{line}'\n")).collect();
            text.push_str(&format!("    require:\n{}", lines.concat()));
        }
        text.push_str(&format!("    do:\n{}", self.steps.concat()));
        text.push_str(&returned);
        text.push_str(idempotency);
        let first = self.steps.first().is_some_and(|step| {
            let changes = [
                "- update: E0",
                "- delete: E0",
                "- upsert: E0",
                "- update: a",
                "- delete: a",
            ];
            changes.iter().any(|change| step.trim_start().starts_with(change))
        });
        if first && self.first.version && self.one_in(4) {
            text.push_str("    if_match: required\n");
        }
        if self.one_in(8) {
            let claims = ["{write: 1..90}", "{atomic: true}", "{idempotent: true}"];
            let claim = self.rng.choice(claims).unwrap_or_default();
            text.push_str(&format!("    claim: {claim}\n"));
        }
        text
    }

    fn returned(&mut self) -> String {
        match self.rng.u8(..6) {
            0 => "    return: nothing\n".to_owned(),
            1 if self.row == Some(false) => "    return: {a: a, id: args.id}\n".to_owned(),
            2 if self.named => "    return: {made: made}\n".to_owned(),
            3 if self.lines => "    return: {n: size(ls), sum: 'sum(ls, l, l.amount)'}\n".to_owned(),
            4 => "    return: args.id\n".to_owned(),
            _ => String::new(),
        }
    }
}
