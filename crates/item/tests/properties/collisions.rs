//! Collisions and ambiguities against enumeration of every value.

use super::cases;
use proptest::prelude::*;
use proptest::sample::Index;
use singlet_item::Value;
use singlet_item::key::{
    DecodeError, Delimiter, Domain, Form, Part, Template, Variable, Verdict, Witness, decide_ambiguity,
    decide_collision,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A small domain with every value of it.
#[derive(Clone, Debug)]
struct Small {
    domain: Domain,
    values: Vec<Value>,
}

fn texts(domain: Domain, texts: &[&str]) -> Small {
    Small {
        domain,
        values: texts.iter().map(|text| Value::from(*text)).collect(),
    }
}

/// Every text over some characters of such a length.
fn all_texts(characters: &str, lengths: std::ops::RangeInclusive<usize>) -> Vec<Value> {
    let mut texts = vec![String::new()];
    let mut all = Vec::new();
    for length in 0..=*lengths.end() {
        if lengths.contains(&length) {
            all.extend(texts.iter().map(|text| Value::from(text.as_str())));
        }
        texts = texts
            .iter()
            .flat_map(|text| characters.chars().map(move |c| format!("{text}{c}")))
            .collect();
    }
    all
}

fn small_domains() -> Vec<Small> {
    let pattern = |text| Domain::from_pattern(text).unwrap();
    vec![
        Small {
            domain: pattern("[ab#]{0,2}"),
            values: all_texts("ab#", 0..=2),
        },
        Small {
            domain: pattern("[ab]{1,2}"),
            values: all_texts("ab", 1..=2),
        },
        Small {
            domain: pattern("[aA]{1,2}"),
            values: all_texts("aA", 1..=2),
        },
        Small {
            domain: pattern("(?:#|\\$|2|3)(?:#|\\$|2|3)?"),
            values: all_texts("#$23", 1..=2),
        },
        texts(pattern("a?b|#"), &["ab", "b", "#"]),
        texts(Domain::one_of(["a", "b", "ab", "a#"]), &["a", "b", "ab", "a#"]),
        texts(Domain::one_of(["", "0", "1", "00"]), &["", "0", "1", "00"]),
        Small {
            domain: Domain::integer_range(Some(0), Some(11)),
            values: (0..=11).map(Value::from).collect(),
        },
        Small {
            domain: Domain::integer_range(Some(-1), Some(2)),
            values: (-1..=2).map(Value::from).collect(),
        },
        Small {
            domain: Domain::Bool,
            values: vec![Value::from(false), Value::from(true)],
        },
    ]
}

fn forms(domain: &Domain) -> Vec<Form> {
    let natural = Form::of(domain);
    let mut forms = vec![natural.clone(), Form::Plain, natural.descending_form()];
    forms.extend([Form::Raw, Form::Ordered, Form::Lower, Form::Upper]);
    forms.extend(Form::rank_form(domain));
    forms.retain(|form| form.fits_domain(domain));
    forms
}

/// An entity: the values of its variables, and the templates of its key attributes.
#[derive(Clone, Debug)]
struct Entity {
    variables: BTreeMap<String, Small>,
    templates: Vec<Template>,
}

/// What an attribute is made of, before domains and forms are known.
type Skeleton = Vec<Vec<(u8, Index)>>;

fn skeleton(attributes: usize) -> impl Strategy<Value = Skeleton> {
    let part = (0..5u8, any::<Index>());
    prop::collection::vec(prop::collection::vec(part, 1..5), attributes)
}

/// An entity with few literals between its variables, and values that begin and end alike.
fn crowded_entity() -> impl Strategy<Value = Entity> {
    let part = (prop::sample::select(vec![0, 2, 2, 3, 4]), any::<Index>());
    let attributes = prop::collection::vec(prop::collection::vec(part, 1..5), 1..3);
    let domains = prop::collection::vec(prop::sample::select(small_domains()[..6].to_vec()), 2);
    (attributes, domains).prop_map(|(skeleton, domains)| Entity::new(&skeleton, domains))
}

fn domains() -> impl Strategy<Value = Vec<Small>> {
    prop::collection::vec(prop::sample::select(small_domains()), 2)
}

/// Two entities of which the second is like the first but for a part or a domain here and there:
/// independent ones would hardly ever collide.
fn similar_entities() -> impl Strategy<Value = (Entity, Entity)> {
    let skeletons = (1usize..=2).prop_flat_map(|attributes| (skeleton(attributes), skeleton(attributes)));
    let changed = prop::bool::weighted(0.15);
    let changes = prop::collection::vec(changed, 8);
    (skeletons, domains(), domains(), changes, any::<[bool; 2]>()).prop_map(
        |((one, other), domains, others, changes, kept)| {
            let mut changes = changes.into_iter().cycle();
            let mut two = one.clone();
            for (parts, others) in two.iter_mut().zip(&other) {
                for (part, other) in parts.iter_mut().zip(others.iter().cycle()) {
                    if changes.next() == Some(true) {
                        *part = *other;
                    }
                }
            }
            let choose = |((one, other), kept): ((&Small, Small), bool)| if kept { one.clone() } else { other };
            let second = domains.iter().zip(others).zip(kept).map(choose).collect();
            (Entity::new(&one, domains), Entity::new(&two, second))
        },
    )
}

impl Entity {
    fn new(skeleton: &Skeleton, domains: Vec<Small>) -> Self {
        let variables: BTreeMap<String, Small> = ["x", "y"].map(str::to_owned).into_iter().zip(domains).collect();
        let part = |(choice, detail): &(u8, Index)| {
            let literals = ["#", "#", "#", "a", "b", "A", "0", "a#", "-"];
            if *choice < 2 {
                return Part::text(literals[detail.index(literals.len())]);
            }
            let name = if *choice == 2 { "y" } else { "x" };
            let domain = variables[name].domain.clone();
            let forms = forms(&domain);
            // Every other form is the natural one.
            let form = forms[detail.index(2 * forms.len()).saturating_sub(forms.len())].clone();
            Part::Variable(Variable::new(name, form, domain))
        };
        let template = |parts: &Vec<_>| Template::new(parts.iter().map(part).collect(), Delimiter::default()).unwrap();
        let templates = skeleton.iter().map(template).collect();
        Self { variables, templates }
    }

    /// Every assignment of values to those variables that occur.
    fn assignments(&self) -> Vec<BTreeMap<&str, Value>> {
        let names: HashSet<&str> = self
            .templates
            .iter()
            .flat_map(Template::variable_parts)
            .map(|variable| variable.name.as_str())
            .collect();
        let mut assignments = vec![BTreeMap::new()];
        for (name, small) in self.variables.iter().filter(|(name, _)| names.contains(name.as_str())) {
            let longer = assignments.iter().flat_map(|assignment: &BTreeMap<&str, Value>| {
                small.values.iter().map(|value| {
                    let mut assignment = assignment.clone();
                    assignment.insert(name.as_str(), value.clone());
                    assignment
                })
            });
            assignments = longer.collect();
        }
        assignments
    }

    fn keys(&self, assignment: &BTreeMap<&str, Value>) -> Vec<String> {
        let lookup = |name: &str| assignment.get(name).cloned();
        let key = |template: &Template| {
            template
                .encode_key(lookup)
                .unwrap()
                .unwrap()
                .as_str()
                .unwrap()
                .to_owned()
        };
        self.templates.iter().map(key).collect()
    }

    /// The text of every part of every key.
    fn part_texts(&self, assignment: &BTreeMap<&str, Value>) -> Vec<String> {
        let mut texts = Vec::new();
        for template in &self.templates {
            for variable in template.variable_parts() {
                texts.push(
                    variable
                        .encode_value(&assignment[variable.name.as_str()], template.delimiter())
                        .unwrap(),
                );
            }
        }
        texts
    }

    /// The keys of values given as the text of a witness.
    fn keys_of(&self, named: &[(String, String)]) -> Vec<String> {
        let assignment = self.assignments().into_iter().find(|assignment| {
            named.iter().all(|(name, text)| match assignment.get(name.as_str()) {
                Some(Value::S(value)) => value == text,
                Some(Value::N(number)) => number.to_string() == *text,
                Some(Value::Bool(truth)) => truth.to_string() == *text,
                _ => false,
            })
        });
        self.keys(&assignment.unwrap())
    }
}

fn check_witness(left: &Entity, right: &Entity, witness: &Witness) {
    assert_eq!(left.keys_of(&witness.left), witness.keys);
    assert_eq!(right.keys_of(&witness.right), witness.keys);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn two_entities_collide_if_and_only_if_some_values_do(
        (left, right) in similar_entities(),
    ) {
        let keys: HashSet<Vec<String>> = left.assignments().iter().map(|assignment| left.keys(assignment)).collect();
        let expected = right.assignments().iter().any(|assignment| keys.contains(&right.keys(assignment)));
        match decide_collision(&left.templates, &right.templates) {
            Verdict::Found(witness) => {
                prop_assert!(expected);
                check_witness(&left, &right, &witness);
            }
            Verdict::Never => prop_assert!(!expected),
            Verdict::Undecided => prop_assert!(false, "small domains are decided"),
        }
    }

    #[test]
    fn an_open_end_collides_with_every_key_under_its_prefix((mut left, mut right) in similar_entities()) {
        left.templates.truncate(1);
        right.templates.truncate(1);
        let parts = left.templates[0].parts().iter().cloned().chain([Part::Anything]).collect();
        let open = Template::new(parts, Delimiter::default()).unwrap();
        let prefixes: Vec<String> = left.assignments().iter().flat_map(|assignment| left.keys(assignment)).collect();
        let keys: Vec<String> = right.assignments().iter().flat_map(|assignment| right.keys(assignment)).collect();
        let expected = keys.iter().any(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)));
        match decide_collision(&[open], &right.templates) {
            Verdict::Found(witness) => {
                prop_assert!(expected && keys.contains(&witness.keys[0]));
                let prefix = left.keys_of(&witness.left).remove(0);
                prop_assert!(witness.keys[0].starts_with(&prefix));
            }
            Verdict::Never => prop_assert!(!expected),
            Verdict::Undecided => prop_assert!(false, "small domains are decided"),
        }
    }

    #[test]
    fn an_entity_is_ambiguous_if_and_only_if_some_key_has_two_readings(entity in crowded_entity()) {
        let mut readings: HashMap<Vec<String>, HashSet<Vec<String>>> = HashMap::new();
        for assignment in entity.assignments() {
            readings.entry(entity.keys(&assignment)).or_default().insert(entity.part_texts(&assignment));
        }
        let expected = readings.values().any(|readings| readings.len() > 1);
        match decide_ambiguity(&entity.templates) {
            Verdict::Found(witness) => {
                prop_assert!(expected && witness.left != witness.right);
                check_witness(&entity, &entity, &witness);
            }
            Verdict::Never => prop_assert!(!expected),
            Verdict::Undecided => prop_assert!(false, "small domains are decided"),
        }
    }

    #[test]
    fn what_escaped_strings_make_equal_is_found(
        left in "[ab#$]{0,2}", right in "[ab#$]{0,2}", raw in "[ab#$]{0,3}",
    ) {
        // Domains without end are only searched in one direction: what is known to be equal is found.
        let strings = |name, form| Part::Variable(Variable::new(name, form, Domain::text(0, Some(2))));
        let escaped = vec![strings("x", Form::Escaped), Part::text("#"), strings("y", Form::Escaped)];
        let escaped = [Template::new(escaped, Delimiter::default()).unwrap()];
        let values = HashMap::from([("x", left), ("y", right)]);
        let key = escaped[0].encode_key(|name| values.get(name).map(|text| Value::from(text.as_str()))).unwrap().unwrap();
        let literal = |text: &str| [Template::text(text, Delimiter::default())];
        prop_assert!(decide_collision(&escaped, &literal(key.as_str().unwrap())).witness().is_some());
        let readable = escaped[0].decode_key(&Value::from(raw.as_str())).is_ok();
        prop_assert_eq!(decide_collision(&escaped, &literal(&raw)).witness().is_some(), readable);
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn a_key_decodes_to_its_values_unless_it_has_two_readings(mut entity in crowded_entity()) {
        entity.templates.truncate(1);
        let template = &entity.templates[0];
        let readable: HashSet<&str> = template
            .variable_parts()
            .filter(|variable| !variable.form.is_lossy())
            .map(|variable| variable.name.as_str())
            .collect();
        let mut readings: HashMap<Vec<String>, HashSet<Vec<Value>>> = HashMap::new();
        for assignment in entity.assignments() {
            let values = assignment.iter().filter(|(name, _)| readable.contains(*name));
            let values = values.map(|(_, value)| value.clone()).collect();
            readings.entry(entity.keys(&assignment)).or_default().insert(values);
        }
        for assignment in entity.assignments() {
            let keys = entity.keys(&assignment);
            match template.decode_key(&Value::from(keys[0].as_str())) {
                Ok(values) => {
                    prop_assert_eq!(readings[&keys].len(), 1);
                    for (name, value) in values {
                        prop_assert_eq!(&value, &assignment[name.as_str()]);
                    }
                }
                Err(error) => {
                    prop_assert!(matches!(error, DecodeError::Ambiguous { .. }), "{}", error);
                    prop_assert!(readings[&keys].len() > 1, "{}", error);
                }
            }
        }
    }
}
