//! A report as JSON.

use serde_json::{Map, Value as Json, json};

use super::{LakeReport, ReportUnit, ReportView};

impl LakeReport {
    /// As JSON, for other programs.
    pub fn to_json(&self) -> String {
        let report = json!({"system": self.system, "views": self.views.iter().map(view_json).collect::<Vec<_>>()});
        let mut text = serde_json::to_string_pretty(&report).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn view_json(view: &ReportView) -> Json {
    let unit = match view.unit {
        ReportUnit::Count => "count",
        ReportUnit::Sum(_) => "sum",
        ReportUnit::Seconds => "seconds",
    };
    // Sums have all their digits: as text, which no reader rounds.
    let value = |value: i128| match view.unit {
        ReportUnit::Sum(_) => Json::String(view.unit.shown(value)),
        _ => i64::try_from(value).map_or_else(|_| Json::String(value.to_string()), Json::from),
    };
    let bar = |bar: &super::ReportBar| {
        let mut shown = Map::from_iter([
            ("label".to_owned(), Json::from(bar.label.as_str())),
            ("value".to_owned(), value(bar.bar_total())),
        ]);
        if view.has_parts() {
            let parts = view.series.iter().zip(&bar.parts).filter(|(_, part)| **part != 0);
            let parts = parts.map(|(name, part)| (name.clone(), value(*part)));
            shown.insert("parts".to_owned(), Json::Object(parts.collect()));
        }
        Json::Object(shown)
    };
    json!({
        "title": view.title,
        "unit": unit,
        "bars": view.bars.iter().map(bar).collect::<Vec<_>>(),
        "leftOut": view.left_out,
    })
}
