package web

import (
	"slices"
	"time"

	"github.com/unitd/unitd/check"
)

// meaning says in words what a state of an endpoint means.
func meaning(s check.State) string {
	switch s {
	case check.None:
		return "it has never had a relation"
	case check.Silent:
		return "the other side has published nothing"
	case check.Told:
		return "the other side has published something"
	case check.Deserted:
		return "the other side has no units left"
	case check.Gone:
		return "the relation was removed"
	}
	return ""
}

// hooks are those that have run and those that haven't, and in which states of the endpoints.
func (m *markup) hooks(r *check.Report) {
	m.put("<section aria-labelledby=\"hooks\">\n<h2 id=\"hooks\">Hooks</h2>\n<dl>\n")
	m.row("Ran", names(r.Met))
	m.row("Never ran", names(r.NotMet))
	m.put("</dl>\n")
	m.costs(r.Costs)
	m.put("<h3 id=\"states\">In each state of each endpoint</h3>\n")
	if r.Meetings.Wanted == 0 {
		m.put("<p class=\"hint\">Nothing was counted: the charm has no endpoint with a stub on the other side, or the check wasn't asked to try <code>order-of-relations</code>.</p>\n</section>\n")
		return
	}
	m.put("<p>Of %v pairs of a hook or an action and a state of an endpoint, the check covered %v.</p>\n<dl>\n", r.Meetings.Wanted, r.Meetings.Met)
	for _, s := range check.States() {
		m.row(string(s), meaning(s))
	}
	m.put("</dl>\n<p class=\"hint\">✓ it ran; ○ it never ran; – it isn't counted: the hook belongs to this endpoint, or can't run in this state</p>\n")
	m.meetings(r.Meetings)
	m.put("</section>\n")
}

// costs is the table of what hooks have cost.
func (m *markup) costs(all []check.Cost) {
	if len(all) == 0 {
		return
	}
	m.put("<h3 id=\"costs\">What they cost</h3>\n<p class=\"hint\">Runs that failed or were held up aren't counted.</p>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"costs\">\n<table>\n<thead><tr>")
	for _, head := range []string{"Hook", "Runs", "Usual time", "Longest", "Usual number of tool calls", "Most"} {
		m.put("<th scope=\"col\">%v</th>", head)
	}
	m.put("</tr></thead>\n<tbody>\n")
	for _, c := range all {
		m.put("<tr><th scope=\"row\"><code>%v</code></th><td>%v</td><td>%v</td><td>%v</td><td>%v</td><td>%v</td></tr>\n",
			c.Hook, c.Runs, c.Usual.Round(time.Millisecond), c.Longest.Round(time.Millisecond), c.Calls, c.Most)
	}
	m.put("</tbody>\n</table>\n</div>\n")
}

// names are a list in a line.
func names(all []string) ready {
	if len(all) == 0 {
		return "none"
	}
	var m markup
	for i, name := range all {
		if i > 0 {
			m.put(", ")
		}
		m.put("<code>%v</code>", name)
	}
	return ready(m.text.String())
}

// meetings is the table of hooks and of states of endpoints.
func (m *markup) meetings(all check.Meetings) {
	const met, missing = "✓", "○"
	cells := map[check.Meeting]string{}
	var hooks []string
	note := func(at check.Meeting, sign string) {
		if cells[at] = sign; !slices.Contains(hooks, at.Hook) {
			hooks = append(hooks, at.Hook)
		}
	}
	for _, r := range all.Ran {
		for _, hook := range r.Hooks {
			note(check.Meeting{Hook: hook, Endpoint: r.Endpoint, State: r.State}, met)
		}
	}
	for _, at := range all.Missing {
		note(at, missing)
	}
	slices.Sort(hooks)
	m.put("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"states\">\n<table class=\"meetings\">\n")
	m.heads(all.Ran)
	m.put("<tbody>\n")
	for _, hook := range hooks {
		m.put("<tr><th scope=\"row\">%v</th>", hook)
		for i, r := range all.Ran {
			class, sign, words := "s-unknown", "–", "isn't counted"
			switch cells[check.Meeting{Hook: hook, Endpoint: r.Endpoint, State: r.State}] {
			case met:
				class, sign, words = "s-active", met, "ran"
			case missing:
				class, sign, words = "s-blocked", missing, "never ran"
			}
			if i == 0 || all.Ran[i-1].Endpoint != r.Endpoint {
				class += " first"
			}
			m.put("<td class=\"%v\"><span aria-hidden=\"true\">%v</span><span class=\"unseen\">%v</span></td>", class, sign, words)
		}
		m.put("</tr>\n")
	}
	m.put("</tbody>\n</table>\n</div>\n")
}

// heads are the head of that table: endpoints, and the states of each.
func (m *markup) heads(columns []check.Ran) {
	var groups, upper, lower markup
	for i := 0; i < len(columns); {
		at, first := columns[i].Endpoint, i
		for ; i < len(columns) && columns[i].Endpoint == at; i++ {
			class := ready("")
			if i == first {
				class = ` class="first"`
			}
			lower.put("<th scope=\"col\"%v>%v</th>", class, columns[i].State)
		}
		groups.put("<colgroup span=\"%v\"></colgroup>", i-first)
		upper.put("<th scope=\"colgroup\" colspan=\"%v\" class=\"first\">%v</th>", i-first, at)
	}
	m.put("<colgroup></colgroup>%v\n<thead>\n<tr><th scope=\"col\" rowspan=\"2\">Hook</th>%v</tr>\n<tr>%v</tr>\n</thead>\n",
		ready(groups.text.String()), ready(upper.text.String()), ready(lower.text.String()))
}
