//! A layered layout: dagre places the boxes and finds columns for long edges; here edges get ports
//! and ways on which they meet no box. In the height of a layer an edge runs straight down its
//! column, and it bends between the layers only, where no boxes are.

use dagre::graph::{Graph as Dagre, GraphOptions};
use dagre::{EdgeLabel, LayoutOptions, NodeLabel};

/// Between boxes of a layer.
const BESIDE: f64 = 28.0;

/// Between layers.
const BETWEEN: f64 = 56.0;

/// Between edges that run side by side.
const COLUMNS: f64 = 14.0;

/// Most room between two ends on one side of a box.
const PORTS: f64 = 26.0;

/// Places that differ by less are the same.
const SAME: f64 = 0.5;

/// A place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

/// A placed box, by its middle.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Place {
    pub fn top(self) -> f64 {
        self.y - self.height / 2.0
    }

    pub fn bottom(self) -> f64 {
        self.y + self.height / 2.0
    }

    pub fn left(self) -> f64 {
        self.x - self.width / 2.0
    }

    pub fn right(self) -> f64 {
        self.x + self.width / 2.0
    }
}

/// A drawn graph.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub width: f64,
    pub height: f64,
    pub places: Vec<Place>,
    /// The way of each edge, from its start to its end.
    pub ways: Vec<Vec<Point>>,
}

/// The height of a layer.
#[derive(Clone, Copy, Debug)]
struct Layer {
    middle: f64,
    half: f64,
}

impl Layer {
    fn top(self) -> f64 {
        self.middle - self.half
    }

    fn bottom(self) -> f64 {
        self.middle + self.half
    }
}

/// Places boxes of some sizes, and finds ways for edges between them.
pub fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Layout {
    let mut graph: Dagre<NodeLabel, EdgeLabel> =
        Dagre::with_options(GraphOptions { directed: true, multigraph: true, compound: false });
    for (at, &(width, height)) in sizes.iter().enumerate() {
        graph.set_node(at.to_string(), Some(NodeLabel { width, height, ..NodeLabel::default() }));
    }
    for (at, (from, to)) in edges.iter().enumerate() {
        let name = at.to_string();
        graph.set_edge(from.to_string(), to.to_string(), Some(EdgeLabel::default()), Some(&name));
    }
    let options = LayoutOptions {
        nodesep: BESIDE,
        edgesep: COLUMNS,
        ranksep: BETWEEN,
        ..LayoutOptions::default()
    };
    dagre::layout(&mut graph, Some(options));
    let place = |at: usize| {
        let node = graph.node(&at.to_string());
        let (x, y) = node
            .map_or((0.0, 0.0), |node| (node.x.unwrap_or_default(), node.y.unwrap_or_default()));
        Place { x, y, width: sizes[at].0, height: sizes[at].1 }
    };
    let places: Vec<Place> = (0..sizes.len()).map(place).collect();
    let layers = layers(&places);
    let columns = edges.iter().enumerate().map(|(at, (from, to))| {
        let label = graph.edge(&from.to_string(), &to.to_string(), Some(&at.to_string()));
        let points = label.map(|label| label.points.as_slice()).unwrap_or_default();
        points.iter().map(|point| Point { x: point.x, y: point.y }).collect()
    });
    let columns: Vec<Vec<Point>> = columns.collect();
    let rows: Vec<Layer> = places.iter().map(|place| layer_of(&layers, *place)).collect();
    // Boxes of a layer begin on one line.
    let raised = places
        .iter()
        .zip(&rows)
        .map(|(place, row)| Place { y: row.top() + place.height / 2.0, ..*place });
    let places: Vec<Place> = raised.collect();
    let bends: Vec<Vec<(f64, Layer)>> =
        columns.iter().map(|points| passed(points, &layers)).collect();
    let ways = ways(&places, &rows, edges, &bends);
    let mut layout = Layout { width: 0.0, height: 0.0, ways, places };
    settle(&mut layout);
    layout
}

