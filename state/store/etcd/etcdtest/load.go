package etcdtest

import (
	"context"
	"encoding/json"
	"io"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/unitd/unitd/state/store/etcd"
)

// Load writes the keys of a store as they are kept in a file: for each key a line
// of JSON with "key", whose first word is the prefix that the store had, and
// "value" or, in base64, "base64". URL names the store that gets them; nobody has
// opened it yet.
func Load(t TB, url string, lines io.Reader) {
	t.Helper()
	if err := load(url, lines); err != nil {
		t.Fatal(err)
	}
}

func load(url string, lines io.Reader) error {
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		return err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: o.Endpoints, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	for d := json.NewDecoder(lines); ; {
		var kv struct {
			Key, Value string
			Base64     []byte
		}
		if err := d.Decode(&kv); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if kv.Base64 != nil {
			kv.Value = string(kv.Base64)
		}
		_, key, _ := strings.Cut(kv.Key, "/")
		if _, err := client.Put(context.Background(), o.Prefix+"/"+key, kv.Value); err != nil {
			return err
		}
	}
}
