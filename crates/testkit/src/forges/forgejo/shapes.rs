//! Forgejo's objects as its API shows them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::forges::{
    git::Commit,
    world::{
        Comment, Issue, Kind, Label, Repo, Review, ReviewComment, Role, Verdict, World, checks::Status,
        pulls::is_work_in_progress,
    },
};

pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(crate) fn api(world: &World, repo: &Repo) -> String {
    format!("{}/api/v1/repos/{}/{}", world.origin, repo.owner, repo.name)
}

pub(crate) fn web(world: &World, repo: &Repo) -> String {
    format!("{}/{}/{}", world.origin, repo.owner, repo.name)
}

pub(crate) fn user(world: &World, login: &str) -> Value {
    let id = world.user(login).map_or(0, |user| user.id);
    let mut shown = json!({
        "id": id, "login": login, "login_name": "", "source_id": 0, "full_name": "",
        "email": format!("{login}@noreply.localhost"), "avatar_url": format!("{}/avatars/{id}", world.origin),
        "html_url": format!("{}/{login}", world.origin), "language": "", "is_admin": false,
        "last_login": "0001-01-01T00:00:00Z", "created": "2020-01-01T00:00:00Z", "restricted": false,
        "active": false, "prohibit_login": false, "location": "", "website": "", "description": "",
        "visibility": "public", "followers_count": 0, "following_count": 0, "starred_repos_count": 0,
    });
    if world.kind == Kind::Gitea {
        shown["username"] = json!(login);
    } else {
        shown["pronouns"] = json!("");
        shown["username"] = json!(login);
    }
    shown
}

pub(crate) fn repo(world: &World, repo: usize, account: Option<&str>) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (api(world, repository), web(world, repository));
    let role = world.role(repository, account);
    let open = |is_pull: bool| {
        repository.issues.iter().filter(|issue| issue.is_open && issue.is_pull() == is_pull).count()
    };
    let at = time(repository.created);
    let mut shown = json!({
        "id": repository.id, "owner": user(world, &repository.owner), "name": repository.name,
        "full_name": repository.full_name(), "description": "", "empty": false, "private": repository.is_private,
        "fork": false, "template": false, "parent": null, "mirror": false, "size": 1, "language": "",
        "languages_url": format!("{api}/languages"), "html_url": web, "url": api, "link": "",
        "ssh_url": format!("git@localhost:{}.git", repository.full_name()), "clone_url": format!("{web}.git"),
        "original_url": "", "website": "", "stars_count": 0, "forks_count": 0, "watchers_count": 1,
        "open_issues_count": open(false), "open_pr_counter": open(true), "release_counter": 0,
        "default_branch": repository.default_branch, "archived": repository.is_archived, "created_at": at,
        "updated_at": at, "archived_at": "1970-01-01T00:00:00Z",
        "permissions": { "admin": role >= Role::Admin, "push": role >= Role::Write, "pull": true },
    });
    let settings = json!({
        "has_issues": true, "has_wiki": false, "has_pull_requests": true, "has_projects": false,
        "has_releases": false, "has_packages": false, "has_actions": !repository.workflows.is_empty(),
        "ignore_whitespace_conflicts": false, "allow_merge_commits": true, "allow_rebase": true,
        "allow_rebase_explicit": true, "allow_squash_merge": true, "allow_fast_forward_only_merge": true,
        "allow_rebase_update": true, "default_delete_branch_after_merge": false, "default_merge_style": "merge",
        "default_allow_maintainer_edit": false, "avatar_url": "", "internal": false, "mirror_interval": "",
        "object_format_name": "sha1", "mirror_updated": "0001-01-01T00:00:00Z", "topics": [],
    });
    shown = extend(shown, settings);
    if world.kind != Kind::Gitea {
        for (key, value) in [
            ("wiki_branch", json!("main")),
            ("globally_editable_wiki", json!(false)),
            ("default_update_style", json!("merge")),
        ] {
            shown[key] = value;
        }
    }
    shown
}

pub(crate) fn label(world: &World, repo: usize, label: &Label) -> Value {
    let url = format!("{}/labels/{}", api(world, &world.repos[repo]), label.id);
    json!({ "id": label.id, "name": label.name, "exclusive": false, "is_archived": false, "color": label.color,
        "description": label.description, "url": url })
}

fn people(world: &World, logins: &[String]) -> Value {
    if logins.is_empty() {
        return Value::Null;
    }
    Value::Array(logins.iter().map(|login| user(world, login)).collect())
}

