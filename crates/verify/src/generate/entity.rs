//! The table and its entities.

use fastrand::Rng;

use super::keys::{
    can_stand_alone, drawn_parts, drawn_template, key_type, part_names, primary_key, row_condition, unsorted_primary,
};
use super::kinds::{
    ANYTHING, COMPUTED, COUNTS, ENDING, ID, KINDS, NUMBERS, PLACE, STATE, TOMBSTONE, TYPES, VERSION, WORDS,
};
use super::{AttributeRemark, DrawnKeyPart, GeneratedAttribute, GeneratedEntity, GeneratedPath, StoredShape, tail};

/// Names of attributes that are also words elsewhere: of functions, of the grammar, of others' attributes.
const ODD_NAMES: &[&str] = &["size", "day", "count", "index", "name", "key"];

/// A file up to its reads, and what its entities are.
pub(super) fn table_text(rng: &mut Rng) -> (String, Vec<GeneratedEntity>) {
    let two = rng.u8(..3) == 0;
    let mut made = vec![EntityDraft::new(rng, "E", "a")];
    // Rows of both may have attributes of one name, of any types.
    let same_names = two && rng.u8(..3) == 0;
    if two {
        made.push(EntityDraft::new(rng, "F", if same_names { "a" } else { "b" }));
    }
    let mut indexes = String::new();
    for index in ["GX1", "GX2"] {
        let project = match rng.u8(..6) {
            0 => ", project: keys",
            1 => ", project: [a3, b4]",
            2 => ", project: all",
            _ => "",
        };
        let sort = if rng.u8(..8) == 0 {
            String::new()
        } else {
            format!(", sort: {index}S")
        };
        let claim = match rng.u8(..24) {
            0 => ", claim: {unique: true}",
            1 => ", claim: {backfilled: true}",
            _ => "",
        };
        indexes.push_str(&format!("    {index}: {{partition: {index}P{sort}{project}{claim}}}\n"));
        for entity in &mut made {
            entity.index(rng, index, !sort.is_empty());
        }
    }
    let alone = made.len() == 1 && rng.u8(..3) == 0;
    let bytes = KINDS.iter().find(|kind| kind.shape == StoredShape::Bytes);
    if let (Some(kind), Some(first), true) = (bytes, made.first_mut(), alone && rng.u8(..3) == 0) {
        first.attributes.push(GeneratedAttribute::new(rng, "raw", kind, false));
    }
    let unsorted = alone && rng.u8(..3) == 0 && made.iter().all(|entity| !entity.history);
    // An attribute of another entity that has the name of an index key must have its type.
    let is_shared = made.split_first().is_some_and(|(first, others)| {
        let mut names = others
            .iter()
            .flat_map(|other| &other.attributes)
            .map(|other| &other.name);
        names.any(|name| ODD_NAMES.contains(&name.as_str()) && first.attributes.iter().any(|own| own.name == *name))
    });
    if let Some(first) = made.first_mut().filter(|_| !same_names && !is_shared) {
        indexes.push_str(&first.own_indexes(rng, unsorted));
    }
    let mut types = ("string", "string");
    for entity in &mut made {
        types = entity.primary(rng, alone, unsorted);
    }
    if types == ("string", "string")
        && !unsorted
        && rng.u8(..4) == 0
        && let Some(first) = made.first_mut()
    {
        first.mirror(rng);
    }
    made.iter_mut().for_each(|entity| entity.keep_in_index(rng));
    let zone = rng
        .choice(["UTC", "UTC", "America/New_York", "Pacific/Auckland"])
        .unwrap_or_default();
    let mut text = format!("singlet: 1\nname: made\nzone: {zone}\ntable:\n  name: made\n");
    let sort = match unsorted {
        true => String::new(),
        false => format!(", sort: {{name: SK, type: {}}}", types.1),
    };
    let is_only = made.len() == 1 && made.iter().all(|entity| entity.mirror.is_empty());
    let kind = match (is_only && rng.bool(), two && rng.u8(..6) == 0) {
        (true, _) => "",
        (false, true) => "  type: none\n",
        (false, false) => "  type: Kind\n",
    };
    let delimiter = rng.choice(["#", "#", "#", "|", "/", "_"]).unwrap_or("#");
    let key = format!("{{partition: {{name: PK, type: {}}}{sort}}}", types.0);
    text.push_str(&format!("  key: {key}\n  indexes:\n{indexes}{kind}  ttl: ttl\n"));
    text.push_str(&tail::table_options(rng));
    text.push_str(TYPES);
    text.push_str(&tail::drawn_callers(rng));
    text.push_str("entities:\n");
    made.iter().for_each(|entity| text.push_str(&entity.text(rng)));
    let mut made: Vec<GeneratedEntity> = made.into_iter().map(EntityDraft::done).collect();
    if delimiter != "#" {
        // Templates are written with the usual one, and `#` stands nowhere else in the text.
        text = text.replace('#', delimiter);
        text = text.replace("  ttl: ttl\n", &format!("  ttl: ttl\n  delimiter: \"{delimiter}\"\n"));
        let paths = made.iter_mut().flat_map(|entity| &mut entity.paths);
        for (_, template) in paths.flat_map(|path| &mut path.templates) {
            *template = template.replace('#', delimiter);
        }
    }
    (text, made)
}

