//! Agents that reach out, and tests that they write: nothing outside the run's own tree is touched or told.

use std::{env, fs, os::unix::fs::PermissionsExt as _};

use serde_json::Value;

use super::support::{Ended, GOOD, Project, Running, has_walls};
use crate::support::{Ends as _, InProject as _};

/// What an attacker would like to leave behind, in a shell script; `$HERE` is the path of the person's checkout,
/// where the run's own tree is seen: what is put there is taken away again, so that it is not committed.
const REACH: &str = r#"
for place in "$HOME" /tmp /var/tmp "$HERE" "$HERE/.git" "$HERE/.git/hooks" "$XDG_STATE_HOME/warp" "$HOME/config"; do
    echo escaped > "$place/warp-escaped" 2>/dev/null
done
cat "$HERE/mine.txt" > $FOUND 2>/dev/null
echo escaped >> "$HERE/mine.txt" 2>/dev/null
git -C "$HERE" config core.fsmonitor "touch $HOME/warp-escaped" 2>/dev/null
git -C "$HERE" update-ref refs/heads/escaped HEAD 2>/dev/null
cat "$HOME/.ssh/id_test" "$HOME"/state/warp/projects/*/journal.db >> $FOUND 2>/dev/null
env >> $FOUND
rm -f "$HERE/warp-escaped" "$HERE/mine.txt"
rm -rf .git
mkdir -p .git/hooks && echo '[core]' > .git/config
printf '#!/bin/sh\ntouch "$HOME/warp-escaped"\n' > .git/hooks/pre-commit
true
"#;

/// A file of the person's that git does not know.
const MINE: &str = "a private note\n";

/// Sees that none of it is there.
fn is_untouched(project: &Project) {
    let home = project.sandbox.home();
    let here = project.sandbox.root();
    let state = home.join("state/warp");
    for place in [home, "/tmp".as_ref(), "/var/tmp".as_ref(), &here, &here.join(".git"), &state] {
        assert!(!place.join("warp-escaped").exists(), "{}", place.display());
    }
    assert!(!here.join(".git/hooks/warp-escaped").exists() && !home.join("config/warp-escaped").exists());
    assert_eq!(project.sandbox.read("test.sh").as_deref(), Some("test ! -e broken\n"));
    assert_eq!(project.sandbox.read("mine.txt").as_deref(), Some(MINE));
    assert!(!project.sandbox.git(&["config", "--list"]).contains("fsmonitor"));
    assert_eq!(project.sandbox.git(&["branch", "--list", "escaped"]), "");
}

fn project(script: &str) -> Project {
    let project = Project::new(script);
    let home = project.sandbox.home();
    fs::create_dir_all(home.join(".ssh")).unwrap();
    fs::create_dir_all(home.join("config")).unwrap();
    fs::write(home.join(".ssh/id_test"), "a private key").unwrap();
    project.sandbox.write(".git/info/exclude", "mine.txt\n");
    project.sandbox.write("mine.txt", MINE);
    project
}

/// Returns the script, which puts what it finds into a file.
fn reach(project: &Project, found: &str) -> String {
    REACH.replace("$HERE", project.sandbox.root().to_str().unwrap()).replace("$FOUND", found)
}

fn run(project: &Project, more: &[&str]) -> Ended {
    // What these agents write would be held before it is committed; here it has to be the sandbox that holds them.
    let mut command = project.command(&[more, &["--set", "commit_guard=false"]].concat());
    command.env("GH_TOKEN", "open-sesame").env("SSH_AUTH_SOCK", "/run/open-sesame");
    Running::start(command).end()
}

#[test]
fn an_agent_that_reaches_out_touches_nothing_and_finds_nothing() {
    if !has_walls() {
        return;
    }
    let project = project("");
    // A command has no hooks that would stop it before the walls do.
    let answer = r#"{"summary":"done","evidence":[{"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}"#;
    let script = format!(
        "{}\nprintf 'hello\\nworld\\n' > greeting.txt\necho '{answer}'\n",
        reach(&project, "found.txt")
    );
    let file = project.sandbox.home().join("evil.sh");
    fs::write(&file, script).unwrap();
    run(&project, &["--agent", &format!("command:sh {}", file.display())]).ends(0);
    is_untouched(&project);
    let found = project.sandbox.git(&["show", "main:found.txt"]);
    assert!(!found.contains("a private") && !found.contains("open-sesame"), "{found}");
    assert!(!found.contains("SQLite format"), "the journal was read");
    assert_eq!(
        project.sandbox.git(&["ls-tree", "--name-only", "main"]),
        "Makefile\nfound.txt\ngreeting.txt\ntest.sh"
    );
}

#[test]
fn a_test_that_an_agent_wrote_reaches_no_more_than_the_agent() {
    if !has_walls() {
        return;
    }
    let project = project("");
    // No socket of anybody's is within reach, the one for hooks included.
    let sockets = "find /tmp /run /var/tmp -type s 2>/dev/null | grep -q .";
    let found = "grep -q -e 'a private' -e open-sesame -e SQLite -e WARP_HOOK /tmp/found.txt";
    let test = format!("{}\n! {found} && ! {{ {sockets}; }}\n", reach(&project, "/tmp/found.txt"));
    let quoted = serde_json::to_string(&test).unwrap();
    project
        .script(&GOOD.replace("steps = [", &format!("steps = [{{ write = \"test.sh\", text = {quoted} }},")));
    run(&project, &[]).ends(0);
    project.sandbox.git(&["checkout", "--quiet", "HEAD~1"]);
    is_untouched(&project);
}

/// Answers as if the issue was done.
const DONE: &str = r#"echo '{"summary":"done","evidence":[
    {"ac":"AC-01","file":"greeting.txt","line":1},{"ac":"AC-02","file":"greeting.txt","line":2}]}'"#;

#[test]
fn what_is_planted_in_a_tree_without_walls_is_never_run() {
    let project = project("");
    let evil = format!("touch {}", project.sandbox.home().join("warp-escaped").display());
    let plant = format!(
        "rm -rf .git && git init --quiet . && git config core.fsmonitor '{evil}' && git config filter.evil.clean '{evil}; cat'
        git config core.hooksPath .git/hooks; git config core.pager '{evil}'; git config diff.external '{evil}'
        for hook in pre-commit commit-msg post-commit reference-transaction post-checkout pre-push; do
            printf '#!/bin/sh\\n{evil}\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
        done
        echo '*.txt filter=evil diff=evil' > .gitattributes; printf 'hello\\nworld\\n' > greeting.txt; {DONE}"
    );
    run(&project, &["--no-sandbox", "--agent", &format!("command:{plant}")]).ends(0);
    is_untouched(&project);
    let files = project.sandbox.git(&["ls-tree", "--name-only", "main"]);
    assert_eq!(files, ".gitattributes\nMakefile\ngreeting.txt\ntest.sh");
}

#[test]
fn a_tree_that_is_deleted_is_told_and_comes_back() {
    for walls in [&["--no-sandbox"][..], &[]] {
        if walls.is_empty() && !has_walls() {
            return;
        }
        let project = project("");
        let delete = format!("command:find . -mindepth 1 -delete 2>/dev/null; {DONE}");
        let ended =
            run(&project, &[walls, &["--agent", &delete, "--set", "decision_timeout_minutes=0"]].concat());
        assert_eq!(ended.code, Some(5), "{}", ended.said);
        assert!(
            ended.said.contains("`code_complete` is refused in `coding` by self_verification"),
            "{}",
            ended.said
        );
        is_untouched(&project);
        project.goes_on();
        assert_eq!(
            project.sandbox.git(&["ls-tree", "--name-only", "main"]),
            "Makefile\ngreeting.txt\ntest.sh"
        );
    }
}

#[test]
fn a_repository_within_the_tree_is_not_committed_in_place_of_its_files() {
    let project = project("");
    let nested = "mkdir -p sub; cd sub; git init --quiet; echo x > f; git add .; git commit --quiet -m 'chore: x'; cd ..";
    let agent = format!(
        "command:if test $WARP_CYCLE = 0; then {nested}; else mv sub/f f; rm -rf sub; fi
        printf 'hello\\nworld\\n' > greeting.txt; {DONE}"
    );
    let ended = run(&project, &["--agent", &agent]).ends(0);
    assert!(
        ended.said.contains("sub is a git repository of its own, whose files would not be committed"),
        "{}",
        ended.said
    );
    let files = project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, "Makefile\nf\ngreeting.txt\ntest.sh");
}

/// Returns commands that give the repository in a directory a filter which leaves a mark outside.
fn filter(project: &Project, directory: &str) -> String {
    let evil = project.sandbox.home().join("warp-escaped");
    format!(
        "echo '* filter=evil' > {directory}/.gitattributes; touch {directory}/f
        git -C {directory} config filter.evil.clean 'touch {}; cat'",
        evil.display()
    )
}

#[test]
fn the_filters_of_a_repository_within_the_tree_are_never_run() {
    for walls in [&["--no-sandbox"][..], &[]] {
        if walls.is_empty() && !has_walls() {
            return;
        }
        let project = project("");
        let agent = format!(
            "command:if test ! -e sub; then git init --quiet sub; echo x > sub/f; git -C sub add .
            git -C sub commit --quiet -m 'chore: x'; {}; fi; exit 1",
            filter(&project, "sub")
        );
        let ended =
            run(&project, &[walls, &["--agent", &agent, "--set", "decision_timeout_minutes=0"]].concat());
        assert_eq!(ended.code, Some(5), "{}", ended.said);
        is_untouched(&project);
        project.goes_on();
        is_untouched(&project);
        let aside = fs::read_dir(project.sandbox.journal().with_file_name("set-aside")).unwrap();
        let aside: Vec<_> = aside.map(|entry| entry.unwrap().path()).collect();
        let [sub] = aside.as_slice() else { panic!("{aside:?}") };
        assert!(sub.join(".git/config").is_file() && sub.join("f").is_file());
        let listed = project.sandbox.warp_ok(&["salvage", "list"]);
        assert!(listed.contains(sub.file_name().unwrap().to_str().unwrap()), "{listed}");
    }
}

#[test]
fn the_filters_of_a_repository_in_place_of_a_submodule_are_never_run() {
    for walls in [&["--no-sandbox"][..], &[]] {
        if walls.is_empty() && !has_walls() {
            return;
        }
        let project = project("");
        let commit = project.sandbox.git(&["rev-parse", "HEAD"]);
        let entry = format!("160000,{commit},vendor");
        project.sandbox.git(&["update-index", "--add", "--cacheinfo", &entry]);
        project.sandbox.git(&["commit", "--quiet", "-m", "chore: a submodule"]);
        // It stands at the very commit, so that only a look into it tells whether it was changed.
        let agent = format!(
            "command:if test $WARP_CYCLE = 0; then
                git clone --quiet --no-hardlinks . vendor && git -C vendor checkout --quiet {commit}
                echo x > vendor/f; git -C vendor add f; {}
                printf '[submodule \"v\"]\npath = vendor\nurl = x\nignore = none\n' > .gitmodules
            else rm -rf vendor .gitmodules; mkdir vendor; fi
            printf 'hello\\nworld\\n' > greeting.txt; {DONE}",
            filter(&project, "vendor")
        );
        let ended = run(&project, &[walls, &["--agent", &agent]].concat()).ends(0);
        is_untouched(&project);
        assert!(ended.said.contains("vendor is a git repository of its own"), "{}", ended.said);
        let files = project.sandbox.git(&["ls-tree", "-r", "main"]);
        assert!(files.contains(&format!("160000 commit {commit}\tvendor")), "{files}");
    }
}

#[test]
fn the_state_file_is_not_written_through_a_link() {
    let project = project("");
    let (victim, file) = (project.sandbox.home().join("victim"), ".warp-drive-state.json");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join(file), "mine").unwrap();
    let link = format!("rm -rf .claude; ln -s {} .claude", victim.display());
    let agent = format!("command:{link}; printf 'hello\\nworld\\n' > greeting.txt; {DONE}");
    run(&project, &["--no-sandbox", "--agent", &agent]).ends(0);
    assert_eq!(fs::read_to_string(victim.join(file)).unwrap(), "mine");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
}

#[test]
fn a_project_whose_agents_directory_is_a_link_is_worked_on() {
    let project = project("");
    project.sandbox.write("shared/settings.json", "{}\n");
    std::os::unix::fs::symlink("shared", project.sandbox.root().join(".claude")).unwrap();
    project.sandbox.commit("chore: shared settings");
    project.script(GOOD);
    let ended = run(&project, &[]).ends(0);
    assert!(ended.said.contains(".warp-drive-state.json is not written"), "{}", ended.said);
    let files = project.sandbox.git(&["ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(files, ".claude\nMakefile\ngreeting.txt\nshared/settings.json\ntest.sh");
}

#[test]
fn a_secret_that_a_prompt_leads_to_is_told_to_no_agent() {
    let project = project("");
    let secret = project.sandbox.home().join(".ssh/id_test");
    let phases = "PLANNING PLAN_REVIEW CODING FIXING CODE_REVIEW BUDGET_REVIEW";
    let agent = format!(
        "command:cat > told.$$; mkdir -p .warp/prompts/coder
        for phase in {phases}; do ln -sf {} .warp/prompts/coder/$phase.md; done; exit 1",
        secret.display()
    );
    let more = ["--no-sandbox", "--workflow", "coder", "--agent", &agent];
    let ended = run(&project, &[&more[..], &["--set", "decision_timeout_minutes=0"]].concat()).ends(5);
    let told = fs::read_dir(project.tree()).unwrap().map(|entry| entry.unwrap().path());
    let told: Vec<String> = told
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("told."))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert!(told.len() > 1, "{}", ended.said);
    assert!(told.iter().all(|text| text.contains("PLANNING") && !text.contains("a private")), "{told:?}");
}

#[test]
fn a_repository_without_a_commit_is_no_dead_end() {
    let project = project("");
    let begin = "git init --quiet fx; echo x > fx/f";
    // An agent that fails is followed by one that is told what lies there.
    let ended = run(
        &project,
        &["--agent", &format!("command:{begin}; exit 1"), "--set", "decision_timeout_minutes=0"],
    )
    .ends(5);
    assert!(!ended.said.contains("git add"), "{}", ended.said);
    let agent = format!(
        "command:if test $WARP_CYCLE = 0; then {begin}; else rm -rf fx; fi
        printf 'hello\\nworld\\n' > greeting.txt; {DONE}"
    );
    let ended = run(&project, &["--agent", &agent]).ends(0);
    assert!(ended.said.contains("fx is a git repository of its own"), "{}", ended.said);
}

#[test]
fn a_run_with_such_a_repository_is_stopped_with_a_report_and_its_files_kept() {
    let project = project("");
    let agent = format!("command:git init --quiet fx; printf 'hello\\nworld\\n' > greeting.txt; {DONE}");
    let more = ["--agent", &agent, "--set", "decision_timeout_minutes=0", "--set", "max_coding_cycles=1"];
    run(&project, &more).ends(5);
    let stopped = project.sandbox.warp(&["stop", "1"]).ends(1);
    for words in ["fx is a git repository of its own", "uncommitted work is kept as", "the abort report is #"]
    {
        assert!(stopped.out.contains(words), "{stopped:?}");
    }
    let kept = project.sandbox.warp_ok(&["salvage", "show", "1"]);
    assert!(kept.contains("greeting.txt"), "{kept}");
    project.goes_on();
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody_up() {
    let project = project("");
    project.sandbox.git(&["rm", "--quiet", "Makefile"]);
    let test = "import os, unittest\n\nclass Greeting(unittest.TestCase):\n    def test_it(self):\n        \
                self.assertFalse(os.path.exists('greeting.txt'))\n";
    project.sandbox.write("test_greeting.py", test);
    project.sandbox.commit("chore: no Makefile");
    // Nobody would ever write into it; the tests fail, because they want no greeting.
    let agent = format!("command:mkfifo Makefile; printf 'hello\\nworld\\n' > greeting.txt; {DONE}");
    let ended = run(&project, &["--agent", &agent]).ends(5);
    assert!(ended.said.contains("The same failures came back"), "{}", ended.said);
}

#[test]
fn without_walls_a_client_may_edit_and_run_the_projects_tests() {
    let project = Project::new(GOOD);
    let home = project.sandbox.home();
    let (bin, told) = (home.join("bin"), home.join("told"));
    fs::create_dir(&bin).unwrap();
    let client = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\nexit 1\n", told.display());
    fs::write(bin.join("claude"), client).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = project.command(&["--agent", "claude", "--no-sandbox"]);
    command.env("PATH", format!("{}:{}", bin.display(), env::var("PATH").unwrap()));
    Running::start(command).until("question_asked");
    let told = fs::read_to_string(&told).unwrap();
    assert!(told.lines().any(|line| line == "acceptEdits"), "{told}");
    let settings = told.lines().skip_while(|line| *line != "--settings").nth(1).unwrap();
    let settings: Value = serde_json::from_str(settings).unwrap();
    let rules = settings["permissions"]["allow"].as_array().unwrap();
    assert_eq!(rules[..2], ["Bash(make test)", "Bash(make test *)"], "{rules:?}");
}

#[test]
fn an_agent_does_not_choose_the_command_that_tests_its_work() {
    let steps = r#"steps = [{ write = "Makefile", text = "test:\n\ttrue\n" }, "#;
    let project = Project::new(&GOOD.replace("steps = [", steps));
    let sandbox = &project.sandbox;
    sandbox.git(&["rm", "--quiet", "Makefile"]);
    sandbox.write("package.json", r#"{ "scripts": { "test": "exit 1" } }"#);
    sandbox.git(&["add", "--all"]);
    sandbox.git(&["commit", "--quiet", "--amend", "--no-edit"]);
    let ended = project.run(&["--set", "max_coding_cycles=0"]).ends(5);
    assert!(ended.said.contains("`npm test` ended with exit "), "{}", ended.said);
    assert!(!ended.said.contains("`make test`"), "{}", ended.said);
    assert_eq!(sandbox.git(&["ls-tree", "--name-only", "main"]), "package.json\ntest.sh");
}
