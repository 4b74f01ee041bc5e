//! Pairs of models, with the rows of the old one and what the new one would have had written.

/// A change of a design.
pub struct Pair {
    pub name: &'static str,
    /// What stands in the old model and in the new one in its place.
    pub edits: &'static [(&'static str, &'static str)],
    /// Rows as the new model has them, by what stands in their lines and what stands there in place of it.
    pub lines: &'static [(&'static str, &'static str)],
    pub drops: bool,
}

/// Tasks with a guard, a mirror, expiry and an index; prices with versions; notes that nothing else concerns.
pub const OLD: &str = r#"
singlet: 1
name: work
table:
  name: TABLE
  key: {partition: PK, sort: SK}
  indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}
  type: kind
  ttl: ends
types:
  Status: {enum: [open, finished]}
  Size: {enum: [small, large]}
entities:
  Task:
    attributes:
      owner: string 1..64
      number: int 0..99
      title: string 1..200
      status: Status = "open"
      size: Size
      due: date?
      note: string? 0..100
      until: time?
    key: {PK: "USER#{owner}", SK: "TASK#{number}"}
    index:
      GSI1: {GSI1PK: "STATUS#{status}", GSI1SK: "{number}"}
    unique: {title: lower(title)}
    expires: until
  TaskByTitle:
    mirrors: Task
    carries: [status, size]
    key: {PK: "TITLE#{title}", SK: "{owner}#{number}"}
  Price:
    attributes:
      code: string /[A-Z]{2}/
      from: time = now
      until: time?
      gone: bool = false
      amount: number 0.00..9999.99
    key: {PK: "PRICE#{code}", SK: "{from}"}
    history: {at: from, until: until, tombstone: gone, same: keep}
  Memo:
    attributes:
      id: string 1..20
      text: string 1..100
    key: {PK: "MEMO#{id}", SK: "MEMO"}
    unique: {text: text}
"#;

pub const PAIRS: &[Pair] = &[
    Pair {
        name: "an index",
        edits: &[
            (
                "indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}",
                "indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}, GSI2: {partition: GSI2PK, sort: GSI2SK}}",
            ),
            (
                "GSI1SK: \"{number}\"}\n",
                "GSI1SK: \"{number}\"}\n      GSI2: {GSI2PK: \"SIZE#{size}\", GSI2SK: \"{due}#{number}\"}\n",
            ),
        ],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "a key, with what names it in guards",
        edits: &[(
            "{PK: \"USER#{owner}\", SK: \"TASK#{number}\"}",
            "{PK: \"TASKS#{owner}\", SK: \"{size}#{number}\"}",
        )],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "keys of a row and its mirror that are exchanged",
        edits: &[
            (
                "{PK: \"USER#{owner}\", SK: \"TASK#{number}\"}",
                "{PK: \"T\", SK: \"{owner}#{number}\"}",
            ),
            (
                "{PK: \"TITLE#{title}\", SK: \"{owner}#{number}\"}",
                "{PK: \"USER#{owner}\", SK: \"TASK#{number}\"}",
            ),
        ],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "a wider number, whose keys are padded",
        edits: &[("int 0..99", "int 0..9999")],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "an attribute that is filled, and a guard of it",
        edits: &[
            (
                "      until: time?\n    key: {PK: \"USER",
                "      until: time?\n      slug: {type: string 1..300, fill: 'owner + \"/\" + title'}\n    key: {PK: \"USER",
            ),
            (
                "unique: {title: lower(title)}",
                "unique: {title: lower(title), slug: slug}",
            ),
        ],
        lines: &[("\"owner\":", "\"slug\":\"SLUG\",\"owner\":")],
        drops: false,
    },
    Pair {
        name: "members, attributes, entities and guards by other names",
        edits: &[
            (
                "Status: {enum: [open, finished]}",
                "Status: {enum: [open, done], was: {done: finished}}",
            ),
            ("  Task:\n    attributes:", "  Job:\n    was: Task\n    attributes:"),
            ("mirrors: Task", "mirrors: Job"),
            (
                "      note: string? 0..100",
                "      remark: {type: string? 0..100, was: note}",
            ),
            ("unique: {text: text}", "unique: {body: {is: text, was: text}}"),
        ],
        lines: &[
            ("\"Task\"", "\"Job\""),
            ("\"finished\"", "\"done\""),
            ("\"note\"", "\"remark\""),
        ],
        drops: false,
    },
    Pair {
        name: "versions under another key",
        edits: &[(
            "{PK: \"PRICE#{code}\", SK: \"{from}\"}",
            "{PK: \"P#{code}\", SK: \"AT#{from}\"}",
        )],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "what is dropped",
        edits: &[
            ("      note: string? 0..100\n", ""),
            (
                "  Memo:\n    attributes:\n      id: string 1..20\n      text: string 1..100\n    key: {PK: \"MEMO#{id}\", SK: \"MEMO\"}\n    unique: {text: text}\n",
                "",
            ),
            (
                "    index:\n      GSI1: {GSI1PK: \"STATUS#{status}\", GSI1SK: \"{number}\"}\n",
                "",
            ),
            ("  indexes: {GSI1: {partition: GSI1PK, sort: GSI1SK}}\n", ""),
        ],
        lines: &[("\"note\":\"n\",", ""), ("{\"Memo\"", "#")],
        drops: true,
    },
    Pair {
        name: "a mirror that is gone, another that comes, and an index of other attributes",
        edits: &[
            (
                "    carries: [status, size]\n    key: {PK: \"TITLE#{title}\", SK: \"{owner}#{number}\"}",
                "    carries: all\n    key: {PK: \"SIZE#{size}\", SK: \"{owner}#{number}\"}",
            ),
            ("TaskByTitle", "TaskBySize"),
            (
                "{partition: GSI1PK, sort: GSI1SK}",
                "{partition: GSI1PK, sort: GSI1SK, project: keys}",
            ),
        ],
        lines: &[],
        drops: false,
    },
    Pair {
        name: "another delimiter, other names for kind and expiry",
        edits: &[
            (
                "  type: kind\n  ttl: ends\n",
                "  type: what\n  ttl: gone_at\n  delimiter: \"|\"\n",
            ),
            ("USER#", "USER|"),
            ("TASK#", "TASK|"),
            ("STATUS#", "STATUS|"),
            ("TITLE#{title}", "TITLE|{title}"),
            ("{owner}#{number}", "{owner}|{number}"),
            ("PRICE#", "PRICE|"),
            ("MEMO#", "MEMO|"),
        ],
        lines: &[],
        drops: false,
    },
];

