//! Reads at addresses of their own: the same answer as at the address that the model has, which stays what it was.

use axum::http::Method;
use singlet_http::routing::Routes;
use singlet_model::Source;

use crate::running::{SHARED, SYSTEMS, model};

#[test]
fn a_read_answers_alike_at_both_addresses() {
    for (system, who, shared, own) in [
        ("todo", "ada", "/api/v1/tasks?limit=3", "/reads/tasks?limit=3"),
        (
            "todo",
            "ada",
            "/api/v1/tasks?status=pending&limit=2",
            "/reads/tasksByStatus?status=pending&limit=2",
        ),
        (
            "todo",
            "ada",
            "/api/v1/tasks?sort=due_date&due_from=2026-01-01",
            "/reads/tasksInDueDateOrder?due_from=2026-01-01",
        ),
        (
            "country",
            "reader",
            "/api/v1/countries/code/NO",
            "/reads/countryByAlpha2?alpha2=NO",
        ),
        (
            "booking",
            "elena/admin",
            "/admin/bookings?status=pending",
            "/reads/bookingsByStatus?status=pending",
        ),
        (
            "ecobid",
            "kasia",
            "/items?near=52.2297,21.0122&km=5&limit=3",
            "/reads/itemsNear?near=52.2297,21.0122&km=5&limit=3",
        ),
    ] {
        let (at_shared, at_own) = (SHARED.get(system, who, shared), SHARED.get(system, who, own));
        assert_eq!(
            (at_shared.status, at_own.status),
            (200, 200),
            "{own}: {}",
            at_own.text()
        );
        let rows = |json: serde_json::Value| json.get("items").cloned().unwrap_or(json);
        assert_eq!(rows(at_shared.json()), rows(at_own.json()), "{own}");
        assert_eq!(
            SHARED.get(system, "-", own).status,
            SHARED.get(system, "-", shared).status,
            "{own}"
        );
    }
}

#[test]
fn one_address_takes_what_one_read_takes() {
    let refused = SHARED.get("todo", "ada", "/reads/tasksByStatus?status=pending&priority=high");
    assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_input"));
    let refused = SHARED.get("todo", "ada", "/reads/tasksByStatus");
    assert_eq!((refused.status, refused.problem().as_str()), (400, "invalid_input"));
    assert_eq!(SHARED.get("todo", "ada", "/reads/noSuchRead").status, 404);
    assert_eq!(SHARED.get("todo", "ada", "/reads").status, 404);
    assert_eq!(SHARED.get("todo", "ada", "/reads/createTask").status, 404);
    let posted = SHARED.call("todo", "ada", "POST", "/reads/tasks", &[], "{}");
    assert_eq!(posted.status, 405);
}

#[test]
fn every_read_of_the_systems_has_an_address_of_its_own() {
    for system in SYSTEMS {
        let model = model(system);
        let routes = Routes::of(&model);
        let own = routes.route_paths().iter().filter(|place| place.is_own_address).count();
        let reads = model.reads.iter().filter(|read| read.http.is_some()).count();
        assert_eq!(own, reads, "{system}");
    }
}

/// What a model has at such an address, or what a path with variables leads to there, stays.
#[test]
fn a_path_of_the_model_leads_where_it_led() {
    let text = |route: &str, args: &str| {
        format!(
            "singlet: 1\nname: own\ntable: {{name: own, key: {{partition: PK, sort: SK}}, type: kind}}\nentities:\n  Note:\n    \
             attributes: {{kind_of: string 1..9, id: string 1..9}}\n    key: {{PK: \"KIND#{{kind_of}}\", SK: \"{{id}}\"}}\nreads:\n  \
             note: {{get: Note, where: kind_of == args.a && id == args.b, args: {{{args}}}, allow: true, http: \"GET {route}\"}}\n  \
             notes: {{find: Note, where: kind_of == args.a, allow: true, http: \"GET /all/{{a}}/notes\"}}\n"
        )
    };
    for (route, args, own) in [
        ("/x/{a}/{b}", "", vec!["/reads/note", "/reads/notes"]),
        ("/{a}/{b}", "", vec![]),
        (
            "/reads/note?a&b",
            "a: string 1..9, b: string 1..9",
            vec!["/reads/notes"],
        ),
        ("/reads/{a}?b", "b: string 1..9", vec![]),
    ] {
        let loaded = singlet_model::load_source(&Source::new("own", text(route, args)));
        let routes = Routes::of(&loaded.model.unwrap());
        let mut found: Vec<&str> = routes
            .route_paths()
            .iter()
            .filter(|place| place.is_own_address)
            .map(|place| place.path.as_str())
            .collect();
        found.sort_unstable();
        assert_eq!(found, own, "{route}");
        let led = routes.find_route("/reads/note", &Method::GET).unwrap();
        assert_eq!(led.place.is_own_address, own.contains(&"/reads/note"), "{route}");
    }
}
