//! To-do: tasks of their owner only.

use serde_json::{Value as Json, json};
use singlet_item::Value;
use singlet_runtime::{Attributes, Caller, Request, RuntimeError};

use crate::refuses;
use crate::support::{NOW, Order, TODAY, day, names, same, text, todo};

const USERS: [&str; 4] = ["ada", "grace", "linus", "mei"];
const STATUSES: [&str; 4] = ["pending", "in_progress", "completed", "cancelled"];
const PRIORITIES: [&str; 4] = ["urgent", "high", "medium", "low"];

fn id(row: &Json) -> Vec<String> {
    vec![text(row, "task_id").to_owned()]
}

fn then_id(row: &Json, first: String) -> Vec<String> {
    vec![first, text(row, "task_id").to_owned()]
}

fn rank(words: &[&str], word: &str) -> String {
    words.iter().position(|known| *known == word).unwrap().to_string()
}

fn due(row: &Json) -> Vec<String> {
    then_id(row, text(row, "due_date").to_owned())
}

const NEWEST: Order = Order::Down(id);

async fn check(read: &str, args: &[(&str, &str)], user: &str, keep: impl Fn(&Json) -> bool, order: Order) -> usize {
    let system = todo().await;
    let expected = system.rows("Task", |row| text(row, "user_id") == user && keep(row));
    let count = expected.len();
    system.check(read, args, &Caller::with_id(user), expected, order).await;
    count
}

#[tokio::test]
async fn me_is_the_caller() {
    let system = todo().await;
    for user in USERS {
        same(
            &system.one("me", &[], &Caller::with_id(user)).await,
            &system.row("User", "user_id", user),
        );
    }
    refuses!(system.refused("me", &[], &Caller::with_id("nobody")), NotFound);
}

#[tokio::test]
async fn a_task_is_found_by_id_by_its_owner_only() {
    let system = todo().await;
    let ada = Caller::with_id("ada");
    for row in system.rows("Task", |row| text(row, "user_id") == "ada") {
        same(
            &system.one("task", &[("task_id", text(&row, "task_id"))], &ada).await,
            &row,
        );
    }
    let foreign = [("task_id", "01K1WKX4005DHGP7AKMJJ3B90A")];
    refuses!(system.refused("task", &foreign, &ada), NotFound);
    system.one("task", &foreign, &Caller::with_id("grace")).await;
    refuses!(
        system.refused("task", &[("task_id", "01JGNG85V060K1EB14F1TN8C4Z")], &ada),
        NotFound
    );
}

#[tokio::test]
async fn all_tasks_newest_first() {
    for user in USERS {
        assert!(check("tasks", &[], user, |_| true, NEWEST).await > 20);
    }
    assert_eq!(check("tasks", &[], "nobody", |_| true, NEWEST).await, 0);
}

#[tokio::test]
async fn tasks_of_each_status() {
    for status in STATUSES {
        for user in USERS {
            check(
                "tasksByStatus",
                &[("status", status)],
                user,
                |row| text(row, "status") == status,
                NEWEST,
            )
            .await;
        }
    }
}

#[tokio::test]
async fn all_statuses_in_their_order_not_the_alphabets() {
    let order = Order::Up(|row| then_id(row, rank(&STATUSES, text(row, "status"))));
    for user in USERS {
        check("tasksInStatusOrder", &[], user, |_| true, order).await;
    }
}

#[tokio::test]
async fn tasks_due_on_a_day() {
    let yesterday = day("-1d");
    let days = [
        "2025-11-30",
        "2025-12-01",
        "2024-02-29",
        "2036-02-29",
        "2025-02-28",
        TODAY,
        &yesterday,
        "2025-11-29",
    ];
    for due_on in days {
        check(
            "tasksDueOn",
            &[("day", due_on)],
            "ada",
            |row| text(row, "due_date") == due_on,
            NEWEST,
        )
        .await;
    }
    assert_eq!(
        check(
            "tasksDueOn",
            &[("day", "2025-11-30")],
            "ada",
            |row| text(row, "due_date") == "2025-11-30",
            NEWEST
        )
        .await,
        6
    );
}

