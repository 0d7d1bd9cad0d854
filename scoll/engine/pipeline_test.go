package engine

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"ulnet/lnd/link"
	"ulnet/lnd/lndtest/spec"
	"ulnet/lnd/sim"
	"ulnet/scoll/wire"
)

// pipelined delivers a request with bulk data in segments of 4 KiB to member 6
// of 8, whose parent is 4, up to the return of pre-request.
func pipelined(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t, 8, 6, nil)
	h.admitted(func(r *wire.RequestHeader) { r.Segment, r.Bulk = wire.MinSegment, wire.RMA{Bits: 9, Length: 10_000} })
	h.want("pre")
	return h
}

// hear delivers a Progress message of a member.
func (h *harness) hear(from int, bits, there uint64, s wire.Status) {
	h.t.Helper()
	p := wire.Progress{ReplyBits: bits, There: there, Status: s}
	h.step(Input{Kind: Arrival, From: h.members.NID(from), Data: p.AppendTo(nil)})
}

// told returns the Progress message that the latest step sends to a child.
func (h *harness) told() wire.Progress {
	h.t.Helper()
	e := h.find(DoTell)
	p, err := wire.ParseProgress(h.out.Buf[e.Data.Begin:e.Data.End])
	if err != nil || e.To != h.members.NID(7) || p.ReplyBits != h.bits {
		h.t.Fatalf("%+v, %v", p, err)
	}
	return p
}

// TestPipeline: SC-A17: a request with segments is forwarded at once. Each segment is fetched when the parent
// has it, and then announced to the children. The service runs the request when the last segment has arrived.
func TestPipeline(t *testing.T) {
	spec.Covers(t, "SC-A17")
	h := pipelined(t)
	h.step(Input{Kind: InPreRequest})
	h.want("fetch expose send0")
	if e := h.find(DoFetch); e.Limit != 0 || e.Chunk != wire.MinSegment || !e.Segments || e.Length != 10_000 {
		t.Errorf("%+v", e)
	}
	h.hear(4, 77, 4096, wire.OK)
	h.want("more")
	h.hear(4, 77, 4096, wire.OK)   // the same message again
	h.hear(4, 77, 10_001, wire.OK) // more than the total size
	h.hear(5, 77, 8192, wire.OK)   // the message comes from another node
	h.hear(4, 78, 8192, wire.OK)   // the message has the match bits of another request
	h.want("")
	h.step(Input{Kind: InProgress, There: 4096})
	h.want("tell0")
	if p := h.told(); p.There != 4096 || p.Status != wire.OK {
		t.Errorf("%+v", p)
	}
	h.hear(4, 77, 10_000, wire.OK)
	if h.want("more"); h.find(DoFetchMore).Limit != 10_000 {
		t.Errorf("%+v", h.find(DoFetchMore))
	}
	h.step(Input{Kind: InFetched})
	h.want("tell0 incoming")
	if p := h.told(); p.There != 10_000 {
		t.Errorf("%+v", p)
	}
	h.step(Input{Kind: InProgress, There: 8192}) // this event comes late: the machine has reported more bytes already
	h.want("")
	h.step(Input{Kind: InIncoming})
	h.childReplies(7, nil)
	h.want("child0")
	h.step(Input{Kind: InReply})
	h.want("withdraw")
	h.step(Input{Kind: InWithdrawn})
	h.want("post")
	h.leave()
	if len(h.m.pipelines.byOrigin) != 0 || h.m.Stats().Early != 2 {
		t.Errorf("%d pipelines are left, %+v", len(h.m.pipelines.byOrigin), h.m.Stats())
	}
}

