package check

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// JSON is the report as a document.
func (r *Report) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	return append(b, '\n'), errors.Trace(err)
}

// JUnit is the report in the form that CI systems read: a case for each promise that was tried.
func (r *Report) JUnit() ([]byte, error) {
	type message struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Class   string    `xml:"classname,attr"`
		Name    string    `xml:"name,attr"`
		Failure []message `xml:"failure,omitempty"`
		Skipped *message  `xml:"skipped,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Skips    int        `xml:"skipped,attr"`
		Time     string     `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "unitd check", Time: fmt.Sprintf("%.3f", r.Took.Seconds())}
	for _, p := range Promises() {
		c := testcase{Class: "unitd.check." + r.Charm, Name: p.Name}
		for _, f := range r.Findings {
			if f.Breaks(p.Name) {
				c.Failure = append(c.Failure, message{f.What, f.text()})
			}
		}
		switch {
		case len(c.Failure) > 0:
			suite.Failures++
		case r.Tried[p.Name] == 0:
			suite.Skips++
			c.Skipped = &message{Message: "nothing was tried"}
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, c)
	}
	b, err := xml.MarshalIndent(suite, "", "  ")
	return append([]byte(xml.Header), append(b, '\n')...), errors.Trace(err)
}

// SARIF is the report in the form that code hosts show beside the code: version 2.1.0 of
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. top is the charm's directory
// as seen from where paths begin, "" for the same; findings that don't say which line of the charm
// has failed are shown at the first line of a file of the charm, main.
func (r *Report) SARIF(version, top, main string) ([]byte, error) {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string `json:"id"`
		Short text   `json:"shortDescription"`
		Full  text   `json:"fullDescription"`
	}
	type object = map[string]any
	rules, results := []rule{}, []object{}
	for _, p := range Promises() {
		rules = append(rules, rule{p.Name, text{p.Title}, text{p.Why}})
	}
	for _, f := range r.Findings {
		if f.File == "" {
			f.File, f.Line = main, 1
		}
		results = append(results, object{
			"ruleId": f.Promise, "ruleIndex": ordinal(f.Promise), "level": "error",
			"message":             text{strings.Join(slices.Concat([]string{f.What}, f.sometimes(), []string{""}, f.Steps), "\n")},
			"partialFingerprints": map[string]string{"cause/v1": f.Cause},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": map[string]string{"uri": (&url.URL{Path: path.Join(top, f.File)}).EscapedPath()}, "region": map[string]int{"startLine": f.Line},
			}}},
		})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "unitd check", "version": version, "rules": rules}},
			"results": results,
		}},
	})
	return b.Bytes(), errors.Trace(err)
}

// New is the report in which the findings whose causes are in a former one are Known: they are
// no Findings any more, and yet break their promises.
func (r *Report) New(former Report) *Report {
	fresh := *r
	fresh.Findings, fresh.Known = []Finding{}, nil
	for _, f := range r.Findings {
		if slices.ContainsFunc(former.Findings, func(g Finding) bool { return g.Cause == f.Cause }) {
			fresh.Known = append(fresh.Known, f)
		} else {
			fresh.Findings = append(fresh.Findings, f)
		}
	}
	return &fresh
}