/// Returns what an issue and a pull request show alike.
fn common(world: &World, repo: usize, issue: &Issue) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (api(world, repository), web(world, repository));
    let labels = issue.labels.iter().filter_map(|id| repository.label(*id));
    let kind = if issue.is_pull() { "pulls" } else { "issues" };
    json!({
        "id": issue.id, "url": format!("{api}/{kind}/{}", issue.number), "number": issue.number,
        "html_url": format!("{web}/{kind}/{}", issue.number), "user": user(world, &issue.author),
        "title": issue.title, "body": issue.body, "milestone": null,
        "labels": labels.map(|one| label(world, repo, one)).collect::<Vec<_>>(),
        "assignee": issue.assignees.first().map(|login| user(world, login)),
        "assignees": people(world, &issue.assignees), "state": if issue.is_open { "open" } else { "closed" },
        "is_locked": issue.is_locked, "comments": issue.comments.len(), "created_at": time(issue.created),
        "updated_at": time(issue.updated), "closed_at": issue.closed.as_ref().map(|(at, _)| time(*at)),
        "due_date": null, "pin_order": 0,
    })
}

fn extend(mut value: Value, more: Value) -> Value {
    if let (Value::Object(into), Value::Object(more)) = (&mut value, more) {
        into.extend(more);
    }
    value
}

pub(crate) fn issue(world: &World, repo: usize, number: u64) -> Value {
    let repository = &world.repos[repo];
    let Some(issue) = repository.issue(number) else { return Value::Null };
    let url = format!("{}/issues/{number}", api(world, repository));
    let meta = issue.pull.as_ref().map(|pull| {
        json!({
            "merged": pull.merged.is_some(), "merged_at": pull.merged.as_ref().map(|merged| time(merged.at)),
            "draft": pull.is_draft || is_work_in_progress(&issue.title),
            "html_url": format!("{}/pulls/{number}", web(world, repository)),
        })
    });
    let more = json!({
        "url": url, "original_author": "", "original_author_id": 0, "assets": [], "ref": "", "pull_request": meta,
        "repository": { "id": repository.id, "name": repository.name, "owner": repository.owner,
            "full_name": repository.full_name() },
    });
    extend(common(world, repo, issue), more)
}

pub(crate) fn comment(world: &World, repo: usize, number: u64, comment: &Comment) -> Value {
    let repository = &world.repos[repo];
    let is_pull = repository.issue(number).is_some_and(Issue::is_pull);
    let web = web(world, repository);
    let page = if is_pull { format!("{web}/pulls/{number}") } else { format!("{web}/issues/{number}") };
    json!({
        "id": comment.id, "html_url": format!("{page}#issuecomment-{}", comment.id),
        "pull_request_url": if is_pull { page.as_str() } else { "" },
        "issue_url": if is_pull { "" } else { page.as_str() }, "user": user(world, &comment.author),
        "original_author": "", "original_author_id": 0, "body": comment.body, "assets": [],
        "created_at": time(comment.created), "updated_at": time(comment.updated),
    })
}

pub(crate) fn pull(world: &World, repo: usize, number: u64) -> Value {
    let repository = &world.repos[repo];
    let Some((issue, pull)) = repository.pull(number) else { return Value::Null };
    let web = web(world, repository);
    let base_sha = match (&pull.merged, repository.branch(&pull.base)) {
        (None, Some(sha)) => sha,
        _ => &pull.base_sha,
    };
    let side = |name: &str, sha: &str| json!({ "label": name, "ref": name, "sha": sha, "repo_id": repository.id, "repo": self::repo(world, repo, None) });
    let changed = repository.bare.changed(base_sha, &pull.head_sha);
    let mergeable = issue.is_open && !pull.is_draft && world.known_mergeable(repo, number) == Some(true);
    let comments: usize = pull.reviews.iter().map(|review| review.comments.len()).sum();
    // The branch may be gone; then its name is the pull request's own ref.
    let head = if repository.branch(&pull.head).is_some() || pull.merged.is_some() {
        pull.head.clone()
    } else {
        format!("refs/pull/{number}/head")
    };
    let more = json!({
        "id": pull.id, "url": format!("{web}/pulls/{number}"), "diff_url": format!("{web}/pulls/{number}.diff"),
        "patch_url": format!("{web}/pulls/{number}.patch"), "mergeable": mergeable,
        "draft": pull.is_draft || is_work_in_progress(&issue.title),
        "merged": pull.merged.is_some(), "merged_at": pull.merged.as_ref().map(|merged| time(merged.at)),
        "merge_commit_sha": pull.merged.as_ref().map(|merged| merged.sha.clone()),
        "merged_by": pull.merged.as_ref().map(|merged| user(world, &merged.by)), "allow_maintainer_edit": false,
        "base": side(&pull.base, base_sha), "head": side(&head, &pull.head_sha),
        "merge_base": repository.bare.merge_base(base_sha, &pull.head_sha).unwrap_or_default(),
        "requested_reviewers": people(world, &pull.requested), "requested_reviewers_teams": [],
        "review_comments": comments, "changed_files": changed.len(),
        "additions": changed.iter().map(|file| file.additions).sum::<u64>(),
        "deletions": changed.iter().map(|file| file.deletions).sum::<u64>(), "flow": 0,
    });
    extend(common(world, repo, issue), more)
}

