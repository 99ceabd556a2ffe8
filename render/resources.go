package render

import (
	"strconv"
)

// Resource is a resource as people see it.
type Resource struct {
	Name     string `json:"name" yaml:"name"`
	Type     string `json:"type" yaml:"type"`
	Filename string `json:"filename,omitempty" yaml:"filename,omitempty"`
	Supplied string `json:"supplied-by,omitempty" yaml:"supplied-by,omitempty"`
	Revision int    `json:"revision,omitempty" yaml:"revision,omitempty"`
	Given    string `json:"given,omitempty" yaml:"given,omitempty"`
	Size     int64  `json:"size,omitempty" yaml:"size,omitempty"`
	SHA256   string `json:"sha256,omitempty" yaml:"sha256,omitempty"`
	// Image and Digest are those of an image; who may fetch it isn't shown.
	Image  string `json:"image,omitempty" yaml:"image,omitempty"`
	Digest string `json:"digest,omitempty" yaml:"digest,omitempty"`
	// Hub: Revision is that of a hub.
	Hub bool `json:"-" yaml:"-"`
}

// FromCharmhub is who supplies what comes from a hub.
const FromCharmhub = "charmhub"

// ResourcesTable shows resources for people.
func ResourcesTable(infos []Resource) string {
	if len(infos) == 0 {
		return "No resources to display.\n"
	}
	rows := [][]Cell{Heads("Resource", "Supplied by", "Revision")}
	for _, info := range infos {
		supplied, revision := "-", "-"
		if info.Supplied != "" {
			supplied, revision = info.Supplied, info.Given
			if info.Hub {
				revision = strconv.Itoa(info.Revision)
			}
		}
		rows = append(rows, []Cell{{Text: info.Name}, {Text: supplied}, {Text: revision}})
	}
	t := &Table{}
	t.Block(rows)
	return t.String()
}
