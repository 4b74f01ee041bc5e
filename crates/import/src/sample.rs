//! Pages of many segments of a table.

use singlet_audit::Pacer;
use singlet_item::Item;
use singlet_store::{Result, ScanRequest, ScanSegment, Store};

/// How much of a table is read.
#[derive(Clone, Copy, Debug)]
pub struct SampleOptions {
    /// The segments, which are read in turns.
    pub segments: u32,
    /// The most items.
    pub items_max: usize,
    /// The most items of a page.
    pub page_items: u32,
    /// Read units a second; as many as there are, where none is said.
    pub units_per_second: Option<f64>,
}

/// What was read of a table.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// The items.
    pub items: Vec<Item>,
    /// How many items the table has, as its store last counted them.
    pub counted: u64,
    /// Segments that were read to their end.
    pub segments_ended: u32,
    /// All segments.
    pub segments: u32,
    /// Read units that it took.
    pub units: f64,
}

impl Sample {
    /// Whether every item was read.
    pub fn is_whole(&self) -> bool {
        self.segments_ended == self.segments
    }

    /// The share of the table that was not read, as far as its store knows how much there is.
    pub fn unread_share(&self) -> Option<f64> {
        if self.is_whole() {
            return Some(0.0);
        }
        let read = self.items.len() as f64;
        // A count that is hours old may be below what was read.
        (self.counted as f64 > read).then(|| 1.0 - read / self.counted as f64)
    }
}

/// Reads pages of all segments in turns, until the table ends or enough was read.
///
/// # Errors
///
/// As the store has them.
pub async fn sample_table(store: &dyn Store, table: &str, options: &SampleOptions) -> Result<Sample> {
    let total = options.segments.max(1);
    let mut sample = Sample {
        counted: store.describe_table(table).await?.item_count,
        segments: total,
        ..Sample::default()
    };
    let pacer = Pacer::new(options.units_per_second);
    let mut open: Vec<(u32, Option<Item>)> = (0..total).map(|segment| (segment, None)).collect();
    while !open.is_empty() && sample.items.len() < options.items_max {
        let mut still_open = Vec::with_capacity(open.len());
        for (segment, start) in open {
            let left = options.items_max.saturating_sub(sample.items.len());
            if left == 0 {
                still_open.push((segment, start));
                continue;
            }
            let request = ScanRequest {
                table: table.to_owned(),
                limit: Some(u32::try_from(left).unwrap_or(u32::MAX).min(options.page_items.max(1))),
                segment: Some(ScanSegment { index: segment, total }),
                start,
                ..ScanRequest::default()
            };
            pacer.wait_until_paid().await;
            let page = store.scan(&request).await?;
            let units = page.consumed.total_units();
            let units = units.read.half_count() as f64 / 2.0;
            pacer.note_taken(units);
            sample.units += units;
            sample.items.extend(page.items);
            match page.last_key {
                None => sample.segments_ended += 1,
                last => still_open.push((segment, last)),
            }
        }
        open = still_open;
    }
    Ok(sample)
}
