//! Whether keys can be equal: the equations between templates, and how they are solved.

pub(crate) mod ambiguity;
pub(crate) mod collision;
pub(crate) mod effort;
pub(crate) mod equation;
pub(crate) mod solver;
pub(crate) mod system;
