//! What steps make of rows: new ones, changed ones, versions; and the promises that they must keep.

use singlet_item::{Number, Value};
use singlet_model::evaluate::time;
use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Entity, History, MoveTo, Step};
use singlet_model::types::{EntityId, Type};
use singlet_plan::write::Default as Why;
use singlet_runtime::{Attributes, Refused, values};

use super::change::{Edits, Fate, Part};
use super::oracle::Outcome;
use super::steps::{Operation, Touched, first_version, same_item};
use super::world::{self, Row};

impl<'a> Operation<'a> {
    pub(super) fn create(&mut self, step: &'a Step, id: EntityId, known: Attributes) -> Result<(), Outcome> {
        let entity = self.entity(id)?;
        let (row, mut problems) = self.new_row(step, entity, known)?;
        problems.extend(self.step_requirements(step, &row)?);
        let Some(at) = self.touch(id, &row)? else {
            return Err(Outcome::BadRequest);
        };
        let Some(touched) = self.touched.get(at) else {
            return Ok(());
        };
        if problems.is_empty() && touched.fate != Fate::Looked {
            return Err(same_item());
        }
        if problems.is_empty() && touched.was.is_some() {
            problems.push(self.refusal(step, entity, &Why::Exists, None)?);
        }
        if self.refuse(step, problems)? {
            return Ok(());
        }
        let row = self.dated(entity, at, row)?;
        self.become_row(step, at, Fate::Created, row)
    }

    pub(super) fn update(&mut self, step: &'a Step, at: usize) -> Result<(), Outcome> {
        let Some(touched) = self.touched.get(at).cloned() else {
            return Ok(());
        };
        let entity = self.entity(touched.entity)?;
        if matches!(touched.fate, Fate::Created | Fate::Deleted) {
            return Err(same_item());
        }
        let Some(was) = touched.was else {
            return self.absent(step);
        };
        self.check_version_of(at)?;
        let (mut edits, mut problems) = self.edits(step, entity, &was)?;
        problems.extend(self.moved(step, entity, &was, &mut edits)?);
        problems.extend(self.step_requirements(step, &was)?);
        // What every write sets is set once, however many steps change the row.
        if touched.fate == Fate::Updated {
            let always = |name: &String| {
                let attribute = entity.attribute(name);
                attribute.is_some_and(|attribute| attribute.always.is_some() || attribute.ty == Type::Version)
            };
            edits.set.retain(|name, _| !always(name));
            edits.add.retain(|name, _| !always(name));
        }
        if touched.edits.clashes(&edits) {
            return match problems.is_empty() {
                true => Err(same_item()),
                false => self.refuse(step, problems).map(|_| ()),
            };
        }
        let mut joined = touched.edits;
        joined.join(edits).ok_or(Outcome::BadRequest)?;
        let row = joined.applied(&was).ok_or(Outcome::BadRequest)?;
        let parts = joined.parts.iter().map(|(name, _)| name);
        for name in joined.add.keys().chain(parts) {
            problems.extend(self.limit(step, entity, name, row.get(name), Some(&was))?);
        }
        if self.refuse(step, problems)? {
            return Ok(());
        }
        if let Some(touched) = self.touched.get_mut(at) {
            touched.edits = joined;
        }
        let row = world::computed(entity, row, self.scope(None))?;
        if let Some(history) = &entity.history
            && !history.again
            && is_same(entity, &was, &row)
        {
            if let Some(touched) = self.touched.get_mut(at) {
                touched.becomes = Some(was.clone());
            }
            self.became(step, at, &was, false);
            return Ok(());
        }
        let row = self.dated(entity, at, row)?;
        self.become_row(step, at, Fate::Updated, row)
    }

    pub(super) fn delete(&mut self, step: &'a Step, at: usize) -> Result<(), Outcome> {
        let Some(touched) = self.touched.get(at) else {
            return Ok(());
        };
        if touched.fate != Fate::Looked {
            return Err(same_item());
        }
        let Some(was) = touched.was.clone() else {
            return self.absent(step);
        };
        self.check_version_of(at)?;
        let problems = self.step_requirements(step, &was)?;
        if self.refuse(step, problems)? {
            return Ok(());
        }
        if let Some(touched) = self.touched.get_mut(at) {
            touched.fate = Fate::Deleted;
        }
        Ok(())
    }

