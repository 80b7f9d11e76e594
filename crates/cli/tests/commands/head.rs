use std::fs;

use super::coding;
use crate::support::Ends as _;

#[test]
fn a_head_that_is_gone_or_torn_sends_the_gate_to_the_store() {
    let sandbox = coding();
    let head = sandbox.root().join(".git/warp/head");
    let whole = fs::read_to_string(&head).unwrap();
    for torn in ["", "warp-head 1\nrun x\n", "warp-head 9\nend\n", &whole[..whole.len() - 2]] {
        fs::write(&head, torn).unwrap();
        assert_eq!(sandbox.warp(&["state", "gate", ".", "git_commit"]).code, Some(2), "{torn:?}");
    }
    fs::remove_file(&head).unwrap();
    sandbox.warp(&["state", "gate", ".", "git_commit"]).ends(2);
    assert_eq!(fs::read_to_string(&head).unwrap(), whole, "the next command has written it again");
}
