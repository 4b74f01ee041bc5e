//! Projections.

use singlet_store::Path;
use singlet_store::well_formed::check_distinct;

use super::{ExpressionParser, RequestPlaceholders, parse_whole};
use crate::fault::Fault;

/// Reads a projection: paths of which none lies in another.
pub(crate) fn read_projection(source: &str, placeholders: &RequestPlaceholders) -> Result<Vec<Path>, Fault> {
    parse_whole(
        "ProjectionExpression",
        source,
        placeholders,
        |parser: &mut ExpressionParser<'_>| {
            let mut paths = vec![parser.path()?];
            while parser.tokens.take_sign(",") {
                paths.push(parser.path()?);
            }
            parser.tokens.expect_end()?;
            check_distinct(paths.iter())?;
            Ok(paths)
        },
    )
}
