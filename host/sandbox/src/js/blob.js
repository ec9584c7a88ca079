// Blob and File. Their bytes are ordinary array buffers, so they count against the limit.
"use strict";
(({ core, primordials, internals }) => {
  const {
    DateNow,
    MathMax,
    MathMin,
    MathTrunc,
    Number,
    NumberIsNaN,
    StringPrototypeCharCodeAt,
    StringPrototypeReplaceAll,
    StringPrototypeToLowerCase,
    TypedArrayPrototypeGetBuffer,
    TypedArrayPrototypeGetByteLength,
    TypeError,
  } = primordials;
  const { bytesOf, concat, copy, dictionary, isObject, iterate, iteratorMethod, list, push, required, usvString, webInterface } =
    internals.seam;

  function typeOf(value) {
    const type = `${value}`;
    for (let i = 0; i < type.length; i++) {
      const code = StringPrototypeCharCodeAt(type, i);
      if (code < 0x20 || code > 0x7e) {
        return "";
      }
    }
    return StringPrototypeToLowerCase(type);
  }

  // A slice's bound, as `[Clamp] long long` and relative to the end where negative.
  function bound(value, otherwise, size) {
    if (value === undefined) {
      return otherwise;
    }
    const number = Number(value);
    const whole = NumberIsNaN(number) ? 0 : MathTrunc(number);
    return whole < 0 ? MathMax(size + whole, 0) : MathMin(whole, size);
  }

  let blobBytes;
  let isBlob;

  class Blob {
    #bytes;
    #type;

    constructor(parts = undefined, options = undefined) {
      const chunks = list();
      const { endings = "transparent", type = "" } = dictionary(options, "the options of a Blob");
      if (endings !== "transparent" && endings !== "native") {
        throw new TypeError(`"${endings}" is not a way to treat line endings`);
      }
      if (parts !== undefined) {
        const method = isObject(parts) ? iteratorMethod(parts) : null;
        if (method === null) {
          throw new TypeError("the parts of a Blob are not a list");
        }
        iterate(parts, method, (part) => {
          if (isObject(part) && #bytes in part) {
            push(chunks, part.#bytes);
            return;
          }
          const bytes = bytesOf(part);
          if (bytes !== null) {
            push(chunks, copy(bytes));
            return;
          }
          const text = usvString(part);
          push(chunks, core.encode(endings === "native" ? StringPrototypeReplaceAll(text, "\r\n", "\n") : text));
        });
      }
      this.#bytes = concat(chunks);
      this.#type = typeOf(type);
    }

    get size() {
      return TypedArrayPrototypeGetByteLength(this.#bytes);
    }

    get type() {
      return this.#type;
    }

    slice(start = undefined, end = undefined, type = "") {
      const { size } = this;
      const from = bound(start, 0, size);
      const to = MathMax(from, bound(end, size, size));
      const part = new Blob();
      part.#bytes = copy(this.#bytes, from, to);
      part.#type = typeOf(type);
      return part;
    }

    async text() {
      return core.decode(this.#bytes);
    }

    async arrayBuffer() {
      return TypedArrayPrototypeGetBuffer(copy(this.#bytes));
    }

    async bytes() {
      return copy(this.#bytes);
    }

    stream() {
      return internals.seam.streamOf(this.#bytes);
    }

    static {
      isBlob = (value) => isObject(value) && #bytes in value;
      blobBytes = (blob) => blob.#bytes;
    }
  }

  class File extends Blob {
    #name;
    #lastModified;

    constructor(parts, name, options = undefined) {
      required(arguments.length, 2, "a File");
      const { lastModified = DateNow() } = dictionary(options, "the options of a File");
      super(parts, options);
      this.#name = usvString(name);
      const modified = Number(lastModified);
      this.#lastModified = NumberIsNaN(modified) ? 0 : MathTrunc(modified);
    }

    get name() {
      return this.#name;
    }

    get lastModified() {
      return this.#lastModified;
    }

    get webkitRelativePath() {
      return "";
    }

    static {
      internals.seam.isFile = (value) => isObject(value) && #name in value;
    }
  }

  webInterface(Blob, "Blob");
  webInterface(File, "File");

  internals.seam.Blob = Blob;
  internals.seam.File = File;
  internals.seam.blobBytes = blobBytes;
  internals.seam.isBlob = isBlob;
})(globalThis.__bootstrap);
