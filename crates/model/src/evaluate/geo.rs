//! Places: distances and geohashes.

use singlet_item::Value;

/// The mean radius of the earth.
const EARTH_RADIUS_KM: f64 = 6_371.008_8;

const ALPHABET: &[u8; 32] = b"0123456789bcdefghjkmnpqrstuvwxyz";

/// A place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Latitude in degrees.
    pub lat: f64,
    /// Longitude in degrees.
    pub lon: f64,
}

impl Place {
    /// From a map with `lat` and `lon`.
    pub fn from_value(value: &Value) -> Option<Self> {
        let map = value.as_map()?;
        let degrees = |name: &str| map.get(name)?.as_number()?.to_f64();
        Some(Place {
            lat: degrees("lat")?,
            lon: degrees("lon")?,
        })
    }

    /// Kilometres along the great circle.
    pub fn distance_km(self, other: Place) -> f64 {
        let (a, b) = (self.lat.to_radians(), other.lat.to_radians());
        let half = |angle: f64| (angle / 2.0).sin().powi(2);
        let chord = half(b - a) + a.cos() * b.cos() * half((other.lon - self.lon).to_radians());
        2.0 * EARTH_RADIUS_KM * chord.sqrt().min(1.0).asin()
    }

    /// The geohash of some precision.
    pub fn geohash(self, precision: u8) -> String {
        let (mut lat, mut lon) = ((-90.0, 90.0), (-180.0, 180.0));
        let mut hash = String::with_capacity(usize::from(precision));
        let mut even = true;
        for _ in 0..precision {
            let mut index = 0_usize;
            for _ in 0..5 {
                let (range, at) = if even {
                    (&mut lon, self.lon)
                } else {
                    (&mut lat, self.lat)
                };
                let middle = (range.0 + range.1) / 2.0;
                index = index << 1 | usize::from(at >= middle);
                if at >= middle {
                    range.0 = middle;
                } else {
                    range.1 = middle;
                }
                even = !even;
            }
            hash.push(char::from(ALPHABET.get(index).copied().unwrap_or(b'0')));
        }
        hash
    }
}

/// The height and width of a cell in degrees.
pub fn cell_degrees(precision: u8) -> (f64, f64) {
    let bits = u32::from(precision) * 5;
    let (lat_bits, lon_bits) = (bits / 2, bits.div_ceil(2));
    (180.0 / 2_f64.powi(lat_bits as i32), 360.0 / 2_f64.powi(lon_bits as i32))
}

/// The cells of a precision that a circle touches, in byte order. At most `most`; none where there are more.
pub fn cover_circle(center: Place, radius_km: f64, precision: u8, most: usize) -> Option<Vec<String>> {
    let (height, width) = cell_degrees(precision);
    let lat_span = (radius_km / EARTH_RADIUS_KM).to_degrees();
    let (south, north) = ((center.lat - lat_span).max(-90.0), (center.lat + lat_span).min(90.0));
    let lon_span = lon_reach(center, radius_km, south, north);
    let mut cells = std::collections::BTreeSet::new();
    let rows = (south + 90.0).div_euclid(height) as i64..=(north + 90.0).div_euclid(height) as i64;
    for row in rows {
        let columns = (center.lon - lon_span + 180.0).div_euclid(width) as i64
            ..=(center.lon + lon_span + 180.0).div_euclid(width) as i64;
        for column in columns {
            let cell = GeohashCell::at(row, column, height, width);
            if cell.distance_km(center) <= radius_km {
                cells.insert(cell.middle().geohash(precision));
            }
            if cells.len() > most {
                return None;
            }
        }
    }
    Some(cells.into_iter().collect())
}

/// How far east and west a circle reaches; all the way round where it holds a pole.
fn lon_reach(center: Place, radius_km: f64, south: f64, north: f64) -> f64 {
    if south <= -90.0 || north >= 90.0 {
        return 180.0;
    }
    let ratio = (radius_km / EARTH_RADIUS_KM).sin() / center.lat.to_radians().cos();
    if ratio.abs() >= 1.0 {
        180.0
    } else {
        ratio.asin().to_degrees()
    }
}

