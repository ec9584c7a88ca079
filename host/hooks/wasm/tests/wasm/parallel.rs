//! Many calls at once, and calls that are given up.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use seam_contract::{Caller, Cx, Executor, Operation, OperationKind, Output, Refusal, Stack, document::Bodies};
use seam_hook_wasm::{Component, INSTANCES};
use tokio::sync::Semaphore;

use crate::support::{LIMIT, answer, engine, get, load_into, refused};

/// Answers each call when it gets a permit, and tells how many wait.
struct Gate {
    arrived: Semaphore,
    open: Semaphore,
}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            arrived: Semaphore::new(0),
            open: Semaphore::new(0),
        })
    }

    /// Waits until `count` more calls have arrived.
    async fn arrivals(&self, count: u32) {
        self.arrived.acquire_many(count).await.unwrap().forget();
    }
}

impl Executor for Gate {
    fn execute<'a>(&'a self, _cx: &'a Cx, operation: Operation) -> BoxFuture<'a, Result<Output, Refusal>> {
        Box::pin(async move {
            let Operation::Fetch(request) = operation;
            self.arrived.add_permits(1);
            self.open.acquire().await.unwrap().forget();
            Ok(Output::Fetch(answer(200, request.url().as_str())))
        })
    }
}

fn stack(layers: &[&Component], gate: &Arc<Gate>) -> Arc<Stack> {
    let layers = layers
        .iter()
        .map(|component| component.layer(OperationKind::Fetch, LIMIT, Bodies::Withheld).unwrap())
        .collect();
    Stack::new(OperationKind::Fetch, layers, gate.clone()).unwrap()
}

async fn run(stack: Arc<Stack>) -> Result<Output, Refusal> {
    let caller = Arc::new(Caller::new("e"));
    stack.run(caller, Operation::Fetch(get(&[]))).await
}

/// A call that waits in the executor.
async fn parked(stack: &Arc<Stack>, gate: &Arc<Gate>) -> BoxFuture<'static, Result<Output, Refusal>> {
    let mut call = run(stack.clone()).boxed();
    while gate.arrived.available_permits() == 0 {
        assert!((&mut call).now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    gate.arrivals(1).await;
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn layers_parked_in_next_hold_nobody() {
    const CALLS: usize = 64;
    let engine = engine();
    let (pass, stamp) = (load_into(&engine, "pass.wasm"), load_into(&engine, "stamp.wasm"));
    let gate = Gate::new();
    let stack = stack(&[&pass, &stamp], &gate);
    let calls: Vec<_> = (0..CALLS).map(|_| tokio::spawn(run(stack.clone()))).collect();
    // Every call is in the executor at once, with two guests parked above it, on two threads.
    gate.arrivals(CALLS as u32).await;
    assert_eq!(engine.alive(), 2 * CALLS as u64);
    gate.open.add_permits(CALLS);
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!(engine.alive(), 0);
}

#[tokio::test]
async fn a_thousand_cancelled_calls_leak_nothing() {
    let engine = engine();
    let pass = load_into(&engine, "pass.wasm");
    let gate = Gate::new();
    let stack = stack(&[&pass], &gate);
    for _ in 0..1000 {
        let call = parked(&stack, &gate).await;
        assert_eq!(engine.alive(), 1);
        drop(call);
        assert_eq!(engine.alive(), 0);
    }
    gate.open.add_permits(1);
    run(stack).await.unwrap();
}

#[tokio::test]
async fn a_running_guest_can_be_given_up() {
    let engine = engine();
    let vectors = load_into(&engine, "vectors.wasm");
    let gate = Gate::new();
    let stack = stack(&[&vectors], &gate);
    let caller = Arc::new(Caller::new("e"));
    let spinning = stack.run(caller, Operation::Fetch(get(&[("x-case-layer", "spin")])));
    let mut spinning = Box::pin(spinning);
    // It yields its thread at the next epoch, or this poll would never come back.
    assert!((&mut spinning).now_or_never().is_none());
    assert_eq!(engine.alive(), 1);
    drop(spinning);
    assert_eq!(engine.alive(), 0);
}

#[tokio::test]
async fn an_empty_pool_is_a_failure_that_passes() {
    let engine = engine();
    let pass = load_into(&engine, "pass.wasm");
    let gate = Gate::new();
    let stack = stack(&[&pass], &gate);
    let mut calls = Vec::new();
    for _ in 0..INSTANCES {
        calls.push(parked(&stack, &gate).await);
    }
    let said = refused(run(stack.clone()).await);
    assert!(said.starts_with("hook-failed: no instance is free"), "{said}");
    calls.clear();
    assert_eq!(engine.alive(), 0);
    gate.open.add_permits(1);
    run(stack).await.unwrap();
}
