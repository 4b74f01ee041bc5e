//! What keeps two models from sharing the rows of one table.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::types::{Lack, TypeFace};
use crate::{AttributeFace, ChoiceFace, EntityFace, Face, key_attributes};

/// Who else may be at work on the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Company {
    /// Nobody: the other model wrote rows before, and is gone.
    Alone,
    /// Processes of the other model may still run, and read what this one writes.
    Shared,
}

/// Something of which rows of one model are not rightly read by another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The entity, where it is one's.
    pub entity: Option<String>,
    /// Of what: `attribute due`, `index GSI1`.
    pub part: String,
    /// What the model that wrote rows has there.
    pub was: String,
    /// What the model that opens the table has there.
    pub is: String,
    /// What would come of it.
    pub so: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entity) = &self.entity {
            write!(out, "`{entity}`, ")?;
        }
        write!(out, "{}: was {}, is {}; {}", self.part, self.was, self.is, self.so)
    }
}

/// What keeps a model from working on a table in which another wrote rows: none, where it reads all of them rightly and, in
/// company, the other reads rightly what this one writes.
pub fn face_differences(wrote: &Face, opens: &Face, company: Company) -> Vec<Difference> {
    let mut found = Reading::of(wrote, opens).found;
    if company == Company::Shared {
        let known: BTreeSet<(Option<String>, String)> = found
            .iter()
            .map(|known| (known.entity.clone(), known.part.clone()))
            .collect();
        let back = Reading::back(wrote, opens).found.into_iter();
        // Said once: what hinders both ways is said of the way that comes first.
        found.extend(back.filter(|other| !known.contains(&(other.entity.clone(), other.part.clone()))));
    }
    found.sort();
    found
}

/// One face reads what another wrote.
struct Reading<'f> {
    writer: &'f Face,
    reader: &'f Face,
    /// Whether the reader is the model of before, in a process that still runs.
    is_back: bool,
    found: Vec<Difference>,
}

const NOTHING: &str = "nothing";

impl<'f> Reading<'f> {
    fn of(wrote: &'f Face, opens: &'f Face) -> Self {
        let mut reading = Reading {
            writer: wrote,
            reader: opens,
            is_back: false,
            found: Vec::new(),
        };
        reading.compare();
        reading
    }

    fn back(wrote: &'f Face, opens: &'f Face) -> Self {
        let mut reading = Reading {
            writer: opens,
            reader: wrote,
            is_back: true,
            found: Vec::new(),
        };
        reading.compare();
        reading
    }

    /// Notes a difference between what the writer and the reader have.
    fn note(&mut self, entity: Option<&str>, part: String, writer: String, reader: String, so: &str) {
        let (was, is) = if self.is_back {
            (reader, writer)
        } else {
            (writer, reader)
        };
        let so = match self.is_back {
            true => format!(
                "a process of the other model that still runs would not read rightly what this one writes ({so})"
            ),
            false => so.to_owned(),
        };
        self.found.push(Difference {
            entity: entity.map(str::to_owned),
            part,
            was,
            is,
            so,
        });
    }

    fn compare(&mut self) {
        self.table();
        let (writer, reader) = (self.writer, self.reader);
        for (name, entity) in &reader.entities {
            match writer.entities.get(name) {
                Some(wrote) => self.entity(name, wrote, entity),
                None => self.new_entity(name, entity),
            }
        }
        // Without a type attribute, rows of a kind that is gone could be taken for others.
        if reader.type_attribute.is_none() {
            for name in writer
                .entities
                .keys()
                .filter(|name| !reader.entities.contains_key(*name))
            {
                let so = "rows say nothing of their kind, and could be taken for those of another entity";
                self.note(
                    Some(name),
                    "the entity".to_owned(),
                    "there".to_owned(),
                    "gone".to_owned(),
                    so,
                );
            }
        }
    }

