//! The report as a web page: one file, without scripts, legible on a phone and in the dark.

use project::report::Report;

use super::{PARTS, effort, heading, span, state, summary};

const STYLE: &str = include_str!("page.css");

/// Writes the report as a web page.
pub(super) fn render(report: &Report) -> String {
    let project = escaped(&report.project);
    let mut body = String::new();
    for part in PARTS {
        let runs = part.runs(report);
        if runs.is_empty() {
            continue;
        }
        body.push_str(&format!(
            "<section class=\"{part:?}\">\n<h2>{} <span>{}</span></h2>\n",
            part.title(),
            runs.len()
        ));
        for run in runs {
            let (state, next) = state(run);
            body.push_str(&format!(
                "<article>\n<h3>{}</h3>\n<p>{}</p>\n<p class=\"effort\">{}</p>\n",
                escaped(&heading(run)),
                escaped(&state),
                escaped(&effort(run))
            ));
            for skipped in &run.skipped {
                let criteria = escaped(&skipped.criteria.join(", "));
                body.push_str(&format!(
                    "<p class=\"skipped\">Skipped {criteria}: {}</p>\n",
                    escaped(&skipped.why)
                ));
            }
            if let Some(next) = next {
                body.push_str(&format!("<pre>{}</pre>\n", escaped(&next)));
            }
            body.push_str("</article>\n");
        }
        body.push_str("</section>\n");
    }
    if report.runs.is_empty() {
        body.push_str("<p>No run did anything in this time.</p>\n");
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{project}: what warp did</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n\
         <h1>{project}</h1>\n<p>{}</p>\n<p class=\"summary\">{}</p>\n</header>\n<main>\n{body}</main>\n</body>\n</html>\n",
        escaped(&span(report)),
        escaped(&summary(report))
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
