package kube_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// watch reads events until the function has what it wants.
func (w *world) watch(query string, until func(event string, o map[string]any) bool, begun ...func()) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for _, f := range begun {
		f()
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Type   string
			Object map[string]any
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			w.Fatal(err)
		}
		if until(e.Type, e.Object) {
			return
		}
	}
	w.Errorf("the watch has ended: %v", lines.Err())
}

func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var seen []string
	var first, last string
	w.watch(ns+"/configmaps?watch=1&labelSelector=a%3Db&sendInitialEvents=true&allowWatchBookmarks=true", func(event string, o map[string]any) bool {
		last, _ = at(o, "metadata", "resourceVersion").(string)
		seen = append(seen, fmt.Sprint(event, " ", at(o, "data", "k")))
		switch len(seen) {
		case 1: // the bookmark: it has begun
			first = last
			w.want(201, "POST", ns+"/configmaps", `{"metadata":{"name":"other"},"data":{"k":"0"}}`)
			w.want(201, "POST", ns+"/configmaps", `{"metadata":{"name":"c","labels":{"a":"b"}},"data":{"k":"1"}}`)
		case 2:
			w.want(200, "merge", ns+"/configmaps/c", `{"data":{"k":"2"}}`)
		case 3:
			w.want(200, "merge", ns+"/configmaps/c", `{"metadata":{"labels":{"a":"c"}}}`)
		case 4:
			w.want(200, "merge", ns+"/configmaps/c", `{"metadata":{"labels":{"a":"b"}}}`)
		case 5:
			w.want(200, "DELETE", ns+"/configmaps/c", "")
		}
		return len(seen) == 6
	})
	want := []string{"BOOKMARK <nil>", "ADDED 1", "MODIFIED 2", "DELETED 2", "ADDED 2", "DELETED 2"}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q", seen)
	}
	var again []string // all of it, from the first version on
	w.watch(ns+"/configmaps?watch=true&labelSelector=a%3Db&resourceVersion="+first, func(event string, o map[string]any) bool {
		again = append(again, fmt.Sprint(event, " ", at(o, "data", "k")))
		return len(again) == 5
	})
	if !slices.Equal(again, want[1:]) {
		t.Errorf("seen again %q", again)
	}
	w.watch(ns+"/pods/web-0?watch=true&resourceVersion="+last, func(event string, o map[string]any) bool {
		if event == "MODIFIED" {
			return at(o, "status", "podIP") == "10.9.9.9"
		}
		t.Errorf("got %s", event)
		return true
	}, func() {
		m := model()
		m.Applications[0].Units[0].Address = "10.9.9.9"
		w.objects.SetModel(m)
	})
	w.watch(ns+"/pods?watch=true&resourceVersion=5", func(event string, o map[string]any) bool {
		if event != "ERROR" || at(o, "code") != 410.0 || at(o, "reason") != "Expired" {
			t.Errorf("got %s %v", event, o)
		}
		return true
	})
}
