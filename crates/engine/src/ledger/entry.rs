//! What is written into the ledger.

use serde::{Deserialize, Serialize};

use crate::{Time, Usage};

use super::Scope;

/// Whose a request is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Tags {
    /// The project's id.
    pub project: String,
    /// What the project is called, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub project_name: String,
    pub run: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    pub phase: String,
    /// The chunk, from 1; 0 before there are any.
    pub chunk: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub agent: String,
    /// The credentials that it is spent from.
    pub pool: String,
}

/// One entry. Fields that a later version adds are passed over, and those that an earlier one did not write are empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum Entry {
    /// A request goes out.
    Opened {
        request: String,
        tags: Tags,
        model: String,
        /// What it will use at least, with its price.
        estimate: Usage,
        /// What it is expected to use, held against the caps until it is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserve: Option<Usage>,
        /// The process that sends it; what it holds is free when that is gone.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        holder: String,
        /// Set when the model's price is not known.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_price_estimated: bool,
    },
    /// What a request has used so far: the whole of it.
    Booked {
        request: String,
        /// Which booking of the request this is, from 1. The highest counts.
        number: u64,
        usage: Usage,
        /// Set when nothing more will come.
        #[serde(default)]
        is_over: bool,
        /// Set when the usage was never told, and this is the most that it can be.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_bound: bool,
    },
    /// A process is gone, and what it held with it.
    Released { holder: String },
    /// What an agent says that it has used, where its requests cannot be seen.
    Reported {
        /// The same for the same piece of work.
        report: String,
        tags: Tags,
        model: String,
        usage: Usage,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_price_estimated: bool,
    },
    /// A person let more be spent than a cap says.
    Raised {
        /// The decision by which they did.
        decision: String,
        cap: Scope,
        /// The run, project or pool; the day has no name.
        #[serde(default)]
        name: String,
        #[serde(default)]
        micro_usd: u64,
        #[serde(default)]
        tokens: u64,
    },
    /// A pool has reached its provider's limit.
    Paused {
        pool: String,
        #[serde(flatten)]
        pause: Pause,
    },
    /// A pool may be used again.
    Lifted { pool: String, at: Time },
    /// Something that a later version knows and that counts for nothing here.
    #[serde(other)]
    Unknown,
}

/// That a pool waits for its provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pause {
    /// When it was found out.
    pub at: Time,
    pub until: Time,
    pub why: String,
    /// Set when only a person ends it: a login or a balance is to be fixed, and somebody was asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_closed: bool,
}

impl Entry {
    /// Returns what happened, in the past tense.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Opened { .. } => "opened",
            Self::Booked { .. } => "booked",
            Self::Released { .. } => "released",
            Self::Reported { .. } => "reported",
            Self::Raised { .. } => "raised",
            Self::Paused { .. } => "paused",
            Self::Lifted { .. } => "lifted",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_back_as_it_was_written() {
        let at = Time::from_millis(1_800_000_000_000);
        let usage = Usage { input_tokens: 1, micro_usd: 2, ..Usage::default() };
        let tags = Tags { run: "r1".into(), issue: Some("42".into()), ..Tags::default() };
        let (request, model) = ("q1".to_owned(), "m".to_owned());
        let entries = [
            Entry::Opened {
                request: request.clone(),
                tags: tags.clone(),
                model: model.clone(),
                estimate: usage,
                reserve: Some(usage),
                holder: "1".into(),
                is_price_estimated: true,
            },
            Entry::Booked { request, number: 3, usage, is_over: true, is_bound: true },
            Entry::Released { holder: "1".into() },
            Entry::Reported { report: "r".into(), tags, model, usage, is_price_estimated: false },
            Entry::Raised {
                decision: "d".into(),
                cap: Scope::Day,
                name: String::new(),
                micro_usd: 5,
                tokens: 0,
            },
            Entry::Paused {
                pool: "p".into(),
                pause: Pause { at, until: at.plus_minutes(5), why: "429".into(), is_closed: true },
            },
            Entry::Lifted { pool: "p".into(), at },
        ];
        for entry in entries {
            let text = serde_json::to_string(&entry).unwrap();
            assert!(text.starts_with(&format!(r#"{{"entry":"{}""#, entry.kind())), "{text}");
            assert_eq!(serde_json::from_str::<Entry>(&text).unwrap(), entry);
        }
    }

    #[test]
    fn entries_of_other_versions_are_read_as_far_as_they_are_known() {
        let read = |text: &str| serde_json::from_str::<Entry>(text).unwrap();
        assert_eq!(read(r#"{"entry":"refunded","request":"q1"}"#), Entry::Unknown);
        let booked =
            read(r#"{"entry":"booked","request":"q1","number":1,"usage":{"input_tokens":7},"tier":"x"}"#);
        let usage = Usage { input_tokens: 7, ..Usage::default() };
        let (request, number) = ("q1".into(), 1);
        assert_eq!(booked, Entry::Booked { request, number, usage, is_over: false, is_bound: false });
    }
}
