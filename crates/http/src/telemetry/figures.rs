//! The figures of `/metrics`, taken from their text: there is one list of them.

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FigureKind {
    /// It goes up and down.
    Gauge,
    /// It only grows.
    Counter,
    /// How often a value was how large.
    Histogram,
}

/// A figure with its points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) kind: FigureKind,
    pub(super) points: Vec<FigurePoint>,
}

/// A figure of one set of labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FigurePoint {
    pub(super) labels: Vec<(String, String)>,
    /// The value; of a histogram, the sum of all.
    pub(super) value: f64,
    /// Of a histogram, how many.
    pub(super) count: u64,
    /// Of a histogram, how many were up to a bound, in its order.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl FigurePoint {
    /// How many were between each bound and the one before it.
    pub(super) fn bucket_counts(&self) -> impl Iterator<Item = u64> {
        let before = std::iter::once(0).chain(self.buckets.iter().map(|(_, count)| *count));
        self.buckets
            .iter()
            .zip(before)
            .map(|((_, count), before)| count.saturating_sub(before))
    }
}

/// Reads the text of OpenMetrics. What is not understood is passed over.
pub(super) fn read_figures(text: &str) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let mut help = ("", "");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').unwrap_or((rest, ""));
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            figures.push(Figure {
                name: name.to_owned(),
                help: if help.0 == name {
                    help.1.trim_end_matches('.').to_owned()
                } else {
                    String::new()
                },
                kind: match kind {
                    "counter" => FigureKind::Counter,
                    "histogram" => FigureKind::Histogram,
                    _ => FigureKind::Gauge,
                },
                points: Vec::new(),
            });
        } else if !line.starts_with('#')
            && let Some(figure) = figures.last_mut()
        {
            take_sample(figure, line);
        }
    }
    figures.retain(|figure| !figure.points.is_empty());
    figures
}

fn take_sample(figure: &mut Figure, line: &str) -> Option<()> {
    let (series, value) = line.rsplit_once(' ')?;
    let value: f64 = value.parse().ok()?;
    let (name, labels) = match series.split_once('{') {
        Some((name, labels)) => (name, read_labels(labels.strip_suffix('}')?)),
        None => (series, Vec::new()),
    };
    let part = name.strip_prefix(figure.name.as_str())?;
    let (bounds, labels): (Vec<_>, Vec<_>) = labels
        .into_iter()
        .partition(|(key, _)| key == "le" && figure.kind == FigureKind::Histogram);
    let at = figure.points.iter().position(|point| point.labels == labels);
    let at = at.unwrap_or_else(|| {
        figure.points.push(FigurePoint {
            labels,
            ..FigurePoint::default()
        });
        figure.points.len() - 1
    });
    let point = figure.points.get_mut(at)?;
    match part {
        "_bucket" => {
            let bound = bounds.first()?.1.as_str();
            let bound = if bound == "+Inf" {
                f64::INFINITY
            } else {
                bound.parse().ok()?
            };
            point.buckets.push((bound, value as u64));
        }
        "_count" => point.count = value as u64,
        _ => point.value = value,
    }
    Some(())
}

/// `a="x",b="y"`, with `\"`, `\\` and `\n` in the values.
fn read_labels(text: &str) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once("=\"") {
        let mut value = String::new();
        let mut chars = after.char_indices();
        let mut end = after.len();
        while let Some((at, char)) = chars.next() {
            match char {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, other)) => value.push(other),
                    None => {}
                },
                other => value.push(other),
            }
        }
        labels.push((key.trim_start_matches(',').to_owned(), value));
        rest = after.get(end..).unwrap_or_default();
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_openmetrics_is_read() {
        let text = "# HELP a Calls.\n# TYPE a counter\na_total{x=\"1\",y=\"q\\\"}\"} 3\n# HELP b Now.\n# TYPE b gauge\nb 2\n# HELP c Times.\n\
                    # TYPE c histogram\nc_sum{s=\"t\"} 1.5\nc_count{s=\"t\"} 4\nc_bucket{le=\"0.1\",s=\"t\"} 1\nc_bucket{le=\"+Inf\",s=\"t\"} 4\n# EOF\n";
        let figures = read_figures(text);
        assert_eq!(figures.len(), 3);
        let labels = vec![("x".to_owned(), "1".to_owned()), ("y".to_owned(), "q\"}".to_owned())];
        assert_eq!(
            figures[0].points,
            [FigurePoint {
                labels,
                value: 3.0,
                ..FigurePoint::default()
            }]
        );
        assert_eq!((figures[1].kind, figures[1].points[0].value), (FigureKind::Gauge, 2.0));
        let point = &figures[2].points[0];
        assert_eq!((point.count, point.value), (4, 1.5));
        assert_eq!(point.bucket_counts().collect::<Vec<_>>(), [1, 3]);
        assert_eq!(figures[0].help, "Calls");
    }
}
