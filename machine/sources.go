package machine

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Sources shows the paths of units' charm directories as those of their
// authors: what came from the tree ./notes is "./notes/src/charm.py:41" in a
// traceback, which an editor opens, and not a file below the agent's directory. A
// nil one shows texts as they are. It is safe for use by many goroutines.
type Sources struct {
	ctx   context.Context
	model *state.Model
	dir   string // machine.Config.Dir
	from  []string

	mu sync.Mutex
	// known has the trees by the tags of units; nil: it has none.
	known map[string]*sourceTree
}

// sourceTree is where the charm of one unit came from.
type sourceTree struct {
	path string
	// frame is a line of a Python traceback, plain any other path.
	frame, plain *regexp.Regexp
}

// NewSources is for a model whose agents work in dir (see Config.Dir). Paths
// below one of the directories from, the first of which is where the person is, are
// shown as seen from there.
func NewSources(ctx context.Context, m *state.Model, dir string, from ...string) *Sources {
	return &Sources{ctx: ctx, model: m, dir: dir, from: from, known: map[string]*sourceTree{}}
}

// Text is a text that the hooks of a unit, by its tag, have said, with the
// author's paths. A path stays as it is where the charm was no tree, as the tree of
// another host, and where the tree hasn't that file, as what was built.
func (s *Sources) Text(tag, text string) string {
	if s == nil || !strings.Contains(text, "/charm/") {
		return text
	}
	t := s.tree(tag)
	if t == nil {
		return text
	}
	text = t.frame.ReplaceAllStringFunc(text, func(found string) string {
		part := t.frame.FindStringSubmatch(found)
		if path := s.author(t, part[1]); path != "" {
			return path + ":" + part[2]
		}
		return found
	})
	return t.plain.ReplaceAllStringFunc(text, func(found string) string {
		if path := s.author(t, t.plain.FindStringSubmatch(found)[1]); path != "" {
			return path
		}
		return found
	})
}

// author is the path of a charm's file in its tree, from where the person is;
// empty where the tree has no such file.
func (s *Sources) author(t *sourceTree, file string) string {
	path := filepath.Join(t.path, filepath.FromSlash(file))
	if !strings.HasPrefix(path, t.path+string(filepath.Separator)) {
		return ""
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	for _, dir := range s.from {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return "." + string(filepath.Separator) + rel
		}
	}
	return path
}

// tree is the tree of a unit's charm; nil where it has none.
func (s *Sources) tree(tag string) *sourceTree {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.known[tag]
	if !known {
		t = s.find(tag)
		s.known[tag] = t
	}
	return t
}

func (s *Sources) find(tag string) *sourceTree {
	app, ok := strings.CutPrefix(tag, "unit-")
	i := strings.LastIndexByte(app, '-')
	if !ok || i < 0 || !model.ValidApplication(app[:i]) {
		return nil
	}
	doc, err := s.model.Application(s.ctx, app[:i])
	if err != nil {
		return nil // gone: nobody knows any more
	}
	charm, err := s.model.Charm(s.ctx, doc.Charm)
	if err != nil || charm.Source == "" {
		return nil
	}
	unit := "agents/" + tag + "/charm/"
	prefix := `(?:` + regexp.QuoteMeta(filepath.Join(ModelDir(s.dir, s.model.UUID()), unit)+"/") + `|` +
		regexp.QuoteMeta(isolate.Juju+"/"+unit) + `)`
	return &sourceTree{
		path:  filepath.Clean(charm.Source),
		frame: regexp.MustCompile(`File "` + prefix + `([^"\n]+)", line (\d+)`),
		plain: regexp.MustCompile(prefix + `([^\s"':,;()<>|]+)`),
	}
}
