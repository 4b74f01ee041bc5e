//! Pairs of models, and what keeps the second from working on the table of the first.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use singlet_face::{Company, Face, face_differences};
use singlet_model::{Model, Source};

const BASE: &str = r##"
singlet: 1
name: probe
zone: Europe/Rome
table:
  name: Probe
  key: {partition: PK, sort: SK}
  indexes: {GSI: {partition: GP, sort: GS}}
  type: kind
  ttl: ttl
types:
  Status: {enum: [open, done, dropped]}
settings: {keep: duration?}
entities:
  Agent:
    attributes:
      id: string 1..20
      name: string 1..50
      email: string 1..80
    key: {PK: "AGENT#{id}", SK: "AGENT"}
    unique: {email: lower(email)}
  Ticket:
    attributes:
      agent: Agent.id
      no: int 0..9
      title: string 1..100
      status: Status
      weight: number? 0.00..9.99
      at: time
      size: int = 1
      tags: set(string 1..10)? ..5
      label: {is: "lower(title)"}
      by: {copy: Agent(agent).name, kept: transaction}
      note: string?
    key: {PK: "AGENT#{agent}", SK: "TICKET#{no}"}
    index:
      GSI: {GP: "STATUS#{rank(status)}", GS: "{at}"}
    expires: 'settings.keep == absent ? absent : at + settings.keep'
  Seen:
    mirrors: Ticket
    carries: [title]
    key: {PK: "SEEN#{status}", SK: "{agent}#{no}"}
  Rate:
    attributes:
      code: string 1..5
      from: time
      until: time?
      amount: number
    key: {PK: "RATE#{code}", SK: "{from}"}
    history: {at: from, until: until}
reads:
  ticket:
    get: Ticket
    where: agent == args.agent && no == args.no
    allow: caller.authenticated
    http: GET /tickets/{agent}/{no}
writes:
  rename:
    http: PUT /agents/{id}
    allow: caller.authenticated
    do:
      - update: Agent(args.id)
        take: [name]
"##;

fn model(text: &str) -> Model {
    let source = Source::new("probe.yaml", text);
    let loaded = singlet_model::load_source(&source);
    let errors: Vec<String> = loaded.diagnostics.iter().map(|found| found.message.clone()).collect();
    loaded
        .model
        .filter(|_| errors.is_empty())
        .unwrap_or_else(|| panic!("{errors:?}\n{text}"))
}

fn face(text: &str) -> Face {
    Face::of(&model(text), &BTreeMap::new())
}

