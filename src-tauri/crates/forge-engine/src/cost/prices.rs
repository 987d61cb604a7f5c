//! The cost of a run. What a program reports counts; otherwise tokens are priced by the project's own prices, then
//! by the built-in `genai-prices` data; otherwise the cost is recorded as unknown.

use std::collections::BTreeMap;

use forge_model::execution::CostSource;
use forge_model::settings::ModelPrice;
use forge_model::usage::{MAX_FIGURE, UsageSample};
use genai_prices::{PriceRequest, UsageKey};

/// Which data computed costs come from.
const PRICE_DATA: &str = "genai-prices 0.2.1";
/// The same for a project's own prices.
const OWN_PRICES: &str = "project settings";

/// Micro-dollars in a dollar.
const MICRO: f64 = 1_000_000.0;

/// What one run used and cost so far, model by model.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    models: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    used: UsageSample,
    /// In micro-dollars, unrounded: many small samples must not each be rounded.
    reported: f64,
    computed: f64,
    has_reported: bool,
    has_computed: bool,
    unknown: bool,
    version: Option<&'static str>,
}

/// What a run cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cost {
    /// In micro-dollars; none when any of it is unknown.
    pub micro_usd: Option<u64>,
    /// Where it comes from.
    pub source: CostSource,
    /// The data that it was computed by.
    pub price_version: Option<String>,
    /// Model by model, each with its cost where that is known.
    pub models: Vec<UsageSample>,
}

impl Ledger {
    /// Counts a sample, by `prices` where the program does not say what it cost.
    pub(crate) fn add(&mut self, sample: &UsageSample, prices: &BTreeMap<String, ModelPrice>) {
        let known = self.models.iter().position(|line| line.used.model == sample.model);
        let at = known.unwrap_or_else(|| {
            self.models.push(Line::of(&sample.model));
            self.models.len() - 1
        });
        let Some(line) = self.models.get_mut(at) else { return };
        line.used.add(&UsageSample { cost_micro_usd: None, ..sample.clone() });
        if let Some(cost) = sample.cost_micro_usd {
            line.reported += as_float(cost);
            line.has_reported = true;
        } else if tokens(sample) > 0 {
            match computed(sample, prices) {
                Some((cost, version)) => {
                    line.computed += cost;
                    line.has_computed = true;
                    line.version = Some(version);
                }
                None => line.unknown = true,
            }
        }
    }

    /// This with what `other` counted.
    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut all = self.clone();
        for line in &other.models {
            match all.models.iter_mut().find(|it| it.used.model == line.used.model) {
                Some(known) => known.add(line),
                None => all.models.push(line.clone()),
            }
        }
        all
    }

    /// What is known of the cost so far, in micro-dollars.
    pub(crate) fn known_micro_usd(&self) -> u64 {
        rounded(self.models.iter().map(|line| line.reported + line.computed).sum())
    }

    /// What the run cost.
    pub(crate) fn cost(&self) -> Cost {
        let models: Vec<UsageSample> = self.models.iter().map(Line::sample).collect();
        let unknown = models.is_empty()
            || self.models.iter().any(|line| !line.is_known())
            || self.known_micro_usd() > MAX_FIGURE;
        let computed = self.models.iter().any(|line| line.has_computed);
        Cost {
            micro_usd: (!unknown).then(|| self.known_micro_usd()),
            source: match (unknown, computed) {
                (true, _) => CostSource::Unknown,
                (false, true) => CostSource::Computed,
                (false, false) => CostSource::Reported,
            },
            price_version: self.models.iter().find_map(|line| line.version).map(str::to_owned),
            models,
        }
    }
}

impl Line {
    fn add(&mut self, other: &Self) {
        self.used.add(&other.used);
        self.reported += other.reported;
        self.computed += other.computed;
        self.has_reported |= other.has_reported;
        self.has_computed |= other.has_computed;
        self.unknown |= other.unknown;
        self.version = self.version.or(other.version);
    }

    fn of(model: &str) -> Self {
        Self {
            used: UsageSample { model: model.to_owned(), ..UsageSample::default() },
            reported: 0.0,
            computed: 0.0,
            has_reported: false,
            has_computed: false,
            unknown: false,
            version: None,
        }
    }

    /// Whether the cost is known: a model that was named without any figure cost an unknown amount, not nothing.
    const fn is_known(&self) -> bool {
        !self.unknown && (self.has_reported || self.has_computed)
    }

    fn sample(&self) -> UsageSample {
        let cost = self.is_known().then(|| rounded(self.reported + self.computed));
        let cost = cost.filter(|cost| *cost <= MAX_FIGURE);
        UsageSample { cost_micro_usd: cost, ..self.used.clone() }
    }
}

const fn tokens(sample: &UsageSample) -> u64 {
    input(sample).saturating_add(sample.output)
}

const fn input(sample: &UsageSample) -> u64 {
    sample.input_uncached.saturating_add(sample.cache_read).saturating_add(sample.cache_write)
}

