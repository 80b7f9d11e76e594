//! The decision itself: level and setting in, what leaves the machine out.

/// The setting `push`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// A person decides once for the project; until then nothing leaves.
    Ask,
    Never,
    Branch,
    Target,
}

impl Push {
    pub const ALL: [Self; 4] = [Self::Never, Self::Branch, Self::Target, Self::Ask];

    /// Reads a value of the setting. A run that began before there was one is asked about.
    pub fn parse(word: &str) -> Self {
        Self::ALL.into_iter().find(|push| push.as_str() == word).unwrap_or(Self::Ask)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Never => "never",
            Self::Branch => "branch",
            Self::Target => "target",
        }
    }
}

/// How a run's work ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Level 1: a person does what leaves the machine.
    Stay,
    /// Level 2, and level 3 without `auto_merge`: a pull request.
    HandOver,
    /// Level 3: the merge target is moved.
    Merge,
}

impl Goal {
    /// Returns the goal of a run at a level.
    pub fn of(level: u64, auto_merge: bool) -> Self {
        match level {
            0 | 1 => Self::Stay,
            2 => Self::HandOver,
            _ if auto_merge => Self::Merge,
            _ => Self::HandOver,
        }
    }

    /// Returns what the state file calls the way that the work gets to its target.
    pub fn strategy(self) -> &'static str {
        match self {
            Self::Stay => "manual",
            Self::HandOver => "pull-request",
            Self::Merge => "ff-only",
        }
    }
}

/// What leaves the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaves {
    Nothing,
    /// The run's branch.
    Branch,
    /// The merge target.
    Target,
}

/// Says what leaves. A question that nobody has answered is a no.
pub(super) fn leaves(push: Push, goal: Goal) -> Leaves {
    match (push, goal) {
        (_, Goal::Stay) | (Push::Never | Push::Ask, _) => Leaves::Nothing,
        (Push::Branch, Goal::HandOver | Goal::Merge) | (Push::Target, Goal::HandOver) => Leaves::Branch,
        (Push::Target, Goal::Merge) => Leaves::Target,
    }
}

/// Tells whether a person is asked before a run begins: there is something to decide, and somebody to decide it.
pub(super) fn asks(push: Push, goal: Goal, is_attended: bool) -> bool {
    push == Push::Ask && goal != Goal::Stay && is_attended
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the whole decision as a table, for the documentation.
    fn table() -> String {
        let goals = [Goal::Stay, Goal::HandOver, Goal::Merge];
        let cell = |push, goal, is_attended| {
            if asks(push, goal, is_attended) {
                return "you are asked once";
            }
            match (leaves(push, goal), goal) {
                (Leaves::Nothing, Goal::Stay) => "nothing",
                (Leaves::Nothing, Goal::HandOver) => "nothing; the pull request is in your repository only",
                (Leaves::Nothing, Goal::Merge) => "nothing; `main` moves in your repository only",
                (Leaves::Branch, Goal::Merge) => "the branch; `main` moves in your repository only",
                (Leaves::Branch, _) => "the branch",
                (Leaves::Target, _) => "`main`",
            }
        };
        let mut text = "| `push` | level 1 | level 2 | level 3 |\n|---|---|---|---|\n".to_owned();
        let mut row = |name: &str, push, is_attended| {
            let cells = goals.map(|goal| cell(push, goal, is_attended));
            text.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
        };
        for push in [Push::Never, Push::Branch, Push::Target] {
            row(&format!("`{}`", push.as_str()), push, true);
        }
        row("`ask`, at a terminal", Push::Ask, true);
        row("`ask`, nobody there", Push::Ask, false);
        text
    }

    #[test]
    fn level_setting_and_presence_decide_what_leaves() {
        use {Goal::*, Leaves::*};
        for (push, expected) in [
            ("never", [Nothing, Nothing, Nothing]),
            ("branch", [Nothing, Branch, Branch]),
            ("target", [Nothing, Branch, Target]),
            ("ask", [Nothing, Nothing, Nothing]),
            ("", [Nothing, Nothing, Nothing]),
        ] {
            let found = [Stay, HandOver, Merge].map(|goal| leaves(Push::parse(push), goal));
            assert_eq!(found, expected, "{push}");
        }
        assert_eq!([1, 2, 3].map(|level| Goal::of(level, true)), [Stay, HandOver, Merge]);
        assert_eq!(Goal::of(3, false), HandOver);
        for push in Push::ALL {
            for goal in [Stay, HandOver, Merge] {
                assert!(!asks(push, goal, false), "nobody is there");
                assert_eq!(asks(push, goal, true), push == Push::Ask && goal != Stay);
            }
        }
    }

    #[test]
    fn the_documentation_has_the_same_table() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run.md");
        let page = std::fs::read_to_string(page).unwrap();
        assert!(page.contains(&table()), "docs/run.md must hold:\n{}", table());
    }
}
