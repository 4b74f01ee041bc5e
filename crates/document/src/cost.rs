//! What a month costs, where rates are estimated: a table, a drawing, and what the document said.

use std::fmt::Write as _;

use singlet_cost::{
    Bill, CostReport, cost_report, dollars_text, expected_operations, figure_text, region_prices, stored_bytes,
};
use singlet_model::Model;

use crate::escape::{escape_markdown, escape_xml, inline_code};
use crate::table::MarkdownTable;

/// The region whose prices the document shows.
const REGION: &str = "us-east-1";

/// What a model costs; nothing where no rate is estimated.
pub(crate) fn model_cost(model: &Model) -> Option<CostReport> {
    let operations = expected_operations(model);
    let estimated = model.estimates.iter().any(|estimate| estimate.rate.is_some());
    let prices = region_prices(REGION).ok().filter(|_| estimated)?;
    Some(cost_report(model, &operations, &stored_bytes(model), &prices))
}

/// The sentence above the tables.
pub(crate) fn cost_sentence(report: &CostReport) -> String {
    format!(
        "A month at the estimates, in {} at the prices of {}; `singlet cost` shows what it rests on.",
        report.region, report.prices_as_of
    )
}

/// Each operation and what it takes, then all of it at several times the estimates, then the claims.
pub(crate) fn cost_tables(report: &CostReport) -> String {
    let mut out = String::new();
    if let Some(month) = report.month_bill() {
        let mut operations =
            MarkdownTable::new(["Operation", "Runs a month", "Read units", "Write units", "On demand"]);
        for operation in &month.operations {
            operations.row(vec![
                inline_code(&operation.name),
                operation.runs.map_or_else(|| "no rate".to_owned(), figure_text),
                figure_text(operation.read_units),
                figure_text(operation.write_units),
                price(operation.dollars),
            ]);
        }
        let _ = write!(out, "{}", operations.text());
    }
    let factors = report.months.iter().map(|month| format!("{}×", month.factor));
    let mut months = MarkdownTable::new(std::iter::once(String::new()).chain(factors));
    let mut line = |name: &str, of: &dyn Fn(&Bill) -> String| {
        months.row(
            std::iter::once(name.to_owned())
                .chain(report.months.iter().map(of))
                .collect(),
        );
    };
    line("On demand", &|month| price(month.on_demand()));
    line("On demand, less what is free", &|month| price(month.on_demand_net()));
    line("Provisioned for the peak", &|month| price(month.provisioned_total()));
    line("Provisioned, less what is free", &|month| {
        price(month.provisioned_net())
    });
    line("Stored, GB", &|month| figure_text(month.stored_gb));
    let _ = write!(out, "{}", months.text());
    if !report.claims.is_empty() {
        let mut claims = MarkdownTable::new(["The document says", "", "It is"]);
        for claim in &report.claims {
            let holds = if claim.holds { "holds" } else { "is wrong" };
            let said = format!("{}: {}", escape_markdown(&claim.about), inline_code(&claim.said));
            claims.row(vec![said, holds.to_owned(), inline_code(&claim.found)]);
        }
        let _ = write!(out, "{}", claims.text());
    }
    out
}

/// Dollars as code: some readers of Markdown take what stands between two signs for a formula.
fn price(amount: f64) -> String {
    inline_code(&dollars_text(amount))
}

/// The most bars of a drawing: the dearest.
const BARS_MAX: usize = 12;
const BAR_HEIGHT: usize = 22;
const BAR_WIDTH_MAX: f64 = 320.0;
const NAME_WIDTH: usize = 200;
const WIDTH: usize = 640;
const STYLE: &str = "text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1f2328}.card{fill:#ffffff;stroke:#d0d7de}.bar{fill:#4f8fd0}.title{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.card{fill:#0d1117;stroke:#30363d}.bar{fill:#3b6ea5}}";

/// The dearest operations, and what is kept, as bars.
pub(crate) fn cost_drawing(report: &CostReport) -> Option<String> {
    let month = report.month_bill()?;
    let mut lines: Vec<(&str, f64)> = month
        .operations
        .iter()
        .map(|operation| (operation.name.as_str(), operation.dollars))
        .chain([
            ("(storage)", month.storage),
            ("(stream)", month.stream),
            ("(recovery)", month.recovery),
        ])
        .filter(|(_, dollars)| *dollars > 0.0)
        .collect();
    lines.sort_by(|one, other| other.1.total_cmp(&one.1));
    lines.truncate(BARS_MAX);
    let most = lines.first()?.1;
    let height = 48 + lines.len() * BAR_HEIGHT;
    let title = format!("What a month of {} costs", report.model);
    let title = escape_xml(&title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n<style>{STYLE}</style>\n<rect class=\"card\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/>\n<text class=\"title\" x=\"16\" y=\"24\">{title}</text>\n",
        WIDTH - 1,
        height - 1
    );
    for (at, (name, price)) in lines.iter().enumerate() {
        let top = 38 + at * BAR_HEIGHT;
        let width = (price / most * BAR_WIDTH_MAX).max(1.0);
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{}\">{}</text>\n<rect class=\"bar\" x=\"{NAME_WIDTH}\" y=\"{top}\" width=\"{width:.1}\" height=\"14\"/>\n<text x=\"{:.1}\" y=\"{}\">{}</text>",
            top + 11,
            escape_xml(name),
            NAME_WIDTH as f64 + width + 8.0,
            top + 11,
            escape_xml(&dollars_text(*price))
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}
