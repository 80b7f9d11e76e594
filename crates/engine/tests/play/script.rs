//! The one place that knows the engine's API: it plays a script and tells what happened.
//!
//! A script is a list of steps, parted by a comma and a space or a new line, after an optional `WORKFLOW KEY=VALUE...:`
//! (without one it is warp-drive). A step is an event with its data, or one of the words below.
//!
//! | step | meaning |
//! |---|---|
//! | `driven` | from here on the run is one that warp drives, without a line |
//! | `@PHASE` | goes to that phase by the shortest way, without a line |
//! | `+31m`, `+5ms` | lets time pass |
//! | `EVENT KEY=VALUE...` | asks; `tree`, `head`, `commits`, `diff`, `boxes`, `unseeded`, `criteria`, `gate`, `file`, `commit`, `lines`, `ran` (of tests) and `frozen` are observations, the rest is data; what evidence and receipts name is there, unless said otherwise |
//! | `agent EVENT ...`, `engine EVENT ...` | asks in that one's name |
//! | `edit FILE` | a file was edited |
//! | `question TEXT`, `defer`, `tell TEXT`, `turn AGENT`, `turned SESSION`, `idled SESSION` | questions, and agents that warp starts |
//! | `raise EVENT ...` | asks a person about an event that an advisory check refuses |
//! | `answer OPTION by NAME with EVENT KEY=VALUE...` | answers in that person's name; the event only brings observations |
//! | `suspend WHY`, `over`, `cap` | waits of an hour, and a cap that is reached |
//! | `deadline`, `attempt`, `answer OPTION`, `stop`, `resume`, `reset` | the engine's own events |
//!
//! A line shows the recorded events, where the run then stands, its counters, and the effects to be started.

use engine::{
    Actor, Ask, Boxes, Capped, CommandResult, CommitSeen, DevKind, Diff, Effect, Event, FileSeen, Line,
    Outcome, Run, Seen, Standing, Step, TestsSeen, TestsVerdict, Time, Usage, WaitKind, Worker, Workflow,
    begin,
    ledger::{CapReached, Scope, Unit},
    note_of, step,
    view::asked,
};
use serde_json::Value;

use crate::{
    oracle::Oracle,
    support::{MINUTE, beginning, clear, code_diff, find_all, settings, workflow},
};

/// Plays a script and returns its lines.
pub(crate) fn play(script: &str) -> String {
    play_to(script).1
}

/// Plays a script and returns the run as it then stands, and the lines.
pub(crate) fn play_to(script: &str) -> (Run, String) {
    let player = played(script);
    (player.run, player.lines.join("\n"))
}

fn played(script: &str) -> Player {
    let (head, steps) = script.split_once(": ").unwrap_or(("warp-drive", script));
    let mut words = head.split_whitespace();
    let name = words.next().expect("the name of a workflow");
    let values = words.map(|word| word.split_once('=').expect("KEY=VALUE"));
    let mut player = Player::new(workflow(name), values.map(|(key, value)| (key, read(value))));
    for one in steps.replace(",\n", ", ").split(", ").map(str::trim).filter(|one| !one.is_empty()) {
        player.play(one);
    }
    player
}

/// Reads a value as JSON, or else as a text.
fn read(value: &str) -> Value {
    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()))
}

struct Player {
    workflow: &'static Workflow,
    run: Run,
    at: Time,
    lines: Vec<String>,
}

