//! What a write does to a row and its index entries, as far as it is certain before it runs.

use std::collections::HashSet;

use singlet_model::expression::ExprKind;
use singlet_model::model::{Entity, Guard, IndexEntry, KeyChoice, KeyPart, MoveTo, Projection, Step, StepKind};
use singlet_model::types::Type;

use super::cost::Units;

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Created,
    Updated,
    Upserted,
    /// Written or removed whole.
    Whole,
}

/// What a step does to a row, as far as it is certain.
pub(super) struct Change<'a> {
    entity: &'a Entity,
    kind: Kind,
    /// The step that says so; none where the change follows from another row's.
    step: Option<&'a Step>,
    /// Attributes that it may change.
    touched: HashSet<&'a str>,
    /// Attributes that it changes for certain, whatever they were.
    changed: HashSet<&'a str>,
}

impl<'a> Change<'a> {
    pub fn of(entity: &'a Entity, step: &'a Step) -> Self {
        let kind = match &step.kind {
            StepKind::Create(_) => Kind::Created,
            StepKind::Update(_) => Kind::Updated,
            StepKind::Upsert(_) => Kind::Upserted,
            _ => Kind::Whole,
        };
        let mut change = Change {
            entity,
            kind,
            step: Some(step),
            touched: HashSet::new(),
            changed: HashSet::new(),
        };
        let set = step.set.iter().chain(&step.add).chain(&step.remove).chain(&step.append);
        change.touched.extend(set.map(|set| set.attribute.as_str()));
        change.touched.extend(
            step.take
                .iter()
                .chain(&step.patch)
                .map(|taken| taken.attribute.as_str()),
        );
        for attribute in &entity.attributes {
            // What every write sets may be what it was, such as a day on the same day. The instant itself is taken for another
            // one: only a row that was written in the same one keeps it (docs/plan.md lists that exception).
            let is_now = attribute
                .always
                .as_ref()
                .is_some_and(|always| always.kind == ExprKind::Now);
            if attribute.always.is_some() {
                change.touched.insert(attribute.name.as_str());
            }
            if attribute.ty == Type::Version || is_now {
                change.changed.insert(attribute.name.as_str());
            }
        }
        if let Some(states) = &entity.states {
            // The write after a state has lapsed stores the later one: it may move what it does not name, and a move from a
            // state that only lapsed to be there may leave the stored one as it is.
            let lapses = !states.lapses.is_empty() && !matches!(step.kind, StepKind::Create(_));
            if step.moves.is_some() || lapses {
                let held = states
                    .holding
                    .iter()
                    .flat_map(|(_, values)| values)
                    .map(|(name, _)| name.as_str());
                change.touched.extend(held.chain([states.of.as_str()]));
            }
            if let (Some(MoveTo::Named(..)), false) = (&step.moves, lapses) {
                change.changed.insert(states.of.as_str());
            }
        }
        change.touched.extend(change.changed.clone());
        change.compute();
        change
    }

    /// A change that follows from another row's: attributes that it may change, and whether they change for certain.
    pub fn following_change(entity: &'a Entity, names: impl IntoIterator<Item = &'a str>, certain: bool) -> Self {
        let touched: HashSet<&str> = names.into_iter().collect();
        let changed = if certain { touched.clone() } else { HashSet::new() };
        let mut change = Change {
            entity,
            kind: Kind::Updated,
            step: None,
            touched,
            changed,
        };
        change.compute();
        change
    }

    /// A row that is written or removed whole, whatever it holds.
    pub fn whole_row(entity: &'a Entity) -> Self {
        Change {
            entity,
            kind: Kind::Whole,
            step: None,
            touched: HashSet::new(),
            changed: HashSet::new(),
        }
    }

    /// What is computed from what may change may change too.
    fn compute(&mut self) {
        let computed = self.entity.attributes.iter().filter(|attribute| {
            let sources = attribute.is.as_ref().map(|expr| expr.attributes()).unwrap_or_default();
            sources.iter().any(|source| self.touched.contains(source))
        });
        let computed: Vec<&str> = computed.map(|attribute| attribute.name.as_str()).collect();
        self.touched.extend(computed);
    }

    pub fn is_update(&self) -> bool {
        self.kind == Kind::Updated
    }

    pub(crate) fn is_upsert(&self) -> bool {
        self.kind == Kind::Upserted
    }

    pub(crate) fn is_create(&self) -> bool {
        self.kind == Kind::Created
    }

    /// The entity of a new row, and the step that makes it.
    pub(crate) fn created_by(&self) -> Option<(&'a Entity, &'a Step)> {
        self.step.filter(|_| self.is_create()).map(|step| (self.entity, step))
    }

    pub fn touches_attribute(&self, name: &str) -> bool {
        self.touched.contains(name)
    }

    /// The rows of a mirror, and whether its key may move.
    pub(crate) fn mirror_rows(&self, mirror: &Entity) -> (Units, bool) {
        let carried = |names: &HashSet<&str>| {
            mirror
                .attributes
                .iter()
                .any(|attribute| names.contains(attribute.name.as_str()))
        };
        let mut parts = mirror.key_templates().flat_map(|key| &key.parts);
        if !self.is_update() && !self.is_upsert() {
            return ((u64::from(!parts.any(|part| part.optional)), 1), false);
        }
        if parts.any(|part| self.touched.contains(part.root_attribute())) {
            return ((0, 2), true);
        }
        let certain = carried(&self.changed) && !self.is_upsert();
        let most = u64::from(carried(&self.touched) || self.may_end_otherwise() || self.is_upsert());
        ((u64::from(certain), most), false)
    }