/// Lets some attributes be stored under another name, be another name of one, or be computed from one.
fn derive(rng: &mut Rng, attributes: &mut Vec<GeneratedAttribute>, letter: &str) {
    for attribute in attributes.iter_mut() {
        if rng.u8(..10) == 0 {
            attribute.said = AttributeRemark::Stored;
        }
    }
    let required = attributes.iter().filter(|attribute| !attribute.optional);
    let Some(of) = rng.choice(required.collect::<Vec<_>>()).cloned() else {
        return;
    };
    let said = match (rng.u8(..8), of.kind.free_text) {
        (0, _) => of.name.clone(),
        (1, true) => format!("lower({})", of.name),
        (1, false) if of.kind.ty == "int 0..3" => format!("{} + 1", of.name),
        _ => return,
    };
    let kind = match said.as_str() {
        computed if computed.starts_with("lower") => KINDS.first().unwrap_or(of.kind),
        computed if computed.ends_with("+ 1") => &COMPUTED,
        _ => of.kind,
    };
    attributes.push(GeneratedAttribute {
        name: format!("{letter}is"),
        kind,
        said: AttributeRemark::Is(said),
        ..of
    });
}

struct EntityDraft {
    name: &'static str,
    attributes: Vec<GeneratedAttribute>,
    paths: Vec<GeneratedPath>,
    /// The parts of its primary key.
    primary: Vec<DrawnKeyPart>,
    key: String,
    index: String,
    /// Another row of each row, as the model writes it.
    mirror: String,
    /// What the local index sorts by.
    local: Option<DrawnKeyPart>,
    lapses: bool,
    expires: bool,
    history: bool,
    /// Whether its object is of a named type.
    named_spot: bool,
    unique: bool,
}

