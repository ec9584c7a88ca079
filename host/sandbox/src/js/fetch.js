// fetch: turns what the guest asks for into plain values, hands them to the host, and
// makes a Response or an error of what comes back. Nothing is decided here.
"use strict";
(({ core, primordials, internals }) => {
  const { Error, ObjectDefineProperty, TypeError } = primordials;
  const { op_seam_abort, op_seam_fetch, op_seam_ticket } = core.ops;
  const { answered, hidden, isRedirect, headerFields, list, push, Request, requestState, required } = internals.seam;
  const abortSignal = core.loadExtScript("ext:deno_web/03_abort_signal.js");

  function member(error, key, value) {
    ObjectDefineProperty(error, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  }

  // Somebody decided against the operation.
  class Denied extends Error {
    constructor(refusal) {
      super(refusal.message);
      member(this, "kind", refusal.kind);
      member(this, "by", refusal.by);
      member(this, "reason", refusal.reason);
    }
  }
  hidden(Denied.prototype, "name", "Denied");

  // A hook could not do its work; nobody decided.
  class HookFailed extends Error {
    constructor(refusal) {
      super(refusal.message);
      member(this, "kind", refusal.kind);
      member(this, "by", refusal.by);
      member(this, "reason", refusal.reason);
    }
  }
  hidden(HookFailed.prototype, "name", "HookFailed");

  function refused(refusal) {
    if (refusal.kind === "denied") {
      return new Denied(refusal);
    }
    if (refusal.kind === "hook-failed") {
      return new HookFailed(refusal);
    }
    const error = new TypeError(refusal.message);
    member(error, "kind", refusal.kind);
    return error;
  }

  async function send(request) {
    const { body, headers, method, redirect, signal, url } = requestState(request);
    if (signal.aborted) {
      throw signal.reason;
    }
    // The content first: reading a guest's stream runs the guest's code.
    const bytes = body === null ? null : await body.consume();
    if (signal.aborted) {
      throw signal.reason;
    }
    const fields = headerFields(headers);
    const flat = list();
    for (let i = 0; i < fields.length; i++) {
      push(flat, fields[i][0]);
      push(flat, fields[i][1]);
    }
    const ticket = op_seam_ticket();
    const abort = () => op_seam_abort(ticket);
    signal[abortSignal.add](abort);
    let answer;
    try {
      answer = await op_seam_fetch(ticket, method, url, flat, bytes);
    } finally {
      signal[abortSignal.remove](abort);
    }
    if (signal.aborted) {
      throw signal.reason;
    }
    if (answer.refusal !== undefined) {
      throw refused(answer.refusal);
    }
    if (redirect === "error" && isRedirect(answer.status)) {
      throw new TypeError("fetch failed (the answer is a redirect, and redirect is error)");
    }
    return answered(answer, method);
  }

  // As a method, so that it can't be called with `new`.
  const { fetch } = {
    async fetch(input, init = undefined) {
      required(arguments.length, 1, "fetch");
      return await send(new Request(input, init));
    },
  };

  internals.seam.fetch = fetch;
})(globalThis.__bootstrap);
