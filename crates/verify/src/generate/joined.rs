//! Rows that come with a row, and one answer for each of some values.

use super::read::ReadWriter;
use super::{GeneratedAttribute, GeneratedEntity, GeneratedPath};

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

fn can_be_joined(path: &GeneratedPath) -> bool {
    let mut parts = path.partition.iter();
    parts.all(|part| part.attribute.kind.is_plain() && !part.attribute.optional)
}

impl ReadWriter<'_> {
    /// The rows that share with a row what some path begins with, or how many there are; nothing where no path can be followed
    /// from a row. Under one row they may have pages.
    pub fn with_rows(&mut self, one: bool) -> String {
        let joined = self.entity.paths.iter().filter(|path| can_be_joined(path));
        let joined: Vec<&GeneratedPath> = joined.collect();
        let Some(path) = self.rng.choice(joined) else {
            return String::new();
        };
        let mut shared: Vec<&str> = path.partition.iter().map(|part| part.attribute.name.as_str()).collect();
        let next = path.sort.first().filter(|part| part.attribute.kind.is_plain());
        let name = next.map(|part| part.attribute.name.as_str());
        let bound = next.filter(|part| !part.attribute.optional && self.rng.u8(..3) == 0);
        shared.extend(bound.and(name));
        let mut tests: Vec<String> = shared.iter().map(|name| format!("{name} == row.{name}")).collect();
        tests.extend(path.when.clone());
        tests.extend(
            path.sort
                .iter()
                .filter(|part| part.attribute.optional)
                .map(|part| format!("{} != absent", part.attribute.name)),
        );
        let tests = tests.join(" && ");
        let entity = &self.entity.name;
        if self.rng.u8(..5) == 0 {
            let sums = self.sums_text().replace("    sum", "        sum");
            let by = self.caller_words().replace("    by", "        by");
            return format!("    with:\n      more:\n        count: {entity}\n        where: '{tests}'\n{by}{sums}");
        }
        let order = match (name.filter(|_| bound.is_none()), self.rng.u8(..3)) {
            (Some(name), 0) => format!("        order: '{name}'\n"),
            (Some(name), 1) => format!("        order: '-{name}'\n"),
            _ => String::new(),
        };
        let pages = one && self.rng.u8(..3) == 0;
        let limit = if self.rng.bool() { "        limit: 3\n" } else { "" };
        let allow = match self.rng.u8(..8) {
            0 => "        allow: caller.authenticated\n",
            _ => "",
        };
        let pages = if pages { "    pages: more\n" } else { "" };
        format!(
            "    with:\n      more:\n        find: {entity}\n        where: '{tests}'\n{order}{limit}{allow}{pages}"
        )
    }

    /// Follows a path whose first part is an element of a list. How much of the sort key is bound, and the text of `each`.
    pub fn each_path(&mut self, path: &GeneratedPath) -> (usize, String) {
        let first = path.partition.first().map(|part| &part.attribute);
        let Some(first) = first.filter(|first| first.kind.is_plain()) else {
            return (self.follow_path(path), String::new());
        };
        let before = self.args.len();
        let list = self.attribute_argument(first, "", false);
        if self.args.len() == before {
            return (self.follow_path(path), String::new());
        }
        if let Some(arg) = self.args.last_mut() {
            (arg.list, arg.default) = (true, None);
        }
        self.conjuncts.push(format!("{} == one", first.name));
        let mut rest = path.clone();
        rest.partition.remove(0);
        let bound = self.follow_path(&rest);
        let text = match self.rng.u8(..4) {
            0 => format!("    each: {{one: '{list}', at_most: 9}}\n    return: {{of: one, many: size(rows)}}\n"),
            _ => format!("    each: {{one: '{list}', at_most: 9}}\n    return: {{of: one, found: rows}}\n"),
        };
        (bound, text)
    }
}
