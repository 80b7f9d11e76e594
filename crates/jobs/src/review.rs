//! Changes that a person merges at every level: files that decide how later runs are held (`review_paths`).

use engine::{Run, Settings, keys};

use crate::{Context, JobError, words::list};

impl Context<'_> {
    /// Returns the files of a run's change, up to a commit, that only a person merges.
    pub(crate) fn for_review(&self, run: &Run, commit: &str) -> Result<Vec<String>, JobError> {
        let range = format!("refs/heads/{}...{commit}", run.branches.merge_target);
        // Whatever the repository's configuration says about submodules: one may take a protected place.
        let changed = self.git().names(&["--ignore-submodules=none", &range, "--"]);
        // A run that began before there was this setting goes by the default.
        let is_set = run.settings.value(keys::REVIEW_PATHS.name()).is_some();
        let patterns =
            if is_set { run.settings.clone() } else { Settings::default() }.get(keys::REVIEW_PATHS);
        let is_protected = |path: &String| patterns.iter().any(|pattern| is_at(path, pattern));
        Ok(changed.map_err(JobError::World)?.into_iter().filter(is_protected).collect())
    }
}

/// Says why a person merges a change of these files.
pub(crate) fn reason(files: &[String]) -> String {
    format!("it changes {}, which only a person merges (`review_paths`)", list(files))
}

/// Puts what a person has to know first at the top of a pull request.
pub(crate) fn on_top(files: &[String], body: String) -> String {
    if files.is_empty() {
        return body;
    }
    format!(
        "**For a person to review and merge: this changes {}.** Such files decide how later runs are checked, so warp does \
         not merge them by itself (`review_paths`).\n\n{body}",
        list(files)
    )
}

/// Tells whether a changed file is what a pattern names, lies below it, or has taken the place of a directory above it.
///
/// A pattern with a slash inside begins at the root; any other is found at every depth. `*` stands for a part of a name. Case
/// does not count, since there are file systems on which it does not.
fn is_at(path: &str, pattern: &str) -> bool {
    let (path, pattern) = (path.to_lowercase(), pattern.trim().to_lowercase());
    let trimmed = pattern.trim_start_matches("./").trim_matches('/');
    let wanted: Vec<&str> = trimmed.split('/').collect();
    let names: Vec<&str> = path.split('/').collect();
    let fits = |names: &[&str]| names.iter().zip(&wanted).all(|(name, wanted)| is_like(name, wanted));
    match wanted.len() {
        1 if !pattern.starts_with('/') => names.iter().any(|name| is_like(name, wanted[0])),
        _ => fits(&names),
    }
}

/// Tells whether a name fits a pattern in which `*` stands for anything.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return name == pattern };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let starts = rest.char_indices().map(|(index, _)| index).chain([rest.len()]);
    starts.into_iter().any(|start| is_like(&rest[start..], after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_protected(path: &str) -> bool {
        Settings::default().get(keys::REVIEW_PATHS).iter().any(|pattern| is_at(path, pattern))
    }

    #[test]
    fn what_decides_about_later_runs_is_for_a_person() {
        for path in [
            "warp.toml",
            "Warp.TOML",
            ".warp/workflows/warp-drive.toml",
            ".warp/prompts/warp-drive/coding.md",
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude",
            "packages/app/.claude/hooks/x.sh",
            ".codex/config.toml",
            "opencode.json",
            ".mcp.json",
            ".githooks/pre-commit",
            ".husky/pre-push",
            ".pre-commit-config.yaml",
            ".github/workflows/ci.yml",
            ".github/workflows",
            ".github",
            ".GitHub/Workflows/ci.yml",
            ".github/actions/setup/action.yml",
            ".forgejo/workflows/ci.yml",
            ".gitlab-ci.yml",
            ".circleci/config.yml",
            "deploy/Jenkinsfile",
            "docs/CODEOWNERS",
        ] {
            assert!(is_protected(path), "{path}");
        }
    }

    #[test]
    fn documentation_and_code_are_not() {
        for path in [
            "AGENTS.md",
            "CLAUDE.md",
            "README.md",
            "docs/warp.toml.md",
            "src/warp.rs",
            "src/claude/settings.json",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".github/pull_request_template.md",
            ".gitlab/issue_templates/bug.md",
            "github/workflows/ci.yml",
            "Makefile",
            "hooks/useState.ts",
        ] {
            assert!(!is_protected(path), "{path}");
        }
    }

    #[test]
    fn a_pattern_is_found_where_it_says() {
        for (path, pattern, is_there) in [
            ("ops/prod.tf", "ops/", true),
            ("a/ops/prod.tf", "ops", true),
            ("a/ops/prod.tf", "/ops", false),
            ("a/ops/prod.tf", "a/ops", true),
            ("b/a/ops/prod.tf", "a/ops", false),
            ("a", "a/ops", true),
            ("x/main.tf", "*.tf", true),
            ("x/main.tfvars", "*.tf", false),
            ("ci/a-test.yml", "ci/*-test.*", true),
            ("ci/a.yml", "ci/*-test.*", false),
        ] {
            assert_eq!(is_at(path, pattern), is_there, "{path}, {pattern}");
        }
    }
}
