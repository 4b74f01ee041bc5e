//! Whether keys of two entities can be equal.

use super::effort::Effort;
use super::solver::{Words, solve_system};
use super::system::{EquationSystem, Unknowns};
use crate::key::languages::search::SearchOutcome;
use crate::key::template::{KeyType, Part, Template};
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
    /// That nothing was found is a proof only if everything was looked at.
    pub(crate) fn never_unless_cut(effort: &Effort) -> Self {
        if effort.has_given_up() {
            Self::Undecided
        } else {
            Self::Never
        }
    }

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
/// use singlet_item::key::{Delimiter, Domain, Part, Template, colliding_values};
///
/// let template = |parts| Template::new(parts, Delimiter::default());
/// let orders = template(vec![Part::text("ORDER"), Part::Anything])?;
/// let items = template(vec![Part::text("ORDERITEM#"), Part::bare_variable("id", Domain::Ulid)])?;
/// let witness = colliding_values(&[orders], &[items.clone()]).expect("`ORDER` reaches order items");
/// assert!(witness.keys[0].starts_with("ORDERITEM#"));
///
/// let orders = template(vec![Part::text("ORDER#"), Part::Anything])?;
/// assert_eq!(colliding_values(&[orders], &[items]), None);
/// # Ok::<(), singlet_item::key::TemplateError>(())
/// ```
pub fn decide_collision(left: &[Template], right: &[Template]) -> Verdict {
    collision_by(left, right, &Effort::of_one_decision())
}

/// [`decide_collision`], with the steps that are left of an effort that several decisions share.
pub fn collision_within(left: &[Template], right: &[Template], effort: &Effort) -> Verdict {
    effort.decide_within(|effort| collision_by(left, right, effort))
}

fn collision_by(left: &[Template], right: &[Template], effort: &Effort) -> Verdict {
    // Before any work: most templates are told apart by how they begin or end.
    if left.len() != right.len() || left.iter().zip(right).any(|(left, right)| differ_at_sight(left, right)) {
        return Verdict::Never;
    }
    if !effort.take_steps(steps_to_begin(left) + steps_to_begin(right)) {
        return Verdict::Undecided;
    }
    let (system, left_unknowns, right_unknowns) = EquationSystem::new(left, right, effort);
    let wanted = system.unknowns();
    match solve_system(system, wanted) {
        SearchOutcome::Never => Verdict::never_unless_cut(effort),
        SearchOutcome::Undecided => Verdict::Undecided,
        SearchOutcome::Found(words) => {
            // As for ambiguity: what the solver found is made into keys and compared.
            let verified = verified_witness((left, &left_unknowns, &words), (right, &right_unknowns, &words));
            verified.map_or(Verdict::Undecided, Verdict::Found)
        }
    }
}

/// Values that make the keys of two entities equal, if [`decide_collision`] finds any.
pub fn colliding_values(left: &[Template], right: &[Template]) -> Option<Witness> {
    decide_collision(left, right).witness()
}

/// How many steps it takes to write a key's equation down: lists of words are copied.
pub(crate) fn steps_to_begin(templates: &[Template]) -> usize {
    let steps = |part: &Part| match part {
        Part::Text(text) => text.len(),
        Part::Variable(variable) => variable.domain.listed_words().len(),
        Part::Number(_) | Part::Anything => 0,
    };
    let parts = templates.iter().flat_map(Template::parts);
    parts.map(|part| 1 + steps(part)).sum()
}

/// The templates of an entity, their unknowns, and a word for each.
pub(crate) type Assigned<'a, 'w> = (&'a [Template], &'w Unknowns<'a>, &'w Words);

