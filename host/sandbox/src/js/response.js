// Response.
"use strict";
(({ core, primordials, internals }) => {
  const { JSONStringify, MathTrunc, Number, RangeError, StringPrototypeCharCodeAt, TypeError, ObjectGetOwnPropertyDescriptor, uncurryThis } = primordials;
  const { addHeader, Body, byteString, dictionary, extractBody, guardHeaders, headerOf, Headers, isObject, mixinBody, required, usvString, webInterface } =
    internals.seam;
  const { URL } = core.loadExtScript("ext:deno_web/00_url.js");
  const href = uncurryThis(ObjectGetOwnPropertyDescriptor(URL.prototype, "href").get);

  function isNullBody(status) {
    return status === 101 || status === 103 || status === 204 || status === 205 || status === 304;
  }

  function isRedirect(status) {
    return status === 301 || status === 302 || status === 303 || status === 307 || status === 308;
  }

  function reason(value) {
    const text = byteString(value, "the status text");
    for (let i = 0; i < text.length; i++) {
      const c = StringPrototypeCharCodeAt(text, i);
      if ((c < 0x20 && c !== 0x09) || c === 0x7f) {
        throw new TypeError("the status text is not a reason phrase");
      }
    }
    return text;
  }

  let bodyOf;
  let headersOf;
  let answered;

  class Response {
    #body = null;
    #headers;
    #redirected = false;
    #status = 200;
    #statusText = "";
    #type = "default";
    #url = "";

    constructor(body = null, init = undefined) {
      const options = dictionary(init, "the options of a Response");
      const { headers, status = 200, statusText = "" } = options;
      // As an `unsigned short`.
      const number = Number(status);
      const code = number === number && number !== Infinity && number !== -Infinity ? MathTrunc(number) % 65536 : 0;
      if (code < 200 || code > 599) {
        throw new RangeError(`the status ${code} is not from 200 to 599`);
      }
      this.#status = code;
      this.#statusText = reason(statusText);
      this.#headers = new Headers(headers);
      if (body !== null && body !== undefined) {
        if (isNullBody(code)) {
          throw new TypeError(`a response with status ${code} cannot have a body`);
        }
        const extracted = extractBody(body);
        this.#body = extracted.body;
        if (extracted.type !== null && headerOf(this.#headers, "content-type") === null) {
          addHeader(this.#headers, "content-type", extracted.type);
        }
      }
    }

    static error() {
      const response = new Response();
      response.#status = 0;
      response.#type = "error";
      guardHeaders(response.#headers, "immutable");
      return response;
    }

    static json(data, init = undefined) {
      required(arguments.length, 1, "Response.json");
      const text = JSONStringify(data);
      if (text === undefined) {
        throw new TypeError("the value has no JSON");
      }
      const response = new Response(null, init);
      if (isNullBody(response.#status)) {
        throw new TypeError(`a response with status ${response.#status} cannot have a body`);
      }
      response.#body = new Body(core.encode(text), null);
      if (headerOf(response.#headers, "content-type") === null) {
        addHeader(response.#headers, "content-type", "application/json");
      }
      return response;
    }

    static redirect(url, status = 302) {
      required(arguments.length, 1, "Response.redirect");
      let location;
      try {
        location = href(new URL(usvString(url)));
      } catch {
        throw new TypeError("the url does not parse; it must be absolute");
      }
      const code = Number(status);
      if (!isRedirect(code)) {
        throw new RangeError(`the status ${code} is not that of a redirect`);
      }
      const response = new Response(null);
      response.#status = code;
      addHeader(response.#headers, "location", location);
      guardHeaders(response.#headers, "immutable");
      return response;
    }

    get type() {
      return this.#type;
    }
    get url() {
      return this.#url;
    }
    get redirected() {
      return this.#redirected;
    }
    get status() {
      return this.#status;
    }
    get ok() {
      return this.#status >= 200 && this.#status <= 299;
    }
    get statusText() {
      return this.#statusText;
    }
    get headers() {
      return this.#headers;
    }

    clone() {
      if (this.#body !== null && (this.#body.disturbed || this.#body.locked)) {
        throw new TypeError("the body of the response has been used already, or is being read");
      }
      const twin = new Response();
      twin.#headers = new Headers(this.#headers);
      if (this.#type !== "default") {
        guardHeaders(twin.#headers, "immutable");
      }
      twin.#redirected = this.#redirected;
      twin.#status = this.#status;
      twin.#statusText = this.#statusText;
      twin.#type = this.#type;
      twin.#url = this.#url;
      twin.#body = this.#body === null ? null : this.#body.fork();
      return twin;
    }

    static {
      bodyOf = (response) => response.#body;
      headersOf = (response) => response.#headers;
      internals.seam.isResponse = (value) => isObject(value) && #headers in value;
      internals.seam.describeResponse = (response) => [
        "status",
        response.#status,
        "statusText",
        response.#statusText,
        "url",
        response.#url,
        "headers",
        response.#headers,
        "bodyUsed",
        response.#body !== null && response.#body.disturbed,
      ];
      // The response for what the host gave back.
      answered = (answer, method) => {
        const response = new Response();
        response.#status = answer.status;
        response.#statusText = answer.statusText;
        response.#url = answer.url;
        response.#redirected = answer.redirected;
        response.#type = "basic";
        for (let i = 0; i + 1 < answer.headers.length; i += 2) {
          addHeader(response.#headers, answer.headers[i], answer.headers[i + 1]);
        }
        guardHeaders(response.#headers, "immutable");
        if (method !== "HEAD" && !isNullBody(answer.status)) {
          response.#body = new Body(new primordials.Uint8Array(answer.body), null);
        }
        return response;
      };
    }
  }

  mixinBody(Response, (response) => bodyOf(response), (response) => headerOf(headersOf(response), "content-type"));
  webInterface(Response, "Response");

  internals.seam.Response = Response;
  internals.seam.answered = answered;
  internals.seam.isRedirect = isRedirect;
})(globalThis.__bootstrap);
