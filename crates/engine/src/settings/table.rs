//! Every setting: its name, kind, default and purpose.

use std::{fmt, marker::PhantomData};

use super::{
    kind::{Kind, List, SettingType, Table, Text, Word},
    order::{
        PERSONS, Rule,
        Tighter::{FirstOf, Larger, MoreEntries, Off, On, Smaller, SmallerButNotZero},
        UNORDERED, ordered, safety,
    },
};

/// One row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in `[workflow]` of `warp.toml`; `section.name` elsewhere.
    pub key: &'static str,
    pub kind: Kind,
    /// The default, as JSON.
    pub default: &'static str,
    /// Who may set it, and how far.
    pub rule: Rule,
    pub purpose: &'static str,
}

/// The name of a setting that is read as a `T`. A constant of [`keys`], or checked where a name comes from data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<T> {
    name: &'static str,
    holds: PhantomData<T>,
}

impl<T> Key<T> {
    /// Returns the name as it is written in files.
    pub const fn name(self) -> &'static str {
        self.name
    }
}

impl<T: SettingType> Key<T> {
    /// Returns the key of that name, if there is one and its setting is read as a `T`.
    pub fn find(name: &str) -> Option<Self> {
        let setting =
            TABLE.iter().find(|setting| setting.key == name).filter(|setting| T::fits(setting.kind))?;
        Some(Self { name: setting.key, holds: PhantomData })
    }
}

impl<T> fmt::Display for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The type that settings of a kind are read as.
macro_rules! type_of {
    (Count) => {
        u64
    };
    (Amount) => {
        f64
    };
    (Flag) => {
        bool
    };
    (Text) => {
        Text
    };
    (Choice) => {
        Word
    };
    (Names) => {
        List
    };
    (Paths) => {
        List
    };
    (Commands) => {
        Table
    };
    (Levels) => {
        Table
    };
    (Roles) => {
        Table
    };
}

