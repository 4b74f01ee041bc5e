//! Reads that mostly follow a path, and at times do not.

use fastrand::Rng;

use super::{GeneratedArg, GeneratedAttribute, GeneratedEntity, GeneratedRead, Kind, Part, Path, Shape};

/// The most optional arguments: each doubles the plans.
const OPTIONAL_MAX: usize = 3;

/// A read of an entity.
pub(super) fn read(rng: &mut Rng, entity: &GeneratedEntity, at: usize) -> Option<GeneratedRead> {
    let path = rng.choice(&entity.paths)?;
    let mut writer = Writer {
        rng,
        entity,
        args: Vec::new(),
        conjuncts: Vec::new(),
    };
    let bound = writer.follow(path);
    for _ in 0..writer.rng.usize(..3) {
        writer.filter();
    }
    let order = writer.order(path, bound);
    let limit = writer.rng.u8(1..9);
    let limit = if writer.rng.u8(..4) == 0 { format!("    limit: {limit}\n") } else { String::new() };
    let allow = writer.allow();
    writer.rng.shuffle(&mut writer.conjuncts);
    let mut text = format!("  r{at}:\n    find: {}\n", entity.name);
    if !writer.args.is_empty() {
        text.push_str("    args:\n");
        writer.args.iter().for_each(|arg| text.push_str(&format!("      {}: '{}'\n", arg.name, type_of(arg))));
    }
    if !writer.conjuncts.is_empty() {
        text.push_str(&format!("    where: '{}'\n", writer.conjuncts.join(" && ")));
    }
    text.push_str(&format!("{order}{limit}    allow: '{allow}'\n"));
    Some(GeneratedRead {
        name: format!("r{at}"),
        text,
        args: writer.args,
    })
}

fn type_of(arg: &GeneratedArg) -> String {
    let own = match (arg.function, arg.wide) {
        ("lower" | "upper", _) => "string",
        ("day", _) => "date",
        ("month", _) => "month",
        ("year", _) => "int",
        (_, true) => arg.kind.wide,
        (_, false) => arg.kind.ty,
    };
    match (arg.list, arg.optional, own.split_once(' ')) {
        (true, _, _) => format!("list({own})"),
        (false, true, Some((ty, limits))) => format!("{ty}? {limits}"),
        (false, true, None) => format!("{own}?"),
        (false, false, _) => own.to_owned(),
    }
}

struct Writer<'a> {
    rng: &'a mut Rng,
    entity: &'a GeneratedEntity,
    args: Vec<GeneratedArg>,
    conjuncts: Vec<String>,
}

