use crate::sandbox;

#[test]
fn the_tour_drives_every_workflow_and_leaves_nothing_behind() {
    let sandbox = sandbox();
    let said = sandbox.warp(&["tour"]);
    assert_eq!(said.code, Some(0), "{}", said.out);
    for title in ["=== warp-drive", "=== coder", "=== autonomous-loop", "=== factory"] {
        assert!(said.out.contains(title), "{title}");
    }
    assert!(!sandbox.home().join("state").exists(), "the tour has a home of its own");
}
