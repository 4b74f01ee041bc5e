use serde_json::{Value as Json, json};
use singlet_runtime::{Caller, WriteRequest};

use super::support::{System, has, outcome, refused, role};

fn writer() -> Caller {
    role("office", "writer")
}

fn country(alpha2: &str, alpha3: &str, numeric: &str, name: &str) -> Json {
    json!({"alpha2Code": alpha2, "alpha3Code": alpha3, "numericCode": numeric, "name": name})
}

/// An update's arguments: the code stands in the path too.
fn update(alpha2: &str, alpha3: &str, numeric: &str, name: &str) -> Json {
    let mut args = country(alpha2, alpha3, numeric, name);
    args["alpha2"] = json!(alpha2);
    args
}

async fn with_germany() -> System {
    let system = System::new("country").await;
    let germany = country("DE", "DEU", "276", "Germany");
    system.write("createCountry", &writer(), germany).await.unwrap();
    system
}

/// The versions of a country, oldest first.
async fn versions(system: &System, alpha2: &str) -> Vec<Json> {
    let mut found = Vec::new();
    for key in system.keys_under(&format!("{alpha2} |")).await {
        found.push(system.item(&key).await);
    }
    found
}

#[tokio::test]
async fn a_new_country_holds_its_three_codes() {
    let system = with_germany().await;
    assert_eq!(
        system.keys().await,
        [
            "$identity#Country#DE | $",
            "$unique#Country#alpha3Code#DEU | $",
            "$unique#Country#numericCode#276 | $",
            "DE | 2026-11-16T12:00:00.000Z",
        ]
    );
    has(
        &versions(&system, "DE").await[0],
        &json!({"name": "Germany", "isDeleted": false, "active": "ACTIVE", "expiryDate": null, "alpha3Code": "DEU"}),
    );
    system.check().await;
}

#[tokio::test]
async fn a_code_that_is_in_use_is_named() {
    let system = with_germany().await;
    let create = async |country| system.write("createCountry", &writer(), country).await;
    assert_eq!(
        create(country("DE", "XXX", "999", "X")).await,
        refused("alpha2_in_use 409")
    );
    assert_eq!(
        create(country("XX", "DEU", "999", "X")).await,
        refused("alpha3_in_use 409")
    );
    assert_eq!(
        create(country("XX", "XXX", "276", "X")).await,
        refused("numeric_in_use 409")
    );
    create(country("FR", "FRA", "250", "France")).await.unwrap();
    let update_to = async |args| system.write("updateCountry", &writer(), args).await;
    assert_eq!(
        update_to(update("FR", "DEU", "250", "France")).await,
        refused("alpha3_in_use 409")
    );
    assert_eq!(
        update_to(update("FR", "FRA", "276", "France")).await,
        refused("numeric_in_use 409")
    );
    assert_eq!(system.keys().await.len(), 8);
    system.check().await;
}

#[tokio::test]
async fn an_update_writes_the_next_version_and_closes_the_last() {
    let system = with_germany().await;
    system.pass(60_000);
    let args = update("DE", "DEU", "276", "Federal Republic of Germany");
    let answer = system.write("updateCountry", &writer(), args).await.unwrap();
    has(
        &answer,
        &json!({"name": "Federal Republic of Germany", "createDate": "2026-11-16T12:01:00.000Z"}),
    );
    let versions = versions(&system, "DE").await;
    assert_eq!(versions.len(), 2);
    has(
        &versions[0],
        &json!({"name": "Germany", "expiryDate": "2026-11-16T12:01:00.000Z", "active": null, "isDeleted": false}),
    );
    has(
        &versions[1],
        &json!({"createDate": "2026-11-16T12:01:00.000Z", "expiryDate": null, "active": "ACTIVE"}),
    );
    system.check().await;
    let reader = role("r", "reader");
    let at = |instant: &str| json!({"alpha2": "DE", "instant": instant});
    let then = system
        .read("countryAt", &reader, at("2026-11-16T12:00:59.999Z"))
        .await
        .unwrap();
    assert_eq!(then["name"], "Germany");
    let then = system
        .read("countryAt", &reader, at("2026-11-16T12:01:00.000Z"))
        .await
        .unwrap();
    assert_eq!(then["name"], "Federal Republic of Germany");
}

