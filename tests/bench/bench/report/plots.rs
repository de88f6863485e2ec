use std::{collections::BTreeMap, path::Path};

use plotters::{
    coord::ranged1d::ValueFormatter,
    prelude::{
        Cartesian2d, ChartBuilder, ChartContext, IntoDrawingArea, IntoLogRange, LineSeries, Palette,
        Palette99, PathElement, Ranged, SVGBackend, SeriesLabelPosition, ShapeStyle,
    },
    style::{BLACK, Color, WHITE},
};

use super::{book::Book, targets::STRATEGIES};
use crate::{Failure, record::Record, scenario::sqlite};

/// A plot that was drawn.
pub(super) struct Plot {
    /// Where it belongs in the text.
    pub(super) scenario: &'static str,
    pub(super) title: String,
    /// Its file's name.
    pub(super) file: String,
    /// Whether the page shows it, and not the tables alone.
    pub(super) on_page: bool,
}

/// A curve and its name.
type Curve = (String, Vec<(f64, f64)>);

/// What a plot shows of its axes.
struct Axes {
    x: &'static str,
    y: &'static str,
    /// Whether equal steps along x are multiples.
    multiples: bool,
}

/// Draws what there are figures for. The first server's plots stand on the page, but for two that few need.
pub(super) fn draw(book: &Book, folder: &Path) -> Result<Vec<Plot>, Failure> {
    const ON_PAGE: [&str; 5] = ["rate-instances", "latency", "rate-keys", "rate-enqueue", "rate-backlog"];
    let mut plots = Vec::new();
    let servers = book.servers().into_iter().filter(|server| *server != sqlite::NAME);
    for (n, server) in servers.enumerate() {
        for (scenario, name, title, axes, curves) in curves_of(book, server) {
            let curves: Vec<Curve> = curves.into_iter().filter(|(_, points)| !points.is_empty()).collect();
            if curves.is_empty() {
                continue;
            }
            let (title, file) = (format!("{title}, {server}"), format!("{name}-{server}.svg"));
            one(&folder.join(&file), &title, &axes, &curves)?;
            plots.push(Plot { scenario, title, file, on_page: n == 0 && ON_PAGE.contains(&name) });
        }
    }
    Ok(plots)
}

/// What belongs into a plot: its scenario, its name, its title, its axes and its curves.
type Drawing = (&'static str, &'static str, &'static str, Axes, Vec<Curve>);

fn curves_of(book: &Book, server: &str) -> Vec<Drawing> {
    let rates = |scenario, x: fn(&Record) -> Option<f64>| by(&book.cells(server, scenario), x, "rate");
    let axes = |x, multiples| Axes { x, y: "messages a second", multiples };
    let latency = series(&book.cells(server, "steady"), "latency", |one| one.contender.clone());
    let of_latency = Axes { x: "milliseconds", y: "percent of the messages", multiples: true };
    let snapshots = series(&book.cells(server, "snapshot"), "rate_over_time", |one| {
        format!("{}, snapshot {}", one.contender, one.word("snapshot"))
    });
    vec![
        (
            "drain",
            "rate-instances",
            "Rate against instances",
            axes("instances", true),
            rates("drain", |one| Some(one.instances as f64)),
        ),
        ("steady", "latency", "Latency in steady state", of_latency, latency),
        (
            "order",
            "rate-keys",
            "Rate in order against keys",
            axes("ordering keys", true),
            by_instances(&book.cells(server, "order")),
        ),
        (
            "enqueue",
            "rate-enqueue",
            "Enqueueing against messages a transaction, 8 producers",
            axes("messages a transaction", true),
            enqueueing(&book.cells(server, "enqueue")),
        ),
        (
            "backlog",
            "rate-backlog",
            "Rate against backlog",
            axes("messages in the backlog", true),
            rates("backlog", |one| one.number("backlog")),
        ),
        ("snapshot", "rate-snapshot", "Rate over time under a snapshot", axes("seconds", false), snapshots),
    ]
}

/// Rates in order, a curve for each number of instances; no order at all is not a number of keys.
fn by_instances(cells: &[&Record]) -> Vec<Curve> {
    let curve = |instances: u64| {
        let keyed = cells.iter().filter(|one| one.instances == instances && one.number("keys") > Some(0.0));
        let mut points: Vec<_> = keyed.filter_map(|one| one.number("keys").zip(one.median("rate"))).collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        (format!("instances {instances}"), points)
    };
    [1, 4].map(curve).into()
}

/// Eight producers in the clear.
fn enqueueing(cells: &[&Record]) -> Vec<Curve> {
    let is_shown = |one: &&&Record| {
        one.number("producers") == Some(8.0) && one.parameters.get("tls") == Some(&false.into())
    };
    let shown: Vec<_> = cells.iter().filter(is_shown).copied().collect();
    by(&shown, |one| one.number("per_transaction"), "rate")
}

/// Medians of a figure against a condition, a curve for each contender.
fn by(cells: &[&Record], x: fn(&Record) -> Option<f64>, figure: &str) -> Vec<Curve> {
    let mut curves: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for cell in cells {
        if let Some(point) = x(cell).zip(cell.median(figure)) {
            curves.entry(&cell.contender).or_default().push(point);
        }
    }
    let sorted = |(name, mut points): (&str, Vec<(f64, f64)>)| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        (name.to_owned(), points)
    };
    curves.into_iter().map(sorted).collect()
}

