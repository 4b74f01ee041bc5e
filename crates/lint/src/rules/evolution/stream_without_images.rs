use crate::context::enumerated_names;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// Someone reads the change stream, and it carries no rows.
    ///
    /// With `keys_only` a reader learns that a row changed, not what it is. It must read the row again, sees whatever it has
    /// become by then, misses states in between, and finds nothing of a row that was deleted. The view of a stream cannot be
    /// changed: a new stream begins empty.
    ///
    /// ```yaml
    /// stream: {images: keys_only, readers: [lake]}
    /// ```
    ///
    /// A reader named `lake` needs both images: without the old one a deletion has no content, and a change no difference.
    ///
    /// Way out: `images: both_images`, which costs nothing more.
    "E004" "stream-without-images" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let table = &context.model.table;
    if table.stream_readers.is_empty() {
        return;
    }
    let lake = table.stream_readers.iter().any(|reader| reader == "lake");
    let problem = match table.stream.as_deref() {
        None => "there is no stream",
        Some("keys_only") => "the stream carries only keys",
        Some("new_image") if lake => "the stream carries no old images, so deletions have no content",
        Some("old_image") if lake => "the stream carries no new images",
        Some(_) => return,
    };
    let readers: Vec<String> = table
        .stream_readers
        .iter()
        .map(|reader| format!("`{reader}`"))
        .collect();
    let read = if readers.len() == 1 { "reads" } else { "read" };
    let message = format!("{} {read} the change stream, but {problem}", enumerated_names(&readers));
    findings.push(
        findings
            .at(table.spans.stream.unwrap_or(table.span), "table", message)
            .help("say `images: both_images`, which costs nothing more"),
    );
}