fn changed(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

/// What is said of the second model, alone and in company.
fn said(from: &str, to: &str) -> (Vec<String>, Vec<String>) {
    let (old, new) = (face(BASE), face(&changed(from, to)));
    let shown = |company| {
        face_differences(&old, &new, company)
            .iter()
            .map(ToString::to_string)
            .collect()
    };
    (shown(Company::Alone), shown(Company::Shared))
}

/// Changes under which old rows are read rightly, and new ones by a process that still runs.
#[test]
fn what_changes_nothing_stored_is_served() {
    let free = [
        (
            "an optional attribute",
            "      note: string?\n",
            "      note: string?\n      more: string?\n",
        ),
        (
            "an optional attribute with a default",
            "      note: string?\n",
            "      note: string?\n      more: string? = \"x\"\n",
        ),
        ("a default", "size: int = 1", "size: int = 2"),
        ("a limit that is wider", "title: string 1..100", "title: string 1..200"),
        ("a limit that is gone", "name: string 1..50", "name: string"),
        (
            "a renamed attribute that is stored as before",
            "      note: string?\n",
            "      remark: {type: string?, stored: note}\n",
        ),
        (
            "another name",
            "      note: string?\n",
            "      note: string?\n      remark: {is: note}\n",
        ),
        ("a route", "GET /tickets/{agent}/{no}", "GET /t/{agent}/{no}"),
        (
            "who may",
            "allow: caller.authenticated\n    http: GET",
            "allow: \"true\"\n    http: GET",
        ),
        ("a comment", "singlet: 1\n", "# why\nsinglet: 1\n"),
        (
            "a new entity",
            "reads:\n",
            "  Note:\n    attributes: {id: string}\n    key: {PK: \"NOTE#{id}\", SK: \"NOTE\"}\nreads:\n",
        ),
        ("an optional attribute that is gone", "      note: string?\n", ""),
    ];
    for (what, from, to) in free {
        let (alone, shared) = said(from, to);
        assert_eq!((alone, shared), (Vec::new(), Vec::new()), "{what}");
    }
}

/// Changes that are refused, and the words.
#[test]
fn what_changes_stored_rows_is_refused_with_the_difference() {
    let refused: [(&str, &str, &str, &str); 29] = [
        (
            "a key's text",
            "SK: \"TICKET#{no}\"",
            "SK: \"T#{no}\"",
            "`Ticket`, the key: was PK `AGENT#{agent}` SK `TICKET#{no, 1 digit}`, is PK `AGENT#{agent}` SK `T#{no, 1 digit}`; rows of before are under other keys",
        ),
        (
            "a number's width in a key",
            "no: int 0..9",
            "no: int 0..19",
            "SK `TICKET#{no, 2 digits}`",
        ),
        (
            "a member before others by rank",
            "enum: [open, done, dropped]",
            "enum: [new, open, done, dropped]",
            "`Ticket`, index `GSI`: was GP `STATUS#{rank(status) of open done dropped}`",
        ),
        (
            "a member that is gone",
            "enum: [open, done, dropped]",
            "enum: [open, done]",
            "`Ticket`, attribute `status`: was one of open, done, dropped, is one of open, done; rows of before have values that this type does not",
        ),
        (
            "folding in a key",
            "GS: \"{at}\"",
            "GS: \"{lower(title)}\"",
            "index `GSI`",
        ),
        (
            "an entry by condition",
            "      GSI: {GP: \"STATUS#{rank(status)}\", GS: \"{at}\"}",
            "      GSI:\n        - {when: size > 1, GP: \"STATUS#{rank(status)}\", GS: \"{at}\"}",
            "when `size > 1`; rows of before are elsewhere in it",
        ),
        (
            "a new entry",
            "    unique: {email: lower(email)}",
            "    unique: {email: lower(email)}\n    index: {GSI: {GP: \"A#{id}\", GS: \"{name}\"}}",
            "`Agent`, index `GSI`: was nothing, is GP `A#{id}` GS `{name, whole}`; rows of before are not in it",
        ),
        (
            "a required attribute",
            "      note: string?\n",
            "      note: string?\n      due: date\n",
            "`Ticket`, attribute `due`: was nothing, is date; rows of before have none, and it is required",
        ),
        (
            "a required attribute with a default",
            "      note: string?\n",
            "      note: string?\n      due: int = 0\n",
            "`Ticket`, attribute `due`: was nothing, is int; rows of before have none, and it is required",
        ),
        (
            "optional to required",
            "note: string?",
            "note: string",
            "`Ticket`, attribute `note`: was string, optional, is string; rows of before may lack it",
        ),
        (
            "another type",
            "note: string?",
            "note: int?",
            "`Ticket`, attribute `note`: was string, optional, is int, optional; rows of before have values that this type does not",
        ),
        (
            "a narrower limit",
            "name: string 1..50",
            "name: string 1..20",
            "`Agent`, attribute `name`: was string 1..50, is string 1..20; rows of before may have values outside of it",
        ),
        (
            "a pattern",
            "name: string 1..50",
            "name: string /[a-z]+/",
            "rows of before may have values outside of it",
        ),
        (
            "fewer decimals",
            "number? 0.00..9.99",
            "number? 0.0..9.9",
            "`Ticket`, attribute `weight`",
        ),
        (
            "a set's limit",
            "tags: set(string 1..10)? ..5",
            "tags: set(string 1..10)? ..3",
            "`Ticket`, attribute `tags`: was set(string 1..10) ..5, optional, is set(string 1..10) ..3, optional",
        ),
        (
            "a stored name",
            "      note: string?\n",
            "      note: {type: string, stored: n}\n",
            "`Ticket`, attribute `n`: was nothing, is string; rows of before have none, and it is required",
        ),
        (
            "what is computed",
            "is: \"lower(title)\"",
            "is: \"upper(title)\"",
            "`Ticket`, what `label` is computed from: was `lower(title)`, is `upper(title)`",
        ),
        (
            "a new computed attribute",
            "      note: string?\n",
            "      note: string?\n      big: {is: \"size > 3\"}\n",
            "`Ticket`, attribute `big`: was nothing, is bool; rows of before have no such value, though it could be computed",
        ),
        (
            "a computed attribute by day",
            "      note: string?\n",
            "      note: string?\n      on: {is: \"day(at)\"}\n",
            "`Ticket`, attribute `on`",
        ),
        (
            "when rows end",
            "at + settings.keep",
            "at + settings.keep + days(1)",
            "`Ticket`, `expires`: was",
        ),
        (
            "rows that end no longer",
            "    expires: 'settings.keep == absent ? absent : at + settings.keep'\n",
            "",
            "`Ticket`, `expires`: was",
        ),
        (
            "a new guard",
            "unique: {email: lower(email)}",
            "unique: {email: lower(email), name: name}",
            "`Agent`, unique `name`: was nothing, is `name`; rows of before have no such guard, and their values would not be unique",
        ),
        (
            "another guard",
            "unique: {email: lower(email)}",
            "unique: {email: email}",
            "`Agent`, unique `email`: was `lower(email)`, is `email`",
        ),
        (
            "a new mirror",
            "reads:\n",
            "  Other:\n    mirrors: Ticket\n    carries: [title]\n    key: {PK: \"OTHER#{no}\", SK: \"{agent}\"}\nreads:\n",
            "`Other`, the mirror: was nothing, is of `Ticket`; rows of `Ticket` from before have no `Other`",
        ),
        (
            "what a mirror carries",
            "carries: [title]",
            "carries: [title, note]",
            "`Seen`, attribute `note`: was nothing, is string, optional; rows of before do not carry it",
        ),
        (
            "versions",
            "    history: {at: from, until: until}\n",
            "",
            "`Rate`, `history`: was `from`, `until`, is nothing; rows of before are no such versions",
        ),
        (
            "the delimiter",
            "  type: kind\n",
            "  type: kind\n  delimiter: \"|\"\n",
            "the delimiter: was `#`, is `|`; every row is under another key",
        ),
        (
            "the type attribute",
            "  type: kind\n",
            "  type: type\n",
            "the type attribute: was `kind`, is `type`; rows would not be told apart by their kind",
        ),
        (
            "the TTL attribute",
            "  ttl: ttl\n",
            "  ttl: ends\n",
            "the TTL attribute: was `ttl`, is `ends`; rows would not end when they should",
        ),
    ];
    for (what, from, to, words) in refused {
        let (alone, shared) = said(from, to);
        assert!(alone.iter().any(|text| text.contains(words)), "{what}: {alone:#?}");
        assert!(alone.iter().all(|text| shared.contains(text)), "{what}: {shared:#?}");
    }
}

/// Old rows are read rightly, but a process of before would not read what this model writes.
#[test]
fn in_company_both_must_read_what_the_other_writes() {
    let in_company = [
        (
            "required to optional",
            "title: string 1..100",
            "title: string? 1..100",
            "attribute `title`",
        ),
        (
            "a new member",
            "enum: [open, done, dropped]",
            "enum: [open, done, dropped, late]",
            "attribute `status`",
        ),
        (
            "an entry that is gone",
            "    index:\n      GSI: {GP: \"STATUS#{rank(status)}\", GS: \"{at}\"}\n",
            "",
            "index `GSI`",
        ),
        (
            "a copy that follows no longer",
            "kept: transaction",
            "kept: frozen",
            "what `by` copies",
        ),
        (
            "a guard that is gone",
            "    unique: {email: lower(email)}\n",
            "",
            "unique `email`",
        ),
        (
            "a required attribute that is gone",
            "      size: int = 1\n",
            "",
            "attribute `size`",
        ),
        (
            "an optional attribute of versions",
            "      amount: number\n",
            "      amount: number\n      why: string?\n",
            "would drop it",
        ),
    ];
    for (what, from, to, words) in in_company {
        let (alone, shared) = match what {
            // Ranks move every key of the index: the member must not be in one.
            "a new member" => {
                let old = BASE.replacen("STATUS#{rank(status)}", "STATUS#{agent}", 1);
                let new = old.replacen(from, to, 1);
                let (old, new) = (face(&old), face(&new));
                let shown = |company| -> Vec<String> {
                    face_differences(&old, &new, company)
                        .iter()
                        .map(ToString::to_string)
                        .collect()
                };
                (shown(Company::Alone), shown(Company::Shared))
            }
            "required to optional" => {
                let old = BASE.replacen("      label: {is: \"lower(title)\"}\n", "", 1);
                let (old, new) = (face(&old), face(&old.replacen(from, to, 1)));
                let shown = |company| -> Vec<String> {
                    face_differences(&old, &new, company)
                        .iter()
                        .map(ToString::to_string)
                        .collect()
                };
                (shown(Company::Alone), shown(Company::Shared))
            }
            _ => said(from, to),
        };
        assert_eq!(alone, Vec::<String>::new(), "{what}");
        assert!(shared.iter().any(|text| text.contains(words)), "{what}: {shared:#?}");
    }
}

#[test]
fn a_zone_counts_where_days_are_stored() {
    let with_day = BASE.replacen(
        "      note: string?\n",
        "      note: string?\n      on: {is: \"day(at)\"}\n",
        1,
    );
    let there = |text: &str| text.replacen("Europe/Rome", "America/Lima", 1);
    assert_eq!(face_differences(&face(BASE), &face(&there(BASE)), Company::Shared), []);
    let found = face_differences(&face(&with_day), &face(&there(&with_day)), Company::Alone);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0]
            .to_string()
            .starts_with("`Ticket`, `zone`: was `Europe/Rome`, is `America/Lima`")
    );
}