fn layers(places: &[Place]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for place in places {
        let half = place.height / 2.0;
        match layers.iter_mut().find(|layer| (layer.middle - place.y).abs() < SAME) {
            Some(layer) => layer.half = layer.half.max(half),
            None => layers.push(Layer { middle: place.y, half }),
        }
    }
    layers
}

fn layer_at(layers: &[Layer], y: f64) -> Option<Layer> {
    layers.iter().find(|layer| (layer.middle - y).abs() < SAME).copied()
}

fn layer_of(layers: &[Layer], place: Place) -> Layer {
    layer_at(layers, place.y).unwrap_or(Layer { middle: place.y, half: place.height / 2.0 })
}

/// The ways of all edges.
fn ways(
    places: &[Place],
    rows: &[Layer],
    edges: &[(usize, usize)],
    bends: &[Vec<(f64, Layer)>],
) -> Vec<Vec<Point>> {
    let ports = ports(places, rows, edges, bends);
    let one = |at: usize| {
        let (from, to) = edges[at];
        if from == to {
            return around(places[from]);
        }
        let down = rows[from].middle < rows[to].middle;
        let (start, end) = ports[at];
        let mut way = leave(places[from], start, rows[from], down);
        for &(x, layer) in &bends[at] {
            let (first, second) =
                if down { (layer.top(), layer.bottom()) } else { (layer.bottom(), layer.top()) };
            way.extend([Point { x, y: first }, Point { x, y: second }]);
        }
        let mut arrive = leave(places[to], end, rows[to], !down);
        arrive.reverse();
        way.extend(arrive);
        way
    };
    (0..edges.len()).map(one).collect()
}

