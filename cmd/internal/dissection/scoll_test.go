package dissection

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/capturetest"
)

// checkExchange fails the test unless a capture has all messages of the exchange and all of them
// can be parsed. The exchange consists of seven requests, each over the five hops of a tree: the
// creation of a group, five broadcasts, and the destruction of the group. Two of the broadcasts have
// bulk data.
func checkExchange(t *testing.T, file string) {
	known := NewProtocols(nil)
	seen := map[string]int{}
	capturetest.Decode(t, file, func(r *capture.Record) {
		p := known.Read(r).said
		if p.Protocol == "" {
			return
		}
		if p.Err != nil {
			t.Errorf("frame %d: %v", r.Frame, p.Err)
			return
		}
		hopped, odd := hop{from: -1}, []string(nil)
		switch m := p.Is.(type) {
		case *collectiveRequest:
			seen[m.kind()]++
			hopped, odd = m.hop, m.remarks
		case *collectiveReply:
			seen["reply"]++
			seen["missing"] += len(m.missing)
			hopped, odd = m.hop, m.remarks
		case *collectiveFetch:
			seen["fetch"]++
			hopped, odd = m.of.hop, m.remarks
		case *collectiveProgress:
			seen["progress"]++
			hopped, odd = m.of.hop, m.remarks
		case *collectiveData:
			seen["data"]++
			hopped = m.of.hop
		}
		if hopped.from < 0 || len(odd) > 0 {
			t.Errorf("frame %d: %v, odd: %v", r.Frame, hopped, odd)
		}
	})
	// The numbers of fetches and of messages about progress depend on timing. Each of the five members
	// fetches at least once for each of the two broadcasts with bulk data.
	if seen["fetch"] != seen["data"] || seen["fetch"] < 10 || seen["fetch"] > 15 || seen["progress"] < 2 || seen["progress"] > 4 {
		t.Errorf("found %v", seen)
	}
	delete(seen, "fetch")
	delete(seen, "data")
	delete(seen, "progress")
	// Rank 3 refuses a request, and the service of rank 5 does not answer it. Rank 2 reports rank 3 as
	// missing; the module of rank 5 and then rank 4 report rank 5.
	want := map[string]int{"create": 5, "broadcast": 25, "destroy": 5, "reply": 35, "missing": 3}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
