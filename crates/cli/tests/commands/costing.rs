//! What was spent, as `warp cost` shows it.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use adapters::machine;
use engine::{Time, Usage, ledger::Tags};
use project::spend::{Caps, Ledger, Scope};
use testkit::Sandbox;

use super::{coding, json, sandbox};
use crate::support::{Ends as _, InProject as _, dirs};

const SONNET: &str = "claude-sonnet-4-5-20250929";

struct Spent {
    sandbox: Sandbox,
    ledger: Ledger,
    tags: Tags,
}

impl Spent {
    /// A project with a run, and a ledger in which nothing is.
    fn new() -> Self {
        let sandbox = coding();
        let dirs = dirs(&sandbox);
        let project = sandbox.read(".git/warp/project-id").unwrap().trim().to_owned();
        let run = json(&sandbox.warp_ok(&["status", "--json"]))["run"].as_str().unwrap().to_owned();
        let text = str::to_owned;
        let tags = Tags {
            project,
            project_name: text("demo"),
            run,
            issue: Some(text("42")),
            phase: text("coding"),
            chunk: 1,
            role: Some(text("coder")),
            agent: text("claude"),
            pool: text("anthropic"),
        };
        Self { ledger: Ledger::open(&dirs).unwrap(), sandbox, tags }
    }

    fn book(&mut self, at: Time, change: impl Fn(&mut Tags), model: &str, tokens: [u64; 4]) {
        let mut tags = self.tags.clone();
        change(&mut tags);
        let ticket = self.ledger.admit(at, &tags, &Caps::default(), model, usage([1, 0, 0, 0])).unwrap();
        self.ledger.book(at, &ticket, usage(tokens), true).unwrap();
    }

    /// A run that has planned and worked on two chunks, today and yesterday.
    fn worked() -> Self {
        let mut spent = Self::new();
        let now = machine::now();
        let yesterday = Time::from_millis(now.millis() - 24 * 60 * 60 * 1000);
        let plan = |tags: &mut Tags| (tags.phase, tags.chunk, tags.role) = ("planning".into(), 0, None);
        spent.book(yesterday, plan, "claude-opus-5-5", [9_200, 4_100, 80_000, 31_000]);
        spent.book(yesterday, |_| {}, SONNET, [12_300, 21_000, 610_000, 42_000]);
        spent.book(now, |tags| tags.chunk = 2, SONNET, [1_234, 9_876, 1_500_000, 20_500]);
        spent.book(now, |tags| tags.phase = "testing".into(), "claude-haiku-4-5", [800, 300, 0, 0]);
        spent
    }

    fn cost(&self, arguments: &[&str]) -> String {
        let said = self.sandbox.warp_ok(&[&["cost"], arguments].concat());
        let said = said.replace(&self.tags.run, "1234567890");
        plain_days(&said.replace(&format!("list of {}", self.ledger.prices().date), "list of [DATE]"))
    }
}

/// Names days by how long ago they are, so that a text is the same on each of them: `0000-00-01` is yesterday.
fn plain_days(said: &str) -> String {
    let now = machine::now().millis();
    let day = |back: i64| Time::from_millis(now - back * 24 * 60 * 60 * 1000).day();
    [0, 1, 29]
        .iter()
        .fold(said.to_owned(), |said, back| said.replace(&day(*back), &format!("0000-00-{back:02}")))
}

/// Returns what `show` saw on one day: it looks again if a midnight came between.
fn on_one_day<T>(show: impl Fn() -> T) -> T {
    let day = machine::now().day();
    let shown = show();
    if machine::now().day() == day { shown } else { show() }
}

fn usage([input_tokens, output_tokens, cache_read_tokens, cache_write_tokens]: [u64; 4]) -> Usage {
    Usage { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, micro_usd: 0 }
}

