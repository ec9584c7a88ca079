# Which hosts scripts may reach with fetch(), and how. An example: put your own hosts in.
#
# A policy judges what will really be sent, after every hook has had its say. This one is
# a gate: a request goes out only where `allow` is true, so a host, a method or a port
# that nobody listed is denied. A denial says why, built only from fields that every
# request has.
#
#     {"fetch": {"policies": [{"url": "file:///etc/seam/fetch.rego"}]}}
package mcp.fetch

# The methods that each host may be asked with. `*.` in front stands for every host below
# a domain, and not for the domain itself.
allowed_methods := {
	"api.example.com": {"GET", "HEAD", "POST"},
	"example.com": {"GET", "HEAD"},
	"*.example.com": {"GET", "HEAD"},
	"*.example.org": {"GET", "HEAD"},
}

# Schemes that may be spoken. Requests in clear text can be read and changed on the way.
allowed_schemes := {"https"}

allow if count(fetch_objections) == 0

allow := {"allow": false, "reason": concat(", ", sort(fetch_objections))} if {
	count(fetch_objections) > 0
}

# Everything that speaks against the request.
fetch_objections contains message if {
	count(fetch_methods) == 0
	message := sprintf("host %s is not allowed", [input.url_parsed.host])
}

fetch_objections contains message if {
	count(fetch_methods) > 0
	not input.method in fetch_methods
	message := sprintf("method %s is not allowed at %s", [input.method, input.url_parsed.host])
}

fetch_objections contains message if {
	not input.url_parsed.scheme in allowed_schemes
	message := sprintf("scheme %s is not allowed", [input.url_parsed.scheme])
}

# `port` is null where the URL leaves it to the scheme.
fetch_objections contains message if {
	input.url_parsed.port != null
	message := sprintf("port %d is not allowed", [input.url_parsed.port])
}

# The methods of every entry that the host matches; more than one entry may.
fetch_methods contains method if {
	some pattern, methods in allowed_methods
	fetch_host_matches(pattern)
	some method in methods
}

fetch_host_matches(pattern) if pattern == input.url_parsed.host

# The dot stays in what is compared, so `evilexample.com` is not below `example.com`.
fetch_host_matches(pattern) if {
	startswith(pattern, "*.")
	endswith(input.url_parsed.host, substring(pattern, 1, -1))
}
