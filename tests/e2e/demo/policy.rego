# The demo's policy: only this machine, and not its admin pages.
package mcp.fetch

allow if {
	input.url_parsed.host == "127.0.0.1"
	not startswith(input.url_parsed.path, "/admin")
}

allow := {"allow": false, "reason": "the admin pages are closed"} if {
	startswith(input.url_parsed.path, "/admin")
}
