//! Types that are text of a certain form. Each is a row here: what reads, checks, shows, draws or documents text takes the rest from its
//! pattern and its length, as if a model had written them out.

use crate::types::{LengthLimits, TextLimits};

/// A type that is text of a certain form.
#[derive(Debug)]
pub struct TextForm {
    /// The word that a model writes.
    pub name: &'static str,
    /// The pattern of the whole text.
    pub pattern: &'static str,
    /// At least so many characters.
    pub chars_min: u64,
    /// At most so many characters, where the model does not say.
    pub chars_max: u64,
    /// What JSON Schema calls it, where it does.
    pub format: Option<&'static str>,
    /// What it is, with its article: "an e-mail address".
    pub what: &'static str,
    /// What it holds, for the language reference.
    pub holds: &'static str,
    /// Values of it, the shortest and odd ones among them.
    pub examples: &'static [&'static str],
}

/// All of them. A type of a model's own with such a name goes before.
pub const TEXT_FORMS: &[TextForm] = &[
    TextForm {
        name: "email",
        pattern: r"[A-Za-z0-9.!$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+",
        chars_min: 5,
        chars_max: 254,
        format: Some("email"),
        what: "an e-mail address",
        holds: "an e-mail address as browsers take it, without `#` and with a dot in its domain; its case stays (`unique: lower(email)`)",
        examples: &[
            "a@b.c",
            "Ada@example.org",
            "ada+tag@mail.example.org",
            "a.b'c@x-1.example",
        ],
    },
    TextForm {
        name: "url",
        pattern: r"https?://[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?([/?#][!-~]*)?",
        chars_min: 8,
        chars_max: 2_000,
        format: Some("uri"),
        what: "an address that begins with `http://` or `https://`",
        holds: "an address of the web, `http` or `https`, in ASCII, without a name or password in it",
        examples: &[
            "http://a",
            "https://example.org/",
            "https://example.org:8443/a/b?c=d#e",
            "http://127.0.0.1/x~y",
        ],
    },
    TextForm {
        name: "phone",
        pattern: r"\+[1-9][0-9]{6,14}",
        chars_min: 8,
        chars_max: 16,
        format: None,
        what: "a telephone number such as `+4930123456`",
        holds: "a telephone number as E.164 writes it: `+`, the country's code, up to 15 digits, nothing between them",
        examples: &["+1000000", "+4930123456", "+999999999999999"],
    },
];

impl TextForm {
    /// The form of that name.
    pub fn form_named(name: &str) -> Option<&'static TextForm> {
        TEXT_FORMS.iter().find(|form| form.name == name)
    }

    /// The form that limits are those of.
    pub fn of(limits: &TextLimits) -> Option<&'static TextForm> {
        let pattern = limits.pattern.as_ref()?;
        TEXT_FORMS.iter().find(|form| form.pattern == pattern.as_str())
    }

    /// The length of its texts, where the model does not say.
    pub fn length_limits(&self) -> LengthLimits {
        LengthLimits {
            min: Some(self.chars_min),
            max: Some(self.chars_max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TEXT_FORMS;
    use singlet_item::key::Pattern;

    #[test]
    fn examples_are_of_their_form_and_what_looks_like_it_is_not() {
        let wrong = [
            "",
            " ",
            "@",
            "a@b",
            "a@b.",
            "a@.c",
            "a b@c.d",
            "a@b..c",
            "a@-b.c",
            "a@b-.c",
            "a#b@c.d",
            "ä@b.c",
            "a@b@c.d",
            "http://",
            "https:///a",
            "ftp://a",
            "http://a b",
            "http://u:p@a",
            "http://-a",
            "HTTP://a",
            "http://a:123456",
            "javascript:alert(1)",
            "http://a/\u{e9}",
            "http://a\n",
            "+0123456",
            "+123456",
            "+1234567890123456",
            "1234567",
            "+1 234567",
            "+12345678a",
        ];
        for form in TEXT_FORMS {
            let pattern = Pattern::new(form.pattern);
            assert!(pattern.is_ok(), "{}: {pattern:?}", form.name);
            let Ok(pattern) = pattern else { continue };
            for example in form.examples {
                let chars = example.chars().count() as u64;
                assert!(pattern.matches_whole(example), "{}: {example}", form.name);
                assert!(
                    (form.chars_min..=form.chars_max).contains(&chars),
                    "{}: {example}",
                    form.name
                );
            }
            for text in wrong {
                assert!(!pattern.matches_whole(text), "{}: {text:?}", form.name);
            }
            let shortest = form.examples.iter().map(|example| example.chars().count() as u64).min();
            assert_eq!(shortest, Some(form.chars_min), "{}", form.name);
        }
    }
}