/// The witness that words make, if both sides do have the same keys.
pub(crate) fn verified_witness(left: Assigned<'_, '_>, right: Assigned<'_, '_>) -> Option<Witness> {
    let keys: Vec<String> = part_texts(left)?.iter().map(|texts| texts.concat()).collect();
    let others: Vec<String> = part_texts(right)?.iter().map(|texts| texts.concat()).collect();
    (keys == others).then(|| Witness {
        left: named(left),
        right: named(right),
        keys,
    })
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
                    variable.encode_value(&value, template.delimiter()).ok()
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
    for variable in templates.iter().flat_map(Template::variable_parts) {
        let word = unknowns
            .variables
            .get(variable.name.as_str())
            .and_then(|unknown| words.get(unknown));
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
            let shown: Vec<String> = pairs
                .iter()
                .map(|(name, value)| format!("{name} = `{value}`"))
                .collect();
            if shown.is_empty() {
                "no variables".to_owned()
            } else {
                shown.join(", ")
            }
        };
        write!(
            f,
            "`{}` with {}, and with {}",
            self.keys.join("` `"),
            values(&self.left),
            values(&self.right)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;
    use crate::key::{Delimiter, Domain, Form, Variable};

    fn template(parts: Vec<Part>) -> Template {
        Template::new(parts, Delimiter::default()).unwrap()
    }

    /// A template from text in which `{name:domain}` or `{form(name):domain}` is a variable and `*` anything.
    fn parse(text: &str) -> Template {
        let mut parts = Vec::new();
        for (index, piece) in text.split(['{', '}']).enumerate() {
            match piece.split_once(':') {
                Some((variable, domain)) if index % 2 == 1 => parts.push(variable_part(variable, domain_of(domain))),
                _ => {
                    for (index, literal) in piece.split('*').enumerate() {
                        parts.extend((index > 0).then_some(Part::Anything));
                        parts.push(Part::text(literal));
                    }
                }
            }
        }
        template(parts)
    }

    fn variable_part(text: &str, domain: Domain) -> Part {
        let Some((function, name)) = text.trim_end_matches(')').split_once('(') else {
            return Part::bare_variable(text, domain);
        };
        let form = match function {
            "ordered" => Form::Ordered,
            "raw" => Form::Raw,
            "lower" => Form::Lower,
            "upper" => Form::Upper,
            "plain" => Form::Plain,
            "day" => Form::Day,
            "month" => Form::Month,
            "rank" => Form::rank_form(&domain).unwrap(),
            "desc" => Form::of(&domain).descending_form(),
            "whole" => Form::Whole,
            other => panic!("no form {other}"),
        };
        Part::Variable(Variable::new(name, form, domain))
    }

    fn domain_of(text: &str) -> Domain {
        match text {
            "string" => Domain::text(0, None),
            "name" => Domain::text(1, Some(1000)),
            "date" => Domain::Date,
            "time" => Domain::Time,
            "ulid" => Domain::Ulid,
            "uuid" => Domain::Uuid,
            "int" => Domain::integer_range(None, None),
            "digit" => Domain::integer_range(Some(0), Some(9)),
            "hundred" => Domain::integer_range(Some(0), Some(100)),
            "status" => Domain::one_of(["pending", "active", "done"]),
            pattern => Domain::from_pattern(pattern.trim_matches('/')).unwrap(),
        }
    }

    fn decide(left: &[&str], right: &[&str]) -> Verdict {
        let side = |texts: &[&str]| texts.iter().map(|text| parse(text)).collect::<Vec<_>>();
        let verdict = decide_collision(&side(left), &side(right));
        let mirrored = decide_collision(&side(right), &side(left));
        let kind = std::mem::discriminant(&verdict);
        assert_eq!(kind, std::mem::discriminant(&mirrored), "collision is symmetric");
        verdict
    }

    fn never(left: &[&str], right: &[&str]) {
        assert_eq!(decide(left, right), Verdict::Never, "{left:?} {right:?}");
    }

    fn found(left: &[&str], right: &[&str]) -> Witness {
        let verdict = decide(left, right);
        verdict
            .clone()
            .witness()
            .unwrap_or_else(|| panic!("{left:?} {right:?}: {verdict:?}"))
    }

    #[test]
    fn literals_tell_entities_apart() {
        never(&["USER#{u:name}", "PROFILE"], &["USER#{u:name}", "ORDER#{id:ulid}"]);
        never(&["A#{x:name}#B"], &["A#{x:name}#C"]);
        never(&["A#{x:name}"], &["A#{x:name}#{y:name}"]);
        never(&["A#{x:name}"], &["AB#{x:name}"]);
        assert_eq!(found(&["A#B"], &["A#B"]).keys, ["A#B"]);
    }

    #[test]
    fn the_same_shape_collides_with_values_that_read_well() {
        let witness = found(
            &["USER#{u:name}", "TASK#{id:ulid}"],
            &["USER#{v:name}", "TASK#{task:ulid}"],
        );
        assert_eq!(witness.keys, ["USER#a", "TASK#01KGA3C4D5E6F7G8H9J0KMNPQR"]);
        assert_eq!(
            found(&["E#{d:date}"], &["E#{x:name}"]).to_string(),
            "`E#2026-01-31` with d = `2026-01-31`, and with x = `2026-01-31`"
        );
    }

    #[test]
    fn domains_tell_entities_apart() {
        never(&["A#{x:ulid}"], &["A#{x:date}"]);
        never(&["A#{x:uuid}"], &["A#{x:ulid}"]);
        never(&["A#{x:status}"], &["A#{x:/[A-Z]+/}"]);
        never(&["A#{n:digit}"], &["A#{n:hundred}"]);
        never(&["A#{x:/[a-m]+/}"], &["A#{x:/[n-z]+/}"]);
        assert_eq!(found(&["A#{x:status}"], &["A#{x:/[a-d]+[n-o]+e/}"]).keys, ["A#done"]);
        assert_eq!(found(&["A#{n:hundred}"], &["A#{s:/0.*/}"]).keys, ["A#001"]);
    }

    #[test]
    fn a_prefix_without_its_delimiter_bleeds() {
        let witness = found(&["ORDER*"], &["ORDERITEM#{id:name}"]);
        assert_eq!(witness.left, []);
        assert_eq!(witness.keys, ["ORDERITEM#a"]);
        never(&["ORDER#*"], &["ORDERITEM#{id:name}"]);
        found(&["STATUS#{s:status}#*"], &["STATUS#{status:status}#{task:ulid}"]);
    }

    #[test]
    fn equality_on_a_prefix_that_no_key_equals() {
        never(&["STATUS#{s:status}#"], &["STATUS#{status:status}#{task:ulid}"]);
        assert_eq!(
            found(&["STATUS#{s:status}#"], &["STATUS#{s:status}#{x:string}"]).keys,
            ["STATUS#pending#"]
        );
    }

    #[test]
    fn escaped_values_cannot_reach_a_neighbour() {
        never(&["A#{x:string}"], &["A#{x:string}#{y:string}"]);
        let witness = found(&["A#{raw(x):string}"], &["A#{y:string}#{z:string}"]);
        assert!(witness.keys[0].matches('#').count() == 2);
        never(&["A#{x:string}"], &["A#b#c"]);
        assert_eq!(
            found(&["A#{x:string}"], &["A#b$23c"]).left,
            [("x".to_owned(), "b#c".to_owned())]
        );
        never(&["A#{x:string}"], &["A#b$25c"]);
    }

    #[test]
    fn a_variable_has_one_value_in_all_attributes() {
        never(&["P#{x:name}", "S#{x:name}"], &["P#a", "S#b"]);
        assert_eq!(
            found(&["P#{x:name}", "S#{x:name}"], &["P#a", "S#a"]).left,
            [("x".to_owned(), "a".to_owned())]
        );
        never(&["P#{x:name}", "S#{x:name}"], &["P#{u:/[a-m]+/}", "S#{v:/[n-z]+/}"]);
        assert_eq!(
            found(&["P#{x:name}", "S#{x:name}"], &["P#{u:/[a-m]+/}", "S#{v:/[m-z]+/}"]).keys,
            ["P#m", "S#m"]
        );
        never(
            &["P#{x:name}", "S#{y:name}", "T#{x:name}"],
            &["P#{z:name}", "S#b", "T#{z:name}#"],
        );
    }

    #[test]
    fn the_month_of_a_date_follows_the_date() {
        let calendar = ["C#{month(d):date}", "E#{d:date}"];
        let witness = found(&calendar, &["C#{month(at):date}", "E#{at:date}"]);
        assert_eq!(witness.keys, ["C#2026-01", "E#2026-01-31"]);
        never(&calendar, &["C#{m:/2024-.*/}", "E#{s:/2025-.*/}"]);
        let witness = found(&calendar, &["C#{m:/2024-.*/}", "E#{s:/.*-29/}"]);
        assert!(witness.keys[0].starts_with("C#2024-") && witness.keys[1].ends_with("-29"));
        never(&calendar, &["C#2023-02", "E#{s:/.*-29/}"]);
        found(&calendar, &["C#2024-02", "E#{s:/.*-29/}"]);
    }

    #[test]
    fn a_folded_value_follows_the_value() {
        let user = ["U#{lower(e):name}", "E#{e:name}"];
        never(&user, &["U#a", "E#b"]);
        assert_eq!(found(&user, &["U#ab", "E#{x:/[A-Z]+/}"]).keys, ["U#ab", "E#AB"]);
        never(&user, &["U#{x:/[A-Z]+/}", "E#{y:name}"]);
        assert_eq!(found(&["U#{lower(e):/[A-Z]+/}"], &["U#{x:name}"]).keys, ["U#a"]);
        assert_eq!(
            found(&["U#{upper(e):/ß/}"], &["U#SS"]).left,
            [("e".to_owned(), "ß".to_owned())]
        );
        never(&["U#{upper(e):name}"], &["U#ß"]);
    }

    #[test]
    fn a_word_and_its_rank_agree() {
        let task = ["R#{rank(s):status}", "S#{s:status}"];
        assert_eq!(found(&task, &["R#1", "S#{x:name}"]).keys, ["R#1", "S#active"]);
        never(&task, &["R#1", "S#done"]);
        never(&task, &["R#3", "S#{x:name}"]);
    }

    #[test]
    fn a_number_in_two_forms_agrees() {
        let bid = ["N#{n:hundred}", "P#{plain(n):hundred}"];
        assert_eq!(found(&bid, &["N#007", "P#{x:name}"]).keys, ["N#007", "P#7"]);
        never(&bid, &["N#007", "P#8"]);
        assert_eq!(
            found(&["N#{desc(n):hundred}"], &["N#{x:/99.*/}"]).left,
            [("n".to_owned(), "1".to_owned())]
        );
    }

    #[test]
    fn neighbours_without_a_delimiter_are_searched() {
        let witness = found(&["A#{x:name}-{y:name}"], &["A#{z:/[a-b-][a-b-][a-b-]/}"]);
        assert_eq!(witness.keys, ["A#a-a"]);
        never(&["A#{x:name}-{y:name}"], &["A#{z:/[a-b]+/}"]);
        never(&["A#{x:name}{y:name}x"], &["A#{u:name}{v:name}y"]);
        assert_eq!(
            found(&["A#{x:name}{y:name}x"], &["A#{u:name}{v:name}x"]).keys,
            ["A#aax"]
        );
        never(&["A#{d:date}{x:name}"], &["A#{d:ulid}{x:name}"]);
    }

    #[test]
    fn a_repeated_variable_with_neighbours_is_tried() {
        assert_eq!(
            found(&["{x:name}-{x:name}"], &["ab-ab"]).left,
            [("x".to_owned(), "ab".to_owned())]
        );
        never(&["{x:/[ab][ab]?/}-{x:/[ab][ab]?/}"], &["ab-ba"]);
        never(&["{x:status}-{x:status}"], &["{y:/[a-z]+e-[a-z]+g/}"]);
    }

    #[test]
    fn keys_of_different_types_never_collide() {
        never(&["{whole(n):int}"], &["{s:string}"]);
        never(&["{whole(n):digit}"], &["{s:digit}"]);
        assert_eq!(found(&["{whole(n):int}"], &["{whole(m):hundred}"]).keys, ["1"]);
        let constant = |number: i64| [template(vec![Part::Number(Number::from(number))])];
        assert!(colliding_values(&constant(5), &[parse("{whole(n):digit}")]).is_some());
        assert_eq!(
            decide_collision(&constant(50), &[parse("{whole(n):digit}")]),
            Verdict::Never
        );
        assert_eq!(decide_collision(&constant(5), &[parse("5")]), Verdict::Never);
        let binary = |min_bytes, max_bytes| {
            let domain = Domain::Binary {
                min_bytes,
                max_bytes: Some(max_bytes),
            };
            [template(vec![Part::Variable(Variable::new("b", Form::Whole, domain))])]
        };
        assert!(colliding_values(&binary(1, 4), &binary(4, 9)).is_some());
        assert_eq!(decide_collision(&binary(1, 4), &binary(5, 9)), Verdict::Never);
    }

    #[test]
    fn different_delimiters_are_compared_as_text() {
        let piped = |parts| [Template::new(parts, Delimiter::new('|').unwrap()).unwrap()];
        let left = piped(vec![Part::text("A#"), Part::bare_variable("x", Domain::text(1, None))]);
        assert!(colliding_values(&left, &[parse("A#{x:name}#{y:name}")]).is_some());
        assert_eq!(decide_collision(&left, &[parse("A|{x:name}")]), Verdict::Never);
    }

    #[test]
    fn an_empty_domain_has_no_key() {
        never(&["A#{x:/[a&&b]/}"], &["A#{y:string}"]);
    }

    #[test]
    fn entities_with_different_numbers_of_attributes_are_not_compared() {
        never(&["A"], &["A", "B"]);
    }
}
