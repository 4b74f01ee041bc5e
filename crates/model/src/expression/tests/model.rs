//! The entities that the tests speak of, as far as expressions see them.

use std::sync::Arc;

use singlet_item::Number;

use crate::catalog::{AttributeName, Catalog};
use crate::expression::{Args, Claim, DeploymentSetting, Scope, WordPresence};
use crate::source::Span;
use crate::types::{EntityId, EnumType, LengthLimits, NumberLimits, ObjectField, ObjectType, TextLimits, Type};

/// A catalog, arguments and claims, to make scopes of.
pub struct Model {
    pub catalog: Catalog,
    pub args: Args,
    pub claims: Vec<Claim>,
    pub settings: Vec<DeploymentSetting>,
}

impl Model {
    pub fn new() -> Self {
        let mut model = Model {
            catalog: Catalog::default(),
            args: Args::default(),
            claims: vec![claim("id"), claim("role")],
            settings: vec![DeploymentSetting {
                name: "retention".into(),
                ty: Type::Duration,
                optional: false,
            }],
        };
        model.entities();
        model.arguments();
        model
    }

    fn entities(&mut self) {
        let user = [
            ("userId", string(1, 128)),
            ("email", string(3, 254)),
            ("name", string(1, 100)),
            ("deleting?", Type::Bool),
        ];
        self.entity("User", &["userId"], &user);
        self.task();
        self.booking();
        self.auction();
        self.item();
    }

    fn task(&mut self) {
        let task = [
            ("user_id", string(1, 128)),
            ("task_id", Type::Ulid),
            ("title", string(1, 200)),
            ("description?", string(0, 1000)),
            (
                "status",
                words("Status", &["pending", "in_progress", "completed", "cancelled"]),
            ),
            ("priority?", words("Priority", &["urgent", "high", "medium", "low"])),
            ("category?", string(1, 50)),
            ("due_date?", Type::Date),
            ("created_at", Type::Seconds),
            ("createdAt", Type::Time),
            ("completed_at?", Type::Seconds),
            ("done_by?", Type::Time),
            ("archived?", Type::Bool),
            ("starred", Type::Bool),
            ("stars", int(1, 5)),
            ("price", Type::number()),
            ("tags", Type::Set(Arc::new(string(1, 30)), LengthLimits::default())),
            ("counts", Type::Map(Arc::new(Type::int()), LengthLimits::default())),
            ("lines?", Type::List(Arc::new(line()), LengthLimits::default())),
            (
                "returned",
                Type::OrWords(Arc::new(Type::Date), Arc::from(["AVAILABLE".to_owned()])),
            ),
            ("payload", Type::Json),
            ("State#Date", Type::text()),
            ("version", Type::Version),
            ("period", Type::Month),
        ];
        self.entity("Task", &["user_id", "task_id"], &task);
    }

    fn booking(&mut self) {
        let slot = words("Slot", &["MORNING", "AFTERNOON", "FULL_DAY"]);
        let booking = [
            ("bookingId", Type::Ulid),
            ("userId", string(1, 128)),
            ("date", Type::Date),
            ("duration", slot.clone()),
            (
                "status",
                words("BookingStatus", &["pending", "approved", "rejected", "cancelled"]),
            ),
        ];
        self.entity("Booking", &["bookingId"], &booking);
        let event = [
            ("date", Type::Date),
            ("timeSlot", slot),
            ("eventId", Type::Ulid),
            ("bookingId?", Type::Ulid),
            ("title", string(1, 500)),
        ];
        self.entity("Event", &["date", "timeSlot"], &event);
        let payment = [
            ("bookingId", Type::Ulid),
            ("paymentId", Type::Ulid),
            ("amount", Type::number()),
        ];
        self.entity("Payment", &["bookingId", "paymentId"], &payment);
    }

    fn auction(&mut self) {
        let auction = [
            ("auctionId", Type::Ulid),
            ("sellerId", string(1, 128)),
            ("leaderId?", string(1, 128)),
            ("currentBid?", int(1, 999_999)),
            ("minBid", int(5, 50)),
            ("nextMin", Type::int()),
            ("endsAt", Type::Time),
        ];
        self.entity("Auction", &["auctionId"], &auction);
    }

