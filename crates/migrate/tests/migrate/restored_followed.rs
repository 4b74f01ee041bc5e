//! What follows the changes of a table that was restored.

use std::sync::Arc;

use singlet_changes::{FollowError, Followers, TriggerFollower, Unobserved};
use singlet_migrate::{RestoreOptions, TableRestorer, dump_table};

use super::pairs::OLD;
use super::restored::{Dumped, Scratch};
use super::support::NOW;

/// The model with a stream, which something follows.
fn followed_model() -> String {
    let model = OLD.replace("  ttl: ends\n", "  ttl: ends\n  stream: both_images\n");
    format!(
        "{model}writes:\n  greet:\n    after: {{create: Memo}}\n    do: [{{update: Memo(row.id), set: {{text: '\"hello\"'}}}}]\n"
    )
}

/// Positions stay behind, and nothing that follows begins before the table is released.
#[tokio::test]
async fn followers_begin_anew_once_it_is_released() {
    let model = followed_model();
    let dumped = Dumped::of(&model).await;
    let source = Arc::new(dumped.source.engine(&model));
    TriggerFollower::start(Arc::clone(&source), Arc::new(Unobserved), NOW)
        .await
        .unwrap();
    let files = Scratch::new();
    dump_table(&source, &files.0, None, &|| NOW, &|_| {}).await.unwrap();
    let options = RestoreOptions::default();
    let restorer = TableRestorer::new(&dumped.engine, &files.0, options, &|| NOW, &|_, _| {}).unwrap();
    assert_eq!(restorer.restore_plan().await.unwrap().left_out, 2);
    restorer.run().await.unwrap();
    let engine = Arc::new(dumped.target.engine(&model));
    let followers = Followers::new(Arc::clone(engine.model()), Arc::new(Arc::clone(engine.store())));
    assert!(followers.names().await.unwrap().is_empty());
    let start = || TriggerFollower::start(Arc::clone(&engine), Arc::new(Unobserved), NOW);
    let held = start().await;
    assert!(matches!(held.map(drop), Err(FollowError::Held(_))));
    // It has its place already: what happens from now on is run when the table is released, and nothing of what was restored.
    assert_eq!(followers.names().await.unwrap(), ["$triggers"]);
    engine.release_table().await.unwrap();
    let mut follower = start().await.unwrap();
    while !follower.is_at_head() {
        let page = follower.follow_page(&|| NOW).await.unwrap();
        assert_eq!((page.done, page.refused, page.parked), (0, 0, 0));
    }
}
