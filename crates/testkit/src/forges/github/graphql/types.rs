//! Names of types, what they are besides, and what introspection says of them.

use super::{Node, Query};

impl Query<'_, '_, '_> {
    pub(super) fn type_name(&self, node: &Node) -> String {
        let name = match node {
            Node::Query => "Query",
            Node::User(login) => match self.call.world.user(login) {
                Some(user) if user.is_bot => "Bot",
                Some(user) if user.is_organization => "Organization",
                Some(_) | None => "User",
            },
            Node::Repo(_) => "Repository",
            Node::Branch(..) => "Ref",
            Node::Issue(..) => "Issue",
            Node::Pull(..) => "PullRequest",
            Node::Label(..) => "Label",
            Node::Comment(..) => "IssueComment",
            Node::Review(..) => "PullRequestReview",
            Node::Commit(..) => "Commit",
            Node::PullCommit(..) => "PullRequestCommit",
            Node::Rollup(..) => "StatusCheckRollup",
            Node::Status(..) => "StatusContext",
            Node::Check(..) => "CheckRun",
            Node::Suite(..) => "CheckSuite",
            Node::File(..) => "PullRequestChangedFile",
            Node::List { .. } => "Connection",
            Node::Edge(..) => "Edge",
            Node::PageInfo { .. } => "PageInfo",
            Node::Type(_) => "__Type",
            Node::Plain(_, name) => name,
        };
        name.to_owned()
    }
}

/// Says whether a type is another, or is among those that an interface or a union takes in.
pub(super) fn is_a(name: &str, wanted: &str) -> bool {
    if name == wanted || name.is_empty() {
        return true;
    }
    let is_item = matches!(name, "Issue" | "PullRequest");
    match wanted {
        "Actor" | "RepositoryOwner" | "ProfileOwner" | "Assignee" | "RequestedReviewer" => {
            matches!(name, "User" | "Bot" | "Organization")
        }
        "Node" => true,
        "Assignable" | "Labelable" | "Closable" | "Lockable" | "IssueOrPullRequest" => is_item,
        "Comment" => is_item || matches!(name, "IssueComment" | "PullRequestReview"),
        "StatusCheckRollupContext" => matches!(name, "StatusContext" | "CheckRun"),
        _ => false,
    }
}

/// Returns the names of the fields that clients look for before they ask for them.
pub(super) fn known_fields(name: &str) -> &'static [&'static str] {
    match name {
        "Issue" => &[
            "id",
            "number",
            "title",
            "body",
            "state",
            "stateReason",
            "labels",
            "assignees",
            "comments",
            "url",
        ],
        "PullRequest" => &[
            "id",
            "number",
            "title",
            "body",
            "state",
            "isDraft",
            "reviews",
            "labels",
            "assignees",
            "comments",
            "url",
            "headRefName",
            "headRefOid",
            "baseRefName",
            "mergeable",
            "mergeStateStatus",
            "reviewDecision",
        ],
        "Repository" => &["id", "name", "owner", "issues", "pullRequests", "labels", "visibility"],
        "WorkflowRun" => &["id", "event", "workflow"],
        "StatusCheckRollupContextConnection" => &[
            "nodes",
            "edges",
            "pageInfo",
            "totalCount",
            "checkRunCount",
            "checkRunCountsByState",
            "statusContextCount",
            "statusContextCountsByState",
        ],
        _ => &[],
    }
}
