//! GitHub's objects as its REST API shows them.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::forges::{
    git::Commit,
    world::{
        Comment, Issue, Label, Pull, Repo, Review, ReviewComment, Role, Verdict, World, checks::Standing,
        pulls::NotMerged,
    },
};

pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the address of a repository's part of the API.
pub(crate) fn repo_url(world: &World, repo: &Repo) -> String {
    format!("{}/repos/{}/{}", world.api, repo.owner, repo.name)
}

pub(crate) fn html_url(world: &World, repo: &Repo) -> String {
    format!("{}/{}/{}", world.origin, repo.owner, repo.name)
}

pub(crate) fn user(world: &World, login: &str) -> Value {
    let known = world.user(login);
    let (id, kind) = known.map_or((10137, "User"), |user| {
        let kind = if user.is_organization { "Organization" } else { "User" };
        (user.id, if user.is_bot { "Bot" } else { kind })
    });
    let (api, web) = (format!("{}/users/{login}", world.api), &world.origin);
    json!({
        "login": login, "id": id, "node_id": format!("U_{id}"), "type": kind, "user_view_type": "public",
        "avatar_url": format!("{web}/avatars/{id}"), "gravatar_id": "", "url": api,
        "html_url": format!("{web}/{login}"), "site_admin": false,
        "followers_url": format!("{api}/followers"), "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"), "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"), "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"), "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
    })
}

/// Shows somebody with what only their own page has.
pub(crate) fn full_user(world: &World, login: &str) -> Value {
    let mut shown = user(world, login);
    let more = json!({
        "name": login, "company": null, "blog": "", "location": null, "email": null, "hireable": null, "bio": null,
        "twitter_username": null, "public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
        "created_at": "2020-01-01T00:00:00Z", "updated_at": "2020-01-01T00:00:00Z",
    });
    merge(&mut shown, more);
    shown
}

fn merge(into: &mut Value, more: Value) {
    if let (Value::Object(into), Value::Object(more)) = (into, more) {
        into.extend(more);
    }
}

/// The addresses of a repository's parts: the key without `_url`, and what comes after the repository's own.
const PARTS: &[(&str, &str)] = &[
    ("archive", "/{archive_format}{/ref}"),
    ("assignees", "/assignees{/user}"),
    ("blobs", "/git/blobs{/sha}"),
    ("branches", "/branches{/branch}"),
    ("collaborators", "/collaborators{/collaborator}"),
    ("comments", "/comments{/number}"),
    ("commits", "/commits{/sha}"),
    ("compare", "/compare/{base}...{head}"),
    ("contents", "/contents/{+path}"),
    ("contributors", "/contributors"),
    ("deployments", "/deployments"),
    ("downloads", "/downloads"),
    ("events", "/events"),
    ("forks", "/forks"),
    ("git_commits", "/git/commits{/sha}"),
    ("git_refs", "/git/refs{/sha}"),
    ("git_tags", "/git/tags{/sha}"),
    ("hooks", "/hooks"),
    ("issue_comment", "/issues/comments{/number}"),
    ("issue_events", "/issues/events{/number}"),
    ("issues", "/issues{/number}"),
    ("keys", "/keys{/key_id}"),
    ("labels", "/labels{/name}"),
    ("languages", "/languages"),
    ("merges", "/merges"),
    ("milestones", "/milestones{/number}"),
    ("notifications", "/notifications{?since,all,participating}"),
    ("pulls", "/pulls{/number}"),
    ("releases", "/releases{/id}"),
    ("stargazers", "/stargazers"),
    ("statuses", "/statuses/{sha}"),
    ("subscribers", "/subscribers"),
    ("subscription", "/subscription"),
    ("tags", "/tags"),
    ("teams", "/teams"),
    ("trees", "/git/trees{/sha}"),
];

