//! The functions: a closed list, one row each.

use super::tree::EachOp;

/// A function that expressions can call.
#[derive(Debug)]
pub struct Function {
    /// Its name; two rows share one where the number of arguments tells them apart.
    pub name: &'static str,
    /// What a call becomes in the tree.
    pub meaning: Meaning,
    /// How it is called.
    pub form: CallForm,
    /// What it takes, the receiver of a method first.
    pub params: &'static [Param],
    /// How it is written, and what it gives.
    pub signature: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Whether DynamoDB can decide it in a condition.
    pub lowers: bool,
    /// Whether it is known in key templates only.
    pub key_only: bool,
}

/// What a call becomes in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A call with values.
    Call(FunctionId),
    /// A look at each element of a list.
    Each(EachOp),
}

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallForm {
    /// `f(x)`.
    Function,
    /// `x.f(y)`.
    Method,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// Text of any kind.
    Text,
    /// A number.
    Number,
    /// A whole number.
    Int,
    /// A day.
    Date,
    /// An instant.
    Instant,
    /// A day or an instant.
    Moment,
    /// A time of day as text, `"08:00"`.
    Clock,
    /// A place.
    Geo,
    /// An enum.
    Enum,
    /// A list or a set.
    List,
    /// A list of lists.
    Lists,
    /// Text, a list, a set or a map.
    Sized,
    /// Anything with a single value.
    Scalar,
    /// Anything with an order; one or more, or one list of them.
    Ordered,
    /// Anything.
    Any,
    /// A number of decimals from 0 to 18.
    Decimals,
    /// A length in digits from 1 to 38.
    Digits,
    /// A geohash's length from 1 to 12.
    Precision,
    /// The name of an element.
    Variable,
    /// What is computed of each element.
    Body,
}

/// The functions that take values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is documented by its row in the table")]
pub enum FunctionId {
    Lower,
    Upper,
    Trim,
    Size,
    StartsWith,
    Contains,
    String,
    Days,
    Hours,
    Minutes,
    Months,
    DaysBetween,
    Day,
    Month,
    Year,
    Date,
    Time,
    Round,
    Min,
    Max,
    Hash,
    Random,
    Numbered,
    Flat,
    Ulid,
    Ksuid,
    Uuid,
    Digits,
    Near,
    Distance,
    Geohash,
    Desc,
    Rank,
    Ordered,
    Plain,
    Raw,
}

impl FunctionId {
    /// The function's row in the table.
    pub fn function(self) -> Option<&'static Function> {
        FUNCTIONS
            .iter()
            .find(|function| function.meaning == Meaning::Call(self))
    }

    /// The name as it is written.
    pub fn name(self) -> &'static str {
        self.function().map_or("", |function| function.name)
    }
}

impl Function {
    /// The functions of that name.
    pub fn functions_named(name: &str) -> impl Iterator<Item = &'static Function> {
        FUNCTIONS.iter().filter(move |function| function.name == name)
    }

    /// Whether it takes that many values, the receiver of a method included.
    pub fn takes_values(&self, count: usize) -> bool {
        match self.params {
            [Param::Ordered] => count >= 1,
            params => params.len() == count,
        }
    }
}

const fn function(
    name: &'static str,
    id: FunctionId,
    params: &'static [Param],
    signature: &'static str,
    doc: &'static str,
) -> Function {
    Function {
        name,
        meaning: Meaning::Call(id),
        form: CallForm::Function,
        params,
        signature,
        doc,
        lowers: false,
        key_only: false,
    }
}

const fn method(
    name: &'static str,
    id: FunctionId,
    params: &'static [Param],
    signature: &'static str,
    doc: &'static str,
) -> Function {
    Function {
        form: CallForm::Method,
        lowers: true,
        ..function(name, id, params, signature, doc)
    }
}

const fn each(name: &'static str, op: EachOp, form: CallForm, signature: &'static str, doc: &'static str) -> Function {
    Function {
        name,
        meaning: Meaning::Each(op),
        form,
        params: &[Param::List, Param::Variable, Param::Body],
        signature,
        doc,
        lowers: false,
        key_only: false,
    }
}

const fn in_keys(function: Function) -> Function {
    Function {
        key_only: true,
        ..function
    }
}

use FunctionId as Id;
use Param as P;

