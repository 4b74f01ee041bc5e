//! The table and its entities.

use fastrand::Rng;

use super::kinds::{ENDING, KINDS, STATE, TYPES};
use super::{GeneratedAttribute, GeneratedEntity, Kind, Part, Path, Shape};

/// A file up to its reads, and what its entities are.
pub(super) fn table(rng: &mut Rng) -> (String, Vec<GeneratedEntity>) {
    let two = rng.u8(..3) == 0;
    let mut made = vec![Entity::new(rng, "E", "a")];
    if two {
        made.push(Entity::new(rng, "F", "b"));
    }
    let mut indexes = String::new();
    for index in ["G1", "G2"] {
        indexes.push_str(&format!("    {index}: {{partition: {index}P, sort: {index}S}}\n"));
        for entity in &mut made {
            entity.index(rng, index);
        }
    }
    if let Some(first) = made.first_mut() {
        indexes.push_str(&first.own_indexes(rng));
    }
    let whole = made.len() == 1 && rng.u8(..4) == 0;
    let sort_type = made.iter_mut().map(|entity| entity.primary(rng, whole)).last().unwrap_or_default();
    let mut text = format!(
        "singlet: 1\nname: made\ntable:\n  name: made\n  key: {{partition: PK, sort: {{name: SK, type: {sort_type}}}}}\n  indexes:\n{indexes}  type: Kind\n  ttl: ttl\n{TYPES}callers:\n  jwt: {{audience: made, claims: {{id: sub}}}}\nentities:\n"
    );
    made.iter().for_each(|entity| text.push_str(&entity.text()));
    let entities = made.into_iter().map(Entity::done).collect();
    (text, entities)
}

struct Entity {
    name: &'static str,
    attributes: Vec<GeneratedAttribute>,
    paths: Vec<Path>,
    key: String,
    index: String,
    lapses: bool,
    expires: bool,
}

