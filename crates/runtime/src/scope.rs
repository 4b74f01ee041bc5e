//! What the names in an expression stand for while an operation runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use jiff::tz::TimeZone;
use singlet_item::Value;
use singlet_model::Model;
use singlet_model::evaluate::{Environment, evaluate_as};
use singlet_model::expression::{Expr, Word};
use singlet_plan::Bounds;

use crate::guard_form::GuardForm;

/// Attributes by name: a row as its entity sees it.
pub type Attributes = BTreeMap<String, Value>;

/// Who calls.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caller {
    /// What is known of the caller: `id`, `role` and whatever else the model names. Empty for nobody.
    pub claims: BTreeMap<String, Value>,
    /// Whether the caller has shown credentials.
    pub authenticated: bool,
}

impl Caller {
    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Caller::default()
    }

    /// An authenticated caller with an id.
    pub fn with_id(id: impl Into<String>) -> Self {
        Caller {
            claims: BTreeMap::from([("id".to_owned(), Value::S(id.into()))]),
            authenticated: true,
        }
    }

    /// The caller with one more claim, which is text.
    #[must_use]
    pub fn claim(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.claims.insert(name.into(), Value::S(value.into()));
        self
    }

    /// The caller with one more claim of any type.
    #[must_use]
    pub fn with_claim(mut self, name: impl Into<String>, value: Value) -> Self {
        self.claims.insert(name.into(), value);
        self
    }
}

/// What does not change while one operation runs.
#[derive(Debug)]
pub struct Setting {
    /// The zone of the model.
    pub zone: TimeZone,
    /// The values given at deployment.
    pub settings: BTreeMap<String, Value>,
    /// What one request may ask for.
    pub bounds: Bounds,
    /// How the table has unique values in the keys of guards; none until that is known.
    guard_form: RwLock<Option<GuardForm>>,
}

impl Clone for Setting {
    fn clone(&self) -> Self {
        let form = self.guard_form.read().unwrap_or_else(PoisonError::into_inner);
        Setting {
            zone: self.zone.clone(),
            settings: self.settings.clone(),
            bounds: self.bounds,
            guard_form: RwLock::new(form.clone()),
        }
    }
}

impl Setting {
    /// The zone of a model, UTC where it is unknown here; what is not given at deployment has the default that the model says.
    pub fn of(model: &Model, settings: BTreeMap<String, Value>) -> Self {
        let given = Setting {
            zone: TimeZone::get(&model.zone).unwrap_or(TimeZone::UTC),
            settings,
            bounds: Bounds::USUAL,
            guard_form: RwLock::default(),
        };
        let (nothing, nobody) = (Attributes::new(), Caller::anonymous());
        let scope = Scope {
            setting: &given,
            now: 0,
            args: &nothing,
            caller: &nobody,
            attributes: None,
            row: None,
            bound: &nothing,
        };
        let missing = model
            .settings
            .iter()
            // What is given wins: a default is for what was left out.
            .filter(|one| !given.settings.contains_key(&one.name));
        let defaults: Attributes = missing
            .filter_map(|one| {
                // A default is a value that was checked with the model.
                let value = evaluate_as(one.default.as_ref()?, &one.ty, &scope).ok()??;
                Some((one.name.clone(), value))
            })
            .collect();
        let mut setting = given;
        setting.settings.extend(defaults);
        setting
    }

    /// How the table has unique values in the keys of guards; as they are, where nothing else is known.
    pub(crate) fn guard_form(&self) -> GuardForm {
        let form = self.guard_form.read().unwrap_or_else(PoisonError::into_inner);
        form.clone().unwrap_or_default()
    }

    pub(crate) fn knows_guard_form(&self) -> bool {
        let form = self.guard_form.read().unwrap_or_else(PoisonError::into_inner);
        form.is_some()
    }

    pub(crate) fn set_guard_form(&self, form: GuardForm) {
        *self.guard_form.write().unwrap_or_else(PoisonError::into_inner) = Some(form);
    }
}

/// The names of one operation, at one place of it.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Zone and settings.
    pub setting: &'a Setting,
    /// The instant of the operation, in epoch milliseconds.
    pub now: i64,
    /// The arguments.
    pub args: &'a Attributes,
    /// Who calls.
    pub caller: &'a Caller,
    /// The row whose attributes stand bare.
    pub attributes: Option<&'a Attributes>,
    /// What `row` is, where that is another row.
    pub row: Option<&'a Attributes>,
    /// Bound names; rows are maps.
    pub bound: &'a Attributes,
}

impl<'a> Scope<'a> {
    /// The names with another row, whose attributes stand bare.
    pub fn with_row(self, attributes: &'a Attributes) -> Self {
        Scope {
            attributes: Some(attributes),
            ..self
        }
    }
}

impl Environment for Scope<'_> {
    fn attribute(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.attributes?.get(name).map(Cow::Borrowed)
    }

    fn row(&self) -> Option<Cow<'_, Value>> {
        // A write binds the row that it looked at; elsewhere `row` is the one whose attributes stand bare.
        let row = self.row.or(self.attributes)?;
        Some(Cow::Owned(Value::M(row.clone())))
    }

    fn row_field(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.row.or(self.attributes)?.get(name).map(Cow::Borrowed)
    }

    fn arg(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.args.get(name).map(Cow::Borrowed)
    }

    fn caller(&self, claim: &str) -> Option<Cow<'_, Value>> {
        match claim {
            // It is known of the connection, so that no claim of the same name can pretend it.
            "authenticated" => Some(Cow::Owned(Value::Bool(self.caller.authenticated))),
            claim => self.caller.claims.get(claim).map(Cow::Borrowed),
        }
    }

    fn setting(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.setting.settings.get(name).map(Cow::Borrowed)
    }

    fn bound(&self, name: &str) -> Option<Cow<'_, Value>> {
        self.bound.get(name).map(Cow::Borrowed)
    }

    fn word(&self, word: Word) -> Option<Cow<'_, Value>> {
        self.bound.get(word.as_str()).map(Cow::Borrowed)
    }

    fn now(&self) -> i64 {
        self.now
    }

    fn zone(&self) -> &TimeZone {
        &self.setting.zone
    }

    /// Reads generate nothing; writes bring their own values.
    fn generate(&self, _: &Expr, _: Option<u64>) -> Option<Value> {
        None
    }
}