impl EntityDraft {
    fn new(rng: &mut Rng, name: &'static str, letter: &str) -> Self {
        let mut attributes: Vec<GeneratedAttribute> = Vec::new();
        for at in 0..6_u8 {
            if let Some(kind) = rng.choice(KINDS.iter()) {
                // The primary key needs some that are always there.
                let optional = at > 2 && rng.u8(..3) == 0;
                let odd = rng.choice(ODD_NAMES).copied().filter(|_| at == 5 && rng.u8(..3) == 0);
                let name = odd.map_or_else(|| format!("{letter}{at}"), str::to_owned);
                attributes.push(GeneratedAttribute::new(rng, name, kind, optional));
            }
        }
        let [lapses, expires, history] = [5, 5, 5].map(|one_in| rng.u8(..one_in) == 0);
        let expires = expires && !history;
        let mut added = Vec::new();
        if lapses {
            added.extend([("state", &STATE, false), ("until_free", &ENDING, true)]);
        }
        if expires {
            added.push(("ends", &ENDING, true));
        }
        if history {
            added.extend([
                ("at", &VERSION, false),
                ("until", &VERSION, true),
                ("gone", &TOMBSTONE, false),
            ]);
        }
        if rng.u8(..5) == 0 {
            added.push(("place", &PLACE, rng.u8(..3) == 0));
        }
        if rng.u8(..5) == 0 {
            added.push(("words", &WORDS, rng.bool()));
        }
        for (name, kind) in [("numbers", &NUMBERS), ("counts", &COUNTS), ("any", &ANYTHING)] {
            if rng.u8(..12) == 0 {
                added.push((name, kind, rng.bool()));
            }
        }
        let named_spot = rng.u8(..4) == 0;
        if rng.u8(..4) == 0 {
            let city = KINDS.first().unwrap_or(&ID);
            let few = KINDS.get(3).unwrap_or(city);
            let any = rng.choice(KINDS.iter().filter(|kind| kind.form.is_empty()).collect::<Vec<_>>());
            let fields = match named_spot {
                true => [("spot.city", city, false), ("spot.n", few, false)],
                false => [("spot.city", city, rng.bool()), ("spot.n", any.unwrap_or(city), false)],
            };
            added.extend(fields);
        }
        let many = rng.bool();
        if many {
            added.push(("id", &ID, false));
        }
        derive(rng, &mut attributes, letter);
        for (name, kind, optional) in added {
            attributes.push(GeneratedAttribute::new(rng, name, kind, optional));
        }
        EntityDraft {
            name,
            attributes,
            paths: Vec::new(),
            primary: Vec::new(),
            key: String::new(),
            index: String::new(),
            mirror: String::new(),
            local: None,
            lapses,
            expires,
            history,
            named_spot,
            unique: many && !history && rng.u8(..8) == 0,
        }
    }

    /// The primary key; the types of its two attributes.
    fn primary(&mut self, rng: &mut Rng, alone: bool, unsorted: bool) -> (&'static str, &'static str) {
        let made = match unsorted {
            true => unsorted_primary(rng, &self.attributes),
            false => primary_key(rng, self.name, &self.attributes, self.history, alone),
        };
        self.key = made.text.clone();
        let condition = row_condition(rng, &self.attributes).filter(|_| !alone && !self.history && rng.u8(..6) == 0);
        if let Some((when, contrary)) = condition {
            let other = primary_key(rng, self.name, &self.attributes, false, false);
            self.key = format!(
                "\n      - {{when: '{when}', {}\n      - {}",
                other.text.trim_start_matches('{'),
                made.text
            );
            self.paths.push(GeneratedPath {
                when: Some(when),
                ..other.path
            });
            self.paths.push(GeneratedPath {
                when: Some(contrary),
                ..made.path.clone()
            });
        }
        self.primary = made.path.partition.iter().chain(&made.path.sort).cloned().collect();
        if !self.key.starts_with('\n') {
            self.keep_in_key(rng);
        }
        self.paths.extend(self.local.take().map(|local| GeneratedPath {
            partition: made.path.partition.clone(),
            sort: vec![local],
            index: Some("LX1".to_owned()),
            ..GeneratedPath::default()
        }));
        self.paths.push(made.path);
        made.types
    }

    /// Lets an attribute that the primary key has whole stand only there.
    fn keep_in_key(&mut self, rng: &mut Rng) {
        let Some(part) = rng
            .choice(&self.primary)
            .filter(|part| part.function.is_empty() && rng.u8(..3) == 0)
        else {
            return;
        };
        let is_own_key = |path: &GeneratedPath| {
            path.partition
                .iter()
                .chain(&path.sort)
                .all(|part| part.function.is_empty())
        };
        let name = &part.attribute.name;
        let is_taken = (self.index.contains("own") && self.paths.iter().any(is_own_key))
            || self.local.as_ref().is_some_and(|local| local.attribute.name == *name);
        for attribute in &mut self.attributes {
            if attribute.name == *name && attribute.said == AttributeRemark::Nothing && !name.contains('.') && !is_taken
            {
                attribute.said = AttributeRemark::KeyOnly;
            }
        }
    }

