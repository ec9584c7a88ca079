//! The web platform a guest has: classes that behave as their standards say.

use crate::support::{bare, json};

/// Each script comes to `true`, or to what is wrong.
fn holds(cases: &[&str]) {
    for code in cases {
        let outcome = bare(code);
        assert_eq!(json(&outcome), "true", "{code}");
    }
}

/// Each expression throws an error of this name.
fn throws(name: &str, cases: &[&str]) {
    for code in cases {
        let outcome = bare(&format!(
            "let e; try {{ {code}; e = 'nothing' }} catch (x) {{ e = x.name }} e"
        ));
        assert_eq!(json(&outcome), format!("{name:?}"), "{code}");
    }
}

#[test]
fn headers() {
    holds(&[
        "const h = new Headers({B: ' 2 ', a: '1'}); JSON.stringify([...h]) === '[[\"a\",\"1\"],[\"b\",\"2\"]]'",
        "const h = new Headers([['a', '1'], ['A', '2']]); h.get('a') === '1, 2' && [...h.keys()].join() === 'a'",
        "const h = new Headers(); h.append('set-cookie', 'a=1'); h.append('Set-Cookie', 'b=2'); h.getSetCookie().join('|') === 'a=1|b=2' && [...h].length === 2",
        "const h = new Headers({a: '1'}); h.set('A', '3'); h.has('a') && h.get('a') === '3'",
        "const h = new Headers({a: '1'}); h.delete('A'); h.get('a') === null && !h.has('a')",
        "const h = new Headers({a: '1', b: '2'}); const seen = []; h.forEach((v, k, o) => seen.push(k + v + (o === h))); seen.join() === 'a1true,b2true'",
        "const h = new Headers(new Headers({a: '1'})); h.get('a') === '1'",
        "const h = new Headers(new Map([['a', '1']])); h.get('a') === '1'",
        "const h = new Headers({a: '1', b: '2', c: '3'}); const seen = []; for (const [k] of h) { seen.push(k); if (k === 'a') h.delete('b') } seen.join() === 'a,c'",
        "Object.prototype.toString.call(new Headers()) === '[object Headers]' && Headers.length === 0",
        "new Headers().entries().toString() === '[object Headers Iterator]'",
        "Object.keys(Headers.prototype).sort().join() === 'append,delete,entries,forEach,get,getSetCookie,has,keys,set,values'",
    ]);
    throws(
        "TypeError",
        &[
            "new Headers(null)",
            "new Headers([['a']])",
            "new Headers({'a b': '1'})",
            "new Headers().append('a')",
            "new Headers().set('', '1')",
            "new Headers({a: '\\n1\\n2'})",
            "Headers.prototype.get.call({}, 'a')",
            "Response.error().headers.set('a', '1')",
            "Response.redirect('http://a/').headers.append('a', '1')",
            "Headers()",
        ],
    );
}

#[test]
fn requests() {
    holds(&[
        "const r = new Request('http://a/b#c'); r.url === 'http://a/b#c' && r.method === 'GET' && r.body === null && !r.bodyUsed && r.redirect === 'follow'",
        "new Request('http://a/', {method: 'patch'}).method === 'patch' && new Request('http://a/', {method: 'put'}).method === 'PUT'",
        "const a = new Request('http://a/', {method: 'POST', body: 'x', headers: {a: '1'}}); const b = new Request(a); (await b.text()) === 'x' && a.bodyUsed && b.headers.get('a') === '1'",
        "const a = new Request('http://a/', {method: 'POST', body: 'x'}); const b = a.clone(); (await a.text()) + (await b.text()) === 'xx'",
        "const a = new Request('http://a/', {method: 'POST', body: new Response('x').body, duplex: 'half'}); const b = a.clone(); (await a.text()) + (await b.text()) === 'xx'",
        "const a = new Request('http://a/', {method: 'POST', body: new Response('x').body, duplex: 'half'}); const b = new Request(a); (await b.text()) === 'x' && await a.text().then(() => false, () => true)",
        "const c = new AbortController(); const r = new Request('http://a/', {signal: c.signal}); c.abort(); r.signal.aborted",
        "new Request(new Request('http://a/', {method: 'POST', body: 'x'}), {body: 'y'}).text().then(t => t === 'y')",
        "new Request('http://a/', {method: 'POST', body: 'x'}).headers.get('content-type') === 'text/plain;charset=UTF-8'",
        "new Request('http://a/', {method: 'POST', body: 'x', headers: {'Content-Type': 'y'}}).headers.get('content-type') === 'y'",
        "Object.prototype.toString.call(new Request('http://a/')) === '[object Request]'",
    ]);
    throws(
        "TypeError",
        &[
            "new Request()",
            "new Request('')",
            "new Request('http://u@a/')",
            "new Request('http://a/', {mode: 'x'})",
            "new Request('http://a/', {cache: 'x'})",
            "new Request('http://a/', {body: 'x'})",
            "const r = new Request('http://a/', {method: 'POST', body: 'x'}); await r.text(); new Request(r)",
            "const r = new Request('http://a/', {method: 'POST', body: 'x'}); await r.text(); r.clone()",
        ],
    );
}

