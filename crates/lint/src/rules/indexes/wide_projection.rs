use std::collections::{HashMap, HashSet};

use singlet_model::expression::{Expr, ExprKind};
use singlet_model::model::{Index, Projection, Read, Return, SelectionKind};

use crate::answers::Answered;
use crate::context::{Asked, index_subject};
use crate::{Context, Findings, design_rule};

design_rule! {
    /// An index carries every attribute though its reads need few.
    ///
    /// With everything projected, each change of a row is a write in the index too, entries are as large as rows, and a read
    /// pays for bytes that it does not return. Entries with few attributes change seldom and are read many to the unit.
    ///
    /// ```yaml
    /// GSI1: {partition: GSI1PK, sort: GSI1SK}          # projects everything
    /// …
    /// find: Document
    /// return: {id: documentId, title: title}           # 2 of 12 attributes
    /// ```
    ///
    /// Reported only where every read that the index can answer returns named attributes, less than half of those there are.
    ///
    /// Way out: `project: [title]` on the index. A projection never changes: a new index takes the old one's place.
    "I004" "wide-projection" Hint
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut needs: HashMap<&str, Need<'_>> = HashMap::new();
    for Answered { asked, paths } in context.answered_asks() {
        let needed = needed(asked);
        let by_hand = asked.own_read().and_then(|read| read.using.as_ref()?.index);
        let named = by_hand
            .and_then(|index| context.model.index(index))
            .map(|index| index.name.as_str());
        for path in paths {
            let Some(index) = path.index else { continue };
            if named.is_none_or(|named| named == index.name) {
                let size = path.entity.attributes.len();
                needs.entry(&index.name).or_default().add(&needed, size);
            }
        }
    }
    for index in context
        .model
        .table
        .indexes
        .iter()
        .filter(|index| index.projection == Projection::All && !index.local)
    {
        if let Some(need) = needs.get(index.name.as_str()) {
            report(index, need, findings);
        }
    }
}

fn report(index: &Index, need: &Need<'_>, findings: &mut Findings<'_>) {
    if need.everything || need.attributes.len() * 2 >= need.size {
        return;
    }
    let message = format!(
        "index `{}` carries every attribute; its reads need {} of {}",
        index.name,
        need.attributes.len(),
        need.size
    );
    let mut names: Vec<&str> = need.attributes.iter().copied().collect();
    names.sort_unstable();
    let help = format!("`project: [{}]` would do", names.join(", "));
    findings.push(findings.at(index.span, index_subject(index), message).help(help));
}

/// What the reads of an index need together.
#[derive(Default)]
struct Need<'a> {
    attributes: HashSet<&'a str>,
    everything: bool,
    /// The attributes of the smallest entity that is read.
    size: usize,
}

impl<'a> Need<'a> {
    fn add(&mut self, needed: &Option<HashSet<&'a str>>, size: usize) {
        self.size = if self.size == 0 { size } else { self.size.min(size) };
        match needed {
            Some(names) => self.attributes.extend(names),
            None => self.everything = true,
        }
    }
}

/// The attributes that an answer is made of; nothing where it is made of whole rows.
fn needed<'a>(asked: &Asked<'a>) -> Option<HashSet<&'a str>> {
    let mut names: HashSet<&'a str> = HashSet::new();
    let conditions = asked.selection.filter.iter().chain(asked.allow);
    names.extend(conditions.flat_map(Expr::attributes));
    if asked.selection.kind == SelectionKind::Count {
        names.extend(asked.selection.by.iter().map(String::as_str));
        names.extend(asked.selection.sums.iter().flat_map(|(_, sum)| sum.attributes()));
        return Some(names);
    }
    names.extend(returned(asked.own_read()?)?);
    Some(names)
}

fn returned(read: &Read) -> Option<Vec<&str>> {
    let exprs: Vec<&Expr> = match &read.returns {
        Return::Usual => return None,
        Return::Nothing => Vec::new(),
        Return::Value(expr) => vec![expr],
        Return::Fields(fields) => fields.iter().map(|(_, expr)| expr).collect(),
    };
    let whole = exprs
        .iter()
        .any(|expr| expr.any(|part| matches!(part.kind, ExprKind::Row | ExprKind::Word(_))));
    (!whole).then(|| exprs.into_iter().flat_map(Expr::attributes).collect())
}
