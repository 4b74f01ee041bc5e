//! A model file as a tree that can be cut, and printed as a person would write it.

use singlet_model::node::{self, Node};
use singlet_model::text::Style;
use singlet_model::{Diagnostics, Source};

/// The longest line that a map or a list is written on.
const LINE_CHARS_MAX: usize = 110;

/// Characters with which a value without quotes cannot begin.
const NOT_FIRST: &str = "!&*?|>%@`\"'#,[]{}-=<:";

/// A value of the file.
#[derive(Clone, Debug, PartialEq)]
pub enum ShrinkTree {
    /// A scalar, and whether it stands in quotes.
    Text(String, bool),
    /// A list.
    List(Vec<ShrinkTree>),
    /// A map, in the order written.
    Map(Vec<(String, ShrinkTree)>),
}

impl ShrinkTree {
    /// The tree of a file; none where it is no YAML.
    pub fn read(text: &str) -> Option<ShrinkTree> {
        let root = node::read_tree(&Source::new("made", text), &mut Diagnostics::default())?;
        Some(ShrinkTree::of(&root))
    }

    fn of(node: &Node) -> ShrinkTree {
        match node {
            Node::Scalar(text) => ShrinkTree::Text(
                text.text.clone(),
                matches!(text.style, Style::SingleQuoted | Style::DoubleQuoted),
            ),
            Node::List(elements, _) => ShrinkTree::List(elements.iter().map(ShrinkTree::of).collect()),
            Node::Map(entries, _) => {
                let entries = entries.iter();
                ShrinkTree::Map(
                    entries
                        .map(|entry| (entry.key.text.clone(), ShrinkTree::of(&entry.value)))
                        .collect(),
                )
            }
        }
    }

    /// How many parts a list or a map has.
    pub fn len(&self) -> usize {
        match self {
            ShrinkTree::Text(..) => 0,
            ShrinkTree::List(elements) => elements.len(),
            ShrinkTree::Map(entries) => entries.len(),
        }
    }

    /// Whether it has no parts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A part, by the steps to it.
    pub fn at(&self, path: &[usize]) -> Option<&ShrinkTree> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        match self {
            ShrinkTree::Text(..) => None,
            ShrinkTree::List(elements) => elements.get(*first)?.at(rest),
            ShrinkTree::Map(entries) => entries.get(*first)?.1.at(rest),
        }
    }

    fn at_mut(&mut self, path: &[usize]) -> Option<&mut ShrinkTree> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        match self {
            ShrinkTree::Text(..) => None,
            ShrinkTree::List(elements) => elements.get_mut(*first)?.at_mut(rest),
            ShrinkTree::Map(entries) => entries.get_mut(*first)?.1.at_mut(rest),
        }
    }

    /// The tree without a part.
    pub fn without_part(&self, path: &[usize]) -> Option<ShrinkTree> {
        let (last, parent) = path.split_last()?;
        let mut tree = self.clone();
        match tree.at_mut(parent)? {
            ShrinkTree::Text(..) => return None,
            ShrinkTree::List(elements) => {
                elements.remove(*last);
            }
            ShrinkTree::Map(entries) => {
                entries.remove(*last);
            }
        }
        Some(tree)
    }

    /// The tree with another part in the place of one.
    pub fn with(&self, path: &[usize], part: ShrinkTree) -> Option<ShrinkTree> {
        let mut tree = self.clone();
        *tree.at_mut(path)? = part;
        Some(tree)
    }

    /// The file.
    pub fn printed_file(&self) -> String {
        let mut out = String::new();
        self.block(0, &mut out);
        out
    }

    fn block(&self, indent: usize, out: &mut String) {
        let margin = " ".repeat(indent);
        match self {
            ShrinkTree::Text(..) => out.push_str(&format!("{margin}{}\n", self.line(false))),
            ShrinkTree::List(elements) => {
                for element in elements {
                    // The first line of an element stands behind its hyphen.
                    let mut inner = String::new();
                    element.entry(indent + 2, &mut inner);
                    out.push_str(&format!("{margin}- {}", inner.trim_start()));
                }
            }
            ShrinkTree::Map(entries) => {
                for (name, value) in entries {
                    let name = quoted_name(name);
                    if value.fits(indent + name.len() + 2) {
                        out.push_str(&format!("{margin}{name}: {}\n", value.line(false)));
                    } else {
                        out.push_str(&format!("{margin}{name}:\n"));
                        value.block(indent + 2, out);
                    }
                }
            }
        }
    }

    /// An element of a list.
    fn entry(&self, indent: usize, out: &mut String) {
        match self.fits(indent) && !matches!(self, ShrinkTree::Map(entries) if entries.len() > 1 && is_step(entries)) {
            true => out.push_str(&format!("{}{}\n", " ".repeat(indent), self.line(false))),
            false => self.block(indent, out),
        }
    }

    /// Whether it is short and shallow enough to stand on the line of its name.
    fn fits(&self, indent: usize) -> bool {
        match self {
            ShrinkTree::Text(..) => true,
            _ if self.is_empty() => true,
            _ => indent > 2 && self.depth() <= 2 && indent + self.line(false).len() <= LINE_CHARS_MAX,
        }
    }

    fn depth(&self) -> usize {
        match self {
            ShrinkTree::Text(..) => 0,
            ShrinkTree::List(elements) => 1 + elements.iter().map(ShrinkTree::depth).max().unwrap_or(0),
            ShrinkTree::Map(entries) => 1 + entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0),
        }
    }

    fn line(&self, inside: bool) -> String {
        match self {
            ShrinkTree::Text(text, quotes) => scalar(text, *quotes, inside),
            ShrinkTree::List(elements) => {
                let elements: Vec<String> = elements.iter().map(|element| element.line(true)).collect();
                format!("[{}]", elements.join(", "))
            }
            ShrinkTree::Map(entries) => {
                let entries = entries.iter();
                let entries: Vec<String> = entries
                    .map(|(name, value)| format!("{}: {}", quoted_name(name), value.line(true)))
                    .collect();
                format!("{{{}}}", entries.join(", "))
            }
        }
    }
}