#[test]
fn responses() {
    holds(&[
        "const r = new Response(); r.status === 200 && r.ok && r.statusText === '' && r.type === 'default' && r.url === '' && r.body === null && !r.redirected",
        "const r = new Response('x', {status: 404, statusText: 'No', headers: {a: '1'}}); !r.ok && r.statusText === 'No' && r.headers.get('a') === '1'",
        "const r = Response.json({a: 1}, {status: 201}); r.status === 201 && r.headers.get('content-type') === 'application/json' && (await r.json()).a === 1",
        "const r = Response.redirect('http://a/b', 307); r.status === 307 && r.headers.get('location') === 'http://a/b'",
        "const r = Response.error(); r.type === 'error' && r.status === 0 && !r.ok",
        "const r = new Response('x'); const c = r.clone(); (await r.text()) + (await c.text()) === 'xx' && r.bodyUsed",
        "const r = new Response('x'); await r.text(); await r.text().then(() => false, e => e instanceof TypeError)",
        "const r = new Response('x'); const reader = r.body.getReader(); r.bodyUsed === false && await r.text().then(() => false, e => e instanceof TypeError)",
        "const r = new Response('ab'); const {value} = await r.body.getReader().read(); r.bodyUsed && new TextDecoder().decode(value) === 'ab'",
        "(await new Response('\\ufeffx').text()) === 'x'",
        "(await new Response(new Uint8Array([255])).text()) === '\\ufffd'",
        "const b = await new Response('x', {headers: {'content-type': 'A/B'}}).blob(); b.type === 'a/b' && b.size === 1",
        "(await new Response().text()) === '' && (await new Response().arrayBuffer()).byteLength === 0",
        "const s = new Response('x'.repeat(200000)).body; let n = 0, m = 0; for await (const c of s) { n += c.length; m++ } n === 200000 && m > 1",
        "const t = new Response('hello').body.pipeThrough(new TextDecoderStream()); let s = ''; for await (const c of t) s += c; s === 'hello'",
        "const b = new Uint8Array([1]); const r = new Response(b); b[0] = 2; (await r.bytes())[0] === 1",
        "const r = new Response('x'); const c = r.clone(); (await r.bytes())[0] = 9; (await c.text()) === 'x'",
        "new Response(null, {status: 204}).body === null",
    ]);
    throws(
        "RangeError",
        &[
            "new Response('', {status: 199})",
            "new Response('', {status: 600})",
            "new Response('', {status: NaN})",
            "Response.redirect('http://a/', 200)",
        ],
    );
    throws(
        "TypeError",
        &[
            "new Response('x', {status: 204})",
            "new Response('', {statusText: 'a\\nb'})",
            "Response.json(undefined)",
            "Response.redirect('x')",
            "Response.prototype.clone.call({})",
            "await Response.prototype.text.call({})",
            "Response()",
        ],
    );
    throws("SyntaxError", &["await new Response('{').json()"]);
}

