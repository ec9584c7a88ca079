// What exists in a guest. Nothing else is loaded, so nothing else is there.
"use strict";
(({ core, primordials, internals }) => {
  const { DateNow, ObjectDefineProperty, ObjectGetOwnPropertyDescriptor, ObjectPrototypeIsPrototypeOf, TypeError, uncurryThis, Uint8Array, StringPrototypeSlice, NumberPrototypeToString, TypedArrayPrototypeGetByteLength } =
    primordials;
  const { op_seam_now, op_seam_random } = core.ops;
  const { seam } = internals;
  const load = (name) => core.loadExtScript(`ext:deno_web/${name}.js`);

  const abort = load("03_abort_signal");
  const base64 = load("05_base64");
  const { DOMException, QuotaExceededError } = load("01_dom_exception");
  const encoding = load("08_text_encoding");
  const events = load("02_event");
  const streams = load("06_streams");
  const timers = load("02_timers");
  const url = load("00_url");
  const { URLPattern } = load("01_urlpattern");

  // An exception in an event listener has nowhere to go but to the end of the script.
  events.saveGlobalThisReference({ __proto__: null, dispatchEvent: () => true });

  // How web objects look in the console: pairs of label and value, or null.
  const getter = (Class, key) => uncurryThis(ObjectGetOwnPropertyDescriptor(Class.prototype, key).get);
  const href = getter(url.URL, "href");
  const paramsText = uncurryThis(url.URLSearchParams.prototype.toString);
  seam.describe = (value) => {
    if (seam.isHeaders(value)) {
      const flat = seam.list();
      const view = seam.headersView(value);
      for (let i = 0; i < view.length; i++) {
        seam.push(flat, view[i][0]);
        seam.push(flat, view[i][1]);
      }
      return flat;
    }
    if (seam.isRequest(value)) {
      const { headers, method, url } = seam.requestState(value);
      return ["method", method, "url", url, "headers", headers];
    }
    if (seam.isResponse(value)) {
      return seam.describeResponse(value);
    }
    if (seam.isBlob(value)) {
      const size = TypedArrayPrototypeGetByteLength(seam.blobBytes(value));
      return ["size", size];
    }
    try {
      if (ObjectPrototypeIsPrototypeOf(url.URL.prototype, value)) {
        return ["href", href(value)];
      }
      if (ObjectPrototypeIsPrototypeOf(url.URLSearchParams.prototype, value)) {
        return ["text", paramsText(value)];
      }
    } catch {
      // It only claims to be one.
    }
    return null;
  };

  const performance = {
    now() {
      return op_seam_now();
    },
    get timeOrigin() {
      return DateNow() - op_seam_now();
    },
    toJSON() {
      return { now: op_seam_now() };
    },
  };

  const MAX_RANDOM = 65536;

  function hex(bytes, from, to) {
    let text = "";
    for (let i = from; i < to; i++) {
      text += StringPrototypeSlice(NumberPrototypeToString(bytes[i] + 256, 16), 1);
    }
    return text;
  }

  const crypto = {
    getRandomValues(array) {
      const tag = primordials.TypedArrayPrototypeGetSymbolToStringTag(array);
      if (tag === undefined || tag === "Float16Array" || tag === "Float32Array" || tag === "Float64Array") {
        throw new TypeError("crypto.getRandomValues needs an array of integers");
      }
      const bytes = seam.bytesOf(array);
      if (TypedArrayPrototypeGetByteLength(bytes) > MAX_RANDOM) {
        throw new DOMException(`crypto.getRandomValues gives at most ${MAX_RANDOM} bytes`, "QuotaExceededError");
      }
      op_seam_random(bytes);
      return array;
    },
    randomUUID() {
      const bytes = new Uint8Array(16);
      op_seam_random(bytes);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      return `${hex(bytes, 0, 4)}-${hex(bytes, 4, 6)}-${hex(bytes, 6, 8)}-${hex(bytes, 8, 10)}-${hex(bytes, 10, 16)}`;
    },
  };

  const globals = {
    __proto__: null,
    AbortController: abort.AbortController,
    AbortSignal: abort.AbortSignal,
    Blob: seam.Blob,
    ByteLengthQueuingStrategy: streams.ByteLengthQueuingStrategy,
    CountQueuingStrategy: streams.CountQueuingStrategy,
    CustomEvent: events.CustomEvent,
    DOMException,
    Event: events.Event,
    EventTarget: events.EventTarget,
    File: seam.File,
    FormData: seam.FormData,
    Headers: seam.Headers,
    ReadableByteStreamController: streams.ReadableByteStreamController,
    ReadableStream: streams.ReadableStream,
    ReadableStreamBYOBReader: streams.ReadableStreamBYOBReader,
    ReadableStreamBYOBRequest: streams.ReadableStreamBYOBRequest,
    ReadableStreamDefaultController: streams.ReadableStreamDefaultController,
    ReadableStreamDefaultReader: streams.ReadableStreamDefaultReader,
    Request: seam.Request,
    Response: seam.Response,
    TextDecoder: encoding.TextDecoder,
    TextDecoderStream: encoding.TextDecoderStream,
    TextEncoder: encoding.TextEncoder,
    TextEncoderStream: encoding.TextEncoderStream,
    TransformStream: streams.TransformStream,
    TransformStreamDefaultController: streams.TransformStreamDefaultController,
    URL: url.URL,
    URLPattern,
    URLSearchParams: url.URLSearchParams,
    WritableStream: streams.WritableStream,
    WritableStreamDefaultController: streams.WritableStreamDefaultController,
    WritableStreamDefaultWriter: streams.WritableStreamDefaultWriter,
    atob: base64.atob,
    btoa: base64.btoa,
    clearInterval: timers.clearInterval,
    clearTimeout: timers.clearTimeout,
    console: seam.console,
    crypto,
    fetch: seam.fetch,
    performance,
    queueMicrotask,
    setInterval: timers.setInterval,
    setTimeout: timers.setTimeout,
    structuredClone: seam.structuredClone,
  };
  for (const name in globals) {
    ObjectDefineProperty(globalThis, name, {
      __proto__: null,
      value: globals[name],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  if (QuotaExceededError !== undefined) {
    ObjectDefineProperty(globalThis, "QuotaExceededError", {
      __proto__: null,
      value: QuotaExceededError,
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }

  // What the host takes out of the realm before a guest runs: see `guest.rs`.
  globalThis.__seam = { __proto__: null, inspect: seam.inspect };
})(globalThis.__bootstrap);
