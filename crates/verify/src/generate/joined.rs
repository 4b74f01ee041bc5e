//! Rows that come with a row, and one answer for each of some values.

use fastrand::Rng;

use super::read::Writer;
use super::{GeneratedAttribute, GeneratedEntity, Path};

/// The rows that share with a row what some path begins with; nothing where no path can be followed from a row.
pub(super) fn with(rng: &mut Rng, entity: &GeneratedEntity) -> String {
    let Some(path) = rng.choice(
        entity
            .paths
            .iter()
            .filter(|path| can_be_joined(path))
            .collect::<Vec<_>>(),
    ) else {
        return String::new();
    };
    let mut shared: Vec<&str> = path.partition.iter().map(|part| part.attribute.name.as_str()).collect();
    let next = path.sort.first().filter(|part| part.attribute.kind.is_plain());
    let name = next.map(|part| part.attribute.name.as_str());
    let bound = next.filter(|part| !part.attribute.optional && rng.u8(..3) == 0);
    shared.extend(bound.and(name));
    let mut tests: Vec<String> = shared.iter().map(|name| format!("{name} == row.{name}")).collect();
    tests.extend(path.when.clone());
    tests.extend(
        path.sort
            .iter()
            .filter(|part| part.attribute.optional)
            .map(|part| format!("{} != absent", part.attribute.name)),
    );
    let order = match (name.filter(|_| bound.is_none()), rng.u8(..3)) {
        (Some(name), 0) => format!("        order: '{name}'\n"),
        (Some(name), 1) => format!("        order: '-{name}'\n"),
        _ => String::new(),
    };
    let limit = if rng.bool() { "        limit: 3\n" } else { "" };
    let tests = tests.join(" && ");
    format!(
        "    with:\n      more:\n        find: {}\n        where: '{tests}'\n{order}{limit}",
        entity.name
    )
}

/// The row itself once more, by its whole key; nothing where no key can be followed from a row.
pub(super) fn with_itself(entity: &GeneratedEntity) -> String {
    let parts: Vec<&GeneratedAttribute> = entity.primary.iter().map(|part| &part.attribute).collect();
    if parts.iter().any(|part| !part.kind.is_plain()) {
        return String::new();
    }
    let tests: Vec<String> = parts.iter().map(|part| format!("{0} == row.{0}", part.name)).collect();
    let tests = tests.join(" && ");
    let name = &entity.name;
    format!("    with:\n      same:\n        get: '{name}?'\n        where: '{tests}'\n")
}

fn can_be_joined(path: &Path) -> bool {
    let mut parts = path.partition.iter();
    parts.all(|part| part.attribute.kind.is_plain() && !part.attribute.optional)
}

impl Writer<'_> {
    /// Follows a path whose first part is an element of a list. How much of the sort key is bound, and the text of `each`.
    pub fn each(&mut self, path: &Path) -> (usize, String) {
        let first = path.partition.first().map(|part| &part.attribute);
        let Some(first) = first.filter(|first| first.kind.is_plain()) else {
            return (self.follow(path), String::new());
        };
        let before = self.args.len();
        let list = self.arg(first, "", false);
        if self.args.len() == before {
            return (self.follow(path), String::new());
        }
        if let Some(arg) = self.args.last_mut() {
            arg.list = true;
        }
        self.conjuncts.push(format!("{} == one", first.name));
        let mut rest = path.clone();
        rest.partition.remove(0);
        let bound = self.follow(&rest);
        let text = format!("    each: {{one: '{list}', at_most: 9}}\n    return: {{of: one, found: rows}}\n");
        (bound, text)
    }
}
