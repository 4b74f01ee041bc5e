//! Meanings that no path answers as they stand, and how they are answered all the same; and how many ranges a request can make.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use singlet_model::{Model, Source};
use singlet_plan::cost::{Sizes, Worked, sent_in_all};
use singlet_plan::read::{SelectionPlan, describe, plan_read, plan_text};

const HEAD: &str = r#"singlet: 1
name: probe
table: {name: Probe, key: {partition: PK, sort: SK}, type: kind, indexes: {GSI: {partition: GP, sort: GS}, ENU: {partition: en, sort: open}}}
types:
  St: {enum: [a, b, c]}
entities:
  P:
    attributes:
      id: string 1..20
      o: string 1..20
      owner: {is: o}
      st: St
      en: St
      open: string? 1..20
      x: string 1..20
      at: time
      d: date
      v: int 0..99
      src: {object: {o: string 1..20}, optional: true}
"#;

/// The plan of a read `r` of a model with these keys.
fn plan(keys: &str, read: &str) -> (Model, Arc<SelectionPlan>) {
    let text = format!("{HEAD}    {keys}\nreads:\n  r:\n    find: P\n    {read}\n    allow: true\n");
    let loaded = singlet_model::load_source(&Source::new("probe", text.clone()));
    let errors: Vec<&String> = loaded.diagnostics.iter().map(|finding| &finding.message).collect();
    let model = loaded.model.unwrap_or_else(|| panic!("{errors:?}\n{text}"));
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    let mut plan = plan_read(&model, model.reads.first().unwrap());
    let part = plan.combinations.pop().unwrap().parts.remove(0);
    (model, part.plan)
}

fn lines(keys: &str, read: &str) -> Vec<String> {
    let (model, plan) = plan(keys, read);
    plan.queries.iter().map(|query| describe(&model, query)).collect()
}

const BY_ID: &str = r#"key: {PK: "P#{id}", SK: "P"}"#;