    fn new_row(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        known: Attributes,
    ) -> Result<(Attributes, Vec<Refused>), Outcome> {
        let mut row = known;
        let mut problems = Vec::new();
        for taken in step.take.iter().chain(&step.patch) {
            let value = self.taken(step, &taken.attribute, None)?;
            row.extend(value.map(|value| (taken.attribute.clone(), value)));
        }
        for assignment in step.set.iter().filter(|assignment| assignment.entry.is_none()) {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            if let Some(value) = self.value_as(&assignment.value, &attribute.ty, None)? {
                problems.extend(self.limit(step, entity, &attribute.name, Some(&value), None)?);
                row.insert(attribute.name.clone(), value);
            }
        }
        if let Some(states) = &entity.states {
            row.insert(states.of.clone(), Value::S(states.start.clone()));
        }
        for attribute in &entity.attributes {
            if row.contains_key(&attribute.name) || attribute.is.is_some() || attribute.copy.is_some() {
                continue;
            }
            let value = match attribute.always.as_ref().or(attribute.default.as_ref()) {
                Some(expr) => self.value_as(expr, &attribute.ty, Some(&row))?,
                None => (attribute.ty == Type::Version).then(first_version),
            };
            row.extend(value.map(|value| (attribute.name.clone(), value)));
        }
        if let Some(states) = &entity.states {
            let start = states
                .holding
                .iter()
                .filter(|(during, _)| during.contains(&states.start));
            for (name, expr) in start.flat_map(|(_, held)| held) {
                if let (Some(attribute), false) = (entity.attribute(name), row.contains_key(name)) {
                    let value = self.value_as(expr, &attribute.ty, Some(&row))?;
                    row.extend(value.map(|value| (name.clone(), value)));
                }
            }
        }
        let added = self.parts(step, entity, &row)?;
        row = added.applied(&row).ok_or(Outcome::BadRequest)?;
        for name in added.names() {
            problems.extend(self.limit(step, entity, name, row.get(name), None)?);
        }
        problems.extend(self.copied(step, entity, &mut row)?);
        Ok((world::computed(entity, row, self.scope(None))?, problems))
    }

    /// An argument, or a field of what `from` names.
    fn taken(&self, step: &Step, name: &str, own: Option<&Attributes>) -> Result<Option<Value>, Outcome> {
        let value = match &step.from {
            Some(from) => self
                .value(from, own)?
                .and_then(|from| from.as_map()?.get(name).cloned()),
            None => self.args.get(name).cloned(),
        };
        Ok(value.filter(|value| !value.is_null()))
    }

    fn edits(&self, step: &Step, entity: &Entity, was: &Attributes) -> Result<(Edits, Vec<Refused>), Outcome> {
        let own = Some(was);
        let mut edits = self.parts(step, entity, was)?;
        let mut problems = Vec::new();
        for taken in &step.take {
            let value = self.taken(step, &taken.attribute, own)?;
            edits.set.insert(taken.attribute.clone(), value);
        }
        for taken in &step.patch {
            if self.args.contains_key(&taken.attribute) {
                let value = self.taken(step, &taken.attribute, own)?;
                edits.set.insert(taken.attribute.clone(), value);
            }
        }
        for assignment in step.set.iter().filter(|assignment| assignment.entry.is_none()) {
            let Some(attribute) = entity.attribute(&assignment.attribute) else {
                continue;
            };
            let value = self.value_as(&assignment.value, &attribute.ty, own)?;
            problems.extend(self.limit(step, entity, &attribute.name, value.as_ref(), own)?);
            edits.set.insert(attribute.name.clone(), value);
        }
        for attribute in &entity.attributes {
            if let Some(always) = &attribute.always {
                let value = self.value_as(always, &attribute.ty, own)?;
                edits.set.insert(attribute.name.clone(), value);
            } else if attribute.ty == Type::Version {
                edits.add.insert(attribute.name.clone(), Number::from(1));
            }
        }
        Ok((edits, problems))
    }