/// Every function there is.
#[rustfmt::skip]
pub static FUNCTIONS: &[Function] = &[
    function("lower", Id::Lower, &[P::Text], "lower(string) -> string", "Text in lower case."),
    function("upper", Id::Upper, &[P::Text], "upper(string) -> string", "Text in upper case."),
    function("trim", Id::Trim, &[P::Text], "trim(string) -> string", "Text without white space at its ends."),
    function("size", Id::Size, &[P::Sized], "size(string | list | set | map) -> int", "The number of characters, elements or entries."),
    method("startsWith", Id::StartsWith, &[P::Text, P::Text], "string.startsWith(string) -> bool", "Whether text begins with other text; false where one is absent."),
    method("contains", Id::Contains, &[P::Any, P::Any], "string.contains(string) -> bool, list.contains(element) -> bool", "Whether text holds other text, or a list or set an element; false where one is absent."),
    function("string", Id::String, &[P::Scalar], "string(value) -> string", "A value as text, as it stands in JSON."),
    function("days", Id::Days, &[P::Int], "days(int) -> duration", "That many days; on an instant, of 24 hours each."),
    function("hours", Id::Hours, &[P::Int], "hours(int) -> duration", "That many hours."),
    function("minutes", Id::Minutes, &[P::Int], "minutes(int) -> duration", "That many minutes."),
    function("months", Id::Months, &[P::Int], "months(int) -> duration", "That many months; a day past the month's end becomes its last."),
    function("days", Id::DaysBetween, &[P::Date, P::Date], "days(from, to) -> list(date)", "Each day from the first to the last, both included; empty where they are swapped."),
    function("day", Id::Day, &[P::Instant], "day(time) -> date", "The day of an instant in the model's zone."),
    function("month", Id::Month, &[P::Moment], "month(date | time) -> month", "The month of a day or an instant."),
    function("year", Id::Year, &[P::Moment], "year(date | time) -> int", "The year of a day or an instant."),
    function("date", Id::Date, &[P::Text], "date(string) -> date", "The day that text such as `2026-02-13` names."),
    function("time", Id::Time, &[P::Date, P::Clock], "time(date, \"08:00\") -> time", "The instant of a time of day in the model's zone."),
    function("round", Id::Round, &[P::Number, P::Decimals], "round(number, decimals) -> number", "A number to that many decimals; the only place for `/`."),
    function("min", Id::Min, &[P::Ordered], "min(a, b, …) -> the least", "The least of some values of one type, or of a list."),
    function("max", Id::Max, &[P::Ordered], "max(a, b, …) -> the greatest", "The greatest of some values of one type, or of a list."),
    function("hash", Id::Hash, &[P::Scalar], "hash(value) -> int", "A number from 0 that is always the same for a value: `hash(id) % 10` spreads over ten."),
    function("random", Id::Random, &[P::Int], "random(int) -> int", "Any whole number from 0 below the given one."),
    each("sum", EachOp::Sum, CallForm::Function, "sum(list, v, expression) -> number", "The sum of what an expression gives for each element."),
    each("group", EachOp::Group, CallForm::Function, "group(list, v, expression) -> list of {key, rows}", "The elements by what an expression gives for each, in order of first appearance."),
    function("numbered", Id::Numbered, &[P::List], "numbered(list) -> list of {number, value}", "Each element with its number, from 1."),
    function("flat", Id::Flat, &[P::Lists], "flat(list of lists) -> list", "The elements of all lists, in one."),
    each("exists", EachOp::Exists, CallForm::Method, "list.exists(v, condition) -> bool", "Whether a condition holds for one element."),
    each("all", EachOp::All, CallForm::Method, "list.all(v, condition) -> bool", "Whether a condition holds for each element."),
    each("map", EachOp::Map, CallForm::Method, "list.map(v, expression) -> list", "What an expression gives for each element."),
    each("filter", EachOp::Filter, CallForm::Method, "list.filter(v, condition) -> list", "The elements for which a condition holds."),
    function("ulid", Id::Ulid, &[], "ulid() -> ulid", "A new id that sorts by time, 26 characters."),
    function("ksuid", Id::Ksuid, &[], "ksuid() -> ksuid", "A new id that sorts by time, 27 characters."),
    function("uuid", Id::Uuid, &[], "uuid() -> uuid", "A new random UUID."),
    function("digits", Id::Digits, &[P::Digits], "digits(int) -> string", "That many random digits as text."),
    function("near", Id::Near, &[P::Geo, P::Geo, P::Number], "near(geo, geo, km) -> bool", "Whether two places are within that many kilometres."),
    function("distance", Id::Distance, &[P::Geo, P::Geo], "distance(geo, geo) -> number", "The kilometres between two places."),
    function("geohash", Id::Geohash, &[P::Geo, P::Precision], "geohash(geo, 1..12) -> string", "The geohash of a place, that many characters long."),
    in_keys(function("desc", Id::Desc, &[P::Scalar], "desc(number | time | date) -> string", "A number or an instant so written that the greatest sorts first.")),
    in_keys(function("rank", Id::Rank, &[P::Enum], "rank(enum) -> int", "The place of a member in its enum, so that keys sort by it.")),
    in_keys(function("ordered", Id::Ordered, &[P::Text], "ordered(string) -> string", "Text so escaped that it sorts exactly, though more text follows.")),
    in_keys(function("plain", Id::Plain, &[P::Number], "plain(number) -> string", "A number without padding: equality only.")),
    in_keys(function("raw", Id::Raw, &[P::Text], "raw(string) -> string", "Text without escaping, as tables that already exist have it.")),
];