struct GeohashCell {
    south: f64,
    west: f64,
    height: f64,
    width: f64,
}

impl GeohashCell {
    fn at(row: i64, column: i64, height: f64, width: f64) -> Self {
        let columns = (360.0 / width) as i64;
        GeohashCell {
            south: (row as f64 * height - 90.0).min(90.0 - height),
            west: column.rem_euclid(columns) as f64 * width - 180.0,
            height,
            width,
        }
    }

    fn middle(&self) -> Place {
        Place {
            lat: self.south + self.height / 2.0,
            lon: self.west + self.width / 2.0,
        }
    }

    /// Kilometres from a place to the nearest point of the cell, never more than they are.
    fn distance_km(&self, place: Place) -> f64 {
        let inside_lon = wrapped(place.lon - self.west) <= self.width;
        let lat = place.lat.clamp(self.south, self.south + self.height);
        if inside_lon {
            return place.distance_km(Place { lat, lon: place.lon });
        }
        // On a meridian that is not the place's own, the nearest point lies poleward of the place's latitude.
        let edges = [self.west, self.west + self.width];
        edges
            .into_iter()
            .map(|lon| meridian_distance_km(place, lon, self.south, self.south + self.height))
            .fold(f64::INFINITY, f64::min)
    }
}

fn meridian_distance_km(place: Place, lon: f64, south: f64, north: f64) -> f64 {
    let turn = (place.lon - lon).to_radians();
    let nearest = (place.lat.to_radians().tan() / turn.cos()).atan().to_degrees();
    let candidates = [nearest.clamp(south, north), south, north];
    candidates
        .into_iter()
        .map(|lat| place.distance_km(Place { lat, lon }))
        .fold(f64::INFINITY, f64::min)
}

fn wrapped(degrees: f64) -> f64 {
    degrees.rem_euclid(360.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WARSAW: Place = Place {
        lat: 52.2297,
        lon: 21.0122,
    };

    #[test]
    fn warsaw_has_its_known_geohash() {
        assert_eq!(WARSAW.geohash(6), "u3qcnh");
        assert_eq!(WARSAW.geohash(5), "u3qcn");
    }

    #[test]
    fn a_degree_of_latitude_is_about_111_kilometres() {
        let north = Place { lat: 53.2297, ..WARSAW };
        assert!((WARSAW.distance_km(north) - 111.19).abs() < 0.05);
    }

    #[test]
    fn a_cover_holds_every_point_of_the_circle() {
        for (center, km, precision) in [
            (WARSAW, 5.0, 5),
            (WARSAW, 25.0, 4),
            (Place { lat: 0.01, lon: 179.99 }, 10.0, 5),
            (Place { lat: -78.0, lon: 12.0 }, 10.0, 4),
        ] {
            let cells = cover_circle(center, km, precision, 1_000).unwrap();
            for step in 0..720 {
                let angle = f64::from(step).to_radians() / 2.0;
                for share in [0.2, 0.7, 0.999] {
                    let lat = center.lat + (km * share / EARTH_RADIUS_KM).to_degrees() * angle.cos();
                    let lon = center.lon
                        + (km * share / EARTH_RADIUS_KM).to_degrees() * angle.sin() / center.lat.to_radians().cos();
                    let point = Place {
                        lat,
                        lon: (lon + 540.0).rem_euclid(360.0) - 180.0,
                    };
                    if center.distance_km(point) <= km {
                        assert!(cells.contains(&point.geohash(precision)), "{point:?} is not covered");
                    }
                }
            }
        }
    }

    #[test]
    fn five_kilometres_at_warsaw_need_about_a_dozen_cells() {
        let cells = cover_circle(WARSAW, 5.0, 5, 1_000).unwrap().len();
        assert!((9..=16).contains(&cells), "{cells}");
        assert!(cover_circle(WARSAW, 5.0, 6, 1_000).unwrap().len() > 150);
        assert_eq!(cover_circle(WARSAW, 25.0, 6, 100), None);
    }
}
