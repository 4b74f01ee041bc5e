//! Which refusal is said first, what an upsert requires of a row that is not there, what is answered, and how much one transaction
//! can hold at its bound.

use serde_json::{Value as Json, json};
use singlet_model::Source;
use singlet_plan::write::{transaction_actions, write_costs};
use singlet_runtime::Caller;

use super::place;
use super::support::{System, has, refused, user};

const MODEL: &str = r#"
singlet: 1
name: said
table: {name: said, key: {partition: PK, sort: SK}, type: kind, recovery: point_in_time}
callers:
  jwt: {audience: said, claims: {id: sub}}
types:
  Line: {object: {n: int 0..999, src: Src.id}}
entities:
  Tenant:
    attributes: {id: string 1..20, made: int = 0}
    key: {PK: "TENANT#{id}", SK: "TENANT"}
  Note:
    attributes: {id: string 1..20, n: int, tags: "set(string 1..9)? ..5"}
    key: {PK: "NOTE#{id}", SK: "NOTE"}
  Src:
    attributes: {id: string 1..20, name: string 1..20, color: string 1..20, size: int}
    key: {PK: "SRC#{id}", SK: "SRC"}
  Copied:
    attributes:
      n: int 0..999
      src: Src.id
      name: {copy: Src(src).name, kept: frozen}
      color: {copy: Src(src).color, kept: frozen}
      size: {copy: Src(src).size, kept: frozen}
    key: {PK: "COPIED#{src}", SK: "N#{n}"}
  Doc:
    attributes: {id: string 1..20, owner: string 1..20}
    key: {PK: "DOC#{id}", SK: "DOC"}
  ByOwner:
    mirrors: Doc
    carries: [owner]
    key: {PK: "OWNER#{owner}", SK: "DOC#{id}"}
steps:
  told:
    args: {id: string 1..20}
    do: [{create: Note, set: {id: args.id, n: 1}}]
writes:
  tenant:
    allow: true
    do: [{create: Tenant, take: [id]}]
  note:
    allow: true
    do: [{create: Note, take: [id, n]}]
  src:
    allow: true
    do: [{create: Src, take: [id, name, color, size]}]
  raise:
    http: POST /notes/{id}/raise
    args: {by: int}
    allow: true
    do:
      - update: Note(args.id)
        require: ['n < 5 else enough', 'args.by > 0 else too_little']
        add: {n: args.by}
        else: {absent: no_such_note}
  drop:
    http: DELETE /notes/{id}
    allow: true
    do:
      - delete: Note(args.id)
        require: ['n < 5 else enough']
  put:
    http: PUT /notes/{id}
    args: {n: int}
    allow: true
    do:
      - upsert: Note(args.id)
        set: {n: args.n}
        require: ['n != 5 else is_five']
  bump:
    http: POST /notes/{id}/bump
    allow: true
    do:
      - upsert: Note(args.id)
        require: ['n == absent || n < 3 else enough']
        set: {n: 'n == absent ? 1 : n + 1'}
  tag:
    http: POST /notes/{id}/tag
    args: {tag: string 1..9}
    allow: true
    do: [{update: Note(args.id), add: {tags: args.tag}}]
  look:
    http: PUT /notes/{id}/look
    let: {note: "Note(args.id)?"}
    allow: true
    do: [{upsert: Note(args.id), set: {n: 'note == absent ? 0 : note.n'}}]
  make:
    args: {tenant: Tenant.id}
    allow: true
    do:
      - update: Tenant(args.tenant)
        add: {made: 1}
      - create: Note
        set: {n: 0}
        take: [id]
  tagAndMake:
    args: {tagged: Note.id, tag: string 1..9}
    allow: true
    do:
      - update: Note(args.tagged)
        add: {n: 1, tags: args.tag}
      - create: Note
        set: {n: 0}
        take: [id]
  tell:
    args: {tenant: Tenant.id, id: Note.id}
    allow: true
    do:
      - told: {id: args.id}
      - update: Tenant(args.tenant)
        add: {made: 1}
  copyOne:
    allow: true
    idempotency: none
    do: [{create: Copied, take: [n, src]}]
  copyAll:
    args: {lines: "list(Line) 1..49"}
    allow: true
    do:
      - for: {line: args.lines}
        create: Copied
        set: {n: line.n, src: line.src}
    return: nothing
  docs:
    args: {ids: "set(Doc.id) 1..33", owner: Doc.owner}
    allow: true
    do:
      - for: {one: args.ids}
        create: Doc
        set: {id: one, owner: args.owner}
    return: nothing
  noteOfTenant:                                              # the tenant must be there, and nothing of it is looked at
    args: {tenant: Tenant.id, note: Note.id, src: Src.id}
    let: {tenant: Tenant(args.tenant), note: Note(args.note), src: Src(args.src)}
    allow: note.n > 0
    require: ['src.size + Src(args.note).size > 0 else too_small']
    do: [{update: note, add: {n: 1}}]
  docOfTenant:                                               # nor of the note, and the source is found by a read
    args: {tenant: Tenant.id, note: Note.id, src: Src.id}
    let: {tenant: Tenant(args.tenant), note: Note(args.note), src: {get: Src, where: id == args.src}}
    allow: true
    do: [{create: Doc, set: {owner: args.tenant}, take: [id]}]
  give:
    args: {ids: "set(Doc.id) 1..33", owner: Doc.owner}
    allow: true
    do:
      - for: {one: args.ids}
        update: Doc(one)
        set: {owner: args.owner}
    return: nothing
