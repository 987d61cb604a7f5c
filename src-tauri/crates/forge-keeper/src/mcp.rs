//! `forge-keeper mcp`: the Model Context Protocol's server of a run, as its agent starts it beside itself.
//!
//! Each line of standard input is a call of the run. It goes to the keeper's socket as it is, and from there to the
//! engine; what comes back is a line of standard output. What the lines say is for agent and engine to know. While no
//! engine is there, calls wait.

use std::{ffi::OsString, io, path::Path};

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::AsyncWriteExt as _;
use tokio_util::{
    bytes::Bytes,
    codec::{FramedRead, LinesCodec, LinesCodecError},
};

use crate::{
    client::{connect, greet, is_absent},
    stdio::{stdin, stdout},
    tools::{MAX_CALL, SECRET_VARIABLE, Secret},
    wire::{Ask, Frame, Refusal, Tell, bytes_at, receive, receive_message},
};

/// Carries the calls of the run whose secret is in the environment, to the keeper in `root`. Returns when standard input
/// has ended and every call was answered, and when the run ends.
///
/// # Errors
/// When the keeper is not there or knows no such run, and when a call is too long.
pub async fn carry(root: &Path, environment: impl Fn(&str) -> Option<OsString>) -> io::Result<()> {
    let secret = environment(SECRET_VARIABLE).and_then(|secret| secret.into_string().ok());
    let secret = Secret(secret.ok_or_else(|| io::Error::other(format!("{SECRET_VARIABLE} is not set")))?);
    let no_run = || io::Error::other("the run of this program has ended");
    let stream = connect(root).await.map_err(|error| if is_absent(&error) { no_run() } else { error })?;
    let mut wire = greet(Box::new(stream), 0, Some(&Ask::Call { secret })).await?;
    match receive_message(&mut wire).await? {
        Tell::Done => {}
        Tell::Refused(Refusal::Unknown) => return Err(no_run()),
        Tell::Refused(refusal) => return Err(io::Error::other(refusal)),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    let (mut to_keeper, mut from_keeper) = wire.split();
    let mut lines = FramedRead::new(stdin()?, LinesCodec::new_with_max_length(MAX_CALL));
    let (mut out, mut open, mut is_over) = (stdout()?, 0_u64, false);
    while !is_over || open > 0 {
        tokio::select! {
            line = lines.next(), if !is_over => match line {
                Some(Ok(line)) if line.trim().is_empty() => {}
                Some(Ok(line)) => {
                    to_keeper.send(bytes_at(0, line.as_bytes())).await?;
                    open += 1;
                }
                Some(Err(error)) => return Err(not_read(error)),
                None => is_over = true,
            },
            frame = receive::<Tell>(&mut from_keeper) => match frame? {
                Some(Frame::Bytes { bytes, .. }) => {
                    open = open.saturating_sub(1);
                    print(&mut out, bytes).await?;
                }
                Some(Frame::Message(_)) => {}
                None => return Ok(()),
            },
        }
    }
    Ok(())
}

/// Prints an answer; there is none to a notification.
async fn print(out: &mut (impl tokio::io::AsyncWrite + Unpin), answer: Bytes) -> io::Result<()> {
    if answer.is_empty() {
        return Ok(());
    }
    out.write_all(&answer).await?;
    out.write_all(b"\n").await?;
    out.flush().await
}

fn not_read(error: LinesCodecError) -> io::Error {
    match error {
        LinesCodecError::MaxLineLengthExceeded => {
            io::Error::other(format!("a call is longer than {} MiB", MAX_CALL / (1024 * 1024)))
        }
        LinesCodecError::Io(error) => error,
    }
}
