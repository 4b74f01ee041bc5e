//! Tokens as those who issue them sign them.

use serde_json::{Value as Json, json};

pub fn base64url(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..=chunk.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]));
        }
    }
    text
}

/// Signs with the private half of the key that RFC 7515 publishes in its appendix A.3.
pub fn sign_es256(claims: &Json, key_id: &str) -> String {
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
    let decode = |text: &str| {
        let value = |letter: u8| match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' => 62,
            _ => 63,
        };
        let mut bytes = Vec::new();
        for chunk in text.as_bytes().chunks(4) {
            let bits = chunk
                .iter()
                .fold(0_u32, |bits, letter| bits << 6 | u32::from(value(*letter)));
            let bits = bits << (6 * (4 - chunk.len()));
            bytes.extend(bits.to_be_bytes()[1..].iter().take(chunk.len() - 1));
        }
        bytes
    };
    let private = decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI");
    let x = decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU");
    let y = decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0");
    let public = [vec![4], x, y].concat();
    let key =
        EcdsaKeyPair::from_private_key_and_public_key(&ECDSA_P256_SHA256_FIXED_SIGNING, &private, &public).unwrap();
    signed("ES256", key_id, claims, |message| {
        let random = aws_lc_rs::rand::SystemRandom::new();
        key.sign(&random, message).unwrap().as_ref().to_vec()
    })
}

/// The public half of that key.
pub fn published_es256(key_id: &str) -> Json {
    json!({
        "kty": "EC", "crv": "P-256", "alg": "ES256", "kid": key_id, "use": "sig",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    })
}

/// A key for RS256 that nobody else has.
pub struct RsaKey {
    pair: aws_lc_rs::rsa::KeyPair,
    id: &'static str,
}

impl RsaKey {
    pub fn new(id: &'static str) -> Self {
        let pair = aws_lc_rs::rsa::KeyPair::generate(aws_lc_rs::rsa::KeySize::Rsa2048).unwrap();
        RsaKey { pair, id }
    }

    pub fn published(&self) -> Json {
        use aws_lc_rs::signature::KeyPair;
        // `SEQUENCE { INTEGER modulus, INTEGER exponent }`, each with its length before it.
        fn content(der: &[u8]) -> (&[u8], &[u8]) {
            let (length, start) = match der[1] {
                short @ 0..=127 => (usize::from(short), 2),
                0x81 => (usize::from(der[2]), 3),
                _ => (usize::from(der[2]) << 8 | usize::from(der[3]), 4),
            };
            der[start..].split_at(length)
        }
        let (sequence, _) = content(self.pair.public_key().as_ref());
        let (modulus, rest) = content(sequence);
        let (exponent, _) = content(rest);
        let unsigned = |bytes: &[u8]| base64url(bytes.strip_prefix(&[0]).unwrap_or(bytes));
        json!({"kty": "RSA", "kid": self.id, "use": "sig", "n": unsigned(modulus), "e": unsigned(exponent)})
    }

    pub fn sign(&self, claims: &Json) -> String {
        self.sign_under(&json!({"alg": "RS256", "typ": "JWT", "kid": self.id}), claims)
    }

    /// Under another header, by RS256 whatever that says.
    pub fn sign_under(&self, header: &Json, claims: &Json) -> String {
        signed_under(header, claims, |message| {
            let mut signature = vec![0; self.pair.public_modulus_len()];
            let random = aws_lc_rs::rand::SystemRandom::new();
            let padding = &aws_lc_rs::signature::RSA_PKCS1_SHA256;
            self.pair.sign(padding, &random, message, &mut signature).unwrap();
            signature
        })
    }
}

/// Signed by HMAC with any bytes as the secret, such as a public key that was taken for one.
pub fn sign_hs256(secret: &[u8], key_id: &str, claims: &Json) -> String {
    use aws_lc_rs::hmac;
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
    signed("HS256", key_id, claims, |message| {
        hmac::sign(&key, message).as_ref().to_vec()
    })
}

fn signed(algorithm: &str, key_id: &str, claims: &Json, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    signed_under(&json!({"alg": algorithm, "typ": "JWT", "kid": key_id}), claims, sign)
}

fn signed_under(header: &Json, claims: &Json, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |json: &Json| base64url(json.to_string().as_bytes());
    let message = format!("{}.{}", part(header), part(claims));
    format!("{message}.{}", base64url(&sign(message.as_bytes())))
}
