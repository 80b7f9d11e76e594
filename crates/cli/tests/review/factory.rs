//! The factory with a reviewer of its own: a change goes from its author to the merge without a person.

use serde_json::json;
use testkit::{Said, driven::Driven};

use super::{WARP, first, later, says};
use crate::support::{Ends as _, InProject as _};

/// An author that writes a word more each time.
const AUTHOR: &str = r#"prompt=$(cat)
case $(cat file1.txt 2> /dev/null | wc -l) in
0) echo word1 > file1.txt ;;
*) printf '%s' "$prompt" | grep -qF 'the word is whispered' && echo louder >> file1.txt ;;
esac
echo '{"event":"pushed","data":{"summary":"words"}}'"#;

/// Runs issue 42 through the factory with this reviewer.
fn run(driven: &Driven, reviewer: &str, more: &[&str]) -> Said {
    driven.sandbox.write("author.sh", AUTHOR);
    driven.sandbox.write("reviewer.sh", reviewer);
    driven.sandbox.commit("chore: agents");
    let roles = json!({ "reviewer": { "agent": "command:sh ./reviewer.sh" } });
    let set = format!("roles={roles}");
    let all = [&["42", "--once", "--workflow", "factory", "--set", &set], more].concat();
    driven.run_shell("sh ./author.sh", &all)
}

fn moves(driven: &Driven) -> String {
    let log = driven.sandbox.rows(&["log", "42", "--json"]);
    let moved = log.iter().filter(|row| row["moved"] == true);
    moved.map(|row| row["event"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn what_the_reviewer_approves_is_merged_and_what_it_does_not_goes_back() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let refused = first("REQUEST_CHANGES", &[("bug", "file1.txt:1", "the word is whispered")]);
    let approved = later("APPROVE", &[("F1", "fixed")], &[]);
    let reviewer = format!(
        "if test $(wc -l < file1.txt) = 1; then\n{}\nelse\n{}\nfi\n",
        says(&refused),
        says(&approved)
    );
    let said = run(&driven, &reviewer, &["--level", "3"]).ends(0);
    assert_eq!(driven.sandbox.git(&["show", "main:file1.txt"]), "word1\nlouder");
    assert!(driven.sandbox.warp_ok(&["issue", "show", "42"]).contains("closed (merged)"));
    assert_eq!(
        moves(&driven),
        "init claimed pushed ci_passed changes_requested pushed ci_passed merged",
        "{said:?}"
    );
    assert!(said.out.contains("is reviewed (round 2): approved"), "{said:?}");
}

#[test]
fn where_a_person_merges_an_approval_is_waited_with() {
    let driven = Driven::with_issue(WARP, 1, 1);
    driven.sandbox.write("author.sh", AUTHOR);
    driven.sandbox.write("reviewer.sh", says(&first("APPROVE", &[])));
    driven.sandbox.commit("chore: agents");
    let roles = json!({ "reviewer": { "agent": "command:sh ./reviewer.sh" } });
    let set = format!("roles={roles}");
    let arguments = ["42", "--once", "--workflow", "factory", "--level", "2", "--set", &set];
    let mut running =
        crate::support::Running::start(driven.run_command_with("command:sh ./author.sh", &arguments));
    running.until("is reviewed (round 1): approved");
    running.until("is approved and waits for its merge");
    let pulls = driven.sandbox.rows(&["pr", "list", "--json"]);
    let number = pulls[0]["number"].to_string();
    driven.sandbox.warp_ok(&["pr", "merge", number.trim_matches('"')]);
    running.end().ends(0);
    assert_eq!(driven.sandbox.git(&["show", "main:file1.txt"]), "word1");
}

#[test]
fn a_reviewer_that_always_fails_leaves_the_review_to_a_person() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let said = run(&driven, "cat > /dev/null; exit 7\n", &["--level", "3"]).ends(5);
    assert!(said.out.contains("came to nothing (3 of 3)"), "{said:?}");
    assert_eq!(moves(&driven), "init claimed pushed ci_passed needs_human", "{said:?}");
}

#[test]
fn what_only_a_person_merges_is_not_merged_by_an_agents_approval() {
    let driven = Driven::with_issue(WARP, 1, 1);
    let author = "mkdir -p .github/workflows; echo 'on: push' > .github/workflows/ci.yml";
    driven.sandbox.write("more.sh", author);
    driven.sandbox.write("author.sh", format!("sh ./more.sh\n{AUTHOR}"));
    driven.sandbox.write("reviewer.sh", says(&first("APPROVE", &[])));
    driven.sandbox.commit("chore: agents");
    let roles = json!({ "reviewer": { "agent": "command:sh ./reviewer.sh" } });
    let set = format!("roles={roles}");
    let arguments = ["42", "--once", "--workflow", "factory", "--level", "3", "--set", &set];
    let mut running =
        crate::support::Running::start(driven.run_command_with("command:sh ./author.sh", &arguments));
    running.until("is reviewed (round 1): approved");
    running.until("`warp pr merge ");
    let pulls = driven.sandbox.rows(&["pr", "list", "--json"]);
    let number = pulls[0]["number"].to_string();
    driven.sandbox.warp_ok(&["pr", "merge", number.trim_matches('"')]);
    running.end().ends(0);
}
