//! What changes in a file, as a unified diff.

use similar::TextDiff;

/// Unchanged lines around a change.
const CONTEXT: usize = 3;

/// Returns the unified diff of two texts; empty if they are equal. None is a file that is not there.
pub(super) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let label = |text: Option<&str>| text.map_or("/dev/null", |_| name);
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(CONTEXT)
        .header(label(before), label(after))
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_shown_with_their_surroundings() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let after = before.replace("b\n", "").replace("l\n", "l\nnew\nlines\n");
        assert_eq!(
            unified("f", Some(before), Some(&after)),
            "--- f\n+++ f\n@@ -1,5 +1,4 @@\n a\n-b\n c\n d\n e\n@@ -10,4 +9,6 @@\n j\n k\n l\n+new\n+lines\n m\n"
        );
    }

    #[test]
    fn files_that_come_and_go_are_shown_whole() {
        assert_eq!(
            unified("f", None, Some("a")),
            "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"
        );
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
        assert_eq!(unified("f", Some("a\n"), Some("a\n")), "");
    }
}
