//! Automatic retries: how many there are and how many are spent. The number shown and the number
//! enforced come from [`Budgets::of`] alone.

use crate::{contract, names};

/// Rejections in review that are retried by themselves, unless said otherwise.
pub const DEFAULT_REVIEW: u32 = 2;
/// Conflict fixes that are tried by themselves, unless said otherwise.
pub const DEFAULT_MERGE_FIX: u32 = 1;
/// Restarts of a failed agent, unless said otherwise.
pub const DEFAULT_EXECUTION: u32 = 2;

names! {
    /// What is limited.
    pub enum BudgetKind {
        /// Rejections in review.
        Review = "review",
        /// Conflict fixes.
        MergeFix = "merge_fix",
        /// Restarts of an agent and follow-ups after a refused guard.
        Execution = "execution",
    }
}

contract! {
    /// One budget.
    #[derive(Copy, Eq)]
    pub struct Budget {
        /// Used since the last reset.
        pub used: u32,
        /// How many there are.
        pub limit: u32,
    }

    /// A task's budgets.
    #[derive(Copy, Eq)]
    pub struct Budgets {
        /// Rejections in review.
        pub review: Budget,
        /// Conflict fixes.
        pub merge_fix: Budget,
        /// Restarts of an agent.
        pub execution: Budget,
    }
}

/// The limits in force for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Rejections in review.
    pub review: u32,
    /// Conflict fixes.
    pub merge_fix: u32,
    /// Restarts of an agent.
    pub execution: u32,
}

/// What was spent since the last boundary, counted from the task's rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Transitions out of review with `rejection`.
    pub review: u32,
    /// Entries into merge_failed.
    pub merge_fix: u32,
    /// Restarts and follow-ups.
    pub execution: u32,
}

impl Budget {
    /// Whether one more failure is retried. Asked before that failure is written.
    #[must_use]
    pub const fn allows(self) -> bool {
        self.used < self.limit
    }
}

impl Budgets {
    /// The budgets of a task.
    #[must_use]
    pub const fn of(limits: Limits, spent: Spent) -> Self {
        Self {
            review: Budget { used: spent.review, limit: limits.review },
            merge_fix: Budget { used: spent.merge_fix, limit: limits.merge_fix },
            execution: Budget { used: spent.execution, limit: limits.execution },
        }
    }

    /// One of them.
    #[must_use]
    pub const fn get(self, kind: BudgetKind) -> Budget {
        match kind {
            BudgetKind::Review => self.review,
            BudgetKind::MergeFix => self.merge_fix,
            BudgetKind::Execution => self.execution,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn review_two_means_two_retries_and_three_reviews() {
        let limits = Limits { review: 2, merge_fix: 1, execution: 2 };
        let allowed =
            (0..4).map(|n| Budgets::of(limits, Spent { review: n, ..Spent::default() }).review.allows());
        assert_eq!(allowed.collect::<Vec<_>>(), [true, true, false, false]);
    }
}
