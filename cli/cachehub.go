package cli

import (
	"fmt"
	"time"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
)

// hubCache is what was downloaded from hubs.
func hubCache() (*charmhub.Cache, error) {
	dir, err := deploy.HubCacheDir()
	return &charmhub.Cache{Dir: dir}, err
}

// keptDownloads are what was downloaded from hubs; who uses it isn't known yet, but for
// processes.
func keptDownloads() ([]kept, error) {
	cache, err := hubCache()
	if err != nil {
		return nil, err
	}
	all, err := cache.List()
	if err != nil {
		return nil, err
	}
	var out []kept
	for _, k := range all {
		d := kept{Kind: keptDownload, Name: fmt.Sprintf("%s r%d", k.Title(), k.Revision), ID: k.Key, Size: k.Size, Used: stamp(k.Used), at: k.Used, sum: k.SHA256}
		if k.Held {
			d.By = []string{"a process"}
		}
		out = append(out, d)
	}
	return out, nil
}

// removeDownload removes a download that nobody has used since it was seen who does.
func removeDownload(k kept, seen time.Time) (bool, error) {
	cache, err := hubCache()
	if err != nil {
		return false, err
	}
	return cache.Remove(k.ID, seen)
}

// sweepDownloads forgets the answers of hubs whose charms were removed.
func sweepDownloads() error {
	cache, err := hubCache()
	if err != nil {
		return err
	}
	return cache.Sweep(time.Now())
}
