//! Ids of issues and pull requests.

use std::{cmp::Ordering, fmt, str};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest id, in bytes.
const LONGEST: usize = 23;

/// What a forge calls an issue or a pull request: `42`, or `ENG-12` on a tracker that has no plain numbers.
///
/// The text is kept inline, so that an id is copied like a number. Ids that are numbers are in the order of numbers, and
/// written to JSON as numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ItemId {
    length: u8,
    bytes: [u8; LONGEST],
}

impl ItemId {
    /// Parses an id: 1 to 23 visible ASCII characters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        let length = u8::try_from(text.len()).ok().filter(|length| *length > 0 && is_plain)?;
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { length, bytes })
    }

    /// Parses an id as a person types it: `42` or `#42`.
    pub fn typed(text: &str) -> Option<Self> {
        let text = text.trim();
        let number: u64 = text.strip_prefix('#').unwrap_or(text).parse().ok()?;
        (number > 0).then(|| Self::from(number))
    }

    /// Returns the id as the forge writes it.
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..usize::from(self.length)).and_then(|bytes| str::from_utf8(bytes).ok());
        text.expect("an id is made of ASCII characters")
    }

    /// Returns the id as a number, if it is one.
    pub fn number(&self) -> Option<u64> {
        let number: u64 = self.as_str().parse().ok()?;
        (Self::from(number) == *self).then_some(number)
    }
}

impl From<u64> for ItemId {
    fn from(number: u64) -> Self {
        Self::parse(&number.to_string()).expect("a number has at most 20 digits")
    }
}

impl Ord for ItemId {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |id: &Self| id.number().unwrap_or(u64::MAX);
        key(self).cmp(&key(other)).then_with(|| self.as_str().cmp(other.as_str()))
    }
}

impl PartialOrd for ItemId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{self}")
    }
}

impl Serialize for ItemId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.number() {
            Some(number) => serializer.serialize_u64(number),
            None => serializer.serialize_str(self.as_str()),
        }
    }
}

impl<'de> Deserialize<'de> for ItemId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Text(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(Self::from(number)),
            Written::Text(text) => {
                Self::parse(&text).ok_or_else(|| de::Error::custom(format!("`{text}` is no id of an item")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_are_ids() {
        assert_eq!(ItemId::typed(" #42 "), Some(ItemId::from(42)));
        assert_eq!(ItemId::typed("042"), Some(ItemId::from(42)));
        assert_eq!([ItemId::typed("0"), ItemId::typed("ENG-12"), ItemId::typed("")], [None; 3]);
        assert_eq!([ItemId::parse(""), ItemId::parse("a b"), ItemId::parse(&"x".repeat(24))], [None; 3]);
        let text = ItemId::parse("ENG-12").unwrap();
        assert_eq!((text.number(), text.as_str()), (None, "ENG-12"));
        assert_eq!(ItemId::parse("042").unwrap().number(), None, "it is not what the forge writes");
    }

    #[test]
    fn numbers_come_in_their_order_and_before_texts() {
        let mut ids = ["ENG-2", "10", "9", "ENG-10"].map(|id| ItemId::parse(id).unwrap());
        ids.sort();
        assert_eq!(ids.map(|id| id.to_string()), ["9", "10", "ENG-10", "ENG-2"]);
    }

    #[test]
    fn ids_are_numbers_in_json_where_they_can_be() {
        let ids = ["7", "ENG-7"].map(|id| ItemId::parse(id).unwrap());
        let json = serde_json::to_string(&ids).unwrap();
        assert_eq!(json, r#"[7,"ENG-7"]"#);
        assert_eq!(serde_json::from_str::<[ItemId; 2]>(&json).unwrap(), ids);
        assert!(serde_json::from_str::<ItemId>(r#""a b""#).is_err());
    }
}