// TestPipelineEarly: SC-8, SC-A17: a Progress message that overtakes its request is not lost,
// also if it reports an error.
func TestPipelineEarly(t *testing.T) {
	spec.Covers(t, "SC-8", "SC-A17")
	h := newHarness(t, 8, 6, nil)
	h.hear(4, 77, 4096, wire.OK)
	h.hear(4, 77, 8192, wire.OK)
	h.admitted(func(r *wire.RequestHeader) { r.Segment, r.Bulk = wire.MinSegment, wire.RMA{Bits: 9, Length: 10_000} })
	h.step(Input{Kind: InPreRequest})
	if e := h.find(DoFetch); e.Limit != 8192 {
		t.Errorf("%+v", e)
	}
	h = newHarness(t, 8, 6, nil)
	h.hear(4, 77, 0, wire.EIO)
	h.admitted(func(r *wire.RequestHeader) { r.Segment, r.Bulk = wire.MinSegment, wire.RMA{Bits: 9, Length: 10_000} })
	h.step(Input{Kind: InPreRequest})
	h.want("refuse child0:" + wire.EIO.String() + " incoming:" + wire.EIO.String())
}

// TestPipelineBreaks: SC-70, SC-A18 and SC-A28 with segments: a member that gets no more data
// reports this to its parent, for the whole subtree, and to its children at once. The service
// gets the errors when the memory is free.
func TestPipelineBreaks(t *testing.T) {
	spec.Covers(t, "SC-70", "SC-A18", "SC-A28")
	for _, c := range []struct {
		name   string
		how    func(h *harness)
		want   string
		status wire.Status
	}{
		{"fetch fails", func(h *harness) { h.step(Input{Kind: InFetched, Status: wire.EIO}) }, "", wire.EIO},
		{"parent has no more", func(h *harness) { h.hear(4, 77, 0, wire.EPERM) }, "refuse tell0 stop", wire.EPERM},
		{"parent dies", func(h *harness) { h.step(Input{Kind: Health, From: h.members.NID(4)}) }, "refuse tell0 stop", wire.EHOSTDOWN},
		{"abort", func(h *harness) { h.step(Input{Kind: Abort}) }, "refuse tell0 stop", wire.ECANCELED},
		{"time is over", func(h *harness) { h.advance() }, "refuse tell0 stop", wire.ETIMEDOUT},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := pipelined(t)
			h.step(Input{Kind: InPreRequest})
			h.step(Input{Kind: InProgress, There: 4096})
			c.how(h)
			rest := fmt.Sprintf("unpost0 child0:%v incoming:%v", c.status, c.status)
			if c.want == "" {
				h.want("refuse tell0 " + rest)
			} else {
				h.want(c.want)
			}
			if r := h.refusal(); r.Status != c.status || r.Nodes != 2 || r.Entities != 4 {
				t.Errorf("%+v", r)
			}
			if p := h.told(); p.Status != c.status {
				t.Errorf("%+v", p)
			}
			if c.want != "" {
				h.step(Input{Kind: InFetched, Status: wire.ETIMEDOUT})
				h.want(rest)
			}
			h.step(Input{Kind: InReply})
			h.step(Input{Kind: InIncoming})
			h.want("withdraw")
			h.step(Input{Kind: InWithdrawn})
			h.step(Input{Kind: InPostReply})
			h.want("out")
			h.step(Input{Kind: InReplyOut})
			h.want("free")
		})
	}
}

// TestPipelinePatience: SC-A8 with segments: no child is given up before it can have all data.
// The usual timeouts start only then.
func TestPipelinePatience(t *testing.T) {
	spec.Covers(t, "SC-A8")
	h := pipelined(t)
	h.step(Input{Kind: InPreRequest})
	levels := h.header()
	if want := h.now + answerTimeout(&levels, 3); h.wake != want {
		t.Errorf("gives up at %v, want %v", h.wake, want)
	}
	h.now += 20 * time.Millisecond
	h.hear(4, 77, 10_000, wire.OK)
	if want := h.now + answerTimeout(&levels, 2); h.wake != want {
		t.Errorf("then gives up at %v, want %v", h.wake, want)
	}
	h.now += time.Millisecond
	h.step(Input{Kind: InFetched})
	if want := h.now + childTimeout(&levels, 1, 0); h.wake != want {
		t.Errorf("waits for the child until %v, want %v", h.wake, want)
	}
}

