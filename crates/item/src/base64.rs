//! Base64 of the standard alphabet with padding, as DynamoDB JSON spells binary values.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of `bytes`.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut buffer = [0; 3];
        buffer.iter_mut().zip(chunk).for_each(|(slot, byte)| *slot = *byte);
        let [first, second, third] = buffer;
        let bits = u32::from(first) << 16 | u32::from(second) << 8 | u32::from(third);
        for position in 0..4 {
            let sextet = bits >> (18 - 6 * position) & 63;
            let letter = ALPHABET.get(sextet as usize).copied().unwrap_or(b'=');
            text.push(if position > chunk.len() {
                '='
            } else {
                char::from(letter)
            });
        }
    }
    text
}

/// The bytes that `text` spells, or nothing unless it is canonical: padded, and without stray bits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for position in 0..4 {
            let sextet = chunk.get(position).map_or(Some(0), |letter| sextet_of(*letter))?;
            bits = bits << 6 | sextet;
        }
        let [_, first, second, third] = bits.to_be_bytes();
        bytes.extend([first, second, third].iter().take(chunk.len().saturating_sub(1)));
    }
    // Stray bits, a lone digit and wrong padding all fail to come back as the same text.
    (encode(&bytes) == text).then_some(bytes)
}

fn sextet_of(letter: u8) -> Option<u32> {
    ALPHABET
        .iter()
        .position(|candidate| *candidate == letter)
        .and_then(|position| u32::try_from(position).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remainder_of_three_is_padded_as_the_standard_says() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)).unwrap(), bytes);
    }

    #[test]
    fn text_that_is_not_canonical_is_refused() {
        for text in ["Z", "Zg", "Zg=", "Zh==", "Zg==Zg==", "Z===", "====", "Zm 9v", "Zm9_"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
