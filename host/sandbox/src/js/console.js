// The console, and how values look in it. Lines go to the host, which keeps a bounded
// amount of them; nothing here can reach the process's own output.
"use strict";
(({ core, primordials, internals }) => {
  const {
    ArrayBufferPrototypeGetByteLength,
    ArrayIsArray,
    BigIntPrototypeToString,
    DatePrototypeGetTime,
    DatePrototypeToISOString,
    ErrorCaptureStackTrace,
    FunctionPrototypeToString,
    MapPrototypeForEach,
    MathMin,
    Number,
    NumberIsNaN,
    NumberParseInt,
    NumberParseFloat,
    ObjectGetPrototypeOf,
    ObjectIs,
    ObjectPrototypePropertyIsEnumerable,
    ReflectGetOwnPropertyDescriptor,
    ReflectOwnKeys,
    RegExpPrototypeToString,
    SafeMap,
    SafeSet,
    SetPrototypeForEach,
    String,
    StringPrototypeCharCodeAt,
    StringPrototypeIncludes,
    StringPrototypeIndexOf,
    StringPrototypeReplaceAll,
    StringPrototypeRepeat,
    StringPrototypeSlice,
    StringPrototypeStartsWith,
    SymbolPrototypeToString,
    TypedArrayPrototypeGetLength,
    TypedArrayPrototypeGetSymbolToStringTag,
    NumberPrototypeToString,
    NumberPrototypeValueOf,
    StringPrototypeValueOf,
    BooleanPrototypeValueOf,
    SymbolPrototypeValueOf,
    BigIntPrototypeValueOf,
  } = primordials;
  const { op_seam_console, op_get_promise_details, op_get_proxy_details, op_seam_now } = core.ops;
  const { list, push } = internals.seam;

  // How much of a value is shown: beyond these it is summed up.
  const MAX_DEPTH = 4;
  const MAX_ITEMS = 100;
  const MAX_STRING = 10_000;
  const MAX_TOTAL = 256 * 1024;
  const LINE = 72;

  function quote(text) {
    let shown = text;
    let rest = "";
    if (shown.length > MAX_STRING) {
      rest = `... ${shown.length - MAX_STRING} more characters`;
      shown = StringPrototypeSlice(shown, 0, MAX_STRING);
    }
    const mark = !StringPrototypeIncludes(shown, "'") ? "'" : !StringPrototypeIncludes(shown, '"') ? '"' : "`";
    let quoted = StringPrototypeReplaceAll(shown, "\\", "\\\\");
    quoted = StringPrototypeReplaceAll(quoted, "\n", "\\n");
    quoted = StringPrototypeReplaceAll(quoted, "\r", "\\r");
    quoted = StringPrototypeReplaceAll(quoted, "\t", "\\t");
    if (mark === "`") {
      quoted = StringPrototypeReplaceAll(quoted, "`", "\\`");
    }
    return mark + quoted + mark + rest;
  }

  function isWord(text) {
    if (text.length === 0) {
      return false;
    }
    for (let i = 0; i < text.length; i++) {
      const c = StringPrototypeCharCodeAt(text, i);
      const letter = (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a) || c === 0x5f || c === 0x24;
      if (!letter && !(i > 0 && c >= 0x30 && c <= 0x39)) {
        return false;
      }
    }
    return true;
  }

  function isIndex(key) {
    if (typeof key !== "string" || key.length === 0 || key.length > 16) {
      return false;
    }
    for (let i = 0; i < key.length; i++) {
      const c = StringPrototypeCharCodeAt(key, i);
      if (c < 0x30 || c > 0x39) {
        return false;
      }
    }
    return true;
  }

  // The value of an own data property, without running a getter.
  function data(object, key) {
    const property = ReflectGetOwnPropertyDescriptor(object, key);
    return property !== undefined && "value" in property ? property.value : undefined;
  }

  // The name of the class of an object; null where it has no prototype.
  function className(object) {
    for (let proto = object, i = 0; proto !== null && i < 16; proto = ObjectGetPrototypeOf(proto), i++) {
      if (core.isProxy(proto)) {
        return "Object";
      }
      const constructor = data(proto, "constructor");
      if (typeof constructor === "function" && !core.isProxy(constructor)) {
        const name = data(constructor, "name");
        if (typeof name === "string" && name !== "") {
          return name;
        }
      }
    }
    return ObjectGetPrototypeOf(object) === null ? null : "Object";
  }

  class Inspector {
    seen = new SafeMap();
    budget = MAX_TOTAL;

    value(value, depth) {
      const text = this.raw(value, depth);
      this.budget -= text.length;
      return text;
    }

    raw(value, depth) {
      switch (typeof value) {
        case "string":
          return quote(value);
        case "number":
          return ObjectIs(value, -0) ? "-0" : `${value}`;
        case "bigint":
          return `${BigIntPrototypeToString(value)}n`;
        case "symbol":
          return SymbolPrototypeToString(value);
        case "undefined":
        case "boolean":
          return `${value}`;
      }
      if (value === null) {
        return "null";
      }
      if (core.isProxy(value)) {
        const details = op_get_proxy_details(value);
        const target = details === null ? null : details[0];
        return target === null ? "<revoked proxy>" : this.raw(target, depth);
      }
      if (this.seen.has(value)) {
        return "[Circular]";
      }
      if (this.budget <= 0) {
        return "...";
      }
      this.seen.set(value, true);
      const text = typeof value === "function" ? this.function(value, depth) : this.object(value, depth);
      this.seen.delete(value);
      return text;
    }

    function(value, depth) {
      const name = data(value, "name");
      const isClass = StringPrototypeStartsWith(FunctionPrototypeToString(value), "class");
      const kind = isClass ? "class" : core.isAsyncFunction(value) ? "AsyncFunction" : "Function";
      const named = typeof name === "string" && name !== "" ? name : "(anonymous)";
      const head = isClass ? `[${kind} ${named}]` : `[${kind}${named === "(anonymous)" ? " (anonymous)" : `: ${named}`}]`;
      return this.members(value, depth, head, list(), "{", "}", () => false);
    }

    object(value, depth) {
      const name = className(value);
      if (core.isNativeError(value)) {
        return this.error(value, depth);
      }
      if (core.isRegExp(value)) {
        return this.members(value, depth, RegExpPrototypeToString(value), list(), "{", "}", () => false);
      }
      if (core.isDate(value)) {
        const time = DatePrototypeGetTime(value);
        const text = NumberIsNaN(time) ? "Invalid Date" : DatePrototypeToISOString(value);
        return this.members(value, depth, text, list(), "{", "}", () => false);
      }
      const boxed = this.boxed(value);
      if (boxed !== null) {
        return this.members(value, depth, boxed, list(), "{", "}", isIndex);
      }
      if (depth > MAX_DEPTH) {
        return ArrayIsArray(value) ? "[Array]" : `[${name ?? "Object: null prototype"}]`;
      }
      if (ArrayIsArray(value)) {
        const head = name === "Array" ? "" : `${name ?? "Array: null prototype"}(${value.length}) `;
        return this.members(value, depth, head, this.array(value, depth), "[", "]", isIndex);
      }
      if (core.isTypedArray(value)) {
        const length = TypedArrayPrototypeGetLength(value);
        const items = list();
        for (let i = 0; i < MathMin(length, MAX_ITEMS); i++) {
          push(items, this.value(value[i], depth + 1));
        }
        more(items, length);
        const head = `${TypedArrayPrototypeGetSymbolToStringTag(value)}(${length}) `;
        return this.members(value, depth, head, items, "[", "]", isIndex);
      }
      if (core.isArrayBuffer(value)) {
        const items = list();
        push(items, `byteLength: ${ArrayBufferPrototypeGetByteLength(value)}`);
        return this.members(value, depth, "ArrayBuffer ", items, "{", "}", () => false);
      }
      if (core.isMap(value)) {
        const items = list();
        let size = 0;
        MapPrototypeForEach(value, (item, key) => {
          if (size++ < MAX_ITEMS && this.budget > 0) {
            push(items, `${this.value(key, depth + 1)} => ${this.value(item, depth + 1)}`);
          }
        });
        more(items, size);
        return this.members(value, depth, `${name ?? "Map"}(${size}) `, items, "{", "}", () => false);
      }
      if (core.isSet(value)) {
        const items = list();
        let size = 0;
        SetPrototypeForEach(value, (item) => {
          if (size++ < MAX_ITEMS && this.budget > 0) {
            push(items, this.value(item, depth + 1));
          }
        });
        more(items, size);
        return this.members(value, depth, `${name ?? "Set"}(${size}) `, items, "{", "}", () => false);
      }
      if (core.isPromise(value)) {
        const details = op_get_promise_details(value);
        const items = list();
        push(items, details[0] === 0 ? "<pending>" : `${details[0] === 2 ? "<rejected> " : ""}${this.value(details[1], depth + 1)}`);
        return this.members(value, depth, "Promise ", items, "{", "}", () => false);
      }
      if (core.isWeakMap(value) || core.isWeakSet(value)) {
        return `${name} { <items unknown> }`;
      }
      const web = internals.seam.describe(value);
      if (web !== null) {
        const items = list();
        for (let i = 0; i + 1 < web.length; i += 2) {
          push(items, `${web[i]}: ${this.value(web[i + 1], depth + 1)}`);
        }
        return this.members(value, depth, `${name} `, items, "{", "}", () => false);
      }
      const head = name === "Object" ? "" : name === null ? "[Object: null prototype] " : `${name} `;
      return this.members(value, depth, head, list(), "{", "}", () => false);
    }

    boxed(value) {
      if (!core.isBoxedPrimitive(value)) {
        return null;
      }
      if (core.isNumberObject(value)) {
        return `[Number: ${this.raw(NumberPrototypeValueOf(value), 0)}]`;
      }
      if (core.isStringObject(value)) {
        return `[String: ${quote(StringPrototypeValueOf(value))}]`;
      }
      if (core.isBooleanObject(value)) {
        return `[Boolean: ${BooleanPrototypeValueOf(value)}]`;
      }
      if (core.isBigIntObject(value)) {
        return `[BigInt: ${this.raw(BigIntPrototypeValueOf(value), 0)}]`;
      }
      return `[Symbol: ${this.raw(SymbolPrototypeValueOf(value), 0)}]`;
    }

    array(value, depth) {
      const items = list();
      const { length } = value;
      let holes = 0;
      let i = 0;
      for (; i < length && items.length < MAX_ITEMS && this.budget > 0 && i < 10_000; i++) {
        const property = ReflectGetOwnPropertyDescriptor(value, i);
        if (property === undefined) {
          holes++;
          continue;
        }
        if (holes > 0) {
          push(items, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
          holes = 0;
        }
        push(items, this.property(property, depth));
      }
      if (holes > 0 && i === length) {
        push(items, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
      } else if (i < length) {
        push(items, `... ${length - i + holes} more items`);
      }
      return items;
    }

    error(value, depth) {
      const stack = value.stack;
      let head = typeof stack === "string" && stack !== "" ? stack : `[${String(value.name)}: ${String(value.message)}]`;
      if (head.length > MAX_STRING) {
        head = `${StringPrototypeSlice(head, 0, MAX_STRING)}...`;
      }
      const items = list();
      if (ReflectGetOwnPropertyDescriptor(value, "cause") !== undefined && depth <= MAX_DEPTH) {
        push(items, `[cause]: ${this.value(data(value, "cause"), depth + 1)}`);
      }
      const errors = data(value, "errors");
      if (ArrayIsArray(errors) && depth <= MAX_DEPTH) {
        push(items, `[errors]: ${this.value(errors, depth + 1)}`);
      }
      return this.members(value, depth, head, items, "{", "}", () => false);
    }

    property(property, depth) {
      if ("value" in property) {
        return this.value(property.value, depth + 1);
      }
      return property.get === undefined ? "[Setter]" : property.set === undefined ? "[Getter]" : "[Getter/Setter]";
    }

    // A head, the items it has by nature, and its own enumerable properties.
    members(value, depth, head, items, open, close, skip) {
      const natural = items.length;
      if (depth <= MAX_DEPTH) {
        const keys = ReflectOwnKeys(value);
        let shown = 0;
        for (let i = 0; i < keys.length; i++) {
          const key = keys[i];
          if (skip(key) || !ObjectPrototypePropertyIsEnumerable(value, key)) {
            continue;
          }
          if (shown++ >= MAX_ITEMS || this.budget <= 0) {
            push(items, `... ${keys.length - i} more properties`);
            break;
          }
          const property = ReflectGetOwnPropertyDescriptor(value, key);
          if (property !== undefined) {
            const name = typeof key === "symbol" ? `[${SymbolPrototypeToString(key)}]` : isWord(key) ? key : quote(key);
            push(items, `${name}: ${this.property(property, depth)}`);
          }
        }
      }
      const structural = open === "[" || head === "" || StringPrototypeSlice(head, -1) === " ";
      if (items.length === 0) {
        return structural ? `${head}${open}${close}` : head;
      }
      const lead = structural ? head : `${head} `;
      let length = 0;
      let multiline = false;
      for (let i = 0; i < items.length; i++) {
        length += items[i].length + 2;
        multiline ||= StringPrototypeIncludes(items[i], "\n");
      }
      const few = natural === 0 || items.length <= 6 || open === "{";
      if (!multiline && length <= LINE && (few || length <= LINE)) {
        return `${lead}${open} ${join(items, ", ")} ${close}`;
      }
      const indent = StringPrototypeRepeat("  ", depth + 1);
      const outer = StringPrototypeRepeat("  ", depth);
      return `${lead}${open}\n${indent}${join(items, `,\n${indent}`)}\n${outer}${close}`;
    }
  }

  function more(items, size) {
    if (size > MAX_ITEMS) {
      push(items, `... ${size - MAX_ITEMS} more items`);
    }
  }

  function join(items, between) {
    let text = "";
    for (let i = 0; i < items.length; i++) {
      text += i === 0 ? items[i] : between + items[i];
    }
    return text;
  }

  // How a value looks in the console. Never throws: a hostile value is named as such.
  function inspect(value) {
    try {
      return new Inspector().value(value, 0);
    } catch {
      return "<a value that cannot be shown>";
    }
  }

  function shown(value) {
    return typeof value === "string" ? value : inspect(value);
  }

  // The arguments of console.log as one text, `%` directives filled in.
  function format(args) {
    let text = "";
    let next = 0;
    if (args.length > 1 && typeof args[0] === "string" && StringPrototypeIncludes(args[0], "%")) {
      const pattern = args[0];
      next = 1;
      let from = 0;
      for (let at = StringPrototypeIndexOf(pattern, "%"); at >= 0; at = StringPrototypeIndexOf(pattern, "%", at)) {
        const filled = at + 1 < pattern.length ? directive(pattern[at + 1], next < args.length, args[next]) : null;
        if (filled === null) {
          at += 1;
          continue;
        }
        text += StringPrototypeSlice(pattern, from, at) + filled;
        if (pattern[at + 1] !== "%") {
          next++;
        }
        at += 2;
        from = at;
      }
      text += StringPrototypeSlice(pattern, from);
      if (next < args.length) {
        text += " ";
      }
    }
    for (let i = next; i < args.length; i++) {
      text += (i > next ? " " : "") + shown(args[i]);
    }
    return text;
  }

  // What stands for `%x`; null where it stays as it is.
  function directive(letter, given, value) {
    if (letter === "%") {
      return "%";
    }
    if (!given) {
      return null;
    }
    switch (letter) {
      case "s":
        return shown(value);
      case "d":
      case "i":
        return typeof value === "object" || typeof value === "symbol"
          ? "NaN"
          : typeof value === "bigint"
          ? inspect(value)
          : `${letter === "i" ? NumberParseInt(value) : Number(value)}`;
      case "f":
        return typeof value === "symbol" ? "NaN" : `${NumberParseFloat(value)}`;
      case "j":
      case "o":
      case "O":
        return inspect(value);
      case "c":
        return "";
      default:
        return null;
    }
  }

  const LEVELS = { __proto__: null, debug: 0, log: 1, info: 2, warn: 3, error: 4 };
  const counts = new SafeMap();
  const timers = new SafeMap();
  let depth = 0;
  let full = false;

  function print(level, text) {
    if (depth > 0) {
      const indent = StringPrototypeRepeat("  ", depth);
      text = indent + StringPrototypeReplaceAll(text, "\n", `\n${indent}`);
    }
    full = op_seam_console(LEVELS[level], text);
  }

  // Once the host has what it keeps, nothing is formatted any more.
  function write(level, args) {
    if (!full) {
      print(level, format(args));
    }
  }

  function label(value) {
    return value === undefined ? "default" : shown(value);
  }

  function table(value) {
    if (typeof value !== "object" || value === null) {
      return write("log", [value]);
    }
    const columns = list();
    const known = new SafeSet();
    const rows = list();
    const keys = ReflectOwnKeys(value);
    let plain = false;
    for (let i = 0; i < MathMin(keys.length, MAX_ITEMS); i++) {
      if (!ObjectPrototypePropertyIsEnumerable(value, keys[i])) {
        continue;
      }
      const row = { __proto__: null, key: String(keys[i]), cells: new SafeMap(), value: undefined };
      const item = data(value, keys[i]);
      if (typeof item === "object" && item !== null) {
        const inner = ReflectOwnKeys(item);
        for (let j = 0; j < MathMin(inner.length, 20); j++) {
          if (ObjectPrototypePropertyIsEnumerable(item, inner[j])) {
            const name = String(inner[j]);
            if (!known.has(name)) {
              known.add(name);
              push(columns, name);
            }
            row.cells.set(name, inspect(data(item, inner[j])));
          }
        }
      } else {
        plain = true;
        row.value = inspect(item);
      }
      push(rows, row);
    }
    let text = "(index)";
    for (let i = 0; i < columns.length; i++) {
      text += ` | ${columns[i]}`;
    }
    if (plain) {
      text += " | Values";
    }
    for (let i = 0; i < rows.length; i++) {
      text += `\n${rows[i].key}`;
      for (let j = 0; j < columns.length; j++) {
        text += ` | ${rows[i].cells.get(columns[j]) ?? ""}`;
      }
      if (plain) {
        text += ` | ${rows[i].value ?? ""}`;
      }
    }
    write("log", [text]);
  }

  const console = {
    debug(...args) {
      write("debug", args);
    },
    log(...args) {
      write("log", args);
    },
    info(...args) {
      write("info", args);
    },
    warn(...args) {
      write("warn", args);
    },
    error(...args) {
      write("error", args);
    },
    trace(...args) {
      if (!full) {
        const at = { __proto__: null, stack: "" };
        ErrorCaptureStackTrace(at, console.trace);
        print("error", `Trace: ${format(args)}${StringPrototypeSlice(at.stack, StringPrototypeIndexOf(`${at.stack}\n`, "\n"))}`);
      }
    },
    assert(condition, ...args) {
      if (!condition) {
        write("error", ["Assertion failed%s", args.length === 0 ? "" : `: ${format(args)}`]);
      }
    },
    dir(value) {
      write("log", ["%o", value]);
    },
    dirxml(...args) {
      write("log", args);
    },
    table,
    group(...args) {
      if (args.length > 0) {
        write("log", args);
      }
      depth = MathMin(depth + 1, 16);
    },
    groupCollapsed(...args) {
      console.group(...new primordials.SafeArrayIterator(args));
    },
    groupEnd() {
      depth = depth > 0 ? depth - 1 : 0;
    },
    count(name) {
      const key = label(name);
      counts.set(key, (counts.get(key) ?? 0) + 1);
      write("log", [`${key}: ${counts.get(key)}`]);
    },
    countReset(name) {
      counts.delete(label(name));
    },
    time(name) {
      timers.set(label(name), op_seam_now());
    },
    timeLog(name, ...args) {
      elapsed(label(name), args);
    },
    timeEnd(name) {
      const key = label(name);
      elapsed(key, []);
      timers.delete(key);
    },
    clear() {},
  };

  function elapsed(key, args) {
    const start = timers.get(key);
    if (start !== undefined) {
      const text = args.length === 0 ? "" : ` ${format(args)}`;
      write("log", ["%s", `${key}: ${NumberPrototypeToString(op_seam_now() - start)}ms${text}`]);
    }
  }

  internals.seam.console = console;
  internals.seam.inspect = inspect;
})(globalThis.__bootstrap);
