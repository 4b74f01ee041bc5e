//! What an audit found: every finding counted, the first few of each shown.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use singlet_item::{Item, Value};
use singlet_runtime::{Finding, FindingKind};
use singlet_values::to_json;

/// How many kinds of findings are told apart, by kind, entity and attribute; the rest is counted by kind and entity.
const TOLD_APART_MAX: usize = 1_000;

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditReport {
    /// The system.
    pub system: String,
    /// The table.
    pub table: String,
    /// Whether nothing is wrong.
    pub sound: bool,
    /// Items that were looked at.
    pub items: u64,
    /// Rows of entities among them.
    pub rows: u64,
    /// Items that were changed as often as they were read: nothing can be said of them.
    pub unsettled: u64,
    /// Read units that were consumed.
    pub read_units: f64,
    /// What was found, told apart by kind, entity and attribute.
    pub findings: Vec<CountedFinding>,
    /// What was mended, or would be.
    pub mended: Vec<MendCount>,
    /// What was not, and why.
    pub not_mended: Vec<MendCount>,
    /// How many examples are kept of each.
    shown_max: usize,
}

/// How often something was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CountedFinding {
    /// The name of its kind.
    pub kind: String,
    /// Whether something is wrong; else it is only worth knowing.
    pub is_damage: bool,
    /// The entity.
    pub entity: Option<String>,
    /// The attribute, index key, guard or mirror.
    pub attribute: Option<String>,
    /// How often.
    pub count: u64,
    /// The first few.
    pub examples: Vec<Example>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The primary key of the item.
    pub key: serde_json::Value,
    /// That of the other item, where it concerns two.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beside: Option<serde_json::Value>,
    /// What is there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub is: Option<serde_json::Value>,
    /// What should be there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub should: Option<serde_json::Value>,
    /// What is wrong.
    pub reason: String,
}

/// How often something was mended, or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MendCount {
    /// The name of the kind.
    pub kind: String,
    /// The entity.
    pub entity: Option<String>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// How often.
    pub count: u64,
}

impl AuditReport {
    pub(crate) fn new(system: &str, table: &str, shown_max: usize) -> Self {
        AuditReport {
            system: system.to_owned(),
            table: table.to_owned(),
            sound: true,
            shown_max,
            ..AuditReport::default()
        }
    }

    /// How many findings are damage.
    pub fn damage_count(&self) -> u64 {
        let damage = self.findings.iter().filter(|counted| counted.is_damage);
        damage.map(|counted| counted.count).sum()
    }

    /// How many findings of a kind there are.
    pub fn count_of(&self, kind: FindingKind) -> u64 {
        let of_kind = self.findings.iter().filter(|counted| counted.kind == kind.name());
        of_kind.map(|counted| counted.count).sum()
    }

    pub(crate) fn add_finding(&mut self, finding: &Finding) {
        self.sound &= !finding.kind.is_damage();
        let is_it = |counted: &CountedFinding, attribute: &Option<String>| {
            counted.kind == finding.kind.name() && counted.entity == finding.entity && counted.attribute == *attribute
        };
        let mut place = self
            .findings
            .iter()
            .position(|counted| is_it(counted, &finding.attribute));
        let mut attribute = finding.attribute.clone();
        if place.is_none() && self.findings.len() >= TOLD_APART_MAX {
            attribute = None;
            place = self.findings.iter().position(|counted| is_it(counted, &None));
        }
        let at = place.unwrap_or_else(|| {
            self.findings.push(CountedFinding {
                kind: finding.kind.name().to_owned(),
                is_damage: finding.kind.is_damage(),
                entity: finding.entity.clone(),
                attribute,
                count: 0,
                examples: Vec::new(),
            });
            self.findings.len() - 1
        });
        let shown_max = self.shown_max;
        let Some(counted) = self.findings.get_mut(at) else {
            return;
        };
        counted.count += 1;
        if counted.examples.len() < shown_max {
            let map = |item: &Item| to_json(&Value::M(item.clone()));
            counted.examples.push(Example {
                key: map(&finding.key),
                beside: finding.beside.as_ref().map(map),
                is: finding.is.as_ref().map(to_json),
                should: finding.should.as_ref().map(to_json),
                reason: finding.reason.clone(),
            });
        }
    }

    pub(crate) fn add_mended(&mut self, finding: &Finding) {
        count_mend(&mut self.mended, finding, None);
    }

    pub(crate) fn add_left(&mut self, finding: &Finding, why: &str) {
        count_mend(&mut self.not_mended, finding, Some(why));
    }

    /// Puts everything in one order, whichever segment came first: damage before notes.
    pub(crate) fn sort_findings(&mut self) {
        let named = |counted: &CountedFinding| {
            let kind = (!counted.is_damage, counted.kind.clone());
            (kind, counted.entity.clone(), counted.attribute.clone())
        };
        self.findings.sort_by_cached_key(named);
        for counted in &mut self.findings {
            counted.examples.sort_by_cached_key(|example| example.key.to_string());
        }
        for counts in [&mut self.mended, &mut self.not_mended] {
            counts.sort_by_cached_key(|one| (one.kind.clone(), one.entity.clone(), one.why.clone()));
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} items of `{}`, {} rows of `{}`, {} read units\n",
            self.items, self.table, self.rows, self.system, self.read_units
        );
        for counted in &self.findings {
            let _ = write!(text, "{} × {}", counted.count, counted.kind);
            let names = [&counted.entity, &counted.attribute];
            let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
            if !names.is_empty() {
                let _ = write!(text, " {}", names.join("."));
            }
            text.push_str(if counted.is_damage { "\n" } else { " (a note)\n" });
            for example in &counted.examples {
                let _ = writeln!(text, "    {}: {}", example.key, example.reason);
            }
        }
        if self.unsettled > 0 {
            let _ = writeln!(
                text,
                "{} items changed each time they were read: nothing is said of them",
                self.unsettled
            );
        }
        match self.damage_count() {
            0 => text.push_str("nothing is wrong\n"),
            1 => text.push_str("1 thing is wrong\n"),
            damage => {
                let _ = writeln!(text, "{damage} things are wrong");
            }
        }
        text
    }
}

fn count_mend(counts: &mut Vec<MendCount>, finding: &Finding, why: Option<&str>) {
    let is_it = |known: &&mut MendCount| {
        known.kind == finding.kind.name() && known.entity == finding.entity && known.why.as_deref() == why
    };
    match counts.iter_mut().find(is_it) {
        Some(known) => known.count += 1,
        None => counts.push(MendCount {
            kind: finding.kind.name().to_owned(),
            entity: finding.entity.clone(),
            why: why.map(str::to_owned),
            count: 1,
        }),
    }
}
