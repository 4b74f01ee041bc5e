//! The smallest case that still differs: fewer rows, fewer attributes, less of a model.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use singlet_model::Source;
use singlet_runtime::Attributes;
use singlet_store::Store;

use crate::bench::{Bench, BenchGiven, Row};
use crate::mismatch::Mismatch;
use crate::shrink::{AsyncShows, ShrinkTree, smallest_model};

/// Makes a store without tables.
pub type StoreMaker<'a> = &'a (dyn Fn() -> Arc<dyn Store> + Sync);

/// How long a case is made smaller: one that shows it only after many pages would take for ever.
const SHRINKING_MAX: Duration = Duration::from_secs(40);

#[derive(Clone, Copy)]
struct Shrinking<'a> {
    store: StoreMaker<'a>,
    until: Instant,
}

/// The smallest case that differs in the same way.
pub(crate) async fn smallest_case(mismatch: Mismatch, store: StoreMaker<'_>) -> Mismatch {
    let shrinking = Shrinking {
        store,
        until: Instant::now() + SHRINKING_MAX,
    };
    let mut known = mismatch;
    let alone = ShrinkTree::read(&known.model).and_then(|tree| without_other_reads(&tree, &known.case.read));
    let mut usual = known.clone();
    usual.given.bounds = Default::default();
    if let Some(smaller) = shown_again(&known.model, &known.rows, &usual, shrinking).await {
        known = smaller;
    }
    if let Some(text) = alone.map(|tree| tree.printed_file())
        && let Some(smaller) = shown_again(&text, &known.rows, &known, shrinking).await
    {
        known = smaller;
    }
    known = fewer_rows(known, shrinking).await;
    let text = known.model.clone();
    let mut shows = MismatchShows {
        known: known.clone(),
        shrinking,
    };
    smallest_model(&text, &mut shows).await;
    fewer_rows(shows.known, shrinking).await
}

struct MismatchShows<'a> {
    known: Mismatch,
    shrinking: Shrinking<'a>,
}

impl AsyncShows for MismatchShows<'_> {
    fn shows<'a>(&'a mut self, text: &'a str) -> Pin<Box<dyn Future<Output = bool> + 'a>> {
        Box::pin(async move {
            let again = shown_again(text, &self.known.rows, &self.known, self.shrinking).await;
            let shows = again.is_some();
            if let Some(again) = again {
                self.known = again;
            }
            shows
        })
    }
}

/// The tree with one read.
fn without_other_reads(tree: &ShrinkTree, read: &str) -> Option<ShrinkTree> {
    let ShrinkTree::Map(entries) = tree else { return None };
    let mut entries = entries.clone();
    for (name, value) in &mut entries {
        if let ("reads", ShrinkTree::Map(reads)) = (name.as_str(), value) {
            reads.retain(|(name, _)| name == read);
        }
    }
    entries.retain(|(name, _)| name != "estimates" && name != "accept");
    Some(ShrinkTree::Map(entries))
}

/// First large parts of the rows, then one after the other, then their attributes.
async fn fewer_rows(mut known: Mismatch, shrinking: Shrinking<'_>) -> Mismatch {
    let mut size = known.rows.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < known.rows.len() {
            let mut fewer = known.rows.clone();
            fewer.drain(at..(at + size).min(fewer.len()));
            match shown_again(&known.model, &fewer, &known, shrinking).await {
                Some(smaller) => known = smaller,
                None => at += size,
            }
        }
        size /= 2;
    }
    for at in 0..known.rows.len() {
        let names: Vec<String> = known
            .rows
            .get(at)
            .into_iter()
            .flat_map(|(_, row)| row.keys().cloned())
            .collect();
        for name in names {
            let mut fewer = known.rows.clone();
            if let Some((_, row)) = fewer.get_mut(at) {
                row.remove(&name);
            }
            if let Some(smaller) = shown_again(&known.model, &fewer, &known, shrinking).await {
                known = smaller;
            }
        }
    }
    known
}

/// Whether the case differs in the same way on another model or other rows. What the model no longer has is left out.
async fn shown_again(text: &str, rows: &[Row], known: &Mismatch, shrinking: Shrinking<'_>) -> Option<Mismatch> {
    if Instant::now() > shrinking.until {
        return None;
    }
    let loaded = singlet_model::load_source(&Source::new("made", text));
    let model = loaded.model.filter(|_| !loaded.diagnostics.has_errors())?;
    let read = model.reads.iter().find(|read| read.name == known.case.read)?;
    let mut case = known.case.clone();
    case.args.retain(|name, _| read.argument_named(name).is_some());
    let mut kept = Vec::new();
    for (name, row) in rows {
        let Some(entity) = model.entity_named(name) else {
            continue;
        };
        let mut row = row.clone();
        row.retain(|name, _| entity.attribute(name).is_some());
        let is_whole = entity.attributes.iter().all(|attribute| {
            let may_lack = attribute.optional || attribute.is.is_some() || attribute.default.is_some();
            may_lack || row.contains_key(&attribute.name)
        });
        if !is_whole {
            return None;
        }
        kept.push((name.clone(), row));
    }
    let given = BenchGiven {
        settings: declared_settings(&model, &known.given.settings),
        bounds: known.given.bounds,
        costs: known.what.contains("read units"),
    };
    let bench = Bench::open_with(text, (shrinking.store)(), kept, known.case.now, given)
        .await
        .ok()?;
    let again = bench.check(&case).await.err()?;
    (kind_of(&again.what) == kind_of(&known.what)).then_some(*again)
}

/// The settings that a model still has.
pub(crate) fn declared_settings(model: &singlet_model::Model, settings: &Attributes) -> Attributes {
    let known = |name: &String| model.settings.iter().any(|setting| setting.name == *name);
    let kept = settings.iter().filter(|(name, _)| known(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// What differs, without its numbers and values: a smaller case must not show something else.
pub(crate) fn kind_of(what: &str) -> String {
    let heads = what.lines().take(2).map(|line| {
        let mut words = line.trim().split([':', '{', '(']);
        let head = words.next().unwrap_or_default();
        // Of `meant: …` and `got: …`, what is said counts too.
        match head {
            "meant" | "got" => format!("{head} {}", words.next().unwrap_or_default()),
            _ => head.to_owned(),
        }
    });
    let heads: Vec<String> = heads.collect();
    heads
        .join("; ")
        .chars()
        .filter(|letter| !letter.is_ascii_digit())
        .collect()
}
