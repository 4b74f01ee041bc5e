//! A store in front of another one.

use async_trait::async_trait;

use crate::{
    BatchGetAnswer, BatchGetRequest, BatchWriteAnswer, BatchWriteRequest, DeleteRequest, GetAnswer, GetRequest,
    ItemLookup, PageAnswer, PutRequest, QueryRequest, Result, ScanRequest, Store, StoreError, StreamPage,
    StreamRequest, TableChange, TableDescription, TableSpec, TableUpkeep, TransactGetAnswer, TransactGetRequest,
    TransactWriteRequest, UpdateRequest, WantedItem, WriteAnswer,
};

macro_rules! passed_on {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $answer:ty;)*) => {
        /// A store in front of another one, which passes on what it does not do itself. Whatever is one is a [`Store`].
        #[async_trait]
        pub trait StoreLayer: Send + Sync + std::fmt::Debug {
            /// The store that it is in front of.
            fn beneath(&self) -> &dyn Store;

            /// Why no call is let through, where none is.
            fn refusal(&self) -> Option<StoreError> {
                None
            }

            /// Whether calls that need not wait may pass without what comes before and after them.
            fn passes_at_once(&self) -> bool {
                false
            }

            /// Whether [`Store::query_wanted`] may pass beside [`StoreLayer::query`], as [`StoreLayer::query_wanted`].
            fn passes_wanted(&self) -> bool {
                false
            }

            /// See [`Store::query_wanted`]: called where it [may pass](StoreLayer::passes_wanted).
            async fn query_wanted(&self, request: &QueryRequest, wanted: WantedItem<'_>) -> Result<PageAnswer> {
                self.beneath().query_wanted(request, wanted).await
            }

            /// What comes before each call.
            async fn before_call(&self) {}

            /// What comes between each call and its answer.
            async fn after_call(&self) {}

            $(
                #[doc = concat!("See [`Store::", stringify!($name), "`].")]
                async fn $name(&self, $($arg: $ty),*) -> Result<$answer> {
                    self.beneath().$name($($arg),*).await
                }
            )*
        }

        #[async_trait]
        impl<L: StoreLayer> Store for L {
            fn gives_at_once(&self) -> bool {
                self.passes_at_once() && self.beneath().gives_at_once()
            }

            fn get_at_once(&self, lookup: ItemLookup<'_>) -> Option<Result<GetAnswer>> {
                if !self.passes_at_once() {
                    return None;
                }
                match self.refusal() {
                    Some(refusal) => Some(Err(refusal)),
                    None => self.beneath().get_at_once(lookup),
                }
            }

            fn looks_at_items(&self) -> bool {
                self.passes_wanted() && self.beneath().looks_at_items()
            }

            async fn query_wanted(&self, request: &QueryRequest, wanted: WantedItem<'_>) -> Result<PageAnswer> {
                if !self.passes_wanted() {
                    // By the layer's own query: what it does with calls and answers must not be gone around.
                    return Store::query(self, request).await;
                }
                if let Some(refusal) = self.refusal() {
                    return Err(refusal);
                }
                self.before_call().await;
                let answer = StoreLayer::query_wanted(self, request, wanted).await;
                self.after_call().await;
                answer
            }

            $(
                async fn $name(&self, $($arg: $ty),*) -> Result<$answer> {
                    if let Some(refusal) = self.refusal() {
                        return Err(refusal);
                    }
                    self.before_call().await;
                    let answer = StoreLayer::$name(self, $($arg),*).await;
                    self.after_call().await;
                    answer
                }
            )*
        }
    };
}

passed_on! {
    get(request: &GetRequest) -> GetAnswer;
    batch_get(request: &BatchGetRequest) -> BatchGetAnswer;
    query(request: &QueryRequest) -> PageAnswer;
    scan(request: &ScanRequest) -> PageAnswer;
    transact_get(request: &TransactGetRequest) -> TransactGetAnswer;
    put(request: &PutRequest) -> WriteAnswer;
    update(request: &UpdateRequest) -> WriteAnswer;
    delete(request: &DeleteRequest) -> WriteAnswer;
    batch_write(request: &BatchWriteRequest) -> BatchWriteAnswer;
    transact_write(request: &TransactWriteRequest) -> WriteAnswer;
    create_table(spec: &TableSpec) -> ();
    describe_table(table: &str) -> TableDescription;
    describe_upkeep(table: &str) -> TableUpkeep;
    update_table(table: &str, change: &TableChange) -> ();
    delete_table(table: &str) -> ();
    list_tables() -> Vec<String>;
    update_ttl(table: &str, attribute: Option<&str>) -> ();
    check_writes() -> ();
    read_stream(request: &StreamRequest) -> StreamPage;
}
