//! Drawings of directed graphs as SVG: layers from top to bottom, and labels that no line crosses.
//!
//! Every edge runs through a slot of its own in each layer between its ends, and its label stands in such a slot, beside the
//! line. Lines bend only between layers, where there is no text; so nothing that is written can be crossed.

mod layers;
mod order;
mod place;
mod svg;

/// The most boxes of a drawing: beyond it nobody could read it.
pub const DRAWN_NODES_MAX: usize = 150;

/// The most arrows of a drawing.
pub const DRAWN_EDGES_MAX: usize = 300;

/// Boxes and the arrows between them.
#[derive(Debug, Default)]
pub struct Graph {
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// The boxes.
    pub nodes: Vec<Node>,
    /// The arrows.
    pub edges: Vec<Edge>,
}

/// A box.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub title: String,
    /// What stands below the name.
    pub lines: Vec<String>,
    /// Its form.
    pub form: Form,
}

/// The form of a box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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
pub struct Edge {
    /// The box that it leaves.
    pub from: usize,
    /// The box that it reaches.
    pub to: usize,
    /// What stands beside it.
    pub label: Vec<String>,
    /// Whether it is broken.
    pub dashed: bool,
    /// What stands at its beginning.
    pub tail: End,
    /// What stands at its end.
    pub head: End,
}

/// The end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
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
pub fn draw(graph: &Graph) -> Option<String> {
    let drawable = !graph.nodes.is_empty() && graph.nodes.len() <= DRAWN_NODES_MAX;
    if !drawable || graph.edges.len() > DRAWN_EDGES_MAX {
        return None;
    }
    let graph = merged(graph);
    let mut layered = layers::layered(&graph);
    order::untangle(&mut layered);
    let placed = place::place(&graph, &layered);
    Some(svg::paint(&graph, &layered, &placed))
}

/// Arrows of one kind between the same boxes are one with several labels; an arrow back to its own box is a line in it.
fn merged(graph: &Graph) -> Graph {
    let mut nodes: Vec<Node> = Vec::new();
    for node in &graph.nodes {
        nodes.push(Node {
            title: node.title.clone(),
            lines: node.lines.clone(),
            form: node.form,
        });
    }
    let mut edges: Vec<Edge> = Vec::new();
    for edge in &graph.edges {
        if edge.from == edge.to {
            if let Some(node) = nodes.get_mut(edge.from) {
                node.lines.extend(edge.label.iter().map(|label| format!("↻ {label}")));
            }
            continue;
        }
        let same = |known: &&mut Edge| {
            let ends = |edge: &Edge| (edge.from, edge.to, edge.dashed, edge.tail, edge.head);
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
fn at<T: Copy + Default>(values: &[T], place: usize) -> T {
    values.get(place).copied().unwrap_or_default()
}
