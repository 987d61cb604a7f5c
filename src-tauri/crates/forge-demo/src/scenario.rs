//! The tasks of the demo project: data that tells a story when the scripted agent works on it.
//!
//! But for the two that are made to conflict, each task keeps to files of its own, so that all may run at
//! once and merge in any order.

use crate::sample_repo::CHECK;

/// How a task's story goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Story {
    /// Straight to done.
    Done,
    /// The first attempt fails its check, the second mends it.
    FailThenFix,
    /// It fails until its budget is spent.
    Blocked,
    /// To done with many steps, to be watched.
    Lively,
    /// Its merge conflicts with a task of the story [`Story::ConflictFirst`]; the second attempt resolves it.
    Conflict,
    /// Straight to done, and in the way of [`Story::Conflict`], which waits until this one is merged.
    ConflictFirst,
    /// Three entries race: one fails its check, and of the other two the cheaper one wins.
    Race,
}

/// A task of the demo project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoTask {
    /// How it goes.
    pub story: Story,
    /// Its title.
    pub title: &'static str,
    /// Its description, Markdown, as a person would write it.
    pub description: &'static str,
    /// What the scripted agent does for it: the blocks of a script.
    pub script: &'static str,
    /// The checks it must pass.
    pub checks: &'static [&'static str],
    /// The names of the entries that race for it; none when one agent works.
    pub race: &'static [&'static str],
}

/// The tasks, in the order in which they stand on the board.
#[must_use]
pub const fn tasks() -> [DemoTask; 7] {
    [
        DemoTask {
            story: Story::Done,
            title: "Greet people in French",
            description: include_str!("tasks/french.md"),
            script: include_str!("tasks/french.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::FailThenFix,
            title: "Say goodbye, too",
            description: include_str!("tasks/goodbye.md"),
            script: include_str!("tasks/goodbye.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::Blocked,
            title: "Count the letters of a name",
            description: include_str!("tasks/letters.md"),
            script: include_str!("tasks/letters.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::Lively,
            title: "Greet by the time of day",
            description: include_str!("tasks/daytime.md"),
            script: include_str!("tasks/daytime.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::ConflictFirst,
            title: "Welcome newcomers",
            description: include_str!("tasks/newcomers.md"),
            script: include_str!("tasks/newcomers.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::Conflict,
            title: "Promise to stay small",
            description: include_str!("tasks/promise.md"),
            script: include_str!("tasks/promise.script"),
            checks: &[CHECK],
            race: &[],
        },
        DemoTask {
            story: Story::Race,
            title: "Greet everybody on a list",
            description: include_str!("tasks/list.md"),
            script: include_str!("tasks/list.script"),
            checks: &[CHECK],
            race: &["careful", "quick", "hasty"],
        },
    ]
}

/// What the scripted agent does for a task of this title; none for others than those of the demo.
#[must_use]
pub fn script_of(title: &str) -> Option<&'static str> {
    tasks().into_iter().find(|task| task.title == title).map(|task| task.script)
}
