//! `forge demo`.
use std::{path::PathBuf, sync::Arc};

use forge_engine::Observer;

use crate::{Answer, error::CliError};

pub(crate) async fn run(
    _: Option<PathBuf>,
    _: bool,
    _: Option<Arc<dyn Observer>>,
) -> Result<Answer, CliError> {
    Ok(Answer::new(serde_json::Value::Null, String::new()))
}