pub(crate) fn repo(world: &World, repo: usize) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let open = repository.issues.iter().filter(|issue| issue.is_open).count();
    let created = time(repository.created);
    let mut shown = json!({
        "id": repository.id, "node_id": format!("R_{}", repository.id), "name": repository.name,
        "full_name": repository.full_name(), "private": repository.is_private,
        "visibility": if repository.is_private { "private" } else { "public" },
        "owner": user(world, &repository.owner), "html_url": web, "description": null, "fork": false, "url": api,
        "created_at": created, "updated_at": created, "pushed_at": created,
        "clone_url": format!("{web}.git"), "git_url": format!("{web}.git"), "ssh_url": format!("git@localhost:{}.git", repository.full_name()),
        "svn_url": web, "homepage": null, "mirror_url": null, "size": 1, "language": null,
        "default_branch": repository.default_branch, "archived": repository.is_archived, "disabled": false,
    });
    let settings = json!({
        "has_issues": true, "has_projects": false, "has_wiki": false, "has_pages": false, "has_downloads": true,
        "has_discussions": false, "license": null, "forks": 0, "forks_count": 0, "open_issues": open,
        "open_issues_count": open, "watchers": 0, "watchers_count": 0, "stargazers_count": 0,
        "allow_forking": true, "is_template": false, "topics": [], "web_commit_signoff_required": false,
    });
    merge(&mut shown, settings);
    for (key, rest) in PARTS {
        shown[format!("{key}_url")] = json!(format!("{api}{rest}"));
    }
    shown
}

/// Shows a repository with what only its own page has.
pub(crate) fn full_repo(world: &World, index: usize, account: Option<&str>) -> Value {
    let mut shown = repo(world, index);
    let role = world.role(&world.repos[index], account);
    let more = json!({ "network_count": 0, "subscribers_count": 0, "allow_squash_merge": true,
        "allow_merge_commit": true, "allow_rebase_merge": true, "delete_branch_on_merge": false });
    merge(&mut shown, more);
    if account.is_some() {
        shown["permissions"] = permissions(role);
    }
    shown
}

pub(super) fn permissions(role: Role) -> Value {
    json!({
        "admin": role >= Role::Admin, "maintain": role >= Role::Admin, "push": role >= Role::Write,
        "triage": role >= Role::Write, "pull": true,
    })
}

/// Returns the words for a role: the permission, and the role's name.
pub(crate) fn role_words(role: Role) -> &'static str {
    match role {
        Role::None => "none",
        Role::Read => "read",
        Role::Write => "write",
        Role::Admin => "admin",
    }
}

pub(crate) fn label(world: &World, repo: usize, label: &Label) -> Value {
    let url = format!(
        "{}/labels/{}",
        repo_url(world, &world.repos[repo]),
        crate::forges::http::encode(&label.name)
    );
    json!({ "id": label.id, "node_id": format!("LA_{}", label.id), "url": url, "name": label.name,
        "color": label.color, "default": false, "description": label.description })
}

/// Says how somebody belongs to a repository.
pub(crate) fn association(world: &World, repo: &Repo, login: &str) -> &'static str {
    if repo.owner.eq_ignore_ascii_case(login) {
        return "OWNER";
    }
    match world.role(repo, Some(login)) {
        Role::None => "NONE",
        Role::Read | Role::Write | Role::Admin => "COLLABORATOR",
    }
}

fn text_or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

pub(crate) fn issue(world: &World, repo: usize, number: u64) -> Value {
    let repository = &world.repos[repo];
    let Some(issue) = repository.issue(number) else { return Value::Null };
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let url = format!("{api}/issues/{number}");
    let kind = if issue.is_pull() { "pull" } else { "issues" };
    let node = issue.pull.as_ref().map_or(format!("I_{}", issue.id), |pull| format!("PR_{}", pull.id));
    let mut shown = json!({
        "id": issue.id, "node_id": node, "url": url, "repository_url": api,
        "labels_url": format!("{url}/labels{{/name}}"), "comments_url": format!("{url}/comments"),
        "events_url": format!("{url}/events"), "html_url": format!("{web}/{kind}/{number}"),
        "timeline_url": format!("{url}/timeline"), "number": number, "performed_via_github_app": null,
        "active_lock_reason": null, "comments": issue.comments.len(), "milestone": null,
        "author_association": association(world, repository, &issue.author),
        "reactions": reactions(&url),
    });
    merge(&mut shown, common(world, repo, issue));
    shown["state_reason"] = json!(issue.state_reason);
    shown["closed_by"] = issue.closed.as_ref().map_or(Value::Null, |(_, by)| user(world, by));
    if let Some(pull) = &issue.pull {
        shown["draft"] = json!(pull.is_draft);
        shown["pull_request"] = json!({
            "url": format!("{api}/pulls/{number}"), "html_url": format!("{web}/pull/{number}"),
            "diff_url": format!("{web}/pull/{number}.diff"), "patch_url": format!("{web}/pull/{number}.patch"),
            "merged_at": pull.merged.as_ref().map(|merged| time(merged.at)),
        });
    }
    shown
}

