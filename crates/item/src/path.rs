//! Where a value stands in an item.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Where a value stands in an item: an attribute, then any number of steps into maps and lists.
///
/// Names may hold any character: `Path::attribute("a.b")` is the attribute `a.b`, not `b` inside `a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Path {
    attribute: String,
    segments: Vec<Segment>,
}

/// Paths that are asked for. Clones share them: whoever asks for the same again and again makes them once.
pub type Paths = Arc<[Path]>;

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
