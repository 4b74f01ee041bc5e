//! Formulas as text.

use singlet_item::capacity::Consistency;

use super::{Call, RequestCost, Sizes, Worked};

impl Call {
    /// The call in a word.
    pub fn word(self) -> &'static str {
        match self {
            Call::Get => "get",
            Call::BatchGet => "batch get",
            Call::TransactGet => "transact get",
            Call::Query => "query",
            Call::Scan => "scan",
        }
    }
}

impl RequestCost {
    /// The formula: `0.5 × ⌈Σ rows read / 4 KB⌉ a page, for each day`.
    pub fn formula_text(&self) -> String {
        let factor = match self.consistency {
            Consistency::Eventual => "0.5 × ",
            Consistency::Strong => "",
            Consistency::Transactional => "2 × ",
        };
        let mut text = match self.call {
            Call::Get => format!("{factor}⌈item / 4 KB⌉"),
            Call::BatchGet | Call::TransactGet => format!("Σ {factor}⌈item / 4 KB⌉"),
            Call::Query | Call::Scan => format!("{factor}⌈Σ rows read / 4 KB⌉ a page"),
        };
        if let Some((last, first)) = self.times.each.split_last() {
            let first: String = first.iter().map(|each| format!("{each} and ")).collect();
            text.push_str(&format!(", for {first}{last}"));
        }
        text
    }

    /// The formula, and its numbers where sizes are known: `… = 0.5 to 2 for 20 rows`.
    pub fn shown(&self, sizes: &Sizes<'_>) -> String {
        let formula = self.formula_text();
        let worked = self.worked_cost(sizes).to_string();
        if worked.is_empty() {
            return formula;
        }
        let rows = match (self.call, self.rows) {
            (Call::Query | Call::Scan, Some(rows)) if rows > 1 => format!(" for {rows} rows"),
            _ => String::new(),
        };
        format!("{formula} = {worked}{rows}")
    }

    /// What it promises, in words.
    pub fn promise_words(&self) -> &'static str {
        match self.consistency {
            Consistency::Eventual => "eventually consistent",
            Consistency::Strong => "strongly consistent",
            Consistency::Transactional => "transactional",
        }
    }
}

impl std::fmt::Display for Worked {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.usual, self.most) {
            (_, Some(most)) if most == self.least => write!(out, "{most}"),
            (Some(usual), Some(most)) => write!(out, "{} to {most}, usually {usual}", self.least),
            (None, Some(most)) => write!(out, "{} to {most}", self.least),
            (Some(usual), None) => write!(out, "usually {usual}"),
            (None, None) => Ok(()),
        }
    }
}
