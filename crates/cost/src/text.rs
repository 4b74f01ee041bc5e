//! Reports as text, with bars.

use std::fmt::Write as _;

use crate::bill::Bill;
use crate::capacity::{Capacity, PlaceUnits, UnitsRate};
use crate::compare::Comparison;
use crate::partitions::ShareSource;
use crate::prices::Prices;
use crate::report::CostReport;

/// The characters of the longest bar.
const BAR_CHARS: usize = 24;

/// What a month costs.
pub fn cost_text(report: &CostReport) -> String {
    let mut out = format!(
        "{}: a month in {}, prices of {}\n\n",
        report.model, report.region, report.prices_as_of
    );
    if let Some(month) = report.month_bill() {
        out.push_str(&operations_table(month));
        out.push('\n');
        out.push_str(&lines_table(month));
        out.push('\n');
    }
    out.push_str(&months_table(&report.months));
    if let Some(month) = report.month_bill() {
        let _ = write!(
            out,
            "\nprovisioned units are cheaper from {} utilisation; for the peak of these estimates they are used to {}\n",
            percent(month.break_even),
            percent(month.utilisation)
        );
    }
    if !report.claims.is_empty() {
        out.push_str("\nwhat the document says\n");
        let rows = report.claims.iter().map(|claim| {
            let holds = if claim.holds { "holds" } else { "is wrong" };
            vec![
                claim.about.clone(),
                claim.said.clone(),
                holds.to_owned(),
                claim.found.clone(),
            ]
        });
        out.push_str(&aligned(&["of", "says", "", "it is"], rows.collect(), &[]));
    }
    if !report.differences.is_empty() {
        out.push_str("\nmeasured, and estimated otherwise\n");
        let rows = report.differences.iter().map(|difference| {
            vec![
                difference.operation.clone(),
                difference.what.clone(),
                difference.estimated.map_or_else(|| "nothing".to_owned(), figure_text),
                figure_text(difference.measured),
            ]
        });
        out.push_str(&aligned(
            &["operation", "", "estimated", "measured"],
            rows.collect(),
            &[2, 3],
        ));
    }
    out.push_str(&assumed(&report.assumptions));
    out
}

fn operations_table(month: &Bill) -> String {
    let most = month
        .operations
        .iter()
        .map(|operation| operation.dollars)
        .fold(0.0, f64::max);
    let rows = month.operations.iter().map(|operation| {
        vec![
            operation.name.clone(),
            operation.runs.map_or_else(|| "no rate".to_owned(), figure_text),
            figure_text(operation.read_units),
            figure_text(operation.write_units),
            dollars_text(operation.dollars),
            bar(operation.dollars, most),
        ]
    });
    let columns = ["operation", "runs", "read units", "write units", "on demand", ""];
    aligned(&columns, rows.collect(), &[1, 2, 3, 4])
}

fn lines_table(month: &Bill) -> String {
    let stored = format!("storage, {} GB", figure_text(month.stored_gb));
    let lines = [
        ("read units", month.reads),
        ("write units", month.writes),
        (stored.as_str(), month.storage),
        ("stream", month.stream),
        ("recovery", month.recovery),
    ];
    let most = lines.iter().map(|(_, dollars)| *dollars).fold(0.0, f64::max);
    let mut rows: Vec<Vec<String>> = lines
        .iter()
        .map(|(name, price)| vec![(*name).to_owned(), dollars_text(*price), bar(*price, most)])
        .collect();
    rows.push(vec![
        "in all, on demand".to_owned(),
        dollars_text(month.on_demand()),
        String::new(),
    ]);
    rows.push(vec![
        "one backup, beside it".to_owned(),
        dollars_text(month.backup),
        format!("to restore it {}", dollars_text(month.restore)),
    ]);
    aligned(&["of which", "dollars", ""], rows, &[1])
}

fn months_table(months: &[Bill]) -> String {
    let mut columns = vec!["in all".to_owned()];
    columns.extend(months.iter().map(|month| format!("{}×", month.factor)));
    let line = |name: &str, of: &dyn Fn(&Bill) -> String| {
        let cells = months.iter().map(of);
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
    };
    let units = |month: &Bill| {
        format!(
            "{} read, {} write",
            thousands(month.provision.read),
            thousands(month.provision.write)
        )
    };
    let mut rows = vec![
        line("on demand", &|month| dollars_text(month.on_demand())),
        line("  less what is free", &|month| dollars_text(month.on_demand_net())),
        line("provisioned for the peak", &|month| {
            dollars_text(month.provisioned_total())
        }),
        line("  less what is free", &|month| dollars_text(month.provisioned_net())),
        line("  units a second", &units),
    ];
    if months.iter().any(|month| month.declared.is_some()) {
        let enough = |month: &Bill, price: f64| match month.declared.is_none_or(|declared| declared.enough) {
            true => dollars_text(price),
            false => "not enough".to_owned(),
        };
        rows.push(line("as the model provisions", &|month| {
            enough(month, month.as_declared())
        }));
        rows.push(line("  less what is free", &|month| {
            enough(month, month.as_declared_net())
        }));
    }
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    aligned(&names, rows, &[1, 2, 3])
}

