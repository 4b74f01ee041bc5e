//! Mistakes in keys.

use singlet_item::key::{Domain, Form, Part, Template, Variable};
use singlet_model::Model;
use singlet_model::model::{Entity, IndexEntryKind, KeyChoice, KeyTemplate, PartFunction};

use super::Sites;

/// Every template of an entity, with its place.
fn for_each_template(model: &mut Model, f: &mut dyn FnMut(String, &mut KeyTemplate)) {
    let names: Vec<String> = model.table.indexes.iter().map(|index| index.name.clone()).collect();
    for entity in &mut model.entities {
        let Entity { name, key, index, .. } = entity;
        for_each_key(key, name, f);
        for entry in index {
            let place = names.get(entry.index.0 as usize).cloned().unwrap_or_default();
            if let IndexEntryKind::Templates(choices) = &mut entry.kind {
                for_each_key(choices, &format!("{name}.{place}"), f);
            }
        }
    }
}

fn for_each_key(choices: &mut [KeyChoice], place: &str, f: &mut dyn FnMut(String, &mut KeyTemplate)) {
    for template in choices.iter_mut().flat_map(|choice| &mut choice.keys) {
        f(format!("{place}.{} {:?}", template.attribute, template.text), template);
    }
}

/// A template of other parts; the old one where these make none.
fn rebuilt(template: &mut KeyTemplate, change: impl FnOnce(&mut Vec<Part>)) {
    let mut parts = template.template.parts().to_vec();
    change(&mut parts);
    if let Ok(changed) = Template::new(parts, template.template.delimiter()) {
        template.template = changed;
    }
}

/// A form of one variable in place of another.
fn reform(
    model: &mut Model,
    sites: &mut Sites,
    fits: &dyn Fn(&Variable) -> Option<Form>,
    function: Option<PartFunction>,
) {
    for_each_template(model, &mut |place, template| {
        let variables = template.template.parts().to_vec();
        for (at, part) in variables.iter().enumerate() {
            let Part::Variable(variable) = part else { continue };
            let Some(form) = fits(variable) else { continue };
            if sites.here(format!("{place}: {}", variable.name)) {
                let form = form.clone();
                rebuilt(template, |parts| {
                    if let Some(Part::Variable(variable)) = parts.get_mut(at) {
                        variable.form = form;
                    }
                });
                for part in template.parts.iter_mut().filter(|part| part.position == at) {
                    part.function = function;
                }
            }
        }
    });
}

/// A string that may hold a delimiter stands as it is.
pub(super) fn forgotten_escape(model: &mut Model, sites: &mut Sites) {
    let fits = |variable: &Variable| match (&variable.form, &variable.domain) {
        (Form::Escaped, Domain::Text(text)) if text.pattern.is_none() => Some(Form::Raw),
        _ => None,
    };
    reform(model, sites, &fits, Some(PartFunction::Raw));
}

/// A number stands as it prints, so that 10 comes before 9.
pub(super) fn unpadded_number(model: &mut Model, sites: &mut Sites) {
    let fits = |variable: &Variable| match &variable.form {
        Form::Padded { integer_digits, .. } if *integer_digits > 1 => Some(Form::Plain),
        _ => None,
    };
    reform(model, sites, &fits, Some(PartFunction::Plain));
}

/// Two neighbouring variables change places.
pub(super) fn swapped_parts(model: &mut Model, sites: &mut Sites) {
    for_each_template(model, &mut |place, template| {
        for first in 1..template.parts.len() {
            let (Some(one), Some(other)) = (template.parts.get(first - 1), template.parts.get(first)) else {
                continue;
            };
            if one.path == other.path {
                continue;
            }
            let (from, to) = (one.position, other.position);
            if sites.here(format!("{place}: {} and {}", one.path, other.path)) {
                rebuilt(template, |parts| parts.swap(from, to));
                template.parts.swap(first - 1, first);
                if let [.., one, other] = template.parts.get_mut(..=first).unwrap_or_default() {
                    (one.position, other.position) = (from, to);
                }
            }
        }
    });
}

/// An entry by condition is there always.
pub(super) fn ignored_condition(model: &mut Model, sites: &mut Sites) {
    for entity in &mut model.entities {
        for entry in &mut entity.index {
            if let IndexEntryKind::Templates(choices) = &mut entry.kind {
                for choice in choices.iter_mut().filter(|choice| choice.when.is_some()) {
                    if sites.here(format!(
                        "{}: {:?}",
                        entity.name,
                        choice.keys.first().map(|key| &key.text)
                    )) {
                        choice.when = None;
                    }
                }
            }
        }
    }
}
