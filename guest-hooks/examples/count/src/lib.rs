//! Counts its own calls in memory and says the number. With a fresh instance per call
//! it never says anything but `calls=1`.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "fetch-pre-hook",
    generate_all,
});

use std::sync::atomic::{AtomicU64, Ordering};

use exports::seam::hooks::fetch_pre::{Context, Guest, Request, Verdict};

static CALLS: AtomicU64 = AtomicU64::new(0);

struct Count;

impl Guest for Count {
    fn pre(_cx: &Context, _input: &Request) -> Result<Verdict, String> {
        let calls = CALLS.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Verdict::Allow(Some(format!("calls={calls}"))))
    }
}

export!(Count);