#[tokio::test]
async fn due_between_two_days_includes_both() {
    let ranges = [
        ("2025-11-30", "2025-11-30", 6),
        ("2025-11-30", "2025-12-01", 8),
        ("2025-11-29", "2025-11-30", 0),
        ("2024-02-29", "2036-02-29", 0),
        ("2024-01-01", "2024-02-28", 0),
    ];
    for (from, to, known) in ranges {
        let keep = |row: &Json| !text(row, "due_date").is_empty() && (from..=to).contains(&text(row, "due_date"));
        let count = check(
            "tasksInDueDateOrder",
            &[("from", from), ("to", to)],
            "ada",
            keep,
            Order::Up(due),
        )
        .await;
        assert!(known == 0 || known == count, "{from} {to}: {count}");
    }
}

#[tokio::test]
async fn due_dates_with_one_end_or_none() {
    let has = |row: &Json| !text(row, "due_date").is_empty();
    let order = Order::Up(due);
    for user in USERS {
        let all = check("tasksInDueDateOrder", &[], user, has, order).await;
        let from = [("from", "2025-11-30")];
        let since = check(
            "tasksInDueDateOrder",
            &from,
            user,
            |row| text(row, "due_date") >= "2025-11-30",
            order,
        )
        .await;
        let to = [("to", "2025-11-30")];
        let until = check(
            "tasksInDueDateOrder",
            &to,
            user,
            |row| has(row) && text(row, "due_date") <= "2025-11-30",
            order,
        )
        .await;
        let on = todo().await.rows("Task", |row| {
            text(row, "user_id") == user && text(row, "due_date") == "2025-11-30"
        });
        assert_eq!(all + on.len(), since + until);
    }
}

#[tokio::test]
async fn a_range_with_its_ends_swapped_is_empty() {
    let (rows, _) = todo()
        .await
        .all(
            "tasksInDueDateOrder",
            &[("from", "2025-12-01"), ("to", "2025-11-30")],
            &Caller::with_id("ada"),
            5,
        )
        .await;
    assert!(rows.is_empty());
}

#[tokio::test]
async fn overdue_is_before_today_and_open() {
    let open = |row: &Json| ["pending", "in_progress"].contains(&text(row, "status"));
    let overdue = |row: &Json| !text(row, "due_date").is_empty() && text(row, "due_date") < TODAY && open(row);
    for user in USERS {
        check("overdueTasks", &[], user, overdue, Order::Up(due)).await;
    }
    let (rows, _) = todo()
        .await
        .all("overdueTasks", &[], &Caller::with_id("ada"), 100)
        .await;
    let there = |id: &str| rows.iter().any(|row| text(row, "task_id") == id);
    assert!(there("01KGY7NCM064J5X4SM9HDK61CA"), "due yesterday, open");
    assert!(!there("01KH65Q8W0X2B88TVGMF37BSCA"), "due today");
    assert!(!there("01KGVZJ8G0CYGK45K60RFF4Y5H"), "due yesterday, completed");
    assert!(!there("01KGSD5HG0T0WDNY1KQ6V3ERAD"), "due yesterday, cancelled");
}

#[tokio::test]
async fn tasks_of_each_priority_and_all_urgent_first() {
    let order = Order::Up(|row| then_id(row, rank(&PRIORITIES, text(row, "priority"))));
    for user in USERS {
        for priority in PRIORITIES {
            check(
                "tasksByPriority",
                &[("priority", priority)],
                user,
                |row| text(row, "priority") == priority,
                NEWEST,
            )
            .await;
        }
        check(
            "tasksInPriorityOrder",
            &[],
            user,
            |row| row.get("priority").is_some(),
            order,
        )
        .await;
    }
}

