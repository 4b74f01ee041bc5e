//! Calls from end to end on the embedded store in memory: what answers, what is refused, and what nobody should send.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use serde_json::{Value as Json, json};
use singlet_store_embedded::EmbeddedStore;

use crate::{Endpoint, EndpointSettings};

fn endpoint(settings: EndpointSettings) -> Arc<Endpoint> {
    Endpoint::new(Arc::new(EmbeddedStore::memory().unwrap()), settings)
}

/// Status and body of a call.
async fn send(endpoint: &Endpoint, target: &str, body: impl Into<Body>) -> (u16, Json) {
    let request = Request::post("/")
        .header("x-amz-target", target)
        .header("authorization", "anything")
        .body(body.into())
        .unwrap();
    let response = endpoint.respond_http(request).await;
    let status = response.status().as_u16();
    assert!(response.headers().contains_key("x-amz-crc32"));
    assert_eq!(response.headers()["content-type"], "application/x-amz-json-1.0");
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap())
}

async fn call(endpoint: &Endpoint, name: &str, body: Json) -> Result<Json, String> {
    let service = match name {
        "ListStreams" | "DescribeStream" | "GetShardIterator" | "GetRecords" => "DynamoDBStreams_20120810",
        _ => "DynamoDB_20120810",
    };
    let (status, answer) = send(endpoint, &format!("{service}.{name}"), body.to_string()).await;
    match status {
        200 => Ok(answer),
        _ => {
            let kind = answer["__type"]
                .as_str()
                .unwrap()
                .rsplit('#')
                .next()
                .unwrap()
                .to_owned();
            let message = answer["message"]
                .as_str()
                .or(answer["Message"].as_str())
                .unwrap_or_default();
            Err(format!("{status} {kind}: {message}"))
        }
    }
}

async fn table(endpoint: &Endpoint) {
    let spec = json!({
        "TableName": "things",
        "AttributeDefinitions": [
            { "AttributeName": "pk", "AttributeType": "S" },
            { "AttributeName": "sk", "AttributeType": "N" },
            { "AttributeName": "at", "AttributeType": "S" },
        ],
        "KeySchema": [
            { "AttributeName": "pk", "KeyType": "HASH" },
            { "AttributeName": "sk", "KeyType": "RANGE" },
        ],
        "LocalSecondaryIndexes": [{
            "IndexName": "by-time",
            "KeySchema": [
                { "AttributeName": "pk", "KeyType": "HASH" },
                { "AttributeName": "at", "KeyType": "RANGE" },
            ],
            "Projection": { "ProjectionType": "KEYS_ONLY" },
        }],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": { "StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES" },
    });
    call(endpoint, "CreateTable", spec).await.unwrap();
}

async fn put(endpoint: &Endpoint, sk: u32) {
    let item = json!({ "pk": { "S": "a" }, "sk": { "N": sk.to_string() }, "at": { "S": format!("t{sk}") },
        "n": { "N": "1" }, "big": { "S": "x" } });
    let body = json!({ "TableName": "things", "Item": item });
    call(endpoint, "PutItem", body).await.unwrap();
}

#[tokio::test]
async fn items_go_in_and_come_out() {
    let endpoint = endpoint(EndpointSettings::default());
    table(&endpoint).await;
    for sk in 0..5 {
        put(&endpoint, sk).await;
    }
    let key = json!({ "pk": { "S": "a" }, "sk": { "N": "3" } });
    let body = json!({ "TableName": "things", "Key": key, "UpdateExpression": "SET n = n + :one",
        "ExpressionAttributeValues": { ":one": { "N": "1" } }, "ReturnValues": "UPDATED_NEW",
        "ReturnConsumedCapacity": "TOTAL" });
    let answer = call(&endpoint, "UpdateItem", body).await.unwrap();
    assert_eq!(answer["Attributes"], json!({ "n": { "N": "2" } }));
    assert_eq!(answer["ConsumedCapacity"]["CapacityUnits"], json!(1.0));
    let body = json!({ "TableName": "things", "KeyConditionExpression": "pk = :p AND sk > :s", "Limit": 2,
        "ExpressionAttributeValues": { ":p": { "S": "a" }, ":s": { "N": "0" } } });
    let page = call(&endpoint, "Query", body.clone()).await.unwrap();
    assert_eq!(page["Count"], 2);
    let mut next = body;
    next["ExclusiveStartKey"] = page["LastEvaluatedKey"].clone();
    let page = call(&endpoint, "Query", next).await.unwrap();
    assert_eq!(page["Items"][0]["sk"], json!({ "N": "3" }));
}