impl Entity {
    fn new(rng: &mut Rng, name: &'static str, letter: &str) -> Self {
        let mut attributes: Vec<GeneratedAttribute> = Vec::new();
        for at in 0..6_u8 {
            if let Some(kind) = rng.choice(KINDS) {
                attributes.push(GeneratedAttribute {
                    name: format!("{letter}{at}"),
                    kind,
                    // The primary key needs some that are always there.
                    optional: at > 2 && rng.u8(..3) == 0,
                });
            }
        }
        let (lapses, expires) = (rng.u8(..5) == 0, rng.u8(..5) == 0);
        let mut add = |name: &str, kind: &'static Kind, optional: bool| {
            attributes.push(GeneratedAttribute {
                name: name.to_owned(),
                kind,
                optional,
            });
        };
        if lapses {
            add("state", &STATE, false);
            add("until", &ENDING, true);
        }
        if expires {
            add("ends", &ENDING, true);
        }
        Entity {
            name,
            attributes,
            paths: Vec::new(),
            key: String::new(),
            index: String::new(),
            lapses,
            expires,
        }
    }

    /// Some attributes for a key, each once.
    fn parts(&self, rng: &mut Rng, count: usize, required: bool, except: &[Part]) -> Vec<Part> {
        let taken = |name: &str| except.iter().any(|part| part.attribute.name == name);
        let mut free: Vec<&GeneratedAttribute> = self
            .attributes
            .iter()
            .filter(|attribute| !(required && attribute.optional) && !taken(&attribute.name))
            .filter(|attribute| !required || attribute.name != "state")
            .collect();
        rng.shuffle(&mut free);
        free.into_iter()
            .take(count)
            .map(|attribute| Part {
                attribute: attribute.clone(),
                function: rng.choice(attribute.kind.functions).copied().unwrap_or_default(),
            })
            .collect()
    }

    /// The primary key; the type of its sort key.
    fn primary(&mut self, rng: &mut Rng, whole: bool) -> &'static str {
        let partition = self.parts(rng, 1, true, &[]);
        let count = if whole { 1 } else { 1 + rng.usize(..2) };
        let mut sort = self.parts(rng, count, true, &partition);
        let alone = sort.first().filter(|part| whole && can_stand_alone(part.attribute.kind)).cloned();
        let (text, ty) = match alone {
            Some(part) => {
                let ty = if part.attribute.kind.shape == Shape::Number { "number" } else { "string" };
                sort = vec![Part { function: "", ..part }];
                (template("", &sort), ty)
            }
            None => (template(&format!("{}#", self.name), &sort), "string"),
        };
        self.key = format!("{{PK: {}, SK: {text}}}", template("P#", &partition));
        self.paths.push(Path {
            partition,
            sort,
            when: None,
        });
        ty
    }

    /// An index with templates of its own: one, or two of which the first has a condition.
    fn index(&mut self, rng: &mut Rng, index: &str) {
        let conditions = rng.u8(..3) == 0;
        let when = self.when(rng).filter(|_| conditions);
        let mut entries = Vec::new();
        for (at, when) in [when.clone(), None].into_iter().enumerate() {
            if at == 1 && (when.is_none() && conditions && rng.bool()) {
                break;
            }
            let partitions = 1 + rng.usize(..2);
            let partition = self.parts(rng, partitions, false, &[]);
            let sorts = 1 + rng.usize(..3);
            let sort = self.parts(rng, sorts, false, &partition);
            let prefix = rng.choice(["", "S#", "X#Y#"]).unwrap_or_default();
            let prefix = if sort.len() == 1 && prefix.is_empty() { "S#" } else { prefix };
            let condition = when.as_ref().map(|when| format!("when: '{when}', ")).unwrap_or_default();
            let keys = format!("{index}P: {}, {index}S: {}", template("I#", &partition), template(prefix, &sort));
            entries.push(format!("{{{condition}{keys}}}"));
            let conditional = entries.len() > 1;
            if !conditional {
                self.paths.push(Path { partition, sort, when });
            }
            if at == 0 && !conditions {
                break;
            }
        }
        match entries.as_slice() {
            [one] if !one.contains("when:") => self.index.push_str(&format!("      {index}: {one}\n")),
            several => {
                self.index.push_str(&format!("      {index}:\n"));
                several.iter().for_each(|entry| self.index.push_str(&format!("        - {entry}\n")));
            }
        }
    }

    /// A condition on the row.
    fn when(&self, rng: &mut Rng) -> Option<String> {
        let small = self.attributes.iter().filter(|attribute| attribute.kind.small && attribute.name != "state");
        let small: Vec<_> = small.collect();
        let attribute = rng.choice(small)?;
        let word = rng.choice(attribute.kind.pool)?;
        Some(match attribute.kind.shape {
            Shape::Text => format!("{} == \"{word}\"", attribute.name),
            Shape::Number => format!("{} == {word}", attribute.name),
            Shape::Bool => attribute.name.clone(),
        })
    }

    /// Indexes whose keys are attributes as they are, several for each side; and a local one.
    fn own_indexes(&mut self, rng: &mut Rng) -> String {
        let fit = |part: &Part| can_stand_alone(part.attribute.kind) && part.attribute.name != "state";
        let mut parts = self.parts(rng, 8, false, &[]);
        parts.retain(fit);
        parts.iter_mut().for_each(|part| part.function = "");
        let mut text = String::new();
        let several = parts.len() >= 3 && rng.bool();
        if several {
            let partition = parts.split_off(parts.len() - 1 - rng.usize(..2).min(parts.len() - 2));
            parts.truncate(1 + rng.usize(..2));
            let names = |parts: &[Part]| parts.iter().map(|part| part.attribute.name.clone()).collect::<Vec<_>>().join(", ");
            text = format!("    G3: {{partition: [{}], sort: [{}]}}\n", names(&partition), names(&parts));
            self.index.push_str("      G3: own\n");
            self.paths.push(Path {
                partition,
                sort: parts,
                when: None,
            });
        }
        text
    }

    fn text(&self) -> String {
        let mut text = format!("  {}:\n    attributes:\n", self.name);
        for attribute in &self.attributes {
            let ty = match (attribute.optional, attribute.kind.ty.split_once(' ')) {
                (false, _) => attribute.kind.ty.to_owned(),
                (true, Some((ty, limits))) => format!("{ty}? {limits}"),
                (true, None) => format!("{}?", attribute.kind.ty),
            };
            text.push_str(&format!("      {}: '{ty}'\n", attribute.name));
        }
        text.push_str(&format!("    key: {}\n    index:\n{}", self.key, self.index));
        if self.lapses {
            text.push_str("    states:\n      of: state\n      start: free\n      moves: {hold: free -> held, end: held -> gone}\n");
            text.push_str("      while: {held: {until: now + hours(1)}}\n      lapse: {held: 'free at until'}\n");
        }
        if self.expires {
            text.push_str("    expires: ends\n");
        }
        text
    }

    fn done(self) -> GeneratedEntity {
        GeneratedEntity {
            name: self.name.to_owned(),
            attributes: self.attributes,
            paths: self.paths,
        }
    }
}

fn can_stand_alone(kind: &Kind) -> bool {
    kind.shape != Shape::Bool && !kind.may_be_empty()
}

fn template(prefix: &str, parts: &[Part]) -> String {
    let parts = parts.iter().map(|part| match part.function {
        "" => format!("{{{}}}", part.attribute.name),
        function => format!("{{{function}({})}}", part.attribute.name),
    });
    format!("\"{prefix}{}\"", parts.collect::<Vec<_>>().join("#"))
}
