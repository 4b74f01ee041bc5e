//! What an audit finds.

use std::fmt;

use singlet_item::{Item, Value};

use crate::values::json_text;

/// Something in a table that is not as the model has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What kind it is.
    pub kind: FindingKind,
    /// The entity, where it is one of the model's.
    pub entity: Option<String>,
    /// The attribute, index key, guard, mirror or kind that it is about.
    pub attribute: Option<String>,
    /// The primary key of the item.
    pub key: Item,
    /// The primary key of the other item, where it concerns two.
    pub beside: Option<Item>,
    /// What is there.
    pub is: Option<Value>,
    /// What should be there.
    pub should: Option<Value>,
    /// What does not fit.
    pub reason: String,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, key: &Item, reason: impl Into<String>) -> Self {
        Finding {
            kind,
            entity: None,
            attribute: None,
            key: key.clone(),
            beside: None,
            is: None,
            should: None,
            reason: reason.into(),
        }
    }

    pub(super) fn of(mut self, entity: &str) -> Self {
        self.entity = Some(entity.to_owned());
        self
    }

    pub(super) fn at(mut self, attribute: &str) -> Self {
        self.attribute = Some(attribute.to_owned());
        self
    }

    pub(super) fn beside(mut self, other: &Item) -> Self {
        self.beside = Some(other.clone());
        self
    }

    /// With what is there and what should be, which is then said too.
    pub(super) fn values(mut self, is: Option<&Value>, should: Option<&Value>) -> Self {
        (self.is, self.should) = (is.cloned(), should.cloned());
        self
    }

    /// The primary key, as JSON.
    pub fn key_text(&self) -> String {
        json_text::json_of(&Value::M(self.key.clone()))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.entity {
            Some(entity) => write!(out, "`{entity}` {}: {}", self.key_text(), self.reason),
            None => write!(out, "{}: {}", self.key_text(), self.reason),
        }
    }
}

/// A value for people; absent, where there is none.
pub(super) fn shown_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "absent".to_owned(), json_text::json_of)
}

/// The groups of findings that `doctor` tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingGroup {
    /// A value of a row.
    Value,
    /// A key, or what else is made of a row.
    Key,
    /// A mirror of a row.
    Mirror,
    /// A guard of a row.
    Guard,
    /// A copy.
    Copy,
    /// A mirror of no row.
    StrayMirror,
    /// A guard of no row.
    StrayGuard,
    /// Versions and rows that do not go together.
    Together,
    /// An item of no entity.
    Unknown,
    /// No damage.
    Note,
}

impl FindingGroup {
    /// Its name, which never changes.
    pub fn name(self) -> &'static str {
        match self {
            FindingGroup::Value => "row-value",
            FindingGroup::Key => "row-key",
            FindingGroup::Mirror => "row-mirror",
            FindingGroup::Guard => "row-guard",
            FindingGroup::Copy => "row-copy",
            FindingGroup::StrayMirror => "stray-mirror",
            FindingGroup::StrayGuard => "stray-guard",
            FindingGroup::Together => "row-together",
            FindingGroup::Unknown => "unknown-item",
            FindingGroup::Note => "note",
        }
    }
}

macro_rules! finding_kinds {
    ($($kind:ident $name:literal $group:ident $words:literal,)*) => {
        /// The kinds of findings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $(#[doc = $words] $kind,)*
        }

        impl FindingKind {
            /// Every kind.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$kind,)*];

            /// Its name, which never changes.
            pub fn name(self) -> &'static str {
                match self { $(FindingKind::$kind => $name,)* }
            }

            /// What it is, in words.
            pub fn words(self) -> &'static str {
                match self { $(FindingKind::$kind => $words,)* }
            }

            /// What `doctor` calls it.
            pub fn finding_group(self) -> FindingGroup {
                match self { $(FindingKind::$kind => FindingGroup::$group,)* }
            }
        }
    };
}

