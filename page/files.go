package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"html"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
)

// files are what a browser gets. There is nothing in them but what is here: no package
// of others, and nothing is fetched from anywhere.
//
//go:embed files
var files embed.FS

// scripts are the page's, in the order in which they are read.
var scripts = []string{"text.js", "parts.js", "layout.js", "graph.js", "units.js", "timeline.js", "log.js", "actions.js", "side.js", "main.js"}

// Index is the page in one document, which asks for the model, and the part of a
// Content-Security-Policy by which it and nothing else runs. With several files, a browser
// may get some and not others, as when the host's network changes just then. write says
// whether it has the buttons that change something.
func Index(write bool) (content []byte, policy string) {
	content, policy = whole(nil)
	if write {
		content = bytes.Replace(content, []byte(`data-write="false"`), []byte(`data-write="true"`), 1)
	}
	return content, policy
}

// whole is the page with its style and scripts in it, and with data before these.
func whole(data []byte) (content []byte, policy string) {
	var all bytes.Buffer
	all.Write(data)
	script := "script-src"
	for _, name := range scripts {
		text := "\n" + string(read(name))
		script += " " + byHash(text)
		all.WriteString("<script>" + text + "</script>\n")
	}
	style := "\n" + string(read("colours.css")) + string(read("common.css")) + string(read("page.css"))
	b := read("index.html")
	b = bytes.Replace(b, []byte("<!--style-->"), []byte("<style>"+style+"</style>"), 1)
	b = bytes.Replace(b, []byte("<!--scripts-->\n"), all.Bytes(), 1)
	return b, script + "; style-src " + byHash(style)
}

// byHash lets a browser run what is in the page if it is this.
func byHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// World is a model in a page that is a file: the page as it was at one moment.
type World struct {
	// Name is what it is chosen by, where the file has several.
	Name string `json:"name"`
	// Parts are the parts of the page.
	Parts Encoded `json:"set"`
	// Lines are of the log, and Details what there is of each unit.
	Lines   []debuglog.Entry  `json:"lines,omitempty"`
	Details map[string]Detail `json:"details,omitempty"`
}

// Script is a part "script/NAME": the script of whose run a page in a file tells.
type Script struct {
	Name    string  `json:"name"`
	Outcome string  `json:"outcome"` // "pass", "fail" or "skip"
	Seconds float64 `json:"seconds"`
	Output  string  `json:"output,omitempty"`
}

// Static is the page as one file, with all that it shows inside: it needs no server and
// no network, and changes nothing. The title says what it is of.
func Static(title string, worlds []World) ([]byte, error) {
	data, err := json.Marshal(struct {
		Worlds []World `json:"worlds"`
	}{worlds}) // has no "<", see json.HTMLEscape
	if err != nil {
		return nil, errors.Trace(err)
	}
	content, policy := whole(slices.Concat([]byte(`<script type="application/json" id="data">`), data, []byte("</script>\n")))
	meta := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ` + policy + `; img-src data:">` + "\n"
	content = bytes.Replace(content, []byte("<style>"), []byte(meta+"<style>"), 1)
	return bytes.Replace(content, []byte("<title>unitd</title>"), []byte("<title>"+html.EscapeString(title)+"</title>"), 1), nil
}

// read is a file that is known to be there.
func read(name string) []byte {
	b, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	return b
}