    fn table(&mut self) {
        let (writer, reader) = (self.writer, self.reader);
        let named = |name: &Option<String>| {
            name.as_ref()
                .map_or_else(|| NOTHING.to_owned(), |name| format!("`{name}`"))
        };
        let numbered = |face: &Face| format!("version {}", face.encoders);
        let keyed = |face: &Face| format!("`{}`", face.table_key.join("`, `"));
        let moved = "every row is under another key";
        // A table whose guards hold hashed values has an encoding of its own, so that programs of before leave it alone.
        let encoding = match writer.guards == reader.guards {
            true => (numbered(writer), numbered(reader)),
            false => (String::new(), String::new()),
        };
        let facts = [
            ("the encoding of keys", encoding.0, encoding.1, moved),
            (
                "the key of the table's guards",
                named(&writer.guards),
                named(&reader.guards),
                "a unique value would be looked for where it is not, and could be taken twice",
            ),
            ("the table's key", keyed(writer), keyed(reader), moved),
            (
                "the delimiter",
                format!("`{}`", writer.delimiter),
                format!("`{}`", reader.delimiter),
                moved,
            ),
            (
                "the type attribute",
                named(&writer.type_attribute),
                named(&reader.type_attribute),
                "rows would not be told apart by their kind",
            ),
            (
                "the TTL attribute",
                named(&writer.ttl),
                named(&reader.ttl),
                "rows would not end when they should",
            ),
        ];
        for (part, writer, reader, so) in facts {
            if writer != reader {
                self.note(None, part.to_owned(), writer, reader, so);
            }
        }
    }

    /// An entity that the writer does not have has no rows, unless it is another row of one that has some.
    fn new_entity(&mut self, name: &str, entity: &EntityFace) {
        let source = entity
            .mirrors
            .as_ref()
            .filter(|source| self.writer.entities.contains_key(*source));
        if let Some(source) = source {
            let so = format!("rows of `{source}` from before have no `{name}`");
            self.note(
                Some(name),
                "the mirror".to_owned(),
                NOTHING.to_owned(),
                format!("of `{source}`"),
                &so,
            );
        }
        if entity.is_record {
            let so = "a request of before that is sent again would be done again";
            self.note(
                Some(name),
                "the records of requests".to_owned(),
                "elsewhere".to_owned(),
                "here".to_owned(),
                so,
            );
        }
    }

    fn entity(&mut self, name: &str, wrote: &EntityFace, reads: &EntityFace) {
        self.choices(
            name,
            "the key".to_owned(),
            Some(&wrote.key),
            &reads.key,
            "rows of before are under other keys",
        );
        for (index, choices) in &reads.indexes {
            let known = wrote.indexes.get(index);
            let so = match known {
                Some(_) => "rows of before are elsewhere in it",
                None => "rows of before are not in it",
            };
            self.choices(name, format!("index `{index}`"), known, choices, so);
        }
        self.stale_entries(name, wrote, reads);
        let in_keys = reads.key_attributes();
        for (attribute, reads) in &reads.attributes {
            match wrote.attributes.get(attribute) {
                Some(wrote) => {
                    let is_in_key = in_keys.contains(attribute.as_str());
                    self.attribute((name, attribute, is_in_key), wrote, reads);
                }
                None => self.new_attribute(name, attribute, reads, reads_mirror(self.reader, name)),
            }
        }
        self.dropped(name, wrote, reads);
        self.promises(name, wrote, reads);
    }

    /// Rows of before that are in an index where this model has none: only their kind tells them apart there.
    fn stale_entries(&mut self, name: &str, wrote: &EntityFace, reads: &EntityFace) {
        if self.reader.type_attribute.is_some() {
            return;
        }
        let declared = |index: &String| {
            self.reader
                .entities
                .values()
                .any(|entity| entity.indexes.contains_key(index))
        };
        let gone = wrote
            .indexes
            .keys()
            .filter(|index| !reads.indexes.contains_key(*index) && declared(index));
        let gone: Vec<String> = gone.cloned().collect();
        for index in gone {
            let so = "rows of before are in it, and could be taken for those of another entity";
            self.note(
                Some(name),
                format!("index `{index}`"),
                "an entry".to_owned(),
                NOTHING.to_owned(),
                so,
            );
        }
    }

    fn choices(&mut self, name: &str, part: String, wrote: Option<&Vec<ChoiceFace>>, reads: &[ChoiceFace], so: &str) {
        if wrote.is_some_and(|wrote| wrote == reads) {
            return;
        }
        let was = wrote.map_or_else(|| NOTHING.to_owned(), |wrote| shown_choices(wrote));
        self.note(Some(name), part, was, shown_choices(reads), so);
    }

