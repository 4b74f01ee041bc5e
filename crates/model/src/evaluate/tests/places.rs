//! Places: poles, the antimeridian, and distances that others have published.

use super::*;
use crate::evaluate::geo::{Place, cover_circle};

fn place(lat: f64, lon: f64) -> Place {
    Place { lat, lon }
}

/// On a sphere of 6371.0088 km.
#[test]
fn distances_are_those_of_the_great_circle() {
    let cases = [
        (place(0.0, 0.0), place(0.0, 0.0), 0.0),
        // A degree, a quarter and a half of a great circle.
        (place(0.0, 0.0), place(0.0, 1.0), 111.195),
        (place(0.0, 0.0), place(1.0, 0.0), 111.195),
        (place(0.0, 0.0), place(90.0, 0.0), 10_007.557),
        (place(0.0, 0.0), place(0.0, 180.0), 20_015.114),
        (place(90.0, 0.0), place(-90.0, 0.0), 20_015.114),
        // All meridians meet at the poles, and the last is the first.
        (place(90.0, 0.0), place(90.0, 123.0), 0.0),
        (place(-90.0, -180.0), place(-90.0, 77.0), 0.0),
        (place(10.0, 180.0), place(10.0, -180.0), 0.0),
        (place(0.0, 179.5), place(0.0, -179.5), 111.195),
        // Nashville to Los Angeles, 2886.448 km (Rosetta Code); Land's End to John o' Groats, 968.9 km (Movable Type Scripts).
        (place(36.12, -86.67), place(33.94, -118.40), 2_886.448),
        (place(50.066_389, -5.714_722), place(58.643_889, -3.07), 968.855),
    ];
    for (from, to, km) in cases {
        for (a, b) in [(from, to), (to, from)] {
            let found = a.distance_km(b);
            assert!((found - km).abs() < 0.001, "{a:?} {b:?}: {found}, not {km}");
        }
    }
}

#[test]
fn geohashes_are_those_that_are_known() {
    let cases = [
        (place(57.649_11, 10.407_44), 11, "u4pruydqqvj"),
        (place(42.6, -5.6), 5, "ezs42"),
        (place(0.0, 0.0), 12, "s00000000000"),
        (place(-90.0, -180.0), 12, "000000000000"),
        (place(90.0, 180.0), 12, "zzzzzzzzzzzz"),
        (place(90.0, -180.0), 4, "bpbp"),
        (place(-90.0, 180.0), 4, "pbpb"),
        (place(-25.382_708, -49.265_506), 8, "6gkzwgjz"),
    ];
    for (place, precision, expected) in cases {
        assert_eq!(place.geohash(precision), expected, "{place:?}");
    }
}

#[test]
fn circles_go_round_the_antimeridian_and_over_the_poles() {
    let inside = [
        (place(0.0, 179.99), 10.0, 5, place(0.0, -179.99)),
        (place(0.0, -180.0), 10.0, 5, place(0.05, 179.95)),
        (place(89.95, 0.0), 20.0, 4, place(89.95, 180.0)),
        (place(90.0, 0.0), 20.0, 4, place(89.9, -77.0)),
        (place(-90.0, 0.0), 20.0, 4, place(-89.9, 120.0)),
        (place(-89.95, 10.0), 20.0, 4, place(-89.95, -170.0)),
    ];
    for (center, km, precision, point) in inside {
        assert!(center.distance_km(point) <= km, "{center:?} {point:?}");
        let cells = cover_circle(center, km, precision, 100_000).unwrap();
        assert!(
            cells.contains(&point.geohash(precision)),
            "{point:?} is not in the cells of {center:?}"
        );
    }
}

#[test]
fn near_takes_its_edge_with_it() {
    expect(
        &world(),
        &[
            ("near(place, place, 0)", "true"),
            ("near(place, place, -1)", "false"),
            ("near(place, {lat: 0, lon: 0}, 40000)", "true"),
            ("near({lat: 0, lon: 0}, {lat: 0, lon: 1}, 111.1951)", "true"),
            ("near({lat: 0, lon: 0}, {lat: 0, lon: 1}, 111.195)", "false"),
            ("distance({lat: 0, lon: 0}, {lat: 0, lon: 1})", "111.195"),
            ("distance({lat: 90, lon: 0}, {lat: -90, lon: 0})", "20015.114"),
            ("distance(place, place)", "0"),
            (r#"geohash({lat: 42.6, lon: -5.6}, 5)"#, "ezs42"),
        ],
    );
}
