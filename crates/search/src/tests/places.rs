//! Words near a place: what is found is what going through all rows gives, in the order of all rows with the words.

use std::collections::BTreeMap;

use fastrand::Rng;
use singlet_item::Value;
use singlet_model::evaluate::geo::Place;
use singlet_runtime::{Attributes, Caller, Request};

use super::support::{Bench, text};
use crate::IndexPlace;

const MODEL: &str = r#"
singlet: 1
name: things
table: {name: things, key: {partition: PK, sort: SK}, type: kind, stream: both_images}
callers:
  jwt: {audience: things, claims: {id: sub}}
entities:
  Note:
    attributes:
      owner: string 1..20
      id: string 1..40
      title: string ..400
      from: geo?
      to: geo?
    key: {PK: "NOTE#{owner}", SK: "{id}"}
  Other:
    attributes: {id: string 1..40, title: string ..400}
    key: {PK: "OTHER#{id}", SK: "OTHER"}
search: {Note: [title], Other: [title]}
reads:
  all:
    find: Note
    args: {q: string ..400}
    matching: args.q
    allow: true
  begins:
    find: Note
    args: {q: string ..400, at: geo, km: number}
    matching: args.q
    where: from != absent && near(from, args.at, args.km)
    allow: true
  ends:
    find: Note
    args: {q: string ..400, at: geo, km: number}
    matching: args.q
    where: to != absent && near(args.at, to, args.km)
    allow: true
  both:
    find: Note
    args: {q: string ..400, at: geo, km: number}
    matching: args.q
    where: from != absent && to != absent && near(from, args.at, args.km) && near(to, args.at, args.km)
    allow: true
  others:
    find: Other
    args: {q: string ..400}
    matching: args.q
    allow: true
writes:
  add:
    allow: caller.authenticated
    do: [{create: Note, set: {owner: caller.id}, take: [id, title, from, to]}]
  change:
    args: {id: string 1..40}
    allow: caller.authenticated
    do: [{update: "Note{owner: caller.id, id: args.id}", take: [title, from, to]}]
  drop:
    args: {id: string 1..40}
    allow: caller.authenticated
    do: [{delete: "Note{owner: caller.id, id: args.id}"}]
  addOther:
    allow: caller.authenticated
    do: [{create: Other, take: [id, title]}]
"#;

fn value_of(place: Place) -> Value {
    let degrees = |degrees: f64| Value::N(format!("{degrees:.6}").parse().unwrap());
    Value::M(Attributes::from([
        ("lat".to_owned(), degrees(place.lat)),
        ("lon".to_owned(), degrees(place.lon)),
    ]))
}

/// Places around some, beyond the date line and at the poles among them.
fn drawn_place(rng: &mut Rng) -> Place {
    let around = [
        (52.0, 21.0),
        (0.0, 180.0),
        (-17.0, -179.99),
        (89.9, 10.0),
        (-90.0, 0.0),
        (10.0, -180.0),
    ];
    let (lat, lon) = around[rng.usize(0..around.len())];
    let mut near = |degrees: f64| degrees + (rng.f64() - 0.5) * [0.0, 0.02, 1.0, 10.0][rng.usize(0..4)];
    let (lat, lon) = (near(lat), near(lon));
    let lon = if lon > 180.0 { lon - 360.0 } else { lon };
    Place {
        lat: lat.clamp(-90.0, 90.0),
        lon: if lon < -180.0 { lon + 360.0 } else { lon },
    }
}

fn drawn_row(rng: &mut Rng) -> Attributes {
    let words: Vec<&str> = (0..rng.usize(1..6))
        .map(|_| ["milk", "bread", "tea", "mint"][rng.usize(0..4)])
        .collect();
    let mut row = Attributes::from([("title".to_owned(), text(&words.join(" ")))]);
    for name in ["from", "to"] {
        if rng.u8(0..4) > 0 {
            row.insert(name.to_owned(), value_of(drawn_place(rng)));
        }
    }
    row
}