fn reactions(url: &str) -> Value {
    json!({ "url": format!("{url}/reactions"), "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0,
        "confused": 0, "heart": 0, "rocket": 0, "eyes": 0 })
}

/// Returns what an issue and a pull request show alike.
fn common(world: &World, repo: usize, issue: &Issue) -> Value {
    let repository = &world.repos[repo];
    let labels = issue.labels.iter().filter_map(|id| repository.label(*id));
    let assignees: Vec<Value> = issue.assignees.iter().map(|login| user(world, login)).collect();
    json!({
        "title": issue.title, "body": text_or_null(&issue.body), "user": user(world, &issue.author),
        "state": if issue.is_open { "open" } else { "closed" }, "locked": issue.is_locked,
        "labels": labels.map(|one| label(world, repo, one)).collect::<Vec<_>>(),
        "assignee": assignees.first(), "assignees": assignees,
        "created_at": time(issue.created), "updated_at": time(issue.updated),
        "closed_at": issue.closed.as_ref().map(|(at, _)| time(*at)),
    })
}

pub(crate) fn comment(world: &World, repo: usize, number: u64, comment: &Comment) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let kind = if repository.issue(number).is_some_and(Issue::is_pull) { "pull" } else { "issues" };
    let url = format!("{api}/issues/comments/{}", comment.id);
    json!({
        "id": comment.id, "node_id": format!("IC_{}", comment.id), "url": url,
        "html_url": format!("{web}/{kind}/{number}#issuecomment-{}", comment.id),
        "issue_url": format!("{api}/issues/{number}"), "user": user(world, &comment.author), "body": comment.body,
        "author_association": association(world, repository, &comment.author), "performed_via_github_app": null,
        "created_at": time(comment.created), "updated_at": time(comment.updated), "reactions": reactions(&url),
    })
}

