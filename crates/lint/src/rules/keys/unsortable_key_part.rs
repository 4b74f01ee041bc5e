use std::collections::HashSet;

use singlet_item::key::{Form, Part};
use singlet_model::expression::{Expr, ExprKind, FunctionId};
use singlet_model::model::{Attribute, Comparison, KeyPart, KeyTemplate, PartFunction, Selection, Using};
use singlet_model::types::{EntityId, Type};
use singlet_plan::access::AccessPath;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A number or an instant stands in a sort key in a form that does not sort.
    ///
    /// Keys sort by their bytes. A number without an upper limit, or one that may be negative, stands as it prints, and `10`
    /// sorts before `9`. An instant kept as free text, `string(now)`, has no said width: `05Z` sorts after `05.123Z`, half a
    /// second before it. Ranges and "newest first" over such a key are wrong for some values and right for most, which is
    /// why tests do not find it.
    ///
    /// ```yaml
    /// createdAt: string = string(now)
    /// amount: int 0..
    /// key: {PK: "AUCTION#{auctionId}", SK: "BID#{amount}"}
    /// ```
    ///
    /// A number is reported wherever it stands in a sort key, unless as `plain(n)`, which says that only equality is meant;
    /// `plain(n)` and text of an instant are reported where a read wants an order of them: `order`, `<`, a range in `using`,
    /// `descending`.
    ///
    /// Way out: give the number limits (`int 0..999999` is padded to six digits) or make it the whole key, of type number;
    /// declare the instant as `time`, `seconds` or `millis`.
    "K008" "unsortable-key-part" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let wanted = Wanted::of(context);
    let mut reported = HashSet::new();
    for (path, key, _) in context.key_templates().filter(|(_, _, sort)| *sort) {
        for (at, part) in key.parts.iter().enumerate() {
            let ordered = || wanted.wants(context, &path, part, at == 0);
            let Some(problem) = problem(context, &path, key, part, &ordered) else {
                continue;
            };
            if !reported.insert((path.entity.id, part.path.as_str())) {
                continue;
            }
            let message = format!(
                "`{}` in the sort key `{}` of `{}` {problem}",
                part.path, key.text, path.entity.name
            );
            let help = match part.ty {
                Type::Text(_) => "declare it as `time`, `seconds` or `millis`, which have one width",
                _ => {
                    "give it a lower limit of at least 0 and an upper one, to which it is padded; or write `plain(…)` for equality"
                }
            };
            findings.push(findings.at(part.span, context.path_subject(&path), message).help(help));
        }
    }
}

fn problem<'a>(
    context: &Context<'a>,
    path: &AccessPath<'a>,
    key: &KeyTemplate,
    part: &KeyPart,
    ordered: &dyn Fn() -> bool,
) -> Option<&'static str> {
    let form = key.template.parts().get(part.position);
    let plain = matches!(form, Some(Part::Variable(variable)) if variable.form == Form::Plain);
    if plain {
        let said = part.function == Some(PartFunction::Plain);
        return match said {
            true => ordered().then_some("is written plain, so `10` sorts before `9`, and a read wants its order"),
            false => Some("has no limits to be padded to, so `10` sorts before `9`"),
        };
    }
    let text = matches!(part.ty, Type::Text(_)) && context.attribute(path.entity, part).is_some_and(is_text_of_instant);
    (text && ordered()).then_some("is an instant as free text of no said width, and a read wants its order")
}

/// Whether an attribute is the text of an instant: `string(now)`, or of another instant.
fn is_text_of_instant(attribute: &Attribute) -> bool {
    let values = [&attribute.default, &attribute.is, &attribute.always];
    values.into_iter().flatten().any(|expr| {
        expr.any(|part| match &part.kind {
            ExprKind::Call(FunctionId::String, args) => args.iter().any(|arg| arg.ty.is_instant()),
            _ => false,
        })
    })
}

/// Of what the reads want an order.
struct Wanted<'a> {
    attributes: HashSet<(EntityId, &'a str)>,
    paths: HashSet<(EntityId, Option<&'a str>)>,
}

impl<'a> Wanted<'a> {
    fn of(context: &Context<'a>) -> Self {
        let mut wanted = Wanted {
            attributes: HashSet::new(),
            paths: HashSet::new(),
        };
        for (read, selection, entity) in context.read_selections() {
            let id = context.model.source_of(entity).id;
            wanted.take(id, selection);
            if let Some(using) = read.using.as_ref().filter(|using| using.descending || has_range(using)) {
                let index = using.index.and_then(|index| context.model.index(index));
                wanted.paths.insert((id, index.map(|index| index.name.as_str())));
            }
        }
        wanted
    }

    fn take(&mut self, entity: EntityId, selection: &'a Selection) {
        let roots = selection.order.iter().filter_map(|order| order.path.split('.').next());
        self.attributes.extend(roots.map(|root| (entity, root)));
        let Some(filter) = &selection.filter else { return };
        filter.walk(&mut |part: &'a Expr| {
            if let ExprKind::Binary(op, left, right) = &part.kind
                && op.is_ordering()
            {
                let names = [left, right].into_iter().filter_map(|side| match &side.kind {
                    ExprKind::Attribute(name) => Some((entity, name.as_str())),
                    _ => None,
                });
                self.attributes.extend(names);
            }
        });
    }

    /// Whether a read wants the order of a part, by its attribute or, for the first of a sort key, by the key itself.
    fn wants(&self, context: &Context<'_>, path: &AccessPath<'_>, part: &KeyPart, first: bool) -> bool {
        let id = context.model.source_of(path.entity).id;
        let by_key = self.paths.contains(&(id, path.index.map(|index| index.name.as_str())));
        self.attributes.contains(&(id, part.root_attribute())) || (first && by_key)
    }
}

fn has_range(using: &Using) -> bool {
    using
        .key
        .iter()
        .any(|key| !matches!(key.comparison, Comparison::Equal(_) | Comparison::BeginsWith(_)))
}
