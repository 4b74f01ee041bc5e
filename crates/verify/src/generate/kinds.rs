//! Types of attributes with the values that try them.

use std::sync::LazyLock;

use singlet_item::{Number, Value};
use singlet_model::text_forms::TEXT_FORMS;

/// How a value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredShape {
    /// Text, by its bytes.
    Text,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// A place: its latitude and longitude.
    Place,
    /// A set of words.
    Set,
    /// Bytes, by their value.
    Bytes,
    /// A list of numbers.
    List,
    /// A number for each of some words.
    Map,
}

/// A type with its pool.
#[derive(Clone, Debug)]
pub struct PooledType {
    /// The type, as a model writes it.
    pub ty: &'static str,
    /// What is said in its place where the type alone does not say all: an enum of its own, a few values.
    pub form: &'static str,
    /// A wider type of the same kind, for arguments; the same where there is none.
    pub wide: &'static str,
    /// How it is stored.
    pub shape: StoredShape,
    /// The functions that may stand around it in a key; empty for none.
    pub functions: &'static [&'static str],
    /// Its values.
    pub pool: &'static [&'static str],
    /// Values of the wider type only.
    pub beyond: &'static [&'static str],
    /// Whether it has so few values that a read may leave it open.
    pub small: bool,
    /// Whether it is text in which one can search.
    pub free_text: bool,
    /// What the moment of a read can be compared with it as.
    pub clock: Option<&'static str>,
}

const PLAIN: PooledType = PooledType {
    ty: "",
    form: "",
    wide: "",
    shape: StoredShape::Text,
    functions: &[""],
    pool: &[],
    beyond: &[],
    small: false,
    free_text: false,
    clock: None,
};

/// Every kind of attribute that is generated: types of one's own making, and text of each form.
pub static KINDS: LazyLock<Vec<PooledType>> = LazyLock::new(|| {
    let forms = TEXT_FORMS.iter().map(|form| PooledType {
        ty: form.name,
        wide: "string",
        functions: &["", "", "lower"],
        pool: form.examples,
        beyond: &["", "a", "~"],
        ..PLAIN
    });
    OWN_KINDS.iter().cloned().chain(forms).collect()
});

