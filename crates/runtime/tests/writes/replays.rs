//! A replay answers as the first request did, its version included, whoever shapes the record.

use serde_json::{Value as Json, json};
use singlet_runtime::WriteRequest;

use super::place;
use super::support::{System, number, user};

const RECORD: &str = r#"
  Request:
    role: idempotency
    attributes:
      caller_id: {is: caller.id}
      request_key: {is: request.key}
      request_hash: {is: request.hash}
      status: {is: response.status}
      body: {is: response.body}
      createdAt: time = now
    key: {PK: "REQUEST#{caller_id}#{request_key}", SK: "REQUEST"}
    expires: createdAt + days(1)
"#;

fn model(record: &str) -> String {
    format!(
        r#"
singlet: 1
name: replays
table:
  name: replays
  key: {{partition: PK, sort: SK}}
  type: type
  ttl: ttl
callers:
  jwt: {{audience: replays, claims: {{id: sub}}}}
entities:
  Page:
    attributes:
      id: string 1..40
      text: string 1..100
      version: version
    key: {{PK: "PAGE#{{id}}", SK: "PAGE"}}
{record}
reads:
  page:
    args: {{id: Page.id}}
    get: Page
    where: id == args.id
    allow: true
writes:
  write:
    allow: true
    do:
      - create: Page
        take: [id, text]
  edit:
    args: {{id: Page.id}}
    allow: true
    do:
      - update: Page(args.id)
        take: [text]
"#
    )
}

async fn request(system: &System, name: &str, key: &str, args: Json) -> WriteRequest {
    WriteRequest {
        idempotency_key: Some(key.to_owned()),
        ..system.request(name, &user("ada"), &args)
    }
}

#[tokio::test]
async fn a_replay_says_the_version_of_the_first_answer() {
    for record in ["", RECORD] {
        let system = System::placed("replays", &model(record), place::store().await).await;
        let mut firsts = Vec::new();
        let calls = [
            ("write", "k1", json!({"id": "a", "text": "one"})),
            ("edit", "k2", json!({"id": "a", "text": "two"})),
            ("edit", "k3", json!({"id": "a", "text": "three"})),
        ];
        for (name, key, args) in calls {
            let request = request(&system, name, key, args).await;
            let first = system.send(name, &request).await.unwrap();
            firsts.push((name, request, first));
        }
        let versions: Vec<_> = firsts.iter().map(|(_, _, first)| first.version).collect();
        assert_eq!(versions, [1, 2, 3].map(|at| Some(number(at))));
        // By now the row has another version than the first two answers said.
        for (name, request, first) in firsts {
            let again = system.send(name, &request).await.unwrap();
            assert!(again.replayed);
            let answer = |written: &singlet_runtime::Written| (written.status, written.value.clone(), written.version);
            assert_eq!(answer(&again), answer(&first), "{name}");
        }
    }
}
