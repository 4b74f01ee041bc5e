//! Drawings of directed graphs as SVG: layers from top to bottom, and labels that no line crosses.
//!
//! Every edge runs through a slot of its own in each layer between its ends, and its label stands in such a slot, beside the
//! line. Lines bend only between layers, where there is no text; so nothing that is written can be crossed.

mod layers;
mod order;
mod place;
mod svg;

/// The most boxes of a drawing: beyond it nobody could read it.
pub(crate) const DRAWN_NODES_MAX: usize = 150;

/// The most arrows of a drawing.
pub(crate) const DRAWN_EDGES_MAX: usize = 300;

/// Boxes and the arrows between them.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// The boxes.
    pub nodes: Vec<DrawnBox>,
    /// The arrows.
    pub edges: Vec<DrawnArrow>,
}

/// A box.
#[derive(Debug)]
pub(crate) struct DrawnBox {
    /// Its name.
    pub title: String,
    /// What stands below the name.
    pub lines: Vec<String>,
    /// Its form.
    pub form: BoxForm,
}

/// The form of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoxForm {
    /// A box with sharp corners.
    Box,
    /// A state.
    Round,
    /// A state that nothing leaves.
    Last,
    /// Where states begin: a dot.
    Dot,
}

/// An arrow.
#[derive(Clone, Debug)]
pub(crate) struct DrawnArrow {
    /// The box that it leaves.
    pub from: usize,
    /// The box that it reaches.
    pub to: usize,
    /// What stands beside it.
    pub label: Vec<String>,
    /// Whether it is broken.
    pub dashed: bool,
    /// What stands at its beginning.
    pub tail: ArrowEnd,
    /// What stands at its end.
    pub head: ArrowEnd,
}

/// The end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArrowEnd {
    /// Nothing.
    Plain,
    /// An arrow's head.
    Arrow,
    /// Exactly one.
    One,
    /// None or one.
    MaybeOne,
    /// Any number.
    Many,
}

/// The drawing; none where there is nothing to draw, or more than could be read.
pub(crate) fn draw_graph(graph: &Graph) -> Option<String> {
    let drawable = !graph.nodes.is_empty() && graph.nodes.len() <= DRAWN_NODES_MAX;
    if !drawable || graph.edges.len() > DRAWN_EDGES_MAX {
        return None;
    }
    let graph = merged(graph);
    let mut layered = layers::layer_graph(&graph);
    order::order_layers(&mut layered);
    let placed = place::place_slots(&graph, &layered);
    Some(svg::paint_graph(&graph, &layered, &placed))
}

/// Arrows of one kind between the same boxes are one with several labels; an arrow back to its own box is a line in it.
fn merged(graph: &Graph) -> Graph {
    let mut nodes: Vec<DrawnBox> = Vec::new();
    for node in &graph.nodes {
        nodes.push(DrawnBox {
            title: node.title.clone(),
            lines: node.lines.clone(),
            form: node.form,
        });
    }
    let mut edges: Vec<DrawnArrow> = Vec::new();
    for edge in &graph.edges {
        if edge.from == edge.to {
            if let Some(node) = nodes.get_mut(edge.from) {
                node.lines.extend(edge.label.iter().map(|label| format!("↻ {label}")));
            }
            continue;
        }
        let same = |known: &&mut DrawnArrow| {
            let ends = |edge: &DrawnArrow| (edge.from, edge.to, edge.dashed, edge.tail, edge.head);
            ends(known) == ends(edge)
        };
        match edges.iter_mut().find(same) {
            Some(known) => known.label.extend(edge.label.clone()),
            None => edges.push(edge.clone()),
        }
    }
    Graph {
        title: graph.title.clone(),
        nodes,
        edges,
    }
}

/// The value at a place; nothing where there is none.
fn value_at<T: Copy + Default>(values: &[T], place: usize) -> T {
    values.get(place).copied().unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// Graphs of every density, cycles included, from a small generator.
    fn graph(seed: u64) -> Graph {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap_or_default() % below
        };
        let nodes = 1 + next(12);
        let edges = next(2 * nodes + 1);
        Graph {
            title: "any".to_owned(),
            nodes: (0..nodes)
                .map(|number| DrawnBox {
                    title: "n".repeat(1 + number),
                    lines: vec!["line".to_owned(); next(3)],
                    form: BoxForm::Box,
                })
                .collect(),
            edges: (0..edges)
                .map(|number| DrawnArrow {
                    from: next(nodes),
                    to: next(nodes),
                    label: vec!["label".repeat(1 + number % 3); next(3)],
                    dashed: next(2) == 0,
                    tail: ArrowEnd::One,
                    head: ArrowEnd::Many,
                })
                .collect(),
        }
    }

    /// No text is crossed: slots of a layer stand side by side, layers below one another, and lines bend only between them.
    #[test]
    fn nothing_stands_on_anything_else() {
        for seed in 0..300 {
            let graph = merged(&graph(seed));
            let mut layered = layers::layer_graph(&graph);
            order::order_layers(&mut layered);
            let placed = place::place_slots(&graph, &layered);
            let mut above = 0.0;
            for layer in &layered.layers {
                let mut right = 0.0;
                let mut bottom: f64 = above;
                for slot in layer {
                    let own = value_at(&layered.slots, *slot);
                    let (top, end) = value_at(&placed.y, *slot);
                    assert!(
                        value_at(&placed.x, *slot) - own.left > right,
                        "graph {seed}: slots overlap"
                    );
                    assert!(top > above, "graph {seed}: layers overlap");
                    assert!(
                        end - top >= own.height - 0.01,
                        "graph {seed}: a slot is too low for its text"
                    );
                    right = value_at(&placed.x, *slot) + own.right;
                    bottom = bottom.max(end);
                }
                assert!(right < placed.size.0, "graph {seed}: a slot is beyond the edge");
                above = bottom;
            }
            assert!(above < placed.size.1, "graph {seed}: a layer is below the edge");
        }
    }

    #[test]
    fn every_arrow_runs_through_neighbouring_layers_to_its_boxes() {
        for seed in 0..300 {
            let graph = merged(&graph(seed));
            let layered = layers::layer_graph(&graph);
            let layer_of = |slot: usize| layered.layers.iter().position(|layer| layer.contains(&slot));
            for (edge, route) in graph.edges.iter().zip(&layered.routes) {
                let layers: Vec<usize> = route.slots.iter().filter_map(|slot| layer_of(*slot)).collect();
                assert!(
                    layers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
                    "graph {seed}: {layers:?}"
                );
                let ends = (route.slots.first().copied(), route.slots.last().copied());
                let wanted = if route.upwards {
                    (edge.to, edge.from)
                } else {
                    (edge.from, edge.to)
                };
                assert_eq!(ends, (Some(wanted.0), Some(wanted.1)), "graph {seed}");
                assert_eq!(route.label.is_some(), !edge.label.is_empty(), "graph {seed}");
            }
        }
    }

    #[test]
    fn more_than_can_be_read_is_not_drawn() {
        let node = |_| DrawnBox {
            title: "n".to_owned(),
            lines: Vec::new(),
            form: BoxForm::Box,
        };
        let graph = |nodes: usize| Graph {
            nodes: (0..nodes).map(node).collect(),
            ..Graph::default()
        };
        assert!(draw_graph(&graph(0)).is_none());
        assert!(draw_graph(&graph(DRAWN_NODES_MAX)).is_some());
        assert!(draw_graph(&graph(DRAWN_NODES_MAX + 1)).is_none());
    }
}