    /// Lets an attribute stand only in the key of an index, where every row has that key.
    fn keep_in_index(&mut self, rng: &mut Rng) {
        let of_others = self.paths.iter().filter(|path| path.templates.is_empty());
        let taken: Vec<&DrawnKeyPart> = of_others
            .flat_map(|path| path.partition.iter().chain(&path.sort))
            .collect();
        let is_free = |part: &DrawnKeyPart| {
            let attribute = &part.attribute;
            let is_named =
                ["state", "until_free", "at", "until", "gone", "id", "ends"].contains(&attribute.name.as_str());
            let is_plain =
                part.function.is_empty() && attribute.said == AttributeRemark::Nothing && !attribute.name.contains('.');
            let is_taken = taken.iter().any(|other| other.attribute.name == attribute.name);
            is_plain && !is_named && !is_taken
        };
        let mut found = None;
        for path in self.paths.iter().filter(|path| !path.templates.is_empty()) {
            let index = path.index.as_deref().unwrap_or_default();
            // Several templates by condition stand below one another.
            if index.is_empty() || !self.index.contains(&format!("      {index}: {{")) {
                continue;
            }
            for side in [&path.partition, &path.sort] {
                let unsure = side.iter().filter(|part| part.attribute.optional);
                let unsure: Vec<&str> = unsure.map(|part| part.attribute.name.as_str()).collect();
                let alone = |part: &&DrawnKeyPart| unsure.iter().all(|name| *name == part.attribute.name);
                found = found.or_else(|| {
                    side.iter()
                        .find(|part| is_free(part) && alone(part))
                        .map(|part| part.attribute.name.clone())
                });
            }
        }
        let Some(name) = found.filter(|_| self.mirror.is_empty() && rng.u8(..5) == 0) else {
            return;
        };
        let kept = self.attributes.iter_mut().filter(|attribute| attribute.name == name);
        kept.for_each(|attribute| attribute.said = AttributeRemark::KeyOnly);
    }

    /// An index with templates of its own: one, or two of which the first has a condition.
    fn index(&mut self, rng: &mut Rng, index: &str, sorted: bool) {
        let conditions = rng.u8(..3) == 0;
        let current = ("until == absent && !gone".to_owned(), "until != absent".to_owned());
        let condition = match self.history && rng.bool() {
            true => Some(current),
            false => row_condition(rng, &self.attributes).filter(|_| conditions),
        };
        let choices = match &condition {
            None => vec![(None, None)],
            Some((when, _)) if rng.u8(..3) == 0 => vec![(Some(when), Some(when))],
            Some((when, contrary)) => vec![(Some(when), Some(when)), (None, Some(contrary))],
        };
        let mut entries = Vec::new();
        for (when, said) in choices {
            let partitions = 1 + rng.usize(..2);
            let before = self.paths.last().filter(|_| !entries.is_empty() && rng.bool());
            // Rows of both templates may then lie side by side.
            let partition = match before {
                Some(before) => before.partition.clone(),
                None => drawn_parts(rng, &self.attributes, partitions, false, &[]),
            };
            let sorts = 1 + rng.usize(..3);
            let sort = drawn_parts(rng, &self.attributes, sorts, false, &partition);
            let prefix = rng.choice(["", "S#", "X#Y#"]).unwrap_or_default();
            // No key is empty.
            let prefix = if sort.len() <= 1 && prefix.is_empty() {
                "S#"
            } else {
                prefix
            };
            let condition = when.map(|when| format!("when: '{when}', ")).unwrap_or_default();
            let mut templates = vec![(format!("{index}P"), drawn_template(rng, "I#", &partition))];
            if sorted {
                templates.push((format!("{index}S"), drawn_template(rng, prefix, &sort)));
            }
            let keys: Vec<String> = templates.iter().map(|(name, text)| format!("{name}: {text}")).collect();
            entries.push(format!("{{{condition}{}}}", keys.join(", ")));
            self.paths.push(GeneratedPath {
                partition,
                sort: if sorted { sort } else { Vec::new() },
                // Without a word, a read of what has versions means the current ones.
                when: said.filter(|_| !self.history).cloned(),
                index: Some(index.to_owned()),
                templates,
            });
        }
        match entries.as_slice() {
            [one] if condition.is_none() => self.index.push_str(&format!("      {index}: {one}\n")),
            several => {
                self.index.push_str(&format!("      {index}:\n"));
                several
                    .iter()
                    .for_each(|entry| self.index.push_str(&format!("        - {entry}\n")));
            }
        }
    }

