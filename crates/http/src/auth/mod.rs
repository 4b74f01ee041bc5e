//! Who calls: a verified token or an API key, as the model names them.

mod api_keys;
mod fetch;
mod jwks;
mod jwt;
mod secret;
mod signatures;
mod verified;

pub use api_keys::{ApiKey, ApiKeys};
pub use fetch::{FetchError, KeyRoute};
pub use jwks::{FetchedKeys, JwksTiming};
pub(crate) use jwt::Jwt;
pub use jwt::{JwtKeys, JwtSettings, LocalToken};
pub(crate) use secret::SECRET_BYTES_MIN;
pub use secret::Secret;

use axum::http::{HeaderMap, header};
use singlet_model::model::Callers;
use singlet_runtime::Caller;

use crate::problem::Problem;

/// The longest credential that is looked at, in bytes.
const CREDENTIAL_BYTES_MAX: usize = 16 * 1024;

/// Tells callers of one system apart.
#[derive(Debug)]
pub(crate) struct Authenticator {
    jwt: Option<Jwt>,
    api_key_header: Option<String>,
    api_keys: ApiKeys,
}

impl Authenticator {
    /// For what a model says of its callers.
    pub fn new(callers: &Callers, keys: &JwtKeys, jwt: &JwtSettings, api_keys: ApiKeys) -> Self {
        let tokens = !callers.claims.is_empty() || callers.audience.is_some();
        Authenticator {
            jwt: tokens.then(|| Jwt::new(callers, keys.clone(), jwt)),
            api_key_header: callers.api_key_header.clone(),
            api_keys,
        }
    }

    /// The caller of a request; nobody in particular where no credentials were sent.
    ///
    /// # Errors
    ///
    /// Where credentials were sent and are not good.
    pub async fn request_caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        // A token that was sent decides alone: to fall back to another credential would hide that it is wrong.
        if let Some(token) = self.jwt.as_ref().zip(bearer(headers)) {
            let (jwt, token) = token;
            return jwt
                .caller(token?)
                .await
                .map_err(|error| self.credentials_refused(error.caller_detail()));
        }
        if let Some(key) = self.api_key(headers) {
            let refused = || self.credentials_refused("the API key is not known here");
            return key.and_then(|key| self.api_keys.key_caller(key)).ok_or_else(refused);
        }
        // Nothing was sent, which is no mistake: `allow` says whether nobody may ask.
        Ok(Caller::anonymous())
    }

    /// The headers of a request that show who calls, as they were sent.
    pub(crate) fn sent_credentials(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        let bearer = self.jwt.is_some().then_some(header::AUTHORIZATION.as_str());
        let names = bearer.into_iter().chain(self.api_key_header.as_deref());
        let sent = names.flat_map(|name| headers.get_all(name).iter().map(move |value| (name, value)));
        sent.filter_map(|(name, value)| Some((name.to_owned(), value.to_str().ok()?.to_owned())))
            .collect()
    }

    /// Says that credentials are needed.
    pub fn credentials_missing(&self) -> Problem {
        self.challenged(Problem::unauthenticated("unauthenticated", "credentials are needed"))
    }

    /// Says that credentials were sent and are not good.
    pub(crate) fn credentials_refused(&self, detail: &str) -> Problem {
        self.challenged(Problem::unauthenticated("invalid_credentials", detail))
    }

    fn challenged(&self, problem: Problem) -> Problem {
        match &self.api_key_header {
            Some(name) if self.jwt.is_none() => {
                problem.with_header(header::WWW_AUTHENTICATE, &format!("ApiKey realm=\"{name}\""))
            }
            _ => problem.with_header(header::WWW_AUTHENTICATE, "Bearer"),
        }
    }

    /// The API key that was sent; an inner `None` for one that cannot be one.
    fn api_key<'a>(&self, headers: &'a HeaderMap) -> Option<Option<&'a str>> {
        let name = self.api_key_header.as_ref()?;
        let mut sent = headers.get_all(name.as_str()).iter();
        let first = sent.next()?;
        // Sent twice, nobody knows which one is meant.
        let alone = sent.next().is_none() && first.len() <= CREDENTIAL_BYTES_MAX;
        Some(first.to_str().ok().filter(|_| alone))
    }
}

/// The token of the `Authorization` header.
fn bearer(headers: &HeaderMap) -> Option<Result<&str, Problem>> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let first = sent.next()?;
    let wrong = || {
        Problem::unauthenticated(
            "invalid_credentials",
            "the `Authorization` header must be `Bearer` and one token",
        )
        .with_header(header::WWW_AUTHENTICATE, "Bearer error=\"invalid_request\"")
    };
    let text = first.to_str().ok().filter(|text| text.len() <= CREDENTIAL_BYTES_MAX);
    let token = text.and_then(|text| {
        let (scheme, token) = text.split_once(' ')?;
        let token = token.trim();
        (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
    });
    Some(token.filter(|_| sent.next().is_none()).ok_or_else(wrong))
}
