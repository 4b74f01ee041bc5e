use crate::context::enumerated_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// More than two read the change stream.
    ///
    /// DynamoDB Streams serve two readers of a shard; a third makes all of them be throttled, and those that fall behind by 24
    /// hours lose changes for good.
    ///
    /// ```yaml
    /// stream: {images: both_images, readers: [lake, search, mail]}
    /// ```
    ///
    /// Way out: let one reader pass the changes on (a queue, a topic, an event bus), or use Kinesis Data Streams for
    /// DynamoDB, which take more readers.
    "E005" "too-many-stream-readers" Warning
}

/// How many readers a shard of the stream serves.
const READERS_MAX: usize = 2;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    if table.stream_readers.len() <= READERS_MAX {
        return;
    }
    let readers: Vec<String> = table
        .stream_readers
        .iter()
        .map(|reader| format!("`{reader}`"))
        .collect();
    let message = format!(
        "{} read the change stream: {}, and it serves {READERS_MAX}",
        readers.len(),
        enumerated_names(&readers)
    );
    findings.push(
        findings
            .at(table.spans.stream.unwrap_or(table.span), "table", message)
            .help("let one reader pass the changes on, through a queue or an event bus"),
    );
}
