//! Which layer each box is in, and through which slots each arrow runs.

use super::{BoxForm, Graph, value_at};

/// Pixels.
pub const LINE_HEIGHT: f64 = 17.0;
const CHARACTER_WIDTH: f64 = 7.25;
const NODE_PADDING: f64 = 14.0;
const LABEL_GAP: f64 = 7.0;
const LINES_APART: f64 = 20.0;
const LANE_HALF: f64 = 8.0;

/// A graph in layers. Boxes are in even layers, labels in odd ones.
#[derive(Debug)]
pub(crate) struct Layered {
    /// Everything that has a place in a layer; the boxes first, in their order.
    pub slots: Vec<LayerSlot>,
    /// The slots of each layer, from left to right.
    pub layers: Vec<Vec<usize>>,
    /// For each edge: its slots from top to bottom.
    pub routes: Vec<EdgeRoute>,
    /// The slots above each slot that lines come from.
    pub above: Vec<Vec<usize>>,
    /// The slots below each slot that lines go to.
    pub below: Vec<Vec<usize>>,
}

/// A place in a layer: how far it reaches to both sides of its line, and how high it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LayerSlot {
    /// To the left.
    pub left: f64,
    /// To the right.
    pub right: f64,
    /// From top to bottom.
    pub height: f64,
    /// Whether it is a box.
    pub is_node: bool,
}

/// The way of an edge.
#[derive(Debug)]
pub(crate) struct EdgeRoute {
    /// Its slots, from the upper box to the lower one.
    pub slots: Vec<usize>,
    /// Which of them has the label.
    pub label: Option<usize>,
    /// Whether the arrow points upwards.
    pub upwards: bool,
}

/// How wide a text is, as a font of one width has it.
pub(crate) fn text_width(text: &str) -> f64 {
    let columns: f64 = text
        .chars()
        .map(|char| if u32::from(char) >= 0x1100 { 2.0 } else { 1.0 })
        .sum();
    columns * CHARACTER_WIDTH
}

/// Puts a graph into layers.
pub(crate) fn layer_graph(graph: &Graph) -> Layered {
    let upwards = upward_edges(graph);
    let ranks = ranks(graph, &upwards);
    let depth = ranks.iter().max().map_or(0, |most| most * 2 + 1);
    let mut all = Layered {
        slots: graph.nodes.iter().map(node_slot).collect(),
        layers: vec![Vec::new(); depth],
        routes: Vec::new(),
        above: vec![Vec::new(); graph.nodes.len()],
        below: vec![Vec::new(); graph.nodes.len()],
    };
    for (node, rank) in ranks.iter().enumerate() {
        all.put(node, rank * 2);
    }
    for (edge, upwards) in graph.edges.iter().zip(upwards) {
        let (top, bottom) = if upwards {
            (edge.to, edge.from)
        } else {
            (edge.from, edge.to)
        };
        all.route(
            (top, value_at(&ranks, top) * 2),
            (bottom, value_at(&ranks, bottom) * 2),
            &edge.label,
            upwards,
        );
    }
    all.widen_for_lines();
    all
}

impl Layered {
    /// A box is as wide as the lines of its busier side need.
    fn widen_for_lines(&mut self) {
        let sides = self.above.iter().zip(&self.below);
        for (slot, (above, below)) in self.slots.iter_mut().zip(sides).filter(|(slot, _)| slot.is_node) {
            let lines = above.len().max(below.len()) as f64;
            let half = (lines * LINES_APART / 2.0).max(slot.left);
            (slot.left, slot.right) = (half, half);
        }
    }

    fn put(&mut self, slot: usize, layer: usize) {
        if let Some(layer) = self.layers.get_mut(layer) {
            layer.push(slot);
        }
    }