    fn attribute(
        &mut self,
        (entity, name, is_in_key): (&str, &str, bool),
        wrote: &AttributeFace,
        reads: &AttributeFace,
    ) {
        let part = || format!("attribute `{name}`");
        let described = |attribute: &AttributeFace| {
            let optional = if attribute.optional { ", optional" } else { "" };
            format!("{}{optional}", attribute.ty.words())
        };
        let lack = reads.ty.lack_of(&wrote.ty);
        // A process of before shows a value outside of its limits as it is; but where it reads every value of a key in turn, it
        // does not look for one of which it does not know.
        let is_looked_for = is_in_key && matches!(reads.ty, TypeFace::Number(_));
        let lack = lack.filter(|lack| !self.is_back || *lack == Lack::Kind || is_looked_for);
        if let Some(lack) = lack {
            let so = match lack {
                Lack::Kind => "rows of before have values that this type does not",
                Lack::Limits => "rows of before may have values outside of it",
            };
            self.note(Some(entity), part(), described(wrote), described(reads), so);
        } else if wrote.optional && !reads.optional {
            let so = "rows of before may lack it";
            self.note(Some(entity), part(), described(wrote), described(reads), so);
        }
        if wrote.in_key_only != reads.in_key_only {
            let place = |only: bool| {
                if only {
                    "only in the key"
                } else {
                    "an attribute of its own"
                }
            };
            let (was, is) = (place(wrote.in_key_only).to_owned(), place(reads.in_key_only).to_owned());
            self.note(
                Some(entity),
                format!("where `{name}` is stored"),
                was,
                is,
                "rows of before have it elsewhere",
            );
        }
        let said = |text: &Option<String>| {
            text.as_ref()
                .map_or_else(|| NOTHING.to_owned(), |text| format!("`{text}`"))
        };
        // What is no longer computed is a value like any other.
        if wrote.is != reads.is && reads.is.is_some() {
            let so = "rows of before have the value that was computed then";
            self.note(
                Some(entity),
                format!("what `{name}` is computed from"),
                said(&wrote.is),
                said(&reads.is),
                so,
            );
        }
        if let (Some(was), Some(is)) = (&wrote.derived, &reads.derived)
            && was != is
        {
            let so = "rows of before are where it put them, and a row that is there could be made again";
            let part = format!("what `{name}` is by default");
            self.note(Some(entity), part, format!("`{was}`"), format!("`{is}`"), so);
        }
        if wrote.copies != reads.copies && reads.copies.is_some() {
            let so = "rows of before do not follow that source";
            self.note(
                Some(entity),
                format!("what `{name}` copies"),
                said(&wrote.copies),
                said(&reads.copies),
                so,
            );
        }
    }

    /// An attribute that rows of before do not have.
    fn new_attribute(&mut self, entity: &str, name: &str, reads: &AttributeFace, is_mirror: bool) {
        let so = match reads {
            AttributeFace { is: Some(_), .. } => "rows of before have no such value, though it could be computed",
            AttributeFace { copies: Some(_), .. } => "rows of before have no such copy",
            AttributeFace { optional: false, .. } => "rows of before have none, and it is required",
            // A mirror carries what its source has: there it may be present.
            _ if is_mirror && self.source_has(entity, name) => "rows of before do not carry it",
            _ => return,
        };
        let is = format!("{}{}", reads.ty.words(), if reads.optional { ", optional" } else { "" });
        self.note(Some(entity), format!("attribute `{name}`"), NOTHING.to_owned(), is, so);
    }

    /// Whether the source of a mirror had an attribute already.
    fn source_has(&self, mirror: &str, attribute: &str) -> bool {
        let source = self
            .reader
            .entities
            .get(mirror)
            .and_then(|mirror| mirror.mirrors.as_ref());
        let source = source.and_then(|source| self.writer.entities.get(source));
        source.is_some_and(|source| source.attributes.contains_key(attribute))
    }

