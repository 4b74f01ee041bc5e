//! Items as they lie in the store.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use singlet_item::limits::NESTING_LEVELS_MAX;
use singlet_item::{Item, Number, Value, first_bytes};
use singlet_store::{Result, WantedItem};

use super::varint::Reader;
use super::{VERSION, begin, damaged_data, put_bytes, tag, unzigzag};

/// The bytes of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawItem<'a> {
    size_bytes: usize,
    attributes: Reader<'a>,
}

/// What an item must be for whoever asks for it, with the first bytes of the names that tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WantedTest<'w> {
    kind: Option<(&'w str, u64, &'w str)>,
    end: Option<(&'w str, u64, i64)>,
}

impl<'w> WantedTest<'w> {
    /// That of what is wanted; none, if everything is.
    pub(crate) fn of(wanted: WantedItem<'w>) -> Option<Self> {
        let first = |name: &str| first_bytes(name.as_bytes());
        let kind = wanted.kind.map(|(name, kind)| (name, first(name), kind));
        let end = wanted.end.map(|(name, now)| (name, first(name), now));
        (kind.is_some() || end.is_some()).then_some(WantedTest { kind, end })
    }

    /// Whether an item may have an attribute. Its name comes with its first bytes.
    fn admits(&self, (name, first): (&[u8], u64), value: RawValue<'_>) -> Result<bool> {
        let is = |known: &str, known_first: u64| known_first == first && known.as_bytes() == name;
        if let Some((known, known_first, kind)) = self.kind
            && is(known, known_first)
            && value.tag == tag::STRING
            && value.payload != kind.as_bytes()
        {
            return Ok(false);
        }
        match self.end {
            Some((known, known_first, now)) if is(known, known_first) => {
                let end = value.as_i64()?;
                Ok(!end.is_some_and(|seconds| WantedItem::is_over(seconds, now)))
            }
            _ => Ok(true),
        }
    }
}

/// The bytes of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawValue<'a> {
    tag: u8,
    /// What stands behind the tag, without its length.
    payload: &'a [u8],
    /// The whole, as it was written.
    whole: &'a [u8],
}

impl<'a> RawItem<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        match reader.read_byte()? {
            VERSION => {}
            // Refused and not guessed: what cannot be read must not look like an item without attributes.
            _ => return Err(damaged_data("an item of another version")),
        }
        Ok(Self {
            size_bytes: reader.read_length()?,
            attributes: reader,
        })
    }

    /// Its size as DynamoDB counts it, which was counted when it was written.
    pub(crate) fn size_bytes(&self) -> usize {
        self.size_bytes
    }

    pub(crate) fn attributes(self) -> impl Iterator<Item = Result<(&'a str, RawValue<'a>)>> {
        let mut reader = self.attributes;
        std::iter::from_fn(move || {
            if reader.is_empty() {
                return None;
            }
            let attribute = attribute(&mut reader);
            if attribute.is_err() {
                // After damage nothing more comes, or this would go round without an end.
                reader = Reader::new(&[]);
            }
            Some(attribute)
        })
    }

    /// One attribute; the others are passed over, and whether their names are texts is not looked at.
    pub(crate) fn get(self, wanted: &str) -> Result<Option<RawValue<'a>>> {
        let wanted_first = first_bytes(wanted.as_bytes());
        let mut reader = self.attributes;
        while !reader.is_empty() {
            let (name, first) = reader.bytes_and_first()?;
            let value = raw_value(&mut reader)?;
            match first.cmp(&wanted_first).then_with(|| name.cmp(wanted.as_bytes())) {
                Ordering::Less => {}
                Ordering::Equal => return Ok(Some(value)),
                // Names are in their order, so that what is not here by now is not there.
                Ordering::Greater => break,
            }
        }
        Ok(None)
    }

    /// Whether it is what somebody wants.
    pub(crate) fn is_wanted(self, test: WantedTest<'_>) -> Result<bool> {
        let mut reader = self.attributes;
        while !reader.is_empty() {
            let name = reader.bytes_and_first()?;
            if !test.admits(name, raw_value(&mut reader)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn decode_item(self) -> Result<Item> {
        self.attributes()
            .map(|attribute| {
                let (name, value) = attribute?;
                Ok((name.to_owned(), value.decode_value()?))
            })
            .collect()
    }

    /// These attributes, as many as are there. The names are sorted, each with its [`first_bytes`].
    pub(crate) fn decode_only<'n>(self, mut names: impl ExactSizeIterator<Item = (&'n str, u64)>) -> Result<Item> {
        let mut found = Vec::with_capacity(names.len());
        let mut reader = self.attributes;
        let mut wanted = names.next();
        while wanted.is_some() && !reader.is_empty() {
            // Whether a name that nobody wants is a text is not looked at.
            let (name, first) = reader.bytes_and_first()?;
            let value = raw_value(&mut reader)?;
            // A name may be asked for several times, by paths that lead into one attribute.
            while let Some((next, next_first)) = wanted {
                match next_first.cmp(&first).then_with(|| next.as_bytes().cmp(name)) {
                    Ordering::Less => {}
                    Ordering::Equal => found.push((next.to_owned(), value.decode_value()?)),
                    Ordering::Greater => break,
                }
                wanted = names.next();
            }
        }
        // A map of what is in order already is made at once.
        Ok(found.into_iter().collect())
    }

    /// [`RawItem::decode_only`] of an item that is wanted; none of another. What tells that is looked at in passing.
    pub(crate) fn decode_wanted<'n>(
        self,
        mut names: impl ExactSizeIterator<Item = (&'n str, u64)>,
        test: WantedTest<'_>,
    ) -> Result<Option<Item>> {
        let mut found = Vec::with_capacity(names.len());
        let mut reader = self.attributes;
        let mut wanted = names.next();
        while !reader.is_empty() {
            let (name, first) = reader.bytes_and_first()?;
            let value = raw_value(&mut reader)?;
            // Looked at on every attribute that is passed, since what tells may stand before or after those that are wanted.
            if !test.admits((name, first), value)? {
                return Ok(None);
            }
            while let Some((next, next_first)) = wanted {
                match next_first.cmp(&first).then_with(|| next.as_bytes().cmp(name)) {
                    Ordering::Less => {}
                    Ordering::Equal => found.push((next.to_owned(), value.decode_value()?)),
                    Ordering::Greater => break,
                }
                wanted = names.next();
            }
        }
        Ok(Some(found.into_iter().collect()))
    }

    /// An item of some of the attributes, as bytes.
    pub(crate) fn project_bytes(self, is_kept: impl Fn(&str) -> bool) -> Result<Vec<u8>> {
        let mut kept = Vec::new();
        let mut size = 0;
        for attribute in self.attributes() {
            let (name, value) = attribute?;
            if is_kept(name) {
                size += name.len() + value.size_bytes()?;
                put_bytes(&mut kept, name.as_bytes());
                // As it was written, so that an entry is equal bytes for an equal item.
                kept.extend_from_slice(value.whole);
            }
        }
        let mut out = begin(size);
        out.extend_from_slice(&kept);
        Ok(out)
    }
}

