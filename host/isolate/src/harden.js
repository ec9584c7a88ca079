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
})();
