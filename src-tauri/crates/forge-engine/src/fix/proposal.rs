//! A proposed fix: writing its row and its export.

use forge_agents::LogReader;
use forge_model::event::EventType;
use forge_model::fix::{FixProposal, FixStatus};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::log::EntryKind;
use forge_reading::patch::PatchRefusal;
use forge_store::table::tasks::TaskRow;
use serde_json::json;

use crate::{
    EngineError, World,
    core::{context::ProjectContext, world::cx::Cx},
    error::Result,
    export,
};

/// Who commits a fix.
pub(crate) const FORGE: (&str, &str) = ("Forge", "forge@localhost");

/// Why a fix does not apply whose task began anew.
pub(crate) const SET_ASIDE: &str = "the work it was drafted for was set aside";

/// Why nothing came of a draft.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undrafted {
    #[error("{agent} has reached its provider's limit")]
    ProviderLimit { agent: String },
    #[error("a cost limit is reached")]
    CostLimit,
    #[error("{file} has {size} bytes; at most {limit} can be shown to an agent")]
    TooLarge { file: String, size: u64, limit: u64 },
    #[error("{file} is not a text file")]
    NoText { file: String },
    #[error("{agent} did not answer: {why}")]
    NoAnswer { agent: String, why: String },
    #[error(transparent)]
    NoPatch(PatchRefusal),
    #[error("the patch does not apply: {reason}")]
    DoesNotApply { reason: String },
    #[error(transparent)]
    Engine(EngineError),
}

/// The end of what a command printed, from its log.
pub(crate) async fn output_of(
    world: &World,
    project: &ProjectId,
    task: &TaskId,
    log_id: &str,
) -> Result<String> {
    let (dir, log_id) = (world.log_dir(project, task), log_id.to_owned());
    let read = tokio::task::spawn_blocking(move || {
        let mut streams = [String::new(), String::new()];
        LogReader::each(&dir, &log_id, |entry| {
            let stream = match entry.kind {
                EntryKind::Stdout => &mut streams[0],
                EntryKind::Stderr => &mut streams[1],
                _ => return,
            };
            stream.push_str(entry.body.get("text").and_then(|text| text.as_str()).unwrap_or_default());
            if stream.len() > 2 * OUTPUT_BYTES {
                keep_end(stream);
            }
        })?;
        streams.iter_mut().for_each(keep_end);
        Ok::<_, forge_agents::LogError>(streams.join("\n"))
    });
    Ok(read.await.map_err(|error| EngineError::io("read a log")(std::io::Error::other(error)))??)
}

/// Writes where a proposal is now.
pub(crate) async fn write_fix(
    cx: &mut Cx<'_>,
    task: &TaskRow,
    fix: &mut FixProposal,
    status: FixStatus,
) -> Result<()> {
    fix.status = status;
    fix.updated_at = cx.now;
    cx.tx.fixes_mut().update(fix).await?;
    let facts = json!({ "fix_id": fix.fix_id, "status": status });
    let event = match status {
        FixStatus::Drafted => EventType::FixDrafted,
        FixStatus::Applied => EventType::FixApplied,
        FixStatus::Verified => EventType::FixVerified,
        FixStatus::RolledBack => EventType::FixRolledBack,
        FixStatus::Rejected => EventType::FixRejected,
        FixStatus::Superseded => EventType::FixSuperseded,
    };
    cx.emit(event, task, &fix.fix_id, &facts).await
}

/// Writes the export: the list, and the patch of a new proposal. The database is the source; what cannot be
/// written holds nobody up.
pub(crate) async fn export_fixes(world: &World, context: &ProjectContext, new: Option<&FixProposal>) {
    let turn = export::export_turn(world, &context.project.id, PROPOSALS);
    let _turn = turn.lock().await;
    let exported = async {
        if let Some(fix) = new {
            let path = format!("{PATCHES}/{}.patch", fix.fix_id);
            export::export(world, context, &path, fix.patch.clone()).await?;
        }
        let all = world.store().read().await?.fixes().of_project(&context.project.id).await?;
        let mut list = json!(all);
        // The patch has a file of its own.
        for fix in list.as_array_mut().into_iter().flatten() {
            fix.as_object_mut().map(|fix| fix.remove("patch"));
        }
        export::export(world, context, PROPOSALS, format!("{list:#}\n")).await
    };
    if let Err(error) = exported.await {
        tracing::warn!(project = %context.project.id, %error, "failed to export the drafted fixes");
    }
}

/// Whether it still waits for somebody's word.
pub(crate) fn is_waiting(fix: &FixProposal) -> bool {
    fix.status == FixStatus::Drafted && fix.applied_commit.is_none()
}

/// Whether it was about to be applied when something cut that short.
pub(crate) fn is_half_applied(fix: &FixProposal) -> bool {
    fix.status == FixStatus::Drafted && fix.applied_commit.is_some()
}

/// Where the export keeps the patches.
const PATCHES: &str = "proposed-fixes";

/// The most of a failing command's output that is read, in bytes of each stream.
const OUTPUT_BYTES: usize = 256 * 1024;

/// The export's list.
const PROPOSALS: &str = "fix-proposals.json";

fn keep_end(text: &mut String) {
    let cut = text.len().saturating_sub(OUTPUT_BYTES);
    let cut = (cut..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.drain(..cut);
}
