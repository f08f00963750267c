//! The report as one self-contained page: no script, nothing loaded.

use std::fmt::Write;

use super::chart::{Line, Scale, chart};
use super::table::rates;
use super::{grouped, millis, percent};
use crate::report::{Reason, Report};
use crate::series::Second;
use crate::tally::Figures;

const STYLE: &str = include_str!("style.css");
/// More callers than colours are drawn by level.
const COLOURS: usize = 8;

/// The report as a page with charts.
pub fn html(report: &Report) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">\
         <title>Load test of {target}</title><style>{STYLE}</style></head><body>\n\
         <h1>Load test of {title}</h1>\n{about}{warnings}{tiles}\
         <div class=\"charts\">{charts}</div>\n{figures}{refused}{failed}</body></html>\n",
        target = escaped(&report.target),
        title = breakable(&report.target),
        about = about(report),
        warnings = warnings(report),
        tiles = tiles(report),
        charts = charts(report),
        figures = figures(report),
        refused = reasons("Refused because", &report.refusals),
        failed = reasons("Went wrong because", &report.failures),
    )
}

/// Text that cannot become markup.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            letter => safe.push(letter),
        }
    }
    safe
}

/// An address that goes on in a new line between the parts of its path, rather than
/// within one.
fn breakable(address: &str) -> String {
    let path_from = address.find("://").map_or(0, |scheme| scheme + 3);
    let (scheme, rest) = address.split_at(path_from);
    let parts: Vec<String> = rest.split_inclusive(['/', '?', '&']).map(escaped).collect();
    escaped(scheme) + &parts.join("<wbr>")
}

fn about(report: &Report) -> String {
    let ended = if report.interrupted { ", interrupted" } else { "" };
    let lag = report.generator.lag;
    format!(
        "<p>{}, {} arrivals, seed {}, started {}, {:.1} of {:.1} s{ended}. The generator \
         started requests {} ms late (p99), with at most {} in flight. Times count from the \
         intended start.</p>\n",
        escaped(&report.protocol),
        report.arrivals,
        report.seed,
        escaped(&report.started_at),
        report.ran_s,
        report.planned_s,
        millis(lag.map(|lag| lag.p99_ms)),
        grouped(report.generator.most_in_flight),
    )
}

fn warnings(report: &Report) -> String {
    let one = |warning: &String| format!("<p class=\"warning\">{}</p>\n", escaped(warning));
    report.generator.warnings.iter().map(one).collect()
}

fn tiles(report: &Report) -> String {
    let (figures, counts) = (&report.total, &report.total.counts);
    let times = figures.latency;
    let of_all = |count| format!("{} %", percent(count, counts.offered));
    let other = counts.ended() - counts.ok - counts.shed;
    let tiles = [
        ("offered", grouped(counts.offered), format!("{:.1}/s", figures.offered_rate)),
        ("ok", grouped(counts.ok), of_all(counts.ok)),
        ("shed", grouped(counts.shed), of_all(counts.shed)),
        ("other", grouped(other), of_all(other)),
        ("p50", millis(times.map(|times| times.p50_ms)), "ms".into()),
        ("p99", millis(times.map(|times| times.p99_ms)), "ms".into()),
        ("p99.9", millis(times.map(|times| times.p999_ms)), "ms".into()),
    ];
    let tile = |(name, value, note): (&str, String, String)| {
        format!("<div><dt>{name}</dt><dd>{value} <small>{note}</small></dd></div>")
    };
    format!("<dl class=\"tiles\">{}</dl>\n", tiles.into_iter().map(tile).collect::<String>())
}

fn charts(report: &Report) -> String {
    let seconds = &report.seconds;
    let line = |name: &str, class: &str, value: &dyn Fn(&Second) -> Option<f64>| Line {
        name: name.into(),
        class: class.into(),
        values: seconds.iter().map(value).collect(),
    };
    let rates = [
        line("offered", "offered", &|row| Some(row.counts.offered as f64)),
        line("ok", "ok", &|row| Some(row.counts.ok as f64)),
        line("shed", "shed", &|row| Some(row.counts.shed as f64)),
        line("other", "other", &|row| {
            Some((row.counts.ended() - row.counts.ok - row.counts.shed) as f64)
        }),
    ];
    let times = [
        line("p50", "c0", &|row| row.p50_ms),
        line("p90", "c1", &|row| row.p90_ms),
        line("p99", "c2", &|row| row.p99_ms),
    ];
    let mut charts = chart("Requests a second", Scale::Linear, &rates);
    charts += &chart("Latency of the ok ones, ms", Scale::Logarithmic, &times);
    if !report.callers.is_empty() {
        charts += &chart(&by_whom(report), Scale::Percent, &ok_shares(report));
        charts += &bars(report);
    }
    charts
}

fn by_whom(report: &Report) -> String {
    let whom = if report.callers.len() > COLOURS { "level" } else { "caller" };
    format!("Ok by {whom}, % of offered")
}

/// The share of ok ones a second, of every caller or of every level.
fn ok_shares(report: &Report) -> Vec<Line> {
    let line = |index: usize, name: String, own: &[usize]| Line {
        name,
        class: format!("c{index}"),
        values: report.seconds.iter().map(|row| ok_share(row, own)).collect(),
    };
    if report.callers.len() > COLOURS {
        let of_level = |(index, found): (usize, &crate::LevelFigures)| {
            let callers = report.callers.iter().enumerate();
            let own = callers.filter(|(_, caller)| caller.level == found.level);
            let own: Vec<usize> = own.map(|(caller, _)| caller).collect();
            line(index, format!("level {}", found.level), &own)
        };
        return report.levels.iter().enumerate().map(of_level).collect();
    }
    let of_caller = |(index, caller): (usize, &crate::CallerFigures)| {
        line(index, format!("{} ({})", caller.name, caller.level), &[index])
    };
    report.callers.iter().enumerate().map(of_caller).collect()
}

