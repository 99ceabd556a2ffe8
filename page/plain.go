package page

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"
)

// themed is where the colours of the dark theme begin: to the end of their file.
const themed = `:root[data-theme="dark"]`

// Plain is a document in the style of the page for what is no model, such as a report: in one
// file, light or dark as its reader's system is, with no script that could choose. It is
// well-formed as XML too, if body is. body is the HTML inside <body>, style are rules beside those
// that all pages share, and script is what the document is more pleasant with. A browser runs
// nothing else, fetches nothing, and shows all of it where it doesn't run scripts.
func Plain(title, style, script string, body []byte) []byte {
	light, dark, _ := strings.Cut(string(read("colours.css")), themed)
	style = "\n" + light + "@media (prefers-color-scheme: dark) {\n:root" + dark + "}\n" + string(read("common.css")) + style
	script = "\n" + script
	var b bytes.Buffer
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src ` + byHash(style) + `; script-src ` + byHash(script) + `; base-uri 'none'; form-action 'none'"/>
<title>` + Escape(title) + `</title>
<link rel="icon" href="data:,"/>
<style>` + style + `</style>
</head>
<body>
`)
	b.Write(body)
	b.WriteString("<script>" + script + "</script>\n</body>\n</html>\n")
	return b.Bytes()
}

// Escape makes text part of a document of HTML or XML. A sign that neither may have is shown as
// one that can't be read: charms log escape codes, and bytes that are no text.
func Escape(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
			return utf8.RuneError
		}
		return r
	}, text))
}