#[test]
fn a_project_in_which_nothing_was_spent_says_so() {
    let sandbox = sandbox();
    let (said, out) = on_one_day(|| {
        let said = sandbox.warp(&["cost", "--days", "1"]);
        let out = plain_days(&said.out);
        (said, out)
    });
    insta::assert_snapshot!(out, @"
    Nothing was spent on demo since 0000-00-00.
    What agents use is booked while `warp run` drives them.
    ");
    assert_eq!(said.code, Some(0));
    assert!(!sandbox.home().join("state").exists(), "looking makes nothing");
}

#[test]
fn a_projects_spending_is_shown_by_issue() {
    insta::assert_snapshot!(on_one_day(|| Spent::worked().cost(&[])), @"
    Spent on demo since 0000-00-29

    Issue  Input  Output  Cache read  Cache write   Cost
    ─────  ─────  ──────  ──────────  ───────────  ─────
    #42    23.5k   35.2k        2.1M        93.5k  $2.81  ████████████████████
    ─────  ─────  ──────  ──────────  ───────────  ─────
    all    23.5k   35.2k        2.1M        93.5k  $2.81
    ");
}

#[test]
fn an_issues_spending_is_shown_by_phase_and_a_runs_with_its_cap() {
    let spent = Spent::worked();
    insta::assert_snapshot!(spent.cost(&["#42"]), @"
    Spent on issue #42 of demo

    Phase     Input  Output  Cache read  Cache write   Cost
    ────────  ─────  ──────  ──────────  ───────────  ─────
    coding    13.5k   30.8k        2.1M        62.5k  $2.52  ████████████████████
    planning   9200    4100       80.0k        31.0k  $0.29  ██▎
    testing     800     300           0            0  $0.01  ▏
    ────────  ─────  ──────  ──────────  ───────────  ─────
    all       23.5k   35.2k        2.1M        93.5k  $2.81

    Caps
    run 1234567890  $2.81 of $20.00  ██▊                   14 %
    ");
    insta::assert_snapshot!(spent.cost(&[&spent.tags.run]), @"
    Spent on run 1234567890 of demo

    Phase     Input  Output  Cache read  Cache write   Cost
    ────────  ─────  ──────  ──────────  ───────────  ─────
    coding    13.5k   30.8k        2.1M        62.5k  $2.52  ████████████████████
    planning   9200    4100       80.0k        31.0k  $0.29  ██▎
    testing     800     300           0            0  $0.01  ▏
    ────────  ─────  ──────  ──────────  ───────────  ─────
    all       23.5k   35.2k        2.1M        93.5k  $2.81

    Caps
    run 1234567890  $2.81 of $20.00  ██▊                   14 %
    ");
}

#[test]
fn spending_is_added_up_by_whatever_is_asked_for() {
    let spent = Spent::worked();
    for (by, first) in [
        ("phase", "coding"),
        ("chunk", "before the first"),
        ("role", "coder"),
        ("model", SONNET),
        ("agent", "claude"),
        ("issue", "#42"),
        ("run", "1234567890"),
        ("project", "demo"),
    ] {
        let said = spent.cost(&["--by", by]);
        assert!(said.lines().nth(4).is_some_and(|line| line.starts_with(first)), "{by}: {said}");
    }
}

#[test]
fn spending_is_added_up_by_day() {
    let [month, two, one] =
        on_one_day(|| ["30", "2", "1"].map(|days| Spent::worked().cost(&["--by", "day", "--days", days])));
    assert!(month.lines().nth(4).is_some_and(|line| line.starts_with("0000-00-01")), "{month}");
    insta::assert_snapshot!(two, @"
    Spent on demo since 0000-00-01

    Day         Input  Output  Cache read  Cache write   Cost
    ──────────  ─────  ──────  ──────────  ───────────  ─────
    0000-00-01  21.5k   25.1k      690.0k        73.0k  $1.52  ████████████████████
    0000-00-00   2034   10.1k        1.5M        20.5k  $1.29  ████████████████▉
    ──────────  ─────  ──────  ──────────  ───────────  ─────
    all         23.5k   35.2k        2.1M        93.5k  $2.81
    ");
    assert!(!one.contains("0000-00-01"), "{one}");
}

#[test]
fn what_is_not_certain_is_marked_and_explained() {
    let show = || {
        let mut spent = Spent::new();
        let now = machine::now();
        let (tags, caps) = (spent.tags.clone(), Caps::default());
        let report = Usage { micro_usd: 50_000, ..usage([5_000, 700, 0, 0]) };
        let codex = Tags { agent: "codex".into(), pool: "openai".into(), ..tags.clone() };
        spent.ledger.book_report(now, "t1", &codex, report, "gpt-6-sol").unwrap();
        spent.ledger.admit(now, &tags, &caps, "claude-haiku-4-5", usage([100_000, 0, 0, 0])).unwrap();
        spent.book(now, |tags| tags.agent = "opencode".into(), "house-model", [1_000, 10, 0, 0]);
        spent.cost(&["--by", "agent"])
    };
    insta::assert_snapshot!(on_one_day(show), @"
    Spent on demo since 0000-00-29

    Agent      Input  Output  Cache read  Cache write   Cost
    ────────  ──────  ──────  ──────────  ───────────  ─────
    claude    100.0k       0           0            0  $0.10+    ████████████████████
    codex       5000     700           0            0  $0.05*    ██████████
    opencode    1000      10           0            0  $0.04~    ██████▎
    ────────  ──────  ──────  ──────────  ───────────  ─────
    all       106.0k     710           0            0  $0.19*~+

    * unmetered: what an agent or its transcript says; the requests were not seen
    ~ estimated price: a model that is not in the list of [DATE] counts as the dearest that is
    + under way, or never booked to its end: counted as estimated
    ");
}

#[test]
fn caps_are_shown_with_what_is_used_of_them_and_pools_that_wait() {
    let config =
        "[workflow]\ndaily_usd = 0.5\npool_daily_tokens = 2000000\nproject_daily_tokens = 10000000\n";
    let show = || {
        let mut spent = Spent::worked();
        let now = machine::now();
        std::fs::create_dir_all(spent.sandbox.home().join("config/warp")).unwrap();
        std::fs::write(spent.sandbox.home().join("config/warp/config.toml"), config).unwrap();
        spent.ledger.raise(now, ("d1", now), Scope::Day, "", 250_000, 0).unwrap();
        let until = Time::parse("2099-01-01T00:00:00Z").unwrap();
        spent.ledger.pause(now, "anthropic", until, "usage limit reached").unwrap();
        spent.cost(&["--by", "model"])
    };
    insta::assert_snapshot!(on_one_day(show), @"
    Spent on demo since 0000-00-29

    Model                       Input  Output  Cache read  Cache write   Cost
    ──────────────────────────  ─────  ──────  ──────────  ───────────  ─────
    claude-sonnet-4-5-20250929  13.5k   30.8k        2.1M        62.5k  $2.52  ████████████████████
    claude-opus-5-5              9200    4100       80.0k        31.0k  $0.29  ██▎
    claude-haiku-4-5              800     300           0            0  $0.01  ▏
    ──────────────────────────  ─────  ──────  ──────────  ───────────  ─────
    all                         23.5k   35.2k        2.1M        93.5k  $2.81

    Caps
    project demo    1.5M of 10.0M tokens  ███                   15 %
    today           $1.29 of $0.75        ████████████████████  171 %
    pool anthropic  1.5M of 2.0M tokens   ███████████████▎      76 %

    Pool anthropic waits until [TIME]: usage limit reached
    ");
}

#[test]
fn json_has_every_number_whole() {
    let spent = Spent::worked();
    let cost = json(&spent.sandbox.warp_ok(&["cost", "42", "--json"]));
    assert_eq!(cost["version"], 1);
    assert_eq!(cost["by"], "phase");
    assert_eq!(cost["rows"][0]["name"], "coding");
    assert_eq!(cost["rows"][0]["cache_read_tokens"], 2_110_000);
    assert_eq!(cost["rows"][0]["requests"], 2);
    assert_eq!(cost["total"]["micro_usd"], 2_802_764);
    assert_eq!(cost["since"], serde_json::Value::Null);
}

#[test]
fn a_run_or_issue_that_is_not_there_is_named() {
    let said = Spent::worked().sandbox.warp(&["cost", "77"]).ends(2);
    assert!(said.err.starts_with("error: no run or issue `77` in demo\n"), "{said:?}");
}

#[test]
fn an_issue_that_nobody_has_worked_on_has_cost_nothing() {
    let sandbox = sandbox();
    sandbox.warp_ok(&["issue", "new", "--title", "Later"]);
    let said = sandbox.warp(&["cost", "1"]).ends(0);
    insta::assert_snapshot!(sandbox.stable(&said.out), @"
    Nothing was spent on issue #1 of demo.
    What agents use is booked while `warp run` drives them.
    ");
    sandbox.warp(&["cost", "2"]).ends(2);
}

#[test]
fn another_projects_spending_is_only_shown_where_it_is_asked_for() {
    let mut spent = Spent::worked();
    let other = |tags: &mut Tags| (tags.project, tags.project_name) = ("other".into(), "shop".into());
    spent.book(machine::now(), other, SONNET, [0, 1_000_000, 0, 0]);
    assert!(!spent.cost(&[]).contains("$15"));
    assert!(spent.cost(&["--all"]).contains("shop"));
    assert!(spent.cost(&["--by", "project"]).contains("shop"));
}

/// Writes answers of a person's own session in the agent, each of these many output tokens.
fn session(sandbox: &Sandbox, answers: &[(&str, u64)]) {
    let root = sandbox.root().canonicalize().unwrap();
    let slug: String =
        root.to_str().unwrap().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let directory = sandbox.home().join(".claude/projects").join(slug);
    std::fs::create_dir_all(&directory).unwrap();
    let now = machine::now();
    let line = |(id, output): &(&str, u64)| {
        format!(
            "{{\"type\":\"assistant\",\"timestamp\":\"{now}\",\"message\":{{\"id\":\"{id}\",\"model\":\"{SONNET}\",\
             \"usage\":{{\"input_tokens\":100,\"output_tokens\":{output}}}}}}}\n"
        )
    };
    let mut file =
        std::fs::OpenOptions::new().append(true).create(true).open(directory.join("s.jsonl")).unwrap();
    let text: String = answers.iter().map(line).collect();
    std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
}

#[test]
fn a_persons_own_session_is_read_from_its_transcripts() {
    let sandbox = coding();
    let run = json(&sandbox.warp_ok(&["status", "--json"]))["run"].as_str().unwrap().to_owned();
    session(&sandbox, &[("a", 1_000), ("a", 1_000), ("b", 500)]);
    sandbox.write("src/a.rs", "fn a() {}\n");
    sandbox.transitions(&["code_complete", "docs_updated", "tests_passed"]);
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "--quiet", "-m", "feat: a"]);
    sandbox.transitions(&["committed", "report_filed", "next_chunk"]);
    let state = json(&sandbox.read(".claude/.warp-drive-state.json").unwrap());
    let snapshot = &state["token_usage"]["chunk_snapshots"][0];
    assert_eq!((snapshot["chunk"].as_u64(), snapshot["output_tokens"].as_u64()), (Some(1), Some(1_500)));
    assert_eq!(snapshot["cost_usd"], 0.0231);
    session(&sandbox, &[("c", 10)]);
    sandbox.warp_ok(&["stop"]);
    sandbox.transitions(&["abort_resolved"]);
    let said = sandbox.warp_ok(&["cost", "42", "--by", "chunk"]);
    insta::assert_snapshot!(said.replace(&run, "1234567890"), @"
    Spent on issue #42 of demo

    Chunk  Input  Output  Cache read  Cache write   Cost
    ─────  ─────  ──────  ──────────  ───────────  ─────
    1        200    1500           0            0  $0.03*  ████████████████████
    2        100      10           0            0  $0.01*  ▍
    ─────  ─────  ──────  ──────────  ───────────  ─────
    all      300    1510           0            0  $0.03*

    Caps
    run 1234567890  $0.03 of $20.00  ▏                     0 %

    * unmetered: what an agent or its transcript says; the requests were not seen
    ");

    let file = sandbox.home().join(".claude/token-usage.jsonl");
    let kept = std::fs::read_to_string(&file).unwrap();
    let line = json(&kept);
    assert_eq!((line["project"].as_str(), line["requirement"].as_str()), (Some("demo"), Some("42")));
    assert_eq!(line["session_total"]["output_tokens"], 1_510);
    // As if it had died before it took its note away.
    let run = line["run"].as_str().unwrap();
    let due = sandbox.journal().with_file_name("ended").join(run);
    std::fs::write(&due, "").unwrap();
    sandbox.warp(&["status"]);
    assert!(!due.exists());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept, "a session has one line");
    // As if it had died before it wrote the line.
    std::fs::write(&due, "").unwrap();
    std::fs::remove_file(&file).unwrap();
    sandbox.warp(&["status"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
}

#[test]
fn who_does_not_use_the_agent_gets_no_file_of_it() {
    let sandbox = coding();
    sandbox.warp_ok(&["stop"]);
    sandbox.transitions(&["abort_resolved"]);
    assert!(!sandbox.home().join(".claude").exists());
    assert!(std::fs::read_dir(sandbox.journal().with_file_name("ended")).unwrap().next().is_none());
}

#[test]
fn a_damaged_ledger_is_named_by_doctor_and_mended_there() {
    let spent = Spent::worked();
    let store = spent.sandbox.home().join("state/warp/user.db");
    assert!(
        spent.sandbox.warp(&["doctor"]).out.contains("ledger        2 streams, 8 events, chain verified")
    );
    drop(spent.ledger);
    for name in ["user.db", "user.db-wal"] {
        std::fs::write(store.with_file_name(name), "no database, but long enough to be looked at as one")
            .unwrap();
    }
    insta::assert_snapshot!(spent.sandbox.refused(65, &["cost"]), @"
    error: journal `[HOME]/state/warp/user.db` is damaged: it is not a database
    hint: `warp doctor` names every fault
    hint: `warp doctor --repair` sets the file aside and keeps all that can be verified
    ");
    assert!(spent.sandbox.warp(&["doctor"]).out.contains("FAIL  ledger"));
    let fixed = spent.sandbox.warp(&["doctor", "--repair"]);
    assert!(fixed.out.contains("nothing of the ledger could be read; a new one was created"), "{fixed:?}");
    assert!(spent.sandbox.warp_ok(&["cost"]).starts_with("Nothing was spent on demo"));
}

#[test]
fn a_price_list_that_cannot_be_used_is_said_at_once() {
    let sandbox = sandbox();
    sandbox.issue(42, "# Words\n\n- [ ] word\n");
    sandbox.write("../config/warp/prices.toml", "[[price]\n");
    for arguments in [["cost"].as_slice(), &["cost", "42"], &["run", "42"]] {
        let said = sandbox.warp(arguments).ends(78);
        assert!(said.err.contains("prices.toml` cannot be used; correct it or take it away"), "{said:?}");
    }
    assert!(sandbox.warp_ok(&["explain", "42"]).contains("is approved and ready"), "no run was begun");
}

#[test]
fn the_cap_of_a_run_that_has_spent_nothing_is_shown_too() {
    let sandbox = coding();
    let run = json(&sandbox.warp_ok(&["status", "--json"]))["run"].as_str().unwrap().to_owned();
    for selector in [run.as_str(), "42"] {
        let said = sandbox.warp_ok(&["cost", selector]);
        assert!(said.contains(&format!("run {run}  $0.00 of $20.00")), "{said}");
    }
}
