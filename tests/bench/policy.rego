# An ordinary allow list, for the comparison: the same text through the component and
# through regorus natively.
package mcp.fetch

allowed := {
	"api.example.com": {"GET", "POST"},
	"*.example.org": {"GET"},
	"files.example.net": {"GET", "HEAD"},
}

default allow := false

allow if {
	input.url_parsed.scheme == "https"
	some pattern, methods in allowed
	matches(pattern, input.url_parsed.host)
	input.method in methods
	not forbidden
}

matches(pattern, host) if pattern == host

matches(pattern, host) if {
	startswith(pattern, "*.")
	endswith(host, substring(pattern, 1, -1))
}

forbidden if startswith(input.url_parsed.path, "/admin")

forbidden if contains(lower(input.url), "token=")

forbidden if {
	some name, _ in input.headers
	startswith(name, "x-internal-")
}
