package charmhub

import (
	"encoding/json"
)

// The shapes of requests and answers. What isn't read isn't here.
// Source: docs/spec/juju-clients.md §12.2, §12.3.

type request struct {
	Context []tracked `json:"context"` // there even when empty
	Actions []action  `json:"actions"`
	Fields  []string  `json:"fields"`
}

// tracked is what runs.
type tracked struct {
	Key      string `json:"instance-key"`
	ID       string `json:"id"`
	Revision int    `json:"revision"`
	Base     Base   `json:"base"`
	Channel  string `json:"tracking-channel,omitempty"`
}

type action struct {
	Action   string  `json:"action"`
	Key      string  `json:"instance-key"`
	ID       string  `json:"id,omitempty"`
	Name     string  `json:"name,omitempty"`
	Channel  string  `json:"channel,omitempty"`
	Revision *int    `json:"revision,omitempty"`
	Base     *Base   `json:"base"` // null where it isn't said
	Resource []asked `json:"resource-revisions,omitempty"`
}

type asked struct {
	Name     string `json:"name"`
	Revision int    `json:"revision"`
}

// refreshFields are those of a release that are asked for.
func refreshFields() []string {
	return []string{"bases", "config-yaml", "download", "id", "license", "metadata-yaml", "name", "publisher", "resources", "revision", "summary", "type", "version"}
}

type answer struct {
	Errors  []fault `json:"error-list"`
	Results []entry `json:"results"`
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Extra   struct {
		Releases []struct {
			Base    Base   `json:"base"`
			Channel string `json:"channel"`
		} `json:"releases"`
		DefaultBases []Base `json:"default-bases"`
	} `json:"extra"`
}

type entry struct {
	Key     string   `json:"instance-key"`
	Result  string   `json:"result"`
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Channel string   `json:"effective-channel"`
	Charm   released `json:"charm"`
	Error   *fault   `json:"error"`
}

type released struct {
	Type      string     `json:"type"`
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Revision  int        `json:"revision"`
	Version   string     `json:"version"`
	Bases     []Base     `json:"bases"`
	Download  Download   `json:"download"`
	Resources []Resource `json:"resources"`
	Metadata  string     `json:"metadata-yaml"`
}

// Download says where content is, and how it is told from other content.
type Download struct {
	URL    string `json:"url"`
	Size   int64  `json:"size"`
	SHA256 string `json:"hash-sha-256"`
	SHA384 string `json:"hash-sha-384"`
}

// Resource is a revision of a charm's resource. Type is "file" or "oci-image".
type Resource struct {
	Name        string   `json:"name"`
	Type        string   `json:"type"`
	Filename    string   `json:"filename"`
	Description string   `json:"description"`
	Revision    int      `json:"revision"`
	Download    Download `json:"download"`
}

// Publisher is who has published a charm.
type Publisher struct {
	Name string `json:"display-name"`
}

// Described is what info and find tell of a charm or bundle as a whole.
type Described struct {
	Categories []struct {
		Name string `json:"name"`
	} `json:"categories"`
	Contains []struct {
		Name string `json:"name"`
	} `json:"contains-charms"`
	Description string    `json:"description"`
	Publisher   Publisher `json:"publisher"`
	StoreURL    string    `json:"store-url"`
	Summary     string    `json:"summary"`
	UsedBy      []string  `json:"used-by"`
}

// Placed is a release in a channel.
type Placed struct {
	Channel struct {
		Name       string `json:"name"`
		Track      string `json:"track"`
		Risk       string `json:"risk"`
		Base       Base   `json:"base"`
		ReleasedAt string `json:"released-at"`
	} `json:"channel"`
	Revision struct {
		Revision  int      `json:"revision"`
		Version   string   `json:"version"`
		CreatedAt string   `json:"created-at"`
		Bases     []Base   `json:"bases"`
		Download  Download `json:"download"`
		Config    string   `json:"config-yaml"`
		Metadata  string   `json:"metadata-yaml"`
		Bundle    string   `json:"bundle-yaml"`
	} `json:"revision"`
}

// Info is a charm or bundle, with what is in its channels where it was asked for alone.
type Info struct {
	Type       string    `json:"type"`
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Result     Described `json:"result"`
	Default    Placed    `json:"default-release"`
	ChannelMap []Placed  `json:"channel-map"`
}

type found struct {
	Errors  []fault `json:"error-list"`
	Results []Info  `json:"results"`
}

type revisions struct {
	Errors    []fault    `json:"error-list"`
	Revisions []Resource `json:"revisions"`
}

// parse reads an answer into one of those.
func parse(b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		return notValid("%v", err)
	}
	return nil
}
