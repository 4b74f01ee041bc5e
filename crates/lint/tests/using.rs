//! Conditions by hand against what is meant, in both directions: each mistake that documents make is a finding, and the condition
//! that is right beside it is none.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use singlet_lint::check_design;
use singlet_model::Source;

/// The rules that compare a condition with its meaning.
const RULES: [&str; 6] = ["R001", "R002", "R005", "R006", "R021", "R022"];

const MODEL: &str = r##"
singlet: 1
name: probe
zone: Europe/Rome
table:
  name: Probe
  key: {partition: PK, sort: SK}
  type: kind
  indexes:
    GSI: {partition: GP, sort: GS}
types:
  Status: {enum: [open, late, done]}
callers:
  jwt: {audience: probe, claims: {id: sub}}
entities:
  Event:
    attributes:
      owner: string 1..40
      other: string 1..40
      at: time
      id: ulid = ulid()
      status: Status
      city: string 1..40
      email: string 1..60
      number: int 0..999
      shard: int 0..9
      wide: int 0..10
      many: {is: hash(id) % 64}
      due: date?
    key: {PK: "O#{owner}", SK: "E#{at}#{id}"}
    index:
      GSI:
GROUP
reads:
  asked:
    find: Event
    args: {ARGS}
    where: WHERE
    using: {USING}
    allow: caller.authenticated
"##;

struct Case {
    name: &'static str,
    index: &'static str,
    args: &'static str,
    meaning: &'static str,
    wrong: &'static [&'static str],
    right: &'static [&'static str],
}

const BY_MOMENT: &str = r#"{GP: "C#{city}", GS: "{at}"}"#;

