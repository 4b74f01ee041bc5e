//! What a deployment decides: flags before environment before file.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use singlet_model::model::Rate;

/// The configuration file, TOML.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub models: Option<Vec<PathBuf>>,
    pub listen: Option<String>,
    pub operator_listen: Option<String>,
    pub surfaces: Option<Vec<String>>,
    pub proxy: Option<Vec<String>>,
    pub console: Option<super::console::Mode>,
    pub console_host: Option<Vec<String>>,
    pub store: Option<String>,
    pub endpoint_url: Option<String>,
    pub region: Option<String>,
    pub read_only: Option<bool>,
    pub no_follow: Option<bool>,
    pub lake: Option<String>,
    pub webhook_secrets: Option<PathBuf>,
    pub webhooks_anywhere: Option<bool>,
    pub secret_file: Option<PathBuf>,
    pub secret_files_shared: Option<bool>,
    pub jwks: Option<String>,
    pub jwks_ca: Option<PathBuf>,
    pub issuer: Option<String>,
    pub cors: Option<Vec<String>>,
    pub rate: Option<String>,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub body_bytes_max: Option<usize>,
    pub operation_seconds_max: Option<u64>,
    pub shutdown_seconds_max: Option<u64>,
    pub connections_max: Option<NonZeroUsize>,
    pub connections_per_address_max: Option<NonZeroUsize>,
    pub requests_max: Option<NonZeroUsize>,
    pub held_bytes_max: Option<NonZeroUsize>,
    pub long_calls_max: Option<NonZeroUsize>,
    pub otlp: Option<String>,
    pub dynamodb: Option<String>,
    pub dynamodb_writes: Option<bool>,
    pub dynamodb_remote: Option<bool>,
    /// API keys, by their hashes.
    #[serde(default)]
    pub api_keys: Vec<ApiKeyEntry>,
    /// Values of the models' `settings`, by system.
    #[serde(default)]
    pub settings: BTreeMap<String, BTreeMap<String, String>>,
}

/// An API key by its hash.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiKeyEntry {
    pub system: String,
    pub id: String,
    pub role: String,
    pub sha256: String,
}

impl File {
    /// Reads a configuration file.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("`{shown}`: {}", error.to_string().trim_end()))
    }
}

/// `100/min`, `10/s`, or `off`.
pub(crate) fn parse_rate(text: &str) -> Result<Option<Rate>, String> {
    let wrong = || format!("`{text}` is no rate: write `100/min`, `10/s` or `off`");
    if text == "off" {
        return Ok(None);
    }
    let (count, unit) = text.split_once('/').ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let count: u32 = count.parse().ok().filter(|count| *count > 0).ok_or_else(wrong)?;
    Ok(Some(Rate {
        count: f64::from(count),
        seconds,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_the_documentation_shows_is_one() {
        let page = include_str!("../../../../../docs/serve.md");
        let shown = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let file: File = toml::from_str(shown.unwrap_or_default()).unwrap();
        assert_eq!((file.api_keys.len(), file.settings.len()), (1, 1));
        assert!(file.rate.is_some_and(|text| parse_rate(&text).is_ok()));
    }
}