    /// Whether it may change when the row expires: mirrors and guards then expire with it.
    fn may_end_otherwise(&self) -> bool {
        let expires = self.entity.expires.as_ref();
        expires.is_some_and(|expires| expires.attributes().iter().any(|name| self.touched.contains(name)))
    }

    /// Whether an update may leave everything as it is: nothing that it names must differ.
    pub(crate) fn may_change_nothing(&self) -> bool {
        // An instant that every write sets stays in a row that was written in the same one.
        let is_set_always = |name: &&str| {
            let attribute = self.entity.attribute(name);
            attribute.is_some_and(|attribute| attribute.always.is_some())
        };
        self.changed.iter().all(is_set_always)
    }

    pub(crate) fn guard_rows(&self, guard: &Guard) -> Units {
        if self.is_update() || self.is_upsert() {
            let touched = guard.value.attributes().iter().any(|name| self.touched.contains(name));
            return (
                0,
                if touched {
                    2
                } else {
                    u64::from(self.may_end_otherwise())
                },
            );
        }
        (u64::from(!guard.value.optional), 1)
    }

    /// What an index entry costs: made or removed 1, changed under its key 1, moved 2.
    pub fn entry_units(&self, entry: &IndexEntry, projection: &Projection) -> Units {
        let (least, most) = self.index_presence(entry.key_choices());
        if !self.is_update() && !self.is_upsert() {
            return (least, most);
        }
        let choices = entry.key_choices();
        let parts = || {
            choices
                .iter()
                .flat_map(|choice| &choice.keys)
                .flat_map(|key| &key.parts)
        };
        let conditions = || {
            choices
                .iter()
                .filter_map(|choice| choice.when.as_ref())
                .flat_map(|when| when.attributes())
        };
        // Under one template whose parts stay, an entry may come, go or change, but not move.
        let comes = conditions().any(|name| self.touched.contains(name));
        let may_move = parts().any(|part| self.touched.contains(part.root_attribute())) || (comes && choices.len() > 1);
        let moves = parts().any(|part| self.changed.contains(part.root_attribute()) && part.function.is_none());
        let certain = if moves {
            2
        } else {
            u64::from(carries(projection, &self.changed))
        };
        let possible = if may_move {
            2
        } else {
            u64::from(comes || carries(projection, &self.touched))
        };
        let certain = if self.is_upsert() { certain.min(1) } else { certain };
        (least * certain, most * possible.max(u64::from(self.is_upsert())))
    }

    /// What an entry costs in an index that has every item under the table's own keys: made or removed 1, changed 1.
    pub fn entry_units_of_whole(&self, projection: &Projection) -> Units {
        if !self.is_update() && !self.is_upsert() {
            return (1, 1);
        }
        let certain = u64::from(!self.is_upsert() && carries(projection, &self.changed));
        let possible = u64::from(self.is_upsert() || carries(projection, &self.touched));
        (certain, possible)
    }

    /// Whether the row is in an index: never, maybe, always.
    pub fn index_presence(&self, choices: &[KeyChoice]) -> Units {
        let parts = |choice: &'_ KeyChoice| {
            choice
                .keys
                .iter()
                .flat_map(|key| &key.parts)
                .cloned()
                .collect::<Vec<KeyPart>>()
        };
        let never = |choice: &KeyChoice| parts(choice).iter().any(|part| self.part_presence(part).1 == 0);
        let always = |choice: &KeyChoice| parts(choice).iter().all(|part| self.part_presence(part).0 == 1);
        let open = choices.iter().any(|choice| choice.when.is_none());
        if choices.iter().all(never) {
            return (0, 0);
        }
        (u64::from(open && choices.iter().all(always)), 1)
    }

    fn part_presence(&self, part: &KeyPart) -> Units {
        if !part.optional {
            return (1, 1);
        }
        let attribute = self.entity.attribute(part.root_attribute());
        let filled =
            attribute.is_some_and(|known| known.default.is_some() || known.is.is_some() || known.copy.is_some());
        let of_state = self
            .entity
            .states
            .iter()
            .flat_map(|states| &states.holding)
            .any(|(_, held)| {
                let mut names = held.iter().map(|(name, _)| name.as_str());
                names.any(|name| name == part.root_attribute())
            });
        if !self.is_create() || filled || of_state || self.step.is_none() {
            return (0, 1);
        }
        let (least, most) = self.set_presence(part.root_attribute());
        (if part.path.contains('.') { 0 } else { least }, most)
    }

    /// Whether a create gives an attribute a value, whatever is sent.
    pub(crate) fn sets_for_certain(&self, name: &str) -> bool {
        self.is_create() && self.set_presence(name).0 == 1
    }

    /// Whether the step itself gives an attribute a value: never, maybe, always.
    fn set_presence(&self, name: &str) -> Units {
        let Some(step) = self.step else { return (0, 0) };
        let set = step.set.iter().find(|set| set.attribute == name);
        let taken = step.take.iter().find(|taken| taken.attribute == name);
        match (set, taken) {
            (Some(set), _) if set.value.is_absent() => (0, 0),
            (Some(set), _) => (u64::from(!set.value.optional), 1),
            (None, Some(taken)) => (u64::from(taken.required), 1),
            (None, None) => (0, 0),
        }
    }
}

/// Whether entries that carry so much show one of some attributes.
fn carries(projection: &Projection, names: &HashSet<&str>) -> bool {
    match projection {
        Projection::All => !names.is_empty(),
        Projection::Keys => false,
        Projection::Include(included) => included.iter().any(|name| names.contains(name.as_str())),
    }
}
