// SPDX-License-Identifier: Apache-2.0
// A program that is busy for a while and lets the crate pyroscope tell where. What to say of itself, and how, comes from the
// environment: sdks.py has the table.

use pyroscope::backend::{pprof_backend, BackendConfig, PprofConfig};
use pyroscope::pyroscope::PyroscopeAgentBuilder;
use std::collections::HashMap;
use std::env;
use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: u64 = 2_000_000;

// Without anything of the library in the loops, which would be inlined and on top.
#[inline(never)]
fn burn_most(mut x: u64) -> u64 {
    let mut left = 4 * ROUNDS;
    while left > 0 {
        x = (x ^ (x >> 7)) * 33 + left;
        left -= 1;
    }
    x
}

#[inline(never)]
fn burn_rest(mut x: u64) -> u64 {
    let mut left = ROUNDS;
    while left > 0 {
        x = (x ^ (x >> 7)) * 33 + left;
        left -= 1;
    }
    x
}

fn given(name: &str) -> Option<String> {
    env::var(name).ok().filter(|text| !text.is_empty())
}

// {"name": "value"}, the only one
fn header(text: &str) -> HashMap<String, String> {
    let words: Vec<&str> = text.split('"').collect();
    HashMap::from([(words[1].to_string(), words[3].to_string())])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (address, name) = (env::var("DEMO_ADDRESS")?, env::var("DEMO_NAME")?);
    let seconds: f64 = env::var("DEMO_SECONDS")?.parse()?;
    let backend = pprof_backend(PprofConfig::default(), BackendConfig::default());
    let mut builder = PyroscopeAgentBuilder::new(address, name, 100, "pyroscope-rs", "2.1.5", backend)
        .tags(vec![("region", "eu-west-1"), ("team", "demo")])
        .upload_interval(Duration::from_secs(1));
    if let (Some(user), Some(password)) = (given("DEMO_USER"), given("DEMO_PASSWORD")) {
        builder = builder.basic_auth(user, password);
    }
    if let Some(tenant) = given("DEMO_TENANT") {
        builder = builder.tenant_id(tenant);
    }
    if let Some(text) = given("DEMO_HEADERS") {
        builder = builder.http_headers(header(&text));
    }
    let agent = builder.build()?.start()?;
    let (add, remove) = agent.tag_wrapper();
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut x = 1;
    while Instant::now() < end {
        add("endpoint".into(), "/checkout".into())?;
        x = burn_most(x);
        remove("endpoint".into(), "/checkout".into())?;
        x = burn_rest(x);
    }
    black_box(x);
    agent.stop()?.shutdown();
    Ok(())
}