    /// Indexes whose keys are attributes as they are, several for each side; and a local one.
    fn own_indexes(&mut self, rng: &mut Rng, unsorted: bool) -> String {
        let fit = |part: &DrawnKeyPart| {
            let attribute = &part.attribute;
            can_stand_alone(attribute.kind)
                && attribute.name != "state"
                && attribute.said == AttributeRemark::Nothing
                && !attribute.name.contains('.')
        };
        let mut own = drawn_parts(rng, &self.attributes, 8, false, &[]);
        own.retain(fit);
        own.iter_mut().for_each(|part| part.function = "");
        let mut text = String::new();
        let several = own.len() >= 3 && rng.bool();
        if several {
            let partition = own.split_off(own.len() - 1 - rng.usize(..2).min(own.len() - 2));
            own.truncate(1 + rng.usize(..2));
            text = match (partition.as_slice(), own.as_slice()) {
                ([one], [other]) if rng.bool() => {
                    let typed = |part: &DrawnKeyPart| {
                        let (name, ty) = (part.attribute.root(), key_type(part.attribute.kind));
                        format!("{{name: {name}, type: {ty}}}")
                    };
                    format!("    GX3: {{partition: {}, sort: {}}}\n", typed(one), typed(other))
                }
                _ => format!(
                    "    GX3: {{partition: [{}], sort: [{}]}}\n",
                    part_names(&partition),
                    part_names(&own)
                ),
            };
            self.index.push_str("      GX3: own\n");
            self.paths.push(GeneratedPath {
                partition,
                sort: own,
                index: Some("GX3".to_owned()),
                ..GeneratedPath::default()
            });
        }
        if !unsorted
            && rng.u8(..3) == 0
            && let Some(part) = drawn_parts(rng, &self.attributes, 8, false, &[])
                .into_iter()
                .find(|part| fit(part))
        {
            text.push_str(&format!("    LX1: {{local: true, sort: {}}}\n", part.attribute.name));
            self.index.push_str("      LX1: own\n");
            self.local = Some(DrawnKeyPart { function: "", ..part });
        }
        text
    }

    /// Another row of each row, found by other attributes; it carries all, or only some.
    fn mirror(&mut self, rng: &mut Rng) {
        // Rows with other primary keys might share a mirror's.
        if self.history || self.key.starts_with('\n') {
            return;
        }
        let may_be_absent = rng.u8(..3) == 0;
        let both = rng.bool();
        let partition = self.mirror_parts(rng, may_be_absent && both, &[]);
        let mut sort = self.mirror_parts(rng, may_be_absent, &partition);
        // A mirror's key tells the same rows apart as the row's own.
        let is_new = |part: &&DrawnKeyPart| !sort.iter().any(|known| known.attribute.name == part.attribute.name);
        let own: Vec<DrawnKeyPart> = self.primary.iter().filter(is_new).cloned().collect();
        sort.iter_mut().for_each(|part| part.function = "");
        sort.extend(own.into_iter().map(|part| DrawnKeyPart { function: "", ..part }));
        let carried = drawn_parts(rng, &self.attributes, 3, false, &[]);
        let carries = match rng.bool() {
            true => "all".to_owned(),
            false => format!("[{}]", part_names(&carried)),
        };
        self.mirror = format!(
            "  M:\n    mirrors: {}\n    carries: {carries}\n    key: {{PK: {}, SK: {}}}\n",
            self.name,
            drawn_template(rng, "M#", &partition),
            drawn_template(rng, "M#", &sort)
        );
        self.paths.push(GeneratedPath {
            partition,
            sort,
            ..GeneratedPath::default()
        });
    }

