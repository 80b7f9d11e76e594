//! Acceptance criteria for an issue that has none: an agent proposes them, a person confirms them, and they are written
//! into the issue.
//!
//! A line above them says whose they are. Criteria that nobody has confirmed are asked about again by every later run.

use engine::{
    ACCEPT, CRITERIA, Event, MOST_CRITERIA, Run, Seen, keys, read_boxes, workflow::Answer as Asked,
};
use forge::{Edit, ForgeError, ItemId};
use serde_json::{Map, Value, json};

use crate::{Current, Error, Workspace};

const HEADING: &str = "## Acceptance criteria";
/// What stands above criteria that nobody has confirmed.
const UNCONFIRMED: &str = "Proposed by the agent; nobody has confirmed them.";
/// The most characters of a criterion that is proposed.
pub(crate) const LONGEST: usize = 200;

/// What the issue of a run says about when it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Criteria {
    /// Somebody wrote or confirmed criteria, or the run needs none.
    Given,
    Missing,
    /// An agent proposed these in an earlier run.
    Unconfirmed(Vec<String>),
}

impl Workspace {
    /// Tells whether a run that warp drives has criteria to work by, where its workflow asks an agent for a plan.
    pub fn criteria_of(&mut self, current: &Current) -> Result<Criteria, Error> {
        let run = &current.run;
        let plans = current.workflow.phases.iter().any(|phase| phase.answer == Asked::Plan);
        let is_meant = plans && run.owner.is_driver();
        let Some(number) = run.issue.as_deref().filter(|_| is_meant).and_then(ItemId::typed) else {
            return Ok(Criteria::Given);
        };
        Ok(self.read_criteria(number)?)
    }

    /// Looks up for a plan whether the issue has criteria to work by.
    pub(crate) fn has_criteria(&mut self, issue: &str) -> Seen<bool> {
        match ItemId::typed(issue).map(|number| self.read_criteria(number)) {
            Some(Ok(criteria)) => Seen::Value(criteria == Criteria::Given),
            Some(Err(error)) => Seen::Failed(error.to_string()),
            None => Seen::Absent(format!("{issue} is no issue")),
        }
    }

    fn read_criteria(&mut self, number: ItemId) -> Result<Criteria, ForgeError> {
        Ok(match self.tracker().item(number)? {
            Some(item) if item.is_capability() => Criteria::Given,
            Some(item) => read(&item.body),
            None => Criteria::Given,
        })
    }

    /// Writes proposed criteria into the run's issue, unless it has criteria that somebody wrote or confirmed.
    pub fn write_criteria(
        &mut self,
        current: &Current,
        criteria: &[String],
        by: Option<&str>,
    ) -> Result<(), Error> {
        let Some(number) = current.run.issue.as_deref().and_then(ItemId::typed) else { return Ok(()) };
        if criteria.is_empty() || self.criteria_of(current)? == Criteria::Given {
            return Ok(());
        }
        let item = self.tracker().get(number)?;
        let body = Some(written(&item.body, criteria, by));
        self.tracker().edit(number, &Edit { title: None, body, base: Some(item.body.clone()) })?;
        Ok(())
    }
}

/// Returns the criteria that come with a plan, each as one line.
pub fn proposed(plan: &Map<String, Value>) -> Vec<String> {
    let lines = plan.get("criteria").and_then(Value::as_array).into_iter().flatten();
    let clean = |line: &str| {
        // A comment would hide what follows it in the issue.
        let line = line.replace("<!--", " ");
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let bare = line.trim_start_matches(['-', '*', '+', ' ']);
        let bare =
            ["[ ]", "[]", "[x]", "[X]"].iter().find_map(|mark| bare.strip_prefix(mark)).unwrap_or(bare);
        bare.trim().chars().take(LONGEST).collect::<String>()
    };
    let mut found: Vec<String> = Vec::new();
    for line in lines.filter_map(Value::as_str).map(clean) {
        if !line.is_empty() && !found.contains(&line) && found.len() < MOST_CRITERIA {
            found.push(line);
        }
    }
    found
}

/// Returns the question whether the criteria that come with a plan are right, with that plan.
pub fn confirmation(run: &Run, criteria: &Criteria, plan: Map<String, Value>) -> (Event, Map<String, Value>) {
    let whose = match criteria {
        Criteria::Unconfirmed(_) => "nobody has confirmed them yet",
        Criteria::Given | Criteria::Missing => "the issue has none, and the agent proposes these",
    };
    let mut question = format!("Are these acceptance criteria right ({whose})?");
    for line in proposed(&plan) {
        question.push_str(&format!("\n- {line}"));
    }
    let approach = plan.get("approach").and_then(Value::as_str).unwrap_or_default();
    if run.settings.get(keys::APPROVE_PLAN) && !approach.is_empty() {
        question.push_str(&format!("\nAnd is this plan right?\n{approach}"));
    }
    let options = [ACCEPT, "reject", "stop"].map(str::to_owned).to_vec();
    let event = Event::QuestionAsked { kind: CRITERIA.to_owned(), question, options };
    (event, Map::from_iter([("plan".to_owned(), json!(plan))]))
}

