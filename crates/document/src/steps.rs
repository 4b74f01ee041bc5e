//! The steps of writes, groups and named steps opened.

use singlet_model::Model;
use singlet_model::model::{Step, StepKind, Write};

/// Named steps call no named steps of their own kind; a chain of them is not followed further than this.
const CALL_DEPTH_MAX: usize = 8;

/// Every step that a write takes.
pub fn all_steps<'a>(model: &'a Model, write: &'a Write) -> Vec<&'a Step> {
    let mut found = Vec::new();
    open(model, &write.steps, 0, &mut found);
    found
}

fn open<'a>(model: &'a Model, steps: &'a [Step], depth: usize, found: &mut Vec<&'a Step>) {
    for step in steps {
        match &step.kind {
            StepKind::Group(inner) => open(model, inner, depth, found),
            StepKind::Call { step: name, .. } if depth < CALL_DEPTH_MAX => {
                let named = model.steps.iter().find(|named| named.name == *name);
                open(model, named.map_or(&[][..], |named| &named.steps), depth + 1, found);
            }
            _ => found.push(step),
        }
    }
}
