//! The settings that a run is pinned to: names, defaults and purposes in one table, values checked once.
//!
//! Where a value came from (a file, the environment, a flag) is not known here: layers are put together
//! at the edge and handed over as checked [`Settings`].

mod order;

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, OnceLock},
};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error as _, MapAccess, Visitor},
    ser::SerializeMap as _,
};
use serde_json::{Value, json};

pub use order::{Limited, Rule, SetBy, Tighter};

/// What a setting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number of zero or more.
    Count,
    /// An amount of money.
    Amount,
    /// True or false.
    Flag,
    /// Free text.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Lists of shell commands, by event.
    Commands,
    /// A list of names.
    Names,
    /// A list of paths.
    Paths,
    /// One of these words for each phase.
    Levels(&'static [&'static str]),
    /// Who works in each role.
    Roles,
}

/// One row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in `[workflow]` of `warp.toml`; `section.name` elsewhere.
    pub key: &'static str,
    pub kind: Kind,
    /// The default, as JSON.
    pub default: &'static str,
    pub purpose: &'static str,
}

/// Who works in a role; what is not set is as it is for all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Role {
    pub agent: Option<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// Agents that take over where the first one cannot work.
    pub fallbacks: Vec<String>,
}

/// Why a setting was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSetting {
    #[error("`{key}` is not a setting")]
    Unknown { key: String },
    #[error("`{key}` must be {wanted}, not {found}")]
    Kind { key: String, wanted: String, found: String },
}

/// The settings of a run: every name of the table has a checked value. They stay as they are while it lasts, so copies
/// of a run share them.
///
/// They are written out whole with the first event of a run, which pins them. What is kept beside an open run is read and
/// written with every event: there they are abridged to what differs from the table, and the table's mark. A program with
/// another table does not read that, and goes by the first event.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Arc<BTreeMap<String, Value>>,
    /// Whether what is not in the values is as the table has it.
    is_abridged: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { values: Arc::default(), is_abridged: true }
    }
}

impl PartialEq for Settings {
    fn eq(&self, other: &Self) -> bool {
        if self.is_abridged == other.is_abridged && self.values == other.values {
            return true;
        }
        let known = TABLE.iter().map(|setting| setting.key);
        let mut keys = known.chain(self.values.keys().chain(other.values.keys()).map(String::as_str));
        keys.all(|key| self.value(key) == other.value(key))
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.is_abridged {
            return self.values.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry(ABRIDGED, &MARK)?;
        map.serialize_entry("set", &*self.values)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Written)
    }
}

/// Settings as they are written, whole or abridged.
struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut values = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == ABRIDGED && values.is_empty() {
                if map.next_value::<u64>()? != MARK {
                    return Err(A::Error::custom("they are abridged by another table"));
                }
                let set = map.next_entry::<String, BTreeMap<String, Value>>()?;
                let (_, values) = set.ok_or_else(|| A::Error::missing_field("set"))?;
                return Ok(Settings { values: Arc::new(values), is_abridged: true });
            }
            values.insert(key, map.next_value()?);
        }
        Ok(Settings { values: Arc::new(values), is_abridged: false })
    }
}

/// Under this name, which no setting has, abridged settings hold the mark of their table.
const ABRIDGED: &str = "table";

/// Tells tables apart that have other settings or other defaults.
const MARK: u64 = {
    let mut mark = 0xcbf2_9ce4_8422_2325;
    let mut index = 0;
    while index < TABLE.len() {
        mark = marked(marked(mark, TABLE[index].key), TABLE[index].default);
        index += 1;
    }
    mark
};

/// Goes on with a mark by a text and its end (FNV-1a).
const fn marked(mut mark: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index <= bytes.len() {
        let byte = if index < bytes.len() { bytes[index] } else { 0 };
        mark = (mark ^ byte as u64).wrapping_mul(0x0100_0000_01b3);
        index += 1;
    }
    mark
}

/// Returns a default of the table, which is read when it is first asked for.
fn default(key: &str) -> Option<&'static Value> {
    static DEFAULTS: [OnceLock<Value>; TABLE.len()] = [const { OnceLock::new() }; TABLE.len()];
    let index = TABLE.iter().position(|setting| setting.key == key)?;
    let read =
        || serde_json::from_str(TABLE[index].default).expect("the tests parse the default of every setting");
    Some(DEFAULTS[index].get_or_init(read))
}

impl Settings {
    /// Every setting there is, in the order in which it is shown.
    pub const TABLE: &'static [Setting] = TABLE;

