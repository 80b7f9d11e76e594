//! Links and paths: whether what the docs name is there, and if not, where it went.

use std::{collections::BTreeSet, ops::Range, rc::Rc};

use super::{
    Drift, Kind, MOST_FOUND, Severity,
    myst::{Sphinx, Target},
    page::{Link, Page, Part},
    tree::{Tree, join, last, parent, relative},
};

/// How like an anchor another must be to be the one that was meant.
const CLOSE: f64 = 0.75;

/// Checks the links of a page; `anchors` returns what the links of another page can lead to, `sphinx` are the docs that it is
/// built with.
pub(super) fn check(
    page: &Page,
    file: &str,
    tree: &Tree<'_>,
    sphinx: Option<&Sphinx>,
    anchors: &dyn Fn(&str) -> Option<Rc<BTreeSet<String>>>,
) -> Vec<Drift> {
    let links = page.links.iter().filter_map(|link| check_link(link, page, file, tree, sphinx, anchors));
    let undefined = page.undefined.iter().map(|part| Drift {
        kind: Kind::Link,
        at: part.at.start,
        severity: Severity::Medium,
        expected: "a link whose label is defined on the page".to_owned(),
        actual: format!("[{}]", part.text),
        fix: None,
    });
    links.take(MOST_FOUND).chain(undefined.take(MOST_FOUND)).collect()
}

fn check_link(
    link: &Link,
    page: &Page,
    file: &str,
    tree: &Tree<'_>,
    sphinx: Option<&Sphinx>,
    anchors: &dyn Fn(&str) -> Option<Rc<BTreeSet<String>>>,
) -> Option<Drift> {
    if link.target.is_empty() || leads_outside(&link.target) {
        return None;
    }
    let (address, fragment) = match link.target.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (link.target.as_str(), None),
    };
    let path = address.split('?').next().unwrap_or_default();
    // What leads out of the project is the forge's, as `../../issues` is.
    let from = if path.starts_with('/') { "" } else { parent(file) };
    let path = if path.is_empty() { file.to_owned() } else { join(from, &decoded(path))? };
    if !tree.has(&path) {
        return match sphinx.map(|sphinx| sphinx.target(&decoded(address), file, tree)) {
            Some(Target::Known | Target::Unsure) => None,
            Some(Target::NoLabel) => Some(no_label(link)),
            Some(Target::File) | None => Some(gone(link, &path, file, tree)),
        };
    }
    let fragment = fragment.filter(|fragment| !fragment.is_empty())?;
    if address.is_empty() && sphinx.is_some_and(|sphinx| sphinx.has_label(&decoded(fragment))) {
        return None;
    }
    let others = if path == file { None } else { Some(anchors(&path)?) };
    let known = others.as_deref().unwrap_or(&page.anchors);
    let wanted = decoded(fragment);
    if known.contains(&wanted) || wanted == "top" {
        return None;
    }
    let close = closest(&wanted, known);
    let fix = close.as_ref().zip(link.place.clone()).map(|(close, place)| {
        let start = place.end - fragment.len();
        (start..place.end, close.clone())
    });
    Some(Drift {
        kind: Kind::Anchor,
        at: link.at,
        severity: Severity::Medium,
        expected: match &close {
            Some(close) => format!("{address}#{close}"),
            None => format!("a heading of {path} whose anchor is `#{wanted}`"),
        },
        actual: link.target.clone(),
        fix,
    })
}

/// A link to a label that no page defines. It may be one of other docs that these know of.
fn no_label(link: &Link) -> Drift {
    Drift {
        kind: Kind::Anchor,
        at: link.at,
        severity: Severity::Low,
        expected: "a label that a page of the docs defines, or a path that is there".to_owned(),
        actual: link.target.clone(),
        fix: None,
    }
}

