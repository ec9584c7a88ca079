// Bodies of requests and responses: bytes that are known, or a stream a guest made.
//
// A body stays plain bytes until somebody asks for its stream, so the common ways to read
// one copy nothing.
"use strict";
(({ core, primordials, internals }) => {
  const {
    JSONParse,
    MathMin,
    ObjectPrototypeIsPrototypeOf,
    TypedArrayPrototypeGetBuffer,
    TypedArrayPrototypeGetByteLength,
    ArrayBufferPrototypeGetByteLength,
    TypeError,
    uncurryThis,
  } = primordials;
  const { Blob, blobBytes, bytesOf, copy, decodeForm, encodeForm, hidden, isBlob, isFormData, isObject, usvString } =
    internals.seam;
  const streams = core.loadExtScript("ext:deno_web/06_streams.js");
  const { URLSearchParams, URLSearchParamsPrototype } = core.loadExtScript("ext:deno_web/00_url.js");
  const {
    isReadableStream,
    isReadableStreamDisturbed,
    isReadableStreamLocked,
    ReadableByteStreamController,
    ReadableStream,
    readableStreamCollectIntoUint8Array,
  } = streams;
  const searchParamsToString = uncurryThis(URLSearchParams.prototype.toString);
  const enqueue = uncurryThis(ReadableByteStreamController.prototype.enqueue);
  const close = uncurryThis(ReadableByteStreamController.prototype.close);
  const tee = uncurryThis(ReadableStream.prototype.tee);

  // How much of a body one read of its stream gives.
  const CHUNK = 64 * 1024;

  // A stream over bytes, which stay as they are: each read gets a copy of a part.
  function streamOf(bytes) {
    const length = TypedArrayPrototypeGetByteLength(bytes);
    let at = 0;
    return new ReadableStream({
      __proto__: null,
      type: "bytes",
      pull(controller) {
        if (at < length) {
          const end = MathMin(at + CHUNK, length);
          enqueue(controller, copy(bytes, at, end));
          at = end;
        }
        if (at >= length) {
          close(controller);
        }
      },
    });
  }

  class Body {
    // Known bytes; null where only the stream knows them.
    bytes;
    // Made on demand where the bytes are known.
    stream;
    used = false;
    // Whether another body reads the same bytes.
    shared = false;

    constructor(bytes, stream) {
      this.bytes = bytes;
      this.stream = stream;
    }

    get disturbed() {
      return this.stream === null ? this.used : isReadableStreamDisturbed(this.stream);
    }

    get locked() {
      return this.stream !== null && isReadableStreamLocked(this.stream);
    }

    asStream() {
      this.stream ??= streamOf(this.bytes);
      return this.stream;
    }

    // A second body with the same content.
    fork() {
      if (this.stream === null) {
        this.shared = true;
        const twin = new Body(this.bytes, null);
        twin.shared = true;
        return twin;
      }
      const branches = tee(this.stream);
      this.stream = branches[0];
      this.bytes = null;
      return new Body(null, branches[1]);
    }

    // All bytes; afterwards the body is used up.
    async consume() {
      if (this.disturbed || this.locked) {
        throw new TypeError("the body has been used already, or is being read");
      }
      if (this.stream === null) {
        this.used = true;
        const { bytes } = this;
        this.bytes = this.shared ? bytes : null;
        return bytes;
      }
      return await readableStreamCollectIntoUint8Array(this.stream);
    }
  }
  primordials.ObjectSetPrototypeOf(Body.prototype, null);

  // The body that a value stands for, and the content type that goes with it.
  function extract(value) {
    if (isReadableStream(value)) {
      if (isReadableStreamDisturbed(value) || isReadableStreamLocked(value)) {
        throw new TypeError("the stream has been used already, or is being read");
      }
      return { __proto__: null, body: new Body(null, value), type: null };
    }
    if (isBlob(value)) {
      const body = new Body(blobBytes(value), null);
      body.shared = true;
      return { __proto__: null, body, type: value.type === "" ? null : value.type };
    }
    const bytes = bytesOf(value);
    if (bytes !== null) {
      return { __proto__: null, body: new Body(copy(bytes), null), type: null };
    }
    if (isFormData(value)) {
      const { bytes: encoded, type } = encodeForm(value);
      return { __proto__: null, body: new Body(encoded, null), type };
    }
    if (isObject(value) && ObjectPrototypeIsPrototypeOf(URLSearchParamsPrototype, value)) {
      return {
        __proto__: null,
        body: new Body(core.encode(searchParamsToString(value)), null),
        type: "application/x-www-form-urlencoded;charset=UTF-8",
      };
    }
    return { __proto__: null, body: new Body(core.encode(usvString(value)), null), type: "text/plain;charset=UTF-8" };
  }

  // Bytes in a buffer of their own that nobody else reads.
  function own(bytes, body) {
    const buffer = TypedArrayPrototypeGetBuffer(bytes);
    const whole = ArrayBufferPrototypeGetByteLength(buffer) === TypedArrayPrototypeGetByteLength(bytes);
    return whole && !body?.shared ? bytes : copy(bytes);
  }

  // Gives a class the members that requests and responses have in common. `bodyOf` gives
  // the Body or null and throws for what is no instance, `typeOf` the content type.
  function mixinBody(Class, bodyOf, typeOf) {
    async function take(target) {
      const body = bodyOf(target);
      return body === null ? new primordials.Uint8Array(0) : own(await body.consume(), body);
    }
    async function read(target) {
      const body = bodyOf(target);
      return body === null ? new primordials.Uint8Array(0) : await body.consume();
    }
    const methods = {
      __proto__: null,
      async arrayBuffer() {
        return TypedArrayPrototypeGetBuffer(await take(this));
      },
      async blob() {
        return new Blob([await read(this)], { __proto__: null, type: typeOf(this) ?? "" });
      },
      async bytes() {
        return await take(this);
      },
      async formData() {
        return decodeForm(await read(this), typeOf(this));
      },
      async json() {
        return JSONParse(core.decode(await read(this)));
      },
      async text() {
        return core.decode(await read(this));
      },
    };
    for (const key in methods) {
      hidden(Class.prototype, key, methods[key]);
    }
    primordials.ObjectDefineProperties(Class.prototype, {
      __proto__: null,
      body: {
        __proto__: null,
        configurable: true,
        get() {
          const body = bodyOf(this);
          return body === null ? null : body.asStream();
        },
      },
      bodyUsed: {
        __proto__: null,
        configurable: true,
        get() {
          const body = bodyOf(this);
          return body !== null && body.disturbed;
        },
      },
    });
  }

  internals.seam.Body = Body;
  internals.seam.extractBody = extract;
  internals.seam.mixinBody = mixinBody;
  internals.seam.streamOf = streamOf;
})(globalThis.__bootstrap);
