//! What an assistant can read: the language, its glossary, the rules, the schema.

use serde_json::{Value as Json, json};
use singlet_lint::{all_rules, find_rule, rule_page};
use singlet_model::grammar::json_schema;

const LANGUAGE: &str = include_str!("../../../../../docs/language.md");
const GLOSSARY: &str = include_str!("../../../../../docs/glossary.md");

const MARKDOWN: &str = "text/markdown";

/// What there is, as the protocol lists it.
pub(super) fn listed_resources() -> Vec<Json> {
    let one = |uri: &str, name: &str, doc: &str, kind: &str| json!({"uri": uri, "name": name, "description": doc, "mimeType": kind});
    vec![
        one(
            "singlet://language",
            "language",
            "The language reference: everything that may stand in a model.",
            MARKDOWN,
        ),
        one("singlet://glossary", "glossary", "The language's own words.", MARKDOWN),
        one(
            "singlet://rules",
            "rules",
            "Every rule of the checker, a line each.",
            MARKDOWN,
        ),
        one(
            "singlet://schema",
            "schema",
            "The JSON Schema of model files.",
            "application/schema+json",
        ),
    ]
}

/// What has a name in its address.
pub(super) fn resource_templates() -> Vec<Json> {
    vec![json!({
        "uriTemplate": "singlet://rules/{rule}",
        "name": "rule",
        "description": "The page of a rule, by its code or name.",
        "mimeType": MARKDOWN,
    })]
}

/// The kind and text of a resource.
pub(super) fn text_of(uri: &str) -> Option<(&'static str, String)> {
    match uri.strip_prefix("singlet://")? {
        "language" => Some((MARKDOWN, LANGUAGE.to_owned())),
        "glossary" => Some((MARKDOWN, GLOSSARY.to_owned())),
        "schema" => Some(("application/schema+json", format!("{:#}", json_schema()))),
        "rules" => {
            let lines = all_rules().map(|rule| {
                let severity = rule.severity.word();
                format!("- {} {} ({severity}): {}\n", rule.code, rule.name, rule.page_summary())
            });
            Some((MARKDOWN, lines.collect()))
        }
        other => {
            let rule = find_rule(other.strip_prefix("rules/")?)?;
            Some((
                MARKDOWN,
                format!("# {} {}\n\n{}\n", rule.code, rule.name, rule_page(rule)),
            ))
        }
    }
}
