//! What a refusal is called where the model does not say.

use singlet_model::model::{Cause, Refusal, Requirement, Step};

/// Why a step cannot be done, with what its name is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DefaultRefusal {
    /// The row is missing.
    Absent,
    /// The row is there.
    Exists,
    /// The row is in none of these states.
    State(Vec<String>),
    /// A copy's source is missing or not as it was.
    Source,
    /// A row that excludes this one is there.
    Excludes,
    /// Another row has that value.
    Taken(String),
    /// A value left its limits.
    Limit(String),
    /// A mirror's place is taken.
    Mirror(String),
}

impl DefaultRefusal {
    fn cause(&self) -> Cause {
        match self {
            DefaultRefusal::Absent => Cause::Absent,
            DefaultRefusal::Exists => Cause::Exists,
            DefaultRefusal::State(_) => Cause::State,
            DefaultRefusal::Source => Cause::Source,
            DefaultRefusal::Excludes => Cause::Excludes,
            DefaultRefusal::Taken(name) | DefaultRefusal::Limit(name) | DefaultRefusal::Mirror(name) => {
                Cause::Named(name.clone())
            }
        }
    }
}

/// What the model calls the refusal of a step.
pub fn step_refusal<'a>(step: &'a Step, why: &DefaultRefusal) -> Option<&'a Refusal> {
    let cause = why.cause();
    let named = step.refusals.iter().find(|(known, _)| *known == cause);
    let any = || step.refusals.iter().find(|(known, _)| *known == Cause::Any);
    named.or_else(any).map(|(_, refusal)| refusal)
}

/// `task_not_found`, `task_exists`, `task_not_pending`, `email_taken`, `balance_out_of_range`.
pub fn default_name(entity: &str, why: &DefaultRefusal) -> String {
    let entity = snake(entity);
    match why {
        DefaultRefusal::Absent => format!("{entity}_not_found"),
        DefaultRefusal::Exists => format!("{entity}_exists"),
        DefaultRefusal::State(from) => format!("{entity}_not_{}", from.join("_or_").replace('-', "_")),
        DefaultRefusal::Source => format!("{entity}_source_changed"),
        DefaultRefusal::Excludes => format!("{entity}_excluded"),
        DefaultRefusal::Taken(name) => format!("{}_taken", snake(name)),
        DefaultRefusal::Limit(name) => format!("{}_out_of_range", snake(name)),
        DefaultRefusal::Mirror(name) => format!("{}_exists", snake(name)),
    }
}

/// 404 for what is missing, else 409.
pub fn default_status(why: &DefaultRefusal) -> u16 {
    match why {
        DefaultRefusal::Absent => 404,
        _ => 409,
    }
}

/// The status of a requirement's refusal: 409 unless said, 400 where the request alone decides.
pub fn requirement_status(requirement: &Requirement) -> u16 {
    let alone = requirement.condition.is_of_request();
    requirement.refusal.status.unwrap_or(if alone { 400 } else { 409 })
}

/// `UserItem` as `user_item`.
fn snake(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 4);
    let mut before_lower = false;
    for char in name.chars() {
        if char.is_uppercase() && before_lower {
            text.push('_');
        }
        before_lower = char.is_lowercase() || char.is_ascii_digit();
        if char.is_alphanumeric() {
            text.extend(char.to_lowercase());
        } else {
            text.push('_');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_the_entity_and_the_cause() {
        assert_eq!(default_name("Task", &DefaultRefusal::Absent), "task_not_found");
        assert_eq!(default_name("UserItem", &DefaultRefusal::Exists), "user_item_exists");
        let from = vec!["pending".to_owned(), "in_progress".to_owned()];
        assert_eq!(
            default_name("Task", &DefaultRefusal::State(from)),
            "task_not_pending_or_in_progress"
        );
        assert_eq!(
            default_name("User", &DefaultRefusal::Taken("email".to_owned())),
            "email_taken"
        );
        assert_eq!(
            default_name("A", &DefaultRefusal::Limit("alpha3Code".to_owned())),
            "alpha3_code_out_of_range"
        );
    }
}