#[test]
fn blobs_forms_and_files() {
    holds(&[
        "const b = new Blob(['ab', new Blob(['c'])], {type: 'T/X'}); b.size === 3 && b.type === 't/x' && (await b.text()) === 'abc'",
        "const b = new Blob(['abcdef']); (await b.slice(1, 3).text()) === 'bc' && (await b.slice(-2).text()) === 'ef' && b.slice(4, 2).size === 0",
        "const f = new File(['x'], 'n', {lastModified: 5}); f.name === 'n' && f.lastModified === 5 && f instanceof Blob && f.size === 1",
        "let s = ''; for await (const c of new Blob(['xyz']).stream()) s += new TextDecoder().decode(c); s === 'xyz'",
        "const f = new FormData(); f.append('a', 1); f.set('a', '2'); f.append('b', new Blob(['x'])); f.get('a') === '2' && f.get('b').name === 'blob' && [...f].length === 2 && f.has('b')",
        "const f = new FormData(); f.append('a', '1'); f.append('b', '2'); f.delete('a'); [...f.keys()].join() === 'b' && f.getAll('a').length === 0",
        "(await new Response(new URLSearchParams('a=1&b=2')).formData()).get('b') === '2'",
    ]);
    throws(
        "TypeError",
        &[
            "new Blob(5)",
            "new FormData({})",
            "new FormData().append('a')",
            "new File([])",
            "await new Response('x').formData()",
        ],
    );
}

#[test]
fn the_rest_of_the_platform() {
    throws(
        "DataCloneError",
        &[
            "structuredClone(() => {})",
            "structuredClone(Symbol())",
            "structuredClone(new Response())",
            "structuredClone({a: new Headers()})",
            "structuredClone(Promise.resolve())",
            "structuredClone(new Proxy({}, {}))",
            "structuredClone(new URL('http://a/'))",
            "structuredClone(1, {transfer: [{}]})",
        ],
    );
    holds(&[
        "new URL('../b?x=1#y', 'http://a/c/d').href === 'http://a/b?x=1#y'",
        "new URLSearchParams({a: 'b c'}).toString() === 'a=b+c'",
        "new URLPattern({pathname: '/a/:id'}).exec('http://x/a/7').pathname.groups.id === '7'",
        "btoa('\u{e9}') === '6Q==' && atob('6Q==') === '\u{e9}'",
        "new TextDecoder('latin1').decode(new Uint8Array([233])) === '\u{e9}' && new TextEncoder().encode('\u{e9}').length === 2",
        "const m = structuredClone(new Map([[1, {a: new Date(0)}]])); m.get(1).a.getTime() === 0",
        "const o = {s: new Set([1]), r: /a/gi, n: Object(5), e: new TypeError('t', {cause: 1}), u: undefined, a: [1, , 3]}; o.o = o; const c = structuredClone(o); \
         c !== o && c.o === c && c.s.has(1) && c.r.flags === 'gi' && c.n.valueOf() === 5 && c.e instanceof TypeError && c.e.message === 't' && c.e.cause === 1 && 'u' in c && c.a.length === 3 && !(1 in c.a)",
        "const b = new Uint8Array([1, 2, 3]).subarray(1); const c = structuredClone({b, d: new DataView(b.buffer)}); c.b.join() === '2,3' && c.b.buffer === c.d.buffer && c.b.buffer !== b.buffer",
        "const b = new ArrayBuffer(4); const c = structuredClone(b, {transfer: [b]}); c.byteLength === 4 && b.byteLength === 0",
        "const b = await structuredClone(new File(['x'], 'n')); b.name === 'n' && (await b.text()) === 'x'",
        "class A { x = 1 } const c = structuredClone(new A()); c.x === 1 && !(c instanceof A) && Object.getPrototypeOf(c) === Object.prototype",
        "const c = new AbortController(); let n = 0; c.signal.addEventListener('abort', () => n++); c.abort(); n === 1 && c.signal.reason.name === 'AbortError'",
        "AbortSignal.any([AbortSignal.abort('x')]).reason === 'x'",
        "const t = new EventTarget(); let d; t.addEventListener('x', e => d = e.detail, {once: true}); t.dispatchEvent(new CustomEvent('x', {detail: 5})); d === 5",
        "const a = performance.now(); typeof a === 'number' && performance.now() >= a && performance.timeOrigin > 1e12",
        "const u = crypto.randomUUID(); /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(u) && u !== crypto.randomUUID()",
        "const r = crypto.getRandomValues(new Uint32Array(8)); new Set(r).size > 1",
        "const order = []; queueMicrotask(() => order.push(2)); order.push(1); await null; await null; order.join() === '1,2'",
        "new DOMException('m', 'AbortError').code === 20",
        "const {readable, writable} = new TransformStream(); const w = writable.getWriter(); w.write('x'); w.close(); let s = ''; for await (const c of readable) s += c; s === 'x'",
        "typeof Intl === 'object' && new Intl.NumberFormat('de').format(1234.5) === '1.234,5'",
        "console.log.name === 'log' && Object.keys(globalThis).includes('fetch') === false",
    ]);
}