#[test]
fn a_field_that_is_compared_is_there() {
    let keys = format!("{BY_ID}\n    index: {{GSI: [{{when: src != absent, GP: \"S#{{src.o}}\", GS: \"{{id}}\"}}]}}");
    let asked = lines(&keys, "args: {o: string}\n    where: src.o == args.o");
    assert_eq!(asked, [r#"query GSI GP = "S#{args.o}""#]);
}

#[test]
fn a_list_of_states_is_asked_for_entry_by_entry() {
    let keys = format!(
        "{BY_ID}\n    index: {{GSI: [{{when: st == \"a\", GP: \"A#{{o}}\", GS: \"{{id}}\"}}, {{when: st == \"b\", GP: \"B#{{o}}\", GS: \"{{id}}\"}}]}}"
    );
    let asked = lines(
        &keys,
        "args: {o: string}\n    where: 'o == args.o && st in [\"a\", \"b\"]'",
    );
    assert_eq!(
        asked,
        [r#"query GSI GP = "A#{args.o}""#, r#"query GSI GP = "B#{args.o}""#]
    );
    let asked = lines(
        &keys,
        "args: {o: string, s: list(St)}\n    where: 'o == args.o && st in args.s && st != \"c\"'",
    );
    assert_eq!(
        asked,
        [
            r#"query GSI GP = "A#{args.o}" where "a" in args.s"#,
            r#"query GSI GP = "B#{args.o}" where "b" in args.s"#
        ]
    );
    // Rows of the third state are in no entry.
    assert!(lines(&keys, "args: {o: string}\n    where: o == args.o").is_empty());
}

#[test]
fn the_function_of_a_part_may_be_in_a_list() {
    let keys = format!("{BY_ID}\n    index: {{GSI: {{GP: \"X#{{upper(x)}}\", GS: \"{{id}}\"}}}}");
    let asked = lines(
        &keys,
        "args: {xs: \"list(string) 1..9\"}\n    where: upper(x) in args.xs",
    );
    assert_eq!(asked, [r#"query GSI GP = "X#{each of args.xs}""#]);
    let asked = lines(&keys, "args: {x: string}\n    where: x == args.x");
    assert_eq!(
        asked,
        [r#"query GSI GP = "X#{upper(args.x)}" where x == args.x"#],
        "what is sent is shown"
    );
    let asked = lines(&keys, "where: x == \"ab\"");
    assert_eq!(asked, [r#"query GSI GP = "X#{upper("ab")}" where x == "ab""#]);
}

#[test]
fn a_value_that_is_written_out_stands_as_it_is() {
    let asked = lines(
        r#"key: {PK: "S#{st}#{o}", SK: "{id}"}"#,
        "where: 'st == \"a\" && o == \"me\"'",
    );
    assert_eq!(asked, [r#"query table PK = "S#a#me""#]);
}

#[test]
fn a_sparse_index_of_few_values_is_read_whole() {
    let keys = format!("{BY_ID}\n    index: {{ENU: own}}");
    assert_eq!(
        lines(&keys, "where: open != absent"),
        [r#"query ENU en = "{each of a|b|c}""#]
    );
    assert!(
        lines(&keys, "where: x == \"a\"").is_empty(),
        "the meaning says nothing of the index"
    );
}

#[test]
fn an_alias_is_the_attribute() {
    let keys = format!("{BY_ID}\n    index: {{GSI: {{GP: \"O#{{o}}\", GS: \"{{id}}\"}}}}");
    assert_eq!(
        lines(&keys, "args: {o: string}\n    where: owner == args.o"),
        [r#"query GSI GP = "O#{args.o}""#]
    );
}

#[test]
fn an_argument_that_is_sent_proves_what_it_is_compared_with() {
    let keys = format!("{BY_ID}\n    index: {{GSI: {{GP: \"O#{{o}}\", GS: \"{{open}}#{{id}}\"}}}}");
    let read = "args: {o: string, p: \"string?\"}\n    where: o == args.o && open >= args.p";
    assert_eq!(lines(&keys, read).len(), 1);
}

/// The condition, and the arguments that it names.
fn with_args(condition: &str) -> String {
    let declared = [("f", "date"), ("t", "date"), ("n", "int 1..31")];
    let named = declared
        .iter()
        .filter(|(name, _)| condition.contains(&format!("args.{name}")));
    let args: Vec<String> = named.map(|(name, ty)| format!("{name}: {ty}")).collect();
    match args.is_empty() {
        true => format!("where: '{condition}'"),
        false => format!("args: {{{}}}\n    where: '{condition}'", args.join(", ")),
    }
}

#[test]
fn the_ranges_of_a_request_are_known_before_it() {
    let most = |keys: &str, read: &str| {
        let (_, plan) = plan(keys, read);
        let query = plan.queries.first().unwrap();
        assert_eq!(
            plan.is_answer(),
            query.reach.most.is_some_and(|most| most <= 200),
            "{read}"
        );
        query.reach.most
    };
    let by_both = r#"key: {PK: "P#{id}", SK: "P#{id}"}"#;
    for (limit, expected) in [
        ("1..1", Some(1)),
        ("1..200", Some(200)),
        ("1..201", Some(201)),
        ("1..", None),
    ] {
        let read = format!("args: {{ids: \"list(string) {limit}\"}}\n    where: id in args.ids");
        assert_eq!(
            most(by_both, &read),
            expected,
            "{limit}: one range of each id, not one of each pair"
        );
    }
    let by_day = r#"key: {PK: "D#{d}", SK: "{id}"}"#;
    for (condition, expected) in [
        ("d >= args.f && d <= args.t", None),
        ("d >= args.f && d <= args.t && d < args.f + days(7)", Some(7)),
        ("d > args.f && d < args.f + days(7)", Some(6)),
        ("d >= args.f && d <= args.f + days(args.n)", Some(32)),
        ("d >= today - days(30) && d <= today", Some(31)),
        ("d >= args.f - months(2) && d <= args.f", Some(63)),
        ("d >= \"2026-01-01\" && d <= \"2026-12-31\" && d < args.t", Some(365)),
    ] {
        let read = with_args(condition);
        assert_eq!(most(by_day, &read), expected, "{condition}");
    }
    let by_day_of_instant = r#"key: {PK: "D#{day(at)}#{st}", SK: "{id}"}"#;
    for (condition, expected) in [
        (
            "st == \"a\" && day(at) >= args.f && day(at) < args.f + days(9)",
            Some(9),
        ),
        ("day(at) >= args.f && day(at) < args.f + days(9)", Some(27)),
        ("st == \"a\" && at > now - hours(48) && at <= now", Some(4)),
    ] {
        let read = with_args(condition);
        assert_eq!(most(by_day_of_instant, &read), expected, "{condition}");
    }
    let by_enum = r#"key: {PK: "S#{st}", SK: "{id}"}"#;
    assert_eq!(
        most(by_enum, "args: {s: list(St)}\n    where: st in args.s"),
        Some(3),
        "no more than there are states"
    );
}

/// A list by agent and day: the index of its agent and status has exactly the rows, once for each status; that of the tenant has them
/// among all others.
#[test]
fn asking_once_for_each_state_is_cheaper_than_reading_everybodys_rows() {
    let text = |estimates: &str| {
        format!(
            r##"singlet: 1
name: desk
table:
  name: desk
  key: {{partition: PK, sort: SK}}
  indexes: {{byAgent: {{partition: AP, sort: AS}}, byTenant: {{partition: TP, sort: TS}}}}
  type: kind
types:
  Status: {{enum: [new, open, waiting, solved, closed]}}
entities:
  Ticket:
    attributes: {{tenant: string 1..20, ticketId: ulid = ulid(), agent: string 1..20, status: Status, due: date, text: string 1..200}}
    key: {{PK: "TICKET#{{ticketId}}", SK: "TICKET"}}
    index:
      byAgent: {{AP: "AGENT#{{tenant}}#{{agent}}#{{status}}", AS: "DUE#{{due}}"}}
      byTenant: {{TP: "TENANT#{{tenant}}", TS: "DUE#{{due}}"}}
reads:
  due:
    args: {{tenant: string 1..20, agent: string 1..20, to: date}}
    find: Ticket
    where: tenant == args.tenant && agent == args.agent && due <= args.to
    order: due
    allow: true
{estimates}
"##
        )
    };
    let chosen = |estimates: &str| {
        let loaded = singlet_model::load_source(&Source::new("desk", text(estimates)));
        let model = loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
        let mut plan = plan_read(&model, model.reads.first().unwrap());
        let plan = plan.combinations.pop().unwrap().parts.remove(0).plan;
        let index = plan.queries.first().unwrap().index.and_then(|index| model.index(index));
        let others: Vec<String> = plan
            .others
            .iter()
            .map(|lost| format!("{}: {}", lost.path, lost.why))
            .collect();
        (index.unwrap().name.clone(), others)
    };
    let many = "estimates: {Ticket: {items: 2000, per: {tenant: 2000, agent: 40}, bytes: 200}}";
    let (index, others) = chosen(many);
    assert_eq!(index, "byAgent");
    assert!(
        others.contains(&"index `byTenant`: it answers, for about 23.5 units where the plan takes 2.5".to_owned()),
        "{others:?}"
    );
    assert_eq!(chosen("").0, "byAgent");
    // What nobody estimated is named.
    let why = |estimates: &str| {
        let model = singlet_model::load_source(&Source::new("desk", text(estimates)))
            .model
            .unwrap();
        plan_text(&model, &plan_read(&model, model.reads.first().unwrap()), true)
    };
    let unsaid = "no estimate of `Ticket` says otherwise: 100,000 rows, 400 bytes each, 1,000 to a value";
    assert!(why("").contains(unsaid), "{}", why(""));
    assert!(!why(many).contains("says otherwise"), "{}", why(many));
    // A tenant with five tickets is read at once.
    let few = "estimates: {Ticket: {items: 2000, per: {tenant: 5, agent: 1}, bytes: 200}}";
    assert_eq!(chosen(few).0, "byTenant");
}

/// How many requests a read sends at least and at most, where it has so many queries, and the units that it takes at least, in halves.
fn sent(keys: &str, read: &str) -> (usize, (u64, Option<u64>), u64) {
    let text = format!("{HEAD}    {keys}\nreads:\n  r:\n    find: P\n    {read}\n    allow: true\n");
    let model = singlet_model::load_source(&Source::new("probe", text.clone())).model;
    let model = model.unwrap_or_else(|| panic!("{text}"));
    let plan = plan_read(&model, model.reads.first().unwrap());
    let combination = plan.combinations.last().unwrap();
    let least = Worked::sum_requests(&combination.requests, &Sizes::of(&model)).least;
    (
        combination.requests.len(),
        sent_in_all(&combination.requests),
        least.half_count(),
    )
}

#[test]
fn of_queries_that_an_argument_chooses_those_that_are_sent_are_counted() {
    let by_state = ["a", "b", "c"].map(|st| format!("{{when: st == \"{st}\", GP: \"{st}#{{o}}\", GS: \"{{id}}\"}}"));
    let keys = format!("{BY_ID}\n    index: {{GSI: [{}]}}", by_state.join(", "));
    let one_state = "args: {o: string, s: St}\n    where: o == args.o && st == args.s";
    assert_eq!(sent(&keys, one_state), (3, (1, Some(1)), 1));
    let all_states = "args: {o: string}\n    where: o == args.o";
    assert_eq!(sent(&keys, all_states), (3, (3, Some(3)), 3));

    // Of nine templates an argument chooses three, one for each value of the attribute that it says nothing of.
    let by_both = ["a", "b", "c"].map(|st| {
        let templates = ["a", "b", "c"]
            .map(|en| format!("{{when: st == \"{st}\" && en == \"{en}\", GP: \"{st}#{en}#{{o}}\", GS: \"{{id}}\"}}"));
        templates.join(", ")
    });
    let keys = format!("{BY_ID}\n    index: {{GSI: [{}]}}", by_both.join(", "));
    assert_eq!(sent(&keys, one_state), (9, (3, Some(3)), 3));
    let both_states = "args: {o: string, s: St, e: St}\n    where: o == args.o && st == args.s && en == args.e";
    assert_eq!(sent(&keys, both_states), (9, (1, Some(1)), 1));
}

/// What a read of tickets is planned to send.
fn sent_for_tickets(index: &str, read: &str, estimates: &str) -> String {
    let text = format!(
        r##"singlet: 1
name: desk
table:
  name: desk
  key: {{partition: PK, sort: SK}}
  indexes: {{THIN: {{partition: GP, sort: GS, project: keys}}}}
  type: kind
types:
  Status: {{enum: [busy, held, gone]}}
entities:
  Ticket:
    attributes: {{tenant: string 1..20, id: string 1..20, status: Status, grade: int 0..3, at: time, due: date, note: string 0..9000}}
    key: {{PK: "T#{{tenant}}", SK: "T#{{id}}"}}
    index:
      THIN: {index}
reads:
  r:
    find: Ticket
    {read}
    allow: true
estimates:
  Ticket: {estimates}
"##
    );
    let loaded = singlet_model::load_source(&Source::new("desk", text));
    let model = loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics));
    let mut plan = plan_read(&model, model.reads.first().unwrap());
    let plan = plan.combinations.pop().unwrap().parts.remove(0).plan;
    describe(&model, plan.queries.first().unwrap())
}

#[test]
fn a_list_is_taken_for_one_of_no_more_values_than_there_are() {
    let index = r##"{GP: "I#{grade}", GS: "S#{at}#{id}"}"##;
    let read = "args: {tenants: 'list(string) 1..5', due: date, ids: 'list(string) 1..5'}
    where: 'tenant in args.tenants && due == args.due && id in args.ids'
    return: {id: id}
    page: 5";
    let of = |per_tenant: u64| {
        let estimates = format!("{{items: 200, bytes: 300, per: {{tenant: {per_tenant}, due: 2, at: 2}}}}");
        sent_for_tickets(index, read, &estimates)
    };
    // Of one tenant a row is got for each id, though five tenants may be sent; of many, one for each of both.
    assert!(of(200).contains("table PK"), "{}", of(200));
    assert!(of(5).contains("query THIN"), "{}", of(5));
}