fn read(body: &str) -> Criteria {
    let boxes = read_boxes(body).items;
    if boxes.is_empty() {
        return Criteria::Missing;
    }
    if body.lines().any(|line| line.trim() == UNCONFIRMED) {
        return Criteria::Unconfirmed(boxes.into_iter().map(|(_, text)| text).collect());
    }
    Criteria::Given
}

/// Returns an issue's text with these criteria, and with whose they are.
fn written(body: &str, criteria: &[String], by: Option<&str>) -> String {
    let whose = match by {
        Some(by) => {
            let by = by.split_whitespace().collect::<Vec<_>>().join(" ");
            format!("Proposed by the agent, confirmed by {by}.")
        }
        None => UNCONFIRMED.to_owned(),
    };
    if read(body) == Criteria::Unconfirmed(criteria.to_vec()) {
        return body.replace(UNCONFIRMED, &whose);
    }
    let lines: String = criteria.iter().map(|line| format!("- [ ] {line}\n")).collect();
    let section = format!("{HEADING}\n\n{whose}\n\n{lines}");
    let before = without_proposal(body);
    let before = before.trim_end();
    let orders = match before {
        "" => vec![section],
        // Where the text ends in an open code fence, only what stands before it is read.
        text => vec![format!("{text}\n\n{section}"), format!("{section}\n{text}\n")],
    };
    let is_read = |text: &&String| read_boxes(text).items.len() == criteria.len();
    orders.iter().find(is_read).or(orders.last()).cloned().unwrap_or_default()
}

/// Leaves out the section of criteria that nobody has confirmed.
fn without_proposal(body: &str) -> String {
    let head = format!("{HEADING}\n\n{UNCONFIRMED}\n");
    let Some((before, rest)) = body.split_once(&head) else { return body.to_owned() };
    let after = rest.find("\n#").map_or("", |at| &rest[at + 1..]);
    format!("{before}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn proposed_criteria_are_single_lines_without_boxes() {
        let plan =
            json!({ "criteria": [" - [ ] one\n two ", "", "one two", "<!-- three", 4, "x".repeat(300)] });
        let found = proposed(plan.as_object().unwrap());
        assert_eq!(found[..2], lines(&["one two", "three"]));
        assert_eq!((found.len(), found[2].len()), (3, LONGEST));
        let many = json!({ "criteria": (0..30).map(|line| line.to_string()).collect::<Vec<_>>() });
        assert_eq!(proposed(many.as_object().unwrap()).len(), MOST_CRITERIA);
        assert_eq!(proposed(&Map::new()), Vec::<String>::new());
    }

    #[test]
    fn criteria_are_written_with_whose_they_are_and_confirmed_in_place() {
        let proposal = lines(&["it greets", "it ends"]);
        let body = written("Greet.\n", &proposal, None);
        assert_eq!(
            body,
            "Greet.\n\n## Acceptance criteria\n\nProposed by the agent; nobody has confirmed them.\n\n- [ ] it greets\n- [ ] it ends\n"
        );
        assert_eq!(read(&body), Criteria::Unconfirmed(proposal.clone()));
        let ticked = body.replace("[ ] it greets", "[x] it greets");
        let confirmed = written(&ticked, &proposal, Some("Ann\nLee"));
        assert!(
            confirmed.contains("Proposed by the agent, confirmed by Ann Lee.\n\n- [x] it greets"),
            "{confirmed}"
        );
        assert_eq!(read(&confirmed), Criteria::Given);
        let other = written(&format!("{body}\n## Notes\n\nMore.\n"), &lines(&["it sings"]), Some("Ann"));
        assert_eq!(
            other,
            "Greet.\n\n## Notes\n\nMore.\n\n## Acceptance criteria\n\nProposed by the agent, confirmed by Ann.\n\n- [ ] it sings\n"
        );
    }

    #[test]
    fn criteria_are_read_again_whatever_the_text_ends_with() {
        for body in ["", "```\nopen", "## Depends on\n\n- [ ] #3", "<!-- open", "- x"] {
            let body = written(body, &lines(&["it greets"]), Some("Ann"));
            let texts: Vec<String> = read_boxes(&body).items.into_iter().map(|(_, text)| text).collect();
            assert_eq!(texts, ["it greets"], "{body}");
        }
    }
}
