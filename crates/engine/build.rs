//! Turns the built-in workflows from TOML into Rust, because they are read with every event, and takes the digests of their
//! texts. What is checked about them is checked where any workflow is.
#![expect(clippy::disallowed_methods, reason = "a build script reads and writes files; the engine does not")]

#[expect(unreachable_pub, reason = "it is public in the engine")]
#[path = "src/digest.rs"]
mod digest;

use std::{env, fs, path::Path};

use digest::digest;
use serde_json::{Map, Value};

fn main() {
    let workflows = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows");
    println!("cargo::rerun-if-changed={}", workflows.display());
    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    for name in ["warp-drive", "coder", "autonomous-loop", "factory"] {
        let source = workflows.join(name).with_extension("toml");
        let text = fs::read_to_string(&source)
            .unwrap_or_else(|error| panic!("{} cannot be read: {error}", source.display()));
        let workflow: Value =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        for (extension, made) in [("rs", WORKFLOW.rust(&workflow)), ("sha256", digest(&text))] {
            let file = Path::new(&out).join(name).with_extension(extension);
            fs::write(&file, made)
                .unwrap_or_else(|error| panic!("{} cannot be written: {error}", file.display()));
        }
    }
}

/// How a value is written in Rust.
enum Form {
    Text,
    Flag,
    Number,
    /// A variant of this type.
    Word(&'static str),
    /// A number, or the name of a setting.
    Limit,
    /// A table of texts.
    Pairs,
    /// May be left out.
    Maybe(&'static Form),
    /// None may be left out.
    List(&'static Form),
    /// May be left out for this.
    Else(&'static Form, &'static str),
    /// A table: its type, and its fields by their names in the file and in Rust.
    Table(&'static str, &'static [(&'static str, &'static str, Form)]),
}

use Form::{Else, Flag, Limit, List, Maybe, Number, Pairs, Table, Text, Word};

impl Form {
    fn rust(&self, value: &Value) -> String {
        match self {
            Text => format!("Borrowed({:?})", value.as_str().expect("a text")),
            Flag => value.as_bool().expect("a flag").to_string(),
            Number => value.as_u64().expect("a number").to_string(),
            Word(of) => format!("{of}::{}", variant(value.as_str().expect("a word"))),
            Limit if value.is_string() => format!("Limit::Setting({})", Text.rust(value)),
            Limit => format!("Limit::Number({})", Number.rust(value)),
            Pairs => {
                let pairs = table(value).iter().map(|(name, value)| {
                    format!("({}, {})", Text.rust(&Value::from(name.as_str())), Text.rust(value))
                });
                list(pairs)
            }
            Maybe(form) => format!("Some({})", form.rust(value)),
            List(form) => list(value.as_array().expect("a list").iter().map(|value| form.rust(value))),
            Else(form, _) => form.rust(value),
            Table(name, fields) => {
                let table = table(value);
                let known = |key: &String| fields.iter().any(|(field, ..)| field == key);
                assert!(table.keys().all(known), "{name} has a field that is not known: {table:?}");
                let fields = fields.iter().map(|(key, field, form)| {
                    let value = table.get(*key).map_or_else(|| form.absent(key), |value| form.rust(value));
                    format!("{field}: {value},")
                });
                format!("{name} {{ {} }}", fields.collect::<String>())
            }
        }
    }

    fn absent(&self, key: &str) -> String {
        match self {
            Maybe(_) => "None".to_owned(),
            List(_) | Pairs => "Borrowed(&[])".to_owned(),
            Flag => "false".to_owned(),
            Else(_, value) => (*value).to_owned(),
            Text | Number | Word(_) | Limit | Table(..) => panic!("`{key}` is missing"),
        }
    }
}

fn table(value: &Value) -> &Map<String, Value> {
    value.as_object().expect("a table")
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("Borrowed(&[{}])", values.map(|value| format!("{value},")).collect::<String>())
}

/// Returns the name of a variant in Rust.
fn variant(word: &str) -> String {
    let capital = |part: &str| part[..1].to_uppercase() + &part[1..];
    word.split(['_', '-']).map(capital).collect()
}

const WORKFLOW: Form = Table(
    "RawWorkflow",
    &[
        ("name", "name", Text),
        ("purpose", "purpose", Text),
        ("initial", "initial", Text),
        (
            "initial_when",
            "initial_when",
            Maybe(&Table("RawInitialWhen", &[("setting", "setting", Text), ("phase", "phase", Text)])),
        ),
        ("final", "finals", List(&Text)),
        ("levels", "levels", List(&Number)),
        ("state_file", "state_file", Maybe(&Word("StateFile"))),
        ("subject", "subject", Else(&Word("Subject"), "Subject::Issue")),
        ("stop_event", "stop_event", Maybe(&Text)),
        ("close_event", "close_event", Maybe(&Text)),
        ("deadline", "deadline", Maybe(&DEADLINE)),
        ("phase_counters", "phase_counters", List(&Text)),
        ("phase", "phases", List(&PHASE)),
        (
            "tick",
            "ticks",
            List(&Table(
                "RawTick",
                &[
                    ("event", "event", Text),
                    ("phases", "phases", List(&Text)),
                    ("raises", "raises", List(&Text)),
                ],
            )),
        ),
        (
            "question",
            "questions",
            List(&Table(
                "RawQuestion",
                &[
                    ("event", "event", Text),
                    ("phase", "phase", Text),
                    ("text", "text", Text),
                    ("approves", "approves", Text),
                    ("unless", "unless", Maybe(&Text)),
                ],
            )),
        ),
        ("budget", "budgets", List(&BUDGET)),
        (
            "deferral",
            "deferral",
            Maybe(&Table(
                "RawDeferral",
                &[("next", "next", Text), ("done", "done", Text), ("none", "none", Text)],
            )),
        ),
    ],
);

const DEADLINE: Form = Table("RawDeadline", &[("minutes", "minutes", Limit), ("outcome", "outcome", Text)]);

const PHASE: Form = Table(
    "RawPhase",
    &[
        ("name", "name", Text),
        ("purpose", "purpose", Text),
        ("activity", "activity", Word("Activity")),
        ("does", "does", Maybe(&Word("Job"))),
        ("says", "says", Pairs),
        ("question", "question", Maybe(&Text)),
        ("role", "role", Maybe(&Text)),
        ("label", "label", Maybe(&Text)),
        ("may", "may", List(&Text)),
        ("receipt", "receipt", Maybe(&Word("ReceiptKind"))),
        ("artifact", "artifact", Maybe(&Text)),
        ("deadline", "deadline", Maybe(&DEADLINE)),
        ("on", "on", List(&ROW)),
    ],
);

const ROW: Form = Table(
    "RawRow",
    &[
        ("event", "event", Text),
        ("to", "to", Maybe(&Text)),
        ("to_origin", "to_origin", Flag),
        ("by", "by", Maybe(&Word("RawBy"))),
        ("unless", "unless", Maybe(&Text)),
        ("gate", "gate", Maybe(&Word("SemanticGate"))),
        ("evidence", "evidence", Maybe(&Word("EvidenceScope"))),
        ("tests", "tests", Maybe(&Word("RawTests"))),
        ("acts", "acts", List(&Word("Act"))),
        ("raises", "raises", List(&Text)),
        ("resets", "resets", List(&Text)),
        ("exempt", "exempt", Flag),
        ("reason", "reason", Maybe(&Text)),
        ("status", "status", Maybe(&Text)),
        ("answer", "answer", Maybe(&Text)),
        ("tool", "tool", Maybe(&Word("Tool"))),
    ],
);

const BUDGET: Form = Table(
    "RawBudget",
    &[
        ("reason", "reason", Text),
        ("counter", "counter", Maybe(&Text)),
        ("measure", "measure", Maybe(&Word("RawMeasure"))),
        ("limit", "limit", Limit),
        ("trips", "trips", Else(&Word("Trips"), "Trips::Above")),
        ("enforcement", "enforcement", Maybe(&Text)),
        ("forced", "forced", Flag),
        (
            "outcomes",
            "outcomes",
            List(&Table(
                "RawOutcome",
                &[
                    ("phase", "phase", Maybe(&Text)),
                    ("event", "event", Maybe(&Text)),
                    ("when", "when", Maybe(&Text)),
                    ("unless", "unless", Maybe(&Text)),
                    ("redirect", "redirect", Maybe(&Text)),
                    ("follow", "follow", Maybe(&Text)),
                    ("park", "park", Flag),
                ],
            )),
        ),
    ],
);
