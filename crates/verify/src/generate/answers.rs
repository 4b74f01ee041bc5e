//! What stands around the meaning of a read: names, shapes of answers, routes, and conditions written by hand.

use super::formulas::computed_value;
use super::read::ReadWriter;
use super::{GeneratedAttribute, GeneratedPath, StoredShape, kinds};

impl ReadWriter<'_> {
    /// Names for values, rows and lists that are read first. What follows may use them.
    pub fn names(&mut self) -> String {
        let mut text = String::new();
        for at in 0..if self.rng.u8(..5) == 0 {
            1 + self.rng.usize(..2)
        } else {
            0
        } {
            let line = match self.rng.u8(..5) {
                0 => self.named_value(at),
                1 | 2 => self.named_row(at),
                3 => self.named_get(at),
                _ => self.named_list(at),
            };
            text.push_str(&line.unwrap_or_default());
        }
        match text.is_empty() {
            true => text,
            false => format!("    let:\n{text}"),
        }
    }

    fn named_value(&mut self, at: usize) -> Option<String> {
        let sure = |attribute: &&GeneratedAttribute| attribute.kind.free_text && attribute.is_sure();
        let attribute = self.entity.attributes.iter().find(sure)?.clone();
        let arg = self.attribute_argument(&attribute, "", false);
        self.conjuncts.push(format!("lower({}) == v{at}", attribute.name));
        Some(format!("      v{at}: 'lower({arg})'\n"))
    }

    /// A row by its key.
    fn named_row(&mut self, at: usize) -> Option<String> {
        let (name, history) = (self.entity.name.clone(), self.entity.identity.is_some());
        if !self.entity.has_one_key {
            return None;
        }
        let mut key = Vec::new();
        for part in self.entity.primary.clone() {
            if !(history && part.attribute.name == "at") {
                let arg = self.attribute_argument(&part.attribute, "", false);
                key.push((part.attribute.name, arg));
            }
        }
        let optional = self.rng.u8(..4) == 0;
        let target = match key.as_slice() {
            [(_, one)] => format!("{name}({one})"),
            several => {
                let parts: Vec<String> = several.iter().map(|(name, arg)| format!("{name}: {arg}")).collect();
                format!("{name}{{{}}}", parts.join(", "))
            }
        };
        let mark = if optional {
            "?"
        } else {
            self.bind_row(&format!("e{at}"))
        };
        Some(format!("      e{at}: '{target}{mark}'\n"))
    }

    /// Lets what follows use the attributes of a row.
    fn bind_row(&mut self, name: &str) -> &'static str {
        self.bound.push(name.to_owned());
        ""
    }

    fn named_get(&mut self, at: usize) -> Option<String> {
        let (tests, order) = self.apart()?;
        let name = self.entity.name.clone();
        let mark = if self.rng.u8(..3) == 0 {
            "?"
        } else {
            self.bind_row(&format!("g{at}"))
        };
        let strong = if self.rng.u8(..3) < 2 { ", consistent: true" } else { "" };
        Some(format!(
            "      g{at}: {{get: '{name}{mark}', where: '{tests}'{order}{strong}}}\n"
        ))
    }

    fn named_list(&mut self, at: usize) -> Option<String> {
        let (tests, order) = self.apart()?;
        let sure = |attribute: &&GeneratedAttribute| attribute.kind.is_plain() && attribute.is_sure();
        let sure: Vec<&GeneratedAttribute> = self.entity.attributes.iter().filter(sure).collect();
        let attribute = self.rng.choice(sure)?.name.clone();
        let limit = if self.rng.bool() { ", limit: 3" } else { ", limit: 100" };
        let test = match self.rng.u8(..4) {
            0 => format!("many{at}.exists(m, m.{attribute} == {attribute})"),
            1 => format!("(!many{at}.exists(m, m.{attribute} == {attribute}))"),
            2 => format!("{attribute} in many{at}.map(m, m.{attribute})"),
            _ => format!("size(many{at}) > 1"),
        };
        self.conjuncts.push(test);
        let name = &self.entity.name;
        Some(format!(
            "      many{at}: {{find: {name}, where: '{tests}'{order}{limit}}}\n"
        ))
    }

    /// A meaning of its own, that follows a path; every argument of it is sent.
    fn apart(&mut self) -> Option<(String, String)> {
        let path = self.rng.choice(&self.entity.paths)?.clone();
        let before = std::mem::take(&mut self.conjuncts);
        let args = self.args.len();
        let bound = self.follow_path(&path);
        let order = self.order_text(&path, bound);
        self.args.iter_mut().skip(args).for_each(|arg| arg.optional = false);
        let tests = std::mem::replace(&mut self.conjuncts, before).join(" && ");
        let order = order
            .trim()
            .strip_prefix("order: ")
            .map(|order| format!(", order: {order}"));
        (!tests.is_empty()).then(|| (tests, order.unwrap_or_default()))
    }

    /// The shape of the answer: fields, or one value.
    pub fn shown(&mut self) -> String {
        if self.rng.u8(..4) > 0 {
            return String::new();
        }
        let attributes = &self.entity.attributes;
        let mut fields = Vec::new();
        for at in 0..1 + self.rng.usize(..3) {
            let attribute = self.rng.choice(attributes);
            if let Some(computed) = attribute.and_then(|attribute| computed_value(self.rng, attribute)) {
                fields.push(format!("f{at}: '{computed}'"));
            }
        }
        if self.rng.bool() {
            fields.push("row: row".to_owned());
        }
        if let Some(attribute) = self.rng.choice(attributes).filter(|attribute| attribute.is_sure()) {
            fields.push(format!("plain: {}", attribute.name));
        }
        match fields.as_slice() {
            [] => String::new(),
            [one] if one.starts_with('f') && self.rng.bool() => {
                let value = one.split_once(": ").map(|(_, value)| value).unwrap_or_default();
                format!("    return: {value}\n")
            }
            fields => format!("    return:\n      {}\n", fields.join("\n      ")),
        }
    }

    /// Numbers that are added up beside a count.
    pub fn sums_text(&mut self) -> String {
        let is_number = |attribute: &&GeneratedAttribute| {
            let counts = attribute.kind.ty.starts_with("int") || attribute.kind.ty.starts_with("number");
            attribute.kind.shape == StoredShape::Number && attribute.is_sure() && counts
        };
        let numbers: Vec<&GeneratedAttribute> = self.entity.attributes.iter().filter(is_number).collect();
        let Some(number) = self.rng.choice(numbers).filter(|_| self.rng.bool()) else {
            return String::new();
        };
        match self.rng.bool() {
            true => format!("    sum: {{total: {}}}\n", number.name),
            false => format!("    sum: {{total: {0}, more: '{0} * 2 + 1'}}\n", number.name),
        }
    }

    /// An argument that turns the order round.
    pub fn reverse_argument(&mut self) -> String {
        if self.rng.u8(..8) > 0 {
            return String::new();
        }
        let attribute = GeneratedAttribute::new(self.rng, "turned", &kinds::TOMBSTONE, false);
        let before = self.args.len();
        let arg = self.attribute_argument(&attribute, "", false);
        if self.args.len() == before {
            return String::new();
        }
        format!("    reverse: {arg}\n")
    }

    /// Which optional arguments may be sent together: not every one of them alone.
    pub fn sent_together(&mut self) -> Vec<Vec<String>> {
        let optional: Vec<String> = self
            .args
            .iter()
            .filter(|arg| arg.optional)
            .map(|arg| arg.name.clone())
            .collect();
        if optional.is_empty() || self.rng.u8(..3) > 0 {
            return Vec::new();
        }
        let mut known = vec![Vec::new()];
        for end in 1..=optional.len() {
            known.push(optional.iter().take(end).cloned().collect());
        }
        known
    }

    /// A route: what one attribute must be stands in its path at times, the rest in the query.
    pub fn route_text(&mut self, at: usize) -> String {
        if self.rng.u8(..3) > 0 {
            return String::new();
        }
        let conjuncts = &self.conjuncts;
        let in_path = self.args.iter_mut().find(|arg| {
            let test = format!("{} == args.{}", arg.attribute.name, arg.name);
            let plain = !(arg.list || arg.optional || arg.wide) && arg.function.is_empty() && arg.default.is_none();
            plain && arg.attribute.kind.form.is_empty() && conjuncts.contains(&test)
        });
        let mut path = format!("GET /r{at}");
        if let Some(arg) = in_path.filter(|_| self.rng.bool()) {
            arg.in_path = true;
            path.push_str(&format!("/{{{}}}", arg.name));
        }
        let query: Vec<&str> = self
            .args
            .iter()
            .filter(|arg| !arg.in_path)
            .map(|arg| arg.name.as_str())
            .collect();
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        format!("    http: {path}{query}\n")
    }

    /// The key condition of a path, written by hand: it changes nothing.
    pub fn by_hand(&mut self, path: &GeneratedPath) -> String {
        if self.rng.u8(..3) > 0 {
            return String::new();
        }
        let mut keys = Vec::new();
        for (at, (name, template)) in path.templates.iter().enumerate() {
            let side = if at == 0 { &path.partition } else { &path.sort };
            let mut text = template.trim_matches('"').to_owned();
            let start = text.split('{').next().unwrap_or_default().to_owned();
            for part in side {
                let test = format!("{} == args.", part.attribute.name);
                let arg = self.conjuncts.iter().find_map(|known| known.strip_prefix(&test));
                if let Some(arg) = arg.filter(|_| part.function.is_empty()) {
                    text = text.replace(&format!("{{{}}}", part.attribute.name), &format!("{{args.{arg}}}"));
                }
            }
            let is_whole = text.matches('{').count() == text.matches("{args.").count();
            keys.push(match (at, is_whole) {
                (0, true) => format!("{name}: \"{text}\""),
                (0, false) => return String::new(),
                (_, true) => match self.rng.u8(..5) {
                    0 => format!("{name}: {{\"<=\": \"{text}\"}}"),
                    1 => format!("{name}: {{\">\": \"{text}\"}}"),
                    2 => format!("{name}: {{between: [\"{start}\", \"{text}\"]}}"),
                    // Two spellings of one comparison.
                    at if at == 3 || self.conjuncts.len().is_multiple_of(2) => format!("{name}: {{\"=\": \"{text}\"}}"),
                    _ => format!("{name}: \"{text}\""),
                },
                (_, false) => match self.rng.u8(..6) {
                    _ if start.is_empty() => continue,
                    3 => format!("{name}: {{\">\": \"{start}\"}}"),
                    4 => format!("{name}: {{between: [\"{start}\", \"{start}~\"]}}"),
                    5 => format!("{name}: {{\"<=\": \"{start}~\"}}"),
                    0 => format!("{name}: {{\">=\": \"{start}\"}}"),
                    1 => format!("{name}: {{\"<\": \"{start}~\"}}"),
                    _ => format!("{name}: {{begins_with: \"{start}\"}}"),
                },
            });
        }
        if keys.is_empty() {
            return String::new();
        }
        let index = path
            .index
            .as_ref()
            .map(|index| format!("index: {index}, "))
            .unwrap_or_default();
        let more = [
            ", limit: 5",
            ", descending: true",
            ", queries: 2",
            ", filter: 'true'",
            "",
        ];
        let more = self.rng.choice(more).unwrap_or_default();
        format!("    using: {{{index}key: {{{}}}{more}}}\n", keys.join(", "))
    }
}
