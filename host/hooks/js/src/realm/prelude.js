"use strict";
// Evaluated once in every hook realm, before the hook's own file. Gives a function that
// takes the native log and gives the encoder of answers. Everything used later is
// captured here: what the file does to its built-ins afterwards is its own affair.
((log) => {
  const { stringify } = JSON;
  const { isFinite } = Number;
  const { defineProperty } = Object;
  const text = String;
  const TypeErrorOf = TypeError;
  const ErrorOf = Error;
  const PromiseOf = Promise;
  const MapOf = Map;
  const SetOf = Set;

  // What JSON.stringify would drop or turn into something else without a word.
  const unspeakable = (value) => {
    switch (typeof value) {
      case "function":
      case "symbol":
      case "bigint":
        return `a ${typeof value}`;
      case "number":
        return isFinite(value) ? undefined : `the number ${value}`;
      case "object":
        if (value instanceof PromiseOf) return "a promise that was not awaited";
        if (value instanceof MapOf) return "a Map";
        if (value instanceof SetOf) return "a Set";
    }
    return undefined;
  };

  const strict = (key, value) => {
    const what = unspeakable(value);
    if (what === undefined) return value;
    throw new TypeErrorOf(key === "" ? what : `${what} as ${key}`);
  };

  const show = (value) => {
    if (typeof value === "string") return value;
    try {
      if (typeof value === "object" && value !== null && !(value instanceof ErrorOf)) {
        const json = stringify(value);
        if (json !== undefined) return json;
      }
      return text(value);
    } catch {
      return "[a value that cannot be shown]";
    }
  };

  const say = (...values) => {
    let line = "";
    for (let i = 0; i < values.length; i += 1) {
      line += i === 0 ? show(values[i]) : " " + show(values[i]);
    }
    log(line);
  };

  const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true });
  const console = {};
  for (const level of ["debug", "dir", "error", "info", "log", "table", "trace", "warn"]) {
    console[level] = say;
  }
  defineProperty(globalThis, "console", hidden(console));

  // Its callbacks would run between calls, where no limit and no owner are.
  delete globalThis.FinalizationRegistry;

  return (answer) => {
    const json = stringify(answer, strict);
    // Only a toJSON can do that. It must not pass for abstaining.
    if (json === undefined || json === "null") throw new TypeErrorOf("a value that is nothing in JSON");
    return json;
  };
});
