package charmdir

import (
	"path"
	"slices"
	"strings"
)

// part is which entries of a tree a part takes.
type part struct {
	source string   // a folder of the tree; "." is all of it
	only   []string // folders and files below it; nil: all
	prime  []string // charmcraft's filter; nil: all
}

// Takes says whether the charm has a file of the tree.
func (p *Project) Takes(name string) bool {
	return isFile(p.Dir, name) && !p.passes(name, false) && slices.Contains(p.names(name), name)
}

// names are the paths in the charm of an entry of the tree; empty for one that
// isn't the charm's.
func (p *Project) names(name string) []string {
	var out []string
	for _, pt := range p.parts {
		rel := name
		if pt.source != "." {
			var below bool
			if rel, below = strings.CutPrefix(name, pt.source+"/"); !below {
				continue
			}
		}
		if pt.takes(rel) && !slices.Contains(out, rel) {
			out = append(out, rel)
		}
	}
	return out
}

func (pt part) takes(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	if pt.only != nil && !slices.Contains(pt.only, top) {
		return false
	}
	if pt.prime == nil {
		return true
	}
	// charmcraft's filter: what is named, or everything but what is named with "-".
	named, some := false, false
	for _, p := range pt.prime {
		if rest, not := strings.CutPrefix(p, "-"); not {
			if matches(rest, name) {
				return false
			}
			continue
		}
		some = true
		named = named || matches(p, name)
	}
	return named || !some
}

// matches says whether a path, or a folder that it is in, matches a pattern.
func matches(pattern, name string) bool {
	pattern = strings.Trim(path.Clean(pattern), "/")
	for at := name; at != "."; at = path.Dir(at) {
		if ok, err := path.Match(pattern, at); ok && err == nil {
			return true
		}
	}
	return pattern == "."
}

// readPoetry reads what is exported of poetry's project: its own dependencies,
// those of the groups of poetry-with, and what the arguments say.
func (p *Project) readPoetry(e entry) error {
	p.Groups = append([]string{"main"}, p.Groups...)
	args, err := e.get("poetry-export-extra-args").strings()
	if err != nil {
		return err
	}
	args = strings.Fields(strings.ReplaceAll(strings.Join(args, " "), "=", " "))
	for i := 0; i < len(args); i++ {
		var values []string
		if i+1 < len(args) {
			values = strings.Split(args[i+1], ",")
		}
		switch args[i] {
		case "--only":
			p.Groups = values
		case "--with":
			p.Groups = append(p.Groups, values...)
		case "--without":
			p.Groups = slices.DeleteFunc(p.Groups, func(g string) bool { return slices.Contains(values, g) })
		case "--extras", "-E":
			p.Extras = append(p.Extras, values...)
		case "--without-hashes", "--without-urls":
			continue
		default:
			p.Ignored = append(p.Ignored, e.key+": poetry-export-extra-args: "+args[i])
			continue
		}
		i++
	}
	if !e.get("poetry-pip-extra-args").null() {
		p.Ignored = append(p.Ignored, e.key+": poetry-pip-extra-args")
	}
	return nil
}
