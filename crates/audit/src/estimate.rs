//! What an audit will read, before it reads anything.

use singlet_cost::Prices;
use singlet_model::Model;
use singlet_model::model::{Entity, Kept};
use singlet_runtime::{Engine, RuntimeError};

/// Bytes that half a read unit reads, eventually consistent.
const HALF_UNIT_BYTES: u64 = 4_096;

/// What an audit will read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AuditEstimate {
    /// Items of the table, as the engine last counted them.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Read units of the scan.
    pub scan_units: f64,
    /// At most so many more, for what lies beside rows: mirrors, guards, sources of copies, rows that are referred to.
    pub beside_units_max: f64,
}

impl AuditEstimate {
    /// All of it, at most.
    pub fn units_max(&self) -> f64 {
        self.scan_units + self.beside_units_max
    }

    /// What it costs at most where requests are paid, in dollars.
    pub fn dollars_max(&self, prices: &Prices) -> f64 {
        self.units_max() * prices.on_demand.read_million / 1_000_000.0
    }
}

/// What an audit of a model's table will read, by what the store says of the table.
///
/// # Errors
///
/// Where the store fails.
pub async fn estimate_audit(engine: &Engine) -> Result<AuditEstimate, RuntimeError> {
    let model = engine.model();
    let table = engine.store().describe_table(&model.table.name).await?;
    let (items, bytes) = (table.item_count, table.size_bytes);
    let usual_bytes = bytes.checked_div(items).unwrap_or(0);
    let each = usual_bytes.div_ceil(HALF_UNIT_BYTES).max(1);
    let beside = model.entities.iter().map(|entity| beside_max(model, entity)).max();
    Ok(AuditEstimate {
        items,
        bytes,
        scan_units: bytes.div_ceil(HALF_UNIT_BYTES) as f64 / 2.0,
        beside_units_max: (items * each * beside.unwrap_or(0)) as f64 / 2.0,
    })
}

/// How many items a row of an entity takes beside itself.
fn beside_max(model: &Model, entity: &Entity) -> u64 {
    let copies = entity.attributes.iter().filter(|attribute| {
        let copy = attribute.copy.as_ref();
        copy.is_some_and(|copy| matches!(copy.kept, Kept::Transaction | Kept::Stream))
    });
    let references = entity
        .attributes
        .iter()
        .filter(|attribute| attribute.reference.is_some());
    let mirrors = model.mirrors_of(entity.id).count();
    let versions = if entity.history.is_some() { 4 } else { 0 };
    let excluded = if entity.excludes.is_some() { 2 } else { 0 };
    (copies.count() + references.count() + mirrors + entity.unique.len() + versions + excluded).max(1) as u64
}
