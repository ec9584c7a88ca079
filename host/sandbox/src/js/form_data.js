// FormData, its multipart form, and reading both kinds of form bodies back.
"use strict";
(({ core, primordials, internals }) => {
  const {
    NumberPrototypeToString,
    StringPrototypeIndexOf,
    StringPrototypeReplaceAll,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    StringPrototypeToLowerCase,
    StringPrototypeTrim,
    TypedArrayPrototypeGetByteLength,
    TypeError,
    Uint8Array,
  } = primordials;
  const { op_seam_random } = core.ops;
  const { parseUrlEncoded } = core.loadExtScript("ext:deno_web/00_url.js");
  const { Blob, File, blobBytes, concat, isBlob, isFile, isObject, list, pairIterable, push, required, usvString, webInterface } =
    internals.seam;

  let pairsOf;
  let isFormData;

  class FormData {
    #pairs = list();

    constructor(form = undefined) {
      if (form !== undefined) {
        throw new TypeError("there are no form elements here");
      }
    }

    #entry(what, given, name, value, filename) {
      required(given, 2, what);
      const pair = list();
      push(pair, usvString(name));
      if (isBlob(value)) {
        if (given > 2) {
          push(pair, new File([value], usvString(filename), { __proto__: null, type: value.type }));
        } else {
          push(pair, isFile(value) ? value : new File([value], "blob", { __proto__: null, type: value.type }));
        }
      } else {
        if (given > 2) {
          throw new TypeError(`${what} takes a file name only with a Blob`);
        }
        push(pair, usvString(value));
      }
      return pair;
    }

    append(name, value, filename = undefined) {
      push(this.#pairs, this.#entry("FormData.append", arguments.length, name, value, filename));
    }

    set(name, value, filename = undefined) {
      const entry = this.#entry("FormData.set", arguments.length, name, value, filename);
      const kept = list();
      let placed = false;
      for (let i = 0; i < this.#pairs.length; i++) {
        if (this.#pairs[i][0] !== entry[0]) {
          push(kept, this.#pairs[i]);
        } else if (!placed) {
          placed = true;
          push(kept, entry);
        }
      }
      if (!placed) {
        push(kept, entry);
      }
      this.#pairs = kept;
    }

    delete(name) {
      required(arguments.length, 1, "FormData.delete");
      const key = usvString(name);
      const kept = list();
      for (let i = 0; i < this.#pairs.length; i++) {
        if (this.#pairs[i][0] !== key) {
          push(kept, this.#pairs[i]);
        }
      }
      this.#pairs = kept;
    }

    get(name) {
      required(arguments.length, 1, "FormData.get");
      const key = usvString(name);
      for (let i = 0; i < this.#pairs.length; i++) {
        if (this.#pairs[i][0] === key) {
          return this.#pairs[i][1];
        }
      }
      return null;
    }

    getAll(name) {
      required(arguments.length, 1, "FormData.getAll");
      const key = usvString(name);
      const values = [];
      for (let i = 0; i < this.#pairs.length; i++) {
        if (this.#pairs[i][0] === key) {
          primordials.ArrayPrototypePush(values, this.#pairs[i][1]);
        }
      }
      return values;
    }

    has(name) {
      required(arguments.length, 1, "FormData.has");
      return this.get(name) !== null;
    }

    static {
      pairsOf = (form) => form.#pairs;
      isFormData = (value) => isObject(value) && #pairs in value;
    }
  }

  webInterface(FormData, "FormData");
  pairIterable(FormData, "FormData", (form) => pairsOf(form));

  function hex(bytes) {
    let text = "";
    for (let i = 0; i < TypedArrayPrototypeGetByteLength(bytes); i++) {
      text += (bytes[i] < 16 ? "0" : "") + NumberPrototypeToString(bytes[i], 16);
    }
    return text;
  }

  function lines(text) {
    const normal = StringPrototypeReplaceAll(StringPrototypeReplaceAll(text, "\r\n", "\n"), "\r", "\n");
    return StringPrototypeReplaceAll(normal, "\n", "\r\n");
  }

  function quoted(text) {
    let safe = StringPrototypeReplaceAll(text, "\n", "%0A");
    safe = StringPrototypeReplaceAll(safe, "\r", "%0D");
    return StringPrototypeReplaceAll(safe, '"', "%22");
  }

  // The multipart form of a FormData, and its content type.
  function encodeForm(form) {
    const random = new Uint8Array(16);
    op_seam_random(random);
    const boundary = `----form-${hex(random)}`;
    const pairs = pairsOf(form);
    const chunks = list();
    for (let i = 0; i < pairs.length; i++) {
      const { 0: name, 1: value } = pairs[i];
      const start = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(lines(name))}"`;
      if (typeof value === "string") {
        push(chunks, core.encode(`${start}\r\n\r\n${lines(value)}\r\n`));
      } else {
        const type = value.type || "application/octet-stream";
        push(chunks, core.encode(`${start}; filename="${quoted(value.name)}"\r\ncontent-type: ${type}\r\n\r\n`));
        push(chunks, blobBytes(value));
        push(chunks, core.encode("\r\n"));
      }
    }
    push(chunks, core.encode(`--${boundary}--\r\n`));
    return { __proto__: null, bytes: concat(chunks), type: `multipart/form-data; boundary=${boundary}` };
  }

  // The value of a parameter such as `boundary` in a header value; null without it.
  function parameter(text, name) {
    const wanted = `${name}=`;
    const lower = StringPrototypeToLowerCase(text);
    let from = 0;
    while (true) {
      const at = StringPrototypeIndexOf(lower, wanted, from);
      if (at < 0) {
        return null;
      }
      const before = at === 0 ? ";" : text[at - 1];
      if (before === ";" || before === " " || before === "\t") {
        const rest = StringPrototypeSlice(text, at + wanted.length);
        if (StringPrototypeStartsWith(rest, '"')) {
          const end = StringPrototypeIndexOf(rest, '"', 1);
          return end < 0 ? null : StringPrototypeSlice(rest, 1, end);
        }
        const end = StringPrototypeIndexOf(rest, ";");
        return StringPrototypeTrim(end < 0 ? rest : StringPrototypeSlice(rest, 0, end));
      }
      from = at + 1;
    }
  }

  function indexOf(bytes, wanted, from) {
    const last = TypedArrayPrototypeGetByteLength(bytes) - TypedArrayPrototypeGetByteLength(wanted);
    const length = TypedArrayPrototypeGetByteLength(wanted);
    for (let at = from; at <= last; at++) {
      let i = 0;
      while (i < length && bytes[at + i] === wanted[i]) {
        i++;
      }
      if (i === length) {
        return at;
      }
    }
    return -1;
  }

  function unquoted(text) {
    let plain = StringPrototypeReplaceAll(text, "%0A", "\n");
    plain = StringPrototypeReplaceAll(plain, "%0D", "\r");
    return StringPrototypeReplaceAll(plain, "%22", '"');
  }

  function decodeMultipart(bytes, boundary) {
    const broken = () => new TypeError("the body is not a multipart form");
    const form = new FormData();
    const delimiter = core.encode(`--${boundary}`);
    const delimiterLength = TypedArrayPrototypeGetByteLength(delimiter);
    const nextDelimiter = core.encode(`\r\n--${boundary}`);
    const headEnd = core.encode("\r\n\r\n");
    let at = indexOf(bytes, delimiter, 0);
    if (at < 0) {
      throw broken();
    }
    while (true) {
      at += delimiterLength;
      if (bytes[at] === 0x2d && bytes[at + 1] === 0x2d) {
        return form;
      }
      const head = indexOf(bytes, headEnd, at);
      const end = head < 0 ? -1 : indexOf(bytes, nextDelimiter, head + 2);
      if (end < 0) {
        throw broken();
      }
      const fields = core.decode(internals.seam.copy(bytes, at, head + 2));
      let name = null;
      let filename = null;
      let type = "";
      let line = 0;
      while (line < fields.length) {
        let stop = StringPrototypeIndexOf(fields, "\r\n", line);
        stop = stop < 0 ? fields.length : stop;
        const field = StringPrototypeSlice(fields, line, stop);
        const colon = StringPrototypeIndexOf(field, ":");
        const key = StringPrototypeToLowerCase(StringPrototypeSlice(field, 0, colon < 0 ? 0 : colon));
        const value = StringPrototypeTrim(StringPrototypeSlice(field, colon + 1));
        if (key === "content-disposition") {
          name = parameter(value, "name");
          filename = parameter(value, "filename");
        } else if (key === "content-type") {
          type = value;
        }
        line = stop + 2;
      }
      if (name === null) {
        throw broken();
      }
      const start = head + 4;
      const content = internals.seam.copy(bytes, start, end < start ? start : end);
      if (filename === null) {
        form.append(unquoted(name), core.decode(content));
      } else {
        form.append(unquoted(name), new Blob([content], { __proto__: null, type: type || "text/plain" }), unquoted(filename));
      }
      at = end + 2;
    }
  }

  // A body with this content type as a FormData.
  function decodeForm(bytes, contentType) {
    const type = contentType ?? "";
    const semicolon = StringPrototypeIndexOf(type, ";");
    const essence = StringPrototypeToLowerCase(
      StringPrototypeTrim(semicolon < 0 ? type : StringPrototypeSlice(type, 0, semicolon)),
    );
    if (essence === "multipart/form-data") {
      const boundary = parameter(type, "boundary");
      if (boundary === null || boundary === "") {
        throw new TypeError("the content type of the form has no boundary");
      }
      return decodeMultipart(bytes, boundary);
    }
    if (essence === "application/x-www-form-urlencoded") {
      const form = new FormData();
      const pairs = parseUrlEncoded(bytes);
      for (let i = 0; i < pairs.length; i++) {
        form.append(pairs[i][0], pairs[i][1]);
      }
      return form;
    }
    throw new TypeError("the content type of the body is not that of a form");
  }

  internals.seam.FormData = FormData;
  internals.seam.decodeForm = decodeForm;
  internals.seam.encodeForm = encodeForm;
  internals.seam.isFormData = isFormData;
})(globalThis.__bootstrap);
