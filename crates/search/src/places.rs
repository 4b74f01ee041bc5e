//! Where rows lie, as far as that saves reading rows that lie elsewhere.
//!
//! **Invariant:** a place of the index is the place that the row had when its change came, and how far it is away is what [`Place::distance_km`] says
//! of the row itself. So the index passes over just those rows of which `near` does not hold; of a row that moved since, the row decides.

use singlet_model::evaluate::geo::Place;
use singlet_runtime::SearchRequest;
use tantivy::columnar::Column;
use tantivy::{DocId, SegmentReader};

use crate::error::SearchError;
use crate::word_index::{LATITUDES, LONGITUDES, NO_DEGREES, Searched};

/// A degree of latitude is never shorter: 6,371 kilometres are the mean radius.
const DEGREE_KM_MIN: f64 = 111.0;

/// A circle in which a place of rows must lie.
pub(crate) struct IndexedCircle {
    /// Which of the entity's places.
    number: usize,
    center: Place,
    km: f64,
}

/// The circles of a search of which the index knows anything.
pub(crate) fn circles_of(searched: &[Searched], request: &SearchRequest) -> Vec<IndexedCircle> {
    let Some(searched) = searched.iter().find(|one| one.entity == request.entity) else {
        return Vec::new();
    };
    let circles = request.circles.iter().filter_map(|circle| {
        Some(IndexedCircle {
            number: searched.places.iter().position(|name| *name == circle.attribute)?,
            center: circle.center,
            km: circle.km,
        })
    });
    circles.collect()
}

/// The places of the rows of a part of the index.
pub(crate) struct RowPlaces {
    /// None where no row has any.
    columns: Option<(Column<f64>, Column<f64>)>,
}

impl RowPlaces {
    pub(crate) fn of_segment(segment: &SegmentReader) -> Result<Self, SearchError> {
        let latitudes = segment.fast_fields().column_opt::<f64>(LATITUDES)?;
        let longitudes = segment.fast_fields().column_opt::<f64>(LONGITUDES)?;
        Ok(RowPlaces {
            columns: latitudes.zip(longitudes),
        })
    }

    /// Whether a place of a row lies in a circle.
    pub(crate) fn is_within(&self, row: DocId, circle: &IndexedCircle) -> bool {
        // A part without places has no row that lies anywhere.
        let Some((latitudes, longitudes)) = &self.columns else {
            return false;
        };
        let lat = latitudes.values_for_doc(row).nth(circle.number);
        // Less than a degree ever is, so that no row within the circle is passed over.
        let is_far = |lat: &f64| (lat - circle.center.lat).abs() * DEGREE_KM_MIN > circle.km;
        // Most are told by their latitude alone.
        let Some(lat) = lat.filter(|lat| *lat != NO_DEGREES && !is_far(lat)) else {
            return false;
        };
        let lon = longitudes.values_for_doc(row).nth(circle.number);
        lon.is_some_and(|lon| Place { lat, lon }.distance_km(circle.center) <= circle.km)
    }
}