/// Shows a pull request as a list does; `mergeable` adds what only its own page has.
pub(crate) fn pull(world: &World, repo: usize, number: u64, mergeable: Option<Option<bool>>) -> Value {
    let repository = &world.repos[repo];
    let Some((issue, pull)) = repository.pull(number) else { return Value::Null };
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let url = format!("{api}/pulls/{number}");
    let issue_url = format!("{api}/issues/{number}");
    let merge_sha = pull.merged.as_ref().map(|merged| merged.sha.clone());
    let base_sha = repository.branch(&pull.base).unwrap_or(&pull.base_sha);
    let base_sha = if pull.merged.is_some() { &pull.base_sha } else { base_sha };
    let statuses = format!("{api}/statuses/{}", pull.head_sha);
    let side = |name: &str, sha: &str| {
        json!({ "label": format!("{}:{name}", repository.owner), "ref": name, "sha": sha,
            "user": user(world, &repository.owner), "repo": self::repo(world, repo) })
    };
    let link = |to: &str| json!({ "href": to });
    let mut shown = json!({
        "id": pull.id, "node_id": format!("PR_{}", pull.id), "url": url, "number": number,
        "html_url": format!("{web}/pull/{number}"), "diff_url": format!("{web}/pull/{number}.diff"),
        "patch_url": format!("{web}/pull/{number}.patch"), "issue_url": issue_url,
        "commits_url": format!("{url}/commits"), "review_comments_url": format!("{url}/comments"),
        "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
        "comments_url": format!("{issue_url}/comments"), "statuses_url": statuses,
        "draft": pull.is_draft, "milestone": null, "auto_merge": null, "active_lock_reason": null,
        "merged_at": pull.merged.as_ref().map(|merged| time(merged.at)), "merge_commit_sha": merge_sha,
        "requested_reviewers": pull.requested.iter().map(|login| user(world, login)).collect::<Vec<_>>(),
        "requested_teams": [], "author_association": association(world, repository, &issue.author),
        "head": side(&pull.head, &pull.head_sha), "base": side(&pull.base, base_sha),
        "_links": { "self": link(&url), "html": link(&format!("{web}/pull/{number}")), "issue": link(&issue_url),
            "comments": link(&format!("{issue_url}/comments")), "review_comments": link(&format!("{url}/comments")),
            "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
            "commits": link(&format!("{url}/commits")), "statuses": link(&statuses) },
    });
    merge(&mut shown, common(world, repo, issue));
    let Some(mergeable) = mergeable else { return shown };
    let changed = repository.bare.changed(base_sha, &pull.head_sha);
    let commits = repository.bare.log(base_sha, &pull.head_sha).len();
    let review_comments: usize = pull
        .reviews
        .iter()
        .filter(|review| review.verdict != Verdict::Pending)
        .map(|review| review.comments.len())
        .sum();
    let more = json!({
        "merged": pull.merged.is_some(), "mergeable": mergeable, "rebaseable": mergeable,
        "mergeable_state": mergeable_state(world, repo, number, issue.is_open, mergeable),
        "merged_by": pull.merged.as_ref().map_or(Value::Null, |merged| user(world, &merged.by)),
        "comments": issue.comments.len(), "review_comments": review_comments, "maintainer_can_modify": false,
        "commits": commits, "changed_files": changed.len(),
        "additions": changed.iter().map(|file| file.additions).sum::<u64>(),
        "deletions": changed.iter().map(|file| file.deletions).sum::<u64>(),
    });
    merge(&mut shown, more);
    shown
}

pub(crate) fn mergeable_state(
    world: &World,
    repo: usize,
    number: u64,
    is_open: bool,
    mergeable: Option<bool>,
) -> &'static str {
    let repository = &world.repos[repo];
    let Some((_, pull)) = repository.pull(number) else { return "unknown" };
    match mergeable {
        _ if !is_open => "unknown",
        None => "unknown",
        Some(false) => "dirty",
        Some(true) if pull.is_draft => "draft",
        Some(true) => match world.blocked(repo, number) {
            Some(NotMerged::Behind) => "behind",
            Some(_) => "blocked",
            None => {
                let statuses = repository.newest_statuses(&pull.head_sha);
                let failing =
                    statuses.iter().map(|status| repository.standing(&pull.head_sha, &status.context));
                let checks = repository.check_runs.iter().filter(|check| check.sha == pull.head_sha);
                let checks = checks.map(|check| repository.standing(&pull.head_sha, &check.name));
                let is_clean = failing.chain(checks).all(|standing| standing == Standing::Passed);
                if is_clean { "clean" } else { "unstable" }
            }
        },
    }
}

pub(crate) fn verdict_word(review: &Review) -> &'static str {
    match review.verdict {
        _ if review.is_dismissed => "DISMISSED",
        Verdict::Approved => "APPROVED",
        Verdict::ChangesRequested => "CHANGES_REQUESTED",
        Verdict::Commented => "COMMENTED",
        Verdict::Pending => "PENDING",
    }
}

pub(crate) fn review(world: &World, repo: usize, number: u64, review: &Review) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let html = format!("{web}/pull/{number}#pullrequestreview-{}", review.id);
    let url = format!("{api}/pulls/{number}");
    let mut shown = json!({
        "id": review.id, "node_id": format!("PRR_{}", review.id), "user": user(world, &review.author),
        "body": review.body, "state": verdict_word(review), "html_url": html, "pull_request_url": url,
        "author_association": association(world, repository, &review.author), "commit_id": review.commit,
        "_links": { "html": { "href": html }, "pull_request": { "href": url } },
    });
    if review.verdict != Verdict::Pending {
        shown["submitted_at"] = json!(time(review.at));
    }
    shown
}

