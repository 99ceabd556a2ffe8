package web

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/page"
)

// findings are all of them: the new ones, then those that were known.
func (m *markup) findings(r *check.Report, about About) {
	m.put("<section aria-labelledby=\"findings\">\n<h2 id=\"findings\">Findings</h2>\n")
	if len(r.Findings)+len(r.Known) == 0 {
		m.put("<p class=\"hint\">No scenario has failed.</p>\n</section>\n")
		return
	}
	m.put("<p>To keep a finding as a test, put its script or its test for pytest into the charm's directory <code>tests</code>. <code>unitd check --keep tests</code> does this for all findings.</p>\n")
	for i, f := range slices.Concat(r.Findings, r.Known) {
		m.finding(i+1, f, i >= len(r.Findings), about)
	}
	m.put("</section>\n")
}

// finding is one of them, by its number on the page.
func (m *markup) finding(n int, f check.Finding, known bool, about About) {
	m.put("<article id=\"finding-%v\" aria-labelledby=\"finding-%v-what\">\n<h3 id=\"finding-%v-what\">%v. %v</h3>\n<dl>\n", n, n, n, n, f.What)
	m.row("Breaks", m.links(append([]string{f.Promise}, f.Also...)))
	if f.File != "" {
		m.row("At", ready("<code>"+page.Escape(fmt.Sprintf("%s:%d", f.File, f.Line))+"</code>"))
	}
	switch {
	case f.Flaky():
		m.row("Fails", fmt.Sprintf("%d of %d times: flaky", f.Failed, f.Tried))
	case f.Tried > 0:
		m.row("Fails", fmt.Sprintf("%d of %d times", f.Failed, f.Tried))
	}
	if known {
		m.row("Known", "an earlier report, the baseline, has it too")
	}
	m.put("</dl>\n")
	for _, p := range check.Promises() {
		if p.Name == f.Promise {
			m.put("<p class=\"why\"><strong>%v.</strong> %v</p>\n", p.Title, p.Why)
		}
	}
	m.block("As a script for unitd test", f.Scenario(about.Former), fmt.Sprintf("the script of finding %d", n))
	m.put("<details><summary>As a test for pytest</summary>\n")
	m.block("For the package unitd[pytest]", f.Pytest(about.Former), fmt.Sprintf("the test of finding %d", n))
	m.put("</details>\n")
	if why := strings.TrimSpace(f.Why); why != "" {
		m.put("<details><summary>Everything that the last step printed</summary>\n<pre>%v</pre>\n</details>\n", why)
	}
	m.put("</article>\n")
}

// block is a text to copy; name says which one, for screen readers.
func (m *markup) block(label, text, name string) {
	m.put("<div class=\"block\"><p>%v</p><pre data-name=\"%v\">%v</pre></div>\n", label, name, text)
}

// links lead to promises.
func (m *markup) links(promises []string) ready {
	var to markup
	for i, name := range promises {
		if i > 0 {
			to.put(", ")
		}
		to.put("<a href=\"#promise-%v\"><code>%v</code></a>", name, name)
	}
	return ready(to.text.String())
}

// promises are all promises, and how each stands.
func (m *markup) promises(r *check.Report) {
	m.put("<section aria-labelledby=\"promises\">\n<h2 id=\"promises\">Promises</h2>\n<p><code>unitd check --explain PROMISE</code> explains a promise. A promise counts as kept only as far as the scenarios show.</p>\n")
	m.put("<table class=\"promises\">\n<thead><tr><th scope=\"col\">Promise</th><th scope=\"col\">Result</th></tr></thead>\n<tbody>\n")
	for _, p := range check.Promises() {
		m.put("<tr id=\"promise-%v\"><th scope=\"row\"><code>%v</code> <span>%v</span></th><td>", p.Name, p.Name, p.Title)
		m.result(r, p.Name)
		m.put("<p>%v</p></td></tr>\n", p.Why)
	}
	m.put("</tbody>\n</table>\n</section>\n")
}

// result is how a promise stands.
func (m *markup) result(r *check.Report, promise string) {
	tried, left := r.Tried[promise], r.Left[promise]
	switch s := r.Standing(promise); s {
	case check.Broken:
		m.stands(s, "broken")
		m.put(": ")
		m.breaking(r, promise)
	case check.Kept:
		m.stands(s, "kept")
		m.put(" as far as %v can show", check.Count(tried, "scenario"))
	case check.Unfinished:
		m.stands(s, "not tried to the end")
		m.put(": %v of %v are left", left, check.Count(tried+left, "scenario"))
	case check.Untried:
		m.stands(s, "nothing to try")
		m.put(": the promise doesn't apply to this charm, or the check wasn't asked to try it")
	}
}

// breaking links to the findings that break a promise.
func (m *markup) breaking(r *check.Report, promise string) {
	first := true
	for i, f := range slices.Concat(r.Findings, r.Known) {
		if !f.Breaks(promise) {
			continue
		}
		if !first {
			m.put(", ")
		}
		first = false
		known := ""
		if i >= len(r.Findings) {
			known = " (known)"
		}
		m.put("<a href=\"#finding-%v\">finding %v</a>%v", i+1, i+1, known)
	}
}
