//! A store in which a table is made anew though it is there: where many tables of one name are made one after the other.

use std::sync::Arc;

use async_trait::async_trait;
use singlet_store::{Result, Store, StoreLayer, TableSpec};

/// A store in which a table is made anew though it is there.
#[derive(Debug)]
pub struct EmptiedStore(Arc<dyn Store>);

impl EmptiedStore {
    /// Around a store whose tables are nobody else's.
    pub fn emptied_around(inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(EmptiedStore(inner))
    }
}

#[async_trait]
impl StoreLayer for EmptiedStore {
    fn beneath(&self) -> &dyn Store {
        &*self.0
    }

    async fn create_table(&self, spec: &TableSpec) -> Result<()> {
        if self.0.list_tables().await?.contains(&spec.name) {
            self.0.delete_table(&spec.name).await?;
        }
        self.0.create_table(spec).await
    }
}
