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
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
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
    let random = ring::rand::SystemRandom::new();
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::from_private_key_and_public_key(algorithm, &private, &public, &random).unwrap();
    signed("ES256", key_id, claims, |message| {
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

/// Three keys for RS256.
const RSA_KEYS: [&[u8]; 3] = [
    include_bytes!("keys/rsa-1.der"),
    include_bytes!("keys/rsa-2.der"),
    include_bytes!("keys/rsa-3.der"),
];

/// A key for RS256.
pub struct RsaKey {
    pair: ring::rsa::KeyPair,
    id: &'static str,
}

impl RsaKey {
    /// One of the three, under any name.
    pub fn numbered(number: usize, id: &'static str) -> Self {
        let pair = ring::rsa::KeyPair::from_der(RSA_KEYS[number - 1]).unwrap();
        RsaKey { pair, id }
    }

    pub fn published(&self) -> Json {
        let public = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(self.pair.public());
        json!({"kty": "RSA", "kid": self.id, "use": "sig", "n": base64url(&public.n), "e": base64url(&public.e)})
    }

    pub fn sign(&self, claims: &Json) -> String {
        self.sign_under(&json!({"alg": "RS256", "typ": "JWT", "kid": self.id}), claims)
    }

    /// Under another header, by RS256 whatever that says.
    pub fn sign_under(&self, header: &Json, claims: &Json) -> String {
        signed_under(header, claims, |message| {
            let mut signature = vec![0; self.pair.public().modulus_len()];
            let random = ring::rand::SystemRandom::new();
            let padding = &ring::signature::RSA_PKCS1_SHA256;
            self.pair.sign(padding, &random, message, &mut signature).unwrap();
            signature
        })
    }
}

/// Signed by HMAC with any bytes as the secret, such as a public key that was taken for one.
pub fn sign_hs256(secret: &[u8], key_id: &str, claims: &Json) -> String {
    use ring::hmac;
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
