//! One self-contained page per comparison: words made from the figures, tables, pictures. No network,
//! no script.

use super::text::{number, variation, words};
use slackline_lab::campaign::{Campaign, MethodKind};
use slackline_lab::compare::{Comparison, GroupTable, Pair};
use slackline_view::plot::{self, BoxPlot, Cell, Line, Point};
use slackline_view::{Chart, gantt};
use std::fmt::Write;

/// Subject of a page.
pub struct About<'a> {
    /// Title of the page.
    pub name: &'a str,
    /// Question that the comparison answers; empty where none was asked.
    pub question: &'a str,
    /// The campaign file.
    pub file: &'a str,
    /// Version of the program that made the results.
    pub version: &'a str,
    /// Command that makes the page again.
    pub command: String,
}

/// A method and the points of its performance profile.
type Profile = (String, Vec<(f64, f64)>);

/// Style sheet of pages.
pub const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem}\
h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}\
figure{margin:1rem 0}img{max-width:100%;height:auto;border:1px solid #8884;border-radius:6px}\
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}\
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}\
th:first-child,td:first-child,.l{text-align:left}pre{overflow-x:auto;font-size:.8rem;padding:.6rem;background:#8881}\
.lead{font-size:1.1rem}.note{color:#666}li{margin:.2rem 0}\
@media (prefers-color-scheme:dark){.note{color:#aaa}}\
@media (max-width:40rem){figure{overflow-x:auto}figure img{max-width:160%}}";

/// Text with the signs escaped that HTML gives a meaning to.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A picture inside the page.
pub fn picture(out: &mut String, svg: &str, alt: &str) {
    let mut data = String::with_capacity(svg.len() * 3 / 2);
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'='
            | b':'
            | b'/'
            | b';'
            | b'.'
            | b'-' => {
                data.push(char::from(byte));
            }
            _ => {
                let _ = write!(data, "%{byte:02X}");
            }
        }
    }
    let alt = escaped(alt);
    let _ = writeln!(out, "<figure><img src=\"data:image/svg+xml,{data}\" alt=\"{alt}\"></figure>");
}

/// The page of results whose making is not known.
pub fn page_of_results(about: &About<'_>, kinds: &[(MethodKind, Comparison)]) -> String {
    page(about, kinds, &[])
}

/// The page.
pub fn page(
    about: &About<'_>,
    kinds: &[(MethodKind, Comparison)],
    gantts: &[(String, String)],
) -> String {
    let mut out = String::new();
    let name = escaped(about.name);
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <link rel=\"icon\" href=\"data:,\"><title>{name}</title><style>{STYLE}</style></head><body>\n<h1>{name}</h1>\n"
    );
    if !about.question.is_empty() {
        let _ = writeln!(out, "<p class=\"lead\">{}</p>", escaped(about.question));
    }
    for (kind, found) in kinds {
        if kinds.len() > 1 {
            let judged = match kind {
                MethodKind::Plan => "Judged by plans",
                MethodKind::Simulate => "Judged by simulated runs",
            };
            let _ = writeln!(out, "<h2>{judged}</h2>");
        }
        answer(&mut out, found);
        out.push_str("<h3>Pictures</h3>\n");
        for (title, svg) in pictures(found, MOST_GROUPS) {
            picture(&mut out, &svg, &title);
        }
        if found.tables.len() > MOST_GROUPS {
            let _ = writeln!(
                out,
                "<p class=\"note\">Pictures of {} further groups are left out; --figures writes all.</p>",
                found.tables.len() - MOST_GROUPS
            );
        }
        tables(&mut out, found);
    }
    if !gantts.is_empty() {
        out.push_str("<h2>One run of each method</h2>\n<p class=\"note\">The first draw of the first combination.</p>\n");
        for (title, svg) in gantts {
            let _ = writeln!(out, "<h3>{}</h3>", escaped(title));
            picture(&mut out, svg, title);
        }
    }
    model(&mut out, about, kinds);
    out.push_str("</body></html>\n");
    out
}

/// The answer in words, made from the figures.
fn answer(out: &mut String, found: &Comparison) {
    out.push_str("<h3>In words</h3>\n<ul>\n");
    for table in &found.tables {
        let pairs: Vec<&Pair> = found.pairs.iter().filter(|p| p.factors == table.factors).collect();
        let place = if table.factors.0.is_empty() {
            String::new()
        } else {
            format!("At {}: ", table.factors)
        };
        let mut say = |text: &str| {
            let _ = writeln!(out, "<li>{}{}</li>", escaped(&place), escaped(text));
        };
        match summary(found, table, &pairs) {
            // Every pair by itself would be a wall of words.
            Some(text) if pairs.len() > MOST_SENTENCES => say(&text),
            _ => pairs.iter().for_each(|pair| say(&sentence(pair, &found.metric))),
        }
    }
    out.push_str("</ul>\n");
    if let Some(text) = variation(found) {
        let _ = writeln!(out, "<p>{}</p>", escaped(&text));
    }
    if !found.warnings.is_empty() {
        out.push_str("<h3>What these figures alone do not show</h3>\n<ul>\n");
        for warning in &found.warnings {
            let _ = writeln!(out, "<li>{}</li>", escaped(&words(warning)));
        }
        out.push_str("</ul>\n");
    }
}

/// Pairs of a group that are told one by one.
const MOST_SENTENCES: usize = 3;

/// The best method of a group and how it compares with each other one; none where no method has a rank.
fn summary(found: &Comparison, table: &GroupTable, pairs: &[&Pair]) -> Option<String> {
    let rows = found.groups.iter().filter(|row| row.factors == table.factors);
    let ranked = rows.filter_map(|row| Some((row.rank?, &row.method)));
    let (rank, best) = ranked.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let metric = &found.metric;
    let (mut ahead, mut alike) = (Vec::new(), Vec::new());
    for pair in pairs.iter().filter(|pair| pair.a == *best || pair.b == *best) {
        let is_first = pair.a == *best;
        let other = if is_first { &pair.b } else { &pair.a };
        if pair.p_holm.is_none_or(|p| p >= 0.05) {
            alike.push(other.as_str());
            continue;
        }
        // Best over other, as a share that it is below or above.
        let oriented = |ratio: f64| if is_first { ratio } else { 1.0 / ratio };
        let ends = pair
            .ratio_low
            .zip(pair.ratio_high)
            .map(|(low, high)| if is_first { (low, high) } else { (1.0 / high, 1.0 / low) });
        ahead.push(match (pair.ratio, ends) {
            (Some(ratio), Some((low, high))) => {
                let share = |ratio: f64| (ratio - 1.0) * 100.0;
                let of = share(oriented(ratio));
                let word = if of < 0.0 { "below" } else { "above" };
                let (one, two) = (share(low).abs(), share(high).abs());
                // An interval on both sides keeps its signs.
                let interval = if share(low) * share(high) > 0.0 {
                    format!("{:.2} to {:.2} %", one.min(two), one.max(two))
                } else {
                    format!("{:+.2} to {:+.2} %", share(low), share(high))
                };
                format!("{:.2} % {word} that of {other} ({interval})", of.abs())
            }
            _ => format!("better than that of {other}"),
        });
    }
    let mut text = format!("{best} has the best mean rank ({rank:.2}).");
    if !ahead.is_empty() {
        let _ = write!(text, " Its {metric} is {}.", ahead.join(", "));
    }
    if !alike.is_empty() {
        let _ = write!(
            text,
            " It cannot be told apart from {} (p of 0.05 or more after correction).",
            alike.join(", ")
        );
    }
    Some(text)
}

/// One pair in words: ratio and interval first.
fn sentence(pair: &Pair, metric: &str) -> String {
    let Pair { a, b, n, better, worse, equal, .. } = pair;
    let counts = format!("better in {better}, equal in {equal}, worse in {worse} of {n} blocks");
    let sure = match pair.p_holm {
        Some(p) if p < 0.05 => {
            format!("the difference is significant (p {p:.2e} after correction)")
        }
        Some(p) => format!("this can be chance (p {p:.2} after correction)"),
        None => "nothing can be tested".to_string(),
    };
    match (pair.ratio, pair.ratio_low, pair.ratio_high) {
        (Some(ratio), Some(low), Some(high)) => {
            let percent = (ratio - 1.0) * 100.0;
            let word = if percent < 0.0 { "below" } else { "above" };
            format!(
                "the {metric} of {a} is {:.2} % {word} that of {b} (ratio {ratio:.4}, 95 % interval {low:.4} to {high:.4}); \
                 {a} is {counts}; {sure}.",
                percent.abs()
            )
        }
        _ => format!("{a} against {b}: {a} is {counts}; {sure}."),
    }
}

/// Groups whose pictures are on a page: more would be a wall.
const MOST_GROUPS: usize = 8;

/// Titles and pictures of a comparison, for so many groups at most.
pub fn pictures(found: &Comparison, most: usize) -> Vec<(String, String)> {
    let mut album = Vec::new();
    let metric = &found.metric;
    if let [factor] = found.by.as_slice() {
        let levels: Vec<String> = found
            .tables
            .iter()
            .map(|t| t.factors.0.first().map_or(String::new(), |f| f.1.to_string()))
            .collect();
        let line = |method: &String| {
            let points = found.tables.iter().enumerate().filter_map(|(at, table)| {
                let row = found
                    .groups
                    .iter()
                    .find(|g| g.factors == table.factors && g.method == *method)?;
                Some(Point { x: at as f64, y: row.mean?, band: row.low.zip(row.high) })
            });
            Line { name: method.clone(), points: points.collect() }
        };
        album.extend(ratios(found, factor, &levels));
        let lines: Vec<Line> = found.methods.iter().map(line).collect();
        let title = format!("Mean {metric} by {factor}");
        let label = format!("{metric}, mean and 95 % interval");
        let svg = plot::lines(&title, &label, factor, &levels, &lines);
        album.push((title, svg));
    }
    if found.by.len() == 2 && found.methods.len() > 1 {
        album.extend(heat(found));
    }
    for table in found.tables.iter().take(most) {
        of_group(&mut album, found, table);
    }
    album
}

/// Every method over a reference by the levels of a factor: the method that all pairs are with, else the first one.
fn ratios(found: &Comparison, factor: &str, levels: &[String]) -> Option<(String, String)> {
    let reference = &found.pairs.first()?.a;
    let line = |method: &String| {
        let points = found.tables.iter().enumerate().filter_map(|(at, table)| {
            let x = at as f64;
            if method == reference {
                return Some(Point { x, y: 1.0, band: None });
            }
            let of_group = |p: &&Pair| p.factors == table.factors && p.a == *reference;
            let pair = found.pairs.iter().filter(of_group).find(|p| p.b == *method)?;
            let band = pair.ratio_low.zip(pair.ratio_high);
            let band = band.map(|(low, high)| (1.0 / high, 1.0 / low));
            Some(Point { x, y: 1.0 / pair.ratio?, band })
        });
        Line { name: method.clone(), points: points.collect() }
    };
    let lines: Vec<Line> = found.methods.iter().map(line).collect();
    if lines.iter().any(|line| line.points.is_empty()) {
        return None;
    }
    let title = format!("{} over that of {reference} by {factor}", capital(&found.metric));
    let label = "geometric mean of ratios over common blocks, 95 % interval";
    let svg = plot::lines(&title, label, factor, levels, &lines);
    Some((title, svg))
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The ratio of the first two methods over two factors.
fn heat(found: &Comparison) -> Option<(String, String)> {
    let level =
        |t: &GroupTable, at: usize| t.factors.0.get(at).map_or(String::new(), |f| f.1.to_string());
    let (mut rows, mut columns): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    for table in &found.tables {
        for (list, at) in [(&mut rows, 0), (&mut columns, 1)] {
            let level = level(table, at);
            if !list.contains(&level) {
                list.push(level);
            }
        }
    }
    let first = found.pairs.first()?;
    let mut cells = vec![vec![None; columns.len()]; rows.len()];
    for pair in found.pairs.iter().filter(|p| p.a == first.a && p.b == first.b) {
        let place = |at: usize, list: &[String]| {
            let level = pair.factors.0.get(at).map_or(String::new(), |f| f.1.to_string());
            list.iter().position(|l| *l == level)
        };
        if let (Some(r), Some(c), Some(ratio)) = (place(0, &rows), place(1, &columns), pair.ratio) {
            cells[r][c] = Some(Cell { shade: -(ratio.ln() / 0.2), text: format!("{ratio:.3}") });
        }
    }
    let title = format!("{} of {} over that of {}", found.metric, first.a, first.b);
    let note =
        format!("rows: {}; columns: {}; blue: {} is less", found.by[0], found.by[1], first.a);
    let svg = plot::matrix(&title, &note, &rows, &columns, &cells);
    Some((title, svg))
}

fn of_group(album: &mut Vec<(String, String)>, found: &Comparison, table: &GroupTable) {
    let place =
        if table.factors.0.is_empty() { String::new() } else { format!(" at {}", table.factors) };
    let metric = &found.metric;
    let boxes: Vec<BoxPlot> = found
        .methods
        .iter()
        .enumerate()
        .map(|(at, name)| BoxPlot {
            name: name.clone(),
            values: table.blocks.rows().filter_map(|row| row[at]).collect(),
        })
        .collect();
    let title = format!("Spread of {metric}{place}");
    let svg = plot::boxes(&title, metric, &boxes);
    album.push((title, svg));
    if found.methods.len() < 2 {
        return;
    }
    let profiles: Option<Vec<Profile>> = found
        .methods
        .iter()
        .zip(table.blocks.methods(0.0))
        .map(|(name, summary)| Some((name.clone(), summary.profile?)))
        .collect();
    if let Some(profiles) = profiles {
        let title = format!("Performance profile{place}");
        let svg = plot::profiles(&title, &profiles);
        album.push((title, svg));
    }
    let cell = |a: &String, b: &String| {
        let find = |x: &String, y: &String| {
            found.pairs.iter().find(|p| p.factors == table.factors && p.a == *x && p.b == *y)
        };
        let (ratio, effect) = match (find(a, b), find(b, a)) {
            (Some(p), _) => (p.ratio?, p.effect?),
            (_, Some(p)) => (1.0 / p.ratio?, -p.effect?),
            _ => return None,
        };
        Some(Cell { shade: effect, text: format!("{ratio:.3}") })
    };
    let cells: Vec<Vec<Option<Cell>>> =
        found.methods.iter().map(|a| found.methods.iter().map(|b| cell(a, b)).collect()).collect();
    let title = format!("Row over column{place}");
    let note = "ratios; blue: the row is better, orange: worse";
    let svg = plot::matrix(&title, note, &found.methods, &found.methods, &cells);
    album.push((title, svg));
    if let Some(test) = found.tests.iter().find(|t| t.factors == table.factors) {
        let ranks: Vec<(String, f64)> = found
            .groups
            .iter()
            .filter(|g| g.factors == table.factors)
            .filter_map(|g| Some((g.method.clone(), g.rank?)))
            .collect();
        let title = format!("Critical differences{place}");
        let svg = plot::critical_difference(&title, &ranks, test.cd);
        album.push((title, svg));
    }
}

fn tables(out: &mut String, found: &Comparison) {
    let text = |value: Option<f64>| value.map_or("–".to_string(), number);
    out.push_str(
        "<h3>Figures</h3>\n<div class=\"wide\"><table><tr><th>group</th><th class=\"l\">method</th><th>n</th>\
         <th>missing</th><th>mean</th><th>95 % interval</th><th>half-width</th><th>runs for 1 %</th><th>median</th>\
         <th>geometric</th><th>over best</th><th>wins</th><th>rank</th></tr>\n",
    );
    for g in &found.groups {
        let width = g.high.zip(g.mean).filter(|(_, mean)| *mean != 0.0);
        let width = width.map_or("–".into(), |(high, mean)| {
            format!("{:.2} %", 100.0 * (high - mean) / mean.abs())
        });
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"l\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td><td>{width}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&g.factors.to_string()),
            escaped(&g.method),
            g.n,
            g.missing,
            text(g.mean),
            text(g.low),
            text(g.high),
            g.repetitions.map_or("–".to_string(), |n| n.to_string()),
            text(g.median),
            text(g.geometric),
            g.degradation.map_or("–".to_string(), |d| format!("{:.2} %", 100.0 * d)),
            g.wins,
            text(g.rank),
        );
    }
    out.push_str("</table></div>\n");
    if found.pairs.is_empty() {
        return;
    }
    out.push_str(
        "<h3>Pairs</h3>\n<div class=\"wide\"><table><tr><th>group</th><th class=\"l\">a</th><th class=\"l\">b</th>\
         <th>a / b</th><th>95 % interval</th><th>better</th><th>equal</th><th>worse</th><th>effect</th><th>p</th>\
         <th>p (Holm)</th></tr>\n",
    );
    for p in &found.pairs {
        let four = |value: Option<f64>| value.map_or("–".to_string(), |v| format!("{v:.4}"));
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"l\">{}</td><td class=\"l\">{}</td><td>{}</td><td>{} to {}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&p.factors.to_string()),
            escaped(&p.a),
            escaped(&p.b),
            four(p.ratio),
            four(p.ratio_low),
            four(p.ratio_high),
            p.better,
            p.equal,
            p.worse,
            four(p.effect),
            text(p.p),
            text(p.p_holm),
        );
    }
    out.push_str("</table></div>\n");
}