    fn item(&mut self) {
        let place = ObjectType {
            name: String::new(),
            fields: vec![
                field("lat", Type::number()),
                field("lon", Type::number()),
                field("city", string(1, 80)),
            ],
        };
        let item = [
            ("itemId", Type::Ulid),
            ("userId", string(1, 128)),
            ("location", Type::Geo(Some(Arc::new(place)))),
            (
                "season?",
                words("Season", &["spring", "summer", "fall", "winter", "all-season"]),
            ),
            ("ratingSum", Type::int()),
            ("ratingCount", Type::int()),
        ];
        self.entity("Item", &["itemId"], &item);
    }

    fn arguments(&mut self) {
        let span = Span::new(0, 0);
        for (name, ty, optional) in [
            ("from", Type::Date, true),
            ("to", Type::Date, true),
            ("day", Type::Date, false),
            (
                "status",
                words("Status", &["pending", "in_progress", "completed", "cancelled"]),
                false,
            ),
            (
                "season",
                words("Season", &["spring", "summer", "fall", "winter", "all-season"]),
                false,
            ),
            ("category", string(1, 50), true),
            ("text", string(1, 100), false),
            ("amount", int(1, 1_000_000), false),
            ("hours", int(24, 48), false),
            ("at", Type::Geo(None), false),
            ("km", Type::int(), false),
            ("instant", Type::Time, false),
            ("lines", Type::List(Arc::new(line()), LengthLimits::default()), false),
            ("ids", Type::Set(Arc::new(Type::Ulid), LengthLimits::default()), false),
            ("flag", Type::Bool, true),
        ] {
            self.args.declare_argument(name, ty, optional, span);
        }
        for name in ["task_id", "bookingId", "timeSlot", "userId", "kind", "any"] {
            self.args.declare_path_variable(name, span);
        }
    }

    /// Adds an entity; a `?` after an attribute's name makes it optional.
    pub fn entity(&mut self, name: &str, key: &[&str], attributes: &[(&str, Type)]) -> EntityId {
        let id = self.catalog.add_entity(name).unwrap();
        let names = self.catalog.names_mut(id).unwrap();
        names.key_variables = key.iter().map(|name| (*name).to_owned()).collect();
        for (name, ty) in attributes {
            names.set_attribute(AttributeName {
                name: name.trim_end_matches('?').to_owned(),
                ty: ty.clone(),
                optional: name.ends_with('?'),
            });
        }
        id
    }

    pub fn id(&self, name: &str) -> EntityId {
        self.catalog.entity(name).unwrap()
    }

    /// A request without a row.
    pub fn request(&self) -> Scope<'_> {
        let mut scope = Scope::new(&self.catalog);
        scope.args = Some(&self.args);
        scope.caller = Some(&self.claims);
        scope.settings = &self.settings;
        scope.words.request = WordPresence::Always;
        scope
    }

    /// A request with a row of an entity.
    pub fn row(&self, entity: &str) -> Scope<'_> {
        self.request().with_row(self.id(entity))
    }

    /// The `where` of a read.
    pub fn where_of(&self, entity: &str) -> Scope<'_> {
        self.row(entity).with_arguments_left_out()
    }

    /// A write with some rows bound: `b`, `auction`, and `event`, which may be missing.
    pub fn write(&self) -> Scope<'_> {
        self.request()
            .with_bound("b", Type::Row(self.id("Booking")), false)
            .with_bound("auction", Type::Row(self.id("Auction")), false)
            .with_bound("event", Type::Row(self.id("Event")), true)
    }
}

fn claim(name: &str) -> Claim {
    Claim {
        name: name.to_owned(),
        ty: Type::text(),
    }
}

pub fn string(min: u64, max: u64) -> Type {
    Type::Text(TextLimits {
        length: LengthLimits {
            min: Some(min),
            max: Some(max),
        },
        pattern: None,
    })
}

pub fn int(min: i64, max: i64) -> Type {
    Type::Int(Arc::new(NumberLimits {
        min: Some(Number::from(min)),
        max: Some(Number::from(max)),
        ..NumberLimits::default()
    }))
}

pub fn words(name: &str, members: &[&str]) -> Type {
    let members = members.iter().map(|member| (*member).to_owned()).collect();
    Type::Enum(Arc::new(EnumType {
        were: Vec::new(),
        name: name.to_owned(),
        members,
    }))
}

fn line() -> Type {
    let fields = vec![field("account", Type::text()), field("amount", Type::int())];
    Type::Object(Arc::new(ObjectType {
        name: "Line".to_owned(),
        fields,
    }))
}

fn field(name: &str, ty: Type) -> ObjectField {
    ObjectField {
        name: name.to_owned(),
        ty,
        optional: false,
    }
}
