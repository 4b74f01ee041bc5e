//! What the file shows by itself: filled in as a create fills it in, or refused before anything is written.

use singlet_runtime::Value;
use singlet_runtime::load::{LoadBounds, LoadOptions, MisfitKind};

use crate::probe::{NOW, found, items, load, load_with, of_kind, probe, refused};

const ADA: &str = r#"{"Agent": {"id": "ada", "name": "Ada", "email": "A@x.org"}}"#;

#[tokio::test]
async fn what_a_create_fills_in_is_filled_in() {
    let engine = probe().await;
    let lines = format!("{ADA}\n{}", r#"{"Ticket": {"agent": "ada", "no": 7, "title": "Hot"}}"#);
    let loaded = load(&engine, &lines).await.unwrap();
    // The agent and its guard, the ticket and its mirror.
    assert_eq!((loaded.rows, loaded.items, loaded.there), (2, 4, 0));
    let agent = of_kind(&engine, "Agent").await.remove(0);
    assert_eq!(agent.get("points"), Some(&Value::from(0)));
    assert_eq!(agent.get("version"), Some(&Value::from(1)));
    assert_eq!(agent.get("token").and_then(Value::as_str).map(str::len), Some(6));
    assert!(agent.contains_key("updatedAt"));
    let ticket = of_kind(&engine, "Ticket").await.remove(0);
    for (name, value) in [("state", "open"), ("slug", "hot"), ("by", "Ada"), ("first", "Ada")] {
        assert_eq!(ticket.get(name), Some(&Value::from(value)), "{name}");
    }
    assert!(
        ticket.contains_key("GP") && ticket.contains_key("GS") && !ticket.contains_key("ttl"),
        "{ticket:?}"
    );
    assert_eq!(of_kind(&engine, "Board").await.len(), 1);
    assert_eq!(of_kind(&engine, "$unique").await.len(), 1);
    let mut listed = 0;
    for shard in 0..4 {
        listed += found(&engine, "shard", &[("shard", Value::from(shard))]).await.len();
    }
    assert_eq!(listed, 1);
}

#[tokio::test]
async fn what_a_state_holds_is_filled_in_or_taken_as_stated() {
    let engine = probe().await;
    let held = r#"{"Ticket": {"agent": "ada", "no": 1, "title": "x", "state": "held"}}"#;
    load(&engine, &format!("{held}\n{ADA}")).await.unwrap();
    let ticket = of_kind(&engine, "Ticket").await.remove(0);
    assert!(
        ticket.contains_key("heldUntil") && ticket.contains_key("ttl"),
        "{ticket:?}"
    );
    let done = r#"{"Ticket": {"agent": "ada", "no": 2, "title": "x", "state": "done", "doneAt": "now-3d"}}"#;
    load(&engine, done).await.unwrap();
    let tickets = of_kind(&engine, "Ticket").await;
    let done = tickets
        .iter()
        .find(|item| item["state"] == Value::from("done"))
        .unwrap();
    let stated = (NOW - 3 * 86_400_000, "now-3d");
    assert!(
        done["doneAt"].as_str().is_some_and(|at| at < "2026-05-26"),
        "{stated:?}: {done:?}"
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_with_its_line_and_attribute_and_nothing_is_written() {
    let engine = probe().await;
    let wrong = [
        (
            r#"{"Agent": {"id": "a", "email": "a@x"}}"#,
            "`Agent` /name: this is missing",
        ),
        (
            r#"{"Agent": {"id": "a", "name": null, "email": "a@x"}}"#,
            "`Agent` /name: this is missing",
        ),
        (
            r#"{"Agent": {"name": "A", "email": "a@x"}}"#,
            "`Agent` /id: this is missing",
        ),
        (
            r#"{"Agent": {"id": "a", "name": "A", "email": "a"}}"#,
            "`Agent` /email: this has 1 characters, and must have from 3 to 40",
        ),
        (
            r#"{"Agent": {"id": "a", "name": "A", "email": "a@x", "points": 100}}"#,
            "`Agent` /points: `100` must be",
        ),
        (
            r#"{"Agent": {"id": "a", "name": "A", "email": "a@x", "nick": "b"}}"#,
            "`Agent` /nick: there is no such attribute",
        ),
        (r#"{"Agnet": {"id": "a"}}"#, "there is no entity `Agnet` to load"),
        (
            r#"{"Board": {"agent": "a"}}"#,
            "`Board` mirrors another entity: load that one's rows",
        ),
        (r#"["Agent"]"#, "a line is `{\"Entity\": {…}}`"),
        (r#"{"Agent": {"#, "this is not JSON"),
        (
            r#"{"Agent": {"id": "a"}, "Agent": {"id": "b"}}"#,
            "this is not JSON: it has \"Agent\" twice",
        ),
        (
            r#"{"Agent": {"id": "a", "id": "b"}}"#,
            "this is not JSON: it has \"id\" twice",
        ),
        (
            r#"{"Ticket": {"agent": "a", "no": 1, "title": "Hot", "slug": "cold"}}"#,
            "`Ticket` /slug: this is computed, as \"hot\"; leave it out",
        ),
        (
            r#"{"Ticket": {"agent": "a", "no": 1, "title": "Hot", "state": "lost"}}"#,
            "`Ticket` /state: `lost` must be",
        ),
        (
            r#"{"Rate": {"code": "A", "amount": 1}}"#,
            "`Rate` /from: this is missing",
        ),
    ];
    for (line, words) in wrong {
        let said = refused(&engine, &format!("{ADA}\n\n{line}\n")).await;
        assert!(said.starts_with("line 3: ") && said.contains(words), "{line}: {said}");
    }
    // A computed attribute that says the same is welcome.
    let same = r#"{"Ticket": {"agent": "ada", "no": 1, "title": "Hot", "slug": "hot"}}"#;
    assert_eq!(load(&engine, &format!("{ADA}\n{same}")).await.unwrap().rows, 2);
}

#[tokio::test]
async fn several_lines_that_are_wrong_are_all_said_within_the_bound() {
    let engine = probe().await;
    let lines: Vec<String> = (0..30)
        .map(|at| format!("{{\"Agent\": {{\"id\": \"{at}\", \"email\": \"a@x\"}}}}"))
        .collect();
    let error = load(&engine, &lines.join("\n")).await.unwrap_err();
    assert_eq!(error.misfit_lines().len(), 20);
    assert!(error.to_string().ends_with("there are more"));
    let options = LoadOptions {
        bounds: LoadBounds {
            misfits_max: 30,
            ..LoadBounds::default()
        },
        ..LoadOptions::at(NOW)
    };
    let error = load_with(&engine, &lines.join("\n"), &options).await.unwrap_err();
    assert_eq!(error.misfit_lines().len(), 30);
    assert!(!error.to_string().ends_with("there are more"));
}

/// `count` agents, with `change` made to the last.
fn agents(count: usize, change: impl Fn(String) -> String) -> String {
    let line = |at: usize| {
        let line = format!(r#"{{"Agent": {{"id": "a{at}", "name": "A", "email": "a{at}@x"}}}}"#);
        if at + 1 == count { change(line) } else { line }
    };
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

/// Keys and unique values are compared over the whole file, however few of them are compared at a time.
#[tokio::test]
async fn keys_and_unique_values_stand_once_however_far_apart() {
    let engine = probe().await;
    for claims_max in [1, 2, 3, 7, 60, 1_000] {
        let options = LoadOptions {
            bounds: LoadBounds {
                claims_max,
                rows_at_once_max: 1 + claims_max % 4,
                ..LoadBounds::default()
            },
            ..LoadOptions::at(NOW)
        };
        let same_key = agents(60, |line| line.replace("\"a59\"", "\"a1\""));
        let error = load_with(&engine, &same_key, &options).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 60: `Agent`: line 2 has a row with the same key",
            "{claims_max}"
        );
        let same_email = agents(60, |line| line.replace("a59@x", "A0@X"));
        let error = load_with(&engine, &same_email, &options).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 60: `Agent`: line 1 has a row with the same `email`, which is unique",
            "{claims_max}"
        );
        assert_eq!(items(&engine).await, []);
    }
    assert_eq!(load(&engine, &agents(60, |line| line)).await.unwrap().rows, 60);
}

#[tokio::test]
async fn rows_that_exclude_one_another_are_refused_in_either_order() {
    let engine = probe().await;
    let slot = |day: u8, part: &str| format!(r#"{{"Slot": {{"day": "2026-01-0{day}", "part": "{part}"}}}}"#);
    for (first, second, by) in [("all", "am", 1), ("am", "all", 2), ("pm", "all", 2)] {
        let lines = format!("{}\n{}\n{}", slot(1, "all"), slot(2, first), slot(2, second));
        let said = refused(&engine, &lines).await;
        assert!(said.contains("has a `Slot` that must not be beside it"), "{said} {by}");
    }
    let fine = [slot(1, "am"), slot(1, "pm"), slot(2, "all")].join("\n");
    assert_eq!(load(&engine, &fine).await.unwrap().rows, 3);
}

#[tokio::test]
async fn versions_of_one_row_are_rows_and_one_of_them_is_open() {
    let engine = probe().await;
    let version = |from: u8, until: &str, amount: u8| {
        let until = if until.is_empty() {
            String::new()
        } else {
            format!(r#", "until": "2026-01-0{until}T00:00:00.000Z""#)
        };
        format!(r#"{{"Rate": {{"code": "A", "from": "2026-01-0{from}T00:00:00.000Z"{until}, "amount": {amount}}}}}"#)
    };
    let two_open = [version(1, "", 1), version(2, "", 2)].join("\n");
    assert_eq!(
        refused(&engine, &two_open).await,
        "line 2: `Rate`: line 1 has a version of the same row that is not closed either"
    );
    // Closed versions claim no unique value.
    let fine = [version(1, "2", 5), version(2, "3", 5), version(3, "", 5)].join("\n");
    assert_eq!(load(&engine, &fine).await.unwrap().rows, 3);
    assert_eq!(load(&engine, &fine).await.unwrap().there, 3);
    let another = load(&engine, &version(4, "", 6)).await.unwrap_err();
    assert_eq!(
        another.to_string(),
        "line 1: `Rate`: the table has a version of this row that is not closed"
    );
}

#[tokio::test]
async fn what_is_too_large_for_an_item_or_a_key_is_refused_before() {
    let engine = probe().await;
    let blob = |id: usize, text: usize| {
        format!(
            r#"{{"Blob": {{"id": "{}", "text": "{}"}}}}"#,
            "i".repeat(id),
            "t".repeat(text)
        )
    };
    assert!(
        refused(&engine, &blob(2044, 0))
            .await
            .contains("`PK` takes 2049 bytes, and this key holds 2048")
    );
    assert!(
        refused(&engine, &blob(1, 409_600))
            .await
            .contains("an item holds 409600")
    );
    assert_eq!(
        load(&engine, &[blob(2043, 0), blob(1, 409_000)].join("\n"))
            .await
            .unwrap()
            .rows,
        2
    );
}

#[tokio::test]
async fn rows_of_another_program_are_taken_as_they_are_and_what_does_not_fit_is_counted() {
    let engine = probe().await;
    let lines = [
        ADA,
        r#"{"Agent": {"id": "bob", "email": "a@X.org", "points": 1000, "shoe": {"size": 43}}}"#,
        r#"{"Agent": {"name": "nobody"}}"#,
        r#"{"Agent": {"id": "ada", "name": "Other", "email": "o@x.org"}}"#,
        "no row",
    ];
    let options = LoadOptions {
        as_is: true,
        ..LoadOptions::at(NOW)
    };
    let loaded = load_with(&engine, &lines.join("\n"), &options).await.unwrap();
    assert_eq!((loaded.rows, loaded.there, loaded.left_out), (2, 0, 3));
    let counts: Vec<(MisfitKind, u64)> = loaded.misfits.iter().map(|found| (found.kind, found.count)).collect();
    for wanted in [
        (MisfitKind::Line, 1),
        (MisfitKind::UnknownAttribute, 1),
        (MisfitKind::WrongValue, 1),
        (MisfitKind::NoKey, 1),
        (MisfitKind::SameKey, 1),
        (MisfitKind::Taken, 1),
    ] {
        assert!(counts.contains(&wanted), "{wanted:?}: {counts:?}");
    }
    let agents = of_kind(&engine, "Agent").await;
    let bob = agents
        .iter()
        .find(|item| item.get("id") == Some(&Value::from("bob")))
        .unwrap();
    assert_eq!(bob.get("points"), Some(&Value::from(1000)));
    assert!(
        bob.contains_key("shoe") && !bob.contains_key("version"),
        "nothing is filled in: {bob:?}"
    );
    // Again: what is there is passed over.
    let again = load_with(&engine, &lines.join("\n"), &options).await.unwrap();
    assert_eq!((again.rows, again.there, again.left_out), (0, 2, 3));
}
