use singlet_model::expression::{Expr, ExprKind, FunctionId, Literal};
use singlet_model::model::{Entity, KeyPart, PartFunction, Read};
use singlet_model::types::Type;
use singlet_plan::by_hand::ByHand;
use singlet_plan::facts::Relation;

use crate::{Context, Findings, design_rule};

design_rule! {
    /// The cells that are queried do not cover the circle that is meant.
    ///
    /// A geohash of precision 5 is a cell of about 3 × 4.9 km at 52° latitude, of precision 6 about 0.75 × 0.6 km. A circle is
    /// covered by every cell that it touches; how many that are depends on where in a cell its centre lies. With fewer
    /// queries, places within the distance are missing from the answer.
    ///
    /// ```yaml
    /// where: near(location, args.at, 5)
    /// using: {index: GSI1, key: {geohash: "{geohash(args.at, 6)}"}, queries: 9}     # about 200 are needed
    /// ```
    ///
    /// The cells are counted for centres all over a cell, at 52° latitude: nearer to the equator they are wider.
    ///
    /// Way out: a coarser precision (a second index for the large circles), as many queries as the message says, and the
    /// exact distance as a filter; or leave `using` out.
    "R006" "circle-not-covered" Error
}

const LATITUDE_DEGREES: f64 = 52.0;
const KM_PER_DEGREE: f64 = 111.32;
/// Centres tried along each side of a cell.
const CENTRES: u32 = 8;
/// With more cells than this, their number is as good as the ratio of the areas.
const CELLS_COUNTED_MAX: f64 = 4_000.0;

fn check(context: &Context<'_>, findings: &mut Findings<'_>) {
    for by_hand in context.by_hand() {
        if let Some((km, precision)) = circle(by_hand) {
            report(by_hand, km, precision, findings);
        }
    }
}

/// Whether the rule speaks of a condition.
pub(crate) fn speaks_of(by_hand: &ByHand<'_>) -> bool {
    circle(by_hand).is_some_and(|(km, precision)| by_hand.query_count() < cells_needed(km, precision).1)
}

fn report(by_hand: &ByHand<'_>, km: f64, precision: u8, findings: &mut Findings<'_>) {
    let (least, most) = cells_needed(km, precision);
    let queries = by_hand.query_count();
    if queries >= most {
        return;
    }
    let needed = if least == most {
        format!("about {most}")
    } else {
        format!("{least} to {most}")
    };
    let queried = if queries == 1 {
        "1 is".to_owned()
    } else {
        format!("{queries} are")
    };
    let message =
        format!("a circle of {km} km needs {needed} geohash cells of precision {precision}, but {queried} queried");
    let span = by_hand.using.queries.map_or(by_hand.using.span, |(_, span)| span);
    let help = format!("query {most} cells, or use a coarser precision, and filter by the exact distance");
    findings.push(findings.at(span, &by_hand.read.name, message).help(help));
}

/// The largest circle that is meant, and the precision of the cells in the partition key.
fn circle(by_hand: &ByHand<'_>) -> Option<(f64, u8)> {
    let facts = by_hand.meaning_facts();
    let (place, distance) = facts.iter().find_map(|fact| match fact.relation {
        Relation::Near(km) => Some((fact.attribute, km)),
        _ => None,
    })?;
    let mut parts = by_hand.met.iter().flat_map(|path| {
        path.partition_templates()
            .iter()
            .flat_map(|key| &key.parts)
            .map(|part| (path.entity, part))
    });
    let precision = parts.find_map(|(entity, part)| precision_of(entity, part, place))?;
    Some((largest(by_hand.read, distance)?, precision))
}

fn precision_of(entity: &Entity, part: &KeyPart, place: &str) -> Option<u8> {
    if let Some(PartFunction::Geohash(precision)) = part.function {
        return (part.root_attribute() == place).then_some(precision);
    }
    match &entity.attribute(part.root_attribute())?.is.as_ref()?.kind {
        ExprKind::Call(FunctionId::Geohash, args) => match args.as_slice() {
            [of, precision] if of.mentions_attribute(place) => u8::try_from(number(precision)?.to_i64()?).ok(),
            _ => None,
        },
        _ => None,
    }
}

fn number(expr: &Expr) -> Option<singlet_item::Number> {
    match expr.as_literal()? {
        Literal::Number(number) => Some(*number),
        _ => None,
    }
}

fn largest(read: &Read, distance: &Expr) -> Option<f64> {
    let largest = match &distance.kind {
        ExprKind::Arg(name) => match &read.argument_named(name)?.ty {
            Type::Int(limits) | Type::Number(limits) => {
                let listed = limits.only.as_ref().and_then(|only| only.iter().max().copied());
                listed.or(limits.max)?
            }
            _ => return None,
        },
        _ => number(distance)?,
    };
    largest.to_string().parse().ok()
}

/// The fewest and the most cells that a circle touches, over centres all over a cell.
fn cells_needed(km: f64, precision: u8) -> (u64, u64) {
    let (width, height) = cell_km(precision);
    let by_area = std::f64::consts::PI * km * km / (width * height);
    if by_area > CELLS_COUNTED_MAX {
        return (by_area.ceil() as u64, by_area.ceil() as u64);
    }
    let offsets = || (0..CENTRES).map(|step| f64::from(step) / f64::from(CENTRES));
    let counts = offsets().flat_map(|x| offsets().map(move |y| touched(km, (width, height), (x * width, y * height))));
    counts.fold((u64::MAX, 0), |(least, most), count| {
        (least.min(count), most.max(count))
    })
}

/// How many cells a circle touches whose centre lies so far from the corner of a cell.
fn touched(km: f64, (width, height): (f64, f64), (x, y): (f64, f64)) -> u64 {
    let reach = |side: f64| (km / side).ceil() as i64 + 1;
    let gap = |cell: i64, side: f64, at: f64| {
        let low = cell as f64 * side;
        (low - at).max(at - low - side).max(0.0)
    };
    let (columns, rows) = (reach(width), reach(height));
    let mut count = 0;
    for column in -columns..=columns {
        let across = gap(column, width, x);
        for row in -rows..=rows {
            let along = gap(row, height, y);
            count += u64::from(across.hypot(along) <= km);
        }
    }
    count
}

/// Width and height of a cell. Each character holds five bits, by turns of the longitude and of the latitude.
fn cell_km(precision: u8) -> (f64, f64) {
    let bits = 5 * i32::from(precision);
    let latitude_bits = bits / 2;
    let degrees = |whole: f64, bits: i32| whole / 2_f64.powi(bits);
    let width = degrees(360.0, bits - latitude_bits) * KM_PER_DEGREE * LATITUDE_DEGREES.to_radians().cos();
    (width, degrees(180.0, latitude_bits) * KM_PER_DEGREE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cells_of_a_circle_at_warsaw() {
        assert_eq!(cells_needed(5.0, 5), (10, 13));
        let (least, most) = cells_needed(5.0, 6);
        assert!(
            (190..=220).contains(&least) && (190..=220).contains(&most),
            "{least} to {most}"
        );
        let (least, most) = cells_needed(25.0, 4);
        assert!(least >= 6 && most <= 14, "{least} to {most}");
    }

    #[test]
    fn a_cell_of_precision_five() {
        let (width, height) = cell_km(5);
        assert!((width - 3.01).abs() < 0.01 && (height - 4.89).abs() < 0.01);
    }
}
