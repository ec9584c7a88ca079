//! Misbehaves on request, chosen by the header `x-hostile`: what a host has to survive.
//!
//! `grow` takes memory until it is refused, then traps; `spin` never returns; `trap`
//! traps; `recurse` overflows the stack; `huge` answers with a reason of 100 MB.
//! Without the header it abstains.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "fetch-pre-hook",
    generate_all,
});

use std::hint::black_box;

use exports::seam::hooks::fetch_pre::{Context, Guest, Request, Verdict};

const HUGE: usize = 100_000_000;
const STEP: usize = 1 << 20;

struct Hostile;

impl Guest for Hostile {
    fn pre(_cx: &Context, input: &Request) -> Result<Verdict, String> {
        let behaviour = input.header("x-hostile").into_iter().next();
        match behaviour.as_deref() {
            None => Ok(Verdict::Abstain),
            Some("grow") => grow(),
            Some("spin") => spin(),
            Some("trap") => trap(),
            Some("recurse") => Ok(Verdict::Deny(Some(recurse(0).to_string()))),
            Some("huge") => Ok(Verdict::Deny(Some("x".repeat(HUGE)))),
            Some(other) => Err(format!(
                "x-hostile: {other} is not one of grow, spin, trap, recurse, huge"
            )),
        }
    }
}

fn grow() -> ! {
    loop {
        let mut block: Vec<u8> = Vec::new();
        if block.try_reserve_exact(STEP).is_err() {
            trap();
        }
        block.resize(STEP, 1);
        black_box(block).leak();
    }
}

fn spin() -> ! {
    loop {
        black_box(());
    }
}

fn trap() -> ! {
    std::process::abort()
}

/// Every level needs the result of the one below, so no loop can stand for it.
fn recurse(level: u64) -> u64 {
    let frame = black_box([level; 16]);
    if level == u64::MAX {
        0
    } else {
        recurse(level + 1) ^ black_box(frame)[0]
    }
}

export!(Hostile);