#[test]
fn a_face_comes_back_from_its_text_and_knows_what_changed() {
    let (old, new) = (face(BASE), face(&changed("size: int = 1", "size: int 0.. = 1")));
    assert_eq!(Face::from_text(&old.to_text()).unwrap(), old);
    assert_eq!(old.face_hash(), face(BASE).face_hash());
    assert_ne!(old.face_hash(), new.face_hash());
    let differ = |name: &str| old.entity_hashes().get(name) != new.entity_hashes().get(name);
    assert!(differ("Ticket") && !differ("Agent") && !differ("Rate"));
    assert!(Face::from_text("{}").is_err());
}

#[test]
fn rows_of_every_model_that_wrote_some_count() {
    // A, then B, back to A, then C: what C lacks is a member that only B wrote.
    let with = |members: &str| {
        face(
            &BASE
                .replacen("STATUS#{rank(status)}", "STATUS#{agent}", 1)
                .replacen("[open, done, dropped]", members, 1),
        )
    };
    let (a, b, c) = (
        with("[open, done]"),
        with("[open, done, late]"),
        with("[open, done, lost]"),
    );
    assert_eq!(face_differences(&a, &c, Company::Alone), []);
    assert!(!face_differences(&b, &c, Company::Alone).is_empty());
}

/// A process of before that reads every value of a key in turn does not look for those of which it does not know.
#[test]
fn a_number_in_a_key_is_looked_for_by_its_values() {
    let old =
        BASE.replacen("STATUS#{rank(status)}", "STATUS#{size}", 1)
            .replacen("size: int = 1", "size: int 0..4 = 1", 1);
    let new = old.replacen("int 0..4", "int 0..8", 1);
    assert_eq!(face_differences(&face(&old), &face(&new), Company::Alone), []);
    let found = face_differences(&face(&old), &face(&new), Company::Shared);
    assert!(found.iter().any(|found| found.part == "attribute `size`"), "{found:?}");
    // The same where it stands in no key is shown as it is.
    let (old, new) = (
        BASE.replacen("size: int = 1", "size: int 0..4 = 1", 1),
        BASE.replacen("size: int = 1", "size: int 0..8 = 1", 1),
    );
    assert_eq!(face_differences(&face(&old), &face(&new), Company::Shared), []);
}

