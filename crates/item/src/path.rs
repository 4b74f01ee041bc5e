//! Where a value stands in an item.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// Where a value stands in an item: an attribute, then any number of steps into maps and lists.
///
/// Names may hold any character: `Path::attribute("a.b")` is the attribute `a.b`, not `b` inside `a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path {
    attribute: String,
    segments: Vec<Segment>,
}

/// Paths that are asked for, in the order in which they are asked for, with what whoever takes them out of items would work out each time.
/// Clones share them: whoever asks for the same again and again makes them once.
#[derive(Clone, Default)]
pub struct Paths(Option<Arc<ListedPaths>>);

struct ListedPaths {
    paths: Vec<Path>,
    /// Of each the first bytes of its attribute's name.
    starts: Vec<u64>,
    is_ordered: bool,
    is_flat: bool,
}

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Segment {
    /// Into the entry of a map.
    Key(String),
    /// Into the element of a list, counted from zero.
    Index(usize),
}

impl Path {
    /// A whole attribute.
    pub fn attribute(name: impl Into<String>) -> Self {
        Self {
            attribute: name.into(),
            segments: Vec::new(),
        }
    }

    /// The entry `name` of the map at this path.
    #[must_use]
    pub fn key(mut self, name: impl Into<String>) -> Self {
        self.segments.push(Segment::Key(name.into()));
        self
    }

    /// The element `index` of the list at this path.
    #[must_use]
    pub fn list_element(mut self, index: usize) -> Self {
        self.segments.push(Segment::Index(index));
        self
    }

    /// The attribute that the path starts at.
    pub fn name(&self) -> &str {
        &self.attribute
    }

    /// The steps below the attribute.
    pub fn inner_segments(&self) -> &[Segment] {
        &self.segments
    }
}

impl Paths {
    /// Whether they are of different attributes, in the order of their names, as items have them.
    pub fn are_ordered(&self) -> bool {
        self.0.as_ref().is_none_or(|listed| listed.is_ordered)
    }

    /// Whether only whole attributes are asked for.
    pub fn are_flat(&self) -> bool {
        self.0.as_ref().is_none_or(|listed| listed.is_flat)
    }

    /// The attributes that they start at, each with its [`first_bytes`].
    pub fn names_with_first_bytes(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        let starts = self.0.as_ref().map_or(&[][..], |listed| &listed.starts);
        self.iter().map(Path::name).zip(starts.iter().copied())
    }
}

/// The first eight bytes, with zeros behind fewer, as a number: of two texts whose numbers differ, the numbers are in the order of the
/// texts, and most names are told apart by them.
pub fn first_bytes(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    for (to, from) in first.iter_mut().zip(bytes) {
        *to = *from;
    }
    u64::from_be_bytes(first)
}

impl From<Vec<Path>> for Paths {
    fn from(paths: Vec<Path>) -> Self {
        if paths.is_empty() {
            return Self::default();
        }
        Self(Some(Arc::new(ListedPaths {
            starts: paths.iter().map(|path| first_bytes(path.name().as_bytes())).collect(),
            is_ordered: paths.is_sorted_by(|one, next| one.name() < next.name()),
            is_flat: paths.iter().all(|path| path.inner_segments().is_empty()),
            paths,
        })))
    }
}

impl From<&[Path]> for Paths {
    fn from(paths: &[Path]) -> Self {
        paths.to_vec().into()
    }
}

impl<const N: usize> From<[Path; N]> for Paths {
    fn from(paths: [Path; N]) -> Self {
        Vec::from(paths).into()
    }
}

impl FromIterator<Path> for Paths {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        paths.into_iter().collect::<Vec<Path>>().into()
    }
}

impl Deref for Paths {
    type Target = [Path];

    fn deref(&self) -> &[Path] {
        self.0.as_ref().map_or(&[], |listed| &listed.paths)
    }
}

impl PartialEq for Paths {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Paths {}

impl Hash for Paths {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (**self).hash(hasher);
    }
}

impl fmt::Debug for Paths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl From<&str> for Path {
    /// The attribute of that name, whatever characters it has.
    fn from(name: &str) -> Self {
        Self::attribute(name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.attribute)?;
        for segment in &self.segments {
            match segment {
                Segment::Key(name) => write!(f, ".{name}")?,
                Segment::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}
