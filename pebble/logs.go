package pebble

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/juju/errors"
)

// maxLogLine bounds a line of a log in Pebble's form. Pebble cuts services'
// lines at 4 KiB.
const maxLogLine = 256 << 10

// logType is the type of a log, a line of JSON for each of a service's.
const logType = "application/x-ndjson"

// LogEntry is a line that a service has written.
type LogEntry struct {
	Time    time.Time `json:"time"`
	Service string    `json:"service"`
	// Message is the line, without its end.
	Message string `json:"message"`
}

// LogsQuery says which lines are wanted.
type LogsQuery struct {
	// Services are those wanted; none for all. One that has never been started
	// brings nothing, also when it is started while the logs are followed.
	Services []string
	// Last is how many of the newest lines there are first; -1 for all that Pebble
	// has kept.
	Last int
	// Follow goes on with new lines until ctx ends.
	Follow bool
}

// Logs hands each line to the function, in order, until there are no more. With
// Follow it returns when Pebble or ctx ends, and then always an error. An error of
// the function's ends it.
func (c *Client) Logs(ctx context.Context, q LogsQuery, each func(LogEntry) error) error {
	if q.Follow { // Pebble may say nothing for long: that it doesn't hang is known beforehand
		if _, err := c.SystemInfo(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	s := c.stream(ctx)
	defer s.end()
	query := list(url.Values{"n": {strconv.Itoa(q.Last)}}, "services", q.Services)
	if q.Follow {
		query.Set("follow", "true")
		s.ours()
	}
	resp, err := c.send(s.ctx, question{path: "/v1/logs", query: query})
	if err != nil {
		return classify(ctx, s.ctx, err)
	}
	defer resp.Body.Close()
	s.ours()
	if kind := resp.Header.Get("Content-Type"); kind != logType {
		_, err := readAnswer(from{s, resp.Body})
		if err == nil {
			err = garbage("a log as %q", kind)
		}
		return classify(ctx, s.ctx, err)
	}
	var lines io.Reader = from{s, resp.Body}
	if q.Follow {
		lines = resp.Body // a service may be silent for as long as it likes
	}
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, maxLogLine)
	for scanner.Scan() {
		var e LogEntry
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			return garbage("%s, in %s", err, excerpt(scanner.Bytes()))
		}
		if err := each(e); err != nil {
			return errors.Trace(err)
		}
	}
	err = scanner.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return garbage("a line of a log of more than %d bytes", maxLogLine)
	}
	if err == nil && q.Follow {
		err = io.ErrUnexpectedEOF
	}
	return classify(ctx, s.ctx, err)
}