impl Player {
    fn new<'a>(workflow: &'static Workflow, values: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let Step { run, .. } = begin(workflow, beginning(settings(values)));
        Self { workflow, at: run.started_at, run, lines: Vec::new() }
    }

    fn play(&mut self, text: &str) {
        if text == "driven" {
            self.run.owns_workspace = true;
        } else if let Some(phase) = text.strip_prefix('@') {
            self.go(phase);
        } else if let Some(passed) = text.strip_prefix('+') {
            let (number, unit) = passed.split_at(passed.find('m').expect("a unit"));
            let unit = if unit == "ms" { 1 } else { MINUTE };
            self.at = Time::from_millis(self.at.millis() + number.parse::<i64>().expect("a number") * unit);
        } else {
            let ask = self.ask(text);
            match step(self.workflow, &self.run, &ask) {
                Ok(step) => {
                    self.lines.push(line(text, &step));
                    self.lines.extend(step.advice.iter().map(|advice| format!("  {}", advice.0)));
                    self.run = step.run;
                }
                Err(refused) => {
                    self.lines.push(format!("{text}: refused: {refused}"));
                    if let Some(note) = note_of(self.workflow, &self.run, &ask, &refused) {
                        self.run = note.run;
                    }
                }
            }
        }
    }

    fn go(&mut self, phase: &str) {
        let way = Oracle::of(&self.workflow.name).way(self.run.phase.as_str(), phase);
        for event in way.unwrap_or_else(|| panic!("no way from {} to {phase}", self.run.phase)) {
            let step = step(self.workflow, &self.run, &clear(event, self.at));
            self.run = step.unwrap_or_else(|refused| panic!("on the way to {phase}: {refused}")).run;
        }
        assert_eq!(self.run.phase, phase, "a budget was in the way");
    }

    fn ask(&self, text: &str) -> Ask {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let event = match word {
            "agent" => return Ask { actor: Actor::Agent, ..self.ask(rest) },
            "engine" => return Ask { actor: Actor::Engine, ..self.ask(rest) },
            "edit" => Event::FileEdited { file: rest.to_owned() },
            "deadline" => Event::DeadlinePassed,
            "attempt" => {
                Event::AttemptStarted { effect: self.run.effect.as_ref().expect("an effect").id.clone() }
            }
            "raise" => {
                let ask = self.ask(rest);
                let refused = step(self.workflow, &self.run, &ask).expect_err("a refusal");
                let refused = refused.to_overrule(ask.actor, &ask.data).expect("an advisory refusal");
                let event = Event::RefusalRaised { refused: Box::new(refused) };
                return Ask { actor: Actor::Engine, ..Ask::new(event, self.at) };
            }
            "answer" if rest.contains(" with ") => {
                let (answer, with) = rest.split_once(" with ").expect("it was found");
                let (option, by) = answer.split_once(" by ").expect("OPTION by NAME");
                let mut ask = self.ask(&format!("answer {option}"));
                ask.observations = self.ask(with).observations;
                ask.data.insert("by".to_owned(), Value::from(by));
                return ask;
            }
            "answer" if !rest.is_empty() => {
                let (option, note) = rest.split_once(" note=").unwrap_or((rest, ""));
                let id = asked(self.workflow, &self.run).map_or("r1.0".to_owned(), |asked| asked.id);
                let event = Event::DecisionAnswered { decision: id, option: option.to_owned() };
                let mut ask = Ask::new(event, self.at);
                if !note.is_empty() {
                    ask.data.insert("note".to_owned(), Value::from(note));
                }
                return ask;
            }
            "question" => Event::QuestionAsked {
                kind: "scope".to_owned(),
                question: rest.to_owned(),
                options: vec!["yes".to_owned(), "no".to_owned()],
            },
            "provider" => Event::QuestionAsked {
                kind: engine::PROVIDER.to_owned(),
                question: rest.to_owned(),
                options: vec!["continue".to_owned()],
            },
            "defer" => Event::ChunkDeferred { why: "nobody answered".to_owned() },
            "advice" => Event::DevSeen { kind: DevKind::SeedsMissing, text: rest.to_owned() },
            "tell" => Event::Told { text: rest.to_owned() },
            "turn" => Event::TurnStarted { worker: Worker { agent: rest.to_owned(), ..Worker::default() } },
            "converse" => Event::ConversationBegun { session: rest.to_owned() },
            "suspend" => Event::Suspended {
                kind: WaitKind::Limit,
                why: rest.to_owned(),
                until: Some(self.at.plus_minutes(60)),
            },
            "over" => Event::WaitOver,
            "cap" => Event::CapReached {
                capped: Capped {
                    name: "r1".to_owned(),
                    cap: CapReached {
                        cap: Scope::Run,
                        unit: Unit::Usd,
                        limit: 20_000_000,
                        spent: 20_030_000,
                    },
                },
            },
            "turned" | "idled" => Event::TurnEnded {
                is_idle: word == "idled",
                how: "answered".to_owned(),
                session: Some(rest.to_owned()).filter(|session| !session.is_empty()),
                brief: vec!["a digest".to_owned()],
                usage: Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() },
                context: 10,
            },
            "stop" => Event::StopRequested,
            "resume" => Event::Resumed,
            "reset" => Event::ResetRequested,
            _ => return self.named(word, rest),
        };
        Ask::new(event, self.at)
    }

    fn named(&self, event: &str, rest: &str) -> Ask {
        let mut ask = clear(event, self.at);
        let mut found: Vec<(&str, &str)> = Vec::new();
        for word in rest.split_whitespace() {
            let (key, value) = word.split_once('=').unwrap_or_else(|| panic!("KEY=VALUE, not {word}"));
            let seen = || Some(Seen::Value(value.to_owned()));
            match key {
                "tree" => ask.observations.tree = seen(),
                "head" => ask.observations.head = seen(),
                "commits" => ask.observations.commits = see_commits(value),
                "diff" => ask.observations.diff = see_diff(value),
                "boxes" => ask.observations.boxes = see_boxes(value),
                "unseeded" => {
                    let tables = value.split(';').map(str::to_owned).collect();
                    ask.observations.unseeded = Some(Seen::Value(tables));
                }
                "criteria" => ask.observations.has_criteria = Some(Seen::Value(value == "given")),
                "gate" => ask.observations.commands.extend(command(value)),
                "ran" => ask.observations.tests = Some(see_tests(value)),
                "frozen" => ask.observations.frozen = Some(see_frozen(value)),
                "file" | "commit" | "lines" => found.push((key, value)),
                _ => {
                    ask.data.insert(key.to_owned(), read(value));
                }
            }
        }
        find_all(self.workflow, &self.run, &mut ask);
        for (key, value) in found {
            match key {
                "file" => ask.observations.receipts.iter_mut().for_each(|seen| seen.file = see_file(value)),
                "commit" => {
                    ask.observations.receipts.iter_mut().for_each(|seen| seen.commit = see_commit(value));
                }
                _ => ask.observations.lines = see_lines(value),
            }
        }
        ask
    }
}