/// A mirror that moves is put whole: what the process that moves it does not know is lost.
#[test]
fn a_mirror_that_is_moved_keeps_only_what_is_known() {
    let new = BASE
        .replacen("      note: string?\n", "      note: string?\n      more: string?\n", 1)
        .replacen("carries: [title]", "carries: [title, more]", 1);
    assert_eq!(face_differences(&face(BASE), &face(&new), Company::Alone), []);
    let found = face_differences(&face(BASE), &face(&new), Company::Shared);
    assert!(
        found
            .iter()
            .any(|found| found.entity.as_deref() == Some("Seen") && found.so.contains("would drop it")),
        "{found:?}"
    );
}

/// Where a value in a key is made of others by default, another formula finds rows of before elsewhere; a table of before does not say.
#[test]
fn what_a_key_is_by_default_counts_where_it_is_known() {
    let with = |shards: u32| BASE.replacen("no: int 0..9", &format!("no: int 0..9 = hash(title) % {shards}"), 1);
    let (old, new) = (face(&with(10)), face(&with(5)));
    let found = face_differences(&old, &new, Company::Alone);
    assert!(
        found.iter().any(|found| found.part == "what `no` is by default"),
        "{found:?}"
    );
    let silent = Face::from_text(&old.to_text().replace(",\"derived\":\"hash(title) % 10\"", "")).unwrap();
    assert_ne!(silent, old);
    assert_eq!(face_differences(&silent, &new, Company::Shared), []);
}