fn ok_share(row: &Second, callers: &[usize]) -> Option<f64> {
    let own = || callers.iter().filter_map(|caller| row.callers.get(*caller));
    let offered: u32 = own().map(|counts| counts.offered).sum();
    let ok: u32 = own().map(|counts| counts.ok).sum();
    (offered > 0).then(|| 100.0 * f64::from(ok) / f64::from(offered))
}

/// One bar a caller: ok, shed, other.
fn bars(report: &Report) -> String {
    let mut rows = String::new();
    for caller in &report.callers {
        let counts = &caller.figures.counts;
        let part = |count: u64| 100.0 * count as f64 / counts.offered.max(1) as f64;
        let (ok, shed) = (part(counts.ok), part(counts.shed));
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<li><span>{} ({})</span><b><i class=\"ok\" style=\"width:{ok:.2}%\"></i>\
             <i class=\"shed\" style=\"width:{shed:.2}%\"></i>\
             <i class=\"other\" style=\"width:{:.2}%\"></i></b></li>",
            escaped(&caller.name),
            caller.level,
            100.0 - ok - shed,
        );
    }
    format!(
        "<figure><figcaption>Outcome by caller</figcaption><ul class=\"legend\">\
         <li><i class=\"ok\"></i>ok</li><li><i class=\"shed\"></i>shed</li>\
         <li><i class=\"other\"></i>other</li></ul><ul class=\"bars\">{rows}</ul></figure>\n"
    )
}

fn figures(report: &Report) -> String {
    let mut rows = row("all", &report.total);
    if report.steps.len() > 1 {
        for step in &report.steps {
            rows += &row(&rates(step.from_rate, step.to_rate), &step.figures);
        }
    }
    for level in &report.levels {
        rows += &row(&format!("level {}", level.level), &level.figures);
    }
    for caller in &report.callers {
        rows += &row(&format!("{} ({})", caller.name, caller.level), &caller.figures);
    }
    format!(
        "<h2>Figures</h2>\n<div class=\"wide\"><table><thead><tr><th></th><th>offered/s</th>\
         <th>ok/s</th><th>ok %</th><th>shed %</th><th>expired</th><th>failed</th>\
         <th>timed out</th><th>not started</th><th>p50 ms</th><th>p90 ms</th><th>p99 ms</th>\
         <th>p99.9 ms</th><th>max ms</th><th>refusal p99 ms</th></tr></thead>\
         <tbody>{rows}</tbody></table></div>\n"
    )
}

fn row(name: &str, figures: &Figures) -> String {
    let (counts, times) = (&figures.counts, figures.latency);
    let cells = [
        format!("{:.1}", figures.offered_rate),
        format!("{:.1}", figures.ok_rate),
        percent(counts.ok, counts.offered),
        percent(counts.shed, counts.offered),
        grouped(counts.expired),
        grouped(counts.failed),
        grouped(counts.timed_out),
        grouped(counts.not_started),
        millis(times.map(|times| times.p50_ms)),
        millis(times.map(|times| times.p90_ms)),
        millis(times.map(|times| times.p99_ms)),
        millis(times.map(|times| times.p999_ms)),
        millis(times.map(|times| times.max_ms)),
        millis(figures.refusal.map(|times| times.p99_ms)),
    ];
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    format!("<tr><th>{}</th>{cells}</tr>\n", escaped(name))
}

fn reasons(title: &str, reasons: &[Reason]) -> String {
    if reasons.is_empty() {
        return String::new();
    }
    let row = |reason: &Reason| {
        format!("<tr><td>{}</td><th>{}</th></tr>", grouped(reason.count), escaped(&reason.reason))
    };
    let rows: String = reasons.iter().map(row).collect();
    format!("<h2>{title}</h2>\n<div class=\"wide\"><table>{rows}</table></div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::example;

    #[test]
    fn it_has_every_chart_and_loads_nothing() {
        let page = html(&example());
        for part in
            ["Requests a second", "Latency of the ok ones", "Ok by caller", "Outcome by caller"]
        {
            assert_eq!(page.matches(&format!("<figcaption>{part}")).count(), 1, "{part}");
        }
        assert!(!page.contains("<script") && !page.contains("src=") && !page.contains("url("));
        assert!(!page.contains("NaN") && !page.contains("inf"));
    }

    #[test]
    fn what_others_chose_cannot_become_markup() {
        let mut report = example();
        report.callers[0].name = "<b>'\"&".into();
        report.refusals[0].reason = "<script>".into();
        report.generator.warnings.push("<i>".into());
        let page = html(&report);
        assert!(page.contains("&lt;b&gt;&#39;&quot;&amp; (2)"));
        assert!(!page.contains("<script") && !page.contains("<b>'"));
    }

    #[test]
    fn the_title_breaks_between_the_parts_of_the_address() {
        let title = breakable("http://a.example/b?c=<d>&e=f");
        assert_eq!(title, "http://a.example/<wbr>b?<wbr>c=&lt;d&gt;&amp;<wbr>e=f");
    }

    #[test]
    fn many_callers_are_drawn_by_level() {
        let mut report = example();
        while report.callers.len() <= COLOURS {
            report.callers.push(report.callers[1].clone());
        }
        let lines = ok_shares(&report);
        assert_eq!(lines.len(), 2);
        assert_eq!((lines[0].values[0], lines[1].values[0]), (Some(100.0), Some(60.0)));
        assert!(html(&report).contains("Ok by level"));
    }
}