finding_kinds! {
    UnknownKind "unknown-kind" Unknown "an item of no entity of the model",
    KindMissing "kind-missing" Value "the type attribute is missing: the row passes for any entity",
    MissingAttribute "missing-attribute" Value "a required attribute is missing",
    WrongType "wrong-type" Value "a value is not of its type",
    NotMember "not-member" Value "a word is no member of its enum",
    OutOfLimits "out-of-limits" Value "a value is outside the limits of its type",
    OtherSpelling "other-spelling" Value "a value is spelled otherwise than it is stored, and sorts elsewhere",
    StateAttributeMissing "state-attribute-missing" Value "an attribute is missing that the row's state asks for",
    KeyUnreadable "key-unreadable" Key "a key cannot be read by its template",
    KeyUnlike "key-unlike" Key "the primary key is not what the row's attributes make",
    IndexKeyMissing "index-key-missing" Key "an index key is missing: the index does not have the row",
    IndexKeyWrong "index-key-wrong" Key "an index key is not what the row's attributes make",
    IndexKeyExtra "index-key-extra" Key "an index key is there though the row has none: the index shows the row",
    ComputedStale "computed-stale" Key "a computed attribute is not what it is computed to be",
    ExpiryMissing "expiry-missing" Key "the expiry is missing: the row stays",
    ExpiryWrong "expiry-wrong" Key "the expiry is not what follows from the row",
    ExpiryExtra "expiry-extra" Key "an expiry is there though the row has none: the row will go",
    MirrorMissing "mirror-missing" Mirror "a mirror is missing",
    MirrorStale "mirror-stale" Mirror "a mirror says something else than its row",
    MirrorDisplaced "mirror-displaced" Mirror "another row lies where a mirror should",
    MirrorOrphan "mirror-orphan" StrayMirror "a mirror of no row",
    MirrorLeftBehind "mirror-left-behind" StrayMirror "a mirror under a key that its row no longer has",
    GuardMissing "guard-missing" Guard "the guard of a unique value is missing: the value can be taken twice",
    GuardOfAnother "guard-of-another" Guard "the guard of a unique value is another row's",
    GuardExpiry "guard-expiry" Guard "a guard expires at another time than its row",
    IdentityMissing "identity-missing" Guard "the guard of an identity is missing: its versions can begin twice",
    IdentityOfAnother "identity-of-another" Guard "the guard of an identity names another row",
    GuardOrphan "guard-orphan" StrayGuard "a guard of no row: its value cannot be used again",
    GuardOldValue "guard-old-value" StrayGuard "a guard of a value that its row no longer has",
    GuardUnreadable "guard-unreadable" StrayGuard "a guard that does not say whose it is",
    IdentityOrphan "identity-orphan" StrayGuard "the guard of an identity without a version",
    CopyStale "copy-stale" Copy "a copy says something else than its source",
    CopyBehind "copy-behind" Copy "a copy that follows through the stream says something else than its source",
    ExcludedBeside "excluded-beside" Together "two rows are there that exclude one another",
    VersionOrder "version-order" Together "a version ends before it begins",
    VersionGap "version-gap" Together "no version begins where a closed one ends",
    VersionWithoutCurrent "version-without-current" Together "versions without one that is current or closed",
    VersionTwiceOpen "version-twice-open" Together "two versions of one row are current",
    UnknownAttribute "unknown-attribute" Note "an attribute that the entity does not have",
    DanglingReference "dangling-reference" Note "a reference to a row that is not there",
    ExpiredLeft "expired-left" Note "a row that has expired and is still there",
}

impl FindingKind {
    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        FindingKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it says that something is wrong; else it is only worth knowing.
    pub fn is_damage(self) -> bool {
        self.finding_group() != FindingGroup::Note
    }

    /// Whether a model must not take the table over: it would read such rows wrongly, or break what it promises.
    pub fn hinders_adoption(self) -> bool {
        let is_lesser = matches!(
            self,
            FindingKind::KindMissing | FindingKind::OtherSpelling | FindingKind::StateAttributeMissing
        );
        let of_rows = matches!(
            self.finding_group(),
            FindingGroup::Value | FindingGroup::Key | FindingGroup::Mirror | FindingGroup::Guard
        );
        of_rows && !is_lesser
    }

    /// Whether a follower may be about to put it right.
    pub(super) fn may_be_behind(self) -> bool {
        self == FindingKind::CopyBehind
    }

    /// Why a repair leaves it as it is; none, where it may be mended.
    pub fn not_mended(self) -> Option<&'static str> {
        use FindingKind as Kind;
        match self {
            Kind::IndexKeyMissing
            | Kind::IndexKeyWrong
            | Kind::IndexKeyExtra
            | Kind::ComputedStale
            | Kind::ExpiryMissing
            | Kind::ExpiryWrong
            | Kind::ExpiryExtra
            | Kind::MirrorMissing
            | Kind::MirrorStale
            | Kind::GuardMissing
            | Kind::GuardExpiry
            | Kind::IdentityMissing
            | Kind::GuardOrphan
            | Kind::GuardOldValue
            | Kind::CopyStale
            | Kind::CopyBehind => None,
            Kind::UnknownKind => Some("nobody says whose it is"),
            Kind::KindMissing => Some("which entity it is of is not certain"),
            Kind::MissingAttribute | Kind::StateAttributeMissing => Some("the value is not known"),
            Kind::WrongType | Kind::NotMember | Kind::OutOfLimits | Kind::OtherSpelling => {
                Some("the right value is not known")
            }
            Kind::KeyUnreadable | Kind::KeyUnlike => Some("the key or the attributes may be right"),
            Kind::MirrorDisplaced => Some("another row would be overwritten"),
            Kind::MirrorOrphan | Kind::MirrorLeftBehind => Some("it may be all that is left of a row"),
            Kind::GuardOfAnother | Kind::IdentityOfAnother => Some("which row has the value by right is not known"),
            Kind::GuardUnreadable => Some("nobody says whose it is"),
            Kind::IdentityOrphan => Some("its versions may have been lost"),
            Kind::ExcludedBeside => Some("which of the rows should be there is not known"),
            Kind::VersionOrder | Kind::VersionGap | Kind::VersionWithoutCurrent | Kind::VersionTwiceOpen => {
                Some("what the version said is not known")
            }
            Kind::UnknownAttribute => Some("somebody may need it"),
            Kind::DanglingReference => Some("a model does not promise that the row is there"),
            Kind::ExpiredLeft => Some("expiry removes it"),
        }
    }
}
