// The conformance hook in JavaScript. The command language is described in
// guest-hooks/examples/vectors/README.md; like there, everything it does is computed from
// the request it judges.

const BOTH = ["allow", "deny", "abstain", "fail", "trap", "spin"];
const REQUEST = ["url", "path+", "method"];
const ACTIONS = ["once", "twice", "never", "fallback", "rethrow", "catch"];

function pre(input) {
  const commands = read(input, "x-case", [...BOTH, ...REQUEST], placeholders(input));
  return verdict(commands, "input", () => rewriteRequest(input, commands));
}

function post(input, output) {
  const known = { ...placeholders(input), status: String(output.status) };
  const commands = read(input, "x-case-post", [...BOTH, "status", "body"], known);
  return verdict(commands, "output", () => rewriteAnswer(output, commands));
}

async function handle(received, next) {
  const commands = read(received, "x-case-layer", ["deny", "fail", "trap", "spin", ...ACTIONS, ...REQUEST], placeholders(received));
  if (ACTIONS.filter((action) => commands.has(action)).length > 1) throw new Error(`more than one of ${ACTIONS}`);
  misbehave(commands);
  if (commands.has("deny")) throw Object.assign(new Error(commands.get("deny") ?? ""), { name: "Denied" });
  const input = rewriteRequest(received, commands) ?? received;

  if (commands.has("never")) return answer(number(commands, "never"), input.url);
  if (commands.has("twice")) await next(input);
  try {
    return await next(input);
  } catch (refused) {
    if (commands.get("fallback") !== undefined) return next({ ...input, url: commands.get("fallback") });
    if (commands.has("catch")) {
      const caught = `${refused.kind} by ${refused.by}: ${refused.reason ?? ""}`;
      return { ...answer(number(commands, "catch"), input.url), headers: { "x-caught": caught } };
    }
    throw refused;
  }
}

// The verdict of a pre or post hook; `rewrite` gives the document in place of `side`.
function verdict(commands, side, rewrite) {
  misbehave(commands);
  if (commands.has("deny")) return withReason({ allow: false }, commands.get("deny"));
  if (commands.has("abstain")) return undefined;
  const rewritten = rewrite();
  if (rewritten) return withReason({ [side]: rewritten }, commands.get("allow"));
  return commands.has("allow") ? withReason({ allow: true }, commands.get("allow")) : undefined;
}

function withReason(said, reason) {
  return reason === undefined ? said : { ...said, reason };
}

function misbehave(commands) {
  if (commands.has("trap")) null.trap;
  while (commands.has("spin"));
  if (commands.has("fail")) throw new Error(commands.get("fail") ?? "fail");
}

// The commands of one header as a map from word to argument (undefined where it has none).
function read(input, header, known, placeholders) {
  const commands = new Map();
  for (const command of (input.headers[header] ?? "").split(";").map((it) => it.trim())) {
    if (command === "") continue;
    const at = command.indexOf("=");
    const word = at < 0 ? command : command.slice(0, at);
    const argument = at < 0 ? undefined : fill(command.slice(at + 1), placeholders);
    const fits = word.startsWith("set:") ? at >= 0 : word.startsWith("remove:") ? at < 0 : known.includes(word);
    if (!fits) throw new Error(`unknown command ${command}`);
    if (commands.has(word)) throw new Error(`${word} is given twice`);
    commands.set(word, argument);
  }
  return commands;
}

function placeholders(input) {
  const { scheme, host, port, path, query } = input.url_parsed;
  return { method: input.method, scheme, host, port: port === null ? "" : String(port), path, query: query ?? "" };
}

function fill(text, placeholders) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (Object.hasOwn(placeholders, name) ? placeholders[name] : whole));
}

function number(commands, word) {
  const text = commands.get(word) ?? "";
  if (!/^\d+$/.test(text)) throw new Error(`${word}=${text} is no number`);
  return Number(text);
}

// The request after every rewrite among the commands; undefined where there is none.
function rewriteRequest(input, commands) {
  const given = (word) => commands.get(word) !== undefined;
  if (given("url") && given("path+")) throw new Error("url and path+ stand side by side");
  const fields = {};
  if (given("url")) fields.url = commands.get("url");
  if (given("path+")) {
    const { scheme, host, port, path, query } = input.url_parsed;
    const before = `${scheme}://${host}${port === null ? "" : `:${port}`}${path}`;
    fields.url = before + commands.get("path+") + (query === null ? "" : `?${query}`);
  }
  if (given("method")) fields.method = commands.get("method");
  return rewritten(input, fields, commands);
}

function rewriteAnswer(output, commands) {
  const fields = {};
  if (commands.has("status")) fields.status = number(commands, "status");
  if (commands.get("body") !== undefined) fields.body = base64(utf8(commands.get("body")));
  return rewritten(output, fields, commands);
}

// The document with these fields, and the headers as `remove:` and `set:` have them.
function rewritten(document, fields, commands) {
  const words = [...commands.keys()];
  const headerNames = (prefix) => words.filter((word) => word.startsWith(prefix)).map((word) => word.slice(prefix.length));
  const [removed, set] = [headerNames("remove:"), headerNames("set:")];
  if (Object.keys(fields).length + removed.length + set.length === 0) return undefined;
  const headers = { ...document.headers };
  for (const name of removed) delete headers[name.toLowerCase()];
  for (const name of set) headers[name.toLowerCase()] = commands.get(`set:${name}`);
  return { ...document, ...fields, headers };
}

function answer(status, url) {
  return { status, statusText: "", url, headers: {}, body: "", bodyEncoding: "base64", redirected: false };
}

function utf8(text) {
  return [...unescape(encodeURIComponent(text))].map((byte) => byte.charCodeAt(0));
}

function base64(bytes) {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  let text = "";
  for (let at = 0; at < bytes.length; at += 3) {
    const group = (bytes[at] << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (let part = 0; part < 4; part++) {
      text += part <= bytes.length - at ? alphabet[(group >> (18 - part * 6)) & 63] : "=";
    }
  }
  return text;
}
