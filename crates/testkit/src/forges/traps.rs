//! What real forges do that a client does not expect. Each can be switched off, to show what a client does without it.

use std::collections::BTreeSet;

/// A behaviour of a real server that has surprised somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// Forgejo: an approval stays good after a push until the double settles.
    LateStaleness,
    /// Forgejo: a filter by a label that is not there is dropped, so that every issue is listed.
    DroppedLabelFilter,
    /// Forgejo: of several who assign themselves at once, all succeed.
    AssigneeRace,
    /// Forgejo: a label's name can be given again and again.
    DuplicateLabels,
    /// Forgejo: attaching a label that is not there answers 200 and an empty list.
    SilentUnknownLabel,
    /// Forgejo: only admins may ask for somebody's permission.
    HiddenPermission,
    /// Forgejo: only admins may read a branch's protection.
    HiddenProtection,
    /// Whether a pull request can be merged is known only after somebody has asked.
    LateMergeability,
    /// Forgejo: merging what is merged is 405 without a word.
    WordlessMerged,
    /// Nobody may approve what is their own.
    OwnApproval,
    /// Forgejo: a review of an unknown commit, or a circular dependency, is 500 and empty.
    EmptyServerError,
    /// Forgejo: an issue with open dependencies cannot be closed.
    OpenDependencies,
    /// Forgejo: an unknown state is taken and ignored; Gitea refuses it.
    IgnoredState,
    /// Forgejo: an issue's comments come all at once, whatever page is asked for.
    UnpaginatedComments,
    /// Forgejo: no ETag and no rate-limit headers.
    NoConditionalRequests,
    /// Forgejo: a webhook about labels does not say which.
    LabellessHook,
    /// Forgejo: a pull request whose branch is deleted stays open.
    BranchlessPull,
    /// Texts have no limit.
    UnlimitedText,
    /// A branch has one open pull request at most.
    OnePullPerBranch,
    /// Issues have a timeline that says who set which label.
    Timeline,
    /// Forgejo before 17: a run cannot be repeated.
    NoRerun,
    /// A list of pull requests has null where one is broken.
    NullInPulls,
    /// GitHub: a label that is attached and not there is made.
    LabelsMadeOnUse,
    /// Woodpecker: a step's log is null at first after the step has failed.
    LateLog,
}

impl Trap {
    const ALL: &[Self] = &[
        Self::LateStaleness,
        Self::DroppedLabelFilter,
        Self::AssigneeRace,
        Self::DuplicateLabels,
        Self::SilentUnknownLabel,
        Self::HiddenPermission,
        Self::HiddenProtection,
        Self::LateMergeability,
        Self::WordlessMerged,
        Self::OwnApproval,
        Self::EmptyServerError,
        Self::OpenDependencies,
        Self::IgnoredState,
        Self::UnpaginatedComments,
        Self::NoConditionalRequests,
        Self::LabellessHook,
        Self::BranchlessPull,
        Self::UnlimitedText,
        Self::OnePullPerBranch,
        Self::Timeline,
        Self::NoRerun,
        Self::NullInPulls,
        Self::LabelsMadeOnUse,
        Self::LateLog,
    ];

    /// All of them: the servers are like that.
    pub(crate) fn usual() -> BTreeSet<Self> {
        Self::ALL.iter().copied().collect()
    }
}