    /// What a step adds, removes and appends.
    fn parts(&self, step: &Step, entity: &Entity, was: &Attributes) -> Result<Edits, Outcome> {
        let own = Some(was);
        let mut edits = Edits::default();
        let entry_name = |entry: &Expr| match self.value(entry, own)? {
            Some(Value::S(text)) => Ok(text),
            Some(Value::N(number)) => Ok(number.to_string()),
            _ => Err(Outcome::BadRequest),
        };
        for assignment in &step.set {
            if let Some(entry) = &assignment.entry {
                let part = Part::Entry(entry_name(entry)?, self.value(&assignment.value, own)?);
                edits.parts.push((assignment.attribute.clone(), part));
            }
        }
        for assignment in &step.add {
            let name = assignment.attribute.clone();
            let is_number = entity
                .attribute(&name)
                .is_some_and(|attribute| attribute.ty.is_number());
            match (self.value(&assignment.value, own)?, &assignment.entry) {
                (Some(Value::N(number)), Some(entry)) => {
                    edits.parts.push((name, Part::AddEntry(entry_name(entry)?, number)));
                }
                (Some(Value::N(number)), None) if is_number => {
                    edits.add.insert(name, number);
                }
                (Some(value), _) => edits.parts.push((name, Part::Insert(value))),
                (None, _) => {}
            }
        }
        for assignment in &step.remove {
            let value = self.value(&assignment.value, own)?;
            let part = value.map(|value| (assignment.attribute.clone(), Part::Remove(value)));
            edits.parts.extend(part);
        }
        for assignment in &step.append {
            let value = self.value(&assignment.value, own)?;
            let part = value.map(|value| (assignment.attribute.clone(), Part::Append(value)));
            edits.parts.extend(part);
        }
        Ok(edits)
    }

    fn limit(
        &self,
        step: &Step,
        entity: &Entity,
        name: &str,
        value: Option<&Value>,
        own: Option<&Attributes>,
    ) -> Result<Option<Refused>, Outcome> {
        let (Some(attribute), Some(value)) = (entity.attribute(name), value) else {
            return Ok(None);
        };
        match values::checked(value, &attribute.ty) {
            Ok(_) => Ok(None),
            Err(_) => self.refusal(step, entity, &Why::Limit(name.to_owned()), own).map(Some),
        }
    }

    /// Moves a row to another state, with what is held there.
    fn moved(
        &self,
        step: &Step,
        entity: &Entity,
        was: &Attributes,
        edits: &mut Edits,
    ) -> Result<Option<Refused>, Outcome> {
        let (Some(states), Some(moves)) = (&entity.states, &step.moves) else {
            return Ok(None);
        };
        let (mut from, mut to): (Vec<String>, String) = Default::default();
        match moves {
            MoveTo::Named(name, _) => {
                for known in states.moves.iter().filter(|known| known.name == *name) {
                    (from, to) = (known.from.clone(), known.to.clone());
                }
            }
            MoveTo::To(goal) => {
                let goal = self.value(goal, Some(was))?;
                to = goal.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                for state in states
                    .moves
                    .iter()
                    .filter(|known| known.to == to)
                    .flat_map(|known| &known.from)
                {
                    if !from.contains(state) {
                        from.push(state.clone());
                    }
                }
            }
        }
        let current = was
            .get(&states.of)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !from.contains(&current) {
            let named = if from.is_empty() { vec![to] } else { from };
            return self.refusal(step, entity, &Why::State(named), Some(was)).map(Some);
        }
        for (during, held) in &states.holding {
            let (before, after) = (during.contains(&current), during.contains(&to));
            let unset: Vec<_> = held.iter().filter(|(name, _)| !edits.set.contains_key(name)).collect();
            for (name, expr) in unset.into_iter().filter(|_| before != after) {
                let ty = entity.attribute(name).map(|attribute| &attribute.ty);
                let value = match ty.filter(|_| after) {
                    Some(ty) => self.value_as(expr, ty, Some(was))?,
                    None => None,
                };
                edits.set.insert(name.clone(), value);
            }
        }
        edits.set.insert(states.of.clone(), Some(Value::S(to)));
        Ok(None)
    }

