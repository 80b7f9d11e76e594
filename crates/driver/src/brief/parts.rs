//! A brief in parts. A conversation remembers what it was told, so that only the parts which it does not have are sent to it.

use std::borrow::Cow;

/// How much of a digest is kept: enough to tell the parts of one brief apart.
const DIGEST: usize = 16;
/// How a text that is data begins and ends; see [`fenced`](super::fenced).
const FENCE: (&str, &str) = ("<<<data ", ">>>");

/// What was cut off a part.
const CUT: &str = "\n(the rest is left out here; the transcript of this conversation has it)";

/// A brief: a line that says what is asked, and parts with a title each.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    lead: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    title: String,
    body: String,
}

impl Parts {
    pub(crate) fn new(lead: String) -> Self {
        Self { lead, parts: Vec::new() }
    }

    /// Adds a part; one that says nothing is left out.
    pub(crate) fn add(&mut self, title: &str, body: &str) {
        if !body.trim().is_empty() {
            self.parts.push(Part { title: title.to_owned(), body: body.trim_end().to_owned() });
        }
    }

    /// Returns what each part is known by.
    pub(crate) fn digests(&self) -> Vec<String> {
        self.parts.iter().map(Part::digest).collect()
    }

    /// Returns all of it.
    pub(crate) fn whole(&self) -> String {
        self.parts.iter().fold(format!("{}\n", self.lead), |text, part| text + &part.render(usize::MAX))
    }

    /// Returns what a conversation has to be told that has the parts with these digests.
    pub(crate) fn since(&self, known: &[String]) -> String {
        let new: Vec<&Part> = self.parts.iter().filter(|part| !known.contains(&part.digest())).collect();
        let words = if new.is_empty() {
            "Nothing that you were told has changed. Go on where you were, and answer as you were asked to."
        } else {
            "What you were told before still holds; this is new or has changed. Go on, and answer as you were asked to."
        };
        let lead = format!("{}\n\n{words}\n", self.lead);
        new.iter().fold(lead, |text, part| text + &part.render(usize::MAX))
    }

    /// Returns all of it in at most `most` bytes, as far as that goes: long parts are cut.
    pub(crate) fn within(&self, most: usize) -> String {
        let mut longest = most;
        loop {
            let cut =
                self.parts.iter().fold(format!("{}\n", self.lead), |text, part| text + &part.render(longest));
            if cut.len() <= most || longest <= CUT.len() {
                return cut;
            }
            longest /= 2;
        }
    }
}

impl Part {
    /// Returns the part, with at most so many bytes of its body.
    fn render(&self, longest: usize) -> String {
        let Self { title, body } = self;
        if body.len() <= longest {
            return format!("\n## {title}\n\n{body}\n");
        }
        let shown = &body[..body.floor_char_boundary(longest)];
        // What is data must have its end.
        let end = body.lines().next_back().filter(|_| is_fenced(body)).map(|line| format!("\n{line}"));
        format!("\n## {title}\n\n{shown}{}{CUT}\n", end.unwrap_or_default())
    }

    fn digest(&self) -> String {
        let lines: Vec<Cow<'_, str>> = self.body.lines().map(settled).collect();
        short_digest(&format!("{}\n{}", self.title, lines.join("\n")))
    }
}

/// Returns what a text is known by.
pub(super) fn short_digest(text: &str) -> String {
    let mut digest = engine::digest(text);
    digest.truncate(DIGEST);
    digest
}

fn is_fenced(body: &str) -> bool {
    let last = body.lines().next_back().unwrap_or_default();
    body.contains(FENCE.0) && last.starts_with("data ") && last.ends_with(FENCE.1)
}

/// Returns a line without what is no news: the mark of a fence, which is another every time, and whether warp has ticked a box.
fn settled(line: &str) -> Cow<'_, str> {
    let is_end = line.starts_with("data ") && line.ends_with(FENCE.1);
    if is_end || line.starts_with(FENCE.0) {
        return Cow::Borrowed("");
    }
    match line.split_once("- [x] ") {
        Some((before, text)) if before.trim().is_empty() => Cow::Owned(format!("{before}- [ ] {text}")),
        Some(_) | None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(failure: &str, mark: &str) -> Parts {
        let tick = if failure.is_empty() { ' ' } else { 'x' };
        let mut parts = Parts::new("You work in the phase `coding`.".to_owned());
        parts.add("What to do", "Write code.");
        parts.add("What failed", failure);
        parts
            .add("The issue", &format!("<<<data {mark}\n# Words\n\n- [{tick}] All of them.\ndata {mark}>>>"));
        parts
    }

    #[test]
    fn a_conversation_is_told_what_it_does_not_have() {
        let first = brief("", "one");
        assert!(first.whole().contains("## What to do\n\nWrite code.\n\n## The issue\n\n<<<data one"));
        assert!(!first.whole().contains("What failed"));
        let second = brief("test 1", "two");
        let told = second.since(&first.digests());
        assert!(told.starts_with("You work in the phase `coding`.\n\nWhat you were told before still holds"));
        assert!(told.ends_with("\n## What failed\n\ntest 1\n"), "{told}");
        assert!(!told.contains("The issue"), "neither the mark of a fence nor a tick is news: {told}");
        let third = brief("test 1", "three").since(&second.digests());
        assert!(
            third.contains("Nothing that you were told has changed.") && !third.contains("##"),
            "{third}"
        );
    }

    #[test]
    fn a_long_part_is_cut_within_its_fence() {
        let mut parts = brief("", "one");
        parts.add("More", &format!("<<<data two\n{}\ndata two>>>", "ä".repeat(40_000)));
        let cut = parts.within(2_000);
        assert!(cut.len() <= 2_000 && cut.contains("Write code.") && cut.contains("All of them."), "{cut}");
        assert!(cut.contains(&format!("ä\ndata two>>>{CUT}")), "{cut}");
        assert_eq!(parts.within(200_000), parts.whole());
    }
}
