package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// Scenario is the finding as a script for "unitd test", for a folder of the charm's such as
// tests: it fails as long as the charm breaks the promise. former is where a former version is,
// from that folder, for findings that need one.
func (f Finding) Scenario(former string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n", f.Promise, oneLine(f.What))
	fmt.Fprintf(&b, "# unitd check has found this; \"unitd check --explain %s\" says what it is about.\n", f.Promise)
	for _, line := range f.sometimes() {
		b.WriteString("# " + line + "\n")
	}
	b.WriteString("\n")
	if f.needsFormer() {
		where := "$SCRIPT_DIR/.."
		switch {
		case filepath.IsAbs(former):
			where = quoted(former)
		case former != "":
			where = "$SCRIPT_DIR/" + quoted(former)
		}
		fmt.Fprintf(&b, "env FORMER=%s\n", where)
	}
	for _, line := range f.Steps {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// NeedsFormer says whether a finding needs a former version of the charm.
func (r *Report) NeedsFormer() bool { return slices.ContainsFunc(r.Findings, Finding.needsFormer) }

func (f Finding) needsFormer() bool {
	return slices.ContainsFunc(f.Steps, func(line string) bool { return strings.Contains(line, "$FORMER") })
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// Pytest is the finding as a test for pytest with unitd's plugin, for the same folder.
func (f Finding) Pytest(former string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"unitd check has found that the charm breaks a promise: %s.\"\"\"\n\n", f.Promise)
	b.WriteString("import re\nfrom pathlib import Path\n\nimport pytest\n\nfrom unitd import CommandError\n\nCHARM = Path(__file__).parent.parent\n")
	switch {
	case !f.needsFormer():
	case former == "":
		b.WriteString("FORMER = CHARM\n")
	case filepath.IsAbs(former):
		fmt.Fprintf(&b, "FORMER = Path(%s)\n", strconv.Quote(former))
	default:
		fmt.Fprintf(&b, "FORMER = Path(__file__).parent / %s\n", strconv.Quote(former))
	}
	b.WriteString("\n\n")
	fmt.Fprintf(&b, "@pytest.mark.unitd(isolate=\"on\")\ndef test_%s(unitd):\n", strings.ReplaceAll(f.name(), "-", "_"))
	for _, line := range append([]string{oneLine(f.What)}, f.sometimes()...) {
		b.WriteString("    # " + line + "\n")
	}
	for _, line := range f.Steps {
		b.WriteString("    " + strings.ReplaceAll(pythonLine(line), "\n", "\n    ") + "\n")
	}
	text := b.String()
	for unused, use := range map[string]string{"import re\n": "re.search(", "\nfrom unitd import CommandError\n": "(CommandError)"} {
		if !strings.Contains(text, use) {
			text = strings.Replace(text, unused, "", 1)
		}
	}
	return text
}

// pythonLine is a line of a scenario in Python.
func pythonLine(line string) string {
	words := split(line)
	negated := words[0] == "!"
	if negated {
		words = words[1:]
	}
	switch words[0] {
	case "capture":
		return strings.ToLower(words[1]) + " = said.strip()"
	case "stdout":
		not := ""
		if negated {
			not = "not "
		}
		return fmt.Sprintf("assert %sre.search(%s, said, re.MULTILINE)", not, pythonWord(words[1]))
	case "has":
		in := "in"
		if negated {
			in = "not in"
		}
		return fmt.Sprintf("assert %s %s said", pythonWord(words[1]), in)
	}
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = pythonWord(w)
	}
	call := "unitd.do(" + strings.Join(args, ", ") + ")"
	if negated {
		return "with pytest.raises(CommandError):\n    " + call
	}
	return "said = " + call
}

// pythonWord is a word of a scenario as an expression of Python.
func pythonWord(word string) string {
	var plain strings.Builder
	parts := strings.Split(word, "'")
	for i, part := range parts {
		if part == "" && i%2 == 0 && i > 0 && i < len(parts)-1 {
			plain.WriteByte('\'')
			continue
		}
		if i%2 == 1 {
			plain.WriteString(strings.ReplaceAll(strings.ReplaceAll(part, "{", "{{"), "}", "}}"))
			continue
		}
		part = strings.ReplaceAll(strings.ReplaceAll(part, "{", "{{"), "}", "}}")
		part = strings.ReplaceAll(part, "$SCRIPT_DIR/..", "$CHARM")
		plain.WriteString(variableForm.Regexp().ReplaceAllStringFunc(part, func(name string) string {
			if name == "$CHARM" || name == "$FORMER" {
				return "{" + name[1:] + "}"
			}
			return "{" + strings.ToLower(name[1:]) + "}"
		}))
	}
	text := plain.String()
	literal := strconv.Quote(text)
	// As a raw string a pattern is read as it is written; but that can't have each character.
	odd := func(r rune) bool { return r == '"' || !strconv.IsPrint(r) }
	if strings.Contains(text, `\`) && !strings.HasSuffix(text, `\`) && !strings.ContainsFunc(text, odd) {
		literal = `r"` + text + `"`
	}
	if braces := strings.NewReplacer("{{", "", "}}", "").Replace(text); strings.Contains(braces, "{") {
		return "f" + literal
	}
	return strings.NewReplacer("{{", "{", "}}", "}").Replace(literal)
}

// name is what files of the finding are called.
func (f Finding) name() string {
	words := strings.FieldsFunc(strings.ToLower(f.What), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	return f.Promise + "-" + strings.Join(words[:min(len(words), 6)], "-")
}

// Keep writes each finding into a folder: as a script, and as a test for pytest. Nothing is
// overwritten. It returns the names of what was written.
func (r *Report) Keep(dir, former string) (names []string, err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, errors.Annotate(err, "cannot keep the findings")
	}
	used := map[string]int{}
	for _, f := range r.Findings {
		if used[f.name()]++; used[f.name()] > 1 {
			f.What = fmt.Sprintf("%d %s", used[f.name()], f.What)
		}
		for name, text := range map[string]string{
			"check-" + f.name() + ".txtar":                                 f.Scenario(former),
			"test_check_" + strings.ReplaceAll(f.name(), "-", "_") + ".py": f.Pytest(former),
		} {
			file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
			if os.IsExist(err) {
				continue
			}
			if err != nil {
				return names, errors.Annotate(err, "cannot keep a finding")
			}
			_, err = file.WriteString(text)
			if cerr := file.Close(); err == nil {
				err = cerr
			}
			if err != nil {
				return names, errors.Annotate(err, "cannot keep a finding")
			}
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
