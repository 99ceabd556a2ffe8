package resolver_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// workloadWord is about containers: "up:web", "notice:web:2", "aside:web". All
// are seen a second after the one before, and first:web first of all.
func workloadWord(l *resolver.Local, r *resolver.Remote, word, about string) bool {
	container, number, _ := strings.Cut(about, ":")
	i := slices.IndexFunc(r.Workloads, func(w resolver.Workload) bool { return w.Container == container })
	if slices.Contains([]string{"up", "restarted", "down"}, word) && i < 0 {
		r.Workloads = append(r.Workloads, resolver.Workload{Container: container, Since: noon.Add(time.Duration(len(r.Workloads)) * time.Second)})
		i = len(r.Workloads) - 1
	}
	switch told := l.Workloads[container]; word {
	case "sidecar":
		r.Sidecar = true
	case "errors":
		r.WorkloadErrors = true
	case "pod2":
		r.Pod = 2
	case "unfetched":
		r.Unfetched = true
	case "resources2":
		r.Want.Resources = 2
	case "replaced":
		l.Replaced = true
	case "eight":
		l.InARow = resolver.MostInARow
	case "yields":
		l.Yields = true
	case "ran":
		l.Run = 3
	case "down":
	case "up":
		r.Workloads[i].Boot = "1"
	case "restarted":
		r.Workloads[i].Boot = "2"
	case "first":
		r.Workloads[i].Since = noon.Add(-time.Hour)
	case "notice":
		r.Workloads[i].Notices = append(r.Workloads[i].Notices, resolver.Notice{
			ID: number, Type: "custom", Key: "example.com/a", Kind: hooks.PebbleCustomNotice, LastRepeated: at(number), Seen: at(number),
		})
	case "heard":
		told.After = at(number)
		l.Workloads = with(l.Workloads, container, told)
	case "aside":
		told.Failed = []resolver.FailedWorkload{{
			Hook: hooks.Info{Kind: hooks.PebbleReady, Workload: container, Boot: "1"}, Run: 7, Attempts: 1, RetryAt: noon.Add(time.Second),
		}}
		l.Workloads = with(l.Workloads, container, told)
	case "ready":
		if strings.Contains(about, "/") {
			return false // storage
		}
		told.Boot = "1"
		l.Workloads = with(l.Workloads, container, told)
	default:
		return false
	}
	return true
}

func with(all map[string]resolver.WorkloadTold, container string, told resolver.WorkloadTold) map[string]resolver.WorkloadTold {
	all = maps.Clone(all)
	if all == nil {
		all = map[string]resolver.WorkloadTold{}
	}
	all[container] = told
	return all
}

// at is noon and so many seconds.
func at(seconds string) time.Time {
	n, _ := strconv.Atoi(seconds)
	return noon.Add(time.Duration(n) * time.Second)
}
