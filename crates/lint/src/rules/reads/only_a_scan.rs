use singlet_model::expression::Expr;
use singlet_model::model::{KeyPart, Read};
use singlet_plan::access::{AccessPath, Bindings};

use crate::context::Asked;
use crate::{Context, Findings, design_rule};

design_rule! {
    /// No key answers the read.
    ///
    /// A query needs the whole partition key before anything is read. What no path binds can only be found by reading the
    /// whole table, at a price that grows with the table; so it is refused, not done silently.
    ///
    /// ```yaml
    /// Reservation:
    ///   key: {PK: "ITEM#{itemId}", SK: "RESERVATION#{resId}"}
    /// …
    /// reservation:
    ///   get: Reservation
    ///   where: resId == args.resId              # whose item, nobody says
    /// ```
    ///
    /// A part with a small domain (an enum, a bool, `int 0..9`) needs no value: it is asked for value by value, if the meaning
    /// names anything else of the key. An optional argument binds only while it is sent: each combination needs a path, or
    /// `combinations` lists those that there are.
    ///
    /// Way out: an index or a mirror whose partition the meaning fixes; or `scan: "why"` where the table is small.
    "R011" "only-a-scan" Error
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for asked in context.asked() {
        let said = asked.read.is_some_and(|read| read.scan.is_some());
        let by_hand = asked.own_read().is_some_and(|read| read.using.is_some());
        if !said && !by_hand {
            report(context, &asked, findings);
        }
    }
}

fn report(context: &Context<'_>, asked: &Asked<'_>, findings: &mut Findings<'_>) {
    let paths = context.paths(asked.entity.id);
    let Some(case) = cases(asked)
        .into_iter()
        .find(|case| paths.iter().all(|path| missing(path, case).is_some()))
    else {
        return;
    };
    let without = match case.left_out.as_slice() {
        [] => String::new(),
        names => format!(" without `{}`", names.join("`, `")),
    };
    let missing: Vec<String> = paths
        .iter()
        .filter_map(|path| Some(needs(path, missing(path, &case)?)))
        .collect();
    let message = format!(
        "only a scan finds `{}`{without}: {}",
        asked.entity.name,
        shortened(missing)
    );
    let help = "add an index or a mirror whose partition the meaning fixes, or say `scan: \"why\"`";
    findings.push(findings.at(asked.selection.span, asked.name, message).help(help));
}

/// The part of a partition key that a meaning leaves open. A part with a small domain is asked for value by value; where
/// the meaning names nothing of the path's key at all, that would read every row.
fn missing<'a>(path: &AccessPath<'a>, case: &Case<'_>) -> Option<&'a KeyPart> {
    if let Some(part) = path.unbound(&case.bindings) {
        return Some(part);
    }
    let names = |part: &KeyPart| case.bindings.names(part, path.entity) || case.named.contains(&part.root());
    let read_whole = !case.named.is_empty() && !path.choice.keys.iter().flat_map(|key| &key.parts).any(names);
    let first = path.partition().iter().flat_map(|key| &key.parts).next();
    first.filter(|_| read_whole && path.choice.when.is_none())
}

fn needs(path: &AccessPath<'_>, part: &KeyPart) -> String {
    match path.index {
        Some(index) => format!("index `{}` needs `{}`", index.name, part.path),
        None => format!("`{}` needs `{}`", path.entity.name, part.path),
    }
}

/// How many paths a message lists.
const LISTED_MAX: usize = 4;

fn shortened(mut missing: Vec<String>) -> String {
    missing.dedup();
    let more = missing.len().saturating_sub(LISTED_MAX);
    missing.truncate(LISTED_MAX);
    let listed = missing.join(", ");
    if more == 0 {
        listed
    } else {
        format!("{listed} and {more} more")
    }
}

/// What is bound when some optional arguments are not sent.
struct Case<'a> {
    bindings: Bindings<'a>,
    left_out: Vec<&'a str>,
    /// The attributes that what is left of the meaning names.
    named: Vec<&'a str>,
}

/// The weakest requests: those that `combinations` lists, or the one without any optional argument.
fn cases<'a>(asked: &Asked<'a>) -> Vec<Case<'a>> {
    let combinations = asked.read.map_or(&[][..], |read| &read.combinations);
    match combinations {
        [] => vec![case(asked, &[])],
        listed => listed.iter().map(|sent| case(asked, sent)).collect(),
    }
}

fn case<'a>(asked: &Asked<'a>, sent: &[String]) -> Case<'a> {
    let mut bindings = Bindings::default();
    let (mut left_out, mut named) = (Vec::new(), Vec::new());
    for conjunct in asked.selection.filter.iter().flat_map(Expr::conjuncts) {
        let missing = not_sent(asked.read, conjunct, sent);
        if missing.is_empty() {
            bindings.take(conjunct);
            named.extend(conjunct.attributes());
        }
        left_out.extend(missing);
    }
    for conjunct in asked.allow.into_iter().flat_map(Expr::conjuncts) {
        bindings.take(conjunct);
        // `caller.role == "admin" || userId == caller.id` leaves every row to an administrator.
        let everything_for_some = conjunct.disjuncts().iter().any(|branch| branch.attributes().is_empty());
        named.extend(conjunct.attributes().into_iter().filter(|_| !everything_for_some));
    }
    Case {
        bindings,
        left_out,
        named,
    }
}

/// The optional arguments of a conjunct that are not sent: without them it is left out.
fn not_sent<'a>(read: Option<&'a Read>, conjunct: &'a Expr, sent: &[String]) -> Vec<&'a str> {
    let may_miss = |name: &&str| {
        let arg = read.and_then(|read| read.arg(name));
        arg.is_some_and(|arg| arg.optional && arg.default.is_none()) && !sent.iter().any(|sent| sent == name)
    };
    conjunct.arguments().into_iter().filter(may_miss).collect()
}
