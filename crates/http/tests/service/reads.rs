//! Every read that has a route, asked for as a client would.

use singlet_model::model::{Read, Selection};

use crate::running::{SHARED, SYSTEMS, model};

/// System, caller, path, and how many rows come (`one` for a single answer).
const READS: &str = "
todo      ada          /api/v1/users                                             one
todo      ada          /api/v1/tasks/01JQX8MNM83M51DFW44W3RPXTV                  one
todo      ada          /api/v1/tasks?limit=3                                     3
todo      ada          /api/v1/tasks?status=pending&limit=3                      3
todo      ada          /api/v1/tasks?sort=status&limit=3                         3
todo      ada          /api/v1/tasks?due_date=2025-04-30                         some
todo      ada          /api/v1/tasks?sort=due_date&limit=2                       2
todo      ada          /api/v1/tasks?sort=due_date&due_from=2025-01-01&limit=2   2
todo      ada          /api/v1/tasks?sort=due_date&due_to=2025-12-31&limit=2     2
todo      ada          /api/v1/tasks?overdue=true&limit=1                        1
todo      ada          /api/v1/tasks?priority=high&limit=2                       2
todo      ada          /api/v1/tasks?sort=priority&limit=2                       2
todo      ada          /api/v1/tasks?category=finance&limit=2                    2
todo      ada          /api/v1/tasks?sort=category&limit=2                       2
todo      ada          /api/v1/tasks/counts                                      one
todo      ada          /api/v1/reminders                                         0
wardrobe  tomas        /items/01JH396XHCYR31ECBC9A43V1VX                         one
wardrobe  -            /items/01JRTQFDF3HJ61SXQ8WMMXSZ6Q                         one
wardrobe  tomas        /users/tomas/items?limit=5                                5
wardrobe  tomas        /users/tomas/items?category=Knitwear&limit=2              2
wardrobe  tomas        /users/tomas/items?season=winter&limit=2                  2
wardrobe  tomas        /users/tomas/items?season=winter&category=Shoes&limit=1   1
wardrobe  tomas        /users/tomas/activities?limit=4                           4
country   reader       /api/v1/countries/code/NO                                 one
country   reader       /api/v1/countries/code/NO?at=2022-01-01T00:00:00Z         one
country   reader       /api/v1/countries/code/NO/history                         1
country   reader       /api/v1/countries/code3/NOR                               one
country   reader       /api/v1/countries/number/578                              one
country   writer       /api/v1/countries?limit=100                               100
booking   paolo/user   /users/me                                                 one
booking   paolo/user   /bookings/01JRZSMMYXVCDHN1DEADHV7KND                      one
booking   paolo/user   /bookings?limit=2                                         one
booking   elena/admin  /admin/bookings?status=approved&limit=2                   2
booking   elena/admin  /admin/bookings?status=approved&month=2025-04&limit=1     1
booking   paolo/user   /events?date=2025-06-14                                   some
booking   -            /availability?from=2025-06-01&to=2025-06-30               30
booking   paolo/user   /bookings/01JRZSMMYXVCDHN1DEADHV7KND/payments             some
booking   paolo/user   /bookings/01JRZSMMYXVCDHN1DEADHV7KND/lockcode             one
booking   sofia/user   /users/me/notifications                                   some
booking   elena/admin  /admin/audit?date=2025-03-19                              some
ecobid    kasia        /users/me                                                 one
ecobid    kasia        /users/tomek/items?limit=2                                2
ecobid    kasia        /items?near=52.2297,21.0122&km=5&limit=3                  3
ecobid    kasia        /items?near=52.2297,21.0122&km=25&category=books&limit=1  1
ecobid    kasia        /items?category=books&limit=3                             3
ecobid    kasia        /items?status=available&limit=3                           3
ecobid    kasia        /items/01JNNBD2K67TGT44JS1G928FN0                         one
ecobid    piotr        /users/me/reservations                                    some
ecobid    piotr        /reservations/01KHAEMZQ0YVFB9JZ2XTS63NE6                  one
ecobid    kasia        /auctions/01KH828H20HHSA5N9DRJ41D1XT                      one
ecobid    kasia        /auctions/01KH828H20HHSA5N9DRJ41D1XT/bids                 some
ecobid    kasia        /users/zofia/ratings                                      some
ecobid    lena         /users/me/notifications                                   some
";

#[test]
fn every_read_with_a_route_answers() {
    for line in READS.lines().filter(|line| !line.is_empty()) {
        let [system, caller, path, wanted] = line.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let reply = SHARED.get(system, caller, path);
        assert_eq!(reply.status, 200, "{line}: {}", reply.text());
        assert_eq!(reply.header("content-type"), Some("application/json"), "{line}");
        let answer = reply.json();
        let rows = answer["items"].as_array().map(Vec::len);
        match wanted {
            "one" => assert!(answer.is_object() && rows.is_none(), "{line}: {answer}"),
            "some" => assert!(rows.is_some_and(|rows| rows > 0), "{line}: {answer}"),
            count => assert_eq!(rows, Some(count.parse().unwrap()), "{line}: {answer}"),
        }
    }
    let figures = String::from_utf8(crate::client::send(SHARED.address, "GET", "/metrics", &[], b"").body).unwrap();
    for system in SYSTEMS {
        // Nobody follows here who would keep tallies or words.
        let is_kept = |own: &Selection| own.tally.is_some() || own.matching.is_some();
        let answered = |read: &&Read| read.http.is_some() && !read.all_selections().any(is_kept);
        for read in model(system).reads.iter().filter(answered) {
            let counted = format!("system=\"{system}\",operation=\"{}\",status=\"200\"", read.name);
            assert!(
                figures.contains(&counted),
                "no line asks for `{}` of {system}",
                read.name
            );
        }
    }
}

#[test]
fn pages_follow_one_another_to_the_end_without_gap_or_repetition() {
    for (system, caller, path, key) in [
        ("todo", "ada", "/api/v1/tasks?sort=priority", "task_id"),
        ("wardrobe", "tomas", "/users/tomas/items?season=winter", "ItemId"),
        ("country", "reader", "/api/v1/countries?x", "alpha2Code"),
    ] {
        let path = path.trim_end_matches("?x");
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut seen: Vec<String> = Vec::new();
        let mut next = format!("/{system}{path}{separator}limit=7");
        loop {
            let within = next.strip_prefix(&format!("/{system}")).unwrap().to_owned();
            let reply = SHARED.get(system, caller, &within);
            assert_eq!(reply.status, 200, "{}", reply.text());
            let page = reply.json();
            seen.extend(
                page["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|row| row[key].as_str().unwrap().to_owned()),
            );
            let link = reply.header("link").map(str::to_owned);
            assert_eq!(link.is_some(), page["next"].is_string());
            let Some(link) = link else { break };
            next = link.strip_prefix('<').unwrap().split('>').next().unwrap().to_owned();
        }
        let all = seen.len();
        assert!(all > 14, "{system}: {all}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all, "{system}");
    }
}
