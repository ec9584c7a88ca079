// What the other scripts share: lists no guest can interfere with, conversions as WebIDL
// has them, iterators over pairs. Runs first, when the snapshot is made.
"use strict";
(({ core, primordials, internals }) => {
  const {
    ArrayBufferIsView,
    ArrayBufferPrototypeGetByteLength,
    DataViewPrototypeGetBuffer,
    DataViewPrototypeGetByteLength,
    DataViewPrototypeGetByteOffset,
    FunctionPrototypeCall,
    IteratorPrototype,
    ObjectCreate,
    ObjectDefineProperty,
    ObjectGetPrototypeOf,
    ObjectSetPrototypeOf,
    ReflectApply,
    ReflectGetOwnPropertyDescriptor,
    ReflectOwnKeys,
    StringPrototypeCharCodeAt,
    StringPrototypeToWellFormed,
    Symbol,
    SymbolIterator,
    SymbolToStringTag,
    TypedArrayPrototypeGetBuffer,
    TypedArrayPrototypeGetByteLength,
    TypedArrayPrototypeGetByteOffset,
    TypedArrayPrototypeGetSymbolToStringTag,
    TypedArrayPrototypeSet,
    TypeError,
    Uint8Array,
    ArrayIteratorPrototype,
  } = primordials;

  // Arrays without a prototype: no setter that a guest puts on Array.prototype or
  // Object.prototype ever sees what is stored in them.
  function list() {
    return ObjectSetPrototypeOf([], null);
  }

  function push(items, value) {
    items[items.length] = value;
  }

  function isObject(value) {
    return (typeof value === "object" && value !== null) || typeof value === "function";
  }

  function string(value) {
    if (typeof value === "symbol") {
      throw new TypeError("a symbol cannot be converted to a string");
    }
    return `${value}`;
  }

  function usvString(value) {
    return StringPrototypeToWellFormed(string(value));
  }

  function byteString(value, what) {
    const text = string(value);
    for (let i = 0; i < text.length; i++) {
      if (StringPrototypeCharCodeAt(text, i) > 0xff) {
        throw new TypeError(`${what} contains a character beyond U+00FF`);
      }
    }
    return text;
  }

  // An optional dictionary argument: an object whose members are then read one by one.
  function dictionary(value, what) {
    if (value === undefined || value === null) {
      return { __proto__: null };
    }
    if (!isObject(value)) {
      throw new TypeError(`${what} is not an object`);
    }
    return value;
  }

  function required(given, count, what) {
    if (given < count) {
      throw new TypeError(`${what} needs ${count} argument${count === 1 ? "" : "s"}, got ${given}`);
    }
  }

  // Calls `each` with every item of an iterable whose iterator method has been read.
  function iterate(iterable, method, each) {
    const iterator = ReflectApply(method, iterable, []);
    if (!isObject(iterator)) {
      throw new TypeError("the iterator is not an object");
    }
    const next = iterator.next;
    while (true) {
      const step = ReflectApply(next, iterator, []);
      if (!isObject(step)) {
        throw new TypeError("the iterator's result is not an object");
      }
      if (step.done) {
        return;
      }
      each(step.value);
    }
  }

  function iteratorMethod(value) {
    const method = value[SymbolIterator];
    if (method === undefined || method === null) {
      return null;
    }
    if (typeof method !== "function") {
      throw new TypeError("the iterator is not a function");
    }
    return method;
  }

  // The pairs of a sequence of pairs or of a record, each value read once.
  function eachPair(init, what, each) {
    if (!isObject(init)) {
      throw new TypeError(`${what} is neither an object nor a list of pairs`);
    }
    const method = iteratorMethod(init);
    if (method !== null) {
      iterate(init, method, (item) => {
        const inner = isObject(item) ? iteratorMethod(item) : null;
        if (inner === null) {
          throw new TypeError(`${what} contains an item that is not a pair`);
        }
        const pair = list();
        iterate(item, inner, (part) => push(pair, part));
        if (pair.length !== 2) {
          throw new TypeError(`${what} contains an item with ${pair.length} parts, not a pair`);
        }
        each(pair[0], pair[1]);
      });
      return;
    }
    const keys = ReflectOwnKeys(init);
    for (let i = 0; i < keys.length; i++) {
      const property = ReflectGetOwnPropertyDescriptor(init, keys[i]);
      if (property !== undefined && property.enumerable) {
        each(keys[i], init[keys[i]]);
      }
    }
  }

  // The bytes of an ArrayBuffer or of a view, shared with it; null for anything else.
  function bytesOf(value) {
    if (core.isArrayBuffer(value)) {
      return new Uint8Array(value, 0, ArrayBufferPrototypeGetByteLength(value));
    }
    if (!ArrayBufferIsView(value)) {
      return null;
    }
    if (TypedArrayPrototypeGetSymbolToStringTag(value) === undefined) {
      return new Uint8Array(
        DataViewPrototypeGetBuffer(value),
        DataViewPrototypeGetByteOffset(value),
        DataViewPrototypeGetByteLength(value),
      );
    }
    return new Uint8Array(
      TypedArrayPrototypeGetBuffer(value),
      TypedArrayPrototypeGetByteOffset(value),
      TypedArrayPrototypeGetByteLength(value),
    );
  }

  // A copy of part of some bytes, in a buffer of its own.
  function copy(bytes, start = 0, end = TypedArrayPrototypeGetByteLength(bytes)) {
    const copied = new Uint8Array(end - start);
    TypedArrayPrototypeSet(
      copied,
      new Uint8Array(
        TypedArrayPrototypeGetBuffer(bytes),
        TypedArrayPrototypeGetByteOffset(bytes) + start,
        end - start,
      ),
    );
    return copied;
  }

  function concat(chunks) {
    let length = 0;
    for (let i = 0; i < chunks.length; i++) {
      length += TypedArrayPrototypeGetByteLength(chunks[i]);
    }
    const all = new Uint8Array(length);
    let at = 0;
    for (let i = 0; i < chunks.length; i++) {
      TypedArrayPrototypeSet(all, chunks[i], at);
      at += TypedArrayPrototypeGetByteLength(chunks[i]);
    }
    return all;
  }

  // Gives a class entries(), keys(), values(), forEach() and an iterator over the pairs
  // that `pairsOf(target)` lists; iteration follows changes, as the standard has it.
  function pairIterable(Class, name, pairsOf) {
    const state = Symbol("state");
    const iteratorPrototype = ObjectCreate(ObjectGetPrototypeOf(ArrayIteratorPrototype));
    hidden(iteratorPrototype, "next", function next() {
      const at = this?.[state];
      if (at === undefined) {
        throw new TypeError(`this is not a ${name} iterator`);
      }
      const pairs = pairsOf(at.target);
      if (at.index >= pairs.length) {
        return { value: undefined, done: true };
      }
      const pair = pairs[at.index++];
      const value = at.kind === "both" ? [pair[0], pair[1]] : pair[at.kind === "keys" ? 0 : 1];
      return { value, done: false };
    });
    tag(iteratorPrototype, `${name} Iterator`);

    function iterator(target, kind) {
      pairsOf(target);
      const made = ObjectCreate(iteratorPrototype);
      ObjectDefineProperty(made, state, { __proto__: null, value: { __proto__: null, target, kind, index: 0 } });
      return made;
    }

    const { prototype } = Class;
    const methods = {
      __proto__: null,
      entries() {
        return iterator(this, "both");
      },
      keys() {
        return iterator(this, "keys");
      },
      values() {
        return iterator(this, "values");
      },
      forEach(callback, thisArg = undefined) {
        pairsOf(this);
        if (typeof callback !== "function") {
          throw new TypeError(`${name}.forEach needs a function`);
        }
        for (let i = 0; i < pairsOf(this).length; i++) {
          const pair = pairsOf(this)[i];
          FunctionPrototypeCall(callback, thisArg, pair[1], pair[0], this);
        }
      },
    };
    for (const key in methods) {
      ObjectDefineProperty(prototype, key, {
        __proto__: null,
        value: methods[key],
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    hidden(prototype, SymbolIterator, methods.entries);
  }

  function hidden(target, key, value) {
    ObjectDefineProperty(target, key, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
  }

  function tag(prototype, name) {
    ObjectDefineProperty(prototype, SymbolToStringTag, { __proto__: null, value: name, configurable: true });
  }

  // Makes the members of a class enumerable, as WebIDL has them, and tags it.
  function webInterface(Class, name) {
    for (const target of [Class.prototype, Class]) {
      const keys = ReflectOwnKeys(target);
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        const property = ReflectGetOwnPropertyDescriptor(target, key);
        if (typeof key === "string" && key !== "constructor" && key !== "prototype" && property.configurable) {
          if (key !== "name" && key !== "length") {
            ObjectDefineProperty(target, key, { __proto__: null, enumerable: true });
          }
        }
      }
    }
    tag(Class.prototype, name);
  }

  internals.seam = {
    __proto__: null,
    byteString,
    bytesOf,
    concat,
    copy,
    dictionary,
    eachPair,
    hidden,
    isObject,
    iterate,
    iteratorMethod,
    list,
    pairIterable,
    push,
    required,
    string,
    usvString,
    webInterface,
  };
})(globalThis.__bootstrap);
