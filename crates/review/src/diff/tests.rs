//! Diffs, taken apart.

use super::*;

const DIFF: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,4 @@ fn a()
 one
--- two
+++ two
+three
 four
@@ -10 +11,2 @@
 ten
+eleven
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1,2 +0,0 @@
-x
-y
\\ No newline at end of file
diff --git a/old name.txt b/new name.txt
similarity index 100%
rename from old name.txt
rename to new name.txt
diff --git a/logo.png b/logo.png
new file mode 100644
Binary files /dev/null and b/logo.png differ
diff --git \"a/\\303\\244.txt\" \"b/\\303\\244.txt\"
new file mode 100644
--- /dev/null
+++ \"b/\\303\\244.txt\"
@@ -0,0 +1 @@
+umlaut
";

fn place(text: &str) -> Place {
    Place::parse(text)
}

#[test]
fn a_change_is_read_file_by_file() {
    let files = parse(DIFF);
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/a.rs", "gone.txt", "new name.txt", "logo.png", "ä.txt"]);
    let binary: Vec<bool> = files.iter().map(|file| file.is_binary).collect();
    assert_eq!(binary, [false, false, false, true, false]);
    // Removed and added lines that look like headers are lines.
    assert_eq!(files[0].hunks.len(), 2);
    assert_eq!(files[0].hunks[0].lines.len(), 5);
}

#[test]
fn a_place_is_in_a_change_if_a_hunk_shows_it() {
    let shown = lines(&parse(DIFF));
    for (text, is_there) in [
        ("src/a.rs:1", true),
        ("src/a.rs:4", true),
        ("src/a.rs:5", false),
        ("src/a.rs:5-11", true),
        ("src/a.rs:12", true),
        ("src/a.rs:13", false),
        ("src/a.rs", true),
        ("gone.txt:1", true),
        ("src/b.rs", false),
    ] {
        assert_eq!(shown.has(&place(text)), is_there, "{text}");
    }
}

#[test]
fn what_two_changes_share_are_the_lines_of_both() {
    let of = |path: &str, range: RangeInclusive<u64>| Lines([(path.to_owned(), vec![range])].into());
    assert_eq!(of("a", 1..=10).within(&of("a", 8..=20)), of("a", 8..=10));
    assert_eq!(of("a", 1..=3).within(&of("a", 4..=5)), Lines::default());
    assert_eq!(of("a", 1..=3).within(&of("b", 1..=3)), Lines::default());
}

/// Makes a new file with a line for each of these.
fn file(path: &str, contents: &[String]) -> String {
    let lines: String = contents.iter().map(|line| format!("+{line}\n")).collect();
    format!(
        "diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{} @@\n{lines}",
        contents.len()
    )
}

#[test]
fn small_files_share_a_part_and_large_ones_have_their_own() {
    let small = |path: &str| file(path, &["x".repeat(100)]);
    let large = file("large", &vec!["y".repeat(90); 9]);
    let diff = [small("a"), small("b"), large, small("c")].concat();
    let parts = parts(&parse(&diff), 1200);
    let files: Vec<Vec<&str>> =
        parts.iter().map(|part| part.files.iter().map(String::as_str).collect()).collect();
    assert_eq!(files, [vec!["a", "b"], vec!["large", "c"]].map(|files| files));
    assert!(parts.iter().all(|part| part.text.len() <= 1200));
}

#[test]
fn every_line_of_a_large_change_is_in_some_part() {
    let contents: Vec<String> = (0..400).map(|line| format!("line {line} of it")).collect();
    let diff = [file("large", &contents), file("other", &contents)].concat();
    let parts = parts(&parse(&diff), 2000);
    assert!(parts.len() > 5, "{}", parts.len());
    assert!(parts.iter().all(|part| part.text.len() <= 2000));
    let shown = |file: &str, line: &str| {
        let has = |part: &&Part| part.files.iter().any(|one| one == file) && part.text.contains(line);
        parts.iter().filter(has).count()
    };
    for line in &contents {
        for file in ["large", "other"] {
            assert!(shown(file, &format!("+{line}\n")) >= 1, "{file}: {line}");
        }
    }
    // Where a file goes on, the numbers of its lines do too.
    let numbers: Vec<&str> =
        parts.iter().flat_map(|part| part.text.lines()).filter(|it| it.starts_with("@@")).collect();
    assert_eq!(numbers[0], "@@ -0 +1 @@");
    let second = parts[1].text.lines().skip_while(|line| !line.starts_with("@@")).nth(1).unwrap();
    let first: usize = second.trim_start_matches("+line ").split(' ').next().unwrap().parse().unwrap();
    assert_eq!(numbers[1], format!("@@ -0 +{} @@", first + 1));
}

#[test]
fn a_line_that_is_longer_than_a_part_is_read_to_its_end() {
    let long: String = (0..3000).map(|index| char::from(b'a' + (index % 26) as u8)).collect();
    let parts = parts(&parse(&file("min", &[long.clone(), "ä".repeat(900)])), 1000);
    assert!(parts.iter().all(|part| part.text.len() <= 1000));
    let all: String = parts
        .iter()
        .flat_map(|part| part.text.lines())
        .filter(|line| !["diff", "new ", "---", "+++", "@@"].iter().any(|head| line.starts_with(head)))
        .collect();
    assert_eq!(all, format!("+{long}+{}", "ä".repeat(900)));
}

#[test]
fn locks_and_minified_files_are_written_by_programs() {
    for path in ["Cargo.lock", "web/package-lock.json", "dist/app.min.js", "dist/app.css.map"] {
        assert!(is_generated(path), "{path}");
    }
    for path in ["src/lock.rs", "Cargo.toml", "minjs", "src/generated/a.rs", "dist/app.js"] {
        assert!(!is_generated(path), "{path}");
    }
}