async fn ids(bench: &Bench, read: &str, args: &Attributes, page: usize) -> Vec<String> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let request = Request {
            args: args.clone(),
            caller: Caller::with_id("ada"),
            limit: Some(page),
            cursor,
            now: bench.millis(),
        };
        let answer = bench.engine.read(read, &request).await.unwrap();
        let Some(Value::L(rows)) = answer.value else { panic!() };
        for row in rows {
            let Value::M(row) = row else { panic!() };
            all.push(row.get("id").and_then(Value::as_str).unwrap().to_owned());
        }
        cursor = answer.next;
        if cursor.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn what_is_found_near_a_place_is_what_going_through_all_rows_gives_in_their_order() {
    let mut bench = Bench::of_model(MODEL).await;
    let mut rng = Rng::with_seed(21);
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let mut rows: BTreeMap<String, Attributes> = BTreeMap::new();
    let mut found_some = 0;
    for round in 0..40 {
        for _ in 0..6 {
            let id = format!("n{}", rng.u8(0..120));
            match rows.contains_key(&id) {
                true if rng.bool() => {
                    bench.remove("ada", &id).await;
                    rows.remove(&id);
                }
                // What is not given is taken away: a row may lose its place.
                _ => {
                    let row = drawn_row(&mut rng);
                    bench.put("ada", &id, row.clone(), None).await;
                    rows.insert(id, row);
                }
            }
        }
        if round == 20 {
            bench.add_other("o1", "milk").await;
        }
        bench.follow(&mut follower).await;
        for _ in 0..10 {
            let (read, names) =
                [("begins", &["from"][..]), ("ends", &["to"]), ("both", &["from", "to"])][rng.usize(0..3)];
            let center = match rng.bool() {
                true => drawn_place(&mut rng),
                // Where a row is: at no distance at all.
                false => {
                    let own = rows
                        .values()
                        .nth(rng.usize(0..rows.len()))
                        .and_then(|row| row.get(names[0]));
                    own.and_then(Place::from_value)
                        .unwrap_or(Place { lat: 52.0, lon: 21.0 })
                }
            };
            let km = ["0", "0.5", "5", "111.2", "400", "20100"][rng.usize(0..6)];
            let q = ["m", "mil", "milk ", "bread t", "tea"][rng.usize(0..5)];
            let center = value_of(center);
            let around = Place::from_value(&center).unwrap();
            let mut args = Attributes::from([("q".to_owned(), text(q))]);
            let all = ids(&bench, "all", &args, 50).await;
            args.insert("at".to_owned(), center);
            args.insert("km".to_owned(), Value::N(km.parse().unwrap()));
            let is_near = |id: &String| {
                names.iter().all(|name| {
                    let place = rows[id].get(*name).and_then(Place::from_value);
                    place.is_some_and(|place| place.distance_km(around) <= km.parse().unwrap())
                })
            };
            let meant: Vec<String> = all.into_iter().filter(is_near).collect();
            let found = ids(&bench, read, &args, [1, 3, 50][rng.usize(0..3)]).await;
            assert_eq!(found, meant, "{read} {args:?}");
            found_some += usize::from(!found.is_empty());
        }
    }
    assert!(found_some > 100, "{found_some}");
    // Rows of an entity without places are found beside them.
    assert_eq!(
        ids(&bench, "others", &Attributes::from([("q".to_owned(), text("mil"))]), 5).await,
        ["o1"]
    );
}

#[tokio::test]
async fn a_row_that_moved_since_is_where_it_is() {
    let mut bench = Bench::of_model(MODEL).await;
    let mut follower = bench.follower(IndexPlace::Memory);
    bench.engine.search_by(follower.served_index());
    let row = |lat: f64| {
        let place = value_of(Place { lat, lon: 21.0 });
        Attributes::from([("title".to_owned(), text("milk")), ("from".to_owned(), place)])
    };
    bench.put("ada", "1", row(52.0), None).await;
    bench.follow(&mut follower).await;
    let args = |lat: f64| {
        let place = value_of(Place { lat, lon: 21.0 });
        let km = Value::N("10".parse().unwrap());
        Attributes::from([
            ("q".to_owned(), text("milk")),
            ("at".to_owned(), place),
            ("km".to_owned(), km),
        ])
    };
    assert_eq!(ids(&bench, "begins", &args(52.0), 5).await, ["1"]);
    bench.put("ada", "1", row(40.0), None).await;
    // The index is behind: the row decides, and is where it was for no one.
    assert!(ids(&bench, "begins", &args(52.0), 5).await.is_empty());
    bench.follow(&mut follower).await;
    assert_eq!(ids(&bench, "begins", &args(40.0), 5).await, ["1"]);
}
