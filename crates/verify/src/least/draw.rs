//! Models with estimates, and rows that fit them.

use std::fmt::Write as _;

use fastrand::Rng;
use singlet_item::Value;
use singlet_runtime::Attributes;

use crate::bench::Row;

/// The days over which rows are spread, from the first of 2026 on.
const DAYS: u64 = 90;
/// How many reads a model has.
const READS: usize = 12;
/// Words of states; a model takes some of them.
const STATES: [&str; 6] = ["open", "busy", "held", "done", "lost", "gone"];
/// The first two characters of codes.
const CODES: [&str; 5] = ["aa", "ab", "ba", "ca", "cb"];

/// A model, with the figures that its rows fit.
#[derive(Debug)]
pub struct Drawn {
    /// The model file.
    pub text: String,
    /// Its reads, each with what its arguments are.
    pub reads: Vec<DrawnRead>,
    figures: Figures,
}

/// A read: its name, and the arguments with the attributes that they are values of.
#[derive(Debug)]
pub struct DrawnRead {
    /// Its name.
    pub name: String,
    /// The same read once for each index that it names.
    pub pinned: Vec<String>,
    args: Vec<(String, ArgOf)>,
}

/// What an argument is.
#[derive(Clone, Copy, Debug)]
enum ArgOf {
    /// A row's value of an attribute.
    Value(&'static str),
    /// Several rows' values of an attribute.
    Values(&'static str),
    /// The day of a row's instant.
    Day,
    /// The month of a row's instant.
    Month,
    /// The first characters of a row's code.
    Beginning(usize),
    /// Some days after the row's.
    DaysAfter(&'static str, i64),
}

/// How many rows, how many of them share a value, and how large they are.
#[derive(Clone, Debug)]
struct Figures {
    rows: u64,
    per_tenant: u64,
    per_owner: u64,
    bytes: u64,
    states: Vec<(&'static str, u64)>,
    open_percent: u64,
    held_percent: u64,
}

/// Makes up a model. Its estimates are so many times what its rows fit, or that part of it.
pub fn draw_model(rng: &mut Rng, off: f64) -> Drawn {
    let figures = Figures::draw(rng);
    let mut text = String::from(
        "singlet: 1\nname: drawn\ntable:\n  name: Drawn\n  key: {partition: PK, sort: SK}\n  type: kind\n",
    );
    let key = rng.choice(PRIMARY).copied().unwrap_or_default();
    let count = rng.usize(1..=4);
    let indexes: Vec<Index> = (1..=count).map(|at| Index::draw(rng, at, &figures)).collect();
    text.push_str("  indexes:\n");
    indexes.iter().for_each(|index| text.push_str(&index.declared()));
    let words: Vec<&str> = figures.states.iter().map(|(word, _)| *word).collect();
    let _ = write!(
        text,
        "entities:\n  T:\n    attributes:\n      id: string 1..12\n      tenant: string 1..12\n      owner: string 1..12\n      state: {{enum: [{}]}}\n      \
         open: bool\n      grade: int 0..3\n      due: date\n      at: time\n      code: string 1..12\n      hold: string? 1..12\n      note: string 0..9000\n    \
         key: {{{}}}\n    index:\n",
        words.join(", "),
        key.text
    );
    indexes.iter().for_each(|index| text.push_str(&index.entry));
    text.push_str("reads:\n");
    let mut reads = Vec::new();
    for at in 0..READS {
        let path = match rng.u8(..4) {
            0 => key.parts,
            _ => rng.choice(&indexes).map_or(key.parts, |index| index.parts.as_slice()),
        };
        let (mut read, own) = read(rng, at, path, &figures);
        text.push_str(&own);
        for index in &indexes {
            let name = format!("{}{}", read.name, index.name);
            text.push_str(&own.replacen(&read.name, &name, 1));
            let _ = writeln!(text, "    index: {}", index.name);
            read.pinned.push(name);
        }
        reads.push(read);
    }
    text.push_str(&figures.estimates(off));
    Drawn { text, reads, figures }
}

/// A primary key: its text, and what its partition and its sort key are made of.
#[derive(Clone, Copy, Default)]
struct Primary {
    text: &'static str,
    parts: &'static [&'static str],
}

const PRIMARY: &[Primary] = &[
    Primary {
        text: r##"PK: "T#{tenant}", SK: "T#{id}""##,
        parts: &["tenant", "|", "id"],
    },
    Primary {
        text: r##"PK: "T#{id}", SK: "T""##,
        parts: &["id", "|"],
    },
    Primary {
        text: r##"PK: "T#{owner}", SK: "T#{at}#{id}""##,
        parts: &["owner", "|", "at", "id"],
    },
    Primary {
        text: r##"PK: "T#{tenant}", SK: "T#{grade}#{due}#{id}""##,
        parts: &["tenant", "|", "grade", "due", "id"],
    },
];

/// An index.
#[derive(Debug)]
struct Index {
    name: String,
    project: String,
    entry: String,
    /// The attributes of its partition key, a bar, and those of its sort key.
    parts: Vec<&'static str>,
}

impl Index {
    fn draw(rng: &mut Rng, at: usize, figures: &Figures) -> Self {
        let name = format!("GX{at}");
        let partitions: &[&[&str]] = &[
            &["tenant"],
            &["owner"],
            &["tenant", "state"],
            &["tenant", "grade"],
            &["owner", "open"],
            &["state"],
            &["grade"],
            &["due"],
            &["day(at)"],
            &["hold"],
            &["code"],
            &["tenant", "due"],
        ];
        let partition = rng.choice(partitions).copied().unwrap_or_default();
        let mut free: Vec<&str> = ["state", "open", "grade", "due", "at", "code", "hold"]
            .into_iter()
            .filter(|name| !partition.contains(name))
            .collect();
        rng.shuffle(&mut free);
        // What may be absent makes a small index, and rows that are not in it.
        free.retain(|name| *name != "hold" || rng.u8(..3) == 0);
        free.truncate(rng.usize(0..=2));
        free.push("id");
        let template = |prefix: &str, parts: &[&str]| {
            let parts: Vec<String> = parts.iter().map(|part| format!("{{{part}}}")).collect();
            format!("\"{prefix}#{}\"", parts.join("#"))
        };
        let when = match rng.u8(..6) {
            0 => {
                let word = rng.choice(&figures.states).map_or("open", |(word, _)| *word);
                format!("when: state == \"{word}\", ")
            }
            1 => "when: open, ".to_owned(),
            _ => String::new(),
        };
        let project = match rng.u8(..6) {
            0 => ", project: keys".to_owned(),
            1 => ", project: [state, open]".to_owned(),
            2 => ", project: [due, code, grade, kind]".to_owned(),
            _ => String::new(),
        };
        let keys = format!(
            "{name}P: {}, {name}S: {}",
            template("I", partition),
            template("S", &free)
        );
        let entry = match when.is_empty() {
            true => format!("      {name}: {{{keys}}}\n"),
            false => format!("      {name}:\n        - {{{when}{keys}}}\n"),
        };
        let mut parts = partition.to_vec();
        parts.push("|");
        parts.extend(free);
        Index {
            name,
            project,
            entry,
            parts,
        }
    }

    fn declared(&self) -> String {
        let (name, project) = (&self.name, &self.project);
        format!("    {name}: {{partition: {name}P, sort: {name}S{project}}}\n")
    }
}

/// A read that some path was made for, and others may answer too.
fn read(rng: &mut Rng, at: usize, path: &[&'static str], figures: &Figures) -> (DrawnRead, String) {
    let mut conditions = Conditions {
        args: Vec::new(),
        declared: Vec::new(),
        said: Vec::new(),
        taken: Vec::new(),
    };
    let mut sides = path.split(|part| *part == "|");
    for part in sides.next().unwrap_or_default() {
        // A part with few values may be left open.
        let is_small = ["state", "open", "grade"].contains(part);
        if !is_small || rng.u8(..3) > 0 {
            conditions.equal(rng, part, figures);
        }
    }
    let sort = sides.next().unwrap_or_default();
    for part in sort {
        match rng.u8(..6) {
            0 | 1 => conditions.equal(rng, part, figures),
            2 | 3 => conditions.range(rng, part),
            _ => {}
        }
    }
    for part in ["tenant", "owner", "state", "open", "grade", "due", "at", "code", "hold"] {
        match rng.u8(..18) {
            0 => conditions.equal(rng, part, figures),
            1 => conditions.range(rng, part),
            2 => conditions.other(rng, part, figures),
            _ => {}
        }
    }
    if conditions.said.is_empty() {
        conditions.taken.clear();
        conditions.equal(rng, "owner", figures);
    }
    let name = format!("r{at}");
    let kind = rng.u8(..6);
    let verb = if kind == 0 { "count" } else { "find" };
    let mut text = format!("  {name}:\n    {verb}: T\n");
    if !conditions.declared.is_empty() {
        let _ = writeln!(text, "    args: {{{}}}", conditions.declared.join(", "));
    }
    let _ = writeln!(text, "    where: '{}'", conditions.said.join(" && "));
    if kind > 0 {
        let orders: Vec<&&str> = sort.iter().filter(|part| !part.contains('(')).collect();
        if let Some(order) = rng.choice(orders).filter(|_| rng.u8(..3) == 0) {
            let sign = if rng.bool() { "-" } else { "" };
            let _ = writeln!(text, "    order: {sign}{order}");
        }
        if rng.u8(..3) == 0 {
            let shown = [
                "{id: id, tenant: tenant}",
                "{id: id, state: state}",
                "{id: id, due: due, code: code}",
            ];
            let _ = writeln!(text, "    return: {}", rng.choice(shown).unwrap_or_default());
        }
        let _ = writeln!(text, "    page: {}", rng.choice([5, 20, 50, 100]).unwrap_or(20));
    }
    text.push_str("    allow: true\n");
    let args = conditions.args;
    let pinned = Vec::new();
    (DrawnRead { name, pinned, args }, text)
}

/// The conditions of a read.
struct Conditions {
    args: Vec<(String, ArgOf)>,
    declared: Vec<String>,
    said: Vec<String>,
    /// The attributes that have a condition: each has one, or nothing would be left.
    taken: Vec<&'static str>,
}

impl Conditions {
    /// Takes an attribute; none where it has a condition.
    fn take(&mut self, part: &str) -> Option<(&'static str, &'static str)> {
        let own = part.trim_start_matches("day(").trim_end_matches(')');
        let known = ATTRIBUTES.iter().copied().find(|(name, _)| *name == own)?;
        if self.taken.contains(&known.0) {
            return None;
        }
        self.taken.push(known.0);
        Some(known)
    }

    fn arg(&mut self, ty: &str, of: ArgOf) -> String {
        let name = format!("a{}", self.args.len());
        self.declared.push(format!("{name}: '{ty}'"));
        self.args.push((name.clone(), of));
        format!("args.{name}")
    }

    /// One value, or one of several.
    fn equal(&mut self, rng: &mut Rng, part: &str, figures: &Figures) {
        let Some((name, ty)) = self.take(part) else { return };
        let said = match (part, rng.u8(..5)) {
            ("day(at)", 0 | 1) => {
                let from = self.arg("date", ArgOf::DaysAfter("at", -4));
                let to = self.arg("date", ArgOf::DaysAfter("at", 3));
                format!("day(at) >= {from} && day(at) <= {to} && day(at) < {from} + days(9)")
            }
            ("day(at)", _) => format!("day(at) == {}", self.arg("date", ArgOf::Day)),
            ("open", 0 | 1) => "open".to_owned(),
            ("open", _) => "!open".to_owned(),
            ("state", 0) => {
                let words: Vec<String> = figures
                    .states
                    .iter()
                    .take(2)
                    .map(|(word, _)| format!("\"{word}\""))
                    .collect();
                format!("state in [{}]", words.join(", "))
            }
            ("state", 1 | 2) => {
                let word = rng.choice(&figures.states).map_or("open", |(word, _)| *word);
                format!("state == \"{word}\"")
            }
            ("state", _) => {
                let words: Vec<&str> = figures.states.iter().map(|(word, _)| *word).collect();
                let arg = self.arg("string 1..9", ArgOf::Value("state"));
                self.declared.pop();
                self.declared.push(format!(
                    "{}: {{enum: [{}]}}",
                    arg.replace("args.", ""),
                    words.join(", ")
                ));
                format!("state == {arg}")
            }
            (_, 0) if !["due", "at", "grade"].contains(&name) => {
                let list = self.arg(
                    &format!("list({}) 1..5", ty.split(' ').next().unwrap_or(ty)),
                    ArgOf::Values(name),
                );
                format!("{name} in {list}")
            }
            _ => {
                let arg = self.arg(ty, ArgOf::Value(name));
                format!("{name} == {arg}")
            }
        };
        self.said.push(said);
    }

    /// One end, two ends, a beginning, or a day or a month of instants.
    fn range(&mut self, rng: &mut Rng, part: &str) {
        if self.take(part).is_none() {
            return;
        }
        let said = match part {
            "due" => match rng.u8(..3) {
                0 => format!("due >= {}", self.arg("date", ArgOf::Value("due"))),
                1 => format!("due < {}", self.arg("date", ArgOf::Value("due"))),
                _ => {
                    let from = self.arg("date", ArgOf::Value("due"));
                    let to = self.arg("date", ArgOf::DaysAfter("due", 20));
                    format!("due >= {from} && due <= {to} && due < {from} + days(30)")
                }
            },
            "at" => match rng.u8(..4) {
                0 => format!("at >= {}", self.arg("time", ArgOf::Value("at"))),
                1 => format!("day(at) == {}", self.arg("date", ArgOf::Day)),
                2 => format!("month(at) == {}", self.arg("month", ArgOf::Month)),
                _ => format!("day(at) <= {}", self.arg("date", ArgOf::Day)),
            },
            "code" => {
                let count = rng.usize(1..4);
                format!("code.startsWith({})", self.arg("string 1..12", ArgOf::Beginning(count)))
            }
            "grade" => format!("grade >= {}", rng.u8(1..4)),
            "hold" => "hold != absent".to_owned(),
            _ => return,
        };
        self.said.push(said);
    }

    /// A condition that no key has.
    fn other(&mut self, rng: &mut Rng, part: &str, figures: &Figures) {
        if self.take(part).is_none() {
            return;
        }
        let said = match part {
            "state" => {
                let word = rng.choice(&figures.states).map_or("open", |(word, _)| *word);
                format!("state != \"{word}\"")
            }
            "code" => "code.contains(\"7\")".to_owned(),
            "hold" => "hold != absent".to_owned(),
            "grade" => format!(
                "(grade == 0 || owner == {})",
                self.arg("string 1..12", ArgOf::Value("owner"))
            ),
            _ => return,
        };
        self.said.push(said);
    }
}

/// What reads compare, and its type.
const ATTRIBUTES: [(&str, &str); 10] = [
    ("id", "string 1..12"),
    ("tenant", "string 1..12"),
    ("owner", "string 1..12"),
    ("state", "string 1..9"),
    ("open", "bool"),
    ("grade", "int 0..3"),
    ("due", "date"),
    ("at", "time"),
    ("code", "string 1..12"),
    ("hold", "string 1..12"),
];

impl Figures {
    fn draw(rng: &mut Rng) -> Self {
        let rows = rng.choice([200, 500, 1_000, 2_000]).unwrap_or(500);
        let mut states: Vec<(&str, u64)> = STATES.iter().map(|word| (*word, 0)).collect();
        rng.shuffle(&mut states);
        states.truncate(rng.usize(2..=6));
        let mut left = 100;
        let count = states.len() as u64;
        for (at, state) in states.iter_mut().enumerate() {
            let most = left - (count - 1 - at as u64);
            state.1 = if at as u64 + 1 == count {
                left
            } else {
                rng.u64(1..=most)
            };
            left -= state.1;
        }
        Figures {
            rows,
            per_tenant: rng.choice([5, 50, 200, rows]).unwrap_or(50).min(rows),
            per_owner: rng.choice([1, 5, 20, 100]).unwrap_or(20),
            bytes: rng.choice([300, 300, 700, 2_000, 5_000]).unwrap_or(400),
            states,
            open_percent: rng.choice([2, 10, 50, 90]).unwrap_or(50),
            held_percent: rng.choice([1, 5, 30]).unwrap_or(5),
        }
    }

    fn estimates(&self, off: f64) -> String {
        let scaled = |count: u64| ((count as f64 * off) as u64).max(1);
        let shares: Vec<String> = self
            .states
            .iter()
            .map(|(word, percent)| format!("{word}: {}", *percent as f64 / 100.0))
            .collect();
        let (open, held) = (self.open_percent as f64 / 100.0, self.held_percent as f64 / 100.0);
        format!(
            "estimates:\n  T: {{items: {}, bytes: {}, per: {{tenant: {}, owner: {}, due: {}, at: {}, code: {}, hold: {}}}, shares: {{state: {{{}}}, \
             open: {{true: {open:.2}, false: {:.2}}}, hold: {{absent: {:.2}}}}}}}\n",
            scaled(self.rows),
            self.bytes,
            scaled(self.per_tenant),
            scaled(self.per_owner),
            scaled(self.rows / DAYS),
            scaled(self.rows / DAYS),
            scaled(self.rows / (CODES.len() as u64 * 100)),
            scaled(self.rows * self.held_percent / 300),
            shares.join(", "),
            1.0 - open,
            1.0 - held,
        )
    }

    fn row(&self, rng: &mut Rng, at: u64) -> Attributes {
        let tenants = (self.rows / self.per_tenant).max(1);
        let owners = (self.rows / self.per_owner).max(1);
        let text = |text: String| Value::S(text);
        let mut percent = rng.u64(0..100);
        let mut state = "";
        for (word, share) in &self.states {
            state = word;
            match percent.checked_sub(*share) {
                Some(left) => percent = left,
                None => break,
            }
        }
        let instant = format!(
            "{}T{:02}:{:02}:{:02}.{:03}Z",
            day(rng.u64(0..DAYS)),
            rng.u8(..24),
            rng.u8(..60),
            rng.u8(..60),
            at % 1_000
        );
        let mut row = Attributes::from([
            ("id".to_owned(), text(format!("i{at:06}"))),
            ("tenant".to_owned(), text(format!("t{:05}", at % tenants))),
            ("owner".to_owned(), text(format!("o{:05}", rng.u64(0..owners)))),
            ("state".to_owned(), text(state.to_owned())),
            ("open".to_owned(), Value::Bool(rng.u64(0..100) < self.open_percent)),
            ("grade".to_owned(), Value::N(rng.i64(0..4).into())),
            ("due".to_owned(), text(day(rng.u64(0..DAYS)))),
            ("at".to_owned(), text(instant)),
            (
                "code".to_owned(),
                text(format!("{}{:02}", rng.choice(CODES).unwrap_or_default(), rng.u8(..100))),
            ),
        ]);
        if rng.u64(0..100) < self.held_percent {
            row.insert("hold".to_owned(), text(format!("h{}", rng.u8(..3))));
        }
        // What the other attributes and their keys take is about a third of a small row.
        let note = (self.bytes - 200) as usize;
        row.insert("note".to_owned(), text("n".repeat(note)));
        row
    }
}

impl Drawn {
    /// Rows that fit the estimates.
    pub fn rows(&self, rng: &mut Rng) -> Vec<Row> {
        let rows = (0..self.figures.rows).map(|at| ("T".to_owned(), self.figures.row(rng, at)));
        rows.collect()
    }
}

impl DrawnRead {
    /// Arguments, taken from rows that are there.
    pub fn row_arguments(&self, rng: &mut Rng, rows: &[Row]) -> Attributes {
        let nothing = Attributes::new();
        let some = rng.choice(rows).map_or(&nothing, |(_, row)| row);
        let with_hold = rows
            .iter()
            .find(|(_, row)| row.contains_key("hold"))
            .map(|(_, row)| row);
        let mut given = Attributes::new();
        for (name, of) in &self.args {
            let value = |attribute: &str| {
                let own = some.get(attribute).or_else(|| with_hold?.get(attribute));
                own.cloned().unwrap_or_else(|| Value::S("h0".to_owned()))
            };
            let first = |attribute: &str, count: usize| {
                let text = value(attribute)
                    .as_str()
                    .and_then(|text| text.get(..count))
                    .unwrap_or_default()
                    .to_owned();
                Value::S(text)
            };
            let value = match of {
                ArgOf::Value(attribute) => value(attribute),
                ArgOf::Values(attribute) => {
                    let mut values: Vec<Value> = Vec::new();
                    for _ in 0..rng.usize(1..4) {
                        let other = rng.choice(rows).and_then(|(_, row)| row.get(*attribute).cloned());
                        let other = other.unwrap_or_else(|| value(attribute));
                        if !values.contains(&other) {
                            values.push(other);
                        }
                    }
                    Value::L(values)
                }
                ArgOf::Day => first("at", 10),
                ArgOf::Month => first("at", 7),
                ArgOf::Beginning(count) => first("code", *count),
                ArgOf::DaysAfter(attribute, days) => {
                    let own = first(attribute, 10);
                    let date = own.as_str().and_then(|text| text.parse::<jiff::civil::Date>().ok());
                    let date = date.map(|date| date.saturating_add(jiff::Span::new().days(*days)).to_string());
                    date.map_or(own, Value::S)
                }
            };
            given.insert(name.clone(), value);
        }
        given
    }
}

fn day(after: u64) -> String {
    let first = jiff::civil::date(2026, 1, 1);
    let days = i64::try_from(after).unwrap_or_default();
    first.saturating_add(jiff::Span::new().days(days)).to_string()
}
