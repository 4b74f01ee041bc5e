//! Reads that mostly follow a path, and at times do not.

use fastrand::Rng;

use super::formulas::formula_test;
use super::joined::with_itself;
use super::{
    DrawnKeyPart, GeneratedArg, GeneratedAttribute, GeneratedEntity, GeneratedPath, GeneratedRead, PooledType,
    StoredShape, tail,
};

/// The most optional arguments: each doubles the plans.
const OPTIONAL_MAX: usize = 3;

/// A read of an entity.
pub(super) fn drawn_read(rng: &mut Rng, entity: &GeneratedEntity, at: usize) -> Option<GeneratedRead> {
    let path = rng.choice(&entity.paths)?;
    let mut writer = ReadWriter {
        rng,
        entity,
        args: Vec::new(),
        conjuncts: Vec::new(),
        bound: Vec::new(),
    };
    let body = match writer.rng.u8(..16) {
        0 => writer.groups(path),
        _ => writer.selection(path),
    };
    let allow = match body.starts_with("    with:") {
        true => "caller.authenticated".to_owned(),
        false => writer.allow(),
    };
    let strong = if writer.rng.u8(..10) == 0 {
        "    consistent: true\n"
    } else {
        ""
    };
    let together = writer.sent_together();
    let by_hand = if body.contains("each: ") {
        String::new()
    } else {
        writer.by_hand(path)
    };
    let route = writer.route_text(at);
    let claim = tail::read_claim(writer.rng);
    let mut text = format!("  r{at}:\n{body}{strong}{by_hand}{route}{claim}");
    let declared: Vec<&GeneratedArg> = writer.args.iter().filter(|arg| !arg.in_path).collect();
    if !declared.is_empty() {
        text.push_str("    args:\n");
        for arg in declared {
            text.push_str(&format!("      {}: '{}'\n", arg.name, arg.ty()));
        }
    }
    if !together.is_empty() {
        let lists: Vec<String> = together.iter().map(|names| format!("[{}]", names.join(", "))).collect();
        text.push_str(&format!("    combinations: [{}]\n", lists.join(", ")));
    }
    text.push_str(&format!("    allow: '{allow}'\n"));
    Some(GeneratedRead {
        name: format!("r{at}"),
        entity: entity.name.clone(),
        text,
        args: writer.args,
        together,
    })
}

pub(super) struct ReadWriter<'a> {
    pub rng: &'a mut Rng,
    pub entity: &'a GeneratedEntity,
    pub args: Vec<GeneratedArg>,
    pub conjuncts: Vec<String>,
    /// Rows that were read first, each of the same entity.
    pub bound: Vec<String>,
}

