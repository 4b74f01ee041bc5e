//! The signatures of tokens, by `ring`: HS256, RS256 and ES256, which are all that [`super::jwt`] takes. Any other is refused here
//! too, so that no algorithm is verified that nobody chose.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has tokens signed and verified here. Where a process has chosen otherwise before, that stays.
pub(super) fn use_ring_for_signatures() {
    let _chosen = PROVIDER.install_default();
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>, Error> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => Ok(Box::new(SharedSecret::new(key.as_bytes()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>, Error> {
    match (algorithm, key.family(), key.kind()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac, DecodingKeyKind::SecretOrDer(secret)) => {
            Ok(Box::new(SharedSecret::new(secret)))
        }
        (Algorithm::RS256, AlgorithmFamily::Rsa, DecodingKeyKind::RsaModulusExponent { n, e }) => {
            let (n, e) = (n.clone(), e.clone());
            Ok(Box::new(RsaKey(RsaPublicKeyComponents { n, e })))
        }
        (Algorithm::ES256, AlgorithmFamily::Ec, DecodingKeyKind::SecretOrDer(point)) => {
            let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.clone());
            Ok(Box::new(CurveKey(key)))
        }
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

/// Signs and verifies by HS256.
struct SharedSecret(hmac::Key);

impl SharedSecret {
    fn new(secret: &[u8]) -> Self {
        SharedSecret(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }
}

impl Signer<Vec<u8>> for SharedSecret {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, SignatureError> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl JwtSigner for SharedSecret {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl Verifier<Vec<u8>> for SharedSecret {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        hmac::verify(&self.0, message, signature).map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for SharedSecret {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

/// Verifies by RS256. `ring` refuses keys of less than 2,048 bits.
struct RsaKey(RsaPublicKeyComponents<Vec<u8>>);

impl Verifier<Vec<u8>> for RsaKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let verified = self.0.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature);
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for RsaKey {
    fn algorithm(&self) -> Algorithm {
        Algorithm::RS256
    }
}

/// Verifies by ES256.
struct CurveKey(UnparsedPublicKey<Vec<u8>>);

impl Verifier<Vec<u8>> for CurveKey {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let verified = self.0.verify(message, signature);
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for CurveKey {
    fn algorithm(&self) -> Algorithm {
        Algorithm::ES256
    }
}