/// The layers that an edge passes, with its column in each.
fn passed(points: &[Point], layers: &[Layer]) -> Vec<(f64, Layer)> {
    let inner = points.get(1..points.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().filter_map(|point| Some((point.x, layer_at(layers, point.y)?))).collect()
}

/// From a box to the edge of its layer.
fn leave(place: Place, x: f64, layer: Layer, down: bool) -> Vec<Point> {
    let (near, far) =
        if down { (place.bottom(), layer.bottom()) } else { (place.top(), layer.top()) };
    let mut points = vec![Point { x, y: near }];
    if (near - far).abs() > SAME {
        points.push(Point { x, y: far });
    }
    points
}

/// Where each edge begins and ends along the sides of its boxes: side by side, in the order of
/// where they go, so that they do not cross at once.
fn ports(
    places: &[Place],
    rows: &[Layer],
    edges: &[(usize, usize)],
    bends: &[Vec<(f64, Layer)>],
) -> Vec<(f64, f64)> {
    let mut ports: Vec<(f64, f64)> =
        edges.iter().map(|&(from, to)| (places[from].x, places[to].x)).collect();
    // Ends at the bottom and at the top of each box: (where it goes, edge, whether it is a start).
    let mut sides: Vec<[Vec<(f64, usize, bool)>; 2]> = vec![[Vec::new(), Vec::new()]; places.len()];
    for (at, &(from, to)) in edges.iter().enumerate() {
        if from == to {
            continue;
        }
        let down = rows[from].middle < rows[to].middle;
        let first = bends[at].first().map_or(places[to].x, |bend| bend.0);
        let last = bends[at].last().map_or(places[from].x, |bend| bend.0);
        sides[from][usize::from(!down)].push((first, at, true));
        sides[to][usize::from(down)].push((last, at, false));
    }
    for (place, sides) in places.iter().zip(&mut sides) {
        for side in sides {
            side.sort_by(|left, right| left.0.total_cmp(&right.0).then(left.1.cmp(&right.1)));
            let count = side.len() as f64;
            let room = PORTS.min(place.width * 0.8 / count.max(1.0));
            for (at, &(_, edge, is_start)) in side.iter().enumerate() {
                let x = place.x + (at as f64 - (count - 1.0) / 2.0) * room;
                if is_start {
                    ports[edge].0 = x;
                } else {
                    ports[edge].1 = x;
                }
            }
        }
    }
    ports
}

/// From the bottom of a box around its right side to its top.
fn around(place: Place) -> Vec<Point> {
    let right = place.right() + COLUMNS;
    let x = place.right() - COLUMNS;
    let (below, above) = (place.bottom() + COLUMNS, place.top() - COLUMNS);
    [(x, place.bottom()), (x, below), (right, below), (right, above), (x, above), (x, place.top())]
        .map(|(x, y)| Point { x, y })
        .to_vec()
}

/// Moves everything to where no coordinate is negative, and tells the size.
fn settle(layout: &mut Layout) {
    let mut low = Point { x: f64::INFINITY, y: f64::INFINITY };
    let mut high = Point { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY };
    let mut see = |x: f64, y: f64| {
        low = Point { x: low.x.min(x), y: low.y.min(y) };
        high = Point { x: high.x.max(x), y: high.y.max(y) };
    };
    for place in &layout.places {
        see(place.left(), place.top());
        see(place.right(), place.bottom());
    }
    layout.ways.iter().flatten().for_each(|point| see(point.x, point.y));
    if layout.places.is_empty() {
        return;
    }
    for place in &mut layout.places {
        *place = Place { x: place.x - low.x, y: place.y - low.y, ..*place };
    }
    for point in layout.ways.iter_mut().flatten() {
        *point = Point { x: point.x - low.x, y: point.y - low.y };
    }
    (layout.width, layout.height) = (high.x - low.x, high.y - low.y);
}

#[cfg(test)]
mod tests {
    use super::{Layout, Place, layout};
    use proptest::prelude::*;

    fn overlap(left: Place, right: Place) -> bool {
        left.left() < right.right()
            && right.left() < left.right()
            && left.top() < right.bottom()
            && right.top() < left.bottom()
    }

    /// Pieces of ways that are straight: those between layers meet no box by construction.
    fn meets_a_box(drawn: &Layout, edges: &[(usize, usize)]) -> Option<(usize, usize)> {
        for (edge, way) in drawn.ways.iter().enumerate() {
            for pair in way.windows(2) {
                let (low, high) = (pair[0].y.min(pair[1].y), pair[0].y.max(pair[1].y));
                let (left, right) = (pair[0].x.min(pair[1].x), pair[0].x.max(pair[1].x));
                for (at, place) in drawn.places.iter().enumerate() {
                    let own = edges[edge].0 == at || edges[edge].1 == at;
                    let beside = right <= place.left() || left >= place.right();
                    let apart = high <= place.top() + 0.01 || low >= place.bottom() - 0.01;
                    if !own && !beside && !apart {
                        return Some((edge, at));
                    }
                }
            }
        }
        None
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_box_lies_over_another_and_no_edge_over_a_box(
            sizes in prop::collection::vec((20.0..300.0f64, 20.0..200.0f64), 1..24),
            ends in prop::collection::vec((0usize..24, 0usize..24), 0..40),
        ) {
            let count = sizes.len();
            let edges: Vec<(usize, usize)> = ends.into_iter().map(|(from, to)| (from % count, to % count)).collect();
            let drawn = layout(&sizes, &edges);
            for (at, place) in drawn.places.iter().enumerate() {
                for other in &drawn.places[..at] {
                    prop_assert!(!overlap(*place, *other), "{place:?} {other:?}");
                }
            }
            prop_assert_eq!(meets_a_box(&drawn, &edges), None);
            for (way, (from, to)) in drawn.ways.iter().zip(&edges) {
                let (start, end) = (way[0], way[way.len() - 1]);
                let (from, to) = (drawn.places[*from], drawn.places[*to]);
                prop_assert!(start.x >= from.left() && start.x <= from.right());
                prop_assert!(end.x >= to.left() && end.x <= to.right());
            }
        }
    }
}
