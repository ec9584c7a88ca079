// Request. Its URL is parsed here for what the guest can see; the host parses it again,
// with the parser that policies and the connection use.
"use strict";
(({ core, primordials, internals }) => {
  const { StringPrototypeIncludes, StringPrototypeToUpperCase, TypeError, uncurryThis, ObjectGetOwnPropertyDescriptor } =
    primordials;
  const { addHeader, Body, byteString, dictionary, extractBody, headerOf, Headers, isObject, mixinBody, required, string, usvString, webInterface } =
    internals.seam;
  const { URL } = core.loadExtScript("ext:deno_web/00_url.js");
  const { AbortSignalPrototype, createDependentAbortSignal, newSignal } = core.loadExtScript(
    "ext:deno_web/03_abort_signal.js",
  );
  const { createProxy } = core.loadExtScript("ext:deno_web/06_streams.js");
  const getter = (key) => uncurryThis(ObjectGetOwnPropertyDescriptor(URL.prototype, key).get);
  const href = getter("href");
  const username = getter("username");
  const password = getter("password");

  const NORMALIZED = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
  const FORBIDDEN = ["CONNECT", "TRACE", "TRACK"];
  const CHOICES = {
    __proto__: null,
    cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
    credentials: ["same-origin", "omit", "include"],
    mode: ["cors", "navigate", "same-origin", "no-cors"],
    redirect: ["follow", "error", "manual"],
    referrerPolicy: [
      "",
      "no-referrer",
      "no-referrer-when-downgrade",
      "same-origin",
      "origin",
      "strict-origin",
      "origin-when-cross-origin",
      "strict-origin-when-cross-origin",
      "unsafe-url",
    ],
  };

  function includes(items, value) {
    for (let i = 0; i < items.length; i++) {
      if (items[i] === value) {
        return true;
      }
    }
    return false;
  }

  function method(value) {
    const text = byteString(value, "the method");
    let token = text.length > 0;
    for (let i = 0; i < text.length && token; i++) {
      const c = text[i];
      token = (c >= "0" && c <= "9") || (c >= "A" && c <= "Z") || (c >= "a" && c <= "z") ||
        StringPrototypeIncludes("!#$%&'*+-.^_`|~", c);
    }
    if (!token) {
      throw new TypeError(`"${primordials.StringPrototypeSlice(text, 0, 80)}" is not an HTTP method`);
    }
    const upper = StringPrototypeToUpperCase(text);
    if (includes(FORBIDDEN, upper)) {
      throw new TypeError(`the method ${upper} is not allowed`);
    }
    return includes(NORMALIZED, upper) ? upper : text;
  }

  function choice(init, key, otherwise) {
    const value = init[key];
    if (value === undefined) {
      return otherwise;
    }
    const text = string(value);
    if (!includes(CHOICES[key], text)) {
      throw new TypeError(`"${primordials.StringPrototypeSlice(text, 0, 80)}" is not a value for ${key}`);
    }
    return text;
  }

  let stateOf;
  let isRequest;

  class Request {
    #state;
    #body;
    #headers;
    #signal;

    constructor(input, init = undefined) {
      required(arguments.length, 1, "a Request");
      const from = isObject(input) && #state in input ? input : null;
      const state = { __proto__: null };
      if (from === null) {
        const text = usvString(input);
        let url;
        try {
          url = new URL(text);
        } catch {
          throw new TypeError("the url does not parse; it must be absolute");
        }
        if (username(url) !== "" || password(url) !== "") {
          throw new TypeError("the url carries a user name or password; send credentials in a header");
        }
        state.url = href(url);
      } else {
        state.url = from.#state.url;
      }
      const options = dictionary(init, "the options of a request");
      const old = from === null ? null : from.#state;
      state.cache = choice(options, "cache", old?.cache ?? "default");
      state.credentials = choice(options, "credentials", old?.credentials ?? "same-origin");
      state.mode = choice(options, "mode", old?.mode ?? "cors");
      state.redirect = choice(options, "redirect", old?.redirect ?? "follow");
      state.referrerPolicy = choice(options, "referrerPolicy", old?.referrerPolicy ?? "");
      const { duplex, headers, integrity, keepalive, method: verb, referrer, signal } = options;
      if (duplex !== undefined && string(duplex) !== "half") {
        throw new TypeError("duplex can only be half");
      }
      state.integrity = integrity === undefined ? old?.integrity ?? "" : usvString(integrity);
      state.keepalive = keepalive === undefined ? old?.keepalive ?? false : !!keepalive;
      state.method = verb === undefined ? old?.method ?? "GET" : method(verb);
      state.referrer = referrer === undefined ? old?.referrer ?? "about:client" : usvString(referrer);

      let given = from === null ? undefined : from.#signal;
      if (signal !== undefined) {
        if (signal !== null && !primordials.ObjectPrototypeIsPrototypeOf(AbortSignalPrototype, signal)) {
          throw new TypeError("the signal is not an AbortSignal");
        }
        given = signal;
      }
      this.#signal = given === undefined || given === null
        ? newSignal()
        : createDependentAbortSignal([given], "a Request");

      this.#headers = headers === undefined
        ? new Headers(from === null ? undefined : from.#headers)
        : new Headers(headers);

      const { body } = options;
      let own = null;
      if (body !== undefined && body !== null) {
        const extracted = extractBody(body);
        own = extracted.body;
        if (extracted.type !== null && headerOf(this.#headers, "content-type") === null) {
          addHeader(this.#headers, "content-type", extracted.type);
        }
      } else if (body === undefined && from !== null && from.#body !== null) {
        if (from.#body.disturbed || from.#body.locked) {
          throw new TypeError("the body of the request has been used already, or is being read");
        }
        own = from.#body;
      }
      if (own !== null && (state.method === "GET" || state.method === "HEAD")) {
        throw new TypeError(`a ${state.method} request cannot have a body`);
      }
      if (own !== null && from !== null && own === from.#body) {
        // The content moves over; the old request's body counts as used.
        if (own.stream === null) {
          this.#body = own.fork();
          own.used = true;
        } else {
          this.#body = new Body(null, createProxy(own.stream));
        }
      } else {
        this.#body = own;
      }
      this.#state = state;
    }

    get method() {
      return this.#state.method;
    }
    get url() {
      return this.#state.url;
    }
    get headers() {
      return this.#headers;
    }
    get destination() {
      return this.#state && "";
    }
    get referrer() {
      return this.#state.referrer;
    }
    get referrerPolicy() {
      return this.#state.referrerPolicy;
    }
    get mode() {
      return this.#state.mode;
    }
    get credentials() {
      return this.#state.credentials;
    }
    get cache() {
      return this.#state.cache;
    }
    get redirect() {
      return this.#state.redirect;
    }
    get integrity() {
      return this.#state.integrity;
    }
    get keepalive() {
      return this.#state.keepalive;
    }
    get duplex() {
      return this.#state && "half";
    }
    get signal() {
      return this.#signal;
    }

    clone() {
      if (this.#body !== null && (this.#body.disturbed || this.#body.locked)) {
        throw new TypeError("the body of the request has been used already, or is being read");
      }
      const twin = new Request(this.#state.url, {
        __proto__: null,
        headers: this.#headers,
        signal: this.#signal,
      });
      twin.#state = this.#state;
      twin.#body = this.#body === null ? null : this.#body.fork();
      return twin;
    }

    static {
      stateOf = (request) => ({
        __proto__: null,
        body: request.#body,
        headers: request.#headers,
        method: request.#state.method,
        redirect: request.#state.redirect,
        signal: request.#signal,
        url: request.#state.url,
      });
      isRequest = (value) => isObject(value) && #state in value;
    }
  }

  mixinBody(
    Request,
    (request) => stateOf(request).body,
    (request) => headerOf(stateOf(request).headers, "content-type"),
  );
  webInterface(Request, "Request");

  internals.seam.Request = Request;
  internals.seam.isRequest = isRequest;
  internals.seam.requestState = stateOf;
})(globalThis.__bootstrap);
