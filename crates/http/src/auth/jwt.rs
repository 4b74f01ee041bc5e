//! JSON Web Tokens: verified by a shared secret, or by the public keys of whoever issues them. Never by both, so that a public
//! key can never be taken for a secret.

use std::sync::Arc;

use jsonwebtoken::jwk::{Jwk, KeyAlgorithm};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use serde_json::{Map, Value as Json};
use singlet_item::Value;
use singlet_model::model::{AudienceClaim, CallerClaim, Callers, TokenUse};
use singlet_runtime::{Caller, claim_from_json};

use super::Secret;
use super::jwks::FetchedKeys;
use super::signatures::use_ring_for_signatures;
use super::verified::{Keys, Verified};
use crate::SetupError;

/// How far clocks may be apart.
const LEEWAY_SECONDS: u64 = 30;

/// What signatures are verified with.
#[derive(Clone)]
pub enum JwtKeys {
    /// A secret, HS256.
    Secret(Secret),
    /// Public keys, RS256 or ES256.
    Public(Arc<Vec<PublicKey>>),
    /// Public keys at an address.
    Fetched(Arc<FetchedKeys>),
}

/// A key of a JWKS file.
#[derive(Clone)]
pub struct PublicKey {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl std::fmt::Debug for JwtKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JwtKeys::Secret(_) => out.write_str("Secret"),
            JwtKeys::Public(keys) => write!(out, "{} public keys", keys.len()),
            JwtKeys::Fetched(keys) => write!(out, "{keys:?}"),
        }
    }
}

impl JwtKeys {
    /// The keys of a JWKS file.
    ///
    /// # Errors
    ///
    /// Where it is none, or has no key that can be used.
    pub fn from_jwks(text: &str) -> Result<Self, SetupError> {
        public_keys(text).map(|keys| JwtKeys::Public(Arc::new(keys)))
    }

    /// The set of keys that counts now, where it is one that may change.
    fn current(&self) -> Keys {
        match self {
            JwtKeys::Secret(_) | JwtKeys::Public(_) => None,
            JwtKeys::Fetched(fetched) => Some(fetched.keys()),
        }
    }

    /// The keys that may have signed a token.
    async fn candidates(&self, header: &Header) -> Vec<(Algorithm, DecodingKey)> {
        match self {
            JwtKeys::Secret(secret) => vec![(Algorithm::HS256, DecodingKey::from_secret(secret.bytes()))],
            JwtKeys::Public(keys) => fitting(keys, header),
            JwtKeys::Fetched(fetched) => {
                let found = fitting(&fetched.keys(), header);
                if !found.is_empty() || header.kid.is_none() {
                    return found;
                }
                // Whoever issues tokens may have taken up a new key. Boxed, for it is seldom done, and large.
                Box::pin(fetched.refresh()).await;
                fitting(&fetched.keys(), header)
            }
        }
    }
}

/// The keys of a JWKS text.
///
/// # Errors
///
/// Where it is none, or has no key that can be used.
pub(super) fn public_keys(text: &str) -> Result<Vec<PublicKey>, SetupError> {
    let set: Json = serde_json::from_str(text).map_err(|error| SetupError::KeySetForm(error.to_string()))?;
    let keys = set
        .get("keys")
        .and_then(Json::as_array)
        .ok_or_else(|| SetupError::KeySetForm("it has no `keys`".to_owned()))?;
    // One by one: a key of a kind that is not known here is no reason to know none.
    let keys = keys
        .iter()
        .filter_map(|key| serde_json::from_value::<Jwk>(key.clone()).ok());
    let keys: Vec<PublicKey> = keys.filter_map(|key| PublicKey::of(&key)).collect();
    match keys.is_empty() {
        true => Err(SetupError::NoUsableKey),
        false => Ok(keys),
    }
}

fn fitting(keys: &[PublicKey], header: &Header) -> Vec<(Algorithm, DecodingKey)> {
    keys.iter()
        // The key says by which algorithm it is used, and the token only which key: a token must not choose.
        .filter(|key| key.algorithm == header.alg && (header.kid.is_none() || key.id == header.kid))
        .map(|key| (key.algorithm, key.key.clone()))
        .collect()
}

impl PublicKey {
    fn of(jwk: &Jwk) -> Option<Self> {
        use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, PublicKeyUse};
        if jwk.common.public_key_use == Some(PublicKeyUse::Encryption) {
            return None;
        }
        let algorithm = match (&jwk.algorithm, jwk.common.key_algorithm) {
            (AlgorithmParameters::RSA(_), None | Some(KeyAlgorithm::RS256)) => Algorithm::RS256,
            (AlgorithmParameters::EllipticCurve(curve), None | Some(KeyAlgorithm::ES256))
                if curve.curve == EllipticCurve::P256 =>
            {
                Algorithm::ES256
            }
            _ => return None,
        };
        Some(PublicKey {
            id: jwk.common.key_id.clone(),
            algorithm,
            key: DecodingKey::from_jwk(jwk).ok()?,
        })
    }
}