    /// In company, what a process of before does not know is lost where it puts rows whole.
    fn dropped(&mut self, name: &str, wrote: &EntityFace, reads: &EntityFace) {
        // A mirror that moves is put whole at its new place.
        if !self.is_back || !(reads.rewrites || reads.mirrors.is_some()) {
            return;
        }
        let unknown = wrote
            .attributes
            .iter()
            .filter(|(name, _)| !reads.attributes.contains_key(*name));
        let unknown: Vec<(String, String)> = unknown
            .map(|(name, attribute)| (name.clone(), attribute.ty.words()))
            .collect();
        for (attribute, ty) in unknown {
            let so = "it writes whole rows, and would drop it";
            self.note(
                Some(name),
                format!("attribute `{attribute}`"),
                ty,
                NOTHING.to_owned(),
                so,
            );
        }
    }

    fn promises(&mut self, name: &str, wrote: &EntityFace, reads: &EntityFace) {
        let said = |text: Option<&String>| text.map_or_else(|| NOTHING.to_owned(), |text| format!("`{text}`"));
        for (guard, value) in &reads.unique {
            let known = wrote.unique.get(guard);
            if known != Some(value) {
                let so = "rows of before have no such guard, and their values would not be unique";
                self.note(
                    Some(name),
                    format!("unique `{guard}`"),
                    said(known),
                    said(Some(value)),
                    so,
                );
            }
        }
        if wrote.expires != reads.expires {
            let so = "rows of before end when it was said then";
            self.note(
                Some(name),
                "`expires`".to_owned(),
                said(wrote.expires.as_ref()),
                said(reads.expires.as_ref()),
                so,
            );
        }
        let listed = |names: &Option<Vec<String>>| match names {
            Some(names) => format!("`{}`", names.join("`, `")),
            None => NOTHING.to_owned(),
        };
        if wrote.history != reads.history {
            let so = "rows of before are no such versions";
            self.note(
                Some(name),
                "`history`".to_owned(),
                listed(&wrote.history),
                listed(&reads.history),
                so,
            );
        }
        if wrote.mirrors != reads.mirrors {
            let so = "rows of before are kept with another entity, or by themselves";
            self.note(
                Some(name),
                "`mirrors`".to_owned(),
                said(wrote.mirrors.as_ref()),
                said(reads.mirrors.as_ref()),
                so,
            );
        }
        if wrote.is_record != reads.is_record {
            let role = |is: bool| if is { "idempotency" } else { NOTHING }.to_owned();
            let so = "rows of before are not what they would be taken for";
            self.note(
                Some(name),
                "`role`".to_owned(),
                role(wrote.is_record),
                role(reads.is_record),
                so,
            );
        }
        if wrote.zone != reads.zone && wrote.zone.is_some() && reads.zone.is_some() {
            let so = "days of rows of before were counted in the other zone";
            self.note(
                Some(name),
                "`zone`".to_owned(),
                said(wrote.zone.as_ref()),
                said(reads.zone.as_ref()),
                so,
            );
        }
        for (setting, value) in &reads.settings {
            let known = wrote.settings.get(setting).filter(|known| *known != value);
            if let Some(known) = known {
                let so = "rows of before were stored by the other value";
                self.note(
                    Some(name),
                    format!("setting `{setting}`"),
                    known.clone(),
                    value.clone(),
                    so,
                );
            }
        }
    }
}

fn reads_mirror(face: &Face, entity: &str) -> bool {
    face.entities.get(entity).is_some_and(|entity| entity.mirrors.is_some())
}

impl EntityFace {
    /// The attributes whose values stand in its keys.
    pub fn key_attributes(&self) -> BTreeSet<&str> {
        let entries = self.indexes.values().flatten();
        let keys = self.key.iter().chain(entries).flat_map(|choice| choice.keys.values());
        keys.flat_map(|encoder| key_attributes(encoder)).collect()
    }
}

/// The templates of a key in words.
pub fn shown_choices(choices: &[ChoiceFace]) -> String {
    let shown = |choice: &ChoiceFace| {
        let keys: BTreeMap<&String, &String> = choice.keys.iter().collect();
        let keys: Vec<String> = keys.iter().map(|(name, text)| format!("{name} `{text}`")).collect();
        match &choice.when {
            Some(when) => format!("{} when `{when}`", keys.join(" ")),
            None => keys.join(" "),
        }
    };
    choices.iter().map(shown).collect::<Vec<_>>().join(", else ")
}
