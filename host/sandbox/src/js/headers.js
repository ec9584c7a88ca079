// Headers, as the Fetch standard has them. Names that belong to the transport are kept
// here and refused by the host where they would be sent.
"use strict";
(({ primordials, internals }) => {
  const {
    ArrayPrototypeSort,
    StringPrototypeCharCodeAt,
    StringPrototypeIncludes,
    StringPrototypeSlice,
    StringPrototypeToLowerCase,
    TypeError,
  } = primordials;
  const { byteString, eachPair, isObject, list, pairIterable, push, required, webInterface } = internals.seam;

  const SYMBOLS = "!#$%&'*+-.^_`|~";

  // The lower-case form of a header name, which must be an HTTP token.
  function name(value) {
    const text = byteString(value, "a header name");
    let token = text.length > 0;
    for (let i = 0; i < text.length && token; i++) {
      const c = StringPrototypeCharCodeAt(text, i);
      token = (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) ||
        StringPrototypeIncludes(SYMBOLS, text[i]);
    }
    if (!token) {
      throw new TypeError(`"${StringPrototypeSlice(text, 0, 80)}" is not a header name`);
    }
    return StringPrototypeToLowerCase(text);
  }

  function isBlank(c) {
    return c === 0x09 || c === 0x0a || c === 0x0d || c === 0x20;
  }

  // A header value without surrounding white space.
  function normalized(value, of) {
    const text = byteString(value, `the value of the header ${of}`);
    let start = 0;
    let end = text.length;
    while (start < end && isBlank(StringPrototypeCharCodeAt(text, start))) {
      start++;
    }
    while (end > start && isBlank(StringPrototypeCharCodeAt(text, end - 1))) {
      end--;
    }
    for (let i = start; i < end; i++) {
      const c = StringPrototypeCharCodeAt(text, i);
      if (c === 0 || c === 0x0a || c === 0x0d) {
        throw new TypeError(`the value of the header ${of} contains a line break or a NUL`);
      }
    }
    return StringPrototypeSlice(text, start, end);
  }

  let fieldsOf;
  let setGuard;
  let isHeaders;

  class Headers {
    // Pairs of lower-case name and value, in order.
    #fields = list();
    // "none", or "immutable" for the headers of an answer that came from outside.
    #guard = "none";
    // The sorted and combined view, until the next change.
    #sorted = null;

    constructor(init = undefined) {
      if (init !== undefined) {
        if (isObject(init) && #fields in init) {
          for (let i = 0; i < init.#fields.length; i++) {
            push(this.#fields, init.#fields[i]);
          }
        } else {
          eachPair(init, "the headers", (key, value) => {
            const field = name(key);
            this.#add(field, normalized(value, field));
          });
        }
      }
    }

    #add(field, value) {
      const pair = list();
      push(pair, field);
      push(pair, value);
      push(this.#fields, pair);
      this.#sorted = null;
    }

    #change() {
      if (this.#guard === "immutable") {
        throw new TypeError("these headers cannot be changed");
      }
      this.#sorted = null;
    }

    #without(field) {
      const kept = list();
      for (let i = 0; i < this.#fields.length; i++) {
        if (this.#fields[i][0] !== field) {
          push(kept, this.#fields[i]);
        }
      }
      this.#fields = kept;
    }

    append(key, value) {
      required(arguments.length, 2, "Headers.append");
      const field = name(key);
      const text = normalized(value, field);
      this.#change();
      this.#add(field, text);
    }

    delete(key) {
      required(arguments.length, 1, "Headers.delete");
      const field = name(key);
      this.#change();
      this.#without(field);
    }

    get(key) {
      required(arguments.length, 1, "Headers.get");
      return this.#get(name(key));
    }

    #get(field) {
      let text = null;
      for (let i = 0; i < this.#fields.length; i++) {
        if (this.#fields[i][0] === field) {
          text = text === null ? this.#fields[i][1] : `${text}, ${this.#fields[i][1]}`;
        }
      }
      return text;
    }

    getSetCookie() {
      const cookies = [];
      for (let i = 0, n = 0; i < this.#fields.length; i++) {
        if (this.#fields[i][0] === "set-cookie") {
          primordials.ObjectDefineProperty(cookies, n++, {
            __proto__: null,
            value: this.#fields[i][1],
            writable: true,
            enumerable: true,
            configurable: true,
          });
        }
      }
      return cookies;
    }

    has(key) {
      required(arguments.length, 1, "Headers.has");
      return this.#get(name(key)) !== null;
    }

    set(key, value) {
      required(arguments.length, 2, "Headers.set");
      const field = name(key);
      const text = normalized(value, field);
      this.#change();
      // In the place of its first occurrence, so that setting keeps the order.
      const kept = list();
      let placed = false;
      for (let i = 0; i < this.#fields.length; i++) {
        if (this.#fields[i][0] !== field) {
          push(kept, this.#fields[i]);
        } else if (!placed) {
          placed = true;
          const pair = list();
          push(pair, field);
          push(pair, text);
          push(kept, pair);
        }
      }
      this.#fields = kept;
      if (!placed) {
        this.#add(field, text);
      }
    }

    // Sorted by name, repeated names combined, cookies one by one.
    #view() {
      if (this.#sorted !== null) {
        return this.#sorted;
      }
      const view = list();
      const seen = { __proto__: null };
      for (let i = 0; i < this.#fields.length; i++) {
        const field = this.#fields[i][0];
        if (field === "set-cookie") {
          push(view, this.#fields[i]);
        } else if (seen[field] !== undefined) {
          seen[field][1] = `${seen[field][1]}, ${this.#fields[i][1]}`;
        } else {
          const pair = list();
          push(pair, field);
          push(pair, this.#fields[i][1]);
          seen[field] = pair;
          push(view, pair);
        }
      }
      ArrayPrototypeSort(view, (a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
      return this.#sorted = view;
    }

    static {
      fieldsOf = (headers) => headers.#fields;
      setGuard = (headers, guard) => {
        headers.#guard = guard;
      };
      isHeaders = (value) => isObject(value) && #fields in value;
      internals.seam.headersView = (headers) => headers.#view();
      internals.seam.headerOf = (headers, field) => headers.#get(field);
      internals.seam.addHeader = (headers, field, value) => headers.#add(field, value);
    }
  }

  webInterface(Headers, "Headers");
  pairIterable(Headers, "Headers", (headers) => internals.seam.headersView(headers));

  internals.seam.Headers = Headers;
  internals.seam.headerName = name;
  internals.seam.headerFields = fieldsOf;
  internals.seam.guardHeaders = setGuard;
  internals.seam.isHeaders = isHeaders;
})(globalThis.__bootstrap);