/// A curve of the round in the middle, of each strategy of the library.
fn series(cells: &[&Record], name: &str, called: fn(&Record) -> String) -> Vec<Curve> {
    let ours = cells.iter().filter(|cell| STRATEGIES.contains(&cell.contender.as_str()));
    let curve = |cell: &&Record| {
        let points = cell.rounds.get(cell.rounds.len() / 2).and_then(|round| round.series.get(name));
        let points = points.into_iter().flatten().map(|point| (point[0], point[1]));
        (called(cell), points.collect())
    };
    ours.map(curve).collect()
}

fn one(file: &Path, title: &str, axes: &Axes, curves: &[Curve]) -> Result<(), Failure> {
    let root = SVGBackend::new(file, (900, 520)).into_drawing_area();
    root.fill(&WHITE)?;
    let points = || curves.iter().flat_map(|(_, points)| points);
    let least = points().map(|point| point.0).fold(f64::MAX, f64::min);
    let most = points().map(|point| point.0).fold(least + 1e-9, f64::max);
    let top = points().map(|point| point.1).fold(0.0, f64::max).max(1e-9) * 1.08;
    let mut chart = ChartBuilder::on(&root);
    chart.caption(title, ("sans-serif", 20)).margin(12).x_label_area_size(44).y_label_area_size(84);
    match axes.multiples {
        true => {
            let range = (least * 0.95..most * 1.05).log_scale();
            lines(&mut chart.build_cartesian_2d(range, 0.0..top)?, axes, curves)?;
        }
        false => lines(&mut chart.build_cartesian_2d(0.0..most * 1.02, 0.0..top)?, axes, curves)?,
    }
    root.present()?;
    Ok(())
}

fn lines<'a, X>(
    chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, plotters::coord::types::RangedCoordf64>>,
    axes: &Axes,
    curves: &[Curve],
) -> Result<(), Failure>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let number = |value: &f64| if *value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") };
    chart
        .configure_mesh()
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(&number)
        .y_label_formatter(&number)
        .light_line_style(BLACK.mix(0.05))
        .draw()?;
    for (n, (name, points)) in curves.iter().enumerate() {
        let style = ShapeStyle::from(Palette99::pick(n)).stroke_width(2);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
    }
    let mut labels = chart.configure_series_labels();
    let labels = labels.position(SeriesLabelPosition::UpperRight).border_style(BLACK);
    labels.background_style(WHITE.mix(0.8)).draw()?;
    Ok(())
}
