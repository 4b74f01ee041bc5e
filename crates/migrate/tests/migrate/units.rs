//! What a plan says that it takes. DynamoDB Local counts otherwise than DynamoDB documents it: of several actions of a transaction that write to
//! an index it tells the units of one alone, and doubles those of the index. A row of one unit with one index that moves (a put, a delete)
//! takes 6 by the documents, and 4 there.

use singlet_migrate::Migrator;

use super::pairs::PAIRS;
use super::place::TASKS;
use super::support::{NOW, assert_same, migrated, old_table, options};

/// What is planned is what is written, unit for unit.
#[tokio::test]
async fn what_is_planned_is_what_is_consumed() {
    for pair in PAIRS {
        let (table, old) = old_table(TASKS).await;
        let new = table.engine(&pair.new_model());
        let before = table.contents().await;
        let plan = Migrator::new((&old, &new), options(pair), &|| NOW, &|_| {})
            .migration_plan()
            .await
            .unwrap();
        assert_same(pair.name, &table.contents().await, &before);
        assert_eq!(plan.misfits, 0, "{:?}", plan.first_misfits);
        let ended = migrated(&old, &new, options(pair)).await.unwrap();
        let written = ended.consumed.total_units().write.get();
        assert_eq!(plan.write_units(), written, "{}: {plan:?}", pair.name);
    }
}
