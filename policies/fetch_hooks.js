// Three habits for fetch(), in JavaScript. `fetch_hooks.rego` is the same in Rego; the
// cases in `fetch_hooks.cases.json` hold for both.
//
// Before a request (`pre`): refuses credentials in the query, where every log on the way
// keeps them; then turns clear text into TLS.
// After an answer (`post`): drops header fields that tell about the server or set cookies.
//
//     {"fetch": {"pre":  [{"url": "file:///etc/seam/fetch_hooks.js"}],
//                "post": [{"url": "file:///etc/seam/fetch_hooks.js"}]}}

// Hosts that may be spoken to in clear text. `*.` in front stands for every host below a
// domain. The default: this machine.
const PLAIN_HTTP_HOSTS = ["localhost", "*.localhost", "127.0.0.1", "[::1]"];

// Names of query parameters that carry credentials, in lower case and without `-`, `_` and
// `.`: `apikey` stands for `api_key`, `API-Key` and `apiKey`.
const CREDENTIAL_PARAMETERS = new Set([
  "accesskey",
  "accesstoken",
  "apikey",
  "apitoken",
  "authorization",
  "authtoken",
  "bearer",
  "clientsecret",
  "credential",
  "credentials",
  "idtoken",
  "passphrase",
  "passwd",
  "password",
  "privatekey",
  "pwd",
  "refreshtoken",
  "secret",
  "secretkey",
  "sessionid",
  "sessiontoken",
  "token",
]);

// Header fields of an answer that scripts do not get to see.
const SCRUBBED_HEADERS = new Set([
  "server",
  "set-cookie",
  "via",
  "x-aspnet-version",
  "x-aspnetmvc-version",
  "x-generator",
  "x-powered-by",
  "x-runtime",
]);

function pre(input) {
  if (credentialsInQuery(input.url_parsed.query)) {
    return { allow: false, reason: "credentials in query string" };
  }
  if (input.url_parsed.scheme === "http" && !plainHttpHost(input.url_parsed.host)) {
    input.url = input.url.replace(/^http:/, "https:");
    return { input, reason: "upgraded to https" };
  }
}

function post(input, output) {
  const fields = Object.entries(output.headers);
  const kept = fields.filter(([name]) => !SCRUBBED_HEADERS.has(name));
  if (kept.length < fields.length) {
    output.headers = Object.fromEntries(kept);
    return { output };
  }
}

function credentialsInQuery(query) {
  const parameters = query === null ? [] : query.split("&");
  return parameters.some((parameter) => CREDENTIAL_PARAMETERS.has(parameterName(parameter.split("=", 1)[0])));
}

// A parameter's name as CREDENTIAL_PARAMETERS spells it. Not decodeURIComponent: a stray
// `%` would make it throw, and the sender could choose whether this rule holds.
function parameterName(written) {
  const decoded = written.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(parseInt(code, 16)));
  return decoded.toLowerCase().replace(/[-_.+ ]/g, "");
}

function plainHttpHost(host) {
  return PLAIN_HTTP_HOSTS.some((pattern) =>
    pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern
  );
}