"#;

fn anybody() -> Caller {
    user("ada")
}

async fn system() -> System {
    System::placed("said", MODEL, place::store().await).await
}

fn bound(system: &System, name: &str) -> u64 {
    let model = system.engine.model();
    let write = model.writes.iter().find(|write| write.name == name).unwrap();
    transaction_actions(model, write)
}

async fn done(system: &System, name: &str, args: Json) -> Json {
    system.write(name, &anybody(), args).await.unwrap()
}

#[tokio::test]
async fn that_a_row_is_missing_is_said_before_what_its_step_requires() {
    let system = system().await;
    for by in [1, 0] {
        let raise = json!({"id": "x", "by": by});
        assert_eq!(
            system.write("raise", &anybody(), raise).await,
            refused("no_such_note 404")
        );
    }
    let drop = json!({"id": "x"});
    assert_eq!(
        system.write("drop", &anybody(), drop.clone()).await,
        refused("note_not_found 404")
    );
    done(&system, "note", json!({"id": "x", "n": 7})).await;
    let raise = json!({"id": "x", "by": 1});
    assert_eq!(system.write("raise", &anybody(), raise).await, refused("enough 409"));
    assert_eq!(system.write("drop", &anybody(), drop).await, refused("enough 409"));
}

#[tokio::test]
async fn of_several_missing_rows_the_first_that_let_names_is_said() {
    let system = system().await;
    done(&system, "tenant", json!({"id": "t"})).await;
    done(&system, "note", json!({"id": "n", "n": 1})).await;
    let src = json!({"id": "s", "name": "a", "color": "b", "size": 1});
    done(&system, "src", src).await;
    let cases = [
        ("none", "none", "none", "tenant_not_found 404"),
        ("none", "none", "s", "tenant_not_found 404"),
        ("none", "n", "none", "tenant_not_found 404"),
        ("none", "n", "s", "tenant_not_found 404"),
        ("t", "none", "none", "note_not_found 404"),
        ("t", "none", "s", "note_not_found 404"),
        ("t", "n", "none", "src_not_found 404"),
    ];
    for (tenant, note, src, said) in cases {
        let args = json!({"tenant": tenant, "note": note, "src": src});
        let written = system.write("noteOfTenant", &anybody(), args.clone()).await;
        assert_eq!(written, refused(said), "noteOfTenant {args}");
        let args = json!({"tenant": tenant, "note": note, "src": src, "id": "d"});
        let written = system.write("docOfTenant", &anybody(), args.clone()).await;
        assert_eq!(written, refused(said), "docOfTenant {args}");
    }
    // A row that only an expression names is missing after all of them.
    let args = json!({"tenant": "t", "note": "n", "src": "s"});
    let written = system.write("noteOfTenant", &anybody(), args).await;
    assert_eq!(written, refused("src_not_found 404"));
    let args = json!({"tenant": "t", "note": "n", "src": "s", "id": "d"});
    done(&system, "docOfTenant", args).await;
}

#[tokio::test]
async fn what_an_upsert_requires_is_of_the_row_as_it_was() {
    let system = system().await;
    has(
        &done(&system, "put", json!({"id": "x", "n": 5})).await,
        &json!({"n": 5}),
    );
    let again = json!({"id": "x", "n": 6});
    assert_eq!(system.write("put", &anybody(), again).await, refused("is_five 409"));
    for n in 1..=3 {
        has(&done(&system, "bump", json!({"id": "y"})).await, &json!({"n": n}));
    }
    let bump = json!({"id": "y"});
    assert_eq!(system.write("bump", &anybody(), bump).await, refused("enough 409"));
}