    /// Returns the row of the table for `key`.
    pub fn row(key: &str) -> Option<&'static Setting> {
        TABLE.iter().find(|setting| setting.key == key)
    }

    /// Sets `key` if it is known and `value` is of its kind.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), BadSetting> {
        let setting = Self::row(key).ok_or_else(|| BadSetting::Unknown { key: key.to_owned() })?;
        setting.kind.check(&value).map_err(|wanted| BadSetting::Kind {
            key: key.to_owned(),
            wanted,
            found: shorten(&value),
        })?;
        Arc::make_mut(&mut self.values).insert(key.to_owned(), value);
        Ok(())
    }

    /// Returns the value of `key`, if the table has it.
    pub fn value(&self, key: &str) -> Option<&Value> {
        self.values.get(key).or_else(|| default(key).filter(|_| self.is_abridged))
    }

    /// Returns the same settings, to be written whole.
    pub fn whole(self) -> Self {
        if !self.is_abridged {
            return self;
        }
        let default = |setting: &Setting| Some((setting.key.to_owned(), default(setting.key)?.clone()));
        let mut values: BTreeMap<String, Value> = TABLE.iter().filter_map(default).collect();
        values.extend(self.values.iter().map(|(key, value)| (key.clone(), value.clone())));
        Self { values: Arc::new(values), is_abridged: false }
    }

    /// Returns the same settings, to be written short. Those of a run that began by a table with fewer settings stay whole.
    pub fn abridged(self) -> Self {
        if self.is_abridged || !TABLE.iter().all(|setting| self.values.contains_key(setting.key)) {
            return self;
        }
        let differs = |(key, value): &(&String, &Value)| default(key) != Some(*value);
        let values = self.values.iter().filter(differs).map(|(key, value)| (key.clone(), value.clone()));
        Self { values: Arc::new(values.collect()), is_abridged: true }
    }

    /// Returns a number. An unknown name or another kind is zero: loading a workflow rules both out.
    pub fn count(&self, key: &str) -> u64 {
        self.value(key).and_then(Value::as_u64).unwrap_or(0)
    }

    /// Returns whether a flag is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.value(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns a text.
    pub fn text(&self, key: &str) -> &str {
        self.value(key).and_then(Value::as_str).unwrap_or("")
    }

    /// Returns who works in a role, where that is set.
    pub fn role(&self, name: Option<&str>) -> Role {
        let role = name.and_then(|name| self.value("roles")?.get(name));
        role.and_then(|role| serde_json::from_value(role.clone()).ok()).unwrap_or_default()
    }

    /// Returns the names of all agents that may work.
    pub fn agents(&self) -> Vec<String> {
        let roles = self.value("roles").and_then(Value::as_object);
        let names = roles.into_iter().flat_map(|roles| roles.keys());
        let of_roles = names
            .map(|name| self.role(Some(name)))
            .flat_map(|role| role.agent.into_iter().chain(role.fallbacks));
        std::iter::once(self.text("agent").to_owned()).chain(of_roles).collect()
    }

    /// Tells whether any event needs shell commands to pass.
    pub fn has_verification_gates(&self) -> bool {
        self.value("verification_gates").and_then(Value::as_object).is_some_and(|gates| !gates.is_empty())
    }

    /// Returns a list of names or paths.
    pub fn list(&self, key: &str) -> Vec<String> {
        let entries = self.value(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        entries.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the shell commands that must pass before `event` is accepted.
    pub fn verification_gates(&self, event: &str) -> Vec<String> {
        let commands = self.value("verification_gates").and_then(|gates| gates.get(event));
        let commands = commands.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        commands.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

impl Kind {
    /// Reads a text (an environment variable, a flag) as a value of this kind; the check comes later.
    pub fn read(self, text: &str) -> Value {
        match self {
            Kind::Text | Kind::Choice(_) => json!(text),
            Kind::Count
            | Kind::Amount
            | Kind::Flag
            | Kind::Commands
            | Kind::Names
            | Kind::Paths
            | Kind::Levels(_)
            | Kind::Roles => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        }
    }

    /// Checks a value; the error says what is wanted instead.
    fn check(self, value: &Value) -> Result<(), String> {
        let fits = match self {
            // Beyond 32 bits a limit is a slip of the hand, and minutes would leave the calendar.
            Kind::Count => value.as_u64().is_some_and(|count| u32::try_from(count).is_ok()),
            Kind::Amount => value.as_f64().is_some_and(|amount| amount.is_finite() && amount >= 0.0),
            Kind::Flag => value.is_boolean(),
            Kind::Text => value.as_str().is_some_and(|text| !text.trim().is_empty() && text.len() <= 1000),
            Kind::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Commands => value.as_object().is_some_and(|events| {
                events.values().all(|commands| {
                    commands.as_array().is_some_and(|commands| commands.iter().all(Value::is_string))
                })
            }),
            Kind::Names => value.as_array().is_some_and(|names| {
                names.iter().all(|name| name.as_str().is_some_and(|name| !name.trim().is_empty()))
            }),
            Kind::Paths => value.as_array().is_some_and(|paths| paths.iter().all(is_path)),
            Kind::Levels(words) => value.as_object().is_some_and(|phases| {
                phases.values().all(|level| level.as_str().is_some_and(|level| words.contains(&level)))
            }),
            Kind::Roles => value.as_object().is_some_and(|roles| roles.values().all(is_role)),
        };
        if fits { Ok(()) } else { Err(self.wanted()) }
    }

    /// Says in words what this kind takes.
    pub fn wanted(self) -> String {
        match self {
            Kind::Count => "a whole number from 0 to 4294967295".to_owned(),
            Kind::Amount => "an amount of zero or more".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Text => "a text of 1 to 1000 characters".to_owned(),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Commands => "a table of events, each with a list of shell commands".to_owned(),
            Kind::Names => "a list of names".to_owned(),
            Kind::Paths => "a list of paths".to_owned(),
            Kind::Levels(words) => format!("a table of phases, each with one of {}", words.join(", ")),
            Kind::Roles => {
                format!(
                    "a table of roles, each with `agent`, `model`, `effort` ({}) or `fallbacks`",
                    EFFORTS.join(", ")
                )
            }
        }
    }
}

fn is_path(value: &Value) -> bool {
    value.as_str().is_some_and(|path| !path.trim_matches(['/', '*', ' ']).is_empty())
}

/// Tells whether a value says who works in a role, and nothing else.
fn is_role(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| !name.trim().is_empty());
    let fits = |(key, value): (&String, &Value)| match key.as_str() {
        "agent" | "model" => is_name(value),
        "effort" => value.as_str().is_some_and(|effort| EFFORTS.contains(&effort)),
        "fallbacks" => value.as_array().is_some_and(|names| names.iter().all(is_name)),
        _ => false,
    };
    value.as_object().is_some_and(|role| role.iter().all(fits))
}

fn shorten(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}

/// What decides how later runs are held: warp's own files, agents' settings, git hooks, CI.
const REVIEW_PATHS: &str = concat!(
    r#"["warp.toml",".warp/",".claude/",".codex/","#,
    r#"".opencode/","opencode.json","opencode.jsonc",".mcp.json",".cursor/",".gemini/",".githooks/","#,
    r#"".husky/",".lefthook/","lefthook.yml","lefthook.yaml",".lefthook.yml",".pre-commit-config.yaml","#,
    r#"".github/workflows/",".github/actions/",".forgejo/",".gitea/",".gitlab-ci.yml",".gitlab/ci/","#,
    r#"".circleci/",".buildkite/",".woodpecker/",".woodpecker.yml",".drone.yml",".travis.yml","#,
    r#"".cirrus.yml","azure-pipelines.yml","bitbucket-pipelines.yml","appveyor.yml","Jenkinsfile","#,
    r#""CODEOWNERS"]"#,
);

const EFFORTS: &[&str] = &["low", "standard", "medium", "high", "xhigh", "max"];

const fn row(key: &'static str, kind: Kind, default: &'static str, purpose: &'static str) -> Setting {
    Setting { key, kind, default, purpose }
}

const TABLE: &[Setting] = &[
    row(
        "automation.active_level",
        Kind::Count,
        "1",
        "Automation level: 2 hands over a pull request, 3 merges",
    ),
    row("rdb.enabled", Kind::Flag, "false", "Away mode: notices and decisions go to Telegram"),
    row(
        "rdb.chats",
        Kind::Text,
        "\"none\"",
        "Ids of the Telegram chats that are told and may decide; commas between",
    ),
    row("rdb.api", Kind::Text, "\"https://api.telegram.org\"", "Where Telegram's bot API is"),
    row("max_acs_per_commit", Kind::Count, "3", "Most acceptance criteria in one chunk"),
    row("test_command", Kind::Text, "\"auto\"", "The shell command that tests the project; auto finds it"),
    row(
        "setup_command",
        Kind::Text,
        "\"auto\"",
        "The shell command that installs what the tests need; auto finds it, none is nothing",
    ),
    row("setup_minutes", Kind::Count, "30", "Minutes that setup_command may take"),
    row("test_proof", Kind::Flag, "true", "Check once that the tests fail when the source is broken"),
    row("test_before_commit", Kind::Flag, "true", "Run the tests before each commit"),
    row(
        "test_report",
        Kind::Text,
        "\"auto\"",
        "JUnit or TAP files that the tests write: a path or a pattern; auto knows common places",
    ),
    row(
        "commit_guard",
        Kind::Flag,
        "true",
        "Look at what is committed: secrets, large files, removed tests and more",
    ),
    row("guard_max_file_mb", Kind::Count, "5", "commit_guard: the largest new file, in MB"),
    row("guard_max_new_files", Kind::Count, "200", "commit_guard: the most new files in one commit"),
    row("auto_merge", Kind::Flag, "true", "Level 3: merge; if false, hand over a pull request"),
    row(
        "review_paths",
        Kind::Paths,
        REVIEW_PATHS,
        "Paths whose change a person merges, even at level 3; a project can only add",
    ),
    row(
        "push",
        Kind::Choice(&["ask", "never", "branch", "target"]),
        "\"ask\"",
        "What leaves the machine: nothing, a run's branch, or at level 3 the merge target",
    ),
    row(
        "base",
        Kind::Text,
        "\"auto\"",
        "The branch, tag or commit that work starts from; auto is the merge target",
    ),
    row("max_phase_minutes", Kind::Count, "30", "Minutes in one phase before phase_timeout"),
    row(
        "phase_timeout_enforcement",
        Kind::Choice(&["warn", "block", "abort"]),
        "\"warn\"",
        "What a phase_timeout does: advice, a stop at budget_exceeded, or an abort",
    ),
    row("max_coding_cycles", Kind::Count, "3", "Code and test cycles per chunk"),
    row("max_retries_per_chunk", Kind::Count, "5", "Retries per chunk, of every kind"),
    row(
        "max_no_progress",
        Kind::Count,
        "3",
        "Identical failed attempts in a row (same failure, no new diff)",
    ),
    row("max_edits_per_file", Kind::Count, "5", "Edits of one file in one phase before a doom-loop warning"),
    row("pre_exit_verification", Kind::Flag, "true", "Check the evidence before a phase is left"),
    row("decision_timeout_minutes", Kind::Count, "10", "Minutes that a decision waits for a person"),
    row(
        "on_timeout",
        Kind::Choice(&["skip", "default"]),
        r#""skip""#,
        "What becomes of an agent's question that nobody answers in time: its chunk is skipped, or the agent's own default is taken",
    ),
    row("heartbeat_on_commit", Kind::Flag, "true", "Notify at each commit while away"),
    row("reconcile_per_chunk", Kind::Flag, "true", "Correct progress counters at each chunk"),
    row("dev_health_check", Kind::Flag, "true", "Check the dev server's health between chunks"),
    row("dev_seed_check", Kind::Flag, "true", "Advise on missing seed data while coding"),
    row("max_total_chunks", Kind::Count, "20", "Chunks in one session"),
    row("max_session_minutes", Kind::Count, "480", "Minutes in one session"),
    row("doc_drift_gate", Kind::Flag, "false", "Go through doc_drift_check after each commit"),
    row(
        "doc_drift_fix",
        Kind::Choice(&["commit", "amend"]),
        "\"commit\"",
        "Where mended docs go: a commit of their own, or the chunk's",
    ),
    row(
        "docs_programs",
        Kind::Text,
        "\"none\"",
        "Programs whose calls in the docs are checked: `tea` or `tea=./bin/tea`; commas between",
    ),
    row(
        "diff_relevance",
        Kind::Choice(&["advise", "enforce"]),
        "\"advise\"",
        "Changes that seem to have nothing to do with the criteria: advise, or enforce",
    ),
    row(
        "verification_gates",
        Kind::Commands,
        "{}",
        "Shell commands that must pass before an event is accepted",
    ),
    row(
        "reasoning_budget",
        Kind::Levels(EFFORTS),
        r#"{"planning":"high","coding":"standard","testing":"high"}"#,
        "Reasoning effort by phase",
    ),
    row(
        "agent",
        Kind::Text,
        "\"claude\"",
        "Who works: claude, codex, opencode, acp:LINE, command:LINE or script:FILE",
    ),
    row(
        "agent_silence_seconds",
        Kind::Count,
        "600",
        "Seconds without a word after which an agent counts as hung",
    ),
    row(
        "approve_plan",
        Kind::Flag,
        "false",
        "Wait for a person's yes to the plan before anything is written",
    ),
    row(
        "workspace",
        Kind::Choice(&["clone", "worktree"]),
        "\"clone\"",
        "Where a run that warp drives works: in a clone of its own, or in a git worktree",
    ),
    row(
        "sandbox_show",
        Kind::Text,
        "\"none\"",
        "More paths to show in the sandbox, below the home or absolute, separated by colons",
    ),
    row(
        "sandbox_logins",
        Kind::Text,
        "\"none\"",
        "Other clients whose login agents see too, such as `codex:gemini`",
    ),
    row(
        "sandbox_processes",
        Kind::Count,
        "8192",
        "Processes and threads that one command in the sandbox may have at once; 0 is no bound",
    ),
    row(
        "sandbox_memory_percent",
        Kind::Count,
        "80",
        "Percent of memory for one command in the sandbox (needs control groups); 0 is no bound",
    ),
    row(
        "sandbox_temporary_mb",
        Kind::Count,
        "4096",
        "Megabytes that each temporary directory of the sandbox may hold; 0 is no bound",
    ),
    row(
        "sandbox_file_mb",
        Kind::Count,
        "32768",
        "Megabytes of the largest file that may be written in the sandbox; 0 is no bound",
    ),
    row("planning_iterations", Kind::Count, "10", "coder: turns in PLANNING before BUDGET_REVIEW"),
    row("coding_iterations", Kind::Count, "8", "coder: turns in CODING before BUDGET_REVIEW"),
    row("fixing_iterations", Kind::Count, "3", "coder: turns in FIXING before BUDGET_REVIEW"),
    row(
        "max_budget_answers",
        Kind::Count,
        "6",
        "coder: budget reviews that may be granted before the next is abandoned",
    ),
    row("max_iterations", Kind::Count, "50", "autonomous-loop: turns in the whole loop"),
    row(
        "max_phase_iterations",
        Kind::Count,
        "10",
        "autonomous-loop: turns in one phase before a forced advance",
    ),
    row("max_fix_cycles", Kind::Count, "3", "autonomous-loop: fix and re_review cycles"),
    row("skip_brainstorm", Kind::Flag, "false", "autonomous-loop: start at plan"),
    row(
        "acceptance_command",
        Kind::Text,
        "\"auto\"",
        "autonomous-loop: runs the acceptance tests, {file}; auto goes by the file's ending",
    ),
    row("skip_test_review", Kind::Flag, "false", "autonomous-loop: no person looks at the acceptance tests"),
    row("completion_promise", Kind::Text, "\"SHIPPED\"", "autonomous-loop: the text in the promise tags"),
    row("budget_limit_usd", Kind::Amount, "20", "Spend cap of a run, in dollars; 0 is none"),
    row("budget_limit_tokens", Kind::Count, "0", "Spend cap of a run, in tokens; 0 is none"),
    row("project_daily_usd", Kind::Amount, "0", "Spend cap of a project and day, in dollars; 0 is none"),
    row("project_daily_tokens", Kind::Count, "0", "Spend cap of a project and day, in tokens; 0 is none"),
    row("pool_daily_usd", Kind::Amount, "0", "Spend cap of a credential pool and day, in dollars; 0 is none"),
    row(
        "pool_daily_tokens",
        Kind::Count,
        "0",
        "Spend cap of a credential pool and day, in tokens; 0 is none",
    ),
    row("daily_usd", Kind::Amount, "0", "Spend cap of a day, over all projects, in dollars; 0 is none"),
    row("daily_tokens", Kind::Count, "0", "Spend cap of a day, over all projects, in tokens; 0 is none"),
    row("pool", Kind::Text, "\"auto\"", "The credential pool that a run uses; auto: its agent's provider"),
    row("metering", Kind::Flag, "true", "Send agents' model traffic through warp, which books and caps it"),
    row("pause_at_limit", Kind::Flag, "true", "Wait for the reset at a provider's usage limit; else ask"),
    row(
        "outage_minutes",
        Kind::Count,
        "60",
        "Minutes that a provider's outage is waited out before a person is asked",
    ),
    row("max_requests", Kind::Count, "16", "Model requests of a run in flight at once; others wait"),
    row(
        "mcp_tools",
        Kind::Names,
        "[]",
        "Tools of MCP servers that agents may call: `server/tool`, `server/*`",
    ),
    row("max_agents", Kind::Count, "4", "Agents at work at once on this machine"),
    row("max_agents_per_project", Kind::Count, "4", "Agents at work at once for one project"),
    row("max_agents_per_pool", Kind::Count, "4", "Agents at work at once with one credential pool"),
    row("min_free_mb", Kind::Count, "2000", "Megabytes of memory that must be free before an agent starts"),
    row("roles", Kind::Roles, "{}", "Who works in each role: agent, model, effort and fallbacks"),
    row("ci_timeout_minutes", Kind::Count, "30", "factory: minutes that checks may take"),
    row("review_timeout_minutes", Kind::Count, "180", "factory: minutes that a review may take"),
    row("agent_timeout_minutes", Kind::Count, "120", "factory: minutes that an agent may take for one issue"),
    row("human_timeout_minutes", Kind::Count, "1440", "factory: minutes that a person may take"),
    row("max_ci_fixes", Kind::Count, "3", "factory: repairs after failed checks"),
    row(
        "max_infra_retries",
        Kind::Count,
        "2",
        "factory: checks started again after an infrastructure failure",
    ),
    row("max_review_rounds", Kind::Count, "5", "factory: rounds of requested changes"),
    row("max_merge_attempts", Kind::Count, "3", "factory: rebases after a merge that did not go through"),
    row("max_agent_restarts", Kind::Count, "3", "factory: restarts of an agent that crashed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        let mut settings = Settings::default();
        for setting in Settings::TABLE {
            let value = settings.value(setting.key).cloned().unwrap();
            settings.set(setting.key, value).unwrap();
            assert!(setting.purpose.len() < 90 && !setting.purpose.ends_with('.'), "{}", setting.key);
        }
    }

    #[test]
    fn settings_are_the_same_whole_and_abridged() {
        let mut settings = Settings::default();
        settings.set("agent", json!("codex")).unwrap();
        settings.set("max_coding_cycles", json!(3)).unwrap();
        let whole = settings.clone().whole();
        assert_eq!(whole, settings);
        assert_eq!(whole.values.len(), TABLE.len());
        assert_eq!(serde_json::from_value::<Settings>(json!(whole)).unwrap(), settings);
        let abridged = whole.abridged();
        assert_eq!(abridged, settings);
        assert_eq!(json!(abridged), json!({ "table": MARK, "set": { "agent": "codex" } }));
        assert_eq!(serde_json::from_value::<Settings>(json!(abridged)).unwrap(), settings);
    }

    #[test]
    fn settings_that_another_table_abridged_are_not_read() {
        let settings = json!({ "table": MARK ^ 1, "set": {} });
        assert!(serde_json::from_value::<Settings>(settings).is_err());
    }

    #[test]
    fn settings_of_an_older_table_stay_as_they_are() {
        let older: Settings = serde_json::from_value(json!({ "agent": "claude", "gone": 1 })).unwrap();
        let older = older.abridged();
        assert_eq!(json!(older), json!({ "agent": "claude", "gone": 1 }));
        assert_eq!(older.value("auto_merge"), None);
        assert_ne!(older, Settings::default());
    }

    #[test]
    fn a_value_of_another_kind_is_refused_and_says_what_is_wanted() {
        let mut settings = Settings::default();
        let error = settings.set("max_coding_cycles", json!("three")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`max_coding_cycles` must be a whole number from 0 to 4294967295, not \"three\""
        );
        for (key, value) in [
            ("max_session_minutes", json!(u64::MAX)),
            ("max_session_minutes", json!(-1)),
            ("phase_timeout_enforcement", json!("explode")),
            ("verification_gates", json!({"code_complete": "make"})),
            ("reasoning_budget", json!({"coding": "none"})),
            ("budget_limit_usd", json!(-0.5)),
            ("roles", json!({"coder": {"agent": ""}})),
            ("roles", json!({"coder": {"who": "claude"}})),
            ("roles", json!({"coder": {"effort": "none"}})),
            ("roles", json!({"coder": {"fallbacks": "codex"}})),
            ("auto_merge", json!(1)),
        ] {
            assert!(settings.set(key, value).is_err(), "{key}");
        }
        assert_eq!(settings, Settings::default());
    }
}