#[tokio::test]
async fn versions_follow_one_another_though_the_clock_does_not() {
    let system = with_germany().await;
    for (at, back) in [0, -3_600_000].into_iter().enumerate() {
        system.pass(back);
        let args = update("DE", "DEU", "276", &format!("Germany {at}"));
        system.write("updateCountry", &writer(), args).await.unwrap();
    }
    let dates: Vec<Json> = versions(&system, "DE")
        .await
        .iter()
        .map(|row| json!([row["createDate"], row["expiryDate"]]))
        .collect();
    assert_eq!(
        dates,
        [
            json!(["2026-11-16T12:00:00.000Z", "2026-11-16T12:00:00.001Z"]),
            json!(["2026-11-16T12:00:00.001Z", "2026-11-16T12:00:00.002Z"]),
            json!(["2026-11-16T12:00:00.002Z", null]),
        ]
    );
    system.check().await;
}

#[tokio::test]
async fn an_update_that_changes_nothing_makes_no_version() {
    let system = with_germany().await;
    let before = system.dump().await;
    system.pass(60_000);
    let same = update("DE", "DEU", "276", "Germany");
    let answer = system.write("updateCountry", &writer(), same.clone()).await.unwrap();
    has(
        &answer,
        &json!({"name": "Germany", "createDate": "2026-11-16T12:00:00.000Z"}),
    );
    assert_eq!(system.dump().await, before);
    let once = system
        .write_once("updateCountry", &writer(), "u", same.clone())
        .await
        .unwrap();
    let twice = system.write_once("updateCountry", &writer(), "u", same).await.unwrap();
    assert_eq!(once, twice);
    assert_eq!(versions(&system, "DE").await.len(), 1);
}

#[tokio::test]
async fn a_changed_code_is_free_for_others_and_no_longer_found() {
    let system = with_germany().await;
    system.pass(1_000);
    let args = update("DE", "GER", "276", "Germany");
    system.write("updateCountry", &writer(), args).await.unwrap();
    assert_eq!(
        system.keys_under("$unique").await,
        [
            "$unique#Country#alpha3Code#GER | $",
            "$unique#Country#numericCode#276 | $"
        ]
    );
    let reader = role("r", "reader");
    assert_eq!(
        system.read("countryByAlpha3", &reader, json!({"alpha3": "DEU"})).await,
        refused("not found")
    );
    let found = system
        .read("countryByAlpha3", &reader, json!({"alpha3": "GER"}))
        .await
        .unwrap();
    assert_eq!(found["alpha2Code"], "DE");
    let other = country("XX", "DEU", "999", "Other");
    system.write("createCountry", &writer(), other).await.unwrap();
    let found = system
        .read("countryByAlpha3", &reader, json!({"alpha3": "DEU"}))
        .await
        .unwrap();
    assert_eq!(found["alpha2Code"], "XX");
    system.check().await;
}

#[tokio::test]
async fn the_code_of_the_body_is_that_of_the_path() {
    let system = with_germany().await;
    let mut args = update("DE", "DEU", "276", "Germany");
    args["alpha2Code"] = json!("FR");
    assert_eq!(
        system.write("updateCountry", &writer(), args).await,
        refused("alpha2_differs_from_path 400")
    );
}

#[tokio::test]
async fn a_deleted_country_leaves_a_tombstone_and_its_codes() {
    let system = with_germany().await;
    system.pass(1_000);
    let args = json!({"alpha2": "DE"});
    assert_eq!(
        system.write("deleteCountry", &writer(), args.clone()).await,
        Ok(Json::Null)
    );
    assert_eq!(system.keys_under("$").await, ["$identity#Country#DE | $"]);
    let rows = versions(&system, "DE").await;
    has(
        &rows[0],
        &json!({"expiryDate": "2026-11-16T12:00:01.000Z", "active": null}),
    );
    has(
        &rows[1],
        &json!({"isDeleted": true, "expiryDate": null, "active": null, "createDate": "2026-11-16T12:00:01.000Z"}),
    );
    system.check().await;
    let gone = refused("country_not_found 404");
    assert_eq!(system.write("deleteCountry", &writer(), args).await, gone);
    let back = update("DE", "DEU", "276", "Germany");
    assert_eq!(system.write("updateCountry", &writer(), back).await, gone);
    let unknown = update("FR", "FRA", "250", "France");
    assert_eq!(system.write("updateCountry", &writer(), unknown).await, gone);
    let reader = role("r", "reader");
    assert_eq!(
        system.read("activeCountries", &reader, json!({})).await.unwrap(),
        json!([])
    );
    assert_eq!(
        system.read("countryByAlpha2", &reader, json!({"alpha2": "DE"})).await,
        refused("not found")
    );
}

