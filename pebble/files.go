package pebble

import (
	"context"
	"encoding/json"
	"io/fs"
	"net/url"
	"strconv"
	"time"

	"github.com/juju/errors"
)

// maxDisk is how long Pebble's disk is given for a file or a tree, as Pebble
// syncs what it writes.
const maxDisk = 30 * time.Second

// FileInfo is a file in the container.
type FileInfo struct {
	Path, Name string
	// Mode has the type, as far as Pebble knows it, and the permissions without
	// setuid, setgid and sticky.
	Mode fs.FileMode
	// Size is of regular files alone.
	Size     int64
	Modified time.Time
	// User and Group are their names in the container; empty if it has none.
	User, Group string
	UserID      *int
	GroupID     *int
}

// fileTypes are Pebble's words. What has none is irregular.
var fileTypes = map[string]fs.FileMode{
	"file": 0, "directory": fs.ModeDir, "symlink": fs.ModeSymlink, "socket": fs.ModeSocket, "named-pipe": fs.ModeNamedPipe, "device": fs.ModeDevice,
}

// UnmarshalJSON reads Pebble's form of a file's information.
func (f *FileInfo) UnmarshalJSON(raw []byte) error {
	var j struct {
		Path        string    `json:"path"`
		Name        string    `json:"name"`
		Type        string    `json:"type"`
		Size        int64     `json:"size"`
		Permissions string    `json:"permissions"`
		Modified    time.Time `json:"last-modified"`
		UserID      *int      `json:"user-id"`
		User        string    `json:"user"`
		GroupID     *int      `json:"group-id"`
		Group       string    `json:"group"`
	}
	if err := json.Unmarshal(raw, &j); err != nil {
		return errors.Trace(err)
	}
	bits, err := strconv.ParseUint(j.Permissions, 8, 32)
	if err != nil || fs.FileMode(bits)&^fs.ModePerm != 0 {
		return errors.NotValidf("permissions %q of a file", j.Permissions)
	}
	kind, ok := fileTypes[j.Type]
	if !ok {
		kind = fs.ModeIrregular
	}
	*f = FileInfo{
		Path: j.Path, Name: j.Name, Mode: kind | fs.FileMode(bits), Size: j.Size, Modified: j.Modified,
		User: j.User, UserID: j.UserID, Group: j.Group, GroupID: j.GroupID,
	}
	return nil
}

// ListOptions say what ListFiles lists.
type ListOptions struct {
	// Pattern chooses names, as path.Match does; empty for all.
	Pattern string
	// Itself has a directory stand for itself, not for what is in it.
	Itself bool
}

// ListFiles lists what is in a directory, by name, or a single file. The error
// matches errors.NotFound where nothing is at the path, which must be absolute.
func (c *Client) ListFiles(ctx context.Context, path string, o ListOptions) ([]FileInfo, error) {
	query := url.Values{"action": {"list"}, "path": {path}}
	if o.Pattern != "" {
		query.Set("pattern", o.Pattern)
	}
	if o.Itself {
		query.Set("itself", "true")
	}
	var files []FileInfo
	_, err := c.ask(ctx, question{path: "/v1/files", query: query, takes: maxDisk}, &files)
	return files, errors.Trace(err)
}

// Owner says to whom a file is to belong, by names or numbers of the container.
// Where both are given they must agree. The zero value is the user that Pebble
// runs as.
type Owner struct {
	User, Group     string
	UserID, GroupID *int
}

// fill puts the owner into a request's item.
func (o Owner) fill(item map[string]any) map[string]any {
	for key, name := range map[string]string{"user": o.User, "group": o.Group} {
		if name != "" {
			item[key] = name
		}
	}
	for key, id := range map[string]*int{"user-id": o.UserID, "group-id": o.GroupID} {
		if id != nil {
			item[key] = *id
		}
	}
	return item
}

// MakeDirOptions say how a directory is made.
type MakeDirOptions struct {
	Owner
	// Parents makes those that are missing, and takes a directory that is there.
	Parents bool
	// Permissions are the directory's; zero for 0755.
	Permissions fs.FileMode
}

// MakeDir makes a directory.
func (c *Client) MakeDir(ctx context.Context, path string, o MakeDirOptions) error {
	item := o.fill(map[string]any{"path": path, "make-parents": o.Parents, "permissions": octal(o.Permissions)})
	return c.onFile(ctx, map[string]any{"action": "make-dirs", "dirs": []any{item}})
}

// Remove removes a file or an empty directory; recursive, also one with all that
// is in it, and then it is no error that there is none.
func (c *Client) Remove(ctx context.Context, path string, recursive bool) error {
	item := map[string]any{"path": path, "recursive": recursive}
	return c.onFile(ctx, map[string]any{"action": "remove", "paths": []any{item}})
}

// onFile makes a call about one file.
func (c *Client) onFile(ctx context.Context, body any) error {
	var done []fileDone
	_, err := c.ask(ctx, question{method: "POST", path: "/v1/files", body: body, takes: maxDisk}, &done)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(single(done))
}

// octal is how Pebble reads permissions; empty is its own choice.
func octal(mode fs.FileMode) string {
	if mode == 0 {
		return ""
	}
	text := strconv.FormatUint(uint64(mode.Perm()), 8)
	return "000"[:3-len(text)] + text
}

// fileDone is what became of one of the files of a call.
type fileDone struct {
	Path  string          `json:"path"`
	Error json.RawMessage `json:"error"`
}

// single is what became of the file of a call that was about one.
func single(done []fileDone) error {
	if len(done) != 1 {
		return garbage("one file was asked for, and %d were answered", len(done))
	}
	if len(done[0].Error) == 0 || string(done[0].Error) == "null" {
		return nil
	}
	return answer{Result: done[0].Error}.refusal()
}
