//! The smallest model that still shows something: entities, attributes, indexes, reads and words are taken away while it does.
//!
//! It knows nothing of what is shown: whoever asks says whether a file still shows it. What is left of a file is no model most of
//! the time, which is found out in the same way.

mod texts;
mod tree;

pub(crate) use texts::shorter_texts;
pub use tree::ShrinkTree;

/// The most files that are tried: each is opened and run.
const TRIES_MAX: usize = 1_000;

/// The smallest file that still shows it, printed as a person would write it.
pub(crate) async fn smallest_model(text: &str, shows: &mut dyn AsyncShows) -> String {
    let Some(mut tree) = ShrinkTree::read(text) else {
        return text.to_owned();
    };
    let mut tries = 0;
    loop {
        let before = tree.clone();
        shorten(&mut tree, &mut Vec::new(), shows, &mut tries).await;
        if tree == before || tries >= TRIES_MAX {
            break;
        }
    }
    tree.printed_file()
}

/// Whether a file still shows what is looked for.
pub(crate) trait AsyncShows {
    /// Runs the file.
    fn shows<'a>(&'a mut self, text: &'a str) -> std::pin::Pin<Box<dyn Future<Output = bool> + 'a>>;
}

/// Takes away parts of one part, the last first, for what comes later builds on what comes before; then looks into what is left.
fn shorten<'a>(
    tree: &'a mut ShrinkTree,
    path: &'a mut Vec<usize>,
    shows: &'a mut dyn AsyncShows,
    tries: &'a mut usize,
) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        if let Some(ShrinkTree::Text(text, quotes)) = tree.at(path).cloned() {
            for less in shorter_texts(&text) {
                let smaller = tree.with(path, ShrinkTree::Text(less, quotes));
                if take(tree, smaller, shows, tries).await {
                    return;
                }
            }
        }
        let mut at = tree.at(path).map_or(0, ShrinkTree::len);
        while at > 0 {
            at -= 1;
            path.push(at);
            let smaller = tree.without_part(path);
            if !take(tree, smaller, shows, tries).await {
                shorten(tree, path, shows, tries).await;
            }
            path.pop();
        }
    })
}

async fn take(
    tree: &mut ShrinkTree,
    smaller: Option<ShrinkTree>,
    shows: &mut dyn AsyncShows,
    tries: &mut usize,
) -> bool {
    let Some(smaller) = smaller else { return false };
    if *tries >= TRIES_MAX {
        return false;
    }
    *tries += 1;
    let taken = shows.shows(&smaller.printed_file()).await;
    if taken {
        *tree = smaller;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::{AsyncShows, smallest_model};
    use std::pin::Pin;

    /// A file shows it that is a model and in which `b` stands in the key of `E`.
    struct InKey;

    impl AsyncShows for InKey {
        fn shows<'a>(&'a mut self, text: &'a str) -> Pin<Box<dyn Future<Output = bool> + 'a>> {
            let loaded = singlet_model::load_source(&singlet_model::Source::new("made", text));
            let shows = !loaded.diagnostics.has_errors() && text.contains("{b}");
            Box::pin(async move { shows })
        }
    }

    #[tokio::test]
    async fn what_does_not_matter_is_taken_away() {
        let text = r#"singlet: 1
name: made
zone: Europe/Rome
table:
  name: made
  key: {partition: PK, sort: SK}
  indexes: {GSI: {partition: GP, sort: GS}}
entities:
  E:
    attributes: {a: string 1..9, b: string 1..9, c: int 0..3 = 1}
    key: {PK: "P#{a}#{b}", SK: "{a}"}
    index: {GSI: {GP: "{a}", GS: "{c}"}}
  F:
    attributes: {a: string 1..9}
    key: {PK: "F#{a}", SK: "F"}
reads:
  r: {find: E, where: a == "x" && b == "y", allow: "true"}
"#;
        let smallest = smallest_model(text, &mut InKey).await;
        // One key attribute of the table and its template would have to go together.
        let meant = "singlet: 1\nname: made\ntable: {name: made, key: {partition: PK, sort: SK}}\nentities:\n  E: {attributes: {a: \
                     string, b: string}, key: {PK: \"P#{b}\", SK: \"{a}\"}}\n";
        assert_eq!(smallest, meant);
    }
}
