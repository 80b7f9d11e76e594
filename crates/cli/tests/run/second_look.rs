//! A second look at a whole issue of several chunks, before it is merged without a reviewer.

use super::support::{Ended, Project};
use crate::support::Ends as _;

/// An agent that does a word for each chunk, and answers with FOUND when it is asked to look at all of them again, if it is
/// shown everything.
const AGENT: &str = r#"command:prompt=$(cat)
has() { printf '%s' "$prompt" | grep -qF -- "$1"; }
if has 'look at the whole issue once more'; then
  for part in '- AC-01: it says hello' '- AC-02: it names the world' '+word 1: it says' '+word 2: it says'; do
    has "$part" || echo "the brief has no '$part'"
  done
  echo 'FOUND'
  exit
fi
has 'chunk 1 of 2' && n=1 || n=2
echo "word $n: it says hello, it names the world" > "word$n.txt"
echo "{\"summary\":\"word $n\",\"evidence\":[{\"ac\":\"AC-0$n\",\"file\":\"word$n.txt\",\"line\":1}]}""#;

/// Runs the issue, a criterion at a time, with an agent that finds this.
fn run(project: &Project, found: &str, more: &[&str]) -> Ended {
    let agent = AGENT.replace("FOUND", found);
    project.run(&[&["--set", "max_acs_per_commit=1", "--agent", &agent], more].concat())
}

fn is_merged(project: &Project) -> bool {
    !project.sandbox.git(&["ls-tree", "--name-only", "main", "word2.txt"]).is_empty()
}

#[test]
fn what_is_met_is_merged_after_one_more_turn_that_sees_the_whole_change() {
    let project = Project::new("");
    let ended = run(&project, r#"{"unmet":[]}"#, &[]).ends(0);
    assert!(
        ended.said.contains("a second look at the whole issue: every criterion is met"),
        "{}",
        ended.said
    );
    assert_eq!(project.count("turn_started"), 3);
    assert!(is_merged(&project));
    assert!(!ended.said.contains("the brief has no"), "{}", ended.said);
}

#[test]
fn what_is_not_met_waits_for_a_person_and_is_asked_about_once() {
    let project = Project::new("");
    let unmet = r#"{"unmet":[{"ac":"AC-01","why":"chunk 2 says goodbye instead"}]}"#;
    let ended = run(&project, unmet, &[]).ends(5);
    let (id, question) = project.question();
    assert!(
        question.contains("1 criterion is not met:\nAC-01: chunk 2 says goodbye instead\nMerge it as it is?"),
        "{question}"
    );
    assert!(!is_merged(&project), "{}", ended.said);
    project.sandbox.warp_ok(&["answer", &id, "merge"]);
    run(&project, unmet, &[]).ends(0);
    assert!(is_merged(&project));
    assert_eq!((project.count("turn_started"), project.count("question_asked")), (3, 1));
}

#[test]
fn nobody_looks_again_where_a_person_reviews_or_verification_is_off() {
    for more in [["--level", "2"], ["--set", "pre_exit_verification=false"]] {
        let project = Project::new("");
        run(&project, "nothing", &more).ends(0);
        assert_eq!(project.count("turn_started"), 2, "{more:?}");
    }
}
