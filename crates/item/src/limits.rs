//! DynamoDB's limits, and those of a request that all stations share: by name, with the unit last.

/// The largest item, names and values together.
pub const ITEM_SIZE_BYTES_MAX: usize = 400 * 1024;
/// The most bytes that one page of a query or a scan evaluates.
pub const PAGE_SIZE_BYTES_MAX: usize = 1024 * 1024;
/// The longest partition key.
pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
/// The longest sort key.
pub const SORT_KEY_BYTES_MAX: usize = 1024;
/// How many lists and maps may stand inside one another.
pub const NESTING_LEVELS_MAX: usize = 32;
/// The most values that one `IN` compares with.
pub const IN_OPERANDS_MAX: usize = 100;
/// The longest expression string.
pub const EXPRESSION_SIZE_BYTES_MAX: usize = 4 * 1024;
/// The most operators and functions of one expression.
pub const EXPRESSION_OPERATORS_MAX: usize = 300;

/// The most items of one `BatchGetItem`.
pub const BATCH_GET_ITEMS_MAX: usize = 100;
/// The most items of one `BatchWriteItem`.
pub const BATCH_WRITE_ITEMS_MAX: usize = 25;
/// The most bytes of the items of one `BatchGetItem` or `BatchWriteItem`.
pub const BATCH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most items of one transaction; no item may appear twice.
pub const TRANSACTION_ITEMS_MAX: usize = 100;
/// The most characters of a token by which a transaction is done once.
pub const TOKEN_CHARS_MAX: usize = 36;
/// The most bytes of one transaction.
pub const TRANSACTION_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The fewest characters of the name of a table or an index.
pub const NAME_CHARS_MIN: usize = 3;
/// The most characters of the name of a table or an index.
pub const NAME_CHARS_MAX: usize = 255;
/// The most bytes of the name of a key attribute, and of one that an index projects by name.
pub const KEY_NAME_BYTES_MAX: usize = 255;
/// The most bytes of the name of any other attribute.
pub const ATTRIBUTE_NAME_BYTES_MAX: usize = 65_535;

/// The most rows of a page that a caller may ask for.
pub const PAGE_ROWS_MAX: usize = 100;
/// The longest key by which a caller has a request done once.
pub const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// The most global secondary indexes of a table.
pub const GLOBAL_INDEXES_MAX: usize = 20;
/// The most local secondary indexes of a table.
pub const LOCAL_INDEXES_MAX: usize = 5;
/// The largest item collection of a table that has a local secondary index.
pub const LOCAL_INDEX_COLLECTION_BYTES_MAX: usize = 10 * 1024 * 1024 * 1024;
/// The most partition attributes, and likewise the most sort attributes, of one global secondary index.
pub const INDEX_KEY_ATTRIBUTES_MAX: usize = 4;
/// The most projected attributes that are no keys, over all indexes of a table.
pub const PROJECTED_ATTRIBUTES_MAX: usize = 100;

/// What one partition serves in reads.
pub const PARTITION_READ_UNITS_PER_SECOND_MAX: u64 = 3000;
/// What one partition serves in writes.
pub const PARTITION_WRITE_UNITS_PER_SECOND_MAX: u64 = 1000;