pub(crate) fn verdict(review: &Review) -> &'static str {
    match review.verdict {
        Verdict::Approved => "APPROVED",
        Verdict::ChangesRequested => "REQUEST_CHANGES",
        Verdict::Commented => "COMMENT",
        Verdict::Pending => "PENDING",
    }
}

pub(crate) fn review(world: &World, repo: usize, number: u64, review: &Review) -> Value {
    let page = format!("{}/pulls/{number}", web(world, &world.repos[repo]));
    json!({
        "id": review.id, "user": user(world, &review.author), "team": null, "state": verdict(review),
        "body": review.body, "commit_id": review.commit, "stale": review.is_stale,
        "official": review.is_official && !review.is_dismissed, "dismissed": review.is_dismissed,
        "comments_count": review.comments.len(), "submitted_at": time(review.at), "updated_at": time(review.at),
        "html_url": format!("{page}#issuecomment-{}", review.id), "pull_request_url": page,
    })
}

pub(crate) fn review_comment(
    world: &World,
    repo: usize,
    number: u64,
    review: u64,
    comment: &ReviewComment,
) -> Value {
    let page = format!("{}/pulls/{number}", web(world, &world.repos[repo]));
    json!({
        "id": comment.id, "body": comment.body, "user": user(world, &comment.author), "resolver": null,
        "pull_request_review_id": review, "created_at": time(comment.at), "updated_at": time(comment.at),
        "path": comment.path, "commit_id": comment.commit, "original_commit_id": "", "diff_hunk": comment.hunk,
        "position": comment.line, "original_position": 0, "html_url": format!("{page}#issuecomment-{}", comment.id),
        "pull_request_url": page,
    })
}

pub(crate) fn status(world: &World, repo: usize, status: &Status) -> Value {
    let url = format!("{}/statuses/{}", api(world, &world.repos[repo]), status.sha);
    json!({
        "id": status.id, "status": status.state, "target_url": status.target, "description": status.description,
        "url": url, "context": status.context, "creator": user(world, &status.creator),
        "created_at": time(status.at), "updated_at": time(status.at),
    })
}

pub(crate) fn commit(world: &World, repo: usize, commit: &Commit) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (api(world, repository), web(world, repository));
    let sha = &commit.sha;
    let person = json!({ "name": commit.name, "email": commit.email, "date": commit.date });
    let known = world.user(&commit.name).map(|found| user(world, &found.login));
    let parent = |sha: &String| json!({ "url": format!("{api}/git/commits/{sha}"), "sha": sha, "created": commit.date });
    json!({
        "url": format!("{api}/git/commits/{sha}"), "sha": sha, "created": commit.date,
        "html_url": format!("{web}/commit/{sha}"), "author": known, "committer": known,
        "commit": { "url": format!("{api}/git/commits/{sha}"), "author": person, "committer": person,
            "message": commit.message, "tree": { "url": format!("{api}/git/trees/{}", commit.tree),
                "sha": commit.tree, "created": commit.date }, "verification": null },
        "parents": commit.parents.iter().map(parent).collect::<Vec<_>>(), "files": null, "stats": null,
    })
}

pub(crate) fn payload_commit(world: &World, repo: usize, commit: &Commit) -> Value {
    let person = json!({ "name": commit.name, "email": commit.email, "username": "" });
    json!({
        "id": commit.sha, "message": commit.message, "author": person, "committer": person,
        "url": format!("{}/commit/{}", web(world, &world.repos[repo]), commit.sha), "verification": null,
        "timestamp": commit.date, "added": null, "removed": null, "modified": null,
    })
}