/// Steps of a write are written in several lines.
fn is_step(entries: &[(String, ShrinkTree)]) -> bool {
    let verbs = [
        "create", "update", "delete", "upsert", "present", "absent", "for", "when",
    ];
    entries.iter().any(|(name, _)| verbs.contains(&name.as_str()))
}

fn quoted_name(name: &str) -> String {
    let plain = |character: char| character.is_alphanumeric() || "_-$".contains(character);
    match !name.is_empty() && name.chars().all(plain) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// What was in quotes stays there: key templates must, and some texts would be something else without.
fn scalar(text: &str, quotes: bool, inside: bool) -> String {
    let first = text.chars().next().is_some_and(|first| !NOT_FIRST.contains(first));
    let cut = text.contains(": ") || text.contains(" #") || text.ends_with(':') || text.trim() != text;
    let flow = inside && text.contains([',', '[', ']', '{', '}']);
    let plain = !text.chars().any(char::is_control);
    match !quotes && first && !cut && !flow && plain {
        true => text.to_owned(),
        false => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    if !text.contains(['"', '\\']) && !text.chars().any(char::is_control) {
        return format!("\"{text}\"");
    }
    if !text.chars().any(char::is_control) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let escaped = text.chars().map(|character| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        other if other.is_control() => format!("\\x{:02x}", other as u32),
        other => other.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::ShrinkTree;

    #[test]
    fn what_is_printed_reads_as_the_same_tree() {
        let text = r#"singlet: 1
table: {name: made, key: {partition: PK, sort: SK}}
entities:
  E:
    attributes: {a: 'string? 1..9', "b#c": "int = 0"}
    key: {PK: "P#{a}", SK: "{a}#X"}
writes:
  w:
    do:
      - for: {x: "[1, 2]"}
        update: E(args.a)
        set: {"m[args.k]": 'a == "x" ? 1 : 2', b: absent}
      - delete: E(args.a)
    require: ["(!a) else no", 'x == "\u0001" else no']
"#;
        let tree = ShrinkTree::read(text).unwrap_or(ShrinkTree::List(Vec::new()));
        assert_eq!(
            ShrinkTree::read(&tree.printed_file()),
            Some(tree.clone()),
            "{}",
            tree.printed_file()
        );
    }
}
