# The conformance hook in Rego. The command language is described in
# guest-hooks/examples/vectors/README.md; like there, everything it does is computed from
# the request it judges. `fail` and `trap` are both an erring builtin here.
package mcp.fetch

pre := judged("input", listed(input, "x-case"), {"url", "path+", "method"}, values(input))

post := judged("output", listed(input.input, "x-case-post"), {"status", "body"}, known) if {
	known := object.union(values(input.input), {"{status}": format_int(input.output.status, 10)})
}

# The verdict; undefined where the hook has no opinion. `side` is the document it may
# replace, `rewrites` the words that replace a part of it.
judged(side, list, rewrites, known) := to_number("not the command language") if {
	not well_formed(list, rewrites)
}

else := to_number("trap") if "trap" in words(list)

else := spin if {
	"spin" in words(list)
	spin := count({1 | some _ in numbers.range(1, 30000); some _ in numbers.range(1, 30000)})
}

else := to_number("fail") if "fail" in words(list)

else := with_reason({"allow": false}, argument_of("deny", list, known)) if "deny" in words(list)

else := null if "abstain" in words(list)

else := with_reason({side: rewritten}, argument_of("allow", list, known)) if {
	some word in words(list)
	rewriting(word, rewrites)
	rewritten := replaced(side, arguments(list, known))
}

else := with_reason({"allow": true}, argument_of("allow", list, known)) if "allow" in words(list)

with_reason(said, null) := said

with_reason(said, reason) := object.union(said, {"reason": reason}) if reason != null

# Reading a list of commands.

listed(request, header) := [command |
	some part in split(object.get(request.headers, header, ""), ";")
	command := trim_space(part)
	command != ""
]

words(list) := [word_of(command) | some command in list]

word_of(command) := split(command, "=")[0]

well_formed(list, rewrites) if {
	count(words(list)) == count({word | some word in words(list)})
	every command in list {
		fits(command, rewrites)
	}
}

fits(command, rewrites) if {
	word_of(command) in ({"abstain", "allow", "deny", "fail", "trap", "spin"} | rewrites)
}

fits(command, _) if {
	startswith(command, "set:")
	contains(command, "=")
}

fits(command, _) if {
	startswith(command, "remove:")
	not contains(command, "=")
}

rewriting(word, rewrites) if word in rewrites

rewriting(word, _) if startswith(word, "set:")

rewriting(word, _) if startswith(word, "remove:")

# Words and arguments as an object; null where a word has none.
arguments(list, known) := {word_of(command): argument_of(word_of(command), list, known) | some command in list}

argument_of(word, list, known) := filled(argument, known) if {
	some command in list
	startswith(command, concat("", [word, "="]))
	argument := trim_prefix(command, concat("", [word, "="]))
} else := null

# Placeholders, each text looked at once: what comes in for one is not filled again.
filled(text, known) := concat("", [object.get(known, piece, piece) | some piece in regex.find_n(`\{[a-z]+\}|[^{]+|\{`, text, -1)])

values(request) := {
	"{method}": request.method,
	"{scheme}": request.url_parsed.scheme,
	"{host}": request.url_parsed.host,
	"{port}": port_text(request.url_parsed.port, ""),
	"{path}": request.url_parsed.path,
	"{query}": text_or(request.url_parsed.query, ""),
}

text_or(null, other) := other

text_or(text, _) := text if is_string(text)

port_text(null, _) := ""

port_text(port, before) := concat("", [before, format_int(port, 10)]) if is_number(port)

# Documents with the parts replaced.

replaced("input", given) := document(input, object.union(method, url), given) if {
	method := {"method": given.method | is_string(given.method)}
	url := {"url": next_url(given) | some word in ["url", "path+"]; is_string(given[word])}
}

replaced("output", given) := document(input.output, object.union(status, body), given) if {
	status := {"status": status_of(given.status) | given.status}
	body := {"body": base64.encode(given.body) | is_string(given.body)}
}

document(base, fields, given) := object.union_n([
	object.remove(base, ["headers"]),
	fields,
	{"headers": object.union(object.remove(base.headers, removed), set)},
]) if {
	removed := {lower(trim_prefix(word, "remove:")) | some word, _ in given; startswith(word, "remove:")}
	set := {lower(trim_prefix(word, "set:")): value | some word, value in given; startswith(word, "set:")}
}

next_url(given) := to_number("url and path+ stand side by side") if {
	is_string(given.url)
	is_string(given["path+"])
} else := given.url if {
	is_string(given.url)
} else := concat("", [
	input.url_parsed.scheme,
	"://",
	input.url_parsed.host,
	port_text(input.url_parsed.port, ":"),
	input.url_parsed.path,
	given["path+"],
	query_text(input.url_parsed.query),
])

query_text(null) := ""

query_text(query) := concat("", ["?", query]) if is_string(query)

status_of(text) := to_number(text) if regex.match(`^[0-9]+$`, text)

else := to_number("not a status")
