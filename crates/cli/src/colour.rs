//! Colours, where somebody sees them: at a terminal that has them, unless `NO_COLOR` or `CLICOLOR=0` says otherwise.
//!
//! Few things have one: the phase, what went well, what failed, what waits for a person. Each is said in words as well.

use std::{
    env,
    io::{self, IsTerminal as _},
};

/// What a colour means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Good,
    Bad,
    /// A person has to do something.
    Waiting,
    Phase,
}

impl Colour {
    /// Puts the colour around a text that holds nothing which acts on a terminal.
    pub(crate) fn paint(self, text: &str) -> String {
        let code = match self {
            Self::Good => "32",
            Self::Bad => "31",
            Self::Waiting => "33",
            Self::Phase => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Tells whether the standard output shows colours.
pub(crate) fn is_on_stdout() -> bool {
    is_wanted(io::stdout().is_terminal(), |name| env::var(name).ok())
}

/// Tells whether the standard error shows colours.
pub(crate) fn is_on_stderr() -> bool {
    is_wanted(io::stderr().is_terminal(), |name| env::var(name).ok())
}

fn is_wanted(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is = |name: &str, value: &str| variable(name).is_some_and(|set| set == value);
    let refused = variable("NO_COLOR").is_some_and(|set| !set.is_empty());
    is_terminal && !refused && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_user_has_not_refused_them() {
        let wanted = |is_terminal: bool, set: &[(&str, &str)]| {
            is_wanted(is_terminal, |name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(wanted(true, &[]) && wanted(true, &[("NO_COLOR", ""), ("CLICOLOR", "1"), ("TERM", "xterm")]));
        assert!(!wanted(false, &[]) && !wanted(false, &[("CLICOLOR", "1")]));
        for refused in [("NO_COLOR", "1"), ("NO_COLOR", "0"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            assert!(!wanted(true, &[refused]), "{refused:?}");
        }
    }
}
