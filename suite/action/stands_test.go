package action_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// hub stands for what the actions that ours uses keep outside of the runner.
type hub struct {
	dir       string
	caches    []string // their keys, the newest last
	artifacts map[string]string
}

// stands are what stands in for others' actions: each returns its outputs, or how it
// has failed.
var stands = map[string]func(h *hub, with map[string]string) (map[string]string, error){
	"actions/cache/restore": (*hub).restore,
	"actions/cache/save":    (*hub).save,
	"actions/setup-go": func(_ *hub, with map[string]string) (map[string]string, error) {
		_, err := os.Stat(with["go-version-file"]) // Go itself is there, as these tests are run
		return nil, err
	},
	"actions/upload-artifact": (*hub).upload,
}

// restore puts there what was kept under the key, else the newest one whose key begins
// with the other key.
func (h *hub) restore(with map[string]string) (map[string]string, error) {
	found := -1
	for i, key := range h.caches {
		if key == with["key"] {
			found = i
			break
		}
		if prefix := with["restore-keys"]; prefix != "" && strings.HasPrefix(key, prefix) {
			found = i
		}
	}
	if found < 0 {
		return map[string]string{"cache-hit": ""}, nil
	}
	key := h.caches[found]
	if err := os.RemoveAll(with["path"]); err != nil {
		return nil, err
	}
	return map[string]string{"cache-hit": fmt.Sprint(key == with["key"]), "cache-matched-key": key}, os.CopyFS(with["path"], os.DirFS(h.cache(found)))
}

// save keeps what is there under a key that nothing is kept under.
func (h *hub) save(with map[string]string) (map[string]string, error) {
	for _, key := range h.caches {
		if key == with["key"] {
			return nil, fmt.Errorf("%s is kept already", key)
		}
	}
	h.caches = append(h.caches, with["key"])
	return nil, os.CopyFS(h.cache(len(h.caches)-1), os.DirFS(with["path"]))
}

func (h *hub) cache(i int) string { return filepath.Join(h.dir, "cache", fmt.Sprint(i)) }

// upload keeps the files of a directory as an artifact, whose name nothing has yet.
func (h *hub) upload(with map[string]string) (map[string]string, error) {
	name := with["name"]
	if _, ok := h.artifacts[name]; ok || name == "" {
		return nil, fmt.Errorf("an artifact %q is there already, or has no name", name)
	}
	h.artifacts[name] = filepath.Join(h.dir, "artifacts", name)
	return nil, os.CopyFS(h.artifacts[name], os.DirFS(with["path"]))
}