impl Writer<'_> {
    /// Binds the partition, a beginning of the sort key, and perhaps a range after it. How much of the sort key is bound.
    fn follow(&mut self, path: &Path) -> usize {
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
            let optional = path.partition.iter().chain(&path.sort).filter(|part| part.attribute.optional);
            self.conjuncts.extend(optional.map(|part| format!("{} != absent", part.attribute.name)));
        }
        bound
    }

    fn bind(&mut self, part: &Part, partition: bool) {
        let attribute = &part.attribute;
        let (name, kind) = (&attribute.name, attribute.kind);
        let test = match self.rng.u8(..12) {
            0 | 1 if partition && kind.small => return,
            0..3 if partition && kind.ty == "date" => return self.both_ends(attribute),
            0..3 => {
                let list = self.list(kind);
                format!("{name} in {list}")
            }
            3..6 if has_result(part.function) => {
                let arg = self.arg(kind, part.function, false);
                format!("{}({name}) == {arg}", part.function)
            }
            6 if kind.free_text => format!("{name} == caller.id"),
            7 if kind.shape == Shape::Bool => name.clone(),
            8 if kind.shape == Shape::Bool => format!("(!{name})"),
            9 => {
                let arg = self.arg(kind, "", false);
                format!("{arg} == {name}")
            }
            _ => {
                let arg = self.arg(kind, "", false);
                format!("{name} == {arg}")
            }
        };
        self.conjuncts.push(test);
    }

    fn both_ends(&mut self, attribute: &GeneratedAttribute) {
        for ops in [[">", ">="], ["<", "<="]] {
            let op = self.rng.choice(ops).unwrap_or_default();
            let arg = self.arg(attribute.kind, "", false);
            self.conjuncts.push(format!("{} {op} {arg}", attribute.name));
        }
    }

    /// One or two ends, or a beginning.
    fn range(&mut self, attribute: &GeneratedAttribute) {
        if attribute.kind.shape == Shape::Bool {
            return self.filter();
        }
        let kind = attribute.kind;
        if kind.free_text && self.rng.u8(..4) == 0 {
            let arg = self.arg(kind, "", false);
            return self.conjuncts.push(format!("{}.startsWith({arg})", attribute.name));
        }
        if self.rng.u8(..3) == 0 {
            return self.both_ends(attribute);
        }
        let op = self.rng.choice(["<", "<=", ">", ">="]).unwrap_or_default();
        let value = self.end(kind);
        self.conjuncts.push(match self.rng.u8(..4) {
            0 => format!("{value} {op} {}", attribute.name),
            _ => format!("{} {op} {value}", attribute.name),
        });
    }

    fn end(&mut self, kind: &'static Kind) -> String {
        match kind.clock {
            Some(clock) if self.rng.u8(..4) == 0 => clock.to_owned(),
            _ => self.arg(kind, "", true),
        }
    }

    /// A condition on any attribute.
    fn filter(&mut self) {
        let test = match self.rng.u8(..10) {
            0 => {
                let (one, two) = (self.test(false), self.test(false));
                format!("({one} || {two})")
            }
            1 => format!("(!({}))", self.test(false)),
            _ => self.test(true),
        };
        self.conjuncts.push(test);
    }

    fn test(&mut self, may_be_left_out: bool) -> String {
        let Some(attribute) = self.rng.choice(&self.entity.attributes).cloned() else {
            return "true".to_owned();
        };
        let (name, kind) = (&attribute.name, attribute.kind);
        match self.rng.u8(..10) {
            0 if attribute.optional => format!("{name} != absent"),
            1 if attribute.optional => format!("{name} == absent"),
            0..3 if kind.free_text => {
                let call = self.rng.choice(["startsWith", "contains"]).unwrap_or_default();
                let arg = self.arg(kind, "", false);
                format!("{name}.{call}({arg})")
            }
            3 | 4 => {
                let list = self.list(kind);
                format!("{name} in {list}")
            }
            5 if kind.shape == Shape::Bool => name.clone(),
            _ => {
                let ops: &[&str] = match kind.shape {
                    Shape::Bool => &["==", "!="],
                    _ => &["==", "!=", "<", "<=", ">", ">="],
                };
                let op = self.rng.choice(ops).copied().unwrap_or("==");
                let value = match op {
                    "==" | "!=" => self.arg(kind, "", may_be_left_out),
                    _ if may_be_left_out => self.end(kind),
                    _ => self.arg(kind, "", false),
                };
                format!("{name} {op} {value}")
            }
        }
    }

    fn list(&mut self, kind: &'static Kind) -> String {
        if self.rng.bool() {
            let (one, two) = (self.arg(kind, "", false), self.arg(kind, "", false));
            return format!("[{one}, {two}]");
        }
        let arg = self.arg(kind, "", false);
        if let Some(arg) = self.args.last_mut() {
            arg.list = true;
        }
        arg
    }

    fn arg(&mut self, kind: &'static Kind, function: &'static str, may_be_left_out: bool) -> String {
        let name = format!("p{}", self.args.len());
        let optional = self.args.iter().filter(|arg| arg.optional).count() < OPTIONAL_MAX;
        self.args.push(GeneratedArg {
            name: name.clone(),
            kind,
            list: false,
            optional: optional && may_be_left_out && self.rng.u8(..4) == 0,
            wide: self.rng.u8(..3) == 0,
            function,
        });
        format!("args.{name}")
    }

    /// The order that the path gives after what is bound, forwards or backwards; at times another.
    fn order(&mut self, path: &Path, bound: usize) -> String {
        let backwards = self.rng.bool();
        let skipped = if self.rng.u8(..4) == 0 { self.rng.usize(..3) } else { 0 };
        let wanted = self.rng.usize(..3);
        let words: Vec<String> = path
            .sort
            .iter()
            .skip(bound + skipped)
            .take(wanted)
            .map(|part| {
                let odd = self.rng.u8(..12) == 0;
                let descends = backwards != (part.function == "desc") && !odd;
                format!("{}{}", if descends { "-" } else { "" }, part.attribute.name)
            })
            .collect();
        if words.is_empty() { String::new() } else { format!("    order: '{}'\n", words.join(", ")) }
    }

    fn allow(&mut self) -> String {
        let texts: Vec<&GeneratedAttribute> = self.entity.attributes.iter().filter(|attribute| attribute.kind.free_text).collect();
        match (self.rng.u8(..8), self.rng.choice(texts)) {
            (0, Some(attribute)) => format!("{} == caller.id", attribute.name),
            (1, Some(attribute)) => format!("caller.authenticated && {} != caller.id", attribute.name),
            (2, _) => "caller.authenticated".to_owned(),
            _ => "true".to_owned(),
        }
    }
}

fn has_result(function: &str) -> bool {
    matches!(function, "lower" | "upper" | "day" | "month" | "year")
}