#[tokio::test]
async fn a_deleted_code_can_be_created_again() {
    let system = with_germany().await;
    system.pass(1_000);
    system
        .write("deleteCountry", &writer(), json!({"alpha2": "DE"}))
        .await
        .unwrap();
    // Its other codes may have gone elsewhere meanwhile.
    system
        .write("createCountry", &writer(), country("FR", "DEU", "250", "France"))
        .await
        .unwrap();
    assert_eq!(
        system
            .write("createCountry", &writer(), country("DE", "DEU", "276", "Germany"))
            .await,
        refused("alpha3_in_use 409")
    );
    system.pass(1_000);
    let again = country("DE", "GER", "276", "Germany again");
    system.write("createCountry", &writer(), again).await.unwrap();
    let rows = versions(&system, "DE").await;
    assert_eq!(rows.len(), 3);
    for pair in rows.windows(2) {
        assert_eq!(pair[0]["expiryDate"], pair[1]["createDate"], "a gap in {rows:?}");
    }
    has(
        &rows[2],
        &json!({"isDeleted": false, "expiryDate": null, "active": "ACTIVE"}),
    );
    system.check().await;
    let reader = role("r", "reader");
    let history = system
        .read("countryHistory", &reader, json!({"alpha2": "DE"}))
        .await
        .unwrap();
    assert_eq!(history.as_array().unwrap().len(), 3);
    assert_eq!(history[0]["name"], "Germany again");
}

#[tokio::test]
async fn a_retry_with_its_key_changes_nothing_more() {
    let system = System::new("country").await;
    let germany = country("DE", "DEU", "276", "Germany");
    let steps = [
        ("createCountry", "c", germany),
        ("updateCountry", "u", update("DE", "DEU", "276", "Deutschland")),
        ("deleteCountry", "d", json!({"alpha2": "DE"})),
    ];
    for (name, key, args) in steps {
        let first = system.write_once(name, &writer(), key, args.clone()).await.unwrap();
        system.pass(1_000);
        let before = system.dump().await;
        assert_eq!(
            system.write_once(name, &writer(), key, args.clone()).await,
            Ok(first),
            "{name}"
        );
        assert_eq!(system.dump().await, before, "{name}");
    }
    assert_eq!(versions(&system, "DE").await.len(), 3);
    assert_eq!(system.keys_under("IDEMPOTENCY#office#").await.len(), 3);
    system.check().await;
}

#[tokio::test]
async fn only_a_writer_writes() {
    let system = with_germany().await;
    let reader = role("r", "reader");
    let france = country("FR", "FRA", "250", "France");
    assert_eq!(
        system.write("createCountry", &reader, france.clone()).await,
        refused("forbidden")
    );
    assert_eq!(
        system.write("deleteCountry", &reader, json!({"alpha2": "DE"})).await,
        refused("forbidden")
    );
    let request = WriteRequest {
        caller: Caller::anonymous(),
        ..system.request("createCountry", &reader, &france)
    };
    assert_eq!(
        outcome(system.send("createCountry", &request).await),
        refused("unauthenticated")
    );
}

#[tokio::test]
async fn a_file_of_countries_is_loaded_and_loaded_again() {
    let system = with_germany().await;
    let file = json!({"countries": [
        country("DE", "DEU", "276", "Germany"),
        country("FR", "FRA", "250", "France"),
        country("IT", "ITA", "380", "Italy"),
    ]});
    system.pass(1_000);
    let answer = system.write("loadCountries", &writer(), file.clone()).await.unwrap();
    assert_eq!(answer, json!({"loaded": 3}));
    for (alpha2, count) in [("DE", 1), ("FR", 1), ("IT", 1)] {
        assert_eq!(versions(&system, alpha2).await.len(), count, "{alpha2}");
    }
    system.check().await;
    system.pass(1_000);
    let before = system.dump().await;
    system.write("loadCountries", &writer(), file.clone()).await.unwrap();
    assert_eq!(system.dump().await, before);
    let mut changed = file;
    changed["countries"][1]["name"] = json!("French Republic");
    system.write("loadCountries", &writer(), changed).await.unwrap();
    assert_eq!(versions(&system, "FR").await.len(), 2);
    assert_eq!(versions(&system, "IT").await.len(), 1);
    system.check().await;
}

#[tokio::test]
async fn a_file_stops_at_the_row_that_is_refused() {
    let system = with_germany().await;
    let file = json!({"countries": [
        country("FR", "FRA", "250", "France"),
        country("XX", "DEU", "999", "Not Germany"),
        country("IT", "ITA", "380", "Italy"),
    ]});
    let refusal = system.write("loadCountries", &writer(), file).await.unwrap_err();
    assert!(refusal.contains("alpha3Code") || refusal.contains("taken"), "{refusal}");
    assert_eq!(versions(&system, "FR").await.len(), 1);
    assert_eq!(versions(&system, "IT").await.len(), 0);
    system.check().await;
}
