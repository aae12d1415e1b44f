//! The computation behind every preview: month by month, cohort by cohort, in IEEE doubles and in a fixed order.
//!
//! The order of the operations is part of the definition: results are compared as bit patterns, with the study's and
//! between the strategies. Do not rearrange sums here, however equal they look.

use sha2::{Digest, Sha256};

use super::model::{self, Inputs};

/// The derived numbers of one preview.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Answer {
    /// Monthly recurring revenue of the last month, summed over the plans.
    pub ending_mrr: f64,
    /// Cash after the last month.
    pub ending_cash: f64,
    /// Revenue of all months and plans.
    pub lifetime_revenue: f64,
    /// First month, from 1, in which cash is below zero; −1 where there is none.
    pub runway_month: i32,
}

impl Answer {
    /// Whether both answers are the same to the last bit.
    pub fn same_bits(&self, other: &Self) -> bool {
        self.canonical_bytes() == other.canonical_bytes()
    }

    /// A digest of the answer that stands in the archive.
    pub fn digest(&self) -> AnswerDigest {
        let hash = Sha256::digest(self.canonical_bytes());
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash[..16]);
        AnswerDigest(digest)
    }

    /// Ending MRR, ending cash, lifetime revenue (IEEE bits) and runway month (two's complement), big-endian.
    fn canonical_bytes(&self) -> [u8; 28] {
        let mut bytes = [0; 28];
        bytes[..8].copy_from_slice(&self.ending_mrr.to_bits().to_be_bytes());
        bytes[8..16].copy_from_slice(&self.ending_cash.to_bits().to_be_bytes());
        bytes[16..24].copy_from_slice(&self.lifetime_revenue.to_bits().to_be_bytes());
        bytes[24..].copy_from_slice(&self.runway_month.to_be_bytes());
        bytes
    }
}

/// The first 16 bytes of the SHA-256 of an answer's canonical bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnswerDigest([u8; 16]);

impl std::fmt::Display for AnswerDigest {
    /// 32 lower-case hexadecimal digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The study's projection (its section 2.2). Work is proportional to `plans · months²`.
pub(super) fn project(inputs: &Inputs, plans: u32, months: u32) -> Answer {
    let values = inputs.values();
    let mut revenue = Revenue::default();
    let mut cohorts = Vec::with_capacity(months as usize);
    for plan in 0..plans as usize {
        let base = model::plan_base(plan);
        let [price, growth, churn, subs] = [values[base], values[base + 1], values[base + 2], values[base + 3]];
        cohorts.clear();
        revenue.add_plan(&mut cohorts, months, price, growth, churn, subs);
    }
    let (ending_cash, runway_month) = burn_down(
        values[model::STARTING_CASH],
        values[model::FIXED_BURN],
        revenue.lifetime,
        months,
    );
    Answer {
        ending_mrr: revenue.ending_mrr,
        ending_cash,
        lifetime_revenue: revenue.lifetime,
        runway_month,
    }
}

#[derive(Default)]
struct Revenue {
    lifetime: f64,
    ending_mrr: f64,
}

impl Revenue {
    fn add_plan(&mut self, cohorts: &mut Vec<f64>, months: u32, price: f64, growth: f64, churn: f64, mut subs: f64) {
        let mut mrr = 0.0;
        for _ in 0..months {
            let intake = subs * growth;
            cohorts.push(intake);
            subs += intake;
            let mut active = 0.0;
            for cohort in cohorts.iter_mut() {
                *cohort *= 1.0 - churn;
                active += *cohort;
            }
            mrr = active * price;
            self.lifetime += mrr;
        }
        self.ending_mrr += mrr;
    }
}

fn burn_down(starting_cash: f64, fixed_burn: f64, lifetime: f64, months: u32) -> (f64, i32) {
    let mut cash = starting_cash;
    let mut runway_month = -1;
    for month in 1..=months {
        cash += lifetime / f64::from(months) - fixed_burn;
        if runway_month < 0 && cash < 0.0 {
            runway_month = i32::try_from(month).unwrap_or(i32::MAX);
        }
    }
    (cash, runway_month)
}