impl ReadWriter<'_> {
    /// One row, rows or a count, with what comes with them.
    fn selection(&mut self, path: &GeneratedPath) -> String {
        let verb = ["find", "find", "find", "find", "find", "get", "count"];
        let verb = self.rng.choice(verb).unwrap_or_default();
        let together = verb == "get" && self.rng.u8(..3) == 0;
        let names = if together { String::new() } else { self.names() };
        let scan = verb != "get" && self.rng.u8(..14) == 0;
        let (bound, each) = match self.rng.u8(..8) {
            _ if together => (self.bind_primary(), String::new()),
            _ if scan => (0, String::new()),
            0 => (self.branches(path), String::new()),
            1 if verb == "find" => self.each_path(path),
            _ => (self.follow_path(path), String::new()),
        };
        for _ in 0..self.rng.usize(..3) {
            self.filter();
        }
        let history = self.history();
        let is_list = verb == "find" && each.is_empty();
        let shape = self.shape(path, verb, bound, together, is_list);
        self.rng.shuffle(&mut self.conjuncts);
        let mark = if verb == "get" && self.rng.u8(..4) == 0 {
            "?"
        } else {
            ""
        };
        let mut text = format!("    {verb}: '{}{mark}'\n{names}", self.entity.name);
        if !self.conjuncts.is_empty() {
            text.push_str(&format!("    where: '{}'\n", self.conjuncts.join(" && ")));
        }
        let scan = if scan { "    scan: there are few\n" } else { "" };
        // Whatever else is cheaper, the rows are the same.
        let named = path.index.as_ref().filter(|_| !together && scan.is_empty());
        // What is drawn after it stays as it was.
        let index = named.filter(|_| text.len().is_multiple_of(6));
        let index = index.map_or_else(String::new, |index| format!("    index: {index}\n"));
        text + &each + &history + &shape + scan + &index
    }

    /// The order, what comes with it, how it is shown and cut.
    fn shape(&mut self, path: &GeneratedPath, verb: &str, bound: usize, together: bool, is_list: bool) -> String {
        let (one_in, limit) = (self.rng.u8(..4), self.rng.u8(1..9));
        let mut text = match verb {
            "count" => self.caller_words() + &self.sums_text(),
            "get" if together => with_itself(self.entity) + "    together: true\n",
            "find" if one_in == 1 && is_list && self.rng.bool() => {
                let with = match self.rng.bool() {
                    true => with_itself(self.entity),
                    false => self.with_rows(false),
                };
                self.order_text(path, bound) + &with
            }
            "get" if one_in < 2 => self.order_text(path, bound) + &self.with_rows(true),
            "find" if one_in == 0 && is_list => self.order_text(path, bound) + &format!("    limit: {limit}\n"),
            _ => self.order_text(path, bound),
        };
        if is_list {
            text.push_str(&self.reverse_argument());
            let more = [
                "    page: 3\n",
                "    empty: 404\n",
                "    bare: true\n",
                "    requests: 90\n",
                "    requests: ..2\n",
            ];
            if self.rng.u8(..4) == 0 {
                text.push_str(self.rng.choice(more).unwrap_or_default());
            }
        }
        if is_list || verb == "get" {
            text.push_str(&self.shown());
        }
        text
    }

    /// Lists and numbers beside nothing.
    fn groups(&mut self, path: &GeneratedPath) -> String {
        let name = self.entity.name.clone();
        let mut groups = Vec::new();
        for at in 0..2 {
            let bound = self.follow_path(path);
            let order = self.order_text(path, bound).replace("    order", "        order");
            self.args.iter_mut().for_each(|arg| arg.optional = false);
            let tests = std::mem::take(&mut self.conjuncts).join(" && ");
            let verb = self.rng.choice(["find", "find", "count", "get"]).unwrap_or_default();
            let mark = if verb == "get" { "?" } else { "" };
            let order = if verb == "count" { String::new() } else { order };
            let limit = if verb == "find" && self.rng.bool() {
                "        limit: 4\n"
            } else {
                ""
            };
            if !tests.is_empty() {
                groups.push((
                    verb,
                    format!("      g{at}:\n        {verb}: '{name}{mark}'\n        where: '{tests}'\n{order}{limit}"),
                ));
            }
        }
        let list = groups
            .iter()
            .position(|(verb, text)| *verb == "find" && !text.contains("limit"));
        let pages = match list.filter(|_| self.rng.bool()) {
            Some(at) => format!("    pages: g{at}\n"),
            None => String::new(),
        };
        let groups: String = groups.into_iter().map(|(_, text)| text).collect();
        format!("    with:\n{groups}{pages}")
    }
}

