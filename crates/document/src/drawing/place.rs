//! Where everything stands.

use super::layers::Layered;
use super::value_at;
use super::{BoxForm, Graph};

const MARGIN: f64 = 16.0;
const SLOT_GAP: f64 = 18.0;
const LAYER_GAP_LEAST: f64 = 32.0;
const LAYER_GAP_MOST: f64 = 64.0;
const PORT_GAP_MOST: f64 = 26.0;
const ROUNDS: usize = 80;

/// The places of a drawing.
#[derive(Debug)]
pub(crate) struct DrawingPlaces {
    /// The line of each slot.
    pub x: Vec<f64>,
    /// Top and bottom of each slot: a box's own, a lane's the layer's.
    pub y: Vec<(f64, f64)>,
    /// For each edge: where it leaves the upper box and reaches the lower one.
    pub ports: Vec<(f64, f64)>,
    /// The drawing's width and height.
    pub size: (f64, f64),
}

/// Places the slots of a graph.
pub(crate) fn place_slots(graph: &Graph, layered: &Layered) -> DrawingPlaces {
    let x = columns(layered);
    let y = rows(layered, &x);
    let ports = ports(graph, layered, &x);
    let right = x.iter().zip(&layered.slots).map(|(x, slot)| x + slot.right);
    let bottom = y.iter().map(|(_, bottom)| *bottom);
    let size = (right.fold(0.0, f64::max) + MARGIN, bottom.fold(0.0, f64::max) + MARGIN);
    DrawingPlaces { x, y, ports, size }
}

/// Every slot goes as near as it can to those that it is joined with, without touching its neighbours.
fn columns(layered: &Layered) -> Vec<f64> {
    let mut x = vec![0.0; layered.slots.len()];
    for layer in &layered.layers {
        settle(layered, layer, &|_| (0.0, 1.0), &mut x);
    }
    for round in 0..ROUNDS {
        let downwards = round % 2 == 0;
        let depth = layered.layers.len();
        let order: Vec<usize> = if downwards {
            (0..depth).collect()
        } else {
            (0..depth).rev().collect()
        };
        // The last rounds look both ways, so that a long line is straight.
        let both = round * 2 >= ROUNDS;
        for layer in order.iter().filter_map(|layer| layered.layers.get(*layer)) {
            let before = x.clone();
            let wanted = |slot: usize| wanted(layered, &before, slot, downwards, both);
            settle(layered, layer, &wanted, &mut x);
        }
    }
    let left = x.iter().zip(&layered.slots).map(|(x, slot)| x - slot.left);
    let least = left.fold(f64::INFINITY, f64::min);
    x.iter().map(|x| x - least + MARGIN).collect()
}

/// Where a slot would like to be, and how much.
fn wanted(layered: &Layered, x: &[f64], slot: usize, downwards: bool, both: bool) -> (f64, f64) {
    let above = layered.above.get(slot).map_or(&[][..], Vec::as_slice);
    let below = layered.below.get(slot).map_or(&[][..], Vec::as_slice);
    let joined: Vec<usize> = match (both, downwards) {
        (true, _) => above.iter().chain(below).copied().collect(),
        (false, true) => above.to_vec(),
        (false, false) => below.to_vec(),
    };
    if joined.is_empty() {
        return (value_at(x, slot), 0.5);
    }
    let sum: f64 = joined.iter().map(|other| value_at(x, *other)).sum();
    let is_node = layered.slots.get(slot).is_some_and(|slot| slot.is_node);
    (sum / joined.len() as f64, if is_node { 2.0 } else { 4.0 })
}

/// A run of slots that touch one another and so move together.
struct SlotRun {
    /// The mean of what its slots want, less their distance from the first slot of the layer.
    mean: f64,
    weight: f64,
    slots: usize,
}

