package pebble

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"sync/atomic"

	"github.com/juju/errors"
)

// ReadFile writes the content of a file of the container to w, also the part of
// it that came before an error. The error matches errors.NotFound where there is
// no such file. The path is absolute.
func (c *Client) ReadFile(ctx context.Context, path string, w io.Writer) error {
	s := c.stream(ctx)
	defer s.end()
	q := question{path: "/v1/files", query: url.Values{"action": {"read"}, "path": {path}}}
	resp, err := c.send(s.ctx, q)
	if err != nil {
		return classify(ctx, s.ctx, err)
	}
	defer resp.Body.Close()
	return classify(ctx, s.ctx, readParts(resp.Header, from{s, resp.Body}, w))
}

// readParts reads the answer to a read: the file, if it could be read, and what
// became of it.
func readParts(header http.Header, body io.Reader, w io.Writer) error {
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		if _, err := readAnswer(body); err != nil {
			return errors.Trace(err)
		}
		return garbage("a file as %q", header.Get("Content-Type"))
	}
	parts := multipart.NewReader(body, params["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			return errors.Annotate(err, "cannot read the parts of a file's answer")
		}
		switch part.FormName() {
		case "files":
			if err := copyFile(w, part); err != nil {
				return errors.Trace(err)
			}
		case "response":
			return errors.Trace(readDone(part))
		default:
			return garbage("a part %q of a file's answer", part.FormName())
		}
	}
}

// copyFile copies and tells an error of the writer's as it is, whatever it looks
// like.
func copyFile(w io.Writer, r io.Reader) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return &callersError{errors.Annotate(werr, "cannot write what was read")}
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return errors.Trace(err)
		}
	}
}

func readDone(r io.Reader) error {
	a, err := readAnswer(r)
	if err != nil {
		return errors.Trace(err)
	}
	var done []fileDone
	if err := a.into(&done); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(single(done))
}

// WriteOptions say how a file is written.
type WriteOptions struct {
	Owner
	// Parents makes the directories that are missing.
	Parents bool
	// Permissions are the file's; zero for 0644.
	Permissions fs.FileMode
}

// WriteFile writes a file of the container with what r has, and puts it in the
// place of what is there when all has come and is on disk. The path is absolute.
// Where Pebble refuses early, a read of r that waits is left behind.
func (c *Client) WriteFile(ctx context.Context, path string, r io.Reader, o WriteOptions) error {
	head, tail, contentType, err := o.envelope(path)
	if err != nil {
		return errors.Trace(err)
	}
	s := c.stream(ctx)
	defer s.end()
	source := &remembered{r: r}
	body := to{s, io.MultiReader(head, source, tail), maxDisk}
	resp, err := c.sendBody(s.ctx, question{method: "POST", path: "/v1/files"}, contentType, body)
	if fault := source.err.Load(); fault != nil {
		return errors.Annotate(*fault, "cannot read what is to be written")
	}
	if err != nil {
		return classify(ctx, s.ctx, err)
	}
	defer resp.Body.Close()
	return classify(ctx, s.ctx, readDone(from{s, resp.Body}))
}

// envelope is what comes before and after the content of a file to be written.
func (o WriteOptions) envelope(path string) (head, tail io.Reader, contentType string, err error) {
	item := o.fill(map[string]any{"path": path, "make-dirs": o.Parents, "permissions": octal(o.Permissions)})
	request, err := json.Marshal(map[string]any{"action": "write", "files": []any{item}})
	if err != nil {
		return nil, nil, "", errors.Trace(err)
	}
	var first, last bytes.Buffer
	w := multipart.NewWriter(io.MultiWriter(&first, &last))
	for _, p := range []struct {
		kind    string
		names   map[string]string
		content []byte
	}{
		{"application/json", map[string]string{"name": "request"}, request},
		{"application/octet-stream", map[string]string{"name": "files", "filename": path}, nil},
	} {
		part, err := w.CreatePart(textproto.MIMEHeader{
			"Content-Type": {p.kind}, "Content-Disposition": {mime.FormatMediaType("form-data", p.names)},
		})
		if err == nil {
			_, err = part.Write(p.content)
		}
		if err != nil {
			return nil, nil, "", errors.Trace(err)
		}
	}
	length := first.Len()
	if err := w.Close(); err != nil {
		return nil, nil, "", errors.Trace(err)
	}
	first.Truncate(length)
	last.Next(length)
	return &first, &last, w.FormDataContentType(), nil
}

// remembered keeps the error of a reader, which net/http hides in its own.
type remembered struct {
	r   io.Reader
	err atomic.Pointer[error]
}

// Read reads on, and keeps what goes wrong.
func (r *remembered) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err.Store(&err)
	}
	return n, err
}
