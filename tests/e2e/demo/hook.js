// The demo's layer: knows where things have moved to, and keeps credentials out of URLs.

const MOVED = [["/v1/", "/v2/"]];

function handle(input, next) {
  if (/(^|&)(token|password)=/i.test(input.url_parsed.query ?? "")) {
    throw Object.assign(new Error("credentials in query string"), { name: "Denied" });
  }
  for (const [from, to] of MOVED) {
    if (input.url_parsed.path.startsWith(from)) input.url = input.url.replace(from, to);
  }
  return next(input);
}
