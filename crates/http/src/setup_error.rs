//! Why a service cannot be set up as it was asked for.

use std::fmt;

use crate::auth::SECRET_BYTES_MIN;

/// Why a service cannot be set up as it was asked for: its secret, its keys, its sockets, whom it trusts and what it shows. What other
/// crates say about it is kept in their words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// A secret is too short to be one.
    ShortSecret,
    /// The machine has no randomness to give.
    NoRandomness,
    /// An API key is given by something that is no SHA-256.
    ApiKeyHash,
    /// Keys of tokens stand in no key set.
    KeySetForm(String),
    /// No key of a key set can be used.
    NoUsableKey,
    /// A token cannot be signed.
    Signature(String),
    /// An address cannot be listened on.
    Listening {
        /// The address.
        address: String,
        /// What the machine says.
        reason: String,
    },
    /// A certificate cannot be used.
    Certificate(String),
    /// There is no certificate where there should be one.
    NoCertificate,
    /// A private key cannot be used.
    PrivateKey(String),
    /// A private key is not that of a certificate.
    UnfitKey(String),
    /// TLS cannot be spoken on this machine.
    Tls(String),
    /// An authority that should vouch for others cannot be used.
    Authority(String),
    /// There is no authority where there should be one.
    NoAuthority,
    /// The machine trusts nobody.
    TrustsNobody,
    /// There is no surface of that name.
    UnknownSurface(String),
    /// A proxy is neither an address nor a network.
    ProxyForm(String),
}

impl fmt::Display for SetupError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SetupError as E;
        match self {
            E::ShortSecret => write!(out, "a secret has at least {SECRET_BYTES_MIN} characters"),
            E::NoRandomness => out.write_str("the machine gives no random bytes"),
            E::ApiKeyHash => out.write_str("an API key's `sha256` has 64 hexadecimal digits"),
            E::KeySetForm(reason) => write!(out, "this is no JWKS: {reason}"),
            E::NoUsableKey => out.write_str("no key of this JWKS is for RS256 or ES256"),
            E::Signature(reason) => write!(out, "no token can be signed: {reason}"),
            E::Listening { address, reason } => write!(out, "`{address}` cannot be listened on: {reason}"),
            E::Certificate(reason) => write!(out, "the certificate file cannot be used: {reason}"),
            E::NoCertificate => out.write_str("the certificate file has no certificate"),
            E::PrivateKey(reason) => write!(out, "the key file cannot be used: {reason}"),
            E::UnfitKey(reason) => write!(out, "certificate and key do not fit: {reason}"),
            E::Tls(reason) => write!(out, "TLS cannot be spoken here: {reason}"),
            E::Authority(reason) => write!(out, "an authority cannot be used: {reason}"),
            E::NoAuthority => out.write_str("the file of authorities has no certificate"),
            E::TrustsNobody => out.write_str("this machine has no certificates to trust"),
            E::UnknownSurface(name) => write!(
                out,
                "`{name}` is no surface: write `home`, `docs`, `metrics`, `explain`, or `all` or `none` alone"
            ),
            E::ProxyForm(text) => write!(
                out,
                "`{text}` is no proxy: write an address, or a network such as `10.0.0.0/8`"
            ),
        }
    }
}

impl std::error::Error for SetupError {}
