package web

import (
	"embed"
	"strings"
	"time"

	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/page"
)

// files are the page's own style and script; the rest of its style is shared.
//
//go:embed files
var files embed.FS

// About is what a page says that isn't in a report.
type About struct {
	// Version is unitd's.
	Version string
	// Former is where a former version of the charm is, as for check.Finding.Scenario.
	Former string
}

// Page is the report as a document of its own.
func Page(r *check.Report, about About) []byte {
	var m markup
	m.put("<header><h1><span class=\"brand\">unitd check</span> %v</h1></header>\n<main>\n", r.Charm)
	m.summary(r, about)
	m.findings(r, about)
	m.promises(r)
	m.hooks(r)
	m.world(r)
	m.put("</main>\n")
	return page.Plain("unitd check: "+r.Charm, read("report.css"), read("copy.js"), []byte(m.text.String()))
}

// read is a file that is known to be there.
func read(name string) string {
	b, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// stands shows a standing: by a colour, by a sign and in words.
func (m *markup) stands(s check.Standing, words string) {
	look := map[check.Standing]struct{ class, sign string }{
		check.Kept: {"s-active", "✓"}, check.Broken: {"s-error", "✗"}, check.Unfinished: {"s-waiting", "◐"}, check.Untried: {"s-unknown", "–"},
	}[s]
	m.put(`<span class="status %v"><span aria-hidden="true">%v</span> %v</span>`, look.class, look.sign, words)
}

// row is a pair of a list of facts.
func (m *markup) row(term string, what any) {
	m.put("<dt>%v</dt><dd>%v</dd>\n", term, what)
}

// summary is the result of the check, and how it was made.
func (m *markup) summary(r *check.Report, about About) {
	v := verdictOf(r)
	m.put("<section aria-label=\"Result\">\n<p class=\"result\">")
	findings := v.findings()
	m.stands(v.standing(), strings.ToUpper(findings[:1])+findings[1:]+":")
	m.put(" %v</p>\n<dl>\n", v.sentence())
	m.row("Scenarios", v.tried)
	m.row("Walks", r.Walks)
	m.row("Time", r.Took.Round(time.Second))
	m.row("Seed", r.Seed)
	if network := r.Network(); network != "" {
		m.row("Network", network)
	}
	m.row("unitd", about.Version)
	m.put("</dl>\n<nav aria-label=\"Parts\"><a href=\"#findings\">Findings</a> <a href=\"#promises\">Promises</a> <a href=\"#hooks\">Hooks</a> <a href=\"#world\">World</a></nav>\n</section>\n")
}

// world is what the charm was tried in.
func (m *markup) world(r *check.Report) {
	m.put("<section aria-labelledby=\"world\">\n<h2 id=\"world\">World</h2>\n")
	if len(r.World) == 0 {
		m.put("<p class=\"hint\">No endpoint had a stub on the other side.</p>\n")
	} else {
		m.put("<p>A stub played the other side of each of these endpoints.</p>\n<table>\n<thead><tr><th scope=\"col\">Endpoint</th><th scope=\"col\">Where the keys come from</th></tr></thead>\n<tbody>\n")
		for i := 0; i < len(r.World); {
			at := r.World[i].Endpoint
			var from []string
			for ; i < len(r.World) && r.World[i].Endpoint == at; i++ {
				from = append(from, r.World[i].Text())
			}
			m.put("<tr><th scope=\"row\"><code>%v</code></th><td>%v</td></tr>\n", at, list(from))
		}
		m.put("</tbody>\n</table>\n")
	}
	if len(r.Placeholders) > 0 {
		m.put("<h3>Placeholders</h3>\n<p>These resources weren't given. Give them with <code>--resource</code>.</p>\n<ul>\n")
		for _, p := range r.Placeholders {
			m.put("<li>%v</li>\n", p)
		}
		m.put("</ul>\n")
	}
	if len(r.Odd) > 0 {
		m.put("<h3>Couldn't be carried out</h3>\n<ul>\n")
		for _, o := range r.Odd {
			m.put("<li class=\"message\">%v</li>\n", o)
		}
		m.put("</ul>\n")
	}
	m.put("</section>\n")
}
