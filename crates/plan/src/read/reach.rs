//! How many ranges a request can make of a query, known before there is a request.
//!
//! Each range is a request of its own, so there is a bound. A read is held to it while it is checked: what its arguments allow
//! never meets it while it runs.

use singlet_item::Number;
use singlet_model::evaluate::geo;
use singlet_model::expression::{Expr, ExprKind, FunctionId, Literal};
use singlet_model::types::Type;

use super::candidate::{PartValues, Query};
use crate::bounds::Bounds;
use crate::show;
use crate::span;
use crate::values::Values;

/// Circles are held to the bound up to this latitude, north and south. Cells get narrower toward the poles, so that no number of
/// them covers a circle everywhere.
pub const CIRCLE_LATITUDE_DEGREES_MAX: f64 = 70.0;

/// The most ranges that a request can make of a query, and what makes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Reach {
    /// How many; none where nothing limits them.
    pub most: Option<u64>,
    /// What they are made of, that of which nothing limits the number alone.
    pub factors: Vec<Factor>,
    /// Of a circle: the degrees of latitude, north and south, up to which its cells are no more than are read at once.
    pub latitude: Option<f64>,
}

/// What multiplies the ranges of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// The attribute.
    pub path: String,
    /// In words: `args.ids`, `each day from args.from to args.to`.
    pub of: String,
    /// How many; none where nothing limits them.
    pub most: Option<u64>,
    /// What kind of values they are.
    pub kind: FactorKind,
}

/// What a query is asked once for each of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorKind {
    /// The elements of a list.
    List,
    /// Days, months or years.
    Days,
    /// The cells of a circle.
    Cells,
    /// The values of a small type.
    Values,
}

impl Reach {
    /// One range, whatever the request.
    pub(super) const ONE: Reach = Reach {
        most: Some(1),
        factors: Vec::new(),
        latitude: None,
    };

    /// The reach of a query.
    pub(super) fn of(query: &Query) -> Self {
        let mut factors: Vec<Factor> = Vec::new();
        let mut circle = None;
        let mut seen: Vec<&PartValues> = Vec::new();
        for part in query.key_parts() {
            if seen.iter().any(|known| known.follows(part)) {
                continue;
            }
            seen.push(part);
            factors.extend(factor(part));
            if let Values::Cells { km, precision, .. } = &part.values {
                circle = greatest(km).map(|km| (km, *precision));
            }
        }
        let most = factors
            .iter()
            .try_fold(1_u64, |all, factor| Some(all.saturating_mul(factor.most?)));
        let mut others = factors.iter().filter(|factor| factor.kind != FactorKind::Cells);
        let others = others.try_fold(1_u64, |all, factor| Some(all.saturating_mul(factor.most?)));
        let latitude = circle.zip(others).map(|((km, precision), others)| {
            let cells = Bounds::USUAL.ranges_max as u64 / others.max(1);
            latitude_most(km, precision, cells)
        });
        if most.is_none() {
            factors.retain(|factor| factor.most.is_none());
        }
        Reach {
            most,
            factors,
            latitude,
        }
    }

    /// Whether it may be more than are read at once.
    pub(crate) fn exceeds(&self) -> bool {
        self.most.is_none_or(|most| most > Bounds::USUAL.ranges_max as u64)
    }
}

/// The values of a part, where there may be several.
fn factor(part: &PartValues) -> Option<Factor> {
    let lapses = part.lapses.len() as u64;
    let (kind, of, most) = match &part.values {
        Values::One(_) | Values::Formed(_) if lapses == 0 => return None,
        Values::One(value) | Values::Formed(value) => {
            (FactorKind::Values, show::show_expression(value), Some(1 + lapses))
        }
        Values::Each(list) | Values::EachFormed(list) => {
            let most = elements_most(list).map(|most| most.saturating_add(lapses));
            (FactorKind::List, show::show_expression(list), most)
        }
        Values::Days(range) => (FactorKind::Days, show::day_range(range), span::units_most(range)),
        Values::Cells { km, precision, .. } => {
            let most = greatest(km).map(|km| cells_most(km, *precision, CIRCLE_LATITUDE_DEGREES_MAX));
            (FactorKind::Cells, show::show_expression(km), most)
        }
        Values::All(words) => (FactorKind::Values, words.join("|"), Some(words.len() as u64)),
    };
    Some(Factor {
        path: part.path.clone(),
        of,
        most,
        kind,
    })
}

