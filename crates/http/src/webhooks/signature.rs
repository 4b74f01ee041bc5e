//! Signatures of what is told: HMAC-SHA256 of id, instant and body.

use std::fmt;
use std::ops::RangeInclusive;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

/// How a secret begins.
const PREFIX: &str = "whsec_";

/// How many bytes a secret has, as the standard asks for.
pub const SECRET_BYTES: RangeInclusive<usize> = 24..=64;

/// How many secrets a webhook has at once, while they change.
pub(crate) const SECRETS_MAX: usize = 4;

/// The secrets of one webhook. All of them sign, so that a receiver may change from one to the next at any time.
#[derive(Clone)]
pub struct WebhookSecrets(Vec<hmac::Key>);

impl fmt::Debug for WebhookSecrets {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} secrets", self.0.len())
    }
}

/// Why a text is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretError {
    /// It does not begin as one.
    Prefix,
    /// The rest is not base64.
    Encoding,
    /// It is shorter or longer than one.
    Length,
    /// There is none, or there are more than at once.
    Count,
}

impl fmt::Display for SecretError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretError::Prefix => write!(out, "a secret of a webhook begins with `{PREFIX}`"),
            SecretError::Encoding => write!(out, "a secret of a webhook is `{PREFIX}` and base64"),
            SecretError::Length => write!(
                out,
                "a secret of a webhook has {} to {} bytes in base64",
                SECRET_BYTES.start(),
                SECRET_BYTES.end()
            ),
            SecretError::Count => write!(out, "a webhook has 1 to {SECRETS_MAX} secrets"),
        }
    }
}

impl std::error::Error for SecretError {}

impl WebhookSecrets {
    /// The secrets of a webhook, the newest first.
    ///
    /// # Errors
    ///
    /// Where one is none, or there are too many.
    pub fn new<T: AsRef<str>>(texts: &[T]) -> Result<Self, SecretError> {
        if texts.is_empty() || texts.len() > SECRETS_MAX {
            return Err(SecretError::Count);
        }
        let key = |text: &T| {
            let encoded = text.as_ref().trim().strip_prefix(PREFIX).ok_or(SecretError::Prefix)?;
            let bytes = STANDARD.decode(encoded).map_err(|_| SecretError::Encoding)?;
            match SECRET_BYTES.contains(&bytes.len()) {
                true => Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes)),
                false => Err(SecretError::Length),
            }
        };
        texts.iter().map(key).collect::<Result<_, _>>().map(WebhookSecrets)
    }

    /// The header `webhook-signature`: one for each secret.
    pub fn signature_header(&self, id: &str, at_seconds: i64, body: &str) -> String {
        let signed = format!("{id}.{at_seconds}.{body}");
        let one = |key: &hmac::Key| format!("v1,{}", STANDARD.encode(hmac::sign(key, signed.as_bytes())));
        self.0.iter().map(one).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the standard's own documents.
    #[test]
    fn the_signature_is_that_of_the_published_example() {
        let secrets = WebhookSecrets::new(&["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]).unwrap();
        let signature =
            secrets.signature_header("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secrets_have_a_form_a_length_and_a_number() {
        let of = |bytes: usize| format!("whsec_{}", STANDARD.encode(vec![7; bytes]));
        for (bytes, fits) in [(23, false), (24, true), (64, true), (65, false)] {
            assert_eq!(WebhookSecrets::new(&[of(bytes)]).is_ok(), fits, "{bytes}");
        }
        assert_eq!(WebhookSecrets::new::<&str>(&[]).err(), Some(SecretError::Count));
        assert!(WebhookSecrets::new(&vec![of(32); SECRETS_MAX]).is_ok());
        assert_eq!(
            WebhookSecrets::new(&vec![of(32); SECRETS_MAX + 1]).err(),
            Some(SecretError::Count)
        );
        assert_eq!(
            WebhookSecrets::new(&["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]).err(),
            Some(SecretError::Prefix)
        );
        assert_eq!(WebhookSecrets::new(&["whsec_%%%"]).err(), Some(SecretError::Encoding));
        let two = WebhookSecrets::new(&[of(24), of(25)]).unwrap();
        assert_eq!(two.signature_header("m", 1, "{}").split(' ').count(), 2);
        assert!(!format!("{two:?}").contains("BwcH"));
    }
}
