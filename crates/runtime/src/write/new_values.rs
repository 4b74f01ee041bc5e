//! What a step sets, adds and moves, evaluated on the row as it was.

use std::borrow::Cow;

use singlet_item::{Number, Value};
use singlet_model::model::{Entity, MoveTo, Step};
use singlet_model::types::Type;
use singlet_plan::write::{DefaultRefusal, step_refusal};

use super::attempt::Attempt;
use super::edits::{Edits, PartEdit};
use super::refuse::RefusalRule;
use super::{AttemptStop, internal_mistake};
use crate::error::RuntimeError;
use crate::scope::Attributes;

/// The states that a move may come from, and the one it goes to.
pub(super) type Moved<'a> = (Cow<'a, [String]>, Cow<'a, str>);

impl<'a> Attempt<'a> {
    /// What a step changes, evaluated on the row as it was.
    pub async fn edits(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        own: Option<&Attributes>,
    ) -> Result<Edits<'a>, AttemptStop> {
        let mut edits = Edits::default();
        let from = match &step.from {
            Some(from) => self.value(from, own).await?,
            None => None,
        };
        // `take` replaces: what was not sent is removed. `patch` leaves it.
        for taken in &step.take {
            let value = match (&step.from, &from) {
                (Some(_), Some(Value::M(fields))) => fields.get(&taken.attribute).cloned(),
                (Some(_), _) => None,
                (None, _) => self.args.get(&taken.attribute).cloned(),
            };
            let value = value.filter(|value| !value.is_null());
            edits.set.insert(&taken.attribute, value);
        }
        for taken in &step.patch {
            if let Some(value) = self.args.get(&taken.attribute) {
                let value = Some(value.clone()).filter(|value| !value.is_null());
                edits.set.insert(&taken.attribute, value);
            }
        }
        for assignment in &step.set {
            let attribute = entity.attribute(&assignment.attribute);
            let attribute = attribute.ok_or_else(|| internal_mistake("a step sets what its entity does not have"))?;
            if let Some(entry) = &assignment.entry {
                let name = self.entry_name(entry, own).await?;
                let value = self.value(&assignment.value, own).await?;
                edits.parts.push((&attribute.name, PartEdit::SetEntry(name, value)));
                continue;
            }
            let value = match self.value_as(&assignment.value, &attribute.ty, own).await? {
                Some(value) => Some(self.within_limits(step, entity, attribute, value, own).await?),
                None => None,
            };
            edits.set.insert(&attribute.name, value);
        }
        for assignment in &step.add {
            let Some(value) = self.value(&assignment.value, own).await? else {
                continue;
            };
            let name = assignment.attribute.as_str();
            match (value, &assignment.entry) {
                (Value::N(number), Some(entry)) => {
                    let entry = self.entry_name(entry, own).await?;
                    edits.parts.push((name, PartEdit::AddEntry(entry, number)));
                }
                (Value::N(number), None)
                    if entity.attribute(name).is_some_and(|attribute| attribute.ty.is_number()) =>
                {
                    edits.add.insert(name, number);
                }
                (value, _) => edits.parts.push((name, PartEdit::Insert(value))),
            }
        }
        for assignment in &step.remove {
            let value = self.value(&assignment.value, own).await?;
            edits
                .parts
                .extend(value.map(|value| (assignment.attribute.as_str(), PartEdit::Remove(value))));
        }
        for assignment in &step.append {
            let value = self.value(&assignment.value, own).await?;
            edits
                .parts
                .extend(value.map(|value| (assignment.attribute.as_str(), PartEdit::Append(value))));
        }
        for attribute in &entity.attributes {
            if let Some(always) = &attribute.always {
                let value = self.value_as(always, &attribute.ty, own).await?;
                // After what the step sets: what is always so cannot be set otherwise.
                edits.set.insert(&attribute.name, value);
            } else if attribute.ty == Type::Version {
                // In every write of the row, since one condition on it stands for all others.
                edits.add.insert(&attribute.name, Number::from(1));
            }
        }
        Ok(edits)
    }

    pub async fn entry_name(
        &mut self,
        entry: &singlet_model::expression::Expr,
        own: Option<&Attributes>,
    ) -> Result<String, AttemptStop> {
        let name = self.value(entry, own).await?;
        let name = name.map(|value| super::refuse::text_of(&value));
        name.ok_or_else(|| AttemptStop::Failed(RuntimeError::Request("the name of an entry is missing".to_owned())))
    }

    /// Where a step moves its row, and where from.
    pub async fn moved(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        own: &Attributes,
    ) -> Result<Option<Moved<'a>>, AttemptStop> {
        let Some(moves) = &step.moves else { return Ok(None) };
        let states = entity.states.as_ref();
        let states = states.ok_or_else(|| internal_mistake("a step moves a row without states"))?;
        Ok(match moves {
            MoveTo::Named(name, _) => {
                let known = states.moves.iter().find(|known| known.name == *name);
                let known = known.ok_or_else(|| internal_mistake("a step moves by a move that is not known"))?;
                Some((Cow::Borrowed(known.from.as_slice()), Cow::Borrowed(known.to.as_str())))
            }
            MoveTo::To(goal) => {
                let goal = self.value(goal, Some(own)).await?;
                let to = goal.as_ref().and_then(Value::as_str);
                let to = to
                    .ok_or_else(|| internal_mistake("a step moves to no state"))?
                    .to_owned();
                let mut from: Vec<String> = Vec::new();
                for known in states.moves.iter().filter(|known| known.to == to) {
                    from.extend(
                        known
                            .from
                            .iter()
                            .filter(|state| !from.contains(state))
                            .cloned()
                            .collect::<Vec<_>>(),
                    );
                }
                if from.is_empty() {
                    let why = DefaultRefusal::State(vec![to]);
                    let rule = RefusalRule::of(entity, step_refusal(step, &why), why);
                    return Err(self.denied(rule, Some(own)).await);
                }
                Some((Cow::Owned(from), Cow::Owned(to)))
            }
        })
    }

    /// Moves a row whose state is known.
    pub(crate) async fn move_read(
        &mut self,
        step: &'a Step,
        entity: &'a Entity,
        (from, to): &Moved<'a>,
        row: &Attributes,
        edits: &mut Edits<'a>,
    ) -> Result<(), AttemptStop> {
        let states = entity.states.as_ref();
        let states = states.ok_or_else(|| internal_mistake("a step moves a row without states"))?;
        let current = row
            .get(&states.of)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !from.contains(&current) {
            let why = DefaultRefusal::State(from.to_vec());
            let rule = RefusalRule::of(entity, step_refusal(step, &why), why);
            return Err(self.denied(rule, Some(row)).await);
        }
        edits.set.insert(&states.of, Some(Value::S(to.to_string())));
        for (during, held) in &states.holding {
            let (was, is) = (during.contains(&current), during.iter().any(|state| state == to));
            for (name, expr) in held {
                // What the step itself says wins over what the state would give.
                let Some(attribute) = entity.attribute(name).filter(|_| !edits.sets(name)) else {
                    continue;
                };
                if is && !was {
                    let value = self.computed_as(expr, &attribute.ty, row)?;
                    edits.set.insert(name, value);
                } else if was && !is {
                    edits.set.insert(name, None);
                }
            }
        }
        Ok(())
    }
}
