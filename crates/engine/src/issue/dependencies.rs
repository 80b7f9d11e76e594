//! What an issue depends on, and whether that leads back to it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::markdown::{self, Line};

/// How many dependencies of one issue are read, and how many issues a search for a cycle goes through.
const MOST: usize = 200;
const MOST_SEARCHED: usize = 10_000;
/// What is said before a reference within a text.
const PHRASES: [&str; 2] = ["depends on", "blocked by"];

/// Reads the issues that `own`, whose text this is, depends on.
///
/// They are the `#N` in sections named `Dependencies`, `Depends on` or `Blocked by`, and those that follow `depends on`
/// or `blocked by` in a line. A reference to another repository or to the issue itself is none.
pub fn read_dependencies(markdown: &str, own: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for line in markdown::lines(markdown) {
        found.extend(if line.names_dependencies { references(&line.prose) } else { inline(&line) });
        if found.len() > MOST {
            break;
        }
    }
    found.remove(&own);
    found.into_iter().take(MOST).collect()
}

/// Returns a shortest way from `start` back to it, if its dependencies lead back: `[1, 2, 1]`.
pub fn find_cycle<I: Copy + Ord, E>(
    start: I,
    mut depends_on: impl FnMut(I) -> Result<BTreeSet<I>, E>,
) -> Result<Option<Vec<I>>, E> {
    let mut came_from: BTreeMap<I, I> = BTreeMap::new();
    let mut waiting = VecDeque::from([start]);
    while let Some(at) = waiting.pop_front() {
        for next in depends_on(at)? {
            if next == start {
                let mut path = vec![start];
                let mut step = Some(at);
                while let Some(back) = step.filter(|back| *back != start) {
                    path.push(back);
                    step = came_from.get(&back).copied();
                }
                path.push(start);
                path.reverse();
                return Ok(Some(path));
            }
            if came_from.len() < MOST_SEARCHED && !came_from.contains_key(&next) {
                came_from.insert(next, at);
                waiting.push_back(next);
            }
        }
    }
    Ok(None)
}

/// Returns the references right after a phrase: `depends on #1, #2 and #3`.
fn inline(line: &Line) -> Vec<u64> {
    let lower = line.prose.to_ascii_lowercase();
    let mut found = Vec::new();
    for phrase in PHRASES {
        for (at, _) in lower.match_indices(phrase) {
            let is_word = !lower[..at].ends_with(|c: char| c.is_alphanumeric());
            if is_word {
                found.extend(listed(&lower[at + phrase.len()..]));
            }
        }
    }
    found
}

/// Reads a list of references that a text begins with.
fn listed(text: &str) -> Vec<u64> {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        let between = |c: char| c.is_whitespace() || ",;:*_[(&".contains(c);
        rest = rest.trim_start_matches(between);
        let word = rest.strip_prefix("and ").or_else(|| rest.strip_prefix("or "));
        let word = word.or_else(|| rest.strip_prefix("issues ")).or_else(|| rest.strip_prefix("issue "));
        if let Some(after) = word {
            rest = after;
            continue;
        }
        rest = match reference(rest) {
            Some((number, after)) if found.len() < MOST => {
                found.push(number);
                after.trim_start_matches([')', ']'])
            }
            Some(_) => return found,
            None => match after_foreign(rest) {
                Some(after) => after,
                None => return found,
            },
        };
    }
}

/// Returns what follows the `owner/repo#5` that a text begins with.
fn after_foreign(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(|c: char| c.is_alphanumeric() || "/_-.".contains(c));
    let is_name = text[..text.len() - rest.len()].contains('/');
    reference(rest).filter(|_| is_name).map(|(_, after)| after)
}

fn references(line: &str) -> Vec<u64> {
    // A name before it makes it another repository's, `&#` is a character and not an issue.
    let joins = |c: char| c.is_alphanumeric() || "/_-.&#".contains(c);
    let own = line.match_indices('#').filter(|(at, _)| !line[..*at].ends_with(joins));
    own.filter_map(|(at, _)| reference(&line[at..])).map(|(number, _)| number).collect()
}

/// Reads the `#N` that a text begins with, and returns what follows.
fn reference(text: &str) -> Option<(u64, &str)> {
    let digits = text.strip_prefix('#')?;
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = digits[..digits.len() - rest.len()].parse().ok().filter(|number| *number > 0)?;
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (!goes_on).then_some((number, rest))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn dependencies_are_read_as_people_write_them() {
        for (text, wanted) in [
            ("## Dependencies\n- #1\n* #2 the parser\n3. [#3](x)\n", &[1, 2, 3][..]),
            ("# depends on\n#4, #5\n", &[4, 5]),
            ("###### BLOCKED BY: ######\n- [x] #6\n### Below\n#1\n", &[6]),
            ("### **Blocked by**\n#6\n#### Below\n#7\n### Related\n#8\n", &[6, 7]),
            ("### Depends on\n#6\n## Related\n#8\n", &[6]),
            ("It depends on #9.", &[9]),
            ("**Depends on:** #9, #10 and issue #11; see #12", &[9, 10, 11]),
            ("Blocked by #1 (and #2) or #3", &[1, 2, 3]),
            ("blocked by: (#1), [#2]", &[1, 2]),
            ("depends on nothing, see #7", &[]),
            ("independs on #7", &[]),
            ("depends on owner/repo#5 and #6", &[6]),
            ("## Dependencies\n- owner/repo#5\n- https://host/x#6\n- see a/#7\n- &#35;\n- #8x #9_ #0\n", &[]),
            ("## Dependencies\n- #42\n- #1\n", &[1]),
            ("```\n## Dependencies\n#1\n```\ndepends on #2", &[2]),
            ("~~~~ text\ndepends on #1\n~~~\ndepends on #3\n~~~~\ndepends on #2", &[2]),
            ("## Dependencies\n- `#1`\n- ``#3 ` #4``\n- #2\n", &[2]),
            ("<!-- depends on #1 -->depends on #2\n<!--\n## Dependencies\n-->\n#3", &[2]),
            ("## Dependencies\n<!-- - #1 -->\nNone\n", &[]),
            ("##Dependencies\n#1\n", &[]),
            ("## Related\n#1\n", &[]),
            ("depends on #99999999999999999999999", &[]),
        ] {
            let found: Vec<u64> = read_dependencies(text, 42).into_iter().collect();
            assert_eq!(found, wanted, "{text}");
        }
    }

    #[test]
    fn a_cycle_is_shown_by_its_shortest_path() {
        let cycle = |start: u64, edges: &[(u64, u64)]| {
            find_cycle(start, |from| {
                let to = edges.iter().filter(|edge| edge.0 == from).map(|edge| edge.1);
                Ok::<_, Infallible>(to.collect())
            })
            .unwrap()
        };
        assert_eq!(cycle(1, &[(1, 2), (2, 1)]), Some(vec![1, 2, 1]));
        assert_eq!(cycle(1, &[(1, 1)]), Some(vec![1, 1]));
        assert_eq!(cycle(1, &[(1, 2), (2, 3), (3, 4), (4, 1), (2, 4)]), Some(vec![1, 2, 4, 1]));
        assert_eq!(cycle(1, &[(1, 2), (2, 3), (3, 2)]), None, "it waits for a cycle, and is in none");
        assert_eq!(cycle(1, &[]), None);
    }
}
