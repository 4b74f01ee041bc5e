//! The words of tallies.

use super::super::Shape::{Either, Expr, List, Name, Names};
use super::super::{Record, optional, required};
use super::record;

pub(super) static TALLY: Record = record(
    "tally",
    "A count that is kept as rows change, by groups of them; a read names it with `tally`.",
    &[
        required("count", Name, "The entity whose rows are counted."),
        optional(
            "by",
            Either(&[Expr, List(&Expr)]),
            "What makes the groups: attributes of the row, or what is computed of them, such as `day(createdAt)`.",
        ),
        optional("sum", Names("field", &Expr), "Sums beside the count."),
        optional("where", Expr, "Which rows; of the row alone."),
    ],
);