/// Reads `missing`, `empty`, `outside`, `uncommitted`, `unseen` or, for a good file, the digest of its content.
fn see_file(value: &str) -> Option<Seen<FileSeen>> {
    let digest = Some(value.to_owned());
    let good = FileSeen { is_inside: true, in_tree: Some(9), at_commit: Some(9), digest };
    Some(Seen::Value(match value {
        "unseen" => return None,
        "missing" => FileSeen { in_tree: None, at_commit: None, digest: None, ..good },
        "empty" => FileSeen { in_tree: Some(0), ..good },
        "outside" => FileSeen::default(),
        "uncommitted" => FileSeen { at_commit: None, ..good },
        _ => good,
    }))
}

/// Reads `missing`, `foreign`, `old`, `absent`, `unseen` or, for a good commit, its hash.
fn see_commit(value: &str) -> Option<Seen<CommitSeen>> {
    let good = CommitSeen {
        hash: value.to_owned(),
        at: Time::from_millis(i64::MAX),
        is_in_history: true,
        is_new: Some(true),
    };
    Some(match value {
        "unseen" => return None,
        "missing" => Seen::Failed("there is no such commit".to_owned()),
        "absent" => Seen::Absent("there is no git repository".to_owned()),
        "foreign" => Seen::Value(CommitSeen { is_in_history: false, ..good }),
        "old" => Seen::Value(CommitSeen { is_new: Some(false), ..good }),
        "earlier" => Seen::Value(CommitSeen { is_new: None, at: Time::from_millis(0), ..good }),
        _ => Seen::Value(good),
    })
}

/// Reads `absent`, `broken` or, parted by semicolons, the verdicts of test commands; `some` fail and one passes.
fn see_tests(value: &str) -> Seen<Vec<TestsSeen>> {
    let one = |word: &str| TestsSeen {
        command: "sh a.sh".to_owned(),
        end: if word == "passed" { "exit 0" } else { "exit 1" }.to_owned(),
        verdict: match word {
            "passed" => TestsVerdict::Passed,
            "errored" => TestsVerdict::Errored,
            _ => TestsVerdict::Failed,
        },
        passed: u64::from(word == "some"),
        output: "not ok".to_owned(),
    };
    match value {
        "absent" => Seen::Absent("no command is known".to_owned()),
        "broken" => Seen::Failed("sh: gone".to_owned()),
        value => Seen::Value(value.split(';').map(one).collect()),
    }
}

/// Reads `same`, `broken` or the names of frozen files that were changed.
fn see_frozen(value: &str) -> Seen<Vec<String>> {
    match value {
        "broken" => Seen::Failed("git: exit 128".to_owned()),
        "same" => Seen::Value(Vec::new()),
        value => Seen::Value(value.split(';').map(str::to_owned).collect()),
    }
}

/// Reads `none`, `absent`, `broken`, `unseen` or `FILE:LINE;FILE:LINE`.
fn see_lines(value: &str) -> Option<Seen<Vec<Line>>> {
    let line = |text: &str| {
        let (file, line) = text.split_once(':').expect("FILE:LINE");
        Line { file: file.to_owned(), line: line.parse().expect("a number") }
    };
    Some(match value {
        "unseen" => return None,
        "none" => Seen::Value(Vec::new()),
        "absent" => Seen::Absent("there is no git repository".to_owned()),
        "broken" => Seen::Failed("git: exit 128".to_owned()),
        value => Seen::Value(value.split(';').map(line).collect()),
    })
}