#[tokio::test]
async fn a_local_index_gives_what_it_does_not_hold() {
    let endpoint = endpoint(EndpointSettings::default());
    table(&endpoint).await;
    put(&endpoint, 1).await;
    let query = |more: Json| {
        let mut body = json!({ "TableName": "things", "IndexName": "by-time", "KeyConditionExpression": "pk = :p",
            "ExpressionAttributeValues": { ":p": { "S": "a" } } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let held = call(&endpoint, "Query", query(json!({}))).await.unwrap();
    assert!(held["Items"][0].get("big").is_none());
    let all = call(&endpoint, "Query", query(json!({ "Select": "ALL_ATTRIBUTES" })))
        .await
        .unwrap();
    assert_eq!(all["Items"][0]["big"], json!({ "S": "x" }));
    let one = call(&endpoint, "Query", query(json!({ "ProjectionExpression": "big" })))
        .await
        .unwrap();
    assert_eq!(one["Items"][0], json!({ "big": { "S": "x" } }));
}

#[tokio::test]
async fn a_stream_is_read_from_any_of_its_records() {
    let endpoint = endpoint(EndpointSettings::default());
    table(&endpoint).await;
    for sk in 0..4 {
        put(&endpoint, sk).await;
    }
    let described = call(&endpoint, "DescribeTable", json!({ "TableName": "things" }))
        .await
        .unwrap();
    let arn = described["Table"]["LatestStreamArn"].clone();
    let stream = call(&endpoint, "DescribeStream", json!({ "StreamArn": arn }))
        .await
        .unwrap();
    let shard = stream["StreamDescription"]["Shards"][0]["ShardId"].clone();
    let read = async |kind: &str, sequence: Option<&Json>, limit: u32| {
        let mut body = json!({ "StreamArn": arn, "ShardId": shard, "ShardIteratorType": kind });
        if let Some(sequence) = sequence {
            body["SequenceNumber"] = sequence.clone();
        }
        let iterator = call(&endpoint, "GetShardIterator", body).await.unwrap();
        let body = json!({ "ShardIterator": iterator["ShardIterator"], "Limit": limit });
        let page = call(&endpoint, "GetRecords", body).await.unwrap();
        page["Records"].as_array().unwrap().clone()
    };
    let all = read("TRIM_HORIZON", None, 100).await;
    assert_eq!(all.len(), 4);
    for (position, record) in all.iter().enumerate() {
        let sequence = &record["dynamodb"]["SequenceNumber"];
        assert!(sequence.as_str().unwrap().len() >= 21);
        assert_eq!(read("AT_SEQUENCE_NUMBER", Some(sequence), 100).await, all[position..]);
        assert_eq!(
            read("AFTER_SEQUENCE_NUMBER", Some(sequence), 100).await,
            all[position + 1..]
        );
    }
    assert!(read("LATEST", None, 100).await.is_empty());
    let body = json!({ "StreamArn": arn, "ShardId": shard, "ShardIteratorType": "AT_SEQUENCE_NUMBER",
        "SequenceNumber": "999999999999999999999" });
    let refused = call(&endpoint, "GetShardIterator", body).await.unwrap_err();
    assert!(refused.contains("TrimmedDataAccessException"), "{refused}");
}

#[tokio::test]
async fn a_guarded_table_is_read_and_not_written() {
    let settings = EndpointSettings {
        guard: Some(Arc::new(|table| table == "things")),
        guard_help: "write through the service".to_owned(),
        ..EndpointSettings::default()
    };
    let free = endpoint(EndpointSettings::default());
    table(&free).await;
    put(&free, 1).await;
    let guarded = Endpoint::new(Arc::clone(&free.store), settings);
    let key = json!({ "pk": { "S": "a" }, "sk": { "N": "1" } });
    let item = call(&guarded, "GetItem", json!({ "TableName": "things", "Key": key }))
        .await
        .unwrap();
    assert!(item.get("Item").is_some());
    let write = json!({ "TableName": "things", "Key": key });
    let put = json!({ "TableName": "things", "Item": key });
    let statement = json!({ "Statement": "DELETE FROM things WHERE pk = 'a' AND sk = 1" });
    for (name, body) in [
        ("PutItem", put.clone()),
        ("DeleteItem", write.clone()),
        ("UpdateItem", write.clone()),
        (
            "BatchWriteItem",
            json!({ "RequestItems": { "things": [{ "DeleteRequest": { "Key": key } }] } }),
        ),
        ("TransactWriteItems", json!({ "TransactItems": [{ "Delete": write }] })),
        ("ExecuteStatement", statement.clone()),
        ("ExecuteTransaction", json!({ "TransactStatements": [statement] })),
        ("DeleteTable", json!({ "TableName": "things" })),
        (
            "UpdateTable",
            json!({ "TableName": "things", "BillingMode": "PAY_PER_REQUEST" }),
        ),
        (
            "UpdateTimeToLive",
            json!({ "TableName": "things", "TimeToLiveSpecification": { "Enabled": true, "AttributeName": "x" } }),
        ),
    ] {
        let refused = call(&guarded, name, body).await.unwrap_err();
        assert!(
            refused.starts_with("400 AccessDeniedException: table `things`"),
            "{name}: {refused}"
        );
        assert!(refused.ends_with("write through the service"), "{name}: {refused}");
    }
    let answer = call(&guarded, "BatchExecuteStatement", json!({ "Statements": [statement] }))
        .await
        .unwrap();
    assert_eq!(answer["Responses"][0]["Error"]["Code"], "AccessDenied");
    let item = call(&free, "GetItem", json!({ "TableName": "things", "Key": key }))
        .await
        .unwrap();
    assert!(item.get("Item").is_some());
}

const CALLS: [&str; 29] = [
    "BatchExecuteStatement",
    "BatchGetItem",
    "BatchWriteItem",
    "CreateTable",
    "DeleteItem",
    "DeleteTable",
    "DescribeEndpoints",
    "DescribeLimits",
    "DescribeTable",
    "DescribeTimeToLive",
    "ExecuteStatement",
    "ExecuteTransaction",
    "GetItem",
    "ListTables",
    "ListTagsOfResource",
    "PutItem",
    "Query",
    "Scan",
    "TagResource",
    "TransactGetItems",
    "TransactWriteItems",
    "UntagResource",
    "UpdateItem",
    "UpdateTable",
    "UpdateTimeToLive",
    "ListStreams",
    "DescribeStream",
    "GetShardIterator",
    "GetRecords",
];

/// Values that stand where something else is expected.
fn hostile() -> Vec<Json> {
    let deep = (0..60).fold(json!({ "S": "x" }), |inner, _| json!({ "M": { "a": inner } }));
    vec![
        json!(null),
        json!(true),
        json!(-1),
        json!(1e300),
        json!(i64::MIN),
        json!(""),
        json!("x"),
        json!("arn:aws:dynamodb:us-east-1:000000000000:table/things/stream/x"),
        json!("things"),
        json!([]),
        json!([null]),
        json!([{}]),
        json!([[]]),
        json!({}),
        json!({ "": {} }),
        json!({ "pk": { "S": 1 } }),
        json!({ "pk": { "N": "1".repeat(5000) } }),
        json!({ "pk": { "N": "1E99999999999" } }),
        json!({ "pk": { "B": "%" } }),
        json!({ "pk": { "S": "a" }, "sk": { "N": "1" } }),
        json!({ "things": [] }),
        json!({ "things": {} }),
        json!({ "a": deep }),
        json!([{ "Put": {}, "Delete": {} }]),
        json!([{ "Update": { "TableName": "things" } }]),
    ]
}

const MEMBERS: [&str; 40] = [
    "TableName",
    "Key",
    "Item",
    "Limit",
    "Select",
    "RequestItems",
    "TransactItems",
    "Statement",
    "Statements",
    "TransactStatements",
    "Parameters",
    "ResourceArn",
    "Tags",
    "TagKeys",
    "StreamArn",
    "ShardId",
    "ShardIterator",
    "ShardIteratorType",
    "SequenceNumber",
    "KeySchema",
    "AttributeDefinitions",
    "GlobalSecondaryIndexes",
    "LocalSecondaryIndexes",
    "GlobalSecondaryIndexUpdates",
    "ProvisionedThroughput",
    "StreamSpecification",
    "TimeToLiveSpecification",
    "ConditionExpression",
    "KeyConditionExpression",
    "FilterExpression",
    "ProjectionExpression",
    "UpdateExpression",
    "ExpressionAttributeNames",
    "ExpressionAttributeValues",
    "Expected",
    "AttributeUpdates",
    "KeyConditions",
    "ScanFilter",
    "ExclusiveStartKey",
    "Segment",
];

#[tokio::test]
async fn nothing_that_is_sent_makes_it_fail() {
    let endpoint = endpoint(EndpointSettings::default());
    table(&endpoint).await;
    let values = hostile();
    for (turn, name) in CALLS.into_iter().enumerate() {
        for (place, member) in MEMBERS.into_iter().enumerate() {
            // A fifth of all for each call; every value meets every member at some of them.
            for value in values.iter().skip((turn + place) % 5).step_by(5) {
                let mut body = json!({ "TableName": "things", "Key": { "pk": { "S": "a" }, "sk": { "N": "1" } } });
                body[member] = value.clone();
                if name == "DeleteTable" && member != "TableName" {
                    continue;
                }
                if let Err(refused) = call(&endpoint, name, body).await {
                    assert!(refused.starts_with("400 "), "{name} {member} {value}: {refused}");
                }
            }
        }
        if name == "DeleteTable" && call(&endpoint, "ListTables", json!({})).await.unwrap()["TableNames"] == json!([]) {
            table(&endpoint).await;
        }
    }
}

#[tokio::test]
async fn bodies_that_are_no_requests_are_refused() {
    let endpoint = endpoint(EndpointSettings::default());
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for body in [
        Vec::new(),
        b"{".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"{\"TableName\": \"\xff\xfe\"}".to_vec(),
        b"{\"TableName\": \"\\ud800\"}".to_vec(),
        deep.clone().into_bytes(),
        format!("{{\"Item\": {deep}}}").into_bytes(),
    ] {
        let (status, answer) = send(&endpoint, "DynamoDB_20120810.PutItem", body).await;
        assert_eq!(status, 400, "{answer}");
    }
    let item = json!({ "TableName": "none", "Item": { "pk": { "S": "x".repeat(10 * 1024 * 1024) } } });
    let refused = call(&endpoint, "PutItem", item).await.unwrap_err();
    assert!(refused.starts_with("400 ResourceNotFoundException"), "{refused}");
    let (status, _) = send(&endpoint, "DynamoDB_20120810.PutItem", vec![b' '; 26 * 1024 * 1024]).await;
    assert_eq!(status, 413);
    for target in [
        "",
        "x",
        "DynamoDB_20120810.",
        "DynamoDB_20120810.Nothing",
        "DynamoDB_20111205.PutItem",
        ".",
    ] {
        let (status, answer) = send(&endpoint, target, "{}").await;
        assert_eq!(
            (status, answer["__type"].as_str()),
            (400, Some("com.amazon.coral.service#UnknownOperationException"))
        );
    }
    let anonymous = Request::post("/")
        .header("x-amz-target", "DynamoDB_20120810.ListTables")
        .body(Body::from("{}"));
    let response = endpoint.respond_http(anonymous.unwrap()).await;
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("MissingAuthenticationTokenException"));
}

#[tokio::test]
async fn statements_do_what_they_say() {
    let endpoint = endpoint(EndpointSettings::default());
    table(&endpoint).await;
    for sk in 0..6 {
        put(&endpoint, sk).await;
    }
    let run = async |statement: &str, parameters: Json| {
        let mut body = json!({ "Statement": statement });
        if parameters != json!([]) {
            body["Parameters"] = parameters;
        }
        call(&endpoint, "ExecuteStatement", body).await
    };
    let count = async |statement: &str| {
        run(statement, json!([])).await.unwrap()["Items"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count("SELECT * FROM things").await, 6);
    assert_eq!(
        count("SELECT * FROM things WHERE pk = 'a' AND sk BETWEEN 1 AND 3").await,
        3
    );
    assert_eq!(
        count("SELECT * FROM things WHERE pk IN ['a', 'b'] AND sk < 2 OR sk = 5").await,
        3
    );
    assert_eq!(
        count("SELECT * FROM things WHERE pk = 'a' AND (sk = 1 OR sk = 2)").await,
        2
    );
    assert_eq!(
        count("SELECT * FROM \"things\".\"by-time\" WHERE pk = 'a' AND begins_with(at, 't')").await,
        6
    );
    assert_eq!(count("SELECT * FROM things WHERE pk = 'it''s'").await, 0);
    assert_eq!(
        count("SELECT * FROM things WHERE pk = 'a' AND missing IS MISSING AND n IS NOT NULL").await,
        6
    );
    let body = json!({ "Statement": "SELECT sk FROM things WHERE pk = 'a' ORDER BY sk DESC", "Limit": 4 });
    let page = call(&endpoint, "ExecuteStatement", body.clone()).await.unwrap();
    assert_eq!(page["Items"][0], json!({ "sk": { "N": "5" } }));
    let mut next = body;
    next["NextToken"] = page["NextToken"].clone();
    let page = call(&endpoint, "ExecuteStatement", next).await.unwrap();
    assert_eq!(page["Items"], json!([{ "sk": { "N": "1" } }, { "sk": { "N": "0" } }]));

    let update = "UPDATE things SET n = n + ?, m = {'l': [1, TRUE, NULL]} REMOVE big WHERE pk = 'a' AND sk = 2 RETURNING ALL NEW *";
    let answer = run(update, json!([{ "N": "-2.5" }])).await.unwrap();
    assert_eq!(answer["Items"][0]["n"], json!({ "N": "-1.5" }));
    assert!(answer["Items"][0].get("big").is_none());
    for (statement, words) in [
        (
            "UPDATE things SET n = 1 WHERE pk = 'a' AND sk = 77",
            "ConditionalCheckFailedException",
        ),
        (
            "UPDATE things SET n = 1 WHERE pk = 'a'",
            "mandatory equality on all key attributes",
        ),
        (
            "UPDATE things SET n = 1, n = 2 WHERE pk = 'a' AND sk = 1",
            "Two document paths overlap",
        ),
        (
            "UPDATE things SET sk = 1 WHERE pk = 'a' AND sk = 1",
            "This attribute is part of the key",
        ),
        (
            "INSERT INTO things VALUE {'pk': 'a', 'sk': 1}",
            "DuplicateItemException",
        ),
        ("INSERT INTO things VALUE {'pk': 'a'}", "Missing the key sk in the item"),
        ("INSERT INTO things VALUE {'pk': 'a', 'sk': ?}", "Number of parameters"),
        (
            "DELETE FROM things WHERE pk = 'a' AND sk = 1 AND n = 9",
            "ConditionalCheckFailedException",
        ),
        (
            "DELETE FROM things WHERE pk = 'a' AND sk = 1 garbage",
            "unexpected term at position",
        ),
        ("SELECT * FROM things WHERE pk = 'a", "unterminated quote at position"),
        ("DROP TABLE things", "unexpected term at position 1"),
    ] {
        let refused = run(statement, json!([])).await.unwrap_err();
        assert!(refused.contains(words), "{statement}: {refused}");
    }
    let nested = |levels: usize| {
        let value = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!("INSERT INTO things VALUE {{'pk': 'deep', 'sk': {levels}, 'v': {value}}}")
    };
    assert_eq!(run(&nested(31), json!([])).await, Ok(json!({ "Items": [] })));
    assert!(
        run(&nested(32), json!([]))
            .await
            .unwrap_err()
            .contains("Nesting Levels")
    );
    assert!(run(&nested(3000), json!([])).await.is_err());
    let parentheses = format!(
        "SELECT * FROM things WHERE {}pk = 'a'{}",
        "(".repeat(900),
        ")".repeat(900)
    );
    assert!(
        run(&parentheses, json!([]))
            .await
            .unwrap_err()
            .contains("nest too deep")
    );
}

#[tokio::test]
async fn what_does_not_fit_beside_an_answer_that_nobody_reads_is_refused_and_small_calls_are_not() {
    let bounds = crate::AdmissionBounds {
        calls_max: 2,
        held_bytes_max: 400_000,
    };
    let endpoint = endpoint(EndpointSettings {
        bounds,
        ..EndpointSettings::default()
    });
    table(&endpoint).await;
    let put = |id: &str, length: usize| {
        let item = json!({"pk": {"S": "a"}, "sk": {"N": id}, "text": {"S": "x".repeat(length)}});
        call(&endpoint, "PutItem", json!({"TableName": "things", "Item": item}))
    };
    for id in ["1", "2", "3"] {
        put(id, 40_000).await.unwrap();
    }
    let scan = || {
        let body = json!({"TableName": "things"}).to_string();
        Request::post("/")
            .header("x-amz-target", "DynamoDB_20120810.Scan")
            .header("authorization", "anything")
            .body(Body::from(body))
            .unwrap()
    };
    let unread = endpoint.respond_http(scan()).await;
    assert_eq!(unread.status(), 200);
    assert_eq!(endpoint.respond_http(scan()).await.status(), 503);
    let refused = put("4", 40_000).await.unwrap_err();
    assert!(refused.starts_with("503 ServiceUnavailable: "), "{refused}");
    put("5", 1_000).await.unwrap();
    let length: usize = unread.headers()["content-length"].to_str().unwrap().parse().unwrap();
    let read = axum::body::to_bytes(unread.into_body(), usize::MAX).await.unwrap();
    assert_eq!(read.len(), length);
    put("4", 40_000).await.unwrap();
    assert_eq!(endpoint.respond_http(scan()).await.status(), 200);
}

#[tokio::test]
async fn an_index_has_units_of_its_own() {
    let endpoint = endpoint(EndpointSettings::default());
    let units = |read: u32, write: u32| json!({"ReadCapacityUnits": read, "WriteCapacityUnits": write});
    let index = |name: &str, throughput: Option<Json>| {
        let mut index = json!({
            "IndexName": name,
            "KeySchema": [{"AttributeName": "a", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        });
        if let (Some(index), Some(throughput)) = (index.as_object_mut(), throughput) {
            index.insert("ProvisionedThroughput".to_owned(), throughput);
        }
        index
    };
    let create = json!({
        "TableName": "provisioned",
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}, {"AttributeName": "a", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "ProvisionedThroughput": units(7, 3),
        "GlobalSecondaryIndexes": [index("own", Some(units(2, 1))), index("same", None)],
    });
    call(&endpoint, "CreateTable", create).await.unwrap();
    let described = async || {
        let answer = call(&endpoint, "DescribeTable", json!({"TableName": "provisioned"}))
            .await
            .unwrap();
        let indexes = answer["Table"]["GlobalSecondaryIndexes"].as_array().unwrap().clone();
        let read = |index: &Json| {
            let units = &index["ProvisionedThroughput"];
            (
                index["IndexName"].as_str().unwrap().to_owned(),
                units["ReadCapacityUnits"].as_u64().unwrap(),
                units["WriteCapacityUnits"].as_u64().unwrap(),
            )
        };
        indexes.iter().map(read).collect::<Vec<_>>()
    };
    assert_eq!(described().await, [("own".to_owned(), 2, 1), ("same".to_owned(), 7, 3)]);
    let update = |name: &str, throughput: Json| {
        json!({
            "TableName": "provisioned",
            "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": name, "ProvisionedThroughput": throughput}}],
        })
    };
    call(&endpoint, "UpdateTable", update("same", units(1, 9)))
        .await
        .unwrap();
    assert_eq!(described().await, [("own".to_owned(), 2, 1), ("same".to_owned(), 1, 9)]);
    assert!(
        call(&endpoint, "UpdateTable", update("same", units(0, 9)))
            .await
            .is_err()
    );
    assert!(
        call(&endpoint, "UpdateTable", update("other", units(1, 1)))
            .await
            .is_err()
    );
}
