//! Keys, made up of attributes.

use fastrand::Rng;

use super::{AttributeRemark, DrawnKeyPart, GeneratedAttribute, GeneratedPath, PooledType, StoredShape};

/// Some attributes for a key, each once, with a function around it or none. Those of a primary key are always there.
pub(super) fn drawn_parts(
    rng: &mut Rng,
    attributes: &[GeneratedAttribute],
    count: usize,
    primary: bool,
    except: &[DrawnKeyPart],
) -> Vec<DrawnKeyPart> {
    let is_taken = |name: &str| except.iter().any(|part| part.attribute.name == name);
    let fits = |attribute: &&GeneratedAttribute| {
        let changes = ["state", "at", "until", "gone"].contains(&attribute.name.as_str());
        let may = !primary || !(attribute.optional || changes || attribute.kind.shape == StoredShape::Place);
        let may = may && (attribute.kind.is_plain() || attribute.kind.shape == StoredShape::Place);
        may && !is_taken(&attribute.name)
    };
    let mut free: Vec<&GeneratedAttribute> = attributes.iter().filter(fits).collect();
    rng.shuffle(&mut free);
    free.into_iter()
        .take(count)
        .map(|attribute| DrawnKeyPart {
            attribute: attribute.clone(),
            function: rng.choice(attribute.kind.functions).copied().unwrap_or_default(),
        })
        .collect()
}

/// A primary key.
pub(super) struct GeneratedPrimary {
    /// As the model writes it.
    pub text: String,
    /// What it is made of.
    pub path: GeneratedPath,
    /// The types of its partition and sort key.
    pub types: (&'static str, &'static str),
}

/// A primary key: templates, or where the table is the entity's `alone`, perhaps attributes as they are.
pub(super) fn primary_key(
    rng: &mut Rng,
    name: &str,
    attributes: &[GeneratedAttribute],
    history: bool,
    alone: bool,
) -> GeneratedPrimary {
    // What versions share is given with each of them.
    let usable = attributes.iter().filter(|attribute| {
        let is_given = !matches!(attribute.said, AttributeRemark::Is(_)) && !attribute.name.contains('.');
        is_given || !history
    });
    let usable: Vec<GeneratedAttribute> = usable.cloned().collect();
    let attributes = usable.as_slice();
    let mut partition = drawn_parts(rng, attributes, 1, true, &[]);
    let count = if alone { 1 } else { 1 + rng.usize(..2) };
    let mut sort = drawn_parts(rng, attributes, count, true, &partition);
    // What is computed may be empty though nothing that is drawn for it is.
    let fits = |part: &&DrawnKeyPart| {
        can_stand_alone(part.attribute.kind) && !matches!(part.attribute.said, AttributeRemark::Is(_))
    };
    // What versions share is remembered in a row of its own, for which a number has no place.
    let whole_partition = partition
        .first()
        .filter(fits)
        .filter(|_| alone && !history && rng.bool())
        .cloned();
    let whole_sort = sort
        .first()
        .filter(fits)
        .filter(|_| alone && !history && rng.bool())
        .cloned();
    let bytes = attributes
        .iter()
        .find(|attribute| attribute.kind.shape == StoredShape::Bytes && attribute.is_sure());
    let bytes = bytes.filter(|_| alone && !history && rng.bool()).cloned();
    let whole_sort = whole_sort.or(bytes.map(|attribute| DrawnKeyPart {
        attribute,
        function: "",
    }));
    if history {
        sort.truncate(1);
        let at = attributes.iter().find(|attribute| attribute.name == "at");
        sort.extend(at.cloned().map(|attribute| DrawnKeyPart {
            attribute,
            function: "",
        }));
        // Versions of one thing share what the key tells things apart by, and the whole of it.
        partition
            .iter_mut()
            .chain(&mut sort)
            .for_each(|part| part.function = "");
    }
    let id = attributes
        .iter()
        .find(|attribute| attribute.name == "id" && !alone && !history);
    let is_taken = partition.iter().chain(&sort).any(|part| part.attribute.name == "id");
    sort.extend(id.filter(|_| !is_taken).cloned().map(|attribute| DrawnKeyPart {
        attribute,
        function: "",
    }));
    let mut types = ("string", "string");
    let mut partition_text = None;
    if let Some(part) = whole_partition {
        types.0 = key_type(part.attribute.kind);
        partition = vec![DrawnKeyPart { function: "", ..part }];
        partition_text = Some(drawn_template(rng, "", &partition));
    }
    let mut sort_text = None;
    if let Some(part) = whole_sort {
        types.1 = key_type(part.attribute.kind);
        sort = vec![DrawnKeyPart { function: "", ..part }];
        sort_text = Some(drawn_template(rng, "", &sort));
    }
    let partition_text = partition_text.unwrap_or_else(|| drawn_template(rng, "P#", &partition));
    let sort_text = sort_text.unwrap_or_else(|| drawn_template(rng, &format!("{name}#"), &sort));
    GeneratedPrimary {
        text: format!("{{PK: {partition_text}, SK: {sort_text}}}"),
        path: GeneratedPath {
            partition,
            sort,
            templates: vec![("PK".to_owned(), partition_text), ("SK".to_owned(), sort_text)],
            ..GeneratedPath::default()
        },
        types,
    }
}