/// The cost of a sample in micro-dollars by the prices of its model, and whose prices they are. A sample is one call
/// of the model where the program tells so much, which is what prices with tiers are for.
fn computed(sample: &UsageSample, prices: &BTreeMap<String, ModelPrice>) -> Option<(f64, &'static str)> {
    if let Some(price) = prices.get(&sample.model) {
        let per = |tokens: u64, price: u64| as_float(tokens) * as_float(price) / MICRO;
        let cost = per(sample.input_uncached, price.input)
            + per(sample.cache_read, price.cache_read.unwrap_or(price.input))
            + per(sample.cache_write, price.cache_write.unwrap_or(price.input))
            + per(sample.output, price.output);
        return Some((cost, OWN_PRICES));
    }
    // A model that has no price for a kind of token is not asked for what it was not used for.
    let counted = [
        (UsageKey::INPUT_TOKENS, input(sample)),
        (UsageKey::CACHE_READ_TOKENS, sample.cache_read),
        (UsageKey::CACHE_WRITE_TOKENS, sample.cache_write),
        (UsageKey::OUTPUT_TOKENS, sample.output),
    ];
    let usage: genai_prices::Usage = counted
        .into_iter()
        .filter(|(_, tokens)| *tokens > 0)
        .map(|(key, tokens)| (key, as_float(tokens)))
        .collect();
    // The last part of `provider/model`, as some programs name it.
    let bare = sample.model.rsplit('/').next().unwrap_or_default();
    let priced = [sample.model.as_str(), bare]
        .into_iter()
        .filter(|model| !model.is_empty())
        .find_map(|model| genai_prices::calculate(&PriceRequest::new(model, &usage)).ok())?;
    Some((priced.total_price * MICRO, PRICE_DATA))
}

#[expect(clippy::cast_precision_loss, reason = "no run uses 2^53 tokens or micro-dollars")]
const fn as_float(number: u64) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are sums of what is not negative, and far from 2^63"
)]
fn rounded(micro: f64) -> u64 {
    micro.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(model: &str, input: u64, cached: u64, output: u64) -> UsageSample {
        UsageSample {
            model: model.to_owned(),
            input_uncached: input,
            cache_read: cached,
            output,
            ..UsageSample::default()
        }
    }

    fn cost_of(samples: &[UsageSample]) -> Cost {
        let mut ledger = Ledger::default();
        for sample in samples {
            ledger.add(sample, &BTreeMap::new());
        }
        ledger.cost()
    }

    #[test]
    fn counts_cached_input_at_its_own_price() {
        // 400 x 5 $ + 800 x 0.5 $ + 34 x 30 $ a million.
        let cost = cost_of(&[used("gpt-5.5", 400, 800, 34)]);
        assert_eq!((cost.micro_usd, cost.source), (Some(3_420), CostSource::Computed));
        assert_eq!(cost.price_version.as_deref(), Some(PRICE_DATA));
        assert_eq!(cost.models[0].cost_micro_usd, Some(3_420));
    }

    #[test]
    fn rounds_a_run_once() {
        // Each of them costs half a micro-dollar.
        let small: Vec<_> = (0..10).map(|_| used("gpt-5.5", 0, 1, 0)).collect();
        assert_eq!(cost_of(&small).micro_usd, Some(5));
    }

    #[test]
    fn believes_what_is_reported_and_says_when_nobody_knows() {
        let told = UsageSample { cost_micro_usd: Some(12), ..used("gpt-5.5", 400, 800, 34) };
        assert_eq!(cost_of(std::slice::from_ref(&told)).source, CostSource::Reported);
        assert_eq!(cost_of(std::slice::from_ref(&told)).micro_usd, Some(12));
        let strange = cost_of(&[told, used("a-model-of-my-own", 1, 0, 1)]);
        assert_eq!((strange.micro_usd, strange.source), (None, CostSource::Unknown));
        assert_eq!(strange.models[0].cost_micro_usd, Some(12));
        assert_eq!(cost_of(&[]).source, CostSource::Unknown);
    }

    #[test]
    fn usage_without_figures_has_unknown_cost() {
        let bare = used("gpt-5.5", 0, 0, 0);
        let cost = cost_of(std::slice::from_ref(&bare));
        assert_eq!((cost.micro_usd, cost.source), (None, CostSource::Unknown));
        let told = UsageSample { cost_micro_usd: Some(12), ..used("other", 1, 0, 0) };
        assert_eq!(cost_of(&[told.clone(), bare.clone()]).micro_usd, None, "one model is unknown");
        assert_eq!(cost_of(&[told, used("other", 0, 0, 0)]).micro_usd, Some(12));
        let free = UsageSample { cost_micro_usd: Some(0), ..bare };
        assert_eq!(cost_of(&[free]).source, CostSource::Reported, "nothing that is said is known");
    }

    #[test]
    fn cost_beyond_exact_numbers_is_unknown() {
        let half = UsageSample { cost_micro_usd: Some(MAX_FIGURE), ..used("m", 1, 0, 0) };
        assert_eq!(cost_of(std::slice::from_ref(&half)).micro_usd, Some(MAX_FIGURE));
        let both = cost_of(&[half.clone(), half]);
        assert_eq!((both.micro_usd, both.models[0].cost_micro_usd), (None, None));
    }

    #[test]
    fn a_projects_own_price_comes_first() {
        let price =
            ModelPrice { input: 1_000_000, cache_read: Some(0), cache_write: None, output: 2_000_000 };
        let prices = BTreeMap::from([("gpt-5.5".to_owned(), price)]);
        let mut ledger = Ledger::default();
        ledger.add(&used("gpt-5.5", 400, 800, 34), &prices);
        assert_eq!(ledger.cost().micro_usd, Some(468));
        assert_eq!(ledger.cost().price_version.as_deref(), Some(OWN_PRICES));
    }
}
