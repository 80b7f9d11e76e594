//! A small strict reader of XML: elements and their attributes, no more than JUnit's reports need.
//!
//! Text is passed over. Anything that is not well formed is an error: a report that was cut short must not look whole. No
//! entity but the five of XML and character references is known, so nothing can be expanded.

/// A part of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Start { name: String, attributes: Vec<(String, String)> },
    End,
}

/// Why a document cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Reads a whole document.
pub(super) fn parts(document: &str) -> Result<Vec<Part>, Broken> {
    let mut parts = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = document;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix("<!--") {
            rest = past(after, "-->")?;
        } else if let Some(after) = rest.strip_prefix("<![CDATA[") {
            rest = past(after, "]]>")?;
        } else if let Some(after) = rest.strip_prefix("<?") {
            rest = past(after, "?>")?;
        } else if let Some(after) = rest.strip_prefix("<!") {
            rest = past(after, ">")?;
        } else if let Some(after) = rest.strip_prefix("</") {
            let (name, after) = after.split_once('>').ok_or(Broken)?;
            if open.pop().as_deref() != Some(local(name.trim())) {
                return Err(Broken);
            }
            parts.push(Part::End);
            rest = after;
        } else {
            let (name, attributes, is_empty, after) = element(&rest[1..])?;
            parts.push(Part::Start { name: name.clone(), attributes });
            match is_empty {
                true => parts.push(Part::End),
                false => open.push(name),
            }
            rest = after;
        }
    }
    if open.is_empty() && !parts.is_empty() { Ok(parts) } else { Err(Broken) }
}

fn past<'a>(text: &'a str, end: &str) -> Result<&'a str, Broken> {
    text.split_once(end).map(|(_, rest)| rest).ok_or(Broken)
}

type Element<'a> = (String, Vec<(String, String)>, bool, &'a str);

fn element(text: &str) -> Result<Element<'_>, Broken> {
    let end = text.find(|c: char| c.is_whitespace() || c == '/' || c == '>').ok_or(Broken)?;
    let name = local(&text[..end]).to_owned();
    if name.is_empty() {
        return Err(Broken);
    }
    let (mut rest, mut attributes) = (text[end..].trim_start(), Vec::new());
    loop {
        if let Some(after) = rest.strip_prefix("/>") {
            return Ok((name, attributes, true, after));
        }
        if let Some(after) = rest.strip_prefix('>') {
            return Ok((name, attributes, false, after));
        }
        let (key, after) = rest.split_once('=').ok_or(Broken)?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| *c == '"' || *c == '\'').ok_or(Broken)?;
        let (value, after) = after[1..].split_once(quote).ok_or(Broken)?;
        attributes.push((local(key.trim()).to_owned(), unescaped(value)?));
        rest = after.trim_start();
    }
}

/// Returns a name without its namespace.
fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn unescaped(text: &str) -> Result<String, Broken> {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').ok_or(Broken)?;
        let letter = match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            entity => {
                let number = entity.strip_prefix('#').ok_or(Broken)?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(number) => u32::from_str_radix(number, 16),
                    None => number.parse(),
                };
                code.ok().and_then(char::from_u32).ok_or(Broken)?
            }
        };
        plain.push(letter);
        plain.push_str(rest);
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_attributes_are_read_and_all_else_is_passed_over() {
        let found = parts(
            "<?xml version='1.0'?><!DOCTYPE a><a:b x=\"1 &lt; 2 &#10;\" y='&quot;'>t<!-- <c> --><![CDATA[<d>]]><e/></a:b>",
        );
        let start = |name: &str, attributes: &[(&str, &str)]| Part::Start {
            name: name.to_owned(),
            attributes: attributes
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let expected =
            vec![start("b", &[("x", "1 < 2 \n"), ("y", "\"")]), start("e", &[]), Part::End, Part::End];
        assert_eq!(found, Ok(expected));
    }

    #[test]
    fn what_was_cut_short_is_broken() {
        for text in [
            "",
            "<a>",
            "<a><b></a>",
            "<a x=1/>",
            "<a x=\"1",
            "<a x=\"&nope;\"/>",
            "</a>",
            "<a><!-- x</a>",
            "text",
        ] {
            assert_eq!(parts(text), Err(Broken), "{text}");
        }
    }
}
