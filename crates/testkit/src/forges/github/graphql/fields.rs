//! The fields of everything that a query can reach.

use serde_json::{Map, Value, json};

use super::{Fault, Found, Looked, Node, Query, types::known_fields};
use crate::forges::{
    github::{pulls::base_of, search, shapes},
    world::{Issue, Pull, Role, Verdict},
};

type Arguments = Map<String, Value>;

pub(super) fn leaf(value: impl Into<Value>) -> Looked {
    Ok(Found::Leaf(value.into()))
}

pub(super) fn one(node: Option<Node>) -> Looked {
    Ok(node.map_or(Found::Leaf(Value::Null), Found::One))
}

pub(super) fn list(all: Vec<Node>) -> Looked {
    Ok(Found::Connection(all))
}

/// Reads the words of a list argument, such as the states that are asked for.
fn words(arguments: &Arguments, name: &str) -> Option<Vec<String>> {
    let list = arguments.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn text<'a>(arguments: &'a Arguments, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl Query<'_, '_, '_> {
    pub(super) fn field(&mut self, node: &Node, name: &str, arguments: &Arguments) -> Looked {
        match node {
            Node::Query => self.root(name, arguments),
            Node::User(login) => self.user(login, name),
            Node::Repo(repo) => self.repo(*repo, name, arguments),
            Node::Branch(repo, branch) => self.branch(*repo, branch, name, arguments),
            Node::Issue(repo, number) => self.issue(*repo, *number, name, arguments),
            Node::Pull(repo, number) => self.pull(*repo, *number, name, arguments),
            Node::Label(repo, id) => self.label(*repo, *id, name),
            Node::Comment(repo, number, id) => self.comment(*repo, *number, *id, name),
            Node::Review(repo, number, id) => self.review(*repo, *number, *id, name),
            Node::Commit(repo, sha) => self.commit(*repo, sha, name),
            Node::PullCommit(repo, sha) => match name {
                "commit" => one(Some(Node::Commit(*repo, sha.clone()))),
                "id" => leaf(format!("PURC_{sha}")),
                _ => unknown("PullRequestCommit", name),
            },
            Node::Rollup(repo, sha) => self.rollup(*repo, sha, name),
            Node::Status(repo, id) => self.status(*repo, *id, name),
            Node::Check(repo, id) => self.check(*repo, *id, name),
            Node::Suite(repo, suite) => self.suite(*repo, *suite, name),
            Node::File(repo, number, index) => self.file(*repo, *number, *index, name),
            Node::List { all, shown, has_next, end } => match name {
                "nodes" => Ok(Found::Many(shown.clone())),
                "edges" => {
                    let edges = shown.iter().cloned().enumerate();
                    Ok(Found::Many(edges.map(|(at, node)| Node::Edge(Box::new(node), at + 1)).collect()))
                }
                "totalCount" | "issueCount" => leaf(all.len()),
                "pageInfo" => one(Some(Node::PageInfo { has_next: *has_next, end: *end })),
                "checkRunCount" => leaf(all.iter().filter(|node| matches!(node, Node::Check(..))).count()),
                "statusContextCount" => {
                    leaf(all.iter().filter(|node| matches!(node, Node::Status(..))).count())
                }
                "checkRunCountsByState" => Ok(Found::Many(self.counts(all, true))),
                "statusContextCountsByState" => Ok(Found::Many(self.counts(all, false))),
                _ => unknown("Connection", name),
            },
            Node::Edge(node, at) => match name {
                "node" => one(Some((**node).clone())),
                "cursor" => leaf(at.to_string()),
                _ => unknown("Edge", name),
            },
            Node::PageInfo { has_next, end } => match name {
                "hasNextPage" => leaf(*has_next),
                "hasPreviousPage" => leaf(false),
                "endCursor" => leaf(end.to_string()),
                "startCursor" => leaf("0"),
                _ => unknown("PageInfo", name),
            },
            Node::Type(of) => match name {
                "name" => leaf(of.as_str()),
                "fields" | "inputFields" | "enumValues" => {
                    let names = known_fields(of).iter();
                    let fields = names.map(|field| {
                        Node::Plain(Map::from_iter([("name".to_owned(), json!(field))]), "__Field")
                    });
                    Ok(Found::Many(fields.collect()))
                }
                _ => unknown("__Type", name),
            },
            Node::Plain(fields, _) => leaf(fields.get(name).cloned().unwrap_or_default()),
        }
    }

    fn root(&mut self, name: &str, arguments: &Arguments) -> Looked {
        match name {
            "viewer" => one(self.call.account.login().map(Node::User)),
            "user" | "repositoryOwner" | "organization" => {
                let login = text(arguments, "login").to_owned();
                let known = self.call.world.user(&login).map(|user| user.login.clone());
                let known = known.ok_or_else(|| {
                    Fault::new(
                        "NOT_FOUND",
                        format!("Could not resolve to a User with the login of '{login}'."),
                    )
                })?;
                one(Some(Node::User(known)))
            }
            "repository" => {
                let (owner, repo) = (text(arguments, "owner"), text(arguments, "name"));
                let missing = || {
                    let words = format!("Could not resolve to a Repository with the name '{owner}/{repo}'.");
                    Fault::new("NOT_FOUND", words)
                };
                let found = self.call.world.find(owner, repo).ok_or_else(missing)?;
                let is_hidden = self.call.repository(found).is_private && self.call.role(found) == Role::None;
                if is_hidden { Err(missing()) } else { one(Some(Node::Repo(found))) }
            }
            "node" => one(self.node(text(arguments, "id"))),
            "nodes" => {
                let ids = words(arguments, "ids").unwrap_or_default();
                Ok(Found::Many(ids.iter().filter_map(|id| self.node(id)).collect()))
            }
            "search" => {
                let wanted = search::words(text(arguments, "query"));
                let mut found = Vec::new();
                for (index, repo) in self.call.world.repos.iter().enumerate() {
                    let issues = repo.issues.iter().rev();
                    let issues =
                        issues.filter(|issue| wanted.iter().all(|word| search::holds(repo, issue, word)));
                    found.extend(issues.map(|issue| item(index, issue)));
                }
                list(found)
            }
            "__type" => one(Some(Node::Type(text(arguments, "name").to_owned()))),
            "rateLimit" => {
                let login = self.call.login()?;
                let rate = *super::super::limits::rate(self.call.world, &login);
                leaf(json!({ "limit": rate.limit, "remaining": rate.remaining, "cost": 1 }))
            }
            _ => unknown("Query", name),
        }
    }

    /// Finds what a global id stands for.
    pub(super) fn node(&self, id: &str) -> Option<Node> {
        let (kind, number) = id.split_once('_')?;
        let number: u64 = number.parse().ok()?;
        let world = &self.call.world;
        let repos = || world.repos.iter().enumerate();
        match kind {
            "U" => {
                world.users.iter().find(|user| user.id == number).map(|user| Node::User(user.login.clone()))
            }
            "R" => repos().find(|(_, repo)| repo.id == number).map(|(index, _)| Node::Repo(index)),
            "LA" => {
                let mut labels =
                    repos().flat_map(|(index, repo)| repo.labels.iter().map(move |label| (index, label.id)));
                labels.find(|(_, id)| *id == number).map(|(index, id)| Node::Label(index, id))
            }
            "I" | "PR" => {
                let mut issues =
                    repos().flat_map(|(index, repo)| repo.issues.iter().map(move |issue| (index, issue)));
                let is_it = |issue: &Issue| issue.pull.as_ref().map_or(issue.id, |pull| pull.id) == number;
                issues.find(|(_, issue)| is_it(issue)).map(|(index, issue)| item(index, issue))
            }
            "IC" => {
                let mut found = repos().filter_map(|(index, _)| {
                    world.find_comment(index, number).map(|(issue, _)| Node::Comment(index, issue, number))
                });
                found.next()
            }
            _ => None,
        }
    }

    fn user(&self, login: &str, name: &str) -> Looked {
        let shown = shapes::user(self.call.world, login);
        match name {
            "login" => leaf(login),
            "name" => leaf(login),
            "id" => leaf(shown["node_id"].clone()),
            "databaseId" => leaf(shown["id"].clone()),
            "url" => leaf(shown["html_url"].clone()),
            "avatarUrl" => leaf(shown["avatar_url"].clone()),
            "email" => leaf(""),
            "slug" => leaf(Value::Null),
            "organizations" => list(Vec::new()),
            _ => unknown("User", name),
        }
    }

    fn repo(&self, repo: usize, name: &str, arguments: &Arguments) -> Looked {
        let repository = self.call.repository(repo);
        let web = shapes::html_url(self.call.world, repository);
        let states = words(arguments, "states");
        match name {
            "id" => leaf(format!("R_{}", repository.id)),
            "databaseId" => leaf(repository.id),
            "name" => leaf(repository.name.as_str()),
            "nameWithOwner" => leaf(repository.full_name()),
            "owner" => one(Some(Node::User(repository.owner.clone()))),
            "url" => leaf(web),
            "sshUrl" => leaf(format!("git@localhost:{}.git", repository.full_name())),
            "description" | "homepageUrl" => leaf(""),
            "isPrivate" => leaf(repository.is_private),
            "isArchived" => leaf(repository.is_archived),
            "isFork"
            | "isTemplate"
            | "isEmpty"
            | "hasWikiEnabled"
            | "hasProjectsEnabled"
            | "hasDiscussionsEnabled"
            | "deleteBranchOnMerge"
            | "isInOrganization" => leaf(false),
            "hasIssuesEnabled" | "mergeCommitAllowed" | "squashMergeAllowed" | "rebaseMergeAllowed" => {
                leaf(true)
            }
            "viewerDefaultMergeMethod" => leaf("MERGE"),
            "viewerPermission" => leaf(match self.call.role(repo) {
                Role::None | Role::Read => "READ",
                Role::Write => "WRITE",
                Role::Admin => "ADMIN",
            }),
            "visibility" => leaf(if repository.is_private { "PRIVATE" } else { "PUBLIC" }),
            "defaultBranchRef" => one(Some(Node::Branch(repo, repository.default_branch.clone()))),
            "ref" => {
                let full = text(arguments, "qualifiedName");
                let branch = full.strip_prefix("refs/heads/").unwrap_or(full);
                one(repository.branch(branch).map(|_| Node::Branch(repo, branch.to_owned())))
            }
            "parent"
            | "templateRepository"
            | "licenseInfo"
            | "primaryLanguage"
            | "milestone"
            | "pullRequestTemplate" => leaf(Value::Null),
            "issueTemplates" | "pullRequestTemplates" => Ok(Found::Many(Vec::new())),
            "milestones" | "projects" | "projectsV2" | "forks" => list(Vec::new()),
            "labels" => list(repository.labels.iter().map(|label| Node::Label(repo, label.id)).collect()),
            "label" => {
                let wanted = text(arguments, "name");
                let found = repository.labels.iter().find(|label| label.name == wanted);
                one(found.map(|label| Node::Label(repo, label.id)))
            }
            "assignableUsers" | "suggestedActors" | "mentionableUsers" => {
                let people = super::super::people::members(self.call.world, repo);
                list(people.into_iter().map(Node::User).collect())
            }
            "issue" | "pullRequest" | "issueOrPullRequest" => {
                let number = arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
                let found = repository.issue(number).filter(|issue| match name {
                    "issue" => !issue.is_pull(),
                    "pullRequest" => issue.is_pull(),
                    _ => true,
                });
                let kind = if name == "pullRequest" { "PullRequest" } else { "issue or pull request" };
                let words = format!("Could not resolve to a {kind} with the number of {number}.");
                let found = found.ok_or_else(|| Fault::new("NOT_FOUND", words))?;
                one(Some(item(repo, found)))
            }
            "issues" => {
                let filter =
                    arguments.get("filterBy").and_then(Value::as_object).cloned().unwrap_or_default();
                let labels = words(arguments, "labels").or_else(|| words(&filter, "labels"));
                let assignee = filter.get("assignee").and_then(Value::as_str).filter(|who| *who != "*");
                let author = filter.get("createdBy").and_then(Value::as_str);
                let all = repository.issues.iter().rev().filter(|issue| {
                    let has = |name: &String| {
                        let labels = issue.labels.iter().filter_map(|id| repository.label(*id));
                        labels.into_iter().any(|label| label.name.eq_ignore_ascii_case(name))
                    };
                    !issue.is_pull()
                        && states.as_ref().is_none_or(|states| states.iter().any(|state| state == state_of(issue)))
                        // Any of the labels is enough here.
                        && labels.as_ref().is_none_or(|labels| labels.is_empty() || labels.iter().any(has))
                        && assignee.is_none_or(|who| issue.assignees.iter().any(|other| other == who))
                        && author.is_none_or(|who| issue.author == who)
                });
                list(all.map(|issue| Node::Issue(repo, issue.number)).collect())
            }
            "pullRequests" => {
                let (head, base) = (text(arguments, "headRefName"), text(arguments, "baseRefName"));
                let labels = words(arguments, "labels");
                let all = repository.issues.iter().rev().filter(|issue| {
                    let Some(pull) = &issue.pull else { return false };
                    let has = |name: &String| {
                        let labels = issue.labels.iter().filter_map(|id| repository.label(*id));
                        labels.into_iter().any(|label| label.name.eq_ignore_ascii_case(name))
                    };
                    states.as_ref().is_none_or(|states| states.iter().any(|state| state == state_of(issue)))
                        && (head.is_empty() || pull.head == head)
                        && (base.is_empty() || pull.base == base)
                        && labels.as_ref().is_none_or(|labels| labels.is_empty() || labels.iter().any(has))
                });
                list(all.map(|issue| Node::Pull(repo, issue.number)).collect())
            }
            _ => unknown("Repository", name),
        }
    }

    fn branch(&self, repo: usize, branch: &str, name: &str, arguments: &Arguments) -> Looked {
        let repository = self.call.repository(repo);
        match name {
            "name" => leaf(branch),
            "id" => leaf(format!("REF_{branch}")),
            "target" => one(repository.branch(branch).map(|sha| Node::Commit(repo, sha.to_owned()))),
            "branchProtectionRule" => match repository.protection(branch) {
                Some(protection) => leaf(json!({
                    "requiredApprovingReviewCount": protection.approvals,
                    "requiresStrictStatusChecks": protection.is_strict,
                })),
                None => leaf(Value::Null),
            },
            "compare" => {
                let head = text(arguments, "headRef");
                let (Some(base), Some(head)) = (repository.branch(branch), repository.bare.resolve(head))
                else {
                    return leaf(Value::Null);
                };
                let behind = repository.bare.log(&head, base).len();
                let ahead = repository.bare.log(base, &head).len();
                leaf(json!({ "aheadBy": ahead, "behindBy": behind }))
            }
            _ => unknown("Ref", name),
        }
    }

    /// Looks up what an issue and a pull request have in common; none if it is not that.
    fn item(&self, repo: usize, number: u64, name: &str) -> Option<Looked> {
        let repository = self.call.repository(repo);
        let issue = repository.issue(number)?;
        let shown = || shapes::issue(self.call.world, repo, number);
        let field = |key: &str| leaf(shown()[key].clone());
        Some(match name {
            "number" => leaf(number),
            "title" => leaf(issue.title.as_str()),
            "titleHTML" => leaf(issue.title.as_str()),
            "body" | "bodyText" => leaf(issue.body.as_str()),
            "url" => field("html_url"),
            "id" => field("node_id"),
            "databaseId" | "fullDatabaseId" => field("id"),
            "createdAt" => field("created_at"),
            "updatedAt" => field("updated_at"),
            "closedAt" => field("closed_at"),
            "state" => leaf(state_of(issue)),
            "closed" => leaf(!issue.is_open),
            "stateReason" => leaf(issue.state_reason.as_deref().map(str::to_uppercase)),
            "author" => one(Some(Node::User(issue.author.clone()))),
            "authorAssociation" => field("author_association"),
            "labels" => list(issue.labels.iter().map(|id| Node::Label(repo, *id)).collect()),
            "assignees" | "assignedActors" => list(issue.assignees.iter().cloned().map(Node::User).collect()),
            "suggestedActors" => list(
                super::super::people::members(self.call.world, repo).into_iter().map(Node::User).collect(),
            ),
            "comments" => {
                let all = issue.comments.iter().map(|comment| Node::Comment(repo, number, comment.id));
                list(all.collect())
            }
            "repository" => one(Some(Node::Repo(repo))),
            "milestone" | "parent" | "issueType" | "includesCreatedEdit" => leaf(Value::Null),
            "subIssuesSummary" => leaf(json!({ "total": 0, "completed": 0, "percentCompleted": 0 })),
            "isPinned" | "locked" | "viewerDidAuthor" | "isCrossRepository" => leaf(false),
            "reactionGroups" => Ok(Found::Many(Vec::new())),
            "projectCards"
            | "projectItems"
            | "participants"
            | "closedByPullRequestsReferences"
            | "subIssues"
            | "blockedBy"
            | "blocking" => list(Vec::new()),
            _ => return None,
        })
    }

    fn issue(&self, repo: usize, number: u64, name: &str, _arguments: &Arguments) -> Looked {
        self.item(repo, number, name).unwrap_or_else(|| unknown("Issue", name))
    }

    fn pull(&mut self, repo: usize, number: u64, name: &str, _arguments: &Arguments) -> Looked {
        if let Some(found) = self.item(repo, number, name) {
            return found;
        }
        if name == "mergeable" {
            let mergeable = self.call.world.mergeable(repo, number);
            return leaf(match mergeable {
                Some(true) => "MERGEABLE",
                Some(false) => "CONFLICTING",
                None => "UNKNOWN",
            });
        }
        let account = self.call.account.login();
        let repository = self.call.repository(repo);
        let missing = || Fault::new("NOT_FOUND", "the pull request is gone");
        let (issue, pull) = repository.pull(number).ok_or_else(missing)?;
        let base = base_of(repository.branch(&pull.base), pull);
        let reviews = || pull.visible_reviews(account.as_deref());
        match name {
            "headRefName" => leaf(pull.head.as_str()),
            "headRefOid" => leaf(pull.head_sha.as_str()),
            "baseRefName" => leaf(pull.base.as_str()),
            "baseRefOid" => leaf(base),
            "headRef" => one(repository.branch(&pull.head).map(|_| Node::Branch(repo, pull.head.clone()))),
            "baseRef" => one(Some(Node::Branch(repo, pull.base.clone()))),
            "headRepository" => one(Some(Node::Repo(repo))),
            "headRepositoryOwner" => one(Some(Node::User(repository.owner.clone()))),
            "isDraft" => leaf(pull.is_draft),
            "merged" => leaf(pull.merged.is_some()),
            "mergedAt" => leaf(pull.merged.as_ref().map(|merged| shapes::time(merged.at))),
            "mergedBy" => one(pull.merged.as_ref().map(|merged| Node::User(merged.by.clone()))),
            "mergeCommit" => one(pull.merged.as_ref().map(|merged| Node::Commit(repo, merged.sha.clone()))),
            "potentialMergeCommit" | "autoMergeRequest" | "mergeQueue" | "mergeQueueEntry" => {
                leaf(Value::Null)
            }
            "isInMergeQueue" | "isMergeQueueEnabled" | "maintainerCanModify" => leaf(false),
            "mergeStateStatus" => {
                let mergeable = self.call.world.known_mergeable(repo, number);
                let state = shapes::mergeable_state(self.call.world, repo, number, issue.is_open, mergeable);
                leaf(state.to_uppercase())
            }
            "reviewDecision" => leaf(self.decision(repo, pull)),
            "reviews" | "latestReviews" | "latestOpinionatedReviews" => {
                let mut all: Vec<_> = reviews();
                if name != "reviews" {
                    all.retain(|review| review.verdict != Verdict::Pending);
                    let newest = |index: usize| {
                        let author = &all[index].author;
                        all[index + 1..].iter().all(|later| later.author != *author)
                    };
                    all = (0..all.len()).filter(|index| newest(*index)).map(|index| all[index]).collect();
                }
                list(all.into_iter().map(|review| Node::Review(repo, number, review.id)).collect())
            }
            "reviewRequests" => {
                let all = pull.requested.iter().map(|login| {
                    let fields = json!({ "requestedReviewer": shapes::user(self.call.world, login) });
                    let login = json!({ "__typename": "User", "login": login, "name": login, "id": fields["requestedReviewer"]["node_id"] });
                    Node::Plain(Map::from_iter([("requestedReviewer".to_owned(), login)]), "ReviewRequest")
                });
                list(all.collect())
            }
            "commits" => {
                let all = repository.bare.log(&base, &pull.head_sha).into_iter();
                list(all.map(|commit| Node::PullCommit(repo, commit.sha)).collect())
            }
            "files" => {
                let count = repository.bare.changed(&base, &pull.head_sha).len();
                list((0..count).map(|index| Node::File(repo, number, index)).collect())
            }
            "changedFiles" => leaf(repository.bare.changed(&base, &pull.head_sha).len()),
            "additions" | "deletions" => {
                let all = repository.bare.changed(&base, &pull.head_sha);
                let count = |file: &crate::forges::git::Changed| {
                    if name == "additions" { file.additions } else { file.deletions }
                };
                leaf(all.iter().map(count).sum::<u64>())
            }
            "statusCheckRollup" => one(self.rollup_of(repo, &pull.head_sha)),
            "closingIssuesReferences" => {
                let named = crate::forges::world::issues::closes(&issue.body);
                let known = named.into_iter().filter(|number| repository.issue(*number).is_some());
                list(known.map(|number| Node::Issue(repo, number)).collect())
            }
            "viewerMergeBodyText" => leaf(""),
            "viewerMergeHeadlineText" => {
                leaf(format!("Merge pull request #{number} from {}/{}", repository.owner, pull.head))
            }
            _ => unknown("PullRequest", name),
        }
    }

    fn decision(&self, repo: usize, pull: &Pull) -> Option<&'static str> {
        let repository = self.call.repository(repo);
        let effective = self.call.world.effective_reviews(repository, pull);
        if effective.iter().any(|review| review.verdict == Verdict::ChangesRequested) {
            return Some("CHANGES_REQUESTED");
        }
        let approvals = effective.iter().filter(|review| review.verdict == Verdict::Approved).count();
        let wanted = repository.protection(&pull.base).map_or(0, |protection| protection.approvals as usize);
        match (wanted, approvals) {
            (0, 0) => None,
            _ if approvals >= wanted.max(1) => Some("APPROVED"),
            _ => Some("REVIEW_REQUIRED"),
        }
    }

    fn label(&self, repo: usize, id: u64, name: &str) -> Looked {
        let missing = || Fault::new("NOT_FOUND", "the label is gone");
        let label = self.call.repository(repo).label(id).ok_or_else(missing)?;
        match name {
            "id" => leaf(format!("LA_{id}")),
            "name" => leaf(label.name.as_str()),
            "color" => leaf(label.color.as_str()),
            "description" => leaf(label.description.as_str()),
            "isDefault" => leaf(false),
            "createdAt" => leaf(shapes::time(self.call.repository(repo).created)),
            _ => unknown("Label", name),
        }
    }

    fn comment(&self, repo: usize, number: u64, id: u64, name: &str) -> Looked {
        let missing = || Fault::new("NOT_FOUND", "the comment is gone");
        let (_, comment) = self.call.world.find_comment(repo, id).ok_or_else(missing)?;
        let shown = shapes::comment(self.call.world, repo, number, comment);
        match name {
            "id" => leaf(shown["node_id"].clone()),
            "databaseId" => leaf(id),
            "body" => leaf(comment.body.as_str()),
            "url" => leaf(shown["html_url"].clone()),
            "author" => one(Some(Node::User(comment.author.clone()))),
            "authorAssociation" => leaf(shown["author_association"].clone()),
            "createdAt" => leaf(shown["created_at"].clone()),
            "updatedAt" => leaf(shown["updated_at"].clone()),
            "includesCreatedEdit" => leaf(comment.updated != comment.created),
            "isMinimized" => leaf(false),
            "minimizedReason" => leaf(""),
            "reactionGroups" => Ok(Found::Many(Vec::new())),
            "viewerDidAuthor" => leaf(self.call.account.login().as_ref() == Some(&comment.author)),
            _ => unknown("IssueComment", name),
        }
    }

    fn review(&self, repo: usize, number: u64, id: u64, name: &str) -> Looked {
        let missing = || Fault::new("NOT_FOUND", "the review is gone");
        let (_, pull) = self.call.repository(repo).pull(number).ok_or_else(missing)?;
        let review = pull.review(id).ok_or_else(missing)?;
        let shown = shapes::review(self.call.world, repo, number, review);
        match name {
            "id" => leaf(shown["node_id"].clone()),
            "author" => one(Some(Node::User(review.author.clone()))),
            "authorAssociation" => leaf(shown["author_association"].clone()),
            "body" => leaf(review.body.as_str()),
            "state" => leaf(shapes::verdict_word(review)),
            "submittedAt" => leaf(shown["submitted_at"].clone()),
            "url" => leaf(shown["html_url"].clone()),
            "includesCreatedEdit" => leaf(false),
            "reactionGroups" => Ok(Found::Many(Vec::new())),
            "commit" => one(Some(Node::Commit(repo, review.commit.clone()))),
            _ => unknown("PullRequestReview", name),
        }
    }

    fn commit(&self, repo: usize, sha: &str, name: &str) -> Looked {
        let repository = self.call.repository(repo);
        let missing = || Fault::new("NOT_FOUND", "the commit is gone");
        let commit = repository.bare.history(sha, 1).pop().ok_or_else(missing)?;
        let (head, rest) = commit.message.split_once('\n').unwrap_or((&commit.message, ""));
        match name {
            "oid" => leaf(sha),
            "id" => leaf(format!("C_{sha}")),
            "messageHeadline" => leaf(head),
            "messageBody" => leaf(rest.trim()),
            "message" => leaf(commit.message.as_str()),
            "committedDate" | "authoredDate" => leaf(shapes::utc(&commit.date)),
            "authors" => {
                let known = self.call.world.user(&commit.name);
                let user = known.map(|user| json!({ "id": format!("U_{}", user.id), "login": user.login }));
                let fields = json!({ "name": commit.name, "email": commit.email, "user": user });
                list(
                    fields
                        .as_object()
                        .cloned()
                        .map(|fields| Node::Plain(fields, "GitActor"))
                        .into_iter()
                        .collect(),
                )
            }
            "statusCheckRollup" => one(self.rollup_of(repo, sha)),
            "url" => leaf(format!("{}/commit/{sha}", shapes::html_url(self.call.world, repository))),
            _ => unknown("Commit", name),
        }
    }

    fn file(&self, repo: usize, number: u64, index: usize, name: &str) -> Looked {
        let repository = self.call.repository(repo);
        let missing = || Fault::new("NOT_FOUND", "the file is gone");
        let (_, pull) = repository.pull(number).ok_or_else(missing)?;
        let base = base_of(repository.branch(&pull.base), pull);
        let changed = repository.bare.changed(&base, &pull.head_sha);
        let file = changed.get(index).ok_or_else(missing)?;
        match name {
            "path" => leaf(file.path.as_str()),
            "additions" => leaf(file.additions),
            "deletions" => leaf(file.deletions),
            "changeType" => leaf(file.status.to_uppercase()),
            _ => unknown("PullRequestChangedFile", name),
        }
    }
}

pub(super) fn unknown(kind: &str, name: &str) -> Looked {
    Err(Fault::new("undefinedField", format!("Field '{name}' doesn't exist on type '{kind}'")))
}

fn item(repo: usize, issue: &Issue) -> Node {
    if issue.is_pull() { Node::Pull(repo, issue.number) } else { Node::Issue(repo, issue.number) }
}

fn state_of(issue: &Issue) -> &'static str {
    match &issue.pull {
        Some(pull) if pull.merged.is_some() => "MERGED",
        _ if issue.is_open => "OPEN",
        _ => "CLOSED",
    }
}