    fn route(&mut self, (top, from): (usize, usize), (bottom, to): (usize, usize), label: &[String], upwards: bool) {
        // The label stands in the first odd layer on the way of the arrow.
        let labelled = if upwards { to.saturating_sub(1) } else { from + 1 };
        let mut route = EdgeRoute {
            slots: vec![top],
            label: None,
            upwards,
        };
        for layer in from + 1..to {
            let new = self.slots.len();
            let has_label = layer == labelled && !label.is_empty();
            self.slots.push(if has_label { label_slot(label) } else { lane() });
            self.above.push(Vec::new());
            self.below.push(Vec::new());
            self.put(new, layer);
            route.label = route.label.or(has_label.then_some(new));
            route.slots.push(new);
        }
        route.slots.push(bottom);
        for pair in route.slots.windows(2) {
            if let [upper, lower] = pair {
                self.below
                    .get_mut(*upper)
                    .into_iter()
                    .for_each(|below| below.push(*lower));
                self.above
                    .get_mut(*lower)
                    .into_iter()
                    .for_each(|above| above.push(*upper));
            }
        }
        self.routes.push(route);
    }
}

fn node_slot(node: &super::DrawnBox) -> LayerSlot {
    if node.form == BoxForm::Dot {
        return LayerSlot {
            left: 7.0,
            right: 7.0,
            height: 14.0,
            is_node: true,
        };
    }
    let texts = node.lines.iter().chain([&node.title]);
    let width = texts.map(|text| text_width(text)).fold(60.0, f64::max) + 2.0 * NODE_PADDING;
    let lines = node.lines.len() as f64;
    let body = if node.lines.is_empty() {
        0.0
    } else {
        lines * LINE_HEIGHT + 10.0
    };
    LayerSlot {
        left: width / 2.0,
        right: width / 2.0,
        height: 34.0 + body,
        is_node: true,
    }
}

fn label_slot(label: &[String]) -> LayerSlot {
    let width = label.iter().map(|text| text_width(text)).fold(0.0, f64::max);
    LayerSlot {
        left: LANE_HALF,
        right: LABEL_GAP + width,
        height: label.len() as f64 * LINE_HEIGHT,
        is_node: false,
    }
}

fn lane() -> LayerSlot {
    LayerSlot {
        left: LANE_HALF,
        right: LANE_HALF,
        height: 0.0,
        is_node: false,
    }
}

/// The edges that go back to a box on the way to their own: turned round, the graph has no cycle.
fn upward_edges(graph: &Graph) -> Vec<bool> {
    let mut upwards = vec![false; graph.edges.len()];
    let mut seen = vec![false; graph.nodes.len()];
    let reached: Vec<usize> = graph.edges.iter().map(|edge| edge.to).collect();
    let roots = (0..graph.nodes.len()).filter(|node| !reached.contains(node));
    for root in roots.chain(0..graph.nodes.len()) {
        visit(graph, root, &mut seen, &mut Vec::new(), &mut upwards);
    }
    upwards
}

fn visit(graph: &Graph, node: usize, seen: &mut [bool], path: &mut Vec<usize>, upwards: &mut [bool]) {
    match seen.get_mut(node) {
        Some(seen) if !*seen => *seen = true,
        _ => return,
    }
    path.push(node);
    for (number, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| edge.from == node) {
        if path.contains(&edge.to) {
            upwards.get_mut(number).into_iter().for_each(|upwards| *upwards = true);
        } else {
            visit(graph, edge.to, seen, path, upwards);
        }
    }
    path.pop();
}

/// The longest way to each box from above. A graph without cycles settles within as many rounds as it has boxes.
fn ranks(graph: &Graph, upwards: &[bool]) -> Vec<usize> {
    let mut ranks = vec![0_usize; graph.nodes.len()];
    for _ in 0..graph.nodes.len() {
        let mut settled = true;
        for (edge, upwards) in graph.edges.iter().zip(upwards) {
            let (top, bottom) = if *upwards {
                (edge.to, edge.from)
            } else {
                (edge.from, edge.to)
            };
            let least = value_at(&ranks, top) + 1;
            if let Some(rank) = ranks.get_mut(bottom).filter(|rank| **rank < least) {
                *rank = least;
                settled = false;
            }
        }
        if settled {
            break;
        }
    }
    ranks
}