/// Reads `none`, `absent`, `broken` or `HASH;HASH`, oldest first.
fn see_commits(value: &str) -> Option<Seen<Vec<String>>> {
    Some(match value {
        "none" => Seen::Value(Vec::new()),
        "absent" => Seen::Absent("there is no git repository".to_owned()),
        "broken" => Seen::Failed("git: exit 128".to_owned()),
        value => Seen::Value(value.split(';').map(str::to_owned).collect()),
    })
}

/// Reads `FILE;FILE`, a diff without a word of the criteria if it begins with `~`, or `nothing`, `unseen`,
/// `absent`, `broken`.
fn see_diff(value: &str) -> Option<Seen<Diff>> {
    let files = |text: &str| text.split(';').map(str::to_owned).collect::<Vec<_>>();
    let seen = match value {
        "unseen" => return None,
        "absent" => return Some(Seen::Absent("there is no repository".to_owned())),
        "broken" => return Some(Seen::Failed("git: exit 128".to_owned())),
        "nothing" => Diff { files: Vec::new(), count: 0, shared_words: Vec::new() },
        value => match value.strip_prefix('~') {
            Some(value) => Diff { files: files(value), shared_words: Vec::new(), ..code_diff() },
            None => Diff { files: files(value), ..code_diff() },
        },
    };
    let count = seen.files.len();
    Some(Seen::Value(Diff { count, ..seen }))
}

/// Reads `TICKED/TOTAL` with the texts of two criteria first, or `unseen`, `absent`, `broken`.
fn see_boxes(value: &str) -> Option<Seen<Boxes>> {
    let texts = ["The login page opens the dashboard", "The README tells how"];
    match value {
        "unseen" => None,
        "absent" => Some(Seen::Absent("the issue has no text".to_owned())),
        "broken" => Some(Seen::Failed("gh: exit 1".to_owned())),
        value => {
            let (checked, total) = value.split_once('/').expect("TICKED/TOTAL");
            let (checked, total): (usize, usize) =
                (checked.parse().expect("TICKED"), total.parse().expect("TOTAL"));
            let text = |index: usize| texts.get(index).copied().unwrap_or("More").to_owned();
            Some(Seen::Value(Boxes {
                items: (0..total).map(|index| (index < checked, text(index))).collect(),
            }))
        }
    }
}

/// Reads `COMMAND:passed` or `COMMAND:failed`, and after another `:` the names of tests that it prints.
fn command(value: &str) -> Option<CommandResult> {
    let (command, end) = value.split_once(':').expect("COMMAND:END");
    let (end, names) = end.split_once(':').unwrap_or((end, ""));
    let passed = end == "passed";
    let (end, output) = if passed { ("exit 0", "") } else { ("exit 2", "warning: unused") };
    Some(CommandResult {
        command: command.to_owned(),
        passed,
        end: end.to_owned(),
        output: output.to_owned(),
        names: names.split(';').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
    })
}

/// Writes one line about an accepted ask.
fn line(asked: &str, step: &Step) -> String {
    let follow: String = step.records[1..].iter().map(|record| format!(", then {}", record.event)).collect();
    let run = &step.run;
    let reason = run.phase_reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let by = match &step.outcome {
        Outcome::Redirected { reasons } => format!(", redirected by {}", reasons.join(" and ")),
        Outcome::Moved | Outcome::Noted | Outcome::Parked { .. } => String::new(),
    };
    let standing = match &run.standing {
        Standing::Active => String::new(),
        Standing::Parked { decision } => format!(", parked on {}: {}", decision.id, decision.question),
        Standing::Suspended { wait } => format!(", waits: {wait}"),
        Standing::Stopped => ", stopped".to_owned(),
        Standing::Ended { how } => format!(", ended ({how})"),
    };
    let counters = run.counters.iter().filter(|(_, value)| **value > 0);
    let counters: Vec<String> = counters.map(|(name, value)| format!("{name} {value}")).collect();
    let counters = if counters.is_empty() { String::new() } else { format!(" [{}]", counters.join(", ")) };
    let effect = |effect: &Effect| match effect.attempt {
        1 => format!(" {}", effect.id),
        attempt => format!(" {}#{attempt}", effect.id),
    };
    let effects: String = step.effects.iter().map(effect).collect();
    format!("{asked}{follow}: {}{reason}{by}{standing}{counters}{effects}", run.phase)
}
