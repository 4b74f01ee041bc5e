//! Reads from a program's own types into its own types.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use singlet_runtime::typed::{from_value, to_value};
use singlet_runtime::{Caller, Engine, Number, RuntimeError, Source, Value};

use crate::support::{NOW, System, ecobid, todo};

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Task {
    task_id: String,
    title: String,
    status: Status,
    due_date: Option<String>,
    created_at: i64,
}

#[derive(Default, Serialize)]
struct Due {
    from: Option<String>,
    to: Option<String>,
}

#[tokio::test]
async fn rows_come_as_structs_page_by_page() {
    let engine = &todo().await.engine;
    let call = || {
        engine
            .call("tasksByStatus")
            .arg("status", Status::Pending)
            .by(Caller::with_id("ada"))
            .at(NOW)
    };
    let all: Vec<Task> = call().all().await.unwrap();
    assert!(
        all.len() > 4
            && all
                .iter()
                .all(|task| task.status == Status::Pending && task.created_at > 0)
    );
    let pages: Vec<Vec<Task>> = call()
        .limit(2)
        .pages()
        .map_ok(|page| page.rows)
        .try_collect()
        .await
        .unwrap();
    assert!(pages.iter().rev().skip(1).all(|page| page.len() == 2));
    assert_eq!(pages.into_iter().flatten().collect::<Vec<Task>>(), all);
    assert_eq!(call().limit(3).rows().try_collect::<Vec<Task>>().await.unwrap(), all);
    let first = call().limit(2).page::<Task>().await.unwrap();
    let second = call().limit(2).after(first.next.unwrap()).page::<Task>().await.unwrap();
    assert_eq!(second.rows, all[2..4]);
}

#[tokio::test]
async fn an_argument_that_is_none_is_not_sent() {
    let engine = &todo().await.engine;
    let due = async |due: Due| -> Vec<Task> {
        let call = engine
            .call("tasksInDueDateOrder")
            .args(due)
            .by(Caller::with_id("ada"))
            .at(NOW);
        call.all().await.unwrap()
    };
    let all = due(Due::default()).await;
    let day = all[3].due_date.clone();
    let later = due(Due {
        from: day.clone(),
        to: None,
    })
    .await;
    assert!(later.len() < all.len() && later.iter().all(|task| task.due_date >= day));
}

#[tokio::test]
async fn an_answer_of_one_value_is_that_value() {
    let system = todo().await;
    let ada = Caller::with_id("ada");
    #[derive(Deserialize)]
    struct Counts {
        by_status: BTreeMap<String, u64>,
    }
    let counts: Counts = system.engine.call("taskCounts").by(ada.clone()).one().await.unwrap();
    let pending = system.rows("Task", |row| row["user_id"] == "ada" && row["status"] == "pending");
    assert_eq!(counts.by_status["pending"], pending.len() as u64);
    let id = system.rows("Task", |row| row["user_id"] == "ada")[0]["task_id"].clone();
    let task: Task = system
        .engine
        .call("task")
        .arg("task_id", &id)
        .by(ada)
        .one()
        .await
        .unwrap();
    assert_eq!(task.task_id, id.as_str().unwrap());
}

#[derive(Debug, Deserialize)]
struct Near {
    item: Item,
    km: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    item_id: String,
    location: Place,
}

#[derive(Debug, Deserialize, Serialize)]
struct Place {
    lat: f64,
    lon: f64,
}

#[tokio::test]
async fn maps_nest_both_ways() {
    let at = Place {
        lat: 52.2297,
        lon: 21.0122,
    };
    let call = ecobid()
        .await
        .engine
        .call("itemsNear")
        .arg("at", &at)
        .arg("km", 5_u8)
        .by(Caller::with_id("kasia"));
    let near: Vec<Near> = call.at(NOW).all().await.unwrap();
    assert!(near.len() > 3);
    assert!(near.iter().all(|near| near.km <= 5.0
        && !near.item.item_id.is_empty()
        && near.item.location.lat > 52.0
        && near.item.location.lon > 20.0));
}

#[tokio::test]
async fn what_does_not_fit_says_where() {
    #[derive(Debug, Deserialize)]
    struct Wrong {
        #[allow(dead_code, reason = "it is never made")]
        title: u32,
    }
    let engine = &todo().await.engine;
    let ada = || engine.call("tasks").by(Caller::with_id("ada"));
    let error = ada().all::<Wrong>().await.unwrap_err();
    assert!(matches!(error, RuntimeError::Typed(_)));
    let message = error.to_string();
    assert!(
        message.starts_with("the answer of `tasks` does not fit: `/0/title`: invalid type: string"),
        "{message}"
    );
    let error = ada().one::<Task>().await.unwrap_err().to_string();
    assert!(
        error.starts_with("the answer of `tasks` does not fit: `/0`: invalid type: map"),
        "{error}"
    );
    let pages: Vec<_> = ada().pages::<Wrong>().collect().await;
    assert!(
        pages.len() == 1 && pages[0].is_err(),
        "after an error there are no pages"
    );
}

