//! What a workspace's run has claimed.

use engine::Run;
use runs::Claim;

use crate::{Error, Workspace};

/// Why an issue or a feature could not be claimed.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("{about} is being worked on by {by}")]
    Held { about: String, by: String },
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<runs::ClaimError> for ClaimError {
    fn from(error: runs::ClaimError) -> Self {
        match error {
            runs::ClaimError::Held { about, by } => Self::Held { about, by },
            runs::ClaimError::Failed(error) => Self::Failed(error.into()),
        }
    }
}

impl Workspace {
    /// Claims an issue, if no live run has it, and acts under that claim from now on.
    pub fn claim(&mut self, issue: &str) -> Result<(), ClaimError> {
        if self.claimed.as_ref().is_some_and(|claim| claim.has_issue(issue)) {
            return Ok(());
        }
        self.store()?;
        let claim = self.runs.claim_issue(issue)?;
        Ok(self.act_under(claim)?)
    }

    /// Claims a feature, if no live run has it. It is known by its words, without secrets.
    pub fn claim_feature(&mut self, feature: &str) -> Result<(), ClaimError> {
        if self.claimed.as_ref().is_some_and(|claim| claim.has_feature(feature)) {
            return Ok(());
        }
        self.store()?;
        let claim = self.runs.claim_feature(feature)?;
        Ok(self.act_under(claim)?)
    }

    /// Takes over what another workspace of this process has claimed.
    pub fn take_claim_of(&mut self, other: &mut Workspace) -> Result<(), Error> {
        let Some(claim) = other.claimed.take() else { return Ok(()) };
        other.runs.act_under(None);
        self.act_under(claim)
    }

    /// Returns what was claimed, in words, if somebody else has taken it meanwhile.
    pub fn lost_claim(&self) -> Result<Option<&str>, Error> {
        Ok(self.claimed.as_ref().map_or(Ok(None), |claim| self.runs.lost(claim))?)
    }

    /// Presents a claim with everything that is recorded and done from now on, and gives the one before back.
    fn act_under(&mut self, claim: Claim) -> Result<(), Error> {
        self.runs.act_under(Some(&claim));
        let before = self.claimed.replace(claim);
        Ok(before.map_or(Ok(()), |before| self.runs.release(before))?)
    }

    /// Gives back what is claimed.
    pub fn release(&mut self) -> Result<(), Error> {
        self.runs.act_under(None);
        Ok(self.claimed.take().map_or(Ok(()), |claim| self.runs.release(claim))?)
    }

    /// Tells whether nobody carries an open run on.
    pub fn is_left(&self, run: &Run) -> Result<bool, Error> {
        Ok(self.runs.is_left(run)?)
    }
}