/// Units a second, partitions, and what to provision.
pub fn capacity_text(name: &str, capacity: &Capacity, prices: &Prices, assumptions: &[String]) -> String {
    let mut out = format!("{name}: units a second\n\n");
    for place in &capacity.places {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (operation, units) in &place.operations {
            rows.push(vec![
                format!("  {operation}"),
                figure_text(units.read),
                figure_text(units.write),
            ]);
        }
        rows.push(vec![
            "  on average".to_owned(),
            figure_text(place.mean.read),
            figure_text(place.mean.write),
        ]);
        rows.push(vec![
            "  at the peak".to_owned(),
            figure_text(place.peak.read),
            figure_text(place.peak.write),
        ]);
        let place_units =
            |name: &str, units: PlaceUnits| vec![name.to_owned(), thousands(units.read), thousands(units.write)];
        rows.push(place_units("  to provision", place.provision));
        rows.push(place_units("  auto-scaling from", place.scale_from));
        rows.extend(place.declared.map(|declared| place_units("  the model has", declared)));
        out.push_str(&aligned(&[&place.place, "read", "write"], rows, &[1, 2]));
        if let (Some((mean, peak)), Some(declared)) = (place.capacity_holds(), place.declared) {
            out.push_str(&held((mean, peak), declared, place.peak));
        }
        out.push('\n');
    }
    out.push_str(&totals(capacity, prices));
    out.push_str(&keys_table(capacity));
    out.push_str(&assumed(assumptions));
    out
}

fn held((mean, peak): (bool, bool), declared: PlaceUnits, needed: UnitsRate) -> String {
    let short = |declared: u64, needed: f64, kind: &str| {
        (needed > declared as f64).then(|| {
            format!(
                "{} {kind} units too few at the peak",
                figure_text(needed - declared as f64)
            )
        })
    };
    let both = [
        short(declared.read, needed.read, "read"),
        short(declared.write, needed.write, "write"),
    ];
    let short: Vec<String> = both.into_iter().flatten().collect();
    match (mean, peak) {
        (_, true) => "  what the model has is enough\n".to_owned(),
        (true, false) => format!("  what the model has is enough on average: {}\n", short.join(", ")),
        (false, false) => format!("  what the model has is not enough: {}\n", short.join(", ")),
    }
}

fn totals(capacity: &Capacity, prices: &Prices) -> String {
    let (read, write) = (prices.free.provisioned_read_units, prices.free.provisioned_write_units);
    let free = |units: PlaceUnits| match units.read <= read && units.write <= write {
        true => "within the free tier".to_owned(),
        false => format!(
            "{} read and {} write more than the free tier has",
            thousands(units.read.saturating_sub(read)),
            thousands(units.write.saturating_sub(write))
        ),
    };
    let line = |what: &str, units: PlaceUnits| {
        format!(
            "{what} {} read and {} write units in all: {}\n",
            thousands(units.read),
            thousands(units.write),
            free(units)
        )
    };
    let mut out = line("to provision:", capacity.provisioned_total());
    if let Some(declared) = capacity.declared_total() {
        out.push_str(&line("the model has", declared));
    }
    let _ = writeln!(
        out,
        "the free tier: {read} read and {write} write units, for table and indexes together\n"
    );
    out
}

fn keys_table(capacity: &Capacity) -> String {
    let rows = capacity.keys.iter().map(|key| {
        let why = match key.why {
            ShareSource::Said => "as said",
            ShareSource::OneKey => "one key",
            ShareSource::Even => "even",
        };
        let times =
            |times: Option<f64>| times.map_or_else(|| "never".to_owned(), |times| format!("{}×", figure_text(times)));
        vec![
            key.key.clone(),
            key.place.clone(),
            format!("{} {why}", percent(key.share)),
            figure_text(key.busiest.read),
            figure_text(key.busiest.write),
            times(key.limit_at),
            times(key.throttles_at),
        ]
    });
    let columns = [
        "busiest partition of",
        "in",
        "share",
        "read",
        "write",
        "full at",
        "1 % throttled at",
    ];
    let table = aligned(&columns, rows.collect(), &[3, 4, 5, 6]);
    format!("{table}a partition serves 3,000 read and 1,000 write units a second; × is of the peak\n")
}