/// What tokens must say beside what the model asks.
#[derive(Clone, Debug, Default)]
pub struct JwtSettings {
    /// Who must have issued them.
    pub issuer: Option<String>,
}

/// Verifies the tokens of one system.
#[derive(Debug)]
pub(crate) struct Jwt {
    keys: JwtKeys,
    audience: Option<String>,
    audience_claim: AudienceClaim,
    token_use: Option<TokenUse>,
    issuer: Option<String>,
    claims: Vec<CallerClaim>,
    verified: Verified,
}

/// Why a token is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenError {
    /// It is no token, or nobody known here signed it.
    Signature,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    Early,
    /// It is for somebody else.
    Audience,
    /// Somebody else issued it.
    Issuer,
    /// It is no token for calling a service, or not the kind that the model wants.
    Use,
    /// It does not say who calls, or has no end.
    Claims,
}

impl TokenError {
    /// What is said to the caller.
    pub fn caller_detail(self) -> &'static str {
        match self {
            TokenError::Signature => "the token is not signed by a key that is known here",
            TokenError::Expired => "the token has expired",
            TokenError::Early => "the token is not valid yet",
            TokenError::Audience => "the token is for another audience",
            TokenError::Issuer => "the token is from another issuer",
            TokenError::Use => "the token is for another use",
            TokenError::Claims => "the token lacks a claim that is needed",
        }
    }
}

impl Jwt {
    pub(super) fn new(callers: &Callers, keys: JwtKeys, settings: &JwtSettings) -> Self {
        use_ring_for_signatures();
        Jwt {
            keys,
            audience: callers.audience.clone(),
            audience_claim: callers.audience_claim,
            token_use: callers.token_use,
            issuer: settings.issuer.clone(),
            claims: callers.claims.clone(),
            verified: Verified::default(),
        }
    }

    /// The caller of a token.
    pub(super) async fn caller(&self, token: &str) -> Result<Caller, TokenError> {
        // Taken before the token is looked at: what a key has verified counts for that key.
        let keys = self.keys.current();
        // For these very keys: a token that was verified by a key that is gone is verified again.
        if let Some(caller) = self.verified.caller(token, &keys) {
            return Ok(caller);
        }
        let header = decode_header(token).map_err(|_| TokenError::Signature)?;
        // What must be understood is not: nothing is, here.
        if header.crit.is_some() {
            return Err(TokenError::Signature);
        }
        let mut outcome = Err(TokenError::Signature);
        for (algorithm, key) in self.keys.candidates(&header).await {
            outcome = self.claims(token, algorithm, &key);
            // Another key is tried only where this one has not signed it.
            if outcome != Err(TokenError::Signature) {
                break;
            }
        }
        let claims = outcome?;
        self.check_issuer(&claims)?;
        self.check_audience(&claims)?;
        self.check_use(&header, &claims)?;
        let caller = self.named(&claims)?;
        let end = claims.get("exp").and_then(Json::as_u64).unwrap_or_default();
        self.verified.remember(token, keys, &caller, end);
        Ok(caller)
    }

    fn claims(&self, token: &str, algorithm: Algorithm, key: &DecodingKey) -> Result<Map<String, Json>, TokenError> {
        let mut wanted = Validation::new(algorithm);
        wanted.leeway = LEEWAY_SECONDS;
        wanted.validate_nbf = true;
        // Who it is for and from is looked at below: there, a list is a list of texts, and Cognito's tokens are known.
        wanted.validate_aud = false;
        // Without an end a token would be good for ever.
        wanted.set_required_spec_claims(&["exp"]);
        decode::<Map<String, Json>>(token, key, &wanted)
            .map(|token| token.claims)
            .map_err(|error| reason(error.kind()))
    }

    fn check_issuer(&self, claims: &Map<String, Json>) -> Result<(), TokenError> {
        match (&self.issuer, claims.get("iss")) {
            (None, _) => Ok(()),
            (Some(issuer), Some(Json::String(said))) if said == issuer => Ok(()),
            (Some(_), Some(_)) => Err(TokenError::Issuer),
            (Some(_), None) => Err(TokenError::Claims),
        }
    }

