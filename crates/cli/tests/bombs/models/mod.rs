//! Models made to blow up: each kind grows one thing that an analysis multiplies.
//!
//! A kind takes how many bytes its text may have, and what to draw from. Most are sound but for what they are made for, so
//! that design rules get to see them.

mod keys;
mod mistakes;
mod reads;
mod types;
mod writes;

use std::fmt::Write;

/// Drawn numbers: the same seed gives the same ones.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number from `low` to `high`, both included.
    pub fn number(&mut self, low: usize, high: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        low + usize::try_from(self.0 >> 11).unwrap_or(0) % (high - low + 1)
    }

    /// One of some texts.
    pub fn one(&mut self, texts: &[&'static str]) -> &'static str {
        texts[self.number(0, texts.len() - 1)]
    }
}

/// A kind of bomb: its name, and its text.
pub type Kind = (&'static str, fn(&mut Draw, usize) -> String);

pub const KINDS: &[Kind] = &[
    ("words side by side", keys::words_side_by_side),
    ("alternatives side by side", keys::alternatives_side_by_side),
    ("words of two entities", keys::words_of_two_entities),
    ("counted repeats", types::counted_repeats),
    ("many patterns", types::many_patterns),
    ("objects of objects", types::objects_of_objects),
    ("types in a row", types::types_in_a_row),
    ("nested lists", types::nested_lists),
    ("wide objects", types::wide_objects),
    ("long template", keys::long_template),
    ("one value many times in a key", keys::repeated_part),
    ("many keys alike", keys::keys_alike),
    ("many keys of patterns", keys::keys_of_patterns),
    ("keys by condition", keys::keys_by_condition),
    ("reads times indexes", reads::reads_times_indexes),
    ("optional arguments", reads::optional_arguments),
    ("deep expression", reads::deep_expression),
    ("long alternatives", reads::long_alternatives),
    ("alternatives multiplied", reads::alternatives_multiplied),
    ("lists multiplied", reads::lists_multiplied),
    ("values computed of values", types::computed_of_computed),
    ("references in a row", keys::references_in_a_row),
    ("copies in a row", writes::copies_in_a_row),
    ("the same mistake often", mistakes::same_mistake),
    ("mistakes on one line", mistakes::mistakes_on_one_line),
    ("unknown names", mistakes::unknown_names),
    ("huge numbers", types::huge_numbers),
    ("long texts", keys::long_texts),
    ("many acceptances", mistakes::many_acceptances),
    ("conditions by hand", reads::conditions_by_hand),
    ("many routes", reads::many_routes),
    ("many mirrors", keys::many_mirrors),
    ("many steps", writes::many_steps),
    ("many states", types::many_states),
    ("named steps", writes::named_steps),
    ("rows with rows", reads::rows_with_rows),
    ("names bound to names", reads::names_bound),
    ("nested YAML", mistakes::nested_yaml),
    ("long scalars", mistakes::long_scalars),
    ("many attributes", types::many_attributes),
];

const HEAD: &str = "singlet: 1\nname: bomb\ntable: {name: Bomb, key: {partition: PK, sort: SK}, type: kind}\n";

/// A model with these types and one entity with these attributes and this sort key.
fn one_entity(types: &str, attributes: &str, sort: &str) -> String {
    format!(
        "{HEAD}{types}entities:\n  E:\n    attributes:\n      id: string 1..20\n{attributes}    key: {{PK: \"E#{{id}}\", SK: \"{sort}\"}}\n"
    )
}

/// A table with some indexes: `GSI0` with `G0P` and `G0S`, and so on.
fn indexed(count: usize) -> String {
    let mut text =
        "singlet: 1\nname: bomb\ntable:\n  name: Bomb\n  key: {partition: PK, sort: SK}\n  type: kind\n  indexes:\n"
            .to_owned();
    for at in 0..count {
        let _ = writeln!(text, "    GSI{at}: {{partition: G{at}P, sort: G{at}S}}");
    }
    text
}

/// Lines until the text has so many bytes.
fn lines(bytes: usize, mut line: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    let mut at = 0;
    while text.len() < bytes {
        text.push_str(&line(at));
        at += 1;
    }
    text
}

/// Words until they have so many bytes, with something between.
fn words(draw: &mut Draw, bytes: usize, between: &str) -> String {
    let (letters, longest) = (draw.number(1, 26), draw.number(2, 12));
    let mut text = String::new();
    let mut at = 0;
    while text.len() < bytes {
        if at > 0 {
            text.push_str(between);
        }
        for _ in 0..draw.number(1, longest) {
            text.push(char::from(
                b'a' + u8::try_from(draw.number(0, letters - 1)).unwrap_or(0),
            ));
        }
        // A number makes it another word than those before.
        let _ = write!(text, "{at}");
        at += 1;
    }
    text
}
