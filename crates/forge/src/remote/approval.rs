//! Who has approved an issue: who set the label, and whether they may.

use super::server::LabelEvent;
use crate::Trust;

/// What the history of a label says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Approval {
    /// Nobody who may has set it.
    None,
    By(String),
    /// These have set it, and the server does not say whether they may.
    Unknown(Vec<String>),
}

/// Reads from a label's history who approves. `trust` says of an account whether it has write access.
///
/// What counts is what was done since the label was last taken away, and the first who may.
pub(super) fn approval<E>(
    events: &[LabelEvent],
    labels: &[String],
    mut trust: impl FnMut(&LabelEvent) -> Result<Trust, E>,
) -> Result<Approval, E> {
    let is_ours = |event: &&LabelEvent| labels.contains(&event.label);
    let ours: Vec<&LabelEvent> = events.iter().filter(is_ours).collect();
    let taken = ours.iter().rposition(|event| !event.is_added).map_or(0, |at| at + 1);
    let mut unknown = Vec::new();
    for event in ours.iter().skip(taken) {
        match trust(event)? {
            Trust::Trusted => return Ok(Approval::By(event.by.name.clone())),
            Trust::Untrusted => {}
            Trust::Unknown => unknown.push(event.by.name.clone()),
        }
    }
    Ok(if unknown.is_empty() { Approval::None } else { Approval::Unknown(unknown) })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::remote::server::Login;

    /// Judges events such as `+ada:approved` and `-bob:approved`; who is trusted begins with a capital letter.
    fn judge(script: &str) -> Approval {
        let event = |word: &str| {
            let (by, label) = word[1..].split_once(':').unwrap();
            let by = Login { name: by.to_owned(), is_bot: false, is_outsider: false };
            LabelEvent { label: label.to_owned(), by, is_added: word.starts_with('+') }
        };
        let events: Vec<LabelEvent> = script.split(' ').filter(|word| !word.is_empty()).map(event).collect();
        let trust = |event: &LabelEvent| {
            Ok::<_, Infallible>(match event.by.name.as_str() {
                "unknown" => Trust::Unknown,
                name if name.starts_with(char::is_uppercase) => Trust::Trusted,
                _ => Trust::Untrusted,
            })
        };
        let Ok(judged) = approval(&events, &["approved".to_owned()], trust);
        judged
    }

    #[test]
    fn only_whoever_may_approves() {
        let by = |name: &str| Approval::By(name.to_owned());
        for (script, judged) in [
            ("", Approval::None),
            ("+Ada:approved", by("Ada")),
            ("+mallory:approved", Approval::None),
            ("+mallory:approved +Ada:approved +Bob:approved", by("Ada")),
            ("+Ada:approved -Ada:approved", Approval::None),
            ("+Ada:approved -Ada:approved +mallory:approved", Approval::None),
            ("+Ada:approved -mallory:approved +Bob:approved", by("Bob")),
            ("+Ada:Approved +Ada:urgent", Approval::None),
            ("+unknown:approved", Approval::Unknown(vec!["unknown".to_owned()])),
            ("+unknown:approved +Ada:approved", by("Ada")),
        ] {
            assert_eq!(judge(script), judged, "{script}");
        }
    }
}