/// The places nearest to the wanted ones that keep order and distance: neighbours that would overlap become one run.
fn settle(layered: &Layered, layer: &[usize], wanted: &dyn Fn(usize) -> (f64, f64), x: &mut [f64]) {
    let mut runs: Vec<SlotRun> = Vec::new();
    let mut offsets = Vec::new();
    let mut offset = 0.0;
    let mut before: Option<usize> = None;
    for slot in layer {
        if let Some(before) = before {
            offset += value_at(&layered.slots, before).right + SLOT_GAP + value_at(&layered.slots, *slot).left;
        }
        before = Some(*slot);
        offsets.push(offset);
        let (place, weight) = wanted(*slot);
        let mut run = SlotRun {
            mean: place - offset,
            weight,
            slots: 1,
        };
        while let Some(last) = runs.pop_if(|last| last.mean > run.mean) {
            let weight = last.weight + run.weight;
            run = SlotRun {
                mean: (last.mean * last.weight + run.mean * run.weight) / weight,
                weight,
                slots: last.slots + run.slots,
            };
        }
        runs.push(run);
    }
    let means = runs.iter().flat_map(|run| std::iter::repeat_n(run.mean, run.slots));
    for ((slot, offset), mean) in layer.iter().zip(offsets).zip(means) {
        x.get_mut(*slot).into_iter().for_each(|x| *x = mean + offset);
    }
}

/// Top and bottom of each slot. Where lines go far to the side, layers stand further apart.
fn rows(layered: &Layered, x: &[f64]) -> Vec<(f64, f64)> {
    let mut y = vec![(0.0, 0.0); layered.slots.len()];
    let mut top = MARGIN;
    for layer in &layered.layers {
        let height = layer
            .iter()
            .map(|slot| value_at(&layered.slots, *slot).height)
            .fold(0.0, f64::max);
        let mut farthest: f64 = 0.0;
        for slot in layer {
            let own = value_at(&layered.slots, *slot);
            // Boxes of a layer are centred in it; lines run through all of it.
            let spare = if own.is_node { (height - own.height) / 2.0 } else { 0.0 };
            y.get_mut(*slot)
                .into_iter()
                .for_each(|y| *y = (top + spare, top + height - spare));
            let below = layered.below.get(*slot).map_or(&[][..], Vec::as_slice);
            farthest = below
                .iter()
                .map(|other| (value_at(x, *other) - value_at(x, *slot)).abs())
                .fold(farthest, f64::max);
        }
        top += height + (farthest * 0.14).clamp(LAYER_GAP_LEAST, LAYER_GAP_MOST);
    }
    y
}

/// The lines of a box's side are spread over it, in the order of where they come from or go to.
fn ports(graph: &Graph, layered: &Layered, x: &[f64]) -> Vec<(f64, f64)> {
    let mut ports = vec![(0.0, 0.0); layered.routes.len()];
    for (node, form) in graph.nodes.iter().map(|node| node.form).enumerate() {
        let mut leaving: Vec<(f64, usize)> = Vec::new();
        let mut arriving: Vec<(f64, usize)> = Vec::new();
        for (number, route) in layered.routes.iter().enumerate() {
            if let [first, second, .., before, last] = route.slots.as_slice() {
                leaving.extend((*first == node).then_some((value_at(x, *second), number)));
                arriving.extend((*last == node).then_some((value_at(x, *before), number)));
            } else if let [first, middle, last] = route.slots.as_slice() {
                leaving.extend((*first == node).then_some((value_at(x, *middle), number)));
                arriving.extend((*last == node).then_some((value_at(x, *middle), number)));
            }
        }
        let slot = value_at(&layered.slots, node);
        let width = if form == BoxForm::Dot {
            0.0
        } else {
            slot.left + slot.right - 24.0
        };
        for (number, port) in spread(leaving, value_at(x, node), width) {
            ports.get_mut(number).into_iter().for_each(|ports| ports.0 = port);
        }
        for (number, port) in spread(arriving, value_at(x, node), width) {
            ports.get_mut(number).into_iter().for_each(|ports| ports.1 = port);
        }
    }
    ports
}

fn spread(mut lines: Vec<(f64, usize)>, center: f64, width: f64) -> Vec<(usize, f64)> {
    lines.sort_by(|left, right| left.0.total_cmp(&right.0));
    // A line that comes from nearly above or below runs straight.
    if let [(from, number)] = lines.as_slice() {
        let straight = from.clamp(center - width / 2.0, center + width / 2.0);
        return vec![(*number, straight)];
    }
    let count = lines.len() as f64;
    let gap = (width / (count - 1.0).max(1.0)).min(PORT_GAP_MOST);
    let first = center - gap * (count - 1.0) / 2.0;
    let numbers = lines.iter().map(|(_, number)| *number).enumerate();
    numbers
        .map(|(place, number)| (number, first + gap * place as f64))
        .collect()
}
