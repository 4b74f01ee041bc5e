//! How far a long command is, for somebody who watches.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on the terminal; nothing where nobody watches.
pub fn bar(unit: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return none();
    }
    let bar = ProgressBar::new(0);
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{eta}} left"));
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar that nobody sees.
pub fn none() -> ProgressBar {
    ProgressBar::hidden()
}