pub(crate) fn review_comment(
    world: &World,
    repo: usize,
    number: u64,
    review: u64,
    comment: &ReviewComment,
) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let url = format!("{api}/pulls/comments/{}", comment.id);
    let html = format!("{web}/pull/{number}#discussion_r{}", comment.id);
    let pull = format!("{api}/pulls/{number}");
    let mut shown = json!({
        "id": comment.id, "node_id": format!("PRRC_{}", comment.id), "url": url,
        "pull_request_review_id": review, "diff_hunk": comment.hunk, "path": comment.path,
        "position": comment.line, "original_position": comment.line, "line": comment.line,
        "original_line": comment.line, "side": "RIGHT", "start_line": null, "original_start_line": null,
        "start_side": null, "subject_type": "line", "commit_id": comment.commit,
        "original_commit_id": comment.commit, "user": user(world, &comment.author), "body": comment.body,
        "created_at": time(comment.at), "updated_at": time(comment.at), "html_url": html, "pull_request_url": pull,
        "author_association": association(world, repository, &comment.author), "reactions": reactions(&url),
        "_links": { "self": { "href": url }, "html": { "href": html }, "pull_request": { "href": pull } },
    });
    if let Some(to) = comment.reply_to {
        shown["in_reply_to_id"] = json!(to);
    }
    shown
}

pub(crate) fn commit(world: &World, repo: usize, commit: &Commit) -> Value {
    let repository = &world.repos[repo];
    let (api, web) = (repo_url(world, repository), html_url(world, repository));
    let sha = &commit.sha;
    let person = json!({ "name": commit.name, "email": commit.email, "date": utc(&commit.date) });
    let known = world.user(&commit.name).map_or(Value::Null, |found| user(world, &found.login));
    let parent = |sha: &String| json!({ "sha": sha, "url": format!("{api}/commits/{sha}"), "html_url": format!("{web}/commit/{sha}") });
    json!({
        "sha": sha, "node_id": format!("C_{sha}"), "url": format!("{api}/commits/{sha}"),
        "html_url": format!("{web}/commit/{sha}"), "comments_url": format!("{api}/commits/{sha}/comments"),
        "commit": { "url": format!("{api}/git/commits/{sha}"), "author": person, "committer": person,
            "message": commit.message, "comment_count": 0, "verification": verification(),
            "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) } },
        "author": known, "committer": known, "parents": commit.parents.iter().map(parent).collect::<Vec<_>>(),
    })
}

pub(crate) fn verification() -> Value {
    json!({ "verified": false, "reason": "unsigned", "signature": null, "payload": null, "verified_at": null })
}

/// Writes git's time as the API does, in UTC.
pub(crate) fn utc(date: &str) -> String {
    date.parse::<Timestamp>().map_or_else(|_| date.to_owned(), time)
}

/// Shows an owner's pull request in the few words that checks use.
pub(crate) fn minimal_pull(world: &World, repo: usize, issue: &Issue, pull: &Pull) -> Value {
    let repository = &world.repos[repo];
    let api = repo_url(world, repository);
    let of = json!({ "id": repository.id, "url": api, "name": repository.name });
    let base = repository.branch(&pull.base).unwrap_or(&pull.base_sha);
    json!({
        "id": pull.id, "number": issue.number, "url": format!("{api}/pulls/{}", issue.number),
        "head": { "ref": pull.head, "sha": pull.head_sha, "repo": of },
        "base": { "ref": pull.base, "sha": base, "repo": of },
    })
}

/// Adds fields to an object.
pub(crate) fn with(mut value: Value, more: &[(&str, Value)]) -> Value {
    let object: &mut Map<String, Value> = value.as_object_mut().expect("only objects have fields");
    object.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    value
}