/// The rows of the old model. Every seventh task has an end that is far away.
pub fn old_lines(tasks: usize) -> String {
    let mut lines = Vec::new();
    for at in 0..tasks {
        let status = if at % 3 == 0 { "finished" } else { "open" };
        let size = if at % 2 == 0 { "small" } else { "large" };
        let due = if at % 5 == 0 {
            String::new()
        } else {
            format!(",\"due\":\"2026-12-{:02}\"", at % 28 + 1)
        };
        let until = if at % 7 == 0 {
            ",\"until\":\"2099-01-01T00:00:00.000Z\""
        } else {
            ""
        };
        lines.push(format!(
            "{{\"Task\":{{\"note\":\"n\",\"owner\":\"u#{}\",\"number\":{},\"title\":\"Title {at}\",\"status\":\"{status}\",\"size\":\"{size}\"{due}{until}}}}}",
            at % 4,
            at % 100,
        ));
    }
    for (code, amounts) in [("DE", 3), ("AT", 1)] {
        for at in 0..amounts {
            let until = match at + 1 < amounts {
                true => format!(",\"until\":\"2026-0{}-01T00:00:00.000Z\"", at + 2),
                false => String::new(),
            };
            lines.push(format!(
                "{{\"Price\":{{\"code\":\"{code}\",\"from\":\"2026-0{}-01T00:00:00.000Z\",\"gone\":false,\"amount\":{at}.5{until}}}}}",
                at + 1
            ));
        }
    }
    for at in 0..5 {
        lines.push(format!("{{\"Memo\":{{\"id\":\"m{at:02}\",\"text\":\"text {at}\"}}}}"));
    }
    lines.join("\n")
}

impl Pair {
    pub fn new_model(&self) -> String {
        let mut text = OLD.to_owned();
        for (was, is) in self.edits {
            assert!(text.contains(was), "{}: `{was}` is not in the model", self.name);
            text = text.replace(was, is);
        }
        text
    }

    pub fn new_lines(&self, tasks: usize) -> String {
        let mut lines = Vec::new();
        for line in old_lines(tasks).lines() {
            let mut line = line.to_owned();
            for (was, is) in self.lines {
                line = line.replace(was, is);
            }
            if line.contains("SLUG") {
                let part = |name: &str| {
                    line.split(&format!("\"{name}\":\""))
                        .nth(1)
                        .unwrap()
                        .split('"')
                        .next()
                        .unwrap()
                        .to_owned()
                };
                line = line.replace("SLUG", &format!("{}/{}", part("owner"), part("title")));
            }
            if !line.starts_with('#') {
                lines.push(line);
            }
        }
        lines.join("\n")
    }
}