/// The primary key of a table that has only a partition key.
pub(super) fn unsorted_primary(rng: &mut Rng, attributes: &[GeneratedAttribute]) -> GeneratedPrimary {
    let partition = drawn_parts(rng, attributes, 2, true, &[]);
    GeneratedPrimary {
        text: format!("{{PK: {}}}", drawn_template(rng, "P#", &partition)),
        path: GeneratedPath {
            partition,
            ..GeneratedPath::default()
        },
        types: ("string", "string"),
    }
}

pub(super) fn key_type(kind: &PooledType) -> &'static str {
    match kind.shape {
        StoredShape::Number => "number",
        StoredShape::Bytes => "bytes",
        _ => "string",
    }
}

/// A condition on the row, and its contrary.
pub(super) fn row_condition(rng: &mut Rng, attributes: &[GeneratedAttribute]) -> Option<(String, String)> {
    let small = attributes.iter().filter(|attribute| attribute.kind.small);
    let testable = small.filter(|attribute| !(attribute.optional && attribute.kind.shape == StoredShape::Bool));
    let attribute = rng.choice(testable.collect::<Vec<_>>())?;
    let (name, word) = (&attribute.name, rng.choice(&attribute.pool)?);
    Some(match attribute.kind.shape {
        StoredShape::Number => (format!("{name} == {word}"), format!("{name} != {word}")),
        StoredShape::Bool => (name.clone(), format!("(!{name})")),
        _ => (format!("{name} == \"{word}\""), format!("{name} != \"{word}\"")),
    })
}

/// Whether an attribute can be a key by itself.
pub(super) fn can_stand_alone(kind: &PooledType) -> bool {
    kind.is_plain() && kind.shape != StoredShape::Bool && !kind.may_be_empty()
}

/// The attributes of some parts, as a list.
pub(super) fn part_names(parts: &[DrawnKeyPart]) -> String {
    let mut names: Vec<&str> = parts.iter().map(|part| part.attribute.root()).collect();
    names.dedup();
    names.join(", ")
}

/// A template; a part of one width stands at times right before the next.
pub(super) fn drawn_template(rng: &mut Rng, prefix: &str, parts: &[DrawnKeyPart]) -> String {
    let mut text = format!("\"{prefix}");
    for (at, part) in parts.iter().enumerate() {
        let name = &part.attribute.name;
        match part.function {
            "" => text.push_str(&format!("{{{name}}}")),
            "geohash3" | "geohash4" | "geohash5" => {
                let precision = part.function.trim_start_matches("geohash");
                text.push_str(&format!("{{geohash({name}, {precision})}}"));
            }
            function => text.push_str(&format!("{{{function}({name})}}")),
        }
        if at + 1 < parts.len() && !(has_one_width(part) && rng.u8(..4) == 0) {
            text.push('#');
        }
    }
    text + "\""
}

fn has_one_width(part: &DrawnKeyPart) -> bool {
    let padded = ["int 0..3", "int 0..1000", "date", "time", "ulid"].contains(&part.attribute.kind.ty);
    padded && ["", "desc"].contains(&part.function) || part.function.starts_with("geohash")
}
