//! Recovery and tags, which DynamoDB Local lacks: on moto.

use std::sync::Arc;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::Tag;
use singlet_face::Company;
use singlet_migrate::{DeployError, DeployOptions, Deployer};
use singlet_model::Source;
use singlet_runtime::{Attributes, Engine};
use singlet_store::{Store, TableChange, TableUpkeep};
use singlet_store_dynamodb::{DynamoDbStore, Settings};

use singlet_testing::Endpoint;

const MODEL: &str = r#"
singlet: 1
name: shelf
table: {name: kept-shelf, key: {partition: PK, sort: SK}, type: kind, recovery: point_in_time, ttl: ends}
entities:
  Book:
    attributes: {id: string 1..9}
    key: {PK: "BOOK#{id}", SK: "BOOK"}
"#;

fn engine(store: &Arc<dyn Store>, text: &str) -> Engine {
    let model = singlet_model::load_source(&Source::new("shelf.yaml", text))
        .model
        .unwrap();
    Engine::open(Arc::new(model), Arc::clone(store), Attributes::new(), [1; 32])
}

async fn tag_as_of_stack(url: &str, table: &str) {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .endpoint_url(url)
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .credentials_provider(Credentials::new("a", "b", None, None, "test"))
        .build();
    let client = aws_sdk_dynamodb::Client::from_conf(config);
    let described = client.describe_table().table_name(table).send().await.unwrap();
    let tag = Tag::builder().key("aws:cloudformation:stack-name").value("shelves");
    client
        .tag_resource()
        .resource_arn(described.table.unwrap().table_arn.unwrap())
        .tags(tag.build().unwrap())
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn recovery_and_tags_are_told_and_a_stack_keeps_its_table() {
    let Some(endpoint) = Endpoint::start_moto() else { return };
    let store = DynamoDbStore::connect(&Settings::local_endpoint(&endpoint.url))
        .await
        .unwrap();
    let store: Arc<dyn Store> = Arc::new(store);
    let engine_of_shelf = engine(&store, MODEL);
    let deployer = |engine| {
        Deployer::new((engine, Company::Shared), DeployOptions::default(), &|| {
            1_794_830_400_000
        })
    };
    deployer(&engine_of_shelf).run(&|_| {}).await.unwrap();
    let kept = store.describe_upkeep("kept-shelf").await.unwrap();
    let wanted = TableUpkeep {
        recovery: Some(true),
        ..TableUpkeep::default()
    };
    assert_eq!(kept, wanted);
    assert!(deployer(&engine_of_shelf).deploy_plan().await.unwrap().is_done());
    store
        .update_table("kept-shelf", &TableChange::Recovery(false))
        .await
        .unwrap();
    let plan = deployer(&engine_of_shelf).deploy_plan().await.unwrap();
    assert_eq!(plan.steps, ["turn on point-in-time recovery"]);
    tag_as_of_stack(&endpoint.url, "kept-shelf").await;
    let plan = deployer(&engine_of_shelf).deploy_plan().await.unwrap();
    assert_eq!(plan.stack.as_deref(), Some("shelves"));
    let error = deployer(&engine_of_shelf).run(&|_| {}).await.unwrap_err();
    assert!(matches!(error, DeployError::Managed(_)), "{error}");
    assert_eq!(store.describe_upkeep("kept-shelf").await.unwrap().recovery, Some(false));
}