#[tokio::test]
async fn a_counter_that_is_raised_on_the_way_is_not_the_answer() {
    let system = system().await;
    done(&system, "tenant", json!({"id": "t"})).await;
    let request = system.request("make", &anybody(), &json!({"tenant": "t", "id": "n"}));
    let written = system.send("make", &request).await.unwrap();
    assert_eq!(written.status, 201);
    let answer = singlet_runtime::values::to_json(&written.value.unwrap());
    has(&answer, &json!({"id": "n", "n": 0}));
    // Nor is a row to whose set something is added beside the counter.
    let made = done(&system, "tagAndMake", json!({"tagged": "n", "tag": "a", "id": "o"})).await;
    has(&made, &json!({"id": "o", "n": 0}));
    // What a named step makes is not the write's own.
    let told = done(&system, "tell", json!({"tenant": "t", "id": "m"})).await;
    has(&told, &json!({"id": "t", "made": 2}));
}

#[tokio::test]
async fn what_changes_nothing_and_what_is_looked_at_twice_is_predicted() {
    // Each of these is held against its range as it is sent.
    let system = system().await;
    done(&system, "note", json!({"id": "x", "n": 1})).await;
    done(&system, "tag", json!({"id": "x", "tag": "a"})).await;
    done(&system, "tag", json!({"id": "x", "tag": "a"})).await;
    done(&system, "look", json!({"id": "x"})).await;
    done(&system, "look", json!({"id": "new"})).await;
    let src = json!({"id": "s", "name": "a", "color": "b", "size": 1});
    done(&system, "src", src).await;
    done(&system, "copyOne", json!({"n": 1, "src": "s"})).await;
    let model = system.engine.model();
    let at = model.writes.iter().position(|write| write.name == "copyOne").unwrap();
    let cost = &write_costs(model)[at];
    assert_eq!((cost.least, cost.most), (4, Some(4)), "{:?}", cost.terms);
}

#[tokio::test]
async fn a_transaction_holds_what_its_bound_says() {
    let system = system().await;
    let mut lines = Vec::new();
    for n in 0..49 {
        let src = json!({"id": format!("s{n}"), "name": "a", "color": "b", "size": n});
        done(&system, "src", src).await;
        lines.push(json!({"n": n, "src": format!("s{n}")}));
    }
    let request = system.request("copyAll", &anybody(), &json!({"lines": lines}));
    let written = system.send("copyAll", &request).await.unwrap();
    // Each row and each source is an item of 2 units; the record of a request with a key is one more.
    assert_eq!(written.consumed.total_units().write.get(), 2 * 98);
    assert_eq!(bound(&system, "copyAll"), 99);
    let ids: Vec<String> = (0..33).map(|n| format!("d{n}")).collect();
    done(&system, "docs", json!({"ids": ids, "owner": "ada"})).await;
    let request = system.request("give", &anybody(), &json!({"ids": ids, "owner": "bob"}));
    let written = system.send("give", &request).await.unwrap();
    assert_eq!(written.consumed.total_units().write.get(), 2 * 99);
    assert_eq!(bound(&system, "give"), 100);
}

#[test]
fn one_row_past_the_bound_is_refused_by_the_checker() {
    let findings = |text: &str| -> Vec<String> {
        let source = Source::new("said.yaml", text.to_owned());
        let found = singlet_lint::check_design(singlet_model::load_source(&source));
        let errors = found.iter().filter(|finding| finding.rule.code == "W012");
        errors.map(|finding| finding.message.clone()).collect()
    };
    assert_eq!(findings(MODEL), Vec::<String>::new());
    let past = MODEL.replace("list(Line) 1..49", "list(Line) 1..50");
    assert_eq!(findings(&past).len(), 1);
    let past = MODEL.replace(
        "set(Doc.id) 1..33\", owner: Doc.owner}\n    allow: true\n    do:\n      - for: {one: args.ids}\n        update",
        "set(Doc.id) 1..34\", owner: Doc.owner}\n    allow: true\n    do:\n      - for: {one: args.ids}\n        update",
    );
    assert_eq!(findings(&past).len(), 1);
}
