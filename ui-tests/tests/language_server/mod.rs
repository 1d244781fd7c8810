//! The little of the language server protocol that the test needs: requests over the standard streams of a process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running server; ended when dropped.
pub struct Server {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Server {
    /// Starts `rust-analyzer` on a crate.
    pub fn start(root: &Path) -> io::Result<Server> {
        let mut process = Command::new("rust-analyzer")
            .current_dir(root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let missing = || io::Error::other("the process has no standard streams");
        let input = process.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(process.stdout.take().ok_or_else(missing)?);
        let mut server = Server { process, input, output, last_id: 0 };
        let uri = format!("file://{}", root.display());
        server.request(
            "initialize",
            json!({
                "processId": std::process::id(),
                "rootUri": uri,
                "capabilities": { "textDocument": { "hover": { "contentFormat": ["markdown"] } } },
                "initializationOptions": { "checkOnSave": false, "cachePriming": { "enable": false } },
            }),
        )?;
        server.notify("initialized", json!({}))?;
        Ok(server)
    }

    /// Tells the server of an open file.
    pub fn open(&mut self, file: &Path, text: &str) -> io::Result<()> {
        let uri = format!("file://{}", file.display());
        let document = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
    }

    /// Sends a request and waits for its answer. Questions of the server are answered with nothing.
    pub fn request(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.receive()?;
            if message.get("method").is_some() {
                if let Some(asked) = message.get("id") {
                    self.send(&json!({ "jsonrpc": "2.0", "id": asked, "result": null }))?;
                }
            } else if message["id"] == json!(id) {
                return match message.get("error") {
                    Some(error) => Err(io::Error::other(error.to_string())),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    fn notify(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.input.flush()
    }

    fn receive(&mut self) -> io::Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(io::Error::other("the server ended"));
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length:") {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body)?;
        serde_json::from_slice(&body).map_err(io::Error::other)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process holds no state worth an orderly shutdown, and may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
