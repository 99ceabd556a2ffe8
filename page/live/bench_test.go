package live_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page/browser"
)

// BenchmarkPage measures the page of a model with so many units, each with ten runs, in a
// real browser: "ms-paint" is from the request to the first paint, "ms-whole" until all
// units are there and drawn; "ms-commit" is from a commit until the page has taken it in,
// and "ms-beside" the same where another watch of the model, in this process, is told of it:
// a floor. "ms-frame" is the longest time between two pictures while the timeline is scrolled
// and zoomed for two seconds. Times but the frames are medians.
func BenchmarkPage(b *testing.B) {
	for _, units := range []int{10, 1000} {
		b.Run(fmt.Sprint("units=", units), func(b *testing.B) { benchmarkPage(b, units) })
	}
}

func benchmarkPage(b *testing.B, units int) {
	w := newWorld(b)
	if _, err := w.model.AddUnits(w.ctx, "shop", units-1); err != nil {
		b.Fatal(err)
	}
	began := time.Now().Add(-time.Hour)
	for u := range units {
		for run := range 10 {
			w.ok(history.Append(durable.Disk{}, machine.HistoryDir(w.dir, w.model.UUID()), history.Entry{
				Unit: model.NewUnitName("shop", u), Run: int64(run + 1), Hook: hooks.Info{Kind: hooks.UpdateStatus, RelationID: model.NoRelation},
				Outcome: history.Committed, Started: began.Add(time.Duration(u+run*units) * 10 * time.Millisecond), Duration: 50 * time.Millisecond,
			}))
		}
	}
	watch, err := w.model.Watch(w.ctx, 0)
	w.ok(err)
	p := browser.Start(b, 1400, 900)
	var paint, whole, commit, beside []float64
	exposed := false
	for b.Loop() {
		p.Open(w.base + "/#token=" + token)
		p.Wait(fmt.Sprintf(`U.kinds.get('run')?.size === %d && document.querySelector('.node')`, 10*units))
		var at struct{ Paint, Whole float64 }
		p.Eval(`({Paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, Whole: performance.now()})`, &at)
		paint, whole = append(paint, at.Paint), append(whole, at.Whole)
		for range 10 {
			exposed = !exposed
			p.Eval(fmt.Sprintf(`window.taken = 0; U.on(() => { if (!window.taken && Boolean(U.parts.get('app/shop').exposed) === %v) window.taken = performance.timeOrigin + performance.now(); })`, exposed), nil)
			for len(watch) > 0 {
				<-watch
			}
			w.ok(w.model.SetExposed(w.ctx, "shop", exposed))
			done := time.Now()
			<-watch
			beside = append(beside, time.Since(done).Seconds()*1000)
			p.Wait(`window.taken`)
			var taken float64
			p.Eval(`window.taken`, &taken)
			commit = append(commit, taken-float64(done.UnixMicro())/1000)
		}
	}
	var frame float64
	p.Eval(`new Promise(done => {
		const lanes = document.querySelector('.lanes'), begin = performance.now();
		let last = begin, longest = 0, n = 0;
		const next = now => {
			longest = Math.max(longest, now - last);
			last = now;
			if (now - begin > 2000) { done(longest); return; }
			lanes.scrollTop = (n * 37) % Math.max(1, lanes.scrollHeight - lanes.clientHeight);
			lanes.dispatchEvent(new KeyboardEvent('keydown', {key: n++ % 20 < 10 ? '+' : '-'}));
			requestAnimationFrame(next);
		};
		requestAnimationFrame(now => { last = now; requestAnimationFrame(next); });
	})`, &frame)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(paint), "ms-paint")
	b.ReportMetric(middle(whole), "ms-whole")
	b.ReportMetric(middle(commit), "ms-commit")
	b.ReportMetric(middle(beside), "ms-beside")
	b.ReportMetric(frame, "ms-frame")
	if faults := p.Faults(); len(faults) > 0 {
		b.Errorf("the browser complains: %s", strings.Join(faults, "\n"))
	}
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
