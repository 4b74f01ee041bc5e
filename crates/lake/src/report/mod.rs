//! What a team looks at in its lake, without any engine: counts, sums and times that follow from the model.
//!
//! Nothing here asks the table, and nothing is written.

mod chart;
mod json;
mod plan;
mod svg;
mod text;

use singlet_model::Model;

use crate::data_file::rows_of_file;
use crate::error::LakeError;
use crate::files::LakeFiles;
use crate::layout::{changes_table, lake_entities};
use crate::table_log::TableLog;
use chart::Chart;
use plan::{changes_charts, current_charts};

/// What was found in a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeReport {
    /// The system.
    pub system: String,
    /// What there is to look at.
    pub views: Vec<ReportView>,
}

/// Bars that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportView {
    /// What is shown.
    pub title: String,
    /// What the bars are of.
    pub unit: ReportUnit,
    /// What the parts of bars are, in their order; one without a name where bars have no parts.
    pub series: Vec<String>,
    /// The bars.
    pub bars: Vec<ReportBar>,
    /// How many more bars there would be.
    pub left_out: usize,
}

/// One bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportBar {
    /// What it stands for.
    pub label: String,
    /// A value for each part.
    pub parts: Vec<i128>,
}

/// What bars are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportUnit {
    /// So many rows, or changes.
    Count,
    /// A sum, with so many digits after the point.
    Sum(u8),
    /// The middle one of times, in seconds.
    Seconds,
}

impl LakeReport {
    /// Reads a lake, as it is at an instant in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// Where there is no lake of the model, or its files cannot be read.
    pub fn read(files: &dyn LakeFiles, model: &Model, now_millis: i64) -> Result<Self, LakeError> {
        let mut views = Vec::new();
        let mut is_there = false;
        for entity in lake_entities(model)? {
            let current = TableLog::load_log(files, &entity.name)?;
            let changes = TableLog::load_log(files, &changes_table(&entity.name))?;
            is_there |= current.version.is_some();
            let mut charts = current_charts(model, entity, &current.columns, now_millis);
            read_table(files, &current, &mut charts)?;
            views.extend(charts.into_iter().filter_map(Chart::into_view));
            let mut charts = changes_charts(entity, &changes.columns);
            read_table(files, &changes, &mut charts)?;
            views.extend(charts.into_iter().filter_map(Chart::into_view));
        }
        match is_there {
            true => Ok(LakeReport {
                system: model.name.clone(),
                views,
            }),
            false => Err(LakeError::Refused("there is no lake of the model".to_owned())),
        }
    }
}

impl ReportBar {
    /// All its parts together.
    pub fn bar_total(&self) -> i128 {
        self.parts.iter().fold(0, |all, part| all.saturating_add(*part))
    }
}

impl ReportUnit {
    /// A value as people read it.
    pub fn shown(self, value: i128) -> String {
        match self {
            ReportUnit::Count | ReportUnit::Sum(0) => value.to_string(),
            ReportUnit::Sum(scale) => {
                let digits = usize::from(scale);
                let sign = if value < 0 { "-" } else { "" };
                let text = format!("{:0>width$}", value.unsigned_abs(), width = digits + 1);
                let (whole, rest) = text.split_at(text.len().saturating_sub(digits));
                format!("{sign}{whole}.{rest}")
            }
            ReportUnit::Seconds => shown_seconds(value),
        }
    }
}

fn shown_seconds(seconds: i128) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let unit = units.into_iter().find(|(length, _)| seconds.abs() >= *length);
    match unit {
        None => format!("{seconds} seconds"),
        Some((length, name)) => {
            let tenths = seconds.saturating_mul(10) / length;
            format!("{}.{} {name}", tenths / 10, (tenths % 10).abs())
        }
    }
}

fn read_table(files: &dyn LakeFiles, table: &TableLog, charts: &mut [Chart]) -> Result<(), LakeError> {
    if charts.is_empty() {
        return Ok(());
    }
    for path in table.files.keys() {
        let path = format!("{}/{path}", table.name);
        let bytes = files.get(&path).map_err(LakeError::file(&path))?;
        let bytes = bytes.ok_or_else(|| LakeError::unreadable(&path, "it is gone: the lake was tidied meanwhile"))?;
        let rows = rows_of_file(&table.columns, bytes).map_err(|error| LakeError::unreadable(&path, error))?;
        for row in rows {
            charts.iter_mut().for_each(|chart| chart.take_row(&row));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_people_read_them() {
        let shown = |unit: ReportUnit, value: i128| unit.shown(value);
        assert_eq!(shown(ReportUnit::Count, 12), "12");
        assert_eq!(shown(ReportUnit::Sum(2), 5), "0.05");
        assert_eq!(shown(ReportUnit::Sum(2), -1_234), "-12.34");
        assert_eq!(shown(ReportUnit::Seconds, 59), "59 seconds");
        assert_eq!(shown(ReportUnit::Seconds, 60), "1.0 minutes");
        assert_eq!(shown(ReportUnit::Seconds, 5_400), "1.5 hours");
        assert_eq!(shown(ReportUnit::Seconds, 200_000), "2.3 days");
    }
}
