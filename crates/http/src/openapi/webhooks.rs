//! What other systems are told, as a receiver of webhooks needs to know it.

use serde_json::{Map, Value as Json, json};
use singlet_model::Model;
use singlet_model::model::{WEBHOOK_BODY_BYTES_MAX, Webhook};
use singlet_plan::write::trigger_text;

use super::schema::{Schemas, closed_object};
use super::shape::of_fields;

/// The webhooks of a model by name; nothing where it has none.
pub(crate) fn webhook_documents(model: &Model, schemas: &mut Schemas<'_>) -> Option<Json> {
    let named = model.webhooks.iter().map(|webhook| {
        let item = json!({"post": of_webhook(model, webhook, schemas)});
        (webhook.name.clone(), item)
    });
    let mut named: Map<String, Json> = named.collect();
    named.sort_keys();
    (!named.is_empty()).then_some(Json::Object(named))
}

fn of_webhook(model: &Model, webhook: &Webhook, schemas: &mut Schemas<'_>) -> Json {
    let (properties, required) = of_fields(webhook.sent_values(), schemas);
    let body = json!({
        "type": {"const": webhook.name},
        "timestamp": {"type": "string", "format": "date-time", "description": "When the change happened."},
        "data": closed_object(properties, required),
    });
    let header = |name: &str, description: &str, schema: Json| json!({"name": name, "in": "header", "required": true, "description": description, "schema": schema});
    let text = || json!({"type": "string"});
    json!({
        "operationId": webhook.name,
        "summary": format!("After {}", trigger_text(model, &webhook.after)),
        "description": format!(
            "By Standard Webhooks 1.0: told at least once, in no order, and signed. A body has up to {WEBHOOK_BODY_BYTES_MAX} bytes."
        ),
        "parameters": [
            header("webhook-id", "The same whenever the same is told.", text()),
            header("webhook-timestamp", "The instant of the attempt, in seconds since 1970.", json!({"type": "integer"})),
            header("webhook-signature", "`v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64; several where secrets change.", text()),
        ],
        "requestBody": {
            "required": true,
            "content": {"application/json": {"schema": {
                "type": "object",
                "properties": body,
                "required": ["type", "timestamp", "data"],
                "additionalProperties": false,
            }}},
        },
        "responses": {
            "2XX": {"description": "It is taken, and not told again."},
            "410": {"description": "Nothing is to be sent here any more."},
            "default": {"description": "It is told again later; `Retry-After` is heeded."},
        },
    })
}
