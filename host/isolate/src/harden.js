"use strict";
(() => {
  const Original = ArrayBuffer;
  const { construct, defineProperty, deleteProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
  const { prototype } = Original;

  function Buffer(length) {
    if (new.target === undefined) {
      throw new TypeError("Constructor ArrayBuffer requires 'new'");
    }
    return construct(Original, [length], new.target);
  }
  for (const key of ownKeys(Original)) {
    defineProperty(Buffer, key, getOwnPropertyDescriptor(Original, key));
  }
  for (const key of ["resize", "resizable", "maxByteLength"]) {
    deleteProperty(prototype, key);
  }
  // The original would otherwise be one `buffer.constructor` away.
  defineProperty(prototype, "constructor", { value: Buffer, writable: true, enumerable: false, configurable: true });
  defineProperty(globalThis, "ArrayBuffer", { value: Buffer, writable: true, enumerable: false, configurable: true });

  // V8 collects what it sorts into one array, and ends the process where that can't be.
  // What is no array is collected here, its length read once.
  const LONGEST = 2 ** 26;
  const { apply } = Reflect;
  const { isArray } = Array;
  const { max, min, trunc } = Math;
  const { sort, toSorted } = Array.prototype;

  function measured(length) {
    const whole = min(max(trunc(length) || 0, 0), 2 ** 53 - 1);
    if (whole > LONGEST) {
      throw new RangeError("there is too much to sort");
    }
    return whole;
  }

  function checked(compare) {
    if (compare !== undefined && typeof compare !== "function") {
      throw new TypeError("what compares is not a function");
    }
  }

  const guarded = {
    sort(compare) {
      if (isArray(this) || this === undefined || this === null) {
        measured(this?.length);
        return apply(sort, this, [compare]);
      }
      checked(compare);
      const object = Object(this);
      const length = measured(object.length);
      const items = [];
      let count = 0;
      for (let i = 0; i < length; i++) {
        if (i in object) {
          items[count++] = object[i];
        }
      }
      apply(sort, items, [compare]);
      for (let i = 0; i < count; i++) {
        object[i] = items[i];
      }
      for (let i = count; i < length; i++) {
        delete object[i];
      }
      return object;
    },
    toSorted(compare) {
      if (isArray(this) || this === undefined || this === null) {
        measured(this?.length);
        return apply(toSorted, this, [compare]);
      }
      checked(compare);
      const object = Object(this);
      const length = measured(object.length);
      const items = [];
      for (let i = 0; i < length; i++) {
        items[i] = object[i];
      }
      return apply(sort, items, [compare]);
    },
  };
  for (const name of ["sort", "toSorted"]) {
    defineProperty(Array.prototype, name, { value: guarded[name], writable: true, enumerable: false, configurable: true });
  }
})();