fn attribute<'a>(reader: &mut Reader<'a>) -> Result<(&'a str, RawValue<'a>)> {
    Ok((reader.text()?, raw_value(reader)?))
}

fn raw_value<'a>(reader: &mut Reader<'a>) -> Result<RawValue<'a>> {
    let before = reader.rest_bytes();
    let tag = reader.read_byte()?;
    let payload = match tag {
        // They have no length, so that nothing follows.
        tag::NULL | tag::FALSE | tag::TRUE => &[],
        tag::STRING..=tag::BINARY_SET => reader.bytes()?,
        _ => return Err(damaged_data("a value of another kind")),
    };
    let length = before.len() - reader.rest_bytes().len();
    Ok(RawValue {
        tag,
        payload,
        whole: before.get(..length).unwrap_or_default(),
    })
}

impl<'a> RawValue<'a> {
    pub(crate) fn decode_value(self) -> Result<Value> {
        self.decode_within(0)
    }

    /// Its size as DynamoDB counts it, without the name of its attribute.
    pub(crate) fn size_bytes(self) -> Result<usize> {
        match self.tag {
            tag::STRING | tag::BINARY => Ok(self.payload.len()),
            // Numbers and what holds others are counted where that is defined.
            _ => Ok(self.decode_value()?.size_bytes()),
        }
    }

    /// The integer, if it is one.
    pub(crate) fn as_i64(self) -> Result<Option<i64>> {
        match self.tag {
            tag::NUMBER => Ok(number(self.payload)?.to_i64()),
            _ => Ok(None),
        }
    }

    fn decode_within(self, levels: usize) -> Result<Value> {
        // Also of what is in the file: damage must not end the process.
        if levels > NESTING_LEVELS_MAX {
            return Err(damaged_data("a value that nests too deep"));
        }
        Ok(match self.tag {
            tag::NULL => Value::Null,
            tag::FALSE => Value::Bool(false),
            tag::TRUE => Value::Bool(true),
            tag::STRING => Value::S(text(self.payload)?.to_owned()),
            tag::NUMBER => Value::N(number(self.payload)?),
            tag::BINARY => Value::B(self.payload.to_vec()),
            tag::LIST => Value::L(self.each(|reader| raw_value(reader)?.decode_within(levels + 1))?),
            tag::MAP => {
                let entry = |reader: &mut Reader<'a>| {
                    let (name, value) = attribute(reader)?;
                    Ok((name.to_owned(), value.decode_within(levels + 1)?))
                };
                Value::M(self.each::<_, BTreeMap<_, _>>(entry)?)
            }
            tag::STRING_SET => Value::Ss(self.each(|reader| Ok(reader.text()?.to_owned()))?),
            tag::NUMBER_SET => Value::Ns(self.each(|reader| number(reader.bytes()?))?),
            _ => Value::Bs(self.each(|reader| Ok(reader.bytes()?.to_vec()))?),
        })
    }

    fn each<T, C: FromIterator<T>>(self, read: impl Fn(&mut Reader<'a>) -> Result<T>) -> Result<C> {
        let mut reader = Reader::new(self.payload);
        std::iter::from_fn(|| (!reader.is_empty()).then(|| read(&mut reader))).collect()
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| damaged_data("a text"))
}

fn number(bytes: &[u8]) -> Result<Number> {
    let mut reader = Reader::new(bytes);
    let power = i16::try_from(unzigzag(reader.read_varint()?)).map_err(|_| damaged_data("a number"))?;
    let digits = unzigzag(reader.read_varint()?);
    Number::from_parts(digits, power).map_err(|_| damaged_data("a number"))
}
