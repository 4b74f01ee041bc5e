//! A model of any size, as a team might have written it.
//!
//! Users' partitions hold rows of many entities, told apart by the prefix of their sort keys; every fourth entity has
//! partitions of its own. Each entity has five to nine attributes, entries in two indexes, three reads and one write, and
//! the expressions differ in shape from entity to entity. The same size always gives the same text.

use std::fmt::Write;

/// What rows are called; entities beyond these get a number.
const NOUNS: [&str; 12] = [
    "Order", "Invoice", "Shipment", "Ticket", "Comment", "Review", "Payment", "Booking", "Message", "Device",
    "Session", "Document",
];

const HEAD: &str = r##"singlet: 1
name: generated

table:
  name: generated-data
  key: {partition: PK, sort: SK}
  indexes:
    GSI1: {partition: GSI1PK, sort: GSI1SK}
    GSI2: {partition: GSI2PK, sort: GSI2SK}
  type: kind
  ttl: ttl
  stream: both_images

types:
  Progress: {enum: [open, active, done, dropped]}
  Review: {enum: [draft, review, accepted, rejected]}
  Delivery: {enum: [packed, sent, delivered, returned]}
  Priority: {enum: [urgent, high, medium, low]}

callers:
  jwt: {audience: generated, claims: {id: sub, role: role}}

entities:
  User:
    attributes:
      user_id: string 1..64
      email: string /[^@\s]{1,64}@[^@\s]{1,189}/
      name: string 1..100
      created_at: time = now
    key: {PK: "USER#{user_id}", SK: "PROFILE"}
    unique: {email: lower(email)}
"##;

/// The text of a model with that many entities beside `User`, three reads for each and a write.
pub fn model(entities: usize) -> String {
    let all: Vec<Entity> = (0..entities).map(Entity::new).collect();
    let mut text = String::from(HEAD);
    all.iter().for_each(|entity| entity.entity(&mut text));
    text.push_str("\nreads:\n");
    all.iter().for_each(|entity| entity.reads(&mut text));
    text.push_str("\nwrites:\n");
    all.iter().for_each(|entity| entity.write(&mut text));
    text
}

/// One generated entity.
struct Entity {
    at: usize,
    /// `Order17`.
    name: String,
    /// `order17`.
    word: String,
    /// `ORDER17`.
    prefix: String,
    /// The enum of its states, and their words.
    states: (&'static str, [&'static str; 4]),
}

impl Entity {
    fn new(at: usize) -> Self {
        let noun = NOUNS.get(at % NOUNS.len()).copied().unwrap_or("Row");
        let name = format!("{noun}{}", at / NOUNS.len());
        let states = match at % 3 {
            0 => ("Progress", ["open", "active", "done", "dropped"]),
            1 => ("Review", ["draft", "review", "accepted", "rejected"]),
            _ => ("Delivery", ["packed", "sent", "delivered", "returned"]),
        };
        Entity {
            at,
            word: name.to_lowercase(),
            prefix: name.to_uppercase(),
            name,
            states,
        }
    }

    /// Whether the rows lie in partitions of their own, not in their users'.
    fn apart(&self) -> bool {
        self.at % 4 == 3
    }

    fn has_total(&self) -> bool {
        self.at % 3 != 1
    }

    fn has_reference(&self) -> bool {
        self.at.is_multiple_of(5)
    }

