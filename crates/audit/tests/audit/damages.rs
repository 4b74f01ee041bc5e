//! What can be wrong with an item: how each kind of damage is done.

use singlet_item::{Item, Number, Value};
use singlet_runtime::FindingKind as Kind;

/// What becomes of the first item that is fit for it: others in its place. The first is the one that is reported, or whose
/// key is.
pub enum Damage {
    /// The item is put in place of the one that is there.
    Put(Item),
    /// The item is removed.
    Delete(Item),
}

pub struct Planted {
    pub system: &'static str,
    pub kind: Kind,
    pub attribute: &'static str,
    pub plant: fn(&Item) -> Option<Damage>,
}

const fn planted(
    system: &'static str,
    kind: Kind,
    attribute: &'static str,
    plant: fn(&Item) -> Option<Damage>,
) -> Planted {
    Planted {
        system,
        kind,
        attribute,
        plant,
    }
}

/// The item, where it is of a kind.
fn of(item: &Item, kind: &str) -> Option<Item> {
    let names = ["entityType", "entity_type", "EntityType"];
    let word = names.iter().find_map(|name| item.get(*name)).and_then(Value::as_str);
    (word == Some(kind)).then(|| item.clone())
}

fn text(value: &str) -> Value {
    Value::S(value.to_owned())
}

fn number(value: i64) -> Value {
    Value::N(Number::from(value))
}

/// The item with another value; where there is none, with one more.
fn with(item: &Item, kind: &str, name: &str, value: Value) -> Option<Damage> {
    let mut item = of(item, kind)?;
    item.insert(name.to_owned(), value);
    Some(Damage::Put(item))
}

/// The item without a value that it has.
fn without(item: &Item, kind: &str, name: &str) -> Option<Damage> {
    let mut item = of(item, kind)?;
    item.remove(name)?;
    Some(Damage::Put(item))
}

fn is(item: &Item, name: &str, word: &str) -> bool {
    item.get(name).and_then(Value::as_str) == Some(word)
}

fn guard(item: &Item, of: &str) -> Option<Item> {
    let owner = item.get("$of").and_then(Value::as_str)?;
    let partition = ["PK", "alpha2Code"].iter().find_map(|name| item.get(*name))?;
    let partition = partition.as_str()?;
    (owner.starts_with(of) && partition.starts_with("$unique")).then(|| item.clone())
}

fn identity(item: &Item) -> Option<Item> {
    let partition = item.get("alpha2Code").and_then(Value::as_str)?;
    partition.starts_with("$identity").then(|| item.clone())
}