/// What a change costs more.
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut out = String::new();
    let units = |(read, write): (f64, f64)| format!("{} + {}", figure_text(read), figure_text(write));
    let rows = comparison.changed.iter().map(|changed| {
        vec![
            changed.name.clone(),
            units(changed.units_before),
            units(changed.units_after),
            dollars_text(changed.before),
            dollars_text(changed.after),
            signed(changed.after - changed.before),
        ]
    });
    let mut rows: Vec<Vec<String>> = rows.collect();
    let beside = &comparison.beside;
    rows.push(vec![
        beside.name.clone(),
        String::new(),
        String::new(),
        dollars_text(beside.before),
        dollars_text(beside.after),
        signed(beside.after - beside.before),
    ]);
    rows.push(vec![
        "in all, on demand".to_owned(),
        String::new(),
        String::new(),
        dollars_text(comparison.before),
        dollars_text(comparison.after),
        signed(comparison.after - comparison.before),
    ]);
    let columns = ["changed", "units before", "units after", "before", "after", "a month"];
    out.push_str(&aligned(&columns, rows, &[3, 4, 5]));
    for (title, operations) in [("new", &comparison.added), ("gone", &comparison.removed)] {
        if !operations.is_empty() {
            let rows = operations
                .iter()
                .map(|(name, price)| vec![name.clone(), dollars_text(*price)]);
            let _ = write!(out, "\n{}", aligned(&[title, "a month"], rows.collect(), &[1]));
        }
    }
    let _ = writeln!(
        out,
        "\nwithout what is new or gone: {} more",
        percent(comparison.cost_increase())
    );
    out
}

fn assumed(assumptions: &[String]) -> String {
    let lines = assumptions.iter().map(|line| format!("  {line}\n"));
    format!("\nassumed\n{}", lines.collect::<String>())
}

fn bar(amount: f64, most: f64) -> String {
    if most <= 0.0 || amount <= 0.0 {
        return String::new();
    }
    let filled = (amount / most * BAR_CHARS as f64).round().clamp(1.0, BAR_CHARS as f64);
    let mut bar = String::new();
    let mut drawn = 0.0;
    while drawn < filled {
        bar.push('█');
        drawn += 1.0;
    }
    bar
}

/// Dollars: cents, and two significant digits below a cent.
pub fn dollars_text(amount: f64) -> String {
    match amount {
        0.0 => "$0".to_owned(),
        amount if amount < 0.000_005 => "under $0.00001".to_owned(),
        amount if amount < 0.01 => format!("${}", significant(amount)),
        amount if amount.is_finite() => {
            let cents = format!("{amount:.2}");
            let (whole, part) = cents.split_once('.').unwrap_or((cents.as_str(), "00"));
            format!("${}.{part}", grouped(whole))
        }
        _ => "without end".to_owned(),
    }
}

fn signed(amount: f64) -> String {
    match amount {
        amount if amount > 0.0 => format!("+{}", dollars_text(amount)),
        amount if amount < 0.0 => format!("-{}", dollars_text(-amount)),
        _ => "$0".to_owned(),
    }
}

/// A figure with at most three significant digits, whole from a hundred on.
pub fn figure_text(amount: f64) -> String {
    match amount {
        0.0 => "0".to_owned(),
        amount if amount >= 100.0 => grouped(&format!("{amount:.0}")),
        amount if amount >= 1.0 => trimmed(&format!("{amount:.2}")),
        amount => significant(amount),
    }
}

/// Two significant digits of what is below one.
fn significant(amount: f64) -> String {
    let mut places = 2;
    let mut shown = amount;
    while shown < 0.1 && places < 12 {
        shown *= 10.0;
        places += 1;
    }
    trimmed(&format!("{amount:.places$}"))
}

fn trimmed(number: &str) -> String {
    match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => number.to_owned(),
    }
}

fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

fn grouped(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn percent(share: f64) -> String {
    match share.is_finite() {
        true => format!("{} %", figure_text(share * 100.0)),
        false => "without end".to_owned(),
    }
}

/// A table with columns as wide as they need to be; those named by `right` end at one place.
fn aligned(columns: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let header: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
    let all: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let width = |at: usize| {
        let cells = all.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let mut out = String::new();
    for row in &all {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| match right.contains(&at) {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
        let line: Vec<String> = cells.collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}