impl ReadWriter<'_> {
    /// Binds the partition, a beginning of the sort key, and perhaps a range after it. How much of the sort key is bound.
    pub fn follow_path(&mut self, path: &GeneratedPath) -> usize {
        for part in &path.partition {
            self.bind(part, true);
        }
        let bound = self.rng.usize(..=path.sort.len());
        for part in path.sort.iter().take(bound) {
            self.bind(part, false);
        }
        if let Some(next) = path.sort.get(bound)
            && self.rng.u8(..3) > 0
        {
            self.range(&next.attribute);
        }
        if self.rng.u8(..10) > 0 {
            self.conjuncts.extend(path.when.clone());
            let optional = path
                .partition
                .iter()
                .chain(&path.sort)
                .filter(|part| part.attribute.optional);
            self.conjuncts
                .extend(optional.map(|part| format!("{} != absent", part.attribute.name)));
        }
        bound
    }

    /// Binds the whole primary key.
    fn bind_primary(&mut self) -> usize {
        for part in &self.entity.primary {
            let arg = self.attribute_argument(&part.attribute, "", false);
            self.conjuncts.push(format!("{} == {arg}", part.attribute.name));
        }
        0
    }

    /// Several alternatives, each of which follows a path of its own; nothing is ordered then but by chance.
    fn branches(&mut self, first: &GeneratedPath) -> usize {
        let before = std::mem::take(&mut self.conjuncts);
        let mut bound = 0;
        let mut branches = Vec::new();
        let count = 2 + self.rng.usize(..2);
        for at in 0..count {
            let path = self.rng.choice(&self.entity.paths).filter(|_| at > 0).unwrap_or(first);
            let taken = self.follow_path(path);
            bound = if at == 0 { taken } else { bound };
            // An argument that may be left out has to be tested inside an alternative.
            self.args.iter_mut().for_each(|arg| arg.optional = false);
            branches.push(format!("({})", std::mem::take(&mut self.conjuncts).join(" && ")));
        }
        self.conjuncts = before;
        branches.retain(|branch| branch != "()");
        if !branches.is_empty() {
            self.conjuncts.push(format!("({})", branches.join(" || ")));
        }
        bound
    }

    /// Which versions are meant, of what has them.
    fn history(&mut self) -> String {
        let at = self.entity.attributes.iter().find(|attribute| attribute.name == "at");
        match (self.entity.identity.is_some().then_some(at).flatten(), self.rng.u8(..3)) {
            (Some(at), 0) => {
                let arg = self.attribute_argument(at, "", false);
                format!("    at: {arg}\n")
            }
            (Some(_), 1) => "    versions: all\n".to_owned(),
            _ => String::new(),
        }
    }

    pub fn caller_words(&mut self) -> String {
        let is_word = |attribute: &&GeneratedAttribute| attribute.kind.is_plain() && !attribute.name.contains('.');
        let mut values: Vec<_> = self.entity.attributes.iter().filter(is_word).collect();
        self.rng.shuffle(&mut values);
        match (values.as_slice(), self.rng.u8(..6)) {
            ([first, ..], 0..2) => format!("    by: {}\n", first.name),
            ([first, second, ..], 2) => format!("    by: [{}, {}]\n", first.name, second.name),
            _ => String::new(),
        }
    }

    fn bind(&mut self, part: &DrawnKeyPart, partition: bool) {
        let attribute = &part.attribute;
        let (name, kind) = (&attribute.name, attribute.kind);
        if kind.shape == StoredShape::Place {
            return self.near(attribute);
        }
        let test = match self.rng.u8(..12) {
            0 | 1 if partition && kind.small => return,
            0..3 if partition && kind.ty == "date" => return self.both_ends(attribute),
            0..3 => {
                let list = self.list(attribute);
                format!("{name} in {list}")
            }
            3..6 if has_result(part.function) && !attribute.optional => {
                let arg = self.attribute_argument(attribute, part.function, false);
                format!("{}({name}) == {arg}", part.function)
            }
            6 if kind.free_text && self.rng.u8(..4) == 0 => format!("{name} in caller.groups"),
            6 if kind.free_text => format!("{name} == caller.id"),
            7 if kind.shape == StoredShape::Bool && !attribute.optional => name.clone(),
            8 if kind.shape == StoredShape::Bool && !attribute.optional => format!("(!{name})"),
            9 => {
                let arg = self.attribute_argument(attribute, "", false);
                format!("{arg} == {name}")
            }
            _ => {
                let arg = self.attribute_argument(attribute, "", false);
                format!("{name} == {arg}")
            }
        };
        self.conjuncts.push(test);
    }

    fn near(&mut self, attribute: &GeneratedAttribute) {
        let arg = self.attribute_argument(attribute, "", false);
        let km = self.rng.choice([1, 5, 20, 60]).unwrap_or_default();
        self.conjuncts.push(near(attribute, &arg, km));
    }

    fn both_ends(&mut self, attribute: &GeneratedAttribute) {
        for ops in [[">", ">="], ["<", "<="]] {
            let op = self.rng.choice(ops).unwrap_or_default();
            let arg = self.attribute_argument(attribute, "", false);
            self.conjuncts.push(format!("{} {op} {arg}", attribute.name));
        }
    }

    /// One or two ends, or a beginning.
    fn range(&mut self, attribute: &GeneratedAttribute) {
        if !attribute.kind.is_plain() || attribute.kind.shape == StoredShape::Bool {
            return self.filter();
        }
        let kind = attribute.kind;
        if kind.free_text && self.rng.u8(..4) == 0 {
            let arg = self.attribute_argument(attribute, "", false);
            return self.conjuncts.push(format!("{}.startsWith({arg})", attribute.name));
        }
        if self.rng.u8(..3) == 0 {
            return self.both_ends(attribute);
        }
        let op = self.rng.choice(["<", "<=", ">", ">="]).unwrap_or_default();
        let value = self.end(attribute);
        self.conjuncts.push(match self.rng.u8(..4) {
            0 => format!("{value} {op} {}", attribute.name),
            _ => format!("{} {op} {value}", attribute.name),
        });
    }

    fn end(&mut self, attribute: &GeneratedAttribute) -> String {
        match attribute.kind.clock {
            Some(clock) if self.rng.u8(..4) == 0 => clock.to_owned(),
            _ => self.attribute_argument(attribute, "", true),
        }
    }

    /// A condition on any attribute.
    fn filter(&mut self) {
        let computed = self.rng.choice(&self.entity.attributes);
        let computed = computed.and_then(|attribute| formula_test(self.rng, attribute));
        let test = match (self.rng.u8(..10), computed) {
            (3 | 4, Some(computed)) => computed,
            (2, _) => self.tested(),
            (0, _) => {
                let (one, two) = (self.test(false), self.test(false));
                format!("({one} || {two})")
            }
            (1, _) => format!("(!({}))", self.test(false)),
            _ => self.test(true),
        };
        self.conjuncts.push(test);
    }

    /// An alternative with an argument that is tested, for it may be left out.
    fn tested(&mut self) -> String {
        let attributes = self.entity.attributes.iter();
        let valued: Vec<_> = attributes.filter(|attribute| attribute.kind.is_plain()).collect();
        let Some(attribute) = self.rng.choice(valued) else {
            return "true".to_owned();
        };
        let before = self.args.len();
        let arg = self.attribute_argument(attribute, "", true);
        let test = format!("{} == {arg}", attribute.name);
        match (self.args.len() > before, self.rng.u8(..3)) {
            (true, 0) => format!("({arg} == absent || {test})"),
            (true, 1) => format!("({arg} != absent && {test} || {})", self.test(false)),
            _ => test,
        }
    }

    fn test(&mut self, may_be_left_out: bool) -> String {
        let Some(attribute) = self.rng.choice(&self.entity.attributes).cloned() else {
            return "true".to_owned();
        };
        let (name, kind) = (&attribute.name, attribute.kind);
        if kind.shape == StoredShape::Place {
            let arg = self.attribute_argument(&attribute, "", false);
            return near(&attribute, &arg, 30);
        }
        if kind.shape == StoredShape::Set {
            let arg = self.attribute_argument(&attribute, "word", false);
            return format!("{name}.contains({arg})");
        }
        if !kind.is_plain() {
            let known = if attribute.optional {
                format!("{name} != absent")
            } else {
                "true".to_owned()
            };
            let equal =
                matches!(kind.shape, StoredShape::Bytes).then(|| self.attribute_argument(&attribute, "", false));
            return equal.map_or(known, |arg| format!("{name} == {arg}"));
        }
        match self.rng.u8(..10) {
            0 if attribute.optional => format!("{name} != absent"),
            1 if attribute.optional => format!("{name} == absent"),
            0..3 if kind.free_text => {
                let call = self.rng.choice(["startsWith", "contains"]).unwrap_or_default();
                let arg = self.attribute_argument(&attribute, "", false);
                format!("{name}.{call}({arg})")
            }
            6 if kind.free_text && self.rng.bool() => format!("!({name} in caller.groups)"),
            6 if kind.free_text => format!("{name} != caller.id"),
            3 | 4 => {
                let list = self.list(&attribute);
                format!("{name} in {list}")
            }
            5 if kind.shape == StoredShape::Bool && !attribute.optional => name.clone(),
            _ => {
                let ops: &[&str] = match kind.shape {
                    StoredShape::Bool => &["==", "!="],
                    _ => &["==", "!=", "<", "<=", ">", ">="],
                };
                let op = self.rng.choice(ops).copied().unwrap_or("==");
                let value = match op {
                    "==" | "!=" => self.attribute_argument(&attribute, "", may_be_left_out),
                    _ if may_be_left_out => self.end(&attribute),
                    _ => self.attribute_argument(&attribute, "", false),
                };
                format!("{name} {op} {value}")
            }
        }
    }

    /// A value of the pool as an expression has it; of a few types.
    fn literal(&mut self, kind: &PooledType) -> Option<String> {
        let wide = if self.rng.u8(..4) == 0 { kind.beyond } else { kind.pool };
        let text = self.rng.choice(wide)?;
        let plain = text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || " .-".contains(character));
        match (kind.shape, kind.ty.split(' ').next()) {
            (StoredShape::Number, Some("int" | "number")) => Some((*text).to_owned()),
            (StoredShape::Text, Some("string" | "Grade" | "Letter" | "State")) if plain => Some(format!("\"{text}\"")),
            _ => None,
        }
    }

    fn list(&mut self, attribute: &GeneratedAttribute) -> String {
        if self.rng.bool() {
            let (one, two) = (
                self.attribute_argument(attribute, "", false),
                self.attribute_argument(attribute, "", false),
            );
            return format!("[{one}, {two}]");
        }
        let before = self.args.len();
        let arg = self.attribute_argument(attribute, "", false);
        if self.args.len() == before {
            return format!("[{arg}]");
        }
        if let Some(arg) = self.args.last_mut() {
            (arg.list, arg.default) = (true, None);
        }
        arg
    }

    /// A value of an attribute: an argument, or one written out.
    pub fn attribute_argument(
        &mut self,
        attribute: &GeneratedAttribute,
        function: &'static str,
        may_be_left_out: bool,
    ) -> String {
        let kind = attribute.kind;
        if function.is_empty()
            && self.rng.u8(..8) == 0
            && let Some(literal) = self.literal(kind)
        {
            return literal;
        }
        if function.is_empty()
            && attribute.is_sure()
            && self.entity.attributes.iter().any(|known| known.name == attribute.name)
            && self.rng.u8(..3) == 0
            && let Some(bound) = self.rng.choice(&self.bound)
        {
            return format!("{bound}.{}", attribute.name);
        }
        let name = format!("p{}", self.args.len());
        let known = self.entity.attributes.iter().any(|known| known.name == attribute.name);
        let refers = known && !attribute.name.contains('.') && (self.rng.u8(..8) == 0 || !kind.form.is_empty());
        let default = self
            .literal(kind)
            .filter(|_| function.is_empty() && self.rng.u8(..16) == 0);
        let wide = self.rng.u8(..3) == 0;
        let default = default.filter(|_| !refers && (wide || kind.beyond.is_empty()));
        let optional = self.args.iter().filter(|arg| arg.optional).count() < OPTIONAL_MAX;
        self.args.push(GeneratedArg {
            name: name.clone(),
            attribute: attribute.clone(),
            list: false,
            optional: optional && may_be_left_out && self.rng.u8(..4) == 0 && default.is_none(),
            wide,
            function,
            of: refers.then(|| self.entity.name.clone()),
            default,
            in_path: false,
        });
        format!("args.{name}")
    }

    /// The order that the path gives after what is bound, forwards or backwards; at times another.
    pub fn order_text(&mut self, path: &GeneratedPath, bound: usize) -> String {
        let backwards = self.rng.bool();
        let skipped = if self.rng.u8(..4) == 0 { self.rng.usize(..3) } else { 0 };
        let wanted = self.rng.usize(..3);
        let words: Vec<String> = path
            .sort
            .iter()
            .filter(|part| part.attribute.kind.shape != StoredShape::Place)
            .skip(bound + skipped)
            .take(wanted)
            .map(|part| {
                let odd = self.rng.u8(..12) == 0;
                let descends = backwards != (part.function == "desc") && !odd;
                format!("{}{}", if descends { "-" } else { "" }, part.attribute.name)
            })
            .collect();
        if words.is_empty() {
            String::new()
        } else {
            format!("    order: '{}'\n", words.join(", "))
        }
    }

    fn allow(&mut self) -> String {
        let texts: Vec<&GeneratedAttribute> = self
            .entity
            .attributes
            .iter()
            .filter(|attribute| attribute.kind.free_text)
            .collect();
        match (self.rng.u8(..8), self.rng.choice(texts)) {
            (0, Some(attribute)) => format!("{} == caller.id", attribute.name),
            (1, Some(attribute)) => format!("caller.authenticated && {} != caller.id", attribute.name),
            (3, Some(attribute)) => format!("{} != caller.id", attribute.name),
            (2, _) => "caller.authenticated".to_owned(),
            (4, _) if self.rng.u8(..4) == 0 => "caller.role in [\"clerk\", \"boss\"]".to_owned(),
            (6, Some(attribute)) if self.rng.u8(..4) == 0 => format!("!({} in caller.groups)", attribute.name),
            (6, _) if self.rng.u8(..4) == 0 => "\"desk\" in caller.groups".to_owned(),
            (5, Some(attribute)) if !self.bound.is_empty() && attribute.is_sure() => {
                let bound = self.rng.choice(&self.bound).cloned().unwrap_or_default();
                format!("{bound}.{} == caller.id", attribute.name)
            }
            _ => "true".to_owned(),
        }
    }
}

/// A circle; where there may be no place, that is said first.
fn near(attribute: &GeneratedAttribute, center: &str, km: u16) -> String {
    let name = &attribute.name;
    match attribute.optional {
        true => format!("({name} != absent && near({name}, {center}, {km}))"),
        false => format!("near({name}, {center}, {km})"),
    }
}

fn has_result(function: &str) -> bool {
    matches!(function, "lower" | "upper" | "day" | "month" | "year")
}