/// Models, version, and command that makes the page again.
fn model(out: &mut String, about: &About<'_>, kinds: &[(MethodKind, Comparison)]) {
    out.push_str("<h2>How this was made</h2>\n<ul>\n");
    for (kind, found) in kinds {
        // Nobody knows how results of others were made.
        let text = match kind {
            _ if about.file.is_empty() => "Results were taken as they stand in the table.",
            MethodKind::Plan => {
                "Plans are judged as planned: estimates are taken for true, transfers do not disturb each other, and \
                 hosts neither change nor fail."
            }
            MethodKind::Simulate => {
                "Simulated runs share links as the network model says; hosts and links change and fail as the scenario \
                 says, and nothing else disturbs them: no operating-system noise, no other users, no scheduling overhead."
            }
        };
        let _ = writeln!(out, "<li>{text}</li>");
        let _ = writeln!(
            out,
            "<li>{} runs, {} failed. A block is a combination of {}; inference rests on blocks.</li>",
            found.runs,
            found.failed,
            escaped(&found.unit.join(", "))
        );
    }
    let _ = write!(
        out,
        "<li>Ratios are geometric means with Student's interval of the logarithms; p is that of Wilcoxon's signed-rank \
         test, corrected by Holm over all pairs.</li>\n<li>slackline {}</li>\n</ul>\n<pre>{}</pre>\n",
        escaped(about.version),
        escaped(&about.command)
    );
    if !about.file.is_empty() {
        let _ = writeln!(out, "<h3>The campaign file</h3>\n<pre>{}</pre>", escaped(about.file));
    }
}

/// Charts of the first draw of the first combination, a method each.
pub fn gantts(campaign: &Campaign, version: &'static str) -> Vec<(String, String)> {
    let combinations = campaign.combinations();
    let mut charts = Vec::new();
    for kind in [MethodKind::Plan, MethodKind::Simulate] {
        let Some(combination) = combinations.iter().find(|c| c.kind == kind) else { continue };
        let draw = campaign.draw(*combination, 1, version);
        let Ok(stage) = draw.stage() else { continue };
        // Charts of large work say nothing on a page.
        if stage.workflow.len() > 500 {
            continue;
        }
        for method in campaign.methods_of(combination).take(4) {
            let Ok(problem) = stage.problem() else { continue };
            let title = format!("{} {}", kind.name(), method.text);
            let schedule = draw.schedule(&stage, method);
            if let Ok(schedule) = schedule {
                let chart = Chart::of_schedule(&problem, &schedule);
                charts.push((title, gantt::svg(&chart, &gantt::SvgOptions::default())));
            }
        }
    }
    charts
}
