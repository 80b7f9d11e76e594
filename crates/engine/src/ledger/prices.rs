//! What models cost.
//!
//! Prices are whole numbers: millionths of a dollar for a million tokens. A cost is reckoned once, when something is
//! booked, and recorded with it, so a later price changes nothing that was spent before.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;

use crate::Usage;

/// The prices that warp comes with.
const BUILT_IN: &str = include_str!("../../../../prices.toml");

/// What a million tokens may cost at most, in dollars: beyond it somebody has mistaken the unit.
const DEAREST: f64 = 100_000.0;

/// The words for the newest release of a model.
const NEWEST: [&str; 3] = ["latest", "preview", "exp"];

/// The price list: what warp comes with, and before it what the user has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prices {
    /// When the list was made, as it says itself.
    pub date: String,
    /// By name, as [`plain`] writes it.
    models: BTreeMap<String, Price>,
}

/// The price of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    usual: Rates,
    /// From how many tokens of input on a request has other prices, and which.
    long: Option<(u64, Rates)>,
    /// Set when the model is not in the list, and the price is a guess.
    pub is_estimated: bool,
}

/// Millionths of a dollar for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rates {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

/// Why a text is no price list.
#[derive(Debug, thiserror::Error)]
pub enum BadPrices {
    #[error("it is not a list of prices: {0}")]
    Form(#[from] toml::de::Error),
    #[error("`{model}` has `{name} = {found}`; a price is a number of dollars for a million tokens")]
    Number { model: String, name: &'static str, found: f64 },
}

impl Prices {
    /// Returns the prices that warp comes with.
    pub fn built_in() -> Self {
        // Every run of a session asks for them.
        static READ: LazyLock<Prices> =
            LazyLock::new(|| Prices::parse(BUILT_IN).expect("a test reads the list that is compiled in"));
        READ.clone()
    }

    /// Reads a price list.
    pub fn parse(text: &str) -> Result<Self, BadPrices> {
        let listed: Listed = toml::from_str(text)?;
        let models = listed.models.into_iter();
        let models = models.map(|(name, model)| Ok((plain(&name), model.price(&name)?)));
        Ok(Self { date: listed.date, models: models.collect::<Result<_, BadPrices>>()? })
    }

    /// Puts another list before this one, model by model.
    #[must_use]
    pub fn with(mut self, before: Self) -> Self {
        self.models.extend(before.models);
        if !before.date.is_empty() {
            self.date = before.date;
        }
        self
    }

    /// Returns the price of a model: that of the longest name that its own begins with, or else a guess.
    pub fn of(&self, model: &str) -> Price {
        let name = plain(model);
        match self.listed(&name) {
            Some(price) => price,
            None => self.guess(&name).0,
        }
    }

    /// Says what the price of a model is guessed from, if it is not in the list.
    pub fn guessed_from(&self, model: &str) -> Option<String> {
        let name = plain(model);
        self.listed(&name).is_none().then(|| match self.guess(&name).1 {
            Some(family) => format!("the highest price of the {family} models"),
            None => "the highest price of all models".to_owned(),
        })
    }

    fn listed(&self, name: &str) -> Option<Price> {
        let known = self.models.iter().filter(|(known, _)| is_release_of(name, known));
        known.max_by_key(|(known, _)| known.len()).map(|(_, price)| *price)
    }

    /// Returns the highest price of a model's family, or else of all that its maker calls alike, or else of all; and the name
    /// of what it was taken from.
    fn guess(&self, name: &str) -> (Price, Option<String>) {
        let family = family(name);
        let line = first_word(&family).to_owned();
        let is_like = |known: &str| family == self::family(known);
        let is_alike = |known: &str| line == first_word(&self::family(known));
        let highest = |is: &dyn Fn(&str) -> bool| self.highest(is);
        if let Some(price) = highest(&is_like).filter(|_| !family.is_empty()) {
            return (price, Some(family));
        }
        if let Some(price) = highest(&is_alike).filter(|_| !line.is_empty()) {
            return (price, Some(line));
        }
        let nothing = Price { usual: Rates::default(), long: None, is_estimated: true };
        (highest(&|_| true).unwrap_or(nothing), None)
    }

    /// Returns a price that none of some models passes in anything; nothing if there is none of them.
    fn highest(&self, is_one: &dyn Fn(&str) -> bool) -> Option<Price> {
        let mut usual = Rates::default();
        let mut prices =
            self.models.iter().filter(|(name, _)| is_one(name)).map(|(_, price)| price).peekable();
        prices.peek()?;
        for price in prices {
            for rates in [Some(price.usual), price.long.map(|(_, rates)| rates)].into_iter().flatten() {
                usual.input = usual.input.max(rates.input);
                usual.output = usual.output.max(rates.output);
                usual.cache_read = usual.cache_read.max(rates.cache_read);
                usual.cache_write = usual.cache_write.max(rates.cache_write);
            }
        }
        Some(Price { usual, long: None, is_estimated: true })
    }
}

impl Price {
    /// Returns what tokens cost in millionths of a dollar, rounded up.
    ///
    /// What the usage itself says of money is not looked at.
    pub fn cost(&self, usage: &Usage) -> u64 {
        let context = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
        let context = context.into_iter().fold(0, u64::saturating_add);
        let rates = match self.long {
            Some((above, long)) if context > above => long,
            Some(_) | None => self.usual,
        };
        let parts = [
            (usage.input_tokens, rates.input),
            (usage.output_tokens, rates.output),
            (usage.cache_read_tokens, rates.cache_read),
            (usage.cache_write_tokens, rates.cache_write),
        ];
        let sum: u128 = parts.into_iter().map(|(tokens, rate)| u128::from(tokens) * u128::from(rate)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Writes a model's name in the one way in which names are compared: without whoever sells it, and with dashes only.
fn plain(model: &str) -> String {
    let model = model.trim().to_lowercase();
    let model = model.rsplit('/').next().unwrap_or_default();
    let model = model.rsplit("anthropic.").next().unwrap_or_default();
    let end = model.find(['@', ':', '[']).unwrap_or(model.len());
    model[..end].replace(['.', '_'], "-")
}

/// Returns the name of a model's family: its own name without versions, as `gpt-sol` for `gpt-6-1-sol` or `claude-opus`
/// for `claude-opus-7`.
fn family(name: &str) -> String {
    let words = name.split('-').filter(|word| !NEWEST.contains(word));
    let words = words.map(|word| word.trim_end_matches(|c: char| c.is_ascii_digit()));
    let words = words.filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()));
    words.collect::<Vec<_>>().join("-")
}

fn first_word(family: &str) -> &str {
    family.split('-').next().unwrap_or_default()
}

/// Tells whether a name is a model's own, or that of one of its releases: a date follows, or a word for the newest.
///
/// `gpt-5-9` is not a release of `gpt-5`: it is a model that is not known, and may be much dearer.
fn is_release_of(name: &str, model: &str) -> bool {
    let Some(rest) = name.strip_prefix(model) else { return false };
    let Some(rest) = rest.strip_prefix('-') else { return rest.is_empty() };
    let first = rest.split('-').next().unwrap_or_default();
    let is_date = first.len() >= 4 && first.bytes().all(|byte| byte.is_ascii_digit());
    is_date || NEWEST.contains(&first)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    #[serde(default)]
    date: String,
    #[serde(default)]
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    long: Option<Long>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    above: u64,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

impl Model {
    fn price(&self, model: &str) -> Result<Price, BadPrices> {
        let usual = rates(model, self.input, self.output, self.cache_read, self.cache_write)?;
        let long = match &self.long {
            Some(long) => {
                Some((long.above, rates(model, long.input, long.output, long.cache_read, long.cache_write)?))
            }
            None => None,
        };
        Ok(Price { usual, long, is_estimated: false })
    }
}

fn rates(
    model: &str,
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
) -> Result<Rates, BadPrices> {
    let rate = |name: &'static str, dollars: f64| {
        if !(0.0..=DEAREST).contains(&dollars) {
            return Err(BadPrices::Number { model: model.to_owned(), name, found: dollars });
        }
        // Within the bounds a millionth is told apart from the next, and nothing is lost.
        Ok((dollars * 1_000_000.0).round() as u64)
    };
    Ok(Rates {
        input: rate("input", input)?,
        output: rate("output", output)?,
        cache_read: rate("cache_read", cache_read.unwrap_or(input))?,
        cache_write: rate("cache_write", cache_write.unwrap_or(input))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(model: &str, usage: Usage) -> (u64, bool) {
        let price = Prices::built_in().of(model);
        (price.cost(&usage), price.is_estimated)
    }

    const fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Usage {
        Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: cache_read,
            cache_write_tokens: cache_write,
            micro_usd: 0,
        }
    }

    const MILLION: Usage = tokens(100_000, 1_000_000, 0, 0);

    #[test]
    fn the_list_that_is_compiled_in_is_dated_and_read() {
        let prices = Prices::built_in();
        assert_eq!(prices.date, "2026-11-16");
        assert!(prices.models.len() > 40);
    }

    #[test]
    fn each_kind_of_token_has_its_price() {
        assert_eq!(
            cost("claude-sonnet-4-5", tokens(1000, 100, 10_000, 2000)),
            (3000 + 1500 + 3000 + 7500, false)
        );
    }

    #[test]
    fn a_cost_is_rounded_up() {
        assert_eq!(cost("gpt-5-nano", tokens(1, 0, 0, 0)), (1, false));
        assert_eq!(cost("gpt-5-nano", tokens(0, 0, 0, 0)), (0, false));
    }

    #[test]
    fn dated_names_and_the_names_of_sellers_are_known() {
        for name in [
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
            "claude-sonnet-4-5[1m]",
            "anthropic/claude-sonnet-4.5",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "claude-sonnet-4-5@20250929",
        ] {
            assert_eq!(cost(name, MILLION), (15_300_000, false), "{name}");
        }
        assert_eq!(cost("gpt-5-2025-08-07", MILLION), (10_125_000, false));
        assert_eq!(cost("claude-3-5-haiku-latest", MILLION), (4_080_000, false));
    }

    #[test]
    fn the_longest_name_that_fits_is_taken() {
        assert_eq!(cost("gpt-5-codex", MILLION).0, 10_125_000);
        assert_eq!(cost("gpt-5-nano-2025-08-07", MILLION).0, 405_000);
        assert_eq!(cost("claude-opus-4-20250514", MILLION).0, 76_500_000);
        assert_eq!(cost("claude-opus-4-5-20251101", MILLION).0, 25_500_000);
    }

    #[test]
    fn a_model_that_is_not_known_takes_the_highest_price_of_its_family_and_is_marked() {
        let cases = [
            // The default of Codex 0.166.
            ("gpt-6.1-sol", 46_000_000, "the gpt-sol models"),
            ("gpt-5-9", 46_000_000, "the gpt models"),
            ("gpt-5.9-codex", 14_175_000, "the gpt-codex models"),
            ("gpt-daybreak-blue-latest", 183_000_000, "the gpt models"),
            ("claude-opus-7-20270101", 76_500_000, "the claude-opus models"),
            ("claude-3-9-sonnet", 23_100_000, "the claude-sonnet models"),
            ("o5-mini", 4_510_000, "the o-mini models"),
            ("llama", 183_000_000, "all models"),
            ("", 183_000_000, "all models"),
        ];
        for (name, price, from) in cases {
            assert_eq!(cost(name, MILLION), (price, true), "{name}");
            let said = Prices::built_in().guessed_from(name).unwrap();
            assert_eq!(said, format!("the highest price of {from}"), "{name}");
        }
        assert_eq!(Prices::built_in().guessed_from("claude-opus-5-5"), None);
        let (guess, _) = Prices::parse("").unwrap().guess("gpt-7");
        assert_eq!((guess.cost(&MILLION), guess.is_estimated), (0, true));
    }

    #[test]
    fn a_long_request_has_its_own_price() {
        assert_eq!(cost("gpt-6-sol", tokens(100_000, 0, 172_000, 0)).0, 200_000 + 34_400);
        assert_eq!(cost("gpt-6-sol", tokens(100_000, 0, 172_001, 0)).0, 400_000 + 68_801);
    }

    #[test]
    fn the_users_list_goes_before_model_by_model() {
        let own =
            Prices::parse("[models.\"my-model\"]\ninput = 0\noutput = 0\n[models.gpt-5]\ninput=1\noutput=2");
        let prices = Prices::built_in().with(own.unwrap());
        assert_eq!(prices.of("my-model").cost(&MILLION), 0);
        assert_eq!(prices.of("gpt-5").cost(&MILLION), 2_100_000);
        assert_eq!(prices.of("gpt-5-nano").cost(&MILLION), 405_000);
        assert_eq!(prices.date, "2026-11-16");
    }

    #[test]
    fn what_is_no_price_is_named() {
        let parse = |text: &str| Prices::parse(text).unwrap_err().to_string();
        assert_eq!(
            parse("[models.a]\ninput = -1\noutput = 0"),
            "`a` has `input = -1`; a price is a number of dollars for a million tokens"
        );
        assert!(parse("[models.a]\ninput = nan\noutput = 0").contains("input = NaN"));
        assert!(parse("[models.a]\ninput = 1").contains("missing field `output`"));
        assert!(parse("[models.a]\ninput = 1\noutput = 1\ncached = 1").contains("unknown field `cached`"));
    }

    #[test]
    fn no_number_of_tokens_is_too_large_to_be_priced() {
        assert_eq!(cost("llama", tokens(u64::MAX, u64::MAX, u64::MAX, u64::MAX)), (u64::MAX, true));
    }
}
