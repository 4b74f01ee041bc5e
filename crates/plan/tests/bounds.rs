//! The table of bounds: what the page about it says is what the code has.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use singlet_plan::bounds::{BoundKind, Bounds};

const BEGIN: &str = "<!-- generated: bounds -->\n";
const END: &str = "<!-- end -->";

#[test]
fn the_page_has_every_bound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/bounds.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (_, tail) = rest.split_once(END).unwrap();
    let expected = format!("{head}{BEGIN}{}{END}{tail}", table());
    if std::env::var_os("SINGLET_UPDATE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        assert_eq!(
            page, expected,
            "docs/bounds.md is stale: SINGLET_UPDATE=1 writes it anew"
        );
    }
}

#[test]
fn steps_are_drawn_and_limits_stay() {
    let drawn = Bounds::USUAL.with_steps(|_, _| 0);
    for (line, usual) in drawn.bound_lines().into_iter().zip(Bounds::USUAL.bound_lines()) {
        match line.kind {
            BoundKind::Step => assert_eq!(line.value, 1, "{}", line.name),
            BoundKind::Limit => assert_eq!(line, usual),
        }
    }
}

fn table() -> String {
    let mut table = String::from("\n| bound | | usually | |\n|---|---|---|---|\n");
    for line in Bounds::USUAL.bound_lines() {
        let kind = match line.kind {
            BoundKind::Step => "step",
            BoundKind::Limit => "limit",
        };
        table.push_str(&format!(
            "| `{}` | {kind} | {} | {} |\n",
            line.name, line.value, line.meaning
        ));
    }
    table + "\n"
}
