//! Two sequences of text and unknowns that are to be the same text.

use crate::key::encoding::character_map::{CharacterMap, Escaping};
use crate::key::encoding::delimiter::Delimiter;
use crate::key::encoding::resolved_form::Encoding;
use crate::key::languages::domain::Domain;
use std::collections::VecDeque;

/// Two sequences whose texts are to be equal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Equation<'a> {
    pub(crate) left: Side<'a>,
    pub(crate) right: Side<'a>,
}

/// The equations cannot all hold.
pub(crate) struct Contradiction;

/// A piece of a key: known text, or the text of an unknown word.
#[derive(Clone, Debug)]
pub(crate) enum KeyPiece<'a> {
    Text(String),
    Unknown(UnknownOccurrence<'a>),
}

/// One occurrence of an unknown: which one, and how its word becomes text.
#[derive(Clone, Debug)]
pub(crate) struct UnknownOccurrence<'a> {
    pub(crate) unknown: usize,
    pub(crate) encoding: Encoding,
    pub(crate) domain: &'a Domain,
}

/// One side of an equation.
pub(crate) type Side<'a> = VecDeque<KeyPiece<'a>>;

impl<'a> KeyPiece<'a> {
    pub(crate) fn fixed_chars(&self) -> Option<usize> {
        match self {
            Self::Text(_) => None,
            Self::Unknown(occurrence) => occurrence.encoding.fixed_chars(occurrence.domain),
        }
    }
}

impl PartialEq for KeyPiece<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(two)) => one == two,
            (Self::Unknown(one), Self::Unknown(two)) => one.unknown == two.unknown && one.encoding == two.encoding,
            _ => false,
        }
    }
}

impl UnknownOccurrence<'_> {
    /// Whether its text never contains the delimiter.
    fn is_free_of(&self, delimiter: Delimiter) -> bool {
        let character = delimiter.character();
        match &self.encoding {
            Encoding::Map(CharacterMap {
                escaping: Escaping::Delimiter(own) | Escaping::Ordered(own),
                ..
            }) => *own == delimiter,
            Encoding::Map(_) | Encoding::Truncated { .. } => !self.domain.mentions_character(character),
            Encoding::Padded { fraction_digits, .. } => *fraction_digits == 0 || character != '.',
            Encoding::Plain => character != '.' && character != '-',
            Encoding::Rank { .. } => true,
        }
    }
}

/// The beginning of a side, up to its first delimiter.
pub(crate) enum SideHead<'a> {
    /// The pieces before the first delimiter, and those behind it.
    Ended(Side<'a>, Side<'a>),
    /// No piece can contain a delimiter.
    Last,
    /// A piece before any delimiter may contain one.
    Unclear,
}

impl<'a> SideHead<'a> {
    pub(crate) fn first(side: &Side<'a>, delimiter: Delimiter) -> Self {
        let mut segment = Side::new();
        let mut pieces = side.iter().cloned();
        while let Some(piece) = pieces.next() {
            match piece {
                KeyPiece::Text(text) => match text.split_once(delimiter.character()) {
                    Some((before, after)) => {
                        push_text(&mut segment, before.to_owned());
                        let mut rest = Side::new();
                        push_text(&mut rest, after.to_owned());
                        rest.extend(pieces);
                        return Self::Ended(segment, rest);
                    }
                    None => push_text(&mut segment, text),
                },
                KeyPiece::Unknown(occurrence) if occurrence.is_free_of(delimiter) => {
                    segment.push_back(KeyPiece::Unknown(occurrence));
                }
                KeyPiece::Unknown(_) => return Self::Unclear,
            }
        }
        Self::Last
    }
}

/// One end of a side.
#[derive(Clone, Copy)]
pub(crate) enum SideEnd {
    Front,
    Back,
}

impl<'a> Equation<'a> {
    /// Removes from one end what is literally the same on both sides: text, or the same unknown in
    /// the same encoding.
    pub(crate) fn strip_end(&mut self, end: SideEnd) -> Result<(), Contradiction> {
        loop {
            let pair = match end {
                SideEnd::Front => (self.left.front_mut(), self.right.front_mut()),
                SideEnd::Back => (self.left.back_mut(), self.right.back_mut()),
            };
            let (Some(left), Some(right)) = pair else { return Ok(()) };
            match (left, right) {
                (KeyPiece::Text(left), KeyPiece::Text(right)) => {
                    strip_common(left, right, end);
                    if !left.is_empty() && !right.is_empty() {
                        return Err(Contradiction);
                    }
                }
                (left, right) if left != right => return Ok(()),
                (left, right) => {
                    *left = KeyPiece::Text(String::new());
                    *right = KeyPiece::Text(String::new());
                }
            }
            self.left.retain(|piece| *piece != KeyPiece::Text(String::new()));
            self.right.retain(|piece| *piece != KeyPiece::Text(String::new()));
        }
    }

    /// Takes a part of `chars` characters off the front of both sides, if each begins with an
    /// unknown of that length or with enough text.
    pub(crate) fn take_front(&mut self, chars: usize) -> Option<Self> {
        let can_give = |side: &Side<'a>| match side.front() {
            Some(KeyPiece::Text(text)) => text.chars().count() >= chars,
            Some(piece) => piece.fixed_chars() == Some(chars),
            None => false,
        };
        (can_give(&self.left) && can_give(&self.right)).then(|| Self {
            left: take_front(&mut self.left, chars),
            right: take_front(&mut self.right, chars),
        })
    }
}

fn strip_common(left: &mut String, right: &mut String, end: SideEnd) {
    let same = |(one, two): &(char, char)| one == two;
    match end {
        SideEnd::Front => {
            let common: usize = left
                .chars()
                .zip(right.chars())
                .take_while(same)
                .map(|(one, _)| one.len_utf8())
                .sum();
            left.drain(..common);
            right.drain(..common);
        }
        SideEnd::Back => {
            let pairs = left.chars().rev().zip(right.chars().rev());
            let common: usize = pairs.take_while(same).map(|(one, _)| one.len_utf8()).sum();
            left.truncate(left.len() - common);
            right.truncate(right.len() - common);
        }
    }
}

fn take_front<'a>(side: &mut Side<'a>, chars: usize) -> Side<'a> {
    let mut taken = Side::new();
    match side.pop_front() {
        Some(KeyPiece::Text(text)) => {
            let end = text.char_indices().nth(chars).map_or(text.len(), |(offset, _)| offset);
            let (before, after) = text.split_at_checked(end).unwrap_or((&text, ""));
            push_text(&mut taken, before.to_owned());
            if !after.is_empty() {
                side.push_front(KeyPiece::Text(after.to_owned()));
            }
        }
        piece => taken.extend(piece),
    }
    taken
}

/// Appends text, joined to text that is already there.
pub(crate) fn push_text(side: &mut Side<'_>, text: String) {
    match side.back_mut() {
        _ if text.is_empty() => {}
        Some(KeyPiece::Text(before)) => before.push_str(&text),
        _ => side.push_back(KeyPiece::Text(text)),
    }
}
