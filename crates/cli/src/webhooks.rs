//! What a deployment says of webhooks: their secrets, and whom they may call.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use singlet_changes::PostWebhook;
use singlet_following::WebhookSenders;
use singlet_http::webhooks::{Reach, WebhookAddress, WebhookClient, WebhookSecrets};
use singlet_runtime::Engine;

use crate::private_file::Readers;

/// The secrets of webhooks by system and name, one or several while they change.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct SecretsFile(BTreeMap<String, BTreeMap<String, OneOrSeveral>>);

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

/// Sends the webhooks of all systems of a deployment.
#[derive(Debug)]
pub(crate) struct WebhookDeployment {
    secrets: BTreeMap<String, BTreeMap<String, WebhookSecrets>>,
    reach: Reach,
}

impl WebhookDeployment {
    /// As the flags say; the file is TOML, a table for each system.
    pub(crate) fn read(secrets: Option<&Path>, anywhere: bool, readers: Readers) -> Result<Self, String> {
        let mut read = BTreeMap::new();
        if let Some(path) = secrets {
            let shown = path.display();
            readers.check(path)?;
            let text = std::fs::read_to_string(path).map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
            // What the parser quotes of the file may be a secret.
            let file: SecretsFile = toml::from_str(&text).map_err(|error| {
                let at = error.span().map_or(0, |span| span.start);
                let line = text.get(..at).map_or(1, |before| before.lines().count().max(1));
                format!("`{shown}`, line {line}: secrets are `[system]` and `webhook = \"whsec_…\"`, or a list of them")
            })?;
            for (system, webhooks) in file.0 {
                for (webhook, secrets) in webhooks {
                    let texts = match secrets {
                        OneOrSeveral::One(text) => vec![text],
                        OneOrSeveral::Several(texts) => texts,
                    };
                    let secrets = WebhookSecrets::new(&texts)
                        .map_err(|error| format!("`{shown}`, `{webhook}` of `{system}`: {error}"))?;
                    let of_system: &mut BTreeMap<String, WebhookSecrets> = read.entry(system.clone()).or_default();
                    of_system.insert(webhook, secrets);
                }
            }
        }
        Ok(WebhookDeployment {
            secrets: read,
            reach: if anywhere { Reach::Anywhere } else { Reach::Public },
        })
    }

    /// Who sends the webhooks of a system; none where the model has none. What cannot be sent is said before anything is served: an address
    /// that is none, or no secret for one. A webhook without an address is off.
    pub(crate) fn webhook_client(&self, engine: &Engine) -> Result<Option<Arc<WebhookClient>>, String> {
        let model = engine.model();
        if model.webhooks.is_empty() {
            return Ok(None);
        }
        let secrets = self.secrets.get(&model.name);
        for webhook in &model.webhooks {
            let (system, name) = (&model.name, &webhook.name);
            let wrong = |reason: String| format!("webhook `{name}` of `{system}`: {reason}");
            let address = engine.webhook_address(webhook);
            let Some(address) = address.map_err(|error| wrong(error.to_string()))? else {
                continue;
            };
            WebhookAddress::parse(&address, self.reach).map_err(|error| wrong(format!("`{address}`: {error}")))?;
            if secrets.is_none_or(|secrets| !secrets.contains_key(name)) {
                return Err(wrong(format!(
                    "it has an address and no secret: name a file with `[{system}]` and `{name} = \"whsec_…\"` by `--webhook-secrets`"
                )));
            }
        }
        let client = WebhookClient::new(secrets.cloned().unwrap_or_default(), self.reach, None)
            .map_err(|error| error.to_string())?;
        Ok(Some(Arc::new(client)))
    }

    /// The same for a service, whose models may change while it runs: what is wrong by then is logged, and deliveries wait.
    pub(crate) fn webhook_senders(self: Arc<Self>) -> WebhookSenders {
        Box::new(move |engine| match self.webhook_client(engine) {
            Ok(client) => client.map(|client| client as Arc<dyn PostWebhook>),
            Err(reason) => {
                tracing::error!(
                    system = engine.model().name,
                    reason,
                    "webhooks are not sent until this is mended"
                );
                None
            }
        })
    }
}
