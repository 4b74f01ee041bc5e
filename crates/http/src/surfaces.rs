//! What an address shows beside the operations of the models.
//!
//! `/health` and `/ready` are none of them: who balances load asks them wherever it sends requests.

use crate::SetupError;

/// What an address shows beside the operations of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces {
    /// The page at `/`.
    pub home: bool,
    /// `/docs` and `/openapi.json` of every system: who may see the page may have the document that it is made of.
    pub docs: bool,
    /// `/metrics`.
    pub metrics: bool,
    /// `?explain`: plans in place of answers.
    pub explain: bool,
}

impl Surfaces {
    /// Everything.
    pub const ALL: Surfaces = Surfaces {
        home: true,
        docs: true,
        metrics: true,
        explain: true,
    };

    /// Operations alone.
    pub const NONE: Surfaces = Surfaces {
        home: false,
        docs: false,
        metrics: false,
        explain: false,
    };

    /// Those of some names; `all` and `none` stand alone.
    ///
    /// # Errors
    ///
    /// Where a name is not known.
    pub fn from_names<S: AsRef<str>>(names: &[S]) -> Result<Self, SetupError> {
        match names {
            [only] if only.as_ref() == "all" => return Ok(Surfaces::ALL),
            [only] if only.as_ref() == "none" => return Ok(Surfaces::NONE),
            _ => {}
        }
        let mut surfaces = Surfaces::NONE;
        for name in names {
            let shown = match name.as_ref() {
                "home" => &mut surfaces.home,
                "docs" => &mut surfaces.docs,
                "metrics" => &mut surfaces.metrics,
                "explain" => &mut surfaces.explain,
                other => return Err(SetupError::UnknownSurface(other.to_owned())),
            };
            *shown = true;
        }
        Ok(surfaces)
    }
}

impl Default for Surfaces {
    fn default() -> Self {
        Surfaces::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surfaces_are_named_one_by_one_or_all_at_once() {
        assert_eq!(Surfaces::from_names(&["all"]), Ok(Surfaces::ALL));
        assert_eq!(Surfaces::from_names(&["none"]), Ok(Surfaces::NONE));
        let two = Surfaces {
            docs: true,
            metrics: true,
            ..Surfaces::NONE
        };
        assert_eq!(Surfaces::from_names(&["metrics", "docs", "docs"]), Ok(two));
        for wrong in [&["doc"][..], &["all", "docs"], &["none", "docs"], &[""]] {
            assert!(Surfaces::from_names(wrong).is_err(), "{wrong:?}");
        }
    }
}
