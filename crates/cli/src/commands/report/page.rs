//! The report as a web page: one file, without scripts, legible on a phone and in the dark.

use project::report::Report;

use super::{Next, PARTS, Remark, effort, heading, remarks, span, state, summary};

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
                with_code(&state),
                escaped(&effort(run))
            ));
            for Remark { text, warns } in remarks(run) {
                let class = if warns { "remark warns" } else { "remark" };
                body.push_str(&format!("<p class=\"{class}\">{}</p>\n", with_code(&text)));
            }
            for Next { command, does } in next {
                body.push_str(&format!("<pre>{}</pre>\n", escaped(&command)));
                if let Some(does) = does {
                    body.push_str(&format!("<p class=\"does\">answers: {}</p>\n", escaped(&does)));
                }
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
        escaped(&summary(report)).replace('\n', "<br>")
    )
}

/// Sets what stands between backticks as code.
fn with_code(text: &str) -> String {
    let escaped = escaped(text);
    let mut parts = escaped.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    while let Some(code) = parts.next() {
        match parts.next() {
            Some(after) => html.push_str(&format!("<code>{code}</code>{after}")),
            None => html.push_str(&format!("`{code}")),
        }
    }
    html
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_backticks_is_code_and_nothing_acts() {
        assert_eq!(with_code("`git push` pushes <it>"), "<code>git push</code> pushes &lt;it&gt;");
        assert_eq!(with_code("a ` alone"), "a ` alone");
        assert_eq!(with_code("`<b>`"), "<code>&lt;b&gt;</code>");
    }
}
