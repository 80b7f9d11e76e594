//! A brief in parts. A conversation remembers what it was told, so that only the parts which it does not have are sent to it.

/// How much of a digest is kept: enough to tell the parts of one brief apart.
const DIGEST: usize = 16;
/// How a text that is data begins and ends; see [`fence`](super::text::fence).
const FENCE: (&str, &str) = ("<<<data ", ">>>");

/// What was cut off a part.
const CUT: &str = "\n(the rest is left out here; the transcript of this conversation has it)";

/// A brief: how it begins in every phase of a run, and parts with a title each.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    lead: String,
    /// The line that says what is asked, with which the part about the task begins.
    task: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    title: String,
    body: String,
}

impl Parts {
    pub(crate) fn new(lead: String, task: String) -> Self {
        Self { lead, task, parts: Vec::new() }
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
            "Nothing that you were told has changed. Continue where you were, and answer as you were asked to."
        } else {
            "What you were told before still holds; this is new or has changed. Continue, and answer as you were asked to."
        };
        let task = if new.iter().any(|part| part.body.starts_with(&self.task)) { "" } else { &self.task };
        let lead = format!("{task}\n\n{words}\n").trim_start().to_owned();
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
        short_digest(&format!("{}\n{}", self.title, self.body))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn brief(failure: &str) -> Parts {
        let mut parts = Parts::new("You work.".to_owned(), "You code.".to_owned());
        parts.add("The issue", "<<<data one\n# Words\n\n- AC-01: all of them.\ndata one>>>");
        parts.add("Your task", "You code.\n\nWrite code.");
        parts.add("What failed", failure);
        parts
    }

    #[test]
    fn a_conversation_is_told_what_it_does_not_have() {
        let first = brief("");
        assert!(first.whole().starts_with("You work.\n\n## The issue\n\n<<<data one"), "{}", first.whole());
        assert!(!first.whole().contains("What failed"));
        let second = brief("test 1");
        let told = second.since(&first.digests());
        assert!(told.starts_with("You code.\n\nWhat you were told before still holds"), "{told}");
        assert!(told.ends_with("\n## What failed\n\ntest 1\n") && !told.contains("The issue"), "{told}");
        let third = brief("test 1").since(&second.digests());
        assert!(
            third.contains("Nothing that you were told has changed.") && !third.contains("##"),
            "{third}"
        );
    }

    #[test]
    fn a_long_part_is_cut_within_its_fence() {
        let mut parts = brief("");
        parts.add("More", &format!("<<<data two\n{}\ndata two>>>", "ä".repeat(40_000)));
        let cut = parts.within(2_000);
        assert!(cut.len() <= 2_000 && cut.contains("Write code.") && cut.contains("all of them."), "{cut}");
        assert!(cut.contains(&format!("ä\ndata two>>>{CUT}")), "{cut}");
        assert_eq!(parts.within(200_000), parts.whole());
    }
}