static OWN_KINDS: &[PooledType] = &[
    PooledType {
        ty: "string 1..12",
        wide: "string",
        functions: &["", "", "ordered", "ordered", "lower", "upper"],
        pool: &[
            "a",
            "a#",
            "a$",
            "a b",
            "ab",
            "a#b",
            "A",
            "a!",
            "aé",
            "b",
            "a$23",
            "~",
            "\u{10ffff}",
            "a\u{1}",
            "a|",
            "a/b",
            "}",
        ],
        beyond: &["", "aaaaaaaaaaaaaaaa"],
        free_text: true,
        ..PLAIN
    },
    PooledType {
        ty: "string ..6",
        wide: "string",
        functions: &["", "ordered"],
        pool: &["", "#", "a", "a ", "aa", "a#", "$"],
        beyond: &["aaaaaaaaaa"],
        free_text: true,
        ..PLAIN
    },
    PooledType {
        ty: "string /[a-z]{1,4}/",
        wide: "string",
        functions: &["", "", "ordered", "raw"],
        pool: &["a", "ab", "abc", "b", "zz", "z"],
        beyond: &["", "A", "a#", "abcde", "{"],
        free_text: true,
        ..PLAIN
    },
    PooledType {
        ty: "int 0..3",
        wide: "int",
        shape: StoredShape::Number,
        functions: &["", "", "desc", "plain"],
        pool: &["0", "1", "2", "3"],
        beyond: &["-1", "4", "100"],
        small: true,
        ..PLAIN
    },
    PooledType {
        ty: "int 0..1000",
        wide: "number",
        shape: StoredShape::Number,
        functions: &["", "", "desc", "plain"],
        pool: &["0", "1", "9", "10", "99", "100", "1000"],
        beyond: &["-5", "1001", "9.5", "99999"],
        ..PLAIN
    },
    PooledType {
        ty: "int",
        wide: "int",
        shape: StoredShape::Number,
        functions: &["", "plain"],
        pool: &["-10", "-9", "-1", "0", "2", "10"],
        ..PLAIN
    },
    PooledType {
        ty: "number 0.00..99.99",
        wide: "number",
        shape: StoredShape::Number,
        functions: &["", "", "desc", "plain"],
        pool: &["0", "0.01", "0.1", "1", "9.99", "10", "99.99"],
        beyond: &["-0.01", "100", "0.005", "123456"],
        ..PLAIN
    },
    PooledType {
        ty: "date",
        wide: "date",
        functions: &["", "", "month", "year", "desc"],
        pool: &[
            "2026-11-14",
            "2026-11-15",
            "2026-11-16",
            "2026-11-17",
            "2026-12-01",
            "2027-01-01",
        ],
        clock: Some("today"),
        ..PLAIN
    },
    PooledType {
        ty: "time",
        wide: "time",
        functions: &["", "", "day", "month", "year", "desc"],
        pool: &[
            "2026-11-15T23:59:59.999Z",
            "2026-11-16T00:00:00.000Z",
            "2026-11-16T12:00:00.500Z",
            "2026-11-16T12:00:00.501Z",
            "2026-12-01T00:00:00.000Z",
        ],
        clock: Some("now"),
        ..PLAIN
    },
    PooledType {
        ty: "seconds",
        wide: "seconds",
        shape: StoredShape::Number,
        functions: &["", "", "desc", "plain"],
        pool: &["0", "999", "1794830399", "1794830400", "1794830401", "1794916800"],
        clock: Some("now"),
        ..PLAIN
    },
    PooledType {
        ty: "millis",
        wide: "millis",
        shape: StoredShape::Number,
        functions: &["", "desc"],
        pool: &["0", "1794830400499", "1794830400500", "1794830400501"],
        clock: Some("now"),
        ..PLAIN
    },
    PooledType {
        ty: "Grade",
        wide: "Grade",
        functions: &["", "rank", "rank"],
        pool: &["low", "mid", "high"],
        small: true,
        ..PLAIN
    },
    PooledType {
        ty: "Letter",
        wide: "Letter",
        functions: &["", "", "rank"],
        pool: &["a", "a b", "ab", "b"],
        small: true,
        ..PLAIN
    },
    PooledType {
        ty: "bool",
        wide: "bool",
        shape: StoredShape::Bool,
        pool: &["false", "true"],
        small: true,
        ..PLAIN
    },
    PooledType {
        ty: "date | \"NEVER\" | \"0\"",
        wide: "date | \"NEVER\" | \"0\"",
        pool: &["2026-11-15", "2026-11-16", "2026-12-01", "NEVER", "0"],
        clock: Some("today"),
        ..PLAIN
    },
    PooledType {
        ty: "month",
        wide: "month",
        pool: &["2026-10", "2026-11", "2026-12", "2027-01"],
        ..PLAIN
    },
    PooledType {
        ty: "uuid",
        wide: "uuid",
        pool: &[
            "00000000-0000-0000-0000-000000000000",
            "0190163d-8694-739b-aea5-966c26f8ad90",
            "ffffffff-ffff-ffff-ffff-ffffffffffff",
        ],
        ..PLAIN
    },
    PooledType {
        ty: "time | \"never\"",
        wide: "time | \"never\"",
        pool: &[
            "2026-11-16T00:00:00.000Z",
            "2026-11-16T12:00:00.500Z",
            "2026-12-01T00:00:00.000Z",
            "never",
        ],
        clock: Some("now"),
        ..PLAIN
    },
    PooledType {
        ty: "ulid",
        wide: "ulid",
        functions: &["", "", "desc"],
        pool: &[
            "00000000000000000000000000",
            "01JCTM5E00AAAAAAAAAAAAAAAA",
            "01JCTM5E00AAAAAAAAAAAAAAAB",
            "7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        ],
        ..PLAIN
    },
    PooledType {
        ty: "ksuid",
        wide: "ksuid",
        pool: &[
            "000000000000000000000000000",
            "0ujtsYcgvSTl8PAuAdqWYSMnLOv",
            "aWgEPTl1tmebfsQzFP4bxwgy80V",
        ],
        ..PLAIN
    },
    PooledType {
        ty: "bytes 1..8",
        wide: "bytes",
        shape: StoredShape::Bytes,
        functions: &[],
        pool: &["00", "01", "0100", "7f", "80", "ff", "ff00"],
        ..PLAIN
    },
    PooledType {
        ty: "Colour",
        wide: "Colour",
        form: "enum: [red, green, blue]",
        functions: &["", "rank"],
        pool: &["red", "green", "blue"],
        small: true,
        ..PLAIN
    },
    PooledType {
        ty: "int",
        wide: "int",
        form: "in: [1, 5, 10, 25]",
        shape: StoredShape::Number,
        functions: &["", "plain"],
        pool: &["1", "5", "10", "25"],
        ..PLAIN
    },
    PooledType {
        ty: "Code",
        wide: "string",
        functions: &["", "", "raw"],
        pool: &["AB12", "AB99", "ZZ00"],
        beyond: &["ab12", "AB1"],
        free_text: true,
        ..PLAIN
    },
];

/// Numbers in a list.
pub static NUMBERS: PooledType = PooledType {
    ty: "list(int 0..9) ..4",
    wide: "list(int 0..9) ..4",
    shape: StoredShape::List,
    functions: &[],
    pool: &["", "1", "1 2", "9 0 9", "2 2"],
    ..PLAIN
};

/// A number for each of some words.
pub static COUNTS: PooledType = PooledType {
    ty: "map(int)",
    wide: "map(int)",
    shape: StoredShape::Map,
    functions: &[],
    pool: &["", "a", "a b", "b"],
    ..PLAIN
};

/// Anything: here a text.
pub static ANYTHING: PooledType = PooledType {
    ty: "json",
    wide: "json",
    functions: &[],
    pool: &["x", "y"],
    ..PLAIN
};

/// What tells rows apart, so that many may share everything else.
pub static ID: PooledType = PooledType {
    ty: "int 0..99999",
    wide: "int",
    shape: StoredShape::Number,
    pool: &["0", "500", "99999"],
    beyond: &["-1", "100000"],
    ..PLAIN
};

/// A small number computed from another.
pub static COMPUTED: PooledType = PooledType {
    ty: "int",
    wide: "int",
    shape: StoredShape::Number,
    functions: &["plain"],
    pool: &["1", "2", "3", "4"],
    ..PLAIN
};

/// A state that lapses; in the pool more than once is what lapses.
pub static STATE: PooledType = PooledType {
    ty: "State",
    wide: "State",
    functions: &["", "rank"],
    pool: &["free", "held", "held", "gone"],
    small: true,
    ..PLAIN
};

/// A moment at which something ends: some before, some after the moment of the reads.
pub static ENDING: PooledType = PooledType {
    ty: "seconds",
    wide: "seconds",
    shape: StoredShape::Number,
    pool: &["1794830300", "1794830400", "1794830401", "1794916800"],
    clock: Some("now"),
    ..PLAIN
};

/// Places near one another, some around the ends of the earth.
pub static PLACE: PooledType = PooledType {
    ty: "geo",
    wide: "geo",
    shape: StoredShape::Place,
    functions: &["geohash3", "geohash4", "geohash5"],
    pool: &[
        "52.5 13.4",
        "52.51 13.41",
        "52.6 13.2",
        "52.9 13.4",
        "52.5 14.1",
        "0 0",
        "0.01 -0.01",
        "10 179.99",
        "10 -179.99",
        "89.99 10",
        "89.99 -170",
    ],
    ..PLAIN
};

/// Words of which one may be asked for.
pub static WORDS: PooledType = PooledType {
    ty: "set(string 1..9)",
    wide: "set(string 1..9)",
    shape: StoredShape::Set,
    functions: &[],
    pool: &["a", "a b", "ab b", "b"],
    ..PLAIN
};

/// The instant of a version, and of the one after it.
pub static VERSION: PooledType = PooledType {
    ty: "time",
    wide: "time",
    pool: &[
        "2026-11-14T08:00:00.000Z",
        "2026-11-15T08:00:00.000Z",
        "2026-11-16T00:00:00.000Z",
        "2026-11-16T12:00:00.500Z",
        "2026-11-16T12:00:00.501Z",
        "2026-11-17T08:00:00.000Z",
    ],
    clock: Some("now"),
    ..PLAIN
};

/// Whether a version is a deletion: mostly not.
pub(crate) static TOMBSTONE: PooledType = PooledType {
    ty: "bool",
    wide: "bool",
    shape: StoredShape::Bool,
    pool: &["false", "false", "false", "true"],
    small: true,
    ..PLAIN
};

/// The types that the kinds name.
pub(crate) const TYPES: &str = "types:
  Grade: {enum: [low, mid, high]}
  Letter: {enum: [a, 'a b', ab, b]}
  State: {enum: [free, held, gone]}
  Code: string /[A-Z]{2}[0-9]{2}/
  Spot: {object: {city: 'string 1..12', n: 'int 0..3'}}
";

impl PooledType {
    /// A value from its text.
    pub fn value(&self, text: &str) -> Value {
        match self.shape {
            StoredShape::Text => Value::S(text.to_owned()),
            StoredShape::Bool => Value::Bool(text == "true"),
            StoredShape::Number => text.parse().map_or(Value::Null, Value::N),
            StoredShape::Set => Value::Ss(text.split(' ').map(str::to_owned).collect()),
            StoredShape::Bytes => Value::B(bytes(text)),
            StoredShape::List => {
                let numbers = text.split(' ').filter_map(|part| part.parse().ok());
                Value::L(numbers.map(Value::N).collect())
            }
            StoredShape::Map => {
                let words = text.split(' ').filter(|word| !word.is_empty()).enumerate();
                let entries = words.map(|(at, word)| (word.to_owned(), Value::N(Number::from(at as u64))));
                Value::M(entries.collect())
            }
            StoredShape::Place => {
                let numbers = text.split(' ').filter_map(|part| part.parse().ok()).map(Value::N);
                Value::M(["lat".to_owned(), "lon".to_owned()].into_iter().zip(numbers).collect())
            }
        }
    }

    /// Whether values can be compared and stand in keys as they are.
    pub fn is_plain(&self) -> bool {
        matches!(self.shape, StoredShape::Text | StoredShape::Number | StoredShape::Bool) && self.ty != "json"
    }

    /// Whether some value is the empty text, which no key may be by itself.
    pub fn may_be_empty(&self) -> bool {
        self.pool.contains(&"")
    }
}

fn bytes(hexadecimal: &str) -> Vec<u8> {
    let digits: Vec<u8> = hexadecimal
        .chars()
        .filter_map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte * 16 + digit))
        .collect()
}
