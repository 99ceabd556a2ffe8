package script

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/unitd/unitd/charmdir"
)

// saves is for how long nothing may have been written before it counts as saved, and
// patienceForSaves how long that is waited for at most.
const (
	saves            = 200 * time.Millisecond
	patienceForSaves = 10 * saves
)

// Watch runs the scripts that find finds, and then again and again those that a change
// touches: of the script, of a charm that it deploys, or of a file that it takes from
// $SCRIPT_DIR. It ends when ctx does. told is told what came of each round; the error says
// why nothing could be run in it, which isn't the end but in the first one.
func (s *Suite) Watch(ctx context.Context, find func() ([]string, error), told func([]Outcome, error)) error {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return errors.Annotate(err, "cannot watch the scripts")
	}
	defer notify.Close()
	var before map[string]string // what was found, and how it looked
	var lost string              // why nothing is found, as it was told
	for ctx.Err() == nil {
		files, err := find()
		if err != nil && before == nil {
			return err
		}
		if err != nil {
			if now := err.Error(); now != lost {
				lost = now
				told(nil, err)
			}
			awaitSave(ctx, notify)
			continue
		}
		lost = ""
		var due []string
		now := map[string]string{}
		seen := looks{}
		for _, file := range files {
			subjects := subjectsOf(file)
			for _, path := range subjects {
				follow(notify, path) // before it is looked at, so that nothing is missed
			}
			if now[file] = seen.look(subjects); now[file] != before[file] {
				due = append(due, file)
			}
		}
		first := before == nil
		before = now
		if len(due) == 0 {
			awaitSave(ctx, notify)
			continue
		}
		s.Files = due
		outcomes, err := s.Run(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil && first:
			return err
		case !errors.Is(err, errors.NotFound): // else those that have changed weren't asked for
			told(outcomes, err)
		}
	}
	return nil
}

// subjectsOf are the paths that a script goes by: its own first, the charm that it is
// beside, and what it names on the host.
func subjectsOf(file string) []string {
	dir, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return []string{file}
	}
	subjects := []string{file}
	add := func(path string) {
		path = filepath.Clean(path)
		if _, err := os.Stat(path); err == nil && !slices.Contains(subjects, path) {
			subjects = append(subjects, path)
		}
	}
	if above := filepath.Dir(dir); isCharm(above) {
		add(above)
	}
	for line := range strings.Lines(commandsOf(file)) {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n'\"=,;", r) })
		brings := slices.Contains(words, "deploy") || slices.Contains(words, "refresh")
		for _, word := range words {
			if _, rest, named := strings.Cut(strings.ReplaceAll(word, "${SCRIPT_DIR}", "$SCRIPT_DIR"), "$SCRIPT_DIR"); named {
				add(dir + "/" + rest)
			} else if brings && filepath.IsAbs(word) {
				add(word)
			}
		}
	}
	return subjects
}

// commandsOf are the lines of a script, and those of the steps that it explores, which are among
// its own files. It is empty if the script can't be read, as who runs it says.
func commandsOf(file string) string {
	if readable(file) != nil {
		return ""
	}
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return ""
	}
	commands := string(archive.Comment)
	for line := range strings.Lines(commands) {
		words := strings.Fields(line)
		if i := slices.Index(words, "explore"); i >= 0 && i < len(words)-1 {
			steps := strings.TrimPrefix(strings.Trim(words[len(words)-1], "'"), "$WORK/")
			for _, f := range archive.Files {
				if filepath.Clean(f.Name) == filepath.Clean(steps) {
					commands += "\n" + string(f.Data)
				}
			}
		}
	}
	return commands
}

func isCharm(dir string) bool {
	return slices.ContainsFunc([]string{"metadata.yaml", "charmcraft.yaml"}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	})
}

// each visits what is at a path, and below it what can matter to a charm, but for
// scripts: those are subjects of their own.
func each(path string, visit func(path, name string, d fs.DirEntry)) {
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		name, rerr := filepath.Rel(root, p)
		switch {
		case err != nil || rerr != nil:
			return nil // it went meanwhile, or can't be read, as who runs the script says
		case name == ".":
		case charmdir.Passing(filepath.ToSlash(name)) && d.IsDir():
			return fs.SkipDir
		case charmdir.Passing(filepath.ToSlash(name)) || strings.HasSuffix(name, ".txtar"):
			return nil
		}
		visit(p, name, d)
		return nil
	})
}

// looks are how paths look in one round. Each is looked at once, so that a change which comes
// meanwhile is one of all scripts that go by the path, or of none.
type looks map[string]string

// look is how the subjects look.
func (l looks) look(subjects []string) string {
	var all strings.Builder
	for _, path := range subjects {
		if _, ok := l[path]; !ok {
			l[path] = lookAt(path)
		}
		fmt.Fprintln(&all, path, l[path])
	}
	return all.String()
}

// lookAt is how a path looks: its files with sizes, modes and times.
func lookAt(path string) string {
	sum := sha256.New()
	each(path, func(_, name string, d fs.DirEntry) {
		st, err := d.Info()
		if err != nil || st.IsDir() {
			return
		}
		fmt.Fprintln(sum, name, st.Mode(), st.Size(), st.ModTime().UnixNano())
	})
	return hex.EncodeToString(sum.Sum(nil))
}

// follow watches a subject. What can't be watched is looked at when something else
// changes.
func follow(notify *fsnotify.Watcher, path string) {
	_ = notify.Add(filepath.Dir(path)) // editors put another file in its place
	each(path, func(p, _ string, d fs.DirEntry) {
		if d.IsDir() {
			_ = notify.Add(p)
		}
	})
}

// awaitSave waits until something was written, and then nothing for a while.
func awaitSave(ctx context.Context, notify *fsnotify.Watcher) {
	var quiet, late <-chan time.Time
	for {
		select {
		case <-notify.Events:
		case <-notify.Errors: // the kernel's queue has overflown, most likely
		case <-quiet:
			return
		case <-late:
			return
		case <-ctx.Done():
			return
		}
		if late == nil {
			late = time.After(patienceForSaves)
		}
		quiet = time.After(saves)
	}
}
