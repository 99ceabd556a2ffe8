package main_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
)

// bookkeeping are the documents by which an agent says that it is there and
// that all is settled. They change by themselves.
var bookkeeping = regexp.MustCompile(`^m/[^/]+/(mark|ask|settled|presence|manager)`)

// documents are all documents of the script's store, so that what "nothing was
// changed" is said of is everything; none where there is no store.
func documents(ts *testscript.TestScript) map[string]string {
	docs := map[string]string{}
	if url := ts.Getenv("UNITD_STORE"); url != "" {
		o, err := etcd.ParseURL(url, ts.Getenv)
		ts.Check(err)
		s, err := etcd.Open(context.Background(), o)
		ts.Check(err)
		readDocuments(ts, s, docs)
		return docs
	}
	path := filepath.Join(ts.MkAbs(ts.Getenv("UNITD_DATA")), "store.db")
	if _, err := os.Stat(path); err != nil {
		return docs
	}
	s, err := sqlite.Open(path, sqlite.Options{})
	ts.Check(err)
	readDocuments(ts, s, docs)
	return docs
}

// readDocuments reads all documents of a store, and closes it.
func readDocuments(ts *testscript.TestScript, s store.Store, docs map[string]string) {
	_, err := s.View(context.Background(), func(r store.Reader) error {
		clear(docs)
		kvs, err := r.List("")
		for _, kv := range kvs {
			if !bookkeeping.MatchString(kv.Key) {
				docs[kv.Key] = string(kv.Value)
			}
		}
		return err
	})
	ts.Check(err)
	ts.Check(s.Close())
}
