//! What writes cost a client of a running bridge.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::{Value, json};
use testkit::client::WebSocketClient;

/// Calls in one batch; no more may stand in one.
const BATCH: usize = 1000;

/// Time from the request to the reply of a batch that comments so many addresses.
pub fn comment_batch(
    client: &mut WebSocketClient,
    entries: &[String],
    mode: &str,
) -> Result<Duration> {
    let one = |(index, entry): (usize, &String)| -> Value {
        let text = format!("comment {index}");
        let resource =
            json!({"address": format!("{entry}+{index:x}"), "type": "eol", "text": text});
        let arguments = json!({"resource": resource});
        json!({"id": index.to_string(), "method": "comment.upsert", "arguments": arguments})
    };
    let items: Vec<Value> = entries.iter().cycle().take(BATCH).enumerate().map(one).collect();
    let request = json!({"items": items, "transaction_mode": mode});
    let began = Instant::now();
    client.call("batch.execute", request)?;
    Ok(began.elapsed())
}