// TestPipelineUntold: SC-A22: a Progress message that cannot be sent is sent again, with the
// state at that time.
func TestPipelineUntold(t *testing.T) {
	spec.Covers(t, "SC-A22")
	h := pipelined(t)
	h.step(Input{Kind: InPreRequest})
	h.step(Input{Kind: InProgress, There: 4096})
	h.step(Input{Kind: InUntold})
	h.step(Input{Kind: InProgress, There: 8192})
	h.step(Input{Kind: InUntold}) // sending fails again
	h.advance()
	if h.want("tell0"); h.told().There != 8192 {
		t.Errorf("%+v", h.told())
	}
	h.step(Input{Kind: InUntold})
	h.advance()
	h.want("tell0")
	h.step(Input{Kind: InUntold})
	if s := h.m.Stats(); s.Retries != 2 || s.Unsent != 1 {
		t.Errorf("%+v", s)
	}
}

// TestPipelineFaster: SC-A17: a broadcast of 4 MiB goes over a tree of depth 4 in virtual time, at
// 250 Mb/s. In segments of 256 KiB it takes at most half of the time that it takes without
// segments. No member is missing in either case.
func TestPipelineFaster(t *testing.T) {
	spec.Covers(t, "SC-A17")
	const size, segments = 4 << 20, 16
	var took [2]time.Duration
	for i, segment := range []uint32{0, size / segments} {
		c := newCluster(t, 16, func(c *cluster, cfg *sim.Config[*packet]) {
			c.cfg = Config{RTT: 2 * time.Millisecond, MinBulkRate: 5_000_000}
			cfg.Topology = &sim.Flat{Link: link.Quality{Latency: link.Dist{Base: time.Millisecond}}}
			cfg.AccessRate = 250_000_000
		})
		c.run(0)
		g := c.create(0, wire.Tree{}, false)
		c.nodes[0].bulk = make([]byte, size)
		for j := range c.nodes[0].bulk {
			c.nodes[0].bulk[j] = byte(j * j >> 7)
		}
		r := c.broadcast(0, g, Outgoing{Bulk: size, Segment: segment})
		c.want(r, 0)
		took[i] = r.at
		for _, n := range c.nodes {
			if !bytes.Equal(n.bulk, c.nodes[0].bulk) {
				t.Fatalf("segment %d: node %d has other data", segment, n.id)
			}
		}
	}
	t.Logf("4 MiB to 16 nodes, depth 4: %v, in segments %v", took[0], took[1])
	if took[1] > took[0]/2 {
		t.Errorf("%v, in segments %v", took[0], took[1])
	}
}

// TestPipelineFaults: SC-3, SC-139 and SC-A17: an inner node dies, or cannot fetch, while
// segments are under way. Exactly its subtree is missing, and the nodes below it end without
// waiting for their timeouts.
func TestPipelineFaults(t *testing.T) {
	spec.Covers(t, "SC-3", "SC-139", "SC-A17")
	for _, how := range []string{"death", "no data"} {
		t.Run(how, func(t *testing.T) {
			c := newCluster(t, 15, func(c *cluster, cfg *sim.Config[*packet]) {
				c.watch = true
				c.cfg = Config{RTT: 2 * time.Millisecond, MinBulkRate: 1_000_000}
			})
			c.run(time.Millisecond)
			g := c.create(0, wire.Tree{Type: wire.KAry, K: 2}, true)
			c.nodes[0].bulk = make([]byte, 20*wire.MinSegment)
			c.net.At(c.net.Now()+10*time.Millisecond, func() {
				if how == "death" {
					c.net.Kill(1)
					return
				}
				for id := range c.nodes[1].fetches {
					c.net.Command(1, fmt.Sprint("lose ", id))
				}
			})
			c.start(0, g, Outgoing{Bulk: 20 * wire.MinSegment, Segment: wire.MinSegment, Group: g})
			c.run(30 * time.Millisecond)
			for _, id := range []int{3, 4, 7, 8, 9, 10} {
				if n := c.nodes[id]; len(n.work) != 0 || len(n.ran) != 0 {
					t.Errorf("node %d still waits, or ran %v", id, n.ran)
				}
			}
			c.run(time.Minute)
			if len(c.nodes[0].results) != 1 {
				t.Fatal("hangs")
			}
			c.want(c.nodes[0].results[0], 0, 1, 3, 4, 7, 8, 9, 10)
		})
	}
}
