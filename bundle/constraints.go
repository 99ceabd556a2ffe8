package bundle

import (
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
)

// constraintOrder is the order of constraints in a bundle, with the names that they have
// there. Source: docs/spec/juju-clients.md §13.3.
func constraintOrder() []string {
	return []string{
		"arch", "cores", "cpu-power", "mem", "root-disk", "instance-type", "image-id", "container", "virt-type", "tags", "spaces", "zones", "root-disk-source",
	}
}

// constraintText is constraints as a bundle has them: sizes are bare numbers of MiB.
// Those that can't be read are as they are.
func constraintText(text string) string {
	c, err := model.ParseConstraints(text)
	if err != nil {
		return text
	}
	words := strings.Fields(strings.ReplaceAll(c.String(), `\ `, "\x00"))
	place := func(word string) int {
		key, _, _ := strings.Cut(word, "=")
		if i := slices.Index(constraintOrder(), key); i >= 0 {
			return i
		}
		return len(constraintOrder())
	}
	slices.SortStableFunc(words, func(a, b string) int { return place(a) - place(b) })
	for i, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "cores":
			key = "cpu-cores"
		case "mem", "root-disk":
			value = strings.TrimSuffix(value, "M")
		}
		words[i] = key + "=" + value
	}
	return strings.ReplaceAll(strings.Join(words, " "), "\x00", `\ `)
}
