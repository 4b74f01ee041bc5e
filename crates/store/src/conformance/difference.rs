//! Where an engine is known to do otherwise than DynamoDB.

/// Something that an engine does otherwise than DynamoDB. Cases assert both behaviours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Difference {
    /// A page ends before the item that would cross a megabyte. DynamoDB Local puts that item on the page.
    PageEndsBeforeAMegabyte,
    /// A path that a global index does not project is absent from the page. DynamoDB refuses the query.
    UnprojectedPathIsAbsent,
    /// A put that changes nothing is on the stream. DynamoDB leaves it out. Where a stream carries both images, the
    /// embedded store leaves it out itself.
    UnchangedItemIsStreamed,
    /// A transaction with an action that can never be done is refused as a whole. DynamoDB names the action.
    WrongActionIsNotNamed,
    /// An absent item in a batch of gets costs nothing. In DynamoDB it costs the minimum.
    AbsentItemInABatchIsFree,
    /// A page without items costs nothing. In DynamoDB it costs the minimum.
    EmptyPageIsFree,
    /// A scan of a global index costs what the whole items would; a query costs what the index holds of them, as in
    /// DynamoDB both do.
    IndexScansCountWholeItems,
    /// A condition check rounds to the four kilobytes of a read. In DynamoDB it rounds to the one kilobyte of a write.
    ConditionCheckRoundsAsARead,
    /// Deleting an absent item in a transaction costs one unit. In DynamoDB it costs two, as the smallest item does.
    DeletingNothingInATransactionCostsOne,
    /// Index writes of a transaction cost twice, as its table writes do. In DynamoDB they cost once.
    TransactionDoublesIndexWrites,
}
