package web

import (
	"fmt"
	"strings"

	"github.com/unitd/unitd/page"
)

// markup is HTML or SVG in the making.
type markup struct{ text strings.Builder }

// ready is text that is markup already.
type ready string

// put adds markup. What is put into its places is text, and escaped, unless it is ready.
func (m *markup) put(form string, args ...any) {
	for i, arg := range args {
		if done, ok := arg.(ready); ok {
			args[i] = string(done)
		} else {
			args[i] = page.Escape(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(&m.text, form, args...)
}

// list joins items as words of a sentence do: "a, b and c".
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:len(items)-1], ", ") + " and " + items[len(items)-1]
}