    /// A part of a mirror's key. Where it may be absent, rows without it have no mirror.
    fn mirror_parts(&self, rng: &mut Rng, may_be_absent: bool, except: &[DrawnKeyPart]) -> Vec<DrawnKeyPart> {
        if !may_be_absent {
            return drawn_parts(rng, &self.attributes, 1, true, except);
        }
        let there = self.attributes.iter().cloned().map(|attribute| GeneratedAttribute {
            optional: false,
            ..attribute
        });
        let chosen = drawn_parts(rng, &there.collect::<Vec<_>>(), 1, true, except);
        let own = |part: DrawnKeyPart| {
            let own = self.attributes.iter().find(|known| known.name == part.attribute.name)?;
            Some(DrawnKeyPart {
                attribute: own.clone(),
                ..part
            })
        };
        chosen.into_iter().filter_map(own).collect()
    }

    fn text(&self, rng: &mut Rng) -> String {
        let mut text = format!("  {}:\n    attributes:\n", self.name);
        let (fields, own): (Vec<_>, Vec<_>) = self
            .attributes
            .iter()
            .partition(|attribute| attribute.name.contains('.'));
        for attribute in own {
            text.push_str(&format!("      {}: {}\n", attribute.name, attribute.declared()));
        }
        let fields = fields.into_iter().filter_map(|field| {
            let (_, name) = field.name.split_once('.')?;
            Some(format!("          {name}: {}\n", field.declared()))
        });
        let fields: String = fields.collect();
        if self.named_spot && !fields.is_empty() {
            text.push_str("      spot: Spot\n");
        } else if !fields.is_empty() {
            text.push_str(&format!("      spot:\n        object:\n{fields}"));
        }
        text.push_str(&format!("    key: {}\n    index:\n{}", self.key, self.index));
        if self.lapses {
            text.push_str(
                "    states:\n      of: state\n      start: free\n      moves: {hold: free -> held, end: held -> gone}\n",
            );
            text.push_str(
                "      while: {held: {until_free: now + hours(1)}}\n      lapse: {held: 'free at until_free'}\n",
            );
        }
        if self.expires {
            text.push_str("    expires: ends\n");
        }
        if self.history {
            let same = if rng.bool() { "keep" } else { "again" };
            text.push_str(&format!(
                "    history: {{at: at, until: until, tombstone: gone, same: {same}}}\n"
            ));
        }
        if self.unique {
            text.push_str("    unique: {id: id}\n");
        }
        let first = self.attributes.first().map(|attribute| attribute.name.as_str());
        text.push_str(&tail::entity_claim(rng, first.unwrap_or_default()));
        text + &self.mirror
    }

    fn done(self) -> GeneratedEntity {
        let shared = self.primary.iter().map(|part| part.attribute.name.clone());
        let has_functions = self.primary.iter().any(|part| !part.function.is_empty());
        let is_given =
            |part: &DrawnKeyPart| part.attribute.is_sure() && !matches!(part.attribute.said, AttributeRemark::Is(_));
        GeneratedEntity {
            name: self.name.to_owned(),
            has_one_key: !self.key.starts_with('\n') && !has_functions && self.primary.iter().all(is_given),
            unique: self.unique,
            identity: self.history.then(|| shared.filter(|name| name != "at").collect()),
            attributes: self.attributes,
            primary: self.primary,
            paths: self.paths,
        }
    }
}
