//! How far a long command is, for somebody who watches.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar over the bytes of a file on the terminal, with a message; nothing where nobody watches.
pub(crate) fn bytes_bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes}, {eta} left, {msg}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// A bar over things that are counted, on the terminal; nothing where nobody watches.
pub(crate) fn count_bar(length: u64, unit: &str) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    match ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {unit}, {{eta}} left")) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