/// Every damage that is planted, each by itself.
pub const PLANTED: &[Planted] = &[
    // Kinds and names.
    planted("wardrobe", Kind::UnknownKind, "Shoe", |item| {
        with(item, "Activity", "EntityType", text("Shoe"))
    }),
    planted("booking", Kind::KindMissing, "entityType", |item| {
        without(item, "AuditLog", "entityType")
    }),
    planted("todo", Kind::UnknownAttribute, "colour", |item| {
        with(item, "Task", "colour", text("red"))
    }),
    planted("ecobid", Kind::UnknownAttribute, "stars", |item| {
        with(item, "User", "stars", number(3))
    }),
    // Values.
    planted("todo", Kind::MissingAttribute, "title", |item| {
        without(item, "Task", "title")
    }),
    planted("wardrobe", Kind::MissingAttribute, "CreatedAt", |item| {
        without(item, "Item", "CreatedAt")
    }),
    planted("booking", Kind::MissingAttribute, "version", |item| {
        without(item, "Event", "version")
    }),
    planted("booking", Kind::WrongType, "attendees", |item| {
        with(item, "Booking", "attendees", text("many"))
    }),
    planted("ecobid", Kind::WrongType, "location", |item| {
        let place = Item::from([("lat".to_owned(), text("north")), ("lon".to_owned(), number(21))]);
        with(item, "Place", "location", Value::M(place))
    }),
    planted("todo", Kind::WrongType, "due_date", |item| {
        item.get("due_date")?;
        with(item, "Task", "due_date", text("tomorrow"))
    }),
    planted("todo", Kind::NotMember, "priority", |item| {
        item.get("priority")?;
        with(item, "Task", "priority", text("urgently"))
    }),
    planted("ecobid", Kind::NotMember, "category", |item| {
        with(item, "Item", "category", text("weapons"))
    }),
    planted("wardrobe", Kind::OutOfLimits, "Name", |item| {
        with(item, "Item", "Name", text(&"n".repeat(201)))
    }),
    planted("ecobid", Kind::OutOfLimits, "stars", |item| {
        with(item, "Rating", "stars", number(6))
    }),
    planted("booking", Kind::OutOfLimits, "currency", |item| {
        with(item, "Payment", "currency", text("euro"))
    }),
    planted("booking", Kind::OutOfLimits, "version", |item| {
        with(item, "Booking", "version", number(0))
    }),
    planted("wardrobe", Kind::OutOfLimits, "Metadata", |item| {
        let entries = (0..21).map(|at| (format!("k{at}"), text("v")));
        with(item, "Activity", "Metadata", Value::M(entries.collect()))
    }),
    planted("booking", Kind::OtherSpelling, "paidAt", |item| {
        with(item, "Payment", "paidAt", text("2026-03-01T10:00:00+01:00"))
    }),
    planted("todo", Kind::StateAttributeMissing, "completed_at", |item| {
        is(item, "status", "completed").then_some(())?;
        without(item, "Task", "completed_at")
    }),
    planted("ecobid", Kind::StateAttributeMissing, "reservedUntil", |item| {
        is(item, "status", "reserved").then_some(())?;
        without(item, "Item", "reservedUntil")
    }),
    // Keys, and what else follows from a row.
    planted("todo", Kind::KeyUnlike, "PK", |item| {
        with(item, "Task", "user_id", text("somebody else"))
    }),
    planted("booking", Kind::KeyUnlike, "SK", |item| {
        is(item, "SK", "METADATA").then_some(())?;
        with(item, "Booking", "SK", text("DATA"))
    }),
    planted("ecobid", Kind::KeyUnlike, "SK", |item| {
        with(item, "Bid", "amount", number(999_999))
    }),
    planted("todo", Kind::IndexKeyMissing, "GSI1SK", |item| {
        without(item, "Task", "GSI1SK")
    }),
    planted("todo", Kind::IndexKeyWrong, "GSI3SK", |item| {
        item.get("priority")?;
        with(item, "Task", "GSI3SK", text("PRIORITY#9#x"))
    }),
    planted("todo", Kind::IndexKeyExtra, "GSI2SK", |item| {
        match item.get("due_date") {
            None => with(item, "Task", "GSI2SK", text("DUEDATE#2026-01-01#x")),
            Some(_) => None,
        }
    }),
    planted("country", Kind::IndexKeyMissing, "active", |item| {
        without(item, "Country", "active")
    }),
    planted("country", Kind::IndexKeyExtra, "active", |item| {
        item.get("expiryDate")?;
        with(item, "Country", "active", text("ACTIVE"))
    }),
    planted("booking", Kind::IndexKeyWrong, "GSI1PK", |item| {
        with(item, "Booking", "GSI1PK", text("STATUS#unknown"))
    }),
    planted("booking", Kind::ComputedStale, "remindAt", |item| {
        is(item, "status", "approved").then_some(())?;
        with(item, "Booking", "remindAt", text("2026-01-01T08:00:00.000Z"))
    }),
    planted("booking", Kind::ComputedStale, "validTo", |item| {
        without(item, "LockCode", "validTo")
    }),
    planted("ecobid", Kind::ComputedStale, "geohash", |item| {
        with(item, "Item", "geohash", text("u0000"))
    }),
    planted("ecobid", Kind::ComputedStale, "rating", |item| {
        with(item, "User", "rating", number(7))
    }),
    planted("ecobid", Kind::ExpiryMissing, "ttl", |item| {
        without(item, "Notification", "ttl")
    }),
    planted("booking", Kind::ExpiryWrong, "ttl", |item| {
        with(item, "Notification", "ttl", number(99_999_999_999))
    }),
    planted("booking", Kind::ExpiryExtra, "ttl", |item| {
        with(item, "Booking", "ttl", number(99_999_999_999))
    }),
    // Mirrors.
    planted("wardrobe", Kind::MirrorMissing, "UserItem", |item| {
        of(item, "UserItem").map(Damage::Delete)
    }),
    planted("ecobid", Kind::MirrorStale, "UserItem.title", |item| {
        with(item, "UserItem", "title", text("another"))
    }),
    planted("booking", Kind::MirrorStale, "UserBooking.status", |item| {
        with(item, "UserBooking", "status", text("pending!"))
    }),
    planted("wardrobe", Kind::MirrorStale, "UserItem.GSI1PK", |item| {
        item.get("GSI1PK")?;
        with(item, "UserItem", "GSI1PK", text("USER#x#SEASON#never"))
    }),
    planted(
        "ecobid",
        Kind::MirrorStale,
        "UserItem.reservedUntil",
        |item| match item.get("reservedUntil") {
            None => with(item, "UserItem", "reservedUntil", text("2026-01-01T00:00:00.000Z")),
            Some(_) => None,
        },
    ),
    planted("wardrobe", Kind::MirrorDisplaced, "UserItem", |item| {
        with(item, "UserItem", "EntityType", text("Activity"))
    }),
    planted("ecobid", Kind::MirrorOrphan, "", |item| {
        of(item, "Auction").map(Damage::Delete)
    }),
    planted("wardrobe", Kind::MirrorOrphan, "", |item| {
        of(item, "Item").map(Damage::Delete)
    }),
    planted("ecobid", Kind::MirrorLeftBehind, "", |item| {
        let mut moved = of(item, "UserItem")?;
        moved.insert("PK".to_owned(), text("USER#nobody"));
        moved.insert("userId".to_owned(), text("nobody"));
        Some(Damage::Put(moved))
    }),
    // Guards.
    planted("todo", Kind::GuardMissing, "email", |item| {
        guard(item, "User#").map(Damage::Delete)
    }),
    planted("country", Kind::GuardMissing, "alpha3Code", |item| {
        let wanted = guard(item, "Country#")?;
        let partition = wanted.get("alpha2Code").and_then(Value::as_str)?;
        partition.contains("alpha3Code").then(|| Damage::Delete(wanted.clone()))
    }),
    planted("booking", Kind::GuardOfAnother, "email", |item| {
        let mut changed = guard(item, "User#")?;
        changed.insert("$of".to_owned(), text("User#somebody"));
        Some(Damage::Put(changed))
    }),
    planted("todo", Kind::GuardExpiry, "email", |item| {
        let mut changed = guard(item, "User#")?;
        changed.insert("ttl".to_owned(), number(99_999_999_999));
        Some(Damage::Put(changed))
    }),
    planted("booking", Kind::GuardOrphan, "", |item| {
        is(item, "SK", "METADATA").then_some(())?;
        of(item, "User").map(Damage::Delete)
    }),
    planted("country", Kind::GuardOrphan, "", |item| {
        let mut changed = guard(item, "Country#")?;
        changed.insert("alpha2Code".to_owned(), text("$unique#Country#alpha3Code#ZZZ"));
        changed.insert("$of".to_owned(), text("Country#ZZ"));
        Some(Damage::Put(changed))
    }),
    planted("todo", Kind::GuardOldValue, "", |item| {
        let mut changed = guard(item, "User#")?;
        changed.insert("PK".to_owned(), text("$unique#User#email#old"));
        Some(Damage::Put(changed))
    }),
    planted("country", Kind::GuardOldValue, "", |item| {
        let mut changed = guard(item, "Country#")?;
        changed.insert("alpha2Code".to_owned(), text("$unique#Country#alpha3Code#old"));
        Some(Damage::Put(changed))
    }),
    planted("booking", Kind::GuardUnreadable, "$of", |item| {
        let mut changed = guard(item, "User#")?;
        changed.remove("$of");
        Some(Damage::Put(changed))
    }),
    planted("country", Kind::IdentityMissing, "Country", |item| {
        identity(item).map(Damage::Delete)
    }),
    planted("country", Kind::IdentityOfAnother, "Country", |item| {
        let mut changed = identity(item)?;
        changed.insert("$of".to_owned(), text("Country#ZZ"));
        Some(Damage::Put(changed))
    }),
    planted("country", Kind::IdentityOrphan, "", |item| {
        let mut changed = identity(item)?;
        changed.insert("alpha2Code".to_owned(), text("$identity#Country#ZZ"));
        changed.insert("$of".to_owned(), text("Country#ZZ"));
        Some(Damage::Put(changed))
    }),
    // Rows that do not go together.
    planted("wardrobe", Kind::CopyBehind, "ItemName", |item| {
        with(item, "Activity", "ItemName", text("another name"))
    }),
    planted("booking", Kind::ExcludedBeside, "Event", |item| {
        let mut other = of(item, "Event")?;
        is(item, "SK", "MORNING").then_some(())?;
        other.insert("SK".to_owned(), text("FULL_DAY"));
        other.insert("timeSlot".to_owned(), text("FULL_DAY"));
        Some(Damage::Put(other))
    }),
    planted("country", Kind::VersionOrder, "expiryDate", |item| {
        item.get("expiryDate")?;
        with(item, "Country", "expiryDate", text("1999-01-01T00:00:00.000Z"))
    }),
    planted("country", Kind::VersionGap, "expiryDate", |item| {
        item.get("expiryDate")?;
        with(item, "Country", "expiryDate", text("2009-01-01T00:00:00.000Z"))
    }),
    planted("country", Kind::VersionTwiceOpen, "", |item| {
        let mut other = of(item, "Country")?;
        item.get("active")?;
        other.insert("createDate".to_owned(), text("2019-05-05T00:00:00.000Z"));
        Some(Damage::Put(other))
    }),
    planted("booking", Kind::DanglingReference, "bookingId", |item| {
        is(item, "SK", "METADATA").then_some(())?;
        of(item, "Booking").map(Damage::Delete)
    }),
    planted("ecobid", Kind::MirrorLeftBehind, "", |item| {
        let mut changed = of(item, "UserItem")?;
        changed.insert("SK".to_owned(), text("ELSEWHERE"));
        Some(Damage::Put(changed))
    }),
];
