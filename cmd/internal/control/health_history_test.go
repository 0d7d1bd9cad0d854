package control_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	. "ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/health"
)

// TestHealthHistory: the filters of a list of evictions and of a list of tombstones reach the
// daemon unchanged. Filters with values out of range are refused.
func TestHealthHistory(t *testing.T) {
	f := &fakeHealth{}
	c := NewClient(serve(t, Config{Routes: f.routes()}).path)
	filters := []health.PastFilter{{}, {Client: "a/b c?", NID: target.NID, Since: 90 * time.Second, Limit: 7}}
	for _, filter := range filters {
		if list, err := health.OpHistory.Call(t.Context(), c, filter); err != nil || len(list.Evictions) != 1 || list.Evictions[0].Name != "a" {
			t.Errorf("%+v, %v", list, err)
		}
		list, err := health.OpTombstones.Call(t.Context(), c, filter)
		if err != nil || len(list.Tombstones) != 1 || list.Tombstones[0] != healthTombstone || list.Matching != 3 || !list.More {
			t.Errorf("%+v, %v", list, err)
		}
	}
	for _, wrong := range []health.PastFilter{{Since: -1}, {Limit: -1}, {Limit: health.MaxLimit + 1}} {
		if _, err := health.OpHistory.Call(t.Context(), c, wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
		if _, err := health.OpTombstones.Call(t.Context(), c, wrong); err == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
	twice := []health.PastFilter{filters[0], filters[0], filters[1], filters[1]}
	if diff := cmp.Diff(twice, f.past, byValue); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
