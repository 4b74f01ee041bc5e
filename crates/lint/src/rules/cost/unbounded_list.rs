use std::collections::HashMap;

use singlet_model::types::Type;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// A list, set or map in an item has no upper limit.
    ///
    /// An item has at most 400 KB, and each write of it costs a unit for each KB, however little changes. A list that grows
    /// with use makes every append dearer than the last, until one is refused for good. The limit on its elements is what
    /// keeps that from happening unseen.
    ///
    /// ```yaml
    /// comments: list(Comment)
    /// ```
    ///
    /// Collections inside objects and other collections count too. Free-form `json` cannot have a limit and is not reported.
    ///
    /// Way out: a limit (`list(Comment) ..50`, which becomes a condition of each append), or a row for each element under the
    /// same partition key.
    "C002" "unbounded-list" Warning
}

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    let mut appended: HashMap<_, &str> = HashMap::new();
    for (write, step) in context.write_steps() {
        let grown = step.append.iter().chain(&step.add);
        for (entity, set) in grown.filter_map(|set| Some((step.entity()?, set))) {
            appended.entry((entity, set.attribute.as_str())).or_insert(&write.name);
        }
    }
    for entity in context.model.entities.iter().filter(|entity| entity.mirror.is_none()) {
        for attribute in &entity.attributes {
            let Some(kind) = unbounded(&attribute.ty).filter(|_| attribute.is.is_none()) else {
                continue;
            };
            let grows = appended.get(&(entity.id, attribute.name.as_str()));
            let grows = grows
                .map(|write| format!(", and `{write}` adds to it"))
                .unwrap_or_default();
            let message = format!(
                "`{}.{}` has a {kind} without an upper limit{grows}",
                entity.name, attribute.name
            );
            findings.push(
                findings
                    .at(attribute.span, format!("{}.{}", entity.name, attribute.name), message)
                    .help("give it a limit, such as `..50`, or make each element a row; an item holds 400 KB"),
            );
        }
    }
}

/// The first collection without an upper limit in a type.
fn unbounded(ty: &Type) -> Option<&'static str> {
    match ty {
        Type::List(element, limits) => limits.max.is_none().then_some("list").or_else(|| unbounded(element)),
        Type::Set(element, limits) => limits.max.is_none().then_some("set").or_else(|| unbounded(element)),
        Type::Map(element, limits) => limits.max.is_none().then_some("map").or_else(|| unbounded(element)),
        _ => ty.object_type()?.fields.iter().find_map(|field| unbounded(&field.ty)),
    }
}