/// Makes the table, and a typed key of each row.
macro_rules! settings {
    ($($name:ident: $kind:ident $(($words:expr))? = $key:literal, $default:expr, $rule:expr, $purpose:literal;)*) => {
        /// The keys of all settings: another name does not compile.
        pub mod keys {
            use super::*;

            $(
                #[doc = $purpose]
                pub const $name: Key<type_of!($kind)> = Key { name: $key, holds: PhantomData };
            )*
        }

        pub(super) const TABLE: &[Setting] = &[
            $(Setting { key: $key, kind: Kind::$kind $(($words))?, default: $default, rule: $rule, purpose: $purpose },)*
        ];
    };
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

/// How hard an agent can be told to think.
pub(crate) const EFFORTS: &[&str] = &["low", "standard", "medium", "high", "xhigh", "max"];

settings! {
    AUTOMATION_ACTIVE_LEVEL: Count = "automation.active_level", "1", safety(Smaller),
        "Automation level: 2 opens a pull request, 3 merges";
    RDB_ENABLED: Flag = "rdb.enabled", "false", UNORDERED, "Away mode: notices and decisions go to Telegram";
    RDB_CHATS: Text = "rdb.chats", "\"none\"", PERSONS,
        "Ids of the Telegram chats that are told and may decide; commas between";
    RDB_API: Text = "rdb.api", "\"https://api.telegram.org\"", PERSONS, "Where Telegram's bot API is";
    MAX_ACS_PER_COMMIT: Count = "max_acs_per_commit", "3", ordered(Smaller), "Most acceptance criteria in one chunk";
    TEST_COMMAND: Text = "test_command", "\"auto\"", UNORDERED,
        "The shell command that tests the project; auto finds it";
    SETUP_COMMAND: Text = "setup_command", "\"auto\"", UNORDERED,
        "The shell command that installs what the tests need; auto finds it, none is nothing";
    SETUP_MINUTES: Count = "setup_minutes", "30", ordered(Smaller), "Minutes that setup_command may take";
    TEST_PROOF: Flag = "test_proof", "true", safety(On), "Check once that the tests fail when the source is broken";
    TEST_BEFORE_COMMIT: Flag = "test_before_commit", "true", safety(On), "Run the tests before each commit";
    TEST_REPORT: Text = "test_report", "\"auto\"", UNORDERED,
        "JUnit or TAP files that the tests write: a path or a pattern; auto knows common places";
    COMMIT_GUARD: Flag = "commit_guard", "true", safety(On),
        "Look at what is committed: secrets, large files, removed tests and more";
    GUARD_MAX_FILE_MB: Count = "guard_max_file_mb", "5", safety(Smaller), "commit_guard: the largest new file, in MB";
    GUARD_MAX_NEW_FILES: Count = "guard_max_new_files", "200", safety(Smaller),
        "commit_guard: the most new files in one commit";
    AUTO_MERGE: Flag = "auto_merge", "true", safety(Off), "Level 3: merge; if false, open a pull request";
    REVIEW_PATHS: Paths = "review_paths", REVIEW_PATHS, safety(MoreEntries),
        "Paths whose change a person merges, even at level 3; a project can only add";
    PUSH: Choice(&["ask", "never", "branch", "target"]) = "push", "\"ask\"", safety(FirstOf(&["never", "ask", "branch", "target"])),
        "What leaves the machine: nothing, a run's branch, or at level 3 the merge target";
    BASE: Text = "base", "\"auto\"", UNORDERED,
        "The branch, tag or commit that work starts from; auto is the merge target";
    MAX_PHASE_MINUTES: Count = "max_phase_minutes", "30", ordered(Smaller), "Minutes in one phase before phase_timeout";
    PHASE_TIMEOUT_ENFORCEMENT: Choice(&["warn", "block", "abort"]) = "phase_timeout_enforcement", "\"warn\"", safety(FirstOf(&["abort", "block", "warn"])),
        "What a phase_timeout does: advice, a stop at budget_exceeded, or an abort";
    MAX_CODING_CYCLES: Count = "max_coding_cycles", "3", ordered(Smaller), "Code and test cycles per chunk";
    MAX_RETRIES_PER_CHUNK: Count = "max_retries_per_chunk", "5", ordered(Smaller), "Retries per chunk, of every kind";
    MAX_NO_PROGRESS: Count = "max_no_progress", "3", ordered(Smaller),
        "Identical failed attempts in a row (same failure, no new diff)";
    MAX_EDITS_PER_FILE: Count = "max_edits_per_file", "5", ordered(Smaller),
        "Edits of one file in one phase before a doom-loop warning";
    PRE_EXIT_VERIFICATION: Flag = "pre_exit_verification", "true", safety(On),
        "Check the evidence before a phase is left";
    DECISION_TIMEOUT_MINUTES: Count = "decision_timeout_minutes", "10", UNORDERED,
        "Minutes that a decision waits for a person";
    ON_TIMEOUT: Choice(&["skip", "default"]) = "on_timeout", "\"skip\"", ordered(FirstOf(&["skip", "default"])),
        "What becomes of an unanswered question: skip its chunk, or take the agent's default";
    HEARTBEAT_ON_COMMIT: Flag = "heartbeat_on_commit", "true", ordered(On), "Notify at each commit while away";
    RECONCILE_PER_CHUNK: Flag = "reconcile_per_chunk", "true", safety(On), "Correct progress counters at each chunk";
    DEV_HEALTH_CHECK: Flag = "dev_health_check", "true", ordered(On), "Check the dev server's health between chunks";
    DEV_SEED_CHECK: Flag = "dev_seed_check", "true", ordered(On), "Advise on missing seed data while coding";
    MAX_TOTAL_CHUNKS: Count = "max_total_chunks", "20", ordered(Smaller), "Chunks in one session";
    MAX_SESSION_MINUTES: Count = "max_session_minutes", "480", ordered(Smaller), "Minutes in one session";
    DOC_DRIFT_GATE: Flag = "doc_drift_gate", "false", ordered(On), "Go through doc_drift_check after each commit";
    DOC_DRIFT_FIX: Choice(&["commit", "amend"]) = "doc_drift_fix", "\"commit\"", UNORDERED,
        "Where fixed docs go: a commit of their own, or the chunk's";
    DOCS_PROGRAMS: Text = "docs_programs", "\"none\"", UNORDERED,
        "Programs whose calls in the docs are checked: `tea` or `tea=./bin/tea`; commas between";
    DIFF_RELEVANCE: Choice(&["advise", "enforce"]) = "diff_relevance", "\"advise\"", safety(FirstOf(&["enforce", "advise"])),
        "Changes that seem to have nothing to do with the criteria: advise, or enforce";
    VERIFICATION_GATES: Commands = "verification_gates", "{}", safety(MoreEntries),
        "Shell commands that must pass before an event is accepted";
    REASONING_BUDGET: Levels(EFFORTS) = "reasoning_budget", "{}", UNORDERED,
        "Reasoning effort by phase, where it is not as the workflow says";
    AGENT: Text = "agent", "\"claude\"", UNORDERED,
        "Who works: claude, codex, opencode, acp:LINE, command:LINE or script:FILE";
    AGENT_SILENCE_SECONDS: Count = "agent_silence_seconds", "600", ordered(Smaller),
        "Seconds without a word after which an agent counts as hung";
    AGENT_TOOLS: Names = "agent_tools", "[]", PERSONS,
        "More of the client's own tools for driven agents, such as `WebFetch`; `all`: every one";
    CONVERSATION_TOKENS: Count = "conversation_tokens", "60000", UNORDERED,
        "Tokens above which the next chunk or phase begins a new conversation; 0: always";
    CONVERSATION_MINUTES: Count = "conversation_minutes", "5", UNORDERED,
        "Minutes after which only a quarter of `conversation_tokens` is resumed";
    APPROVE_PLAN: Flag = "approve_plan", "false", safety(On),
        "Wait for a person's yes to the plan before anything is written";
    WORKSPACE: Choice(&["clone", "worktree"]) = "workspace", "\"clone\"", safety(FirstOf(&["clone", "worktree"])),
        "Where a run that warp drives works: in a clone of its own, or in a git worktree";
    SANDBOX_SHOW: Text = "sandbox_show", "\"none\"", PERSONS,
        "More paths to show in the sandbox, below the home or absolute, separated by colons";
    SANDBOX_LOGINS: Text = "sandbox_logins", "\"none\"", PERSONS,
        "Other clients whose login agents see too, such as `codex:gemini`";
    SANDBOX_PROCESSES: Count = "sandbox_processes", "8192", PERSONS,
        "Processes and threads that one command in the sandbox may have at once; 0 is no bound";
    SANDBOX_MEMORY_PERCENT: Count = "sandbox_memory_percent", "80", PERSONS,
        "Percent of memory for one command in the sandbox (needs control groups); 0 is no bound";
    SANDBOX_TEMPORARY_MB: Count = "sandbox_temporary_mb", "4096", PERSONS,
        "Megabytes that each temporary directory of the sandbox may hold; 0 is no bound";
    SANDBOX_FILE_MB: Count = "sandbox_file_mb", "32768", PERSONS,
        "Megabytes of the largest file that may be written in the sandbox; 0 is no bound";
    PLANNING_ITERATIONS: Count = "planning_iterations", "10", ordered(Smaller),
        "coder: turns in PLANNING before BUDGET_REVIEW";
    CODING_ITERATIONS: Count = "coding_iterations", "8", ordered(Smaller),
        "coder: turns in CODING before BUDGET_REVIEW";
    FIXING_ITERATIONS: Count = "fixing_iterations", "3", ordered(Smaller),
        "coder: turns in FIXING before BUDGET_REVIEW";
    MAX_BUDGET_ANSWERS: Count = "max_budget_answers", "6", ordered(Smaller),
        "coder: budget reviews that may be granted before the next is abandoned";
    MAX_ITERATIONS: Count = "max_iterations", "50", ordered(Smaller), "autonomous-loop: turns in the whole loop";
    MAX_PHASE_ITERATIONS: Count = "max_phase_iterations", "10", ordered(Smaller),
        "autonomous-loop: turns in one phase before a forced advance";
    MAX_FIX_CYCLES: Count = "max_fix_cycles", "3", ordered(Smaller), "autonomous-loop: fix and re_review cycles";
    SKIP_BRAINSTORM: Flag = "skip_brainstorm", "false", UNORDERED, "autonomous-loop: start at plan";
    ACCEPTANCE_COMMAND: Text = "acceptance_command", "\"auto\"", UNORDERED,
        "autonomous-loop: runs the acceptance tests, {file}; auto goes by the file's ending";
    DEEPEN_FIRST: Flag = "deepen_first", "false", UNORDERED,
        "autonomous-loop: deepen the plan before the acceptance tests are written and frozen";
    SKIP_TEST_REVIEW: Flag = "skip_test_review", "false", safety(Off),
        "autonomous-loop: no person looks at the acceptance tests";
    COMPLETION_PROMISE: Text = "completion_promise", "\"SHIPPED\"", UNORDERED,
        "autonomous-loop: the text in the promise tags";
    BUDGET_LIMIT_USD: Amount = "budget_limit_usd", "20", safety(SmallerButNotZero),
        "Spend cap of a run, in dollars; 0 is none";
    BUDGET_LIMIT_TOKENS: Count = "budget_limit_tokens", "0", safety(SmallerButNotZero),
        "Spend cap of a run, in tokens; 0 is none";
    PROJECT_DAILY_USD: Amount = "project_daily_usd", "0", safety(SmallerButNotZero),
        "Spend cap of a project and day, in dollars; 0 is none";
    PROJECT_DAILY_TOKENS: Count = "project_daily_tokens", "0", safety(SmallerButNotZero),
        "Spend cap of a project and day, in tokens; 0 is none";
    POOL_DAILY_USD: Amount = "pool_daily_usd", "0", safety(SmallerButNotZero),
        "Spend cap of a credential pool and day, in dollars; 0 is none";
    POOL_DAILY_TOKENS: Count = "pool_daily_tokens", "0", safety(SmallerButNotZero),
        "Spend cap of a credential pool and day, in tokens; 0 is none";
    DAILY_USD: Amount = "daily_usd", "0", safety(SmallerButNotZero),
        "Spend cap of a day, over all projects, in dollars; 0 is none";
    DAILY_TOKENS: Count = "daily_tokens", "0", safety(SmallerButNotZero),
        "Spend cap of a day, over all projects, in tokens; 0 is none";
    // Another pool would have caps of its own.
    POOL: Text = "pool", "\"auto\"", PERSONS, "The credential pool that a run uses; auto: its agent's provider";
    METERING: Flag = "metering", "true", safety(On), "Send agents' model traffic through warp, which books and caps it";
    PAUSE_AT_LIMIT: Flag = "pause_at_limit", "true", UNORDERED,
        "Wait for the reset at a provider's usage limit; else ask";
    OUTAGE_MINUTES: Count = "outage_minutes", "60", UNORDERED,
        "Minutes that a provider's outage is waited out before a person is asked";
    MAX_REQUESTS: Count = "max_requests", "16", safety(Smaller),
        "Model requests of a run in flight at once; others wait";
    MCP_TOOLS: Names = "mcp_tools", "[]", PERSONS,
        "Tools of MCP servers that agents may call: `server/tool`, `server/*`";
    MAX_AGENTS: Count = "max_agents", "4", safety(SmallerButNotZero), "Agents at work at once on this machine";
    MAX_AGENTS_PER_PROJECT: Count = "max_agents_per_project", "4", safety(SmallerButNotZero),
        "Agents at work at once for one project";
    MAX_AGENTS_PER_POOL: Count = "max_agents_per_pool", "4", safety(SmallerButNotZero),
        "Agents at work at once with one credential pool";
    MIN_FREE_MB: Count = "min_free_mb", "2000", safety(Larger),
        "Megabytes of memory that must be free before an agent starts";
    ROLES: Roles = "roles", "{}", UNORDERED, "Who works in each role: agent, model, effort and fallbacks";
    FORGE: Choice(&["auto", "local", "github", "forgejo"]) = "forge", "\"auto\"", UNORDERED,
        "Where issues are: on the remote's server if there is a token (auto), or in the journal";
    FORGE_TRUSTED: Names = "forge_trusted", "[]", PERSONS,
        "Accounts with write access, where the server does not say who has it";
    MERGE_METHOD: Choice(&["merge", "squash", "rebase"]) = "merge_method", "\"merge\"", UNORDERED,
        "How a server merges a pull request, if the repository allows it";
    CHECKS: Choice(&["auto", "server", "woodpecker", "command", "none"]) = "checks", "\"auto\"", UNORDERED,
        "What has to be green before a server merges; command: the project's own tests";
    REQUIRED_CHECKS: Names = "required_checks", "[]", UNORDERED,
        "The checks that count; without any, those that the target's protection names, or all";
    WOODPECKER_URL: Text = "woodpecker_url", "\"none\"", PERSONS, "Where Woodpecker is";
    WOODPECKER_REPO_ID: Count = "woodpecker_repo_id", "0", UNORDERED,
        "The repository's number on Woodpecker; 0: it has none there";
    CI_TIMEOUT_MINUTES: Count = "ci_timeout_minutes", "30", ordered(Smaller), "factory: minutes that checks may take";
    REVIEW_TIMEOUT_MINUTES: Count = "review_timeout_minutes", "180", UNORDERED,
        "factory: minutes that a review may take";
    AGENT_TIMEOUT_MINUTES: Count = "agent_timeout_minutes", "120", ordered(Smaller),
        "factory: minutes that an agent may take for one issue";
    HUMAN_TIMEOUT_MINUTES: Count = "human_timeout_minutes", "1440", UNORDERED,
        "factory: minutes that a person may take";
    MAX_CI_FIXES: Count = "max_ci_fixes", "3", ordered(Smaller), "factory: repairs after failed checks";
    MAX_INFRA_RETRIES: Count = "max_infra_retries", "2", ordered(Smaller),
        "factory: checks started again after an infrastructure failure";
    MAX_REVIEW_ROUNDS: Count = "max_review_rounds", "5", ordered(Smaller), "factory: rounds of requested changes";
    MAX_MERGE_ATTEMPTS: Count = "max_merge_attempts", "3", ordered(Smaller),
        "factory: rebases after a merge that did not go through";
    MAX_AGENT_RESTARTS: Count = "max_agent_restarts", "3", ordered(Smaller),
        "factory: restarts of an agent that crashed";
}