const CASES: &[Case] = &[
    Case {
        name: "a comparison the other way round",
        index: r#"{GP: "O#{owner}", GS: "D#{due}#{id}"}"#,
        args: "to: date",
        meaning: "owner == caller.id && due < args.to",
        wrong: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">": "D#{args.to}#"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">=": "D#{args.to}"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<=": "D#{args.to}$"}}"##,
        ],
        right: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<": "D#{args.to}"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<": "D#{args.to}#"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["D#", "D#{args.to}"]}}"##,
        ],
    },
    Case {
        name: "a bound that is missing",
        index: r#"{GP: "O#{owner}", GS: "D#{due}#{id}"}"#,
        args: "from: date, to: date",
        meaning: "owner == caller.id && due >= args.from && due <= args.to",
        wrong: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">=": "D#{args.from}"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<=": "D#{args.to}$"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["D#{args.to}", "D#{args.from}$"]}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["D#{args.from}", "D#{args.from}$"]}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["D#{args.from}$", "D#{args.to}$"]}}"##,
        ],
        right: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["D#{args.from}", "D#{args.to}$"]}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">=": "D#{args.from}"}}, filter: due <= args.to"##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: due <= args.to && due >= args.from"##,
        ],
    },
    Case {
        name: "a filter that is missing or another",
        index: r#"{GP: "O#{owner}", GS: "{id}"}"#,
        args: "",
        meaning: r#"owner == caller.id && status in ["open", "late"] && city != "Rome""#,
        wrong: &[
            r##"index: GSI, key: {GP: "O#{caller.id}"}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: status != "done""##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: status == "open" && city != "Rome""##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: 'status in ["open", "late"] && city == "Rome"'"##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: 'status in ["open", "late"] || city != "Rome"'"##,
        ],
        right: &[r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: 'status != "done" && city != "Rome"'"##],
    },
    Case {
        name: "another argument in the partition",
        index: r#"{GP: "O#{owner}", GS: "{id}"}"#,
        args: "owner: Event.owner, other: Event.owner",
        meaning: "owner == args.owner && other == args.other",
        wrong: &[
            r##"index: GSI, key: {GP: "O#{args.other}"}, filter: other == args.other"##,
            r##"index: GSI, key: {GP: "O#{caller.id}"}, filter: other == args.other"##,
            r##"index: GSI, key: {GP: "O#{args.owner}"}, filter: other == args.owner"##,
        ],
        right: &[r##"index: GSI, key: {GP: "O#{args.owner}"}, filter: other == args.other"##],
    },
    Case {
        name: "a range in which no key lies",
        index: r#"{GP: "O#{owner}", GS: "M#{id}"}"#,
        args: "",
        meaning: "owner == caller.id",
        wrong: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<": "M#"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">": "M$"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {between: ["A", "B"]}}"##,
        ],
        right: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">": "M#"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {"<": "M$"}}"##,
        ],
    },
    Case {
        name: "folded against unfolded",
        index: r#"{GP: "M#{lower(email)}", GS: "{id}"}"#,
        args: "email: Event.email",
        meaning: "lower(email) == lower(args.email)",
        wrong: &[
            r##"index: GSI, key: {GP: "M#{args.email}"}"##,
            r##"index: GSI, key: {GP: "M#{upper(args.email)}"}"##,
        ],
        right: &[r##"index: GSI, key: {GP: "M#{lower(args.email)}"}"##],
    },
    Case {
        name: "a fold that reads more than is meant",
        index: r#"{GP: "M#{lower(email)}", GS: "{id}"}"#,
        args: "email: Event.email",
        meaning: "email == args.email",
        wrong: &[r##"index: GSI, key: {GP: "M#{lower(args.email)}"}"##],
        right: &[r##"index: GSI, key: {GP: "M#{lower(args.email)}"}, filter: email == args.email"##],
    },
    Case {
        name: "padded against plain",
        index: r#"{GP: "O#{owner}", GS: "N#{number}"}"#,
        args: "number: Event.number",
        meaning: "owner == caller.id && number == args.number",
        wrong: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: "N#{plain(args.number)}"}"##],
        right: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: "N#{args.number}"}"##],
    },
    Case {
        name: "a range over numbers that are not padded",
        index: r#"{GP: "O#{owner}", GS: "N#{plain(number)}"}"#,
        args: "number: Event.number",
        meaning: "owner == caller.id && number >= args.number",
        wrong: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: {">=": "N#{plain(args.number)}"}}"##],
        right: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "N#"}}, filter: number >= args.number"##],
    },
    Case {
        name: "a prefix that ends inside a value",
        index: r#"{GP: "O#{owner}", GS: "{city}#{id}"}"#,
        args: "city: Event.city",
        meaning: "owner == caller.id && city == args.city",
        wrong: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "{args.city}"}}"##],
        right: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "{args.city}#"}}"##],
    },
    Case {
        name: "a last day that is not read",
        index: BY_MOMENT,
        args: "city: Event.city, to: date",
        meaning: r#"city == args.city && at < time(args.to + days(1), "00:00")"#,
        wrong: &[
            r##"index: GSI, key: {GP: "C#{args.city}", GS: {"<=": "{args.to}"}}"##,
            r##"index: GSI, key: {GP: "C#{args.city}", GS: {"<=": "{args.to}T23:59:00"}}"##,
            r##"index: GSI, key: {GP: "C#{args.city}", GS: {"<=": "{args.to}T23:59:59.999Z"}}"##,
        ],
        right: &[r##"index: GSI, key: {GP: "C#{args.city}"}, filter: 'at < time(args.to + days(1), "00:00")'"##],
    },
    Case {
        name: "the last minute of a day",
        index: BY_MOMENT,
        args: "city: Event.city, from: time, to: time",
        meaning: "city == args.city && at >= args.from && at <= args.to",
        wrong: &[
            r##"index: GSI, key: {GP: "C#{args.city}", GS: {between: ["{args.from}", "{day(args.to)}T23:59:00"]}}"##,
            r##"index: GSI, key: {GP: "C#{args.city}", GS: {between: ["{day(args.from)}", "{args.to}"]}}"##,
        ],
        right: &[r##"index: GSI, key: {GP: "C#{args.city}", GS: {between: ["{args.from}", "{args.to}"]}}"##],
    },
    Case {
        name: "one shard of ten",
        index: r#"{GP: "S#{shard}", GS: "{id}"}"#,
        args: "",
        meaning: "shard >= 0",
        wrong: &[
            r##"index: GSI, key: {GP: "S#0"}"##,
            r##"index: GSI, key: {GP: "S#0"}, queries: 9"##,
        ],
        right: &[r##"index: GSI, key: {GP: "S#0"}, queries: 10"##],
    },
    Case {
        name: "three queries of eleven",
        index: r#"{GP: "W#{wide}", GS: "{id}"}"#,
        args: "",
        meaning: "id != absent",
        wrong: &[
            r##"index: GSI, key: {GP: "W#00"}, queries: 3"##,
            r##"index: GSI, key: {GP: "W#00"}, queries: 10"##,
            r##"index: GSI, key: {GP: "W#0"}, queries: 11"##,
        ],
        right: &[r##"index: GSI, key: {GP: "W#00"}, queries: 11"##],
    },
    Case {
        name: "all but one of the shards that a hash makes",
        index: r#"{GP: "M#{many}", GS: "{id}"}"#,
        args: "",
        meaning: "owner != absent",
        wrong: &[
            r##"index: GSI, key: {GP: "M#00"}"##,
            r##"index: GSI, key: {GP: "M#00"}, queries: 63"##,
        ],
        right: &[r##"index: GSI, key: {GP: "M#00"}, queries: 64"##],
    },
    Case {
        name: "a query for each of two words",
        index: r#"{GP: "O#{owner}", GS: "{status}#{id}"}"#,
        args: "",
        meaning: r#"owner == caller.id && status in ["open", "late"]"#,
        wrong: &[
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "open#"}}"##,
            r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "done#"}}, queries: 2"##,
        ],
        right: &[r##"index: GSI, key: {GP: "O#{caller.id}", GS: {begins_with: "open#"}}, queries: 2"##],
    },
];

#[test]
fn every_mistake_is_a_finding_and_what_is_right_is_none() {
    let mut failures = Vec::new();
    for case in CASES {
        for wrong in case.wrong {
            let found = findings(case, wrong);
            if found.is_empty() || found.iter().all(|finding| finding.starts_with("R022")) {
                failures.push(format!("{}: nothing is found in {wrong}: {found:?}", case.name));
            }
        }
        for right in case.right {
            let found = findings(case, right);
            if !found.is_empty() {
                failures.push(format!(
                    "{}: found in {right}:\n    {}",
                    case.name,
                    found.join("\n    ")
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn findings(case: &Case, using: &str) -> Vec<String> {
    let text = MODEL
        .replace("GROUP", &format!("        {}", case.index))
        .replace("ARGS", case.args)
        .replace("WHERE", &format!("'{}'", case.meaning))
        .replace("USING", using);
    let loaded = singlet_model::load_source(&Source::new("probe.yaml", text.clone()));
    assert!(!loaded.diagnostics.has_errors(), "{}\n{:?}", text, loaded.diagnostics);
    let found = check_design(loaded);
    let of_rules = found.iter().filter(|finding| RULES.contains(&finding.rule.code));
    of_rules
        .map(|finding| format!("{}: {}", finding.rule.code, finding.message))
        .collect()
}
