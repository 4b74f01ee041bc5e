//! The keys of the table or of one index, found by the text with which they begin.
//!
//! Keys of two templates of which neither's leading text begins with the other's never collide. So the paths stand in an
//! ordered map by the leading text of their partition keys, and within it by that of their sort keys: those that can share
//! a key with a given one lie in a range of the map (longer texts) or at its beginnings (shorter ones). Templates that begin
//! with a variable stand under the empty text, which is a beginning of all: few do.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use singlet_model::model::KeyTemplate;
use singlet_plan::access::AccessPath;

/// The paths of the table or of one index.
pub(crate) struct KeySpace<'a> {
    paths: Vec<AccessPath<'a>>,
    by_text: ByText<'a, ByText<'a, Vec<usize>>>,
}

type ByText<'a, T> = BTreeMap<&'a str, T>;

impl<'a> KeySpace<'a> {
    /// The space of these paths.
    pub fn new(paths: Vec<AccessPath<'a>>) -> Self {
        let mut by_text: ByText<'a, ByText<'a, Vec<usize>>> = BTreeMap::new();
        for (at, path) in paths.iter().enumerate() {
            let inner = by_text.entry(leading_text(path.partition_templates())).or_default();
            inner.entry(leading_text(path.sort_templates())).or_default().push(at);
        }
        KeySpace { paths, by_text }
    }

    /// The spaces of all paths: the table under no name, each index under its own.
    pub fn all(paths: impl Iterator<Item = AccessPath<'a>>) -> HashMap<Option<&'a str>, Self> {
        let mut by_index: HashMap<Option<&'a str>, Vec<AccessPath<'a>>> = HashMap::new();
        for path in paths {
            let name = path.index.map(|index| index.name.as_str());
            by_index.entry(name).or_default().push(path);
        }
        by_index
            .into_iter()
            .map(|(name, paths)| (name, Self::new(paths)))
            .collect()
    }

    /// The paths, in the order of the model.
    pub fn paths(&self) -> &[AccessPath<'a>] {
        &self.paths
    }

    /// The paths whose keys may be equal to keys that begin with these texts, by their places among the paths.
    pub fn paths_near(&self, partition: &str, sort: &str) -> Vec<(usize, AccessPath<'a>)> {
        let inner = related(&self.by_text, partition);
        let mut places: Vec<usize> = inner
            .flat_map(|inner| related(inner, sort).flatten().copied())
            .collect();
        places.sort_unstable();
        places
            .into_iter()
            .filter_map(|at| Some((at, *self.paths.get(at)?)))
            .collect()
    }
}

/// The text with which the first of some templates begins.
pub fn leading_text(keys: &[KeyTemplate]) -> &str {
    keys.first().map_or("", |key| key.template.leading_text())
}

/// What stands under texts that begin with `text`, or with which `text` begins.
fn related<'m, T>(map: &'m ByText<'_, T>, text: &str) -> impl Iterator<Item = &'m T> {
    let longer = map.range::<str, _>((Bound::Included(text), Bound::Unbounded));
    let longer: Vec<&T> = longer
        .take_while(|(key, _)| key.starts_with(text))
        .map(|(_, value)| value)
        .collect();
    let beginnings = text.char_indices().filter_map(|(end, _)| text.get(..end));
    let shorter: Vec<&T> = beginnings.filter_map(|beginning| map.get(beginning)).collect();
    longer.into_iter().chain(shorter)
}