/// A link to what is not there: it is led to where that went, if there is one such place.
fn gone(link: &Link, path: &str, file: &str, tree: &Tree<'_>) -> Drift {
    let new = tree.moved(path).or_else(|| tree.namesake(path)).filter(|new| *new != file);
    let written = new.map(|new| match link.target.starts_with('/') {
        true => format!("/{}", encoded(new)),
        false => encoded(&relative(parent(file), new)),
    });
    let rest = link.target.find(['#', '?']).map_or("", |at| &link.target[at..]);
    let fix = written.as_ref().zip(link.place.clone()).map(|(written, place)| {
        let end = place.end - rest.len();
        (place.start..end, written.clone())
    });
    Drift {
        kind: Kind::Link,
        at: link.at,
        severity: Severity::High,
        expected: match &written {
            Some(written) => format!("{written}{rest}"),
            None => format!("a path that is there: `{path}` is gone"),
        },
        actual: link.target.clone(),
        fix,
    }
}

/// Checks a piece of code that may be a path of the project; `text` is the page as it is written.
pub(super) fn check_path(part: &Part, text: &str, file: &str, tree: &Tree<'_>) -> Option<Drift> {
    let named = path_in(&part.text)?;
    let plain = named.trim_end_matches('/').trim_start_matches("./");
    let places: Vec<String> = [join("", plain), join(parent(file), plain)].into_iter().flatten().collect();
    if places.is_empty() || places.iter().any(|place| tree.has(place)) || tree.has_ending(plain) {
        return None;
    }
    if let Some(place) = places.iter().find(|place| tree.has_had(place)) {
        // Only a path from the root can be written anew without a guess.
        let new = tree.moved(place).filter(|_| place == plain);
        return Some(Drift {
            kind: Kind::Path,
            at: part.at.start,
            severity: Severity::High,
            expected: new.map_or_else(|| "a path that is there".to_owned(), str::to_owned),
            actual: named.to_owned(),
            fix: new.zip(place_of(plain, part, text)).map(|(new, place)| (place, new.to_owned())),
        });
    }
    let directory = parent(plain);
    let has_extension = last(plain).rsplit_once('.').is_some_and(|(name, _)| !name.is_empty());
    (has_extension && tree.has_directory(directory)).then(|| Drift {
        kind: Kind::Path,
        at: part.at.start,
        severity: Severity::Low,
        expected: format!("a file in `{directory}`"),
        actual: named.to_owned(),
        fix: None,
    })
}

fn place_of(path: &str, part: &Part, text: &str) -> Option<Range<usize>> {
    let start = part.at.start + text.get(part.at.clone())?.find(path)?;
    Some(start..start + path.len())
}

/// Returns the path that a piece of code is, without a line number; nothing if it does not look like one.
fn path_in(code: &str) -> Option<&str> {
    let path = code.split(':').next().unwrap_or(code);
    let numbers = &code[path.len()..];
    let is_numbered = numbers.chars().all(|c| c.is_ascii_digit() || c == ':');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./+-".contains(c);
    let looks = path.contains('/')
        && !path.starts_with(['/', '-'])
        && !path.contains("//")
        && !path.contains("...")
        && path.chars().all(is_plain);
    (is_numbered && looks).then_some(path)
}

/// Tells whether a target has a scheme, or names a host.
fn leads_outside(target: &str) -> bool {
    let scheme = target.split(':').next().unwrap_or_default();
    let has_scheme = scheme.len() < target.len()
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c));
    has_scheme || target.starts_with("//")
}

/// Returns the one anchor that is like `wanted`.
fn closest(wanted: &str, known: &BTreeSet<String>) -> Option<String> {
    let plain = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase();
    let same = known.iter().filter(|known| plain(known) == plain(wanted)).collect::<Vec<_>>();
    // Of headings that differ in a number alone, none is closer than another.
    let unnumbered = |text: &str| text.chars().filter(|c| !c.is_numeric()).collect::<String>();
    let close = known
        .iter()
        .filter(|known| strsim::normalized_damerau_levenshtein(known, wanted) >= CLOSE)
        .filter(|known| unnumbered(known) != unnumbered(wanted))
        .collect::<Vec<_>>();
    match (same.as_slice(), close.as_slice()) {
        ([one], _) | ([], [one]) => Some((*one).clone()),
        (_, _) => None,
    }
}

/// Undoes the percent signs of an address; what is no byte stays as it is.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_else(|_| text.to_owned())
}

/// Writes a path so that it can stand in a link.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '(' | ')' | '<' | '>' | '%' | '#' | '?' | '"' => {
                text.push_str(&format!("%{:02X}", u32::from(c)))
            }
            c => text.push(c),
        }
    }
    text
}