#[tokio::test]
async fn a_category_is_itself_and_nothing_that_begins_like_it() {
    let system = todo().await;
    let mut categories: Vec<String> = system
        .rows("Task", |_| true)
        .iter()
        .map(|row| text(row, "category").to_owned())
        .collect();
    categories.sort();
    categories.dedup();
    categories.extend([
        "hom".to_owned(),
        "home#".to_owned(),
        "$23".to_owned(),
        "home$24".to_owned(),
    ]);
    for category in categories.iter().filter(|category| !category.is_empty()) {
        check(
            "tasksByCategory",
            &[("category", category)],
            "ada",
            |row| text(row, "category") == category,
            NEWEST,
        )
        .await;
    }
}

#[tokio::test]
async fn categories_in_the_order_of_their_text() {
    let order = Order::Up(|row| then_id(row, text(row, "category").to_owned()));
    for user in USERS {
        check(
            "tasksInCategoryOrder",
            &[],
            user,
            |row| row.get("category").is_some(),
            order,
        )
        .await;
    }
}

#[tokio::test]
async fn counts_by_status_and_priority() {
    let system = todo().await;
    for user in USERS {
        let count = |name: &str, words: &[&str]| {
            let of = |word: &str| {
                system
                    .rows("Task", |row| text(row, "user_id") == user && text(row, name) == word)
                    .len()
            };
            let counts = words
                .iter()
                .map(|word| ((*word).to_owned(), json!(of(word))))
                .filter(|(_, count)| *count != json!(0));
            Json::Object(counts.collect())
        };
        let expected = json!({"by_status": count("status", &STATUSES), "by_priority": count("priority", &PRIORITIES)});
        assert_eq!(system.one("taskCounts", &[], &Caller::with_id(user)).await, expected);
    }
}

#[tokio::test]
async fn nobody_in_particular_has_no_tasks() {
    let system = todo().await;
    let args: [(&str, &[(&str, &str)]); 5] = [
        ("me", &[]),
        ("tasks", &[]),
        ("taskCounts", &[]),
        ("task", &[("task_id", "01K1WKX4005DHGP7AKMJJ3B90A")]),
        ("tasksByStatus", &[("status", "pending")]),
    ];
    for (read, args) in args {
        refuses!(system.refused(read, args, &Caller::anonymous()), Unauthenticated);
    }
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let system = todo().await;
    let ada = Caller::with_id("ada");
    let ask = async |read: &str, args: &[(&str, Value)], limit: Option<usize>| {
        let request = Request {
            args: args
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<Attributes>(),
            caller: ada.clone(),
            limit,
            cursor: None,
            now: NOW,
        };
        system.engine.read(read, &request).await.unwrap_err()
    };
    let word = |text: &str| Value::S(text.to_owned());
    names(&ask("tasksByStatus", &[], None).await, "status");
    names(&ask("tasksByStatus", &[("status", word("done"))], None).await, "status");
    names(
        &ask("tasksByStatus", &[("status", Value::Bool(true))], None).await,
        "status",
    );
    names(&ask("tasks", &[("status", word("pending"))], None).await, "status");
    names(&ask("tasksDueOn", &[("day", word("2025-02-30"))], None).await, "day");
    names(&ask("tasksDueOn", &[("day", word("2025-2-3"))], None).await, "day");
    names(
        &ask("tasksInDueDateOrder", &[("from", word("soon"))], None).await,
        "from",
    );
    names(&ask("searchTasks", &[("text", word(""))], None).await, "text");
    names(
        &ask("tasksByCategory", &[("category", word(&"x".repeat(51)))], None).await,
        "category",
    );
    names(&ask("task", &[("task_id", word("not-a-ulid"))], None).await, "task_id");
    names(&ask("tasks", &[], Some(0)).await, "limit");
    names(&ask("tasks", &[], Some(101)).await, "limit");
    names(&ask("noSuchRead", &[], None).await, "noSuchRead");
}
