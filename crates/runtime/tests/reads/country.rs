//! Country reference: one current version, a full history.

use serde_json::Value as Json;
use singlet_runtime::{Caller, RuntimeError};

use crate::refuses;
use crate::support::{Order, System, country, names, same, text};

fn reader() -> Caller {
    Caller::with_id("key").claim("role", "reader")
}

fn is_current(row: &Json) -> bool {
    row.get("expiryDate").is_none() && row["isDeleted"] == Json::Bool(false)
}

#[tokio::test]
async fn the_current_version_by_each_code() {
    let system = country().await;
    for row in system.rows("Country", is_current) {
        for (read, arg, name) in [
            ("countryByAlpha2", "alpha2", "alpha2Code"),
            ("countryByAlpha3", "alpha3", "alpha3Code"),
            ("countryByNumeric", "numeric", "numericCode"),
        ] {
            same(&system.one(read, &[(arg, text(&row, name))], &reader()).await, &row);
        }
    }
}

#[tokio::test]
async fn a_tombstone_is_not_found_by_any_code() {
    let system = country().await;
    for (read, arg, code) in [
        ("countryByAlpha2", "alpha2", "AN"),
        ("countryByAlpha3", "alpha3", "ANT"),
        ("countryByNumeric", "numeric", "530"),
    ] {
        refuses!(system.refused(read, &[(arg, code)], &reader()), NotFound);
    }
    refuses!(
        system.refused("countryByAlpha2", &[("alpha2", "ZZ")], &reader()),
        NotFound
    );
}

#[tokio::test]
async fn the_version_at_an_instant() {
    let system = country().await;
    let instants = [
        "1999-12-31T23:59:59.999Z",
        "2000-01-01T00:00:00.000Z",
        "2010-12-14T23:59:59.999Z",
        "2010-12-15T00:00:00.000Z",
        "2019-12-31T23:59:59.999Z",
        "2022-07-10T23:59:59.999Z",
        "2022-07-11T00:00:00.000Z",
        "2026-11-16T12:00:00.000Z",
    ];
    for code in ["AN", "TR", "MK", "SZ", "PL", "ZZ"] {
        for at in instants {
            let then = |row: &Json| {
                let open = row.get("expiryDate").is_none() || text(row, "expiryDate") > at;
                text(row, "alpha2Code") == code
                    && text(row, "createDate") <= at
                    && open
                    && row["isDeleted"] == Json::Bool(false)
            };
            let args = [("alpha2", code), ("instant", at)];
            match system.rows("Country", then).as_slice() {
                [] => refuses!(system.refused("countryAt", &args, &reader()), NotFound),
                [one] => same(&system.one("countryAt", &args, &reader()).await, one),
                several => panic!("{several:?}"),
            }
        }
    }
}

#[tokio::test]
async fn instants_of_any_width_are_the_same_instant() {
    let system = country().await;
    for at in [
        "2005-01-01T00:00:00Z",
        "2005-01-01T00:00:00.000Z",
        "2005-01-01T01:00:00+01:00",
    ] {
        let row = system
            .one("countryAt", &[("alpha2", "AN"), ("instant", at)], &reader())
            .await;
        assert_eq!(text(&row, "name"), "Netherlands Antilles");
    }
}

#[tokio::test]
async fn history_has_every_version_newest_first_tombstones_too() {
    let system = country().await;
    for code in ["AN", "TR", "MK", "SZ", "PL"] {
        let expected = system.rows("Country", |row| text(row, "alpha2Code") == code);
        let order = Order::Down(|row| vec![text(row, "createDate").to_owned()]);
        system
            .check("countryHistory", &[("alpha2", code)], &reader(), expected, order)
            .await;
    }
    refuses!(
        system.refused("countryHistory", &[("alpha2", "ZZ")], &reader()),
        NotFound
    );
}

#[tokio::test]
async fn active_countries_in_code_order() {
    let system = country().await;
    let expected = system.rows("Country", is_current);
    assert_eq!(expected.len(), 249);
    let order = Order::Up(|row| vec![text(row, "alpha2Code").to_owned()]);
    system.check("activeCountries", &[], &reader(), expected, order).await;
}

/// Many versions, then a code that moves to another country: the newest row of a code is not its holder's.
#[tokio::test]
async fn codes_resolve_past_rows_that_are_newer_and_not_current() {
    let system = System::open("country").await;
    let version = |code: &str, alpha3: &str, from: usize, until: Option<usize>, deleted: bool| {
        let at = |day: usize| format!("2024-{:02}-{:02}T00:00:00.000Z", day / 28 + 1, day % 28 + 1);
        let mut row = serde_json::json!({
            "alpha2Code": code, "createDate": at(from), "name": format!("{code} {from}"), "alpha3Code": alpha3,
            "numericCode": "999", "isDeleted": deleted,
        });
        if let Some(until) = until {
            row["expiryDate"] = Json::String(at(until));
        }
        row
    };
    for step in 0..60 {
        system
            .put("Country", &version("XA", "XAA", step, Some(step + 1), false))
            .await;
    }
    system.put("Country", &version("XA", "XAB", 60, None, false)).await;
    system.put("Country", &version("XB", "XAA", 10, None, false)).await;
    system.put("Country", &version("XC", "XAA", 70, Some(71), false)).await;
    system.put("Country", &version("XC", "XAA", 71, None, true)).await;
    let found = system.one("countryByAlpha3", &[("alpha3", "XAA")], &reader()).await;
    assert_eq!(
        text(&found, "alpha2Code"),
        "XB",
        "50 newer rows that are not current stand before it"
    );
    assert_eq!(
        text(
            &system.one("countryByAlpha3", &[("alpha3", "XAB")], &reader()).await,
            "alpha2Code"
        ),
        "XA"
    );
    let newest = system
        .page("countryByAlpha2", &[("alpha2", "XA")], &reader(), 1, None)
        .await
        .unwrap();
    println!("61 versions: {} read units", newest.consumed.total_units().read);
    assert!(
        newest.consumed.total_units().read <= singlet_item::capacity::ReadUnits::new(1),
        "only the newest version is read"
    );
    refuses!(
        system.refused("countryByAlpha2", &[("alpha2", "XC")], &reader()),
        NotFound
    );
}

#[tokio::test]
async fn a_key_is_needed_and_codes_are_codes() {
    let system = country().await;
    for (read, args) in [
        ("activeCountries", vec![]),
        ("countryByAlpha2", vec![("alpha2", "PL")]),
        ("countryHistory", vec![("alpha2", "PL")]),
    ] {
        refuses!(system.refused(read, &args, &Caller::anonymous()), Unauthenticated);
    }
    let request = singlet_runtime::Request {
        caller: reader(),
        now: crate::support::NOW,
        ..Default::default()
    };
    names(
        &system.engine.read("countryByAlpha2", &request).await.unwrap_err(),
        "alpha2",
    );
    let lower = singlet_runtime::Request {
        args: [("alpha2".to_owned(), singlet_item::Value::S("pl".to_owned()))].into(),
        ..request
    };
    names(
        &system.engine.read("countryByAlpha2", &lower).await.unwrap_err(),
        "alpha2",
    );
}