#[tokio::test]
async fn wrong_arguments_are_the_answer() {
    let engine = &todo().await.engine;
    let wrong = async |call: singlet_runtime::TypedCall<'_>| {
        call.by(Caller::with_id("ada")).answer().await.unwrap_err().to_string()
    };
    assert_eq!(wrong(engine.call("nothing")).await, "there is no read `nothing`");
    assert_eq!(
        wrong(engine.call("tasks").arg("x", 1)).await,
        "`tasks` has no argument `x`"
    );
    assert_eq!(
        wrong(engine.call("tasksByStatus")).await,
        "`tasksByStatus` needs the argument `status`"
    );
    assert_eq!(
        wrong(engine.call("tasksByStatus").arg("status", "done")).await,
        "the argument `status` is wrong: `done` must be one of pending, in_progress, completed, cancelled"
    );
    assert!(
        wrong(engine.call("tasks").arg("x", f64::NAN))
            .await
            .starts_with("the argument `x` is wrong: `NaN`")
    );
    assert_eq!(
        wrong(engine.call("tasks").args(5)).await,
        "arguments are the fields of a struct or the entries of a map"
    );
}

#[tokio::test]
async fn a_model_with_errors_is_not_opened() {
    let system = System::open("todo").await;
    let store = || system.engine.store().clone();
    let text = "singlet: 1\nname: x\ntable: {name: xxx, key: {partition: PK}}\nentities:\n  A: {attributes: {a: sring}, key: {PK: \"{a}\"}}\n";
    let error = Engine::load_source(&Source::new("x.yaml", text), store(), Default::default()).unwrap_err();
    assert!(error.to_string().starts_with("x.yaml:5:"), "{error}");
    let nothing = Engine::load_source(&Source::new("x.yaml", ""), store(), Default::default());
    assert!(!nothing.unwrap_err().errors.is_empty());
}

#[test]
fn numbers_are_exact_or_refused() {
    let number = |text: &str| Value::N(text.parse().unwrap());
    let widest = "12345678901234567890123456789012345678";
    assert_eq!(from_value::<i64>(&number("-9223372036854775808")).unwrap(), i64::MIN);
    assert_eq!(from_value::<u64>(&number("18446744073709551615")).unwrap(), u64::MAX);
    assert_eq!(from_value::<i128>(&number(widest)).unwrap().to_string(), widest);
    assert_eq!(from_value::<u128>(&number(widest)).unwrap().to_string(), widest);
    assert_eq!(from_value::<String>(&number(widest)).unwrap(), widest);
    assert_eq!(from_value::<String>(&number("0.10")).unwrap(), "0.1");
    assert_eq!(from_value::<f64>(&number("0.1")).unwrap(), 0.1);
    assert_eq!(from_value::<f64>(&number("-3")).unwrap(), -3.0);
    assert_eq!(from_value::<f32>(&number("0.1")).unwrap(), 0.1);
    assert_eq!(from_value::<f64>(&number("1e125")).unwrap(), 1e125);
    for wide in [widest, "9007199254740993", "0.12345678901234567890"] {
        let error = from_value::<f64>(&number(wide)).unwrap_err();
        assert!(error.to_string().contains("take it as text"), "{error}");
    }
    assert!(from_value::<i32>(&number("2147483648")).is_err());
    assert!(
        from_value::<i64>(&number("1.5"))
            .unwrap_err()
            .reason
            .contains("expected i64")
    );
    assert!(from_value::<u8>(&number("-1")).is_err());
    assert!(from_value::<i64>(&number(widest)).is_err());
    assert_eq!(to_value(&u128::from(u64::MAX)).unwrap(), number("18446744073709551615"));
    assert_eq!(to_value(&0.1_f64).unwrap(), number("0.1"));
    assert_eq!(to_value(&0.1_f32).unwrap(), number("0.1"));
    assert!(to_value(&f64::INFINITY).is_err());
    assert!(to_value(&u128::MAX).is_err());
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
enum Shape {
    Point,
    Circle(u32),
    Line(i32, i32),
    Box { wide: u32, high: Option<u32> },
}

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Everything {
    text: String,
    letter: char,
    truth: bool,
    nothing: Option<u8>,
    unit: (),
    pair: (u8, String),
    words: BTreeSet<String>,
    shapes: Vec<Shape>,
    by_number: BTreeMap<u32, String>,
    #[serde(flatten)]
    rest: BTreeMap<String, i64>,
}

#[test]
fn what_was_given_comes_back() {
    let everything = Everything {
        text: "é".to_owned(),
        letter: 'ß',
        truth: true,
        nothing: None,
        unit: (),
        pair: (7, "seven".to_owned()),
        words: BTreeSet::from(["a".to_owned(), "b".to_owned()]),
        shapes: vec![
            Shape::Point,
            Shape::Circle(3),
            Shape::Line(-1, 1),
            Shape::Box { wide: 1, high: None },
        ],
        by_number: BTreeMap::from([(10, "ten".to_owned())]),
        rest: BTreeMap::from([("more".to_owned(), 1)]),
    };
    let value = to_value(&everything).unwrap();
    assert_eq!(from_value::<Everything>(&value).unwrap(), everything);
    let words = Value::Ss(BTreeSet::from(["x".to_owned()]));
    assert_eq!(from_value::<Vec<String>>(&words).unwrap(), ["x"]);
    let numbers = Value::Ns(BTreeSet::from([Number::from(2), Number::from(1)]));
    assert_eq!(from_value::<Vec<u8>>(&numbers).unwrap(), [1, 2]);
    let place = Value::M(BTreeMap::from([(
        "a/b".to_owned(),
        Value::L(vec![Value::Bool(true), Value::Null]),
    )]));
    let error = from_value::<BTreeMap<String, Vec<bool>>>(&place).unwrap_err();
    assert_eq!(
        (error.pointer.as_str(), error.reason.contains("boolean")),
        ("/a~1b/1", true)
    );
    assert!(
        from_value::<Shape>(&Value::S("Round".to_owned()))
            .unwrap_err()
            .reason
            .contains("unknown variant")
    );
}
