//! A brief in parts. A conversation remembers what it was told, so that only the parts which it does not have are sent to it.

/// How much of a digest is kept: enough to tell the parts of one brief apart.
const DIGEST: usize = 16;
/// Parts are not cut below this, in bytes.
const SHORTEST: usize = 64;
/// How a text that is data begins and ends; see [`fence`](super::text::fence).
const FENCE: (&str, &str) = ("<<<data ", ">>>");

/// A brief: how it begins in every phase of a run, and parts with a title each.
#[derive(Clone, Debug)]
pub struct Parts {
    lead: String,
    /// What says what is asked, with which the part about the task begins.
    task: String,
    words: Words,
    parts: Vec<Part>,
    /// How many of them stay as they are for a while.
    lasting: usize,
}

/// What is said of a brief that is not sent whole.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// Before nothing.
    pub unchanged: &'static str,
    /// Before parts that are new or have changed.
    pub changed: &'static str,
    /// Where a part was cut.
    pub cut: &'static str,
}

#[derive(Clone, Debug)]
struct Part {
    title: String,
    body: String,
}

impl Parts {
    /// Makes a brief without parts.
    pub fn new(lead: String, task: String, words: Words) -> Self {
        Self { lead, task, words, parts: Vec::new(), lasting: 0 }
    }

    /// Adds a part; one that says nothing is left out.
    pub fn add(&mut self, title: &str, body: &str) {
        if !body.trim().is_empty() {
            self.parts.push(Part { title: title.to_owned(), body: body.trim_end().to_owned() });
        }
    }

    /// Says that the parts so far stay as they are for a while; what follows is news.
    pub fn end_lasting(&mut self) {
        self.lasting = self.parts.len();
    }

    /// Returns what each part is known by that stays as it is for a while.
    pub fn lasting(&self) -> Vec<String> {
        self.parts[..self.lasting].iter().map(Part::digest).collect()
    }

    /// Returns what each part is known by.
    pub fn digests(&self) -> Vec<String> {
        self.parts.iter().map(Part::digest).collect()
    }

    /// Returns all of it.
    pub fn whole(&self) -> String {
        self.parts
            .iter()
            .fold(format!("{}\n", self.lead), |text, part| text + &part.render(usize::MAX, self.words.cut))
    }

    /// Returns what a conversation has to be told that has the parts with these digests.
    pub fn since(&self, known: &[String]) -> String {
        let new: Vec<&Part> = self.parts.iter().filter(|part| !known.contains(&part.digest())).collect();
        let words = if new.is_empty() { self.words.unchanged } else { self.words.changed };
        let task = if new.iter().any(|part| part.body.starts_with(&self.task)) { "" } else { &self.task };
        let lead = format!("{task}\n\n{words}\n").trim_start().to_owned();
        new.iter().fold(lead, |text, part| text + &part.render(usize::MAX, self.words.cut))
    }

    /// Returns all of it in at most `most` bytes, as far as that goes: long parts are cut.
    pub fn within(&self, most: usize) -> String {
        let mut longest = most;
        loop {
            let cut = self
                .parts
                .iter()
                .fold(format!("{}\n", self.lead), |text, part| text + &part.render(longest, self.words.cut));
            if cut.len() <= most || longest <= SHORTEST {
                return cut;
            }
            longest /= 2;
        }
    }
}

impl Part {
    /// Returns the part, with at most so many bytes of its body.
    fn render(&self, longest: usize, cut: &str) -> String {
        let Self { title, body } = self;
        if body.len() <= longest {
            return format!("\n## {title}\n\n{body}\n");
        }
        let shown = &body[..body.floor_char_boundary(longest)];
        // What is data must have its end.
        let end = body.lines().next_back().filter(|_| is_fenced(body)).map(|line| format!("\n{line}"));
        format!("\n## {title}\n\n{shown}{}\n{cut}\n", end.unwrap_or_default())
    }

    fn digest(&self) -> String {
        short_digest(&format!("{}\n{}", self.title, self.body))
    }
}

/// Returns what a text is known by.
fn short_digest(text: &str) -> String {
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
    use crate::brief::text;

    fn brief(failure: &str) -> Parts {
        let mut parts = Parts::new("You work.".to_owned(), "You code.".to_owned(), text::DRIVEN);
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
        assert!(cut.contains(&format!("ä\ndata two>>>\n{}", text::DRIVEN.cut)), "{cut}");
        assert_eq!(parts.within(200_000), parts.whole());
    }
}
