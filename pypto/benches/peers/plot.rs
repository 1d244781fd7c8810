//! Lines over logarithmic axes, as SVG.

use std::fmt::Write;

/// A line.
pub struct Series {
    pub name: String,
    /// Bytes, and nanoseconds an element.
    pub points: Vec<(f64, f64)>,
    /// Drawn broken: no measurement, but what cannot be passed.
    pub limit: bool,
}

pub struct Plot {
    /// The name of the file.
    pub name: String,
    pub title: String,
    pub series: Vec<Series>,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Room for labels: left, right, top, bottom.
const MARGINS: [f64; 4] = [64.0, 16.0, 36.0, 48.0];
const COLORS: [&str; 4] = ["#1f5fa8", "#c2571a", "#2d7d46", "#7a3e9d"];

/// A logarithmic axis onto a range of the page.
struct Axis {
    least: f64,
    most: f64,
    start: f64,
    end: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64> + Clone, start: f64, end: f64) -> Axis {
        let least = values.clone().fold(f64::INFINITY, f64::min).log10();
        let most = values.fold(f64::MIN_POSITIVE, f64::max).log10();
        Axis { least, most: most.max(least + 0.1), start, end }
    }

    fn at(&self, value: f64) -> f64 {
        self.start + (value.log10() - self.least) / (self.most - self.least) * (self.end - self.start)
    }
}

/// Bytes with their unit.
fn bytes(value: f64) -> String {
    match value {
        v if v >= 1048576.0 => format!("{:.0} MiB", v / 1048576.0),
        v => format!("{:.0} KiB", v / 1024.0),
    }
}

impl Plot {
    /// The text of the file.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = MARGINS;
        let points = || self.series.iter().flat_map(|series| series.points.iter());
        let x = Axis::of(points().map(|p| p.0), left, WIDTH - right);
        let decades = points().flat_map(|p| [10f64.powf(p.1.log10().floor()), 10f64.powf(p.1.log10().ceil())]);
        let y = Axis::of(decades, HEIGHT - bottom, top);
        let mut svg = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut svg, &x, &y);
        svg
    }

    fn write(&self, svg: &mut String, x: &Axis, y: &Axis) -> std::fmt::Result {
        let size = format!("width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\"");
        writeln!(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" {size} font-family=\"sans-serif\" font-size=\"12\">")?;
        writeln!(svg, "<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>")?;
        writeln!(svg, "<text x=\"{}\" y=\"20\" font-size=\"14\">{}: ns an element</text>", x.start, self.title)?;
        self.write_grid(svg, x, y)?;
        for (index, series) in self.series.iter().enumerate() {
            // A limit has the colour of the line that it limits.
            let color = COLORS[index / 2 % COLORS.len()];
            let path: Vec<String> =
                series.points.iter().map(|p| format!("{:.1},{:.1}", x.at(p.0), y.at(p.1))).collect();
            let dashes = if series.limit { " stroke-dasharray=\"5 4\"" } else { "" };
            let line = format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dashes}");
            writeln!(svg, "<polyline points=\"{}\" {line}/>", path.join(" "))?;
            let (at, key) = (y.end + 14.0 + 16.0 * index as f64, x.end - 150.0);
            writeln!(svg, "<line x1=\"{key}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\" {line}/>", key + 28.0)?;
            writeln!(svg, "<text x=\"{}\" y=\"{}\">{}</text>", key + 34.0, at + 4.0, series.name)?;
        }
        writeln!(svg, "</svg>")
    }

    fn write_grid(&self, svg: &mut String, x: &Axis, y: &Axis) -> std::fmt::Result {
        let grid = "stroke=\"#dddddd\"";
        for decade in y.least.round() as i32..=y.most.round() as i32 {
            let value = 10f64.powi(decade);
            let at = y.at(value);
            writeln!(svg, "<line x1=\"{}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" {grid}/>", x.start, x.end)?;
            let label = x.start - 6.0;
            writeln!(svg, "<text x=\"{label}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>", at + 4.0)?;
        }
        let Some(series) = self.series.first() else { return Ok(()) };
        for (size, _) in &series.points {
            let at = x.at(*size);
            writeln!(svg, "<line x1=\"{at:.1}\" y1=\"{}\" x2=\"{at:.1}\" y2=\"{}\" {grid}/>", y.start, y.end)?;
            let label = format!("x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\"", y.start + 18.0);
            writeln!(svg, "<text {label}>{}</text>", bytes(*size))?;
        }
        let middle = (x.start + x.end) / 2.0;
        let label = format!("x=\"{middle}\" y=\"{}\" text-anchor=\"middle\"", y.start + 38.0);
        writeln!(svg, "<text {label}>bytes of all tensors</text>")
    }
}
