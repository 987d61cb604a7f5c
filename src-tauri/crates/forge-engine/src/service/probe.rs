//! Asking a service whether it answers.

use std::{io, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// How long one answer may take.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// A service may listen at either address of this computer.
const ADDRESSES: [&str; 2] = ["127.0.0.1", "::1"];

/// The longest beginning of an answer that is read for its status.
const STATUS_BYTES: usize = 64;

/// Connects to a port of this computer.
pub(super) async fn connect(port: u16) -> io::Result<TcpStream> {
    let mut failed: io::Error = io::ErrorKind::NotFound.into();
    for address in ADDRESSES {
        match tokio::time::timeout(ANSWERS_WITHIN, TcpStream::connect((address, port))).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = error,
            Err(_) => failed = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failed)
}

/// The status with which a GET request is answered.
pub(super) async fn status(port: u16, path: &str) -> io::Result<u16> {
    tokio::time::timeout(ANSWERS_WITHIN, ask(port, path)).await.map_err(|_| io::ErrorKind::TimedOut)?
}

async fn ask(port: u16, path: &str) -> io::Result<u16> {
    let mut stream = connect(port).await?;
    // What follows `#` stays in the browser.
    let path = path.split('#').next().unwrap_or("/");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost:{port}\r\nUser-Agent: forge\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < STATUS_BYTES {
        let mut part = [0; STATUS_BYTES];
        let read = stream.read(&mut part).await?;
        if read == 0 {
            break;
        }
        answer.extend_from_slice(part.get(..read).unwrap_or_default());
    }
    status_in(&answer).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP"))
}

fn status_in(answer: &[u8]) -> Option<u16> {
    let line = String::from_utf8_lossy(answer);
    let rest = line.strip_prefix("HTTP/")?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn status_is_read_from_the_beginning_of_an_answer() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 1024];
            let read = stream.read(&mut request).await.unwrap();
            stream.write_all(b"HTTP/1.1 302 Found\r\n\r\n").await.unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        };
        let (status, request) = tokio::join!(status(port, "/health?full=1#top"), serve);
        assert_eq!(status.unwrap(), 302);
        assert!(request.starts_with("GET /health?full=1 HTTP/1.1\r\n"), "{request}");
        drop(listener);
        assert!(super::status(port, "/").await.is_err());
    }

    #[test]
    fn what_is_no_http_has_no_status() {
        assert_eq!(status_in(b"HTTP/1.0 200 OK\r\n"), Some(200));
        assert_eq!(status_in(b"SSH-2.0-x\r\n"), None);
        assert_eq!(status_in(b""), None);
    }
}
