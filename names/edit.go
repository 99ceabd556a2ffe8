package names

import (
	"slices"
	"strings"
)

// The lines around those in a hosts file that are written anew.
const (
	begin = "# unitd: the names of units; this part is kept current by the agent"
	end   = "# unitd: end of the names of units"
)

// Edit is a hosts file with those lines, which Hosts has made, in the place of the
// former ones, or at the top where there were none. All else in the file is the
// unit's and stays, but for a line that cells used to begin with, which has the
// unit's host name alone and would hide its full name. A file that has these
// lines already is returned as it is.
func Edit(file, lines string) string {
	var before, after []string
	found, inside := false, false
	var held []string // what may be ours, or not if no end comes
	for line := range strings.Lines(file) {
		switch text := strings.TrimSpace(line); {
		case text == begin:
			after = append(after, held...)
			held, inside = nil, true
		case text == end && inside:
			held, inside, found = nil, false, true
		case text == end:
			// of a part whose begin was removed
		case inside:
			held = append(held, whole(line))
		case found:
			after = append(after, whole(line))
		default:
			before = append(before, whole(line))
		}
	}
	if len(held) > 0 {
		after = append(after, held...)
	}
	if !found {
		after, before = append(before, after...), nil
		after = slices.DeleteFunc(after, func(line string) bool { return former(line, lines) })
	}
	return strings.Join(before, "") + begin + "\n" + lines + end + "\n" + strings.Join(after, "")
}

// whole is a line with its end.
func whole(line string) string {
	if strings.HasSuffix(line, "\n") {
		return line
	}
	return line + "\n"
}

// former says whether a line is the one by which a cell knew itself before there
// were full names: its address and its host name.
func former(line, lines string) bool {
	first, _, _ := strings.Cut(lines, "\n")
	own, was := strings.Fields(first), strings.Fields(line)
	return len(was) == 2 && len(own) > 1 && was[1] == own[len(own)-1] && (was[0] == own[0] || was[0] == loopback)
}

// Resolv is the /etc/resolv.conf of a unit that finds names as pods do: the host's,
// with the search list of the model before the host's own, and ndots of 5. What has
// been made by it is returned as it is.
func Resolv(host, modelName string) string {
	search := []string{modelName + "." + Domain, Domain, "cluster.local"}
	options := []string{"ndots:5"}
	var rest, domain []string
	for line := range strings.Lines(host) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0 || strings.HasPrefix(f[0], "#") || strings.HasPrefix(f[0], ";"):
		case f[0] == "search", f[0] == "domain":
			domain = f[1:] // the last one counts
		case f[0] == "options":
			for _, o := range f[1:] {
				if !strings.HasPrefix(o, "ndots:") && !slices.Contains(options, o) {
					options = append(options, o)
				}
			}
		default:
			rest = append(rest, strings.Join(f, " ")+"\n")
		}
	}
	for _, d := range domain {
		if !slices.Contains(search, d) {
			search = append(search, d)
		}
	}
	return "search " + strings.Join(search, " ") + "\n" + strings.Join(rest, "") + "options " + strings.Join(options, " ") + "\n"
}
