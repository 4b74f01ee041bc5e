//! Whether keys of two entities can be equal.

use super::equation::{System, Unknowns};
use super::search::Outcome;
use super::solver::{Words, solve};
use super::template::{KeyType, Part, Template};
use std::collections::BTreeMap;
use std::fmt;

/// Values that make keys equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The variables of one side by name, with their values as text.
    pub left: Vec<(String, String)>,
    /// The variables of the other side.
    pub right: Vec<(String, String)>,
    /// The key attributes that both have.
    pub keys: Vec<String>,
}

/// The answer to whether keys can be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They cannot, whatever the values: this was proved.
    Never,
    /// They can, and these values show it.
    Found(Witness),
    /// Neither was established within the bounds of the search.
    Undecided,
}

impl Verdict {
    /// The values, if there are any.
    pub fn witness(self) -> Option<Witness> {
        match self {
            Self::Found(witness) => Some(witness),
            Self::Never | Self::Undecided => None,
        }
    }
}

/// Whether the keys of two entities can be equal in every attribute: `left` and `right` are their key
/// attributes in the same order. The values of the two are independent, even of variables that share
/// a name; within one entity, a name is one value.
///
/// The answer is exact, over the whole of all domains, except that a variable that occurs several
/// times *and* has neighbours without a delimiter between, or is a number written in different
/// forms, is searched for by trying words. If that finds nothing among many, the answer is
/// [`Verdict::Undecided`]. A witness is always verified by writing both keys.
///
/// Keys of different types never collide. A prefix is a template that ends in [`Part::Anything`].
///
/// ```
/// use singlet_item::key::{Delimiter, Domain, Part, Template, collide};
///
/// let template = |parts| Template::new(parts, Delimiter::default());
/// let orders = template(vec![Part::text("ORDER"), Part::Anything])?;
/// let items = template(vec![Part::text("ORDERITEM#"), Part::variable("id", Domain::Ulid)])?;
/// let witness = collide(&[orders], &[items.clone()]).expect("`ORDER` reaches order items");
/// assert!(witness.keys[0].starts_with("ORDERITEM#"));
///
/// let orders = template(vec![Part::text("ORDER#"), Part::Anything])?;
/// assert_eq!(collide(&[orders], &[items]), None);
/// # Ok::<(), singlet_item::key::TemplateError>(())
/// ```
pub fn collision(left: &[Template], right: &[Template]) -> Verdict {
    if left.len() != right.len() || left.iter().zip(right).any(|(left, right)| differ_at_sight(left, right)) {
        return Verdict::Never;
    }
    let (system, left_unknowns, right_unknowns) = System::new(left, right);
    let wanted = system.unknowns();
    match solve(system, wanted) {
        Outcome::Never => Verdict::Never,
        Outcome::Undecided => Verdict::Undecided,
        Outcome::Found(words) => {
            let verified = verified((left, &left_unknowns, &words), (right, &right_unknowns, &words));
            verified.map_or(Verdict::Undecided, Verdict::Found)
        }
    }
}

/// Values that make the keys of two entities equal, if [`collision`] finds any.
pub fn collide(left: &[Template], right: &[Template]) -> Option<Witness> {
    collision(left, right).witness()
}

/// The templates of an entity, their unknowns, and a word for each.
pub(crate) type Assigned<'a, 'w> = (&'a [Template], &'w Unknowns<'a>, &'w Words);

/// The witness that words make, if both sides do have the same keys.
pub(crate) fn verified(left: Assigned<'_, '_>, right: Assigned<'_, '_>) -> Option<Witness> {
    let keys: Vec<String> = part_texts(left)?.iter().map(|texts| texts.concat()).collect();
    let others: Vec<String> = part_texts(right)?.iter().map(|texts| texts.concat()).collect();
    (keys == others).then(|| Witness { left: named(left), right: named(right), keys })
}

/// The text of every part of every attribute, written from the values as an item's keys are.
pub(crate) fn part_texts((templates, unknowns, words): Assigned<'_, '_>) -> Option<Vec<Vec<String>>> {
    let attributes = templates.iter().zip(&unknowns.by_part);
    let texts = attributes.map(|(template, by_part)| {
        let parts = template.parts().iter().zip(by_part);
        let text = |(part, unknown): (&Part, &Option<usize>)| {
            let word = unknown.and_then(|unknown| words.get(&unknown));
            match part {
                Part::Text(text) => Some(text.clone()),
                Part::Number(number) => Some(number.to_string()),
                Part::Anything => word.cloned(),
                Part::Variable(variable) if template.key_type() == KeyType::S => {
                    let value = variable.domain.value(word?)?;
                    variable.encode(&value, template.delimiter()).ok()
                }
                Part::Variable(variable) => {
                    let value = variable.domain.value(word?)?;
                    variable.domain.contains(&value).then(|| word.cloned()).flatten()
                }
            }
        };
        parts.map(text).collect()
    });
    texts.collect()
}

/// The variables by name, in order of appearance.
fn named((templates, unknowns, words): Assigned<'_, '_>) -> Vec<(String, String)> {
    let mut named: Vec<(String, String)> = Vec::new();
    for variable in templates.iter().flat_map(Template::variables) {
        let word = unknowns.variables.get(variable.name.as_str()).and_then(|unknown| words.get(unknown));
        if let Some(word) = word.filter(|_| named.iter().all(|(name, _)| *name != variable.name)) {
            named.push((variable.name.clone(), word.clone()));
        }
    }
    named
}

/// Whether the types, the leading or the trailing texts of two templates tell them apart.
fn differ_at_sight(left: &Template, right: &Template) -> bool {
    let (one, two) = (left.leading_text(), right.leading_text());
    let leading = one.starts_with(two) || two.starts_with(one);
    let (one, two) = (left.trailing_text(), right.trailing_text());
    let trailing = one.ends_with(two) || two.ends_with(one);
    left.key_type() != right.key_type() || !leading || !trailing
}

impl fmt::Display for Witness {
    /// The shared keys, then the values of each side.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = |side: &[(String, String)]| {
            let pairs: BTreeMap<&String, &String> = side.iter().map(|(name, value)| (name, value)).collect();
            let shown: Vec<String> = pairs.iter().map(|(name, value)| format!("{name} = `{value}`")).collect();
            if shown.is_empty() { "no variables".to_owned() } else { shown.join(", ") }
        };
        write!(f, "`{}` with {}, and with {}", self.keys.join("` `"), values(&self.left), values(&self.right))
    }
}
