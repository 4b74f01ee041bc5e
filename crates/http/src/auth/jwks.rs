//! Public keys at an address, or wherever an issuer says that they are: fetched at the start, then now and then, and when a token
//! names a key that is not known.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::{Duration, Instant};

use axum::http::Uri;
use serde_json::Value as Json;

use super::fetch::{FetchError, Fetcher, KeyRoute};
use super::jwt::{PublicKey, public_keys};

/// Where an issuer describes itself, after its own address.
const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";

/// How keys are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JwksTiming {
    /// How long one attempt may take.
    pub fetch_time_max: Duration,
    /// How long nothing is fetched after an attempt, whatever tokens name.
    pub pause_min: Duration,
    /// How often keys are fetched though no token asks for it.
    pub refresh_every: Duration,
}

impl Default for JwksTiming {
    fn default() -> Self {
        JwksTiming {
            fetch_time_max: Duration::from_secs(5),
            pause_min: Duration::from_secs(10),
            refresh_every: Duration::from_secs(600),
        }
    }
}

/// Where keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
enum KeySetPlace {
    /// At an address.
    Address(Uri),
    /// Where an issuer's own description says, which lies at an address.
    Issuer { name: String, description: Uri },
}

impl KeySetPlace {
    fn address(&self) -> &Uri {
        match self {
            KeySetPlace::Address(address) => address,
            KeySetPlace::Issuer { description, .. } => description,
        }
    }
}

/// The keys of an issuer. Those that are known stay where they cannot be fetched again.
pub struct FetchedKeys {
    place: KeySetPlace,
    timing: JwksTiming,
    fetcher: Fetcher,
    keys: RwLock<Arc<Vec<PublicKey>>>,
    /// When keys were last asked for. Held while they are, so that one request asks for all.
    tried: Arc<tokio::sync::Mutex<Instant>>,
}

impl std::fmt::Debug for FetchedKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "keys at {}", self.place.address())
    }
}

impl FetchedKeys {
    /// Fetches the keys at an address, and goes on to do so for as long as somebody holds them.
    ///
    /// # Errors
    ///
    /// Where the address is none that can be trusted, or has no keys.
    pub async fn start(address: &str, timing: JwksTiming, route: KeyRoute) -> Result<Arc<Self>, FetchError> {
        Self::start_at(KeySetPlace::Address(parsed(address)?), timing, route).await
    }

    /// Fetches the keys of an issuer, which OpenID Connect Discovery finds, and goes on to do so.
    ///
    /// # Errors
    ///
    /// Where the issuer cannot be trusted, calls itself otherwise, or has no keys.
    pub async fn start_of_issuer(issuer: &str, timing: JwksTiming, route: KeyRoute) -> Result<Arc<Self>, FetchError> {
        let place = KeySetPlace::Issuer {
            name: issuer.to_owned(),
            description: parsed(&format!("{}{DISCOVERY_PATH}", issuer.trim_end_matches('/')))?,
        };
        Self::start_at(place, timing, route).await
    }

    async fn start_at(place: KeySetPlace, timing: JwksTiming, route: KeyRoute) -> Result<Arc<Self>, FetchError> {
        let fetcher = Fetcher::new(place.address(), route, timing.fetch_time_max)?;
        let fetched = FetchedKeys {
            place,
            timing,
            fetcher,
            keys: RwLock::default(),
            tried: Arc::new(tokio::sync::Mutex::new(Instant::now())),
        };
        // Before anybody is served: without keys every token would be refused.
        fetched.fetch().await?;
        let fetched = Arc::new(fetched);
        tokio::spawn(follow(Arc::downgrade(&fetched)));
        Ok(fetched)
    }

    /// The keys as they are known.
    pub(super) fn keys(&self) -> Arc<Vec<PublicKey>> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fetches the keys again, unless that was done just now.
    ///
    /// **Invariant:** what is begun comes to its end, though whoever waits for it leaves. Otherwise it would not count as tried, and clients
    /// that name unknown keys and leave would have the issuer asked without a pause.
    pub(super) async fn refresh(self: &Arc<Self>) {
        // One at a time: a crowd with an unknown key asks the issuer once.
        let mut tried = Arc::clone(&self.tried).lock_owned().await;
        // Or anybody could have the issuer asked by tokens with made-up keys.
        if tried.elapsed() < self.timing.pause_min {
            return;
        }
        let keys = Arc::clone(self);
        let fetching = tokio::spawn(async move {
            if let Err(reason) = keys.fetch().await {
                tracing::warn!(address = %keys.place.address(), %reason, "the signing keys could not be refreshed; the known ones stay in use");
            }
            *tried = Instant::now();
        }); // Where it panicked, the keys that are known are kept too.
        let _ = fetching.await;
    }

    async fn fetch(&self) -> Result<(), FetchError> {
        let text = match &self.place {
            KeySetPlace::Address(address) => self.fetcher.fetch(address).await?,
            // The description is asked each time: an issuer may move its keys.
            KeySetPlace::Issuer { name, description } => {
                let described = self.fetcher.fetch(description).await?;
                self.fetcher.fetch(&keys_address(&described, name)?).await?
            }
        };
        let keys = public_keys(&text).map_err(FetchError::KeySet)?;
        // Exchanged as a whole, and only where they could be read: a failure leaves those that are known.
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }
}

fn parsed(address: &str) -> Result<Uri, FetchError> {
    address
        .parse()
        .map_err(|error: axum::http::uri::InvalidUri| FetchError::NoAddress(error.to_string()))
}

/// Where an issuer that describes itself has its keys. It must call itself as tokens must: another's description says nothing of it.
fn keys_address(described: &str, issuer: &str) -> Result<Uri, FetchError> {
    let wrong = |reason: String| FetchError::Content(reason);
    let described: Json = serde_json::from_str(described)
        .map_err(|error| wrong(format!("the issuer's description is no JSON: {error}")))?;
    let text = |name: &str| described.get(name).and_then(Json::as_str);
    match text("issuer") {
        // The description must be of who was asked, or another issuer's keys would vouch for this one's tokens.
        Some(own) if own == issuer => {}
        Some(own) => {
            return Err(wrong(format!(
                "the issuer calls itself `{own}`, and so its tokens do: write it so"
            )));
        }
        None => return Err(wrong("the issuer's description does not say who it is".to_owned())),
    }
    let keys = text("jwks_uri").ok_or_else(|| wrong("the issuer's description names no `jwks_uri`".to_owned()))?;
    parsed(keys)
}

/// Fetches keys on a schedule, until nobody holds them any more.
async fn follow(keys: Weak<FetchedKeys>) {
    while let Some(every) = keys.upgrade().map(|keys| keys.timing.refresh_every) {
        tokio::time::sleep(every).await;
        if let Some(keys) = keys.upgrade() {
            keys.refresh().await;
        }
    }
}