    /// Copies of what other rows say, as they become.
    fn copied(&mut self, step: &Step, entity: &Entity, row: &mut Attributes) -> Result<Option<Refused>, Outcome> {
        for attribute in &entity.attributes {
            let Some(copy) = &attribute.copy else { continue };
            let ExprKind::Entity { entity: source, key } = &copy.source.kind else {
                continue;
            };
            let key = self.key(*source, key, Some(row))?;
            let Some(at) = self.touch(*source, &key)? else { continue };
            let found = self
                .touched
                .get(at)
                .and_then(|touched| touched.becomes.as_ref().or(touched.was.as_ref()));
            match found {
                Some(found) => row.extend(
                    found
                        .get(&copy.attribute)
                        .map(|value| (attribute.name.clone(), value.clone())),
                ),
                None => {
                    let named = singlet_plan::write::step_refusal(step, &Why::Source);
                    let why = if named.is_some() { Why::Source } else { Why::Absent };
                    return self.refusal(step, self.entity(*source)?, &why, None).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// A version with its instant: now, or just after the last.
    fn dated(&self, entity: &Entity, at: usize, mut row: Attributes) -> Result<Attributes, Outcome> {
        let Some(history) = &entity.history else { return Ok(row) };
        let touched = self.touched.get(at).ok_or(Outcome::BadRequest)?;
        row.remove(&history.until);
        row.insert(history.at.clone(), self.next_instant(entity, history, touched)?);
        Ok(world::computed(entity, row, self.scope(None))?)
    }

    fn next_instant(&self, entity: &Entity, history: &History, touched: &Touched) -> Result<Value, Outcome> {
        let ty = entity.attribute(&history.at).map(|attribute| &attribute.ty);
        let ty = ty.ok_or(Outcome::BadRequest)?;
        let mut instant = self.frame.request.now;
        let step = if *ty == Type::Seconds { 1_000 } else { 1 };
        for (_, version) in self.versions(touched) {
            let begun = version
                .get(&history.at)
                .map(|value| time::millis_of(value, ty))
                .transpose()?;
            instant = instant.max(begun.flatten().map_or(i64::MIN, |begun| begun + step));
        }
        Ok(time::instant(instant, ty)?)
    }

    fn versions(&self, touched: &Touched) -> impl Iterator<Item = &'a Row> {
        let (model, entity, identity) = (self.frame.model, touched.entity, touched.identity.clone());
        let rows = self.before.iter().filter(move |(known, _)| *known == entity);
        rows.filter(move |(_, row)| world::identity(model, entity, row) == identity)
    }

    /// Takes a row as it becomes, if it keeps what its entity promises.
    fn become_row(&mut self, step: &'a Step, at: usize, fate: Fate, row: Attributes) -> Result<(), Outcome> {
        let Some(touched) = self.touched.get_mut(at) else {
            return Ok(());
        };
        let known = touched.clone();
        touched.fate = fate;
        touched.becomes = Some(row.clone());
        let problems = self.broken(step, at, &row)?;
        if self.refuse(step, problems)? {
            self.touched
                .get_mut(at)
                .into_iter()
                .for_each(|touched| *touched = known.clone());
            return Ok(());
        }
        self.became(step, at, &row, fate == Fate::Created);
        Ok(())
    }

    /// The promises that a row breaks beside the others.
    fn broken(&self, step: &Step, at: usize, row: &Attributes) -> Result<Vec<Refused>, Outcome> {
        let Some(touched) = self.touched.get(at) else {
            return Ok(Vec::new());
        };
        let model = self.frame.model;
        let entity = self.entity(touched.entity)?;
        let own = world::identity(model, entity.id, row);
        let mut problems = Vec::new();
        let mut others = Vec::new();
        for (id, other) in self.rows_after()? {
            let described = self.entity(id)?;
            let Some(other) = world::seen(described, &other, self.scope(None))? else {
                continue;
            };
            if world::is_current(described, &other) {
                others.push((id, other));
            }
        }
        let same_entity = || others.iter().filter(|(id, _)| *id == entity.id).map(|(_, other)| other);
        if same_entity()
            .filter(|other| world::identity(model, entity.id, other) == own)
            .count()
            > 1
        {
            problems.push(self.refusal(step, entity, &Why::Exists, touched.was.as_ref())?);
        }
        let rest: Vec<&Attributes> = same_entity()
            .filter(|other| world::identity(model, entity.id, other) != own)
            .collect();
        for mirror in model.mirrors_of(entity.id) {
            let place = world::identity(model, mirror.id, row);
            let taken = rest
                .iter()
                .any(|other| world::identity(model, mirror.id, other) == place);
            if taken && place.iter().all(Option::is_some) {
                problems.push(self.refusal(step, entity, &Why::Mirror(mirror.name.clone()), touched.was.as_ref())?);
            }
        }
        for guard in &entity.unique {
            let value = self.value(&guard.value, Some(row))?;
            for other in rest.iter().filter(|_| value.is_some()) {
                if self.value(&guard.value, Some(other))? == value {
                    problems.push(self.refusal(step, entity, &Why::Taken(guard.name.clone()), touched.was.as_ref())?);
                    break;
                }
            }
        }
        // A place that one step gives up and another takes is one item changed in two ways.
        let several = self.frame.write.all_steps().into_iter();
        let several = several.filter(|step| step.entity() == Some(entity.id)).count() > 1;
        if (several && !problems.is_empty()) || self.is_given_up(at, entity, row)? {
            problems.extend(match same_item() {
                Outcome::Refused(any) => any,
                _ => Vec::new(),
            });
        }
        if let Some(excludes) = entity.excludes.as_ref().filter(|_| touched.fate == Fate::Created) {
            for (id, key) in self.named_rows(excludes, row)? {
                let named = world::identity(model, id, &key);
                if others
                    .iter()
                    .any(|(known, other)| *known == id && world::identity(model, id, other) == named)
                {
                    problems.push(self.refusal(step, entity, &Why::Excludes, None)?);
                }
            }
        }
        Ok(problems)
    }

    /// Whether a row takes a value or a mirror's place that another row gives up in the same operation.
    fn is_given_up(&self, at: usize, entity: &Entity, row: &Attributes) -> Result<bool, Outcome> {
        let others = self
            .touched
            .iter()
            .enumerate()
            .filter(|(other, touched)| *other != at && touched.entity == entity.id && touched.fate != Fate::Looked);
        for was in others.filter_map(|(_, touched)| touched.was.as_ref()) {
            for guard in &entity.unique {
                let value = self.value(&guard.value, Some(row))?;
                if value.is_some() && self.value(&guard.value, Some(was))? == value {
                    return Ok(true);
                }
            }
            let mut mirrors = self.frame.model.mirrors_of(entity.id);
            let place = |mirror: &Entity, row: &Attributes| world::identity(self.frame.model, mirror.id, row);
            let is_place = |mirror: &Entity| place(mirror, row).iter().all(Option::is_some);
            if mirrors.any(|mirror| is_place(mirror) && place(mirror, row) == place(mirror, was)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn named_rows(&self, expr: &Expr, row: &Attributes) -> Result<Vec<(EntityId, Attributes)>, Outcome> {
        Ok(match &expr.kind {
            ExprKind::Entity { entity, key } => vec![(*entity, self.key(*entity, key, Some(row))?)],
            ExprKind::List(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.named_rows(part, row)?);
                }
                all
            }
            ExprKind::Conditional(test, then, otherwise) => match self.holds(test, Some(row))? {
                true => self.named_rows(then, row)?,
                false => self.named_rows(otherwise, row)?,
            },
            _ => Vec::new(),
        })
    }

    /// All rows as they become.
    pub(super) fn rows_after(&self) -> Result<Vec<Row>, Outcome> {
        let model = self.frame.model;
        let mut rows = Vec::new();
        for (id, row) in self.before {
            let entity = self.entity(*id)?;
            let own = world::identity(model, *id, row);
            let touched = self
                .touched
                .iter()
                .find(|touched| touched.entity == *id && touched.identity == own && touched.fate != Fate::Looked);
            match (touched, &entity.history) {
                (None, _) => rows.push((*id, row.clone())),
                (Some(_), None) => {}
                (Some(_), Some(history)) if row.contains_key(&history.until) => rows.push((*id, row.clone())),
                (Some(touched), Some(history)) => {
                    let mut closed = row.clone();
                    closed.insert(history.until.clone(), self.next_instant(entity, history, touched)?);
                    rows.push((*id, world::computed(entity, closed, self.scope(None))?));
                }
            }
        }
        for touched in &self.touched {
            let entity = self.entity(touched.entity)?;
            match (touched.fate, &entity.history) {
                (Fate::Created | Fate::Updated, _) => {
                    rows.extend(touched.becomes.clone().map(|row| (touched.entity, row)));
                }
                (Fate::Deleted, Some(history)) => rows.extend(self.tombstone(entity, history, touched)?),
                _ => {}
            }
        }
        Ok(rows)
    }

    fn tombstone(&self, entity: &Entity, history: &History, touched: &Touched) -> Result<Option<Row>, Outcome> {
        let (Some(tombstone), Some(was)) = (&history.tombstone, &touched.was) else {
            return Ok(None);
        };
        let mut row = was.clone();
        row.insert(tombstone.clone(), Value::Bool(true));
        row.remove(&history.until);
        row.insert(history.at.clone(), self.next_instant(entity, history, touched)?);
        Ok(Some((entity.id, world::computed(entity, row, self.scope(None))?)))
    }
}

/// Whether an update changes nothing but what every write sets.
fn is_same(entity: &Entity, was: &Attributes, row: &Attributes) -> bool {
    let always = |name: &str| {
        entity
            .attribute(name)
            .is_some_and(|attribute| attribute.always.is_some())
    };
    let names = was.keys().chain(row.keys()).filter(|name| !always(name));
    names.into_iter().all(|name| was.get(name) == row.get(name))
}