    fn entity(&self, out: &mut String) {
        let Entity {
            name, prefix, states, ..
        } = self;
        let mut line = |text: std::fmt::Arguments<'_>| {
            // Writing to a text does not fail.
            let _ = writeln!(out, "{text}");
        };
        line(format_args!("\n  {name}:\n    attributes:"));
        line(format_args!("      user_id: User.user_id"));
        line(format_args!(
            "      id: {}",
            if self.at.is_multiple_of(7) {
                "uuid = uuid()"
            } else {
                "ulid = ulid()"
            }
        ));
        line(format_args!("      title: string 1..{}", 50 + self.at % 9 * 25));
        line(format_args!("      status: {}", states.0));
        line(format_args!("      due: date?"));
        line(format_args!("      created_at: time = now"));
        if self.has_total() {
            line(format_args!("      total: number 0.01..{}.99", 9_999 + self.at));
        }
        if self.has_reference() {
            line(format_args!(
                "      reference: string? /[A-Z]{{2}}-[0-9]{{{}}}/",
                4 + self.at % 6
            ));
        }
        if self.at.is_multiple_of(2) {
            line(format_args!("      updated_at: {{type: time, always: now}}"));
        }
        match self.apart() {
            true => line(format_args!("    key: {{PK: \"{prefix}#{{id}}\", SK: \"{prefix}\"}}")),
            false => line(format_args!(
                "    key: {{PK: \"USER#{{user_id}}\", SK: \"{prefix}#{{id}}\"}}"
            )),
        }
        line(format_args!("    index:"));
        line(format_args!(
            "      GSI1: {{GSI1PK: \"USER#{{user_id}}#{prefix}\", GSI1SK: \"{{status}}#{{created_at}}#{{id}}\"}}"
        ));
        line(format_args!(
            "      GSI2: {{GSI2PK: \"{prefix}#{{user_id}}\", GSI2SK: \"{{due}}#{{id}}\"}}"
        ));
        let [first, second, third, last] = states.1;
        line(format_args!(
            "    states:\n      of: status\n      start: {first}\n      moves:"
        ));
        line(format_args!("        begin: {first} -> {second}"));
        line(format_args!("        finish: {first} | {second} -> {third}"));
        line(format_args!("        stop: {first} | {second} -> {last}"));
    }

    fn reads(&self, out: &mut String) {
        let Entity { name, word, states, .. } = self;
        let [first, second, _, last] = states.1;
        let mut line = |text: std::fmt::Arguments<'_>| {
            let _ = writeln!(out, "{text}");
        };
        line(format_args!("  {word}:\n    get: {name}"));
        line(format_args!("    where: user_id == caller.id && id == args.id"));
        line(format_args!("    allow: {}", self.allowed()));
        line(format_args!("    http: GET /{word}s/{{id}}"));

        line(format_args!("  {word}sByStatus:\n    find: {name}"));
        line(format_args!("    args: {{status: {}}}", states.0));
        line(format_args!("    where: user_id == caller.id && status == args.status"));
        line(format_args!(
            "    order: {}",
            if self.at.is_multiple_of(2) {
                "-created_at, -id"
            } else {
                "created_at"
            }
        ));
        line(format_args!("    allow: caller.authenticated"));
        line(format_args!("    http: GET /{word}s?status"));

        line(format_args!("  {word}sDue:\n    find: {name}"));
        line(format_args!("    args:\n      from: date?\n      to: date?"));
        let more = match self.at % 6 {
            0 => format!(" && status != \"{last}\""),
            1 => format!(" && status in [\"{first}\", \"{second}\"]"),
            2 if self.has_total() => " && total > 10".to_owned(),
            3 => " && title != \"\"".to_owned(),
            4 => format!(
                " && (status == \"{first}\" || created_at < now - days({}))",
                1 + self.at % 30
            ),
            _ => format!(" && !(status == \"{last}\" && title.startsWith(\"{}\"))", self.word),
        };
        line(format_args!("    where: >-"));
        line(format_args!(
            "      user_id == caller.id && due != absent && due >= args.from && due <= args.to"
        ));
        line(format_args!("     {more}"));
        line(format_args!("    order: due, id"));
        line(format_args!("    limit: {}", 20 + self.at % 80));
        line(format_args!("    allow: caller.authenticated"));
        line(format_args!("    http: GET /{word}s/due?from&to"));
    }

    fn allowed(&self) -> String {
        match self.at % 4 {
            0 => "caller.authenticated".to_owned(),
            1 => "caller.role == \"member\" || caller.role == \"clerk\"".to_owned(),
            2 => "caller.authenticated && caller.role != \"guest\"".to_owned(),
            _ => "user_id == caller.id".to_owned(),
        }
    }

    fn row(&self) -> &'static str {
        if self.apart() { "args.id" } else { "caller.id, args.id" }
    }

    fn write(&self, out: &mut String) {
        let Entity { name, word, states, .. } = self;
        let [first, second, ..] = states.1;
        let row = self.row();
        let mut line = |text: std::fmt::Arguments<'_>| {
            let _ = writeln!(out, "{text}");
        };
        let total = if self.has_total() { ", total" } else { "" };
        match self.at % 4 {
            0 => {
                line(format_args!("  create{name}:\n    http: POST /{word}s -> 201"));
                line(format_args!("    allow: caller.authenticated\n    do:"));
                line(format_args!(
                    "      - present: User(caller.id)\n        else: not_registered"
                ));
                line(format_args!(
                    "      - create: {name}\n        set: {{user_id: caller.id}}"
                ));
                line(format_args!("        take: [title, due{total}]"));
            }
            1 => {
                line(format_args!("  update{name}:\n    http: PATCH /{word}s/{{id}}"));
                line(format_args!("    allow: caller.authenticated\n    do:"));
                line(format_args!(
                    "      - update: {name}({row})\n        patch: [title, due{total}]"
                ));
            }
            2 => {
                line(format_args!("  finish{name}:\n    http: POST /{word}s/{{id}}/finish"));
                line(format_args!("    let:\n      found: {name}({row})"));
                line(format_args!("    allow: caller.authenticated\n    require:"));
                line(format_args!(
                    "      - found.due == absent || found.due >= today - days({}) else too_late(due = found.due)",
                    1 + self.at % 20
                ));
                line(format_args!(
                    "    do:\n      - update: found\n        move: finish\n        else: {{state: not_{first}}}"
                ));
            }
            _ => {
                line(format_args!("  remove{name}:\n    http: DELETE /{word}s/{{id}}"));
                line(format_args!("    let:\n      found: {name}({row})"));
                line(format_args!("    allow: found.user_id == caller.id\n    require:"));
                line(format_args!(
                    "      - found.status in [\"{first}\", \"{second}\"] else 409 in_use(status = found.status)"
                ));
                line(format_args!("    do:\n      - delete: found"));
            }
        }
    }
}
