// structuredClone, as the HTML standard has it for values of the language.
//
// In script rather than by V8's serialiser: that one writes into memory nobody counts, a
// text as often as it occurs, and what it offers to hosts can be called by guests.
"use strict";
(({ core, primordials, internals }) => {
  const {
    ArrayBufferPrototypeGetByteLength,
    ArrayBufferIsView,
    ArrayIsArray,
    ArrayPrototype,
    BigIntPrototypeValueOf,
    BooleanPrototypeValueOf,
    DataView,
    DataViewPrototypeGetBuffer,
    DataViewPrototypeGetByteLength,
    DataViewPrototypeGetByteOffset,
    Date,
    DatePrototypeGetTime,
    Error,
    Map,
    MapPrototypeForEach,
    MapPrototypeSet,
    NumberPrototypeValueOf,
    Object,
    ObjectDefineProperty,
    ObjectGetOwnPropertyDescriptor,
    ObjectPrototype,
    ObjectPrototypePropertyIsEnumerable,
    ObjectSetPrototypeOf,
    ReflectOwnKeys,
    RegExp,
    RegExpPrototypeGetFlags,
    RegExpPrototypeGetSource,
    SafeMap,
    Set,
    SetPrototypeAdd,
    SetPrototypeForEach,
    StringPrototypeValueOf,
    TypedArrayPrototypeGetBuffer,
    TypedArrayPrototypeGetByteOffset,
    TypedArrayPrototypeGetLength,
    TypedArrayPrototypeGetSymbolToStringTag,
    Uint8Array,
    uncurryThis,
  } = primordials;
  const { Blob, copy, dictionary, isBlob, isFile, File, isObject, iterate, iteratorMethod, list, push, required } =
    internals.seam;
  const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
  const { isUncloneable } = core.loadExtScript("ext:deno_web/13_message_port.js");

  const moveBuffer = uncurryThis(ArrayBuffer.prototype.transfer);
  const isDetached = uncurryThis(ObjectGetOwnPropertyDescriptor(ArrayBuffer.prototype, "detached").get);
  const ERRORS = { __proto__: null };
  for (const name of ["EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"]) {
    ERRORS[name] = primordials[name];
  }
  const ARRAYS = { __proto__: null, Float16Array: globalThis.Float16Array };
  for (
    const name of [
      "BigInt64Array",
      "BigUint64Array",
      "Float32Array",
      "Float64Array",
      "Int8Array",
      "Int16Array",
      "Int32Array",
      "Uint8Array",
      "Uint8ClampedArray",
      "Uint16Array",
      "Uint32Array",
    ]
  ) {
    ARRAYS[name] = primordials[name];
  }

  function refuse(what) {
    throw new DOMException(`${what} cannot be cloned`, "DataCloneError");
  }

  // The value of an own data property, without running a getter.
  function data(object, key) {
    const property = ObjectGetOwnPropertyDescriptor(object, key);
    return property !== undefined && "value" in property ? property.value : undefined;
  }

  class Cloner {
    // What has been cloned already, and what takes the place of a buffer that is moved.
    done = new SafeMap();
    moved = new SafeMap();

    clone(value) {
      if (typeof value === "symbol") {
        refuse("a symbol");
      }
      if (!isObject(value)) {
        return value;
      }
      if (this.done.has(value)) {
        return this.done.get(value);
      }
      if (typeof value === "function") {
        refuse("a function");
      }
      if (core.isProxy(value)) {
        refuse("a proxy");
      }
      return this.exotic(value) ?? this.plain(value);
    }

    keep(value, twin) {
      this.done.set(value, twin);
      return twin;
    }

    // The twin of an object with a nature of its own; undefined for a plain one.
    exotic(value) {
      if (core.isBoxedPrimitive(value)) {
        return this.keep(value, this.boxed(value));
      }
      if (core.isDate(value)) {
        return this.keep(value, new Date(DatePrototypeGetTime(value)));
      }
      if (core.isRegExp(value)) {
        return this.keep(value, new RegExp(RegExpPrototypeGetSource(value), RegExpPrototypeGetFlags(value)));
      }
      if (core.isArrayBuffer(value)) {
        return this.keep(value, this.buffer(value));
      }
      if (ArrayBufferIsView(value)) {
        return this.keep(value, this.view(value));
      }
      if (core.isMap(value)) {
        const twin = this.keep(value, new Map());
        const entries = list();
        MapPrototypeForEach(value, (item, key) => {
          push(entries, key);
          push(entries, item);
        });
        for (let i = 0; i < entries.length; i += 2) {
          MapPrototypeSet(twin, this.clone(entries[i]), this.clone(entries[i + 1]));
        }
        return twin;
      }
      if (core.isSet(value)) {
        const twin = this.keep(value, new Set());
        const entries = list();
        SetPrototypeForEach(value, (item) => push(entries, item));
        for (let i = 0; i < entries.length; i++) {
          SetPrototypeAdd(twin, this.clone(entries[i]));
        }
        return twin;
      }
      if (core.isNativeError(value)) {
        return this.error(value);
      }
      if (isBlob(value)) {
        const { type } = value;
        const twin = isFile(value)
          ? new File([value], value.name, { __proto__: null, type, lastModified: value.lastModified })
          : new Blob([value], { __proto__: null, type });
        return this.keep(value, twin);
      }
      if (core.isPromise(value) || core.isWeakMap(value) || core.isWeakSet(value)) {
        refuse("an object of this kind");
      }
      const { isFormData, isHeaders, isRequest, isResponse } = internals.seam;
      if (isUncloneable(value) || isHeaders(value) || isRequest(value) || isResponse(value) || isFormData(value)) {
        refuse("an object of the web platform");
      }
      return undefined;
    }

    boxed(value) {
      if (core.isNumberObject(value)) {
        return Object(NumberPrototypeValueOf(value));
      }
      if (core.isStringObject(value)) {
        return Object(StringPrototypeValueOf(value));
      }
      if (core.isBooleanObject(value)) {
        return Object(BooleanPrototypeValueOf(value));
      }
      if (core.isBigIntObject(value)) {
        return Object(BigIntPrototypeValueOf(value));
      }
      return refuse("a symbol");
    }

    buffer(value) {
      if (isDetached(value)) {
        refuse("a detached buffer");
      }
      if (this.moved.has(value)) {
        return moveBuffer(value);
      }
      return TypedArrayPrototypeGetBuffer(copy(new Uint8Array(value, 0, ArrayBufferPrototypeGetByteLength(value))));
    }

    view(value) {
      const tag = TypedArrayPrototypeGetSymbolToStringTag(value);
      if (tag === undefined) {
        const start = DataViewPrototypeGetByteOffset(value);
        const length = DataViewPrototypeGetByteLength(value);
        return new DataView(this.clone(DataViewPrototypeGetBuffer(value)), start, length);
      }
      const start = TypedArrayPrototypeGetByteOffset(value);
      const length = TypedArrayPrototypeGetLength(value);
      return new ARRAYS[tag](this.clone(TypedArrayPrototypeGetBuffer(value)), start, length);
    }

    error(value) {
      const { name } = value;
      const message = data(value, "message");
      const Class = (typeof name === "string" ? ERRORS[name] : undefined) ?? Error;
      const twin = this.keep(value, message === undefined ? new Class() : new Class(`${message}`));
      const { stack } = value;
      const own = { __proto__: null, stack: typeof stack === "string" ? stack : undefined };
      if (ObjectGetOwnPropertyDescriptor(value, "cause") !== undefined) {
        own.cause = this.clone(data(value, "cause"));
      }
      for (const key in own) {
        ObjectDefineProperty(twin, key, {
          __proto__: null,
          value: own[key],
          writable: true,
          enumerable: false,
          configurable: true,
        });
      }
      return twin;
    }

    // Filled before they get their prototype: no setter of a guest sees what goes in.
    plain(value) {
      const isArray = ArrayIsArray(value);
      const twin = this.keep(value, isArray ? list() : { __proto__: null });
      if (isArray) {
        twin.length = value.length;
      }
      const keys = ReflectOwnKeys(value);
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        if (typeof key === "string" && ObjectPrototypePropertyIsEnumerable(value, key)) {
          twin[key] = this.clone(value[key]);
        }
      }
      return ObjectSetPrototypeOf(twin, isArray ? ArrayPrototype : ObjectPrototype);
    }
  }
  ObjectSetPrototypeOf(Cloner.prototype, null);

  const { structuredClone } = {
    structuredClone(value, options = undefined) {
      required(arguments.length, 1, "structuredClone");
      const { transfer = undefined } = dictionary(options, "the options of structuredClone");
      const cloner = new Cloner();
      const buffers = list();
      if (transfer !== undefined) {
        const method = isObject(transfer) ? iteratorMethod(transfer) : null;
        if (method === null) {
          throw new primordials.TypeError("what is to be transferred is not a list");
        }
        iterate(transfer, method, (item) => {
          if (!core.isArrayBuffer(item) || isDetached(item) || cloner.moved.has(item)) {
            throw new DOMException("only array buffers can be transferred, and only once", "DataCloneError");
          }
          cloner.moved.set(item, true);
          push(buffers, item);
        });
      }
      const twin = cloner.clone(value);
      for (let i = 0; i < buffers.length; i++) {
        if (!isDetached(buffers[i])) {
          moveBuffer(buffers[i]);
        }
      }
      return twin;
    },
  };

  internals.seam.structuredClone = structuredClone;
})(globalThis.__bootstrap);