    fn check_audience(&self, claims: &Map<String, Json>) -> Result<(), TokenError> {
        let Some(audience) = &self.audience else {
            return Ok(());
        };
        let is = |said: &Json| said.as_str() == Some(audience.as_str());
        let said = match self.audience_claim {
            AudienceClaim::AuthorizedParty => claims.get("azp"),
            AudienceClaim::ClientId => claims.get("client_id"),
            // Cognito's access tokens have no audience, and say for which client they were made.
            AudienceClaim::Audience => claims.get("aud").or_else(|| {
                let is_access = claims.get("token_use").and_then(Json::as_str) == Some("access");
                claims.get("client_id").filter(|_| is_access)
            }),
        };
        let named = match said {
            None => return Err(TokenError::Claims),
            // A list with anything else in it is not one that can be understood.
            Some(Json::Array(all)) => all.iter().all(Json::is_string) && all.iter().any(is),
            Some(one) => is(one),
        };
        if named { Ok(()) } else { Err(TokenError::Audience) }
    }

    fn check_use(&self, header: &Header, claims: &Map<String, Json>) -> Result<(), TokenError> {
        let said = said_use(header, claims)?;
        match self.token_use.is_none() || said == self.token_use {
            true => Ok(()),
            false => Err(TokenError::Use),
        }
    }

    /// The claims under the model's names. What is not of its type says nothing: a list of roles is no role, and a role no list.
    fn named(&self, claims: &Map<String, Json>) -> Result<Caller, TokenError> {
        let known = self.claims.iter();
        let caller = Caller {
            claims: known
                .filter_map(|claim| Some((claim.name.clone(), claim_from_json(claim, claims)?)))
                .collect(),
            authenticated: true,
        };
        let needs_id = self.claims.iter().any(|claim| claim.name == "id");
        // A model that knows its callers by their id must not take one that has none.
        match needs_id && !matches!(caller.claims.get("id"), Some(Value::S(_))) {
            true => Err(TokenError::Claims),
            false => Ok(caller),
        }
    }
}

/// What a token says it is for, if anything: by its type, by Cognito's `token_use` or by Keycloak's `typ`.
///
/// # Errors
///
/// Where it says that it is for something else than calling a service or telling who has signed in.
fn said_use(header: &Header, claims: &Map<String, Json>) -> Result<Option<TokenUse>, TokenError> {
    let of_type = match header.typ.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None => None,
        Some(typ) => match typ.strip_prefix("application/").unwrap_or(typ) {
            "jwt" => None,
            "at+jwt" => Some(TokenUse::Access),
            // Such as `logout+jwt`: whoever gets hold of one must not call with it.
            _ => return Err(TokenError::Use),
        },
    };
    let of_cognito = match claims.get("token_use") {
        None => None,
        Some(Json::String(said)) if said == "id" => Some(TokenUse::Id),
        Some(Json::String(said)) if said == "access" => Some(TokenUse::Access),
        Some(_) => return Err(TokenError::Use),
    };
    let of_keycloak = match claims.get("typ").and_then(Json::as_str) {
        Some("Bearer") => Some(TokenUse::Access),
        Some("ID") => Some(TokenUse::Id),
        Some("Refresh" | "Offline" | "Logout") => return Err(TokenError::Use),
        _ => None,
    };
    let mut said = [of_type, of_cognito, of_keycloak].into_iter().flatten();
    let first = said.next();
    // Two that say different things: nobody knows which one is meant.
    match said.all(|other| Some(other) == first) {
        true => Ok(first),
        false => Err(TokenError::Use),
    }
}

fn reason(kind: &jsonwebtoken::errors::ErrorKind) -> TokenError {
    use jsonwebtoken::errors::ErrorKind;
    match kind {
        ErrorKind::ExpiredSignature => TokenError::Expired,
        ErrorKind::ImmatureSignature => TokenError::Early,
        ErrorKind::MissingRequiredClaim(_) => TokenError::Claims,
        _ => TokenError::Signature,
    }
}

/// A token for local use.
#[derive(Clone, Debug, Default)]
pub struct LocalToken {
    /// The audience.
    pub audience: Option<String>,
    /// The issuer.
    pub issuer: Option<String>,
    /// The claims, as the token has them.
    pub claims: Map<String, Json>,
    /// When it ends, in epoch seconds.
    pub expires: i64,
}

impl LocalToken {
    /// Signs it.
    ///
    /// # Errors
    ///
    /// Where it cannot be signed.
    pub fn sign_token(&self, secret: &Secret) -> Result<String, SetupError> {
        use_ring_for_signatures();
        let mut claims = self.claims.clone();
        if let Some(audience) = &self.audience {
            claims.insert("aud".to_owned(), Json::from(audience.as_str()));
        }
        if let Some(issuer) = &self.issuer {
            claims.insert("iss".to_owned(), Json::from(issuer.as_str()));
        }
        claims.insert("exp".to_owned(), Json::from(self.expires));
        let key = EncodingKey::from_secret(secret.bytes());
        encode(&Header::new(Algorithm::HS256), &claims, &key).map_err(|error| SetupError::Signature(error.to_string()))
    }
}
