package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"html"
	"path"
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

// kinds are the files that are served, by how their names end.
var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// File is a file of the page and its kind; false: there is none of that name.
func File(name string) (content []byte, kind string, ok bool) {
	kind, ok = kinds[path.Ext(name)]
	if !ok || name != path.Base(name) {
		return nil, "", false
	}
	content, err := files.ReadFile("files/" + name)
	return content, kind, err == nil
}

// Index is the page, which asks for the files. write says whether it has the buttons that
// change something.
func Index(write bool) []byte {
	var tags bytes.Buffer
	for _, name := range scripts {
		tags.WriteString(`<script src="/files/` + name + `"></script>` + "\n")
	}
	b := bytes.Replace(read("index.html"), []byte("<!--scripts-->\n"), tags.Bytes(), 1)
	if write {
		b = bytes.Replace(b, []byte(`data-write="false"`), []byte(`data-write="true"`), 1)
	}
	return b
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
	var all bytes.Buffer
	all.WriteString(`<script type="application/json" id="data">`)
	all.Write(data)
	all.WriteString("</script>\n")
	for _, name := range scripts {
		all.WriteString("<script>\n")
		all.Write(read(name))
		all.WriteString("</script>\n")
	}
	b := read("index.html")
	from, to := bytes.Index(b, []byte("<!--style-->")), bytes.Index(b, []byte("<!--/style-->"))
	policy := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">` + "\n"
	b = slices.Concat(b[:from], []byte(policy+"<style>\n"), read("page.css"), []byte("</style>"), b[to:])
	b = bytes.Replace(b, []byte("<title>unitd</title>"), []byte("<title>"+html.EscapeString(title)+"</title>"), 1)
	return bytes.Replace(b, []byte("<!--scripts-->\n"), all.Bytes(), 1), nil
}

// read is a file that is known to be there.
func read(name string) []byte {
	b, err := files.ReadFile("files/" + name)
	if err != nil {
		panic(err)
	}
	return b
}