/// The most different elements that a list can have.
fn elements_most(list: &Expr) -> Option<u64> {
    // The limits of a type are those of what was declared with it, not of what is computed.
    let by_type = match list.path().and(Some(&list.ty)).unwrap_or(&Type::Unknown) {
        Type::List(element, limits) | Type::Set(element, limits) => {
            let different = element.cardinality();
            match (limits.max, different) {
                (Some(max), Some(different)) => Some(max.min(different)),
                (max, different) => max.or(different),
            }
        }
        _ => None,
    };
    let by_form = match &list.kind {
        ExprKind::List(elements) => Some(elements.len() as u64),
        ExprKind::Each { list, .. } => elements_most(list),
        ExprKind::Conditional(_, then, otherwise) => Some(elements_most(then)?.max(elements_most(otherwise)?)),
        ExprKind::Call(FunctionId::DaysBetween, args) => match args.as_slice() {
            [from, to] => span::days_most(from, to),
            _ => None,
        },
        _ => None,
    };
    match (by_type, by_form) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The greatest number that an expression can be.
fn greatest(expr: &Expr) -> Option<f64> {
    let number: Number = match (&expr.kind, &expr.ty) {
        (ExprKind::Literal(Literal::Number(number)), _) => *number,
        (_, Type::Int(limits) | Type::Number(limits)) if expr.path().is_some() => {
            let listed = limits.only.as_ref().and_then(|only| only.iter().max().copied());
            listed.or(limits.max)?
        }
        _ => return None,
    };
    number.to_string().parse().ok()
}

/// Kilometres of a degree of latitude.
const DEGREE_KM: f64 = 111.195;
/// How many places of the centre within a row of cells are tried.
const CENTRES_TRIED: u32 = 16;
/// With more rows than this nobody asks any more.
const CELL_ROWS_MAX: f64 = 10_000.0;

/// The tenths of a degree up to the last at which cells have a width.
const LATITUDE_TENTHS_MAX: u32 = 899;

/// Up to which latitude, in tenths of a degree, a circle touches no more cells than `most`: the nearer to a pole, the more.
fn latitude_most(km: f64, precision: u8, most: u64) -> f64 {
    let (mut fits, mut exceeds) = (0, LATITUDE_TENTHS_MAX + 1);
    while exceeds - fits > 1 {
        let middle = fits.midpoint(exceeds);
        match cells_most(km, precision, f64::from(middle) / 10.0) <= most {
            true => fits = middle,
            false => exceeds = middle,
        }
    }
    f64::from(fits) / 10.0
}

/// The most cells that a circle touches, wherever its centre lies up to a latitude.
fn cells_most(km: f64, precision: u8, latitude: f64) -> u64 {
    let (height_degrees, width_degrees) = geo::cell_degrees(precision);
    let height = height_degrees * DEGREE_KM;
    let far = latitude + km / DEGREE_KM;
    if far > f64::from(LATITUDE_TENTHS_MAX) / 10.0 {
        // It comes near the pole, round which a row of cells is as long as it is anywhere.
        return u64::MAX;
    }
    let width = width_degrees * DEGREE_KM * far.to_radians().cos();
    if km / height > CELL_ROWS_MAX {
        return u64::MAX;
    }
    let rows = (km / height).ceil() as i64 + 1;
    let touched = |offset: f64| -> f64 {
        (-rows..=rows)
            .map(|row| {
                let low = row as f64 * height;
                let gap = (low - offset).max(offset - low - height).max(0.0);
                match gap <= km {
                    // A chord touches one cell more than it fills, at either end.
                    true => (2.0 * (km * km - gap * gap).sqrt() / width).floor() + 2.0,
                    false => 0.0,
                }
            })
            .sum()
    };
    let offsets = (0..CENTRES_TRIED).map(|step| f64::from(step) / f64::from(CENTRES_TRIED) * height);
    let most = offsets.map(touched).fold(0.0, f64::max);
    // A row holds no more cells than there are round the earth.
    most.ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn up_to_its_latitude_a_circle_has_no_more_cells_than_are_asked_for() {
        for (km, precision) in [(1.0, 5), (5.0, 5), (25.0, 4), (100.0, 3), (0.5, 6)] {
            let latitude = latitude_most(km, precision, 200);
            assert!(
                (70.0..90.0).contains(&latitude),
                "{km} km, cells of {precision}: {latitude}"
            );
            let (height, width) = geo::cell_degrees(precision);
            for step in 0..200 {
                let share = f64::from(step) / 200.0;
                let center = geo::Place {
                    lat: latitude - share * height,
                    lon: -179.9 + share * 7.0 * width,
                };
                let cells = geo::cover_circle(center, km, precision, 200);
                assert!(cells.is_some(), "{km} km, cells of {precision}, at {center:?}");
            }
            assert_eq!(latitude_most(km, precision, 0), 0.0);
        }
    }

    #[test]
    fn no_circle_touches_more_cells() {
        for (km, precision) in [
            (0.5, 7),
            (1.0, 6),
            (5.0, 5),
            (10.0, 5),
            (25.0, 4),
            (25.0, 5),
            (100.0, 3),
            (100.0, 4),
        ] {
            let most = cells_most(km, precision, CIRCLE_LATITUDE_DEGREES_MAX);
            for lat in [-70.0, -33.3, 0.0, 0.01, 21.5, 45.0, 52.2297, 60.7, 69.99, 70.0] {
                for step in 0..40 {
                    let (height, width) = geo::cell_degrees(precision);
                    let share = f64::from(step) / 40.0;
                    let center = geo::Place {
                        lat: (lat + share * height).min(70.0),
                        lon: -179.9 + share * 7.0 * width,
                    };
                    let cells = geo::cover_circle(center, km, precision, 100_000).map_or(0, |cells| cells.len() as u64);
                    assert!(
                        cells <= most,
                        "{km} km, cells of {precision}, at {center:?}: {cells} of {most}"
                    );
                }
            }
        }
    }
}
