//! A server that says what it is told to, down to answers that break off.

use std::{
    future::pending,
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// How much of an answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Whole,
    /// Half of it, then the connection ends.
    Cut,
    /// Half of it, then silence.
    Stuck,
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
    pub manner: Manner,
}

impl Reply {
    pub fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into(), manner: Manner::Whole }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, body.to_string()).with("content-type", "application/json")
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// It ends with its value.
pub struct Server {
    pub address: String,
    requests: Arc<Mutex<Vec<Request>>>,
    listening: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl Server {
    pub async fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, answer) = (seen.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = BufReader::new(stream);
                    let request = read(&mut stream).await;
                    seen.lock().unwrap().push(request.clone());
                    write(stream.into_inner(), answer(&request)).await;
                });
            }
        });
        Self { address, requests, listening }
    }

    /// What came since the last time.
    pub fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Request {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines[0].split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let body = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).unwrap() };
    Request { method, target, headers, body }
}

async fn write(mut stream: TcpStream, reply: Reply) {
    let mut head = format!(
        "HTTP/1.1 {} Said\r\nconnection: close\r\ncontent-length: {}\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let sent = match reply.manner {
        Manner::Whole => reply.body.as_str(),
        Manner::Cut | Manner::Stuck => &reply.body[..reply.body.len() / 2],
    };
    // A client that left is not the server's failure.
    let _ = stream.write_all(format!("{head}{sent}").as_bytes()).await;
    let _ = stream.flush().await;
    if reply.manner == Manner::Stuck {
        pending::<()>().await;
    }
}
