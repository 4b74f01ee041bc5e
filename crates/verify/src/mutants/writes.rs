//! Mistakes in writes.

use std::sync::Arc;

use singlet_item::Number;
use singlet_model::Model;
use singlet_model::expression::{BinaryOp, Expr, ExprKind, Literal};
use singlet_model::model::{Step, StepKind, Write};
use singlet_model::types::{LengthLimits, NumberLimits, TextLimits, Type};

use super::Sites;
use super::expressions::{drop_conjunct, for_each_comparison, is_of_caller};

/// Each list of steps, groups' and named ones included.
fn for_each_steps(model: &mut Model, f: &mut dyn FnMut(&str, &mut Vec<Step>)) {
    for write in &mut model.writes {
        nested(&write.name, &mut write.steps, f);
    }
    for named in &mut model.steps {
        nested(&named.name, &mut named.steps, f);
    }
}

fn nested(name: &str, steps: &mut Vec<Step>, f: &mut dyn FnMut(&str, &mut Vec<Step>)) {
    for step in steps.iter_mut() {
        if let StepKind::Group(inner) = &mut step.kind {
            nested(name, inner, f);
        }
    }
    f(name, steps);
}

/// A requirement is not looked at.
pub(super) fn rule_not_read(model: &mut Model, sites: &mut Sites) {
    for Write { name, requirements, .. } in &mut model.writes {
        requirements.retain(|requirement| !sites.here(format!("{name}: {}", requirement.refusal.name)));
    }
    for_each_steps(model, &mut |name, steps| {
        for step in steps {
            step.requirements
                .retain(|requirement| !sites.here(format!("{name}: {}", requirement.refusal.name)));
        }
    });
}

/// A requirement's comparison is off by its end.
pub(super) fn rule_turned(model: &mut Model, sites: &mut Sites) {
    for Write { name, requirements, .. } in &mut model.writes {
        for requirement in requirements {
            let refusal = requirement.refusal.name.clone();
            for_each_comparison(&mut requirement.condition, &mut |op, shown| {
                let turned = match op {
                    BinaryOp::Lt => BinaryOp::Le,
                    BinaryOp::Le => BinaryOp::Lt,
                    BinaryOp::Gt => BinaryOp::Ge,
                    BinaryOp::Ge => BinaryOp::Gt,
                    BinaryOp::Eq => BinaryOp::Ne,
                    BinaryOp::Ne => BinaryOp::Eq,
                    _ => return,
                };
                if sites.here(format!("{name} {refusal}: {shown}")) {
                    *op = turned;
                }
            });
        }
    }
}

/// Who may write is not asked.
pub(super) fn write_without_owner(model: &mut Model, sites: &mut Sites) {
    for write in &mut model.writes {
        drop_conjunct(&mut write.allow, &format!("{} allow", write.name), sites, &is_of_caller);
    }
}

/// An argument may be one longer or larger than its attribute takes.
pub(super) fn argument_limit_off_by_one(model: &mut Model, sites: &mut Sites) {
    for Write { name, args, .. } in &mut model.writes {
        for arg in args {
            let Some(wider) = wider(&arg.ty) else { continue };
            if sites.here(format!("{name}: {}", arg.name)) {
                arg.ty = wider;
            }
        }
    }
}

/// A type with an upper limit that lies one further.
fn wider(ty: &Type) -> Option<Type> {
    match ty {
        Type::Text(TextLimits { length, pattern: None }) => Some(Type::Text(TextLimits {
            length: longer(*length)?,
            pattern: None,
        })),
        Type::List(element, length) => Some(Type::List(element.clone(), longer(*length)?)),
        Type::Int(limits) if limits.only.is_none() => {
            let max = limits.max?.checked_add(Number::from(1)).ok()?;
            Some(Type::Int(Arc::new(NumberLimits {
                max: Some(max),
                ..NumberLimits::clone(limits)
            })))
        }
        _ => None,
    }
}

fn longer(length: LengthLimits) -> Option<LengthLimits> {
    Some(LengthLimits {
        max: Some(length.max?.checked_add(1)?),
        ..length
    })
}

/// One of several steps is not taken.
pub(super) fn step_left_out(model: &mut Model, sites: &mut Sites) {
    for_each_steps(model, &mut |name, steps| {
        if steps.len() < 2 {
            return;
        }
        let mut at = 0;
        steps.retain(|_| {
            at += 1;
            !sites.here(format!("{name} do[{}]", at - 1))
        });
    });
}

/// A value is not written.
pub(super) fn value_not_set(model: &mut Model, sites: &mut Sites) {
    for_each_steps(model, &mut |name, steps| {
        // A create without a value that it needs could not be opened at all.
        for step in steps.iter_mut().filter(|step| matches!(step.kind, StepKind::Update(_))) {
            step.set.retain(|set| !sites.here(format!("{name}: {}", set.attribute)));
            step.patch
                .retain(|patch| !sites.here(format!("{name}: {}", patch.attribute)));
        }
    });
}

/// One more is added than is meant.
pub(super) fn amount_off_by_one(model: &mut Model, sites: &mut Sites) {
    for_each_steps(model, &mut |name, steps| {
        for add in steps.iter_mut().flat_map(|step| &mut step.add) {
            if add.value.ty.is_number() && sites.here(format!("{name}: {}", add.attribute)) {
                let one = Expr {
                    kind: ExprKind::Literal(Literal::Number(Number::from(1))),
                    ty: Type::int(),
                    optional: false,
                    span: add.value.span,
                };
                let value = std::mem::replace(&mut add.value, one.clone());
                add.value = Expr {
                    ty: value.ty.clone(),
                    optional: false,
                    span: value.span,
                    kind: ExprKind::Binary(BinaryOp::Add, Box::new(value), Box::new(one)),
                };
            }
        }
    });
}

/// A step is taken whatever its `when` says.
pub(super) fn condition_ignored(model: &mut Model, sites: &mut Sites) {
    for_each_steps(model, &mut |name, steps| {
        for step in steps.iter_mut() {
            let Some(when) = &step.when else { continue };
            if sites.here(format!("{name}: {}", singlet_plan::show::show_expression(when))) {
                step.when = None;
            }
        }
    });
}
