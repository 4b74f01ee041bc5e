//! The order within each layer, so that few lines cross.

use super::layers::Layered;
use super::value_at;

/// How often the layers are gone through, downwards and upwards in turn.
const SWEEPS_MAX: usize = 24;

/// Orders each layer.
pub(crate) fn order_layers(layered: &mut Layered) {
    let mut best = (crossings(layered), layered.layers.clone());
    for sweep in 0..SWEEPS_MAX {
        if best.0 == 0 {
            break;
        }
        by_neighbours(layered, sweep % 2 == 0);
        swap_neighbours(layered);
        let now = crossings(layered);
        if now < best.0 {
            best = (now, layered.layers.clone());
        }
    }
    layered.layers = best.1;
}

/// Each slot goes to the mean place of those that it is joined with in the layer before.
fn by_neighbours(layered: &mut Layered, downwards: bool) {
    let depth = layered.layers.len();
    let order: Vec<usize> = if downwards {
        (1..depth).collect()
    } else {
        (0..depth).rev().skip(1).collect()
    };
    for layer in order {
        let places = places(layered);
        let joined = if downwards { &layered.above } else { &layered.below };
        let Some(slots) = layered.layers.get_mut(layer) else {
            continue;
        };
        let mean = |slot: usize| {
            let joined = joined.get(slot).map_or(&[][..], Vec::as_slice);
            let sum: usize = joined.iter().map(|other| value_at(&places, *other)).sum();
            match joined.len() {
                0 => value_at(&places, slot) as f64,
                count => sum as f64 / count as f64,
            }
        };
        slots.sort_by(|left, right| mean(*left).total_cmp(&mean(*right)));
    }
}

/// Two neighbours change places where fewer lines cross then.
fn swap_neighbours(layered: &mut Layered) {
    let mut least = crossings(layered);
    for layer in 0..layered.layers.len() {
        let count = layered.layers.get(layer).map_or(0, Vec::len);
        for place in 1..count {
            swap(layered, layer, place);
            let now = crossings(layered);
            if now < least {
                least = now;
            } else {
                swap(layered, layer, place);
            }
        }
    }
}

fn swap(layered: &mut Layered, layer: usize, place: usize) {
    if let Some(slots) = layered.layers.get_mut(layer).filter(|slots| place < slots.len()) {
        slots.swap(place - 1, place);
    }
}

/// How many pairs of lines cross.
fn crossings(layered: &Layered) -> usize {
    let places = places(layered);
    let mut count = 0;
    for layer in &layered.layers {
        let mut lines: Vec<(usize, usize)> = Vec::new();
        for slot in layer {
            let below = layered.below.get(*slot).map_or(&[][..], Vec::as_slice);
            lines.extend(
                below
                    .iter()
                    .map(|other| (value_at(&places, *slot), value_at(&places, *other))),
            );
        }
        for (number, one) in lines.iter().enumerate() {
            let later = lines.iter().skip(number + 1);
            count += later
                .filter(|other| (one.0 < other.0 && one.1 > other.1) || (one.0 > other.0 && one.1 < other.1))
                .count();
        }
    }
    count
}

/// The place of each slot in its layer.
fn places(layered: &Layered) -> Vec<usize> {
    let mut places = vec![0; layered.slots.len()];
    for layer in &layered.layers {
        for (place, slot) in layer.iter().enumerate() {
            places.get_mut(*slot).into_iter().for_each(|known| *known = place);
        }
    }
    places
}
