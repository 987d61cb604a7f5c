//! Answers that are files: what an operation gives in pages, in one piece.

use crate::{Call as _, operations::CostCsv};

/// The fields by which an operation is asked for one page; a file is whole.
pub const PAGING: [&str; 2] = ["limit", "cursor"];

/// An operation whose pages are served as one file.
#[derive(Debug, Clone, Copy)]
pub struct FileRoute {
    /// Where, below the base of all routes.
    pub path: &'static str,
    /// The operation; its fields but for those of [`PAGING`] are asked for in the query.
    pub operation: &'static str,
    /// What the file is.
    pub summary: &'static str,
    /// Its content type.
    pub media_type: &'static str,
    /// What it is saved as.
    pub name: &'static str,
}

/// The cost ledger.
pub const COSTS_CSV: FileRoute = FileRoute {
    path: "/costs.csv",
    operation: CostCsv::NAME,
    summary: "What every run cost, as comma-separated values.",
    media_type: "text/csv; charset=utf-8",
    name: "forge-costs.csv",
};

/// All of them.
pub const FILE_ROUTES: [&FileRoute; 1] = [&COSTS_CSV];
