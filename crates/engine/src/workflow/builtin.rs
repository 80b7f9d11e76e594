//! The workflows that are compiled in.

use std::borrow::Cow::Borrowed;

use super::{
    Act, Activity, EvidenceScope, Job, Limit, ReceiptKind, SemanticGate, StateFile, Subject, Tool, Trips,
    raw::{
        RawBudget, RawBy, RawDeadline, RawDeferral, RawInitialWhen, RawMeasure, RawOutcome, RawPhase,
        RawQuestion, RawRow, RawTests, RawTick, RawWorkflow,
    },
};

/// A workflow that is compiled in.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    pub name: &'static str,
    /// The text that a run is pinned to.
    pub text: &'static str,
    /// The same, read, and the text's digest, made by the build script.
    pub(super) raw: &'static RawWorkflow,
    pub(super) digest: &'static str,
}

macro_rules! built_in {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            text: include_str!(concat!("../../../../workflows/", $name, ".toml")),
            raw: {
                static RAW: RawWorkflow = include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
                &RAW
            },
            digest: include_str!(concat!(env!("OUT_DIR"), "/", $name, ".sha256")),
        }
    };
}

/// The built-in workflows.
pub const BUILT_IN: &[BuiltIn] =
    &[built_in!("warp-drive"), built_in!("coder"), built_in!("autonomous-loop"), built_in!("factory")];
