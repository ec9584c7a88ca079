# Three habits for fetch(), in Rego. `fetch_hooks.js` is the same in JavaScript; the cases
# in `fetch_hooks.cases.json` hold for both.
#
# Before a request (`pre`): refuses credentials in the query, where every log on the way
# keeps them; then turns clear text into TLS.
# After an answer (`post`): drops header fields that tell about the server or set cookies.
#
#     {"fetch": {"pre":  [{"url": "file:///etc/seam/fetch_hooks.rego"}],
#                "post": [{"url": "file:///etc/seam/fetch_hooks.rego"}]}}
package mcp.fetch

# Hosts that may be spoken to in clear text. `*.` in front stands for every host below a
# domain. The default: this machine.
plain_http_hosts := {"localhost", "*.localhost", "127.0.0.1", "[::1]"}

# Names of query parameters that carry credentials, in lower case and without `-`, `_` and
# `.`: `apikey` stands for `api_key`, `API-Key` and `apiKey`.
credential_parameters := {
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
}

# Header fields of an answer that scripts do not get to see.
scrubbed_headers := {
	"server",
	"set-cookie",
	"via",
	"x-aspnet-version",
	"x-aspnetmvc-version",
	"x-generator",
	"x-powered-by",
	"x-runtime",
}

pre := {"allow": false, "reason": "credentials in query string"} if hook_credentials_in_query

pre := {"input": object.union(input, {"url": secure_url}), "reason": "upgraded to https"} if {
	not hook_credentials_in_query
	input.url_parsed.scheme == "http"
	not hook_plain_http_host
	secure_url := concat("", ["https", trim_prefix(input.url, "http")])
}

# `object.union` joins objects within objects too, so the old headers have to go first.
post := {"output": object.union(object.remove(input.output, ["headers"]), {"headers": kept})} if {
	some name, _ in input.output.headers
	name in scrubbed_headers
	kept := object.remove(input.output.headers, scrubbed_headers)
}

# A request without a query has null there, which no text builtin takes.
hook_credentials_in_query if {
	is_string(input.url_parsed.query)
	some parameter in split(input.url_parsed.query, "&")
	hook_parameter_name(split(parameter, "=")[0]) in credential_parameters
}

hook_plain_http_host if input.url_parsed.host in plain_http_hosts

hook_plain_http_host if {
	some pattern in plain_http_hosts
	startswith(pattern, "*.")
	endswith(input.url_parsed.host, substring(pattern, 1, -1))
}

# A parameter's name as `credential_parameters` spells it. No decoding builtin: one that
# ends in an error for a stray `%` would let the sender choose whether this rule holds.
hook_parameter_name(written) := regex.replace(
	strings.replace_n(hook_percent_encoded, lower(written)),
	`[-_.+]|%20`,
	"",
)

# Every letter and separator as a sender might write it with a percent sign, in lower case.
hook_percent_encoded := object.union(
	{concat("", ["%", format_int(first + index, 16)]): substring("abcdefghijklmnopqrstuvwxyz", index, 1) |
		some first in [65, 97]
		some index in numbers.range(0, 25)
	},
	{"%2d": "-", "%2e": ".", "%5f": "_"},
)
