//! How much text a piece of JSON holds, which is what a model reads or writes of it.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};

/// How many bytes make a token; near enough for English and for code.
const BYTES_A_TOKEN: u64 = 4;
/// What stands for an image or a file in bytes, however long its encoding is: about what a large image costs.
const ATTACHMENT: u64 = 1600 * BYTES_A_TOKEN;

/// The length of all strings in a value, in bytes; what only labels or signs text is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextLength(pub(crate) u64);

impl TextLength {
    /// Estimates how many tokens the text has.
    pub(crate) fn tokens(self) -> u64 {
        tokens(self.0)
    }

    fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Estimates how many tokens so many bytes of text have.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_A_TOKEN)
}

/// Says whether a field holds no text of its own.
fn is_label(key: &str) -> bool {
    let labels = ["type", "id", "role", "call_id", "item_id", "tool_use_id", "finish_reason", "media_type"];
    labels.contains(&key) || key == "signature"
}

/// Says whether a field holds something in an encoding.
fn is_attachment(key: &str) -> bool {
    ["data", "image_url", "url", "file_data", "encrypted_content"].contains(&key)
}

impl<'de> Deserialize<'de> for TextLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LengthVisitor)
    }
}

struct LengthVisitor;

impl<'de> Visitor<'de> for LengthVisitor {
    type Value = TextLength;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<TextLength, E> {
        Ok(TextLength(0))
    }

    fn visit_i64<E>(self, _: i64) -> Result<TextLength, E> {
        Ok(TextLength(0))
    }

    fn visit_u64<E>(self, _: u64) -> Result<TextLength, E> {
        Ok(TextLength(0))
    }

    fn visit_f64<E>(self, _: f64) -> Result<TextLength, E> {
        Ok(TextLength(0))
    }

    fn visit_unit<E>(self) -> Result<TextLength, E> {
        Ok(TextLength(0))
    }

    fn visit_str<E>(self, text: &str) -> Result<TextLength, E> {
        Ok(TextLength(text.len() as u64))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<TextLength, A::Error> {
        let mut whole = TextLength(0);
        while let Some(item) = items.next_element::<TextLength>()? {
            whole = whole.plus(item);
        }
        Ok(whole)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<TextLength, A::Error> {
        let mut whole = TextLength(0);
        while let Some(key) = fields.next_key::<String>()? {
            if is_label(&key) {
                fields.next_value::<IgnoredAny>()?;
                continue;
            }
            let value = fields.next_value::<TextLength>()?;
            whole = whole.plus(if is_attachment(&key) { TextLength(value.0.min(ATTACHMENT)) } else { value });
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_counts() {
        let measure = |json: &str| serde_json::from_str::<TextLength>(json).unwrap().0;
        assert_eq!(measure(r#"{"type":"text_delta","text":"four"}"#), 4);
        assert_eq!(
            measure(r#"[{"index":0,"delta":{"role":"assistant","content":"12","x":[null,1,true,"3"]}}]"#),
            3
        );
        let image = format!(r#"{{"type":"image","source":{{"data":"{}"}}}}"#, "A".repeat(1_000_000));
        assert_eq!(measure(&image), ATTACHMENT);
    }
}
